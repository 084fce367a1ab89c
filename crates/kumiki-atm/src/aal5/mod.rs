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
use kumiki_wire::atm::aal5::{self, Fault, LEN, MAX_SDU};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use crate::convergence;
pub use crate::convergence::Config;

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
        if !self.config.admit(&mut unit.data, cx) {
            self.counters.refused += 1;
            return;
        }
        cx.charge(Work::Sum, unit.data.len() as u64);
        unit.data = aal5::pdu(unit.data, true);
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let len = unit.data.len();
        if len == 0 || !len.is_multiple_of(PAYLOAD_LEN) {
            self.counters.length_errors += 1;
            cx.drop("not a whole number of cells");
            return;
        }
        cx.charge(Work::Sum, len as u64);
        unit.data = match aal5::sdu(unit.data, true) {
            Ok(sdu) => sdu,
            Err(fault) => return self.count(&fault, cx),
        };
        if unit.data.len() > usize::from(self.config.max_sdu) {
            self.counters.oversize += 1;
            cx.drop("SDU longer than allowed");
            return;
        }
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
        convergence::shape()
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        convergence::bind("AAL5", above)
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
