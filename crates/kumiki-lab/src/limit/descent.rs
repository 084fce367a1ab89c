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

/// What the layers above a line take of a packet.
pub(super) struct LayersAbove {
    /// Lowest first.
    pub(super) layers: Vec<Overhead>,
    /// How many of them are below IP.
    pub(super) below_ip: usize,
    /// How many octets of user data the packet has.
    pub(super) payload: u32,
}

impl LayersAbove {
    /// What the nodes of `path`, from the writing program down, take of the largest packet that gets through where a
    /// router further on carries no more than `path_mtu`; of a message of TCP of `alone` octets, which goes by itself.
    pub(super) fn of(
        load: &Workload,
        stack: &Stack<'_>,
        path: &[&str],
        (path_mtu, alone): (Option<u32>, Option<u32>),
    ) -> Result<Self, String> {
        let mut descent = Descent::new(load, stack);
        // The first is the program that writes.
        for (depth, node) in path.iter().enumerate().skip(1) {
            descent.pass(node, path.get(depth + 1).copied().unwrap_or_default())?;
        }
        descent.finish(path_mtu, alone)
    }
}

/// What a layer between IP and the device adds, and the largest packet that it carries, where it has one; `None` of
/// other layers.
pub(super) fn link_layer(stack: &Stack<'_>, node: &str) -> Result<Option<(Overhead, Option<u32>)>, String> {
    Ok(Some(match stack.kind(node) {
        "eth" => (eth(), Some(stack.octets(node, "mtu")?.unwrap_or(1500))),
        // LLC and SNAP are among the octets of a frame.
        "fddi" => (fddi(), Some(stack.octets(node, "mtu")?.unwrap_or(4360).saturating_sub(8))),
        "llc" => (llc(), None),
        "llc_snap" => (llc_snap(), None),
        "ppp" => (ppp(), None),
        "mapos" => (mapos(), None),
        _ => return Ok(None),
    }))
}

/// What a layer of OSI or X.25 adds, upper part first, and whether it frames or cuts messages by itself; `None` of
/// other layers.
fn message_layer(load: &Workload, stack: &Stack<'_>, node: &str) -> Result<Option<(Vec<Overhead>, bool)>, String> {
    Ok(Some(match stack.kind(node) {
        "ftam" => (vec![value(message_of(load)?)], false),
        "presentation" => {
            let octets = message_of(load)?;
            (vec![presentation(octets.saturating_add(header(octets)))], false)
        }
        "session" => (vec![session()], false),
        "tp0" => (vec![tpdus(stack.octets(node, "tpdu")?.unwrap_or(2048)), tp0()], true),
        "tpkt" => (vec![tpkt()], true),
        "xot" => (vec![xot()], true),
        "x25" => (vec![x25_packets(stack.octets(node, "packet")?.unwrap_or(128)), x25(extended(stack, node))], true),
        "x25_iface" => (vec![x25_iface()], false),
        "lapb" => (vec![lapb(extended(stack, node))], false),
        "lapb_ether" => (vec![lapb_ether()], false),
        _ => return Ok(None),
    }))
}

/// The octets of one write of `load`.
fn message_of(load: &Workload) -> Result<u32, String> {
    parse_octets("message", &load.message)
}

/// A packet on its way down through the layers of its writer, and what these say of its size.
struct Descent<'s, 'a> {
    load: &'s Workload,
    stack: &'s Stack<'a>,
    /// Uppermost first.
    layers: Vec<Overhead>,
    /// How many of them there are down to IP, which is among them.
    to_ip: usize,
    mtu: Option<u32>,
    mss: Option<u32>,
    /// Octets of the headers of IP and of the transport on it, and of the options of the latter.
    ip_header: u32,
    transport: u32,
    options: u32,
    /// Whether UDP carries messages, each in a datagram.
    datagrams: bool,
    /// Whether layers frame and cut messages themselves.
    messages: bool,
    /// Where among the layers TCP stands.
    tcp_at: Option<usize>,
    /// Whether it stands below layers that frame messages themselves.
    is_stream: bool,
    /// Below SimEther a frame is the data of a datagram: what is there adds its headers and decides nothing.
    in_datagrams: bool,
}

impl<'s, 'a> Descent<'s, 'a> {
    const fn new(load: &'s Workload, stack: &'s Stack<'a>) -> Self {
        Self {
            load,
            stack,
            layers: Vec::new(),
            to_ip: 0,
            mtu: None,
            mss: None,
            ip_header: 20,
            transport: 20,
            options: 0,
            datagrams: false,
            messages: false,
            tcp_at: None,
            is_stream: false,
            in_datagrams: false,
        }
    }

    /// Passes `node`, which stands on `below`.
    fn pass(&mut self, node: &str, below: &str) -> Result<(), String> {
        if let Some((overhead, carries)) = link_layer(self.stack, node)? {
            self.layers.push(overhead);
            self.mtu = carries.map_or(self.mtu, |carries| Some(self.mtu.map_or(carries, |mtu| mtu.min(carries))));
            return Ok(());
        }
        if let Some((overheads, frames_messages)) = message_layer(self.load, self.stack, node)? {
            self.layers.extend(overheads);
            self.messages |= frames_messages;
            return Ok(());
        }
        match self.stack.kind(node) {
            "sim_ether" => self.in_datagrams = true,
            "udp" if self.in_datagrams => self.layers.push(udp()),
            "ip" if self.in_datagrams => self.layers.push(ipv4()),
            "xtp" => {
                self.mss = self.stack.octets(node, "maxdata")?;
                self.transport = XTP_HEADER;
                // Without IP below there is none of its header.
                self.ip_header = 0;
                self.layers.push(xtp());
            }
            "tcp" => {
                let stamped = timestamps(self.stack, node);
                self.mss = self.stack.octets(node, "mss")?;
                self.options = if stamped { 12 } else { 0 };
                self.tcp_at = Some(self.layers.len());
                self.is_stream = self.messages;
                self.layers.push(tcp(stamped));
            }
            "udp" => {
                self.datagrams = true;
                self.layers.push(udp());
            }
            "ip" => self.pass_ip((node, below), 20, ipv4())?,
            "ipv6" => self.pass_ip((node, below), 40, ipv6())?,
            kind if FREE.contains(&kind) => {}
            kind => return Err(unknown_layer(node, kind)),
        }
        Ok(())
    }

    fn pass_ip(&mut self, (node, below): (&str, &str), header: u32, overhead: Overhead) -> Result<(), String> {
        self.mtu = Some(ip_mtu(self.stack, node, below)?);
        self.ip_header = header;
        self.layers.push(overhead);
        self.to_ip = self.layers.len();
        Ok(())
    }

    /// The user data of the largest segment, where something limits it, in packets of up to `mtu`.
    fn segment(&self, mtu: Option<u32>) -> Option<u32> {
        let fits = mtu.map(|mtu| mtu.saturating_sub(self.ip_header + self.transport));
        let segment = match (self.mss, fits) {
            (Some(mss), Some(fits)) => Some(mss.min(fits)),
            (size, None) | (None, size) => size,
        };
        segment.map(|size| size.saturating_sub(self.options))
    }

    /// What all layers take, once they have been passed: see [`LayersAbove::of`].
    fn finish(mut self, path_mtu: Option<u32>, alone_octets: Option<u32>) -> Result<LayersAbove, String> {
        let mtu = self.mtu.map(|own| path_mtu.map_or(own, |path| own.min(path)));
        let segment = self.segment(mtu);
        let below_ip = self.layers.len() - self.to_ip;
        if let Some(place) = self.tcp_at.filter(|_| alone_octets == Some(0)) {
            let layers = self.layers.split_off(place).into_iter().rev().collect();
            return Ok(LayersAbove { layers, below_ip, payload: 0 });
        }
        if let (Some(place), Some(size)) = (self.tcp_at.filter(|_| self.is_stream), segment) {
            self.layers.insert(place, segments(size));
        }
        let tcp_of_messages = self.tcp_at.filter(|_| !self.messages);
        let whole = tcp_of_messages.zip(segment.filter(|size| *size > 0)).zip(alone_octets);
        if let Some(((place, size), _)) = whole {
            self.layers.insert(place, alone(size));
        }
        let payload = match segment {
            _ if let Some((_, octets)) = whole => octets,
            Some(size) if !self.datagrams && !self.messages => size,
            Some(_) | None => message_of(self.load)?,
        };
        self.check_datagram(payload, mtu)?;
        self.layers.reverse();
        Ok(LayersAbove { layers: self.layers, below_ip, payload })
    }

    /// A datagram with `payload` must fit into one packet.
    fn check_datagram(&self, payload: u32, mtu: Option<u32>) -> Result<(), String> {
        let headers = self.ip_header + 8;
        match mtu.filter(|mtu| self.datagrams && payload.saturating_add(headers) > *mtu) {
            None => Ok(()),
            Some(mtu) => Err(format!(
                "message is {payload} octets, and with an MTU of {mtu} one datagram carries {}; ladders know no fragments",
                mtu.saturating_sub(headers)
            )),
        }
    }
}

/// Why there is no ladder with `node`.
fn unknown_layer(node: &str, kind: &str) -> String {
    if kind == "x25_switch" {
        return format!(
            "`{node}`, a node of kind `x25_switch`, has no user above it, and adds nothing: packets are put together and cut again for each of its ports; expected a ladder for one of these links, from a host that writes"
        );
    }
    format!(
        "the overhead of `{node}`, a node of kind `{kind}`, is not known; known are ftam, presentation, session, tp0, tpkt, tcp, xtp, udp, ip, ipv6, sim_ether, lapb, lapb_ether, x25, x25_iface, xot, llc, llc_snap, ppp, mapos, eth, fddi, {}",
        FREE.join(", ")
    )
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
        None => Ok(stack.octets(node, "mtu")?.unwrap_or(1500)),
    }
}
