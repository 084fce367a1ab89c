//! User information: values of the user, each an EXTERNAL, whose octets stay in the message.

use super::{BerError, ContextId, Form, Malformed, Message, Oid, Tag, Writer, chain, fmt, push};
use crate::osi::in_front;

/// The most values in the user information of one APDU.
pub const MOST_INFORMATION: usize = 32;

/// A value of the user information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Information {
    /// `direct-reference`: the transfer syntax, or of what is in no context the type.
    pub direct: Option<Oid>,
    /// `indirect-reference`: the presentation context.
    pub context: Option<ContextId>,
    /// How it is carried.
    pub form: Form,
    /// The value.
    pub data: Message,
}

impl Information {
    /// One value in BER in a context.
    #[must_use]
    pub const fn single(context: ContextId, data: Message) -> Self {
        Self { direct: None, context: Some(context), form: Form::Single, data }
    }

    /// Reads one.
    fn read(pdu: &'static str, r: &mut chain::Reader) -> Result<Self, Malformed> {
        let is = |r: &mut chain::Reader, tag, field| r.peek(field).map(|head| head.is_some_and(|head| head.tag == tag));
        r.enter(Tag::EXTERNAL, "user-information")?;
        let field = "EXTERNAL direct-reference";
        let direct =
            if is(r, Tag::OBJECT_IDENTIFIER, field)? { Some(r.oid(Tag::OBJECT_IDENTIFIER, field)?) } else { None };
        let field = "EXTERNAL indirect-reference";
        let context = if is(r, Tag::INTEGER, field)? { Some(r.integer(Tag::INTEGER, field)?) } else { None };
        let field = "EXTERNAL data-value-descriptor";
        if is(r, Tag::OBJECT_DESCRIPTOR, field)? {
            r.piece(field, super::MOST_FIELD)?;
        }
        let field = "EXTERNAL encoding";
        let (form, data) = match r.peek(field)?.map(|head| head.tag) {
            Some(tag) if tag == Tag::context(0) => {
                r.enter(tag, field)?;
                let data = r.element(field)?;
                r.leave(field)?;
                (Form::Single, data)
            }
            Some(tag) if tag == Tag::context(1) => (Form::OctetAligned, r.octet_string(tag, field)?),
            Some(tag) if tag == Tag::context(2) => {
                let (unused, data) = r.bit_string(tag, field)?;
                (Form::Arbitrary(unused), data)
            }
            found => {
                let found = found.unwrap_or(Tag::universal(0));
                let expected = "[0] single, [1] octet-aligned or [2] arbitrary";
                return Err(BerError::Choice { found, expected }.of(pdu, field));
            }
        };
        r.leave("user-information")?;
        Ok(Self { direct, context, form, data })
    }

    /// Reads all of `[30]`.
    pub(super) fn read_all(pdu: &'static str, r: &mut chain::Reader) -> Result<Vec<Self>, Malformed> {
        let field = "user-information";
        r.enter(Tag::context(30), field)?;
        let mut all = Vec::new();
        while r.peek(field)?.is_some() {
            if all.len() == MOST_INFORMATION {
                return Err(Malformed::Length {
                    protocol: pdu,
                    field: "values of user-information",
                    found: all.len() + 1,
                    least: 0,
                    most: MOST_INFORMATION,
                });
            }
            all.push(Self::read(pdu, r)?);
        }
        r.leave(field)?;
        Ok(all)
    }

    fn emit(self) -> Message {
        let mut message = self.data;
        match self.form {
            Form::Single => push::constructed(&mut message, Tag::context(0)),
            Form::OctetAligned => push::primitive(&mut message, Tag::context(1)),
            Form::Arbitrary(unused) => push::bits(&mut message, Tag::context(2), unused),
        }
        let mut w = Writer::new();
        if let Some(direct) = &self.direct {
            w.oid(Tag::OBJECT_IDENTIFIER, direct);
        }
        if let Some(context) = self.context {
            w.integer(Tag::INTEGER, context);
        }
        let mut message = in_front(&w.finish(), message);
        push::constructed(&mut message, Tag::EXTERNAL);
        message
    }
}

/// All of `[30]`, or nothing where there is nothing to say.
pub(super) fn emit(all: Vec<Information>) -> Message {
    let mut message = Message::new();
    for one in all {
        // The first one is the message, so that it is not moved into a slice.
        if message.is_empty() {
            message = one.emit();
        } else {
            message.append(one.emit());
        }
    }
    if !message.is_empty() {
        push::constructed(&mut message, Tag::context(30));
    }
    message
}

impl fmt::Display for Information {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.context {
            Some(context) => write!(f, "context {context} data {}", self.data.len()),
            None => write!(f, "data {}", self.data.len()),
        }
    }
}
