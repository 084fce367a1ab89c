//! On behalf of others (RFC 1812 section 5.3).

use kumiki_graph::Context;
use kumiki_octets::{Checksum, Message};
use kumiki_wire::icmpv4::{Message as Icmp, time_exceeded, unreachable};
use kumiki_wire::ipv4::Header;

use super::Ip;
use super::errors::{About, too_big, unreachable_by};
use super::send::Refused;

impl Ip {
    /// Sends somebody else's datagram on.
    pub(super) fn forward(&mut self, about: &About, mut datagram: Message, cx: &mut Context<'_>) {
        let header = &about.header;
        // 0/8 and 240/4 lead nowhere; a source in 0/8 is nobody's.
        if header.destination.to_bits() >> 28 == 0xf || header.source.octets().starts_with(&[0]) {
            self.counters.in_addr_errors += 1;
            cx.drop("address that must not be forwarded");
            return;
        }
        if header.time_to_live <= 1 {
            cx.drop("time to live exceeded");
            let code = time_exceeded::TTL;
            self.error(about, Icmp::TimeExceeded { code }, &datagram, cx);
            return;
        }
        let Some(hop) = self.hop(header.destination, None) else {
            self.count(Refused::NoRoute, cx);
            self.error(about, unreachable_by(unreachable::NET), &datagram, cx);
            return;
        };
        let onward = Header {
            time_to_live: header.time_to_live - 1,
            ..*header
        };
        // What was known covered the old header too.
        if matches!(datagram.meta().checksum, Checksum::Sum(_)) {
            datagram.meta_mut().checksum = Checksum::Unknown;
        }
        put_header(&mut datagram, &onward);
        match self.transmit(&onward, hop, datagram, cx) {
            Ok(()) => self.counters.forw_datagrams += 1,
            Err((refused, mut datagram)) => {
                self.count(refused, cx);
                let message = match refused {
                    Refused::NoRoute => unreachable_by(unreachable::NET),
                    Refused::NoNeighbour => unreachable_by(unreachable::HOST),
                    Refused::TooBig(mtu) => too_big(mtu),
                    Refused::Impossible(_) => return,
                };
                // Quoted as it came.
                put_header(&mut datagram, header);
                self.error(about, message, &datagram, cx);
            }
        }
    }
}

/// Puts `header` in the place of another one of its length.
fn put_header(datagram: &mut Message, header: &Header) {
    let len = header.len();
    let _ = datagram.pop_header(len);
    header.emit_summed(datagram.push_header(len));
}
