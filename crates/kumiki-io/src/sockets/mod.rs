//! TCP of the operating system as one device: a stream provider with many connections, calling and called.
//!
//! | | |
//! |---|---|
//! | Specification | POSIX's sockets; `tcp(7)`, `socket(7)` and `epoll(7)` of Linux |
//! | Above | what stands on a stream ([`kumiki_graph::Service::STREAM`]): a graph's device of that service, plugged to this. The primitives are those that our own TCP has |
//! | Around | a [`Stream`] for each connection: its limits, its credit both ways |
//! | Left out | half-closed connections, as of [`Stream`]: what waits when the peer ends is lost; urgent data; notices; Unix sockets; names, which somebody else looks up |
//!
//! One descriptor stands for all sockets (`epoll`), so an executor waits for one thing however many connections there
//! are. Each that is ready is served one piece at a time, in turn.
//!
//! `Open` with an address calls: the connection is made without waiting, and `Opened` or `Aborted` says what came of
//! it. A passive `Open` listens; of those who call as many are offered as its backlog has room for, and the others wait
//! in the kernel's queue, as they do when there are as many connections as may be ([`SocketsConfig::most`]), or as many
//! descriptors. `Abort` resets a connection; `Release` ends it when all that was handed over has been written.
//!
//! What of [`Quality`] the kernel can do it is asked for: small segments, keep-alives, the user timeout. Where nothing
//! is said, small segments are not held back and an idle peer is asked after a minute.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::Arc;

use kumiki_graph::{
    Accept, Address, Coalesce, Credit, Duration, Handle, Indication, Mode, Offered, Open, Opened, Quality, Reason,
    Request,
};
use kumiki_octets::Message;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};

use crate::device::{Arrival, Descriptors, RealDevice, Sent};
use crate::stream::{PIECE, Stream, deepen};

mod config;
mod slots;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

pub use config::{SocketsConfig, SocketsCounters, SocketsError};
use config::{count, errno, reason_of};
use slots::Slots;

/// Events that are taken from the kernel at once.
const EVENTS: usize = 64;

/// What the kernel is asked to watch of a socket.
type Interest = epoll::EventFlags;

#[derive(Debug)]
struct Listener {
    socket: TcpListener,
    user: Handle,
    local: SocketAddr,
    /// Callers that may wait for the user's answer, and how many do.
    backlog: u32,
    waiting: u32,
}

#[derive(Debug)]
struct Calling {
    socket: OwnedFd,
    user: Handle,
    remote: SocketAddr,
    quality: Quality,
}

#[derive(Debug)]
struct Session {
    stream: Stream,
    /// The user's handle, once it has told one.
    user: Option<Handle>,
    /// Who listened, as long as the user has not answered.
    listener: Option<Handle>,
    /// The user sends no more.
    released: bool,
    /// The peer was told so.
    shut: bool,
    /// The peer sends no more.
    ended: bool,
}

#[derive(Debug)]
enum Entry {
    Listener(Listener),
    Calling(Calling),
    Session(Box<Session>),
}

/// The device; see the module.
#[derive(Debug)]
pub struct Sockets {
    config: SocketsConfig,
    epoll: OwnedFd,
    slots: Slots<Entry>,
    /// Ports that were taken before anybody listens.
    bound: Vec<(SocketAddr, TcpListener)>,
    /// Whom to look at, in turn.
    ready: VecDeque<Handle>,
    /// Who was handed something in this pass.
    dirty: Vec<Handle>,
    told: VecDeque<Indication>,
    /// Callers wait that there was no room for.
    is_stuck: bool,
    counters: Arc<SocketsCounters>,
}

/// A listener that does not wait, and as many callers in front of it as the kernel lets it have; with port 0 the
/// operating system chooses one, so where it is, is told.
///
/// # Errors
/// [`SocketsError`], which says what would help.
pub fn listen(local: SocketAddr) -> Result<(TcpListener, SocketAddr), SocketsError> {
    let failed = |why| SocketsError { local, why };
    let socket = TcpListener::bind(local).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    deepen(&socket);
    let found = socket.local_addr().map_err(failed)?;
    Ok((socket, found))
}

/// An address as people have it: an IPv4 address inside IPv6, as a listener of both has them, is that of IPv4.
#[must_use]
pub const fn plain(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) => address,
        SocketAddr::V6(six) => match six.ip().to_canonical() {
            IpAddr::V4(ip) => SocketAddr::new(IpAddr::V4(ip), six.port()),
            // A zone is kept.
            IpAddr::V6(_) => address,
        },
    }
}

fn unit() -> u32 {
    u32::try_from(PIECE).unwrap_or(u32::MAX)
}

fn seconds(time: Duration) -> std::time::Duration {
    // The kernel counts whole seconds, at least one.
    std::time::Duration::from_nanos(time.as_nanos()).max(std::time::Duration::from_secs(1))
}

impl Sockets {
    /// A device without connections.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub fn new(config: SocketsConfig) -> io::Result<Self> {
        Ok(Self {
            config,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            slots: Slots::default(),
            bound: Vec::new(),
            ready: VecDeque::new(),
            dirty: Vec::new(),
            told: VecDeque::new(),
            is_stuck: false,
            counters: Arc::default(),
        })
    }

    /// Takes a port before anybody listens there, so that it is known at once whether it can be had; with port 0 the
    /// operating system chooses. The passive open that names this address has it; until then callers wait.
    ///
    /// # Errors
    /// [`SocketsError`], which says what would help.
    pub fn bind(&mut self, local: SocketAddr) -> Result<SocketAddr, SocketsError> {
        let (socket, found) = listen(local)?;
        self.bound.push((found, socket));
        Ok(found)
    }

    /// What happens, to be looked at while the device runs.
    #[must_use]
    pub fn counters(&self) -> Arc<SocketsCounters> {
        Arc::clone(&self.counters)
    }

    fn tell(&mut self, indication: Indication) {
        self.told.push_back(indication);
    }

    /// Lets it be looked at in its turn.
    fn enqueue(&mut self, handle: Handle) {
        if self.slots.mark(handle) {
            self.ready.push_back(handle);
        }
    }

    fn aborted(&mut self, session: Handle, reason: Reason) {
        let data = None;
        self.tell(Indication::Aborted { session, reason, data });
    }

    /// Asks the kernel for what the user wants of a connection. What it cannot do it leaves.
    fn tune(&self, socket: &impl AsFd, quality: &Quality) {
        let held = matches!(quality.coalesce, Some(Coalesce::Nagle | Coalesce::Minshall));
        let _ = sockopt::set_tcp_nodelay(socket, !held);
        let keep = quality.keep_alive.unwrap_or(self.config.keep_alive);
        let asks = !keep.idle.is_zero();
        let _ = sockopt::set_socket_keepalive(socket, asks);
        if asks {
            let _ = sockopt::set_tcp_keepidle(socket, seconds(keep.idle));
            let _ = sockopt::set_tcp_keepintvl(socket, seconds(keep.interval));
            let _ = sockopt::set_tcp_keepcnt(socket, keep.count.max(1));
        }
        let user_timeout = quality.user_timeout.unwrap_or(self.config.user_timeout);
        let milliseconds = u32::try_from(user_timeout.as_nanos() / 1_000_000).unwrap_or(u32::MAX);
        let _ = sockopt::set_tcp_user_timeout(socket, milliseconds);
    }

    fn open(&mut self, open: &Open) {
        let begun = match open.mode {
            Mode::Passive { backlog } => self.listen(open, backlog),
            Mode::Active => self.call(open),
        };
        if let Err(why) = begun {
            if open.mode == Mode::Active {
                count(&self.counters.failed);
            }
            self.aborted(open.user, reason_of(why));
        }
    }

    fn listen(&mut self, open: &Open, backlog: u32) -> Result<(), Errno> {
        let local = open.local.socket().ok_or(Errno::INVAL)?;
        let taken = self.bound.iter().position(|(bound, _)| *bound == local);
        let socket = match taken {
            Some(at) => self.bound.swap_remove(at).1,
            None => listen(local).map_err(|failed| errno(&failed.why))?.0,
        };
        let local = socket.local_addr().map_err(|why| errno(&why))?;
        let user = open.user;
        let provider =
            self.slots.insert(Entry::Listener(Listener { socket, user, local, backlog: backlog.max(1), waiting: 0 }));
        self.watch(provider, Interest::IN);
        self.tell(Indication::Opened(Box::new(Opened { user, provider, local: local.into(), ..Opened::default() })));
        Ok(())
    }

    fn call(&mut self, open: &Open) -> Result<(), Errno> {
        let remote = open.remote.socket().ok_or(Errno::INVAL)?;
        if self.slots.len() >= self.config.most {
            return Err(Errno::NOBUFS);
        }
        let family = if remote.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        if let Some(local) = open.local.socket() {
            rustix::net::bind(&socket, &local)?;
        }
        self.tune(&socket, &open.quality);
        match rustix::net::connect(&socket, &remote) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(why) => return Err(why),
        }
        let calling = Calling { socket, user: open.user, remote, quality: open.quality };
        let handle = self.slots.insert(Entry::Calling(calling));
        self.enqueue(handle);
        Ok(())
    }

    /// Whether a call has come about.
    fn look(&mut self, handle: Handle) {
        let Some(Entry::Calling(calling)) = self.slots.get(handle) else {
            return;
        };
        let user = calling.user;
        let failed = match sockopt::socket_error(&calling.socket) {
            Ok(Ok(())) => None,
            Ok(Err(why)) | Err(why) => Some(why),
        };
        if let Some(why) = failed {
            count(&self.counters.failed);
            self.remove(handle);
            return self.aborted(user, reason_of(why));
        }
        match rustix::net::getpeername(&calling.socket) {
            Ok(Some(_)) => self.stands(handle),
            Ok(None) | Err(_) => self.watch(handle, Interest::OUT),
        }
    }

    /// A call of ours stands.
    fn stands(&mut self, handle: Handle) {
        let Some(Entry::Calling(calling)) = self.slots.get(handle) else {
            return;
        };
        let (user, remote, quality) = (calling.user, calling.remote, calling.quality);
        let made = calling.socket.try_clone().and_then(|socket| {
            let socket = TcpStream::from(socket);
            let local = socket.local_addr()?;
            Ok((local, Stream::new(socket)?.holding(self.config.held)))
        });
        // The same number may name another file from here on.
        self.watch(handle, Interest::empty());
        let (local, stream) = match made {
            Ok(made) => made,
            Err(why) => {
                self.remove(handle);
                return self.aborted(user, reason_of(errno(&why)));
            }
        };
        self.tune(&stream, &quality);
        let mut session = Session::new(stream);
        session.user = Some(user);
        session.grant(quality.receive_buffer, &self.config);
        self.slots.put(handle, Entry::Session(Box::new(session)));
        count(&self.counters.called);
        self.tell(Indication::Opened(Box::new(Opened {
            user,
            provider: handle,
            local: local.into(),
            remote: remote.into(),
            unit: unit(),
            ..Opened::default()
        })));
        self.enqueue(handle);
    }

    /// Takes the next caller of a listener.
    fn take_caller(&mut self, handle: Handle) {
        let is_full = self.slots.len() >= self.config.most;
        let Some(Entry::Listener(listener)) = self.slots.get(handle) else {
            return;
        };
        if is_full || listener.waiting >= listener.backlog {
            self.is_stuck |= is_full;
            return self.watch(handle, Interest::empty());
        }
        let (user, local) = (listener.user, listener.local);
        let (socket, caller) = match listener.socket.accept() {
            Ok((socket, caller)) => (socket, plain(caller)),
            Err(why) => {
                let short = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
                if short.contains(&errno(&why)) {
                    self.is_stuck = true;
                    return self.watch(handle, Interest::empty());
                }
                // A caller that has gone, or none: the kernel says when there is one.
                return self.watch(handle, Interest::IN);
            }
        };
        // There may be another one.
        self.enqueue(handle);
        self.tune(&socket, &Quality::default());
        let local = plain(socket.local_addr().unwrap_or(local));
        let Ok(stream) = Stream::new(socket) else {
            return;
        };
        if let Some(Entry::Listener(listener)) = self.slots.get(handle) {
            listener.waiting += 1;
        }
        let mut session = Session::new(stream.holding(self.config.held));
        session.listener = Some(handle);
        let provider = self.slots.insert(Entry::Session(Box::new(session)));
        count(&self.counters.accepted);
        self.tell(Indication::Offered(Box::new(Offered {
            user,
            provider,
            local: local.into(),
            remote: caller.into(),
            unit: unit(),
            ..Offered::default()
        })));
    }

    fn accept(&mut self, accept: &Accept) {
        let handle = accept.session;
        let found = match self.slots.get(handle) {
            Some(Entry::Session(session)) if session.user.is_none() => session,
            Some(Entry::Session(_) | Entry::Calling(_) | Entry::Listener(_)) | None => {
                return self.aborted(accept.user, Reason::NoSession);
            }
        };
        found.user = Some(accept.user);
        let listener = found.listener.take();
        found.grant(accept.quality.receive_buffer, &self.config);
        if let Some(Entry::Session(session)) = self.slots.get_ref(handle) {
            self.tune(&session.stream, &accept.quality);
        }
        self.answered(listener);
        self.enqueue(handle);
    }

    /// A caller of `listener` waits no longer.
    fn answered(&mut self, listener: Option<Handle>) {
        if let Some(handle) = listener
            && let Some(Entry::Listener(listener)) = self.slots.get(handle)
        {
            listener.waiting = listener.waiting.saturating_sub(1);
            self.enqueue(handle);
        }
    }

    /// Has the kernel watch a socket for `interest` and for nothing else.
    fn watch(&mut self, handle: Handle, interest: Interest) {
        let Some((now, entry)) = self.slots.watched(handle) else {
            return;
        };
        if *now == interest {
            return;
        }
        let key = u64::from(handle.generation) << 32 | u64::from(handle.index);
        let data = epoll::EventData::new_u64(key);
        let socket = match entry {
            Entry::Listener(listener) => listener.socket.as_fd(),
            Entry::Calling(calling) => calling.socket.as_fd(),
            Entry::Session(session) => session.stream.as_fd(),
        };
        // A socket that is watched for nothing would still tell of its errors, each time.
        let done = if interest.is_empty() {
            epoll::delete(&self.epoll, socket)
        } else if now.is_empty() {
            epoll::add(&self.epoll, socket, data, interest)
        } else {
            epoll::modify(&self.epoll, socket, data, interest)
        };
        debug_assert!(done.is_ok(), "{} is watched: {done:?}", socket.as_raw_fd());
        *now = interest;
    }

    fn remove(&mut self, handle: Handle) -> Option<Entry> {
        self.watch(handle, Interest::empty());
        let entry = self.slots.remove(handle);
        self.unstick();
        entry
    }

    /// There may be room for callers that wait.
    fn unstick(&mut self) {
        if core::mem::take(&mut self.is_stuck) {
            let listeners = self.slots.all(|it| matches!(it, Entry::Listener(_)));
            for listener in listeners {
                self.enqueue(listener);
            }
        }
    }

    /// Ends a connection at once.
    fn reset(&mut self, handle: Handle) {
        match self.remove(handle) {
            Some(Entry::Session(session)) => {
                let _ = sockopt::set_socket_linger(&session.stream, Some(std::time::Duration::ZERO));
                self.answered(session.listener);
            }
            Some(Entry::Listener(_)) => {
                let offers = |it: &Entry| matches!(it, Entry::Session(session) if session.listener == Some(handle));
                for offered in self.slots.all(offers) {
                    self.reset(offered);
                }
            }
            Some(Entry::Calling(_)) | None => {}
        }
    }

    fn cancel(&mut self, user: Handle) {
        let is_it = |entry: &Entry| match entry {
            Entry::Listener(listener) => listener.user == user,
            Entry::Calling(calling) => calling.user == user,
            Entry::Session(session) => session.user == Some(user),
        };
        if let Some(handle) = self.slots.all(is_it).first() {
            self.reset(*handle);
        }
    }

    fn data(&mut self, handle: Handle, data: &Message) {
        let Some(Entry::Session(session)) = self.slots.get(handle) else {
            return;
        };
        if session.released || session.user.is_none() {
            return;
        }
        match session.stream.send(data, Address::NONE) {
            // One that is broken says so when it is looked at.
            Ok(Sent::Taken | Sent::Refused) => self.dirty.push(handle),
            // More than there was credit for: octets would be missing in the middle.
            Ok(Sent::Full) => self.lost(handle, Reason::Protocol),
            Err(why) => self.lost(handle, reason_of(errno(&why))),
        }
    }

    /// A connection is no more, and the user is told.
    fn lost(&mut self, handle: Handle, reason: Reason) {
        let Some(Entry::Session(session)) = self.slots.get(handle) else {
            return;
        };
        let user = session.user;
        self.reset(handle);
        if let Some(user) = user {
            self.aborted(user, reason);
        }
    }

    fn release(&mut self, handle: Handle) {
        if let Some(Entry::Session(session)) = self.slots.get(handle) {
            session.released = true;
            self.dirty.push(handle);
        }
    }

    /// Serves one that is ready.
    fn serve(&mut self, handle: Handle) {
        match self.slots.get(handle) {
            Some(Entry::Listener(_)) => self.take_caller(handle),
            Some(Entry::Calling(_)) => self.look(handle),
            Some(Entry::Session(session)) => {
                let Some(user) = session.user else {
                    return;
                };
                match session.stream.receive() {
                    Ok(Some(arrival)) => self.on_arrival(handle, user, arrival),
                    Ok(None) => self.settle(handle),
                    Err(why) => self.lost(handle, reason_of(errno(&why))),
                }
            }
            None => {}
        }
    }

    fn on_arrival(&mut self, handle: Handle, user: Handle, arrival: Arrival) {
        let session = user;
        // There may be more.
        self.enqueue(handle);
        match arrival {
            Arrival::Unit { data, .. } => {
                let end = false;
                self.tell(Indication::Data { session, data, end });
            }
            Arrival::Room(octets) => {
                let credit = Credit::octets(octets);
                self.tell(Indication::Credit { session, credit });
            }
            Arrival::Down => self.on_end(handle, session),
            Arrival::Up | Arrival::NoUnit | Arrival::Told(_) => {}
        }
    }

    /// The peer sends no more.
    fn on_end(&mut self, handle: Handle, user: Handle) {
        let Some(Entry::Session(session)) = self.slots.get(handle) else {
            return;
        };
        session.ended = true;
        match session.stream.failure() {
            Some(io::ErrorKind::TimedOut) => self.lost(handle, Reason::TimedOut),
            Some(_) => self.lost(handle, Reason::Reset),
            None => {
                let (session, data) = (user, None);
                self.tell(Indication::Released { session, data });
                self.settle(handle);
            }
        }
    }

    /// Ends a connection that has nothing left to do, and otherwise has the kernel watch for what it waits for.
    fn settle(&mut self, handle: Handle) {
        let Some(Entry::Session(session)) = self.slots.get(handle) else {
            return;
        };
        let Some(user) = session.user else {
            return;
        };
        if session.released && !session.shut && session.stream.held() == 0 {
            session.shut = true;
            let _ = rustix::net::shutdown(&session.stream, rustix::net::Shutdown::Write);
        }
        if session.shut && session.ended {
            self.remove(handle);
            return self.tell(Indication::Closed { session: user });
        }
        let mut interest = Interest::empty();
        interest.set(Interest::IN, session.stream.descriptors().read.is_some());
        interest.set(Interest::OUT, session.stream.held() > 0);
        self.watch(handle, interest);
    }

    /// Asks the kernel who is ready.
    fn poll(&mut self) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, room, Some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
        for event in events {
            let key = event.data.u64();
            let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
            self.enqueue(Handle { index: half(key), generation: half(key >> 32) });
        }
        Ok(())
    }
}

impl Session {
    fn new(mut stream: Stream) -> Self {
        // It says first that it is there, and takes nothing before.
        let _ = stream.receive();
        Self { stream, user: None, listener: None, released: false, shut: false, ended: false }
    }

    /// The first credit to read.
    fn grant(&mut self, asked: Option<u32>, config: &SocketsConfig) {
        let octets = asked.unwrap_or(config.receive_buffer);
        self.stream.grant(octets.into());
    }
}

impl RealDevice for Sockets {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors { read: Some(self.epoll.as_fd()), write: None }
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let mut has_polled = false;
        loop {
            if let Some(told) = self.told.pop_front() {
                return Ok(Some(Arrival::Told(told)));
            }
            match self.ready.pop_front() {
                Some(handle) => {
                    self.slots.unmark(handle);
                    self.serve(handle);
                }
                None if has_polled => return Ok(None),
                None => {
                    has_polled = true;
                    if self.slots.len() < self.config.most {
                        self.unstick();
                    }
                    self.poll()?;
                }
            }
        }
    }

    fn send(&mut self, _: &Message, _: Address) -> io::Result<Sent> {
        // A unit belongs to no connection.
        Ok(Sent::Refused)
    }

    fn request(&mut self, request: Request) -> io::Result<()> {
        match request {
            Request::Open(open) => self.open(&open),
            Request::Accept(accept) => self.accept(&accept),
            Request::Cancel { user } => self.cancel(user),
            Request::Data { session, data, .. } => self.data(session, &data),
            Request::Credit { session, credit } => {
                if let Some(Entry::Session(it)) = self.slots.get(session) {
                    it.stream.grant(credit.octets);
                    self.enqueue(session);
                }
            }
            Request::Release { session, .. } => self.release(session),
            Request::Abort { session, .. } => self.reset(session),
            // A stream has none of these.
            Request::Unit(_)
            | Request::Special { .. }
            | Request::Expedited { .. }
            | Request::Reset { .. }
            | Request::Manage(_) => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<bool> {
        let mut dirty = core::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        for handle in dirty {
            let Some(Entry::Session(session)) = self.slots.get(handle) else {
                continue;
            };
            if let Err(why) = session.stream.flush() {
                self.lost(handle, reason_of(errno(&why)));
            } else {
                // It has room to tell of, and is looked at in the next pass.
                self.settle(handle);
                self.enqueue(handle);
            }
        }
        Ok(false)
    }
}
