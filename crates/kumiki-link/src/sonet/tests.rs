#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use crate::sonet::Defect;
use kumiki_graph::Rng;
use kumiki_octets::bip::Bip8;
use kumiki_octets::scramble;
use kumiki_wire::ppp::sdh::{Justification, Pointer, label, place};
use proptest::prelude::*;

use super::*;

/// A sender whose payload counts upwards, and what it has sent.
struct Sender {
    transmitter: Transmitter,
    next: u64,
}

impl Sender {
    fn new(config: LineConfig, pointer: u16) -> Self {
        Self { transmitter: Transmitter::new(config, pointer, 0x0123_4567_89ab_cdef), next: 0 }
    }

    fn octets(&mut self, len: usize) -> Vec<u8> {
        let mut out = vec![0xee; len];
        let next = &mut self.next;
        self.transmitter.emit(&mut out, |payload| {
            for octet in payload {
                *octet = numbered(*next);
                *next += 1;
            }
        });
        out
    }

    fn frame(&mut self) -> Vec<u8> {
        self.octets(self.transmitter_frame())
    }

    fn transmitter_frame(&self) -> usize {
        Size::of(self.level()).frame
    }

    fn level(&self) -> Level {
        self.transmitter.config().level
    }
}

/// Octet number `n` of a payload: each is told from its neighbours far around.
fn numbered(n: u64) -> u8 {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// A receiver and what it has said.
struct Listener {
    receiver: Receiver,
    payload: Vec<u8>,
    said: Vec<(Defect, bool)>,
    interrupted: usize,
}

impl Listener {
    fn new(config: LineConfig) -> Self {
        Self { receiver: Receiver::new(config), payload: Vec::new(), said: Vec::new(), interrupted: 0 }
    }

    fn take(&mut self, octets: &[u8]) {
        let Self { receiver, payload, said, interrupted } = self;
        receiver.take(octets, |heard| match heard {
            ReceiverEvent::Payload(octets) => payload.extend_from_slice(octets),
            ReceiverEvent::Interrupted => *interrupted += 1,
            ReceiverEvent::Defect { defect, present } => said.push((defect, present)),
        });
    }

    /// Forgets what was said; the defects that are there.
    fn defects(&mut self) -> Vec<Defect> {
        self.said.clear();
        self.receiver.defects().iter().collect()
    }
}

fn pair(config: LineConfig) -> (Sender, Listener) {
    let (mut sender, mut listener) = (Sender::new(config, 522), Listener::new(config));
    for _ in 0..32 {
        let frame = sender.frame();
        listener.take(&frame);
    }
    assert!(listener.receiver.is_steady());
    assert_eq!(listener.defects(), []);
    listener.payload.clear();
    (sender, listener)
}

fn oc3c() -> LineConfig {
    LineConfig::ppp(Level::Sts3c, true)
}

fn configs() -> impl Strategy<Value = LineConfig> {
    let level = prop::sample::select(Level::ALL[..3].to_vec());
    (level, any::<bool>()).prop_map(|(level, scrambled)| LineConfig::ppp(level, scrambled))
}

/// Plain, slow and by the drawing: the payload of frames whose pointer is 522 and stays.
fn payload_by_the_drawing(level: Level, frame: &[u8]) -> Vec<u8> {
    let (n, row) = (level.n() as usize, level.row() as usize);
    let mut clear = frame.to_vec();
    scramble::frame(0, &mut clear[3 * n..]);
    clear.chunks(row).flat_map(|row| row[3 * n + n / 3..].to_vec()).collect()
}

#[test]
fn a_frame_is_laid_out_as_the_standard_draws_it() {
    for level in Level::ALL {
        let mut sender = Sender::new(LineConfig::ppp(level, false), 522);
        let n = level.n() as usize;
        let frames: Vec<Vec<u8>> = (0..3).map(|_| sender.frame()).collect();
        let mut expected = 0;
        let mut parity = [0; 2];
        for (number, line) in frames.iter().enumerate() {
            assert_eq!(line[..n], vec![0xf6; n]);
            assert_eq!(line[n..2 * n], vec![0x28; n]);
            let payload = payload_by_the_drawing(level, line);
            assert!(payload.iter().all(|octet| {
                expected += 1;
                *octet == numbered(expected - 1)
            }));
            let mut clear = line.clone();
            scramble::frame(0, &mut clear[3 * n..]);
            assert_eq!(clear[place::H1.in_frame(n)], 0x62);
            assert_eq!(clear[place::H2.in_frame(n)], 0x0a);
            assert_eq!(clear[place::H1.in_frame(n) + 1], 0x93);
            assert_eq!(clear[place::H2.in_frame(n) + n - 1], 0xff);
            // J1 to N1 stand behind the overhead of each row.
            let path: Vec<u8> = clear.chunks(90 * n).map(|row| row[3 * n]).collect();
            assert_eq!((path[0], path[2], path[5]), (0, label::PPP, 0));
            if number > 0 {
                assert_eq!(clear[place::B1.in_frame(n)], parity[0]);
                assert_eq!(path[1], parity[1]);
            }
            parity = [0; 2];
            for octet in line {
                parity[0] ^= octet;
            }
            for row in clear.chunks(90 * n) {
                for octet in &row[3 * n..] {
                    parity[1] ^= octet;
                }
            }
        }
    }
}

#[test]
fn each_b2_is_the_parity_of_its_own_part_of_the_frame_before() {
    let level = Level::Sts12c;
    let mut sender = Sender::new(LineConfig::ppp(level, true), 522);
    let n = level.n() as usize;
    let frames: Vec<Vec<u8>> = (0..3)
        .map(|_| {
            let mut clear = sender.frame();
            scramble::frame(0, &mut clear[3 * n..]);
            clear
        })
        .collect();
    for pair in frames.windows(2) {
        for part in 0..n {
            let mut parity = Bip8::new();
            for (at, octet) in pair[0].iter().enumerate() {
                let (row, column) = (at / (90 * n), at % (90 * n));
                let section = row < 3 && column < 3 * n;
                if !section && column % n == part {
                    parity.update(&[*octet]);
                }
            }
            assert_eq!(pair[1][place::B2.in_frame(n) + part], parity.value());
        }
    }
}

#[test]
fn the_payload_scrambler_of_rfc_2615_is_on_the_line() {
    let level = Level::Sts3c;
    let mut transmitter = Transmitter::new(LineConfig::ppp(level, true), 522, 0);
    let mut line = vec![0; 2430];
    transmitter.emit(&mut line, |payload| payload.fill(0x7e));
    // From the state of zeros, recomputed from RFC 2615 section 4.
    let expected = "7e7e7e7e7e71b1b1b1b1b048484848487777777777709090";
    let found: String = payload_by_the_drawing(level, &line)[..24].iter().map(|octet| format!("{octet:02x}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn remote_errors_and_defects_are_told_once() {
    let (mut sender, mut listener) = pair(oc3c());
    sender.transmitter.set_feedback(Feedback { b2_errors: 30, b3_errors: 3, line_defect: false, path_defect: false });
    for _ in 0..4 {
        let frame = sender.frame();
        listener.take(&frame);
    }
    let counters = *listener.receiver.counters();
    // M1 of an STS-3c says at most 24.
    assert_eq!((counters.line_rei, counters.path_rei), (24, 3));
    for round in 0..2 {
        for _ in 0..8 {
            sender.transmitter.set_feedback(Feedback {
                line_defect: round == 0,
                path_defect: round == 0,
                ..Feedback::default()
            });
            let frame = sender.frame();
            listener.take(&frame);
        }
        let present = round == 0;
        let expected = [(Defect::PathRdi, present), (Defect::MsRdi, present)];
        assert_eq!(listener.said, expected);
        listener.said.clear();
    }
    assert_eq!(listener.interrupted, 0);
}

#[test]
fn wrong_bits_are_counted_by_the_parity_that_covers_them_and_told_back() {
    let (mut sender, mut listener) = pair(oc3c());
    let mut frame = sender.frame();
    // One in the section's trace, which only B1 covers; two in the line overhead, which B2 covers too; one in the
    // payload.
    frame[place::J0.in_frame(3)] ^= 4;
    frame[place::S1.in_frame(3)] ^= 3;
    frame[300] ^= 0x10;
    listener.take(&frame);
    let frame = sender.octets(5 * 270);
    listener.take(&frame);
    let counters = *listener.receiver.counters();
    assert_eq!((counters.b1_errors, counters.b2_errors, counters.b3_errors), (4, 3, 1));
    let feedback = listener.receiver.take_feedback();
    assert_eq!((feedback.b2_errors, feedback.b3_errors), (3, 1));
    assert_eq!(listener.receiver.take_feedback(), Feedback::default());
}

#[test]
fn frames_are_found_within_two_frames_and_the_rest_of_one() {
    let config = oc3c();
    let mut sender = Sender::new(config, 522);
    let octets = sender.octets(8 * 2430);
    for start in [0, 1, 5, 6, 270, 1000, 2429] {
        let mut receiver = Receiver::new(config);
        let mut taken = 0;
        while !receiver.in_frame() {
            receiver.take(&octets[start + taken..=start + taken], |_| {});
            taken += 1;
        }
        // Up to the first word, and a frame more.
        assert!(taken <= 2 * 2430 + 6, "{taken}");
    }
}

#[test]
fn four_bad_words_are_out_of_frame_and_two_good_ones_back_in() {
    let (mut sender, mut listener) = pair(oc3c());
    let spoil = |sender: &mut Sender| {
        let mut frame = sender.frame();
        frame[2] ^= 0x80;
        frame
    };
    for _ in 0..3 {
        let frame = spoil(&mut sender);
        listener.take(&frame);
    }
    assert!(listener.receiver.in_frame());
    let frame = sender.frame();
    listener.take(&frame);
    for _ in 0..4 {
        assert!(listener.receiver.in_frame());
        let frame = spoil(&mut sender);
        listener.take(&frame);
    }
    assert!(!listener.receiver.in_frame());
    assert_eq!(listener.receiver.counters().out_of_frame, 1);
    let frame = sender.frame();
    listener.take(&frame);
    assert!(!listener.receiver.in_frame());
    let frame = sender.frame();
    listener.take(&frame);
    assert!(listener.receiver.in_frame());
    assert_eq!(listener.said, []);
    // The payload has gone on all the time.
    let all: Vec<u8> = (0..listener.payload.len() as u64).map(|at| numbered(32 * 2340 + at)).collect();
    assert_eq!(listener.payload, all);
    assert_eq!(listener.payload.len(), 10 * 2340);
}

#[test]
fn a_line_of_noise_loses_its_frames_after_three_milliseconds_and_gets_them_back_after_three_more() {
    let (mut sender, mut listener) = pair(oc3c());
    let mut rng = Rng::new(7, 0);
    let mut noise = |frames: usize| -> Vec<u8> { (0..frames * 2430).map(|_| rng.next_u32() as u8).collect() };
    // Four frames until it is out of frame, and 24 more.
    listener.take(&noise(26));
    assert_eq!(listener.said, []);
    listener.take(&noise(1));
    assert_eq!(listener.said, [(Defect::Lof, true)]);
    assert_eq!(listener.interrupted, 1);
    assert_eq!(listener.defects(), [Defect::Lof]);
    sender.octets(1234);
    for frames in 0.. {
        assert!(frames < 30);
        let octets = sender.octets(2430);
        listener.take(&octets);
        if listener.said == [(Defect::Lof, false)] {
            // Two until it is in frame.
            assert!((24..=27).contains(&frames), "{frames}");
            break;
        }
        assert_eq!(listener.said, []);
    }
    listener.payload.clear();
    for _ in 0..4 {
        let frame = sender.frame();
        listener.take(&frame);
    }
    assert!(listener.payload.len() >= 2340);
    assert_eq!(listener.defects(), []);
}

#[test]
fn a_line_without_a_signal_is_told_from_a_frame_without_sense() {
    for octet in [0, 0xff] {
        let (mut sender, mut listener) = pair(oc3c());
        listener.take(&vec![octet; 480]);
        assert_eq!(listener.said, []);
        listener.take(&[octet; 10]);
        assert_eq!(listener.said, [(Defect::Los, true)]);
        assert_eq!(listener.interrupted, 1);
        // However long: there are no frames where there is no signal.
        listener.take(&vec![octet; 200 * 2430]);
        assert_eq!(listener.defects(), [Defect::Los]);
        assert!(listener.receiver.take_feedback().line_defect);
        for _ in 0..40 {
            let frame = sender.frame();
            listener.take(&frame);
        }
        assert_eq!(listener.said, [(Defect::Los, false)]);
        assert_eq!(listener.defects(), []);
        assert!(listener.receiver.is_steady());
    }
}

#[test]
fn alarms_in_place_of_the_line_or_the_path_are_named_and_pass() {
    for (alarm, defect, line) in [
        (Alarm::Line, Defect::MsAis, true),
        (Alarm::Path, Defect::PathAis, false),
        (Alarm::Unequipped, Defect::Unequipped, false),
    ] {
        let (mut sender, mut listener) = pair(oc3c());
        sender.transmitter.set_alarm(Some(alarm));
        for _ in 0..12 {
            let frame = sender.frame();
            listener.take(&frame);
        }
        assert_eq!(listener.interrupted, 1, "{alarm:?}");
        assert_eq!(listener.defects(), [defect]);
        let feedback = listener.receiver.take_feedback();
        assert_eq!((feedback.line_defect, feedback.path_defect), (line, true));
        sender.transmitter.set_alarm(None);
        for _ in 0..12 {
            let frame = sender.frame();
            listener.take(&frame);
        }
        assert_eq!(listener.defects(), []);
        listener.payload.clear();
        let (frame, next) = (sender.frame(), sender.next);
        listener.take(&frame);
        let expected: Vec<u8> = (next - 2340..next).map(numbered).collect();
        assert_eq!(listener.payload, expected);
    }
}

#[test]
fn a_payload_of_another_kind_is_not_taken() {
    let (ours, theirs) = (oc3c(), LineConfig::ppp(Level::Sts3c, false));
    let (mut sender, mut listener) = (Sender::new(theirs, 522), Listener::new(ours));
    for _ in 0..40 {
        let frame = sender.frame();
        listener.take(&frame);
    }
    assert_eq!(listener.said, [(Defect::PayloadMismatch, true)]);
    assert_eq!(listener.interrupted, 1);
    listener.payload.clear();
    let frame = sender.frame();
    listener.take(&frame);
    assert_eq!(listener.payload, []);
    // Equipped with something unnamed is taken for ours.
    let any = LineConfig { label: label::NON_SPECIFIC, ..ours };
    let (mut sender, mut listener) = (Sender::new(any, 522), Listener::new(ours));
    for _ in 0..40 {
        let frame = sender.frame();
        listener.take(&frame);
    }
    assert_eq!(listener.said, []);
}

/// Writes other pointers into frames before they are scrambled; the payload is where it was.
fn with_pointer(frame: &mut [u8], n: usize, pointer: [u8; 2]) {
    let mask = |at: usize| {
        let mut octet = [0];
        scramble::frame(at - 3 * n, &mut octet);
        octet[0]
    };
    for (place, octet) in [place::H1, place::H2].into_iter().zip(pointer) {
        let at = place.in_frame(n);
        frame[at] = octet ^ mask(at);
    }
}

#[test]
fn a_pointer_that_makes_no_sense_for_eight_frames_is_lost_and_three_good_ones_find_it() {
    let (mut sender, mut listener) = pair(oc3c());
    for number in 0..8 {
        assert_eq!(listener.said, [], "{number}");
        let mut frame = sender.frame();
        // Neither new data nor not.
        with_pointer(&mut frame, 3, [0x02, 0x0a]);
        listener.take(&frame);
    }
    assert_eq!(listener.said, [(Defect::Lop, true)]);
    assert_eq!(listener.defects(), [Defect::Lop]);
    for _ in 0..2 {
        let frame = sender.frame();
        listener.take(&frame);
        assert_eq!(listener.said, []);
    }
    let frame = sender.frame();
    listener.take(&frame);
    assert_eq!(listener.said, [(Defect::Lop, false)]);
}

#[test]
fn three_equal_pointers_are_believed_without_a_flag() {
    let (mut sender, mut listener) = pair(oc3c());
    // It differs from 522 in as many bits of one kind as of the other.
    let pointer = Pointer { new_data: Some(false), ss: 0, value: 522 ^ 15 };
    assert_eq!(pointer.justification(522), None);
    for _ in 0..3 {
        assert_eq!(listener.receiver.counters().new_pointers, 1);
        let mut frame = sender.frame();
        with_pointer(&mut frame, 3, pointer.emit());
        listener.take(&frame);
    }
    assert_eq!(listener.receiver.counters().new_pointers, 2);
}

#[test]
fn a_receiver_that_is_told_of_new_data_follows_at_once() {
    for pointer in [0, 1, 300, 521, 522, 523, 782] {
        let (mut sender, mut listener) = pair(oc3c());
        sender.transmitter.jump(pointer);
        for _ in 0..3 {
            let frame = sender.frame();
            listener.take(&frame);
        }
        listener.payload.clear();
        let before = sender.next;
        for _ in 0..3 {
            let frame = sender.frame();
            listener.take(&frame);
        }
        let expected: Vec<u8> = (before..sender.next).map(numbered).collect();
        assert_eq!(listener.payload, expected, "{pointer}");
        assert_eq!(sender.transmitter.counters().new_data, 1);
        assert_eq!(listener.receiver.counters().new_pointers, 2);
        assert_eq!(listener.receiver.counters().b3_errors, 0);
        assert_eq!(listener.defects(), []);
    }
}

/// The transmitter and the counting clock are two ways to the same answer: see also the test of whole sections.
#[test]
fn payload_is_on_the_line_when_the_clock_says_so() {
    for (pointer, ppb) in [(522, 0), (0, 0), (521, 300_000), (3, -300_000), (782, 20_000)] {
        for level in [Level::Sts3c, Level::Sts12c] {
            let config = LineConfig::ppp(level, false);
            let clock = OctetClock::new(level).with_pointer(pointer).with_offset(ppb);
            let mut sender = Sender::new(config, pointer);
            sender.transmitter.set_offset(ppb);
            let frame_len = Size::of(level).frame;
            let n = Size::of(level).n;
            let mut next = 0;
            for frame in 0..40 {
                let mut line = sender.octets(frame_len);
                scramble::frame(0, &mut line[3 * n..]);
                while next < sender.next {
                    let (found, at) = clock.place(next);
                    assert_eq!(found, frame, "{pointer} {ppb} {next}");
                    assert_eq!(line[at as usize], numbered(next));
                    next += 1;
                }
            }
            let moved = *sender.transmitter.counters();
            let moves = 783 * 40 * u64::from(ppb.unsigned_abs()) / 1_000_000_000;
            assert_eq!(moved.positive + moved.negative, moves);
        }
    }
}

/// Also where an octet of payload is in H3.
#[test]
fn no_octet_of_payload_waits_for_those_behind_it() {
    for ppb in [-300_000, 300_000] {
        let (mut sender, mut listener) = pair(LineConfig::ppp(Level::Sts12c, true));
        sender.transmitter.set_offset(ppb);
        let first = sender.next;
        for _ in 0..9 * 9720 {
            let octet = sender.octets(1);
            listener.take(&octet);
            assert_eq!(listener.payload.len() as u64, sender.next - first);
        }
        let counters = listener.receiver.counters();
        assert_eq!(counters.positive + counters.negative, 2);
    }
}

proptest! {
    /// Whatever the pieces, the pointer, and the clock of the payload.
    #[test]
    fn payload_comes_out_as_it_went_in(
        config in configs(), pointer in 0..783_u16, ppb in prop_oneof![Just(0), -300_000..=300_000],
        pieces in prop::collection::vec(1..9000_usize, 1..6), asked in prop::option::of(any::<bool>()),
    ) {
        let (mut sender, mut listener) = (Sender::new(config, pointer), Listener::new(config));
        sender.transmitter.set_offset(ppb);
        let frame = Size::of(config.level).frame;
        let mut begun = false;
        let mut first = 0;
        let mut pieces = pieces.iter().cycle();
        let mut sent = 0;
        while sent < 14 * frame {
            let piece = *pieces.next().unwrap();
            let octets = sender.octets(piece);
            sent += piece;
            listener.take(&octets);
            if !begun && listener.payload.len() > 10 {
                begun = true;
                // From here on everything comes.
                listener.payload.clear();
                first = sender.next;
                if ppb == 0 && let Some(positive) = asked {
                    let which = if positive { Justification::Positive } else { Justification::Negative };
                    sender.transmitter.justify(which);
                }
            }
        }
        prop_assert!(begun);
        let expected: Vec<u8> = (first..sender.next).map(numbered).collect();
        prop_assert!(listener.payload == expected);
        let (found, sent) = (*listener.receiver.counters(), *sender.transmitter.counters());
        prop_assert_eq!((found.b1_errors, found.b2_errors, found.b3_errors), (0, 0, 0));
        if ppb == 0 {
            prop_assert_eq!((found.positive, found.negative), (sent.positive, sent.negative));
            prop_assert_eq!(found.positive + found.negative, u64::from(asked.is_some()));
        }
        prop_assert_eq!(listener.receiver.defects().iter().count(), 0);
    }

    #[test]
    fn any_octets_in_any_pieces_give_the_same(
        octets in prop::collection::vec(any::<u8>(), 0..6000), pieces in prop::collection::vec(1..400_usize, 1..6),
        from in 0..40_000_usize, quiet in (0..50_000_usize, 0..3000_usize), out in 4..20_usize, spoiled in prop::collection::vec((0..60_000_usize, any::<u8>()), 0..200),
    ) {
        let mut sender = Sender::new(oc3c(), 522);
        let mut line = sender.octets(60_000);
        line[from..from + octets.len()].copy_from_slice(&octets);
        line[quiet.0..quiet.0 + quiet.1].fill(0);
        // Four alignment words in a row are wrong.
        for frame in out..out + 4 {
            line[2430 * frame + 2] ^= 1;
        }
        for (at, bits) in spoiled {
            line[at] ^= bits;
        }
        let (mut whole, mut cut) = (Listener::new(oc3c()), Listener::new(oc3c()));
        whole.take(&line);
        let (mut rest, mut pieces) = (&line[..], pieces.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((*pieces.next().unwrap()).min(rest.len()));
            cut.take(piece);
            rest = after;
        }
        prop_assert!(whole.payload == cut.payload);
        prop_assert_eq!(whole.said, cut.said);
        prop_assert_eq!(whole.receiver.counters(), cut.receiver.counters());
    }
}
