//! Kumiki: lab.

pub mod figure;
pub mod progress;
pub mod quantity;
pub mod rows;
pub mod stats;
pub mod table;
