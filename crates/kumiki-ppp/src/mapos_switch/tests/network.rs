//! Several switches and nodes with all their layers, joined by lines.

use core::net::Ipv4Addr;
use kumiki_graph::Unit;
use kumiki_wire::numbering::IP_PROTOCOL;
use std::collections::BTreeSet;

use kumiki_graph::{Address, Key, NodeId};
use proptest::prelude::*;

use super::*;
use crate::mapos::{self as resolver, Mapos};
use crate::sdh::{self, Sdh};
use kumiki_inet::ip::{self, Interface, Ip, Neighbours};

/// What two neighbours need to agree on a tree that one of them has lost by signal, and a period of updates for what is
/// not told at once: the standard's times are 30 s and 10 s.
const HEALED_BY_SIGNAL: u64 = 30 + 2 * 10;
/// Where nobody tells of the loss, routes must expire first.
const HEALED: u64 = 30 + HEALED_BY_SIGNAL;
/// Frames that one moment may bring. A storm has no end.
const MOST_AT_ONCE: usize = 20_000;

/// A line between two devices.
struct Line {
    ends: [DeviceId; 2],
    works: bool,
    delay: Duration,
    /// Whether its ends have been told that they have no signal.
    dark: bool,
}

/// Switches are numbered from 1 and stand on devices `sNUMBER.PORT`, where ports count from 0; nodes from 1, on
/// `nNUMBER`.
struct Network {
    bench: Bench,
    lines: Vec<Line>,
    switches: Vec<NodeId>,
    users: Vec<NodeId>,
    /// When what arrives where, and behind how many others.
    in_flight: BTreeMap<(Instant, u64), (usize, DeviceId, Unit)>,
    /// Datagrams sent, and who has heard which.
    datagrams: u16,
    known: BTreeSet<(usize, Vec<u8>)>,
    /// Frames that were on any line, and what was in them.
    crossed: u64,
    octets: Vec<u8>,
}

fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(node).unwrap())
}

const ALL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 255);

impl Network {
    /// With switches of so many ports each, and nodes; nothing is joined.
    fn new(seed: u64, subnet: Subnet, switches: &[usize], nodes: usize) -> Self {
        let mut bench = Bench::seeded(seed);
        for (number, ports) in (1_u16..).zip(switches) {
            for port in 0..*ports {
                bench.device(&format!("s{number}.{port}"));
            }
        }
        for node in 1..=nodes {
            bench.device(&format!("n{node}"));
        }
        let mut network = Self {
            bench,
            lines: Vec::new(),
            switches: Vec::new(),
            users: Vec::new(),
            in_flight: BTreeMap::new(),
            datagrams: 0,
            known: BTreeSet::new(),
            crossed: 0,
            octets: Vec::new(),
        };
        for (number, ports) in (1_u16..).zip(switches) {
            let below: Vec<_> = (0..*ports).map(|it| format!("s{number}.{it}")).collect();
            let below: Vec<&str> = below.iter().map(String::as_str).collect();
            let switch = MaposSwitch::new(Config::new(subnet, number)).unwrap();
            let node = network.bench.node(&format!("switch{number}"), &below, switch);
            network.switches.push(node);
        }
        for node in 1..=nodes {
            network.add_node(node, subnet.width());
        }
        network
    }

    fn add_node(&mut self, node: usize, width: Width) {
        let name = |layer: &str| format!("{layer}{node}");
        let driver = sdh::Config { width, ..sdh::Config::default() };
        let bench = &mut self.bench;
        let driver = Sdh::new(driver).unwrap();
        bench.node(&name("sdh"), &[&name("n")], driver);
        let mapos = Mapos::new(resolver::Config::new(address(node))).unwrap();
        bench.node(&name("mapos"), &[&name("sdh")], mapos);
        let interface = Interface {
            neighbours: Neighbours::Below,
            mtu: 65_280,
            ..Interface::new(&name("mapos"), address(node), 24)
        };
        let ip = Ip::new(ip::Config::host(interface)).unwrap();
        bench.node(&name("ip"), &[&name("mapos")], ip);
        let user = bench.user(&name("user"), &name("ip"), &[Key::of(IP_PROTOCOL, 17)]);
        self.users.push(user);
    }

    fn device(&self, name: &str) -> DeviceId {
        let mut names = self.bench.graph.device_names();
        DeviceId(names.position(|it| it == name).unwrap())
    }

    /// Joins two devices, by name; the number of the line.
    fn join(&mut self, a: &str, b: &str) -> usize {
        let ends = [self.device(a), self.device(b)];
        self.lines.push(Line { ends, works: true, delay: Duration::ZERO, dark: false });
        self.lines.len() - 1
    }

    fn start(&mut self) {
        self.bench.start();
        self.carry();
    }

    /// Brings what was sent to the other ends, until nothing is due at this instant.
    fn carry(&mut self) {
        for carried in 0.. {
            assert!(carried < MOST_AT_ONCE, "a storm");
            for (device, unit) in self.bench.sent() {
                let line = self.lines.iter().position(|it| it.ends.contains(&device));
                if let Some(number) = line {
                    let line = &self.lines[number];
                    let [a, b] = line.ends;
                    let to = if a == device { b } else { a };
                    let at = self.bench.now + line.delay;
                    self.crossed += 1;
                    self.in_flight.insert((at, self.crossed), (number, to, unit));
                }
            }
            let due = self.in_flight.first_entry();
            let Some(due) = due.filter(|it| it.key().0 <= self.bench.now) else {
                return;
            };
            let (line, to, unit) = due.remove();
            if self.lines[line].works {
                self.octets.extend(unit.data.to_vec());
                self.bench.receive(to, unit);
            }
        }
    }

    fn pass(&mut self, seconds: u64) {
        let until = self.bench.now + Duration::from_secs(seconds);
        loop {
            let timer = self.bench.graph.next_timer();
            let arrives = self.in_flight.first_key_value().map(|(key, _)| key.0);
            let due = timer.into_iter().chain(arrives).min();
            let Some(due) = due.filter(|due| *due <= until) else {
                break;
            };
            self.bench.pass(due.saturating_since(self.bench.now));
            self.carry();
        }
        self.bench.pass(until.saturating_since(self.bench.now));
    }

    /// Cuts a line without a word, or mends it.
    fn set(&mut self, line: usize, works: bool) {
        self.lines[line].works = works;
    }

    /// The ends of a line lose their signal, or get it back.
    fn signal(&mut self, line: usize, works: bool) {
        self.set(line, works);
        self.lines[line].dark = !works;
        for end in self.lines[line].ends {
            let report = if works { Report::Up } else { Report::Down };
            let report = Indication::Report(Box::new(report));
            self.bench.indicate(end, report);
        }
        self.carry();
    }

    /// Sends a datagram that is like no other.
    fn send(&mut self, from: usize, to: Ipv4Addr) {
        self.datagrams += 1;
        let unit =
            Unit { destination: Address::from(to), ..Unit::of(Message::from_octets(&self.datagrams.to_be_bytes())) };
        self.bench.send(self.users[from - 1], unit);
        self.carry();
    }

    /// How many datagrams each node has heard since this was last asked; none may ever be heard twice.
    fn heard(&mut self) -> Vec<usize> {
        let mut counts = Vec::new();
        for (node, user) in self.users.clone().into_iter().enumerate() {
            let units = self.bench.units(user);
            counts.push(units.len());
            for unit in units {
                let datagram = unit.data.to_vec();
                let twice = !self.known.insert((node + 1, datagram));
                assert!(!twice, "node {} hears a datagram twice", node + 1);
            }
        }
        counts
    }

    /// Which nodes hear a broadcast of `from` at once.
    fn broadcast(&mut self, from: usize) -> Vec<usize> {
        self.heard();
        self.send(from, ALL);
        self.heard()
    }

    /// Everybody else hears everybody's broadcast once.
    fn assert_whole(&mut self) {
        let nodes = self.users.len();
        for from in 1..=nodes {
            let mut expected = vec![1; nodes];
            expected[from - 1] = 0;
            assert_eq!(self.broadcast(from), expected, "from {from}");
        }
    }

    fn switch(&self, number: usize) -> &MaposSwitch {
        let node = self.switches[number - 1];
        self.bench.graph.protocol(node).unwrap()
    }

    fn address(&self, node: usize) -> Option<u16> {
        let id = self.bench.graph.node(&format!("sdh{node}")).unwrap();
        let sdh: &Sdh = self.bench.graph.protocol(id).unwrap();
        sdh.address().map(kumiki_wire::ppp::mapos::Address::bits)
    }
}

/// Figure 2 of RFC 2174: three switches in a triangle and four nodes. S1 is 1 with N3, S2 is 2 with N1 and N2, S3 is 3
/// with N4.
fn figure_2() -> Network {
    let mut network = Network::new(1, subnet(), &[4, 4, 4], 4);
    for (a, b) in [
        ("n1", "s2.0"),
        ("n2", "s2.1"),
        ("s2.3", "s1.1"),
        ("s2.2", "s3.1"),
        ("s1.2", "s3.0"),
        ("n3", "s1.3"),
        ("n4", "s3.3"),
    ] {
        network.join(a, b);
    }
    network.start();
    network
}

/// Four switches in a ring with one chord, a node at each.
fn ring(seed: u64) -> (Network, [usize; 5]) {
    let mut network = Network::new(seed, Subnet::new(Width::Eight, 3).unwrap(), &[4; 4], 4);
    for node in 1..=4 {
        network.join(&format!("n{node}"), &format!("s{node}.0"));
    }
    let lines = [("s1.1", "s2.2"), ("s2.1", "s3.2"), ("s3.1", "s4.2"), ("s4.1", "s1.2"), ("s1.3", "s3.3")];
    let lines = lines.map(|(a, b)| network.join(a, b));
    network.start();
    (network, lines)
}

#[test]
fn the_figures_of_rfc_2174_come_out() {
    let mut network = figure_2();
    network.pass(1);
    // The addresses in figure 2.
    let addresses = [1, 2, 3, 4].map(|node| network.address(node));
    assert_eq!(addresses, [0x43, 0x45, 0x29, 0x69].map(Some));
    // Table 1.
    let routes: Vec<_> = network
        .switch(1)
        .routes()
        .map(|(route, port)| (route.switch, route.subnet.mask(), route.metric.0, port))
        .collect();
    assert_eq!(routes, [(1, 0xe0, 0, None), (2, 0xe0, 1, Some(5)), (3, 0xe0, 1, Some(7))]);
    // Unicast needs no tree, broadcast does.
    assert_eq!(network.broadcast(1), [0, 1, 0, 0]);
    network.pass(40);
    // Figure 6, and figure 5 from the other two.
    assert_eq!(network.switch(2).spreads_to().collect::<Vec<_>>(), [3, 5, 9]);
    assert_eq!(network.switch(1).spreads_to().collect::<Vec<_>>(), [5, 7, 9]);
    assert_eq!(network.switch(3).spreads_to().collect::<Vec<_>>(), [3, 9]);
    // Figures 7 to 9.
    network.assert_whole();
}

#[test]
fn datagrams_find_their_way_after_one_question() {
    // Resolution is by broadcast, so the tree must be there.
    let mut network = figure_2();
    network.pass(40);
    for from in 1..=4 {
        for to in (1..=4).filter(|to| *to != from) {
            network.heard();
            network.send(from, address(to));
            let mut expected = vec![0; 4];
            expected[to - 1] = 1;
            assert_eq!(network.heard(), expected, "{from} to {to}");
        }
    }
}

#[test]
fn a_ring_carries_every_broadcast_once_and_heals_when_a_line_is_cut() {
    let (_, lines) = ring(1);
    for cut in lines {
        let (mut network, _) = ring(1);
        network.pass(50);
        network.assert_whole();
        for (by_signal, bound) in [(true, HEALED_BY_SIGNAL), (false, HEALED)] {
            for works in [false, true] {
                if by_signal {
                    network.signal(cut, works);
                } else {
                    network.set(cut, works);
                }
                for _ in 0..bound {
                    network.broadcast(1);
                    network.pass(1);
                }
                network.assert_whole();
            }
        }
    }
}

#[test]
fn a_switch_that_is_lost_is_counted_to_16_and_forgotten() {
    let (mut network, lines) = ring(1);
    network.pass(50);
    // Switch 4 without a line: to the others it is unreachable, and soon gone.
    for line in [lines[2], lines[3]] {
        network.set(line, false);
    }
    let metrics = |network: &Network| -> Vec<u32> {
        let of = |number| network.switch(number).routes();
        let all = [1, 2, 3].into_iter().flat_map(of);
        all.filter(|(route, _)| route.switch == 4).map(|(route, _)| route.metric.0).collect()
    };
    let mut seen = Vec::new();
    for _ in 0..100 {
        network.pass(1);
        let now = metrics(&network);
        assert!(now.iter().all(|metric| *metric <= 16), "{now:?}");
        seen.extend(now);
    }
    assert!(seen.contains(&16));
    assert!(metrics(&network).is_empty());
}

#[test]
fn a_new_root_and_its_loss_never_make_a_loop() {
    let (mut network, lines) = ring(1);
    // Switch 1, which is the root, is cut off and comes back.
    network.pass(50);
    for works in [false, true] {
        for line in [lines[0], lines[3], lines[4]] {
            network.set(line, works);
        }
        for _ in 0..HEALED {
            for from in 1..=4 {
                network.broadcast(from);
            }
            network.pass(1);
        }
        let others = if works { 1 } else { 0 };
        assert_eq!(network.broadcast(2), [others, 0, 1, 1]);
        assert_eq!(network.switch(3).vss(), if works { 1 } else { 2 });
    }
}

#[test]
fn a_node_that_moves_gets_another_address_and_is_found_there() {
    let mut network = figure_2();
    network.pass(50);
    network.send(1, address(4));
    network.heard();
    // N4 goes from S3's port 9 to S2's port 9; there is none left, so S1's port 3.
    network.signal(6, false);
    network.lines.remove(6);
    let line = network.join("n4", "s1.0");
    network.signal(line, true);
    assert_eq!(network.address(4), Some(0x23));
    // Its UNARP has told N1 to forget the old address.
    network.send(1, address(4));
    assert_eq!(network.heard(), [0, 0, 0, 1]);
    network.send(4, address(1));
    assert_eq!(network.heard(), [1, 0, 0, 0]);
    // Where it was nothing is delivered.
    network.pass(1);
    assert!(!network.switch(3).spreads_to().any(|port| port == 9));
}

#[test]
fn the_same_seed_gives_the_same_octets() {
    let run = || {
        let (mut network, lines) = ring(7);
        network.pass(60);
        network.set(lines[0], false);
        for from in 1..=4 {
            network.send(from, address(from % 4 + 1));
            network.pass(30);
        }
        (network.crossed, network.octets)
    };
    let first = run();
    assert!(first.0 > 100);
    assert_eq!(first, run());
}

#[test]
fn addresses_of_16_bits_do_all_of_it_too() {
    let subnet = Subnet::new(Width::Sixteen, 8).unwrap();
    let mut network = Network::new(1, subnet, &[3; 3], 3);
    for node in 1..=3 {
        network.join(&format!("n{node}"), &format!("s{node}.0"));
        let next = node % 3 + 1;
        network.join(&format!("s{node}.1"), &format!("s{next}.2"));
    }
    network.start();
    network.pass(50);
    network.assert_whole();
    network.send(1, address(3));
    assert_eq!(network.heard(), [0, 0, 1]);
    assert_eq!(network.address(1), Some(0x0043));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any graph of switches with lines of any length, cut and mended at any times, silently or by signal: nobody ever
    /// hears a broadcast twice, and when it has been left alone for long enough, everybody who is joined to the sender
    /// hears it.
    #[test]
    fn no_graph_of_switches_loops(
        joined in proptest::collection::vec((1_usize..=6, 1_usize..=6, 0_u64..500), 3..10),
        changes in proptest::collection::vec((0_usize..10, any::<bool>(), 0_u64..70), 0..6),
    ) {
        let mut network = Network::new(1, Subnet::new(Width::Eight, 3).unwrap(), &[7; 6], 6);
        let mut used = [0; 7];
        for node in 1..=6 {
            network.join(&format!("n{node}"), &format!("s{node}.0"));
        }
        let mut lines = Vec::new();
        for (a, b, delay_ms) in joined {
            let port = |it: usize, used: &mut [usize; 7]| {
                used[it] += 1;
                format!("s{it}.{}", used[it])
            };
            // A port that leads back to its own switch is allowed; seven lines to one switch are not there.
            if used[a] + 2 > 6 || used[b] + 2 > 6 {
                continue;
            }
            let (from, to) = (port(a, &mut used), port(b, &mut used));
            let line = network.join(&from, &to);
            network.lines[line].delay = Duration::from_millis(delay_ms);
            lines.push((line, a, b));
        }
        network.start();
        let watch = |network: &mut Network, seconds: u64| {
            for second in 0..seconds {
                network.send(usize::try_from(second % 6).unwrap() + 1, ALL);
                network.pass(1);
                network.heard();
            }
        };
        for (which, by_signal, after) in changes {
            watch(&mut network, after);
            let Some(&(line, ..)) = lines.get(which % lines.len().max(1)) else { continue };
            let works = !network.lines[line].works;
            if by_signal || network.lines[line].dark {
                network.signal(line, works);
            } else {
                network.set(line, works);
            }
        }
        // What expires silently may do so one after the other, and news of it takes its time.
        watch(&mut network, 2 * HEALED);
        for from in 1..=6 {
            let mut reached = vec![from];
            let mut at = 0;
            while let Some(&switch) = reached.get(at) {
                at += 1;
                for &(line, a, b) in &lines {
                    let next = if a == switch { b } else if b == switch { a } else { continue };
                    if network.lines[line].works && !reached.contains(&next) {
                        reached.push(next);
                    }
                }
            }
            let expected: Vec<_> = (1..=6)
                .map(|node| usize::from(node != from && reached.contains(&node)))
                .collect();
            // What was sent before is no longer in flight.
            network.pass(5);
            network.heard();
            network.send(from, ALL);
            network.pass(5);
            prop_assert_eq!(network.heard(), expected, "from {}", from);
        }
    }
}
