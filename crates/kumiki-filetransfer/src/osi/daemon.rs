//! Associations that others ask for: a thread and a graph for each.
//!
//! One loop accepts, within limits on all and on each host and network ([`kumiki_io::admission`]), and each association
//! has a thread, so that who derives a password or waits for the disk delays nobody else. What they share are the table
//! of locks and interrupted transfers, the count of octets in the store, and who is let in.
//!
//! **Before authentication** nothing is told but what the layers below must say: that a selector is none of ours, and
//! what a TPDU may have. A caller that has no association within [`Daemon::begin`] is dropped, and earlier where others
//! want its place.
//!
//! **Memory.** Each caller has an account of one budget for all ([`kumiki_live::memory`]), from which is taken what a
//! thread and a graph cost and what its octets make layers keep. When more than half is used, callers are told by
//! transport that it is congested; over three quarters they are dropped as they come; and where an association needs
//! what nobody has left, the largest caller without one is sent away.
//!
//! **Interrupted transfers** are kept in the table for [`Daemon::keep`], with their locks and their open files, and any
//! association of the same user can go on with them. Who lets callers in looks after their age. Where the association
//! that a transfer was on still seems to stand, its thread gives it up in a fraction of a second, and the one that asks
//! waits for that.
//!
//! **Left out**: interrupted transfers that outlive the program.

mod association;
mod teller;

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kumiki_files::filestore::{Guard, RecoveryStore, Table};
use kumiki_files::mms_files;
use kumiki_graph::{Duration, Instant};
use kumiki_io::admission::{Admission, Limits};
use kumiki_io::sockets;
use kumiki_io::stream::has_hung_up;
use kumiki_io::{Bell, Clock as _, Hangup, RealClock, ShutdownRequest, Watch};
use kumiki_octets::{Account, Budget};
use kumiki_osi_service::Selectors;
use kumiki_osi_service::acse::Names;
use kumiki_osi_service::ftam::GraphicString;
use kumiki_osi_service::x25::Number;

use self::association::Serve;
use self::teller::{Listener, ReportSender, ThreadReport};
use super::journal::{Book, Journaled};
use super::{Carrier, Circuit, Initiate, Protocols};
use crate::files::disk::System;
use crate::files::{Directory, Passwords, Quota, open_root, try_root};
use kumiki_live::allowance::Allowances;
use kumiki_live::descriptors::{AffordableLimits, DescriptorCost};
use kumiki_live::gate::{Gate, GateEntry};
use kumiki_live::memory::{self, Memory};
use kumiki_live::private::CaptureBudget;
use kumiki_live::refusal::Access;
use kumiki_live::throttle::{Kind, Throttle};
use kumiki_live::{LOOK, LiveError, date, place, spare, system};

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
pub enum ServedProtocol {
    /// By FTAM.
    Ftam {
        /// Octets of one data element.
        element: usize,
        /// The most entries of a directory that is sent.
        entries: usize,
        /// Lines of texts end with LF in files, and with CR LF where they are transferred.
        local_newlines: bool,
    },
    /// By MMS.
    Mms {
        /// What is agreed to; the services are the server's.
        initiate: Initiate,
        /// As whom callers come in: their password is this user's.
        user: Option<GraphicString>,
    },
}

impl ServedProtocol {
    /// The most entries of a directory that can be listed.
    fn entries(&self) -> usize {
        match self {
            Self::Ftam { entries, .. } => *entries,
            Self::Mms { .. } => mms_files::ResponderConfig::default().entries,
        }
    }

    /// The protocol.
    #[must_use]
    pub const fn protocol(&self) -> Protocols {
        match self {
            Self::Ftam { .. } => Protocols::Ftam,
            Self::Mms { .. } => Protocols::Mms,
        }
    }
}

/// What reads passwords again.
#[derive(Clone)]
pub struct Reload(pub Arc<dyn Fn() -> Result<Passwords, String> + Send + Sync>);

impl core::fmt::Debug for Reload {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Reload")
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// By which protocol.
    pub serves: ServedProtocol,
    /// The directory.
    pub root: PathBuf,
    /// Where callers come in.
    pub listen: Vec<Listen>,
    /// Who is let in.
    pub passwords: Passwords,
    /// Reads that again, when SIGHUP comes; says why it cannot.
    pub reload: Option<Reload>,
    /// Nothing is written.
    pub read_only: bool,
    /// The most octets in the directory.
    pub quota: Option<u64>,
    /// The most entries in it; unless given, one for each 4 KiB of the octets, and at least 64.
    pub files: Option<u64>,
    /// The most octets of a file.
    pub longest_file: Option<u64>,
    /// How many callers there may be.
    pub limits: Limits,
    /// So many wrong passwords a minute are answered to one network, and at one name; 0: all.
    pub tries: u32,
    /// Within this time an association is to stand.
    pub begin: Duration,
    /// After so long without a word an association is ended.
    pub idle: Duration,
    /// After so long it is ended in any case.
    pub longest: Option<Duration>,
    /// The most octets of memory that callers may take together.
    pub memory: u64,
    /// After so long without a word an association that has a file locked for others is ended; zero: not sooner than
    /// another.
    pub lock_idle: Duration,
    /// Transfers by FTAM that broke are kept for so long, to be gone on with; zero: not at all.
    pub keep: Duration,
    /// The selectors under which we can be called; one that is not said does not matter.
    pub called: Selectors,
    /// The titles by which we answer.
    pub names: Names,
    /// The largest TPDU; that of the carrier unless given.
    pub tpdu_size: Option<u16>,
    /// Our X.121 address, on XOT: calls to what begins with it are taken, and calls that name nobody.
    pub x121: Number,
    /// How calls of X.25 are taken, on XOT.
    pub circuit: Circuit,
    /// One association that stands, and then the end.
    pub once: bool,
    /// Where what crosses the connection of the first association is written; of others, the same with their number
    /// behind it.
    pub pcap: Option<PathBuf>,
    /// The most octets of all of these.
    pub pcap_most: u64,
    /// How many octets of each packet; 0 for all.
    pub snaplen: u32,
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

/// A caller has its connection and one for its thread to wait with, and one that is known some files open.
const EACH: DescriptorCost = DescriptorCost { comes: 2, stands: 3 };

/// So many callers are taken before those who have gone are looked at: a flood of them never ends by itself.
const AT_ONCE: usize = 64;

/// What the threads share.
struct Shared {
    daemon: Daemon,
    table: Arc<Mutex<Table>>,
    quota: Arc<Quota>,
    budget: Budget,
    /// How much of the log is about whom.
    allowances: Arc<Mutex<Allowances>>,
    clock: RealClock,
    /// The directory, which whom we have become since might not find.
    root: Arc<OwnedFd>,
    /// Who is let in from now on.
    passwords: Mutex<Passwords>,
    gate: Arc<Gate>,
    pcap_budget: CaptureBudget,
    /// Has the log look for what threads have told.
    bell: Bell,
    stopping: AtomicBool,
    bells: Mutex<BTreeMap<u64, Bell>>,
}

/// The table of locks, of one thread.
struct OfAll(Arc<Mutex<Table>>);

/// What is to be done where a file of passwords has nobody in it.
const NOBODY: &str =
    "the password file has no user, so nobody can log in; kumiki ftamd password NAME prints a line for it";

/// Whether nobody at all can be let in.
fn admits_nobody(passwords: &Passwords) -> bool {
    Passwords::parse("").is_ok_and(|nobody| nobody == *passwords)
}

impl Daemon {
    /// Whether transfers that broke are kept: not where the first association is the last.
    fn keeps(&self) -> bool {
        self.keep > Duration::ZERO && !self.once && self.serves.protocol() == Protocols::Ftam
    }

    /// What is in the directory, and what may be.
    fn count(&self, opened: &Arc<OwnedFd>) -> Result<Quota, LiveError> {
        let quota = Quota::count(&System, opened, self.quota).map_err(place("--root", &self.root, Access::Read))?;
        let quota = quota.with_entries_of_one(self.serves.entries());
        Ok(match self.files {
            Some(files) => quota.with_entries(files),
            None => quota,
        })
    }

    /// By what callers come in, each with where it really listens.
    fn bind(&self) -> Result<Vec<(TcpListener, Listen)>, LiveError> {
        let one = |listen: &Listen| {
            let (listener, at) = sockets::listen(listen.at).map_err(|why| LiveError::Line(why.to_string()))?;
            Ok((listener, Listen { at, ..*listen }))
        };
        self.listen.iter().map(one).collect()
    }

    /// What callers will be refused, as things are.
    fn warn(&self, opened: &Arc<OwnedFd>, say: &mut dyn FnMut(&str)) {
        if admits_nobody(&self.passwords) {
            say(&format!("warning: {NOBODY}"));
        }
        // In the sandbox it may be another user who finds his way there.
        if let Err((what, why)) = try_root(&System, opened, !self.read_only) {
            let root = self.root.display();
            say(&format!(
                "warning: {root}: it is not possible to {what} this directory ({why}); callers will be refused what needs that"
            ));
        }
    }
}

impl Shared {
    fn new(
        daemon: Daemon,
        (root, quota): (Arc<OwnedFd>, Quota),
        budget: Budget,
        (clock, bell): (RealClock, Bell),
    ) -> Result<Self, LiveError> {
        let tries = (!daemon.passwords.is_anonymous()).then_some(daemon.tries);
        let gate = Gate::new(daemon.limits, tries, clock).map_err(system("no random number"))?;
        Ok(Self {
            gate: Arc::new(gate),
            passwords: Mutex::new(daemon.passwords.clone()),
            pcap_budget: CaptureBudget::new(daemon.pcap_most, daemon.snaplen),
            bell,
            quota: Arc::new(quota),
            root,
            daemon,
            table: Arc::default(),
            budget,
            allowances: Arc::default(),
            clock,
            stopping: AtomicBool::new(false),
            bells: Mutex::default(),
        })
    }

    /// Reads the passwords again, for callers from now on. Where they cannot be read, what was there stays.
    fn reload(&self, say: &mut dyn FnMut(&str)) {
        let Some(Reload(read)) = &self.daemon.reload else {
            return say(&format!("{} SIGHUP: there is nothing to read again", date()));
        };
        match read() {
            Ok(passwords) => {
                let nobody = if admits_nobody(&passwords) { format!("; warning: {NOBODY}") } else { String::new() };
                *self.passwords.lock().unwrap_or_else(PoisonError::into_inner) = passwords;
                say(&format!("{} SIGHUP: the passwords were read again{nobody}", date()));
            }
            Err(why) => say(&format!("{} SIGHUP: {why}; who was let in before is let in as before", date())),
        }
    }

    /// That captures have ended, once.
    fn captures_end(&self) -> Option<String> {
        let remark = self.pcap_budget.remark()?;
        Some(format!("{} --pcap: {remark}", date()))
    }

    /// A store of its own.
    fn store(&self) -> Directory {
        let daemon = &self.daemon;
        let root = Arc::clone(&self.root);
        let passwords = self.passwords.lock();
        let passwords = passwords.unwrap_or_else(PoisonError::into_inner).clone();
        let mut store = Directory::on(System, root, passwords);
        if daemon.read_only {
            store = store.read_only();
        }
        store.with_quota(Arc::clone(&self.quota))
    }

    /// Who guards a store, with the table that all have.
    fn guard(&self, book: Book, account: Option<&Account>, turnstile: Option<GateEntry>) -> Guard {
        let mut store = self.store();
        if let Some(account) = account {
            store = store.with_account(account.clone());
        }
        let guard = Guard::new(Box::new(Journaled::new(store, book, turnstile)))
            .sharing(Box::new(OfAll(Arc::clone(&self.table))));
        if self.daemon.keeps() { guard } else { guard.with_dockets(0) }
    }
}

impl RecoveryStore for OfAll {
    fn with(&mut self, act: &mut dyn FnMut(&mut Table)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Somebody who has called.
struct Caller {
    number: u64,
    socket: TcpStream,
    remote: SocketAddr,
    carrier: Carrier,
    let_go: Arc<AtomicBool>,
}

/// A thread that serves somebody.
struct ServingThread {
    thread: JoinHandle<()>,
    /// Another caller has its place, unless its association stands by now.
    let_go: Arc<AtomicBool>,
}

/// Serves until Ctrl-C, or once; tells where it listens by `ready`, and what happens by `say`.
///
/// # Errors
/// [`LiveError`] where it cannot begin, or listens no more.
pub fn serve(
    mut daemon: Daemon,
    ready: &mut dyn FnMut(&[Listen]) -> Result<(), LiveError>,
    say: &mut dyn FnMut(&str),
) -> Result<Served, LiveError> {
    // What a crash has left goes, and what is there counts.
    let opened = open_root(&System, &daemon.root).map_err(place("--root", &daemon.root, Access::Read))?;
    let quota = daemon.count(&opened)?;
    let listeners = daemon.bind()?;
    let clock = RealClock::start();
    let bell = Bell::default();
    let wish = ShutdownRequest::listen_but_for_hangup(&bell).map_err(system("cannot listen to Ctrl-C"))?;
    let hangup = Hangup::listen(&bell).map_err(system("cannot listen to SIGHUP"))?;
    let memory = Memory::budget(daemon.memory).map_err(|why| LiveError::Line(why.to_string()))?;
    let comes = EACH.comes + u64::from(daemon.pcap.is_some());
    let room = AffordableLimits::of(daemon.limits, DescriptorCost { comes, ..EACH });
    let room = room.map_err(|why| LiveError::Line(why.to_string()))?;
    daemon.limits = room.limits;
    ready(&listeners.iter().map(|(_, listen)| *listen).collect::<Vec<_>>())?;
    for remark in [memory.remark, room.remark].into_iter().flatten() {
        say(&remark);
    }
    daemon.warn(&opened, say);
    let shared = Arc::new(Shared::new(daemon, (opened, quota), memory.budget, (clock, bell))?);
    // It gives up what is old, and what is left at the end.
    let mut guard = shared.guard(Book::default(), None, None);
    let mut door = Door::new(&shared);
    loop {
        door.hear(say);
        if wish.is_made() || (shared.daemon.once && door.served.associations > 0) {
            break;
        }
        if hangup.take() {
            shared.reload(say);
        }
        let is_full = shared.daemon.once && !door.serving.is_empty();
        door.is_crowded = false;
        let open = if is_full { &[][..] } else { &listeners };
        for (listener, listen) in open {
            door.accept(listener, listen.carrier, say);
        }
        door.wait(open, &mut guard, say);
    }
    drop(listeners);
    Ok(door.close(&mut guard, say))
}

/// Who lets callers in.
struct Door {
    shared: Arc<Shared>,
    serving: BTreeMap<u64, ServingThread>,
    teller: ReportSender,
    told: Listener,
    served: Served,
    throttle: Throttle,
    /// A descriptor for when there is no other.
    reserve: Option<OwnedFd>,
    /// There is no descriptor or thread for another caller.
    is_short: bool,
    /// Others wait until one has gone that has lost its place.
    is_crowded: bool,
}

impl Door {
    fn new(shared: &Arc<Shared>) -> Self {
        let (teller, told) = teller::ends();
        Self {
            shared: Arc::clone(shared),
            serving: BTreeMap::new(),
            teller,
            told,
            served: Served::default(),
            throttle: Throttle::default(),
            reserve: spare(),
            is_short: false,
            is_crowded: false,
        }
    }

    /// Waits until somebody calls by one of `open`, a thread or a signal wants something, or `guard` has something to
    /// give up.
    fn wait(&mut self, open: &[(TcpListener, Listen)], guard: &mut Guard, say: &mut dyn FnMut(&str)) {
        let watches: Vec<Watch<'_>> = open
            .iter()
            .filter(|_| !self.is_short && !self.is_crowded)
            .map(|(listener, _)| Watch { descriptor: listener.as_fd(), reading: true, writing: false })
            .collect();
        let wait = if core::mem::take(&mut self.is_short) { LOOK } else { Duration::from_secs(3600) };
        let Shared { clock, bell, daemon, .. } = &*self.shared;
        let now = clock.now();
        for line in self.throttle.due(now, false) {
            say(&line);
        }
        let due = guard.age(now, daemon.keep);
        let due = due.into_iter().chain(self.throttle.next());
        clock.wait(due.fold(now + wait, Instant::min), bell, &watches);
    }

    /// Has those who are served end, and what they had kept goes.
    fn close(mut self, guard: &mut Guard, say: &mut dyn FnMut(&str)) -> Served {
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.gate.end();
        for bell in self.shared.bells.lock().unwrap_or_else(PoisonError::into_inner).values() {
            bell.ring();
        }
        for (_, serving) in core::mem::take(&mut self.serving) {
            // A thread that panicked has said so itself.
            let _ = serving.thread.join();
        }
        guard.forget_interrupted();
        self.hear(say);
        for line in self.throttle.due(self.shared.clock.now(), true) {
            say(&line);
        }
        self.served
    }

    fn hear(&mut self, say: &mut dyn FnMut(&str)) {
        while let Some(told) = self.told.next() {
            match told {
                ThreadReport::Line(None, line) => say(&line),
                ThreadReport::Line(Some(kind), line) => self.tell(kind, line, say),
                ThreadReport::Ended(number, stood) => {
                    self.served.associations += u64::from(stood);
                    if let Some(serving) = self.serving.remove(&number) {
                        // It has told its last word.
                        let _ = serving.thread.join();
                    }
                }
            }
        }
        let lost = self.told.lost();
        if lost > 0 {
            say(&format!("{} {lost} more lines were not told, for the log was too slow for them", date()));
        }
        if let Some(line) = self.shared.captures_end() {
            say(&line);
        }
    }

    fn tell(&mut self, kind: Kind, line: String, say: &mut dyn FnMut(&str)) {
        if let Some(line) = self.throttle.tell(kind, line, self.shared.clock.now()) {
            say(&line);
        }
    }

    /// Lets a caller go for whom there is no descriptor, by the one that is kept for this: it would wait for nothing,
    /// and in front of others. Whether there was one.
    fn turn_away(&mut self, listener: &TcpListener) -> bool {
        if self.reserve.take().is_none() {
            return false;
        }
        let turned = listener.accept().is_ok();
        self.served.dropped += u64::from(turned);
        self.reserve = spare();
        turned
    }

    /// Has a caller go whose place another one has.
    fn let_go(&self, number: u64) {
        if let Some(serving) = self.serving.get(&number) {
            serving.let_go.store(true, Ordering::SeqCst);
            self.shared.gate.stir();
        }
        let bells = &self.shared.bells;
        let bells = bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(&number) {
            bell.ring();
        }
    }

    fn accept(&mut self, listener: &TcpListener, carrier: Carrier, say: &mut dyn FnMut(&str)) {
        for _ in 0..AT_ONCE {
            // Those whose place was given away may take a moment to go, and ring when they do.
            self.is_crowded = self.serving.len() >= self.shared.daemon.limits.in_progress();
            if self.is_crowded {
                return;
            }
            let (socket, remote) = match listener.accept() {
                Ok((socket, remote)) => (socket, sockets::plain(remote)),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                // A caller that has gone already is nobody's trouble.
                Err(why) if why.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(why) => {
                    let line = format!("{} cannot take a caller: {why}", date());
                    self.tell(Kind::Short, line, say);
                    self.is_short = !self.turn_away(listener);
                    if self.is_short {
                        return;
                    }
                    continue;
                }
            };
            if has_hung_up(&socket) {
                let line = format!("{} - {remote}: hung up at once", date());
                self.tell(Kind::Unknown, line, say);
                continue;
            }
            self.served.connections += 1;
            let refused = match self.shared.gate.enter(self.served.connections, remote.ip()) {
                Admission::Taken(instead) => {
                    if let Some(instead) = instead {
                        self.let_go(instead);
                    }
                    None
                }
                Admission::Refused(full) => Some(full.to_string()),
            };
            if let Some(why) = refused {
                self.served.dropped += 1;
                let line = format!("{} - {remote}: dropped, for {why}", date());
                self.tell(Kind::Dropped, line, say);
                continue;
            }
            let Ok(account) = self.shared.budget.account(memory::COMES) else {
                self.shared.gate.excuse(self.served.connections);
                self.served.dropped += 1;
                let line = format!("{} - {remote}: dropped, for there is no memory for another caller", date());
                self.tell(Kind::Short, line, say);
                continue;
            };
            self.begin(socket, remote, (carrier, account), say);
            if self.shared.daemon.once {
                return;
            }
        }
    }

    fn begin(
        &mut self,
        socket: TcpStream,
        remote: SocketAddr,
        (carrier, account): (Carrier, Account),
        say: &mut dyn FnMut(&str),
    ) {
        let number = self.served.connections;
        let let_go = Arc::new(AtomicBool::new(false));
        let is_let_go = Arc::clone(&let_go);
        let (shared, teller, bell) = (Arc::clone(&self.shared), self.teller.clone(), self.shared.bell.clone());
        let work = move || {
            kumiki_octets::keep_free(memory::FREE_PAGES);
            let caller = Caller { number, socket, remote, carrier, let_go: is_let_go };
            let (kind, line, stood) = match Serve::run(caller, &account, &shared, &teller) {
                Ok(ended) => ended,
                Err(why) => {
                    let line = format!("{} {number} {remote}: {why}", date());
                    (Some(Kind::Short), line, false)
                }
            };
            shared.gate.leave(number);
            // Who waits for what it had is not to wait for the log.
            drop(account);
            teller.tell(kind, line);
            teller.end(number, stood);
            let mut bells = shared.bells.lock().unwrap_or_else(PoisonError::into_inner);
            bells.remove(&number);
            bell.ring();
        };
        let named = std::thread::Builder::new().name(format!("association {number}")).stack_size(memory::STACK);
        match named.spawn(work) {
            Ok(thread) => {
                self.serving.insert(number, ServingThread { thread, let_go });
            }
            Err(why) => {
                self.is_short = true;
                self.shared.gate.excuse(number);
                let line = format!("{} {number} {remote}: no thread: {why}", date());
                self.tell(Kind::Short, line, say);
            }
        }
    }
}
