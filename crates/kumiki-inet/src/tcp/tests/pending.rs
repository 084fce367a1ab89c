//! Passive opens that ask their user before they answer.

use kumiki_graph::*;
use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::pair::*;
use crate::tcp::{OfferFirst, RefuseCaller};

/// B has every port, and its user takes nobody by itself.
fn asking(backlog: u32) -> Pair {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    let Request::Open(mut open) = open(Mode::Passive { backlog }, Address::NONE, 0) else { unreachable!() };
    open.parameters = Parameters::of(OfferFirst);
    pair.ask(B, vec![Request::Open(open)]);
    pair
}

/// What B has sent, each by its flags and acknowledgment.
fn said(pair: &Pair) -> Vec<(Flags, Seq)> {
    pair.log.iter().filter(|packet| packet.from == B).map(|packet| (packet.header.flags, packet.header.ack)).collect()
}

fn accept_first(pair: &mut Pair) {
    let offer = pair.app(B).offers[0];
    pair.app(B).session = Some(offer);
    pair.ask(B, vec![accept(offer)]);
}

#[test]
fn a_call_is_answered_when_its_user_has_taken_it() {
    let mut pair = asking(5);
    pair.inject(B, from_caller(Flags::SYN, 100, 0), b"");
    pair.run_for(Duration::from_secs(20));
    assert_eq!((pair.app(B).heard.clone(), said(&pair)), (vec!["offered".to_owned()], vec![]));
    accept_first(&mut pair);
    assert_eq!(said(&pair), [(Flags::SYN | Flags::ACK, Seq(101))]);
    let iss = pair.log.last().unwrap().header.seq.0;
    pair.first = [None; 2];
    pair.app(B).idle = false;
    pair.inject(B, from_caller(Flags::ACK, 101, iss + 1), b"hello");
    assert_eq!(pair.app(B).received, b"hello");
}

#[test]
fn a_syn_that_comes_again_is_no_other_call() {
    let mut pair = asking(5);
    for _ in 0..3 {
        pair.inject(B, from_caller(Flags::SYN, 100, 0), b"");
    }
    assert_eq!(pair.app(B).heard, ["offered"]);
    // One with another sequence number is: whoever called before has gone.
    pair.inject(B, from_caller(Flags::SYN, 7000, 0), b"");
    assert_eq!(pair.app(B).heard, ["offered", "withdrawn", "offered"]);
    let second = pair.app(B).offers[1];
    pair.ask(B, vec![accept(second)]);
    assert_eq!(said(&pair), [(Flags::SYN | Flags::ACK, Seq(7001))]);
}

#[test]
fn a_caller_that_resets_has_gone_and_others_say_nothing() {
    let mut pair = asking(5);
    pair.inject(B, from_caller(Flags::SYN, 100, 0), b"");
    // A guess of somebody else, an acknowledgment of nothing.
    pair.inject(B, from_caller(Flags::RST, 5000, 0), b"");
    pair.inject(B, from_caller(Flags::ACK, 101, 77), b"");
    assert_eq!(pair.app(B).heard, ["offered"]);
    pair.inject(B, from_caller(Flags::RST, 101, 0), b"");
    assert_eq!(pair.app(B).heard, ["offered", "withdrawn"]);
    // To take it then does nothing.
    accept_first(&mut pair);
    assert_eq!(said(&pair), []);
}

#[test]
fn who_is_refused_is_reset_or_hears_nothing() {
    let mut pair = asking(5);
    pair.inject(B, from_caller(Flags::SYN, 100, 0), b"");
    let session = pair.app(B).offers[0];
    pair.ask(B, vec![Request::Abort { session, reason: Reason::User, data: None }]);
    assert_eq!(said(&pair), [(Flags::RST | Flags::ACK, Seq(101))]);
    let mut pair = asking(5);
    pair.inject(B, from_caller(Flags::SYN, 100, 0), b"");
    let session = pair.app(B).offers[0];
    pair.ask(B, vec![Request::Manage(Box::new(Manage::special(RefuseCaller { session, problem: None })))]);
    assert_eq!(said(&pair), []);
    // The next SYN is a call again.
    pair.inject(B, from_caller(Flags::SYN, 100, 0), b"");
    assert_eq!(pair.app(B).heard, ["offered", "offered"]);
}

#[test]
fn beyond_the_backlog_syns_are_lost() {
    let mut pair = asking(2);
    for port in 1000..1010 {
        pair.inject(B, Header { source_port: port, ..from_caller(Flags::SYN, 100, 0) }, b"");
    }
    assert_eq!(pair.app(B).heard, ["offered", "offered"]);
    assert_eq!((pair.counters(B).backlog_full, said(&pair).len()), (8, 0));
}
