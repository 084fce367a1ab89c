//! How busy CPUs were while transfers went on, which have times of their own.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{HostId, World};

use super::cpus::{self, Cpus};
use super::flows::{matched, progress};
use super::load::{Kind, Load};

/// What CPUs had done at the first look after a transfer of a load had opened, and at the last before all had ended;
/// nothing of that as long as one has not.
#[derive(Default)]
struct TransferCpus {
    opened: Option<(Instant, Cpus)>,
    ended: Option<(Instant, Cpus)>,
    /// Which of its transfers have opened, and which have ended.
    flows: Vec<(bool, bool)>,
}

/// Looks now and then which transfers have opened and ended.
pub(super) struct Marks {
    /// `None` where there is nothing to look for any more.
    next: Option<Instant>,
    last: Instant,
    cpus: Cpus,
    loads: BTreeMap<String, TransferCpus>,
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
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
    ) -> bool {
        let now = world.now();
        if self.next.is_none_or(|next| now < next) {
            return false;
        }
        let (mut is_more, mut is_news) = (false, false);
        let busy = cpus::busy(world);
        for (name, TransferCpus { opened, ended, flows }) in &mut self.loads {
            let Some(load) = loads.get(name) else {
                continue;
            };
            let sinks = progress(world, hosts, load);
            let (mut has_opened, mut has_ended, mut is_open) = (false, false, false);
            for (number, flow) in matched(world, hosts, load, &sinks).into_iter().enumerate() {
                if flows.len() <= number {
                    flows.resize(number + 1, (false, false));
                }
                let Some((was_opened, was_over)) = flows.get_mut(number) else {
                    continue;
                };
                let came = flow.place.and_then(|(sink, number)| sinks.get(sink)?.get(number));
                let (is_opened, is_over) = (flow.writer.is_opened(), flow.writer.end(came).is_some());
                has_opened |= is_opened && !core::mem::replace(was_opened, is_opened);
                has_ended |= is_over && !core::mem::replace(was_over, is_over);
                is_open |= !is_over;
            }
            if has_opened && opened.is_none() {
                *opened = Some((now, busy.clone()));
            }
            if is_open {
                *ended = None;
            } else if has_ended {
                *ended = Some((self.last, self.cpus.clone()));
            }
            is_news |= has_opened || has_ended;
            is_more |= is_open;
        }
        self.cpus = busy;
        (self.last, self.next) = (now, is_more.then_some(now + Self::EVERY));
        is_news
    }

    /// For what part of the time from the first opening of the load `name` to its last end each CPU was busy; `None`
    /// where nobody looked at two times in between. `now`: how long they had been busy at the end of the run.
    pub(super) fn cpus(&self, name: &str, now: (Instant, &Cpus)) -> Option<BTreeMap<String, f64>> {
        let TransferCpus { opened, ended, .. } = self.loads.get(name)?;
        let (from, before) = opened.as_ref()?;
        let (to, after) = ended.as_ref().map_or(now, |(at, cpus)| (*at, cpus));
        (to > *from).then(|| cpus::shares((*from, before), (to, after)))
    }
}
