//! Kumiki: octets.

pub mod sum;

pub use sum::Sum;
