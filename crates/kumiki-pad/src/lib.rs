//! A PAD, and a host for PADs, in real time: terminals and programs of this machine on X.25 over XOT.
//!
//! | | |
//! |---|---|
//! | Graph | [`Pad`](kumiki_x25::pad::Pad) on `x25` on `xot` on the operating system's TCP, and beside it on `pipe` on the terminal; a terminal that comes by Telnet has `telnet` between. A host: [`PadHost`](kumiki_x25::pad_host::PadHost) on `x25`, `xot` and `pipe` on one connection, and on `pipe` on a pseudo terminal |
//! | Threads | one for each terminal that comes by Telnet, and one for each connection of XOT to a host: each has a graph of its own, and there are at most so many |
//! | Clock | [`RealClock`] |
//! | Left out | terminals on serial lines (the standard streams can be one); other networks below, for which graphs come from scenarios |
//!
//! | read | for |
//! |---|---|
//! | [`terminal`] | one terminal, from its coming to its going |
//! | [`host`] | a program for each call |
//! | [`remedy`] | what helps where a call was not to be had |
#![cfg(target_os = "linux")]

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use kumiki_graph::{Duration, Graph};
use kumiki_io::admission::{Admission, Limits};
use kumiki_io::sockets::plain;
use kumiki_io::stream::has_hung_up;
use kumiki_io::{Clock as _, Executor, ExecutorEnd, GraphId, Pace, RealClock, ShutdownRequest, Watch};
use kumiki_octets::{Account, Budget};
use kumiki_osi_service::x25::{Flow, Number};
use kumiki_x25::x25::{self, PacketCarrier, X25};
use kumiki_x25::xot::{self, Xot};

use kumiki_capture::Stream;
use kumiki_live::allowance::Allowances;
use kumiki_live::capture::Capture;
use kumiki_live::gate::Gate;
use kumiki_live::private::CaptureBudget;
use kumiki_live::throttle::{Kind, Throttle};
use kumiki_live::{BATCH, LOOK, LiveError, date, memory, spare};

pub mod host;
pub mod remedy;
pub mod terminal;

// What a caller needs of the crates below.
pub use kumiki_io::sockets::listen;
pub use kumiki_osi_service::x25::pad::{BadList, List, Parameters};
pub use kumiki_osi_service::x25::{BadNumber, Number as X121};
pub use kumiki_x25::pad::{CallOutcome, Config as PadConfig};
pub use kumiki_x25::pad_host::Config as HostConfig;

/// What can be set of X.25 and XOT.
#[derive(Clone, Debug)]
pub struct Network {
    /// The peer of XOT that has all numbers.
    pub gateway: Option<SocketAddr>,
    /// Where calls come in by XOT.
    pub listen: Option<SocketAddr>,
    /// Our address.
    pub address: Number,
    /// Octets of a packet that are asked for, both ways: a power of two from 16 to 4096.
    pub packet: u16,
    /// The window that is asked for, 1 to 7.
    pub window: u8,
    /// How long an answer to a call is waited for.
    pub timeout: Duration,
    /// Where what crosses between X.25 and XOT is written.
    pub pcap: Option<PathBuf>,
    /// How many octets all captures may have, and of each packet.
    pub pcap_budget: CaptureBudget,
    /// The sandbox in which callers are served.
    pub sandbox: kumiki_live::sandbox::Sandbox,
    /// The memory that all callers share, where there are many.
    pub budget: Option<Budget>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            gateway: None,
            listen: None,
            address: Number::NONE,
            packet: 128,
            window: 2,
            timeout: Duration::from_secs(200),
            pcap: None,
            pcap_budget: CaptureBudget::endless(0),
            sandbox: kumiki_live::sandbox::Sandbox::none(),
            budget: None,
        }
    }
}

impl Network {
    /// That captures have ended, once.
    fn captures_end(&self) -> Option<String> {
        self.pcap_budget.remark().map(|remark| format!("--pcap: {remark}"))
    }

    /// The memory of one more caller, `who`, where all share some.
    fn account(&self, who: &str) -> Result<Option<Account>, LiveError> {
        let account = self.budget.as_ref().map(|budget| budget.account(memory::COMES)).transpose();
        account.map_err(|_| LiveError::Line(format!("dropped, for there is no memory for another {who}")))
    }

    /// The packet layer and XOT, where a caller may be without a packet for `begin`, at least.
    fn layers(&self, begin: Duration) -> Result<(X25, Xot), LiveError> {
        let config = x25::Config {
            over: PacketCarrier::Circuits,
            address: self.address,
            wanted: Flow {
                packet_out: self.packet,
                packet_in: self.packet,
                window_out: self.window,
                window_in: self.window,
                ..Flow::DEFAULT
            },
            t21: self.timeout,
            ..x25::Config::default()
        };
        let x25 = X25::new(config).map_err(|why| LiveError::Line(why.to_string()))?;
        let routes = self.gateway.map(|gateway| (Number::NONE, gateway));
        let xot = xot::Config {
            routes: routes.into_iter().collect(),
            timeout: begin.max(xot::DEFAULT_TIMEOUT),
            ..xot::Config::default()
        };
        Ok((x25, Xot::new(xot)))
    }
}

/// Begins a capture of the packets between `x25` and `xot`, if one is wanted and there may be more octets of captures;
/// an older file is replaced.
fn begin_capture(network: &Network, graph: &mut Graph) -> Result<Option<Capture>, LiveError> {
    let Some(path) = &network.pcap else {
        return Ok(None);
    };
    kumiki_live::begin_capture((path, &network.pcap_budget), graph, ("x25", "xot"))
}

/// The same for one of many callers, who have nothing to do with what becomes of it.
fn capture_beside(network: &Network, graph: &mut Graph) -> Option<Capture> {
    let path = network.pcap.as_ref()?;
    let begun = Capture::begin(path, &network.pcap_budget, |file| {
        Stream::new(graph, ("x25", "x25"), "xot", (file, network.pcap_budget.snaplen()))
    });
    begun.unwrap_or_else(|why| {
        network.pcap_budget.end(&format!("{}: {why}", path.display()));
        None
    })
}

/// Several files for several graphs: the first is called as given, the next with `.2` behind it.
fn numbered(path: Option<&PathBuf>, number: u64) -> Option<PathBuf> {
    let path = path?;
    if number < 2 {
        return Some(path.clone());
    }
    let mut name = path.clone().into_os_string();
    name.push(format!(".{number}"));
    Some(name.into())
}

fn executor(clock: RealClock) -> Executor<RealClock> {
    let pace = Pace { batch: BATCH, ..Pace::default() };
    Executor::new(clock, pace)
}

/// Has `graph` live on `account`, and whoever waits in `executor` hear of it where its owner is sent away.
fn live_on(account: &Account, executor: &Executor<RealClock>, graph: &mut Graph) {
    let bell = executor.bell();
    account.on_sent_away(Box::new(move || bell.ring()));
    graph.set_budget(account.clone());
}

/// Passes of the graph `host` until `look`, which sees it after each, says that it is over; `capture` is written
/// meanwhile.
fn passes(
    executor: &mut Executor<RealClock>,
    host: GraphId,
    (network, mut capture): (&Network, Option<Capture>),
    journal: &dyn Journal,
    mut look: impl FnMut(&mut Graph) -> bool,
) -> Result<(), LiveError> {
    let tell_end = || network.captures_end().iter().for_each(|line| journal.told(line));
    let mut pass = |executor: &mut Executor<RealClock>| {
        let Some(graph) = executor.graph_mut(host) else {
            return true;
        };
        if let Some(capture) = &mut capture {
            capture.take_from(graph);
        }
        tell_end();
        look(graph)
    };
    while executor.run(LOOK, &mut pass) == ExecutorEnd::TimedOut {}
    if let Some(capture) = capture {
        capture.finish();
    }
    tell_end();
    executor.failure().map_or(Ok(()), |why| Err(LiveError::Line(why.to_string())))
}

/// What somebody who runs one of these hears of it: a line for each thing that happens.
pub trait Journal: Sync {
    /// Something happened.
    fn told(&self, line: &str);
}

/// How many callers there may be, and how long they may take.
#[derive(Clone, Debug)]
pub struct Doors {
    /// How many; known are those whose call, or terminal, is there.
    pub limits: Limits,
    /// Within this time a call is to come by a connection, or a terminal's first one is to stand.
    pub begin: Duration,
    /// A call by which nothing has come for so long is ended, and a terminal by which nothing has crossed; none: it
    /// stays.
    pub idle: Option<Duration>,
    /// The end comes with the first call.
    pub once: bool,
}

/// Somebody who has called.
struct Caller {
    socket: TcpStream,
    from: SocketAddr,
    number: u64,
    /// Another caller has its place.
    let_go: Arc<AtomicBool>,
}

/// Takes connections until somebody wants an end, each to a thread of its own, as many as `gate` admits. While there
/// are as many known ones as may be, others wait where that is said beside `doors`.
///
/// `each` says whether the connection was what is waited for. With `once` they are taken one by one, until it was.
fn serve(
    listener: &TcpListener,
    gate: &Gate,
    (doors, waits): (&Doors, bool),
    wish: &ShutdownRequest,
    each: &(dyn Fn(Caller) -> bool + Sync),
    log: &Log<'_>,
) -> Result<(), LiveError> {
    let clock = RealClock::start();
    let bell = kumiki_io::Bell::default();
    let mut reception = Reception::new(gate, doors.once, log);
    let mut reserve = spare();
    std::thread::scope(|scope| {
        while !wish.is_made() && !reception.is_done.load(Ordering::SeqCst) {
            log.due(false);
            let has_no_place = waits && gate.known() >= doors.limits.known;
            // Those whose place was given away may take a moment to go.
            let is_full = reception.is_full(doors.limits.in_progress()) || has_no_place;
            let watch = Watch { descriptor: std::os::fd::AsFd::as_fd(listener), reading: true, writing: false };
            let watched = if is_full { &[][..] } else { &[watch][..] };
            clock.wait(clock.now() + LOOK, &bell, watched);
            if is_full {
                continue;
            }
            match listener.accept() {
                Ok((socket, from)) => {
                    if let Some(caller) = reception.admit(socket, plain(from)) {
                        reception.hand_on(caller, scope, each);
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                // A caller that has gone before it was taken.
                Err(why) if why.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(why) => {
                    log.often(Kind::Short, &format!("cannot take a caller: {why}"));
                    // There is no descriptor for it: by the one that is kept for this it is let go, and does not wait
                    // in front of others.
                    if reserve.take().is_some() {
                        drop(listener.accept());
                        reserve = spare();
                    } else {
                        clock.wait(clock.now() + LOOK, &bell, &[]);
                    }
                }
            }
        }
        log.due(true);
        Ok(())
    })
}

/// Those who have called, each with a thread of its own.
struct Reception<'a> {
    gate: &'a Gate,
    once: bool,
    log: &'a Log<'a>,
    /// How many threads there are.
    busy: Arc<AtomicUsize>,
    /// What was waited for has come.
    is_done: Arc<AtomicBool>,
    /// By number, how a caller is told that another has its place.
    callers: BTreeMap<u64, Arc<AtomicBool>>,
    /// That of the last caller.
    number: u64,
}

impl<'a> Reception<'a> {
    fn new(gate: &'a Gate, once: bool, log: &'a Log<'a>) -> Self {
        let (busy, is_done) = (Arc::default(), Arc::default());
        Self { gate, once, log, busy, is_done, callers: BTreeMap::new(), number: 0 }
    }

    /// Whether nobody else is taken while there are `most` threads, or one where one call is all.
    fn is_full(&self, most: usize) -> bool {
        let in_progress = self.busy.load(Ordering::SeqCst);
        self.once && in_progress > 0 || in_progress >= most
    }

    /// Whoever has called by `socket`, where the gate lets it in; another may have to go for that.
    fn admit(&mut self, socket: TcpStream, from: SocketAddr) -> Option<Caller> {
        if has_hung_up(&socket) {
            self.log.often(Kind::Unknown, &format!("{from}: hung up at once"));
            return None;
        }
        self.number += 1;
        let number = self.number;
        self.callers.retain(|_, let_go| Arc::strong_count(let_go) > 1);
        match self.gate.enter(number, from.ip()) {
            Admission::Taken(None) => {}
            Admission::Taken(Some(instead)) => {
                if let Some(let_go) = self.callers.get(&instead) {
                    let_go.store(true, Ordering::SeqCst);
                }
            }
            Admission::Refused(full) => {
                self.log.often(Kind::Dropped, &format!("{from}: dropped, for {full}"));
                return None;
            }
        }
        let let_go = Arc::new(AtomicBool::new(false));
        self.callers.insert(number, Arc::clone(&let_go));
        Some(Caller { socket, from, number, let_go })
    }

    /// Gives `caller` a thread, in which `each` serves it.
    fn hand_on<'scope>(
        &self,
        caller: Caller,
        scope: &'scope Scope<'scope, '_>,
        each: &'scope (dyn Fn(Caller) -> bool + Sync),
    ) where
        'a: 'scope,
    {
        self.busy.fetch_add(1, Ordering::SeqCst);
        let (done, left) = (Arc::clone(&self.is_done), Arc::clone(&self.busy));
        let (gate, once, number, from) = (self.gate, self.once, caller.number, caller.from);
        let thread = std::thread::Builder::new().stack_size(memory::STACK);
        let spawned = thread.spawn_scoped(scope, move || {
            kumiki_octets::keep_free(memory::FREE_PAGES);
            if each(caller) && once {
                done.store(true, Ordering::SeqCst);
            }
            gate.leave(number);
            left.fetch_sub(1, Ordering::SeqCst);
        });
        if let Err(why) = spawned {
            // The connection has gone with what was to serve it.
            self.busy.fetch_sub(1, Ordering::SeqCst);
            gate.excuse(number);
            self.log.often(Kind::Short, &format!("{from}: no thread for it: {why}"));
        }
    }
}

/// A journal that nobody can fill, each line with the time.
struct Log<'a> {
    journal: &'a dyn Journal,
    throttle: Mutex<Throttle>,
    allowances: Mutex<Allowances>,
    clock: RealClock,
}

impl Journal for Log<'_> {
    /// A line that nobody can have told often.
    fn told(&self, line: &str) {
        self.journal.told(&format!("{} {line}", date()));
    }
}

impl<'a> Log<'a> {
    fn new(journal: &'a dyn Journal) -> Self {
        Self { journal, throttle: Mutex::default(), allowances: Mutex::default(), clock: RealClock::start() }
    }

    /// A line about somebody at `address` who is known.
    fn known(&self, address: IpAddr, line: &str) {
        let mut allowances = self.allowances.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = allowances.take(address, line.len(), true, self.clock.now());
        drop(allowances);
        if has_room { self.told(line) } else { self.often(Kind::Known, line) }
    }

    /// A line of which others could have many told.
    fn often(&self, kind: Kind, line: &str) {
        let now = self.clock.now();
        let line = format!("{} {line}", date());
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = throttle.tell(kind, line, now) {
            self.journal.told(&line);
        }
    }

    /// What was left out and may be told now; at the end, all.
    fn due(&self, is_end: bool) {
        let now = self.clock.now();
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        for line in throttle.due(now, is_end) {
            self.journal.told(&line);
        }
    }
}
