//! How something ended, and why: results and diagnostics, ISO 8571-3.

mod identifiers;

use core::fmt;
use core::time::Duration;

pub use identifiers::{IDENTIFIERS, Identifier};

use super::GraphicString;

/// Whether a regime was entered or left as asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum StateResult {
    /// It was.
    #[default]
    Success,
    /// It was not; the state is as before.
    Failure,
}

impl fmt::Display for StateResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Failure => "failure",
        })
    }
}

/// Whether what was asked for was done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ActionResult {
    /// It was.
    #[default]
    Success,
    /// It was not, and may be if it is asked for again.
    TransientError,
    /// It was not, and will not be.
    PermanentError,
}

impl ActionResult {
    /// Whether what was asked for was done.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Success)
    }
}

impl fmt::Display for ActionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::TransientError => "transient error",
            Self::PermanentError => "permanent error",
        })
    }
}

/// How much a diagnostic matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DiagnosticType {
    /// It does not: what was asked for was done.
    #[default]
    Informative,
    /// It was not done, and may be later.
    Transient,
    /// It was not done, and will not be.
    Permanent,
}

impl fmt::Display for DiagnosticType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Informative => "informative",
            Self::Transient => "transient",
            Self::Permanent => "permanent",
        })
    }
}

/// Who saw an error, or caused it: `Entity-Reference`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Entity {
    /// No categorisation possible. Only as the source.
    #[default]
    Unknown,
    /// The user of the service who initiated.
    InitiatingUser,
    /// The protocol machine below that one.
    InitiatingMachine,
    /// ACSE, presentation, or what is below. Only as the source.
    SupportingService,
    /// The responding protocol machine.
    RespondingMachine,
    /// The user above that one: the virtual filestore.
    RespondingUser,
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "an unknown entity",
            Self::InitiatingUser => "the initiating user",
            Self::InitiatingMachine => "the initiating FTAM",
            Self::SupportingService => "the service below",
            Self::RespondingMachine => "the responding FTAM",
            Self::RespondingUser => "the filestore",
        })
    }
}

/// One reason for a result. A result other than success has one at least, and there can be several.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Diagnostic {
    /// How much it matters.
    pub diagnostic_type: DiagnosticType,
    /// What it is: see [`IDENTIFIERS`].
    pub error_identifier: i64,
    /// Who saw it.
    pub error_observer: Entity,
    /// Who caused it.
    pub error_source: Entity,
    /// Minutes after which to try again, of a transient one. That the unit is minutes is recalled.
    pub suggested_delay: Option<i64>,
    /// What the peer has to add, for people.
    pub further_details: Option<GraphicString>,
}

impl Diagnostic {
    /// The row of [`IDENTIFIERS`] that says what this is.
    #[must_use]
    pub fn identifier(&self) -> Option<&'static Identifier> {
        Identifier::of(self.error_identifier)
    }

    /// After which time to try again.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        let minutes = u64::try_from(self.suggested_delay?).ok()?;
        Some(Duration::from_secs(minutes.checked_mul(60)?))
    }
}

/// One line: number, meaning, what the peer adds, who saw it; not the remedy, which is [`Identifier::remedy`].
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { diagnostic_type, error_identifier, error_observer, error_source, suggested_delay, further_details } =
            self;
        let text = self.identifier().map_or("an error that the standard does not name", |identifier| identifier.text);
        write!(f, "{error_identifier} {text} ({diagnostic_type}")?;
        write!(f, ", seen by {error_observer}")?;
        if error_source != error_observer && *error_source != Entity::Unknown {
            write!(f, ", caused by {error_source}")?;
        }
        if let Some(minutes) = suggested_delay {
            write!(f, ", try again in {minutes} min")?;
        }
        f.write_str(")")?;
        match further_details {
            Some(details) if !details.is_empty() => write!(f, ": {details}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_login_says_what_and_who_and_what_may_help() {
        // What ISODE answers to a wrong password.
        let refused = Diagnostic {
            diagnostic_type: DiagnosticType::Permanent,
            error_identifier: 2020,
            error_observer: Entity::RespondingUser,
            error_source: Entity::InitiatingUser,
            ..Diagnostic::default()
        };
        assert_eq!(
            refused.to_string(),
            "2020 invalid filestore password (permanent, seen by the filestore, caused by the initiating user)"
        );
        let remedy = refused.identifier().unwrap().remedy;
        assert!(remedy.contains("password"), "{remedy}");
    }

    #[test]
    fn identifiers_are_in_order_and_each_says_something() {
        assert!(IDENTIFIERS.is_sorted_by(|a, b| a.number < b.number));
        for one in IDENTIFIERS {
            assert!(!one.text.is_empty() && !one.text.ends_with('.'), "{one:?}");
            assert!(!one.remedy.ends_with('.'), "{one:?}");
            assert_eq!(Identifier::of(one.number), Some(one));
        }
        assert_eq!(Identifier::of(2001), None);
    }

    #[test]
    fn what_has_no_name_is_shown_with_what_the_peer_says() {
        let odd = Diagnostic {
            error_identifier: 9999,
            suggested_delay: Some(5),
            further_details: Some("disk on fire".into()),
            ..Diagnostic::default()
        };
        assert_eq!(
            odd.to_string(),
            "9999 an error that the standard does not name (informative, seen by an unknown entity, try again in 5 min): disk on fire"
        );
        assert_eq!(odd.delay(), Some(Duration::from_secs(300)));
    }
}
