//! Call control: what the users of switched circuits and the network that switches them say to each other.

use core::fmt;

use kumiki_octets::{Number, Payload};

/// Call control that goes down, to the network that switches circuits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CircuitManage {
    /// Calls a subscriber.
    Dial {
        /// Its number.
        number: Number,
    },
    /// Takes the call that rings.
    Answer,
    /// Clears the circuit, gives up a call that is being made, or refuses the one that rings.
    Clear,
}

impl Payload for CircuitManage {}

/// Call control that comes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CircuitReport {
    /// Somebody calls.
    Ringing {
        /// Who, where the network tells it.
        from: Option<Number>,
    },
    /// The circuit stands and carries frames.
    Connected {
        /// Whether it is we who called.
        calling: bool,
    },
    /// There is no circuit any more, or none has come about.
    Cleared(Cleared),
}

impl Payload for CircuitReport {}

/// Why there is no circuit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cleared {
    /// We have cleared it.
    Own,
    /// The other subscriber has.
    Peer,
    /// The network has.
    Network,
    /// The subscriber called is busy.
    Busy,
    /// The subscriber called was rung, and nobody answered.
    NoAnswer,
    /// The subscriber called has refused.
    Refused,
    /// Nobody has this number.
    Unobtainable,
}

impl fmt::Display for Cleared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "cleared by us",
            Self::Peer => "cleared by the other end",
            Self::Network => "cleared by the network",
            Self::Busy => "busy",
            Self::NoAnswer => "no answer",
            Self::Refused => "refused",
            Self::Unobtainable => "number not obtainable",
        })
    }
}
