//! One terminal at a PAD, and a door for many.

use core::fmt;
use core::net::SocketAddr;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kumiki_graph::pipe::{self, Pipe};
use kumiki_graph::{Address, DeviceId, Duration, Graph, GraphError, Instant, Mode, NodeId, Request, Service};
use kumiki_io::admission::{LimitReached, Step};
use kumiki_io::line::Console;
use kumiki_io::sockets::{Sockets, SocketsConfig, plain};
use kumiki_io::{Arrival, Clock as _, Descriptors, Plug, RealClock, RealDevice, Sent, ShutdownRequest, unguessable};
use kumiki_octets::{Account, Message};
use kumiki_x25::pad::{CallOutcome, Config, Pad, State};
use kumiki_x25::telnet::Telnet;
use kumiki_x25::xot;

use super::{
    Caller, Doors, Journal, Log, Network, begin_capture, capture_beside, executor, live_on, numbered, passes, serve,
};
use kumiki_live::descriptors::DescriptorCost;
use kumiki_live::gate::Gate;
use kumiki_live::line::{Connection, Line, Watcher};
use kumiki_live::sandbox::{self, Access, Needs};
use kumiki_live::throttle::Kind;
use kumiki_live::{LiveError, system};

/// A terminal has its connection twice, and one to wait with; its calls have one of their own.
pub const EACH: DescriptorCost = DescriptorCost { comes: 5, stands: 1 };

/// How long a cleared call waits for the other end to have heard of it.
const FAREWELL: Duration = Duration::from_millis(300);

/// Where a terminal is.
enum Terminal {
    /// Standard input and output.
    Standard(Console),
    /// A connection of a Telnet program.
    Telnet(Box<Line>, Visit),
}

/// Why a terminal that came by Telnet is let go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum VisitEnd {
    /// No call of its stood in time.
    Late,
    /// Another one has its place.
    Room,
    /// There are as many as may be.
    Full(LimitReached),
    /// Others need the memory that it had.
    Memory,
    /// Nothing has crossed for too long.
    Idle,
}

impl fmt::Display for VisitEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("its time is over"),
            Self::Room => f.write_str("made room for another terminal"),
            Self::Full(full) => write!(f, "dropped, for {full}"),
            Self::Memory => f.write_str("sent away, for others need the memory that it had"),
            Self::Idle => f.write_str("nothing has crossed for too long"),
        }
    }
}

/// A terminal that came by Telnet, among others: it is known when a call of its stands.
struct Visit {
    gate: Arc<Gate>,
    number: u64,
    begin: Duration,
    idle: Option<Duration>,
    let_go: Arc<AtomicBool>,
    /// Of the memory that all share, where that is bounded.
    account: Option<Account>,
    watcher: Watcher,
    /// The connection, to be hung up.
    socket: TcpStream,
    began: Instant,
    /// Octets that have crossed, and when the last of them did.
    crossed: u64,
    last: Instant,
    has_spoken: bool,
    is_known: bool,
    why: Option<VisitEnd>,
}

impl Visit {
    /// Looks at it after a pass; why it is to be let go, if so.
    fn look(&mut self, pad: &Pad, now: Instant) -> Option<VisitEnd> {
        let traffic = self.watcher.traffic();
        if traffic.received > 0 && !core::mem::replace(&mut self.has_spoken, true) {
            self.gate.advance(self.number, Step::Spoke);
        }
        let crossed = traffic.received.saturating_add(traffic.sent);
        if core::mem::replace(&mut self.crossed, crossed) != crossed {
            self.last = now;
        }
        if self.is_known {
            let is_idle = self.idle.is_some_and(|idle| now >= self.last + idle);
            return is_idle.then_some(VisitEnd::Idle);
        }
        if pad.outcome().stood {
            if let Some(account) = &self.account {
                // It takes no more than it has already: what its windows hold.
                let _ = account.stand(0);
            }
            let known = self.gate.know(self.number);
            self.is_known = known.is_ok();
            return known.err().map(VisitEnd::Full);
        }
        // How long an answer to a call takes is not the terminal's doing.
        let is_connecting = pad.state() == State::Connecting;
        if is_connecting {
            self.gate.advance(self.number, Step::Asked);
        }
        let is_late = !is_connecting && now >= self.began + self.gate.begin(self.begin);
        if self.account.as_ref().is_some_and(Account::is_sent_away) {
            Some(VisitEnd::Memory)
        } else if self.let_go.load(Ordering::SeqCst) {
            Some(VisitEnd::Room)
        } else {
            is_late.then_some(VisitEnd::Late)
        }
    }

    /// The same; where it is let go the connection is hung up, once, and what is left is as if the terminal had hung
    /// up.
    fn watch(&mut self, pad: &Pad, now: Instant) {
        if self.why.is_none()
            && let Some(why) = self.look(pad, now)
        {
            self.why = Some(why);
            // One that has gone already needs no more.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
    }
}

/// The operating system's TCP whose listeners are at an address of our choice: XOT only knows its port.
struct Door {
    sockets: Sockets,
    listen: Option<SocketAddr>,
}

impl RealDevice for Door {
    fn descriptors(&self) -> Descriptors<'_> {
        self.sockets.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        self.sockets.receive()
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        self.sockets.send(packet, to)
    }

    fn request(&mut self, mut request: Request) -> io::Result<()> {
        if let (Request::Open(open), Some(listen)) = (&mut request, self.listen)
            && matches!(open.mode, Mode::Passive { .. })
        {
            open.local = listen.into();
        }
        self.sockets.request(request)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.sockets.flush()
    }
}

/// The graph, and the devices of its network and its terminal.
fn stack(network: &Network, config: Config, has_telnet: bool, seed: u64) -> Result<(Graph, [DeviceId; 2]), LiveError> {
    let (x25, xot) = network.layers(xot::DEFAULT_TIMEOUT)?;
    let graph_error = |graph_error: GraphError| LiveError::Line(graph_error.to_string());
    let mut graph = Graph::new(seed, 0);
    let task = graph.add_task("cpu");
    let tcp = graph.add_device("tcp", Service::STREAM).map_err(graph_error)?;
    let tty = graph.add_device("terminal", Service::FRAME).map_err(graph_error)?;
    let config = Config {
        // Whoever came by Telnet and has vanished must not be waited for.
        drains: !has_telnet,
        ..config
    };
    let build = || -> Result<(), GraphError> {
        graph.add_node("xot", task, Box::new(xot))?;
        graph.connect("xot", "tcp")?;
        graph.add_node("x25", task, Box::new(x25))?;
        graph.connect("x25", "xot")?;
        let pipe = Pipe::new(pipe::Config::default());
        graph.add_node("pipe", task, Box::new(pipe))?;
        graph.connect("pipe", "terminal")?;
        graph.add_node("pad", task, Box::new(Pad::new(config)))?;
        graph.connect("pad", "x25")?;
        if has_telnet {
            graph.add_node("telnet", task, Box::new(Telnet::new()))?;
            graph.connect("telnet", "pipe")?;
            graph.connect("pad", "telnet")?;
        } else {
            graph.connect("pad", "pipe")?;
        }
        Ok(())
    };
    build().map_err(graph_error)?;
    Ok((graph, [tcp, tty]))
}

/// Serves the standard streams until they have ended, or somebody wants an end.
///
/// # Errors
/// [`LiveError`] where this machine cannot do it, or the capture cannot be written.
pub fn run(network: &Network, config: Config, journal: &dyn Journal) -> Result<CallOutcome, LiveError> {
    let console = Console::standard().map_err(system("standard input and output"))?;
    let served = attend(network, config, Terminal::Standard(console), None, journal);
    served.map(|(outcome, _)| outcome)
}

/// Serves one terminal until it has gone, or somebody wants an end.
fn attend(
    network: &Network,
    config: Config,
    terminal: Terminal,
    wish: Option<&ShutdownRequest>,
    journal: &dyn Journal,
) -> Result<(CallOutcome, Option<Visit>), LiveError> {
    let clock = RealClock::start();
    let mut executor = executor(clock);
    let own;
    let wish = match wish {
        Some(wish) => wish,
        None => {
            own = ShutdownRequest::listen(&executor.bell()).map_err(system("cannot listen to Ctrl-C"))?;
            &own
        }
    };
    let mut sockets = Sockets::new(SocketsConfig::default()).map_err(system("no sockets"))?;
    let listen = network.listen.map(|at| sockets.bind(at)).transpose();
    let listen = listen.map_err(|why| LiveError::Line(why.to_string()))?;
    if let Some(bound) = listen {
        journal.told(&format!("listens at {bound}"));
    }
    let (device, visit, waiting): (Box<dyn RealDevice>, _, _) = match terminal {
        Terminal::Standard(console) => {
            let waiting = console.waiting();
            (Box::new(console), None, Some(waiting))
        }
        Terminal::Telnet(line, visit) => (line, Some(visit), None),
    };
    let has_telnet = visit.is_some();
    let seed = unguessable().map_err(system("no random number"))?;
    let (mut graph, [tcp, tty]) = stack(network, config, has_telnet, seed)?;
    if let Some(account) = visit.as_ref().and_then(|visit| visit.account.as_ref()) {
        live_on(account, &executor, &mut graph);
    }
    let capture =
        if visit.is_some() { capture_beside(network, &mut graph) } else { begin_capture(network, &mut graph)? };
    let Some(node) = graph.node("pad") else {
        return Err(LiveError::Line("the stack has no PAD".to_owned()));
    };
    let host = executor.add_graph("pad", graph);
    let door = executor
        .add_real(Box::new(Door { sockets, listen }))
        .map_err(system("no descriptor to wait for connections"))?;
    let real = executor.add_real(device).map_err(system("no descriptor to wait for the terminal"))?;
    executor.plug(Plug::Device(host, tcp), Plug::Real(door));
    executor.plug(Plug::Device(host, tty), Plug::Real(real));
    executor.start()?;
    let mut session =
        Session { node, wish, visit, waiting, outcome: CallOutcome::default(), closing: None, over: None };
    passes(&mut executor, host, (network, capture), journal, |graph| session.look(graph, clock.now()))?;
    Ok((session.outcome, session.visit))
}

/// A terminal while it is served.
struct Session<'a> {
    node: NodeId,
    wish: &'a ShutdownRequest,
    visit: Option<Visit>,
    /// What of it waits to be shown, where that is known.
    waiting: Option<Arc<AtomicUsize>>,
    outcome: CallOutcome,
    /// Since when the call is being cleared.
    closing: Option<Instant>,
    /// Since when all is over but for what is to leave.
    over: Option<Instant>,
}

impl Session<'_> {
    /// Looks around after a pass; true where it is served no more.
    fn look(&mut self, graph: &mut Graph, now: Instant) -> bool {
        let Some(pad) = graph.protocol_mut::<Pad>(self.node) else {
            return true;
        };
        self.outcome = pad.outcome().clone();
        if let Some(visit) = &mut self.visit {
            visit.watch(pad, now);
        }
        if self.wish.is_made() && self.closing.is_none() {
            self.closing = Some(now);
            if !pad.close() {
                return true;
            }
            graph.wake(now, self.node, Pad::CLOSE);
            return false;
        }
        if self.closing.is_some_and(|at| now >= at + FAREWELL) {
            return true;
        }
        if !pad.is_over() {
            return false;
        }
        let since = *self.over.get_or_insert(now);
        let is_shown = self.waiting.as_ref().is_none_or(|waiting| waiting.load(Ordering::Relaxed) == 0);
        let has_left = !self.outcome.stood || self.outcome.why.is_some() || now >= since + FAREWELL;
        // Standard output may take what was said last as late as it likes; where it is broken nothing waits for it.
        is_shown && has_left
    }
}

/// Serves terminals that come by Telnet, as many as `doors` says, until somebody wants an end.
///
/// # Errors
/// As [`run`]; what goes wrong with one of them is told.
pub fn listen(
    network: &Network,
    config: &Config,
    listener: &TcpListener,
    doors: &Doors,
    journal: &dyn Journal,
) -> Result<(), LiveError> {
    let bell = kumiki_io::Bell::default();
    let wish = ShutdownRequest::listen(&bell).map_err(system("cannot listen to Ctrl-C"))?;
    let gate = Gate::new(doors.limits, None, RealClock::start());
    let gate = Arc::new(gate.map_err(system("no random number"))?);
    let log = Log::new(journal);
    let captures = network.pcap.as_deref();
    let captures = captures.map(|path| (sandbox::above(path), Access::Make));
    let needs = Needs {
        connects: network.gateway.iter().map(SocketAddr::port).collect(),
        ..sandbox::of_lines([], captures.into_iter().collect())
    };
    sandbox::enter(&network.sandbox, &needs)?;
    let each = |caller: Caller| {
        let (number, from) = (caller.number, caller.from);
        let network = Network { pcap: numbered(network.pcap.as_ref(), number), ..network.clone() };
        let served = begin(&network, doors, &gate, caller)
            .and_then(|terminal| attend(&network, config.clone(), terminal, Some(&wish), &log));
        let who = format!("terminal {number}, {from}");
        match served {
            Ok((_, Some(visit))) => {
                let why = visit.why.map(|why| why.to_string());
                let of_itself = if wish.is_made() { "let go, for this PAD ends" } else { "hung up" };
                let why = why.unwrap_or_else(|| of_itself.to_owned());
                if visit.is_known {
                    log.known(from.ip(), &format!("{who}: {why}"));
                } else {
                    log.often(Kind::Unknown, &format!("{who}: no call stood: {why}"));
                }
                visit.is_known
            }
            Ok((_, None)) => true,
            Err(why) => {
                log.often(Kind::Short, &format!("{who}: {why}"));
                false
            }
        }
    };
    // A terminal has no clearing, and waits until one has gone.
    serve(listener, &gate, (doors, true), &wish, &each, &log)
}

/// A terminal that has come.
fn begin(network: &Network, doors: &Doors, gate: &Arc<Gate>, caller: Caller) -> Result<Terminal, LiveError> {
    let Caller { socket, from, number, let_go } = caller;
    let account = network.account("terminal")?;
    let what = || system("the terminal's connection");
    let clock = RealClock::start();
    let connection = Connection {
        local: plain(socket.local_addr().map_err(what())?),
        remote: from,
        socket: socket.try_clone().map_err(what())?,
        called: true,
        mute: Arc::default(),
    };
    let (line, watcher) = Line::new(connection, None).map_err(what())?;
    let now = clock.now();
    let visit = Visit {
        gate: Arc::clone(gate),
        number,
        begin: doors.begin,
        idle: doors.idle,
        let_go,
        account,
        watcher,
        socket,
        began: now,
        crossed: 0,
        last: now,
        has_spoken: false,
        is_known: false,
        why: None,
    };
    Ok(Terminal::Telnet(Box::new(line), visit))
}
