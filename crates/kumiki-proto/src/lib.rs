//! Kumiki: proto.
