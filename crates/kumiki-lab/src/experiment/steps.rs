//! Goodput in equal parts of the measured time: batches, whose means give an interval, and a course in which the end of
//! the warm-up is looked for.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{HostId, World};

use super::flows::progress;
use super::load::Load;
use super::measure::lossy;

/// The goodput of each part, in 10^6 bit/s.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GoodputSteps {
    /// How long a part is.
    pub every: Duration,
    /// By load, part by part.
    pub loads: BTreeMap<String, Vec<f64>>,
}

impl GoodputSteps {
    /// Of all loads together.
    #[must_use]
    pub fn total(&self) -> Vec<f64> {
        let parts = self.loads.values().map(Vec::len).max().unwrap_or(0);
        let of = |part: usize| self.loads.values().filter_map(|load| load.get(part)).sum();
        (0..parts).map(of).collect()
    }
}

/// Looks at the end of each part.
pub(super) struct Steps {
    next: Instant,
    course: GoodputSteps,
    /// What each load had brought when the part began.
    before: Option<BTreeMap<String, u64>>,
}

impl Steps {
    /// Of so many parts of the `duration` that begins at `began`.
    pub(super) fn new(began: Instant, duration: Duration, parts: u32) -> Self {
        let every = Duration::from_nanos((duration.as_nanos() / u64::from(parts.max(1))).max(1));
        // The first look is where they begin.
        Self { next: began, course: GoodputSteps { every, loads: BTreeMap::new() }, before: None }
    }

    /// When to look.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn finish(self) -> GoodputSteps {
        self.course
    }

    /// Looks at what came.
    pub(super) fn take(&mut self, world: &World, hosts: &BTreeMap<String, HostId>, loads: &BTreeMap<String, Load>) {
        let octets = |load: &Load| progress(world, hosts, load).iter().flatten().map(|it| it.octets).sum();
        let now: BTreeMap<String, u64> = loads.iter().map(|(name, load)| (name.clone(), octets(load))).collect();
        for (name, before) in self.before.iter().flatten() {
            let came = now.get(name).map_or(0, |now| now.saturating_sub(*before));
            let rate = lossy(came) * 8.0 / self.course.every.as_secs_f64() / 1e6;
            self.course.loads.entry(name.clone()).or_default().push(rate);
        }
        self.before = Some(now);
        self.next += self.course.every;
    }
}
