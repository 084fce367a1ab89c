//! Errors, sent and heard.

use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::icmpv6::{parameter, time_exceeded, unreachable};

use super::*;

/// The problem that our answer to `octets` tells, if there is one.
fn answer(config: Config, octets: &[u8]) -> Option<Icmp> {
    let (mut bench, device, _) = bench(config);
    bench.octets(device, octets);
    let sent = bench.sent_octets();
    sent.first().map(|octets| said(octets).1)
}

fn problem(code: u8, pointer: u32) -> Option<Icmp> {
    Some(Icmp::ParameterProblem { code, pointer })
}

/// A packet with destination options that hold the option `kind`.
fn with_option(kind: u8, destination: Ipv6Addr) -> Vec<u8> {
    let data = [17, 0, kind, 4, 0, 0, 0, 0, 9];
    packet(|it| (it.next_header, it.destination) = (60, destination), &data)
}

#[test]
fn an_unknown_next_header_is_told_with_its_place() {
    let octets = packet(|it| it.next_header = 200, &[1]);
    let expected = problem(parameter::NEXT_HEADER, 6);
    assert_eq!(answer(host(), &octets), expected);
    let chain = [200, 0, 1, 4, 0, 0, 0, 0, 1];
    let octets = packet(|it| it.next_header = 60, &chain);
    let expected = problem(parameter::NEXT_HEADER, 40);
    assert_eq!(answer(host(), &octets), expected);
    // Nothing at all follows: that is no error.
    assert_eq!(answer(host(), &packet(|it| it.next_header = 59, &[])), None);
}

#[test]
fn options_are_skipped_dropped_or_told_as_their_type_says() {
    let (mut bench, device, user) = bench(host());
    bench.octets(device, &with_option(0x1e, A));
    assert_eq!(bench.units(user).len(), 1);
    assert_eq!(answer(host(), &with_option(0x5e, A)), None);
    let told = problem(parameter::OPTION, 42);
    assert_eq!(answer(host(), &with_option(0x9e, A)), told);
    assert_eq!(answer(host(), &with_option(0x9e, ALL_NODES)), told);
    assert_eq!(answer(host(), &with_option(0xde, A)), told);
    assert_eq!(answer(host(), &with_option(0xde, ALL_NODES)), None);
}

#[test]
fn routing_headers_with_segments_left_are_refused() {
    for kind in [0, 4] {
        let mut chain = vec![17, 2, kind, 1];
        chain.extend([0; 20]);
        let octets = packet(|it| it.next_header = 43, &chain);
        let expected = problem(parameter::FIELD, 42);
        assert_eq!(answer(host(), &octets), expected);
    }
    let (mut bench, device, user) = bench(host());
    let chain = [17, 0, 4, 0, 0, 0, 0, 0, 5];
    bench.octets(device, &packet(|it| it.next_header = 43, &chain));
    assert_eq!(bench.units(user)[0].data.to_vec(), [5]);
}

#[test]
fn hop_by_hop_options_stand_first_or_not_at_all() {
    let chain = hex("00 00 01 04 00000000  11 00 01 04 00000000 09");
    let octets = packet(|it| it.next_header = 60, &chain);
    let expected = problem(parameter::NEXT_HEADER, 40);
    assert_eq!(answer(host(), &octets), expected);
}

#[test]
fn an_error_quotes_what_fits_into_the_smallest_mtu() {
    let (mut bench, device, _) = bench(host());
    let octets = packet(|it| it.next_header = 200, &[7; 1400]);
    bench.octets(device, &octets);
    let error = bench.sent_octets().remove(0);
    assert_eq!(error.len(), 1280);
    let (header, _, quoted) = said(&error);
    assert_eq!((header.source, header.destination), (A, B));
    assert_eq!(quoted, octets[..1232]);
}

#[test]
fn errors_and_groups_and_nobody_get_no_errors() {
    let unknown = |change: fn(&mut Header)| {
        packet(
            |it| {
                it.next_header = 200;
                change(it);
            },
            &[1],
        )
    };
    let silent = [
        unknown(|it| it.source = Ipv6Addr::UNSPECIFIED),
        unknown(|it| it.destination = ALL_NODES),
        // Destination options with an option to be told of, in front of an error.
        packet(|it| it.next_header = 60, &hex("3a 00 9e 04 00000000 01 04 0000 00000000")),
    ];
    for octets in silent {
        assert_eq!(answer(host(), &octets), None, "{octets:02x?}");
    }
    let (mut bench, device, _) = bench(host());
    let unit = Unit {
        data: Message::from_octets(&unknown(|_| {})),
        options: UnitOptions { group: true, ..UnitOptions::default() },
        ..Unit::default()
    };
    bench.receive(device, unit);
    assert!(bench.sent().is_empty());
}

#[test]
fn errors_keep_to_their_rate() {
    let errors = Rate { per_second: 1, burst: 2 };
    let (mut bench, device, _) = bench(Config { errors, ..host() });
    for _ in 0..5 {
        bench.octets(device, &packet(|it| it.next_header = 200, &[1]));
    }
    assert_eq!(bench.sent().len(), 2);
    bench.pass(Duration::from_secs(1));
    bench.octets(device, &packet(|it| it.next_header = 200, &[1]));
    assert_eq!(bench.sent().len(), 1);
    assert_eq!(counters(&bench).icmp_out_limited, 3);
}

#[test]
fn a_port_that_nobody_has_is_told_by_its_user() {
    let (mut bench, device, user) = bench(host());
    let octets = packet(|_| {}, &[9; 12]);
    bench.octets(device, &octets);
    let unit = bench.units(user).remove(0);
    let (kind, code) = (1, unreachable::PORT);
    let problem = Problem::Hard { kind, code };
    let refuse = Manage::Refuse { unit: Box::new(unit), problem };
    bench.say(user, Request::Manage(Box::new(refuse)));
    let (_, message, quoted) = said(&bench.sent_octets()[0]);
    assert_eq!(message, Icmp::DestinationUnreachable { code });
    assert_eq!(quoted, octets);
}

#[test]
fn errors_about_what_we_sent_reach_their_user() {
    let (mut bench, device, user) = bench(host());
    // From us to C, behind destination options.
    let quoted = packet(
        |it| (it.source, it.destination, it.next_header) = (A, C, 60),
        &hex("11 00 01 04 00000000 0102030405060708"),
    );
    let cases = [
        (Icmp::DestinationUnreachable { code: 4 }, Problem::Hard { kind: 1, code: 4 }),
        (Icmp::DestinationUnreachable { code: 0 }, Problem::Soft { kind: 1, code: 0 }),
        (Icmp::TimeExceeded { code: 0 }, Problem::Soft { kind: 3, code: 0 }),
    ];
    for (message, expected) in cases {
        bench.octets(device, &icmp(message, &quoted, |_| {}));
        let reports = bench.reports(user);
        let [Report::Unreachable { destination, problem, start, .. }] = &reports[..] else { panic!("{reports:?}") };
        assert_eq!((*destination, *problem), (Address::from(C), expected));
        assert_eq!(start.to_vec(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
    // With a wrong checksum, or about somebody else's packet, nobody hears of it.
    let mut wrong = icmp(Icmp::TimeExceeded { code: 0 }, &quoted, |_| {});
    wrong[43] ^= 1;
    bench.octets(device, &wrong);
    let others = packet(|it| it.destination = C, &[1]);
    let message = Icmp::TimeExceeded { code: 0 };
    bench.octets(device, &icmp(message, &others, |_| {}));
    assert!(bench.reports(user).is_empty());
}

#[test]
fn a_narrow_path_is_remembered_for_ten_minutes() {
    let routes = vec![Route::default_by(B)];
    let (mut bench, device, user) = bench(Config { routes, ..host() });
    let quoted = packet(|it| (it.source, it.destination, it.payload_length) = (A, C, 1400 - 40), &[1; 8]);
    // What no link may be is not believed, nor that the packet was too big for its own length.
    for mtu in [1279, 1400, 1300] {
        let message = Icmp::PacketTooBig { mtu };
        bench.octets(device, &icmp(message, &quoted, |_| {}));
    }
    let reports = bench.reports(user);
    assert_eq!(reports.len(), 1);
    let too_big = |report: &Report| {
        let expected = Problem::TooBig { mtu: 1300 };
        matches!(report, Report::Unreachable { problem, .. } if *problem == expected)
    };
    assert!(too_big(&reports[0]));
    let whole = |dont_fragment| Unit {
        options: UnitOptions::of(IpParameters { dont_fragment, ..IpParameters::NONE }),
        ..to(C, &[0; 1400])
    };
    // And nothing that no user knows of.
    bench.send(user, whole(true));
    assert!(bench.reports(user).is_empty());
    assert_eq!(bench.sent().len(), 1);
    let (to, mtu) = (Address::from(C), 1300);
    bench.say(user, Request::Manage(Box::new(Manage::Narrow { to, mtu })));
    bench.send(user, whole(true));
    assert!(too_big(&bench.reports(user)[0]));
    bench.send(user, whole(false));
    let lengths: Vec<usize> = bench.sent_octets().iter().map(Vec::len).collect();
    assert_eq!(lengths, [1296, 200]);
    bench.pass(Duration::from_secs(600));
    bench.send(user, whole(false));
    assert_eq!(bench.sent().len(), 1);
}

/// A router between the devices `p2p` and `far`.
fn router(far_mtu: u32) -> (Bench, DeviceId, DeviceId) {
    let far = Interface { mtu: far_mtu, ..Interface::new("far", "2001:db8::1".parse().unwrap(), 32) };
    let mut config = Config { forwarding: true, ..host() };
    config.interfaces.push(far);
    let mut bench = Bench::new();
    let (near, far) = (bench.device("p2p"), bench.device("far"));
    bench.node("ip", &["p2p", "far"], Ip::new(config).unwrap());
    bench.start();
    bench.requests();
    (bench, near, far)
}

#[test]
fn a_router_takes_a_hop_and_sends_on() {
    let (mut bench, near, far) = router(1500);
    let octets = packet(|it| (it.destination, it.hop_limit) = (C, 2), &[1; 8]);
    bench.octets(near, &octets);
    let (device, unit) = bench.sent().remove(0);
    assert_eq!(device, far);
    let (header, data) = parsed(&unit.data.to_vec());
    assert_eq!((header.hop_limit, data), (1, vec![1; 8]));
    assert_eq!(counters(&bench).forw_datagrams, 1);
}

#[test]
fn a_router_says_why_it_does_not_send_on() {
    let (mut bench, near, _) = router(1280);
    let nowhere = "2002::1".parse().unwrap();
    let local = "fe80::9".parse().unwrap();
    let cases = [
        (
            packet(|it| (it.destination, it.hop_limit) = (C, 1), &[1]),
            Icmp::TimeExceeded { code: time_exceeded::HOP_LIMIT },
        ),
        (packet(|it| it.destination = nowhere, &[1]), Icmp::DestinationUnreachable { code: unreachable::NO_ROUTE }),
        (packet(|it| it.destination = C, &[1; 1241]), Icmp::PacketTooBig { mtu: 1280 }),
        (
            packet(|it| (it.source, it.destination) = (local, C), &[1]),
            Icmp::DestinationUnreachable { code: unreachable::BEYOND_SCOPE },
        ),
    ];
    for (octets, expected) in cases {
        bench.octets(near, &octets);
        let (_, message, quoted) = said(&bench.sent_octets()[0]);
        assert_eq!(message, expected);
        // Quoted as it came, hop limit included.
        assert_eq!(quoted, octets[..octets.len().min(1232)]);
    }
}

#[test]
fn a_router_looks_at_hop_by_hop_options_alone() {
    let (mut bench, near, far) = router(1500);
    let chain = hex("3c 00 9e 04 00000000 c8 00 1e 04 00000000");
    let octets = packet(|it| (it.next_header, it.destination) = (0, C), &chain);
    bench.octets(near, &octets);
    let code = parameter::OPTION;
    let (_, message, _) = said(&bench.sent_octets()[0]);
    assert_eq!(message, Icmp::ParameterProblem { code, pointer: 42 });
    // The same as destination options are the receiver's matter.
    let octets = packet(|it| (it.next_header, it.destination) = (60, C), &chain);
    bench.octets(near, &octets);
    assert_eq!(bench.sent().remove(0).0, far);
}
