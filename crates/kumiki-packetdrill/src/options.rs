//! Options of sockets.

use core::ffi::{c_int, c_void};
use core::time::Duration;

use kumiki_graph::Duration as Time;
use kumiki_net::tcp::config::{Coalesce, KeepAlive, Quality};
use kumiki_wire::inet::IpQuality;
use rustix::io::Errno;

use crate::adapter::{Adapter, descriptor};
use crate::calls::{merged, take_failure};
use crate::descriptor::{Descriptor, State, errno};
use crate::{info, memory};

/// That each read by a message tells what is left to read (`TCP_INQ`); the same number is the type of what tells it.
pub(crate) const TCP_INQ: c_int = 36;

/// As Linux: two hours, then nine questions 75 s apart.
const KEEP_ALIVE: KeepAlive = KeepAlive { idle: Time::from_secs(7200), interval: Time::from_secs(75), count: 9 };

/// What changes nothing here, and is said again to who asks.
const REMEMBERED: [(c_int, c_int); 10] = [
    (libc::IPPROTO_TCP, TCP_INQ),
    (libc::SOL_SOCKET, libc::SO_REUSEADDR),
    (libc::SOL_SOCKET, libc::SO_REUSEPORT),
    (libc::SOL_SOCKET, libc::SO_MARK),
    (libc::SOL_SOCKET, libc::SO_PRIORITY),
    (libc::IPPROTO_IP, libc::IP_FREEBIND),
    (libc::IPPROTO_IP, libc::IP_RECVERR),
    (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK),
];

/// The longest value of an option that is looked at.
const LONGEST: u32 = 256;

impl Adapter {
    pub(crate) fn set_option(
        &self,
        number: c_int,
        name: (c_int, c_int),
        value: *const c_void,
        len: u32,
    ) -> Result<(), Errno> {
        if len > LONGEST {
            return Err(Errno::INVAL);
        }
        let octets = memory::read(value, usize::try_from(len).map_err(|_| Errno::INVAL)?)?;
        // Options of IP may be one octet long.
        let given = match &*octets {
            [octet] if name.0 == libc::IPPROTO_IP => Some(c_int::from(*octet)),
            octets => octets.first_chunk().map(|it| c_int::from_ne_bytes(*it)),
        };
        self.on(number, |it| {
            if matches!(it.state, State::Epoll(_) | State::Between) {
                return Err(Errno::NOTSOCK);
            }
            if name == (libc::SOL_SOCKET, libc::SO_LINGER) {
                return linger(it, &octets);
            }
            let given = given.ok_or(Errno::INVAL)?;
            if REMEMBERED.contains(&name) {
                it.remembered.insert(name, octets);
                return remember(it, name, given);
            }
            set(it, name, given)
        })
    }

    pub(crate) fn option(
        &self,
        number: c_int,
        name: (c_int, c_int),
        value: *mut c_void,
        len: *mut c_void,
    ) -> Result<(), Errno> {
        let room = usize::try_from(memory::number(len)?).map_err(|_| Errno::INVAL)?;
        let octets = self.clock.with(|world| {
            if let Some(octets) = info::of(world, number, name) {
                return octets;
            }
            let it = descriptor(world, number)?;
            match it.remembered.get(&name) {
                Some(octets) => Ok(octets.clone()),
                None => get(it, name).map(|it| it.to_ne_bytes().to_vec()),
            }
        })?;
        let octets = octets.get(..room).unwrap_or(&octets);
        memory::write(value, octets)?;
        memory::write(len, &c_int::try_from(octets.len()).unwrap_or_default().to_ne_bytes())
    }
}

/// Asks TCP for it, or those that are accepted from here.
fn ask(it: &mut Descriptor, change: impl FnOnce(&mut Quality)) -> Result<(), Errno> {
    change(&mut it.quality);
    let more = it.quality;
    match &it.state {
        State::Open(stream) => stream.change(|asked| *asked = merged(*asked, more)).map_err(|why| errno(&why)),
        State::Fresh(_)
        | State::Calling(_)
        | State::Listening(..)
        | State::Failed(_)
        | State::Epoll(_)
        | State::Between => Ok(()),
    }
}

fn linger(it: &Descriptor, octets: &[u8]) -> Result<(), Errno> {
    let ([on, seconds], _) = octets.as_chunks::<4>().0.split_first_chunk().ok_or(Errno::INVAL)?;
    let time =
        (c_int::from_ne_bytes(*on) != 0).then(|| u64::try_from(c_int::from_ne_bytes(*seconds)).unwrap_or_default());
    let time = time.map(Duration::from_secs);
    match &it.state {
        State::Open(stream) => stream.set_linger(time).map_err(|why| errno(&why)),
        State::Fresh(socket) => socket.set_linger(time).map_err(|why| errno(&why)),
        State::Calling(_) | State::Listening(..) | State::Failed(_) | State::Epoll(_) | State::Between => {
            Err(Errno::OPNOTSUPP)
        }
    }
}

/// Some of those that are remembered mean something after all.
fn remember(it: &Descriptor, name: (c_int, c_int), given: c_int) -> Result<(), Errno> {
    let State::Fresh(socket) = &it.state else {
        return Ok(());
    };
    let done = match name {
        (libc::SOL_SOCKET, libc::SO_REUSEADDR) => socket.set_reuseaddr(given != 0),
        (libc::SOL_SOCKET, libc::SO_REUSEPORT) => socket.set_reuseport(given != 0),
        _ => Ok(()),
    };
    done.map_err(|why| errno(&why))
}

fn set(it: &mut Descriptor, name: (c_int, c_int), given: c_int) -> Result<(), Errno> {
    let number = || u32::try_from(given).map_err(|_| Errno::INVAL);
    let octet = || u8::try_from(given).map_err(|_| Errno::INVAL);
    let keep = it.quality.keep_alive.filter(|it| *it != KeepAlive::OFF);
    match name {
        (libc::SOL_SOCKET, libc::SO_SNDBUF) => {
            let size = number()?.max(1);
            ask(it, |it| it.send_buffer = Some(size))
        }
        (libc::SOL_SOCKET, libc::SO_RCVBUF) => {
            let size = number()?.max(1);
            ask(it, |it| it.receive_buffer = Some(size))
        }
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => {
            let times = keep.or(it.idle_questions).unwrap_or(KEEP_ALIVE);
            ask(it, |it| it.keep_alive = Some(if given == 0 { KeepAlive::OFF } else { times }))
        }
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE | libc::TCP_KEEPCNT) => {
            let mut times = keep.or(it.idle_questions).unwrap_or(KEEP_ALIVE);
            match name.1 {
                libc::TCP_KEEPIDLE => times.idle = Time::from_secs(number()?.into()),
                _ => times.count = number()?,
            }
            it.idle_questions = Some(times);
            // It is asked for by the other option.
            if keep.is_some() { ask(it, |it| it.keep_alive = Some(times)) } else { Ok(()) }
        }
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => {
            let rule = if given == 0 { Coalesce::Minshall } else { Coalesce::Never };
            ask(it, |it| it.coalesce = Some(rule))
        }
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
            let time = Time::from_millis(number()?.into());
            ask(it, |it| it.user_timeout = Some(time))
        }
        (libc::IPPROTO_IP, libc::IP_TOS) => {
            let tos = octet()?;
            ask(it, |it| it.special = IpQuality { tos: Some(tos), ..it.special.into() }.into())
        }
        (libc::IPPROTO_IP, libc::IP_TTL) => {
            let ttl = octet()?;
            ask(it, |it| it.special = IpQuality { ttl: Some(ttl), ..it.special.into() }.into())
        }
        (level, name) => {
            eprintln!("kumiki: option {name} of level {level} is not covered");
            Err(Errno::NOPROTOOPT)
        }
    }
}

fn get(it: &mut Descriptor, name: (c_int, c_int)) -> Result<c_int, Errno> {
    let shown = |octets: Option<u32>, default: u32| {
        c_int::try_from(octets.map_or(default, |it| it.saturating_mul(2))).unwrap_or(c_int::MAX)
    };
    match name {
        (libc::SOL_SOCKET, libc::SO_ERROR) => {
            let found = match &it.state {
                State::Open(stream) => stream.take_error().map_err(|why| errno(&why))?.map(|why| errno(&why)),
                State::Failed(_) => take_failure(it),
                State::Fresh(_) | State::Calling(_) | State::Listening(..) | State::Epoll(_) | State::Between => None,
            };
            Ok(found.map_or(0, Errno::raw_os_error))
        }
        (libc::SOL_SOCKET, libc::SO_TYPE) => Ok(libc::SOCK_STREAM),
        // As Linux: twice what was asked for.
        (libc::SOL_SOCKET, libc::SO_SNDBUF) => Ok(shown(it.quality.send_buffer, 16_384)),
        (libc::SOL_SOCKET, libc::SO_RCVBUF) => Ok(shown(it.quality.receive_buffer, 131_072)),
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => {
            Ok(it.quality.keep_alive.is_some_and(|it| it != KeepAlive::OFF).into())
        }
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => Ok((it.quality.coalesce == Some(Coalesce::Never)).into()),
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
            Ok(it.quality.user_timeout.map_or(0, |it| c_int::try_from(it.as_nanos() / 1_000_000).unwrap_or(c_int::MAX)))
        }
        (libc::IPPROTO_IP, libc::IP_TOS) => Ok(IpQuality::from(it.quality.special).tos.unwrap_or_default().into()),
        (libc::IPPROTO_IP, libc::IP_TTL) => Ok(IpQuality::from(it.quality.special).ttl.unwrap_or(64).into()),
        (level, name) => {
            eprintln!("kumiki: option {name} of level {level} is not covered");
            Err(Errno::NOPROTOOPT)
        }
    }
}
