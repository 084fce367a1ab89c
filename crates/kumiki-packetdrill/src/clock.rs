//! How time passes, and how a call waits.
//!
//! Time moves when packetdrill asks what time it is, sleeps, or waits for a packet, and then from timer to timer of the
//! host, so that each is on time.
//!
//! packetdrill makes a call that is to wait on a second thread, and looks in `/proc` whether that sleeps; the first
//! goes on with the script. So who waits sleeps on a condition variable, and is woken to look again whenever the host
//! has run. As long as somebody has not looked, or has found what was waited for and has not asked the time yet, time
//! stands still: what packetdrill then writes down as the end of the call is the time at which it ended.
//!
//! A call on the thread that goes through the script has nobody beside it who would move time: it does so itself.

use core::task::{Context, Waker};
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use kumiki_net::Stack;
use kumiki_net::host::{Connection, HostConfig, PacketStack};
use rustix::io::Errno;

use crate::descriptor::Descriptor;
use crate::flags::Flags;

/// Each look at the clock takes so long, for packetdrill looks again and again until the time has come.
const LOOK: Duration = Duration::from_micros(1);

/// How long the process waits, in its own time, for a thread that was woken. It is what happens after a caller has gone
/// away in the middle of a call, and nothing else: a thread that lives needs microseconds.
const GONE: Duration = Duration::from_secs(10);

/// The host, its descriptors, and the time.
pub(crate) struct World {
    host: PacketStack,
    /// Since the host was made.
    pub(crate) now: Duration,
    /// When the host wants to run again.
    next: Option<Duration>,
    /// What has left it, and when.
    out: VecDeque<(Duration, Vec<u8>)>,
    pub(crate) descriptors: BTreeMap<i32, Descriptor>,
    /// How often it has run.
    round: u64,
    /// Who sleeps in a call.
    sleepers: BTreeMap<SleeperId, Sleeper>,
    /// Who has what was waited for, and has not asked the time.
    returning: Option<ThreadId>,
    places: u64,
    timeout: Duration,
}

type SleeperId = u64;

struct Sleeper {
    /// The round that it has looked after.
    looked: u64,
    /// When it waits no longer.
    until: Option<Duration>,
}

impl World {
    fn new(flags: &Flags) -> io::Result<Self> {
        let config = HostConfig::new(flags.addresses).mtu(flags.mtu).tcp(flags.tcp.clone());
        let mut world = Self {
            host: PacketStack::new(&config, flags.seed)?,
            now: Duration::ZERO,
            next: None,
            out: VecDeque::new(),
            descriptors: BTreeMap::new(),
            round: 0,
            sleepers: BTreeMap::new(),
            returning: None,
            places: 0,
            timeout: flags.timeout,
        };
        world.run();
        Ok(world)
    }

    /// The host's sockets.
    pub(crate) const fn stack(&self) -> &Stack {
        self.host.stack()
    }

    /// The host's connections.
    pub(crate) fn connections(&self) -> Vec<Connection> {
        self.host.connections()
    }

    /// Does what is due, and takes what leaves.
    pub(crate) fn run(&mut self) {
        loop {
            match self.host.poll(self.now) {
                Ok(next) => self.next = next,
                Err(why) => {
                    eprintln!("kumiki: the stack cannot go on: {why}");
                    self.next = None;
                    break;
                }
            }
            while let Some(packet) = self.host.transmit() {
                self.out.push_back((self.now, packet));
            }
            let mut cx = Context::from_waker(Waker::noop());
            for descriptor in self.descriptors.values_mut() {
                descriptor.settle(&mut cx);
            }
            if !self.host.needs_poll() {
                break;
            }
        }
        self.round += 1;
    }

    /// Does what somebody has asked of the host, if anybody has.
    fn settle(&mut self) -> bool {
        let asked = self.host.needs_poll();
        if asked {
            self.run();
        }
        asked
    }

    /// Whether somebody sleeps in a call.
    #[cfg(test)]
    pub(crate) fn has_sleepers(&self) -> bool {
        !self.sleepers.is_empty()
    }

    /// Whether somebody else who was woken is still at work.
    fn is_busy(&self) -> bool {
        let own = thread::current().id();
        self.returning.is_some_and(|it| it != own) || self.sleepers.values().any(|it| it.looked != self.round)
    }

    /// When something is to be done next.
    fn next(&self) -> Option<Duration> {
        let ends = self.sleepers.values().filter_map(|it| it.until);
        self.next.into_iter().chain(ends.filter(|it| *it > self.now)).min()
    }

    fn go_to(&mut self, time: Duration) {
        self.now = self.now.max(time);
        self.run();
    }

    /// What `what` was waited for in vain, and how all connections stand.
    fn tell_vain(&self, what: &str, since: Duration) {
        let now = self.now.as_secs_f64();
        let why = if self.next().is_none() { "no timer runs that could bring it" } else { "it has not come" };
        eprintln!("kumiki: waited for {what} from {:.6} s to {now:.6} s of virtual time: {why}", since.as_secs_f64());
        let connections = self.host.connections();
        if connections.is_empty() {
            eprintln!("kumiki: there is no connection");
        }
        for Connection { local, remote, snapshot: it, .. } in connections {
            let srtt = it.srtt.map_or_else(|| "unknown".to_owned(), |it| it.to_string());
            eprintln!(
                "kumiki: {local} - {remote} is in {}: congestion window {}, slow start threshold {}, peer's window {}, own window {}, round trip {srtt}, retransmission after {}",
                it.state, it.cwnd, it.ssthresh, it.snd_wnd, it.rcv_wnd, it.rto
            );
        }
    }
}

/// The world, and who waits in it.
pub(crate) struct Clock {
    world: Mutex<World>,
    changed: Condvar,
    /// Goes through the script.
    main: ThreadId,
}

/// Works on the world.
pub(crate) type Locked<'a> = MutexGuard<'a, World>;

impl Clock {
    /// One whose time is moved by this thread.
    pub(crate) fn new(flags: &Flags) -> io::Result<Self> {
        Ok(Self { world: Mutex::new(World::new(flags)?), changed: Condvar::new(), main: thread::current().id() })
    }

    /// The world.
    pub(crate) fn lock(&self) -> Locked<'_> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who calls has come back from the call before.
    pub(crate) fn come_back(&self) {
        self.set_back(&mut self.lock());
    }

    /// Whether this thread had not come back yet; now it has.
    fn set_back(&self, world: &mut World) -> bool {
        let is_back = world.returning == Some(thread::current().id());
        if is_back {
            world.returning = None;
            self.changed.notify_all();
        }
        is_back
    }

    /// Waits, time standing still, until nobody who was woken is at work.
    fn quiet<'a>(&self, mut world: Locked<'a>) -> Locked<'a> {
        while world.is_busy() {
            self.changed.notify_all();
            let (back, waited) = self.changed.wait_timeout(world, GONE).unwrap_or_else(PoisonError::into_inner);
            world = back;
            if waited.timed_out() {
                world.returning = None;
                world.sleepers.clear();
            }
        }
        world
    }

    /// Moves time to `until`.
    fn advance<'a>(&self, mut world: Locked<'a>, until: Duration) -> Locked<'a> {
        world = self.quiet(world);
        while let Some(next) = world.next()
            && next <= until
        {
            world.go_to(next);
            world = self.quiet(world);
        }
        world.now = world.now.max(until);
        world
    }

    /// What time it is. For who comes back from a call it is the time at which that ended: others go on only after
    /// that.
    pub(crate) fn look(&self) -> Duration {
        let mut world = self.lock();
        let now = world.now;
        if self.set_back(&mut world) { now } else { self.advance(world, now + LOOK).now }
    }

    /// Sleeps.
    pub(crate) fn sleep(&self, time: Duration) {
        let world = self.lock();
        let until = world.now.saturating_add(time);
        drop(self.advance(world, until));
    }

    /// A packet has come.
    pub(crate) fn receive(&self, packet: &[u8]) {
        let mut world = self.lock();
        world.host.receive(packet);
        world.run();
        drop(self.quiet(world));
    }

    /// The next packet that leaves, and when it did; none where there will be none.
    pub(crate) fn transmit(&self) -> Option<(Duration, Vec<u8>)> {
        let mut world = self.lock();
        let since = world.now;
        loop {
            world = self.quiet(world);
            if let Some(packet) = world.out.pop_front() {
                return Some(packet);
            }
            let last = since.saturating_add(world.timeout);
            match world.next() {
                Some(next) if next <= last => world.go_to(next),
                Some(_) | None => {
                    world.tell_vain("a packet", since);
                    return None;
                }
            }
        }
    }

    /// Does `act`, and what follows from it.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.lock();
        let done = act(&mut world);
        world.settle();
        drop(self.quiet(world));
        done
    }

    /// Does `act` again and again until it says something else than that it would have to wait; or until the time is
    /// up, and then that is its answer. `what` is what is waited for, in words.
    pub(crate) fn wait<T>(
        &self,
        what: &str,
        at_most: Option<Duration>,
        mut act: impl FnMut(&mut World) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let mut world = self.lock();
        let since = world.now;
        let until = at_most.map(|it| since.saturating_add(it));
        let mut sleeps = None;
        loop {
            let done = act(&mut world);
            if world.settle() && matches!(done, Err(Errno::AGAIN)) {
                continue;
            }
            let is_over = until.is_some_and(|it| it <= world.now);
            if !matches!(done, Err(Errno::AGAIN)) || is_over {
                if let Some(place) = sleeps {
                    world.sleepers.remove(&place);
                    world.returning = Some(thread::current().id());
                    self.changed.notify_all();
                } else {
                    drop(self.quiet(world));
                }
                return done;
            }
            if thread::current().id() == self.main {
                world = self.quiet(world);
                let last = until.unwrap_or_else(|| since.saturating_add(world.timeout));
                match world.next().into_iter().chain(until).min() {
                    Some(next) if next <= last => world.go_to(next),
                    Some(_) | None => {
                        world.tell_vain(what, since);
                        return Err(Errno::DEADLK);
                    }
                }
                continue;
            }
            let place = *sleeps.get_or_insert_with(|| {
                world.places += 1;
                world.places
            });
            let looked = world.round;
            world.sleepers.insert(place, Sleeper { looked, until });
            self.changed.notify_all();
            world = self.changed.wait(world).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes all descriptors out, as they are; for the end.
    pub(crate) fn take_descriptors(&self) -> BTreeMap<i32, Descriptor> {
        core::mem::take(&mut self.lock().descriptors)
    }
}
