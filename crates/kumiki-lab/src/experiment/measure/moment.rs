//! The state of the world at one moment, as far as measuring needs it.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_link::Occupancy;
use kumiki_sim::{HostId, World};

use super::writers::{program, sources};
use crate::experiment::away::PathOutages;
use crate::experiment::cpus::{self, Cpus};
use crate::experiment::failed::MissingParts;
use crate::experiment::flows::{self, Pair, Sender, progress};
use crate::experiment::lines::{LineUse, Lines};
use crate::experiment::load::Load;
use crate::experiment::outages::Outages;
use crate::experiment::path::CrossedLine;
use crate::experiment::power::Power;
use crate::experiment::units::Units;
use crate::rows::Counters;
use crate::workload::Source;

/// The state of the world at one moment, as far as measuring needs it: of a load.
#[derive(Default)]
pub(in crate::experiment) struct Snapshot {
    pub(in crate::experiment) at: Instant,
    /// When data last arrived. Rates are taken from arrival to arrival, so that they do not depend on where in a PDU
    /// the clock stood.
    pub(super) last: Option<Instant>,
    /// The longest time between two arrivals of a session so far.
    longest_gap: Duration,
    /// By reading program and session.
    pub(in crate::experiment) octets: Vec<Vec<u64>>,
    pub(super) page_waits: u64,
    /// What each writing program waited between messages, all sessions together.
    pub(super) waited: Vec<Duration>,
    /// How long each line on the way was there, and busy.
    pub(super) lines: BTreeMap<CrossedLine, LineUse>,
    /// What it lacked.
    pub(super) gone: Option<MissingParts>,
    /// When its ways were not there.
    pub(in crate::experiment) away: PathOutages,
    pub(super) units: Units,
    /// What each sender had done, where others are to be compared with it.
    pub(in crate::experiment) senders: BTreeMap<Pair, Sender>,
}

impl Snapshot {
    fn take(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        load: &Load,
        (lines, outages, power): (&Lines, &Outages, &Power),
    ) -> Self {
        let sinks = progress(world, hosts, load);
        let sent = || sources(world, hosts, load).flat_map(|(_, source)| source.sent());
        Self {
            at: world.now(),
            lines: lines.used(world, load),
            gone: MissingParts::of((hosts, outages, power), world, load),
            away: PathOutages::of((hosts, outages, power), world, load),
            last: sinks.iter().flatten().filter_map(|it| it.last).max(),
            longest_gap: sinks.iter().flatten().map(|it| it.gaps.longest).max().unwrap_or_default(),
            octets: sinks.iter().map(|sessions| sessions.iter().map(|it| it.octets).collect()).collect(),
            page_waits: sent().map(|sent| sent.page_waits).sum(),
            units: Units::of(world, hosts, load),
            waited: waited(world, hosts, load),
            senders: BTreeMap::new(),
        }
    }

    /// Whether data had ceased to arrive: the time since the last is more than a clock between two PDUs explains.
    pub(super) fn is_silent(&self) -> bool {
        let since = self.last.map_or(Duration::ZERO, |last| self.at.saturating_since(last));
        since > self.longest_gap || since >= flows::STOPPED
    }
}

fn waited(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> Vec<Duration> {
    let of = |from| program::<Source>(world, hosts, from).into_iter().flat_map(Source::sent);
    let sum = |from| of(from).fold(Duration::ZERO, |all, sent| all + sent.waited);
    load.from.iter().map(sum).collect()
}

/// The state of the world at one moment, by default its beginning: what all loads have brought, and what all parts have
/// counted.
#[derive(Default)]
pub(in crate::experiment) struct Moment {
    pub(super) at: Instant,
    pub(super) loads: BTreeMap<String, Snapshot>,
    pub(super) cpus: Cpus,
    pub(super) counters: Counters,
    pub(super) queues: BTreeMap<String, Occupancy>,
}

impl Moment {
    /// Takes it.
    pub(in crate::experiment) fn take(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
        parts: (&Lines, &Outages, &Power),
    ) -> Self {
        let of_load = |(name, load): (&String, &Load)| (name.clone(), Snapshot::take(world, hosts, load, parts));
        Self {
            at: world.now(),
            loads: loads.iter().map(of_load).collect(),
            cpus: cpus::busy(world),
            counters: crate::experiment::counters::of(world),
            queues: world.queues().map(|(line, queue, it)| (format!("{line}.{queue}"), it)).collect(),
        }
    }

    /// As [`Moment::take`], for one with which a later one is compared.
    pub(in crate::experiment) fn begin(
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        loads: &BTreeMap<String, Load>,
        parts: (&Lines, &Outages, &Power),
    ) -> Self {
        let mut moment = Self::take(world, hosts, loads, parts);
        for (name, load) in loads {
            if let Some(snapshot) = moment.loads.get_mut(name) {
                snapshot.senders = flows::senders(world, hosts, load);
            }
        }
        moment
    }
}
