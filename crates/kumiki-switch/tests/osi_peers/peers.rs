//! The peers: programs that are started for one test and ended with it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The folder of the peers, beside the repository; whoever runs the tests may have none.
pub(crate) fn kit() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = here.ancestors().map(|above| above.join("shared/peers"));
    folders.find(|folder| folder.is_dir())
}

pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(system);
    folders.any(|folder| folder.join(program).is_file())
}

/// Why a test goes without its peer; it fails where somebody has asked for peers.
pub(crate) fn skip(why: &str) {
    let is_required = std::env::var("KUMIKI_REQUIRE_OSI").is_ok_and(|it| !it.is_empty());
    assert!(!is_required, "KUMIKI_REQUIRE_OSI is set, and {why}");
    println!("skipped: {why}");
}

/// A folder for one test; removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("kumiki-osi-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that was started; it is told to end with the test.
pub(crate) struct Running {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    /// All that it has printed so far.
    said: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// One that runs as long as its standard input is open.
    pub(crate) fn with_input(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::piped()))
    }

    fn spawn(command: &mut Command) -> Self {
        kumiki_watchdog::minute();
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().map(BufReader::new);
        Self { child, output, said: String::new() }
    }

    /// Reads until a line has `text` in it; panics where there is none.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let output = self.output.as_mut().unwrap();
        loop {
            kumiki_watchdog::minute();
            let mut line = String::new();
            let read = output.read_line(&mut line).unwrap();
            assert!(read > 0, "{text:?} was never said:\n{}", self.said);
            self.said.push_str(&line);
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits for its end; its status, and all that it has said.
    pub(crate) fn end(mut self) -> (i32, String) {
        kumiki_watchdog::minute();
        let mut output = self.output.take().unwrap();
        output.read_to_string(&mut self.said).unwrap();
        let status = self.child.wait().unwrap();
        (status.code().unwrap_or(-1), core::mem::take(&mut self.said))
    }

    fn ask_to_end(&self) {
        let id = i32::try_from(self.child.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.ask_to_end();
            let _ = self.child.wait();
        }
    }
}
