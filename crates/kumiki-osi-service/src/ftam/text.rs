//! Strings, secrets, and what is handed on without being understood.

use core::fmt;
use kumiki_octets::text::is_unseen;

use crate::Oid;

/// Text as GraphicString has it: octets, of which those of ASCII mean themselves.
///
/// The standard lets escape sequences switch to other character sets (ISO 2022). Peers send octets of whichever set
/// their filestore uses, so the octets are kept, and nothing is switched.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GraphicString(Vec<u8>);

impl GraphicString {
    /// The octets as they are on the wire.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// The text, where the octets are UTF-8, as those of ASCII are.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        core::str::from_utf8(&self.0).ok()
    }

    /// Whether there is no octet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for GraphicString {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for GraphicString {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<Vec<u8>> for GraphicString {
    fn from(octets: Vec<u8>) -> Self {
        Self(octets)
    }
}

impl From<&[u8]> for GraphicString {
    fn from(octets: &[u8]) -> Self {
        Self(octets.to_vec())
    }
}

/// UTF-8 if it is, ISO 8859-1 otherwise; what is not seen ([`is_unseen`]) is written as Rust would.
impl fmt::Display for GraphicString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut one = |c: char| {
            if is_unseen(c) { write!(f, "{}", c.escape_default()) } else { fmt::Write::write_char(f, c) }
        };
        match self.text() {
            Some(text) => text.chars().try_for_each(&mut one),
            None => self.0.iter().try_for_each(|octet| one(char::from(*octet))),
        }
    }
}

impl fmt::Debug for GraphicString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A password. It is never shown, neither by `Debug` nor by `Display`.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// GraphicString, as almost everybody sends it.
    Text(GraphicString),
    /// OCTET STRING.
    Octets(Vec<u8>),
}

impl Password {
    /// What is to be compared, whichever form it has.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.octets(),
            Self::Octets(octets) => octets,
        }
    }
}

/// The empty one, which stands where a password is to be given and none is known.
impl Default for Password {
    fn default() -> Self {
        Self::Text(GraphicString::default())
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(not shown)")
    }
}

/// One whole element of BER, tag and length included, of a type that is not known here.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Any(pub Vec<u8>);

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Any(")?;
        self.0.iter().try_for_each(|o| write!(f, "{o:02x}"))?;
        f.write_str(")")
    }
}

/// EXTERNAL (X.690 section 8.18): a value of another abstract syntax.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct External {
    /// Names the type, or the transfer syntax beside a presentation context.
    pub direct_reference: Option<Oid>,
    /// The presentation context.
    pub indirect_reference: Option<i64>,
    /// A description for people.
    pub descriptor: Option<GraphicString>,
    /// The value.
    pub encoding: ExternalEncoding,
}

/// How the value of an [`External`] is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExternalEncoding {
    /// One element of BER.
    SingleAsn1(Any),
    /// Octets.
    OctetAligned(Vec<u8>),
    /// Bits.
    Arbitrary {
        /// How many bits of the last octet are none, 0 to 7.
        unused: u8,
        /// The bits, from the left.
        octets: Vec<u8>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for secret in [Password::from("secret"), Password::Octets(b"secret".into())] {
            let shown = format!("{secret} {secret:?} {:?}", Some(&secret));
            assert!(!shown.contains("secret"), "{shown}");
            assert!(!shown.contains("115"), "{shown}");
            assert_eq!(secret.octets(), b"secret");
        }
    }

    #[test]
    fn text_of_any_character_set_is_kept_and_can_be_read() {
        let latin_1 = GraphicString::from(&[0x47, 0xfc, 0x6e][..]);
        assert_eq!(latin_1.to_string(), "G\u{fc}n");
        assert_eq!(latin_1.text(), None);
        assert_eq!(GraphicString::from("G\u{fc}n").to_string(), "G\u{fc}n");
        assert_eq!(GraphicString::from("a\x1b(B").to_string(), "a\\u{1b}(B");
    }
}
