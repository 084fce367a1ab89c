//! A host for terminals: each call that comes by XOT gets a program on a pseudo terminal.

use core::net::SocketAddr;
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::pipe::{self, Pipe};
use kumiki_graph::{Address, DeviceId, Duration, Graph, GraphError, Instant, NodeId, Reason, Service};
use kumiki_io::admission::{LimitReached, Step};
use kumiki_io::line::Console;
use kumiki_io::sockets::plain;
use kumiki_io::{Arrival, Clock as _, Descriptors, Plug, RealClock, RealDevice, Sent, ShutdownRequest, unguessable};
use kumiki_octets::{Account, Message};
use kumiki_osi_service::x25::diagnostic;
use kumiki_x25::pad_host::{Config, Counters, PadHost};
use kumiki_x25::x25::X25;
use kumiki_x25::xot::Xot;

use super::{Caller, Doors, Journal, Log, Network, capture_beside, executor, live_on, numbered, passes, serve};
use kumiki_live::descriptors::DescriptorCost;
use kumiki_live::gate::Gate;
use kumiki_live::line::{Connection, Line, Watcher};
use kumiki_live::sandbox::{self, Calls, Needs};
use kumiki_live::throttle::Kind;
use kumiki_live::{LiveError, system};

/// A caller has its connection and one to wait with; a call has its program's terminal.
pub const EACH: DescriptorCost = DescriptorCost { comes: 2, stands: 3 };

/// How long a connection stays whose call is over.
const FAREWELL: Duration = Duration::from_millis(500);

/// A program that is started when a call is there.
struct Program {
    command: Vec<OsString>,
    told: Arc<CallControl>,
    running: Option<(Console, Child)>,
    granted: u64,
    /// That it could not be started is still to be told to the graph, as an end.
    ends: bool,
}

/// What a call and its program tell each other.
#[derive(Default)]
struct CallControl {
    is_wanted: AtomicBool,
    /// It is to end, and its call with it.
    hangs_up: AtomicBool,
    /// Why it could not be started.
    trouble: Mutex<Option<String>>,
}

impl CallControl {
    fn trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program {
    /// Ends it, as a terminal that is hung up does.
    fn hang_up(&mut self) {
        if let Some((console, mut child)) = self.running.take() {
            // The end of its terminal is a hang-up to the program and what it has started; it is not asked twice.
            drop(console);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl RealDevice for Program {
    fn descriptors(&self) -> Descriptors<'_> {
        let running = self.running.as_ref();
        running.map_or_else(Descriptors::default, |(console, _)| console.descriptors())
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        if self.told.hangs_up.load(Ordering::SeqCst) && self.running.is_some() {
            self.hang_up();
            return Ok(Some(Arrival::Down));
        }
        if let Some((console, _)) = &mut self.running {
            return console.receive();
        }
        if core::mem::take(&mut self.ends) {
            return Ok(Some(Arrival::Down));
        }
        // It is wanted once.
        if !self.told.is_wanted.swap(false, Ordering::SeqCst) {
            return Ok(None);
        }
        match Console::program(&self.command) {
            Ok((mut console, child)) => {
                console.grant(self.granted);
                let first = console.receive();
                self.running = Some((console, child));
                first
            }
            Err(why) => {
                *self.told.trouble() = Some(why.to_string());
                self.ends = true;
                Ok(Some(Arrival::Up))
            }
        }
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        match &mut self.running {
            Some((console, _)) => console.send(packet, to),
            None => Ok(Sent::Refused),
        }
    }

    fn grant(&mut self, octets: u64) {
        match &mut self.running {
            Some((console, _)) => console.grant(octets),
            None => self.granted = self.granted.saturating_add(octets),
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        match &mut self.running {
            Some((console, _)) => console.flush(),
            None => Ok(false),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.hang_up();
    }
}

fn stack(
    network: &Network,
    config: Config,
    (ends, begin): ((SocketAddr, SocketAddr), Duration),
    seed: u64,
) -> Result<(Graph, [DeviceId; 2]), LiveError> {
    let (x25, xot) = network.layers(begin)?;
    let graph_error = |graph_error: GraphError| LiveError::Line(graph_error.to_string());
    let mut graph = Graph::new(seed, 0);
    let task = graph.add_task("cpu");
    let line = graph.add_device("connection", Service::FRAME).map_err(graph_error)?;
    let program = graph.add_device("program", Service::FRAME).map_err(graph_error)?;
    let below = pipe::Config { local: ends.0.into(), remote: ends.1.into(), ..pipe::Config::default() };
    let build = || -> Result<(), GraphError> {
        graph.add_node("tcp", task, Box::new(Pipe::new(below)))?;
        graph.connect("tcp", "connection")?;
        graph.add_node("xot", task, Box::new(xot))?;
        graph.connect("xot", "tcp")?;
        graph.add_node("x25", task, Box::new(x25))?;
        graph.connect("x25", "xot")?;
        let pipe = Pipe::new(pipe::Config::default());
        graph.add_node("pipe", task, Box::new(pipe))?;
        graph.connect("pipe", "program")?;
        graph.add_node("host", task, Box::new(PadHost::new(config)))?;
        graph.connect("host", "x25")?;
        graph.connect("host", "pipe")?;
        Ok(())
    };
    build().map_err(graph_error)?;
    Ok((graph, [line, program]))
}

/// What all connections of a host have in common.
struct HostService<'a> {
    network: &'a Network,
    config: &'a Config,
    command: &'a [OsString],
    doors: &'a Doors,
    gate: &'a Gate,
    wish: &'a ShutdownRequest,
    log: &'a Log<'a>,
    /// Calls that are over, whose places others may have though they are not gone yet.
    leaving: &'a AtomicUsize,
}

/// One of these.
struct CallSlot<'a>(&'a AtomicUsize);

impl<'a> CallSlot<'a> {
    /// Where there are not `most` of them: nobody can have many threads by calls that are over at once.
    fn enter(of: &'a AtomicUsize, most: usize) -> Option<Self> {
        let next = |count: usize| (count < most).then(|| count + 1);
        of.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).is_ok().then(|| Self(of))
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Why a connection without a call has ended, or a call from here.
#[derive(Clone, PartialEq, Eq, Debug)]
enum VisitEnd {
    /// The peer has gone.
    Left,
    /// It does not speak XOT.
    Foreign,
    /// It does, and has broken the protocol.
    Broke(Reason),
    /// No call came in time.
    Late,
    /// Another caller has its place.
    Room,
    /// There are as many calls as may be.
    Full(LimitReached),
}

impl core::fmt::Display for VisitEnd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Left => f.write_str("hung up before a call came"),
            Self::Foreign => f.write_str("does not speak XOT"),
            Self::Broke(why) => why.fmt(f),
            Self::Late => f.write_str("no call came in time"),
            Self::Room => f.write_str("made room for another caller"),
            Self::Full(full) => write!(f, "cleared, for {full}"),
        }
    }
}

/// Why a connection is over from here without a call.
fn foreign(graph: &Graph) -> VisitEnd {
    let found = graph.find::<Xot>("xot").and_then(Xot::refusal);
    if found.is_some_and(|it| it.as_violation().is_some_and(|it| it.is_first)) {
        return VisitEnd::Foreign;
    }
    let found = found.or_else(|| graph.find::<X25>("x25").and_then(X25::refusal));
    found.map_or(VisitEnd::Foreign, |why| VisitEnd::Broke(why.clone()))
}

/// A connection, from its coming to its going.
struct Visit<'a> {
    serving: &'a HostService<'a>,
    number: u64,
    let_go: Arc<AtomicBool>,
    /// Of the memory that all share, where that is bounded.
    account: Option<Account>,
    watcher: Watcher,
    program: Arc<CallControl>,
    journal: &'a dyn Fn(&str),
    began: Instant,
    /// Octets that have come, and when the last of them did.
    heard: u64,
    last: Instant,
    has_begun: bool,
    is_closing: bool,
    /// Why there is no call, or why the one that came was not taken.
    why: Option<VisitEnd>,
    /// Since when the call is over.
    over: Option<Instant>,
    leaving: Option<CallSlot<'a>>,
}

impl Visit<'_> {
    /// Looks at it after a pass; whether it is over.
    fn look(&mut self, graph: &mut Graph, node: NodeId, now: Instant) -> bool {
        let Some(host) = graph.protocol_mut::<PadHost>(node) else {
            return true;
        };
        let closes = self.serving.wish.is_made() && !self.is_closing;
        if closes {
            self.is_closing = true;
            host.close();
        }
        if self.account.as_ref().is_some_and(Account::is_sent_away) && !self.has_begun {
            return true;
        }
        let is_down = self.hear(now);
        let answers = self.answer(host);
        self.begin(host);
        let &Counters { calls, refused, .. } = host.counters();
        let is_over = host.ended().is_some() || refused > 0;
        if closes || answers {
            graph.wake(now, node, PadHost::WAKE);
            return false;
        }
        if calls == 0 && !is_over {
            self.why = self.without_call(graph, is_down, now);
            return self.why.is_some() || self.is_closing;
        }
        if !is_over {
            self.end_idle(now);
            return false;
        }
        if self.over.is_none() && calls > 0 {
            self.leave();
        }
        // A program may still take what came last; otherwise there is nothing to wait for once the peer has hung up.
        let is_left = is_down && (calls == 0 && refused > 0 || self.is_closing);
        is_left || now >= *self.over.get_or_insert(now) + FAREWELL
    }

    /// Notes what has come; whether the peer has hung up.
    fn hear(&mut self, now: Instant) -> bool {
        let traffic = self.watcher.traffic();
        if self.heard == 0 && traffic.received > 0 {
            self.serving.gate.advance(self.number, Step::Spoke);
        }
        if traffic.received != self.heard {
            (self.heard, self.last) = (traffic.received, now);
        }
        traffic.is_down
    }

    /// Answers a call that waits for it, as the gate has room; whether there was one.
    fn answer(&mut self, host: &mut PadHost) -> bool {
        let waits = host.calling().is_some();
        if waits {
            let known = self.serving.gate.know(self.number);
            host.answer(known.is_ok());
            self.why = known.err().map(VisitEnd::Full);
        }
        waits
    }

    /// Has the program of a call that was taken started, once.
    fn begin(&mut self, host: &PadHost) {
        let Some(caller) = host.caller().filter(|_| !self.has_begun) else {
            return;
        };
        self.has_begun = true;
        if let Some(account) = &self.account {
            // It takes no more than it has already: what its windows hold.
            let _ = account.stand(0);
        }
        self.program.is_wanted.store(true, Ordering::SeqCst);
        (self.journal)(&format!("a call of {caller}"));
    }

    /// Why no call will come any more, where that is so: of one that has left, or speaks something else, none can.
    fn without_call(&self, graph: &Graph, is_down: bool, now: Instant) -> Option<VisitEnd> {
        if is_down {
            Some(VisitEnd::Left)
        } else if graph.find::<Pipe>("tcp").is_some_and(Pipe::is_left) {
            Some(foreign(graph))
        } else if self.let_go.load(Ordering::SeqCst) {
            Some(VisitEnd::Room)
        } else {
            let is_late = now >= self.began + self.serving.gate.begin(self.serving.doors.begin);
            is_late.then_some(VisitEnd::Late)
        }
    }

    /// Hangs up where nothing has come for too long.
    fn end_idle(&self, now: Instant) {
        let is_idle = self.serving.doors.idle.is_some_and(|idle| now >= self.last + idle);
        if is_idle && !self.program.hangs_up.swap(true, Ordering::SeqCst) {
            (self.journal)("nothing has come for too long");
        }
    }

    /// Gives its place to others, where not too many have done that and are not gone.
    fn leave(&mut self) {
        self.leaving = CallSlot::enter(self.serving.leaving, self.serving.doors.limits.known);
        if self.leaving.is_some() {
            self.serving.gate.leave(self.number);
        }
    }

    /// Tells how it was, in the end.
    fn tell(&self, host: Option<&PadHost>, from: SocketAddr) {
        let Self { serving, number, journal, .. } = self;
        if let Some(why) = self.program.trouble().take() {
            let name = serving.command.first().map(|name| name.to_string_lossy());
            journal(&format!("{}: {why}", name.unwrap_or_default()));
        }
        let refusal = host.and_then(PadHost::refusal).map(|code| match code {
            diagnostic::CALL => "it was no PAD's",
            diagnostic::DTE_DOWN => "this host ends",
            _ => "memory is short, or one stands by that connection",
        });
        match (host.and_then(PadHost::ended), &self.why, refusal) {
            (Some(_), ..) if self.is_closing => journal("the call is over: cleared, for this host ends"),
            (Some(why), ..) => journal(&format!("the call is over: {why}")),
            (None, Some(why), _) => {
                let kind = if matches!(why, VisitEnd::Full(_)) { Kind::Dropped } else { Kind::Unknown };
                serving.log.often(kind, &format!("call {number}, {from}: {why}"));
            }
            (None, None, Some(why)) => {
                let line = format!("call {number}, {from}: a call was refused: {why}");
                serving.log.often(Kind::Refused, &line);
            }
            (None, None, None) => {}
        }
    }
}

/// Serves one connection: whether a call came by it that was taken.
fn converse(
    serving: &HostService<'_>,
    network: &Network,
    caller: Caller,
    journal: &dyn Fn(&str),
) -> Result<bool, LiveError> {
    let Caller { socket, from, number, let_go } = caller;
    // Who has a place the gate knows.
    let config = Config { asks: true, ..serving.config.clone() };
    let account = network.account("caller")?;
    let clock = RealClock::start();
    let ends = socket.local_addr().map(|local| (plain(local), from)).map_err(system("the connection"))?;
    let connection = Connection { socket, local: ends.0, remote: ends.1, called: true, mute: Arc::default() };
    let (stream, watcher) = Line::new(connection, None).map_err(system("the connection"))?;
    let (now, told) = (clock.now(), Arc::new(CallControl::default()));
    // Before the executor, and so gone after it: what it counts goes when the program has.
    let mut visit = Visit {
        serving,
        number,
        let_go,
        account,
        watcher,
        program: Arc::clone(&told),
        journal,
        began: now,
        heard: 0,
        last: now,
        has_begun: false,
        is_closing: false,
        why: None,
        over: None,
        leaving: None,
    };
    let mut executor = executor(clock);
    let seed = unguessable().map_err(system("no random number"))?;
    let (mut graph, [line, program]) = stack(network, config, (ends, serving.doors.begin), seed)?;
    if let Some(account) = &visit.account {
        live_on(account, &executor, &mut graph);
    }
    let capture = capture_beside(network, &mut graph);
    let Some(node) = graph.node("host") else {
        return Err(LiveError::Line("the stack has no host".to_owned()));
    };
    let device = Program { command: serving.command.to_vec(), told, running: None, granted: 0, ends: false };
    let graph = executor.add_graph("host", graph);
    let connection = executor.add_real(Box::new(stream)).map_err(system("no descriptor to wait for the connection"))?;
    let terminal = executor.add_real(Box::new(device)).map_err(system("no descriptor to wait for the program"))?;
    executor.plug(Plug::Device(graph, line), Plug::Real(connection));
    executor.plug(Plug::Device(graph, program), Plug::Real(terminal));
    executor.start()?;
    passes(&mut executor, graph, (network, capture), serving.log, |graph| visit.look(graph, node, clock.now()))?;
    let host = executor.graph(graph).and_then(|graph| graph.protocol::<PadHost>(node));
    visit.tell(host, from);
    Ok(host.is_some_and(|host| host.counters().calls > 0))
}

/// Takes calls that come by XOT and runs `command` for each, as many as `doors` says, until somebody wants an end or,
/// with `once`, the first call is over. With `once` connections are taken one by one, and one without a call is not the
/// end.
///
/// # Errors
/// [`LiveError`] where this machine cannot do it; what goes wrong with one call is told.
pub fn listen(
    network: &Network,
    config: &Config,
    listener: &TcpListener,
    command: &[OsString],
    doors: &Doors,
    journal: &dyn Journal,
) -> Result<(), LiveError> {
    let bell = kumiki_io::Bell::default();
    let wish = ShutdownRequest::listen(&bell).map_err(system("cannot listen to Ctrl-C"))?;
    let gate = Gate::new(doors.limits, None, RealClock::start());
    let gate = gate.map_err(system("no random number"))?;
    let log = Log::new(journal);
    let leaving = AtomicUsize::new(0);
    let serving =
        HostService { leaving: &leaving, network, config, command, doors, gate: &gate, wish: &wish, log: &log };
    let needs = Needs {
        files: Err("what the started commands need is unknown"),
        connects: Vec::new(),
        calls: Calls::Commands,
        capabilities: false,
    };
    sandbox::enter(&network.sandbox, &needs)?;
    let each = |caller: Caller| {
        let (number, from) = (caller.number, caller.from);
        let network = Network { pcap: numbered(serving.network.pcap.as_ref(), number), ..serving.network.clone() };
        let told = |line: &str| log.known(from.ip(), &format!("call {number}, {from}: {line}"));
        match converse(&serving, &network, caller, &told) {
            Ok(had_call) => had_call,
            Err(why) => {
                let line = format!("call {number}, {from}: {why}");
                log.often(Kind::Short, &line);
                false
            }
        }
    };
    // A call that finds no place is cleared, so that its caller hears of it, and others can be tried.
    serve(listener, &gate, (doors, false), &wish, &each, &log)
}
