//! noq over the sockets, in virtual time.
#![allow(clippy::unwrap_used, missing_docs)]

use kumiki_net::noq as ours;
use noq as library;
use noq::{Connection, PathId};

#[path = "quic/mod.rs"]
mod quic;
#[path = "../../../examples/shared/tls.rs"]
mod tls;

/// How many packets have not come.
fn lost(connection: &Connection) -> u64 {
    connection.stats().lost_packets
}

/// How long datagrams are at most.
fn mtu(connection: &Connection) -> u16 {
    connection.path_stats(PathId::ZERO).unwrap().current_mtu
}
