//! Linux's packet layer behind a switch: our end is on XOT, on the operating system's TCP.

use kumiki_octets::Number;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use kumiki_graph::{Address, Duration, Graph, NodeId, Service};
use kumiki_io::{Executor, ExecutorEnd, GraphId, Pace, Plug, RealClock, Sockets, SocketsConfig};
use kumiki_stack::{LowerLayers, Settings, Value, build};
use kumiki_switch::{SwitchOptions, parse, run};

use crate::linux::{Person, linux, messages, peer};
use crate::peers::{Folder, ProcessOutput};

/// A switch in a thread of its own.
struct Switch {
    thread: Option<JoinHandle<()>>,
    end: Arc<AtomicBool>,
    lines: Receiver<String>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Switch {
    fn start(config: &str) -> Self {
        kumiki_watchdog::minute();
        let config = parse("switch.toml", config).unwrap_or_else(|why| panic!("{why}"));
        let end = Arc::new(AtomicBool::new(false));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, lines) = channel();
        let wanted = SwitchOptions { end: Some(Arc::clone(&end)), ..SwitchOptions::default() };
        let kept = Arc::clone(&log);
        let thread = std::thread::spawn(move || {
            let say = |line: &str| {
                kept.lock().unwrap().push(line.to_owned());
                let _ = sender.send(line.to_owned());
            };
            run(&config, &wanted, say).unwrap();
        });
        Self { thread: Some(thread), end, lines, log }
    }

    /// The next line of its log with this in it.
    fn wait_for(&self, part: &str) -> String {
        loop {
            kumiki_watchdog::minute();
            let line = self.lines.recv();
            let line = line.unwrap_or_else(|_| panic!("{part:?}: {:?}", self.log.lock().unwrap()));
            if line.contains(part) {
                return line;
            }
        }
    }

    fn listens(&self) -> SocketAddr {
        let line = self.wait_for("listens at ");
        let rest = line.split_once("listens at ").unwrap().1;
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// Our end: a user on X.25 on XOT on sockets.
struct Ours {
    executor: Executor<RealClock>,
    graph: GraphId,
    person: NodeId,
}

impl Ours {
    fn new(person: Person, sockets: Sockets, xot: &Settings) -> Self {
        let mut graph = Graph::new(1, 0);
        let task = graph.add_task("cpu");
        let device = graph.add_device("tcp", Service::STREAM).unwrap();
        let place = |below| LowerLayers { below, mtu: None };
        let node = build("xot", xot, place(&["tcp"])).unwrap_or_else(|why| panic!("{why}"));
        graph.add_node("xot", task, node).unwrap();
        let x25 = Settings::new().with("over", "circuits").with("address", "9001");
        let node = build("x25", &x25, place(&["xot"])).unwrap_or_else(|why| panic!("{why}"));
        graph.add_node("x25", task, node).unwrap();
        let person = graph.add_node("user", task, Box::new(person)).unwrap();
        for pair in ["user", "x25", "xot", "tcp"].windows(2) {
            graph.connect(pair[0], pair[1]).unwrap();
        }
        let mut executor = Executor::new(RealClock::start(), Pace::default());
        let graph = executor.add_graph("near", graph);
        let real = executor.add_real(Box::new(sockets)).unwrap();
        executor.plug(Plug::Device(graph, device), Plug::Real(real));
        executor.start().unwrap();
        Self { executor, graph, person }
    }

    /// Runs until the user is done, and a little longer for what still leaves.
    fn run(&mut self) -> &Person {
        let (graph, person) = (self.graph, self.person);
        let ended = self.executor.run(Duration::from_secs(60), |executor| {
            let graph = executor.graph(graph).unwrap();
            graph.protocol::<Person>(person).unwrap().done
        });
        assert_eq!(ended, ExecutorEnd::Done);
        self.executor.run(Duration::from_millis(100), |_| false);
        let graph = self.executor.graph(self.graph).unwrap();
        graph.protocol::<Person>(self.person).unwrap()
    }
}

fn sockets() -> Sockets {
    Sockets::new(SocketsConfig::default()).unwrap()
}

fn texts(text: String) -> Value {
    Value::List(vec![Value::Text(text)])
}

/// Linux on a line of packets, of 128 octets where XOT has 1024.
fn config(line: &std::path::Path, more: &str) -> String {
    format!(
        r#"
[port.guest]
kind = "packets"
on = "listen:{}"
x25 = {{ packet = "128 B", window = 3, default_packet = "128 B", default_window = 3 }}

{more}
"#,
        line.display()
    )
}

const THEIRS: [(&str, &str); 2] = [("PACKET", "7"), ("WINDOW", "3")];

#[test]
fn a_call_by_xot_reaches_linux_and_its_messages_come_back() {
    let Some(kit) = linux() else { return };
    let folder = Folder::new("switched-calls");
    let line = folder.path("line");
    let more = r#"
[port.xot]
kind = "xot"
listen = "127.0.0.1:0"

[[route]]
called = "99"
to = ["guest"]
strip = 2
"#;
    let switch = Switch::start(&config(&line, more));
    let at = switch.listens();
    let mut linux = peer(&kit, &line, &["echo"], &THEIRS);
    linux.wait_for("PEER x25 listening");
    switch.wait_for("guest: up");
    let person = Person {
        calls: Some(Address::from("9912345".parse::<Number>().unwrap())),
        messages: messages(),
        ..Person::default()
    };
    let xot = Settings::new().with("routes", texts(format!("99 = {at}")));
    let mut ours = Ours::new(person, sockets(), &xot);
    let person = ours.run();
    assert_eq!((person.ended.clone(), person.came), (None, 10));
    let said = linux.wait_for("PEER x25 cleared");
    let octets: usize = messages().iter().map(Vec::len).sum();
    let wanted = format!("cause 0 diagnostic 0, 10 messages {octets} octets");
    assert!(said.contains(&wanted), "{said}");
    let log = switch.wait_for("cleared by xot");
    assert!(log.contains(&format!("{octets} octets from the caller, {octets} to it")), "{log}");
}

#[test]
fn a_call_from_linux_leaves_by_xot_and_its_messages_go_back() {
    let Some(kit) = linux() else { return };
    let folder = Folder::new("switched-called");
    let line = folder.path("line");
    let mut listening = sockets();
    let at = listening.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let more = format!(
        r#"
[port.xot]
kind = "xot"
host = "{at}"

[[route]]
called = "9"
to = ["xot"]
"#
    );
    let switch = Switch::start(&config(&line, &more));
    let xot = Settings::new().with("listen", at.to_string().as_str());
    let mut ours = Ours::new(Person::default(), listening, &xot);
    let linux = peer(&kit, &line, &["call", "9001", "5", "5000"], &THEIRS);
    let person = ours.run();
    assert_eq!(person.came, 5);
    // Linux ends in the middle of the call when its program is done.
    assert!(person.ended.is_some());
    let ProcessOutput { status, out: said, .. } = linux.end();
    assert!(said.contains("PEER x25 echo ok"), "{said}");
    assert_eq!(status, Some(0), "{said}");
    switch.wait_for("cleared by guest");
}
