//! The calls of sockets, as Linux has them.

use core::ffi::{c_int, c_void};
use core::net::SocketAddr;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::io;
use std::net::Shutdown;

use kumiki_net::tcp::config::Quality;
use kumiki_net::{TcpSocket, TcpStream};
use rustix::io::Errno;
use tokio::io::ReadBuf;

use crate::adapter::{Adapter, descriptor};
use crate::clock::World;
use crate::descriptor::{Descriptor, State, errno};
use crate::memory;
use crate::options::TCP_INQ;
use crate::readiness::has_ended;
use crate::sockaddr;

/// A part of the caller's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) at: *mut c_void,
    pub(crate) octets: usize,
}

/// What comes back by reading, and whether it stays where it was.
const KNOWN_TO_READ: c_int =
    libc::MSG_DONTWAIT | libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
const KNOWN_TO_WRITE: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_EOR | libc::MSG_DONTROUTE;

/// As many parts as Linux takes at once (`UIO_MAXIOV`).
const MOST_PARTS: usize = 1024;

/// Says why, where there is more to say than the number does.
fn told(why: &io::Error) -> Errno {
    if why.get_ref().is_some() {
        eprintln!("kumiki: {why}");
    }
    errno(why)
}

fn put(world: &mut World, state: State) -> Result<c_int, Errno> {
    let (number, descriptor) = Descriptor::new(state)?;
    world.descriptors.insert(number, descriptor);
    Ok(number)
}

impl Adapter {
    pub(crate) fn socket(&self, domain: c_int, kind: c_int, protocol: c_int) -> Result<c_int, Errno> {
        let (flags, kind) =
            (kind & (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC), kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC));
        if kind != libc::SOCK_STREAM || !matches!(protocol, 0 | libc::IPPROTO_TCP) {
            eprintln!("kumiki: a socket of kind {kind} and protocol {protocol}; expected SOCK_STREAM and IPPROTO_TCP");
            return Err(Errno::PROTONOSUPPORT);
        }
        self.clock.with(|world| {
            let _entered = world.stack().enter();
            let socket = match domain {
                libc::AF_INET => TcpSocket::new_v4(),
                libc::AF_INET6 => TcpSocket::new_v6(),
                _ => return Err(Errno::AFNOSUPPORT),
            };
            let number = put(world, State::Fresh(socket.map_err(|why| told(&why))?))?;
            descriptor(world, number)?.never_waits = flags & libc::SOCK_NONBLOCK != 0;
            Ok(number)
        })
    }

    pub(crate) fn bind(&self, number: c_int, address: *const c_void, len: u32) -> Result<(), Errno> {
        let address = sockaddr::read(address, len)?;
        self.on(number, |it| match &it.state {
            State::Fresh(socket) => socket.bind(address).map_err(|why| told(&why)),
            State::Calling(_) | State::Listening(..) | State::Open(_) | State::Failed(_) => Err(Errno::INVAL),
            State::Epoll(_) | State::Between => Err(Errno::NOTSOCK),
        })
    }

    pub(crate) fn listen(&self, number: c_int, backlog: c_int) -> Result<(), Errno> {
        self.on(number, |it| {
            // As Linux: a negative one is as many as there may be.
            let backlog = u32::try_from(backlog).unwrap_or(u32::MAX).min(4096);
            match core::mem::replace(&mut it.state, State::Between) {
                State::Fresh(socket) => {
                    let quality = it.quality;
                    socket.change(|asked| *asked = merged(*asked, quality));
                    match socket.listen(backlog) {
                        Ok(listener) => it.state = State::Listening(listener, None),
                        Err(why) => {
                            it.state = State::Failed(None);
                            return Err(told(&why));
                        }
                    }
                    Ok(())
                }
                // Another backlog is not taken; the first one stays.
                other @ State::Listening(..) => {
                    it.state = other;
                    Ok(())
                }
                other @ (State::Calling(_) | State::Open(_) | State::Failed(_) | State::Epoll(_) | State::Between) => {
                    it.state = other;
                    Err(Errno::INVAL)
                }
            }
        })
    }

    pub(crate) fn accept(&self, number: c_int, address: *mut c_void, len: *mut c_void) -> Result<c_int, Errno> {
        let (stream, peer, quality) = self.wait_on(number, "a caller", false, |it| {
            let (stream, peer) = it.accept()?;
            Ok((stream, peer, it.quality))
        })?;
        sockaddr::write(address, len, peer)?;
        self.clock.with(|world| {
            let number = put(world, State::Open(stream))?;
            let accepted = descriptor(world, number)?;
            (accepted.quality, accepted.is_told) = (quality, true);
            Ok(number)
        })
    }

    pub(crate) fn connect(&self, number: c_int, address: *const c_void, len: u32) -> Result<(), Errno> {
        let address = sockaddr::read(address, len)?;
        let never_waits = self.on(number, |it| {
            begin_call(it, address);
            Ok(it.never_waits)
        })?;
        let answer = self.wait_on(number, "an answer to a call", never_waits, |it| match &mut it.state {
            State::Open(_) if core::mem::replace(&mut it.is_told, true) => Err(Errno::ISCONN),
            State::Open(_) => Ok(()),
            State::Failed(why) => Err(why.take().unwrap_or(Errno::CONNABORTED)),
            State::Calling(_) => Err(Errno::AGAIN),
            State::Fresh(_) | State::Listening(..) | State::Epoll(_) | State::Between => Err(Errno::INVAL),
        });
        match answer {
            Err(Errno::AGAIN) => self.on(number, |it| {
                let began = core::mem::replace(&mut it.is_calling_told, true);
                Err(if began { Errno::ALREADY } else { Errno::INPROGRESS })
            }),
            answer => answer,
        }
    }

    pub(crate) fn read(&self, number: c_int, parts: &[Part], flags: c_int) -> Result<usize, Errno> {
        if flags & libc::MSG_ERRQUEUE != 0 {
            // Nothing is ever there.
            return Err(Errno::AGAIN);
        }
        if flags & !KNOWN_TO_READ != 0 {
            return Err(Errno::OPNOTSUPP);
        }
        let room = parts.iter().fold(0_usize, |sum, it| sum.saturating_add(it.octets)).min(memory::MOST);
        let (is_peek, is_thrown) = (flags & libc::MSG_PEEK != 0, flags & libc::MSG_TRUNC != 0);
        let mut total = 0;
        let done = self.wait_on(number, "data to read", flags & libc::MSG_DONTWAIT != 0, |it| {
            let stream = it.stream()?;
            let unread = stream.unread().map_err(|why| errno(&why))?;
            let mut piece = vec![0; (room - total).min(unread)];
            let got = peek(stream, &mut piece)?;
            // Who says that it is thrown away wants to know how much there was, and nothing of it.
            if !is_thrown {
                scatter(parts, total, piece.get(..got).unwrap_or_default())?;
            }
            if !is_peek {
                // It is taken once it is where it was wanted.
                stream.try_read(&mut piece).map_err(|why| errno(&why))?;
            }
            total += got;
            let wants_more = flags & libc::MSG_WAITALL != 0 && !is_peek && got > 0 && total < room;
            if wants_more { Err(Errno::AGAIN) } else { Ok(()) }
        });
        if total == 0 {
            done?;
        }
        Ok(total)
    }

    /// What is left to read, where that was asked for: at the end of what the peer sends 1, as in Linux, so that it is
    /// read.
    pub(crate) fn unread_hint(&self, number: c_int) -> Result<Option<c_int>, Errno> {
        self.on(number, |it| {
            let asked =
                it.remembered.get(&(libc::IPPROTO_TCP, TCP_INQ)).is_some_and(|it| it.iter().any(|octet| *octet != 0));
            let (State::Open(stream), true) = (&it.state, asked) else {
                return Ok(None);
            };
            let unread = stream.unread().map_err(|why| errno(&why))?;
            let hint = if unread == 0 {
                c_int::from(has_ended(stream))
            } else {
                c_int::try_from(unread).unwrap_or(c_int::MAX)
            };
            Ok(Some(hint))
        })
    }

    pub(crate) fn write(&self, number: c_int, parts: &[Part], flags: c_int) -> Result<usize, Errno> {
        if flags & !KNOWN_TO_WRITE != 0 {
            return Err(Errno::OPNOTSUPP);
        }
        let mut octets = Vec::new();
        for part in parts {
            octets.extend(memory::read(part.at, part.octets)?);
        }
        let mut written = 0;
        let done = self.wait_on(number, "room to write", flags & libc::MSG_DONTWAIT != 0, |it| {
            let stream = match &it.state {
                State::Fresh(_) | State::Listening(..) | State::Failed(None) => return Err(Errno::PIPE),
                State::Failed(Some(_)) => return Err(take_failure(it).unwrap_or(Errno::PIPE)),
                State::Calling(_) | State::Open(_) | State::Epoll(_) | State::Between => it.stream()?,
            };
            loop {
                let rest = octets.get(written..).unwrap_or_default();
                match stream.try_write(rest) {
                    Ok(0) => return Ok(()),
                    Ok(more) => written += more,
                    Err(why) => return Err(errno(&why)),
                }
                if written >= octets.len() {
                    return Ok(());
                }
            }
        });
        match done {
            Err(why) if written == 0 => Err(why),
            Ok(()) | Err(_) => Ok(written),
        }
    }

    pub(crate) fn close(&self, number: c_int) -> Result<(), Errno> {
        self.clock.with(|world| {
            for other in world.descriptors.values_mut() {
                if let State::Epoll(interests) = &mut other.state {
                    interests.remove(&number);
                }
            }
            world.descriptors.remove(&number).map(drop).ok_or(Errno::BADF)
        })
    }

    pub(crate) fn shutdown(&self, number: c_int, how: c_int) -> Result<(), Errno> {
        let how = match how {
            libc::SHUT_RD => Shutdown::Read,
            libc::SHUT_WR => Shutdown::Write,
            libc::SHUT_RDWR => Shutdown::Both,
            _ => return Err(Errno::INVAL),
        };
        self.on(number, |it| match &it.state {
            State::Open(stream) => stream.end(how).map_err(|why| errno(&why)),
            State::Listening(..) if how != Shutdown::Write => {
                it.state = State::Failed(None);
                Ok(())
            }
            State::Listening(..) | State::Fresh(_) | State::Calling(_) | State::Failed(_) => Err(Errno::NOTCONN),
            State::Epoll(_) | State::Between => Err(Errno::NOTSOCK),
        })
    }

    pub(crate) fn fcntl(&self, number: c_int, command: c_int, argument: usize) -> Result<c_int, Errno> {
        self.on(number, |it| match command {
            libc::F_GETFL => Ok(libc::O_RDWR | if it.never_waits { libc::O_NONBLOCK } else { 0 }),
            libc::F_SETFL => {
                let flags = c_int::try_from(argument & 0x7fff_ffff).map_err(|_| Errno::INVAL)?;
                it.never_waits = flags & libc::O_NONBLOCK != 0;
                Ok(0)
            }
            libc::F_GETFD | libc::F_SETFD => Ok(0),
            _ => Err(Errno::INVAL),
        })
    }

    pub(crate) fn ioctl(&self, number: c_int, request: u64, argument: *mut c_void) -> Result<(), Errno> {
        let octets = self.on(number, |it| match (request, &it.state) {
            (libc::FIONREAD, State::Listening(..)) => Err(Errno::INVAL),
            (libc::FIONREAD, State::Open(stream)) => stream.unread().map_err(|why| errno(&why)),
            (libc::FIONREAD, _) => Ok(0),
            _ => Err(Errno::NOTTY),
        })?;
        memory::write(argument, &c_int::try_from(octets).unwrap_or(c_int::MAX).to_ne_bytes())
    }

    pub(crate) fn sleep(&self, micros: u32) {
        self.clock.sleep(Duration::from_micros(micros.into()));
    }
}

/// What has ended the call of a descriptor, told once.
pub(crate) fn take_failure(it: &mut Descriptor) -> Option<Errno> {
    if let State::Failed(why) = &mut it.state { why.take() } else { None }
}

/// `asked` with what `more` says on top.
pub(crate) fn merged(asked: Quality, more: Quality) -> Quality {
    Quality {
        send_buffer: more.send_buffer.or(asked.send_buffer),
        receive_buffer: more.receive_buffer.or(asked.receive_buffer),
        coalesce: more.coalesce.or(asked.coalesce),
        keep_alive: more.keep_alive.or(asked.keep_alive),
        user_timeout: more.user_timeout.or(asked.user_timeout),
        retransmissions: more.retransmissions.or(asked.retransmissions),
        special: if more.special == 0 { asked.special } else { more.special },
        ..asked
    }
}

/// Calls `address`, where nobody was called yet.
fn begin_call(it: &mut Descriptor, address: SocketAddr) {
    match core::mem::replace(&mut it.state, State::Between) {
        State::Fresh(socket) => {
            let quality = it.quality;
            socket.change(|asked| *asked = merged(*asked, quality));
            let mut calling: crate::descriptor::Calling = Box::pin(socket.connect(address));
            let mut cx = Context::from_waker(Waker::noop());
            it.state = match calling.as_mut().poll(&mut cx) {
                Poll::Pending => State::Calling(calling),
                Poll::Ready(Ok(stream)) => State::Open(stream),
                Poll::Ready(Err(why)) => State::Failed(Some(told(&why))),
            };
        }
        other @ (State::Calling(_)
        | State::Listening(..)
        | State::Open(_)
        | State::Failed(_)
        | State::Epoll(_)
        | State::Between) => it.state = other,
    }
}

/// Puts `octets` into `parts`, `from` octets behind their beginning.
fn scatter(parts: &[Part], mut from: usize, mut octets: &[u8]) -> Result<(), Errno> {
    for part in parts {
        let here = from.min(part.octets);
        let (now, later) = octets.split_at_checked(part.octets - here).unwrap_or((octets, &[]));
        memory::write(part.at.wrapping_byte_add(here), now)?;
        (from, octets) = (from - here, later);
    }
    Ok(())
}

fn peek(stream: &TcpStream, into: &mut [u8]) -> Result<usize, Errno> {
    let mut buf = ReadBuf::new(into);
    match stream.poll_peek(&mut Context::from_waker(Waker::noop()), &mut buf) {
        Poll::Pending => Err(Errno::AGAIN),
        Poll::Ready(got) => got.map_err(|why| errno(&why)),
    }
}

/// The parts that `count` entries at `list` name.
pub(crate) fn parts(list: *const libc::iovec, count: usize) -> Result<Vec<Part>, Errno> {
    if count > MOST_PARTS {
        return Err(Errno::INVAL);
    }
    let octets = memory::read(list.cast(), count * size_of::<libc::iovec>())?;
    let (words, _) = octets.as_chunks::<{ size_of::<usize>() }>();
    let numbers: Vec<usize> = words.iter().map(|it| usize::from_ne_bytes(*it)).collect();
    let (pairs, _) = numbers.as_chunks::<2>();
    Ok(pairs
        .iter()
        .map(|[at, octets]| Part { at: core::ptr::with_exposed_provenance_mut(*at), octets: *octets })
        .collect())
}
