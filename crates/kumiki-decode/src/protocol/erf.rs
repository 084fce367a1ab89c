//! Records of DAG cards: the ERF header, and the forms in which records hold cells, PDUs and frames.
//!
//! | | |
//! |---|---|
//! | Specification | Endace's ERF: time stamp 8 (little-endian, 32 bits of fraction), type 1, flags 1, rlen 2, lctr or colour 2, wlen 2; read as tshark reads it |
//! | Types | 1 and 10 HDLC, 2 and 11 Ethernet, 3 cells, 4 AAL5, 22 and 23 IP; 5, 7 and 9 (HDLC, cells and AAL5 on a channelised line) behind their four octets |
//! | Left out | other types; the contents of extension headers and of the channel's four octets |

use kumiki_octets::text::counted;
use kumiki_wire::Malformed;
use kumiki_wire::atm::cell::{Header, Interface, hec};

use crate::key::{Circuit, Key};
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const LINK: Dissector =
    Dissector { name: "erf", title: "ERF records of DAG cards", claims: &[Key::LinkType(197)], dissect: record };

pub(super) const CELL: Dissector = Dissector {
    name: "erf-cell",
    title: "ERF cells: four octets of header, 48 of payload",
    claims: &[Key::ErfType(3)],
    dissect: cell,
};

pub(super) const PDU: Dissector = Dissector {
    name: "erf-aal5",
    title: "ERF AAL5: four octets of cell header, a PDU with trailer",
    claims: &[Key::ErfType(4)],
    dissect: pdu,
};

pub(super) const HDLC: Dissector = Dissector {
    name: "erf-hdlc",
    title: "ERF HDLC frames with FCS",
    claims: &[Key::ErfType(1), Key::ErfType(10)],
    dissect: hdlc,
};

pub(super) const ETHERNET: Dissector = Dissector {
    name: "erf-ethernet",
    title: "ERF Ethernet: two octets, a frame with FCS",
    claims: &[Key::ErfType(2), Key::ErfType(11)],
    dissect: ethernet,
};

/// Octets of the fixed header.
const LEN: usize = 16;
/// Octets of an extension header.
const EXTENSION: usize = 8;
/// Extension headers that are looked at. Cards write one or two.
const MOST_EXTENSIONS: usize = 32;
/// Octets of a cell header without HEC.
const CELL_HEADER: usize = 4;

fn type_name(kind: u8) -> &'static str {
    match kind {
        1 => "HDLC",
        2 => "Ethernet",
        3 => "ATM cell",
        4 => "AAL5",
        5 => "HDLC, channelised",
        7 => "ATM cell, channelised",
        9 => "AAL5, channelised",
        10 => "HDLC, coloured",
        11 => "Ethernet, coloured",
        22 => "IPv4",
        23 => "IPv6",
        48 => "padding",
        _ => "",
    }
}

fn record(reading: &mut Reading<'_>) {
    let Some(&[_, _, _, _, _, _, _, _, kind, flags, r0, r1, l0, l1, w0, w1]) = reading.octets().first_chunk::<LEN>()
    else {
        return reading.malformed(&Malformed::Short { protocol: "ERF", need: LEN, have: reading.octets().len() });
    };
    let two = |high, low| u16::from_be_bytes([high, low]);
    let (rlen, lost, wlen) = (two(r0, r1), two(l0, l1), two(w0, w1));
    let number = kind & 0x7f;
    reading.summary(format!("ERF type {number} {}", type_name(number)));
    reading.field("time stamp", 0, 8, reading.part(0, 8));
    reading.named("type", 8, 1, number, type_name(number));
    reading.field("flags", 9, 1, Value::Hex(flags.into(), 2));
    reading.field("rlen", 10, 2, rlen);
    let coloured = matches!(number, 10 | 11);
    let name = if coloured { "colour" } else { "lctr" };
    reading.field(name, 12, 2, lost);
    reading.field("wlen", 14, 2, wlen);
    if lost > 0 && !coloured {
        reading.bad(format!("{lost} records were lost before this one"));
    }
    if flags & 0x10 != 0 {
        reading.bad("the card says that it was received with an error");
    }
    if flags & 0x20 != 0 {
        reading.bad("the card says that its own processing went wrong");
    }
    let mut at = LEN;
    let mut more = kind & 0x80 != 0;
    while more {
        let Some((first, _)) = reading.part(at, EXTENSION).split_first() else {
            reading.header_len(at);
            return reading.bad("the last extension header says that one more follows");
        };
        if at >= LEN + MOST_EXTENSIONS * EXTENSION {
            reading.header_len(at);
            reading.bad(format!("more than {MOST_EXTENSIONS} extension headers"));
            return reading.rest(at, usize::MAX, "extension headers");
        }
        more = first & 0x80 != 0;
        if !is_there(reading, at, EXTENSION) {
            return;
        }
        reading.field("extension header", at, EXTENSION, reading.part(at, EXTENSION));
        at += EXTENSION;
    }
    // What stands between the header and what the line carried, and the type without it.
    let (before, number) = match number {
        5 => (4, 1),
        7 => (4, 3),
        9 => (4, 4),
        other => (0, other),
    };
    if !is_there(reading, at, before) {
        return;
    }
    if before > 0 {
        reading.field("channel", at, before, reading.part(at, before));
        at += before;
    }
    reading.header_len(at);
    // The card's ports are interfaces of their own.
    reading.around.interface = reading.around.interface.saturating_mul(4).saturating_add(u32::from(flags & 3));
    // wlen counts what was on the line; Ethernet records have two octets more.
    let before = if matches!(number, 2 | 11) { 2 } else { 0 };
    let len = usize::from(wlen) + before;
    let have = usize::from(rlen).saturating_sub(at);
    if len < have.saturating_sub(7) && number != 3 {
        reading.note(format!("{} behind what wlen counts", counted(have - len, "octet")));
    }
    match number {
        22 | 23 => reading.follow_beyond(&[Key::Named("ip")], at, len),
        // The length of a cell is no question, and cards differ in what they count.
        3 => reading.follow_beyond(&[Key::ErfType(3)], at, CELL_HEADER + 48),
        other => reading.follow_beyond(&[Key::ErfType(other)], at, len),
    }
}

/// Whether the next `len` octets of the header were recorded; says so where not.
fn is_there(reading: &mut Reading<'_>, at: usize, len: usize) -> bool {
    let have = reading.part(at, len).len();
    if have < len {
        reading.header_len(at);
        let (protocol, need, have) = ("ERF", at + len, at + have);
        reading.malformed_at(at, &Malformed::Short { protocol, need, have });
    }
    have == len
}

/// Reads the four octets of a cell header; the HEC that they lack is put in for the codec.
fn cell_header(reading: &mut Reading<'_>) -> Option<Header> {
    let Some(&[o1, o2, o3, o4]) = reading.octets().first_chunk::<CELL_HEADER>() else {
        reading.malformed(&Malformed::Short { protocol: "ATM", need: CELL_HEADER, have: reading.octets().len() });
        return None;
    };
    let octets = [o1, o2, o3, o4, hec([o1, o2, o3, o4])];
    let header = match Header::parse(Interface::Uni, &octets) {
        Ok((header, _)) => header,
        Err(why) => {
            reading.malformed(&why);
            return None;
        }
    };
    reading.header_len(CELL_HEADER);
    reading.summary(header);
    let [e1, e2, e3, e4, _] = header.octets(Interface::Uni);
    reading.emitted(|out| out.copy_from_slice(&[e1, e2, e3, e4]), CELL_HEADER);
    crate::protocol::atm::cell::fields(reading, &header);
    Some(header)
}

fn cell(reading: &mut Reading<'_>) {
    if let Some(header) = cell_header(reading) {
        crate::protocol::atm::cell::payload(reading, &header, CELL_HEADER);
    }
}

fn pdu(reading: &mut Reading<'_>) {
    if let Some(header) = cell_header(reading) {
        reading.around.circuit =
            Some(Circuit { interface: reading.around.interface, vpi: header.vpi, vci: header.vci });
        let inside = reading.total().saturating_sub(CELL_HEADER);
        reading.follow(&[Key::Named("aal5")], CELL_HEADER, inside);
    }
}

fn hdlc(reading: &mut Reading<'_>) {
    let octets = reading.octets();
    let total = reading.total();
    // Nothing in a record says which of the two a line has, so the octets are asked.
    let fcs_len = if octets.len() < total { 0 } else { crate::protocol::fcs::right_len(octets).unwrap_or(0) };
    let inside = total.saturating_sub(fcs_len);
    reading.around.fcs_len = 0;
    reading.summary("HDLC");
    if fcs_len > 0 {
        reading.named("fcs", inside, fcs_len, reading.part(inside, fcs_len), "right");
    } else if octets.len() == total {
        reading.bad("neither the last two nor the last four octets are a right FCS");
    }
    match octets {
        [0x0f | 0x8f, 0, ..] => reading.follow(&[Key::Named("cisco-hdlc")], 0, inside),
        _ => reading.follow(&[Key::Named("ppp")], 0, inside),
    }
}

fn ethernet(reading: &mut Reading<'_>) {
    if !is_there(reading, 0, 2) {
        return;
    }
    reading.header_len(2);
    reading.summary("ERF Ethernet");
    reading.field("offset and pad", 0, 2, reading.part(0, 2));
    reading.around.fcs_len = 4;
    let inside = reading.total().saturating_sub(2);
    reading.follow(&[Key::Named("ethernet")], 2, inside);
}
