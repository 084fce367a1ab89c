//! Packets as people and programs read them.

mod json;
mod lines;

pub use json::{json, json_unfinished};
pub use lines::{line, tree};
