//! Why something failed, for people: which layer says so, its code, what that means, what may help.

use core::fmt;
use std::borrow::Cow;

use kumiki_graph::{Reason, Violation};
use kumiki_osi_service::acse;
use kumiki_osi_service::ftam::{Diagnostic, DiagnosticType};
use kumiki_osi_service::mms::{ErrorClass, Reject, ServiceError, file_error};
use kumiki_osi_service::x25::{self, CallOptions};
use kumiki_osi_service::{InitiateError, OsiCause, layer};

use crate::filestore::TOO_LONG;

/// Who says so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layer {
    /// The file on this side, or this program.
    Local,
    /// The network below, or this machine.
    Network,
    /// Transport.
    Transport,
    /// Session.
    Session,
    /// Presentation.
    Presentation,
    /// Association control.
    Acse,
    /// FTAM: the peer's filestore or its protocol machine.
    Ftam,
    /// MMS: the same of a peer that speaks that.
    Mms,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Network => "network",
            Self::Transport => "transport",
            Self::Session => "session",
            Self::Presentation => "presentation",
            Self::Acse => "association control",
            Self::Ftam => "FTAM",
            Self::Mms => "MMS",
        })
    }
}

/// Why something failed: the innermost reason known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Who says so.
    pub layer: Layer,
    /// Its code, where it has one: an error identifier of FTAM, a reason of another layer.
    pub code: Option<i64>,
    /// What that means.
    pub meaning: String,
    /// What may help; empty where nothing general can be said.
    pub remedy: String,
    /// Trying again may help.
    pub transient: bool,
    /// The peer broke a protocol, or aborted: nobody has refused anything.
    pub is_abort: bool,
    /// All that FTAM said, in its order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Failure {
    /// Something on this side.
    #[must_use]
    pub fn local(meaning: impl Into<String>) -> Self {
        Self {
            layer: Layer::Local,
            code: None,
            meaning: meaning.into(),
            remedy: String::new(),
            transient: false,
            is_abort: false,
            diagnostics: Vec::new(),
        }
    }

    /// What FTAM said of something that was not done. Of several the last that matters is the cause, as 1016 and 8 only
    /// say that there is one.
    #[must_use]
    pub fn of_diagnostics(diagnostics: &[Diagnostic]) -> Self {
        let matters = |one: &&Diagnostic| one.diagnostic_type != DiagnosticType::Informative;
        let causes = |one: &&Diagnostic| !matches!(one.error_identifier, 8 | 1016);
        let mut backwards = diagnostics.iter().rev();
        let cause = backwards
            .clone()
            .filter(matters)
            .find(causes)
            .or_else(|| backwards.clone().find(matters))
            .or_else(|| backwards.next());
        let Some(cause) = cause else {
            return Self {
                layer: Layer::Ftam,
                code: None,
                meaning: "it was not done, and no reason was given".to_owned(),
                remedy: "look into the log of the responder".to_owned(),
                transient: false,
                is_abort: false,
                diagnostics: Vec::new(),
            };
        };
        let remedy = cause.identifier().map_or("", |identifier| identifier.remedy);
        Self {
            layer: Layer::Ftam,
            code: Some(cause.error_identifier),
            meaning: cause.to_string(),
            remedy: remedy.to_owned(),
            transient: cause.diagnostic_type == DiagnosticType::Transient,
            is_abort: false,
            diagnostics: diagnostics.to_vec(),
        }
    }

    /// What MMS said of something that was not done.
    #[must_use]
    pub fn of_service_error(error: &ServiceError) -> Self {
        let (file, access) = (ErrorClass::FILE, ErrorClass::ACCESS);
        let (remedy, transient) = match (error.class, error.code) {
            (class, file_error::FILE_NON_EXISTENT) if class == file => (
                "list the directory; names are taken letter by letter, and some devices begin them with a separator",
                false,
            ),
            (class, file_error::FILE_BUSY) if class == file => ("try again", true),
            (class, file_error::FILE_ACCESS_DENIED) if class == file => {
                ("ask whoever runs the responder; is it a directory?", false)
            }
            (class, file_error::POSITION_INVALID) if class == file => {
                ("the file has become shorter: fetch it from its beginning", false)
            }
            (class, file_error::DUPLICATE_FILENAME) if class == file => {
                ("use another name, or delete that file", false)
            }
            (class, file_error::INSUFFICIENT_SPACE) if class == file && says(error, TOO_LONG) => (SEND_LESS, false),
            (class, file_error::INSUFFICIENT_SPACE) if class == file => ("delete files there, or wait", true),
            (class, 3) if class == access => ("ask whoever runs the responder", false),
            (ErrorClass::SERVICE, 3) => ("let PDUs be longer", false),
            _ => ("", false),
        };
        Self {
            layer: Layer::Mms,
            code: Some(error.code),
            meaning: format!("MMS: {error}"),
            remedy: remedy.to_owned(),
            transient,
            is_abort: false,
            diagnostics: Vec::new(),
        }
    }

    /// What MMS rejected. The device says that our protocol is wrong, or that it has no such service: not that
    /// something could not be done.
    #[must_use]
    pub fn of_reject(reject: &Reject) -> Self {
        let remedy = match (reject.pdu.0, reject.code) {
            (1, Reject::UNRECOGNIZED_SERVICE) => "the device has no such service for files, or not for this client",
            (1, Reject::MAX_SERV_OUTSTANDING_EXCEEDED) => "ask for less at a time",
            _ => "take a capture and report it",
        };
        Self {
            layer: Layer::Mms,
            // It is no error of a service: its numbers, which are a pair, stand in the text.
            code: None,
            meaning: format!("MMS: {reject}"),
            remedy: remedy.to_owned(),
            transient: false,
            is_abort: false,
            diagnostics: Vec::new(),
        }
    }

    /// Why an association for `user`, FTAM or MMS, did not come about, or ended.
    #[must_use]
    pub fn of_reason(reason: &Reason, user: Layer) -> Self {
        let (layer, code, remedy) = match reason {
            Reason::User | Reason::NoSession => (Layer::Local, None, ""),
            Reason::BadAddress => (Layer::Local, None, "check host and port"),
            Reason::NoResources => (Layer::Local, None, "use fewer associations at once"),
            Reason::Refused => (Layer::Network, None, "check host and port, and whether a responder runs there"),
            Reason::Reset | Reason::Down => (Layer::Network, None, "try again; check the line"),
            Reason::TimedOut | Reason::Unreachable(_) => {
                (Layer::Network, None, "check host and line, and firewalls between")
            }
            // Those of OSI say themselves what they have found.
            Reason::Protocol => (Layer::Network, None, CAPTURE),
            Reason::Violation(violation) => (layer_of(violation.layer), None, of_violation(violation)),
            Reason::Peer(_) => match (reason.cause(), reason.cause()) {
                (Some(&cause), _) => of_osi(cause, user),
                (None, Some(InitiateError(error))) => of_initiate(error),
                (None, None) => (Layer::Network, None, ""),
            },
        };
        let remedy = reason.cause().map_or(Cow::Borrowed(remedy), |&cause| of_x25(cause));
        let meaning = match reason {
            // To people it is not a matter of layers.
            Reason::Down => "the connection was lost".to_owned(),
            Reason::User
            | Reason::Reset
            | Reason::Refused
            | Reason::TimedOut
            | Reason::Unreachable(_)
            | Reason::BadAddress
            | Reason::NoResources
            | Reason::Protocol
            | Reason::NoSession
            | Reason::Violation(_)
            | Reason::Peer(_) => reason.to_string(),
        };
        Self {
            layer,
            code,
            meaning,
            remedy: remedy.into_owned(),
            transient: matches!(reason, Reason::Reset | Reason::TimedOut | Reason::Unreachable(_) | Reason::Down),
            is_abort: is_abort(reason),
            diagnostics: Vec::new(),
        }
    }

    /// Whether the responder has nobody under the selectors that were called.
    #[must_use]
    pub const fn is_of_selectors(&self) -> bool {
        matches!(
            (self.layer, self.code),
            (Layer::Transport, Some(2 | 3)) | (Layer::Session, Some(0x81 | 0x82)) | (Layer::Presentation, Some(3 | 7))
        )
    }

    /// Whether selectors that the responder does not have may be the cause: the commonest one of a transport connection
    /// that is refused, whatever the reason, and of one that ends before session has answered.
    #[must_use]
    pub const fn may_be_of_selectors(&self) -> bool {
        self.is_of_selectors()
            || matches!(
                (self.layer, self.code, self.is_abort),
                (Layer::Transport, Some(_), false) | (Layer::Session, None, false)
            )
    }

    /// The same where the association stood: a circuit that is cleared or reset then is one that broke, whatever it
    /// says of calls.
    #[must_use]
    pub(crate) fn amid(self) -> Self {
        if self.layer != Layer::Network || self.is_abort || self.transient {
            return self;
        }
        Self {
            remedy: "try again; whoever runs the network or the responder knows more".to_owned(),
            transient: true,
            ..self
        }
    }

    /// The same of what is not started over, for the responder may have added it, and only its answer was lost.
    #[must_use]
    pub(crate) fn doubtful(self) -> Self {
        Self { remedy: "it may have been added, so it is not started over: look at the file there".to_owned(), ..self }
    }

    /// The same of an association that the peer has aborted.
    #[must_use]
    pub(crate) fn aborted(self) -> Self {
        Self { is_abort: true, ..self }
    }
}

/// Against a limit on the length of one file.
pub(super) const SEND_LESS: &str = "send less, or ask whoever runs the responder";

/// Whether the description of an error has these words.
fn says(error: &ServiceError, words: &str) -> bool {
    error.additional_description.as_ref().is_some_and(|it| it.contains(words))
}

const SELECTORS: &str = "check the selectors: those that the responder is configured with, octet by octet";

/// The same where it is not said that they are the cause.
const COMMON_SELECTORS: &str =
    "check the selectors; most responders want one: ISODE tsel 0x0103, libiec61850 tsel 0x0001";

const CAPTURE: &str = "take a capture and report it";

/// What helps where a layer here finds the protocol broken: who breaks it at once mostly speaks another.
const fn of_violation(violation: &Violation) -> &'static str {
    if violation.is_first { "check the port: who answers may speak another protocol" } else { CAPTURE }
}

/// Application context name not supported (X.227).
const WRONG_CONTEXT: acse::Diagnostic = acse::Diagnostic::User(2);

/// Authentication failed, and authentication required (X.227).
const AUTHENTICATION_FAILED: acse::Diagnostic = acse::Diagnostic::User(13);
const AUTHENTICATION_REQUIRED: acse::Diagnostic = acse::Diagnostic::User(14);

/// Whether `reason` is that somebody takes the other for one who breaks the protocol, or that the peer has aborted.
fn is_abort(reason: &Reason) -> bool {
    let is_said = matches!(
        reason.cause(),
        Some(
            OsiCause::TpduRejected(_)
                | OsiCause::SessionAborted(_)
                | OsiCause::PresentationAborted(_)
                | OsiCause::AssociationAborted { .. }
        )
    );
    is_said
        || matches!(reason.cause(), Some(x25::Cause::FrameRejected(_)))
        || matches!(reason, Reason::Protocol | Reason::Violation(_))
}

/// The layer of this name ([`layer`]).
fn layer_of(name: &str) -> Layer {
    match name {
        layer::TRANSPORT => Layer::Transport,
        layer::SESSION => Layer::Session,
        layer::PRESENTATION => Layer::Presentation,
        layer::ACSE => Layer::Acse,
        layer::FTAM => Layer::Ftam,
        layer::MMS => Layer::Mms,
        _ => Layer::Network,
    }
}

fn of_x25(cause: x25::Cause) -> Cow<'static, str> {
    match cause {
        x25::Cause::Packet(told) => x25::remedy(told, &CALL).into(),
        x25::Cause::FrameRejected(_) => CAPTURE.into(),
        // Calls are no permanent circuits.
        x25::Cause::CircuitRefused(_) => "check the X.121 address and the facilities".into(),
    }
}

fn of_osi(told: OsiCause, user: Layer) -> (Layer, Option<i64>, &'static str) {
    match told {
        OsiCause::Disconnected(code) => (
            Layer::Transport,
            Some(code.into()),
            match code {
                1 | 129 | 135 => "the responder has no room now: try later",
                _ => COMMON_SELECTORS,
            },
        ),
        OsiCause::Unanswered => (
            Layer::Session,
            None,
            if user == Layer::Mms {
                "the line is fine: if passwords were wrong before, yours or those of others in your network, wait a minute, for kumiki mmsd looks at no more than a few; else check the selectors (most responders want one: libiec61850 tsel 0x0001, ISODE tsel 0x0103), and whether it is a responder for FTAM (kumiki ftam)"
            } else {
                "the line is fine: if passwords were wrong before, yours or those of others in your network, wait a minute, for kumiki ftamd looks at no more than a few; else check the selectors (most responders want one: ISODE tsel 0x0103, libiec61850 tsel 0x0001), and whether it is a responder for MMS (kumiki mms)"
            },
        ),
        OsiCause::TpduRejected(code) => (Layer::Transport, Some(code.into()), CAPTURE),
        OsiCause::SessionRefused(code) => (
            Layer::Session,
            Some(code.into()),
            match code {
                0x81 | 0x82 => SELECTORS,
                _ => "ask whoever runs the responder",
            },
        ),
        OsiCause::SessionAborted(code) => (Layer::Session, Some(code.into()), CAPTURE),
        OsiCause::PresentationRefused(code) => (
            Layer::Presentation,
            Some(code.into()),
            match code {
                3 | 7 => SELECTORS,
                _ => "ask whoever runs the responder",
            },
        ),
        OsiCause::ContextsRefused { why, .. } => (
            Layer::Presentation,
            why.map(i64::from),
            "the responder knows other document types, or none: check whether it is one for files",
        ),
        OsiCause::PresentationAborted(code) => (Layer::Presentation, Some(code.into()), CAPTURE),
        OsiCause::Rejected { diagnostic, .. } if diagnostic == WRONG_CONTEXT => (
            Layer::Acse,
            None,
            if user == Layer::Mms {
                "the peer has no MMS under this address: check port and selectors, and whether it is one for FTAM (kumiki ftam)"
            } else {
                "the peer has no FTAM under this address: check port and selectors, and whether it is one for MMS (kumiki mms)"
            },
        ),
        OsiCause::Rejected { permanent, diagnostic } => (
            Layer::Acse,
            None,
            match (permanent, diagnostic) {
                (_, AUTHENTICATION_FAILED | AUTHENTICATION_REQUIRED) if user == Layer::Mms => {
                    "check the password: --password-file FILE or KUMIKI_MMS_PASSWORD"
                }
                (false, _) => "try later, or with fewer associations at once",
                (true, _) if user == Layer::Mms => "check the application titles",
                (true, _) => "check the application titles, and user and password",
            },
        ),
        OsiCause::AssociationAborted { .. } => (Layer::Acse, None, "look into the log of the responder"),
        OsiCause::File { identifier } => (
            Layer::Ftam,
            Some(identifier.into()),
            kumiki_osi_service::ftam::diagnostic::Identifier::of(identifier.into())
                .map_or("", |identifier| identifier.remedy),
        ),
    }
}

fn of_initiate(error: &ServiceError) -> (Layer, Option<i64>, &'static str) {
    let remedy = match (error.class, error.code) {
        (ErrorClass::INITIATE, 2) => "let PDUs be longer",
        _ => "ask whoever runs the responder",
    };
    (Layer::Mms, Some(error.code), remedy)
}

/// How a call is written: the parameters of a URL.
const CALL: CallOptions = CallOptions {
    called: "X.121 address",
    calling: "from-x121",
    sizes: "packet and window",
    user_data: "check cud and the X.121 address",
    reverse: "reverse",
    fast_select: None,
    transit: None,
    capture: CAPTURE,
};

/// `FTAM: 3004 the file does not exist (...); list the directory; ...`
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = self.layer.to_string();
        if !self.meaning.starts_with(&layer) {
            write!(f, "{layer}: ")?;
        }
        f.write_str(&self.meaning)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl core::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use kumiki_osi_service::x25::CauseField;

    use super::*;

    #[test]
    fn what_helps_against_x25_depends_on_its_cause() {
        let remedy = |what, cause, diagnostic| {
            let told = x25::PacketCause { what, cause, diagnostic };
            Failure::of_reason(&Reason::peer(x25::Cause::Packet(told)), Layer::Ftam).remedy
        };
        for (cause, part) in [
            (0x01, "no channel free"),
            (0x09, "is down"),
            (0x0b, "from-x121"),
            (0x0d, "does not know the X.121 address"),
            (0x03, "facilities"),
            (0x13, "take a capture"),
            (0x15, "is down: try later"),
            (0x29, "ask the network"),
        ] {
            let said = remedy(CauseField::Clear, cause, 0);
            assert!(said.contains(part), "{cause:02x}: {said}");
        }
        assert!(remedy(CauseField::Clear, 0, 249).contains("check cud"));
        assert!(remedy(CauseField::Clear, 0, 0).contains("who was called has cleared"));
        assert!(remedy(CauseField::Reset, 0x09, 0).contains("try again"));
    }

    /// MMS has no users, and who is told to come later has nothing to check.
    #[test]
    fn what_association_control_rejects_has_a_remedy_for_its_reason() {
        for (user, permanent, code, said) in [
            (Layer::Mms, false, 1, "try later"),
            (Layer::Ftam, false, 1, "try later"),
            (Layer::Mms, true, 14, "KUMIKI_MMS_PASSWORD"),
            (Layer::Mms, false, 13, "--password-file"),
            (Layer::Mms, true, 7, "application titles"),
            (Layer::Ftam, true, 1, "user and password"),
        ] {
            let told = OsiCause::Rejected { permanent, diagnostic: acse::Diagnostic::User(code) };
            let failure = Failure::of_reason(&Reason::peer(told), user);
            assert!(failure.remedy.contains(said), "{failure}");
            assert!(user == Layer::Ftam || !failure.remedy.contains("user"), "{failure}");
        }
    }

    #[test]
    fn a_reject_has_its_numbers_in_its_text_and_no_code_of_a_service() {
        let failure = Failure::of_reject(&Reject {
            invoke: Some(1),
            pdu: kumiki_osi_service::mms::RejectedPdu::CONFIRMED_REQUEST,
            code: Reject::UNRECOGNIZED_SERVICE,
        });
        assert_eq!((failure.layer, failure.code), (Layer::Mms, None));
        let said = failure.to_string();
        assert!(said.contains("(reject reason 1.1)"), "{said}");
    }

    #[test]
    fn a_breach_is_told_by_the_layer_that_found_it_and_is_no_refusal() {
        let why = Reason::violation(layer::SESSION, "not an SPDU");
        let failure = Failure::of_reason(&why, Layer::Ftam);
        assert_eq!(
            failure.to_string(),
            "session: the peer broke the protocol: not an SPDU; take a capture and report it"
        );
        assert!(failure.is_abort);
        for (by, layer) in [(layer::TRANSPORT, Layer::Transport), (layer::XOT, Layer::Network)] {
            let first = Failure::of_reason(&Reason::stranger(by, "version is 18245, expected 0", b"GET "), Layer::Ftam);
            assert_eq!(first.layer, layer);
            assert!(
                first
                    .to_string()
                    .ends_with("(octets 47 45 54 20); check the port: who answers may speak another protocol"),
                "{first}"
            );
            let later = Failure::of_reason(&Reason::violation_in(by, "version is 9, expected 0", &[0, 9]), Layer::Ftam);
            assert!(later.to_string().ends_with("(octets 00 09); take a capture and report it"), "{later}");
        }
        // FRMR and TPDU Error say that the peer takes us for the one who did.
        for told in [Reason::peer(x25::Cause::FrameRejected(1)), Reason::peer(OsiCause::TpduRejected(1))] {
            assert!(Failure::of_reason(&told, Layer::Ftam).is_abort);
        }
        let refused = Failure::of_reason(&Reason::peer(OsiCause::Disconnected(3)), Layer::Ftam);
        assert!(!refused.is_abort && refused.is_of_selectors());
    }

    /// Only what says so is a refusal of selectors by us; what we hear may be one whatever it says.
    #[test]
    fn a_refusal_of_transport_may_be_one_of_selectors() {
        let of = |told| Failure::of_reason(&Reason::peer(told), Layer::Ftam);
        for told in [OsiCause::Disconnected(128), OsiCause::Disconnected(0), OsiCause::Unanswered] {
            let failure = of(told);
            assert!(failure.may_be_of_selectors(), "{failure}");
            assert!(!failure.is_of_selectors() && !failure.transient, "{failure}");
            assert!(failure.remedy.contains("0x0103"), "{failure}");
        }
        let unanswered = of(OsiCause::Unanswered);
        assert!(unanswered.remedy.contains("if passwords were wrong before"), "{unanswered}");
        for told in [OsiCause::TpduRejected(1), OsiCause::SessionRefused(0x86)] {
            assert!(!of(told).may_be_of_selectors());
        }
    }
}
