//! Two hosts, a transfer from one to the other, and an attacker in front of the receiver.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use kumiki_graph::{Address, DeviceId, Duration, Graph, Instant, Prices, Protocol, Quality, Service, Work};
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_inet::{ip, ipv6};
use kumiki_lab::workload::{Opening, Sink, SinkConfig, Source, SourceConfig, Transfer};
use kumiki_link::{Carrier, DropTail, Element, Outlet, Rate, Serial, SerialConfig, Unit};
use kumiki_octets::{Message, Pattern};
use kumiki_sim::{AdapterConfig, Host, HostId, Plug, World};
use kumiki_wire::inet::tcp::Header;
use peak_alloc::PeakAlloc;

use crate::packets::{Version, read};

pub(crate) const PORT: u16 = 5001;
/// Where the attacker waits for the host under attack to call.
pub(crate) const TRAP: u16 = 6001;
/// Host of the attacker at that port.
pub(crate) const TRAPPER: u32 = 0x100;
pub(crate) const INTERVAL: Duration = Duration::from_micros(250);

const PATTERN: Pattern = Pattern::Counter;
const OCTETS: u32 = 4_000_000;
/// What all connections of a host may hold.
pub(crate) const MEMORY: u64 = 1 << 30;
/// What is there by then has had 12,000 packets to grow.
const START: Duration = Duration::from_secs(3);
/// What IP and TCP take for each packet that reaches them, in picoseconds: 100 us together. And for each that they
/// send.
const ARRIVAL: u64 = 50_000_000;
const DEPARTURE: u64 = 10_000_000;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;
/// One test at a time, for the allocator counts what all do.
static ALONE: Mutex<()> = Mutex::new(());

/// What somebody does who can put packets in front of the host, and sees all that pass.
pub(crate) trait Attack: Send {
    /// The `n`-th time at which a packet goes. `seen`: the last header with text from the sender.
    fn strike(&mut self, n: u32, seen: Option<&Header>) -> Option<Vec<u8>>;

    /// The host sends a segment with `octets` of text to the attacker's host `to`.
    fn hear(&mut self, to: IpAddr, header: &Header, octets: usize) -> Option<Vec<u8>> {
        let _ = (to, header, octets);
        None
    }
}

impl<F: FnMut(u32, Option<&Header>) -> Option<Vec<u8>> + Send> Attack for F {
    fn strike(&mut self, n: u32, seen: Option<&Header>) -> Option<Vec<u8>> {
        self(n, seen)
    }
}

/// Port 0 leads to the line, port 1 to the host.
struct Attacker {
    attack: Box<dyn Attack>,
    version: Version,
    interval: Duration,
    seen: Option<Header>,
    next: Instant,
    n: u32,
}

fn frame(octets: &[u8]) -> Unit {
    Unit::Frame { data: Message::from_octets(octets), address: Address::NONE }
}

impl Element for Attacker {
    fn offer(&mut self, _: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        if let Unit::Frame { data, .. } = &unit
            && let Some((to, header, octets)) = read(&data.to_vec())
        {
            if port == 0 {
                self.seen = Some(header).filter(|_| octets > 0).or(self.seen);
            } else if to != self.version.sender() {
                if let Some(answer) = self.attack.hear(to, &header, octets) {
                    out.put(1, frame(&answer));
                }
                return;
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
            if let Some(octets) = self.attack.strike(self.n, self.seen.as_ref()) {
                out.put(1, frame(&octets));
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

fn ip(version: Version, own: IpAddr) -> Box<dyn Protocol> {
    match own {
        IpAddr::V4(own) => {
            let interface = ip::Interface { mtu: 1500, ..ip::Interface::new("line", own, 8) };
            Box::new(ip::Ip::new(ip::Config::host(interface)).unwrap())
        }
        IpAddr::V6(own) => {
            assert_eq!(version, Version::Six);
            let interface = ipv6::Interface::new("line", own, 64);
            Box::new(ipv6::Ip::new(ipv6::Config::host(interface)).unwrap())
        }
    }
}

/// Sends `count` messages to `peer` in each of its `sessions`, from `start` on.
fn source(peer: SocketAddr, sessions: u32, count: Option<u64>, start: Duration) -> Source {
    Source::new(SourceConfig {
        local: SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0).into(),
        peers: vec![peer.into()],
        sessions,
        size: None,
        busy: sessions,
        message: OCTETS,
        count,
        pattern: PATTERN,
        opening: Opening { start, ..Opening::default() },
        quality: Quality::default(),
        transfer: Transfer::default(),
    })
}

/// One of the two hosts.
fn host(version: Version, attacked: bool, memory: u64) -> (Host, DeviceId) {
    let mut graph = Graph::new(5, u64::from(attacked));
    let task = graph.add_task("host");
    let device = graph.add_device("line", Service::UNIT_DATA).unwrap();
    let own = if attacked { version.attacked() } else { version.sender() };
    let ip = graph.add_node("ip", task, ip(version, own)).unwrap();
    let config = kumiki_inet::tcp::Config { half_open: 64, memory, timestamps: false, ..defaults::modern() };
    let layer = Box::new(Tcp::new(config));
    let tcp = graph.add_node("tcp", task, layer).unwrap();
    graph.connect("tcp", "ip").unwrap();
    graph.connect("ip", "line").unwrap();
    let mut programs: Vec<(&str, Box<dyn Protocol>)> = Vec::new();
    if attacked {
        let sink = Sink::new(SinkConfig {
            local: SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT).into(),
            backlog: 200,
            read: 1 << 16,
            expect: Some(PATTERN),
            quality: Quality::default(),
            transfer: Transfer::default(),
        });
        let trapper = SocketAddr::new(version.address(TRAPPER), TRAP);
        let giver = source(trapper, 4, None, Duration::from_millis(50));
        programs.push(("sink", Box::new(sink)));
        programs.push(("giver", Box::new(giver)));
        for node in [ip, tcp] {
            let mut prices = Prices::default();
            prices.set(Work::Pop, ARRIVAL);
            prices.set(Work::Push, DEPARTURE);
            graph.set_prices(node, prices);
        }
    } else {
        let peer = SocketAddr::new(version.attacked(), PORT);
        programs.push(("source", Box::new(source(peer, 1, Some(1), START))));
    }
    for (name, program) in programs {
        graph.add_node(name, task, program).unwrap();
        graph.connect(name, "tcp").unwrap();
    }
    let mut host = Host::new(if attacked { "b" } else { "a" }, graph);
    let config = AdapterConfig { mtu: 1 << 16, ..AdapterConfig::default() };
    host.set_adapter(device, config);
    (host, device)
}

/// The most that the host under attack kept.
#[derive(Default, Debug)]
pub(crate) struct Kept {
    pub(crate) half_open: usize,
    pub(crate) connections: usize,
    /// As IP counts them.
    pub(crate) fragments: usize,
    /// As TCP counts it.
    pub(crate) held: u64,
    /// Segments that it sent.
    pub(crate) sent: u64,
    /// What the allocator gave to everything, both hosts and the line, in octets.
    pub(crate) heap: usize,
}

impl Kept {
    /// Notes what the host keeps; whether the transfer is over.
    fn look(&mut self, world: &World, host: HostId) -> bool {
        let graph = &world.host(host).unwrap().graph;
        let node = |name| graph.node(name).unwrap();
        let tcp: &Tcp = graph.protocol(node("tcp")).unwrap();
        self.half_open = self.half_open.max(tcp.half_open());
        self.connections = self.connections.max(tcp.connections());
        self.sent = tcp.counters().segments_sent;
        self.held = self.held.max(tcp.held());
        let four = graph.protocol(node("ip")).map(ip::Ip::reassembling);
        let six = graph.protocol(node("ip")).map(ipv6::Ip::reassembling);
        self.fragments = self.fragments.max(four.or(six).unwrap());
        let sink: &Sink = graph.protocol(node("sink")).unwrap();
        sink.received().any(|received| received.octets >= u64::from(OCTETS))
    }
}

/// How long the transfer takes under `attack`, and what the host kept.
fn transfer(version: Version, attack: Box<dyn Attack>, interval: Duration, memory: u64) -> (Duration, Kept) {
    let held = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let mut world = World::new();
    let (a, a_line) = host(version, false, MEMORY);
    let (b, b_line) = host(version, true, memory);
    let (a, b) = (world.add_host(a), world.add_host(b));
    let config = SerialConfig {
        carrier: Carrier::Plain { rate: Rate::bits_per_second(40_000_000), overhead: 0 },
        propagation: Duration::from_millis(1),
        say_sent: false,
    };
    let line = world.add_element("line", Box::new(Serial::new(config, DropTail::UNLIMITED)));
    let attacker =
        Attacker { attack, version, interval, seen: None, next: Instant::ZERO + Duration::from_millis(20), n: 0 };
    let attacker = world.add_element("attacker", Box::new(attacker));
    world.plug(Plug::Device(a, a_line), Plug::Port(line, 0));
    world.plug(Plug::Port(line, 1), Plug::Port(attacker, 0));
    world.plug(Plug::Port(attacker, 1), Plug::Device(b, b_line));
    world.start().unwrap();
    let mut kept = Kept::default();
    let end = Instant::ZERO + Duration::from_secs(60);
    let done = world.run_until_done(end, Duration::from_millis(5), |world| kept.look(world, b));
    assert!(done, "it stalled: {:?}", world.standstill());
    let graph = &world.host(b).unwrap().graph;
    let sink: &Sink = graph.protocol(graph.node("sink").unwrap()).unwrap();
    assert!(sink.received().all(|received| received.wrong_at.is_none()));
    let done = sink.received().find(|it| it.octets == u64::from(OCTETS));
    let received = done.unwrap();
    let (first, last) = (received.first.unwrap(), received.last.unwrap());
    kept.heap = ALLOCATED.peak_usage().saturating_sub(held);
    (last.saturating_since(first), kept)
}

/// The transfer under `attack` and alone: how many thousandths longer it takes, and what the host kept more.
pub(crate) fn compared(
    version: Version,
    attack: impl Attack + 'static,
    interval: Duration,
    memory: u64,
) -> (u64, Kept) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let nobody = |_: u32, _: Option<&Header>| None;
    let (alone, before) = transfer(version, Box::new(nobody), INTERVAL, memory);
    let (attacked, mut kept) = transfer(version, Box::new(attack), interval, memory);
    kept.heap = kept.heap.saturating_sub(before.heap);
    let more = attacked.saturating_sub(alone);
    let longer = more.as_nanos() * 1000 / alone.as_nanos();
    println!("{longer} thousandths longer than {alone}, {kept:?}, alone {before:?}");
    (longer, kept)
}

/// Holds the transfer to 110 % of the time that it takes alone, and what the host keeps to half-open callers and
/// fragments as configured, to `connections` beside the one that is watched, and to `heap` octets in all.
pub(crate) fn harmless(version: Version, attack: impl Attack + 'static, connections: usize, heap: usize) -> Kept {
    harmless_with(version, attack, connections, heap, MEMORY)
}

/// The same where all connections may hold so much `memory`.
pub(crate) fn harmless_with(
    version: Version,
    attack: impl Attack + 'static,
    connections: usize,
    heap: usize,
    memory: u64,
) -> Kept {
    let (longer, kept) = compared(version, attack, INTERVAL, memory);
    assert!(longer <= 100, "{longer} thousandths longer");
    assert!(kept.half_open <= 64 && kept.fragments <= 4 << 20, "{kept:?}");
    // Four wait for an answer that the attacker need not give.
    assert!(kept.connections <= 5 + connections, "{kept:?}");
    assert!(kept.heap <= heap, "{kept:?}");
    kept
}
