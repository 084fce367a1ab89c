//! What X.32 and whoever identifies the other end say to each other.

use kumiki_octets::{Message, Number, Payload};

/// What identification has come to; it goes down, to whoever holds the circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The other end is who it should be: the link may be set up.
    Admit,
    /// It is not: the circuit is cleared.
    Refuse,
    /// The circuit is cleared, and this number is called.
    CallBack(Number),
}

impl Payload for Verdict {}

/// The information of an XID frame, which nobody here looks into.
#[derive(Clone, Debug, Default)]
pub struct Identification {
    /// The octets behind the control field.
    pub information: Message,
    /// Whether the frame is a response, and not a command.
    pub response: bool,
    /// P of a command, F of a response.
    pub poll: bool,
}

impl Payload for Identification {
    fn payload(&self) -> Option<&Message> {
        Some(&self.information)
    }
}
