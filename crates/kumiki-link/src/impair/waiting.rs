//! Units that wait for their time, in its order, and how much they hold.

use std::collections::BTreeMap;

use kumiki_graph::Instant;

use crate::Unit;

/// When a unit leaves, and its place among those that leave at that time.
pub(super) type DepartureKey = (Instant, u64);

#[derive(Default)]
pub(super) struct DelayedUnits {
    units: BTreeMap<DepartureKey, Unit>,
    /// Of frames.
    octets: u64,
}

fn octets(unit: &Unit) -> u64 {
    match unit {
        Unit::Frame { data, .. } => data.len() as u64,
        Unit::Cells(_)
        | Unit::Cut { .. }
        | Unit::Sent { .. }
        | Unit::Arriving { .. }
        | Unit::Report(_)
        | Unit::Circuit(_) => 0,
    }
}

impl DelayedUnits {
    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) const fn octets(&self) -> u64 {
        self.octets
    }

    pub(super) fn insert(&mut self, due: DepartureKey, unit: Unit) {
        self.octets += octets(&unit);
        self.units.insert(due, unit);
    }

    pub(super) fn remove(&mut self, due: &DepartureKey) -> Option<Unit> {
        let unit = self.units.remove(due)?;
        self.octets = self.octets.saturating_sub(octets(&unit));
        Some(unit)
    }

    /// When the first one leaves.
    pub(super) fn first(&self) -> Option<Instant> {
        self.units.first_key_value().map(|((at, _), _)| *at)
    }

    /// The first one, where it leaves by `now`.
    pub(super) fn take_by(&mut self, now: Instant) -> Option<Unit> {
        let due = self.units.first_key_value().map(|(due, _)| *due).filter(|(at, _)| *at <= now)?;
        self.remove(&due)
    }

    pub(super) fn contains(&self, due: &DepartureKey) -> bool {
        self.units.contains_key(due)
    }

    /// A run of cells, to be made shorter.
    pub(super) fn cells_mut(&mut self, due: &DepartureKey) -> Option<&mut Unit> {
        self.units.get_mut(due)
    }
}
