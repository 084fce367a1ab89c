//! Two clocks: the same graphs with the same programs, in virtual time and in an executor that polls late and unevenly.
//! The octets that arrive are the same.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use kumiki_wire::atm::cell::Vc;

use kumiki_atm::llc_snap::{self, LlcSnap};
use kumiki_config::quantity::Distribution;
use kumiki_graph::{Address, DeviceId, Duration, Graph, Instant, Quality, Service, Tapped, TaskId};
use kumiki_inet::ip::{self, Ip, Neighbours};
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_io::executor::{Executor, ExecutorEnd, Pace, Plug as ExecutorPlug, Uneven};
use kumiki_io::{Clock, ManualClock, RealClock};
use kumiki_lab::workload::{Opening, Sink, SinkConfig, Source, SourceConfig, Transfer};
use kumiki_link::atm::{Sar, SarConfig, Slots, sar};
use kumiki_link::{Carrier, DropTail, Element, Hold, Impaired, Impairment, Loss, Rate, Serial, SerialConfig, Wire};
use kumiki_octets::Pattern;
use kumiki_sim::{Host, Plug, TaskConfig, World};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const VC: Address = Vc { vpi: 0, vci: 100 }.address();
const PATTERN: Pattern = Pattern::Random { seed: 42 };
const MESSAGE: u32 = 7_000;

/// What stands between the hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Medium {
    /// A point-to-point line of 100 Mb/s.
    Line,
    /// ATM cells on OC-3c.
    Cells,
    /// The line, with losses, duplicates, wrong bits and frames that overtake others.
    Bad,
}

/// What the programs do.
#[derive(Clone, Copy, Debug)]
struct Load {
    sessions: u32,
    /// In each session.
    messages: u64,
}

fn source(load: Load) -> Source {
    Source::new(SourceConfig {
        local: SocketAddr::new(IpAddr::V4(A), 0).into(),
        peers: vec![SocketAddr::new(IpAddr::V4(B), 5001).into()],
        sessions: load.sessions,
        busy: load.sessions,
        message: MESSAGE,
        count: Some(load.messages),
        size: None,
        pattern: PATTERN,
        opening: Opening { stagger: Distribution::Constant(Duration::from_micros(300)), ..Opening::default() },
        quality: Quality::default(),
        transfer: Transfer::default(),
    })
}

fn sink(load: Load) -> Sink {
    Sink::new(SinkConfig {
        local: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 5001).into(),
        backlog: load.sessions,
        read: MESSAGE,
        expect: Some(PATTERN),
        quality: Quality::default(),
        transfer: Transfer::default(),
    })
}

/// Bench, TCP, IP and LLC/SNAP on a device; the bench in a task of its own. What the bench gets is put on record.
fn graph(own: Ipv4Addr, peer: Ipv4Addr, load: Load) -> (Graph, DeviceId) {
    let mut graph = Graph::new(5, u64::from(own.octets()[3]));
    let stack = graph.add_task("stack");
    let programs = graph.add_task("programs");
    if own == A {
        let source = Box::new(source(load));
        graph.add_node("bench", programs, source).unwrap();
    } else {
        graph.add_node("bench", programs, Box::new(sink(load))).unwrap();
    }
    let tcp = Box::new(Tcp::new(defaults::modern()));
    graph.add_node("tcp", stack, tcp).unwrap();
    let interface = ip::Interface {
        mtu: 1500,
        neighbours: Neighbours::Table(vec![(peer, VC)]),
        ..ip::Interface::new("llc_snap", own, 24)
    };
    let ip = Box::new(Ip::new(ip::Config::host(interface)).unwrap());
    graph.add_node("ip", stack, ip).unwrap();
    let llc = Box::new(LlcSnap::new(llc_snap::Config::default()));
    graph.add_node("llc_snap", stack, llc).unwrap();
    let device = graph.add_device("line", Service::UNIT_DATA).unwrap();
    let bench = graph.connect("bench", "tcp").unwrap().unwrap();
    for (upper, lower) in [("tcp", "ip"), ("ip", "llc_snap"), ("llc_snap", "line")] {
        graph.connect(upper, lower).unwrap();
    }
    graph.tap(bench);
    (graph, device)
}

/// The pieces of a medium from one device to the other, each joined by its ports.
fn pieces(medium: Medium) -> Vec<(Box<dyn Element>, [usize; 2])> {
    let line = || {
        let config = SerialConfig {
            carrier: Carrier::Plain { rate: Rate::bits_per_second(100_000_000), overhead: 7 },
            propagation: Duration::from_micros(200),
            say_sent: false,
        };
        let serial: Box<dyn Element> = Box::new(Serial::new(config, DropTail::UNLIMITED));
        (serial, [0, 1])
    };
    let adapter = || -> Box<dyn Element> { Box::new(Sar::new(SarConfig::new(Slots::new(Rate::OC3C)))) };
    match medium {
        Medium::Line => vec![line()],
        Medium::Cells => vec![
            (adapter(), [sar::HOST, sar::LINE]),
            (Box::new(Wire::new(Duration::from_micros(200))), [0, 1]),
            (adapter(), [sar::LINE, sar::HOST]),
        ],
        Medium::Bad => {
            let impairment = Impairment {
                loss: Loss::Independent(0.01),
                duplicate: 0.01,
                corrupt: 0.01,
                jitter: Duration::from_micros(50),
                hold: Some((0.01, Hold::Followers(3, Duration::from_millis(5)))),
                ..Impairment::default()
            };
            vec![line(), (Box::new(Impaired::both(&impairment, 9)), [0, 1])]
        }
    }
}

/// What a run brought: what the program heard in each session, in the order in which the sessions came.
#[derive(PartialEq, Eq)]
struct Heard {
    sessions: Vec<(u64, Option<u64>, bool)>,
    octets: Vec<u8>,
}

fn heard(graph: &mut Graph) -> Heard {
    let mut octets = Vec::new();
    for Tapped { data, down, .. } in graph.take_tapped() {
        if !down {
            octets.extend(data.to_vec());
        }
    }
    let sink: &Sink = graph.protocol(graph.node("bench").unwrap()).unwrap();
    let sessions = sink
        .received()
        .map(|received| (received.octets, received.wrong_at, received.ended.is_some()))
        .collect::<Vec<_>>();
    if sessions.len() > 1 {
        // In which order sessions take turns is a matter of time. Within each, the sink has looked at every octet.
        put_in_order(&mut octets);
    }
    Heard { sessions, octets }
}

/// By counting them: a sort of so many, in a test that is not optimised, takes most of the test's time.
fn put_in_order(octets: &mut [u8]) {
    let mut counts = [0; 256];
    for octet in octets.iter() {
        counts[usize::from(*octet)] += 1;
    }
    let mut rest = octets;
    for (octet, count) in (0..=u8::MAX).zip(counts) {
        let (these, others) = rest.split_at_mut(count);
        these.fill(octet);
        rest = others;
    }
}

fn is_done(graph: &Graph, load: Load) -> bool {
    let sink: &Sink = graph.protocol(graph.node("bench").unwrap()).unwrap();
    let ended = sink.received().filter(|received| received.ended.is_some());
    ended.count() == load.sessions as usize
}

fn in_virtual_time(medium: Medium, load: Load, batch: usize) -> Heard {
    let mut world = World::new();
    let mut plugs = Vec::new();
    for (name, own, peer) in [("a", A, B), ("b", B, A)] {
        let (graph, device) = graph(own, peer, load);
        let mut host = Host::new(name, graph);
        for task in [TaskId(0), TaskId(1)] {
            let config = TaskConfig { batch, ..TaskConfig::default() };
            host.set_task(task, config);
        }
        plugs.push(Plug::Device(world.add_host(host), device));
    }
    let [a, b] = plugs[..] else { panic!() };
    let mut end = a;
    for (element, [near, far]) in pieces(medium) {
        let element = world.add_element("medium", element);
        world.plug(end, Plug::Port(element, near));
        end = Plug::Port(element, far);
    }
    world.plug(end, b);
    world.start().unwrap();
    let Plug::Device(b, _) = b else { panic!() };
    let end = Instant::ZERO + Duration::from_secs(600);
    let done =
        world.run_until_done(end, Duration::from_millis(10), |world| is_done(&world.host(b).unwrap().graph, load));
    assert!(done, "{medium:?}: {:?}", world.standstill());
    heard(&mut world.host_mut(b).unwrap().graph)
}

fn in_the_time_of<C: Clock>(clock: C, medium: Medium, load: Load, pace: Pace) -> Heard {
    let mut executor = Executor::new(clock, pace);
    let mut plugs = Vec::new();
    for (name, own, peer) in [("a", A, B), ("b", B, A)] {
        let (graph, device) = graph(own, peer, load);
        plugs.push(ExecutorPlug::Device(executor.add_graph(name, graph), device));
    }
    let [a, b] = plugs[..] else { panic!() };
    let mut end = a;
    for (element, [near, far]) in pieces(medium) {
        let element = executor.add_element(element);
        executor.plug(end, ExecutorPlug::Port(element, near));
        end = ExecutorPlug::Port(element, far);
    }
    executor.plug(end, b);
    executor.start().unwrap();
    let ExecutorPlug::Device(b, _) = b else { panic!() };
    let ended = executor.run(Duration::from_secs(600), |executor| is_done(executor.graph(b).unwrap(), load));
    assert_eq!(ended, ExecutorEnd::Done, "{medium:?}");
    heard(executor.graph_mut(b).unwrap())
}

/// A pace that is as bad as `late`, with batches of up to `batch`.
fn uneven(seed: u64, batch: usize, late: Duration) -> Pace {
    Pace { batch, uneven: Some(Uneven { seed, late }), ..Pace::default() }
}

fn assert_complete(heard: &Heard, load: Load) {
    let octets = load.messages * u64::from(MESSAGE);
    let whole = vec![(octets, None, true); load.sessions as usize];
    assert_eq!(heard.sessions, whole);
    let expected = octets * u64::from(load.sessions);
    assert_eq!(heard.octets.len() as u64, expected);
}

#[test]
fn both_clocks_bring_the_same_octets() {
    for medium in [Medium::Line, Medium::Cells, Medium::Bad] {
        for sessions in [1, 3] {
            let load = Load { sessions, messages: 100 };
            let modelled = in_virtual_time(medium, load, 1);
            assert_complete(&modelled, load);
            assert!(modelled == in_virtual_time(medium, load, 64));
            for (seed, batch, late) in [
                (1, 1, Duration::ZERO),
                (2, 7, Duration::from_micros(90)),
                (3, 256, Duration::from_millis(3)),
                (4, 3, Duration::from_millis(30)),
            ] {
                let pace = uneven(seed, batch, late);
                let polled = in_the_time_of(ManualClock::default(), medium, load, pace);
                assert!(modelled == polled, "{medium:?} {load:?} {seed}");
            }
        }
    }
}

#[test]
fn real_time_brings_the_same_octets() {
    for medium in [Medium::Line, Medium::Cells, Medium::Bad] {
        for sessions in [1, 3] {
            let load = Load { sessions, messages: 20 };
            let modelled = in_virtual_time(medium, load, 1);
            assert_complete(&modelled, load);
            for pace in [Pace::default(), uneven(1, 5, Duration::from_millis(2))] {
                let clock = RealClock::start();
                let it = kumiki_watchdog::during(|| in_the_time_of(clock, medium, load, pace));
                assert!(modelled == it, "{medium:?} {load:?}");
            }
        }
    }
}
