//! Names of columns, and the units in them: `rtt_ms`, `window (KiB)`, `bits_per_second`.

use core::mem::Discriminant;

use crate::scenario::Amount;
use crate::scenario::label::{SUFFIXES, ratio};
use kumiki_config::quantity::Rate;

/// What iperf3 calls a rate.
const IPERF: &str = "bits_per_second";

/// A unit: of which kind of quantity, and how many base units it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    kind: Discriminant<Amount>,
    worth: u64,
}

impl Unit {
    /// The unit of which `amount` is one.
    pub(super) fn of(amount: Amount) -> Option<Self> {
        let worth = Some(amount.base()).filter(|worth| *worth > 0);
        Some(Self { kind: core::mem::discriminant(&amount), worth: worth? })
    }

    /// From what is between brackets in a head, as `KiB` or `Mbits/sec`.
    fn parse(text: &str) -> Option<Self> {
        let amount = amount(&format!("1 {}", text.trim()))?;
        (!matches!(amount, Amount::Count(_))).then(|| Self::of(amount))?
    }

    /// The unit in which rows have this kind of quantity, as the end of a name.
    pub(super) fn suffix(self) -> &'static str {
        let usual = ["_bytes", "_ms", "_mbps", "_percent"];
        let is_own = |suffix: &&'static str| split(suffix).1.is_some_and(|unit| unit.kind == self.kind);
        usual.into_iter().find(is_own).unwrap_or("")
    }

    /// How rows' unit of this kind of quantity is written in heads.
    pub(super) fn in_heads(self) -> &'static str {
        match self.suffix() {
            "_bytes" => "B",
            "_ms" => "ms",
            "_mbps" => "Mbit/s",
            _ => "%",
        }
    }

    /// How many of `other` one of this unit is; nothing where they are of different kinds.
    pub(super) fn in_units_of(self, other: Self) -> Option<f64> {
        (self.kind == other.kind).then(|| ratio(self.worth, other.worth))
    }
}

/// So much in the unit of the column `name`, where that is a whole number of base units of a time, a rate or a share.
pub(super) fn amount_of(name: &str, number: f64) -> Option<Amount> {
    let (suffix, worth, of) = SUFFIXES.iter().find(|(suffix, ..)| name.ends_with(suffix))?;
    let base = number * ratio(*worth, 1);
    let whole = libm::round(base);
    let is_whole = (0.0..9e15).contains(&base) && (base - whole).abs() <= 1e-9 * base;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "looked at: from 0 to 2^53")]
    let amount = (is_whole && *suffix != "_percent").then(|| of(whole as u64));
    amount
}

/// What a share that is a bare number is a part of.
pub(super) fn whole() -> Option<Unit> {
    Unit::of(amount("100 %")?)
}

/// A quantity with its unit, also as iperf3 and others write rates.
pub(super) fn amount(text: &str) -> Option<Amount> {
    Amount::parse(text).or_else(|| Amount::parse(&usual(text)?))
}

/// A rate in the units that quantities have: bits go by thousands, and so do octets a second but those of iperf, which
/// are of 1024.
fn usual(text: &str) -> Option<String> {
    const BITS: [&str; 5] = ["bits/sec", "bit/sec", "bits/s", "Bit/s", "bps"];
    let at = text.find(|c: char| !(c.is_ascii_digit() || ".+-eE".contains(c)))?;
    let (number, unit) = text.split_at(at);
    let unit = unit.trim();
    if let Some(prefix) = BITS.iter().find_map(|bits| unit.strip_suffix(bits)) {
        let prefix = prefix.replace('K', "k");
        return ["", "k", "M", "G", "T"].contains(&prefix.as_str()).then(|| format!("{number} {prefix}b/s"));
    }
    let (prefix, base) = match unit.strip_suffix("Bytes/sec") {
        Some(prefix) => (prefix, 1024.0),
        None => (unit.strip_suffix("B/s")?, 1000.0_f64),
    };
    let power = ["", "K", "M", "G", "T"].iter().zip(0..).find(|(it, _)| it.eq_ignore_ascii_case(prefix))?.1;
    Some(format!("{} b/s", number.trim().parse::<f64>().ok()? * 8.0 * base.powi(power)))
}

/// A name without its unit, and the unit.
pub(super) fn split(name: &str) -> (&str, Option<Unit>) {
    if let Some(stem) = name.strip_suffix(IPERF) {
        let unit = Unit::of(Amount::Rate(Rate::from_bits_per_second(1)));
        return (stem.trim_end_matches(['_', '.']), unit);
    }
    let found =
        SUFFIXES.iter().find_map(|(suffix, worth, of)| Some((name.strip_suffix(suffix)?, Unit::of(of(*worth)))));
    found.unwrap_or((name, None))
}

/// The unit in brackets at the end of a head, and what stands before it.
pub(super) fn bracketed(head: &str) -> Option<(&str, Unit)> {
    let pairs = [('(', ')'), ('[', ']')];
    pairs.into_iter().find_map(|(open, close)| {
        let (before, text) = head.strip_suffix(close)?.rsplit_once(open)?;
        Some((before.trim_end(), Unit::parse(text)?))
    })
}

/// By what the numbers of a column called `column` are multiplied to be those of `wanted`; nothing where they are
/// something else. A wanted name without a unit takes the column as it is.
pub(super) fn factor(wanted: &str, column: &str) -> Option<f64> {
    if wanted == column {
        return Some(1.0);
    }
    match (split(wanted), split(column)) {
        ((stem, Some(to)), (other, Some(from))) if stem == other => from.in_units_of(to),
        ((stem, None), (other, Some(_))) if stem == other => Some(1.0),
        _ => None,
    }
}

/// By what the bare shares of a column called `column` are multiplied to be those of `wanted`, which has a unit of
/// shares, and else the same name.
pub(super) fn factor_of_shares(wanted: &str, column: &str) -> Option<f64> {
    match (split(wanted), split(column)) {
        ((stem, Some(to)), (other, None)) if stem == other => whole()?.in_units_of(to),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_by_the_ends_of_names() {
        for (wanted, column, times) in [
            ("window_bytes", "window_bytes", Some(1.0)),
            ("window_bytes", "window_kib", Some(1024.0)),
            ("window", "window_kib", Some(1.0)),
            ("rtt_ms", "rtt_us", Some(0.001)),
            ("sum_mbps", "sum.bits_per_second", Some(1e-6)),
            ("rtt_ms", "rtt_bytes", None),
            ("rtt_ms", "delay_ms", None),
            ("jain", "jains", None),
        ] {
            assert_eq!(factor(wanted, column), times, "{wanted} of {column}");
        }
    }

    #[test]
    fn rates_are_read_as_tools_write_them() {
        let mbps = |text: &str| match amount(text) {
            Some(Amount::Rate(rate)) => rate.as_mbps_f64(),
            other => panic!("{text}: {other:?}"),
        };
        for (text, rate) in [
            ("19.1 Mbits/sec", 19.1),
            ("19100 Kbits/sec", 19.1),
            ("2 MBytes/sec", 16.777_216),
            ("2 MB/s", 16.0),
            ("2 MBit/s", 2.0),
            ("1.5 Gbps", 1500.0),
        ] {
            assert!((mbps(text) - rate).abs() < 1e-9, "{text}: {}", mbps(text));
        }
        for text in ["2 Mbits", "2 QB/s", "MB/s", "", "1,5 Mbits/sec"] {
            assert_eq!(amount(text), None, "{text}");
        }
    }

    #[test]
    fn units_in_brackets_are_read() {
        for (head, before, suffix) in [
            ("window (KiB)", "window", "_bytes"),
            ("Rate [Mbits/sec]", "Rate", "_mbps"),
            ("loss(%)", "loss", "_percent"),
            ("Bitrate (Kbits/sec)", "Bitrate", "_mbps"),
            ("rate (MBit/s)", "rate", "_mbps"),
            ("rate (MBytes/sec)", "rate", "_mbps"),
        ] {
            let (found, unit) = bracketed(head).unwrap();
            assert_eq!((found, unit.suffix()), (before, suffix), "{head}");
        }
        for head in ["goodput (mean)", "x", "()", "n (7)"] {
            assert_eq!(bracketed(head), None, "{head}");
        }
    }
}
