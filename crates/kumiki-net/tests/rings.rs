//! A stack in a process of its own, and programs attached to it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]
#![cfg(all(feature = "host", target_os = "linux"))]

#[path = "rings/bench.rs"]
mod bench;
#[path = "rings/processes.rs"]
mod processes;
#[path = "rings/sockets.rs"]
mod sockets;
