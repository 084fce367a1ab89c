use super::*;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::numbering::IP_PROTOCOL;

const FRAGMENTABLE: u8 = 17;

/// The fragments of `data` as a sender with `mtu` makes them.
fn fragments(data: &[u8], mtu: u32, options: Option<Options>) -> Vec<Vec<u8>> {
    let config = Config { interfaces: vec![Interface { mtu, ..Interface::new("eth", B, 24) }], ..Config::default() };
    let mut bench = Bench::new();
    let eth = bench.device("eth");
    bench.node("ip", &["eth"], Ip::new(Config { forwarding: true, ..config }).unwrap());
    let user = bench.user("user", "ip", &[Key::of(IP_PROTOCOL, FRAGMENTABLE.into())]);
    bench.start();
    bench.requests();
    match options {
        None => bench.send(user, to(A, data)),
        Some(options) => bench.octets(eth, &datagram(|header| header.options = options, data)),
    }
    bench.sent_octets()
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}

#[test]
fn pieces_are_cut_at_multiples_of_eight_and_say_where_they_belong() {
    let data = pattern(1000);
    let pieces = fragments(&data, 100, None);
    assert_eq!(pieces.len(), 13);
    let mut at = 0;
    let first = parsed(&pieces[0]).0;
    for (n, piece) in pieces.iter().enumerate() {
        assert!(piece.len() <= 100);
        let (header, octets) = parsed(piece);
        assert_eq!(header.identification, first.identification);
        assert_eq!(header.fragment_start(), at);
        assert_eq!(header.more_fragments, n < 12);
        assert_eq!(octets, data[at..at + octets.len()]);
        at += octets.len();
    }
    assert_eq!(at, 1000);
}

#[test]
fn no_content_is_copied_into_pieces_or_out_of_them() {
    let (mut sender, _, user) = bench(host(100));
    let mut unit = to(B, &[]);
    unit.options.under = Some(UDP);
    unit.data = Message::generated(Pattern::Counter, 0, 1000);
    sender.send(user, unit);
    let pieces = sender.sent();
    assert_eq!(pieces.len(), 13);
    let at_b = Config::host(Interface::new("eth", B, 24));
    let (mut receiver, eth, user) = bench(at_b);
    for (_, piece) in pieces {
        assert!(piece.data.slices().iter().all(|it| it.pattern().is_some()));
        receiver.receive(eth, piece);
    }
    let whole = receiver.units(user).remove(0).data;
    let [slice] = whole.slices() else { panic!("{whole:?}") };
    assert_eq!(slice.pattern(), Some((Pattern::Counter, 0)));
}

#[test]
fn only_copied_options_are_in_later_pieces() {
    // Record route is not copied, router alert is.
    let options = Options::new(&[7, 7, 4, 0, 0, 0, 0, 148, 4, 0, 0]).unwrap();
    let pieces = fragments(&pattern(200), 100, Some(options));
    assert_eq!(parsed(&pieces[0]).0.options.len(), 12);
    assert_eq!(parsed(&pieces[1]).0.options.as_octets(), [148, 4, 0, 0]);
}

#[test]
fn a_checksum_left_to_the_device_is_completed_before_the_cut() {
    let (mut bench, _, user) = bench(Config { path_mtu_discovery: false, ..host(100) });
    let mut unit = to(B, &pattern(150));
    unit.options.under = Some(UDP);
    unit.data.meta_mut().checksum = Checksum::Partial { start: 0, field: 6 };
    let mut expected = pattern(150);
    let sum = Sum::of(&expected).checksum();
    expected[6..8].copy_from_slice(&sum.to_be_bytes());
    bench.send(user, unit);
    let sent: Vec<u8> = bench.sent_octets().iter().flat_map(|piece| parsed(piece).1).collect();
    assert_eq!(sent, expected);
}

#[test]
fn what_must_not_be_cut_is_reported_to_its_user() {
    let mut unit = to(B, &pattern(200));
    unit.options.special = IpParameters { dont_fragment: true, ..unit.options.special.into() }.into();
    // What IP is set to counts for TCP.
    let (mut cutting, _, user) = bench(Config { path_mtu_discovery: false, ..host(100) });
    cutting.send(user, unit.clone());
    assert_eq!(cutting.sent().len(), 3);
    let (mut bench, _, user) = bench(host(100));
    bench.send(user, unit);
    assert!(bench.sent().is_empty());
    let reports = bench.reports(user);
    let Report::Unreachable { problem, start, .. } = &reports[0] else { panic!("{reports:?}") };
    assert_eq!(*problem, Problem::TooBig { mtu: 100 });
    assert_eq!(start.to_vec(), pattern(8));
}

#[test]
fn what_came_first_stays_where_fragments_overlap() {
    let (mut bench, eth, user) = bench(host(1500));
    let fragment = |offset: u16, more, data: &[u8]| {
        let change = |header: &mut Header| {
            header.fragment_offset = offset;
            header.more_fragments = more;
        };
        datagram(change, data)
    };
    bench.octets(eth, &fragment(1, true, &[2; 16]));
    bench.octets(eth, &fragment(0, true, &[1; 16]));
    bench.octets(eth, &fragment(2, false, &[3; 12]));
    let units = bench.units(user);
    let expected = [vec![1; 8], vec![2; 16], vec![3; 4]].concat();
    assert_eq!(units[0].data.to_vec(), expected);
    assert_eq!(held(&bench), 0);
}

fn held(bench: &Bench) -> usize {
    let node = bench.graph.node("ip").unwrap();
    bench.graph.protocol::<Ip>(node).unwrap().reassembling()
}

#[test]
fn pieces_that_contradict_each_other_are_given_up() {
    let fragment = |offset: u16, more, len: usize| {
        let change = |header: &mut Header| {
            header.fragment_offset = offset;
            header.more_fragments = more;
        };
        datagram(change, &pattern(len))
    };
    let cases = [
        // Two ends.
        vec![fragment(2, false, 5), fragment(3, false, 5)],
        // Octets behind the end.
        vec![fragment(4, true, 8), fragment(1, false, 8)],
        vec![fragment(1, false, 8), fragment(4, true, 8)],
        // Not a multiple of eight, and more to come.
        vec![fragment(0, true, 9)],
        // Beyond the longest datagram.
        vec![fragment(8190, false, 100)],
    ];
    for case in cases {
        let (mut bench, eth, user) = bench(host(1500));
        for octets in case {
            bench.octets(eth, &octets);
        }
        assert!(bench.heard(user).is_empty());
        assert_eq!(held(&bench), 0);
        assert_eq!(counters(&bench).reasm_fails, 1);
    }
}

#[test]
fn what_is_held_is_bounded() {
    let config =
        Config { reassembly: Reassembly { datagrams: 4, octets: 10_000, ..Reassembly::default() }, ..host(1500) };
    let (mut bench, eth, _) = bench(config);
    for id in 0..50 {
        let change = |header: &mut Header| {
            header.identification = id % 7;
            header.fragment_offset = 2 * id;
            header.more_fragments = true;
        };
        bench.octets(eth, &datagram(change, &pattern(1000)));
        assert!(held(&bench) <= 10_000);
    }
    assert!(counters(&bench).reasm_fails > 0);
}

#[test]
fn time_runs_out_once_and_the_source_is_told_what_its_first_fragment_was() {
    let (mut bench, eth, _) = bench(host(1500));
    let first = |header: &mut Header| header.more_fragments = true;
    let octets = datagram(first, &pattern(64));
    bench.octets(eth, &octets);
    bench.pass(Duration::from_secs(59));
    assert!(bench.sent().is_empty());
    bench.pass(Duration::from_secs(2));
    let (_, icmp) = parsed(&bench.sent_octets()[0]);
    assert_eq!(icmp[..2], [11, 1]);
    assert_eq!(icmp[8..], octets);
    assert_eq!(held(&bench), 0);
    bench.pass(Duration::from_secs(200));
    assert!(bench.sent().is_empty());
}

#[test]
fn without_the_first_fragment_nobody_is_told() {
    let (mut bench, eth, _) = bench(host(1500));
    let later = |header: &mut Header| header.fragment_offset = 1;
    bench.octets(eth, &datagram(later, &pattern(64)));
    bench.pass(Duration::from_secs(61));
    assert!(bench.sent().is_empty());
    assert_eq!(counters(&bench).reasm_fails, 1);
}

/// RFC 3168 section 5.3.
#[test]
fn a_mark_on_one_fragment_is_a_mark_on_the_whole_or_there_is_no_whole() {
    for (fields, whole) in [
        ([3, 2], Some(3)),
        ([2, 3], Some(3)),
        ([1, 3], Some(3)),
        ([3, 3], Some(3)),
        ([2, 2], Some(2)),
        ([1, 1], Some(1)),
        ([0, 0], Some(0)),
        ([3, 0], None),
        ([0, 3], None),
    ] {
        let (mut bench, eth, user) = bench(host(1500));
        for (offset, tos) in (0..).zip(fields) {
            let change = |header: &mut Header| {
                header.fragment_offset = offset;
                header.more_fragments = offset == 0;
                header.type_of_service = tos;
            };
            bench.octets(eth, &datagram(change, &[0; 8]));
        }
        let units = bench.units(user);
        let found = units.first().map(|unit| IpParameters::from(unit.options.special).tos);
        assert_eq!(found, whole, "{fields:?}");
        assert_eq!(counters(&bench).reasm_fails, u64::from(whole.is_none()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_in_any_order_and_twice_become_the_datagram(
        len in 1usize..9000, mtu in 68u32..2000, keys: Vec<u32>, twice: u64,
    ) {
        let data = pattern(len);
        let pieces = fragments(&data, mtu, None);
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|n| keys.get(*n).copied().unwrap_or(0));
        let (mut bench, eth, user) = bench(host(1500));
        for (n, &piece) in order.iter().enumerate() {
            let last = n + 1 == order.len();
            bench.octets(eth, &pieces[piece]);
            if twice >> (n % 64) & 1 == 1 && !last {
                bench.octets(eth, &pieces[piece]);
            }
        }
        let units = bench.units(user);
        prop_assert_eq!(units.len(), 1);
        prop_assert_eq!(units[0].data.to_vec(), data);
        prop_assert_eq!(held(&bench), 0);
        prop_assert_eq!(bench.graph.next_timer(), None);
    }

    #[test]
    fn no_fragments_make_it_panic_or_hold_on(
        pieces in prop::collection::vec((0u16..0x2000, any::<bool>(), 0usize..400, 0u16..3), 1..60),
    ) {
        let (mut bench, eth, _) = bench(host(1500));
        for (fragment_offset, more_fragments, len, identification) in pieces {
            let change = |header: &mut Header| {
                header.fragment_offset = fragment_offset;
                header.more_fragments = more_fragments;
                header.identification = identification;
            };
            bench.octets(eth, &datagram(change, &pattern(len)));
        }
        bench.pass(Duration::from_secs(61));
        prop_assert_eq!(held(&bench), 0);
    }
}
