//! A network in virtual time, on which tokio tasks run.
//!
//! A [`Net`] has [hosts](Host), each with a whole TCP/IP of its own, and between them [links](Link) that delay, lose
//! and reorder as they are told. Programs are tokio tasks on a host: sockets that they make are that host's. One thread
//! runs it all, in virtual time: an hour that nothing happens in takes microseconds, and the same seed gives the same
//! packets at the same nanoseconds.
//!
//! A network of routers, switches and lines may stand [between](Net::with) the hosts; the crate `kumiki-testbed` takes
//! one from a scenario of Kumiki's laboratory.
//!
//! # Time
//!
//! All packets travel by the network's clock, which counts nanoseconds. tokio's own timers (`tokio::time::sleep`,
//! `timeout`, `interval`) are virtual too, but expire on whole milliseconds since the run began, rounded up, as tokio
//! has them: a sleep of 100 microseconds takes a millisecond. Those of [`time`] are exact.
//!
//! # Tasks that others start
//!
//! A task of [`spawn`] is on the host of whoever started it, and so is one of [`Host::spawn`] and [`Host::start`]. A
//! library that calls `tokio::spawn` cannot say so. Sockets that its task was given are what they were; but to make new
//! ones it has to know its host:
//!
//! - where there is one host, [`Host::enter`] it around the run, and every task is on it;
//! - where there are several, let the library start its tasks by way of something that calls [`spawn`] (most have such
//!   a setting: hyper's `Executor`, tonic's `serve_with_incoming`), or take [`Stack::current`](crate::Stack::current)
//!   before, and enter that in the task.
//!
//! A task that is on no host is told so when it makes a socket (`Unsupported`).
//!
//! # What would make two runs differ
//!
//! Nothing of this library's. A program differs where it takes from elsewhere what differs:
//!
//! - `std::time::Instant` and `SystemTime` go on in real time: use `tokio::time::Instant`;
//! - the order of a `HashMap` with std's hasher, which is seeded by thread and process;
//! - random numbers of the operating system (`rand::rng()`, `getrandom`; rustls and QUIC draw keys and connection
//!   numbers there);
//! - `tokio::select!` without `biased;`, which begins at a random branch (with `--cfg tokio_unstable` the
//!   [seed](Net::new) decides that too);
//! - threads, `spawn_blocking`, real files and sockets; addresses of memory as an order.
//!
//! [`Net::digest`] is a number of all that was sent, and when: two runs that give the same one were the same on the
//! network.

mod bell;
#[cfg(feature = "capture")]
mod capture;
mod driver;
mod host;
mod link;
mod moving;
mod named;
mod net;
mod netstat;
mod network_model;
mod outcome;
mod plan;
mod rules;
mod seeds;
mod sim_network;
mod skew;
mod task;
pub mod time;
#[cfg(feature = "turmoil")]
pub mod turmoil;

pub use host::{Host, HostGuard};
pub use kumiki_graph::Rng;
pub use link::Link;
pub use named::ToHosts;
pub use net::{Net, SimError};
pub use netstat::{Netstat, NetstatEntry, Transport};
pub use network_model::{HostBetween, NetworkModel};
pub use outcome::Outcome;
pub use rules::{Packet, Payload, Rule, RuleGuard, TcpFlags, TcpSegment, UdpDatagram, Verdict};
pub use seeds::{for_seeds, for_seeds_with};
pub use task::spawn;
