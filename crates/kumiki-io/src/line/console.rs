//! Characters to and from a person or a program, with credit both ways: the standard streams, or a pseudo terminal.
//!
//! | | |
//! |---|---|
//! | Specification | POSIX's terminal interface |
//! | Room | the device holds up to [`HELD`] octets that the other side has no room for, says how much room it has, and reads only what it was granted: as [`Stream`](crate::Stream) does for a socket |
//! | Left out | a terminal that changes while it is used; break conditions, which a raw terminal gives as NUL |
//!
//! Reading and writing end apart: behind the end of what is read (a file, a pipe) what is written still arrives. A
//! terminal is raw from the beginning, and as it was when the device is dropped.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kumiki_graph::Address;
use kumiki_octets::{Message, Page};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::terminal::Settings;
use super::{duplicate, standard};
use crate::device::{Arrival, Descriptors, RealDevice, Sent};

/// The most octets of one read.
const PIECE: usize = 4096;
/// The most octets that wait for room.
pub const HELD: usize = 16 * 1024;

/// The device; see the module.
#[derive(Debug)]
pub struct Console {
    // In this order: of two descriptors of one terminal the first that was changed is put back last.
    _output: Settings,
    _input: Settings,
    read: OwnedFd,
    write: OwnedFd,
    told_up: bool,
    /// Nothing more will be read.
    has_ended: bool,
    /// Nothing more can be written.
    is_broken: bool,
    out: VecDeque<u8>,
    /// As many octets wait in `out`, for whoever looks from outside.
    waiting: Arc<AtomicUsize>,
    room: usize,
    granted: u64,
}

impl Console {
    /// Standard input and output.
    ///
    /// # Errors
    /// The terminal refuses to be made raw, or there are no more descriptors.
    pub fn standard() -> io::Result<Self> {
        let (read, write) = standard()?;
        Ok(Self::of(read, write)?)
    }

    /// Two descriptors, which may be of one thing; a terminal among them is made raw.
    ///
    /// # Errors
    /// As [`Console::standard`].
    pub fn of(read: OwnedFd, write: OwnedFd) -> Result<Self, Errno> {
        let input = Settings::of_line(read.as_fd(), None)?;
        let output = Settings::of_line(write.as_fd(), None)?;
        Ok(Self::with((read, write), (input, output)))
    }

    fn with((read, write): (OwnedFd, OwnedFd), (input, output): (Settings, Settings)) -> Self {
        Self {
            _output: output,
            _input: input,
            read,
            write,
            told_up: false,
            has_ended: false,
            is_broken: false,
            out: VecDeque::new(),
            waiting: Arc::default(),
            room: HELD,
            granted: 0,
        }
    }

    /// A program on a pseudo terminal of its own, which it finds as a person's terminal would be: it echoes and edits.
    ///
    /// # Errors
    /// There is no pseudo terminal, or no such program.
    pub fn program(command: &[OsString]) -> io::Result<(Self, Child)> {
        let Some((name, arguments)) = command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no command"));
        };
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size)?;
        let other = ptsname(&master, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(&other, flags, Mode::empty())?;
        // Whoever is at the other end stops and starts what it shows; here the two characters are octets as others.
        let mut modes = tcgetattr(&other)?;
        modes.input_modes.remove(InputModes::IXON);
        tcsetattr(&other, OptionalActions::Now, &modes)?;
        let mut child = Command::new(name);
        child
            .args(arguments)
            .stdin(Stdio::from(other.try_clone()?))
            .stdout(Stdio::from(other.try_clone()?))
            .stderr(Stdio::from(other));
        #[expect(unsafe_code, reason = "a terminal becomes a session's own only from within it")]
        // SAFETY: between fork and exec the child makes two system calls on itself, which take no lock and no memory.
        unsafe {
            child.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = child.spawn()?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let ends = (duplicate(master.as_fd())?, master);
        let unchanged = (Settings::unchanged(), Settings::unchanged());
        Ok((Self::with(ends, unchanged), child))
    }

    /// How many octets wait to be written, to be looked at while the device runs.
    #[must_use]
    pub fn waiting(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.waiting)
    }

    fn count(&self) {
        self.waiting.store(self.out.len(), Ordering::Relaxed);
    }

    fn end(&mut self) -> Option<Arrival> {
        (!core::mem::replace(&mut self.has_ended, true)).then_some(Arrival::Down)
    }
}

impl RealDevice for Console {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors {
            read: Some(self.read.as_fd()).filter(|_| self.granted > 0 && !self.has_ended),
            write: Some(self.write.as_fd()).filter(|_| !self.is_broken),
        }
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        if !core::mem::replace(&mut self.told_up, true) {
            return Ok(Some(Arrival::Up));
        }
        if !self.out.is_empty() {
            self.flush()?;
        }
        if self.room > 0 {
            return Ok(Some(Arrival::Room(core::mem::take(&mut self.room) as u64)));
        }
        if self.has_ended || self.granted == 0 {
            return Ok(None);
        }
        let piece = usize::try_from(self.granted).map_or(PIECE, |granted| granted.min(PIECE));
        let mut result = Ok(0);
        let page = Page::build(piece, |octets| {
            result = rustix::io::retry_on_intr(|| rustix::io::read(&self.read, &mut *octets));
        });
        match result {
            Ok(0) => Ok(self.end()),
            Ok(read) => {
                self.granted = self.granted.saturating_sub(read as u64);
                let octets = page.octets().get(..read).unwrap_or_default();
                Ok(Some(Arrival::of(Message::from_octets(octets))))
            }
            Err(Errno::AGAIN) => Ok(None),
            // What a pseudo terminal says when its other side is closed.
            Err(Errno::IO | Errno::CONNRESET) => Ok(self.end()),
            Err(why) => Err(why.into()),
        }
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        if self.is_broken {
            self.room += packet.len();
            return Ok(Sent::Refused);
        }
        packet.for_each(|octets| self.out.extend(octets));
        self.count();
        Ok(Sent::Taken)
    }

    fn grant(&mut self, octets: u64) {
        self.granted = self.granted.saturating_add(octets);
    }

    fn flush(&mut self) -> io::Result<bool> {
        while !self.out.is_empty() && !self.is_broken {
            let (first, _) = self.out.as_slices();
            match rustix::io::retry_on_intr(|| rustix::io::write(&self.write, first)) {
                Ok(written) => {
                    self.out.drain(..written.min(self.out.len()));
                    self.room += written;
                }
                Err(Errno::AGAIN) => {
                    self.count();
                    return Ok(true);
                }
                // Nobody reads any more: what else is said is lost.
                Err(Errno::PIPE | Errno::IO | Errno::CONNRESET) => {
                    self.is_broken = true;
                    self.room += self.out.len();
                    self.out.clear();
                }
                Err(why) => return Err(why.into()),
            }
        }
        self.count();
        Ok(false)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn arrivals(console: &mut Console) -> Vec<Arrival> {
        core::iter::from_fn(|| console.receive().unwrap()).collect()
    }

    #[test]
    fn what_is_read_ends_and_what_is_written_still_arrives() {
        kumiki_watchdog::minute();
        let (input, mut typed) = io::pipe().unwrap();
        let (mut shown, output) = io::pipe().unwrap();
        let mut console = Console::of(input.into(), output.into()).unwrap();
        typed.write_all(b"abc").unwrap();
        drop(typed);
        let first = arrivals(&mut console);
        assert!(matches!(first[..], [Arrival::Up, Arrival::Room(room)] if room == HELD as u64), "{first:?}");
        // No more is read than was granted.
        console.grant(2);
        let [Arrival::Unit { data, .. }] = &arrivals(&mut console)[..] else {
            panic!();
        };
        assert_eq!(data.to_vec(), b"ab");
        console.grant(10);
        let rest = arrivals(&mut console);
        assert!(matches!(rest[..], [Arrival::Unit { .. }, Arrival::Down]), "{rest:?}");
        let packet = Message::from_octets(b"still here");
        console.send(&packet, Address::NONE).unwrap();
        assert!(!console.flush().unwrap());
        drop(console);
        let mut text = String::new();
        shown.read_to_string(&mut text).unwrap();
        assert_eq!(text, "still here");
    }
}
