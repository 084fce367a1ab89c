//! How contexts end: nothing lost, and nobody half dead.

use kumiki_graph::*;
use kumiki_wire::xtp::{Format, Header, Options, code};

use super::pair::*;
use crate::Config;

fn gone(pair: &mut Pair) {
    assert_eq!(pair.xtp(A).contexts() + pair.xtp(B).contexts(), 0);
    pair.run_for(ms(200_000));
    assert_eq!(pair.xtp(A).inactive() + pair.xtp(B).inactive(), 0);
}

#[test]
fn both_directions_close_in_order() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.told();
    pair.write(A, &numbered(300));
    pair.release(A);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(B), ["offered", "released"]);
    assert_eq!(pair.heard(A), ["opened"]);
    // The other direction goes on.
    pair.write(B, &numbered(400));
    pair.release(B);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(A), ["released", "closed"]);
    assert_eq!(pair.heard(B), ["closed"]);
    assert_eq!(pair.app(A).received, numbered(400));
    assert_eq!(pair.app(B).received, numbered(300));
    let told = pair.told();
    let expected = [
        "0.500 a DATA SREQ,EOM 0+300",
        // The user's release came when the data had left.
        "0.500 a CNTL SREQ,WCLOSE 300 rseq 0 alloc 64000 echo 0",
        "0.510 b CNTL - 0 rseq 300 alloc 64000 echo 3",
        "0.510 b CNTL RCLOSE 0 rseq 300 alloc 64300 echo 4",
        "0.600 b DATA SREQ,RCLOSE,EOM 0+400",
        "0.600 b CNTL SREQ,RCLOSE,WCLOSE 400 rseq 300 alloc 64300 echo 4",
        "0.610 a CNTL WCLOSE 300 rseq 400 alloc 64000 echo 1",
        "0.610 a CNTL RCLOSE,WCLOSE 300 rseq 400 alloc 64400 echo 2",
        "0.610 a CNTL RCLOSE,WCLOSE,END 300 rseq 400 alloc 64400 echo 2",
        "0.620 b CNTL RCLOSE,WCLOSE,END 400 rseq 300 alloc 64300 echo 4",
    ];
    assert_eq!(told, expected, "{told:#?}");
    gone(&mut pair);
}

#[test]
fn wclose_goes_with_the_last_octet_where_that_has_to_wait() {
    let slow = Config { rate: 100_000, burst: 1000, ..plain() };
    let mut pair = Pair::new(slow, plain(), ms(10)).connected();
    pair.told();
    pair.write(A, &numbered(2500));
    pair.release(A);
    pair.run_for(ms(200));
    let last = pair.log.iter().rfind(|it| it.is(Format::Data)).unwrap();
    assert!(last.has(Options::WCLOSE | Options::SREQ));
    assert_eq!(last.header.seq, 2000);
    assert_eq!(pair.heard(B), ["offered", "released"]);
}

#[test]
fn a_whole_exchange_can_begin_and_end_in_one_round_trip() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).release_when_released = true;
    pair.listen(B, 1);
    let Request::Open(mut call) = open(Mode::Active, Address::NONE, address(B, PORT)) else {
        panic!();
    };
    call.data = Some(kumiki_octets::Message::from_octets(b"one"));
    pair.ask(A, vec![Request::Open(call)]);
    pair.release(A);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(A), ["opened", "released", "closed"]);
    assert_eq!(pair.heard(B), ["offered", "released", "closed"]);
    assert_eq!(pair.app(B).received, b"one");
    gone(&mut pair);
}

#[test]
fn both_may_close_at_once() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.release(A);
    pair.release(B);
    pair.run_for(ms(500));
    assert_eq!(pair.heard(A)[1..], ["released", "closed"]);
    assert_eq!(pair.heard(B)[1..], ["released", "closed"]);
    gone(&mut pair);
}

/// The wire loses what `lost` says.
fn closing_over(lost: impl FnMut(&Packet) -> bool + 'static) {
    let mut lost = lost;
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.rule(move |packet| if lost(packet) { vec![] } else { vec![ms(10)] });
    pair.app(B).release_when_released = true;
    pair.write(A, &numbered(3300));
    pair.release(A);
    pair.run_for(ms(50_000));
    let tail = pair.tail();
    assert_eq!(pair.heard(A).last().unwrap(), "closed", "{tail}");
    assert_eq!(pair.heard(B).last().unwrap(), "closed", "{tail}");
    assert_eq!(pair.app(B).received, numbered(3300), "{tail}");
    gone(&mut pair);
}

#[test]
fn any_one_packet_of_the_end_may_be_lost() {
    for lost in 0..16 {
        let mut count = 0;
        closing_over(move |_| {
            count += 1;
            count == lost
        });
    }
}

#[test]
fn any_two_packets_of_the_end_may_be_lost() {
    for first in 1..14 {
        for second in first + 1..14 {
            let mut count = 0;
            closing_over(move |_| {
                count += 1;
                count == first || count == second
            });
        }
    }
}

#[test]
fn all_packets_of_one_kind_may_be_lost_for_a_while() {
    let lost = |option| {
        let mut count = 0;
        closing_over(move |packet: &Packet| {
            count += u32::from(packet.has(option));
            packet.has(option) && count < 6
        });
    };
    for option in [Options::WCLOSE, Options::RCLOSE, Options::END, Options::SREQ, Options::EOM] {
        lost(option);
    }
}

#[test]
fn an_abort_is_told_and_is_the_end_at_once() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(3000));
    pair.abort(A);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(A), ["opened"]);
    assert_eq!(pair.heard(B), ["offered", "aborted: Reset"]);
    let end = pair.log.iter().find(|it| it.has(Options::END)).unwrap();
    assert!(!end.header.options.intersects(Options::RCLOSE | Options::WCLOSE));
    gone(&mut pair);
}

#[test]
fn who_missed_an_abort_learns_of_it_when_it_asks() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.rule(|_| vec![]);
    pair.abort(A);
    pair.rule(|_| vec![ms(10)]);
    pair.write(B, b"hello?");
    pair.run_for(ms(100));
    assert_eq!(pair.heard(B)[1..], ["aborted: Reset"]);
    gone(&mut pair);
}

#[test]
fn a_dead_key_is_answered_once_in_a_while() {
    let forgetful = Config { closed_timeout: Duration::from_millis(1), ..plain() };
    let mut pair = Pair::new(forgetful, plain(), ms(10)).connected();
    pair.rule(|_| vec![]);
    pair.abort(A);
    pair.run_for(ms(100));
    pair.rule(|_| vec![ms(10)]);
    for _ in 0..3 {
        pair.write(B, b"hello?");
    }
    pair.run_for(ms(100));
    assert_eq!(pair.heard(B)[1..], ["aborted: Reset"]);
    let told: Vec<_> = pair.log.iter().filter(|it| it.is(Format::Diag)).map(|it| it.diagnosis().code).collect();
    assert_eq!(told, [code::INVALID_CONTEXT]);
    gone(&mut pair);
}

#[test]
fn a_peer_that_is_gone_is_given_up_when_ctimer_asks() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.news();
    pair.run_for(ms(100_000));
    let asked = pair.news();
    assert!(asked.iter().any(|it| it.has(Options::SREQ)), "an idle peer");
    assert!(pair.heard(A).len() == 1 && pair.heard(B).len() == 1);
    pair.rule(|_| vec![]);
    pair.run_for(ms(130_000));
    for host in [A, B] {
        assert_eq!(pair.heard(host), ["notice: NoAnswer", "aborted: TimedOut"]);
        assert_eq!(pair.counters(host).timed_out, 1);
    }
    gone(&mut pair);
}

#[test]
fn what_is_left_of_a_context_does_not_answer_what_does_not_ask() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, b"x");
    let key = pair.key(B);
    pair.release(A);
    pair.release(B);
    pair.run_for(ms(500));
    pair.news();
    let header = |options| Header { key, format: Format::Data, options, ..Header::default() };
    pair.inject(B, header(Options::NONE), b"late");
    pair.inject(B, header(Options::SREQ | Options::END), b"late");
    assert_eq!(pair.news().len(), 0);
    pair.inject(B, header(Options::SREQ), b"late");
    let news = pair.told();
    assert_eq!(news, ["1.000 b CNTL RCLOSE,WCLOSE,END 0 rseq 1 alloc 64001 echo 0"]);
}
