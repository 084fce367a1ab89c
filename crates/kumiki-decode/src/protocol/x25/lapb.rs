//! LAPB frames, and Linux's LAPB over Ethernet.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::x25::lapb`] |
//! | Found | link types 207 (behind an octet that tells the direction) and 196 (behind a header of SITA's that names LAPB), EtherType 6000 behind its length |
//! | Left out | a link modulo 128 whose set-up is not in the capture: only SABME tells, and without it frames are read modulo 8 |

use kumiki_wire::x25::lapb::{Control, Header, Modulo, Reject, Supervisory, address, ether, function};

use crate::key::{Key, Side};
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "lapb", title: "LAPB frames", claims: &[], dissect };

pub(in crate::protocol) const DIRECTED: Dissector = Dissector {
    name: "lapb-direction",
    title: "LAPB frames behind their direction",
    claims: &[Key::LinkType(207)],
    dissect: directed,
};

pub(in crate::protocol) const SITA: Dissector = Dissector {
    name: "lapb-sita",
    title: "LAPB frames behind a header of SITA's recorders",
    claims: &[Key::LinkType(196)],
    dissect: behind_sita,
};

pub(in crate::protocol) const ETHER: Dissector = Dissector {
    name: "lapb-ether",
    title: "LAPB over Ethernet, as Linux has it",
    claims: &[Key::EtherType(ether::ETHERTYPE)],
    dissect: over_ethernet,
};

fn directed(reading: &mut Reading<'_>) {
    let Some(&direction) = reading.octets().first() else {
        return;
    };
    let meaning = if direction == 0 { "from the DTE" } else { "from the DCE" };
    reading.header_len(1);
    reading.summary(format!("LAPB {meaning}"));
    reading.named("direction", 0, 1, Value::Hex(direction.into(), 2), meaning);
    let inside = reading.total().saturating_sub(1);
    reading.follow(&[Key::Named(DISSECTOR.name)], 1, inside);
}

/// Flags, two octets about the line, one of errors, protocol.
fn behind_sita(reading: &mut Reading<'_>) {
    const LAPB: u8 = 1;
    let &[flags, signals, errors_1, errors_2, protocol, ..] = reading.octets() else {
        return;
    };
    let meaning = if flags & 1 == 0 { "sent" } else { "received" };
    reading.header_len(5);
    reading.summary(format!("SITA, {meaning}"));
    reading.named("flags", 0, 1, Value::Hex(flags.into(), 2), meaning);
    for (name, at, octet) in [("signals", 1, signals), ("errors 1", 2, errors_1), ("errors 2", 3, errors_2)] {
        reading.field(name, at, 1, Value::Hex(octet.into(), 2));
    }
    if protocol == LAPB {
        reading.named("protocol", 4, 1, Value::Hex(protocol.into(), 2), "LAPB");
        let inside = reading.total().saturating_sub(5);
        reading.follow(&[Key::Named(DISSECTOR.name)], 5, inside);
    } else {
        reading.field("protocol", 4, 1, Value::Hex(protocol.into(), 2));
    }
}

fn over_ethernet(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, ether::Header::parse(reading.octets(), reading.total()));
    reading.field("length", 0, 2, header.length);
    let inside = usize::from(header.length);
    reading.follow(&[Key::Named(DISSECTOR.name)], len, inside);
    reading.padding(len + inside);
}

fn dissect(reading: &mut Reading<'_>) {
    // Unnumbered frames are the same in both.
    let modulo = match reading.octets().get(1).map(|octet| octet & !0x10) {
        Some(function::SABM) => Some(Modulo::Eight),
        Some(function::SABME) => Some(Modulo::Extended),
        Some(_) | None => None,
    };
    let interface = reading.around.interface;
    if let Some(modulo) = modulo {
        reading.state.links.set_up(interface, modulo);
    }
    let modulo = reading.state.links.modulo(interface);
    let (header, len) = header!(reading, Header::parse(reading.octets(), modulo));
    let name = match header.address {
        address::A => "DTE",
        address::B => "DCE",
        address::C => "DTE, multilink",
        address::D => "DCE, multilink",
        _ => "",
    };
    reading.named("address", 0, 1, Value::Hex(header.address.into(), 2), name);
    if name.is_empty() {
        reading.bad("an address other than the four of X.25");
    }
    let control = len - 1;
    let value = match *reading.part(1, control) {
        [first, second] => Value::Hex(u16::from_be_bytes([first, second]).into(), 4),
        [first, ..] => Value::Hex(first.into(), 2),
        [] => Value::Hex(0, 2),
    };
    reading.named("control", 1, control, value, header.control);
    // Modulo 128 each number has an octet of its own, and P or F is with N(R).
    let inside = reading.total().saturating_sub(len);
    match header.control {
        Control::Information { ns, nr, poll } => {
            reading.stays();
            reading.field("n(s)", 1, 1, ns);
            reading.field("n(r)", control, 1, nr);
            reading.field("poll", control, 1, poll);
            turn(reading, header.address, ns);
            reading.follow(&[Key::Named("x25")], len, inside);
        }
        Control::Supervisory { kind, reserved, nr, poll } => {
            reading.field("n(r)", control, 1, nr);
            reading.field("poll/final", control, 1, poll);
            if kind == Supervisory::Reserved || reserved != 0 {
                reading.bad("a supervisory frame of no kind");
            }
            if inside > 0 {
                reading.bad("information in a supervisory frame");
                reading.rest(len, inside, "octets that may not be there");
            }
        }
        Control::Unnumbered { function, poll } => {
            reading.field("poll/final", 1, 1, poll);
            match function {
                function::FRMR => reject(reading, len, modulo),
                function::SABM | function::SABME | function::DISC | function::UA | function::DM => {
                    reading.rest(len, inside, "information that may not be there");
                }
                function::XID => reading.rest(len, inside, "identification"),
                _ => {
                    reading.bad("no function of LAPB");
                    reading.rest(len, inside, "no decoder for this function");
                }
            }
        }
    }
}

/// An I frame is a command, so that its address says who sent it; and whether it is in turn, its number.
fn turn(reading: &mut Reading<'_>, to: u8, ns: u8) {
    let from = match to {
        address::A | address::C => Side::Dce,
        address::B | address::D => Side::Dte,
        _ => return,
    };
    let (interface, quoted) = (reading.around.interface, reading.around.quoted);
    reading.around.from = Some(from);
    if !quoted && !reading.state.links.in_turn(interface, from, ns) {
        reading.around.out_of_turn = true;
        reading.note("out of sequence: retransmitted, or a frame before it is missing");
    }
}

fn reject(reading: &mut Reading<'_>, at: usize, modulo: Modulo) {
    let octets = reading.part(at, usize::MAX);
    match Reject::parse(octets, modulo) {
        Ok(found) => {
            let [first, second] = found.control;
            let (len, refused, vs, vr) = match modulo {
                Modulo::Eight => (1, Value::Hex(first.into(), 2), at + 1, at + 1),
                Modulo::Extended => {
                    let both = u16::from_be_bytes([first, second]);
                    (2, Value::Hex(both.into(), 4), at + 2, at + 3)
                }
            };
            match found.refused(modulo) {
                Some(control) => reading.named("rejected", at, len, refused, control),
                None => reading.field("rejected", at, len, refused),
            }
            reading.field("v(s)", vs, 1, found.vs);
            reading.field("v(r)", vr, 1, found.vr);
            reading.field("response", vr, 1, found.response);
            reading.note(found);
        }
        Err(why) => reading.malformed_at(at, &why),
    }
}
