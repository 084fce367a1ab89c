//! The one error of this crate.

use core::fmt;

use kumiki_octets::text::counted;

#[cfg(feature = "osi")]
use crate::osi::ber;

/// Why octets are not the header they should be: the protocol, the field, what was found and what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fewer octets than the header needs.
    Short {
        /// Protocol that was being read.
        protocol: &'static str,
        /// Octets that the header needs, as far as it could be read.
        need: usize,
        /// Octets that there are.
        have: usize,
    },
    /// A field has a value that the standard does not allow, or that this implementation does not know.
    Field {
        /// Protocol that was being read.
        protocol: &'static str,
        /// The standard's name of the field.
        field: &'static str,
        /// Its value on the wire.
        found: u64,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A length field contradicts the header or the PDU that carries it.
    Length {
        /// Protocol that was being read.
        protocol: &'static str,
        /// The standard's name of the field.
        field: &'static str,
        /// Its value, in octets.
        found: usize,
        /// Smallest value that would have been accepted.
        least: usize,
        /// Largest value that would have been accepted, usually the octets delivered.
        most: usize,
    },
    /// A check over the header does not agree with its octets.
    Checksum {
        /// Protocol that was being read.
        protocol: &'static str,
        /// The standard's name of the field.
        field: &'static str,
        /// The value on the wire.
        found: u32,
        /// The value that the other octets give.
        expected: u32,
    },
    /// An element in the Basic Encoding Rules is not what it should be: only with the feature `osi`.
    #[cfg(feature = "osi")]
    Ber {
        /// PDU that was being read.
        protocol: &'static str,
        /// The standard's name of the field.
        field: &'static str,
        /// What was found and what would be right.
        fault: ber::BerError,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { protocol, need, have } => {
                write!(f, "{protocol}: {octets}, at least {need} needed", octets = counted(*have, "octet"))
            }
            Self::Field { protocol, field, found, expected } => {
                write!(f, "{protocol}: {field} is {found:#x}, expected {expected}")
            }
            Self::Length { protocol, field, found, least, most } => write!(
                f,
                "{protocol}: {field} is {octets}, expected {}",
                Span(*least, *most),
                octets = counted(*found, "octet")
            ),
            Self::Checksum { protocol, field, found, expected } => {
                write!(f, "{protocol}: {field} is {found:#x}, the octets give {expected:#x}")
            }
            #[cfg(feature = "osi")]
            Self::Ber { protocol, field, fault } => write!(f, "{protocol}: {field}: {fault}"),
        }
    }
}

impl core::error::Error for Malformed {}

/// The fewest and the most that would be right, to a person.
pub(crate) struct Span(pub(crate) usize, pub(crate) usize);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(least, most) = self;
        match *most {
            usize::MAX => write!(f, "{least} at least"),
            most if most == *least => write!(f, "{least}"),
            most => write!(f, "{least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_would_be_right() {
        let e = Malformed::Field { protocol: "IPv4", field: "version", found: 6, expected: "4" };
        assert_eq!(e.to_string(), "IPv4: version is 0x6, expected 4");
        let e = Malformed::Length { protocol: "UDP", field: "length", found: 3, least: 8, most: 20 };
        assert_eq!(e.to_string(), "UDP: length is 3 octets, expected 8 to 20");
        let e = Malformed::Length { protocol: "LCP", field: "magic-number", found: 3, least: 6, most: 6 };
        assert_eq!(e.to_string(), "LCP: magic-number is 3 octets, expected 6");
    }
    #[cfg(feature = "osi")]
    #[test]
    fn so_does_one_of_the_encoding_rules() {
        let fault = ber::BerError::Size { found: 0, least: 1, most: usize::MAX };
        assert_eq!(fault.to_string(), "0 octets of content, expected 1 at least");
    }
}
