//! One element, and its content as the types of ASN.1.

use std::borrow::Cow;

use kumiki_osi_service::Oid;

use super::external::External;
use super::reader::Reader;
use super::{BerError, Bits, Tag};
use crate::Malformed;

/// An element of a PDU that lies in one piece.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    pdu: &'static str,
    field: &'static str,
    tag: Tag,
    constructed: bool,
    octets: &'a [u8],
    content: &'a [u8],
    depth: u8,
}

impl<'a> Element<'a> {
    pub(super) const fn new(
        pdu: &'static str,
        field: &'static str,
        tag: Tag,
        constructed: bool,
        octets: &'a [u8],
        content: &'a [u8],
        depth: u8,
    ) -> Self {
        Self { pdu, field, tag, constructed, octets, content, depth }
    }

    /// Which one it is.
    #[must_use]
    pub const fn tag(&self) -> Tag {
        self.tag
    }

    /// Whether its content is elements.
    #[must_use]
    pub const fn is_constructed(&self) -> bool {
        self.constructed
    }

    /// All of it, with identifier, length, and the end of an indefinite length.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Its content, without the end of an indefinite length.
    #[must_use]
    pub const fn content(&self) -> &'a [u8] {
        self.content
    }

    /// The same element, called `field` in errors.
    #[must_use]
    pub const fn called(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    /// `fault`, as one of this element.
    #[must_use]
    pub const fn refuse(&self, fault: BerError) -> Malformed {
        fault.of(self.pdu, self.field)
    }

    /// That this is none of the alternatives `expected`.
    #[must_use]
    pub const fn is_no(&self, expected: &'static str) -> Malformed {
        let found = self.tag;
        self.refuse(BerError::Choice { found, expected })
    }

    /// The elements inside.
    ///
    /// # Errors
    /// It is primitive, or lies too deep.
    pub fn elements(&self) -> Result<Reader<'a>, Malformed> {
        self.form(true)?;
        Reader::inside(self.pdu, self.field, self.content, self.depth + 1)
    }

    /// The one element inside: an explicit tag is around it.
    ///
    /// # Errors
    /// It is primitive, lies too deep, or there is none or more than one.
    pub fn only(&self) -> Result<Self, Malformed> {
        let mut inside = self.elements()?;
        let only = inside.any(self.field, "an element inside")?;
        inside.finish(self.field)?;
        Ok(only)
    }

    /// The one element inside, which must be `tag`: an explicit tag is around it.
    ///
    /// # Errors
    /// As [`Element::only`], and where it is another one.
    pub fn explicit(&self, tag: Tag) -> Result<Self, Malformed> {
        let only = self.only()?;
        if only.tag != tag {
            let (found, expected) = (only.tag, tag);
            return Err(self.refuse(BerError::Tag { found, expected }));
        }
        Ok(only)
    }

    const fn form(&self, constructed: bool) -> Result<(), Malformed> {
        if self.constructed == constructed {
            return Ok(());
        }
        Err(self.refuse(BerError::Form { found: self.tag, constructed: self.constructed }))
    }

    /// The content of a primitive element of `least` to `most` octets.
    fn primitive(&self, least: usize, most: usize) -> Result<&'a [u8], Malformed> {
        self.form(false)?;
        let found = self.content.len();
        if found < least || found > most {
            return Err(self.refuse(BerError::Size { found, least, most }));
        }
        Ok(self.content)
    }

    /// BOOLEAN.
    ///
    /// # Errors
    /// Not one octet.
    pub fn boolean(&self) -> Result<bool, Malformed> {
        Ok(self.primitive(1, 1)? != [0])
    }

    /// INTEGER of at most 64 bits, and ENUMERATED. Octets in front that say nothing are accepted.
    ///
    /// # Errors
    /// No octet, or more than 64 bits.
    pub fn integer(&self) -> Result<i64, Malformed> {
        let octets = self.primitive(1, usize::MAX)?;
        let negative = octets.first().is_some_and(|octet| octet & 0x80 != 0);
        let mut value = if negative { -1_i64 } else { 0 };
        for octet in octets {
            // Nine equal bits at the top are a sign and nothing else: one octet more does not lose any.
            if value >> 55 != 0 && value >> 55 != -1 {
                return Err(self.refuse(BerError::Size { found: octets.len(), least: 1, most: 8 }));
            }
            value = value << 8 | i64::from(*octet);
        }
        Ok(value)
    }

    /// INTEGER from `least` to `most`.
    ///
    /// # Errors
    /// As [`Element::integer`]; or it lies outside, and `expected` is what would be right.
    pub fn integer_in<T>(&self, expected: &'static str) -> Result<T, Malformed>
    where
        T: TryFrom<i64>,
    {
        let found = self.integer()?;
        T::try_from(found).map_err(|_| self.refuse(BerError::Value { found, expected }))
    }

    /// NULL.
    ///
    /// # Errors
    /// There is content.
    pub fn null(&self) -> Result<(), Malformed> {
        self.primitive(0, 0).map(|_| ())
    }

    /// OBJECT IDENTIFIER.
    ///
    /// # Errors
    /// None, or a longer one than [`Oid`] holds.
    pub fn oid(&self) -> Result<Oid, Malformed> {
        let content = self.primitive(1, kumiki_osi_service::MOST_OID_OCTETS)?;
        Oid::from_content(content).map_err(|why| self.refuse(BerError::Oid(why)))
    }

    /// OCTET STRING; in one piece as sent, or gathered.
    ///
    /// # Errors
    /// Something else than octet strings inside.
    pub fn octet_string(&self) -> Result<Cow<'a, [u8]>, Malformed> {
        self.pieces(Tag::OCTET_STRING)
    }

    /// The pieces of a string: what is constructed holds octet strings (X.690 sections 8.7.3.2 and 8.23.6), or, as some
    /// do, pieces of its own type.
    fn pieces(&self, own: Tag) -> Result<Cow<'a, [u8]>, Malformed> {
        if !self.constructed {
            return Ok(Cow::Borrowed(self.content));
        }
        let mut inside = self.elements()?;
        let mut all = Cow::Borrowed(&[][..]);
        while let Some(piece) = inside.next(self.field)? {
            if piece.tag != Tag::OCTET_STRING && piece.tag != own {
                let (found, expected) = (piece.tag, Tag::OCTET_STRING);
                return Err(self.refuse(BerError::Tag { found, expected }));
            }
            let piece = piece.pieces(own)?;
            if all.is_empty() {
                all = piece;
            } else {
                all.to_mut().extend_from_slice(&piece);
            }
        }
        Ok(all)
    }

    /// BIT STRING; gathered where it is in pieces.
    ///
    /// # Errors
    /// Without its first octet, with more than 7 unused bits or some in another than the last piece, or something else
    /// than bit strings inside.
    pub fn bits(&self) -> Result<Bits<'a>, Malformed> {
        let bad = |unused: u8| {
            self.refuse(BerError::Value {
                found: unused.into(),
                expected: "0 to 7 unused bits, in the last octet of all",
            })
        };
        if !self.constructed {
            let (unused, octets) = self.primitive(1, usize::MAX)?.split_first().unwrap_or((&0, &[]));
            return Bits::new(octets, *unused).ok_or_else(|| bad(*unused));
        }
        let mut inside = self.elements()?;
        let mut all: Cow<'a, [u8]> = Cow::Borrowed(&[]);
        let mut unused = 0;
        while let Some(piece) = inside.next(self.field)? {
            if piece.tag != Tag::BIT_STRING {
                let (found, expected) = (piece.tag, Tag::BIT_STRING);
                return Err(self.refuse(BerError::Tag { found, expected }));
            }
            if unused != 0 {
                return Err(bad(unused));
            }
            let piece = piece.bits()?;
            unused = piece.unused();
            all.to_mut().extend_from_slice(piece.octets());
        }
        Bits::new(all, unused).ok_or_else(|| bad(unused))
    }

    /// The characters of a string, whichever its type: as UTF-8 where they are that, which all of ASCII is; otherwise
    /// as ISO 8859-1, the set that most terminals of the time had for the upper half.
    /// [`Writer::text`](super::Writer::text) writes UTF-8, so that a name in it passes through unchanged. Escape
    /// sequences of ISO 2022 are left as they are.
    ///
    /// # Errors
    /// Something else than strings inside.
    pub fn text(&self) -> Result<String, Malformed> {
        let octets = self.pieces(self.tag)?;
        Ok(match core::str::from_utf8(&octets) {
            Ok(text) => text.to_owned(),
            Err(_) => octets.iter().map(|octet| char::from(*octet)).collect(),
        })
    }

    /// EXTERNAL (X.690 section 8.18).
    ///
    /// # Errors
    /// It is not one.
    pub fn external(&self) -> Result<External<'a>, Malformed> {
        External::parse(self)
    }
}
