use super::*;
use kumiki_graph::Duration;
use kumiki_wire::inet::tcp::SackBlock;
use proptest::prelude::*;

const SMSS: u32 = 10;

fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

fn ns(n: u64) -> Option<Duration> {
    Some(Duration::from_nanos(n))
}

fn span(start: u32, end: u32) -> Span {
    Span { start: Seq(start), end: Seq(end) }
}

fn block(left: u32, right: u32) -> SackBlock {
    SackBlock { left: Seq(left), right: Seq(right) }
}

/// `n` segments of SMSS octets from 0 on, segment i sent at time i.
fn sent(n: u32) -> Scoreboard {
    let mut board = Scoreboard::new(Seq(0), SMSS);
    for i in 0..n {
        board.on_send(SMSS, at(u64::from(i)), false);
    }
    check(&board);
    board
}

/// What is kept up is what a walk over the records finds.
fn check(board: &Scoreboard) {
    let mut next = board.una;
    let mut tally = Tally::default();
    let mut ranges: Vec<Span> = Vec::new();
    for record in board.records() {
        assert_eq!(record.span.start, next);
        assert!(!record.span.is_empty());
        next = record.span.end;
        tally.add(Tally::of(record));
        if record.sacked {
            match ranges.last_mut() {
                Some(last) if last.end == record.span.start => last.end = record.span.end,
                _ => ranges.push(record.span),
            }
        }
    }
    assert_eq!(next, board.nxt);
    assert_eq!(tally, board.in_flight.tally);
    assert_eq!(ranges, Vec::from(board.in_flight.ranges.clone()));
}

#[test]
fn an_acknowledgment_takes_records_and_gives_a_sample() {
    let mut board = sent(3);
    assert_eq!((board.flight(), board.pipe()), (30, 30));
    let outcome = board.on_cumulative_ack(Seq(20), at(100));
    assert_eq!((outcome.acked, outcome.delivered), (20, 20));
    assert_eq!((outcome.rtt, outcome.rtt_newest), (ns(100), ns(99)));
    assert!(!outcome.reordered);
    assert_eq!((board.flight(), board.delivered()), (10, 20));
    // Part of a segment, an old number and one never sent.
    assert_eq!(board.on_cumulative_ack(Seq(25), at(100)).acked, 5);
    for una in [Seq(25), Seq(3), Seq(31), Seq(25) + 0x8000_0000] {
        assert_eq!(board.on_cumulative_ack(una, at(100)), AckOutcome::default());
    }
    check(&board);
    board.on_cumulative_ack(Seq(30), at(100));
    assert!(board.is_empty() && board.first_unacked(10).is_none());
}

// RFC 9293: MUST-18
#[test]
fn a_segment_sent_twice_gives_no_sample() {
    let mut board = sent(2);
    board.on_retransmit(span(0, 10), at(50));
    assert_eq!(board.on_cumulative_ack(Seq(20), at(100)).rtt, None);
    board.on_send(10, at(100), false);
    assert_eq!(board.on_cumulative_ack(Seq(30), at(150)).rtt, ns(50));
}

#[test]
fn a_sack_gives_a_sample_though_another_segment_was_sent_twice() {
    let mut board = sent(3);
    board.on_retransmit(span(0, 10), at(50));
    let outcome = board.on_sack(Seq(0), &[block(20, 30)], at(100));
    assert_eq!((outcome.rtt, outcome.delivered), (ns(98), 10));
    // It is not delivered a second time.
    assert_eq!(board.on_cumulative_ack(Seq(30), at(200)).delivered, 20);
}

#[test]
fn three_segments_above_make_one_lost() {
    let mut board = sent(6);
    board.on_sack(Seq(0), &[block(10, 30)], at(10));
    assert!(!board.is_lost(Seq(0)), "two segments: 2 * SMSS octets are not more");
    assert_eq!(board.pipe(), 40);
    board.on_sack(Seq(0), &[block(10, 40)], at(10));
    assert!(board.is_lost(Seq(0)) && !board.is_lost(Seq(40)));
    assert_eq!(board.pipe(), 20);
    check(&board);
}

#[test]
fn three_small_ranges_above_make_one_lost() {
    let mut board = sent(6);
    let blocks = [block(12, 13), block(24, 25), block(36, 37)];
    board.on_sack(Seq(0), &blocks, at(10));
    assert!(board.is_lost(Seq(11)) && !board.is_lost(Seq(13)));
    assert_eq!(board.pipe(), 60 - 3 - 12);
    check(&board);
}

#[test]
fn recovery_of_rfc_6675_goes_by_its_rules() {
    // Segments 0, 1 and 4 of ten are lost; the last two are on their way.
    let mut board = sent(10);
    board.on_sack(Seq(0), &[block(50, 80), block(20, 40)], at(20));
    board.on_recovery();
    assert_eq!(board.pipe(), 20);
    assert_eq!(board.next_seg(10, true), Some(NextSeg::Again(span(0, 10))));
    board.on_retransmit(span(0, 10), at(21));
    assert_eq!(board.pipe(), 30);
    assert_eq!(board.next_seg(25, true), Some(NextSeg::Again(span(10, 20))));
    board.on_retransmit(span(10, 20), at(21));
    assert_eq!(board.next_seg(10, true), Some(NextSeg::Again(span(40, 50))));
    board.on_retransmit(span(40, 50), at(21));
    // Rule 2, and without new data nothing of rule 3, nor rule 4 before more is acknowledged.
    assert_eq!(board.next_seg(10, true), Some(NextSeg::New));
    assert_eq!(board.next_seg(10, false), None);
    let outcome = board.on_cumulative_ack(Seq(40), at(40));
    assert_eq!((outcome.acked, outcome.delivered, outcome.rtt), (40, 20, None));
    assert_eq!(board.next_seg(10, false), Some(NextSeg::Rescue(span(90, 100))));
    board.on_rescue(span(90, 100), at(41));
    assert_eq!(board.pipe(), 30);
    assert_eq!(board.next_seg(10, false), None);
    check(&board);
}

#[test]
fn rule_3_sends_again_what_may_be_lost() {
    let mut board = sent(6);
    board.on_sack(Seq(0), &[block(40, 50)], at(20));
    board.on_recovery();
    board.on_retransmit(span(0, 10), at(20));
    assert_eq!(board.pipe(), 60, "counted twice: not lost, and sent again");
    assert_eq!(board.next_seg(15, false), Some(NextSeg::Again(span(10, 25))));
    board.on_retransmit(span(10, 25), at(20));
    assert_eq!(board.next_seg(15, false), Some(NextSeg::Again(span(25, 40))));
    board.on_retransmit(span(25, 40), at(20));
    assert_eq!(board.next_seg(15, false), None);
    check(&board);
}

#[test]
fn the_rescue_is_the_highest_hole() {
    let mut board = sent(6);
    board.on_recovery();
    board.on_cumulative_ack(Seq(20), at(9));
    for (block, rescue) in [
        (block(50, 60), span(42, 50)),
        (block(44, 46), span(46, 50)),
        (block(46, 50), span(36, 44)),
        (block(22, 44), span(20, 22)),
    ] {
        board.on_sack(Seq(20), &[block], at(9));
        assert_eq!(board.rule_4(8), Some(rescue));
    }
    board.on_sack(Seq(20), &[block(20, 60)], at(9));
    assert_eq!(board.rule_4(8), None);
}

#[test]
fn without_sack_the_pipe_is_new_renos_arithmetic() {
    // cwnd 10 segments, ten outstanding, numbers 0 and 3 lost.
    let mut board = sent(10);
    board.on_duplicate_ack(SMSS);
    assert_eq!(board.pipe(), 90, "limited transmit: one new segment fits");
    board.on_send(SMSS, at(20), false);
    board.on_duplicate_ack(SMSS);
    board.on_send(SMSS, at(20), false);
    board.on_duplicate_ack(SMSS);
    // ssthresh 5 segments; RFC 5681 now has cwnd = 8 and 12 outstanding.
    board.mark_first_lost(SMSS);
    assert_eq!(board.next_lost(SMSS), Some(span(0, 10)));
    board.on_retransmit(span(0, 10), at(20));
    assert_eq!(board.pipe(), 120 - 30);
    for _ in 0..7 {
        board.on_duplicate_ack(SMSS);
    }
    assert_eq!(board.pipe(), 20, "cwnd = 15, 12 outstanding: room for three");
    // Partial ACK of three segments: cwnd = 15 - 3 + 1, 9 outstanding: room for four.
    let outcome = board.on_partial_ack(Seq(30), at(40));
    assert_eq!((outcome.acked, outcome.rtt), (30, None));
    board.mark_first_lost(SMSS);
    board.on_retransmit(span(30, 40), at(40));
    assert_eq!(board.pipe(), 10);
    board.on_cumulative_ack(Seq(120), at(60));
    assert_eq!(board.pipe(), 0);
    check(&board);
}

#[test]
fn made_up_duplicates_empty_the_pipe_and_no_more() {
    let mut board = sent(2);
    for _ in 0..1000 {
        board.on_duplicate_ack(SMSS);
    }
    assert_eq!(board.pipe(), 0);
    board.on_send(SMSS, at(9), false);
    assert_eq!(board.pipe(), 10);
    board.clear_duplicates();
    assert_eq!(board.pipe(), 30);
}

#[test]
fn a_timeout_takes_everything_for_lost_but_what_is_sacked() {
    let mut board = sent(5);
    board.on_retransmit(span(0, 10), at(10));
    board.on_sack(Seq(0), &[block(20, 30)], at(10));
    board.mark_all_lost();
    assert_eq!((board.pipe(), board.pending()), (0, 40));
    assert_eq!(board.next_lost(100), Some(span(0, 20)));
    board.on_retransmit(span(0, 10), at(20));
    board.on_retransmit(span(10, 20), at(20));
    assert_eq!((board.pipe(), board.next_lost(100)), (20, Some(span(30, 50))));
    check(&board);
}

#[test]
fn a_receiver_that_drops_sacked_octets_is_noticed() {
    let mut board = sent(5);
    board.on_sack(Seq(0), &[block(20, 40)], at(10));
    assert!(!board.has_reneged());
    board.on_cumulative_ack(Seq(20), at(11));
    assert!(board.has_reneged());
    board.forget_sacks();
    assert!(!board.has_reneged());
    assert_eq!((board.sacked(), board.pipe()), (0, 30));
    assert_eq!(board.on_cumulative_ack(Seq(50), at(12)).delivered, 10);
    assert_eq!(board.delivered(), 50);
    check(&board);
}

#[test]
fn duplicate_sack_is_told_from_sack() {
    let mut board = sent(8);
    board.on_cumulative_ack(Seq(40), at(9));
    let below = board.on_sack(Seq(40), &[block(30, 40), block(50, 60)], at(9));
    assert_eq!((below.dsack, below.delivered), (Some(block(30, 40)), 10));
    let inside = board.on_sack(Seq(40), &[block(50, 55), block(50, 60)], at(9));
    assert_eq!((inside.dsack, inside.delivered), (Some(block(50, 55)), 0));
    // An old ACK's block lies below SND.UNA, but not below that ACK's own number.
    let old = board.on_sack(Seq(10), &[block(20, 30)], at(9));
    assert_eq!(old, AckOutcome::default());
}

#[test]
fn an_original_that_arrives_late_is_reordering() {
    let mut board = sent(4);
    assert!(!board.on_sack(Seq(0), &[block(30, 40), block(10, 20)], at(9)).reordered);
    board.on_retransmit(span(0, 10), at(9));
    assert!(!board.on_cumulative_ack(Seq(10), at(9)).reordered, "sent twice");
    assert!(board.on_cumulative_ack(Seq(40), at(9)).reordered, "20..30 was sent once");
}

#[test]
fn records_do_not_multiply() {
    let mut board = Scoreboard::new(Seq(0), 1000);
    board.on_send(60_000, at(0), false);
    for n in 0..5000 {
        board.on_sack(Seq(0), &[block(n * 12 + 5, n * 12 + 6)], at(1));
    }
    assert!(board.records().count() < 200);
    check(&board);
    // A block that covers whole records still counts.
    board.on_sack(Seq(0), &[block(0, 60_000)], at(1));
    assert_eq!(board.sacked(), 60_000);
    check(&board);
}

#[test]
fn a_record_tells_what_was_delivered_when_it_was_sent() {
    let mut board = sent(1);
    board.on_cumulative_ack(Seq(10), at(7));
    board.on_send(5, at(8), true);
    board.on_send(5, at(9), false);
    let mut records = board.records();
    let first = records.next().copied().unwrap();
    assert_eq!((first.delivered, first.delivered_at), (10, at(8)), "after idle");
    assert!(first.app_limited);
    assert_eq!((first.first_sent, first.times_sent), (at(8), 1));
}

/// One octet, as the RFCs speak of it.
#[derive(Clone, Copy, Default, Debug)]
struct Octet {
    sacked: bool,
    lost: bool,
    resent: bool,
    counted: bool,
    times: u32,
    last: u64,
}

/// The scoreboard by walks over the sequence space, offsets from the first number.
#[derive(Default)]
struct Naive {
    octets: Vec<Octet>,
    una: usize,
    high_rxt: usize,
}

impl Naive {
    fn live(&self) -> &[Octet] {
        &self.octets[self.una..]
    }

    fn is_lost(&self, s: usize) -> bool {
        let above = &self.octets[s + 1..];
        let octets = above.iter().filter(|o| o.sacked).count();
        let before = std::iter::once(&self.octets[s]).chain(above);
        let ranges = above.iter().zip(before).filter(|(o, before)| o.sacked && !before.sacked).count();
        ranges >= 3 || octets > 2 * SMSS as usize
    }

    fn pipe(&self) -> u32 {
        let count = |o: &Octet| match o.sacked {
            true => 0,
            false => u32::from(!o.lost) + u32::from(o.resent),
        };
        self.live().iter().map(count).sum()
    }

    /// Delivers octets; the samples of those sent once.
    fn deliver(&mut self, range: std::ops::Range<usize>, now: u64, sack: bool) -> (u32, Option<u64>, bool) {
        let (mut n, mut oldest, mut twice) = (0, None, false);
        for o in &mut self.octets[range] {
            o.sacked |= sack;
            if std::mem::replace(&mut o.counted, true) {
                continue;
            }
            n += 1;
            if o.times == 1 {
                oldest = Some(oldest.unwrap_or(0).max(now - o.last));
            } else {
                twice = true;
            }
        }
        (n, oldest, twice)
    }

    fn mark_lost(&mut self) {
        for s in self.una..self.octets.len() {
            if !self.octets[s].sacked && self.is_lost(s) {
                self.octets[s].lost = true;
            }
        }
    }

    fn next_seg(&self, limit: usize) -> Option<(usize, usize)> {
        let first = |from: usize, to: usize, fits: &dyn Fn(&Octet) -> bool| {
            let start = (from..to).find(|s| fits(&self.octets[*s]))?;
            let len = self.octets[start..].iter().take_while(|o| fits(o)).take(limit).count();
            Some((start, start + len))
        };
        let n = self.octets.len();
        let top = self.octets.iter().rposition(|o| o.sacked).unwrap_or(0);
        first(self.una, n, &|o| o.lost && !o.resent && !o.sacked).or_else(|| {
            let from = self.una.max(self.high_rxt);
            first(from, top.max(from), &|o| !o.lost && !o.resent && !o.sacked)
        })
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    Ack(u32),
    Sack(Vec<(u32, u32)>),
    Recover(u32),
    Resend(u32, u32),
    Forget,
    Timeout,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u32..40).prop_map(Step::Send),
        2 => (0u32..60).prop_map(Step::Ack),
        4 => prop::collection::vec((0u32..200, 1u32..50), 1..3).prop_map(Step::Sack),
        4 => (1u32..25).prop_map(Step::Recover),
        1 => (0u32..200, 1u32..30).prop_map(|(from, n)| Step::Resend(from, n)),
        1 => Just(Step::Forget),
        1 => Just(Step::Timeout),
    ];
    prop::collection::vec(step, 0..24)
}

proptest! {
    #[test]
    fn what_is_kept_up_is_what_the_rfcs_walks_find(iss: u32, steps in steps()) {
        let iss = Seq(iss);
        let mut board = Scoreboard::new(iss, SMSS);
        let mut naive = Naive::default();
        for (now, step) in (1u64..).zip(steps) {
            let end = naive.octets.len();
            match step {
                Step::Send(n) => {
                    board.on_send(n, at(now), false);
                    let octet = Octet { times: 1, last: now, ..Octet::default() };
                    naive.octets.resize(end + n as usize, octet);
                }
                Step::Ack(n) => {
                    let una = (naive.una + n as usize).min(end);
                    let got = board.on_cumulative_ack(iss.advance(una), at(now));
                    let (delivered, oldest, twice) = naive.deliver(naive.una..una, now, false);
                    prop_assert_eq!(got.delivered, delivered);
                    prop_assert_eq!(got.acked as usize, una - naive.una);
                    let rtt = oldest.filter(|_| !twice).map(Duration::from_nanos);
                    prop_assert_eq!(got.rtt, rtt);
                    naive.una = una;
                }
                Step::Sack(blocks) => {
                    // Above SND.UNA, disjoint: what a receiver would say.
                    let mut from = naive.una + 1;
                    let (mut said, mut delivered, mut oldest) = (vec![], 0, None);
                    for (skip, n) in blocks {
                        let left = from + skip as usize % 40;
                        let right = (left + n as usize).min(end);
                        if left < right {
                            said.push(SackBlock { left: iss.advance(left), right: iss.advance(right) });
                            let (d, o, _) = naive.deliver(left..right, now, true);
                            delivered += d;
                            oldest = oldest.max(o);
                            from = right + 1;
                        }
                    }
                    said.reverse();
                    let got = board.on_sack(iss.advance(naive.una), &said, at(now));
                    prop_assert_eq!(got.delivered, delivered);
                    prop_assert_eq!(got.rtt, oldest.map(Duration::from_nanos));
                    prop_assert_eq!(got.dsack, None);
                    naive.mark_lost();
                }
                Step::Recover(limit) => {
                    let got = board.next_seg(limit, false);
                    let want = naive.next_seg(limit as usize);
                    if let Some((start, end)) = want {
                        let span = Span { start: iss.advance(start), end: iss.advance(end) };
                        prop_assert_eq!(got, Some(NextSeg::Again(span)));
                        board.on_retransmit(span, at(now));
                        for o in &mut naive.octets[start..end] {
                            (o.resent, o.times, o.last) = (true, o.times + 1, now);
                        }
                        naive.high_rxt = naive.high_rxt.max(end);
                    } else {
                        prop_assert!(!matches!(got, Some(NextSeg::Again(_))));
                    }
                }
                Step::Resend(from, n) => {
                    let start = (naive.una + from as usize).min(end);
                    let stop = (start + n as usize).min(end);
                    let span = Span { start: iss.advance(start), end: iss.advance(stop) };
                    if !span.is_empty() {
                        board.on_retransmit(span, at(now));
                        for o in &mut naive.octets[start..stop] {
                            (o.resent, o.times, o.last) = (true, o.times + 1, now);
                        }
                        naive.high_rxt = naive.high_rxt.max(stop);
                    }
                }
                Step::Forget => {
                    board.forget_sacks();
                    naive.octets.iter_mut().for_each(|o| o.sacked = false);
                }
                Step::Timeout => {
                    board.mark_all_lost();
                    let una = naive.una;
                    for o in naive.octets[una..].iter_mut().filter(|o| !o.sacked) {
                        (o.lost, o.resent) = (true, false);
                    }
                    naive.high_rxt = una;
                }
            }
            check(&board);
            prop_assert_eq!(board.pipe(), naive.pipe());
            prop_assert_eq!(board.flight() as usize, naive.live().len());
            prop_assert_eq!(board.sacked() as usize, naive.live().iter().filter(|o| o.sacked).count());
            let pending = naive.live().iter().filter(|o| o.lost && !o.resent && !o.sacked).count();
            prop_assert_eq!(board.pending() as usize, pending);
        }
    }

    #[test]
    fn any_blocks_and_numbers_are_survived(
        iss: u32,
        steps in prop::collection::vec((0u8..8, any::<u32>(), any::<u32>(), any::<bool>()), 0..60),
    ) {
        let mut board = Scoreboard::new(Seq(iss), SMSS);
        for (kind, a, b, near) in steps {
            let number = |n: u32| if near { Seq(iss) + n % 300 } else { Seq(n) };
            let (a, b, una) = (number(a), number(b), board.una());
            match kind {
                0 => board.on_send(b.0 % 50, at(1), near),
                1 => drop(board.on_cumulative_ack(a, at(2))),
                2 => drop(board.on_partial_ack(a, at(2))),
                3 => drop(board.on_sack(una, &[SackBlock { left: a, right: b }, SackBlock { left: b, right: a }], at(3))),
                4 => board.on_retransmit(Span { start: a, end: b }, at(4)),
                5 => board.on_duplicate_ack(b.0),
                6 => board.on_recovery(),
                _ => board.mark_first_lost(b.0 % 20),
            }
            let _ = board.next_seg(b.0 % 20, false);
            check(&board);
        }
    }
}

/// What SafeACK of RFC 9937 section 6.2 depends on, where RFC 6675 tells of losses.
#[test]
fn an_acknowledgment_tells_what_it_shows_lost() {
    let mut board = Scoreboard::new(Seq(0), 1000);
    for _ in 0..10 {
        board.on_send(1000, Instant::ZERO, false);
    }
    let mut lost = |left: u32, right: u32| {
        let (left, right) = (Seq(left), Seq(right));
        let blocks = [SackBlock { left, right }];
        board.on_sack(Seq(0), &blocks, Instant::ZERO).lost
    };
    assert_eq!(lost(1000, 3000), 0);
    assert_eq!(lost(1000, 4000), 1000, "more than two segments above it");
    assert_eq!(lost(1000, 4000), 0, "known");
    assert_eq!(lost(6000, 9000), 2000, "4000 to 6000");
}
