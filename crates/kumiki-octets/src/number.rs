//! Numbers of subscribers, as packed digits: the addresses of DTEs.

use core::fmt;
use core::str::FromStr;

use crate::address::{self, Address, AddressKind, AddressType};

/// The most digits of an address without a type.
pub const MOST_DIGITS: usize = 15;
/// The most digits of an address with a type and a plan, those two included.
pub const MOST_TYPED_DIGITS: usize = 17;

/// What the length's octet has set where the first two digits are type and plan.
const TYPED: u8 = 0x80;

/// A DTE address: up to 15 digits of X.121, or a type of address, a numbering plan and up to 15 digits.
///
/// A digit is anything that four bits can say, for peers send more than 0 to 9; digits above 9 are shown as `a` to `f`.
/// As text `12345`, or `1:1:12345` with the type and the plan in front: what is read from text has the digits 0 to 9,
/// as X.121 (type and plan `a` to `f` too).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Number {
    /// Two digits to the octet, the first in the upper half; unused ones are 0.
    packed: [u8; 9],
    /// How many digits, with [`TYPED`].
    len: u8,
}

/// Why digits or text are no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadNumber {
    /// More digits than the form has room for.
    Long,
    /// Something that is no digit, or a type without a plan.
    Text,
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long => {
                write!(f, "1 to {MOST_DIGITS} digits are expected, and a type and a plan before them at most")
            }
            Self::Text => write!(
                f,
                "1 to {MOST_DIGITS} digits are expected, such as \"12345\", or \"1:1:12345\" with type and numbering plan"
            ),
        }
    }
}

impl core::error::Error for BadNumber {}

impl Number {
    /// No digits: the address is not given.
    pub const NONE: Self = Self { packed: [0; 9], len: 0 };

    /// From digits of four bits each; upper bits are left out.
    ///
    /// # Errors
    /// There are more than [`MOST_DIGITS`].
    pub fn from_digits(digits: impl IntoIterator<Item = u8>) -> Result<Self, BadNumber> {
        let mut number = Self::NONE;
        for digit in digits {
            number.append(digit, MOST_DIGITS)?;
        }
        Ok(number)
    }

    /// From digits of which the first two are type of address and numbering plan.
    ///
    /// # Errors
    /// There are more than [`MOST_TYPED_DIGITS`], or there is only one.
    pub fn from_typed_digits(digits: impl IntoIterator<Item = u8>) -> Result<Self, BadNumber> {
        let mut number = Self::NONE;
        for digit in digits {
            number.append(digit, MOST_TYPED_DIGITS)?;
        }
        match number.len {
            0 => {}
            1 => return Err(BadNumber::Text),
            _ => number.len |= TYPED,
        }
        Ok(number)
    }

    /// From text that may be empty, or `-`: no address, or the beginning of every address. Otherwise as [`FromStr`].
    ///
    /// # Errors
    /// As of [`FromStr`], but that there may be no digits.
    pub fn or_none(text: &str) -> Result<Self, BadNumber> {
        match text {
            "" | "-" => Ok(Self::NONE),
            text => text.parse(),
        }
    }

    fn append(&mut self, digit: u8, most: usize) -> Result<(), BadNumber> {
        let at = usize::from(self.len);
        let octet = self.packed.get_mut(at / 2).filter(|_| at < most);
        let octet = octet.ok_or(BadNumber::Long)?;
        *octet |= (digit & 15) << if at % 2 == 0 { 4 } else { 0 };
        self.len += 1;
        Ok(())
    }

    /// How many digits stand on the line, type and plan included.
    #[must_use]
    pub const fn len(&self) -> usize {
        (self.len & !TYPED) as usize
    }

    /// Whether there is no address.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Type of address and numbering plan, where they are given.
    #[must_use]
    pub const fn type_and_plan(&self) -> Option<(u8, u8)> {
        let [first, ..] = self.packed;
        if self.len & TYPED == 0 { None } else { Some((first >> 4, first & 15)) }
    }

    /// All digits in order, type and plan first where they are given.
    pub fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        let halves = self.packed.iter().flat_map(|octet| [octet >> 4, octet & 15]);
        halves.take(self.len())
    }

    /// Whether this begins with the digits of `prefix`, in the same form. Everything begins with no digits.
    #[must_use]
    pub fn begins_with(&self, prefix: &Self) -> bool {
        prefix.is_empty()
            || self.type_and_plan() == prefix.type_and_plan()
                && self.len() >= prefix.len()
                && self.digits().zip(prefix.digits()).all(|(a, b)| a == b)
    }
}

/// Numbers of DTEs in an X.25 network (X.121).
pub static NUMBER: AddressKind = AddressKind { name: "DTE address", write: address::write_as::<Number> };

impl AddressType for Number {
    const KIND: &'static AddressKind = &NUMBER;

    fn to_address(self) -> Address {
        let [a, b, c, d, e, f, g, h, i] = self.packed;
        Address::new(&NUMBER, [a, b, c, d, e, f, g, h, i, self.len])
    }

    fn of_octets(octets: &[u8]) -> Option<Self> {
        let (packed, rest) = octets.split_first_chunk()?;
        Some(Self { packed: *packed, len: *rest.first()? })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("-");
        }
        let typed = self.type_and_plan().is_some();
        for (at, digit) in self.digits().enumerate() {
            if typed && matches!(at, 1 | 2) {
                f.write_str(":")?;
            }
            write!(f, "{digit:x}")?;
        }
        // A type and a plan alone are still not two digits.
        if typed && self.len() == 2 {
            f.write_str(":")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Number {
    type Err = BadNumber;

    fn from_str(text: &str) -> Result<Self, BadNumber> {
        let all = |text: &str, radix: u32| -> Result<Vec<u8>, BadNumber> {
            let digit = |c: char| c.to_digit(radix).and_then(|it| u8::try_from(it).ok());
            text.chars().map(|c| digit(c).ok_or(BadNumber::Text)).collect()
        };
        let Some((kind, rest)) = text.split_once(':') else {
            return match all(text, 10)? {
                none if none.is_empty() => Err(BadNumber::Text),
                digits => Self::from_digits(digits),
            };
        };
        let (plan, rest) = rest.split_once(':').ok_or(BadNumber::Text)?;
        let (kind, plan) = (all(kind, 16)?, all(plan, 16)?);
        if kind.len() != 1 || plan.len() != 1 || rest.is_empty() {
            return Err(BadNumber::Text);
        }
        Self::from_typed_digits([kind, plan, all(rest, 10)?].concat())
    }
}
