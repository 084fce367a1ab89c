//! A terminal at a PAD, and at the other end of the line a host that the test plays, in virtual time.

#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

mod commands;
mod flow;
mod host;

use kumiki_graph::{DeviceId, NodeId, Report, Special};
use kumiki_osi_service::x25::Flow;

use super::*;
use crate::pad_host::{self, PadHost};
use crate::telnet::Telnet;
use crate::x25::{Config as Packets, PacketCarrier, Role, X25};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_testkit::bench::Bench;

const PARTY: Handle = handle(40, 1);

pub(crate) struct Scene {
    pub(crate) bench: Bench,
    lines: [DeviceId; 2],
    tty: DeviceId,
    pad: NodeId,
    /// Where the other end's program is, if it has one.
    program: Option<DeviceId>,
    host: Option<NodeId>,
    screen: Vec<u8>,
    said: Vec<u8>,
    /// Octets that the terminal may send.
    granted: u64,
    /// The terminal takes what it is sent.
    takes: bool,
}

fn packets(role: Role) -> Packets {
    Packets { over: PacketCarrier::Frames, role: Some(role), wanted: Flow::DEFAULT, ..Packets::default() }
}

fn set(list: &str) -> Parameters {
    let mut parameters = Parameters::SIMPLE;
    let list: x25::pad::List = list.parse().unwrap();
    for (number, value) in list.0 {
        parameters.set(number, value).unwrap();
    }
    parameters
}

fn with(list: &str) -> Config {
    Config { initial: set(list), identification: String::new(), ..Config::default() }
}

impl Scene {
    fn new(config: Config, host: Option<pad_host::Config>) -> Self {
        Self::built(config, host, false)
    }

    fn built(config: Config, host: Option<pad_host::Config>, has_telnet: bool) -> Self {
        let mut bench = Bench::new();
        let lines = [bench.device("line a"), bench.device("line b")];
        let tty = bench.device("tty");
        bench.node("x25 a", &["line a"], X25::new(packets(Role::Dte)).unwrap());
        bench.node("x25 b", &["line b"], X25::new(packets(Role::Dce)).unwrap());
        bench.node("pipe", &["tty"], Pipe::new(pipe::Config::default()));
        let stream = if has_telnet {
            bench.node("telnet", &["pipe"], Telnet::new());
            "telnet"
        } else {
            "pipe"
        };
        let pad = bench.node("pad", &["x25 a", stream], Pad::new(config));
        let (mut program, mut user) = (None, None);
        match host {
            Some(config) => {
                program = Some(bench.device("program"));
                bench.node("stream", &["program"], Pipe::new(pipe::Config::default()));
                bench.node("host", &["x25 b", "stream"], PadHost::new(config));
            }
            None => user = Some(bench.user("host", "x25 b", &[])),
        }
        bench.start();
        let mut scene = Self {
            bench,
            lines,
            tty,
            pad,
            program,
            host: user,
            screen: Vec::new(),
            said: Vec::new(),
            granted: 0,
            takes: true,
        };
        scene.run();
        if let Some(user) = scene.host {
            let open = Open { user: handle(30, 1), mode: Mode::Passive { backlog: 1 }, ..Open::default() };
            scene.bench.say(user, Request::Open(Box::new(open)));
            scene.run();
            scene.bench.heard(user);
        }
        for device in [Some(tty), program].into_iter().flatten() {
            let up = Indication::Report(Box::new(Report::Up));
            scene.bench.indicate(device, up);
            let (session, credit) = (Handle::default(), Credit::octets(4000));
            scene.bench.indicate(device, Indication::Credit { session, credit });
        }
        scene.run();
        scene
    }

    /// Carries everything to where it goes, until nothing moves.
    fn run(&mut self) {
        loop {
            let requests = self.bench.requests();
            if requests.is_empty() {
                return;
            }
            for (device, request) in requests {
                self.carry(device, request);
            }
        }
    }

    fn carry(&mut self, device: DeviceId, request: Request) {
        let [a, b] = self.lines;
        if let Request::Credit { credit, .. } = &request
            && device == self.tty
        {
            self.granted += credit.octets;
        }
        let Request::Unit(unit) = request else {
            return;
        };
        if device == a {
            return self.bench.receive(b, unit);
        }
        if device == b {
            return self.bench.receive(a, unit);
        }
        let octets = unit.data.to_vec();
        let count = octets.len() as u64;
        if device == self.tty {
            self.screen.extend(octets);
            if !self.takes {
                return;
            }
        } else {
            self.said.extend(octets);
        }
        let (session, credit) = (Handle::default(), Credit::octets(count));
        let credit = Indication::Credit { session, credit };
        self.bench.indicate(device, credit);
    }

    fn types(&mut self, text: &[u8]) {
        self.granted = self.granted.saturating_sub(text.len() as u64);
        self.bench.octets(self.tty, text);
        self.run();
    }

    fn pass(&mut self, time: Duration) {
        // In small steps, so that what leaves arrives.
        for _ in 0..20 {
            self.bench.pass(Duration::from_nanos(time.as_nanos() / 20));
            self.run();
        }
    }

    fn screen(&mut self) -> String {
        String::from_utf8_lossy(&core::mem::take(&mut self.screen)).into_owned()
    }

    fn pad(&self) -> &Pad {
        self.bench.graph.protocol(self.pad).unwrap()
    }

    // The host that the test plays.

    fn heard(&mut self) -> Vec<Indication> {
        self.bench.heard(self.host.unwrap())
    }

    fn say(&mut self, request: Request) {
        let user = self.host.unwrap();
        self.bench.say(user, request);
        self.run();
    }

    /// Takes the call that has come; our handle of it.
    fn answer(&mut self) -> Handle {
        let heard = self.heard();
        let Some(Indication::Offered(offered)) = heard.last() else {
            panic!("{heard:?}");
        };
        let session = offered.provider;
        let accept = Accept { session, user: PARTY, ..Accept::default() };
        self.say(Request::Accept(Box::new(accept)));
        session
    }

    /// A PAD whose terminal has called, and the host's handle.
    fn called(list: &str) -> (Self, Handle) {
        let mut scene = Self::new(with(list), None);
        scene.types(b"12345\r");
        let session = scene.answer();
        assert_eq!(scene.pad().state(), State::Transfer);
        scene.screen();
        scene.heard();
        (scene, session)
    }

    fn data(&mut self, session: Handle, octets: &[u8]) {
        let (data, end) = (Message::from_octets(octets), true);
        self.say(Request::Data { session, data, end });
    }

    fn message(&mut self, session: Handle, octets: &[u8]) {
        let what = Special::new(Primitive::Data {
            data: Message::from_octets(octets),
            end: true,
            qualified: true,
            delivery: false,
        });
        self.say(Request::Special { session, what });
    }

    /// What the host has heard, and granted again: `data`, `message`, `interrupt` and so on.
    fn told(&mut self, session: Handle) -> Vec<String> {
        let mut told = Vec::new();
        for heard in self.heard() {
            if let Indication::Data { data, .. } = &heard {
                told.push(format!("data {}", data.to_vec().escape_ascii()));
                self.took(session);
            } else if let Indication::Special { what, .. } = &heard {
                if let Some(Primitive::Data { data, .. }) = what.get() {
                    let message = x29::Message::parse(&data.to_vec());
                    told.push(message.unwrap().to_string());
                }
                self.took(session);
            } else if let Indication::Expedited { data, .. } = &heard {
                told.push(format!("interrupt {:?}", data.to_vec()));
            } else if let Indication::Aborted { reason, .. } = &heard {
                told.push(format!("aborted: {reason}"));
            } else if let Indication::Reset { reason, .. } = &heard {
                told.push(format!("reset: {reason}"));
            }
        }
        told
    }

    fn took(&mut self, session: Handle) {
        let credit = Credit::messages(1);
        self.say(Request::Credit { session, credit });
    }
}
