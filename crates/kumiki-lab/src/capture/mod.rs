//! What crossed the access points of a run, as a capture that Wireshark and tshark read; and what TCP noted itself.
//!
//! | | |
//! |---|---|
//! | Specification | pcapng, by [`kumiki_pcapng`] |
//! | Interfaces | one for each access point on record, named `host.device` or `host.upper/lower` |
//! | Octets | a PDU with LLC/SNAP: behind a `SunATM` header where it has a virtual channel; a datagram, an Ethernet, FDDI or PPP frame: as it is; a LAPB frame: behind a `SITA` header; of any other layer: behind tags that name its dissector |
//! | Comments | `dropped:` and the reason, where the graph threw a PDU away before it came to another tap |
//! | Left out | cells, and what the media do to frames: taps are in hosts. Super-segments are not cut |
//!
//! Times are those at which a primitive crossed, in nanoseconds since the start of the run. One file can hold several
//! hosts, and then shows each packet once for each host that it passed; a reader that follows connections takes the
//! second for a retransmission, so give it the capture of one host ([`pcapng`] of one [`Captured`]).

use core::fmt;
use core::str::FromStr;
use kumiki_wire::atm::cell::Vc;
use std::collections::BTreeMap;
use std::io::Write;

use kumiki_graph::{AccessPoint, Address, Tapped};
use kumiki_octets::{Checksum, Sum};
use kumiki_pcapng::{CaptureError, Direction, InterfaceId, LinkType, Packet, PcapNg, sita, sunatm, upper_pdu};
use kumiki_sim::Host;

mod plot;
mod spool;
mod stream;
#[cfg(test)]
mod tests;
pub mod trace;

pub(crate) use plot::thinned;
pub use spool::{Contents, Spool, Spooled};
pub use stream::Stream;

/// Which access points are put on record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Layers {
    /// None.
    #[default]
    None,
    /// Those above devices: what adapters get and give. `device` in text.
    Device,
    /// Those below IP: datagrams. `ip` in text.
    Ip,
    /// Every one. `all` in text.
    All,
    /// These. `host.upper/lower` in text, separated by commas.
    Named(Vec<Name>),
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Device => f.write_str("device"),
            Self::Ip => f.write_str("ip"),
            Self::All => f.write_str("all"),
            Self::Named(names) => f.write_str(&names.iter().map(Name::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// The name of an access point.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name {
    /// The host.
    pub host: String,
    /// The node above.
    pub upper: String,
    /// The node or device below.
    pub lower: String,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.host, self.upper, self.lower)
    }
}

/// A text that names no layers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" names no layer; write device, ip or all, or access points as host.upper/lower, as in sender.ip/llc_snap"
)]
pub struct NoLayer(String);

impl FromStr for Name {
    type Err = NoLayer;

    fn from_str(text: &str) -> Result<Self, NoLayer> {
        let parts = text.split_once('.').and_then(|(host, layers)| {
            let (upper, lower) = layers.split_once('/')?;
            Some([host, upper, lower])
        });
        match parts {
            Some(parts) if parts.iter().all(|part| !part.is_empty()) => {
                let [host, upper, lower] = parts.map(str::to_owned);
                Ok(Self { host, upper, lower })
            }
            _ => Err(NoLayer(text.to_owned())),
        }
    }
}

impl FromStr for Layers {
    type Err = NoLayer;

    fn from_str(text: &str) -> Result<Self, NoLayer> {
        Ok(match text.trim() {
            "device" => Self::Device,
            "ip" => Self::Ip,
            "all" => Self::All,
            names => {
                let names = names.split(',').map(|name| name.trim().parse());
                Self::Named(names.collect::<Result<_, _>>()?)
            }
        })
    }
}

/// What the PDUs at an access point are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// PDUs that begin with LLC.
    Llc,
    /// Datagrams of either version of IP.
    Datagram,
    /// Ethernet frames.
    Ethernet,
    /// FDDI frames from frame control on, without their check sequence.
    Fddi,
    /// PPP frames without flags and frame check sequence.
    Ppp,
    /// MAPOS frames without flags and frame check sequence; on a line that carries PPP too, PPP frames as well.
    Mapos,
    /// LAPB frames without flags and frame check sequence.
    Lapb,
    /// What this dissector of Wireshark reads.
    Payload(&'static str),
}

impl Content {
    /// By the kinds of the layers above and below.
    #[must_use]
    pub fn between(upper: &str, lower: &str) -> Self {
        match (upper, lower) {
            ("llc" | "llc_snap", _) => Self::Llc,
            ("ip" | "ipv6" | "raw_ip" | "vc_mux", _) => Self::Datagram,
            ("eth", _) => Self::Ethernet,
            ("fddi", _) => Self::Fddi,
            ("ppp", _) | ("ppp_daemon", "ppp") => Self::Ppp,
            ("sdh" | "mapos_switch", _) => Self::Mapos,
            ("lapb" | "x32", _) => Self::Lapb,
            ("x25", _) => Self::Payload("x.25"),
            ("tcp", "ip" | "ipv6") => Self::Payload("tcp"),
            ("udp", "ip" | "ipv6") => Self::Payload("udp"),
            ("icmp", "ip") => Self::Payload("icmp"),
            ("icmp", "ipv6") => Self::Payload("icmpv6"),
            _ => Self::Payload("data"),
        }
    }
}

/// An access point on record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tap {
    /// The node above.
    pub upper: String,
    /// The node or device below.
    pub lower: String,
    /// Whether a device is below.
    pub above_device: bool,
    /// What its PDUs are.
    pub content: Content,
}

impl Tap {
    /// What the interface of it is called.
    fn name(&self, host: &str) -> String {
        let Self { upper, lower, .. } = self;
        if self.above_device { format!("{host}.{lower}") } else { format!("{host}.{upper}/{lower}") }
    }
}

/// What one host's taps have seen.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The host.
    pub host: String,
    /// Its access points on record.
    pub taps: BTreeMap<AccessPoint, Tap>,
    /// What crossed them, in the order in which the host did it.
    pub seen: Vec<Tapped>,
}

impl Captured {
    /// Puts the access points of `host` on record that `layers` asks for. `kind_of` gives the kind of the node or
    /// device of a name.
    pub fn tap(
        layers: &Layers,
        host: &mut Host,
        is_device: impl Fn(&str) -> bool,
        kind_of: impl Fn(&str) -> String,
    ) -> Self {
        let wanted = |upper: &str, lower: &str| match layers {
            Layers::None => false,
            Layers::Device => is_device(lower),
            Layers::Ip => ["ip", "ipv6"].contains(&kind_of(upper).as_str()),
            Layers::All => true,
            Layers::Named(names) => names.iter().any(|name| {
                (name.host.as_str(), name.upper.as_str(), name.lower.as_str()) == (&host.name, upper, lower)
            }),
        };
        let taps: BTreeMap<AccessPoint, Tap> = host
            .graph
            .access_points()
            .filter(|(_, upper, lower)| wanted(upper, lower))
            .map(|(access_point, upper, lower)| {
                let tap = Tap {
                    upper: upper.to_owned(),
                    lower: lower.to_owned(),
                    above_device: is_device(lower),
                    content: Content::between(&kind_of(upper), &kind_of(lower)),
                };
                (access_point, tap)
            })
            .collect();
        for access_point in taps.keys() {
            host.graph.tap(*access_point);
        }
        Self { host: host.name.clone(), taps, seen: Vec::new() }
    }

    /// Whether `name` is one of its access points on record.
    pub(crate) fn has(&self, name: &Name) -> bool {
        self.host == name.host && self.taps.values().any(|tap| (&tap.upper, &tap.lower) == (&name.upper, &name.lower))
    }
}

/// As [`cut`], with every octet.
///
/// # Errors
/// As [`cut`].
pub fn pcapng<W: Write>(captured: &[Captured], out: W) -> Result<W, CaptureError> {
    cut(captured, 0, out)
}

/// Writes what was `captured` as pcapng, in order of time, of each PDU with what stands before it no more than the
/// first `snaplen` octets, or all where that is 0; hands `out` back, flushed.
///
/// `out` gets many short writes: hand over a [`std::io::BufWriter`] where that matters. Where several things happened
/// at one instant, those of one host keep their order, and hosts come in the order of `captured`.
///
/// # Errors
/// [`CaptureError`] where `out` refuses, or a PDU has 2 GiB or more.
pub fn cut<W: Write>(captured: &[Captured], snaplen: u32, out: W) -> Result<W, CaptureError> {
    let mut file = PcapNg::new(out)?;
    let mut interfaces = BTreeMap::new();
    for (number, captured) in captured.iter().enumerate() {
        for (access_point, tap) in &captured.taps {
            let form = Form::of(captured, *access_point, tap.content);
            let id = file.add_interface(&tap.name(&captured.host), form.link_type(), snaplen)?;
            interfaces.insert((number, *access_point), (id, form));
        }
    }
    let seen = captured
        .iter()
        .enumerate()
        .flat_map(|(number, captured)| captured.seen.iter().map(move |tapped| (number, tapped)));
    let mut seen: Vec<(usize, &Tapped)> = seen.collect();
    seen.sort_by_key(|(_, tapped)| tapped.at);
    let mut writer = Writer::new(snaplen);
    for (number, tapped) in seen {
        if let Some(place) = interfaces.get(&(number, tapped.access_point)) {
            writer.write(&mut file, *place, tapped)?;
        }
    }
    file.finish()
}

/// How records of an interface are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Behind a `SunATM` header.
    Channel,
    Llc,
    Datagram,
    Ethernet,
    Fddi,
    Ppp,
    Mapos,
    Lapb,
    Tagged(&'static str),
}

impl Form {
    fn of(captured: &Captured, access_point: AccessPoint, content: Content) -> Self {
        let has_channel = |tapped: &Tapped| tapped.access_point == access_point && channel(tapped) != Address::NONE;
        Self::with(content, || captured.seen.iter().any(has_channel))
    }

    /// Of what is `content`, where `has_channel` says whether there are virtual channels.
    fn with(content: Content, has_channel: impl FnOnce() -> bool) -> Self {
        match content {
            Content::Llc if has_channel() => Self::Channel,
            Content::Llc => Self::Llc,
            Content::Datagram => Self::Datagram,
            Content::Ethernet => Self::Ethernet,
            Content::Fddi => Self::Fddi,
            Content::Ppp => Self::Ppp,
            Content::Mapos => Self::Mapos,
            Content::Lapb => Self::Lapb,
            Content::Payload(dissector) => Self::Tagged(dissector),
        }
    }

    const fn link_type(self) -> LinkType {
        match self {
            Self::Channel => LinkType::SunAtm,
            Self::Llc => LinkType::AtmLlc,
            Self::Datagram => LinkType::RawIp,
            Self::Ethernet => LinkType::Ethernet,
            Self::Fddi => LinkType::Fddi,
            Self::Ppp => LinkType::Ppp,
            Self::Mapos => LinkType::User(14),
            Self::Lapb => LinkType::Sita,
            Self::Tagged(_) => LinkType::UpperPdu,
        }
    }

    /// Puts what stands before a PDU behind `octets`.
    fn header(self, tapped: &Tapped, direction: Direction, octets: &mut Vec<u8>) {
        match self {
            Self::Channel => {
                let (vpi, vci) =
                    if let Some(Vc { vpi, vci }) = channel(tapped).get::<Vc>() { (vpi, vci) } else { (0, 0) };
                // The header has the eight bits of a user-network interface.
                let [_, vpi] = vpi.to_be_bytes();
                octets.extend(sunatm(direction, vpi, vci));
            }
            Self::Llc | Self::Datagram | Self::Ethernet | Self::Fddi | Self::Ppp | Self::Mapos => {}
            Self::Lapb => octets.extend(sita(direction)),
            Self::Tagged(dissector) => {
                octets.extend(upper_pdu(dissector, tapped.source.ip(), tapped.destination.ip()));
            }
        }
    }
}

/// The virtual channel that a unit went or came by, if there is one.
fn channel(tapped: &Tapped) -> Address {
    let found = [tapped.source, tapped.destination].into_iter().find(|address| address.get::<Vc>().is_some());
    found.unwrap_or_default()
}

/// Writes records: the first `snaplen` octets of each PDU with what stands before it, or all where that is 0.
#[derive(Debug)]
struct Writer {
    snaplen: u32,
    /// The last record, whose memory the next one takes.
    octets: Vec<u8>,
}

impl Writer {
    const fn new(snaplen: u32) -> Self {
        Self { snaplen, octets: Vec::new() }
    }

    fn write<W: Write>(
        &mut self,
        file: &mut PcapNg<W>,
        (interface, form): (InterfaceId, Form),
        tapped: &Tapped,
    ) -> Result<(), CaptureError> {
        let original_len = self.lay(form, tapped);
        let comment = tapped.dropped.map(comment);
        let packet = Packet {
            at_ns: tapped.at.as_nanos(),
            octets: &self.octets,
            original_len,
            direction: Some(direction(tapped.down)),
            comment: comment.as_deref(),
        };
        file.write_packet(interface, &packet)
    }

    /// Puts what is kept of a record in the place of the last; says how many octets all would be.
    fn lay(&mut self, form: Form, tapped: &Tapped) -> usize {
        let Self { snaplen, octets } = self;
        octets.clear();
        form.header(tapped, direction(tapped.down), octets);
        let front = octets.len();
        let whole = front.saturating_add(tapped.data.len());
        let checksum = tapped.data.meta().checksum;
        // A sum that is to be completed is of all octets.
        let is_cut = *snaplen > 0 && !matches!(checksum, Checksum::Partial { .. });
        let most = usize::try_from(*snaplen).ok().filter(|_| is_cut);
        let kept = most.map_or(whole, |most| most.clamp(front, whole));
        let mut left = kept - front;
        tapped.data.for_each(|piece| {
            let piece = piece.get(..left).unwrap_or(piece);
            octets.extend_from_slice(piece);
            left -= piece.len();
        });
        debug_assert_eq!(left, 0, "a message has the octets that it says");
        if let Checksum::Partial { start, field } = checksum {
            complete(octets.get_mut(front..).unwrap_or_default(), start, field);
        }
        whole
    }
}

/// Which way something went that went down, or up.
const fn direction(down: bool) -> Direction {
    if down { Direction::Outbound } else { Direction::Inbound }
}

/// What a record says of what was thrown away.
fn comment(reason: &str) -> String {
    format!("dropped: {reason}")
}

/// Does what a device would: completes the checksum at `field` of what begins at `start`.
fn complete(octets: &mut [u8], start: u16, field: u16) {
    let Some(covered) = octets.get_mut(usize::from(start)..) else {
        return;
    };
    let checksum = Sum::of(covered).checksum();
    let place = covered.get_mut(usize::from(field)..).and_then(<[u8]>::first_chunk_mut);
    if let Some(place) = place {
        *place = checksum.to_be_bytes();
    }
}
