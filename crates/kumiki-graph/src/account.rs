//! What each node did, and what that costs on a modelled host.

use std::collections::BTreeMap;

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
}

impl Work {
    /// All kinds, in the order of a price list.
    pub const ALL: [Self; 8] = [
        Self::Push,
        Self::Pop,
        Self::Expire,
        Self::Send,
        Self::Deliver,
        Self::Copy,
        Self::Sum,
        Self::Wake,
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
        }
    }
}

/// What a node's work costs, in picoseconds per unit of work. Free unless set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prices([u64; Work::ALL.len()]);

impl Prices {
    /// The price of one unit of `work`, in picoseconds.
    #[must_use]
    pub const fn of(&self, work: Work) -> u64 {
        let Self([push, pop, expire, send, deliver, copy, sum, wake]) = *self;
        match work {
            Work::Push => push,
            Work::Pop => pop,
            Work::Expire => expire,
            Work::Send => send,
            Work::Deliver => deliver,
            Work::Copy => copy,
            Work::Sum => sum,
            Work::Wake => wake,
        }
    }

    /// Sets the price of one unit of `work`, in picoseconds.
    pub fn set(&mut self, work: Work, picoseconds: u64) {
        for (kind, price) in Work::ALL.iter().zip(&mut self.0) {
            if *kind == work {
                *price = picoseconds;
            }
        }
    }
}
