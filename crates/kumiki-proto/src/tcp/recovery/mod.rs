//! Loss recovery: whether data is being sent again, and what decided so.
//!
//! [`Recovery`] owns the variables. What changes them is told by where it comes from: acknowledgments in `acks`, expiries
//! of the retransmission timer in `timeout`. The record of transmissions is the
//! [`Scoreboard`](super::scoreboard::Scoreboard)'s; what goes out next is asked for in `output`.

use kumiki_wire::tcp::Seq;

mod acks;
mod timeout;

/// Which losses are being made good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// None.
    None,
    /// Fast recovery, until everything up to here is acknowledged (RFC 6675's RecoveryPoint, RFC 6582's recover).
    Fast(Seq),
    /// After the retransmission timer expired, until everything up to here is acknowledged.
    Timeout(Seq),
}

/// The variables of loss recovery of one connection.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) phase: Phase,
    /// Duplicate acknowledgments in a row.
    pub(crate) duplicates: u32,
    /// The next segment of recovery goes whatever is under way.
    pub(crate) forced: bool,
}

impl Recovery {
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::None,
            duplicates: 0,
            forced: false,
        }
    }

    /// What the scoreboard has marked lost is to be sent again, up to `nxt`, though no acknowledgment or timer said so.
    pub(crate) fn resend_until(&mut self, nxt: Seq) {
        if self.phase == Phase::None {
            self.phase = Phase::Timeout(nxt);
        }
        self.forced = true;
    }

    /// Everything that was outstanding when recovery began is acknowledged.
    const fn end(&mut self) {
        self.phase = Phase::None;
        self.forced = false;
    }
}
