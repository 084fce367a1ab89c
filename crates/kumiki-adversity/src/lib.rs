//! Two hosts on an impaired link: seeded transfers over lines that lose, duplicate, reorder, delay and corrupt what
//! they carry, and judges of what becomes of them.
//!
//! | read | for |
//! |---|---|
//! | [`Case`] | what a seed decides |
//! | `user` | the programs, and what they look at |
//! | `path` | what lies between the hosts, third parties among it |
//! | `checker` | what an end with TCP may do on the wire, by the standard; the rule against stalls |
//! | `xtp` | the same for an end with XTP, by `docs/xtp.md` |
//! | `judge` | which endings a case allows, and what may be left |
//! | [`run()`], [`many()`] | one case; many of them on several threads |
//! | [`shrink()`] | a smaller case that fails in the same way |
//!
//! # What must hold
//!
//! Every octet is delivered intact and in order, or the connection ends at once for a reason that the case has: a
//! program that aborts, a peer that was cut off for longer than it waits. Both ends come to an end, and nothing is left
//! of the connection after TIME-WAIT: no session, no timer, no lease of memory. Neither end ever breaks a rule of the
//! checker. And it takes no more packets and no more time than octets, line and programs account for
//! (`judge::liveness`).

mod case;
mod checker;
mod judge;
mod many;
mod path;
mod run;
mod shrink;
mod tap;
mod user;
mod words;
mod xtp;

pub use case::{
    AbortTime, Case, ControlForgery, End, Finish, Flood, Line, Opening, Reading, Stack, Transport, Version, Writing,
};
pub use checker::Violation;
pub use many::{Summary, many, name};
pub use run::{CaseOutcome, Options, run};
pub use shrink::shrink;
pub use user::{ConnectionEnd, Report};
