//! AAL3/4 in an adapter: CPCS-PDUs and their segments.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T I.363.3, common part, message mode; recalled |
//! | Sends | SN begins at 0 with each PDU; MIDs are dealt out in turn to the PDUs of a channel; BTag counts the PDUs of a MID |
//! | Receives | SN, MID, LI and CRC-10 of each cell; tags, BASize and Length of each PDU. What is wrong costs the PDU, and its memory is free at once |
//! | Left out | streaming mode (a BASize above Length is taken, none is sent), corrupted-data delivery, giving up a PDU that has begun (abort is understood, not sent) |

use kumiki_octets::{Message, Page};
use kumiki_wire::atm::aal34::sar::{self, SegmentType};
use kumiki_wire::atm::aal34::{self, cpcs};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

mod receive;
#[cfg(test)]
mod tests;

pub(super) use receive::Receiver;

/// What an adapter with AAL3/4 is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aal34 {
    /// How many multiplexing identifications (0 and up) the PDUs of a channel get in turn, 1 to 1024. Where
    /// [`super::SarConfig::interleave`] is set, so many PDUs of one channel are sent at a time, cell by cell.
    pub mids: u16,
    /// Whether the adapter does the convergence sublayer too. Otherwise what it takes and gives are CPCS-PDUs, made and
    /// judged by the host.
    pub cpcs: bool,
}

impl Aal34 {
    /// One PDU at a time, both sublayers.
    pub const WHOLE: Self = Self { mids: 1, cpcs: true };

    /// The cells' payload for what the host gives, and its MID, where `turn` units went before it on its channel.
    /// `None` where it cannot be sent: it is empty or too long, or no CPCS-PDU though it should be.
    pub(super) fn adapt(&self, turn: u64, data: Message, crc: bool) -> Option<(Message, u16)> {
        let mids = u64::from(self.mids.max(1));
        let mid = u16::try_from(turn % mids).ok()?;
        let [tag, ..] = (turn / mids).to_le_bytes();
        let pdu = if self.cpcs {
            cpcs::pdu(data, tag)?
        } else {
            let whole = data.len() >= 8 && data.len().is_multiple_of(4);
            let fits = data.len() <= aal34::pdu_len(aal34::MAX_SDU);
            Some(data).filter(|_| whole && fits)?
        };
        Some((segments(&pdu, mid, crc), mid))
    }
}

/// The SAR-PDUs of a CPCS-PDU, one after the other: 48 octets for each 44. Their octets are copied, since headers and
/// trailers stand between them.
#[must_use]
pub fn segments(pdu: &Message, mid: u16, crc: bool) -> Message {
    let total = pdu.len();
    let cells = total.div_ceil(sar::PAYLOAD_LEN);
    let page = Page::build(cells * PAYLOAD_LEN, |room| {
        let (cells, _) = room.as_chunks_mut::<PAYLOAD_LEN>();
        let mut at = 0;
        let mut header = sar::Header { mid, ..sar::Header::default() };
        for cell in cells {
            let len = sar::PAYLOAD_LEN.min(total - at);
            let mut payload = [0; sar::PAYLOAD_LEN];
            let octets = payload.get_mut(..len).unwrap_or_default();
            let _ = pdu.copy_to(at, octets);
            header.segment_type = SegmentType::at(at == 0, at + len == total);
            *cell = sar::pdu(header, octets, crc);
            header.sn = (header.sn + 1) % 16;
            at += len;
        }
    });
    Message::from_page(page)
}
