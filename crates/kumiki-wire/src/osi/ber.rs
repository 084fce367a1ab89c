//! The Basic Encoding Rules, as far as the OSI layers from presentation up need them.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.690 (ISO/IEC 8825-1), clause 8 |
//! | Emits | the shortest identifier and length octets, definite lengths, strings in one piece |
//! | Accepts | every form of clause 8: long lengths, indefinite lengths, constructed strings, high tag numbers |
//! | Left out | REAL, SET OF in DER's order, relative object identifiers; reading a value of which only a part has arrived |
//!
//! Two readers, because there are two kinds of PDU:
//!
//! - [`Reader`] for control: the PDU is small and lies in one piece; what is read is borrowed from it.
//! - [`chain::Reader`] for user data: the value lies in a [`Message`](kumiki_octets::Message); identifier and length
//!   octets are looked at, content octets never: they are given as messages that share them.
//!
//! And two writers: [`Writer`] puts a control PDU into a `Vec`, [`push`] puts identifier and length octets in front of
//! a message whose content is held elsewhere.
//!
//! Every error is [`Malformed::Ber`] and names the PDU, the field, what was found and what would be right. A length is
//! believed only as far as there are octets; nesting ends at [`MOST_DEPTH`], and user data has [`chain::MOST_PIECES`]
//! pieces of strings at most.

use core::fmt;

use kumiki_octets::text::counted;
use kumiki_osi_service::BadOid;
use thiserror::Error;

use crate::Malformed;
use crate::malformed::Span;

mod bits;
pub mod chain;
mod element;
mod external;
mod head;
pub mod push;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use bits::Bits;
pub use element::Element;
pub use external::{Encoding, External};
pub use head::{Head, Length, beginning};
pub use reader::Reader;
pub use writer::Writer;

/// How deep elements may lie in each other. A whole FTAM PDU needs 12.
pub const MOST_DEPTH: u8 = 32;

/// The most octets that identifier and length have together here: a tag number of 32 bits, a length of 64.
pub const MOST_HEAD: usize = 6 + 9;

/// Who gives a tag number its meaning (X.690 section 8.1.2.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// The types of ASN.1 itself.
    Universal,
    /// One application's standard.
    Application,
    /// The type around it.
    Context,
    /// An agreement outside the standards.
    Private,
}

/// What an element is: the class and number of its identifier octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// Who gives the number its meaning.
    pub class: Class,
    /// The number.
    pub number: u32,
}

#[expect(missing_docs, reason = "the names are those of the types of ASN.1")]
impl Tag {
    pub const BOOLEAN: Self = Self::universal(1);
    pub const INTEGER: Self = Self::universal(2);
    pub const BIT_STRING: Self = Self::universal(3);
    pub const OCTET_STRING: Self = Self::universal(4);
    pub const NULL: Self = Self::universal(5);
    pub const OBJECT_IDENTIFIER: Self = Self::universal(6);
    pub const OBJECT_DESCRIPTOR: Self = Self::universal(7);
    pub const EXTERNAL: Self = Self::universal(8);
    pub const REAL: Self = Self::universal(9);
    pub const ENUMERATED: Self = Self::universal(10);
    pub const UTF8_STRING: Self = Self::universal(12);
    pub const SEQUENCE: Self = Self::universal(16);
    pub const SET: Self = Self::universal(17);
    pub const NUMERIC_STRING: Self = Self::universal(18);
    pub const PRINTABLE_STRING: Self = Self::universal(19);
    pub const T61_STRING: Self = Self::universal(20);
    pub const VIDEOTEX_STRING: Self = Self::universal(21);
    pub const IA5_STRING: Self = Self::universal(22);
    pub const UTC_TIME: Self = Self::universal(23);
    pub const GENERALIZED_TIME: Self = Self::universal(24);
    pub const GRAPHIC_STRING: Self = Self::universal(25);
    pub const VISIBLE_STRING: Self = Self::universal(26);
    pub const GENERAL_STRING: Self = Self::universal(27);
}

impl Tag {
    /// Tag 0 of the universal class with no content ends an element of indefinite length (X.690 section 8.1.5).
    pub(crate) const END: Self = Self::universal(0);

    /// A type of ASN.1.
    #[must_use]
    pub const fn universal(number: u32) -> Self {
        let class = Class::Universal;
        Self { class, number }
    }

    /// `[APPLICATION number]`.
    #[must_use]
    pub const fn application(number: u32) -> Self {
        let class = Class::Application;
        Self { class, number }
    }

    /// `[number]`.
    #[must_use]
    pub const fn context(number: u32) -> Self {
        let class = Class::Context;
        Self { class, number }
    }

    /// `[PRIVATE number]`.
    #[must_use]
    pub const fn private(number: u32) -> Self {
        let class = Class::Private;
        Self { class, number }
    }
}

impl fmt::Display for Tag {
    /// As ASN.1 writes it: `[3]`, `[APPLICATION 13]`, `INTEGER`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (self.class, self.number) {
            (Class::Context, n) => return write!(f, "[{n}]"),
            (Class::Application, n) => return write!(f, "[APPLICATION {n}]"),
            (Class::Private, n) => return write!(f, "[PRIVATE {n}]"),
            (Class::Universal, 0) => "end of contents",
            (Class::Universal, 1) => "BOOLEAN",
            (Class::Universal, 2) => "INTEGER",
            (Class::Universal, 3) => "BIT STRING",
            (Class::Universal, 4) => "OCTET STRING",
            (Class::Universal, 5) => "NULL",
            (Class::Universal, 6) => "OBJECT IDENTIFIER",
            (Class::Universal, 7) => "ObjectDescriptor",
            (Class::Universal, 8) => "EXTERNAL",
            (Class::Universal, 9) => "REAL",
            (Class::Universal, 10) => "ENUMERATED",
            (Class::Universal, 12) => "UTF8String",
            (Class::Universal, 16) => "SEQUENCE",
            (Class::Universal, 17) => "SET",
            (Class::Universal, 18) => "NumericString",
            (Class::Universal, 19) => "PrintableString",
            (Class::Universal, 20) => "T61String",
            (Class::Universal, 21) => "VideotexString",
            (Class::Universal, 22) => "IA5String",
            (Class::Universal, 23) => "UTCTime",
            (Class::Universal, 24) => "GeneralizedTime",
            (Class::Universal, 25) => "GraphicString",
            (Class::Universal, 26) => "VisibleString",
            (Class::Universal, 27) => "GeneralString",
            (Class::Universal, n) => return write!(f, "[UNIVERSAL {n}]"),
        };
        f.write_str(name)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is wrong with an element; [`Malformed::Ber`] says with which.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BerError {
    /// It does not end where what is around it ends.
    #[error("{octets}, of which {have} are there", octets = counted(*need, "octet"))]
    Short {
        /// Octets that it would have.
        need: usize,
        /// Octets that there are.
        have: usize,
    },
    /// Another element stands here.
    #[error("{found} where {expected} is expected")]
    Tag {
        /// What stands here.
        found: Tag,
        /// What would be right.
        expected: Tag,
    },
    /// None of the alternatives stands here.
    #[error("{found} where {expected} is expected")]
    Choice {
        /// What stands here.
        found: Tag,
        /// What would be right.
        expected: &'static str,
    },
    /// Nothing stands here.
    #[error("missing, {expected} is expected")]
    Missing {
        /// What would be right.
        expected: Tag,
    },
    /// Something stands behind the last element.
    #[error("{found} behind the last element")]
    Left {
        /// What stands there.
        found: Tag,
    },
    /// The element is primitive and must be constructed, or the reverse.
    #[error("{found} is {}, which this type is not", if *constructed { "constructed" } else { "primitive" })]
    Form {
        /// The element.
        found: Tag,
        /// Whether it is constructed.
        constructed: bool,
    },
    /// A tag number beyond 32 bits, or one with a leading zero group.
    #[error("a tag number with a leading zero or beyond 32 bits")]
    Number,
    /// The first length octet is ff, which is reserved; a length beyond 64 bits; or an indefinite one of a primitive
    /// element.
    #[error("no length: ff, more than 8 octets of length, or an indefinite one without elements inside")]
    Length,
    /// The end of an indefinite length where there is none.
    #[error("the end of an indefinite length where none began")]
    End,
    /// More octets of content than the type can have here.
    #[error("{octets} of content, expected {}", Span(*least, *most), octets = counted(*found, "octet"))]
    Size {
        /// Octets of content.
        found: usize,
        /// The fewest that would be right.
        least: usize,
        /// The most that would be right.
        most: usize,
    },
    /// A value that the standard does not allow here.
    #[error("{found}, expected {expected}")]
    Value {
        /// The value.
        found: i64,
        /// What would be right.
        expected: &'static str,
    },
    /// No object identifier.
    #[error("{0}")]
    Oid(BadOid),
    /// More than [`chain::MOST_PIECES`] pieces of strings.
    #[error("strings in more than {most} pieces", most = chain::MOST_PIECES)]
    Pieces,
    /// More than [`MOST_DEPTH`] elements in each other.
    #[error("more than {MOST_DEPTH} elements in each other")]
    Depth,
}

impl BerError {
    /// This fault of `field` of `pdu`.
    #[must_use]
    pub const fn of(self, pdu: &'static str, field: &'static str) -> Malformed {
        Malformed::Ber { protocol: pdu, field, fault: self }
    }
}
