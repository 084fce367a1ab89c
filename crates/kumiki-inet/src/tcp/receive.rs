//! The receive side: what is expected, how much of it there is room for, and when to say so.

use std::collections::VecDeque;

use kumiki_graph::{Instant, Quality};
use kumiki_octets::{Message, OnDemand};
use kumiki_wire::inet::tcp::{SackBlock, Seq};

use super::buffers::Buffers;
use super::config::{AckRule, Config, EdgeRule, Rounding, WindowUpdate};
use super::counters::Counters;
use super::reassembly::Reassembly;
use super::session::Shared;

/// Largest window without scaling.
pub(crate) const MAX_WINDOW: u32 = 65_535;
/// So many pieces of what nobody has accepted yet may lie in pages of their own.
const FEW: usize = 8;

/// Why an acknowledgment is sent by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AckReason {
    /// The delayed acknowledgment timer expired.
    Timer,
    /// So much data has come that the rule asks for it.
    Data,
    /// The window can move far enough.
    WindowUpdate,
    /// A segment came out of order, or filled a gap.
    OutOfOrder,
    /// A FIN came.
    Fin,
    /// A SYN,ACK came.
    Syn,
    /// A segment came that is not acceptable, or is a challenge (RFC 5961).
    Unacceptable,
    /// Congestion marks came that the peer should know of soon (RFC 9768).
    Marks,
}

/// What acknowledgment is owed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwedAck {
    /// None.
    No,
    /// One, by the next segment or when the timer expires.
    Delayed,
    /// One, at the end of this batch.
    Now(AckReason),
}

/// The receive sequence variables of RFC 9293 section 3.3.1, and the receive buffer as far as TCP knows it.
///
/// Data goes to the user as soon as it is in order; what the user has not given credit back for is RCV.USER.
#[derive(Debug)]
pub(crate) struct Receive {
    /// IRS.
    pub(crate) irs: Seq,
    /// RCV.NXT.
    pub(crate) nxt: Seq,
    /// RCV.NXT+RCV.WND as last advertised; never moves back (SHLD-14).
    pub(crate) edge: Seq,
    /// RCV.BUFF.
    pub(crate) buffer: u32,
    /// What it may become: the shift count is for this.
    pub(crate) most: u32,
    /// RCV.USER.
    pub(crate) user: u32,
    /// Rcv.Wind.Shift.
    pub(crate) shift: u8,
    /// The peer offered window scaling.
    pub(crate) scaling: bool,
    pub(crate) queue: OnDemand<Reassembly>,
    /// In-order data while nobody has accepted the connection.
    pub(crate) held: OnDemand<VecDeque<(Message, bool)>>,
    /// The peer's FIN has come in order.
    pub(crate) fin: bool,
    /// TS.Recent and when it was set.
    pub(crate) ts_recent: (u32, Instant),
    /// Last.ACK.sent.
    pub(crate) last_ack_sent: Seq,
    pub(crate) due: OwedAck,
    /// Something was refused, and whoever sent it is to hear where we stand. No acknowledgment is owed for it.
    pub(crate) asked: bool,
    /// What of it is a copy, for D-SACK.
    pub(crate) copy: Option<SackBlock>,
    /// Since the last acknowledgment: segments that count by the rule, and octets.
    counted: u32,
    octets: u32,
    /// How many segments wait for their acknowledgment, and the sum of their times of arrival, in nanoseconds.
    waiting: (u64, u64),
}

impl Receive {
    /// As a connection begins with; `mss` is our own.
    pub(crate) fn of(shared: &Shared, quality: &Quality, mss: u32) -> Self {
        let size = Buffers::receive(&shared.config, quality);
        let mut receive = Self::new(size.at_first(shared));
        receive.round(shared.config.rounding, mss);
        receive.most = size.most().max(receive.buffer);
        receive
    }

    fn new(buffer: u32) -> Self {
        Self {
            most: buffer,
            irs: Seq(0),
            nxt: Seq(0),
            edge: Seq(0),
            buffer,
            user: 0,
            shift: 0,
            scaling: false,
            queue: OnDemand::new(),
            held: OnDemand::new(),
            fin: false,
            ts_recent: (0, Instant::ZERO),
            last_ack_sent: Seq(0),
            due: OwedAck::No,
            asked: false,
            copy: None,
            counted: 0,
            octets: 0,
            waiting: (0, 0),
        }
    }

    /// The peer's SYN came with sequence number `irs`.
    pub(crate) fn start(&mut self, irs: Seq) {
        // What our SYN offered, if it was the first, is offered still.
        let offered = self.window();
        self.irs = irs;
        self.nxt = irs + 1;
        self.edge = self.nxt + offered;
        self.last_ack_sent = self.nxt;
    }

    /// Applies the rounding rule, now that the MSS is known.
    const fn round(&mut self, rounding: Rounding, mss: u32) {
        let whole = match rounding {
            Rounding::Exact => return,
            Rounding::Up => self.buffer.div_ceil(mss),
            Rounding::Down => self.buffer / mss,
        };
        if whole > 0 {
            self.buffer = whole.saturating_mul(mss);
        }
    }

    /// Keeps `text`, which is in order, for whoever accepts the connection. `pushed`: it came with PSH.
    pub(crate) fn hold(&mut self, mut text: Message, pushed: bool) {
        // Of one octet each they would hold on to as many pages.
        if self.held.len() >= FEW
            && let Some((last, end)) = self.held.back_mut()
        {
            text = match last.absorb(text) {
                Ok(()) => {
                    *end |= pushed;
                    return;
                }
                Err(text) => text,
            };
        }
        self.held.push_back((text, pushed));
    }

    /// What was queued and is the next.
    pub(crate) fn next_queued(&mut self) -> Option<Message> {
        self.queue.own()?.pop_in_order(self.nxt)
    }

    /// Gives back the memory of a queue that has nothing to tell any more.
    pub(crate) fn fit(&mut self) {
        if self.queue.has_nothing_to_tell() {
            self.queue.clear();
        }
    }

    /// RCV.WND: what has been advertised and not used.
    pub(crate) fn window(&self) -> u32 {
        self.edge - self.nxt
    }

    /// How far the right edge could move. While the user takes nothing, nowhere (MAY-8).
    fn gain(&self) -> u32 {
        let free = self.buffer.saturating_sub(self.user).min(MAX_WINDOW << self.shift);
        free.saturating_sub(self.window())
    }

    /// The window that a segment about to be sent should tell: the right edge moves far or not at all (MUST-39).
    fn wanted(&self, rule: EdgeRule, mss: u32) -> u32 {
        let gain = self.gain();
        let offered = self.window() + gain;
        let moves = match rule {
            EdgeRule::Rfc => gain >= mss.min(self.buffer / 2).max(1),
            EdgeRule::Bsd => gain > 0 && (offered >= self.buffer / 4 || offered >= mss),
        };
        if moves { offered } else { self.window() }
    }

    /// The window field of a segment about to be sent, and with it the right edge.
    pub(crate) fn advertise(&mut self, rule: EdgeRule, mss: u32, syn: bool) -> u16 {
        let wanted = self.wanted(rule, mss);
        if syn {
            // Windows in SYN segments are never scaled (RFC 7323 section 2.2).
            let field = u16::try_from(wanted).unwrap_or(u16::MAX);
            self.edge = self.edge.max(self.nxt + u32::from(field));
            return field;
        }
        let unit = 1u32 << self.shift;
        // Rounding a window down moves the edge back where RCV.NXT is no multiple of the unit. Rounding it up again and
        // again would pass the end of the buffer by as much as the peer sends, so that there the field is rounded down
        // (RFC 7323 section 2.4); what had been offered is still taken.
        let window = self.window();
        let room = self.buffer.saturating_sub(self.user).max(window);
        let up = window.div_ceil(unit);
        let kept = if up.saturating_mul(unit) <= room { up } else { window / unit };
        let field = (wanted / unit).max(kept).min(MAX_WINDOW);
        self.edge = self.edge.max(self.nxt + field * unit);
        u16::try_from(field).unwrap_or(u16::MAX)
    }

    /// The window field that tells what has been offered, and moves nothing. Rounded down: more than was offered must
    /// not be told.
    pub(crate) fn offered(&self) -> u16 {
        u16::try_from(self.window() >> self.shift).unwrap_or(u16::MAX)
    }

    /// Whether the user's taking data has made enough room to say so by itself. After the handshake, whose windows are
    /// not scaled, there is more room than was told, and who has sent little yet need not know: the first
    /// acknowledgment of data tells all of it. It is said before where half of what was offered is used, or hardly a
    /// segment was offered.
    ///
    /// Not where the segment would acknowledge nothing and leave the edge where it is, which moves by large steps and
    /// whole units of the scale: two ends that both wanted to say so would answer each other for ever.
    pub(crate) fn wants_update(&self, rule: WindowUpdate, edge: EdgeRule, mss: u32) -> bool {
        let (first, window) = (self.irs + 1, self.window());
        if self.last_ack_sent == first && self.nxt - first <= window && window >= mss {
            return false;
        }
        let gain = u64::from(self.gain());
        let enough = (rule.segments > 0 && gain >= u64::from(rule.segments) * u64::from(mss))
            || (rule.percent > 0 && gain * 100 >= u64::from(rule.percent) * u64::from(self.buffer));
        if !enough {
            return false;
        }
        let told = self.wanted(edge, mss) >> self.shift << self.shift;
        told > window || self.last_ack_sent != self.nxt
    }

    /// In-order data of `segments` segments, `octets` together, was taken at `now`.
    pub(crate) fn owe(&mut self, (octets, segments): (u32, u32), mss: u32, rule: AckRule, now: Instant) {
        let arrived = u64::from(segments).wrapping_mul(now.as_nanos());
        self.waiting.0 += u64::from(segments);
        self.waiting.1 = self.waiting.1.wrapping_add(arrived);
        self.octets = self.octets.saturating_add(octets);
        if octets >= mss || rule.count_small {
            // Of several the last may be a small one.
            let small = segments > 1 && !rule.count_small && !octets.is_multiple_of(mss);
            self.counted += segments - u32::from(small);
        }
        let enough = rule.every > 0 && (self.counted >= rule.every || self.octets >= rule.every.saturating_mul(mss));
        if enough {
            self.owe_now(AckReason::Data);
        } else if self.due == OwedAck::No {
            self.due = OwedAck::Delayed;
        }
    }

    /// An acknowledgment should go at the end of this batch.
    pub(crate) const fn owe_now(&mut self, why: AckReason) {
        if !matches!(self.due, OwedAck::Now(_)) {
            self.due = OwedAck::Now(why);
        }
    }

    /// Whether what is owed waits for its timer alone, or has waited for it.
    pub(crate) const fn is_delayed(&self) -> bool {
        matches!(self.due, OwedAck::Delayed | OwedAck::Now(AckReason::Timer))
    }

    /// A segment with RCV.NXT and the window was sent at `now`.
    pub(crate) const fn acknowledged(&mut self, now: Instant, counters: &mut Counters) {
        let (segments, arrived) = self.waiting;
        // Sums that have wrapped around give the right difference.
        let waited = segments.wrapping_mul(now.as_nanos()).wrapping_sub(arrived);
        counters.segments_acknowledged += segments;
        counters.acknowledgment_wait_us += waited / 1_000;
        self.waiting = (0, 0);
        self.due = OwedAck::No;
        self.asked = false;
        self.last_ack_sent = self.nxt;
        (self.counted, self.octets) = (0, 0);
    }

    /// The acceptability test of RFC 9293 section 3.10.7.4, for a segment of `len` sequence numbers from `seq` on.
    pub(crate) fn is_acceptable(&self, seq: Seq, len: u32) -> bool {
        let window = self.window();
        match (len, window) {
            (0, 0) => seq == self.nxt,
            (0, _) => seq.is_within(self.nxt, window),
            (_, 0) => false,
            _ => seq.is_within(self.nxt, window) || (seq + (len - 1)).is_within(self.nxt, window),
        }
    }

    /// The shift count to offer: the least that can show the whole buffer, as large as it may become.
    pub(crate) fn shift_for(config: &Config, buffer: u32) -> Option<u8> {
        config.window_scaling.then(|| {
            (0..=kumiki_wire::inet::tcp::options::MAX_WINDOW_SCALE)
                .find(|shift| buffer >> shift <= MAX_WINDOW)
                .unwrap_or(kumiki_wire::inet::tcp::options::MAX_WINDOW_SCALE)
        })
    }
}
