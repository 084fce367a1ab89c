//! Sequence space as it is seen at one plug: what was sent and acknowledged, what has arrived.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant};
use kumiki_wire::tcp::{Header, Options, Seq};

/// Text or a SYN or FIN that was sent and not acknowledged. Positions count from the SYN, which is at 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) first: Instant,
    pub(super) again: bool,
}

/// What this end has sent on the present connection.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) iss: Seq,
    /// After the highest position ever sent.
    pub(super) max: i64,
    /// The first not acknowledged, as far as an acceptable segment has said.
    pub(super) una: i64,
    /// After the highest position that the peer has ever had room for, and the same by acceptable segments only.
    pub(super) edge: i64,
    pub(super) sure_edge: i64,
    pub(super) fin: Option<i64>,
    pub(super) flights: VecDeque<Flight>,
    /// What begins at `una` was last sent, or `una` last moved.
    pub(super) head_at: Instant,
    /// How often the head was sent again: see the module.
    pub(super) again: u32,
    /// Segments that occupy sequence space and were sent since anything arrived.
    pub(super) unanswered: u32,
    /// R of the module.
    pub(super) longest: Duration,
    pub(super) sampled: bool,
    /// Something changed that could let waiting octets go.
    pub(super) changed: Instant,
    pub(super) ts_last: Option<u32>,
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
    /// What the end must acknowledge.
    pub(super) must: i64,
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
            edge: 0,
            sure_edge: 0,
            fin: None,
            flights: VecDeque::new(),
            head_at: now,
            again: 0,
            unanswered: 0,
            longest: Duration::ZERO,
            sampled: false,
            changed: now,
            ts_last: syn.options.timestamps.map(|(value, _)| value),
            syn: syn.options,
        }
    }

    /// Something that occupies `start` to `end` was sent.
    pub(super) fn occupies(&mut self, now: Instant, start: i64, end: i64) {
        self.unanswered += 1;
        self.changed = now;
        if start <= self.una {
            if self.max > self.una {
                self.again += 1;
            }
            self.head_at = now;
        }
        let first = self.flights.partition_point(|flight| flight.end <= start);
        for flight in self.flights.range_mut(first.min(self.flights.len())..) {
            if flight.start >= end {
                break;
            }
            flight.again = true;
        }
        if end > self.max {
            self.flights.push_back(Flight {
                start: start.max(self.max),
                end,
                first: now,
                again: start < self.max,
            });
            self.max = end;
        }
    }

    /// An acceptable segment acknowledges everything before `ack`.
    pub(super) fn acknowledged(&mut self, now: Instant, ack: i64, timestamps: bool) {
        if ack <= self.una || ack > self.max {
            return;
        }
        self.una = ack;
        self.head_at = now;
        self.changed = now;
        let mut once = true;
        while let Some(flight) = self.flights.front_mut() {
            if flight.start >= ack {
                break;
            }
            self.longest = self.longest.max(now.saturating_since(flight.first));
            once &= !flight.again;
            if flight.end > ack {
                flight.start = ack;
                break;
            }
            self.flights.pop_front();
        }
        // Of a SYN sent twice nobody knows which was answered.
        if once || (timestamps && ack > 1) {
            self.again = 0;
            self.sampled = true;
        }
    }
}

impl Receiving {
    /// Something has arrived that must be answered, by a segment that acknowledges what must be acknowledged now.
    pub(super) fn owe(&mut self, now: Instant) {
        let must = self.must;
        if self.owed.back().is_none_or(|(last, _)| *last < must) {
            self.owed.push_back((must, now));
        }
    }

    /// A segment was sent that acknowledges everything before `ack`.
    pub(super) fn answered(&mut self, now: Instant, ack: i64) {
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
        right <= self.nxt
            || self
                .ahead
                .range(..=left)
                .next_back()
                .is_some_and(|(_, until)| right <= *until)
    }
}

/// Where `seq` is, counted from `first`.
pub(super) fn position(seq: Seq, first: Seq) -> i64 {
    i64::from(seq.distance_from(first))
}
