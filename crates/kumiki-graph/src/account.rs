//! What each node did, and what that costs on a modelled host.

use std::collections::BTreeMap;

use kumiki_octets::Message;

use crate::Duration;

/// One direction through a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// Primitives received.
    pub calls: u64,
    /// Of these, how many carried user data.
    pub messages: u64,
    /// Octets of user data in them.
    pub octets: u64,
}

impl Flow {
    /// A primitive, and the user data that came with it.
    pub(crate) fn count(&mut self, message: Option<&Message>) {
        match message {
            Some(message) => self.count_octets(message.len()),
            None => self.calls += 1,
        }
    }

    /// A primitive that came with so many octets of user data.
    #[inline]
    pub(crate) const fn count_octets(&mut self, octets: usize) {
        self.calls += 1;
        self.messages += 1;
        self.octets += octets as u64;
    }
}

/// What a node did since it was made. Always kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Requests from above.
    pub down: Flow,
    /// Indications from below.
    pub up: Flow,
    /// Timers that expired.
    pub timers: u64,
    /// Octets copied.
    pub copied: u64,
    /// Octets read to know their sum.
    pub summed: u64,
    /// Times it was woken because pages came free.
    pub wakes: u64,
    /// A program's writes and reads.
    pub calls: u64,
    /// Changes from one session's process to another's.
    pub switches: u64,
    /// Pages of memory that had to be mapped.
    pub mapped: u64,
    /// Modelled time spent, by the price list.
    pub busy: Duration,
    /// Messages thrown away, by reason.
    pub drops: BTreeMap<&'static str, u64>,
}

/// What a price list puts a price on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Work {
    /// Taking a request from above.
    Push,
    /// Taking an indication from below.
    Pop,
    /// Taking a timer's expiry.
    Expire,
    /// Handing a message to the layer below.
    Send,
    /// Handing a message to the layer above.
    Deliver,
    /// Copying an octet.
    Copy,
    /// Reading an octet to know its sum.
    Sum,
    /// Being woken where the node had to wait for pages.
    Wake,
    /// A program's call into the stack: a write or a read.
    Call,
    /// Changing from one session's process to another's.
    Switch,
    /// Getting a page of memory that must be mapped first.
    Map,
    /// An octet of a message that the node takes, from above or from below, whatever it does with it: a driver whose
    /// CPU moves octets to and from its adapter by itself.
    Octet,
}

impl Work {
    /// All kinds, in the order of a price list.
    pub const ALL: [Self; 12] = [
        Self::Push,
        Self::Pop,
        Self::Expire,
        Self::Send,
        Self::Deliver,
        Self::Copy,
        Self::Sum,
        Self::Wake,
        Self::Call,
        Self::Switch,
        Self::Map,
        Self::Octet,
    ];

    /// The name in profiles.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Pop => "pop",
            Self::Expire => "expire",
            Self::Send => "send",
            Self::Deliver => "deliver",
            Self::Copy => "copy",
            Self::Sum => "sum",
            Self::Wake => "wake",
            Self::Call => "call",
            Self::Switch => "switch",
            Self::Map => "map",
            Self::Octet => "octet",
        }
    }
}

/// What a node's work costs, in picoseconds per unit of work. Free unless set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prices([u64; Work::ALL.len()]);

impl Prices {
    /// The price of one unit of `work`, in picoseconds.
    #[must_use]
    pub fn of(&self, work: Work) -> u64 {
        self.0.get(work as usize).copied().unwrap_or(0)
    }

    /// Sets the price of one unit of `work`, in picoseconds.
    pub fn set(&mut self, work: Work, picoseconds: u64) {
        if let Some(price) = self.0.get_mut(work as usize) {
            *price = picoseconds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_work_has_a_price_of_its_own() {
        let mut prices = Prices::default();
        for (number, work) in Work::ALL.into_iter().enumerate() {
            prices.set(work, number as u64);
        }
        assert!(Work::ALL.into_iter().enumerate().all(|(number, work)| prices.of(work) == number as u64));
    }
}
