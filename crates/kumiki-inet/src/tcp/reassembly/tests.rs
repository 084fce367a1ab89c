use super::*;
use proptest::prelude::*;

fn text(stream: &[u8], from: usize, to: usize) -> Message {
    Message::from_octets(&stream[from..to])
}

fn block(left: u32, right: u32) -> SackBlock {
    SackBlock { left: Seq(left), right: Seq(right) }
}

/// A receiver at `rcv_nxt` with the window of RFC 2018's and 2883's examples.
struct Receiver {
    queue: Reassembly,
    rcv_nxt: Seq,
}

impl Receiver {
    fn at(rcv_nxt: u32) -> Self {
        Self { queue: Reassembly::new(Limits::default()), rcv_nxt: Seq(rcv_nxt) }
    }

    /// A segment arrives; what the ACK for it says.
    fn on(&mut self, from: u32, to: u32) -> (u32, Vec<SackBlock>) {
        let text = Message::from_octets(&vec![7; (to - from) as usize]);
        self.queue.insert(self.rcv_nxt, 65535, Seq(from), text, false);
        while let Some(text) = self.queue.pop_in_order(self.rcv_nxt) {
            self.rcv_nxt = self.rcv_nxt.advance(text.len());
        }
        let blocks = self.queue.sack_blocks(4, true);
        (self.rcv_nxt.0, blocks.as_slice().to_vec())
    }
}

// RFC 9293: SHLD-31
#[test]
fn rfc_2018_case_2_grows_one_block() {
    let mut r = Receiver::at(5000);
    for right in [6000, 6500, 7000, 7500, 8000, 8500, 9000] {
        assert_eq!(r.on(right - 500, right), (5000, vec![block(5500, right)]));
    }
    assert_eq!(r.on(5000, 5500), (9000, vec![]));
}

#[test]
fn rfc_2018_case_3_reports_the_latest_block_first() {
    let mut r = Receiver::at(5000);
    assert_eq!(r.on(5000, 5500), (5500, vec![]));
    assert_eq!(r.on(6000, 6500), (5500, vec![block(6000, 6500)]));
    let both = vec![block(7000, 7500), block(6000, 6500)];
    assert_eq!(r.on(7000, 7500), (5500, both));
    let three = vec![block(8000, 8500), block(7000, 7500), block(6000, 6500)];
    assert_eq!(r.on(8000, 8500), (5500, three));
    // The fourth segment arrives late, then the second.
    let joined = vec![block(6000, 7500), block(8000, 8500)];
    assert_eq!(r.on(6500, 7000), (5500, joined));
    assert_eq!(r.on(5500, 6000), (7500, vec![block(8000, 8500)]));
}

#[test]
fn rfc_2883_examples_1_and_2_report_what_is_below_the_acknowledgment() {
    let mut r = Receiver::at(4000);
    assert_eq!(r.on(3000, 3500), (4000, vec![block(3000, 3500)]));
    assert_eq!(r.on(4500, 5000), (4000, vec![block(4500, 5000)]));
    let both = vec![block(3000, 3500), block(4500, 5000)];
    assert_eq!(r.on(3000, 3500), (4000, both));
}

#[test]
fn rfc_2883_example_3_reports_the_larger_block_second() {
    let mut r = Receiver::at(4000);
    r.on(4500, 5000);
    assert_eq!(r.on(5000, 5500), (4000, vec![block(4500, 5500)]));
    let both = vec![block(5000, 5500), block(4500, 5500)];
    assert_eq!(r.on(5000, 5500), (4000, both));
}

#[test]
fn rfc_2883_examples_4_and_5_report_the_first_part_only() {
    let mut r = Receiver::at(1000);
    r.on(2000, 2500);
    r.on(1000, 1500);
    assert_eq!(r.on(1000, 2000), (2500, vec![block(1000, 1500)]));

    let mut r = Receiver::at(1000);
    r.on(3000, 3500);
    r.on(1000, 1500);
    r.on(2000, 2500);
    let both = vec![block(1000, 1500), block(3000, 3500)];
    assert_eq!(r.on(1000, 2500), (2500, both));
}

#[test]
fn rfc_2883_example_6_has_duplicate_larger_block_and_the_rest() {
    let mut r = Receiver::at(1000);
    r.on(3500, 4000);
    r.on(1500, 2000);
    r.on(2500, 3000);
    let three = vec![block(1500, 2000), block(1500, 3000), block(3500, 4000)];
    assert_eq!(r.on(1500, 3000), (1000, three));
}

#[test]
fn a_duplicate_is_reported_once_and_only_on_request() {
    let mut r = Receiver::at(4000);
    r.queue.note_duplicate(block(1, 2));
    assert_eq!(r.queue.sack_blocks(3, true).as_slice(), [block(1, 2)]);
    assert!(r.queue.sack_blocks(3, true).is_empty());
    r.queue.note_duplicate(block(1, 2));
    assert!(r.queue.sack_blocks(3, false).is_empty());
}

#[test]
fn the_first_to_arrive_stay() {
    let mut q = Reassembly::new(Limits::default());
    let at = Seq(0);
    q.insert(at, 100, Seq(2), Message::from_octets(b"cd"), false);
    q.insert(at, 100, Seq(0), Message::from_octets(b"ABCDEF"), false);
    let mut all = Vec::new();
    let mut rcv_nxt = at;
    while let Some(part) = q.pop_in_order(rcv_nxt) {
        rcv_nxt = rcv_nxt.advance(part.len());
        all.extend(part.to_vec());
    }
    assert_eq!(all, b"ABcdEF");
    assert_eq!((q.octets(), q.pieces(), q.is_empty()), (0, 0, true));
}

#[test]
fn what_is_outside_the_window_is_cut_off() {
    let mut q = Reassembly::new(Limits::default());
    let text = || Message::from_octets(&[0; 10]);
    assert_eq!(q.insert(Seq(5), 20, Seq(25), text(), false), Inserted::Outside);
    assert_eq!(q.insert(Seq(5), 20, Seq(20), text(), true), Inserted::Queued(5));
    assert!(!q.fin_is_next(Seq(25)), "text before the FIN was outside");
    assert_eq!(q.insert(Seq(5), 0, Seq(5), text(), false), Inserted::Outside);
    let old = Seq(u32::MAX - 3);
    assert_eq!(q.insert(Seq(5), 20, old, text(), false), Inserted::Queued(1));
    assert_eq!(q.insert(Seq(20), 20, old, text(), false), Inserted::Duplicate);
}

#[test]
fn a_fin_behind_text_that_fills_the_window_needs_no_room() {
    let mut q = Reassembly::new(Limits::default());
    let text = |n: usize| Message::from_octets(&vec![0; n]);
    assert_eq!(q.insert(Seq(5), 20, Seq(10), text(15), true), Inserted::Queued(15));
    assert!(q.fin_is_next(Seq(25)));
    let mut q = Reassembly::new(Limits::default());
    assert_eq!(q.insert(Seq(5), 20, Seq(10), text(16), true), Inserted::Queued(15));
    assert!(!q.fin_is_next(Seq(25)) && !q.fin_is_next(Seq(26)));
}

#[test]
fn a_fin_waits_for_its_turn_and_ends_the_text() {
    let mut q = Reassembly::new(Limits::default());
    let text = |n: usize| Message::from_octets(&vec![0; n]);
    assert_eq!(q.insert(Seq(0), 100, Seq(10), text(10), true), Inserted::Queued(10));
    assert_eq!(q.sack_blocks(4, true).as_slice(), [block(10, 21)]);
    assert_eq!(q.insert(Seq(0), 100, Seq(15), text(20), true), Inserted::Duplicate);
    assert_eq!(q.insert(Seq(0), 100, Seq(0), text(10), false), Inserted::Queued(10));
    assert!(!q.fin_is_next(Seq(0)));
    let len = q.pop_in_order(Seq(0)).unwrap().len();
    assert_eq!(len, 10);
    assert_eq!(q.pop_in_order(Seq(10)).unwrap().len(), 10);
    assert!(q.fin_is_next(Seq(20)));
}

#[test]
fn a_fin_before_known_text_is_ignored() {
    let mut q = Reassembly::new(Limits::default());
    let text = || Message::from_octets(&[0; 10]);
    q.insert(Seq(0), 100, Seq(20), text(), false);
    q.insert(Seq(0), 100, Seq(10), text(), true);
    assert!(!q.fin_is_next(Seq(20)));
    let alone = q.insert(Seq(0), 100, Seq(30), Message::new(), true);
    assert_eq!(alone, Inserted::Queued(0));
    assert!(q.fin_is_next(Seq(30)));
}

#[test]
fn a_fin_behind_a_hole_is_a_block_of_its_own() {
    let mut q = Reassembly::new(Limits::default());
    let text = |n: usize| Message::from_octets(&vec![0; n]);
    let at = Seq(u32::MAX - 4);
    let mut on = |from: u32, n: usize, fin: bool| {
        q.insert(at, 100, at + from, text(n), fin);
        let blocks = q.sack_blocks(4, true);
        blocks.as_slice().iter().map(|block| (block.left - at, block.right - at)).collect::<Vec<_>>()
    };
    assert_eq!(on(30, 0, true), [(30, 31)]);
    assert_eq!(on(10, 5, false), [(10, 15), (30, 31)]);
    // A second copy is reported as such, and what it is part of is the latest.
    assert_eq!(on(30, 0, true), [(30, 31), (30, 31), (10, 15)]);
    // Elsewhere it cannot be.
    assert_eq!(on(29, 0, true), [(30, 31), (10, 15)]);
    // Text up to it is one block with it.
    assert_eq!(on(20, 10, false), [(20, 31), (10, 15)]);
    assert_eq!(on(10, 2, false), [(10, 12), (10, 15), (20, 31)]);
    assert_eq!(on(30, 0, true), [(30, 31), (20, 31), (10, 15)]);
    // A copy of text and FIN is one.
    assert_eq!(on(25, 5, true), [(25, 31), (20, 31), (10, 15)]);
    assert_eq!(on(15, 5, false), [(10, 31)]);
    assert_eq!(on(0, 10, false), [(0, 31)]);
    for rcv_nxt in [0, 10, 15, 20, 30].map(|from| at + from) {
        assert!(!q.fin_is_next(rcv_nxt) || rcv_nxt == at + 30);
        assert_eq!(q.pop_in_order(rcv_nxt).is_none(), rcv_nxt == at + 30);
    }
    assert!(q.fin_is_next(at + 30));
    assert!(q.sack_blocks(4, true).is_empty(), "the next is told by the acknowledgment number");
}

#[test]
fn limits_hold_except_for_what_comes_next() {
    let mut q = Reassembly::new(Limits { octets: 25, pieces: 3 });
    let text = |n: usize| Message::from_octets(&vec![0; n]);
    assert_eq!(q.insert(Seq(0), 1000, Seq(10), text(10), false), Inserted::Queued(10));
    assert_eq!(q.insert(Seq(0), 1000, Seq(30), text(10), false), Inserted::Queued(10));
    assert_eq!(q.insert(Seq(0), 1000, Seq(50), text(10), false), Inserted::Full);
    assert_eq!(q.insert(Seq(0), 1000, Seq(50), text(5), false), Inserted::Queued(5));
    assert_eq!(q.insert(Seq(0), 1000, Seq(60), text(0), false), Inserted::Duplicate);
    assert_eq!(q.insert(Seq(0), 1000, Seq(12), text(4), false), Inserted::Duplicate);
    assert_eq!(q.insert(Seq(0), 1000, Seq(0), text(10), false), Inserted::Queued(10));
}

#[test]
fn small_neighbours_share_pages_and_holes_do_not_go_on_for_ever() {
    // One octet each, behind a hole: a page holds 2048 of them.
    let stream: Vec<u8> = (0..=u8::MAX).cycle().take(10_000).collect();
    let mut q = Reassembly::new(Limits::default());
    for at in 1..10_000 {
        let seq = Seq(u32::try_from(at).unwrap());
        let queued = q.insert(Seq(0), 65_535, seq, text(&stream, at, at + 1), false);
        assert_eq!(queued, Inserted::Queued(1));
    }
    assert!(q.pieces() <= MANY + 10_000 / 1024 + 1, "{}", q.pieces());
    q.insert(Seq(0), 65_535, Seq(0), text(&stream, 0, 1), false);
    let (mut rcv_nxt, mut got) = (Seq(0), Vec::new());
    while let Some(part) = q.pop_in_order(rcv_nxt) {
        rcv_nxt = rcv_nxt.advance(part.len());
        got.extend(part.to_vec());
    }
    assert_eq!(got, stream);
    assert_eq!((q.octets(), q.pieces()), (0, 0));
    // One octet each, with a hole in front of each: as many as the window would have of 1024 octets each.
    for (window, pieces) in [(65_535, 128), (300_000, 292), (4 << 20, 4096)] {
        let mut q = Reassembly::new(Limits::default());
        for at in 0..10_000 {
            q.insert(Seq(0), window, Seq(2 * at + 1), text(&stream, 0, 1), false);
        }
        assert_eq!((q.pieces(), q.octets()), (pieces, pieces));
        assert!(q.memory() <= pieces * 3000);
        // What comes next is taken in any case.
        let next = q.insert(Seq(0), window, Seq(0), text(&stream, 0, 1), false);
        assert_eq!(next, Inserted::Queued(1));
        assert_eq!(q.pop_in_order(Seq(0)).unwrap().len(), 1);
    }
}

/// A sender whose slow start has overrun a queue leaves a hole behind every other segment of a window.
#[test]
fn what_a_window_has_offered_finds_room_whatever_of_it_is_lost() {
    for (window, mss) in [(64 << 10, 512u32), (1 << 20, 536), (24 << 20, 1448), (32 << 20, 1448)] {
        for (every, lost) in [(2, 1), (3, 1), (3, 2), (7, 6)] {
            let stream = vec![0; mss as usize];
            let mut q = Reassembly::new(Limits::default());
            let start = Seq(u32::MAX - (window / 2));
            let segments = window / mss;
            for at in (0..segments).filter(|at| at % every >= lost) {
                let text = text(&stream, 0, stream.len());
                let queued = q.insert(start, window, start + at * mss, text, false);
                assert_eq!(queued, Inserted::Queued(stream.len()), "{at} of {segments}");
            }
            assert!(q.memory() <= 3 * window as usize, "{}", q.memory());
            // What was lost comes again, from the first on, and all of it is there.
            let mut rcv_nxt = start;
            for at in (0..segments).filter(|at| at % every < lost) {
                let text = text(&stream, 0, stream.len());
                q.insert(rcv_nxt, window, start + at * mss, text, false);
                while let Some(part) = q.pop_in_order(rcv_nxt) {
                    rcv_nxt = rcv_nxt.advance(part.len());
                }
            }
            assert_eq!(rcv_nxt, start + segments * mss);
            assert_eq!((q.octets(), q.pieces()), (0, 0));
        }
    }
}

#[test]
fn what_takes_no_memory_or_is_leased_is_not_copied_together() {
    let generated = |at: u64| Message::generated(kumiki_octets::Pattern::Counter, at, 1);
    let mut q = Reassembly::new(Limits::default());
    for at in 1..200 {
        q.insert(Seq(0), 1 << 20, Seq(at), generated(at.into()), false);
    }
    assert_eq!(q.pieces(), 199);
    let leased = || {
        let mut message = Message::from_octets(&[0; 20]);
        message.set_lease(Some(&(std::sync::Arc::new(()) as kumiki_octets::Lease)));
        message
    };
    let mut q = Reassembly::new(Limits::default());
    for at in 1..200 {
        q.insert(Seq(0), 1 << 20, Seq(20 * at), leased(), false);
    }
    assert_eq!(q.pieces(), 199);
}

proptest! {
    #[test]
    fn any_order_overlap_and_duplication_gives_the_stream(
        start: u32,
        len in 1usize..400,
        cuts in prop::collection::vec((0usize..400, 1usize..60), 0..60),
    ) {
        let stream: Vec<u8> = (0..=u8::MAX).cycle().map(|n| n.wrapping_mul(7)).take(len).collect();
        let mut q = Reassembly::new(Limits::default());
        let (mut rcv_nxt, mut got) = (Seq(start), Vec::new());
        let ordered = (0..len).step_by(50).map(|at| (at, 50));
        for (from, n) in cuts.into_iter().chain(ordered) {
            let (from, to) = (from.min(len), (from + n).min(len));
            let queued = q.octets();
            let outcome = q.insert(
                rcv_nxt, 1000, Seq(start).advance(from), text(&stream, from, to), to == len,
            );
            if let Inserted::Queued(n) = outcome {
                prop_assert_eq!(q.octets(), queued + n);
            }
            let blocks = q.sack_blocks(4, false);
            for block in &blocks {
                prop_assert!(block.left.lt(block.right) && rcv_nxt.leq(block.left));
            }
            while let Some(part) = q.pop_in_order(rcv_nxt) {
                rcv_nxt = rcv_nxt.advance(part.len());
                got.extend(part.to_vec());
            }
            prop_assert!(q.octets() <= len - got.len());
            prop_assert!(q.pieces() <= q.octets());
        }
        prop_assert_eq!(&got, &stream);
        prop_assert!(q.is_empty() && q.fin_is_next(rcv_nxt));
        prop_assert_eq!((q.octets(), q.pieces()), (0, 0));
    }

    /// What RFC 2018 section 4 demands: the first block is that of the segment that came, each is as long as it can be,
    /// and while there are no more than fit, all are told. The FIN counts as one octet more.
    #[test]
    fn blocks_are_what_has_come(
        start: u32,
        len in 1usize..60,
        segments in prop::collection::vec((1usize..61, 0usize..12), 1..30),
    ) {
        let mut q = Reassembly::new(Limits::default());
        let rcv_nxt = Seq(start);
        let mut came = [false; 64];
        for (from, n) in segments {
            let (from, to) = (from.min(len), (from + n).min(len));
            let fin = to == len;
            let end = to + usize::from(fin);
            q.insert(rcv_nxt, 1000, rcv_nxt.advance(from), Message::from_octets(&vec![1; to - from]), fin);
            came[from..end].fill(true);
            let told = q.sack_blocks(4, false);
            let told: Vec<_> = told.as_slice().iter().map(|b| (b.left - rcv_nxt, b.right - rcv_nxt)).collect();
            let edge = |at: usize| u32::try_from(at).unwrap();
            let begins = (1..64).filter(|&at| came[at] && !came[at - 1]);
            let all: Vec<_> = begins.map(|at| (edge(at), edge((at..64).find(|&at| !came[at]).unwrap()))).collect();
            prop_assert!(told.iter().all(|block| all.contains(block)), "{told:?} of {all:?}");
            prop_assert_eq!(told.len(), all.len().min(4), "{:?} of {:?}", told, all);
            if from < end {
                prop_assert!(told[0].0 <= edge(from) && edge(end) <= told[0].1, "{told:?} for {from} to {end}");
            }
        }
    }

    #[test]
    fn anything_at_all_stays_within_the_limits(
        rcv_nxt: u32,
        segments in prop::collection::vec((any::<u32>(), 0usize..40, any::<bool>(), 0u32..200), 0..100),
    ) {
        let limits = Limits { octets: 60, pieces: 6 };
        let mut q = Reassembly::new(limits);
        for (seq, len, fin, window) in segments {
            // Half of them near the window, half anywhere.
            let seq = if seq % 2 == 0 { Seq(rcv_nxt) + seq % 256 } else { Seq(seq) };
            q.insert(Seq(rcv_nxt), window, seq, Message::from_octets(&vec![1; len]), fin);
            // What touches RCV.NXT is taken in any case.
            prop_assert!(q.octets() <= limits.octets + 40 * 2);
            let blocks = q.sack_blocks(4, true);
            prop_assert!(blocks.len() <= 4);
        }
    }
}
