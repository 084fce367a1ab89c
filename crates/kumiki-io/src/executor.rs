//! The executor: graphs in real time, polled when there is time.
//!
//! | | |
//! |---|---|
//! | Runs | any number of graphs, and the emulated media between them, in one thread |
//! | Joined to others by | [`LinkEnd`]s, whose other ends may be in other threads, and devices of the machine ([`RealDevice`]) |
//! | Left out | modelled CPUs, prices and memory: a real host has its own. A price list changes times inside a graph, and nothing waits for it. Cells at a device: an adapter is an element of its own |
//!
//! One pass reads the clock once, takes in what has come, moves due timers, lets each task handle one batch and hands
//! on what went out. Passes follow each other as long as there is something to do; then the thread waits for the next
//! deadline or for a bell. So deadlines are met late and in batches of whatever size has gathered meanwhile, and
//! [`Uneven`] makes that worse on purpose: protocols must not notice, except by what time does to them.
//!
//! Of a device a pass reads what has come, up to a batch, before any task runs. So a task settles once for all of it,
//! and a hundred segments that came together are acknowledged by one decision (RFC 9293, MUST-58). What a device has no
//! room for waits, up to [`Pace::queue`] packets, and the thread then waits for room as well.
//!
//! Media do not suffer from it: an [`Element`] is polled at its own deadlines, in their order, however late that is. So
//! a line keeps its rate and a delay its length, and lateness does not add up from one element to the next.

use std::collections::VecDeque;
use std::io;

use kumiki_graph::{
    Address, Credit, DeviceId, Duration, Graph, GraphError, Handle, Indication, Instant, Rng, TaskId, Unit as UnitData,
};
use kumiki_link::offload::{self, Merger, is_packet, packets};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::Message;

use crate::clock::{Bell, Clock, Watch};
use crate::device::{RealCounters, RealDevice};
use crate::memory_link::LinkEnd;

mod attention;
mod failure;
mod outgoing;
mod plugs;
mod real;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

use attention::Attention;
pub use failure::Failure;
use real::{Batch, Real};

/// A graph, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GraphId(pub usize);

/// A piece of a medium, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ElementId(pub usize);

/// An end of a link, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub usize);

/// A device of the machine, numbered in the order of being added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RealId(pub usize);

/// One of two things that are joined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Plug {
    /// A graph's device.
    Device(GraphId, DeviceId),
    /// A port of a medium.
    Port(ElementId, usize),
    /// The end of a link.
    Link(LinkId),
    /// A device of the machine.
    Real(RealId),
}

/// What a device tells its graph of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceConfig {
    /// The largest unit that it takes, in octets.
    pub mtu: u32,
    /// How many units may be handed to it as one super-segment, which leaves in packets of at most one MTU
    /// ([`kumiki_link::offload`]), unless it goes to a device of the machine that takes it whole
    /// ([`RealDevice::takes_super_segments`]). Above 1 what arrives is put together, too, and super-segments of such a
    /// device are handed up as they are; otherwise they are cut before.
    pub burst: u32,
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self { mtu: 9180, burst: 1 }
    }
}

/// How the executor goes about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The most inputs that a task handles before it settles, and the most packets that are read from a device before
    /// tasks run; at least 1.
    pub batch: usize,
    /// How many packets may wait for room in a device; more are dropped and counted.
    pub queue: usize,
    /// Set to be worse than need be.
    pub uneven: Option<Uneven>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            batch: 256,
            // As the transmit queue of a network interface of Linux.
            queue: 1000,
            uneven: None,
        }
    }
}

/// Deliberate unevenness, the same for the same seed: each batch has its own limit between 1 and [`Pace::batch`], and
/// each wait lasts too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uneven {
    /// Fixes all that is random about it.
    pub seed: u64,
    /// The most by which a wait is too long.
    pub late: Duration,
}

/// Why [`Executor::run`] came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExecutorEnd {
    /// The caller's condition holds.
    Done,
    /// Nothing is to do, and nothing can come.
    Idle,
    /// The time is up.
    TimedOut,
    /// It cannot go on: [`Executor::failure`] says why.
    Failed,
}

/// What the executor did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// How often the clock was read and everything looked at.
    pub passes: u64,
    /// How often it waited.
    pub waits: u64,
    /// Batches of tasks.
    pub batches: u64,
    /// Inputs in them.
    pub inputs: u64,
    /// Units that went to a device, port or link that is joined to nothing.
    pub unplugged: u64,
    /// Units that came to a device and were no frames, and super-segments that could not be cut.
    pub not_frames: u64,
}

/// A graph that is not complete, or plugs that cannot be joined.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{graph}: {graph_error}")]
pub struct CannotStart {
    /// The graph's name, or the plug's.
    pub graph: String,
    /// What is missing, or wrong.
    pub graph_error: GraphError,
}

/// So many things happen in the media in one pass at most: between two passes the caller's condition and the time are
/// looked at.
const MEDIA_EVENTS: usize = 4096;

/// Where in the media something happens next; at the same time in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Link(usize),
    Element(usize),
}

struct Host {
    name: String,
    graph: Graph,
    devices: Vec<DeviceConfig>,
    wires: Vec<Option<Plug>>,
    /// What has come to each device and waits for what follows it.
    mergers: Vec<Merger>,
    attention: Option<Attention>,
}

/// A frame has come to `device`.
fn input(graph: &mut Graph, now: Instant, device: DeviceId, source: Address, data: Message) {
    let unit = UnitData { source, ..UnitData::of(data) };
    graph.input(now, device, Indication::Unit(Box::new(unit)));
}

impl Host {
    fn bursts(&self, device: DeviceId) -> bool {
        let device = self.devices.get(device.0);
        device.is_some_and(|device| device.burst > 1)
    }

    /// As [`input`] for a device that puts packets together; true where something waits now.
    fn packet(&mut self, now: Instant, device: DeviceId, source: Address, data: Message) -> bool {
        let graph = &mut self.graph;
        let merger = slot(&mut self.mergers, device.0);
        merger.take(source, data, &mut |source, data| {
            input(graph, now, device, source, data);
        });
        !merger.is_empty()
    }

    /// A unit has come to `device`; true where something waits there now.
    fn receive(&mut self, now: Instant, device: DeviceId, unit: Unit, counters: &mut Counters) -> bool {
        self.attend(now);
        match unit {
            Unit::Frame { data, address } if self.bursts(device) => {
                return self.packet(now, device, address, data);
            }
            Unit::Frame { data, address } => input(&mut self.graph, now, device, address, data),
            // The medium's own queue holds what the graph hands down ahead of time.
            Unit::Sent { .. } => {}
            Unit::Report(report) => {
                let told = Indication::Report(report);
                self.graph.input(now, device, told);
            }
            Unit::Cells(_) | Unit::Cut { .. } | Unit::Arriving { .. } | Unit::Circuit(_) => {
                counters.not_frames += 1;
            }
        }
        false
    }

    /// Nothing more comes with what waits at the devices.
    fn flush(&mut self, now: Instant) {
        let graph = &mut self.graph;
        for (number, merger) in self.mergers.iter_mut().enumerate() {
            merger.flush(&mut |source, data| {
                input(graph, now, DeviceId(number), source, data);
            });
        }
    }
}

struct Medium {
    element: Box<dyn Element>,
    wires: Vec<Option<Plug>>,
}

/// Graphs and media in the time of a [`Clock`]: see the module.
///
/// Build it (`add_...`, [`Executor::plug`]), start it once, then [`Executor::run`] it as often as needed.
///
/// Two hosts and a line of a millisecond, in real time. One says a word, the other hears it:
///
/// ```
/// use kumiki_graph::{
///     Above, Below, Context, DeviceId, Duration, Graph, Indication, Protocol, Request, Service, Shape, Unit,
/// };
/// use kumiki_io::{Executor, ExecutorEnd, Pace, Plug, RealClock};
/// use kumiki_link::Wire;
/// use kumiki_octets::Message;
///
/// #[derive(Default)]
/// struct Station {
///     says: Option<&'static [u8]>,
///     heard: Vec<u8>,
/// }
///
/// impl Protocol for Station {
///     fn shape(&self) -> Shape {
///         Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
///     }
///
///     fn start(&mut self, cx: &mut Context<'_>) {
///         if let Some(word) = self.says {
///             cx.down(Below(0), Request::Unit(Box::new(Unit::of(Message::from_octets(word)))));
///         }
///     }
///
///     fn pop(&mut self, _: Below, indication: Indication, _: &mut Context<'_>) {
///         if let Indication::Unit(unit) = indication {
///             self.heard = unit.data.to_vec();
///         }
///     }
///
///     fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
/// }
///
/// let mut executor = Executor::new(RealClock::start(), Pace::default());
/// let line = executor.add_element(Box::new(Wire::new(Duration::from_millis(1))));
/// let mut hosts = Vec::new();
/// for (port, says) in [Some(&b"hello"[..]), None].into_iter().enumerate() {
///     let mut graph = Graph::new(1, port as u64);
///     graph.add_device("line", Service::FRAME)?;
///     let task = graph.add_task("cpu");
///     graph.add_node("station", task, Box::new(Station { says, ..Station::default() }))?;
///     graph.connect("station", "line")?;
///     let host = executor.add_graph("host", graph);
///     executor.plug(Plug::Device(host, DeviceId(0)), Plug::Port(line, port));
///     hosts.push(host);
/// }
/// executor.start()?;
///
/// let has_heard = |it: &mut Executor<_>| {
///     let station: Option<&Station> = it.graph(hosts[1]).and_then(|graph| graph.find("station"));
///     station.is_some_and(|station| station.heard == b"hello")
/// };
/// assert_eq!(executor.run(Duration::from_secs(10), has_heard), ExecutorEnd::Done);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Executor<C> {
    clock: C,
    bell: Bell,
    pace: Pace,
    uneven: Option<(Rng, Duration)>,
    hosts: Vec<Host>,
    media: Vec<Medium>,
    links: Vec<(LinkEnd, Option<Plug>)>,
    real: Vec<Real>,
    failure: Option<Failure>,
    /// The first two plugs that could not be joined.
    misplugged: Option<CannotStart>,
    in_flight: VecDeque<(Plug, Unit)>,
    /// Packets wait at devices for those that follow them.
    merging: bool,
    outlet: Outlet,
    /// Up to when the media have been run.
    media_time: Instant,
    counters: Counters,
}

impl<C: Clock> Executor<C> {
    /// An executor without graphs.
    #[must_use]
    pub fn new(clock: C, pace: Pace) -> Self {
        Self {
            clock,
            bell: Bell::default(),
            uneven: pace.uneven.map(|uneven| (Rng::new(uneven.seed, 0), uneven.late)),
            pace,
            hosts: Vec::new(),
            media: Vec::new(),
            links: Vec::new(),
            real: Vec::new(),
            failure: None,
            misplugged: None,
            in_flight: VecDeque::new(),
            merging: false,
            outlet: Outlet::default(),
            media_time: Instant::ZERO,
            counters: Counters::default(),
        }
    }

    /// Adds a graph; it must have its tasks, nodes and devices by now. Its tasks run in the order in which they were
    /// added.
    pub fn add_graph(&mut self, name: &str, graph: Graph) -> GraphId {
        self.hosts.push(Host {
            name: name.to_owned(),
            graph,
            devices: Vec::new(),
            wires: Vec::new(),
            mergers: Vec::new(),
            attention: None,
        });
        GraphId(self.hosts.len() - 1)
    }

    /// Adds a piece of a medium.
    pub fn add_element(&mut self, element: Box<dyn Element>) -> ElementId {
        self.media.push(Medium { element, wires: Vec::new() });
        ElementId(self.media.len() - 1)
    }

    /// Adds the end of a link.
    pub fn add_link(&mut self, end: LinkEnd) -> LinkId {
        end.listen(&self.bell);
        self.links.push((end, None));
        LinkId(self.links.len() - 1)
    }

    /// Adds a device of the machine.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub fn add_real(&mut self, device: Box<dyn RealDevice>) -> io::Result<RealId> {
        // The bell must be heard while waiting for the device.
        self.bell.open()?;
        self.real.push(Real {
            device,
            wire: None,
            waiting: VecDeque::new(),
            waiting_packets: 0,
            is_full: false,
            state: None,
            counters: RealCounters::default(),
        });
        Ok(RealId(self.real.len() - 1))
    }

    /// Sets what a device tells its graph of itself.
    pub fn set_device(&mut self, graph: GraphId, device: DeviceId, config: DeviceConfig) {
        if let Some(host) = self.hosts.get_mut(graph.0) {
            *slot(&mut host.devices, device.0) = config;
        }
    }

    /// Starts all graphs.
    ///
    /// # Errors
    /// [`CannotStart`] where a graph is not complete, or two plugs could not be joined.
    pub fn start(&mut self) -> Result<(), CannotStart> {
        if let Some(misplugged) = self.misplugged.clone() {
            return Err(misplugged);
        }
        let now = self.clock.now();
        for host in &mut self.hosts {
            host.graph
                .start(now)
                .map_err(|graph_error| CannotStart { graph: format!("graph `{}`", host.name), graph_error })?;
        }
        Ok(())
    }

    /// Ringing it ends a wait of this executor, so that it looks at its condition again.
    #[must_use]
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// The graph `id`.
    #[must_use]
    pub fn graph(&self, id: GraphId) -> Option<&Graph> {
        self.hosts.get(id.0).map(|host| &host.graph)
    }

    /// As [`Executor::graph`], to change its protocols between runs.
    pub fn graph_mut(&mut self, id: GraphId) -> Option<&mut Graph> {
        self.hosts.get_mut(id.0).map(|host| &mut host.graph)
    }

    /// What the medium `id` counted.
    #[must_use]
    pub fn element_counters(&self, id: ElementId) -> Vec<(&'static str, u64)> {
        self.media.get(id.0).map(|medium| medium.element.counters()).unwrap_or_default()
    }

    /// What the device `id` of the machine did.
    #[must_use]
    pub fn real_counters(&self, id: RealId) -> RealCounters {
        self.real.get(id.0).map(|real| real.counters).unwrap_or_default()
    }

    /// Why it cannot go on, where it cannot.
    #[must_use]
    pub const fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What the executor did.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether something is still in the media, or waits for room in a device of the machine.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.next_in_media().is_some() || self.real.iter().any(|real| real.is_full || !real.waiting.is_empty())
    }

    /// Runs until `done` says so, nothing is left to do, or `at_most` has passed; asks `done` after each pass.
    pub fn run(&mut self, at_most: Duration, mut done: impl FnMut(&mut Self) -> bool) -> ExecutorEnd {
        let end = self.clock.now() + at_most;
        loop {
            let now = self.clock.now();
            let worked = self.pass(now);
            if self.failure.is_some() {
                return ExecutorEnd::Failed;
            }
            if done(self) {
                return ExecutorEnd::Done;
            }
            if now >= end {
                return ExecutorEnd::TimedOut;
            }
            if worked {
                continue;
            }
            match self.next_deadline() {
                // By a link or a device something may come from outside.
                None if self.links.is_empty() && self.real.is_empty() => return ExecutorEnd::Idle,
                deadline => self.wait(deadline.map_or(end, |deadline| deadline.min(end))),
            }
        }
    }

    /// Does what is due, in `passes` at most, and never waits: for loops of others. Says when there is something to do
    /// next by itself; that is now where there is more, and never where only somebody else can bring something.
    ///
    /// What else it is to be called for: the [bell](Executor::bell), and [devices](Executor::watches) that are ready.
    /// Where it [cannot go on](Executor::failure) it does nothing any more.
    pub fn poll(&mut self, passes: usize) -> Option<Instant> {
        // Before anything is looked at: who rings meanwhile is heard the next time.
        self.bell.hear();
        for _ in 0..passes {
            if self.failure.is_some() {
                return None;
            }
            let now = self.clock.now();
            if !self.pass(now) {
                return self.next_deadline();
            }
        }
        Some(self.clock.now())
    }

    /// The devices that it waits for at present.
    pub fn watches(&self) -> impl Iterator<Item = Watch<'_>> {
        self.real.iter().flat_map(Real::watches)
    }

    fn wait(&mut self, until: Instant) {
        self.counters.waits += 1;
        let watches: Vec<Watch<'_>> = self.watches().collect();
        self.clock.wait(until, &self.bell, &watches);
        if let Some((rng, late)) = &mut self.uneven {
            let late = Duration::from_nanos(rng.below(late.as_nanos().saturating_add(1)));
            // A bell that nobody rings: this lateness is on purpose.
            self.clock.wait(self.clock.now() + late, &Bell::default(), &[]);
        }
    }

    /// Does what is due at `now`, once; false where that was nothing.
    fn pass(&mut self, now: Instant) -> bool {
        self.counters.passes += 1;
        let mut worked = self.run_media(now);
        for number in 0..self.real.len() {
            worked |= self.read(number);
            self.carry();
        }
        for number in 0..self.hosts.len() {
            worked |= self.run_tasks(number, now);
            self.carry();
        }
        worked | self.flush()
    }

    /// Lets everything happen in the media that is due by `now`, in order of time; false where that was nothing.
    fn run_media(&mut self, now: Instant) -> bool {
        for events in 0..MEDIA_EVENTS {
            let Some((due, source)) = self.next_in_media().filter(|(due, _)| *due <= now) else {
                self.media_time = self.media_time.max(now);
                return events > 0;
            };
            // What was put in by a thread whose clock reading is older than our last one is due at once.
            self.media_time = self.media_time.max(due);
            match source {
                Source::Link(number) => self.take_from_link(number),
                Source::Element(number) => {
                    if let Some(medium) = self.media.get_mut(number) {
                        medium.element.poll(self.media_time, &mut self.outlet);
                    }
                    self.collect(number);
                }
            }
            self.carry();
        }
        true
    }

    fn next_in_media(&self) -> Option<(Instant, Source)> {
        let links = self
            .links
            .iter()
            .enumerate()
            .filter_map(|(number, (end, _))| Some((end.next_due()?, Source::Link(number))));
        let elements = self
            .media
            .iter()
            .enumerate()
            .filter_map(|(number, medium)| Some((medium.element.next_deadline()?, Source::Element(number))));
        links.chain(elements).min()
    }

    fn take_from_link(&mut self, number: usize) {
        let Some((end, wire)) = self.links.get(number) else {
            return;
        };
        while let Some(unit) = end.receive(self.media_time) {
            match wire {
                Some(plug) => self.in_flight.push_back((*plug, unit)),
                None => self.counters.unplugged += 1,
            }
        }
    }

    /// Takes one batch from the device `number` of the machine, and lets it have what waits for room; false where there
    /// was neither.
    fn read(&mut self, number: usize) -> bool {
        let Some(real) = self.real.get_mut(number) else {
            return false;
        };
        let waiting = real.waiting.len();
        let mut batch = Batch { failed: real.send_waiting().err(), ..Batch::default() };
        let moved = real.waiting.len() < waiting;
        // Super-segments go up as they are where the graph takes such.
        let whole = match real.wire {
            Some(Plug::Device(graph, device)) => self.hosts.get(graph.0).is_some_and(|host| host.bursts(device)),
            Some(Plug::Port(..) | Plug::Link(_) | Plug::Real(_)) | None => false,
        };
        let most = self.pace.batch.max(1);
        while let Some((data, address)) = real.receive(&mut batch, most) {
            // A batch is one of packets, however they came: what is read at once stays in the processor's cache.
            batch.read += packets(&data);
            real.counters.super_received += u64::from(data.meta().segment_size != 0);
            let Some(plug) = real.wire else {
                self.counters.unplugged += 1;
                continue;
            };
            if whole || is_packet(&data) {
                self.in_flight.push_back((plug, Unit::Frame { data, address }));
            } else {
                let in_flight = &mut self.in_flight;
                let cut = offload::cut(data, |data| in_flight.push_back((plug, Unit::Frame { data, address })));
                self.counters.not_frames += u64::from(!cut);
            }
        }
        let Batch { read, changed, passed_over, room, told, failed } = batch;
        real.counters.received += u64::try_from(read).unwrap_or(u64::MAX);
        real.counters.batches += u64::from(read > 0);
        if let Some(why) = failed {
            self.failure.get_or_insert(Failure::Device(RealId(number), why));
        }
        if changed {
            self.tell_state(number);
        }
        if room > 0 {
            self.tell_room(number, room);
        }
        if !told.is_empty() {
            self.tell(number, told);
        }
        moved || changed || room > 0 || read > 0 || passed_over
    }

    /// Tells the graph that the device `number` of the machine is joined to whether somebody is there, behind what came
    /// before. What is between them hears nothing.
    fn tell_state(&mut self, number: usize) {
        self.carry();
        let now = self.media_time;
        let Some(real) = self.real.get_mut(number) else {
            return;
        };
        if let (Some(report), Some(Plug::Device(graph, device))) = (real.state.take(), real.wire)
            && let Some(host) = self.hosts.get_mut(graph.0)
        {
            host.attend(now);
            host.graph.input(now, device, Indication::Report(Box::new(report)));
        }
    }

    /// Tells the graph that the device `number` of the machine is joined to how much more it takes.
    fn tell_room(&mut self, number: usize, octets: u64) {
        let credit = Indication::Credit { session: Handle::default(), credit: Credit::octets(octets) };
        self.tell(number, vec![credit]);
    }

    /// Hands what the device `number` of the machine says of its sessions to the graph that it is joined to.
    fn tell(&mut self, number: usize, told: Vec<Indication>) {
        self.carry();
        let now = self.media_time;
        if let Some(Plug::Device(graph, device)) = self.real.get(number).and_then(|it| it.wire)
            && let Some(host) = self.hosts.get_mut(graph.0)
        {
            host.attend(now);
            for indication in told {
                host.graph.input(now, device, indication);
            }
        }
    }

    /// Lets the devices of the machine write what they hold back; true where one has got rid of it that could not
    /// before: it has room to tell of, and nothing to wait for that would have it asked.
    fn flush(&mut self) -> bool {
        let mut freed = false;
        for (number, real) in self.real.iter_mut().enumerate() {
            match real.device.flush() {
                Ok(is_full) => {
                    freed |= real.is_full && !is_full;
                    real.is_full = is_full;
                }
                Err(why) => {
                    self.failure.get_or_insert(Failure::Device(RealId(number), why));
                }
            }
        }
        freed
    }

    /// Takes what left the medium `number`.
    fn collect(&mut self, number: usize) {
        let Some(medium) = self.media.get(number) else {
            return;
        };
        while let Some((port, unit)) = self.outlet.take() {
            match medium.wires.get(port) {
                // Straight to the graph, where nothing else is on its way.
                Some(Some(Plug::Device(graph, device))) if self.in_flight.is_empty() => {
                    let host = self.hosts.get_mut(graph.0);
                    let waits =
                        host.is_some_and(|host| host.receive(self.media_time, *device, unit, &mut self.counters));
                    self.merging |= waits;
                }
                Some(Some(plug)) => self.in_flight.push_back((*plug, unit)),
                _ => self.counters.unplugged += 1,
            }
        }
    }

    /// Lets each task of a graph handle one batch.
    fn run_tasks(&mut self, number: usize, now: Instant) -> bool {
        let Some(host) = self.hosts.get_mut(number) else {
            return false;
        };
        host.attend(now);
        host.graph.fire(now);
        host.graph.pages_released(now);
        let mut any = false;
        for task in (0..host.graph.tasks().count()).map(TaskId) {
            if host.graph.waiting(task).is_none_or(|at| at > now) {
                continue;
            }
            any = true;
            let most = self.pace.batch.max(1);
            let limit = match &mut self.uneven {
                Some((rng, _)) => {
                    let below = rng.below(u64::try_from(most).unwrap_or(u64::MAX));
                    1 + usize::try_from(below).unwrap_or(0)
                }
                None => most,
            };
            let ran = host.graph.run(task, now, limit);
            self.counters.batches += 1;
            self.counters.inputs += u64::try_from(ran.inputs).unwrap_or(u64::MAX);
            if let Some(standstill) = host.graph.standstill() {
                let failure = Failure::Graph(host.name.clone(), standstill.clone());
                self.failure.get_or_insert(failure);
            }
        }
        while let Some(output) = self.hosts.get_mut(number).and_then(|it| it.graph.output()) {
            self.hand_down(number, output, now);
        }
        any
    }

    /// When there is next something to do.
    fn next_deadline(&mut self) -> Option<Instant> {
        let hosts = self.hosts.iter_mut().filter_map(|host| {
            let graph = &mut host.graph;
            let timer = graph.next_timer();
            let tasks = (0..graph.tasks().count()).filter_map(|task| graph.waiting(TaskId(task)));
            tasks.chain(timer).min()
        });
        let graphs = hosts.min();
        let media = self.next_in_media().map(|(due, _)| due);
        graphs.into_iter().chain(media).min()
    }
}

/// The place `number` of `list`, which grows where it is too short.
fn slot<T: Default>(list: &mut Vec<T>, number: usize) -> &mut T {
    if list.len() <= number {
        list.resize_with(number + 1, T::default);
    }
    #[expect(clippy::indexing_slicing, reason = "it has just been made long enough")]
    &mut list[number]
}

impl<C> core::fmt::Debug for Executor<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "Executor of {} graphs, {} media, {} links and {} devices",
            self.hosts.len(),
            self.media.len(),
            self.links.len(),
            self.real.len()
        )
    }
}
