//! What a layer says to its peer when it refuses, resets or ends something, in its own codes.

use core::fmt;

use crate::acse::Diagnostic;
use crate::{mms, presentation, session};

/// What the layers are called to people.
pub mod layer {
    /// The link layer of X.25.
    pub const LAPB: &str = "LAPB";
    /// The packet layer of X.25.
    pub const X25: &str = "X.25";
    /// X.25 over TCP (RFC 1613).
    pub const XOT: &str = "XOT";
    /// Transport, with what frames its TPDUs on TCP (RFC 1006).
    pub const TRANSPORT: &str = "transport";
    /// Session.
    pub const SESSION: &str = "session";
    /// Presentation.
    pub const PRESENTATION: &str = "presentation";
    /// Association control.
    pub const ACSE: &str = "association control";
    /// FTAM.
    pub const FTAM: &str = "FTAM";
    /// MMS.
    pub const MMS: &str = "MMS";
}

/// The codes of one layer.
///
/// It goes up unchanged through layers that did not cause it, so that the one at the top can say which layer it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OsiCause {
    /// The transport entity refused or ended the connection: reason of DR (X.224 section 13.5).
    Disconnected(u8),
    /// The transport entity could not read a TPDU: reject cause of ER (X.224 section 13.12).
    TpduRejected(u8),
    /// The peer accepted the transport connection, and ended it instead of answering the CONNECT of session.
    Unanswered,
    /// The session entity, or its user, refused the connection: reason of RF; [`session::refusal`].
    SessionRefused(u8),
    /// The session entity aborted: transport disconnect item of AB (X.225 section 8.3.9).
    SessionAborted(u8),
    /// The presentation entity refused the connection: [`presentation::refusal`].
    PresentationRefused(u8),
    /// The same without a reason that says more, and contexts that were proposed were refused.
    ContextsRefused {
        /// How many.
        refused: u8,
        /// Of how many.
        proposed: u8,
        /// Why the first of them, if the presentation entity has said so: [`presentation::context_refusal`].
        why: Option<u8>,
    },
    /// The presentation entity aborted: [`presentation::abort`].
    PresentationAborted(u8),
    /// Association control or its user rejected the association.
    Rejected {
        /// It is of no use to try again.
        permanent: bool,
        /// Who says so and why.
        diagnostic: Diagnostic,
    },
    /// Association control aborted, itself (`provider`) or for its user.
    AssociationAborted {
        /// Association control itself.
        provider: bool,
    },
    /// The file service refused or ended what was asked for: error identifier of ISO 8571-3; what else it said is in
    /// the data.
    File {
        /// Error identifier; 0 where none was given.
        identifier: u16,
    },
}

/// MMS refused to begin: what initiate-Error says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitiateError(pub mms::ServiceError);

impl fmt::Display for InitiateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        let meaning = error.class.meaning(error.code);
        write!(f, "MMS: refused to begin: {meaning} (error {}.{})", error.class.0, error.code)?;
        match &error.additional_description {
            Some(text) => write!(f, ", with the words {text:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OsiCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Disconnected(reason) => {
                write!(f, "transport: {} (reason {reason})", disconnect(reason))
            }
            Self::TpduRejected(cause) => {
                write!(f, "transport: the peer cannot read a TPDU of ours, {} (cause {cause})", reject(cause))
            }
            Self::Unanswered => {
                f.write_str("session: the peer took the transport connection and ended it without an answer to CONNECT")
            }
            Self::SessionRefused(reason) => {
                write!(f, "session: {} (reason {reason})", session::refusal::meaning(reason))
            }
            Self::SessionAborted(item) => write!(f, "session: {}", session_abort(item)),
            Self::PresentationRefused(reason) => {
                write!(f, "presentation: {} (reason {reason})", presentation::refusal::meaning(reason))
            }
            Self::ContextsRefused { refused, proposed, why } => {
                write!(f, "presentation: {refused} of {proposed} contexts refused")?;
                match why {
                    Some(code) => write!(
                        f,
                        ", the first of them: {} (reason {code})",
                        presentation::context_refusal::meaning(code)
                    ),
                    None => Ok(()),
                }
            }
            Self::PresentationAborted(reason) => {
                write!(f, "presentation: aborted, {} (reason {reason})", presentation::abort::meaning(reason))
            }
            Self::Rejected { permanent, diagnostic } => {
                let how = if permanent { "for good" } else { "for now" };
                write!(f, "association control: rejected {how}, {diagnostic}")
            }
            Self::AssociationAborted { provider: true } => f.write_str("association control: aborted"),
            Self::AssociationAborted { provider: false } => {
                f.write_str("association control: the peer's application aborted")
            }
            Self::File { identifier } => write!(f, "file service: error {identifier}"),
        }
    }
}

/// Reasons of DR: X.224 section 13.5.3, and RFC 905's.
const fn disconnect(reason: u8) -> &'static str {
    match reason {
        0 => "disconnected without a reason",
        1 => "congestion at the transport selector",
        2 => "no user is attached to the transport selector",
        3 => "transport selector unknown",
        128 => "disconnected by the peer's session entity",
        129 => "the peer's transport entity is congested",
        130 => "negotiation failed",
        131 => "duplicate source reference",
        132 => "mismatched references",
        133 => "protocol error",
        135 => "reference overflow",
        136 => "refused on this network connection",
        138 => "a header or parameter of invalid length",
        _ => "disconnected, for a reason that X.224 does not define",
    }
}

/// Causes of ER: X.224 section 13.12.3.
const fn reject(cause: u8) -> &'static str {
    match cause {
        1 => "invalid parameter code",
        2 => "invalid TPDU type",
        3 => "invalid parameter value",
        _ => "without a reason",
    }
}

/// Transport disconnect item of AB: bit 1 clear keeps the transport connection; the others say why.
const fn session_abort(item: u8) -> &'static str {
    match item {
        _ if item & 0x02 != 0 => "the peer's user aborted",
        _ if item & 0x04 != 0 => "aborted, protocol error",
        _ if item & 0x10 != 0 => "aborted, a restriction of the peer's implementation",
        _ => "aborted without a reason",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_the_layer_and_what_the_code_means() {
        assert_eq!(OsiCause::Disconnected(3).to_string(), "transport: transport selector unknown (reason 3)");
        assert_eq!(OsiCause::SessionAborted(5).to_string(), "session: aborted, protocol error");
        let rejected = OsiCause::Rejected { permanent: true, diagnostic: Diagnostic::User(7) };
        assert_eq!(rejected.to_string(), "association control: rejected for good, called AP title not recognised");
    }
}
