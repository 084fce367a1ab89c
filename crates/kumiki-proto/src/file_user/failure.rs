//! Why something failed, for people: which layer says so, its code, what that means, what may help.

use core::fmt;

use kumiki_graph::{Reason, Told};
use kumiki_osi::ftam::{Diagnostic, DiagnosticType};

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
        Told::X25(_) => (
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
