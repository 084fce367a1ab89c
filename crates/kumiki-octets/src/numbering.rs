//! What the numbers in a field of a header stand for.

use core::fmt;

/// A numbering of protocols: whose numbers they are by which a lower layer tells those above it apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Numbering {
    /// What a number of it is called, such as "EtherType".
    pub name: &'static str,
    /// Digits in which people write them: hexadecimal ones, this many; 0: decimal.
    pub digits: u8,
}

impl Numbering {
    /// One whose numbers are written as decimals.
    #[must_use]
    pub const fn decimal(name: &'static str) -> Self {
        Self { name, digits: 0 }
    }

    /// One whose numbers are written in hexadecimal.
    #[must_use]
    pub const fn hexadecimal(name: &'static str, digits: u8) -> Self {
        Self { name, digits }
    }

    /// `number`, as people write it.
    pub fn write(&self, number: u16, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::from(self.digits) {
            0 => write!(f, "{} {number}", self.name),
            digits => write!(f, "{} {number:#0width$x}", self.name, width = digits + 2),
        }
    }
}
