//! One run of one scenario: builds the world, lets it run, and measures.

mod fault;
mod hosts;
mod measure;
mod media;
mod programs;
mod protocols;

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant, Tapped};
use kumiki_sim::{HostId, World};

use crate::profile::Profile;
use crate::scenario::{Host, Scenario};
use fault::Fault;
pub use measure::{Bound, Measured, SessionResult, Units};
use programs::Load;

/// What else a run should bring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Put on record what crosses the access points above devices.
    pub captures: bool,
    /// Keep traces of connections.
    pub traces: bool,
}

/// An experiment that has been built and not yet run.
pub struct Experiment {
    world: World,
    hosts: BTreeMap<String, HostId>,
    load: Load,
}

/// What a run brought.
pub struct Run {
    /// The figures.
    pub measured: Measured,
    /// What the taps saw, by host.
    pub tapped: Vec<(String, Vec<Tapped>)>,
}

impl Experiment {
    /// Builds what `scenario` describes. All of its input is checked here; a built experiment runs.
    ///
    /// # Errors
    /// A [`Fault`] whose path begins at the top of the scenario.
    pub fn build(
        scenario: &Scenario,
        profiles: &BTreeMap<String, Profile>,
        seed: u64,
        options: Options,
    ) -> Result<Self, Fault> {
        let specs = &scenario.host;
        let profile = |spec: &Host| profiles.get(spec.profile.as_deref().unwrap_or("zero"));
        let by_host = specs
            .iter()
            .filter_map(|(name, spec)| Some((name.clone(), profile(spec)?.clone())));
        let by_host: BTreeMap<String, Profile> = by_host.collect();
        let (load, mut programs) = programs::of_workload(&scenario.workload, specs, &by_host)?;
        let mut world = World::new();
        let (mut hosts, mut ends) = (BTreeMap::new(), BTreeMap::new());
        for (number, (name, spec)) in (0_u64..).zip(specs) {
            let wanted = spec.profile.as_deref().unwrap_or("zero");
            let profile = by_host.get(name).ok_or_else(|| {
                let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
                fault::unknown(&["host", name, "profile"], "profile", wanted, &known)
            })?;
            let mut plan = hosts::Plan {
                programs: &mut programs,
                seed,
                trace: options.traces,
            };
            let built = hosts::build(name, number, spec, profile, &mut plan)
                .map_err(|fault| fault.under(&["host", name]))?;
            let mut host = built.host;
            if options.captures {
                tap_devices(&mut host, built.devices.keys());
            }
            let id = world.add_host(host);
            hosts.insert(name.clone(), id);
            ends.insert(name.clone(), (id, built.devices));
        }
        let checksum_units = by_host
            .iter()
            .map(|(name, profile)| (name.clone(), profile.adapter.checksum_unit));
        let ends = media::Ends {
            hosts: &ends,
            switches: &media::add_switches(scenario, &mut world)?,
            checksum_units: &checksum_units.collect(),
            seed,
        };
        media::add_links(scenario, &ends, &mut world)?;
        world.start().map_err(|(host, misfit)| {
            fault::fault(&["host", &host, "graph"], misfit.to_string())
        })?;
        Ok(Self { world, hosts, load })
    }

    /// Runs it and measures.
    #[must_use]
    pub fn run(mut self) -> Run {
        let began = Instant::ZERO + self.load.warm_up;
        self.world.run_until(began);
        let before = self.snapshot();
        let end = began + self.load.duration;
        if self.load.until_done {
            let every = Duration::from_millis(10);
            let (hosts, load) = (&self.hosts, &self.load);
            self.world
                .run_until_done(end, every, |world| measure::is_done(world, hosts, load));
        } else {
            self.world.run_until(end);
        }
        let after = self.snapshot();
        let measured = measure::measure(&self.world, &self.hosts, &before, &after, &self.load);
        let names: BTreeMap<HostId, &String> =
            self.hosts.iter().map(|(name, id)| (*id, name)).collect();
        let tapped = self.world.take_tapped().into_iter();
        let tapped = tapped
            .filter_map(|(id, seen)| Some(((*names.get(&id)?).clone(), seen)))
            .collect();
        Run { measured, tapped }
    }

    fn snapshot(&self) -> measure::Snapshot {
        measure::Snapshot::take(&self.world, &self.hosts, &self.load)
    }
}

/// Puts on record all that crosses the access points above the devices.
fn tap_devices<'a>(host: &mut kumiki_sim::Host, devices: impl Iterator<Item = &'a String>) {
    let devices: Vec<&String> = devices.collect();
    let above: Vec<_> = host
        .graph
        .access_points()
        .filter(|(_, _, lower)| devices.iter().any(|device| device == lower))
        .map(|(access_point, ..)| access_point)
        .collect();
    for access_point in above {
        host.graph.tap(access_point);
    }
}
