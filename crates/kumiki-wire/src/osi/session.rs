//! Session PDUs (SPDUs).
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.225 (ISO 8327-1) section 8, after a capture of ISODE and the tables that Wireshark and ISODE use; both protocol versions |
//! | Above | presentation |
//! | Below | [`cotp`](crate::osi::cotp): one TSDU holds one SPDU, or some that are concatenated |
//! | Left out | the SPDUs of activities and capability data are known by name and user data only ([`Spdu::Other`]); PGI 33, linking information; data separation |
//!
//! An SPDU is its identifier SI, a length LI, and parameters, each with identifier (PI, or PGI where it holds others)
//! and length. A length below 255 takes one octet, another three, the first of which is ff. DT, TD and EX have user
//! information behind the parameters, to the end of the TSDU; in all others the user data is a parameter, the last one.
//! It is a [`Message`] either way and not copied.
//!
//! Parameters are written in ascending order, and read in any. One that X.225 does not know, or not in this SPDU, is
//! passed over.

use core::fmt;

use kumiki_octets::Message;
use smallvec::{SmallVec, smallvec};

use crate::Malformed;

mod fields;
mod show;
mod spdu;
#[cfg(test)]
mod tests;
pub mod unit;

pub use spdu::{Abort, Connection, Enclosed, Enclosure, Finish, Point, Refuse, Resync, ResyncAck, Spdu};
pub use unit::Unit;

/// The version bits of CN and AC (PI 22).
pub mod version {
    /// Version 1: user data of at most 512 octets, except in DT, TD and EX.
    pub const ONE: u8 = 0x01;
    /// Version 2: user data without a limit in most SPDUs.
    pub const TWO: u8 = 0x02;
}

/// The transport disconnect parameter of FN, AB and RF (PI 17).
pub mod transport {
    /// The transport connection is to go as well; otherwise it is kept for the next session connection.
    pub const RELEASE: u8 = 0x01;
    /// AB: by the user.
    pub const USER_ABORT: u8 = 0x02;
    /// AB: by the session entity, for a protocol error.
    pub const PROTOCOL_ERROR: u8 = 0x04;
    /// AB: by the session entity, without a reason.
    pub const NO_REASON: u8 = 0x08;
    /// AB: by the session entity, for a restriction of its implementation.
    pub const RESTRICTION: u8 = 0x10;
}

/// The most octets of user data in CN; what is beyond follows in CDO, once OA has come.
pub const MOST_CONNECT_DATA: usize = 10_240;
/// The most octets of user data in CN under the parameter that version 1 knows, and, in version 1, in any SPDU but DT,
/// TD and EX.
pub const MOST_VERSION_1_DATA: usize = 512;
/// The most octets behind LI.
pub const MOST_LENGTH: usize = 65_535;
/// The most SPDUs in a TSDU. Extended concatenation, the only way to more than two, has no use for more than four.
pub const MOST_CONCATENATED: u64 = 8;

/// Which SPDU it is. SI alone does not say: 1, 25 and 26 mean one thing at the front of a TSDU and another behind GT or
/// PT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of the standard, spelt out in `title`")]
pub enum Code {
    Cn,
    Cdo,
    Oa,
    Ac,
    Rf,
    Fn,
    Dn,
    Nf,
    Ab,
    Aa,
    Dt,
    Ex,
    Td,
    Cd,
    Cda,
    Gt,
    Pt,
    Gtc,
    Gta,
    Mip,
    Mia,
    Map,
    Maa,
    Rs,
    Ra,
    Pr,
    Er,
    Ed,
    As,
    Ar,
    Ai,
    Aia,
    Ad,
    Ada,
}

/// How an SPDU may share a TSDU with others (X.225 section 6.3.7, table 7, recalled).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Alone, or in front of those of category 2.
    Zero,
    /// Alone.
    One,
    /// Behind one of category 0, and never alone.
    Two,
}

impl Code {
    /// From SI; `first` where nothing stands in front of it in the TSDU.
    #[must_use]
    pub const fn of(si: u8, first: bool) -> Option<Self> {
        Some(match (si, first) {
            (1, true) => Self::Gt,
            (1, false) => Self::Dt,
            (2, _) => Self::Pt,
            (5, _) => Self::Ex,
            (7, _) => Self::Pr,
            (8, _) => Self::Nf,
            (9, _) => Self::Fn,
            (10, _) => Self::Dn,
            (12, _) => Self::Rf,
            (13, _) => Self::Cn,
            (14, _) => Self::Ac,
            (15, _) => Self::Cdo,
            (16, _) => Self::Oa,
            (21, _) => Self::Gtc,
            (22, _) => Self::Gta,
            (25, true) => Self::Ab,
            (25, false) => Self::Ai,
            (26, true) => Self::Aa,
            (26, false) => Self::Aia,
            (29, _) => Self::Ar,
            (33, _) => Self::Td,
            (34, _) => Self::Ra,
            (41, _) => Self::Map,
            (42, _) => Self::Maa,
            (45, _) => Self::As,
            (48, _) => Self::Ed,
            (49, _) => Self::Mip,
            (50, _) => Self::Mia,
            (53, _) => Self::Rs,
            (0, _) => Self::Er,
            (57, _) => Self::Ad,
            (58, _) => Self::Ada,
            (61, _) => Self::Cd,
            (62, _) => Self::Cda,
            _ => return None,
        })
    }

    /// SI.
    #[must_use]
    pub const fn si(self) -> u8 {
        match self {
            Self::Er => 0,
            Self::Gt | Self::Dt => 1,
            Self::Pt => 2,
            Self::Ex => 5,
            Self::Pr => 7,
            Self::Nf => 8,
            Self::Fn => 9,
            Self::Dn => 10,
            Self::Rf => 12,
            Self::Cn => 13,
            Self::Ac => 14,
            Self::Cdo => 15,
            Self::Oa => 16,
            Self::Gtc => 21,
            Self::Gta => 22,
            Self::Ab | Self::Ai => 25,
            Self::Aa | Self::Aia => 26,
            Self::Ar => 29,
            Self::Td => 33,
            Self::Ra => 34,
            Self::Map => 41,
            Self::Maa => 42,
            Self::As => 45,
            Self::Ed => 48,
            Self::Mip => 49,
            Self::Mia => 50,
            Self::Rs => 53,
            Self::Ad => 57,
            Self::Ada => 58,
            Self::Cd => 61,
            Self::Cda => 62,
        }
    }

    /// Its short name and what that stands for.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Cn => ("CN", "CONNECT"),
            Self::Cdo => ("CDO", "CONNECT DATA OVERFLOW"),
            Self::Oa => ("OA", "OVERFLOW ACCEPT"),
            Self::Ac => ("AC", "ACCEPT"),
            Self::Rf => ("RF", "REFUSE"),
            Self::Fn => ("FN", "FINISH"),
            Self::Dn => ("DN", "DISCONNECT"),
            Self::Nf => ("NF", "NOT FINISHED"),
            Self::Ab => ("AB", "ABORT"),
            Self::Aa => ("AA", "ABORT ACCEPT"),
            Self::Dt => ("DT", "DATA TRANSFER"),
            Self::Ex => ("EX", "EXPEDITED DATA"),
            Self::Td => ("TD", "TYPED DATA"),
            Self::Cd => ("CD", "CAPABILITY DATA"),
            Self::Cda => ("CDA", "CAPABILITY DATA ACK"),
            Self::Gt => ("GT", "GIVE TOKENS"),
            Self::Pt => ("PT", "PLEASE TOKENS"),
            Self::Gtc => ("GTC", "GIVE TOKENS CONFIRM"),
            Self::Gta => ("GTA", "GIVE TOKENS ACK"),
            Self::Mip => ("MIP", "MINOR SYNC POINT"),
            Self::Mia => ("MIA", "MINOR SYNC ACK"),
            Self::Map => ("MAP", "MAJOR SYNC POINT"),
            Self::Maa => ("MAA", "MAJOR SYNC ACK"),
            Self::Rs => ("RS", "RESYNCHRONIZE"),
            Self::Ra => ("RA", "RESYNCHRONIZE ACK"),
            Self::Pr => ("PR", "PREPARE"),
            Self::Er => ("ER", "EXCEPTION REPORT"),
            Self::Ed => ("ED", "EXCEPTION DATA"),
            Self::As => ("AS", "ACTIVITY START"),
            Self::Ar => ("AR", "ACTIVITY RESUME"),
            Self::Ai => ("AI", "ACTIVITY INTERRUPT"),
            Self::Aia => ("AIA", "ACTIVITY INTERRUPT ACK"),
            Self::Ad => ("AD", "ACTIVITY DISCARD"),
            Self::Ada => ("ADA", "ACTIVITY DISCARD ACK"),
        }
    }

    /// The short name: `CN`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// What it stands for: `CONNECT`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.names().1
    }

    /// How it may share a TSDU.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Self::Gt | Self::Pt => Category::Zero,
            Self::Cn
            | Self::Cdo
            | Self::Oa
            | Self::Ac
            | Self::Rf
            | Self::Fn
            | Self::Dn
            | Self::Nf
            | Self::Ab
            | Self::Aa
            | Self::Ex
            | Self::Td
            | Self::Gtc
            | Self::Gta
            | Self::Pr => Category::One,
            Self::Dt
            | Self::Cd
            | Self::Cda
            | Self::Mip
            | Self::Mia
            | Self::Map
            | Self::Maa
            | Self::Rs
            | Self::Ra
            | Self::Er
            | Self::Ed
            | Self::As
            | Self::Ar
            | Self::Ai
            | Self::Aia
            | Self::Ad
            | Self::Ada => Category::Two,
        }
    }

    /// Whether user information follows the parameters, to the end of the TSDU.
    #[must_use]
    pub const fn has_information(self) -> bool {
        matches!(self, Self::Dt | Self::Td | Self::Ex)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The SPDUs of a TSDU, in their order. GT and PT without tokens, which stand there only so that something does, are
/// left out, so that the TSDU of a P-DATA is one DT.
pub type Spdus = SmallVec<[Spdu; 1]>;

/// DT in front of the user information it is sent with most: a GT without tokens, and no parameters.
const DATA: [u8; 4] = [1, 0, 1, 0];

/// Reads the SPDUs of a TSDU.
///
/// # Errors
/// One is malformed, unknown, or at a place where it cannot stand. All of it is refused then: what came of the first
/// ones would be undone by the abort that follows.
pub fn parse(mut tsdu: Message) -> Result<Spdus, Malformed> {
    if tsdu.front_at_least(DATA.len()).starts_with(&DATA) {
        let _ = tsdu.pop(DATA.len());
        return Ok(smallvec![Spdu::Data(Enclosed::whole(tsdu))]);
    }
    let mut spdus = Spdus::new();
    let mut count = 0;
    while count == 0 || !tsdu.is_empty() {
        if count == MOST_CONCATENATED {
            return Err(Malformed::Field { protocol: "TSDU", field: "SPDUs", found: count + 1, expected: "at most 8" });
        }
        let (header, len) = Unit::parse("SPDU", tsdu.front_at_least(unit::MOST_HEADER))?;
        let Some(code) = Code::of(header.code, count == 0) else {
            return Err(Malformed::Field {
                protocol: "SPDU",
                field: "SI",
                found: header.code.into(),
                expected: "one that X.225 defines at this place",
            });
        };
        let _ = tsdu.pop(len);
        let rest = tsdu.len();
        let mut parameters =
            tsdu.split_to(header.length).map_err(|_| unit::beyond(code.name(), "LI", header.length, rest))?;
        // What follows one that must be alone follows none.
        let misplaced = match code.category() {
            Category::Zero => count > 0,
            Category::One => count > 0 || !(tsdu.is_empty() || code.has_information()),
            Category::Two => count == 0,
        };
        if misplaced {
            return Err(Malformed::Field {
                protocol: code.name(),
                field: "SI",
                found: code.si().into(),
                expected: "GT or PT before it and nothing else (category 2), or nothing before and behind it (1)",
            });
        }
        let information = if code.has_information() { core::mem::take(&mut tsdu) } else { Message::new() };
        let spdu = Spdu::parse(code, &mut parameters, information)?;
        if !spdu.says_nothing() || (count == 0 && tsdu.is_empty()) {
            spdus.push(spdu);
        }
        count += 1;
    }
    Ok(spdus)
}
