//! ATM: cells, their slots, adapters and switches.

mod checksum_unit;
mod line;
pub mod sar;
mod slots;
mod switch;

pub use checksum_unit::ChecksumUnit;
pub use sar::{Sar, SarConfig};
pub use slots::Slots;
pub use switch::{CellCount, OutputConfig, PortVc, Switch};
