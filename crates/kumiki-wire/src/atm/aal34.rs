//! AAL type 3/4: the headers and trailers of its two sublayers.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.3, common part; recalled, except for what the published vector shows |
//! | CPCS-PDU | [`cpcs::Header`] 4, SDU, PAD of 0 to 3 octets, [`cpcs::Trailer`] 4: a multiple of 4 octets |
//! | SAR-PDU | [`sar::Header`] 2, 44 octets of the CPCS-PDU, [`sar::Trailer`] 2: the 48 octets of a cell. The last of a CPCS-PDU is filled up with zeros |
//! | CRC | CRC-10 over the first 374 bits of each SAR-PDU: [`sar::crc`]. Nothing covers a CPCS-PDU as a whole |
//! | Left out | segmentation and reassembly, which are state; the CPIs other than 0; the service-specific part |

use crate::Malformed;

pub mod cpcs;
pub mod sar;
#[cfg(test)]
mod tests;

/// Octets of the longest SDU.
pub const MAX_SDU: usize = 65535;

/// Octets of padding after an SDU: 0 to 3.
#[must_use]
pub const fn pad_len(sdu_len: usize) -> usize {
    (4 - sdu_len % 4) % 4
}

/// Octets of the CPCS-PDU of an SDU of up to [`MAX_SDU`] octets.
#[must_use]
pub const fn pdu_len(sdu_len: usize) -> usize {
    let around = cpcs::HEADER_LEN + pad_len(sdu_len) + cpcs::TRAILER_LEN;
    sdu_len.saturating_add(around)
}

/// Cells that carry an SDU of up to [`MAX_SDU`] octets.
#[must_use]
pub const fn cells(sdu_len: usize) -> usize {
    pdu_len(sdu_len).div_ceil(sar::PAYLOAD_LEN)
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "AAL3/4", need, have }
}
