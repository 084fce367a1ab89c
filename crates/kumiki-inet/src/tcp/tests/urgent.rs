//! Urgent data.

use kumiki_graph::Request;
use kumiki_wire::inet::tcp::{Flags, Seq};

use super::pair::*;
use crate::tcp::Config;

// RFC 9293: MUST-30, MUST-32, MUST-33, MUST-62
#[test]
fn urgent_data_is_told_of_and_stays_in_its_place() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    pair.urge(A, b"stop");
    let sent = pair.log.last().unwrap().clone();
    assert_eq!(pair.taken_log(), ["0.500 a PU. 1:5(4) ack 1 win 64000"]);
    // The octet after the last urgent one.
    assert_eq!(sent.header.urgent_pointer, 4);
    pair.write(A, b"go on");
    pair.run_for(ms(100));
    assert_eq!(pair.app(B).received, b"stopgo on");
    assert_eq!(pair.app(B).heard, ["offered", "urgent: 4 after 0", "urgent: 0 after 4"]);
    // What follows is not urgent.
    assert!(!pair.log.last().unwrap().has(Flags::URG));
}

// RFC 9293: MUST-31
#[test]
fn urgent_data_may_be_longer_than_the_pointer_reaches() {
    let config = Config { send_buffer: 300_000, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    let data = numbered(200_000);
    pair.urge(A, &data);
    assert_eq!(pair.log.last().unwrap().header.urgent_pointer, u16::MAX);
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).received, data);
    let heard = pair.app(B).heard.clone();
    assert_eq!(heard[1], "urgent: 65535 after 0");
    assert_eq!(heard.last().unwrap(), "urgent: 0 after 200000");
    let longest = |line: &String| line.ends_with("after 199000") || line.starts_with("urgent");
    assert!(heard[1..].iter().all(longest) && heard.len() > 10);
}

// RFC 9293: MUST-32
#[test]
fn a_pointer_that_advances_is_told_of_again_and_one_that_does_not_is_not() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let mut header = pair.header(A);
    header.flags = Flags::ACK | Flags::URG;
    (header.seq, header.ack) = (Seq(1), Seq(1));
    for (pointer, tells) in [(100, true), (100, false), (50, false), (0, false), (101, true)] {
        header.urgent_pointer = pointer;
        let before = pair.app(B).heard.len();
        pair.inject(B, header, b"");
        let told = pair.app(B).heard.len() > before;
        assert_eq!(told, tells, "{pointer}");
    }
    // A pointer beyond the end of all data says nothing once that has come.
    header.flags = Flags::ACK | Flags::FIN;
    pair.inject(B, header, b"short");
    assert_eq!(pair.app(B).heard[2..], ["urgent: 101 after 0", "urgent: 0 after 5", "released"]);
}

// RFC 9293: MUST-66
#[test]
fn urgency_passes_a_closed_window_both_ways_and_so_does_a_reset() {
    let small = Config { receive_buffer: 2000, ..plain() };
    let mut pair = Pair::new(plain(), small, ms(10)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(2000));
    pair.run_for(ms(100));
    assert_eq!(pair.log.last().unwrap().header.window, 0);
    pair.taken_log();
    pair.urge(A, b"hurry");
    assert_eq!(pair.taken_log(), ["0.600 a U. 2001:2001(0) ack 1 win 64000"]);
    pair.run_for(ms(50));
    assert_eq!(pair.app(B).heard, ["offered", "urgent: 5 after 2000"]);
    let mut reset = pair.header(A);
    reset.flags = Flags::RST;
    reset.seq = Seq(2001);
    pair.inject(B, reset, b"");
    assert!(pair.app(B).over);
}

#[test]
fn what_was_urgent_before_the_accept_is_told_of_before_the_data() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 2);
    pair.call(A);
    pair.run_for(ms(100));
    pair.write(A, b"calm");
    pair.urge(A, b"urgent");
    pair.run_for(ms(500));
    pair.app(B).idle = false;
    let session = pair.app(B).offers[0];
    pair.app(B).session = Some(session);
    pair.ask(B, vec![accept(session)]);
    assert_eq!(pair.app(B).heard, ["offered", "urgent: 10 after 0", "urgent: 0 after 10"]);
    assert_eq!(pair.app(B).received, b"calmurgent");
}

#[test]
fn urgent_data_needs_data() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    pair.urge(A, b"");
    assert!(pair.taken_log().is_empty());
    let session = pair.app(A).session.unwrap();
    let data = None;
    pair.ask(A, vec![Request::Release { session, data }]);
    pair.urge(A, b"too late");
    pair.run_for(ms(100));
    assert!(pair.app(B).received.is_empty());
}
