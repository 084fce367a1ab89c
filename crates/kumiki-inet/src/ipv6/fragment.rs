//! A packet of ours becomes several (RFC 8200 section 4.5).

use kumiki_graph::Context;
use kumiki_octets::Message;
use kumiki_wire::inet::ipv6::extension::{FRAGMENT_LEN, Fragment};
use kumiki_wire::inet::ipv6::{self, Header, next_header};

use super::Ip;
use super::send::Refused;
use crate::internet::complete_checksum;

/// Fragments begin at multiples of this many octets.
const UNIT: usize = 8;

impl Ip {
    /// Cuts `packet`, which is `header` and what it says follows it, so that no piece is longer than `mtu`. Content is
    /// shared, not copied.
    pub(super) fn fragment(
        &mut self,
        header: &Header,
        packet: &mut Message,
        mtu: usize,
        cx: &mut Context<'_>,
    ) -> Result<Vec<Message>, Refused> {
        if packet.meta().segment_size != 0 {
            self.counters.frag_fails += 1;
            return Err(Refused::Impossible("super-segment beyond the MTU"));
        }
        complete_checksum(packet, cx);
        let _ = packet.pop(ipv6::LEN);
        // An MTU is at least 1280, so this is never nothing.
        let room = mtu.saturating_sub(ipv6::LEN + FRAGMENT_LEN) / UNIT * UNIT;
        let room = room.max(UNIT);
        self.identification = self.identification.wrapping_add(1);
        let mut fragment =
            Fragment { next_header: header.next_header, offset: 0, more: true, identification: self.identification };
        let mut pieces = Vec::with_capacity(packet.len() / room + 1);
        while fragment.more {
            fragment.more = packet.len() > room;
            let take = packet.len().min(room);
            // There are that many.
            let mut piece = packet.split_to(take).unwrap_or_default();
            fragment.emit(piece.push(FRAGMENT_LEN));
            pieces.push(with_header(header, next_header::FRAGMENT, piece));
            // At most 65535 octets in units of 8, which is less than 13 bits hold.
            fragment.offset += u16::try_from(take / UNIT).unwrap_or(0);
        }
        self.counters.frag_oks += 1;
        self.counters.frag_creates += pieces.len() as u64;
        Ok(pieces)
    }
}

/// `data` behind a header as `header`, but for what follows it and how long that is.
pub(super) fn with_header(header: &Header, next_header: u8, mut data: Message) -> Message {
    let header = Header { payload_length: u16::try_from(data.len()).unwrap_or(u16::MAX), next_header, ..*header };
    header.emit(data.push_header(ipv6::LEN));
    data
}
