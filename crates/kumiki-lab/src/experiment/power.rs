//! Hosts whose power fails, and comes back, and nodes that are set otherwise.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::{Config, Tcp};
use kumiki_sim::{Host, HostId, World};

use super::flows::Flow;

/// What happens to a host.
enum HostChange {
    /// It has no power any more.
    Down,
    /// It starts again, as this one.
    Up(Box<Host>),
    /// A node of it, a TCP, is set otherwise.
    Set(String, Box<Config>),
}

/// What happens to hosts at which times: all is there beforehand, so that nothing can be wrong with it when its time
/// comes.
#[derive(Default)]
pub(super) struct Power {
    coming: VecDeque<(Instant, HostId, HostChange)>,
    /// From when until when which host had none.
    outages: Vec<(HostId, Instant, Instant)>,
}

impl Power {
    /// At `at` after the beginning `host` has no power any more, or starts again as another.
    pub(super) fn add(&mut self, at: Duration, host: HostId, started: Option<Host>) {
        self.put(at, host, started.map_or(HostChange::Down, |started| HostChange::Up(Box::new(started))));
    }

    /// At `at` after the beginning the TCP `node` of `host` is as `config` says, as far as that can be changed.
    pub(super) fn set(&mut self, at: Duration, host: HostId, node: &str, config: Config) {
        self.put(at, host, HostChange::Set(node.to_owned(), Box::new(config)));
    }

    fn put(&mut self, at: Duration, host: HostId, change: HostChange) {
        let at = Instant::ZERO + at;
        let place = self.coming.partition_point(|(other, ..)| *other <= at);
        self.coming.insert(place, (at, host, change));
    }

    /// When the next of it happens.
    pub(super) fn next(&self) -> Option<Instant> {
        self.coming.front().map(|(at, ..)| *at)
    }

    /// Lets happen what is due, after all else of its instant.
    pub(super) fn change(&mut self, world: &mut World) {
        let now = world.now();
        while let Some((_, host, change)) = self.coming.pop_front_if(|(at, ..)| *at <= now) {
            match change {
                HostChange::Up(started) => {
                    self.outages.extend(world.down_since(host).map(|since| (host, since, now)));
                    // The same graph has begun before.
                    drop(world.bring_back(host, *started));
                }
                HostChange::Down => world.take_down(host),
                HostChange::Set(node, config) => {
                    let graph = world.host_mut(host).map(|host| &mut host.graph);
                    let tcp = graph.and_then(|graph| graph.protocol_mut::<Tcp>(graph.node(&node)?));
                    tcp.into_iter().for_each(|tcp| tcp.change(&config));
                }
            }
        }
    }

    /// Since when `host` had had no power at the instant `at`, where it had none.
    pub(super) fn down_since(&self, world: &World, host: HostId, at: Instant) -> Option<Instant> {
        let past = self.outages.iter().find(|(other, since, until)| *other == host && (*since..*until).contains(&at));
        past.map(|(_, since, _)| *since).or_else(|| world.down_since(host).filter(|since| *since <= at))
    }

    /// From when until when, until now, `host` had no power.
    pub(super) fn spans(&self, world: &World, host: HostId) -> Vec<(Instant, Instant)> {
        let past = self.outages.iter().filter(|(other, ..)| *other == host).map(|(_, since, until)| (*since, *until));
        past.chain(world.down_since(host).map(|since| (since, world.now()))).collect()
    }

    /// For how long since `from` each of `hosts` had no power, where it had none for some time.
    pub(super) fn without(
        &self,
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        from: Instant,
    ) -> BTreeMap<String, Duration> {
        let of = |(name, id): (&String, &HostId)| {
            let spans = self.spans(world, *id).into_iter();
            let all = spans.map(|(since, until)| until.saturating_since(since.max(from)));
            let whole = all.fold(Duration::ZERO, |whole, one| whole + one);
            (!whole.is_zero()).then(|| (name.clone(), whole))
        };
        hosts.iter().filter_map(of).collect()
    }
}

/// For how much of the time from one instant to another nothing but power was waited for, of flows that have an end:
/// the last of them that are not over, where an end of each has none.
pub(super) fn waits_for_power(flows: &[Flow], (from, to): (Instant, Instant)) -> Duration {
    let is_through = flows.iter().all(|flow| flow.over.is_some() || flow.powerless_since.is_none());
    let until: Option<Vec<Instant>> = flows.iter().map(Flow::waited_until).collect();
    let last = until.and_then(|until| until.into_iter().max()).filter(|_| !is_through);
    last.map_or(Duration::ZERO, |last| to.saturating_since(last.max(from)))
}
