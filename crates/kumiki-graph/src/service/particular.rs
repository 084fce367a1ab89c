//! Primitives that one service has and no other.

use kumiki_octets::Message;
use kumiki_osi::session;

/// What only one service has; a provider of another drops and counts it. Each names its service.
#[derive(Clone, Debug)]
pub enum Particular {
    /// The session service, and through it the presentation service: tokens, typed data, synchronisation.
    Session(session::Primitive),
}

impl Particular {
    /// The user data it carries, for accounts and captures.
    #[must_use]
    pub const fn message(&self) -> Option<&Message> {
        match self {
            Self::Session(primitive) => primitive.message(),
        }
    }
}
