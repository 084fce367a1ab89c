//! Kumiki: octets.
