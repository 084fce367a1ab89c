//! From the lines and switches of a scenario to media in the world.

use core::hash::Hasher as _;
use kumiki_wire::atm::cell::Vc;
use std::collections::BTreeMap;

use kumiki_graph::{DeviceId, Duration};
use kumiki_link::atm::{self, Adaptation, OutputConfig, PortVc, Sar, SarConfig, Slots, sar};
use kumiki_link::{Impaired, Impairment, Rate};
use kumiki_settings::Word as _;
use kumiki_sim::{ElementId, HostId, Plug, World};
use siphasher::sip::SipHasher13;

use super::fault::{Fault, fault, quantity, unknown};
use super::hosts::kind_of;
use super::protocols::channel;
use crate::medium::{self, Device, Line, Slotted};
use crate::scenario::{Host, Link, Scenario, Switch};

/// What the ends of a line can be.
pub(super) struct Ends<'a> {
    /// Hosts and their devices by name.
    pub(super) hosts: &'a BTreeMap<String, (HostId, BTreeMap<String, DeviceId>)>,
    /// The plugs of switches, by `switch.port`.
    pub(super) switches: &'a BTreeMap<String, Plug>,
    /// Whether the hosts' adapters sum on the fly, by host.
    pub(super) checksum_units: &'a BTreeMap<String, bool>,
    /// Seed of all random numbers.
    pub(super) seed: u64,
}

/// Puts the lines of `scenario` into `world`.
///
/// # Errors
/// A [`Fault`] whose path begins at the top of the scenario.
pub(super) fn add_links(scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<(), Fault> {
    for (name, link) in &scenario.link {
        add_link(name, link, scenario, ends, world).map_err(|fault| fault.under(&["link", name]))?;
    }
    judge_devices(scenario)
}

fn add_link(name: &str, link: &Link, scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<(), Fault> {
    let medium = link.line()?;
    let line = world.add_element(name, medium.element(seed_of(ends.seed, name, Random::Medium))?);
    let impairment = medium.impairment();
    for (port, end) in link.ends.iter().enumerate() {
        let plug = match &medium {
            Line::Cells(cells) => cell_end(end, cells.slotted.rate(), scenario, ends, world)?,
            Line::Pos(_) | Line::Synchronous(_) | Line::Frames(_) => frame_end(end, ends)?,
        };
        plug_in(
            name,
            (line, port),
            (end, plug),
            impairment.as_ref(),
            || seed_of(ends.seed, name, Random::End(port)),
            world,
        );
    }
    Ok(())
}

/// Plugs the end `end` of the medium called `name` in at `plug`, with what goes wrong on the way there between them.
pub(super) fn plug_in(
    name: &str,
    (medium, port): (ElementId, usize),
    (end, plug): (&str, Plug),
    impairment: Option<&(Option<&str>, Impairment)>,
    seed: impl FnOnce() -> u64,
    world: &mut World,
) {
    let Some((_, impairment)) = impairment.filter(|(toward, _)| toward.is_none_or(|toward| toward == end)) else {
        world.plug(Plug::Port(medium, port), plug);
        return;
    };
    // What has come through the medium is impaired just before its end, so that the other way is untouched: there the
    // medium's own queue is next.
    let element = Impaired::new(impairment.clone(), Impairment::default(), seed());
    let element = world.add_element(&format!("{name} to {end}"), Box::new(element));
    world.plug(Plug::Port(medium, port), Plug::Port(element, 0));
    world.plug(Plug::Port(element, 1), plug);
}

/// What is random of a medium.
#[derive(Clone, Copy, Debug)]
pub(super) enum Random {
    /// Its bits.
    Medium,
    /// What goes wrong on the way to one of its ends, in the order of the scenario.
    End(usize),
}

/// The seed of what is random of the medium called `name`: the same whatever else is in the scenario.
///
/// It is a keyed hash, so that runs whose seeds follow each other, and media whose names differ in a letter, have nothing to do with each other.
pub(super) fn seed_of(seed: u64, name: &str, random: Random) -> u64 {
    const DOMAIN: u64 = u64::from_be_bytes(*b"a medium");
    let (kind, port): (u64, u64) = match random {
        Random::Medium => (0, 0),
        Random::End(port) => (1, port as u64),
    };
    let mut hasher = SipHasher13::new_with_keys(seed, DOMAIN);
    hasher.write(&kind.to_le_bytes());
    hasher.write(&port.to_le_bytes());
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// The settings of the device at `end`, for cells; the usual ones where no device is there.
fn device_of(end: &str, hosts: &BTreeMap<String, Host>) -> Result<Device, Fault> {
    let found = end.split_once('.').and_then(|(host, device)| hosts.get(host)?.settings.get(device));
    found.map_or_else(|| Ok(Device::default()), medium::device)
}

/// What the device at `end` does to frames.
fn adaptation(device: Device, end: &str, hosts: &BTreeMap<String, Host>) -> Adaptation {
    let found = end.split_once('.').and_then(|(host, name)| Some((hosts.get(host)?, name)));
    device.adaptation(found.is_some_and(|(host, name)| stands_on(host, "aal34", name)))
}

/// Whether a node of kind `kind` stands on `device`.
fn stands_on(host: &Host, kind: &str, device: &str) -> bool {
    let Some(graph) = &host.graph else {
        return false;
    };
    let mut nodes = graph.nodes().into_iter();
    nodes.any(|node| kind_of(host, node) == kind && graph.below(node).contains(&device))
}

/// Settings of devices: those of devices that send cells.
fn judge_devices(scenario: &Scenario) -> Result<(), Fault> {
    for (name, host) in &scenario.host {
        let devices = host.graph.as_ref().map(|graph| graph.devices());
        for device in devices.unwrap_or_default() {
            let end = format!("{name}.{device}");
            let path = ["host", name, device];
            let set = device_of(&end, &scenario.host).map_err(|fault| fault.under(&path))?;
            if set.adaptation(false) != Adaptation::Aal5 {
                judge_discard(scenario)?;
            }
            let Some((key, _)) = host.settings.get(device).into_iter().flatten().next() else {
                continue;
            };
            let link = scenario.link.values().find(|link| link.ends.contains(&end));
            if link.is_none_or(|link| Slotted::named(&link.medium).is_none()) {
                let path = ["host", name, device, key];
                return Err(fault(&path, "there are no cells on the line of this device"));
            }
        }
    }
    Ok(())
}

/// EPD and PPD find the ends of PDUs by AAL5's mark. On a channel of AAL3/4, which has none, the first cell lost would
/// stop it for good.
fn judge_discard(scenario: &Scenario) -> Result<(), Fault> {
    for (name, switch) in &scenario.switch {
        if switch.discard.as_ref().is_some_and(|it| it != "tail") {
            let problem = "a switch sees where PDUs of AAL5 end, and here is a device with AAL3/4";
            return Err(fault(&["switch", name, "discard"], problem).expected("\"tail\""));
        }
    }
    Ok(())
}

/// The device of a host that `end` names.
pub(super) fn device(end: &str, ends: &Ends<'_>) -> Result<Plug, Fault> {
    let names =
        || ends.hosts.iter().flat_map(|(host, (_, devices))| devices.keys().map(move |d| format!("{host}.{d}")));
    let found = end.split_once('.').and_then(|(host, device)| {
        let (id, devices) = ends.hosts.get(host)?;
        Some(Plug::Device(*id, *devices.get(device)?))
    });
    found.ok_or_else(|| {
        let known: Vec<String> = names().chain(ends.switches.keys().cloned()).collect();
        unknown(&["ends"], "end", end, &known.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

fn frame_end(end: &str, ends: &Ends<'_>) -> Result<Plug, Fault> {
    if ends.switches.contains_key(end) {
        return Err(fault(&["ends"], format!("`{end}` is a port of an ATM switch, and this line carries no cells")));
    }
    device(end, ends)
}

/// A switch's port, or a host's device with the segmentation hardware that it needs.
fn cell_end(end: &str, rate: Rate, scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<Plug, Fault> {
    if let Some(plug) = ends.switches.get(end) {
        return Ok(*plug);
    }
    let device = device(end, ends)?;
    let host = end.split_once('.').map_or(end, |(host, _)| host);
    // Where they cannot be read the settings of devices are refused later, at their own place.
    let set = device_of(end, &scenario.host).unwrap_or_default();
    let config = SarConfig {
        checksum_unit: ends.checksum_units.get(host).copied().unwrap_or(false),
        adaptation: adaptation(set, end, &scenario.host),
        interleave: set.interleave,
        ..SarConfig::new(Slots::new(rate))
    };
    let element = world.add_element(&format!("{end} SAR"), Box::new(Sar::new(config)));
    world.plug(device, Plug::Port(element, sar::HOST));
    Ok(Plug::Port(element, sar::LINE))
}

/// Puts the switches of `scenario` into `world`; their plugs by `switch.port`.
///
/// # Errors
/// A [`Fault`] whose path begins at the top of the scenario.
pub(super) fn add_switches(scenario: &Scenario, world: &mut World) -> Result<BTreeMap<String, Plug>, Fault> {
    let mut plugs = BTreeMap::new();
    for (name, spec) in &scenario.switch {
        let switch = build_switch(name, spec, scenario).map_err(|fault| fault.under(&["switch", name]))?;
        let element = world.add_element(name, Box::new(switch));
        for port in 0..spec.ports {
            plugs.insert(format!("{name}.{port}"), Plug::Port(element, port));
        }
    }
    Ok(plugs)
}

/// The most ports of a switch: more than any had, and few enough to have memory for each.
const MOST_PORTS: usize = 65536;

/// The medium of the line that ends on `port` of the switch `name`; `None` where none does.
fn medium_of<'a>(name: &str, port: usize, scenario: &'a Scenario) -> Option<&'a str> {
    let end = format!("{name}.{port}");
    let mut links = scenario.link.values();
    links.find(|link| link.ends.contains(&end)).map(|link| link.medium.as_str())
}

fn build_switch(name: &str, spec: &Switch, scenario: &Scenario) -> Result<atm::Switch, Fault> {
    if spec.ports > MOST_PORTS {
        let problem = format!("no switch has {} ports", spec.ports);
        return Err(fault(&["ports"], problem).expected(format!("at most {MOST_PORTS}")));
    }
    let own = spec.medium.as_deref();
    let slotted = own.map_or_else(
        || Ok(Slotted::default()),
        |medium| {
            let known: Vec<&str> = Slotted::WORDS.iter().map(|(name, _)| *name).collect();
            Slotted::named(medium).ok_or_else(|| unknown(&["medium"], "medium with cells", medium, &known))
        },
    )?;
    let latency = match spec.latency.as_str() {
        "" => Duration::ZERO,
        text => quantity(&["latency"], text)?,
    };
    let queue = u64::from(spec.queue_cells);
    let mut output = OutputConfig::new(Slots::new(slotted.rate()), queue);
    match spec.discard.as_deref().unwrap_or("tail") {
        "tail" => {}
        "ppd" => output.ppd = true,
        // Romanow and Floyd: the threshold must leave room for the PDUs that are let in; half the queue is assumed.
        "epd" => (output.ppd, output.epd) = (true, Some(spec.epd_cells.map_or(queue / 2, u64::from))),
        other => {
            return Err(unknown(&["discard"], "way to discard", other, &["tail", "ppd", "epd"]));
        }
    }
    output.efci = spec.efci_cells.map(u64::from);
    for (key, cells) in [("epd_cells", spec.epd_cells), ("efci_cells", spec.efci_cells)] {
        if cells.is_some_and(|cells| u64::from(cells) >= queue) {
            let problem = "the queue never holds so many cells before one comes";
            return Err(fault(&[key], problem).expected(format!("less than queue_cells, {queue}")));
        }
    }
    if spec.epd_cells.is_some() && output.epd.is_none() {
        return Err(fault(&["epd_cells"], "only early packet discard has a threshold").expected("discard = \"epd\""));
    }
    let mut outputs = vec![output; spec.ports];
    for (port, output) in outputs.iter_mut().enumerate() {
        // A port sends as its line does. A line that carries no cells is refused where it is plugged in.
        let medium = medium_of(name, port, scenario);
        if let Some((medium, line)) = medium.and_then(|medium| Some((medium, Slotted::named(medium)?))) {
            if own.is_some_and(|own| own != medium) {
                let problem = format!("the line at port {port} is {medium}");
                return Err(fault(&["medium"], problem)
                    .expected("none, or that of all its lines: each port sends as its line does"));
            }
            output.slots = Slots::new(line.rate());
        }
    }
    let mut switch = atm::Switch::new(latency, &outputs);
    for text in &spec.channels {
        connect(&mut switch, text, spec.ports)?;
    }
    Ok(switch)
}

/// `port vpi/vci -> port vpi/vci`, or with `<->` both ways.
fn connect(switch: &mut atm::Switch, text: &str, ports: usize) -> Result<(), Fault> {
    let fault = |why: &str| {
        let form = "write \"port vpi/vci <-> port vpi/vci\", as in \"0 0/100 <-> 1 0/100\"";
        fault(&["channels"], format!("\"{text}\": {why}; {form}"))
    };
    let (both, ends) = match text.split_once("<->") {
        Some(ends) => (true, Some(ends)),
        None => (false, text.split_once("->")),
    };
    let (from, to) = ends.ok_or_else(|| fault("no `->` and no `<->`"))?;
    let end = |text: &str| {
        let (port, vc) = text.trim().split_once(' ')?;
        let port: usize = port.parse().ok().filter(|port| *port < ports)?;
        let Vc { vpi, vci } = channel(&[], vc.trim()).ok()?.get()?;
        Some(PortVc { port, vpi, vci })
    };
    let (Some(from), Some(to)) = (end(from), end(to)) else {
        return Err(fault(&format!("an end is no channel of ports 0 to {}", ports.saturating_sub(1))));
    };
    let added = if both { switch.connect_both(from, to) } else { switch.connect(from, to) };
    if added { Ok(()) } else { Err(fault("it is there twice")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_media_ends_or_runs_share_a_seed() {
        let names: Vec<String> =
            ('a'..='p').flat_map(|it| ["", "0", "1", "b"].map(|end| format!("{it}{end}"))).collect();
        let kinds = [Random::Medium, Random::End(0), Random::End(1), Random::End(2)];
        let mut seen = BTreeSet::new();
        for seed in 0..64 {
            for name in &names {
                for kind in kinds {
                    assert!(seen.insert(seed_of(seed, name, kind)), "{seed} {name} {kind:?}");
                }
            }
        }
        assert_eq!(seen.len(), 64 * 64 * 4);
    }
}
