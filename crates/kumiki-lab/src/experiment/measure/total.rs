//! The figures of all loads together.

use std::collections::BTreeMap;

use super::LoadResult;
use crate::experiment::flows::jain;
use crate::experiment::load::{Kind, Load};

impl LoadResult {
    /// Of all `loads` together.
    pub(super) fn total(loads: &BTreeMap<String, Self>) -> Self {
        let mut all = Self::default();
        for load in loads.values() {
            all.goodput_mbps += load.goodput_mbps;
            all.time = all.time.max(load.time);
            all.part = load.part.filter(|_| loads.len() == 1);
            if loads.len() == 1 {
                all.stood.clone_from(&load.stood);
                (all.began, all.has_end) = (load.began, load.has_end);
            }
            all.cpu.clone_from(&load.cpu);
            all.flows.extend(load.flows.iter().cloned());
            for (host, waited) in &load.waited {
                *all.waited.entry(host.clone()).or_default() += waited;
            }
            all.page_waits += load.page_waits;
            all.stopped += load.stopped;
            all.unfinished += load.unfinished;
            all.unbegun += load.unbegun;
            all.wrong = all.wrong.or(load.wrong);
            all.failure = all.failure.or_else(|| load.failure.clone());
            all.unconnected = all.unconnected.or_else(|| load.unconnected.clone());
            if let Some(units) = load.units {
                *all.units.get_or_insert_default() += units;
            }
            all.in_flight += load.in_flight;
            all.lost_by_outages |= load.lost_by_outages;
            all.lost_in_queues |= load.lost_in_queues;
            if let Some(echoes) = load.echoes {
                *all.echoes.get_or_insert_default() += echoes;
            }
            if let Some(round_trips) = &load.round_trips {
                match &mut all.round_trips {
                    Some(others) => others.add(round_trips),
                    None => all.round_trips = Some(round_trips.clone()),
                }
            }
        }
        let least = |of: fn(&Self) -> f64| loads.values().map(of).reduce(f64::min).unwrap_or(0.0);
        (all.line, all.without_power) = (least(|load| load.line), least(|load| load.without_power));
        all.jain = jain(&all.flows);
        if all.flows.iter().any(|flow| flow.sender.is_some()) {
            all.round_trips = None;
        }
        all
    }
}

/// Whether what `loads` bring is not alike: a call and a transfer share nothing, nor do two of which only one has an
/// end. Echoes bring nothing.
pub(in crate::experiment) fn is_mixed(loads: &BTreeMap<String, Load>) -> bool {
    let mut kinds = loads.values().filter(|load| load.kind != Kind::Ping).map(|load| (load.kind, load.until_done));
    let first = kinds.next();
    kinds.any(|kind| Some(kind) != first)
}
