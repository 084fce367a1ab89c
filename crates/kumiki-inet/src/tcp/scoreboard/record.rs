//! What is known of one transmission, and of one acknowledgment.

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::{SackBlock, Seq};

use super::timeline::Sent;

/// Sequence numbers `start..end`; SYN and FIN count as one each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first.
    pub start: Seq,
    /// The one after the last.
    pub end: Seq,
}

impl Span {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.end - self.start
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// One transmission that is not cumulatively acknowledged. Parts of one sending may become records of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// What was sent.
    pub span: Span,
    /// When it was first sent.
    pub first_sent: Instant,
    /// When it was last sent: RFC 8985's `Segment.xmit_ts`.
    pub last_sent: Instant,
    /// How many sendings on the connection came before its last one.
    pub order: u64,
    /// How often it was sent; above 1 is RFC 8985's `Segment.retransmitted`.
    pub times_sent: u32,
    /// The receiver reported to hold it.
    pub sacked: bool,
    /// It is taken for lost, and `resent` tells whether that has been made good.
    pub lost: bool,
    /// A retransmission of it is taken to be in the network.
    pub resent: bool,
    /// Octets delivered on the connection when it was last sent.
    pub delivered: u64,
    /// When the last of those was delivered, or the first sending after an idle time.
    pub delivered_at: Instant,
    /// The sender had run out of data when it was first sent, so a delivery rate taken from it is only a lower bound.
    pub app_limited: bool,
    /// It is in the count of what was delivered: as `sacked`, but stays when SACKs are forgotten.
    pub counted: bool,
}

impl Transmission {
    /// Its last sending.
    #[must_use]
    pub const fn sent(&self) -> Sent {
        Sent { order: self.order, end: self.span.end, at: self.last_sent }
    }

    /// Lost, and nothing was done about it.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        self.lost && !self.resent && !self.sacked
    }
}

/// What an acknowledgment changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckOutcome {
    /// Octets by which the cumulative acknowledgment advanced.
    pub acked: u32,
    /// Octets now known to have arrived that were not before, by cumulative acknowledgment or SACK.
    pub delivered: u32,
    /// The round trip of the earliest sent of those, delayed acknowledgment included: the sample for RTO.
    ///
    /// `None` where Karn's rule (RFC 9293 MUST-18) leaves no sample. A SACK tells of each segment by itself, so one
    /// that was sent once gives a sample. A cumulative acknowledgment gives none if any segment was sent twice: what
    /// followed that one may have waited for it at the receiver.
    pub rtt: Option<Duration>,
    /// The round trip of the latest sent of those, on the same conditions: the sample for the shortest round trip.
    pub rtt_newest: Option<Duration>,
    /// When the first of those that were sent more than once was last sent: what a timestamp echoes that was sent
    /// earlier may be of an earlier copy, or of an acknowledgment that was lost and is repeated.
    pub again: Option<Instant>,
    /// The latest sending that it is certain to tell of: see
    /// [`Scoreboard::believe_until`](super::Scoreboard::believe_until).
    pub latest: Option<Sent>,
    /// One that was sent once only arrived after one with a higher sequence number (RFC 8985 section 6.2 step 3).
    pub reordered: bool,
    /// How far below the highest delivered before it such a one began, in octets.
    pub extent: u32,
    /// Octets that IsLost (RFC 6675) has come to hold for.
    pub lost: u32,
    /// The D-SACK block (RFC 2883): octets that arrived more than once.
    pub dsack: Option<SackBlock>,
}

impl AckOutcome {
    /// With what the rest of the same acknowledgment changed.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let latest = match (self.latest, other.latest) {
            (Some(one), Some(two)) if one.is_after(&two) => Some(one),
            (one, two) => two.or(one),
        };
        let shorter = |one: Option<Duration>, two| one.into_iter().chain(two).min();
        Self {
            acked: self.acked + other.acked,
            delivered: self.delivered + other.delivered,
            rtt: self.rtt.or(other.rtt),
            rtt_newest: shorter(self.rtt_newest, other.rtt_newest),
            again: self.again.into_iter().chain(other.again).min(),
            latest,
            reordered: self.reordered || other.reordered,
            extent: self.extent.max(other.extent),
            lost: self.lost + other.lost,
            dsack: self.dsack.or(other.dsack),
        }
    }
}

/// Octets in records of each kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    pub(super) sacked: u32,
    /// Not SACKed, and lost.
    pub(super) lost: u32,
    /// Not SACKed, and retransmitted.
    pub(super) resent: u32,
    /// [`Transmission::is_pending`].
    pub(super) pending: u32,
    /// Records SACKed.
    pub(super) reports: u32,
}

impl Tally {
    /// Of no records.
    pub(super) const NONE: Self = Self { sacked: 0, lost: 0, resent: 0, pending: 0, reports: 0 };

    pub(super) fn of(record: &Transmission) -> Self {
        let len = record.span.len();
        let count = |is: bool| if is { len } else { 0 };
        Self {
            sacked: count(record.sacked),
            lost: count(record.lost && !record.sacked),
            resent: count(record.resent && !record.sacked),
            pending: count(record.is_pending()),
            reports: u32::from(record.sacked),
        }
    }

    pub(super) const fn add(&mut self, other: Self) {
        self.sacked += other.sacked;
        self.lost += other.lost;
        self.resent += other.resent;
        self.pending += other.pending;
        self.reports += other.reports;
    }

    pub(super) const fn subtract(&mut self, other: Self) {
        self.sacked -= other.sacked;
        self.lost -= other.lost;
        self.resent -= other.resent;
        self.pending -= other.pending;
        self.reports -= other.reports;
    }
}
