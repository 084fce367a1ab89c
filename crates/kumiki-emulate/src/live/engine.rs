//! The loop between a world and the hosts of it that are real: what they have sent goes in, what has come to them goes out, at the times of the world.
//!
//! | | |
//! |---|---|
//! | Pass | what has come from each host, a batch at most; what is due in the world; what has come to each host |
//! | Time | what a host has sent is in the world from when it is read; what comes to it is late by what the thread runs later than the world says |
//! | Too slow | a world in which more happens than there is time for falls behind the clock: a pass takes [`STRETCH`] at most, and the rest waits for the next one |
//! | Wait | in one `poll` for all devices, the bell and the next event of the world |
//! | Super-segments | are cut first: a line of the world carries packets |

use std::collections::VecDeque;
use std::io;

use kumiki_delay::statistics::Times;
use kumiki_graph::{Address, Duration, Instant};
use kumiki_io::{Arrival, Bell, Clock, Descriptors, RealDevice, Sent, Watch};
use kumiki_lab::experiment::{LeftPacket, LiveWorld};
use kumiki_link::offload;

/// The most units that are read from one host before what is due leaves.
const BATCH: usize = 32;

/// So many packets may wait for room in a device, as in the transmit queue of a network interface of Linux; more are dropped and counted.
const QUEUE: usize = 1000;

/// How long a pass may let things happen in the world: then somebody may want it to end, and hosts have sent something.
const STRETCH: Duration = Duration::from_millis(10);

/// How far the world goes on until it is asked whether that has taken too long.
const STEP: Duration = Duration::from_millis(1);

/// How long nothing may happen until the world is looked at all the same.
const LOOK: Duration = Duration::from_secs(1);

/// What has crossed between the world and one real host.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossed {
    /// Packets that the host has sent.
    pub(super) sent: u64,
    /// Packets that it has got.
    pub(super) got: u64,
    /// Packets for it that found no room, or that its kernel did not take.
    pub(super) lost: u64,
    /// How much later than the world says it got them.
    pub(super) late: Times,
}

/// A host's device.
struct End {
    device: Box<dyn RealDevice>,
    waiting: VecDeque<LeftPacket>,
    is_full: bool,
    crossed: Crossed,
}

/// The loop; see the module.
pub(super) struct Engine<C> {
    clock: C,
    bell: Bell,
    world: LiveWorld,
    ends: Vec<End>,
}

/// A device that is of no more use.
#[derive(Debug)]
pub(super) struct Failed {
    /// Whose: a place in [`LiveWorld::real`].
    pub(super) host: usize,
    /// What it said.
    pub(super) why: io::Error,
}

impl<C: Clock> Engine<C> {
    /// Between `world` and a device for each of its real hosts, in their order. The world begins when the clock does.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub(super) fn new(clock: C, world: LiveWorld, devices: Vec<Box<dyn RealDevice>>) -> io::Result<Self> {
        let bell = Bell::default();
        bell.open()?;
        let end = |device| End { device, waiting: VecDeque::new(), is_full: false, crossed: Crossed::default() };
        Ok(Self { clock, bell, world, ends: devices.into_iter().map(end).collect() })
    }

    /// Ringing it ends a wait.
    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// The world.
    pub(super) const fn world(&self) -> &LiveWorld {
        &self.world
    }

    /// What has crossed, by host.
    pub(super) fn crossed(&self) -> impl Iterator<Item = &Crossed> {
        self.ends.iter().map(|end| &end.crossed)
    }

    /// Runs until `wish` says so, or time stands still in the world.
    ///
    /// # Errors
    /// [`Failed`] where a device is of no more use.
    pub(super) fn run(&mut self, wish: impl Fn() -> bool) -> Result<(), Failed> {
        loop {
            let more = self.pass()?;
            if wish() || self.world.standstill().is_some() {
                return Ok(());
            }
            if !more {
                self.wait();
            }
        }
    }

    /// Does what is due, once; true where more may be there to be read.
    fn pass(&mut self) -> Result<bool, Failed> {
        let mut more = false;
        let mut most = STRETCH;
        for host in 0..self.ends.len() {
            more |= self.read(host, &mut most).map_err(|why| Failed { host, why })?;
        }
        move_on(&mut self.world, &self.clock, &mut most);
        while let Some(left) = self.world.take_left() {
            if let Some(end) = self.ends.get_mut(left.host) {
                end.keep(left);
            }
        }
        for (host, end) in self.ends.iter_mut().enumerate() {
            end.write(&self.clock).map_err(|why| Failed { host, why })?;
        }
        Ok(more)
    }

    /// Brings into the world what `host` has sent; true where there may be more. The world is moved on meanwhile.
    fn read(&mut self, host: usize, most: &mut Duration) -> io::Result<bool> {
        let Self { clock, world, ends, .. } = self;
        let Some(end) = ends.get_mut(host) else {
            return Ok(false);
        };
        for _ in 0..BATCH {
            match end.device.receive()? {
                Some(Arrival::Unit { data, .. }) => {
                    move_on(world, clock, most);
                    offload::cut(data, |packet| {
                        end.crossed.sent += 1;
                        world.arrive(host, packet);
                    });
                }
                Some(Arrival::NoUnit | Arrival::Up | Arrival::Down | Arrival::Room(_) | Arrival::Told(_)) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn wait(&mut self) {
        let look = self.clock.now() + LOOK;
        let until = self.world.next_event_at().map_or(look, |next| next.min(look));
        let watches: Vec<Watch<'_>> = self.ends.iter().flat_map(End::watches).collect();
        self.clock.wait(until, &self.bell, &watches);
    }
}

impl End {
    /// Keeps a packet for the host, where there is room.
    fn keep(&mut self, left: LeftPacket) {
        if self.waiting.len() < QUEUE {
            self.waiting.push_back(left);
        } else {
            self.crossed.lost += 1;
        }
    }

    /// Hands over what waits, as far as there is room.
    fn write(&mut self, clock: &impl Clock) -> io::Result<()> {
        while let Some(LeftPacket { at, packet, .. }) = self.waiting.front() {
            match self.device.send(packet, Address::NONE)? {
                Sent::Taken => {
                    self.crossed.got += 1;
                    self.crossed.late.add(late(*at, clock.now()), 1);
                }
                Sent::Refused => self.crossed.lost += 1,
                Sent::Full => break,
            }
            self.waiting.pop_front();
        }
        self.is_full = self.device.flush()?;
        Ok(())
    }

    /// What is waited for.
    fn watches(&self) -> impl Iterator<Item = Watch<'_>> {
        let Descriptors { read, write } = self.device.descriptors();
        let write = write.filter(|_| self.is_full || !self.waiting.is_empty());
        let watch = |descriptor, reading| Watch { descriptor, reading, writing: !reading };
        let read = read.map(|descriptor| watch(descriptor, true));
        read.into_iter().chain(write.map(|descriptor| watch(descriptor, false)))
    }
}

/// Lets happen in the world what is due, for `most`, which is then less by what that took; what has not happened by then is due in the next pass.
fn move_on(world: &mut LiveWorld, clock: &impl Clock, most: &mut Duration) {
    let due = clock.now();
    let mut now = due;
    while world.now() < due && now.saturating_since(due) < *most && world.standstill().is_none() {
        let next = world.next_event_at().unwrap_or(due).max(world.now());
        world.pass((next + STEP).min(due));
        now = clock.now();
    }
    *most = most.saturating_sub(now.saturating_since(due));
}

fn late(due: Instant, now: Instant) -> Duration {
    now.saturating_since(due)
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};

    use kumiki_lab::laboratory::Laboratory;
    use kumiki_lab::scenario::{Choice, Document};

    use super::*;

    /// Two hosts that load a line beside one that is real.
    const BESIDE: &str = r#"
title = "A load beside a real host"
[host.a]
graph = { tcp = ["ip"], ip = ["l0"] }
[host.b]
like = "a"
[host.c]
graph = ["ip", "l0"]
real = { run = "true" }
[host.d]
like = "c"
[link.beside]
ends = ["a", "b"]
medium = "point-to-point"
rate = "10 Mb/s"
[link.line]
ends = ["c", "d"]
medium = "point-to-point"
rate = "10 Mb/s"
[load.bulk]
kind = "netperf"
from = "a.tcp"
to = "b.tcp"
message = "8 KiB"
"#;

    fn world() -> LiveWorld {
        let document = Document::parse("beside", "beside.toml", BESIDE).unwrap();
        let points = document.points(&Choice::default()).unwrap();
        Laboratory::live(&points[0]).unwrap()
    }

    /// A machine on which each look at the clock takes a while.
    struct Slow {
        now: AtomicU64,
        look: Duration,
    }

    impl Clock for Slow {
        fn now(&self) -> Instant {
            Instant::from_nanos(self.now.fetch_add(self.look.as_nanos(), Ordering::Relaxed))
        }

        fn wait(&self, _: Instant, _: &Bell, _: &[Watch<'_>]) {}
    }

    #[test]
    fn a_world_that_is_too_slow_can_be_ended_and_goes_on() {
        let begin = Duration::from_secs(1000);
        let clock = Slow { now: AtomicU64::new(begin.as_nanos()), look: Duration::from_millis(6) };
        let mut engine = Engine::new(clock, world(), Vec::new()).unwrap();
        let mut before = engine.world().now();
        for _ in 0..10 {
            engine.run(|| true).unwrap();
            let now = engine.world().now();
            assert!(before < now && now < before + STEP * 4, "from {before} to {now}");
            before = now;
        }
    }
}
