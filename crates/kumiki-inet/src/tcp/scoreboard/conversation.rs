//! The algorithms together: a sender and a receiver over a path that loses, without the rest of TCP.

use std::collections::VecDeque;

use kumiki_graph::{Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{SackBlocks, Seq};
use proptest::prelude::*;

use crate::tcp::congestion::{Acked, Algorithm, Config, Congestion, Loss};
use crate::tcp::reassembly::{Limits, Reassembly};
use crate::tcp::rtt::{self, Rtt};
use crate::tcp::scoreboard::{NextSeg, Scoreboard, Span};

const SMSS: u32 = 100;

#[derive(PartialEq, Eq, Clone, Copy, Debug)]
enum Recovery {
    None,
    Fast,
    AfterTimeout,
}

struct Sender {
    board: Scoreboard,
    cc: Box<dyn Congestion>,
    rtt: Rtt,
    sack: bool,
    /// The end of all data.
    end: Seq,
    recovery: Recovery,
    recover: Seq,
    duplicates: u32,
}

impl Sender {
    fn flight(&self) -> u64 {
        u64::from(self.board.flight())
    }

    fn on_ack(&mut self, ack: Seq, blocks: SackBlocks, now: Instant, out: &mut VecDeque<Span>) {
        let flight = self.flight();
        let una = self.board.una();
        let partial = self.recovery == Recovery::Fast && ack.lt(self.recover);
        let outcome = if partial && !self.sack {
            self.board.on_partial_ack(ack, now)
        } else {
            self.board.on_cumulative_ack(ack, now)
        };
        let sacked = self.board.on_sack(ack, blocks.as_slice(), now);
        if let Some(sample) = outcome.rtt.or(sacked.rtt) {
            self.rtt.on_sample(sample, &rtt::Config::LINUX);
        }
        if outcome.acked > 0 {
            self.duplicates = 0;
            if self.recovery != Recovery::None && self.recover.leq(ack) {
                if self.recovery == Recovery::Fast {
                    self.cc.on_recovered(now, self.flight());
                }
                self.recovery = Recovery::None;
            } else if self.recovery != Recovery::Fast {
                self.cc.on_ack(&Acked {
                    now,
                    octets: u64::from(outcome.acked),
                    flight,
                    srtt: self.rtt.srtt(),
                    rtt: outcome.rtt_newest,
                    una: ack,
                    nxt: self.board.nxt(),
                    window_limited: flight + u64::from(SMSS) > self.cc.window(),
                });
            } else if !self.sack {
                self.resend_first(now, out);
            }
        } else if ack == una && flight > 0 {
            self.duplicates += 1;
            if !self.sack {
                self.board.on_duplicate_ack(SMSS);
            }
        }
        let lost = self.duplicates >= 3 || (self.sack && self.board.is_lost(self.board.una()));
        if self.recovery == Recovery::None && lost && flight > 0 {
            self.recovery = Recovery::Fast;
            self.recover = self.board.nxt();
            self.board.on_recovery();
            self.cc.on_loss(&Loss { now, flight });
            self.resend_first(now, out);
        }
    }

    fn resend_first(&mut self, now: Instant, out: &mut VecDeque<Span>) {
        self.board.mark_first_lost(SMSS);
        if let Some(span) = self.board.first_unacked(SMSS) {
            self.board.on_retransmit(span, now);
            out.push_back(span);
        }
    }

    fn on_timeout(&mut self, now: Instant, again: bool) {
        self.rtt.back_off();
        self.cc.on_timeout(&Loss { now, flight: self.flight() }, again);
        self.board.forget_sacks();
        self.board.mark_all_lost();
        self.recovery = Recovery::AfterTimeout;
        self.recover = self.board.nxt();
        self.duplicates = 0;
    }

    fn send(&mut self, now: Instant, out: &mut VecDeque<Span>) {
        while u64::from(self.board.pipe() + SMSS) <= self.cc.window() {
            let unsent = self.end - self.board.nxt();
            let next = match self.recovery {
                Recovery::Fast if self.sack => self.board.next_seg(SMSS, unsent > 0),
                Recovery::None | Recovery::Fast | Recovery::AfterTimeout => match self.board.next_lost(SMSS) {
                    Some(span) => Some(NextSeg::Again(span)),
                    None => (unsent > 0).then_some(NextSeg::New),
                },
            };
            let span = match next {
                None => break,
                Some(NextSeg::Again(span)) => {
                    self.board.on_retransmit(span, now);
                    span
                }
                Some(NextSeg::Rescue(span)) => {
                    self.board.on_rescue(span, now);
                    span
                }
                Some(NextSeg::New) => {
                    let start = self.board.nxt();
                    self.board.on_send(unsent.min(SMSS), now, unsent <= SMSS);
                    Span { start, end: self.board.nxt() }
                }
            };
            assert!(span.len() <= SMSS && !span.is_empty());
            out.push_back(span);
        }
    }
}

/// What a whole transfer cost.
#[derive(Debug)]
struct Cost {
    timeouts: u32,
    sent: u32,
}

/// Sends `len` octets; the n-th segment is lost if `lost` says so, and ACKs are if `ack_lost` does.
fn transfer(
    algorithm: Algorithm,
    sack: bool,
    iss: Seq,
    len: u32,
    lost: impl Fn(u32) -> bool,
    ack_lost: impl Fn(u32) -> bool,
) -> Cost {
    let mut sender = Sender {
        board: Scoreboard::new(iss, SMSS),
        cc: algorithm.build(Config::new(SMSS)),
        rtt: Rtt::new(&rtt::Config::LINUX),
        sack,
        end: iss + len,
        recovery: Recovery::None,
        recover: iss,
        duplicates: 0,
    };
    let mut queue = Reassembly::new(Limits::default());
    let (mut rcv_nxt, mut got) = (iss, Vec::new());
    let mut path = VecDeque::new();
    let mut cost = Cost { timeouts: 0, sent: 0 };
    let mut acks = 0;
    let mut now = Instant::ZERO;
    let mut failed_at = None;
    sender.send(now, &mut path);
    while !sender.board.is_empty() {
        now += Duration::from_millis(1);
        let Some(span) = path.pop_front() else {
            cost.timeouts += 1;
            assert!(cost.timeouts < 1000, "no end: {sender:?}", sender = sender.board);
            let again = failed_at == Some(sender.board.una());
            failed_at = Some(sender.board.una());
            sender.on_timeout(now, again);
            sender.send(now, &mut path);
            continue;
        };
        cost.sent += 1;
        if lost(cost.sent) {
            continue;
        }
        let octets: Vec<u8> = (0..span.len()).map(|i| (span.start + i).0.to_be_bytes()[3]).collect();
        queue.insert(rcv_nxt, 1 << 20, span.start, Message::from_octets(&octets), false);
        while let Some(part) = queue.pop_in_order(rcv_nxt) {
            rcv_nxt = rcv_nxt.advance(part.len());
            got.extend(part.to_vec());
        }
        acks += 1;
        if !ack_lost(acks) {
            let blocks = match sack {
                true => queue.sack_blocks(3, true),
                false => SackBlocks::EMPTY,
            };
            sender.on_ack(rcv_nxt, blocks, now, &mut path);
            sender.send(now, &mut path);
        }
    }
    let want: Vec<u8> = (0..len).map(|i| (iss + i).0.to_be_bytes()[3]).collect();
    assert_eq!(got, want);
    assert_eq!((sender.board.pipe(), sender.board.pending()), (0, 0));
    cost
}

#[test]
fn without_loss_every_octet_is_sent_once() {
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
        let cost = transfer(algorithm, true, Seq(0), 100_000, |_| false, |_| false);
        assert_eq!((cost.sent, cost.timeouts), (1000, 0));
    }
}

#[test]
fn sack_sends_again_just_what_was_lost() {
    // Ten losses in one window.
    let lost = |n: u32| (200..220).contains(&n) && n.is_multiple_of(2);
    let cost = transfer(Algorithm::NewReno, true, Seq(u32::MAX - 5000), 100_000, lost, |_| false);
    assert_eq!((cost.sent, cost.timeouts), (1010, 0));
}

#[test]
fn new_reno_recovers_a_loss_per_round_trip_without_timeout() {
    let lost = |n: u32| [200, 203, 207].contains(&n);
    let cost = transfer(Algorithm::NewReno, false, Seq(7), 100_000, lost, |_| false);
    assert_eq!((cost.sent, cost.timeouts), (1003, 0));
}

proptest! {
    #[test]
    fn every_transfer_ends(
        iss: u32,
        len in 1u32..20_000,
        sack: bool,
        cubic: bool,
        lost in prop::collection::vec(0u32..10, 50),
        ack_lost in prop::collection::vec(0u32..10, 50),
    ) {
        let algorithm = if cubic { Algorithm::Cubic } else { Algorithm::NewReno };
        // 49 and 47: the patterns shift against each other and against windows.
        let data = |n: u32| lost[n as usize % 49] < 2;
        let ack = |n: u32| ack_lost[n as usize % 47] < 2;
        prop_assume!(lost[..49].iter().any(|x| *x >= 2) && ack_lost[..47].iter().any(|x| *x >= 2));
        transfer(algorithm, sack, Seq(iss), len, data, ack);
    }
}
