//! The program's side: sockets whose layers are another process's.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use kumiki_graph::{
    Address, Below, Credit, Indication, Manage, Mode, Offered, Opened, Report, Request, Rng, Unit, UnitOptions,
};
use kumiki_inet::udp::Peer;
use kumiki_io::shared::ring::{Broken, Record};
use kumiki_io::shared::{Receiver, Region, Sender, handover};
use kumiki_octets::Message;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::hello::{self, Hello};
use super::network::lines_of;
use super::primitives::{Answer, Command, Datagram, Fields, Response, Words};
use super::{responses_at, words};
use crate::Stack;
use crate::sockets::error::{again, is_gone};
use crate::sockets::{Bound, Layers, OwnLine, Registry, Table, Terms};
use crate::stack::{Driver, Shared};

/// So many responses are taken in one go, before those are woken whom they concern.
const BATCH: usize = 256;

/// A stack that another process runs, as its programs have it: see the [module](super). When it is dropped, its sockets
/// say that it is gone.
#[derive(Debug)]
pub struct RemoteStack {
    stack: Stack,
    line: Arc<Line>,
    thread: Option<JoinHandle<()>>,
}

impl RemoteStack {
    /// Attaches this process to the stack that listens at `path`.
    ///
    /// # Errors
    /// Those of a Unix socket: `NotFound`, `PermissionDenied`, `ConnectionRefused` where nobody listens; that, too,
    /// where the stack has as many programs as it may. `InvalidData` where something else listens there.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let socket = UnixStream::connect(path)?;
        let (hello, region) = greeted(&socket)?;
        socket.set_nonblocking(true)?;
        let line = Arc::new(Line::new(socket, Arc::new(region), hello.capacity)?);
        let mut numbers = (0..).zip(hello.layers).map(|(n, is_there)| is_there.then_some(Below(n)));
        let mut next = || numbers.next().flatten();
        let (tcp, udp, tcp_v6, udp_v6) = (next(), next(), next(), next());
        let layers = Layers {
            tcp,
            udp,
            tcp_v6,
            udp_v6,
            receive_buffer: hello.receive_buffer,
            coalesce: hello.coalesce,
            hears_all: true,
        };
        let driver = RingDriver { line: Arc::clone(&line), shared: Arc::default() };
        let shared = Arc::clone(&driver.shared);
        // What is drawn here are ports, and those the stack's process draws.
        let stack = Stack::new(layers, Vec::new(), Rng::new(0, 0), Box::new(driver));
        let _ = shared.set(Arc::downgrade(&stack.0));
        {
            let mut table = stack.0.lock();
            table.knows_ways = hello.knows_ways;
            table.have_lines(hello.lines);
            table.most = Some(hello.sockets);
            table.have_ports_of([false, true].map(|is_udp| {
                let registry: Arc<dyn Registry> = Arc::new(Ports { line: Arc::clone(&line), is_udp });
                registry
            }));
        }
        let (own, table) = (Arc::clone(&line), Arc::clone(&stack.0));
        let thread = thread::Builder::new().name("kumiki-rings".to_owned()).spawn(move || own.run(&table))?;
        Ok(Self { stack, line, thread: Some(thread) })
    }

    /// Its sockets.
    #[must_use]
    pub const fn stack(&self) -> &Stack {
        &self.stack
    }
}

impl Drop for RemoteStack {
    fn drop(&mut self) {
        self.line.ends.store(true, Ordering::Release);
        self.line.wake();
        if let Some(thread) = self.thread.take() {
            // It has told the sockets, whatever has ended it.
            let _ = thread.join();
        }
    }
}

/// What the stack says first.
pub(super) fn greeted(socket: &UnixStream) -> io::Result<(Hello, Region)> {
    let gone = || io::Error::new(io::ErrorKind::ConnectionRefused, "the stack's process has hung up");
    let mut first = [0; 16];
    let (read, descriptor) = handover::receive(socket, &mut first)?;
    let mut socket = socket;
    if read == 0 {
        return Err(gone());
    }
    socket.read_exact(first.get_mut(read..).unwrap_or_default())?;
    let mut behind = vec![0; hello::rest(&first)?];
    socket.read_exact(&mut behind)?;
    let hello = Hello::read(&behind)?;
    let region = Region::open(descriptor.ok_or_else(gone)?, words(hello.capacity))?;
    Ok((hello, region))
}

/// What goes to and fro.
#[derive(Debug)]
struct Link {
    commands: Sender<Region>,
    responses: Receiver<Region>,
    /// Commands for which there was no room, before all that is in the table.
    deferred: VecDeque<Command>,
    /// What came while somebody waited for an answer with the table in his hands.
    early: VecDeque<Response>,
    questions: u64,
    /// Those who wait for an answer without the table.
    waiting: BTreeMap<u64, mpsc::Sender<Answer>>,
    failed: Option<io::Error>,
}

/// The rings of a program. Who takes the table, too, takes that first.
#[derive(Debug)]
struct Line {
    link: Mutex<Link>,
    socket: UnixStream,
    /// Wakes our own thread; nobody else has it.
    bell: std::os::fd::OwnedFd,
    ends: AtomicBool,
}

fn broken(why: Broken) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl Line {
    fn new(socket: UnixStream, region: Arc<Region>, capacity: usize) -> io::Result<Self> {
        let link = Link {
            commands: Sender::new(Arc::clone(&region), 0, capacity),
            responses: Receiver::new(region, responses_at(capacity), capacity),
            deferred: VecDeque::new(),
            early: VecDeque::new(),
            questions: 0,
            waiting: BTreeMap::new(),
            failed: None,
        };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { link: Mutex::new(link), socket, bell, ends: AtomicBool::new(false) })
    }

    fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // It is full of what wakes it, or is woken by this.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Wakes the stack's process.
    fn ring(&self) {
        // Where there is no room, what is there wakes it; where it has gone, reading says so.
        let _ = (&self.socket).write(&[0]);
    }

    /// Takes what woke us.
    fn drain(&self) -> io::Result<()> {
        let mut octets = [0; 256];
        let ended = "the process of the stack has ended, or has cut off this program";
        match (&self.socket).read(&mut octets) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::ConnectionReset, ended)),
            Ok(_) => Ok(()),
            // It had not read all that has woken it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(io::Error::new(error.kind(), ended)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits for the stack's process, and with `or_bell` for our own, too.
    fn wait(&self, or_bell: bool) -> io::Result<()> {
        let mut all = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
        let watched = if or_bell { &mut all[..] } else { &mut all[..1] };
        match poll(watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if or_bell {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
        Ok(())
    }

    /// Puts a command into the ring; false where there is no room, and then it is told when there is.
    fn send(link: &mut Link, command: &Command) -> io::Result<bool> {
        let mut fields = Fields::new();
        let (kind, data) = command.put(&mut fields);
        let record = Record { kind, fields: &fields, data };
        Ok(link.commands.send(&record).map_err(broken)?
            || (link.commands.wait(&record).map_err(broken)? && link.commands.send(&record).map_err(broken)?))
    }

    /// Puts all into the ring that the sockets have left; false where there is no room for all.
    fn flush(&self, link: &mut Link, table: &mut Table) -> io::Result<bool> {
        let mut must_ring = core::mem::take(&mut table.effects.is_pressing);
        must_ring |= !link.deferred.is_empty();
        if !self.flush_deferred(link)? {
            table.effects.set_stuffed(true);
            self.ring();
            return Ok(false);
        }
        while let Some((below, request)) = table.effects.requests.pop_front() {
            let Some(command) = command_of(below, request) else {
                continue;
            };
            if !Self::send(link, &command)? {
                link.deferred.push_front(command);
                table.effects.set_stuffed(true);
                self.ring();
                return Ok(false);
            }
            must_ring |= !matches!(command, Command::Credit { .. });
        }
        if must_ring && link.commands.must_ring() {
            self.ring();
        }
        table.has_rung = false;
        table.effects.set_stuffed(false);
        table.all_taken();
        Ok(true)
    }

    /// As [`Self::flush`], waiting for room.
    fn flush_fully(&self, link: &mut Link, table: &mut Table) -> io::Result<()> {
        while !self.flush(link, table)? {
            self.pause(link, 0)?;
        }
        Ok(())
    }

    /// The next response, but for answers to those who wait for them elsewhere.
    fn next(link: &mut Link) -> io::Result<Option<Response>> {
        while let Some(record) = link.responses.receive().map_err(broken)? {
            let strange =
                || io::Error::new(io::ErrorKind::InvalidData, "the stack's process says what is not understood");
            let response = Response::of(record).ok_or_else(strange)?;
            if let Response::Answer { question, .. } = &response
                && let Some(asker) = link.waiting.remove(question)
            {
                if let Response::Answer { answer, .. } = response {
                    // Whoever has gone does not want it.
                    let _ = asker.send(answer);
                }
                continue;
            }
            return Ok(Some(response));
        }
        Ok(None)
    }

    /// Asks, and waits for the answer. What comes meanwhile is kept for our thread, as whoever asks may have the table.
    fn ask(&self, question: impl FnOnce(u64) -> Command) -> io::Result<Answer> {
        let mut link = self.lock();
        let link = &mut *link;
        link.questions += 1;
        let number = link.questions;
        let answered = self.wait_for(link, number, &question(number));
        // What has woken us was for our thread as well, which may be asleep: the stack's process is to wake it next
        // time.
        let sleeps = link.responses.sleep().is_ok_and(|sleeps| sleeps);
        if !sleeps || !link.early.is_empty() || answered.is_err() {
            self.wake();
        }
        answered?.into_result()
    }

    fn wait_for(&self, link: &mut Link, number: u64, command: &Command) -> io::Result<Answer> {
        let mut is_sent = false;
        loop {
            if let Some(why) = &link.failed {
                return Err(again(why));
            }
            if !is_sent && self.flush_deferred(link)? {
                is_sent = Self::send(link, command)?;
            }
            if link.commands.must_ring() || !is_sent {
                self.ring();
            }
            if let Some(answer) = self.pause(link, number)? {
                return Ok(answer);
            }
        }
    }

    /// Puts into the ring what has waited for room; false where there is still none.
    fn flush_deferred(&self, link: &mut Link) -> io::Result<bool> {
        while let Some(command) = link.deferred.pop_front() {
            if !Self::send(link, &command)? {
                link.deferred.push_front(command);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until something has come, and keeps it; or the answer to this question, if it is that.
    fn pause(&self, link: &mut Link, number: u64) -> io::Result<Option<Answer>> {
        while let Some(response) = Self::next(link)? {
            if let Response::Answer { question, answer } = &response
                && *question == number
            {
                return Ok(Some(answer.clone()));
            }
            link.early.push_back(response);
        }
        if link.responses.must_ring() {
            self.ring();
        }
        if link.responses.sleep().map_err(broken)? {
            self.wait(false)?;
            self.drain()?;
        }
        Ok(None)
    }

    /// Asks without the table, for what may take long.
    fn ask_long(&self, question: impl FnOnce(u64) -> Command) -> io::Result<Answer> {
        let (sender, answer) = channel();
        {
            let mut link = self.lock();
            if let Some(why) = &link.failed {
                return Err(again(why));
            }
            link.questions += 1;
            let number = link.questions;
            link.waiting.insert(number, sender);
            link.deferred.push_back(question(number));
        }
        self.wake();
        answer.recv().map_err(|_| is_gone(None))?.into_result()
    }

    /// One turn of our thread: says whether there is more to do at once.
    fn turn(&self, table: &mut Table) -> io::Result<bool> {
        let mut link = self.lock();
        let link = &mut *link;
        let heard = self.drain();
        for _ in 0..BATCH {
            let next = match link.early.pop_front() {
                Some(early) => Some(early),
                None => Self::next(link)?,
            };
            let Some(response) = next else {
                break;
            };
            if let Response::Lines { data } = response {
                table.have_lines(lines(&data)?);
            } else if let Some((below, indication)) = indication_of(response) {
                table.heard(below, indication);
            }
        }
        if link.responses.must_ring() {
            self.ring();
        }
        // What was said before the end has been heard.
        heard?;
        self.flush(link, table)?;
        Ok(!link.early.is_empty() || !link.responses.sleep().map_err(broken)?)
    }

    fn last_flush(&self, shared: &Shared) -> io::Result<()> {
        let mut table = shared.lock();
        self.flush_fully(&mut self.lock(), &mut table)
    }

    /// Our thread, until the program has had enough of the stack, or the stack has ended.
    fn run(&self, shared: &Shared) {
        let ended = loop {
            if self.ends.load(Ordering::Acquire) {
                // What was written goes.
                break match self.last_flush(shared) {
                    Ok(()) => io::Error::other("this program has left it"),
                    Err(why) => why,
                };
            }
            let mut table = shared.lock();
            let turn = self.turn(&mut table);
            let woken = core::mem::take(&mut table.effects.woken);
            drop(table);
            woken.wake();
            match turn.and_then(|more| if more { Ok(()) } else { self.wait(true) }) {
                Ok(()) => {}
                Err(why) => break why,
            }
        };
        let why = ended.to_string();
        {
            let mut link = self.lock();
            link.failed = Some(is_gone(Some(&why)));
            // Those who wait hear that nobody answers.
            link.waiting.clear();
        }
        shared.with(|table| table.go_down(Some(why)));
        // The stack's process is to see it even if somebody still has a socket.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

/// Passes on at once what is asked of the sockets.
#[derive(Debug)]
struct RingDriver {
    line: Arc<Line>,
    /// What its sockets share, once that has been made.
    shared: Arc<OnceLock<Weak<Shared>>>,
}

impl RingDriver {
    fn with(&self, act: impl FnOnce(&mut Link, &mut Table) -> io::Result<()>) -> io::Result<()> {
        let Some(shared) = self.shared.get().and_then(Weak::upgrade) else {
            return Ok(());
        };
        let mut table = shared.lock();
        let mut link = self.line.lock();
        let done = act(&mut link, &mut table);
        drop(link);
        let woken = core::mem::take(&mut table.effects.woken);
        drop(table);
        woken.wake();
        done
    }
}

impl Driver for RingDriver {
    fn ring(&self) {
        let flushed = self.with(|link, table| self.line.flush(link, table).map(drop));
        if flushed.is_err() {
            // Our thread meets the same.
            self.line.wake();
        }
    }

    fn woke(&self) {}

    fn may_block(&self) -> bool {
        true
    }

    fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = Message::from_octets(name.as_bytes());
        match self.line.ask_long(|question| Command::Lookup { question, name })? {
            Answer::Found(all) => Ok(all),
            Answer::Done | Answer::Taken { .. } | Answer::Refused { .. } => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn settle(&self) -> io::Result<()> {
        self.with(|link, table| self.line.flush_fully(link, table))?;
        self.line.ask(|question| Command::Settle { question }).map(drop)
    }
}

/// The ports that are in use, of which the stack's process knows.
#[derive(Debug)]
struct Ports {
    line: Arc<Line>,
    is_udp: bool,
}

impl Registry for Ports {
    fn take(&self, local: SocketAddr, terms: Terms) -> io::Result<Bound> {
        let is_udp = self.is_udp;
        match self.line.ask(|question| Command::Take { question, is_udp, local, terms })? {
            Answer::Taken { local, number } => Ok(Bound::elsewhere(local, number)),
            Answer::Done | Answer::Found(_) | Answer::Refused { .. } => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn listen(&self, bound: Bound) -> io::Result<()> {
        self.line.ask(|question| Command::Listen { question, number: bound.number() }).map(drop)
    }

    fn give(&self, bound: Bound) {
        self.line.lock().deferred.push_back(Command::Give { number: bound.number() });
        self.line.wake();
    }
}

/// What the stack's process says of its lines.
fn lines(data: &Message) -> io::Result<Vec<OwnLine>> {
    let octets = data.to_vec();
    let words: Vec<u64> = octets.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let strange =
        || io::Error::new(io::ErrorKind::InvalidData, "the stack's process says of its lines what is not understood");
    lines_of(&mut Words(words.iter())).ok_or_else(strange)
}

/// A request, as it goes through the ring.
fn command_of(below: Below, request: Request) -> Option<Command> {
    let layer = u8::try_from(below.0).ok()?;
    Some(match request {
        Request::Open(open) => Command::Open {
            layer,
            user: open.user,
            backlog: match open.mode {
                Mode::Active => None,
                Mode::Passive { backlog } => Some(backlog),
            },
            local: open.local.socket(),
            remote: open.remote.socket(),
            quality: open.quality,
        },
        Request::Cancel { user } => Command::Cancel { layer, user },
        Request::Accept(accept) => {
            Command::Accept { session: accept.session, user: accept.user, quality: accept.quality }
        }
        Request::Data { session, data, .. } => Command::Data { session, data },
        Request::Credit { session, credit } => Command::Credit { session, octets: credit.octets },
        Request::Release { session, .. } => Command::Release { session },
        Request::Abort { session, .. } => Command::Abort { session },
        Request::Unit(unit) => {
            let Unit { source, destination, session, options, data, .. } = *unit;
            let (source, destination) = (source.socket()?, destination.socket()?);
            Command::Unit { layer, unit: Datagram { session, source, destination, special: options.special, data } }
        }
        Request::Manage(manage) => match *manage {
            Manage::Session { session, quality } => Command::Change { session, quality },
            Manage::Group { group, member } => Command::Group { layer, group: group.ip()?, is_member: member },
            Manage::Special(what) => {
                let Peer { session, remote } = *what.take::<Peer>()?;
                Command::Peer { session, remote }
            }
            Manage::Limits
            | Manage::Route { .. }
            | Manage::Refuse { .. }
            | Manage::Advise { .. }
            | Manage::Narrow { .. } => return None,
        },
        Request::Special { .. } | Request::Expedited { .. } | Request::Reset { .. } => return None,
    })
}

/// A response, as the layers would have said it.
fn indication_of(response: Response) -> Option<(Below, Indication)> {
    let address = |it: Option<SocketAddr>| it.map_or(Address::NONE, Address::from);
    let below = |layer: u8| Below(layer.into());
    // Where a connection stands, its layer has been heard of.
    let any = Below(0);
    Some(match response {
        Response::Opened { layer, user, provider, local, remote } => {
            let (local, remote) = (address(local), address(remote));
            (below(layer), Indication::Opened(Box::new(Opened { user, provider, local, remote, ..Opened::default() })))
        }
        Response::Offered { layer, user, provider, local, remote } => {
            let (local, remote) = (address(local), address(remote));
            (
                below(layer),
                Indication::Offered(Box::new(Offered { user, provider, local, remote, ..Offered::default() })),
            )
        }
        Response::Data { user, data } => (any, Indication::Data { session: user, data, end: true }),
        Response::Credit { user, octets } => {
            (any, Indication::Credit { session: user, credit: Credit::octets(octets) })
        }
        Response::Released { user } => (any, Indication::Released { session: user, data: None }),
        Response::Closed { user } => (any, Indication::Closed { session: user }),
        Response::Aborted { layer, user, reason } => {
            (below(layer), Indication::Aborted { session: user, reason, data: None })
        }
        Response::Unit { layer, unit } => {
            let Datagram { session, source, destination, special, data } = unit;
            let (source, destination) = (Address::from(source), Address::from(destination));
            let options = UnitOptions { special, ..UnitOptions::NONE };
            (below(layer), Indication::Unit(Box::new(Unit { source, destination, session, options, ..Unit::of(data) })))
        }
        Response::Unreachable { source, destination, problem } => {
            let (source, destination) = (Address::from(source), Address::from(destination));
            let report = Report::Unreachable { source, destination, problem, start: Message::new() };
            (any, Indication::Report(Box::new(report)))
        }
        // Nobody has asked it, or it is no layer's.
        Response::Answer { .. } | Response::Lines { .. } => return None,
    })
}
