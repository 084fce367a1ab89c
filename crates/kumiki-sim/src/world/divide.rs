//! How a world is divided: at which lines, and who goes into which part.

use core::cmp::Reverse;

use kumiki_graph::Duration;

use super::Plug;
use super::part::{HostSlot, Medium, Part};

/// Parts that meet more often than this in virtual time are not worth it, whatever happens between.
const LEAST_LOOK_AHEAD: Duration = Duration::from_micros(20);

/// What is to be put where.
pub(super) struct Division {
    /// In how many parts.
    pub(super) parts: usize,
    /// The part of each host.
    pub(super) hosts: Vec<usize>,
    /// The parts of each medium: two where it is between them, that of its port 0 first.
    pub(super) media: Vec<[usize; 2]>,
    /// The least of the lines between parts; the longest time there is where none is.
    pub(super) look_ahead: Duration,
}

/// Sets of numbers that are joined one by one.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The number by which the set of `one` is known.
    fn find(&mut self, mut one: usize) -> usize {
        while let Some(&above) = self.0.get(one)
            && above != one
        {
            let further = self.0.get(above).copied().unwrap_or(above);
            if let Some(entry) = self.0.get_mut(one) {
                *entry = further;
            }
            one = further;
        }
        one
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(entry) = self.0.get_mut(a) {
            *entry = b;
        }
    }
}

/// What a world is made of: hosts and media under one numbering, hosts first.
struct Network {
    hosts: usize,
    /// What each medium is joined to, in the order of its ports, where something is.
    ends: Vec<Vec<usize>>,
    /// How long each medium is that can be had as its two ends.
    lengths: Vec<Option<Duration>>,
    /// Hosts that are joined to each other without a medium.
    face_to_face: Vec<(usize, usize)>,
    /// How much each host is.
    weights: Vec<u64>,
}

impl Network {
    fn of(whole: &Part) -> Self {
        let hosts = whole.hosts.len();
        let place = |plug: &Plug| match *plug {
            Plug::Device(host, _) => Some(host.0),
            Plug::Port(element, _) => Some(hosts + element.0),
            Plug::Outside(_) => None,
        };
        let ends = |medium: &Medium| medium.wires.iter().flatten().filter_map(place).collect();
        let neighbours = |(number, slot): (usize, &HostSlot)| {
            let devices = slot.wires.iter().flatten().filter(|plug| matches!(plug, Plug::Device(..)));
            devices.filter_map(place).map(|other| (number, other)).collect::<Vec<_>>()
        };
        Self {
            hosts,
            ends: whole.media.iter().map(ends).collect(),
            lengths: whole.media.iter().map(|medium| medium.piece.element().look_ahead()).collect(),
            face_to_face: whole.hosts.iter().enumerate().flat_map(neighbours).collect(),
            weights: whole.hosts.iter().map(|slot| 1 + slot.steps).collect(),
        }
    }

    /// Which media are lines of at least this length that have something at both ends. Of two that meet without
    /// anything between, the first.
    fn dividing(&self, least: Duration) -> Vec<bool> {
        let mut dividing = vec![false; self.ends.len()];
        for (number, (ends, length)) in self.ends.iter().zip(&self.lengths).enumerate() {
            let meets = |end: &usize| {
                end.checked_sub(self.hosts).and_then(|other| dividing.get(other)).is_some_and(|divides| *divides)
            };
            let divides = length.is_some_and(|length| length >= least) && ends.len() == 2 && !ends.iter().any(meets);
            dividing.get_mut(number).into_iter().for_each(|entry| *entry = divides);
        }
        dividing
    }

    /// What is joined without such a line between.
    fn sets(&self, dividing: &[bool]) -> Sets {
        let mut sets = Sets::new(self.hosts + self.ends.len());
        let divides = |number: usize| dividing.get(number).is_some_and(|divides| *divides);
        for (number, ends) in self.ends.iter().enumerate().filter(|(number, _)| !divides(*number)) {
            let together = ends.iter().filter(|end| !end.checked_sub(self.hosts).is_some_and(divides));
            together.for_each(|end| sets.join(self.hosts + number, *end));
        }
        self.face_to_face.iter().for_each(|(one, other)| sets.join(*one, *other));
        sets
    }

    /// Gives each set to the part that has the least yet, the largest first: the part of each set, and how much each
    /// part has.
    fn deal(&self, sets: &mut Sets, parts: usize) -> (Vec<usize>, Vec<u64>) {
        let mut weights = vec![0_u64; self.hosts + self.ends.len()];
        for (host, weight) in self.weights.iter().enumerate() {
            weights.get_mut(sets.find(host)).into_iter().for_each(|sum| *sum += weight);
        }
        let mut order: Vec<(u64, usize)> = weights.iter().copied().zip(0..).filter(|(weight, _)| *weight > 0).collect();
        order.sort_by_key(|(weight, _)| Reverse(*weight));
        let mut loads = vec![0_u64; parts.min(order.len())];
        let mut part_of_set = vec![0; weights.len()];
        for (weight, set) in order {
            let lightest = loads.iter().zip(0..).min_by_key(|(load, _)| **load).map_or(0, |(_, part)| part);
            loads.get_mut(lightest).into_iter().for_each(|load| *load += weight);
            part_of_set.get_mut(set).into_iter().for_each(|part| *part = lightest);
        }
        (part_of_set, loads)
    }

    /// The division into up to so many parts at lines of at least this length, and how much is in the fullest part.
    fn divided(&self, least: Duration, parts: usize) -> Option<(u64, Division)> {
        let dividing = self.dividing(least);
        let mut sets = self.sets(&dividing);
        let (part_of_set, loads) = self.deal(&mut sets, parts);
        let mut part_of = |number: usize| part_of_set.get(sets.find(number)).copied().unwrap_or(0);
        let hosts = (0..self.hosts).map(&mut part_of).collect();
        let mut look_ahead = Duration::MAX;
        let mut media = Vec::new();
        for (number, ((ends, length), divides)) in self.ends.iter().zip(&self.lengths).zip(dividing).enumerate() {
            let parts = match ends[..] {
                [a, b] if divides => [part_of(a), part_of(b)],
                _ => [part_of(self.hosts + number); 2],
            };
            if let ([a, b], Some(length)) = (parts, length)
                && a != b
            {
                look_ahead = look_ahead.min(*length);
            }
            media.push(parts);
        }
        let fullest = loads.iter().copied().max().unwrap_or(0);
        (loads.len() > 1).then_some((fullest, Division { parts: loads.len(), hosts, media, look_ahead }))
    }
}

/// The division into up to `parts` parts that leaves the fullest the least, and of those that do about the same the one
/// whose lines are longest: first that at no line, of worlds that have nothing to do with each other.
pub(super) fn division(whole: &Part, parts: usize) -> Option<Division> {
    let network = Network::of(whole);
    let mut lengths: Vec<Duration> = network.lengths.iter().copied().flatten().collect();
    lengths.retain(|length| *length >= LEAST_LOOK_AHEAD);
    lengths.push(Duration::MAX);
    lengths.sort_unstable();
    lengths.dedup();
    let mut best: Option<(u64, Division)> = None;
    for least in lengths.into_iter().rev() {
        if let Some((fullest, division)) = network.divided(least, parts)
            && best.as_ref().is_none_or(|(before, _)| fullest + fullest / 10 < *before)
        {
            best = Some((fullest, division));
        }
    }
    best.map(|(_, division)| division)
}
