//! Kumiki: octets.

pub mod crc;
pub mod sum;

pub use sum::Sum;
