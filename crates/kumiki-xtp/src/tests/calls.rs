//! How contexts begin.

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::xtp::{Format, Options, Traffic, TrafficControl, code, service, val};

use super::pair::*;

#[test]
fn data_goes_with_the_first_packet_and_keys_are_exchanged() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    let Request::Open(mut call) = open(Mode::Active, Address::NONE, address(B, PORT)) else {
        panic!();
    };
    call.data = Some(Message::from_octets(b"hello"));
    pair.ask(A, vec![Request::Open(call)]);
    assert_eq!(pair.heard(A), ["opened"], "before anything has come back");
    pair.run_for(ms(10));
    assert_eq!(pair.heard(B), ["offered"]);
    assert_eq!(pair.app(B).received, b"hello");
    pair.run_for(ms(500));
    pair.write(A, b"more");
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received, b"hellomore");
    let told = pair.told();
    assert_eq!(
        told[..5],
        [
            "0.000 a FIRST SREQ 0+5",
            "0.010 b TCNTL - 0 rseq 5 alloc 64005 echo 1",
            // There is nothing else to show that the key has come by (P49).
            "0.025 a CNTL SREQ 5 rseq 0 alloc 64000 echo 0",
            "0.035 b CNTL - 0 rseq 5 alloc 64005 echo 2",
            "0.510 a DATA SREQ,EOM 5+4",
        ],
        "{told:#?}"
    );
    // The caller's own key at first, and then the other's.
    let keys: Vec<_> = pair.log.iter().map(|it| it.header.key).collect();
    assert!(!keys[0].is_returned() && keys[1] == keys[0].returned());
    let xkey = TrafficControl::parse(&pair.log[1].payload).unwrap().xkey;
    assert_eq!(keys[2], xkey.returned());
    assert!(!xkey.is_returned() && xkey != keys[0]);
    // From then on answers need not tell it.
    assert!(pair.log[3].is(Format::Cntl), "{told:#?}");
    assert_eq!(pair.counters(B).offered, 1);
}

#[test]
fn first_is_repeated_until_something_comes_back() {
    let mut lost = 0;
    let mut pair = Pair::with_rule(plain(), plain(), move |packet| {
        if packet.is(Format::First) {
            lost += 1;
            if lost < 4 {
                return vec![];
            }
        }
        vec![ms(10)]
    });
    pair.listen(B, 5);
    pair.call(A);
    pair.write(A, &numbered(500));
    pair.run_for(ms(20_000));
    let firsts: Vec<_> =
        pair.log.iter().filter(|it| it.is(Format::First)).map(|it| it.at.as_nanos() / 1_000_000).collect();
    assert_eq!(firsts, [0, 1000, 3000, 7000]);
    assert_eq!(pair.app(B).received, numbered(500));
    assert_eq!(pair.heard(A)[1..], ["notice: NoAnswer", "notice: Answered"]);
    // Data that came before the call was for nobody, and nobody was told so.
    assert_eq!(pair.counters(B).strays, 1);
    assert_eq!(pair.counters(B).diag_sent, 0);
}

#[test]
fn a_duplicate_first_is_data_and_no_second_call() {
    let mut pair = Pair::with_rule(plain(), plain(), |packet| {
        if packet.is(Format::First) { vec![ms(10), ms(10), ms(40)] } else { vec![ms(10)] }
    })
    .connected();
    assert_eq!(pair.heard(B), ["offered"]);
    assert_eq!(pair.xtp(B).contexts(), 1);
}

#[test]
fn who_is_not_listened_for_is_refused() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(A), ["opened", "aborted: Refused"]);
    let refusal = pair.log[1].diagnosis();
    assert_eq!((refusal.code, refusal.val), (code::REFUSED, val::NO_LISTENER));
    assert_eq!(pair.xtp(A).contexts() + pair.xtp(B).contexts(), 0);
}

#[test]
fn a_user_can_refuse_a_call() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).refuse_offers = true;
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(A), ["opened", "aborted: Refused"]);
    assert_eq!(pair.xtp(B).contexts() + pair.xtp(B).inactive(), 0);
}

#[test]
fn a_full_backlog_refuses_and_an_accepted_call_makes_room() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 1);
    pair.call(A);
    pair.run_for(ms(50));
    pair.call(A);
    pair.run_for(ms(50));
    assert_eq!(pair.heard(A), ["opened", "opened", "aborted: NoResources"]);
    let offer = pair.app(B).offers[0];
    pair.app(B).session = Some(offer);
    pair.ask(B, vec![Request::Accept(Box::new(Accept { session: offer, ..Accept::default() }))]);
    pair.call(A);
    pair.run_for(ms(50));
    assert_eq!(pair.heard(A), ["opened"]);
    assert_eq!(pair.app(B).offers.len(), 2);
}

#[test]
fn there_are_no_more_contexts_than_the_setting_says() {
    let few = crate::Config { max_contexts: 2, ..plain() };
    let mut pair = Pair::new(few.clone(), few, ms(10));
    pair.listen(B, 5);
    for _ in 0..3 {
        pair.call(A);
    }
    pair.run_for(ms(100));
    assert_eq!(pair.heard(A), ["opened", "opened", "aborted: NoResources"]);
}

#[test]
fn nobody_answers_and_the_call_is_given_up() {
    let mut pair = Pair::with_rule(plain(), plain(), |_| vec![]);
    pair.call(A);
    pair.run_for(ms(70_000));
    let heard = pair.heard(A);
    assert_eq!(heard, ["opened", "notice: NoAnswer", "aborted: TimedOut"]);
    let last = pair.log.last().unwrap();
    assert_eq!(last.at.as_nanos() / 1_000_000, 60_000);
    assert!(last.has(Options::END));
}

#[test]
fn addresses_are_checked() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    for remote in [Address::NONE, address(B, 0), Address::from(MacAddr([2; 6]))] {
        pair.ask(A, vec![open(Mode::Active, Address::NONE, remote)]);
    }
    let passive = Mode::Passive { backlog: 1 };
    pair.ask(A, vec![open(passive, address(A, 0), Address::NONE)]);
    pair.listen(A, 1);
    pair.listen(A, 1);
    assert_eq!(pair.heard(A), ["aborted: BadAddress"; 5]);
    assert!(pair.log.is_empty());
}

#[test]
fn an_open_can_be_cancelled_and_a_listener_ended() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    let session = pair.app(B).listener.unwrap();
    let (reason, data) = (Reason::User, None);
    let abort = Request::Abort { session, reason, data };
    pair.ask(B, vec![abort]);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(A), ["opened", "aborted: Refused"]);
    assert_eq!(pair.xtp(B).contexts(), 0);
    pair.app(B).idle = false;
    pair.listen(B, 5);
    pair.call(A);
    let user = Handle::default();
    pair.ask(A, vec![Request::Cancel { user }]);
    pair.run_for(ms(100));
    assert_eq!(pair.heard(B)[1..], ["offered", "aborted: Reset"]);
    assert_eq!(pair.xtp(A).contexts() + pair.xtp(B).contexts(), 0);
}

#[test]
fn traffic_values_are_told_and_a_change_is_told_by_tcntl() {
    let config = crate::Config { in_rate: 1_000_000, in_burst: 5000, ..plain() };
    let mut pair = Pair::new(plain(), config, ms(10)).connected();
    let told: Traffic = TrafficControl::parse(&pair.log[1].payload).unwrap().traffic;
    let rates = told.rates.unwrap();
    assert_eq!(told.service, service::RELIABLE_STREAM);
    assert_eq!((rates.maxdata, rates.inrate, rates.inburst), (1000, 1_000_000, 5000));
    pair.news();
    let rate = RateLimit { octets_per_second: 50_000, burst: 2000 };
    pair.change(A, Quality { rate: Some(rate), ..Quality::default() });
    pair.run_for(ms(100));
    let news = pair.news();
    assert!(news[0].is(Format::Tcntl));
    let traffic = TrafficControl::parse(&news[0].payload).unwrap().traffic;
    assert_eq!(traffic.rates.unwrap().outrate, 50_000);
    assert_eq!(news.len(), 1, "an answer is not asked for");
}

#[test]
fn a_lan_that_knows_no_ip_addresses_carries_it_too() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.nameless = true;
    let mut pair = pair.connected();
    for (from, to) in [(A, B), (B, A)] {
        pair.write(from, &numbered(5000));
        pair.run_for(ms(500));
        assert_eq!(pair.app(to).received, numbered(5000));
    }
}

#[test]
fn over_ipv6_a_call_has_longer_addresses() {
    use crate::Xtp;
    use kumiki_testkit::bench::Bench;
    use kumiki_wire::xtp::{First, Header};

    let ip = |n| core::net::IpAddr::from(core::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
    let socket = |n, port| Address::from(core::net::SocketAddr::new(ip(n), port));
    let mut bench = Bench::new();
    let wire = bench.device("wire");
    let xtp = Xtp::new(crate::Config::default());
    bench.node("xtp", &["wire"], xtp);
    let user = bench.user("user", "xtp", &[]);
    bench.start();
    bench.say(user, open(Mode::Active, Address::NONE, socket(2, 7)));
    let asked = bench
        .requests()
        .into_iter()
        .any(|(_, request)| matches!(request, Request::Manage(manage) if matches!(*manage, Manage::Route { .. })));
    assert!(asked);
    let route = Report::Route { to: ip(2).into(), source: ip(1).into(), unit: 1232, burst: 1, bypass: None };
    bench.indicate(wire, Indication::Report(Box::new(route)));
    let opened = bench.heard(user).into_iter().find_map(|it| match it {
        Indication::Opened(opened) => Some(*opened),
        _ => None,
    });
    let opened = opened.unwrap();
    assert_eq!(opened.unit, 1200);
    let sent = bench.sent();
    let [(_, unit)] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!((unit.source, unit.destination), (ip(1).into(), ip(2).into()));
    let octets = unit.data.to_vec();
    let (header, len) = Header::parse(&octets, octets.len()).unwrap();
    assert_eq!((header.format, header.dlen), (Format::First, 64));
    let (first, _) = First::parse(&octets[len..]).unwrap();
    assert_eq!(first.address.len(), 40);
    // And it is understood.
    let mut peer = Bench::new();
    let wire = peer.device("wire");
    peer.node("xtp", &["wire"], Xtp::new(crate::Config::default()));
    let listener = peer.user("user", "xtp", &[]);
    peer.start();
    let any = Address::from(core::net::SocketAddr::new(core::net::Ipv6Addr::UNSPECIFIED.into(), 7));
    let passive = Mode::Passive { backlog: 1 };
    peer.say(listener, open(passive, any, Address::NONE));
    peer.receive(wire, unit.clone());
    let offered = peer.heard(listener).into_iter().find_map(|it| match it {
        Indication::Offered(offered) => Some(*offered),
        _ => None,
    });
    let offered = offered.unwrap();
    assert_eq!((offered.local, offered.remote), (socket(2, 7), opened.local));
}

#[test]
fn what_is_over_answers_for_the_hold_time_and_only_so_many_do() {
    let config = crate::Config { max_held: 3, closed_timeout: Duration::from_secs(10), ..plain() };
    let mut pair = Pair::new(config.clone(), config, ms(1));
    pair.listen(B, 5);
    for _ in 0..8 {
        pair.call(A);
        pair.run_for(ms(50));
        pair.abort(A);
        pair.run_for(ms(50));
    }
    assert_eq!((pair.xtp(A).contexts(), pair.xtp(B).contexts()), (0, 0));
    assert_eq!((pair.xtp(A).inactive(), pair.xtp(B).inactive()), (3, 3));
    pair.run_for(ms(11_000));
    assert_eq!((pair.xtp(A).inactive(), pair.xtp(B).inactive()), (0, 0));
}
