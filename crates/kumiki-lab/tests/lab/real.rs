//! Hosts that are real: what they send crosses the world at the times of its lines, octet by octet, and what cannot be
//! is refused.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use std::net::Ipv4Addr;

use crate::arrange::{parse, point, scenario};
use kumiki_graph::{Duration, Instant};
use kumiki_lab::experiment::{Experiment, LiveWorld, Options};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;
use kumiki_lab::scenario::{Choice, Document};
use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::Header;

const PAIR: &str = r#"
title = "Two hosts on a line"
[host.a]
graph = ["ip", "l0"]
real = { run = "true" }
[host.b]
like = "a"
real = { tun = "k0" }
[link.line]
ends = ["a", "b"]
medium = "point-to-point"
rate = "8 Mb/s"
propagation = "10 ms"
"#;

fn live(document: &Document, set: &[&str]) -> LiveWorld {
    let point = point(document, set);
    Laboratory::live(&point).unwrap_or_else(|fault| panic!("{}", point.locate(fault)))
}

fn datagram(source: Ipv4Addr, destination: Ipv4Addr, data: usize) -> Vec<u8> {
    let mut header = Header { protocol: 253, source, destination, time_to_live: 9, ..Header::default() };
    header.total_length = u16::try_from(header.len() + data).unwrap();
    let mut octets = vec![0; header.len()];
    header.emit_summed(&mut octets);
    octets.resize(octets.len() + data, 0x5a);
    octets
}

/// What has come to real hosts by `end`: to which, when, and the octets.
fn left(world: &mut LiveWorld, end: Instant) -> Vec<(usize, Instant, Vec<u8>)> {
    world.pass(end);
    core::iter::from_fn(|| world.take_left()).map(|left| (left.host, left.at, left.packet.to_vec())).collect()
}

const fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

#[test]
fn a_packet_takes_the_time_of_the_line_and_stays_what_it_is() {
    let mut world = live(&parse(PAIR), &[]);
    let addresses: Vec<_> = world.real().iter().flat_map(|host| host.addresses.clone()).collect();
    assert_eq!(addresses, [("10.0.0.1".parse().unwrap(), 24), ("10.0.0.2".parse().unwrap(), 24)]);
    assert_eq!(world.known(), [("a".to_owned(), addresses[0].0), ("b".to_owned(), addresses[1].0)]);
    let octets = datagram(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), 980);
    assert!(left(&mut world, at(5_000)).is_empty());
    world.arrive(0, Message::from_octets(&octets));
    world.arrive(0, Message::from_octets(&octets));
    // 1000 octets at 8 Mb/s take 1 ms.
    let came = left(&mut world, at(100_000));
    assert_eq!(came, [(1, at(5_000 + 1_000 + 10_000), octets.clone()), (1, at(5_000 + 2_000 + 10_000), octets)]);
}

/// Through ATM, a router and a line: a hop less to live, and the rest as it was; the loads of real hosts are left out.
#[test]
fn real_hosts_take_the_places_of_hosts_of_any_scenario() {
    let set = ["host.a.real.run=[\"true\"]", "host.b.real.gateway=true"];
    let mut world = live(&scenario("router"), &set);
    assert_eq!(world.left_out(), ["datagrams"]);
    assert_eq!(world.real().iter().map(|host| host.mtu).collect::<Vec<_>>(), [9180, 1500]);
    let octets = datagram(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 1), 1000);
    world.arrive(0, Message::from_octets(&octets));
    let came = left(&mut world, at(100_000));
    let [(1, _, got)] = came.as_slice() else { panic!("{came:?}") };
    assert_eq!((got[8], &got[12..]), (8, &octets[12..]));
    // Cells make room for no more than 135.6 Mb/s; then 1020 octets and 9 of framing at 100 Mb/s, and 1.1 ms of
    // propagation.
    let took = came[0].1.saturating_since(Instant::ZERO).as_secs_f64() * 1e6;
    assert!((1_100.0 + 82.3 + 60.0..1_100.0 + 82.3 + 75.0).contains(&took), "{took}");
    // The gateway takes what is for anybody.
    let far = datagram(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 77), 10);
    world.arrive(0, Message::from_octets(&far));
    assert_eq!(left(&mut world, at(200_000)).len(), 1);
}

/// Of both versions, and of all interfaces.
#[test]
fn all_addresses_of_a_host_are_known() {
    let two = r#"
title = "Two versions"
[host.a]
graph = { ip = ["l0"], ipv6 = ["l1"] }
ipv6 = { address = "fd00::1/64" }
real = { run = "true" }
[host.b]
like = "a"
ipv6 = { address = "fd00::2/64" }
[link.four]
ends = ["a.l0", "b.l0"]
medium = "point-to-point"
rate = "8 Mb/s"
[link.six]
ends = ["a.l1", "b.l1"]
medium = "point-to-point"
rate = "8 Mb/s"
"#;
    let of = |world: &LiveWorld, host: &str| -> Vec<String> {
        world.known().iter().filter(|(name, _)| name == host).map(|(_, address)| address.to_string()).collect()
    };
    let world = live(&parse(two), &[]);
    assert_eq!([of(&world, "a"), of(&world, "b")], [["10.0.0.1", "fd00::1"], ["10.0.0.2", "fd00::2"]]);
    let set = ["host.a.real.run=[\"true\"]"];
    assert_eq!(of(&live(&scenario("router"), &set), "router"), ["10.0.1.254", "10.0.0.254"]);
}

/// Without a host that is real a run has a length; who has forgotten either is told of both.
#[test]
fn what_makes_a_run_is_named() {
    let nobody: String =
        PAIR.lines().filter(|line| !line.starts_with("real")).map(|line| format!("{line}\n")).collect();
    let drawn = point(&parse(&nobody), &[]);
    let laboratory = Laboratory::default();
    let said = laboratory.check(&drawn).unwrap_err().to_string();
    assert!(said.contains("a load, such as [load.bulk], or for `kumiki live` a host that is real"), "{said}");
    let load = "[load.l]\nkind = \"netperf\"\nfrom = \"a.netperf\"\nto = \"b.netperf\"\nmessage = \"8 KiB\"\n";
    let busy = nobody.replace("[\"ip\"", "[\"netperf\", \"tcp\", \"ip\"") + load;
    let said = parse(&busy).points(&Choice::default()).map(drop).unwrap_err().to_string();
    assert!(said.contains("expected a time such as \"5 s\", or a host that is real"), "{said}");
    // Its picture needs neither.
    laboratory.check_drawn(&drawn).unwrap();
    laboratory.check_drawn(&point(&parse(PAIR), &[])).unwrap();
}

/// A real host, a router, and a host beyond it.
const ROUTED: &str = r#"
title = "Beyond a router"
[host.a]
graph = ["ip", "l0"]
ip.address = "10.1.0.1/24"
real = { tun = "k0" }
[host.r]
graph = { ip = ["l0", "l1"] }
ip = { forwarding = true, interface.l0.address = "10.1.0.254/24", interface.l1.address = "10.2.0.254/24" }
[host.b]
graph = ["ip", "l0"]
ip.address = "10.2.0.1/24"
[link.near]
ends = ["a", "r.l0"]
medium = "point-to-point"
rate = "8 Mb/s"
[link.far]
ends = ["r.l1", "b"]
medium = "point-to-point"
rate = "8 Mb/s"
"#;

#[test]
fn a_real_host_knows_what_is_behind_its_routers() {
    let world = live(&parse(ROUTED), &[]);
    let [a] = world.real() else { panic!("{:?}", world.real()) };
    assert_eq!(a.behind, [("10.2.0.0".parse().unwrap(), 24, "10.1.0.254".parse().unwrap())]);
}

/// Whoever tries a network begins with a ping, and no graph says that it is answered.
#[test]
fn emulated_hosts_answer_echoes() {
    let a = Ipv4Addr::new(10, 1, 0, 1);
    for to in [Ipv4Addr::new(10, 1, 0, 254), Ipv4Addr::new(10, 2, 0, 1)] {
        let mut world = live(&parse(ROUTED), &[]);
        let mut header = Header { protocol: 1, source: a, destination: to, time_to_live: 9, ..Header::default() };
        header.total_length = 28;
        let mut octets = vec![0; header.len()];
        header.emit_summed(&mut octets);
        // An echo with a checksum, an identifier and a number.
        octets.extend([8, 0, 0xf7, 0xfd, 0, 1, 0, 1]);
        world.arrive(0, Message::from_octets(&octets));
        let came = left(&mut world, at(100_000));
        let [(0, _, reply)] = came.as_slice() else { panic!("{to}: {came:?}") };
        assert_eq!((&reply[12..16], reply[20], &reply[24..]), (&to.octets()[..], 0, &octets[24..]));
    }
}

/// What waits is bounded where the scenario says nothing, before frames and before cells: whoever writes faster than a
/// line carries fills no memory.
#[test]
fn what_waits_in_real_time_is_bounded() {
    let tun = "host.a.real.run=[\"true\"]";
    for mut world in [live(&parse(PAIR), &[]), live(&scenario("router"), &[tun, "host.b.real.gateway=true"])] {
        let to = world.known().iter().find(|(name, _)| name == "b").unwrap().1;
        let std::net::IpAddr::V4(to) = to else { panic!("{to}") };
        let octets = datagram(Ipv4Addr::new(10, 0, 0, 1), to, 10);
        for _ in 0..30_000 {
            world.arrive(0, Message::from_octets(&octets));
        }
        let came = left(&mut world, at(100_000_000)).len();
        assert!((10_240..10_300).contains(&came), "{came}");
    }
}

/// So is what waits for a processor that is too slow for what a program writes.
#[test]
fn what_waits_for_a_slow_processor_is_bounded() {
    let slow = PAIR.replace("8 Mb/s", "100 Mb/s").replace("real = { run", "profile = \"ss20\"\nreal = { run");
    let mut world = live(&parse(&slow), &[]);
    let octets = datagram(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), 10);
    for _ in 0..30_000 {
        world.arrive(0, Message::from_octets(&octets));
    }
    let came = left(&mut world, at(100_000_000)).len();
    assert!((10_240..10_300).contains(&came), "{came}");
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let lossy = format!("{PAIR}impair = {{ loss = \"20 %\" }}\n");
    let fates = |seed: &str| -> Vec<u64> {
        let mut world = live(&parse(&lossy), &[seed]);
        let octets = datagram(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), 100);
        let sent = (0..100).map(|number| at(number * 1_000));
        let came = sent.flat_map(|time| {
            world.pass(time);
            world.arrive(0, Message::from_octets(&octets));
            left(&mut world, time)
        });
        let came: Vec<_> = came.collect();
        came.iter().map(|(_, at, _)| at.as_nanos()).collect()
    };
    let one = fates("run.seed=1");
    assert!((60..90).contains(&one.len()), "{}", one.len());
    assert_eq!(one, fates("run.seed=1"));
    assert_ne!(one, fates("run.seed=2"));
}

/// Hosts that are emulated have their loads, beside.
#[test]
fn loads_of_emulated_hosts_run_beside() {
    let text = format!(
        "{PAIR}
[host.c]
graph = [\"app\", \"tcp\", \"ip\", \"l0\"]
[host.d]
like = \"c\"
[link.other]
ends = [\"c\", \"d\"]
medium = \"point-to-point\"
rate = \"8 Mb/s\"
[load.beside]
kind = \"netperf\"
from = \"c.app\"
to = \"d.app\"
message = \"8 KiB\"
"
    );
    let mut world = live(&parse(&text), &[]);
    assert!(world.left_out().is_empty());
    world.pass(Instant::ZERO + Duration::from_secs(1));
    let counted = |name: &str| {
        let found = world.media().find(|(medium, _)| *medium == name);
        found.unwrap().1.iter().find(|(counter, _)| *counter == "a_octets").unwrap().1
    };
    assert!(counted("other") > 900_000, "{}", counted("other"));
    assert_eq!(counted("line"), 0);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (line, says) in [
        ("real = { tap = \"k0\" }", "on l0 stands no layer `eth`"),
        ("real = {}", "host.a.real: no kind of host; expected one of run, tun, tap, frames, serial and gateway"),
        (
            "real = { run = \"true\", gateway = true }",
            "more than one; expected one of run, tun, tap, frames, serial and gateway",
        ),
        ("real = { run = [] }", "host.a.real.run = []: no program"),
        ("real = { tun = \"k0\", background = true }", "host.a.real.background = true: there is no program"),
        ("real = { run = \"true\", start = \"soon\" }", "host.a.real.start = \"soon\""),
        ("real = { runs = \"true\" }", "did you mean run"),
        ("ip = { mtu = \"70000 B\" }\nreal = { run = \"true\" }", "host.a.ip.mtu"),
        ("ip = { address = \"negotiated\" }\nreal = { run = \"true\" }", "knows its addresses from the beginning"),
        ("graph = [\"xtp\", \"l0\"]\nreal = { run = \"true\" }", "a real host speaks IP"),
    ] {
        let (graph, line) = match line.strip_prefix("graph = ") {
            Some(rest) => rest.split_once('\n').unwrap(),
            None => ("[\"ip\", \"l0\"]", line),
        };
        let text = format!(
            "title = \"x\"\n[host.a]\ngraph = {graph}\n{line}\n[host.b]\ngraph = [\"ip\", \"l0\"]\n[link.l]\nends = [\"a\", \"b\"]\nmedium = \"point-to-point\"\nrate = \"1 Mb/s\"\n"
        );
        let choice = Choice { set: Vec::new(), quick: false, runs: None };
        let built = parse(&text).points(&choice).and_then(|points| {
            let point = points.into_iter().next().unwrap();
            Laboratory::live(&point).map_err(|fault| point.locate(fault))
        });
        let said = built.map(drop).unwrap_err().to_string();
        assert!(said.contains(says), "{line}: {said}");
    }
}

/// What such a host sends is asked for by the neighbour's ARP, and nothing of it is answered for it.
#[test]
fn frames_of_a_host_that_is_real_by_ethernet_enter_the_line_as_they_are() {
    let pair = PAIR.replace("graph = [\"ip\", \"l0\"]", "graph = [\"ip\", \"arp\", \"eth\", \"l0\"]");
    let mut world = live(&parse(&pair.replace("tun = \"k0\"", "tap = \"k0\"")), &[]);
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    assert_eq!(world.real()[1].addresses, [(b.into(), 24)]);
    world.arrive(0, Message::from_octets(&datagram(a, b, 10)));
    let asked = left(&mut world, at(20_000));
    let [(1, came, frame)] = asked.as_slice() else { panic!("{asked:?}") };
    // To all stations, ARP, a request.
    assert!(frame.starts_with(&[0xff; 6]) && frame[12..14] == [8, 6] && frame[21] == 1, "{frame:x?}");
    assert!(*came >= at(10_000), "{came}");
    // b answers: the addresses of its question, and its own station.
    let mut answer = frame.clone();
    answer[..6].copy_from_slice(&frame[6..12]);
    answer[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    answer[21] = 2;
    answer[22..28].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    answer[28..32].copy_from_slice(&b.octets());
    answer[32..38].copy_from_slice(&frame[22..28]);
    answer[38..42].copy_from_slice(&a.octets());
    world.arrive(1, Message::from_octets(&answer));
    let came = left(&mut world, at(60_000));
    let [(1, _, frame)] = came.as_slice() else { panic!("{came:?}") };
    assert_eq!((&frame[..6], &frame[14..44]), (&[2, 0, 0, 0, 0, 9][..], &datagram(a, b, 10)[..]));
}

#[test]
fn virtual_time_has_no_real_hosts() {
    let point = point(&parse(PAIR), &[]);
    let built = Experiment::build(&point.scenario, &crate::arrange::profiles(&point), 1, &Options::default());
    let said = built.map(drop).unwrap_err().to_string();
    assert!(said.contains("host.a.real: a host that is real runs in real time; expected `kumiki live`"), "{said}");
}

/// Without power a host passes nothing on, either way; what its own kernel does meanwhile is that one's affair.
#[test]
fn a_real_host_without_power_is_reached_again_when_it_is_back() {
    let events =
        "[[event]]\nat = \"1 s\"\nhost = \"b\"\nup = false\n[[event]]\nat = \"2 s\"\nhost = \"b\"\nup = true\n";
    let mut world = live(&parse(&format!("{PAIR}{events}")), &[]);
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let came: Vec<usize> = [500_000, 1_500_000, 2_500_000]
        .into_iter()
        .map(|time| {
            world.pass(at(time));
            world.arrive(0, Message::from_octets(&datagram(a, b, 10)));
            world.arrive(1, Message::from_octets(&datagram(b, a, 10)));
            left(&mut world, at(time + 100_000)).len()
        })
        .collect();
    assert_eq!(came, [2, 0, 2]);
}

#[test]
fn a_graph_tells_who_is_real() {
    let text = point(&parse(PAIR), &[]).scenario.graph_text();
    assert!(text.contains("host a, profile zero, real: true\n"), "{text}");
    assert!(text.contains("host b, profile zero, real: this machine's k0\n"), "{text}");
}
