//! One program above and a loopback as the lower module.

use kumiki_graph::{Accept, Mode, NodeId, Open};
use kumiki_octets::Message;

use super::*;
use kumiki_graph::loopback::{self, Loopback};
use kumiki_testkit::bench::Bench;

const CALLER: Handle = Handle { index: 1, generation: 1 };
const CALLED: Handle = Handle { index: 2, generation: 1 };

struct Setup {
    bench: Bench,
    caller: NodeId,
    called: NodeId,
    session: Handle,
    far: Handle,
}

/// A connection through the interface to a module that takes two messages.
fn setup(flow: Flow) -> Setup {
    let mut bench = Bench::new();
    bench.node("module", &[], Loopback::new(loopback::Config { window: 2 }));
    let config = Config { flow, ..Config::default() };
    bench.node("lif", &["module"], Lif::new(config));
    let caller = bench.user("caller", "lif", &[]);
    let called = bench.user("called", "module", &[]);
    bench.start();
    let open = |mode, user| Request::Open(Box::new(Open { user, mode, ..Open::default() }));
    bench.say(called, open(Mode::Passive { backlog: 1 }, CALLED));
    bench.say(caller, open(Mode::Active, CALLER));
    let heard = bench.heard(called);
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    let far = offered.provider;
    let accept = Accept { session: far, user: CALLED, ..Accept::default() };
    bench.say(called, Request::Accept(Box::new(accept)));
    bench.heard(called);
    let heard = bench.heard(caller);
    let Some(Indication::Opened(opened)) = heard.first() else {
        panic!("{heard:?}");
    };
    let session = opened.provider;
    let credits = heard.iter().filter(|it| matches!(it, Indication::Credit { .. }));
    assert_eq!(credits.count(), 1);
    Setup { bench, caller, called, session, far }
}

impl Setup {
    fn send(&mut self, count: u8) {
        for number in 0..count {
            let (session, end) = (self.session, true);
            let data = Message::from_octets(&[number]);
            self.bench.say(self.caller, Request::Data { session, data, end });
        }
    }

    fn arrived(&mut self) -> usize {
        self.bench.heard(self.called).len()
    }

    fn counters(&self) -> Counters {
        let node = self.bench.graph.node("lif").unwrap();
        *self.bench.graph.protocol::<Lif>(node).unwrap().counters()
    }
}

#[test]
fn who_polls_asks_for_as_long_as_the_module_is_busy() {
    let mut it = setup(Flow::Polling);
    it.send(5);
    assert_eq!(it.arrived(), 0, "nobody has asked yet");
    it.bench.pass(Duration::from_micros(100));
    assert_eq!(it.arrived(), 2);
    it.bench.pass(Duration::from_millis(10));
    assert_eq!(it.arrived(), 0);
    let Counters { polls, busy } = it.counters();
    assert_eq!((polls, busy), (101, 100));
    let (session, credit) = (it.far, Credit::messages(3));
    it.bench.say(it.called, Request::Credit { session, credit });
    it.bench.pass(Duration::from_millis(10));
    assert_eq!(it.arrived(), 3);
    assert_eq!(it.counters().polls, 102, "with nothing to send nobody asks");
}

#[test]
fn who_is_told_never_asks() {
    let mut it = setup(Flow::Credit);
    it.send(2);
    assert_eq!(it.arrived(), 2);
    it.bench.pass(Duration::from_millis(10));
    assert_eq!(it.counters(), Counters::default());
}

#[test]
fn the_end_waits_behind_what_is_to_be_sent() {
    let mut it = setup(Flow::Polling);
    it.send(1);
    let (session, reason, data) = (it.session, kumiki_graph::Reason::User, None);
    it.bench.say(it.caller, Request::Abort { session, reason, data });
    it.bench.pass(Duration::from_micros(100));
    let heard = it.bench.heard(it.called);
    assert!(matches!(heard[..], [Indication::Data { .. }, Indication::Aborted { .. }]));
}

#[test]
fn the_end_does_not_wait_for_a_module_that_takes_nothing_more() {
    let mut it = setup(Flow::Polling);
    it.send(5);
    let (session, reason, data) = (it.session, kumiki_graph::Reason::User, None);
    it.bench.say(it.caller, Request::Abort { session, reason, data });
    it.bench.pass(Duration::from_millis(1));
    let heard = it.bench.heard(it.called);
    assert!(matches!(heard[..], [Indication::Data { .. }, Indication::Data { .. }, Indication::Aborted { .. }]));
    let polls = it.counters().polls;
    it.bench.pass(Duration::from_millis(1));
    assert_eq!(it.counters().polls, polls, "nobody is left to ask for");
}
