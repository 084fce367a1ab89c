//! Against octets worked out outside of this crate: examples of the RFCs, and frames whose FCS was computed by other
//! programs.

use std::net::Ipv4Addr;

use kumiki_octets::crc::{Fcs16, Fcs32};
use proptest::prelude::*;

use super::Width::{Eight, Sixteen};
use super::ssp::{Entry, Metric, Route};
use super::*;

macro_rules! octets {
    ($header:expr) => {{
        let header = $header;
        let mut out = vec![0xff; header.len()];
        header.emit(&mut out);
        out
    }};
}

fn at(width: Width, value: u32) -> Address {
    Address::new(width, value).unwrap()
}

/// A frame as a line carries it: flags and FCS around. None of those here has an octet to escape.
fn frame(destination: Address, protocol: u16, information: &[u8], fcs_len: usize) -> String {
    let header = Header { destination, protocol };
    let mut frame = [&octets!(header)[..], information].concat();
    if fcs_len == 2 {
        let mut fcs = Fcs16::new();
        fcs.update(&frame);
        frame.extend(fcs.finish().to_le_bytes());
    } else {
        let mut fcs = Fcs32::new();
        fcs.update(&frame);
        frame.extend(fcs.finish().to_le_bytes());
    }
    assert!(!frame.iter().any(|octet| matches!(octet, 0x7d | 0x7e)));
    let digits: String = frame.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("7e{digits}7e")
}

#[test]
fn nsp_frames_are_those_that_were_computed_elsewhere() {
    let request = octets!(nsp::Header::REQUEST);
    let ask = |width, fcs_len| frame(Address::local_control(width), protocol::NSP, &request, fcs_len);
    assert_eq!(ask(Eight, 2), "7e0103fe030000000100000000eaca7e");
    assert_eq!(ask(Eight, 4), "7e0103fe0300000001000000005e45fa737e");
    assert_eq!(ask(Sixteen, 2), "7e0001fe0300000001000000009de47e");
    assert_eq!(ask(Sixteen, 4), "7e0001fe030000000100000000f0b033b07e");
    let node = at(Eight, 0x23);
    let assignment = nsp::Header::assignment(node);
    let assign = |fcs_len| frame(node, protocol::NSP, &octets!(assignment), fcs_len);
    assert_eq!(assign(2), "7e2303fe030000000200000023b4ed7e");
    assert_eq!(assign(4), "7e2303fe0300000002000000239b0b37627e");
    assert_eq!(nsp::Header::parse(&request), Ok((nsp::Header::REQUEST, 8)));
    assert_eq!(nsp::Header::parse(&octets!(assignment)), Ok((assignment, 8)));
    assert_eq!(assignment.to_string(), "NSP address assignment 0x23");
}

#[test]
fn an_arp_request_is_the_one_that_was_computed_elsewhere() {
    let [own, other] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
    let request = arp::Header::request(at(Eight, 0x23), own, other);
    assert_eq!(
        frame(Address::broadcast(Eight), protocol::ARP, &octets!(request), 2),
        "7eff03fe010019080004040001000000230a000001000000000a000002517a7e"
    );
    let answer = request.answered_by(at(Eight, 0x49));
    assert_eq!((answer.sender, answer.target), (0x49, 0x23));
    assert_eq!((answer.sender_ip, answer.target_ip), (other, own));
    assert_eq!(answer.to_string(), "MAPOS ARP response 10.0.0.2 (0x49) > 10.0.0.1 (0x23)");
    // RFC 2176 section 3.3.
    let unarp = octets!(arp::Header::unarp(at(Eight, 0x23), own));
    assert_eq!(
        unarp,
        [0, 25, 8, 0, 4, 4, 0, 23, 0, 0, 0, 0x23, 10, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
    );
}

#[test]
fn a_request_for_the_whole_table_is_the_one_that_was_computed_elsewhere() {
    let header = ssp::Header { command: ssp::Command::Request };
    let packet = [octets!(header), octets!(Entry::WHOLE_TABLE)].concat();
    assert_eq!(
        frame(Address::local_control(Eight), protocol::SSP, &packet, 2),
        format!("7e0103fe0501010000{}508b7e", "00".repeat(20))
    );
    assert_eq!(ssp::Header::parse(&packet, packet.len()), Ok((header, 4)));
    assert!(ssp::entries(&packet[4..]).eq([Entry::WHOLE_TABLE]));
}

#[test]
fn nodes_are_addressed_as_in_figure_2_of_rfc_2173() {
    let subnet = Subnet::new(Eight, 2).unwrap();
    assert_eq!(subnet.mask(), 0xe0);
    for (switch, port, address) in [(1, 3, 0x23), (1, 5, 0x25), (2, 9, 0x49)] {
        let address = at(Eight, address);
        assert_eq!(subnet.address(switch, port), Some(address));
        assert_eq!(subnet.meaning(address), Some(Meaning::Node { switch, port }));
    }
    let control = at(Eight, 0x41);
    assert_eq!(subnet.address(2, 1), Some(control));
    assert_eq!(subnet.meaning(control), Some(Meaning::Control { switch: 2 }));
    assert_eq!(control.meaning(), Meaning::Node { switch: 0, port: 0x41 });
    for (address, meaning) in [
        (0x01, Meaning::LocalControl),
        (0xff, Meaning::Broadcast),
        (0xfd, Meaning::Group(0b11_1110)),
        (0x81, Meaning::Group(0)),
    ] {
        assert_eq!(subnet.meaning(at(Eight, address)), Some(meaning));
    }
    // A port that is even, or that reaches into the switch number; a switch number of three bits.
    for (switch, port) in [(1, 4), (1, 0), (1, 0x21), (4, 3)] {
        assert_eq!(subnet.address(switch, port), None, "{switch} {port}");
    }
}

#[test]
fn addresses_of_16_bits_have_an_ea_bit_in_each_octet() {
    for (value, meaning) in [
        (0x0001, Meaning::LocalControl),
        (0xfeff, Meaning::Broadcast),
        (0x0003, Meaning::Node { switch: 0, port: 3 }),
        (0xfefd, Meaning::Group(0x1ffe)),
    ] {
        assert_eq!(at(Sixteen, value).meaning(), meaning);
    }
    for value in [0x0101, 0x0000, 0xffff, 0x0002, 0x1_0001] {
        assert_eq!(Address::new(Sixteen, value), None, "{value:#x}");
    }
    for value in [0x00, 0x22, 0xfe, 0x101] {
        assert_eq!(Address::new(Eight, value), None, "{value:#x}");
    }
    // Switch 5 of 3 bits: 0 101 000 0 and 0000011 1.
    let three = Subnet::new(Sixteen, 3).unwrap();
    assert_eq!(three.address(5, 0x07), Some(at(Sixteen, 0x5007)));
    // Of 8 bits, 10100110: 0 101001 0 and 10 00001 1.
    let eight = Subnet::new(Sixteen, 8).unwrap();
    assert_eq!(eight.address(0xa6, 0x03), Some(at(Sixteen, 0x5283)));
    assert_eq!(
        [0, 3, 5, 6, 7, 12].map(|bits| Subnet::new(Sixteen, bits).unwrap().mask()),
        [0x8000, 0xf000, 0xfc00, 0xff00, 0xff80, 0xfffc]
    );
    assert_eq!(Subnet::from_mask(Sixteen, 0xfe80), Subnet::from_mask(Sixteen, 0xff80));
    for (width, mask) in
        [(Eight, 0xff), (Eight, 0xa0), (Eight, 0x60), (Eight, 0), (Eight, 0xffff_ffe0), (Sixteen, 0xe0)]
    {
        assert_eq!(Subnet::from_mask(width, mask), None, "{mask:#x}");
    }
}

#[test]
#[expect(clippy::unusual_byte_groupings, reason = "a group of digits is a field")]
fn ip_groups_become_groups_with_two_exceptions() {
    let group = |width, last: [u8; 2]| {
        let [c, d] = last;
        Address::of_ipv4_group(width, Ipv4Addr::new(224, 1, c, d)).bits()
    };
    assert_eq!(group(Eight, [0, 0b10_0101]), 0b1_100101_1);
    assert_eq!(group(Eight, [0, 0b1110_0101]), 0b1_100101_1);
    assert_eq!(group(Eight, [9, 0]), 0xfd);
    assert_eq!(group(Eight, [9, 0xff]), 0xfd);
    assert_eq!(group(Eight, [9, 0x3e]), 0xfd);
    assert_eq!(group(Sixteen, [0, 0x81]), 0b1_000001_0_0000001_1);
    assert_eq!(group(Sixteen, [0xf5, 0x02]), 0b1_101010_0_0000010_1);
    assert_eq!(group(Sixteen, [0xe0, 0]), 0xfefd);
    assert_eq!(group(Sixteen, [0x1f, 0xff]), 0xfefd);
}

#[test]
fn text_says_the_width_by_its_digits() {
    for (text, address) in
        [("0x23", at(Eight, 0x23)), ("0x0023", at(Sixteen, 0x23)), ("0xfeff", Address::broadcast(Sixteen))]
    {
        assert_eq!(text.parse(), Ok(address));
        assert_eq!(address.to_string(), text);
    }
    for text in ["23", "0x2", "0x22", "0x0123", "0x+3", "0x00023", "", "0xé"] {
        let refused = text.parse::<Address>().unwrap_err();
        assert_eq!(refused.found, text);
    }
}

#[test]
fn frames_with_another_control_field_or_an_impossible_address_are_refused() {
    let refused = |width, octets: [u8; 4]| Header::parse(width, &octets).unwrap_err().to_string();
    assert_eq!(refused(Eight, [0x23, 0x13, 0, 0x21]), "MAPOS: control is 0x13, expected 0x3 (UI)");
    assert_eq!(refused(Eight, [0x22, 3, 0, 0x21]), "MAPOS: address is 0x22, expected 8 bits, the last of them 1");
    assert_eq!(
        refused(Sixteen, [0xff, 3, 0, 0x21]),
        "MAPOS: address is 0xff03, expected 16 bits, the last of the first octet 0, of the second 1"
    );
    let short = Header::parse(Eight, &[0xff, 3, 0]).unwrap_err();
    assert_eq!(short.to_string(), "MAPOS: 3 octets, at least 4 needed");
}

#[test]
fn protocol_numbers_follow_iso_3309() {
    for number in [protocol::IPV4, protocol::ARP, protocol::NSP, protocol::SSP] {
        assert!(protocol::is_well_formed(number), "{number:#x}");
    }
    for number in [0x0020, 0x2145, 0x0121, 0xff03] {
        assert!(!protocol::is_well_formed(number), "{number:#x}");
    }
}

#[test]
fn only_an_address_that_a_node_can_have_is_assigned() {
    let assigned = |address| {
        let packet = nsp::Header { command: nsp::Command::Assignment, address };
        packet.assigned(Eight)
    };
    assert_eq!(assigned(3), Some(Address::without_switch(Eight)));
    for address in [0, 1, 0x22, 0x81, 0xff, 0x123] {
        assert_eq!(assigned(address), None, "{address:#x}");
    }
    assert_eq!(nsp::Header::REQUEST.assigned(Eight), None);
    assert!(nsp::Header::parse(&[0, 0, 0, 4, 0, 0, 0, 0]).is_err());
    assert!(nsp::Header::parse(&[0, 0, 1, 1, 0, 0, 0, 0]).is_err());
}

#[test]
fn an_arp_packet_about_other_addresses_is_refused() {
    let own = Ipv4Addr::new(10, 0, 0, 1);
    let good = octets!(arp::Header::request(at(Eight, 3), own, own));
    for at in [1, 2, 4, 5] {
        let mut octets = good.clone();
        octets[at] = 6;
        assert!(arp::Header::parse(&octets).is_err(), "{at}");
    }
}

#[test]
fn a_table_has_the_routes_of_rfc_2174() {
    // Table 1: what switch 1 knows of the switches 2 and 3.
    let subnet = Subnet::new(Eight, 2).unwrap();
    for (switch, destination) in [(2, 0b0100_0000), (3, 0b0110_0000)] {
        let route = Route { subnet, switch, metric: Metric(1) };
        let mut entry = Entry::from(route);
        assert_eq!(entry.address & entry.mask, destination);
        assert_eq!(entry.route(Eight), Ok(route));
        // The masked address itself, and a node's, mean the same switch.
        for address in [destination, destination | 0x09] {
            entry.address = address;
            assert_eq!(entry.route(Eight), Ok(route));
        }
    }
    let entry = Entry { afi: 2, address: 0x41, mask: 0xe0, metric: Metric(17) };
    assert_eq!(entry.to_string(), "0x41/0xe0 metric 17");
    assert_eq!(octets!(entry), [0, 2, 0, 0, 0, 0, 0, 0x41, 0, 0, 0, 0xe0, 0, 0, 0, 0, 0, 0, 0, 17]);
    for wrong in [
        Entry { afi: 0, ..entry },
        Entry { address: 0xff, ..entry },
        Entry { address: 0x81, ..entry },
        Entry { address: 0x141, ..entry },
        Entry { mask: 0xff, ..entry },
        Entry { metric: Metric(32), ..entry },
    ] {
        assert!(wrong.route(Eight).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_poisoned_metric_is_16_more_and_never_illegal() {
    let poisoned = [0, 1, 15, 16].map(|metric| Metric(metric).poisoned().0);
    assert_eq!(poisoned, [0, 17, 31, 16]);
    let kinds = [16, 17, 31, 32].map(|metric| {
        let metric = Metric(metric);
        (metric.is_poisoned(), metric.is_legal())
    });
    assert_eq!(kinds, [(false, true), (true, true), (true, true), (false, false)]);
}

#[test]
fn a_packet_has_1_to_25_whole_entries() {
    let total = |total| ssp::Header::parse(&[2, 1, 0, 0], total).is_ok();
    assert!(total(24) && total(504));
    for wrong in [4, 23, 25, 43, 524, usize::MAX] {
        assert!(!total(wrong), "{wrong}");
    }
    assert!(ssp::Header::parse(&[2, 2, 0, 0], 24).is_err());
    assert!(ssp::Header::parse(&[3, 1, 0, 0], 24).is_err());
    assert!(ssp::Header::parse(&[1, 1, 0], 24).is_err());
    assert_eq!(ssp::entries(&[0; 26 * 20]).count(), 25);
    assert_eq!(ssp::entries(&[0; 59]).count(), 2);
}

/// Any address of either width.
fn any_address() -> impl Strategy<Value = Address> {
    any::<(bool, u16)>().prop_map(|(wide, bits)| {
        if wide { at(Sixteen, u32::from(bits & !0x0101 | 1)) } else { at(Eight, u32::from(bits & 0xff | 1)) }
    })
}

proptest! {
    #[test]
    fn what_was_emitted_is_parsed(
        destination in any_address(), numbers: [u16; 3], fields: [u32; 3], ips: [u32; 2], which: bool,
    ) {
        let [protocol, operation, afi] = numbers;
        let header = Header { destination, protocol };
        prop_assert_eq!(Header::parse(destination.width(), &octets!(header)), Ok((header, 4)));
        let [address, mask, metric] = fields;
        let command = if which { nsp::Command::Request } else { nsp::Command::Reject };
        let packet = nsp::Header { command, address };
        prop_assert_eq!(nsp::Header::parse(&octets!(packet)), Ok((packet, 8)));
        let [sender_ip, target_ip] = ips.map(Ipv4Addr::from);
        let packet = arp::Header { operation: operation.into(), sender: address, sender_ip, target: mask, target_ip };
        prop_assert_eq!(arp::Header::parse(&octets!(packet)), Ok((packet, 24)));
        let entry = Entry { afi, address, mask, metric: Metric(metric) };
        prop_assert_eq!(Entry::parse(&octets!(entry)), Ok((entry, 20)));
    }

    #[test]
    fn every_address_is_put_together_from_what_it_means(address in any_address(), switch_bits in 0u8..14) {
        prop_assert_eq!(Address::new(address.width(), u32::from(address)), Some(address));
        prop_assert_eq!(address.to_string().parse(), Ok(address));
        let Some(subnet) = Subnet::new(address.width(), switch_bits) else {
            prop_assert!(switch_bits > 5);
            return Ok(());
        };
        prop_assert_eq!(Subnet::from_mask(address.width(), subnet.mask()), Some(subnet));
        let (switch, port) = match subnet.meaning(address) {
            Some(Meaning::LocalControl) => (0, 1),
            Some(Meaning::Control { switch }) => (switch, 1),
            Some(Meaning::Node { switch, port }) => (switch, port),
            Some(Meaning::Group(_) | Meaning::Broadcast) => {
                prop_assert!(address.is_group());
                return Ok(());
            }
            None => unreachable!("the width is the same"),
        };
        prop_assert!(!address.is_group());
        prop_assert_eq!(subnet.address(switch, port), Some(address));
        prop_assert_eq!(subnet.switch(address.into()), Some(switch));
        let route = Route { subnet, switch, metric: Metric(3) };
        prop_assert_eq!(Entry::from(route).route(address.width()), Ok(route));
    }

    #[test]
    fn any_port_and_switch_give_an_address_that_means_them_or_none(switch: u16, port: u16, wide: bool, switch_bits in 0u8..13) {
        let width = if wide { Sixteen } else { Eight };
        let Some(subnet) = Subnet::new(width, switch_bits) else { return Ok(()); };
        let switches = 1 << switch_bits;
        for (switch, port) in [(switch, port), (switch % switches, port & 0xff | 1), (switch % switches, 3)] {
            let Some(address) = subnet.address(switch, port) else { continue; };
            let meant = match (switch, port) {
                (0, 1) => Meaning::LocalControl,
                (switch, 1) => Meaning::Control { switch },
                (switch, port) => Meaning::Node { switch, port },
            };
            prop_assert_eq!(subnet.meaning(address), Some(meant));
        }
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, total: usize) {
        let _ = Header::parse(Eight, &octets);
        let _ = Header::parse(Sixteen, &octets);
        let _ = nsp::Header::parse(&octets).map(|(header, _)| (header.to_string(), header.assigned(Sixteen)));
        let _ = arp::Header::parse(&octets).map(|(header, _)| (header.to_string(), header.sender(Eight)));
        let _ = ssp::Header::parse(&octets, total);
        for entry in ssp::entries(&octets) {
            let _ = (entry.to_string(), entry.route(Eight), entry.route(Sixteen));
        }
    }
}
