//! Orderly and disorderly ends.

use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::pair::*;
use crate::tcp::{Config, defaults};

#[test]
fn both_ends_may_close_at_once() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    pair.release(A);
    pair.release(B);
    pair.run_for(ms(100));
    assert_eq!(
        pair.taken_log(),
        [
            "0.500 a F. 1:1(0) ack 1 win 64000",
            "0.500 b F. 1:1(0) ack 1 win 64000",
            "0.510 a . 2:2(0) ack 2 win 63999",
            "0.510 b . 2:2(0) ack 2 win 63999",
        ]
    );
    for host in [A, B] {
        assert!(pair.app(host).heard.ends_with(&["released".into(), "closed".into()]));
        assert_eq!(pair.tcp(host).connections(), 1);
    }
    pair.run_for(ms(61_000));
    assert_eq!((pair.tcp(A).connections(), pair.tcp(B).connections()), (0, 0));
}

#[test]
fn after_a_half_close_the_other_direction_goes_on() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, b"question");
    pair.release(A);
    pair.run_for(ms(50));
    assert_eq!(pair.app(B).heard, ["offered", "released"]);
    pair.write(B, &numbered(5000));
    pair.run_for(ms(500));
    assert_eq!(pair.app(A).received, numbered(5000));
    pair.release(B);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
    assert_eq!(pair.app(B).heard, ["offered", "released", "closed"]);
}

// RFC 9293: MUST-12
#[test]
fn a_closed_port_answers_with_a_reset() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["aborted: Refused"]);
    let reset = &pair.log[1];
    assert_eq!(reset.header.flags, Flags::RST | Flags::ACK);
    assert_eq!(reset.header.seq, Seq(0));
    assert_eq!(reset.header.ack, pair.log[0].header.seq + 1);
    assert_eq!(pair.tcp(A).connections(), 0);
}

// RFC 9293: MUST-12
#[test]
fn an_abort_resets_the_peer() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(100));
    pair.abort(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["opened"]);
    assert_eq!(pair.app(B).heard, ["offered", "aborted: Reset"]);
    assert_eq!((pair.tcp(A).connections(), pair.tcp(B).connections()), (0, 0));
}

#[test]
fn a_reset_counts_only_at_the_left_edge_of_the_window() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    let mut reset = pair.header(B);
    reset.flags = Flags::RST;
    reset.seq = Seq(2);
    pair.inject(A, reset, b"");
    assert_eq!(pair.taken_log(), ["0.500 a . 1:1(0) ack 1 win 64000"]);
    reset.seq = Seq(70_000);
    pair.inject(A, reset, b"");
    assert!(pair.taken_log().is_empty() && !pair.app(A).over);
    reset.seq = Seq(1);
    pair.inject(A, reset, b"");
    assert_eq!(pair.app(A).heard, ["opened", "aborted: Reset"]);
}

/// What a peer that has closed says to text that was in flight, and was sent before its FIN was acknowledged (RFC 9293
/// section 3.10.7.1).
#[test]
fn a_reset_at_the_number_of_a_fin_counts() {
    let states: [fn(&mut Pair); 3] = [
        |_| {},
        |pair| pair.release(B),
        // A is not told of B's FIN, and B has not acknowledged A's.
        |pair| {
            pair.taken_log();
            let fin = Header { flags: Flags::ACK | Flags::FIN, ..pair.header(A) };
            pair.release(B);
            pair.inject(B, fin, b"");
        },
    ];
    for (number, state) in states.into_iter().enumerate() {
        let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
        if number < 2 {
            pair.release(A);
            pair.run_for(ms(10));
        }
        state(&mut pair);
        let from = pair.header(A);
        let reset = |seq| Header { flags: Flags::RST, seq: Seq(seq), ..from };
        for (seq, ends) in [(0, false), (1, true)] {
            pair.inject(B, reset(seq), b"");
            let ended = pair.app(B).heard.last().map(String::as_str) == Some("aborted: Reset");
            assert_eq!(ended, ends, "{number}: {seq} {:?}", pair.app(B).heard);
        }
    }
}

#[test]
fn a_syn_in_a_synchronized_state_is_challenged() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    let mut syn = pair.header(A);
    syn.flags = Flags::SYN;
    syn.seq = Seq(9);
    pair.inject(B, syn, b"");
    assert_eq!(pair.taken_log(), ["0.500 b . 1:1(0) ack 1 win 64000"]);
    assert!(!pair.app(B).over);
}

/// A has closed first and is in TIME-WAIT since 550 ms.
fn in_time_wait(config: Config) -> Pair {
    let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
    pair.release(A);
    pair.run_for(ms(20));
    pair.release(B);
    pair.run_for(ms(30));
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
    assert_eq!((pair.tcp(A).connections(), pair.tcp(B).connections()), (1, 0));
    pair.taken_log();
    pair
}

/// B's segment `flags` with sequence number `seq`.
fn from_b(pair: &Pair, flags: Flags, seq: u32) -> Header {
    Header { flags, seq: Seq(seq), ack: Seq(2), ..pair.header(B) }
}

// RFC 9293: MUST-13
#[test]
fn time_wait_lasts_2_msl_after_the_last_fin() {
    let mut pair = in_time_wait(plain());
    pair.run_for(ms(30_000));
    // B's FIN again: our acknowledgment was lost.
    let fin = from_b(&pair, Flags::FIN | Flags::ACK, 1);
    pair.inject(A, fin, b"");
    assert_eq!(pair.taken_log(), ["30.550 a . 2:2(0) ack 2 win 63999"]);
    pair.run_for(ms(59_000));
    assert_eq!(pair.tcp(A).connections(), 1);
    pair.run_for(ms(1_001));
    assert_eq!(pair.tcp(A).connections(), 0);
}

#[test]
fn a_reset_does_not_shorten_time_wait() {
    let mut pair = in_time_wait(plain());
    for flags in [Flags::RST, Flags::RST | Flags::ACK] {
        let reset = from_b(&pair, flags, 2);
        pair.inject(A, reset, b"");
    }
    assert_eq!(pair.tcp(A).connections(), 1);
    // Old segments are answered, but not each; what has nothing to say is not.
    for _ in 0..5 {
        let old = from_b(&pair, Flags::ACK, 1);
        pair.inject(A, old, b"old");
        let bare = from_b(&pair, Flags::ACK, 2);
        pair.inject(A, bare, b"");
    }
    assert_eq!(pair.taken_log().len(), 1);
}

#[test]
fn a_reset_elsewhere_in_the_window_is_challenged_in_time_wait_too() {
    // RFC 9293 section 3.10.7.4, second check, 3); outside the window it is dropped silently, 1).
    for (seq, answers) in [(1, 0), (3, 1), (2 + 63_998, 1), (2 + 64_000, 0)] {
        let mut pair = in_time_wait(plain());
        let reset = from_b(&pair, Flags::RST, seq);
        pair.inject(A, reset, b"");
        assert_eq!(pair.taken_log().len(), answers, "{seq}");
        assert_eq!(pair.tcp(A).connections(), 1);
    }
}

// RFC 9293: SHLD-4, MAY-2
#[test]
fn a_later_syn_ends_time_wait_and_begins_beyond_it() {
    let modern = defaults::modern();
    for (config, plus, seq, begins) in [
        (plain(), 0, 3, true),
        (plain(), 0, 2, false),
        (modern.clone(), 1, 1, true),
        (modern.clone(), 0, 3, true),
        (modern, u32::MAX, 3, false),
    ] {
        let timestamps = config.timestamps;
        let mut pair = in_time_wait(config);
        pair.listen(A, 2);
        // A called, so its port is not the one listened on: a listener there.
        let port = pair.header(A).source_port;
        let listen = open(kumiki_graph::Mode::Passive { backlog: 2 }, kumiki_graph::Address::NONE, port);
        pair.ask(A, vec![listen]);
        let last = pair.log.iter().rfind(|p| p.from == B).unwrap();
        let recent = last.header.options.timestamps.map_or(0, |(value, _)| value);
        let (end, first) = (pair.log.last().unwrap().header.seq, pair.first[A]);
        let mut syn = from_b(&pair, Flags::SYN, seq);
        if timestamps {
            syn.options.timestamps = Some((recent.wrapping_add(plus), 0));
        }
        pair.inject(A, syn, b"");
        let answer = pair.log.last().unwrap();
        assert_eq!(answer.has(Flags::SYN), begins, "{plus} {seq}");
        if begins {
            assert!(answer.header.seq.gt(end) && first != pair.first[A]);
        }
    }
}

#[test]
fn time_wait_takes_little_memory_and_the_oldest_makes_room() {
    assert!(size_of::<crate::tcp::time_waits::TimeWaitEntry>() <= 124);
    let config = Config { time_waits: 10, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10));
    pair.listen(B, 5);
    for _ in 0..15 {
        pair.call(A);
        pair.run_for(ms(100));
        pair.release(A);
        pair.run_for(ms(100));
        pair.release(B);
        pair.run_for(ms(100));
    }
    assert_eq!(pair.tcp(A).connections(), 10);
    assert_eq!(pair.counters(A).time_waits_cut, 5);
    pair.run_for(ms(61_000));
    assert_eq!(pair.tcp(A).connections(), 0);
}

#[test]
fn text_with_a_fin_is_delivered_in_every_state_that_receives() {
    for released in 0..4 {
        let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
        match released {
            // ESTABLISHED.
            0 => {}
            // FIN-WAIT-1: B has not acknowledged the FIN.
            1 | 2 => pair.release(A),
            // FIN-WAIT-2.
            _ => {
                pair.release(A);
                pair.run_for(ms(100));
            }
        }
        let mut last = from_b(&pair, Flags::FIN | Flags::ACK, 1);
        // In case 2 the segment that brings text and FIN also acknowledges ours.
        last.ack = Seq(if released >= 2 { 2 } else { 1 });
        pair.inject(A, last, b"last words");
        assert_eq!(pair.app(A).received, b"last words");
        let closed = if released == 0 { None } else { Some("closed") };
        let heard = pair.app(A).heard.clone();
        assert_eq!(heard[1], "released");
        let at_once = released >= 1;
        assert_eq!(heard.get(2).map(String::as_str), closed.filter(|_| at_once && heard.len() > 2));
        assert_eq!(heard.len() > 2, released >= 2, "{heard:?}");
        assert_eq!(pair.log.last().unwrap().ack, 12);
    }
}

// RFC 9293: SHLD-2, MUST-12
#[test]
fn a_reset_may_have_text_and_is_told_from_an_orderly_end() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let reset = from_b(&pair, Flags::RST, 1);
    pair.inject(A, reset, b"you are not welcome");
    assert_eq!(pair.app(A).heard, ["opened", "aborted: Reset"]);
    assert!(pair.app(A).received.is_empty());
}

// RFC 9293: SHLD-3
#[test]
fn data_that_is_lost_by_an_abort_is_answered_with_a_reset() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.app(A).idle = true;
    pair.write(B, b"not read");
    pair.run_for(ms(100));
    pair.taken_log();
    pair.abort(A);
    assert_eq!(pair.taken_log(), ["0.600 a R. 1:1(0) ack 9 win 63992"]);
    // And what comes after it.
    let more = from_b(&pair, Flags::ACK, 9);
    pair.inject(A, more, b"more");
    assert!(pair.log.last().unwrap().has(Flags::RST));
}
