//! Address resolution on ATM.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::atm::atm_arp`] |
//! | Found | EtherType 0806 with hardware type 19 |

use kumiki_wire::atm::atm_arp::{Address, Header};

use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "atmarp", title: "ATMARP and InATMARP of RFC 2225", claims: &[], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let (header, len) = header!(reading, Header::parse(reading.octets()));
    reading.field("ar$hrd", 0, 2, 19_u16);
    reading.field("ar$pro", 2, 2, Value::Hex(0x0800, 4));
    let types = reading.part(4, 2);
    reading.field("ar$shtl, ar$sstl", 4, 2, types);
    reading.named("ar$op", 6, 2, u16::from(header.op), header.op);
    // Null IPv4 addresses may have come with four octets, so where they end is asked of the wire.
    let spln = usize::from(reading.part(8, 1).first().copied().unwrap_or_default());
    let tpln = usize::from(reading.part(11, 1).first().copied().unwrap_or_default());
    reading.field("ar$spln", 8, 1, u32::try_from(spln).unwrap_or_default());
    let types = reading.part(9, 2);
    reading.field("ar$thtl, ar$tstl", 9, 2, types);
    reading.field("ar$tpln", 11, 1, u32::try_from(tpln).unwrap_or_default());
    let mut at = kumiki_wire::atm::atm_arp::MIN_LEN;
    let mut address = |reading: &mut Reading<'_>, name, len: usize, text: String| {
        if len > 0 {
            reading.field(name, at, len, Value::Text(text));
        }
        at += len;
    };
    let shown = |address: Address| (address.len(), address.to_string());
    let (len_of, text) = shown(header.sha);
    address(reading, "ar$sha", len_of, text);
    let (len_of, text) = shown(header.ssa);
    address(reading, "ar$ssa", len_of, text);
    let ip =
        |address: Option<std::net::Ipv4Addr>| address.map_or_else(|| "null".to_owned(), |address| address.to_string());
    address(reading, "ar$spa", spln, ip(header.spa));
    let (len_of, text) = shown(header.tha);
    address(reading, "ar$tha", len_of, text);
    let (len_of, text) = shown(header.tsa);
    address(reading, "ar$tsa", len_of, text);
    address(reading, "ar$tpa", tpln, ip(header.tpa));
    reading.padding(len);
}
