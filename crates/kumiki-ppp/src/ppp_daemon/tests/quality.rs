//! Reports of what is lost.

use kumiki_graph::Request;
use kumiki_graph::Unit;
use kumiki_octets::Message;

use super::link::{LineFate, Link};
use super::negotiation::{SECOND, against, pair};
use crate::ppp_daemon::{Config, End, Phase, Quality};

fn watched(quality: Quality) -> [Config; 2] {
    pair().map(|config| Config { quality, ..config })
}

/// Loses every `n`th datagram of the first end's.
fn losing(n: u32) -> LineFate {
    let mut count = 0;
    Box::new(move |from: usize, frame: Vec<u8>| {
        if from == 0 && frame.starts_with(&[0xff, 0x03, 0x00, 0x21]) {
            count += 1;
            if count % n == 0 {
                return Vec::new();
            }
        }
        vec![(1 - from, frame)]
    })
}

fn talk(link: &mut Link, seconds: u64) {
    for _ in 0..seconds {
        for _ in 0..50 {
            let unit = Unit::of(Message::from_octets(&[0x45; 100]));
            let user = link.users[0];
            link.bench.say(user, Request::Unit(Box::new(unit)));
        }
        link.pass(SECOND);
    }
}

#[test]
fn both_ends_find_out_what_was_lost_in_which_direction() {
    let quality = Quality { period: Some(SECOND), ..Quality::default() };
    let mut link = Link::over(watched(quality), losing(10));
    link.pass(SECOND);
    talk(&mut link, 10);
    let words = link.transcript();
    let (ours, theirs) = link.end(0).losses().expect(&words);
    assert_eq!((ours.lost, theirs.lost), (5, 0), "{words}");
    assert!((50..55).contains(&ours.sent), "{ours:?}");
    let (ours, theirs) = link.end(1).losses().unwrap();
    assert_eq!((ours.lost, theirs.lost), (0, 5), "{words}");
    assert!(link.says(1, "lost 0 of "), "{words}");
    assert_eq!(link.end(0).phase(), Phase::Network);
}

#[test]
fn a_link_that_is_bad_for_too_long_is_closed() {
    let quality = Quality { period: Some(SECOND), good: 3, of: 4, loss_percent: 20, ..Quality::default() };
    let mut link = Link::over(watched(quality), losing(10));
    link.pass(SECOND);
    talk(&mut link, 20);
    assert_eq!(link.end(0).phase(), Phase::Network, "{}", link.transcript());
    let mut link = Link::over(watched(quality), losing(2));
    link.pass(SECOND);
    talk(&mut link, 20);
    let end = link.end(0).last_end().cloned();
    let other = link.end(1).last_end().cloned();
    let is_quality = |end: &Option<End>| matches!(end, Some(End::Quality { of: 4, .. }));
    assert!(is_quality(&end) || is_quality(&other), "{}", link.transcript());
}

#[test]
fn reports_that_do_not_come_are_noticed() {
    let [mut near, far] = against("drop LQR");
    near.quality = Quality { period: Some(SECOND), good: 1, of: 3, ..Quality::default() };
    let mut link = Link::new([near, far]);
    for _ in 0..20 {
        // What another peer has counted is no report of this one's.
        let report = [0xff, 0x03, 0xc0, 0x25, 0xde, 0xad, 0xbe, 0xef];
        link.octets(0, &[&report[..], &[0; 44]].concat());
        link.pass(SECOND);
    }
    assert!(link.says(0, "no report came in time"));
    assert_eq!(link.ended(0), Some(End::Quality { good: 0, of: 3 }), "{}", link.transcript());
}

#[test]
fn a_period_of_zero_is_answered_report_for_report() {
    let [mut near, far] = against("send LCP quality hex c02500000000 for ever");
    near.quality.period = None;
    let mut link = Link::new([near, far]);
    link.pass(SECOND);
    assert_eq!(link.end(0).phase(), Phase::Network, "{}", link.transcript());
    assert_eq!(link.count(0, "sent LQR"), 0);
    let mut report = vec![0xff, 0x03, 0xc0, 0x25];
    report.extend([0; 48]);
    for _ in 0..3 {
        link.octets(0, &report);
        link.pass(SECOND);
    }
    assert_eq!(link.count(0, "sent LQR"), 3, "{}", link.transcript());
    // RFC 1989 section 2.7: a peer that does not know them gets no more.
    link.octets(0, &kumiki_testkit::bench::hex("ff03c021 08010006 c025"));
    link.octets(0, &report);
    link.pass(SECOND);
    assert_eq!(link.count(0, "sent LQR"), 3);
}
