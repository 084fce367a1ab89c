//! A responder and callers as processes, in a folder of their own, with an end to all waiting.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) const KUMIKI: &str = env!("CARGO_BIN_EXE_kumiki");

/// A folder of its own for one test, with the directory `root` in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ftam").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("root")).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: &[u8]) {
        std::fs::write(self.path(name), contents).unwrap();
        // Some are passwords, which nobody else may read.
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(self.path(name), own).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Names in a directory, those of unfinished files among them.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        names(&self.path(directory))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(KUMIKI);
        command
            .args(arguments)
            .current_dir(&self.0)
            .env_remove("KUMIKI_FTAM_PASSWORD")
            .env_remove("KUMIKI_MMS_PASSWORD")
            .stdin(Stdio::null());
        command
    }

    /// Runs `kumiki ARGUMENTS` to its end.
    pub(crate) fn kumiki(&self, arguments: &[&str]) -> Ran {
        Running::start(self.command(arguments)).end()
    }

    /// Runs `kumiki ftam ARGUMENTS`.
    pub(crate) fn ftam(&self, arguments: &[&str]) -> Ran {
        let all: Vec<&str> = std::iter::once("ftam").chain(arguments.iter().copied()).collect();
        self.kumiki(&all)
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a process has said, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// It went well.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    /// It ended with this status, and said all of these.
    #[track_caller]
    pub(crate) fn failed(&self, status: i32, said: &[&str]) {
        assert_eq!(self.status, Some(status), "{self:?}");
        for part in said {
            assert!(self.err.contains(part), "{part:?} is not in {self:?}");
        }
    }
}

/// A process that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|len| len > 0) {
            let text = String::from_utf8_lossy(&line);
            let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
            line.clear();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    receiver
}

fn rest(receiver: &Receiver<String>) -> String {
    let mut all = String::new();
    while let Ok(line) = receiver.recv() {
        all.push_str(&line);
        all.push('\n');
    }
    all
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        kumiki_watchdog::minute();
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = lines(child.stdout.take().unwrap());
        let err = lines(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    /// The next line of its standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        kumiki_watchdog::minute();
        self.out.recv().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Waits for its end, which is to come.
    pub(crate) fn end(mut self) -> Ran {
        kumiki_watchdog::minute();
        let (out, err) = (rest(&self.out), rest(&self.err));
        let status = self.child.wait().unwrap().code();
        Ran { status, out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A responder on `root` of a folder.
pub(crate) struct Daemon {
    pub(crate) running: Running,
    /// Address and port.
    pub(crate) at: String,
}

impl Daemon {
    /// One with these options beside `--root` and a port of its own.
    pub(crate) fn start(folder: &Folder, options: &[&str]) -> Self {
        Self::on(folder, "--listen", options)
    }

    pub(crate) fn on(folder: &Folder, carrier: &str, options: &[&str]) -> Self {
        let mut all = vec!["ftamd", "--root", "root", carrier, "127.0.0.1:0"];
        all.extend(options);
        let running = Running::start(folder.command(&all));
        let line = running.line();
        let at = line.strip_prefix("listens at ").unwrap();
        let at = at.split_whitespace().next().unwrap().to_owned();
        Self { running, at }
    }

    pub(crate) fn url(&self, rest: &str) -> String {
        format!("ftam://{}/{rest}", self.at)
    }

    pub(crate) fn port(&self) -> &str {
        self.at.rsplit(':').next().unwrap()
    }

    /// The log of the next association.
    #[track_caller]
    pub(crate) fn log(&self) -> String {
        self.running.line()
    }

    /// Ctrl-C, which is to end it well.
    #[track_caller]
    pub(crate) fn stop(self) -> Ran {
        self.running.signal(Signal::INT);
        self.running.end().well()
    }
}

/// Waits until something is seen, for a minute at most, whatever it is seen with.
#[track_caller]
pub(crate) fn until(mut seen: impl FnMut() -> bool) {
    kumiki_watchdog::during(|| {
        while !seen() {
            std::thread::yield_now();
        }
    });
}

/// A host name for which no resolver is asked, since it can be none: a label has 63 octets at most (RFC 1035, 2.3.4).
pub(crate) fn no_host() -> String {
    format!("{}.invalid", "x".repeat(64))
}

/// A file of so many bytes that take no room on the disk.
pub(crate) fn hollow(path: &Path, len: u64) {
    std::fs::File::create(path).unwrap().set_len(len).unwrap();
}

/// What a command of the system prints; none where there is no such command.
pub(crate) fn system(name: &str, arguments: &[&str]) -> Option<Output> {
    Command::new(name).args(arguments).output().ok()
}
