//! Kumiki: lab.

pub mod quantity;
