//! How busy CPUs are.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_sim::World;

/// How long each CPU has been busy, by `host.cpu`.
pub(super) type Cpus = BTreeMap<String, Duration>;

/// How long each has been busy so far; that of a host which has started over, in all of its lives.
pub(super) fn busy(world: &World) -> Cpus {
    let mut cpus = Cpus::new();
    for host in world.replaced().chain(world.hosts()) {
        for (cpu, counters) in host.cpus() {
            *cpus.entry(format!("{}.{cpu}", host.name)).or_default() += counters.busy;
        }
    }
    cpus
}

/// For what part of the time from one look to another each was busy, from 0 to 1.
pub(super) fn shares((from, before): (Instant, &Cpus), (to, after): (Instant, &Cpus)) -> BTreeMap<String, f64> {
    let whole = to.saturating_since(from).as_secs_f64();
    let share = |(cpu, busy): (&String, &Duration)| {
        let earlier = before.get(cpu).copied().unwrap_or_default();
        let busy = busy.saturating_sub(earlier).as_secs_f64();
        (cpu.clone(), if whole > 0.0 { busy / whole } else { 0.0 })
    };
    after.iter().map(share).collect()
}
