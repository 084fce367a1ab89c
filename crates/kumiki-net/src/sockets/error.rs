//! Why a session ended, as sockets say it.

use std::io;
use std::net::IpAddr;

use kumiki_graph::{NoPath, Problem, Reason};

/// The error of a connection that has ended for this reason, of the kind that Linux's sockets have; the reason is its
/// source and its text.
pub(crate) fn of_reason(reason: &Reason) -> io::Error {
    let kind = match reason {
        Reason::Refused => io::ErrorKind::ConnectionRefused,
        // What had gone before it was accepted was reset by its peer: nothing else ends a connection there.
        Reason::Reset | Reason::NoSession => io::ErrorKind::ConnectionReset,
        Reason::TimedOut => io::ErrorKind::TimedOut,
        Reason::Unreachable(NoPath::Network) => io::ErrorKind::NetworkUnreachable,
        Reason::Unreachable(NoPath::Host) => io::ErrorKind::HostUnreachable,
        Reason::Unreachable(NoPath::Prohibited) => io::ErrorKind::PermissionDenied,
        Reason::Unreachable(NoPath::Unknown) => return Errno::HostDown.into(),
        Reason::Unreachable(NoPath::Isolated) => return Errno::NoNetwork.into(),
        Reason::Unreachable(NoPath::SourceRoute) => return Errno::NotSupported.into(),
        Reason::Unreachable(NoPath::Protocol) => return Errno::NoOption.into(),
        Reason::Unreachable(NoPath::Malformed) => return Errno::Protocol.into(),
        Reason::BadAddress => io::ErrorKind::AddrNotAvailable,
        Reason::NoResources => io::ErrorKind::OutOfMemory,
        Reason::Down => return is_gone(None),
        Reason::User => io::ErrorKind::ConnectionAborted,
        Reason::Protocol | Reason::Violation(_) | Reason::Peer(_) => io::ErrorKind::ConnectionReset,
    };
    io::Error::new(kind, reason.to_string())
}

/// The error that a datagram to `peer` has met on its way, as Linux tells it to a connected socket.
pub(crate) fn of_problem(problem: Problem, peer: IpAddr) -> io::Error {
    match kumiki_inet::reason_of(problem, peer) {
        Some(Reason::Refused) => {
            let text = "the peer does not take datagrams at that port";
            io::Error::new(io::ErrorKind::ConnectionRefused, text)
        }
        Some(reason) => of_reason(&reason),
        // Too long, which Linux says as of what is longer than a datagram can be.
        None => Errno::MessageSize.into(),
    }
}

/// Whether a connected socket of UDP hears of `problem`, which a datagram to `peer` has met: of what will stay, or was
/// found out before it left. Linux tells the rest only who has asked for it (`IP_RECVERR`), which tokio's sockets
/// cannot.
pub(crate) const fn is_told(problem: Problem, peer: IpAddr) -> bool {
    // The kinds and codes of RFC 792 and RFC 1812, and of RFC 4443, that Linux takes for final.
    match (problem, peer) {
        (Problem::TooBig { .. } | Problem::NoRoute, _) => true,
        (Problem::NoNeighbour, _) => false,
        (Problem::Soft { kind, code } | Problem::Hard { kind, code }, IpAddr::V4(_)) => {
            matches!((kind, code), (3, 2 | 3 | 6..=10 | 13..=15) | (12, _))
        }
        (Problem::Soft { kind, code } | Problem::Hard { kind, code }, IpAddr::V6(_)) => {
            matches!((kind, code), (1, 1 | 4..) | (4, _))
        }
    }
}

/// The error of a call that TCP would not make.
pub(crate) fn of_call(reason: &Reason) -> io::Error {
    if matches!(reason, Reason::NoResources) {
        // As Linux: what there is none of is a local address.
        let text = "all local ports are in use towards that peer";
        return io::Error::new(io::ErrorKind::AddrNotAvailable, text);
    }
    of_reason(reason)
}

/// There is no IP of the version that goes with an address, or the socket is of the other.
pub(crate) fn says_no_version(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error() == io::Error::from(Errno::AddressFamily).raw_os_error()
}

/// What a socket says that was not allowed to send to all (`SO_BROADCAST`).
pub(crate) fn no_broadcast() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "broadcasts are not allowed on this socket")
}

/// What a socket says that is not connected.
pub(crate) fn not_connected() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

/// What is said of a host that is gone, or where `why` is known; and of what was closed, and so of what nobody can name
/// any more.
pub(crate) fn is_gone(why: Option<&str>) -> io::Error {
    const GONE: &str = "the host of this socket is gone";
    let text = why.map_or_else(|| GONE.to_owned(), |why| format!("{GONE}: {why}"));
    io::Error::new(io::ErrorKind::NetworkDown, text)
}

/// The same once more, for whoever asks next.
pub(crate) fn again(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

/// Errors that the standard library has no kind for: their numbers, by which programs tell them apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Errno {
    /// A socket of one version of IP, and an address of the other.
    AddressFamily,
    /// A datagram longer than can be sent.
    MessageSize,
    /// There is no such device.
    NoDevice,
    /// An option of the other version of IP; and a protocol that the peer has not.
    NoOption,
    /// No more sockets.
    NoBuffers,
    /// Nobody on the path knows the peer.
    HostDown,
    /// The network takes nothing from here.
    NoNetwork,
    /// A route that was said does not lead there.
    NotSupported,
    /// Something was wrong in what was sent.
    Protocol,
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        // Of Linux, of Windows, and of those that have them from BSD.
        let (linux, windows, bsd) = match errno {
            Errno::AddressFamily => (97, 10_047, 47),
            Errno::MessageSize => (90, 10_040, 40),
            Errno::NoDevice => (19, 10_049, 19),
            Errno::NoOption => (92, 10_042, 42),
            Errno::NoBuffers => (105, 10_055, 55),
            Errno::HostDown => (112, 10_064, 64),
            // Those that have it from BSD have no such number: the network is down.
            Errno::NoNetwork => (64, 10_050, 50),
            Errno::NotSupported => (95, 10_045, 45),
            Errno::Protocol => (71, 10_043, 43),
        };
        Self::from_raw_os_error(if cfg!(any(target_os = "linux", target_os = "android")) {
            linux
        } else if cfg!(windows) {
            windows
        } else {
            bsd
        })
    }
}
