//! A line that carries ATM cells is a row of slots.
//!
//! | | |
//! |---|---|
//! | Model | slots of equal length, one after the other without a gap, at the rate that the line has for cells |
//! | Left out | where in a SONET/SDH or PLCP frame a cell lies: overhead columns and rows come between cells there, for less than a microsecond at a time, and are spread evenly here; idle cells are slots that nobody takes |

use kumiki_graph::{Duration, Instant};
use kumiki_wire::atm::cell::rm::CellRate;

use crate::Rate;

/// Bits in a cell (ITU-T I.361).
const CELL_BITS: u64 = 424;

/// Nanoseconds in a second.
const NANOS: u64 = 1_000_000_000;

/// When the slots of a line begin: slot `i` at `phase + i * 424 / rate`, rounded down to a nanosecond once, so that
/// nothing drifts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slots {
    /// A slot lasts `nanos / per` nanoseconds, in lowest terms.
    nanos: Divisor,
    per: Divisor,
    phase: Duration,
}

/// What is divided by again and again, with its reciprocal: two products and a comparison, where a processor may take
/// forty cycles to divide 64 bits. Simulations of cells divide more often than they do anything else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Divisor {
    /// Above 0.
    value: u64,
    /// `2^64 / value`, rounded down, and below `2^64`.
    reciprocal: u64,
}

impl Divisor {
    const fn new(value: u64) -> Self {
        Self { value, reciprocal: u64::MAX / value }
    }

    /// `dividend / value`, rounded down, and what remains.
    #[inline]
    fn divide(self, dividend: u64) -> (u64, u64) {
        // As 2^64 / value is above the reciprocal by 1 at most, this is the quotient or 1 less.
        let quotient = high(u128::from(dividend) * u128::from(self.reciprocal));
        let remainder = dividend - quotient * self.value;
        if remainder < self.value { (quotient, remainder) } else { (quotient + 1, remainder - self.value) }
    }
}

/// The higher 64 bits.
#[inline]
const fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

const fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Slots {
    /// The slots of a line whose cells together have `rate`, 53 octets each, the first at [`Instant::ZERO`].
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let (bits, seconds) = rate.fraction();
        // First take out what the rate shares with its factors, so that products stay small.
        let shared = gcd(bits, NANOS);
        let (bits, nanos) = (bits / shared, NANOS / shared);
        let shared = gcd(bits, CELL_BITS);
        let (bits, cell) = (bits / shared, CELL_BITS / shared);
        let shared = gcd(bits, seconds);
        let (bits, seconds) = (bits / shared, seconds / shared);
        let nanos = cell.saturating_mul(nanos).saturating_mul(seconds);
        Self { nanos: Divisor::new(nanos), per: Divisor::new(bits), phase: Duration::ZERO }
    }

    /// The same slots, all later by `phase`.
    #[must_use]
    pub const fn with_phase(self, phase: Duration) -> Self {
        Self { phase, ..self }
    }

    /// When `slot` begins.
    #[must_use]
    pub fn at(&self, slot: u64) -> Instant {
        let nanos = slot.checked_mul(self.nanos.value).map_or_else(
            || {
                let nanos = u128::from(slot) * u128::from(self.nanos.value) / u128::from(self.per.value);
                u64::try_from(nanos).unwrap_or(u64::MAX)
            },
            |nanos| self.per.divide(nanos).0,
        );
        Instant::from_nanos(nanos) + self.phase
    }

    /// The first slot that begins at `t` or later.
    #[must_use]
    pub fn first_at_or_after(&self, t: Instant) -> u64 {
        let t = t.saturating_since(Instant::ZERO + self.phase).as_nanos();
        // floor(i * nanos / per) >= t exactly where i * nanos >= t * per.
        t.checked_mul(self.per.value).map_or_else(
            || {
                let slot = (u128::from(t) * u128::from(self.per.value)).div_ceil(u128::from(self.nanos.value));
                u64::try_from(slot).unwrap_or(u64::MAX)
            },
            |scaled| {
                let (slot, rest) = self.nanos.divide(scaled);
                slot + u64::from(rest > 0)
            },
        )
    }

    /// How many slots there are in a second, rounded down to a 512th of one.
    #[must_use]
    pub fn rate(&self) -> CellRate {
        let parts =
            u128::from(CellRate::PARTS) * u128::from(NANOS) * u128::from(self.per.value) / u128::from(self.nanos.value);
        CellRate::from_parts(u64::try_from(parts).unwrap_or(u64::MAX))
    }

    /// How long a slot lasts, rounded down.
    #[must_use]
    pub const fn cell_time(&self) -> Duration {
        Duration::from_nanos(self.nanos.value / self.per.value)
    }

    /// Whether slots of `other` last exactly as long.
    #[must_use]
    pub const fn same_rate(&self, other: &Self) -> bool {
        self.nanos.value == other.nanos.value && self.per.value == other.per.value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_second_of_oc3c_is_353207_and_a_half_cells() {
        let slots = Slots::new(Rate::OC3C);
        // 149.76e6 / 424 cells a second: 18720000 cells in exactly 53 s.
        assert_eq!(slots.at(18_720_000).as_nanos(), 53_000_000_000);
        assert_eq!(slots.at(1).as_nanos(), 2_831);
        assert_eq!(slots.cell_time().as_nanos(), 2_831);
    }

    #[test]
    fn clocks_that_are_40_ppm_apart_drift_by_as_much_and_no_more() {
        let [fast, slow] = [20, -20].map(|ppm| Slots::new(Rate::OC3C.off_by(ppm)));
        let end = Instant::from_nanos(100_000_000_000);
        // 100 s of 149.76e6 (1 +- 20e-6) bits in cells of 424: the slots that begin before the end.
        let begun = |parts: u64| (100_u128 * 149_760_000 * u128::from(parts)).div_ceil(424 * 1_000_000);
        assert_eq!(u128::from(fast.first_at_or_after(end)), begun(1_000_020));
        assert_eq!(u128::from(slow.first_at_or_after(end)), begun(999_980));
        // 40 ppm of 35320754.7 slots.
        assert_eq!(begun(1_000_020) - begun(999_980), 1413);
        // 18720000 slots in 53 s are 93601872 in 265 s with 20 ppm more, and 93598128 with as much less.
        assert_eq!(fast.at(93_601_872).as_nanos(), 265_000_000_000);
        assert_eq!(slow.at(93_598_128).as_nanos(), 265_000_000_000);
        assert_eq!(Slots::new(Rate::OC3C.off_by(0)), Slots::new(Rate::OC3C));
    }

    #[test]
    fn plcp_has_96000_cells_a_second() {
        assert_eq!(Slots::new(Rate::DS3_PLCP).at(96_000).as_nanos(), 1_000_000_000);
    }

    #[test]
    fn a_phase_moves_all_slots() {
        let slots = Slots::new(Rate::OC3C).with_phase(Duration::from_nanos(700));
        assert_eq!(slots.at(0).as_nanos(), 700);
        assert_eq!(slots.first_at_or_after(Instant::from_nanos(3)), 0);
        assert_eq!(slots.first_at_or_after(Instant::from_nanos(701)), 1);
    }

    proptest! {
        #[test]
        fn to_divide_by_a_product_is_to_divide(dividend: u64, value in 1_u64.., shift in 0..64_u32, by in 0..64_u32) {
            // Of all sizes, and at the ends of the range.
            for dividend in [dividend >> by, 0, u64::MAX] {
                for value in [(value >> shift).max(1), 1, u64::MAX] {
                    let product = Divisor::new(value).divide(dividend);
                    prop_assert_eq!(product, (dividend / value, dividend % value));
                    // Where quotients change.
                    let whole = dividend / value * value;
                    let before = whole.saturating_sub(1);
                    prop_assert_eq!(Divisor::new(value).divide(whole), (whole / value, 0));
                    prop_assert_eq!(Divisor::new(value).divide(before), (before / value, before % value));
                }
            }
        }

        #[test]
        fn a_slot_is_found_by_its_beginning(slot in 0..1_u64 << 32, phase in 0..100_000_u64,
            rate in prop_oneof![Just(Rate::OC3C), Just(Rate::OC192C), Just(Rate::DS3_PLCP), Just(Rate::ratio(7_777, 3))])
        {
            let slots = Slots::new(rate).with_phase(Duration::from_nanos(phase));
            let begin = slots.at(slot);
            prop_assert_eq!(slots.first_at_or_after(begin), slot);
            prop_assert_eq!(slots.first_at_or_after(begin + Duration::from_nanos(1)), slot + 1);
        }
    }
}
