//! Kumiki: io.

pub mod pcapng;
