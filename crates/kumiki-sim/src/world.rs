//! The world: hosts, the media between them, and virtual time.

use std::borrow::Cow;
use std::collections::VecDeque;

use kumiki_graph::{Address, DeviceId, Duration, GraphError, Instant, Tapped};
use kumiki_link::{CellRate, Element, Occupancy, Outlet, Unit};

use crate::clock::Clock;
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
    /// A way out of the world, by a number of the caller's: what leaves by it is [kept](World::take_left), and what [comes](World::arrive) by it is from
    /// somewhere else.
    Outside(usize),
}

struct Medium {
    name: String,
    element: Box<dyn Element>,
    wires: Vec<Option<Plug>>,
    node: usize,
}

struct HostSlot {
    host: Host,
    wires: Vec<Option<Plug>>,
    node: usize,
    down_since: Option<Instant>,
    /// Where it is not that of the world.
    clock: Option<Clock>,
}

impl HostSlot {
    /// What its clock says when the world's says `at`.
    fn own(&self, at: Instant) -> Instant {
        self.clock.map_or(at, |clock| clock.own(at))
    }

    /// When its clock says `own`.
    fn world(&self, own: Instant) -> Instant {
        self.clock.map_or(own, |clock| clock.world(own))
    }
}

#[derive(Clone, Copy)]
enum Node {
    Host(u32),
    Medium(u32),
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Things happen again and again at one instant, and time does not go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Standstill {
    /// Between hosts and media, or tasks of a host: see [`World::set_rounds`].
    #[error(
        "time stands still at {at}: {rounds} rounds at this instant, the last in `{node}`; something there answers something at once and for ever"
    )]
    Rounds {
        /// When.
        at: Instant,
        /// How many rounds there have been at this instant.
        rounds: u64,
        /// The host or medium that had the last of them.
        node: String,
    },
    /// Within one task of a host: see [`kumiki_graph::Graph::set_steps`].
    #[error("host `{host}`: {graph}")]
    Graph {
        /// The host.
        host: String,
        /// Where in its graph.
        graph: kumiki_graph::Standstill,
    },
}

/// Hosts and media in virtual time.
///
/// Build it ([`World::add_host`], [`World::add_element`], [`World::plug`]), start it once, then run it as far as needed.
/// The same parts and seeds give the same events in the same order.
pub struct World {
    hosts: Vec<HostSlot>,
    media: Vec<Medium>,
    nodes: Vec<Node>,
    queue: Queue,
    now: Instant,
    under_way: VecDeque<(Plug, Unit)>,
    /// What is joined to each way out, and what has left by them.
    outside: Vec<Option<Plug>>,
    left: VecDeque<(usize, Instant, Unit)>,
    outlet: Outlet,
    handed_down: VecDeque<(DeviceId, Unit)>,
    /// Hosts that somebody may have changed between runs.
    touched: Vec<usize>,
    events: u64,
    unplugged: u64,
    /// Those in whose place others are.
    replaced: Vec<(HostId, Host)>,
    lost: u64,
    /// The first two plugs that could not be joined.
    misplugged: Option<(String, GraphError)>,
    /// How many rounds an instant may have, and how many are left to the present one.
    rounds: u64,
    rounds_left: u64,
    standstill: Option<Standstill>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            media: Vec::new(),
            nodes: Vec::new(),
            queue: Queue::default(),
            now: Instant::ZERO,
            under_way: VecDeque::new(),
            outside: Vec::new(),
            left: VecDeque::new(),
            outlet: Outlet::default(),
            handed_down: VecDeque::new(),
            touched: Vec::new(),
            events: 0,
            unplugged: 0,
            replaced: Vec::new(),
            lost: 0,
            misplugged: None,
            rounds: ROUNDS,
            rounds_left: ROUNDS,
            standstill: None,
        }
    }
}

/// Seconds of real time; an honest world in which nothing takes any time moves gigabytes in so many.
pub const ROUNDS: u64 = 20_000_000;

impl World {
    /// An empty world at the start of the clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many rounds one instant may have, 20 million unless set: a round is an event, a unit that reaches a plug, or
    /// a host's look around.
    ///
    /// Where work and lines are free, any amount of it may happen at one instant, and so may an endless exchange. A world
    /// that comes to this limit stops for good, and [`World::standstill`] tells where.
    pub const fn set_rounds(&mut self, rounds: u64) {
        self.rounds = rounds;
        self.rounds_left = rounds;
    }

    /// Where time stands still, if it does; to be asked after a run.
    #[must_use]
    pub const fn standstill(&self) -> Option<&Standstill> {
        self.standstill.as_ref()
    }

    /// Adds a host.
    pub fn add_host(&mut self, host: Host) -> HostId {
        let node = self.queue.add_party();
        self.nodes.push(Node::Host(number(self.hosts.len())));
        self.hosts.push(HostSlot { host, wires: Vec::new(), node, down_since: None, clock: None });
        HostId(self.hosts.len() - 1)
    }

    /// Adds a piece of a medium.
    pub fn add_element(&mut self, name: &str, element: Box<dyn Element>) -> ElementId {
        let node = self.queue.add_party();
        self.nodes.push(Node::Medium(number(self.media.len())));
        self.media.push(Medium { name: name.to_owned(), element, wires: Vec::new(), node });
        ElementId(self.media.len() - 1)
    }

    /// Joins two plugs. What leaves by one arrives at the other at once. A plug that nobody has, or into which something is plugged already,
    /// is a mistake: neither is joined, and [`World::start`] names both.
    ///
    /// Two devices can be joined without a medium. These, and those into which nothing is plugged, have sent a PDU as soon as
    /// they have it.
    pub fn plug(&mut self, a: Plug, b: Plug) {
        if let Some(why) = self.is_taken(a).or_else(|| self.is_taken(b)) {
            let (one, other) = (self.name(a), self.name(b));
            let hosts = [a, b].map(|plug| match plug {
                Plug::Device(host, _) => self.hosts.get(host.0).map(|it| it.host.name.clone()),
                Plug::Port(..) | Plug::Outside(_) => None,
            });
            let host = hosts.into_iter().flatten().next().unwrap_or_default();
            self.misplugged.get_or_insert((host, GraphError::Plugs { one, other, why }));
            return;
        }
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
                Plug::Outside(way) => (&mut self.outside, way),
            };
            if wires.len() <= number {
                wires.resize(number + 1, None);
            }
            if let Some(wire) = wires.get_mut(number) {
                *wire = Some(to);
            }
        }
    }

    /// From here on what leaves by `from` arrives at `to`, whatever they were joined to: to take a piece of a medium out of a path, or put
    /// one in, while the world runs. What is in a piece that was taken out still leaves it, by the wires that it has. Plugs that nobody has
    /// are left as they are.
    pub fn lead(&mut self, from: Plug, to: Plug) {
        let (wires, number) = match from {
            Plug::Device(host, device) => (self.hosts.get_mut(host.0).map(|it| &mut it.wires), device.0),
            Plug::Port(element, port) => (self.media.get_mut(element.0).map(|it| &mut it.wires), port),
            Plug::Outside(way) => (Some(&mut self.outside), way),
        };
        if let Some(wire) = wires.and_then(|wires| wires.get_mut(number)) {
            *wire = Some(to);
        }
    }

    /// Where a wire is plugged in, or would be.
    fn wires(&self, plug: Plug) -> Option<(&[Option<Plug>], usize)> {
        Some(match plug {
            Plug::Device(host, device) => (&self.hosts.get(host.0)?.wires, device.0),
            Plug::Port(element, port) => (&self.media.get(element.0)?.wires, port),
            Plug::Outside(way) => (&self.outside, way),
        })
    }

    /// Why nothing can be plugged in there, if so.
    fn is_taken(&self, plug: Plug) -> Option<String> {
        let name = self.name(plug);
        let has_device = match plug {
            Plug::Device(host, device) => {
                let host = self.hosts.get(host.0);
                host.is_none_or(|it| device.0 < it.host.graph.devices())
            }
            Plug::Port(..) | Plug::Outside(_) => true,
        };
        match self.wires(plug) {
            Some((wires, number)) if has_device => {
                let other = wires.get(number).copied().flatten()?;
                Some(format!("{name} is joined to {} already", self.name(other)))
            }
            Some(_) | None => Some(format!("there is no {name}")),
        }
    }

    /// What a plug is called.
    fn name(&self, plug: Plug) -> String {
        match plug {
            Plug::Device(id, device) => match self.hosts.get(id.0) {
                Some(it) => {
                    let name = it.host.graph.device_names().nth(device.0);
                    let name = name.map_or_else(|| device.0.to_string(), ToOwned::to_owned);
                    format!("device `{name}` of host `{}`", it.host.name)
                }
                None => format!("host number {}", id.0),
            },
            Plug::Port(id, port) => match self.media.get(id.0) {
                Some(medium) => format!("port {port} of `{}`", medium.name),
                None => format!("medium number {}", id.0),
            },
            Plug::Outside(way) => format!("way out number {way}"),
        }
    }

    /// Starts all graphs.
    ///
    /// # Errors
    /// The host's name and the [`GraphError`], where a graph is not complete or a plug of it could not be joined.
    pub fn start(&mut self) -> Result<(), (String, GraphError)> {
        if let Some(graph_error) = self.misplugged.clone() {
            return Err(graph_error);
        }
        for number in 0..self.hosts.len() {
            if let Some(slot) = self.hosts.get_mut(number) {
                let (name, now) = (slot.host.name.clone(), slot.own(self.now));
                slot.host.graph.start(now).map_err(|graph_error| (name, graph_error))?;
            }
            self.arm_host(number);
        }
        for medium in &self.media {
            self.queue.arm(medium.node, medium.element.next_deadline());
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

    /// How many units left by a plug into which nothing is plugged.
    #[must_use]
    pub const fn unplugged(&self) -> u64 {
        self.unplugged
    }

    /// The host `id`.
    #[must_use]
    pub fn host(&self, id: HostId) -> Option<&Host> {
        self.hosts.get(id.0).map(|slot| &slot.host)
    }

    /// As [`World::host`], to look into its graph between runs. What is changed there, such as an input put in or a message
    /// let go, takes effect when the next run begins.
    pub fn host_mut(&mut self, id: HostId) -> Option<&mut Host> {
        let slot = self.hosts.get_mut(id.0)?;
        if self.touched.last() != Some(&id.0) {
            self.touched.push(id.0);
        }
        Some(&mut slot.host)
    }

    /// The power of the host `id` fails, if it is there: nothing happens on it from now on, and what comes for it is lost. What it has given to media goes
    /// on. It can still be looked at: it is as it was.
    pub fn take_down(&mut self, id: HostId) {
        if let Some(slot) = self.hosts.get_mut(id.0) {
            slot.down_since.get_or_insert(self.now);
            self.queue.arm(slot.node, None);
        }
    }

    /// The power is back: `host`, which has not been started, begins now in the place of `id`, with the same devices on the same wires. The one before
    /// is among those that were [replaced](World::replaced).
    ///
    /// # Errors
    /// The [`GraphError`], where its graph is not complete.
    pub fn bring_back(&mut self, id: HostId, host: Host) -> Result<(), GraphError> {
        let Some(slot) = self.hosts.get_mut(id.0) else {
            return Ok(());
        };
        self.replaced.push((id, core::mem::replace(&mut slot.host, host)));
        slot.down_since = None;
        let now = slot.own(self.now);
        slot.host.graph.start(now)?;
        self.arm_host(id.0);
        Ok(())
    }

    /// From now on the clock of the host `id` goes so many millionths faster than the world's, or slower where that is negative, and with it all that the
    /// host does by it: the timers of its graph, and how fast its CPUs and adapters are. What has crossed its taps before is to be
    /// [taken](World::take_tapped) first.
    pub fn set_clock_rate(&mut self, id: HostId, millionths: i32) {
        let now = self.now;
        if let Some(slot) = self.hosts.get_mut(id.0) {
            slot.clock = Some(Clock::new(now, slot.own(now), millionths));
            self.touched.push(id.0);
        }
    }

    /// What the clock of the host `id` says when the world's says `at`, which is not before that clock was set.
    #[must_use]
    pub fn own_time(&self, id: HostId, at: Instant) -> Instant {
        self.hosts.get(id.0).map_or(at, |slot| slot.own(at))
    }

    /// When the clock of the host `id` says `own`, by the world's.
    #[must_use]
    pub fn time_of(&self, id: HostId, own: Instant) -> Instant {
        self.hosts.get(id.0).map_or(own, |slot| slot.world(own))
    }

    /// Since when the host `id` has had no power, if so.
    #[must_use]
    pub fn down_since(&self, id: HostId) -> Option<Instant> {
        self.hosts.get(id.0)?.down_since
    }

    /// The hosts in whose place others began, as they were then, in that order.
    pub fn replaced(&self) -> impl Iterator<Item = &Host> {
        self.replaced.iter().map(|(_, host)| host)
    }

    /// How many units came for hosts that were down.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// All hosts, in the order of being added.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().map(|slot| &slot.host)
    }

    /// The media's counters, by name.
    pub fn media(&self) -> impl Iterator<Item = (&str, Vec<(&'static str, u64)>)> {
        self.media.iter().map(|medium| (medium.name.as_str(), medium.element.counters()))
    }

    /// What ports of media with many have counted, by the medium's name and the number of the port.
    pub fn ports(&self) -> impl Iterator<Item = (&str, usize, Vec<(&'static str, u64)>)> {
        self.media.iter().flat_map(|medium| {
            let ports = medium.element.port_counters().into_iter();
            ports.map(|(port, counters)| (medium.name.as_str(), port, counters))
        })
    }

    /// How long the media's queues were until now, by the medium's name and that of the queue.
    pub fn queues(&self) -> impl Iterator<Item = (&str, Cow<'static, str>, Occupancy)> {
        self.media.iter().flat_map(|medium| {
            let queues = medium.element.queues(self.now).into_iter();
            queues.map(|(queue, occupancy)| (medium.name.as_str(), queue, occupancy))
        })
    }

    /// How many frames and PDUs wait in media now, behind the adapters of hosts.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.media.iter().map(|medium| medium.element.waiting(self.now)).sum()
    }

    /// At what rate channels may send now, by the medium's name and the channel, where the network says that.
    pub fn cell_rates(&self) -> impl Iterator<Item = (&str, Address, CellRate)> {
        self.media.iter().flat_map(|medium| {
            let rates = medium.element.cell_rates().into_iter();
            rates.map(|(channel, rate)| (medium.name.as_str(), channel, rate))
        })
    }

    /// Takes what the hosts' taps have seen since this was last asked, by host, at the times of the world; of a host that was replaced that comes first.
    pub fn take_tapped(&mut self) -> Vec<(HostId, Vec<Tapped>)> {
        let before = self.replaced.iter_mut().map(|(id, host)| (*id, host));
        let present = self.hosts.iter_mut().enumerate().map(|(number, slot)| (HostId(number), &mut slot.host));
        let seen = before.chain(present).map(|(id, host)| (id, host.graph.take_tapped()));
        let mut seen: Vec<_> = seen.filter(|(_, seen)| !seen.is_empty()).collect();
        for (id, seen) in &mut seen {
            if let Some(clock) = self.hosts.get(id.0).and_then(|slot| slot.clock) {
                seen.iter_mut().for_each(|it| it.at = clock.world(it.at));
            }
        }
        seen
    }

    /// When the next event is due; at once where a host may have been changed from outside.
    pub fn next_event_at(&mut self) -> Option<Instant> {
        if self.touched.is_empty() { self.queue.next_at() } else { Some(self.now) }
    }

    /// Something has come by the way out `way`, at the present time: it goes on from there at once. By a way to which nothing is joined it goes nowhere.
    pub fn arrive(&mut self, way: usize, unit: Unit) {
        match self.outside.get(way).copied().flatten() {
            Some(plug) => self.under_way.push_back((plug, unit)),
            None => self.unplugged += 1,
        }
        self.carry();
    }

    /// The next that has left by a way out, which one, and when.
    pub fn take_left(&mut self) -> Option<(usize, Instant, Unit)> {
        self.left.pop_front()
    }

    /// Runs until nothing is due by `end`; the time is then `end`, unless the world has come to a [`Standstill`].
    pub fn run_until(&mut self, end: Instant) {
        self.run_until_or(end, || false);
    }

    /// As [`World::run_until`], but no further than the first event after which `stops` says so, which is asked after each; true where it has. What else is due at that
    /// instant then happens in the next run, as it would have.
    pub fn run_until_or(&mut self, end: Instant, mut stops: impl FnMut() -> bool) -> bool {
        if end < self.now {
            return false;
        }
        for number in core::mem::take(&mut self.touched) {
            self.step_host(number);
            self.carry();
        }
        while self.standstill.is_none() && self.next_event(end) {
            if stops() {
                return true;
            }
        }
        if self.standstill.is_none() {
            self.set_now(end);
        }
        false
    }

    /// Runs until nothing is due by `end` or `done` says so; it is asked every `every`, which counts as a nanosecond where
    /// it is nothing. True where `done` ended the run.
    pub fn run_until_done(&mut self, end: Instant, every: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        let every = every.max(Duration::from_nanos(1));
        while self.now < end && self.standstill.is_none() {
            if done(self) {
                return true;
            }
            self.run_until((self.now + every).min(end));
        }
        done(self)
    }

    /// Lets the next event by `end` happen; false where there is none.
    fn next_event(&mut self, end: Instant) -> bool {
        let Some((at, node)) = self.queue.pop(end) else {
            return false;
        };
        self.set_now(at);
        self.events += 1;
        match self.nodes.get(node).copied() {
            Some(Node::Host(number)) => self.step_host(number as usize),
            Some(Node::Medium(number)) => {
                let number = number as usize;
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

    const fn set_now(&mut self, at: Instant) {
        if at.as_nanos() != self.now.as_nanos() {
            self.rounds_left = self.rounds;
        }
        self.now = at;
    }

    fn step_host(&mut self, number: usize) {
        let Some(slot) = self.hosts.get_mut(number).filter(|slot| slot.down_since.is_none()) else {
            return;
        };
        let now = slot.own(self.now);
        let deadline = loop {
            let host = &mut slot.host;
            let next = host.step(now, &mut self.rounds_left, &mut self.handed_down);
            let mut sent_at_once = false;
            while let Some((device, unit)) = self.handed_down.pop_front() {
                let plug = slot.wires.get(device.0).copied().flatten();
                match plug {
                    Some(plug) => self.under_way.push_back((plug, unit)),
                    None => self.unplugged += 1,
                }
                if !matches!(plug, Some(Plug::Port(..))) {
                    host.sent(now, device);
                    sent_at_once = true;
                }
            }
            if !sent_at_once {
                break next;
            }
        };
        self.queue.arm(slot.node, deadline.map(|at| slot.world(at).max(self.now)));
        if let Some(graph) = slot.host.graph.standstill() {
            let (host, graph) = (slot.host.name.clone(), graph.clone());
            self.standstill.get_or_insert(Standstill::Graph { host, graph });
        }
        if self.rounds_left == 0 {
            let name = slot.host.name.clone();
            self.stand_still(name);
        }
    }

    fn stand_still(&mut self, node: String) {
        let (at, rounds) = (self.now, self.rounds);
        self.standstill.get_or_insert(Standstill::Rounds { at, rounds, node });
    }

    /// Takes what left the medium `number` and arms it anew.
    fn collect(&mut self, number: usize) {
        let Some(medium) = self.media.get_mut(number) else {
            return;
        };
        while let Some((port, unit)) = self.outlet.take() {
            match medium.wires.get(port).copied().flatten() {
                Some(plug) => self.under_way.push_back((plug, unit)),
                None => self.unplugged += 1,
            }
        }
        let deadline = medium.element.next_deadline();
        self.queue.arm(medium.node, deadline.map(|at| at.max(self.now)));
        self.rounds_left = self.rounds_left.saturating_sub(1);
        if self.rounds_left == 0 {
            let name = medium.name.clone();
            self.stand_still(name);
        }
    }

    /// Brings everything that is under way where it goes, and what that sets off in turn.
    fn carry(&mut self) {
        while self.standstill.is_none()
            && let Some((plug, unit)) = self.under_way.pop_front()
        {
            match plug {
                Plug::Device(host, device) => {
                    if let Some(slot) = self.hosts.get_mut(host.0) {
                        if slot.down_since.is_some() {
                            self.lost += 1;
                            continue;
                        }
                        let now = slot.own(self.now);
                        slot.host.receive(now, device, unit);
                        self.step_host(host.0);
                    }
                }
                Plug::Port(element, port) => {
                    if let Some(medium) = self.media.get_mut(element.0) {
                        medium.element.offer(self.now, port, unit, &mut self.outlet);
                        self.collect(element.0);
                    }
                }
                Plug::Outside(way) => self.left.push_back((way, self.now, unit)),
            }
        }
    }

    fn arm_host(&mut self, number: usize) {
        if let Some(slot) = self.hosts.get_mut(number) {
            let deadline = slot.host.next_deadline();
            let deadline = deadline.map(|at| slot.world(at).max(self.now));
            self.queue.arm(slot.node, deadline);
        }
    }
}

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "World at {} with {} hosts and {} media", self.now, self.hosts.len(), self.media.len())
    }
}

#[cfg(test)]
mod tests;
