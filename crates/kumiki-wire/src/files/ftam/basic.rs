//! What fields are made of: numbers, strings, bits, object identifiers, EXTERNAL, and what ISO 8571-4 makes of them.

use std::borrow::Cow;

use kumiki_octets::text::counted;
use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::access::{
    AccessContext, AccessControlElement, AccessPasswords, FaduIdentity, FaduLock, FaduOperation, Lock, PerAction,
};
use kumiki_osi_service::ftam::regime::{Charge, QualityOfService};
use kumiki_osi_service::ftam::{
    AccessRequest, ActionResult, Any, AttributeGroups, AttributeNames, Diagnostic, DiagnosticType, Entity,
    EqualityComparison, External, ExternalEncoding, FunctionalUnits, GeneralizedTime, GraphicString, LockKeys,
    Password, PermittedActions, ProcessingMode, ProtocolVersions, RelationalComparison, ServiceClasses, StateResult,
    oids,
};

use super::form::{
    Content, Describe, FieldTag, Fields, Implicit, OwnTag, TaggedType, a, c, debugged, displayed, enumerated, explicit,
    many, sequence, tagged,
};
use crate::Malformed;
use crate::osi::ber::{self, BerError, Bits, Class, Element, Tag, Writer};

displayed!(
    bool,
    i64,
    u32,
    u64,
    GraphicString,
    GeneralizedTime,
    Password,
    AccessRequest,
    AttributeGroups,
    AttributeNames,
    EqualityComparison,
    FunctionalUnits,
    LockKeys,
    PermittedActions,
    ProcessingMode,
    ProtocolVersions,
    RelationalComparison,
    ServiceClasses,
    Lock,
    AccessContext,
    FaduIdentity,
    FaduLock,
    FaduOperation,
    StateResult,
    ActionResult,
    DiagnosticType,
    QualityOfService,
    Entity,
    Diagnostic,
);
debugged!(Any, AccessControlElement, Charge);

/// By name, where it has one.
impl Describe for Oid {
    fn say(&self) -> String {
        oids::name(self).map_or_else(|| self.to_string(), str::to_owned)
    }
}

impl Describe for External {
    fn say(&self) -> String {
        let (what, len) = match &self.encoding {
            ExternalEncoding::SingleAsn1(any) => ("an element", any.0.len()),
            ExternalEncoding::OctetAligned(octets) => ("a value", octets.len()),
            ExternalEncoding::Arbitrary { octets, .. } => ("bits", octets.len()),
        };
        format!("{what} of {octets}", octets = counted(len, "octet"))
    }
}

impl Describe for AccessPasswords {
    fn say(&self) -> String {
        "(not shown)".to_owned()
    }
}

/// What is locked, or may be.
impl<T: Describe> Describe for PerAction<T> {
    fn say(&self) -> String {
        let each = self.each().map(|(action, value)| (action, value.say()));
        let each = each.iter().filter(|(_, value)| value != "not required");
        let each: Vec<String> = each.map(|(action, value)| format!("{action} {value}")).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    }
}

impl Content for bool {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.boolean(tag, *self);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        element.boolean()
    }
}

impl Content for i64 {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.integer(tag, *self);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        element.integer()
    }
}

impl Content for u32 {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.integer(tag, *self);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        element.integer_in("0 to 4294967295")
    }
}

/// What is beyond 63 bits is written as the largest value that is not: no file is as large.
impl Content for u64 {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.integer(tag, i64::try_from(*self).unwrap_or(i64::MAX));
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        element.integer_in("0 or more")
    }
}

impl Content for Oid {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.oid(tag, self);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        element.oid()
    }
}

impl Content for GraphicString {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.octet_string(tag, self.octets());
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        Ok(Self::from(element.octet_string()?.into_owned()))
    }
}

impl Content for GeneralizedTime {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.text(tag, self.as_str());
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        Ok(Self::written(&element.octet_string()?))
    }
}

tagged! {
    Oid = Tag::OBJECT_IDENTIFIER;
    GraphicString = Tag::GRAPHIC_STRING;
    PermittedActions = Tag::BIT_STRING;
    External = Tag::EXTERNAL;
}

macro_rules! bit_strings {
    ($($set:ty),*) => {
        $(impl Content for $set {
            fn emit(&self, w: &mut Writer, tag: Tag) {
                // As X.680 section 22.7 has it for named bits: zeros at the end say nothing.
                w.bits(tag, &Bits::named(self.bits().into(), 0));
            }

            fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
                let word = element.bits()?.word() & u64::from(u32::MAX);
                Ok(Self::from_bits(u32::try_from(word).unwrap_or(0)))
            }
        })*
    };
}

bit_strings!(
    AccessRequest,
    AttributeGroups,
    AttributeNames,
    EqualityComparison,
    FunctionalUnits,
    LockKeys,
    PermittedActions,
    ProcessingMode,
    ProtocolVersions,
    RelationalComparison,
    ServiceClasses
);

/// Any one element, whatever its tag.
impl TaggedType for Any {
    const TAG: Tag = Tag::OCTET_STRING;

    fn has(_: Tag) -> bool {
        true
    }

    fn emit(&self, w: &mut Writer) {
        w.raw(&self.0);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        Ok(Self(element.octets().to_vec()))
    }
}

impl Content for External {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        let encoding = match &self.encoding {
            ExternalEncoding::SingleAsn1(any) => ber::Encoding::Single(Cow::Borrowed(&any.0)),
            ExternalEncoding::OctetAligned(octets) => ber::Encoding::OctetAligned(Cow::Borrowed(octets)),
            ExternalEncoding::Arbitrary { unused, octets } => {
                ber::Encoding::Arbitrary(Bits::new(octets.as_slice(), *unused).unwrap_or_default())
            }
        };
        let external = ber::External {
            direct: self.direct_reference,
            indirect: self.indirect_reference,
            descriptor: self.descriptor.as_ref().map(|text| String::from_utf8_lossy(text.octets()).into_owned()),
            encoding,
        };
        w.external(tag, &external);
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let external = element.external()?;
        Ok(Self {
            direct_reference: external.direct,
            indirect_reference: external.indirect,
            descriptor: external.descriptor.map(GraphicString::from),
            encoding: match external.encoding {
                ber::Encoding::Single(octets) => ExternalEncoding::SingleAsn1(Any(octets.into_owned())),
                ber::Encoding::OctetAligned(octets) => ExternalEncoding::OctetAligned(octets.into_owned()),
                ber::Encoding::Arbitrary(bits) => {
                    ExternalEncoding::Arbitrary { unused: bits.unused(), octets: bits.octets().to_vec() }
                }
            },
        })
    }
}

/// Shared-ASE-Information.
pub(super) const SHARED: Implicit = a(20);

impl TaggedType for Password {
    const TAG: Tag = Tag::application(17);

    fn emit(&self, w: &mut Writer) {
        w.constructed(Self::TAG, |w| match self {
            Self::Text(text) => TaggedType::emit(text, w),
            Self::Octets(octets) => w.octet_string(Tag::OCTET_STRING, octets),
        });
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let inside = element.only()?;
        match inside.tag() {
            Tag::GRAPHIC_STRING => Content::parse(&inside).map(Self::Text),
            Tag::OCTET_STRING => Ok(Self::Octets(inside.octet_string()?.into_owned())),
            _ => Err(inside.is_no("GraphicString or OCTET STRING")),
        }
    }
}

/// An empty password stands for one that is not known, so one that is absent is the same.
impl Content for AccessPasswords {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.constructed(tag, |w| {
            for (n, (_, password)) in (0..).zip(self.actions.each()) {
                explicit(n).emit(password, w);
            }
            if let Some(pass) = &self.pass {
                many(8, OwnTag).emit(pass, w);
            }
            if let Some(link) = &self.link {
                explicit(9).emit(link, w);
            }
        });
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let fields = Fields::new(element)?;
        let password = |n, name| {
            let password = fields.optional(&explicit(n), name)?;
            Ok(password.unwrap_or_default())
        };
        Ok(Self {
            actions: PerAction {
                read: password(0, "read-password")?,
                insert: password(1, "insert-password")?,
                replace: password(2, "replace-password")?,
                extend: password(3, "extend-password")?,
                erase: password(4, "erase-password")?,
                read_attribute: password(5, "read-attribute-password")?,
                change_attribute: password(6, "change-attribute-password")?,
                delete: password(7, "delete-password")?,
            },
            pass: fields.optional(&many(8, OwnTag), "pass-passwords")?,
            link: fields.optional(&explicit(9), "link-password")?,
        })
    }
}

enumerated!(Lock, "0 to 3" { NotRequired = 0, Shared = 1, Exclusive = 2, NoAccess = 3, });

/// Concurrency-Control and Concurrency-Access.
impl<T: Content> Content for PerAction<T> {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.constructed(tag, |w| {
            for (n, (_, value)) in (0..).zip(self.each()) {
                c(n).emit(value, w);
            }
        });
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let fields = Fields::new(element)?;
        Ok(Self {
            read: fields.required(&c(0), "read lock")?,
            insert: fields.required(&c(1), "insert lock")?,
            replace: fields.required(&c(2), "replace lock")?,
            extend: fields.required(&c(3), "extend lock")?,
            erase: fields.required(&c(4), "erase lock")?,
            read_attribute: fields.required(&c(5), "read-attribute lock")?,
            change_attribute: fields.required(&c(6), "change-attribute lock")?,
            delete: fields.required(&c(7), "delete lock")?,
        })
    }
}

sequence!(AccessControlElement {
    ! action_list "action-list": c(0);
    ? concurrency_access "concurrency-access": c(1);
    ? identity "identity": c(2);
    ? passwords "passwords": c(3);
    // [4] IMPLICIT takes the place of the title's own tag, which is explicit.
    ? location "location": explicit(4);
});

impl Content for AccessContext {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        let (number, level) = match self {
            Self::HierarchicalAll => (0_i64, None),
            Self::HierarchicalNone => (1, None),
            Self::FlatAll => (2, None),
            Self::FlatLevel(level) => (3, Some(*level)),
            Self::FlatSingle => (4, None),
            Self::UnstructuredAll => (5, None),
            Self::UnstructuredSingle => (6, None),
        };
        w.constructed(tag, |w| {
            w.integer(Tag::context(0), number);
            if let Some(level) = level {
                w.integer(Tag::context(1), level);
            }
        });
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let fields = Fields::new(element)?;
        Ok(match fields.required(&c(0), "access-context")? {
            0_i64 => Self::HierarchicalAll,
            1 => Self::HierarchicalNone,
            2 => Self::FlatAll,
            3 => Self::FlatLevel(fields.required(&c(1), "level-number")?),
            4 => Self::FlatSingle,
            5 => Self::UnstructuredAll,
            6 => Self::UnstructuredSingle,
            found => {
                let expected = "0 to 6";
                let fault = BerError::Value { found, expected };
                return Err(element.called("access-context").refuse(fault));
            }
        })
    }
}

impl TaggedType for FaduIdentity {
    const TAG: Tag = Tag::application(15);

    fn emit(&self, w: &mut Writer) {
        w.constructed(Self::TAG, |w| match self {
            Self::First => c(0).emit(&0_i64, w),
            Self::Last => c(0).emit(&1_i64, w),
            Self::Previous => c(1).emit(&0_i64, w),
            Self::Current => c(1).emit(&1_i64, w),
            Self::Next => c(1).emit(&2_i64, w),
            Self::Begin => c(2).emit(&0_i64, w),
            Self::End => c(2).emit(&1_i64, w),
            Self::SingleName(name) => c(3).emit(name, w),
            Self::NameList(names) => many(4, OwnTag).emit(names, w),
            Self::Number(number) => c(5).emit(number, w),
        });
    }

    fn parse(element: &Element<'_>) -> Result<Self, Malformed> {
        let inside = element.only()?;
        let none_of = |found, expected| inside.refuse(BerError::Value { found, expected });
        let context = inside.tag().class == Class::Context;
        Ok(match (context, inside.tag().number) {
            (true, 0) => match inside.integer()? {
                0 => Self::First,
                1 => Self::Last,
                found => return Err(none_of(found, "0 first or 1 last")),
            },
            (true, 1) => match inside.integer()? {
                0 => Self::Previous,
                1 => Self::Current,
                2 => Self::Next,
                found => return Err(none_of(found, "0 previous, 1 current or 2 next")),
            },
            (true, 2) => match inside.integer()? {
                0 => Self::Begin,
                1 => Self::End,
                found => return Err(none_of(found, "0 begin or 1 end")),
            },
            (true, 3) => Self::SingleName(Content::parse(&inside)?),
            (true, 4) => Self::NameList(many(4, OwnTag).parse(&inside)?),
            (true, 5) => Self::Number(inside.integer()?),
            _ => return Err(inside.is_no("[0] to [5]")),
        })
    }
}

enumerated!(FaduLock, "0 or 1" { Off = 0, On = 1, });
enumerated!(FaduOperation, "0 to 2" { Insert = 0, Replace = 1, Extend = 2, });
enumerated!(StateResult, "0 or 1" { Success = 0, Failure = 1, });
enumerated!(ActionResult, "0 to 2" { Success = 0, TransientError = 1, PermanentError = 2, });
enumerated!(DiagnosticType, "0 to 2" { Informative = 0, Transient = 1, Permanent = 2, });
enumerated!(QualityOfService, "0 to 3" { NoRecovery = 0, Class1 = 1, Class2 = 2, Class3 = 3, });
enumerated!(Entity, "0 to 5" {
    Unknown = 0,
    InitiatingUser = 1,
    InitiatingMachine = 2,
    SupportingService = 3,
    RespondingMachine = 4,
    RespondingUser = 5,
});

sequence!(Diagnostic {
    ! diagnostic_type "diagnostic-type": c(0);
    ! error_identifier "error-identifier": c(1);
    ! error_observer "error-observer": c(2);
    ! error_source "error-source": c(3);
    ? suggested_delay "suggested-delay": c(4);
    ? further_details "further-details": c(5);
});

sequence!(Charge {
    ! resource_identifier "resource-identifier": c(0);
    ! charging_unit "charging-unit": c(1);
    ! charging_value "charging-value": c(2);
});

tagged! {
    AccessControlElement = Tag::SEQUENCE;
    AccessPasswords = Tag::SEQUENCE;
    Charge = Tag::SEQUENCE;
    Diagnostic = Tag::SEQUENCE;
}
