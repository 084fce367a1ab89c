//! Congestion control: how much may be in the network.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 5681, with RFC 3465 (byte counting), RFC 6582 and RFC 6675 (recovery), RFC 6928 (initial window), RFC 9406 (HyStart++), RFC 3168 section 6.1.2 and RFC 8511 (congestion marks); RFC 9438 as an alternative (RFC 9293 MAY-18) |
//! | The caller's part | to find out that data was lost, what to send again, and when to call which method |
//! | Left out | pacing and PRR (the sender's), responses to the share of marked segments (DCTCP, L4S) |
//!
//! # The window is never inflated
//!
//! RFC 5681 and 6582 add a segment to cwnd for each duplicate ACK in fast recovery; RFC 6675 instead subtracts from
//! "pipe" what SACK reports to have left. Here the second way serves both: in recovery [`Congestion::window`] is
//! ssthresh, and [`Scoreboard::pipe`](super::scoreboard::Scoreboard::pipe) shrinks with each duplicate ACK or SACK
//! block. What may be sent is always `window - pipe`, which is the same arithmetic with the inflation on the other
//! side.
//!
//! # Calling order
//!
//! 1. Each ACK of new data outside fast recovery: [`Congestion::on_ack`]; also while recovering from a time-out, which
//!    is slow start.
//! 2. Entering fast recovery: [`Congestion::on_loss`], once. Until it ends no `on_ack`.
//! 3. The ACK that ends it: [`Congestion::on_recovered`].
//! 4. Each expiry of the retransmission timer: [`Congestion::on_timeout`]; this also ends fast recovery.
//! 5. Before 2 or 4, where no recovery goes on: [`Congestion::save`]; at any time later, if there was no loss after
//!    all: [`Congestion::undo`].

use core::fmt::Debug;

use crate::settable::Word;
use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Seq;

pub mod cubic;
pub mod fixed;
mod hystart;
pub mod newreno;
mod window;

pub use cubic::Cubic;
pub use fixed::Fixed;
pub use newreno::NewReno;

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it came.
    pub now: Instant,
    /// Octets that it acknowledges for the first time.
    pub octets: u64,
    /// Octets outstanding just before it came.
    pub flight: u64,
    /// SRTT, where known.
    pub srtt: Option<Duration>,
    /// The shortest round trip of what it acknowledges, where that is known.
    pub rtt: Option<Duration>,
    /// SND.UNA, now.
    pub una: Seq,
    /// SND.NXT.
    pub nxt: Seq,
    /// The window was what limited the sender during the flight acknowledged. Where the application or the receiver
    /// did, the window does not grow: it would no longer say anything of the network (RFC 7661 section 1).
    pub window_limited: bool,
}

/// Data was lost, as duplicate ACKs, SACK, RACK or a timer tell.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When that was noticed.
    pub now: Instant,
    /// FlightSize: octets outstanding, without those that limited transmit sent (RFC 5681 section 3.2).
    pub flight: u64,
}

/// A congestion control algorithm: one per connection. All windows are in octets.
pub trait Congestion: Send + Debug {
    /// A short name for reports: `newreno`.
    fn name(&self) -> &'static str;

    /// cwnd: octets that may be in the network.
    fn window(&self) -> u64;

    /// ssthresh: where slow start ends; `u64::MAX` as long as nothing was lost.
    fn ssthresh(&self) -> u64;

    /// Whether the window is below ssthresh.
    fn in_slow_start(&self) -> bool {
        self.window() < self.ssthresh()
    }

    /// SMSS is `smss` octets, as the handshake or path MTU discovery tells. Before the first ACK the initial window is
    /// found again; later the window keeps its octets.
    fn set_smss(&mut self, smss: u32);

    /// New data was acknowledged outside fast recovery.
    fn on_ack(&mut self, ack: &Acked);

    /// Fast recovery begins: the window becomes ssthresh.
    fn on_loss(&mut self, loss: &Loss);

    /// Everything that was outstanding when fast recovery began is acknowledged; `flight` octets are outstanding.
    fn on_recovered(&mut self, now: Instant, flight: u64);

    /// The retransmission timer expired; `again` if it had already expired for this very segment, which must not lower
    /// ssthresh twice (RFC 5681 section 3.1).
    fn on_timeout(&mut self, loss: &Loss, again: bool);

    /// The peer echoed a congestion mark; to be called at most once per window of data. As a loss, but nothing was lost
    /// (RFC 3168 section 6.1.2), so there is no recovery and [`Congestion::on_ack`] goes on. The window may become one
    /// segment, which no loss does to it.
    fn on_ecn(&mut self, loss: &Loss) {
        self.on_loss(loss);
    }

    /// A reduction follows that may turn out to have been for nothing; `flight`: octets outstanding (FlightSize).
    fn save(&mut self, _flight: u64) {}

    /// The reduction after [`Congestion::save`] was for nothing: ssthresh is again what was safe then, and the window
    /// at most what it was, and at most `cwnd`, from which slow start goes on (RFC 4015 section 3.4). Once.
    fn undo(&mut self, _cwnd: u64) {}

    /// Nothing was sent for longer than RTO: the window falls to the restart window (RFC 5681 section 4.1).
    fn on_idle(&mut self, now: Instant);

    /// A SYN or its acknowledgment had to be retransmitted: the initial window is one segment (RFC 5681 section 3.1).
    fn on_syn_lost(&mut self);
}

/// The window before the first acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum InitialWindow {
    /// So many segments: 1 as in 4.3BSD, 2 as RFC 2581 allowed.
    #[word(skip)]
    Segments(u32),
    /// min(4 SMSS, max(2 SMSS, 4380 octets)).
    Rfc3390,
    /// min(10 SMSS, max(2 SMSS, 14600 octets)).
    Rfc6928,
}

impl InitialWindow {
    /// In octets.
    #[must_use]
    pub fn octets(self, smss: u32) -> u64 {
        let smss = u64::from(smss);
        match self {
            Self::Segments(n) => smss * u64::from(n.max(1)),
            Self::Rfc3390 => (4 * smss).min((2 * smss).max(4380)),
            Self::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
        }
    }
}

/// What every algorithm is told at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// SMSS in octets.
    pub smss: u32,
    /// The initial window, which is also the most that the restart window can be.
    pub initial_window: InitialWindow,
    /// RFC 3465's L: at most so many SMSS are added for one ACK in slow start; after a time-out always one. 1 is what
    /// RFC 5681 has; a receiver that acknowledges whole trains of segments needs more, as Linux does without a limit.
    pub slow_start_limit: u32,
    /// Answer a congestion mark in congestion avoidance with a factor of its own (RFC 8511).
    pub abe: bool,
    /// Leave the first slow start by HyStart++ (RFC 9406), which has a limit of its own until then.
    pub hystart: bool,
    /// Sending is paced, so that HyStart++ needs no limit.
    pub paced: bool,
}

impl Config {
    /// IW10 and L = 2, neither HyStart++ nor pacing.
    #[must_use]
    pub const fn new(smss: u32) -> Self {
        Self {
            smss,
            initial_window: InitialWindow::Rfc6928,
            slow_start_limit: 2,
            abe: false,
            hystart: false,
            paced: false,
        }
    }
}

/// The algorithms there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Algorithm {
    /// RFC 5681 with byte counting.
    #[word("newreno")]
    NewReno,
    /// RFC 9438.
    #[default]
    Cubic,
    /// No congestion control: the receiver's window is all there is.
    Fixed,
}

impl Algorithm {
    /// A controller at its start.
    #[must_use]
    pub fn build(self, config: Config) -> Box<dyn Congestion> {
        match self {
            Self::NewReno => Box::new(NewReno::new(config)),
            Self::Cubic => Box::new(Cubic::new(config)),
            Self::Fixed => Box::new(Fixed),
        }
    }
}

#[cfg(test)]
mod tests;
