//! AAL3/4: cells on their way into a PDU, and whole PDUs with what stands around the SDU.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::atm::aal34`] |
//! | Found | by name only: nothing in a cell says which adaptation its channel has (`--channel 0/100=aal34-cell`) |
//! | SDU | as AAL5's |
//! | Left out | the CPIs other than 0; SMDS |

use kumiki_wire::Malformed;
use kumiki_wire::atm::aal34::cpcs::{HEADER_LEN, Header, TRAILER_LEN, Trailer};
use kumiki_wire::atm::aal34::{pad_len, sar};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use crate::key::Key;
use crate::packet::{Reassembled, Value};
use crate::reading::Reading;
use crate::reassembly::aal34::Aal34Progress;
use crate::registry::Dissector;

pub(in crate::protocol) const CELL: Dissector = Dissector {
    name: "aal34-cell",
    title: "payloads of cells that are segments of AAL3/4 PDUs",
    claims: &[],
    dissect: cell,
};

pub(in crate::protocol) const PDU: Dissector =
    Dissector { name: "aal34", title: "AAL3/4 PDUs with header, padding and trailer", claims: &[], dissect: pdu };

fn cell(reading: &mut Reading<'_>) {
    let Some(payload) = reading.octets().first_chunk::<PAYLOAD_LEN>() else {
        return reading.malformed(&Malformed::Short {
            protocol: "AAL3/4",
            need: PAYLOAD_LEN,
            have: reading.octets().len(),
        });
    };
    let (Ok((header, _)), Ok(trailer)) = (sar::Header::parse(payload), sar::Trailer::parse(payload)) else {
        return;
    };
    reading.header_len(sar::HEADER_LEN);
    reading.summary(format!("{header} LI {}", trailer.li));
    reading.emitted_at(0, |out| header.emit(out), sar::HEADER_LEN);
    let back = PAYLOAD_LEN - sar::TRAILER_LEN;
    reading.emitted_at(back, |out| trailer.emit(out), sar::TRAILER_LEN);
    let sar::Header { segment_type, sn, mid } = header;
    reading.named("st", 0, 1, segment_type.bits(), segment_type);
    reading.field("sn", 0, 1, sn);
    reading.field("mid", 0, 2, mid);
    reading.field("li", back, 1, trailer.li);
    let crc = sar::crc(payload);
    let meaning = if crc == trailer.crc { "right" } else { "wrong" };
    let value = Value::Hex(trailer.crc.into(), 3);
    reading.named("crc-10", back, 2, value, meaning);
    let len = match trailer.check(segment_type, crc) {
        Ok(len) => len,
        Err(fault) => {
            let text = fault.to_string();
            let text = text.trim_start_matches("AAL3/4: ");
            if let sar::SarError::Abort = fault {
                reading.note(text);
            } else {
                reading.bad(text);
            }
            // With a wrong sum not even the MID can be trusted.
            if !matches!(fault, sar::SarError::Crc { .. }) {
                let circuit = reading.around.circuit.unwrap_or_default();
                reading.state.aal34.give_up(circuit, mid);
            }
            return reading.rest(sar::HEADER_LEN, sar::PAYLOAD_LEN, "a segment thrown away");
        }
    };
    let octets = reading.part(sar::HEADER_LEN, len);
    if reading.part(sar::HEADER_LEN + len, sar::PAYLOAD_LEN - len).iter().any(|octet| *octet != 0) {
        reading.note("the octets behind the last ones of the PDU are not all zero");
    }
    let (circuit, packet) = (reading.around.circuit.unwrap_or_default(), reading.around.packet);
    let came = reading.state.aal34.add(circuit, &header, octets, packet);
    if let Some(circuit) = came.given_up {
        reading.note(format!("the unfinished PDU on {circuit} was given up: too many at once"));
    }
    if let Some(wrong) = came.wrong {
        reading.bad(wrong);
    }
    if let Aal34Progress::Whole { octets, cells, packets } = came.outcome {
        let len = octets.len();
        let whole = Reassembled { what: "AAL3/4 PDU", packets, parts: cells, octets };
        reading.follow_reassembled(&[Key::Named("aal34")], whole, 0, len);
    }
}

fn pdu(reading: &mut Reading<'_>) {
    let total = reading.total();
    let (header, len) = match Header::parse(reading.octets()) {
        Ok(found) => found,
        Err(why) => return reading.malformed(&why),
    };
    reading.header_len(len);
    reading.summary(header);
    reading.emitted_at(0, |out| header.emit(out), len);
    reading.fields(0, header.fields());
    if reading.octets().len() < total {
        reading.note("not all octets were recorded: no trailer to look at");
        return reading.follow(&[Key::Named("aal5-sdu")], len, total - len);
    }
    let behind = total - len;
    let Some(at) = behind.checked_sub(TRAILER_LEN).map(|before| before + len) else {
        return reading
            .malformed_at(len, &Malformed::Short { protocol: "AAL3/4", need: HEADER_LEN + TRAILER_LEN, have: total });
    };
    let trailer = match Trailer::parse(reading.octets()) {
        Ok(trailer) => trailer,
        Err(why) => return reading.malformed(&why),
    };
    reading.emitted_at(at, |out| trailer.emit(out), TRAILER_LEN);
    let sdu_len = usize::from(trailer.length);
    let pad = pad_len(sdu_len);
    let fits = HEADER_LEN + sdu_len + pad == at;
    if fits && pad > 0 {
        reading.field("pad", len + sdu_len, pad, reading.part(len + sdu_len, pad));
    }
    reading.fields(at, trailer.fields());
    if let Err(fault) = trailer.check(&header, total) {
        reading.bad(fault.to_string().trim_start_matches("AAL3/4: "));
    }
    if fits {
        reading.follow(&[Key::Named("aal5-sdu")], len, sdu_len);
    } else {
        reading.rest(len, at - len, "a damaged AAL3/4 PDU");
    }
}
