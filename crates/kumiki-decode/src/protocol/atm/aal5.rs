//! AAL5: cells on their way into a PDU, whole PDUs with their trailer, and what the SDU carries.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::atm::aal5`] |
//! | Found | user cells of every virtual channel that is not said to be another's; ERF type 4 |
//! | SDU | LLC by its first three octets, otherwise IP without LLC (RFC 2684 section 6) by the version: a guess, since only those who opened the channel know |
//! | Left out | signalling (SSCOP) on VCI 5, ILMI, LAN emulation: shown as data |

use kumiki_octets::crc::Aal5Crc;
use kumiki_octets::text::{are, counted};
use kumiki_wire::atm::aal5::{Aal5Error, CRC_OFFSET, LEN, Trailer, cells, pdu_len};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use crate::key::Key;
use crate::packet::Reassembled;
use crate::reading::Reading;
use crate::reassembly::aal5::{Aal5Progress, MOST_CELLS};
use crate::registry::Dissector;

pub(in crate::protocol) const CELL: Dissector =
    Dissector { name: "aal5-cell", title: "payloads of cells that make up AAL5 PDUs", claims: &[], dissect: cell };

pub(in crate::protocol) const PDU: Dissector =
    Dissector { name: "aal5", title: "AAL5 PDUs with padding and trailer", claims: &[], dissect: pdu };

pub(in crate::protocol) const SDU: Dissector = Dissector {
    name: "aal5-sdu",
    title: "what AAL5 and AAL3/4 carry: LLC, or IP without it",
    claims: &[],
    dissect: sdu,
};

fn cell(reading: &mut Reading<'_>) {
    let payload = reading.part(0, PAYLOAD_LEN);
    reading.header_len(payload.len());
    if payload.len() < PAYLOAD_LEN {
        reading.note("the cell is not all there; zeros stand for what is missing");
    }
    let mut whole = [0; PAYLOAD_LEN];
    if let Some(place) = whole.get_mut(..payload.len()) {
        place.copy_from_slice(payload);
    }
    let (circuit, packet) = (reading.around.circuit.unwrap_or_default(), reading.around.packet);
    let ends = reading.around.ends_pdu;
    let (outcome, given_up) = reading.state.aal5.add(circuit, &whole, ends, packet);
    if let Some(circuit) = given_up {
        reading.note(format!("the unfinished PDU on {circuit} was given up: too many channels at once"));
    }
    match outcome {
        Aal5Progress::Waiting { cells } => reading.summary(format!("AAL5 cell {cells} on {circuit}")),
        Aal5Progress::TooLong { cells } => {
            reading.summary(format!("AAL5 cell {cells} on {circuit}"));
            if ends || cells == MOST_CELLS + 1 {
                reading.bad(format!(
                    "{cells} and no end before: a PDU has at most {MOST_CELLS}, so the end of one was lost",
                    cells = counted(cells, "cell")
                ));
            }
        }
        Aal5Progress::Whole { octets, cells, packets } => {
            reading.summary(format!("AAL5 cell {cells} on {circuit}, the last"));
            let len = octets.len();
            let whole = Reassembled { what: "AAL5 PDU", packets, parts: cells, octets };
            reading.follow_reassembled(&[Key::Named("aal5")], whole, 0, len);
        }
    }
}

fn pdu(reading: &mut Reading<'_>) {
    let total = reading.total();
    let octets = reading.octets();
    if octets.len() < total {
        reading.summary("AAL5");
        reading.note("not all octets were recorded: no trailer to look at");
        return reading.follow(&[Key::Named("aal5-sdu")], 0, total);
    }
    let trailer = match Trailer::parse(octets) {
        Ok(trailer) => trailer,
        Err(why) => return reading.malformed(&why),
    };
    let at = total - LEN;
    reading.header_len(LEN);
    reading.summary(trailer);
    reading.emitted_at(at, |out| trailer.emit(out), LEN);
    let mut crc = Aal5Crc::new();
    crc.update(reading.part(0, at + CRC_OFFSET));
    let crc = crc.finish();
    let sdu_len = usize::from(trailer.length);
    let came = total / PAYLOAD_LEN;
    let plausible = sdu_len > 0 && pdu_len(sdu_len) == total;
    if plausible {
        reading.field("pad", sdu_len, at - sdu_len, reading.part(sdu_len, at - sdu_len));
    }
    reading.fields(at, trailer.fields());
    reading.meaning("crc-32", if trailer.crc == crc { "right" } else { "wrong" });
    if !total.is_multiple_of(PAYLOAD_LEN) {
        reading.bad(format!(
            "{octets} {are} not a multiple of {PAYLOAD_LEN}",
            are = are(total),
            octets = counted(total, "octet")
        ));
    }
    if let Err(fault) = trailer.check(total, crc) {
        // What is lost says more than the sum that it spoils, so it comes first.
        let (wanted, length) = (cells(sdu_len), trailer.length);
        let is_damaged = matches!(fault, Aal5Error::Crc { .. }) && length > 0;
        if is_damaged && wanted > came {
            let lost = wanted - came;
            reading.bad(format!(
                "Length {length} takes {cells} and {came} came: {lost} lost",
                cells = counted(wanted, "cell")
            ));
        } else if is_damaged && wanted < came {
            let more = came - wanted;
            reading.bad(format!(
                "Length {length} takes {cells} and {came} came: the last cell of an earlier PDU was lost, of which {more} are here", cells = counted(wanted, "cell")));
        }
        reading.bad(fault.to_string().trim_start_matches("AAL5: "));
    }
    if plausible {
        reading.follow(&[Key::Named("aal5-sdu")], 0, sdu_len);
    } else {
        reading.rest(0, at, "a damaged AAL5 PDU");
    }
}

fn sdu(reading: &mut Reading<'_>) {
    match reading.octets() {
        [0xaa, 0xaa, 0x03, ..] | [0xfe, 0xfe, 0x03, ..] => {
            reading.reread_as(Key::Named("llc-snap"));
        }
        [first, ..] if matches!(first >> 4, 4 | 6) => reading.reread_as(Key::Named("ip")),
        _ => {
            reading.summary("SDU of an AAL");
            reading.rest(0, reading.total(), "begins with neither LLC nor an IP version");
        }
    }
}
