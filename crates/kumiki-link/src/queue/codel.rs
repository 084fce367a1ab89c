//! `CoDel`: frames are given up, or marked, when all of them have waited too long for too long.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8289 section 5, whose pseudocode this is, with its names |
//! | `maxpacket` | the longest frame that has come, at least the pseudocode's 512 octets: a line knows no MTU |
//! | Marks | section 1 allows them in place of drops. A frame that is marked goes on the line, so that no other is looked at in that turn; it counts as a drop does |
//! | Frames | those that find no room are given up when they come, and the control law does not count them (section 5.4) |
//! | Left out | an initial spacing of drops other than the interval (section 4.5) |

use kumiki_graph::{Duration, Instant};

use super::lane::{Lane, QueueTotals};
use super::{Counter, Discipline, DropTail, Ledger, QueuedFrame, counter};

/// The pseudocode's `maxpacket`, in octets.
const MAXPACKET: u64 = 512;

/// What [`Codel`] is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelConfig {
    /// How long frames may wait whatever comes.
    pub target: Duration,
    /// For how long all must have waited longer than that, before one is given up: about the longest round trip; more
    /// than 0.
    pub interval: Duration,
    /// Whether frames whose senders allow it are marked instead.
    pub ecn: bool,
    /// How much room there is.
    pub limit: DropTail,
}

impl Default for CodelConfig {
    /// 5 ms and 100 ms (RFC 8289 section 4.5), marks, and room for everything.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            limit: DropTail::UNLIMITED,
        }
    }
}

/// What the control law is set to, and what it knows of the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    target: Duration,
    interval: Duration,
    ecn: bool,
    maxpacket: u64,
}

impl Law {
    pub(super) fn new(target: Duration, interval: Duration, ecn: bool) -> Self {
        Self { target, interval, ecn, maxpacket: MAXPACKET }
    }

    /// A frame has come.
    pub(super) fn see(&mut self, octets: u64) {
        self.maxpacket = self.maxpacket.max(octets);
    }

    /// `t + interval / sqrt(count)`, in whole nanoseconds.
    fn control_law(&self, t: Instant, count: u32) -> Instant {
        let interval = u128::from(self.interval.as_nanos());
        // The root of the floor is the floor of the root.
        let spacing = (interval * interval / u128::from(count.max(1))).isqrt();
        t + Duration::from_nanos(u64::try_from(spacing).unwrap_or(u64::MAX))
    }
}

/// The state of one queue (RFC 8289 section 5.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    first_above_time: Option<Instant>,
    drop_next: Instant,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Control {
    /// The next frame, and whether it may be given up.
    fn dodequeue(
        &mut self,
        law: &Law,
        now: Instant,
        lane: &mut Lane,
        held: &mut QueueTotals,
    ) -> (Option<QueuedFrame>, bool) {
        let Some(frame) = lane.pop(held) else {
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn_time = now.saturating_since(frame.since);
        // Of several queues all octets count (section 4.4).
        if sojourn_time < law.target || held.octets <= law.maxpacket {
            self.first_above_time = None;
            return (Some(frame), false);
        }
        let first_above_time = *self.first_above_time.get_or_insert(now + law.interval);
        (Some(frame), now >= first_above_time)
    }

    /// Takes the frame that goes next out of `lane`, which is one of those of `held`.
    pub(super) fn dequeue(
        &mut self,
        law: &Law,
        now: Instant,
        (lane, held): (&mut Lane, &mut QueueTotals),
        ledger: &mut Ledger<'_>,
    ) -> Option<QueuedFrame> {
        let (mut next, mut ok_to_drop) = self.dodequeue(law, now, lane, held);
        if !self.dropping {
            let Some(frame) = next.take_if(|_| ok_to_drop) else {
                return next;
            };
            let next = match give_up(law, frame, ledger) {
                None => self.dodequeue(law, now, lane, held).0,
                marked => marked,
            };
            self.begin(law, now);
            return next;
        }
        self.dropping = ok_to_drop;
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            let marked = give_up(law, next?, ledger);
            if marked.is_some() {
                self.drop_next = law.control_law(self.drop_next, self.count);
                return marked;
            }
            (next, ok_to_drop) = self.dodequeue(law, now, lane, held);
            self.dropping = ok_to_drop;
            if ok_to_drop {
                self.drop_next = law.control_law(self.drop_next, self.count);
            }
        }
        next
    }

    /// The first frame has been given up.
    fn begin(&mut self, law: &Law, now: Instant) {
        self.dropping = true;
        // Where this was so a short while ago, that rate of drops is a good one to begin with.
        let delta = self.count.saturating_sub(self.lastcount);
        let recent = now.saturating_since(self.drop_next) < law.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = law.control_law(now, self.count);
        self.lastcount = self.count;
    }
}

/// Gives `frame` up, unless it can be marked.
fn give_up(law: &Law, mut frame: QueuedFrame, ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
    if law.ecn && ledger.mark(&mut frame) {
        return Some(frame);
    }
    ledger.drop(frame);
    None
}

/// One queue with `CoDel`.
///
/// Counts `overlimit`, the drops for want of room: the others are the control law's.
#[derive(Debug)]
pub struct Codel {
    law: Law,
    limit: DropTail,
    control: Control,
    lane: Lane,
    held: QueueTotals,
    overlimit: u64,
}

impl Codel {
    /// An empty queue.
    #[must_use]
    pub fn new(config: CodelConfig) -> Self {
        let CodelConfig { target, interval, ecn, limit } = config;
        Self {
            law: Law::new(target, interval, ecn),
            limit,
            control: Control::default(),
            lane: Lane::default(),
            held: QueueTotals::default(),
            overlimit: 0,
        }
    }
}

impl Discipline for Codel {
    fn enqueue(&mut self, _now: Instant, frame: QueuedFrame, busy: bool, ledger: &mut Ledger<'_>) {
        let octets = frame.octets();
        self.law.see(octets);
        if busy && !self.limit.has_room(self.held, octets) {
            self.overlimit += 1;
            ledger.drop(frame);
            return;
        }
        self.lane.push(frame, &mut self.held);
    }

    fn dequeue(&mut self, now: Instant, ledger: &mut Ledger<'_>) -> Option<QueuedFrame> {
        self.control.dequeue(&self.law, now, (&mut self.lane, &mut self.held), ledger)
    }

    fn frames(&self) -> u64 {
        self.held.frames
    }

    fn octets(&self) -> u64 {
        self.held.octets
    }

    fn take_all(&mut self) -> Vec<QueuedFrame> {
        self.lane.take_all(&mut self.held)
    }

    fn hold(&mut self, frames: Vec<QueuedFrame>) {
        for frame in frames {
            self.law.see(frame.octets());
            self.lane.push(frame, &mut self.held);
        }
    }

    fn counters(&self) -> Vec<Counter> {
        vec![counter!("overlimit", self.overlimit)]
    }
}

#[cfg(test)]
mod tests;
