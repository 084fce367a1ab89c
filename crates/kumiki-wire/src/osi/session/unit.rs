//! Identifier and length of an SPDU, a parameter group (PGI) or a parameter (PI): X.225 section 8.2.

use crate::Malformed;

/// The most octets of identifier and length.
pub const MOST_HEADER: usize = 4;

/// What stands in front of every SPDU and every parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// SI, PGI or PI.
    pub code: u8,
    /// Octets that follow.
    pub length: usize,
}

impl Unit {
    /// Reads identifier and length; also gives how many octets they are. Whether what follows is there is not looked
    /// at.
    ///
    /// # Errors
    /// They are not all there.
    pub fn parse(protocol: &'static str, front: &[u8]) -> Result<(Self, usize), Malformed> {
        let short = |need| Malformed::Short { protocol, need, have: front.len() };
        match front {
            [code, 0xff, high, low, ..] => {
                let (code, length) = (*code, usize::from(u16::from_be_bytes([*high, *low])));
                Ok((Self { code, length }, 4))
            }
            [_, 0xff, ..] => Err(short(4)),
            [code, length, ..] => {
                let (code, length) = (*code, usize::from(*length));
                Ok((Self { code, length }, 2))
            }
            _ => Err(short(2)),
        }
    }

    /// Appends identifier and length, the latter in as few octets as it needs; it is at most 65535.
    pub(super) fn emit(self, out: &mut Vec<u8>) {
        out.push(self.code);
        match u8::try_from(self.length) {
            Ok(length @ ..=254) => out.push(length),
            Ok(_) | Err(_) => {
                out.push(0xff);
                let length = u16::try_from(self.length).unwrap_or(u16::MAX);
                out.extend(length.to_be_bytes());
            }
        }
    }
}

/// That a length is larger than what there is.
pub(super) const fn beyond(protocol: &'static str, field: &'static str, found: usize, most: usize) -> Malformed {
    Malformed::Length { protocol, field, found, least: 0, most }
}

/// Codes of parameters (section 8.3), PGIs marked so.
pub mod code {
    /// PGI: connection identifier.
    pub const CONNECTION_IDENTIFIER: u8 = 1;
    /// PGI: connect/accept item.
    pub const CONNECT_ACCEPT: u8 = 5;
    /// Called user's reference.
    pub const CALLED_REFERENCE: u8 = 9;
    /// Calling user's reference.
    pub const CALLING_REFERENCE: u8 = 10;
    /// Common reference.
    pub const COMMON_REFERENCE: u8 = 11;
    /// Additional reference information.
    pub const ADDITIONAL_REFERENCE: u8 = 12;
    /// Sync type item.
    pub const SYNC_TYPE: u8 = 15;
    /// Token item.
    pub const TOKENS: u8 = 16;
    /// Transport disconnect.
    pub const TRANSPORT_DISCONNECT: u8 = 17;
    /// Protocol options.
    pub const PROTOCOL_OPTIONS: u8 = 19;
    /// Session user requirements.
    pub const REQUIREMENTS: u8 = 20;
    /// Largest TSDU.
    pub const TSDU_MAXIMUM: u8 = 21;
    /// Version number.
    pub const VERSION: u8 = 22;
    /// Initial serial number.
    pub const INITIAL_SERIAL: u8 = 23;
    /// Prepare type.
    pub const PREPARE_TYPE: u8 = 24;
    /// Enclosure item.
    pub const ENCLOSURE: u8 = 25;
    /// Token setting item.
    pub const TOKEN_SETTING: u8 = 26;
    /// Resync type.
    pub const RESYNC_TYPE: u8 = 27;
    /// PGI: linking information.
    pub const LINKING: u8 = 33;
    /// Activity identifier.
    pub const ACTIVITY: u8 = 41;
    /// Serial number.
    pub const SERIAL: u8 = 42;
    /// User data of MIA.
    pub const MIA_DATA: u8 = 46;
    /// Reflect parameter values.
    pub const REFLECT: u8 = 49;
    /// Reason.
    pub const REASON: u8 = 50;
    /// Calling session selector.
    pub const CALLING_SELECTOR: u8 = 51;
    /// Called session selector.
    pub const CALLED_SELECTOR: u8 = 52;
    /// Second initial serial number (symmetric synchronisation).
    pub const SECOND_INITIAL_SERIAL: u8 = 55;
    /// Data overflow.
    pub const OVERFLOW: u8 = 60;
    /// PGI in name only: user data.
    pub const USER_DATA: u8 = 193;
    /// The same: extended user data, in CN.
    pub const EXTENDED_USER_DATA: u8 = 194;
}

/// What a parameter is called.
#[must_use]
pub const fn name(code: u8) -> &'static str {
    match code {
        code::CONNECTION_IDENTIFIER => "connection identifier",
        code::CONNECT_ACCEPT => "connect/accept item",
        code::CALLED_REFERENCE => "called user reference",
        code::CALLING_REFERENCE => "calling user reference",
        code::COMMON_REFERENCE => "common reference",
        code::ADDITIONAL_REFERENCE => "additional reference information",
        code::SYNC_TYPE => "sync type item",
        code::TOKENS => "token item",
        code::TRANSPORT_DISCONNECT => "transport disconnect",
        code::PROTOCOL_OPTIONS => "protocol options",
        code::REQUIREMENTS => "session user requirements",
        code::TSDU_MAXIMUM => "TSDU maximum size",
        code::VERSION => "version number",
        code::INITIAL_SERIAL => "initial serial number",
        code::PREPARE_TYPE => "prepare type",
        code::ENCLOSURE => "enclosure item",
        code::TOKEN_SETTING => "token setting item",
        code::RESYNC_TYPE => "resync type item",
        code::LINKING => "linking information",
        code::ACTIVITY => "activity identifier",
        code::SERIAL => "serial number",
        code::MIA_DATA => "user data (MIA)",
        code::REFLECT => "reflect parameter values",
        code::REASON => "reason code",
        code::CALLING_SELECTOR => "calling session selector",
        code::CALLED_SELECTOR => "called session selector",
        code::SECOND_INITIAL_SERIAL => "second initial serial number",
        code::OVERFLOW => "data overflow",
        code::USER_DATA => "user data",
        code::EXTENDED_USER_DATA => "extended user data",
        _ => "unknown parameter",
    }
}
