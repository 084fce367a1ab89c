//! A host in the user's own loop.

use core::future::poll_fn;
use core::task::Poll;
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::coop::poll_proceed;

use kumiki_io::{Clock as _, RealClock, RealDevice, Watching, unguessable};

use super::config::HostConfig;
use super::engine::Engine;
use super::engines::Engines;
use crate::{Gateway, Stack};

/// A TCP/IP without a thread, which the user's own loop drives; with one it is a [`HostStack`](super::HostStack).
///
/// Its [descriptor](AsFd) is readable as soon as there is something to do: a packet has come, a socket was used, there
/// is room in the device. Then, and when the time has come that it says, [`HostDriver::poll`] is to be called. The
/// descriptor stays the same, and is for `poll`, `epoll` or `select`, edge-triggered or not. In a runtime of tokio
/// [`HostDriver::drive`] does all that.
#[derive(Debug)]
pub struct HostDriver {
    engine: Engine<RealClock>,
    watching: Watching,
}

impl HostDriver {
    /// One on `device`.
    ///
    /// # Errors
    /// `InvalidInput` where an address or the MTU cannot be; those of the operating system.
    pub fn new(device: Box<dyn RealDevice>, config: &HostConfig) -> io::Result<Self> {
        Self::new_on(vec![device], config)
    }

    /// One on several devices: that of the host itself, and one for each [line](HostConfig::line) more, in their order.
    ///
    /// # Errors
    /// As [`HostDriver::new`]; `InvalidInput` where these are not as many, or the host is to have several
    /// [queues](HostConfig::queues).
    pub fn new_on(devices: Vec<Box<dyn RealDevice>>, config: &HostConfig) -> io::Result<Self> {
        // What a stack on a network draws must not be guessable.
        let engines = Engines::new(&RealClock::start(), devices, config, unguessable()?)?;
        let Ok([engine]) = <[_; 1]>::try_from(engines.into_all()) else {
            let why = "a host with several queues in one loop; expected one queue, or a `HostStack`, which has a thread for each";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        let mut watching = Watching::new(&engine.executor.bell())?;
        watching.follow(&engine.executor)?;
        Ok(Self { engine, watching })
    }

    /// Its sockets.
    #[must_use]
    pub const fn stack(&self) -> &Stack {
        &self.engine.stack
    }

    /// Its gateway; one at a time.
    ///
    /// # Errors
    /// As [`HostStack::gateway`](super::HostStack::gateway).
    pub fn gateway(&self) -> io::Result<Gateway> {
        self.engine.stack.gateway()
    }

    /// Does what there is to do, whenever there is something, in the runtime of tokio that polls it: for
    /// `tokio::spawn`, or beside a program in a `select!`. Once it is dropped the host is gone.
    ///
    /// # Errors
    /// As [`HostDriver::poll`]; it ends with none else. Those of the runtime, as where it has no I/O.
    ///
    /// # Panics
    /// Where the runtime has no time ([`enable_time`](tokio::runtime::Builder::enable_time)), as tokio's own timers do.
    pub async fn drive(self) -> io::Result<()> {
        #[expect(deprecated, reason = "what is in its place is unsafe, for those whose descriptor may change")]
        let mut driver = AsyncFd::with_interest(self, Interest::READABLE)?;
        // Programs in this runtime wake the task itself; for a descriptor each of them would take calls of the
        // operating system.
        let bell = driver.get_ref().engine.executor.bell();
        loop {
            let next = driver.get_mut().poll()?.unwrap_or(Duration::MAX);
            if next.is_zero() {
                // There is more, and tokio's timers would make it wait for the next millisecond.
                tokio::task::yield_now().await;
                continue;
            }
            let ready = poll_fn(|cx| match bell.poll_rung(cx) {
                // Threads that ring all the time would never let others in this task or thread run.
                Poll::Ready(()) => poll_proceed(cx).map(|coop| {
                    coop.made_progress();
                    Ok(())
                }),
                Poll::Pending => driver.poll_read_ready_mut(cx).map_ok(|mut ready| ready.clear_ready()),
            });
            if let Ok(ready) = tokio::time::timeout(next, ready).await {
                ready?;
            }
        }
    }

    /// Does what there is to do, and never waits. Says after what time it is to be called again, unless its descriptor
    /// is readable before; `None`: only then.
    ///
    /// # Errors
    /// Where its device has failed. Its sockets say so too, and it does nothing any more.
    pub fn poll(&mut self) -> io::Result<Option<Duration>> {
        let next = self.engine.poll()?;
        self.watching.follow(&self.engine.executor)?;
        let now = self.engine.clock.now();
        Ok(next.map(|next| Duration::from_nanos(next.saturating_since(now).as_nanos())))
    }
}

impl AsFd for HostDriver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watching.as_fd()
    }
}

impl std::os::fd::AsRawFd for HostDriver {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.watching.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock};

    use kumiki_graph::Address;
    use kumiki_io::{Arrival, Bell, Descriptors, Sent};
    use kumiki_octets::Message;

    use super::*;

    /// A device at which somebody rings whenever it is asked, as a busy program in another thread may.
    struct Busy(Arc<OnceLock<Bell>>);

    impl RealDevice for Busy {
        fn descriptors(&self) -> Descriptors<'_> {
            Descriptors::default()
        }

        fn receive(&mut self) -> io::Result<Option<Arrival>> {
            self.0.get().into_iter().for_each(Bell::ring);
            Ok(None)
        }

        fn send(&mut self, _: &Message, _: Address) -> io::Result<Sent> {
            Ok(Sent::Taken)
        }
    }

    #[test]
    fn who_rings_all_the_time_leaves_a_program_in_the_same_task_its_turn() {
        kumiki_watchdog::minute();
        let bell = Arc::new(OnceLock::new());
        let config = HostConfig::new([[10, 0, 0, 1].into()]);
        let driver = HostDriver::new(Box::new(Busy(Arc::clone(&bell))), &config).unwrap();
        bell.set(driver.engine.executor.bell()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::select! {
                biased;
                driven = driver.drive() => panic!("{driven:?}"),
                () = core::future::ready(()) => {}
            }
        });
    }
}
