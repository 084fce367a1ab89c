//! What was found out for the last datagram changes nothing of the next: all is the same where it is forgotten each
//! time.

use super::*;
use kumiki_graph::Parameters;

const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
const FAR: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 7);
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 1, 1);

/// What happens at a host.
#[derive(Clone, Debug)]
enum IpEvent {
    /// The user sends so many octets from there to there, by a source route or not.
    Send { source: Option<Ipv4Addr>, destination: Ipv4Addr, octets: usize, whole: bool, routed: bool },
    /// A datagram comes by an interface, from there to there; `options`: with such a header; `group`: to many at once;
    /// `piece`: of a longer one; `odd`: with this octet of it changed so, and so many octets behind its end.
    Come {
        by: usize,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        options: usize,
        group: bool,
        piece: bool,
        protocol: u8,
        odd: (usize, u8, usize),
    },
    /// The layer below an interface says that it is up, or down.
    Up(usize, bool),
    /// It carries units of so many octets.
    Limits(usize, u32),
    /// It has agreed on these addresses.
    Agreed(usize, Ipv4Addr, Ipv4Addr),
    /// The user is in the group, or no more.
    Member(bool),
    /// Time passes.
    Pass(u64),
}

/// All that can be told of it: what left by which interface, for whom; what the user heard; what was counted, and
/// thrown away.
type IpTrace = (Vec<String>, Vec<String>, Counters, Vec<(String, u64)>);

/// What is told of `acts`; `forgets`: whatever was found out is forgotten before each.
fn told(config: &Config, acts: &[IpEvent], forgets: bool) -> IpTrace {
    let mut bench = Bench::new();
    let mut below = vec!["eth", "ppp"];
    below.extend(config.host.as_deref());
    let ways: Vec<DeviceId> = below.iter().map(|name| bench.device(name)).collect();
    bench.node("ip", &below, Ip::new(config.clone()).unwrap());
    let user = bench.user("user", "ip", &[TCP, UDP]);
    bench.start();
    bench.requests();
    for act in acts {
        if forgets {
            let nothing = Manage::Advise { to: Address::from(B), answered: true };
            bench.say(user, Request::Manage(Box::new(nothing)));
        }
        happen(&mut bench, &ways, user, act);
    }
    let sent =
        bench.sent().into_iter().map(|(by, unit)| format!("{by:?} {unit:?} {:02x?}", unit.data.to_vec())).collect();
    let heard = bench.heard(user).into_iter().map(|it| format!("{it:?}")).collect();
    let drops = bench.graph.accounts().find(|(name, _)| *name == "ip").unwrap().1.drops;
    (sent, heard, counters(&bench), drops.into_iter().map(|(why, count)| (why.to_owned(), count)).collect())
}

fn happen(bench: &mut Bench, ways: &[DeviceId], user: NodeId, act: &IpEvent) {
    let mut report = |by: usize, report| bench.indicate(ways[by], Indication::Report(Box::new(report)));
    match *act {
        IpEvent::Up(by, true) => report(by, Report::Up),
        IpEvent::Up(by, false) => report(by, Report::Down),
        IpEvent::Limits(by, unit) => report(by, Report::Limits { unit, burst: 1 }),
        IpEvent::Agreed(by, local, remote) => {
            let addresses = LinkAddresses { local: local.into(), remote: remote.into() };
            report(by, Report::special(addresses));
        }
        IpEvent::Member(member) => {
            let group = Address::from(GROUP);
            bench.say(user, Request::Manage(Box::new(Manage::Group { group, member })));
        }
        IpEvent::Pass(ms) => bench.pass(Duration::from_millis(ms)),
        IpEvent::Send { source, destination, octets, whole, routed } => {
            let how = IpParameters { dont_fragment: whole, ..IpParameters::NONE };
            let route = SourceRoute { gateways: vec![B], strict: false };
            let parameters = if routed { Parameters::of(route) } else { Parameters::NONE };
            let data = Message::generated(Pattern::Counter, 0, octets);
            let options = UnitOptions { under: Some(UDP), ..UnitOptions::of(how) };
            let (source, destination) = (source.map_or(Address::NONE, Address::from), Address::from(destination));
            bench.send(user, Unit { source, destination, options, parameters, data, ..Unit::default() });
        }
        IpEvent::Come { by, source, destination, options, group, piece, protocol, odd: (at, change, behind) } => {
            const OPTIONS: [&[u8]; 3] = [&[], &[148, 4, 0, 0], &[131, 7, 4, 10, 0, 0, 9, 0]];
            let mut octets = datagram(
                |header| {
                    (header.source, header.destination, header.protocol) = (source, destination, protocol);
                    header.options = Options::new(OPTIONS[options]).unwrap();
                    header.more_fragments = piece;
                },
                &[0; 16],
            );
            let fixed = octets.first_chunk_mut::<20>().unwrap();
            fixed[at] ^= change;
            if change & 1 == 0 {
                // As though it had been sent so.
                let right = kumiki_wire::inet::ipv4::checksum(fixed);
                fixed[10..12].copy_from_slice(&right.to_be_bytes());
            }
            octets.extend(vec![0; behind]);
            let unit = Unit::of(Message::from_octets(&octets));
            bench.receive(ways[by], Unit { options: UnitOptions { group, ..unit.options }, ..unit });
        }
    }
}

fn addresses() -> impl Strategy<Value = Ipv4Addr> {
    let others = [
        PEER,
        FAR,
        GROUP,
        Ipv4Addr::new(10, 0, 0, 255),
        Ipv4Addr::LOCALHOST,
        Ipv4Addr::BROADCAST,
        Ipv4Addr::UNSPECIFIED,
    ];
    prop_oneof![6 => Just(A), 6 => Just(B), 3 => Just(Ipv4Addr::new(10, 0, 1, 1)), 1 => prop::sample::select(Vec::from(others))]
}

fn acts() -> impl Strategy<Value = Vec<IpEvent>> {
    let octets = || prop_oneof![4 => 0usize..100, 1 => 0usize..3000, 1 => 65_400usize..65_600];
    let send =
        (prop::option::weighted(0.8, addresses()), addresses(), octets(), any::<bool>(), prop::bool::weighted(0.1));
    let come = (0usize..2, addresses(), addresses(), prop_oneof![6 => Just(0usize), 1 => 1usize..3]);
    let odd =
        (prop_oneof![2 => 0usize..12, 1 => Just(6usize)], any::<u8>(), prop_oneof![4 => Just(0usize), 1 => 0usize..9]);
    let odd = prop_oneof![3 => Just((0usize, 0u8, 0usize)), 1 => odd];
    let protocol = prop::sample::select(vec![17u8, 17, 6, 1, 99]);
    let come = (come, prop::bool::weighted(0.1), prop::bool::weighted(0.1), protocol, odd);
    let act = prop_oneof![
        12 => send.prop_map(|(source, destination, octets, whole, routed)| IpEvent::Send { source, destination, octets, whole, routed }),
        12 => come.prop_map(|((by, source, destination, options), group, piece, protocol, odd)| {
            IpEvent::Come { by, source, destination, options, group, piece, protocol, odd }
        }),
        2 => (0usize..2, any::<bool>()).prop_map(|(by, up)| IpEvent::Up(by, up)),
        1 => (0usize..2, 68u32..2000).prop_map(|(by, unit)| IpEvent::Limits(by, unit)),
        2 => (0usize..2, addresses(), addresses()).prop_map(|(by, local, remote)| IpEvent::Agreed(by, local, remote)),
        1 => any::<bool>().prop_map(IpEvent::Member),
        1 => (0u64..40_000).prop_map(IpEvent::Pass),
    ];
    // What was found out matters where the same follows.
    let several = (act, 1usize..4).prop_map(|(act, times)| vec![act; times]);
    prop::collection::vec(several, 1..20).prop_map(|acts| acts.concat())
}

fn configs() -> impl Strategy<Value = Config> {
    let neighbours = [Neighbours::One, Neighbours::Below, Neighbours::Table(vec![(B, Address::from(B))])];
    (prop::sample::select(Vec::from(neighbours)), any::<(bool, bool, bool)>(), 0usize..5, 200u32..3000).prop_map(
        |(neighbours, (forwarding, number_atomic, path_mtu_discovery), kind, mtu)| Config {
            interfaces: vec![
                Interface { neighbours, mtu, ..Interface::new("eth", A, 24) },
                Interface::negotiated("ppp"),
            ],
            routes: vec![Route::default_by(B)],
            forwarding,
            number_atomic,
            path_mtu_discovery,
            any_destination: kind == 3,
            host: (kind == 4).then(|| "host".to_owned()),
            ..Config::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_found_out_for_the_last_datagram_changes_nothing(config in configs(), acts in acts()) {
        let (sent, heard, counters, drops) = told(&config, &acts, false);
        let (expected_sent, expected_heard, expected_counters, expected_drops) = told(&config, &acts, true);
        prop_assert_eq!(sent, expected_sent);
        prop_assert_eq!(heard, expected_heard);
        prop_assert_eq!(counters, expected_counters);
        prop_assert_eq!(drops, expected_drops);
    }
}
