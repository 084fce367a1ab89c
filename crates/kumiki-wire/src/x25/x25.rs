//! X.25 packets: of the packet layer of X.25 and ISO 8208.
//!
//! | | |
//! |---|---|
//! | Specification | X.25 section 5, ISO 8208 clause 12 (recalled; checked against packets of Linux and xotpad and against tshark 4.0) |
//! | Used by | `kumiki_x25::x25`, `kumiki_x25::xot`, `kumiki-decode` |
//! | Left out | what is inside registration packets: their octets are kept; the identification protocol of interworking (GFI 11) |
//!
//! ```text
//!        0        1        2        3
//!   +--------+--------+--------+ - - - -
//!   |QDmm LCG| LCN    | type   |                 mm: 01 modulo 8, 10 modulo 128; LCG and LCN: 12 bits of channel
//!   +--------+--------+--------+ - - - -
//!   DATA, modulo 8: P(R)3 M P(S)3 0         modulo 128: P(S)7 0, P(R)7 M
//!   RR, RNR, REJ:   P(R)3 kind5             modulo 128: kind8, P(R)7 0
//!   CALL and its answer: [called digits, calling digits][digits][length, facilities][user data]
//!   Q of call set-up and clearing is A: addresses have a type and a plan, and their lengths two octets
//! ```

use core::fmt;

pub use kumiki_osi_service::x25::Modulo;
use kumiki_osi_service::x25::diagnostic;

use crate::{Malformed, put, put_slice};

mod block;
mod facilities;
#[cfg(test)]
mod tests;

pub use block::Block;
pub use facilities::{emit_facilities, facilities_len, parse_facilities};

/// Packet types, as the third octet has them; of data and flow control modulo 8, without their numbers.
pub mod kind {
    /// CALL REQUEST, INCOMING CALL.
    pub const CALL: u8 = 0x0b;
    /// CALL ACCEPTED, CALL CONNECTED.
    pub const ACCEPTED: u8 = 0x0f;
    /// CLEAR REQUEST, CLEAR INDICATION.
    pub const CLEAR: u8 = 0x13;
    /// CLEAR CONFIRMATION.
    pub const CLEAR_CONFIRMATION: u8 = 0x17;
    /// INTERRUPT.
    pub const INTERRUPT: u8 = 0x23;
    /// INTERRUPT CONFIRMATION.
    pub const INTERRUPT_CONFIRMATION: u8 = 0x27;
    /// RECEIVE READY.
    pub const RR: u8 = 0x01;
    /// RECEIVE NOT READY.
    pub const RNR: u8 = 0x05;
    /// REJECT.
    pub const REJ: u8 = 0x09;
    /// RESET REQUEST, RESET INDICATION.
    pub const RESET: u8 = 0x1b;
    /// RESET CONFIRMATION.
    pub const RESET_CONFIRMATION: u8 = 0x1f;
    /// RESTART REQUEST, RESTART INDICATION.
    pub const RESTART: u8 = 0xfb;
    /// RESTART CONFIRMATION.
    pub const RESTART_CONFIRMATION: u8 = 0xff;
    /// DIAGNOSTIC.
    pub const DIAGNOSTIC: u8 = 0xf1;
    /// REGISTRATION REQUEST.
    pub const REGISTRATION: u8 = 0xf3;
    /// REGISTRATION CONFIRMATION.
    pub const REGISTRATION_CONFIRMATION: u8 = 0xf7;
}

/// The most octets of user data in an INTERRUPT packet.
pub const MOST_INTERRUPT: usize = 32;
/// The most octets of call user data, without fast select and with it.
pub const MOST_CALL_DATA: (usize, usize) = (16, 128);

/// Why octets are no packet, and the diagnostic code that says so to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{why}")]
pub struct InvalidPacket {
    /// What is wrong.
    pub why: Malformed,
    /// The diagnostic code ([`kumiki_osi_service::x25::diagnostic`]).
    pub diagnostic: u8,
}

/// A packet without the user data of DATA and INTERRUPT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Q of DATA; A of call set-up and clearing: addresses have a type and a plan.
    pub qualified: bool,
    /// D: delivery confirmation.
    pub delivery: bool,
    /// How numbers are written.
    pub modulo: Modulo,
    /// The logical channel, 0 to 4095.
    pub channel: u16,
    /// What it is.
    pub body: Body,
}

/// What a packet is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// CALL REQUEST or INCOMING CALL.
    Call(Block),
    /// CALL ACCEPTED or CALL CONNECTED; without a block the shortest form.
    Accepted(Option<Block>),
    /// CLEAR REQUEST or INDICATION.
    Clear {
        /// The cause.
        cause: u8,
        /// The diagnostic code, where there is one.
        diagnostic: Option<u8>,
        /// What the extended format adds; only with a diagnostic code.
        block: Option<Block>,
    },
    /// CLEAR CONFIRMATION, with what the extended format adds.
    ClearConfirmation(Option<Block>),
    /// DATA.
    Data {
        /// P(S).
        ps: u8,
        /// P(R).
        pr: u8,
        /// M: more of the sequence follows.
        more: bool,
    },
    /// INTERRUPT.
    Interrupt,
    /// INTERRUPT CONFIRMATION.
    InterruptConfirmation,
    /// RECEIVE READY, with P(R).
    Rr(u8),
    /// RECEIVE NOT READY, with P(R).
    Rnr(u8),
    /// REJECT, with P(R).
    Rej(u8),
    /// RESET REQUEST or INDICATION.
    Reset {
        /// The cause.
        cause: u8,
        /// The diagnostic code, where there is one.
        diagnostic: Option<u8>,
    },
    /// RESET CONFIRMATION.
    ResetConfirmation,
    /// RESTART REQUEST or INDICATION.
    Restart {
        /// The cause.
        cause: u8,
        /// The diagnostic code, where there is one.
        diagnostic: Option<u8>,
    },
    /// RESTART CONFIRMATION.
    RestartConfirmation,
    /// DIAGNOSTIC.
    Diagnostic {
        /// The code.
        code: u8,
        /// Up to three octets of the packet that is meant.
        explanation: Vec<u8>,
    },
    /// REGISTRATION REQUEST (false) or CONFIRMATION (true), and what is in it.
    Registration(bool, Vec<u8>),
}

const Q: u8 = 0x80;
const D: u8 = 0x40;

/// Octets before what depends on the type.
const FRONT: usize = 3;

impl Packet {
    /// The most octets of a header that user data stands behind.
    pub const MOST_HEADER: usize = 4;

    /// Reads a packet of `total` octets; also gives how many of them are not user data of DATA or INTERRUPT. `front`
    /// has all of them, but for DATA, of which it has at least [`Packet::MOST_HEADER`].
    ///
    /// # Errors
    /// [`InvalidPacket`] says what is wrong and with which diagnostic code that is told.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), InvalidPacket> {
        let Some((&[g, channel, kind], rest)) = front.split_first_chunk::<FRONT>() else {
            return Err(short(FRONT, front.len()));
        };
        let modulo = match g >> 4 & 3 {
            1 => Modulo::Eight,
            2 => Modulo::Extended,
            found => {
                let why = Malformed::Field {
                    protocol: "X.25",
                    field: "general format identifier",
                    found: found.into(),
                    expected: "1 or 2",
                };
                let diagnostic = diagnostic::GFI;
                return Err(InvalidPacket { why, diagnostic });
            }
        };
        let (body, len) = Body::parse((kind, modulo, g & Q != 0), rest, total)?;
        let packet = Self {
            qualified: g & Q != 0,
            delivery: g & D != 0,
            modulo,
            channel: u16::from_be_bytes([g & 15, channel]),
            body,
        };
        Ok((packet, len))
    }

    /// Octets that [`Packet::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a packet is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        let block = |block: &Option<Block>| block.as_ref().map_or(0, |it| it.len(self.qualified));
        let extended = usize::from(self.modulo == Modulo::Extended);
        let reason = |diagnostic: &Option<u8>| 1 + usize::from(diagnostic.is_some());
        FRONT
            + match &self.body {
                Body::Call(it) => it.len(self.qualified),
                Body::Accepted(it) | Body::ClearConfirmation(it) => block(it),
                Body::Clear { diagnostic, block: it, .. } => reason(diagnostic) + block(it),
                Body::Data { .. } | Body::Rr(_) | Body::Rnr(_) | Body::Rej(_) => extended,
                Body::Reset { diagnostic, .. } | Body::Restart { diagnostic, .. } => reason(diagnostic),
                Body::Diagnostic { explanation, .. } => 1 + explanation.len(),
                Body::Registration(_, octets) => octets.len(),
                Body::Interrupt | Body::InterruptConfirmation | Body::ResetConfirmation | Body::RestartConfirmation => {
                    0
                }
            }
    }

    /// Writes [`Packet::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        let [high, low] = self.channel.to_be_bytes();
        let (q, d) = (u8::from(self.qualified), u8::from(self.delivery));
        let format = match self.modulo {
            Modulo::Eight => 0x10,
            Modulo::Extended => 0x20,
        };
        put(out, [q << 7 | d << 6 | format | high & 15, low]);
        let reason = |out: &mut &mut [u8], kind, cause, diagnostic: Option<u8>| {
            put(out, [kind, cause]);
            if let Some(diagnostic) = diagnostic {
                put(out, [diagnostic]);
            }
        };
        match &self.body {
            Body::Call(block) => {
                put(out, [kind::CALL]);
                block.emit(self.qualified, out);
            }
            Body::Accepted(block) | Body::ClearConfirmation(block) => {
                put(out, [self.body.kind()]);
                if let Some(block) = block {
                    block.emit(self.qualified, out);
                }
            }
            Body::Clear { cause, diagnostic, block } => {
                reason(out, kind::CLEAR, *cause, *diagnostic);
                if let Some(block) = block {
                    block.emit(self.qualified, out);
                }
            }
            Body::Data { ps, pr, more } => match self.modulo {
                Modulo::Eight => put(out, [(pr & 7) << 5 | u8::from(*more) << 4 | (ps & 7) << 1]),
                Modulo::Extended => put(out, [ps << 1, pr << 1 | u8::from(*more)]),
            },
            Body::Rr(pr) | Body::Rnr(pr) | Body::Rej(pr) => match self.modulo {
                Modulo::Eight => put(out, [(pr & 7) << 5 | self.body.kind()]),
                Modulo::Extended => put(out, [self.body.kind(), pr << 1]),
            },
            Body::Reset { cause, diagnostic } | Body::Restart { cause, diagnostic } => {
                reason(out, self.body.kind(), *cause, *diagnostic);
            }
            Body::Diagnostic { code, explanation } => {
                put(out, [kind::DIAGNOSTIC, *code]);
                put_slice(out, explanation);
            }
            Body::Registration(_, octets) => {
                put(out, [self.body.kind()]);
                put_slice(out, octets);
            }
            Body::Interrupt | Body::InterruptConfirmation | Body::ResetConfirmation | Body::RestartConfirmation => {
                put(out, [self.body.kind()]);
            }
        }
    }

    /// The octets of a packet that has no user data behind it.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = vec![0; self.len()];
        self.emit(&mut out);
        out
    }
}

/// Whether a packet that begins with `front` is DATA, so that only its header need be in one piece.
#[must_use]
pub const fn is_data(front: &[u8]) -> bool {
    matches!(front, [_, _, kind, ..] if *kind & 1 == 0)
}

const fn short(need: usize, have: usize) -> InvalidPacket {
    InvalidPacket { why: Malformed::Short { protocol: "X.25", need, have }, diagnostic: diagnostic::SHORT }
}

/// That a packet of `total` octets has `least` to `most`.
const fn between(total: usize, least: usize, most: usize) -> Result<(), InvalidPacket> {
    if total < least {
        return Err(short(least, total));
    }
    if total > most {
        return Err(InvalidPacket {
            why: Malformed::Length { protocol: "X.25", field: "packet", found: total, least, most },
            diagnostic: diagnostic::LONG,
        });
    }
    Ok(())
}

impl Body {
    /// The type octet; of data and flow control modulo 8 without their numbers.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Call(_) => kind::CALL,
            Self::Accepted(_) => kind::ACCEPTED,
            Self::Clear { .. } => kind::CLEAR,
            Self::ClearConfirmation(_) => kind::CLEAR_CONFIRMATION,
            Self::Data { .. } => 0,
            Self::Interrupt => kind::INTERRUPT,
            Self::InterruptConfirmation => kind::INTERRUPT_CONFIRMATION,
            Self::Rr(_) => kind::RR,
            Self::Rnr(_) => kind::RNR,
            Self::Rej(_) => kind::REJ,
            Self::Reset { .. } => kind::RESET,
            Self::ResetConfirmation => kind::RESET_CONFIRMATION,
            Self::Restart { .. } => kind::RESTART,
            Self::RestartConfirmation => kind::RESTART_CONFIRMATION,
            Self::Diagnostic { .. } => kind::DIAGNOSTIC,
            Self::Registration(false, _) => kind::REGISTRATION,
            Self::Registration(true, _) => kind::REGISTRATION_CONFIRMATION,
        }
    }

    /// Data and flow control, whose numbers stand in the type octet, or in that and the next one; none where it is
    /// another packet.
    fn numbered((kind, modulo): (u8, Modulo), rest: &[u8], total: usize) -> Result<Option<Self>, InvalidPacket> {
        let len = FRONT + usize::from(modulo == Modulo::Extended);
        if kind & 1 == 0 {
            return Ok(Some(match (modulo, rest) {
                (Modulo::Eight, _) => Self::Data { ps: kind >> 1 & 7, pr: kind >> 5, more: kind & 0x10 != 0 },
                (Modulo::Extended, [second, ..]) => {
                    Self::Data { ps: kind >> 1, pr: *second >> 1, more: *second & 1 != 0 }
                }
                (Modulo::Extended, []) => return Err(short(len, total)),
            }));
        }
        let (flow, pr) = match (modulo, rest) {
            (Modulo::Eight, _) => (kind & 0x1f, kind >> 5),
            (Modulo::Extended, [second, ..]) => (kind, *second >> 1),
            (Modulo::Extended, []) => (kind, 0),
        };
        let body = match flow {
            kind::RR => Self::Rr(pr),
            kind::RNR => Self::Rnr(pr),
            kind::REJ => Self::Rej(pr),
            _ => return Ok(None),
        };
        between(total, len, len)?;
        Ok(Some(body))
    }

    /// Reads what stands behind the first three octets, the last of which is `kind`; also gives how many octets are no
    /// user data.
    fn parse(
        (kind, modulo, typed): (u8, Modulo, bool),
        rest: &[u8],
        total: usize,
    ) -> Result<(Self, usize), InvalidPacket> {
        if let Some(body) = Self::numbered((kind, modulo), rest, total)? {
            return Ok((body, FRONT + usize::from(modulo == Modulo::Extended)));
        }
        // What has no user data is read whole, so that nothing of it is overlooked.
        let have = FRONT + rest.len();
        if kind != kind::INTERRUPT && have < total {
            return Err(short(total, have));
        }
        let bare = |body| between(total, FRONT, FRONT).map(|()| body);
        let body = match kind {
            kind::CALL => Self::Call(Block::parse(rest, typed)?),
            kind::ACCEPTED => Self::Accepted(block(rest, typed)?),
            kind::CLEAR => {
                between(total, FRONT + 1, usize::MAX)?;
                let (cause, diagnostic, more) = reason(rest);
                Self::Clear { cause, diagnostic, block: block(more, typed)? }
            }
            kind::CLEAR_CONFIRMATION => Self::ClearConfirmation(block(rest, typed)?),
            kind::INTERRUPT => {
                between(total, FRONT + 1, FRONT + MOST_INTERRUPT)?;
                return Ok((Self::Interrupt, FRONT));
            }
            kind::INTERRUPT_CONFIRMATION => bare(Self::InterruptConfirmation)?,
            kind::RESET => {
                between(total, FRONT + 1, FRONT + 2)?;
                let (cause, diagnostic, _) = reason(rest);
                Self::Reset { cause, diagnostic }
            }
            kind::RESET_CONFIRMATION => bare(Self::ResetConfirmation)?,
            kind::RESTART => {
                between(total, FRONT + 1, FRONT + 2)?;
                let (cause, diagnostic, _) = reason(rest);
                Self::Restart { cause, diagnostic }
            }
            kind::RESTART_CONFIRMATION => bare(Self::RestartConfirmation)?,
            kind::DIAGNOSTIC => {
                let [code, explanation @ ..] = rest else {
                    return Err(short(FRONT + 1, total));
                };
                between(total, FRONT + 1, FRONT + 4)?;
                Self::Diagnostic { code: *code, explanation: explanation.to_vec() }
            }
            kind::REGISTRATION => Self::Registration(false, rest.to_vec()),
            kind::REGISTRATION_CONFIRMATION => Self::Registration(true, rest.to_vec()),
            _ => return Err(unidentifiable(kind)),
        };
        Ok((body, total))
    }
}

fn unidentifiable(kind: u8) -> InvalidPacket {
    let why = Malformed::Field { protocol: "X.25", field: "packet type", found: kind.into(), expected: "one of X.25" };
    InvalidPacket { why, diagnostic: diagnostic::UNIDENTIFIABLE }
}

/// Cause, diagnostic code, and what is behind them.
const fn reason(octets: &[u8]) -> (u8, Option<u8>, &[u8]) {
    match octets {
        [] => (0, None, &[]),
        [cause] => (*cause, None, &[]),
        [cause, diagnostic, more @ ..] => (*cause, Some(*diagnostic), more),
    }
}

/// A block that need not be there.
fn block(octets: &[u8], typed: bool) -> Result<Option<Block>, InvalidPacket> {
    if octets.is_empty() {
        return Ok(None);
    }
    Block::parse(octets, typed).map(Some)
}

impl fmt::Display for Body {
    /// For example `DATA P(S)=1 P(R)=3 M` or `CLEAR cause 00 diagnostic 241`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = |f: &mut fmt::Formatter<'_>, name, cause, diagnostic: Option<u8>| {
            write!(f, "{name} cause {cause:02x}")?;
            match diagnostic {
                Some(code) => write!(f, " diagnostic {code}"),
                None => Ok(()),
            }
        };
        match self {
            Self::Call(block) => write!(f, "CALL {block}"),
            Self::Accepted(block) => {
                f.write_str("CALL ACCEPTED")?;
                block.iter().try_for_each(|it| write!(f, " {it}"))
            }
            Self::Clear { cause, diagnostic, .. } => reason(f, "CLEAR", *cause, *diagnostic),
            Self::ClearConfirmation(_) => f.write_str("CLEAR CONFIRMATION"),
            Self::Data { ps, pr, more } => {
                let more = if *more { " M" } else { "" };
                write!(f, "DATA P(S)={ps} P(R)={pr}{more}")
            }
            Self::Interrupt => f.write_str("INTERRUPT"),
            Self::InterruptConfirmation => f.write_str("INTERRUPT CONFIRMATION"),
            Self::Rr(pr) => write!(f, "RR P(R)={pr}"),
            Self::Rnr(pr) => write!(f, "RNR P(R)={pr}"),
            Self::Rej(pr) => write!(f, "REJ P(R)={pr}"),
            Self::Reset { cause, diagnostic } => reason(f, "RESET", *cause, *diagnostic),
            Self::ResetConfirmation => f.write_str("RESET CONFIRMATION"),
            Self::Restart { cause, diagnostic } => reason(f, "RESTART", *cause, *diagnostic),
            Self::RestartConfirmation => f.write_str("RESTART CONFIRMATION"),
            Self::Diagnostic { code, .. } => write!(f, "DIAGNOSTIC {code}"),
            Self::Registration(false, _) => f.write_str("REGISTRATION"),
            Self::Registration(true, _) => f.write_str("REGISTRATION CONFIRMATION"),
        }
    }
}

impl fmt::Display for Packet {
    /// For example `X.25 1 DATA P(S)=0 P(R)=0 Q`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X.25 {} {}", self.channel, self.body)?;
        let is_data = matches!(self.body, Body::Data { .. });
        let q = if is_data { " Q" } else { " A" };
        f.write_str(if self.qualified { q } else { "" })?;
        f.write_str(if self.delivery { " D" } else { "" })
    }
}
