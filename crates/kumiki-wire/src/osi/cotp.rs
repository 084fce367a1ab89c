//! The connection-oriented transport protocol: the TPDUs of class 0.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 8073 (RFC 905 is its text) section 13, ITU-T X.224; the parameter f0 after X.224 (1993), recalled |
//! | Above | session, or whoever else uses transport |
//! | Below | [`tpkt`](crate::osi::tpkt), or one X.25 packet sequence for each TPDU |
//! | Left out | classes 1 to 4: DC, ED, AK, EA and RJ are refused by name, and so is the ED that RFC 1006 lets class 0 have "to experiment"; checksums |
//!
//! A TPDU is a header of LI + 1 octets and, in DT, user data behind it. RFC 1006 lets CR and CC have user data "for
//! testing purposes": what is behind their headers is the caller's to judge.
//!
//! What RFC 1006 changes is not in the octets: the default TPDU size is 65531 there and 128 elsewhere, and sizes above
//! 2048 are in use.

use core::fmt;

use kumiki_osi_service::Selector;
use thiserror::Error;

use crate::Malformed;

mod connection;
#[cfg(test)]
mod tests;

pub use connection::{Connection, Parameters, parameter};

/// The most octets of a header, LI included.
pub const MOST_HEADER: usize = 255;
/// Octets of the header of DT.
pub const DATA_LEN: usize = 3;
/// The TPDU size, in octets, where none is said: X.224 section 13.3.4 b.
pub const DEFAULT_SIZE: usize = 128;
/// The TPDU size, in octets, where none is said and the network is RFC 1006.
pub const DEFAULT_SIZE_RFC1006: usize = 65_531;

/// Which TPDU it is: the high half of its second octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of the standard, spelt out in `name`")]
pub enum Code {
    Cr,
    Cc,
    Dr,
    Dt,
    Er,
    /// One that class 0 does not have, or nobody.
    Other(u8),
}

impl Code {
    /// From the octet behind LI.
    #[must_use]
    pub const fn of(octet: u8) -> Self {
        match octet >> 4 {
            0xe => Self::Cr,
            0xd => Self::Cc,
            0x8 => Self::Dr,
            0xf => Self::Dt,
            0x7 => Self::Er,
            _ => Self::Other(octet),
        }
    }

    /// The name in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cr => "CR",
            Self::Cc => "CC",
            Self::Dr => "DR",
            Self::Dt => "DT",
            Self::Er => "ER",
            Self::Other(octet) => match octet >> 4 {
                0x1 => "ED",
                0x2 => "EA",
                0x5 => "RJ",
                0x6 => "AK",
                0xc => "DC",
                _ => "unknown TPDU",
            },
        }
    }
}

/// Why there is no connection, or no longer: the reason of DR (section 13.5.3).
pub mod reason {
    /// Not said.
    pub const NOT_SPECIFIED: u8 = 0;
    /// Congestion at the access point.
    pub const CONGESTION: u8 = 1;
    /// Nobody is attached to the called selector.
    pub const NOT_ATTACHED: u8 = 2;
    /// The called selector is unknown.
    pub const ADDRESS_UNKNOWN: u8 = 3;
    /// The session entity has had enough.
    pub const NORMAL: u8 = 128;
    /// The transport entity is congested.
    pub const REMOTE_CONGESTION: u8 = 129;
    /// No common class.
    pub const NEGOTIATION_FAILED: u8 = 130;
    /// The reference is in use.
    pub const DUPLICATE_REFERENCE: u8 = 131;
    /// The references do not belong to each other.
    pub const MISMATCHED_REFERENCES: u8 = 132;
    /// Protocol error.
    pub const PROTOCOL_ERROR: u8 = 133;
    /// No reference is left.
    pub const REFERENCE_OVERFLOW: u8 = 135;
    /// Not on this network connection.
    pub const REFUSED_HERE: u8 = 136;
    /// A length in the header is wrong.
    pub const LENGTH: u8 = 138;

    /// What a code means.
    #[must_use]
    pub const fn meaning(code: u8) -> &'static str {
        match code {
            NOT_SPECIFIED => "no reason given",
            CONGESTION => "congestion at the access point",
            NOT_ATTACHED => "no user is attached to the transport selector",
            ADDRESS_UNKNOWN => "transport selector unknown",
            NORMAL => "normal disconnect by the session entity",
            REMOTE_CONGESTION => "the transport entity is congested",
            NEGOTIATION_FAILED => "no common class",
            DUPLICATE_REFERENCE => "the source reference is in use",
            MISMATCHED_REFERENCES => "mismatched references",
            PROTOCOL_ERROR => "protocol error",
            REFERENCE_OVERFLOW => "no reference is left",
            REFUSED_HERE => "refused on this network connection",
            LENGTH => "a length in the header is wrong",
            _ => "a reason that X.224 does not define",
        }
    }
}

/// Why a TPDU was refused: the reject cause of ER (section 13.12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// 0: not said.
    NotSpecified,
    /// 1: a parameter that the TPDU does not have.
    ParameterCode,
    /// 2: a TPDU that the class does not have.
    TpduType,
    /// 3: a parameter has a value that it cannot have.
    ParameterValue,
    /// One that the standard does not define.
    Other(u8),
}

impl From<u8> for Cause {
    fn from(code: u8) -> Self {
        match code {
            0 => Self::NotSpecified,
            1 => Self::ParameterCode,
            2 => Self::TpduType,
            3 => Self::ParameterValue,
            code => Self::Other(code),
        }
    }
}

impl From<Cause> for u8 {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::NotSpecified => 0,
            Cause::ParameterCode => 1,
            Cause::TpduType => 2,
            Cause::ParameterValue => 3,
            Cause::Other(code) => code,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSpecified => f.write_str("no cause given"),
            Self::ParameterCode => f.write_str("invalid parameter code"),
            Self::TpduType => f.write_str("invalid TPDU type"),
            Self::ParameterValue => f.write_str("invalid parameter value"),
            Self::Other(code) => write!(f, "cause {code}, which X.224 does not define"),
        }
    }
}

/// A TPDU that is a protocol error, and what an ER about it would say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct InvalidTpdu {
    /// What is wrong.
    pub why: Malformed,
    /// The reject cause.
    pub cause: Cause,
    /// Octets of the TPDU up to and with the one that caused it (section 6.22.3).
    pub up_to: usize,
}

/// DT: user data follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    /// The TSDU ends with this one.
    pub eot: bool,
}

impl Data {
    /// Octets of the header: always 3.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        DATA_LEN
    }

    /// Writes the 3 octets of the header.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), DATA_LEN);
        let Some(out) = out.first_chunk_mut::<DATA_LEN>() else {
            return;
        };
        *out = [2, 0xf0, if self.eot { 0x80 } else { 0 }];
    }
}

/// DR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnect {
    /// DST-REF: the receiver's reference.
    pub dst_ref: u16,
    /// SRC-REF: the sender's reference; 0 where it has none.
    pub src_ref: u16,
    /// The [`reason`].
    pub reason: u8,
    /// Additional information; of the sender's own making.
    pub additional: Vec<u8>,
}

/// ER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// DST-REF: the receiver's reference.
    pub dst_ref: u16,
    /// Why.
    pub cause: Cause,
    /// The rejected TPDU, up to the octet that caused it. As much as the header has room for is sent.
    pub invalid: Vec<u8>,
}

/// A TPDU of class 0, without the user data behind its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tpdu {
    /// CR.
    Request(Connection),
    /// CC.
    Confirm(Connection),
    /// DR.
    Disconnect(Disconnect),
    /// DT.
    Data(Data),
    /// ER.
    Error(Error),
}

/// Whether octets begin as a TPDU of class 0 must, `total` being all that there are: with a code of that class, and a
/// header that ends in them.
#[must_use]
pub const fn is_begun(front: &[u8], total: usize) -> bool {
    match front {
        [li @ 2..=254, code, ..] => header_len(*li) <= total && !matches!(Code::of(*code), Code::Other(_)),
        _ => false,
    }
}

/// Octets of the header that begins with `li`.
#[must_use]
pub const fn header_len(li: u8) -> usize {
    li as usize + 1
}

/// The octets of a header while they are read, and how far that has gone.
struct Cursor<'a> {
    tpdu: &'static str,
    header: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the first octet behind the code of a TPDU of `total` octets, which is given too.
    fn open(front: &'a [u8], total: usize) -> Result<(u8, Self), InvalidTpdu> {
        let short = |need, have| InvalidTpdu {
            why: Malformed::Short { protocol: "TPDU", need, have },
            cause: Cause::NotSpecified,
            up_to: front.len(),
        };
        let [li, code, ..] = front else {
            return Err(short(2, front.len()));
        };
        let len = header_len(*li);
        let tpdu = Code::of(*code).name();
        let Some(header) = front.get(..len) else {
            let mut refused = short(len, total.min(front.len()));
            // What was not recorded may hold the rest; what was not sent does not.
            if len > total {
                refused.why = li_of(tpdu, len, total.saturating_sub(1));
            }
            return Err(refused);
        };
        let cursor = Self { tpdu, header, at: 2 };
        if *li == 0 || *li == 255 {
            return Err(cursor.length("LI", 3));
        }
        Ok((*code, cursor))
    }

    fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], InvalidTpdu> {
        let rest = self.header.get(self.at..).unwrap_or_default();
        let Some(field) = rest.first_chunk::<N>() else {
            return Err(self.length("LI", self.at + N));
        };
        self.at += N;
        Ok(field)
    }

    fn u16(&mut self) -> Result<u16, InvalidTpdu> {
        self.take::<2>().map(|octets| u16::from_be_bytes(*octets))
    }

    fn u8(&mut self) -> Result<u8, InvalidTpdu> {
        self.take::<1>().map(|[octet]| *octet)
    }

    /// The header is shorter than `need` octets.
    fn length(&self, field: &'static str, need: usize) -> InvalidTpdu {
        InvalidTpdu {
            why: Malformed::Length {
                protocol: self.tpdu,
                field,
                found: self.header.len().saturating_sub(1),
                least: need.saturating_sub(1),
                most: MOST_HEADER - 1,
            },
            cause: Cause::ParameterValue,
            up_to: self.header.len(),
        }
    }

    /// The parameter just read has a value that it cannot have.
    fn value(&self, field: &'static str, found: u64, expected: &'static str) -> InvalidTpdu {
        InvalidTpdu {
            why: Malformed::Field { protocol: self.tpdu, field, found, expected },
            cause: Cause::ParameterValue,
            up_to: self.at,
        }
    }

    /// The value of the last parameter of this code in the variable part, which is read to its end.
    fn last(&mut self, wanted: u8) -> Result<Vec<u8>, InvalidTpdu> {
        let mut found = Vec::new();
        while let Some((code, value)) = self.parameter()? {
            if code == wanted {
                found = value.to_vec();
            }
        }
        Ok(found)
    }

    /// The next parameter of the variable part: its code and value.
    fn parameter(&mut self) -> Result<Option<(u8, &'a [u8])>, InvalidTpdu> {
        let rest = self.header.get(self.at..).unwrap_or_default();
        let [code, len, rest @ ..] = rest else {
            return if rest.is_empty() { Ok(None) } else { Err(self.length("parameter length", self.at + 2)) };
        };
        let len = usize::from(*len);
        let Some(value) = rest.get(..len) else {
            return Err(self.length("parameter value", self.at + 2 + len));
        };
        self.at += 2 + len;
        Ok(Some((*code, value)))
    }
}

/// LI of a header of `len` octets is none that it can have.
const fn li_of(tpdu: &'static str, len: usize, most: usize) -> Malformed {
    Malformed::Length { protocol: tpdu, field: "LI", found: len.saturating_sub(1), least: DATA_LEN - 1, most }
}

impl Tpdu {
    /// Reads a TPDU of `total` octets from the octets at its front, at least its header; also gives the length of the
    /// header, behind which the user data begins.
    ///
    /// # Errors
    /// The header is not all there ([`Malformed::Short`]: `need` says how long it is), is longer than the TPDU
    /// ([`Malformed::Length`]), or a protocol error.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), InvalidTpdu> {
        let (code, mut cursor) = Cursor::open(front, total)?;
        let len = cursor.header.len();
        let tpdu = match Code::of(code) {
            Code::Cr => Self::Request(Connection::parse(&mut cursor, true)?),
            Code::Cc => Self::Confirm(Connection::parse(&mut cursor, false)?),
            Code::Dt => {
                let eot = cursor.u8()?;
                if len != DATA_LEN {
                    let why = li_of("DT", len, DATA_LEN - 1);
                    return Err(InvalidTpdu { why, cause: Cause::ParameterValue, up_to: 1 });
                }
                // TPDU-NR is without meaning in class 0.
                Self::Data(Data { eot: eot & 0x80 != 0 })
            }
            Code::Dr => {
                let (dst_ref, src_ref) = (cursor.u16()?, cursor.u16()?);
                let reason = cursor.u8()?;
                let additional = cursor.last(parameter::ADDITIONAL)?;
                Self::Disconnect(Disconnect { dst_ref, src_ref, reason, additional })
            }
            Code::Er => {
                let dst_ref = cursor.u16()?;
                let cause = cursor.u8()?.into();
                let invalid = cursor.last(parameter::INVALID_TPDU)?;
                Self::Error(Error { dst_ref, cause, invalid })
            }
            Code::Other(_) => {
                return Err(InvalidTpdu {
                    why: Malformed::Field {
                        protocol: cursor.tpdu,
                        field: "TPDU code",
                        found: u64::from(code),
                        expected: "0xe0 (CR), 0xd0 (CC), 0x80 (DR), 0xf0 (DT) or 0x70 (ER): class 0",
                    },
                    cause: Cause::TpduType,
                    up_to: 2,
                });
            }
        };
        Ok((tpdu, len))
    }

    /// The octets of the header.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        // LI and the code stand in front of what differs.
        let mut out = vec![0; 2];
        let code = match self {
            Self::Request(connection) => {
                connection.emit(&mut out);
                0xe0
            }
            Self::Confirm(connection) => {
                connection.emit(&mut out);
                0xd0
            }
            Self::Data(data) => {
                out.push(if data.eot { 0x80 } else { 0 });
                0xf0
            }
            Self::Disconnect(disconnect) => {
                out.extend(disconnect.dst_ref.to_be_bytes());
                out.extend(disconnect.src_ref.to_be_bytes());
                out.push(disconnect.reason);
                if !disconnect.additional.is_empty() {
                    add(&mut out, parameter::ADDITIONAL, &disconnect.additional);
                }
                0x80
            }
            Self::Error(error) => {
                out.extend(error.dst_ref.to_be_bytes());
                out.push(error.cause.into());
                let room = MOST_HEADER - out.len() - 2;
                let invalid = error.invalid.get(..room).unwrap_or(&error.invalid);
                add(&mut out, parameter::INVALID_TPDU, invalid);
                0x70
            }
        };
        let li = u8::try_from(out.len() - 1).unwrap_or(0);
        if let Some(front) = out.first_chunk_mut::<2>() {
            *front = [li, code];
        }
        out
    }
}

/// Adds a parameter, where the header has room for it.
fn add(out: &mut Vec<u8>, code: u8, value: &[u8]) {
    if out.len() + 2 + value.len() <= MOST_HEADER
        && let Ok(len) = u8::try_from(value.len())
    {
        out.extend([code, len]);
        out.extend_from_slice(value);
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.eot { "DT EOT" } else { "DT" })
    }
}

impl fmt::Display for Disconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = reason::meaning(self.reason);
        let (dst, src) = (self.dst_ref, self.src_ref);
        write!(f, "DR dst {dst:04x} src {src:04x} {meaning}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ER dst {:04x} {}", self.dst_ref, self.cause)
    }
}

impl fmt::Display for Tpdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(connection) => write!(f, "CR {connection}"),
            Self::Confirm(connection) => write!(f, "CC {connection}"),
            Self::Disconnect(disconnect) => disconnect.fmt(f),
            Self::Data(data) => data.fmt(f),
            Self::Error(error) => error.fmt(f),
        }
    }
}

/// The value of a selector parameter.
fn selector(cursor: &Cursor<'_>, field: &'static str, value: &[u8]) -> Result<Selector, InvalidTpdu> {
    let found = u64::try_from(value.len()).unwrap_or(u64::MAX);
    Selector::new(value).map_err(|_| cursor.value(field, found, "a length of at most 32 octets"))
}
