//! AAL3/4's convergence sublayer in software: header, pad and trailer.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.3, common part convergence sublayer, message mode; recalled |
//! | Above | LLC/SNAP, VC multiplexing |
//! | Below | a device that does the segmentation and reassembly sublayer: cells with ST, SN, MID, LI and CRC-10, and nothing else |
//! | Left out | streaming mode (a BASize above Length is taken, none is sent), CPIs other than 0, corrupted-data delivery |
//!
//! For adapters that know cells and not what is around an SDU. No octet of the SDU is read: errors are found by the CRC-10
//! of each cell, below. Adapters that do it themselves have their users straight on the device.

use std::collections::BTreeMap;

use kumiki_graph::{Above, Address, Below, Context, Indication, Key, Protocol, Request, Shape, Unit, UnitRequest};
use kumiki_wire::atm::aal34::cpcs::{self, Fault, HEADER_LEN, TRAILER_LEN};
use kumiki_wire::atm::aal34::{MAX_SDU, pdu_len};

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
    /// PDUs dropped: header and trailer have different tags.
    pub tag_errors: u64,
    /// PDUs dropped: the length does not fit the PDU, or is more than BASize.
    pub length_errors: u64,
    /// PDUs dropped: CPI or AL is not 0.
    pub field_errors: u64,
    /// PDUs dropped: their SDU is longer than allowed.
    pub oversize: u64,
}

/// The layer.
#[derive(Debug, Default)]
pub struct Aal34 {
    config: Config,
    counters: Counters,
    /// The tag of the next PDU on each channel: those that follow each other differ.
    tags: BTreeMap<Address, u8>,
}

impl Aal34 {
    /// AAL3/4 as `config` says.
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
        let tag = self.tags.entry(unit.destination).or_default();
        let Some(pdu) = cpcs::pdu(unit.data, *tag) else {
            self.counters.refused += 1;
            return cx.drop("SDU too long or empty");
        };
        *tag = tag.wrapping_add(1);
        unit.data = pdu;
        self.counters.sent += 1;
        cx.down(BELOW, Request::Unit(unit));
    }

    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if unit.data.len() < HEADER_LEN + TRAILER_LEN {
            self.counters.length_errors += 1;
            cx.drop("shorter than a header and a trailer");
            return;
        }
        unit.data = match cpcs::sdu(unit.data) {
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
        let counters = &mut self.counters;
        let (counter, why) = match fault {
            Fault::Tag { .. } => (&mut counters.tag_errors, "tags differ"),
            Fault::Cpi { .. } => (&mut counters.field_errors, "CPI not 0"),
            Fault::Alignment { .. } => (&mut counters.field_errors, "AL not 0"),
            Fault::Length { .. } => (&mut counters.length_errors, "length wrong"),
            Fault::BufferSize { .. } => (&mut counters.length_errors, "longer than BASize"),
        };
        *counter += 1;
        cx.drop(why);
    }
}

/// The longest SDU whose PDU has at most `pdu` octets.
fn longest_sdu(pdu: usize) -> usize {
    let words = pdu / 4;
    (words * 4).saturating_sub(pdu_len(0)).min(MAX_SDU)
}

impl Protocol for Aal34 {
    fn shape(&self) -> Shape {
        convergence::shape()
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        convergence::bind("AAL3/4", above)
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
