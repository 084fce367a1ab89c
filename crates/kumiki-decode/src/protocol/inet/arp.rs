//! Address resolution for Ethernet; packets about ATM go to [`atm_arp`](crate::protocol::atm::atm_arp).
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::arp`] |
//! | Found | EtherType 0806 |

use kumiki_wire::inet::arp::{Header, hardware};

use crate::key::Key;
use crate::packet::Value;
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "arp", title: "ARP for Ethernet and IPv4", claims: &[Key::EtherType(0x0806)], dissect };

fn dissect(reading: &mut Reading<'_>) {
    let octets = reading.octets();
    // The two share their EtherType, and the first field tells them apart.
    if octets.first_chunk() == Some(&hardware::ATM.to_be_bytes()) {
        return reading.reread_as(Key::Named("atmarp"));
    }
    let (header, len) = header!(reading, Header::parse(octets));
    reading.field("ar$hrd", 0, 2, header.hrd);
    reading.field("ar$pro", 2, 2, Value::Hex(0x0800, 4));
    reading.field("ar$hln", 4, 1, 6_u8);
    reading.field("ar$pln", 5, 1, 4_u8);
    reading.named("ar$op", 6, 2, u16::from(header.op), header.op);
    reading.field("ar$sha", 8, 6, Value::text(header.sha));
    reading.field("ar$spa", 14, 4, Value::text(header.spa));
    reading.field("ar$tha", 18, 6, Value::text(header.tha));
    reading.field("ar$tpa", 24, 4, Value::text(header.tpa));
    reading.padding(len);
}
