//! How ASN.1 puts values into elements: the pieces of which the tables of this codec are made.
//!
//! A type knows its content ([`Content`]); a [`FieldTag`] knows under which tags a field of that type stands. Each
//! structure is written down once, as a table of fields and spots: for both directions, and for analysers that want to
//! know where each field lies.

use kumiki_osi_service::ftam::attributes::Attribute;

use super::FpduField;
use crate::Malformed;
use crate::osi::ber::{BerError, Element, Tag, Writer};

/// A type that can be said in a few words.
pub(super) trait Describe {
    /// In a few words, for people.
    fn say(&self) -> String;
}

/// Types that say themselves as they are displayed.
macro_rules! displayed {
    ($($type:ty),* $(,)?) => {
        $(impl $crate::files::ftam::form::Describe for $type {
            fn say(&self) -> String {
                self.to_string()
            }
        })*
    };
}

/// Types that are rarely met, and not worth words of their own.
macro_rules! debugged {
    ($($type:ty),* $(,)?) => {
        $(impl $crate::files::ftam::form::Describe for $type {
            fn say(&self) -> String {
                format!("{self:?}")
            }
        })*
    };
}

impl<T: Describe> Describe for Box<T> {
    fn say(&self) -> String {
        T::say(self)
    }
}

impl<T: Describe> Describe for Option<T> {
    fn say(&self) -> String {
        self.as_ref().map_or_else(|| "any".to_owned(), Describe::say)
    }
}

impl<T: Describe> Describe for Vec<T> {
    fn say(&self) -> String {
        let all: Vec<String> = self.iter().map(Describe::say).collect();
        all.join(", ")
    }
}

impl<T: Describe> Describe for Attribute<T> {
    fn say(&self) -> String {
        match self {
            Self::NoValueAvailable => "no value available".to_owned(),
            Self::Actual(value) => value.say(),
        }
    }
}

/// A type whose content is known, whatever its tag.
pub(super) trait Content: Sized + Describe {
    /// Writes it under `tag`.
    fn emit(&self, w: &mut Writer, tag: Tag);
    /// Reads it from an element, whose tag has been seen to be right.
    fn parse(element: &Element<'_>) -> Result<Self, Malformed>;
    /// Says what it is; a SEQUENCE says what its fields are.
    fn walk<'a>(element: &Element<'a>, name: &'static str, seen: &mut Vec<FpduField<'a>>) -> Result<(), Malformed> {
        let said = Self::parse(element)?.say();
        seen.push(FpduField::new(name, element, said));
        Ok(())
    }
}

/// A type with a tag, or tags, of its own: a CHOICE, or a type that ISO 8571-4 tags.
pub(super) trait TaggedType: Sized + Describe {
    /// A tag that is right, for errors.
    const TAG: Tag;
    /// Whether an element with this tag is one.
    fn has(tag: Tag) -> bool {
        tag == Self::TAG
    }
    /// Writes it.
    fn emit(&self, w: &mut Writer);
    /// Reads it.
    fn parse(element: &Element<'_>) -> Result<Self, Malformed>;
    /// Says what it is; a SEQUENCE says what its fields are.
    fn walk<'a>(element: &Element<'a>, name: &'static str, seen: &mut Vec<FpduField<'a>>) -> Result<(), Malformed> {
        let said = Self::parse(element)?.say();
        seen.push(FpduField::new(name, element, said));
        Ok(())
    }
}

impl<T: Content> Content for Box<T> {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        T::emit(self, w, tag);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        T::parse(element).map(Self::new)
    }

    fn walk<'a>(element: &Element<'a>, name: &'static str, seen: &mut Vec<FpduField<'a>>) -> Result<(), Malformed> {
        T::walk(element, name, seen)
    }
}

impl<T: TaggedType> TaggedType for Box<T> {
    const TAG: Tag = T::TAG;

    fn has(tag: Tag) -> bool {
        T::has(tag)
    }

    fn emit(&self, w: &mut Writer) {
        T::emit(self, w);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        T::parse(element).map(Self::new)
    }

    fn walk<'a>(element: &Element<'a>, name: &'static str, seen: &mut Vec<FpduField<'a>>) -> Result<(), Malformed> {
        T::walk(element, name, seen)
    }
}

/// Where in a SEQUENCE a field of type `T` stands, and how.
pub(super) trait FieldTag<T: Describe> {
    /// A tag that is right, for errors.
    fn tag(&self) -> Tag;
    /// Whether an element with this tag is the field.
    fn has(&self, tag: Tag) -> bool {
        tag == self.tag()
    }
    /// Writes the field.
    fn emit(&self, value: &T, w: &mut Writer);
    /// Reads the field.
    fn parse(&self, element: &Element<'_>) -> Result<T, Malformed>;
    /// Says what the field is; of a SEQUENCE, what its fields are.
    fn walk<'a>(
        &self,
        element: &Element<'a>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
    ) -> Result<(), Malformed> {
        let said = self.parse(element)?.say();
        seen.push(FpduField::new(name, element, said));
        Ok(())
    }
}

/// `[tag] IMPLICIT T`.
pub(super) struct Implicit(pub(super) Tag);

impl<T: Content> FieldTag<T> for Implicit {
    fn tag(&self) -> Tag {
        self.0
    }

    fn emit(&self, value: &T, w: &mut Writer) {
        value.emit(w, self.0);
    }

    fn parse(&self, element: &Element<'_>) -> Result<T, Malformed> {
        T::parse(element)
    }

    fn walk<'a>(
        &self,
        element: &Element<'a>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
    ) -> Result<(), Malformed> {
        T::walk(element, name, seen)
    }
}

/// `[number] IMPLICIT T`.
pub(super) const fn c(number: u32) -> Implicit {
    Implicit(Tag::context(number))
}

/// `[APPLICATION number] IMPLICIT T`.
pub(super) const fn a(number: u32) -> Implicit {
    Implicit(Tag::application(number))
}

/// `T`, under its own tag.
pub(super) struct OwnTag;

impl<T: TaggedType> FieldTag<T> for OwnTag {
    fn tag(&self) -> Tag {
        T::TAG
    }

    fn has(&self, tag: Tag) -> bool {
        T::has(tag)
    }

    fn emit(&self, value: &T, w: &mut Writer) {
        value.emit(w);
    }

    fn parse(&self, element: &Element<'_>) -> Result<T, Malformed> {
        T::parse(element)
    }

    fn walk<'a>(
        &self,
        element: &Element<'a>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
    ) -> Result<(), Malformed> {
        T::walk(element, name, seen)
    }
}

/// `[tag] EXPLICIT`, around what stands at another spot.
pub(super) struct Explicit<S>(pub(super) Tag, pub(super) S);

impl<T: Describe, S: FieldTag<T>> FieldTag<T> for Explicit<S> {
    fn tag(&self) -> Tag {
        self.0
    }

    fn emit(&self, value: &T, w: &mut Writer) {
        w.constructed(self.0, |w| self.1.emit(value, w));
    }

    fn parse(&self, element: &Element<'_>) -> Result<T, Malformed> {
        self.1.parse(&self.inside(element)?)
    }

    fn walk<'a>(
        &self,
        element: &Element<'a>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
    ) -> Result<(), Malformed> {
        self.1.walk(&self.inside(element)?, name, seen)
    }
}

impl<S> Explicit<S> {
    fn inside<'a, T: Describe>(&self, element: &Element<'a>) -> Result<Element<'a>, Malformed>
    where
        S: FieldTag<T>,
    {
        let inside = element.only()?;
        if self.1.has(inside.tag()) {
            return Ok(inside);
        }
        let (found, expected) = (inside.tag(), self.1.tag());
        Err(element.refuse(BerError::Tag { found, expected }))
    }
}

/// `[number] EXPLICIT`, around a type with a tag of its own.
pub(super) const fn explicit(number: u32) -> Explicit<OwnTag> {
    Explicit(Tag::context(number), OwnTag)
}

/// `CHOICE { no-value-available [0] IMPLICIT NULL, actual-values ... }`.
pub(super) struct NoValueOr<S>(pub(super) S);

impl<T: Describe, S: FieldTag<T>> FieldTag<Attribute<T>> for NoValueOr<S> {
    fn tag(&self) -> Tag {
        self.0.tag()
    }

    fn has(&self, tag: Tag) -> bool {
        tag == NO_VALUE || self.0.has(tag)
    }

    fn emit(&self, value: &Attribute<T>, w: &mut Writer) {
        match value {
            Attribute::NoValueAvailable => w.null(NO_VALUE),
            Attribute::Actual(value) => self.0.emit(value, w),
        }
    }

    fn parse(&self, element: &Element<'_>) -> Result<Attribute<T>, Malformed> {
        if element.tag() == NO_VALUE {
            element.null()?;
            return Ok(Attribute::NoValueAvailable);
        }
        self.0.parse(element).map(Attribute::Actual)
    }

    fn walk<'a>(
        &self,
        element: &Element<'a>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
    ) -> Result<(), Malformed> {
        if element.tag() == NO_VALUE {
            let said = self.parse(element)?.say();
            seen.push(FpduField::new(name, element, said));
            return Ok(());
        }
        self.0.walk(element, name, seen)
    }
}

const NO_VALUE: Tag = Tag::context(0);

/// An attribute: `[number]` around the CHOICE of no value and what stands at a spot.
pub(super) const fn attribute<S>(number: u32, actual: S) -> Explicit<NoValueOr<S>> {
    Explicit(Tag::context(number), NoValueOr(actual))
}

/// `[tag] IMPLICIT SEQUENCE OF` (or SET OF) what stands at another spot, at most so many.
pub(super) struct SequenceOf<S>(pub(super) Tag, pub(super) S, pub(super) usize);

/// The most items of a list, where nothing else is said.
pub(super) const MOST_ITEMS: usize = 1000;

/// As [`SequenceOf`], `[number] IMPLICIT`.
pub(super) const fn many<S>(number: u32, each: S) -> SequenceOf<S> {
    SequenceOf(Tag::context(number), each, MOST_ITEMS)
}

impl<T: Describe, S: FieldTag<T>> FieldTag<Vec<T>> for SequenceOf<S> {
    fn tag(&self) -> Tag {
        self.0
    }

    fn emit(&self, value: &Vec<T>, w: &mut Writer) {
        w.constructed(self.0, |w| value.iter().for_each(|one| self.1.emit(one, w)));
    }

    fn parse(&self, element: &Element<'_>) -> Result<Vec<T>, Malformed> {
        let mut all = Vec::new();
        let mut inside = element.elements()?;
        while let Some(one) = inside.next("element of a list")? {
            if all.len() == self.2 {
                let found = i64::try_from(self.2).unwrap_or(i64::MAX).saturating_add(1);
                let expected = "fewer elements in this list";
                return Err(element.refuse(BerError::Value { found, expected }));
            }
            if !self.1.has(one.tag()) {
                let (found, expected) = (one.tag(), self.1.tag());
                return Err(element.refuse(BerError::Tag { found, expected }));
            }
            all.push(self.1.parse(&one)?);
        }
        Ok(all)
    }

    fn walk<'a>(
        &self,
        element: &Element<'a>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
    ) -> Result<(), Malformed> {
        let all = self.parse(element)?;
        let mut inside = element.elements()?;
        for one in all {
            if let Some(element) = inside.next(name)? {
                seen.push(FpduField::new(name, &element, one.say()));
            }
        }
        Ok(())
    }
}

/// Elements of one SEQUENCE at most. [`ReadAttributes`](kumiki_osi_service::ftam::attributes::ReadAttributes) has 24.
const MOST_FIELDS: usize = 64;

/// The elements of a SEQUENCE, from which fields are taken by their tags.
///
/// **Deviations**: their order is not looked at, as no two fields of one SEQUENCE of ISO 8571-4 have the same tag;
/// elements that are not known belong to a later version and are passed over.
pub(super) struct Fields<'a> {
    of: Element<'a>,
    elements: Vec<Element<'a>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(of: &Element<'a>) -> Result<Self, Malformed> {
        let elements = of.elements()?;
        let elements = elements.each("field", MOST_FIELDS, |one| Ok(*one))?;
        Ok(Self { of: *of, elements })
    }

    /// The element at `spot`, if it is there.
    fn find<T: Describe>(&self, spot: &impl FieldTag<T>, name: &'static str) -> Result<Option<Element<'a>>, Malformed> {
        let mut found = self.elements.iter().filter(|one| spot.has(one.tag()));
        let Some(element) = found.next() else {
            return Ok(None);
        };
        let element = element.called(name);
        if found.next().is_some() {
            let found = element.tag();
            return Err(element.refuse(BerError::Left { found }));
        }
        Ok(Some(element))
    }

    /// The one at `spot`, if it is there.
    pub(super) fn optional<T: Describe>(
        &self,
        spot: &impl FieldTag<T>,
        name: &'static str,
    ) -> Result<Option<T>, Malformed> {
        let element = self.find(spot, name)?;
        element.map(|element| spot.parse(&element)).transpose()
    }

    /// Says what the one at `spot` is, if it is there. `_get` gives its type.
    pub(super) fn walk<T: Describe, U>(
        &self,
        spot: &impl FieldTag<T>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
        _get: impl Fn(&U) -> &T,
    ) -> Result<(), Malformed> {
        match self.find(spot, name)? {
            Some(element) => spot.walk(&element, name, seen),
            None => Ok(()),
        }
    }

    /// As [`Fields::walk`], of one that is optional.
    pub(super) fn walk_optional<T: Describe, U>(
        &self,
        spot: &impl FieldTag<T>,
        name: &'static str,
        seen: &mut Vec<FpduField<'a>>,
        _get: impl Fn(&U) -> &Option<T>,
    ) -> Result<(), Malformed> {
        match self.find(spot, name)? {
            Some(element) => spot.walk(&element, name, seen),
            None => Ok(()),
        }
    }

    /// The one at `spot`.
    pub(super) fn required<T: Describe>(&self, spot: &impl FieldTag<T>, name: &'static str) -> Result<T, Malformed> {
        self.optional(spot, name)?.ok_or_else(|| {
            let expected = spot.tag();
            self.of.called(name).refuse(BerError::Missing { expected })
        })
    }
}

/// A SEQUENCE: its fields in the standard's order, each with where it stands. In front of a field: nothing: it must be
/// there; `?`: it is an `Option`; `*`: it is a list, and absent where that is empty; `= value`: it is absent where it
/// is that value.
macro_rules! sequence {
    ($type:ty { $($rule:tt $field:ident $name:literal: $spot:expr $(=> $default:expr)?;)* }) => {
        impl $crate::files::ftam::form::Content for $type {
            fn emit(&self, w: &mut $crate::osi::ber::Writer, tag: $crate::osi::ber::Tag) {
                w.constructed(tag, |_w| {
                    $($crate::files::ftam::form::field!(emit $rule, self.$field, $spot, _w $(, $default)?);)*
                });
            }

            fn parse(element: &$crate::osi::ber::Element<'_>) -> Result<Self, $crate::Malformed> {
                let _fields = $crate::files::ftam::form::Fields::new(element)?;
                Ok(Self {
                    $($field: $crate::files::ftam::form::field!(parse $rule, _fields, $name, $spot $(, $default)?),)*
                })
            }

            fn walk<'a>(
                element: &$crate::osi::ber::Element<'a>,
                _: &'static str,
                _seen: &mut Vec<$crate::files::ftam::FpduField<'a>>,
            ) -> Result<(), $crate::Malformed> {
                let _fields = $crate::files::ftam::form::Fields::new(element)?;
                $($crate::files::ftam::form::field!(walk $rule, _fields, &$spot, $name, _seen, |all: &Self| &all.$field);)*
                Ok(())
            }
        }
    };
}

/// One field of [`sequence`].
macro_rules! field {
    (emit !, $value:expr, $spot:expr, $w:ident) => {
        $crate::files::ftam::form::FieldTag::emit(&$spot, &$value, $w)
    };
    (emit ?, $value:expr, $spot:expr, $w:ident) => {
        if let Some(value) = &$value {
            $crate::files::ftam::form::FieldTag::emit(&$spot, value, $w);
        }
    };
    (emit *, $value:expr, $spot:expr, $w:ident) => {
        if !$value.is_empty() {
            $crate::files::ftam::form::FieldTag::emit(&$spot, &$value, $w);
        }
    };
    (emit ~, $value:expr, $spot:expr, $w:ident, $default:expr) => {
        if $value != $default {
            $crate::files::ftam::form::FieldTag::emit(&$spot, &$value, $w);
        }
    };
    (walk ?, $fields:ident, $spot:expr, $name:expr, $seen:ident, $get:expr) => {
        $fields.walk_optional($spot, $name, $seen, $get)?
    };
    (walk $rule:tt, $fields:ident, $spot:expr, $name:expr, $seen:ident, $get:expr) => {
        $fields.walk($spot, $name, $seen, $get)?
    };
    (parse !, $fields:ident, $name:expr, $spot:expr) => {
        $fields.required(&$spot, $name)?
    };
    (parse ?, $fields:ident, $name:expr, $spot:expr) => {
        $fields.optional(&$spot, $name)?
    };
    (parse *, $fields:ident, $name:expr, $spot:expr) => {
        $fields.optional(&$spot, $name)?.unwrap_or_default()
    };
    (parse ~, $fields:ident, $name:expr, $spot:expr, $default:expr) => {
        $fields.optional(&$spot, $name)?.unwrap_or($default)
    };
}

/// An INTEGER of named values.
macro_rules! enumerated {
    ($type:ty, $expected:literal { $($variant:ident = $number:literal,)* }) => {
        impl $crate::files::ftam::form::Content for $type {
            fn emit(&self, w: &mut $crate::osi::ber::Writer, tag: $crate::osi::ber::Tag) {
                let number: i64 = match self { $(Self::$variant => $number,)* };
                w.integer(tag, number);
            }

            fn parse(element: &$crate::osi::ber::Element<'_>) -> Result<Self, $crate::Malformed> {
                match element.integer()? {
                    $($number => Ok(Self::$variant),)*
                    found => Err(element.refuse($crate::osi::ber::BerError::Value { found, expected: $expected })),
                }
            }
        }
    };
}

/// A CHOICE: its alternatives, each with where it stands.
macro_rules! choice {
    ($type:ty, $tag:expr, $expected:literal { $($variant:ident: $spot:expr;)* }) => {
        impl $crate::files::ftam::form::TaggedType for $type {
            const TAG: $crate::osi::ber::Tag = $tag;

            fn has(tag: $crate::osi::ber::Tag) -> bool {
                $($crate::files::ftam::form::tag_of(&$spot, Self::$variant) == tag)||*
            }

            fn emit(&self, w: &mut $crate::osi::ber::Writer) {
                match self {
                    $(Self::$variant(value) => $crate::files::ftam::form::FieldTag::emit(&$spot, value, w),)*
                }
            }

            fn parse(element: &$crate::osi::ber::Element<'_>) -> Result<Self, $crate::Malformed> {
                let tag = element.tag();
                $(if $crate::files::ftam::form::tag_of(&$spot, Self::$variant) == tag {
                    return $crate::files::ftam::form::FieldTag::parse(&$spot, element).map(Self::$variant);
                })*
                Err(element.is_no($expected))
            }
        }
    };
}

/// The tag of a spot for what `_make` takes.
pub(super) fn tag_of<T: Describe, U>(spot: &impl FieldTag<T>, _make: impl Fn(T) -> U) -> Tag {
    spot.tag()
}

/// A type with content and one tag of its own.
macro_rules! tagged {
    ($($type:ty = $tag:expr;)*) => {
        $(impl $crate::files::ftam::form::TaggedType for $type {
            const TAG: $crate::osi::ber::Tag = $tag;

            fn emit(&self, w: &mut $crate::osi::ber::Writer) {
                $crate::files::ftam::form::Content::emit(self, w, $tag);
            }

            fn parse(element: &$crate::osi::ber::Element<'_>) -> Result<Self, $crate::Malformed> {
                <Self as $crate::files::ftam::form::Content>::parse(element)
            }

            fn walk<'a>(
                element: &$crate::osi::ber::Element<'a>,
                name: &'static str,
                seen: &mut Vec<$crate::files::ftam::FpduField<'a>>,
            ) -> Result<(), $crate::Malformed> {
                <Self as $crate::files::ftam::form::Content>::walk(element, name, seen)
            }
        })*
    };
}

pub(super) use {choice, debugged, displayed, enumerated, field, sequence, tagged};
