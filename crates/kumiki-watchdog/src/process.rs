//! Processes under test, and the folders that they work in.

#![expect(clippy::unwrap_used, reason = "a test that is set up wrongly fails")]

use std::borrow::BorrowMut;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};

/// A folder of its own for one test. It goes with the test, but where that fails.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty one for the test `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::within(&std::env::temp_dir(), name)
    }

    /// One within `place`: that of temporary files may be small.
    #[must_use]
    pub fn within(place: &Path, name: &str) -> Self {
        // Tests of one program may give one name.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = place.join(format!("kumiki-{}-{number}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.0
    }

    /// Where `name` is in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file that nobody else may read: some are passwords.
    pub fn write(&self, name: &str, contents: &[u8]) {
        let path = self.path(name);
        std::fs::write(&path, contents).unwrap();
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, own).unwrap();
    }

    /// What a file in it holds.
    #[must_use]
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names in `directory`, in their order, those that begin with a dot among them.
    #[must_use]
    pub fn names(&self, directory: &str) -> Vec<String> {
        let names = std::fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// What a process has said, and how it ended.
#[derive(Debug)]
pub struct ProcessOutput {
    /// Its status, where no signal has ended it.
    pub status: Option<i32>,
    /// Its standard output, but for what [`Running::line`] has taken of it.
    pub out: String,
    /// Its standard error, where that was not left to the test's.
    pub err: String,
}

impl ProcessOutput {
    /// It went well.
    #[track_caller]
    pub fn well(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    /// It ended with this status, and said all of these.
    #[track_caller]
    pub fn failed(&self, status: i32, said: &[&str]) {
        assert_eq!(self.status, Some(status), "{self:?}");
        for part in said {
            assert!(self.err.contains(part), "{part:?} is not in {self:?}");
        }
    }
}

/// A process that runs, and is ended with the test.
#[derive(Debug)]
pub struct Running {
    child: Child,
    out: Receiver<String>,
    err: Option<Receiver<String>>,
    /// What was passed over.
    said: String,
    /// What ends it.
    last: Signal,
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
    receiver.iter().flat_map(|line| [line, "\n".to_owned()]).collect()
}

impl Running {
    /// One of ours: its output is read, and it is killed where the test ends before it.
    #[must_use]
    pub fn start(mut command: impl BorrowMut<Command>) -> Self {
        let command = command.borrow_mut().stderr(Stdio::piped());
        let mut running = Self::spawn(command, Signal::KILL);
        running.err = running.child.stderr.take().map(lines);
        running
    }

    /// A program of others: its standard error is what the command says, and it is asked to end, for it may have
    /// processes of its own to end.
    #[must_use]
    pub fn peer(mut command: impl BorrowMut<Command>) -> Self {
        Self::spawn(command.borrow_mut(), Signal::TERM)
    }

    fn spawn(command: &mut Command, last: Signal) -> Self {
        crate::minute();
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = lines(child.stdout.take().unwrap());
        Self { child, out, err: None, said: String::new(), last }
    }

    /// The process, whose input is still there if it was piped.
    pub const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of its standard output.
    #[track_caller]
    pub fn line(&self) -> String {
        crate::minute();
        self.out.recv().unwrap()
    }

    /// Reads until a line has `text` in it; all of these lines stay in what [`Running::end`] gives.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            crate::minute();
            let Ok(line) = self.out.recv() else {
                let err = self.err.as_ref().map(rest).unwrap_or_default();
                panic!("{text:?} was never said:\n{}{err}", self.said);
            };
            self.said.push_str(&line);
            self.said.push('\n');
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Ends it without a word.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, which is to come.
    pub fn end(mut self) -> ProcessOutput {
        crate::minute();
        // One that waits for the end of its input would otherwise wait for ever.
        drop(self.child.stdin.take());
        let out = core::mem::take(&mut self.said) + &rest(&self.out);
        let err = self.err.as_ref().map(rest).unwrap_or_default();
        let status = self.child.wait().unwrap().code();
        ProcessOutput { status, out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal(self.last);
            let _ = self.child.wait();
        }
    }
}
