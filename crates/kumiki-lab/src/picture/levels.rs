//! Where the nodes of one host go: on levels, so that each stands above what it stands on.

use std::collections::BTreeMap;

use super::stack::Stack;

/// A place on a level: a node, or where a line to a lower level passes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Slot<'a> {
    Node(&'a str),
    /// Of the line from the first to the second, on this level.
    Passage(&'a str, &'a str, usize),
}

/// The levels of a host, uppermost first.
pub(super) struct Levels<'a> {
    pub(super) rows: Vec<Vec<Slot<'a>>>,
    /// Each line from a node to one below it, with all the slots on its way.
    pub(super) lines: Vec<Vec<Slot<'a>>>,
}

impl<'a> Levels<'a> {
    /// Places the nodes of `stack` on `depth` levels or more; devices are on the last.
    pub(super) fn of(stack: &Stack<'a>, depth: usize) -> Self {
        let mut level = levels(stack);
        let last = depth.max(height(stack)).saturating_sub(1);
        for (node, place) in &mut level {
            if stack.is_device(node) {
                *place = last;
            }
        }
        let mut rows = vec![Vec::new(); last + 1];
        let mut lines = Vec::new();
        for node in stack.nodes() {
            let Some(&top) = level.get(node) else {
                continue;
            };
            if let Some(row) = rows.get_mut(top) {
                row.push(Slot::Node(node));
            }
            for &lower in stack.below(node) {
                // None goes up but in a circle of layers, and that is no graph.
                let Some(&bottom) = level.get(lower).filter(|bottom| **bottom > top) else {
                    continue;
                };
                let mut line = vec![Slot::Node(node)];
                for at in top + 1..bottom {
                    let passage = Slot::Passage(node, lower, at);
                    if let Some(row) = rows.get_mut(at) {
                        row.push(passage.clone());
                    }
                    line.push(passage);
                }
                line.push(Slot::Node(lower));
                lines.push(line);
            }
        }
        let mut levels = Self { rows, lines };
        levels.untangle();
        levels
    }

    /// Sorts each row by where its slots' neighbours are, downwards and upwards a few times.
    fn untangle(&mut self) {
        for round in 0..4 {
            let count = self.rows.len();
            for step in 1..count {
                let (row, beside) = if round % 2 == 0 { (step, step - 1) } else { (count - 1 - step, count - step) };
                self.sort(row, beside);
            }
        }
    }

    fn sort(&mut self, row: usize, beside: usize) {
        let places: BTreeMap<Slot<'a>, usize> = self.rows.get(beside).map_or_else(BTreeMap::new, |row| {
            row.iter().cloned().enumerate().map(|(place, slot)| (slot, place)).collect()
        });
        let lines = &self.lines;
        let mean = |slot: &Slot<'a>| {
            let (mut sum, mut count) = (0, 0);
            for pair in lines.iter().flat_map(|line| line.windows(2)) {
                let [upper, lower] = pair else { continue };
                let other = if upper == slot {
                    lower
                } else if lower == slot {
                    upper
                } else {
                    continue;
                };
                if let Some(place) = places.get(other) {
                    sum += place;
                    count += 1;
                }
            }
            // In 64ths, so that whole numbers will do; what touches nothing there stays in front.
            (sum * 64_usize).checked_div(count).unwrap_or(0)
        };
        let means: Vec<usize> = match self.rows.get(row) {
            Some(row) => row.iter().map(mean).collect(),
            None => return,
        };
        if let Some(row) = self.rows.get_mut(row) {
            let mut sorted: Vec<(usize, Slot<'a>)> = means.into_iter().zip(row.drain(..)).collect();
            sorted.sort_by_key(|(mean, _)| *mean);
            row.extend(sorted.into_iter().map(|(_, slot)| slot));
        }
    }
}

/// How many levels the stack needs.
pub(super) fn height(stack: &Stack<'_>) -> usize {
    levels(stack).into_values().max().map_or(0, |last| last + 1)
}

/// Each node as far down as the longest way from above leads.
fn levels<'a>(stack: &Stack<'a>) -> BTreeMap<&'a str, usize> {
    let nodes = stack.nodes();
    let mut level: BTreeMap<&str, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    // In this order all that stands on a node is placed before it.
    for node in nodes {
        let here = level.get(node).copied().unwrap_or(0);
        for lower in stack.below(node) {
            if let Some(place) = level.get_mut(lower) {
                *place = (*place).max(here + 1);
            }
        }
    }
    level
}
