//! Rates of lines, and what they carry, without rounding.
//!
//! | | |
//! |---|---|
//! | Specification | SONET/SDH payload: ITU-T G.707 (columns of the SPE less path overhead and fixed stuff); DS-3: G.752; PLCP: G.804 |
//! | Left out | clocks that wander: a line's is off by a fixed part ([`Rate::off_by`]); pointer movements |
//!
//! A rate is a fraction, and a point in time is computed from a *count* since some beginning, never by adding up
//! rounded steps: a million frames end where they should.

use core::fmt;

use kumiki_graph::Duration;

/// Nanoseconds in a second.
const NANOS: u128 = 1_000_000_000;

/// Bits per second, as an exact fraction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate {
    bits: u64,
    seconds: u64,
}

impl Rate {
    /// STS-3c / STM-1 line rate, 155.52 Mbit/s.
    pub const OC3_LINE: Self = Self::bits_per_second(155_520_000);
    /// What STS-3c (VC-4) carries, 149.76 Mbit/s: 2340 octets in 125 us.
    pub const OC3C: Self = Self::bits_per_second(149_760_000);
    /// What STS-12c (VC-4-4c) carries, 599.04 Mbit/s.
    pub const OC12C: Self = Self::bits_per_second(599_040_000);
    /// What STS-48c (VC-4-16c) carries, 2396.16 Mbit/s.
    pub const OC48C: Self = Self::bits_per_second(2_396_160_000);
    /// What STS-192c (VC-4-64c) carries, 9584.64 Mbit/s.
    pub const OC192C: Self = Self::bits_per_second(9_584_640_000);
    /// DS-3 line rate, 44.736 Mbit/s.
    pub const DS3_LINE: Self = Self::bits_per_second(44_736_000);
    /// What DS-3 carries where cells are mapped straight into it and found by their HEC (G.804), 44.2097 Mbit/s: 84 of
    /// 85 bits. One of 85 is overhead.
    pub const DS3: Self = Self::ratio(44_736_000 * 84, 85);
    /// What the 4B/5B line of an ATM LAN carries whose cells go at 140 Mbit/s ("TAXI" of the ATM Forum UNI 3.1; the
    /// forum's own rate is 100).
    pub const TAXI_140: Self = Self::bits_per_second(140_000_000);
    /// Whole cells over DS-3 with PLCP framing, 40.704 Mbit/s: 12 cells of 53 octets in 125 us.
    pub const DS3_PLCP: Self = Self::bits_per_second(40_704_000);

    /// `n` bits per second; at least 1 is taken.
    #[must_use]
    pub const fn bits_per_second(n: u64) -> Self {
        Self { bits: if n == 0 { 1 } else { n }, seconds: 1 }
    }

    /// `bits` in `seconds`; at least 1 of each is taken.
    #[must_use]
    pub const fn ratio(bits: u64, seconds: u64) -> Self {
        Self { bits: if bits == 0 { 1 } else { bits }, seconds: if seconds == 0 { 1 } else { seconds } }
    }

    /// This, where the clock is `ppm` parts per million fast, or slow where it is negative; at least a bit in some time
    /// is taken.
    ///
    /// Exact up to 18 Tbit/s; up to 1000 Tbit/s it is off by less than a bit in a million seconds.
    #[must_use]
    pub const fn off_by(self, ppm: i32) -> Self {
        const MILLION: u128 = 1_000_000;
        if ppm == 0 {
            return self;
        }
        let parts = 1_000_000_i64 + ppm as i64;
        let parts = if parts < 1 { 1 } else { parts.unsigned_abs() as u128 };
        let (mut bits, mut seconds) = (self.bits as u128 * parts, self.seconds as u128 * MILLION);
        let (mut a, mut shared) = (bits, seconds);
        while a != 0 {
            (a, shared) = (shared % a, a);
        }
        (bits, seconds) = (bits / shared, seconds / shared);
        while bits > u64::MAX as u128 || seconds > u64::MAX as u128 {
            (bits, seconds) = (bits >> 1, seconds >> 1);
        }
        #[expect(clippy::cast_possible_truncation, reason = "they fit by now")]
        Self::ratio(bits as u64, seconds as u64)
    }

    /// Numerator and denominator of the bits per second.
    #[must_use]
    pub const fn fraction(self) -> (u64, u64) {
        (self.bits, self.seconds)
    }

    /// How long `n` octets last, rounded down to whole nanoseconds; the longest duration where it does not fit.
    #[must_use]
    pub fn time_of_octets(self, n: u64) -> Duration {
        // Everyday numbers fit into 64 bits, whose division is several times faster.
        let small = n.checked_mul(8_000_000_000).and_then(|bits| bits.checked_mul(self.seconds));
        if let Some(bits) = small {
            return Duration::from_nanos(bits / self.bits);
        }
        let nanos =
            u128::from(n).saturating_mul(8 * NANOS).saturating_mul(u128::from(self.seconds)) / u128::from(self.bits);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How long `n` bits last, rounded down to whole nanoseconds; the longest duration where it does not fit.
    #[must_use]
    pub fn time_of_bits(self, n: u64) -> Duration {
        let nanos =
            u128::from(n).saturating_mul(NANOS).saturating_mul(u128::from(self.seconds)) / u128::from(self.bits);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many whole bits fit into `time`.
    #[must_use]
    pub fn bits_in(self, time: Duration) -> u64 {
        let bits = u128::from(time.as_nanos()) * u128::from(self.bits) / NANOS.saturating_mul(u128::from(self.seconds));
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// Mbit/s, for arithmetic that ends in a printed figure.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
    pub const fn as_mbps(self) -> f64 {
        self.bits as f64 / self.seconds as f64 / 1e6
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.as_mbps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sonet_payload_is_columns_times_rows() {
        // 261 N/3 columns of the SPE less N/3 of path overhead and fixed stuff, 9 rows, 8000 frames a second.
        for (rate, n) in [(Rate::OC3C, 1), (Rate::OC12C, 4), (Rate::OC48C, 16), (Rate::OC192C, 64)] {
            let columns = 261 * n - n;
            assert_eq!(rate, Rate::bits_per_second(columns * 9 * 8 * 8000));
        }
    }

    #[test]
    fn a_second_of_octets_lasts_a_second_at_any_count() {
        for rate in [Rate::OC3C, Rate::OC192C, Rate::DS3_LINE] {
            let (bits, _) = rate.fraction();
            for seconds in [1, 1_000_000, 1_000_000_000] {
                assert_eq!(rate.time_of_octets(bits / 8 * seconds).as_nanos(), seconds * 1_000_000_000);
            }
        }
    }

    #[test]
    fn a_clock_that_is_off_gives_as_many_bits_more_or_less_and_drifts_no_further() {
        for (rate, ppm) in
            [(Rate::OC3C, 20), (Rate::OC3C, -20), (Rate::OC192C, 7), (Rate::DS3, -3), (Rate::ratio(7, 3), 1)]
        {
            let (bits, seconds) = rate.fraction();
            let (off, per) = rate.off_by(ppm).fraction();
            let parts = u128::try_from(1_000_000 + i64::from(ppm)).unwrap();
            assert_eq!(u128::from(off) * u128::from(seconds) * 1_000_000, u128::from(bits) * u128::from(per) * parts);
        }
        assert_eq!(Rate::OC3C.off_by(0), Rate::OC3C);
        assert_eq!(Rate::OC3C.off_by(-2_000_000).time_of_bits(0).as_nanos(), 0);
        let fastest = Rate::bits_per_second(999_999_999_999_999);
        assert!((fastest.off_by(100).as_mbps() / fastest.as_mbps() - 1.0001).abs() < 1e-12);
    }

    #[test]
    fn fractions_are_exact() {
        // Three bits a second: an octet lasts 8/3 s.
        let rate = Rate::ratio(6, 2);
        assert_eq!(rate.time_of_octets(1).as_nanos(), 2_666_666_666);
        assert_eq!(rate.time_of_octets(3).as_nanos(), 8_000_000_000);
    }
}
