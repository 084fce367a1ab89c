use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::{SackBlock, Seq};
use proptest::prelude::*;

use super::*;
use crate::tcp::scoreboard::AckOutcome;

const SMSS: u32 = 10;

const fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

fn board(iss: Seq) -> Scoreboard {
    let mut board = Scoreboard::new(iss, SMSS);
    board.detect_by_time();
    board
}

fn block(left: u32, right: u32) -> SackBlock {
    SackBlock { left: Seq(left), right: Seq(right) }
}

fn lost(board: &Scoreboard) -> Vec<u32> {
    let pending = board.records().filter(|record| record.is_pending());
    pending.map(|record| record.span.start.0).collect()
}

#[test]
fn what_was_sent_before_something_delivered_is_lost_after_its_time() {
    let mut board = board(Seq(0));
    for n in 0..4 {
        board.on_send(SMSS, at(n * 10), false);
    }
    let latest = board.on_sack(Seq(0), &[block(20, 30)], at(100)).latest.unwrap();
    assert_eq!((latest.at, latest.end), (at(20), Seq(30)));
    let loss_timeout = Duration::from_nanos(100);
    let overdue = board.mark_overdue(Some(&latest), loss_timeout, at(105));
    assert_eq!((overdue.octets, overdue.next), (10, Some(at(110))));
    assert_eq!(lost(&board), [0]);
    // Nothing new: the second segment still waits, the fourth was sent after.
    assert_eq!(board.mark_overdue(Some(&latest), loss_timeout, at(109)).octets, 0);
    assert_eq!(board.mark_overdue(Some(&latest), loss_timeout, at(110)).octets, 10);
    assert_eq!(lost(&board), [0, 10]);
    assert_eq!(board.pipe(), 10);
    // A time-out asks for no later delivery.
    assert_eq!(board.mark_overdue(None, loss_timeout, at(130)).octets, 10);
}

#[test]
fn a_lost_retransmission_is_noticed() {
    let mut board = board(Seq(0));
    (0..4).for_each(|_| board.on_send(SMSS, at(0), false));
    let latest = board.on_sack(Seq(0), &[block(20, 40)], at(50)).latest;
    let loss_timeout = Duration::from_nanos(50);
    let overdue = board.mark_overdue(latest.as_ref(), loss_timeout, at(50));
    assert_eq!((overdue.octets, overdue.retransmission), (20, None));
    let span = |start| Span { start: Seq(start), end: Seq(start + 10) };
    board.on_retransmit(span(0), at(60));
    board.on_retransmit(span(10), at(60));
    // The second copy of the second segment arrived, sent in the same instant as that of the first, but after it.
    let latest = board.on_sack(Seq(0), &[block(10, 40)], at(110)).latest;
    let overdue = board.mark_overdue(latest.as_ref(), loss_timeout, at(110));
    assert_eq!((overdue.octets, overdue.retransmission), (10, Some(4)));
    assert_eq!(lost(&board), [0]);
}

#[test]
fn the_copy_that_cannot_have_been_acknowledged_yet_tells_nothing() {
    let mut board = board(Seq(0));
    (0..3).for_each(|_| board.on_send(SMSS, at(0), false));
    let span = Span { start: Seq(20), end: Seq(30) };
    board.on_retransmit(span, at(90));
    // Its acknowledgment comes 10 ns later, and no round trip is as short.
    board.believe_until(at(100 - 50));
    assert_eq!(board.on_sack(Seq(0), &[block(20, 30)], at(100)).latest, None);
}

#[test]
fn parts_of_one_sending_are_compared_by_sequence_number() {
    let mut board = board(Seq(0));
    board.on_send(50, at(0), false);
    let latest = board.on_sack(Seq(0), &[block(20, 30)], at(10)).latest;
    board.mark_overdue(latest.as_ref(), Duration::from_nanos(10), at(10));
    assert_eq!(lost(&board), [0]);
    assert_eq!(board.pending(), 20);
}

#[test]
fn what_turned_out_not_to_be_lost_can_be_lost_again() {
    let mut board = board(Seq(0));
    (0..3).for_each(|n| board.on_send(SMSS, at(n), false));
    let latest = board.on_sack(Seq(0), &[block(20, 30)], at(10)).latest;
    let loss_timeout = Duration::from_nanos(5);
    board.mark_overdue(latest.as_ref(), loss_timeout, at(10));
    board.unmark_pending();
    assert_eq!((board.pending(), board.pipe()), (0, 20));
    board.mark_overdue(latest.as_ref(), loss_timeout, at(10));
    assert_eq!(lost(&board), [0, 10]);
}

/// RFC 8985's own walk over all segments, of SMSS octets each.
#[derive(Clone, Default)]
struct Naive {
    segments: Vec<Segment>,
    orders: u64,
    segment: Option<(u64, u64)>,
}

#[derive(Clone)]
struct Segment {
    order: u64,
    xmit_ts: Option<u64>,
    retransmitted: bool,
    sacked: bool,
    acked: bool,
}

impl Naive {
    fn send(&mut self, now: u64) {
        self.segments.push(Segment {
            order: self.orders,
            xmit_ts: Some(now),
            retransmitted: false,
            sacked: false,
            acked: false,
        });
        self.orders += 1;
    }

    fn resend(&mut self, n: usize, now: u64) {
        let order = self.orders;
        self.orders += 1;
        let segment = &mut self.segments[n];
        (segment.order, segment.xmit_ts, segment.retransmitted) = (order, Some(now), true);
    }

    fn deliver(&mut self, n: usize, cumulative: bool, credible: u64) {
        let segment = &mut self.segments[n];
        let news = !segment.sacked && !segment.acked;
        segment.acked |= cumulative;
        segment.sacked |= !cumulative;
        // What was marked lost has no time, but its last sending still counts when it arrives: see below.
        if news && (!segment.retransmitted || segment.xmit_ts.unwrap_or(0) <= credible) {
            let key = (segment.order, n as u64);
            if self.segment.is_none_or(|latest| key > latest) {
                self.segment = Some(key);
            }
        }
    }

    fn detect(&mut self, loss_timeout: u64, now: u64) -> Option<u64> {
        let (latest, _) = self.segment?;
        let mut next = None;
        for segment in &mut self.segments {
            let Some(xmit_ts) = segment.xmit_ts else {
                continue;
            };
            if segment.sacked || segment.acked || segment.order >= latest {
                continue;
            }
            if xmit_ts + loss_timeout <= now {
                segment.xmit_ts = None;
            } else {
                let due = xmit_ts + loss_timeout;
                next = Some(next.map_or(due, |next: u64| next.min(due)));
            }
        }
        next
    }

    fn pending(&self) -> Vec<usize> {
        let all = self.segments.iter().enumerate();
        all.filter(|(_, s)| s.xmit_ts.is_none() && !s.sacked && !s.acked).map(|(n, _)| n).collect()
    }
}

proptest! {
    #[test]
    fn the_front_of_the_queue_finds_what_the_walk_finds(
        iss: u32,
        steps in prop::collection::vec((0u8..8, 0usize..40, 0u64..30), 0..200),
    ) {
        let iss = Seq(iss);
        let seq = |n: usize| iss.advance(10 * n);
        let mut board = board(iss);
        let mut naive = Naive::default();
        let (mut una, mut now, mut segment): (usize, u64, Option<Sent>) = (0, 1, None);
        for (kind, n, time) in steps {
            now += time / 4;
            let end = naive.segments.len();
            let mut take = |outcome: AckOutcome| {
                if let Some(sent) = outcome.latest
                    && segment.is_none_or(|segment| sent.is_after(&segment))
                {
                    segment = Some(sent);
                }
            };
            match kind {
                0..=2 => {
                    board.on_send(SMSS, at(now), false);
                    naive.send(now);
                }
                3 | 4 if una < end => {
                    let n = una + n % (end - una);
                    let m = (n + 1 + usize::try_from(time % 3).unwrap()).min(end);
                    let sack = SackBlock { left: seq(n), right: seq(m) };
                    take(board.on_sack(board.una(), &[sack], at(now)));
                    (n..m).for_each(|n| naive.deliver(n, false, u64::MAX));
                }
                5 if una < end => {
                    una += n % (end - una + 1).min(4);
                    take(board.on_cumulative_ack(seq(una), at(now)));
                    (0..una).for_each(|n| naive.deliver(n, true, u64::MAX));
                }
                6 => {
                    if let Some(span) = board.next_lost(SMSS) {
                        board.on_retransmit(span, at(now));
                        naive.resend(naive.pending()[0], now);
                    }
                }
                _ => {
                    let overdue = board.mark_overdue(segment.as_ref(), Duration::from_nanos(time), at(now));
                    if segment.is_some() {
                        let next = naive.detect(time, now);
                        prop_assert_eq!(overdue.next, next.map(at));
                    } else {
                        // Without a delivery all are asked for.
                        board.unmark_pending();
                    }
                }
            }
            let pending: Vec<Seq> = naive.pending().into_iter().map(seq).collect();
            let marked = board.records().filter(|record| record.is_pending());
            prop_assert_eq!(marked.map(|record| record.span.start).collect::<Vec<_>>(), pending);
        }
    }
}
