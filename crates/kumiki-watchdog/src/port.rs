//! A port of this machine that is nobody else's.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, ipproto, socket_with};

/// A TCP port of the loopback interface that the kernel gives, and gives to nobody else as long as this lives: a socket
/// that has the port and does not listen. So whoever calls it is refused, until a program listens there that was told
/// to. It can, since the kernel lets several sockets have a port where each says that it may be used again and none of
/// them listens, as that of the standard library and of most servers does say.
#[derive(Debug)]
pub struct Port {
    _socket: OwnedFd,
    at: SocketAddr,
}

impl Port {
    /// One that nobody has.
    ///
    /// # Errors
    /// The system has none left.
    pub fn new() -> io::Result<Self> {
        let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let at = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(Self { _socket: socket, at })
    }

    /// Address and port.
    #[must_use]
    pub const fn at(&self) -> SocketAddr {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn whoever_calls_is_refused_until_somebody_listens() {
        let port = Port::new().expect("a port");
        for _ in 0..2 {
            let refused = TcpStream::connect(port.at()).expect_err("nobody listens");
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            let listener = TcpListener::bind(port.at()).expect("it was given to us");
            let caller = TcpStream::connect(port.at()).expect("somebody listens");
            drop((listener, caller));
        }
    }

    #[test]
    fn the_kernel_gives_it_to_nobody_else() {
        let port = Port::new().expect("a port");
        let others: Vec<TcpListener> =
            (0..500).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("another port")).collect();
        let has_it = |it: &TcpListener| it.local_addr().is_ok_and(|at| at == port.at());
        assert!(!others.iter().any(has_it));
    }
}
