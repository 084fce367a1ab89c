//! How a line is named and opened.

use core::fmt;
use core::str::FromStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::terminal::{self, Settings};
use super::{duplicate, standard};

/// How long a program whose streams have ended may take to end by itself.
const ENDING: Duration = Duration::from_secs(1);

/// Which line, in words of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opening {
    /// `fd:N`: a descriptor that this process was started with.
    Descriptor(RawFd),
    /// `tty:PATH[,SPEED]`: a serial device or pseudo terminal, in bits per second.
    Terminal(PathBuf, Option<u32>),
    /// `unix:PATH`: a Unix stream socket that somebody else listens on.
    Connect(PathBuf),
    /// `listen:PATH`: the same the other way round; one peer after the other.
    Listen(PathBuf),
    /// `pty`: a pseudo terminal made for the peer.
    Pty,
    /// `stdio`: standard input and output.
    Standard,
    /// `exec:COMMAND`: a program's standard input and output; where the command has `{fd}`, its descriptor of that
    /// number alone.
    Program(String),
}

/// A text that names no line.
const WORDS: &str = "tty:PATH, tty:PATH,SPEED, unix:PATH, listen:PATH, fd:N, pty, stdio or exec:COMMAND";

impl FromStr for Opening {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| format!("{why}; a line is {WORDS}");
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let is_named = !rest.is_empty();
        match word {
            "pty" if !is_named => Ok(Self::Pty),
            "stdio" if !is_named => Ok(Self::Standard),
            "fd" => match rest.parse() {
                Ok(number) if number >= 0 => Ok(Self::Descriptor(number)),
                _ => Err(refused(&format!("\"{rest}\" is no descriptor's number"))),
            },
            "tty" if is_named => match rest.rsplit_once(',') {
                Some((path, speed)) if !speed.contains('/') => match speed.parse() {
                    Ok(speed) if speed > 0 => Ok(Self::Terminal(path.into(), Some(speed))),
                    _ => Err(refused(&format!("\"{speed}\" is no speed in bits per second"))),
                },
                _ => Ok(Self::Terminal(rest.into(), None)),
            },
            "unix" | "connect" if is_named => Ok(Self::Connect(rest.into())),
            "listen" if is_named => Ok(Self::Listen(rest.into())),
            "exec" if is_named => Ok(Self::Program(rest.to_owned())),
            "tty" | "unix" | "connect" | "listen" => Err(refused(&format!("\"{text}\" has no path"))),
            "exec" => Err(refused("\"exec:\" has no command")),
            _ if text.starts_with('/') => {
                Err(refused(&format!("\"{text}\" does not say what it is (a serial device would be tty:{text})")))
            }
            _ => Err(refused(&format!("\"{text}\" is no line"))),
        }
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Descriptor(number) => write!(f, "fd:{number}"),
            Self::Terminal(path, None) => write!(f, "tty:{}", path.display()),
            Self::Terminal(path, Some(speed)) => write!(f, "tty:{},{speed}", path.display()),
            Self::Connect(path) => write!(f, "unix:{}", path.display()),
            Self::Listen(path) => write!(f, "listen:{}", path.display()),
            Self::Pty => f.write_str("pty"),
            Self::Standard => f.write_str("stdio"),
            Self::Program(command) => write!(f, "exec:{command}"),
        }
    }
}

/// Why there is no line: which, what went wrong, what to do.
#[derive(Debug, thiserror::Error)]
#[error("line `{line}`: {what}: {why}{}{remedy}", if remedy.is_empty() { "" } else { ". " })]
pub struct LineError {
    /// The line.
    pub line: String,
    /// What was tried.
    pub what: &'static str,
    /// What the operating system said.
    pub why: io::Error,
    /// What would help; empty where that is not known.
    pub remedy: &'static str,
}

/// Where ends of a line come from.
#[derive(Debug)]
pub(super) struct LineOpener {
    opening: Opening,
    source: Source,
    /// Of its program.
    end: ProgramEnd,
}

#[derive(Debug)]
enum Source {
    /// There is one, and then none; whether it has been had.
    Once(bool),
    /// It is opened again each time.
    Anew,
    Listener(Listener),
    /// Our side of a pseudo terminal, and the name of the other.
    Master(OwnedFd, String),
}

/// A listener, and the path that is removed with it.
#[derive(Debug)]
struct Listener(UnixListener, PathBuf);

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.1);
    }
}

/// What octets are read from and written to.
#[derive(Debug)]
pub(super) struct Ends {
    read: OwnedFd,
    /// Where that is another.
    write: Option<OwnedFd>,
    /// How descriptors were before; put back when the line is left.
    _settings: Vec<Settings>,
    program: Option<Program>,
}

/// A program that was started for the line. It is told to end when the line is left.
#[derive(Debug)]
struct Program {
    child: Option<Child>,
    end: ProgramEnd,
    /// Its streams have ended, so that it is about to end by itself.
    is_ending: bool,
}

impl Drop for Program {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        // It leads a group of its own, with whatever it has started. As long as it has not been waited for, no other
        // can have its number.
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let stop = move || leader.map(|group| kill_process_group(group, Signal::TERM));
        let end = self.end.clone();
        if !self.is_ending {
            let _ = stop();
            // Nobody waits for it here, and it must not stay as one that has ended.
            std::thread::spawn(move || child.wait());
            return;
        }
        end.begin();
        std::thread::spawn(move || {
            let by_itself = ends_soon(leader);
            if !by_itself {
                let _ = stop();
            }
            let status = child.wait().ok();
            end.tell(status.filter(|_| by_itself));
        });
    }
}

/// Whether a child ends by itself within [`ENDING`]; it is left to be waited for.
fn ends_soon(child: Option<Pid>) -> bool {
    let Some(child) = child else {
        return false;
    };
    let (teller, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(child), how));
        // Nobody listens any more where it took too long.
        let _ = teller.send(ended.is_ok());
    });
    told.recv_timeout(ENDING).unwrap_or(false)
}

/// How the program of a line has ended, where it did so by itself: known a moment after the line has gone. Of a line
/// that is opened again it is the last one's.
#[derive(Clone, Debug, Default)]
pub struct ProgramEnd(Arc<(Mutex<ProgramExit>, Condvar)>);

#[derive(Debug, Default)]
struct ProgramExit {
    /// A program's streams have ended, and how it ends is not known yet.
    is_awaited: bool,
    status: Option<ExitStatus>,
}

impl ProgramEnd {
    fn with<T>(&self, act: impl FnOnce(&mut ProgramExit) -> T) -> T {
        act(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self) {
        self.with(|it| it.is_awaited = true);
    }

    fn tell(&self, status: Option<ExitStatus>) {
        self.with(|it| {
            it.is_awaited = false;
            it.status = status.or(it.status);
        });
        self.0.1.notify_all();
    }

    /// Its status, if one has ended since this was asked last.
    #[must_use]
    pub fn take(&self) -> Option<ExitStatus> {
        self.with(|it| it.status.take())
    }

    /// The same, and waits for a program whose streams have ended: as long as that is given to end by itself, and to
    /// end when it is told to.
    #[must_use]
    pub fn wait(&self) -> Option<ExitStatus> {
        let (ending, changed) = &*self.0;
        let held = ending.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(held, ENDING * 2, |it| it.is_awaited);
        waited.unwrap_or_else(PoisonError::into_inner).0.status.take()
    }
}

impl Ends {
    /// The far end has gone: a program is given the time to end by itself.
    pub(super) fn lose(mut self) {
        if let Some(program) = &mut self.program {
            program.is_ending = true;
        }
    }

    pub(super) fn read(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }

    pub(super) fn write(&self) -> BorrowedFd<'_> {
        self.write.as_ref().unwrap_or(&self.read).as_fd()
    }

    fn of(both: OwnedFd, settings: Settings) -> Self {
        Self { read: both, write: None, _settings: vec![settings], program: None }
    }
}

impl LineOpener {
    pub(super) fn new(opening: &Opening) -> Result<Self, LineError> {
        let source = match opening {
            Opening::Descriptor(_) | Opening::Standard => Source::Once(false),
            Opening::Terminal(..) | Opening::Connect(_) | Opening::Program(_) => Source::Anew,
            Opening::Listen(path) => {
                Source::Listener(listen(path).map_err(|why| failed(opening, "cannot listen there", why, ""))?)
            }
            Opening::Pty => {
                let (master, name) =
                    terminal::new_pair().map_err(|why| failed(opening, "cannot make a pseudo terminal", why, ""))?;
                Source::Master(master, name)
            }
        };
        Ok(Self { opening: opening.clone(), source, end: ProgramEnd::default() })
    }

    pub(super) fn terminal(&self) -> Option<&str> {
        match &self.source {
            Source::Master(_, name) => Some(name),
            Source::Once(_) | Source::Anew | Source::Listener(_) => None,
        }
    }

    pub(super) const fn end(&self) -> &ProgramEnd {
        &self.end
    }

    /// Whether there can be a far end later, where there is none now.
    pub(super) const fn may_come(&self) -> bool {
        !matches!(self.source, Source::Once(_))
    }

    /// Whether a next peer is always welcome, as what they come to lasts.
    pub(super) const fn always_again(&self) -> bool {
        matches!(self.source, Source::Listener(_) | Source::Master(..))
    }

    /// Whether looking for the next peer costs more than a glance.
    pub(super) const fn must_be_tried(&self) -> bool {
        matches!(self.source, Source::Anew)
    }

    /// What becomes readable when somebody comes.
    pub(super) fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Source::Listener(Listener(listener, _)) => Some(listener.as_fd()),
            // A terminal that was hung up is always readable: it is looked at now and then.
            Source::Once(_) | Source::Anew | Source::Master(..) => None,
        }
    }

    /// The ends of the line, where somebody is there.
    pub(super) fn next(&mut self) -> Result<Option<Ends>, LineError> {
        let (opening, end) = (&self.opening, &self.end);
        match &mut self.source {
            Source::Listener(Listener(listener, _)) => match listener.accept() {
                Ok((socket, _)) => {
                    connected(socket).map(Some).map_err(|why| failed(opening, "cannot use the connection", why, ""))
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(why) => Err(failed(opening, "cannot accept a connection", why, "")),
            },
            Source::Master(master, _) => {
                if is_hung_up(master.as_fd()) {
                    return Ok(None);
                }
                let ends = duplicate(master.as_fd()).map(|master| {
                    let settings = Settings::unchanged();
                    Ends::of(master, settings)
                });
                ends.map(Some).map_err(|why| failed(opening, "cannot use it", why, ""))
            }
            Source::Once(had) => match core::mem::replace(had, true) {
                false => open(opening, end).map(Some),
                true => Ok(None),
            },
            Source::Anew => open(opening, end).map(Some),
        }
    }
}

fn failed(opening: &Opening, what: &'static str, why: impl Into<io::Error>, remedy: &'static str) -> LineError {
    LineError { line: opening.to_string(), what, why: why.into(), remedy }
}

/// Opens what is opened again for each peer, or exists once.
fn open(opening: &Opening, end: &ProgramEnd) -> Result<Ends, LineError> {
    let unusable = |why: Errno| failed(opening, "cannot be used as a line", why, "");
    match opening {
        Opening::Descriptor(number) => {
            let file = inherited(*number).map_err(|why| {
                let remedy = "The descriptor must be open when this program is started";
                failed(opening, "there is no such descriptor", why, remedy)
            })?;
            let settings = Settings::of_line(file.as_fd(), None).map_err(unusable)?;
            Ok(Ends::of(file, settings))
        }
        Opening::Standard => {
            let (read, write) = standard().map_err(unusable)?;
            let settings = vec![
                Settings::of_line(read.as_fd(), None).map_err(unusable)?,
                Settings::of_line(write.as_fd(), None).map_err(unusable)?,
            ];
            Ok(Ends { read, write: Some(write), _settings: settings, program: None })
        }
        Opening::Terminal(path, speed) => {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).map_err(|why| {
                let remedy = match why {
                    Errno::ACCESS => "Be in the group that owns it (often dialout), or be root",
                    Errno::BUSY => "Another program has it for itself",
                    _ => "",
                };
                failed(opening, "cannot be opened", why, remedy)
            })?;
            if !rustix::termios::isatty(&file) {
                let remedy = "A socket is named by unix:PATH";
                return Err(failed(opening, "is no terminal", Errno::NOTTY, remedy));
            }
            let settings = Settings::of_line(file.as_fd(), *speed).map_err(|why| {
                let remedy = match why {
                    Errno::INVAL => "It may not have this speed",
                    _ => "",
                };
                failed(opening, "cannot be made a raw line", why, remedy)
            })?;
            Ok(Ends::of(file, settings))
        }
        Opening::Connect(path) => {
            let socket = UnixStream::connect(path).and_then(connected);
            socket.map_err(|why| {
                let nobody = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
                let remedy = if nobody.contains(&why.kind()) {
                    "Start the peer first, or listen:PATH here, or --persist to wait for it"
                } else {
                    ""
                };
                failed(opening, "cannot connect", why, remedy)
            })
        }
        Opening::Program(command) => {
            run(command, end).map_err(|why| failed(opening, "cannot start the program", why, ""))
        }
        // These have a source of their own.
        Opening::Listen(_) | Opening::Pty => Err(unusable(Errno::INVAL)),
    }
}

fn connected(socket: UnixStream) -> io::Result<Ends> {
    socket.set_nonblocking(true)?;
    Ok(Ends::of(socket.into(), Settings::unchanged()))
}

/// Starts `command` by the shell. `{fd}` stands for its standard input, which then is the line both ways, and what it
/// prints comes to our standard error.
fn run(command: &str, end: &ProgramEnd) -> io::Result<Ends> {
    let (ours, its) = UnixStream::pair()?;
    let output = if command.contains("{fd}") {
        Stdio::from(duplicate(io::stderr().as_fd())?)
    } else {
        Stdio::from(OwnedFd::from(its.try_clone()?))
    };
    let child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command.replace("{fd}", "0"))
        .stdin(Stdio::from(OwnedFd::from(its)))
        .stdout(output)
        .process_group(0)
        .spawn()?;
    let mut ends = connected(ours)?;
    ends.program = Some(Program { child: Some(child), end: end.clone(), is_ending: false });
    Ok(ends)
}

/// The descriptor `number` that this process was started with; that itself is left as it is.
fn inherited(number: RawFd) -> Result<OwnedFd, Errno> {
    if std::fs::symlink_metadata(format!("/dev/fd/{number}")).is_err() {
        return Err(Errno::BADF);
    }
    #[expect(unsafe_code, reason = "a number says nothing of who owns it")]
    // SAFETY: it is open, as has just been seen, and stays so for the one call below: lines are opened before other
    // threads are started, and the number was given by whoever started this process.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    duplicate(borrowed)
}

fn listen(path: &Path) -> io::Result<Listener> {
    Ok(Listener(listen_at(path)?, path.to_owned()))
}

/// Listens on a Unix socket, which is made here and waits for nothing; one on which nobody listens any more is
/// replaced.
///
/// # Errors
/// Those of `bind(2)`: `AddrInUse` where somebody listens there, or where there is a file that is no socket, and says
/// which.
pub fn listen_at(path: &Path) -> io::Result<UnixListener> {
    clear(path)?;
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Makes room for a Unix socket: what one that was killed has left behind is in nobody's use, and goes.
///
/// # Errors
/// `AddrInUse` where somebody has that socket, or where there is a file that is no socket, and says which.
pub fn clear(path: &Path) -> io::Result<()> {
    let in_use = |why: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, format!("{why}; choose another name")));
    match std::fs::symlink_metadata(path) {
        // Whether it may be made there is found out when it is.
        Err(_) => Ok(()),
        Ok(file) if !file.file_type().is_socket() => in_use("there is a file that is no socket"),
        // Of any other answer, such as that it is of another kind or of another user, somebody may be there.
        Ok(_) => match UnixStream::connect(path) {
            Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
            _ => in_use("another program listens there already"),
        },
    }
}

/// Whether nobody has the other side of a pseudo terminal open.
fn is_hung_up(master: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(master, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok() && polled.first().is_some_and(|it| it.revents().contains(PollFlags::HUP))
}
