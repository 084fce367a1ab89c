//! What every piece of a medium is to the executor, and what crosses its ports.

use kumiki_graph::{Address, Instant};
use kumiki_octets::Message;

/// What crosses a port.
#[derive(Clone, Debug)]
pub enum Unit {
    /// A whole frame or AAL5 CPCS-PDU. It is said to cross when its last bit does.
    Frame {
        /// The octets.
        data: Message,
        /// The ATM virtual channel or MAC address it goes to, where the medium needs one.
        address: Address,
    },
    /// Only upwards, to the host that offered a frame: its last bit has left, and the next one may come.
    Sent {
        /// The address that the frame had.
        address: Address,
    },
    /// ATM cells in consecutive slots.
    Cells(CellRun),
    /// The cells of the run `id` from number `keep` of that run on will not come after all: something took their slots.
    /// Says so before the first of them would have arrived.
    Cut {
        /// [`CellRun::id`].
        id: u64,
        /// How many cells of the run do come.
        keep: u32,
    },
}

/// Cells of one AAL5 CPCS-PDU in consecutive slots of a line; it is said to cross when its *first* cell has arrived whole.
///
/// One event stands for up to a PDU's worth of cells. Cell `k` of the run arrives `k` slots after the first.
#[derive(Clone, Debug)]
pub struct CellRun {
    /// Names the run on this line, for [`Unit::Cut`].
    pub id: u64,
    /// Virtual path identifier, 0 to 4095.
    pub vpi: u16,
    /// Virtual channel identifier.
    pub vci: u16,
    /// Cell loss priority.
    pub clp: bool,
    /// Explicit forward congestion indication.
    pub efci: bool,
    /// The payload of the cells, `48 * count` octets.
    pub payload: Message,
    /// How many cells.
    pub count: u32,
    /// Whether the last cell of the run ends a CPCS-PDU (PTI bit 0).
    pub ends_pdu: bool,
    /// The slot of the first cell, counted by the line that sends it; see `atm::Slots` for its time.
    pub slot: u64,
}

/// Where an element puts what leaves it at the present moment.
#[derive(Debug, Default)]
pub struct Outlet(Vec<(usize, Unit)>);

impl Outlet {
    /// Lets `unit` leave by `port` at once.
    pub fn put(&mut self, port: usize, unit: Unit) {
        self.0.push((port, unit));
    }

    /// Takes all that has left, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = (usize, Unit)> + '_ {
        self.0.drain(..)
    }

    /// Whether nothing has left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A piece of a medium.
///
/// Times given to one element never go back. After every call the executor asks for the next deadline anew.
pub trait Element: Send {
    /// `unit` arrives at `port`.
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet);

    /// When the element next has something to do by itself.
    fn next_deadline(&self) -> Option<Instant>;

    /// The deadline has come.
    fn poll(&mut self, now: Instant, out: &mut Outlet);

    /// Counters for results, as (name, count), in a fixed order.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
