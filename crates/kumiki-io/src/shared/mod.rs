//! Memory that two processes share, and rings of records in it.
//!
//! | read | for |
//! |---|---|
//! | [`Region`] | the memory: a file in memory that neither process can shorten |
//! | [`ring`] | one way through it: who sends and who receives |
//! | [`handover`] | how another process gets its descriptor |
//!
//! The other process may do anything to the memory at any time, for it may be broken or hostile. So whatever is read
//! there is read once, into memory of our own, before it is looked at; what does not belong there is an error
//! ([`Broken`]) that costs nobody else anything.

pub mod handover;
#[cfg(not(loom))]
mod region;
pub mod ring;

#[cfg(not(loom))]
pub use region::Region;
pub use ring::{Broken, Receiver, Record, Sender};
