//! What holds a connection back, where that is known beforehand.

use kumiki_graph::{Coalesce, Duration, Instant};

use super::pair::*;
use crate::tcp::config::{AckRule, AckTimer};
use crate::tcp::congestion::InitialWindow;
use crate::tcp::{Config, Limit};

fn recorded() -> Config {
    Config { record: true, ..plain() }
}

/// What held host A from `from` on, in words: milliseconds and name. What B keeps back is told where B is recorded too.
fn spans(pair: &Pair, from: Instant) -> Vec<String> {
    let (_, _, record) = pair.tcp(A).records().next().unwrap();
    let limits = &record.limits;
    let whole: Duration = Limit::ALL.iter().fold(Duration::ZERO, |all, it| all + limits.time(*it, from, pair.now));
    let end = limits.spans(from, pair.now).last().map_or(from, |(_, until, _)| until);
    assert_eq!(whole, end.saturating_since(from), "something holds it at any time, and one thing");
    let peer = pair.tcp(B).records().next().map(|(_, _, record)| record);
    let spans = record.spans(peer, from, pair.now);
    let mut last = from;
    for (since, until, _) in &spans {
        assert!(*since == last && until > since, "one thing at any time: {spans:?}");
        last = *until;
    }
    assert_eq!(last, end);
    let shown = |at: Instant| at.saturating_since(from).as_nanos() / 1_000_000;
    let words = |(since, until, limit): (Instant, Instant, Limit)| {
        format!("{} to {} {}", shown(since), shown(until), limit.name())
    };
    spans.into_iter().map(words).collect()
}

/// A receiver that keeps acknowledgments back for 40 ms, or until a second segment is there.
fn later() -> Config {
    Config { ack_timer: AckTimer::Timeout(ms(40)), ..recorded() }
}

#[test]
fn a_window_of_two_segments_holds_for_all_round_trips_but_the_last() {
    let mut pair = Pair::new(recorded(), Config { receive_buffer: 2000, ..plain() }, ms(10)).connected();
    let from = pair.now;
    pair.run_for(ms(5));
    pair.write(A, &numbered(10_000));
    pair.run_for(ms(200));
    assert_eq!(pair.app(B).received.len(), 10_000);
    assert_eq!(spans(&pair, from), ["0 to 5 application", "5 to 85 receive window", "85 to 205 application"]);
}

#[test]
fn a_closed_window_holds_until_it_opens() {
    let mut pair = Pair::new(recorded(), Config { receive_buffer: 2000, ..plain() }, ms(10)).connected();
    let from = pair.now;
    pair.app(B).idle = true;
    pair.write(A, &numbered(3000));
    pair.run_for(ms(1000));
    pair.app(B).idle = false;
    pair.take(B, 2000);
    pair.run_for(ms(100));
    assert_eq!(spans(&pair, from), ["0 to 1010 receive window", "1010 to 1100 application"]);
}

#[test]
fn a_full_send_buffer_holds_until_something_is_acknowledged() {
    let config = Config { send_buffer: 2000, low_water: 1, ..recorded() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    let from = pair.now;
    pair.write(A, &numbered(6000));
    pair.run_for(ms(100));
    assert_eq!(spans(&pair, from), ["0 to 60 send buffer", "60 to 100 application"]);
}

/// 2500 octets are two segments and a half, which Nagle holds back; but it would be whole if there were room for more.
#[test]
fn what_a_full_buffer_leaves_over_is_held_by_the_buffer() {
    let config = Config { coalesce: Coalesce::Nagle, send_buffer: 2500, low_water: 1, ..recorded() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    let from = pair.now;
    pair.write(A, &numbered(20_000));
    pair.run_for(ms(50));
    assert_eq!(spans(&pair, from), ["0 to 50 send buffer"]);
}

#[test]
fn slow_start_holds_until_the_window_has_grown() {
    let config = Config { initial_window: InitialWindow::Segments(2), ..recorded() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    let from = pair.now;
    // 2, 4 and 8 segments in three round trips.
    pair.write(A, &numbered(14_000));
    pair.run_for(ms(100));
    assert_eq!(spans(&pair, from), ["0 to 40 slow start", "40 to 100 application"]);
}

#[test]
fn a_lost_tail_is_a_time_out_whatever_else_seemed_to_hold() {
    let config = Config { tail_loss_probe: false, ..recorded() };
    let mut lost = false;
    let mut pair = Pair::with_rule(config, plain(), move |packet| {
        if packet.len() > 0 && !core::mem::replace(&mut lost, true) { Vec::new() } else { vec![ms(10)] }
    })
    .connected();
    let from = pair.now;
    pair.write(A, &numbered(1000));
    pair.run_for(ms(300));
    assert_eq!(pair.counters(A).timeouts, 1);
    assert_eq!(spans(&pair, from), ["0 to 200 retransmission time-out", "200 to 300 application"]);
}

/// Of ten segments the last two are lost: the probe brings the last, and what that calls out says that the one before
/// it is lost.
#[test]
fn a_probe_whose_answer_begins_a_recovery_was_waited_for() {
    let config =
        Config { sack: true, tail_loss_probe: true, initial_window: InitialWindow::Segments(10), ..recorded() };
    let mut number = 0;
    let peer = Config { sack: true, ..plain() };
    let mut pair = Pair::with_rule(config, peer, move |packet| {
        number += usize::from(packet.len() > 0);
        if packet.len() > 0 && (number == 9 || number == 10) { Vec::new() } else { vec![ms(10)] }
    })
    .connected();
    let from = pair.now;
    pair.write(A, &numbered(10_000));
    pair.run_for(ms(300));
    let counters = pair.counters(A);
    assert_eq!((counters.loss_probes, counters.fast_retransmits, counters.timeouts), (1, 1, 0));
    let spans = spans(&pair, from);
    let waits: Vec<_> = spans.iter().filter(|span| span.ends_with("retransmission time-out")).collect();
    assert_eq!(waits, ["20 to 60 retransmission time-out"], "{spans:?}");
}

/// Of the line that is dead from the first segment on, time-outs double: at 200, 600, 1400 and 3000 ms.
#[test]
fn a_time_out_that_has_not_come_by_the_end_holds_all_the_same() {
    let config = Config { tail_loss_probe: false, ..recorded() };
    let rule = |packet: &Packet| if packet.len() > 0 { Vec::new() } else { vec![ms(10)] };
    let mut pair = Pair::with_rule(config, plain(), rule).connected();
    let from = pair.now;
    pair.write(A, &numbered(1000));
    pair.run_for(ms(2500));
    assert_eq!(pair.counters(A).timeouts, 3);
    assert_eq!(spans(&pair, from), ["0 to 2500 retransmission time-out"]);
    // What more there is to write, and the next expiry, change nothing of it.
    pair.write(A, &numbered(1000));
    pair.run_for(ms(1000));
    assert_eq!(pair.counters(A).timeouts, 4);
    assert_eq!(spans(&pair, from), ["0 to 3500 retransmission time-out"]);
}

#[test]
fn what_nagle_holds_waits_for_a_delayed_acknowledgment() {
    for (recorded_peer, expected) in [
        (true, ["0 to 10 coalescing", "10 to 50 delayed acknowledgment at the peer", "50 to 60 coalescing"].as_slice()),
        // Of a peer that is elsewhere nothing is known.
        (false, &["0 to 60 coalescing"]),
    ] {
        let later = Config { record: recorded_peer, ..later() };
        let config = Config { coalesce: Coalesce::Nagle, ..recorded() };
        let mut pair = Pair::new(config, later, ms(10)).connected();
        let from = pair.now;
        pair.write(A, &numbered(100));
        pair.write(A, &numbered(100));
        pair.run_for(ms(100));
        assert_eq!(spans(&pair, from), [expected, &["60 to 100 application"]].concat());
    }
}

/// 3000 octets in segments of 1000, of which the window holds one at first.
#[test]
fn a_window_of_one_segment_waits_for_the_acknowledgment_that_is_kept_back() {
    let window = |b: Config| {
        let config = Config { initial_window: InitialWindow::Segments(1), ..recorded() };
        let mut pair = Pair::new(config, b, ms(10)).connected();
        let from = pair.now;
        pair.write(A, &numbered(3000));
        pair.run_for(ms(200));
        assert_eq!(pair.app(B).received.len(), 3000);
        spans(&pair, from)
    };
    let late = "10 to 50 delayed acknowledgment at the peer";
    assert_eq!(window(later()), ["0 to 10 slow start", late, "50 to 60 slow start", "60 to 200 application"]);
    // Whoever keeps nothing back is blamed for nothing.
    let at_once = window(Config { ack: AckRule { every: 1, count_small: true, pushed: false }, ..later() });
    assert_eq!(at_once, ["0 to 20 slow start", "20 to 200 application"]);
}

/// The window is odd, so the last segment of each is kept back; but the others open the window meanwhile.
#[test]
fn what_is_kept_back_while_more_is_under_way_holds_nobody() {
    let b = Config { receive_buffer: 5000, ..later() };
    let mut pair = Pair::new(recorded(), b, ms(100)).connected();
    let from = pair.now;
    pair.write(A, &numbered(60_000));
    pair.run_for(ms(2000));
    assert!(pair.counters(B).acks_by_timer > 5, "{}", pair.counters(B).acks_by_timer);
    assert_eq!(spans(&pair, from), ["0 to 2000 receive window"]);
}

/// When it ends in the middle of a wait what is known by then counts.
#[test]
fn what_is_kept_back_at_the_end_is_no_time_out() {
    let config = Config { coalesce: Coalesce::Nagle, tail_loss_probe: false, ..recorded() };
    let mut pair = Pair::new(config, later(), ms(10)).connected();
    let from = pair.now;
    // A round trip without delay, so that the sender knows how long one takes.
    pair.write(A, &numbered(2000));
    pair.run_for(ms(30));
    pair.write(A, &numbered(100));
    pair.write(A, &numbered(100));
    pair.run_for(ms(45));
    let late = "delayed acknowledgment at the peer";
    assert_eq!(spans(&pair, from)[1..], ["30 to 40 coalescing".to_owned(), format!("40 to 75 {late}")]);
    // On its way.
    pair.run_for(ms(10));
    let last = [format!("40 to 80 {late}"), "80 to 85 coalescing".to_owned()];
    assert_eq!(spans(&pair, from)[2..], last);
}

/// The line dies, and it ends before the timer has expired for the first time.
#[test]
fn the_first_time_out_holds_before_it_has_come() {
    let mut dead = false;
    let rule = move |packet: &Packet| {
        dead |= packet.len() == 500;
        if dead { Vec::new() } else { vec![ms(10)] }
    };
    let config = Config { tail_loss_probe: false, ..recorded() };
    let mut pair = Pair::with_rule(config, recorded(), rule).connected();
    let from = pair.now;
    for _ in 0..10 {
        pair.write(A, &numbered(1000));
        pair.run_for(ms(30));
    }
    pair.write(A, &numbered(500));
    pair.run_for(ms(150));
    assert_eq!(pair.counters(A).timeouts, 0);
    assert_eq!(spans(&pair, from), ["0 to 300 application", "300 to 450 retransmission time-out"]);
}

#[test]
fn a_loss_holds_as_long_as_its_window_does() {
    let config = Config { initial_window: InitialWindow::Segments(10), sack: true, ..recorded() };
    let mut number = 0;
    let peer = Config { sack: true, ..plain() };
    let mut pair = Pair::with_rule(config, peer, move |packet| {
        number += usize::from(packet.len() > 0);
        if packet.len() > 0 && number == 5 { Vec::new() } else { vec![ms(10)] }
    })
    .connected();
    let from = pair.now;
    pair.write(A, &numbered(60_000));
    pair.run_for(ms(400));
    assert_eq!(pair.counters(A).fast_retransmits, 1);
    let spans = spans(&pair, from);
    assert_eq!(spans[0], "0 to 20 slow start");
    assert!(spans[1].ends_with("congestion window after a loss"), "{spans:?}");
    assert!(spans.last().unwrap().ends_with("application"), "{spans:?}");
}

#[test]
fn opening_and_closing_are_times_of_their_own_and_nothing_holds_what_is_over() {
    let mut pair = Pair::new(recorded(), plain(), ms(10));
    pair.listen(B, 5);
    pair.app(B).release_when_released = true;
    let from = pair.now;
    pair.call(A);
    pair.run_for(ms(50));
    pair.release(A);
    pair.run_for(ms(50));
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
    let spans = spans(&pair, from);
    assert_eq!(spans, ["0 to 20 opening", "20 to 50 application", "50 to 70 closing"]);
}

/// Of 20 segments, all of them sent and ended with a FIN, some are lost: what is to be retransmitted waits for the
/// window, and nothing is closing yet.
#[test]
fn what_is_to_be_sent_again_is_held_by_the_loss_also_behind_the_end_of_the_data() {
    let config = Config { initial_window: InitialWindow::Segments(20), sack: true, ..recorded() };
    let mut number = 0;
    let peer = Config { sack: true, ..plain() };
    let mut pair = Pair::with_rule(config, peer, move |packet| {
        number += usize::from(packet.len() > 0);
        if packet.len() > 0 && (2..=14).contains(&number) { Vec::new() } else { vec![ms(10)] }
    })
    .connected();
    let from = pair.now;
    pair.write(A, &numbered(20_000));
    pair.release(A);
    pair.run_for(ms(35));
    let spans = spans(&pair, from);
    assert!(spans.iter().any(|it| it.ends_with("congestion window after a loss")), "{spans:?}");
}
