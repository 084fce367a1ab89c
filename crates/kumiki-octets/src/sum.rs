//! The one's complement sum of 16-bit words: the Internet checksum.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1071 (sum, byte swapping, parallel sums), RFC 1624 equation 3 (changing one word) |
//! | Used by | IPv4 header, ICMP, UDP, TCP |
//! | Left out | RFC 1146 alternate checksums; the Fletcher sums of ISO 8073 and ISO 8473 |
//!
//! A [`Sum`] is what the octets add up to, *not* complemented: [`Sum::checksum`] gives the field that goes on the
//! wire. Sums compose: the sum of a concatenation follows from the sums of its parts ([`Sum::then`]), and a part can be
//! taken out again ([`Sum::without`]), so octets whose sum is known are never read a second time.
//!
//! # The two zeros
//!
//! One's complement has two representations of zero, 0x0000 and 0xFFFF. Adding gives 0x0000 only when every word added
//! is 0x0000; any other sum congruent to zero comes out as 0xFFFF. Taking away cannot know which was meant: what is
//! left over when everything but zeros has been removed is 0xFFFF, although the zeros alone sum to 0x0000. Hence
//!
//! - `==` compares the numbers, so that 0x0000 and 0xFFFF are equal; [`Sum::folded`] shows the representation;
//! - [`Sum::checksum`] is exact as soon as one word that is not 0x0000 has been added *after* the last subtraction,
//!   which the pseudo header of TCP and UDP and the version field of IPv4 always do.

mod kernel;

/// A folded one's complement sum of 16-bit big-endian words, not complemented.
///
/// The default is the sum of no octets.
///
/// ```
/// use kumiki_octets::Sum;
///
/// // The example of RFC 1071 section 3, whole and in two parts.
/// let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
/// assert_eq!(Sum::of(&octets).folded(), 0xddf2);
/// let (first, rest) = octets.split_at(3);
/// assert_eq!(Sum::of(first).then(first.len(), Sum::of(rest)), Sum::of(&octets));
///
/// // With its checksum in it, the sum is zero.
/// assert!(Sum::of(&octets).add_u16(Sum::of(&octets).checksum()).is_valid());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u16);

impl Sum {
    /// The sum of no octets, or of zeros.
    pub const ZERO: Self = Self(0);

    /// The sum of `octets`; an odd last octet is the high half of a word whose low half is zero (RFC 1071 section 1).
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        Self(kernel::sum(octets))
    }

    /// Copies `source` to `destination` and gives the sum of the octets copied.
    ///
    /// # Panics
    ///
    /// When the lengths differ, as [`slice::copy_from_slice`] does.
    #[must_use]
    pub fn copy(destination: &mut [u8], source: &[u8]) -> Self {
        Self(kernel::copy(destination, source))
    }

    /// A sum known from elsewhere, in the form [`Sum::folded`] gives.
    #[must_use]
    pub const fn from_folded(folded: u16) -> Self {
        Self(folded)
    }

    /// The sum as a 16-bit number. 0x0000 and 0xFFFF are the same sum.
    #[must_use]
    pub const fn folded(self) -> u16 {
        self.0
    }

    /// The checksum field that belongs to this sum: its complement (RFC 1071 section 1).
    ///
    /// UDP sends 0xFFFF where this is zero (RFC 768); that is left to UDP.
    #[must_use]
    pub const fn checksum(self) -> u16 {
        !self.0
    }

    /// Whether this is the sum of intact octets, their checksum field included: zero in either representation.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        matches!(self.0, 0x0000 | 0xFFFF)
    }

    /// The sum with one more word at an even position.
    #[must_use]
    pub const fn add_u16(self, word: u16) -> Self {
        let (sum, carry) = self.0.overflowing_add(word);
        // A carry leaves at most 0xFFFE, so that adding it back cannot carry again.
        Self(if carry { sum.wrapping_add(1) } else { sum })
    }

    /// The sum with one more 32-bit word, such as an IPv4 address, at an even position.
    #[must_use]
    pub const fn add_u32(self, word: u32) -> Self {
        let [a, b, c, d] = word.to_be_bytes();
        self.add_u16(u16::from_be_bytes([a, b])).add_u16(u16::from_be_bytes([c, d]))
    }

    /// As [`Sum::add_u16`] for each of a few words, but folded once.
    #[must_use]
    pub fn add_words<const N: usize>(self, words: [u16; N]) -> Self {
        const { assert!(N < 0xffff, "the total could overflow") }
        let total = words.iter().fold(u32::from(self.0), |total, word| total + u32::from(*word));
        let total = (total & 0xffff) + (total >> 16);
        let [a, b, ..] = (total + (total >> 16)).to_le_bytes();
        Self(u16::from_le_bytes([a, b]))
    }

    /// The sum of two runs of octets that both begin at even positions.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        self.add_u16(other.0)
    }

    /// The sum of a concatenation, where `self` covers the first `self_len` octets and `other` those behind.
    #[must_use]
    pub const fn then(self, self_len: usize, other: Self) -> Self {
        self.plus(other.at(self_len))
    }

    /// This sum's contribution when its octets begin at `offset`: the two octets of every word change places when
    /// `offset` is odd (RFC 1071 section 2 (B)).
    #[must_use]
    pub const fn at(self, offset: usize) -> Self {
        if offset.is_multiple_of(2) { self } else { Self(self.0.swap_bytes()) }
    }

    /// The sum of the same octets with a run of them, which begins at `offset` and sums to `other`, set to zero.
    ///
    /// When the run is the tail, this is the sum of what precedes it. See the module's text on the two zeros.
    #[must_use]
    pub const fn without(self, offset: usize, other: Self) -> Self {
        self.add_u16(!other.at(offset).0)
    }

    /// The sum of what follows the first `prefix_len` octets, which sum to `prefix`.
    #[must_use]
    pub const fn without_prefix(self, prefix_len: usize, prefix: Self) -> Self {
        self.without(0, prefix).at(prefix_len)
    }

    /// The checksum field after one 16-bit word at an even position has changed (RFC 1624 equation 3).
    #[must_use]
    pub const fn update(old_checksum: u16, old_word: u16, new_word: u16) -> u16 {
        Self(!old_checksum).add_u16(!old_word).add_u16(new_word).checksum()
    }
}

impl PartialEq for Sum {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || (self.is_valid() && other.is_valid())
    }
}

impl Eq for Sum {}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
