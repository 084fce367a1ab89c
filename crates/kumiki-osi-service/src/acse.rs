//! The words of association control: ITU-T X.217, and X.227 for how they are coded.

use core::fmt;

use crate::Oid;

/// The abstract syntax of association control itself, version 1.
pub const ABSTRACT_SYNTAX: Oid = Oid::of(&[2, 2, 1, 0, 1]);

/// A title of an application process or the qualifier of an entity, as X.227 lets it be given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Title {
    /// Form 2 of an AP title.
    Oid(Oid),
    /// Form 2 of an AE qualifier.
    Number(i64),
    /// Form 1 of either: a name of the directory (X.501), in the octets of its encoding, which nobody here looks into.
    Name(Vec<u8>),
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oid(oid) => oid.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Name(octets) => write!(f, "a directory name of {} octets", octets.len()),
        }
    }
}

/// Who somebody is, as far as it is said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Application process title.
    pub ap_title: Option<Title>,
    /// Application entity qualifier.
    pub ae_qualifier: Option<Title>,
    /// Application process invocation identifier.
    pub ap_invocation: Option<i64>,
    /// Application entity invocation identifier.
    pub ae_invocation: Option<i64>,
}

/// The value by which somebody is authenticated (X.227, Authentication-value).
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// `charstring`: a password.
    Text(Vec<u8>),
    /// `bitstring`.
    Bits {
        /// The octets.
        octets: Vec<u8>,
        /// How many bits of the last one do not count.
        unused: u8,
    },
    /// `external` and `other`: the octets of the encoding, tag and length included.
    Raw(Vec<u8>),
}

impl fmt::Debug for Credential {
    /// Not what it is: that would find its way into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a credential")
    }
}

/// How somebody is authenticated (the authentication functional unit).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authentication {
    /// By which mechanism; where it is not said, the two have agreed on one before.
    pub mechanism: Option<Oid>,
    /// The value.
    pub value: Credential,
}

/// The result of an association request (X.227, Associate-result).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AssociateResult {
    /// It stands.
    #[default]
    Accepted,
    /// It will not stand, now or later.
    RejectedPermanent,
    /// It may stand another time.
    RejectedTransient,
}

/// Who says so and why (X.227, Associate-source-diagnostic).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Diagnostic {
    /// The user of association control.
    User(u8),
    /// Association control.
    Provider(u8),
}

impl Default for Diagnostic {
    fn default() -> Self {
        Self::User(0)
    }
}

impl Diagnostic {
    /// What it means.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::User(0) | Self::Provider(0) => "nothing to say",
            Self::User(1) | Self::Provider(1) => "no reason given",
            Self::User(2) => "application context name not supported",
            Self::User(3) => "calling AP title not recognised",
            Self::User(4) => "calling AP invocation identifier not recognised",
            Self::User(5) => "calling AE qualifier not recognised",
            Self::User(6) => "calling AE invocation identifier not recognised",
            Self::User(7) => "called AP title not recognised",
            Self::User(8) => "called AP invocation identifier not recognised",
            Self::User(9) => "called AE qualifier not recognised",
            Self::User(10) => "called AE invocation identifier not recognised",
            Self::User(11) => "authentication mechanism not recognised",
            Self::User(12) => "authentication mechanism required",
            Self::User(13) => "authentication failed",
            Self::User(14) => "authentication required",
            Self::Provider(2) => "no common version of association control",
            Self::User(_) | Self::Provider(_) => "a reason that X.227 does not define",
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.meaning())
    }
}
