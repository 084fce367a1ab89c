//! FTAM: what ISODE sent is read and written again as it was, what is written is read, and tshark reads it as the same
//! thing.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod association;
mod data;
#[path = "../judge/mod.rs"]
mod judge;
mod made;
mod round_trip;
mod tshark;

/// Octets from hexadecimal digits; blanks do not matter.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap()).collect();
    digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect()
}
