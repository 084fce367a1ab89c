use kumiki_octets::{Message, Pattern};
use proptest::prelude::*;

use super::*;

/// What a deframer shows of `octets`, which come in pieces of `cuts` octets in turn.
fn found(framing: Framing, longest: usize, octets: &[u8], cuts: &[usize]) -> (Vec<Vec<u8>>, Deframer) {
    let mut deframer = Deframer::new(framing, longest);
    let (mut frames, mut rest) = (Vec::new(), octets);
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let cut = cuts.next().map_or(rest.len(), |cut| (*cut).clamp(1, rest.len()));
        let (piece, after) = rest.split_at(cut);
        deframer.take(piece, |_, found| {
            if let Deframed::Frame(frame) = found {
                frames.push(frame.to_vec());
            }
        });
        rest = after;
    }
    (frames, deframer)
}

fn line(framing: Framing, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut octets = vec![FLAG];
    for frame in frames {
        framing.emit(&Message::from_octets(frame), &mut octets);
    }
    octets
}

fn framing() -> impl Strategy<Value = Framing> {
    let fcs = prop_oneof![Just(FcsKind::Fcs16), Just(FcsKind::Fcs32)];
    let accm = prop_oneof![Just(0), Just(u32::MAX), any::<u32>()];
    (fcs, accm, any::<bool>()).prop_map(|(fcs, accm, opening_flag)| Framing {
        fcs,
        accm: Accm::new(accm),
        opening_flag,
    })
}

/// Octets among which those that mean something on the line are frequent.
fn octets(len: core::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    let octet = prop_oneof![
        4 => any::<u8>(),
        1 => prop::sample::select(vec![0x7e_u8, 0x7d, 0x5e, 0x5d, 0x00, 0x11]),
    ];
    prop::collection::vec(octet, len)
}

/// An LCP Configure-Request with magic number 7E7D1234, recomputed from RFC 1662 with both sequences.
#[test]
fn a_frame_of_lcp_is_on_the_line_as_the_standard_has_it() {
    let frame = [0xff, 0x03, 0xc0, 0x21, 0x01, 0x01, 0x00, 0x0a, 0x05, 0x06, 0x7e, 0x7d, 0x12, 0x34];
    let body = [0x7e, 0xff, 0x03, 0xc0, 0x21, 0x01, 0x01, 0x00, 0x0a, 0x05, 0x06, 0x7d, 0x5e, 0x7d, 0x5d, 0x12, 0x34];
    let sequences: [(FcsKind, &[u8]); 2] =
        [(FcsKind::Fcs16, &[0xaf, 0x3d]), (FcsKind::Fcs32, &[0xb5, 0x99, 0x82, 0x49])];
    for (fcs, sequence) in sequences {
        let framing = Framing { fcs, opening_flag: true, ..Framing::default() };
        let expected = [&body[..], sequence, &[0x7e]].concat();
        let mut octets = Vec::new();
        framing.emit(&Message::from_octets(&frame), &mut octets);
        assert_eq!(octets, expected);
        assert_eq!(found(framing, 1500, &octets, &[3]).0, [frame]);
    }
}

#[test]
fn what_is_no_frame_is_counted_and_the_next_one_comes() {
    let framing = Framing::default();
    let good = vec![0xff, 0x03, 0x00, 0x21, 1, 2, 3];
    let mut octets = vec![9, 9, 9];
    octets.extend(line(framing, std::slice::from_ref(&good)));
    // Idle line; too short; aborted; an octet changed; too long.
    octets.extend([0x7e, 0x7e, 1, 2, 3, 0x7e]);
    octets.extend([0xff, 0x03, 0x00, 0x21, 0x7d, 0x7e]);
    let mut bad = line(framing, std::slice::from_ref(&good));
    bad[5] ^= 1;
    octets.extend(&bad);
    octets.extend(line(framing, &[vec![5; 40], good.clone()]));
    let (frames, deframer) = found(framing, 20, &octets, &[octets.len()]);
    assert_eq!(frames, [good.clone(), good]);
    let counters = *deframer.counters();
    assert_eq!(
        counters,
        FramingCounters {
            frames: 2,
            octets: 14,
            bad_fcs: 1,
            aborts: 1,
            runts: 1,
            oversize: 1,
            skipped: counters.skipped,
        }
    );
    // Before the first flag, and the long frame with its sequence.
    assert_eq!(counters.skipped, 3 + 40 + 2);
}

#[test]
fn a_line_that_was_interrupted_gives_up_what_was_under_way() {
    let framing = Framing::default();
    let octets = line(framing, &[vec![0xff, 3, 0, 0x21, 5, 6, 7, 8]]);
    let mut deframer = Deframer::new(framing, 1500);
    let mut shown = 0;
    deframer.take(&octets[..6], |_, _| shown += 1);
    deframer.lose();
    deframer.take(&octets[6..], |_, _| shown += 1);
    assert_eq!(shown, 0);
    deframer.take(&octets, |_, found| {
        shown += usize::from(matches!(found, Deframed::Frame(_)));
    });
    assert_eq!(shown, 1);
}

#[test]
fn between_two_frames_the_framing_can_change_and_nothing_is_lost() {
    let short = Framing::default();
    let long = Framing { fcs: FcsKind::Fcs32, ..short };
    let frame = [0xff, 3, 0, 0x21, 5, 6, 7, 8];
    let mut octets = vec![FLAG];
    short.emit(&Message::from_octets(&frame), &mut octets);
    let change = octets.len();
    // The flag that ended the last frame begins this one.
    long.emit(&Message::from_octets(&frame), &mut octets);
    let mut deframer = Deframer::new(short, 1500);
    deframer.take(&octets[..change], |_, _| {});
    deframer.set_framing(long);
    deframer.take(&octets[change..], |_, _| {});
    assert_eq!(deframer.counters().frames, 2);
    // In the middle of one, that one is lost.
    deframer.take(&octets[..4], |_, _| {});
    deframer.set_framing(short);
    deframer.take(&octets[4..change], |_, _| {});
    deframer.take(&octets[..change], |_, _| {});
    let counters = deframer.counters();
    assert_eq!((counters.frames, counters.bad_fcs), (3, 0));
}

#[test]
fn generated_content_takes_as_many_octets_as_the_same_written_down() {
    let framing = Framing { fcs: FcsKind::Fcs32, ..Framing::default() };
    let pattern = Pattern::Ttcp { write_len: 8192 };
    for len in [0, 1, 95, 1460, 9140] {
        let mut message = Message::generated(pattern, 7, len);
        message.push(4).copy_from_slice(&[0xff, 3, 0, 0x21]);
        let mut octets = Vec::new();
        framing.emit(&message, &mut octets);
        assert_eq!(framing.octets_of(&message), octets.len() as u64);
        assert_eq!(framing.octets_of(&Message::from_octets(&message.to_vec())), octets.len() as u64);
    }
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in_whatever_the_pieces(
        framing in framing(), frames in prop::collection::vec(octets(2..300), 0..8),
        cuts in prop::collection::vec(1..70_usize, 1..8),
    ) {
        let octets = line(framing, &frames);
        let each: u64 = frames.iter().map(|frame| framing.octets_of(&Message::from_octets(frame))).sum();
        prop_assert_eq!(octets.len() as u64, 1 + each);
        let (out, deframer) = found(framing, 300, &octets, &cuts);
        prop_assert_eq!(&out, &frames);
        prop_assert_eq!(deframer.counters().frames, frames.len() as u64);
    }

    #[test]
    fn any_octets_are_taken_without_holding_more_than_a_frame(
        framing in framing(), octets in octets(0..3000), longest in 0..200_usize,
        cuts in prop::collection::vec(1..70_usize, 1..8),
    ) {
        let (frames, deframer) = found(framing, longest, &octets, &cuts);
        prop_assert!(frames.iter().all(|frame| frame.len() <= longest));
        // How it was cut makes no difference.
        let (whole, other) = found(framing, longest, &octets, &[octets.len().max(1)]);
        prop_assert_eq!(frames, whole);
        prop_assert_eq!(deframer.counters(), other.counters());
    }

    /// RFC 1662 appendix C: every error in up to three bits of a frame this long is found, by either sequence. A flag
    /// or an escape that comes or goes shifts what follows; that is found too, but for one time in 65,536 by the
    /// shorter sequence.
    #[test]
    fn a_frame_with_a_bit_changed_is_not_taken(
        framing in framing(), frame in octets(2..200), bit in any::<prop::sample::Index>(),
    ) {
        let mut octets = line(framing, std::slice::from_ref(&frame));
        let bit = bit.index(8 * octets.len());
        let before = octets[bit / 8];
        octets[bit / 8] ^= 0x80 >> (bit % 8);
        prop_assume!(![before, octets[bit / 8]].iter().any(|octet| matches!(octet, 0x7d | 0x7e)));
        let (frames, _) = found(framing, 300, &octets, &[octets.len()]);
        prop_assert!(frames.iter().all(|found| *found == frame));
    }
}

/// X.25's and HDLC's example: SABM with P to address 3, and its check sequence by the published polynomial.
#[test]
fn a_bit_synchronous_frame_is_its_octets_stuffed_between_flags() {
    let frame = Message::from_octets(&[0x03, 0x3f]);
    let framing = BitFraming::default();
    let mut line = BitWriter::new();
    line.flag();
    framing.emit(&frame, &mut line);
    assert_eq!(line.bits(), 8 + framing.bits_of(&frame));
    let mut found = Vec::new();
    let mut reader = kumiki_octets::bit_stuffing::BitReader::new(100);
    reader.read(line.octets(), |it| found.push(it));
    // The check sequence that RFC 1662 appendix C.2 gives for these octets.
    let [kumiki_octets::bit_stuffing::LineEvent::Frame(octets)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(octets[..2], [0x03, 0x3f]);
    assert_eq!(octets.len(), 4);
    assert!(FcsKind::Fcs16.is_right_in(octets));
}
