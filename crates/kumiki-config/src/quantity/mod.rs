//! Quantities with their units written out, as scenario files and the command line have them.
//!
//! | quantity | base unit | units |
//! |---|---|---|
//! | [`Duration`] | ns | `ns`, `us` (or a micro sign), `ms`, `s`, `min`, `h` |
//! | [`Rate`] | bit/s | `b/s`, `kb/s`, `Mb/s`, `Gb/s`, `Tb/s` (powers of 1000); also `Mbps` and `Mbit/s` |
//! | [`Octets`] | octet | `B`; `kB`, `MB`, `GB`, `TB` (powers of 1000); `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024) |
//! | [`Share`] | 10^-12 | `%`, `ppm`, `ppb` |
//! | `u64` | one | none |
//!
//! A value is decimal digits, perhaps with a point and with `_` between digits, then the unit; a space between them is
//! free. Zero needs no unit. Arithmetic is exact: `149.76 Mb/s` is 149,760,000 bit/s, and a value that is not a whole
//! number of base units is refused rather than rounded. `KB` is refused, because it stands for 1000 as often as for
//! 1024; so is a rate in `MB/s`.
//!
//! A list is values between commas, and any of them may be a range: `0 ms .. 200 ms step 20 ms` (the end belongs to
//! it where a step meets it) or `8 KiB .. 256 KiB times 2`; a range of bare numbers needs no step, `1 .. 5`.
//!
//! What differs from time to time is a [`Distribution`]: `exponential 5 ms`.
//!
//! Left out: signs, exponents, arithmetic, and units of anything else.

use std::fmt;
use std::str::FromStr;

use kumiki_graph::Duration;

mod distribution;
mod parse;
#[cfg(test)]
mod tests;

pub use distribution::Distribution;
pub use parse::SIGN;
pub use parse::{Invalid, LONGEST_LIST, parse, parse_list};

/// A transmission rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// `n` bits per second.
    #[must_use]
    pub const fn from_bits_per_second(n: u64) -> Self {
        Self(n)
    }

    /// Bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// 10^6 bits per second, for a printed figure.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
    pub const fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// A size in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Octets(u64);

impl Octets {
    /// `n` octets.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number of octets.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.0
    }
}

/// A part of a whole, in units of 10^-12: a probability of loss, a width of an interval. May be above one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u64);

impl Share {
    /// Everything.
    pub const ONE: Self = Self(1_000_000_000_000);

    /// `n` parts in 10^12.
    #[must_use]
    pub const fn from_parts_per_trillion(n: u64) -> Self {
        Self(n)
    }

    /// Parts in 10^12.
    #[must_use]
    pub const fn parts_per_trillion(self) -> u64 {
        self.0
    }

    /// Of a number from 0 to 1, to the nearest part in 10^12.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 10^12")]
    pub fn from_f64(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * 1e12).round() as u64)
    }

    /// As a number: 5 % is 0.05.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a probability drawn against 53 random bits needs no more")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// In per cent: 5 % is 5.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "as above")]
    pub const fn as_percent(self) -> f64 {
        self.0 as f64 / 1e10
    }
}

/// A unit: how it is written, what it is worth in base units, and whether messages name it (the others are other
/// spellings of one that is named).
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// As it is written.
    pub name: &'static str,
    /// Its worth in base units.
    pub worth: u64,
    /// The spelling that messages suggest and printing uses.
    pub named: &'static str,
}

/// Something that [`parse`] and [`parse_list`] can read.
pub trait Quantity: Copy + Ord + fmt::Display {
    /// The accepted form for messages, with an example: `a duration such as "20 ms"`.
    const EXPECTED: &'static str;
    /// The base unit for messages, in the plural.
    const BASE: &'static str;
    /// The accepted units. None at all means that a bare number is meant.
    const UNITS: &'static [Unit];
    /// Units that are refused on purpose: the spelling, why, and what to write.
    const REFUSED: &'static [(&'static str, &'static str, &'static str)] = &[];
    /// What a number up to 1 without a unit is worth, where that is another way of writing it.
    const BARE: Option<u64> = None;
    /// From the whole number of base units.
    fn from_base(base: u64) -> Self;
    /// The whole number of base units.
    fn base(self) -> u64;
}

const fn unit(name: &'static str, worth: u64) -> Unit {
    Unit { name, worth, named: name }
}

const fn alias(name: &'static str, worth: u64, named: &'static str) -> Unit {
    Unit { name, worth, named }
}

/// A time of a run as all notes write it: "20.5 s".
#[must_use]
pub fn in_seconds(time: Duration) -> String {
    let part = format!("{:09}", time.as_nanos() % 1_000_000_000);
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    format!("{}{point}{part} s", time.as_nanos() / 1_000_000_000)
}

impl Quantity for Duration {
    const EXPECTED: &'static str = "a duration such as \"20 ms\" (ns, us, ms, s, min, h)";
    const BASE: &'static str = "nanoseconds";
    const UNITS: &'static [Unit] = &[
        unit("ns", 1),
        unit("us", 1_000),
        alias("\u{b5}s", 1_000, "us"),
        alias("\u{3bc}s", 1_000, "us"),
        unit("ms", 1_000_000),
        unit("s", 1_000_000_000),
        alias("sec", 1_000_000_000, "s"),
        unit("min", 60_000_000_000),
        unit("h", 3_600_000_000_000),
    ];
    const REFUSED: &'static [(&'static str, &'static str, &'static str)] =
        &[("m", "it stands for minutes as often as for milliseconds", "min or ms")];

    fn from_base(base: u64) -> Self {
        Self::from_nanos(base)
    }

    fn base(self) -> u64 {
        self.as_nanos()
    }
}

impl Quantity for Rate {
    const EXPECTED: &'static str = "a rate such as \"149.76 Mb/s\" (b/s, kb/s, Mb/s, Gb/s, Tb/s)";
    const BASE: &'static str = "bits per second";
    const UNITS: &'static [Unit] = &[
        unit("b/s", 1),
        alias("bps", 1, "b/s"),
        alias("bit/s", 1, "b/s"),
        unit("kb/s", 1_000),
        alias("kbps", 1_000, "kb/s"),
        alias("kbit", 1_000, "kb/s"),
        alias("kbit/s", 1_000, "kb/s"),
        unit("Mb/s", 1_000_000),
        alias("Mbps", 1_000_000, "Mb/s"),
        alias("Mbit", 1_000_000, "Mb/s"),
        alias("Mbit/s", 1_000_000, "Mb/s"),
        unit("Gb/s", 1_000_000_000),
        alias("Gbps", 1_000_000_000, "Gb/s"),
        alias("Gbit", 1_000_000_000, "Gb/s"),
        alias("Gbit/s", 1_000_000_000, "Gb/s"),
        unit("Tb/s", 1_000_000_000_000),
        alias("Tbps", 1_000_000_000_000, "Tb/s"),
        alias("Tbit", 1_000_000_000_000, "Tb/s"),
        alias("Tbit/s", 1_000_000_000_000, "Tb/s"),
    ];
    const REFUSED: &'static [(&'static str, &'static str, &'static str)] = &[
        ("kB/s", "rates are in bits, not octets", "kb/s (an eighth of it)"),
        ("MB/s", "rates are in bits, not octets", "Mb/s (an eighth of it)"),
        ("GB/s", "rates are in bits, not octets", "Gb/s (an eighth of it)"),
    ];

    fn from_base(base: u64) -> Self {
        Self(base)
    }

    fn base(self) -> u64 {
        self.0
    }
}

impl Quantity for Octets {
    const EXPECTED: &'static str = "a size such as \"48 KiB\" (B; kB, MB, GB, TB of 1000; KiB, MiB, GiB, TiB of 1024)";
    const BASE: &'static str = "octets";
    const UNITS: &'static [Unit] = &[
        unit("B", 1),
        alias("octet", 1, "B"),
        alias("octets", 1, "B"),
        alias("byte", 1, "B"),
        alias("bytes", 1, "B"),
        unit("kB", 1_000),
        unit("MB", 1_000_000),
        unit("GB", 1_000_000_000),
        unit("TB", 1_000_000_000_000),
        unit("KiB", 1 << 10),
        unit("MiB", 1 << 20),
        unit("GiB", 1 << 30),
        unit("TiB", 1 << 40),
    ];
    const REFUSED: &'static [(&'static str, &'static str, &'static str)] = &[
        ("KB", "it stands for 1000 as often as for 1024", "KiB (1024 octets) or kB (1000 octets)"),
        ("K", "it stands for 1000 as often as for 1024", "KiB (1024 octets) or kB (1000 octets)"),
        ("k", "it stands for 1000 as often as for 1024", "KiB (1024 octets) or kB (1000 octets)"),
        ("M", "it stands for 1000 as often as for 1024", "MiB (1024 KiB) or MB (1000 kB)"),
    ];

    fn from_base(base: u64) -> Self {
        Self(base)
    }

    fn base(self) -> u64 {
        self.0
    }
}

impl Quantity for Share {
    const EXPECTED: &'static str = "a share such as \"0.5 %\" (%, ppm, ppb) or 0.005";
    const BASE: &'static str = "parts in 10^12";
    const BARE: Option<u64> = Some(Self::ONE.0);
    const UNITS: &'static [Unit] =
        &[unit("%", 10_000_000_000), alias("percent", 10_000_000_000, "%"), unit("ppm", 1_000_000), unit("ppb", 1_000)];

    fn from_base(base: u64) -> Self {
        Self(base)
    }

    fn base(self) -> u64 {
        self.0
    }
}

impl Quantity for u64 {
    const EXPECTED: &'static str = "a whole number such as 16";
    const BASE: &'static str = "units";
    const UNITS: &'static [Unit] = &[];

    fn from_base(base: u64) -> Self {
        base
    }

    fn base(self) -> u64 {
        self
    }
}

/// Writes `base` in `unit`, worth `worth`, exactly, without trailing zeros. `worth` is a power of ten.
fn write_decimal(f: &mut fmt::Formatter<'_>, base: u64, worth: u64, unit: &str) -> fmt::Result {
    let whole = base.checked_div(worth).unwrap_or(base);
    let rest = base.checked_rem(worth).unwrap_or(0);
    if rest == 0 {
        return write!(f, "{whole} {unit}");
    }
    let digits = usize::try_from(worth.checked_ilog10().unwrap_or(0)).unwrap_or(0);
    let rest = format!("{rest:0digits$}");
    write!(f, "{whole}.{} {unit}", rest.trim_end_matches('0'))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (worth, unit) = match self.0 {
            1_000_000_000_000.. => (1_000_000_000_000, "Tb/s"),
            1_000_000_000.. => (1_000_000_000, "Gb/s"),
            1_000_000.. => (1_000_000, "Mb/s"),
            1_000.. => (1_000, "kb/s"),
            _ => (1, "b/s"),
        };
        write_decimal(f, self.0, worth, unit)
    }
}

/// Exactly, and as people write sizes: a whole number of the largest unit, of 1024 or, from five digits on, of 1000,
/// whichever number is the shorter: 64 KiB, 100 kB, 8000 B.
impl fmt::Display for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONG: u64 = 10_000;
        const BINARY: [(u64, &str); 5] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
        const DECIMAL: [(u64, &str); 4] =
            [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
        let largest = |units: &[(u64, &'static str)]| {
            units
                .iter()
                .find(|(worth, _)| self.0 > 0 && self.0.is_multiple_of(*worth))
                .map(|(worth, unit)| (self.0 / worth, *unit))
        };
        let binary = largest(&BINARY).unwrap_or((0, "B"));
        let decimal =
            largest(&DECIMAL).filter(|(number, _)| self.0 >= LONG && number.ilog10() <= binary.0.max(1).ilog10());
        let (number, unit) = decimal.unwrap_or(binary);
        write!(f, "{number} {unit}")
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0 %"),
            // Below 0.001 % the zeros are hard to count.
            n if n < 10_000_000 => write_decimal(f, n, 1_000_000, "ppm"),
            n => write_decimal(f, n, 10_000_000_000, "%"),
        }
    }
}

impl FromStr for Rate {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse(text)
    }
}

impl FromStr for Octets {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse(text)
    }
}

/// In a file it is a text with its unit, or a number from 0 to 1.
impl<'de> serde::Deserialize<'de> for Share {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShareVisitor)
    }
}

struct ShareVisitor;

impl serde::de::Visitor<'_> for ShareVisitor {
    type Value = Share;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Share::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Share, E> {
        parse(text).map_err(|invalid| E::custom(format_args!("{}; {}", invalid.problem, invalid.advice())))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Share, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Share, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Share, E> {
        self.visit_str(&number.to_string())
    }
}

impl FromStr for Share {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse(text)
    }
}
