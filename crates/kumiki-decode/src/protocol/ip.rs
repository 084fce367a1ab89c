//! A datagram of either version of IP, told apart by its first four bits.
//!
//! | | |
//! |---|---|
//! | Found | link types 12, 14 and 101 |

use kumiki_wire::Malformed;
use kumiki_wire::ethernet::ethertype;

use crate::key::Key;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector = Dissector {
    name: "ip",
    title: "IPv4 or IPv6, by the version field",
    // 12 and 14 are what some systems write for 101.
    claims: &[Key::LinkType(12), Key::LinkType(14), Key::LinkType(101)],
    dissect,
};

fn dissect(reading: &mut Reading<'_>) {
    match reading.octets() {
        [first, ..] if first >> 4 == 4 => reading.reread_as(Key::EtherType(ethertype::IPV4)),
        [first, ..] if first >> 4 == 6 => reading.reread_as(Key::EtherType(ethertype::IPV6)),
        [first, ..] => reading.malformed(&Malformed::Field {
            protocol: "IP",
            field: "version",
            found: u64::from(first >> 4),
            expected: "4 or 6",
        }),
        [] => reading.malformed(&Malformed::Short {
            protocol: "IP",
            need: 1,
            have: 0,
        }),
    }
}
