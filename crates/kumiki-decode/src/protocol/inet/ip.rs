//! A datagram of either version of IP, told apart by its first four bits; and what both versions are read by.
//!
//! | | |
//! |---|---|
//! | Found | link types 12, 14 and 101 |

use kumiki_octets::text::counted;
use kumiki_wire::Malformed;
use kumiki_wire::inet::ethernet::ethertype;
use kumiki_wire::inet::ipv4::Ecn;

use crate::key::Key;
use crate::packet::Reassembled;
use crate::reading::Reading;
use crate::reassembly::fragments::{DatagramProgress, Fragment, Name};
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector = Dissector {
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
        [] => reading.malformed(&Malformed::Short { protocol: "IP", need: 1, have: 0 }),
    }
}

/// The field of RFC 3168, which the octets of both versions have at the same place.
pub(in crate::protocol) fn ecn(reading: &mut Reading<'_>, ecn: Ecn) {
    let name = match ecn {
        Ecn::NotEct => "not ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    };
    reading.named("ecn", 1, 1, ecn.bits(), name);
}

/// Keeps a fragment, of which there were `data_len` octets of data on the medium, until its datagram is whole; then
/// what the datagram carries follows.
pub(in crate::protocol) fn fragment(reading: &mut Reading<'_>, name: Name, fragment: &Fragment<'_>, data_len: usize) {
    if fragment.data.len() < data_len {
        return reading.note("not kept for reassembly: octets are missing in the capture");
    }
    if fragment.more && !data_len.is_multiple_of(8) {
        // RFC 791 section 3.2, RFC 8200 section 4.5: only the last fragment may have another length.
        reading.bad(format!(
            "a fragment that is not the last has {octets} of data; a multiple of 8 would be right",
            octets = counted(data_len, "octet")
        ));
    }
    match reading.state.fragments.add(name, fragment) {
        DatagramProgress::Waiting => {}
        DatagramProgress::Wrong(why) => reading.bad(why),
        DatagramProgress::Whole { octets, follows, parts, packets } => {
            let len = octets.len();
            let whole = Reassembled { what: name.what(), packets, parts, octets };
            reading.follow_reassembled(&[Key::IpProtocol(follows)], whole, 0, len);
        }
    }
}
