//! Attacks on a host on which a packet costs CPU time: what they fill is bounded, and a connection beside them keeps nine tenths
//! of its rate.
//!
//! Somebody on the path puts packets in front of the host, 4000 in a second, a third as many as the host could take if it did
//! nothing else. So an attack that costs a few times as much as an ordinary packet shows in the rate.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: what fails stops it"
)]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use kumiki_graph::{
    Address, DeviceId, Duration, Graph, Instant, NodeId, Prices, Quality, Service, Work,
};
use kumiki_lab::workload::{Opening, Sink, SinkConfig, Source, SourceConfig, Transfer};
use kumiki_link::{DropTail, Element, Outlet, Rate, Serial, SerialConfig, Unit};
use kumiki_octets::{Message, Pattern, Sum};
use kumiki_proto::ip::{self, Ip};
use kumiki_proto::tcp::{Tcp, defaults};
use kumiki_sim::{AdapterConfig, Host, HostId, Plug, World};
use kumiki_wire::tcp::{Flags, Header, Seq};
use kumiki_wire::{ipv4, tcp};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 5001;
const PATTERN: Pattern = Pattern::Counter;
const OCTETS: u32 = 4_000_000;
const INTERVAL: Duration = Duration::from_micros(250);
/// What IP and TCP take for each packet that reaches them, in picoseconds: 80 us together.
const PACKET: u64 = 40_000_000;

/// What is known to somebody who sees packets, or guesses: the last header from A to B with text.
type Seen = Arc<Mutex<Option<Header>>>;
/// The datagrams of an attack: the n-th, by what has been seen.
type Attack = fn(u32, Option<&Header>) -> Option<Vec<u8>>;

/// Port 0 leads to the line, port 1 to the host.
struct Attacker {
    attack: Attack,
    interval: Duration,
    seen: Seen,
    next: Instant,
    n: u32,
}

impl Element for Attacker {
    fn offer(&mut self, _: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        if let (0, Unit::Frame { data, .. }) = (port, &unit) {
            let octets = data.to_vec();
            if let Ok((_, len)) = ipv4::Header::parse(&octets, octets.len())
                && let Ok((header, _)) = Header::parse(&octets[len..], octets.len() - len)
            {
                *self.seen.lock().unwrap() = Some(header);
            }
        }
        out.put(1 - port, unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        while self.next <= now {
            self.next += self.interval;
            self.n += 1;
            let seen = *self.seen.lock().unwrap();
            if let Some(octets) = (self.attack)(self.n, seen.as_ref()) {
                let data = Message::from_octets(&octets);
                let address = Address::None;
                out.put(1, Unit::Frame { data, address });
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A datagram for B that carries `payload`.
fn datagram(source: Ipv4Addr, header: ipv4::Header, payload: &[u8]) -> Vec<u8> {
    let header = ipv4::Header {
        total_length: u16::try_from(20 + payload.len()).unwrap(),
        time_to_live: 64,
        protocol: ipv4::protocol::TCP,
        source,
        destination: B,
        ..header
    };
    let mut octets = vec![0; header.len()];
    header.emit_summed(&mut octets);
    octets.extend(payload);
    octets
}

fn segment(source: Ipv4Addr, header: Header, text: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend(text);
    let len = u16::try_from(octets.len()).unwrap();
    let pseudo = ipv4::pseudo_header(source, B, ipv4::protocol::TCP, len);
    let sum = Sum::of(&pseudo).plus(Sum::of(&octets)).checksum();
    octets[16..18].copy_from_slice(&sum.to_be_bytes());
    datagram(source, ipv4::Header::default(), &octets)
}

/// A guess at the connection: addresses and ports, and no sequence numbers.
fn guess(n: u32, seen: Option<&Header>, flags: Flags, text: &[u8]) -> Option<Vec<u8>> {
    let header = Header {
        flags,
        seq: Seq(n.wrapping_mul(2_654_435_761)),
        ack: Seq(n.wrapping_mul(40_503) ^ 0x4000_0000),
        options: tcp::Options::NONE,
        ..*seen?
    };
    Some(segment(A, header, text))
}

/// One host, and the nodes of its IP and TCP.
fn host(own: Ipv4Addr) -> (Host, DeviceId, [NodeId; 2]) {
    let mut graph = Graph::new(5, u64::from(own.octets()[3]));
    let task = graph.add_task("host");
    let device = graph.add_device("line", Service::UnitData).unwrap();
    let interface = ip::Interface {
        mtu: 1500,
        ..ip::Interface::new("line", own, 24)
    };
    let layer = Ip::new(ip::Config::host(interface)).unwrap();
    let ip = graph.add_node("ip", task, Box::new(layer)).unwrap();
    let config = kumiki_proto::tcp::Config {
        half_open: 64,
        timestamps: false,
        ..defaults::modern()
    };
    let tcp = graph
        .add_node("tcp", task, Box::new(Tcp::new(config)))
        .unwrap();
    let program: Box<dyn kumiki_graph::Protocol> = if own == A {
        Box::new(Source::new(SourceConfig {
            local: SocketAddr::new(IpAddr::V4(A), 0),
            peers: vec![SocketAddr::new(IpAddr::V4(B), PORT)],
            sessions: 1,
            busy: 1,
            message: OCTETS,
            count: Some(1),
            pattern: PATTERN,
            opening: Opening::default(),
            quality: Quality::default(),
            transfer: Transfer::default(),
        }))
    } else {
        Box::new(Sink::new(SinkConfig {
            local: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT),
            backlog: 8,
            read: 1 << 16,
            expect: Some(PATTERN),
            quality: Quality::default(),
            transfer: Transfer::default(),
        }))
    };
    graph.add_node("program", task, program).unwrap();
    for (upper, lower) in [("program", "tcp"), ("tcp", "ip"), ("ip", "line")] {
        graph.connect(upper, lower).unwrap();
    }
    if own == B {
        for node in [ip, tcp] {
            let mut prices = Prices::default();
            prices.set(Work::Pop, PACKET);
            graph.set_prices(node, prices);
        }
    }
    let mut host = Host::new(if own == A { "a" } else { "b" }, graph);
    let config = AdapterConfig {
        mtu: 1 << 16,
        ..AdapterConfig::default()
    };
    host.set_adapter(device, config);
    (host, device, [ip, tcp])
}

/// The most that the host under attack kept.
#[derive(Default, Debug)]
struct Kept {
    half_open: usize,
    connections: usize,
    fragments: usize,
}

/// How long the transfer takes under `attack`, and what the host kept.
fn transfer(attack: Attack, interval: Duration) -> (Duration, Kept) {
    let mut world = World::new();
    let (a, a_line, _) = host(A);
    let (b, b_line, [ip, tcp]) = host(B);
    let (a, b) = (world.add_host(a), world.add_host(b));
    let config = SerialConfig {
        rate: Rate::bits_per_second(40_000_000),
        overhead: 0,
        propagation: Duration::from_millis(1),
        say_sent: false,
    };
    let line = world.add_element("line", Box::new(Serial::new(config, DropTail::UNLIMITED)));
    let attacker = Attacker {
        attack,
        interval,
        seen: Seen::default(),
        next: Instant::ZERO + Duration::from_millis(20),
        n: 0,
    };
    let attacker = world.add_element("attacker", Box::new(attacker));
    world.plug(Plug::Device(a, a_line), Plug::Port(line, 0));
    world.plug(Plug::Port(line, 1), Plug::Port(attacker, 0));
    world.plug(Plug::Port(attacker, 1), Plug::Device(b, b_line));
    world.start().unwrap();
    let mut kept = Kept::default();
    let end = Instant::ZERO + Duration::from_secs(60);
    let done = world.run_until_done(end, Duration::from_millis(5), |world| {
        look(world, b, [ip, tcp], &mut kept)
    });
    assert!(done, "it stalled: {:?}", world.standstill());
    let graph = &world.host(b).unwrap().graph;
    let sink: &Sink = graph.protocol(graph.node("program").unwrap()).unwrap();
    let received = sink.received().next().unwrap();
    assert_eq!((received.octets, received.wrong_at), (OCTETS.into(), None));
    let (first, last) = (received.first.unwrap(), received.last.unwrap());
    (last.saturating_since(first), kept)
}

/// Notes what the host keeps; whether the transfer is over.
fn look(world: &World, b: HostId, [ip, tcp]: [NodeId; 2], kept: &mut Kept) -> bool {
    let graph = &world.host(b).unwrap().graph;
    let layer: &Tcp = graph.protocol(tcp).unwrap();
    kept.half_open = kept.half_open.max(layer.half_open());
    kept.connections = kept.connections.max(layer.connections());
    let layer: &Ip = graph.protocol(ip).unwrap();
    kept.fragments = kept.fragments.max(layer.reassembling());
    let sink: &Sink = graph.protocol(graph.node("program").unwrap()).unwrap();
    sink.received()
        .any(|received| received.octets >= u64::from(OCTETS))
}

/// Holds the transfer to 110 % of the time that it takes alone, and what the host keeps to what it keeps for one connection,
/// half-open callers and fragments as configured.
fn harmless(attack: Attack) -> Kept {
    let (alone, _) = transfer(|_, _| None, INTERVAL);
    let (attacked, kept) = transfer(attack, INTERVAL);
    assert!(attacked <= alone + alone / 10, "{attacked}, alone {alone}");
    assert!(kept.half_open <= 64 && kept.connections <= 1, "{kept:?}");
    assert!(kept.fragments <= 4 << 20, "{kept:?}");
    kept
}

#[test]
fn a_flood_of_syns_leaves_a_connection_its_rate_and_fills_no_more_than_the_room_for_callers() {
    let kept = harmless(|n, _| {
        let header = Header {
            source_port: 1024 + u16::try_from(n % 50_000).unwrap(),
            destination_port: PORT,
            seq: Seq(n),
            flags: Flags::SYN,
            window: 5000,
            ..Header::default()
        };
        Some(segment(Ipv4Addr::from_bits(0x0b00_0000 | n), header, b""))
    });
    assert_eq!(kept.half_open, 64);
}

#[test]
fn an_attack_that_costs_three_times_as_much_shows_in_the_rate() {
    // What the other tests would see: as if each packet took three times as long.
    let attack: Attack = |n, seen| guess(n, seen, Flags::ACK, b"evil");
    let (alone, _) = transfer(|_, _| None, INTERVAL);
    let (attacked, _) = transfer(attack, INTERVAL / 3);
    assert!(attacked > alone + alone / 10, "{attacked}, alone {alone}");
}

#[test]
fn blind_resets_leave_a_connection_its_rate() {
    harmless(|n, seen| guess(n, seen, Flags::RST, b""));
}

#[test]
fn blind_data_leaves_a_connection_its_rate() {
    harmless(|n, seen| guess(n, seen, Flags::ACK, b"evil"));
}

#[test]
fn a_storm_of_acknowledgments_leaves_a_connection_its_rate() {
    harmless(|n, seen| guess(n, seen, Flags::ACK, b""));
}

#[test]
fn tiny_segments_of_the_stream_leave_a_connection_its_rate() {
    // One octet of what has come, again and again: old text, each of which could draw an answer.
    harmless(|n, seen| {
        let header = *seen?;
        let seq = header.seq - n % 8;
        let header = Header {
            seq,
            options: tcp::Options::NONE,
            ..header
        };
        Some(segment(A, header, b"x"))
    });
}

#[test]
fn endless_fragments_leave_a_connection_its_rate_and_fill_no_more_than_the_room_for_them() {
    // Of each datagram only one piece ever comes.
    harmless(|n, _| {
        let header = ipv4::Header {
            identification: u16::try_from(n % 65_536).unwrap(),
            more_fragments: true,
            fragment_offset: u16::try_from(n % 100).unwrap() * 8,
            ..ipv4::Header::default()
        };
        Some(datagram(
            Ipv4Addr::from_bits(0x0b00_0000 | n),
            header,
            &[0; 1400],
        ))
    });
}

#[test]
fn overlapping_fragments_leave_a_connection_its_rate_and_fill_no_more_than_the_room_for_them() {
    // Few datagrams, of which the same pieces come again and again, a little further on each time.
    harmless(|n, _| {
        let header = ipv4::Header {
            identification: u16::try_from(n % 4).unwrap(),
            more_fragments: true,
            fragment_offset: u16::try_from(n % 4000).unwrap(),
            ..ipv4::Header::default()
        };
        Some(datagram(Ipv4Addr::new(11, 0, 0, 1), header, &[0; 1400]))
    });
}
