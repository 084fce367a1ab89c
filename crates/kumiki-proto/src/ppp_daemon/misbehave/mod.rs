//! A peer that does what it should not, on command.

/// What is done wrong on purpose.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Script {}
