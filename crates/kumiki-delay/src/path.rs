//! The two directions between the ends, in the time that they are given.
//!
//! | | |
//! |---|---|
//! | A direction | a line with its queue ([`Serial`]), then what goes wrong and the delay ([`Impaired`]): the elements of runs in virtual time, so that a setting means the same here and there |
//! | Time | a unit is offered at the time at which it came, and leaves at its due time, in whatever steps [`Path::run`] is called: lateness of the caller changes neither |
//! | Left out | clocks, devices: see [`super::engine`] |
//! | Super-segments | where what takes a direction's units takes such, and all that the direction does is to delay, they cross it as they are. Elsewhere they are cut before anything happens to them: whether a kernel has put packets together changes nothing of what becomes of each |
//!
//! Elements hand on the address of a unit without looking at it, and two ends need none. So it is where a unit's ticket
//! travels: its number and when it came, which is all that is needed to find what has overtaken what, and how long it
//! took.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use kumiki_config::quantity;
use kumiki_graph::{Address, Duration, Instant};
use kumiki_link::{Element as _, Impaired, Impairment, Opportunities, Outlet, Rate, Serial, Unit, offload};
use kumiki_octets::Message;

use super::command::{Change, Directions};
use super::settings::Settings;
use super::statistics::{Direction, Statistics};

/// So many units may be in flight in each direction, waiting or delayed; more are dropped and counted.
pub const MOST_UNITS: usize = 1 << 18;

/// Units may hold so many octets of memory in both directions together, unless somebody says otherwise.
pub const MOST_MEMORY: u64 = 256 << 20;

/// Octets of memory for one of a unit, at most: it is copied where it holds more ([`Message::fit`]).
const FIT: u64 = 2;

/// What a unit holds beside its octets, and little less than what it needs to be found by its time.
const UNIT: u64 = 512;

/// A unit that leaves.
#[derive(Debug)]
pub struct DepartingUnit {
    /// Its octets.
    pub data: Message,
    /// When it came.
    pub came: Instant,
    /// When it leaves, as the settings had it.
    pub due: Instant,
    /// How many packets came before it.
    pub number: u64,
}

/// What is counted of a unit when it has gone.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// When it came.
    pub came: Instant,
    /// When it was due.
    pub due: Instant,
    /// How many packets came before it.
    pub number: u64,
    /// How many packets it is: of a super-segment more than one.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
}

impl DepartingUnit {
    /// What is counted of it.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        let Self { ref data, came, due, number } = *self;
        Ticket { came, due, number, packets: offload::packets(data) as u64, octets: offload::octets(data) as u64 }
    }
}

/// What travels in place of an address.
fn ticket(came: Instant, number: u64) -> Address {
    let bits = u128::from(came.as_nanos()) << 64 | u128::from(number);
    Address::from(SocketAddr::new(IpAddr::V6(Ipv6Addr::from_bits(bits)), 0))
}

fn punched(ticket: Address) -> Option<(Instant, u64)> {
    let IpAddr::V6(address) = ticket.socket()?.ip() else {
        return None;
    };
    let bits = address.to_bits();
    let low = u64::try_from(bits & u128::from(u64::MAX)).ok()?;
    let came = u64::try_from(bits >> 64).ok()?;
    Some((Instant::from_nanos(came), low))
}

/// One direction. Both of its elements could carry the other one too, which has its own, so that neither waits for the
/// other's time.
struct PathDirection {
    /// Which port of the elements units come in by, and so which stream of the seed they meet.
    port: usize,
    seed: u64,
    settings: Settings,
    line: Serial,
    impaired: Impaired,
    /// What leaves the line, and what leaves the other element.
    off_line: Outlet,
    out: Outlet,
    /// Up to when the elements have been run.
    time: Instant,
    /// The line follows a recording, which delivers so much in the long run.
    recorded: Option<Rate>,
    /// What leaves goes where super-segments are taken.
    takes_super_segments: bool,
    came: u64,
    /// Packets of super-segments that are in flight, but for one of each.
    more: usize,
    ready: VecDeque<DepartingUnit>,
    /// Of those.
    ready_octets: u64,
    counted: Direction,
}

impl PathDirection {
    fn new(port: usize, seed: u64) -> Self {
        let settings = Settings::default();
        // What the queue of one direction draws tells nothing of the other's.
        let own = seed.wrapping_mul(2).wrapping_add(port as u64);
        let nothing = Impairment::default();
        Self {
            port,
            seed: own,
            line: Serial::with_disciplines(settings.line(), settings.discipline(own), settings.discipline(own)),
            impaired: Impaired::new(nothing.clone(), nothing, seed),
            settings,
            off_line: Outlet::default(),
            out: Outlet::default(),
            time: Instant::ZERO,
            recorded: None,
            takes_super_segments: false,
            came: 0,
            more: 0,
            ready: VecDeque::new(),
            ready_octets: 0,
            counted: Direction::default(),
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let both = [self.line.next_deadline(), self.impaired.next_deadline()];
        both.into_iter().flatten().min()
    }

    /// Lets everything happen that is due by `until`, in order of time and at its time.
    fn run(&mut self, until: Instant) {
        while let Some(due) = self.next_deadline().filter(|due| *due <= until) {
            self.time = self.time.max(due);
            self.line.poll(self.time, &mut self.off_line);
            while let Some((_, unit)) = self.off_line.take() {
                let (time, port) = (self.time, self.port);
                self.impaired.offer(time, port, unit, &mut self.out);
            }
            self.impaired.poll(self.time, &mut self.out);
            self.collect();
        }
    }

    /// Takes what has left the last element.
    fn collect(&mut self) {
        while let Some((_, unit)) = self.out.take() {
            if let Unit::Frame { data, address } = unit
                && let Some((came, number)) = punched(address)
            {
                self.ready_octets += data.len() as u64;
                self.ready.push_back(DepartingUnit { data, came, due: self.time, number });
            }
        }
    }

    fn in_flight(&self) -> usize {
        let waiting = usize::try_from(self.line.backlog(self.port).frames).unwrap_or(usize::MAX);
        let units = waiting.saturating_add(self.impaired.waiting(self.port)).saturating_add(self.ready.len());
        units.saturating_add(self.more)
    }

    /// Octets of memory that what is in flight holds at most.
    fn memory(&self) -> u64 {
        let octets = [self.line.backlog(self.port).octets, self.impaired.octets(self.port), self.ready_octets];
        let octets = octets.into_iter().fold(0, u64::saturating_add);
        let units = self.in_flight() as u64;
        octets.saturating_mul(FIT).saturating_add(units.saturating_mul(UNIT))
    }

    fn take(&mut self) -> Option<DepartingUnit> {
        let leaving = self.ready.pop_front()?;
        self.ready_octets = self.ready_octets.saturating_sub(leaving.data.len() as u64);
        self.more = self.more.saturating_sub(offload::packets(&leaving.data) - 1);
        Some(leaving)
    }

    /// Whether a super-segment may cross as it is: nothing can happen to one of its packets that does not happen to
    /// all.
    fn passes_whole(&self) -> bool {
        let does_no_more = self.takes_super_segments && self.recorded.is_none() && self.settings.only_delay();
        // As long as something is on the line from before, others wait for it; and whoever waits for followers counts
        // packets.
        does_no_more && self.line.next_deadline().is_none() && !self.impaired.counts_followers(self.port)
    }

    /// A packet or a super-segment comes, where there is `room` for what is in flight.
    fn offer(&mut self, at: Instant, data: Message, room: u64) {
        self.run(at);
        if offload::is_packet(&data) || self.passes_whole() {
            self.offer_unit(at, data, room);
        } else {
            let cut = offload::cut(data, |packet| self.offer_unit(at, packet, room));
            // Nothing is known to make such.
            self.counted.refused += u64::from(!cut);
        }
    }

    fn offer_unit(&mut self, at: Instant, mut data: Message, room: u64) {
        self.counted.came(&data);
        let packets = offload::packets(&data);
        let own = (data.len() as u64).saturating_mul(FIT).saturating_add(UNIT.saturating_mul(packets as u64));
        if self.in_flight() >= MOST_UNITS || self.memory().saturating_add(own) > room {
            self.counted.no_room += packets as u64;
            return;
        }
        data.fit();
        // What came before something that has happened is late by that little.
        self.time = self.time.max(at);
        let unit = Unit::Frame { data, address: ticket(at, self.came) };
        self.came += packets as u64;
        self.more += packets - 1;
        self.line.offer(self.time, self.port, unit, &mut self.off_line);
        self.counted.waits(self.line.backlog(self.port));
        self.run(self.time);
    }

    fn set(&mut self, at: Instant, changes: &[Change]) {
        self.run(at);
        let before = (self.settings.rule, self.settings.queue);
        for change in changes {
            change.apply(&mut self.settings);
            // Of a recording and a rate that counts which was said last.
            if matches!(change, Change::Rate(_) | Change::Clear) {
                self.line.follow_none(self.port);
                self.recorded = None;
            }
        }
        self.line.set_config(self.port, self.settings.line());
        // What a discipline has learnt of the line it keeps.
        if before != (self.settings.rule, self.settings.queue) {
            self.line.set_discipline(self.port, self.settings.discipline(self.seed));
        }
        self.impaired.set(self.port, self.settings.impairment());
    }
}

/// Both directions between two ends; see the module.
pub struct Path {
    ways: [PathDirection; 2],
    most_memory: u64,
}

impl Path {
    /// A path that does nothing to units; `seed` fixes what random settings will do.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { ways: [PathDirection::new(0, seed), PathDirection::new(1, seed)], most_memory: MOST_MEMORY }
    }

    /// The same, where what is in flight in both directions may hold `octets` of memory; more is dropped and counted.
    #[must_use]
    pub const fn with_memory(mut self, octets: u64) -> Self {
        self.most_memory = octets;
        self
    }

    /// From here on the line from the end `from` (0, or else 1) delivers at the times of a recording, and has no rate.
    pub fn follow(&mut self, from: usize, times: Arc<Opportunities>) {
        let one = self.way(from);
        one.recorded = Some(times.rate());
        one.settings.rate = None;
        one.line.follow(one.port, times);
    }

    /// What comes from the end `from` (0, or else 1) leaves to where super-segments and packets whose checksum is yet
    /// to be written are taken or, unless `takes`, packets alone.
    pub fn leave_whole(&mut self, from: usize, takes: bool) {
        self.way(from).takes_super_segments = takes;
    }

    fn way(&mut self, from: usize) -> &mut PathDirection {
        let [a, b] = &mut self.ways;
        if from == 0 { a } else { b }
    }

    /// At `at` a unit comes from the end `from` (0, or else 1): a packet, or a super-segment, which leaves as packets
    /// unless [`Path::leave_whole`] was told otherwise.
    pub fn offer(&mut self, at: Instant, from: usize, data: Message) {
        let other = self.way(1 - from.min(1)).memory();
        let room = self.most_memory.saturating_sub(other);
        self.way(from).offer(at, data, room);
    }

    /// When something happens next by itself.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.ways.iter().filter_map(PathDirection::next_deadline).min()
    }

    /// Lets everything happen that is due by `until`.
    pub fn run(&mut self, until: Instant) {
        for way in &mut self.ways {
            way.run(until);
        }
    }

    /// The next unit from the end `from` (0, or else 1) that has left, in order of their times.
    pub fn take(&mut self, from: usize) -> Option<DepartingUnit> {
        self.way(from).take()
    }

    /// How many units from the end `from` (0, or else 1) have left and are not yet taken.
    #[must_use]
    pub fn left(&self, from: usize) -> usize {
        let [a, b] = &self.ways;
        if from == 0 { a.ready.len() } else { b.ready.len() }
    }

    /// Changes settings at `at`: what has come keeps its fate.
    pub fn set(&mut self, at: Instant, way: Directions, changes: &[Change]) {
        for (from, one) in self.ways.iter_mut().enumerate() {
            if way.has(from) {
                one.set(at, changes);
            }
        }
    }

    /// How the direction from the end `from` (0, or else 1) is set.
    #[must_use]
    pub const fn settings(&self, from: usize) -> &Settings {
        let [a, b] = &self.ways;
        if from == 0 { &a.settings } else { &b.settings }
    }

    /// The same for people: with the recording that its line follows, if it does.
    #[must_use]
    pub fn told(&self, from: usize) -> String {
        let [a, b] = &self.ways;
        let way = if from == 0 { a } else { b };
        let Some(rate) = way.recorded else {
            return way.settings.to_string();
        };
        let rate = quantity::Rate::from_bits_per_second(rate.bits_in(Duration::from_secs(1)));
        let rest = if way.settings == Settings::default() { String::new() } else { format!(" {}", way.settings) };
        format!("trace ({rate} on average){rest}")
    }

    /// What the direction from the end `from` (0, or else 1) has counted of what left it.
    pub fn counted(&mut self, from: usize) -> &mut Direction {
        &mut self.way(from).counted
    }

    /// Counts from nothing again.
    pub fn reset(&mut self) {
        for way in &mut self.ways {
            let elements = (way.line.counters(), way.impaired.counters());
            way.counted.reset(way.port, &elements.0, &elements.1);
            way.counted.waits(way.line.backlog(way.port));
        }
    }

    /// What has crossed, in each direction.
    #[must_use]
    pub fn statistics(&self) -> [Statistics; 2] {
        self.ways.each_ref().map(|way| {
            way.counted.statistics(
                way.port,
                &way.line.counters(),
                &way.impaired.counters(),
                way.line.backlog(way.port),
                way.in_flight(),
            )
        })
    }
}
