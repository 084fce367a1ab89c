//! A stream socket as a device: the octets of one connection of the operating system's TCP, or of a Unix socket.
//!
//! | | |
//! |---|---|
//! | Specification | POSIX's sockets |
//! | Units | octets in pieces as they come, up to [`PIECE`] at a time; what is sent is written in one call for each pass of the executor, from where it lies |
//! | Room | the device holds up to [`HELD`] octets that the socket has no room for, or what [`Stream::holding`] says, and little more memory than that, however short the messages are. It says how much room it has ([`Arrival::Room`]), at first and whenever the socket has taken some; who sends more than that is kept waiting by the executor, as with any device. It reads only what it was granted ([`RealDevice::grant`]), so a slow reader slows the peer down and not this memory |
//! | Left out | connecting and listening, which are `std::net`'s, and `crate::sockets`' for many of them; urgent data; half-closed connections: the peer's end of file is the end of the stream |
//!
//! Nagle's algorithm is off: what is written together leaves together, so it could only delay. A peer that has it sends
//! a short segment behind another only when that is acknowledged, so what was read to its end is acknowledged at once:
//! a delayed acknowledgment would cost 40 ms for each such pair, which is each small file of an old responder.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kumiki_graph::Address;
use kumiki_octets::{Message, Page};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

use crate::device::{Arrival, Descriptors, RealDevice, Sent};

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// The most octets of one read: a page of the largest size that is recycled.
pub const PIECE: usize = 64 * 1024;
/// The most octets that wait for room in the socket, unless [`Stream::holding`] says otherwise: what a peer that does
/// not read can have this process keep, beside what the kernel keeps.
pub const HELD: usize = 32 * 1024;
/// Pieces of one write; Linux takes 1024.
const PARTS: usize = 256;
/// Fewer octets than this are copied out of the page that they were read into, to memory of their size: they would hold
/// on to all of it.
const FEW: usize = PIECE / 4;
/// Messages of fewer octets are copied behind one another: each that waits by itself takes some hundred octets beside
/// its own.
const SHORT: usize = 1024;

/// A connection; see the module.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    state: State,
    waiting: VecDeque<Message>,
    /// Short messages that came behind all in `waiting`.
    tail: Vec<u8>,
    /// Octets of the first message in `waiting`, or else in `tail`, that have been written.
    written: usize,
    /// Octets in both that have not.
    held: usize,
    /// How many there may be.
    most: usize,
    /// Octets that the socket has taken and that nobody has been told of as room.
    room: usize,
    /// Octets that may be read.
    granted: u64,
    /// What has broken it, where that was not the peer's end of file.
    failure: Option<Errno>,
}

/// Which ends of the connection are there, and what was told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing has been told yet.
    New,
    Up,
    /// The peer takes no more; what it has sent may still be there.
    Broken,
    Down,
}

/// Whether the peer of a socket has hung up already, whatever it has sent before that.
#[cfg(target_os = "linux")]
#[must_use]
pub fn has_hung_up(socket: &impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut watched = [PollFd::new(socket, PollFlags::RDHUP)];
    let found = poll(&mut watched, Some(&now));
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    found.is_ok() && watched.iter().any(|it| it.revents().intersects(gone))
}

/// Lets as many callers wait in the kernel's queue as it allows: where that is full, the next one's SYN is lost, and
/// comes again a second later. A second `listen` sets it (listen(2)).
#[cfg(target_os = "linux")]
pub fn deepen(listener: &impl AsFd) {
    // Where it does not, the queue is shorter.
    let _ = rustix::net::listen(listener, 4096);
}

impl Stream {
    /// The connection of a socket, which is made not to wait.
    ///
    /// # Errors
    /// The socket cannot be made so.
    pub fn new(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let socket = socket.into();
        rustix::io::ioctl_fionbio(&socket, true)?;
        // A Unix socket has no such thing.
        let _ = rustix::net::sockopt::set_tcp_nodelay(&socket, true);
        Ok(Self {
            socket,
            state: State::New,
            waiting: VecDeque::new(),
            tail: Vec::new(),
            written: 0,
            held: 0,
            most: HELD,
            room: HELD,
            granted: 0,
            failure: None,
        })
    }

    /// The same, where no more than `most` octets wait for room in the socket.
    #[must_use]
    pub const fn holding(mut self, most: usize) -> Self {
        (self.most, self.room) = (most, most);
        self
    }

    /// What has broken the connection; nothing where it stands, or the peer has ended it in order.
    #[must_use]
    pub const fn failure(&self) -> Option<io::ErrorKind> {
        match self.failure {
            Some(Errno::TIMEDOUT) => Some(io::ErrorKind::TimedOut),
            Some(_) => Some(io::ErrorKind::ConnectionReset),
            None => None,
        }
    }

    /// Octets that were handed over and wait for room in the socket.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    fn read(&mut self) -> Result<Option<Message>, Errno> {
        let mut result = Ok(0);
        let piece = usize::try_from(self.granted).map_or(PIECE, |granted| granted.min(PIECE));
        // Pages are recycled: building one that is then not used costs little.
        let page = Page::build(piece, |octets| {
            let none = RecvFlags::empty();
            result =
                rustix::io::retry_on_intr(|| rustix::net::recv(&self.socket, &mut *octets, none).map(|(_, read)| read));
        });
        let read = match result {
            Ok(0) => return Ok(None),
            Ok(read) => read,
            Err(why) => return Err(why),
        };
        self.granted = self.granted.saturating_sub(read as u64);
        if read < piece {
            // All is read, and the peer may wait for its acknowledgment with what comes next (Nagle). The kernel
            // forgets this whenever it likes.
            let _ = rustix::net::sockopt::set_tcp_quickack(&self.socket, true);
        }
        if read < FEW {
            let octets = page.octets().get(..read).unwrap_or_default();
            return Ok(Some(Message::from_page(Page::owning(octets.to_vec()))));
        }
        let mut message = Message::from_page(page);
        message.truncate(read);
        Ok(Some(message))
    }

    /// Writes as much of what waits as fits into one call; how much the socket took.
    fn write(&self) -> Result<usize, Errno> {
        let mut parts: Vec<IoSlice<'_>> = Vec::with_capacity(PARTS);
        let mut skip = self.written;
        let messages = self.waiting.iter().flat_map(|message| message.pieces().flatten());
        for piece in messages.chain([self.tail.as_slice()]) {
            if skip >= piece.len() {
                skip -= piece.len();
                continue;
            }
            let rest = piece.get(skip..).unwrap_or_default();
            parts.push(IoSlice::new(rest));
            skip = 0;
            if parts.len() >= PARTS {
                break;
            }
        }
        // A broken pipe is an answer here and not a signal.
        let flags = SendFlags::NOSIGNAL;
        let mut nothing = SendAncillaryBuffer::default();
        rustix::io::retry_on_intr(|| rustix::net::sendmsg(&self.socket, &parts, &mut nothing, flags))
    }

    /// The socket took `taken` octets of what waits.
    fn on_taken(&mut self, taken: usize) {
        self.held = self.held.saturating_sub(taken);
        self.room += taken;
        self.written += taken;
        while let Some(first) = self.waiting.front() {
            if self.written < first.len() {
                break;
            }
            self.written -= first.len();
            self.waiting.pop_front();
        }
        if self.waiting.is_empty() && self.written >= self.tail.len() {
            self.written = 0;
            self.tail.clear();
            // What was short together needs its room no more.
            self.tail.shrink_to(SHORT);
        }
    }

    /// A message waits behind the others.
    fn keep(&mut self, packet: &Message) {
        self.held += packet.len();
        if packet.len() < SHORT {
            packet.for_each(|octets| self.tail.extend_from_slice(octets));
            // One that has room for no other is kept by itself.
            if self.tail.len() + SHORT <= PIECE {
                return;
            }
        }
        if !self.tail.is_empty() {
            let tail = core::mem::take(&mut self.tail);
            self.waiting.push_back(Message::from_page(Page::owning(tail)));
        }
        if packet.len() < SHORT {
            return;
        }
        self.waiting.push_back(if packet.pieces().all(|piece| piece.is_some()) {
            packet.clone()
        } else {
            Message::from_octets(&packet.to_vec())
        });
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.tail.is_empty()
    }

    fn tell_room(&mut self) -> Arrival {
        Arrival::Room(core::mem::take(&mut self.room) as u64)
    }

    /// The peer takes no more.
    fn on_broken(&mut self, why: Option<Errno>) {
        self.state = State::Broken;
        self.failure = self.failure.or(why);
        self.waiting.clear();
        self.tail = Vec::new();
        self.room += self.held;
        (self.written, self.held) = (0, 0);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl RealDevice for Stream {
    fn descriptors(&self) -> Descriptors<'_> {
        let socket: BorrowedFd<'_> = self.socket.as_fd();
        match self.state {
            // Octets that may not be read yet would end each wait at once.
            State::New | State::Up => {
                Descriptors { read: Some(socket).filter(|_| self.granted > 0), write: Some(socket) }
            }
            // A broken socket is always ready: it is waited for only where there is something to tell.
            State::Broken => {
                Descriptors { read: Some(socket).filter(|_| self.granted > 0 || self.room > 0), write: None }
            }
            // There is nothing to wait for, and the descriptor would always be ready.
            State::Down => Descriptors::default(),
        }
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        // What the socket takes now is room to tell of now: there may be no other reason to be asked again.
        if self.has_waiting() {
            self.flush()?;
        }
        match self.state {
            State::New => {
                self.state = State::Up;
                return Ok(Some(Arrival::Up));
            }
            State::Up if self.room > 0 => return Ok(Some(self.tell_room())),
            State::Up | State::Broken if self.granted > 0 => {}
            State::Broken if self.room > 0 => return Ok(Some(self.tell_room())),
            State::Up | State::Broken | State::Down => return Ok(None),
        }
        match self.read() {
            Ok(Some(message)) => Ok(Some(Arrival::of(message))),
            Err(Errno::AGAIN) => Ok(None),
            Ok(None) => {
                self.on_broken(None);
                self.state = State::Down;
                Ok(Some(Arrival::Down))
            }
            Err(why @ (Errno::CONNRESET | Errno::PIPE | Errno::TIMEDOUT)) => {
                self.on_broken(Some(why));
                self.state = State::Down;
                Ok(Some(Arrival::Down))
            }
            Err(why) => Err(why.into()),
        }
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        if self.state != State::Up {
            if self.state == State::Broken {
                // Who waits for room would otherwise never read what is left, nor hear of the end.
                self.room += packet.len();
            }
            return Ok(Sent::Refused);
        }
        if self.held >= self.most && self.flush()? {
            return Ok(Sent::Full);
        }
        self.keep(packet);
        Ok(Sent::Taken)
    }

    fn grant(&mut self, octets: u64) {
        self.granted = self.granted.saturating_add(octets);
    }

    fn flush(&mut self) -> io::Result<bool> {
        while self.has_waiting() {
            match self.write() {
                Ok(taken) => self.on_taken(taken),
                Err(Errno::AGAIN) => return Ok(true),
                Err(why @ (Errno::CONNRESET | Errno::PIPE | Errno::TIMEDOUT)) => {
                    self.on_broken(Some(why));
                }
                Err(why) => return Err(why.into()),
            }
        }
        Ok(false)
    }
}
