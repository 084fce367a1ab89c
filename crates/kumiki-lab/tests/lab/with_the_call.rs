//! XTP's FIRST may carry data (`docs/xtp.md`, P11): programs that are called get it, before what follows, and once.

#![allow(missing_docs, clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "a test: what fails stops it")]

use core::net::SocketAddr;

use kumiki_graph::{
    Address, Credit, DeviceId, Duration, Indication, Key, Mode, NodeId, Open, Protocol, Quality, Request,
};
use kumiki_lab::workload::talker::{Act, Begin};
use kumiki_lab::workload::{Sink, SinkConfig, Talker, TalkerConfig, Transfer};
use kumiki_octets::{Message, Pattern};
use kumiki_stack::{LowerLayers, Settings, build};
use kumiki_testkit::bench::Bench;

const LEN: usize = 30_000;
/// So many of them go with the call.
const FIRST: usize = 700;

struct Host {
    bench: Bench,
    line: DeviceId,
    user: NodeId,
}

fn host(own: &str, program: Option<Box<dyn Protocol>>) -> Host {
    let mut bench = Bench::new();
    let line = bench.device("line");
    for (kind, below, settings) in
        [("ip", "line", Settings::new().with("address", format!("{own}/24").as_str())), ("xtp", "ip", Settings::new())]
    {
        let node = build(kind, &settings, LowerLayers { below: &[below], mtu: Some(1500) }).unwrap();
        bench.boxed(kind, &[below], node);
    }
    let user = match program {
        Some(program) => bench.boxed("user", &["xtp"], program),
        None => bench.user("user", "xtp", &[Key::Only]),
    };
    bench.start();
    Host { bench, line, user }
}

fn socket(text: &str) -> Address {
    Address::from(text.parse::<SocketAddr>().unwrap())
}

/// Calls `program` with the first octets, writes the others and the end; gives the program's host and what came back.
fn call(program: Box<dyn Protocol>) -> (Host, Vec<u8>) {
    let mut called = host("10.0.0.2", Some(program));
    let mut caller = host("10.0.0.1", None);
    let open = Open {
        mode: Mode::Active,
        local: socket("10.0.0.1:4000"),
        remote: socket("10.0.0.2:5001"),
        data: Some(Message::generated(Pattern::Counter, 0, FIRST)),
        ..Open::default()
    };
    caller.bench.say(caller.user, Request::Open(Box::new(open)));
    let (mut session, mut at, mut came) = (None, FIRST, Vec::new());
    for _ in 0..500 {
        for heard in caller.bench.heard(caller.user) {
            match heard {
                Indication::Opened(opened) => session = Some(opened.provider),
                Indication::Data { data, .. } => {
                    came.extend(data.to_vec());
                    let credit = Credit::octets(data.len() as u64);
                    caller.bench.say(caller.user, Request::Credit { session: session.unwrap(), credit });
                }
                Indication::Credit { credit, .. } if at < LEN => {
                    let len = (LEN - at).min(usize::try_from(credit.octets).unwrap());
                    let (session, end) = (session.unwrap(), true);
                    let data = Message::generated(Pattern::Counter, at as u64, len);
                    at += len;
                    caller.bench.say(caller.user, Request::Data { session, data, end });
                    if at == LEN {
                        caller.bench.say(caller.user, Request::Release { session, data: None });
                    }
                }
                _ => {}
            }
        }
        for (_, unit) in caller.bench.sent() {
            called.bench.receive(called.line, unit);
        }
        for (_, unit) in called.bench.sent() {
            caller.bench.receive(caller.line, unit);
        }
        caller.bench.pass(Duration::from_millis(10));
        called.bench.pass(Duration::from_millis(10));
    }
    (called, came)
}

fn sent() -> Vec<u8> {
    Message::generated(Pattern::Counter, 0, LEN).to_vec()
}

#[test]
fn a_sink_reads_what_came_with_the_call() {
    let (called, _) = call(Box::new(Sink::new(SinkConfig {
        local: socket("10.0.0.2:5001"),
        backlog: 8,
        read: 8192,
        expect: Some(Pattern::Counter),
        quality: Quality::default(),
        transfer: Transfer::default(),
    })));
    let sink: &Sink = called.bench.graph.protocol(called.user).unwrap();
    let received: Vec<_> = sink.received().collect();
    let [received] = &received[..] else { panic!("{received:?}") };
    assert_eq!((received.octets, received.wrong_at), (LEN as u64, None));
    assert!(received.ended.is_some());
}

#[test]
fn an_echo_sends_back_what_came_with_the_call() {
    for act in [Act::Echo, Act::Read] {
        let begin = Begin::Listen { local: "10.0.0.2:5001".parse().unwrap(), backlog: 8 };
        let config =
            TalkerConfig { begin, act, write: 500, abort_after: None, quality: Quality::default(), hash: true };
        let (called, came) = call(Box::new(Talker::new(config)));
        let talker: &Talker = called.bench.graph.protocol(called.user).unwrap();
        let talk = talker.talks().next().unwrap();
        assert_eq!(talk.received, LEN as u64, "{act:?}");
        assert_eq!(came, if act == Act::Echo { sent() } else { Vec::new() });
        assert!(talk.ending.is_some(), "{talk:?}");
    }
}
