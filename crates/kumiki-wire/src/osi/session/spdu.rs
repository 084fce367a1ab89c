//! Each SPDU, as what it says.

use kumiki_octets::Message;
use kumiki_osi_service::Selector;
use kumiki_osi_service::session::{
    FunctionalUnits, Reference, Resync as Kind, SyncPoint, TokenSetting, Tokens, refusal,
};

use super::fields::Fields;
use super::{Category, Code, transport, version};
use crate::Malformed;

/// Session user requirements where CN or AC does not say any (X.225 section 8.3.1.7, recalled): half-duplex, minor
/// synchronize, activities, capability data, exceptions.
const DEFAULT_UNITS: FunctionalUnits = FunctionalUnits(0x0349);

/// Which part of a segmented SSDU this is (PI 25). What is not segmented has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Enclosure {
    /// It begins here.
    pub begin: bool,
    /// It ends here.
    pub end: bool,
}

impl Enclosure {
    const fn of(bits: u8) -> Self {
        Self { begin: bits & 1 != 0, end: bits & 2 != 0 }
    }

    const fn bits(self) -> u8 {
        self.begin as u8 | (self.end as u8) << 1
    }
}

/// User data, or user information, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Enclosed {
    /// Which part; `None` for all of it.
    pub enclosure: Option<Enclosure>,
    /// The data, where there is some. DT and TD always have it.
    pub data: Option<Message>,
}

impl Enclosed {
    /// All of it.
    #[must_use]
    pub const fn whole(data: Message) -> Self {
        Self { enclosure: None, data: Some(data) }
    }

    /// Whether the SSDU ends here.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.enclosure.is_none_or(|enclosure| enclosure.end)
    }

    fn take(fields: &mut Fields) -> Self {
        Self { enclosure: fields.enclosure.map(Enclosure::of), data: fields.data.take() }
    }

    fn give(self, fields: &mut Fields) {
        fields.enclosure = self.enclosure.map(Enclosure::bits);
        fields.data = self.data;
    }
}

/// CN or AC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// What names the connection. `user` is PI 10, the calling user's, in CN, and PI 9, the called one's, in AC.
    pub reference: Option<Reference>,
    /// Whether the sender can receive extended concatenation (PI 19, bit 0).
    pub extended_concatenation: bool,
    /// The largest TSDU, in octets: from initiator to responder, and back. 0 means no limit; without it, nothing is
    /// segmented.
    pub tsdu_maximum: Option<(u16, u16)>,
    /// [`version`] bits: those proposed in CN, the one chosen in AC.
    pub versions: u8,
    /// Initial serial number.
    pub initial: Option<SyncPoint>,
    /// The same for the other direction, of symmetric synchronisation.
    pub second_initial: Option<SyncPoint>,
    /// Who is to have the tokens.
    pub tokens: Option<TokenSetting>,
    /// Session user requirements.
    pub functional_units: FunctionalUnits,
    /// Calling session selector.
    pub calling: Option<Selector>,
    /// Called, or in AC responding, session selector.
    pub called: Option<Selector>,
    /// AC: the tokens that the responder would like to have.
    pub please: Option<Tokens>,
    /// CN: more user data follows in CDO, once OA has come.
    pub overflow: bool,
    /// User data; only AC may have a part of it.
    pub data: Enclosed,
}

impl Connection {
    /// Version 2 and `functional_units`, without anything else.
    #[must_use]
    pub fn new(functional_units: FunctionalUnits) -> Self {
        Self {
            reference: None,
            extended_concatenation: false,
            tsdu_maximum: None,
            versions: version::TWO,
            initial: None,
            second_initial: None,
            tokens: None,
            functional_units,
            calling: None,
            called: None,
            please: None,
            overflow: false,
            data: Enclosed::default(),
        }
    }

    fn take(code: Code, fields: &mut Fields) -> Self {
        let user = if code == Code::Cn { fields.calling_reference.take() } else { fields.called_reference.take() };
        Self {
            reference: reference(user, fields),
            extended_concatenation: fields.options.is_some_and(|bits| bits & 1 != 0),
            tsdu_maximum: fields.tsdu_maximum,
            versions: fields.version.unwrap_or(version::ONE),
            initial: fields.initial,
            second_initial: fields.second_initial,
            tokens: fields.token_setting.map(TokenSetting),
            functional_units: fields.requirements.map_or(DEFAULT_UNITS, FunctionalUnits),
            calling: fields.calling,
            called: fields.called,
            please: fields.tokens.map(Tokens),
            overflow: fields.overflow.is_some(),
            data: Enclosed::take(fields),
        }
    }

    fn give(self, code: Code, fields: &mut Fields) {
        if let Some(reference) = self.reference {
            let user = some(reference.user);
            if code == Code::Cn {
                fields.calling_reference = user;
            } else {
                fields.called_reference = user;
            }
            fields.common_reference = some(reference.common);
            fields.additional_reference = some(reference.additional);
        }
        fields.options = Some(u8::from(self.extended_concatenation));
        fields.tsdu_maximum = self.tsdu_maximum;
        fields.version = Some(self.versions);
        fields.initial = self.initial;
        fields.second_initial = self.second_initial;
        fields.token_setting = self.tokens.map(|setting| setting.0);
        fields.requirements = Some(self.functional_units.0);
        fields.calling = self.calling;
        fields.called = self.called;
        fields.tokens = self.please.map(|tokens| tokens.0);
        fields.overflow = self.overflow.then_some(1);
        self.data.give(fields);
    }
}

fn some(octets: Vec<u8>) -> Option<Vec<u8>> {
    (!octets.is_empty()).then_some(octets)
}

fn reference(user: Option<Vec<u8>>, fields: &mut Fields) -> Option<Reference> {
    let common = fields.common_reference.take();
    let additional = fields.additional_reference.take();
    (user.is_some() || common.is_some() || additional.is_some()).then(|| Reference {
        user: user.unwrap_or_default(),
        common: common.unwrap_or_default(),
        additional: additional.unwrap_or_default(),
    })
}

/// RF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refuse {
    /// What names the connection; `user` is the called user's.
    pub reference: Option<Reference>,
    /// [`transport`] bits; without them the transport connection goes.
    pub transport: Option<u8>,
    /// Of a refusal for [`refusal::USER`] and its kin: what the responder would agree to.
    pub functional_units: Option<FunctionalUnits>,
    /// Versions that the refusing entity knows.
    pub versions: Option<u8>,
    /// One of [`refusal`].
    pub reason: u8,
    /// Which part of the user data it is.
    pub enclosure: Option<Enclosure>,
    /// User data, of a user's refusal.
    pub data: Option<Message>,
}

impl Refuse {
    fn take(fields: &mut Fields) -> Self {
        let user = fields.called_reference.take();
        Self {
            reference: reference(user, fields),
            transport: fields.transport,
            functional_units: fields.requirements.map(FunctionalUnits),
            versions: fields.version,
            reason: fields.reason.unwrap_or(refusal::USER),
            enclosure: fields.enclosure.map(Enclosure::of),
            data: fields.data.take(),
        }
    }

    fn give(self, fields: &mut Fields) {
        if let Some(reference) = self.reference {
            fields.called_reference = some(reference.user);
            fields.common_reference = some(reference.common);
            fields.additional_reference = some(reference.additional);
        }
        fields.transport = self.transport;
        fields.requirements = self.functional_units.map(|units| units.0);
        fields.version = self.versions;
        fields.enclosure = self.enclosure.map(Enclosure::bits);
        fields.reason = Some(self.reason);
        fields.data = self.data;
    }
}

/// FN.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Finish {
    /// [`transport`] bits; without them the transport connection goes.
    pub transport: Option<u8>,
    /// User data.
    pub data: Enclosed,
}

/// AB.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Abort {
    /// [`transport`] bits: why, and whether the transport connection goes.
    pub transport: Option<u8>,
    /// Of a protocol error: what the session entity likes to say, at most 9 octets.
    pub reflect: Vec<u8>,
    /// User data, of a user's abort.
    pub data: Enclosed,
}

impl Abort {
    fn take(fields: &mut Fields) -> Self {
        Self {
            transport: fields.transport,
            reflect: fields.reflect.take().unwrap_or_default(),
            data: Enclosed::take(fields),
        }
    }

    fn give(self, fields: &mut Fields) {
        fields.transport = self.transport;
        fields.reflect = some(self.reflect);
        self.data.give(fields);
    }
}

/// MIP or MAP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Bit 0 of the sync type item. MIP: no answer is asked for. MAP: the activity does not end here.
    pub open: bool,
    /// Serial number.
    pub number: SyncPoint,
    /// User data.
    pub data: Enclosed,
}

impl Point {
    fn take(code: Code, fields: &mut Fields) -> Result<Self, Malformed> {
        Ok(Self {
            open: fields.sync_type.is_some_and(|bits| bits & 1 != 0),
            number: serial(code, fields)?,
            data: Enclosed::take(fields),
        })
    }

    fn give(self, fields: &mut Fields) {
        fields.sync_type = self.open.then_some(1);
        fields.serial = Some(self.number);
        self.data.give(fields);
    }
}

/// The serial number, which must be there.
fn serial(code: Code, fields: &Fields) -> Result<SyncPoint, Malformed> {
    fields.serial.ok_or_else(|| Malformed::Length {
        protocol: code.name(),
        field: "serial number",
        found: 0,
        least: 1,
        most: 6,
    })
}

/// RS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resync {
    /// How.
    pub kind: Kind,
    /// Serial number.
    pub number: SyncPoint,
    /// Who is to have the tokens, where there are any.
    pub tokens: Option<TokenSetting>,
    /// User data.
    pub data: Enclosed,
}

/// RA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResyncAck {
    /// Serial number.
    pub number: SyncPoint,
    /// Who has the tokens, where there are any.
    pub tokens: Option<TokenSetting>,
    /// User data.
    pub data: Enclosed,
}

/// An SPDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spdu {
    /// CN.
    Connect(Box<Connection>),
    /// CDO: the rest of the user data of CN.
    Overflow(Enclosed),
    /// OA: it may come.
    OverflowAccept {
        /// The largest TSDU, as in [`Connection::tsdu_maximum`].
        tsdu_maximum: Option<(u16, u16)>,
        /// The version chosen.
        version: u8,
    },
    /// AC.
    Accept(Box<Connection>),
    /// RF.
    Refuse(Refuse),
    /// FN.
    Finish(Finish),
    /// DN: the answer to FN.
    Disconnect(Enclosed),
    /// NF: the answer to FN where release can be refused.
    NotFinished(Enclosed),
    /// AB.
    Abort(Abort),
    /// AA: the answer to AB where the transport connection is kept.
    AbortAccept,
    /// DT.
    Data(Enclosed),
    /// EX.
    Expedited(Message),
    /// TD.
    TypedData(Enclosed),
    /// GT.
    GiveTokens {
        /// Which.
        tokens: Tokens,
        /// User data.
        data: Enclosed,
    },
    /// PT.
    PleaseTokens {
        /// Which.
        tokens: Tokens,
        /// User data.
        data: Enclosed,
    },
    /// GTC: gives all tokens.
    GiveTokensConfirm(Enclosed),
    /// GTA: the answer to GTC.
    GiveTokensAck,
    /// MIP.
    MinorSync(Point),
    /// MIA.
    MinorSyncAck {
        /// Serial number.
        number: SyncPoint,
        /// User data.
        data: Enclosed,
    },
    /// MAP: a major synchronisation point, or the end of an activity.
    MajorSync(Point),
    /// MAA.
    MajorSyncAck {
        /// Serial number.
        number: SyncPoint,
        /// User data.
        data: Enclosed,
    },
    /// RS.
    Resync(Resync),
    /// RA.
    ResyncAck(ResyncAck),
    /// PR: the SPDU of this type comes on the normal flow; 1 MAA, 2 RS, 3 RA, 4 AB.
    Prepare(u8),
    /// ER: an exception of the provider.
    ExceptionReport {
        /// Reflected parameter values.
        reflect: Vec<u8>,
    },
    /// ED: an exception of the user.
    ExceptionData {
        /// The user's reason.
        reason: u8,
        /// User data.
        data: Enclosed,
    },
    /// One of activities or capability data.
    Other {
        /// Which.
        code: Code,
        /// User data.
        data: Enclosed,
    },
}

impl Spdu {
    /// Which one it is.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Connect(_) => Code::Cn,
            Self::Overflow(_) => Code::Cdo,
            Self::OverflowAccept { .. } => Code::Oa,
            Self::Accept(_) => Code::Ac,
            Self::Refuse(_) => Code::Rf,
            Self::Finish(_) => Code::Fn,
            Self::Disconnect(_) => Code::Dn,
            Self::NotFinished(_) => Code::Nf,
            Self::Abort(_) => Code::Ab,
            Self::AbortAccept => Code::Aa,
            Self::Data(_) => Code::Dt,
            Self::Expedited(_) => Code::Ex,
            Self::TypedData(_) => Code::Td,
            Self::GiveTokens { .. } => Code::Gt,
            Self::PleaseTokens { .. } => Code::Pt,
            Self::GiveTokensConfirm(_) => Code::Gtc,
            Self::GiveTokensAck => Code::Gta,
            Self::MinorSync(_) => Code::Mip,
            Self::MinorSyncAck { .. } => Code::Mia,
            Self::MajorSync(_) => Code::Map,
            Self::MajorSyncAck { .. } => Code::Maa,
            Self::Resync(_) => Code::Rs,
            Self::ResyncAck(_) => Code::Ra,
            Self::Prepare(_) => Code::Pr,
            Self::ExceptionReport { .. } => Code::Er,
            Self::ExceptionData { .. } => Code::Ed,
            Self::Other { code, .. } => *code,
        }
    }

    /// GT or PT that is there only so that something stands in front.
    pub(super) fn says_nothing(&self) -> bool {
        let (Self::GiveTokens { tokens, data } | Self::PleaseTokens { tokens, data }) = self else {
            return false;
        };
        *tokens == Tokens::default() && data.data.is_none() && data.enclosure.is_none()
    }

    pub(super) fn parse(code: Code, parameters: &mut Message, information: Message) -> Result<Self, Malformed> {
        let mut fields = Fields::parse(code, parameters)?;
        if code.has_information() {
            fields.data = Some(information);
        }
        let tokens = Tokens(fields.tokens.unwrap_or(0));
        let setting = fields.token_setting.map(TokenSetting);
        Ok(match code {
            Code::Cn => Self::Connect(Box::new(Connection::take(code, &mut fields))),
            Code::Ac => Self::Accept(Box::new(Connection::take(code, &mut fields))),
            Code::Cdo => Self::Overflow(Enclosed::take(&mut fields)),
            Code::Oa => Self::OverflowAccept {
                tsdu_maximum: fields.tsdu_maximum,
                version: fields.version.unwrap_or(version::TWO),
            },
            Code::Rf => Self::Refuse(Refuse::take(&mut fields)),
            Code::Fn => Self::Finish(Finish { transport: fields.transport, data: Enclosed::take(&mut fields) }),
            Code::Dn => Self::Disconnect(Enclosed::take(&mut fields)),
            Code::Nf => Self::NotFinished(Enclosed::take(&mut fields)),
            Code::Ab => Self::Abort(Abort::take(&mut fields)),
            Code::Aa => Self::AbortAccept,
            Code::Dt => Self::Data(Enclosed::take(&mut fields)),
            Code::Td => Self::TypedData(Enclosed::take(&mut fields)),
            Code::Ex => Self::Expedited(fields.data.take().unwrap_or_default()),
            Code::Gt => Self::GiveTokens { tokens, data: Enclosed::take(&mut fields) },
            Code::Pt => Self::PleaseTokens { tokens, data: Enclosed::take(&mut fields) },
            Code::Gtc => Self::GiveTokensConfirm(Enclosed::take(&mut fields)),
            Code::Gta => Self::GiveTokensAck,
            Code::Mip => Self::MinorSync(Point::take(code, &mut fields)?),
            Code::Map => Self::MajorSync(Point::take(code, &mut fields)?),
            Code::Mia => Self::MinorSyncAck { number: serial(code, &fields)?, data: Enclosed::take(&mut fields) },
            Code::Maa => Self::MajorSyncAck { number: serial(code, &fields)?, data: Enclosed::take(&mut fields) },
            Code::Rs => Self::Resync(Resync {
                kind: kind(fields.resync.unwrap_or(0))?,
                number: serial(code, &fields)?,
                tokens: setting,
                data: Enclosed::take(&mut fields),
            }),
            Code::Ra => Self::ResyncAck(ResyncAck {
                number: serial(code, &fields)?,
                tokens: setting,
                data: Enclosed::take(&mut fields),
            }),
            Code::Pr => Self::Prepare(prepared(fields.prepare)?),
            Code::Er => Self::ExceptionReport { reflect: fields.reflect.take().unwrap_or_default() },
            Code::Ed => Self::ExceptionData { reason: fields.reason.unwrap_or(0), data: Enclosed::take(&mut fields) },
            Code::Cd | Code::Cda | Code::As | Code::Ar | Code::Ai | Code::Aia | Code::Ad | Code::Ada => {
                Self::Other { code, data: Enclosed::take(&mut fields) }
            }
        })
    }

    /// The octets of the SPDU. User data is taken along, not copied.
    ///
    /// # Errors
    /// More user data than LI can say: it is to be segmented.
    pub fn emit(self) -> Result<Message, Malformed> {
        let code = self.code();
        let mut fields = Fields::default();
        match self {
            Self::Connect(connection) | Self::Accept(connection) => {
                connection.give(code, &mut fields);
            }
            Self::OverflowAccept { tsdu_maximum, version } => {
                fields.tsdu_maximum = tsdu_maximum;
                fields.version = Some(version);
            }
            Self::Refuse(refuse) => refuse.give(&mut fields),
            Self::Finish(finish) => {
                fields.transport = finish.transport;
                finish.data.give(&mut fields);
            }
            Self::Abort(abort) => abort.give(&mut fields),
            Self::Data(data) | Self::TypedData(data) => return informing(code, data),
            Self::Expedited(information) => return Ok(bare(code, information)),
            Self::GiveTokens { tokens, data } | Self::PleaseTokens { tokens, data } => {
                fields.tokens = (tokens != Tokens::default()).then_some(tokens.0);
                data.give(&mut fields);
            }
            Self::Overflow(data)
            | Self::Disconnect(data)
            | Self::NotFinished(data)
            | Self::GiveTokensConfirm(data)
            | Self::Other { data, .. } => data.give(&mut fields),
            Self::AbortAccept | Self::GiveTokensAck => {}
            Self::MinorSync(point) | Self::MajorSync(point) => point.give(&mut fields),
            Self::MinorSyncAck { number, data } | Self::MajorSyncAck { number, data } => {
                fields.serial = Some(number);
                data.give(&mut fields);
            }
            Self::Resync(resync) => {
                fields.resync = Some(bits(resync.kind));
                fields.serial = Some(resync.number);
                fields.token_setting = resync.tokens.map(|setting| setting.0);
                resync.data.give(&mut fields);
            }
            Self::ResyncAck(ack) => {
                fields.serial = Some(ack.number);
                fields.token_setting = ack.tokens.map(|setting| setting.0);
                ack.data.give(&mut fields);
            }
            Self::Prepare(kind) => fields.prepare = Some(kind),
            Self::ExceptionReport { reflect } => fields.reflect = some(reflect),
            Self::ExceptionData { reason, data } => {
                fields.reason = Some(reason);
                data.give(&mut fields);
            }
        }
        fields.emit(code)
    }

    /// The TSDU that carries it alone: one of category 2 behind a GT without tokens.
    ///
    /// # Errors
    /// As [`Spdu::emit`].
    pub fn into_tsdu(self) -> Result<Message, Malformed> {
        self.behind(Tokens::default())
    }

    /// The TSDU that carries it, of category 2, behind a GT with `tokens`; one of another category without it.
    ///
    /// # Errors
    /// As [`Spdu::emit`].
    pub fn behind(self, tokens: Tokens) -> Result<Message, Malformed> {
        let two = self.code().category() == Category::Two;
        let mut tsdu = self.emit()?;
        if two {
            if tokens == Tokens::default() {
                tsdu.push_octets(&[Code::Gt.si(), 0]);
            } else {
                tsdu.push_octets(&[Code::Gt.si(), 3, super::unit::code::TOKENS, 1, tokens.0]);
            }
        }
        Ok(tsdu)
    }
}

/// User information behind a header without parameters.
fn bare(code: Code, mut information: Message) -> Message {
    information.push_octets(&[code.si(), 0]);
    information
}

/// DT or TD, whose user data is user information.
fn informing(code: Code, mut data: Enclosed) -> Result<Message, Malformed> {
    let information = data.data.take().unwrap_or_default();
    if code == Code::Dt && data.enclosure.is_none() {
        return Ok(bare(code, information));
    }
    let mut fields = Fields::default();
    data.give(&mut fields);
    let mut whole = fields.emit(code)?;
    whole.append(information);
    Ok(whole)
}

/// What is prepared, which must be one of those that there are.
fn prepared(kind: Option<u8>) -> Result<u8, Malformed> {
    match kind {
        Some(kind @ 1..=4) => Ok(kind),
        other => Err(Malformed::Field {
            protocol: Code::Pr.name(),
            field: "prepare type",
            found: other.unwrap_or(0).into(),
            expected: "1 (MAA), 2 (RS), 3 (RA) or 4 (AB)",
        }),
    }
}

/// The resync type of a kind.
const fn bits(kind: Kind) -> u8 {
    match kind {
        Kind::Restart => 0,
        Kind::Abandon => 1,
        Kind::Set => 2,
    }
}

fn kind(code: u8) -> Result<Kind, Malformed> {
    Ok(match code {
        0 => Kind::Restart,
        1 => Kind::Abandon,
        2 => Kind::Set,
        other => {
            return Err(Malformed::Field {
                protocol: "RS",
                field: "resync type item",
                found: other.into(),
                expected: "0 (restart), 1 (abandon) or 2 (set)",
            });
        }
    })
}

/// Whether the transport connection is kept: the bits are there and do not say that it goes.
fn keeps_transport(bits: Option<u8>) -> bool {
    bits.is_some_and(|bits| bits & transport::RELEASE == 0)
}

impl Refuse {
    /// Whether the transport connection may be used again.
    #[must_use]
    pub fn keeps_transport(&self) -> bool {
        keeps_transport(self.transport)
    }
}

impl Finish {
    /// Whether the transport connection may be used again.
    #[must_use]
    pub fn keeps_transport(&self) -> bool {
        keeps_transport(self.transport)
    }
}

impl Abort {
    /// Whether the transport connection may be used again.
    #[must_use]
    pub fn keeps_transport(&self) -> bool {
        keeps_transport(self.transport)
    }

    /// Why, in words.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        let bits = self.transport.unwrap_or(0);
        if bits & transport::PROTOCOL_ERROR != 0 {
            "protocol error"
        } else if bits & transport::USER_ABORT != 0 {
            "by the user"
        } else if bits & transport::RESTRICTION != 0 {
            "a restriction of the implementation"
        } else {
            "no reason given"
        }
    }
}
