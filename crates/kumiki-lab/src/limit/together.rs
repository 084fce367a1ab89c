//! What several pairs have together of the lines that they share.

use std::collections::BTreeMap;

use super::path::Direction;

/// What `pairs` can have together, where each direction of a line carries such a `part` of what it does alone: all grow
/// alike, and those on a line that is full grow no further (max-min).
pub(super) fn together<'a>(pairs: &[Vec<(Direction<'a>, f64)>], part: impl Fn(Direction<'a>) -> f64) -> f64 {
    weighed(pairs, &[], part)
}

/// The same, where each of `pairs` grows by such a weight; by 1 where it has none.
pub(super) fn weighed<'a>(
    pairs: &[Vec<(Direction<'a>, f64)>],
    weights: &[f64],
    part: impl Fn(Direction<'a>) -> f64,
) -> f64 {
    if let [only] = pairs {
        return only.iter().map(|(direction, rate)| rate * part(*direction)).reduce(f64::min).unwrap_or(0.0);
    }
    // A line that carries nothing leaves nothing to its pairs.
    let carried = |lines: &&Vec<(Direction<'a>, f64)>| lines.iter().all(|(direction, _)| part(*direction) > 0.0);
    let weights = weights.iter().copied().chain(core::iter::repeat(1.0));
    let pairs: Vec<_> = pairs.iter().zip(weights).filter(|(lines, _)| carried(lines)).collect();
    let mut lines: BTreeMap<Direction<'_>, Shared> = BTreeMap::new();
    for (number, (own, weight)) in pairs.iter().enumerate() {
        for (direction, rate) in *own {
            let line = lines.entry(*direction).or_insert_with(|| Shared { left: 1.0, wanted: 0.0, pairs: Vec::new() });
            line.pairs.push((number, weight / (rate * part(*direction))));
        }
    }
    // By number, since a round goes through all that are not full, and there are as many rounds as there are lines that
    // become so.
    let numbers: BTreeMap<Direction<'_>, usize> = lines.keys().copied().zip(0..).collect();
    let lines_of = |number: usize| {
        let lines = pairs.get(number).into_iter().flat_map(|(lines, _)| *lines);
        lines.filter_map(|(direction, _)| numbers.get(direction).copied())
    };
    let mut lines: Vec<Shared> = lines.into_values().collect();
    let mut grows = vec![true; pairs.len()];
    lines.iter_mut().for_each(|line| line.add_up(&grows));
    let mut open: Vec<usize> = (0..lines.len()).collect();
    let (mut rate, mut sum) = (0.0, 0.0);
    loop {
        let full = open.iter().filter_map(|number| Some((lines.get(*number)?.is_full_after(), *number)));
        let Some((more, narrowest)) = full.min_by(|(one, _), (other, _)| one.total_cmp(other)) else {
            return sum;
        };
        rate += more;
        for number in &open {
            if let Some(line) = lines.get_mut(*number) {
                line.left -= line.wanted * more;
            }
        }
        // Those that the line holds grow no further.
        let held = lines.get(narrowest).map(|line| line.growing(&grows).collect::<Vec<_>>()).unwrap_or_default();
        for number in held {
            if let Some(grows) = grows.get_mut(number).filter(|grows| **grows) {
                *grows = false;
                sum += rate * pairs.get(number).map_or(1.0, |(_, weight)| *weight);
            }
            for line in lines_of(number) {
                if let Some(line) = lines.get_mut(line) {
                    line.wanted = f64::NAN;
                }
            }
        }
        open.retain(|number| lines.get_mut(*number).is_some_and(|line| line.is_open(&grows)));
    }
}

/// A direction of a line that pairs share.
struct Shared {
    /// Which part of it is left.
    left: f64,
    /// Which part of it those that grow take for each Mb/s; no number where that is to be added up again.
    wanted: f64,
    /// The pairs on it, in their order, and what each takes of it for each Mb/s.
    pairs: Vec<(usize, f64)>,
}

impl Shared {
    /// By how much more its pairs have grown when it is full, in Mb/s.
    fn is_full_after(&self) -> f64 {
        self.left / self.wanted
    }

    /// Those of its pairs that grow.
    fn growing(&self, grows: &[bool]) -> impl Iterator<Item = usize> {
        self.pairs.iter().map(|(number, _)| *number).filter(|number| grows.get(*number).copied().unwrap_or(false))
    }

    fn add_up(&mut self, grows: &[bool]) {
        self.pairs.retain(|(number, _)| grows.get(*number).copied().unwrap_or(false));
        self.wanted = self.pairs.iter().fold(0.0, |sum, (_, share)| sum + share);
    }

    /// Whether pairs on it grow.
    fn is_open(&mut self, grows: &[bool]) -> bool {
        if self.wanted.is_nan() {
            self.add_up(grows);
        }
        !self.pairs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What pairs have where each line, named by a letter, carries so much alone.
    fn shared(pairs: &[&[(&'static str, f64)]]) -> f64 {
        let pair = |lines: &&[(&'static str, f64)]| lines.iter().map(|(name, rate)| ((*name, false), *rate)).collect();
        together(&pairs.iter().map(pair).collect::<Vec<_>>(), |_| 1.0)
    }

    #[test]
    fn what_one_pair_cannot_use_is_left_to_the_others() {
        // The first is held at 2 by its own line; the other two share the 10 that are left of 12.
        let sum = shared(&[&[("a", 2.0), ("m", 12.0)], &[("m", 12.0)], &[("m", 12.0)]]);
        assert!((sum - 12.0).abs() < 1e-9, "{sum}");
        // And where a narrow line holds one of these, only that.
        let sum = shared(&[&[("a", 2.0), ("m", 12.0)], &[("m", 12.0), ("b", 3.0)], &[("m", 12.0), ("c", 4.0)]]);
        assert!((sum - 9.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn lines_of_their_own_add_up() {
        let sum = shared(&[&[("a", 2.0)], &[("b", 3.0)], &[("c", 2.0)], &[("a", 2.0)]]);
        assert!((sum - 7.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn a_line_that_carries_nothing_leaves_its_pairs_nothing() {
        let pairs = [vec![(("a", false), 2.0)], vec![(("b", false), 3.0)]];
        let sum = together(&pairs, |(name, _)| if name == "a" { 0.0 } else { 0.5 });
        assert!((sum - 1.5).abs() < 1e-9, "{sum}");
        assert_eq!(together(&[], |_| 1.0), 0.0);
    }
}
