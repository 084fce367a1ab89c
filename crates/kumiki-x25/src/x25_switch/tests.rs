#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one of many")]
//! A switch between DTEs, each on a packet layer of its own, packets as units between them.

use kumiki_graph::Parameters;
use kumiki_graph::{Accept, Address, Credit, DeviceId, Duration, NodeId, Opened, Unit};
use kumiki_octets::Message;
use kumiki_osi_service::x25::Number;

use super::*;
use crate::x25::{self as packet, PacketCarrier, Role, X25};
use kumiki_testkit::bench::Bench;

mod calls;
mod data;
mod permanent;

const OWN: Handle = Handle { index: 1, generation: 9 };
const LISTENS: Handle = Handle { index: 5, generation: 9 };

/// A packet with its bits: the data, whether the message ends, Q and D.
type ReceivedData = (Vec<u8>, bool, bool, bool);

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
    got: Vec<ReceivedData>,
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
    Number::or_none(text).unwrap()
}

fn frames(role: Role) -> packet::Config {
    packet::Config { over: PacketCarrier::Frames, role: Some(role), ..packet::Config::default() }
}

fn route(prefix: &str, to: &[&str]) -> Route {
    Route { prefix: number(prefix), to: to.iter().map(|it| (*it).to_owned()).collect(), ..Route::default() }
}

fn told(reason: Reason) -> (u8, u8) {
    let Some(told) = crate::packet_cause(&reason) else {
        panic!("{reason:?}");
    };
    (told.cause, told.diagnostic)
}

fn clear(cause: u8, diagnostic: u8) -> Reason {
    Reason::peer(x25::Cause::Packet(cleared(cause, diagnostic)))
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
        let mut net = Self { bench, switch, dtes, held: None, kept: Vec::new() };
        net.run();
        for dte in 0..3 {
            net.say(
                dte,
                Request::Open(Box::new(Open { user: LISTENS, mode: Mode::Passive { backlog: 8 }, ..Open::default() })),
            );
        }
        let ports = net.protocol().ports();
        assert!(ports.iter().all(|port| port.is_up), "{ports:?}");
        net.events();
        net
    }

    fn plain() -> Self {
        let routes = vec![route("1", &["a"]), route("2", &["b"]), route("3", &["c"])];
        let config = Config { routes, ..Config::default() };
        Self::new(config, |_, _| {})
    }

    fn protocol(&mut self) -> &mut Switch {
        self.bench.graph.protocol_mut(self.switch).unwrap()
    }

    fn events(&mut self) -> Vec<CallEvent> {
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
            Indication::Special { what, .. } => match what.get() {
                Some(Primitive::Data { data, end, qualified, delivery }) => {
                    self.heard(n, (data.to_vec(), *end, *qualified, *delivery));
                }
                Some(Primitive::Confirm { packets }) => dte.confirmed += packets,
                other => panic!("{other:?}"),
            },
            Indication::Expedited { data, .. } => dte.interrupts.push(data.to_vec()),
            Indication::Reset { session, reason } => {
                dte.resets.push(reason.clone());
                dte.credit = 0;
                dte.held = 0;
                // The answer to our own has no reason.
                if session == OWN && reason != Reason::User {
                    let (session, reason) = (dte.session.unwrap(), Reason::User);
                    self.bench.say(self.dtes[n].user, Request::Reset { session, reason });
                }
            }
            Indication::Aborted { reason, data, .. } => {
                dte.session = None;
                dte.ended = Some((reason, data.map(|it| it.to_vec()).unwrap_or_default()));
            }
            _ => {}
        }
    }

    fn heard(&mut self, n: usize, packet: ReceivedData) {
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
            let what = Special::new(Primitive::Confirm { packets });
            self.bench.say(user, Request::Special { session, what });
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
                local: Address::from(number(&format!("{}00", n + 1))),
                remote: Address::from(number(to)),
                data: Some(Message::from_octets(data)),
                parameters: Parameters::of(call),
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
                parameters: Parameters::of(call),
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
            let what = Special::new(Primitive::Data { data, end, qualified, delivery });
            Request::Special { session, what }
        } else {
            Request::Data { session, data, end }
        };
        self.say(n, request);
    }

    fn clear(&mut self, n: usize, reason: Reason, data: &[u8]) {
        let session = self.dtes[n].session.take().unwrap();
        let data = (!data.is_empty()).then(|| Message::from_octets(data));
        self.say(n, Request::Abort { session, reason, data });
    }

    fn reset(&mut self, n: usize, cause: u8, diagnostic: u8) {
        let session = self.dtes[n].session.unwrap();
        let reason = Reason::peer(x25::Cause::Packet(x25::PacketCause { what: CauseField::Reset, cause, diagnostic }));
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
