//! Congestion avoidance of XTP: how much may be in the network, and how fast it goes out.
//!
//! | | |
//! |---|---|
//! | Specification | none: no edition of XTP has any. Paper 3's mechanism stands in a paper that is not at hand, so these are ours; [`matched`] is told in `docs/xtp-congestion.md` |
//! | The caller's part | to ask for status, to find from the answers what arrived and what is lost, the timer, and to keep to window and rate |
//! | Left out | what the peer's traffic segment allows (the caller takes the smaller rate), marks of congestion (ECN), since XTP has no place for their echo |
//!
//! A controller hears only of answered questions, each with all that became known since the one before. It says how
//! many octets may be out that are not known to have arrived or to be lost, and at what rate they leave.

use core::fmt::Debug;

use kumiki_graph::{Duration, Instant};

pub mod matched;
mod unlimited;

pub use matched::Matched;
pub use unlimited::Unlimited;

/// An answer to a question, or any control packet that tells something new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// When it came.
    pub now: Instant,
    /// Octets that it is the first to report as received, in order or by spans.
    pub delivered: u64,
    /// Octets that are held lost since it came.
    pub lost: u64,
    /// Octets that are out now: sent and neither known to be received nor held lost.
    pub in_flight: u64,
    /// The round trip that it measured, where it did.
    pub rtt: Option<Duration>,
    /// The shortest round trip of late.
    pub min_rtt: Option<Duration>,
    /// The largest number of a question that the peer has seen (echo).
    pub sync: u32,
    /// The number of the last question sent.
    pub sent_sync: u32,
    /// The user or the peer's `alloc`, and neither window nor rate, kept us from sending more.
    pub limited: bool,
}

/// A congestion control algorithm: one per context.
pub trait Controller: Debug + Send {
    /// The peer told how far it is.
    fn on_status(&mut self, status: &Status);

    /// WTIMER expired without an answer. To be called for each expiry.
    fn on_timeout(&mut self, now: Instant);

    /// Packets have at most `packet` octets of data, as has become known now.
    fn on_packet(&mut self, packet: u32) {
        let _ = packet;
    }

    /// Octets that may be out at once: sent and neither known to be received nor held lost.
    fn window(&self) -> u64;

    /// Whether a packet of `octets` may leave now, whatever the pace. It does, if so.
    fn leaps(&mut self, octets: u64) -> bool {
        let _ = octets;
        false
    }

    /// Octets in a second at which they leave, headers of XTP not counted; none where there is no limit.
    fn rate(&self) -> Option<u64>;
}

/// The algorithms there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// No congestion control: the peer's `alloc` is all there is.
    Off,
    /// [`Matched`].
    #[default]
    Matched,
}

impl Kind {
    /// The words for it in settings.
    pub const WORDS: [(&'static str, Self); 2] = [(Self::Off.name(), Self::Off), (Self::Matched.name(), Self::Matched)];

    /// Name and version, for settings and reports: `off`, `matched-2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Matched => matched::NAME,
        }
    }
}

/// A controller at its start, for packets of at most `packet` octets of data.
#[must_use]
pub fn controller(kind: Kind, packet: u32) -> Box<dyn Controller> {
    match kind {
        Kind::Off => Box::new(Unlimited),
        Kind::Matched => Box::new(Matched::new(packet)),
    }
}

#[cfg(test)]
mod tests;
