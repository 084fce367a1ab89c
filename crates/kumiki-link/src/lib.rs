//! Emulated media: whatever stands between two hosts, in virtual time.
//!
//! Everything is an [`Element`] with numbered ports: a line, a switch, the segmentation hardware of an adapter. The
//! executor wires ports together, arms one event per element ([`Element::next_deadline`]) and calls [`Element::poll`]
//! when it is due. Impairments are elements put in the way ([`Impaired`]). What a network card does for TCP, whatever
//! the medium, is [`offload`].

pub mod atm;
mod circuit;
mod element;
pub mod ethernet;
#[cfg(feature = "ppp")]
mod exchange;
pub mod fddi;
mod flow;
mod impair;
mod mark;
mod occupancy;
pub mod offload;
mod queue;
mod rate;
#[cfg(feature = "serial")]
mod serial;
mod shared;
#[cfg(feature = "serial")]
pub mod sonet;
#[cfg(feature = "serial")]
mod stepped;
#[cfg(test)]
mod testing;
mod wire;

pub use circuit::{CircuitManage, CircuitReport, Cleared};
pub use element::{BusyWatch, CellRun, Counts, Element, Outlet, Unit};
#[cfg(feature = "ppp")]
pub use exchange::{Exchange, ExchangeConfig, ExchangeError};
pub use flow::{Flow, FlowKeys, FragmentKeys, flow_hash};
pub use impair::{Hold, Impaired, Impairment, Loss, Spread};
pub use kumiki_wire::atm::cell::rm::CellRate;
pub use mark::mark;
pub use occupancy::Occupancy;
pub use queue::{
    Backlog, Codel, CodelConfig, Counter, Discipline, DropTail, Fifo, FqCodel, FqCodelConfig, Ledger, MarkFrom, Pie,
    PieConfig, QueuedFrame,
};
pub use rate::Rate;
#[cfg(feature = "serial")]
pub use serial::{Carrier, LineEnd, Opportunities, OpportunityError, Serial, SerialConfig};
pub use shared::Shared;
#[cfg(feature = "serial")]
pub use stepped::{Changing, LineChange, Stepped};
pub use wire::Wire;
