//! Runs of octets by their numbers, none touching another.

use std::collections::BTreeMap;

use kumiki_wire::xtp::Span;

/// A set of octet numbers, kept as the runs that it is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans(BTreeMap<u64, u64>);

impl Spans {
    /// Adds `left..right`; `new` sees each run of what was not in the set before, in order.
    pub(crate) fn insert(&mut self, left: u64, right: u64, mut new: impl FnMut(u64, u64)) {
        if left >= right {
            return;
        }
        // What it touches on the left becomes part of it, and then what lies in it or touches it on the right.
        let (mut from, mut at, mut to) = (left, left, right);
        if let Some((&start, &end)) = self.0.range(..=left).next_back()
            && end >= left
        {
            (from, at) = (start, end);
            to = to.max(end);
        }
        while at <= right
            && let Some((&start, &end)) = self.0.range(at..=right).next()
        {
            if start > at {
                new(at, start);
            }
            self.0.remove(&start);
            at = at.max(end);
            to = to.max(end);
        }
        if at < right {
            new(at, right);
        }
        self.0.insert(from, to);
    }

    /// Whether all of `left..right` is in the set.
    pub(crate) fn contains(&self, left: u64, right: u64) -> bool {
        let found = self.0.range(..=left).next_back();
        left >= right || found.is_some_and(|(_, &end)| end >= right)
    }

    /// Takes out what lies below `limit`.
    pub(crate) fn remove_below(&mut self, limit: u64) {
        while let Some((&start, &end)) = self.0.first_key_value() {
            if start >= limit {
                break;
            }
            self.0.remove(&start);
            if end > limit {
                self.0.insert(limit, end);
                break;
            }
        }
    }

    /// The first run.
    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.0.first_key_value().map(|(&left, &right)| (left, right))
    }

    /// The last run.
    pub(crate) fn last(&self) -> Option<(u64, u64)> {
        self.0.last_key_value().map(|(&left, &right)| (left, right))
    }

    /// How many runs there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The runs in order, as a packet tells them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> {
        self.0.iter().map(|(&left, &right)| Span { left, right })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs_that_touch_become_one() {
        let mut spans = Spans::default();
        let mut insert = |left, right| {
            let mut new = Vec::new();
            spans.insert(left, right, |a, b| new.push((a, b)));
            (new, spans.iter().map(|it| (it.left, it.right)).collect())
        };
        let as_one = |run| (vec![run], vec![run]);
        assert_eq!(insert(10, 20), as_one((10, 20)));
        assert_eq!(insert(30, 40), (vec![(30, 40)], vec![(10, 20), (30, 40)]));
        assert_eq!(insert(12, 15), (vec![], vec![(10, 20), (30, 40)]));
        assert_eq!(insert(20, 25), (vec![(20, 25)], vec![(10, 25), (30, 40)]));
        assert_eq!(insert(5, 50), (vec![(5, 10), (25, 30), (40, 50)], vec![(5, 50)]));
        assert_eq!(insert(3, 3), (vec![], vec![(5, 50)]));
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_numbers(runs: Vec<(u8, u8)>, below: u8) {
            let mut spans = Spans::default();
            let mut bits = [false; 256];
            for (left, right) in runs {
                let mut fresh = Vec::new();
                spans.insert(left.into(), right.into(), |a, b| fresh.extend(a..b));
                let mut expected = Vec::new();
                for n in left..right {
                    if !core::mem::replace(&mut bits[usize::from(n)], true) {
                        expected.push(u64::from(n));
                    }
                }
                prop_assert_eq!(fresh, expected);
            }
            spans.remove_below(below.into());
            bits[..usize::from(below)].fill(false);
            let found: Vec<u64> = spans.iter().flat_map(|it| it.left..it.right).collect();
            let set = (0..256).filter(|&n| bits[n]).map(|n| n as u64).collect::<Vec<u64>>();
            prop_assert_eq!(found, set);
            let runs = (1..256).filter(|&n| bits[n] && !bits[n - 1]).count() + usize::from(bits[0]);
            prop_assert_eq!(spans.len(), runs);
            for (n, bit) in (0..).zip(bits) {
                prop_assert_eq!(spans.contains(n, n + 1), bit);
            }
        }
    }
}
