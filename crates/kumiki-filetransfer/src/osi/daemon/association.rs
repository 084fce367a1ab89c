//! One association that somebody else has asked for: its graph, in its thread, from the first octet to the line in the
//! log.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use kumiki_files::filestore::{Config, FileServer, Guard, ResponderConfig, StoreError};
use kumiki_files::mms_files;
use kumiki_files::node::{End, WAKE};
use kumiki_graph::pipe::Pipe;
use kumiki_graph::{Duration, Graph, Instant, NodeId, Protocol, Reason};
use kumiki_io::admission::Step;
use kumiki_io::executor::GraphId;
use kumiki_io::sockets;
use kumiki_io::{Clock as _, Executor, ExecutorEnd, Pace, Plug, RealClock, unguessable};
use kumiki_octets::Account;
use kumiki_octets::text::{quoted, short};
use kumiki_osi_service::Association as Upper;
use kumiki_osi_service::ftam::{AttributeGroups, Diagnostic, FunctionalUnits};
use kumiki_x25::x25::X25;

use super::super::ends::server_mut;
use super::super::journal::{Book, Bound};
use super::super::refusal::{foreign, of_carrier, refusal, rejections, told};
use super::super::{Carrier, LowerLayers, numbered, shown, stack};
use super::teller::ReportSender;
use super::{Caller, Daemon, ServedProtocol, Shared};
use kumiki_live::gate::GateEntry;
use kumiki_live::line::{Connection, Line, Traffic, Watcher};
use kumiki_live::recorder::Recorder;
use kumiki_live::throttle::Kind;
use kumiki_live::{BATCH, LOOK, LiveError, date, memory, system};

/// So many octets of how an association ended are paid for with its deeds.
const USUAL: usize = 160;

/// How long a peer may take to hang up when we have said the last word.
const GRACE: Duration = Duration::from_secs(3);

/// The longest message of session that is taken, in octets, from who has an association.
const LONGEST: u32 = 4 << 20;

/// The node on top.
fn server(daemon: &Daemon, guard: Guard) -> Box<dyn Protocol> {
    let association = Upper { called: daemon.called, called_names: daemon.names.clone(), ..Upper::default() };
    let began = i64::try_from(kumiki_io::clock::seconds_since_1970()).unwrap_or(0);
    match &daemon.serves {
        ServedProtocol::Ftam { element, entries, local_newlines } => {
            let config = Config {
                association,
                responder: ResponderConfig {
                    units: if daemon.keeps() {
                        ResponderConfig::UNITS
                    } else {
                        ResponderConfig::UNITS - FunctionalUnits::RECOVERY
                    },
                    // A directory keeps nothing of the security group.
                    groups: AttributeGroups::STORAGE,
                    element: *element,
                    longest_file: daemon.longest_file,
                    entries: *entries,
                    local_newlines: *local_newlines,
                    ..ResponderConfig::default()
                },
                associations: 1,
                idle: daemon.idle,
                lock_idle: daemon.lock_idle,
                // Each association has a clock of its own.
                kept: Duration::ZERO,
                began,
            };
            Box::new(FileServer::new(config, guard))
        }
        ServedProtocol::Mms { initiate, user } => {
            let config = mms_files::Config {
                association,
                responder: mms_files::ResponderConfig {
                    initiate: *initiate,
                    user: user.clone(),
                    longest_file: daemon.longest_file,
                    ..mms_files::ResponderConfig::default()
                },
                associations: 1,
                idle: daemon.idle,
                lock_idle: daemon.lock_idle,
                kept: Duration::ZERO,
                began,
            };
            Box::new(mms_files::FileServer::new(config, guard))
        }
    }
}

/// The last line for the log with its kind, and whether there was an association.
pub(super) type Last = (Option<Kind>, String, bool);

/// One association, in its thread.
pub(super) struct Serve<'a> {
    number: u64,
    remote: SocketAddr,
    shared: &'a Shared,
    teller: &'a ReportSender,
    clock: RealClock,
    node: NodeId,
    host: GraphId,
    watcher: Watcher,
    book: Book,
    account: Account,
    has_begun: bool,
    is_stopped: bool,
    /// It took too long to begin.
    is_late: bool,
    /// It was sent away, for others needed its memory.
    is_sent_away: bool,
    /// It has said something.
    has_spoken: bool,
    /// Another caller has its place.
    let_go: Arc<AtomicBool>,
    made_room: bool,
    /// It is to hear nothing more.
    mute: Arc<AtomicBool>,
    /// Its password was not looked at.
    unlooked: Arc<AtomicBool>,
    /// Since when it is over but for what is to leave.
    over: Option<Instant>,
}

/// What carries the session of a caller.
fn lower(daemon: &Daemon, carrier: Carrier) -> LowerLayers {
    LowerLayers {
        carrier,
        tpdu_size: daemon.tpdu_size.unwrap_or_else(|| carrier.tpdu_size()),
        x121: daemon.x121,
        answers: daemon.x121,
        circuit: daemon.circuit.clone(),
        timeout: daemon.begin,
        longest: LONGEST,
        ..LowerLayers::default()
    }
}

/// What writes a capture of the caller of this number, where captures are written and go on.
fn recorder(shared: &Shared, number: u64, clock: RealClock, connection: &Connection) -> Option<Recorder> {
    let path = numbered(shared.daemon.pcap.as_deref()?, number);
    let begun = Recorder::begin((&path, &shared.pcap_budget), clock, connection);
    // A caller has nothing to do with that.
    begun.unwrap_or_else(|why| {
        shared.pcap_budget.end(&why.to_string());
        None
    })
}

impl Serve<'_> {
    /// ServedProtocol a caller; gives the line for the log and its kind, and whether its association stood.
    pub(super) fn run(
        caller: Caller,
        account: &Account,
        shared: &Shared,
        teller: &ReportSender,
    ) -> Result<Last, LiveError> {
        let Caller { number, socket, remote, carrier, let_go } = caller;
        let daemon = &shared.daemon;
        let local = sockets::plain(socket.local_addr().map_err(system("the connection"))?);
        let clock = RealClock::start();
        let book =
            Book::new(Bound { allowances: Arc::clone(&shared.allowances), address: remote.ip(), clock: shared.clock });
        let (mute, unlooked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let turnstile = GateEntry {
            gate: Arc::clone(&shared.gate),
            number,
            address: remote.ip(),
            mute: Arc::clone(&mute),
            unlooked: Arc::clone(&unlooked),
            let_go: Arc::clone(&let_go),
        };
        let guard = shared.guard(book.clone(), Some(account), Some(turnstile));
        let server = server(daemon, guard);
        let lower = lower(daemon, carrier);
        let seed = unguessable().map_err(system("no random number"))?;
        let of = daemon.serves.protocol();
        let (mut graph, device) = stack(of, ("server", server), &lower, (local, remote), seed)?;
        graph.set_budget(account.clone());
        let node = graph.node("server");
        let node = node.ok_or_else(|| LiveError::Line("the stack has no server".to_owned()))?;
        let connection = Connection { socket, local, remote, called: true, mute: Arc::clone(&mute) };
        let recorder = recorder(shared, number, clock, &connection);
        let (line, watcher) = Line::new(connection, recorder).map_err(system("the connection"))?;
        let pace = Pace { batch: BATCH, ..Pace::default() };
        let mut executor = Executor::new(clock, pace);
        let host = executor.add_graph("server", graph);
        let real = executor.add_real(Box::new(line)).map_err(system("no descriptor to wait for the connection"))?;
        executor.plug(Plug::Device(host, device), Plug::Real(real));
        shared.bells.lock().unwrap_or_else(PoisonError::into_inner).insert(number, executor.bell());
        let bell = executor.bell();
        account.on_sent_away(Box::new(move || bell.ring()));
        executor.start()?;
        let serve = Serve {
            number,
            remote,
            shared,
            teller,
            clock,
            node,
            host,
            watcher,
            book,
            account: account.clone(),
            has_begun: false,
            is_stopped: false,
            is_late: false,
            is_sent_away: false,
            has_spoken: false,
            let_go,
            made_room: false,
            mute,
            unlooked,
            over: None,
        };
        serve.until_over(&mut executor)
    }

    fn until_over(mut self, executor: &mut Executor<RealClock>) -> Result<Last, LiveError> {
        let ended = loop {
            let ended = executor.run(LOOK, |executor| self.look(executor));
            if ended != ExecutorEnd::TimedOut {
                break ended;
            }
        };
        if ended == ExecutorEnd::Failed
            && let Some(why) = executor.failure()
        {
            return Err(LiveError::Line(why.to_string()));
        }
        Ok(self.finish(executor))
    }

    /// Has a line written while the association goes on.
    fn tell(&self, line: String) {
        self.teller.tell(None, line);
        self.shared.bell.ring();
    }

    fn who(&self) -> String {
        let journal = self.book.read();
        let (number, remote) = (self.number, self.remote);
        match (&journal.user, &journal.refused) {
            (Some(user), _) if user.is_empty() => format!("{number} {remote}"),
            (Some(user), _) => format!("{number} {user}@{remote}"),
            (None, Some(user)) => format!("{number} {remote} (as {user})"),
            (None, None) => format!("{number} {remote}"),
        }
    }

    /// Looks around after a pass; true where all is over.
    fn look(&mut self, executor: &mut Executor<RealClock>) -> bool {
        let now = self.clock.now();
        if let Some(line) = self.shared.captures_end() {
            self.tell(line);
        }
        let Some(graph) = executor.graph_mut(self.host) else {
            return true;
        };
        let daemon = &self.shared.daemon;
        let Some(server) = server_mut(graph, self.node, daemon.serves.protocol()) else {
            return true;
        };
        let stands = server.associations() > 0;
        let is_short = stands && !core::mem::replace(&mut self.has_begun, true) && !self.begin();
        if !stands && self.account.is_sent_away() {
            self.is_sent_away = true;
            return true;
        }
        let (crossed, is_down) = self.watcher.crossed();
        if crossed > 0 && !self.has_spoken {
            self.has_spoken = true;
            self.shared.gate.advance(self.number, Step::Spoke);
        }
        if self.mute.load(Ordering::SeqCst) {
            return true;
        }
        if let Some(did) = self.book.full() {
            let line = format!("{} {}: {did}; goes on", date(), self.who());
            self.tell(line);
        }
        let end = server.last_end().map(|last| self.was_peer_last(last));
        if !stands {
            return self.look_without(graph, now, end, is_down);
        }
        let stopping = self.shared.stopping.load(Ordering::SeqCst);
        let too_long = daemon.longest.is_some_and(|longest| now >= Instant::ZERO + longest);
        let Some(server) = server_mut(graph, self.node, daemon.serves.protocol()) else {
            return true;
        };
        if (stopping || too_long || is_short) && !self.is_stopped {
            self.is_stopped = true;
            server.stop(if stopping {
                StoreError::transient(2, "the responder ends")
            } else if is_short {
                StoreError::transient(9, "the responder has no memory for another association")
            } else {
                // Who comes at once would have to start over.
                StoreError::permanent(1013, "it has lasted as long as the responder lets one last")
            });
            graph.wake(now, self.node, WAKE);
        } else if server.is_claimed() {
            graph.wake(now, self.node, WAKE);
        }
        false
    }

    /// The association stands; false where there is no memory for it.
    fn begin(&self) -> bool {
        let has_memory = self.account.stand(memory::STANDS).is_ok();
        if self.shared.daemon.verbose {
            self.tell(format!("{} {}: the association stands", date(), self.who()));
        }
        has_memory
    }

    /// Whether nothing is to leave for the peer any more: an AB ends the transport connection of whoever gets it
    /// (X.225), and class 0 has none but the network's.
    fn was_peer_last(&self, end: &End) -> bool {
        match end {
            End::Aborted(_) => true,
            End::Broken(_) => self.watcher.traffic().is_owed,
            End::InOrder | End::Refused(_) | End::Rejected(..) | End::Stopped(_) => false,
        }
    }

    /// Where no association stands, as it has not begun or has ended (`end`: whether the peer was the last to speak);
    /// true where all is over.
    fn look_without(&mut self, graph: &mut Graph, now: Instant, end: Option<bool>, is_down: bool) -> bool {
        let daemon = &self.shared.daemon;
        let is_let_go = self.let_go.load(Ordering::SeqCst);
        // What was said last is still to be read there.
        if end.is_some() || refusal(graph, daemon.serves.protocol()).is_some() {
            if self.over.is_none() {
                self.shared.gate.advance(self.number, Step::Over);
            }
            let since = *self.over.get_or_insert(now);
            return is_down || end == Some(true) || is_let_go || now >= since + GRACE;
        }
        // Of a caller that has left, or that speaks something else, nothing can come.
        let is_left = graph.find::<Pipe>("pipe").is_some_and(Pipe::is_left);
        if is_down || is_left && !self.watcher.traffic().is_full {
            // Layers wait for a caller as long as this does.
            self.is_late = !is_down && now >= Instant::ZERO + daemon.begin;
            return true;
        }
        self.is_late = now >= Instant::ZERO + self.shared.gate.begin(daemon.begin);
        self.made_room = is_let_go;
        self.shared.stopping.load(Ordering::SeqCst) || self.is_late || self.made_room
    }

    fn finish(&self, executor: &mut Executor<RealClock>) -> Last {
        let took = self.clock.now().saturating_since(Instant::ZERO);
        let tenths = took.as_nanos() / 100_000_000;
        let traffic = self.watcher.traffic();
        let why = match executor.graph_mut(self.host) {
            Some(graph) => self.why(graph, &traffic),
            None => String::new(),
        };
        if self.shared.daemon.verbose {
            let lines = executor.graph(self.host).map(super::super::dropped);
            for line in lines.unwrap_or_default() {
                let line = format!("{} {}: {line}", date(), self.who());
                self.tell(line);
            }
        }
        let did = if self.has_begun { format!("{}; ", self.book.read().shown()) } else { String::new() };
        let rejected = executor.graph(self.host).filter(|_| self.has_begun).and_then(rejections);
        let why = rejected.map_or_else(|| why.clone(), |rejected| format!("{why}; {rejected}"));
        let why = short(&why);
        // A usual end is paid for with the deeds.
        let why = if why.len() <= USUAL || self.book.has_room(why.len()) {
            why
        } else {
            "how it ended has no room in the log".into()
        };
        let line = format!("{} {}: {did}{}.{} s; {}", date(), self.who(), tenths / 10, tenths % 10, why);
        let journal = self.book.read();
        let kind = match (self.has_begun, journal.refused.is_some()) {
            // For deeds there was room.
            (true, _) if journal.has_deeds() || self.book.has_room(line.len()) => None,
            (true, _) => Some(Kind::Known),
            (false, true) => Some(Kind::Refused),
            (false, false) => Some(Kind::Unknown),
        };
        (kind, line, self.has_begun)
    }

    /// That a refusal was not answered, if so.
    fn unheard(&self) -> &'static str {
        if self.mute.load(Ordering::SeqCst) { "; not answered, for too many passwords were wrong" } else { "" }
    }

    /// Why it ended, or why there was no association.
    fn why(&self, graph: &mut Graph, traffic: &Traffic) -> String {
        let of = self.shared.daemon.serves.protocol();
        if self.unlooked.load(Ordering::SeqCst) {
            return "closed without a look at the password, for too many were wrong".to_owned();
        }
        let last = server_mut(graph, self.node, of).and_then(|server| server.last_end().cloned());
        match last {
            Some(End::InOrder) => return "ended in order".to_owned(),
            Some(End::Refused(said)) => return format!("not let in: {}{}", texts(&said, false), self.unheard()),
            Some(End::Rejected(told, why)) => {
                let why = if why.is_empty() { why } else { format!("; {why}") };
                return format!("not let in: {told}{why}{}", self.unheard());
            }
            Some(End::Aborted(said)) => return format!("aborted by the caller: {}", texts(&said, true)),
            Some(End::Stopped(said)) => return format!("aborted from here: {}", texts(&said, false)),
            Some(End::Broken(reason)) => return format!("broken: {reason}"),
            None => {}
        }
        if let Some((carrier, why)) = of_carrier(graph) {
            return foreign(carrier, &why, &traffic.first);
        }
        if let Some((layer, refusal)) = refusal(graph, of) {
            let ours = shown(&self.shared.daemon.called);
            return told(of, layer, refusal, &ours);
        }
        let x25 = graph.find::<X25>("x25").and_then(X25::refusal).and_then(Reason::as_violation);
        if let Some(violation) = x25 {
            return violation.by("the caller");
        }
        if self.is_sent_away {
            "sent away, for others need the memory that it had".to_owned()
        } else if self.made_room {
            "made room for another caller".to_owned()
        } else if self.is_late {
            "no association in time".to_owned()
        } else if traffic.received == 0 {
            "hung up without a word".to_owned()
        } else {
            "hung up before an association stood".to_owned()
        }
    }
}

/// Diagnostics in words; those of the caller, `theirs`, say in quotes what they say.
fn texts(said: &[Diagnostic], theirs: bool) -> String {
    if said.is_empty() {
        return "no reason given".to_owned();
    }
    let texts = said.iter().map(|it| match &it.further_details {
        Some(details) if theirs && !details.is_empty() => {
            let plain = Diagnostic { further_details: None, ..it.clone() };
            format!("{plain}: {}", quoted(&details.to_string()))
        }
        Some(_) | None => it.to_string(),
    });
    texts.collect::<Vec<_>>().join("; ")
}
