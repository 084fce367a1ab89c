//! The handshake.

use std::sync::Arc;

use kumiki_graph::{Address, Mode, Problem, Report, Request};
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::IPV6;
use super::pair::*;
use crate::tcp::{Config, defaults};

#[test]
fn a_handshake_is_three_segments() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(
        pair.taken_log(),
        ["0.000 a S 0:0(0) win 64000", "0.010 b S. 0:0(0) ack 1 win 64000", "0.020 a . 1:1(0) ack 1 win 64000",]
    );
    assert_eq!(pair.app(A).heard, ["opened"]);
    assert_eq!(pair.app(B).heard, ["offered"]);
}

#[test]
fn data_goes_both_ways_and_both_ends_close() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(2500));
    pair.write(B, &numbered(700));
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received, numbered(2500));
    assert_eq!(pair.app(A).received, numbered(700));
    pair.release(A);
    pair.run_for(ms(100));
    pair.release(B);
    pair.run_for(ms(100));
    for line in pair.taken_log() {
        println!("{line}");
    }
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
    assert_eq!(pair.app(B).heard, ["offered", "released", "closed"]);
    assert_eq!((pair.tcp(A).connections(), pair.tcp(B).connections()), (1, 0));
    pair.run_for(ms(60_000));
    assert_eq!(pair.tcp(A).connections(), 0);
}

// RFC 9293: MUST-10
#[test]
fn both_sides_may_call_at_once() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    for host in [A, B] {
        let call = open(Mode::Active, address(1 - host, PORT), PORT);
        pair.app(host).todo.push(call);
    }
    pair.ask(A, Vec::new());
    pair.ask(B, Vec::new());
    pair.run_for(ms(100));
    assert_eq!(
        pair.taken_log(),
        [
            "0.000 a S 0:0(0) win 64000",
            "0.000 b S 0:0(0) win 64000",
            "0.010 a S. 0:0(0) ack 1 win 64000",
            "0.010 b S. 0:0(0) ack 1 win 64000",
        ]
    );
    assert_eq!(pair.app(A).heard, ["opened"]);
    assert_eq!(pair.app(B).heard, ["opened"]);
    pair.write(A, b"hello");
    pair.write(B, b"there");
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).received, b"there");
    assert_eq!(pair.app(B).received, b"hello");
}

// RFC 9293: MUST-14, MUST-16, SHLD-5
#[test]
fn options_are_used_only_where_both_offer_them() {
    let modern = defaults::modern();
    let mut pair = Pair::new(modern.clone(), modern.clone(), ms(10)).connected();
    let syn = pair.log[0].header.options;
    assert_eq!((syn.mss, syn.sack_permitted), (Some(MSS), true));
    assert!(syn.timestamps.is_some() && syn.window_scale.is_some());
    let answer = pair.log[1].header.options;
    assert_eq!(answer.timestamps.map(|t| t.1), syn.timestamps.map(|t| t.0));
    pair.write(A, &numbered(20_000));
    assert_eq!(pair.log.last().unwrap().len(), usize::from(MSS) - 12);
    assert!(pair.log.last().unwrap().header.options.timestamps.is_some());

    let old = Config { mss: None, ..plain() };
    let mut pair = Pair::new(modern, old, ms(10)).connected();
    let answer = pair.log[1].header.options;
    assert!(answer.timestamps.is_none() && answer.window_scale.is_none());
    assert!(!answer.sack_permitted);
    pair.write(A, &numbered(20_000));
    assert_eq!(pair.log.last().unwrap().len(), usize::from(MSS));
    assert!(pair.log.last().unwrap().header.options.is_empty());
}

// RFC 9293: MUST-14, MUST-16
#[test]
fn the_smaller_mss_counts() {
    let of = |mss| Config { mss: Some(mss), ..plain() };
    let mut pair = Pair::new(of(1400), of(600), ms(10)).connected();
    pair.write(A, &numbered(5000));
    pair.write(B, &numbered(5000));
    pair.run_for(ms(1000));
    assert!(pair.log.iter().all(|packet| packet.len() <= 600));
    assert_eq!(pair.app(B).received, numbered(5000));
}

#[test]
fn a_full_backlog_lets_callers_wait() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 2);
    for _ in 0..3 {
        pair.call(A);
    }
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).offers.len(), 2);
    // The third has been answered, but its acknowledgment found no place.
    assert_eq!((pair.counters(B).backlog_full, pair.tcp(B).half_open()), (1, 1));
    // One is taken; the third gets through when our SYN,ACK is retransmitted.
    let session = pair.app(B).offers[0];
    let accept = accept(session);
    pair.ask(B, vec![accept]);
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).offers.len(), 3);
    assert_eq!(pair.app(A).heard.len(), 3);
    // A fourth that calls while the places are taken is not answered at all.
    pair.call(A);
    pair.run_for(ms(500));
    assert_eq!((pair.counters(B).backlog_full, pair.tcp(B).half_open()), (2, 0));
}

#[test]
fn what_comes_before_the_accept_is_kept_for_it() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 2);
    pair.call(A);
    pair.run_for(ms(100));
    pair.write(A, &numbered(3000));
    pair.release(A);
    pair.run_for(ms(500));
    assert!(pair.app(B).received.is_empty());
    pair.app(B).idle = false;
    let session = pair.app(B).offers[0];
    pair.app(B).session = Some(session);
    pair.ask(B, vec![accept(session)]);
    assert_eq!(pair.app(B).received, numbered(3000));
    assert_eq!(pair.app(B).heard, ["offered", "released"]);
    assert_eq!(pair.app(B).credit, 64_000);
}

#[test]
fn a_refused_caller_is_reset() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).refuse_offers = true;
    pair.listen(B, 2);
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["opened", "aborted: Reset"]);
    assert_eq!(pair.tcp(B).connections(), 0);
    // Its place in the backlog is free again.
    pair.call(A);
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.counters(B).backlog_full, 0);
}

#[test]
fn a_passive_open_can_be_ended() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 2);
    let session = pair.app(B).listener.unwrap();
    pair.ask(B, vec![Request::Release { session, data: None }]);
    assert_eq!(pair.app(B).heard, ["closed"]);
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["aborted: Refused"]);
}

// RFC 9293: MUST-46
#[test]
fn bad_addresses_are_refused() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    let broadcast = core::net::SocketAddr::new(core::net::Ipv4Addr::BROADCAST.into(), 1);
    for remote in [Address::NONE, Address::from(MacAddr([0; 6])), Address::from(broadcast), address(B, 0)] {
        pair.app(A).heard.clear();
        pair.ask(A, vec![open(Mode::Active, remote, 0)]);
        assert_eq!(pair.app(A).heard, ["aborted: BadAddress"], "{remote}");
    }
    pair.listen(B, 1);
    pair.listen(B, 1);
    assert_eq!(pair.app(B).heard, ["aborted: BadAddress"]);
    assert!(pair.log.is_empty());
}

// RFC 9293: MUST-22, SHLD-9
#[test]
fn a_call_that_nobody_answers_is_given_up() {
    let config = Config { syn_retries: 3, ..plain() };
    let mut pair = Pair::with_rule(config, plain(), |_| Vec::new());
    pair.call(A);
    pair.run_for(ms(100_000));
    assert_eq!(pair.app(A).heard, ["notice: NoAnswer", "aborted: TimedOut"]);
    let times: Vec<u64> = pair.log.iter().map(|p| p.at.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [0, 1000, 3000, 7000]);
    assert_eq!(pair.tcp(A).connections(), 0);
}

#[test]
fn many_connections_have_ports_of_their_own() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 1000);
    for _ in 0..300 {
        pair.call(A);
    }
    pair.run_for(ms(1000));
    assert_eq!(pair.tcp(A).connections(), 300);
    let mut ports: Vec<u16> = pair.log.iter().filter(|p| p.from == A).map(|p| p.header.source_port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 300);
}

// RFC 9293: MUST-54, MUST-56
#[test]
fn a_port_that_cannot_be_reached_ends_a_call_but_no_connection() {
    let (hard, soft) = (no_port(), no_route());
    let noticed = format!("notice: Problem({soft:?})");
    let unreachable = |pair: &Pair, problem: Problem| {
        let first = pair.log.last().unwrap();
        let mut start = vec![0; 20];
        let header = Header { options: kumiki_wire::inet::tcp::Options::NONE, ..first.header };
        header.emit(&mut start);
        Report::Unreachable { source: ip(A), destination: ip(B), problem, start: Message::from_octets(&start[..8]) }
    };
    // That nobody has the port is a refusal. That the next hop is silent our own link tells, and not ICMP.
    let no_protocol = Problem::Hard { kind: 3, code: 2 };
    // With IPv6 that would be a time that was exceeded.
    let without = if IPV6 { "Unreachable(Host)" } else { "Unreachable(Protocol)" };
    let ends = [(hard, "Refused"), (no_protocol, without), (Problem::NoNeighbour, "Unreachable(Host)")];
    for (end, reason) in ends {
        let mut pair = Pair::with_rule(plain(), plain(), |_| Vec::new());
        pair.call(A);
        let report = unreachable(&pair, soft);
        pair.report(A, report);
        assert_eq!(core::mem::take(&mut pair.app(A).heard), [noticed.as_str()]);
        let report = unreachable(&pair, end);
        pair.report(A, report);
        assert_eq!(pair.app(A).heard, [format!("aborted: {reason}")]);
    }

    let config = || Config { soft_errors_end_calls: true, ..plain() };
    let mut pair = Pair::with_rule(config(), plain(), |_| Vec::new());
    pair.call(A);
    let report = unreachable(&pair, soft);
    pair.report(A, report);
    assert_eq!(pair.app(A).heard, ["aborted: Unreachable(Network)"]);
    let mut pair = Pair::new(config(), plain(), ms(10)).connected();
    pair.write(A, b"under way");
    let report = unreachable(&pair, soft);
    pair.report(A, report);
    assert_eq!(pair.app(A).heard, ["opened", &noticed]);

    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, b"under way");
    let report = unreachable(&pair, hard);
    pair.report(A, report);
    assert_eq!(pair.app(A).heard, ["opened"]);
    let report = unreachable(&pair, Problem::NoNeighbour);
    pair.report(A, report);
    assert_eq!(pair.app(A).heard, ["opened", "notice: Problem(NoNeighbour)"]);
}

// RFC 9293: MUST-14, MUST-15, MUST-65, SHLD-5, MAY-3
#[test]
fn the_mss_goes_with_syns_only_and_is_the_least_of_the_version_where_none_is_told() {
    let config = Config { mss: None, ..plain() };
    let mut pair = Pair::new(config.clone(), config.clone(), ms(10)).connected();
    pair.write(A, &numbered(20_000));
    pair.run_for(ms(500));
    for packet in &pair.log {
        let told = packet.header.options.mss;
        assert_eq!(told, packet.has(Flags::SYN).then_some(MSS));
    }
    let mut pair = Pair::new(config.clone(), config, ms(10));
    pair.call(A);
    let syn = pair.log[0].header;
    pair.first[B] = Some(Seq(0));
    let reply = Header {
        source_port: syn.destination_port,
        destination_port: syn.source_port,
        seq: Seq(500),
        ack: Seq(1),
        flags: Flags::SYN | Flags::ACK,
        window: 5000,
        ..Header::default()
    };
    pair.inject(A, reply, b"");
    pair.write(A, &numbered(2000));
    assert_eq!(pair.log.last().unwrap().len(), if IPV6 { 1220 } else { 536 });
}

// RFC 9293: MUST-67, SHLD-6
#[test]
fn an_open_waits_to_know_its_route_but_not_for_ever() {
    let config = || Config { mss: None, ..plain() };
    let mut pair = Pair::silent(config(), config());
    pair.call(A);
    pair.run_for(ms(99));
    assert!(pair.log.is_empty());
    pair.run_for(ms(1));
    let least = if IPV6 { 1220 } else { 536 };
    assert_eq!(pair.log[0].header.options.mss, Some(least));
    let mut pair = Pair::silent(config(), config());
    pair.call(A);
    let source = ip(76);
    let route = |source, unit| Report::Route { to: ip(B), source, unit, burst: 1, bypass: None };
    pair.report(A, route(source, 820));
    assert_eq!(pair.log[0].header.options.mss, Some(800));
    pair.call(A);
    pair.report(A, route(Address::NONE, 0));
    assert_eq!(pair.app(A).heard, ["aborted: Unreachable(Network)"]);
}

#[test]
fn listening_can_be_taken_back_by_the_name_that_its_user_gave_it() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    pair.ask(B, vec![Request::Cancel { user: kumiki_graph::Handle::default() }]);
    pair.call(A);
    pair.run_for(ms(500));
    assert_eq!(pair.app(A).heard, ["aborted: Refused"]);
}

#[test]
fn an_open_can_be_taken_back() {
    let mut pair = Pair::silent(plain(), plain());
    let cancel = || {
        let user = kumiki_graph::Handle::default();
        Request::Cancel { user }
    };
    pair.call(A);
    pair.ask(A, vec![cancel()]);
    pair.run_for(ms(200));
    assert!(pair.log.is_empty());
    pair.call(A);
    pair.run_for(ms(100));
    pair.ask(A, vec![cancel()]);
    pair.run_for(ms(5000));
    assert_eq!((pair.log.len(), pair.tcp(A).connections()), (2, 0));
    assert!(pair.app(A).heard.is_empty());
}

#[test]
fn an_accept_that_comes_too_late_is_told_so() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 2);
    pair.call(A);
    pair.run_for(ms(100));
    pair.abort(A);
    pair.run_for(ms(100));
    let session = pair.app(B).offers[0];
    pair.ask(B, vec![accept(session)]);
    assert_eq!(pair.app(B).heard, ["offered", "aborted: NoSession"]);
}

// RFC 9293: MUST-18
#[test]
fn no_round_trip_is_measured_by_a_handshake_of_which_anything_went_twice() {
    // The first SYN,ACK is lost, and the caller asks again after a second, before the timer of the other end.
    let config = Config {
        trace: true,
        rto: crate::tcp::rtt::Config { initial: ms(3000), ..crate::tcp::rtt::Config::LINUX },
        ..plain()
    };
    let mut pair =
        Pair::with_rule(plain(), config, |packet| if packet.number == 1 { Vec::new() } else { vec![ms(10)] });
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).heard, ["offered"]);
    let (_, _, trace) = pair.tcp(B).traces().next().unwrap();
    let last = trace.0.last().unwrap();
    assert_eq!(last.srtt, None, "{last:?}");
}

/// Where several have one address together, each calls from ports of its own, and by both ends of a call it is known
/// whose it is.
#[test]
fn a_call_goes_from_a_port_that_is_ours_to_choose() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.tcp_mut(A).share_ports(Arc::new(|local, remote| local.port() % 64 == remote.port() % 64));
    for port in [80, 81, 5000] {
        pair.ask(A, vec![open(Mode::Active, address(B, port), 0)]);
        let syn = pair.log.last().unwrap().header;
        assert!(syn.flags == Flags::SYN && syn.source_port % 64 == port % 64, "{syn:?}");
    }
    // A port that the user has chosen is the user's affair.
    pair.ask(A, vec![open(Mode::Active, address(B, 80), 7)]);
    assert_eq!(pair.log.last().unwrap().header.source_port, 7);
    pair.tcp_mut(A).share_ports(Arc::new(|_, _| false));
    pair.app(A).heard.clear();
    pair.ask(A, vec![open(Mode::Active, address(B, 80), 0)]);
    assert_eq!(pair.app(A).heard.len(), 1, "there is none: {:?}", pair.app(A).heard);
}
