//! `kumiki mms` and `kumiki mmsd` as processes, over the loopback interface.
#![expect(clippy::unwrap_used, reason = "a test may stop where something is not as it should be")]
#![cfg(target_os = "linux")]

mod files;
mod memory;
mod peer;

use crate::ftam::harness::{Folder, ProcessOutput, Running};

/// A responder on `root` of a folder.
struct Daemon {
    /// Ends with this.
    running: Running,
    /// Address and port.
    at: String,
}

impl Daemon {
    fn start(folder: &Folder, options: &[&str]) -> Self {
        let mut all = vec!["mmsd", "--root", "root", "--listen", "127.0.0.1:0"];
        all.extend(options);
        let running = Running::start(folder.command(&all));
        let line = running.line();
        let at = line.strip_prefix("listens at ").unwrap();
        let at = at.split_whitespace().next().unwrap().to_owned();
        Self { running, at }
    }

    fn url(&self, rest: &str) -> String {
        format!("mms://{}/{rest}", self.at)
    }

    fn port(&self) -> &str {
        self.at.rsplit(':').next().unwrap()
    }
}

/// Runs `kumiki mms ARGUMENTS`.
fn mms(folder: &Folder, arguments: &[&str]) -> ProcessOutput {
    let all: Vec<&str> = std::iter::once("mms").chain(arguments.iter().copied()).collect();
    folder.kumiki(&all)
}
