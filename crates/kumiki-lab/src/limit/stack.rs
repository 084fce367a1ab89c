//! From a scenario to the ladder of its stack.

use std::collections::BTreeSet;

use kumiki_graph::Duration;
use kumiki_inet::tcp::defaults;
use kumiki_link::sonet::Level;
use kumiki_octets::Pattern;
use kumiki_octets::bit_stuffing::BitCounter;
use kumiki_octets::hdlc::{Accm, FLAG};
use kumiki_wire::ppp::hdlc::FcsKind;

use super::layers::header;
use super::{
    Ladder, Line, Overhead, aal5_padding, aal5_trailer, aal34_frame, aal34_padding, aal34_segments, bit_stuffing,
    cell_headers, ds3, ds3_plcp, eth, fddi, fddi_framing, fddi_ring, framing, hdlc, hdlc_bits, ipv4, ipv6, ladder,
    lapb, lapb_ether, llc, llc_snap, mapos, oc, ppp, presentation, segments, session, sonet, stuffing, tcp, token, tp0,
    tpdus, tpkt, udp, value, x25, x25_iface, x25_packets, xot, xtp,
};
use crate::experiment::lines_between;
use crate::medium::{self, Framed, Frames, Slotted};
use crate::picture::stack::Stack;
use crate::quantity::{self, Octets};
use crate::scenario::{Link, Ring, Scenario, Workload};

/// Kinds of nodes that a packet passes without growing, or whose octets are counted with the cells.
const FREE: [&str; 10] = ["vc_mux", "vnet", "aal5", "aal34", "arp", "sdh", "hif", "lif", "acse", "x32"];

/// Octets of XTP's header.
const XTP_HEADER: u32 = 32;

/// What the setting `aal` of a device is for AAL3/4.
const AAL34: &str = "3/4";

/// The ladder of a load of `scenario`: down from the node that writes to its device, and on the slowest of the lines that lead on from
/// there through switches.
///
/// Over TCP a packet is a full segment; its size is the `mss` of the TCP node, or else what the `mtu` of the IP node leaves
/// (1500 unless given), less what options take. Over UDP it is the message of the load, and so it is where layers between cut messages: OSI and X.25.
/// Where these stand on TCP its segments are full, and the last of a message is shorter.
///
/// # Errors
/// In words, where the stack has a layer whose overhead is not known, the writing node has no way down to a line, or a quantity
/// cannot be read.
pub fn of_load(scenario: &Scenario, load: &Workload) -> Result<Ladder, String> {
    let from = &load.from;
    let (name, node) = from.split_once('.').ok_or_else(|| format!("from = \"{from}\": write it as host.node"))?;
    let stack =
        Stack::of(scenario, name).ok_or_else(|| format!("from = \"{from}\": there is no host called `{name}`"))?;
    if !stack.has(node) {
        return Err(format!("from = \"{from}\": `{name}` has no node called `{node}`"));
    }
    let mut path = Vec::new();
    let plugged = |device: &str| {
        scenario.link.values().any(|link| link.ends.contains(&format!("{name}.{device}")))
            || ring_of(scenario, &format!("{name}.{device}")).is_some()
    };
    if !way_down(&stack, node, &plugged, &mut path) {
        return Err(format!("`{from}` has no way down to a device on which a line ends"));
    }
    let device = path.pop().unwrap_or_default();
    let (upper, payload) = layers_above(load, &stack, &path)?;
    let plug = format!("{name}.{device}");
    let lines = lines_from(scenario, &plug);
    let ring = ring_of(scenario, &plug);
    let reached = |to: &String| {
        let owner = |end: &str| end.split_once('.').map(|(owner, _)| owner.to_owned());
        let around = ring.into_iter().flat_map(|ring| &ring.ends);
        let mut ends = lines.iter().flat_map(|(_, link)| &link.ends).chain(around);
        ends.any(|end| owner(end) == owner(to))
    };
    if let Some(to) = load.to.0.iter().find(|to| !reached(to)) {
        return Err(format!(
            "no line leads from `{name}.{device}` to `{to}` without a router; `limit` supports paths of one hop"
        ));
    }
    let aal = stack.setting(device, "aal").and_then(toml::Value::as_str);
    let cells = if aal == Some(AAL34) {
        vec![cell_headers(), aal34_segments(), aal34_padding(), aal34_frame()]
    } else {
        vec![cell_headers(), aal5_padding(), aal5_trailer()]
    };
    let stuffed = |bits| {
        if bits { bits_stuffed(load) } else { stuffed(load) }
    };
    // Of all that a switch leads on to only what is on the way to a reader matters.
    let hosts = load.to.0.iter().filter_map(|to| to.split_once('.'));
    let ways: BTreeSet<String> = hosts.flat_map(|(to, _)| lines_between(scenario, name, to)).collect();
    let lines = lines.into_iter().filter(|(line, _)| ways.is_empty() || ways.contains(*line));
    let lines = lines.map(|(_, link)| medium(link, &cells, &stuffed)).chain(ring.map(around));
    let ladders = lines.map(|line| {
        let (line, mut layers) = line?;
        layers.extend(upper.iter().cloned());
        ladder(&line, &layers, payload).map_err(|error| error.to_string())
    });
    let mut slowest: Option<Ladder> = None;
    for ladder in ladders {
        let ladder = ladder?;
        let slower = |than: &Ladder| ladder.goodput_mbps().as_f64() < than.goodput_mbps().as_f64();
        if slowest.as_ref().is_none_or(slower) {
            slowest = Some(ladder);
        }
    }
    slowest.ok_or_else(|| format!("no line ends on `{name}.{device}`"))
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
fn layers_above<'a>(load: &Workload, stack: &Stack<'a>, path: &[&'a str]) -> Result<(Vec<Overhead>, u32), String> {
    let mut layers = Vec::new();
    let (mut mtu, mut mss, mut options) = (None, None, 0);
    let mut datagrams = false;
    // Layers above that cut and frame messages themselves, and where TCP stands below them.
    let (mut messages, mut stream) = (false, None);
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
                stream = Some(layers.len()).filter(|_| messages);
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
            }
            "ipv6" => {
                let below = path.get(depth + 1).copied().unwrap_or_default();
                mtu = Some(ip_mtu(stack, node, below)?);
                ip_header = 40;
                layers.push(ipv6());
            }
            "eth" => {
                let carries = octets(stack, node, "mtu")?.unwrap_or(1500);
                mtu = Some(mtu.map_or(carries, |mtu: u32| mtu.min(carries)));
                layers.push(eth());
            }
            "fddi" => {
                // LLC and SNAP are among the octets of a frame.
                let carries = octets(stack, node, "mtu")?.unwrap_or(4360).saturating_sub(8);
                mtu = Some(mtu.map_or(carries, |mtu: u32| mtu.min(carries)));
                layers.push(fddi());
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
                    "`{node}`, a node of kind `x25_switch`, has nobody above it, and what it adds is nothing: packets are put together and cut anew for each of its ports; expected a ladder for one of these links, from a host that writes"
                ));
            }
            "x25" => {
                messages = true;
                let size = octets(stack, node, "packet")?.unwrap_or(128);
                layers.push(x25_packets(size));
                layers.push(x25(extended(stack, node)));
            }
            "llc" => layers.push(llc()),
            "llc_snap" => layers.push(llc_snap()),
            "ppp" => layers.push(ppp()),
            "mapos" => layers.push(mapos()),
            kind if FREE.contains(&kind) => {}
            kind => {
                return Err(format!(
                    "the overhead of `{node}`, a node of kind `{kind}`, is not known; known are ftam, presentation, session, tp0, tpkt, tcp, xtp, udp, ip, ipv6, sim_ether, lapb, lapb_ether, x25, x25_iface, xot, llc, llc_snap, ppp, mapos, eth, fddi, {}",
                    FREE.join(", ")
                ));
            }
        }
    }
    let fits = mtu.map(|mtu| mtu.saturating_sub(ip_header + transport));
    let segment = match (mss, fits) {
        (Some(mss), Some(fits)) => Some(mss.min(fits)),
        (size, None) | (None, size) => size,
    };
    let segment = segment.map(|size| size.saturating_sub(options));
    if let (Some(place), Some(size)) = (stream, segment) {
        layers.insert(place, segments(size));
    }
    layers.reverse();
    let payload = match segment {
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
    Ok((layers, payload))
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

/// The lines that lead on from `end`, through switches, by name.
fn lines_from<'a>(scenario: &'a Scenario, end: &str) -> Vec<(&'a str, &'a Link)> {
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    let mut reached = vec![end.to_owned()];
    while let Some(end) = reached.pop() {
        let switch =
            end.split_once('.').map(|(switch, _)| switch).filter(|switch| scenario.switch.contains_key(*switch));
        for (name, link) in &scenario.link {
            let touches = link.ends.iter().any(|other| match switch {
                Some(switch) => other.split_once('.').is_some_and(|(owner, _)| owner == switch),
                None => *other == end,
            });
            if touches && names.insert(name) {
                found.push((name.as_str(), link));
                let [one, other] = &link.ends;
                // A host at the other end ends the way; another port of a switch goes on from it.
                let onward = [one, other].into_iter().filter(|other| {
                    other.split_once('.').is_some_and(|(owner, _)| scenario.switch.contains_key(owner))
                });
                reached.extend(onward.cloned());
            }
        }
    }
    found
}

/// The ring that `plug` is a station of.
fn ring_of<'a>(scenario: &'a Scenario, plug: &str) -> Option<&'a Ring> {
    let mut rings = scenario.ring.values();
    rings.find(|ring| ring.ends.iter().any(|end| end == plug))
}

/// A ring and what it takes, lowest first.
fn around(ring: &Ring) -> Result<(Line, Vec<Overhead>), String> {
    let built = ring.ring().and_then(|it| it.element(ring.ends.iter().map(|_| None)));
    let built = built.map_err(|fault| fault.to_string())?;
    let nanos = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX);
    // Whoever has held the token sends it on.
    let away = built.around() + kumiki_link::fddi::token_time();
    let layers = vec![token(nanos(away), nanos(built.ttrt())), fddi_framing()];
    Ok((fddi_ring(), layers))
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

/// What a recorded line delivers in the long run, in the direction in which it delivers less.
fn recorded(frames: &Frames) -> Result<u64, String> {
    let times = frames.recording().map_err(|fault| fault.to_string())?;
    let rates = times.iter().flatten().map(|times| {
        let (bits, seconds) = times.rate().fraction();
        bits / seconds
    });
    Ok(rates.min().unwrap_or(0))
}

/// A line and what its medium takes, lowest first; `cells` where it carries those, `stuffed` where octets or (true) bits are stuffed.
fn medium(
    link: &Link,
    cells: &[Overhead],
    stuffed: &impl Fn(bool) -> Result<Option<Overhead>, String>,
) -> Result<(Line, Vec<Overhead>), String> {
    let at = |name: &str, bits_per_second| (Line { name: name.to_owned(), bits_per_second }, Vec::new());
    let flags = |both: bool| if both { 2 } else { 1 };
    let fcs = |kind: FcsKind| u32::try_from(kind.len()).unwrap_or(0);
    Ok(match link.line().map_err(|fault| fault.to_string())? {
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
                Framed::Line(rate) => at("point-to-point line", rate),
                Framed::Recorded => at("recorded line", recorded(&frames)?),
            };
            layers.extend(Some(frames.framing).filter(|octets| *octets > 0).map(framing));
            (line, layers)
        }
    })
}
