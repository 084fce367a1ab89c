//! Virtual and real time in the same two types.
//!
//! Both are whole nanoseconds: 2^64 ns is 584 years, pcapng stores nanoseconds, and media whose octet time is not a
//! whole number of nanoseconds keep their own remainder (see `kumiki-link`), so nothing drifts.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A length of time, in whole nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

/// A point on the clock of the executor: nanoseconds since its start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest representable time, about 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` nanoseconds.
    #[must_use]
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// `n` microseconds.
    #[must_use]
    pub const fn from_micros(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// `n` milliseconds.
    #[must_use]
    pub const fn from_millis(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// `n` seconds.
    #[must_use]
    pub const fn from_secs(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// The whole number of nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The whole number of milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, for arithmetic that ends in a printed figure.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - other`, or zero where that would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, or [`Duration::MAX`] where that does not fit.
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Whether this is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Instant {
    /// The start of the clock.
    pub const ZERO: Self = Self(0);
    /// After everything else.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The point `n` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, or zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start, for arithmetic that ends in a printed figure.
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        Duration(self.0).as_secs_f64()
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        self.saturating_mul(factor)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0.checked_div(divisor).unwrap_or(u64::MAX))
    }
}

/// What is a count of nanoseconds.
pub trait Nanoseconds: Copy {
    /// So many.
    fn from_nanos(n: u64) -> Self;

    /// How many.
    fn nanos(self) -> u64;
}

macro_rules! nanoseconds {
    ($($time:ty),*) => {
        $(impl Nanoseconds for $time {
            #[inline]
            fn from_nanos(n: u64) -> Self {
                Self(n)
            }

            #[inline]
            fn nanos(self) -> u64 {
                self.0
            }
        })*
    };
}

nanoseconds!(Duration, Instant);

/// A [`Duration`] or an [`Instant`] where there is one, in half the memory of an [`Option`]: connections keep many. The
/// last of all numbers says that there is none, so the last time, 584 years on, is kept as the nanosecond before.
///
/// ```
/// use kumiki_graph::{Duration, OptionalTime};
///
/// let mut shortest = OptionalTime::NONE;
/// assert!(shortest.is_none());
/// shortest = Some(Duration::from_millis(20)).into();
/// assert_eq!((shortest.known(), size_of_val(&shortest)), (Some(Duration::from_millis(20)), 8));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OptionalTime<T> {
    nanos: u64,
    is: PhantomData<T>,
}

impl<T> OptionalTime<T> {
    /// None.
    pub const NONE: Self = Self { nanos: u64::MAX, is: PhantomData };

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub const fn is_none(&self) -> bool {
        self.nanos == u64::MAX
    }
}

impl<T: Nanoseconds> OptionalTime<T> {
    /// It, where there is one.
    #[must_use]
    #[inline]
    pub fn known(self) -> Option<T> {
        (!self.is_none()).then(|| T::from_nanos(self.nanos))
    }

    /// It, which is `other` from now on where there was none.
    #[inline]
    pub fn get_or_insert(&mut self, other: T) -> T {
        let known = self.known().unwrap_or(other);
        *self = Some(known).into();
        known
    }
}

impl<T> Default for OptionalTime<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T: Nanoseconds> From<Option<T>> for OptionalTime<T> {
    #[inline]
    fn from(known: Option<T>) -> Self {
        known.map_or(Self::NONE, |it| Self { nanos: it.nanos().min(u64::MAX - 1), is: PhantomData })
    }
}

impl<T: Nanoseconds + fmt::Debug> fmt::Debug for OptionalTime<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.known(), f)
    }
}

/// Exactly: a whole number of a unit where that has no more than four digits, or is of seconds, "1500 ms", and else in
/// the largest unit of which it is one or more, "2.0424 ms".
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: u64 = 10_000;
        const UNITS: [(u64, &str, usize); 4] =
            [(1_000_000_000, "s", 9), (1_000_000, "ms", 6), (1_000, "us", 3), (1, "ns", 0)];
        let short = UNITS.iter().find(|(worth, ..)| self.0.is_multiple_of(*worth));
        let short = short.filter(|(worth, unit, _)| self.0 / worth < MOST || *unit == "s");
        let of_one = || UNITS.iter().find(|(worth, ..)| self.0 >= *worth);
        let (worth, unit, digits) = short.or_else(of_one).copied().unwrap_or((1, "ns", 0));
        let rest = format!("{:0digits$}", self.0 % worth);
        match rest.trim_end_matches('0') {
            "" => write!(f, "{} {unit}", self.0 / worth),
            rest => write!(f, "{}.{rest} {unit}", self.0 / worth),
        }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_written_exactly_and_in_a_unit_that_can_be_read() {
        for (nanos, text) in [
            (0, "0 s"),
            (999, "999 ns"),
            (1001, "1001 ns"),
            (2_042_400, "2.0424 ms"),
            (18_002_000, "18.002 ms"),
            (1_500_000_000, "1500 ms"),
            (20_500_000_000, "20.5 s"),
            (36_000_000_000_000, "36000 s"),
            (1_000_000_001, "1.000000001 s"),
        ] {
            assert_eq!(Duration::from_nanos(nanos).to_string(), text);
        }
    }
}
