//! What stands between sockets and the layers: the node that is their user, and the table in which both write.
//!
//! Whoever has a socket works on the [`Table`] under its lock, and leaves there what is to go down. The host's driver
//! lets the node take that ([`Node`]), which in turn writes what comes up into the table and wakes who waits for it.

mod answer;
mod callers;
mod datagrams;
pub(crate) mod error;
mod gateway;
#[cfg(all(feature = "host", target_os = "linux"))]
mod guests;
mod listener;
mod node;
mod ports;
mod stream;
mod table;
mod udp;
mod wakers;
mod ways;

pub(crate) use answer::{Answer, Unreachable};
pub(crate) use datagrams::{Arrived, Datagrams};
#[cfg(all(feature = "host", target_os = "linux"))]
pub(crate) use guests::{CommandError, Lookup, Share};
pub(crate) use listener::Listener;
pub(crate) use node::Node;
pub(crate) use ports::{Bound, Terms};
#[cfg(all(feature = "host", target_os = "linux"))]
pub(crate) use ports::{Ports, Registry};
pub(crate) use stream::{Effects, Phase, Stream};
pub use table::SocketCounts;
pub(crate) use table::{Layers, Socket, Table, reached, unmapped};
pub(crate) use wakers::WakeList;
#[cfg(any(feature = "sim", feature = "host"))]
pub(crate) use ways::OwnLine;
