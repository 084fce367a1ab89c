//! LCP: its options, and what stands in packets that no other control protocol has.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 sections 5 and 6; Async-Control-Character-Map RFC 1662 section 7.1; options 9, 10, 13 and 15 and codes 12 and 13 RFC 1570; the reporting period RFC 1989 section 2.5 |
//! | Below | [`control`] |
//! | Left out | options of multilink (RFC 1990) and all others: read as [`Opt::Other`] |

use core::fmt;

use kumiki_octets::text::counted;

use super::control::{self, Item, OptionSpec, at_most, code, emit_value, option_len};
use super::{Hex, Text, protocol};
use crate::{Malformed, put, put_slice};

/// Types of options.
pub mod kind {
    /// Maximum-Receive-Unit.
    pub const MRU: u8 = 1;
    /// Async-Control-Character-Map.
    pub const ACCM: u8 = 2;
    /// Authentication-Protocol.
    pub const AUTHENTICATION: u8 = 3;
    /// Quality-Protocol.
    pub const QUALITY: u8 = 4;
    /// Magic-Number.
    pub const MAGIC: u8 = 5;
    /// Protocol-Field-Compression.
    pub const PFC: u8 = 7;
    /// Address-and-Control-Field-Compression.
    pub const ACFC: u8 = 8;
    /// FCS-Alternatives.
    pub const FCS_ALTERNATIVES: u8 = 9;
    /// Self-Describing-Padding.
    pub const SELF_DESCRIBING_PADDING: u8 = 10;
    /// Callback.
    pub const CALLBACK: u8 = 13;
    /// Compound-Frames.
    pub const COMPOUND_FRAMES: u8 = 15;
}

/// Bits of [`Opt::FcsAlternatives`].
pub mod fcs {
    /// No FCS.
    pub const NULL: u8 = 1;
    /// The 16-bit FCS of CCITT.
    pub const FCS_16: u8 = 2;
    /// The 32-bit FCS of CCITT.
    pub const FCS_32: u8 = 4;
}

/// The algorithm of CHAP that is MD5, in the data of [`Opt::Authentication`] (RFC 1994 section 3).
pub const CHAP_MD5: u8 = 5;

/// What is known of a type of option.
pub(super) const fn known(kind: u8) -> Option<OptionSpec> {
    Some(match kind {
        kind::MRU => OptionSpec::exactly("maximum-receive-unit", 2),
        kind::ACCM => OptionSpec::exactly("async-control-character-map", 4),
        kind::AUTHENTICATION => OptionSpec::at_least("authentication-protocol", 2),
        kind::QUALITY => OptionSpec::at_least("quality-protocol", 2),
        kind::MAGIC => OptionSpec::exactly("magic-number", 4),
        kind::PFC => OptionSpec::exactly("protocol-field-compression", 0),
        kind::ACFC => OptionSpec::exactly("address-and-control-field-compression", 0),
        kind::FCS_ALTERNATIVES => OptionSpec::exactly("fcs-alternatives", 1),
        kind::SELF_DESCRIBING_PADDING => OptionSpec::exactly("self-describing-padding", 1),
        kind::CALLBACK => OptionSpec::at_least("callback", 1),
        kind::COMPOUND_FRAMES => OptionSpec::exactly("compound-frames", 0),
        _ => return None,
    })
}

/// An option of LCP: what the sender of a Configure-Request wants to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opt<'a> {
    /// Octets of information that the sender can receive.
    Mru(u16),
    /// Bit n: octet n is to be escaped. Asynchronous lines only.
    Accm(u32),
    /// The peer is to prove who it is.
    Authentication {
        /// [`protocol::PAP`], [`protocol::CHAP`] or another.
        protocol: u16,
        /// For CHAP the algorithm, see [`CHAP_MD5`]; for PAP nothing.
        data: &'a [u8],
    },
    /// The peer is to send reports.
    Quality {
        /// [`protocol::LQR`] or another.
        protocol: u16,
        /// For LQR the longest time between two reports, four octets in 1/100 s.
        data: &'a [u8],
    },
    /// A number that the peer should not have; zero is not allowed.
    Magic(u32),
    /// One octet of protocol is enough.
    Pfc,
    /// Address and control may be left out.
    Acfc,
    /// Check sequences that may be used, see [`mod@fcs`].
    FcsAlternatives(u8),
    /// The highest value of a padding octet that counts itself.
    SelfDescribingPadding(u8),
    /// The peer is to call back.
    Callback {
        /// What `message` is.
        operation: u8,
        /// Where to call.
        message: &'a [u8],
    },
    /// Several packets may be in one frame.
    CompoundFrames,
    /// Any other type, or one of these with a length that it cannot have.
    Other(Item<'a>),
}

impl<'a> Opt<'a> {
    /// Reads what an option says. Nothing is refused: see [`Item::check`] for one of a wrong length.
    #[must_use]
    pub const fn of(item: Item<'a>) -> Self {
        match (item.kind, item.data) {
            (kind::MRU, &[a, b]) => Self::Mru(u16::from_be_bytes([a, b])),
            (kind::ACCM, &[a, b, c, d]) => Self::Accm(u32::from_be_bytes([a, b, c, d])),
            (kind::AUTHENTICATION, [a, b, data @ ..]) => {
                Self::Authentication { protocol: u16::from_be_bytes([*a, *b]), data }
            }
            (kind::QUALITY, [a, b, data @ ..]) => Self::Quality { protocol: u16::from_be_bytes([*a, *b]), data },
            (kind::MAGIC, &[a, b, c, d]) => Self::Magic(u32::from_be_bytes([a, b, c, d])),
            (kind::PFC, []) => Self::Pfc,
            (kind::ACFC, []) => Self::Acfc,
            (kind::FCS_ALTERNATIVES, &[bits]) => Self::FcsAlternatives(bits),
            (kind::SELF_DESCRIBING_PADDING, &[maximum]) => Self::SelfDescribingPadding(maximum),
            (kind::CALLBACK, [operation, message @ ..]) => Self::Callback { operation: *operation, message },
            (kind::COMPOUND_FRAMES, []) => Self::CompoundFrames,
            _ => Self::Other(item),
        }
    }

    /// Type.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Mru(_) => kind::MRU,
            Self::Accm(_) => kind::ACCM,
            Self::Authentication { .. } => kind::AUTHENTICATION,
            Self::Quality { .. } => kind::QUALITY,
            Self::Magic(_) => kind::MAGIC,
            Self::Pfc => kind::PFC,
            Self::Acfc => kind::ACFC,
            Self::FcsAlternatives(_) => kind::FCS_ALTERNATIVES,
            Self::SelfDescribingPadding(_) => kind::SELF_DESCRIBING_PADDING,
            Self::Callback { .. } => kind::CALLBACK,
            Self::CompoundFrames => kind::COMPOUND_FRAMES,
            Self::Other(item) => item.kind,
        }
    }

    /// Whether it only says yes by being there. Such an option is never in a Configure-Nak (RFC 1661 section 5.3).
    #[must_use]
    pub const fn is_boolean(&self) -> bool {
        matches!(self, Self::Pfc | Self::Acfc | Self::CompoundFrames)
    }

    /// Octets that [`Opt::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "an option is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        option_len(match self {
            Self::Pfc | Self::Acfc | Self::CompoundFrames => 0,
            Self::FcsAlternatives(_) | Self::SelfDescribingPadding(_) => 1,
            Self::Mru(_) => 2,
            Self::Accm(_) | Self::Magic(_) => 4,
            Self::Authentication { data, .. } | Self::Quality { data, .. } => data.len().saturating_add(2),
            Self::Callback { message, .. } => message.len().saturating_add(1),
            Self::Other(item) => item.data.len(),
        })
    }

    /// Writes [`Opt::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let (out, kind) = (&mut out, self.kind());
        match *self {
            Self::Mru(mru) => emit_value(out, kind, &[&mru.to_be_bytes()]),
            Self::Accm(word) | Self::Magic(word) => emit_value(out, kind, &[&word.to_be_bytes()]),
            Self::Authentication { protocol, data } | Self::Quality { protocol, data } => {
                emit_value(out, kind, &[&protocol.to_be_bytes(), data]);
            }
            Self::Pfc | Self::Acfc | Self::CompoundFrames => emit_value(out, kind, &[]),
            Self::FcsAlternatives(octet) | Self::SelfDescribingPadding(octet) => {
                emit_value(out, kind, &[&[octet]]);
            }
            Self::Callback { operation, message } => {
                emit_value(out, kind, &[&[operation], message]);
            }
            Self::Other(item) => emit_value(out, kind, &[item.data]),
        }
    }
}

impl fmt::Display for Opt<'_> {
    /// For example `mru 1500`, `auth chap MD5` or `pcomp`: the words of PPP daemons' logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Mru(mru) => write!(f, "mru {mru}"),
            Self::Accm(map) => write!(f, "asyncmap {map:#010x}"),
            Self::Authentication { protocol, data } => {
                match (protocol, data) {
                    (protocol::PAP, []) => return f.write_str("auth pap"),
                    (protocol::CHAP, [CHAP_MD5]) => return f.write_str("auth chap MD5"),
                    (protocol::CHAP, [algorithm]) => {
                        return write!(f, "auth chap algorithm {algorithm:#04x}");
                    }
                    _ => write!(f, "auth {}", protocol::Name(protocol))?,
                }
                and_data(f, data)
            }
            Self::Quality { protocol, data } => {
                if let (protocol::LQR, &[a, b, c, d]) = (protocol, data) {
                    let period = u32::from_be_bytes([a, b, c, d]);
                    return write!(f, "quality lqr {}.{:02} s", period / 100, period % 100);
                }
                write!(f, "quality {}", protocol::Name(protocol))?;
                and_data(f, data)
            }
            Self::Magic(magic) => write!(f, "magic {magic:#010x}"),
            Self::Pfc => f.write_str("pcomp"),
            Self::Acfc => f.write_str("accomp"),
            Self::FcsAlternatives(bits) => write!(f, "fcs {bits:#04x}"),
            Self::SelfDescribingPadding(maximum) => write!(f, "padding to {maximum}"),
            Self::Callback { operation, message } => {
                write!(f, "callback {operation}")?;
                and_data(f, message)
            }
            Self::CompoundFrames => f.write_str("compound frames"),
            Self::Other(item) => item.fmt(f),
        }
    }
}

/// A space and the digits, where there are any.
pub(super) fn and_data(f: &mut fmt::Formatter<'_>, data: &[u8]) -> fmt::Result {
    if data.is_empty() { Ok(()) } else { write!(f, " {}", Hex(data)) }
}

/// What stands behind Length, by code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body<'a> {
    /// Codes 1 to 4: options, to be read by [`control::options`].
    Options(&'a [u8]),
    /// Codes 5 and 6, and those that are not known: octets without a meaning of their own.
    Data(&'a [u8]),
    /// Code 7: the packet that was rejected, from its code on, as much as the peer's MRU allows.
    CodeReject(&'a [u8]),
    /// Code 8.
    ProtocolReject {
        /// The protocol that nobody takes.
        protocol: u16,
        /// What stood behind it, as much as the peer's MRU allows.
        information: &'a [u8],
    },
    /// Codes 9, 10 and 11.
    Echo {
        /// The sender's magic number; zero where none was agreed on.
        magic: u32,
        /// Any octets; a reply has those of its request.
        data: &'a [u8],
    },
    /// Code 12.
    Identification {
        /// The sender's magic number; zero where none was agreed on.
        magic: u32,
        /// Who it is, in text.
        message: &'a [u8],
    },
    /// Code 13.
    TimeRemaining {
        /// The sender's magic number; zero where none was agreed on.
        magic: u32,
        /// Seconds that the link will stay; all ones: for ever.
        seconds: u32,
        /// Why, in text.
        message: &'a [u8],
    },
}

impl<'a> Body<'a> {
    /// Reads the data of a packet.
    ///
    /// # Errors
    /// The data are shorter than this code's fields.
    pub fn read(code: u8, data: &'a [u8]) -> Result<Self, Malformed> {
        let short = |need| Malformed::Short { protocol: "LCP", need, have: control::LEN + data.len() };
        Ok(match code {
            code::CONFIGURE_REQUEST..=code::CONFIGURE_REJECT => Self::Options(data),
            code::CODE_REJECT => Self::CodeReject(data),
            code::PROTOCOL_REJECT => {
                let Some((&number, information)) = data.split_first_chunk() else {
                    return Err(short(6));
                };
                Self::ProtocolReject { protocol: u16::from_be_bytes(number), information }
            }
            code::ECHO_REQUEST..=code::IDENTIFICATION => {
                let Some((&magic, data)) = data.split_first_chunk() else {
                    return Err(short(8));
                };
                let magic = u32::from_be_bytes(magic);
                if code == code::IDENTIFICATION {
                    let message = data;
                    Self::Identification { magic, message }
                } else {
                    Self::Echo { magic, data }
                }
            }
            code::TIME_REMAINING => {
                let Some((&[a, b, c, d, e, f, g, h], message)) = data.split_first_chunk() else {
                    return Err(short(12));
                };
                Self::TimeRemaining {
                    magic: u32::from_be_bytes([a, b, c, d]),
                    seconds: u32::from_be_bytes([e, f, g, h]),
                    message,
                }
            }
            _ => Self::Data(data),
        })
    }

    /// Octets that [`Body::emit`] writes, at most [`control::MAX_DATA`].
    #[must_use]
    pub fn len(&self) -> usize {
        let (fixed, rest) = match self {
            Self::Options(data) | Self::Data(data) | Self::CodeReject(data) => (0, data),
            Self::ProtocolReject { information, .. } => (2, information),
            Self::Echo { data, .. } => (4, data),
            Self::Identification { message, .. } => (4, message),
            Self::TimeRemaining { message, .. } => (8, message),
        };
        rest.len().saturating_add(fixed).min(control::MAX_DATA)
    }

    /// Whether there is nothing behind Length.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes [`Body::len`] octets; the end of what is too long for a packet is left out.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        let rest = match *self {
            Self::Options(data) | Self::Data(data) | Self::CodeReject(data) => data,
            Self::ProtocolReject { protocol, information } => {
                put(out, protocol.to_be_bytes());
                information
            }
            Self::Echo { magic, data } => {
                put(out, magic.to_be_bytes());
                data
            }
            Self::Identification { magic, message } => {
                put(out, magic.to_be_bytes());
                message
            }
            Self::TimeRemaining { magic, seconds, message } => {
                put(out, magic.to_be_bytes());
                put(out, seconds.to_be_bytes());
                message
            }
        };
        let room = out.len();
        put_slice(out, at_most(rest, room));
    }
}

impl fmt::Display for Body<'_> {
    /// What comes behind a packet's code and identifier; begins with a space where there is anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Options(_) | Self::Data(_) => Ok(()),
            Self::CodeReject(packet) => match *packet {
                [code, identifier, ..] => {
                    let rejected = control::Header::new(code, identifier, 0);
                    write!(f, " of {rejected}")
                }
                _ => Ok(()),
            },
            Self::ProtocolReject { protocol, .. } => {
                write!(f, " of {}", protocol::Name(protocol))
            }
            Self::Echo { magic, data } => {
                write!(f, " magic {magic:#010x}, {} of data", counted(data.len(), "octet"))
            }
            Self::Identification { magic, message } => {
                write!(f, " magic {magic:#010x} {}", Text(message))
            }
            Self::TimeRemaining { magic, seconds, message } => {
                write!(f, " magic {magic:#010x} {seconds} s {}", Text(message))
            }
        }
    }
}
