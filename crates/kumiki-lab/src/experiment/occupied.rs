//! When lines were busy: to the nanosecond, of those that say so of each frame, and else as they are looked at.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Lines with frames | say of each frame from when until when it is on them ([`Element::watch_busy`]); what waits goes on the line at times at which nobody asks it |
//! | Rings | are busy as long as any station has something to send: it waits for the token, or has it |
//! | Others | say how long they have been busy so far. They are looked at each millisecond at first, and never less often than each five-hundredth of the time so far |
//! | Left out | of a line that was busy again more than 4000 times, what is shorter than a four-thousandth of the time so far; of one that is looked at, in the end a thousandth |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::{Duration, Instant};
use kumiki_link::Element;
use kumiki_sim::World;

use super::full::FULL_LINE;
use super::lines::{LineUse, Lines};
use super::load::{Kind, Load};
use super::path::CrossedLine;
use crate::topology::HopKind;
use kumiki_media::Span;

/// When one direction of a line was busy: how long it had been so by some instants. Between two of them it was so
/// evenly.
#[derive(Clone, Default, Debug)]
pub(super) struct Occupied(Vec<(Instant, Duration)>);

impl Occupied {
    /// With more, those that are close to each other become one.
    const MOST: usize = 8_192;
    /// The same where it is looked at.
    const MOST_LOOKS: usize = 2_048;

    fn last(&self) -> (Instant, Duration) {
        self.0.last().copied().unwrap_or_default()
    }

    /// It is busy from one time until another, which is not before the one of the last call.
    pub(super) fn busy(&mut self, from: Instant, until: Instant) {
        let (last, so_far) = self.last();
        let before = self.0.len().checked_sub(2).and_then(|place| self.0.get(place)).copied();
        let goes_on = before.is_some_and(|(at, busy)| so_far.saturating_sub(busy) == last.saturating_since(at));
        if from > last {
            self.put(Self::MOST, from, so_far);
        } else if goes_on {
            self.0.pop();
        }
        self.put(Self::MOST, until.max(last), so_far + until.saturating_since(from.max(last)));
    }

    /// It was busy for so long since what is known of it, evenly.
    fn looked_at(&mut self, now: Instant, busy: Duration) {
        let (_, so_far) = self.last();
        self.put(Self::MOST_LOOKS, now, so_far + busy);
    }

    fn put(&mut self, most: usize, at: Instant, busy: Duration) {
        if self.0.len() >= most {
            self.thin(most);
        }
        self.0.push((at, busy));
    }

    /// Leaves out instants shortly behind others, but for the last.
    fn thin(&mut self, most: usize) {
        let Some((last, _)) = self.0.last().copied() else {
            return;
        };
        let least = Duration::from_nanos(last.as_nanos() / (most as u64 / 2));
        let mut kept = Instant::ZERO;
        self.0.retain(|(at, _)| {
            let is_kept = *at == last || at.saturating_since(kept) >= least;
            kept = if is_kept { *at } else { kept };
            is_kept
        });
    }

    /// How long it had been busy by then; after what is known of it it was not.
    pub(super) fn by(&self, at: Instant) -> Duration {
        let after = self.0.partition_point(|(known, _)| *known <= at);
        let (from, so_far) = after.checked_sub(1).and_then(|place| self.0.get(place)).copied().unwrap_or_default();
        let Some((until, then)) = self.0.get(after).copied() else {
            return so_far;
        };
        let [busy, part, whole] =
            [then.saturating_sub(so_far), at.saturating_since(from), until.saturating_since(from)]
                .map(|time| u128::from(time.as_nanos()));
        let busy = (busy * part).checked_div(whole).unwrap_or(0);
        so_far + Duration::from_nanos(u64::try_from(busy).unwrap_or(u64::MAX))
    }

    /// When from one time until another it was busy without a break for at least so long, in order; or for as long as
    /// it was, where there was no break at all.
    pub(super) fn full(&self, (from, until): Span, least: Duration) -> Vec<Span> {
        let mut all: Vec<Span> = Vec::new();
        let mut place = self.0.partition_point(|(known, _)| *known <= from);
        let (mut since, mut so_far) = place.checked_sub(1).and_then(|it| self.0.get(it)).copied().unwrap_or_default();
        while let Some((at, busy)) = self.0.get(place).copied().filter(|_| since < until) {
            if ratio(busy.saturating_sub(so_far), at.saturating_since(since)) >= FULL_LINE {
                let (begins, ends) = (since.max(from), at.min(until));
                match all.last_mut().filter(|(_, last)| *last == begins) {
                    Some((_, last)) => *last = ends,
                    None => all.push((begins, ends)),
                }
            }
            (since, so_far) = (at, busy);
            place += 1;
        }
        // Where there was no break nothing waited for one to end.
        if all.len() > 1 {
            all.retain(|(since, until)| until.saturating_since(*since) >= least);
        }
        all
    }
}

/// 0 of no time.
pub(super) fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

/// What is counted whole when it begins, as runs of cells are, in the intervals in which it goes on.
#[derive(Clone, Copy, Default)]
pub(super) struct Carry(Duration);

impl Carry {
    /// How much of what has been `counted` since the last interval is in this one; the rest is in the next.
    pub(super) fn within(&mut self, counted: Duration, interval: Duration) -> Duration {
        let all = self.0 + counted;
        self.0 = all.saturating_sub(interval);
        all.min(interval)
    }
}

/// One direction of a line, or a ring.
struct OccupiedLine {
    crossed: CrossedLine,
    occupied: Arc<Mutex<Occupied>>,
    /// Whether it says by itself when it is busy.
    tells: bool,
    used: LineUse,
    carry: Carry,
}

impl OccupiedLine {
    fn of(crossed: &CrossedLine) -> Self {
        Self {
            crossed: crossed.clone(),
            occupied: Arc::default(),
            tells: false,
            used: LineUse::default(),
            carry: Carry::default(),
        }
    }
}

/// All directions of lines that connections of TCP cross.
#[derive(Default)]
pub(super) struct AllOccupied {
    lines: BTreeMap<(String, HopKind), OccupiedLine>,
    last: Instant,
    every: Duration,
    looks: usize,
}

impl AllOccupied {
    /// An interval between looks at first.
    const FIRST: Duration = Duration::from_millis(1);

    /// With so many intervals, two become one.
    const MOST: usize = 1024;

    /// Those of `loads`.
    pub(super) fn of(loads: &BTreeMap<String, Load>) -> Self {
        let streams = loads.values().filter(|load| matches!(load.kind, Kind::Stream | Kind::Rpc | Kind::File));
        let crossed: BTreeSet<&CrossedLine> = streams.flat_map(|load| load.ways.iter().flatten().flatten()).collect();
        let lines = crossed.into_iter().map(|it| ((it.line.clone(), it.way), OccupiedLine::of(it)));
        Self { lines: lines.collect(), every: Self::FIRST, ..Self::default() }
    }

    /// Lets `element`, the line called `name`, tell when it is busy, as far as that is of interest.
    pub(super) fn watch(&mut self, name: &str, element: &mut dyn Element) {
        let ways = [(HopKind::FromA, 0), (HopKind::FromB, 1), (HopKind::Ring, 0)];
        for (way, port) in ways {
            if let Some(line) = self.lines.get_mut(&(name.to_owned(), way)) {
                let occupied = Arc::clone(&line.occupied);
                let tell = move |from, until| {
                    occupied.lock().unwrap_or_else(PoisonError::into_inner).busy(from, until);
                };
                line.tells = element.watch_busy(port, Box::new(tell));
            }
        }
    }

    /// When to look.
    pub(super) fn next(&self) -> Option<Instant> {
        self.lines.values().any(|line| !line.tells).then(|| self.last + self.every)
    }

    /// Looks at what does not tell, where it is time to.
    pub(super) fn look(&mut self, world: &World, lines: &Lines) {
        let now = world.now();
        if self.next().is_none_or(|next| now < next) {
            return;
        }
        let interval = now.saturating_since(self.last);
        let all = lines.now(world);
        for line in self.lines.values_mut().filter(|line| !line.tells) {
            if let Some(used) = all.used(&line.crossed) {
                let busy = line.carry.within(used.busy_since(line.used), interval);
                line.used = used;
                line.occupied.lock().unwrap_or_else(PoisonError::into_inner).looked_at(now, busy);
            }
        }
        self.last = now;
        self.looks += 1;
        if self.looks >= Self::MOST {
            (self.every, self.looks) = (self.every + self.every, Self::MOST / 2);
        }
    }

    /// When that was busy; `None` where nobody knows.
    pub(super) fn line(&self, crossed: &CrossedLine) -> Option<Occupied> {
        let line = self.lines.get(&(crossed.line.clone(), crossed.way))?;
        let occupied = line.occupied.lock().unwrap_or_else(PoisonError::into_inner);
        // Of what is looked at, and has never been found, nothing is known.
        (line.tells || !occupied.0.is_empty()).then(|| occupied.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn frames_one_behind_the_other_are_one_time() {
        let mut line = Occupied::default();
        [(2, 3), (3, 4), (4, 6), (9, 10)].into_iter().for_each(|(from, until)| line.busy(at(from), at(until)));
        assert_eq!(line.0.len(), 4);
        assert_eq!([1, 3, 8, 10, 20].map(|it| line.by(at(it))), [0, 1, 4, 5, 5].map(ms));
        assert_eq!(line.full((at(0), at(20)), ms(2)), [(at(2), at(6))]);
        // What is full beyond the time that is asked for counts for the part within.
        assert_eq!(line.full((at(3), at(5)), ms(2)), [(at(3), at(5))]);
        assert_eq!(line.full((at(0), at(20)), ms(5)), []);
        // Without any break it need not be long.
        assert_eq!(line.full((at(3), at(5)), ms(3)), [(at(3), at(5))]);
    }

    #[test]
    fn what_is_close_together_becomes_one_and_no_time_is_lost() {
        let mut line = Occupied::default();
        // Of each 2 ms one, and a second of ten without a break.
        for second in 0..100 {
            let from = second * 1000;
            if second % 10 == 9 {
                line.busy(at(from), at(from + 1000));
            } else {
                (0..500).for_each(|number| line.busy(at(from + 2 * number), at(from + 2 * number + 1)));
            }
        }
        assert!(line.0.len() <= Occupied::MOST && line.0.len() > Occupied::MOST / 8, "{}", line.0.len());
        assert_eq!(line.by(at(100_000)), ms(90 * 500 + 10 * 1000));
        let full = line.full((at(0), at(100_000)), ms(500));
        assert_eq!(full.len(), 10, "{full:?}");
        assert!(full.iter().all(|(since, until)| until.saturating_since(*since) > ms(900)), "{full:?}");
    }

    #[test]
    fn a_run_that_goes_on_is_busy_in_each_interval() {
        let mut carry = Carry::default();
        let within: Vec<Duration> = [25, 0, 0, 0].map(|counted| carry.within(ms(counted), ms(10))).into();
        assert_eq!(within, [ms(10), ms(10), ms(5), ms(0)]);
    }
}
