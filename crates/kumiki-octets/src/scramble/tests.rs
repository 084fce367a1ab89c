use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Bit by bit, as the polynomial is drawn: `last` are the 43 bits sent before, the very last first.
fn serial(last: &mut Vec<bool>, octets: &[u8]) -> Vec<u8> {
    let mut sent = |bit: bool| {
        let bit = bit ^ last[42];
        last.insert(0, bit);
        last.truncate(43);
        u8::from(bit)
    };
    octets.iter().map(|octet| (0..8).fold(0, |out, bit| out << 1 | sent(octet >> (7 - bit) & 1 == 1))).collect()
}

#[test]
fn from_zeros_the_payload_scrambler_gives_the_recomputed_octets() {
    for (given, sent) in [
        ((0..24).collect::<Vec<u8>>(), "000102030405062748698aabc8e4033e45680e9373ddbb16"),
        (vec![0x7E; 24], "7e7e7e7e7e71b1b1b1b1b048484848487777777777709090"),
    ] {
        assert_eq!(serial(&mut vec![false; 43], &given), hex(sent));
        let mut octets = given.clone();
        Scrambler::new(0).scramble(&mut octets);
        assert_eq!(octets, hex(sent));
        Descrambler::new(0).descramble(&mut octets);
        assert_eq!(octets, given);
    }
}

#[test]
fn the_frame_scrambler_begins_with_the_recomputed_sequence() {
    let expected = hex("fe041851e459d4fa1c49b5bd8d2ee655fc0830a3c8b3a9f438936b7b1a5dccab");
    let mut octets = vec![0; 32];
    frame(0, &mut octets);
    assert_eq!(octets, expected);
}

#[test]
fn the_frame_scramblers_sequence_obeys_its_polynomial_and_repeats_after_127_octets() {
    let mut octets = vec![0; 3000];
    frame(0, &mut octets);
    let bit = |at: usize| octets[at / 8] >> (7 - at % 8) & 1;
    assert!((0..7).all(|at| bit(at) == 1));
    assert!((7..24_000).all(|at| bit(at) == bit(at - 6) ^ bit(at - 7)));
    assert_eq!(octets[..2000], octets[FRAME_PERIOD..FRAME_PERIOD + 2000]);
    assert!((1..FRAME_PERIOD).all(|period| octets[..200] != octets[period..period + 200]));
}

#[test]
fn a_bit_wrong_on_the_line_is_two_wrong_43_bits_apart() {
    let mut octets = vec![0x55; 40];
    Scrambler::new(7).scramble(&mut octets);
    octets[10] ^= 0x80;
    Descrambler::new(7).descramble(&mut octets);
    let wrong: Vec<usize> = (0..320).filter(|at| (octets[at / 8] ^ 0x55) >> (7 - at % 8) & 1 == 1).collect();
    assert_eq!(wrong, [80, 123]);
}

#[test]
fn a_receiver_that_starts_elsewhere_is_wrong_for_43_bits_only() {
    let mut octets = vec![0x7E; 40];
    Scrambler::new(u64::MAX).scramble(&mut octets);
    Descrambler::new(0).descramble(&mut octets);
    // 43 bits of ones: five octets and three bits.
    assert_eq!(octets[..6], [0x81, 0x81, 0x81, 0x81, 0x81, 0x9E]);
    assert!(octets[6..].iter().all(|octet| *octet == 0x7E));
}

proptest! {
    #[test]
    fn every_form_scrambles_as_the_serial_register_in_any_cuts(
        given in crate::arbitrary::octets(0..6000),
        bits in 0..1_u64 << 43,
        cuts in prop::collection::vec(prop_oneof![0..70_usize, 500..1200_usize], 1..5),
    ) {
        let mut last = (0..43).map(|at| bits >> at & 1 == 1).collect();
        let expected = serial(&mut last, &given);
        for form in Form::detected() {
            let (mut octets, mut scrambler, mut descrambler) = (given.clone(), Scrambler::new(bits), Descrambler::new(bits));
            let mut left = &mut octets[..];
            for cut in cuts.iter().chain(&[usize::MAX]) {
                let (piece, rest) = left.split_at_mut(left.len().min(*cut));
                scrambler.scramble_with(form, piece);
                left = rest;
            }
            prop_assert!(octets == expected, "{}", form.name());
            prop_assert_eq!(scrambler.0.0, last.iter().rev().fold(0, |bits, bit| bits << 1 | u64::from(*bit)));
            let mut left = &mut octets[..];
            for cut in cuts.iter().rev().chain(&[usize::MAX]) {
                let (piece, rest) = left.split_at_mut(left.len().min(*cut));
                descrambler.descramble_with(form, piece);
                left = rest;
            }
            prop_assert!(octets == given, "{}", form.name());
            prop_assert_eq!(descrambler.0, scrambler.0);
        }
    }

    #[test]
    fn every_form_takes_a_frame_in_any_cuts(
        given in crate::arbitrary::octets(0..3000),
        position in 0..200_000_usize,
        cut in 0..3000_usize,
    ) {
        let mut expected = given.clone();
        for (at, octet) in expected.iter_mut().enumerate() {
            *octet ^= FRAME[(position + at) % FRAME_PERIOD];
        }
        for form in Form::detected() {
            let mut octets = given.clone();
            let cut = cut.min(octets.len());
            let (first, second) = octets.split_at_mut(cut);
            frame_with(form, position, first);
            frame_with(form, position + cut, second);
            prop_assert!(octets == expected, "{}", form.name());
        }
    }
}
