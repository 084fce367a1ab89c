//! Associations that others ask for: a thread and a graph for each.
//!
//! One loop accepts, within limits on all and on each host, and each association has a thread, so that who derives a password or waits for the
//! disk delays nobody else. What they share are the table of locks and interrupted transfers, and the count of octets in the store.
//!
//! **Before authentication** nothing is told but what the layers below must say: that a selector is none of ours, and what a TPDU may have.
//! A caller that has no association within [`Daemon::begin`] is dropped.
//!
//! **Interrupted transfers** are kept in the table for [`Daemon::keep`], with their locks and their open files, and any association of the same user can go on with
//! them. Who lets callers in looks after their age. Where the association that a transfer was on still seems to stand, its thread gives it up within [`LOOK`], and
//! the one that asks waits for that.
//!
//! **Left out**: interrupted transfers that outlive the program.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kumiki_graph::{Duration, Graph, Instant, NodeId, Protocol};
use kumiki_io::executor::GraphId;
use kumiki_io::{
    Bell, Clock as _, Ended, Executor, Pace, Plug, RealClock, Watch, Wish, unguessable,
};
use kumiki_osi::acse::Names;
use kumiki_osi::ftam::{AttributeGroups, Diagnostic, FunctionalUnits, GraphicString, Moment};
use kumiki_osi::x25::Number;
use kumiki_osi::{Association as Upper, Selectors};
use kumiki_proto::filestore::{
    Config, End, Fault, FileServer, Guard, ResponderConfig, Shelf, Table,
};
use kumiki_proto::mms_files;
use kumiki_proto::pipe::Pipe;
use kumiki_proto::tpkt::Tpkt;
use kumiki_proto::xot::Xot;

use super::ends::{WAKE, server_mut};
use super::journal::{Book, Journaled};
use super::line::{Connection, Line, Sight, Watcher};
use super::objection::{Objection, layer, objection};
use super::{Carrier, Initiate, Lower, Protocols, numbered, shown, stack};
use crate::live::files::{Directory, Passwords, Quota};
use crate::live::{BATCH, LOOK, LiveError, system};

/// How long a peer may take to hang up when all is said.
const GRACE: Duration = Duration::from_secs(3);

/// The longest message of session that is taken, in octets: nobody who may call has more of our memory than this and what is read ahead.
const LONGEST: u32 = 4 << 20;

/// Where callers come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listen {
    /// Address and port; port 0: any.
    pub at: SocketAddr,
    /// What they speak below transport.
    pub carrier: Carrier,
}

/// By which protocol files are served.
#[derive(Clone, Debug)]
pub enum Serves {
    /// By FTAM.
    Ftam {
        /// Octets of one data element.
        element: usize,
    },
    /// By MMS.
    Mms {
        /// What is agreed to; the services are the server's.
        initiate: Initiate,
        /// As whom callers come in: their password is this user's.
        user: Option<GraphicString>,
    },
}

impl Serves {
    /// The protocol.
    #[must_use]
    pub const fn protocol(&self) -> Protocols {
        match self {
            Self::Ftam { .. } => Protocols::Ftam,
            Self::Mms { .. } => Protocols::Mms,
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// By which protocol.
    pub serves: Serves,
    /// The directory.
    pub root: PathBuf,
    /// Where callers come in.
    pub listen: Vec<Listen>,
    /// Who is let in.
    pub passwords: Passwords,
    /// Nothing is written.
    pub read_only: bool,
    /// The most octets in the directory.
    pub quota: Option<u64>,
    /// The most octets of a file.
    pub longest_file: Option<u64>,
    /// The most associations at once, and of one host.
    pub associations: usize,
    /// The most of one host.
    pub of_one_host: usize,
    /// Within this time an association is to stand.
    pub begin: Duration,
    /// After so long without a word an association is ended.
    pub idle: Duration,
    /// After so long it is ended in any case.
    pub longest: Option<Duration>,
    /// Transfers by FTAM that broke are kept for so long, to be gone on with; zero: not at all.
    pub keep: Duration,
    /// The selectors under which we can be called; one that is not said does not matter.
    pub called: Selectors,
    /// The titles by which we answer.
    pub names: Names,
    /// The largest TPDU; that of the carrier unless given.
    pub tpdu_size: Option<u16>,
    /// Our X.121 address, on XOT.
    pub x121: Number,
    /// One association that stands, and then the end.
    pub once: bool,
    /// Where what crosses the connection of the first association is written; of others, the same with their number behind it.
    pub pcap: Option<PathBuf>,
    /// Beginnings are told too.
    pub verbose: bool,
}

/// What was served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// Connections taken.
    pub connections: u64,
    /// Connections dropped at once for the limits.
    pub dropped: u64,
    /// Associations that stood.
    pub associations: u64,
}

/// What the threads share.
struct Shared {
    daemon: Daemon,
    table: Arc<Mutex<Table>>,
    quota: Option<Arc<Quota>>,
    stopping: AtomicBool,
    bells: Mutex<BTreeMap<u64, Bell>>,
}

/// The table of locks, of one thread.
struct OfAll(Arc<Mutex<Table>>);

impl Daemon {
    /// Whether transfers that broke are kept: not where the first association is the last.
    fn keeps(&self) -> bool {
        self.keep > Duration::ZERO && !self.once && self.serves.protocol() == Protocols::Ftam
    }
}

impl Shared {
    /// A store of its own.
    fn store(&self) -> Result<Directory, LiveError> {
        let daemon = &self.daemon;
        let mut store = Directory::open(&daemon.root, daemon.passwords.clone())
            .map_err(system(daemon.root.display().to_string()))?;
        if daemon.read_only {
            store = store.read_only();
        }
        if let Some(quota) = &self.quota {
            store = store.with_quota(Arc::clone(quota));
        }
        Ok(store)
    }

    /// Who guards a store, with the table that all have.
    fn guard(&self, book: Book) -> Result<Guard, LiveError> {
        let guard = Guard::new(Box::new(Journaled::new(self.store()?, book)))
            .sharing(Box::new(OfAll(Arc::clone(&self.table))));
        Ok(if self.daemon.keeps() {
            guard
        } else {
            guard.with_dockets(0)
        })
    }
}

impl Shelf for OfAll {
    fn with(&mut self, act: &mut dyn FnMut(&mut Table)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What a thread tells.
enum Told {
    /// A line of the log.
    Line(String),
    /// The thread of this number has ended, whether an association stood.
    Ended(u64, bool),
}

/// A thread that serves somebody.
struct Serving {
    host: IpAddr,
    thread: JoinHandle<()>,
}

/// The time now, as a log has it.
fn date() -> String {
    let seconds = i64::try_from(kumiki_io::clock::seconds_since_1970()).unwrap_or(i64::MAX);
    let Some(it) = Moment::from_unix_seconds(seconds) else {
        return String::new();
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        it.year, it.month, it.day, it.hour, it.minute, it.second
    )
}

/// Serves until Ctrl-C, or once; tells where it listens by `ready`, and what happens by `say`.
///
/// # Errors
/// [`LiveError`] where it cannot begin, or listens no more.
pub fn serve(
    daemon: Daemon,
    ready: &mut dyn FnMut(&[Listen]) -> Result<(), LiveError>,
    say: &mut dyn FnMut(&str),
) -> Result<Served, LiveError> {
    let root = daemon.root.display().to_string();
    // What a crash has left goes, and what is there counts.
    let quota = Quota::count(&daemon.root, daemon.quota).map_err(system(root))?;
    let mut listeners = Vec::new();
    let mut bound = Vec::new();
    for listen in &daemon.listen {
        let what = || format!("cannot listen at {}", listen.at);
        let listener = TcpListener::bind(listen.at).map_err(system(advice(listen, &what())))?;
        listener.set_nonblocking(true).map_err(system(what()))?;
        let at = listener.local_addr().map_err(system(what()))?;
        bound.push(Listen { at, ..*listen });
        listeners.push((listener, listen.carrier));
    }
    let clock = RealClock::start();
    let bell = Bell::default();
    let wish = Wish::listen(&bell).map_err(system("cannot listen to Ctrl-C"))?;
    ready(&bound)?;
    let shared = Arc::new(Shared {
        quota: daemon.quota.map(|_| Arc::new(quota)),
        daemon,
        table: Arc::default(),
        stopping: AtomicBool::new(false),
        bells: Mutex::default(),
    });
    let (teller, told) = channel();
    // It gives up what is old, and what is left at the end.
    let mut guard = shared.guard(Book::default())?;
    let mut door = Door {
        shared: Arc::clone(&shared),
        serving: BTreeMap::new(),
        teller,
        told,
        bell: bell.clone(),
        served: Served::default(),
        is_short: false,
    };
    loop {
        door.hear(say);
        if wish.is_made() || (shared.daemon.once && door.served.associations > 0) {
            break;
        }
        let is_full = shared.daemon.once && !door.serving.is_empty();
        if !is_full {
            for (listener, carrier) in &listeners {
                door.accept(listener, *carrier, say);
            }
        }
        let watches: Vec<Watch<'_>> = listeners
            .iter()
            .filter(|_| !is_full && !door.is_short)
            .map(|(listener, _)| Watch {
                descriptor: listener.as_fd(),
                reading: true,
                writing: false,
            })
            .collect();
        let wait = if door.is_short {
            LOOK
        } else {
            Duration::from_secs(3600)
        };
        door.is_short = false;
        let now = clock.now();
        let due = guard.age(now, shared.daemon.keep);
        let until = due.map_or(now + wait, |due| due.min(now + wait));
        clock.wait(until, &bell, &watches);
    }
    drop(listeners);
    shared.stopping.store(true, Ordering::SeqCst);
    for bell in shared
        .bells
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .values()
    {
        bell.ring();
    }
    for (_, serving) in core::mem::take(&mut door.serving) {
        // A thread that panicked has said so itself.
        let _ = serving.thread.join();
    }
    guard.forget_interrupted();
    door.hear(say);
    Ok(door.served)
}

fn advice(listen: &Listen, what: &str) -> String {
    if (1..1024).contains(&listen.at.port()) {
        format!(
            "{what} (ports below 1024 need CAP_NET_BIND_SERVICE; others can be had with --listen)"
        )
    } else {
        what.to_owned()
    }
}

/// Who lets callers in.
struct Door {
    shared: Arc<Shared>,
    serving: BTreeMap<u64, Serving>,
    teller: Sender<Told>,
    told: Receiver<Told>,
    bell: Bell,
    served: Served,
    /// There is no descriptor or thread for another caller.
    is_short: bool,
}

impl Door {
    fn hear(&mut self, say: &mut dyn FnMut(&str)) {
        while let Ok(told) = self.told.try_recv() {
            match told {
                Told::Line(line) => say(&line),
                Told::Ended(number, stood) => {
                    self.served.associations += u64::from(stood);
                    if let Some(serving) = self.serving.remove(&number) {
                        // It has told its last word.
                        let _ = serving.thread.join();
                    }
                }
            }
        }
    }

    fn accept(&mut self, listener: &TcpListener, carrier: Carrier, say: &mut dyn FnMut(&str)) {
        loop {
            let (socket, remote) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                // A caller that has gone already is nobody's trouble.
                Err(why) if why.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(why) => {
                    say(&format!("{} cannot take a caller: {why}", date()));
                    self.is_short = true;
                    return;
                }
            };
            let daemon = &self.shared.daemon;
            let host = remote.ip();
            let of_host = self.serving.values().filter(|it| it.host == host).count();
            let limit = if self.serving.len() >= daemon.associations {
                Some(("", daemon.associations))
            } else if of_host >= daemon.of_one_host {
                Some((" of this host", daemon.of_one_host))
            } else {
                None
            };
            if let Some((of, most)) = limit {
                self.served.dropped += 1;
                say(&format!(
                    "{} - {remote}: dropped, for there are {most} associations{of} already",
                    date()
                ));
                continue;
            }
            self.begin(socket, remote, carrier, say);
            if self.shared.daemon.once {
                return;
            }
        }
    }

    fn begin(
        &mut self,
        socket: TcpStream,
        remote: SocketAddr,
        carrier: Carrier,
        say: &mut dyn FnMut(&str),
    ) {
        self.served.connections += 1;
        let number = self.served.connections;
        let (shared, teller, bell) = (
            Arc::clone(&self.shared),
            self.teller.clone(),
            self.bell.clone(),
        );
        let work = move || {
            let served = Serve::run(number, socket, remote, carrier, &shared, &teller);
            let (line, stood) = match served {
                Ok(ended) => ended,
                Err(why) => (format!("{} {number} {remote}: {why}", date()), false),
            };
            // Nobody listens any more only when the program ends.
            let _ = teller.send(Told::Line(line));
            let _ = teller.send(Told::Ended(number, stood));
            let mut bells = shared.bells.lock().unwrap_or_else(PoisonError::into_inner);
            bells.remove(&number);
            bell.ring();
        };
        let named = std::thread::Builder::new().name(format!("association {number}"));
        match named.spawn(work) {
            Ok(thread) => {
                let host = remote.ip();
                self.serving.insert(number, Serving { host, thread });
            }
            Err(why) => {
                self.is_short = true;
                say(&format!("{} {number} {remote}: no thread: {why}", date()));
            }
        }
    }
}

/// The node on top.
fn server(daemon: &Daemon, guard: Guard) -> Box<dyn Protocol> {
    let association = Upper {
        called: daemon.called,
        called_names: daemon.names.clone(),
        ..Upper::default()
    };
    let began = i64::try_from(kumiki_io::clock::seconds_since_1970()).unwrap_or(0);
    match &daemon.serves {
        Serves::Ftam { element } => {
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
                    ..ResponderConfig::default()
                },
                associations: 1,
                idle: daemon.idle,
                // Each association has a clock of its own.
                kept: Duration::ZERO,
                began,
            };
            Box::new(FileServer::new(config, guard))
        }
        Serves::Mms { initiate, user } => {
            let config = mms_files::Config {
                association,
                initiate: *initiate,
                responder: mms_files::ResponderConfig {
                    longest_file: daemon.longest_file,
                    ..mms_files::ResponderConfig::default()
                },
                user: user.clone(),
                associations: 1,
                idle: daemon.idle,
                began,
            };
            Box::new(mms_files::FileServer::new(config, guard))
        }
    }
}

/// One association, in its thread.
struct Serve<'a> {
    number: u64,
    remote: SocketAddr,
    shared: &'a Shared,
    teller: &'a Sender<Told>,
    clock: RealClock,
    node: NodeId,
    host: GraphId,
    watcher: Watcher,
    book: Book,
    has_begun: bool,
    is_stopped: bool,
    /// It took too long to begin.
    is_late: bool,
    /// Since when it is over but for what is to leave.
    over: Option<Instant>,
}

impl Serve<'_> {
    /// Serves a caller; gives the line for the log, and whether there was an association.
    fn run(
        number: u64,
        socket: TcpStream,
        remote: SocketAddr,
        carrier: Carrier,
        shared: &Shared,
        teller: &Sender<Told>,
    ) -> Result<(String, bool), LiveError> {
        let daemon = &shared.daemon;
        let local = socket.local_addr().map_err(system("the connection"))?;
        let clock = RealClock::start();
        let book = Book::default();
        let guard = shared.guard(book.clone())?;
        let server = server(daemon, guard);
        let lower = Lower {
            carrier,
            tpdu_size: daemon.tpdu_size.unwrap_or_else(|| carrier.tpdu_size()),
            x121: daemon.x121,
            patience: daemon.begin,
            longest: LONGEST,
            ..Lower::default()
        };
        let seed = unguessable().map_err(system("no random number"))?;
        let of = daemon.serves.protocol();
        let (graph, device) = stack(of, ("server", server), &lower, (local, remote), seed)?;
        let node = graph.node("server");
        let node = node.ok_or_else(|| LiveError::Line("the stack has no server".to_owned()))?;
        let connection = Connection {
            socket,
            local,
            remote,
            called: true,
        };
        let pcap = daemon.pcap.as_deref();
        let pcap = pcap.map(|path| numbered(path, number));
        let (line, watcher) = Line::new(connection, clock, pcap.as_deref())
            .map_err(|why| LiveError::Line(why.to_string()))?;
        let pace = Pace {
            batch: BATCH,
            ..Pace::default()
        };
        let mut executor = Executor::new(clock, pace);
        let host = executor.add_graph("server", graph);
        let real = executor
            .add_real(Box::new(line))
            .map_err(system("no descriptor to wait for the connection"))?;
        executor.plug(Plug::Device(host, device), Plug::Real(real));
        shared
            .bells
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(number, executor.bell());
        executor.start()?;
        let mut serve = Serve {
            number,
            remote,
            shared,
            teller,
            clock,
            node,
            host,
            watcher,
            book,
            has_begun: false,
            is_stopped: false,
            is_late: false,
            over: None,
        };
        let ended = loop {
            let ended = executor.run(LOOK, |executor| serve.look(executor));
            if ended != Ended::TimedOut {
                break ended;
            }
        };
        if ended == Ended::DeviceFailed
            && let Some((_, why)) = executor.failure()
        {
            return Err(LiveError::Line(why.to_string()));
        }
        Ok(serve.finish(&mut executor))
    }

    fn who(&self) -> String {
        let journal = self.book.read();
        let (number, remote) = (self.number, self.remote);
        match (&journal.user, &journal.refused) {
            (Some(user), _) if user.is_empty() => format!("{number} {remote}"),
            (Some(user), _) => format!("{number} {user}@{remote}"),
            (None, Some(user)) => format!("{number} {remote} (as {user:?})"),
            (None, None) => format!("{number} {remote}"),
        }
    }

    /// Looks around after a pass; true where all is over.
    fn look(&mut self, executor: &mut Executor<RealClock>) -> bool {
        let now = self.clock.now();
        let Some(graph) = executor.graph_mut(self.host) else {
            return true;
        };
        let daemon = &self.shared.daemon;
        let Some(server) = server_mut(graph, self.node, daemon.serves.protocol()) else {
            return true;
        };
        let stands = server.associations() > 0;
        if stands && !self.has_begun {
            self.has_begun = true;
            if daemon.verbose {
                let line = format!("{} {}: the association stands", date(), self.who());
                // Nobody listens any more only when the program ends.
                let _ = self.teller.send(Told::Line(line));
            }
        }
        let (_, is_down) = self.watcher.crossed();
        let is_ended = server.last_end().is_some();
        if !stands {
            // What was said last is still to be read there.
            if is_ended || objection(graph, daemon.serves.protocol()).is_some() {
                let since = *self.over.get_or_insert(now);
                return is_down || now >= since + GRACE;
            }
            // Of a caller that has left, or that speaks something else, nothing can come.
            let is_left = layer::<Pipe>(graph, "pipe").is_some_and(Pipe::is_left);
            if is_down || is_left && !self.watcher.sight().is_full {
                // Layers wait for a caller as long as this does.
                self.is_late = !is_down && now >= Instant::ZERO + daemon.begin;
                return true;
            }
        }
        let stopping = self.shared.stopping.load(Ordering::SeqCst);
        if !stands {
            self.is_late = now >= Instant::ZERO + daemon.begin;
            return stopping || self.is_late;
        }
        let too_long = daemon
            .longest
            .is_some_and(|longest| now >= Instant::ZERO + longest);
        let Some(server) = server_mut(graph, self.node, daemon.serves.protocol()) else {
            return true;
        };
        if (stopping || too_long) && !self.is_stopped {
            self.is_stopped = true;
            server.stop(if stopping {
                Fault::transient(2, "the responder ends")
            } else {
                Fault::transient(1013, "the time of the association is over")
            });
            graph.wake(now, self.node, WAKE);
        } else if server.is_claimed() {
            graph.wake(now, self.node, WAKE);
        }
        false
    }

    fn finish(&self, executor: &mut Executor<RealClock>) -> (String, bool) {
        let took = self.clock.now().saturating_since(Instant::ZERO);
        let tenths = took.as_nanos() / 100_000_000;
        let sight = self.watcher.sight();
        let why = match executor.graph_mut(self.host) {
            Some(graph) => self.why(graph, &sight),
            None => String::new(),
        };
        if self.shared.daemon.verbose {
            let lines = executor.graph(self.host).map(super::dropped);
            for line in lines.unwrap_or_default() {
                let line = format!("{} {}: {line}", date(), self.who());
                // Nobody listens any more only when the program ends.
                let _ = self.teller.send(Told::Line(line));
            }
        }
        let did = if self.has_begun {
            format!("{}; ", self.book.read().shown())
        } else {
            String::new()
        };
        let line = format!(
            "{} {}: {did}{}.{} s; {why}",
            date(),
            self.who(),
            tenths / 10,
            tenths % 10
        );
        (line, self.has_begun)
    }

    /// Why it ended, or why there was no association.
    fn why(&self, graph: &mut Graph, sight: &Sight) -> String {
        let of = self.shared.daemon.serves.protocol();
        let last = server_mut(graph, self.node, of).and_then(|server| server.last_end().cloned());
        match last {
            Some(End::InOrder) => return "ended in order".to_owned(),
            Some(End::Refused(said)) => return format!("not let in: {}", texts(&said)),
            Some(End::Aborted(said)) => return format!("aborted by the caller: {}", texts(&said)),
            Some(End::Stopped(said)) => return format!("aborted from here: {}", texts(&said)),
            Some(End::Broken(reason)) => return format!("broken: {reason}"),
            None => {}
        }
        let speaks = [
            (
                "RFC 1006",
                layer::<Tpkt>(graph, "tpkt").is_some_and(|it| it.counters().malformed > 0),
            ),
            (
                "XOT",
                layer::<Xot>(graph, "xot").is_some_and(|it| it.counters().malformed > 0),
            ),
        ];
        for (carrier, malformed) in speaks {
            if malformed {
                return format!(
                    "does not speak {carrier}: \"{}\"",
                    sight.first.escape_ascii()
                );
            }
        }
        if let Some((layer, objection)) = objection(graph, of) {
            let ours = shown(&self.shared.daemon.called);
            let ours = if ours.is_empty() {
                ours
            } else {
                format!(" ({ours})")
            };
            return match objection {
                Objection::Stranger => {
                    format!("refused by {of}: called for another application than {of}")
                }
                Objection::Refused if layer.has_selector() => {
                    format!("refused by {layer}: not called under our selectors{ours}")
                }
                Objection::Refused => format!("refused by {layer}"),
                Objection::Broken => format!("the caller broke the protocol of {layer}"),
            };
        }
        if self.is_late {
            "no association in time".to_owned()
        } else if sight.received == 0 {
            "hung up without a word".to_owned()
        } else {
            "hung up before an association stood".to_owned()
        }
    }
}

/// Diagnostics in words.
fn texts(said: &[Diagnostic]) -> String {
    if said.is_empty() {
        return "no reason given".to_owned();
    }
    let texts: Vec<String> = said.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
