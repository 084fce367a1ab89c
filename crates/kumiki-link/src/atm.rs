//! ATM: cells, their slots, adapters and switches.

mod checksum_unit;
mod line;
pub mod sar;
mod slots;

pub use checksum_unit::ChecksumUnit;
pub use sar::{Sar, SarConfig};
pub use slots::Slots;
