//! Octets to and from what stands for a serial line: terminals, sockets, programs, the standard streams.
//!
//! | | |
//! |---|---|
//! | Specification | POSIX's terminal interface and Unix domain sockets; `pty(7)` and `termios(3)` of Linux |
//! | Units | octets in pieces as they come, up to [`PIECE`] at a time; what is sent is written in one piece for each pass of the executor |
//! | Left out | modem control (carrier, dialling, chat scripts), flow control, parity; sockets of TCP, for which `exec:nc HOST PORT` serves |
//!
//! A line is between two peers as soon as the far end has gone: the end of the file, a terminal hung up. Whether there
//! may be a next one is up to [`Opening`] and the wish to have one (`again`); the executor tells the graph of each
//! change.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::{Message, Page};
use rustix::io::Errno;

use crate::clock::{Clock as _, RealClock};
use crate::device::{Arrival, Descriptors, RealDevice, Sent};

mod console;
mod opening;
mod terminal;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

pub use console::{Console, HELD as CONSOLE_HELD};
use opening::{Ends, LineOpener};
pub use opening::{LineError, Opening, ProgramEnd, clear, listen_at};

/// The most octets of one read.
pub const PIECE: usize = 64 * 1024;
/// The most octets that are held back for room: what a link says of itself must not wait long behind data on a slow
/// line.
const HELD: usize = 4 * 1024;

/// How often it is tried to open a line again.
const EVERY: Duration = Duration::from_millis(500);

/// A line; see the module.
#[derive(Debug)]
pub struct Line {
    place: LineOpener,
    /// Whether the line is opened again after the far end has gone.
    again: bool,
    ends: Option<Ends>,
    /// What the executor has been told: that somebody is there, or not.
    told: Option<bool>,
    clock: RealClock,
    next_try: Instant,
    /// What has not been written yet, and how much of it has.
    out: Vec<u8>,
    written: usize,
    /// Writing has shown that the far end has gone.
    broken: bool,
}

impl Line {
    /// Opens a line. With `again` it is opened again after the far end has gone, and may be without one at first.
    ///
    /// # Errors
    /// [`LineError`] says which line, what went wrong and what would be right.
    pub fn open(opening: &Opening, again: bool) -> Result<Self, LineError> {
        let mut place = LineOpener::new(opening)?;
        let ends = match place.next() {
            Err(_) if again && place.may_come() => None,
            tried => tried?,
        };
        Ok(Self {
            place,
            again,
            ends,
            told: None,
            clock: RealClock::start(),
            next_try: Instant::ZERO,
            out: Vec::new(),
            written: 0,
            broken: false,
        })
    }

    /// Where the far end finds a pseudo terminal that was made for it.
    #[must_use]
    pub fn terminal(&self) -> Option<&str> {
        self.place.terminal()
    }

    /// How its program ends.
    #[must_use]
    pub fn program_end(&self) -> ProgramEnd {
        self.place.end().clone()
    }

    /// Whether somebody is at the far end, as far as is known.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.ends.is_some()
    }

    fn waiting(&self) -> &[u8] {
        self.out.get(self.written..).unwrap_or_default()
    }

    /// The far end has gone.
    fn lose(&mut self) -> Arrival {
        if let Some(ends) = self.ends.take() {
            ends.lose();
        }
        self.broken = false;
        self.out.clear();
        self.written = 0;
        self.told = Some(false);
        self.next_try = self.clock.now() + EVERY;
        Arrival::Down
    }

    /// Looks whether somebody is at the far end now.
    fn look(&mut self) -> Option<Arrival> {
        let is_first = self.told.is_none();
        if self.ends.is_none() && (is_first || self.again || self.place.always_again()) {
            let now = self.clock.now();
            if !self.place.must_be_tried() || now >= self.next_try {
                self.next_try = now + EVERY;
                // What goes wrong now may go right the next time.
                self.ends = self.place.next().unwrap_or_default();
            }
        }
        let is_up = self.ends.is_some();
        (self.told.replace(is_up) != Some(is_up)).then_some(if is_up { Arrival::Up } else { Arrival::Down })
    }

    fn read(from: BorrowedFd<'_>) -> Result<Option<Message>, Errno> {
        let mut result = Ok(0);
        // Pages are recycled: building one that is then not used costs little.
        let page = Page::build(PIECE, |octets| {
            result = rustix::io::retry_on_intr(|| rustix::io::read(from, &mut *octets));
        });
        let read = match result {
            Ok(0) => return Ok(None),
            Ok(read) => read,
            Err(why) => return Err(why),
        };
        // A few octets must not hold on to a page for many.
        if read < PIECE / 2 {
            let octets = page.octets().get(..read).unwrap_or_default();
            return Ok(Some(Message::from_octets(octets)));
        }
        let mut message = Message::from_page(page);
        message.truncate(read);
        Ok(Some(message))
    }
}

impl RealDevice for Line {
    fn descriptors(&self) -> Descriptors<'_> {
        match &self.ends {
            Some(ends) => Descriptors { read: Some(ends.read()), write: Some(ends.write()) },
            None => Descriptors { read: self.place.waits_for(), write: None },
        }
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let Some(ends) = self.ends.as_ref().filter(|_| self.told == Some(true)) else {
            return Ok(self.look());
        };
        match Self::read(ends.read()) {
            Ok(Some(message)) => Ok(Some(Arrival::of(message))),
            Err(Errno::AGAIN) if !self.broken => Ok(None),
            // EIO: a terminal without a far end.
            Ok(None) | Err(Errno::AGAIN | Errno::IO | Errno::CONNRESET | Errno::PIPE | Errno::NXIO | Errno::NODEV) => {
                Ok(Some(self.lose()))
            }
            Err(why) => Err(why.into()),
        }
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        if self.ends.is_none() || self.broken {
            return Ok(Sent::Refused);
        }
        if self.waiting().len() >= HELD && self.flush()? {
            return Ok(Sent::Full);
        }
        packet.for_each(|octets| self.out.extend_from_slice(octets));
        Ok(Sent::Taken)
    }

    fn flush(&mut self) -> io::Result<bool> {
        let Some(ends) = self.ends.as_ref().filter(|_| !self.broken) else {
            return Ok(false);
        };
        while self.written < self.out.len() {
            let octets = self.out.get(self.written..).unwrap_or_default();
            match rustix::io::retry_on_intr(|| rustix::io::write(ends.write(), octets)) {
                Ok(written) => self.written += written,
                Err(Errno::AGAIN) => {
                    // Octets that have been written are not kept.
                    self.out.drain(..self.written);
                    self.written = 0;
                    return Ok(true);
                }
                Err(Errno::IO | Errno::CONNRESET | Errno::PIPE | Errno::NXIO | Errno::NODEV) => {
                    self.broken = true;
                    break;
                }
                Err(why) => return Err(why.into()),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(false)
    }
}

/// A second descriptor of the same thing, closed when a program is started.
fn duplicate(of: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(of, 3)
}

/// The standard input or output.
fn standard() -> Result<(OwnedFd, OwnedFd), Errno> {
    Ok((duplicate(io::stdin().as_fd())?, duplicate(io::stdout().as_fd())?))
}
