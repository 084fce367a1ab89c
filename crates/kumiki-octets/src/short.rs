//! Fewer octets than asked for.

use core::fmt;

/// A message had fewer octets than asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short {
    /// Octets asked for.
    pub need: usize,
    /// Octets there are.
    pub have: usize,
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets asked for, {} there", self.need, self.have)
    }
}

impl core::error::Error for Short {}
