//! A descriptor: what a number of the script's stands for.

use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use kumiki_net::tcp::config::Quality;
use kumiki_net::{TcpListener, TcpSocket, TcpStream};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// Who calls, until there is an answer.
pub(crate) type Calling = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

/// How far a socket has come.
pub(crate) enum State {
    /// It neither calls nor listens.
    Fresh(TcpSocket),
    Calling(Calling),
    /// It listens; and whom it has taken who was not asked for yet.
    Listening(TcpListener, Option<(TcpStream, SocketAddr)>),
    Open(TcpStream),
    /// Its call was in vain, and nobody was told why where that is still known.
    Failed(Option<Errno>),
    /// It waits for others.
    Epoll(BTreeMap<i32, Interest>),
    /// It is being changed.
    Between,
}

/// What one of epoll's is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    pub(crate) events: u32,
    pub(crate) data: u64,
}

/// A descriptor. Its number is a real one, for packetdrill closes what a script leaves open.
pub(crate) struct Descriptor {
    /// None where somebody else closes it.
    real: Option<OwnedFd>,
    pub(crate) never_waits: bool,
    pub(crate) state: State,
    /// What was asked of its connection, or of those that it accepts.
    pub(crate) quality: Quality,
    /// That its call was answered has been said, by `connect`.
    pub(crate) is_told: bool,
    /// That it was begun and has no answer yet was said.
    pub(crate) is_calling_told: bool,
    /// When an idle peer is to be asked whether it is there, once that is asked for.
    pub(crate) idle_questions: Option<kumiki_net::tcp::config::KeepAlive>,
    /// Options that mean nothing here, as they were set.
    pub(crate) remembered: BTreeMap<(i32, i32), Vec<u8>>,
}

impl Descriptor {
    /// One with a number of its own.
    pub(crate) fn new(state: State) -> Result<(i32, Self), Errno> {
        let real = eventfd(0, EventfdFlags::CLOEXEC)?;
        let number = real.as_raw_fd();
        let descriptor = Self {
            real: Some(real),
            never_waits: false,
            state,
            quality: Quality::default(),
            is_told: false,
            idle_questions: None,
            is_calling_told: false,
            remembered: BTreeMap::new(),
        };
        Ok((number, descriptor))
    }

    /// From now on somebody else closes the real one.
    pub(crate) fn leave_open(mut self) {
        if let Some(real) = self.real.take() {
            let _ = std::os::fd::IntoRawFd::into_raw_fd(real);
        }
    }

    /// Looks whether its call was answered.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_>) {
        let State::Calling(calling) = &mut self.state else {
            return;
        };
        match calling.as_mut().poll(cx) {
            Poll::Pending => {}
            Poll::Ready(Ok(stream)) => {
                // What was asked for while it called.
                let quality = self.quality;
                let _ = stream.change(|it| *it = quality);
                self.state = State::Open(stream);
            }
            Poll::Ready(Err(why)) => self.state = State::Failed(Some(errno(&why))),
        }
    }

    /// Its connection; otherwise what a call says that needs one.
    pub(crate) const fn stream(&self) -> Result<&TcpStream, Errno> {
        match &self.state {
            State::Open(stream) => Ok(stream),
            State::Calling(_) => Err(Errno::AGAIN),
            State::Fresh(_) | State::Listening(..) | State::Failed(_) => Err(Errno::NOTCONN),
            State::Epoll(_) | State::Between => Err(Errno::NOTSOCK),
        }
    }

    /// Whether somebody can be accepted, where it listens.
    pub(crate) fn has_caller(&mut self) -> bool {
        let State::Listening(listener, taken) = &mut self.state else {
            return false;
        };
        if taken.is_none()
            && let Poll::Ready(Ok(next)) = listener.poll_accept(&mut Context::from_waker(Waker::noop()))
        {
            *taken = Some(next);
        }
        taken.is_some()
    }

    /// Accepts who has called.
    pub(crate) fn accept(&mut self) -> Result<(TcpStream, SocketAddr), Errno> {
        let State::Listening(listener, taken) = &mut self.state else {
            return Err(Errno::INVAL);
        };
        if let Some(caller) = taken.take() {
            return Ok(caller);
        }
        match listener.poll_accept(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Err(Errno::AGAIN),
            Poll::Ready(caller) => caller.map_err(|why| errno(&why)),
        }
    }
}

/// The system's number for an error of our sockets.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "there are kinds of errors that no socket of ours has, and more to come"
)]
pub(crate) fn errno(why: &io::Error) -> Errno {
    if let Some(number) = why.raw_os_error() {
        return Errno::from_raw_os_error(number);
    }
    match why.kind() {
        io::ErrorKind::WouldBlock => Errno::AGAIN,
        io::ErrorKind::ConnectionRefused => Errno::CONNREFUSED,
        io::ErrorKind::ConnectionReset => Errno::CONNRESET,
        io::ErrorKind::ConnectionAborted => Errno::CONNABORTED,
        io::ErrorKind::NotConnected => Errno::NOTCONN,
        io::ErrorKind::BrokenPipe => Errno::PIPE,
        io::ErrorKind::TimedOut => Errno::TIMEDOUT,
        io::ErrorKind::HostUnreachable => Errno::HOSTUNREACH,
        io::ErrorKind::NetworkUnreachable => Errno::NETUNREACH,
        io::ErrorKind::NetworkDown => Errno::NETDOWN,
        io::ErrorKind::AddrInUse => Errno::ADDRINUSE,
        io::ErrorKind::AddrNotAvailable => Errno::ADDRNOTAVAIL,
        io::ErrorKind::PermissionDenied => Errno::ACCESS,
        io::ErrorKind::OutOfMemory => Errno::NOMEM,
        io::ErrorKind::Unsupported => Errno::OPNOTSUPP,
        _ => Errno::INVAL,
    }
}
