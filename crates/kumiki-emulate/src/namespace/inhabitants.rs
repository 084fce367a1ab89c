//! The processes that have a network: those of a program, and what it has left behind, daemons too.
//!
//! | | |
//! |---|---|
//! | Specification | `namespaces(7)`: `/proc/PID/ns/net` is the same file for all processes of a network |
//! | Left out | who has made another network inside, and who may not be looked at, such as a program that cannot be read |

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::fs::{fstat, stat};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A network that somebody may be in. As long as this is there no other one is taken for it.
#[derive(Clone, Debug)]
pub(crate) struct InhabitedNetwork {
    _file: Arc<OwnedFd>,
    identity: (u64, u64),
}

impl InhabitedNetwork {
    /// That of `/proc/self/ns/net`, opened in it.
    pub(super) fn new(file: OwnedFd) -> io::Result<Self> {
        let found = fstat(file.as_fd())?;
        Ok(Self { _file: Arc::new(file), identity: (found.st_dev, found.st_ino) })
    }

    fn has(&self, process: Pid) -> bool {
        // Of one that has ended there is none.
        let found = stat(format!("/proc/{}/ns/net", process.as_raw_nonzero()));
        found.is_ok_and(|it| (it.st_dev, it.st_ino) == self.identity)
    }

    fn processes(&self) -> impl Iterator<Item = Pid> {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let all = all.filter_map(|it| Pid::from_raw(it.file_name().to_str()?.parse().ok()?));
        all.filter(|process| self.has(*process))
    }

    /// Whether somebody is in it.
    pub(crate) fn is_any_left(&self) -> bool {
        self.processes().next().is_some()
    }

    /// Sends `signal` to all who are in it, but for those of whom `but_for` says so.
    pub(crate) fn pass(&self, signal: i32, but_for: impl Fn(Pid) -> bool) {
        let Some(signal) = Signal::from_named_raw(signal) else {
            return;
        };
        for process in self.processes().filter(|it| !but_for(*it)) {
            // Who has the number now is who is meant: it was looked at with the descriptor in hand.
            if let Ok(held) = pidfd_open(process, PidfdFlags::empty())
                && self.has(process)
            {
                let _ = pidfd_send_signal(&held, signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn whoever_has_the_network_is_in_it_until_it_has_ended() {
        let own = InhabitedNetwork::new(fs::File::open("/proc/self/ns/net").unwrap().into()).unwrap();
        assert!(own.is_any_left());
        let mut child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        assert!(own.has(id));
        // The others are this machine's.
        own.pass(Signal::TERM.as_raw(), |process| process != id);
        child.wait().unwrap();
        assert!(!own.has(id));
    }
}
