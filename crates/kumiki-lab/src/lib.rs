//! Kumiki: lab.

pub mod quantity;
pub mod stats;
