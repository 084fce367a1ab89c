//! What the layers of a writer take of a packet, from its program down to right above the device.

use kumiki_inet::tcp::defaults;

use super::graph::{Stack, parse_octets};
use super::layers::header;
use super::{
    Overhead, alone, eth, fddi, ipv4, ipv6, lapb, lapb_ether, llc, llc_snap, mapos, ppp, presentation, segments,
    session, tcp, tp0, tpdus, tpkt, udp, value, x25, x25_iface, x25_packets, xot, xtp,
};
use crate::scenario::Workload;

/// Kinds of nodes that a packet passes without growing, or whose octets are counted with the cells.
pub(super) const FREE: [&str; 11] =
    ["vc_mux", "raw_ip", "vnet", "aal5", "aal34", "arp", "sdh", "hif", "lif", "acse", "x32"];

/// Octets of XTP's header.
const XTP_HEADER: u32 = 32;

/// What the layers above a line take, lowest first.
pub(super) struct Upper {
    pub(super) layers: Vec<Overhead>,
    /// How many of them are below IP.
    pub(super) below_ip: usize,
}

/// What a layer between IP and the device adds, and the largest packet that it carries, where it has one; `None` of other layers.
pub(super) fn link_layer(stack: &Stack<'_>, node: &str) -> Result<Option<(Overhead, Option<u32>)>, String> {
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

/// What the nodes of `path` take, lowest first, and how much user data the largest packet has.
pub(super) fn layers_above<'a>(
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
pub(super) fn ip_mtu(stack: &Stack<'_>, node: &str, below: &str) -> Result<u32, String> {
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
