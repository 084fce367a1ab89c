//! Who may open what, and who may speak: addresses and ports.

use core::net::{Ipv4Addr, SocketAddr};
use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::SourceRoute;

use kumiki_graph::{Address, Mode, Open, Parameters, Request, Unit, UnitOptions};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::pair::*;
use crate::tcp::Config;
use crate::tcp::config::SynCookies;

fn passive(local: [u8; 4], remote: Address) -> Request {
    Request::Open(Box::new(Open {
        mode: Mode::Passive { backlog: 5 },
        local: Address::from(SocketAddr::new(Ipv4Addr::from(local).into(), PORT)),
        remote,
        ..Open::default()
    }))
}

fn syn() -> Vec<u8> {
    let header = Header {
        source_port: 1000,
        destination_port: PORT,
        seq: Seq(100),
        flags: Flags::SYN,
        window: 5000,
        ..Header::default()
    };
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets
}

// RFC 9293: MUST-57, MUST-63
#[test]
fn segments_from_and_to_groups_and_nobody_are_dropped_in_silence() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    let good = |source: [u8; 4], destination: [u8; 4], group| {
        let mut data = Message::from_octets(&syn());
        data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
        Unit {
            source: Ipv4Addr::from(source).into(),
            destination: Ipv4Addr::from(destination).into(),
            options: UnitOptions { group, ..UnitOptions::default() },
            data,
            ..Unit::default()
        }
    };
    let (us, other) = ([10, 0, 0, 2], [10, 0, 0, 1]);
    for unit in [
        good(other, [255; 4], false),
        good(other, [224, 0, 0, 1], false),
        good(other, us, true),
        good([255; 4], us, false),
        good([224, 0, 0, 5], us, false),
        good([240, 0, 0, 5], us, false),
        good([0; 4], us, false),
    ] {
        pair.deliver_unit(B, unit);
    }
    assert!(pair.log.is_empty() && pair.strays == 0);
    assert_eq!(pair.counters(B).malformed, 7);
    pair.deliver_unit(B, good(other, us, false));
    assert_eq!(pair.tcp(B).half_open(), 1);
}

// RFC 9293: MUST-42
#[test]
fn a_port_that_calls_may_be_listened_on() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    // SYN-SENT, to a port where nobody answers.
    let nobody = Address::from(SocketAddr::new(Ipv4Addr::new(10, 9, 9, 9).into(), 9));
    pair.ask(A, vec![open(Mode::Active, nobody, PORT)]);
    pair.listen(A, 5);
    assert!(pair.app(A).heard.is_empty() && pair.strays == 1);
    pair.call(B);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["offered"]);
}

// RFC 9293: MUST-41
#[test]
fn a_passive_open_disturbs_neither_connections_nor_other_passive_opens() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    // Of this port for any address there is one already, which stays.
    pair.ask(B, vec![passive([0; 4], Address::NONE)]);
    assert_eq!(pair.app(B).heard.last().unwrap(), "aborted: BadAddress");
    pair.ask(B, vec![passive([10, 0, 0, 2], Address::NONE)]);
    assert_eq!(pair.app(B).heard.len(), 2);
    pair.write(A, b"undisturbed");
    pair.run_for(ms(100));
    assert_eq!(pair.app(B).received, b"undisturbed");
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(B).heard.last().unwrap(), "offered");
}

// RFC 9293: MUST-43
#[test]
fn a_passive_open_may_name_its_address_and_its_caller() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.ask(B, vec![passive([10, 0, 0, 77], Address::NONE)]);
    pair.call(A);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["aborted: Refused"]);

    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.ask(B, vec![passive([10, 0, 0, 2], address(A, 4000))]);
    for (port, heard) in [(4001, "aborted: Refused"), (4000, "opened")] {
        pair.ask(A, vec![open(Mode::Active, address(B, PORT), port)]);
        pair.run_for(ms(100));
        assert_eq!(pair.app(A).heard.last().unwrap(), heard);
    }
}

// RFC 9293: MUST-46
#[test]
fn groups_and_nobody_cannot_be_called() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    for ip in [[255; 4], [224, 0, 0, 1], [239, 1, 2, 3], [0; 4], [240, 0, 0, 1]] {
        let remote = Address::from(SocketAddr::new(Ipv4Addr::from(ip).into(), 9));
        pair.app(A).heard.clear();
        pair.ask(A, vec![open(Mode::Active, remote, 0)]);
        assert_eq!(pair.app(A).heard, ["aborted: BadAddress"], "{remote}");
    }
    assert!(pair.log.is_empty() && pair.strays == 0);
}

// RFC 9293: MUST-10
#[test]
fn one_may_call_oneself() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.ask(A, vec![open(Mode::Active, address(A, PORT), PORT)]);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["opened"]);
    pair.write(A, &numbered(5000));
    pair.run_for(ms(1000));
    assert_eq!(pair.app(A).received, numbered(5000));
    pair.release(A);
    pair.run_for(ms(1000));
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
}

fn by(last: u8) -> SourceRoute {
    SourceRoute { gateways: vec![Ipv4Addr::new(10, 0, 0, last)], strict: false }
}

// RFC 9293: MUST-51, MUST-52
#[test]
fn a_caller_may_say_the_way_and_nothing_that_comes_changes_it() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    pair.return_route = Some((B, by(9)));
    let call =
        Open { local: Address::NONE, remote: address(B, PORT), parameters: Parameters::of(by(8)), ..Open::default() };
    pair.ask(A, vec![Request::Open(Box::new(call))]);
    pair.run_for(ms(100));
    pair.write(A, &numbered(2000));
    pair.write(B, &numbered(2000));
    pair.run_for(ms(100));
    for (packet, way) in pair.log.iter().zip(&pair.ways) {
        let chosen = (packet.from == A).then(|| Box::new(by(8)));
        assert_eq!(*way, chosen, "{packet}");
        // MSS 1000, of which the option takes eight octets.
        assert!(packet.len() <= if packet.from == A { 992 } else { 1000 });
    }
    assert_eq!(pair.app(B).received, numbered(2000));
}

// RFC 9293: MUST-53, SHLD-24
#[test]
fn who_is_called_by_a_source_route_answers_by_it_and_by_a_later_one() {
    for (wanted, cookies) in [(true, SynCookies::Never), (true, SynCookies::Always), (false, SynCookies::Never)] {
        let config = Config { return_routes: wanted, syn_cookies: cookies, ..plain() };
        let mut pair = Pair::new(plain(), config, ms(10));
        pair.return_route = Some((A, by(8)));
        let mut pair = pair.connected();
        pair.write(B, &numbered(2000));
        pair.run_for(ms(100));
        let then = pair.log.len();
        pair.return_route = Some((A, by(7)));
        pair.write(A, b"by another way");
        pair.run_for(ms(100));
        pair.write(B, &numbered(2000));
        pair.run_for(ms(100));
        for (packet, way) in pair.log.iter().zip(&pair.ways).filter(|it| it.0.from == B) {
            let last = if packet.number < then { 8 } else { 7 };
            assert_eq!(*way, wanted.then(|| Box::new(by(last))), "{packet}");
        }
        assert_eq!(pair.app(A).received.len(), 4000);
    }
}

#[test]
fn the_answer_to_a_call_by_a_source_route_fits_the_link_with_the_route() {
    // Timestamps, SACK and MSS go beside the route of 8 octets, and AccECN's option does not.
    let config = |mss| Config { mss: Some(mss), ecn: EcnUse::Accurate, timestamps: true, sack: true, ..plain() };
    for (mss, expected) in [(32, false), (36, true)] {
        let mut pair = Pair::new(config(mss), config(mss), ms(10));
        pair.return_route = Some((A, by(8)));
        let pair = pair.connected();
        let answer = &pair.log[1];
        assert!(answer.has(Flags::SYN | Flags::ACK), "{answer}");
        assert_eq!(answer.header.options.accecn.is_some(), expected, "{answer}");
    }
}

#[test]
fn a_call_that_claims_to_come_from_where_it_goes_soon_falls_silent() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    let header = Header {
        source_port: PORT,
        destination_port: PORT,
        seq: Seq(100),
        flags: Flags::SYN,
        window: 5000,
        ..Header::default()
    };
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    let mut data = Message::from_octets(&octets);
    data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
    let unit = Unit { source: ip(B), destination: ip(B), data, ..Unit::default() };
    pair.deliver_unit(B, unit);
    pair.run_for(ms(600_000));
    assert!(pair.log.len() < 50, "{}", pair.log.len());
    assert_eq!((pair.tcp(B).half_open(), pair.tcp(B).connections()), (0, 0));
}

// RFC 9293: MUST-10, MUST-11
#[test]
fn calls_that_cross_and_lose_a_segment_still_meet() {
    for lost in 0..5 {
        let mut pair = Pair::with_rule(
            plain(),
            plain(),
            move |packet| {
                if packet.number == lost { Vec::new() } else { vec![ms(10)] }
            },
        );
        for host in [A, B] {
            let call = open(Mode::Active, address(1 - host, PORT), PORT);
            pair.app(host).todo.push(call);
        }
        pair.ask(A, Vec::new());
        pair.ask(B, Vec::new());
        pair.run_for(ms(5000));
        for host in [A, B] {
            assert_eq!(pair.app(host).heard, ["opened"], "{lost}");
            pair.write(host, b"hello");
        }
        pair.run_for(ms(5000));
        for host in [A, B] {
            let received = pair.app(host).received.clone();
            assert_eq!(received, b"hello", "{lost}: {:#?}", pair.taken_log());
        }
    }
    // Reset in SYN-RECEIVED of an active open: the user is told.
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.ask(A, vec![open(Mode::Active, address(B, PORT), PORT)]);
    let first = pair.log[0].header;
    let reply = Header {
        source_port: first.destination_port,
        destination_port: first.source_port,
        seq: Seq(500),
        flags: Flags::SYN,
        window: 5000,
        ..Header::default()
    };
    pair.inject(A, reply, b"");
    let reset = Header { flags: Flags::RST, seq: Seq(501), ..reply };
    pair.inject(A, reset, b"");
    assert_eq!(pair.app(A).heard, ["aborted: Refused"]);
}
