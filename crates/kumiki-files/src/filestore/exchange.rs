//! What a user of the file service wants to have done.

use kumiki_octets::Message;
use kumiki_osi_service::ftam::{Fpdu, Primitive};

/// One request or response to the provider, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Do {
    /// Send this.
    Say(Primitive),
    /// Send one data element. There was credit for it.
    Data(Message),
    /// Grant the peer so many more data elements.
    Grant(u32),
}

impl From<Fpdu> for Do {
    fn from(fpdu: Fpdu) -> Self {
        Self::Say(Primitive::Pdu(fpdu))
    }
}
