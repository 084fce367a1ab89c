//! Sequence numbers: RFC 9293 section 3.4.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A TCP sequence number: arithmetic modulo 2^32.
///
/// There is no `Ord`. "Before" means that the way forward is shorter than half the circle, and such an order is not
/// transitive over the whole circle, so sorting and maps need a reference point that only the caller has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// Whether `self` comes before `other`.
    #[must_use]
    pub const fn lt(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }

    /// Whether `self` comes before `other` or is the same.
    #[must_use]
    pub const fn leq(self, other: Self) -> bool {
        self.distance_from(other) <= 0
    }

    /// Whether `self` comes after `other`.
    #[must_use]
    pub const fn gt(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }

    /// Whether `self` comes after `other` or is the same.
    #[must_use]
    pub const fn geq(self, other: Self) -> bool {
        self.distance_from(other) >= 0
    }

    /// The later of the two; `self` if they are exactly half the circle apart.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if other.gt(self) { other } else { self }
    }

    /// The earlier of the two; `self` if they are exactly half the circle apart.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if self.gt(other) { other } else { self }
    }

    /// The signed way from `other` to `self`: positive if `self` is later. Exactly half the circle is negative from
    /// both sides.
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }

    /// Whether `self` is one of the `length` numbers that begin at `left`: the window test of RFC 9293 section 3.4
    /// (`RCV.NXT =< SEG.SEQ < RCV.NXT+RCV.WND`), right for any `length`.
    #[must_use]
    pub const fn is_within(self, left: Self, length: u32) -> bool {
        self.0.wrapping_sub(left.0) < length
    }

    /// The number `octets` later, modulo 2^32.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the space of sequence numbers is modulo 2^32")]
    pub const fn advance(self, octets: usize) -> Self {
        Self(self.0.wrapping_add(octets as u32))
    }
}

impl Add<u32> for Seq {
    type Output = Self;
    fn add(self, octets: u32) -> Self {
        Self(self.0.wrapping_add(octets))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, octets: u32) {
        *self = *self + octets;
    }
}

impl Sub<u32> for Seq {
    type Output = Self;
    fn sub(self, octets: u32) -> Self {
        Self(self.0.wrapping_sub(octets))
    }
}

/// The way forward from the right side to the left side, modulo 2^32: meaningful when the right side is known to be
/// the earlier one. [`Seq::distance_from`] is the signed form.
impl Sub for Seq {
    type Output = u32;
    fn sub(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_goes_round_the_end() {
        let (old, new) = (Seq(0xffff_fff0), Seq(0x10));
        assert!(old.lt(new) && old.leq(new) && new.gt(old) && new.geq(old));
        assert_eq!(old.max(new), new);
        assert_eq!(old.min(new), old);
        assert_eq!(new - old, 0x20);
        assert_eq!(old.distance_from(new), -0x20);
        assert_eq!(old + 0x20, new);
        assert_eq!(new - 0x20u32, old);
        assert_eq!(old.advance(0x20), new);
    }

    #[test]
    fn a_window_holds_its_first_octet_and_not_the_one_after_its_last() {
        let left = Seq(u32::MAX);
        assert!(left.is_within(left, 2));
        assert!(Seq(0).is_within(left, 2));
        assert!(!Seq(1).is_within(left, 2));
        assert!(!left.is_within(left, 0));
    }

    #[test]
    fn half_the_circle_apart_neither_is_later() {
        let (a, b) = (Seq(0), Seq(1 << 31));
        assert!(!a.gt(b) && !b.gt(a));
        assert_eq!((a.max(b), a.min(b), b.max(a), b.min(a)), (a, a, b, b));
    }

    proptest! {
        #[test]
        fn what_is_added_comes_after(start: u32, n in 1u32..0x7fff_ffff) {
            let s = Seq(start);
            prop_assert!((s + n).gt(s) && s.lt(s + n));
            prop_assert_eq!((s + n) - s, n);
            prop_assert_eq!(s.max(s + n), s + n);
            prop_assert_eq!(s.min(s + n), s);
        }
    }
}
