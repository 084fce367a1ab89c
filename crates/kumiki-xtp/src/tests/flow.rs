//! Windows, reservation, rates, priorities, questions.

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::xtp::{Format, Options};

use super::pair::*;
use crate::Config;

fn quality(flow: FlowControl) -> Quality {
    Quality { flow_control: Some(flow), ..Quality::default() }
}

#[test]
fn no_more_is_sent_than_is_allowed_and_a_slow_reader_is_waited_for() {
    let small = Config { receive_buffer: 5000, ..plain() };
    let first = Config { first_alloc: 2000, ..plain() };
    let mut pair = Pair::new(first, small, ms(10));
    pair.app(B).lazy = true;
    let mut pair = pair.connected();
    pair.news();
    pair.write(A, &numbered(20_000));
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).received.len(), 5000);
    let news = pair.news();
    let last = news.iter().rfind(|it| it.is(Format::Data)).unwrap();
    assert_eq!(last.header.seq, 4000);
    assert!(last.has(Options::SREQ | Options::DREQ), "it closes the window");
    let probes = pair.counters(A).probes;
    assert!((4..8).contains(&probes), "{probes} probes, with back-off");
    // As soon as half of the room is free the waiting question is answered.
    pair.take(B, 2400);
    pair.run_for(ms(5));
    assert_eq!(pair.news().iter().filter(|it| it.from == B).count(), 0);
    pair.take(B, 200);
    let news = pair.news();
    assert_eq!(news.len(), 1);
    assert_eq!(news[0].control().alloc, 7600);
    pair.run_for(ms(50));
    assert_eq!(pair.app(B).received.len(), 7600);
    pair.app(B).lazy = false;
    pair.take(B, 100_000);
    pair.run_for(ms(60_000));
    assert!(pair.app(B).received == numbered(20_000), "{}", pair.tail());
    assert_eq!(pair.counters(B).no_room, 0);
}

#[test]
fn a_peer_that_allows_nothing_for_too_long_is_given_up() {
    let config = Config { stall: Duration::from_secs(30), ..plain() };
    let small = Config { receive_buffer: 1000, ..plain() };
    let mut pair = Pair::new(config, small, ms(10));
    pair.app(B).lazy = true;
    let mut pair = pair.connected();
    pair.write(A, &numbered(5000));
    pair.run_for(ms(29_000));
    assert_eq!(pair.heard(A), ["opened"]);
    pair.run_for(ms(40_000));
    assert_eq!(pair.heard(A), ["aborted: TimedOut"]);
    assert_eq!(pair.heard(B).last().unwrap(), "aborted: Reset");
}

#[test]
fn a_peer_that_allows_a_little_now_and_then_is_neither_given_up_nor_asked_ever_more_rarely() {
    let config = Config { stall: Duration::from_secs(30), ..plain() };
    let small = Config { receive_buffer: 1000, ..plain() };
    let mut pair = Pair::new(config, small, ms(10));
    pair.app(B).lazy = true;
    let mut pair = pair.connected();
    pair.write(A, &numbered(5000));
    for seconds in 0..100 {
        // Less than half of the room: only who asks is told of it.
        pair.take(B, 10);
        pair.run_for(ms(1000));
        let got = pair.app(B).received.len();
        assert!(got >= 1000 + 10 * seconds, "{seconds} s\n{}", pair.tail());
    }
    assert_eq!(pair.heard(A), ["opened"]);
}

#[test]
fn under_reservation_alloc_is_what_the_user_granted() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(A).quality = quality(FlowControl::Reservation);
    pair.app(B).lazy = true;
    let mut pair = pair.connected();
    let first = &pair.log[0];
    assert!(first.has(Options::RES));
    assert_eq!(pair.log[1].control().alloc, 0);
    pair.write(A, &numbered(5000));
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received.len(), 0);
    let mut granted = 0;
    for grant in [700, 1, 1500] {
        granted += grant;
        pair.take(B, grant as u64);
        pair.run_for(ms(3000));
        assert!(pair.app(B).received.len() == granted, "{}", pair.tail());
    }
    let told = pair.log.iter().filter(|it| it.from == B && it.header.format.is_control());
    assert_eq!(told.map(|it| it.control().alloc).max(), Some(granted as u64));
}

#[test]
fn without_flow_control_alloc_is_ignored_and_what_finds_no_room_comes_again() {
    let small = Config { receive_buffer: 3000, ..plain() };
    let mut pair = Pair::new(plain(), small, ms(10));
    pair.app(A).quality = quality(FlowControl::None);
    let mut pair = pair.connected();
    pair.app(B).lazy = true;
    pair.write(A, &numbered(10_000));
    pair.run_for(ms(30));
    assert_eq!(pair.app(B).received.len(), 3000);
    assert!(pair.counters(B).no_room >= 7);
    pair.app(B).lazy = false;
    pair.take(B, 3000);
    pair.run_for(ms(2000));
    assert_eq!(pair.app(B).received, numbered(10_000));
}

/// A has written more than B has room for, closed, and sent all of it before it knew.
fn closes_with_more_than_there_is_room_for() -> Pair {
    let eager = Config { tail: Duration::from_micros(100), ..plain() };
    let small = Config { receive_buffer: 3000, ..plain() };
    let mut pair = Pair::new(eager, small, Duration::from_micros(50));
    pair.app(B).lazy = true;
    pair.listen(B, 5);
    pair.call(A);
    pair.write(A, &numbered(10_000));
    pair.release(A);
    pair
}

#[test]
fn who_closes_and_may_send_nothing_more_asks_rarely() {
    let mut pair = closes_with_more_than_there_is_room_for();
    pair.run_for(ms(10_000));
    assert_eq!(pair.app(B).received.len(), 3000);
    assert!(pair.counters(A).retransmitted == 0 && pair.counters(B).no_room > 0);
    // With waits that are doubled from 200 ms on, five or six.
    let probes = pair.counters(A).probes;
    assert!((4..8).contains(&probes), "{probes}");
    let asked = pair.counters(A).sreq_sent;
    assert!(asked < 20, "{asked} questions\n{}", pair.tail());
}

#[test]
fn a_shut_window_is_asked_about_behind_what_is_sent_again_and_not_with_each_packet_of_it() {
    let first = Config { first_alloc: 64_000, ..plain() };
    let small = Config { receive_buffer: 20_000, ..plain() };
    let mut pair = Pair::new(first, small, ms(10));
    pair.app(B).lazy = true;
    let mut pair = pair.connected();
    // Of what fits ten packets are lost, and more is written than fits.
    let mut left = 10;
    pair.rule(move |packet| {
        let lost = packet.is(Format::Data) && packet.header.seq >= 5000 && left > 0;
        left -= u64::from(lost);
        if lost { vec![] } else { vec![ms(10)] }
    });
    pair.write(A, &numbered(40_000));
    pair.run_for(ms(100));
    assert_eq!(pair.app(B).received.len(), 20_000, "{}", pair.tail());
    let mut again = pair.news();
    again.retain(|it| it.from == A && it.is(Format::Data) && it.header.seq >= 5000);
    let asked = again.split_off(again.len() - 10);
    let asking = asked.iter().filter(|it| it.has(Options::DREQ));
    assert_eq!(asking.count(), 1, "{}", pair.tail());
    assert!(asked.last().unwrap().has(Options::SREQ | Options::DREQ));
}

#[test]
fn who_closes_waits_for_room_for_as_long_as_the_reader_wants() {
    let mut pair = closes_with_more_than_there_is_room_for();
    // Long enough for 16 questions, and for CTIMEOUT.
    pair.run_for(ms(3_600_000));
    assert_eq!(pair.heard(A), ["opened"], "{}", pair.tail());
    pair.app(B).lazy = false;
    pair.take(B, 3000);
    pair.run_for(ms(1000));
    assert!(pair.app(B).received == numbered(10_000), "{}", pair.tail());
}

#[test]
fn what_is_lost_for_want_of_room_goes_as_soon_as_there_is_some() {
    let mut pair = closes_with_more_than_there_is_room_for();
    // A question with DREQ is there.
    pair.run_for(ms(1000));
    for taken in 1..=3 {
        assert_eq!(pair.app(B).received.len(), 3000 * taken);
        pair.take(B, 3000);
        pair.run_for(ms(1));
    }
    assert!(pair.app(B).received == numbered(10_000), "{}", pair.tail());
}

#[test]
fn windows_of_a_gigabyte_are_filled() {
    let mut large = Config { send_buffer: 1 << 30, receive_buffer: 1 << 30, first_alloc: 1 << 30, ..plain() };
    large.rtt.initial = ms(5000);
    let mut pair = Pair::new(large.clone(), large, ms(1000));
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(3000));
    let pattern = kumiki_octets::Pattern::Zeros;
    let data = Message::generated(pattern, 0, 20_000_000);
    pair.app(A).outbox.push_back((data, None, false));
    pair.ask(A, vec![]);
    assert_eq!(pair.counters(A).octets_sent, 20_000_000, "in one round trip");
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).received.len(), 20_000_000);
    assert!(pair.counters(A).sreq_sent < 10);
}

#[test]
fn a_rate_is_kept_and_the_peer_may_ask_for_a_lower_one() {
    let rate = |octets_per_second, burst| Some(RateLimit { octets_per_second, burst });
    let narrow = Config { in_rate: 50_000, in_burst: 3000, ..plain() };
    for (b, expected) in [(plain(), 100_000), (narrow, 50_000)] {
        let mut pair = Pair::new(plain(), b, ms(10));
        pair.app(A).quality.rate = rate(100_000, 3000);
        let mut pair = pair.connected();
        pair.write(A, &numbered(60_000));
        let before = pair.counters(A).octets_sent;
        pair.run_for(ms(300));
        let sent = pair.counters(A).octets_sent - before;
        let most = expected * 3 / 10 + 3000;
        assert!((most - 6000..=most).contains(&sent), "{sent} of {most}");
        pair.run_for(ms(2000));
        assert_eq!(pair.app(B).received, numbered(60_000));
    }
}

/// Two contexts of A to B with priorities 7 and 3: in which order their packets leave.
fn order_of_priorities(config: Config, credit: bool) -> Vec<u16> {
    let mut pair = Pair::new(config, plain(), ms(1));
    pair.listen(B, 5);
    let mut sessions = Vec::new();
    for priority in [7, 3] {
        pair.app(A).quality.priority = Some(priority);
        pair.call(A);
        pair.run_for(ms(100));
        sessions.push(pair.app(A).session.unwrap());
    }
    if credit {
        pair.credit(A, 1);
        pair.write(A, b"x");
    }
    pair.run_for(ms(1000));
    pair.news();
    let data = |session| Request::Data { session, data: Message::from_octets(&numbered(4000)), end: true };
    let requests = sessions.iter().map(|it| data(*it)).collect();
    pair.ask(A, requests);
    for _ in 0..8 {
        if credit {
            pair.credit(A, 1);
        }
        pair.run_for(ms(100));
    }
    let news = pair.news();
    let data = news.iter().filter(|it| it.is(Format::Data) && it.from == A);
    data.map(|it| {
        assert!(it.has(Options::SORT));
        it.header.sort
    })
    .collect()
}

#[test]
fn the_smaller_sort_goes_first_where_all_share_a_rate() {
    let config = Config { total_rate: 10_000, total_burst: 1000, ..plain() };
    // One packet of the other had the rate for itself.
    assert_eq!(order_of_priorities(config, false), [7, 3, 3, 3, 3, 7, 7, 7]);
}

#[test]
fn the_smaller_sort_goes_first_where_the_layer_below_grants_credit() {
    assert_eq!(order_of_priorities(plain(), true), [3, 3, 3, 3, 7, 7, 7, 7]);
}

#[test]
fn nobody_is_asked_while_what_is_lost_waits_for_the_rate_of_all() {
    let config = Config { total_rate: 1000, total_burst: 5000, tail: ms(1), ..plain() };
    let mut pair = Pair::new(config, plain(), ms(1)).connected();
    pair.run_for(ms(5000));
    let mut count = 0;
    pair.rule(move |packet| {
        count += u32::from(packet.is(Format::Data));
        let lost = packet.is(Format::Data) && count == 2;
        if lost { vec![] } else { vec![ms(1)] }
    });
    pair.write(A, &numbered(5000));
    pair.release(A);
    pair.run_for(ms(900));
    assert!(pair.log.len() < 60, "{}", pair.tail());
    pair.run_for(ms(20_000));
    assert!(pair.app(B).received == numbered(5000), "{}", pair.tail());
}

#[test]
fn half_a_window_is_asked_about_and_each_pause() {
    let mut config = plain();
    config.receive_buffer = 20_000;
    let mut pair = Pair::new(plain(), config, ms(20)).connected();
    pair.news();
    pair.write(A, &numbered(20_000));
    let asked: Vec<u64> = pair.news().iter().filter(|it| it.has(Options::SREQ)).map(|it| it.header.seq).collect();
    // The first two, whose answers say how fast the path is; then half a window later.
    assert_eq!(asked, [0, 1000, 11_000]);
    pair.run_for(ms(30));
    let asked: Vec<_> = pair.news().into_iter().filter(|it| it.from == A).collect();
    assert!(asked[0].is(Format::Cntl) && asked[0].has(Options::SREQ));
    assert_eq!(asked[0].header.seq, 20_000);
    assert_eq!(asked.len(), 1);
}

#[test]
fn messages_and_tags_come_as_they_were_sent() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let mut ends = Vec::new();
    let mut tags = Vec::new();
    let mut at = 0;
    let octets = numbered(30_000);
    for (n, len) in [1, 2500, 999, 1000, 1001, 17, 8000].into_iter().enumerate() {
        let data = Message::from_octets(&octets[at..at + len]);
        let tag = (n % 2 == 1).then_some([n as u8; 8]);
        tags.extend(tag.map(|tag| (at, tag)));
        let end = n % 3 != 1;
        at += len;
        if end {
            ends.push(at);
        }
        pair.app(A).outbox.push_back((data, tag, end));
    }
    pair.ask(A, vec![]);
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received, octets[..at]);
    assert_eq!(pair.app(B).ends, ends);
    assert_eq!(pair.app(B).tags, tags);
    // seq does not count tags.
    let tagged = pair.log.iter().find(|it| it.has(Options::BTAG)).unwrap();
    assert_eq!((tagged.header.seq, tagged.header.dlen), (1, 1000));
}

#[test]
fn the_same_seed_gives_the_same_octets() {
    let run = |batch| {
        let mut pair = Pair::new(plain(), plain(), ms(10)).batch(batch).connected();
        pair.write(A, &numbered(50_000));
        pair.write(B, &numbered(20_000));
        pair.release(A);
        pair.run_for(ms(1000));
        let log = pair.log.iter();
        log.map(|it| (it.at, it.from, it.header, it.payload.clone())).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
}
