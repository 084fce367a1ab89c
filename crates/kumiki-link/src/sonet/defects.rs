//! Which defects there are, and what must be seen how often before that changes.

use crate::sonet::Defect;

/// All defects, in the order in which a receiver meets them.
static ALL: [Defect; 9] = [
    Defect::Los,
    Defect::Lof,
    Defect::MsAis,
    Defect::MsRdi,
    Defect::Lop,
    Defect::PathAis,
    Defect::PathRdi,
    Defect::Unequipped,
    Defect::PayloadMismatch,
];

/// A set of defects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Defects(u16);

impl Defects {
    const fn bit(defect: Defect) -> u16 {
        1 << match defect {
            Defect::Los => 0,
            Defect::Lof => 1,
            Defect::MsAis => 2,
            Defect::MsRdi => 3,
            Defect::Lop => 4,
            Defect::PathAis => 5,
            Defect::PathRdi => 6,
            Defect::Unequipped => 7,
            Defect::PayloadMismatch => 8,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this one is there.
    #[must_use]
    pub const fn has(self, defect: Defect) -> bool {
        self.0 & Self::bit(defect) != 0
    }

    /// Those that are there.
    pub fn iter(self) -> impl Iterator<Item = Defect> {
        ALL.into_iter().filter(move |defect| self.has(*defect))
    }

    /// Puts one in or takes it out; whether that changes anything.
    pub(super) const fn set(&mut self, defect: Defect, present: bool) -> bool {
        let before = self.0;
        if present {
            self.0 |= Self::bit(defect);
        } else {
            self.0 &= !Self::bit(defect);
        }
        before != self.0
    }

    /// Whether the line is not received: no signal, no frames, or an alarm in their place.
    #[must_use]
    pub const fn line_fails(self) -> bool {
        self.has(Defect::Los) || self.has(Defect::Lof) || self.has(Defect::MsAis)
    }

    /// Whether the path is not received.
    #[must_use]
    pub const fn path_fails(self) -> bool {
        self.line_fails() || self.has(Defect::Lop) || self.has(Defect::PathAis) || self.has(Defect::Unequipped)
    }

    /// Whether no payload can arrive.
    #[must_use]
    pub const fn payload_fails(self) -> bool {
        self.path_fails() || self.has(Defect::PayloadMismatch)
    }
}

/// The defects that cannot be seen while this one is there.
pub(super) fn hidden_by(defect: Defect) -> &'static [Defect] {
    let from = match defect {
        Defect::Los => 1,
        Defect::Lof => 2,
        Defect::MsAis => 3,
        Defect::Lop | Defect::PathAis => 6,
        Defect::Unequipped => 8,
        Defect::MsRdi | Defect::PathRdi | Defect::PayloadMismatch => ALL.len(),
    };
    ALL.get(from..).unwrap_or_default()
}

/// A value that is believed when it has come often enough in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Persistent<T> {
    believed: T,
    seen: T,
    times: u8,
    needed: u8,
}

impl<T: Copy + PartialEq> Persistent<T> {
    pub(super) const fn new(believed: T, needed: u8) -> Self {
        Self { believed, seen: believed, times: 0, needed }
    }

    /// Takes what has come; the value believed then.
    pub(super) fn take(&mut self, value: T) -> T {
        if value == self.believed {
            self.times = 0;
            return value;
        }
        self.times = if value == self.seen { self.times } else { 0 } + 1;
        self.seen = value;
        if self.times >= self.needed {
            self.believed = value;
            self.times = 0;
        }
        self.believed
    }

    /// Whether nothing else has come lately.
    pub(super) const fn is_steady(&self) -> bool {
        self.times == 0
    }
}
