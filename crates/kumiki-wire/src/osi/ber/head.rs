//! Identifier and length octets (X.690 sections 8.1.2 and 8.1.3).

use kumiki_octets::{Beginning, Message};

use super::{BerError, Class, MOST_HEAD, Tag};

/// How many octets of content follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// That many.
    Definite(usize),
    /// Elements until the end-of-contents octets.
    Indefinite,
}

/// What stands in front of content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Which element it is.
    pub tag: Tag,
    /// Whether the content is elements.
    pub constructed: bool,
    /// How much content there is.
    pub length: Length,
}

const fn class(identifier: u8) -> Class {
    match identifier >> 6 {
        0 => Class::Universal,
        1 => Class::Application,
        2 => Class::Context,
        _ => Class::Private,
    }
}

impl Head {
    /// The end of an element of indefinite length.
    pub(super) const END: Self = Self { tag: Tag::END, constructed: false, length: Length::Definite(0) };

    /// Reads identifier and length octets at the beginning of `octets`; also gives how many they are. Whether the
    /// content is there is not looked at.
    ///
    /// # Errors
    /// [`BerError::Short`], [`BerError::Number`], [`BerError::Length`], and [`BerError::End`] where tag 0 is not 00 00.
    #[inline]
    pub fn parse(octets: &[u8]) -> Result<(Self, usize), BerError> {
        // Most are two octets: a small number, and a short length.
        if let &[first, length, ..] = octets
            && first & 0xdf != 0
            && first & 0x1f != 0x1f
            && length < 0x80
        {
            let tag = Tag { class: class(first), number: u32::from(first & 0x1f) };
            let length = Length::Definite(usize::from(length));
            return Ok((Self { tag, constructed: first & 0x20 != 0, length }, 2));
        }
        Self::parse_any(octets)
    }

    fn parse_any(octets: &[u8]) -> Result<(Self, usize), BerError> {
        let short = |need| BerError::Short { need, have: octets.len() };
        let (first, mut rest) = octets.split_first().ok_or_else(|| short(2))?;
        let class = class(*first);
        let constructed = first & 0x20 != 0;
        let mut number = u32::from(first & 0x1f);
        if number == 0x1f {
            number = 0;
            loop {
                let (group, after) = rest.split_first().ok_or_else(|| short(octets.len() + 2))?;
                rest = after;
                if (number == 0 && *group == 0x80) || number >> 25 != 0 {
                    return Err(BerError::Number);
                }
                number = number << 7 | u32::from(group & 0x7f);
                if group & 0x80 == 0 {
                    break;
                }
            }
        }
        let (first, mut rest) = rest.split_first().ok_or_else(|| short(octets.len() + 1))?;
        let length = match *first {
            0x80 if constructed => Length::Indefinite,
            0x80 | 0xff => return Err(BerError::Length),
            short @ ..0x80 => Length::Definite(usize::from(short)),
            long => {
                let count = usize::from(long & 0x7f);
                if count > 8 {
                    return Err(BerError::Length);
                }
                let (digits, after) =
                    rest.split_at_checked(count).ok_or_else(|| short(octets.len() - rest.len() + count))?;
                rest = after;
                let mut length = 0_usize;
                for digit in digits {
                    length = length.checked_mul(256).ok_or(BerError::Length)?.saturating_add(usize::from(*digit));
                }
                Length::Definite(length)
            }
        };
        let head = Self { tag: Tag { class, number }, constructed, length };
        let len = octets.len() - rest.len();
        // They are two octets in any encoding: X.690 section 8.1.5 has no long form of them.
        if head.is_end() && (constructed || length != Length::Definite(0) || len != 2) {
            return Err(BerError::End);
        }
        Ok((head, len))
    }

    /// As [`Head::parse`], and sees to it that the content of a definite length is there: a length larger than `octets`
    /// is [`BerError::Short`].
    pub(super) fn parse_with_content(octets: &[u8]) -> Result<(Self, usize), BerError> {
        let (head, len) = Self::parse(octets)?;
        head.fits(len, octets.len())?;
        Ok((head, len))
    }

    /// Whether identifier, length (`len` octets) and content fit into `have` octets.
    pub(super) const fn fits(&self, len: usize, have: usize) -> Result<(), BerError> {
        let need = match self.length {
            Length::Definite(content) => len.saturating_add(content),
            // At least the end.
            Length::Indefinite => len + 2,
        };
        if need > have {
            return Err(BerError::Short { need, have });
        }
        Ok(())
    }

    /// Whether it is the end of an element of indefinite length.
    pub(super) fn is_end(&self) -> bool {
        self.tag == Tag::END
    }

    /// Appends the shortest octets for it to `out`.
    pub(super) fn emit(&self, out: &mut Octets) {
        let class = match self.tag.class {
            Class::Universal => 0x00,
            Class::Application => 0x40,
            Class::Context => 0x80,
            Class::Private => 0xc0,
        };
        let first = class | if self.constructed { 0x20 } else { 0 };
        match u8::try_from(self.tag.number) {
            Ok(number @ ..0x1f) => out.add(first | number),
            Ok(_) | Err(_) => {
                out.add(first | 0x1f);
                let groups = (32 - self.tag.number.leading_zeros()).div_ceil(7).max(1);
                for group in (0..groups).rev() {
                    let [.., low] = (self.tag.number >> (7 * group)).to_be_bytes();
                    out.add(low & 0x7f | if group > 0 { 0x80 } else { 0 });
                }
            }
        }
        match self.length {
            Length::Indefinite => out.add(0x80),
            Length::Definite(length) => match u8::try_from(length) {
                Ok(length @ ..0x80) => out.add(length),
                Ok(_) | Err(_) => {
                    let digits = length.to_be_bytes();
                    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
                    let digits = digits.get(zeros..).unwrap_or_default();
                    out.add(0x80 | u8::try_from(digits.len()).unwrap_or(0));
                    for digit in digits {
                        out.add(*digit);
                    }
                }
            },
        }
    }
}

/// What is shown to somebody of a value that a peer has sent: identifier and length octets, for the content may be a
/// password or a file. Where they cannot be read, no more than two octets.
#[must_use]
pub fn beginning(value: &Message) -> Beginning {
    // Mostly they lie together, and the content, which nobody may have looked at, elsewhere.
    let len = Head::parse(value.first_piece())
        .or_else(|_| Head::parse(value.beginning_up_to(MOST_HEAD).octets()))
        .map_or(2, |(_, len)| len);
    value.beginning_up_to(len)
}

/// Identifier and length octets while they are put together.
pub(super) struct Octets {
    octets: [u8; MOST_HEAD],
    len: usize,
}

impl Octets {
    /// Those of an element of definite length.
    pub(super) fn definite(tag: Tag, constructed: bool, content: usize) -> Self {
        let mut out = Self { octets: [0; MOST_HEAD], len: 0 };
        let head = Head { tag, constructed, length: Length::Definite(content) };
        head.emit(&mut out);
        out
    }

    fn add(&mut self, octet: u8) {
        if let Some(place) = self.octets.get_mut(self.len) {
            *place = octet;
            self.len += 1;
        }
    }

    /// The octets.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}
