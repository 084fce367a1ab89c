//! Kumiki: link.
