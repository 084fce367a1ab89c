//! Permanent virtual channels between the hosts that loads join.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Scenario;
use super::addresses::{Interface, own_table};
use kumiki_link::atm::PortVc;
use kumiki_wire::atm::cell::Vc;

use crate::topology::{Hop, legs_of_cells, place};
use kumiki_media::Channel;

/// The first VCI that is given out: those below 32 have other uses (ITU-T I.361), and a round number reads well.
const FIRST: u32 = 100;

/// The last VCI of a VPI that is given out.
const LAST: u32 = 65_535;

/// A pair of interfaces that speak without a router between them.
struct DirectPair {
    ends: [usize; 2],
    /// The switches between them, each with the ports where it is entered and left.
    switches: Vec<(String, usize, usize)>,
}

impl DirectPair {
    /// The switches from the other end on.
    fn reversed(&self) -> Vec<(String, usize, usize)> {
        self.switches.iter().rev().map(|(switch, from, to)| (switch.clone(), *to, *from)).collect()
    }
}

/// Makes the channels that loads need and nobody gave.
pub(super) fn settle(scenario: &mut Scenario, interfaces: &[Interface]) {
    let legs = legs(scenario, interfaces);
    let given: BTreeSet<String> =
        scenario.switch.iter().filter(|(_, it)| it.channels().next().is_some()).map(|(name, _)| name.clone()).collect();
    let (known, taken) = (channels(scenario), named(scenario));
    let both = |leg: &DirectPair| Some([through(&leg.switches, &known)?, through(&leg.reversed(), &known)?]);
    let found: Vec<Option<[Vc; 2]>> = legs.iter().map(both).collect();
    let mut free = (0..).filter_map(own).filter(|circuit| !taken.contains(&format!("{}/{}", circuit.vpi, circuit.vci)));
    for (leg, found) in legs.iter().zip(found) {
        // Where some are given, all must be: what lacks is seen when it is used.
        let is_given = leg.switches.iter().any(|(switch, ..)| given.contains(switch));
        let circuits = if is_given {
            found
        } else {
            let own = free.next();
            own.inspect(|own| connect(scenario, leg, *own)).map(|own| [own, own])
        };
        let Some(circuits) = circuits else {
            continue;
        };
        let [a, b] = leg.ends;
        for ((this, other), circuit) in [(a, b), (b, a)].into_iter().zip(circuits) {
            let (Some(this), Some(other)) = (interfaces.get(this), interfaces.get(other)) else {
                continue;
            };
            tell(scenario, this, other, format!("{}/{}", circuit.vpi, circuit.vci));
        }
    }
}

/// The `number`th circuit that is given out.
fn own(number: u32) -> Option<Vc> {
    let each = LAST - FIRST + 1;
    let (vpi, vci) = (number / each, FIRST + number % each);
    // At a host a VPI has 8 bits.
    Some(Vc { vpi: u8::try_from(vpi).ok()?.into(), vci: u16::try_from(vci).ok()? })
}

/// Makes a channel through all switches of `leg`.
fn connect(scenario: &mut Scenario, leg: &DirectPair, Vc { vpi, vci }: Vc) {
    for (switch, from, to) in &leg.switches {
        let [from, to] = [*from, *to].map(|port| PortVc { port, vpi, vci });
        if let Some(switch) = scenario.switch.get_mut(switch) {
            switch.add_channel(Channel { from, to, both: true });
        }
    }
}

/// Tells `this` that `other` is at the other end of `circuit`, unless it knows its neighbours otherwise.
fn tell(scenario: &mut Scenario, this: &Interface, other: &Interface, circuit: String) {
    let (Some(host), Some(address)) = (scenario.host.get_mut(&this.host), other.address) else {
        return;
    };
    let circuit = toml::Value::String(circuit);
    if this.neighbour_kind(host) == "atm_arp" {
        let arp = host.settings.entry(this.below.clone()).or_default();
        if !arp.contains_key("circuits")
            && let Some(known) = own_table(arp, "known")
        {
            known.entry(address.to_string()).or_insert(circuit);
        }
    } else if let Some(known) = this.settings(host).and_then(|own| own_table(own, "neighbours")) {
        known.entry(address.to_string()).or_insert(circuit);
    }
}

/// The legs between interfaces, each once.
fn legs(scenario: &Scenario, interfaces: &[Interface]) -> Vec<DirectPair> {
    let by_plug: BTreeMap<&str, usize> =
        interfaces.iter().enumerate().map(|(number, it)| (it.plug.as_str(), number)).collect();
    let (mut seen, mut legs) = (BTreeSet::new(), Vec::new());
    for leg in legs_of_cells(scenario) {
        let (Some(first), Some(last)) = (leg.first(), leg.last()) else {
            continue;
        };
        let [Some(a), Some(b)] = [first.out, last.into].map(|plug| by_plug.get(plug).copied()) else {
            continue;
        };
        if seen.insert([a.min(b), a.max(b)]) {
            legs.push(DirectPair { ends: [a, b], switches: switches(&leg) });
        }
    }
    legs
}

/// The switches between the hops of `leg`.
fn switches(leg: &[Hop<'_>]) -> Vec<(String, usize, usize)> {
    let port = |end: &str| end.split_once('.').and_then(|(_, port)| port.parse().ok());
    let pairs = leg.iter().zip(leg.iter().skip(1));
    pairs.filter_map(|(in_, out)| Some((place(in_.into).to_owned(), port(in_.into)?, port(out.out)?))).collect()
}

/// The channels that are given, both ways where they say so, by the switch and where cells come in.
fn channels(scenario: &Scenario) -> BTreeMap<(&str, PortVc), PortVc> {
    let mut all = BTreeMap::new();
    for (name, switch) in &scenario.switch {
        for Channel { from, to, both } in switch.channels() {
            if both {
                all.insert((name.as_str(), to), from);
            }
            all.insert((name.as_str(), from), to);
        }
    }
    all
}

/// The circuit at the beginning of the first channel that leads through all `switches`.
fn through(switches: &[(String, usize, usize)], channels: &BTreeMap<(&str, PortVc), PortVc>) -> Option<Vc> {
    let (first, entered, _) = switches.first()?;
    let starts = channels.keys().filter(|(switch, at)| switch == first && at.port == *entered);
    starts.map(|(_, at)| Vc { vpi: at.vpi, vci: at.vci }).find(|start| {
        let mut vc = *start;
        switches.iter().all(|(switch, from, to)| {
            let at = PortVc { port: *from, vpi: vc.vpi, vci: vc.vci };
            let next = channels.get(&(switch.as_str(), at)).filter(|next| next.port == *to);
            next.inspect(|next| vc = Vc { vpi: next.vpi, vci: next.vci }).is_some()
        })
    })
}

/// The circuits that hosts name, `vpi/vci`.
fn named(scenario: &Scenario) -> BTreeSet<String> {
    fn texts(value: &toml::Value, all: &mut BTreeSet<String>) {
        match value {
            toml::Value::String(text) => drop(all.insert(text.clone())),
            toml::Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
            toml::Value::Table(table) => table.values().for_each(|item| texts(item, all)),
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => {}
        }
    }
    let mut all = BTreeSet::new();
    let tables = scenario.host.values().flat_map(|host| host.settings.values());
    for value in tables.flat_map(|table| {
        table.iter().filter(|(key, _)| ["neighbours", "known", "circuits", "interface"].contains(&key.as_str()))
    }) {
        texts(value.1, &mut all);
    }
    all
}
