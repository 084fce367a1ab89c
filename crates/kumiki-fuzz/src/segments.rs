//! TCP's two lists beside models that know every octet: what came ahead of its turn, and what was sent and not
//! acknowledged.

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::reassembly::{Inserted, Limits, Reassembly};
use kumiki_inet::tcp::scoreboard::{NextSeg, Scoreboard, Span};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{SackBlock, Seq};

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target =
    Target { name: "segments", title: "TCP's reassembly and scoreboard beside models that know every octet", run };

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    within_mb(64.0, || {
        if draw.octet() & 1 == 0 {
            receiver(&mut draw);
        } else {
            sender(&mut draw);
        }
    });
}

/// Octets that came, by their distance from the first.
struct ReceivedOctets {
    octets: Vec<Option<u8>>,
    /// In order so far.
    next: usize,
}

fn receiver(draw: &mut Draw<'_>) {
    const MOST: usize = 4096;
    let first = Seq(draw.long());
    let limits = Limits { octets: 3000, pieces: 12 };
    let few = draw.octet() & 1 != 0;
    let mut queue = Reassembly::new(if few { limits } else { Limits::default() });
    let mut came = ReceivedOctets { octets: vec![None; MOST], next: 0 };
    let mut round = 0_u8;
    while !draw.is_empty() && came.next + 1500 < MOST {
        round = round.wrapping_add(1);
        // Somewhere from before what is in order to behind the window.
        let window = draw.below(1500);
        let at = (came.next + draw.below(2000)).saturating_sub(300);
        let len = draw.below(400);
        // Content says in which segment it came, so that it shows who was first.
        let text = vec![round; len];
        let rcv_nxt = first + u32::try_from(came.next).unwrap();
        let seq = first + u32::try_from(at).unwrap();
        let window_len = u32::try_from(window).unwrap();
        let before = queue.octets();
        let outcome = queue.insert(rcv_nxt, window_len, seq, Message::from_octets(&text), false);
        let fits = at.max(came.next)..(at + len).min(came.next + window);
        let new = fits.clone().filter(|at| came.octets[*at].is_none()).count();
        match outcome {
            Inserted::Queued(octets) => {
                assert_eq!(octets, new, "new octets");
                for at in fits {
                    came.octets[at].get_or_insert(round);
                }
            }
            Inserted::Duplicate => assert_eq!(new, 0),
            Inserted::Outside => assert!(fits.is_empty(), "{fits:?} is in the window"),
            Inserted::Full => assert!(few && new > 0),
        }
        assert!(queue.octets() <= before + new);
        report(&mut queue, &came, first, draw.octet());
        if draw.octet() & 1 != 0 {
            collect(&mut queue, &mut came, first);
        }
        let waits = came.octets[came.next..].iter().flatten().count();
        assert_eq!(queue.octets(), waits);
        assert_eq!(queue.is_empty(), waits == 0);
    }
    collect(&mut queue, &mut came, first);
}

/// Every block tells of octets that are there, and of all that touch.
fn report(queue: &mut Reassembly, came: &ReceivedOctets, first: Seq, how: u8) {
    let limit = usize::from(how & 3) + 1;
    let dsack = how & 4 != 0;
    let blocks = queue.sack_blocks(limit, dsack);
    assert!(blocks.len() <= limit);
    for (number, block) in blocks.as_slice().iter().enumerate() {
        if number == 0 && dsack {
            // It may tell of a duplicate, which can be older than all that is known here.
            continue;
        }
        let place = |seq: Seq| (seq - first) as usize;
        let (left, right) = (place(block.left), place(block.right));
        assert!(left < right && right <= came.octets.len());
        assert!(came.octets[left..right].iter().all(Option::is_some));
        assert!(came.octets.get(right).is_none_or(Option::is_none));
    }
}

fn collect(queue: &mut Reassembly, came: &mut ReceivedOctets, first: Seq) {
    loop {
        let rcv_nxt = first + u32::try_from(came.next).unwrap();
        let Some(text) = queue.pop_in_order(rcv_nxt) else {
            break;
        };
        for octet in text.to_vec() {
            assert_eq!(came.octets[came.next], Some(octet), "at {}", came.next);
            came.next += 1;
        }
    }
    assert!(came.octets[came.next].is_none(), "something was kept back");
}

/// Of each octet between SND.UNA and SND.NXT, whether it was SACKed.
fn sender(draw: &mut Draw<'_>) {
    let smss = 1 + u32::from(draw.octet());
    let iss = Seq(draw.long());
    let mut board = Scoreboard::new(iss, smss);
    if draw.octet() & 1 != 0 {
        board.detect_by_time();
    }
    let mut una = iss;
    let mut acked = 0_u64;
    let mut now = Instant::ZERO;
    for _ in 0..400 {
        if draw.is_empty() {
            break;
        }
        now += Duration::from_micros(u64::from(draw.octet()));
        let flight = board.flight();
        let what = draw.octet();
        let within = |draw: &mut Draw<'_>| {
            let part = u64::from(draw.word()) * u64::from(flight + smss) / 60_000;
            u32::try_from(part).unwrap()
        };
        match what % 12 {
            0..=2 if flight < 1 << 20 => {
                board.on_send(draw.word().into(), now, what & 0x80 != 0);
            }
            3 | 4 => {
                let to = una + within(draw);
                let outcome =
                    if what & 0x80 == 0 { board.on_cumulative_ack(to, now) } else { board.on_partial_ack(to, now) };
                let right = to - una <= flight;
                assert_eq!(outcome.acked, if right { to - una } else { 0 });
                if right {
                    una = to;
                }
                acked += u64::from(outcome.acked);
            }
            5..=7 => {
                let blocks: Vec<SackBlock> = (0..=what / 64)
                    .map(|_| {
                        let left = una + within(draw);
                        SackBlock { left, right: left + within(draw) }
                    })
                    .collect();
                let before = board.sacked();
                board.on_sack(una, &blocks, now);
                assert!(board.sacked() >= before, "a block takes nothing back");
            }
            8 => again(&mut board, draw, now),
            9 => match what / 64 {
                0 => board.on_recovery(),
                1 => board.mark_first_lost(smss),
                2 => board.mark_all_lost(),
                _ => board.forget_sacks(),
            },
            10 => match what / 64 {
                0 => board.on_duplicate_ack(smss),
                1 => board.clear_duplicates(),
                2 => board.set_smss(1 + u32::from(draw.word())),
                _ => board.set_dup_thresh(u32::from(draw.octet())),
            },
            _ => {
                if what & 0x40 == 0 {
                    let latest = board.records().map(|it| it.sent()).last();
                    if let Some(latest) = latest {
                        let wait = Duration::from_micros(u64::from(draw.octet()));
                        let _ = board.mark_overdue(Some(&latest), wait, now);
                    }
                } else {
                    board.unmark_pending();
                }
            }
        }
        check(&board, una, smss);
        assert!(board.delivered() >= acked, "less delivered than acknowledged");
    }
}

/// Sends again what the scoreboard says, as a sender does.
fn again(board: &mut Scoreboard, draw: &mut Draw<'_>, now: Instant) {
    for _ in 0..=draw.below(8) {
        let limit = 1 + u32::from(draw.word());
        let next = if draw.octet() & 1 == 0 {
            board.next_seg(limit, false)
        } else {
            board.next_lost(limit).map(NextSeg::Again)
        };
        let Some(next) = next else { break };
        let within = |span: Span| {
            assert!(!span.is_empty() && span.len() <= limit);
            assert!(board.una().leq(span.start) && span.end.leq(board.nxt()));
        };
        match next {
            NextSeg::Again(span) => {
                within(span);
                board.on_retransmit(span, now);
            }
            NextSeg::Rescue(span) => {
                within(span);
                board.on_rescue(span, now);
            }
            NextSeg::New => break,
        }
    }
}

/// What is counted is what a walk along the records finds.
fn check(board: &Scoreboard, una: Seq, smss: u32) {
    assert_eq!(board.una(), una);
    assert_eq!(board.flight(), board.nxt() - una);
    let mut next = una;
    let (mut sacked, mut pending, mut records) = (0, 0, 0);
    for record in board.records() {
        assert!(record.span.start == next && !record.span.is_empty());
        next = record.span.end;
        records += 1;
        if record.sacked {
            sacked += record.span.len();
        }
        if record.is_pending() {
            pending += record.span.len();
        }
        assert!(record.first_sent <= record.last_sent);
    }
    assert_eq!(next, board.nxt());
    assert_eq!((board.sacked(), board.pending()), (sacked, pending));
    assert_eq!(board.is_empty(), records == 0);
    let _ = (board.pipe(), board.segments_sacked(), board.last_segment(smss));
    assert!(sacked <= board.flight());
}
