//! Protocol state machines, one folder per protocol.

pub mod tcp;
