//! CHAP: who a peer is, by a secret that is never sent.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1994 section 4 |
//! | Below | PPP protocol c223 |
//! | Left out | the hash over identifier, secret and challenge, which belongs to the protocol; the inside of MS-CHAP's values (RFC 2433, RFC 2759) |
//!
//! *Deviation:* an empty name is read, although the standard wants one octet at least.

use core::fmt;

use super::control::{self, MAX_DATA, at_most};
use super::{Hex, Text};
use crate::{Malformed, put, put_slice};

/// Octets of a value at most.
pub const MAX_VALUE: usize = u8::MAX as usize;

/// Codes of packets.
pub mod code {
    /// Challenge.
    pub const CHALLENGE: u8 = 1;
    /// Response.
    pub const RESPONSE: u8 = 2;
    /// Success.
    pub const SUCCESS: u8 = 3;
    /// Failure.
    pub const FAILURE: u8 = 4;
}

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message<'a> {
    /// Prove who you are.
    Challenge {
        /// Octets that never came before; one at least.
        value: &'a [u8],
        /// Who asks.
        name: &'a [u8],
    },
    /// The proof.
    Response {
        /// The hash: 16 octets for MD5.
        value: &'a [u8],
        /// Who answers.
        name: &'a [u8],
    },
    /// The proof was right.
    Success {
        /// For people.
        message: &'a [u8],
    },
    /// The proof was wrong.
    Failure {
        /// For people.
        message: &'a [u8],
    },
}

/// A packet of CHAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet<'a> {
    /// Of the challenge; the others repeat it.
    pub identifier: u8,
    /// What it says.
    pub message: Message<'a>,
}

impl<'a> Packet<'a> {
    /// Reads the information of a frame; also gives the length of the packet, behind which is padding.
    ///
    /// # Errors
    /// As [`control::Packet::parse`]; the code is none of CHAP's; a value is empty or runs past the packet.
    pub fn parse(information: &'a [u8]) -> Result<(Self, usize), Malformed> {
        let (packet, len) = control::Packet::parse(information)?;
        let message = Message::read(packet.code, packet.data)?;
        let identifier = packet.identifier;
        Ok((Self { identifier, message }, len))
    }

    /// Octets that [`Packet::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a packet is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        control::LEN + self.message.len()
    }

    /// Writes [`Packet::len`] octets; of a value beyond [`MAX_VALUE`] the end is left out.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let data_len = self.message.len();
        let out = &mut out;
        control::Header::new(self.message.code(), self.identifier, data_len).put(out);
        let rest = match self.message {
            Message::Challenge { value, name } | Message::Response { value, name } => {
                let value = at_most(value, MAX_VALUE);
                put(out, [u8::try_from(value.len()).unwrap_or(u8::MAX)]);
                put_slice(out, value);
                name
            }
            Message::Success { message } | Message::Failure { message } => message,
        };
        let room = out.len();
        put_slice(out, at_most(rest, room));
    }
}

impl<'a> Message<'a> {
    /// Reads the data of a packet.
    ///
    /// # Errors
    /// The code is none of CHAP's, or a value is empty or runs past the packet.
    pub fn read(code: u8, data: &'a [u8]) -> Result<Self, Malformed> {
        match code {
            code::CHALLENGE => value(data).map(|(value, name)| Self::Challenge { value, name }),
            code::RESPONSE => value(data).map(|(value, name)| Self::Response { value, name }),
            code::SUCCESS => Ok(Self::Success { message: data }),
            code::FAILURE => Ok(Self::Failure { message: data }),
            _ => Err(Malformed::Field {
                protocol: "CHAP",
                field: "code",
                found: code.into(),
                expected: "1 (challenge), 2 (response), 3 (success) or 4 (failure)",
            }),
        }
    }

    /// Its code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Challenge { .. } => code::CHALLENGE,
            Self::Response { .. } => code::RESPONSE,
            Self::Success { .. } => code::SUCCESS,
            Self::Failure { .. } => code::FAILURE,
        }
    }

    /// Octets behind Length.
    fn len(&self) -> usize {
        let (fixed, rest) = match self {
            Self::Challenge { value, name } | Self::Response { value, name } => (1 + value.len().min(MAX_VALUE), name),
            Self::Success { message } | Self::Failure { message } => (0, message),
        };
        rest.len().saturating_add(fixed).min(MAX_DATA)
    }
}

/// The value with its size in front, and the name.
fn value(data: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let Some((&size, rest)) = data.split_first() else {
        return Err(Malformed::Short { protocol: "CHAP", need: control::LEN + 1, have: control::LEN });
    };
    match rest.split_at_checked(size.into()) {
        Some((value @ [_, ..], name)) => Ok((value, name)),
        _ => Err(Malformed::Length {
            protocol: "CHAP",
            field: "value-size",
            found: size.into(),
            least: 1,
            most: rest.len(),
        }),
    }
}

impl fmt::Display for Packet<'_> {
    /// For example `CHAP Challenge id 209 <5fdd03f8> name "server"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.identifier;
        let (what, value, name) = match self.message {
            Message::Challenge { value, name } => ("Challenge", value, name),
            Message::Response { value, name } => ("Response", value, name),
            Message::Success { message } => {
                return write!(f, "CHAP Success id {id} {}", Text(message));
            }
            Message::Failure { message } => {
                return write!(f, "CHAP Failure id {id} {}", Text(message));
            }
        };
        write!(f, "CHAP {what} id {id} <{}> name {}", Hex(value), Text(name))
    }
}
