//! What can be set of [`Sockets`](super::Sockets), what it counts, and what it says where something goes wrong.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use kumiki_graph::{Duration, KeepAlive, NoPath, Reason};
use rustix::io::Errno;

use crate::stream::HELD;

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketsConfig {
    /// The most connections, those that are being made among them.
    pub most: usize,
    /// How many octets of a connection may be read before the user has taken any, where it does not say.
    pub receive_buffer: u32,
    /// How many octets of a connection may wait for room in its socket.
    pub held: usize,
    /// When an idle peer is asked whether it is there, where the user does not say.
    pub keep_alive: KeepAlive,
    /// How long what was sent may stay unacknowledged, where the user does not say; zero: as long as the kernel tries.
    pub user_timeout: Duration,
}

impl Default for SocketsConfig {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            most: 4096,
            receive_buffer: 64 * 1024,
            held: HELD,
            keep_alive: KeepAlive { idle: minute, interval: Duration::from_secs(10), count: 6 },
            user_timeout: minute,
        }
    }
}

/// Where nobody can be listened for.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {local}: {why}{}", remedy(why))]
pub struct SocketsError {
    /// Our address.
    pub local: SocketAddr,
    /// What the operating system said.
    pub why: io::Error,
}

fn remedy(why: &io::Error) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "an enum of the standard library that grows")]
    match why.kind() {
        io::ErrorKind::AddrInUse => ". Another program listens there: choose another port",
        io::ErrorKind::AddrNotAvailable => ". This machine does not have that address",
        io::ErrorKind::PermissionDenied => ". Ports below 1024 need CAP_NET_BIND_SERVICE, which root has",
        _ => "",
    }
}

/// What happened, for whoever looks from outside while the device runs.
#[derive(Debug, Default)]
pub struct SocketsCounters {
    /// Connections made to others.
    pub called: AtomicU64,
    /// Connections made by others.
    pub accepted: AtomicU64,
    /// Calls that came to nothing.
    pub failed: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What a user is told where the kernel says `why`.
pub(super) fn reason_of(why: Errno) -> Reason {
    match why {
        Errno::CONNREFUSED => Reason::Refused,
        Errno::TIMEDOUT => Reason::TimedOut,
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Reason::Reset,
        Errno::HOSTUNREACH | Errno::HOSTDOWN => Reason::Unreachable(NoPath::Host),
        Errno::NETUNREACH | Errno::NETDOWN => Reason::Unreachable(NoPath::Network),
        // A firewall, of this machine or on the way.
        Errno::ACCESS | Errno::PERM => Reason::Unreachable(NoPath::Prohibited),
        Errno::ADDRINUSE | Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT | Errno::INVAL | Errno::NODEV => Reason::BadAddress,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::AGAIN => Reason::NoResources,
        _ => Reason::Down,
    }
}

pub(super) fn errno(why: &io::Error) -> Errno {
    Errno::from_io_error(why).unwrap_or(Errno::IO)
}
