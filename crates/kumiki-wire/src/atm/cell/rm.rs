//! RM cells of the available bit rate service: what sources, switches and destinations tell each other of rates.
//!
//! | | |
//! |---|---|
//! | Specification | ATM Forum af-tm-0056 (Traffic Management 4.0), as the manual of the MPC8260 (Motorola; section 29.5.2.1, table 29-7) repeats fields and rates; CRC-10 as in OAM cells |
//! | Found | PTI 110 |
//! | Left out | RM cells of other protocols than 1 |
//!
//! | octets of the cell | |
//! |---|---|
//! | 6 | protocol, 1 |
//! | 7 | from the highest bit: DIR, BN, CI, NI, RA; three reserved |
//! | 8-9, 10-11, 12-13 | ER, CCR, MCR |
//! | 14-17, 18-21 | QL, SN: of I.371, zero here |
//! | 22-51 | reserved, 6A |
//! | 52-53 | six reserved bits, CRC-10 |

use core::fmt;

use super::oam::{crc10_fault, is_crc10_right, set_crc10};
use super::{IDLE_PAYLOAD, PAYLOAD_LEN};
use crate::Malformed;

/// The protocol number of the available bit rate service.
pub const PROTOCOL: u8 = 1;

/// A rate of cells, in 512ths of a cell per second: what fields of RM cells can say is a whole number of them.
///
/// A field has a bit that is zero for no rate, five bits of exponent `e` and nine of mantissa `m`: 2^e (1 + m / 512)
/// cells per second.
///
/// ```
/// use kumiki_wire::atm::cell::rm::CellRate;
///
/// let line = CellRate::per_second(353_207);
/// assert_eq!(CellRate::decode(line.encode()), CellRate::per_second(352_768)); // nine bits of mantissa
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CellRate(u64);

impl CellRate {
    /// Parts of one cell per second.
    pub const PARTS: u64 = 512;
    /// The greatest that a field can say.
    pub const MAX: Self = Self(1023 << 31);
    /// No cells.
    pub const ZERO: Self = Self(0);

    /// So many 512ths of a cell per second.
    #[must_use]
    pub const fn from_parts(parts: u64) -> Self {
        Self(parts)
    }

    /// So many cells per second.
    #[must_use]
    pub const fn per_second(cells: u64) -> Self {
        Self(cells.saturating_mul(Self::PARTS))
    }

    /// 512ths of a cell per second.
    #[must_use]
    pub const fn parts(self) -> u64 {
        self.0
    }

    /// What the field `bits` says; the highest bit, which is reserved, says nothing.
    #[must_use]
    pub const fn decode(bits: u16) -> Self {
        let exponent = bits >> 9 & 0x1f;
        let mantissa = bits & 0x1ff;
        if bits & 0x4000 == 0 { Self(0) } else { Self((512 + mantissa as u64) << exponent) }
    }

    /// The greatest field that is not above it; nothing of less than one cell per second.
    #[must_use]
    pub fn encode(self) -> u16 {
        let parts = self.0.min(Self::MAX.0);
        let Some(exponent) = parts.checked_ilog2().and_then(|log| log.checked_sub(9)) else {
            return 0;
        };
        let field = |value: u64| u16::try_from(value).unwrap_or(0);
        0x4000 | field(exponent.into()) << 9 | field((parts >> exponent) & 0x1ff)
    }
}

impl fmt::Display for CellRate {
    /// For example `352768 cells/s`; a part of a cell is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cells/s", self.0 / Self::PARTS)
    }
}

/// The payload of an RM cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Rm {
    /// DIR: towards the source; otherwise with its data.
    pub backward: bool,
    /// BN: made by a switch or the destination of itself, and not turned round.
    pub notification: bool,
    /// CI: there is congestion, and the source is to send less.
    pub congestion: bool,
    /// NI: the source is not to send more.
    pub no_increase: bool,
    /// RA: of I.371; not used by the ATM Forum.
    pub request: bool,
    /// ER: the most that all on the way allow.
    pub explicit: CellRate,
    /// CCR: what the source may send now.
    pub current: CellRate,
    /// MCR: what it always may.
    pub minimum: CellRate,
    /// QL: of I.371; zero.
    pub queue_length: u32,
    /// SN: of I.371; zero.
    pub sequence_number: u32,
}

/// How the fields lie one behind the other, the CRC-10 left out.
type Fields = ([u8; 2], [u8; 2], [u8; 2], [u8; 2], [u8; 4], [u8; 4]);

impl Rm {
    /// Reads the payload of an RM cell.
    ///
    /// # Errors
    /// The CRC-10 is wrong, or this is of another protocol than [`PROTOCOL`].
    pub fn parse(payload: &[u8; PAYLOAD_LEN]) -> Result<Self, Malformed> {
        if !is_crc10_right(payload) {
            return Err(crc10_fault("ATM RM", payload));
        }
        let ([protocol, kind], er, ccr, mcr, ql, sn) = fields(payload);
        if protocol != PROTOCOL {
            return Err(Malformed::Field {
                protocol: "ATM RM",
                field: "protocol",
                found: protocol.into(),
                expected: "1 (available bit rate)",
            });
        }
        let rate = |field| CellRate::decode(u16::from_be_bytes(field));
        Ok(Self {
            backward: kind & 0x80 != 0,
            notification: kind & 0x40 != 0,
            congestion: kind & 0x20 != 0,
            no_increase: kind & 0x10 != 0,
            request: kind & 0x08 != 0,
            explicit: rate(er),
            current: rate(ccr),
            minimum: rate(mcr),
            queue_length: u32::from_be_bytes(ql),
            sequence_number: u32::from_be_bytes(sn),
        })
    }

    /// The payload, with the CRC-10 that belongs to it. Rates are rounded down to what a field can say.
    #[must_use]
    pub fn octets(&self) -> [u8; PAYLOAD_LEN] {
        let bits = [self.backward, self.notification, self.congestion, self.no_increase, self.request];
        let kind = bits.into_iter().fold(0, |octet, bit| octet << 1 | u8::from(bit)) << 3;
        let mut payload = [IDLE_PAYLOAD; PAYLOAD_LEN];
        let mut out = payload.as_mut_slice();
        let out = &mut out;
        crate::put(out, [PROTOCOL, kind]);
        for rate in [self.explicit, self.current, self.minimum] {
            crate::put(out, rate.encode().to_be_bytes());
        }
        crate::put(out, self.queue_length.to_be_bytes());
        crate::put(out, self.sequence_number.to_be_bytes());
        let [.., high, _] = &mut payload;
        *high = 0; // the six bits before the CRC are reserved
        set_crc10(&mut payload);
        payload
    }
}

fn fields(payload: &[u8; PAYLOAD_LEN]) -> Fields {
    let [p, k, e0, e1, c0, c1, m0, m1, q0, q1, q2, q3, s0, s1, s2, s3, ..] = *payload;
    ([p, k], [e0, e1], [c0, c1], [m0, m1], [q0, q1, q2, q3], [s0, s1, s2, s3])
}

impl fmt::Display for Rm {
    /// For example `RM backward CI ER 352768 cells/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = if self.backward { "backward" } else { "forward" };
        write!(f, "RM {way}")?;
        for (bit, name) in [(self.notification, "BN"), (self.congestion, "CI"), (self.no_increase, "NI")] {
            if bit {
                write!(f, " {name}")?;
            }
        }
        write!(f, " ER {}", self.explicit)
    }
}
