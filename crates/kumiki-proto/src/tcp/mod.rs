//! TCP: RFC 9293 and what it refers to.

pub mod congestion;
pub mod reassembly;
pub mod rtt;
pub mod scoreboard;
