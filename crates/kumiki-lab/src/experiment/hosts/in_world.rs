//! The hosts of a scenario as they come into a world: built, in the place of real ones, or real from the frames up and
//! so outside.

use std::collections::BTreeMap;

use kumiki_graph::{DeviceId, Duration};
use kumiki_sim::{Host, HostId, Plug, World};

use super::{Built, Plan, build};
use crate::capture::{Captured, Layers};
use crate::experiment::Options;
use crate::experiment::fault::{ConfigError, fault, unknown};
use crate::experiment::power::Power;
use crate::experiment::programs::Programs;
use crate::experiment::protocols::{self, NodePlace};
use crate::experiment::real::{self, RealHost};
use crate::profile::Profile;
use crate::scenario::{self, Real, Scenario};

/// The profile of each host by its name, where it is one of `profiles`: with what is drawn of it, and with the prices
/// that the scenario says.
pub(in crate::experiment) fn profiles_by_host(
    scenario: &Scenario,
    profiles: &BTreeMap<String, Profile>,
    seed: u64,
    most_waiting: Option<u32>,
) -> Result<BTreeMap<String, Profile>, ConfigError> {
    let of_host = |(name, spec): (&String, &scenario::Host)| {
        let profile = profiles.get(spec.profile_name())?;
        // What the scenario says of a price does not vary.
        let own = profile.drawn(seed, name).with_prices_of(spec).map_err(|fault| fault.under(&["host", name]));
        Some(own.map(|mut own| {
            own.adapter.queue = own.adapter.queue.or(most_waiting);
            (name.clone(), own)
        }))
    };
    scenario.host.iter().filter_map(of_host).collect()
}

/// What the hosts of an experiment are built from.
pub(in crate::experiment) struct HostsPlan<'a> {
    /// What describes them.
    pub scenario: &'a Scenario,
    /// All profiles, by their names.
    pub profiles: &'a BTreeMap<String, Profile>,
    /// The profile of each host, by its name.
    pub by_host: &'a BTreeMap<String, Profile>,
    /// The programs that loads put on top.
    pub programs: Programs,
    /// Seed of all random numbers.
    pub seed: u64,
    /// What else the run should bring.
    pub options: &'a Options,
}

impl HostsPlan<'_> {
    /// Builds the host `name` as it is in its life number `life`; `is_real`: it stands in for a real one.
    fn build(
        &mut self,
        (name, spec): (&str, &scenario::Host),
        life: u64,
        is_real: bool,
    ) -> Result<(Host, BTreeMap<String, DeviceId>, Captured), ConfigError> {
        let profile = self.by_host.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            unknown(&["host", name, "profile"], "profile", spec.profile_name(), &known)
        })?;
        let most_held = self.options.most_waiting().filter(|_| is_real);
        let (seed, trace) = (self.seed, self.options.traces);
        let mut plan = Plan { programs: &mut self.programs, seed, trace, life, most_held };
        let built = build(name, spec, profile, &mut plan);
        let Built { mut host, devices } = built.map_err(|fault| fault.under(&["host", name]))?;
        let is_device = |layer: &str| devices.contains_key(layer);
        let kind = |layer: &str| spec.kind_of(layer).to_owned();
        let seen = Captured::tap(&self.options.captures, &mut host, is_device, kind);
        Ok((host, devices, seen))
    }
}

/// The hosts of an experiment, and what happens to them.
#[derive(Default)]
pub(in crate::experiment) struct HostsInWorld {
    /// By name.
    pub ids: BTreeMap<String, HostId>,
    /// The same with their devices by name.
    pub devices: BTreeMap<String, (HostId, BTreeMap<String, DeviceId>)>,
    /// What crosses the access points on record, by host.
    pub captured: Vec<Captured>,
    /// Those that are real, in the order of the ways out of the world.
    pub real: Vec<RealHost>,
    /// The devices of hosts that are real from the frames up, by `host.device`, and by which way out each leads.
    pub outside: BTreeMap<String, usize>,
    /// When they lose their power and get it back, and are set otherwise.
    pub power: Power,
}

impl HostsInWorld {
    /// Puts all hosts of `plan` into `world`.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the top of the scenario.
    pub(in crate::experiment) fn add(plan: &mut HostsPlan<'_>, world: &mut World) -> Result<Self, ConfigError> {
        let scenario = plan.scenario;
        let powers = scenario.power()?;
        let mut added = Self::default();
        for (name, spec) in &scenario.host {
            let power = powers.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            match spec.real.as_ref().filter(|it| plan.options.live && it.is_ethernet()) {
                Some(real) => added.leave_outside((name, spec), real, power, &scenario.host)?,
                None => added.add_host((name, spec), power, plan, world)?,
            }
        }
        added.set_nodes(scenario)?;
        check_captures(&plan.options.captures, &added.captured)?;
        Ok(added)
    }

    /// The host `name` is real from the frames up: of it there is only the way out.
    fn leave_outside(
        &mut self,
        (name, spec): (&str, &scenario::Host),
        real: &Real,
        power: &[(Duration, bool)],
        all: &BTreeMap<String, scenario::Host>,
    ) -> Result<(), ConfigError> {
        let (device, host) = real::on_ethernet(name, spec, real).map_err(|fault| fault.under(&["host", name]))?;
        if !power.is_empty() {
            let problem = "nothing of it is emulated, so no event takes its power";
            return Err(fault(&["host", name, "real"], problem).expected("an event of its line"));
        }
        self.outside.insert(format!("{name}.{device}"), self.real.len());
        self.real.push(RealHost { behind: real::behind(all, spec), ..host });
        Ok(())
    }

    /// Puts the host `name` into `world`, or what stands in for it, and takes note of when it begins again.
    fn add_host(
        &mut self,
        (name, given): (&str, &scenario::Host),
        power: &[(Duration, bool)],
        plan: &mut HostsPlan<'_>,
        world: &mut World,
    ) -> Result<(), ConfigError> {
        let stand_in = given.real.as_ref().map(|it| real::stand_in(name, given, it));
        let stand_in = stand_in.transpose().map_err(|fault| fault.under(&["host", name]))?;
        let is_real = stand_in.is_some();
        if is_real && !plan.options.live {
            let problem = "a host that is real runs in real time";
            return Err(fault(&["host", name, "real"], problem).expected("`kumiki live` to run it"));
        }
        let answering = (plan.options.live && !is_real).then(|| real::answering(given));
        let spec = stand_in.as_ref().map(|(spec, _)| spec).or(answering.as_ref()).unwrap_or(given);
        let (host, devices, seen) = plan.build((name, spec), 0, is_real)?;
        let id = world.add_host(host);
        for ((at, up), life) in power.iter().zip(1..) {
            let started = if *up { Some(plan.build((name, spec), life, is_real)?.0) } else { None };
            self.power.add(*at, id, started);
        }
        self.captured.push(seen);
        self.ids.insert(name.to_owned(), id);
        if let (Some((_, host)), Some(device)) = (stand_in, devices.get(real::DEVICE)) {
            world.plug(Plug::Device(id, *device), Plug::Outside(self.real.len()));
            let behind = real::behind(&plan.scenario.host, given);
            self.real.push(RealHost { power: power.to_vec(), behind, ..host });
        }
        self.devices.insert(name.to_owned(), (id, devices));
        Ok(())
    }

    /// Takes note of when nodes are set otherwise.
    fn set_nodes(&mut self, scenario: &Scenario) -> Result<(), ConfigError> {
        for set in scenario.settings_of_nodes()? {
            if let (Some(host), Some(id)) = (scenario.host.get(set.host), self.ids.get(set.host)) {
                let config = protocols::tcp(&set.settings, NodePlace { host, below: &[], trace: false });
                let config = config.map_err(|fault| fault.under(&["event", &set.event.to_string(), "set"]))?;
                self.power.set(set.at, *id, set.node, config);
            }
        }
        Ok(())
    }
}

/// Every access point that was asked for by name must be there.
fn check_captures(layers: &Layers, captured: &[Captured]) -> Result<(), ConfigError> {
    let Layers::Named(names) = layers else {
        return Ok(());
    };
    let missing = names.iter().find(|name| !captured.iter().any(|host| host.has(name)));
    match missing {
        None => Ok(()),
        Some(name) => Err(fault(
            &["host", &name.host, "graph"],
            format!("`{name}` is to be captured, and `{}` does not stand on `{}` there", name.upper, name.lower),
        )),
    }
}
