use proptest::prelude::*;

use super::cpcs::{self, CpcsError};
use super::sar::{self, SarError, SegmentType};
use super::*;

/// The SAR-PDU of "hello" in one cell, tags 05, as published.
const HELLO: &str = "c000 00050005 68656c6c6f000000 00050005 \
    00000000000000000000000000000000000000000000000000000000 4120";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let octet = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).unwrap();
    digits.chunks(2).map(octet).collect()
}

/// The bits of `octets`, the most significant first.
fn bits(octets: &[u8]) -> Vec<u8> {
    let of = |octet: &u8| (0..8).rev().map(|at| octet >> at & 1).collect::<Vec<u8>>();
    octets.iter().flat_map(of).collect()
}

/// Long division, one bit after the other, by x^10 + x^9 + x^5 + x^4 + x + 1: knows nothing of octets or tables.
fn remainder(message: &[u8]) -> u16 {
    const DIVISOR: [u8; 11] = [1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1];
    let mut left = message.to_vec();
    left.extend([0; 10]);
    for at in 0..message.len() {
        if left[at] == 1 {
            for (bit, divisor) in left[at..].iter_mut().zip(DIVISOR) {
                *bit ^= divisor;
            }
        }
    }
    let last = &left[message.len()..];
    last.iter().fold(0, |value, bit| value << 1 | u16::from(*bit))
}

fn cpcs_pdu(sdu: &[u8], tag: u8) -> Vec<u8> {
    let (front, back, count) = cpcs::around(u16::try_from(sdu.len()).unwrap(), tag);
    [&front[..], sdu, &back[back.len() - count..]].concat()
}

#[test]
fn a_single_segment_is_the_published_one() {
    let pdu = cpcs_pdu(b"hello", 5);
    let header = sar::Header { segment_type: SegmentType::Ssm, ..sar::Header::default() };
    let found = sar::pdu(header, &pdu, true);
    assert_eq!(found[..], hex(HELLO));
    let (parsed, len) = sar::Header::parse(&found).unwrap();
    assert_eq!((parsed, len), (header, 2));
    let trailer = sar::Trailer::parse(&found).unwrap();
    assert_eq!(trailer.check(SegmentType::Ssm, sar::crc(&found)), Ok(16));
    let (begin, _) = cpcs::Header::parse(&found[2..]).unwrap();
    let end = cpcs::Trailer::parse(&found[2..18]).unwrap();
    assert_eq!(end.check(&begin, 16), Ok(5));
    let lines = [parsed.to_string(), begin.to_string(), end.to_string(), trailer.to_string()];
    assert_eq!(
        lines,
        [
            "AAL3/4 SSM SN 0 MID 0",
            "AAL3/4 CPI 0x00 BTag 0x05 BASize 5",
            "AAL3/4 AL 0x00 Etag 0x05 Length 5",
            "AAL3/4 LI 16 CRC 0x120",
        ]
    );
}

#[test]
fn the_bits_of_a_header_lie_where_the_standard_puts_them() {
    let header = sar::Header { segment_type: SegmentType::Bom, sn: 0b1001, mid: 0b01_1000_0001 };
    let mut out = [0; 2];
    header.emit(&mut out);
    assert_eq!(out, [0b1010_0101, 0b1000_0001]);
    let mut out = [0; 2];
    sar::Trailer { li: 0b10_1100, crc: 0b10_0000_0001 }.emit(&mut out);
    assert_eq!(out, [0b1011_0010, 0b0000_0001]);
}

#[test]
fn cells_of_known_datagrams() {
    // 8 octets of LLC/SNAP before each datagram; 209 cells are full to the last octet.
    for (datagram, expected) in [(576, 14), (1500, 35), (9180, 209), (9181, 210), (8232, 188)] {
        assert_eq!(cells(datagram + 8), expected, "{datagram}");
    }
    assert_eq!(pdu_len(9188), 209 * 44);
    assert_eq!([0, 1, 2, 3, 4].map(pad_len), [0, 3, 2, 1, 0]);
    assert_eq!([1, 36, 37].map(cells), [1, 1, 2]);
}

#[test]
fn segments_of_a_wrong_length_are_told_apart() {
    use SegmentType::{Bom, Com, Eom, Ssm};
    let check = |li, segment_type| sar::Trailer { li, crc: 7 }.check(segment_type, 7);
    for (segment_type, least) in [(Bom, 44), (Com, 44), (Eom, 4), (Ssm, 8)] {
        for li in 0..64 {
            let expected = match li {
                63 if segment_type == Eom => Err(SarError::Abort),
                li if (least..=44).contains(&li) => Ok(usize::from(li)),
                found => Err(SarError::Length { segment_type, found, least }),
            };
            assert_eq!(check(li, segment_type), expected);
        }
    }
    let wrong = sar::Trailer { li: 63, crc: 7 }.check(Eom, 8);
    let (found, expected) = (7, 8);
    assert_eq!(wrong, Err(SarError::Crc { found, expected }));
    assert_eq!(check(43, Bom).unwrap_err().to_string(), "AAL3/4: LI of BOM is 43, expected 44 to 44");
}

#[test]
fn faults_of_a_pdu_are_told_apart() {
    let header = cpcs::Header { cpi: 0, b_tag: 9, ba_size: 100 };
    let trailer = cpcs::Trailer { al: 0, e_tag: 9, length: 100 };
    assert_eq!(trailer.check(&header, 108), Ok(100));
    let streaming = cpcs::Header { ba_size: 4000, ..header };
    assert_eq!(trailer.check(&streaming, 108), Ok(100));
    let (begin, end) = (9, 8);
    let other = cpcs::Trailer { e_tag: 8, ..trailer };
    assert_eq!(other.check(&header, 108), Err(CpcsError::Tag { begin, end }));
    let units = cpcs::Header { cpi: 1, ..header };
    assert_eq!(trailer.check(&units, 108), Err(CpcsError::Cpi { found: 1 }));
    let aligned = cpcs::Trailer { al: 2, ..trailer };
    assert_eq!(aligned.check(&header, 108), Err(CpcsError::Alignment { found: 2 }));
    let (ba_size, length) = (99, 100);
    let small = cpcs::Header { ba_size, ..header };
    assert_eq!(trailer.check(&small, 108), Err(CpcsError::BufferSize { ba_size, length }));
    let fault = trailer.check(&header, 152).unwrap_err();
    assert_eq!(fault.to_string(), "AAL3/4: Length is 100, a PDU of 152 octets carries 141 to 144");
    let none = cpcs::Trailer { length: 0, ..trailer };
    assert!(none.check(&header, 8).is_err() && none.check(&header, 0).is_err());
}

proptest! {
    #[test]
    fn the_crc_is_that_of_the_first_374_bits_and_stands_in_the_last_ten(st: u8, sn: u8, mid: u16, octets in prop::collection::vec(any::<u8>(), 0..50)) {
        let header = sar::Header { segment_type: SegmentType::from_bits(st), sn: sn & 15, mid: mid & 1023 };
        let pdu = sar::pdu(header, &octets, true);
        let all = bits(&pdu);
        let (covered, field) = all.split_at(374);
        let written = field.iter().fold(0, |value, bit| value << 1 | u16::from(*bit));
        prop_assert_eq!(written, remainder(covered));
        prop_assert_eq!(sar::crc(&pdu), remainder(covered));
        prop_assert_eq!(sar::Header::parse(&pdu).unwrap(), (header, 2));
        let trailer = sar::Trailer::parse(&pdu).unwrap();
        prop_assert_eq!((usize::from(trailer.li), trailer.crc), (octets.len().min(44), written));
        prop_assert_eq!(&pdu[2..2 + octets.len().min(44)], &octets[..octets.len().min(44)]);
    }

    #[test]
    fn one_or_two_wrong_bits_are_always_found(octets in prop::collection::vec(any::<u8>(), 44), a in 0..384_usize, b in 0..384_usize) {
        let mut pdu = sar::pdu(sar::Header::default(), &octets, true);
        pdu[a / 8] ^= 0x80 >> (a % 8);
        if a != b {
            pdu[b / 8] ^= 0x80 >> (b % 8);
        }
        prop_assert_ne!(sar::Trailer::parse(&pdu).unwrap().crc, sar::crc(&pdu));
    }

    #[test]
    fn what_was_emitted_is_parsed(cpi: u8, b_tag: u8, ba_size: u16, al: u8, e_tag: u8, length: u16) {
        let mut out = [0; 4];
        let header = cpcs::Header { cpi, b_tag, ba_size };
        header.emit(&mut out);
        prop_assert_eq!(cpcs::Header::parse(&out), Ok((header, 4)));
        let trailer = cpcs::Trailer { al, e_tag, length };
        trailer.emit(&mut out);
        prop_assert_eq!(cpcs::Trailer::parse(&out), Ok(trailer));
    }

    #[test]
    fn a_pdu_is_made_of_words_and_gives_its_sdu_back(len in 1..=MAX_SDU, tag: u8) {
        let sdu = vec![0xa5; len];
        let pdu = cpcs_pdu(&sdu, tag);
        prop_assert_eq!(pdu.len(), pdu_len(len));
        prop_assert_eq!(pdu.len() % 4, 0);
        let (header, _) = cpcs::Header::parse(&pdu).unwrap();
        prop_assert_eq!(cpcs::Trailer::parse(&pdu).unwrap().check(&header, pdu.len()), Ok(len));
        prop_assert!(pdu.len() <= cpcs::room(header.ba_size));
    }

    #[test]
    fn the_bounds_of_a_length_fault_are_the_accepted_lengths(words in 3usize..1000, length: u16) {
        let header = cpcs::Header { ba_size: u16::MAX, ..cpcs::Header::default() };
        match (cpcs::Trailer { length, ..cpcs::Trailer::default() }).check(&header, 4 * words) {
            Ok(len) => prop_assert_eq!(len, usize::from(length)),
            Err(CpcsError::Length { least, most, .. }) => {
                prop_assert!(!(least..=most).contains(&usize::from(length)));
                prop_assert!(pdu_len(least) == 4 * words && pdu_len(most) == 4 * words);
            }
            Err(fault) => prop_assert!(false, "{fault}"),
        }
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, pdu_len: usize, crc: u16) {
        if let (Ok((header, _)), Ok(trailer)) = (cpcs::Header::parse(&octets), cpcs::Trailer::parse(&octets)) {
            let _ = trailer.check(&header, pdu_len);
        }
        if let (Ok((header, _)), Ok(trailer)) = (sar::Header::parse(&octets), sar::Trailer::parse(&octets)) {
            let _ = trailer.check(header.segment_type, crc);
            prop_assert!(header.sn < 16 && header.mid <= sar::MAX_MID && trailer.li < 64);
        }
        let _ = (super::pdu_len(pdu_len), pad_len(pdu_len), cells(pdu_len));
    }
}
