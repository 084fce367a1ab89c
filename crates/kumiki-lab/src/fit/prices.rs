//! Prices of a profile by their names.

use std::collections::BTreeSet;

use kumiki_graph::Work;

use crate::profile::{Profile, Sourced};
use crate::scenario::ConfigError;

/// How many picoseconds a nanosecond has.
const NANO: f64 = 1e3;

/// A price by its place in a profile: `price.tcp.send`, `cpu.board.switch`, `adapter.fetch`, `transfer.wait`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(pub(super) Vec<String>);

impl Name {
    /// `tcp.send` for short, of the prices of nodes.
    pub(super) fn parse(text: &str) -> Self {
        const PLACES: [&str; 4] = ["price", "cpu", "adapter", "transfer"];
        let mut parts: Vec<String> = text.split('.').map(|part| part.trim().to_owned()).collect();
        if parts.len() == 2 && !parts.first().is_some_and(|first| PLACES.contains(&first.as_str())) {
            parts.insert(0, "price".to_owned());
        }
        Self(parts)
    }

    /// The node, or kind of nodes, of which it is a price.
    pub(super) fn node(&self) -> Option<&str> {
        match self.parts().as_slice() {
            ["price", _, _] => self.0.get(1).map(String::as_str),
            _ => None,
        }
    }

    /// As it is written for short, also in tables and in what a profile lists as fitted.
    pub(super) fn short(&self) -> String {
        let parts = self.0.strip_prefix(&["price".to_owned()]).unwrap_or(&self.0);
        parts.join(".")
    }

    /// Whether it is a whole number of nanoseconds.
    fn is_whole(&self) -> bool {
        self.0.first().is_none_or(|first| first != "price") && self.0.last().is_none_or(|last| last != "wait_octet")
    }

    fn parts(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    fn find<'a>(&self, profile: &'a Profile) -> Option<&'a Sourced> {
        match self.parts().as_slice() {
            ["price", node, work] => profile.price.get(*node)?.get(*work),
            ["cpu", cpu, "switch"] => profile.cpu.get(*cpu).map(|cpu| &cpu.switch),
            ["adapter", "fetch"] => profile.adapter.fetch.as_ref(),
            ["adapter", "start"] => profile.adapter.start.as_ref(),
            ["adapter", "interrupt"] => profile.adapter.interrupt.as_ref(),
            ["transfer", "wait"] => profile.transfer.wait.as_ref(),
            ["transfer", "wait_octet"] => profile.transfer.wait_octet.as_ref(),
            _ => None,
        }
    }

    /// The price in picoseconds; nothing where the profile has none.
    pub(super) fn value(&self, profile: &Profile) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a price has no sixteen digits")]
        let float = |ps: u64| ps as f64;
        self.find(profile)?.picoseconds().ok().map(float)
    }

    /// Puts the price into a profile: so many picoseconds, and where they come from. False where a profile has no such
    /// place.
    pub(super) fn put(&self, profile: &mut Profile, ps: f64, from: &str) -> bool {
        let price = Sourced { value: self.text(ps), from: from.to_owned() };
        match self.parts().as_slice() {
            ["price", node, work] if Work::ALL.iter().any(|known| known.name() == *work) => {
                profile.price.entry((*node).to_owned()).or_default().insert((*work).to_owned(), price);
            }
            ["cpu", cpu, "switch"] => match profile.cpu.get_mut(*cpu) {
                Some(cpu) => cpu.switch = price,
                None => return false,
            },
            ["adapter", "fetch"] => profile.adapter.fetch = Some(price),
            ["adapter", "start"] => profile.adapter.start = Some(price),
            ["adapter", "interrupt"] => profile.adapter.interrupt = Some(price),
            ["transfer", "wait"] => profile.transfer.wait = Some(price),
            ["transfer", "wait_octet"] => profile.transfer.wait_octet = Some(price),
            _ => return false,
        }
        true
    }

    /// A price with its unit, to five digits: "463.21 us".
    pub(super) fn text(&self, ps: f64) -> String {
        let scale = 10_f64.powf((ps.abs().max(1.0).log10() - 4.0).floor()).max(1.0);
        let mut ps = (ps / scale).round() * scale;
        if self.is_whole() {
            ps = (ps / NANO).round() * NANO;
        }
        let (unit, worth) = if ps >= 1e7 { ("us", 1e6) } else { ("ns", 1e3) };
        // A microsecond has six decimals of picoseconds.
        let decimals = if unit == "us" { 6 } else { 3 };
        let text = format!("{:.decimals$}", ps / worth);
        format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
    }

    /// That a profile has no such price: which it has.
    pub(super) fn unknown(&self, profile: &Profile) -> ConfigError {
        let known: Vec<String> = all(profile).iter().map(Self::short).collect();
        ConfigError::unknown(["--free"], "price", &self.short(), &known)
    }
}

/// All prices of a profile that are not zero.
pub(super) fn all(profile: &Profile) -> Vec<Name> {
    let name = |parts: &[&str]| Name(parts.iter().map(|&part| part.to_owned()).collect());
    let prices = profile.price.iter().flat_map(|(node, works)| works.keys().map(move |work| (node, work)));
    let mut names: BTreeSet<Name> = prices.map(|(node, work)| name(&["price", node, work])).collect();
    names.extend(profile.cpu.keys().map(|cpu| name(&["cpu", cpu, "switch"])));
    for parts in [
        ["adapter", "fetch"],
        ["adapter", "start"],
        ["adapter", "interrupt"],
        ["transfer", "wait"],
        ["transfer", "wait_octet"],
    ] {
        names.insert(name(&parts));
    }
    names.into_iter().filter(|name| name.value(profile).is_some_and(|ps| ps > 0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    #[test]
    fn prices_are_found_by_name_and_written_so_that_they_are_read_back() {
        let mut board = profile::load("atm-board").unwrap();
        let send = Name::parse("tcp.send");
        assert_eq!((send.value(&board), send.short().as_str()), (Some(463e6), "tcp.send"));
        for (name, ps, text) in [
            ("tcp.send", 463_214_567.0, "463.21 us"),
            ("tcp.sum", 16_046.0, "16.046 ns"),
            ("tcp.sum", 46.3, "0.046 ns"),
            ("adapter.fetch", 2_345_678.0, "2346 ns"),
            ("cpu.board.switch", 12_345_600_000.0, "12346 us"),
        ] {
            let name = Name::parse(name);
            assert_eq!(name.text(ps), text);
            assert!(name.put(&mut board, ps, "fitted"));
            assert!((name.value(&board).unwrap() / ps - 1.0).abs() < 1e-2, "{text}");
        }
        assert!(!Name::parse("tcp.sing").put(&mut board, 1.0, "fitted"));
        let message = Name::parse("tcp.sed").unknown(&board).to_string();
        assert!(message.starts_with("--free: unknown price \"tcp.sed\"; did you mean \"tcp.send\"?"), "{message}");
        assert!(all(&board).contains(&send) && !all(&board).contains(&Name::parse("tcp.copy")));
    }
}
