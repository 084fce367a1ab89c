//! Linux's packet layer (`AF_X25`) in user-mode Linux, packets as records on a Unix socket. It has no LAPB there.

use kumiki_octets::Number;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Duration, Graph, Handle, Indication, Mode, NodeId, Open, Protocol,
    Reason, Request, Service, Shape,
};
use kumiki_io::{Executor, ExecutorEnd, Line, Opening, Pace, Plug, RealClock, Records};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{self, CauseField};
use kumiki_stack::{LowerLayers, Settings, Value, build};

use crate::peers::{Folder, ProcessOutput, Running, is_there, kit, skip};

/// The folder of user-mode Linux; `None` where it cannot start, after saying so.
pub(crate) fn linux() -> Option<PathBuf> {
    let Some(folder) = kit().map(|kit| kit.join("uml")) else {
        skip("there is no ../shared/peers beside the repository");
        return None;
    };
    let needed = ["linux.uml", "busybox", "python3", "modprobe", "ip", "cc"];
    let missing: Vec<&str> = needed.into_iter().filter(|it| !is_there(it)).collect();
    if missing.is_empty() {
        return Some(folder);
    }
    let packages = "user-mode-linux busybox-static python3 kmod iproute2 gcc libc6-dev";
    let missing = missing.join(", ");
    skip(&format!("user-mode Linux needs {missing}: apt-get install {packages}"));
    None
}

const OWN: Handle = Handle { index: 7, generation: 1 };

/// What a user of X.25 does.
#[derive(Default)]
pub(crate) struct Person {
    /// Whom to call; nobody: to be called.
    pub(crate) calls: Option<Address>,
    /// What is sent, and comes back before the next one leaves. Who is called sends back what comes.
    pub(crate) messages: VecDeque<Vec<u8>>,
    pub(crate) sent: Option<Vec<u8>>,
    pub(crate) session: Handle,
    pub(crate) credit: u32,
    pub(crate) waiting: VecDeque<Message>,
    pub(crate) gathered: Message,
    pub(crate) came: u32,
    pub(crate) ended: Option<Reason>,
    pub(crate) done: bool,
}

impl Person {
    fn pump(&mut self, cx: &mut Context<'_>) {
        if self.calls.is_some() && self.sent.is_none() && self.session != Handle::default() {
            match self.messages.pop_front() {
                Some(message) => {
                    self.waiting.push_back(Message::from_octets(&message));
                    self.sent = Some(message);
                }
                None if !self.done => {
                    self.done = true;
                    let (session, reason, data) = (self.session, Reason::User, None);
                    cx.down(Below(0), Request::Abort { session, reason, data });
                }
                None => {}
            }
        }
        while self.credit > 0
            && let Some(data) = self.waiting.pop_front()
        {
            self.credit -= 1;
            let (session, end) = (self.session, true);
            cx.down(Below(0), Request::Data { session, data, end });
        }
    }
}

impl Protocol for Person {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let open = Open {
            user: OWN,
            mode: if self.calls.is_some() { Mode::Active } else { Mode::Passive { backlog: 1 } },
            remote: self.calls.unwrap_or_default(),
            ..Open::default()
        };
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) if self.calls.is_some() => {
                self.session = opened.provider;
            }
            Indication::Offered(offered) => {
                self.session = offered.provider;
                let accept = Accept { session: offered.provider, user: OWN, ..Accept::default() };
                cx.down(Below(0), Request::Accept(Box::new(accept)));
            }
            Indication::Credit { credit, .. } => self.credit += credit.messages,
            Indication::Data { data, end, .. } => {
                let (session, credit) = (self.session, Credit::messages(1));
                cx.down(Below(0), Request::Credit { session, credit });
                self.gathered.append(data);
                if end {
                    self.came += 1;
                    let message = core::mem::take(&mut self.gathered);
                    if let Some(sent) = self.sent.take() {
                        assert!(message.to_vec() == sent, "another message came back");
                    } else {
                        self.waiting.push_back(message);
                    }
                }
            }
            Indication::Aborted { reason, .. } => {
                self.ended = Some(reason);
                self.done = true;
            }
            Indication::Opened(_) | Indication::Report(_) => {}
            other @ (Indication::Unit(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }) => panic!("{other:?}"),
        }
        self.pump(cx);
    }
}

/// Our end: a packet layer on records, and its user.
struct Ours {
    executor: Executor<RealClock>,
    graph: kumiki_io::GraphId,
    person: NodeId,
}

fn ours(line: &Path, x25: &Settings, person: Person) -> Ours {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let device = graph.add_device("line", Service::UNIT_DATA).unwrap();
    let settings = x25.clone().with("over", "frames").with("address", "9001");
    let place = LowerLayers { below: &["line"], mtu: None };
    let node = build("x25", &settings, place).unwrap_or_else(|why| panic!("{why}"));
    graph.add_node("x25", task, node).unwrap();
    let person = graph.add_node("user", task, Box::new(person)).unwrap();
    graph.connect("x25", "line").unwrap();
    graph.connect("user", "x25").unwrap();
    let mut executor = Executor::new(RealClock::start(), Pace::default());
    let graph = executor.add_graph("near", graph);
    let opening = Opening::Listen(line.to_owned());
    let line = Records::new(Line::open(&opening, true).unwrap());
    let real = executor.add_real(Box::new(line)).unwrap();
    executor.plug(Plug::Device(graph, device), Plug::Real(real));
    executor.start().unwrap();
    Ours { executor, graph, person }
}

impl Ours {
    fn person(&self) -> &Person {
        let graph = self.executor.graph(self.graph).unwrap();
        graph.protocol::<Person>(self.person).unwrap()
    }

    /// Runs until the user is done, and a little longer for what still leaves.
    fn run(&mut self) {
        let (graph, person) = (self.graph, self.person);
        let ended = self.executor.run(Duration::from_secs(60), |executor| {
            let graph = executor.graph(graph).unwrap();
            graph.protocol::<Person>(person).unwrap().done
        });
        assert_eq!(ended, ExecutorEnd::Done);
        self.executor.run(Duration::from_millis(100), |_| false);
    }
}

pub(crate) fn peer(kit: &Path, line: &Path, act: &[&str], environment: &[(&str, &str)]) -> Running {
    let mut command = Command::new(kit.join("x25-peer.sh"));
    command
        .arg(format!("connect:{}", line.display()))
        .args(act)
        .env("TIMEOUT", "60")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command.envs(environment.iter().copied());
    Running::peer(command)
}

/// Messages of all sizes around those of packets. Of one in some forty packets and more Linux has no room for the
/// whole, says RNR, and stays with it.
pub(crate) fn messages() -> VecDeque<Vec<u8>> {
    let sizes = [1, 127, 128, 129, 1023, 1024, 1025, 2048, 3000, 5000];
    let octets = |size: usize| (0..251).cycle().take(size).collect();
    sizes.map(octets).into_iter().collect()
}

/// What both ends can be set to, as each of them has it. A window has less than the 4096 octets that a terminal holds:
/// where more comes at once, the guest's line stalls.
const KINDS: [(&str, bool, u64, i64); 3] = [
    ("modulo 8, packets of 1024", false, 1024, 3),
    ("modulo 8, packets of 128", false, 128, 7),
    ("modulo 128, packets of 256", true, 256, 12),
];

fn settings(extended: bool, packet: u64, window: i64) -> (Settings, Vec<(&'static str, String)>) {
    let ours = Settings::new()
        .with("extended", extended)
        .with("packet", Value::Octets(packet))
        .with("window", window)
        // Linux says nothing of them in its calls here, and keeps to what it was set to.
        .with("default_packet", Value::Octets(packet))
        .with("default_window", window);
    let theirs = vec![
        ("EXTENDED", u8::from(extended).to_string()),
        ("PACKET", packet.ilog2().to_string()),
        ("WINDOW", window.to_string()),
    ];
    (ours, theirs)
}

#[test]
fn a_call_to_linux_carries_messages_both_ways() {
    let Some(kit) = linux() else { return };
    for (number, (what, extended, packet, window)) in KINDS.into_iter().enumerate() {
        let folder = Folder::new(&format!("calls-{number}"));
        let line = folder.path("line");
        let (x25, theirs) = settings(extended, packet, window);
        let person = Person {
            calls: Some(Address::from("12345".parse::<Number>().unwrap())),
            messages: messages(),
            ..Person::default()
        };
        // The socket is there before the peer, and the peer listens before it is called.
        let mut ours = ours(&line, &x25, person);
        let theirs: Vec<(&str, &str)> = theirs.iter().map(|(a, b)| (*a, b.as_str())).collect();
        let mut linux = peer(&kit, &line, &["echo"], &theirs);
        linux.wait_for("PEER x25 listening");
        ours.run();
        let person = ours.person();
        assert_eq!((person.ended.clone(), person.came), (None, 10), "{what}");
        let said = linux.wait_for("PEER x25 cleared");
        let octets: usize = messages().iter().map(Vec::len).sum();
        let wanted = format!("cause 0 diagnostic 0, 10 messages {octets} octets");
        assert!(said.contains(&wanted), "{what}: {said}");
    }
}

#[test]
fn a_call_from_linux_is_answered_and_its_messages_go_back() {
    let Some(kit) = linux() else { return };
    for (number, (what, extended, packet, window)) in KINDS.into_iter().enumerate() {
        let folder = Folder::new(&format!("called-{number}"));
        let line = folder.path("line");
        let (x25, theirs) = settings(extended, packet, window);
        let mut ours = ours(&line, &x25, Person::default());
        let theirs: Vec<(&str, &str)> = theirs.iter().map(|(a, b)| (*a, b.as_str())).collect();
        let linux = peer(&kit, &line, &["call", "9001", "5", "5000"], &theirs);
        ours.run();
        let person = ours.person();
        assert_eq!(person.came, 5, "{what}");
        // Linux ends in the middle of the call when its program is done.
        assert!(person.ended.is_some(), "{what}");
        let ProcessOutput { status, out: said, .. } = linux.end();
        assert!(said.contains("PEER x25 echo ok"), "{what}: {said}");
        assert_eq!(status, Some(0), "{what}: {said}");
    }
}

#[test]
fn linux_clears_a_call_to_a_number_on_which_nobody_listens() {
    let Some(kit) = linux() else { return };
    let folder = Folder::new("nobody");
    let line = folder.path("line");
    let person = Person { calls: Some(Address::from("777".parse::<Number>().unwrap())), ..Person::default() };
    let mut ours = ours(&line, &Settings::new(), person);
    let mut linux = peer(&kit, &line, &["echo"], &[]);
    linux.wait_for("PEER x25 listening");
    ours.run();
    let wanted = x25::PacketCause { what: CauseField::Clear, cause: 1, diagnostic: 0 };
    let told = Reason::peer(x25::Cause::Packet(wanted));
    assert_eq!(ours.person().ended, Some(told));
}
