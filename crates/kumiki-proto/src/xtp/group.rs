//! Multicast: who takes part, and how far each has come.

use core::net::SocketAddr;

use super::context::{Endpoint, Io};

/// A context's part in a group.
#[derive(Debug)]
pub(crate) enum Group {
    /// It sends.
    Sender,
    /// It receives what is sent to this address.
    Receiver(SocketAddr),
}

impl Group {
    pub(crate) const fn sender() -> Self {
        Self::Sender
    }

    pub(crate) const fn receiver(address: SocketAddr) -> Self {
        Self::Receiver(address)
    }

    pub(crate) const fn is_sender(&self) -> bool {
        matches!(self, Self::Sender)
    }

    /// The group that a receiver listens to.
    pub(crate) const fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Sender => None,
            Self::Receiver(address) => Some(*address),
        }
    }
}

impl Endpoint {
    pub(crate) fn group_wait_expired(&mut self, _io: &mut Io<'_, '_>) -> bool {
        false
    }
}
