//! When the ways of a load were not there, and what became of what it sent then.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | A way | is not there while a line on it, there or (but for datagrams) back, is down, has a rate of 0 b/s or loses everything, or a host on it has no power |

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_sim::{HostId, World};

use super::load::{Kind, Load};
use super::measure::{lossy, program};
use super::outages::Outages;
use super::power::Power;
use super::units::Units;
use crate::workload::Ping;
use crate::workload::ping::{EchoPath, Echoes};
use kumiki_media::{Span, joined};

/// What is known of that at an instant.
#[derive(Default, Debug)]
pub(super) struct PathOutages {
    /// When a line between a writer and a reader of exchanges was down or stood still, by their numbers.
    stands: BTreeMap<(usize, usize), Vec<Span>>,
    /// When the way of each writer of datagrams to each of its readers was not there.
    ways: Vec<Vec<Span>>,
    /// Which lines were not there, in words, each with until when, where it is there again.
    told: Vec<(Option<Instant>, String)>,
    /// What became of echoes.
    pub(super) echoes: Option<Echoes>,
}

impl PathOutages {
    /// That of `load` now.
    pub(super) fn of(
        (hosts, outages, power): (&BTreeMap<String, HostId>, &Outages, &Power),
        world: &World,
        load: &Load,
    ) -> Self {
        let now = world.now();
        let whole = |pairs: &BTreeSet<(usize, usize)>| {
            let ends = pairs.iter().flat_map(|pair| load.ends(*pair));
            let ids = ends.chain(load.hosts_between()).filter_map(|host| hosts.get(host));
            let powerless = ids.flat_map(|id| power.spans(world, *id));
            joined(outages.spans((load, pairs), now, true).into_iter().chain(powerless).collect())
        };
        let each = || load.pairs().map(|pair| (pair, BTreeSet::from([pair])));
        let echoes = |number: usize| {
            let ping = program::<Ping>(world, hosts, load.from.get(number)?)?;
            let own: BTreeSet<(usize, usize)> = load.pairs_of(number).collect();
            let away = whole(&own);
            let (gone_since, still_since) = outages.lasting((load, &own), now);
            // That of a host is told by its power alone.
            let off = own.iter().flat_map(|pair| load.ends(*pair)).chain(load.hosts_between());
            let off = off.filter_map(|host| power.down_since(world, *hosts.get(host)?, now)).min();
            let gone_since = gone_since.into_iter().chain(off).min();
            Some(ping.echoes_by(now, &EchoPath { away, gone_since, still_since, waiting: world.waiting() }))
        };
        let together = |mut all: Echoes, more| {
            all += more;
            all
        };
        Self {
            stands: match load.is_of_exchanges() {
                true => each().map(|(pair, own)| (pair, outages.spans((load, &own), now, false))).collect(),
                false => BTreeMap::new(),
            },
            ways: if load.kind == Kind::Units { each().map(|(_, own)| whole(&own)).collect() } else { Vec::new() },
            told: outages.told((load, &load.pairs().collect()), now),
            echoes: (0..load.from.len()).filter_map(echoes).reduce(together),
        }
    }

    /// When a line between that writer and that reader of exchanges was down or stood still, in order.
    pub(super) fn stands(&self, way: (usize, usize)) -> &[Span] {
        self.stands.get(&way).map_or(&[], Vec::as_slice)
    }

    /// Which lines were not there for some of the time since `from`, in words.
    pub(super) fn told(&self, from: Instant) -> Vec<String> {
        let told = self.told.iter().filter(|(until, _)| until.is_none_or(|until| until > from));
        told.map(|(_, words)| words.clone()).collect()
    }

    /// Whether most of what was lost of echoes, or of these `units`, which were written for that `time` since `from`,
    /// left while its way was not there.
    pub(super) fn took_most(&self, units: Option<&Units>, (from, time): (Instant, Duration)) -> bool {
        if let Some(echoes) = self.echoes {
            return echoes.left_in_vain * 2 > echoes.lost && echoes.lost > 0;
        }
        let Some(units) = units.filter(|units| units.lost > 0 && !time.is_zero()) else {
            return false;
        };
        let to = from + time;
        let within = |(since, until): &Span| (*until).min(to).saturating_since((*since).max(from)).as_secs_f64();
        let seconds: f64 = self.ways.iter().flatten().map(within).sum();
        let part = seconds / time.as_secs_f64() / lossy(self.ways.len().max(1) as u64);
        lossy(units.sent) * part * 2.0 > lossy(units.lost)
    }
}
