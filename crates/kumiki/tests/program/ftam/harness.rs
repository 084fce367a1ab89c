//! A responder and callers as processes, in a folder of their own, with an end to all waiting.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;

pub(crate) use kumiki_watchdog::process::{ProcessOutput, Running};

pub(crate) const KUMIKI: &str = env!("CARGO_BIN_EXE_kumiki");

/// A folder of its own for one test, with the directory `root` in it.
pub(crate) struct Folder(kumiki_watchdog::process::Folder);

impl core::ops::Deref for Folder {
    type Target = kumiki_watchdog::process::Folder;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ftam");
        let folder = kumiki_watchdog::process::Folder::within(&place, name);
        std::fs::create_dir(folder.path("root")).unwrap();
        Self(folder)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(KUMIKI);
        command
            .args(arguments)
            .current_dir(self.place())
            .env_remove("KUMIKI_FTAM_PASSWORD")
            .env_remove("KUMIKI_MMS_PASSWORD")
            .stdin(Stdio::null());
        command
    }

    /// Runs `kumiki ARGUMENTS` to its end.
    pub(crate) fn kumiki(&self, arguments: &[&str]) -> ProcessOutput {
        Running::start(self.command(arguments)).end()
    }

    /// Runs `kumiki ftam ARGUMENTS`.
    pub(crate) fn ftam(&self, arguments: &[&str]) -> ProcessOutput {
        self.kumiki(&[&["ftam"], arguments].concat())
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
    pub(crate) fn stop(self) -> ProcessOutput {
        self.running.signal(Signal::INT);
        self.running.end().well()
    }
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
