//! Hosts whose power fails, and comes back.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{Host, HostId, World};

/// What happens to hosts at which times: all is there beforehand, so that nothing can be wrong with it when its time comes.
#[derive(Default)]
pub(super) struct Power {
    coming: VecDeque<(Instant, HostId, Option<Host>)>,
    /// From when until when which host had none.
    outages: Vec<(HostId, Instant, Instant)>,
}

impl Power {
    /// At `at` after the beginning `host` has no power any more, or begins anew as another.
    pub(super) fn add(&mut self, at: Duration, host: HostId, anew: Option<Host>) {
        let at = Instant::ZERO + at;
        let place = self.coming.partition_point(|(other, ..)| *other <= at);
        self.coming.insert(place, (at, host, anew));
    }

    /// When the next of it happens.
    pub(super) fn next(&self) -> Option<Instant> {
        self.coming.front().map(|(at, ..)| *at)
    }

    /// Lets happen what is due, after all else of its instant.
    pub(super) fn change(&mut self, world: &mut World) {
        let now = world.now();
        while let Some((_, host, anew)) = self.coming.pop_front_if(|(at, ..)| *at <= now) {
            match anew {
                Some(anew) => {
                    self.outages.extend(world.down_since(host).map(|since| (host, since, now)));
                    // The same graph has begun before.
                    drop(world.bring_back(host, anew));
                }
                None => world.take_down(host),
            }
        }
    }

    /// For how long since `from` each of `hosts` had no power, where it had none for some time.
    pub(super) fn without(
        &self,
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        from: Instant,
    ) -> BTreeMap<String, Duration> {
        let of = |(name, id): (&String, &HostId)| {
            let past = self.outages.iter().filter(|(host, ..)| host == id).map(|(_, since, until)| (*since, *until));
            let present = world.down_since(*id).map(|since| (since, world.now()));
            let all = past.chain(present).map(|(since, until)| until.saturating_since(since.max(from)));
            let whole = all.fold(Duration::ZERO, |whole, one| whole + one);
            (!whole.is_zero()).then(|| (name.clone(), whole))
        };
        hosts.iter().filter_map(of).collect()
    }
}
