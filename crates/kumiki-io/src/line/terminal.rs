//! Terminals as lines: raw, and as they were when they are left.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{ControlModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use super::duplicate;

/// How a descriptor was before it became a line; put back when this is dropped.
#[derive(Debug)]
pub(super) struct Settings(Option<SavedTerminal>);

#[derive(Debug)]
struct SavedTerminal {
    descriptor: OwnedFd,
    flags: OFlags,
    terminal: Option<Termios>,
}

impl Settings {
    /// Nothing is to be put back.
    pub(super) const fn unchanged() -> Self {
        Self(None)
    }

    /// Makes `descriptor` one that never waits, and raw where it is a terminal, with a `speed` in bits per second where
    /// one is given.
    pub(super) fn of_line(descriptor: BorrowedFd<'_>, speed: Option<u32>) -> Result<Self, Errno> {
        let terminal = if isatty(descriptor) {
            let before = tcgetattr(descriptor)?;
            set_raw(descriptor, before.clone(), speed)?;
            Some(before)
        } else {
            None
        };
        let flags = fcntl_getfl(descriptor)?;
        fcntl_setfl(descriptor, flags | OFlags::NONBLOCK)?;
        Ok(Self(Some(SavedTerminal { descriptor: duplicate(descriptor)?, flags, terminal })))
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // Where it is gone there is nothing to put back.
            let _ = fcntl_setfl(&before.descriptor, before.flags);
            if let Some(terminal) = &before.terminal {
                let _ = tcsetattr(&before.descriptor, OptionalActions::Now, terminal);
            }
        }
    }
}

/// Eight bits, no parity, no echo, no flow control, no modem lines.
fn set_raw(descriptor: BorrowedFd<'_>, mut terminal: Termios, speed: Option<u32>) -> Result<(), Errno> {
    terminal.make_raw();
    terminal.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    terminal.control_modes &= !ControlModes::CRTSCTS;
    if let Some(speed) = speed {
        terminal.set_speed(speed)?;
    }
    tcsetattr(descriptor, OptionalActions::Now, &terminal)
}

/// A new pseudo terminal: our side, which never waits, and the name of the other, which is raw. Until somebody opens
/// that, it is hung up.
pub(super) fn new_pair() -> Result<(OwnedFd, String), Errno> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let name = name.into_string().map_err(|_| Errno::INVAL)?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let other = rustix::fs::open(&name, flags, Mode::empty())?;
    let terminal = tcgetattr(&other)?;
    set_raw(other.as_fd(), terminal, None)?;
    let flags = fcntl_getfl(&master)?;
    fcntl_setfl(&master, flags | OFlags::NONBLOCK)?;
    Ok((master, name))
}
