//! Stacks in real time, and those whose time and packets are their user's.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]
#![cfg(all(feature = "host", target_os = "linux"))]

mod blocking;
#[path = "host/dhcp.rs"]
mod dhcp;
#[path = "host/edges.rs"]
mod edges;
#[path = "host/ethernet.rs"]
mod ethernet;
#[path = "host/exchange.rs"]
mod exchange;
#[path = "host/faults.rs"]
mod faults;
#[path = "host/hostile.rs"]
mod hostile;
#[path = "host/icmp.rs"]
mod icmp;
#[path = "host/later.rs"]
mod later;
#[path = "host/lines.rs"]
mod lines;
#[path = "host/memory.rs"]
mod memory;
#[path = "host/own_loop.rs"]
mod own_loop;
#[path = "host/packets.rs"]
mod packets;
#[path = "host/queues.rs"]
mod queues;
#[cfg(feature = "quinn")]
#[path = "host/quic.rs"]
mod quic;
#[cfg(feature = "quinn")]
#[path = "../../../examples/shared/tls.rs"]
mod tls;
#[path = "host/tun.rs"]
mod tun;
#[path = "host/zoo.rs"]
mod zoo;
