//! EXTERNAL: a value of a type that the PDU around it does not know (X.690 section 8.18, after X.208 section 34).

use std::borrow::Cow;

use kumiki_osi_service::Oid;

use super::{BerError, Bits, Element, Tag, Writer};
use crate::Malformed;

/// How the value is carried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Encoding<'a> {
    /// `single-ASN1-type`: one element, with its identifier and length octets.
    Single(Cow<'a, [u8]>),
    /// `octet-aligned`: what the transfer syntax makes of the value.
    OctetAligned(Cow<'a, [u8]>),
    /// `arbitrary`: the same, in bits.
    Arbitrary(Bits<'a>),
}

impl Encoding<'_> {
    /// The octets of the value; of an arbitrary one, what holds its bits.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        match self {
            Self::Single(octets) | Self::OctetAligned(octets) => octets,
            Self::Arbitrary(bits) => bits.octets(),
        }
    }

    /// The same, held by itself.
    #[must_use]
    pub fn into_owned(self) -> Encoding<'static> {
        match self {
            Self::Single(octets) => Encoding::Single(Cow::Owned(octets.into_owned())),
            Self::OctetAligned(octets) => Encoding::OctetAligned(Cow::Owned(octets.into_owned())),
            Self::Arbitrary(bits) => Encoding::Arbitrary(bits.into_owned()),
        }
    }

    /// Reads one alternative of the three.
    pub(crate) fn parse<'a>(element: &Element<'a>) -> Result<Encoding<'a>, Malformed> {
        Ok(match element.tag() {
            tag if tag == Tag::context(0) => Encoding::Single(element.only()?.octets().into()),
            tag if tag == Tag::context(1) => Encoding::OctetAligned(element.octet_string()?),
            tag if tag == Tag::context(2) => Encoding::Arbitrary(element.bits()?),
            _ => return Err(element.is_no("[0] single, [1] octet-aligned or [2] arbitrary")),
        })
    }

    /// Writes it.
    pub(crate) fn emit(&self, w: &mut Writer) {
        match self {
            Self::Single(octets) => w.constructed(Tag::context(0), |w| w.raw(octets)),
            Self::OctetAligned(octets) => w.octet_string(Tag::context(1), octets),
            Self::Arbitrary(bits) => w.bits(Tag::context(2), bits),
        }
    }
}

/// An EXTERNAL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct External<'a> {
    /// `direct-reference`: the transfer syntax, or the type.
    pub direct: Option<Oid>,
    /// `indirect-reference`: the presentation context.
    pub indirect: Option<i64>,
    /// `data-value-descriptor`: the type in words.
    pub descriptor: Option<String>,
    /// The value.
    pub encoding: Encoding<'a>,
}

impl<'a> External<'a> {
    /// Reads it from an element of any tag: it may be an implicit one.
    pub(super) fn parse(element: &Element<'a>) -> Result<Self, Malformed> {
        let mut inside = element.elements()?;
        let direct = inside.optional(Tag::OBJECT_IDENTIFIER, "EXTERNAL direct-reference", Element::oid)?;
        let indirect = inside.optional(Tag::INTEGER, "EXTERNAL indirect-reference", Element::integer)?;
        let descriptor = inside.optional(Tag::OBJECT_DESCRIPTOR, "EXTERNAL data-value-descriptor", Element::text)?;
        let field = "EXTERNAL encoding";
        let encoding = inside.any(field, "[0] single, [1] octet-aligned or [2] arbitrary")?;
        let encoding = Encoding::parse(&encoding)?;
        inside.finish(field)?;
        if direct.is_none() && indirect.is_none() {
            return Err(element.refuse(BerError::Missing { expected: Tag::INTEGER }));
        }
        Ok(Self { direct, indirect, descriptor, encoding })
    }

    /// The same, held by itself.
    #[must_use]
    pub fn into_owned(self) -> External<'static> {
        External {
            direct: self.direct,
            indirect: self.indirect,
            descriptor: self.descriptor,
            encoding: self.encoding.into_owned(),
        }
    }
}
