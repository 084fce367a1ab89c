//! The programs in virtual time on stacks as they run live, and what is told of them.

use core::net::{IpAddr, SocketAddr};

use kumiki_lab::workload::talker::{Act, Begin, TalkerConfig};
use kumiki_lab::workload::{Opening, PingConfig, Transfer};
use kumiki_link::{Carrier, DropTail, Rate, Serial, SerialConfig};
use kumiki_live::{Pattern, Quality, Stack, Transport};
use kumiki_sim::{ElementId, Host, HostId, Plug, World};
use kumiki_stack::KINDS;

use super::*;

const SEED: u64 = 7;
const CONTENT: Pattern = Pattern::Random { seed: SEED };

fn socket(address: [u8; 4], port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::from(address), port)
}

fn call(sessions: u32) -> Begin {
    Begin::Call { local: socket([0, 0, 0, 0], 0), remote: socket([10, 9, 0, 1], 5001), sessions }
}

fn listen(port: u16) -> Begin {
    let local = socket([0, 0, 0, 0], port);
    Begin::Listen { local, backlog: 8 }
}

fn config(begin: Begin, act: Act) -> TalkerConfig {
    TalkerConfig { begin, act, write: 10_000, abort_after: None, quality: Quality::default(), hash: true }
}

/// A line of 100 Mb/s in virtual time.
fn wire() -> (World, ElementId) {
    let mut world = World::new();
    let config = SerialConfig {
        carrier: Carrier::Plain { rate: Rate::bits_per_second(100_000_000), overhead: 0 },
        propagation: Duration::from_millis(1),
        say_sent: false,
    };
    let line = world.add_element("line", Box::new(Serial::new(config, DropTail::UNLIMITED)));
    (world, line)
}

/// A host with this program at an end of it.
fn host(world: &mut World, line: ElementId, port: usize, address: &str, program: TalkerConfig) -> HostId {
    let stack = Stack::tun(KINDS, "talker", Transport::Tcp, address, 1500, "line");
    let program = Box::new(Talker::new(program));
    let (graph, devices) = stack.graph(vec![("talker", program)], SEED + port as u64).unwrap();
    let device = devices["line"];
    let host = world.add_host(Host::new(address, graph));
    world.plug(Plug::Device(host, device), Plug::Port(line, port));
    host
}

fn talks(world: &World, host: HostId) -> Vec<Talk> {
    let graph = &world.host(host).unwrap().graph;
    let talker: &Talker = graph.protocol(graph.node("talker").unwrap()).unwrap();
    talker.talks().cloned().collect()
}

/// Both programs on a line, until all connections have ended at both.
fn in_virtual_time(a: TalkerConfig, b: TalkerConfig) -> [Vec<Talk>; 2] {
    let (mut world, line) = wire();
    let hosts = [(0, "10.9.0.1/24", a), (1, "10.9.0.2/24", b)]
        .map(|(port, address, program)| host(&mut world, line, port, address, program));
    world.start().unwrap();
    let end = Instant::ZERO + Duration::from_secs(100);
    world.run_until_done(end, Duration::from_millis(10), |world| {
        hosts.iter().all(|host| {
            let talks = talks(world, *host);
            !talks.is_empty() && talks.iter().all(|talk| talk.ending.is_some())
        })
    });
    hosts.map(|host| talks(&world, host))
}

fn closed(talk: &Talk) -> bool {
    matches!(talk.ending, Some(Ending::Closed(_)))
}

#[test]
fn what_one_sends_the_other_reads_whoever_calls() {
    let send = Act::Send { octets: 123_457, pattern: CONTENT };
    for (listener, caller) in [(Act::Read, send), (send, Act::Read)] {
        let [at_listener, at_caller] = in_virtual_time(config(listen(5001), listener), config(call(3), caller));
        assert_eq!((at_listener.len(), at_caller.len()), (3, 3));
        for (a, b) in at_listener.iter().zip(&at_caller) {
            assert!(closed(a) && closed(b), "{a:?} {b:?}");
            assert_eq!((a.sent, a.sent_hash()), (b.received, b.received_hash()));
            assert_eq!((b.sent, b.sent_hash()), (a.received, a.received_hash()));
            assert_eq!(a.sent + b.sent, 123_457);
        }
    }
}

#[test]
fn an_echo_gives_everything_back_and_then_ends() {
    let send = Act::Send { octets: 2_000_000, pattern: CONTENT };
    let [echo, caller] = in_virtual_time(config(listen(5001), Act::Echo), config(call(1), send));
    let [caller] = caller.as_slice() else {
        panic!("one connection");
    };
    assert!(closed(caller) && closed(&echo[0]));
    assert_eq!(caller.received, 2_000_000);
    assert_eq!(caller.received_hash(), caller.sent_hash());
}

#[test]
fn no_octets_have_the_hash_of_nothing() {
    let send = Act::Send { octets: 0, pattern: CONTENT };
    let [sink, _] = in_virtual_time(config(listen(5001), Act::Read), config(call(1), send));
    // FIPS 180-4's hash of no octets, as `sha256sum` prints it for an empty file.
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(sink[0].received_hash().to_string(), nothing);
    assert!(closed(&sink[0]));
}

#[test]
fn an_abort_is_told_at_both_ends_with_its_reason() {
    let send = Act::Send { octets: 1_000_000, pattern: CONTENT };
    let caller = TalkerConfig { abort_after: Some(50_000), ..config(call(1), send) };
    let [sink, caller] = in_virtual_time(config(listen(5001), Act::Read), caller);
    let reason = |talk: &Talk| match talk.ending.clone() {
        Some(Ending::Aborted(_, reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(caller[0].sent, 50_000);
    assert_eq!(reason(&caller[0]), Reason::User);
    assert_eq!(reason(&sink[0]), Reason::Reset);
}

#[test]
fn who_is_interrupted_aborts_what_is_open_and_tells_of_it() {
    let (mut world, line) = wire();
    let sink = host(&mut world, line, 0, "10.9.0.1/24", config(listen(5001), Act::Read));
    let caller = host(&mut world, line, 1, "10.9.0.2/24", config(call(1), Act::Echo));
    world.start().unwrap();
    let moment = |world: &mut World, ms| {
        let until = Instant::ZERO + Duration::from_millis(ms);
        world.run_until_done(until, Duration::from_millis(1), |_| false);
    };
    moment(&mut world, 100);
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    let mut printer = Printer::new(OutputFormat::Json, None, &mut say);
    let at = world.now();
    let graph = &mut world.host_mut(sink).unwrap().graph;
    let node = graph.node("talker").unwrap();
    let talker: &mut Talker = graph.protocol_mut(node).unwrap();
    let token = printer.stop(talker, Reason::User).unwrap();
    graph.wake(at, node, token);
    moment(&mut world, 200);
    let graph = &world.host(sink).unwrap().graph;
    printer.look(graph.protocol::<Talker>(node).unwrap(), world.now());
    assert_eq!(printer.aborted(), None, "it was asked for");
    assert!(lines.iter().any(|line| line.contains("\"reason\":\"a user asked for it\"")), "{lines:?}");
    let ended = talks(&world, caller).remove(0).ending;
    assert!(matches!(ended, Some(Ending::Aborted(_, Reason::Reset))), "{ended:?}");
}

#[test]
fn a_ping_that_is_interrupted_says_what_was_answered() {
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    let mut printer = Printer::new(OutputFormat::Text, None, &mut say);
    let mut ping = Ping::new(PingConfig {
        peer: IpAddr::from([10, 9, 0, 1]),
        data: 56,
        count: None,
        interval: Duration::from_secs(1),
        pattern: CONTENT,
        opening: Opening::default(),
        transfer: Transfer::default(),
    });
    assert!(!printer.look(&ping, Instant::ZERO));
    assert_eq!(printer.stop(&mut ping, Reason::User), None);
    assert!(printer.look(&ping, Instant::ZERO));
    assert_eq!(lines, ["0 echoes asked for, 0 answered"]);
}

#[test]
fn echoes_are_told_as_they_are_answered_and_silence_once_a_second() {
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    let mut printer = Printer::new(OutputFormat::Text, None, &mut say);
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let echoes = |sent, answered, errors, ms| Echoes {
        sent,
        answered,
        errors,
        sum: Duration::from_millis(ms),
        ..Echoes::default()
    };
    for (ms, now) in [
        (0, echoes(0, 0, 0, 0)),
        (5000, echoes(1, 0, 0, 0)),
        (5900, echoes(1, 0, 0, 0)),
        (6000, echoes(2, 0, 0, 0)),
        (6500, echoes(3, 0, 0, 0)),
        (7000, echoes(3, 0, 0, 0)),
        (7100, echoes(3, 1, 0, 20)),
        (7200, echoes(3, 3, 0, 50)),
        (9999, echoes(3, 3, 0, 50)),
        (10_000, echoes(4, 3, 0, 50)),
        (10_100, echoes(4, 3, 1, 50)),
    ] {
        printer.tell_echoes(&now, at(ms));
        printer.echoes = Some(now);
    }
    assert_eq!(
        lines,
        [
            "no answer so far to 2 of 2 echoes",
            "no answer so far to 3 of 3 echoes",
            "echo 1: 20.000 ms",
            "2 echoes: 15.000 ms on average",
            "an error for 1 of 4 echoes",
        ]
    );
}

#[test]
fn nobody_listens_and_the_caller_is_refused() {
    let [_, caller] = in_virtual_time(config(listen(5002), Act::Read), config(call(1), Act::Read));
    let refused = matches!(caller[0].ending, Some(Ending::Aborted(_, Reason::Refused)));
    assert!(refused, "{:?}", caller[0].ending);
    assert_eq!(caller[0].remote, Address::from(socket([10, 9, 0, 1], 5001)));
}
