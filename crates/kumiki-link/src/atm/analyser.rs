//! An ATM analyser: counts the cells that pass, by virtual channel, and when they did.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};

use super::PortVc;
use crate::{CellRun, Element, Outlet, Unit};

/// What has passed of one channel in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// Cells.
    pub cells: u64,
    /// Cells that end a CPCS-PDU of AAL5; those of AAL3/4 are not told from the others.
    pub pdus: u64,
    /// When the first cell had passed whole.
    pub first: Option<Instant>,
    /// When the last cell had passed whole, or will have: a run is counted when its first cell passes.
    pub last: Instant,
}

impl Flow {
    /// From the first cell to the last.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.last.saturating_since(first))
    }
}

/// The run that may still be cut.
#[derive(Debug)]
struct LastRun {
    first: Instant,
    /// Without its payload.
    run: CellRun,
}

/// Two ports; everything passes at once and unchanged, and is counted by the port it came by.
///
/// Counters, `a_` for cells from port 0 and `b_` for cells from port 1: `cells` and `pdus`.
#[derive(Debug, Default)]
pub struct Analyser {
    flows: BTreeMap<PortVc, Flow>,
    last: [Option<LastRun>; 2],
}

impl Analyser {
    /// An analyser that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What has passed, by the port it came by and its channel.
    pub fn flows(&self) -> impl Iterator<Item = (PortVc, Flow)> {
        self.flows.iter().map(|(vc, flow)| (*vc, *flow))
    }

    /// What has passed of one channel.
    #[must_use]
    pub fn flow(&self, vc: PortVc) -> Flow {
        self.flows.get(&vc).copied().unwrap_or_default()
    }

    fn cells(&mut self, now: Instant, port: usize, run: &CellRun) {
        let (vpi, vci) = (run.vpi, run.vci);
        let flow = self.flows.entry(PortVc { port, vpi, vci }).or_default();
        flow.cells += u64::from(run.count);
        flow.pdus += u64::from(run.ends_pdu);
        flow.first.get_or_insert(now);
        flow.last = run.end(now);
        if let Some(last) = self.last.get_mut(port) {
            *last = Some(LastRun { first: now, run: CellRun { payload: kumiki_octets::Message::new(), ..*run } });
        }
    }

    fn cut(&mut self, port: usize, id: u64, keep: u32) {
        let Some(Some(LastRun { first, run })) = self.last.get_mut(port) else {
            return;
        };
        if run.id != id || keep >= run.count {
            return;
        }
        let (vpi, vci) = (run.vpi, run.vci);
        if let Some(flow) = self.flows.get_mut(&PortVc { port, vpi, vci }) {
            flow.cells -= u64::from(run.count - keep);
            flow.pdus -= u64::from(run.ends_pdu);
            run.truncate(keep);
            flow.last = run.end(*first);
        }
    }
}

impl Element for Analyser {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        match &unit {
            Unit::Cells(run) => self.cells(now, port, run),
            Unit::Cut { id, keep } => self.cut(port, *id, *keep),
            Unit::Frame { .. } | Unit::Sent { .. } | Unit::Arriving { .. } | Unit::Report(_) | Unit::Circuit(_) => {}
        }
        out.put(usize::from(port == 0), unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self, _now: Instant, _out: &mut Outlet) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let over = |port, count: fn(&Flow) -> u64| {
            self.flows.iter().filter(|(vc, _)| vc.port == port).map(|(_, flow)| count(flow)).sum()
        };
        vec![
            ("a_cells", over(0, |flow| flow.cells)),
            ("a_pdus", over(0, |flow| flow.pdus)),
            ("b_cells", over(1, |flow| flow.cells)),
            ("b_pdus", over(1, |flow| flow.pdus)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use kumiki_octets::Message;

    use super::*;
    use crate::Rate;
    use crate::atm::Slots;

    #[test]
    fn cells_are_counted_less_those_that_do_not_come() {
        let slots = Slots::new(Rate::OC3C);
        let mut analyser = Analyser::new();
        let mut out = Outlet::default();
        let run = |id, slot, count| {
            Unit::Cells(CellRun {
                id,
                vpi: 0,
                vci: 100,
                clp: false,
                efci: false,
                payload: Message::new(),
                count,
                ends_pdu: true,
                rm: false,
                line: slots,
                slot,
            })
        };
        analyser.offer(slots.at(1), 0, run(1, 0, 172), &mut out);
        analyser.offer(slots.at(173), 0, run(2, 172, 172), &mut out);
        analyser.offer(slots.at(174), 0, Unit::Cut { id: 2, keep: 3 }, &mut out);
        let (port, vpi, vci) = (0, 0, 100);
        let flow = analyser.flow(PortVc { port, vpi, vci });
        assert_eq!((flow.cells, flow.pdus), (175, 1));
        assert_eq!((flow.first, flow.last), (Some(slots.at(1)), slots.at(175)));
        let ports: Vec<_> = out.drain().map(|(port, _)| port).collect();
        assert_eq!(ports, [1, 1, 1]);
        assert_eq!(analyser.counters()[0], ("a_cells", 175));
    }
}
