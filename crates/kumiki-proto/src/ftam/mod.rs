//! The file protocol machine of FTAM: so far, what F-INITIALIZE agrees on, and which FPDU is allowed when.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 8571-4: regimes, bulk transfer, grouping (recalled; checked against what ISODE's two sides do) |
//! | Above | a user of the file service: a client, or a filestore |
//! | Below | [`kumiki_osi::acse`], the presentation service |
//! | Left out | a node of the graph; timers; what is asked for again after a break (F-RECOVER only leads to an open file); overlapping transfers; two F-RESTARTs that meet; FPDUs 45 to 72 |
//!
//! Both ends see the same FPDUs, though not in the same order where they cross; so one table, [`states`], serves both.

pub mod negotiation;
pub mod states;
#[cfg(test)]
mod tests;

pub use negotiation::{Capabilities, objection};
pub use states::{Machine, Side, State, Step, Wrong};
