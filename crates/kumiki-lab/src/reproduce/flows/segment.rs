//! One TCP segment, as a decoded packet has it.

use std::net::{IpAddr, SocketAddr};

use kumiki_decode::Packet;
use kumiki_decode::Record;
use kumiki_decode::packet::{Layer, Value};

/// Both ends of a connection, the lower address first, so that both ways are of the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Connection(pub(super) SocketAddr, pub(super) SocketAddr);

/// What the time-sequence plot needs of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Segment {
    /// When it was seen, in nanoseconds of the capture.
    pub(super) at_ns: i128,
    /// Which packet of the capture it is.
    pub(super) number: u64,
    /// Who sent it, and who is to have it.
    pub(super) ends: Option<(SocketAddr, SocketAddr)>,
    pub(super) seq: u32,
    /// The acknowledgment number, where it counts.
    pub(super) ack: Option<u32>,
    /// Octets of data.
    pub(super) len: u32,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) reset: bool,
    /// The window as it stands.
    pub(super) window: u32,
    /// The window's shift count, of a SYN that has one.
    pub(super) shift: Option<u32>,
    /// Both edges of each block of a selective acknowledgment.
    pub(super) sack: Vec<(u32, u32)>,
}

/// Bits of the header (RFC 9293 section 3.1).
const FIN: u64 = 0x01;
const SYN: u64 = 0x02;
const RST: u64 = 0x04;
const ACK: u64 = 0x10;

impl Segment {
    /// The first segment of a packet, with its connection; nothing of one that an error message quotes.
    pub(super) fn of(record: &Record, packet: &Packet) -> Option<(Connection, Self)> {
        let place = packet.layers.iter().position(|layer| layer.protocol == "tcp")?;
        let (around, from) = packet.layers.split_at_checked(place)?;
        if around.iter().any(|layer| layer.protocol.starts_with("icmp")) {
            return None;
        }
        let tcp = from.first()?;
        let [source, destination] = around.iter().rev().find_map(|layer| layer.ends.as_ref())?;
        let end = |address: &str, port: &str| -> Option<SocketAddr> {
            let port = u16::try_from(number(tcp, port)?).ok()?;
            Some(SocketAddr::new(address.parse::<IpAddr>().ok()?, port))
        };
        let (source, destination) = (end(source, "source port")?, end(destination, "destination port")?);
        let bits = number(tcp, "control bits")?;
        let has = |bit| bits & bit != 0;
        let word = |name| number(tcp, name).and_then(|value| u32::try_from(value).ok());
        let segment = Self {
            at_ns: record.time.map(|time| time.0).unwrap_or_default(),
            number: record.number,
            ends: Some((source, destination)),
            seq: word("sequence number")?,
            ack: word("acknowledgment number").filter(|_| has(ACK)),
            len: u32::try_from(tcp.total.saturating_sub(tcp.length)).ok()?,
            syn: has(SYN),
            fin: has(FIN),
            reset: has(RST),
            window: word("window")?,
            shift: word("window scale").map(|shift| shift.min(14)),
            sack: sack(tcp),
        };
        let (low, high) = if source <= destination { (source, destination) } else { (destination, source) };
        Some((Connection(low, high), segment))
    }
}

fn number(layer: &Layer, name: &str) -> Option<u64> {
    match layer.field(name)? {
        Value::Number(number) | Value::Hex(number, _) => Some(*number),
        Value::Flag(_) | Value::Text(_) | Value::Octets(_) => None,
    }
}

/// "1000-2448 5344-6792"
fn sack(layer: &Layer) -> Vec<(u32, u32)> {
    let Some(Value::Text(blocks)) = layer.field("sack") else {
        return Vec::new();
    };
    let block = |text: &str| {
        let (left, right) = text.split_once('-')?;
        Some((left.parse().ok()?, right.parse().ok()?))
    };
    blocks.split(' ').filter_map(block).collect()
}
