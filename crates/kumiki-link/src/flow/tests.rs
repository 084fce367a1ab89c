use core::net::{Ipv4Addr, Ipv6Addr};

use kumiki_wire::inet::ipv4::Ecn;
use proptest::prelude::*;

use super::*;

fn ipv4(protocol: u8, fragment: (bool, u16), text: &[u8]) -> Vec<u8> {
    let header = ipv4::Header {
        total_length: 20 + u16::try_from(text.len()).unwrap(),
        more_fragments: fragment.0,
        fragment_offset: fragment.1,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        protocol,
        ..ipv4::Header::default()
    };
    let mut octets = vec![0; 20];
    header.emit_summed(&mut octets);
    octets.extend(text);
    octets
}

/// With extension headers, the first of which is `next_header`.
fn ipv6(next_header: u8, text: &[u8]) -> Vec<u8> {
    let header = ipv6::Header {
        payload_length: u16::try_from(text.len()).unwrap(),
        next_header,
        source: Ipv6Addr::LOCALHOST,
        destination: Ipv6Addr::UNSPECIFIED,
        ..ipv6::Header::default()
    };
    let mut octets = vec![0; 40];
    header.emit(&mut octets);
    octets.extend(text);
    octets
}

fn of(octets: &[u8]) -> Option<(u8, [u16; 2])> {
    Flow::of(&Message::from_octets(octets)).map(|flow| (flow.protocol, flow.ports))
}

/// Ports 258 and 772, and more.
const TEXT: [u8; 20] = [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn addresses_protocol_and_ports_make_a_flow() {
    let flow = Flow::of(&Message::from_octets(&ipv4(6, (false, 0), &TEXT))).unwrap();
    let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into());
    assert_eq!(flow, Flow { source, destination, protocol: 6, ports: [258, 772] });
    assert_eq!(of(&ipv4(17, (false, 0), &TEXT)), Some((17, [258, 772])));
    assert_eq!(of(&ipv6(17, &TEXT)), Some((17, [258, 772])));
    // ICMP has no ports, and what is too short for them neither.
    assert_eq!(of(&ipv4(1, (false, 0), &TEXT)), Some((1, [0, 0])));
    assert_eq!(of(&ipv4(6, (false, 0), &TEXT[..3])), Some((6, [0, 0])));
}

#[test]
fn all_fragments_of_a_packet_are_of_one_flow() {
    for fragment in [(true, 0), (true, 9), (false, 9)] {
        assert_eq!(of(&ipv4(17, fragment, &TEXT)), Some((17, [0, 0])), "{fragment:?}");
    }
    for offset in [1_u8, 8] {
        let fragment = [&[17, 0, 0, offset, 0, 0, 0, 9][..], &TEXT].concat();
        assert_eq!(of(&ipv6(44, &fragment)), Some((17, [0, 0])));
    }
}

fn sight(octets: &[u8]) -> FlowKeys {
    FlowKeys::of(&Message::from_octets(octets)).unwrap()
}

#[test]
fn the_first_fragment_tells_the_ports_of_all() {
    let piece = |octets: &[u8]| sight(octets).fragment.map(|it| (it.identification, it.whole.map(|it| it.ports)));
    assert_eq!(piece(&ipv4(17, (true, 0), &TEXT)), Some((0, Some([258, 772]))));
    assert_eq!(piece(&ipv4(17, (true, 9), &TEXT)), Some((0, None)));
    assert_eq!(piece(&ipv4(17, (false, 0), &TEXT)), None);
    // Destination options between the fragment's header and the ports: what is fragmented begins with them.
    let options = [17, 0, 1, 4, 0, 0, 0, 0];
    let first = [&[60, 0, 0, 1, 0, 0, 0, 9][..], &options, &TEXT].concat();
    let later = [&[60, 0, 0, 8, 0, 0, 0, 9][..], &options, &TEXT].concat();
    assert_eq!(piece(&ipv6(44, &first)), Some((9, Some([258, 772]))));
    assert_eq!(sight(&ipv6(44, &first)).fragment.unwrap().whole.unwrap().protocol, 17);
    assert_eq!(piece(&ipv6(44, &later)), Some((9, None)));
    assert_eq!(sight(&ipv6(44, &first)).flow, sight(&ipv6(44, &later)).flow, "all are of one flow");
}

#[test]
fn an_error_is_about_the_packet_that_it_quotes() {
    let about = |octets: &[u8]| sight(octets).about.map(|it| (it.protocol, it.ports));
    let error = |kind: u8, quoted: &[u8]| [&[kind, 3, 0, 0, 0, 0, 0, 0][..], quoted].concat();
    // Eight octets of what was sent are quoted, and the length is that of the whole packet.
    let quoted = &ipv4(17, (false, 0), &TEXT)[..28];
    assert_eq!(about(&ipv4(1, (false, 0), &error(3, quoted))), Some((17, [258, 772])));
    assert_eq!(about(&ipv4(1, (false, 0), &error(8, quoted))), None, "an echo request quotes nothing");
    assert_eq!(about(&ipv4(17, (false, 0), &error(3, quoted))), None);
    let first = &ipv4(17, (true, 0), &TEXT)[..28];
    assert_eq!(about(&ipv4(1, (false, 0), &error(11, first))), Some((17, [258, 772])));
    let later = &ipv4(17, (true, 9), &TEXT)[..28];
    assert_eq!(about(&ipv4(1, (false, 0), &error(11, later))), None);
    let quoted = &ipv6(6, &TEXT)[..48];
    assert_eq!(about(&ipv6(58, &error(2, quoted))), Some((6, [258, 772])));
    assert_eq!(about(&ipv6(58, &error(128, quoted))), None);
}

#[test]
fn extension_headers_are_passed_over() {
    let options = [60, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(of(&ipv6(0, &[&options[..], &TEXT].concat())), Some((17, [258, 772])));
}

#[test]
fn a_packet_is_found_behind_the_headers_of_a_link() {
    let packet = ipv4(17, (false, 0), &TEXT);
    let ethernet = [&[2; 12][..], &[8, 0], &packet].concat();
    let fddi = [&[0x50], &[2; 12][..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &packet].concat();
    for octets in [ethernet, fddi] {
        assert_eq!(of(&octets), Some((17, [258, 772])));
    }
    assert_eq!(of(&[0xff, 0x03, 0x80, 0x21]), None);
    assert_eq!(of(&[]), None);
}

proptest! {
    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let _ = flow_hash(&Message::from_octets(&octets), [1, 2]);
    }

    /// A hash is of the flow alone, whatever else is in the packet, and however its octets lie.
    #[test]
    fn packets_of_a_flow_have_one_hash(port: u16, key: [u64; 2], len in 28..200_u16, cut in 0..40_usize) {
        let one = crate::queue::testing::packet(port, 28, Ecn::NotEct);
        let other = crate::queue::testing::packet(port, len, Ecn::Ce).to_vec();
        let (front, rest) = other.split_at(cut.min(other.len()));
        let mut parts = Message::from_octets(rest);
        parts.push(front.len()).copy_from_slice(front);
        prop_assert_eq!(flow_hash(&one, key), flow_hash(&parts, key));
        let next = crate::queue::testing::packet(port ^ 1, 28, Ecn::NotEct);
        prop_assert_ne!(flow_hash(&one, key), flow_hash(&next, key));
    }
}
