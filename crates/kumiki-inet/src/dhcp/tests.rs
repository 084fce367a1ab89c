//! A client of DHCP on an Ethernet, and a server that the test is.

use kumiki_graph::{DeviceId, Duration, NodeId};
use kumiki_testkit::bench::Bench;
use kumiki_wire::inet::arp::{Header as ArpHeader, LEN as ARP_LEN, Operation};
use kumiki_wire::inet::dhcp::{Kind, Options, Route, SHORTEST};
use kumiki_wire::inet::{ethernet, ipv4, udp as wire};
use proptest::prelude::*;

use super::*;
use crate::AssignedRoute;
use crate::arp::{self, Arp};
use crate::eth::{self, Eth};
use crate::ip::{self, Ip};
use crate::udp::{self, Udp};

mod links;

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const NONE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const ALL: Ipv4Addr = Ipv4Addr::BROADCAST;
const SECOND: Duration = Duration::from_secs(1);

/// For tests of what comes after: it begins within a second.
fn quick() -> Config {
    Config { startup: (Duration::ZERO, SECOND), ..Config::new(STATION) }
}

/// The client, the layers below it, and who hears what IP tells.
struct Network {
    bench: Bench,
    medium: DeviceId,
    user: NodeId,
    /// What it has sent: from where to where.
    sent: Vec<(Ipv4Addr, Ipv4Addr, Header)>,
}

impl Network {
    fn new(config: Config) -> Self {
        Self::seeded(1, config)
    }

    fn seeded(seed: u64, config: Config) -> Self {
        Self::probing(seed, config, arp::Probing::QUICK)
    }

    fn probing(seed: u64, config: Config, probing: arp::Probing) -> Self {
        let mut bench = Bench::seeded(seed);
        let medium = bench.device("medium");
        bench.node("eth", &["medium"], Eth::new(eth::Config::new(STATION)).unwrap());
        let later = arp::Config { addresses: Vec::new(), told_later: true, probing, ..arp::Config::new(OWN) };
        bench.node("arp", &["eth"], Arp::new(later).unwrap());
        let interface = ip::Interface { neighbours: ip::Neighbours::Below, ..ip::Interface::negotiated("arp") };
        bench.node("ip", &["arp"], Ip::new(ip::Config::host(interface)).unwrap());
        bench.node("udp", &["ip"], Udp::new(udp::Config::default()));
        bench.node("dhcp", &["udp"], Dhcp::new(config));
        let user = bench.user("user", "udp", &[]);
        bench.start();
        Self { bench, medium, user, sent: Vec::new() }
    }

    fn state(&self) -> State {
        let node = self.bench.graph.node("dhcp").unwrap();
        self.bench.graph.protocol::<Dhcp>(node).unwrap().state()
    }

    /// Lets so much time pass.
    fn pass(&mut self, time: Duration) {
        let end = self.bench.now + time;
        self.bench.pass(Duration::ZERO);
        self.take_sent();
        // Who asks for the server is answered at once.
        while let Some(due) = self.bench.graph.next_timer().filter(|due| *due <= end) {
            self.bench.pass(due.saturating_since(self.bench.now));
            self.take_sent();
        }
        self.bench.pass(end.saturating_since(self.bench.now));
    }

    /// Takes what has been sent, and answers who asks where the server is.
    fn take_sent(&mut self) {
        for octets in self.bench.sent_octets() {
            if octets[12..14] == [8, 6] {
                let (header, _) = arp_header(&octets[14..]);
                if header.op == Operation::Request && header.tpa == SERVER {
                    self.say_arp(Operation::Reply, SERVER, header.spa);
                    self.take_sent();
                }
                continue;
            }
            let (ip, at) = ipv4::Header::parse(&octets[14..], octets.len() - 14).unwrap();
            let datagram = &octets[14 + at..14 + usize::from(ip.total_length)];
            let (udp, at) = wire::Header::parse(datagram, datagram.len()).unwrap();
            assert_eq!((udp.source_port, udp.destination_port), (68, 67));
            assert_eq!(octets[..6] == MacAddr::BROADCAST.0, ip.destination == ALL);
            let (header, len) = Header::parse(&datagram[at..]).unwrap();
            assert!(len >= SHORTEST);
            self.sent.push((ip.source, ip.destination, header));
        }
    }

    /// What was sent since this was last asked.
    fn sent(&mut self) -> Vec<(Ipv4Addr, Ipv4Addr, Header)> {
        self.take_sent();
        core::mem::take(&mut self.sent)
    }

    /// The one message that was sent.
    fn one(&mut self) -> (Ipv4Addr, Ipv4Addr, Header) {
        let sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent.into_iter().next().unwrap()
    }

    fn kinds(&mut self) -> Vec<Kind> {
        self.sent().iter().map(|(.., header)| header.options.kind).collect()
    }

    fn frame(&mut self, to: MacAddr, kind: u16, octets: &[u8]) {
        let frame = [&to.0[..], &OTHER.0, &kind.to_be_bytes(), octets].concat();
        self.bench.octets(self.medium, &frame);
    }

    fn say_arp(&mut self, op: Operation, spa: Ipv4Addr, tpa: Ipv4Addr) {
        let header = arp_of(op, spa, tpa);
        let mut octets = vec![0; ARP_LEN];
        header.emit(&mut octets);
        self.frame(STATION, ethernet::ethertype::ARP, &octets);
    }

    /// A server's message, to all or to us.
    fn say(&mut self, to: Ipv4Addr, header: &Header) {
        let mut data = vec![0; header.len()];
        header.emit(&mut data);
        let length = u16::try_from(data.len() + 8).unwrap();
        let udp = [&[0, 67, 0, 68][..], &length.to_be_bytes(), &[0, 0], &data].concat();
        let ip = ipv4::Header {
            protocol: 17,
            source: SERVER,
            destination: to,
            total_length: length + 20,
            ..ipv4::Header::default()
        };
        let mut octets = vec![0; ip.len()];
        ip.emit_summed(&mut octets);
        octets.extend(udp);
        let station = if to == ALL { MacAddr::BROADCAST } else { STATION };
        self.frame(station, ethernet::ethertype::IPV4, &octets);
    }

    /// As [`Network::say`], to all, an answer to `asked` of this kind.
    fn answer(&mut self, asked: &Header, kind: Kind) {
        self.say(ALL, &answer(asked, kind));
    }

    /// What has changed of the interface, and who looks up names.
    fn told(&mut self) -> (Vec<Change>, Vec<Vec<IpAddr>>) {
        let reports = self.bench.reports(self.user);
        let special = |it: &Report| if let Report::Special(it) = it { Some(it.clone()) } else { None };
        let all: Vec<_> = reports.iter().filter_map(special).collect();
        let changes = all.iter().filter_map(|it| it.get::<Assignment>()).map(|it| {
            assert_eq!(it.by, Authority::Server);
            it.change
        });
        let resolvers = all.iter().filter_map(|it| it.get::<Resolvers>()).map(|it| it.servers.clone());
        (changes.collect(), resolvers.collect())
    }

    /// Has it bound to OWN for so many seconds; the request that was granted.
    fn bind(&mut self, lease_s: u32) -> Header {
        self.pass(SECOND * 2);
        let (.., discover) = self.one();
        self.answer(&discover, Kind::Offer);
        let (.., request) = self.one();
        let mut ack = answer(&request, Kind::Ack);
        ack.options.lease_s = Some(lease_s);
        self.say(ALL, &ack);
        self.pass(SECOND);
        assert_eq!(self.state(), State::Bound);
        assert!(self.sent().is_empty());
        request
    }

    fn report(&mut self, report: Report) {
        self.bench.indicate(self.medium, Indication::Report(Box::new(report)));
    }
}

fn arp_header(octets: &[u8]) -> (ArpHeader, usize) {
    ArpHeader::parse(octets).unwrap()
}

fn arp_of(op: Operation, spa: Ipv4Addr, tpa: Ipv4Addr) -> ArpHeader {
    ArpHeader { hrd: 1, op, sha: OTHER, spa, tha: STATION, tpa }
}

/// A server's answer: OWN, for an hour.
fn answer(asked: &Header, kind: Kind) -> Header {
    let is_nak = kind == Kind::Nak;
    let options = Options {
        kind,
        server: Some(SERVER),
        lease_s: Some(3600).filter(|_| !is_nak),
        prefix: Some(24).filter(|_| !is_nak),
        routers: if is_nak { vec![] } else { vec![SERVER] },
        resolvers: if is_nak { vec![] } else { vec![Ipv4Addr::new(10, 0, 0, 53)] },
        ..Options::default()
    };
    let yiaddr = if is_nak { NONE } else { OWN };
    Header { is_reply: true, xid: asked.xid, chaddr: asked.chaddr, yiaddr, options, ..Header::default() }
}

const fn own(probe: bool) -> Change {
    Change::Address { address: IpAddr::V4(OWN), prefix: 24, probe }
}

const DEFAULT: Change =
    Change::Route(AssignedRoute { network: IpAddr::V4(NONE), prefix: 0, router: Some(IpAddr::V4(SERVER)) });

#[test]
fn an_address_is_found_asked_for_probed_and_used() {
    let mut network = Network::new(quick());
    network.pass(SECOND);
    let (from, to, discover) = network.one();
    assert_eq!((from, to, network.state()), (NONE, ALL, State::Selecting));
    // Table 5.
    assert_eq!((discover.is_reply, discover.hops, discover.broadcast, discover.ciaddr), (false, 0, true, NONE));
    assert_eq!((discover.chaddr, discover.giaddr, discover.yiaddr), (STATION, NONE, NONE));
    let Options { kind, requested, server, client, parameters, longest, .. } = discover.options.clone();
    assert_eq!((kind, requested, server), (Kind::Discover, None, None));
    assert_eq!((client, longest), (vec![1, 2, 0, 0, 0, 0, 1], Some(1500)));
    assert_eq!(parameters, [1, 121, 3, 6, 26, 58, 59], "routes before routers (RFC 3442)");
    network.answer(&discover, Kind::Offer);
    let (from, to, request) = network.one();
    assert_eq!((from, to, network.state()), (NONE, ALL, State::Requesting));
    assert_eq!((request.xid, request.ciaddr), (discover.xid, NONE));
    assert_eq!((request.options.kind, request.options.server), (Kind::Request, Some(SERVER)));
    assert_eq!((request.options.requested, request.options.parameters), (Some(OWN), vec![1, 121, 3, 6, 26, 58, 59]));
    network.answer(&discover, Kind::Ack);
    assert_eq!(network.state(), State::Checking);
    assert!(network.told().0.is_empty());
    network.pass(SECOND);
    assert_eq!(network.state(), State::Bound);
    let (changes, resolvers) = network.told();
    assert_eq!(changes, [own(false), DEFAULT]);
    assert_eq!(resolvers, [[IpAddr::from([10, 0, 0, 53])]]);
}

#[test]
fn what_is_not_answered_is_sent_again_later_and_later_and_in_the_end_it_begins_again() {
    let mut network = Network::new(quick());
    network.pass(SECOND);
    network.one();
    let (mut waits, mut last) = (Vec::new(), None);
    while waits.len() < 6 {
        let mut waited = 0;
        while last.is_none() {
            network.pass(Duration::from_millis(10));
            waited += 10;
            last = network.sent().pop();
        }
        waits.push(waited);
        if waits.len() < 6 {
            last = None;
        }
    }
    let (.., discover) = last.unwrap();
    assert_eq!(discover.options.kind, Kind::Discover);
    let ranges = [(3000, 5000), (7000, 9000), (15_000, 17_000), (31_000, 33_000), (63_000, 65_000), (63_000, 65_000)];
    let is_in = |(wait, (from, to)): (&u64, (u64, u64))| (from..=to + 10).contains(wait);
    assert!(waits.iter().zip(ranges).all(is_in), "{waits:?}");
    network.answer(&discover, Kind::Offer);
    network.pass(SECOND * 60);
    let sent = network.sent();
    let kinds: Vec<Kind> = sent.iter().map(|(.., it)| it.options.kind).collect();
    assert_eq!(kinds, [Kind::Request; 4]);
    assert!(sent.iter().all(|(.., it)| it.xid == discover.xid));
    network.pass(SECOND * 10);
    assert!(network.kinds().iter().all(|it| *it == Kind::Discover));
    assert_eq!(network.state(), State::Selecting);
}

#[test]
fn more_time_is_asked_of_the_server_and_then_of_any() {
    let mut network = Network::new(quick());
    network.bind(3200);
    network.told();
    // Half of it, less a 64th part at most.
    network.pass(SECOND * 1572);
    assert!(network.sent().is_empty());
    network.pass(SECOND * 26);
    let (from, to, renew) = network.one();
    assert_eq!((from, to, network.state()), (OWN, SERVER, State::Renewing));
    // Table 4.
    assert_eq!((renew.ciaddr, renew.options.server, renew.options.requested), (OWN, None, None));
    // Half of what is left until T2, each time with another number.
    network.pass(SECOND * 610);
    let (.., again) = network.one();
    assert_ne!(again.xid, renew.xid);
    network.pass(SECOND * 600);
    network.sent();
    assert_eq!(network.state(), State::Rebinding);
    let before = network.bench.now;
    network.pass(SECOND * 3200 - before.saturating_since(kumiki_graph::Instant::ZERO) - SECOND * 10);
    let sent = network.sent();
    assert!(sent.iter().all(|(from, to, it)| (*from, *to, it.ciaddr) == (OWN, ALL, OWN)), "{sent:?}");
    let (.., rebind) = sent.last().cloned().unwrap();
    // An answer to an older one means nothing.
    network.answer(&renew, Kind::Ack);
    assert_eq!(network.state(), State::Rebinding);
    network.say(OWN, &answer(&rebind, Kind::Ack));
    assert_eq!(network.state(), State::Bound);
    assert!(network.told().0.is_empty(), "nothing is new");
}

#[test]
fn when_the_time_is_over_all_is_given_up_at_once() {
    let mut network = Network::new(quick());
    network.bind(600);
    network.told();
    network.pass(SECOND * 598);
    network.sent();
    assert!(network.told().0.is_empty());
    network.pass(SECOND * 3);
    let (changes, resolvers) = network.told();
    let Change::Route(way) = DEFAULT else { panic!() };
    assert_eq!(changes, [Change::NoRoute(way), Change::NoAddress(OWN.into())]);
    assert_eq!(resolvers, [Vec::<IpAddr>::new()]);
    let sent = network.sent();
    let (from, to, last) = sent.last().unwrap();
    assert_eq!((*from, *to, last.options.kind, network.state()), (NONE, ALL, Kind::Discover, State::Selecting));
}

#[test]
fn a_refusal_ends_it_in_every_state_that_asks_and_the_next_one_is_waited_for() {
    for until in [0_u64, 1600, 2850] {
        let mut network = Network::new(quick());
        let asked = if until == 0 {
            network.pass(SECOND);
            let (.., discover) = network.one();
            network.answer(&discover, Kind::Offer);
            network.one().2
        } else {
            network.bind(3200);
            network.pass(SECOND * until);
            network.sent().pop().unwrap().2
        };
        network.told();
        network.answer(&asked, Kind::Nak);
        assert_eq!(network.told().0.is_empty(), until == 0, "{until}");
        network.pass(Duration::ZERO);
        let (from, _, discover) = network.one();
        assert_eq!((from, discover.options.kind, network.state()), (NONE, Kind::Discover, State::Selecting));
        // A server that refuses what it offers is not asked without end.
        let mut asked = 0;
        let mut discover = discover;
        for _ in 0..10 {
            network.answer(&discover, Kind::Offer);
            let Some((.., request)) = network.sent().pop() else { break };
            network.answer(&request, Kind::Nak);
            network.pass(SECOND * 10);
            let Some((.., next)) = network.sent().pop() else { break };
            discover = next;
            asked += 1;
        }
        assert!(asked <= 4, "{asked}");
    }
}

#[test]
fn an_address_that_somebody_has_is_declined_and_another_one_looked_for_after_a_while() {
    let mut network = Network::new(quick());
    network.pass(SECOND);
    let (.., discover) = network.one();
    network.answer(&discover, Kind::Offer);
    let (.., request) = network.one();
    network.answer(&request, Kind::Ack);
    network.say_arp(Operation::Reply, OWN, NONE);
    let (from, to, decline) = network.one();
    assert_eq!((from, to, decline.options.kind, decline.ciaddr), (NONE, ALL, Kind::Decline, NONE));
    assert_eq!((decline.options.requested, decline.options.server), (Some(OWN), Some(SERVER)));
    assert!(decline.options.parameters.is_empty() && decline.options.longest.is_none(), "table 5");
    network.pass(SECOND * 9);
    assert!(network.sent().is_empty());
    network.pass(SECOND * 2);
    assert_eq!(network.kinds(), [Kind::Discover]);
    assert!(!network.told().0.contains(&own(false)));
}

#[test]
fn what_it_had_before_is_asked_for_first_and_kept_where_nobody_contradicts() {
    let previous = Config { previous: Some(OWN), ..quick() };
    let mut network = Network::new(previous);
    network.pass(SECOND);
    let (from, to, request) = network.one();
    assert_eq!((from, to, network.state()), (NONE, ALL, State::Rebooting));
    // Table 4.
    assert_eq!((request.ciaddr, request.options.server, request.options.requested), (NONE, None, Some(OWN)));
    network.answer(&request, Kind::Ack);
    network.pass(SECOND);
    assert_eq!(network.state(), State::Bound);
    // The link goes and comes: it asks again, with its address meanwhile, and keeps that where nobody answers.
    network.report(Report::Down);
    network.report(Report::Up);
    network.pass(SECOND);
    assert_eq!(network.state(), State::Rebooting);
    network.pass(SECOND * 70);
    assert_eq!(network.kinds(), [Kind::Request; 4]);
    assert_eq!(network.state(), State::Bound);
    network.told();
    network.report(Report::Down);
    network.report(Report::Up);
    network.pass(SECOND);
    let (.., request) = network.one();
    network.answer(&request, Kind::Nak);
    assert!(network.told().0.contains(&Change::NoAddress(OWN.into())));
    network.pass(Duration::ZERO);
    let (.., discover) = network.one();
    assert_eq!((discover.options.kind, discover.options.requested), (Kind::Discover, None));
}

#[test]
fn without_an_answer_to_what_it_had_before_it_looks_for_servers() {
    let mut network = Network::new(Config { previous: Some(OWN), ..quick() });
    network.pass(SECOND * 80);
    let kinds = network.kinds();
    let (first, rest) = kinds.split_at(4);
    assert_eq!(first, [Kind::Request; 4]);
    assert!(!rest.is_empty() && rest.iter().all(|it| *it == Kind::Discover), "{rest:?}");
}

#[test]
fn it_gives_its_address_back_and_wants_none() {
    let mut network = Network::new(quick());
    network.bind(3600);
    network.told();
    let user = network.user;
    network.bench.say(user, Request::Manage(Box::new(Manage::special(GiveBack))));
    let (from, to, release) = network.one();
    assert_eq!((from, to, release.options.kind), (OWN, SERVER, Kind::Release));
    assert_eq!((release.ciaddr, release.options.server, release.options.requested), (OWN, Some(SERVER), None));
    assert!(network.told().0.contains(&Change::NoAddress(OWN.into())));
    network.pass(SECOND * 100_000);
    assert!(network.sent().is_empty());
}

#[test]
fn answers_to_others_or_of_no_use_change_nothing() {
    let mut network = Network::new(quick());
    network.pass(SECOND);
    let (.., discover) = network.one();
    let offer = answer(&discover, Kind::Offer);
    let changes: [fn(&mut Header); 7] = [
        |it| it.xid ^= 1,
        |it| it.chaddr = OTHER,
        |it| it.is_reply = false,
        |it| it.options.client = vec![1, 9, 9],
        |it| it.options.server = None,
        |it| it.yiaddr = ALL,
        |it| it.options.kind = Kind::Ack,
    ];
    for change in changes {
        let mut wrong = offer.clone();
        change(&mut wrong);
        network.say(ALL, &wrong);
        assert_eq!(network.state(), State::Selecting, "{wrong:?}");
    }
    network.say(ALL, &offer);
    let (.., request) = network.one();
    let ack = answer(&request, Kind::Ack);
    let changes: [fn(&mut Header); 4] = [
        |it| it.options.lease_s = None,
        |it| it.options.lease_s = Some(0),
        |it| it.options.server = Some(Ipv4Addr::new(10, 0, 0, 9)),
        |it| it.yiaddr = NONE,
    ];
    for change in changes {
        let mut wrong = ack.clone();
        change(&mut wrong);
        network.say(ALL, &wrong);
        assert_eq!(network.state(), State::Requesting, "{wrong:?}");
    }
    let node = network.bench.graph.node("dhcp").unwrap();
    let counters = *network.bench.graph.protocol::<Dhcp>(node).unwrap().counters();
    assert_eq!((counters.sent, counters.taken, counters.ignored), (2, 1, 11));
}

#[test]
fn routes_come_in_the_place_of_routers_and_what_is_new_with_more_time_is_told() {
    let mut network = Network::new(quick());
    network.pass(SECOND);
    let (.., discover) = network.one();
    network.answer(&discover, Kind::Offer);
    let (.., request) = network.one();
    let mut ack = answer(&request, Kind::Ack);
    let far = Ipv4Addr::new(10, 9, 0, 0);
    ack.options.routes =
        vec![Route { network: far, prefix: 16, router: NONE }, Route { network: NONE, prefix: 0, router: SERVER }];
    (ack.options.mtu, ack.options.t1_s, ack.options.t2_s) = (Some(1400), Some(100), Some(200));
    network.say(ALL, &ack);
    network.pass(SECOND);
    let on_link = AssignedRoute { network: far.into(), prefix: 16, router: None };
    let (changes, _) = network.told();
    assert_eq!(changes, [own(false), Change::Route(on_link), DEFAULT, Change::Mtu(Some(1400))]);
    // T1 as it is said, less a 64th part at most.
    network.pass(SECOND * 100);
    let (.., renew) = network.sent().swap_remove(0);
    network.say(OWN, &answer(&renew, Kind::Ack));
    let (changes, _) = network.told();
    let Change::Route(way) = DEFAULT else { panic!() };
    let expected = [Change::NoRoute(on_link), Change::NoRoute(way), Change::Mtu(None), DEFAULT];
    assert_eq!(changes, expected, "the address stays");
}

#[test]
fn a_lease_for_ever_is_not_asked_for_again() {
    let mut network = Network::new(quick());
    network.bind(u32::MAX);
    network.pass(SECOND * 1_000_000_000);
    assert_eq!(network.state(), State::Bound);
    assert!(network.sent().is_empty());
}

#[test]
fn the_same_seed_says_the_same_and_others_do_not() {
    let run = |seed| {
        let mut network = Network::seeded(seed, quick());
        network.pass(SECOND * 300);
        network.sent().into_iter().map(|(.., it)| (it.xid, it.secs)).collect::<Vec<_>>()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn it_begins_and_probes_as_the_standards_say() {
    for seed in 0..20 {
        let mut network = Network::probing(seed, Config::new(STATION), arp::Probing::RFC_5227);
        network.pass(Duration::from_millis(999));
        assert!(network.sent().is_empty(), "1 to 10 s (RFC 2131 section 4.4.1)");
        network.pass(Duration::from_millis(9001));
        let (.., discover) = network.sent().pop().unwrap();
        network.answer(&discover, Kind::Offer);
        let (.., request) = network.one();
        assert_eq!(request.secs, discover.secs, "section 3.1 (3)");
        network.answer(&request, Kind::Ack);
        // RFC 5227 section 1.1: 0 to 1, twice 1 to 2, and 2 s.
        network.pass(Duration::from_millis(3999));
        assert_eq!(network.state(), State::Checking);
        network.pass(Duration::from_millis(3001));
        assert_eq!(network.state(), State::Bound);
    }
}

/// A client that has asked for what was offered, what it asked, and what would be granted.
fn requesting() -> (Network, Header, Header) {
    let mut network = Network::new(quick());
    network.pass(SECOND);
    let (.., discover) = network.one();
    network.answer(&discover, Kind::Offer);
    let (.., request) = network.one();
    let ack = answer(&request, Kind::Ack);
    (network, request, ack)
}

#[test]
fn an_offer_that_could_not_be_used_is_none_and_another_server_is_heard() {
    let mut network = Network::new(quick());
    network.pass(SECOND);
    let (.., discover) = network.one();
    let offer = answer(&discover, Kind::Offer);
    let changes: [fn(&mut Header); 8] = [
        |it| it.options.lease_s = None,
        |it| it.options.lease_s = Some(0),
        |it| it.options.server = Some(ALL),
        |it| it.options.server = Some(NONE),
        |it| it.yiaddr = Ipv4Addr::new(10, 0, 0, 255),
        |it| it.yiaddr = Ipv4Addr::new(10, 0, 0, 0),
        |it| it.yiaddr = Ipv4Addr::new(224, 0, 0, 1),
        |it| it.yiaddr = Ipv4Addr::LOCALHOST,
    ];
    for change in changes {
        let mut wrong = offer.clone();
        change(&mut wrong);
        network.say(ALL, &wrong);
        assert_eq!(network.state(), State::Selecting, "{wrong:?}");
    }
    network.say(ALL, &offer);
    assert_eq!(network.state(), State::Requesting);
}

#[test]
fn another_address_than_was_offered_is_not_taken() {
    let (mut network, _, ack) = requesting();
    network.say(ALL, &Header { yiaddr: Ipv4Addr::new(10, 0, 0, 78), ..ack.clone() });
    assert_eq!(network.state(), State::Requesting);
    network.say(ALL, &ack);
    assert_eq!(network.state(), State::Checking);
}

#[test]
fn a_renewal_that_is_said_to_be_at_once_is_at_its_usual_time() {
    for (t1, t2) in [(0, 1), (1, 3599), (59, 60), (3000, 2000), (1800, 3600), (4000, 5000)] {
        let (mut network, _, mut ack) = requesting();
        (ack.options.t1_s, ack.options.t2_s) = (Some(t1), Some(t2));
        network.say(ALL, &ack);
        network.pass(SECOND * 1770);
        assert_eq!((network.state(), network.sent().len()), (State::Bound, 0), "{t1} {t2}");
        network.pass(SECOND * 40);
        assert_eq!(network.state(), State::Renewing);
    }
}

#[test]
fn leases_that_are_over_before_they_can_be_used_are_asked_for_later_and_later() {
    let mut network = Network::probing(1, quick(), arp::Probing::RFC_5227);
    let mut discovers = 0;
    for _ in 0..600 {
        network.pass(SECOND);
        for (.., asked) in network.sent() {
            let kind = if asked.options.kind == Kind::Discover { Kind::Offer } else { Kind::Ack };
            discovers += u32::from(kind == Kind::Offer);
            let mut short = answer(&asked, kind);
            short.options.lease_s = Some(1);
            network.say(ALL, &short);
        }
    }
    assert!((5..25).contains(&discovers), "{discovers} in ten minutes");
    assert!(network.told().0.is_empty());
}

#[test]
fn an_address_that_was_still_looked_at_when_the_link_went_is_looked_at_again() {
    let (mut network, _, ack) = requesting();
    network.say(ALL, &ack);
    network.report(Report::Down);
    network.report(Report::Up);
    network.pass(SECOND);
    let (.., request) = network.one();
    assert_eq!((network.state(), request.options.requested), (State::Rebooting, Some(OWN)));
    assert!(network.told().0.is_empty());
    network.answer(&request, Kind::Ack);
    assert_eq!(network.state(), State::Checking);
    network.pass(SECOND);
    assert_eq!(network.told().0, [own(false), DEFAULT]);
}

#[test]
fn routers_and_resolvers_that_are_no_hosts_are_passed_over() {
    let (mut network, _, mut ack) = requesting();
    // Only of a classless route it means that the network is on the link (RFC 3442).
    ack.options.routers = vec![NONE, ALL, SERVER];
    ack.options.resolvers = vec![ALL, NONE, Ipv4Addr::new(224, 0, 0, 1), SERVER];
    network.say(ALL, &ack);
    network.pass(SECOND);
    let (changes, resolvers) = network.told();
    assert_eq!((changes, resolvers), (vec![own(false), DEFAULT], vec![vec![SERVER.into()]]));
    let (mut network, _, mut ack) = requesting();
    let to = |router| Route { network: NONE, prefix: 0, router };
    ack.options.routes = vec![to(ALL), to(Ipv4Addr::new(239, 1, 1, 1)), to(SERVER), to(SERVER)];
    network.say(ALL, &ack);
    network.pass(SECOND);
    assert_eq!(network.told().0, [own(false), DEFAULT]);
}

#[test]
fn the_longest_list_of_routes_goes_as_it_came_and_repeated_grants_add_nothing() {
    let (mut network, _, mut ack) = requesting();
    let network_of = |it: u8| Route { network: Ipv4Addr::new(it, 0, 0, 0), prefix: 8, router: SERVER };
    ack.options.routes = (20..=200).filter(|it| *it != 127).map(network_of).collect();
    for _ in 0..100 {
        network.say(ALL, &ack);
    }
    network.pass(SECOND);
    let (changes, _) = network.told();
    assert_eq!(changes.len(), 181, "180 routes and the address");
    for _ in 0..100 {
        network.say(ALL, &ack);
    }
    assert!(network.told().0.is_empty());
    let user = network.user;
    network.bench.say(user, Request::Manage(Box::new(Manage::special(GiveBack))));
    let (changes, _) = network.told();
    assert_eq!(changes.len(), 181);
    assert!(changes.iter().all(|it| matches!(it, Change::NoRoute(_) | Change::NoAddress(_))));
}

proptest! {
    // Whatever servers say at whatever time: nothing panics, nobody talks without end, and an address is used within
    // its time alone.
    #[test]
    fn any_messages_leave_it_well(
        seed: u64,
        said in proptest::collection::vec((0..9_u8, 0..2000_u64, proptest::option::of(0..4000_u32), any::<bool>()), 0..40),
    ) {
        let mut network = Network::seeded(seed, quick());
        network.pass(SECOND);
        let mut asked = network.sent().pop().map(|(.., it)| it).unwrap_or_default();
        let (mut until, mut has_it) = (kumiki_graph::Instant::ZERO, false);
        for (kind, wait, lease_s, is_other) in said {
            let kinds = [Kind::Offer, Kind::Ack, Kind::Nak, Kind::Offer, Kind::Ack, Kind::Release, Kind::Inform, Kind::Ack, Kind::Offer];
            let mut header = answer(&asked, kinds[usize::from(kind)]);
            header.options.lease_s = lease_s;
            header.yiaddr = if is_other { Ipv4Addr::new(10, 0, 0, 78) } else { OWN };
            network.say(ALL, &header);
            if header.options.kind == Kind::Ack {
                until = until.max(network.bench.now + Duration::from_secs(lease_s.unwrap_or(0).into()));
            }
            network.pass(Duration::from_secs(wait));
            let sent = network.sent();
            prop_assert!(sent.len() as u64 <= 8 + wait, "{} in {wait} s", sent.len());
            if let Some((.., last)) = sent.into_iter().last() { asked = last; }
            for change in network.told().0 {
                match change {
                    Change::Address { .. } => { prop_assert!(!has_it); has_it = true; }
                    Change::NoAddress(_) => { prop_assert!(has_it); has_it = false; }
                    Change::Duplicate(_) | Change::Route(_) | Change::NoRoute(_) | Change::Mtu(_) => {}
                }
            }
            prop_assert!(!has_it || network.bench.now <= until, "beyond its time");
        }
    }
}
