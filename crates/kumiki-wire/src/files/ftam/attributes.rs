//! Attributes of files, and the contents type among them.

use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::attributes::{
    AccessControlChange, Availability, ChangeAttributes, CreateAttributes, ExtensionNames, ExtensionSet, ObjectType,
    Pathname, PrivateUse, ReadAttributes,
};
use kumiki_osi_service::ftam::contents::{
    ContentsType, ContentsTypeName, DocumentParameter, Significance, StringClass, StringParameter,
};
use kumiki_osi_service::ftam::{Any, AttributeNames, oids};

use super::form::{
    Content, Describe, Explicit, FieldTag, Fields, OwnTag, SequenceOf, TaggedType, a, attribute, c, choice, debugged,
    displayed, enumerated, explicit, many, sequence, tagged,
};
use crate::Malformed;
use crate::osi::ber::{BerError, Element, Tag, Writer};

/// The most components of a pathname.
const MOST_COMPONENTS: usize = 128;

/// The most objects in a directory, as an attribute of it.
const MOST_CHILDREN: usize = 10_000;

/// `SEQUENCE OF GraphicString`.
const fn components(tag: Tag) -> SequenceOf<OwnTag> {
    SequenceOf(tag, OwnTag, MOST_COMPONENTS)
}

displayed!(
    Availability,
    ContentsType,
    ContentsTypeName,
    ObjectType,
    Pathname,
    Significance,
    StringClass,
    StringParameter,
);
debugged!((Oid, Any), AccessControlChange, ChangeAttributes, CreateAttributes, ExtensionNames, ExtensionSet);

impl Describe for PrivateUse {
    fn say(&self) -> String {
        match self {
            Self::NoValueAvailable => "no value available".to_owned(),
            Self::AbstractSyntaxNotSupported => "abstract syntax not supported".to_owned(),
            Self::Actual(value) => value.say(),
        }
    }
}

/// One object of a list: its name, how large it is, and when it was last modified.
impl Describe for ReadAttributes {
    fn say(&self) -> String {
        let mut said: Vec<String> = Vec::new();
        said.extend(self.pathname.as_ref().map(Describe::say));
        said.extend(self.object_type.as_ref().map(Describe::say));
        said.extend(self.size.as_ref().map(|size| format!("size {}", size.say())));
        said.extend(self.modified.as_ref().map(|date| format!("modified {}", date.say())));
        said.join(", ")
    }
}

choice!(Pathname, Tag::context(0), "[0] incomplete or [APPLICATION 23] complete" {
    Incomplete: components(Tag::context(0));
    Complete: components(Tag::application(23));
});

enumerated!(ObjectType, "0 to 2" { File = 0, FileDirectory = 1, Reference = 2, });
enumerated!(Availability, "0 or 1" { Immediate = 0, Deferred = 1, });

impl TaggedType for PrivateUse {
    const TAG: Tag = Tag::context(2);

    fn has(tag: Tag) -> bool {
        (0..3).any(|n| tag == Tag::context(n))
    }

    fn emit(&self, w: &mut Writer) {
        match self {
            Self::NoValueAvailable => w.null(Tag::context(0)),
            Self::AbstractSyntaxNotSupported => w.null(Tag::context(1)),
            Self::Actual(value) => c(2).emit(value, w),
        }
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        if element.tag() == Tag::context(2) {
            return Content::parse(element).map(Self::Actual);
        }
        element.null()?;
        Ok(if element.tag() == Tag::context(0) { Self::NoValueAvailable } else { Self::AbstractSyntaxNotSupported })
    }
}

sequence!(AccessControlChange {
    ? insert_values "insert-values": many(0, OwnTag);
    ? delete_values "delete-values": many(1, OwnTag);
});

/// One extension attribute: which, and its value.
impl Content for (Oid, Any) {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.constructed(tag, |w| {
            TaggedType::emit(&self.0, w);
            TaggedType::emit(&self.1, w);
        });
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let mut inside = element.elements()?;
        let oid = inside.take(Tag::OBJECT_IDENTIFIER, "extension-attribute-identifier")?;
        let value = inside.any("extension-attribute", "a value")?;
        Ok((oid.oid()?, TaggedType::parse(&value)?))
    }
}

tagged! {
    (Oid, Any) = Tag::SEQUENCE;
    ExtensionSet = Tag::SEQUENCE;
    ExtensionNames = Tag::SEQUENCE;
}

/// `[1] SEQUENCE OF`, explicit.
const LISTED: Explicit<SequenceOf<OwnTag>> =
    Explicit(Tag::context(1), SequenceOf(Tag::SEQUENCE, OwnTag, super::form::MOST_ITEMS));

sequence!(ExtensionSet {
    ! identifier "identifier": c(0);
    ! attributes "attributes": LISTED;
});

sequence!(ExtensionNames {
    ! identifier "identifier": c(0);
    ! names "names": LISTED;
});

sequence!(CreateAttributes {
    ! pathname "pathname": OwnTag;
    ~ object_type "object-type": c(18) => ObjectType::File;
    ! permitted_actions "permitted-actions": c(1);
    ! contents_type "contents-type": explicit(2);
    ? storage_account "storage-account": attribute(3, a(4));
    ? availability "object-availability": attribute(12, c(1));
    ? future_size "future-object-size": attribute(14, c(1));
    ? access_control "access-control": attribute(15, many(1, OwnTag));
    ? path_access_control "path-access-control": attribute(21, many(1, OwnTag));
    ? legal_qualification "legal-qualification": attribute(16, c(1));
    ? private_use "private-use": explicit(17);
    ? extensions "attribute-extensions": many(22, OwnTag);
});

sequence!(ChangeAttributes {
    ? pathname "pathname": OwnTag;
    ? storage_account "storage-account": attribute(3, a(4));
    ? availability "object-availability": attribute(12, c(1));
    ? future_size "future-object-size": attribute(14, c(1));
    ? access_control "access-control": attribute(15, c(1));
    ? path_access_control "path-access-control": attribute(21, c(1));
    ? legal_qualification "legal-qualification": attribute(16, c(1));
    ? private_use "private-use": explicit(17);
    ? extensions "attribute-extensions": many(22, OwnTag);
});

sequence!(ReadAttributes {
    ? pathname "pathname": OwnTag;
    ? object_type "object-type": c(18);
    ? permitted_actions "permitted-actions": c(1);
    ? contents_type "contents-type": explicit(2);
    ? linked_object "linked-object": explicit(19);
    ? child_objects "child-objects": Explicit(Tag::context(23), SequenceOf(Tag::SET, OwnTag, MOST_CHILDREN));
    ? primary_pathname "primary-pathname": explicit(20);
    ? storage_account "storage-account": attribute(3, a(4));
    ? created "date-and-time-of-creation": attribute(4, c(1));
    ? modified "date-and-time-of-last-modification": attribute(5, c(1));
    ? read "date-and-time-of-last-read-access": attribute(6, c(1));
    ? attributes_modified "date-and-time-of-last-attribute-modification": attribute(7, c(1));
    ? creator "identity-of-creator": attribute(8, a(22));
    ? modifier "identity-of-last-modifier": attribute(9, a(22));
    ? reader "identity-of-last-reader": attribute(10, a(22));
    ? attribute_modifier "identity-of-last-attribute-modifier": attribute(11, a(22));
    ? availability "object-availability": attribute(12, c(1));
    ? size "object-size": attribute(13, c(1));
    ? future_size "future-object-size": attribute(14, c(1));
    ? access_control "access-control": attribute(15, many(1, OwnTag));
    ? path_access_control "path-access-control": attribute(21, many(1, OwnTag));
    ? legal_qualification "legal-qualification": attribute(16, c(1));
    ? private_use "private-use": explicit(17);
    ? extensions "attribute-extensions": many(22, OwnTag);
});

tagged! {
    ChangeAttributes = Tag::application(8);
    CreateAttributes = Tag::application(12);
    ReadAttributes = Tag::application(18);
}

choice!(ContentsTypeName, Tag::application(14), "[APPLICATION 14] document type or [APPLICATION 0] abstract syntax" {
    DocumentType: a(14);
    AbstractSyntax: a(0);
});

impl TaggedType for ContentsType {
    const TAG: Tag = Tag::context(0);

    fn has(tag: Tag) -> bool {
        tag == Tag::context(0) || tag == Tag::context(1)
    }

    fn emit(&self, w: &mut Writer) {
        match self {
            Self::Document { name, parameter } => w.context(0, |w| {
                a(14).emit(name, w);
                if let Some(parameter) = parameter {
                    w.context(0, |w| emit_parameter(parameter, w));
                }
            }),
            Self::ConstraintSet { constraint_set, abstract_syntax } => w.context(1, |w| {
                a(11).emit(constraint_set, w);
                a(0).emit(abstract_syntax, w);
            }),
        }
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let fields = Fields::new(element)?;
        if element.tag() == Tag::context(1) {
            return Ok(Self::ConstraintSet {
                constraint_set: fields.required(&a(11), "constraint-set-name")?,
                abstract_syntax: fields.required(&a(0), "abstract-syntax-name")?,
            });
        }
        let name = fields.required(&a(14), "document-type-name")?;
        let parameter: Option<Any> = fields.optional(&explicit(0), "parameter")?;
        Ok(Self::Document { name, parameter: parameter.map(|any| parameter_of(&name, any)) })
    }
}

enumerated!(Significance, "0 to 2" { Variable = 0, Fixed = 1, NotSignificant = 2, });

impl Content for StringClass {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.integer(tag, self.number());
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let found = element.integer()?;
        let class = u64::try_from(found).ok().and_then(Self::of);
        let expected = "19 to 22 or 25 to 27";
        class.ok_or_else(|| element.refuse(BerError::Value { found, expected }))
    }
}

sequence!(StringParameter {
    ? universal_class "universal-class": c(0);
    ? maximum_length "maximum-length": c(1);
    ? significance "significance": c(2);
});

tagged! {
    StringParameter = Tag::SEQUENCE;
    // NBS-9-Parameters ::= [0] IMPLICIT Attribute-Names
    AttributeNames = Tag::context(0);
}

fn emit_parameter(parameter: &DocumentParameter, w: &mut Writer) {
    match parameter {
        DocumentParameter::Strings(strings) => TaggedType::emit(strings, w),
        DocumentParameter::Attributes(names) => TaggedType::emit(names, w),
        DocumentParameter::Other(any) => TaggedType::emit(any, w),
    }
}

/// What `any` is, as the parameter of this document type. What cannot be read stays as it is: a file with an odd
/// parameter is still a file.
fn parameter_of(name: &Oid, any: Any) -> DocumentParameter {
    let known = {
        let mut reader = crate::osi::ber::Reader::new("document type", &any.0);
        let element = reader.next("parameter").ok().flatten();
        element.and_then(|element| match *name {
            oids::FTAM_1 | oids::FTAM_2 | oids::FTAM_3 | oids::FTAM_4 if element.tag() == StringParameter::TAG => {
                let strings: Result<StringParameter, _> = TaggedType::parse(&element);
                strings.ok().map(DocumentParameter::Strings)
            }
            oids::NBS_9 | oids::NBS_9_OLD if element.tag() == <AttributeNames as TaggedType>::TAG => {
                let names: Result<AttributeNames, _> = TaggedType::parse(&element);
                names.ok().map(DocumentParameter::Attributes)
            }
            _ => None,
        })
    };
    known.unwrap_or(DocumentParameter::Other(any))
}
