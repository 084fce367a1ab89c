//! How busy lines are while they are there: by schedules and events, and by the power of the hosts at their ends.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_sim::World;

use super::fault::ConfigError;
use super::load::Load;
use super::path::{BusyTimes, CrossedLine};
use crate::scenario::{Link, Scenario};
use crate::topology::HopKind;
use kumiki_media::{self as medium, Step};

/// How long a direction of a line was there since the beginning, and how long it was busy meanwhile, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LineUse {
    up: u64,
    busy: u64,
    /// How many frames its queue gave up since the beginning, there or not, and how many came to it.
    queue: (u64, u64),
}

impl LineUse {
    /// How long it has been busy since `earlier`.
    pub(super) const fn busy_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.busy.saturating_sub(earlier.busy))
    }

    /// For what part of the time since `earlier` in which it was there it was busy.
    pub(super) fn share_since(self, earlier: Self) -> f64 {
        let [up, busy] = [self.up.saturating_sub(earlier.up), self.busy.saturating_sub(earlier.busy)];
        if up == 0 { 0.0 } else { super::measure::lossy(busy) / super::measure::lossy(up) }
    }

    /// What part of the frames that came to its queue since `earlier` that gave up.
    pub(super) fn given_up_since(self, earlier: Self) -> f64 {
        let [given_up, came] =
            [self.queue.0.saturating_sub(earlier.queue.0), self.queue.1.saturating_sub(earlier.queue.1)];
        if came == 0 { 0.0 } else { super::measure::lossy(given_up) / super::measure::lossy(came) }
    }
}

/// What keeps a direction of a line from carrying anything.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum OutageCause {
    Down,
    /// Its rate is 0 b/s.
    Still,
    /// The host at one of its ends has no power.
    Power(String),
}

#[derive(Clone, Debug, Default)]
struct DirectionState {
    missing: BTreeSet<OutageCause>,
    /// Until `since`, when the line had been busy for so long in all.
    before: LineUse,
    since: Instant,
    counted: u64,
}

impl DirectionState {
    /// By `now`, when it has been busy for so long in all.
    fn so_far(&self, counted: u64, now: Instant) -> LineUse {
        if !self.missing.is_empty() {
            return self.before;
        }
        LineUse {
            up: self.before.up + now.saturating_since(self.since).as_nanos(),
            busy: self.before.busy + counted.saturating_sub(self.counted),
            ..self.before
        }
    }

    fn change(&mut self, cause: OutageCause, is_up: bool, counted: u64, now: Instant) {
        *self = Self {
            before: self.so_far(counted, now),
            since: now,
            counted,
            missing: core::mem::take(&mut self.missing),
        };
        if is_up {
            self.missing.remove(&cause);
        } else {
            self.missing.insert(cause);
        }
    }
}

/// The lines that loads cross.
#[derive(Default)]
pub(super) struct Lines {
    /// What happens to them, in order of time.
    all: Vec<(Instant, CrossedLine, OutageCause, bool)>,
    /// How much of that has happened.
    happened: usize,
    /// Those to which something happens.
    changing: BTreeMap<CrossedLine, DirectionState>,
}

impl Lines {
    /// Those of `loads`.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub(super) fn of(scenario: &Scenario, loads: &BTreeMap<String, Load>) -> Result<Self, ConfigError> {
        let crossed: BTreeSet<&CrossedLine> =
            loads.values().flat_map(|load| load.ways.iter().flatten().flatten()).collect();
        let power = scenario.power()?;
        let mut all = Vec::new();
        for crossed in crossed {
            let name = &crossed.line;
            let (own, ends) = match (crossed.way, scenario.link.get(name)) {
                (HopKind::FromA, Some(link)) => (changes(scenario, name, link, true)?, link.ends.as_slice()),
                (HopKind::FromB, Some(link)) => (changes(scenario, name, link, false)?, link.ends.as_slice()),
                // A ring goes on without a station.
                (HopKind::Ring, _) => (of_ring(&scenario.ring_changes(name)?), [].as_slice()),
                (HopKind::FromA | HopKind::FromB, None) => continue,
            };
            let hosts: BTreeSet<&str> = ends.iter().filter_map(|end| Some(end.split_once('.')?.0)).collect();
            let of_host = |host: &str| {
                let changes = power.get(host).into_iter().flatten();
                changes.map(|(at, up)| (*at, OutageCause::Power(host.to_owned()), *up)).collect::<Vec<_>>()
            };
            let whole = own.into_iter().chain(hosts.into_iter().flat_map(of_host));
            all.extend(whole.map(|(at, cause, up)| (Instant::ZERO + at, crossed.clone(), cause, up)));
        }
        all.sort_by_key(|(at, ..)| *at);
        let changing = all.iter().map(|(_, crossed, ..)| (crossed.clone(), DirectionState::default())).collect();
        Ok(Self { all, happened: 0, changing })
    }

    /// When something happens to one of them.
    pub(super) fn next(&self) -> Option<Instant> {
        self.all.get(self.happened).map(|(at, ..)| *at)
    }

    /// Takes note of what has happened.
    pub(super) fn change(&mut self, world: &World) {
        let now = world.now();
        if self.next().is_none_or(|next| next > now) {
            return;
        }
        let counted = BusyTimes::of(world);
        while let Some((_, crossed, cause, is_up)) = self.all.get(self.happened).filter(|(at, ..)| *at <= now) {
            if let Some(direction) = self.changing.get_mut(crossed) {
                direction.change(cause.clone(), *is_up, counted.time(crossed).unwrap_or(0), now);
            }
            self.happened += 1;
        }
    }

    /// What became of those of `load` so far.
    pub(super) fn used(&self, world: &World, load: &Load) -> BTreeMap<CrossedLine, LineUse> {
        let crossed: BTreeSet<&CrossedLine> = load.ways.iter().flatten().flatten().collect();
        let all = self.now(world);
        crossed.into_iter().filter_map(|it| Some((it.clone(), all.used(it)?))).collect()
    }

    /// What became of all of them so far.
    pub(super) fn now<'a>(&'a self, world: &'a World) -> LinesNow<'a> {
        LinesNow { changing: &self.changing, busy: BusyTimes::of(world), now: world.now() }
    }
}

/// Lines at one moment.
pub(super) struct LinesNow<'a> {
    changing: &'a BTreeMap<CrossedLine, DirectionState>,
    busy: BusyTimes<'a>,
    now: Instant,
}

impl LinesNow<'_> {
    /// What became of that one so far; `None` where nobody knows.
    pub(super) fn used(&self, crossed: &CrossedLine) -> Option<LineUse> {
        let counted = self.busy.time(crossed)?;
        let changing = self.changing.get(crossed).map(|it| it.so_far(counted, self.now));
        let up = self.now.saturating_since(Instant::ZERO).as_nanos();
        let whole = changing.unwrap_or_else(|| LineUse { up, busy: counted, ..LineUse::default() });
        Some(LineUse { queue: self.busy.queue(crossed), ..whole })
    }
}

/// When a direction of the line `name` stands still, or is not there, and when it is again.
fn changes(
    scenario: &Scenario,
    name: &str,
    link: &Link,
    is_a: bool,
) -> Result<Vec<(Duration, OutageCause, bool)>, ConfigError> {
    let line = link.line().map_err(|fault| fault.under(&["link", name]))?;
    let [one, other] = &link.ends;
    let end = if is_a { other } else { one };
    let mut all = Vec::new();
    for step in scenario.changes(name, &line)? {
        if step.toward.as_ref().is_none_or(|toward| medium::is_named(toward, end)) {
            all.extend(step.up.map(|up| (step.at, OutageCause::Down, up)));
        }
        all.extend(step.rate.map(|[one, other]| (step.at, OutageCause::Still, if is_a { one } else { other } > 0)));
    }
    Ok(all)
}

/// When a ring is not there for all of its stations, and when it is again.
fn of_ring(steps: &[Step]) -> Vec<(Duration, OutageCause, bool)> {
    let steps = steps.iter().filter(|step| step.toward.is_none());
    steps.filter_map(|step| Some((step.at, OutageCause::Down, step.up?))).collect()
}
