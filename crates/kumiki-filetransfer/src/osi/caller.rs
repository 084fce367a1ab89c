//! One association that we ask for, and what is done on it; another one where it breaks in a transfer that can be
//! recovered.
//!
//! **Going on.** A connection is good for one association, so what was in progress moves to the graph of another
//! connection, and sends F-RECOVER there. Before that it waits: a second, and twice as long each time that nothing
//! stood in between, up to [`LONGEST_WAIT`]. Where F-RECOVER is refused it is started over.
//!
//! **Ending early.** Ctrl-C ends the transfer (by FTAM: F-CANCEL), and the association ends in order; a peer
//! that does not answer within [`GRACE`] gets an abort. A peer of which nothing comes for [`Call::timeout`] while
//! something is wanted of it is taken as gone.

use std::path::PathBuf;

use kumiki_files::file_user::{Client, Config, Failure, FileClient, Layer, Operation, OperationOutcome, Progress};
use kumiki_files::mms_files;
use kumiki_files::node::{ClientRequest, InitiatingUser as _, WAKE};
use kumiki_graph::{Address, Duration, Graph, Instant, NodeId, Protocol};
use kumiki_io::executor::GraphId;
use kumiki_io::{Bell, Clock as _, Executor, Pace, Plug, RealClock, ShutdownRequest, unguessable};
use kumiki_osi_service::acse::{Authentication, Credential, Names};
use kumiki_osi_service::mms::PASSWORD_MECHANISM;
use kumiki_osi_service::x25::Number;
use kumiki_osi_service::{Association as Upper, Oid, Selectors};

use super::ends::{Calls, caller, caller_mut, take_broken};
use super::reach::{Host, connected};
use super::refusal::of_carrier;
use super::{Carrier, LowerLayers, dropped, numbered, spelled, stack};
use kumiki_live::line::{Line, Traffic, Watcher};
use kumiki_live::private::CaptureBudget;
use kumiki_live::recorder::Recorder;
use kumiki_live::{BATCH, LOOK, LiveError, system};

/// How long a peer may take to end in order, and what was said last to leave.
pub const GRACE: Duration = Duration::from_secs(3);

/// The longest wait before another connection is tried.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Whom to call, how.
#[derive(Clone, Debug)]
pub struct Call {
    /// Where.
    pub host: Host,
    /// The layers below association control.
    pub lower: LowerLayers,
    /// The X.121 address called, on XOT.
    pub x121: Number,
    /// The selectors called.
    pub called: Selectors,
    /// Our own.
    pub calling: Selectors,
    /// The titles called.
    pub names: Names,
    /// The application context; that of the protocol unless given.
    pub application_context: Option<Oid>,
    /// By which protocol, and as whom.
    pub calls: Calls,
    /// How long nothing may come.
    pub timeout: Duration,
    /// Where what crosses the connection is written; of further connections, the same with their number behind it.
    pub pcap: Option<PathBuf>,
    /// How many octets of each packet; 0 for all.
    pub snaplen: u32,
}

/// What is to be done on an association, one thing after the other.
pub trait Task {
    /// The next thing; none: it is over.
    fn next(&mut self) -> Option<Operation>;

    /// What came of one.
    fn heard(&mut self, outcome: &OperationOutcome);

    /// How far it is, after each pass; must be quick where nothing has happened.
    fn progress(&mut self, progress: Progress) {
        let _ = progress;
    }

    /// What is in progress has broken for this reason, and goes on on another connection after this time.
    fn broken(&mut self, title: &str, why: &Failure, wait: Duration) {
        let _ = (title, why, wait);
    }

    /// What was interrupted is not gone on with, for this reason, and starts over on the connection that stands.
    fn started_over(&mut self, title: &str, why: &Failure) {
        let _ = (title, why);
    }

    /// Something that a person may want to know.
    fn told(&mut self, line: &str) {
        let _ = line;
    }

    /// Something that a person has to know, though all goes on.
    fn warned(&mut self, line: &str) {
        let _ = line;
    }
}

/// How it went.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Association {
    /// Why there was none, or it ended too soon.
    pub failure: Option<Failure>,
    /// Whether it stood.
    pub stood: bool,
    /// Whether somebody wanted it to end.
    pub interrupted: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// Octets that crossed the connection, received and sent.
    pub octets: (u64, u64),
}

/// Calls, does what `task` wants, and ends. Where a connection breaks in a transfer that can go on, it calls again.
///
/// # Errors
/// [`LiveError`] where this machine cannot do it, or the capture cannot be written; what the peer or the network has
/// against it is in [`Association::failure`].
pub fn call(call: &Call, task: &mut dyn Task) -> Result<Association, LiveError> {
    let clock = RealClock::start();
    let mut next = Some(executor(clock));
    let bell = next.as_ref().map(Executor::bell).unwrap_or_default();
    let wish = ShutdownRequest::listen(&bell).map_err(system("cannot listen to Ctrl-C"))?;
    let mut calling =
        Calling { call, task, clock, bell, wish, heard: 0, connections: 0, whole: Association::default() };
    let (mut broken, mut wait) = (None, FIRST_WAIT);
    loop {
        let executor = next.take().unwrap_or_else(|| executor(clock));
        let (again, stood) = match calling.connect(executor, broken)? {
            ConnectionEnd::Over => break,
            ConnectionEnd::Broken { client, stood } => (client, stood),
        };
        wait = if stood { FIRST_WAIT } else { wait };
        let Some(client) = calling.rest(again, wait) else {
            break;
        };
        wait = (wait + wait).min(LONGEST_WAIT);
        broken = Some(client);
    }
    Ok(calling.finish())
}

/// The first wait before another connection is tried.
const FIRST_WAIT: Duration = Duration::from_secs(1);

fn executor(clock: RealClock) -> Executor<RealClock> {
    let pace = Pace { batch: BATCH, ..Pace::default() };
    Executor::new(clock, pace)
}

/// How a connection ended.
enum ConnectionEnd {
    /// There is nothing more to do.
    Over,
    /// This wants another one; whether its association stood.
    Broken { client: Box<Client>, stood: bool },
}

/// A call, over one connection or more.
struct Calling<'a> {
    call: &'a Call,
    task: &'a mut dyn Task,
    clock: RealClock,
    bell: Bell,
    wish: ShutdownRequest,
    /// So many outcomes were told.
    heard: usize,
    connections: u32,
    whole: Association,
}

impl Calling<'_> {
    /// Makes a connection, and begins or goes on there.
    fn connect(
        &mut self,
        mut executor: Executor<RealClock>,
        broken: Option<Box<Client>>,
    ) -> Result<ConnectionEnd, LiveError> {
        let (call, clock) = (self.call, self.clock);
        self.task.told(&format!("network: connecting to {}", call.host));
        let timeout = call.lower.timeout;
        let connection = match connected(&call.host, timeout, clock, &self.bell, &self.wish) {
            Ok(connection) => connection,
            Err(why) => return Ok(self.missed(broken, why)),
        };
        self.connections += 1;
        let ends = (connection.local, connection.remote);
        self.task.told(&format!("network: connected, {} to {}", ends.0, ends.1));
        self.tell_how();
        let seed = unguessable().map_err(system("no random number"))?;
        let upper = Upper {
            called: call.called,
            calling: call.calling,
            called_names: call.names.clone(),
            application_context: call.application_context,
            ..Upper::default()
        };
        let remote = match call.lower.carrier {
            Carrier::Rfc1006 => Address::from(ends.1),
            Carrier::Xot => Address::from(call.x121),
        };
        let client = client(call, remote, upper, broken);
        let of = call.calls.protocol();
        let (graph, device) = stack(of, ("client", client), &call.lower, ends, seed)?;
        let node = graph.node("client");
        let budget = CaptureBudget::endless(call.snaplen);
        let pcap = call.pcap.as_deref().map(|path| numbered(path, self.connections.into()));
        let recorder = pcap.as_deref().map(|path| Recorder::begin((path, &budget), clock, &connection)).transpose();
        let recorder = recorder.map_err(system("--pcap"))?.flatten();
        let (line, watcher) = Line::new(connection, recorder).map_err(system("the connection"))?;
        let host = executor.add_graph("caller", graph);
        let real = executor.add_real(Box::new(line)).map_err(system("no descriptor to wait for the connection"))?;
        executor.plug(Plug::Device(host, device), Plug::Real(real));
        executor.start()?;
        let Some(node) = node else {
            return Err(LiveError::Line("the stack has no client".to_owned()));
        };
        let mut conversation = Conversation {
            calling: self,
            node,
            host,
            watcher,
            stood: false,
            crossed: (0, clock.now()),
            giving_up: None,
            over: None,
            broken: None,
        };
        let ended = loop {
            let ended = executor.run(LOOK, |executor| {
                if let Some(remark) = budget.remark() {
                    conversation.calling.task.warned(&format!("--pcap: {remark}"));
                }
                conversation.look(executor)
            });
            if ended != kumiki_io::ExecutorEnd::TimedOut {
                break ended;
            }
        };
        if ended == kumiki_io::ExecutorEnd::Failed
            && let Some(why) = executor.failure()
        {
            return Err(LiveError::Line(why.to_string()));
        }
        let ended = conversation.finish(&executor);
        // Its last octets are written as the line goes.
        drop(executor);
        if let Some(remark) = budget.remark() {
            self.task.warned(&format!("--pcap: {remark}"));
        }
        Ok(ended)
    }

    /// Tells how the responder is called.
    fn tell_how(&mut self) {
        let call = self.call;
        for (whose, selectors) in [("called", &call.called), ("ours", &call.calling)] {
            let spelled = spelled(selectors);
            if !spelled.is_empty() {
                self.task.told(&format!("selectors {whose}: {spelled}"));
            }
        }
        if let Some(beyond) = call.lower.carrier.beyond(call.lower.tpdu_size) {
            self.task.told(&format!("transport: {beyond}"));
        }
    }

    /// There is no connection.
    fn missed(&mut self, broken: Option<Box<Client>>, why: Failure) -> ConnectionEnd {
        let Some(mut client) = broken else {
            self.whole.failure = Some(why);
            return ConnectionEnd::Over;
        };
        client.on_missed(why);
        self.go_on_with(client, false)
    }

    /// Whether what has broken goes on.
    fn go_on_with(&mut self, client: Box<Client>, stood: bool) -> ConnectionEnd {
        if client.wants_again() {
            return ConnectionEnd::Broken { client, stood };
        }
        self.hear(client.plan().outcomes());
        self.whole.failure = client.plan().failure().cloned();
        ConnectionEnd::Over
    }

    /// Waits before another connection; none where that was given up.
    fn rest(&mut self, mut client: Box<Client>, wait: Duration) -> Option<Box<Client>> {
        if let (Some(why), Some(title)) = (client.why_broken(), client.in_progress()) {
            self.task.broken(&title, why, wait);
        }
        let until = self.clock.now() + wait;
        while self.clock.now() < until && !self.wish.is_made() {
            self.clock.wait(until, &self.bell, &[]);
        }
        if !self.wish.is_made() {
            return Some(client);
        }
        // There is nobody to whom anything could be said.
        client.give_up(&mut Vec::new());
        self.go_on_with(client, false);
        None
    }

    /// Tells what came of operations.
    fn hear(&mut self, outcomes: &[OperationOutcome]) {
        while let Some(outcome) = outcomes.get(self.heard) {
            self.heard += 1;
            self.task.heard(outcome);
        }
    }

    fn finish(self) -> Association {
        Association {
            interrupted: self.wish.is_made(),
            elapsed: self.clock.now().saturating_since(Instant::ZERO),
            ..self.whole
        }
    }
}

/// The node on top.
fn client(call: &Call, remote: Address, upper: Upper, broken: Option<Box<Client>>) -> Box<dyn Protocol> {
    match &call.calls {
        Calls::Ftam(settings) => {
            let config = Config { remote, association: upper, settings: settings.clone(), ..Config::default() };
            // There is one connection: who goes on after it has broken makes another one.
            Box::new(match broken {
                Some(client) => FileClient::going_on(config, *client).once(),
                None => FileClient::new(config, Vec::new()).held().once(),
            })
        }
        Calls::Mms { settings, password } => {
            let authentication = password.as_ref().map(|password| Authentication {
                mechanism: Some(PASSWORD_MECHANISM),
                value: Credential::Text(password.octets().to_vec()),
            });
            let config = mms_files::ClientConfig {
                remote,
                association: Upper { authentication, ..upper },
                settings: *settings,
                ..mms_files::ClientConfig::default()
            };
            Box::new(mms_files::FileClient::new(config, Vec::new()).held())
        }
    }
}

/// An association while it runs.
struct Conversation<'a, 'b> {
    calling: &'a mut Calling<'b>,
    node: NodeId,
    host: GraphId,
    watcher: Watcher,
    stood: bool,
    /// Octets that have crossed, and when that last was more.
    crossed: (u64, Instant),
    giving_up: Option<Instant>,
    /// Since when all is over but for what is to leave.
    over: Option<Instant>,
    /// What goes on on another one.
    broken: Option<Box<Client>>,
}

impl Conversation<'_, '_> {
    /// Looks around after a pass; true where all is over.
    fn look(&mut self, executor: &mut Executor<RealClock>) -> bool {
        let calling = &mut *self.calling;
        let now = calling.clock.now();
        let Some(graph) = executor.graph_mut(self.host) else {
            return true;
        };
        let of = calling.call.calls.protocol();
        let Some(client) = caller_mut(graph, self.node, of) else {
            return true;
        };
        if client.plan().stands() && !self.stood {
            self.stood = true;
            let agreed = client.agreed();
            calling.task.told(&format!("{of}: the association stands, with {agreed}"));
        }
        if let Some((title, why)) = client.take_started_over() {
            calling.task.started_over(&title, &why);
        }
        calling.hear(client.plan().outcomes());
        calling.task.progress(client.plan().progress());
        if let Some(broken) = take_broken(graph, self.node) {
            self.broken = Some(Box::new(broken));
            return true;
        }
        let Some(client) = caller_mut(graph, self.node, of) else {
            return true;
        };
        let (crossed, is_down) = self.watcher.crossed();
        if crossed != self.crossed.0 {
            self.crossed = (crossed, now);
        }
        if client.plan().is_over() {
            // What was said last is still to leave, where the peer takes it.
            let since = *self.over.get_or_insert(now);
            let full = self.watcher.traffic().is_full;
            return is_down || !full || now >= since + GRACE;
        }
        let mut want = None;
        if calling.wish.is_made() {
            match self.giving_up {
                None => {
                    self.giving_up = Some(now);
                    want = Some(ClientRequest::GiveUp);
                }
                Some(since) if now >= since + GRACE => {
                    want = Some(ClientRequest::Abort(Failure::local("given up")));
                }
                Some(_) => {}
            }
        } else if now >= self.crossed.1 + calling.call.timeout {
            want = Some(ClientRequest::Lost(silence(calling.call)));
        } else if client.is_idle() {
            want = Some(calling.task.next().map_or(ClientRequest::End, ClientRequest::Do));
        }
        if let Some(want) = want {
            client.want(want);
            graph.wake(now, self.node, WAKE);
        }
        false
    }

    fn finish(self, executor: &Executor<RealClock>) -> ConnectionEnd {
        let graph = executor.graph(self.host);
        for line in graph.map(dropped).unwrap_or_default() {
            self.calling.task.told(&line);
        }
        let traffic = self.watcher.traffic();
        let whole = &mut self.calling.whole;
        let is_first = !whole.stood;
        whole.stood |= self.stood;
        whole.octets.0 += traffic.received;
        whole.octets.1 += traffic.sent;
        if let Some(client) = self.broken {
            return self.calling.go_on_with(client, self.stood);
        }
        let of = self.calling.call.calls.protocol();
        let client = graph.and_then(|graph| caller(graph, self.node, of));
        let failure = client.and_then(|client| client.plan().failure().cloned());
        let call = self.calling.call;
        whole.failure = failure.map(|failure| {
            if self.stood || failure.layer == Layer::Local {
                failure
            } else if is_echo(&traffic) {
                echo(call)
            } else if is_stranger(graph) {
                stranger(call, &traffic.first)
            } else if is_first && traffic.received == 0 {
                mute(call, traffic.is_down)
            } else if failure.may_be_of_selectors() {
                wrongly_called(call, failure)
            } else {
                failure
            }
        });
        ConnectionEnd::Over
    }
}

/// Whether who answers speaks neither RFC 1006 nor XOT: there is no packet before what is none.
fn is_stranger(graph: Option<&Graph>) -> bool {
    let why = graph.and_then(of_carrier);
    why.is_some_and(|(_, why)| why.as_violation().is_some_and(|it| it.is_first))
}

/// The fewest octets by which an answer is told from what was said: in both carriers the types of the packets differ
/// before.
const TELLING: usize = 8;

/// Whether who answers sends back what it gets.
fn is_echo(traffic: &Traffic) -> bool {
    traffic.first.len() >= TELLING && traffic.first_sent.starts_with(&traffic.first)
}

/// A failure of the network, or of transport.
fn failure(layer: Layer, meaning: String, remedy: &str, transient: bool) -> Failure {
    Failure {
        layer,
        code: None,
        meaning,
        remedy: remedy.to_owned(),
        transient,
        is_abort: false,
        diagnostics: Vec::new(),
    }
}

/// Nothing comes.
fn silence(call: &Call) -> Failure {
    let seconds = call.timeout.as_nanos() / 1_000_000_000;
    let meaning = format!("{}: nothing has come for {seconds} s", call.host);
    let remedy = "try again; check the line, or wait longer with --timeout";
    failure(Layer::Network, meaning, remedy, true)
}

/// Who answers speaks something else.
fn stranger(call: &Call, first: &[u8]) -> Failure {
    let shown = first.escape_ascii();
    let meaning = format!("{}: who answers does not speak {}, but says \"{shown}\"", call.host, call.lower.carrier);
    failure(Layer::Network, meaning, "check the port", false)
}

/// Who answers only sends back.
fn echo(call: &Call) -> Failure {
    let meaning = format!("{}: who answers sends back what it is sent, and is no responder", call.host);
    failure(Layer::Network, meaning, "check the port", false)
}

/// Who took the connection has said nothing, and has closed it or not.
fn mute(call: &Call, closed: bool) -> Failure {
    let seconds = call.timeout.as_nanos() / 1_000_000_000;
    let carrier = match call.lower.carrier {
        Carrier::Rfc1006 => "whether XOT is spoken there (carrier=xot)",
        Carrier::Xot => "whether RFC 1006 is spoken there (then leave carrier=xot out)",
    };
    let (meaning, remedy) = if closed {
        (
            format!("{}: the connection was closed without an answer", call.host),
            format!(
                "check the port, {carrier}, whether the responder lets this host call, and its limits; where it has many callers, call again later"
            ),
        )
    } else {
        (
            format!("{}: who took the connection has never answered, in {seconds} s", call.host),
            format!("check the port, and {carrier}, or wait longer with --timeout"),
        )
    };
    failure(Layer::Network, meaning, &remedy, true)
}

/// A refusal for the selectors, with what was called.
fn wrongly_called(call: &Call, why: Failure) -> Failure {
    let called = spelled(&call.called);
    let called = if called.is_empty() { "no selector was called".to_owned() } else { format!("called: {called}") };
    Failure { meaning: format!("{}; {called}", why.meaning), ..why }
}
