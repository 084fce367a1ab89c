//! Loss recovery: whether data is being retransmitted, and what decided so.
//!
//! [`Recovery`] owns the variables. What changes them is told by where it comes from: acknowledgments in `acks`,
//! expiries of timers in `timeout`. Algorithms with variables of their own are `rack` and `tlp` (RFC 8985) and `prr`
//! (RFC 9937); `undo` finds out that there was no loss. The record of transmissions is the
//! [`Scoreboard`](super::scoreboard::Scoreboard)'s; what goes out next is asked for in `output`.

use kumiki_graph::{Duration, Instant};
use kumiki_octets::OnDemand;
use kumiki_wire::inet::tcp::Seq;

use super::config::{LossDetection, RateReduction};
use super::scoreboard::{Sent, Span};
use super::session::{Ctx, Session};
use super::trace::Recovering;

mod acks;
mod prr;
mod rack;
mod timeout;
mod tlp;
mod undo;

use prr::Prr;
use rack::Rack;
use tlp::Tlp;
use undo::{Frto, Undo};

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

impl From<Phase> for Recovering {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::None => Self::No,
            Phase::Fast(_) => Self::Fast,
            Phase::Timeout(_) => Self::Timeout,
        }
    }
}

/// The variables of loss recovery of one connection.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) phase: Phase,
    /// Duplicate acknowledgments in a row.
    pub(crate) duplicates: u32,
    /// The next segment of recovery goes whatever is in flight.
    pub(crate) forced: bool,
    /// What is being made good was not lost for congestion, so that congestion control has not been told.
    not_congestion: bool,
    /// When the retransmission timer expires, unless a timer that takes its place does before.
    pub(super) rto_at: Instant,
    /// Sendings there were when congestion control was last told of a loss in this recovery.
    reduced_at: u64,
    /// Octets of new data sent since the first duplicate acknowledgment, outside recovery.
    limited: u32,
    /// How the window shrinks in this fast recovery, where that is not at once.
    prr: Option<Box<Prr>>,
    /// Where recovery may turn out to have been for nothing.
    undo: OnDemand<Undo>,
    /// Duplicate acknowledgments that mean a loss, where reordering has been seen and RACK is not used; 0: as
    /// configured.
    dup_thresh: u32,
    /// Where time tells of losses.
    pub(super) rack: Option<Rack>,
    /// Where the tail is probed.
    pub(super) tlp: Option<Tlp>,
}

impl Recovery {
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::None,
            duplicates: 0,
            forced: false,
            not_congestion: false,
            rto_at: Instant::FAR_FUTURE,
            reduced_at: 0,
            limited: 0,
            prr: None,
            undo: OnDemand::new(),
            dup_thresh: 0,
            rack: None,
            tlp: None,
        }
    }

    /// What the scoreboard has marked lost is to be retransmitted, up to `nxt`, though no acknowledgment or timer said
    /// so.
    pub(crate) fn resend_until(&mut self, nxt: Seq) {
        if self.phase == Phase::None {
            self.phase = Phase::Timeout(nxt);
            self.not_congestion = true;
            // Nothing was done to congestion control that could be undone.
            self.forget_undo();
        }
        self.forced = true;
    }

    /// What an earlier recovery did stays as it is, whatever comes to light of it.
    pub(crate) fn forget_undo(&mut self) {
        if let Some(undo) = self.undo.own() {
            undo.disarm();
        }
    }

    /// Nothing is being made good or probed for, and F-RTO does not run.
    pub(super) fn is_calm(&self) -> bool {
        self.phase == Phase::None && matches!(self.undo.frto, Frto::Off) && self.tlp.as_ref().is_none_or(Tlp::is_idle)
    }

    /// An acknowledgment between `una` and `nxt` came that tells of no duplicate and ends no recovery.
    pub(super) fn adapt_to_round(&mut self, una: Seq, nxt: Seq) {
        if let Some(rack) = &mut self.rack {
            rack.adapt(false, false, una, nxt);
        }
    }

    /// All that was in flight is acknowledged, each octet by its only sending; `last` is the last of these, a round
    /// trip of `newest` ago.
    pub(super) fn on_whole_ack(&mut self, (last, newest): (Sent, Duration), (una, nxt): (Seq, Seq), now: Instant) {
        self.duplicates = 0;
        self.limited = 0;
        if let Some(rack) = &mut self.rack {
            rack.on_rtt(newest, now);
            rack.on_sent_delivered(last, now);
            rack.adapt(false, false, una, nxt);
            rack.set_reordering_at(None);
        }
    }

    /// Nothing is in flight: what is kept for that goes back.
    pub(super) fn fit(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.fit();
        }
    }

    /// Everything that was outstanding when recovery began is acknowledged.
    fn end(&mut self) {
        self.phase = Phase::None;
        (self.forced, self.not_congestion) = (false, false);
        self.prr = None;
    }

    /// `octets` were sent, `again` or for the first time.
    pub(crate) fn on_sent(&mut self, octets: u32, again: bool) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(octets);
        }
        if !again && self.duplicates > 0 {
            self.limited = self.limited.saturating_add(octets);
        }
        if !again && let Frto::New(left) = self.undo.frto {
            self.undo.frto = Frto::New(left.saturating_sub(1));
        }
    }

    /// `span` was retransmitted, with TSval `ts`.
    pub(crate) fn on_again(&mut self, span: Span, ts: Option<u32>) {
        self.on_sent(span.len(), true);
        if self.phase != Phase::None
            && let Some(undo) = self.undo.own()
        {
            undo.on_again(span, ts);
        }
    }

    /// F-RTO asks for new data in place of what is taken for lost: so many segments.
    pub(crate) fn new_instead(&self) -> Option<u8> {
        match self.undo.frto {
            Frto::New(left) => Some(left),
            Frto::Off | Frto::Again(_) => None,
        }
    }

    /// There is no new data, or no room for any.
    pub(crate) fn skip_new(&mut self) {
        if let Some(undo) = self.undo.own() {
            undo.frto = Frto::Off;
        }
    }
}

impl Session {
    /// cwnd: what may be in the network now.
    pub(crate) fn cwnd(&self) -> u64 {
        match &self.recovery.prr {
            Some(prr) => prr.cwnd(),
            None => self.congestion.window(),
        }
    }

    /// FlightSize as congestion control should see it: without what limited transmit sent beyond the window (RFC 5681
    /// section 3.2 step 2).
    fn loss_flight(&self) -> u64 {
        let flight = u64::from(self.board.flight());
        let beyond = flight.saturating_sub(self.congestion.window());
        flight - beyond.min(self.recovery.limited.into())
    }

    /// The handshake is done: what was negotiated decides how losses are told.
    pub(crate) fn begin_recovery(&mut self, ctx: &Ctx<'_, '_>) {
        let config = &ctx.shared.config;
        if !self.sack || config.loss_detection != LossDetection::Rack {
            return;
        }
        self.board.detect_by_time();
        let mut rack = Rack::new();
        if let Some(sample) = self.rtt.min() {
            rack.on_rtt(sample, ctx.now());
        }
        self.recovery.rack = Some(rack);
        self.recovery.tlp = config.tail_loss_probe.then(Tlp::default);
    }
}
