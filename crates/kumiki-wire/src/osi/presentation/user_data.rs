//! User data: presentation data values, each in its context.

use core::fmt;

use kumiki_octets::Message;
use kumiki_osi_service::Oid;
use kumiki_osi_service::presentation::{ContextId, Value, Values};
use smallvec::{SmallVec, smallvec};

use crate::Malformed;
use crate::osi::ber::{BerError, Tag, chain, push};

/// What errors name.
const PDU: &str = "User-data";
/// The most PDV-lists in one PPDU, and of elements in an octet-aligned one.
pub const MOST_VALUES: usize = 4096;

const SIMPLE: Tag = Tag::application(0);
const FULL: Tag = Tag::application(1);
const SINGLE: Tag = Tag::context(0);
const OCTET_ALIGNED: Tag = Tag::context(1);
const ARBITRARY: Tag = Tag::context(2);

/// How a value is carried in a PDV-list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// `single-ASN1-type`: one value in BER, as it stands.
    #[default]
    Single,
    /// `octet-aligned`: octets of one or more values, one behind the other.
    OctetAligned,
    /// `arbitrary`: bits, and how many of the last octet are not among them.
    Arbitrary(u8),
}

/// A PDV-list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdv {
    /// The context.
    pub context: ContextId,
    /// The transfer syntax: in CP, where more than one is proposed for the context.
    pub transfer_syntax: Option<Oid>,
    /// How the value is carried.
    pub form: Form,
    /// The value, or, octet-aligned, the values.
    pub data: Message,
}

impl Pdv {
    /// One value in BER.
    #[must_use]
    pub const fn single(context: ContextId, data: Message) -> Self {
        Self { context, transfer_syntax: None, form: Form::Single, data }
    }

    /// Its values, where the transfer syntax of the context is BER: an octet-aligned one is as many values as there are
    /// elements in it.
    ///
    /// # Errors
    /// What is in it is not BER, or more than [`MOST_VALUES`].
    pub fn into_values(self, out: &mut Values) -> Result<(), Malformed> {
        let Self { context, form, data, .. } = self;
        if form == Form::Single {
            out.push(Value { context, data });
            return Ok(());
        }
        let mut r = chain::Reader::new(PDU, data);
        while r.peek("octet-aligned")?.is_some() {
            bounded(out.len())?;
            let data = r.element("octet-aligned")?;
            out.push(Value { context, data });
        }
        Ok(())
    }

    fn parse(r: &mut chain::Reader) -> Result<Self, Malformed> {
        r.enter(Tag::SEQUENCE, "PDV-list")?;
        let mut transfer_syntax = None;
        if r.peek("transfer-syntax-name")?.map(|head| head.tag) == Some(Tag::OBJECT_IDENTIFIER) {
            transfer_syntax = Some(r.oid(Tag::OBJECT_IDENTIFIER, "transfer-syntax-name")?);
        }
        let context = r.integer(Tag::INTEGER, "presentation-context-identifier")?;
        let field = "presentation-data-values";
        let (form, data) = match r.peek(field)?.map(|head| head.tag) {
            Some(SINGLE) => {
                r.enter(SINGLE, "single-ASN1-type")?;
                let data = r.element("single-ASN1-type")?;
                r.leave("single-ASN1-type")?;
                (Form::Single, data)
            }
            Some(OCTET_ALIGNED) => {
                let data = r.octet_string(OCTET_ALIGNED, "octet-aligned")?;
                (Form::OctetAligned, data)
            }
            Some(ARBITRARY) => {
                let (unused, data) = r.bit_string(ARBITRARY, "arbitrary")?;
                (Form::Arbitrary(unused), data)
            }
            Some(found) => {
                let expected = "[0] single-ASN1-type, [1] octet-aligned or [2] arbitrary";
                return Err(BerError::Choice { found, expected }.of(PDU, field));
            }
            None => return Err(BerError::Missing { expected: SINGLE }.of(PDU, field)),
        };
        r.leave("PDV-list")?;
        Ok(Self { context, transfer_syntax, form, data })
    }

    fn emit(self) -> Message {
        let mut message = self.data;
        match self.form {
            Form::Single => push::constructed(&mut message, SINGLE),
            Form::OctetAligned => push::primitive(&mut message, OCTET_ALIGNED),
            Form::Arbitrary(unused) => push::bits(&mut message, ARBITRARY, unused),
        }
        push::integer(&mut message, Tag::INTEGER, self.context);
        if let Some(syntax) = self.transfer_syntax {
            push::element(&mut message, Tag::OBJECT_IDENTIFIER, syntax.content());
        }
        push::constructed(&mut message, Tag::SEQUENCE);
        message
    }
}

impl From<Value> for Pdv {
    fn from(value: Value) -> Self {
        Self::single(value.context, value.data)
    }
}

const fn bounded(have: usize) -> Result<(), Malformed> {
    if have < MOST_VALUES {
        return Ok(());
    }
    Err(Malformed::Length { protocol: PDU, field: "values", found: have + 1, least: 0, most: MOST_VALUES })
}

/// What a PPDU carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserData {
    /// `simply-encoded-data`: there is one context only, and its transfer syntax says how to read these octets.
    Simple(Message),
    /// `fully-encoded-data`: each value says its context.
    Full(SmallVec<[Pdv; 1]>),
}

impl UserData {
    /// One value in BER.
    #[must_use]
    pub fn single(context: ContextId, data: Message) -> Self {
        Self::Full(smallvec![Pdv::single(context, data)])
    }

    /// Values in BER, in their order.
    #[must_use]
    pub fn of(values: Values) -> Self {
        Self::Full(values.into_iter().map(Pdv::from).collect())
    }

    /// The values, where they are in BER; `simple` is the context of simply encoded data.
    ///
    /// # Errors
    /// As [`Pdv::into_values`].
    pub fn into_values(self, simple: ContextId) -> Result<Values, Malformed> {
        let mut values = Values::new();
        match self {
            Self::Simple(data) => {
                let pdv = Pdv { context: simple, transfer_syntax: None, form: Form::OctetAligned, data };
                pdv.into_values(&mut values)?;
            }
            Self::Full(pdvs) => {
                for pdv in pdvs {
                    pdv.into_values(&mut values)?;
                }
            }
        }
        Ok(values)
    }

    /// Reads the user data that is all of `message`.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let mut r = chain::Reader::new(PDU, message);
        let field = "User-data";
        let data = match r.peek(field)?.map(|head| head.tag) {
            Some(SIMPLE) => Self::Simple(r.octet_string(SIMPLE, "simply-encoded-data")?),
            Some(FULL) => {
                r.enter(FULL, "fully-encoded-data")?;
                let mut pdvs = SmallVec::new();
                while r.peek("PDV-list")?.is_some() {
                    bounded(pdvs.len())?;
                    pdvs.push(Pdv::parse(&mut r)?);
                }
                r.leave("fully-encoded-data")?;
                Self::Full(pdvs)
            }
            Some(found) => {
                let expected = "[APPLICATION 0] simply-encoded-data or [APPLICATION 1] fully-encoded-data";
                return Err(BerError::Choice { found, expected }.of(PDU, field));
            }
            None => return Err(BerError::Missing { expected: FULL }.of(PDU, field)),
        };
        r.finish(field)?;
        Ok(data)
    }

    /// Whether an element with `tag` is user data.
    pub(super) fn begins_with(tag: Tag) -> bool {
        tag == SIMPLE || tag == FULL
    }

    /// The octets.
    #[must_use]
    pub fn emit(self) -> Message {
        match self {
            Self::Simple(mut data) => {
                push::primitive(&mut data, SIMPLE);
                data
            }
            Self::Full(pdvs) => {
                let mut pdvs = pdvs.into_iter();
                let mut all = pdvs.next().map_or_else(Message::new, Pdv::emit);
                for pdv in pdvs {
                    all.append(pdv.emit());
                }
                push::constructed(&mut all, FULL);
                all
            }
        }
    }
}

impl fmt::Display for Pdv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {} data {}", self.context, self.data.len())
    }
}

impl fmt::Display for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(data) => write!(f, "data {}", data.len()),
            Self::Full(pdvs) => {
                for (n, pdv) in pdvs.iter().enumerate() {
                    write!(f, "{}{pdv}", if n > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}
