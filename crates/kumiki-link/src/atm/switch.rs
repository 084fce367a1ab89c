//! An ATM switch with queues at its outputs.
//!
//! | | |
//! |---|---|
//! | Model | a cell that has arrived whole joins its output's queue a fixed time later and takes that output's next free slot; of the cells that come within a slot each input's is taken in turn |
//! | Connections | permanent, point to point or to several points |
//! | Early and partial packet discard | Romanow and Floyd, "Dynamics of TCP traffic over ATM networks" (1995) |
//! | Available bit rate | marks of congestion in cells of data (EFCI) and in RM cells, explicit rates: [`Feedback`] |
//! | Left out | priorities and cell loss priority, shared memory, signalling, policing |
//!
//! Runs stay runs where one input feeds an output; where several contend, cells are merged one by one in the order of
//! their arrival. Either way the result is that of single cells.

mod feedback;
mod output;

use std::borrow::Cow;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::atm::cell::rm::Rm;

use super::Slots;
use crate::{CellRun, Counts, Element, Occupancy, Outlet, Unit};
pub use feedback::{Erica, Feedback};
use output::{Output, Source};

/// A channel at a port of a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortVc {
    /// The port.
    pub port: usize,
    /// Virtual path identifier, 0 to 4095.
    pub vpi: u16,
    /// Virtual channel identifier.
    pub vci: u16,
}

/// What an output of a [`Switch`] is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputConfig {
    /// The line it sends on.
    pub slots: Slots,
    /// How many cells may wait for their slot to begin. One whose slot begins at the very instant still waits.
    pub queue: u64,
    /// From how many waiting cells on a cell is marked with EFCI.
    pub efci: Option<u64>,
    /// Early packet discard: from how many waiting cells on no new PDU is let in.
    pub epd: Option<u64>,
    /// Partial packet discard: after a lost cell the rest of its PDU is dropped, the last cell excepted, which tells
    /// the receiver where the next PDU begins.
    pub ppd: bool,
    /// What sources of ABR are told. Such an output looks at every cell for itself.
    pub feedback: Option<Feedback>,
    /// Whether is followed how long the queue is ([`Element::queues`]): then too every cell is looked at for itself.
    pub follow: bool,
    /// The most cells in a run: 1 gives every cell an event of its own, to the same effect.
    pub max_run: u32,
}

impl OutputConfig {
    /// A plain queue of `queue` cells before `slots`.
    #[must_use]
    pub const fn new(slots: Slots, queue: u64) -> Self {
        Self { slots, queue, efci: None, epd: None, ppd: false, feedback: None, follow: false, max_run: u32::MAX }
    }
}

/// Cells of one channel at one output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellCount {
    /// Given a slot.
    pub passed: u64,
    /// Dropped because the queue was full.
    pub overflow: u64,
    /// Dropped with the PDU they belong to, because the queue was long when it began.
    pub epd: u64,
    /// Dropped because their PDU had lost a cell.
    pub ppd: u64,
}

impl core::ops::AddAssign for CellCount {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.overflow += other.overflow;
        self.epd += other.epd;
        self.ppd += other.ppd;
    }
}

/// Where the cells of an incoming channel go.
#[derive(Debug, Default)]
struct Connection {
    /// Output port, and the channel's place there.
    branches: Vec<(usize, usize)>,
    cells: u64,
}

/// The run that came last by a port: the only one that can still be cut.
#[derive(Clone, Copy, Debug)]
struct LastRun {
    id: u64,
    count: u32,
    from: PortVc,
}

/// A switch: any number of ports, each an input and an output.
///
/// Counters, over all ports: `cells_in`, `cells_out`, `unknown` (of no connection), `overflow`, `epd`, `ppd`, `efci`
/// marked and `strangers`, units that are no cells. A cell sent to several points counts at each. Cells count as in or
/// out when the run that promises them is handled. Where sources of ABR are told something also `rm`, RM cells that
/// came, and `rm_marked`, those that say something else than before when they leave. Of each port that a channel leads
/// to: `cells_out`, `drops` (the sum of the next three), `overflow`, `epd`, `ppd`, `efci`, and `busy_ns`, how long its
/// slots took in which a cell went.
pub struct Switch {
    latency: Duration,
    outputs: Vec<Output>,
    table: BTreeMap<PortVc, Connection>,
    last: Vec<Option<LastRun>>,
    cells_in: Vec<u64>,
    unknown: u64,
    strangers: u64,
    rm: u64,
    rm_marked: u64,
    deadline: Option<Instant>,
}

impl Switch {
    /// A switch with one port per element of `outputs`, that takes `latency` from a cell's last bit to its output's
    /// queue.
    #[must_use]
    pub fn new(latency: Duration, outputs: &[OutputConfig]) -> Self {
        Self {
            latency,
            outputs: outputs.iter().enumerate().map(|(port, config)| Output::new(port, *config)).collect(),
            table: BTreeMap::new(),
            last: vec![None; outputs.len()],
            cells_in: vec![0; outputs.len()],
            unknown: 0,
            strangers: 0,
            rm: 0,
            rm_marked: 0,
            deadline: None,
        }
    }

    /// Sends the cells that come as `from` out as `to`. A channel connected twice goes to both. False where there is no
    /// such port.
    pub fn connect(&mut self, from: PortVc, to: PortVc) -> bool {
        let Some(output) = self.outputs.get_mut(to.port) else {
            return false;
        };
        if from.port >= self.last.len() {
            return false;
        }
        let branch = output.add_branch(to);
        let connection = self.table.entry(from).or_default();
        connection.branches.push((to.port, branch));
        true
    }

    /// As [`Switch::connect`], in both directions.
    pub fn connect_both(&mut self, a: PortVc, b: PortVc) -> bool {
        self.connect(a, b) && self.connect(b, a)
    }

    /// Cells that have come by each connected channel.
    pub fn cells_in(&self) -> impl Iterator<Item = (PortVc, u64)> {
        self.table.iter().map(|(from, connection)| (*from, connection.cells))
    }

    /// What became of the cells of each outgoing channel, in the order of being connected at each port.
    pub fn cells_out(&self) -> impl Iterator<Item = (PortVc, CellCount)> {
        self.outputs.iter().flat_map(Output::branches)
    }

    /// Cells that have come by `port`, those of no connection included.
    #[must_use]
    pub fn port_cells_in(&self, port: usize) -> u64 {
        self.cells_in.get(port).copied().unwrap_or(0)
    }

    fn cells(&mut self, now: Instant, port: usize, mut run: CellRun, out: &mut Outlet) {
        let from = PortVc { port, vpi: run.vpi, vci: run.vci };
        let (Some(last), Some(cells_in)) = (self.last.get_mut(port), self.cells_in.get_mut(port)) else {
            self.strangers += 1;
            return;
        };
        *last = Some(LastRun { id: run.id, count: run.count, from });
        *cells_in += u64::from(run.count);
        if run.rm {
            self.mark(now, from, &mut run);
        }
        let Some(connection) = self.table.get_mut(&from) else {
            self.unknown += u64::from(run.count);
            return;
        };
        connection.cells += u64::from(run.count);
        let joins = now + self.latency;
        let Some((to_last, others)) = connection.branches.split_last() else {
            return;
        };
        for &(to, branch) in others {
            if let Some(output) = self.outputs.get_mut(to) {
                output.offer(joins, Source::new(port, branch, joins, run.clone()), out);
            }
        }
        let &(to, branch) = to_last;
        if let Some(output) = self.outputs.get_mut(to) {
            output.offer(joins, Source::new(port, branch, joins, run), out);
        }
    }

    /// Writes into an RM cell that goes back to a source what the output has to say that sends the cells of that
    /// source: it is at the port by which this one came.
    fn mark(&mut self, now: Instant, from: PortVc, run: &mut CellRun) {
        self.rm += 1;
        let Some(mut rm) = rm_of(run).filter(|rm| rm.backward) else {
            return;
        };
        let before = rm;
        if let Some(output) = self.outputs.get_mut(from.port) {
            output.tell(now + self.latency, from, &mut rm);
        }
        if rm != before {
            run.payload = Message::from_octets(&rm.octets());
            self.rm_marked += 1;
        }
    }

    fn cut(&mut self, now: Instant, port: usize, id: u64, keep: u32, out: &mut Outlet) {
        let Some(Some(last)) = self.last.get_mut(port) else {
            return;
        };
        if last.id != id || keep >= last.count {
            return;
        }
        let gone = u64::from(last.count - keep);
        last.count = keep;
        if let Some(cells_in) = self.cells_in.get_mut(port) {
            *cells_in -= gone;
        }
        let Some(connection) = self.table.get_mut(&last.from) else {
            self.unknown -= gone;
            return;
        };
        connection.cells -= gone;
        for &(to, branch) in &connection.branches {
            if let Some(output) = self.outputs.get_mut(to) {
                output.cut(now + self.latency, (port, branch, id), keep, out);
            }
        }
    }

    fn arm(&mut self) {
        self.deadline = self.outputs.iter().filter_map(Output::next_deadline).min();
    }
}

impl Element for Switch {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        match unit {
            Unit::Cells(run) if run.count > 0 => self.cells(now, port, run, out),
            Unit::Cut { id, keep } => self.cut(now, port, id, keep, out),
            Unit::Cells(_)
            | Unit::Frame { .. }
            | Unit::Sent { .. }
            | Unit::Arriving { .. }
            | Unit::Report(_)
            | Unit::Circuit(_) => {
                self.strangers += 1;
            }
        }
        self.arm();
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        for output in &mut self.outputs {
            if output.next_deadline().is_some_and(|at| at <= now) {
                output.poll(now, now + self.latency, out);
            }
        }
        self.arm();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = CellCount::default();
        let mut efci = 0;
        for output in &self.outputs {
            efci += output.efci_marked();
            for (_, count) in output.branches() {
                all += count;
            }
        }
        let mut counters = vec![
            ("cells_in", self.cells_in.iter().sum()),
            ("cells_out", all.passed),
            ("unknown", self.unknown),
            ("overflow", all.overflow),
            ("epd", all.epd),
            ("ppd", all.ppd),
            ("efci", efci),
            ("strangers", self.strangers),
        ];
        if self.outputs.iter().any(Output::tells) {
            counters.extend([("rm", self.rm), ("rm_marked", self.rm_marked)]);
        }
        counters
    }

    fn port_counters(&self) -> Vec<(Cow<'static, str>, Counts)> {
        let outputs = self.outputs.iter().enumerate();
        outputs.filter_map(|(port, it)| Some((port.to_string().into(), it.counters()?))).collect()
    }

    /// Cells wait here, and of which PDU they are it does not know.
    fn waiting(&self, _: Instant) -> u64 {
        0
    }

    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        let outputs = self.outputs.iter().enumerate();
        outputs.filter_map(|(port, it)| Some((port.to_string().into(), it.occupancy(now)?))).collect()
    }
}

/// What is in an RM cell, if it is whole.
fn rm_of(run: &CellRun) -> Option<Rm> {
    run.payload.to_vec().first_chunk().and_then(|payload| Rm::parse(payload).ok())
}

#[cfg(test)]
mod tests;
