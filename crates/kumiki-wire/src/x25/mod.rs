//! X.25: LAPB, packets, X.29, and XOT.

pub mod lapb;
#[expect(clippy::module_inception, reason = "the family has the name of its protocol")]
pub mod x25;
pub mod x29;
pub mod xot;
