//! From the lines and switches of a scenario to media in the world.

use core::hash::Hasher as _;
use std::collections::BTreeMap;
use std::sync::Arc;

use kumiki_graph::DeviceId;
use kumiki_link::atm::{Adaptation, Sar, SarConfig, Slots, sar};
use kumiki_link::{CellRate, Element, Impaired, Impairment, Rate, Stepped};
use kumiki_sim::{ElementId, HostId, Plug, World};
use siphasher::sip::SipHasher13;

use super::changing::LiveLine;
use super::fault::{ConfigError, fault, unknown};
use super::occupied::AllOccupied;
use crate::profile::Profile;
use crate::scenario::{Host, Link, Scenario};
use crate::topology::legs_of_cells;
use kumiki_media::{
    self as medium, AtmSwitch, Device, Discard, EthernetSwitch, Frames, ImpairmentSchedule, Line, Service, Step, Waits,
};

/// What the ends of a line can be.
pub(super) struct LineEnds<'a> {
    /// Hosts and their devices by name.
    pub(super) hosts: &'a BTreeMap<String, (HostId, BTreeMap<String, DeviceId>)>,
    /// The devices of hosts that are real from the frames up, by `host.device`, and by which way out each leads.
    pub(super) outside: &'a BTreeMap<String, usize>,
    /// The switches and their plugs.
    pub(super) switches: &'a Switches,
    /// The profile of each host, by its name.
    pub(super) profiles: &'a BTreeMap<String, Profile>,
    /// Seed of all random numbers.
    pub(super) seed: u64,
    /// How much may wait where nothing is said; without, as much as comes.
    pub(super) most_waiting: Option<u32>,
    /// Whether lines are changed by whoever runs the world.
    pub(super) live: bool,
    /// Who takes note of when packets of exchanges wait, where there are such.
    pub(super) waits: Option<&'a Arc<Waits>>,
    /// Who takes note of when lines are busy.
    pub(super) occupied: &'a mut AllOccupied,
}

/// Puts the lines of `scenario` into `world`. Returns those that can be changed from outside, by name.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the top of the scenario.
pub(super) fn add_links(
    scenario: &Scenario,
    ends: &mut LineEnds<'_>,
    world: &mut World,
) -> Result<BTreeMap<String, LiveLine>, ConfigError> {
    let mut live = BTreeMap::new();
    ends.switches.judge_loops(scenario)?;
    for (name, link) in &scenario.link {
        let line = link.line().map_err(|fault| fault.under(&["link", name]))?;
        let line = if let Some(most) = ends.most_waiting { line.bounded(most) } else { line };
        let steps = scenario.changes(name, &line)?;
        let added = add_link(name, (link, &line, &steps), scenario, ends, world);
        let added = added.map_err(|fault| fault.under(&["link", name]))?;
        live.extend(added.map(|line| (name.clone(), line)));
    }
    judge_devices(scenario)?;
    judge_services(scenario)?;
    Ok(live)
}

fn add_link(
    name: &str,
    (link, medium, steps): (&Link, &Line, &[Step]),
    scenario: &Scenario,
    ends: &mut LineEnds<'_>,
    world: &mut World,
) -> Result<Option<LiveLine>, ConfigError> {
    let seed = seed_of(ends.seed, name, Random::Medium);
    let (queues, mut element, serial) = match medium {
        Line::Frames(frames) => {
            let queues = queues(frames, link, ends.switches, scenario)?;
            if ends.live {
                let (element, serial) = frames.shared(queues, seed, steps)?;
                (queues, element, Some(serial))
            } else {
                let switched = link.ends.each_ref().map(|end| ends.switches.ethernet_at(end).is_some());
                (queues, frames.element((queues, switched), seed, steps, ends.waits)?, None)
            }
        }
        Line::Cells(_) | Line::Pos(_) | Line::Synchronous(_) => {
            ([medium::Queue::default(); 2], medium.element(seed, steps)?, None)
        }
    };
    ends.occupied.watch(name, &mut *element);
    let line = world.add_element(name, element);
    let mut live = LiveLine::new((&link.medium, medium), link.ends.clone(), (queues, seed), serial);
    for (port, end) in link.ends.iter().enumerate() {
        let plug = match medium {
            Line::Cells(cells) => cell_end(end, cells.rate(), scenario, ends, world)?,
            Line::Pos(_) | Line::Synchronous(_) | Line::Frames(_) => frame_end(end, (&link.medium, medium), ends)?,
        };
        let wrong = medium.toward(end, steps);
        let seed = || seed_of(ends.seed, name, Random::End(port));
        if ends.live {
            live.plug_in(name, (line, port), (end, plug), (wrong, seed()), world);
        } else {
            plug_in(name, (line, port), (end, plug), wrong, seed, world);
        }
    }
    Ok(ends.live.then_some(live))
}

/// What waits at the two ends of a line: an Ethernet switch says what waits for it there.
fn queues(
    frames: &Frames,
    link: &Link,
    switches: &Switches,
    scenario: &Scenario,
) -> Result<[medium::Queue; 2], ConfigError> {
    let switches = link.ends.each_ref().map(|end| switches.ethernet_at(end));
    if let [None, None] = switches {
        return Ok([frames.queue; 2]);
    }
    if let [Some(_), Some(_)] = switches {
        let own =
            ["queue_frames", "mark_frames", "queue", "aqm"].into_iter().find(|key| link.settings.contains_key(*key));
        if let Some(key) = own {
            let problem = "at both ends is a switch, and each says how much waits for its ports";
            return Err(fault(&[key], problem).expected("nothing, or another value at one of the switches"));
        }
    }
    for (number, end) in link.ends.iter().enumerate() {
        has_addresses((number, end), ("the line leads to an Ethernet switch", &["eth"]), scenario)?;
    }
    Ok(switches.map(|switch| switch.map_or(frames.queue, EthernetSwitch::queue)))
}

/// Where frames have addresses (`medium`) the lowest of `layers` stands on the device of a host that is end `number`,
/// for nothing else reads them or writes any.
pub(super) fn has_addresses(
    (number, end): (usize, &str),
    (medium, layers): (&str, &[&str]),
    scenario: &Scenario,
) -> Result<(), ConfigError> {
    let host = end.split_once('.').and_then(|(host, device)| Some((scenario.host.get(host)?, device)));
    let (Some((host, device)), Some(lowest)) = (host, layers.last()) else {
        return Ok(());
    };
    if stands_on(host, lowest, device) {
        return Ok(());
    }
    let problem = format!("{medium}, and on {device} stands no layer `{lowest}`");
    let all = ["ip", "arp"].iter().chain(layers).chain([&device]).map(|layer| format!("{layer:?}"));
    let right = format!("such as [{}]", all.collect::<Vec<_>>().join(", "));
    Err(fault(&["ends", &number.to_string()], problem).expected(right))
}

/// Plugs the end `end` of the medium called `name` in at `plug`, with what goes wrong on the way there between them.
pub(super) fn plug_in(
    name: &str,
    (medium, port): (ElementId, usize),
    (end, plug): (&str, Plug),
    wrong: Option<ImpairmentSchedule>,
    seed: impl FnOnce() -> u64,
    world: &mut World,
) {
    let Some((impairment, changes)) = wrong else {
        world.plug(Plug::Port(medium, port), plug);
        return;
    };
    // What has come through the medium is impaired just before its end, so that the other way is untouched: there the
    // medium's own queue is next.
    let element = Impaired::new(impairment, Impairment::default(), seed());
    let element: Box<dyn Element> =
        if changes.is_empty() { Box::new(element) } else { Box::new(Stepped::new(element, changes)) };
    let element = world.add_element(&format!("{name} to {end}"), element);
    world.plug(Plug::Port(medium, port), Plug::Port(element, 0));
    world.plug(Plug::Port(element, 1), plug);
}

/// What is random of a medium.
#[derive(Clone, Copy, Debug)]
pub(super) enum Random {
    /// Its bits, and its queues.
    Medium,
    /// What goes wrong on the way to one of its ends, in the order of the scenario.
    End(usize),
    /// What the nodes of a host of that name draw.
    Host,
    /// How fast its clock is.
    Clock,
}

/// The seed of what is random of the medium or host called `name`: the same whatever else is in the scenario.
///
/// It is a keyed hash, so that runs whose seeds follow each other, and media whose names differ in a letter, have
/// nothing to do with each other.
pub(super) fn seed_of(seed: u64, name: &str, random: Random) -> u64 {
    const DOMAIN: u64 = u64::from_be_bytes(*b"a medium");
    let (kind, port): (u64, u64) = match random {
        Random::Medium => (0, 0),
        Random::End(port) => (1, port as u64),
        Random::Host => (2, 0),
        Random::Clock => (3, 0),
    };
    let mut hasher = SipHasher13::new_with_keys(seed, DOMAIN);
    hasher.write(&kind.to_le_bytes());
    hasher.write(&port.to_le_bytes());
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// The settings of the device at `end`, for cells; the usual ones where no device is there.
fn device_of(end: &str, hosts: &BTreeMap<String, Host>) -> Result<Device, ConfigError> {
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
    nodes.any(|node| host.kind_of(node) == kind && graph.below(node).contains(&device))
}

/// Settings of devices: those of devices that send cells.
fn judge_devices(scenario: &Scenario) -> Result<(), ConfigError> {
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
            let Some(Line::Cells(cells)) = link.and_then(|link| link.line().ok()) else {
                let path = ["host", name, device, key];
                return Err(fault(&path, "there are no cells on the line of this device"));
            };
            let line = Slots::new(cells.rate());
            if let Some((key, cps)) = set.above(&line) {
                let most = line.rate().parts() / CellRate::PARTS;
                return Err(fault(&["host", name, device, "abr", key], "more cells than there are slots on the line")
                    .found(cps.to_string())
                    .expected(format!("no more than the line's {most}")));
            }
        }
    }
    Ok(())
}

/// Both ends of a channel are of one service: RM cells are strangers to the other, and a source that hears nothing of
/// them stays at ICR.
fn judge_services(scenario: &Scenario) -> Result<(), ConfigError> {
    let mut settings = scenario.host.values().flat_map(|host| host.settings.values());
    if !settings.any(|own| own.contains_key("service")) {
        return Ok(());
    }
    for leg in legs_of_cells(scenario) {
        let (Some(first), Some(last)) = (leg.first(), leg.last()) else {
            continue;
        };
        let [one, other] = [first.out, last.into].map(|end| device_of(end, &scenario.host).unwrap_or_default().service);
        let (abr, ubr) = match (one, other) {
            (Service::Abr, Service::Ubr) => (first.out, last.into),
            (Service::Ubr, Service::Abr) => (last.into, first.out),
            (Service::Ubr, Service::Ubr) | (Service::Abr, Service::Abr) => continue,
        };
        let (host, device) = abr.split_once('.').unwrap_or((abr, ""));
        let problem = format!("at the other end of a channel host.{ubr}.service is \"ubr\"");
        return Err(fault(&["host", host, device, "service"], problem)
            .found("\"abr\"")
            .expected("the same at both ends"));
    }
    Ok(())
}

/// EPD and PPD find the ends of PDUs by AAL5's mark. On a channel of AAL3/4, which has none, the first cell lost would
/// stop it for good.
fn judge_discard(scenario: &Scenario) -> Result<(), ConfigError> {
    for (name, switch) in &scenario.switch {
        if matches!(switch.switch(), Ok(medium::Switch::Atm(atm)) if atm.discard != Discard::Tail) {
            let problem = "a switch sees where PDUs of AAL5 end, and here is a device with AAL3/4";
            return Err(fault(&["switch", name, "discard"], problem).expected("\"tail\""));
        }
    }
    Ok(())
}

/// The device of a host that `end` names.
pub(super) fn device(end: &str, ends: &LineEnds<'_>) -> Result<Plug, ConfigError> {
    if let Some(way) = ends.outside.get(end) {
        return Ok(Plug::Outside(*way));
    }
    let names =
        || ends.hosts.iter().flat_map(|(host, (_, devices))| devices.keys().map(move |d| format!("{host}.{d}")));
    let found = end.split_once('.').and_then(|(host, device)| {
        let (id, devices) = ends.hosts.get(host)?;
        Some(Plug::Device(*id, *devices.get(device)?))
    });
    found.ok_or_else(|| {
        let known: Vec<String> = names().chain(ends.switches.plugs.keys().cloned()).collect();
        unknown(&["ends"], "end", end, &known.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

fn frame_end(end: &str, (medium, line): (&str, &Line), ends: &LineEnds<'_>) -> Result<Plug, ConfigError> {
    let Some((switch, plug)) = ends.switches.find(end) else {
        return device(end, ends);
    };
    match switch {
        medium::Switch::Atm(_) => {
            Err(fault(&["ends"], format!("`{end}` is a port of an ATM switch, and this line carries no cells")))
        }
        medium::Switch::Ethernet(_) if !matches!(line, Line::Frames(_)) => {
            let problem =
                format!("`{end}` is a port of an Ethernet switch, and {medium} carries no frames of Ethernet");
            Err(fault(&["medium"], problem).expected("a medium such as \"point-to-point\""))
        }
        medium::Switch::Ethernet(_) => Ok(plug),
    }
}

/// What the segmentation hardware of the device `end` is called.
pub(super) fn sar_name(end: &str) -> String {
    format!("{end} SAR")
}

/// A switch's port, or a host's device with the segmentation hardware that it needs.
fn cell_end(
    end: &str,
    rate: Rate,
    scenario: &Scenario,
    ends: &LineEnds<'_>,
    world: &mut World,
) -> Result<Plug, ConfigError> {
    match ends.switches.find(end) {
        Some((medium::Switch::Atm(_), plug)) => return Ok(plug),
        Some((medium::Switch::Ethernet(_), _)) => {
            let problem = format!("`{end}` is a port of an Ethernet switch, and this line carries cells");
            return Err(fault(&["medium"], problem).expected("a medium such as \"point-to-point\""));
        }
        None => {}
    }
    let device = device(end, ends)?;
    if let Plug::Outside(_) = device {
        let problem = format!("behind `{end}` are frames of Ethernet, and this line carries cells");
        return Err(fault(&["medium"], problem).expected("a medium such as \"point-to-point\""));
    }
    let host = end.split_once('.').map_or(end, |(host, _)| host);
    // Where they cannot be read the settings of devices are refused later, at their own place.
    let set = device_of(end, &scenario.host).unwrap_or_default();
    let slots = Slots::new(rate);
    let usual = SarConfig::new(slots);
    let config = SarConfig {
        queue: ends.most_waiting.map_or(usual.queue, |most| usize::try_from(most).unwrap_or(usize::MAX)),
        checksum_unit: ends.profiles.get(host).is_some_and(|profile| profile.adapter.checksum_unit),
        adaptation: adaptation(set, end, &scenario.host),
        interleave: set.interleave,
        abr: set.available(&slots),
        ..usual
    };
    let element = world.add_element(&sar_name(end), Box::new(Sar::new(config)));
    world.plug(device, Plug::Port(element, sar::HOST));
    Ok(Plug::Port(element, sar::LINE))
}

/// The switches of a scenario.
pub(super) struct Switches {
    /// What each is, by name.
    kinds: BTreeMap<String, medium::Switch>,
    /// By `switch.port`.
    plugs: BTreeMap<String, Plug>,
}

impl Switches {
    /// The switch of which `end` is a port, and its plug.
    fn find(&self, end: &str) -> Option<(&medium::Switch, Plug)> {
        let (switch, _) = end.split_once('.')?;
        Some((self.kinds.get(switch)?, *self.plugs.get(end)?))
    }

    /// The Ethernet switch of which `end` is a port.
    fn ethernet_at(&self, end: &str) -> Option<&EthernetSwitch> {
        match self.find(end)? {
            (medium::Switch::Ethernet(switch), _) => Some(switch),
            (medium::Switch::Atm(_), _) => None,
        }
    }

    /// There is one way at most between two Ethernet switches: no spanning tree would break a loop.
    fn judge_loops(&self, scenario: &Scenario) -> Result<(), ConfigError> {
        // For each switch one that it is joined to, by whatever lines; the last is joined to none but itself.
        let mut joined: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, link) in &scenario.link {
            let [Some(one), Some(other)] = link.ends.each_ref().map(|end| {
                let (switch, _) = end.split_once('.').filter(|_| self.ethernet_at(end).is_some())?;
                Some(switch)
            }) else {
                continue;
            };
            let last = |from: &'_ str| {
                let mut at = self.kinds.get_key_value(from).map_or("", |(name, _)| name.as_str());
                while let Some(next) = joined.get(at) {
                    at = next;
                }
                at
            };
            let [near, far] = [last(one), last(other)];
            if near == far {
                let problem = format!(
                    "with this line there are two ways between the Ethernet switches {one} and {other}, \
                     and no spanning tree: frames would go round for ever"
                );
                return Err(fault(&["link", name, "ends"], problem)
                    .of_topology()
                    .expected("one way between two switches"));
            }
            joined.insert(near, far);
        }
        Ok(())
    }
}

/// Puts the switches of `scenario` into `world`.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the top of the scenario.
pub(super) fn add_switches(scenario: &Scenario, world: &mut World) -> Result<Switches, ConfigError> {
    let mut switches = Switches { kinds: BTreeMap::new(), plugs: BTreeMap::new() };
    for (name, spec) in &scenario.switch {
        let under = |fault: ConfigError| fault.under(&["switch", name]);
        let kind = spec.switch().map_err(under)?;
        let element: Box<dyn Element> = match &kind {
            medium::Switch::Atm(atm) => {
                let lines = slots_of(name, spec.ports, atm, scenario).map_err(under)?;
                Box::new(atm.element(&lines).map_err(under)?)
            }
            medium::Switch::Ethernet(ethernet) => Box::new(ethernet.element(spec.ports)),
        };
        let element = world.add_element(name, element);
        for port in 0..spec.ports {
            switches.plugs.insert(format!("{name}.{port}"), Plug::Port(element, port));
        }
        switches.kinds.insert(name.clone(), kind);
    }
    Ok(switches)
}

/// The slots in which the ports of the switch `name` send: a port sends as its line does. A line that carries no cells
/// is refused where it is plugged in.
fn slots_of(
    name: &str,
    ports: usize,
    switch: &AtmSwitch,
    scenario: &Scenario,
) -> Result<Vec<Option<Slots>>, ConfigError> {
    let mut slots = vec![None; ports];
    for (port, slots) in slots.iter_mut().enumerate() {
        let end = format!("{name}.{port}");
        let link = scenario.link.values().find(|link| link.ends.contains(&end));
        // What is wrong with the line is said where it is plugged in.
        let Some((link, Ok(Line::Cells(cells)))) = link.map(|link| (link, link.line())) else {
            continue;
        };
        if switch.medium.is_some_and(|own| own != cells.slotted) {
            let problem = format!("the line at port {port} is {}", link.medium);
            return Err(fault(&["medium"], problem)
                .expected("none, or that of all its lines: each port sends as its line does"));
        }
        *slots = Some(Slots::new(cells.rate()));
    }
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_media_ends_or_runs_share_a_seed() {
        let names: Vec<String> =
            ('a'..='p').flat_map(|it| ["", "0", "1", "b"].map(|end| format!("{it}{end}"))).collect();
        let kinds = [Random::Medium, Random::End(0), Random::End(1), Random::End(2), Random::Clock];
        let mut seen = BTreeSet::new();
        for seed in 0..64 {
            for name in &names {
                for kind in kinds {
                    assert!(seen.insert(seed_of(seed, name, kind)), "{seed} {name} {kind:?}");
                }
            }
        }
        assert_eq!(seen.len(), 64 * 64 * 5);
    }
}
