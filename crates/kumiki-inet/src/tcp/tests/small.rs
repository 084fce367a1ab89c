//! Small segments: when they are sent, and when they are acknowledged. The last tests are paper 5's abnormality.

use kumiki_graph::Coalesce;

use super::pair::*;
use crate::tcp::config::{AckRule, AckTimer, Beat, Rounding, WindowUpdate};
use crate::tcp::{Config, Event, defaults};

/// Ten writes of 100 octets, one each millisecond, over a path of 2 x 10 ms: the lengths of the segments sent.
fn ten_writes(coalesce: Coalesce) -> Vec<usize> {
    let config = Config { coalesce, ..plain() };
    let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
    let from = pair.log.len();
    for _ in 0..10 {
        pair.write(A, &numbered(100));
        pair.run_for(ms(1));
    }
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).received.len(), 1000);
    pair.log[from..].iter().filter(|packet| packet.from == A).map(Packet::len).filter(|&len| len > 0).collect()
}

// RFC 9293: SHLD-7
#[test]
fn nagle_waits_for_the_acknowledgment() {
    assert_eq!(ten_writes(Coalesce::Nagle), [100, 900]);
    assert_eq!(ten_writes(Coalesce::Never), [100; 10]);
    assert_eq!(ten_writes(Coalesce::Minshall), [100, 900]);
}

#[test]
fn minshall_waits_only_for_small_segments() {
    // 1500 octets: a full segment and a half one.
    for (coalesce, at_once) in [(Coalesce::Nagle, 1), (Coalesce::Minshall, 2)] {
        let config = Config { coalesce, ..plain() };
        let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
        pair.taken_log();
        pair.write(A, &numbered(1500));
        assert_eq!(pair.taken_log().len(), at_once, "{coalesce:?}");
    }
}

#[test]
fn a_fin_takes_waiting_data_with_it() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(100));
    pair.write(A, &numbered(100));
    pair.taken_log();
    pair.release(A);
    assert_eq!(pair.taken_log(), ["0.500 a FP. 101:201(100) ack 1 win 64000"]);
}

/// When a single segment of `len` octets is acknowledged, in milliseconds after it was sent, on a path of 2 x 10 ms.
fn acknowledged_after(config: &Config, len: usize, start: u64) -> u64 {
    let config = Config { mss: Some(1000), ..config.clone() };
    let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
    pair.app(B).idle = true;
    pair.run_for(ms(start));
    let sent = pair.now;
    let from = pair.log.len();
    pair.write(A, &numbered(len));
    pair.run_for(ms(1000));
    let ack = pair.log[from..].iter().find(|packet| packet.from == B);
    (ack.unwrap().at.as_nanos() - sent.as_nanos()) / 1_000_000
}

// RFC 9293: MUST-40, SHLD-18
#[test]
fn each_profile_delays_acknowledgments_in_its_own_way() {
    let modern = defaults::modern();
    assert_eq!(acknowledged_after(&modern, 100, 0), 50);
    assert_eq!(acknowledged_after(&modern, 1976, 0), 10);
    let solaris = defaults::solaris23();
    assert_eq!(acknowledged_after(&solaris, 100, 0), 60);
    // A heart that beats at 30 ms + n x 200 ms: what came just before is acknowledged soon, what came after, late.
    let beat = Beat { period: ms(200), phase: Some(ms(30)) };
    let bsd = Config { ack_timer: AckTimer::Heartbeat(beat), ..defaults::bsd43() };
    for (start, after) in [(0, 130), (100, 30), (119, 11), (121, 209)] {
        assert_eq!(acknowledged_after(&bsd, 100, start), after, "after {start}");
    }
}

// RFC 9293: SHLD-19
#[test]
fn small_segments_count_where_the_rule_says_so() {
    for (count_small, acks) in [(false, 1), (true, 2)] {
        let config =
            Config { coalesce: Coalesce::Never, ack: AckRule { every: 2, count_small, pushed: false }, ..plain() };
        let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
        let before = pair.counters(B);
        for _ in 0..4 {
            pair.write(A, b"x");
        }
        pair.run_for(ms(1000));
        let after = pair.counters(B);
        let sent = after.segments_sent - before.segments_sent;
        assert_eq!(sent, acks);
        assert_eq!(after.acks_by_timer, u64::from(!count_small));
    }
}

#[test]
fn a_small_segment_that_was_pushed_is_acknowledged_at_once_where_the_rule_says_so() {
    for (pushed, by_timer) in [(false, 1), (true, 0)] {
        let config = Config { ack: AckRule { every: 2, count_small: false, pushed }, ..plain() };
        let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
        pair.write(A, b"x");
        pair.run_for(ms(1000));
        let after = pair.counters(B);
        assert_eq!((after.acks_by_timer, after.acks_by_data), (by_timer, 1 - by_timer));
        // A full one waits for a second, pushed or not.
        pair.write(A, &numbered(1000));
        pair.run_for(ms(1000));
        assert_eq!(pair.counters(B).acks_by_timer, by_timer + 1);
    }
}

// RFC 9293: MUST-58, MUST-59, SHLD-19
#[test]
fn a_batch_is_acknowledged_once() {
    for (batch, acks) in [(1, 4), (16, 1)] {
        let config = Config { initial_window: crate::tcp::congestion::InitialWindow::Segments(8), ..plain() };
        let mut pair = Pair::new(config.clone(), config, ms(10)).batch(batch).connected();
        let before = pair.counters(B).segments_sent;
        pair.write(A, &numbered(8000));
        pair.run_for(ms(15));
        assert_eq!(pair.counters(B).segments_sent - before, acks);
    }
}

#[test]
fn a_trace_tells_why_an_acknowledgment_was_sent() {
    let config = Config { trace: true, ..plain() };
    let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
    pair.write(A, b"x");
    pair.run_for(ms(500));
    let (_, _, trace) = pair.tcp(B).traces().next().unwrap();
    let events: Vec<Event> = trace.0.iter().map(|entry| entry.event).collect();
    assert_eq!(events, [Event::Established, Event::Received, Event::Acked(crate::tcp::AckReason::Timer)]);
    assert_eq!(trace.0.last().unwrap().at.as_nanos(), 550_000_000);
}

#[test]
fn room_in_the_send_buffer_is_announced_only_above_the_low_water_mark() {
    for low_water in [1, 3000, 10_000] {
        let config = Config {
            send_buffer: 4000,
            low_water,
            ack: AckRule { every: 1, count_small: true, pushed: false },
            ..plain()
        };
        let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
        assert_eq!(pair.app(A).credit, 4000);
        pair.write(A, &numbered(4000));
        assert_eq!(pair.app(A).credit, 0);
        pair.run_for(ms(100));
        assert_eq!(pair.app(A).credit, 4000, "all of it is free: {low_water}");
    }
}

/// Octets in two seconds, of a sender that writes `message` octets again and again through buffers of `buffer` octets.
fn paper5(config: &Config, buffer: u32, message: usize) -> usize {
    let config = Config { send_buffer: buffer, receive_buffer: buffer, mss: Some(MSS), ..config.clone() };
    let delay = kumiki_graph::Duration::from_micros(500);
    let mut pair = Pair::new(config.clone(), config, delay).connected();
    for _ in 0..4_000_000 / message {
        let write = kumiki_octets::Message::from_octets(&numbered(message));
        pair.app(A).outbox.push_back(write);
    }
    pair.ask(A, Vec::new());
    pair.run_for(ms(2000));
    pair.app(B).received.len()
}

#[test]
fn named_rules_give_the_collapse_of_paper_5() {
    let rules = defaults::solaris23();
    let nagle_off = Config { coalesce: Coalesce::Never, ..rules.clone() };
    let exact_window = Config { rounding: Rounding::Exact, ..rules.clone() };
    let update_at_35_percent = Config { window_update: WindowUpdate { segments: 2, percent: 35 }, ..rules.clone() };
    // A buffer below the MSS of 9140. Every other message waits 50 ms for its acknowledgment: the one that leaves the
    // window's edge where it was.
    for buffer in [4096, 8192] {
        assert_eq!(paper5(&rules, buffer, 4096), 77 * 4096);
        for other in [&exact_window, &update_at_35_percent, &defaults::bsd43(), &defaults::modern()] {
            assert!(paper5(other, 4096, 4096) > 3_900_000);
        }
    }
    // It is Nagle's rule that waits where the send buffer holds more than one message; where it holds one, any rule
    // does.
    assert!(paper5(&nagle_off, 8192, 4096) > 3_900_000);
    assert_eq!(paper5(&nagle_off, 4096, 4096), paper5(&rules, 4096, 4096));
    // Twice the MSS and more: nothing stalls.
    assert!(paper5(&rules, 32_768, 4096) > 3_900_000);
}
