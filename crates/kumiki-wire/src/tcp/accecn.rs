//! The Accurate ECN option: three counters of octets, as many of them as are needed, in one of two orders.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9768 section 3.2.3, figure 4 and table 5 |
//! | Left out | the experimental forms (kind 254 with the numbers 0xACC0, 0xACC1 and 0xACCE), which section 7 wants gone |

use core::fmt;

use super::options::kind;

/// Which counter is first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// AccECN0: EE0B, ECEB, EE1B.
    #[default]
    Zero,
    /// AccECN1: EE1B, ECEB, EE0B.
    One,
}

/// An Accurate ECN option. Each counter is the 24 low bits of a count of octets of text that arrived with one codepoint in the
/// ECN field of their IP header.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct AccEcn {
    order: Order,
    // Unused places stay zero, so that the derived comparison is right.
    fields: [u32; Self::FIELDS],
    used: usize,
}

impl AccEcn {
    /// Counters that the longest option has.
    pub const FIELDS: usize = 3;
    /// What a field can hold: 24 bits.
    pub const MASK: u32 = 0xff_ffff;

    /// The first `used` counters in this order, at most three: of octets that came with ECT(0), with CE, and with ECT(1).
    #[must_use]
    pub fn new(order: Order, used: usize, e0b: u32, ceb: u32, e1b: u32) -> Self {
        let (first, third) = match order {
            Order::Zero => (e0b, e1b),
            Order::One => (e1b, e0b),
        };
        let mut option = Self {
            order,
            fields: [0; Self::FIELDS],
            used: used.min(Self::FIELDS),
        };
        let places = option.fields.iter_mut().take(used);
        for (place, counter) in places.zip([first, ceb, third]) {
            *place = counter & Self::MASK;
        }
        option
    }

    /// Reads what follows kind and length. Of a length that is none of the four, the whole fields are taken and the rest is
    /// padding (section 3.2.3).
    #[must_use]
    pub(super) fn parse(order: Order, data: &[u8]) -> Self {
        let mut option = Self {
            order,
            ..Self::default()
        };
        let (fields, _) = data.as_chunks::<3>();
        for (place, &[high, middle, low]) in option.fields.iter_mut().zip(fields) {
            *place = u32::from_be_bytes([0, high, middle, low]);
            option.used += 1;
        }
        option
    }

    /// The order of the fields.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.order
    }

    /// How many fields there are.
    #[must_use]
    pub const fn used(&self) -> usize {
        self.used
    }

    fn field(&self, at: usize) -> Option<u32> {
        self.fields.iter().take(self.used).nth(at).copied()
    }

    /// EE0B: octets that came with ECT(0).
    #[must_use]
    pub fn ee0b(&self) -> Option<u32> {
        self.field(match self.order {
            Order::Zero => 0,
            Order::One => 2,
        })
    }

    /// ECEB: octets that came with CE.
    #[must_use]
    pub fn eceb(&self) -> Option<u32> {
        self.field(1)
    }

    /// EE1B: octets that came with ECT(1).
    #[must_use]
    pub fn ee1b(&self) -> Option<u32> {
        self.field(match self.order {
            Order::Zero => 2,
            Order::One => 0,
        })
    }

    /// Octets of the option, kind and length among them: 2, 5, 8 or 11. It may stand at any place.
    #[expect(clippy::len_without_is_empty, reason = "an option is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        2 + 3 * self.used
    }

    /// The octets of the option, in the first [`AccEcn::len`] places.
    pub(super) fn octets(&self) -> [u8; 2 + 3 * Self::FIELDS] {
        let [a, b, c] = self.fields.map(u32::to_be_bytes);
        let kind = match self.order {
            Order::Zero => kind::ACCECN0,
            Order::One => kind::ACCECN1,
        };
        let length = u8::try_from(self.len()).unwrap_or(2);
        let ([_, a0, a1, a2], [_, b0, b1, b2], [_, c0, c1, c2]) = (a, b, c);
        [kind, length, a0, a1, a2, b0, b1, b2, c0, c1, c2]
    }
}

impl fmt::Debug for AccEcn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AccEcn {
    /// For example `ECN e0b 1 ceb 0`, in the option's order; `ECN` where it is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ECN")?;
        let names = match self.order {
            Order::Zero => ["e0b", "ceb", "e1b"],
            Order::One => ["e1b", "ceb", "e0b"],
        };
        for (name, field) in names.iter().zip(self.fields).take(self.used) {
            write!(f, " {name} {field}")?;
        }
        Ok(())
    }
}
