//! The TCP connections of a network, as its kernel tells them, also once nobody is in it any more.
//!
//! | | |
//! |---|---|
//! | Specification | `proc(5)`: `/proc/net/tcp` and `/proc/net/tcp6`, of the network in which they are opened |
//! | Left out | datagrams, of which a kernel keeps none back |

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// The files, in the order in which they are handed over. Without IPv6 there is no second one.
pub(super) const FILES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// What is read at once, in octets.
const PIECE: usize = 64 * 1024;

/// States as `/proc/net/tcp` has them: a listener, and connections of which nothing is in flight any more.
const LISTEN: &str = "0A";
const OVER: [&str; 2] = ["06", "07"];

/// The connections of a network.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    files: Arc<[File]>,
}

impl Connections {
    /// Those that these files tell.
    pub(super) fn new(files: impl IntoIterator<Item = OwnedFd>) -> Self {
        Self { files: files.into_iter().map(File::from).collect() }
    }

    /// How many have not ended in both directions. One that is closed here and not yet at its peer is among them.
    pub(crate) fn count(&self) -> usize {
        self.files.iter().map(|file| lasting(&whole(file))).sum()
    }
}

/// All that is in the file now; what cannot be read is not.
fn whole(file: &File) -> String {
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.resize(before + PIECE, 0);
        let read = all.get_mut(before..).map_or(0, |room| file.read_at(room, before as u64).unwrap_or(0));
        all.truncate(before + read);
        if read == 0 {
            return String::from_utf8_lossy(&all).into_owned();
        }
    }
}

/// Lines after the first are sockets; the fourth word is the state.
fn lasting(table: &str) -> usize {
    let states = table.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().nth(3));
    states.filter(|state| *state != LISTEN && !OVER.contains(state)).count()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_are_counted_until_they_have_ended() {
        const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0005 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 6860338 1 0000000041b2da40 100 0 0 10 128
   1: 0100007F:E070 0100007F:0005 05 00000000:00000000 00:00000000 00000000     0        0 0 1 00000000da1ed5ee 20 0 0 12 -1
   2: 0100007F:E071 0100007F:0005 06 00000000:00000000 03:00000103 00000000     0        0 0 3 00000000da1ed5ee
   3: 0100007F:0005 0100007F:E070 08 00000000:000003E8 00:00000000 00000000     0        0 6860340 1 0000000052ab6405 20 4 30 10 -1
";
        assert_eq!(lasting(TABLE), 2);
        assert_eq!(lasting(""), 0);
    }

    #[test]
    fn what_the_kernel_tells_is_read_again_each_time() {
        let opened = FILES.iter().filter_map(|path| File::open(path).ok());
        let connections = Connections::new(opened.map(OwnedFd::from));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut all: Vec<(TcpStream, TcpStream)> = Vec::new();
        // More than is read at once. Other tests have connections, too, but not thousands that end.
        for _ in 0..500 {
            let called = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            all.push((called, listener.accept().unwrap().0));
        }
        assert!(connections.count() >= 1000, "{}", connections.count());
        all[0].0.write_all(b"still").unwrap();
    }
}
