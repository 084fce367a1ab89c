//! Commands from people and programs while a delay generator runs: lines on the standard input, and on a Unix socket.
//!
//! | | |
//! |---|---|
//! | Answer on a socket | what was asked for, if anything, and then a line `ok` or `error: ` with what is wrong |
//! | Threads | one reads the standard input, one waits for callers, and one serves each caller: none of them can hold up units |
//! | Who may | whoever may write to the socket's file, which is made for its owner only |
//! | Left out | sockets that others can reach |

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::command::Command;
use super::command_requests::CommandSender;
use kumiki_config::refusal::{self, Access};
use kumiki_live::OutputFormat;

/// The longest line that is read; nobody needs one as long.
const LINE: u64 = 4096;

/// How many callers are served at once.
const CALLERS: usize = 16;

/// The answer to a line that was carried out, and to one that was not.
const OK: &str = "ok";
const ERROR: &str = "error: ";

/// Reads a line without its end; `None` at the end of the input.
fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut octets = Vec::new();
    from.take(LINE).read_until(b'\n', &mut octets)?;
    if octets.is_empty() {
        return Ok(None);
    }
    if octets.last() != Some(&b'\n') && u64::try_from(octets.len()).is_ok_and(|n| n >= LINE) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a line has {LINE} octets at most")));
    }
    Ok(Some(String::from_utf8_lossy(&octets).trim().to_owned()))
}

/// Serves lines of `input` until its end, or until the engine has ended; answers go to `say`, as lines.
pub fn serve<C>(input: impl io::Read, asking: &CommandSender<C>, form: OutputFormat, mut say: impl FnMut(&str)) {
    let mut input = BufReader::new(input);
    loop {
        let text = match line(&mut input) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(why) => {
                say(&format!("{ERROR}{why}"));
                return;
            }
        };
        let Some(answer) = asking.ask_line(&text, form == OutputFormat::Json) else {
            return;
        };
        match (answer, form) {
            (Ok(answer), OutputFormat::Text) => say(&format!("{answer}{}{OK}", gap(&answer))),
            (Err(why), OutputFormat::Text) => say(&format!("{ERROR}{why}")),
            (Ok(answer), OutputFormat::Json) if !answer.is_empty() => say(&answer),
            (Ok(_), OutputFormat::Json) => say(&json!({ "event": "done", "line": text }).to_string()),
            (Err(why), OutputFormat::Json) => {
                say(&json!({ "event": "error", "line": text, "why": why }).to_string());
            }
        }
    }
}

/// What ends the last line of `text`, where nothing does yet.
fn gap(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with('\n') { "" } else { "\n" }
}

/// Whether this process may read from the terminal that is its standard input without being stopped for it.
#[must_use]
pub fn is_in_foreground() -> bool {
    kumiki_io::signal::is_in_foreground()
}

/// A socket on which commands are taken; its file goes with it.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    listener: Option<UnixListener>,
}

impl Drop for Control {
    fn drop(&mut self) {
        // Where it has gone already, that was meant.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A control socket that cannot be had or reached.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct ControlError {
    /// Its file.
    pub path: PathBuf,
    /// What is wrong.
    pub why: String,
    /// Whether who named the file, or wrote the line, has to mend it: the file is none, or whoever listens there has
    /// refused the line.
    pub is_mistake: bool,
}

impl ControlError {
    fn new(path: &Path, why: impl core::fmt::Display) -> Self {
        Self { path: path.to_owned(), why: why.to_string(), is_mistake: false }
    }
}

impl Control {
    /// Makes a socket at `path`, on which commands are taken when it is told to [`begin`](Self::begin). A file that an
    /// earlier run has left there is replaced.
    ///
    /// # Errors
    /// [`ControlError`] where there is something else, another program listens there, or the file cannot be made.
    pub fn listen(path: &Path) -> Result<Self, ControlError> {
        let failed = |why: io::Error| ControlError::new(path, refusal::words(path, &why, Access::Write));
        let listener = kumiki_io::line::listen_at(path).map_err(failed)?;
        // A thread of its own waits for callers.
        listener.set_nonblocking(false).map_err(failed)?;
        let control = Self { path: path.to_owned(), listener: Some(listener) };
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, owner_only).map_err(failed)?;
        Ok(control)
    }

    /// Takes commands from now on.
    pub fn begin<C: Send + 'static>(&mut self, asking: CommandSender<C>) {
        if let Some(listener) = self.listener.take() {
            std::thread::spawn(move || accept(&listener, &asking));
        }
    }
}

fn accept<C: Send + 'static>(listener: &UnixListener, asking: &CommandSender<C>) {
    let callers = Arc::new(());
    for stream in listener.incoming().map_while(Result::ok) {
        if Arc::strong_count(&callers) > CALLERS {
            let mut stream = stream;
            let _ = writeln!(stream, "{ERROR}{CALLERS} callers are served already");
            continue;
        }
        let (asking, caller) = (asking.clone(), Arc::clone(&callers));
        std::thread::spawn(move || {
            let Ok(mut answers) = stream.try_clone() else {
                return;
            };
            serve(stream, &asking, OutputFormat::Text, |said| {
                // Who does not wait for the answer does not get it.
                let _ = writeln!(answers, "{said}");
            });
            drop(caller);
        });
    }
}

/// That nobody is reached at `path`.
fn unheard(path: &Path, why: &io::Error) -> ControlError {
    let is_of_socket = why.kind() == io::ErrorKind::ConnectionRefused;
    let words = if is_of_socket {
        // A file that is no socket is refused in the same way.
        let is_socket = std::fs::metadata(path).is_ok_and(|it| it.file_type().is_socket());
        if is_socket { "nothing listens there any more" } else { "it is no socket" }.to_owned()
    } else {
        refusal::words(path, why, Access::Read)
    };
    let why = format!("{words}; `kumiki delay`, `link` or `live` with --control and this path would listen there");
    ControlError { is_mistake: words != "nothing listens there any more", ..ControlError::new(path, why) }
}

/// Has the delay generator, or the network, that listens at `path` carry out one line.
///
/// # Errors
/// [`ControlError`] where nobody listens there, or where the line is wrong.
pub fn send(path: &Path, command: &str) -> Result<String, ControlError> {
    if command.contains('\n') {
        return Err(ControlError::new(path, "one line at a time"));
    }
    let mut stream = UnixStream::connect(path).map_err(|why| unheard(path, &why))?;
    let failed = |why: io::Error| ControlError::new(path, refusal::plain(&why));
    writeln!(stream, "{command}").map_err(failed)?;
    let mut answer = String::new();
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(failed)?;
        if line == OK {
            return Ok(answer);
        }
        if let Some(why) = line.strip_prefix(ERROR) {
            return Err(ControlError { is_mistake: true, ..ControlError::new(path, why) });
        }
        answer.push_str(&line);
        answer.push('\n');
    }
    // It may have ended before it could say that it would.
    if Command::parse(command) == Ok(Command::Quit) {
        return Ok(answer);
    }
    Err(ControlError::new(path, "it has ended before it answered"))
}
