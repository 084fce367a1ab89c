//! ATM cells of 53 octets, HEC included; several in a row where a packet holds several.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::atm::cell`] |
//! | Found | by name only: no link type says cells. ERF's cells have no HEC, see [`erf`](crate::protocol::erf) |
//! | Left out | the header of the network-to-network interface: cells are read as those of a user |

use kumiki_octets::text::counted;
use kumiki_wire::atm::cell::{CELL_LEN, HEADER_LEN, Header, Interface, PAYLOAD_LEN, Pti, correct, hec, vci};

use crate::key::{Circuit, Key};
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "cells", title: "ATM cells of 53 octets", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let Some(octets) = reading.octets().first_chunk::<HEADER_LEN>() else {
        let short = Header::parse(Interface::Uni, reading.octets());
        if let Err(why) = short {
            reading.malformed(&why);
        }
        return;
    };
    let [o1, o2, o3, o4, found] = *octets;
    let right = hec([o1, o2, o3, o4]);
    let corrected = correct(*octets);
    // A receiver would discard what it cannot correct; an analyser shows what the header says.
    let readable = corrected.unwrap_or([o1, o2, o3, o4, right]);
    let header = match Header::parse(Interface::Uni, &readable) {
        Ok((header, _)) => header,
        Err(why) => return reading.malformed(&why),
    };
    reading.header_len(HEADER_LEN);
    reading.summary(header);
    if found == right {
        reading.emitted(|out| header.emit(Interface::Uni, out), HEADER_LEN);
    }
    fields(reading, &header);
    reading.field("hec", 4, 1, Value::Hex(found.into(), 2));
    if found != right {
        let what = if corrected.is_some() { "one wrong bit, corrected" } else { "more than one wrong bit" };
        reading.bad(format!("HEC is {found:#04x}, the octets give {right:#04x}: {what}"));
    }
    payload(reading, &header, HEADER_LEN);
    if reading.total() < CELL_LEN {
        reading.bad(format!("{}, a cell has {CELL_LEN}", counted(reading.total(), "octet")));
    }
    let behind = reading.total().saturating_sub(CELL_LEN);
    reading.around.circuit = None;
    reading.follow(&[Key::Named("cells")], CELL_LEN, behind);
}

/// The fields that all forms of cell headers have, from the first octet of the PDU.
pub(in crate::protocol) fn fields(reading: &mut Reading<'_>, header: &Header) {
    reading.field("gfc", 0, 1, header.gfc);
    reading.field("vpi", 0, 2, header.vpi);
    reading.named("vci", 1, 3, header.vci, vci_name(header.vci));
    let meaning = if !header.pti.is_user() {
        "not user data"
    } else if header.pti.ends_pdu() {
        "user data, ends an AAL5 PDU"
    } else {
        "user data"
    };
    reading.named("pti", 3, 1, header.pti.bits(), meaning);
    reading.field("clp", 3, 1, header.clp);
}

const fn vci_name(number: u16) -> &'static str {
    match number {
        vci::META_SIGNALLING => "meta-signalling",
        vci::BROADCAST_SIGNALLING => "general broadcast signalling",
        vci::F4_SEGMENT => "OAM of the virtual path, segment",
        vci::F4_END_TO_END => "OAM of the virtual path, end to end",
        vci::SIGNALLING => "signalling",
        vci::VP_RM => "resource management of the virtual path",
        vci::ILMI => "ILMI",
        vci::LANE_CONFIGURATION => "LAN emulation configuration",
        vci::PNNI => "PNNI",
        _ => "",
    }
}

/// Takes the 48 octets at `at` to whom they belong.
pub(in crate::protocol) fn payload(reading: &mut Reading<'_>, header: &Header, at: usize) {
    reading.around.circuit = Some(Circuit { interface: reading.around.interface, vpi: header.vpi, vci: header.vci });
    let is_f4 = matches!(header.vci, vci::F4_SEGMENT | vci::F4_END_TO_END);
    if header.is_idle() {
        reading.rest(at, PAYLOAD_LEN, "idle cell");
    } else if header.is_unassigned() {
        reading.rest(at, PAYLOAD_LEN, "unassigned cell");
    } else if is_f4 || matches!(header.pti.bits(), 4 | 5) {
        reading.follow(&[Key::Named("oam")], at, PAYLOAD_LEN);
    } else if header.pti == Pti::RM {
        reading.follow(&[Key::Named("rm")], at, PAYLOAD_LEN);
    } else if !header.pti.is_user() {
        reading.rest(at, PAYLOAD_LEN, format!("no decoder for cells of PTI {}", header.pti));
    } else {
        reading.around.ends_pdu = header.pti.ends_pdu();
        let layer = reading.state.adaptation(header.vpi, header.vci);
        reading.follow(&[Key::Named(layer)], at, PAYLOAD_LEN);
    }
}
