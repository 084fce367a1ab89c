//! TIME-WAIT: both directions have ended, and old segments may still be in flight.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.10.7.4 for TIME-WAIT, RFC 6191 (timestamps) |
//! | Differs | a reset at RCV.NXT does not end TIME-WAIT: RFC 1337 section 3, fix F1. Elsewhere in the window it is challenged as in any other state (RFC 5961 section 3.2), which changes no state |
//! | Refused | as in [`super::states`]: a FIN whose acknowledgment or timestamps cannot be begins nothing again, and a SYN for which there is no room leaves the entry where it is. Copies and all else have one answer each in [`super::Config::challenge_interval`] |
//! | Memory | what is left of a connection is an entry of less than 160 octets, index included; of more than [`super::Config::time_waits`] the oldest is forgotten, which a busy server bears better than having no room |

use kumiki_wire::inet::{IpParameters, SourceRoute};
use std::collections::VecDeque;

use kumiki_graph::{Context, Duration, Handle, Instant, TimerSlot, Token};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};

use super::deadlines::slow_deadline;
use super::demux::{Pair, Secret};
use super::pairs::{ConnectionEntry, Pairs};
use super::segment::{self, Segment};
use super::{Tcp, isn};

/// The timer of all entries.
pub(crate) const TOKEN: Token = Token { session: Handle { index: u32::MAX, generation: u32::MAX }, kind: u32::MAX - 2 };

/// A time in little room: milliseconds modulo 2^32, which are more than any TIME-WAIT lasts; 0 is never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompactTime(u32);

impl CompactTime {
    fn of(now: Instant) -> Self {
        Self(isn::clock(now).max(1))
    }

    /// Whether it is less than `time` ago.
    fn is_within(self, time: Duration, now: Instant) -> bool {
        let ago = isn::clock(now).wrapping_sub(self.0);
        self.0 != 0 && Duration::from_millis(ago.into()) < time
    }
}

/// What is left of a connection.
#[derive(Clone, Debug)]
pub(crate) struct TimeWaitEntry {
    pub(crate) pair: Pair,
    pub(crate) snd_nxt: Seq,
    /// MAX.SND.WND of RFC 5961 section 5.2.
    pub(crate) max_wnd: u32,
    pub(crate) rcv_nxt: Seq,
    /// The window field that was advertised last, and Rcv.Wind.Shift.
    pub(crate) window: u16,
    pub(crate) shift: u8,
    /// IP's part, as the user had it (MUST-48, MUST-49).
    pub(crate) ttl: u8,
    pub(crate) tos: u8,
    /// What its acknowledgments say of congestion marks.
    pub(crate) ecn: Flags,
    /// The way of all its segments (MUST-53).
    pub(crate) route: Option<Box<SourceRoute>>,
    /// TS.Recent, where there are timestamps.
    pub(crate) ts_recent: Option<u32>,
    /// When a copy was answered last, and when anything else was.
    pub(crate) answered: [CompactTime; 2],
    pub(crate) due: Instant,
}

impl ConnectionEntry for TimeWaitEntry {
    fn pair(&self) -> &Pair {
        &self.pair
    }
}

impl TimeWaitEntry {
    /// Whether a SYN may begin a new connection in place of this one: MAY-2, with timestamps RFC 6191 (SHLD-4).
    fn may_be_replaced(&self, segment: &Segment) -> bool {
        if !segment.has(Flags::SYN) || segment.flags.intersects(Flags::ACK.with(Flags::RST)) {
            return false;
        }
        let later = segment.seq.gt(self.rcv_nxt);
        match (segment.options.timestamps, self.ts_recent) {
            (Some((value, _)), Some(recent)) => Seq(value).gt(Seq(recent)) || (value == recent && later),
            _ => later,
        }
    }

    /// Whether `segment` can be what the peer sends once more, our acknowledgment of which was lost: as in any state
    /// its timestamps (RFC 7323 section 5.3) and its acknowledgment (RFC 5961 section 5.2) must be possible.
    fn is_copy(&self, segment: &Segment) -> bool {
        let timely = self.ts_recent.is_none_or(|recent| {
            let stamped = segment.options.timestamps;
            stamped.is_some_and(|(value, _)| !Seq(value).lt(Seq(recent)))
        });
        let ack = segment.ack;
        segment.has(Flags::ACK)
            && !segment.flags.intersects(Flags::SYN.with(Flags::RST))
            && segment.len() > 0
            && segment.seq.lt(self.rcv_nxt)
            && ack.leq(self.snd_nxt)
            && ack.geq(self.snd_nxt - self.max_wnd)
            && timely
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct TimeWaits {
    all: Pairs<TimeWaitEntry>,
    /// In the order in which they end; what is no longer so is passed over.
    queue: VecDeque<(Instant, u32)>,
    timer: TimerSlot,
    armed: Option<Instant>,
}

impl TimeWaits {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn find(&self, secret: Secret, pair: &Pair) -> Option<u32> {
        self.all.find(secret, pair)
    }

    /// Drops the front of the queue, and with it the entry that it is for; whether there was one.
    fn drop_first(&mut self, secret: Secret) -> bool {
        let Some((due, index)) = self.queue.pop_front() else {
            return false;
        };
        if self.all.get(index).is_some_and(|it| it.due == due) {
            self.all.remove(secret, index);
        }
        true
    }

    fn arm(&mut self, cx: &mut Context<'_>) {
        let Some(&(due, _)) = self.queue.front() else {
            return;
        };
        if self.armed.is_none_or(|armed| due < armed) {
            cx.set_timer(&mut self.timer, TOKEN, due);
            self.armed = Some(due);
        }
    }
}

impl Tcp {
    fn time_wait_ends(&self, now: Instant) -> Instant {
        let config = &self.shared.config;
        slow_deadline(config, self.shared.slow_phase, now, config.time_wait)
    }

    /// A connection enters TIME-WAIT, for 2 MSL (MUST-13).
    pub(super) fn begin_time_wait(&mut self, mut entry: TimeWaitEntry, cx: &mut Context<'_>) {
        let secret = self.shared.secret;
        let due = self.time_wait_ends(cx.now());
        entry.due = due;
        let index = self.time_waits.all.insert(secret, entry);
        self.time_waits.queue.push_back((due, index));
        let most = usize::try_from(self.shared.config.time_waits).unwrap_or(usize::MAX);
        while self.time_waits.len() > most && self.time_waits.drop_first(secret) {
            self.shared.counters.time_waits_cut += 1;
        }
        self.time_waits.arm(cx);
    }

    /// The timer of TIME-WAIT.
    pub(super) fn time_waits_due(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        self.time_waits.armed = None;
        while let Some(&(due, _)) = self.time_waits.queue.front()
            && due <= now
        {
            self.time_waits.drop_first(self.shared.secret);
        }
        self.time_waits.arm(cx);
    }

    /// A segment for a connection in TIME-WAIT. Where it begins a new one, which `may_begin` allows, what its ISS must
    /// pass is returned.
    pub(super) fn in_time_wait(
        &mut self,
        index: u32,
        segment: &Segment,
        may_begin: bool,
        cx: &mut Context<'_>,
    ) -> Option<Seq> {
        let (now, due) = (cx.now(), self.time_wait_ends(cx.now()));
        let entry = self.time_waits.all.get(index)?;
        if may_begin && entry.may_be_replaced(segment) {
            let least = entry.snd_nxt;
            self.time_waits.all.remove(self.shared.secret, index);
            return Some(least);
        }
        let at_nxt = segment.seq == entry.rcv_nxt;
        let window = u32::from(entry.window) << entry.shift;
        let silent = if segment.has(Flags::RST) {
            at_nxt || !segment.seq.is_within(entry.rcv_nxt, window)
        } else {
            at_nxt && segment.len() == 0
        };
        if silent {
            return None;
        }
        let is_copy = entry.is_copy(segment);
        let is_fin = is_copy && segment.has(Flags::FIN) && segment.seq + segment.len() == entry.rcv_nxt;
        if !is_fin {
            self.shared.counters.unacceptable += 1;
        }
        let interval = self.shared.config.challenge_interval;
        let [copy, other] = &mut entry.answered;
        // Who forges must not use up what the peer's own is to have.
        let answered = if is_copy { copy } else { other };
        if answered.is_within(interval, now) {
            self.shared.counters.challenges_spared += 1;
            return None;
        }
        *answered = CompactTime::of(now);
        let pair = entry.pair;
        if is_fin {
            // Our acknowledgment of it was lost: 2 MSL start over with the next one.
            entry.due = due;
            self.time_waits.queue.push_back((due, index));
        }
        let clock = isn::timestamp(self.shared.secret, &pair, now);
        let header = Header {
            source_port: pair.local.port(),
            destination_port: pair.remote.port(),
            seq: entry.snd_nxt,
            ack: entry.rcv_nxt,
            flags: Flags::ACK | entry.ecn,
            window: entry.window,
            options: Options { timestamps: entry.ts_recent.map(|recent| (clock, recent)), ..Options::NONE },
            ..Header::default()
        };
        self.shared.counters.segments_sent += 1;
        self.shared.counters.acks_other += 1;
        let options = IpParameters { ttl: entry.ttl, tos: entry.tos, ..self.shared.unit_options() };
        let route = entry.route.as_deref();
        segment::transmit_by(route, &pair, &header, Message::new(), options, cx);
        None
    }
}
