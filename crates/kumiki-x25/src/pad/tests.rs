//! A terminal at a PAD, and at the other end of the line a host that the test plays, in virtual time.

#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use kumiki_graph::Special;
use kumiki_graph::{DeviceId, NodeId, Report};
use kumiki_osi_service::x25::Flow;
use proptest::prelude::*;

use super::*;
use crate::pad_host::{self, PadHost};
use crate::telnet::Telnet;
use crate::x25::{Config as Packets, Over, Role, X25};
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
    Packets { over: Over::Frames, role: Some(role), wanted: Flow::DEFAULT, ..Packets::default() }
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

    /// What the host has heard, and granted anew: `data`, `message`, `interrupt` and so on.
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

/// Every octet that goes to the terminal, from its coming to its going: CR and LF around signals and before the prompt.
#[test]
fn a_dialogue_of_commands_is_that_of_x28() {
    let config = Config { identification: "KUMIKI PAD".to_owned(), initial: set("6:5,2:0"), ..Config::default() };
    let mut scene = Scene::new(config, None);
    assert_eq!(scene.screen(), "\r\nKUMIKI PAD\r\n*");
    for (typed, shown) in [
        ("stat\r", "\r\nFREE\r\n*"),
        ("par? 1,3,99\r", "\r\nPAR 1:1, 3:126, 99:INV\r\n*"),
        ("set 3:2\r", "\r\n*"),
        ("SET? 4:20, 2:7+", "\r\nPAR 4:20, 2:INV\r\n*"),
        ("set 11:3\r", "\r\nPAR 11:INV\r\n*"),
        ("clr\r", "\r\nCLR ERR\r\n*"),
        ("int\r", "\r\nERR\r\n*"),
        ("nonsense\r", "\r\nERR\r\n*"),
        ("prof 91\r", ""),
    ] {
        scene.types(typed.as_bytes());
        assert_eq!(scene.screen(), shown, "{typed}");
    }
    assert_eq!(*scene.pad().parameters(), Parameters::TRANSPARENT);
    scene.types(b"exit\r");
    assert!(scene.pad().is_over());
}

#[test]
fn commands_are_echoed_and_edited() {
    let mut scene = Scene::new(with("19:2"), None);
    scene.types(b"stax\x7ft\r");
    assert_eq!(scene.screen(), "stax\x08 \x08t\r\r\nFREE\r\n");
    scene.types(b"wrong\x18stat\r");
    assert!(scene.screen().ends_with("stat\r\r\nFREE\r\n"));
    // What was too long is forgotten with the line.
    scene.types(&[b'x'; 300]);
    scene.types(b"\x18stat\r");
    assert!(scene.screen().ends_with("stat\r\r\nFREE\r\n"));
    // A network user identification is not shown, and nothing else is hidden with it.
    scene.types(b"Nsecret-12");
    assert_eq!(scene.screen(), "N12");
    scene.types(b"\x18Nsecret,R\x12");
    assert!(!scene.screen().contains("secret"));
}

#[test]
fn a_call_carries_lines_both_ways_and_is_cleared() {
    let mut scene = Scene::new(with("6:5"), None);
    scene.types(b"R-12345Dhi\r");
    let heard = scene.heard();
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    let data = offered.data.as_ref().map(Message::to_vec);
    assert_eq!(data, Some(b"\x01\0\0\0hi".to_vec()));
    assert_eq!(offered.local, Address::from("12345".parse::<Number>().unwrap()));
    let facts = offered.parameters.get::<x25::Call>().unwrap();
    assert!(facts.facilities.charging().reverse);
    let session = offered.provider;
    assert_eq!(scene.pad().state(), State::Connecting);
    let accept = Accept { session, user: PARTY, ..Accept::default() };
    scene.say(Request::Accept(Box::new(accept)));
    assert!(scene.screen().ends_with("\r\nCOM\r\n"));
    scene.types(b"login\rpass");
    assert_eq!(scene.screen(), "login\rpass");
    assert_eq!(scene.told(session), ["data login\\r"]);
    scene.data(session, b"Welcome\r\n");
    assert_eq!(scene.screen(), "Welcome\r\n");
    // What was typed and not forwarded goes ahead of the escape.
    scene.types(b"\x10");
    assert_eq!(scene.screen(), "*");
    assert_eq!(scene.told(session), ["data pass"]);
    scene.types(b"stat\r");
    assert_eq!(scene.screen(), "stat\r\r\nENGAGED\r\n");
    assert_eq!(scene.pad().state(), State::Transfer);
    scene.types(b"\x10clr\r");
    assert!(scene.screen().ends_with("\r\nCLR CONF\r\n*"));
    assert_eq!(scene.told(session), ["aborted: X.25: cleared: DTE originated (00), no additional information (0)"]);
}

#[test]
fn what_the_host_said_last_is_shown_before_the_clearing() {
    let (mut scene, session) = Scene::called("2:0");
    scene.data(session, b"bye\r\n");
    let (reason, data) = (Reason::User, None);
    scene.say(Request::Abort { session, reason, data });
    let screen = scene.screen();
    assert!(screen.starts_with("bye\r\nCLR DTE C:0 D:"), "{screen:?}");
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn a_call_that_nobody_takes_says_why() {
    let mut scene = Scene::new(with("2:0"), None);
    scene.types(b"1\r");
    let heard = scene.heard();
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    let told = x25::Told { what: What::Clear, cause: x25::cause::BUSY, diagnostic: 0 };
    let (session, data) = (offered.provider, None);
    let reason = Reason::peer(x25::Cause::Packet(told));
    scene.say(Request::Abort { session, reason: reason.clone(), data });
    assert_eq!(scene.screen(), "\r\nCLR OCC C:1 D:0\r\n");
    assert_eq!(scene.pad().outcome().why, Some(reason));
    // While a call is made, the recall character gives it up.
    scene.types(b"2\r\x10");
    assert_eq!(scene.screen(), "CLR CONF\r\n");
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn the_host_sets_and_reads_parameters() {
    let (mut scene, session) = Scene::called("");
    scene.message(session, &[2, 2, 0]);
    scene.types(b"password\r");
    assert_eq!(scene.screen(), "");
    assert_eq!(scene.told(session), ["data password\\r"]);
    scene.message(session, &[6, 2, 1, 99, 0]);
    scene.message(session, &[4, 2, 0, 11, 0]);
    assert_eq!(scene.told(session), ["parameter indication 2:1, 99:1 not set", "parameter indication 2:1, 11:14"]);
    // Set tells only what went wrong; and behind a separator nothing is known.
    scene.message(session, &[2, 3, 2, 2, 9, 0, 33, 3, 0]);
    assert_eq!(scene.told(session), ["parameter indication 2:2 not set, 0:5 not set, 3:5 not set"]);
    assert_eq!(scene.pad().parameters().of(Parameter::Forward), 2);
    scene.message(session, &[4]);
    let all = scene.told(session).pop().unwrap();
    assert!(all.starts_with("parameter indication 1:1, 2:1, 3:2"), "{all}");
    // Without parameters all are as they were.
    scene.message(session, &[2]);
    assert_eq!(*scene.pad().parameters(), Parameters::SIMPLE);
}

#[test]
fn what_is_no_message_is_answered_by_an_error() {
    let (mut scene, session) = Scene::called("");
    for (octets, answer) in [
        (&[0x50, 1][..], "error: message code not recognised (message code 80)"),
        (&[2, 2], "error: parameter field incorrect or incompatible with the message code (message code 2)"),
        (&[0, 1, 1], "error: parameter indication that was not asked for (message code 0)"),
        (&[7, 1, 0x10, 0], "error: reselection not authorised (message code 7)"),
    ] {
        scene.message(session, octets);
        assert_eq!(scene.told(session), [answer]);
    }
    scene.message(session, &[5, 0x50]);
    scene.message(session, &[5, 1, 2, 3]);
    scene.message(session, &[2; 300]);
    assert_eq!(scene.told(session), ["error: message too long (message code 2)"]);
}

#[test]
fn an_invitation_clears_behind_the_data() {
    let (mut scene, session) = Scene::called("2:0");
    scene.data(session, b"the end\r\n");
    scene.message(session, &[1]);
    assert_eq!(scene.screen(), "the end\r\nCLR PAD\r\n");
    assert_eq!(scene.told(session).len(), 1);
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn reselection_makes_the_other_call_where_it_is_allowed() {
    let config = Config { reselection: true, ..with("2:0") };
    let mut scene = Scene::new(config, None);
    scene.types(b"1\r");
    let session = scene.answer();
    scene.screen();
    scene.message(session, &[7, 3, 0x67, 0x80, 0, b'x']);
    assert_eq!(scene.screen(), "TRANSFER\r\n");
    let heard = scene.heard();
    let Some(Indication::Offered(offered)) = heard.last() else {
        panic!("{heard:?}");
    };
    assert_eq!(offered.local, Address::from("678".parse::<Number>().unwrap()));
    let data = offered.data.as_ref().map(Message::to_vec);
    assert_eq!(data, Some(b"\x01\0\0\0x".to_vec()));
}

#[test]
fn the_idle_timer_counts_twentieths_of_a_second() {
    let (mut scene, session) = Scene::called("3:0,4:3,2:0");
    scene.types(b"a");
    scene.pass(Duration::from_millis(100));
    scene.types(b"b");
    scene.pass(Duration::from_millis(140));
    assert_eq!(scene.told(session), [""; 0]);
    scene.pass(Duration::from_millis(20));
    assert_eq!(scene.told(session), ["data ab"]);
    // A packet that is full does not wait.
    scene.types(&[b'x'; 130]);
    assert_eq!(scene.told(session), [format!("data {}", "x".repeat(128))]);
}

#[test]
fn each_forwarding_set_sends_its_characters() {
    for (bit, sends, keeps) in [
        (1, &b"aZ9"[..], &b"\r !"[..]),
        (2, b"\r", b"\n1"),
        (4, b"\x1b\x07\x05\x06", b"\r"),
        (8, b"\x7f\x18\x12", b"\x1b"),
        (16, b"\x03\x04", b"\t"),
        (32, b"\t\n\x0b\x0c", b"\r"),
        (64, b"\x01\x1f", b"\r\t\x03"),
    ] {
        let (mut scene, session) = Scene::called(&format!("1:0,2:0,3:{bit},12:0,6:0"));
        for octet in sends {
            scene.types(&[*octet]);
            assert_eq!(scene.told(session).len(), 1, "{bit} {octet}");
        }
        for octet in keeps {
            scene.types(&[*octet]);
            assert_eq!(scene.told(session), [""; 0], "{bit} {octet}");
        }
    }
}

#[test]
fn a_line_is_edited_before_it_leaves() {
    let (mut scene, session) = Scene::called("15:1,3:2,19:2,4:1");
    scene.types(b"helpo\x7f\x7flo");
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.told(session), [""; 0]);
    scene.types(b"\r");
    assert_eq!(scene.told(session), ["data hello\\r"]);
    assert_eq!(scene.screen(), "helpo\x08 \x08\x08 \x08lo\r");
    scene.types(b"no\x18yes\x12");
    assert_eq!(scene.screen(), "no\x08 \x08\x08 \x08yes\r\nyes");
    scene.types(b"\r");
    assert_eq!(scene.told(session), ["data yes\\r"]);
}

#[test]
fn echo_and_line_feeds_are_as_the_parameters_have_them() {
    let (mut scene, session) = Scene::called("13:6,20:64,3:2");
    scene.types(b"ab\r");
    assert_eq!(scene.screen(), "ab\r\n");
    assert_eq!(scene.told(session), ["data ab\\r\\n"]);
    let (mut scene, _) = Scene::called("2:42,20:1");
    scene.types(b"pin\r");
    assert_eq!(scene.screen(), "***");
}

#[test]
fn a_break_does_what_parameter_7_says() {
    let (mut scene, session) = Scene::called("7:21,2:0");
    scene.types(b"some\x10break\r");
    assert_eq!(scene.told(session), ["interrupt [0]", "data some", "indication of break 8:1"]);
    scene.screen();
    // Output is thrown away until the host says that it knows.
    scene.data(session, b"old");
    scene.message(session, &[2, 8, 0]);
    scene.data(session, b"new");
    assert_eq!(scene.screen(), "new");
    assert_eq!(scene.pad().counters().discarded, 3);
    let (mut scene, session) = Scene::called("7:2,2:0");
    scene.types(b"\x10break\r");
    assert_eq!(scene.told(session).len(), 1);
}

/// A terminal that reads nothing, at a PAD whose host reads nothing either.
fn unread(list: &str) -> (Scene, Handle) {
    let mut scene = Scene::built(with(list), None, true);
    scene.types(b"12345\r\0");
    let session = scene.answer();
    assert_eq!(scene.pad().state(), State::Transfer);
    scene.takes = false;
    (scene, session)
}

#[test]
fn what_takes_no_credit_takes_no_memory_without_end() {
    for list in ["7:4,2:0", "7:8,6:5,2:0"] {
        let (mut scene, _) = unread(list);
        for _ in 0..500 {
            scene.types(&[0xff, 0xf3].repeat(10));
        }
        assert_eq!(scene.pad().counters().breaks, 5000);
        assert!(scene.pad().outgoing.len() <= MOST_WAITING + 1);
        assert!(scene.pad().printer.len() <= MOST_PRINTED + 3);
    }
    let (mut scene, session) = unread("2:0");
    scene.message(session, &[2, 21, 1]);
    for _ in 0..60 {
        scene.types(&[b'C'; 100]);
    }
    assert_eq!(scene.pad().counters().parity_errors, 6000);
    assert_eq!(scene.pad().printer.len(), MOST_PRINTED);
    let (mut scene, session) = unread("2:0");
    let reason = Reason::peer(x25::Cause::Packet(x25::Told::by_dte(What::Reset, 1)));
    for _ in 0..500 {
        scene.say(Request::Reset { session, reason: reason.clone() });
    }
    assert!(scene.pad().printer.len() <= MOST_PRINTED + 100);
}

#[test]
fn the_recall_character_typed_twice_is_data() {
    let (mut scene, session) = Scene::called("2:0");
    scene.types(b"\x10\x10\r");
    assert_eq!(scene.told(session), ["data \\x10", "data \\r"]);
    assert_eq!(scene.pad().state(), State::Transfer);
}

#[test]
fn output_waits_while_a_command_is_typed() {
    let (mut scene, session) = Scene::called("2:0");
    scene.types(b"\x10st");
    scene.data(session, b"late");
    assert_eq!(scene.screen(), "");
    scene.types(b"at\r");
    assert_eq!(scene.screen(), "ENGAGED\r\nlate");
}

#[test]
fn x_off_stops_the_output_and_x_on_starts_it() {
    let (mut scene, session) = Scene::called("2:0");
    scene.types(b"\x13");
    scene.data(session, b"held");
    assert_eq!(scene.screen(), "");
    scene.types(b"\x11");
    assert_eq!(scene.screen(), "held");
}

#[test]
fn a_page_waits_for_its_reader() {
    let (mut scene, session) = Scene::called("22:2,2:0");
    scene.data(session, b"1\r\n2\r\n3\r\n");
    assert_eq!(scene.screen(), "1\r\n2\r\nPAGE\r\n");
    scene.types(b"\x11");
    assert_eq!(scene.screen(), "\r\n3\r\n");
}

#[test]
fn parity_is_checked_and_made() {
    let (mut scene, session) = Scene::called("2:0,3:2");
    scene.message(session, &[2, 21, 3]);
    // A is even with bit 8 at 0, C with it at 1, and CR has three ones.
    scene.types(&[b'A', b'C' | 0x80, b'C', 0x8d]);
    assert_eq!(scene.told(session), ["data AC\\r"]);
    assert_eq!(scene.pad().counters().parity_errors, 1);
    scene.screen.clear();
    scene.data(session, b"C");
    assert_eq!(scene.screen, [b'C' | 0x80]);
}

#[test]
fn a_reset_is_told_and_empties_the_call() {
    let (mut scene, session) = Scene::called("2:0,3:0");
    scene.types(b"lost");
    let told = x25::Told::by_dte(What::Reset, 250);
    let reason = Reason::peer(x25::Cause::Packet(told));
    scene.say(Request::Reset { session, reason: reason.clone() });
    assert_eq!(scene.screen(), "RESET DTE C:0 D:250\r\n");
    scene.heard();
    scene.types(b"\x10reset\r");
    assert_eq!(scene.told(session).len(), 1);
    scene.say(Request::Reset { session, reason });
    scene.types(b"on\x10");
    assert_eq!(scene.told(session), ["data on"]);
}

#[test]
fn a_terminal_that_does_not_read_closes_the_window() {
    let (mut scene, session) = Scene::called("2:0");
    scene.takes = false;
    let mut credit = 2_u32;
    let mut sent = 0;
    scene.heard();
    while credit > 0 && sent < 1000 {
        scene.data(session, &[b'x'; 128]);
        scene.pass(Duration::from_secs(1));
        credit -= 1;
        sent += 1;
        for heard in scene.heard() {
            if let Indication::Credit { credit: more, .. } = heard {
                credit += more.messages;
            }
        }
    }
    // 4000 octets of the terminal's, 1024 of the printer's, two packets here, two in the packet layers.
    assert!(sent < 50, "{sent}");
    assert!(scene.pad().printer.len() <= MOST_PRINTED + 1);
}

#[test]
fn a_host_that_does_not_read_stops_the_terminal() {
    let (mut scene, _) = Scene::called("2:0,3:2");
    let mut typed = 0_u64;
    while scene.granted > 100 {
        scene.types(&[b'y'; 100]);
        typed += 100;
        assert!(typed < 100_000);
    }
    assert!(typed < 6000, "{typed}");
    assert_eq!(scene.screen.iter().filter(|it| **it == 0x13).count(), 1);
    assert!(scene.pad().held() <= 4096);
}

#[test]
fn a_selection_may_be_made_for_the_terminal() {
    let config = Config { call: Some("12345".to_owned()), once: true, ..with("2:0") };
    let mut scene = Scene::new(config.clone(), None);
    // It is typed while the call is made, and waits for it.
    scene.types(b"early\r");
    let session = scene.answer();
    assert_eq!(scene.told(session), ["data early\\r"]);
    // The end of the terminal's side; two seconds of silence later the call is cleared.
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(scene.tty, down);
    scene.run();
    scene.pass(Duration::from_millis(1900));
    assert!(!scene.pad().is_over());
    scene.pass(Duration::from_millis(200));
    assert!(scene.pad().is_over());
    assert!(scene.pad().outcome().stood);
    let wrong = Config { call: Some("stat".to_owned()), ..config };
    let scene = Scene::new(wrong, None);
    assert!(scene.pad().is_over() && scene.pad().outcome().is_bad);
}

/// The end of the terminal's side, while the terminal reads nothing of what the host says.
fn full_until_now(drains: bool) -> (Scene, Handle, usize) {
    let config = Config { drains, ..with("2:0") };
    let mut scene = Scene::new(config, None);
    scene.types(b"12345\r");
    let session = scene.answer();
    scene.screen();
    scene.takes = false;
    scene.heard();
    let (mut credit, mut sent) = (2, 0);
    while credit > 0 {
        scene.data(session, &[b'x'; 128]);
        (credit, sent) = (credit - 1, sent + 128);
        for heard in scene.heard() {
            if let Indication::Credit { credit: more, .. } = heard {
                credit += more.messages;
            }
        }
    }
    // More than the 4000 that the terminal takes and the 1024 of the printer.
    assert!((5100..10_000).contains(&sent), "{sent}");
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(scene.tty, down);
    scene.run();
    (scene, session, sent)
}

/// The same, a minute later.
fn full(drains: bool) -> (Scene, Handle, usize) {
    let (mut scene, session, sent) = full_until_now(drains);
    scene.pass(Duration::from_secs(60));
    (scene, session, sent)
}

#[test]
fn a_terminal_that_reads_late_loses_nothing_at_its_end() {
    let (mut scene, session, sent) = full(true);
    assert!(scene.told(session).is_empty());
    scene.takes = true;
    let (grip, credit) = (Handle::default(), Credit::octets(100_000));
    let more = Indication::Credit { session: grip, credit };
    scene.bench.indicate(scene.tty, more);
    scene.run();
    // Silence is counted from what was shown last.
    scene.pass(Duration::from_millis(1900));
    assert_eq!(scene.screen(), "x".repeat(sent));
    assert!(scene.told(session).is_empty());
    scene.pass(Duration::from_millis(200));
    assert_eq!(scene.screen(), "\r\nCLR CONF\r\n");
    assert_eq!(scene.told(session).len(), 1);
}

#[test]
fn a_terminal_that_has_vanished_is_not_waited_for() {
    let (mut scene, session, _) = full(false);
    assert_eq!(scene.told(session).len(), 1);
    assert!(scene.pad().is_over());
    // Nor where the host ends the call.
    let (mut scene, session, _) = full_until_now(false);
    let (reason, data) = (Reason::User, None);
    scene.say(Request::Abort { session, reason, data });
    assert!(scene.pad().is_over());
}

#[test]
fn output_goes_on_where_the_host_takes_x_off_away() {
    let (mut scene, session) = Scene::called("2:0,12:1");
    scene.types(b"\x13");
    let set = x29::Message::Set(vec![x29::Pair::new(12, 0)]);
    scene.message(session, &set.to_vec());
    scene.data(session, b"later");
    assert_eq!(scene.screen(), "later");
}

#[test]
fn no_host_makes_octets_of_a_stream_stop_it() {
    let config = Config { initial: set("2:0,3:0,5:0,6:0,12:0"), is_stream: true, ..Config::default() };
    let mut scene = Scene::new(config, None);
    scene.types(b"12345\r");
    let session = scene.answer();
    scene.screen();
    scene.heard();
    let pairs = [(5, 1), (4, 1), (12, 1)].map(|(number, value)| x29::Pair::new(number, value));
    let message = x29::Message::SetAndRead(pairs.to_vec());
    scene.message(session, &message.to_vec());
    // In the place of a value that is not set stands why.
    let told = scene.told(session);
    assert_eq!(told, ["parameter indication 5:2 not set, 4:1, 12:2 not set"]);
    scene.types(b"a\x13b");
    scene.data(session, b"output");
    assert_eq!(scene.screen(), "output");
    scene.pass(Duration::from_millis(60));
    assert!(scene.told(session).contains(&"data a\\x13b".to_owned()));
}

#[test]
fn what_is_typed_after_the_end_of_a_call_does_not_keep_it() {
    let (mut scene, session) = Scene::called("2:0,12:1");
    scene.types(b"\x13");
    scene.data(session, b"bye");
    let (reason, data) = (Reason::User, None);
    scene.say(Request::Abort { session, reason, data });
    // More packets than may wait for credit.
    scene.types(&b"\r".repeat(MOST_WAITING + 1));
    scene.types(b"\x11");
    assert!(scene.screen().starts_with("bye\r\nCLR"));
    assert_eq!(scene.pad().state(), State::Waiting);
}

#[test]
fn a_terminal_that_has_ended_is_stopped_no_more() {
    let (mut scene, session) = Scene::called("22:1,2:0");
    scene.types(b"\x13");
    scene.data(session, b"1\r\n2\r\n");
    assert_eq!(scene.screen(), "");
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(scene.tty, down);
    scene.run();
    assert_eq!(scene.screen(), "1\r\n2\r\n");
    scene.pass(Duration::from_secs(3));
    assert!(scene.pad().is_over());
}

#[test]
fn a_call_is_taken_at_the_terminal() {
    let config = Config { answer: Some(Number::NONE), ..with("2:0") };
    let mut scene = Scene::new(config, None);
    let call = |data: &[u8]| {
        Request::Open(Box::new(Open {
            user: PARTY,
            local: Address::from("777".parse::<Number>().unwrap()),
            remote: Address::from("1".parse::<Number>().unwrap()),
            data: Some(Message::from_octets(data)),
            ..Open::default()
        }))
    };
    scene.say(call(&[3, 1, 1, 0]));
    assert!(scene.told(PARTY)[0].starts_with("aborted: X.25: cleared: DTE originated"));
    scene.say(call(&[1, 0, 0, 0]));
    assert_eq!(scene.screen(), "\r\n777 COM\r\n");
    assert_eq!(scene.pad().state(), State::Transfer);
    // A second one finds it engaged.
    scene.heard();
    let mut second = call(&[1, 0, 0, 0]);
    if let Request::Open(open) = &mut second {
        open.user = handle(41, 1);
    }
    scene.say(second);
    assert!(scene.told(PARTY)[0].contains("DTE resource constraint"));
}

#[test]
fn a_program_speaks_to_a_person_at_a_pad() {
    let mut scene = Scene::new(with("2:1,6:5"), Some(pad_host::Config::default()));
    let program = scene.program.unwrap();
    scene.types(b"12345\r");
    assert!(scene.screen().ends_with("COM\r\n"));
    // The host has switched the echo off.
    scene.types(b"root\r");
    scene.pass(Duration::from_millis(100));
    assert_eq!(scene.screen(), "");
    assert_eq!(scene.said, b"root\r");
    scene.bench.octets(program, b"# ");
    scene.run();
    assert_eq!(scene.screen(), "# ");
    scene.types(b"\x10break\r");
    assert_eq!(scene.said, b"root\r\x03");
    scene.screen();
    scene.bench.octets(program, b"still there");
    scene.run();
    assert_eq!(scene.screen(), "still there");
    // The program ends.
    scene.bench.octets(program, b"bye\r\n");
    let down = Indication::Report(Box::new(Report::Down));
    scene.bench.indicate(program, down);
    scene.run();
    assert_eq!(scene.screen(), "bye\r\nCLR PAD\r\n*");
}

/// A PAD whose terminal has called, and a host with a program; the host's node.
fn at_a_program(config: pad_host::Config) -> (Scene, NodeId) {
    let mut scene = Scene::new(with("2:1,6:5"), Some(config));
    scene.types(b"12345\r");
    let host = scene.bench.graph.node("host").unwrap();
    (scene, host)
}

fn host(scene: &mut Scene, node: NodeId) -> &mut PadHost {
    scene.bench.graph.protocol_mut(node).unwrap()
}

fn wake(scene: &mut Scene, node: NodeId, token: Token) {
    let now = scene.bench.now;
    scene.bench.graph.wake(now, node, token);
    scene.pass(Duration::from_millis(1));
}

#[test]
fn an_invitation_of_the_pad_is_followed_when_the_program_has_had_what_came_before() {
    let (mut scene, _) = at_a_program(pad_host::Config::default());
    scene.types(b"the end\r");
    scene.bench.octets(scene.program.unwrap(), b"bye\r\n");
    scene.run();
    scene.screen();
    scene.types(b"\x10iclr\r");
    assert_eq!(scene.said, b"the end\r");
    let screen = scene.screen();
    assert!(screen.ends_with("CLR DTE C:0 D:0\r\n*"), "{screen:?}");
    // A program that reads no more, and one that never ends, keep nobody.
    let (mut scene, node) = at_a_program(pad_host::Config::default());
    scene.types(&[b'x'; 3990]);
    scene.types(b"\r\x10iclr\r");
    for _ in 0..100 {
        scene.bench.octets(scene.program.unwrap(), b"y");
        scene.pass(Duration::from_millis(120));
    }
    let screen = scene.screen();
    assert!(screen.contains("CLR DTE C:0 D:0"), "{screen:?}");
    assert_eq!(host(&mut scene, node).counters().errors, 0);
}

#[test]
fn a_call_waits_for_a_place_and_is_cleared_where_there_is_none() {
    for takes in [true, false] {
        let config = pad_host::Config { asks: true, ..pad_host::Config::default() };
        let (mut scene, node) = at_a_program(config);
        assert!(!scene.screen().contains("COM"));
        assert!(host(&mut scene, node).calling().is_some());
        host(&mut scene, node).answer(takes);
        assert!(host(&mut scene, node).calling().is_none());
        wake(&mut scene, node, PadHost::WAKE);
        let screen = scene.screen();
        assert!(screen.contains(if takes { "COM" } else { "CLR DTE C:0 D:163" }), "{screen:?}");
        let refusal = if takes { None } else { Some(diagnostic::RESOURCES) };
        assert_eq!(host(&mut scene, node).refusal(), refusal);
    }
}

#[test]
fn a_host_and_a_pad_that_end_clear_their_call() {
    let (mut scene, node) = at_a_program(pad_host::Config::default());
    scene.screen();
    host(&mut scene, node).close();
    wake(&mut scene, node, PadHost::WAKE);
    assert_eq!(scene.screen(), "CLR DTE C:0 D:162\r\n*");
    assert!(host(&mut scene, node).ended().is_some());
    // Another call is none any more.
    scene.types(b"12345\r");
    assert!(scene.screen().contains("CLR DTE C:0 D:162"));
    let (mut scene, node) = at_a_program(pad_host::Config::default());
    let pad = scene.pad;
    assert!(scene.bench.graph.protocol_mut::<Pad>(pad).unwrap().close());
    wake(&mut scene, pad, Pad::CLOSE);
    assert!(scene.screen().ends_with("CLR CONF\r\n") && scene.pad().is_over());
    assert!(host(&mut scene, node).ended().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is typed and whatever the host says, nothing panics and nothing grows without end.
    #[test]
    fn any_conversation_stays_within_bounds(
        steps in prop::collection::vec(
            (0_u8..4, prop::collection::vec(any::<u8>(), 0..40)), 0..60
        ),
    ) {
        let (mut scene, session) = Scene::called("");
        for (kind, octets) in steps {
            match kind {
                0 => scene.types(&octets),
                1 => scene.data(session, &octets),
                2 => scene.message(session, &octets),
                _ => {
                    scene.pass(Duration::from_millis(200));
                    let _ = scene.heard();
                    scene.took(session);
                }
            }
            prop_assert!(scene.pad().held() <= 4096 + 128);
            prop_assert!(scene.pad().outgoing.len() <= MOST_WAITING + 4);
        }
    }
}

#[test]
fn a_host_that_is_short_of_memory_clears_a_call_and_says_so() {
    let mut scene = Scene::new(Config::default(), Some(pad_host::Config::default()));
    let budget = kumiki_octets::Budget::new(1 << 20);
    let own = budget.account(0).unwrap();
    scene.bench.graph.set_budget(own);
    let other = budget.account(0).unwrap();
    other.stand(600 << 10).unwrap();
    scene.types(b"12345\r");
    let screen = scene.screen();
    assert!(screen.contains("CLR DTE C:0 D:163"), "{screen:?}");
}
