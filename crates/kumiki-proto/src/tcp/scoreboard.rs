//! What was sent and is not acknowledged: the send side's record of transmissions.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 6675 (IsLost, SetPipe, NextSeg), RFC 2018 section 5, RFC 2883, RFC 6582, RFC 8985 section 5 (records) |
//! | The caller's part | the octets themselves, recovery's beginning and end (RecoveryPoint, recover), the timers, the window |
//! | Left out | RACK's decision itself: it reads [`Transmission`] and calls [`Scoreboard::mark_lost_if`] |
//!
//! # What one ACK costs
//!
//! RFC 6675 describes its functions by walks over the sequence space. Here they are kept up: records leave at the front,
//! the counts behind [`Scoreboard::pipe`] change with the records, and IsLost is one number. SACKed octets above S only
//! grow as S falls, so there is an edge below which everything unSACKed is lost; it lies at the start of a SACKed range
//! that the three highest ranges decide, and it only moves forward. A block of which all is known costs a binary search.
//!
//! # Recovery without SACK
//!
//! A duplicate ACK says that some segment has left the network: [`Scoreboard::on_duplicate_ack`] takes it off the pipe
//! where RFC 5681 would inflate cwnd, and [`Scoreboard::on_partial_ack`] does RFC 6582's partial deflation. `window -
//! pipe` then says in every mode what may be sent; called for the first two duplicates as well, that is limited transmit
//! (RFC 3042).

use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant};
use kumiki_wire::tcp::{SackBlock, Seq};

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
    /// The sender had run out of data when it was last sent, so a delivery rate taken from it is only a lower bound.
    pub app_limited: bool,
}

/// What an acknowledgment changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckOutcome {
    /// Octets by which the cumulative acknowledgment advanced.
    pub acked: u32,
    /// Octets now known to have arrived that were not before, by cumulative acknowledgment or SACK.
    pub delivered: u32,
    /// The round trip of the earliest sent of those, delayed acknowledgment included: the sample for RTO. `None` where
    /// Karn's rule leaves no sample: any of them was sent more than once.
    pub rtt: Option<Duration>,
    /// The round trip of the latest sent of those, on the same conditions: the sample for the shortest round trip.
    pub rtt_newest: Option<Duration>,
    /// The record of the latest sent of those, for delivery rate samples.
    pub newest: Option<Transmission>,
    /// One that was sent once only arrived after one with a higher sequence number (RFC 8985 section 6.2 step 3).
    pub reordered: bool,
    /// The D-SACK block (RFC 2883): octets that arrived more than once.
    pub dsack: Option<SackBlock>,
}

/// What to send next in recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextSeg {
    /// Send this again, then call [`Scoreboard::on_retransmit`]: rules 1 and 3.
    Again(Span),
    /// Send unsent data, then call [`Scoreboard::on_send`]: rule 2.
    New,
    /// Send this again, then call [`Scoreboard::on_rescue`]: rule 4, once per recovery.
    Rescue(Span),
}

/// The record of one connection.
#[derive(Debug)]
pub struct Scoreboard {
    smss: u32,
    records: VecDeque<Transmission>,
    una: Seq,
    nxt: Seq,
}

#[expect(clippy::todo, unused_variables, reason = "interface first")]
impl Scoreboard {
    /// Nothing sent; the first sequence number will be `iss`. DupThresh is 3.
    #[must_use]
    pub fn new(iss: Seq, smss: u32) -> Self {
        todo!()
    }
    /// SMSS is now `smss` octets.
    pub fn set_smss(&mut self, smss: u32) {
        todo!()
    }
    /// SND.UNA: the first that is not cumulatively acknowledged.
    #[must_use]
    pub fn una(&self) -> Seq {
        self.una
    }
    /// SND.NXT: the one after the last that was sent (RFC 6675's HighData + 1).
    #[must_use]
    pub fn nxt(&self) -> Seq {
        self.nxt
    }
    /// FlightSize: octets sent and not cumulatively acknowledged.
    #[must_use]
    pub fn flight(&self) -> u32 {
        todo!()
    }
    /// Octets taken to be in the network: RFC 6675's pipe, less what duplicate ACKs tell.
    #[must_use]
    pub fn pipe(&self) -> u32 {
        todo!()
    }
    /// Octets SACKed above SND.UNA.
    #[must_use]
    pub fn sacked(&self) -> u32 {
        todo!()
    }
    /// Octets that arrived at the receiver since the start.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        todo!()
    }
    /// Nothing is outstanding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    /// The records, in order of sequence numbers.
    pub fn records(&self) -> impl Iterator<Item = &Transmission> {
        self.records.iter()
    }
    /// `len` new octets (SYN and FIN count) were sent from SND.NXT on; `app_limited`: and there are no more to send.
    pub fn on_send(&mut self, len: u32, now: Instant, app_limited: bool) {
        todo!()
    }
    /// `span` was sent again.
    pub fn on_retransmit(&mut self, span: Span, now: Instant) {
        todo!()
    }
    /// `span` was sent again by rule 4 of NextSeg: HighRxt and pipe stay.
    pub fn on_rescue(&mut self, span: Span, now: Instant) {
        todo!()
    }
    /// The peer acknowledges all before `una`; duplicate ACKs counted so far are forgotten. Ignored unless
    /// SND.UNA < `una` <= SND.NXT.
    pub fn on_cumulative_ack(&mut self, una: Seq, now: Instant) -> AckOutcome {
        todo!()
    }
    /// As [`Scoreboard::on_cumulative_ack`], for a partial ACK in fast recovery without SACK (RFC 6582 section 3.2 step
    /// 3): of the duplicate ACKs counted, the octets acknowledged are taken back and, where they are a full segment, one
    /// SMSS is added.
    pub fn on_partial_ack(&mut self, una: Seq, now: Instant) -> AckOutcome {
        todo!()
    }
    /// A duplicate ACK without SACK came: `octets` (SMSS) have left the network.
    pub fn on_duplicate_ack(&mut self, octets: u32) {
        todo!()
    }
    /// Forgets the duplicate ACKs counted.
    pub fn clear_duplicates(&mut self) {
        todo!()
    }
    /// The SACK blocks of a segment with acknowledgment number `ack`, after [`Scoreboard::on_cumulative_ack`].
    pub fn on_sack(&mut self, ack: Seq, blocks: &[SackBlock], now: Instant) -> AckOutcome {
        todo!()
    }
    /// IsLost for the octet at `seq`; with `una()`, whether to enter recovery before the third duplicate ACK.
    #[must_use]
    pub fn is_lost(&self, seq: Seq) -> bool {
        todo!()
    }
    /// Recovery begins: one rescue retransmission is allowed (RFC 6675 section 5 step 4).
    pub fn on_recovery(&mut self) {
        todo!()
    }
    /// What to send next, of at most `limit` octets; `new_data`: there is unsent data and the peer's window allows it.
    #[must_use]
    pub fn next_seg(&mut self, limit: u32, new_data: bool) -> Option<NextSeg> {
        todo!()
    }
    /// The first unacknowledged segment, of at most `limit` octets, whatever is known of it: what fast retransmit, a
    /// partial ACK and the retransmission timer send.
    #[must_use]
    pub fn first_unacked(&self, limit: u32) -> Option<Span> {
        todo!()
    }
    /// Takes the first unacknowledged segment of at most `limit` octets for lost: fast retransmit by duplicate ACKs.
    pub fn mark_first_lost(&mut self, limit: u32) {
        todo!()
    }
    /// The retransmission timer expired: all that is not SACKed is taken for lost, retransmissions included.
    pub fn mark_all_lost(&mut self) {
        todo!()
    }
    /// Takes for lost each record not SACKed, and not already so, for which `lost` says so: for RACK. Octets marked.
    pub fn mark_lost_if(&mut self, lost: impl FnMut(&Transmission) -> bool) -> u32 {
        todo!()
    }
    /// The receiver dropped what it had reported: SACKed octets begin at SND.UNA (RFC 2018 section 8).
    #[must_use]
    pub fn has_reneged(&self) -> bool {
        todo!()
    }
    /// Forgets what was SACKed: after reneging, or at each time-out as RFC 2018 section 8 has it.
    pub fn forget_sacks(&mut self) {
        todo!()
    }
}
