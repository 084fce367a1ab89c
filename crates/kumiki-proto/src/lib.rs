//! Kumiki: proto.

pub mod tcp;
