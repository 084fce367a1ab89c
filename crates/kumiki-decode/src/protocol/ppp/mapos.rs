//! MAPOS frames of both widths, as they stand between flag and FCS.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::mapos`] |
//! | Found | link types 161 and 162, which are for private use and which Kumiki uses for MAPOS version 1 and MAPOS 16 |
//! | Left out | the number of the switch in an address: how many bits it has, only the network knows |
//!
//! Nothing in the octets tells MAPOS from PPP, so frames in captures of PPP or HDLC are never taken for MAPOS:
//! `--as mapos` says it.

use kumiki_octets::text::counted;
use kumiki_wire::Malformed;
use kumiki_wire::ppp::mapos::{Address, Header, LEN, MAX_INFORMATION, Width, protocol};

use crate::key::Key;
use crate::packet::{Value, in_words};
use crate::protocol::fcs;
use crate::protocol::{emitted, header};
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) mod arp;
pub(in crate::protocol) mod nsp;
pub(in crate::protocol) mod ssp;

pub(in crate::protocol) const EIGHT: Dissector = Dissector {
    name: "mapos",
    title: "MAPOS version 1 frames; with an FCS where the capture says so",
    claims: &[Key::LinkType(161)],
    dissect: |reading| dissect(reading, Width::Eight),
};

pub(in crate::protocol) const SIXTEEN: Dissector = Dissector {
    name: "mapos-16",
    title: "MAPOS 16 frames; with an FCS where the capture says so",
    claims: &[Key::LinkType(162)],
    dissect: |reading| dissect(reading, Width::Sixteen),
};

fn dissect(reading: &mut Reading<'_>, width: Width) {
    let Some(&[a, b, p0, p1]) = reading.octets().first_chunk::<LEN>() else {
        return reading.malformed(&Malformed::Short { protocol: "MAPOS", need: LEN, have: reading.octets().len() });
    };
    let number = u16::from_be_bytes([p0, p1]);
    reading.header_len(LEN);
    match Header::parse(width, reading.octets()) {
        Ok((header, _)) => {
            reading.summary(header);
            emitted!(reading, header);
        }
        // A frame that switches and nodes discard; what is in it can be read all the same.
        Err(why) => {
            reading.summary(format!("{width} invalid protocol {number:#06x}"));
            reading.bad(in_words(&why));
        }
    }
    let (address, len) = match width {
        Width::Eight => (u32::from(a), 1),
        Width::Sixteen => (u32::from(u16::from_be_bytes([a, b])), 2),
    };
    let meaning = meaning(width, address);
    reading.named("address", 0, len, hex(address, 2 * len), meaning);
    if width == Width::Eight {
        reading.field("control", 1, 1, Value::Hex(b.into(), 2));
    }
    let name = match number {
        protocol::IPV4 => "IPv4",
        protocol::ARP => "MAPOS ARP",
        protocol::NSP => "NSP",
        protocol::SSP => "SSP",
        _ => "",
    };
    reading.named("protocol", 2, 2, Value::Hex(number.into(), 4), name);
    if !protocol::is_well_formed(number) {
        reading.bad(format!(
            "protocol is {number:#06x}; RFC 2172 section 2 wants the first octet even and the second odd"
        ));
    }
    let end = fcs::check(reading).max(LEN);
    let information = end.saturating_sub(LEN);
    if information > MAX_INFORMATION {
        reading.bad(format!(
            "{octets} of information, at most {MAX_INFORMATION} are allowed",
            octets = counted(information, "octet")
        ));
    }
    reading.around.mapos = Some((width, address));
    reading.follow(&[Key::MaposProtocol(number)], LEN, information);
}

/// Who is meant, or that nobody can be.
fn meaning(width: Width, address: u32) -> String {
    Address::new(width, address).map_or_else(|| "not an address".to_owned(), |address| address.meaning().to_string())
}

fn hex(value: u32, digits: usize) -> Value {
    Value::Hex(value.into(), digits)
}

/// How wide the addresses in a 32-bit field are: as the frame around says, else as wide as `address` needs.
fn width(reading: &Reading<'_>, address: u32) -> Width {
    match reading.around.mapos {
        Some((width, _)) => width,
        None if address > 0xff => Width::Sixteen,
        None => Width::Eight,
    }
}

/// The destination of the frame around where it is not this one; `None` also where there is no frame.
fn sent_elsewhere(reading: &Reading<'_>, right: impl Fn(Width) -> Address) -> Option<u32> {
    let (width, address) = reading.around.mapos?;
    (address != u32::from(right(width))).then_some(address)
}
