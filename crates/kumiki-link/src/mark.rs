//! Marks of congestion in frames that carry IP.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 3168 section 5 (the ECN field), RFC 8200 section 3, RFC 1624 (the header's checksum) |
//! | Found | an IPv4 or IPv6 header at the front of a frame, or behind an Ethernet header, or behind those of FDDI, LLC and SNAP |
//! | Left out | what other headers and trailers enclose, which may have a sum of their own; cells, whose header has a mark of its own (EFCI) |
//!
//! A queue that marks must read what an IP router reads, as queues of routers do.

use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::inet::ipv4::{self, Ecn};
use kumiki_wire::inet::llc_snap;
use kumiki_wire::inet::{ethernet, fddi, ipv6};

/// Octets of an Ethernet header.
const ETHERNET: usize = 14;
/// Octets of an FDDI header, and of LLC and SNAP behind it.
const FDDI: usize = fddi::LEN + llc_snap::LEN;

/// What became of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// It was made.
    Made,
    /// The frame had come with one.
    Found,
    /// The sender allows none, or no packet was found.
    Refused,
}

/// Marks the packet in `frame` with CE, where its sender says that it may be (ECT); false where it was not, or was
/// marked already.
pub fn mark(frame: &mut Message) -> bool {
    mark_or_find(frame) == Mark::Made
}

/// As [`mark`], and says whether it was marked already.
pub(crate) fn mark_or_find(frame: &mut Message) -> Mark {
    let at = packet_at(frame);
    mark_at(frame, at)
}

/// With which octet of `frame` its packet of IP begins, if there is one.
pub(crate) fn packet_at(frame: &Message) -> usize {
    let mut types = [0; 2];
    if frame.copy_to(ETHERNET - 2, &mut types) && is_ethernet(u16::from_be_bytes(types)) {
        // An address of IP may have these octets too.
        if is_ip(frame) { 0 } else { ETHERNET }
    } else if is_fddi(frame) {
        FDDI
    } else {
        0
    }
}

const fn is_ethernet(ethertype: u16) -> bool {
    ethertype == ethernet::ethertype::IPV4 || ethertype == ethernet::ethertype::IPV6
}

/// Whether this is a frame of FDDI with IP in it: no version of IP begins so, and no Ethernet has these octets around
/// its type.
fn is_fddi(frame: &Message) -> bool {
    let mut front = [0; FDDI];
    if !frame.copy_to(0, &mut front) || front.first().is_none_or(|fc| fc & 0xf8 != 0x50) {
        return false;
    }
    let snap = front.get(fddi::LEN..).map(llc_snap::Header::parse);
    matches!(snap, Some(Ok((llc_snap::Header::EtherType(it), _))) if is_ethernet(it))
}

/// Whether an IP packet begins with the frame, and with it ends it.
fn is_ip(frame: &Message) -> bool {
    let mut header = [0; ipv4::MIN_LEN];
    if !frame.copy_to(0, &mut header) {
        return false;
    }
    let [version, _, l0, l1, p0, p1, ..] = header;
    match version >> 4 {
        4 => usize::from(u16::from_be_bytes([l0, l1])) == frame.len(),
        6 => usize::from(u16::from_be_bytes([p0, p1])) + ipv6::LEN == frame.len(),
        _ => false,
    }
}

/// As [`mark_or_find`], of an IP header that begins with octet `at`.
fn mark_at(frame: &mut Message, at: usize) -> Mark {
    let mut octets = [0; FDDI + ipv6::LEN];
    let Some(front) = octets.get_mut(..at + ipv4::MIN_LEN) else {
        return Mark::Refused;
    };
    if !frame.copy_to(0, front) {
        return Mark::Refused;
    }
    let len = front.len();
    let total = frame.len() - at;
    let Some(header) = front.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<{ ipv4::MIN_LEN }>) else {
        return Mark::Refused;
    };
    let mark = match header[0] >> 4 {
        4 => mark_ipv4(header, total),
        6 => mark_ipv6(header, total),
        _ => Mark::Refused,
    };
    if mark != Mark::Made {
        return mark;
    }
    if frame.pop_header(len).is_err() {
        return Mark::Refused;
    }
    frame.push_header(len).copy_from_slice(front);
    // What was known covered the old header too.
    if matches!(frame.meta().checksum, Checksum::Sum(_)) {
        frame.meta_mut().checksum = Checksum::Unknown;
    }
    mark
}

/// What can be done with a packet whose ECN field is this.
const fn allowed(ecn: Ecn) -> Mark {
    match ecn {
        Ecn::NotEct => Mark::Refused,
        Ecn::Ect0 | Ecn::Ect1 => Mark::Made,
        Ecn::Ce => Mark::Found,
    }
}

/// The first octets of a packet of at most `total` octets.
fn mark_ipv4(header: &mut [u8; ipv4::MIN_LEN], total: usize) -> Mark {
    let [version, tos, l0, l1, _, _, _, _, _, _, c0, c1, ..] = header;
    let words = usize::from(*version & 0xf);
    let length = usize::from(u16::from_be_bytes([*l0, *l1]));
    if words < 5 || length < 4 * words || length > total {
        return Mark::Refused;
    }
    let mark = allowed(Ecn::from_bits(*tos));
    if mark != Mark::Made {
        return mark;
    }
    let old = u16::from_be_bytes([*version, *tos]);
    *tos |= Ecn::Ce.bits();
    let new = u16::from_be_bytes([*version, *tos]);
    let checksum = Sum::update(u16::from_be_bytes([*c0, *c1]), old, new);
    [*c0, *c1] = checksum.to_be_bytes();
    mark
}

/// The first octets of a packet of at most `total` octets.
fn mark_ipv6(header: &mut [u8; ipv4::MIN_LEN], total: usize) -> Mark {
    let [_, class, _, _, l0, l1, ..] = header;
    let length = usize::from(u16::from_be_bytes([*l0, *l1])) + ipv6::LEN;
    // The low half of the traffic class is in the upper half of the second octet.
    if length > total {
        return Mark::Refused;
    }
    let mark = allowed(Ecn::from_bits(*class >> 4));
    if mark == Mark::Made {
        *class |= Ecn::Ce.bits() << 4;
    }
    mark
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    fn packet(version: u8, class: u8, text: &[u8]) -> Vec<u8> {
        let len = u16::try_from(text.len()).unwrap();
        let mut octets = if version == 4 {
            let header = ipv4::Header {
                type_of_service: class,
                total_length: 20 + len,
                source: Ipv4Addr::new(10, 0, 0, 1),
                destination: Ipv4Addr::new(10, 0, 0, 2),
                protocol: 6,
                ..ipv4::Header::default()
            };
            let mut octets = vec![0; 20];
            header.emit_summed(&mut octets);
            octets
        } else {
            let header = ipv6::Header {
                traffic_class: class,
                payload_length: len,
                next_header: 6,
                source: Ipv6Addr::LOCALHOST,
                destination: Ipv6Addr::LOCALHOST,
                ..ipv6::Header::default()
            };
            let mut octets = vec![0; 40];
            header.emit(&mut octets);
            octets
        };
        octets.extend(text);
        octets
    }

    proptest! {
        /// Behind a link header or not, and wherever its octets lie.
        #[test]
        fn a_mark_changes_one_field_and_the_sum(
            version in prop::sample::select(vec![4_u8, 6]), class: u8,
            text in prop::collection::vec(any::<u8>(), 1..100), medium in 0..3, at in 0..60_usize,
        ) {
            let mut link = match medium {
                0 => Vec::new(),
                1 => vec![2; ETHERNET - 2],
                _ => [&[0x50], &[2; 12][..], &[0xaa, 0xaa, 3, 0, 0, 0]].concat(),
            };
            if medium > 0 {
                link.extend(if version == 4 { [8, 0] } else { [0x86, 0xdd] });
            }
            let frame = |class| [link.clone(), packet(version, class, &text)].concat();
            let octets = frame(class);
            let (front, rest) = octets.split_at(at.min(octets.len()));
            let mut message = Message::from_octets(rest);
            message.push(front.len()).copy_from_slice(front);
            let may = matches!(class & 3, 1 | 2);
            prop_assert_eq!(mark(&mut message), may);
            let expected = if may { frame(class | 3) } else { octets };
            prop_assert_eq!(message.to_vec(), expected);
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            let mut message = Message::from_octets(&octets);
            mark(&mut message);
            prop_assert_eq!(message.len(), octets.len());
        }
    }

    #[test]
    fn an_address_that_looks_like_an_ethernet_frame_is_none() {
        let mut octets = packet(4, 0, &[7; 600]);
        // From 8.0.69.2 to 2.40.6.6.
        octets[12..20].copy_from_slice(&[8, 0, 0x45, 2, 2, 40, 6, 6]);
        let mut message = Message::from_octets(&octets);
        assert!(!mark(&mut message));
        assert_eq!(message.to_vec(), octets);
    }

    #[test]
    fn what_is_no_whole_packet_is_left_alone() {
        let whole = packet(4, 2, &[7; 30]);
        for cut in 0..whole.len() {
            let mut message = Message::from_octets(&whole[..cut]);
            assert!(!mark(&mut message), "{cut}");
        }
        // LLC/SNAP, in a PDU of AAL5, whose CRC would be wrong.
        let mut pdu = vec![0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        pdu.extend(&whole);
        assert!(!mark(&mut Message::from_octets(&pdu)));
    }
}
