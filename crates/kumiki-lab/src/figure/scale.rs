//! From values to places, and where the ticks go.

use super::{Axis, Scale};
use crate::scenario::label::ratio;
use kumiki_config::quantity::Octets;

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// An axis that knows its ends.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    pub(super) ticks: Vec<Tick>,
}

/// What an axis has to make room for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Zero belongs to it, as bars stand on it.
    pub(super) zero: bool,
    /// It begins at zero unless the values are far above it.
    pub(super) vertical: bool,
    /// About how many ticks there is room for.
    pub(super) ticks: u8,
    /// Room to leave at both ends of a horizontal axis, as a share of it.
    pub(super) margin: f64,
}

impl Ruler {
    /// For `axis` with these values on it.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, needs: Needs) -> Self {
        let scale = axis.scale.clone();
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in values.chain(axis.range.into_iter().flat_map(|(a, b)| [a, b])).filter_map(|v| place(&scale, v)) {
            low = low.min(place);
            high = high.max(place);
        }
        if let Some((a, b)) = axis.range
            && let (Some(a), Some(b)) = (place(&scale, a), place(&scale, b))
            && a < b
        {
            (low, high) = (a, b);
            let ticks = ticks(&scale, low, high, needs.ticks);
            return Self { scale, low, high, ticks };
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        match &scale {
            Scale::Names(names) => {
                let last = f64::from(u32::try_from(names.len()).unwrap_or(u32::MAX).max(1)) - 1.0;
                (low, high) = (-0.5, last.max(high) + 0.5);
            }
            Scale::Linear if needs.vertical => {
                // A curve that varies by a few per cent would be a flat line on an axis from zero.
                if needs.zero || (low > 0.0 && low < 0.85 * high) || low == high {
                    low = low.min(0.0);
                    high = high.max(0.0);
                }
                if low == high {
                    high = low + 1.0;
                }
                // Values stay a little inside the frame; only zero lies on it.
                let room = 0.06 * (high - low);
                low -= if low == 0.0 { 0.0 } else { room };
                high += if high == 0.0 { 0.0 } else { room };
            }
            Scale::Linear | Scale::Log2 | Scale::Octets | Scale::Log10 => {
                let room = if low == high { 0.5 } else { (high - low) * needs.margin };
                low -= room;
                high += room;
            }
        }
        let ticks = ticks(&scale, low, high, needs.ticks);
        Self { scale, low, high, ticks }
    }

    /// Where `value` is between the ends: 0 at the low one, 1 at the high one. `None` where it has no place at all.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        Some((place(&self.scale, value)? - self.low) / (self.high - self.low)).filter(|s| s.is_finite())
    }

    /// Whether `value` is between the ends.
    pub(super) fn holds(&self, value: f64) -> bool {
        self.share(value).is_some_and(|s| (-1e-9..=1.0 + 1e-9).contains(&s))
    }

    /// The scale and both ends, for who draws a part of it: "log2 3 18" is from 8 to 2^18.
    pub(super) fn told(&self) -> String {
        let scale = match &self.scale {
            Scale::Linear | Scale::Names(_) => "linear",
            Scale::Log2 => "log2",
            Scale::Octets => "octets",
            Scale::Log10 => "log10",
        };
        format!("{scale} {} {}", self.low, self.high)
    }

    /// The length of one step of a linear axis or of one name, as a share of the axis.
    pub(super) fn unit(&self) -> f64 {
        1.0 / (self.high - self.low)
    }
}

/// The place of `value` along the axis, in steps of the scale.
fn place(scale: &Scale, value: f64) -> Option<f64> {
    match scale {
        Scale::Linear | Scale::Names(_) => Some(value),
        Scale::Log2 | Scale::Octets => (value > 0.0).then(|| value.log2()),
        Scale::Log10 => (value > 0.0).then(|| value.log10()),
    }
    .filter(|p| p.is_finite())
}

fn ticks(scale: &Scale, low: f64, high: f64, count: u8) -> Vec<Tick> {
    match scale {
        Scale::Linear => {
            let step = nice_step(high - low, count);
            let decimals = decimals(step);
            let tick = |at| Tick { at, label: number(at, decimals) };
            steps(low, high, step).map(tick).collect()
        }
        Scale::Log2 => {
            powers(low, high, count).map(|at| Tick { at, label: number(at, if at < 1.0 { 3 } else { 0 }) }).collect()
        }
        Scale::Octets => powers(low, high, count).map(|at| Tick { at, label: octets(at) }).collect(),
        Scale::Log10 => {
            let factors: &[f64] = if high - low < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            // Long rows of zeros would have to be counted.
            let label = |at: f64| {
                if at < 0.000_9 { format!("{at:.0e}") } else { number(at, decimals(at)) }
            };
            steps(low.floor(), high, 1.0)
                .flat_map(|decade| factors.iter().map(move |f| f * 10_f64.powf(decade)))
                .filter(|at| (low - 1e-9..=high + 1e-9).contains(&at.log10()))
                .map(|at| Tick { at, label: label(at) })
                .collect()
        }
        Scale::Names(names) => {
            steps(0.0, high, 1.0).zip(names).map(|(at, name)| Tick { at, label: super::text::clean(name) }).collect()
        }
    }
}

/// Powers of two, every second or third where there would be too many.
fn powers(low: f64, high: f64, count: u8) -> impl Iterator<Item = f64> {
    let step = ((high - low) / f64::from(count.max(1))).ceil().max(1.0);
    steps(low, high, step).map(f64::exp2)
}

/// Multiples of `step` from `low` to `high`; at most 1000, as a range from a file may be absurd.
fn steps(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (low / step - 1e-9).ceil();
    (0..1000_u32)
        .map(move |i| (first + f64::from(i)) * step)
        .take_while(move |&at| at <= high + 1e-9 * step.abs())
        // Minus zero would be printed with its sign.
        .map(|at| at + 0.0)
}

/// 1, 2 or 5 times a power of ten, such that about `count` steps make `span`.
fn nice_step(span: f64, count: u8) -> f64 {
    let rough = span / f64::from(count.max(1));
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let magnitude = 10_f64.powf(rough.log10().floor());
    let factor = match rough / magnitude {
        r if r < 1.5 => 1.0,
        r if r < 3.5 => 2.0,
        r if r < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * magnitude
}

/// How many decimals a multiple of `step` needs.
fn decimals(step: f64) -> usize {
    (0..12_u8)
        .find(|&d| {
            let scaled = step.abs() * 10_f64.powi(i32::from(d));
            scaled >= 1.0 - 1e-9 && (scaled - scaled.round()).abs() < 1e-6
        })
        .map_or(12, usize::from)
}

/// A tick's number: thousands are set apart from five digits on.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = match text.split_once('.') {
        Some((whole, rest)) => (whole, Some(rest.trim_end_matches('0')).filter(|r| !r.is_empty())),
        None => (text.as_str(), None),
    };
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && digits.len() > 4 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(c);
    }
    match rest {
        Some(rest) => format!("{grouped}.{rest}"),
        None => grouped,
    }
}

/// 512 B, 8 KiB, 2 MiB, 100 kB: as sizes are written where that is short, and else to three decimals.
pub(crate) fn octets(value: f64) -> String {
    const SHORT: u64 = 10_000;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "looked at: a whole number below 2^53")]
    let whole = (0.0..9e15)
        .contains(&value)
        .then_some(value as u64)
        .filter(|whole| ratio(*whole, 1).to_bits() == value.to_bits());
    let written = whole.map(|whole| Octets::new(whole).to_string());
    let is_short = |text: &String| text.split(' ').next().and_then(|number| number.parse().ok()) < Some(SHORT);
    if let Some(text) = written.filter(is_short) {
        return text;
    }
    let (worth, unit) = match value {
        v if v >= 1_073_741_824.0 => (1_073_741_824.0, "GiB"),
        v if v >= 1_048_576.0 => (1_048_576.0, "MiB"),
        v if v >= 1_024.0 => (1_024.0, "KiB"),
        _ => (1.0, "B"),
    };
    format!("{} {unit}", number(value / worth, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], needs: Needs) -> Vec<String> {
        Ruler::new(axis, values.iter().copied(), needs).ticks.into_iter().map(|t| t.label).collect()
    }

    const DOWN: Needs = Needs { zero: false, vertical: true, ticks: 7, margin: 0.03 };
    const ACROSS: Needs = Needs { zero: false, vertical: false, ticks: 10, margin: 0.03 };

    #[test]
    fn ticks_are_nice_numbers() {
        let linear = Axis::default();
        let down = |values: &[f64]| labels(&linear, values, DOWN).join(" ");
        assert_eq!(down(&[10.6, 149.76]), "0 20 40 60 80 100 120 140");
        assert_eq!(down(&[133.1, 133.4, 134.581]), "133.2 133.4 133.6 133.8 134 134.2 134.4 134.6");
        assert_eq!(down(&[0.0, 0.3]), "0 0.05 0.1 0.15 0.2 0.25 0.3");
        assert_eq!(down(&[-3.0, 3.0]), "-3 -2 -1 0 1 2 3");
        assert_eq!(down(&[60_000.0]), "0 10,000 20,000 30,000 40,000 50,000 60,000");
        assert_eq!(down(&[]), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(labels(&linear, &[0.0, 200.0], ACROSS).join(" "), "0 20 40 60 80 100 120 140 160 180 200");
        assert_eq!(labels(&linear, &[5.0], ACROSS).join(" "), "4.5 4.6 4.7 4.8 4.9 5 5.1 5.2 5.3 5.4 5.5");
    }

    #[test]
    fn window_sizes_are_powers_of_two_with_units() {
        let windows = Axis { scale: Scale::Octets, ..Axis::default() };
        assert_eq!(
            labels(&windows, &[512.0, 1_048_576.0], ACROSS),
            ["1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"],
            "every second of twelve"
        );
        assert_eq!(labels(&windows, &[8192.0, 24_576.0, 65_536.0], ACROSS), ["8 KiB", "16 KiB", "32 KiB", "64 KiB"]);
        let plain = Axis { scale: Scale::Log2, ..Axis::default() };
        assert_eq!(labels(&plain, &[1.0, 8.0], ACROSS), ["1", "2", "4", "8"]);
    }

    #[test]
    fn decades_are_filled_in_where_they_are_few() {
        let axis = Axis { scale: Scale::Log10, ..Axis::default() };
        assert_eq!(labels(&axis, &[0.1, 10.0], ACROSS), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(&axis, &[1e-6, 1.0], ACROSS), ["1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1", "1"]);
    }

    #[test]
    fn absurd_ranges_end() {
        for values in [[f64::NAN, f64::INFINITY], [0.0, 1e300], [-1e300, 1e300], [1e-300, 1e-299]] {
            for scale in [Scale::Linear, Scale::Log2, Scale::Log10, Scale::Octets, Scale::Names(vec!["a".to_owned()])] {
                let axis = Axis { scale, ..Axis::default() };
                assert!(labels(&axis, &values, DOWN).len() < 1000);
                assert!(labels(&axis, &values, ACROSS).len() < 1000);
            }
        }
    }
}
