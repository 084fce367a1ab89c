//! A UDP socket of this machine as a device: one datagram is one unit.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 768; `udp(7)` and `socket(7)` of Linux |
//! | Units | what is in a datagram, up to 65,507 octets of it over IPv4; an empty one is a unit too |
//! | Addresses | of each unit that comes it is told who sent it, and each that goes may say where to (a [`core::net::SocketAddr`]); [`RemoteEnd`] says what holds for those that do not |
//! | Time | the kernel notes when a datagram came; [`crate::Arrival::Unit`] tells how long it lay there (Linux only, and on request: it takes two calls more) |
//! | Left out | super-segments (`UDP_SEGMENT`), many datagrams in one call, what ICMP reports of datagrams that were sent, multicast, zones of IPv6 |

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;

use kumiki_graph::{Address, Duration};
use kumiki_octets::Message;
use rustix::io::Errno;

use crate::device::{Arrival, Descriptors, RealDevice, Sent};

#[cfg(target_os = "linux")]
mod stamp;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

/// More octets than a datagram can have.
const MOST: usize = 1 << 16;

/// Room that is asked for in the socket, in octets: the kernel gives what it may (`net.core.rmem_max`).
const ROOM: usize = 4 << 20;

/// So many datagrams that are not for us are passed over in one go.
const STRANGERS: usize = 64;

/// Who may be at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoteEnd {
    /// This one only.
    Given(SocketAddr),
    /// Whoever sends the first datagram, and from then on this one only.
    First,
    /// Anybody: a unit says where it goes.
    Any,
}

/// A socket that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("UDP socket on {local}: {why}{}", remedy(why))]
pub struct UdpError {
    /// Its address.
    pub local: SocketAddr,
    /// What the operating system said.
    pub why: io::Error,
}

fn remedy(why: &io::Error) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "an enum of the standard library that grows")]
    match why.kind() {
        ErrorKind::AddrInUse => ". Another socket has this port: choose another one",
        ErrorKind::AddrNotAvailable => ". This machine does not have that address",
        ErrorKind::PermissionDenied => ". Ports below 1024 need root",
        _ => "",
    }
}

/// A socket and who is at its other end.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    local: SocketAddr,
    far: RemoteEnd,
    /// Of [`RemoteEnd::Given`] and [`RemoteEnd::First`]: who it is.
    peer: Option<SocketAddr>,
    buffer: Vec<u8>,
    /// Where a datagram is put together that is not in one piece.
    packet: Vec<u8>,
    stamped: bool,
    strangers: u64,
}

impl Udp {
    /// Opens a socket on `local`; port 0 lets the operating system choose.
    ///
    /// # Errors
    /// [`UdpError`] where it cannot be had, as when another socket has the port.
    pub fn open(local: SocketAddr, far: RemoteEnd) -> Result<Self, UdpError> {
        let failed = |why| UdpError { local, why };
        let socket = UdpSocket::bind(local).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        // Where it may not be so much, it is less.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, ROOM);
        let local = socket.local_addr().map_err(failed)?;
        Ok(Self {
            socket,
            local,
            far,
            peer: match far {
                RemoteEnd::Given(peer) => Some(peer),
                RemoteEnd::First | RemoteEnd::Any => None,
            },
            buffer: vec![0; MOST],
            packet: Vec::new(),
            stamped: false,
            strangers: 0,
        })
    }

    /// From now on each arrival tells how long it had been there, where the kernel says so.
    pub fn tell_waits(&mut self) {
        self.stamped = true;
        // The first question makes the kernel note times.
        let _ = self.waited();
    }

    /// Its own address, with the port that the operating system chose.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Who is at the other end, where that is one and known.
    #[must_use]
    pub const fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Datagrams of others than the peer, which were thrown away.
    #[must_use]
    pub const fn strangers(&self) -> u64 {
        self.strangers
    }

    /// Whether what `source` sends is for us.
    fn takes(&mut self, source: SocketAddr) -> bool {
        match self.far {
            RemoteEnd::Any => true,
            RemoteEnd::Given(_) | RemoteEnd::First => *self.peer.get_or_insert(source) == source,
        }
    }

    /// How long the datagram that was read last had been there.
    #[cfg(target_os = "linux")]
    fn waited(&self) -> Duration {
        if self.stamped {
            stamp::since_last_arrival(self.socket.as_fd()).unwrap_or(Duration::ZERO)
        } else {
            Duration::ZERO
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn waited(&self) -> Duration {
        Duration::ZERO
    }
}

impl RealDevice for Udp {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::both(self.socket.as_fd())
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        for _ in 0..STRANGERS {
            let (length, source) = match self.socket.recv_from(&mut self.buffer) {
                Ok(came) => came,
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(why) => return Err(why),
            };
            if !self.takes(source) {
                self.strangers += 1;
                continue;
            }
            let waited = self.waited();
            let octets = self.buffer.get(..length).unwrap_or_default();
            return Ok(Some(Arrival::Unit {
                data: Message::from_octets(octets),
                source: Address::from(SocketAddr::new(source.ip(), source.port())),
                waited,
            }));
        }
        Ok(Some(Arrival::NoUnit))
    }

    fn tells_waits(&self) -> bool {
        self.stamped && cfg!(target_os = "linux")
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        let Some(to) = to.socket().or(self.peer) else {
            return Ok(Sent::Refused);
        };
        self.packet.clear();
        packet.for_each(|octets| self.packet.extend_from_slice(octets));
        let sent = loop {
            match self.socket.send_to(&self.packet, to) {
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                sent => break sent,
            }
        };
        let Err(why) = sent else {
            return Ok(Sent::Taken);
        };
        match Errno::from_io_error(&why) {
            Some(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => Ok(Sent::Full),
            // What is wrong with this one, or with the way to that address, need not be wrong with the next.
            Some(
                Errno::MSGSIZE
                | Errno::INVAL
                | Errno::AFNOSUPPORT
                | Errno::ADDRNOTAVAIL
                | Errno::CONNREFUSED
                | Errno::NETUNREACH
                | Errno::HOSTUNREACH
                | Errno::NETDOWN
                | Errno::ACCESS
                | Errno::PERM,
            ) => Ok(Sent::Refused),
            _ => Err(why),
        }
    }
}
