//! Address resolution between IP and an Ethernet.

use kumiki_graph::{DeviceId, NodeId, Problem};
use kumiki_wire::numbering::ETHER_TYPE;
use kumiki_wire::numbering::IP_PROTOCOL;

use super::*;
use crate::Authority;
use crate::eth::{self, Eth};
use crate::ip::{self, Interface, Ip, Neighbours};
use kumiki_testkit::bench::Bench;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const MAC_A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const MAC_B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

fn station(config: Config) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let medium = bench.device("medium");
    let eth = eth::Config { pad: false, ..eth::Config::new(MAC_A) };
    bench.node("eth", &["medium"], Eth::new(eth).unwrap());
    bench.node("arp", &["eth"], Arp::new(config).unwrap());
    let interface = Interface { neighbours: Neighbours::Below, ..Interface::new("arp", A, 24) };
    let ip = Ip::new(ip::Config::host(interface)).unwrap();
    bench.node("ip", &["arp"], ip);
    let user = bench.user("user", "ip", &[Key::of(IP_PROTOCOL, 17)]);
    bench.start();
    bench.requests();
    (bench, medium, user)
}

fn to(destination: Ipv4Addr) -> Unit {
    Unit { destination: Address::from(destination), data: Message::from_octets(&[7]), ..Unit::default() }
}

fn frame(destination: MacAddr, op: Operation, spa: Ipv4Addr, tpa: Ipv4Addr) -> Vec<u8> {
    let header = Header { hrd: hardware::ETHERNET, op, sha: MAC_B, spa, tha: MAC_A, tpa };
    let mut octets = vec![0; 14 + LEN];
    octets[..6].copy_from_slice(&destination.0);
    octets[6..12].copy_from_slice(&MAC_B.0);
    octets[12..14].copy_from_slice(&[8, 6]);
    header.emit(&mut octets[14..]);
    octets
}

/// What was sent: to which station, and the ARP packet if it is one.
fn sent(bench: &mut Bench) -> Vec<(MacAddr, Option<Header>)> {
    let read = |octets: &Vec<u8>| {
        let to = MacAddr(octets[..6].try_into().unwrap());
        let arp = octets[12..14] == [8, 6];
        let header = Header::parse(&octets[14..]).ok().map(|it| it.0);
        (to, header.filter(|_| arp))
    };
    bench.sent_octets().iter().map(read).collect()
}

fn counters(bench: &Bench) -> Counters {
    let node = bench.graph.node("arp").unwrap();
    *bench.graph.protocol::<Arp>(node).unwrap().counters()
}

#[test]
fn a_next_hop_is_asked_for_once_and_what_waited_is_sent() {
    let (mut bench, medium, user) = station(Config::new(A));
    bench.send(user, to(B));
    bench.send(user, to(B));
    let asked = sent(&mut bench);
    assert_eq!(asked.len(), 1);
    let (station, Some(header)) = asked[0] else { panic!() };
    assert_eq!(station, MacAddr::BROADCAST);
    assert_eq!((header.op, header.spa, header.tpa), (Operation::Request, A, B));
    bench.octets(medium, &frame(MAC_A, Operation::Reply, B, A));
    assert_eq!(sent(&mut bench), [(MAC_B, None), (MAC_B, None)]);
    bench.send(user, to(B));
    assert_eq!(sent(&mut bench), [(MAC_B, None)]);
}

#[test]
fn who_stands_for_all_learns_where_datagrams_come_from_and_answers_for_who_is_not_there() {
    let far = Ipv4Addr::new(10, 0, 0, 77);
    let (mut bench, medium, user) = station(Config { any_address: true, ..Config::new(A) });
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, B, far));
    let sent_one = sent(&mut bench);
    let [(station, Some(header))] = sent_one[..] else { panic!("{sent_one:?}") };
    assert_eq!((station, header.op, header.sha, header.spa), (MAC_B, Operation::Reply, MAC_A, far));
    // About to take it (RFC 5227), told to all, and no address of a host.
    for (spa, tpa) in [(Ipv4Addr::UNSPECIFIED, far), (B, B), (B, Ipv4Addr::BROADCAST)] {
        bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, spa, tpa));
        assert!(sent(&mut bench).is_empty(), "{spa} {tpa}");
    }
    // A datagram from `far` by way of B's station.
    let mut datagram = frame(MAC_A, Operation::Reply, B, A);
    datagram.truncate(14);
    datagram[12..14].copy_from_slice(&[8, 0]);
    datagram.extend([0x45, 0, 0, 21, 0, 0, 0, 0, 64, 17, 0, 0]);
    datagram.extend(far.octets().into_iter().chain(A.octets()).chain([7]));
    bench.octets(medium, &datagram);
    bench.send(user, to(far));
    assert_eq!(sent(&mut bench), [(MAC_B, None)]);
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, B, far));
    assert!(sent(&mut bench).is_empty(), "who is known to be there may answer itself");
}

#[test]
fn who_asks_for_us_is_answered_and_remembered() {
    let (mut bench, medium, user) = station(Config::new(A));
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, B, A));
    let answer = sent(&mut bench);
    let (station, Some(header)) = answer[0] else { panic!() };
    assert_eq!((station, header.op), (MAC_B, Operation::Reply));
    assert_eq!((header.sha, header.spa), (MAC_A, A));
    assert_eq!((header.tha, header.tpa), (MAC_B, B));
    bench.send(user, to(B));
    assert_eq!(sent(&mut bench), [(MAC_B, None)]);
}

#[test]
fn questions_for_others_teach_nothing_new() {
    let (mut bench, medium, user) = station(Config::new(A));
    let other = Ipv4Addr::new(10, 0, 0, 9);
    let question = frame(MacAddr::BROADCAST, Operation::Request, B, other);
    bench.octets(medium, &question);
    assert!(sent(&mut bench).is_empty());
    bench.send(user, to(B));
    assert_eq!(sent(&mut bench)[0].0, MacAddr::BROADCAST);
}

#[test]
fn silence_is_asked_three_times_a_second_apart_and_then_given_up() {
    let (mut bench, _, user) = station(Config::new(A));
    for _ in 0..5 {
        bench.send(user, to(B));
        bench.pass(Duration::from_millis(500));
    }
    assert_eq!(sent(&mut bench).len(), 3);
    assert!(bench.reports(user).is_empty());
    bench.pass(Duration::from_millis(500));
    assert_eq!(counters(&bench).unresolved, 5);
    // Whose they were is told of each.
    let reports = bench.reports(user);
    assert_eq!(reports.len(), 5);
    for report in reports {
        let Report::Unreachable { destination, problem, .. } = report else { panic!("{report:?}") };
        assert_eq!(destination, Address::from(B));
        assert_eq!(problem, Problem::NoNeighbour);
    }
    // It is asked for again when there is something to send again.
    bench.send(user, to(B));
    assert_eq!(sent(&mut bench).len(), 1);
}

#[test]
fn a_station_in_use_is_asked_alone_before_its_time_is_over() {
    let (mut bench, medium, user) = station(Config::new(A));
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, B, A));
    bench.pass(Duration::from_secs(47));
    bench.requests();
    bench.send(user, to(B));
    assert_eq!(sent(&mut bench), [(MAC_B, None)]);
    bench.pass(Duration::from_secs(1));
    bench.send(user, to(B));
    bench.send(user, to(B));
    let polled = sent(&mut bench);
    assert_eq!(polled.len(), 3);
    assert!(polled.iter().all(|(station, _)| *station == MAC_B));
    bench.octets(medium, &frame(MAC_A, Operation::Reply, B, A));
    bench.pass(Duration::from_secs(30));
    bench.send(user, to(B));
    assert_eq!(sent(&mut bench), [(MAC_B, None)]);
    // Without any use it is forgotten.
    bench.pass(Duration::from_secs(60));
    bench.send(user, to(B));
    assert_eq!(sent(&mut bench)[0].0, MacAddr::BROADCAST);
}

#[test]
fn groups_need_not_be_asked_for() {
    let (mut bench, _, user) = station(Config::new(A));
    bench.send(user, to(Ipv4Addr::new(224, 0, 0, 5)));
    bench.send(user, to(Ipv4Addr::new(10, 0, 0, 255)));
    let group = MacAddr([1, 0, 0x5e, 0, 0, 5]);
    assert_eq!(sent(&mut bench), [(group, None), (MacAddr::BROADCAST, None)]);
}

#[test]
fn a_flood_to_strangers_holds_no_more_than_is_allowed() {
    let config = Config { max_entries: 8, queue: 2, ..Config::new(A) };
    let (mut bench, _, user) = station(config);
    for n in 0..200_u8 {
        bench.send(user, to(Ipv4Addr::new(10, 0, 0, 100 + n % 50)));
    }
    let node = bench.graph.node("arp").unwrap();
    let (entries, waiting) = bench.graph.protocol::<Arp>(node).unwrap().held();
    assert!(entries <= 8 && waiting <= 16);
    bench.pass(Duration::from_secs(5));
    assert_eq!(counters(&bench).unresolved, 200);
}

#[test]
fn a_claim_to_our_own_address_is_counted_and_not_believed() {
    let (mut bench, medium, _) = station(Config::new(A));
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, A, A));
    assert!(sent(&mut bench).is_empty());
    assert_eq!(counters(&bench).conflicts, 1);
}

/// XTP's EtherType.
const XTP: Key = Key::of(ETHER_TYPE, 0x817d);

#[test]
fn users_share_what_is_known_and_send_under_their_own_ether_types() {
    let mut bench = Bench::new();
    let medium = bench.device("medium");
    let eth = eth::Config { pad: false, ..eth::Config::new(MAC_A) };
    // Users first, as in a chain of a scenario.
    bench.node("arp", &[], Arp::new(Config::new(A)).unwrap());
    let ip = bench.user("ip", "arp", &[Key::of(ETHER_TYPE, 0x0800)]);
    let xtp = bench.user("xtp", "arp", &[Key::of(IP_PROTOCOL, 36), XTP]);
    bench.node("eth", &["medium"], Eth::new(eth).unwrap());
    bench.graph.connect("arp", "eth").unwrap();
    bench.start();
    bench.requests();
    bench.send(ip, to(B));
    bench.send(xtp, to(B));
    assert_eq!(sent(&mut bench).len(), 1);
    bench.octets(medium, &frame(MAC_A, Operation::Reply, B, A));
    let types = |bench: &mut Bench| -> Vec<[u8; 2]> {
        let octets = bench.sent_octets();
        let types = octets.iter().map(|it| [it[12], it[13]]);
        types.collect()
    };
    assert_eq!(types(&mut bench), [[0x08, 0], [0x81, 0x7d]]);
    bench.send(xtp, to(B));
    assert_eq!(types(&mut bench), [[0x81, 0x7d]]);
    let mut octets = vec![0; 15];
    octets[..6].copy_from_slice(&MAC_A.0);
    octets[12..14].copy_from_slice(&[0x81, 0x7d]);
    bench.octets(medium, &octets);
    assert!(bench.units(ip).is_empty());
    let [unit] = &bench.units(xtp)[..] else { panic!() };
    assert_eq!(unit.options.under, Some(XTP));
}

#[test]
fn a_user_has_an_ether_type_and_not_that_of_arp() {
    let mut bench = Bench::new();
    bench.node("arp", &[], Arp::new(Config::new(A)).unwrap());
    for (name, key, why) in
        [("tcp", Key::of(IP_PROTOCOL, 6), "has none"), ("arp2", Key::of(ETHER_TYPE, 0x0806), "ARP's own")]
    {
        let task = bench.graph.add_task(name);
        let user = kumiki_testkit::bench::User::with_keys(&[key]);
        bench.graph.add_node(name, task, Box::new(user)).unwrap();
        let refused = bench.graph.connect(name, "arp").unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

/// A station that has no address at first.
fn fresh() -> (Bench, DeviceId, NodeId) {
    fresh_probing(Probing::QUICK)
}

fn fresh_probing(probing: Probing) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let medium = bench.device("medium");
    let eth = eth::Config { pad: false, ..eth::Config::new(MAC_A) };
    bench.node("eth", &["medium"], Eth::new(eth).unwrap());
    let config = Config { addresses: Vec::new(), told_later: true, probing, ..Config::new(A) };
    bench.node("arp", &["eth"], Arp::new(config).unwrap());
    let interface = Interface { neighbours: Neighbours::Below, ..Interface::negotiated("arp") };
    bench.node("ip", &["arp"], Ip::new(ip::Config::host(interface)).unwrap());
    let user = bench.user("user", "ip", &[Key::of(IP_PROTOCOL, 17)]);
    bench.start();
    bench.requests();
    (bench, medium, user)
}

fn assign(bench: &mut Bench, user: NodeId, change: Change) {
    let what = Assignment { interface: 0, by: Authority::Server, change };
    bench.say(user, Request::Manage(Box::new(Manage::special(what))));
}

fn told(bench: &mut Bench, user: NodeId) -> Vec<Change> {
    let change = |report: &Report| {
        if let Report::Special(what) = report { what.get::<Assignment>().map(|it| it.change) } else { None }
    };
    bench.reports(user).iter().filter_map(change).collect()
}

const fn ours(probe: bool) -> Change {
    Change::Address { address: IpAddr::V4(A), prefix: 24, probe }
}

/// What was asked for: by whom, and whom.
fn asked(bench: &mut Bench) -> Vec<(Ipv4Addr, Ipv4Addr)> {
    let of = |(_, header): (MacAddr, Option<Header>)| header.map(|it| (it.spa, it.tpa));
    sent(bench).into_iter().filter_map(of).collect()
}

#[test]
fn an_address_that_nobody_claims_is_announced_used_and_answered_for() {
    let (mut bench, medium, user) = fresh();
    assign(&mut bench, user, ours(true));
    assert_eq!(asked(&mut bench), [(Ipv4Addr::UNSPECIFIED, A)]);
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, B, A));
    assert!(sent(&mut bench).is_empty(), "it is not ours yet");
    bench.pass(Duration::from_millis(999));
    assert!(told(&mut bench, user).is_empty());
    bench.pass(Duration::from_millis(1));
    assert_eq!(told(&mut bench, user), [ours(false)]);
    assert_eq!(asked(&mut bench), [(A, A)]);
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, B, A));
    assert_eq!(sent(&mut bench)[0].1.map(|it| (it.op, it.spa)), Some((Operation::Reply, A)));
    assign(&mut bench, user, Change::NoAddress(A.into()));
    bench.octets(medium, &frame(MacAddr::BROADCAST, Operation::Request, B, A));
    assert!(sent(&mut bench).is_empty());
}

#[test]
fn an_address_is_probed_three_times_as_the_standard_says() {
    let (mut bench, _, user) = fresh_probing(Probing::RFC_5227);
    assign(&mut bench, user, ours(true));
    // RFC 5227 section 1.1, to a tenth of a second.
    let mut times = Vec::new();
    for tenth in 0..=70_u32 {
        times.extend(asked(&mut bench).iter().map(|it| (tenth, it.0)));
        bench.pass(Duration::from_millis(100));
    }
    let none = Ipv4Addr::UNSPECIFIED;
    let [(first, a), (second, b), (third, c), (used, d)] = times[..] else { panic!("{times:?}") };
    assert_eq!([a, b, c, d], [none, none, none, A]);
    assert!(first <= 10 && (9..=21).contains(&(second - first)) && (9..=21).contains(&(third - second)), "{times:?}");
    assert!((20..=21).contains(&(used - third)), "{times:?}");
    assert_eq!(told(&mut bench, user), [ours(false)]);
}

#[test]
fn an_address_that_somebody_has_or_is_about_to_have_is_not_used() {
    let claims = [
        frame(MAC_A, Operation::Reply, A, Ipv4Addr::UNSPECIFIED),
        frame(MacAddr::BROADCAST, Operation::Request, A, B),
        frame(MacAddr::BROADCAST, Operation::Request, Ipv4Addr::UNSPECIFIED, A),
    ];
    for claim in claims {
        let (mut bench, medium, user) = fresh();
        assign(&mut bench, user, ours(true));
        bench.octets(medium, &claim);
        assert_eq!(told(&mut bench, user), [Change::Duplicate(A.into())]);
        sent(&mut bench);
        bench.pass(Duration::from_secs(10));
        assert!(told(&mut bench, user).is_empty() && sent(&mut bench).is_empty());
        assert_eq!(counters(&bench).conflicts, 1);
    }
}

#[test]
fn an_address_that_is_given_back_while_it_is_asked_for_is_forgotten() {
    let (mut bench, _, user) = fresh();
    assign(&mut bench, user, ours(true));
    assign(&mut bench, user, Change::NoAddress(A.into()));
    sent(&mut bench);
    bench.pass(Duration::from_secs(10));
    assert!(told(&mut bench, user).is_empty() && sent(&mut bench).is_empty());
}
