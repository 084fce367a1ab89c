//! AAL3/4's convergence sublayer in software: header, pad and trailer.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.3, common part convergence sublayer, message mode; recalled |
//! | Above | LLC/SNAP, VC multiplexing |
//! | Below | a device that does the segmentation and reassembly sublayer: cells with ST, SN, MID, LI and CRC-10, and nothing else |
//! | Left out | streaming mode (a BASize above Length is taken, none is sent), CPIs other than 0, corrupted-data delivery |
//!
//! For adapters that know cells and not what is around an SDU. No octet of the SDU is read: errors are found by the
//! CRC-10 of each cell, below. Adapters that do it themselves have their users straight on the device.

use std::collections::BTreeMap;

use kumiki_graph::{Address, Context};
use kumiki_octets::Message;
use kumiki_wire::atm::aal34::cpcs::{self, CpcsError, HEADER_LEN, TRAILER_LEN};
use kumiki_wire::atm::aal34::{MAX_SDU, pdu_len};

pub use crate::convergence::Config;
use crate::convergence::{CommonPart, Convergence};

#[cfg(test)]
mod tests;

/// The layer.
pub type Aal34 = Convergence<Envelope>;

/// Header and trailer around an SDU, and the PDUs that were dropped.
#[derive(Debug, Default)]
pub struct Envelope {
    /// The tag of the next PDU on each channel: those that follow each other differ.
    tags: BTreeMap<Address, u8>,
    /// PDUs dropped: header and trailer have different tags.
    pub tag_errors: u64,
    /// PDUs dropped: the length does not fit the PDU, or is more than BASize.
    pub length_errors: u64,
    /// PDUs dropped: CPI or AL is not 0.
    pub field_errors: u64,
}

impl CommonPart for Envelope {
    const NAME: &'static str = "AAL3/4";

    fn pdu(&mut self, sdu: Message, to: Address, _: &mut Context<'_>) -> Option<Message> {
        let tag = self.tags.entry(to).or_default();
        let pdu = cpcs::pdu(sdu, *tag)?;
        *tag = tag.wrapping_add(1);
        Some(pdu)
    }

    fn sdu(&mut self, pdu: Message, _: &mut Context<'_>) -> Result<Message, &'static str> {
        if pdu.len() < HEADER_LEN + TRAILER_LEN {
            self.length_errors += 1;
            return Err("shorter than a header and a trailer");
        }
        cpcs::sdu(pdu).map_err(|fault| {
            let (counter, why) = match fault {
                CpcsError::Tag { .. } => (&mut self.tag_errors, "tags differ"),
                CpcsError::Cpi { .. } => (&mut self.field_errors, "CPI not 0"),
                CpcsError::Alignment { .. } => (&mut self.field_errors, "AL not 0"),
                CpcsError::Length { .. } => (&mut self.length_errors, "length wrong"),
                CpcsError::BufferSize { .. } => (&mut self.length_errors, "longer than BASize"),
            };
            *counter += 1;
            why
        })
    }

    fn longest_sdu(pdu: usize) -> usize {
        let words = pdu / 4;
        (words * 4).saturating_sub(pdu_len(0)).min(MAX_SDU)
    }
}
