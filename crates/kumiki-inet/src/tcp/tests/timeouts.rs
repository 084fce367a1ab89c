//! How long a connection waits: R1, R2, the user timeout, keep-alive.

use kumiki_graph::{Duration, KeepAlive, Problem, Quality};
use kumiki_wire::inet::IpQuality;
use kumiki_wire::inet::tcp::{Flags, Options, Seq, UserTimeout};

use super::pair::*;
use crate::tcp::{Config, defaults};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const TWO_HOURS: u64 = 2 * 3600;

/// Everything arrives but what is sent in the time from `from` to `to`, in seconds.
fn deaf(a: Config, b: Config, from: u64, to: u64) -> Pair {
    Pair::with_rule(a, b, move |packet| {
        let at = packet.at.as_nanos() / 1_000_000_000;
        if (from..to).contains(&at) { Vec::new() } else { vec![ms(10)] }
    })
}

fn asking() -> Quality {
    Quality { keep_alive: Some(defaults::modern().keep_alive_times), ..Quality::default() }
}

// RFC 9293: MUST-24, MUST-25, MUST-26, MUST-28, SHLD-12, MAY-5
#[test]
fn an_idle_peer_is_asked_only_on_request_after_two_hours() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    pair.run_for(secs(10 * TWO_HOURS));
    assert!(pair.taken_log().is_empty(), "off at first");
    pair.write(A, b"x");
    pair.change(A, asking());
    pair.run_for(secs(1));
    let from = pair.log.len();
    pair.run_for(secs(TWO_HOURS - 2));
    assert_eq!(pair.log.len(), from);
    // SND.NXT is 2. The answer is an acknowledgment, and the next question is two hours later.
    pair.run_for(secs(2 * TWO_HOURS));
    let asked: Vec<_> = pair.log[from..].iter().collect();
    assert_eq!(asked.len(), 4);
    assert_eq!((asked[0].from, asked[0].seq, asked[0].len()), (A, 1, 0));
    assert_eq!((asked[1].from, asked[1].ack), (B, 2));
    let apart = asked[2].at.saturating_since(asked[0].at);
    assert!(apart >= secs(TWO_HOURS) && apart < secs(TWO_HOURS + 100), "{apart}");
    // MUST-24: and off again.
    let quality = Quality { keep_alive: Some(KeepAlive::OFF), ..Quality::default() };
    pair.change(A, quality);
    pair.run_for(secs(10 * TWO_HOURS));
    assert_eq!(pair.log.len(), from + 4);
}

// RFC 9293: MUST-27, MUST-29
#[test]
fn one_question_without_an_answer_means_nothing_but_many_do() {
    let config = Config {
        keep_alive: true,
        keep_alive_times: KeepAlive { idle: secs(100), interval: secs(10), count: 3 },
        ..plain()
    };
    // The first answer is lost.
    let mut pair = deaf(config.clone(), plain(), 100, 105).connected();
    pair.run_for(secs(150));
    assert!(!pair.app(A).over);
    assert_eq!(pair.counters(A).keep_alives, 2);
    // All are.
    let mut pair = deaf(config, plain(), 50, u64::MAX).connected();
    pair.run_for(secs(129));
    assert!(!pair.app(A).over);
    pair.run_for(secs(2));
    assert_eq!(pair.app(A).heard, ["opened", "aborted: TimedOut"]);
    assert_eq!(pair.counters(A).keep_alives, 3);
}

// RFC 9293: MUST-26
#[test]
fn who_is_heard_of_or_has_data_under_way_is_not_asked() {
    let config = Config {
        keep_alive: true,
        keep_alive_times: KeepAlive { idle: secs(100), interval: secs(10), count: 3 },
        ..plain()
    };
    let mut pair = Pair::new(config.clone(), plain(), ms(10)).connected();
    for _ in 0..20 {
        pair.run_for(secs(60));
        pair.write(B, b"still here");
    }
    assert_eq!(pair.counters(A).keep_alives, 0);
    let mut pair = deaf(config, plain(), 50, u64::MAX).connected();
    pair.run_for(secs(60));
    pair.write(A, b"under way");
    pair.run_for(secs(300));
    assert_eq!(pair.counters(A).keep_alives, 0);
    assert!(pair.counters(A).timeouts > 3 && !pair.app(A).over);
}

// RFC 9293: MUST-20, SHLD-9, SHLD-10, SHLD-11
#[test]
fn at_r1_ip_and_the_user_are_told_and_at_r2_the_connection_ends() {
    let mut pair = deaf(defaults::modern(), defaults::modern(), 1, u64::MAX).connected();
    pair.run_for(secs(1));
    pair.write(A, b"anybody there?");
    let began = pair.now;
    while pair.advice.is_empty() {
        pair.run_for(ms(10));
    }
    // A tail loss probe went before, and does not count.
    let counters = pair.counters(A);
    assert_eq!((counters.timeouts, counters.loss_probes), (3, 1));
    assert_eq!(counters.retransmissions, 4);
    assert_eq!(pair.advice, [(A, false)]);
    assert_eq!(pair.app(A).heard, ["opened", "notice: NoAnswer"]);
    while !pair.app(A).over {
        pair.run_for(secs(1));
    }
    assert!(pair.now.saturating_since(began) >= secs(100));
    assert_eq!(pair.app(A).heard[2..], ["aborted: TimedOut"]);
}

// RFC 9293: MUST-20, SHLD-9
#[test]
fn an_answer_after_r1_is_told_too() {
    let mut pair = deaf(plain(), plain(), 1, 20).connected();
    pair.run_for(secs(1));
    pair.write(A, b"anybody there?");
    pair.run_for(secs(60));
    assert_eq!(pair.advice, [(A, false), (A, true)]);
    assert_eq!(pair.app(A).heard, ["opened", "notice: NoAnswer", "notice: Answered"]);
    assert_eq!(pair.app(B).received, b"anybody there?");
}

// RFC 9293: MUST-21
#[test]
fn the_user_sets_r2_while_the_connection_stands() {
    let mut pair = deaf(plain(), plain(), 1, u64::MAX).connected();
    pair.run_for(secs(1));
    let quality = Quality { retransmissions: Some(4), ..Quality::default() };
    pair.change(A, quality);
    pair.write(A, b"x");
    pair.run_for(secs(60));
    assert!(pair.app(A).over);
    assert_eq!(pair.counters(A).retransmissions, 4);

    let mut pair = deaf(plain(), plain(), 1, u64::MAX).connected();
    pair.run_for(secs(1));
    let quality = Quality { retransmissions: Some(u32::MAX), ..Quality::default() };
    pair.change(A, quality);
    pair.write(A, b"x");
    pair.run_for(secs(100_000));
    assert!(!pair.app(A).over, "infinity");
}

// RFC 9293: MUST-22, MUST-23
#[test]
fn a_call_is_tried_for_three_minutes_and_r1_is_told_of() {
    let mut pair = Pair::with_rule(defaults::modern(), defaults::modern(), |_| Vec::new());
    pair.call(A);
    pair.run_for(secs(180));
    assert_eq!(pair.app(A).heard, ["notice: NoAnswer"]);
    assert_eq!(pair.advice, [(A, false)]);
    pair.run_for(secs(100));
    assert_eq!(pair.app(A).heard[1..], ["aborted: TimedOut"]);
}

#[test]
fn who_is_given_up_after_a_soft_error_was_not_to_be_reached() {
    let of = |limit| Quality { user_timeout: Some(limit), ..Quality::default() };
    let ended = |pair: &mut Pair| pair.app(A).heard.last().cloned().unwrap();

    // A call, and by the count.
    let mut pair = deaf(plain(), plain(), 0, u64::MAX);
    pair.call(A);
    pair.icmp(A, no_host());
    pair.run_for(secs(1000));
    assert_eq!(ended(&mut pair), "aborted: Unreachable(Host)");

    // By the count, and by the user timeout; the last that was told before the peer fell silent is why.
    let problems = |pair: &mut Pair| {
        pair.write(A, b"x");
        pair.icmp(A, no_host());
        pair.icmp(A, no_route());
    };
    for quality in [Quality::default(), of(secs(300))] {
        let mut pair = deaf(plain(), plain(), 1, u64::MAX).connected();
        pair.run_for(secs(1));
        pair.change(A, quality);
        problems(&mut pair);
        pair.run_for(secs(10_000));
        assert_eq!(ended(&mut pair), "aborted: Unreachable(Network)");
    }

    // Since then the peer has answered.
    let mut pair = deaf(plain(), plain(), 2, u64::MAX).connected();
    pair.change(A, of(secs(300)));
    problems(&mut pair);
    pair.run_for(secs(2));
    pair.write(A, b"y");
    pair.run_for(secs(400));
    assert_eq!(ended(&mut pair), "aborted: TimedOut");
}

// RFC 9293: MUST-47, MUST-56, SHLD-20, SHLD-25
#[test]
fn a_user_hears_of_soft_errors_unless_it_does_not_want_to() {
    for wanted in [true, false] {
        let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
        let quality = Quality { notices: Some(wanted), ..Quality::default() };
        pair.change(A, quality);
        pair.write(A, b"x");
        for (kind, code) in [(3, 0), (3, 1), (3, 5), (11, 0), (12, 0)] {
            pair.icmp(A, Problem::Soft { kind, code });
        }
        let heard = pair.app(A).heard.len();
        assert_eq!(heard, if wanted { 6 } else { 1 });
        assert!(!pair.app(A).over);
    }
}

#[test]
fn a_user_timeout_replaces_the_count_and_can_be_changed_while_data_waits() {
    let of = |limit| Quality { user_timeout: Some(limit), ..Quality::default() };
    let mut pair = deaf(plain(), plain(), 1, u64::MAX).connected();
    pair.run_for(secs(1));
    pair.write(A, b"x");
    pair.change(A, of(secs(5000)));
    pair.run_for(secs(4900));
    assert!(!pair.app(A).over);
    pair.change(A, of(secs(4950)));
    pair.run_for(secs(60));
    assert_eq!(pair.app(A).heard.last().unwrap(), "aborted: TimedOut");
}

#[test]
fn a_peer_that_keeps_its_window_closed_is_not_borne_longer_than_the_user_wants() {
    let config = Config { user_timeout: Some(secs(300)), ..plain() };
    let small = Config { receive_buffer: 1000, ..plain() };
    let mut pair = Pair::new(config, small, ms(10)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(3000));
    pair.run_for(secs(290));
    assert!(!pair.app(A).over);
    pair.run_for(secs(20));
    assert_eq!(pair.app(A).heard, ["opened", "aborted: TimedOut"]);
}

/// RFC 5482 section 3.1: min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT)).
#[test]
fn user_timeouts_are_told_to_the_peer_which_adapts_within_limits() {
    let of = |limit| Config { user_timeout: Some(secs(limit)), user_timeout_option: true, ..plain() };
    // Ours 200 s; the peer's, and what we then wait.
    for (theirs, waits) in [(50, 200), (1000, 1000), (40_000, 3600)] {
        let mut pair = deaf(of(200), of(theirs), 1, u64::MAX).connected();
        let told = |n: usize| pair.log[n].header.options.user_timeout;
        assert_eq!(told(0), Some(UserTimeout { value: 200, minutes: false }));
        let their = if theirs < 32_768 { (theirs as u16, false) } else { (theirs.div_ceil(60) as u16, true) };
        let (value, minutes) = their;
        assert_eq!(told(1), Some(UserTimeout { value, minutes }));
        // With the SYN and with the first segment after it, and no more.
        assert_eq!(told(2), told(0));
        pair.run_for(secs(1));
        let began = pair.now;
        pair.write(A, b"x");
        assert_eq!(pair.log[3].header.options.user_timeout, None);
        while !pair.app(A).over {
            pair.run_for(secs(1));
        }
        let waited = pair.now.saturating_since(began);
        assert_eq!(waited, secs(waits), "theirs is {theirs}");
    }
}

/// RFC 5482 sections 3 and 3.4.
#[test]
fn a_peer_does_not_change_what_the_user_set_and_cannot_say_zero() {
    let config = Config { user_timeout_option: true, ..plain() };
    let mut pair = deaf(config.clone(), plain(), 2, u64::MAX).connected();
    let tell = |pair: &mut Pair, value| {
        let mut header = pair.header(B);
        header.flags = Flags::ACK;
        (header.seq, header.ack) = (Seq(1), Seq(1));
        header.options = Options { user_timeout: Some(UserTimeout { value, minutes: true }), ..Options::NONE };
        pair.inject(A, header, b"");
    };
    tell(&mut pair, 0);
    assert_eq!(pair.app(A).heard, ["opened"]);
    let quality = Quality { user_timeout: Some(secs(30)), ..Quality::default() };
    pair.change(A, quality);
    tell(&mut pair, 9);
    assert_eq!(pair.app(A).heard[1], format!("notice: UserTimeout({:?})", secs(540)));
    pair.run_for(secs(2));
    pair.write(A, b"x");
    // RFC 5482 section 3: the new value goes with the next segment.
    let told = pair.log.last().unwrap().header.options.user_timeout;
    assert_eq!(told.map(|told| told.value), Some(30));
    pair.run_for(secs(31));
    assert_eq!(pair.app(A).heard.last().unwrap(), "aborted: TimedOut");
}

// RFC 9293: MUST-48, MUST-49, SHLD-21, SHLD-22
#[test]
fn time_to_live_and_dscp_are_settable_and_change_while_the_connection_stands() {
    let config = Config { ttl: 9, tos: 0x28, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    assert_eq!(pair.travelled[0], (A, 9, 0x28));
    assert_eq!(pair.travelled[1], (B, 0, 0));
    let quality = Quality {
        special: IpQuality { ttl: Some(33), tos: Some(0xb8), ..IpQuality::NONE }.into(),
        ..Quality::default()
    };
    pair.change(A, quality);
    pair.write(A, b"x");
    assert_eq!(*pair.travelled.last().unwrap(), (A, 33, 0xb8));
}

#[test]
fn while_memory_is_spent_who_is_waited_for_in_vain_is_let_go_of_soon() {
    for (memory, stands) in [(16 * 1024, 0), (0, 1)] {
        let config = Config { memory, ..plain() };
        let mut pair = deaf(plain(), config, 10, u64::MAX).connected();
        pair.app(A).idle = true;
        pair.write(B, &numbered(100_000));
        // Who answers is borne.
        pair.run_for(secs(9));
        assert_eq!(pair.tcp(B).connections(), 1);
        pair.run_for(secs(99));
        assert_eq!(pair.tcp(B).connections(), 1);
        pair.run_for(secs(130));
        assert_eq!(pair.tcp(B).connections(), stands);
    }
}
