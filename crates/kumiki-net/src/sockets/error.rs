//! Why a session ended, as sockets say it.

use std::io;

use kumiki_graph::{Problem, Reason};

/// The error of a connection that has ended for this reason, of the kind that Linux's sockets have; the reason is its source and its text.
pub(crate) fn of_reason(reason: &Reason) -> io::Error {
    let kind = match reason {
        Reason::Refused => io::ErrorKind::ConnectionRefused,
        // What had gone before it was accepted was reset by its peer: nothing else ends a connection there.
        Reason::Reset | Reason::NoSession => io::ErrorKind::ConnectionReset,
        Reason::TimedOut => io::ErrorKind::TimedOut,
        Reason::Unreachable => io::ErrorKind::HostUnreachable,
        Reason::BadAddress => io::ErrorKind::AddrNotAvailable,
        Reason::NoResources => io::ErrorKind::OutOfMemory,
        Reason::Down => return is_gone(),
        Reason::User => io::ErrorKind::ConnectionAborted,
        Reason::Protocol | Reason::Violation(_) | Reason::Peer(_) => io::ErrorKind::ConnectionReset,
    };
    io::Error::new(kind, reason.to_string())
}

/// The error that a datagram has met on its way, as Linux tells it to a connected socket.
pub(crate) fn of_problem(problem: Problem) -> io::Error {
    let (kind, text) = match problem {
        // Port unreachable is what nearly all of these are.
        Problem::Hard { .. } => (io::ErrorKind::ConnectionRefused, "the peer does not take datagrams at that port"),
        Problem::Soft { .. } => (io::ErrorKind::HostUnreachable, "no path to the peer"),
        Problem::NoNeighbour => (io::ErrorKind::HostUnreachable, "nobody answers at the next hop"),
        Problem::TooBig { mtu } => {
            let text = format!("longer than the path carries, which is {mtu} octets");
            return io::Error::new(io::ErrorKind::InvalidInput, text);
        }
    };
    io::Error::new(kind, text)
}

/// What a socket says that is not connected.
pub(crate) fn not_connected() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

/// What is said of what was closed, and so of what nobody can name any more.
pub(crate) fn is_gone() -> io::Error {
    io::Error::new(io::ErrorKind::NetworkDown, "the host of this socket is gone")
}
