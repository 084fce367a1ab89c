//! Why something failed, for people: which layer says so, its code, what that means, what may help.

use core::fmt;

use kumiki_graph::{Reason, Told};
use kumiki_osi::ftam::{Diagnostic, DiagnosticType};
use kumiki_osi::mms::{ErrorClass, Reject, ServiceError, file_error};

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
            diagnostics: Vec::new(),
        }
    }

    /// What FTAM said of something that was not done. Of several the last that matters is the cause, as 1016 and 8 only say that
    /// there is one.
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
                diagnostics: Vec::new(),
            };
        };
        let remedy = cause
            .identifier()
            .map_or("", |identifier| identifier.remedy);
        Self {
            layer: Layer::Ftam,
            code: Some(cause.error_identifier),
            meaning: cause.to_string(),
            remedy: remedy.to_owned(),
            transient: cause.diagnostic_type == DiagnosticType::Transient,
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
            (class, file_error::POSITION_INVALID) if class == file => (
                "the file has become shorter: fetch it from its beginning",
                false,
            ),
            (class, file_error::DUPLICATE_FILENAME) if class == file => {
                ("use another name, or delete that file", false)
            }
            (class, file_error::INSUFFICIENT_SPACE) if class == file => {
                ("delete files there, or wait", true)
            }
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
            diagnostics: Vec::new(),
        }
    }

    /// What MMS rejected.
    #[must_use]
    pub fn of_reject(reject: &Reject) -> Self {
        let remedy = match (reject.pdu.0, reject.code) {
            (1, Reject::UNRECOGNIZED_SERVICE) => {
                "the device has no such service for files, or not for this client"
            }
            (1, Reject::MAX_SERV_OUTSTANDING_EXCEEDED) => "ask for less at a time",
            _ => "take a capture and report it",
        };
        Self {
            layer: Layer::Mms,
            code: Some(reject.code),
            meaning: format!("MMS: {reject}"),
            remedy: remedy.to_owned(),
            transient: false,
            diagnostics: Vec::new(),
        }
    }

    /// The same on an association of MMS: a protocol error is of that.
    #[must_use]
    pub(crate) fn in_mms(mut self) -> Self {
        if self.layer == Layer::Ftam {
            self.layer = Layer::Mms;
        }
        self
    }

    /// Why an association did not come about, or ended.
    #[must_use]
    pub fn of_reason(reason: Reason) -> Self {
        let (layer, code, remedy) = match reason {
            Reason::User | Reason::NoSession => (Layer::Local, None, ""),
            Reason::BadAddress => (Layer::Local, None, "check host and port"),
            Reason::NoResources => (Layer::Local, None, "use fewer associations at once"),
            Reason::Refused => (
                Layer::Network,
                None,
                "check host and port, and whether a responder runs there",
            ),
            Reason::Reset | Reason::Down => (Layer::Network, None, "try again; check the line"),
            Reason::TimedOut | Reason::Unreachable => (
                Layer::Network,
                None,
                "check host and line, and firewalls between",
            ),
            Reason::Protocol => (Layer::Ftam, None, "take a capture and report it"),
            Reason::Told(told) => of_told(told),
        };
        Self {
            layer,
            code,
            meaning: reason.to_string(),
            remedy: remedy.to_owned(),
            transient: matches!(
                reason,
                Reason::Reset | Reason::TimedOut | Reason::Unreachable | Reason::Down
            ),
            diagnostics: Vec::new(),
        }
    }
}

const SELECTORS: &str =
    "check the selectors: those that the responder is configured with, octet by octet";

fn of_told(told: Told) -> (Layer, Option<i64>, &'static str) {
    match told {
        // Calls are no permanent circuits.
        Told::X25(_) | Told::CircuitRefused(_) => (
            Layer::Network,
            None,
            "check the X.121 address and the facilities",
        ),
        Told::Disconnected(code) => (
            Layer::Transport,
            Some(code.into()),
            match code {
                2 | 3 => SELECTORS,
                _ => "try again; ask whoever runs the responder",
            },
        ),
        Told::TpduRejected(code) => (
            Layer::Transport,
            Some(code.into()),
            "take a capture and report it",
        ),
        Told::SessionRefused(code) => (
            Layer::Session,
            Some(code.into()),
            match code {
                0x81 | 0x82 => SELECTORS,
                _ => "ask whoever runs the responder",
            },
        ),
        Told::SessionAborted(code) => (
            Layer::Session,
            Some(code.into()),
            "take a capture and report it",
        ),
        Told::PresentationRefused(code) => (
            Layer::Presentation,
            Some(code.into()),
            match code {
                3 | 7 => SELECTORS,
                _ => "ask whoever runs the responder",
            },
        ),
        Told::ContextsRefused { why, .. } => (
            Layer::Presentation,
            why.map(i64::from),
            "the responder knows other document types, or none: check whether it is one for files",
        ),
        Told::PresentationAborted(code) => (
            Layer::Presentation,
            Some(code.into()),
            "take a capture and report it",
        ),
        Told::Rejected { .. } => (
            Layer::Acse,
            None,
            "check the application titles, and user and password",
        ),
        Told::AssociationAborted { .. } => {
            (Layer::Acse, None, "look into the log of the responder")
        }
        Told::Mms { class, code } => (
            Layer::Mms,
            Some(code.into()),
            match (class, code) {
                (8, 2) => "let PDUs be longer",
                _ => "ask whoever runs the responder",
            },
        ),
        Told::File { identifier } => (
            Layer::Ftam,
            Some(identifier.into()),
            kumiki_osi::ftam::diagnostic::Identifier::of(identifier.into())
                .map_or("", |identifier| identifier.remedy),
        ),
    }
}

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
