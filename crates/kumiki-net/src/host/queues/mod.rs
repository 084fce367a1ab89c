//! A host on several cores: as many stacks, each with a queue of the device and a thread of its own.
//!
//! | | |
//! |---|---|
//! | Whose a packet is | [`Owner`]: a function of its addresses and ports alone, and of which UDP ports are bound |
//! | What came by another's queue | [`Edge`] hands it over by a [`Mailbox`] before any layer sees it |
//! | Fragments | [`Fragments`]: what has no ports goes where the first fragment does |
//! | Left out | Ethernet |
//!
//! Nothing that a packet passes is locked, and no stack knows the connections of another. That holds because each
//! packet has one owner whatever has happened before: two stacks can never have a connection between the same ends, and
//! nothing must be looked up, told or forgotten when a connection begins or ends. The kernel sends a flow to the queue
//! from which it was last written, so all but the first packets come where they belong; it forgets a flow that was
//! silent for three seconds, and then the first one may take the other way again.

mod edge;
mod fragments;
mod mailbox;
mod owner;
mod ports;

pub(super) use edge::Edge;
pub(super) use mailbox::Mailbox;
pub(super) use owner::Owner;
pub(super) use ports::{BoundPorts, PortsOfAll};

#[cfg(test)]
mod tests;
