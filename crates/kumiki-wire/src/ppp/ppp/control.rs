//! Control packets of PPP, which LCP, every network control protocol and authentication share, and their options.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 sections 5 and 6; codes 12 and 13 RFC 1570 |
//! | Above | options of [`lcp`], [`ipcp`] and [`ipv6cp`]; bodies of [`lcp`]'s own codes |
//! | Below | [`Header`](super::Header) |
//! | Left out | codes of single protocols, such as CCP's resets: they have numbers and no names |
//!
//! What is beyond Length is padding and never looked at. What stands in an option is kept as it came, known or not, so
//! that a Configure-Ack or Configure-Reject can repeat it to the octet.

use core::fmt;

use kumiki_octets::text::counted;

use super::{Hex, Text, ipcp, ipv6cp, lcp, protocol};
use crate::layout::layout;
use crate::{Malformed, put, put_slice};

/// Octets before the data.
pub const LEN: usize = 4;
/// Octets of data at most: what Length can count beside itself.
pub const MAX_DATA: usize = u16::MAX as usize - LEN;
/// Octets of an option without its value.
pub const OPTION_LEN: usize = 2;
/// Octets of an option's value at most.
pub const MAX_VALUE: usize = u8::MAX as usize - OPTION_LEN;

/// Codes of control packets.
pub mod code {
    /// What the sender wants to receive.
    pub const CONFIGURE_REQUEST: u8 = 1;
    /// All of it is agreed to.
    pub const CONFIGURE_ACK: u8 = 2;
    /// Other values would be agreed to.
    pub const CONFIGURE_NAK: u8 = 3;
    /// These options are not known, or not open to negotiation.
    pub const CONFIGURE_REJECT: u8 = 4;
    /// The connection ends.
    pub const TERMINATE_REQUEST: u8 = 5;
    /// It has ended.
    pub const TERMINATE_ACK: u8 = 6;
    /// A packet's code is not known.
    pub const CODE_REJECT: u8 = 7;
    /// LCP alone: a frame's protocol is not known.
    pub const PROTOCOL_REJECT: u8 = 8;
    /// LCP alone: asks for an echo.
    pub const ECHO_REQUEST: u8 = 9;
    /// LCP alone: the echo.
    pub const ECHO_REPLY: u8 = 10;
    /// LCP alone: to be thrown away.
    pub const DISCARD_REQUEST: u8 = 11;
    /// LCP alone: who sends (RFC 1570).
    pub const IDENTIFICATION: u8 = 12;
    /// LCP alone: how long the link will stay (RFC 1570).
    pub const TIME_REMAINING: u8 = 13;

    /// The standard's name.
    #[must_use]
    pub const fn name(code: u8) -> Option<&'static str> {
        Some(match code {
            CONFIGURE_REQUEST => "Configure-Request",
            CONFIGURE_ACK => "Configure-Ack",
            CONFIGURE_NAK => "Configure-Nak",
            CONFIGURE_REJECT => "Configure-Reject",
            TERMINATE_REQUEST => "Terminate-Request",
            TERMINATE_ACK => "Terminate-Ack",
            CODE_REJECT => "Code-Reject",
            PROTOCOL_REJECT => "Protocol-Reject",
            ECHO_REQUEST => "Echo-Request",
            ECHO_REPLY => "Echo-Reply",
            DISCARD_REQUEST => "Discard-Request",
            IDENTIFICATION => "Identification",
            TIME_REMAINING => "Time-Remaining",
            _ => return None,
        })
    }

    /// The name in one short word, as the logs of PPP daemons have it.
    #[must_use]
    pub const fn short_name(code: u8) -> Option<&'static str> {
        Some(match code {
            CONFIGURE_REQUEST => "ConfReq",
            CONFIGURE_ACK => "ConfAck",
            CONFIGURE_NAK => "ConfNak",
            CONFIGURE_REJECT => "ConfRej",
            TERMINATE_REQUEST => "TermReq",
            TERMINATE_ACK => "TermAck",
            CODE_REJECT => "CodeRej",
            PROTOCOL_REJECT => "ProtRej",
            ECHO_REQUEST => "EchoReq",
            ECHO_REPLY => "EchoRep",
            DISCARD_REQUEST => "DiscReq",
            IDENTIFICATION => "Ident",
            TIME_REMAINING => "TimeRem",
            _ => return None,
        })
    }

    /// Whether packets of this code carry options: the four of configuration.
    #[must_use]
    pub const fn has_options(code: u8) -> bool {
        matches!(code, CONFIGURE_REQUEST..=CONFIGURE_REJECT)
    }
}

layout! {
    "PPP control", LEN;
    /// The first four octets of a control packet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Header {
        /// Which kind of packet, see [`mod@code`].
        pub code: u8 = "code";
        /// Matches an answer to its request.
        pub identifier: u8 = "identifier";
        /// Octets of the packet, these four among them.
        pub length: u16 = "length";
    }
}

impl Header {
    /// A header for so many octets of data; what is beyond [`MAX_DATA`] is not counted.
    #[must_use]
    pub fn new(code: u8, identifier: u8, data_len: usize) -> Self {
        Self { code, identifier, length: u16::try_from(data_len.saturating_add(LEN)).unwrap_or(u16::MAX) }
    }

    /// Reads a header; also gives its length. `total`: octets of the frame's information, padding among them.
    ///
    /// # Errors
    /// The header is not all there, or Length is below 4 or beyond `total`. Such a packet is to be dropped in silence
    /// (RFC 1661 section 5).
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let header = Self::read(front)?;
        let length = header.length;
        if usize::from(length) < LEN || usize::from(length) > total {
            return Err(Malformed::Length {
                protocol: "PPP control",
                field: "length",
                found: length.into(),
                least: LEN,
                most: total,
            });
        }
        Ok((header, LEN))
    }

    /// Octets of data behind the header.
    #[must_use]
    pub fn data_len(&self) -> usize {
        usize::from(self.length).saturating_sub(LEN)
    }
}

impl fmt::Display for Header {
    /// For example `ConfReq id 1` or `code 14 id 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match code::short_name(self.code) {
            Some(name) => write!(f, "{name} id {}", self.identifier),
            None => write!(f, "code {} id {}", self.code, self.identifier),
        }
    }
}

/// A whole control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet<'a> {
    /// Which kind of packet, see [`mod@code`].
    pub code: u8,
    /// Matches an answer to its request.
    pub identifier: u8,
    /// What stands behind Length, without padding.
    pub data: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the information of a frame; also gives the length of the packet, behind which is padding.
    ///
    /// # Errors
    /// As [`Header::parse`].
    pub fn parse(information: &'a [u8]) -> Result<(Self, usize), Malformed> {
        let (header, len) = Header::parse(information, information.len())?;
        let data = information.get(len..).unwrap_or_default();
        let packet = Self {
            code: header.code,
            identifier: header.identifier,
            data: data.get(..header.data_len()).unwrap_or(data),
        };
        Ok((packet, packet.len()))
    }

    /// Octets that [`Packet::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a packet is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        let data = self.data.len();
        LEN + if data < MAX_DATA { data } else { MAX_DATA }
    }

    /// Writes [`Packet::len`] octets; data beyond [`MAX_DATA`] is left out.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        Header::new(self.code, self.identifier, self.data.len()).put(&mut out);
        put_slice(&mut out, at_most(self.data, MAX_DATA));
    }

    /// The options, where the code says that the data are some.
    #[must_use]
    pub const fn options(&self) -> Options<'a> {
        options(if code::has_options(self.code) { self.data } else { &[] })
    }

    /// In one line, with the options and the code's data in the words of this protocol (one of [`mod@protocol`]).
    #[must_use]
    pub const fn of(self, protocol: u16) -> Described<'a> {
        Described { packet: self, protocol }
    }
}

impl fmt::Display for Packet<'_> {
    /// For example `ConfReq id 1, 14 octets`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = Header::new(self.code, self.identifier, self.data.len());
        write!(f, "{header}, {}", counted(self.len(), "octet"))
    }
}

/// A packet in the words of its protocol: what [`Packet::of`] gives.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    packet: Packet<'a>,
    protocol: u16,
}

impl fmt::Display for Described<'_> {
    /// For example `LCP ConfReq id 1 <asyncmap 0x00000000> <magic 0x7e7d1234> <pcomp> <accomp>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packet, protocol } = *self;
        let header = Header::new(packet.code, packet.identifier, packet.data.len());
        write!(f, "{} {header}", protocol::Name(protocol))?;
        if code::has_options(packet.code) {
            for item in packet.options() {
                match item {
                    Err(_) => f.write_str(" <option runs past the packet>")?,
                    Ok(item) => match protocol {
                        protocol::LCP => write!(f, " <{}>", lcp::Opt::of(item))?,
                        protocol::IPCP => write!(f, " <{}>", ipcp::Opt::of(item))?,
                        protocol::IPV6CP => write!(f, " <{}>", ipv6cp::Opt::of(item))?,
                        _ => write!(f, " <{item}>")?,
                    },
                }
            }
            return Ok(());
        }
        match packet.code {
            code::TERMINATE_REQUEST | code::TERMINATE_ACK if !packet.data.is_empty() => {
                write!(f, " {}", Text(packet.data))
            }
            _ if protocol == protocol::LCP => {
                let body = lcp::Body::read(packet.code, packet.data);
                body.map_or(Ok(()), |body| write!(f, "{body}"))
            }
            _ => Ok(()),
        }
    }
}

/// An option as it lies in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item<'a> {
    /// Type; each protocol has its own numbers.
    pub kind: u8,
    /// What stands behind type and length.
    pub data: &'a [u8],
}

impl Item<'_> {
    /// Octets that [`Item::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "an option is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        option_len(self.data.len())
    }

    /// Writes [`Item::len`] octets; a value beyond [`MAX_VALUE`] is left out.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        emit_value(&mut out, self.kind, &[self.data]);
    }

    /// Whether the option has a length that its type can have in `protocol`; types that are not known here can have
    /// any.
    ///
    /// # Errors
    /// The length, and what is right. The answer to it is a Configure-Nak with the right length (RFC 1661 section 6).
    pub fn check(&self, protocol: u16) -> Result<(), Malformed> {
        let Some(known) = known(protocol, self.kind) else {
            return Ok(());
        };
        let found = self.data.len().saturating_add(OPTION_LEN);
        if (known.least..=known.most).contains(&found) {
            return Ok(());
        }
        Err(Malformed::Length {
            protocol: protocol::name(protocol).unwrap_or("PPP control"),
            field: known.name,
            found,
            least: known.least,
            most: known.most,
        })
    }
}

impl fmt::Display for Item<'_> {
    /// For example `option 99` or `option 99 0a0b`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option {}", self.kind)?;
        if self.data.is_empty() { Ok(()) } else { write!(f, " {}", Hex(self.data)) }
    }
}

/// What is known of a type of option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// The standard's name, in lower case.
    pub name: &'static str,
    /// Octets that it has at least, type and length among them.
    pub least: usize,
    /// Octets that it has at most.
    pub most: usize,
}

impl OptionSpec {
    /// A value of exactly so many octets.
    pub(super) const fn exactly(name: &'static str, value: usize) -> Self {
        Self { name, least: OPTION_LEN + value, most: OPTION_LEN + value }
    }

    /// A value of at least so many octets.
    pub(super) const fn at_least(name: &'static str, value: usize) -> Self {
        Self { name, least: OPTION_LEN + value, most: u8::MAX as usize }
    }
}

/// What is known of an option's type in `protocol`.
#[must_use]
pub const fn known(protocol: u16, kind: u8) -> Option<OptionSpec> {
    match protocol {
        protocol::LCP => lcp::known(kind),
        protocol::IPCP => ipcp::known(kind),
        protocol::IPV6CP => ipv6cp::known(kind),
        _ => None,
    }
}

/// The options that `data` holds, each as it lies there. After one that runs past the end there is an error and nothing
/// more: then the whole packet is to be dropped (RFC 1661 section 6).
#[must_use]
pub const fn options(data: &[u8]) -> Options<'_> {
    Options { rest: data }
}

/// The iterator of [`options`].
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<Item<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let all = core::mem::take(&mut self.rest);
        match *all {
            [] => None,
            [_] => Some(Err(Malformed::Short { protocol: "PPP option", need: OPTION_LEN, have: 1 })),
            [kind, length, ..] => {
                if let Some((option, rest)) = all.split_at_checked(usize::from(length))
                    && let [_, _, data @ ..] = option
                {
                    self.rest = rest;
                    return Some(Ok(Item { kind, data }));
                }
                Some(Err(Malformed::Length {
                    protocol: "PPP option",
                    field: "option length",
                    found: length.into(),
                    least: OPTION_LEN,
                    most: all.len(),
                }))
            }
        }
    }
}

/// Writes an option whose value is `parts` one behind the other, as much as its length can count.
pub(super) fn emit_value(out: &mut &mut [u8], kind: u8, parts: &[&[u8]]) {
    let value: usize = parts.iter().map(|part| part.len()).sum();
    let length = u8::try_from(value.saturating_add(OPTION_LEN)).unwrap_or(u8::MAX);
    put(out, [kind, length]);
    let mut room = MAX_VALUE;
    for part in parts {
        let part = at_most(part, room);
        put_slice(out, part);
        room -= part.len();
    }
}

/// Octets of an option whose value has so many.
pub(super) const fn option_len(value: usize) -> usize {
    OPTION_LEN + if value < MAX_VALUE { value } else { MAX_VALUE }
}

/// The first `most` octets.
pub(super) fn at_most(octets: &[u8], most: usize) -> &[u8] {
    octets.get(..most).unwrap_or(octets)
}
