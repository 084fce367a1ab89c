//! Associations that others ask for: a thread and a graph for each.
//!
//! One loop accepts, within limits on all and on each host, and each association has a thread, so that who derives a password or waits for the
//! disk delays nobody else. What they share are the table of locks and interrupted transfers, and the count of octets in the store.
//!
//! **Before authentication** nothing is told but what the layers below must say: that a selector is none of ours, and what a TPDU may have.
//! A caller that has no association within [`Daemon::begin`] is dropped.
//!
//! **Memory.** Each caller has an account of one budget for all ([`crate::live::memory`]), from which is taken what a thread and a graph cost and what its octets make layers keep.
//! When more than half is used, callers are told by transport that it is congested; over three quarters they are dropped as they come; and where an association needs what
//! nobody has left, the largest caller without one is sent away.
//!
//! **Interrupted transfers** are kept in the table for [`Daemon::keep`], with their locks and their open files, and any association of the same user can go on with
//! them. Who lets callers in looks after their age. Where the association that a transfer was on still seems to stand, its thread gives it up in a fraction of a second, and
//! the one that asks waits for that.
//!
//! **Left out**: interrupted transfers that outlive the program.

mod association;

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kumiki_graph::Duration;
use kumiki_io::{Bell, Clock as _, RealClock, Watch, Wish};
use kumiki_octets::{Account, Budget};
use kumiki_osi::Selectors;
use kumiki_osi::acse::Names;
use kumiki_osi::ftam::{GraphicString, Moment};
use kumiki_osi::x25::Number;
use kumiki_proto::filestore::{Guard, Shelf, Table};
use kumiki_proto::mms_files;

use self::association::Serve;
use super::journal::{Book, Journaled};
use super::strangers::Strangers;
use super::{Carrier, Circuit, Initiate, Protocols};
use crate::live::files::disk::System;
use crate::live::files::{Directory, Passwords, Quota, open_root};
use crate::live::memory::{self, Memory};
use crate::live::{LOOK, LiveError, system};

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
        /// The most entries of a directory that is sent.
        entries: usize,
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
    /// The most entries in it; unless given, one for each 4 KiB of the octets, and at least 64.
    pub files: Option<u64>,
    /// The most octets of a file.
    pub longest_file: Option<u64>,
    /// The most associations at once, and of one host.
    pub associations: usize,
    /// The most of one host.
    pub of_one_host: usize,
    /// After so many that were not let in, one after the other, callers of a host are dropped for a time; 0: never.
    pub tries: u32,
    /// Within this time an association is to stand.
    pub begin: Duration,
    /// After so long without a word an association is ended.
    pub idle: Duration,
    /// After so long it is ended in any case.
    pub longest: Option<Duration>,
    /// The most octets of memory that callers may take together.
    pub memory: u64,
    /// After so long without a word an association that has a file locked for others is ended; zero: not sooner than another.
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
    quota: Arc<Quota>,
    budget: Budget,
    /// The directory, which whom we have become since might not find.
    root: Arc<OwnedFd>,
    stopping: AtomicBool,
    bells: Mutex<BTreeMap<u64, Bell>>,
}

/// The table of locks, of one thread.
struct OfAll(Arc<Mutex<Table>>);

impl Daemon {
    /// Whether nobody at all can be let in.
    fn admits_nobody(&self) -> bool {
        Passwords::parse("").is_ok_and(|nobody| nobody == self.passwords)
    }

    /// Whether transfers that broke are kept: not where the first association is the last.
    fn keeps(&self) -> bool {
        self.keep > Duration::ZERO && !self.once && self.serves.protocol() == Protocols::Ftam
    }
}

impl Shared {
    /// A store of its own.
    fn store(&self) -> Directory {
        let daemon = &self.daemon;
        let root = Arc::clone(&self.root);
        let mut store = Directory::on(System, root, daemon.passwords.clone());
        if daemon.read_only {
            store = store.read_only();
        }
        store.with_quota(Arc::clone(&self.quota))
    }

    /// Who guards a store, with the table that all have.
    fn guard(&self, book: Book, account: Option<&Account>) -> Guard {
        let mut store = self.store();
        if let Some(account) = account {
            store = store.with_account(account.clone());
        }
        let guard = Guard::new(Box::new(Journaled::new(store, book)))
            .sharing(Box::new(OfAll(Arc::clone(&self.table))));
        if self.daemon.keeps() {
            guard
        } else {
            guard.with_dockets(0)
        }
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
    /// The thread of this number has ended, and how.
    Ended(u64, How),
}

/// How a connection ended, for who counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// An association stood.
    Stood,
    /// Its user was not let in.
    Refused,
    /// There was none.
    Without,
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
    let opened = open_root(&System, &daemon.root).map_err(system(root.clone()))?;
    let mut quota = Quota::count(&System, &opened, daemon.quota).map_err(system(root))?;
    quota = quota.with_entries_of_one(daemon.serves.entries());
    if let Some(files) = daemon.files {
        quota = quota.with_entries(files);
    }
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
    let memory = Memory::budget(daemon.memory).map_err(|why| LiveError::Line(why.to_string()))?;
    ready(&bound)?;
    if let Some(remark) = memory.remark {
        say(&remark);
    }
    if daemon.admits_nobody() {
        say(
            "warning: the file of passwords has no user, so that nobody is let in; kumiki ftamd password NAME prints a line for it",
        );
    }
    let shared = Arc::new(Shared {
        quota: Arc::new(quota),
        root: opened,
        daemon,
        table: Arc::default(),
        budget: memory.budget,
        stopping: AtomicBool::new(false),
        bells: Mutex::default(),
    });
    let (teller, told) = channel();
    // It gives up what is old, and what is left at the end.
    let mut guard = shared.guard(Book::default(), None);
    let mut door = Door {
        strangers: Strangers::new(shared.daemon.tries),
        clock,
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
    strangers: Strangers,
    clock: RealClock,
    /// There is no descriptor or thread for another caller.
    is_short: bool,
}

impl Door {
    fn hear(&mut self, say: &mut dyn FnMut(&str)) {
        while let Ok(told) = self.told.try_recv() {
            match told {
                Told::Line(line) => say(&line),
                Told::Ended(number, how) => {
                    self.served.associations += u64::from(how == How::Stood);
                    if let Some(serving) = self.serving.remove(&number) {
                        self.count(serving.host, how, say);
                        // It has told its last word.
                        let _ = serving.thread.join();
                    }
                }
            }
        }
    }

    /// Remembers who was not let in.
    fn count(&mut self, host: IpAddr, how: How, say: &mut dyn FnMut(&str)) {
        match how {
            How::Stood => self.strangers.let_in(host),
            How::Refused => {
                if let Some(time) = self.strangers.refused(host, self.clock.now()) {
                    let seconds = time.as_nanos() / 1_000_000_000;
                    let tries = self.shared.daemon.tries;
                    say(&format!(
                        "{} - {host}: dropped for {seconds} s, for {tries} callers or more were not let in",
                        date()
                    ));
                }
            }
            How::Without => {}
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
            if self.strangers.keeps_out(host, self.clock.now()) {
                // Said when it began; who tries on is not to fill the log.
                self.served.dropped += 1;
                continue;
            }
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
            let Ok(account) = self.shared.budget.account(memory::COMES) else {
                self.served.dropped += 1;
                say(&format!(
                    "{} - {remote}: dropped, for there is no memory for another caller",
                    date()
                ));
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
        self.served.connections += 1;
        let number = self.served.connections;
        let (shared, teller, bell) = (
            Arc::clone(&self.shared),
            self.teller.clone(),
            self.bell.clone(),
        );
        let work = move || {
            kumiki_octets::keep_free(memory::FREE_PAGES);
            let caller = (socket, remote, carrier);
            let served = Serve::run(number, caller, &account, &shared, &teller);
            // Who waits for what it had is not to wait for the log.
            drop(account);
            let (line, how) = match served {
                Ok(ended) => ended,
                Err(why) => (format!("{} {number} {remote}: {why}", date()), How::Without),
            };
            // Nobody listens any more only when the program ends.
            let _ = teller.send(Told::Line(line));
            let _ = teller.send(Told::Ended(number, how));
            let mut bells = shared.bells.lock().unwrap_or_else(PoisonError::into_inner);
            bells.remove(&number);
            bell.ring();
        };
        let named = std::thread::Builder::new()
            .name(format!("association {number}"))
            .stack_size(memory::STACK);
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
