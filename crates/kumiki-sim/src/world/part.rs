//! A part of a world: hosts and media that go on by themselves, with an event queue of their own.
//!
//! A world is one part, unless [several cores](super::cores) run it. Numbers in plugs are the part's.

use std::collections::VecDeque;

use kumiki_graph::{DeviceId, Instant};
use kumiki_link::{Element, LineEnd, Outlet, Unit};
use kumiki_octets::FreeMessages;

use super::{Plug, ROUNDS, Standstill};
use crate::clock::Clock;
use crate::host::Host;
use crate::queue::Queue;

/// A medium, or an end of one.
pub(super) enum MediumPart {
    Whole(Box<dyn Element>),
    End(Box<LineEnd>),
}

impl MediumPart {
    pub(super) fn element(&self) -> &dyn Element {
        match self {
            Self::Whole(element) => &**element,
            Self::End(end) => &**end,
        }
    }

    pub(super) fn element_mut(&mut self) -> &mut dyn Element {
        match self {
            Self::Whole(element) => &mut **element,
            Self::End(end) => &mut **end,
        }
    }
}

pub(super) struct Medium {
    pub(super) name: String,
    pub(super) piece: MediumPart,
    pub(super) wires: Vec<Option<Plug>>,
    pub(super) node: usize,
    /// Its number in the world.
    number: u32,
    pub(super) is_line: bool,
    /// Whether it is among those that are asked at the end of a run.
    pub(super) is_listed: bool,
}

impl Medium {
    pub(super) fn new(name: &str, number: u32, piece: MediumPart) -> Self {
        let is_line = piece.element().is_line();
        Self { name: name.to_owned(), piece, wires: Vec::new(), node: 0, number, is_line, is_listed: false }
    }

    /// The end of it at `port`, which goes into another part than the other end.
    pub(super) fn end(&self, port: usize, end: LineEnd) -> Self {
        let mut wires = self.wires.clone();
        wires.iter_mut().enumerate().filter(|(other, _)| *other != port).for_each(|(_, wire)| *wire = None);
        Self { wires, is_listed: self.is_listed, ..Self::new(&self.name, self.number, MediumPart::End(Box::new(end))) }
    }

    /// Sets in `queue` when it is next due, which is not before `now`.
    fn arm(&self, queue: &mut Queue, now: Instant) {
        let deadline = self.piece.element().next_deadline().map(|at| at.max(now));
        if self.is_line {
            queue.arm_line(self.node, self.number, deadline);
        } else {
            queue.arm(self.node, deadline);
        }
    }
}

pub(super) struct HostSlot {
    pub(super) host: Host,
    pub(super) wires: Vec<Option<Plug>>,
    pub(super) node: usize,
    pub(super) down_since: Option<Instant>,
    /// Where it is not that of the world.
    pub(super) clock: Option<Clock>,
    /// How often it has looked around.
    pub(super) steps: u64,
}

impl HostSlot {
    pub(super) const fn new(host: Host) -> Self {
        Self { host, wires: Vec::new(), node: 0, down_since: None, clock: None, steps: 0 }
    }

    /// What its clock says when the world's says `at`.
    pub(super) fn own(&self, at: Instant) -> Instant {
        self.clock.map_or(at, |clock| clock.own(at))
    }

    /// When its clock says `own`.
    pub(super) fn world(&self, own: Instant) -> Instant {
        self.clock.map_or(own, |clock| clock.world(own))
    }
}

#[derive(Clone, Copy)]
enum Node {
    Host(u32),
    Medium(u32),
}

pub(super) fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) struct Part {
    pub(super) hosts: Vec<HostSlot>,
    pub(super) media: Vec<Medium>,
    nodes: Vec<Node>,
    /// Lines that may have frames waiting.
    listed: Vec<u32>,
    pub(super) queue: Queue,
    pub(super) now: Instant,
    pub(super) in_flight: VecDeque<(Plug, Unit)>,
    pub(super) left: VecDeque<(usize, Instant, Unit)>,
    pub(super) outlet: Outlet,
    handed_down: VecDeque<(DeviceId, Unit)>,
    pub(super) events: u64,
    pub(super) unplugged: u64,
    pub(super) lost: u64,
    /// How many rounds an instant may have, and how many are left to the present one.
    pub(super) rounds: u64,
    pub(super) rounds_left: u64,
    pub(super) standstill: Option<Standstill>,
    /// What its thread has for others, and they for it.
    pub(super) spare: FreeMessages,
}

impl Default for Part {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            media: Vec::new(),
            nodes: Vec::new(),
            listed: Vec::new(),
            queue: Queue::default(),
            now: Instant::ZERO,
            in_flight: VecDeque::new(),
            left: VecDeque::new(),
            outlet: Outlet::default(),
            handed_down: VecDeque::new(),
            events: 0,
            unplugged: 0,
            lost: 0,
            rounds: ROUNDS,
            rounds_left: ROUNDS,
            standstill: None,
            spare: FreeMessages::default(),
        }
    }
}

impl Part {
    /// An empty one at this time, with so many rounds to an instant.
    pub(super) fn at(now: Instant, rounds: u64) -> Self {
        Self { now, rounds, rounds_left: rounds, ..Self::default() }
    }

    /// Takes in a host, and returns its number here.
    pub(super) fn add_host(&mut self, mut slot: HostSlot) -> usize {
        slot.node = self.queue.add_party();
        self.nodes.push(Node::Host(number(self.hosts.len())));
        self.hosts.push(slot);
        self.hosts.len() - 1
    }

    /// Takes in a medium, and returns its number here.
    pub(super) fn add_medium(&mut self, mut medium: Medium) -> usize {
        medium.node = self.queue.add_party();
        if medium.is_listed {
            self.listed.push(number(self.media.len()));
        }
        self.nodes.push(Node::Medium(number(self.media.len())));
        self.media.push(medium);
        self.media.len() - 1
    }

    /// Lets all happen that is due by `end`; the time is then `end`, unless it has come to a [`Standstill`]. Lines then
    /// know what has gone on them until now.
    pub(super) fn run_until(&mut self, end: Instant) {
        while self.standstill.is_none() && self.next_event(end) {}
        if self.standstill.is_none() {
            self.set_now(end);
            self.catch_up();
        }
    }

    /// Frames that wait for a line go on it when somebody asks. So that what it counts and holds does not depend on who
    /// has asked, all are asked where a run ends.
    fn catch_up(&mut self) {
        let mut listed = core::mem::take(&mut self.listed);
        for line in &listed {
            let line = *line as usize;
            if let Some(medium) = self.media.get_mut(line) {
                medium.piece.element_mut().poll(self.now, &mut self.outlet);
                self.collect(line);
                self.carry();
            }
        }
        listed.retain(|line| {
            self.media.get_mut(*line as usize).is_some_and(|medium| {
                medium.is_listed = medium.piece.element().has_waiting();
                medium.is_listed
            })
        });
        self.listed.append(&mut listed);
    }

    /// Lets the next event by `end` happen; false where there is none.
    pub(super) fn next_event(&mut self, end: Instant) -> bool {
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
                    medium.piece.element_mut().poll(at, &mut self.outlet);
                }
                self.collect(number);
            }
            None => {}
        }
        self.carry();
        true
    }

    pub(super) const fn set_now(&mut self, at: Instant) {
        if at.as_nanos() != self.now.as_nanos() {
            self.rounds_left = self.rounds;
        }
        self.now = at;
    }

    pub(super) fn step_host(&mut self, number: usize) {
        let Some(slot) = self.hosts.get_mut(number).filter(|slot| slot.down_since.is_none()) else {
            return;
        };
        slot.steps += 1;
        let now = slot.own(self.now);
        let deadline = loop {
            let host = &mut slot.host;
            let next = host.step(now, &mut self.rounds_left, &mut self.handed_down);
            let mut sent_at_once = false;
            while let Some((device, unit)) = self.handed_down.pop_front() {
                let plug = slot.wires.get(device.0).copied().flatten();
                match plug {
                    Some(plug) => self.in_flight.push_back((plug, unit)),
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

    /// Takes what left the medium `number` and arms it again.
    pub(super) fn collect(&mut self, place: usize) {
        let Some(medium) = self.media.get_mut(place) else {
            return;
        };
        while let Some((port, unit)) = self.outlet.take() {
            match medium.wires.get(port).copied().flatten() {
                Some(plug) => self.in_flight.push_back((plug, unit)),
                None => self.unplugged += 1,
            }
        }
        if medium.is_line && !medium.is_listed {
            medium.is_listed = true;
            self.listed.push(number(place));
        }
        medium.arm(&mut self.queue, self.now);
        self.rounds_left = self.rounds_left.saturating_sub(1);
        if self.rounds_left == 0 {
            let name = medium.name.clone();
            self.stand_still(name);
        }
    }

    /// Brings everything that is in flight where it goes, and what that sets off in turn.
    pub(super) fn carry(&mut self) {
        while self.standstill.is_none()
            && let Some((plug, unit)) = self.in_flight.pop_front()
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
                        medium.piece.element_mut().offer(self.now, port, unit, &mut self.outlet);
                        self.collect(element.0);
                    }
                }
                Plug::Outside(way) => self.left.push_back((way, self.now, unit)),
            }
        }
    }

    pub(super) fn arm_host(&mut self, number: usize) {
        if let Some(slot) = self.hosts.get_mut(number) {
            let deadline = slot.host.next_deadline();
            let deadline = deadline.map(|at| slot.world(at).max(self.now));
            self.queue.arm(slot.node, deadline);
        }
    }

    /// All wires of what is here.
    pub(super) fn wires_mut(&mut self) -> impl Iterator<Item = &mut Option<Plug>> {
        let hosts = self.hosts.iter_mut().flat_map(|slot| &mut slot.wires);
        hosts.chain(self.media.iter_mut().flat_map(|medium| &mut medium.wires))
    }

    /// The line of which the piece `number` is an end.
    pub(super) fn end_mut(&mut self, number: usize) -> Option<&mut LineEnd> {
        match &mut self.media.get_mut(number)?.piece {
            MediumPart::End(end) => Some(end),
            MediumPart::Whole(_) => None,
        }
    }

    /// Lets frames that wait at an end of a line go on it until now, for the run before may have ended between two
    /// events.
    pub(super) fn advance_end(&mut self, number: usize) {
        let (now, mut out) = (self.now, core::mem::take(&mut self.outlet));
        if let Some(end) = self.end_mut(number) {
            end.advance(now, &mut out);
        }
        self.outlet = out;
        self.collect(number);
        self.carry();
    }

    /// Counts what `other` has counted, which has ended.
    pub(super) fn take_counts(&mut self, other: &mut Self) {
        self.events += other.events;
        self.unplugged += other.unplugged;
        self.lost += other.lost;
        self.standstill = self.standstill.take().or_else(|| other.standstill.take());
    }

    /// Arms the lines: their places in the order do not depend on when that is done.
    pub(super) fn arm_lines(&mut self) {
        for number in 0..self.media.len() {
            if self.media.get(number).is_some_and(|medium| medium.is_line) {
                self.arm_medium(number);
            }
        }
    }

    pub(super) fn arm_medium(&mut self, number: usize) {
        if let Some(medium) = self.media.get(number) {
            medium.arm(&mut self.queue, self.now);
        }
    }
}
