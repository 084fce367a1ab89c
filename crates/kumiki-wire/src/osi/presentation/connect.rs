//! CP, CPA and CPR: a connection is asked for, accepted, refused.

use kumiki_osi_service::presentation::refusal;

use super::{
    Context, ContextResult, FunctionalUnits, MOST_FIELD, Malformed, Message, Oid, Selector, Tag, UserData, Writer,
    chain, code, contexts, flags, fmt, in_front, optional_selector, push, read, requirements, selector, units,
};
use crate::osi::ber::{BerError, Element};

/// CP.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Connect {
    /// Calling presentation selector.
    pub calling: Option<Selector>,
    /// Called presentation selector.
    pub called: Option<Selector>,
    /// The contexts proposed.
    pub contexts: Vec<Context>,
    /// Abstract and transfer syntax of the default context, for data that can come before there are others.
    pub default_context: Option<(Oid, Oid)>,
    /// [`requirement`](super::requirement) bits.
    pub requirements: u32,
    /// The session functional units that the presentation user wants, where they are not those of the session
    /// connection.
    pub session: Option<FunctionalUnits>,
    /// User data.
    pub data: Option<UserData>,
}

/// CPA.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Accept {
    /// Responding presentation selector.
    pub responding: Option<Selector>,
    /// What became of the contexts, in the order in which they were proposed.
    pub results: Vec<ContextResult>,
    /// [`requirement`](super::requirement) bits.
    pub requirements: u32,
    /// As in [`Connect`].
    pub session: Option<FunctionalUnits>,
    /// User data.
    pub data: Option<UserData>,
}

/// CPR.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Refuse {
    /// Responding presentation selector.
    pub responding: Option<Selector>,
    /// What would have become of the contexts.
    pub results: Vec<ContextResult>,
    /// What became of the default context: 0 accepted, 1 and 2 refused by user and provider.
    pub default_context: Option<u8>,
    /// Why the presentation entity refused ([`refusal`]); without it, its user did.
    pub reason: Option<u8>,
    /// User data, of a user's refusal.
    pub data: Option<UserData>,
}

/// What the three may have.
#[derive(Default)]
struct Fields {
    version: Option<u32>,
    calling: Option<Selector>,
    called: Option<Selector>,
    responding: Option<Selector>,
    contexts: Vec<Context>,
    results: Vec<ContextResult>,
    default_context: Option<(Oid, Oid)>,
    default_result: Option<u8>,
    requirements: u32,
    session: Option<FunctionalUnits>,
    reason: Option<u8>,
    data: Option<UserData>,
}

impl Fields {
    /// Reads what is left of the element that `r` is in, in any order.
    fn read(pdu: &'static str, r: &mut chain::Reader) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        while let Some(head) = r.peek(pdu)? {
            if UserData::begins_with(head.tag) {
                fields.data = Some(UserData::parse(r.element("user-data")?)?);
                continue;
            }
            let octets = r.piece("a parameter", MOST_FIELD)?;
            let field = name(head.tag);
            read(pdu, field, &octets, |element| fields.take(element))?;
        }
        if fields.version.is_some_and(|bits| bits & 1 == 0) {
            return Err(Malformed::Field {
                protocol: pdu,
                field: "protocol-version",
                found: fields.version.unwrap_or(0).into(),
                expected: "bit 0: version 1",
            });
        }
        Ok(fields)
    }

    fn take(&mut self, element: &Element<'_>) -> Result<(), Malformed> {
        match element.tag() {
            tag if tag == Tag::context(0) => self.version = Some(flags(element)?),
            tag if tag == Tag::context(1) => self.calling = Some(selector(element)?),
            tag if tag == Tag::context(2) => self.called = Some(selector(element)?),
            tag if tag == Tag::context(3) => self.responding = Some(selector(element)?),
            tag if tag == Tag::context(4) => self.contexts = contexts::list(element)?,
            tag if tag == Tag::context(5) => self.results = contexts::results(element)?,
            tag if tag == Tag::context(6) => {
                let mut inside = element.elements()?;
                let mut oid = |n, field| inside.take(Tag::context(n), field)?.oid();
                let pair = (oid(0, "abstract-syntax-name")?, oid(1, "transfer-syntax-name")?);
                self.default_context = Some(pair);
            }
            tag if tag == Tag::context(7) => self.default_result = Some(code(element)?),
            tag if tag == Tag::context(8) => self.requirements = flags(element)?,
            tag if tag == Tag::context(9) => self.session = Some(units(element)?),
            tag if tag == Tag::context(10) => self.reason = Some(code(element)?),
            // A later edition's.
            _ => {}
        }
        Ok(())
    }
}

fn name(tag: Tag) -> &'static str {
    const NAMES: [&str; 11] = [
        "protocol-version",
        "calling-presentation-selector",
        "called-presentation-selector",
        "responding-presentation-selector",
        "presentation-context-definition-list",
        "presentation-context-definition-result-list",
        "default-context-name",
        "default-context-result",
        "presentation-requirements",
        "user-session-requirements",
        "provider-reason",
    ];
    let known = usize::try_from(tag.number).unwrap_or(usize::MAX);
    if tag == Tag::context(tag.number) { NAMES.get(known).copied().unwrap_or("a parameter") } else { "a parameter" }
}

/// CP and CPA: a SET of the mode and, in normal mode, the parameters, in either order.
fn normal_mode(pdu: &'static str, message: Message) -> Result<Fields, Malformed> {
    let mut r = chain::Reader::new(pdu, message);
    r.enter(Tag::SET, pdu)?;
    let mut mode = None;
    let mut fields = None;
    while let Some(head) = r.peek("mode-selector")? {
        if head.tag == Tag::context(2) {
            r.enter(head.tag, "normal-mode-parameters")?;
            fields = Some(Fields::read(pdu, &mut r)?);
            r.leave("normal-mode-parameters")?;
            continue;
        }
        let octets = r.piece("mode-selector", MOST_FIELD)?;
        if head.tag == Tag::context(0) {
            mode = Some(read(pdu, "mode-selector", &octets, |set| set.explicit(Tag::context(0))?.integer())?);
        }
    }
    r.leave(pdu)?;
    r.finish(pdu)?;
    // 0 is X.410 mode.
    if mode != Some(1) {
        return Err(match mode {
            Some(found) => {
                let expected = "1 (normal mode; X.410 mode is not spoken here)";
                BerError::Value { found, expected }
            }
            None => BerError::Missing { expected: Tag::context(0) },
        }
        .of(pdu, "mode-selector"));
    }
    fields.ok_or_else(|| {
        let expected = Tag::context(2);
        BerError::Missing { expected }.of(pdu, "normal-mode-parameters")
    })
}

/// The other way.
fn in_normal_mode(fields: Writer, data: Option<UserData>) -> Message {
    let mut message = in_front(fields, data);
    push::constructed(&mut message, Tag::context(2));
    message.push_octets(&[0xa0, 0x03, 0x80, 0x01, 0x01]);
    push::constructed(&mut message, Tag::SET);
    message
}

impl Connect {
    /// Reads the CP that is all of `message`.
    ///
    /// # Errors
    /// Not a CP PPDU, or X.410-1984 mode, or an unsupported version.
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let fields = normal_mode("CP", message)?;
        Ok(Self {
            calling: fields.calling,
            called: fields.called,
            contexts: fields.contexts,
            default_context: fields.default_context,
            requirements: fields.requirements,
            session: fields.session,
            data: fields.data,
        })
    }

    /// The octets.
    #[must_use]
    pub fn emit(self) -> Message {
        let mut w = Writer::new();
        optional_selector(&mut w, 1, self.calling.as_ref());
        optional_selector(&mut w, 2, self.called.as_ref());
        contexts::put_list(&mut w, Tag::context(4), &self.contexts);
        if let Some((abstract_syntax, transfer_syntax)) = &self.default_context {
            w.context(6, |w| {
                w.oid(Tag::context(0), abstract_syntax);
                w.oid(Tag::context(1), transfer_syntax);
            });
        }
        requirements(&mut w, self.requirements, self.session);
        in_normal_mode(w, self.data)
    }
}

impl Accept {
    /// Reads the CPA that is all of `message`.
    ///
    /// # Errors
    /// As [`Connect::parse`].
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let fields = normal_mode("CPA", message)?;
        Ok(Self {
            responding: fields.responding,
            results: fields.results,
            requirements: fields.requirements,
            session: fields.session,
            data: fields.data,
        })
    }

    /// The octets.
    #[must_use]
    pub fn emit(self) -> Message {
        let mut w = Writer::new();
        optional_selector(&mut w, 3, self.responding.as_ref());
        contexts::put_results(&mut w, Tag::context(5), &self.results);
        requirements(&mut w, self.requirements, self.session);
        in_normal_mode(w, self.data)
    }
}

impl Refuse {
    /// Reads the CPR that is all of `message`.
    ///
    /// # Errors
    /// Not a CPR PPDU, or X.410-1984 mode, or an unsupported version.
    pub fn parse(message: Message) -> Result<Self, Malformed> {
        let pdu = "CPR";
        let mut r = chain::Reader::new(pdu, message);
        r.enter(Tag::SEQUENCE, pdu)?;
        let fields = Fields::read(pdu, &mut r)?;
        r.leave(pdu)?;
        r.finish(pdu)?;
        Ok(Self {
            responding: fields.responding,
            results: fields.results,
            default_context: fields.default_result,
            reason: fields.reason,
            data: fields.data,
        })
    }

    /// The octets.
    #[must_use]
    pub fn emit(self) -> Message {
        let mut w = Writer::new();
        optional_selector(&mut w, 3, self.responding.as_ref());
        contexts::put_results(&mut w, Tag::context(5), &self.results);
        if let Some(result) = self.default_context {
            w.integer(Tag::context(7), result);
        }
        if let Some(reason) = self.reason {
            w.integer(Tag::context(10), reason);
        }
        let mut message = in_front(w, self.data);
        push::constructed(&mut message, Tag::SEQUENCE);
        message
    }
}

fn and_data(f: &mut fmt::Formatter<'_>, data: Option<&UserData>) -> fmt::Result {
    data.map_or(Ok(()), |data| write!(f, " {data}"))
}

impl fmt::Display for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CP")?;
        if let Some(calling) = &self.calling {
            write!(f, " calling {calling}")?;
        }
        if let Some(called) = &self.called {
            write!(f, " called {called}")?;
        }
        write!(f, " contexts {}", self.contexts.len())?;
        and_data(f, self.data.as_ref())
    }
}

impl fmt::Display for Accept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (accepted, all) = contexts::count(&self.results);
        write!(f, "CPA contexts {accepted} of {all}")?;
        and_data(f, self.data.as_ref())
    }
}

impl fmt::Display for Refuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Some(reason) => write!(f, "CPR {}", refusal::meaning(reason))?,
            None => f.write_str("CPR by the user")?,
        }
        and_data(f, self.data.as_ref())
    }
}
