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

use kumiki_graph::{Above, Below, Context, Indication, Key, Protocol, Request, Shape, Unit, UnitRequest, Work};
use kumiki_octets::crc::Aal5Crc;
use kumiki_wire::atm::aal5::{CRC_OFFSET, Fault, LEN, MAX_SDU, Trailer, pad_len};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use crate::cpcs;
pub use crate::cpcs::Config;

#[cfg(test)]
mod tests;

const ABOVE: Above = Above(0);
const BELOW: Below = Below(0);

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// SDUs sent.
    pub sent: u64,
    /// SDUs handed to the user.
    pub received: u64,
    /// SDUs not sent: longer than allowed, empty, or a super-segment.
    pub refused: u64,
    /// PDUs dropped: the CRC does not agree.
    pub crc_errors: u64,
    /// PDUs dropped: the length does not fit the PDU, or the PDU is not made of cells.
    pub length_errors: u64,
    /// PDUs dropped: the common part indicator is not 0.
    pub cpi_errors: u64,
    /// PDUs that their sender gave up.
    pub aborts: u64,
    /// PDUs dropped: their SDU is longer than allowed.
    pub oversize: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Aal5 {
    config: Config,
    counters: Counters,
}

impl Aal5 {
    /// AAL5 as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn send(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(length) = self.config.admit(&mut unit.data, cx) else {
            self.counters.refused += 1;
            return;
        };
        let pad = pad_len(length.into());
        let mut back = [0; PAYLOAD_LEN - 1 + LEN];
        let Some(back) = back.get_mut(..pad + LEN) else {
            return;
        };
        let mut trailer = Trailer { length, ..Trailer::default() };
        if let Some((_, octets)) = back.split_at_mut_checked(pad) {
            trailer.emit(octets);
        }
        let mut crc = Aal5Crc::new();
        cx.charge(Work::Sum, unit.data.len() as u64);
        unit.data.for_each(|octets| crc.update(octets));
        crc.update(back.get(..pad + CRC_OFFSET).unwrap_or_default());
        trailer.crc = crc.finish();
        if let Some((_, octets)) = back.split_at_mut_checked(pad) {
            trailer.emit(octets);
        }
        unit.data.append_octets(back);
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let len = unit.data.len();
        let mut back = [0; LEN];
        let made_of_cells =
            len.is_multiple_of(PAYLOAD_LEN) && len.checked_sub(LEN).is_some_and(|at| unit.data.copy_to(at, &mut back));
        let Some(trailer) = Trailer::parse(&back).ok().filter(|_| made_of_cells) else {
            self.counters.length_errors += 1;
            cx.drop("not a whole number of cells");
            return;
        };
        let mut crc = Aal5Crc::new();
        cx.charge(Work::Sum, len as u64);
        let covered = len - LEN + CRC_OFFSET;
        unit.data.for_each_in(0, covered, |octets| crc.update(octets));
        let sdu = match trailer.check(len, crc.finish()) {
            Ok(sdu) => sdu,
            Err(fault) => {
                self.count(&fault, cx);
                return;
            }
        };
        if sdu > usize::from(self.config.max_sdu) {
            self.counters.oversize += 1;
            cx.drop("SDU longer than allowed");
            return;
        }
        unit.data.truncate(sdu);
        self.counters.received += 1;
        cx.up(ABOVE, Indication::Unit(unit));
    }

    fn count(&mut self, fault: &Fault, cx: &mut Context<'_>) {
        let (counter, why) = match fault {
            Fault::Crc { .. } => (&mut self.counters.crc_errors, "CRC wrong"),
            Fault::Cpi { .. } => (&mut self.counters.cpi_errors, "CPI not 0"),
            Fault::Abort => (&mut self.counters.aborts, "aborted by the sender"),
            Fault::Length { .. } => (&mut self.counters.length_errors, "length wrong"),
        };
        *counter += 1;
        cx.drop(why);
    }
}

/// The longest SDU whose PDU has at most `pdu` octets.
fn longest_sdu(pdu: usize) -> usize {
    let cells = pdu / PAYLOAD_LEN;
    (cells * PAYLOAD_LEN).saturating_sub(LEN).min(MAX_SDU)
}

impl Protocol for Aal5 {
    fn shape(&self) -> Shape {
        cpcs::shape()
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        cpcs::bind("AAL5", above)
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(unit, cx),
            Some(UnitRequest::Manage(manage)) => cx.down(BELOW, Request::Manage(manage)),
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, mut indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.receive(unit, cx);
        } else {
            self.config.limit(&mut indication, longest_sdu);
            cx.up(ABOVE, indication);
        }
    }
}
