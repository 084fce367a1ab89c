//! AAL5's common part in software: pad, trailer and CRC.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.5, common part convergence sublayer |
//! | Above | LLC/SNAP, VC multiplexing |
//! | Below | a device that cuts frames of a multiple of 48 octets into cells and puts cells together, and does nothing else |
//! | Left out | user-to-user octet and CPI (sent as 0), corrupted-data delivery, streaming mode |
//!
//! For adapters without a trailer in hardware: the CRC reads every octet, and is charged as such. Adapters that do it
//! themselves have their users straight on the device.

use kumiki_graph::{Address, Context, Work};
use kumiki_octets::Message;
use kumiki_wire::atm::aal5::{self, Aal5Error, LEN, MAX_SDU};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

pub use crate::convergence::Config;
use crate::convergence::{CommonPart, Convergence};

#[cfg(test)]
mod tests;

/// The layer.
pub type Aal5 = Convergence<Trailer>;

/// Pad and trailer behind an SDU, and the PDUs that were dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trailer {
    /// PDUs dropped: the CRC does not agree.
    pub crc_errors: u64,
    /// PDUs dropped: the length does not fit the PDU, or the PDU is not made of cells.
    pub length_errors: u64,
    /// PDUs dropped: the common part indicator is not 0.
    pub cpi_errors: u64,
    /// PDUs that their sender gave up.
    pub aborts: u64,
}

impl CommonPart for Trailer {
    const NAME: &'static str = "AAL5";

    fn pdu(&mut self, sdu: Message, _: Address, cx: &mut Context<'_>) -> Option<Message> {
        cx.charge(Work::Sum, sdu.len() as u64);
        Some(aal5::pdu(sdu, true))
    }

    fn sdu(&mut self, pdu: Message, cx: &mut Context<'_>) -> Result<Message, &'static str> {
        let len = pdu.len();
        if len == 0 || !len.is_multiple_of(PAYLOAD_LEN) {
            self.length_errors += 1;
            return Err("not a whole number of cells");
        }
        cx.charge(Work::Sum, len as u64);
        aal5::sdu(pdu, true).map_err(|fault| {
            let (counter, why) = match fault {
                Aal5Error::Crc { .. } => (&mut self.crc_errors, "CRC wrong"),
                Aal5Error::Cpi { .. } => (&mut self.cpi_errors, "CPI not 0"),
                Aal5Error::Abort => (&mut self.aborts, "aborted by the sender"),
                Aal5Error::Length { .. } => (&mut self.length_errors, "length wrong"),
            };
            *counter += 1;
            why
        })
    }

    fn longest_sdu(pdu: usize) -> usize {
        let cells = pdu / PAYLOAD_LEN;
        (cells * PAYLOAD_LEN).saturating_sub(LEN).min(MAX_SDU)
    }
}
