use proptest::prelude::*;

use super::*;
use crate::crc::{Fcs16, Fcs32};
use crate::{Form, Pattern};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn stuffed(octets: &[u8], accm: Accm) -> Vec<u8> {
    let mut out = Vec::new();
    stuff(octets, accm, &mut out);
    out
}

fn unstuffed(octets: &[u8], accm: Accm, limit: usize) -> (Unstuffed, Vec<u8>, Unstuffer) {
    let (mut unstuffer, mut out) = (Unstuffer::new(), Vec::new());
    let answer = unstuffer.unstuff(octets, accm, limit, &mut out);
    (answer, out, unstuffer)
}

#[test]
fn the_examples_of_rfc_1662_section_4_2_come_out() {
    let some = Accm::new(1 << 0x03 | 1 << 0x11 | 1 << 0x13);
    for (octet, sent) in [
        (0x7E, vec![0x7D, 0x5E]),
        (0x7D, vec![0x7D, 0x5D]),
        (0x03, vec![0x7D, 0x23]),
        (0x11, vec![0x7D, 0x31]),
        (0x13, vec![0x7D, 0x33]),
        (0x12, vec![0x12]),
        (0x20, vec![0x20]),
    ] {
        assert_eq!(stuffed(&[octet], some), sent);
        assert_eq!(unstuffed(&sent, some, 9).1, [octet]);
    }
    assert_eq!(stuffed(&[0x03, 0x11], Accm::NONE), [0x03, 0x11]);
}

#[test]
fn a_configure_request_is_framed_as_published() {
    let request = hex("ff03c0210101000a05067e7d1234");
    let (mut short, mut long) = (Fcs16::new(), Fcs32::new());
    short.update(&request);
    long.update(&request);
    let short = [&request[..], &short.finish().to_le_bytes()].concat();
    let long = [&request[..], &long.finish().to_le_bytes()].concat();
    for (frame, line) in
        [(short, "7eff03c0210101000a05067d5e7d5d1234af3d7e"), (long, "7eff03c0210101000a05067d5e7d5d1234b59982497e")]
    {
        let line = hex(line);
        assert_eq!(stuffed(&frame, Accm::NONE), line[1..line.len() - 1]);
        let (answer, plain, _) = unstuffed(&line[1..], Accm::NONE, usize::MAX);
        assert_eq!(answer, Unstuffed { taken: line.len() - 1, stop: Stop::Flag });
        assert_eq!(plain, frame);
    }
}

#[test]
fn an_escape_before_a_flag_aborts_the_frame_and_the_next_is_whole() {
    let line = [0x41, ESCAPE, FLAG, 0x42, FLAG];
    let (answer, plain, mut unstuffer) = unstuffed(&line, Accm::NONE, 9);
    assert_eq!(answer, Unstuffed { taken: 3, stop: Stop::Abort });
    assert_eq!(plain, [0x41]);
    assert!(!unstuffer.is_pending());
    let mut next = Vec::new();
    let answer = unstuffer.unstuff(&line[3..], Accm::NONE, 9, &mut next);
    assert_eq!(answer, Unstuffed { taken: 2, stop: Stop::Flag });
    assert_eq!(next, [0x42]);
}

#[test]
fn an_abort_is_seen_where_a_piece_ends_between_escape_and_flag() {
    let (answer, _, mut unstuffer) = unstuffed(&[0x41, ESCAPE], Accm::NONE, 9);
    assert_eq!(answer, Unstuffed { taken: 2, stop: Stop::End });
    assert!(unstuffer.is_pending());
    let answer = unstuffer.unstuff(&[FLAG], Accm::NONE, 9, &mut Vec::new());
    assert_eq!(answer, Unstuffed { taken: 1, stop: Stop::Abort });
}

#[test]
fn control_characters_put_in_on_the_way_are_removed_even_behind_an_escape() {
    let line = [0x41, 0x11, ESCAPE, 0x13, 0x5E, 0x0A];
    assert_eq!(unstuffed(&line, Accm::ALL, 9).1, [0x41, 0x7E]);
    assert_eq!(unstuffed(&line, Accm::NONE, 9).1, [0x41, 0x11, 0x33, 0x5E, 0x0A]);
}

#[test]
fn what_does_not_fit_is_not_taken_but_the_closing_flag_is() {
    let line = [0x41, ESCAPE, 0x5E, FLAG];
    let (answer, plain, unstuffer) = unstuffed(&line, Accm::NONE, 1);
    assert_eq!(answer, Unstuffed { taken: 2, stop: Stop::Full });
    assert_eq!(plain, [0x41]);
    assert!(unstuffer.is_pending());
    let (answer, plain, _) = unstuffed(&line, Accm::NONE, 2);
    assert_eq!(answer, Unstuffed { taken: 4, stop: Stop::Flag });
    assert_eq!(plain, [0x41, 0x7E]);
}

#[test]
fn a_frame_as_long_as_the_limit_is_taken_whole() {
    for len in 0..300 {
        let line = [vec![0x55; len], vec![FLAG]].concat();
        assert_eq!(unstuffed(&line, Accm::NONE, len).0, Unstuffed { taken: len + 1, stop: Stop::Flag });
    }
}

#[test]
fn idle_flags_are_counted_up_to_the_first_other_octet() {
    for len in 0..300 {
        let mut line = vec![FLAG; len];
        assert_eq!(leading_flags(&line), len);
        line.extend([0x7F, FLAG, FLAG]);
        assert_eq!(leading_flags(&line), len);
    }
}

#[test]
fn a_line_that_never_ends_a_frame_takes_no_more_memory_than_the_limit_asks_for() {
    let (mut unstuffer, mut out) = (Unstuffer::new(), Vec::new());
    let answer = unstuffer.unstuff(&vec![0x55; 1 << 20], Accm::NONE, 1504, &mut out);
    assert_eq!(answer, Unstuffed { taken: 1504, stop: Stop::Full });
    assert!(out.capacity() <= 2 * (1504 + 64), "{}", out.capacity());
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Zeros),
        any::<u8>().prop_map(Pattern::Fill),
        prop_oneof![Just(0), 1..300_u32, any::<u32>()].prop_map(|write_len| Pattern::Ttcp { write_len }),
        any::<u64>().prop_map(|seed| Pattern::Random { seed }),
        Just(Pattern::Counter),
    ]
}

proptest! {
    #[test]
    fn what_was_stuffed_is_unstuffed_in_any_cuts(
        octets in prop::collection::vec(prop_oneof![any::<u8>(), Just(ESCAPE), Just(FLAG)], 0..2000),
        accm in any::<u32>(),
        cuts in prop::collection::vec(0..400_usize, 0..8),
    ) {
        let accm = Accm::new(accm);
        let mut line = Vec::new();
        let mut rest = &octets[..];
        for cut in cuts.iter().chain(&[usize::MAX]) {
            let (piece, behind) = rest.split_at(rest.len().min(*cut));
            stuff(piece, accm, &mut line);
            rest = behind;
        }
        prop_assert_eq!(line.len(), stuffed_len(&octets, accm));
        prop_assert!(line.len() <= 2 * octets.len());
        prop_assert!(!line.iter().any(|octet| *octet == FLAG || accm.contains(*octet)));
        line.push(FLAG);
        let (mut unstuffer, mut plain, mut rest) = (Unstuffer::new(), Vec::new(), &line[..]);
        for cut in cuts.iter().rev().chain(&[usize::MAX]) {
            let piece = &rest[..rest.len().min(*cut)];
            let answer = unstuffer.unstuff(piece, accm, usize::MAX, &mut plain);
            prop_assert_eq!(answer.taken, piece.len());
            rest = &rest[answer.taken..];
            prop_assert_eq!(answer.stop, if rest.is_empty() && !piece.is_empty() { Stop::Flag } else { Stop::End });
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(plain, octets);
    }

    #[test]
    fn flags_alone_are_the_worst_case_and_double(len in 0..3000_usize, octet in any::<u8>()) {
        for form in Form::detected() {
            prop_assert_eq!(stuffed_len_with(form, &vec![FLAG; len], Accm::NONE), 2 * len);
            prop_assert!(stuffed_len_with(form, &vec![octet; len], Accm::ALL) <= 2 * len);
        }
    }

    #[test]
    fn a_patterns_stuffed_length_is_that_of_its_octets(
        pattern in pattern(),
        offset in prop_oneof![0..5000_u64, any::<u64>(), u64::MAX - 2000..=u64::MAX],
        len in prop_oneof![0..3000_usize, Just(70_000)],
        accm in prop_oneof![Just(0), Just(u32::MAX), any::<u32>()],
    ) {
        let mut octets = vec![0; len];
        pattern.fill(offset, &mut octets);
        let accm = Accm::new(accm);
        prop_assert_eq!(pattern.stuffed_len(offset, len, accm), stuffed_len(&octets, accm));
    }
}
