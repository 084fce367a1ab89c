//! On behalf of others (RFC 1812 section 5.3).

use kumiki_graph::{Context, Unit};
use kumiki_octets::Message;
use kumiki_wire::inet::icmpv4::{Message as Icmp, time_exceeded, unreachable};
use kumiki_wire::inet::ipv4::Header;

use super::Ip;
use super::errors::{About, too_big, unreachable_by};
use super::send::Refused;

impl Ip {
    /// Sends somebody else's datagram, which is in `unit`, on.
    pub(super) fn forward(&mut self, about: &About, mut unit: Box<Unit>, cx: &mut Context<'_>) {
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
            self.error(about, Icmp::TimeExceeded { code }, &unit.data, cx);
            return;
        }
        let Some(hop) = self.hop(header.destination, None) else {
            self.count(Refused::NoRoute, cx);
            self.error(about, unreachable_by(unreachable::NET), &unit.data, cx);
            return;
        };
        let onward = header.one_hop_on();
        put_hop(&mut unit.data, &onward);
        match self.transmit(&onward, about.group, hop, unit, cx) {
            Ok(()) => self.counters.forw_datagrams += 1,
            Err((refused, mut unit)) => {
                self.count(refused, cx);
                let message = match refused {
                    Refused::NoRoute => unreachable_by(unreachable::NET),
                    Refused::NoNeighbour => unreachable_by(unreachable::HOST),
                    Refused::TooBig(mtu) => too_big(mtu),
                    Refused::Impossible(_) => return,
                };
                // Quoted as it came.
                put_hop(&mut unit.data, header);
                self.error(about, message, &unit.data, cx);
            }
        }
    }
}

/// Writes what differs from hop to hop into the header of `datagram`.
fn put_hop(datagram: &mut Message, header: &Header) {
    // It was read from there, so it is there.
    if let Ok(front) = datagram.front_mut(header.len()) {
        header.emit_hop(front);
    }
}
