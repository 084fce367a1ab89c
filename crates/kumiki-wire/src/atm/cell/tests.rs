use super::oam::{END_POINT, Loopback};
use super::rm::{CellRate, Rm};
use super::*;
use proptest::prelude::*;

#[test]
fn headers_have_the_published_hec() {
    for (word, expected) in [
        (0x0000_0001, 0x52),
        (0x0000_0000, 0x55),
        (0x0000_0050, 0xe2),
        (0x0000_0030, 0xc5),
        (0x0000_0640, 0xec),
        (0x0000_0642, 0xe2),
        (0x0000_0100, 0x40),
        (0x1234_5678, 0x49),
    ] {
        assert_eq!(hec(u32::to_be_bytes(word)), expected, "{word:08x}");
    }
}

#[test]
fn headers_mean_what_the_table_says() {
    let cases: [(Header, [u8; 5]); 6] = [
        (Header::IDLE, [0, 0, 0, 1, 0x52]),
        (Header::UNASSIGNED, [0, 0, 0, 0, 0x55]),
        (Header { vci: vci::SIGNALLING, ..Header::default() }, [0, 0, 0, 0x50, 0xe2]),
        (Header { vci: 100, ..Header::default() }, [0, 0, 6, 0x40, 0xec]),
        (Header { vci: 100, pti: Pti::USER_END, ..Header::default() }, [0, 0, 6, 0x42, 0xe2]),
        (Header { vci: vci::ILMI, ..Header::default() }, [0, 0, 1, 0, 0x40]),
    ];
    for (header, octets) in cases {
        for interface in [Interface::Uni, Interface::Nni] {
            assert_eq!(header.octets(interface), octets, "{header}");
            assert_eq!(Header::parse(interface, &octets), Ok((header, 5)));
        }
    }
    assert!(Header::IDLE.is_idle() && !Header::IDLE.is_unassigned());
    assert!(Header::UNASSIGNED.is_unassigned() && !Header::UNASSIGNED.is_idle());
}

#[test]
fn the_first_four_bits_are_flow_control_or_path() {
    let octets = [0x12, 0x34, 0x56, 0x78, 0x49];
    let (uni, _) = Header::parse(Interface::Uni, &octets).unwrap();
    assert_eq!(uni, Header { gfc: 1, vpi: 0x23, vci: 0x4567, pti: Pti::from_bits(4), clp: false });
    assert_eq!(uni.to_string(), "ATM 35/17767 PTI 4 GFC 1");
    let (nni, _) = Header::parse(Interface::Nni, &octets).unwrap();
    assert_eq!(nni, Header { gfc: 0, vpi: 0x123, ..uni });
}

#[test]
fn payload_types_follow_their_bits() {
    let (end, full) = (Pti::USER_END, Pti::from_bits(3));
    assert!(end.is_user() && end.ends_pdu() && !end.is_congested());
    assert_eq!(end.with_congestion(), full);
    assert!(full.ends_pdu() && full.is_congested() && !Pti::USER.ends_pdu());
    for other in [Pti::F5_SEGMENT, Pti::F5_END_TO_END, Pti::RM, Pti::from_bits(7)] {
        assert!(!other.is_user() && !other.ends_pdu() && !other.is_congested());
        assert_eq!(other.with_congestion(), other);
    }
}

#[test]
fn each_single_wrong_bit_has_its_published_syndrome_and_is_corrected() {
    const SYNDROMES: [u8; 40] = [
        0x31, 0x9b, 0xce, 0x67, 0xb0, 0x58, 0x2c, 0x16, 0x0b, 0x86, 0x43, 0xa2, 0x51, 0xab, 0xd6, 0x6b, 0xb6, 0x5b,
        0xae, 0x57, 0xa8, 0x54, 0x2a, 0x15, 0x89, 0xc7, 0xe0, 0x70, 0x38, 0x1c, 0x0e, 0x07, 0x80, 0x40, 0x20, 0x10,
        0x08, 0x04, 0x02, 0x01,
    ];
    let good = [0x12, 0x34, 0x56, 0x78, 0x49];
    assert_eq!((syndrome(good), correct(good)), (0, Some(good)));
    for (bit, expected) in SYNDROMES.into_iter().enumerate() {
        let mut wrong = good;
        wrong[bit / 8] ^= 0x80 >> (bit % 8);
        assert_eq!(syndrome(wrong), expected, "bit {bit}");
        assert_eq!(correct(wrong), Some(good), "bit {bit}");
        assert!(Header::parse(Interface::Uni, &wrong).is_err());
    }
}

#[test]
fn two_wrong_bits_are_never_taken_for_one() {
    let good = Header { vci: 100, ..Header::default() }.octets(Interface::Uni);
    for first in 0..40 {
        for second in 0..first {
            let mut wrong = good;
            wrong[first / 8] ^= 0x80 >> (first % 8);
            wrong[second / 8] ^= 0x80 >> (second % 8);
            assert_eq!(correct(wrong), None, "bits {first} and {second}");
        }
    }
}

#[test]
fn a_loopback_cell_has_the_published_octets() {
    let request = Loopback { indication: true, correlation_tag: 1, location: END_POINT, source: END_POINT };
    let mut expected = [0x6a; PAYLOAD_LEN];
    expected[..6].copy_from_slice(&[0x18, 0x01, 0, 0, 0, 1]);
    expected[6..38].fill(0xff);
    expected[46..].copy_from_slice(&[0x03, 0x93]);
    assert_eq!(request.octets(), expected);
    assert_eq!(Loopback::parse(&expected), Ok(request));
    assert_eq!(request.to_string(), "OAM loopback request tag 1");
}

#[test]
fn a_damaged_or_other_oam_cell_is_refused() {
    let request = Loopback { indication: true, correlation_tag: 1, location: END_POINT, source: END_POINT };
    for bit in 0..384 {
        let mut payload = request.octets();
        payload[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(matches!(Loopback::parse(&payload), Err(Malformed::Checksum { .. })), "bit {bit}");
    }
    let mut ais = request.octets();
    ais[0] = oam::kind::AIS;
    oam::set_crc10(&mut ais);
    assert!(matches!(Loopback::parse(&ais), Err(Malformed::Field { found: 0x10, .. })));
}

#[test]
fn the_aal34_vector_agrees_with_the_crc() {
    // A single-segment message of "hello", tag 5.
    let mut payload = [0; PAYLOAD_LEN];
    payload[..18].copy_from_slice(b"\xc0\x00\x00\x05\x00\x05hello\x00\x00\x00\x00\x05\x00\x05");
    payload[46..].copy_from_slice(&[0x41, 0x20]);
    assert!(oam::is_crc10_right(&payload));
}

#[test]
fn an_rm_cell_has_its_fields_where_the_table_says() {
    // 155,520 cells/s is 2^17 (1 + 95.5 / 512): exponent 17, mantissa 95; 1 cell/s is 2^0.
    let rm = Rm {
        backward: true,
        congestion: true,
        explicit: CellRate::per_second(155_520),
        current: CellRate::per_second(1),
        ..Rm::default()
    };
    let mut expected = [0x6a; PAYLOAD_LEN];
    expected[..8].copy_from_slice(&[1, 0xa0, 0x62, 0x5f, 0x40, 0, 0, 0]);
    expected[8..16].fill(0);
    expected[46] = 0;
    oam::set_crc10(&mut expected);
    assert_eq!(rm.octets(), expected);
    assert_eq!(rm.to_string(), "RM backward CI ER 155520 cells/s");
    // All bits of the second octet, from the highest.
    for (bit, rm) in [
        (0x80, Rm { backward: true, ..Rm::default() }),
        (0x40, Rm { notification: true, ..Rm::default() }),
        (0x20, Rm { congestion: true, ..Rm::default() }),
        (0x10, Rm { no_increase: true, ..Rm::default() }),
        (0x08, Rm { request: true, ..Rm::default() }),
    ] {
        assert_eq!(rm.octets()[1], bit);
        assert_eq!(Rm::parse(&rm.octets()), Ok(rm));
    }
}

#[test]
fn a_damaged_or_other_rm_cell_is_refused() {
    for bit in 0..384 {
        let mut payload = Rm::default().octets();
        payload[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(matches!(Rm::parse(&payload), Err(Malformed::Checksum { .. })), "bit {bit}");
    }
    let mut other = Rm::default().octets();
    other[0] = 2;
    oam::set_crc10(&mut other);
    assert!(matches!(Rm::parse(&other), Err(Malformed::Field { found: 2, .. })));
}

#[test]
fn rates_have_nine_bits_of_mantissa() {
    let said = |cells| CellRate::decode(CellRate::per_second(cells).encode());
    for (cells, expected) in [(0, 0), (1, 1), (2, 2), (1023, 1023), (1025, 1024), (353_207, 352_768)] {
        assert_eq!(said(cells), CellRate::per_second(expected), "{cells}");
    }
    assert_eq!(CellRate::from_parts(511).encode(), 0);
    assert_eq!(CellRate::from_parts(513).encode(), 0x4001);
    assert_eq!(CellRate::MAX.encode(), 0x7fff);
    assert_eq!(CellRate::per_second(u64::MAX).encode(), 0x7fff);
    // 2^31 (1 + 511/512).
    assert_eq!(CellRate::MAX, CellRate::per_second(4_290_772_992));
}

proptest! {
    #[test]
    fn a_rate_is_rounded_down_by_less_than_a_512th(parts in 0_u64..=1023 << 31) {
        let said = CellRate::decode(CellRate::from_parts(parts).encode()).parts();
        prop_assert!(said <= parts);
        prop_assert!(parts < 512 || parts - said <= said / 512);
    }

    #[test]
    fn an_rm_cell_that_was_emitted_is_parsed(bits: [bool; 5], rates: [u16; 3], queue_length: u32, sequence_number: u32) {
        let [backward, notification, congestion, no_increase, request] = bits;
        let [explicit, current, minimum] = rates.map(CellRate::decode);
        let rm = Rm {
            backward, notification, congestion, no_increase, request,
            explicit, current, minimum, queue_length, sequence_number,
        };
        prop_assert_eq!(Rm::parse(&rm.octets()), Ok(rm));
    }

    #[test]
    fn what_was_emitted_is_parsed(gfc in 0u8..16, vpi in 0u16..4096, vci: u16, pti: u8, clp: bool) {
        let header = Header { gfc, vpi, vci, pti: Pti::from_bits(pti), clp };
        for (interface, sent) in [
            (Interface::Uni, Header { vpi: vpi & 0xff, ..header }),
            (Interface::Nni, Header { gfc: 0, ..header }),
        ] {
            let mut out = [0; HEADER_LEN];
            header.emit(interface, &mut out);
            prop_assert_eq!(Header::parse(interface, &out), Ok((sent, HEADER_LEN)));
        }
    }

    #[test]
    fn a_loopback_that_was_emitted_is_parsed(indication: bool, correlation_tag: u32, location: [u8; 16], source: [u8; 16]) {
        let cell = Loopback { indication, correlation_tag, location, source };
        prop_assert_eq!(Loopback::parse(&cell.octets()), Ok(cell));
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, payload: [[u8; 16]; 3]) {
        let _ = Header::parse(Interface::Uni, &octets);
        let _ = Loopback::parse(payload.as_flattened().first_chunk().unwrap());
        let _ = Rm::parse(payload.as_flattened().first_chunk().unwrap());
    }
}
