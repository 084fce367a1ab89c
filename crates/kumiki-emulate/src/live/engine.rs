//! The loop between a world and the hosts of it that are real: what they have sent goes in, what has come to them goes out, at the times of the world.
//!
//! | | |
//! |---|---|
//! | Pass | what has come from each host, a batch at most; what is due in the world; what has come to each host |
//! | Time | what a host has sent is in the world from when it is read; what comes to it is late by what the thread runs later than the world says |
//! | Wait | in one `poll` for all devices, the bell and the next event of the world |
//! | Super-segments | are cut first: a line of the world carries packets |

use std::collections::VecDeque;
use std::io;

use kumiki_delay::statistics::Times;
use kumiki_graph::{Address, Duration, Instant};
use kumiki_io::{Arrival, Bell, Clock, Descriptors, RealDevice, Sent, Watch};
use kumiki_lab::experiment::{Left, Live};
use kumiki_link::offload;

/// The most units that are read from one host before what is due leaves.
const BATCH: usize = 32;

/// So many packets may wait for room in a device, as in the transmit queue of a network interface of Linux; more are dropped and counted.
const QUEUE: usize = 1000;

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
    waiting: VecDeque<Left>,
    is_full: bool,
    crossed: Crossed,
}

/// The loop; see the module.
pub(super) struct Engine<C> {
    clock: C,
    bell: Bell,
    world: Live,
    ends: Vec<End>,
}

/// A device that is of no more use.
#[derive(Debug)]
pub(super) struct Failed {
    /// Whose: a place in [`Live::real`].
    pub(super) host: usize,
    /// What it said.
    pub(super) why: io::Error,
}

impl<C: Clock> Engine<C> {
    /// Between `world` and a device for each of its real hosts, in their order. The world begins when the clock does.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub(super) fn new(clock: C, world: Live, devices: Vec<Box<dyn RealDevice>>) -> io::Result<Self> {
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
    pub(super) const fn world(&self) -> &Live {
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
        for host in 0..self.ends.len() {
            more |= self.read(host).map_err(|why| Failed { host, why })?;
        }
        self.world.pass(self.clock.now());
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

    /// Brings into the world what `host` has sent; true where there may be more.
    fn read(&mut self, host: usize) -> io::Result<bool> {
        let Self { clock, world, ends, .. } = self;
        let Some(end) = ends.get_mut(host) else {
            return Ok(false);
        };
        for _ in 0..BATCH {
            match end.device.receive()? {
                Some(Arrival::Unit { data, .. }) => {
                    world.pass(clock.now());
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
    fn keep(&mut self, left: Left) {
        if self.waiting.len() < QUEUE {
            self.waiting.push_back(left);
        } else {
            self.crossed.lost += 1;
        }
    }

    /// Hands over what waits, as far as there is room.
    fn write(&mut self, clock: &impl Clock) -> io::Result<()> {
        while let Some(Left { at, packet, .. }) = self.waiting.front() {
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

fn late(due: Instant, now: Instant) -> Duration {
    now.saturating_since(due)
}
