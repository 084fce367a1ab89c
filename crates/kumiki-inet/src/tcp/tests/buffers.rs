//! Buffers that tune themselves, and the bound on what all hold.

use kumiki_graph::{Duration, Instant, Quality, Request};
use kumiki_octets::Message;

use super::pair::*;
use crate::tcp::{Config, defaults};

const KIB: u32 = 1024;

/// 64 KiB at first, both ways.
fn small() -> Config {
    Config { send_buffer: 64 * KIB, receive_buffer: 64 * KIB, ..defaults::modern() }
}

/// A line of 100 Mb/s, `delay` each way, with room for 2000 packets; small packets take no time.
fn line(delay: Duration) -> impl FnMut(&Packet) -> Fate {
    let mut free = [Instant::ZERO; 2];
    move |packet| {
        let free = &mut free[packet.from];
        let begins = packet.at.max(*free);
        *free = begins + Duration::from_nanos(u64::from(packet.size) * 80);
        vec![free.saturating_since(packet.at) + delay]
    }
}

fn over(a: Config, b: Config, delay: Duration) -> Pair {
    Pair::with_rule(a, b, line(delay)).connected()
}

/// The largest window that `from` has offered.
fn widest(pair: &Pair, from: usize) -> u32 {
    let syn = pair.log.iter().find(|packet| packet.from == from);
    let shift = syn.unwrap().header.options.window_scale.unwrap_or(0);
    let sent = pair.log.iter().filter(|packet| packet.from == from).skip(1);
    sent.map(|packet| u32::from(packet.header.window) << shift).max().unwrap()
}

/// Gives A more to send than it can, and B's rate in Mb/s in the last of so many seconds.
fn rate(pair: &mut Pair, seconds: u64) -> u64 {
    let text = Message::from_octets(&numbered(1 << 20));
    for _ in 0..13 * seconds {
        pair.app(A).outbox.push_back(text.clone());
    }
    pair.ask(A, Vec::new());
    pair.run_for(ms(1000 * (seconds - 1)));
    let before = pair.app(B).received.len();
    pair.run_for(ms(1000));
    (pair.app(B).received.len() - before) as u64 * 8 / 1_000_000
}

#[test]
fn a_long_line_is_filled_from_small_buffers() {
    // A round trip of 100 ms, which 64 KiB would use at 5 Mb/s.
    let mut pair = over(small(), small(), ms(50));
    let reached = rate(&mut pair, 12);
    assert!(reached >= 95, "{reached} Mb/s");
    for host in [A, B] {
        assert!(pair.counters(host).buffers_grown > 0);
    }
    let counters = pair.counters(A);
    assert_eq!((counters.timeouts, counters.over_credit), (0, 0));

    let fixed = Config { max_send_buffer: 0, max_receive_buffer: 0, ..small() };
    for (a, b) in [(fixed.clone(), small()), (small(), fixed.clone())] {
        let mut pair = over(a, b, ms(50));
        let reached = rate(&mut pair, 4);
        assert!(reached <= 6, "{reached} Mb/s");
    }
}

#[test]
fn without_timestamps_buffers_grow_as_well() {
    let config = Config { timestamps: false, ..small() };
    let mut pair = over(config.clone(), config, ms(50));
    assert!(rate(&mut pair, 12) >= 95);
}

#[test]
fn buffers_grow_to_what_the_line_needs_and_not_with_the_queue() {
    // 2 ms there and back: 25 kB are in flight on the line itself.
    let mut pair = over(small(), small(), ms(1));
    assert!(rate(&mut pair, 3) >= 95);
    assert!(widest(&pair, B) <= 128 * KIB, "{}", widest(&pair, B));
    // At the largest there is an end.
    let config = Config { max_receive_buffer: 200 * KIB, ..small() };
    let mut pair = over(small(), config, ms(50));
    rate(&mut pair, 5);
    let widest = widest(&pair, B);
    assert!((199 * KIB..=200 * KIB).contains(&widest), "{widest}");
}

#[test]
fn a_slow_readers_window_does_not_grow() {
    let mut pair = over(small(), small(), ms(50));
    pair.app(B).idle = true;
    pair.write(A, &numbered(2_000_000));
    for _ in 0..100 {
        pair.run_for(ms(50));
        pair.take(B, 10_000);
    }
    assert_eq!(pair.counters(B).buffers_grown, 0);
    assert!(widest(&pair, B) <= 64 * KIB);
}

#[test]
fn a_tiny_buffer_has_a_window_that_can_be_told() {
    for first in [1, 7, 100, 1000, 5000] {
        let config = Config { receive_buffer: first, max_receive_buffer: 1 << 30, ..small() };
        let mut pair = over(small(), config, ms(1));
        pair.write(A, &numbered(20 * first as usize));
        pair.run_for(ms(60_000));
        assert_eq!(pair.app(B).received.len(), 20 * first as usize, "{first}");
    }
}

#[test]
fn who_asks_for_a_size_gets_it() {
    let mut pair = over(small(), small(), ms(50));
    pair.change(B, Quality { receive_buffer: Some(100 * KIB), ..Quality::default() });
    pair.change(A, Quality { send_buffer: Some(80 * KIB), ..Quality::default() });
    rate(&mut pair, 3);
    assert!((99 * KIB..=100 * KIB).contains(&widest(&pair, B)));
    for host in [A, B] {
        assert_eq!(pair.counters(host).buffers_grown, 0);
    }
}

#[test]
fn credit_is_twice_the_congestion_window_and_begins_again_after_idleness() {
    let mut pair = over(small(), small(), ms(50));
    pair.write(A, &numbered(3_000_000));
    pair.run_for(ms(3000));
    assert_eq!(pair.app(B).received.len(), 3_000_000);
    let granted = pair.app(A).credit;
    assert!(granted > 500_000, "{granted}");
    pair.run_for(ms(5000));
    // What was granted stays; once it is used there is as much as at first again.
    pair.write(A, &numbered(granted as usize));
    assert!(pair.app(A).credit == 0);
    pair.run_for(ms(70));
    assert!(pair.app(A).credit <= 64 * 1024);
}

#[test]
fn a_thousand_idle_connections_hold_nothing() {
    let mut pair = Pair::new(small(), small(), ms(1));
    pair.listen(B, 2000);
    for _ in 0..1000 {
        pair.call(A);
    }
    pair.run_for(ms(1000));
    assert_eq!(pair.tcp(A).connections(), 1000);
    for host in [A, B] {
        assert_eq!((pair.tcp(host).held(), pair.counters(host).buffers_grown), (0, 0));
    }
    // One of them at work holds what it has in flight and to send, and afterwards nothing again.
    pair.app(A).credit = 64 * 1024;
    pair.write(A, &numbered(100_000));
    assert!((50_000..=64 * 1024).contains(&pair.tcp(A).held()));
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).received.len(), 100_000);
    assert_eq!((pair.tcp(A).held(), pair.tcp(B).held()), (0, 0));
}

#[test]
fn what_all_hold_is_bounded() {
    let config = Config { memory: 1 << 20, ..small() };
    let mut pair = Pair::new(config.clone(), config.clone(), ms(1));
    pair.app(B).idle = true;
    pair.listen(B, 200);
    // A hundred callers who write 64 KiB to somebody who never looks.
    for _ in 0..100 {
        pair.app(A).credit = 0;
        pair.call(A);
        pair.run_for(ms(5));
        pair.write(A, &numbered(64 * 1024));
        pair.run_for(ms(100));
        pair.app(A).outbox.clear();
    }
    pair.run_for(ms(1000));
    for host in [A, B] {
        let held = pair.tcp(host).held();
        // The bound, and 4 KiB and a segment for each.
        assert!(held < (1 << 20) + 100 * (4096 + 9180), "{host}: {held}");
    }
    // And all of it comes back.
    let gone: Vec<_> = pair.app(B).offers.clone();
    for session in gone {
        let reason = kumiki_graph::Reason::User;
        let abort = Request::Abort { session, reason, data: None };
        pair.ask(B, vec![abort]);
    }
    pair.run_for(ms(1000));
    assert_eq!((pair.tcp(A).held(), pair.tcp(B).held()), (0, 0));
}

/// A window was offered to each of them while there was memory.
#[test]
fn what_was_offered_to_many_is_not_taken_beyond_the_bound_and_comes_once_there_is_room() {
    let config = Config { memory: 1 << 20, ..small() };
    let mut pair = Pair::new(small(), config, ms(1));
    pair.app(B).idle = true;
    pair.listen(B, 200);
    let mut callers = Vec::new();
    for _ in 0..100 {
        pair.call(A);
        pair.run_for(ms(5));
        callers.extend(pair.app(A).session);
    }
    for session in callers {
        let (data, end) = (Message::from_octets(&numbered(60_000)), true);
        pair.ask(A, vec![Request::Data { session, data, end }]);
    }
    pair.run_for(ms(5_000));
    let held = pair.tcp(B).held();
    assert!(((1 << 20)..(1 << 20) * 5 / 4 + 100 * 9180).contains(&held), "{held}");
    assert!(pair.counters(B).out_of_memory > 0);
    // Nobody else is let in.
    pair.call(A);
    pair.run_for(ms(500));
    assert_eq!(pair.tcp(B).connections(), 100);
    for session in pair.app(B).offers.clone().into_iter().skip(10) {
        let (reason, data) = (kumiki_graph::Reason::User, None);
        pair.ask(B, vec![Request::Abort { session, reason, data }]);
    }
    pair.run_for(ms(120_000));
    assert_eq!(pair.tcp(B).held(), 10 * 60_000);
}

/// As an echo does: what its caller writes would be more that nobody takes.
#[test]
fn who_writes_more_than_is_taken_gets_nothing_more_while_memory_is_spent() {
    let caller = Config { receive_buffer: 8 * KIB, max_receive_buffer: 8 * KIB, ..small() };
    let tight = Config { memory: 16 * 1024, ..small() };
    let mut pair = Pair::new(caller, tight, ms(1)).connected();
    pair.app(A).idle = true;
    pair.write(B, &numbered(60_000));
    pair.run_for(ms(500));
    pair.write(A, &numbered(5_000));
    pair.run_for(ms(2_000));
    assert_eq!(pair.app(B).received.len(), 0);
    assert!(pair.counters(B).out_of_memory > 0);
    // Once its caller reads, all of it comes.
    for _ in 0..100 {
        pair.take(A, 8192);
        pair.run_for(ms(500));
    }
    pair.run_for(ms(60_000));
    assert_eq!((pair.app(B).received.len(), pair.app(A).received.len()), (5_000, 60_000));
}

#[test]
fn without_memory_nothing_ahead_of_its_turn_is_kept_and_yet_all_arrives() {
    let tight = Config { memory: 1, ..small() };
    let mut order = 0;
    let mut pair = Pair::with_rule(small(), tight, move |packet| {
        order += 1;
        let late = packet.len() > 1000 && order % 7 == 0;
        vec![if late { ms(15) } else { ms(10) }]
    })
    .connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(100_000));
    for _ in 0..1000 {
        pair.run_for(ms(50));
        let waits = pair.app(B).received.len() as u64;
        pair.take(B, waits);
    }
    assert_eq!(pair.app(B).received, numbered(100_000));
    assert!(pair.tcp(B).held() == 0);
}

#[test]
fn what_is_ahead_of_its_turn_has_a_quarter_of_the_bound_and_the_rest_comes_again() {
    let tight = Config { memory: 100_000, ..small() };
    let mut sent = 0;
    let mut pair = Pair::with_rule(small(), tight, move |packet| {
        sent += u32::from(packet.len() > 1000);
        vec![ms(10)].into_iter().filter(|_| packet.len() <= 1000 || sent != 40).collect()
    })
    .connected();
    pair.write(A, &numbered(600_000));
    pair.run_for(ms(60_000));
    assert_eq!(pair.app(B).received, numbered(600_000));
    assert!(pair.counters(B).out_of_memory > 0);
}

/// As an echo does whose caller sends an octet at a time and reads nothing.
#[test]
fn small_writes_take_about_twice_their_octets() {
    let reader = Config { receive_buffer: KIB, max_receive_buffer: KIB, ..small() };
    let mut pair = Pair::new(reader, small(), ms(1)).connected();
    pair.app(A).idle = true;
    for octet in numbered(20_000) {
        let write = Message::from_page(kumiki_octets::Page::from(&[octet][..]));
        pair.app(B).outbox.push_back(write);
        pair.ask(B, Vec::new());
    }
    let held = pair.tcp(B).held();
    assert!((18_000..80_000).contains(&held), "{held}");
    pair.run_for(ms(5_000));
    for _ in 0..200 {
        pair.take(A, 1024);
        pair.run_for(ms(500));
    }
    assert_eq!(pair.app(A).received, numbered(20_000));
    assert_eq!(pair.tcp(B).held(), 0);
}

/// Nobody has accepted the connection yet.
#[test]
fn small_segments_that_wait_for_a_user_lie_in_few_pages() {
    let config = Config { coalesce: kumiki_graph::Coalesce::Never, ..small() };
    let mut pair = Pair::new(config.clone(), config, ms(1));
    pair.app(B).idle = true;
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    for octet in numbered(3_000) {
        pair.write(A, &[octet]);
        pair.run_for(ms(3));
    }
    let offer = pair.app(B).offers[0];
    pair.app(B).idle = false;
    pair.app(B).session = Some(offer);
    pair.ask(B, vec![accept(offer)]);
    assert_eq!(pair.app(B).received, numbered(3_000));
    assert!(pair.app(B).pushes < 20, "{}", pair.app(B).pushes);
}
