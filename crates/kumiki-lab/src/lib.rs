//! Kumiki: lab.
