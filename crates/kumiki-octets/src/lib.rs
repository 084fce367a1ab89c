//! Kumiki: octets.

pub mod crc;
pub mod pattern;
pub mod sum;

pub use pattern::Pattern;
pub use sum::Sum;
