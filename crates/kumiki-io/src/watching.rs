//! What an executor waits for, as one descriptor: for loops of others that drive it ([`Executor::poll`]).
//!
//! | | |
//! |---|---|
//! | Specification | `epoll(7)` of Linux: one that is readable as soon as one of those in it is ready, and that may itself be in another |
//! | Watched | the executor's bell, and its devices: for room only while something waits for it |
//! | Edge-triggered loops | lose nothing: whatever is ready when [`Executor::poll`] says that it has done all is read before, and what comes later is an edge |

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use crate::clock::{Bell, Clock, Watch};
use crate::executor::Executor;

/// Its descriptor is readable when the executor has something to do; see the module.
#[derive(Debug)]
pub struct Watching {
    epoll: OwnedFd,
    watched: Vec<WatchedDescriptor>,
}

/// A descriptor of a device.
#[derive(Debug)]
struct WatchedDescriptor {
    /// Its number.
    number: RawFd,
    /// A second one of the same thing, by which it can be taken out when the device has none any more.
    own: OwnedFd,
    flags: EventFlags,
}

impl Watching {
    /// For the executor with this bell.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub fn new(bell: &Bell) -> io::Result<Self> {
        bell.open()?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for wire in bell.descriptors() {
            epoll::add(&epoll, wire, EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(Self { epoll, watched: Vec::new() })
    }

    /// From now on it watches what `executor` waits for. To be called after each [`Executor::poll`].
    ///
    /// # Errors
    /// Those of `epoll_ctl(2)`, as where the process may have no more descriptors.
    pub fn follow<C: Clock>(&mut self, executor: &Executor<C>) -> io::Result<()> {
        let watches: Vec<Watch<'_>> = executor.watches().collect();
        let flags_of = |number: RawFd| {
            let mut flags = EventFlags::empty();
            for watch in watches.iter().filter(|it| it.descriptor.as_raw_fd() == number) {
                flags.set(EventFlags::IN, flags.contains(EventFlags::IN) || watch.reading);
                flags.set(EventFlags::OUT, flags.contains(EventFlags::OUT) || watch.writing);
            }
            flags
        };
        let mut kept = Vec::with_capacity(self.watched.len());
        for it in core::mem::take(&mut self.watched) {
            let flags = flags_of(it.number);
            if flags.is_empty() {
                // One without interest would still tell of what has ended.
                epoll::delete(&self.epoll, &it.own)?;
                continue;
            }
            if flags != it.flags {
                epoll::modify(&self.epoll, &it.own, EventData::new_u64(0), flags)?;
            }
            kept.push(WatchedDescriptor { flags, ..it });
        }
        for watch in &watches {
            let number = watch.descriptor.as_raw_fd();
            if kept.iter().all(|it| it.number != number) {
                let own = rustix::io::fcntl_dupfd_cloexec(watch.descriptor, 3)?;
                let flags = flags_of(number);
                epoll::add(&self.epoll, &own, EventData::new_u64(0), flags)?;
                kept.push(WatchedDescriptor { number, own, flags });
            }
        }
        self.watched = kept;
        Ok(())
    }
}

impl AsFd for Watching {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
