//! Sequence space as it is seen at one plug: what was sent and acknowledged, what has arrived.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::{Header, Options, Seq};

use super::waits::{Bounds, Clock, RttSamples};

/// Text or a SYN or FIN that was sent and not acknowledged. Positions count from the SYN, which is at 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) first: Instant,
    pub(super) last: Instant,
    pub(super) again: bool,
    /// The end may have forgotten when.
    pub(super) forgotten: bool,
    /// All of it is reported by SACK.
    pub(super) sacked: bool,
}

/// Whether something is a probe of the closed window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probe {
    No,
    /// The end knows.
    Perhaps,
    Surely,
}

/// What this end has sent on the present connection.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) iss: Seq,
    /// After the highest position ever sent.
    pub(super) max: i64,
    /// The first not acknowledged, as far as an acceptable segment has said.
    pub(super) una: i64,
    /// The same by segments that are acceptable only to an end that has more room than its scaled window could say.
    pub(super) perhaps: i64,
    /// The highest acknowledgment in anything intact, and when it came: an end that has opened its window, and not told
    /// yet, takes what seems to be out of window here.
    pub(super) heard: (i64, Instant),
    /// After the highest position that the peer has ever had room for, and the same by acceptable segments only.
    pub(super) edge: i64,
    pub(super) sure_edge: i64,
    /// The same by the last segment that counts for SND.WND, and that segment's SND.WL1 and SND.WL2.
    pub(super) last_edge: i64,
    pub(super) wl: (i64, i64),
    /// MAX.SND.WND at the least.
    pub(super) most_window: i64,
    /// When it last changed and what it was before, at the least and at the most; an end may not have taken yet what
    /// comes in the same instant.
    changed_edge: (Instant, i64, i64),
    /// The highest one of segments that the end may have taken for acceptable, or not.
    doubtful_edge: i64,
    pub(super) fin: Option<i64>,
    pub(super) flights: VecDeque<Flight>,
    /// What begins at `una` was last sent, or `una` last moved.
    pub(super) head_at: Instant,
    /// The retransmission timer can have been started, for the last time.
    pub(super) timer_at: Instant,
    /// Something was last retransmitted, and new data for the last time in time to be a probe; not before `head_at`.
    pub(super) resent_at: Instant,
    pub(super) news_at: Option<Instant>,
    /// Marks may have been told of for the last time in time to start the timer again; not before `head_at`.
    pub(super) marked_at: Option<Instant>,
    /// How often the head was retransmitted since the last round trip that counts, and how often by a time-out.
    pub(super) again: u32,
    pub(super) backed_off: u32,
    /// Probes of the closed window since it was last open.
    pub(super) probes: u32,
    /// The octet of the last one.
    pub(super) probed: Option<i64>,
    /// When the next one may be due, by what was known of the round trip when this one went.
    pub(super) next_probe: Instant,
    /// Segments that occupy sequence space and were sent since anything arrived.
    pub(super) unanswered: u32,
    pub(super) trips: RttSamples,
    /// What they and `backed_off` were before the acknowledgments of an instant.
    pub(super) before: (Instant, RttSamples, u32),
    /// After a time-out.
    pub(super) clock: Option<Clock>,
    /// Anything was last sent that occupies sequence space, or arrived.
    pub(super) active: Instant,
    /// Something changed that could let waiting octets go.
    pub(super) changed: Instant,
    /// Where congestion marks may have been told of: nothing new need go before.
    pub(super) held_until: Instant,
    /// The last TSval, and when it was sent.
    pub(super) ts_last: Option<u32>,
    pub(super) ts_at: Instant,
    pub(super) syn: Options,
}

/// What has reached this end on the present connection. Positions count from the peer's SYN, which is at 0.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) irs: Seq,
    pub(super) syn: Options,
    /// The first position that has not arrived at all.
    pub(super) nxt: i64,
    /// What has arrived beyond: start and end.
    pub(super) ahead: BTreeMap<i64, i64>,
    /// The highest acknowledgment sent, and the right edge that was offered.
    pub(super) acked: i64,
    pub(super) edge: i64,
    /// RCV.NXT where a segment has told of it since anything came, and when that was.
    pub(super) known: Option<i64>,
    pub(super) came_at: Instant,
    /// What the end must acknowledge, and when that last grew.
    pub(super) must: i64,
    pub(super) took_at: Option<Instant>,
    /// Answers owed: from which acknowledgment on a segment is one, and since when; both grow.
    pub(super) owed: VecDeque<(i64, Instant)>,
    /// When the end last sent an acknowledgment of all that it must acknowledge.
    pub(super) up_to_date: Option<Instant>,
    pub(super) ts_recent: Option<u32>,
    pub(super) ts_newest: Option<u32>,
}

impl Sending {
    pub(super) fn new(now: Instant, syn: &Header) -> Self {
        Self {
            iss: syn.seq,
            max: 0,
            una: 0,
            perhaps: 0,
            heard: (0, now),
            edge: 0,
            sure_edge: 0,
            last_edge: 0,
            wl: (0, 0),
            most_window: 0,
            changed_edge: (now, 0, 0),
            doubtful_edge: 0,
            fin: None,
            flights: VecDeque::new(),
            head_at: now,
            timer_at: now,
            resent_at: now,
            news_at: None,
            marked_at: None,
            again: 0,
            backed_off: 0,
            probes: 0,
            probed: None,
            next_probe: now,
            unanswered: 0,
            trips: RttSamples::default(),
            before: (now, RttSamples::default(), 0),
            clock: None,
            active: now,
            changed: now,
            held_until: now,
            ts_last: syn.options.timestamps.map(|(value, _)| value),
            ts_at: now,
            syn: syn.options,
        }
    }

    /// Something that occupies `start` to `end` was sent, which is a probe of the closed window or not; `sack`: SACK is
    /// on.
    pub(super) fn occupies(
        &mut self,
        now: Instant,
        (start, end): (i64, i64),
        probe: Probe,
        bounds: &Bounds,
        sack: bool,
    ) {
        let silence = now.saturating_since(self.active);
        // What was sent when there was room for it, and is behind the edge now, is retransmitted by the retransmission
        // timer (RFC 9293 section 3.8.6, SHLD-16).
        let probe = if start >= self.max || self.probed == Some(start) { probe } else { Probe::No };
        let (doubtful, surely) = (probe == Probe::Perhaps, probe == Probe::Surely);
        let probe = doubtful || surely;
        self.probes += u32::from(probe);
        // The octet of a probe goes with others, now that there is room for it: that is no time-out.
        let probed = self.probed == Some(start) && self.flights.back().is_some_and(|it| it.again);
        let grows = probed && self.max == start + 1 && end > self.max;
        if probe {
            self.probed = Some(start);
            self.next_probe = now + bounds.persist(self);
        }
        self.unanswered += 1;
        self.changed = now;
        self.active = now;
        let may_expire = bounds.may_expire(now.saturating_since(self.timer_at));
        if end > self.max && now <= bounds.expiry(self, sack) {
            // Any new data may be the probe, which is no later than the timer.
            self.news_at = Some(now);
        }
        if let Some(clock) = &mut self.clock {
            clock.on_sent(start, end);
        }
        if start < self.una && self.before.0 == now {
            // It was retransmitted before the end took the acknowledgment that came in the same instant, which then is
            // no measure.
            let (_, trips, backed_off) = &self.before;
            self.trips.or(trips);
            self.backed_off = self.backed_off.max(*backed_off);
        }
        if start <= self.una.max(self.perhaps) {
            if self.max > self.una {
                self.again += 1;
                if may_expire && !surely && !grows {
                    self.backed_off += 1;
                    self.timer_at = now;
                }
                if self.una > 0 && Clock::is_time_out(silence, &self.trips, bounds) {
                    self.clock = Some(Clock::new(self.max, end, self.ts_last));
                }
            }
            if self.max == self.una {
                self.timer_at = now;
            }
            self.head_at = now;
            self.news_at = None;
            self.marked_at = None;
        }
        if start < self.max {
            self.resent_at = now;
            self.news_at = None;
        }
        self.split(start);
        self.split(end);
        let first = self.flights.partition_point(|flight| flight.end <= start);
        for flight in self.flights.range_mut(first.min(self.flights.len())..) {
            if flight.start >= end {
                break;
            }
            flight.again = true;
            flight.last = now;
        }
        if end > self.max {
            self.flights.push_back(Flight {
                start: start.max(self.max),
                end,
                first: now,
                last: now,
                again: surely,
                // Of a probe no measure is taken, of anything else one is. What goes with something that is
                // retransmitted goes for the first time itself: a measure may be taken of it (RFC 6298 section 3) or
                // none.
                forgotten: doubtful || (start < self.max && !grows),
                sacked: false,
            });
            self.max = end;
        }
    }

    /// An acceptable segment acknowledges everything before `ack`, with TSecr `echo` where there are timestamps.
    pub(super) fn acknowledged(&mut self, now: Instant, ack: i64, echo: Option<u32>, bounds: &Bounds) {
        if ack <= self.una || ack > self.max {
            return;
        }
        let heard_at = match self.heard {
            (heard, at) if heard == ack => at,
            (heard, _) if heard > ack => self.timer_at,
            _ => now,
        };
        if self.before.0 != now {
            self.before = (now, self.trips.clone(), self.backed_off);
        }
        self.una = ack;
        self.head_at = now;
        self.timer_at = heard_at;
        self.resent_at = now;
        self.news_at = None;
        self.marked_at = None;
        self.changed = now;
        let sample = self.sample(now, ack, heard_at, echo);
        while let Some(flight) = self.flights.front_mut() {
            if flight.start >= ack {
                break;
            }
            if flight.again {
                self.trips.see(now.saturating_since(flight.last));
            }
            if flight.end > ack {
                flight.start = ack;
                break;
            }
            self.flights.pop_front();
        }
        if let Some((low, high)) = sample.trip {
            self.trips.take(low, high, sample.sure, bounds);
        }
        if sample.sure {
            self.again = 0;
            self.backed_off = 0;
        }
    }

    /// The round trip that an acknowledgment of everything before `ack` tells of, which may have been heard at
    /// `heard_at`.
    fn sample(&self, now: Instant, ack: i64, heard_at: Instant, echo: Option<u32>) -> Sample {
        let mut once = true;
        let mut trip: Option<(Duration, Duration)> = None;
        for flight in self.flights.iter().take_while(|it| it.start < ack) {
            if !flight.again && !flight.sacked {
                trip = Some(widened(trip, now.saturating_since(flight.first)));
                trip = Some(widened(trip, heard_at.saturating_since(flight.first)));
            }
            once &= !flight.again && !flight.forgotten;
        }
        let measured = trip.is_some();
        let copies = self.flights.iter().take_while(|it| it.start < ack);
        // What was reported before is no news.
        let copies = copies.filter(|it| it.again && !it.sacked);
        let copied = copies.map(|it| it.last).min();
        let echo = echo.filter(|&echo| echo != 0);
        let mut told = false;
        if let (Some(last), Some(echo)) = (self.ts_last, echo) {
            // TSval counts milliseconds.
            let whole = |at: Instant| Duration::from_millis(at.as_nanos() / 1_000_000);
            let since = whole(now).saturating_sub(whole(self.ts_at));
            let then = u64::from(last.wrapping_sub(echo));
            let age = Duration::from_millis(then) + since;
            if then < 1 << 31 {
                let tick = Duration::from_millis(1);
                trip = Some(widened(trip, age.saturating_sub(tick)));
                trip = Some(widened(trip, age + tick));
                // What was sent before the last copy may be told of by an acknowledgment that repeats one that was
                // lost.
                told = copied.is_none_or(|at| age <= now.saturating_since(at) + tick);
            }
        }
        // Of a SYN sent twice nobody knows which was answered.
        let sure = (once && measured) || (told && ack > 1);
        Sample { trip, sure }
    }

    /// The window has a new right edge.
    pub(super) fn move_edge(&mut self, now: Instant, edge: i64) {
        let last = self.last_edge;
        self.changed_edge = match self.changed_edge {
            (at, least, most) if at == now => (now, least.min(last), most.max(last)),
            _ => (now, last, last),
        };
        self.last_edge = edge;
        self.most_window = self.most_window.max(edge - self.una);
    }

    /// A segment tells of a right edge, and may be acceptable or not.
    pub(super) fn perhaps_edge(&mut self, edge: i64) {
        self.doubtful_edge = self.doubtful_edge.max(edge);
    }

    /// The right edge of the window, as far as the end can have it now.
    pub(super) fn present_edge(&self, now: Instant) -> i64 {
        let edge = self.last_edge.max(self.doubtful_edge);
        match self.changed_edge {
            (at, _, most) if at == now => edge.max(most),
            _ => edge,
        }
    }

    /// Whether a single octet at `start` is a probe of the closed window: by every edge that the end can have now, or
    /// by some.
    pub(super) fn probe(&self, now: Instant, start: i64) -> Probe {
        let least = match self.changed_edge {
            (at, least, _) if at == now => least.min(self.last_edge),
            _ => self.last_edge,
        };
        if start >= self.present_edge(now) {
            Probe::Surely
        } else if start >= least {
            Probe::Perhaps
        } else {
            Probe::No
        }
    }

    /// Whether anything is in flight, as the end must see it.
    pub(super) fn is_busy(&self) -> bool {
        self.max > self.una.max(self.perhaps)
    }

    /// An end that has more room than it could say has heard that everything before `ack` arrived.
    pub(super) fn perhaps_acknowledged(&mut self, now: Instant, ack: i64, echo: Option<u32>, bounds: &Bounds) {
        if ack > self.una.max(self.perhaps) {
            if let Some((low, high)) = self.sample(now, ack, now, echo).trip {
                self.trips.take(low, high, false, bounds);
            }
            self.perhaps = ack;
            self.head_at = now;
            self.marked_at = None;
            self.changed = now;
        }
    }

    /// An acknowledgment has come, which may have told of marks: RFC 3168 section 6.1.2, "the sending TCP MUST reset
    /// the retransmit timer on receiving the ECN-Echo packet when the congestion window is one. The sending TCP will
    /// then be able to send a new packet only when the retransmit timer expires." Later echoes of the same window of
    /// data are nothing to react to, and later samples do not move a timer that is running.
    ///
    /// So the timer of what is in flight may start again, once for each window of data: as long as nothing more is
    /// acknowledged no second time. `sack`: SACK is on.
    pub(super) fn perhaps_marked(&mut self, now: Instant, bounds: &Bounds, sack: bool) {
        self.held_until = self.held_until.max(bounds.held_until(now, self));
        if bounds.ecn && self.is_busy() && now <= bounds.unmarked(self, sack) {
            self.marked_at = Some(now);
        }
    }

    /// Makes a flight begin at `at`, if it is within one.
    fn split(&mut self, at: i64) {
        let index = self.flights.partition_point(|flight| flight.end <= at);
        if let Some(flight) = self.flights.get_mut(index)
            && flight.start < at
        {
            let rest = Flight { start: at, ..*flight };
            flight.end = at;
            self.flights.insert(index + 1, rest);
        }
    }

    /// SACK reports that `left` to `right` has arrived: the end may take that for a measure of what was sent once.
    pub(super) fn reported(&mut self, now: Instant, (left, right): (i64, i64), bounds: &Bounds) {
        let first = self.flights.partition_point(|flight| flight.start < left);
        let mut trip: Option<(Duration, Duration)> = None;
        for flight in self.flights.range_mut(first.min(self.flights.len())..) {
            if flight.end > right {
                break;
            }
            if !flight.again && !flight.sacked {
                trip = Some(widened(trip, now.saturating_since(flight.first)));
            }
            flight.sacked = true;
        }
        if let Some((low, high)) = trip {
            self.trips.take(low, high, false, bounds);
        }
    }
}

/// A round trip between two bounds, if any; `sure`: the standard wants it to be a sample.
struct Sample {
    trip: Option<(Duration, Duration)>,
    sure: bool,
}

/// The bounds of what was known and `trip`.
fn widened(known: Option<(Duration, Duration)>, trip: Duration) -> (Duration, Duration) {
    known.map_or((trip, trip), |(low, high)| (low.min(trip), high.max(trip)))
}

impl Receiving {
    /// Something has arrived that must be answered, by a segment that acknowledges what must be acknowledged now.
    pub(super) fn owe(&mut self, now: Instant) {
        let must = self.must;
        if self.owed.back().is_none_or(|(last, _)| *last < must) {
            self.owed.push_back((must, now));
        }
    }

    /// A segment was sent that acknowledges everything before `ack`, which is RCV.NXT (RFC 9293 section 3.10.7.4:
    /// <ACK=RCV.NXT>).
    pub(super) fn answered(&mut self, now: Instant, ack: i64) {
        // What came in this instant may be taken after it.
        if now > self.came_at {
            self.known = Some(ack);
        }
        if ack >= self.must {
            self.up_to_date = Some(now);
        }
        while self.owed.pop_front_if(|(must, _)| *must <= ack).is_some() {}
    }

    /// Positions `start` to `end` have arrived.
    pub(super) fn take(&mut self, start: i64, end: i64) {
        if end <= self.nxt {
            return;
        }
        if start <= self.nxt {
            self.nxt = end;
            while let Some(first) = self.ahead.first_entry() {
                if *first.key() > self.nxt {
                    break;
                }
                self.nxt = self.nxt.max(first.remove());
            }
            return;
        }
        let (mut start, mut end) = (start, end);
        if let Some((&before, &until)) = self.ahead.range(..=start).next_back()
            && until >= start
        {
            start = before;
            end = end.max(until);
        }
        while let Some((&next, &until)) = self.ahead.range(start..=end).next() {
            self.ahead.remove(&next);
            end = end.max(until);
        }
        self.ahead.insert(start, end);
    }

    /// Whether all of `left` to `right` has arrived.
    pub(super) fn has(&self, left: i64, right: i64) -> bool {
        right <= self.nxt || self.ahead.range(..=left).next_back().is_some_and(|(_, until)| right <= *until)
    }
}

/// Where `seq` is, counted from `first`.
pub(super) fn position(seq: Seq, first: Seq) -> i64 {
    i64::from(seq.distance_from(first))
}
