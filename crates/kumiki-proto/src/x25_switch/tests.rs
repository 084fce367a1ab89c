#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks for one of many"
)]
//! A switch between DTEs, each on a packet layer of its own, packets as units between them.

use kumiki_graph::{Accept, Address, Credit, DeviceId, Duration, NodeId, Opened, Told, Unit};
use kumiki_octets::Message;
use kumiki_osi::x25::{Charging, Facilities, Facility, FastSelect, Number};
use proptest::prelude::*;

use super::*;
use crate::test_bench::Bench;
use crate::x25::{self as packet, Over, Role, X25};

const OWN: Handle = Handle {
    index: 1,
    generation: 9,
};
const LISTENS: Handle = Handle {
    index: 5,
    generation: 9,
};

/// A packet with its bits: the data, whether the message ends, Q and D.
type Heard = (Vec<u8>, bool, bool, bool);

/// A DTE's user: what it has heard and may do.
struct Dte {
    user: NodeId,
    /// The devices of the line: its own, and the switch's.
    line: [DeviceId; 2],
    session: Option<Handle>,
    offered: Option<Box<kumiki_graph::Offered>>,
    opened: Option<Box<Opened>>,
    credit: u32,
    /// Whether it takes what comes at once.
    takes: bool,
    got: Vec<Heard>,
    /// Packets taken and not granted again, and those that wait to be confirmed.
    held: u32,
    unconfirmed: u32,
    confirmed: u32,
    interrupts: Vec<Vec<u8>>,
    resets: Vec<Reason>,
    ended: Option<(Reason, Vec<u8>)>,
}

struct Net {
    bench: Bench,
    switch: NodeId,
    dtes: Vec<Dte>,
    /// The DTE whose line carries nothing for now, and what is to cross it.
    held: Option<usize>,
    kept: Vec<(DeviceId, Unit)>,
}

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

fn frames(role: Role) -> packet::Config {
    packet::Config {
        over: Over::Frames,
        role: Some(role),
        ..packet::Config::default()
    }
}

fn route(prefix: &str, to: &[&str]) -> Route {
    Route {
        prefix: number(prefix),
        to: to.iter().map(|it| (*it).to_owned()).collect(),
        ..Route::default()
    }
}

fn told(reason: Reason) -> (u8, u8) {
    let Reason::Told(Told::X25(told)) = reason else {
        panic!("{reason:?}");
    };
    (told.cause, told.diagnostic)
}

const fn clear(cause: u8, diagnostic: u8) -> Reason {
    Reason::Told(Told::X25(cleared(cause, diagnostic)))
}

const NAMES: [&str; 3] = ["a", "b", "c"];

impl Net {
    /// Three DTEs on a switch that sends 1 to a, 2 to b and 3 to c.
    fn new(config: Config, change: impl Fn(usize, &mut packet::Config)) -> Self {
        let mut bench = Bench::new();
        let mut lines = Vec::new();
        for (n, name) in NAMES.into_iter().enumerate() {
            let [outer, inner] = ["dte", "dce"].map(|side| bench.device(&format!("{side} {name}")));
            let (mut dte, mut dce) = (frames(Role::Dte), frames(Role::Dce));
            change(n, &mut dte);
            change(n, &mut dce);
            let upper = format!("x25 {name}");
            bench.node(&upper, &[&format!("dte {name}")], X25::new(dte).unwrap());
            bench.node(name, &[&format!("dce {name}")], X25::new(dce).unwrap());
            let user = bench.user(&format!("user {name}"), &upper, &[]);
            lines.push((user, [outer, inner]));
        }
        let switch = bench.node("switch", &NAMES, Switch::new(config));
        let dtes = lines.into_iter().map(|(user, line)| Dte {
            user,
            line,
            session: None,
            offered: None,
            opened: None,
            credit: 0,
            takes: true,
            got: Vec::new(),
            held: 0,
            unconfirmed: 0,
            confirmed: 0,
            interrupts: Vec::new(),
            resets: Vec::new(),
            ended: None,
        });
        let dtes = dtes.collect();
        bench.start();
        let mut net = Self {
            bench,
            switch,
            dtes,
            held: None,
            kept: Vec::new(),
        };
        net.run();
        for dte in 0..3 {
            net.say(
                dte,
                Request::Open(Box::new(Open {
                    user: LISTENS,
                    mode: Mode::Passive { backlog: 8 },
                    ..Open::default()
                })),
            );
        }
        let ports = net.protocol().ports();
        assert!(ports.iter().all(|port| port.is_up), "{ports:?}");
        net.events();
        net
    }

    fn plain() -> Self {
        let routes = vec![route("1", &["a"]), route("2", &["b"]), route("3", &["c"])];
        let config = Config {
            routes,
            ..Config::default()
        };
        Self::new(config, |_, _| {})
    }

    fn protocol(&mut self) -> &mut Switch {
        self.bench.graph.protocol_mut(self.switch).unwrap()
    }

    fn events(&mut self) -> Vec<Happened> {
        self.protocol().take_events().map(|it| it.what).collect()
    }

    /// Carries packets over the lines and lets users hear, until nothing moves.
    fn run(&mut self) {
        loop {
            let mut moved = false;
            for (device, request) in self.bench.requests() {
                let Request::Unit(unit) = request else {
                    continue;
                };
                let mut lines = self.dtes.iter().map(|dte| dte.line).zip(0..);
                let to = lines.find_map(|([outer, inner], n)| match device {
                    it if it == outer => Some((inner, n)),
                    it if it == inner => Some((outer, n)),
                    _ => None,
                });
                moved = true;
                let ((to, n), unit) = (to.unwrap(), Unit::of(unit.data));
                if self.held == Some(n) {
                    self.kept.push((to, unit));
                } else {
                    self.bench.receive(to, unit);
                }
            }
            for n in 0..self.dtes.len() {
                for indication in self.bench.heard(self.dtes[n].user) {
                    moved = true;
                    self.hear(n, indication);
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        // Timers that set something off: what comes of it is carried before the next.
        for _ in 0..10 {
            self.bench.pass(Duration::from_nanos(time.as_nanos() / 10));
            self.run();
        }
    }

    fn hear(&mut self, n: usize, indication: Indication) {
        let dte = &mut self.dtes[n];
        match indication {
            Indication::Opened(opened) if opened.user == OWN => {
                dte.session = Some(opened.provider);
                dte.opened = Some(opened);
            }
            Indication::Offered(offered) => dte.offered = Some(offered),
            Indication::Credit { credit, .. } => dte.credit += credit.messages,
            Indication::Data { data, end, .. } => self.heard(n, (data.to_vec(), end, false, false)),
            Indication::Particular { what, .. } => match *what {
                Particular::Packet(Primitive::Data {
                    data,
                    end,
                    qualified,
                    delivery,
                }) => self.heard(n, (data.to_vec(), end, qualified, delivery)),
                Particular::Packet(Primitive::Confirm { packets }) => dte.confirmed += packets,
                other => panic!("{other:?}"),
            },
            Indication::Expedited { data, .. } => dte.interrupts.push(data.to_vec()),
            Indication::Reset { session, reason } => {
                dte.resets.push(reason);
                dte.credit = 0;
                dte.held = 0;
                // The answer to our own has no reason.
                if session == OWN && reason != Reason::User {
                    let (session, reason) = (dte.session.unwrap(), Reason::User);
                    self.bench
                        .say(self.dtes[n].user, Request::Reset { session, reason });
                }
            }
            Indication::Aborted { reason, data, .. } => {
                dte.session = None;
                dte.ended = Some((reason, data.map(|it| it.to_vec()).unwrap_or_default()));
            }
            _ => {}
        }
    }

    fn heard(&mut self, n: usize, packet: Heard) {
        let dte = &mut self.dtes[n];
        dte.unconfirmed += u32::from(packet.3);
        dte.got.push(packet);
        dte.held += 1;
        if dte.takes {
            self.take(n);
        }
    }

    /// Lets user `n` take all that it holds, and confirm it.
    fn take(&mut self, n: usize) {
        let dte = &mut self.dtes[n];
        let Some(session) = dte.session else {
            return;
        };
        let credit = Credit::messages(core::mem::take(&mut dte.held));
        let packets = core::mem::take(&mut dte.unconfirmed);
        let user = dte.user;
        self.bench.say(user, Request::Credit { session, credit });
        if packets > 0 {
            let what = Box::new(Particular::Packet(Primitive::Confirm { packets }));
            self.bench.say(user, Request::Particular { session, what });
        }
    }

    fn say(&mut self, n: usize, request: Request) {
        self.bench.say(self.dtes[n].user, request);
        self.run();
    }

    fn call(&mut self, n: usize, to: &str, data: &[u8], call: x25::Call) {
        self.say(
            n,
            Request::Open(Box::new(Open {
                user: OWN,
                local: Address::X121(number(&format!("{}00", n + 1))),
                remote: Address::X121(number(to)),
                data: Some(Message::from_octets(data)),
                call: Some(Box::new(call)),
                ..Open::default()
            })),
        );
    }

    fn accept(&mut self, n: usize, call: x25::Call) {
        let offered = self.dtes[n].offered.take().expect("it is called");
        self.dtes[n].session = Some(offered.provider);
        self.say(
            n,
            Request::Accept(Box::new(Accept {
                session: offered.provider,
                user: OWN,
                call: Some(Box::new(call)),
                ..Accept::default()
            })),
        );
    }

    /// A call from `from` to `to` that stands.
    fn set_up(&mut self, from: usize, to: usize, call: x25::Call) {
        self.call(from, &format!("{}77", to + 1), &[1, 0, 0, 0], call.clone());
        self.accept(to, call);
        assert!(self.dtes[from].session.is_some());
    }

    fn send(&mut self, n: usize, data: &[u8], end: bool, qualified: bool, delivery: bool) {
        let dte = &mut self.dtes[n];
        dte.credit -= 1;
        let session = dte.session.unwrap();
        let data = Message::from_octets(data);
        let request = if qualified || delivery {
            let what = Box::new(Particular::Packet(Primitive::Data {
                data,
                end,
                qualified,
                delivery,
            }));
            Request::Particular { session, what }
        } else {
            Request::Data { session, data, end }
        };
        self.say(n, request);
    }

    fn clear(&mut self, n: usize, reason: Reason, data: &[u8]) {
        let session = self.dtes[n].session.take().unwrap();
        let data = (!data.is_empty()).then(|| Message::from_octets(data));
        self.say(
            n,
            Request::Abort {
                session,
                reason,
                data,
            },
        );
    }

    fn reset(&mut self, n: usize, cause: u8, diagnostic: u8) {
        let session = self.dtes[n].session.unwrap();
        let reason = Reason::Told(Told::X25(x25::Told {
            what: What::Reset,
            cause,
            diagnostic,
        }));
        self.say(n, Request::Reset { session, reason });
    }

    fn interrupt(&mut self, n: usize, octet: u8) {
        let session = self.dtes[n].session.unwrap();
        let data = Message::from_octets(&[octet]);
        self.say(n, Request::Expedited { session, data });
    }

    fn ended(&mut self, n: usize) -> (Reason, Vec<u8>) {
        self.dtes[n].ended.take().expect("it was told of an end")
    }
}

#[test]
fn a_call_goes_where_its_number_begins_and_carries_both_ways() {
    let mut net = Net::plain();
    let facilities = Facilities(vec![
        Facility::PacketSize {
            called: 9,
            calling: 9,
        },
        Facility::ClosedGroup(7),
    ]);
    let asked = x25::Call {
        facilities,
        ..x25::Call::default()
    };
    net.call(0, "277", b"hello", asked);
    let offered = net.dtes[1].offered.clone().unwrap();
    assert_eq!(offered.local, Address::X121(number("277")));
    assert_eq!(offered.remote, Address::X121(number("100")));
    assert_eq!(offered.data.unwrap().to_vec(), b"hello");
    let said = offered.call.unwrap();
    assert!(said.facilities.0.contains(&Facility::ClosedGroup(7)));
    // Each interface has its own packet size.
    assert_eq!(said.facilities.packet_size(), Some((10, 10)));
    net.accept(1, x25::Call::default());
    let opened = net.dtes[0].opened.clone().unwrap();
    assert_eq!(opened.call.unwrap().facilities.packet_size(), Some((9, 9)));
    net.send(0, b"up", true, false, false);
    net.send(1, b"down", true, true, false);
    assert_eq!(net.dtes[1].got, [(b"up".to_vec(), true, false, false)]);
    assert_eq!(net.dtes[0].got, [(b"down".to_vec(), true, true, false)]);
    net.clear(1, clear(0, 77), b"");
    assert_eq!(told(net.ended(0).0), (0, 77));
    assert_eq!(net.protocol().calls(), 0);
    let events = net.events();
    let [
        Happened::SetUp { from, to, .. },
        Happened::Cleared {
            by,
            octets,
            diagnostic,
            ..
        },
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (from.as_str(), to.as_str(), by.as_deref()),
        ("a", "b", Some("b"))
    );
    assert_eq!((*octets, *diagnostic), ([2, 4], 77));
    assert!(net.protocol().ports().iter().all(|port| port.calls == 0));
}

#[test]
fn a_call_to_nobody_a_line_that_is_down_and_a_way_back_are_refused() {
    let mut net = Net::plain();
    net.call(0, "977", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0), (0x0d, 67));
    net.call(0, "177", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0), (0x0d, 67));
    let line = net.dtes[1].line[1];
    net.bench
        .indicate(line, Indication::Report(Box::new(Report::Down)));
    net.call(0, "277", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0), (0x09, 0));
    assert_eq!(net.protocol().counters().refused, 3);
    assert_eq!(net.protocol().calls(), 0);
}

#[test]
fn the_next_target_is_called_where_the_first_is_down_and_no_other_where_it_refuses() {
    let config = Config {
        routes: vec![route("", &["a", "b", "c"])],
        ..Config::default()
    };
    let mut net = Net::new(config, |_, _| {});
    net.call(0, "5", b"", x25::Call::default());
    let offered = net.dtes[1].offered.take().unwrap();
    let (session, reason, data) = (offered.provider, clear(0, 9), None);
    net.say(
        1,
        Request::Abort {
            session,
            reason,
            data,
        },
    );
    assert_eq!(told(net.ended(0).0), (0, 9));
    assert!(net.dtes[2].offered.is_none());
    let line = net.dtes[1].line[1];
    net.bench
        .indicate(line, Indication::Report(Box::new(Report::Down)));
    net.call(0, "5", b"", x25::Call::default());
    net.accept(2, x25::Call::default());
    assert!(net.dtes[0].session.is_some());
    assert_eq!(net.protocol().counters().hunted, 1);
}

#[test]
fn a_line_without_a_channel_left_is_passed_over() {
    let config = Config {
        routes: vec![route("", &["b", "c"])],
        ..Config::default()
    };
    let mut net = Net::new(config, |n, config| {
        if n == 1 {
            config.ranges.two_way = (1, 1);
        }
    });
    net.call(0, "5", b"", x25::Call::default());
    net.accept(1, x25::Call::default());
    net.call(0, "6", b"", x25::Call::default());
    assert!(net.dtes[2].offered.is_some());
}

#[test]
fn routes_ask_for_ports_and_user_data_and_change_numbers() {
    let from_c = Route {
        from: vec!["c".to_owned()],
        called: Rewrite {
            strip: 1,
            prepend: number("9"),
        },
        calling: Rewrite {
            strip: 0,
            prepend: number("44"),
        },
        ..route("2", &["a"])
    };
    let pad = Route {
        user_data: vec![1, 0],
        ..route("2", &["c"])
    };
    let config = Config {
        routes: vec![route("2", &["b"]), pad, from_c],
        ..Config::default()
    };
    let mut net = Net::new(config, |_, _| {});
    net.call(0, "277", &[3, 1], x25::Call::default());
    assert!(net.dtes[1].offered.is_some());
    net.call(0, "277", &[1, 0, 0, 0], x25::Call::default());
    assert!(net.dtes[2].offered.is_some());
    net.call(2, "277", &[1, 0, 0, 0], x25::Call::default());
    let offered = net.dtes[0].offered.take().unwrap();
    assert_eq!(offered.local, Address::X121(number("977")));
    assert_eq!(offered.remote, Address::X121(number("44300")));
}

#[test]
fn a_number_that_grows_too_long_is_refused() {
    let long = Rewrite {
        strip: 0,
        prepend: number("12345678901234"),
    };
    assert!(long.of(number("12")).is_err());
    assert_eq!(long.of(number("2")).unwrap(), number("123456789012342"));
    let strip = Rewrite {
        strip: 3,
        prepend: number("7"),
    };
    assert_eq!(strip.of(number("12")).unwrap(), number("7"));
    assert_eq!(strip.of(number("1:1:1234")).unwrap(), number("1:1:74"));
}

#[test]
fn interrupts_are_confirmed_from_end_to_end_and_none_is_lost() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    for octet in 0..50 {
        net.interrupt(0, octet);
    }
    net.interrupt(1, 99);
    let all: Vec<Vec<u8>> = (0..50).map(|octet| vec![octet]).collect();
    assert_eq!(net.dtes[1].interrupts, all);
    assert_eq!(net.dtes[0].interrupts, [[99]]);
    assert_eq!(net.protocol().counters().interrupts, 51);
}

#[test]
fn a_reset_goes_through_with_its_cause_and_nothing_old_comes_after_it() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    net.dtes[1].takes = false;
    for octet in 0..10 {
        net.send(0, &[octet], true, false, false);
    }
    let before = net.dtes[1].got.len();
    assert!(before < 10);
    net.reset(0, 0, 55);
    let [reason] = net.dtes[1].resets.as_slice() else {
        panic!("{:?}", net.dtes[1].resets);
    };
    assert_eq!(told(*reason), (0, 55));
    net.dtes[1].takes = true;
    net.send(0, b"new", true, false, false);
    net.send(1, b"back", true, false, false);
    assert_eq!(
        net.dtes[1].got[before..],
        [(b"new".to_vec(), true, false, false)]
    );
    assert_eq!(net.dtes[0].got, [(b"back".to_vec(), true, false, false)]);
    assert!(
        net.events()
            .iter()
            .any(|it| matches!(it, Happened::Reset { by, diagnostic: 55, .. } if by == "a"))
    );
}

#[test]
fn an_interrupt_in_the_middle_of_a_reset_waits_for_its_end() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    let both = [0, 1].map(|n| net.dtes[n].session.unwrap());
    // The reset does not get to the other end, and the interrupt comes behind it.
    net.held = Some(1);
    let (session, reason) = (both[0], Reason::User);
    net.say(0, Request::Reset { session, reason });
    net.interrupt(0, 7);
    let resets = net
        .kept
        .iter()
        .filter(|(_, unit)| unit.data.to_vec()[2] == 0x1b);
    assert_eq!((resets.count(), net.kept.len()), (1, 1));
    net.held = None;
    for (to, unit) in core::mem::take(&mut net.kept) {
        net.bench.receive(to, unit);
    }
    net.run();
    assert_eq!(net.dtes[1].interrupts, [[7]]);
    net.interrupt(0, 8);
    assert_eq!(net.dtes[1].interrupts, [[7], [8]]);
}

#[test]
fn clear_data_of_fast_select_goes_through() {
    let mut net = Net::plain();
    let charging = Charging {
        fast_select: FastSelect::Unrestricted,
        ..Charging::default()
    };
    let call = x25::Call {
        facilities: Facilities(vec![Facility::Charging(charging)]),
        ..x25::Call::default()
    };
    net.call(0, "277", &[7; 100], call);
    let offered = net.dtes[1].offered.take().unwrap();
    assert_eq!(offered.data.unwrap().to_vec(), [7; 100]);
    let (session, reason) = (offered.provider, clear(0, 3));
    let data = Some(Message::from_octets(b"no, but thanks"));
    net.say(
        1,
        Request::Abort {
            session,
            reason,
            data,
        },
    );
    let (reason, data) = net.ended(0);
    assert_eq!(
        (told(reason), data.as_slice()),
        ((0, 3), &b"no, but thanks"[..])
    );
}

#[test]
fn who_does_not_read_stops_who_sends_and_little_waits_between() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    net.dtes[1].takes = false;
    let mut sent = 0_u8;
    for _ in 0..20 {
        while net.dtes[0].credit > 0 {
            net.send(0, &[sent], true, false, false);
            sent += 1;
        }
        net.pass(Duration::from_secs(1));
    }
    // What both interfaces have windows for at each end, and the user's own seven.
    assert!((7..=40).contains(&sent), "{sent}");
    net.dtes[1].takes = true;
    net.take(1);
    net.pass(Duration::from_secs(5));
    let all: Vec<Heard> = (0..sent)
        .map(|octet| (vec![octet], true, false, false))
        .collect();
    assert_eq!(net.dtes[1].got, all);
    assert!(net.dtes[0].credit > 0);
}

#[test]
fn calls_over_a_line_that_goes_down_are_cleared_as_out_of_order() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    let line = net.dtes[1].line[1];
    net.bench
        .indicate(line, Indication::Report(Box::new(Report::Down)));
    net.run();
    assert_eq!(told(net.ended(0).0), (0x09, 0));
    assert_eq!(net.protocol().calls(), 0);
    let events = net.events();
    assert!(
        events.contains(&Happened::Down("b".to_owned())),
        "{events:?}"
    );
}

#[test]
fn a_caller_that_gives_up_is_cleared_at_the_other_end_at_once() {
    let mut net = Net::plain();
    net.call(0, "277", b"", x25::Call::default());
    let offered = net.dtes[1].offered.take().unwrap();
    net.say(0, Request::Cancel { user: OWN });
    assert_eq!(net.protocol().calls(), 0);
    let accept = Accept {
        session: offered.provider,
        user: OWN,
        ..Accept::default()
    };
    net.say(1, Request::Accept(Box::new(accept)));
    assert_eq!(net.ended(1).0, Reason::NoSession);
}

#[test]
fn one_call_more_than_may_be_is_congestion() {
    let config = Config {
        routes: vec![route("2", &["b"])],
        most: 1,
        ..Config::default()
    };
    let mut net = Net::new(config, |_, _| {});
    net.set_up(0, 1, x25::Call::default());
    net.call(2, "277", b"", x25::Call::default());
    assert_eq!(told(net.ended(2).0), (0x05, 71));
}

#[test]
fn closing_clears_all_calls_and_takes_no_more() {
    let mut net = Net::plain();
    net.set_up(0, 1, x25::Call::default());
    let (now, switch) = (net.bench.now, net.switch);
    net.bench.graph.wake(now, switch, CLOSE);
    net.pass(Duration::from_millis(10));
    assert_eq!(told(net.ended(0).0), (0x09, 0));
    assert_eq!(told(net.ended(1).0), (0x09, 0));
    net.call(0, "277", b"", x25::Call::default());
    assert_eq!(told(net.ended(0).0).0, 0x0d);
}

#[test]
fn a_permanent_circuit_is_joined_and_reset_while_an_end_is_missing() {
    let place = |port: &str, channel| Place {
        port: port.to_owned(),
        channel,
    };
    let config = Config {
        circuits: vec![[place("a", 1), place("b", 2)]],
        ..Config::default()
    };
    let mut net = Net::new(config, |_, config| {
        config.ranges.permanent = 2;
        config.ranges.two_way = (3, 9);
    });
    for (n, channel) in [(0, 1), (1, 2)] {
        let call = x25::Call {
            channel: Some(channel),
            ..x25::Call::default()
        };
        net.say(
            n,
            Request::Open(Box::new(Open {
                user: OWN,
                call: Some(Box::new(call)),
                ..Open::default()
            })),
        );
        net.pass(Duration::from_secs(1));
    }
    net.pass(Duration::from_secs(1));
    net.send(0, b"up", true, false, false);
    net.send(1, b"down", true, false, false);
    assert_eq!(net.dtes[1].got, [(b"up".to_vec(), true, false, false)]);
    assert_eq!(net.dtes[0].got, [(b"down".to_vec(), true, false, false)]);
    net.dtes[0].resets.clear();
    let line = net.dtes[1].line[1];
    net.bench
        .indicate(line, Indication::Report(Box::new(Report::Down)));
    net.run();
    let [reason] = net.dtes[0].resets.as_slice() else {
        panic!("{:?}", net.dtes[0].resets);
    };
    assert_eq!(told(*reason).0, 0x1d);
    for device in net.dtes[1].line {
        net.bench
            .indicate(device, Indication::Report(Box::new(Report::Down)));
        net.bench
            .indicate(device, Indication::Report(Box::new(Report::Up)));
    }
    net.pass(Duration::from_secs(1));
    net.send(0, b"again", true, false, false);
    assert_eq!(net.dtes[1].got.last().unwrap().0, b"again");
}

/// What one side sends: its length, Q and D.
fn messages() -> impl Strategy<Value = Vec<(usize, bool, bool)>> {
    prop::collection::vec((0_usize..700, any::<bool>(), any::<bool>()), 0..12)
}

/// The messages that packets are parts of, by Q.
fn joined(packets: &[Heard]) -> Vec<(Vec<u8>, bool)> {
    let mut all = Vec::new();
    let mut message = Vec::new();
    for (data, end, qualified, _) in packets {
        message.extend_from_slice(data);
        if *end {
            all.push((core::mem::take(&mut message), *qualified));
        }
    }
    assert!(message.is_empty(), "a message has no end");
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever windows and packet sizes the two interfaces have, and however slowly each end reads: what went in comes out.
    #[test]
    fn what_goes_in_comes_out(
        sent in [messages(), messages()],
        packets in [4_u32..11, 4_u32..11],
        windows in [1_u8..8, 1_u8..8],
        lazy in [any::<bool>(), any::<bool>()],
        split in 1_usize..300,
        delivery in any::<bool>(),
    ) {
        let config = Config { routes: vec![route("2", &["b"])], ..Config::default() };
        let mut net = Net::new(config, |n, config| {
            let (packet, window) = (1 << packets[n % 2], windows[n % 2]);
            (config.wanted.packet_out, config.wanted.packet_in) = (packet, packet);
            (config.wanted.window_out, config.wanted.window_in) = (window, window);
        });
        net.set_up(0, 1, x25::Call { delivery, ..x25::Call::default() });
        for n in [0, 1] {
            net.dtes[n].takes = !lazy[n];
        }
        // Parts of messages as they are handed down: a message is one after the other.
        let mut waiting: [Vec<Heard>; 2] = [Vec::new(), Vec::new()];
        let mut asked = [0_u32; 2];
        for n in [0, 1] {
            for (number, (length, qualified, wants)) in sent[n].iter().enumerate() {
                let octets: Vec<u8> = (0..*length).map(|at| u8::try_from((at * 7 + number) % 251).unwrap()).collect();
                let wants = *wants && delivery;
                let mut parts: Vec<&[u8]> = octets.chunks(split).collect();
                if parts.is_empty() {
                    parts.push(&[]);
                }
                let last = parts.len() - 1;
                for (at, part) in parts.into_iter().enumerate() {
                    let end = at == last;
                    // Now and then also in the middle of a message.
                    let wants = wants && (end || at % 3 == 1);
                    asked[n] += u32::from(wants);
                    waiting[n].push((part.to_vec(), end, *qualified, wants));
                }
            }
            waiting[n].reverse();
        }
        for turn in 0..4000 {
            for n in [0, 1] {
                while net.dtes[n].credit > 0 && let Some((part, end, qualified, wants)) = waiting[n].pop() {
                    net.send(n, &part, end, qualified, wants);
                }
                if turn % 3 == n && net.dtes[n].held > 0 {
                    net.take(n);
                    net.run();
                }
            }
            net.pass(Duration::from_millis(100));
            let done = waiting.iter().all(Vec::is_empty) && net.dtes.iter().all(|dte| dte.held == 0);
            if done && net.dtes[0].confirmed + net.dtes[1].confirmed == asked[0] + asked[1] {
                break;
            }
        }
        for n in [0, 1] {
            prop_assert!(net.dtes[n].ended.is_none() && net.dtes[n].resets.is_empty());
            let wanted: Vec<(Vec<u8>, bool)> = sent[n].iter().enumerate().map(|(number, (length, qualified, _))| {
                ((0..*length).map(|at| u8::try_from((at * 7 + number) % 251).unwrap()).collect(), *qualified)
            }).collect();
            prop_assert_eq!(joined(&net.dtes[1 - n].got), wanted);
            prop_assert_eq!(net.dtes[n].confirmed, asked[n]);
        }
    }
}
