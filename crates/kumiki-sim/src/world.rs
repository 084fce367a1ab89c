//! The world: hosts, the media between them, and virtual time.

use std::collections::VecDeque;

use kumiki_graph::{DeviceId, Duration, Instant, Misfit, Tapped};
use kumiki_link::{Element, Outlet, Unit};

use crate::host::Host;
use crate::queue::Queue;

/// A host, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub usize);

/// A piece of a medium, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ElementId(pub usize);

/// One end of a wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Plug {
    /// A host's device.
    Device(HostId, DeviceId),
    /// A port of a medium.
    Port(ElementId, usize),
}

struct Medium {
    name: String,
    element: Box<dyn Element>,
    wires: Vec<Option<Plug>>,
    party: usize,
}

struct Inhabitant {
    host: Host,
    wires: Vec<Option<Plug>>,
    party: usize,
}

#[derive(Clone, Copy)]
enum Party {
    Host(usize),
    Medium(usize),
}

/// Hosts and media in virtual time.
///
/// Build it ([`World::add_host`], [`World::add_element`], [`World::plug`]), start it once, then run it as far as needed.
/// The same parts and seeds give the same events in the same order.
#[derive(Default)]
pub struct World {
    hosts: Vec<Inhabitant>,
    media: Vec<Medium>,
    parties: Vec<Party>,
    queue: Queue,
    now: Instant,
    under_way: VecDeque<(Plug, Unit)>,
    outlet: Outlet,
    handed_down: Vec<(DeviceId, Unit)>,
    events: u64,
}

impl World {
    /// An empty world at the start of the clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a host.
    pub fn add_host(&mut self, host: Host) -> HostId {
        let party = self.queue.add_party();
        self.parties.push(Party::Host(self.hosts.len()));
        self.hosts.push(Inhabitant {
            host,
            wires: Vec::new(),
            party,
        });
        HostId(self.hosts.len() - 1)
    }

    /// Adds a piece of a medium.
    pub fn add_element(&mut self, name: &str, element: Box<dyn Element>) -> ElementId {
        let party = self.queue.add_party();
        self.parties.push(Party::Medium(self.media.len()));
        self.media.push(Medium {
            name: name.to_owned(),
            element,
            wires: Vec::new(),
            party,
        });
        ElementId(self.media.len() - 1)
    }

    /// Joins two plugs. What leaves by one arrives at the other at once.
    pub fn plug(&mut self, a: Plug, b: Plug) {
        for (from, to) in [(a, b), (b, a)] {
            let (wires, number) = match from {
                Plug::Device(host, device) => match self.hosts.get_mut(host.0) {
                    Some(host) => (&mut host.wires, device.0),
                    None => continue,
                },
                Plug::Port(element, port) => match self.media.get_mut(element.0) {
                    Some(medium) => (&mut medium.wires, port),
                    None => continue,
                },
            };
            if wires.len() <= number {
                wires.resize(number + 1, None);
            }
            if let Some(wire) = wires.get_mut(number) {
                *wire = Some(to);
            }
        }
    }

    /// Starts all graphs.
    ///
    /// # Errors
    /// The host's name and the [`Misfit`], where a graph is not complete.
    pub fn start(&mut self) -> Result<(), (String, Misfit)> {
        for number in 0..self.hosts.len() {
            if let Some(inhabitant) = self.hosts.get_mut(number) {
                let name = inhabitant.host.name.clone();
                inhabitant
                    .host
                    .graph
                    .start(self.now)
                    .map_err(|misfit| (name, misfit))?;
            }
            self.arm_host(number);
        }
        Ok(())
    }

    /// The present time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// How many events there have been.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// The host `id`.
    #[must_use]
    pub fn host(&self, id: HostId) -> Option<&Host> {
        self.hosts.get(id.0).map(|inhabitant| &inhabitant.host)
    }

    /// As [`World::host`], to look into its graph between runs.
    pub fn host_mut(&mut self, id: HostId) -> Option<&mut Host> {
        self.hosts
            .get_mut(id.0)
            .map(|inhabitant| &mut inhabitant.host)
    }

    /// All hosts, in the order of being added.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().map(|inhabitant| &inhabitant.host)
    }

    /// The media's counters, by name.
    pub fn media(&self) -> impl Iterator<Item = (&str, Vec<(&'static str, u64)>)> {
        self.media
            .iter()
            .map(|medium| (medium.name.as_str(), medium.element.counters()))
    }

    /// Takes what the hosts' taps have seen since this was last asked, by host.
    pub fn take_tapped(&mut self) -> Vec<(HostId, Vec<Tapped>)> {
        let tapped = |(number, inhabitant): (usize, &mut Inhabitant)| {
            let seen = inhabitant.host.graph.take_tapped();
            (!seen.is_empty()).then_some((HostId(number), seen))
        };
        self.hosts
            .iter_mut()
            .enumerate()
            .filter_map(tapped)
            .collect()
    }

    /// Runs until nothing is due by `end`; the time is then `end`.
    pub fn run_until(&mut self, end: Instant) {
        while self.next_event(end) {}
        self.now = self.now.max(end);
    }

    /// Runs until nothing is due by `end` or `done` says so; it is asked every `every`. True where `done` ended the run.
    pub fn run_until_done(
        &mut self,
        end: Instant,
        every: Duration,
        mut done: impl FnMut(&Self) -> bool,
    ) -> bool {
        while self.now < end {
            if done(self) {
                return true;
            }
            self.run_until((self.now + every).min(end));
        }
        done(self)
    }

    /// Lets the next event by `end` happen; false where there is none.
    fn next_event(&mut self, end: Instant) -> bool {
        let Some((at, party)) = self.queue.pop(end) else {
            return false;
        };
        self.now = at;
        self.events += 1;
        match self.parties.get(party).copied() {
            Some(Party::Host(number)) => self.step_host(number),
            Some(Party::Medium(number)) => {
                if let Some(medium) = self.media.get_mut(number) {
                    medium.element.poll(at, &mut self.outlet);
                }
                self.collect(number);
            }
            None => {}
        }
        self.carry();
        true
    }

    fn step_host(&mut self, number: usize) {
        let Some(inhabitant) = self.hosts.get_mut(number) else {
            return;
        };
        inhabitant.host.step(self.now, &mut self.handed_down);
        for (device, unit) in self.handed_down.drain(..) {
            if let Some(Some(plug)) = inhabitant.wires.get(device.0) {
                self.under_way.push_back((*plug, unit));
            }
        }
        self.arm_host(number);
    }

    /// Takes what left the medium `number` and arms it anew.
    fn collect(&mut self, number: usize) {
        let Some(medium) = self.media.get_mut(number) else {
            return;
        };
        for (port, unit) in self.outlet.drain() {
            if let Some(Some(plug)) = medium.wires.get(port) {
                self.under_way.push_back((*plug, unit));
            }
        }
        self.queue.arm(medium.party, medium.element.next_deadline());
    }

    /// Brings everything that is under way where it goes, and what that sets off in turn.
    fn carry(&mut self) {
        while let Some((plug, unit)) = self.under_way.pop_front() {
            match plug {
                Plug::Device(host, device) => {
                    if let Some(inhabitant) = self.hosts.get_mut(host.0) {
                        inhabitant.host.receive(self.now, device, unit);
                        self.step_host(host.0);
                    }
                }
                Plug::Port(element, port) => {
                    if let Some(medium) = self.media.get_mut(element.0) {
                        medium.element.offer(self.now, port, unit, &mut self.outlet);
                        self.collect(element.0);
                    }
                }
            }
        }
    }

    fn arm_host(&mut self, number: usize) {
        if let Some(inhabitant) = self.hosts.get_mut(number) {
            let deadline = inhabitant.host.next_deadline().map(|at| at.max(self.now));
            self.queue.arm(inhabitant.party, deadline);
        }
    }
}

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "World at {} with {} hosts and {} media",
            self.now,
            self.hosts.len(),
            self.media.len()
        )
    }
}
