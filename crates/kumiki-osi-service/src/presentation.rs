//! The words of the presentation service: ITU-T X.216, and X.226 for how they are coded.

use core::fmt;

use kumiki_octets::{Message, Payload};
use smallvec::SmallVec;

use crate::Oid;

/// Transfer syntax of the basic encoding rules (X.690).
pub const BASIC_ENCODING_RULES: Oid = Oid::of(&[2, 1, 1]);

/// Names a presentation context on one connection: odd numbers are the initiator's to give.
pub type ContextId = i64;

/// A presentation context as it is proposed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Context {
    /// Its name on this connection.
    pub id: ContextId,
    /// What is talked about.
    pub abstract_syntax: Oid,
    /// How it may be written, the likeliest first; never none.
    pub transfer_syntaxes: SmallVec<[Oid; 1]>,
}

impl Context {
    /// A context whose values are in the basic encoding rules.
    #[must_use]
    pub fn basic(id: ContextId, abstract_syntax: Oid) -> Self {
        Self { id, abstract_syntax, transfer_syntaxes: SmallVec::from_elem(BASIC_ENCODING_RULES, 1) }
    }
}

/// What became of a proposed context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextResult {
    /// It stands, in this transfer syntax; without one, the only one that was proposed.
    Accepted(Option<Oid>),
    /// The responding user does not want it.
    RefusedByUser,
    /// The responding presentation entity cannot have it, and perhaps why: [`context_refusal`].
    RefusedByProvider(Option<u8>),
}

impl ContextResult {
    /// Whether the context stands.
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted(_))
    }
}

impl fmt::Display for ContextResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(None) => f.write_str("accepted"),
            Self::Accepted(Some(syntax)) => write!(f, "accepted, in {syntax}"),
            Self::RefusedByUser => f.write_str("refused by the user"),
            Self::RefusedByProvider(None) => f.write_str("refused"),
            Self::RefusedByProvider(Some(code)) => {
                write!(f, "refused: {}", context_refusal::meaning(*code))
            }
        }
    }
}

/// Why a presentation entity cannot have a context (X.226, Result-list, provider-reason).
pub mod context_refusal {
    /// Not said.
    pub const NOT_SPECIFIED: u8 = 0;
    /// The abstract syntax is not supported.
    pub const ABSTRACT_SYNTAX: u8 = 1;
    /// None of the transfer syntaxes is supported.
    pub const TRANSFER_SYNTAXES: u8 = 2;
    /// More contexts than there is room for.
    pub const LOCAL_LIMIT: u8 = 3;

    /// What a code means.
    #[must_use]
    pub const fn meaning(code: u8) -> &'static str {
        match code {
            NOT_SPECIFIED => "no reason given",
            ABSTRACT_SYNTAX => "abstract syntax not supported",
            TRANSFER_SYNTAXES => "none of the transfer syntaxes supported",
            LOCAL_LIMIT => "too many contexts",
            _ => "a reason that X.226 does not define",
        }
    }
}

/// Why a presentation entity refused a connection (CPR, Provider-reason).
pub mod refusal {
    /// Not said.
    pub const NOT_SPECIFIED: u8 = 0;
    /// For now.
    pub const CONGESTION: u8 = 1;
    /// Beyond what it has room for.
    pub const LOCAL_LIMIT: u8 = 2;
    /// The called presentation selector is unknown.
    pub const ADDRESS_UNKNOWN: u8 = 3;
    /// None of the proposed versions.
    pub const VERSION: u8 = 4;
    /// The default context is not supported.
    pub const DEFAULT_CONTEXT: u8 = 5;
    /// The user data cannot be read.
    pub const USER_DATA: u8 = 6;
    /// No such access point at present.
    pub const NO_ACCESS_POINT: u8 = 7;

    /// What a code means.
    #[must_use]
    pub const fn meaning(code: u8) -> &'static str {
        match code {
            NOT_SPECIFIED => "no reason given",
            CONGESTION => "temporary congestion",
            LOCAL_LIMIT => "a local limit is exceeded",
            ADDRESS_UNKNOWN => "called presentation address unknown",
            VERSION => "protocol version not supported",
            DEFAULT_CONTEXT => "default context not supported",
            USER_DATA => "user data not readable",
            NO_ACCESS_POINT => "no presentation access point available",
            _ => "a reason that X.226 does not define",
        }
    }
}

/// Why a presentation entity aborted a connection (ARP, Provider-reason).
pub mod abort {
    /// Not said.
    pub const NOT_SPECIFIED: u8 = 0;
    /// A PPDU that it does not know.
    pub const UNRECOGNIZED_PPDU: u8 = 1;
    /// A PPDU at the wrong time.
    pub const UNEXPECTED_PPDU: u8 = 2;
    /// A session primitive at the wrong time.
    pub const UNEXPECTED_PRIMITIVE: u8 = 3;
    /// A parameter that it does not know.
    pub const UNRECOGNIZED_PARAMETER: u8 = 4;
    /// A parameter that does not belong there.
    pub const UNEXPECTED_PARAMETER: u8 = 5;
    /// A value that is not allowed.
    pub const INVALID_VALUE: u8 = 6;

    /// The same of what is found here.
    #[must_use]
    pub const fn found(code: u8) -> &'static str {
        match code {
            UNRECOGNIZED_PPDU => "what came is no PPDU that could stand here",
            UNRECOGNIZED_PARAMETER => "an unknown parameter in a PPDU",
            _ => meaning(code),
        }
    }

    /// What a code means.
    #[must_use]
    pub const fn meaning(code: u8) -> &'static str {
        match code {
            NOT_SPECIFIED => "no reason given",
            UNRECOGNIZED_PPDU => "a PPDU that it does not know",
            UNEXPECTED_PPDU => "a PPDU at the wrong time",
            UNEXPECTED_PRIMITIVE => "a session primitive at the wrong time",
            UNRECOGNIZED_PARAMETER => "a PPDU parameter that it does not know",
            UNEXPECTED_PARAMETER => "a PPDU parameter that does not belong there",
            INVALID_VALUE => "an invalid value in a PPDU parameter",
            _ => "a reason that X.226 does not define",
        }
    }
}

/// One presentation data value: what is said in one context.
#[derive(Clone, Debug)]
pub struct Value {
    /// The context.
    pub context: ContextId,
    /// The value, encoded in the context's transfer syntax.
    pub data: Message,
}

/// The values of one P-DATA, in order: one, and seldom more. Not a plain list, so that one takes no memory of its own.
pub type Values = SmallVec<[Value; 1]>;

/// P-DATA: the values, at least one. One message of credit, however many there are.
#[derive(Clone, Debug)]
pub struct PData(pub Values);

impl Payload for PData {
    fn payload(&self) -> Option<&Message> {
        self.0.first().map(|value| &value.data)
    }
}
