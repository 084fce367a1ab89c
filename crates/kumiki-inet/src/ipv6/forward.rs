//! On behalf of others (RFC 8200 section 3).

use kumiki_graph::{Context, Unit};
use kumiki_octets::Message;
use kumiki_wire::inet::icmpv6::{Message as Icmp, time_exceeded, unreachable};
use kumiki_wire::inet::ipv6::{Header, LEN};

use super::Ip;
use super::addresses::scope;
use super::errors::{About, unreachable_by};
use super::send::Refused;

impl Ip {
    /// Sends somebody else's packet, which is in `unit`, on.
    pub(super) fn forward(&mut self, about: &About, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let header = &about.header;
        if scope(header.destination) <= 2 {
            self.refuse_address("address that must not be forwarded", cx);
            return;
        }
        if scope(header.source) <= 2 {
            self.refuse_address("source of another link", cx);
            // RFC 4291 section 2.5.6; RFC 4443 section 3.1.
            let code = unreachable::BEYOND_SCOPE;
            self.error(about, unreachable_by(code), &unit.data, cx);
            return;
        }
        if header.hop_limit <= 1 {
            cx.drop("hop limit exceeded");
            let code = time_exceeded::HOP_LIMIT;
            self.error(about, Icmp::TimeExceeded { code }, &unit.data, cx);
            return;
        }
        let Some(hop) = self.hop(header.destination, None) else {
            self.count(Refused::NoRoute, cx);
            self.error(about, unreachable_by(unreachable::NO_ROUTE), &unit.data, cx);
            return;
        };
        let onward = Header { hop_limit: header.hop_limit - 1, ..*header };
        put_header(&mut unit.data, &onward);
        match self.transmit(&onward, hop, (u32::MAX, true), unit, cx) {
            Ok(()) => self.counters.forw_datagrams += 1,
            Err((refused, mut unit)) => {
                self.count(refused, cx);
                let message = match refused {
                    Refused::NoRoute => unreachable_by(unreachable::NO_ROUTE),
                    Refused::NoNeighbour => unreachable_by(unreachable::ADDRESS),
                    Refused::TooBig(mtu) => Icmp::PacketTooBig { mtu },
                    Refused::Impossible(_) => return,
                };
                // Quoted as it came.
                put_header(&mut unit.data, header);
                self.error(about, message, &unit.data, cx);
            }
        }
    }
}

/// Puts `header` in the place of another one.
fn put_header(packet: &mut Message, header: &Header) {
    // One was read from there, so it is there.
    if let Ok(front) = packet.front_mut(LEN) {
        header.emit(front);
    }
}
