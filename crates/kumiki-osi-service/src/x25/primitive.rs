//! What the packet layer's service has and no other.

use kumiki_octets::{Message, Payload};

use super::PacketCause;

/// Data with the bits of its own packets, and the confirmation of its delivery. Plain data, with neither bit, is a
/// primitive that all services have.
#[derive(Clone, Debug)]
pub enum Primitive {
    /// Data, which takes credit as plain data does.
    Data {
        /// The data.
        data: Message,
        /// The message ends here (M bit not set).
        end: bool,
        /// The Q bit: of the same value in all packets of a message.
        qualified: bool,
        /// The D bit: the peer is to confirm that it was delivered. Where the message does not end here, the packet
        /// with it does all the same: it may be less than full.
        delivery: bool,
    },
    /// Of a relayed call ([`Call::relayed`](super::Call::relayed)): the interrupt was confirmed, or is to be.
    InterruptConfirm,
    /// The user will answer the offer of this call later, and goes by this handle (index and generation) already: so it
    /// hears when the caller gives up. A request only.
    Claim {
        /// The user's handle.
        user: (u32, u32),
    },
    /// The user takes back a call of its own that is not answered, as a cancelling does, and says why. A request only,
    /// of no session.
    TakeBack {
        /// The user's handle.
        user: (u32, u32),
        /// What the CLEAR says.
        why: PacketCause,
        /// Its user data, where fast select allows that.
        data: Option<Message>,
    },
    /// The user has taken what was marked with the D bit, or the peer's user has: so many packets of it, in their
    /// order.
    Confirm {
        /// How many.
        packets: u32,
    },
}

impl Payload for Primitive {
    fn payload(&self) -> Option<&Message> {
        match self {
            Self::Data { data, .. } => Some(data),
            Self::TakeBack { data, .. } => data.as_ref(),
            Self::Confirm { .. } | Self::InterruptConfirm | Self::Claim { .. } => None,
        }
    }
}
