//! quinn over the sockets, in virtual time.
#![allow(clippy::unwrap_used, missing_docs)]

use kumiki_net::quinn as ours;
use quinn as library;
use quinn::Connection;

#[path = "quic/mod.rs"]
mod quic;
#[path = "../../../examples/shared/tls.rs"]
mod tls;

/// How many packets have not come.
fn lost(connection: &Connection) -> u64 {
    connection.stats().path.lost_packets
}

/// How long datagrams are at most.
fn mtu(connection: &Connection) -> u16 {
    connection.stats().path.current_mtu
}
