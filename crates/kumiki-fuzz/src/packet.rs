//! Packets in the hands of whoever means no good: changed with right sums, turned round, made up. And a judge of what
//! our own hosts send.

use std::sync::LazyLock;

use kumiki_decode::capture::Link;
use kumiki_decode::packet::Level;
use kumiki_decode::{Decoder, Record, show};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::inet::{ipv4, ipv6};
use kumiki_wire::xtp;

use crate::Draw;

/// The octets of what a host gives to its device, which puts in the sum that was left to it.
pub(crate) fn on_the_line(message: &Message) -> Vec<u8> {
    let mut octets = message.to_vec();
    if let Checksum::Partial { start, field } = message.meta().checksum {
        let (start, field) = (usize::from(start), usize::from(field));
        let sum = Sum::of(&octets[start..]).checksum();
        octets[start + field..start + field + 2].copy_from_slice(&sum.to_be_bytes());
    }
    octets
}

/// Whether packets are printed, for who looks at a finding.
pub(crate) static SHOWN: LazyLock<bool> = LazyLock::new(|| std::env::var_os("KUMIKI_FUZZ_SHOW").is_some());

/// Prints what a host gets, where packets are printed.
pub(crate) fn tell(octets: &[u8], layer: &'static str, what: &str) {
    if *SHOWN {
        let record = Record {
            link: Link::Named(layer),
            octets: octets.to_vec(),
            original_len: octets.len(),
            ..Record::default()
        };
        let packet = Decoder::new().decode(&record);
        println!("{what} {}", show::line(&record, &packet, None));
    }
}

/// What a host sends has nothing wrong in it, in the eyes of the analyser; `layer` is what it begins with, and `what`
/// is printed in front of it.
pub(crate) fn check(judge: &mut Decoder, layer: &'static str, octets: &[u8], what: &str) {
    let record = Record {
        number: 1,
        link: Link::Named(layer),
        octets: octets.to_vec(),
        original_len: octets.len(),
        ..Record::default()
    };
    let packet = judge.decode(&record);
    if *SHOWN {
        println!("{what} {}", show::line(&record, &packet, None));
    }
    for layer in &packet.layers {
        for remark in &layer.remarks {
            let (protocol, text) = (layer.protocol, &remark.text);
            assert!(remark.level != Level::Bad, "{protocol}: {text} in {octets:02x?}");
        }
        if layer.protocol.starts_with("icmp") {
            // What an error quotes is somebody else's.
            break;
        }
    }
}

/// Where the protocol above IP begins and which it is, in what is at least a header.
pub(crate) fn above(octets: &[u8]) -> Option<(usize, u8, Sum)> {
    let len = octets.len();
    match octets.first()? >> 4 {
        4 => {
            let at = 4 * usize::from(octets[0] & 15);
            let addresses = octets.get(12..20)?;
            let protocol = octets[9];
            (at >= 20 && at <= len).then_some((at, protocol, Sum::of(addresses)))
        }
        6 => {
            let addresses = octets.get(8..40)?;
            Some((40, octets[6], Sum::of(addresses)))
        }
        _ => None,
    }
}

/// With the lengths and sums that the octets ask for, so that the packet is believed.
pub(crate) fn repaired(mut octets: Vec<u8>) -> Vec<u8> {
    let Some((at, protocol, addresses)) = above(&octets) else {
        return octets;
    };
    let total = octets.len();
    let length = u32::try_from(total - at).unwrap();
    let sum = addresses.add_u32(length).add_u16(protocol.into());
    if protocol == 36 {
        xtp_repaired(&mut octets[at..]);
    }
    let (field, before) = match protocol {
        6 => (16, sum),
        17 => (6, sum),
        58 => (2, sum),
        1 => (2, Sum::ZERO),
        _ => (usize::MAX, Sum::ZERO),
    };
    if let Some(end) = at.checked_add(field)
        && end + 2 <= total
    {
        octets[end..end + 2].fill(0);
        let checksum = before.plus(Sum::of(&octets[at..])).checksum();
        octets[end..end + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    if octets[0] >> 4 == 4 {
        octets[10..12].fill(0);
        let checksum = ipv4::checksum(&octets[..at]);
        octets[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    octets
}

/// XTP's checksum, which covers no addresses, and where the packet says so only the header.
fn xtp_repaired(packet: &mut [u8]) {
    if let Some(covered) = xtp::covered(packet, packet.len()) {
        let field = xtp::CHECK_OFFSET..xtp::CHECK_OFFSET + 2;
        packet[field.clone()].fill(0);
        let checksum = Sum::of(&packet[..covered]).checksum();
        packet[field].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// With the mark of a queue that is full (RFC 3168), where its sender allows that.
pub(crate) fn marked(mut octets: Vec<u8>) -> Vec<u8> {
    let (at, bits) = if octets[0] >> 4 == 4 { (1, 3) } else { (1, 0x30) };
    if octets[at] & bits == 0 {
        return octets;
    }
    octets[at] |= bits;
    if octets[0] >> 4 == 4 {
        let len = 4 * usize::from(octets[0] & 15);
        octets[10..12].fill(0);
        let checksum = ipv4::checksum(&octets[..len]);
        octets[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    octets
}

/// The same packet as from its receiver to its sender.
pub(crate) fn turned(octets: &[u8]) -> Vec<u8> {
    let mut turned = octets.to_vec();
    let Some((at, protocol, _)) = above(octets) else {
        return turned;
    };
    let (from, len) = if octets[0] >> 4 == 4 { (12, 4) } else { (8, 16) };
    turned[from..from + len].copy_from_slice(&octets[from + len..from + 2 * len]);
    turned[from + len..from + 2 * len].copy_from_slice(&octets[from..from + len]);
    if matches!(protocol, 6 | 17) && octets.len() >= at + 4 {
        turned[at..at + 2].copy_from_slice(&octets[at + 2..at + 4]);
        turned[at + 2..at + 4].copy_from_slice(&octets[at..at + 2]);
    }
    repaired(turned)
}

/// A packet that could be from the sender of `octets`: a segment of the same connection with other numbers, bits,
/// options and text, or an error message about the receiver's packets, or anything else.
pub(crate) fn forged(octets: &[u8], draw: &mut Draw<'_>) -> Vec<u8> {
    let Some((at, 6, _)) = above(octets) else {
        return octets.to_vec();
    };
    let segment = &octets[at..];
    if segment.len() < 20 {
        return octets.to_vec();
    }
    let what = draw.octet();
    if what >= 0xe0 {
        return error(octets, draw);
    }
    let long = |at: usize| u32::from_be_bytes(segment[at..at + 4].try_into().unwrap());
    // Near what is expected, or anywhere.
    let near = |draw: &mut Draw<'_>, from: u32, anywhere: bool| {
        if anywhere { draw.long() } else { from.wrapping_add(draw.word().into()).wrapping_sub(0x4000) }
    };
    let exact = what & 3 == 0;
    let seq = if exact { long(4) } else { near(draw, long(4), what & 3 == 3) };
    let ack = if what & 0x0c == 0 { long(8) } else { near(draw, long(8), what & 0x0c == 0x0c) };
    let flags = draw.octet();
    let options_len = 4 * (draw.below(11));
    let options = draw.take(options_len);
    let options_len = options.len().next_multiple_of(4);
    let mut forged = segment[..4].to_vec();
    forged.extend(seq.to_be_bytes());
    forged.extend(ack.to_be_bytes());
    let words = u8::try_from(5 + options_len / 4).unwrap();
    forged.extend([words << 4, flags]);
    forged.extend(draw.word().to_be_bytes());
    forged.extend([0, 0]);
    forged.extend(if flags & 0x20 != 0 { draw.word() } else { 0 }.to_be_bytes());
    forged.extend(options);
    forged.resize(20 + options_len, 0);
    let text = draw.below(64);
    forged.extend(draw.take(text));
    behind(octets, 6, &forged)
}

/// ICMP tells the receiver that a packet of its own met with something. What it is said to have sent has the numbers
/// that the sender of `octets` acknowledged.
fn error(octets: &[u8], draw: &mut Draw<'_>) -> Vec<u8> {
    let mut quoted = turned(octets);
    let (at, ..) = above(&quoted).unwrap();
    // What it sent last ended where it is acknowledged; its own acknowledgment plays no part.
    let ack: [u8; 4] = octets[at + 8..at + 12].try_into().unwrap();
    let seq = u32::from_be_bytes(ack).wrapping_sub(draw.octet().into());
    quoted[at + 4..at + 8].copy_from_slice(&seq.to_be_bytes());
    let quoted = repaired(quoted);
    let version_6 = octets[0] >> 4 == 6;
    let kind = draw.octet() % if version_6 { 5 } else { 13 };
    let mut message = vec![kind, draw.octet() % 16, 0, 0];
    message.extend(draw.array::<4>());
    let len = 20 + draw.below(60);
    message.extend(quoted.iter().take(len));
    behind(octets, if version_6 { 58 } else { 1 }, &message)
}

/// `data` behind IP's header of `octets`, which it fits.
pub(crate) fn behind(octets: &[u8], protocol: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = if octets[0] >> 4 == 4 {
        let Ok((mut header, _)) = ipv4::Header::parse_quoted(octets) else {
            return octets.to_vec();
        };
        header.options = ipv4::Options::NONE;
        header.protocol = protocol;
        header.more_fragments = false;
        header.fragment_offset = 0;
        header.total_length = u16::try_from(20 + data.len()).unwrap();
        let mut front = vec![0; header.len()];
        header.emit_summed(&mut front);
        front
    } else {
        let Ok((mut header, _)) = ipv6::Header::parse_quoted(octets) else {
            return octets.to_vec();
        };
        header.next_header = protocol;
        header.payload_length = u16::try_from(data.len()).unwrap();
        let mut front = vec![0; header.len()];
        header.emit(&mut front);
        front
    };
    packet.extend(data);
    repaired(packet)
}
