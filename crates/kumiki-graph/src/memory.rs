//! What all sessions of one protocol hold together, and how much is too much.
//!
//! Counted is what they hold of memory ([`Held`]), in three parts. From half of the bound on no buffer grows. Beyond it each session has [`FLOOR`]. What was promised
//! before is still taken, up to a quarter of the bound more, in which what sessions take themselves counts as well. There memory is spent ([`Memory::is_spent`]): nobody new is
//! heard, and what comes for a user that has not taken what came before is dropped, as if the network had lost it.
//!
//! What is ahead of its turn has a quarter of the bound, and is dropped beyond as if the network had, in all sessions: peers that leave holes must not make the buffers of others
//! small. Who loses nothing does not notice; who does sends again.

/// What each session may buffer in any case, each way, in octets.
pub const FLOOR: u32 = 4096;

/// What all sessions hold, in octets.
#[derive(Debug, Default)]
pub struct Memory {
    /// All but what is ahead of its turn.
    used: u64,
    ahead: u64,
    /// What the sessions take themselves.
    standing: u64,
}

/// What one session holds, in the same parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Not sent, not acknowledged, or with a user that has not given credit back.
    pub used: u32,
    /// Ahead of its turn.
    pub ahead: u32,
    /// The session itself.
    pub standing: u32,
}

/// How scarce memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pressure {
    /// There is enough.
    None,
    /// No more than at first for anybody.
    Some,
    /// No more than there must be.
    Full,
}

impl Memory {
    /// How scarce it is where all may have `most` octets; 0: no bound.
    #[must_use]
    pub const fn pressure(&self, most: u64) -> Pressure {
        match most {
            0 => Pressure::None,
            most if self.used >= most => Pressure::Full,
            most if self.used >= most / 2 => Pressure::Some,
            _ => Pressure::None,
        }
    }

    /// Whether nothing more is taken: see the head of this file.
    #[must_use]
    pub const fn is_spent(&self, most: u64) -> bool {
        most > 0 && self.used().saturating_add(self.standing) >= most.saturating_add(most / 4)
    }

    /// Whether what is ahead of its turn finds no room.
    #[must_use]
    pub const fn is_full_ahead(&self, most: u64) -> bool {
        most > 0 && (self.ahead >= most / 4 || self.used >= most)
    }

    /// What buffers hold.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used + self.ahead
    }

    /// A session that held `was` when it was last counted holds `is`.
    pub const fn count(&mut self, was: Held, is: Held) {
        self.used = self.used.saturating_sub(was.used as u64) + is.used as u64;
        self.ahead = self.ahead.saturating_sub(was.ahead as u64) + is.ahead as u64;
        self.standing = self.standing.saturating_sub(was.standing as u64) + is.standing as u64;
    }
}
