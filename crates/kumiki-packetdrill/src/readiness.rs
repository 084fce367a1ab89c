//! Waiting for several descriptors: `poll` and epoll.

use core::ffi::{c_int, c_short, c_void};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;

use kumiki_net::TcpStream;
use rustix::io::Errno;
use tokio::io::{Interest as Ready, Ready as Found};

use crate::adapter::{Adapter, descriptor};
use crate::clock::World;
use crate::descriptor::{Descriptor, Interest, State};
use crate::memory;

const READ: c_short = libc::POLLIN | libc::POLLRDNORM;
const WRITE: c_short = libc::POLLOUT | libc::POLLWRNORM;

/// So many may be waited for at once.
const MOST: usize = 4096;

/// What one entry of `poll` takes, in octets: the descriptor, what is asked, what is found.
const ENTRY: usize = 8;

/// And one of epoll's: the events, and eight octets of the caller's, packed on x86-64 alone.
const EVENT: usize = size_of::<libc::epoll_event>();
const DATA: usize = EVENT - 8;

/// Milliseconds, or for ever where they are negative.
fn limit(millis: c_int) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}

/// What is found at a descriptor, as Linux's `tcp_poll` says it.
fn found_at(it: &mut Descriptor) -> c_short {
    if it.has_caller() {
        return READ;
    }
    match &it.state {
        State::Open(stream) => found_on(stream),
        State::Fresh(_) => WRITE | libc::POLLHUP,
        State::Failed(why) => {
            READ | WRITE | libc::POLLHUP | libc::POLLRDHUP | if why.is_some() { libc::POLLERR } else { 0 }
        }
        State::Listening(..) | State::Calling(_) | State::Epoll(_) | State::Between => 0,
    }
}

/// What a connection is ready for.
fn ready(stream: &TcpStream) -> Option<std::io::Result<Found>> {
    let all = Ready::READABLE | Ready::WRITABLE | Ready::ERROR;
    match pin!(stream.ready(all)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(found) => Some(found),
        Poll::Pending => None,
    }
}

/// Whether the peer sends no more.
pub(crate) fn has_ended(stream: &TcpStream) -> bool {
    matches!(ready(stream), Some(Ok(found)) if found.is_read_closed())
}

fn found_on(stream: &TcpStream) -> c_short {
    let found = match ready(stream) {
        Some(Ok(found)) => found,
        Some(Err(_)) => return libc::POLLERR | libc::POLLHUP,
        None => return 0,
    };
    let has = |what: Found, says: c_short| if found.is_empty() || !has_any(found, what) { 0 } else { says };
    let both = found.is_read_closed() && found.is_write_closed();
    has(Found::READABLE | Found::READ_CLOSED, READ)
        | has(Found::READ_CLOSED, libc::POLLRDHUP)
        | has(Found::WRITABLE | Found::WRITE_CLOSED, WRITE)
        | has(Found::ERROR, libc::POLLERR)
        | if both { libc::POLLHUP } else { 0 }
}

fn has_any(found: Found, what: Found) -> bool {
    !(found & what).is_empty()
}

/// As epoll has it; the numbers are the same.
fn ready_of(world: &mut World, interests: &BTreeMap<c_int, Interest>, most: usize) -> Vec<Interest> {
    let always = u32::from(libc::POLLERR.unsigned_abs() | libc::POLLHUP.unsigned_abs());
    let mut ready = Vec::new();
    for (number, interest) in interests {
        let found = world.descriptors.get_mut(number).map_or(0, found_at);
        let events = u32::from(found.unsigned_abs()) & (interest.events | always);
        if events != 0 && ready.len() < most {
            ready.push(Interest { events, data: interest.data });
        }
    }
    ready
}

impl Adapter {
    pub(crate) fn poll(&self, entries: *mut c_void, count: u64, millis: c_int) -> Result<c_int, Errno> {
        let count = usize::try_from(count).ok().filter(|it| *it <= MOST).ok_or(Errno::INVAL)?;
        let mut octets = memory::read(entries, count * ENTRY)?;
        let done = self.clock.wait("a descriptor to be ready", limit(millis), |world| {
            let (entries, _) = octets.as_chunks_mut::<ENTRY>();
            let mut ready = 0;
            for [d0, d1, d2, d3, e0, e1, f0, f1] in entries {
                let number = c_int::from_ne_bytes([*d0, *d1, *d2, *d3]);
                let asked = c_short::from_ne_bytes([*e0, *e1]) | libc::POLLERR | libc::POLLHUP;
                let found = match world.descriptors.get_mut(&number) {
                    _ if number < 0 => 0,
                    Some(it) => found_at(it) & asked,
                    None => libc::POLLNVAL,
                };
                [*f0, *f1] = found.to_ne_bytes();
                ready += c_int::from(found != 0);
            }
            if ready > 0 { Ok(ready) } else { Err(Errno::AGAIN) }
        });
        memory::write(entries, &octets)?;
        match done {
            Err(Errno::AGAIN) => Ok(0),
            done => done,
        }
    }

    pub(crate) fn epoll_create(&self, size: c_int) -> Result<c_int, Errno> {
        if size <= 0 {
            return Err(Errno::INVAL);
        }
        self.clock.with(|world| {
            let (number, descriptor) = Descriptor::new(State::Epoll(BTreeMap::new()))?;
            world.descriptors.insert(number, descriptor);
            Ok(number)
        })
    }

    pub(crate) fn epoll_ctl(
        &self,
        epoll: c_int,
        operation: c_int,
        number: c_int,
        event: *const c_void,
    ) -> Result<(), Errno> {
        let interest = if operation == libc::EPOLL_CTL_DEL { None } else { Some(interest(event)?) };
        self.clock.with(|world| {
            descriptor(world, number)?;
            let State::Epoll(interests) = &mut descriptor(world, epoll)?.state else {
                return Err(Errno::INVAL);
            };
            let is_there = interests.contains_key(&number);
            match (operation, interest) {
                (libc::EPOLL_CTL_ADD, Some(_)) if is_there => Err(Errno::EXIST),
                (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, _) if !is_there => Err(Errno::NOENT),
                (libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD, Some(interest)) => {
                    interests.insert(number, interest);
                    Ok(())
                }
                (libc::EPOLL_CTL_DEL, _) => {
                    interests.remove(&number);
                    Ok(())
                }
                _ => Err(Errno::INVAL),
            }
        })
    }

    pub(crate) fn epoll_wait(
        &self,
        epoll: c_int,
        events: *mut c_void,
        most: c_int,
        millis: c_int,
    ) -> Result<c_int, Errno> {
        let most = usize::try_from(most).ok().filter(|it| *it > 0).ok_or(Errno::INVAL)?;
        let done = self.clock.wait("a descriptor to be ready", limit(millis), |world| {
            let State::Epoll(interests) = &descriptor(world, epoll)?.state else {
                return Err(Errno::INVAL);
            };
            let interests = interests.clone();
            let ready = ready_of(world, &interests, most.min(MOST));
            if ready.is_empty() { Err(Errno::AGAIN) } else { Ok(ready) }
        });
        let ready = match done {
            Err(Errno::AGAIN) => Vec::new(),
            done => done?,
        };
        let mut octets = Vec::new();
        for Interest { events, data } in &ready {
            let mut event = [0; EVENT];
            if let Some((first, _)) = event.split_first_chunk_mut() {
                *first = events.to_ne_bytes();
            }
            if let Some((_, last)) = event.split_last_chunk_mut() {
                *last = data.to_ne_bytes();
            }
            octets.extend(event);
        }
        memory::write(events, &octets)?;
        c_int::try_from(ready.len()).map_err(|_| Errno::INVAL)
    }
}

/// What the event at `event` asks.
fn interest(event: *const c_void) -> Result<Interest, Errno> {
    let octets = memory::read(event, EVENT)?;
    let events = octets.first_chunk().map(|it| u32::from_ne_bytes(*it)).ok_or(Errno::FAULT)?;
    let data =
        octets.get(DATA..).and_then(|it| it.first_chunk()).map(|it| u64::from_ne_bytes(*it)).ok_or(Errno::FAULT)?;
    let not_covered = libc::EPOLLET | libc::EPOLLONESHOT;
    if events & not_covered.cast_unsigned() != 0 {
        eprintln!("kumiki: epoll by edges and for one time is not covered");
        return Err(Errno::INVAL);
    }
    Ok(Interest { events, data })
}
