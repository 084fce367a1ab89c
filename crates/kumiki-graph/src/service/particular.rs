//! Primitives that one service has and no other.

use kumiki_octets::Message;
use kumiki_osi_service::{ftam, mms, session, x25};

use super::Identification;

/// What only one service has; a provider of another drops and counts it. Each names its service.
#[derive(Clone, Debug)]
pub enum Particular {
    /// The session service, and through it the presentation service: tokens, typed data, synchronisation.
    Session(session::Primitive),
    /// The packet layer of X.25: the Q and D bits.
    Packet(x25::Primitive),
    /// The file service, all of it but the file's data.
    File(ftam::Primitive),
    /// A switched circuit: XID frames. It belongs to no session.
    Identification(Identification),
    /// The manufacturing message specification: its PDUs, the octets of files among them.
    Mms(mms::Pdu),
    /// Transport: from here on a message that comes may have so many octets, as far as the layer takes any so long. Before, it takes what begins a conversation.
    Longest(u32),
}

impl Particular {
    /// The user data it carries, for accounts and captures.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Session(primitive) => primitive.message(),
            Self::Packet(primitive) => primitive.message(),
            Self::File(_) => None,
            Self::Identification(it) => Some(&it.information),
            Self::Mms(pdu) => pdu.message(),
            Self::Longest(_) => None,
        }
    }
}
