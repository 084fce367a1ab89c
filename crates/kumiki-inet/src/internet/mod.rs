//! What the two versions of IP have in common.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1812 sections 4.3.2.8 and 5.2.4.3 (rate of errors, longest prefix), RFC 815 (reassembly), RFC 5722 (overlapping fragments) |
//! | Above | [`crate::ip`], [`crate::ipv6`] |
//! | Below | nothing: there is no node here |
//! | Left out | all that hangs on how headers look |

mod checksum;
mod handed;
mod reassembly;
mod route;
pub(crate) mod settings;
mod static_routes;
#[cfg(test)]
mod tests;

pub(crate) use checksum::{complete_checksum, is_intact};
pub(crate) use handed::readdress;
pub(crate) use kumiki_graph::Bucket;
pub use kumiki_graph::Rate;
pub use reassembly::Reassembly;
pub(crate) use reassembly::{Fragment, Outcome, Overlap, Table};
pub(crate) use route::{Hop, Routes, mask};
pub(crate) use static_routes::{Route, RouteError, Via, names};
