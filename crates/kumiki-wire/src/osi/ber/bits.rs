//! BIT STRING values (X.690 section 8.6).

use core::fmt;
use std::borrow::Cow;

/// A BIT STRING. Bit 0 is the first: the most significant of the first octet.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Bits<'a> {
    octets: Cow<'a, [u8]>,
    unused: u8,
}

impl<'a> Bits<'a> {
    /// All bits of `octets` but the last `unused`; `None` where that is more than 7, or more than there are.
    #[must_use]
    pub fn new(octets: impl Into<Cow<'a, [u8]>>, unused: u8) -> Option<Self> {
        let octets = octets.into();
        (unused < 8 && (unused == 0 || !octets.is_empty())).then_some(Self { octets, unused })
    }

    /// Bits of a list of names, as flag words hold them: bit `n` of `word` (from the least significant) is bit `n` of
    /// the string. As many bits as the last one needs, and at least `least`, at most 64.
    #[must_use]
    pub fn named(word: u64, least: u32) -> Self {
        let len = (64 - word.leading_zeros()).max(least.min(64));
        let octets = word.reverse_bits().to_be_bytes();
        let whole = usize::try_from(len.div_ceil(8)).unwrap_or(8);
        let octets = octets.get(..whole).unwrap_or_default().to_vec();
        let unused = u8::try_from((8 - len % 8) % 8).unwrap_or(0);
        Self { octets: Cow::Owned(octets), unused }
    }

    /// How many bits there are.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.octets.len() * 8).saturating_sub(usize::from(self.unused))
    }

    /// Whether there are no bits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// Whether bit `n` is set; one that is not there is not.
    #[must_use]
    pub fn bit(&self, n: usize) -> bool {
        n < self.len() && self.octets.get(n / 8).is_some_and(|octet| octet & (0x80 >> (n % 8)) != 0)
    }

    /// The first 64 bits as a flag word: bit `n` of the string is bit `n` of the word. Bits beyond are names that
    /// nobody here knows.
    #[must_use]
    pub fn word(&self) -> u64 {
        (0..64).fold(0, |word, n| word | u64::from(self.bit(n)) << n)
    }

    /// The octets that hold the bits.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// How many bits of the last octet are not in the string: 0 to 7.
    #[must_use]
    pub const fn unused(&self) -> u8 {
        self.unused
    }

    /// The same, held by itself.
    #[must_use]
    pub fn into_owned(self) -> Bits<'static> {
        Bits { octets: Cow::Owned(self.octets.into_owned()), unused: self.unused }
    }
}

impl fmt::Display for Bits<'_> {
    /// As ASN.1 writes it: `'0110'B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for n in 0..self.len() {
            f.write_str(if self.bit(n) { "1" } else { "0" })?;
        }
        f.write_str("'B")
    }
}

impl fmt::Debug for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
