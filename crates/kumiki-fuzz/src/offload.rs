//! Packets put together and cut again are the packets that came; and whatever a super-segment says of itself, nothing
//! panics.

use std::collections::BTreeMap;

use kumiki_graph::Address;
use kumiki_link::offload::{Merger, cut};
use kumiki_octets::{Checksum, Message, Meta, Sum};
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};
use kumiki_wire::inet::{ipv4, ipv6};

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "offload",
    title: "putting packets together and cutting them again; super-segments of any form",
    run,
};

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    within_mb(64.0, || {
        if draw.octet().is_multiple_of(4) {
            any(&mut draw);
        } else {
            back(&mut draw);
        }
    });
}

/// A message that says anything of itself.
fn any(draw: &mut Draw<'_>) {
    let (segment_size, header_len) = (draw.word(), u16::from(draw.octet()));
    let checksum = match draw.octet() % 3 {
        0 => Checksum::Unknown,
        1 => Checksum::Verified,
        _ => Checksum::Partial { start: draw.octet().into(), field: draw.octet().into() },
    };
    let ace = draw.octet() & 1 != 0;
    let mut whole = Message::from_octets(draw.rest());
    *whole.meta_mut() = Meta { segment_size, header_len, ace, checksum };
    let (total, header) = (whole.len(), usize::from(header_len));
    let mut text = 0;
    let good = cut(whole, |packet| {
        text += packet.len();
        if segment_size != 0 {
            assert!(packet.len() <= header + usize::from(segment_size));
            text -= header;
        }
    });
    if good {
        assert_eq!(text, if segment_size == 0 { total } else { total - header });
    }
}

/// One of a few connections.
struct Flow {
    seq: u32,
    identification: u16,
}

fn back(draw: &mut Draw<'_>) {
    let mut flows: BTreeMap<u8, Flow> = BTreeMap::new();
    let mut merger = Merger::default();
    let (mut came, mut left) = (Packets::default(), Packets::default());
    let mut out = |_: Address, message: Message| {
        assert!(message.len() <= 65_535);
        assert!(cut(message, |packet| left.take(&packet.to_vec())));
    };
    for _ in 0..200 {
        if draw.is_empty() {
            break;
        }
        let what = draw.octet();
        let packet = if what >= 0xf8 {
            let len = draw.octet();
            draw.take(len.into()).to_vec()
        } else {
            let flow = flows.entry(what & 0x0f).or_insert(Flow { seq: 1_000_000, identification: 7 });
            next(draw, what, flow)
        };
        if packet.is_empty() {
            continue;
        }
        came.take(&packet);
        let address = Address::NONE;
        merger.take(address, Message::from_octets(&packet), &mut out);
        if what & 0x70 == 0x70 {
            merger.flush(&mut out);
            assert!(merger.is_empty());
        }
    }
    merger.flush(&mut out);
    for (flow, packets) in &came.0 {
        assert_eq!(left.0.get(flow), Some(packets));
    }
    assert_eq!(came.0.len(), left.0.len());
}

/// Packets by connection, in order; those that are none of TCP are a connection of their own.
#[derive(Default)]
struct Packets(BTreeMap<Vec<u8>, Vec<Vec<u8>>>);

impl Packets {
    fn take(&mut self, packet: &[u8]) {
        let plain = |ip: usize| {
            let flow = if ip == 20 { 12..24 } else { 8..44 };
            (packet.get(flow).unwrap_or_default().to_vec(), ip)
        };
        let (flow, ip) = match packet {
            [0x45, _, _, _, _, _, _, _, _, 6, ..] if packet.len() >= 40 => plain(20),
            [v, _, _, _, _, _, 6, ..] if v >> 4 == 6 && packet.len() >= 60 => plain(40),
            _ => (Vec::new(), 0),
        };
        let mut octets = packet.to_vec();
        if ip == 20 {
            // A super-segment has one identification, and its packets count up from it.
            octets[4..6].fill(0);
            octets[10..12].fill(0);
        }
        self.0.entry(flow).or_default().push(octets);
    }
}

/// The next packet of a connection, in most cases the one that follows the last.
fn next(draw: &mut Draw<'_>, what: u8, flow: &mut Flow) -> Vec<u8> {
    let how = draw.octet();
    let len = match how & 3 {
        0 | 1 => 100,
        2 => draw.octet().into(),
        _ => 1400,
    };
    let jump = if how & 0x0c == 0x0c { draw.octet().into() } else { 0 };
    let flags = match how >> 4 {
        0..=9 => Flags::ACK,
        10 | 11 => Flags::ACK | Flags::PSH,
        12 => Flags::ACK | Flags::FIN,
        13 => Flags::ACK | Flags::CWR,
        14 => Flags::ACK | Flags::URG,
        _ => Flags::from_bits(draw.word() & 0x1ff),
    };
    let mut header = Header {
        source_port: 1000 + u16::from(what & 7),
        destination_port: 80,
        seq: Seq(flow.seq.wrapping_add(jump)),
        ack: Seq(77),
        flags,
        window: 500,
        options: Options { timestamps: (what & 8 != 0).then_some((1, 2)), ..Options::NONE },
        ..Header::default()
    };
    flow.seq = flow.seq.wrapping_add(jump).wrapping_add(len);
    let text = vec![how; len as usize];
    let mut tcp = vec![0; header.len()];
    header.emit(&mut tcp);
    tcp.extend(&text);
    let octets = u16::try_from(tcp.len()).unwrap();
    let version_6 = what & 4 != 0;
    let (mut packet, pseudo) = if version_6 {
        let ip = ipv6::Header {
            payload_length: octets,
            next_header: 6,
            source: "fd00::1".parse().unwrap(),
            destination: "fd00::2".parse().unwrap(),
            ..ipv6::Header::default()
        };
        let mut front = vec![0; ip.len()];
        ip.emit(&mut front);
        let pseudo = ipv6::pseudo_header(ip.source, ip.destination, 6, octets.into());
        (front, Sum::of(&pseudo))
    } else {
        let mut ip = ipv4::Header {
            protocol: 6,
            identification: flow.identification,
            dont_fragment: what & 0x10 != 0,
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            ..ipv4::Header::default()
        };
        flow.identification = flow.identification.wrapping_add(1);
        ip.total_length = 20 + octets;
        let mut front = vec![0; ip.len()];
        ip.emit_summed(&mut front);
        let pseudo = ipv4::pseudo_header(ip.source, ip.destination, 6, octets);
        (front, Sum::of(&pseudo))
    };
    header.checksum = pseudo.plus(Sum::of(&tcp)).checksum();
    let end = header.len();
    header.emit(&mut tcp[..end]);
    packet.extend(tcp);
    // Something about it may be wrong.
    if how & 0xc == 8 && draw.octet() & 7 == 7 {
        let at = draw.below(packet.len());
        packet[at] ^= draw.octet();
    }
    packet
}
