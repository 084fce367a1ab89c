//! Kumiki: wire.
