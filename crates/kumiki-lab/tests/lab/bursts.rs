//! TCP above devices that cut and put together: a transfer is whole on good and on bad lines, and on the line there are
//! only packets.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use kumiki_graph::{DeviceId, Duration, Graph, NodeId, Quality, Service};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::tcp::{Counters, Tcp, defaults};
use kumiki_io::ManualClock;
use kumiki_io::executor::{DeviceConfig, Executor, ExecutorEnd, Pace, Plug};
use kumiki_lab::workload::{Opening, Sink, SinkConfig, Source, SourceConfig, Transfer};
use kumiki_link::{Carrier, DropTail, Element, Hold, Impaired, Impairment, Loss, Rate, Serial, SerialConfig};
use kumiki_octets::Pattern;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PATTERN: Pattern = Pattern::Random { seed: 42 };
const MESSAGE: u32 = 70_000;
const MTU: u32 = 1500;

fn program(own: Ipv4Addr, messages: u64) -> Box<dyn kumiki_graph::Protocol> {
    if own == A {
        Box::new(Source::new(SourceConfig {
            local: SocketAddr::new(IpAddr::V4(A), 0).into(),
            peers: vec![SocketAddr::new(IpAddr::V4(B), 5001).into()],
            sessions: 2,
            busy: 2,
            message: MESSAGE,
            count: Some(messages),
            size: None,
            pattern: PATTERN,
            opening: Opening::default(),
            quality: Quality::default(),
            transfer: Transfer::default(),
        }))
    } else {
        Box::new(Sink::new(SinkConfig {
            local: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 5001).into(),
            backlog: 2,
            read: MESSAGE,
            expect: Some(PATTERN),
            quality: Quality::default(),
            transfer: Transfer::default(),
        }))
    }
}

fn graph(own: Ipv4Addr, messages: u64, sack: bool) -> (Graph, DeviceId, NodeId) {
    let mut graph = Graph::new(5, u64::from(own.octets()[3]));
    let task = graph.add_task("host");
    let device = graph.add_device("line", Service::FRAME).unwrap();
    let interface = ip::Interface { mtu: MTU, ..ip::Interface::new("line", own, 24) };
    let ip = Ip::new(ip::Config::host(interface)).unwrap();
    graph.add_node("ip", task, Box::new(ip)).unwrap();
    let config = kumiki_inet::tcp::Config { sack, ..defaults::modern() };
    let tcp = graph.add_node("tcp", task, Box::new(Tcp::new(config)));
    let program = program(own, messages);
    graph.add_node("program", task, program).unwrap();
    for (upper, lower) in [("ip", "line"), ("tcp", "ip"), ("program", "tcp")] {
        graph.connect(upper, lower).unwrap();
    }
    (graph, device, tcp.unwrap())
}

/// What is checked of a run: the sender's counters, and the frames and octets that crossed the line.
struct Run {
    sender: Counters,
    frames: u64,
}

fn run(bursts: [u32; 2], impairment: &Impairment, messages: u64, sack: bool) -> Run {
    let mut executor = Executor::new(ManualClock::default(), Pace::default());
    let config = SerialConfig {
        carrier: Carrier::Plain { rate: Rate::bits_per_second(1_000_000_000), overhead: 0 },
        propagation: Duration::from_micros(200),
        say_sent: false,
    };
    let line: Box<dyn Element> = Box::new(Serial::new(config, DropTail::UNLIMITED));
    let line = executor.add_element(line);
    let bad = executor.add_element(Box::new(Impaired::both(impairment, 9)));
    executor.plug(Plug::Port(line, 1), Plug::Port(bad, 0));
    let mut ends = Vec::new();
    for (own, burst, plug) in [(A, bursts[0], Plug::Port(line, 0)), (B, bursts[1], Plug::Port(bad, 1))] {
        let (graph, device, tcp) = graph(own, messages, sack);
        let id = executor.add_graph("host", graph);
        executor.set_device(id, device, DeviceConfig { mtu: MTU, burst });
        executor.plug(Plug::Device(id, device), plug);
        ends.push((id, tcp));
    }
    executor.start().unwrap();
    let (b, _) = ends[1];
    let received = |executor: &Executor<ManualClock>| {
        let graph = executor.graph(b).unwrap();
        let sink: &Sink = graph.protocol(graph.node("program").unwrap()).unwrap();
        sink.received().collect::<Vec<_>>()
    };
    let ended = executor.run(Duration::from_secs(600), |executor| {
        let received = received(executor);
        received.len() == 2 && received.iter().all(|session| session.ended.is_some())
    });
    assert_eq!(ended, ExecutorEnd::Done);
    for session in received(&executor) {
        let octets = messages * u64::from(MESSAGE);
        assert_eq!((session.octets, session.wrong_at), (octets, None));
    }
    let tcp: &Tcp = executor.graph(ends[0].0).unwrap().protocol(ends[0].1).unwrap();
    let frames = executor.element_counters(bad);
    Run { sender: *tcp.counters(), frames: frames.iter().find(|(name, _)| *name == "a_units").unwrap().1 }
}

#[test]
fn on_a_good_line_few_segments_become_all_the_packets() {
    let good = Impairment::default();
    let one_by_one = run([1, 1], &good, 60, true);
    for bursts in [[64, 64], [64, 1], [1, 64]] {
        let run = run(bursts, &good, 60, true);
        let octets = 2 * 60 * u64::from(MESSAGE);
        assert_eq!(run.sender.retransmissions, 0, "{bursts:?}");
        // 1448 octets of text in each, but for the few small ones that Nagle lets go.
        let least = octets.div_ceil(1448);
        assert!((least..least + 200).contains(&run.frames), "{bursts:?}: {}", run.frames);
        if bursts[0] > 1 {
            // How many it is depends on how many acknowledgments come together.
            assert!(
                run.sender.segments_sent < one_by_one.sender.segments_sent,
                "{bursts:?}: {}",
                run.sender.segments_sent
            );
        }
    }
}

#[test]
fn losses_in_the_middle_of_super_segments_are_made_good() {
    let bad = Impairment {
        loss: Loss::Independent(0.01),
        duplicate: 0.01,
        corrupt: 1e-7,
        jitter: Duration::from_micros(50),
        hold: Some((0.01, Hold::Followers(3, Duration::from_millis(5)))),
        ..Impairment::default()
    };
    for sack in [true, false] {
        for bursts in [[64, 64], [64, 1], [1, 64], [7, 3]] {
            let run = run(bursts, &bad, 30, sack);
            assert!(run.sender.retransmissions > 0);
            // What was lost is retransmitted, and not the whole super-segment it was in.
            let lost = run.frames * 4 / 100;
            assert!(
                !sack || run.sender.retransmissions < lost,
                "{bursts:?}: {} of {}",
                run.sender.retransmissions,
                run.frames
            );
        }
    }
}
