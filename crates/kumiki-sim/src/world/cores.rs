//! A world on several cores: parts that go on side by side, and lines between them.
//!
//! What is put on a line between two parts arrives at its other end no sooner than the line's look-ahead after it has
//! begun to go. So all parts may go on from one instant to the next that is a look-ahead later without hearing of each
//! other; then what has gone on the lines is carried over, and they go on. All that happens is the same as in one part,
//! to the octet and the nanosecond:
//!
//! - within a part all happens in the order in which it would in the whole: events of other parts change nothing in it
//!   before they have crossed a line;
//! - what crosses a line comes before all else of its instant, in one part as in several
//!   ([`Queue`](crate::queue::Queue));
//! - a frame that waits for a line goes on it at the same time whenever the line is asked, and all lines are asked
//!   where a run ends.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use kumiki_graph::{Duration, Instant};
use kumiki_link::{Element, LineEnd};
use kumiki_octets::FreeMessages;

use super::divide::{Division, division};
use super::part::{HostSlot, Medium, MediumPart, Part};
use super::{ElementId, HostId, Plug, World};

/// So few events in all parts since they last met are not worth waking other threads for the next.
const WORTH_WAKING: u64 = 200;

/// So many free messages, of some 400 octets each, a thread keeps between two meetings: as many as come over long and
/// fast lines until the next.
const KEPT: usize = 1 << 16;
/// So many it keeps for itself when it meets others.
const LEFT: usize = 512;

const NANOSECOND: Duration = Duration::from_nanos(1);

/// Where something is: the part, and the number there.
pub(super) type Home = (usize, usize);

/// Where a medium is.
pub(super) enum MediumHome {
    In(Home),
    /// Between two parts: the medium without its ends, and where those are.
    Between(Box<Medium>, [Home; 2]),
}

/// A world in parts.
pub(super) struct DividedWorld {
    pub(super) parts: Vec<Part>,
    pub(super) hosts: Vec<Home>,
    pub(super) media: Vec<MediumHome>,
    pub(super) now: Instant,
    /// The two ends of each medium between parts.
    between: Vec<[Home; 2]>,
    look_ahead: Duration,
    workers: Workers,
}

/// Runs a part on this thread, which takes the free messages that others have brought for it, and leaves those for
/// others.
fn run(part: &mut Part, until: Instant) {
    core::mem::take(&mut part.spare).give();
    part.run_until(until);
    part.spare = FreeMessages::take(LEFT);
}

/// Threads that run parts other than the first.
#[derive(Default)]
struct Workers {
    to: Vec<Sender<(Part, Instant)>>,
    from: Vec<Receiver<Part>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// One more; false where the system has none.
    fn add(&mut self) -> bool {
        let (to, jobs) = mpsc::channel::<(Part, Instant)>();
        let (done, from) = mpsc::channel();
        let serve = move || {
            FreeMessages::keep_up_to(KEPT);
            for (mut part, until) in jobs {
                run(&mut part, until);
                if done.send(part).is_err() {
                    break;
                }
            }
        };
        let Ok(thread) = std::thread::Builder::new().name("part of a world".to_owned()).spawn(serve) else {
            return false;
        };
        self.to.push(to);
        self.from.push(from);
        self.threads.push(thread);
        true
    }

    /// Runs all parts until `until`, the first of them here.
    fn run(&mut self, parts: &mut [Part], until: Instant) {
        let Some((here, others)) = parts.split_first_mut() else {
            return;
        };
        for (part, to) in others.iter_mut().zip(&self.to) {
            if let Err(mpsc::SendError((back, _))) = to.send((core::mem::take(part), until)) {
                *part = back;
            }
        }
        run(here, until);
        for (number, part) in others.iter_mut().enumerate() {
            match self.from.get(number).map(Receiver::recv) {
                Some(Ok(back)) => *part = back,
                Some(Err(mpsc::RecvError)) | None => self.pass_on_panic(number),
            }
        }
    }

    /// A thread ends before its world only where a layer has panicked on it; that goes on here, as if the layer had run
    /// here.
    fn pass_on_panic(&mut self, number: usize) {
        if let Err(panic) = self.threads.remove(number).join() {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.to.clear();
        for thread in self.threads.drain(..) {
            // Had it panicked, that would have gone on in the run.
            let _ = thread.join();
        }
    }
}

impl DividedWorld {
    pub(super) fn host(&self, number: usize) -> Option<&HostSlot> {
        let (part, number) = *self.hosts.get(number)?;
        self.parts.get(part)?.hosts.get(number)
    }

    pub(super) fn host_mut(&mut self, number: usize) -> Option<(&mut Part, usize)> {
        let (part, number) = *self.hosts.get(number)?;
        Some((self.parts.get_mut(part)?, number))
    }

    /// A medium, and its ends where it is between parts.
    pub(super) fn medium(&self, number: usize) -> Option<(&Medium, Option<[&LineEnd; 2]>)> {
        match self.media.get(number)? {
            MediumHome::In((part, number)) => Some((self.parts.get(*part)?.media.get(*number)?, None)),
            MediumHome::Between(medium, homes) => {
                let [a, b] = homes.map(|home| self.end(home));
                Some((medium, Some([a?, b?])))
            }
        }
    }

    fn end(&self, (part, number): Home) -> Option<&LineEnd> {
        match &self.parts.get(part)?.media.get(number)?.piece {
            MediumPart::End(end) => Some(end),
            MediumPart::Whole(_) => None,
        }
    }

    pub(super) fn run_until(&mut self, end: Instant) {
        FreeMessages::keep_up_to(KEPT);
        let mut events = u64::MAX;
        loop {
            let waiting = self.exchange();
            if self.now >= end || self.parts.iter().any(|part| part.standstill.is_some()) {
                break;
            }
            // The next frame goes on a line when something next happens somewhere, or after now where one waits. Until
            // that can have arrived nobody hears of others.
            let next = self.parts.iter_mut().filter_map(|part| part.queue.next_at()).min();
            let starts = if waiting { Some(self.now + NANOSECOND) } else { None }.into_iter().chain(next).min();
            let until = starts.map_or(end, |starts| (starts + self.look_ahead - NANOSECOND).min(end));
            let before: u64 = self.parts.iter().map(|part| part.events).sum();
            if events < WORTH_WAKING {
                self.parts.iter_mut().for_each(|part| part.run_until(until));
            } else {
                self.workers.run(&mut self.parts, until);
                self.share();
            }
            events = self.parts.iter().map(|part| part.events).sum::<u64>() - before;
            self.now = until;
        }
        FreeMessages::keep_up_to(FreeMessages::KEPT);
    }

    /// Gives all threads as many free messages.
    fn share(&mut self) {
        let mut all = FreeMessages::default();
        for part in &mut self.parts {
            all.gather(&mut part.spare);
        }
        let each = all.len() / self.parts.len().max(1);
        for part in &mut self.parts {
            part.spare = all.part(each);
        }
    }

    /// Carries what has gone on the lines between parts to their other ends; true where something still waits to go on
    /// one.
    fn exchange(&mut self) -> bool {
        let Self { parts, between, .. } = self;
        let mut waiting = false;
        for [a, b] in between {
            let Ok([part_a, part_b]) = parts.get_disjoint_mut([a.0, b.0]) else {
                continue;
            };
            let (Some(end_a), Some(end_b)) = (part_a.end_mut(a.1), part_b.end_mut(b.1)) else {
                continue;
            };
            let (forth, back) = (end_a.carry(end_b), end_b.carry(end_a));
            waiting |= end_a.has_waiting() || end_b.has_waiting();
            if forth {
                part_b.arm_medium(b.1);
            }
            if back {
                part_a.arm_medium(a.1);
            }
        }
        waiting
    }
}

impl World {
    /// Divides the world among its cores, where that can be done.
    pub(super) fn divide(&mut self) {
        // What comes from outside may come at any time.
        if !self.outside.is_empty() || self.whole.standstill.is_some() {
            return;
        }
        let Some(division) = division(&self.whole, self.cores) else {
            return;
        };
        let mut workers = Workers::default();
        if (1..division.parts).all(|_| workers.add()) {
            self.divided = Some(Box::new(DividedWorld::new(&mut self.whole, division, workers)));
        }
    }

    /// Makes one part of all parts, if there are several.
    pub(super) fn join(&mut self) {
        if let Some(divided) = self.divided.take() {
            divided.join(&mut self.whole);
        }
    }
}

/// What is due: its place in the order, the part in which that is, when, and whose it becomes, by the part and its
/// queue.
type DueEvents = Vec<(u64, usize, Instant, Home)>;

/// Arms all of this in `parts`, in the order in which it was armed before.
fn arm(mut due: DueEvents, parts: &mut [Part]) {
    due.sort_by_key(|(order, part, ..)| (*order, *part));
    for (_, _, at, (part, node)) in due {
        if let Some(part) = parts.get_mut(part) {
            part.queue.arm(node, Some(at));
        }
    }
}

impl DividedWorld {
    fn new(whole: &mut Part, division: Division, workers: Workers) -> Self {
        let (now, rounds) = (whole.now, whole.rounds);
        let parts = (0..division.parts).map(|_| Part::at(now, rounds)).collect();
        let look_ahead = division.look_ahead;
        let mut divided =
            Self { parts, hosts: Vec::new(), media: Vec::new(), now, between: Vec::new(), look_ahead, workers };
        let mut due = DueEvents::new();
        for (slot, part) in core::mem::take(&mut whole.hosts).into_iter().zip(division.hosts) {
            let armed = whole.queue.armed(slot.node);
            let Some(to) = divided.parts.get_mut(part) else { continue };
            let number = to.add_host(slot);
            let node = to.hosts.get(number).map_or(0, |slot| slot.node);
            due.extend(armed.map(|(at, order)| (order, 0, at, (part, node))));
            divided.hosts.push((part, number));
        }
        let media = core::mem::take(&mut whole.media).into_iter().zip(division.media);
        for (medium, [a, b]) in media {
            let armed = whole.queue.armed(medium.node);
            let home = divided.take_in(medium, [a, b]);
            if let MediumHome::In((part, place)) = home
                && let Some(medium) = divided.parts.get(part).and_then(|part| part.media.get(place))
                && !medium.is_line
            {
                due.extend(armed.map(|(at, order)| (order, 0, at, (part, medium.node))));
            }
            divided.media.push(home);
        }
        arm(due, &mut divided.parts);
        divided.parts.iter_mut().for_each(Part::arm_lines);
        divided.wire();
        for (part, number) in divided.between.iter().flatten() {
            divided.parts.get_mut(*part).into_iter().for_each(|part| part.advance_end(*number));
        }
        let mut counts = Part::at(now, rounds);
        counts.take_counts(whole);
        *whole = counts;
        divided
    }

    /// Puts a medium where it goes, in two pieces where that is two parts.
    fn take_in(&mut self, mut medium: Medium, [a, b]: [usize; 2]) -> MediumHome {
        let ends = if a == b { None } else { medium.piece.element_mut().take_ends() };
        let Some(ends) = ends else {
            let place = self.parts.get_mut(a).map_or(0, |part| part.add_medium(medium));
            return MediumHome::In((a, place));
        };
        let mut homes = [(a, 0), (b, 0)];
        for ((port, end), home) in ends.into_iter().enumerate().zip(&mut homes) {
            let end = medium.end(port, end);
            let Some(part) = self.parts.get_mut(home.0) else { continue };
            home.1 = part.add_medium(end);
        }
        self.between.push(homes);
        MediumHome::Between(Box::new(medium), homes)
    }

    /// Lets all wires have the numbers of their parts in place of the world's.
    fn wire(&mut self) {
        let Self { parts, hosts, media, .. } = self;
        let here = |plug: Plug| match plug {
            Plug::Device(host, device) => {
                hosts.get(host.0).map_or(plug, |(_, number)| Plug::Device(HostId(*number), device))
            }
            Plug::Port(element, port) => match media.get(element.0) {
                Some(MediumHome::In((_, number))) => Plug::Port(ElementId(*number), port),
                Some(MediumHome::Between(_, homes)) => {
                    homes.get(port).map_or(plug, |(_, number)| Plug::Port(ElementId(*number), port))
                }
                None => plug,
            },
            Plug::Outside(_) => plug,
        };
        for wire in parts.iter_mut().flat_map(Part::wires_mut) {
            *wire = wire.map(here);
        }
    }

    /// The reverse.
    fn unwire(&mut self) {
        let Self { parts, hosts, media, .. } = self;
        let mut names: Vec<[Vec<usize>; 2]> =
            parts.iter().map(|part| [vec![0; part.hosts.len()], vec![0; part.media.len()]]).collect();
        let mut name = |which: usize, (part, place): Home, number| {
            let entry = names.get_mut(part).and_then(|names| names.get_mut(which)).and_then(|list| list.get_mut(place));
            entry.into_iter().for_each(|entry| *entry = number);
        };
        for (number, home) in hosts.iter().enumerate() {
            name(0, *home, number);
        }
        for (number, home) in media.iter().enumerate() {
            match home {
                MediumHome::In(home) => name(1, *home, number),
                MediumHome::Between(_, homes) => homes.iter().for_each(|home| name(1, *home, number)),
            }
        }
        for (part, [hosts, media]) in parts.iter_mut().zip(&names) {
            let there = |plug: Plug| match plug {
                Plug::Device(host, device) => {
                    hosts.get(host.0).map_or(plug, |number| Plug::Device(HostId(*number), device))
                }
                Plug::Port(element, port) => {
                    media.get(element.0).map_or(plug, |number| Plug::Port(ElementId(*number), port))
                }
                Plug::Outside(_) => plug,
            };
            part.wires_mut().for_each(|wire| *wire = wire.map(there));
        }
    }

    /// Makes one part of all.
    fn join(mut self, whole: &mut Part) {
        self.unwire();
        let mut due = DueEvents::new();
        let mut joined = Part::at(self.now, whole.rounds);
        joined.take_counts(whole);
        for part in &mut self.parts {
            joined.take_counts(part);
        }
        let mut hosts: Vec<Vec<Option<HostSlot>>> = Vec::new();
        let mut media: Vec<Vec<Option<Medium>>> = Vec::new();
        for part in &mut self.parts {
            hosts.push(core::mem::take(&mut part.hosts).into_iter().map(Some).collect());
            media.push(core::mem::take(&mut part.media).into_iter().map(Some).collect());
        }
        for (part, place) in core::mem::take(&mut self.hosts) {
            let Some(slot) = take(&mut hosts, (part, place)) else { continue };
            let armed = self.parts.get_mut(part).and_then(|part| part.queue.armed(slot.node));
            let number = joined.add_host(slot);
            let node = joined.hosts.get(number).map_or(0, |slot| slot.node);
            due.extend(armed.map(|(at, order)| (order, part, at, (0, node))));
        }
        for home in core::mem::take(&mut self.media) {
            match home {
                MediumHome::In((part, place)) => {
                    let Some(medium) = take(&mut media, (part, place)) else { continue };
                    let armed = self.parts.get_mut(part).and_then(|part| part.queue.armed(medium.node));
                    let armed = armed.filter(|_| !medium.is_line);
                    let place = joined.add_medium(medium);
                    let node = joined.media.get(place).map_or(0, |medium| medium.node);
                    due.extend(armed.map(|(at, order)| (order, part, at, (0, node))));
                }
                MediumHome::Between(mut medium, homes) => {
                    let [a, b] = homes.map(|home| take(&mut media, home).map(|medium| medium.piece));
                    if let (Some(MediumPart::End(a)), Some(MediumPart::End(b))) = (a, b) {
                        medium.piece.element_mut().join_ends([*a, *b]);
                    }
                    medium.is_listed = true;
                    joined.add_medium(*medium);
                }
            }
        }
        arm(due, core::slice::from_mut(&mut joined));
        joined.arm_lines();
        *whole = joined;
    }
}

fn take<T>(lists: &mut [Vec<Option<T>>], (part, place): Home) -> Option<T> {
    lists.get_mut(part)?.get_mut(place)?.take()
}
