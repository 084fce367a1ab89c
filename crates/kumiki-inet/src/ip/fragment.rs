//! A datagram becomes several (RFC 791 section 3.2).

use kumiki_graph::Context;
use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::Header;

use super::Ip;
use super::send::Refused;
use crate::internet::complete_checksum;

/// Fragments begin at multiples of this many octets.
const UNIT: usize = 8;

impl Ip {
    /// Cuts `datagram`, which begins with `header`, so that no piece is longer than `mtu`. Content is shared, not copied.
    pub(super) fn fragment(
        &mut self,
        header: &Header,
        datagram: &mut Message,
        mtu: usize,
        cx: &mut Context<'_>,
    ) -> Result<Vec<Message>, Refused> {
        if datagram.meta().segment_size != 0 {
            self.counters.frag_fails += 1;
            return Err(Refused::Impossible("super-segment beyond the MTU"));
        }
        complete_checksum(datagram, cx);
        let _ = datagram.pop(header.len());
        let later = header.options.for_later_fragments();
        let mut piece = *header;
        let mut pieces = Vec::with_capacity(datagram.len() / mtu.max(UNIT) + 1);
        while !datagram.is_empty() {
            let room = mtu.saturating_sub(piece.len());
            let last = datagram.len() <= room;
            let take = if last { datagram.len() } else { room / UNIT * UNIT };
            let Some(cut) = Some(take).filter(|&take| take > 0).and_then(|take| datagram.split_to(take).ok()) else {
                self.counters.frag_fails += 1;
                return Err(Refused::Impossible("MTU too small for a fragment"));
            };
            piece.more_fragments = !last || header.more_fragments;
            pieces.push(with_header(&mut piece, cut));
            // At most 65535 octets in units of 8, which is less than 13 bits hold.
            piece.fragment_offset += u16::try_from(take / UNIT).unwrap_or(0);
            piece.options = later;
        }
        self.counters.frag_oks += 1;
        self.counters.frag_creates += pieces.len() as u64;
        Ok(pieces)
    }
}

/// `data` behind `header`, whose length becomes right.
pub(super) fn with_header(header: &mut Header, mut data: Message) -> Message {
    let total = header.len() + data.len();
    header.total_length = u16::try_from(total).unwrap_or(u16::MAX);
    header.emit_summed(data.push_header(header.len()));
    data
}
