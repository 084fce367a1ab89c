//! What the lines on the way of a load and the CPUs had done when it began and when it was to stop, where that is while
//! it is measured.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant};
use kumiki_sim::World;

use super::cpus::{self, Cpus};
use super::lines::{LineUse, Lines};
use super::load::Load;
use super::path::CrossedLine;

/// Which of the two it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LoadEnd {
    Begins,
    Stops,
}

/// What the lines on the way and all CPUs had done by then.
struct PresenceMark {
    at: Instant,
    lines: BTreeMap<CrossedLine, LineUse>,
    cpus: Cpus,
}

/// Looks when loads begin and stop.
#[derive(Default)]
pub(super) struct Presence {
    coming: VecDeque<(Instant, String, LoadEnd)>,
    marks: BTreeMap<(String, LoadEnd), PresenceMark>,
}

impl Presence {
    /// Of `loads`, which are measured from one time to another.
    pub(super) fn of(loads: &BTreeMap<String, Load>, (began, end): (Instant, Instant)) -> Self {
        let mut coming = Vec::new();
        for (name, load) in loads {
            // When what has an end comes to it is not known.
            let (from, stop) = if load.is_measured_whole() { (Instant::ZERO, None) } else { (began, load.stop) };
            let is_within = |at: &Instant| *at > from && *at < end;
            let begins = Some(load.start).filter(is_within);
            let stops = stop.filter(is_within);
            coming.extend(begins.map(|at| (at, name.clone(), LoadEnd::Begins)));
            coming.extend(stops.map(|at| (at, name.clone(), LoadEnd::Stops)));
        }
        coming.sort();
        Self { coming: coming.into(), marks: BTreeMap::new() }
    }

    /// When to look.
    pub(super) fn next(&self) -> Option<Instant> {
        self.coming.front().map(|(at, ..)| *at)
    }

    /// Looks, where it is time; says whether it was.
    pub(super) fn look(&mut self, world: &World, lines: &Lines, loads: &BTreeMap<String, Load>) -> bool {
        let at = world.now();
        let mut is_time = false;
        while let Some((_, name, end)) = self.coming.pop_front_if(|(due, ..)| *due <= at) {
            is_time = true;
            if let Some(load) = loads.get(&name) {
                let mark = PresenceMark { at, lines: lines.used(world, load), cpus: cpus::busy(world) };
                self.marks.insert((name, end), mark);
            }
        }
        is_time
    }

    fn mark(&self, load: &str, end: LoadEnd) -> Option<&PresenceMark> {
        self.marks.get(&(load.to_owned(), end))
    }

    /// For what part of the time in which `load` wrote, and in which they were there, lines were busy: of that from
    /// `before` to `after`.
    pub(super) fn shares<'a>(
        &self,
        load: &str,
        before: &BTreeMap<CrossedLine, LineUse>,
        after: &'a BTreeMap<CrossedLine, LineUse>,
    ) -> BTreeMap<&'a CrossedLine, f64> {
        self.of_lines(load, (before, after), LineUse::share_since)
    }

    /// What part of the frames that came to it meanwhile the queue gave up that gave up the largest.
    pub(super) fn given_up(
        &self,
        load: &str,
        before: &BTreeMap<CrossedLine, LineUse>,
        after: &BTreeMap<CrossedLine, LineUse>,
    ) -> f64 {
        self.of_lines(load, (before, after), LineUse::given_up_since).into_values().fold(0.0, f64::max)
    }

    /// What `since` says of each line over the time in which `load` wrote.
    fn of_lines<'a>(
        &self,
        load: &str,
        (before, after): (&BTreeMap<CrossedLine, LineUse>, &'a BTreeMap<CrossedLine, LineUse>),
        since: fn(LineUse, LineUse) -> f64,
    ) -> BTreeMap<&'a CrossedLine, f64> {
        let before = self.mark(load, LoadEnd::Begins).map_or(before, |mark| &mark.lines);
        let until = self.mark(load, LoadEnd::Stops).map_or(after, |mark| &mark.lines);
        let used = |lines: &BTreeMap<CrossedLine, LineUse>, line| lines.get(line).copied().unwrap_or_default();
        after.keys().map(|line| (line, since(used(until, line), used(before, line)))).collect()
    }

    /// For what part of the time in which `load` wrote each CPU was busy: of that from one moment to another, of which
    /// `cpus` were busy for so long.
    pub(super) fn cpus(
        &self,
        load: &str,
        (before, after): ((Instant, &Cpus), (Instant, &Cpus)),
    ) -> BTreeMap<String, f64> {
        let at = |end, otherwise| self.mark(load, end).map_or(otherwise, |mark| (mark.at, &mark.cpus));
        cpus::shares(at(LoadEnd::Begins, before), at(LoadEnd::Stops, after))
    }

    /// From when on `load` wrote, and for how long, of the time from `began` to `end`; `None` where it is all of it.
    pub(super) fn part(&self, load: &str, (began, end): (Instant, Instant)) -> Option<(Instant, Duration)> {
        let (begins, stops) = (self.mark(load, LoadEnd::Begins), self.mark(load, LoadEnd::Stops));
        if begins.is_none() && stops.is_none() {
            return None;
        }
        let from = begins.map_or(began, |mark| mark.at);
        Some((from, stops.map_or(end, |mark| mark.at).saturating_since(from)))
    }
}
