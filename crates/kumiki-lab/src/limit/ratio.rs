//! Exact fractions, for rates that would otherwise be rounded on the way.

use core::fmt;

/// A fraction that is not negative, in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };

    /// `numerator / denominator`; `None` where `denominator` is zero.
    #[must_use]
    pub const fn new(numerator: u128, denominator: u128) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let common = gcd(numerator, denominator);
        Some(Self { numerator: numerator / common, denominator: denominator / common })
    }

    /// A whole number.
    #[must_use]
    pub const fn whole(n: u128) -> Self {
        Self { numerator: n, denominator: 1 }
    }

    /// Above the line, in lowest terms.
    #[must_use]
    pub const fn numerator(self) -> u128 {
        self.numerator
    }

    /// Below the line, in lowest terms.
    #[must_use]
    pub const fn denominator(self) -> u128 {
        self.denominator
    }

    /// `self + other`; `None` where that needs more than 128 bits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let one = self.numerator.checked_mul(other.denominator)?;
        let two = other.numerator.checked_mul(self.denominator)?;
        let denominator = self.denominator.checked_mul(other.denominator)?;
        Self::new(one.checked_add(two)?, denominator)
    }

    /// `self - other`; `None` where that is negative or needs more than 128 bits.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let one = self.numerator.checked_mul(other.denominator)?;
        let two = other.numerator.checked_mul(self.denominator)?;
        let denominator = self.denominator.checked_mul(other.denominator)?;
        Self::new(one.checked_sub(two)?, denominator)
    }

    /// `self * other`; `None` where that needs more than 128 bits.
    #[must_use]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        // Across first, so that the products stay as small as they can.
        let one = Self::new(self.numerator, other.denominator)?;
        let two = Self::new(other.numerator, self.denominator)?;
        Self::new(one.numerator.checked_mul(two.numerator)?, one.denominator.checked_mul(two.denominator)?)
    }

    /// `self / other`; `None` where `other` is zero, or that needs more than 128 bits.
    #[must_use]
    pub fn checked_div(self, other: Self) -> Option<Self> {
        self.checked_mul(Self::new(other.denominator, other.numerator)?)
    }

    /// The nearest multiple of `10^-decimals`, the larger one where two are as near; `None` where that needs more than
    /// 128 bits.
    #[must_use]
    pub fn rounded(self, decimals: u32) -> Option<Self> {
        let scale = 10u128.checked_pow(decimals)?;
        let twice = self.numerator.checked_mul(scale)?.checked_mul(2)?;
        let doubled = self.denominator.checked_mul(2)?;
        Self::new(twice.checked_add(self.denominator)? / doubled, scale)
    }

    /// The next whole number that is not below.
    #[must_use]
    pub const fn ceil(self) -> u128 {
        self.numerator.div_ceil(self.denominator)
    }

    /// As a floating-point number, for drawing and for result rows.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a drawn or printed figure needs no more than 53 bits")]
    pub const fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// Rounded correctly to the precision asked for, 3 decimals unless given.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(3);
        let exact = u32::try_from(decimals)
            .ok()
            .and_then(|decimals| Some((self.rounded(decimals)?, 10u128.checked_pow(decimals)?)))
            .and_then(|(rounded, scale)| Some((rounded.checked_mul(Self::whole(scale))?.numerator, scale)));
        let Some((units, scale)) = exact else {
            return write!(f, "{:.decimals$}", self.as_f64());
        };
        let text =
            if decimals == 0 { units.to_string() } else { format!("{}.{:0decimals$}", units / scale, units % scale) };
        f.pad_integral(true, "", &text)
    }
}

const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    if a == 0 { 1 } else { a }
}
