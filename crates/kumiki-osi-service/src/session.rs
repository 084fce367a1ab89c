//! The words of the session service: ITU-T X.215, and X.225 for how they are coded.

use core::fmt;

use kumiki_octets::{Message, Payload};

/// Functional units (X.225 section 8.3.1.7, session user requirements), a set. `Display` lists their names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FunctionalUnits(pub u16);

impl FunctionalUnits {
    /// None beside the kernel, which is always there.
    pub const KERNEL: Self = Self(0);
    /// Data in one direction at a time, by the data token.
    pub const HALF_DUPLEX: Self = Self(0x0001);
    /// Data in both directions at once.
    pub const DUPLEX: Self = Self(0x0002);
    /// Expedited data.
    pub const EXPEDITED: Self = Self(0x0004);
    /// Minor synchronisation points.
    pub const MINOR_SYNCHRONIZE: Self = Self(0x0008);
    /// Major synchronisation points.
    pub const MAJOR_SYNCHRONIZE: Self = Self(0x0010);
    /// Resynchronisation.
    pub const RESYNCHRONIZE: Self = Self(0x0020);
    /// Activities.
    pub const ACTIVITY: Self = Self(0x0040);
    /// A release that the peer may refuse, by the release token.
    pub const NEGOTIATED_RELEASE: Self = Self(0x0080);
    /// Capability data between activities.
    pub const CAPABILITY_DATA: Self = Self(0x0100);
    /// Exception reports.
    pub const EXCEPTIONS: Self = Self(0x0200);
    /// Typed data, which needs no token.
    pub const TYPED_DATA: Self = Self(0x0400);
    /// Symmetric synchronisation.
    pub const SYMMETRIC_SYNCHRONIZE: Self = Self(0x0800);
    /// Data separation.
    pub const DATA_SEPARATION: Self = Self(0x1000);

    const NAMES: [(Self, &'static str); 13] = [
        (Self::HALF_DUPLEX, "half-duplex"),
        (Self::DUPLEX, "duplex"),
        (Self::EXPEDITED, "expedited data"),
        (Self::MINOR_SYNCHRONIZE, "minor synchronize"),
        (Self::MAJOR_SYNCHRONIZE, "major synchronize"),
        (Self::RESYNCHRONIZE, "resynchronize"),
        (Self::ACTIVITY, "activity management"),
        (Self::NEGOTIATED_RELEASE, "negotiated release"),
        (Self::CAPABILITY_DATA, "capability data"),
        (Self::EXCEPTIONS, "exceptions"),
        (Self::TYPED_DATA, "typed data"),
        (Self::SYMMETRIC_SYNCHRONIZE, "symmetric synchronize"),
        (Self::DATA_SEPARATION, "data separation"),
    ];

    /// All of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What both have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The tokens that exist where these are in use (X.225 table 2): half-duplex has the data token, minor and
    /// symmetric synchronize the one for minor points, major synchronize and activities theirs, negotiated release its
    /// own.
    #[must_use]
    pub const fn tokens(self) -> Tokens {
        let mut tokens = 0;
        if self.0 & Self::HALF_DUPLEX.0 != 0 {
            tokens |= Tokens::DATA.0;
        }
        if self.0 & Self::MINOR_SYNCHRONIZE.0 != 0 {
            tokens |= Tokens::MINOR.0;
        }
        if self.0 & (Self::MAJOR_SYNCHRONIZE.0 | Self::ACTIVITY.0) != 0 {
            tokens |= Tokens::MAJOR.0;
        }
        if self.0 & Self::NEGOTIATED_RELEASE.0 != 0 {
            tokens |= Tokens::RELEASE.0;
        }
        Tokens(tokens)
    }
}

impl fmt::Display for FunctionalUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kernel")?;
        for (unit, name) in Self::NAMES {
            if self.has(unit) {
                write!(f, ", {name}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FunctionalUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of tokens, as the token item has them (X.225 section 8.3.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tokens(pub u8);

impl Tokens {
    /// Who has it may send data, where both do not.
    pub const DATA: Self = Self(0x01);
    /// Who has it may set minor synchronisation points.
    pub const MINOR: Self = Self(0x04);
    /// Who has it may set major synchronisation points and manage activities.
    pub const MAJOR: Self = Self(0x10);
    /// Who has it may begin a release.
    pub const RELEASE: Self = Self(0x40);

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What is in it and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What both have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// All of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Who is to have each token: the token setting item (X.225 section 8.3.1.8), two bits for each at the places of
/// [`Tokens`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TokenSetting(pub u8);

impl TokenSetting {
    /// The initiator has all of them.
    pub const INITIATOR: Self = Self(0x00);
    /// The responder has all of them.
    pub const RESPONDER: Self = Self(0x55);
    /// The called user says who has them.
    pub const CALLED_USER: Self = Self(0xaa);

    /// Those that are on the initiator's side; of those that the called user decides none.
    #[must_use]
    pub const fn with_initiator(self) -> Tokens {
        Tokens(!(self.0 | self.0 >> 1) & 0x55)
    }

    /// Those that are on the responder's side.
    #[must_use]
    pub const fn with_responder(self) -> Tokens {
        Tokens(self.0 & !(self.0 >> 1) & 0x55)
    }

    /// Those of which the called user is to say who has them.
    #[must_use]
    pub const fn undecided(self) -> Tokens {
        Tokens((self.0 >> 1) & 0x55)
    }
}

/// Number of a synchronisation point: 0 to 999,999, six digits (X.225 section 8.3.1.9).
pub type SyncPoint = u32;

/// The greatest [`SyncPoint`].
pub const LAST_SYNC_POINT: SyncPoint = 999_999;

/// What names a session connection for its users (X.225 section 8.3.1.2): each is the octets of the field, of which the
/// standard says only how many there may be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reference {
    /// The reference of the user whose side it is: calling in CN, called in AC; up to 64 octets.
    pub user: Vec<u8>,
    /// Common reference; up to 64 octets.
    pub common: Vec<u8>,
    /// Additional information; up to 4 octets.
    pub additional: Vec<u8>,
}

/// What users agree on when a session connection begins, beside its selectors and their data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Proposed (CN), or those of the proposed that the responder has too (AC). Without any, the provider's
    /// configuration.
    pub functional_units: FunctionalUnits,
    /// The first synchronisation point, where there are any.
    pub initial_sync_point: Option<SyncPoint>,
    /// Who is to have the tokens at first.
    pub tokens: Option<TokenSetting>,
    /// What names it.
    pub reference: Option<Reference>,
}

/// How a resynchronisation goes about it (X.225 section 8.3.19, resync type item).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resync {
    /// Back to a synchronisation point not earlier than the last one confirmed.
    Restart,
    /// On to a number that was never used: what was going on is given up.
    Abandon,
    /// To any number that the users like.
    Set,
}

impl fmt::Display for Resync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Restart => "restart",
            Self::Abandon => "abandon",
            Self::Set => "set",
        })
    }
}

/// What the session service has beside beginning, data, release and abort, as far as [`FunctionalUnits`] are there for
/// it.
///
/// All keep their places among data. The user data is octets for a user of the session service, and for a user of the
/// presentation service one value in its own context.
#[derive(Clone, Debug)]
pub enum Primitive {
    /// S-TYPED-DATA: data that needs no token. Takes credit as data does.
    TypedData {
        /// The data.
        data: Message,
        /// It ends here.
        end: bool,
    },
    /// S-SYNC-MINOR: a point between what was sent before and what comes after.
    SyncMinor {
        /// Its number, which the provider gives: on a request what the user believes it to be.
        number: SyncPoint,
        /// Whether the peer is to confirm it.
        explicit: bool,
        /// User data.
        data: Option<Message>,
    },
    /// Response and confirm of S-SYNC-MINOR: this point, and with it all before, are secured.
    SyncMinorReply {
        /// The number.
        number: SyncPoint,
        /// User data.
        data: Option<Message>,
    },
    /// S-RESYNCHRONIZE: what is in progress is thrown away.
    Resync {
        /// How.
        kind: Resync,
        /// The number to go on with; for [`Resync::Abandon`] the provider gives it.
        number: SyncPoint,
        /// Who is to have the tokens.
        tokens: TokenSetting,
        /// User data.
        data: Option<Message>,
    },
    /// Response and confirm of S-RESYNCHRONIZE.
    ResyncReply {
        /// The number to go on with.
        number: SyncPoint,
        /// Who has the tokens now.
        tokens: TokenSetting,
        /// User data.
        data: Option<Message>,
    },
    /// S-TOKEN-GIVE.
    GiveTokens {
        /// Which.
        tokens: Tokens,
        /// User data.
        data: Option<Message>,
    },
    /// S-TOKEN-PLEASE.
    PleaseTokens {
        /// Which.
        tokens: Tokens,
        /// User data.
        data: Option<Message>,
    },
}

impl Payload for Primitive {
    fn payload(&self) -> Option<&Message> {
        match self {
            Self::TypedData { data, .. } => Some(data),
            Self::SyncMinor { data, .. }
            | Self::SyncMinorReply { data, .. }
            | Self::Resync { data, .. }
            | Self::ResyncReply { data, .. }
            | Self::GiveTokens { data, .. }
            | Self::PleaseTokens { data, .. } => data.as_ref(),
        }
    }
}

/// Why a session entity refused a connection: the reason code of RF (X.225 section 8.3.5.10).
pub mod refusal {
    /// By the called user, who says no more.
    pub const USER: u8 = 0;
    /// By the called user: congestion.
    pub const USER_CONGESTION: u8 = 1;
    /// By the called user, whose data says why.
    pub const USER_DATA: u8 = 2;
    /// Session selector unknown.
    pub const SELECTOR_UNKNOWN: u8 = 0x81;
    /// The user of the selector is not there.
    pub const USER_NOT_ATTACHED: u8 = 0x82;
    /// The session entity is congested.
    pub const CONGESTION: u8 = 0x83;
    /// None of the proposed versions.
    pub const VERSION: u8 = 0x84;
    /// By the session entity, which says no more.
    pub const PROVIDER: u8 = 0x85;
    /// By a restriction of the implementation.
    pub const RESTRICTION: u8 = 0x86;

    /// What a code means.
    #[must_use]
    pub const fn meaning(code: u8) -> &'static str {
        match code {
            USER => "the called user refused",
            USER_CONGESTION => "the called user is congested",
            USER_DATA => "the called user refused, and its data says why",
            SELECTOR_UNKNOWN => "session selector unknown",
            USER_NOT_ATTACHED => "no user is attached to the session selector",
            CONGESTION => "the session entity is congested",
            VERSION => "none of the proposed protocol versions",
            PROVIDER => "the session entity refused, without a reason",
            RESTRICTION => "a restriction of the peer's implementation",
            _ => "a reason that X.225 does not define",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_listed_by_name() {
        let units = FunctionalUnits::DUPLEX.or(FunctionalUnits::MINOR_SYNCHRONIZE);
        assert_eq!(units.to_string(), "kernel, duplex, minor synchronize");
        assert_eq!(units.tokens(), Tokens::MINOR);
        assert_eq!(FunctionalUnits::KERNEL.to_string(), "kernel");
    }

    #[test]
    fn a_token_is_on_one_side_or_left_to_the_called_user() {
        // Data with the initiator, minor with the responder, major to be decided, release with the initiator.
        let setting = TokenSetting(0b00_10_01_00);
        assert_eq!(setting.with_initiator(), Tokens::DATA.or(Tokens::RELEASE));
        assert_eq!(setting.with_responder(), Tokens::MINOR);
        assert_eq!(setting.undecided(), Tokens::MAJOR);
    }
}
