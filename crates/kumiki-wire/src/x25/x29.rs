//! PAD messages: what a PAD and the host that was called say to each other in qualified data.
//!
//! | | |
//! |---|---|
//! | Specification | X.29 (1988) clause 4. Recalled; message codes checked against tshark 4.0 and xotpad, error types and bit 8 of a reference against a manual's tables (BANalyzer) and the University of British Columbia's PAD of 4.3BSD, the layout of reselection against nobody |
//! | Below | DATA packets with Q = 1 ([`crate::x25::x25`]): a complete packet sequence is one message |
//! | Used by | `kumiki_x25::pad`, `kumiki_x25::pad_host`, `kumiki-decode` |
//! | Left out | the change of aspect of the multi-aspect PAD, which is shown as an indication of break with parameter 1 |
//!
//! tshark has the error types as twice what they are here, and xotpad says that a parameter was not set by bit 8 of the
//! value; with values up to 255 that cannot be meant.
//!
//! ```text
//!   call user data: 01 00 00 00, then up to 12 octets of the user's
//!   message: code, then pairs of reference (bit 8: error) and value; or what the code asks for
//! ```

use core::fmt;

use kumiki_osi_service::x25::pad::Parameter;
use kumiki_osi_service::x25::{Facilities, Number};

use crate::x25::x25::{emit_facilities, facilities_len, parse_facilities};
use crate::{Malformed, put, put_slice};

const PROTOCOL: &str = "X.29";

/// The protocol identifier with which the call user data of a PAD's call begins.
pub const CALL_USER_DATA: [u8; 4] = [1, 0, 0, 0];
/// The most octets of call user data behind it, without fast select and with it.
pub const MOST_USER_DATA: (usize, usize) = (12, 124);
/// The longest message that a PAD need take: the code and the parameter field of two octets for each parameter there
/// can be.
pub const MOST: usize = 255;

/// Message codes, the first octet.
pub mod code {
    /// Parameter indication.
    pub const INDICATION: u8 = 0;
    /// Invitation to clear.
    pub const INVITATION: u8 = 1;
    /// Set.
    pub const SET: u8 = 2;
    /// Indication of break.
    pub const BREAK: u8 = 3;
    /// Read.
    pub const READ: u8 = 4;
    /// Error.
    pub const ERROR: u8 = 5;
    /// Set and read.
    pub const SET_AND_READ: u8 = 6;
    /// Reselection.
    pub const RESELECTION: u8 = 7;
    /// Reselection with type of address and numbering plan.
    pub const RESELECTION_TYPED: u8 = 8;
}

/// What is wrong with a message, as the error message says it.
pub mod error {
    /// Less than eight bits.
    pub const SHORT: u8 = 0;
    /// The code is not known.
    pub const CODE: u8 = 1;
    /// The parameter field is not one, or not one of such a message.
    pub const FORMAT: u8 = 2;
    /// Not a whole number of octets.
    pub const OCTETS: u8 = 3;
    /// A parameter indication that nobody asked for.
    pub const UNSOLICITED: u8 = 4;
    /// Too long.
    pub const LONG: u8 = 5;
    /// A reselection that is not allowed.
    pub const RESELECTION: u8 = 6;

    /// What an error type says.
    #[must_use]
    pub const fn text(kind: u8) -> &'static str {
        match kind {
            SHORT => "message of less than eight bits",
            CODE => "message code not recognised",
            FORMAT => "parameter field incorrect or incompatible with the message code",
            OCTETS => "message is no integral number of octets",
            UNSOLICITED => "parameter indication that was not asked for",
            LONG => "message too long",
            RESELECTION => "reselection not authorised",
            _ => "unassigned error",
        }
    }
}

/// The user's part of call user data that says it is a PAD's; `None` where it does not. The octets behind the first are
/// reserved and not looked at.
#[must_use]
pub fn user_data(call_user_data: &[u8]) -> Option<&[u8]> {
    let [first, ..] = CALL_USER_DATA;
    if call_user_data.first() != Some(&first) {
        return None;
    }
    Some(call_user_data.get(CALL_USER_DATA.len()..).unwrap_or_default())
}

/// Why octets are no message, and the error type that says so to their sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{why}")]
pub struct InvalidPadMessage {
    /// What is wrong.
    pub why: Malformed,
    /// The error type ([`error`]).
    pub error: u8,
}

/// A reference to a parameter and what is said of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The number of the parameter, 1 to 127; 0 separates those of a network from those of X.3.
    pub reference: u8,
    /// In an indication: the parameter could not be set or read, and the value says why
    /// ([`NotSet`](kumiki_osi_service::x25::pad::NotSet)).
    pub error: bool,
    /// Its value; 0 where it is to be read.
    pub value: u8,
}

impl Pair {
    /// `reference` with `value`, and no error.
    #[must_use]
    pub const fn new(reference: u8, value: u8) -> Self {
        Self { reference, error: false, value }
    }
}

/// A call that the PAD is to make in the place of the one that it has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reselection {
    /// Whom to call, with type and plan or without: that is the difference between the two messages.
    pub called: Number,
    /// The facilities of the call.
    pub facilities: Facilities,
    /// The user's part of the call user data.
    pub data: Vec<u8>,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// These are the values, or why there are none.
    Indication(Vec<Pair>),
    /// The call is to be cleared when what came before has been delivered.
    Invitation,
    /// Set these; without any, all as they were at first.
    Set(Vec<Pair>),
    /// A break; with parameter 8 and value 1, what is still in progress to the sender is thrown away until it says
    /// otherwise.
    Break(Vec<Pair>),
    /// Tell the values of these; without any, of all.
    Read(Vec<Pair>),
    /// A message was wrong.
    Error {
        /// Why ([`error`]).
        kind: u8,
        /// Its code; `None` where it had none.
        code: Option<u8>,
    },
    /// Set these and tell what they are then.
    SetAndRead(Vec<Pair>),
    /// Make another call.
    Reselection(Box<Reselection>),
}

impl Message {
    /// The message code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Indication(_) => code::INDICATION,
            Self::Invitation => code::INVITATION,
            Self::Set(_) => code::SET,
            Self::Break(_) => code::BREAK,
            Self::Read(_) => code::READ,
            Self::Error { .. } => code::ERROR,
            Self::SetAndRead(_) => code::SET_AND_READ,
            Self::Reselection(it) if it.called.type_and_plan().is_some() => code::RESELECTION_TYPED,
            Self::Reselection(_) => code::RESELECTION,
        }
    }

    /// Reads a message, which is all of `octets`.
    ///
    /// # Errors
    /// There are none, the code is not known, or what follows is not what the code asks for.
    pub fn parse(octets: &[u8]) -> Result<Self, InvalidPadMessage> {
        let Some((&code, rest)) = octets.split_first() else {
            return Err(InvalidPadMessage {
                why: Malformed::Short { protocol: PROTOCOL, need: 1, have: 0 },
                error: error::SHORT,
            });
        };
        Ok(match code {
            code::INDICATION => Self::Indication(pairs(rest)?),
            code::INVITATION if rest.is_empty() => Self::Invitation,
            code::SET => Self::Set(pairs(rest)?),
            code::BREAK => Self::Break(pairs(rest)?),
            code::READ => Self::Read(pairs(rest)?),
            code::SET_AND_READ => Self::SetAndRead(pairs(rest)?),
            code::ERROR => match *rest {
                [kind] => Self::Error { kind, code: None },
                [kind, code] => Self::Error { kind, code: Some(code) },
                _ => return Err(format(octets.len(), 2, 3)),
            },
            code::INVITATION => return Err(format(octets.len(), 1, 1)),
            code::RESELECTION => reselection(rest, false)?,
            code::RESELECTION_TYPED => reselection(rest, true)?,
            other => {
                return Err(InvalidPadMessage {
                    why: Malformed::Field {
                        protocol: PROTOCOL,
                        field: "message code",
                        found: other.into(),
                        expected: "0 to 8",
                    },
                    error: error::CODE,
                });
            }
        })
    }

    /// How many octets it has.
    #[expect(clippy::len_without_is_empty, reason = "a message is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        1 + match self {
            Self::Indication(pairs)
            | Self::Set(pairs)
            | Self::Break(pairs)
            | Self::Read(pairs)
            | Self::SetAndRead(pairs) => pairs.len().saturating_mul(2),
            Self::Invitation => 0,
            Self::Error { code, .. } => 1 + usize::from(code.is_some()),
            Self::Reselection(it) => {
                let facilities = facilities_len(&it.facilities);
                2 + it.called.len().div_ceil(2) + facilities + it.data.len()
            }
        }
    }

    /// Writes [`Message::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        let out = &mut out;
        put(out, [self.code()]);
        match self {
            Self::Indication(pairs)
            | Self::Set(pairs)
            | Self::Break(pairs)
            | Self::Read(pairs)
            | Self::SetAndRead(pairs) => {
                for pair in pairs {
                    let error = if pair.error { 0x80 } else { 0 };
                    put(out, [pair.reference & 0x7f | error, pair.value]);
                }
            }
            Self::Invitation => {}
            Self::Error { kind, code } => {
                put(out, [*kind]);
                if let Some(code) = code {
                    put(out, [*code]);
                }
            }
            Self::Reselection(it) => {
                let digits: Vec<u8> = it.called.digits().collect();
                put(out, [u8::try_from(digits.len()).unwrap_or(u8::MAX)]);
                for pair in digits.chunks(2) {
                    match *pair {
                        [a, b] => put(out, [a << 4 | b]),
                        [a] => put(out, [a << 4]),
                        _ => {}
                    }
                }
                let facilities = facilities_len(&it.facilities);
                put(out, [u8::try_from(facilities).unwrap_or(u8::MAX)]);
                emit_facilities(&it.facilities, out);
                put_slice(out, &it.data);
            }
        }
    }

    /// As [`Message::emit`], into octets of their own.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = vec![0; self.len()];
        self.emit(&mut out);
        out
    }
}

/// The parameter field: whole pairs.
fn pairs(field: &[u8]) -> Result<Vec<Pair>, InvalidPadMessage> {
    let (whole, rest) = field.as_chunks::<2>();
    if !rest.is_empty() {
        let found = field.len();
        return Err(format(found, found - 1, found + 1));
    }
    let pair =
        |&[reference, value]: &[u8; 2]| Pair { reference: reference & 0x7f, error: reference & 0x80 != 0, value };
    Ok(whole.iter().map(pair).collect())
}

fn reselection(rest: &[u8], typed: bool) -> Result<Message, InvalidPadMessage> {
    let cut = || format(rest.len(), rest.len() + 1, MOST);
    let (&length, rest) = rest.split_first().ok_or_else(cut)?;
    let count = usize::from(if typed { length } else { length & 0x0f });
    let (packed, rest) = rest.split_at_checked(count.div_ceil(2)).ok_or_else(cut)?;
    let halves = packed.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    let digits = halves.take(count);
    let called = if typed { Number::from_typed_digits(digits) } else { Number::from_digits(digits) };
    let called = called.map_err(|_| format(count, 0, 15))?;
    let (&length, rest) = rest.split_first().ok_or_else(cut)?;
    let (facilities, data) = rest.split_at_checked(length.into()).ok_or_else(cut)?;
    let facilities =
        parse_facilities(facilities).map_err(|refused| InvalidPadMessage { why: refused.why, error: error::FORMAT })?;
    Ok(Message::Reselection(Box::new(Reselection { called, facilities, data: data.to_vec() })))
}

const fn format(found: usize, least: usize, most: usize) -> InvalidPadMessage {
    InvalidPadMessage {
        why: Malformed::Length { protocol: PROTOCOL, field: "parameter field", found, least, most },
        error: error::FORMAT,
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = if self.error { " not set" } else { "" };
        write!(f, "{}:{}{error}", self.reference, self.value)
    }
}

impl fmt::Display for Message {
    /// For example `set 2:0, 3:2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, pairs) = match self {
            Self::Indication(pairs) => ("parameter indication", pairs),
            Self::Set(pairs) => ("set", pairs),
            Self::Break(pairs) => ("indication of break", pairs),
            Self::Read(pairs) => ("read", pairs),
            Self::SetAndRead(pairs) => ("set and read", pairs),
            Self::Invitation => return f.write_str("invitation to clear"),
            Self::Error { kind, code } => {
                write!(f, "error: {}", error::text(*kind))?;
                return code.map_or(Ok(()), |code| write!(f, " (message code {code})"));
            }
            Self::Reselection(it) => return write!(f, "reselection of {}", it.called),
        };
        f.write_str(name)?;
        for (at, pair) in pairs.iter().enumerate() {
            let before = if at > 0 { ", " } else { " " };
            write!(f, "{before}{pair}")?;
        }
        Ok(())
    }
}

/// What X.3 calls the parameter of a reference.
#[must_use]
pub fn parameter_name(reference: u8) -> &'static str {
    match Parameter::of(reference) {
        Some(parameter) => parameter.name(),
        None if reference == 0 => "parameters of a network follow",
        None => "not a parameter of X.3 (1988)",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(error: bool) -> impl Strategy<Value = Pair> {
        (0_u8..128, any::<u8>()).prop_map(move |(reference, value)| Pair { reference, error, value })
    }

    fn message() -> impl Strategy<Value = Message> {
        let pairs = |error| prop::collection::vec(pair(error), 0..30);
        let reselected = |typed: bool| {
            let digits = prop::collection::vec(0_u8..10, 2..15);
            let data = prop::collection::vec(any::<u8>(), 0..12);
            (digits, data, any::<u8>()).prop_map(move |(digits, data, group)| {
                let called = if typed { Number::from_typed_digits(digits) } else { Number::from_digits(digits) };
                Message::Reselection(Box::new(Reselection {
                    called: called.unwrap(),
                    facilities: Facilities(vec![kumiki_osi_service::x25::Facility::ClosedGroup(group)]),
                    data,
                }))
            })
        };
        prop_oneof![
            any::<bool>().prop_flat_map(pairs).prop_map(Message::Indication),
            Just(Message::Invitation),
            pairs(false).prop_map(Message::Set),
            pairs(false).prop_map(Message::Break),
            pairs(false).prop_map(Message::Read),
            pairs(false).prop_map(Message::SetAndRead),
            (any::<u8>(), any::<Option<u8>>()).prop_map(|(kind, code)| Message::Error { kind, code }),
            any::<bool>().prop_flat_map(reselected),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(message in message()) {
            prop_assert_eq!(Message::parse(&message.to_vec()), Ok(message));
        }

        #[test]
        fn any_octets_are_a_message_or_an_error(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(message) = Message::parse(&octets) {
                prop_assert_eq!(Message::parse(&message.to_vec()), Ok(message));
            }
        }
    }

    /// The octets are those that tshark 4.0 reads as the words beside them (`kumiki-lab`'s test of tshark gives it the
    /// same).
    #[test]
    fn messages_are_read_as_tshark_reads_them() {
        for (octets, words) in [
            (&[2, 2, 0, 3, 2][..], "set 2:0, 3:2"),
            (&[4], "read"),
            (&[6, 1, 1], "set and read 1:1"),
            (&[0, 0x82, 1], "parameter indication 2:1 not set"),
            (&[1], "invitation to clear"),
            (&[3, 8, 1], "indication of break 8:1"),
            (&[5, 1, 0x50], "error: message code not recognised (message code 80)"),
            (&[5, 0], "error: message of less than eight bits"),
            (&[7, 5, 0x12, 0x34, 0x50, 0], "reselection of 12345"),
            (&[8, 7, 0x11, 0x12, 0x34, 0x50, 0], "reselection of 1:1:12345"),
        ] {
            let message = Message::parse(octets).unwrap();
            assert_eq!(message.to_string(), words);
            assert_eq!(message.to_vec(), octets);
        }
    }

    #[test]
    fn what_is_wrong_has_the_error_type_of_x29() {
        let refused = |octets: &[u8]| {
            let refused = Message::parse(octets).unwrap_err();
            (refused.error, refused.to_string())
        };
        assert_eq!(refused(&[]).0, error::SHORT);
        let (kind, why) = refused(&[0x50, 1]);
        assert_eq!(kind, error::CODE);
        assert_eq!(why, "X.29: message code is 0x50, expected 0 to 8");
        assert_eq!(refused(&[2, 2, 0, 3]).0, error::FORMAT);
        assert_eq!(refused(&[1, 0]).0, error::FORMAT);
        assert_eq!(refused(&[7, 5, 0x12]).0, error::FORMAT);
    }

    #[test]
    fn call_user_data_says_that_a_pad_calls() {
        assert_eq!(user_data(&[1, 0, 0, 0, b'x']), Some(&b"x"[..]));
        assert_eq!(user_data(&[1]), Some(&[][..]));
        assert_eq!(user_data(&[3, 1, 1, 0]), None);
        assert_eq!(user_data(&[]), None);
    }
}
