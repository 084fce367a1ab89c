//! A TCP connection to a host by name, with an end to waiting, ours and the user's: or why there is none.

use core::net::SocketAddr;
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;

use kumiki_files::file_user::{Failure, Layer};
use kumiki_graph::{Duration, Instant};
use kumiki_io::{Bell, Clock as _, RealClock, ShutdownRequest, Watch};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with, sockopt};

use kumiki_live::line::Connection;
use kumiki_live::refusal;

/// How often the wish to end is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// A host and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Its name or address.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl core::fmt::Display for Host {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

fn failure(code: Option<i64>, meaning: String, remedy: &str, transient: bool) -> Failure {
    Failure {
        layer: Layer::Network,
        code,
        meaning,
        remedy: remedy.to_owned(),
        transient,
        is_abort: false,
        diagnostics: Vec::new(),
    }
}

/// What the operating system says of a connection that does not come about.
fn refused(host: &Host, at: SocketAddr, why: Errno) -> Failure {
    let (what, remedy) = match why {
        Errno::CONNREFUSED => ("connection refused", "check host and port, and whether a responder listens there"),
        Errno::TIMEDOUT => ("there is no answer", "check host and line, and firewalls between"),
        Errno::HOSTUNREACH | Errno::NETUNREACH => ("there is no way to it", "check the address and the network"),
        Errno::ACCESS | Errno::PERM => ("this machine does not let us", "check the firewall of this machine"),
        _ => ("the connection failed", "check host and line"),
    };
    let code = i64::from(why.raw_os_error());
    let at = if host.name == at.ip().to_string() { String::new() } else { format!(" ({at})") };
    failure(
        Some(code),
        format!("{host}{at}: {what}: {}", refusal::plain(&io::Error::from(why))),
        remedy,
        !matches!(why, Errno::ACCESS | Errno::PERM),
    )
}

/// Connects to the first address of `host` that answers.
pub(super) fn connected(
    host: &Host,
    timeout: Duration,
    clock: RealClock,
    bell: &Bell,
    wish: &ShutdownRequest,
) -> Result<Connection, Failure> {
    let found = (host.name.as_str(), host.port).to_socket_addrs();
    let found = found.map_err(|why| {
        let meaning = format!("{}: no address is known: {}", host.name, refusal::plain(&why));
        failure(None, meaning, "check the name, and the name server", false)
    })?;
    let mut last = None;
    for address in found {
        if wish.is_made() {
            return Err(Failure::local("given up"));
        }
        match attempt(address, clock.now() + timeout, clock, bell, wish) {
            Ok(socket) => {
                let said = |why: io::Error| refused(host, address, errno(&why));
                let local = socket.local_addr().map_err(said)?;
                return Ok(Connection { socket, local, remote: address, called: false, mute: Arc::default() });
            }
            Err(why) => last = Some(refused(host, address, why)),
        }
    }
    if wish.is_made() {
        return Err(Failure::local("given up"));
    }
    Err(last.unwrap_or_else(|| {
        let meaning = format!("{}: the name has no address", host.name);
        failure(None, meaning, "check the name, and the name server", false)
    }))
}

fn errno(why: &io::Error) -> Errno {
    Errno::from_io_error(why).unwrap_or(Errno::IO)
}

fn attempt(
    address: SocketAddr,
    until: Instant,
    clock: RealClock,
    bell: &Bell,
    wish: &ShutdownRequest,
) -> Result<TcpStream, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match connect(&socket, &address) {
        Ok(()) => return Ok(socket.into()),
        Err(Errno::INPROGRESS | Errno::INTR) => {}
        Err(why) => return Err(why),
    }
    loop {
        let now = clock.now();
        if now >= until {
            return Err(Errno::TIMEDOUT);
        }
        if wish.is_made() {
            return Err(Errno::CANCELED);
        }
        let watch = Watch { descriptor: socket.as_fd(), reading: false, writing: true };
        clock.wait(until.min(now + LOOK), bell, &[watch]);
        sockopt::socket_error(&socket)??;
        if rustix::net::getpeername(&socket).is_ok() {
            return Ok(socket.into());
        }
    }
}
