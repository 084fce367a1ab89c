//! UDP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::inet::udp`] |
//! | Found | IP protocol 17 |

use kumiki_wire::Malformed;
use kumiki_wire::inet::udp::{CHECKSUM_OFFSET, Header, LEN};

use crate::key::Key;
use crate::packet::{Value, in_words};
use crate::protocol::header;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const DISSECTOR: Dissector =
    Dissector { name: "udp", title: "UDP", claims: &[Key::IpProtocol(17)], dissect };

fn dissect(reading: &mut Reading<'_>) {
    // A length beyond the datagram is remarked on below.
    let (header, _) = header!(reading, Header::parse(reading.octets(), usize::MAX));
    let Header { source_port, destination_port, length, .. } = header;
    reading.fields(0, header.fields());
    let length = usize::from(length);
    let most = reading.total();
    let fits = length <= most;
    if fits {
        reading.padding(length);
    } else if !reading.around.quoted {
        reading.bad(in_words(&Malformed::Length { protocol: "UDP", field: "length", found: length, least: LEN, most }));
    }
    let over = reading.around.ends.map(|ends| ends.pseudo_header(17, length));
    if !header.has_checksum() {
        reading.named("checksum", CHECKSUM_OFFSET, 2, Value::Hex(0, 4), "none");
        if reading.around.ends.is_some_and(|ends| ends.source.is_ipv6()) {
            // RFC 8200 section 8.1; RFC 6936 allows it for tunnels.
            reading.bad("no checksum, and IPv6 wants one");
        }
    } else if over.is_some() && fits {
        reading.checksum("checksum", CHECKSUM_OFFSET, length, over);
    } else {
        let sum = Value::Hex(header.checksum.into(), 4);
        reading.named("checksum", CHECKSUM_OFFSET, 2, sum, "not checked");
    }
    let keys = [Key::UdpPort(destination_port), Key::UdpPort(source_port)];
    reading.follow(&keys, LEN, length.min(most).saturating_sub(LEN));
}
