//! Windows that close, open, scale and wrap; timestamps that protect them.

use kumiki_graph::{Duration, Mode, Quality};
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};

use super::pair::*;
use crate::tcp::Config;

fn small_buffer(octets: u32) -> Config {
    Config { receive_buffer: octets, ..plain() }
}

// RFC 9293: MUST-35, MUST-36, SHLD-29, SHLD-30
#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let mut pair = Pair::new(plain(), small_buffer(4000), ms(10)).connected();
    pair.app(B).idle = true;
    pair.taken_log();
    pair.write(A, &numbered(6000));
    pair.run_for(ms(2500));
    let log = pair.taken_log();
    assert_eq!(
        log,
        [
            "0.500 a . 1:1001(1000) ack 1 win 64000",
            "0.500 a . 1001:2001(1000) ack 1 win 64000",
            "0.500 a . 2001:3001(1000) ack 1 win 64000",
            "0.500 a . 3001:4001(1000) ack 1 win 64000",
            "0.510 b . 1:1(0) ack 2001 win 2000",
            "0.510 b . 1:1(0) ack 4001 win 0",
            // RTO is 200 ms, and doubles. The probe's octet is beyond the window and is not taken.
            "0.720 a . 4001:4002(1) ack 1 win 64000",
            "0.730 b . 1:1(0) ack 4001 win 0",
            "1.120 a . 4001:4002(1) ack 1 win 64000",
            "1.130 b . 1:1(0) ack 4001 win 0",
            "1.920 a . 4001:4002(1) ack 1 win 64000",
            "1.930 b . 1:1(0) ack 4001 win 0",
        ]
    );
    pair.app(B).idle = false;
    pair.take(B, 4000);
    pair.run_for(ms(1000));
    assert_eq!(
        pair.taken_log()[..3],
        [
            "3.000 b . 1:1(0) ack 4001 win 4000",
            "3.010 a . 4001:5001(1000) ack 1 win 64000",
            "3.010 a P. 5001:6001(1000) ack 1 win 64000",
        ]
    );
    assert_eq!(pair.app(B).received, numbered(6000));
    assert_eq!(pair.counters(A).window_probes, 3);
}

// RFC 9293: MUST-37, MAY-8
#[test]
fn a_window_may_stay_closed_for_ever() {
    let config = Config { max_retransmissions: 3, ..plain() };
    let mut pair = Pair::new(config, small_buffer(1000), ms(10)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(3000));
    pair.run_for(ms(3_600_000));
    assert!(!pair.app(A).over);
    pair.app(B).idle = false;
    pair.take(B, 1000);
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).received, numbered(3000));
}

// RFC 9293: MUST-35, MUST-36
#[test]
fn a_lost_window_update_does_not_stop_a_connection() {
    let mut pair = Pair::with_rule(plain(), small_buffer(2000), |packet| {
        if packet.from == B && packet.at.as_nanos() == 1_000_000_000 { Vec::new() } else { vec![ms(10)] }
    })
    .connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(5000));
    pair.run_for(ms(500));
    pair.app(B).idle = false;
    pair.take(B, 2000);
    pair.run_for(ms(20_000));
    assert_eq!(pair.app(B).received, numbered(5000));
}

// RFC 9293: MUST-39
#[test]
fn the_right_edge_moves_in_large_steps_only() {
    let mut pair = Pair::new(plain(), small_buffer(4000), ms(10)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(4000));
    pair.run_for(ms(100));
    pair.taken_log();
    for _ in 0..19 {
        pair.take(B, 100);
    }
    assert!(pair.taken_log().is_empty());
    // Half the buffer is free.
    pair.take(B, 100);
    assert_eq!(pair.taken_log(), ["0.600 b . 1:1(0) ack 4001 win 2000"]);
}

/// What a scaled window cannot tell is not told again and again: each end would take the other's word for a reason to
/// speak.
#[test]
fn ends_with_room_of_less_than_a_unit_of_the_scale_do_not_answer_each_other_for_ever() {
    // The unit is 256 octets, the buffer has 100 more than 250 of them, and two segments are 80.
    let config = || Config {
        mss: Some(40),
        window_scaling: true,
        receive_buffer: 64_100,
        max_receive_buffer: 1 << 23,
        window_update: crate::tcp::config::WindowUpdate { segments: 2, percent: 50 },
        ..plain()
    };
    let mut pair = Pair::new(config(), config(), ms(10)).connected();
    for host in [A, B] {
        pair.write(host, &numbered(1000));
        pair.run_for(ms(1000));
    }
    pair.taken_log();
    let before = pair.log.len();
    pair.write(A, b"x");
    pair.run_for(ms(10_000));
    let log = pair.taken_log().join("\n");
    assert!(pair.log.len() - before <= 3, "{log}");
}

// RFC 9293: MUST-38
#[test]
fn the_sender_waits_for_a_useful_window_but_not_for_ever() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    // B offers 64,000; from there a window of 300 octets is silly.
    pair.write(A, &numbered(2000));
    pair.run_for(ms(100));
    let mut shrunk = pair.header(B);
    shrunk.flags = Flags::ACK;
    (shrunk.seq, shrunk.ack, shrunk.window) = (Seq(1), Seq(2001), 300);
    pair.inject(A, shrunk, b"");
    pair.taken_log();
    pair.write(A, &numbered(1000));
    pair.run_for(ms(150));
    assert!(pair.taken_log().is_empty());
    pair.run_for(ms(51));
    assert_eq!(pair.taken_log()[0], "0.800 a . 2001:2301(300) ack 1 win 64000");
    assert_eq!(pair.counters(A).overrides, 1);
}

// RFC 9293: REC-1
#[test]
fn big_windows_are_scaled() {
    let config = Config {
        window_scaling: true,
        receive_buffer: 1_000_000,
        send_buffer: 1_000_000,
        initial_window: crate::tcp::congestion::InitialWindow::Segments(1000),
        ..plain()
    };
    let mut pair = Pair::new(config.clone(), config.clone(), ms(50)).connected();
    assert_eq!(pair.log[0].header.options.window_scale, Some(4));
    assert_eq!(pair.log[0].header.window, 65_535);
    // The first acknowledgment of data tells what the handshake could not.
    pair.write(A, &numbered(251));
    pair.run_for(ms(500));
    pair.taken_log();
    pair.write(A, &numbered(600_000));
    let in_flight = pair.taken_log().len();
    assert!(in_flight > 65, "{in_flight} segments");
    pair.run_for(ms(2000));
    assert_eq!(pair.app(B).received, numbered(600_251));
    // The peer does not scale: nobody does.
    let mut pair = Pair::new(config, plain(), ms(50)).connected();
    assert_eq!(pair.log[1].header.options.window_scale, None);
    pair.write(A, &numbered(600_000));
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).received, numbered(600_000));
    let most = pair.log.iter().filter(|packet| packet.from == A);
    assert!(most.map(|packet| packet.header.window).max() == Some(65_535));
}

// RFC 9293: SHLD-14
#[test]
fn the_offered_edge_never_moves_back() {
    for (scaling, shift) in [(false, 0), (true, 4)] {
        let of = |receive_buffer| Config { window_scaling: scaling, receive_buffer, ..plain() };
        let (unit, buffer) = (1 << shift, if scaling { 999_999 } else { 60_000 });
        let mut pair = Pair::new(of(64_000), of(buffer), ms(5));
        pair.listen(B, 1);
        pair.call(A);
        pair.run_for(ms(100));
        assert_eq!(pair.log[1].header.options.window_scale, scaling.then_some(shift));
        pair.app(B).idle = true;
        for len in [1, 3, 5, 7, 999, 1001, 17] {
            pair.write(A, &numbered(len));
            pair.run_for(ms(100));
            // The user takes nothing, and wants less room than was offered.
            let quality = Quality { receive_buffer: Some(5000), ..Quality::default() };
            pair.change(B, quality);
        }
        let mut last = 0;
        for packet in pair.log.iter().filter(|packet| packet.from == B).skip(1) {
            let edge = packet.ack + (u32::from(packet.header.window) << shift);
            // What is told in units may be less by a part of one (RFC 7323 section 2.4).
            assert!(edge + unit > last, "{packet}");
            last = last.max(edge);
        }
        assert!(last > buffer - unit, "{last}");
    }
}

#[test]
fn a_scaled_window_is_not_rounded_up_beyond_the_buffer_again_and_again() {
    // Told in units of 64.
    let buffer = 4_194_000;
    let config = Config {
        receive_buffer: buffer,
        send_buffer: 2 * buffer,
        window_scaling: true,
        coalesce: kumiki_graph::Coalesce::Never,
        mss: Some(9000),
        ..plain()
    };
    let mut pair = Pair::new(config.clone(), config, ms(1)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(buffer as usize - 40));
    pair.run_for(ms(5000));
    for _ in 0..200 {
        pair.write(A, &[7]);
        pair.run_for(ms(10));
    }
    // RFC 7323 section 2.4: the edge may move beyond the buffer or back, where RCV.NXT is between two units.
    let received = pair.app(B).received.len();
    assert!(received < buffer as usize + 64, "{received}");
}

#[test]
fn the_acknowledgment_that_fills_a_gap_brings_its_window_with_it() {
    let deaf = |packet: &Packet| {
        if packet.at.as_nanos() < 500_000_000 { vec![ms(10)] } else { Vec::new() }
    };
    let mut pair = Pair::with_rule(plain(), plain(), deaf).connected();
    let from_b = |pair: &Pair, seq, ack, window| Header {
        flags: Flags::ACK,
        seq: Seq(seq),
        ack: Seq(ack),
        window,
        ..pair.header(B)
    };
    let ahead = from_b(&pair, 201, 1, 2000);
    pair.inject(A, ahead, &numbered(100));
    pair.write(A, &numbered(9000));
    pair.taken_log();
    // Sent later than what was ahead of it, since it acknowledges more; the edge is where it was.
    let gap = from_b(&pair, 1, 1001, 1000);
    pair.inject(A, gap, &numbered(200));
    assert_eq!(pair.taken_log(), ["0.500 a . 2001:2001(0) ack 301 win 63700"]);
    let later = from_b(&pair, 301, 2001, 1000);
    pair.inject(A, later, &[]);
    assert_eq!(pair.taken_log(), ["0.500 a . 2001:3001(1000) ack 301 win 63700"]);
}

#[test]
fn sequence_numbers_wrap() {
    for sack in [false, true] {
        let config = Config { sack, ..plain() };
        let run = |wait: Duration| {
            let mut count = 0;
            let mut pair = Pair::with_rule(config.clone(), config.clone(), move |packet| {
                count += 1;
                if packet.len() > 0 && count % 7 == 0 { Vec::new() } else { vec![ms(5)] }
            });
            pair.run_for(wait);
            pair.listen(B, 1);
            let call = open(Mode::Active, address(B, PORT), 5555);
            pair.ask(A, vec![call]);
            pair.run_for(ms(100));
            pair
        };
        let first = run(Duration::ZERO).first[A].unwrap_or_default();
        let ticks = u64::from(0u32.wrapping_sub(first.0).wrapping_sub(10_000));
        let mut pair = run(Duration::from_micros(4 * ticks));
        assert_eq!(pair.first[A], Some(Seq(0u32.wrapping_sub(10_000))));
        pair.write(A, &numbered(60_000));
        pair.run_for(ms(60_000));
        assert_eq!(pair.app(B).received, numbered(60_000));
        assert!(pair.counters(A).retransmissions > 0);
    }
}

#[test]
fn an_old_timestamp_is_refused() {
    let config = Config { timestamps: true, ..plain() };
    let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
    pair.write(A, b"good");
    pair.run_for(ms(100));
    pair.taken_log();
    let (value, _) = pair.log[0].header.options.timestamps.unwrap();
    let mut old = pair.header(A);
    old.flags = Flags::ACK;
    (old.seq, old.ack) = (Seq(5), Seq(1));
    old.options = Options { timestamps: Some((value - 1, 0)), ..Options::NONE };
    pair.inject(B, old, b"evil");
    assert_eq!(pair.counters(B).paws_rejected, 1);
    assert_eq!(pair.taken_log(), ["0.600 b . 1:1(0) ack 5 win 63996"]);
    assert_eq!(pair.app(B).received, b"good");
    // Without the option, once it was agreed on, nothing is taken either.
    old.options = Options::NONE;
    pair.inject(B, old, b"evil");
    assert_eq!(pair.app(B).received, b"good");
    old.options.timestamps = Some((value + 10_000, 0));
    pair.inject(B, old, b"fine");
    assert_eq!(pair.app(B).received, b"goodfine");
}

// RFC 9293: MUST-18
#[test]
fn what_went_as_a_probe_is_no_measure_of_the_round_trip() {
    let small = Config {
        receive_buffer: 1000,
        ack: crate::tcp::config::AckRule { every: 1, count_small: true, pushed: false },
        ..plain()
    };
    let config = Config { trace: true, ..plain() };
    let mut pair = Pair::new(config, small, ms(10)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(1500));
    pair.run_for(ms(2000));
    assert!(pair.counters(A).window_probes > 1);
    // The octet that was probed with is taken, and the probe before is still on its way when the rest follows.
    pair.take(B, 1000);
    pair.run_for(ms(2000));
    assert_eq!(pair.app(B).received.len(), 1500);
    let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
    let last = trace.0.last().unwrap();
    assert_eq!(last.srtt, Some(ms(20)), "{last:?}");
}
