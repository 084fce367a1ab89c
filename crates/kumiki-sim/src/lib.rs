//! Kumiki: sim.
