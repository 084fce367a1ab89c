//! ATM: cells, their slots, adapters and switches.

mod slots;

pub use slots::Slots;
