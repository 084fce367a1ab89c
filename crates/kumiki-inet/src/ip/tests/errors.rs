use super::*;
use kumiki_wire::numbering::IP_PROTOCOL;

/// An ICMP message from B to A.
fn icmp(kind: u8, code: u8, rest: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut octets = vec![kind, code, 0, 0];
    octets.extend_from_slice(&rest);
    octets.extend_from_slice(data);
    let sum = Sum::of(&octets).checksum();
    octets[2..4].copy_from_slice(&sum.to_be_bytes());
    datagram(|header| header.protocol = 1, &octets)
}

/// What A sent to B, as an error quotes it.
fn quoted(protocol: u8, data: &[u8]) -> Vec<u8> {
    let change = |header: &mut Header| {
        header.protocol = protocol;
        header.source = A;
        header.destination = B;
        header.total_length = 1500;
    };
    datagram(change, data)
}

#[test]
fn a_protocol_that_nobody_has_is_refused() {
    let (mut bench, eth, _) = bench(host(1500));
    let octets = datagram(|header| header.protocol = 99, &[1; 12]);
    bench.octets(eth, &octets);
    let (header, icmp) = parsed(&bench.sent_octets()[0]);
    assert_eq!((header.source, header.destination), (A, B));
    assert_eq!(icmp[..2], [3, 2]);
    assert_eq!(icmp[8..], octets);
    assert_eq!(counters(&bench).in_unknown_protos, 1);
}

#[test]
fn no_error_answers_what_must_not_be_answered() {
    let (mut bench, eth, _) = bench(host(1500));
    let unknown = |change: fn(&mut Header)| {
        datagram(
            |header| {
                header.protocol = 99;
                change(header);
            },
            &[1; 8],
        )
    };
    bench.octets(eth, &unknown(|it| it.destination = Ipv4Addr::BROADCAST));
    bench.octets(eth, &unknown(|it| it.destination = [10, 0, 0, 255].into()));
    bench.octets(eth, &unknown(|it| it.destination = [224, 0, 0, 1].into()));
    bench.octets(eth, &unknown(|it| it.source = [0, 0, 0, 0].into()));
    // An error about nobody's protocol.
    bench.octets(eth, &icmp(3, 3, [0; 4], &quoted(99, &[0; 8])));
    // A query without anybody to answer it.
    bench.octets(eth, &icmp(8, 0, [0; 4], &[]));
    let options = UnitOptions { group: true, ..UnitOptions::default() };
    bench.receive(eth, Unit { options, data: Message::from_octets(&unknown(|_| {})), ..Unit::default() });
    assert!(bench.sent().is_empty());
}

#[test]
fn an_error_goes_to_the_user_whose_datagram_it_quotes() {
    let (mut bench, eth, user) = bench(host(1500));
    let cases = [
        (3, 0, [0; 4], Problem::Soft { kind: 3, code: 0 }),
        (3, 1, [0; 4], Problem::Soft { kind: 3, code: 1 }),
        (3, 2, [0; 4], Problem::Hard { kind: 3, code: 2 }),
        (3, 3, [0; 4], Problem::Hard { kind: 3, code: 3 }),
        (3, 13, [0; 4], Problem::Soft { kind: 3, code: 13 }),
        (11, 0, [0; 4], Problem::Soft { kind: 11, code: 0 }),
        (12, 0, [20, 0, 0, 0], Problem::Soft { kind: 12, code: 0 }),
        (3, 4, [0, 0, 2, 64], Problem::TooBig { mtu: 576 }),
        // A router that does not tell: the plateau below 1500.
        (3, 4, [0; 4], Problem::TooBig { mtu: 1492 }),
    ];
    for (kind, code, rest, expected) in cases {
        let quoted = quoted(6, &[1, 2, 3, 4, 5, 6, 7, 8]);
        bench.octets(eth, &icmp(kind, code, rest, &quoted));
        let reports = bench.reports(user);
        let Report::Unreachable { source, destination, problem, start } = &reports[0] else { panic!("{reports:?}") };
        assert_eq!((*source, *destination), (Address::from(A), Address::from(B)));
        assert_eq!(*problem, expected);
        assert_eq!(start.to_vec(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}

// RFC 9293: MUST-55
#[test]
fn errors_of_no_consequence_reach_nobody() {
    let (mut bench, eth, user) = bench(host(1500));
    // Quench (RFC 6633), redirect.
    bench.octets(eth, &icmp(4, 0, [0; 4], &quoted(6, &[0; 8])));
    bench.octets(eth, &icmp(5, 1, [10, 0, 0, 9], &quoted(6, &[0; 8])));
    // Too big for a link that would have carried it: of 1500 octets, and of 40.
    bench.octets(eth, &icmp(3, 4, 1500_u32.to_be_bytes(), &quoted(6, &[0; 8])));
    let mut small = quoted(6, &[0; 8]);
    small[2..4].copy_from_slice(&40_u16.to_be_bytes());
    for mtu in [0, 1, 39, 551] {
        bench.octets(eth, &icmp(3, 4, u32::to_be_bytes(mtu), &small));
    }
    // Not ours, cut short, damaged.
    let mut others = quoted(6, &[0; 8]);
    others[12..16].copy_from_slice(&[10, 0, 0, 77]);
    bench.octets(eth, &icmp(3, 1, [0; 4], &others));
    bench.octets(eth, &icmp(3, 1, [0; 4], &quoted(6, &[])[..12]));
    let mut damaged = icmp(3, 1, [0; 4], &quoted(6, &[0; 8]));
    *damaged.last_mut().unwrap() ^= 1;
    bench.octets(eth, &damaged);
    assert!(bench.heard(user).is_empty());
    assert!(bench.sent().is_empty());
}

#[test]
fn a_unit_sent_back_is_quoted_as_it_came() {
    let (mut bench, eth, user) = bench(host(1500));
    let change = |header: &mut Header| {
        header.identification = 0x1234;
        header.time_to_live = 9;
        header.type_of_service = 0x48;
    };
    let octets = datagram(change, &[3; 20]);
    bench.octets(eth, &octets);
    let unit = bench.units(user).remove(0);
    let problem = Problem::Hard { kind: 3, code: 3 };
    let refuse = Manage::Refuse { unit: Box::new(unit), problem };
    bench.say(user, Request::Manage(Box::new(refuse)));
    let (header, icmp) = parsed(&bench.sent_octets()[0]);
    assert_eq!(header.type_of_service, 0xc8);
    assert_eq!(icmp[..2], [3, 3]);
    assert!(Sum::of(&icmp).is_valid());
    assert_eq!(icmp[8..], octets);
}

#[test]
fn errors_are_no_more_than_the_rate_allows() {
    let config = Config { errors: Rate { per_second: 10, burst: 3 }, ..host(1500) };
    let (mut bench, eth, _) = bench(config);
    let octets = datagram(|header| header.protocol = 99, &[1; 12]);
    let mut sent = Vec::new();
    for _ in 0..3 {
        for _ in 0..10 {
            bench.octets(eth, &octets);
        }
        sent.push(bench.sent().len());
        bench.pass(Duration::from_millis(100));
    }
    assert_eq!(sent, [3, 1, 1]);
    assert_eq!(counters(&bench).icmp_out_limited, 25);
}

#[test]
fn a_rate_of_nothing_sends_nothing() {
    for rate in [(0, 5), (5, 0)] {
        let errors = Rate { per_second: rate.0, burst: rate.1 };
        let (mut bench, eth, _) = bench(Config { errors, ..host(1500) });
        bench.octets(eth, &datagram(|header| header.protocol = 99, &[1; 12]));
        assert!(bench.sent().is_empty());
    }
}

#[test]
fn a_loopback_refusal_comes_back() {
    let (mut bench, _, user) = bench(host(1500));
    let options = UnitOptions { under: Some(Key::of(IP_PROTOCOL, 99)), ..UnitOptions::default() };
    bench.send(user, Unit { options, ..to(A, &[1; 9]) });
    // Protocol 99 has no user, so that nobody can hear of it either.
    assert!(bench.heard(user).is_empty());
    assert_eq!(bench.drops("ip", "ICMP error that matches no session"), 1);
}

#[test]
fn a_query_goes_to_the_user_of_icmp() {
    let mut bench = Bench::new();
    let eth = bench.device("eth");
    bench.node("ip", &["eth"], Ip::new(host(1500)).unwrap());
    let user = bench.user("icmp", "ip", &[ICMP]);
    bench.start();
    bench.octets(eth, &icmp(8, 0, [0, 1, 0, 2], &[9]));
    assert_eq!(bench.units(user).len(), 1);
}

// RFC 9293: MUST-54
#[test]
fn an_error_about_a_routed_datagram_names_who_it_was_for() {
    let (mut bench, eth, user) = bench(host(1500));
    // In flight to a gateway, B comes last; later it is the gateway that stands in the option.
    let gateway = Ipv4Addr::new(10, 0, 0, 3);
    for (pointer, destination, hop) in [(4, gateway, B), (8, B, gateway)] {
        let [a, b, c, d] = hop.octets();
        let quoted = datagram(
            |header| {
                header.protocol = 6;
                header.source = A;
                header.destination = destination;
                header.options = Options::new(&[131, 7, pointer, a, b, c, d, 0]).unwrap();
            },
            &[1, 2, 3, 4, 5, 6, 7, 8],
        );
        bench.octets(eth, &icmp(11, 0, [0; 4], &quoted));
        let reports = bench.reports(user);
        let Report::Unreachable { destination, .. } = &reports[0] else { panic!("{reports:?}") };
        assert_eq!(*destination, Address::from(B), "{pointer}");
    }
}

// RFC 1812 section 3.3.2 for those for whom we forward.
#[test]
fn who_waited_for_a_silent_neighbour_is_told() {
    let (mut bench, eth, user) = bench(host(1500));
    let silent = |source: Ipv4Addr| {
        let change = |header: &mut Header| {
            (header.protocol, header.source, header.destination) = (6, source, B);
        };
        let waited = datagram(change, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let report = Report::Unreachable {
            source: Address::NONE,
            destination: Address::from(B),
            problem: Problem::NoNeighbour,
            start: Message::from_octets(&waited),
        };
        (Indication::Report(Box::new(report)), waited)
    };
    bench.indicate(eth, silent(A).0);
    let reports = bench.reports(user);
    let [Report::Unreachable { source, destination, problem, start }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((*source, *destination), (Address::from(A), Address::from(B)));
    assert_eq!(*problem, Problem::NoNeighbour);
    assert_eq!(start.to_vec(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(bench.sent().is_empty());

    let other = Ipv4Addr::new(10, 0, 0, 7);
    let (indication, waited) = silent(other);
    bench.indicate(eth, indication);
    assert!(bench.reports(user).is_empty());
    let (header, icmp) = parsed(&bench.sent_octets()[0]);
    assert_eq!((header.source, header.destination), (A, other));
    // Host unreachable, and the datagram.
    assert_eq!(icmp[..2], [3, 1]);
    assert_eq!(icmp[8..], waited);
}

// RFC 1122 section 3.2.2, of errors: what is no first fragment does not begin with anybody's ports.
#[test]
fn of_the_fragments_of_a_datagram_only_the_first_is_told_of() {
    let (mut bench, eth, user) = bench(host(1500));
    for (offset, told) in [(0, 1), (1, 0), (185, 0)] {
        let change = |header: &mut Header| {
            (header.protocol, header.source, header.destination) = (6, A, B);
            (header.more_fragments, header.fragment_offset) = (true, offset);
        };
        let waited = datagram(change, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let report = Report::Unreachable {
            source: Address::NONE,
            destination: Address::from(B),
            problem: Problem::NoNeighbour,
            start: Message::from_octets(&waited),
        };
        bench.indicate(eth, Indication::Report(Box::new(report)));
        assert_eq!(bench.reports(user).len(), told, "{offset}");
        // Nor where an error quotes it.
        bench.octets(eth, &icmp(3, 1, [0; 4], &waited));
        assert_eq!(bench.reports(user).len(), told, "{offset}");
    }
    assert!(bench.sent().is_empty());
}
