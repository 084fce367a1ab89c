//! Addresses, facilities and user data of call set-up and clearing packets.

use core::fmt;

use kumiki_osi_service::x25::{Facilities, MOST_DIGITS, MOST_TYPED_DIGITS, Number, diagnostic};

use super::facilities::{emit_facilities, facilities_len, parse_facilities};
use super::{InvalidPacket, short};
use crate::{Malformed, put, put_slice};

/// What a call set-up or clearing packet carries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Of the called DTE.
    pub called: Number,
    /// Of the calling DTE.
    pub calling: Number,
    /// Facilities; what does not fit into 255 octets is not written.
    pub facilities: Facilities,
    /// User data.
    pub data: Vec<u8>,
}

/// A length field that contradicts the octets.
const fn length(field: &'static str, found: usize, most: usize, diagnostic: u8) -> InvalidPacket {
    InvalidPacket { why: Malformed::Length { protocol: "X.25", field, found, least: 0, most }, diagnostic }
}

impl Block {
    /// Reads a block; `typed`: addresses have a type and a plan (the A bit). Addresses alone are a block too, in
    /// answers.
    pub(super) fn parse(octets: &[u8], typed: bool) -> Result<Self, InvalidPacket> {
        let (called, calling, rest) = match (typed, octets) {
            (false, [lengths, rest @ ..]) => (lengths & 15, lengths >> 4, rest),
            (true, [called, calling, rest @ ..]) => (*called, *calling, rest),
            (false, []) | (true, [_] | []) => return Err(short(4, 3 + octets.len())),
        };
        let (called, calling) = (usize::from(called), usize::from(calling));
        let most = if typed { MOST_TYPED_DIGITS } else { MOST_DIGITS };
        for (field, found, diagnostic) in
            [("called address", called, diagnostic::CALLED), ("calling address", calling, diagnostic::CALLING)]
        {
            if found > most || typed && found == 1 {
                return Err(length(field, found, most, diagnostic));
            }
        }
        let split = rest.split_at_checked((called + calling).div_ceil(2));
        let (packed, rest) =
            split.ok_or_else(|| length("addresses", called + calling, rest.len() * 2, diagnostic::SHORT))?;
        let mut digits = packed.iter().flat_map(|octet| [octet >> 4, octet & 15]);
        let mut number = |len, field, diagnostic| {
            let digits = digits.by_ref().take(len);
            let number = if typed { Number::from_typed_digits(digits) } else { Number::from_digits(digits) };
            number.map_err(|_| length(field, len, most, diagnostic))
        };
        let called = number(called, "called address", diagnostic::CALLED)?;
        let calling = number(calling, "calling address", diagnostic::CALLING)?;
        let (facilities, data) = match rest {
            [] => (Facilities::default(), rest),
            [len, rest @ ..] => {
                let len = usize::from(*len);
                let split = rest
                    .split_at_checked(len)
                    .ok_or_else(|| length("facilities", len, rest.len(), diagnostic::FACILITY_LENGTH));
                let (facilities, data) = split?;
                (parse_facilities(facilities)?, data)
            }
        };
        Ok(Self { called, calling, facilities, data: data.to_vec() })
    }

    /// Octets that [`Block::emit`] writes.
    pub(super) fn len(&self, typed: bool) -> usize {
        1 + usize::from(typed)
            + (self.called.len() + self.calling.len()).div_ceil(2)
            + 1
            + facilities_len(&self.facilities)
            + self.data.len()
    }

    /// Writes the block.
    pub(super) fn emit(&self, typed: bool, out: &mut &mut [u8]) {
        let [called, calling] = [self.called, self.calling].map(|number| u8::try_from(number.len()).unwrap_or(0));
        if typed {
            put(out, [called, calling]);
        } else {
            put(out, [calling << 4 | called & 15]);
        }
        let digits: Vec<u8> = self.called.digits().chain(self.calling.digits()).collect();
        for pair in digits.chunks(2) {
            let octet = match *pair {
                [a, b] => a << 4 | b,
                [a] => a << 4,
                _ => 0,
            };
            put(out, [octet]);
        }
        put(out, [u8::try_from(facilities_len(&self.facilities)).unwrap_or(u8::MAX)]);
        emit_facilities(&self.facilities, out);
        put_slice(out, &self.data);
    }
}

impl fmt::Display for Block {
    /// For example `9001 > 12345`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.calling, self.called)
    }
}
