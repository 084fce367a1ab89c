//! How busy lines and CPUs were while transfers went over them, each of which has a time of its own.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{HostId, World};

use super::cpus::{self, Cpus};
use super::flows::{matched, progress};
use super::lines::{Lines, Use};
use super::load::{Kind, Load};
use super::path::Crossed;

/// What the lines on the way of a flow had been used.
type Uses = Vec<Use>;

/// The last looks before something happened, and the first after that.
#[derive(Clone, Debug)]
struct Between {
    before: (Instant, Uses),
    after: (Instant, Uses),
}

#[derive(Clone, Default, Debug)]
struct Mark {
    opened: Option<Between>,
    ended: Option<Between>,
}

impl Mark {
    /// For which part of the time from its opening to its end the busiest line was busy; `None` where it never opened. `now`: what is so at the end of the run.
    /// Where it was there at two looks or more, it is the time between these.
    fn share(&self, now: &(Instant, Uses)) -> Option<f64> {
        let opened = self.opened.as_ref()?;
        let (until, outer) = self.ended.as_ref().map_or((now, now), |it| (&it.before, &it.after));
        let is_long = until.0 > opened.after.0;
        let (from, until) = if is_long { (&opened.after, until) } else { (&opened.before, outer) };
        Some(until.1.iter().zip(&from.1).map(|(now, earlier)| now.share_since(*earlier)).fold(0.0, f64::max))
    }
}

/// What CPUs had done at the first look after a transfer of a load had opened, and at the last before all had ended; nothing of that as long as one has not.
#[derive(Default)]
struct CpuMark {
    opened: Option<(Instant, Cpus)>,
    ended: Option<(Instant, Cpus)>,
}

#[derive(Default)]
struct OfLoad {
    used: BTreeMap<Crossed, Use>,
    flows: Vec<Mark>,
    cpus: CpuMark,
}

/// Looks now and then which transfers have opened and ended.
pub(super) struct Marks {
    /// `None` where there is nothing to look for any more.
    next: Option<Instant>,
    last: Instant,
    cpus: Cpus,
    loads: BTreeMap<String, OfLoad>,
}

impl Marks {
    const EVERY: Duration = Duration::from_millis(10);

    /// Those of `loads`.
    pub(super) fn new(loads: &BTreeMap<String, Load>) -> Self {
        let transfers = loads.iter().filter(|(_, load)| load.is_measured_whole() && load.kind == Kind::Stream);
        let loads: BTreeMap<_, _> = transfers.map(|(name, _)| (name.clone(), Default::default())).collect();
        let next = (!loads.is_empty()).then_some(Instant::ZERO + Self::EVERY);
        Self { next, last: Instant::ZERO, cpus: Cpus::new(), loads }
    }

    /// When to look.
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Looks, where it is time to; says whether one has opened or ended.
    pub(super) fn look(
        &mut self,
        (world, lines): (&World, &Lines),
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
    ) -> bool {
        let now = world.now();
        if self.next.is_none_or(|next| now < next) {
            return false;
        }
        let (mut is_more, mut is_news) = (false, false);
        let busy = cpus::busy(world);
        for (name, OfLoad { used, flows: marks, cpus }) in &mut self.loads {
            let Some(load) = loads.get(name) else {
                continue;
            };
            let sinks = progress(world, hosts, load);
            let used_now = lines.used(world, load);
            let (mut has_opened, mut has_ended, mut is_open) = (false, false, false);
            for (number, flow) in matched(world, hosts, load, &sinks).into_iter().enumerate() {
                if marks.len() <= number {
                    marks.resize_with(number + 1, Mark::default);
                }
                let Some(mark) = marks.get_mut(number) else {
                    continue;
                };
                let between = || Between {
                    before: (self.last, uses(load, flow.way, used)),
                    after: (now, uses(load, flow.way, &used_now)),
                };
                if mark.opened.is_none() && flow.writer.is_opened() {
                    mark.opened = Some(between());
                    has_opened = true;
                }
                let came = flow.place.and_then(|(sink, number)| sinks.get(sink)?.get(number));
                let is_over = flow.writer.end(came).is_some();
                if mark.ended.is_none() && is_over {
                    mark.ended = Some(between());
                    has_ended = true;
                }
                is_open |= !is_over;
            }
            if has_opened && cpus.opened.is_none() {
                cpus.opened = Some((now, busy.clone()));
            }
            if is_open {
                cpus.ended = None;
            } else if has_ended {
                cpus.ended = Some((self.last, self.cpus.clone()));
            }
            is_news |= has_opened || has_ended;
            is_more |= is_open;
            *used = used_now;
        }
        self.cpus = busy;
        (self.last, self.next) = (now, is_more.then_some(now + Self::EVERY));
        is_news
    }

    /// For which part of its own time the busiest line on the way of the flow of that `number` was busy, where it was looked at. `used`: what of the lines is used
    /// at the end of the run.
    pub(super) fn share(
        &self,
        (name, load): (&str, &Load),
        (number, way): (usize, (usize, usize)),
        (now, used): (Instant, &BTreeMap<Crossed, Use>),
    ) -> Option<f64> {
        let of_load = self.loads.get(name)?;
        of_load.flows.get(number)?.share(&(now, uses(load, way, used)))
    }
}

impl Marks {
    /// For what part of the time from the first opening of the load `name` to its last end each CPU was busy; `None` where nobody looked at two times in
    /// between. `now`: how long they had been busy at the end of the run.
    pub(super) fn cpus(&self, name: &str, now: (Instant, &Cpus)) -> Option<BTreeMap<String, f64>> {
        let CpuMark { opened, ended } = &self.loads.get(name)?.cpus;
        let (from, before) = opened.as_ref()?;
        let (to, after) = ended.as_ref().map_or(now, |(at, cpus)| (*at, cpus));
        (to > *from).then(|| cpus::shares((*from, before), (to, after)))
    }
}

/// What the lines on that way have been used.
fn uses(load: &Load, way: (usize, usize), used: &BTreeMap<Crossed, Use>) -> Uses {
    let way = load.ways.get(way.0).and_then(|ways| ways.get(way.1));
    // Of some nobody knows.
    way.into_iter().flatten().map(|line| used.get(line).copied().unwrap_or_default()).collect()
}
