//! How a world is divided: at which lines, and who goes into which part.

use kumiki_graph::Duration;

use super::cores::Division;
use super::{Plug, World};

/// Parts that meet more often than this in virtual time are not worth it, whatever happens between.
const LEAST_LOOK_AHEAD: Duration = Duration::from_micros(20);

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

impl World {
    /// The division into up to `cores` parts that leaves the fullest part the least, and of those that do about the same the one whose lines are longest.
    pub(super) fn division(&mut self, cores: usize) -> Option<Division> {
        let media = &self.whole.media;
        let mut lengths: Vec<Duration> = media.iter().filter_map(|it| it.piece.element().look_ahead()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths.retain(|length| *length >= LEAST_LOOK_AHEAD);
        let mut best: Option<(u64, Division)> = None;
        for least in lengths.into_iter().rev() {
            if let Some((fullest, division)) = self.divide_at(least, cores)
                && best.as_ref().is_none_or(|(before, _)| fullest + fullest / 10 < *before)
            {
                best = Some((fullest, division));
            }
        }
        best.map(|(_, division)| division)
    }

    /// The division at lines of at least this length, and how much is in the fullest part.
    fn divide_at(&self, least: Duration, cores: usize) -> Option<(u64, Division)> {
        let (hosts, media) = (&self.whole.hosts, &self.whole.media);
        let long = |number: usize| media.get(number)?.piece.element().look_ahead().filter(|it| *it >= least);
        let place = |plug: Plug| match plug {
            Plug::Device(host, _) => Some(host.0),
            Plug::Port(element, _) => Some(hosts.len() + element.0),
            Plug::Outside(_) => None,
        };
        let mut sets = Sets::new(hosts.len() + media.len());
        for (number, medium) in media.iter().enumerate() {
            let ends: Vec<usize> = medium.wires.iter().flatten().filter_map(|plug| place(*plug)).collect();
            // Between two lines without anything between them nobody would know where the one ends.
            let between = |end: &usize| end.checked_sub(hosts.len()).and_then(long).is_none();
            let divides = long(number).is_some() && ends.len() == 2 && ends.iter().all(between);
            if !divides {
                ends.iter().for_each(|end| sets.join(hosts.len() + number, *end));
            }
        }
        for (number, slot) in hosts.iter().enumerate() {
            for wire in slot.wires.iter().flatten() {
                if let Plug::Device(other, _) = wire {
                    sets.join(number, other.0);
                }
            }
        }
        self.assign(sets, cores, long)
    }

    /// Gives each set to the part that has the least yet, the largest first.
    fn assign(
        &self,
        mut sets: Sets,
        cores: usize,
        long: impl Fn(usize) -> Option<Duration>,
    ) -> Option<(u64, Division)> {
        let (hosts, media) = (&self.whole.hosts, &self.whole.media);
        let mut weights = vec![0_u64; hosts.len() + media.len()];
        for (number, slot) in hosts.iter().enumerate() {
            let set = sets.find(number);
            weights.get_mut(set).into_iter().for_each(|weight| *weight += 1 + slot.steps);
        }
        let mut order: Vec<usize> = (0..weights.len()).filter(|set| weights.get(*set) > Some(&0)).collect();
        order.sort_by_key(|set| core::cmp::Reverse(weights.get(*set).copied()));
        let mut loads = vec![0_u64; cores.min(order.len())];
        let mut parts = vec![0; weights.len()];
        for set in order {
            let least = loads.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(part, _)| part);
            loads.get_mut(least).into_iter().for_each(|load| *load += weights.get(set).copied().unwrap_or(0));
            parts.get_mut(set).into_iter().for_each(|part| *part = least);
        }
        let mut part_of = |number: usize| parts.get(sets.find(number)).copied().unwrap_or(0);
        let host_parts = (0..hosts.len()).map(&mut part_of).collect();
        let mut look_ahead = None;
        let mut medium_parts = Vec::new();
        for (number, medium) in media.iter().enumerate() {
            let own = part_of(hosts.len() + number);
            let mut ends = medium.wires.iter().flatten().filter_map(|plug| match plug {
                Plug::Device(host, _) => Some(part_of(host.0)),
                Plug::Port(element, _) => Some(part_of(hosts.len() + element.0)),
                Plug::Outside(_) => None,
            });
            let ends = [ends.next().unwrap_or(own), ends.next().unwrap_or(own)];
            let [a, b] = ends;
            if a != b
                && let Some(length) = long(number)
            {
                look_ahead = Some(look_ahead.map_or(length, |least: Duration| least.min(length)));
                medium_parts.push(ends);
            } else if long(number).is_some() && medium.wires.iter().flatten().count() == 2 {
                medium_parts.push([a, a]);
            } else {
                medium_parts.push([own, own]);
            }
        }
        let fullest = loads.iter().copied().max().unwrap_or(0);
        let division = Division { parts: loads.len(), hosts: host_parts, media: medium_parts, look_ahead: look_ahead? };
        (division.parts > 1).then_some((fullest, division))
    }
}
