//! Two hosts and a router, put together by name: one host on ATM (RFC 2225), the other behind the router. What crosses
//! the media is given to tshark, which must find nothing wrong with it; skipped where there is no tshark.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use core::net::Ipv4Addr;
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::inet::IpParameters;
use std::net::SocketAddr;

use kumiki_graph::{
    Address, DeviceId, Handle, Key, Manage, Mode, NodeId, Open, Problem, Quality, Report, Request, Unit, UnitOptions,
};
use kumiki_octets::{Message, Pattern};
use kumiki_stack::{LowerLayers, Settings, Value, build};

#[path = "../../kumiki-wire/tests/judge/mod.rs"]
#[allow(dead_code, reason = "shared with another crate's tests")]
mod judge;

use judge::link_type;
use kumiki_testkit::bench::Bench;

/// Raw IPv4 or IPv6 in capture files.
const RAW: u32 = 101;
const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);

fn list<const N: usize>(values: [Value; N]) -> Value {
    Value::List(values.into())
}

fn default_by(gateway: &str) -> Settings {
    Settings::new().with("default", gateway)
}

/// LLC/SNAP on `atm` and an ATMARP that answers to `own`.
fn classical(bench: &mut Bench, own: &str, circuit: &str) -> DeviceId {
    let atm = bench.device("atm");
    let arp = Settings::new().with("addresses", list([own.into()])).with("circuits", list([circuit.into()]));
    add(bench, "llc_snap", &["atm"], &Settings::new());
    add(bench, "atm_arp", &["llc_snap"], &arp);
    atm
}

fn add(bench: &mut Bench, kind: &str, below: &[&str], settings: &Settings) {
    let place = LowerLayers { below, mtu: None };
    let node = build(kind, settings, place).unwrap();
    bench.boxed(kind, below, node);
}

struct Net {
    a: Bench,
    router: Bench,
    b: Bench,
    a_atm: DeviceId,
    router_atm: DeviceId,
    router_eth: DeviceId,
    b_eth: DeviceId,
    /// What has crossed ATM, and what has crossed the other medium.
    atm: Vec<Vec<u8>>,
    eth: Vec<Vec<u8>>,
}

impl Net {
    /// Carries everything to the other end until nothing moves.
    fn settle(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for (_, unit) in self.a.sent() {
                moved = true;
                self.atm.push(unit.data.to_vec());
                assert_eq!(unit.destination, Vc { vpi: 0, vci: 100 }.address());
                self.router.receive(self.router_atm, from_circuit(Box::new(unit), 200));
            }
            for (device, unit) in self.router.sent() {
                moved = true;
                if device == self.router_atm {
                    self.atm.push(unit.data.to_vec());
                    self.a.receive(self.a_atm, from_circuit(Box::new(unit), 100));
                } else {
                    assert_eq!(device, self.router_eth);
                    self.eth.push(unit.data.to_vec());
                    self.b.receive(self.b_eth, unit);
                }
            }
            for (_, unit) in self.b.sent() {
                moved = true;
                self.eth.push(unit.data.to_vec());
                self.router.receive(self.router_eth, unit);
            }
        }
    }
}

fn from_circuit(unit: Box<Unit>, vci: u16) -> Unit {
    Unit { source: Vc { vpi: 0, vci }.address(), destination: Address::NONE, ..*unit }
}

fn net() -> (Net, [NodeId; 2], NodeId) {
    let mut a = Bench::seeded(1);
    let a_atm = classical(&mut a, "10.0.0.1", "0/100");
    let ip = Settings::new()
        .with("address", "10.0.0.1/24")
        .with("mtu", Value::Octets(9180))
        .with("neighbours", "below")
        .with("routes", default_by("10.0.0.254"));
    add(&mut a, "ip", &["atm_arp"], &ip);
    add(&mut a, "udp", &["ip"], &Settings::new());
    add(&mut a, "icmp", &["ip"], &Settings::new());
    let a_users = ["udp", "icmp"].map(|below| a.user(&format!("{below} user"), below, &[Key::Only]));

    let mut router = Bench::seeded(2);
    let router_atm = classical(&mut router, "10.0.0.254", "0/200");
    let router_eth = router.device("eth");
    let inner =
        Settings::new().with("address", "10.0.0.254/24").with("mtu", Value::Octets(9180)).with("neighbours", "below");
    let outer = Settings::new().with("address", "10.0.1.254/24");
    let ip = Settings::new()
        .with("interface", Settings::new().with("atm_arp", inner).with("eth", outer))
        .with("forwarding", true);
    add(&mut router, "ip", &["atm_arp", "eth"], &ip);

    let mut b = Bench::seeded(3);
    let b_eth = b.device("eth");
    let ip = Settings::new().with("address", "10.0.1.1/24").with("routes", default_by("10.0.1.254"));
    add(&mut b, "ip", &["eth"], &ip);
    add(&mut b, "udp", &["ip"], &Settings::new());
    add(&mut b, "icmp", &["ip"], &Settings::new());
    let b_user = b.user("user", "udp", &[Key::Only]);
    for bench in [&mut a, &mut router, &mut b] {
        bench.start();
    }
    let mut net = Net { a, router, b, a_atm, router_atm, router_eth, b_eth, atm: Vec::new(), eth: Vec::new() };
    net.settle();
    (net, a_users, b_user)
}

fn open(port: u16) -> Request {
    Request::Open(Box::new(Open {
        user: Handle::default(),
        mode: Mode::Passive { backlog: 0 },
        local: socket(Ipv4Addr::UNSPECIFIED, port),
        remote: Address::NONE,
        quality: Quality::default(),
        ..Open::default()
    }))
}

fn socket(address: Ipv4Addr, port: u16) -> Address {
    Address::from(SocketAddr::from((address, port)))
}

fn unit(destination: Address, len: usize) -> Unit {
    Unit { destination, data: Message::generated(Pattern::Counter, 0, len), ..Unit::default() }
}

#[test]
fn datagrams_fragments_errors_and_echoes_cross_and_tshark_finds_nothing_wrong() {
    let (mut net, [udp, icmp], b_user) = net();
    net.a.say(udp, open(1024));
    net.b.say(b_user, open(7));
    net.a.heard(udp);
    net.b.heard(b_user);

    // There in pieces from the router on, and back in pieces all the way.
    net.a.send(udp, unit(socket(B, 7), 4000));
    net.settle();
    let arrived = net.b.units(b_user).remove(0);
    assert_eq!(arrived.data, unit(Address::NONE, 4000).data);
    assert_eq!(arrived.source, socket(A, 1024));
    net.b.send(b_user, unit(arrived.source, 5001));
    net.settle();
    assert_eq!(net.a.units(udp)[0].data, unit(Address::NONE, 5001).data);

    // To a port that is closed, and too big for the second link.
    net.a.send(udp, unit(socket(B, 9), 10));
    let options = UnitOptions::of(IpParameters { dont_fragment: true, ..IpParameters::NONE });
    let too_big = unit(socket(B, 7), 4000);
    net.a.send(udp, Unit { options, ..too_big });
    net.settle();
    let problems: Vec<Problem> = net
        .a
        .reports(udp)
        .iter()
        .filter_map(|report| match *report {
            Report::Unreachable { problem, .. } => Some(problem),
            Report::Limits { .. } | Report::Route { .. } | Report::Up | Report::Down | Report::Special(_) => None,
        })
        .collect();
    let closed = Problem::Hard { kind: 3, code: 3 };
    let too_big = Problem::TooBig { mtu: 1500 };
    // The router answers before B can.
    assert!(problems.contains(&closed) && problems.contains(&too_big));
    assert_eq!(problems.len(), 2);

    // An echo there and back, and one that does not live long enough.
    net.a.send(icmp, unit(Address::from(B), 2000));
    let options = UnitOptions::of(IpParameters { ttl: 1, ..IpParameters::NONE });
    let short = unit(Address::from(B), 64);
    net.a.send(icmp, Unit { options, ..short });
    net.settle();
    let heard = net.a.heard(icmp);
    assert_eq!(heard.len(), 2, "{heard:?}");
    net.a.say(icmp, Request::Manage(Box::new(Manage::Limits)));

    for (name, link_type, packets) in
        [("classical_ip_atm", link_type::ATM_RFC1483, &net.atm), ("classical_ip_eth", RAW, &net.eth)]
    {
        approve(name, link_type, packets);
    }
}

/// Every packet is decoded to its end and every checksum is right.
fn approve(name: &str, link_type: u32, packets: &[Vec<u8>]) {
    let fields =
        ["frame.protocols", "ip.checksum.status", "udp.checksum.status", "icmp.checksum.status", "_ws.malformed"];
    let Some(rows) = judge::fields(name, link_type, packets, &fields) else {
        return;
    };
    assert_eq!(rows.len(), packets.len());
    let mut protocols = Vec::new();
    for row in rows {
        let [stack, ip, udp, icmp, malformed] = &row[..] else { panic!("{row:?}") };
        assert_eq!(malformed, "", "{row:?}");
        let right = |status: &str| status.split(',').next().is_none_or(|it| matches!(it, "1" | ""));
        // What an error quotes has been cut, so that its checksum cannot be verified.
        let quoted = stack.contains("icmp:ip");
        assert!(right(ip) && right(icmp) && (quoted || right(udp)), "{row:?}");
        let last = stack.split(':').find(|it| ["udp", "icmp", "arp"].contains(it));
        protocols.extend(last.map(str::to_owned));
    }
    protocols.sort();
    protocols.dedup();
    assert!(protocols.len() >= 2, "{protocols:?}");
}
