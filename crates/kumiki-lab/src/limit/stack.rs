//! From a scenario to the ladder of its stack.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Duration;
use kumiki_inet::tcp::defaults;
use kumiki_link::sonet::Level;
use kumiki_octets::Pattern;
use kumiki_octets::bit_stuffing::BitCounter;
use kumiki_octets::hdlc::{Accm, FLAG};
use kumiki_wire::inet::fddi::{LINE_OVERHEAD, MAX_INFORMATION};
use kumiki_wire::ppp::hdlc::FcsKind;

use super::graph::Stack;
use super::layers::header;
use super::together::{together, weighed};
use super::{
    Ladder, LadderError, Line, Overhead, aal5_padding, aal5_trailer, aal34_frame, aal34_padding, aal34_segments, alone,
    bit_stuffing, cell_headers, ds3, ds3_plcp, eth, fddi, fddi_framing, fddi_ring, framing, hdlc, hdlc_bits, ipv4,
    ipv6, lapb, lapb_ether, llc, llc_snap, mapos, oc, of_packets, ppp, presentation, rm_cells, segments, session,
    sonet, stuffing, tcp, token, tp0, tpdus, tpkt, udp, value, x25, x25_iface, x25_packets, xot, xtp,
};
use crate::medium::{self, Framed, Frames, Slotted};
use crate::quantity::{self, Distribution, Octets};
use crate::scenario::{Link, Ring, Scenario, Workload};
use crate::topology::{Hop, HopKind, Topology, place};

/// Kinds of nodes that a packet passes without growing, or whose octets are counted with the cells.
const FREE: [&str; 11] = ["vc_mux", "raw_ip", "vnet", "aal5", "aal34", "arp", "sdh", "hif", "lif", "acse", "x32"];

/// Octets of XTP's header.
const XTP_HEADER: u32 = 32;

/// What the setting `aal` of a device is for AAL3/4.
const AAL34: &str = "3/4";

/// Why there is no ladder of echoes.
pub(crate) const NO_GOODPUT: &str = "echoes bring no goodput, and so have no limit";

/// The ladder of a load of `scenario`: down from the node that writes to its device, and on the slowest of the lines that lead on from
/// there through switches and routers. Of several writers it is that of the first.
///
/// Over TCP a packet is a full segment; its size is the `mss` of the TCP node, or else what the `mtu` of the IP nodes on the way leaves
/// (1500 unless given), less what options take. Over UDP it is the message of the load, and so it is where layers between cut messages: OSI and X.25.
/// Where these stand on TCP its segments are full, one message behind the other.
///
/// # Errors
/// In words, where the load is a ping, the stack has a layer whose overhead is not known, the writing node has no way to the one that reads, or a quantity
/// cannot be read.
pub fn of_load(scenario: &Scenario, load: &Workload) -> Result<Ladder, String> {
    let topology = Topology::of(scenario);
    let (from, to) = load.pairs().next().ok_or("nobody writes")?;
    slowest(of_pair(scenario, load, &topology, ((from, to), Carried::Data), None)?, from)
}

/// The same of what counts of a load, and in the direction in which that goes: of calls (`rpc`) the answers, from who is asked, in the packets in which each of them goes by itself where
/// all have one length.
///
/// # Errors
/// As [`of_load`].
pub fn of_counted(scenario: &Scenario, load: &Workload) -> Result<Ladder, String> {
    let Some(calls) = Calls::of(load) else {
        return of_load(scenario, load);
    };
    let topology = Topology::of(scenario);
    let (from, to) = load.pairs().next().ok_or("nobody asks")?;
    slowest(of_pair(scenario, load, &topology, ((to, from), Carried::Answers), calls.answer)?, to)
}

fn slowest(ladders: Vec<(Direction<'_>, Ladder)>, from: &str) -> Result<Ladder, String> {
    let slowest = ladders.into_iter().map(|(_, ladder)| ladder).reduce(slower);
    slowest.ok_or_else(|| format!("no line ends on a device of `{from}`"))
}

/// What is under way on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// What writers write.
    Data,
    /// Of calls what comes back, which counts.
    Answers,
    /// Of calls what asks for that.
    Requests,
    /// Both, which go around one ring.
    Calls,
}

/// A line on the way of a load.
#[derive(Clone, PartialEq, Debug)]
pub struct OnWay {
    /// Its name.
    pub line: String,
    /// The host or switch that sends on it, where what it carries depends on the direction.
    pub from: Option<String>,
    /// What it carries.
    pub carried: Carried,
    /// How much of that it carries where it is the only line, in Mb/s.
    pub mbps: f64,
    /// What it then leaves to what counts of the load, in Mb/s: with each answer goes a request.
    pub leaves_mbps: f64,
    /// How many octets count for each of the load that is on it: of the lines of requests and of rings that is not each.
    pub brings: f64,
}

/// The lines between the first writer of a load and its reader, in the order of the way of what counts; of calls behind these the lines of the requests.
///
/// # Errors
/// As [`of_load`].
pub fn lines(scenario: &Scenario, load: &Workload) -> Result<Vec<OnWay>, String> {
    let topology = Topology::of(scenario);
    let pair = load.pairs().next().ok_or("nobody writes")?;
    let lines = on_way(scenario, load, &topology, pair)?;
    let told = |(direction, line): (Direction<'_>, OnWay)| OnWay {
        from: sender(scenario, direction).map(str::to_owned),
        ..line
    };
    Ok(lines.into_iter().map(told).collect())
}

/// What all pairs of a load can have together, in Mb/s, where those that share a line share it alike and what one cannot use is left to the others (max-min).
///
/// # Errors
/// As [`of_load`].
pub fn of_all(scenario: &Scenario, load: &Workload) -> Result<f64, String> {
    Ok(together(&pairs(scenario, load)?, |_| 1.0))
}

/// What all loads can have together, in Mb/s, as [`of_all`] has it of the pairs of one: of calls the answers count, and echoes bring nothing. What pairs share alike is what they
/// have on a line, be it requests of the one and answers of the other: each by its narrowest. Those that have no limit are left out, and there is none where fewer than two are left.
#[must_use]
pub fn of_loads(scenario: &Scenario) -> Option<f64> {
    let topology = Topology::of(scenario);
    let of_load = |load: &Workload| {
        let pairs = load.pairs().map(|pair| on_way(scenario, load, &topology, pair));
        pairs.collect::<Result<Vec<_>, _>>().ok()
    };
    let all: Vec<_> = scenario.load.values().filter_map(of_load).collect();
    if all.len() < 2 {
        return None;
    }
    let (mut pairs, mut brings) = (Vec::new(), Vec::new());
    for lines in all.into_iter().flatten() {
        let narrowest =
            lines.iter().map(|(_, line)| line).min_by(|one, other| one.leaves_mbps.total_cmp(&other.leaves_mbps));
        brings.push(narrowest.map_or(1.0, |line| line.brings));
        pairs.push(lines.into_iter().map(|(direction, line)| (direction, line.leaves_mbps)).collect());
    }
    Some(weighed(&pairs, &brings, |_| 1.0))
}

/// What loads can have together, in Mb/s, of which each pair has so much (`mbps`, in the order of the pairs): all of it as many times as the lines carry. None where
/// nothing came, or one has no limit.
#[must_use]
pub fn of_mix<'a>(scenario: &Scenario, mix: impl Iterator<Item = (&'a Workload, Vec<f64>)>) -> Option<f64> {
    let (mut sum, mut used) = (0.0, BTreeMap::<Direction<'_>, f64>::new());
    for (load, mbps) in mix {
        for (lines, mbps) in of_answers(scenario, load)?.into_iter().zip(mbps) {
            sum += mbps;
            lines.into_iter().for_each(|(direction, rate)| *used.entry(direction).or_default() += mbps / rate);
        }
    }
    let fullest = used.into_values().reduce(f64::max).filter(|used| *used > 0.0)?;
    Some(sum / fullest)
}

/// What each line on the way of what counts leaves each pair alone. None of echoes, and where it is not known.
fn of_answers<'a>(scenario: &'a Scenario, load: &Workload) -> Option<Vec<Vec<(Direction<'a>, f64)>>> {
    pairs(scenario, load).ok()
}

/// What each line on the way from one node of a load to another leaves alone of what is carried there, in Mb/s; none where that is not known.
pub(crate) fn of_way<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    way: ((&str, &str), Carried),
) -> Vec<(Direction<'a>, f64)> {
    let ladders = of_pair(scenario, load, topology, way, None).unwrap_or_default();
    ladders.into_iter().map(|(direction, ladder)| (direction, ladder.goodput_mbps().as_f64())).collect()
}

/// What each line on the way of what counts leaves each pair alone, in Mb/s.
pub(super) fn pairs<'a>(scenario: &'a Scenario, load: &Workload) -> Result<Vec<Vec<(Direction<'a>, f64)>>, String> {
    let topology = Topology::of(scenario);
    load.pairs().map(|pair| of_counted_pair(scenario, load, &topology, pair)).collect()
}

/// The same of one pair, in the order of the way.
fn of_counted_pair<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    pair: (&str, &str),
) -> Result<Vec<(Direction<'a>, f64)>, String> {
    let lines = on_way(scenario, load, topology, pair)?;
    Ok(lines.into_iter().map(|(direction, line)| (direction, line.leaves_mbps)).collect())
}

/// What lines on the way of a pair carry, in the order of the way; without who sends on them, which only who tells of them asks for.
pub(super) fn on_way<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    (from, to): (&str, &str),
) -> Result<Vec<(Direction<'a>, OnWay)>, String> {
    let lines = |(from, to), alone, carried, part: f64| {
        let ladders = of_pair(scenario, load, topology, ((from, to), carried), alone)?;
        let line = |(direction, ladder): (Direction<'a>, Ladder)| {
            let mbps = ladder.goodput_mbps().as_f64();
            let line = direction.0.to_owned();
            (direction, OnWay { line, from: None, carried, mbps, leaves_mbps: mbps * part, brings: part })
        };
        Ok::<_, String>(ladders.into_iter().map(line).collect::<Vec<_>>())
    };
    let Some(calls) = Calls::of(load) else {
        return lines((from, to), None, Carried::Data, 1.0);
    };
    let mut all = lines((to, from), calls.answer, Carried::Answers, 1.0)?;
    // Where answers have no mean they come to any number of octets for a request.
    let Some(mean_answer) = calls.mean_answer else {
        return Ok(all);
    };
    // With each answer goes a request.
    let part = f64::from(mean_answer) / f64::from(calls.request);
    for (direction, line) in lines((from, to), Some(calls.request), Carried::Requests, part)? {
        match all.iter_mut().find(|(it, _)| *it == direction) {
            Some((_, both)) => {
                both.leaves_mbps = 1.0 / (1.0 / both.leaves_mbps + 1.0 / line.leaves_mbps);
                both.mbps = both.leaves_mbps;
                both.carried = Carried::Calls;
                both.brings = 1.0 / (1.0 / both.brings + 1.0 / line.brings);
            }
            None => all.push((direction, line)),
        }
    }
    Ok(all)
}

/// Who sends in a direction of a line whose two are not alike, at first or from some time on.
fn sender<'a>(scenario: &'a Scenario, (name, is_b): Direction<'_>) -> Option<&'a str> {
    let link = scenario.link.get(name)?;
    let Ok(medium::Line::Frames(frames)) = link.line_at_first() else {
        return None;
    };
    let differ = match frames.framed {
        Framed::Line([one, other]) => one != other,
        Framed::Recorded => matches!(frames.traces.as_slice(), [one, other] if one != other),
        Framed::Oc3c | Framed::Oc12c | Framed::Oc48c => false,
    };
    let steps = || link.line().and_then(|line| scenario.changes(name, &line)).unwrap_or_default();
    let differ = differ || steps().iter().any(|step| step.rate.is_some_and(|[one, other]| one != other));
    let [a, b] = &link.ends;
    differ.then(|| place(if is_b { b } else { a }))
}

/// The lengths of calls, in octets.
struct Calls {
    request: u32,
    /// Where all have the same.
    answer: Option<u32>,
    /// Where their lengths have a mean.
    mean_answer: Option<u32>,
}

impl Calls {
    /// Those of `load`, where it is of calls.
    fn of(load: &Workload) -> Option<Self> {
        let octets = |octets: Octets| u32::try_from(octets.count()).unwrap_or(u32::MAX).max(1);
        let request = quantity::parse(&load.message).map_or(1, octets);
        // Without one it is as long as the request.
        let response = load.response.as_deref().and_then(|text| Distribution::<Octets>::parse(text).ok());
        let mean_answer = match &response {
            Some(response) => response.has_mean().then(|| octets(response.mean())),
            None => Some(request),
        };
        let has_one_length = response.is_none_or(|response| match response {
            Distribution::Constant(_) => true,
            Distribution::Exponential(_) | Distribution::Uniform(..) | Distribution::Pareto(..) => false,
        });
        (load.kind == "rpc").then_some(Self { request, answer: mean_answer.filter(|_| has_one_length), mean_answer })
    }
}

fn slower(one: Ladder, other: Ladder) -> Ladder {
    if other.goodput_mbps().as_f64() < one.goodput_mbps().as_f64() { other } else { one }
}

/// A direction of a line; both of a ring are one.
pub(crate) type Direction<'a> = (&'a str, bool);

/// The ladders of all lines from one node to another; over TCP of messages of so many octets each of which goes `alone`, or else of full segments. Of none is a segment
/// of TCP with nothing above it, an acknowledgment.
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
    let (upper, payload) = layers_above(load, &stack, &path, (path_mtu, alone))?;
    if payload == 0 && alone != Some(0) {
        return Err(LadderError::NoPayload.to_string());
    }
    // Below the writer's IP the layers are its own; on a further leg those of the router.
    let count = upper.below_ip;
    let mut all = lines_of((scenario, topology), load, &stack, first, (&upper.layers, payload))?;
    for router in &routers {
        let mut layers = router.layers.clone();
        layers.extend(upper.layers.iter().skip(count).cloned());
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
    let is_there = way_down(stack, node, &|device| device == wanted, &mut path);
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

/// What the layers above a line take, lowest first.
struct Upper {
    layers: Vec<Overhead>,
    /// How many of them are below IP.
    below_ip: usize,
}

/// What a layer between IP and the device adds, and the largest packet that it carries, where it has one; `None` of other layers.
fn link_layer(stack: &Stack<'_>, node: &str) -> Result<Option<(Overhead, Option<u32>)>, String> {
    Ok(Some(match stack.kind(node) {
        "eth" => (eth(), Some(octets(stack, node, "mtu")?.unwrap_or(1500))),
        // LLC and SNAP are among the octets of a frame.
        "fddi" => (fddi(), Some(octets(stack, node, "mtu")?.unwrap_or(4360).saturating_sub(8))),
        "llc" => (llc(), None),
        "llc_snap" => (llc_snap(), None),
        "ppp" => (ppp(), None),
        "mapos" => (mapos(), None),
        _ => return Ok(None),
    }))
}

/// Finds a way from `node` down to a device for which `plugged` holds, the first one where there are several.
fn way_down<'a>(stack: &Stack<'a>, node: &str, plugged: &impl Fn(&str) -> bool, path: &mut Vec<&'a str>) -> bool {
    let Some(node) = stack.nodes().into_iter().find(|name| *name == node) else {
        return false;
    };
    // A graph in which layers stand on each other in a circle is refused elsewhere; here it must only end.
    if path.contains(&node) {
        return false;
    }
    path.push(node);
    if stack.is_device(node) && plugged(node) {
        return true;
    }
    for below in stack.below(node) {
        if way_down(stack, below, plugged, path) {
            return true;
        }
    }
    path.pop();
    false
}

/// What the nodes of `path` take, lowest first, and how much user data the largest packet has.
fn layers_above<'a>(
    load: &Workload,
    stack: &Stack<'a>,
    path: &[&'a str],
    (path_mtu, alone_octets): (Option<u32>, Option<u32>),
) -> Result<(Upper, u32), String> {
    let mut layers = Vec::new();
    let mut to_ip = 0;
    let (mut mtu, mut mss, mut options) = (None, None, 0);
    let mut datagrams = false;
    // Layers above that cut and frame messages themselves, and where TCP stands below them.
    let (mut messages, mut stream, mut tcp_at) = (false, None, None);
    let mut ip_header = 20;
    let mut transport = 20;
    // Below SimEther a frame is the data of a datagram: what is there adds its headers and decides nothing.
    let mut in_datagrams = false;
    let message = || -> Result<u32, String> {
        let text = &load.message;
        parse_octets("message", text)
    };
    // The first is the program that writes.
    for (depth, node) in path.iter().enumerate().skip(1) {
        if let Some((overhead, carries)) = link_layer(stack, node)? {
            layers.push(overhead);
            mtu = carries.map_or(mtu, |carries| Some(mtu.map_or(carries, |mtu: u32| mtu.min(carries))));
            continue;
        }
        match stack.kind(node) {
            "sim_ether" => in_datagrams = true,
            "udp" if in_datagrams => layers.push(udp()),
            "ip" if in_datagrams => layers.push(ipv4()),
            "xtp" => {
                mss = octets(stack, node, "maxdata")?;
                transport = XTP_HEADER;
                // Without IP below there is none of its header.
                ip_header = 0;
                layers.push(xtp());
            }
            "tcp" => {
                let stamped = timestamps(stack, node);
                mss = octets(stack, node, "mss")?;
                options = if stamped { 12 } else { 0 };
                tcp_at = Some(layers.len());
                stream = tcp_at.filter(|_| messages);
                layers.push(tcp(stamped));
            }
            "udp" => {
                datagrams = true;
                layers.push(udp());
            }
            "ip" => {
                let below = path.get(depth + 1).copied().unwrap_or_default();
                mtu = Some(ip_mtu(stack, node, below)?);
                ip_header = 20;
                layers.push(ipv4());
                to_ip = layers.len();
            }
            "ipv6" => {
                let below = path.get(depth + 1).copied().unwrap_or_default();
                mtu = Some(ip_mtu(stack, node, below)?);
                ip_header = 40;
                layers.push(ipv6());
                to_ip = layers.len();
            }
            "lapb" => layers.push(lapb(extended(stack, node))),
            "ftam" => layers.push(value(message()?)),
            "presentation" => {
                let octets = message()?;
                layers.push(presentation(octets.saturating_add(header(octets))));
            }
            "session" => layers.push(session()),
            "tp0" => {
                messages = true;
                layers.push(tpdus(octets(stack, node, "tpdu")?.unwrap_or(2048)));
                layers.push(tp0());
            }
            "tpkt" => {
                messages = true;
                layers.push(tpkt());
            }
            "xot" => {
                messages = true;
                layers.push(xot());
            }
            "x25_iface" => layers.push(x25_iface()),
            "lapb_ether" => layers.push(lapb_ether()),
            "x25_switch" => {
                return Err(format!(
                    "`{node}`, a node of kind `x25_switch`, has nobody above it, and what it adds is nothing: packets are put together and cut again for each of its ports; expected a ladder for one of these links, from a host that writes"
                ));
            }
            "x25" => {
                messages = true;
                let size = octets(stack, node, "packet")?.unwrap_or(128);
                layers.push(x25_packets(size));
                layers.push(x25(extended(stack, node)));
            }
            kind if FREE.contains(&kind) => {}
            kind => {
                return Err(format!(
                    "the overhead of `{node}`, a node of kind `{kind}`, is not known; known are ftam, presentation, session, tp0, tpkt, tcp, xtp, udp, ip, ipv6, sim_ether, lapb, lapb_ether, x25, x25_iface, xot, llc, llc_snap, ppp, mapos, eth, fddi, {}",
                    FREE.join(", ")
                ));
            }
        }
    }
    let mtu = match (mtu, path_mtu) {
        (Some(own), Some(path)) => Some(own.min(path)),
        (own, _) => own,
    };
    let fits = mtu.map(|mtu| mtu.saturating_sub(ip_header + transport));
    let segment = match (mss, fits) {
        (Some(mss), Some(fits)) => Some(mss.min(fits)),
        (size, None) | (None, size) => size,
    };
    let segment = segment.map(|size| size.saturating_sub(options));
    let below_ip = layers.len() - to_ip;
    if let Some(place) = tcp_at.filter(|_| alone_octets == Some(0)) {
        let layers = layers.split_off(place).into_iter().rev().collect();
        return Ok((Upper { layers, below_ip }, 0));
    }
    if let (Some(place), Some(size)) = (stream, segment) {
        layers.insert(place, segments(size));
    }
    let whole = tcp_at.filter(|_| !messages).zip(segment.filter(|size| *size > 0)).zip(alone_octets);
    if let Some(((place, size), _)) = whole {
        layers.insert(place, alone(size));
    }
    layers.reverse();
    let payload = match segment {
        _ if let Some((_, octets)) = whole => octets,
        Some(size) if !datagrams && !messages => size,
        Some(_) | None => message()?,
    };
    let headers = ip_header + 8;
    if let Some(mtu) = mtu.filter(|mtu| datagrams && payload.saturating_add(headers) > *mtu) {
        return Err(format!(
            "message is {payload} octets, and with an MTU of {mtu} one datagram carries {}; ladders know no fragments",
            mtu.saturating_sub(headers)
        ));
    }
    Ok((Upper { layers, below_ip }, payload))
}

/// Whether the node `node` numbers modulo 128.
fn extended(stack: &Stack<'_>, node: &str) -> bool {
    let given = stack.setting(node, "extended");
    given.and_then(toml::Value::as_bool).unwrap_or(false)
}

/// Whether the TCP node `node` puts timestamps into its segments: as it says, or as its defaults do.
fn timestamps(stack: &Stack<'_>, node: &str) -> bool {
    let given = stack.setting(node, "timestamps").and_then(toml::Value::as_bool);
    let defaults_name = stack.setting(node, "defaults").and_then(toml::Value::as_str);
    let own = defaults_name.and_then(defaults::named).unwrap_or_else(defaults::modern);
    given.unwrap_or(own.timestamps)
}

/// The MTU of the IP node `node` on the layer `below`.
fn ip_mtu(stack: &Stack<'_>, node: &str, below: &str) -> Result<u32, String> {
    let interface = stack.setting(node, "interface").and_then(|interfaces| interfaces.get(below)?.get("mtu")?.as_str());
    match interface {
        Some(text) => parse_octets(&format!("{node}.interface.{below}.mtu"), text),
        None => Ok(octets(stack, node, "mtu")?.unwrap_or(1500)),
    }
}

fn octets(stack: &Stack<'_>, node: &str, key: &str) -> Result<Option<u32>, String> {
    let value = stack.setting(node, key).and_then(toml::Value::as_str);
    value.map(|text| parse_octets(&format!("{node}.{key}"), text)).transpose()
}

fn parse_octets(place: &str, text: &str) -> Result<u32, String> {
    let octets: Octets = quantity::parse(text).map_err(|error| format!("{place} = \"{text}\": {error}"))?;
    u32::try_from(octets.count()).map_err(|_| format!("{place} = \"{text}\": 4 GiB or more in a packet"))
}

/// A ring and what it takes, lowest first, where so many stations send frames with these `layers` above them.
fn around(
    ring: &Ring,
    stations: usize,
    (layers, payload): (&[Overhead], u32),
) -> Result<(Line, Vec<Overhead>), String> {
    let built = ring.ring().and_then(|it| it.element(ring.ends.iter().map(|end| (end.clone(), None)), 0));
    let built = built.map_err(|fault| fault.to_string())?;
    let nanos = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX);
    // Whoever has held the token sends it on.
    let away = built.around() + kumiki_link::fddi::token_time();
    let mut own = vec![fddi_framing()];
    let whole: Vec<Overhead> = own.iter().chain(layers).cloned().collect();
    let octets = of_packets(&fddi_ring(), &whole, payload).map_err(|error| error.to_string())?.packet_octets.ceil();
    // What is longer goes as several.
    let octets = octets.min((LINE_OVERHEAD + MAX_INFORMATION) as u128);
    let frame = kumiki_link::fddi::RATE.time_of_octets(u64::try_from(octets).unwrap_or(0));
    let stations = u32::try_from(stations).unwrap_or(u32::MAX);
    own.insert(0, token(nanos(away), nanos(built.ttrt()), nanos(frame), stations));
    Ok((fddi_ring(), own))
}

/// How many stations of the ring called `name` send what counts of loads: of calls the answers.
fn senders_on(scenario: &Scenario, topology: &Topology<'_>, name: &str) -> usize {
    let of_all = || {
        let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for load in scenario.load.values().filter(|load| load.kind != "ping") {
            let way = |(from, to)| {
                if load.kind == "rpc" { topology.way_of_answers(to, from) } else { topology.way(from, to) }
            };
            for hop in load.pairs().filter_map(way).flatten().filter(|hop| hop.kind == HopKind::Ring) {
                all.entry(hop.line).or_default().insert(hop.out);
            }
        }
        all
    };
    // Each pair that crosses a ring asks.
    topology.senders.get_or_init(of_all).get(name).map_or(0, BTreeSet::len)
}

/// What octet stuffing adds to the content of the load, on average; of headers it is not counted.
fn stuffed(load: &Workload) -> Result<Option<Overhead>, String> {
    let message = parse_octets("message", &load.message)?;
    let (pattern, per) = match load.pattern.as_deref().unwrap_or("ttcp") {
        "zeros" => return Ok(None),
        // Two of 256 octets, flag and escape.
        "random" | "counter" => return Ok(Some(stuffing(2, 256))),
        "flags" => (Pattern::Fill(FLAG), 1),
        _ => (Pattern::Ttcp { write_len: message }, message),
    };
    let octets = usize::try_from(per).unwrap_or(usize::MAX);
    let added = pattern.stuffed_len(0, octets, Accm::NONE) - octets;
    let added = u32::try_from(added).unwrap_or(u32::MAX);
    Ok((added > 0).then(|| stuffing(added, per)))
}

/// What bit stuffing adds to the content of the load, on average; of headers it is not counted.
fn bits_stuffed(load: &Workload) -> Result<Option<Overhead>, String> {
    let message = parse_octets("message", &load.message)?;
    let (pattern, per) = match load.pattern.as_deref().unwrap_or("ttcp") {
        "zeros" => return Ok(None),
        // A run of five ones is there once in 2 + 4 + 8 + 16 + 32 bits that are drawn.
        "random" | "counter" => return Ok(Some(bit_stuffing(1, 62))),
        "flags" => (Pattern::Fill(FLAG), 1),
        // A share of a long write is that of its beginning.
        _ => (Pattern::Ttcp { write_len: message }, message.min(9500)),
    };
    let mut octets = vec![0; usize::try_from(per).unwrap_or(0)];
    pattern.fill(0, &mut octets);
    let mut counter = BitCounter::new();
    counter.update(&octets);
    let bits = per.saturating_mul(8);
    let added = u32::try_from(counter.bits().saturating_sub(bits.into())).unwrap_or(u32::MAX);
    Ok((added > 0).then(|| bit_stuffing(added, bits)))
}

fn ds3_line() -> Line {
    Line { name: "DS-3 line".to_owned(), bits_per_second: 44_736_000 }
}

fn sonet_line(n: u32) -> (Line, Vec<Overhead>) {
    (oc(n), vec![sonet()])
}

/// What a recorded line delivers in the long run of what its first end sends, or (`is_b`) its second.
fn recorded(frames: &Frames, is_b: bool) -> Result<u64, String> {
    let times = frames.recording().map_err(|fault| fault.to_string())?;
    let own = times.map(|[from_a, from_b]| if is_b { from_b } else { from_a });
    let (bits, seconds) = own.map_or((0, 1), |times| times.rate().fraction());
    Ok(bits.checked_div(seconds).unwrap_or(0))
}

/// A direction of a line and what its medium takes, lowest first; `cells` where it carries those, `stuffed` where octets or (true) bits are stuffed.
fn medium(
    (link, is_b): (&Link, bool),
    cells: &[Overhead],
    stuffed: &impl Fn(bool) -> Result<Option<Overhead>, String>,
) -> Result<(Line, Vec<Overhead>), String> {
    let at = |name: &str, bits_per_second| (Line { name: name.to_owned(), bits_per_second }, Vec::new());
    let flags = |both: bool| if both { 2 } else { 1 };
    let fcs = |kind: FcsKind| u32::try_from(kind.len()).unwrap_or(0);
    let line = link.line_at_first().map_err(|fault| fault.to_string())?;
    let ppm = line.clock().ppm();
    let (mut line, layers) = match line {
        medium::Line::Cells(line) => {
            let (line, mut layers) = match line.slotted {
                Slotted::Oc3c => sonet_line(3),
                Slotted::Oc12c => sonet_line(12),
                Slotted::Oc48c => sonet_line(48),
                Slotted::Ds3 => (ds3_line(), vec![ds3()]),
                Slotted::Ds3Plcp => (ds3_line(), vec![ds3_plcp()]),
                Slotted::Taxi140 => at("ATM LAN (TAXI)", 140_000_000),
            };
            layers.extend(cells.iter().cloned());
            (line, layers)
        }
        medium::Line::Pos(pos) => {
            let n = match pos.level {
                Level::Sts3c => 3,
                Level::Sts12c => 12,
                Level::Sts48c => 48,
                Level::Sts192c => 192,
            };
            let (line, mut layers) = sonet_line(n);
            layers.push(hdlc(fcs(pos.fcs), flags(pos.opening_flag)));
            layers.extend(stuffed(false)?);
            (line, layers)
        }
        medium::Line::Synchronous(it) => {
            let (line, mut layers) = at("synchronous line", it.rate);
            layers.push(hdlc_bits(fcs(it.fcs), flags(it.opening_flag)));
            layers.extend(stuffed(true)?);
            (line, layers)
        }
        medium::Line::Frames(frames) => {
            let (line, mut layers) = match frames.framed {
                Framed::Oc3c => sonet_line(3),
                Framed::Oc12c => sonet_line(12),
                Framed::Oc48c => sonet_line(48),
                Framed::Line([a, b]) => at("point-to-point line", if is_b { b } else { a }),
                Framed::Recorded => at("recorded line", recorded(&frames, is_b)?),
            };
            layers.extend(Some(frames.framing).filter(|octets| *octets > 0).map(framing));
            (line, layers)
        }
    };
    line.bits_per_second = by_clock(line.bits_per_second, ppm);
    Ok((line, layers))
}

/// A rate by a clock that is off by `ppm` parts per million, to the bit per second.
fn by_clock(bits_per_second: u64, ppm: i32) -> u64 {
    const MILLION: i128 = 1_000_000;
    let rate = i128::from(bits_per_second) * (MILLION + i128::from(ppm)) / MILLION;
    u64::try_from(rate).unwrap_or(bits_per_second)
}
