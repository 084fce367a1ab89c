//! What is typed at a terminal and not shown: passwords.
//!
//! The terminal goes on to make lines of what is typed, with all that its driver lets people mend; only the echo is
//! off. Whatever ends the asking, a signal too, sets the terminal back.
//!
//! **Left out**: who stops the process there (Ctrl-Z) leaves the terminal to the shell, which sets it back itself.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{SigId, low_level};

/// The longest answer, in bytes: the most that a terminal of Linux gives in a line.
const LONGEST: usize = 4096;

/// A terminal without echo.
struct EchoOff(Termios);

impl EchoOff {
    fn standard_input() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        modes.local_modes.insert(LocalModes::ECHONL);
        // What was typed before the question was shown, and seen.
        tcsetattr(io::stdin(), OptionalActions::Flush, &modes)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // Where this fails the terminal has gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Signals that would end the process, written to a stream instead.
struct CaughtSignals {
    stream: UnixStream,
    ids: Vec<SigId>,
}

impl CaughtSignals {
    fn listen() -> io::Result<Self> {
        let (stream, rope) = UnixStream::pair()?;
        let mut heard = Self { stream, ids: Vec::new() };
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            let id = low_level::pipe::register(signal, rope.try_clone()?)?;
            heard.ids.push(id);
        }
        Ok(heard)
    }
}

impl Drop for CaughtSignals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            low_level::unregister(id);
        }
    }
}

/// Asks at the terminal that is standard input, by standard error, and gives the line that is typed, without its end.
///
/// # Errors
/// [`io::ErrorKind::Interrupted`] where a signal came that ends processes, [`io::ErrorKind::UnexpectedEof`] where the
/// terminal ended before a line did; what the system says where standard input is no terminal, and of what is no UTF-8.
pub fn secret(question: &str) -> io::Result<String> {
    let heard = CaughtSignals::listen()?;
    let _mute = EchoOff::standard_input()?;
    let mut out = io::stderr().lock();
    write!(out, "{question}")?;
    out.flush()?;
    let stdin = io::stdin();
    let mut line = Vec::new();
    let ended = loop {
        let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&heard.stream, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(why) => return Err(why.into()),
        }
        let [typed, signal] = fds.map(|it| !it.revents().is_empty());
        if signal {
            writeln!(out)?;
            return Err(io::ErrorKind::Interrupted.into());
        }
        if !typed {
            continue;
        }
        let mut some = [0; 256];
        let len = rustix::io::read(stdin.as_fd(), &mut some)?;
        line.extend_from_slice(some.get(..len).unwrap_or_default());
        if len == 0 || line.ends_with(b"\n") {
            break len == 0;
        }
        if line.len() > LONGEST {
            return Err(io::Error::other("the line is too long"));
        }
    };
    if ended && line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
