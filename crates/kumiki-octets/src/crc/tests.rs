use super::*;
use proptest::prelude::*;

const CHECK: &[u8] = b"123456789";

/// A CRC bit by bit, from its definition: `width` bits, most significant bit first; `reflect` takes each octet's least
/// significant bit first and reverses the result.
fn naive(width: u32, polynomial: u64, preset: u64, reflect: bool, octets: &[u8]) -> u64 {
    let mut register = preset;
    for octet in octets {
        let octet = if reflect { octet.reverse_bits() } else { *octet };
        for bit in (0..8).rev() {
            let feedback = (register >> (width - 1) & 1) ^ (u64::from(octet) >> bit & 1);
            register = (register << 1) & ((1 << width) - 1);
            if feedback == 1 {
                register ^= polynomial;
            }
        }
    }
    if reflect { register.reverse_bits() >> (64 - width) } else { register }
}

fn aal5(octets: &[u8]) -> u32 {
    let mut crc = Aal5Crc::new();
    crc.update(octets);
    crc.finish()
}

fn aal5_pdu(sdu: &[u8], uu: u8, cpi: u8) -> Vec<u8> {
    let mut pdu = sdu.to_vec();
    pdu.resize((sdu.len() + 8).next_multiple_of(48) - 8, 0);
    pdu.extend([uu, cpi]);
    pdu.extend(u16::try_from(sdu.len()).unwrap().to_be_bytes());
    let crc = aal5(&pdu);
    pdu.extend(crc.to_be_bytes());
    pdu
}

#[test]
fn catalogue_check_values_come_out() {
    assert_eq!(aal5(CHECK), 0xFC89_1918);
    let mut fcs = Fcs32::new();
    fcs.update(CHECK);
    assert_eq!(fcs.finish(), 0xCBF4_3926);
    let mut fcs = Fcs16::new();
    fcs.update(CHECK);
    assert_eq!(fcs.finish(), 0x906E);
    let mut crc = Crc10::new();
    crc.update(CHECK);
    assert_eq!(crc.finish(), 0x199);
}

#[test]
fn aal5_trailers_are_the_published_ones() {
    let counted: Vec<u8> = (1..=40).collect();
    let cases: [(&[u8], u8, u8, u64); 5] = [
        (&[0x00; 40], 0, 0, 0x0000_0028_864d_7f99),
        (&[0xFF; 40], 0, 0, 0x0000_0028_c55e_457a),
        (&counted, 0, 0, 0x0000_0028_bf67_1ed0),
        (&counted, 0x11, 0x22, 0x1122_0028_acba_602a),
        (b"hello", 0, 0, 0x0000_0005_7f4c_d5de),
    ];
    for (sdu, uu, cpi, trailer) in cases {
        let pdu = aal5_pdu(sdu, uu, cpi);
        assert_eq!(pdu[pdu.len() - 8..], trailer.to_be_bytes());
        let mut crc = Aal5Crc::new();
        crc.update(&pdu);
        assert!(crc.is_valid());
        crc.update(&[0]);
        assert!(!crc.is_valid());
    }
}

#[test]
fn an_aal34_single_segment_message_has_the_published_crc() {
    let mut payload = [0; 48];
    payload[..20].copy_from_slice(b"\xc0\x00\x00\x05\x00\x05hello\x00\x00\x00\x00\x05\x00\x05\x00\x00");
    payload[46..].copy_from_slice(&[0x41, 0x20]);
    assert_eq!(Crc10::of_payload(&payload), 0x120);
    assert!(Crc10::is_valid_payload(&payload));
    payload[3] ^= 1;
    assert!(!Crc10::is_valid_payload(&payload));
}

#[test]
fn headers_have_the_published_hec() {
    let cases = [
        (0x0000_0001_u32, 0x52),
        (0x0000_0000, 0x55),
        (0x0000_0050, 0xE2),
        (0x0000_0030, 0xC5),
        (0x0000_0640, 0xEC),
        (0x0000_0642, 0xE2),
        (0x0000_0100, 0x40),
        (0x1234_5678, 0x49),
    ];
    for (header, field) in cases {
        assert_eq!(hec(&header.to_be_bytes()), field, "{header:08x}");
    }
}

#[test]
fn syndromes_of_single_bits_are_the_published_ones() {
    let published = [
        0x31, 0x9b, 0xce, 0x67, 0xb0, 0x58, 0x2c, 0x16, 0x0b, 0x86, 0x43, 0xa2, 0x51, 0xab, 0xd6, 0x6b, 0xb6, 0x5b,
        0xae, 0x57, 0xa8, 0x54, 0x2a, 0x15, 0x89, 0xc7, 0xe0, 0x70, 0x38, 0x1c, 0x0e, 0x07, 0x80, 0x40, 0x20, 0x10,
        0x08, 0x04, 0x02, 0x01,
    ];
    assert_eq!(syndromes(), published);
}

#[test]
fn one_wrong_bit_is_put_right_and_two_are_not_taken_for_none() {
    let sent = [0x12, 0x34, 0x56, 0x78, 0x49];
    let mut header = sent;
    assert_eq!(hec_correct(&mut header), HecOutcome::Valid);
    for first in 0..40_u8 {
        let mut one = sent;
        one[usize::from(first / 8)] ^= 0x80 >> (first % 8);
        let mut header = one;
        assert_eq!(hec_correct(&mut header), HecOutcome::Corrected { bit: first });
        assert_eq!(header, sent);
        for second in (0..40).filter(|second| *second != first) {
            let mut two = one;
            two[usize::from(second / 8)] ^= 0x80 >> (second % 8);
            let mut header = two;
            // The code's distance is 4: two wrong bits never look like one.
            assert_eq!(hec_correct(&mut header), HecOutcome::Uncorrectable);
            assert_eq!(header, two);
        }
    }
}

proptest! {
    #[test]
    fn pieces_of_any_length_give_the_bit_by_bit_crc(
        octets in crate::arbitrary::octets(0..3000),
        lengths in proptest::collection::vec(prop_oneof![0..60_usize, Just(48), 200..900_usize], 1..40),
    ) {
        let (mut a, mut b, mut c, mut d) = (Aal5Crc::new(), Fcs32::new(), Fcs16::new(), Crc10::new());
        let mut rest = &octets[..];
        for len in lengths.into_iter().chain([octets.len()]) {
            let (piece, others) = rest.split_at(len.min(rest.len()));
            a.update(piece);
            b.update(piece);
            c.update(piece);
            d.update(piece);
            rest = others;
        }
        prop_assert_eq!(u64::from(!a.finish()), naive(32, 0x04C1_1DB7, 0xFFFF_FFFF, false, &octets));
        prop_assert_eq!(u64::from(!b.finish()), naive(32, 0x04C1_1DB7, 0xFFFF_FFFF, true, &octets));
        prop_assert_eq!(u64::from(!c.finish()), naive(16, 0x1021, 0xFFFF, true, &octets));
        prop_assert_eq!(u64::from(d.finish()), naive(10, 0x233, 0, false, &octets));
    }

    #[test]
    fn frames_with_their_own_check_are_valid(octets in crate::arbitrary::octets(0..700)) {
        let mut fcs = Fcs32::new();
        fcs.update(&octets);
        fcs.update(&fcs.finish().to_le_bytes());
        prop_assert!(fcs.is_valid());
        let mut fcs = Fcs16::new();
        fcs.update(&octets);
        fcs.update(&fcs.finish().to_le_bytes());
        prop_assert!(fcs.is_valid());
    }

    #[test]
    fn a_payload_with_its_crc_10_is_valid(mut payload: [u8; 48]) {
        let field = Crc10::of_payload(&payload).to_be_bytes();
        payload[46] = (payload[46] & 0xFC) | field[0];
        payload[47] = field[1];
        prop_assert!(Crc10::is_valid_payload(&payload));
    }

    #[test]
    fn the_hec_is_the_bit_by_bit_crc(header: [u8; 4]) {
        prop_assert_eq!(u64::from(hec(&header) ^ 0x55), naive(8, 0x07, 0, false, &header));
    }
}
