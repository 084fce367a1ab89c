//! Kumiki: io.
