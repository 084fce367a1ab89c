//! The world: hosts, the media between them, and virtual time.

use core::fmt;
use std::borrow::Cow;

use kumiki_graph::{Address, DeviceId, Duration, Graph, GraphError, Instant, Tapped};
use kumiki_link::{CellRate, Counts, Element, LineEnd, Occupancy, Unit};

mod cores;
mod divide;
mod part;

use crate::clock::Clock;
use crate::host::Host;
use cores::DividedWorld;
use part::{HostSlot, Medium, MediumPart, Part};

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
    /// A way out of the world, by a number of the caller's: what leaves by it is [kept](World::take_left), and what
    /// [comes](World::arrive) by it is from somewhere else.
    Outside(usize),
}

/// Things happen again and again at one instant, and time does not go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standstill {
    /// Between hosts and media, or tasks of a host: see [`World::set_rounds`].
    Rounds {
        /// When.
        at: Instant,
        /// How many rounds there have been at this instant.
        rounds: u64,
        /// The host or medium that had the last of them.
        node: String,
    },
    /// Within one task of a host: see [`kumiki_graph::Graph::set_steps`].
    Graph {
        /// The host.
        host: String,
        /// Where in its graph.
        graph: kumiki_graph::Standstill,
    },
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounds { at, rounds, node } => write!(
                f,
                "livelock at {at}: {rounds} rounds at this instant, the last in `{node}`, which is answered at once, without end"
            ),
            Self::Graph { host, graph } => write!(f, "host `{host}`: {graph}"),
        }
    }
}

impl core::error::Error for Standstill {}

/// Hosts and media in virtual time.
///
/// Build it ([`World::add_host`], [`World::add_element`], [`World::plug`]), start it once, then run it as far as
/// needed. The same parts and seeds give the same events in the same order.
///
/// Lines come first: what comes over one at some instant comes before all that its receiver does by itself then. So
/// what happens does not depend on how many [cores](World::set_cores) do it.
///
/// ```
/// use kumiki_graph::{
///     Above, Below, Context, Duration, Graph, GraphError, Indication, Instant, Protocol, Request, Service, Shape, Unit,
/// };
/// use kumiki_link::Wire;
/// use kumiki_octets::Message;
/// use kumiki_sim::{Host, HostId, Plug, World};
///
/// /// Sends one frame, where it has one, and knows when one came.
/// struct Program(Option<Message>, Option<Instant>);
///
/// impl Protocol for Program {
///     fn shape(&self) -> Shape {
///         Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
///     }
///
///     fn start(&mut self, cx: &mut Context<'_>) {
///         if let Some(frame) = self.0.take() {
///             cx.down(Below(0), Request::Unit(Box::new(Unit::of(frame))));
///         }
///     }
///
///     fn pop(&mut self, _: Below, _: Indication, cx: &mut Context<'_>) {
///         self.1 = Some(cx.now());
///     }
///
///     fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
/// }
///
/// let mut world = World::new();
/// let line = world.add_element("line", Box::new(Wire::new(Duration::from_millis(10))));
/// let mut program = None;
/// for (port, frame) in [Some(Message::from_octets(b"hello")), None].into_iter().enumerate() {
///     let mut graph = Graph::new(1, port as u64); // the seed, and which of its random streams
///     let device = graph.add_device("line", Service::FRAME)?;
///     let task = graph.add_task("program");
///     program = Some(graph.add_node("program", task, Box::new(Program(frame, None)))?);
///     graph.connect("program", "line")?;
///     let host = world.add_host(Host::new("host", graph));
///     world.plug(Plug::Device(host, device), Plug::Port(line, port));
/// }
/// world.start().map_err(|(_, why)| why)?;
/// world.run_until(Instant::ZERO + Duration::from_secs(1));
///
/// let receiver = world.host(HostId(1)).unwrap().graph.protocol::<Program>(program.unwrap()).unwrap();
/// assert_eq!(receiver.1, Some(Instant::ZERO + Duration::from_millis(10)));
/// # Ok::<(), GraphError>(())
/// ```
#[derive(Default)]
pub struct World {
    /// All hosts and media, unless they are divided.
    whole: Part,
    divided: Option<Box<DividedWorld>>,
    cores: usize,
    /// How many runs there have been for which it was not divided, since it was last told on how many cores it runs.
    runs: u64,
    /// What is joined to each way out.
    outside: Vec<Option<Plug>>,
    /// Hosts that somebody may have changed between runs.
    touched: Vec<usize>,
    /// Those in whose place others are.
    replaced: Vec<(HostId, Host)>,
    /// The first two plugs that could not be joined.
    misplugged: Option<(String, GraphError)>,
}

/// Seconds of real time; an honest world in which nothing takes any time moves gigabytes in so many.
pub const ROUNDS: u64 = 20_000_000;

impl World {
    /// An empty world at the start of the clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many rounds one instant may have, 20 million unless set: a round is an event, a unit that reaches a
    /// plug, or a host's look around.
    ///
    /// Where work and lines are free, any amount of it may happen at one instant, and so may an endless exchange. A
    /// world that comes to this limit stops for good, and [`World::standstill`] tells where.
    pub fn set_rounds(&mut self, rounds: u64) {
        for part in self.parts_mut() {
            (part.rounds, part.rounds_left) = (rounds, rounds);
        }
    }

    /// From the next run on up to so many cores may run this world, each on a thread of its own, one of them the
    /// caller's: see [`World::run_until`]. All that happens is the same.
    ///
    /// It is divided at lines that are long, for what happens at one end of such a line is felt at the other only after
    /// a while; where it has none, one core runs it. Only `run_until` uses several, and only as long as no wire is
    /// changed.
    pub fn set_cores(&mut self, cores: usize) {
        self.join();
        (self.cores, self.runs) = (cores, 0);
    }

    /// In how many parts it was run last.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.divided.as_ref().map_or(1, |divided| divided.parts.len())
    }

    /// Where time stands still, if it does; to be asked after a run.
    #[must_use]
    pub fn standstill(&self) -> Option<&Standstill> {
        self.each_part().find_map(|part| part.standstill.as_ref())
    }

    fn each_part(&self) -> impl Iterator<Item = &Part> {
        core::iter::once(&self.whole).chain(self.divided.iter().flat_map(|divided| &divided.parts))
    }

    fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        core::iter::once(&mut self.whole).chain(self.divided.iter_mut().flat_map(|divided| &mut divided.parts))
    }

    /// The part that the host `id` is in, and its number there.
    fn part_of(&mut self, id: HostId) -> Option<(&mut Part, usize)> {
        match &mut self.divided {
            None => Some((&mut self.whole, id.0)),
            Some(divided) => divided.host_mut(id.0),
        }
    }

    fn slot(&self, id: HostId) -> Option<&HostSlot> {
        match &self.divided {
            None => self.whole.hosts.get(id.0),
            Some(divided) => divided.host(id.0),
        }
    }

    fn slot_mut(&mut self, id: HostId) -> Option<&mut HostSlot> {
        let (part, number) = self.part_of(id)?;
        part.hosts.get_mut(number)
    }

    fn host_count(&self) -> usize {
        self.divided.as_ref().map_or(self.whole.hosts.len(), |divided| divided.hosts.len())
    }

    fn slots(&self) -> impl Iterator<Item = &HostSlot> {
        (0..self.host_count()).filter_map(|number| self.slot(HostId(number)))
    }

    /// Media that are in one piece, in their order, and those that are in two.
    fn pieces(&self) -> impl Iterator<Item = (&Medium, Option<[&LineEnd; 2]>)> {
        let count = self.divided.as_ref().map_or(self.whole.media.len(), |divided| divided.media.len());
        (0..count).filter_map(|number| match &self.divided {
            None => Some((self.whole.media.get(number)?, None)),
            Some(divided) => divided.medium(number),
        })
    }

    /// Adds a host.
    pub fn add_host(&mut self, host: Host) -> HostId {
        self.join();
        HostId(self.whole.add_host(HostSlot::new(host)))
    }

    /// Adds a piece of a medium.
    pub fn add_element(&mut self, name: &str, element: Box<dyn Element>) -> ElementId {
        self.join();
        let number = u32::try_from(self.whole.media.len()).unwrap_or(u32::MAX);
        ElementId(self.whole.add_medium(Medium::new(name, number, MediumPart::Whole(element))))
    }

    /// Joins two plugs. What leaves by one arrives at the other at once. A plug that nobody has, or into which
    /// something is plugged already, is a mistake: neither is joined, and [`World::start`] names both.
    ///
    /// Two devices can be joined without a medium. These, and those into which nothing is plugged, have sent a PDU as
    /// soon as they have it.
    pub fn plug(&mut self, a: Plug, b: Plug) {
        self.join();
        if let Some(why) = self.is_taken(a).or_else(|| self.is_taken(b)) {
            let (one, other) = (self.name(a), self.name(b));
            let hosts = [a, b].map(|plug| match plug {
                Plug::Device(host, _) => self.slot(host).map(|it| it.host.name.clone()),
                Plug::Port(..) | Plug::Outside(_) => None,
            });
            let host = hosts.into_iter().flatten().next().unwrap_or_default();
            self.misplugged.get_or_insert((host, GraphError::Plugs { one, other, why }));
            return;
        }
        for (from, to) in [(a, b), (b, a)] {
            let Some((wires, number)) = self.wires_mut(from) else {
                continue;
            };
            if wires.len() <= number {
                wires.resize(number + 1, None);
            }
            if let Some(wire) = wires.get_mut(number) {
                *wire = Some(to);
            }
        }
    }

    /// From here on what leaves by `from` arrives at `to`, whatever they were joined to: to take a piece of a medium
    /// out of a path, or put one in, while the world runs. What is in a piece that was taken out still leaves it, by
    /// the wires that it has. Plugs that nobody has are left as they are.
    pub fn lead(&mut self, from: Plug, to: Plug) {
        self.join();
        if let Some((wires, number)) = self.wires_mut(from)
            && let Some(wire) = wires.get_mut(number)
        {
            *wire = Some(to);
        }
    }

    /// Where a wire is plugged in, or would be, of a world that is whole.
    fn wires(&self, plug: Plug) -> Option<(&[Option<Plug>], usize)> {
        Some(match plug {
            Plug::Device(host, device) => (&self.whole.hosts.get(host.0)?.wires, device.0),
            Plug::Port(element, port) => (&self.whole.media.get(element.0)?.wires, port),
            Plug::Outside(way) => (&self.outside, way),
        })
    }

    fn wires_mut(&mut self, plug: Plug) -> Option<(&mut Vec<Option<Plug>>, usize)> {
        Some(match plug {
            Plug::Device(host, device) => (&mut self.whole.hosts.get_mut(host.0)?.wires, device.0),
            Plug::Port(element, port) => (&mut self.whole.media.get_mut(element.0)?.wires, port),
            Plug::Outside(way) => (&mut self.outside, way),
        })
    }

    /// Why nothing can be plugged in there, if so.
    fn is_taken(&self, plug: Plug) -> Option<String> {
        let name = self.name(plug);
        let has_device = match plug {
            Plug::Device(host, device) => {
                let host = self.slot(host);
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
            Plug::Device(id, device) => match self.slot(id) {
                Some(it) => {
                    let name = it.host.graph.device_names().nth(device.0);
                    let name = name.map_or_else(|| device.0.to_string(), ToOwned::to_owned);
                    format!("device `{name}` of host `{}`", it.host.name)
                }
                None => format!("host number {}", id.0),
            },
            Plug::Port(id, port) => match self.whole.media.get(id.0) {
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
        self.join();
        let whole = &mut self.whole;
        for number in 0..whole.hosts.len() {
            if let Some(slot) = whole.hosts.get_mut(number) {
                let (name, now) = (slot.host.name.clone(), slot.own(whole.now));
                slot.host.graph.start(now).map_err(|graph_error| (name, graph_error))?;
            }
            whole.arm_host(number);
        }
        for number in 0..whole.media.len() {
            whole.arm_medium(number);
        }
        Ok(())
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.divided.as_ref().map_or(self.whole.now, |divided| divided.now)
    }

    /// How many events there have been. Alone of all counts this depends on the number of cores: a line between two of
    /// them has those of both its ends.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.each_part().map(|part| part.events).sum()
    }

    /// How many units left by a plug into which nothing is plugged.
    #[must_use]
    pub fn unplugged(&self) -> u64 {
        self.each_part().map(|part| part.unplugged).sum()
    }

    /// The host `id`.
    #[must_use]
    pub fn host(&self, id: HostId) -> Option<&Host> {
        self.slot(id).map(|slot| &slot.host)
    }

    /// As [`World::host`], to look into its graph between runs. What is changed there, such as an input put in or a
    /// message let go, takes effect when the next run begins.
    pub fn host_mut(&mut self, id: HostId) -> Option<&mut Host> {
        self.slot(id)?;
        if self.touched.last() != Some(&id.0) {
            self.touched.push(id.0);
        }
        self.slot_mut(id).map(|slot| &mut slot.host)
    }

    /// The power of the host `id` fails, if it is there: nothing happens on it from now on, and what comes for it is
    /// lost. What it has given to media goes on. It can still be looked at: it is as it was.
    pub fn take_down(&mut self, id: HostId) {
        if let Some((part, number)) = self.part_of(id)
            && let Some(slot) = part.hosts.get_mut(number)
        {
            slot.down_since.get_or_insert(part.now);
            part.queue.arm(slot.node, None);
        }
    }

    /// The power is back: `host`, which has not been started, begins now in the place of `id`, with the same devices on
    /// the same wires. The one before is among those that were [replaced](World::replaced).
    ///
    /// # Errors
    /// The [`GraphError`], where its graph is not complete.
    pub fn bring_back(&mut self, id: HostId, host: Host) -> Result<(), GraphError> {
        let Some((part, number)) = self.part_of(id) else {
            return Ok(());
        };
        let Some(slot) = part.hosts.get_mut(number) else {
            return Ok(());
        };
        let before = core::mem::replace(&mut slot.host, host);
        slot.down_since = None;
        let now = slot.own(part.now);
        let started = slot.host.graph.start(now);
        if started.is_ok() {
            part.arm_host(number);
        }
        self.replaced.push((id, before));
        started
    }

    /// From now on the clock of the host `id` goes so many millionths faster than the world's, or slower where that is
    /// negative, and with it all that the host does by it: the timers of its graph, and how fast its CPUs and adapters
    /// are. What has crossed its taps before is to be [taken](World::take_tapped) first.
    pub fn set_clock_rate(&mut self, id: HostId, millionths: i32) {
        let now = self.now();
        if let Some(slot) = self.slot_mut(id) {
            slot.clock = Some(Clock::new(now, slot.own(now), millionths));
            self.touched.push(id.0);
        }
    }

    /// What the clock of the host `id` says when the world's says `at`, which is not before that clock was set.
    #[must_use]
    pub fn own_time(&self, id: HostId, at: Instant) -> Instant {
        self.slot(id).map_or(at, |slot| slot.own(at))
    }

    /// When the clock of the host `id` says `own`, by the world's.
    #[must_use]
    pub fn time_of(&self, id: HostId, own: Instant) -> Instant {
        self.slot(id).map_or(own, |slot| slot.world(own))
    }

    /// Since when the host `id` has had no power, if so.
    #[must_use]
    pub fn down_since(&self, id: HostId) -> Option<Instant> {
        self.slot(id)?.down_since
    }

    /// The hosts in whose place others began, as they were then, in that order.
    pub fn replaced(&self) -> impl Iterator<Item = &Host> {
        self.replaced.iter().map(|(_, host)| host)
    }

    /// How many units came for hosts that were down.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.each_part().map(|part| part.lost).sum()
    }

    /// All hosts, in the order of being added.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.slots().map(|slot| &slot.host)
    }

    /// The media's counters, by name.
    pub fn media(&self) -> impl Iterator<Item = (&str, Vec<(&'static str, u64)>)> {
        self.pieces().map(|(medium, ends)| {
            let counters = match ends {
                None => medium.piece.element().counters(),
                Some(ends) => LineEnd::counters_of(ends),
            };
            (medium.name.as_str(), counters)
        })
    }

    /// What ports of media with many have counted, by the medium's name and the number or name of the port.
    pub fn ports(&self) -> impl Iterator<Item = (&str, Cow<'static, str>, Counts)> {
        self.pieces().flat_map(|(medium, _)| {
            let ports = medium.piece.element().port_counters().into_iter();
            ports.map(|(port, counters)| (medium.name.as_str(), port, counters))
        })
    }

    /// How long the media's queues were until now, by the medium's name and that of the queue.
    pub fn queues(&self) -> impl Iterator<Item = (&str, Cow<'static, str>, Occupancy)> {
        self.pieces().flat_map(|(medium, ends)| {
            let queues = match ends {
                None => medium.piece.element().queues(self.now()),
                Some(ends) => LineEnd::queues_of(ends, self.now()),
            };
            queues.into_iter().map(|(queue, occupancy)| (medium.name.as_str(), queue, occupancy))
        })
    }

    /// How many frames and PDUs wait in media now, behind the adapters of hosts.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let waiting = |(medium, ends): (&Medium, Option<[&LineEnd; 2]>)| match ends {
            None => medium.piece.element().waiting(self.now()),
            Some(ends) => LineEnd::queues_of(ends, self.now()).iter().map(|(_, queue)| queue.length()).sum(),
        };
        self.pieces().map(waiting).sum()
    }

    /// At what rate channels may send now, by the medium's name and the channel, where the network says that.
    pub fn cell_rates(&self) -> impl Iterator<Item = (&str, Address, CellRate)> {
        self.pieces().flat_map(|(medium, _)| {
            let rates = medium.piece.element().cell_rates().into_iter();
            rates.map(|(channel, rate)| (medium.name.as_str(), channel, rate))
        })
    }

    /// Takes what the hosts' taps have seen since this was last asked, by host, at the times of the world; of a host
    /// that was replaced that comes first.
    pub fn take_tapped(&mut self) -> Vec<(HostId, Vec<Tapped>)> {
        self.take_of_taps(Graph::take_tapped)
    }

    /// As [`World::take_tapped`], but leaves of each host what [may still be noted of](Graph::take_settled). With it
    /// the time before which nothing more comes of the host.
    pub fn take_settled(&mut self) -> Vec<(HostId, Vec<Tapped>, Instant)> {
        let seen = self.take_of_taps(Graph::take_settled);
        let until = |id: HostId| {
            let left = self.host(id).and_then(|host| host.graph.first_tapped());
            left.map_or_else(|| self.now(), |left| self.time_of(id, left).min(self.now()))
        };
        seen.into_iter().map(|(id, seen)| (id, seen, until(id))).collect()
    }

    fn take_of_taps(&mut self, take: impl Fn(&mut Graph) -> Vec<Tapped>) -> Vec<(HostId, Vec<Tapped>)> {
        // Nothing happens any more in a host that was replaced.
        let mut seen: Vec<_> = self.replaced.iter_mut().map(|(id, host)| (*id, host.graph.take_tapped())).collect();
        for number in 0..self.host_count() {
            let id = HostId(number);
            seen.extend(self.slot_mut(id).map(|slot| (id, take(&mut slot.host.graph))));
        }
        seen.retain(|(_, seen)| !seen.is_empty());
        for (id, seen) in &mut seen {
            if let Some(clock) = self.slot(*id).and_then(|slot| slot.clock) {
                seen.iter_mut().for_each(|it| it.at = clock.world(it.at));
            }
        }
        seen
    }

    /// When the next event is due; at once where a host may have been changed from outside.
    pub fn next_event_at(&mut self) -> Option<Instant> {
        if self.touched.is_empty() {
            self.parts_mut().filter_map(|part| part.queue.next_at()).min()
        } else {
            Some(self.now())
        }
    }

    /// Something has come by the way out `way`, at the present time: it goes on from there at once. By a way to which
    /// nothing is joined it goes nowhere.
    pub fn arrive(&mut self, way: usize, unit: Unit) {
        self.join();
        match self.outside.get(way).copied().flatten() {
            Some(plug) => self.whole.in_flight.push_back((plug, unit)),
            None => self.whole.unplugged += 1,
        }
        self.whole.carry();
    }

    /// The next that has left by a way out, which one, and when.
    pub fn take_left(&mut self) -> Option<(usize, Instant, Unit)> {
        self.whole.left.pop_front()
    }

    /// Runs until nothing is due by `end`; the time is then `end`, unless the world has come to a [`Standstill`]. All
    /// that lines count is as of that time.
    pub fn run_until(&mut self, end: Instant) {
        if end < self.now() {
            return;
        }
        if self.cores > 1 && self.divided.is_none() {
            self.runs += 1;
            // Lines that change can be had as two when they have changed; to look at all of a large world before each
            // of many runs would cost more than the runs.
            if self.runs.is_power_of_two() {
                self.divide();
            }
        }
        self.step_touched();
        match &mut self.divided {
            None => self.whole.run_until(end),
            Some(divided) => divided.run_until(end),
        }
    }

    /// As [`World::run_until`], but no further than the first event after which `stops` says so, which is asked after
    /// each; true where it has. What else is due at that instant then happens in the next run, as it would have.
    pub fn run_until_or(&mut self, end: Instant, mut stops: impl FnMut() -> bool) -> bool {
        self.join();
        if end < self.now() {
            return false;
        }
        self.step_touched();
        while self.whole.standstill.is_none() && self.whole.next_event(end) {
            if stops() {
                return true;
            }
        }
        self.whole.run_until(end);
        false
    }

    /// Runs until nothing is due by `end` or `done` says so; it is asked every `every`, which counts as a nanosecond
    /// where it is nothing. True where `done` ended the run.
    pub fn run_until_done(&mut self, end: Instant, every: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        let every = every.max(Duration::from_nanos(1));
        while self.now() < end && self.standstill().is_none() {
            if done(self) {
                return true;
            }
            self.run_until((self.now() + every).min(end));
        }
        done(self)
    }

    /// Lets the hosts go on that somebody may have changed.
    fn step_touched(&mut self) {
        for number in core::mem::take(&mut self.touched) {
            if let Some((part, number)) = self.part_of(HostId(number)) {
                part.step_host(number);
                part.carry();
            }
        }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World at {} with {} hosts and {} media", self.now(), self.host_count(), self.pieces().count())
    }
}

#[cfg(test)]
mod tests;
