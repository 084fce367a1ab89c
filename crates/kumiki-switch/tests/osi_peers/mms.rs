//! libiec61850 on our COTP, session, presentation and ACSE over RFC 1006: both call and are called. What is said of MMS
//! (ISO 9506) is the user's, and written out here.

use kumiki_graph::Parameters;
use kumiki_osi_service::presentation::PData;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Duration, Graph, Handle, Indication, Mode, NodeId, Open, Protocol, Request,
    Service, Shape,
};
use kumiki_io::{Executor, ExecutorEnd, GraphId, Pace, Plug, RealClock, Stream};
use kumiki_octets::Message;
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi_service::presentation::{Context as Proposed, Value};
use kumiki_osi_service::{Association, Oid};
use kumiki_stack::{LowerLayers, Settings, Value as Setting, build};

use crate::peers::{ProcessOutput, Running, skip};

/// A Python that has libiec61850; `None`, after saying so, where there is none.
fn python() -> Option<String> {
    kumiki_watchdog::minute();
    let named = std::env::var("KUMIKI_PYTHON").ok();
    let named = named.filter(|it| !it.is_empty());
    let python = named.unwrap_or_else(|| "python3".to_owned());
    let tried = Command::new(&python).args(["-c", "import pyiec61850"]).output();
    if tried.is_ok_and(|tried| tried.status.success()) {
        return Some(python);
    }
    skip(&format!(
        "{python} has no pyiec61850: pip install pyiec61850-ng==1.6.1.10, and KUMIKI_PYTHON says which Python has it"
    ));
    None
}

const ABSTRACT_SYNTAX: Oid = Oid::of(&[1, 0, 9506, 2, 1]);
const APPLICATION_CONTEXT: Oid = Oid::of(&[1, 0, 9506, 2, 3]);

/// Initiate request and response: 65000 octets, 5 services each way, nesting 10, version 1, with what can be done.
const INITIATE: [u8; 38] = [
    0x80, 0x03, 0x00, 0xfd, 0xe8, 0x81, 0x01, 0x05, 0x82, 0x01, 0x05, 0x83, 0x01, 0x0a, 0xa4, 0x16, 0x80, 0x01, 0x01,
    0x81, 0x03, 0x05, 0xf1, 0x00, 0x82, 0x0c, 0x03, 0xee, 0x1c, 0x00, 0x00, 0x04, 0x08, 0x00, 0x00, 0x79, 0xef, 0x18,
];
/// Confirmed request 7: Identify.
const IDENTIFY: [u8; 7] = [0xa0, 0x05, 0x02, 0x01, 0x07, 0x82, 0x00];
const CONCLUDE: [u8; 2] = [0x8b, 0x00];
const CONCLUDED: [u8; 2] = [0x8c, 0x00];

fn initiate(tag: u8) -> Message {
    let head = [tag, u8::try_from(INITIATE.len()).unwrap()];
    Message::from_octets(&[&head[..], &INITIATE].concat())
}

/// The answer to Identify under the number of its request.
fn identity(number: &[u8]) -> Vec<u8> {
    let mut said = Vec::new();
    for (tag, text) in [(0x80, "Kumiki"), (0x81, "joinery"), (0x82, "1")] {
        said.extend([tag, u8::try_from(text.len()).unwrap()]);
        said.extend(text.as_bytes());
    }
    let inside = [number, &[0xa2, u8::try_from(said.len()).unwrap()], &said].concat();
    [&[0xa1, u8::try_from(inside.len()).unwrap()][..], &inside].concat()
}

fn association() -> Association {
    let mut association = Association {
        contexts: vec![Proposed::basic(3, ABSTRACT_SYNTAX)],
        application_context: Some(APPLICATION_CONTEXT),
        ..Association::default()
    };
    let selector = |text: &str| Some(text.parse().unwrap());
    association.called.transport = selector("0x0001");
    association.called.session = selector("0x0001");
    association.called.presentation = selector("0x00000001");
    association
}

const OWN: Handle = Handle { index: 7, generation: 1 };

/// A user of MMS: asks who is there, or says who it is.
#[derive(Default)]
struct Person {
    calls: bool,
    session: Handle,
    context: i64,
    /// What came: with the beginning, and then in values.
    began: Vec<u8>,
    came: Vec<Vec<u8>>,
    /// What is to be sent once the association stands.
    says: Vec<&'static [u8]>,
    ended: Option<String>,
}

impl Person {
    fn say(&self, octets: &[u8], cx: &mut Context<'_>) {
        let value = Value { context: self.context, data: Message::from_octets(octets) };
        let (session, values) = (self.session, core::iter::once(value).collect());
        cx.down(Below(0), Request::special(session, PData(values)));
    }
}

impl Protocol for Person {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let open = Open {
            user: OWN,
            mode: if self.calls { Mode::Active } else { Mode::Passive { backlog: 1 } },
            parameters: Parameters::of(association()),
            data: self.calls.then(|| initiate(0xa8)),
            ..Open::default()
        };
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        let own = |association: Option<Box<Association>>| {
            let contexts = association.map(|it| it.contexts).unwrap_or_default();
            contexts.first().map_or(0, |context| context.id)
        };
        match indication {
            Indication::Opened(mut opened) if self.calls => {
                self.session = opened.provider;
                self.context = own(opened.parameters.take());
                self.began = opened.data.map(|data| data.to_vec()).unwrap_or_default();
                for octets in core::mem::take(&mut self.says) {
                    self.say(octets, cx);
                }
            }
            Indication::Offered(mut offered) => {
                self.session = offered.provider;
                self.context = own(offered.parameters.take());
                self.began = offered.data.map(|data| data.to_vec()).unwrap_or_default();
                let accept =
                    Accept { session: self.session, user: OWN, data: Some(initiate(0xa9)), ..Accept::default() };
                cx.down(Below(0), Request::Accept(Box::new(accept)));
            }
            Indication::Special { what, .. } if what.is::<PData>() => {
                let PData(values) = *what.take().unwrap();
                let (session, credit) = (self.session, Credit::messages(1));
                cx.down(Below(0), Request::Credit { session, credit });
                for value in values {
                    let octets = value.data.to_vec();
                    match octets[..] {
                        [0xa0, _, 0x02, 1, number, 0x82, 0] => {
                            self.say(&identity(&[0x02, 1, number]), cx);
                        }
                        [0x8b, 0] => self.say(&CONCLUDED, cx),
                        [0x8c, 0] => {
                            let session = self.session;
                            cx.down(Below(0), Request::Release { session, data: None });
                        }
                        _ => {}
                    }
                    self.came.push(octets);
                }
            }
            Indication::Released { .. } => {
                let (session, data) = (self.session, None);
                if !self.calls {
                    cx.down(Below(0), Request::Release { session, data });
                }
            }
            Indication::Closed { .. } => self.ended = Some("closed".to_owned()),
            Indication::Aborted { reason, .. } => self.ended = Some(reason.to_string()),
            Indication::Opened(_) | Indication::Credit { .. } | Indication::Report(_) => {}
            other @ (Indication::Unit(_)
            | Indication::Data { .. }
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }) => panic!("{other:?}"),
        }
    }
}

/// Our stack on a connection, with TPDUs of up to `tpdu` octets, run until the association is over.
fn run(socket: TcpStream, tpdu: u64, person: Person) -> (Executor<RealClock>, GraphId, NodeId) {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let device = graph.add_device("socket", Service::UNIT_DATA).unwrap();
    for (kind, below, settings) in [
        ("pipe", "socket", Settings::new()),
        ("tpkt", "pipe", Settings::new()),
        ("tp0", "tpkt", Settings::new().with("tpdu", Setting::Octets(tpdu))),
        ("session", "tp0", Settings::new()),
    ] {
        let place = LowerLayers { below: &[below], mtu: None };
        let node = build(kind, &settings, place).unwrap_or_else(|why| panic!("{why}"));
        graph.add_node(kind, task, node).unwrap();
        graph.connect(kind, below).unwrap();
    }
    let presentation = Presentation::new(presentation::Config::default());
    let acse = Acse::new(acse::Config::default());
    for (name, below, node) in [
        ("presentation", "session", Box::new(presentation) as Box<dyn Protocol>),
        ("acse", "presentation", Box::new(acse)),
        ("user", "acse", Box::new(person)),
    ] {
        graph.add_node(name, task, node).unwrap();
        graph.connect(name, below).unwrap();
    }
    let person = graph.node("user").unwrap();
    let mut executor = Executor::new(RealClock::start(), Pace::default());
    let graph = executor.add_graph("near", graph);
    let stream = Box::new(Stream::new(socket).unwrap());
    let real = executor.add_real(stream).unwrap();
    executor.plug(Plug::Device(graph, device), Plug::Real(real));
    executor.start().unwrap();
    let ended = executor.run(Duration::from_secs(30), |executor| {
        let graph = executor.graph(graph).unwrap();
        let person = graph.protocol::<Person>(person).unwrap();
        person.ended.is_some()
    });
    let of = executor.graph(graph).unwrap();
    let it = of.protocol::<Person>(person).unwrap();
    assert_eq!(ended, ExecutorEnd::Done, "{:02x?} {:02x?}", it.began, it.came);
    // The end of it still leaves.
    executor.run(Duration::from_millis(100), |_| false);
    (executor, graph, person)
}

fn script(name: &str) -> String {
    format!("{}/tests/osi_peers/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What libiec61850 says that calls us and ends as `end` says, and how that went here.
fn called(python: &str, end: &str) -> (String, Vec<Vec<u8>>, String) {
    // About one in thirty of its calls it closes by itself when we have accepted, whatever it was sent.
    for _ in 0..10 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut command = Command::new(python);
        command.arg(script("mms_client.py"));
        command.arg(port.to_string()).arg(end);
        let peer = Running::peer(command.stdin(Stdio::null()));
        let (socket, _) = listener.accept().unwrap();
        let (executor, graph, person) = run(socket, 8192, Person::default());
        let ProcessOutput { status, out: said, .. } = peer.end();
        assert!(said.contains("PEER connected True"), "{said}");
        assert_eq!(status, Some(0), "{said}");
        let graph = executor.graph(graph).unwrap();
        let person = graph.protocol::<Person>(person).unwrap();
        assert_eq!(person.began.first(), Some(&0xa8), "initiate");
        if !person.came.is_empty() {
            let ended = person.ended.clone().unwrap_or_default();
            return (said, person.came.clone(), ended);
        }
    }
    panic!("it closes every connection");
}

#[test]
fn libiec61850_calls_asks_and_ends() {
    let Some(python) = python() else { return };
    for end in ["conclude", "abort"] {
        let (said, came, ended) = called(&python, end);
        assert!(said.contains("PEER identity ('Kumiki', 'joinery', '1')"), "{said}");
        assert!(said.contains(&format!("PEER did {end}")), "{said}");
        if end == "conclude" {
            assert_eq!(came.last().map(Vec::as_slice), Some(&CONCLUDE[..]));
        } else {
            assert_eq!(came.len(), 1);
            assert!(ended.contains("association"), "{ended}");
        }
    }
}

#[test]
fn libiec61850_is_called_asked_and_left_in_order() {
    let Some(python) = python() else { return };
    // The standard's most in class 0, and what libiec61850 itself proposes.
    for tpdu in [2048, 8192] {
        is_called(&python, tpdu);
    }
}

fn is_called(python: &str, tpdu: u64) {
    let held = kumiki_watchdog::Port::new().unwrap();
    let port = held.at().port();
    let mut command = Command::new(python);
    command.arg(script("mms_server.py")).arg(port.to_string());
    let mut peer = Running::peer(command.stdin(Stdio::piped()));
    peer.wait_for("PEER runs True");
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let person = Person { calls: true, says: vec![&IDENTIFY, &CONCLUDE], ..Person::default() };
    let (executor, graph, person) = run(socket, tpdu, person);
    let graph = executor.graph(graph).unwrap();
    let person = graph.protocol::<Person>(person).unwrap();
    assert_eq!(person.began.first(), Some(&0xa9), "initiate");
    let identity = person.came[0].clone();
    let text = String::from_utf8_lossy(&identity).into_owned();
    assert_eq!(identity[0], 0xa1, "{identity:02x?}");
    assert!(text.contains("a vendor") && text.contains("a model"));
    assert_eq!(person.came.last().map(Vec::as_slice), Some(&CONCLUDED[..]));

    drop(peer);
}
