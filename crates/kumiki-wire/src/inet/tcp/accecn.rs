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

/// An Accurate ECN option. Each counter is the 24 low bits of a count of octets of text that arrived with one codepoint
/// in the ECN field of their IP header.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct AccEcn {
    order: Order,
    // Unused places stay zero, so that the derived comparison is right.
    fields: [[u8; 3]; Self::FIELDS],
    used: u8,
}

impl AccEcn {
    /// Counters that the longest option has.
    pub const FIELDS: usize = 3;
    /// What a field can hold: 24 bits.
    pub const MASK: u32 = 0xff_ffff;

    /// The first `used` counters in this order, at most three: of octets that came with ECT(0), with CE, and with
    /// ECT(1).
    #[must_use]
    pub fn new(order: Order, used: usize, e0b: u32, ceb: u32, e1b: u32) -> Self {
        let counters = match order {
            Order::Zero => [e0b, ceb, e1b],
            Order::One => [e1b, ceb, e0b],
        };
        let fields = counters.map(|counter| {
            let [_, high, middle, low] = counter.to_be_bytes();
            [high, middle, low]
        });
        Self::with(order, fields.get(..used).unwrap_or(&fields))
    }

    /// The first three of `fields`.
    fn with(order: Order, fields: &[[u8; 3]]) -> Self {
        let mut option = Self { order, ..Self::default() };
        for (place, field) in option.fields.iter_mut().zip(fields) {
            *place = *field;
            option.used += 1;
        }
        option
    }

    /// Reads what follows kind and length. Of a length that is none of the four, the whole fields are taken and the
    /// rest is padding (section 3.2.3).
    #[must_use]
    pub fn parse(order: Order, data: &[u8]) -> Self {
        let (fields, _) = data.as_chunks::<3>();
        Self::with(order, fields)
    }

    /// The order of the fields.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.order
    }

    /// How many fields there are.
    #[must_use]
    pub const fn used(&self) -> usize {
        self.used as usize
    }

    /// The fields there are, in their order.
    fn fields(&self) -> impl Iterator<Item = u32> {
        let fields = self.fields.iter().take(self.used());
        fields.map(|&[high, middle, low]| u32::from_be_bytes([0, high, middle, low]))
    }

    fn field(&self, at: usize) -> Option<u32> {
        self.fields().nth(at)
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
        2 + 3 * self.used()
    }

    /// The octets of the option, in the first [`AccEcn::len`] places.
    #[must_use]
    pub fn octets(&self) -> [u8; 2 + 3 * Self::FIELDS] {
        let [[a0, a1, a2], [b0, b1, b2], [c0, c1, c2]] = self.fields;
        let kind = match self.order {
            Order::Zero => kind::ACCECN0,
            Order::One => kind::ACCECN1,
        };
        let length = u8::try_from(self.len()).unwrap_or(2);
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
        for (name, field) in names.iter().zip(self.fields()) {
            write!(f, " {name} {field}")?;
        }
        Ok(())
    }
}
