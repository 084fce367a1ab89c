//! What a peer's layer said when it refused, reset or ended something, in its own codes; or what a layer here found wrong in what came.

use core::fmt;

use kumiki_osi_service::acse::Diagnostic;
use kumiki_osi_service::{presentation, session, x25};

/// Who finds that a peer breaks the protocol: a layer of ours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Finder {
    /// LAPB.
    Lapb,
    /// X.25's packet layer.
    X25,
    /// XOT.
    Xot,
    /// Transport, with what frames its TPDUs on TCP.
    Transport,
    /// Session.
    Session,
    /// Presentation.
    Presentation,
    /// Association control.
    Acse,
    /// FTAM.
    Ftam,
    /// MMS.
    Mms,
}

impl fmt::Display for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lapb => "LAPB",
            Self::X25 => "X.25",
            Self::Xot => "XOT",
            Self::Transport => "transport",
            Self::Session => "session",
            Self::Presentation => "presentation",
            Self::Acse => "association control",
            Self::Ftam => "FTAM",
            Self::Mms => "MMS",
        })
    }
}

/// The codes of one layer; see [`Reason::Told`](super::Reason::Told).
///
/// It goes up unchanged through layers that did not cause it, so that the one at the top can say which layer it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// X.25 cleared the call, reset the channel or restarted all of them.
    X25(x25::Told),
    /// LAPB's peer refused a frame: the bits W (1), X (2), Y (4) and Z (8) of its FRMR (X.25 section 2.3.4).
    FrameRejected(u8),
    /// XOT's peer refused to set up a permanent virtual circuit: status of its answer ([`x25::circuit_status`]).
    CircuitRefused(u8),
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
    /// The file service refused or ended what was asked for: error identifier of ISO 8571-3; what else it said is in the data.
    File {
        /// Error identifier; 0 where none was given.
        identifier: u16,
    },
    /// A layer here found that the peer broke its protocol.
    Broken {
        /// Which layer.
        by: Finder,
        /// What it found, in a few words.
        found: &'static str,
    },
    /// MMS refused to begin: initiate-Error.
    Mms {
        /// The class of the error.
        class: u8,
        /// Its code.
        code: u8,
    },
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::X25(told) => write!(f, "X.25: {told}"),
            Self::FrameRejected(bits) => {
                write!(f, "LAPB: the peer refuses a frame of ours, {} (FRMR)", frame_reject(bits))
            }
            Self::CircuitRefused(status) => {
                let meaning = x25::circuit_status(status);
                write!(f, "XOT: {meaning} (status {status:02x})")
            }
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
            Self::Broken { by, found } => write!(f, "{by}: the peer broke the protocol: {found}"),
            Self::File { identifier } => write!(f, "file service: error {identifier}"),
            Self::Mms { class, code } => {
                let meaning = kumiki_osi_service::mms::ErrorClass(class.into()).meaning(code.into());
                write!(f, "MMS: refused to begin: {meaning} (error {class}.{code})")
            }
        }
    }
}

/// What FRMR says of a frame; X always comes with W.
const fn frame_reject(bits: u8) -> &'static str {
    if bits & 2 != 0 {
        "with information that it may not have, or too little of it"
    } else if bits & 1 != 0 {
        "of an unknown kind"
    } else if bits & 4 != 0 {
        "with too much information"
    } else if bits & 8 != 0 {
        "that acknowledges what was not sent"
    } else {
        "and does not say why"
    }
}

/// Reasons of DR: X.224 section 13.5.3, and RFC 905's.
const fn disconnect(reason: u8) -> &'static str {
    match reason {
        0 => "disconnected without a reason",
        1 => "congestion at the transport selector",
        2 => "nobody is attached to the transport selector",
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
        assert_eq!(Told::Disconnected(3).to_string(), "transport: transport selector unknown (reason 3)");
        assert_eq!(Told::SessionAborted(5).to_string(), "session: aborted, protocol error");
        let rejected = Told::Rejected { permanent: true, diagnostic: Diagnostic::User(7) };
        assert_eq!(rejected.to_string(), "association control: rejected for good, called AP title not recognised");
    }
}
