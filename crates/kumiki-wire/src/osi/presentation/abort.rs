//! What comes after a connection has been made: abort, other contexts, resynchronisation.

use kumiki_osi_service::presentation::abort;

use super::contexts::{self, IdentifiedContext};
use super::{
    Context, ContextId, ContextResult, MOST_CONTEXTS, MOST_FIELD, Malformed, Message, Tag, UserData, Writer, chain,
    code, fmt, in_front, push, read,
};
use crate::osi::ber::{BerError, Element};

/// ARU or ARP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abort {
    /// ARU: by the user.
    User {
        /// The contexts that stand, where the one who aborts does not know whether the peer knows.
        contexts: Vec<IdentifiedContext>,
        /// User data.
        data: Option<UserData>,
    },
    /// ARP: by the presentation entity.
    Provider {
        /// Why: [`abort`].
        reason: Option<u8>,
        /// What it was about: number of a PPDU (0 to 8) or of a session primitive.
        event: Option<u8>,
    },
}

impl Abort {
    /// Reads the ARU or ARP that is all of `message`.
    ///
    /// # Errors
    /// It is neither, or in X.410 mode.
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let pdu = "ARU or ARP";
        let mut r = chain::Reader::new(pdu, message);
        let abort = match r.peek(pdu)?.map(|head| head.tag) {
            Some(Tag::SEQUENCE) => {
                let octets = r.piece("ARP-PPDU", MOST_FIELD)?;
                read("ARP", "ARP-PPDU", &octets, |element| {
                    let mut inside = element.elements()?;
                    Ok(Self::Provider {
                        reason: inside.optional(Tag::context(0), "provider-reason", code)?,
                        event: inside.optional(Tag::context(1), "event-identifier", code)?,
                    })
                })?
            }
            Some(tag) if tag == Tag::context(0) => {
                let (mut contexts, mut data) = (Vec::new(), None);
                list_and_data(&mut r, "ARU", tag, &mut data, |number, element| {
                    if number == 0 {
                        contexts = contexts::standing(element)?;
                    }
                    Ok(())
                })?;
                Self::User { contexts, data }
            }
            Some(found) => {
                let expected = "[0] (ARU, normal mode) or SEQUENCE (ARP)";
                return Err(BerError::Choice { found, expected }.of("PPDU", "PPDU of an abort"));
            }
            None => {
                let expected = Tag::context(0);
                return Err(BerError::Missing { expected }.of("PPDU", "PPDU of an abort"));
            }
        };
        r.finish(pdu)?;
        Ok(abort)
    }

    /// The octets.
    #[must_use]
    pub fn emit(self) -> Message {
        let mut w = Writer::new();
        match self {
            Self::User { contexts, data } => {
                contexts::put_standing(&mut w, Tag::context(0), &contexts);
                let mut message = in_front(w, data);
                push::constructed(&mut message, Tag::context(0));
                message
            }
            Self::Provider { reason, event } => {
                w.sequence(|w| {
                    if let Some(reason) = reason {
                        w.integer(Tag::context(0), reason);
                    }
                    if let Some(event) = event {
                        w.integer(Tag::context(1), event);
                    }
                });
                in_front(w, None)
            }
        }
    }
}

/// Reads the element `tag`: parameters, whose number and element `take` gets, and user data.
fn list_and_data(
    r: &mut chain::Reader,
    pdu: &'static str,
    tag: Tag,
    data: &mut Option<UserData>,
    mut take: impl FnMut(u32, &Element<'_>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    r.enter(tag, pdu)?;
    while let Some(head) = r.peek(pdu)? {
        if UserData::begins_with(head.tag) {
            *data = Some(UserData::parse(r.element("user-data")?)?);
            continue;
        }
        let octets = r.piece("a parameter", MOST_FIELD)?;
        if head.tag == Tag::context(head.tag.number) {
            read(pdu, "a parameter", &octets, |element| take(head.tag.number, element))?;
        }
    }
    r.leave(pdu)
}

/// AC: other contexts are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Alter {
    /// Those to be added.
    pub additions: Vec<Context>,
    /// Those to be deleted.
    pub deletions: Vec<ContextId>,
    /// User data.
    pub data: Option<UserData>,
}

/// ACA: the answer to AC.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AlterAck {
    /// What became of those to be added.
    pub additions: Vec<ContextResult>,
    /// Whether those to be deleted have been.
    pub deletions: Vec<bool>,
    /// User data.
    pub data: Option<UserData>,
}

/// What TD carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// AC.
    Alter(Alter),
    /// ACA.
    AlterAck(AlterAck),
    /// TTD: typed data of the user.
    Data(UserData),
}

impl Typed {
    /// Reads the PPDU that is all of `message`.
    ///
    /// # Errors
    /// It is none of the three.
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let mut r = chain::Reader::new("PPDU", message);
        let tag = r.peek("PPDU of typed data")?.map(|head| head.tag);
        let typed = match tag {
            Some(tag) if tag == Tag::context(0) => {
                let mut alter = Alter::default();
                let (additions, deletions) = (&mut alter.additions, &mut alter.deletions);
                list_and_data(&mut r, "AC", tag, &mut alter.data, |number, element| {
                    match number {
                        0 => *additions = contexts::list(element)?,
                        1 => {
                            let field = "presentation-context-deletion-list";
                            let inside = element.elements()?;
                            *deletions = inside.each(field, MOST_CONTEXTS, Element::integer)?;
                        }
                        _ => {}
                    }
                    Ok(())
                })?;
                Self::Alter(alter)
            }
            Some(tag) if tag == Tag::context(1) => {
                let mut ack = AlterAck::default();
                let (additions, deletions) = (&mut ack.additions, &mut ack.deletions);
                list_and_data(&mut r, "ACA", tag, &mut ack.data, |number, element| {
                    match number {
                        0 => *additions = contexts::results(element)?,
                        1 => {
                            let field = "presentation-context-deletion-result-list";
                            let inside = element.elements()?;
                            *deletions = inside
                                .each(field, MOST_CONTEXTS, |result| result.integer().map(|result| result == 0))?;
                        }
                        _ => {}
                    }
                    Ok(())
                })?;
                Self::AlterAck(ack)
            }
            Some(_) | None => return UserData::parse(r.into_rest()).map(Self::Data),
        };
        r.finish("PPDU of typed data")?;
        Ok(typed)
    }

    /// The octets.
    #[must_use]
    pub fn emit(self) -> Message {
        let mut w = Writer::new();
        let (number, mut message) = match self {
            Self::Data(data) => return data.emit(),
            Self::Alter(alter) => {
                contexts::put_list(&mut w, Tag::context(0), &alter.additions);
                if !alter.deletions.is_empty() {
                    w.context(1, |w| {
                        for id in &alter.deletions {
                            w.integer(Tag::INTEGER, *id);
                        }
                    });
                }
                (0, in_front(w, alter.data))
            }
            Self::AlterAck(ack) => {
                contexts::put_results(&mut w, Tag::context(0), &ack.additions);
                if !ack.deletions.is_empty() {
                    w.context(1, |w| {
                        for deleted in &ack.deletions {
                            w.integer(Tag::INTEGER, i64::from(!deleted));
                        }
                    });
                }
                (1, in_front(w, ack.data))
            }
        };
        push::constructed(&mut message, Tag::context(number));
        message
    }
}

/// RS or RSA.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Resync {
    /// The contexts that stand, where contexts can be restored.
    pub contexts: Vec<IdentifiedContext>,
    /// User data.
    pub data: Option<UserData>,
}

impl Resync {
    /// Reads the RS or RSA that is all of `message`.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let mut r = chain::Reader::new("RS or RSA", message);
        let mut resync = Self::default();
        let contexts = &mut resync.contexts;
        let data = &mut resync.data;
        list_and_data(&mut r, "RS or RSA", Tag::SEQUENCE, data, |number, element| {
            if number == 0 {
                *contexts = contexts::standing(element)?;
            }
            Ok(())
        })?;
        r.finish("RS or RSA")?;
        Ok(resync)
    }

    /// The octets.
    #[must_use]
    pub fn emit(self) -> Message {
        let mut w = Writer::new();
        contexts::put_standing(&mut w, Tag::context(0), &self.contexts);
        let mut message = in_front(w, self.data);
        push::constructed(&mut message, Tag::SEQUENCE);
        message
    }
}

fn and_data(f: &mut fmt::Formatter<'_>, data: Option<&UserData>) -> fmt::Result {
    data.map_or(Ok(()), |data| write!(f, " {data}"))
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { data, .. } => {
                f.write_str("ARU")?;
                and_data(f, data.as_ref())
            }
            Self::Provider { reason, .. } => {
                let reason = reason.unwrap_or(abort::NOT_SPECIFIED);
                write!(f, "ARP {}", abort::meaning(reason))
            }
        }
    }
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alter(alter) => {
                let (additions, deletions) = (alter.additions.len(), alter.deletions.len());
                write!(f, "AC additions {additions} deletions {deletions}")?;
                and_data(f, alter.data.as_ref())
            }
            Self::AlterAck(ack) => {
                let (accepted, all) = contexts::count(&ack.additions);
                write!(f, "ACA additions {accepted} of {all}")?;
                and_data(f, ack.data.as_ref())
            }
            Self::Data(data) => write!(f, "TTD {data}"),
        }
    }
}

impl fmt::Display for Resync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RS contexts {}", self.contexts.len())?;
        and_data(f, self.data.as_ref())
    }
}
