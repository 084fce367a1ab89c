//! The program of both versions of IP.
//!
//! | | |
//! |---|---|
//! | Specification | that of [`crate::ip`] and [`crate::ipv6`]; RFC 1812 sections 4.3.2.8 and 5.2.4.3 (rate of errors, longest prefix), RFC 815 (reassembly), RFC 5722 (overlapping fragments) |
//! | Above | users by protocol number, as [`crate::ip`] and [`crate::ipv6`] say |
//! | Below | one layer for each interface, as they say |
//! | Left out | all that depends on how addresses and headers look, and what only one version does: that is asked of a [`Family`] |
//!
//! | read | for |
//! |---|---|
//! | `node.rs` | [`Ip`], a node of the graph: interfaces, users, what both ask and report |
//! | `send.rs` | a user's unit becomes a datagram |
//! | `receive.rs` | a datagram is checked, and is ours, a fragment, or somebody else's, and is forwarded |
//! | `fragments.rs`, `reassembly.rs` | datagrams in pieces, and their holes |
//! | `errors.rs` | the errors of ICMP, both ways |
//! | `route.rs`, `static_routes.rs` | longest prefix match, routes of configurations |
//! | `assignment.rs` | addresses and routes that come and go |
//! | `config.rs`, `settings.rs` | what is wrong with configurations, and what settings say alike |
//! | `family.rs` | what differs, in one trait: words and numbers, addresses and ways, headers, fragments, ICMP |

mod assignment;
mod checksum;
mod config;
mod counters;
mod errors;
mod family;
mod fragments;
mod node;
mod real_host;
mod reassembly;
mod receive;
mod recent;
mod route;
mod send;
#[cfg(feature = "settings")]
pub(crate) mod settings;
mod static_routes;
#[cfg(test)]
mod tests;

pub(crate) use checksum::{complete_checksum, is_intact};
pub(crate) use config::{ConfigError, check_interfaces};
pub use counters::Counters;
pub(crate) use errors::{IcmpError, OriginalDatagram, reason_of};
pub(crate) use family::{Family, HeaderFields, Names};
pub(crate) use fragments::{FragmentKey, UNIT};
pub use kumiki_graph::Rate;
pub(crate) use node::{Ip, Port};
pub use reassembly::Reassembly;
pub(crate) use reassembly::{Fragment, Overlap};
#[cfg(test)]
pub(crate) use reassembly::{FragmentProgress, Table};
pub(crate) use recent::BareHeader;
pub(crate) use route::{Bits, Hop, Routes, mask};
pub(crate) use send::{LinkDestination, Outgoing, readdress};
pub(crate) use static_routes::{Route, RouteError, RouteTarget};
