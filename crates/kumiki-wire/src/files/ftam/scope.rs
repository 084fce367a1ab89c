//! Assertions and scopes of version 2.

use kumiki_osi_service::ftam::Any;
use kumiki_osi_service::ftam::scope::{
    ActionsPattern, Assertion, BooleanPattern, ContentsTypePattern, DatePattern, IntegerPattern, OidPattern,
    PathnamePattern, Piece, RetrievalScope, Scope, StringPattern,
};

use super::form::{
    Content, FieldTag, Fields, OwnTag, SequenceOf, TaggedType, c, choice, debugged, enumerated, explicit, many,
    sequence, tagged,
};
use crate::Malformed;
use crate::osi::ber::{Element, Tag, Writer};

/// Attribute-Value-Assertions: one of these sets, and of it all.
pub(super) const ASSERTIONS: SequenceOf<SequenceOf<OwnTag>> = SequenceOf(
    Tag::application(26),
    SequenceOf(Tag::SEQUENCE, OwnTag, super::form::MOST_ITEMS),
    super::form::MOST_ITEMS,
);

/// Scope.
pub(super) const SCOPES: SequenceOf<OwnTag> = SequenceOf(Tag::application(28), OwnTag, super::form::MOST_ITEMS);

debugged!(
    ActionsPattern,
    Assertion,
    BooleanPattern,
    ContentsTypePattern,
    DatePattern,
    IntegerPattern,
    OidPattern,
    PathnamePattern,
    Piece,
    RetrievalScope,
    Scope,
    StringPattern,
);

enumerated!(RetrievalScope, "0 or 1" { Child = 0, All = 1, });

sequence!(Scope {
    ? root_directory "root-directory": explicit(0);
    ! retrieval_scope "retrieval-scope": c(1);
});

tagged! {
    Scope = Tag::SEQUENCE;
}

/// An element as it is, where its tag says which alternative it is.
struct AsItIs(u32);

impl FieldTag<Any> for AsItIs {
    fn tag(&self) -> Tag {
        Tag::context(self.0)
    }

    fn emit(&self, value: &Any, w: &mut Writer) {
        TaggedType::emit(value, w);
    }

    fn parse(&self, element: &Element<'_>) -> Result<Any, Malformed> {
        TaggedType::parse(element)
    }
}

choice!(Assertion, Tag::context(0), "an attribute, [0] to [23] without [15], [17] and [21]" {
    Pathname: c(0);
    ObjectType: c(18);
    PermittedActions: c(1);
    ContentsType: explicit(2);
    LinkedObject: c(19);
    ChildObjects: c(23);
    PrimaryPathname: c(20);
    StorageAccount: c(3);
    Created: c(4);
    Modified: c(5);
    Read: c(6);
    AttributesModified: c(7);
    Creator: c(8);
    Modifier: c(9);
    Reader: c(10);
    AttributeModifier: c(11);
    Availability: c(12);
    Size: c(13);
    FutureSize: c(14);
    LegalQualification: c(16);
    Extensions: AsItIs(22);
});

/// A component of a pathname, or any number of them.
struct Component;

impl FieldTag<Option<StringPattern>> for Component {
    fn tag(&self) -> Tag {
        Tag::context(2)
    }

    fn has(&self, tag: Tag) -> bool {
        tag == Tag::context(2) || tag == Tag::context(3)
    }

    fn emit(&self, value: &Option<StringPattern>, w: &mut Writer) {
        match value {
            Some(pattern) => c(2).emit(pattern, w),
            None => w.null(Tag::context(3)),
        }
    }

    fn parse(&self, element: &Element<'_>) -> Result<Option<StringPattern>, Malformed> {
        if element.tag() == Tag::context(3) {
            return element.null().map(|()| None);
        }
        Content::parse(element).map(Some)
    }
}

impl TaggedType for Piece {
    const TAG: Tag = Tag::context(2);

    fn has(tag: Tag) -> bool {
        (2..5).any(|n| tag == Tag::context(n))
    }

    fn emit(&self, w: &mut Writer) {
        match self {
            Self::Substring(text) => c(2).emit(text, w),
            Self::Any => w.null(Tag::context(3)),
            Self::Characters(count) => c(4).emit(count, w),
        }
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        match element.tag().number {
            2 => Content::parse(element).map(Self::Substring),
            3 => element.null().map(|()| Self::Any),
            _ => element.integer().map(Self::Characters),
        }
    }
}

sequence!(PathnamePattern {
    ! comparison "comparison": c(0);
    ! value "value": many(1, Component);
});

sequence!(StringPattern {
    ! comparison "comparison": c(0);
    ! value "value": many(1, OwnTag);
});

sequence!(ActionsPattern {
    ! comparison "comparison": c(0);
    ! value "value": c(1);
    ! significance "significance": c(2);
});

sequence!(DatePattern {
    ! comparison "comparison": c(0);
    ! value "value": c(1);
});

sequence!(IntegerPattern {
    ! comparison "comparison": c(0);
    ! value "value": c(1);
});

sequence!(BooleanPattern {
    ! comparison "comparison": c(0);
    ! value "value": c(1);
});

sequence!(OidPattern {
    ! comparison "comparison": c(0);
    ! value "value": c(1);
});

impl TaggedType for ContentsTypePattern {
    const TAG: Tag = Tag::context(0);

    fn has(tag: Tag) -> bool {
        tag == Tag::context(0) || tag == Tag::context(1)
    }

    fn emit(&self, w: &mut Writer) {
        match self {
            Self::DocumentType(pattern) => c(0).emit(pattern, w),
            Self::ConstraintSet { constraint_set, abstract_syntax } => w.context(1, |w| {
                if let Some(pattern) = constraint_set {
                    c(2).emit(pattern, w);
                }
                if let Some(pattern) = abstract_syntax {
                    c(3).emit(pattern, w);
                }
            }),
        }
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        if element.tag() == Tag::context(0) {
            return Content::parse(element).map(Self::DocumentType);
        }
        let fields = Fields::new(element)?;
        Ok(Self::ConstraintSet {
            constraint_set: fields.optional(&c(2), "constraint-set-pattern")?,
            abstract_syntax: fields.optional(&c(3), "abstract-syntax-pattern")?,
        })
    }
}
