//! From recorded octets to layers: takes each PDU to the dissector that claims it, until nothing follows.

use crate::capture::{Direction, Record};
use crate::key::{Key, Side};
use crate::packet::{Packet, UndissectedOctets};
use crate::reading::{Follow, PacketContext, Reading};
use crate::reassembly::{State, UnfinishedPdu};
use crate::registry::{Dissector, Registry};

/// Layers in any packet at most: an error message can quote an error message, and a frame can carry a frame.
const MOST_LAYERS: usize = 256;

/// So many octets allow for one layer more: a segment of TCP may be full of small packets of a stream, with five layers
/// and more each.
const OCTETS_OF_A_LAYER: usize = 4;

/// Layers in one packet at most, however long it is.
const MOST_LAYERS_EVER: usize = 1 << 16;

/// Layers at most in a packet that has so many octets, what was put together with it included.
fn most_layers(octets: usize) -> usize {
    let more = octets / OCTETS_OF_A_LAYER;
    MOST_LAYERS.saturating_add(more).min(MOST_LAYERS_EVER)
}

/// Decodes packets one after the other; remembers only what is being reassembled, see [`State`].
///
/// ```
/// use kumiki_decode::{Capture, Decoder, Format, Registry, FormatHint};
///
/// // UDP over IPv4, without a link layer; `FormatHint::default()` finds out what a capture file holds.
/// let packet = [
///     0x45, 0, 0, 28, 0, 1, 0x40, 0, 64, 17, 0x26, 0xce, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
///     0xc0, 0, 0, 53, 0, 8, 0, 0, // UDP
/// ];
/// let wish = FormatHint { format: Some(Format::Raw), layer: Some("ip") };
/// let mut capture = Capture::open(&packet[..], wish, &Registry::new())?;
/// let record = capture.next_record()?.expect("one packet");
/// let decoded = Decoder::new().decode(&record);
/// assert!(decoded.layer("udp").is_some_and(|udp| udp.field("destination port").is_some()));
/// assert!(decoded.layer("tcp").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    registry: Registry,
    state: State,
    /// Takes the place of the link type.
    forced: Option<&'static Dissector>,
    /// Whether what identifies users is shown.
    secrets: bool,
}

impl Decoder {
    /// With nothing in progress.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads every packet as `dissector` says, whatever its link type.
    #[must_use]
    pub fn reading_as(mut self, dissector: Option<&'static Dissector>) -> Self {
        self.forced = dissector;
        self
    }

    /// Gives the payloads of user cells on a virtual channel to `dissector`, where AAL5 would be taken.
    #[must_use]
    pub fn adapting(mut self, vpi: u16, vci: u16, dissector: &'static Dissector) -> Self {
        self.state.adapt(vpi, vci, dissector.name);
        self
    }

    /// Gives what TCP carries to and from `port` to `dissector`, whoever claims that port.
    #[must_use]
    pub fn listening(mut self, port: u16, dissector: &'static Dissector) -> Self {
        self.state.give_port(port, dissector.name);
        self
    }

    /// Shows what identifies users too, such as network user identifications of X.25.
    #[must_use]
    pub const fn showing_secrets(mut self) -> Self {
        self.secrets = true;
        self
    }

    /// Decodes one packet.
    pub fn decode(&mut self, record: &Record) -> Packet {
        let first = match self.forced {
            Some(dissector) => Key::Named(dissector.name),
            None => record.link.key(),
        };
        let mut packet = Packet::default();
        let mut waiting = vec![Follow {
            keys: vec![first],
            buffer: 0,
            offset: 0,
            captured: record.octets.len(),
            total: record.original_len.max(record.octets.len()),
            around: PacketContext {
                packet: record.number,
                interface: record.interface,
                from: record.direction.map(|it| match it {
                    Direction::Outbound => Side::Here,
                    Direction::Inbound => Side::There,
                }),
                fcs_len: record.fcs_len,
                secrets: self.secrets,
                ..PacketContext::default()
            },
        }];
        let mut steps = 0_usize;
        let mut most = most_layers(record.octets.len());
        while let Some(follow) = waiting.pop() {
            steps = steps.saturating_add(1);
            let whole = match follow.buffer.checked_sub(1) {
                None => record.octets.as_slice(),
                Some(at) => packet.reassembled.get(at).map_or(&[][..], |pdu| pdu.octets.as_slice()),
            };
            let octets = whole.get(follow.offset..).and_then(|from| from.get(..follow.captured)).unwrap_or_default();
            let dissector = if steps <= most { self.registry.find(&follow.keys) } else { None };
            let Some(dissector) = dissector else {
                let why = if steps <= most {
                    nobody(&follow.keys)
                } else {
                    format!("the packet has more than {most} layers")
                };
                let rest = UndissectedOctets {
                    buffer: follow.buffer,
                    offset: follow.offset,
                    length: follow.total,
                    why,
                    octets: octets.to_vec(),
                };
                packet.rest.push(rest);
                continue;
            };
            let mut reading = Reading::new(
                dissector.name,
                octets,
                &follow,
                &mut self.state,
                packet.reassembled.len().saturating_add(1),
            );
            (dissector.dissect)(&mut reading);
            let Reading { layer, follow: mut inside, rest, reassembled, reread, .. } = reading;
            if !reread {
                packet.layers.push(layer);
            }
            packet.rest.extend(rest);
            packet.reassembled.extend(reassembled);
            let whole = packet.reassembled.iter().map(|pdu| pdu.octets.len());
            most = most_layers(record.octets.len().saturating_add(whole.sum()));
            // The last one is popped first, so this keeps the order of the wire.
            inside.reverse();
            waiting.extend(inside);
        }
        packet
    }

    /// What has begun and not ended: to be asked once there are no more packets.
    #[must_use]
    pub fn unfinished(&self) -> Vec<UnfinishedPdu> {
        self.state.unfinished()
    }
}

/// Why nobody takes what these keys name. What a program sends is data, whoever might know it.
fn nobody(keys: &[Key]) -> String {
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let ports = |key: &Key| matches!(key, Key::TcpPort(_) | Key::UdpPort(_));
    let missing = format!("no decoder for {}", names.join(" or "));
    if keys.is_empty() {
        "data".to_owned()
    } else if keys.iter().all(ports) {
        format!("data ({missing})")
    } else {
        missing
    }
}
