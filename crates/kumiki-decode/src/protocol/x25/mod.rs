//! X.25.

pub(in crate::protocol) mod lapb;
#[expect(clippy::module_inception, reason = "the family has the name of its protocol")]
pub(in crate::protocol) mod x25;
pub(in crate::protocol) mod x29;
pub(in crate::protocol) mod xot;
