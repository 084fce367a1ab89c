//! Processes, ports and folders of one test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use serde_json::Value;

/// An address of the loopback interface that goes with the number of this process: what is at it is ours alone, whoever runs the same tests.
fn own() -> Ipv4Addr {
    if !cfg!(target_os = "linux") {
        // There it has this address alone.
        return Ipv4Addr::LOCALHOST;
    }
    // Linux has processes up to 2^22. The first of all these addresses are others'.
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high + 1, middle, low)
}

/// Two sockets that nobody has, of even ports: the odd ones of SimEther are not for stations. Each host must know that of the other one before either
/// runs, so it is not the kernel that gives them; no two tests have one of them.
pub(crate) fn sockets() -> [SocketAddrV4; 2] {
    static USED: AtomicU16 = AtomicU16::new(0);
    let next = || {
        let number = USED.fetch_add(2, Ordering::Relaxed);
        assert!(number < 10_000, "no port is free");
        SocketAddrV4::new(own(), 10_000 + number)
    };
    [(); 2].map(|()| {
        // Whoever is at this port of all addresses is at it here too.
        let mut all = std::iter::repeat_with(next);
        all.find(|it| UdpSocket::bind(it).is_ok()).unwrap()
    })
}

/// A process that was started; it is killed where the test ends before it.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    said: String,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) said: String,
    pub(crate) errors: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        kumiki_watchdog::minute();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut errors = child.stderr.take().unwrap();
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        Self { child, lines, errors: Some(errors), said: String::new() }
    }

    /// The next line; `None` at the end.
    fn line(&mut self) -> Option<String> {
        kumiki_watchdog::minute();
        let line = self.lines.recv().ok()?;
        self.said.push_str(&line);
        self.said.push('\n');
        Some(line)
    }

    /// Reads until it has told of an event of this kind.
    pub(crate) fn wait_for(&mut self, kind: &str) {
        while let Some(line) = self.line() {
            if event(&line, kind).is_some() {
                return;
            }
        }
        let errors = self.errors.take().map(|errors| errors.join().unwrap());
        panic!("no {kind}:\n{}{}", self.said, errors.unwrap_or_default());
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        kumiki_watchdog::minute();
        while self.line().is_some() {}
        let status = self.child.wait().unwrap();
        Ended {
            status: status.code().unwrap_or(-1),
            said: core::mem::take(&mut self.said),
            errors: self.errors.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The only event of this kind that it has told of.
    pub(crate) fn event(&self, kind: &str) -> Value {
        let mut all = self.said.lines().filter_map(|line| event(line, kind));
        let (one, another) = (all.next(), all.next());
        assert!(another.is_none(), "{self:?}");
        one.unwrap_or_else(|| panic!("no {kind}: {self:?}"))
    }
}

fn event(line: &str, kind: &str) -> Option<Value> {
    let event: Value = serde_json::from_str(line).ok()?;
    (event["event"] == kind).then_some(event)
}

/// A folder for one test; removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("kumiki-xtp-{}-{name}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
