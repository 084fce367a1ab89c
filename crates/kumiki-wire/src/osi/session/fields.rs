//! All parameters that an SPDU may have, as they stand in it.

use kumiki_octets::Message;
use kumiki_osi_service::Selector;
use kumiki_osi_service::session::SyncPoint;

use super::unit::{self, Unit, code};
use super::{Code, MOST_LENGTH};
use crate::Malformed;

/// Parameters that are there.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) called_reference: Option<Vec<u8>>,
    pub(super) calling_reference: Option<Vec<u8>>,
    pub(super) common_reference: Option<Vec<u8>>,
    pub(super) additional_reference: Option<Vec<u8>>,
    pub(super) sync_type: Option<u8>,
    pub(super) tokens: Option<u8>,
    pub(super) transport: Option<u8>,
    pub(super) options: Option<u8>,
    pub(super) requirements: Option<u16>,
    pub(super) tsdu_maximum: Option<(u16, u16)>,
    pub(super) version: Option<u8>,
    pub(super) initial: Option<SyncPoint>,
    pub(super) prepare: Option<u8>,
    pub(super) enclosure: Option<u8>,
    pub(super) token_setting: Option<u8>,
    pub(super) resync: Option<u8>,
    pub(super) serial: Option<SyncPoint>,
    pub(super) reflect: Option<Vec<u8>>,
    pub(super) reason: Option<u8>,
    pub(super) calling: Option<Selector>,
    pub(super) called: Option<Selector>,
    pub(super) second_initial: Option<SyncPoint>,
    pub(super) overflow: Option<u8>,
    /// PGI 193 and 194, PI 46 of MIA, and what follows the reason of RF.
    pub(super) data: Option<Message>,
}

/// The value of one parameter, while it is read.
struct Value<'a> {
    spdu: &'static str,
    field: &'static str,
    octets: &'a [u8],
}

impl Value<'_> {
    fn length(&self, least: usize, most: usize) -> Malformed {
        Malformed::Length { protocol: self.spdu, field: self.field, found: self.octets.len(), least, most }
    }

    fn array<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        self.octets.try_into().map_err(|_| self.length(N, N))
    }

    fn octet(&self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[octet]| octet)
    }

    fn up_to(&self, most: usize) -> Result<Vec<u8>, Malformed> {
        if self.octets.len() > most {
            return Err(self.length(0, most));
        }
        Ok(self.octets.to_vec())
    }

    /// A serial number: one to six digits.
    fn serial(&self) -> Result<SyncPoint, Malformed> {
        if !(1..=6).contains(&self.octets.len()) {
            return Err(self.length(1, 6));
        }
        self.octets.iter().try_fold(0, |number, octet| {
            if octet.is_ascii_digit() {
                Ok(number * 10 + u32::from(octet - b'0'))
            } else {
                Err(Malformed::Field {
                    protocol: self.spdu,
                    field: self.field,
                    found: u64::from(*octet),
                    expected: "decimal digits, 0x30 to 0x39",
                })
            }
        })
    }

    fn selector(&self) -> Result<Selector, Malformed> {
        if self.octets.len() > 16 {
            return Err(self.length(0, 16));
        }
        Selector::new(self.octets).map_err(|_| self.length(0, 16))
    }
}

/// The most octets of any parameter that is not user data or holds others; what is longer is refused by its own bound
/// or passed over.
const MOST_VALUE: usize = 64;

impl Fields {
    /// Reads the parameters of an SPDU.
    pub(super) fn parse(code: Code, parameters: &mut Message) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        fields.read(code, parameters, false)?;
        Ok(fields)
    }

    fn read(&mut self, of: Code, from: &mut Message, inside: bool) -> Result<(), Malformed> {
        while !from.is_empty() {
            let (header, len) = Unit::parse(of.name(), from.front_at_least(unit::MOST_HEADER))?;
            let have = from.len().saturating_sub(len);
            let field = unit::name(header.code);
            let beyond = || unit::beyond(of.name(), field, header.length, have);
            let _ = from.pop(len);
            let mut value = from.split_to(header.length).map_err(|_| beyond())?;
            match header.code {
                code::CONNECTION_IDENTIFIER | code::CONNECT_ACCEPT if !inside => {
                    self.read(of, &mut value, true)?;
                }
                code::USER_DATA | code::EXTENDED_USER_DATA => self.data = Some(value),
                code::MIA_DATA if of == Code::Mia => self.data = Some(value),
                code::REASON => {
                    let short =
                        || Malformed::Length { protocol: of.name(), field, found: 0, least: 1, most: MOST_LENGTH };
                    let front = value.front(1).map_err(|_| short())?;
                    self.reason = front.first().copied();
                    let _ = value.pop(1);
                    if of == Code::Rf && !value.is_empty() {
                        self.data = Some(value);
                    }
                }
                code => {
                    let long = value.len() > MOST_VALUE;
                    let mut short = [0; MOST_VALUE + 1];
                    let take = value.len().min(short.len());
                    let octets = short.get_mut(..take).unwrap_or_default();
                    let _ = value.copy_to(0, octets);
                    let value = Value { spdu: of.name(), field, octets };
                    if long && unit::name(code) != "unknown parameter" && code != code::LINKING {
                        return Err(unit::beyond(of.name(), field, header.length, MOST_VALUE));
                    }
                    self.take(code, &value)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, code: u8, value: &Value<'_>) -> Result<(), Malformed> {
        match code {
            code::CALLED_REFERENCE => self.called_reference = Some(value.up_to(64)?),
            code::CALLING_REFERENCE => self.calling_reference = Some(value.up_to(64)?),
            code::COMMON_REFERENCE => self.common_reference = Some(value.up_to(64)?),
            code::ADDITIONAL_REFERENCE => self.additional_reference = Some(value.up_to(4)?),
            code::SYNC_TYPE => self.sync_type = Some(value.octet()?),
            code::TOKENS => self.tokens = Some(value.octet()?),
            code::TRANSPORT_DISCONNECT => self.transport = Some(value.octet()?),
            code::PROTOCOL_OPTIONS => self.options = Some(value.octet()?),
            code::REQUIREMENTS => {
                self.requirements = Some(u16::from_be_bytes(value.array()?));
            }
            code::TSDU_MAXIMUM => {
                let [h0, l0, h1, l1] = value.array()?;
                let pair = (u16::from_be_bytes([h0, l0]), u16::from_be_bytes([h1, l1]));
                self.tsdu_maximum = Some(pair);
            }
            code::VERSION => self.version = Some(value.octet()?),
            code::INITIAL_SERIAL => self.initial = Some(value.serial()?),
            code::PREPARE_TYPE => self.prepare = Some(value.octet()?),
            code::ENCLOSURE => self.enclosure = Some(value.octet()?),
            code::TOKEN_SETTING => self.token_setting = Some(value.octet()?),
            code::RESYNC_TYPE => self.resync = Some(value.octet()?),
            code::SERIAL => self.serial = Some(value.serial()?),
            code::REFLECT => self.reflect = Some(value.up_to(9)?),
            code::CALLING_SELECTOR => self.calling = Some(value.selector()?),
            code::CALLED_SELECTOR => self.called = Some(value.selector()?),
            code::SECOND_INITIAL_SERIAL => self.second_initial = Some(value.serial()?),
            code::OVERFLOW => self.overflow = Some(value.octet()?),
            _ => {}
        }
        Ok(())
    }

    /// Writes the SPDU: parameters in ascending order, the user data last.
    pub(super) fn emit(self, of: Code) -> Result<Message, Malformed> {
        let mut out = Vec::new();
        let mut group = Vec::new();
        put(&mut group, code::CALLED_REFERENCE, self.called_reference);
        put(&mut group, code::CALLING_REFERENCE, self.calling_reference);
        put(&mut group, code::COMMON_REFERENCE, self.common_reference);
        let additional = self.additional_reference;
        put(&mut group, code::ADDITIONAL_REFERENCE, additional);
        put_group(&mut out, code::CONNECTION_IDENTIFIER, &group);
        let tsdu_maximum = self.tsdu_maximum.map(|(to, from)| [to.to_be_bytes(), from.to_be_bytes()].concat());
        // In CN and AC all of these are in the one group; elsewhere each stands by itself.
        let grouped = matches!(of, Code::Cn | Code::Ac);
        let mut group = Vec::new();
        let accept = if grouped { &mut group } else { &mut out };
        if grouped {
            octet(accept, code::PROTOCOL_OPTIONS, self.options);
            put(accept, code::TSDU_MAXIMUM, tsdu_maximum.clone());
            octet(accept, code::VERSION, self.version);
            put(accept, code::INITIAL_SERIAL, self.initial.map(digits));
            octet(accept, code::TOKEN_SETTING, self.token_setting);
            let second = self.second_initial.map(digits);
            put(accept, code::SECOND_INITIAL_SERIAL, second);
            put_group(&mut out, code::CONNECT_ACCEPT, &group);
        }
        octet(&mut out, code::SYNC_TYPE, self.sync_type);
        octet(&mut out, code::TOKENS, self.tokens);
        octet(&mut out, code::TRANSPORT_DISCONNECT, self.transport);
        let requirements = self.requirements.map(|bits| bits.to_be_bytes().to_vec());
        put(&mut out, code::REQUIREMENTS, requirements);
        if !grouped {
            put(&mut out, code::TSDU_MAXIMUM, tsdu_maximum);
            octet(&mut out, code::VERSION, self.version);
        }
        octet(&mut out, code::PREPARE_TYPE, self.prepare);
        octet(&mut out, code::ENCLOSURE, self.enclosure);
        if !grouped {
            octet(&mut out, code::TOKEN_SETTING, self.token_setting);
        }
        octet(&mut out, code::RESYNC_TYPE, self.resync);
        put(&mut out, code::SERIAL, self.serial.map(digits));
        put(&mut out, code::REFLECT, self.reflect);
        if of != Code::Rf {
            octet(&mut out, code::REASON, self.reason);
        }
        let selector = |selector: Option<Selector>| selector.map(|s| s.octets().to_vec());
        put(&mut out, code::CALLING_SELECTOR, selector(self.calling));
        put(&mut out, code::CALLED_SELECTOR, selector(self.called));
        octet(&mut out, code::OVERFLOW, self.overflow);

        let data = match (of, self.reason) {
            (Code::Rf, Some(reason)) => {
                let mut data = self.data.unwrap_or_default();
                data.push_octets(&[reason]);
                Some((code::REASON, data))
            }
            (Code::Mia, _) => self.data.map(|data| (code::MIA_DATA, data)),
            (Code::Cn, _) => self.data.map(|data| {
                let short = data.len() <= super::MOST_VERSION_1_DATA;
                let code = if short { code::USER_DATA } else { code::EXTENDED_USER_DATA };
                (code, data)
            }),
            _ => self.data.map(|data| (code::USER_DATA, data)),
        };
        let data = data.map(|(code, data)| {
            let length = data.len();
            Unit { code, length }.emit(&mut out);
            data
        });
        spdu(of, &out, data)
    }
}

/// An SPDU with `parameters`, the content of the last of which is `data`.
fn spdu(of: Code, parameters: &[u8], data: Option<Message>) -> Result<Message, Malformed> {
    let data = data.unwrap_or_default();
    let length = parameters.len().saturating_add(data.len());
    if length > MOST_LENGTH {
        return Err(unit::beyond(of.name(), "LI", length, MOST_LENGTH));
    }
    let mut header = Vec::with_capacity(parameters.len() + unit::MOST_HEADER);
    Unit { code: of.si(), length }.emit(&mut header);
    header.extend_from_slice(parameters);
    Ok(crate::osi::in_front(&header, data))
}

fn put(out: &mut Vec<u8>, code: u8, value: Option<Vec<u8>>) {
    if let Some(value) = value {
        let length = value.len();
        Unit { code, length }.emit(out);
        out.extend(value);
    }
}

fn octet(out: &mut Vec<u8>, code: u8, value: Option<u8>) {
    put(out, code, value.map(|octet| vec![octet]));
}

fn put_group(out: &mut Vec<u8>, code: u8, group: &[u8]) {
    if !group.is_empty() {
        let length = group.len();
        Unit { code, length }.emit(out);
        out.extend_from_slice(group);
    }
}

/// A serial number without leading zeros.
fn digits(number: SyncPoint) -> Vec<u8> {
    number.to_string().into_bytes()
}
