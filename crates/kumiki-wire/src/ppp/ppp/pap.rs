//! PAP: who a peer is, by a password in clear.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1334 section 2 |
//! | Below | PPP protocol c023 |
//! | Left out | checking the password, which belongs to the protocol |
//!
//! *Deviation:* a reply without even a length of its message is read as one without a message, because such replies are
//! sent. `Display` never shows a password.

use core::fmt;

use super::Text;
use super::control::{self, at_most};
use crate::{Malformed, put, put_slice};

/// Octets that the name, the password or a message has at most.
pub const MAX_FIELD: usize = u8::MAX as usize;

/// Codes of packets.
pub mod code {
    /// Authenticate-Request.
    pub const REQUEST: u8 = 1;
    /// Authenticate-Ack.
    pub const ACK: u8 = 2;
    /// Authenticate-Nak.
    pub const NAK: u8 = 3;
}

/// What a packet says.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message<'a> {
    /// Authenticate-Request.
    Request {
        /// Peer-ID: the name of who wants to be let in.
        peer_id: &'a [u8],
        /// Its password.
        password: &'a [u8],
    },
    /// Authenticate-Ack.
    Ack {
        /// For people; `None`: not even its length is there.
        message: Option<&'a [u8]>,
    },
    /// Authenticate-Nak.
    Nak {
        /// For people; `None`: not even its length is there.
        message: Option<&'a [u8]>,
    },
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { peer_id, password } => f
                .debug_struct("Request")
                .field("peer_id", peer_id)
                .field("password", &format_args!("{} octets", password.len()))
                .finish(),
            Self::Ack { message } => f.debug_struct("Ack").field("message", message).finish(),
            Self::Nak { message } => f.debug_struct("Nak").field("message", message).finish(),
        }
    }
}

/// A packet of PAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet<'a> {
    /// Matches a reply to its request.
    pub identifier: u8,
    /// What it says.
    pub message: Message<'a>,
}

impl<'a> Packet<'a> {
    /// Reads the information of a frame; also gives the length of the packet, behind which is padding. What stands
    /// behind the last field and within Length is ignored.
    ///
    /// # Errors
    /// As [`control::Packet::parse`]; the code is none of PAP's; a field runs past the packet.
    pub fn parse(information: &'a [u8]) -> Result<(Self, usize), Malformed> {
        let (packet, len) = control::Packet::parse(information)?;
        let message = Message::read(packet.code, packet.data)?;
        let identifier = packet.identifier;
        Ok((Self { identifier, message }, len))
    }

    /// Octets that [`Packet::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a packet is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        control::LEN + self.message.len()
    }

    /// Writes [`Packet::len`] octets; of a field beyond [`MAX_FIELD`] the end is left out.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let data_len = self.message.len();
        let out = &mut out;
        control::Header::new(self.message.code(), self.identifier, data_len).put(out);
        match self.message {
            Message::Request { peer_id, password } => {
                field(out, peer_id);
                field(out, password);
            }
            Message::Ack { message } | Message::Nak { message } => {
                if let Some(message) = message {
                    field(out, message);
                }
            }
        }
    }
}

impl<'a> Message<'a> {
    /// Reads the data of a packet.
    ///
    /// # Errors
    /// The code is none of PAP's, or a field runs past the packet.
    pub fn read(code: u8, data: &'a [u8]) -> Result<Self, Malformed> {
        let reply = || match data {
            [] => Ok(None),
            data => counted("msg-length", data).map(|(message, _)| Some(message)),
        };
        match code {
            code::REQUEST => {
                let (peer_id, rest) = counted("peer-id-length", data)?;
                let (password, _) = counted("passwd-length", rest)?;
                Ok(Self::Request { peer_id, password })
            }
            code::ACK => Ok(Self::Ack { message: reply()? }),
            code::NAK => Ok(Self::Nak { message: reply()? }),
            _ => Err(Malformed::Field {
                protocol: "PAP",
                field: "code",
                found: code.into(),
                expected: "1 (request), 2 (ack) or 3 (nak)",
            }),
        }
    }

    /// Its code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Request { .. } => code::REQUEST,
            Self::Ack { .. } => code::ACK,
            Self::Nak { .. } => code::NAK,
        }
    }

    /// Octets behind Length.
    const fn len(&self) -> usize {
        match self {
            Self::Request { peer_id, password } => field_len(peer_id) + field_len(password),
            Self::Ack { message } | Self::Nak { message } => match message {
                Some(message) => field_len(message),
                None => 0,
            },
        }
    }
}

/// Octets of a field with its length in front.
const fn field_len(octets: &[u8]) -> usize {
    let len = octets.len();
    1 + if len < MAX_FIELD { len } else { MAX_FIELD }
}

/// Writes a field with its length in front.
fn field(out: &mut &mut [u8], octets: &[u8]) {
    let octets = at_most(octets, MAX_FIELD);
    put(out, [u8::try_from(octets.len()).unwrap_or(u8::MAX)]);
    put_slice(out, octets);
}

/// A field with its length in front, and what follows.
fn counted<'a>(field: &'static str, data: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    let Some((&len, rest)) = data.split_first() else {
        return Err(Malformed::Short { protocol: "PAP", need: 1, have: 0 });
    };
    rest.split_at_checked(len.into()).ok_or_else(|| Malformed::Length {
        protocol: "PAP",
        field,
        found: len.into(),
        least: 0,
        most: rest.len(),
    })
}

impl fmt::Display for Packet<'_> {
    /// For example `PAP AuthReq id 1 user "kumiki" password hidden`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.identifier;
        let (name, message) = match self.message {
            Message::Request { peer_id, .. } => {
                return write!(f, "PAP AuthReq id {id} user {} password hidden", Text(peer_id));
            }
            Message::Ack { message } => ("AuthAck", message),
            Message::Nak { message } => ("AuthNak", message),
        };
        write!(f, "PAP {name} id {id}")?;
        message.map_or(Ok(()), |message| write!(f, " {}", Text(message)))
    }
}
