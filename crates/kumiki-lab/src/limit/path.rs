//! The ladders of the lines on the way from one node of a scenario to another.

use super::descent::{FREE, LayersAbove, ip_mtu, link_layer};
use super::graph::Stack;
use super::loads::Carried;
use super::media::{AAL34, around, bits_stuffed, medium, senders_on, stuffed};
use super::{
    Ladder, LadderError, Overhead, aal5_padding, aal5_trailer, aal34_frame, aal34_padding, aal34_segments,
    cell_headers, of_packets, rm_cells,
};
use crate::scenario::{Scenario, Workload};
use crate::topology::{Hop, HopKind, Topology, place};
use kumiki_media as medium;

/// Why there is no ladder of echoes.
pub(crate) const NO_GOODPUT: &str = "echoes bring no goodput, and so have no limit";

/// A direction of a line; both of a ring are one.
pub(crate) type Direction<'a> = (&'a str, bool);

/// The ladders of all lines from one node to another; over TCP of messages of so many octets each of which goes
/// `alone`, or else of full segments. Of none is a segment of TCP with nothing above it, an acknowledgment.
pub(super) fn of_pair<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    ((from, to), carried): ((&str, &str), Carried),
    alone: Option<u32>,
) -> Result<Vec<(Direction<'a>, Ladder)>, String> {
    if load.kind == "ping" {
        return Err(NO_GOODPUT.to_owned());
    }
    let (name, node) = from.split_once('.').ok_or_else(|| format!("from = \"{from}\": write it as host.node"))?;
    let stack =
        Stack::of(scenario, name).ok_or_else(|| format!("from = \"{from}\": there is no host called `{name}`"))?;
    if !stack.has(node) {
        return Err(format!("from = \"{from}\": `{name}` has no node called `{node}`"));
    }
    let way = match carried {
        Carried::Answers => topology.way_of_answers(from, to),
        Carried::Data | Carried::Requests | Carried::Calls => topology.way(from, to),
    };
    let way = way.filter(|way| !way.is_empty());
    let way = way.ok_or_else(|| format!("no line leads from `{from}` to `{to}`"))?;
    // A host ends a leg; a switch does not.
    let mut legs = way.split_inclusive(|hop| scenario.host.contains_key(place(hop.into)));
    let first = legs.next().unwrap_or_default();
    let path = down_to(&stack, node, first).ok_or_else(|| format!("`{from}` has no way down to the line to `{to}`"))?;
    let mut routers = Vec::new();
    for leg in legs {
        let router = place(leg.first().map_or("", |hop| hop.out));
        let stack = Stack::of(scenario, router).ok_or_else(|| format!("there is no host called `{router}`"))?;
        routers.push(Forwarded::of(stack, router, leg)?);
    }
    let path_mtu = routers.iter().filter_map(|router| router.mtu).min();
    let LayersAbove { layers: above, below_ip, payload } = LayersAbove::of(load, &stack, &path, (path_mtu, alone))?;
    if payload == 0 && alone != Some(0) {
        return Err(LadderError::NoPayload.to_string());
    }
    // Below the writer's IP the layers are its own; on a further leg those of the router.
    let mut all = lines_of((scenario, topology), load, &stack, first, (&above, payload))?;
    for router in &routers {
        let mut layers = router.layers.clone();
        layers.extend(above.iter().skip(below_ip).cloned());
        all.extend(lines_of((scenario, topology), load, &router.stack, router.leg, (&layers, payload))?);
    }
    Ok(all)
}

/// What a host does to packets that it sends on.
struct Forwarded<'a, 'w> {
    stack: Stack<'a>,
    leg: &'w [Hop<'a>],
    /// What its layers below IP take, lowest first.
    layers: Vec<Overhead>,
    /// The largest packet, where it has an IP.
    mtu: Option<u32>,
}

impl<'a, 'w> Forwarded<'a, 'w> {
    fn of(stack: Stack<'a>, name: &str, leg: &'w [Hop<'a>]) -> Result<Self, String> {
        let ips = stack.nodes().into_iter().filter(|node| ["ip", "ipv6"].contains(&stack.kind(node)));
        let found = ips.into_iter().find_map(|ip| Some((ip, down_to(&stack, ip, leg)?)));
        let Some((ip, path)) = found else {
            return Err(format!("what `{name}` sends on has no IP, and what that adds is not known"));
        };
        let below = path.get(1).copied().unwrap_or_default();
        let mut mtu = ip_mtu(&stack, ip, below)?;
        let mut layers = Vec::new();
        for node in path.iter().skip(1) {
            let kind = stack.kind(node);
            if let Some((overhead, carries)) = link_layer(&stack, node)? {
                layers.push(overhead);
                mtu = carries.map_or(mtu, |carries| mtu.min(carries));
            } else if !FREE.contains(&kind) {
                return Err(format!(
                    "what `{name}.{node}`, a node of kind `{kind}`, adds to what is sent on is not known"
                ));
            }
        }
        layers.reverse();
        Ok(Self { stack, leg, layers, mtu: Some(mtu) })
    }
}

/// The layers from `node` down to right above the device at which `leg` begins.
fn down_to<'a>(stack: &Stack<'a>, node: &str, leg: &[Hop<'_>]) -> Option<Vec<&'a str>> {
    let (_, wanted) = leg.first()?.out.split_once('.')?;
    let mut path = Vec::new();
    let is_there = stack.way_down(node, wanted, &mut path);
    path.pop();
    is_there.then_some(path)
}

/// The ladders of the lines of `leg`, with `layers` above them.
fn lines_of<'a>(
    (scenario, topology): (&'a Scenario, &Topology<'a>),
    load: &Workload,
    stack: &Stack<'_>,
    leg: &[Hop<'a>],
    (layers, payload): (&[Overhead], u32),
) -> Result<Vec<(Direction<'a>, Ladder)>, String> {
    let device = leg.first().and_then(|hop| hop.out.split_once('.')).map_or("", |(_, device)| device);
    let aal = stack.setting(device, "aal").and_then(toml::Value::as_str);
    let is_abr = stack.setting(device, "service").and_then(toml::Value::as_str) == Some("abr");
    let nrm = stack.setting(device, "abr").and_then(|abr| u32::try_from(abr.get("nrm")?.as_integer()?).ok());
    let rm = is_abr.then(|| rm_cells(nrm.unwrap_or_else(|| medium::Abr::default().nrm)));
    let mut cells: Vec<Overhead> = rm.into_iter().collect();
    cells.extend(if aal == Some(AAL34) {
        vec![cell_headers(), aal34_segments(), aal34_padding(), aal34_frame()]
    } else {
        vec![cell_headers(), aal5_padding(), aal5_trailer()]
    });
    let stuffed = |bits| {
        if bits { bits_stuffed(load) } else { stuffed(load) }
    };
    let of_hop = |hop: &Hop<'a>| {
        let (line, mut own) = match (hop.kind, scenario.link.get(hop.line), scenario.ring.get(hop.line)) {
            (HopKind::Ring, _, Some(ring)) => {
                around(ring, senders_on(scenario, topology, hop.line), (layers, payload))?
            }
            (_, Some(link), _) => medium((link, hop.kind == HopKind::FromB), &cells, &stuffed)?,
            _ => return Err(format!("there is no line `{}`", hop.line)),
        };
        own.extend(layers.iter().cloned());
        let ladder = of_packets(&line, &own, payload).map_err(|error| error.to_string())?;
        Ok(((hop.line, hop.kind == HopKind::FromB), ladder))
    };
    leg.iter().map(of_hop).collect()
}
