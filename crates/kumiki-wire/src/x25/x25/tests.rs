use kumiki_osi_service::x25::{Charging, Extension, Facilities, Facility, FastSelect, Marker, Nui, Number};
use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| u8::try_from(digit).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn read(octets: &[u8]) -> (Packet, usize) {
    Packet::parse(octets, octets.len()).unwrap()
}

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

/// Packets of a capture of Linux's packet layer and one of xotpad, and what tshark says they are.
#[test]
fn packets_of_peers_are_what_tshark_says() {
    for (octets, text) in [
        ("10 00 fb 00 00", "X.25 0 RESTART cause 00 diagnostic 0"),
        ("10 00 ff", "X.25 0 RESTART CONFIRMATION"),
        ("10 01 0b 45 12 34 59 00 10 06 42 0a 0a 43 07 07 03 01 01 00", "X.25 1 CALL 9001 > 12345"),
        ("10 01 0f 00 06 42 0a 0a 43 07 07", "X.25 1 CALL ACCEPTED - > -"),
        ("10 01 00", "X.25 1 DATA P(S)=0 P(R)=0"),
        ("10 01 62", "X.25 1 DATA P(S)=1 P(R)=3"),
        ("10 01 61", "X.25 1 RR P(R)=3"),
        ("10 01 13 00 00", "X.25 1 CLEAR cause 00 diagnostic 0"),
        ("10 01 13 00", "X.25 1 CLEAR cause 00"),
        ("10 01 17", "X.25 1 CLEAR CONFIRMATION"),
        ("10 01 0b 44 20 02 10 01 06 42 07 07 43 02 02 01 00 00 00", "X.25 1 CALL 1001 > 2002"),
    ] {
        let octets = hex(octets);
        let (packet, len) = read(&octets);
        assert_eq!(packet.to_string(), text);
        assert_eq!((packet.len(), len), (octets.len(), octets.len()));
        assert_eq!(packet.to_vec(), octets);
    }
}

#[test]
fn the_call_of_a_capture_has_its_parameters() {
    let octets = hex("10 01 0b 45 12 34 59 00 10 06 42 0a 0a 43 07 07 03 01 01 00");
    let (packet, _) = read(&octets);
    let Body::Call(block) = packet.body else { panic!("no call") };
    assert_eq!((block.called, block.calling), (number("12345"), number("9001")));
    assert_eq!(block.facilities.packet_size(), Some((10, 10)));
    assert_eq!(block.facilities.window(), Some((7, 7)));
    assert_eq!(block.data, [3, 1, 1, 0]);
}

#[test]
fn addresses_with_a_type_have_lengths_of_an_octet_each() {
    let octets = hex("90 02 0b 07 06 11 23 45 61 12 34 50 00");
    let (packet, _) = read(&octets);
    assert!(packet.qualified);
    let Body::Call(block) = &packet.body else { panic!("no call") };
    assert_eq!(block.called, number("1:1:23456"));
    assert_eq!(block.calling, number("1:1:2345"));
    assert_eq!(packet.to_vec(), octets);
    // One digit is a type without a plan.
    let bad = Packet::parse(&hex("90 02 0b 01 00 10 00"), 7).unwrap_err();
    assert_eq!(bad.diagnostic, diagnostic::CALLED);
}

#[test]
fn every_facility_is_read_as_it_was_written() {
    let facilities = Facilities(vec![
        Facility::Charging(Charging { reverse: true, fast_select: FastSelect::Restricted, other: 0 }),
        Facility::Throughput { called: 0x0a, calling: 0x0d },
        Facility::ClosedGroup(0x12),
        Facility::PacketSize { called: 10, calling: 11 },
        Facility::Window { called: 7, calling: 2 },
        Facility::TransitDelay(500),
        Facility::User(Nui::new(b"me")),
        Facility::Other { code: 0xc3, value: vec![1, 2, 3] },
        Facility::Other { code: 0x80, value: vec![1, 2, 3] },
        Facility::Marker(Marker::Dte),
        Facility::CalledExtension(Extension::of_nsap(&[0x47, 0x00, 0x05])),
        Facility::CallingExtension(Extension::of_number(&number("123"))),
        Facility::EndToEndDelay(vec![100, 200, 300]),
        Facility::Priority(vec![1, 255]),
    ]);
    let packet = Packet {
        qualified: false,
        delivery: true,
        modulo: Modulo::Extended,
        channel: 0x123,
        body: Body::Call(Block { called: number("1"), facilities, data: vec![9; 128], ..Block::default() }),
    };
    let octets = packet.to_vec();
    assert_eq!(
        octets[..30],
        hex("61 23 0b 01 10 35 01 c1 02 ad 03 12 42 0a 0b 43 07 02 49 01 f4 c6 02 6d 65 c3 03 01 02 03")
    );
    assert_eq!(read(&octets), (packet, octets.len()));
}

#[test]
fn numbers_modulo_128_take_an_octet_more() {
    let packet = |body| Packet { qualified: true, delivery: false, modulo: Modulo::Extended, channel: 5, body };
    let data = packet(Body::Data { ps: 100, pr: 127, more: true });
    assert_eq!(data.to_vec(), hex("a0 05 c8 ff"));
    assert_eq!(Packet::parse(&hex("a0 05 c8 ff aa"), 3000), Ok((data, 4)));
    let rej = packet(Body::Rej(99));
    assert_eq!(rej.to_vec(), hex("a0 05 09 c6"));
    assert_eq!(read(&hex("a0 05 09 c6")), (rej, 4));
}

#[test]
fn what_is_no_packet_gets_its_diagnostic() {
    for (octets, code) in [
        ("10 01", diagnostic::SHORT),
        ("30 01 00", diagnostic::GFI),
        ("00 01 00", diagnostic::GFI),
        ("10 01 2b", diagnostic::UNIDENTIFIABLE),
        ("10 01 23", diagnostic::SHORT),
        ("10 01 61 00", diagnostic::LONG),
        ("20 01 01", diagnostic::SHORT),
        ("10 01 13", diagnostic::SHORT),
        ("10 01 1b 00 00 00", diagnostic::LONG),
        ("10 01 27 00", diagnostic::LONG),
        ("10 01 0b", diagnostic::SHORT),
        ("10 01 0b 44 12", diagnostic::SHORT),
        ("10 01 0b 00 06 42", diagnostic::FACILITY_LENGTH),
        ("10 01 0b 00 02 42 07", diagnostic::FACILITY_LENGTH),
        ("10 01 0b 00 01 c6", diagnostic::FACILITY_LENGTH),
    ] {
        let octets = hex(octets);
        let refused = Packet::parse(&octets, octets.len()).unwrap_err();
        assert_eq!(refused.diagnostic, code, "{octets:02x?}: {refused}");
    }
    let long = [&hex("10 01 23")[..], &[0; 33]].concat();
    assert_eq!(Packet::parse(&long, 36).unwrap_err().diagnostic, diagnostic::LONG);
    assert!(Packet::parse(&long, 35).is_ok());
}

proptest! {
    #[test]
    fn what_was_parsed_is_emitted(octets in proptest::collection::vec(any::<u8>(), 3..60), kind in 0_usize..16, extended: bool) {
        let mut octets = octets;
        let kinds = [
            kind::CALL, kind::ACCEPTED, kind::CLEAR, kind::CLEAR_CONFIRMATION, kind::INTERRUPT, kind::INTERRUPT_CONFIRMATION,
            kind::RESET, kind::RESET_CONFIRMATION, kind::RESTART, kind::RESTART_CONFIRMATION, kind::DIAGNOSTIC,
            kind::REGISTRATION, kind::REGISTRATION_CONFIRMATION, kind::RR, 0, 0x42,
        ];
        octets[0] = octets[0] & 0xcf | if extended { 0x20 } else { 0x10 };
        octets[2] = kinds[kind];
        if let Ok((packet, len)) = Packet::parse(&octets, octets.len()) {
            let out = packet.to_vec();
            prop_assert_eq!(Packet::parse(&out, out.len().max(if packet.body == Body::Interrupt { 4 } else { 0 })).unwrap().0, packet.clone());
            // Addresses alone get the length of no facilities, the half octet behind an odd number of digits is 0, and
            // the lowest bit behind P(R) means nothing.
            let loose = matches!(
                packet.body,
                Body::Call(_)
                    | Body::Accepted(_)
                    | Body::Clear { .. }
                    | Body::ClearConfirmation(_)
                    | Body::Rr(_)
            );
            if !loose {
                prop_assert_eq!(&out[..], &octets[..len]);
            }
        }
    }

    #[test]
    fn facilities_are_kept_to_the_bit(octets in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(facilities) = parse_facilities(&octets) {
            let mut out = vec![0; octets.len()];
            emit_facilities(&facilities, &mut &mut out[..]);
            prop_assert_eq!(out, octets);
        }
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, total: usize) {
        let _ = Packet::parse(&octets, total);
    }
}
