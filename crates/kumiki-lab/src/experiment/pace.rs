//! What flows had brought when another of them began or ended: so that rates can be compared over the time in which
//! they met.

use std::collections::BTreeMap;

use kumiki_graph::Instant;
use kumiki_sim::{HostId, World};

use super::flows::{matched, progress};
use super::load::{Kind, Load};

/// When somebody looked, and the octets that had been read by then.
type Looks = Vec<(Instant, u64)>;

/// Looks at all flows that are open.
#[derive(Default)]
pub(super) struct Pace(BTreeMap<String, Vec<Looks>>);

impl Pace {
    /// Looks: something has begun or ended.
    pub(super) fn look(&mut self, world: &World, hosts: &BTreeMap<String, HostId>, loads: &BTreeMap<String, Load>) {
        let now = world.now();
        // Datagrams and echoes are compared with nobody.
        for (name, load) in loads.iter().filter(|(_, load)| !matches!(load.kind, Kind::Units | Kind::Ping)) {
            let sinks = progress(world, hosts, load);
            let all = matched(world, hosts, load, &sinks);
            let own = self.0.entry(name.clone()).or_default();
            own.resize_with(all.len().max(own.len()), Vec::new);
            for (looks, flow) in own.iter_mut().zip(all) {
                let came = flow.place.and_then(|(sink, number)| sinks.get(sink)?.get(number));
                let octets = came.map_or(0, |came| came.octets);
                // What is over brings nothing more.
                let is_news = flow.writer.end(came).is_none() || looks.last().is_some_and(|(_, last)| *last < octets);
                if flow.writer.is_opened() && is_news {
                    looks.push((now, octets));
                }
            }
        }
    }

    /// What the flow of that `number` had brought at some times, the earliest first.
    pub(super) fn of(&self, load: &str, number: usize) -> &[(Instant, u64)] {
        self.0.get(load).and_then(|flows| flows.get(number)).map_or(&[], Vec::as_slice)
    }
}
