//! A stack that leads nowhere but to itself, and its server.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;

use kumiki_net::host::{HostConfig, HostDriver, NullDevice};
use kumiki_net::rings::{Limits, RemoteStack, StackServer};
use kumiki_watchdog::process::Folder;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The address of the stack.
pub(crate) const OWN: &str = "10.9.0.1";

/// A server in a thread of its own.
pub(crate) struct Server {
    folder: Folder,
    ends: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    pub(crate) stack: kumiki_net::Stack,
}

impl Server {
    pub(crate) fn start(name: &str, limits: Limits) -> Self {
        let folder = Folder::new(name);
        let path = folder.path("stack");
        let (ends, ended) = oneshot::channel();
        let (ready, is_ready) = channel();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let address: IpAddr = OWN.parse().unwrap();
                let names = |name: &str| match name {
                    "self" => Ok(vec![OWN.parse().unwrap()]),
                    _ => Err(io::Error::new(io::ErrorKind::NotFound, format!("nobody is called {name}"))),
                };
                let config = HostConfig::new([address]).resolver(std::sync::Arc::new(names));
                let driver = HostDriver::new(Box::new(NullDevice), &config).unwrap();
                let server = StackServer::new(driver.stack(), limits);
                let listener = tokio::net::UnixListener::bind(path).unwrap();
                ready.send(driver.stack().clone()).unwrap();
                tokio::select! {
                    end = driver.drive() => panic!("the stack has ended: {end:?}"),
                    end = server.serve(listener) => panic!("the server has ended: {end:?}"),
                    _ = ended => {}
                }
            });
        });
        let stack = is_ready.recv().unwrap();
        Self { folder, ends: Some(ends), thread: Some(thread), stack }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path("stack")
    }

    /// Returns when so many programs are attached.
    pub(crate) fn wait_for_programs(&self, count: usize) {
        kumiki_watchdog::until(|| self.stack.counts().programs == count);
    }

    pub(crate) fn connect(&self) -> RemoteStack {
        RemoteStack::connect(self.path()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.ends.take());
        if self.thread.take().unwrap().join().is_err() && !thread::panicking() {
            panic!("the server has panicked");
        }
    }
}

/// Runs a program.
pub(crate) fn run<T>(program: impl Future<Output = T>) -> T {
    kumiki_watchdog::minute();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(program)
}

/// So many octets that follow from `seed`.
pub(crate) fn octets(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut all = Vec::with_capacity(len + 8);
    while all.len() < len {
        // xorshift64 (Marsaglia).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.extend_from_slice(&state.to_le_bytes());
    }
    all.truncate(len);
    all
}
