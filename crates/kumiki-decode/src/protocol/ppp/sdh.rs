//! Frames of SONET and SDH with one concatenated envelope: STS-3c or STM-1 and its multiples, from A1 on.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::sdh`] |
//! | Found | link type 160, which is for private use and which Kumiki uses for these frames; as they are before they are scrambled, or scrambled |
//! | Left out | what is in the payload; B3, which covers parts of two frames; path overhead in a frame in which the pointer moves |

use kumiki_octets::bip::{Bip8, Interleaved};
use kumiki_octets::scramble;
use kumiki_octets::text::{are, counted};
use kumiki_wire::Malformed;
use kumiki_wire::ppp::sdh::{
    A1, A2, CONCATENATION, G1_RDI, OverheadPosition, PATH, POINTERS, Pointer, ROWS, g1_rei, k2, label, most_m1,
    n_of_frame, place,
};

use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::reassembly::lines::PreviousFrame;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
    name: "sdh",
    title: "SONET/SDH frames of STS-3c (STM-1) to STS-192c, the payload not looked into",
    claims: &[Key::LinkType(160)],
    dissect,
};

/// Octets of overhead that stand alone, in the order of the wire.
const SINGLE: [(&str, OverheadPosition); 22] = [
    ("J0", place::J0),
    ("B1", place::B1),
    ("E1", place::E1),
    ("F1", place::F1),
    ("D1", place::D1),
    ("D2", in_group(place::D1, 0, 1)),
    ("D3", in_group(place::D1, 0, 2)),
    ("K1", place::K1),
    ("K2", place::K2),
    ("D4", place::D4),
    ("D5", in_group(place::D4, 0, 1)),
    ("D6", in_group(place::D4, 0, 2)),
    ("D7", in_group(place::D4, 1, 0)),
    ("D8", in_group(place::D4, 1, 1)),
    ("D9", in_group(place::D4, 1, 2)),
    ("D10", in_group(place::D4, 2, 0)),
    ("D11", in_group(place::D4, 2, 1)),
    ("D12", in_group(place::D4, 2, 2)),
    ("S1", place::S1),
    ("M1", place::M1),
    ("E2", place::E2),
    ("H3", place::H3),
];

const fn in_group(first: OverheadPosition, rows: usize, group: usize) -> OverheadPosition {
    OverheadPosition { row: first.row + rows, group, column: 0 }
}

/// A frame as it is before it is scrambled.
struct Frame {
    n: usize,
    octets: Vec<u8>,
}

impl Frame {
    fn octet(&self, place: OverheadPosition) -> u8 {
        self.at(place.in_frame(self.n))
    }

    fn at(&self, at: usize) -> u8 {
        self.octets.get(at).copied().unwrap_or_default()
    }

    fn part(&self, place: OverheadPosition, len: usize) -> &[u8] {
        let at = place.in_frame(self.n);
        self.octets.get(at..at + len).unwrap_or_default()
    }

    /// Adds the scrambler's sequence, which takes it away where it has been added.
    fn scramble(&mut self) {
        if let Some(octets) = self.octets.get_mut(3 * self.n..) {
            scramble::frame(0, octets);
        }
    }

    /// Whether the second pair of H1 and H2 is what it must be.
    fn makes_sense(&self) -> bool {
        let second = |place| self.part(place, 2).last().copied().unwrap_or_default();
        is_concatenation([second(place::H1), second(place::H2)])
            || [second(place::H1), second(place::H2)] == Pointer::AIS
    }

    /// The parities that the next frame has in B1 and B2.
    fn parities(&mut self) -> (u8, Vec<u8>) {
        let (n, row_len) = (self.n, 90 * self.n);
        let mut b2 = Interleaved::new(n);
        for (number, row) in self.octets.chunks(row_len).enumerate() {
            let section = if number < place::H1.row { 3 * n } else { 0 };
            if let Some(b2) = &mut b2 {
                b2.update(row.get(section..).unwrap_or_default());
            }
        }
        self.scramble();
        let mut b1 = Bip8::new();
        b1.update(&self.octets);
        self.scramble();
        let b2 = b2.map(|b2| b2.values().collect());
        (b1.value(), b2.unwrap_or_default())
    }

    /// Where an octet of path overhead is in a frame whose pointer has long been this.
    fn path(&self, pointer: u16, row: usize) -> usize {
        let (n, envelope) = (self.n, 87 * self.n);
        let octet = (3 * envelope + usize::from(pointer) * n + row * envelope) % (ROWS * envelope);
        octet / envelope * 90 * n + 3 * n + octet % envelope
    }
}

/// Whatever the SS bits are.
const fn is_concatenation([h1, h2]: [u8; 2]) -> bool {
    let [c1, c2] = CONCATENATION;
    h1 & 0xf3 == c1 && h2 == c2
}

fn dissect(reading: &mut Reading<'_>) {
    let octets = reading.octets();
    let Some(n) = n_of_frame(reading.total()).filter(|_| octets.len() == reading.total()) else {
        return reading.malformed(&Malformed::Length {
            protocol: "SDH",
            field: "frame (2430, 9720, 38880 or 155520)",
            found: octets.len(),
            least: 2_430,
            most: 155_520,
        });
    };
    let mut frame = Frame { n, octets: octets.to_vec() };
    let mut scrambled = false;
    if !frame.makes_sense() {
        frame.scramble();
        scrambled = frame.makes_sense();
        if !scrambled {
            frame.scramble();
        }
    }
    if scrambled {
        reading.note("captured scrambled; the fields are shown as they are before");
    }
    reading.header_len(octets.len());
    alignment(reading, &frame);
    let (b1, b2) = frame.parities();
    let pointer = pointer(reading, &frame);
    let last = PreviousFrame { packet: reading.around.packet, b1, b2, pointer: pointer.after };
    let before = reading.state.lines.put(reading.around.interface, last);
    let before = before.filter(|before| before.b2.len() == n);
    overhead(reading, &frame, before.as_ref());
    let mut summary = format!("STS-{n}c (STM-{}) frame, {}", n / 3, pointer.text);
    let moved = before.and_then(|before| before.pointer).is_some_and(|before| Some(before) != pointer.present);
    if let Some(value) = pointer.present.filter(|_| !pointer.moves && !moved) {
        path(reading, &frame, value, &mut summary);
    }
    if frame.octet(place::K2) & k2::MASK == k2::AIS {
        summary.push_str(", AIS-L");
    }
    reading.summary(summary);
    reading.layer.fields.sort_by_key(|field| field.offset);
}

fn alignment(reading: &mut Reading<'_>, frame: &Frame) {
    let n = frame.n;
    for (name, place, right) in [("A1", place::A1, A1), ("A2", place::A2, A2)] {
        let found = frame.part(place, n);
        reading.field(name, place.in_frame(n), n, found);
        let wrong = found.iter().filter(|octet| **octet != right).count();
        if wrong > 0 {
            reading.bad(format!("{wrong} of {n} {name} are not {right:#04x}"));
        }
    }
}

/// What H1 and H2 say.
struct PointerReading {
    /// Where the envelope begins, if they say that.
    present: Option<u16>,
    /// Where it begins in the next frame.
    after: Option<u16>,
    /// Whether it moves in this frame, or starts somewhere else.
    moves: bool,
    text: String,
}

fn pointer(reading: &mut Reading<'_>, frame: &Frame) -> PointerReading {
    let n = frame.n;
    let octets = [frame.octet(place::H1), frame.octet(place::H2)];
    let word = u16::from_be_bytes(octets);
    let pointer = Pointer::parse(octets);
    let mut found = PointerReading { present: None, after: None, moves: false, text: pointer.to_string() };
    if octets == Pointer::AIS {
        "AIS-P".clone_into(&mut found.text);
        reading.note("H1 and H2 are all ones: path alarm indication (AIS-P)");
    } else if pointer.new_data.is_none() {
        reading.bad(format!(
            "the new data flag is {:#03x}, 0x6 (no) and 0x9 (yes) are known",
            octets.map(|octet| octet >> 4)[0]
        ));
    } else if pointer.value >= POINTERS {
        // A pointer with inverted bits may be above all that there are.
        let moved = previous(reading).and_then(|before| moved(pointer, before));
        match moved {
            Some((after, text)) => {
                found.after = Some(after);
                found.moves = true;
                found.text = text;
            }
            None => reading.bad(format!("pointer is {}, at most {} is right", pointer.value, POINTERS - 1)),
        }
    } else {
        found.present = Some(pointer.value);
        found.after = Some(pointer.value);
        found.moves = pointer.new_data == Some(true);
        let before = previous(reading).filter(|before| *before != pointer.value);
        if let (Some(false), Some(before)) = (pointer.new_data, before)
            && let Some((after, text)) = moved(pointer, before)
        {
            found.present = None;
            found.after = Some(after);
            found.moves = true;
            found.text = text;
        }
    }
    let at = place::H1.in_frame(n);
    let meaning = &found.text;
    reading.named("H1, H2", at, n + 1, Value::Hex(word.into(), 4), meaning);
    let pairs = frame.part(place::H1, n).iter().zip(frame.part(place::H2, n));
    let ais = octets == Pointer::AIS;
    let wrong = pairs
        .skip(1)
        .filter(|(h1, h2)| {
            let pair = [**h1, **h2];
            !(is_concatenation(pair) || ais && pair == Pointer::AIS)
        })
        .count();
    if wrong > 0 {
        reading.bad(format!(
            "{wrong} of {} further pairs of H1 and H2 do not say that the envelope is concatenated (0x93ff or 0x9bff)",
            n - 1
        ));
    }
    found
}

/// The pointer of the frame before.
fn previous(reading: &Reading<'_>) -> Option<u16> {
    reading.state.lines.get(reading.around.interface)?.pointer
}

/// Where the envelope is after it has moved, and how that is said.
fn moved(pointer: Pointer, before: u16) -> Option<(u16, String)> {
    use kumiki_wire::ppp::sdh::Justification::{Negative, Positive};
    let (after, how) = match pointer.justification(before)? {
        Positive => ((before + 1) % POINTERS, "positive"),
        Negative => ((before + POINTERS - 1) % POINTERS, "negative"),
    };
    Some((after, format!("{how} justification from {before}")))
}

fn overhead(reading: &mut Reading<'_>, frame: &Frame, before: Option<&PreviousFrame>) {
    let n = frame.n;
    for (name, place) in SINGLE {
        let octet = frame.octet(place);
        let (at, value) = (place.in_frame(n), Value::Hex(octet.into(), 2));
        let meaning = match name {
            "K2" => match octet & k2::MASK {
                k2::AIS => "AIS-L",
                k2::RDI => "RDI-L",
                _ => "",
            }
            .to_owned(),
            "M1" if octet <= most_m1(n) => format!("{octet} errors at the far end (REI-L)"),
            "S1" if octet & 0x0f == 0 => "synchronisation not known".to_owned(),
            "S1" if octet & 0x0f == 0x0f => "not to be used for synchronisation".to_owned(),
            "B1" => match before {
                Some(before) if before.b1 == octet => "right".to_owned(),
                Some(before) => format!("wrong, {:#04x} would be right", before.b1),
                None => "not checked: no frame before".to_owned(),
            },
            _ => String::new(),
        };
        if name == "H3" {
            reading.field(name, at, n, frame.part(place, n));
        } else {
            reading.named(name, at, 1, value, meaning);
        }
    }
    let found = frame.part(place::B2, n);
    let wrong = before.map(|before| {
        let pairs = found.iter().zip(&before.b2);
        pairs.map(|(found, right)| (found ^ right).count_ones()).sum::<u32>()
    });
    let meaning = match wrong {
        None => "not checked: no frame before".to_owned(),
        Some(0) => "right".to_owned(),
        Some(wrong) => format!("{} {} wrong", counted(wrong, "bit"), are(wrong)),
    };
    reading.named("B2", place::B2.in_frame(n), n, found, meaning);
    let b1 = frame.octet(place::B1);
    if let Some(before) = before {
        let packet = before.packet;
        if before.b1 != b1 {
            reading.bad(format!("B1 is {b1:#04x}, the frame before (packet {packet}) gives {:#04x}", before.b1));
        }
        // AIS-L stands in the place of B2 too.
        if let Some(wrong @ 1..) = wrong
            && frame.octet(place::K2) & k2::MASK != k2::AIS
        {
            let bits = counted(wrong, "bit");
            let differ = if wrong == 1 { "differs" } else { "differ" };
            reading.bad(format!("{bits} of B2 {differ} from what the frame before (packet {packet}) gives"));
        }
    }
    let m1 = frame.octet(place::M1);
    if m1 > most_m1(n) {
        reading.note(format!("M1 is {m1}, more than {} errors there cannot be: read as none", most_m1(n)));
    }
}

fn path(reading: &mut Reading<'_>, frame: &Frame, pointer: u16, summary: &mut String) {
    let octet = |row| frame.at(frame.path(pointer, row));
    for (row, name) in PATH.into_iter().enumerate() {
        let (at, octet) = (frame.path(pointer, row), octet(row));
        let meaning = match name {
            "C2" => label::name(octet).to_owned(),
            "G1" => {
                let rdi = if octet & G1_RDI == 0 { "" } else { ", RDI-P" };
                format!("{} errors at the far end (REI-P){rdi}", g1_rei(octet))
            }
            _ => String::new(),
        };
        reading.named(name, at, 1, Value::Hex(octet.into(), 2), meaning);
    }
    let c2 = octet(2);
    summary.push_str(&match label::name(c2) {
        "" => format!(", C2 {c2:#04x}"),
        name => format!(", {name}"),
    });
    let h4 = octet(5);
    if matches!(c2, label::PPP | label::PPP_SCRAMBLED) && h4 != 0 {
        reading.bad(format!("H4 is {h4:#04x}; RFC 2615 section 2 wants 0 with PPP"));
    }
}
