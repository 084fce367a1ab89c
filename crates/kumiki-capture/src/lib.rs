//! What crosses the access points of a graph, as records of a capture that Wireshark and tshark read.
//!
//! | | |
//! |---|---|
//! | Specification | pcapng, by [`kumiki_pcapng`] |
//! | Octets | a PDU with LLC/SNAP: behind a `SunATM` header where it has a virtual channel; a datagram, an Ethernet, FDDI or PPP frame: as it is; a LAPB frame: behind a `SITA` header; of any other layer: behind tags that name its dissector |
//! | Comments | `dropped:` and the reason, where the graph threw a PDU away before it came to another tap |
//! | Left out | which access points are on record, but for a [`Stream`]; the order of several hosts |

use std::io::Write;

use kumiki_graph::{Address, Tapped};
use kumiki_octets::{Checksum, Sum};
use kumiki_pcapng::{CaptureError, Direction, InterfaceId, LinkType, Packet, PcapNg, sita, sunatm, upper_pdu};
use kumiki_wire::atm::cell::Vc;

mod stream;

pub use stream::Stream;

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

/// How records of an interface are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Behind a `SunATM` header.
    Channel,
    /// From LLC on.
    Llc,
    /// From the header of IP on.
    Datagram,
    /// An Ethernet frame.
    Ethernet,
    /// An FDDI frame.
    Fddi,
    /// A PPP frame.
    Ppp,
    /// A MAPOS frame.
    Mapos,
    /// Behind a `SITA` header.
    Lapb,
    /// Behind tags that name this dissector.
    Tagged(&'static str),
}

impl Form {
    /// Of what is `content`, where `has_channel` says whether there are virtual channels.
    #[must_use]
    pub fn with(content: Content, has_channel: impl FnOnce() -> bool) -> Self {
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

    /// What the interface says of its records.
    #[must_use]
    pub const fn link_type(self) -> LinkType {
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
#[must_use]
pub fn channel(tapped: &Tapped) -> Address {
    let found = [tapped.source, tapped.destination].into_iter().find(|address| address.get::<Vc>().is_some());
    found.unwrap_or_default()
}

/// Writes records: the first `snaplen` octets of each PDU with what stands before it, or all where that is 0.
#[derive(Debug)]
pub struct Writer {
    snaplen: u32,
    /// The last record, whose memory the next one takes.
    octets: Vec<u8>,
}

impl Writer {
    /// Of each record so many octets.
    #[must_use]
    pub const fn new(snaplen: u32) -> Self {
        Self { snaplen, octets: Vec::new() }
    }

    /// What is kept of the last record, with what stands before it.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Writes what crossed as a record of this interface.
    ///
    /// # Errors
    /// [`CaptureError`] where `file` refuses.
    pub fn write<W: Write>(
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
    pub fn lay(&mut self, form: Form, tapped: &Tapped) -> usize {
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
#[must_use]
pub const fn direction(down: bool) -> Direction {
    if down { Direction::Outbound } else { Direction::Inbound }
}

/// What a record says of what was thrown away.
#[must_use]
pub fn comment(reason: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_left_to_the_device_is_completed() {
        let mut octets = [0xff, 0xff, 0x12, 0x34, 0x00, 0x01, 0x56, 0x78];
        complete(&mut octets, 2, 2);
        assert_eq!(octets, [0xff, 0xff, 0x12, 0x34, 0x97, 0x52, 0x56, 0x78]);
        // Nothing is where a field should be.
        let before = octets;
        complete(&mut octets, 2, 6);
        complete(&mut octets, 9, 0);
        assert_eq!(octets, before);
    }
}
