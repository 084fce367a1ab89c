//! The send side: the octets that the peer is not known to have, and where their messages end.
//!
//! Which of them were sent, and what became of those, is the [`Board`]'s matter; where they lie, that of [`Outgoing`].
//! A packet never crosses the end of a message nor the place of a tag, also when it is retransmitted (`docs/xtp.md`,
//! P27).

use std::collections::VecDeque;

use kumiki_graph::Credit;
use kumiki_octets::{Message, Outgoing};
use kumiki_wire::xtp::BTAG_LEN;

use super::error::Board;

/// The user's tag of 8 octets.
pub(crate) type Tag = [u8; BTAG_LEN];

/// Something that belongs to a place in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    /// A message ends in front of this octet.
    End,
    /// This octet has a tag.
    Tag(Tag),
}

/// How far the user's end of the stream has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writer {
    /// The user may write.
    Open,
    /// It has written all; the peer is told by WCLOSE with the last octet.
    Closing,
    /// The peer has said by RCLOSE that it has all.
    Closed,
}

/// A packet of data as it may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DataPacket {
    pub(crate) seq: u64,
    pub(crate) octets: u32,
    pub(crate) tag: Option<Tag>,
    /// A message ends with it.
    pub(crate) end: bool,
}

/// The send buffer and the numbers that go with it.
#[derive(Debug)]
pub(crate) struct Send {
    pub(crate) board: Board,
    /// The first octet that the peer does not allow.
    pub(crate) alloc: u64,
    /// The peer has said so; before that it is our guess (P12).
    told: bool,
    pub(crate) writer: Writer,
    pub(crate) buffer: u32,
    /// Nothing is kept for sending it again.
    pub(crate) for_good: bool,
    /// Credit the user has and has not used.
    granted: u64,
    octets: Outgoing,
    /// In the order of their places; an end comes before a tag at the same place.
    marks: VecDeque<(u64, Mark)>,
}

impl Send {
    pub(crate) fn new(buffer: u32, alloc: u64, for_good: bool) -> Self {
        Self {
            board: Board::default(),
            alloc,
            told: false,
            writer: Writer::Open,
            buffer,
            for_good,
            granted: 0,
            octets: Outgoing::default(),
            marks: VecDeque::new(),
        }
    }

    /// The peer tells `alloc`: it never moves back (P6). Whether it allows more than before.
    pub(crate) fn allow(&mut self, alloc: u64) -> bool {
        let before = self.alloc;
        self.alloc = if self.told { self.alloc.max(alloc) } else { alloc };
        self.told = true;
        self.alloc > before
    }

    /// Octets not sent yet.
    pub(crate) fn unsent(&self) -> u64 {
        self.octets.unsent()
    }

    /// Where the stream ends as far as it is known.
    pub(crate) fn end(&self) -> u64 {
        self.board.nxt() + self.octets.unsent()
    }

    /// The user has written all, and all of it has been sent.
    pub(crate) fn is_all_sent(&self) -> bool {
        self.writer != Writer::Open && self.octets.unsent() == 0
    }

    /// Queues `data`. False where a message was to end
    /// that has no octet to end with.
    pub(crate) fn queue(&mut self, data: Message, tag: Option<Tag>, end: bool) -> bool {
        let octets = data.len() as u64;
        if let Some(tag) = tag
            && octets > 0
        {
            self.marks.push_back((self.end(), Mark::Tag(tag)));
        }
        self.granted = self.granted.saturating_sub(octets);
        self.octets.queue(data);
        if !end {
            return true;
        }
        let at = self.end();
        if self.octets.unsent() > 0 && self.marks.back() != Some(&(at, Mark::End)) {
            self.marks.push_back((at, Mark::End));
        }
        self.octets.unsent() > 0
    }

    /// How many of `octets` the user has no credit for.
    pub(crate) const fn beyond_credit(&self, octets: usize) -> u64 {
        (octets as u64).saturating_sub(self.granted)
    }

    /// Credit to announce: the room that the user does not know of, once there is enough. `most`: the buffer is no
    /// larger now.
    pub(crate) fn credit(&mut self, low_water: u32, most: u32) -> Option<Credit> {
        let room = u64::from(self.buffer.min(most)).saturating_sub(self.held());
        let news = room.saturating_sub(self.granted);
        if news == 0 || room < u64::from(low_water.min(self.buffer)) {
            return None;
        }
        self.granted = room;
        Some(Credit::octets(news))
    }

    /// Octets that are kept: not sent, or not known to have arrived.
    pub(crate) fn held(&self) -> u64 {
        self.octets.len()
    }

    /// What that and the marks take of memory, in octets: what is generated as if it lay there.
    pub(crate) fn memory(&self) -> u64 {
        let marks = self.marks.len() * size_of::<(u64, Mark)>();
        self.held().max(self.octets.memory() as u64) + marks as u64
    }

    /// Memory is scarce: what is left of large pages is copied out of them.
    pub(crate) fn fit(&mut self) {
        self.octets.fit();
    }

    /// Where packets that begin at `seq` must end at the latest, and what is to be said of one that does.
    fn marks_at(&self, seq: u64) -> (Option<Tag>, Option<(u64, bool)>) {
        let first = self.marks.partition_point(|it| it.0 < seq);
        let mut tag = None;
        let mut next = None;
        for &(at, mark) in self.marks.range(first..) {
            match mark {
                Mark::Tag(here) if at == seq => tag = Some(here),
                Mark::End if at == seq => {}
                Mark::Tag(_) => {
                    next = Some((at, false));
                    break;
                }
                Mark::End => {
                    next = Some((at, true));
                    break;
                }
            }
        }
        (tag, next)
    }

    /// What of `most` octets from `seq` on a packet with `room` octets for tag and data can have.
    fn cut(&self, seq: u64, most: u64, room: u32) -> DataPacket {
        let (tag, next) = self.marks_at(seq);
        let taken = if tag.is_some() { BTAG_LEN } else { 0 };
        let room = u64::from(room).saturating_sub(taken as u64).max(1);
        let upto = next.map_or(u64::MAX, |(at, _)| at - seq);
        let octets = most.min(room).min(upto);
        DataPacket {
            seq,
            octets: u32::try_from(octets).unwrap_or(u32::MAX),
            tag,
            end: octets == upto && next.is_some_and(|(_, end)| end),
        }
    }

    /// The next packet of new data with `room` octets for tag and data, if there is any.
    pub(crate) fn next(&self, room: u32) -> Option<DataPacket> {
        (self.octets.unsent() > 0).then(|| self.cut(self.board.nxt(), self.octets.unsent(), room))
    }

    /// A shorter packet than `cut`.
    pub(crate) const fn shortened(cut: DataPacket, octets: u32) -> DataPacket {
        DataPacket { octets, end: false, ..cut }
    }

    /// The next lost packet, with `room` octets for tag and data.
    pub(crate) fn next_lost(&self, room: u32) -> Option<DataPacket> {
        let (seq, len) = self.board.next_lost()?;
        Some(self.cut(seq, len.into(), room))
    }

    /// The octets of the next packet of new data, and how many of them had to be read for their sum where `sum`.
    pub(crate) fn take(&mut self, cut: &DataPacket, sum: bool) -> (Message, u64) {
        let (packet, read) = self.octets.take(cut.octets.into(), sum, !self.for_good);
        if self.for_good {
            self.drop_marks(cut.seq + packet.len() as u64);
        }
        (packet, read)
    }

    /// The octets of `cut` once more.
    pub(crate) fn again(&self, cut: &DataPacket) -> Message {
        self.octets.again(cut.seq, cut.octets.into())
    }

    /// Lets go of everything before `una`.
    pub(crate) fn release(&mut self) {
        let una = self.board.una();
        self.octets.release(una);
        self.drop_marks(una);
    }

    /// Forgets the marks of what lies before `upto`. A tag at that place stays.
    fn drop_marks(&mut self, upto: u64) {
        while let Some((at, mark)) = self.marks.front()
            && (*at < upto || (*at == upto && *mark == Mark::End))
        {
            self.marks.pop_front();
        }
    }

    /// Forgets all data: the context is over.
    pub(crate) fn clear(&mut self) {
        self.octets.clear();
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(n: u8) -> Message {
        Message::from_octets(&vec![n; usize::from(n)])
    }

    fn sent(send: &mut Send, room: u32) -> Vec<(u64, u32, bool, bool)> {
        core::iter::from_fn(|| {
            let cut = send.next(room)?;
            let (packet, _) = send.take(&cut, true);
            send.board.sent(cut.octets);
            assert_eq!(packet.len() as u64, u64::from(cut.octets));
            Some((cut.seq, cut.octets, cut.tag.is_some(), cut.end))
        })
        .collect()
    }

    #[test]
    fn packets_end_where_messages_end_and_begin_where_tags_are() {
        let mut send = Send::new(1000, 0, false);
        assert!(send.queue(octets(50), None, false));
        assert!(send.queue(octets(30), Some(*b"tag tag1"), true));
        assert!(send.queue(octets(100), None, true));
        assert!(send.queue(octets(10), None, false));
        assert!(send.queue(Message::new(), None, true));
        let expected = [
            (0, 50, false, false),
            (50, 30, true, true),
            (80, 64, false, false),
            (144, 36, false, true),
            (180, 10, false, true),
        ];
        assert_eq!(sent(&mut send, 64), expected);
        assert!(!send.queue(Message::new(), None, true), "nothing to end with");
        // Sent again with less room, they keep to the same places.
        send.board.judge(100, 0, u64::MAX);
        let mut again = Vec::new();
        while let Some(cut) = send.next_lost(40) {
            let packet = send.again(&cut);
            assert_eq!(packet.len() as u64, u64::from(cut.octets));
            again.push((cut.seq, cut.octets, cut.tag.is_some(), cut.end));
            send.board.resent(cut.octets);
        }
        let expected = [
            (0, 40, false, false),
            (40, 10, false, false),
            (50, 30, true, true),
            (80, 40, false, false),
            (120, 24, false, false),
            (144, 36, false, true),
            (180, 10, false, true),
        ];
        assert_eq!(again, expected);
        assert_eq!(send.held(), 190);
        send.board.acknowledge(85);
        send.release();
        assert_eq!((send.held(), send.marks.len()), (105, 2));
        send.board.acknowledge(190);
        send.release();
        assert_eq!((send.held(), send.marks.len()), (0, 0));
    }

    #[test]
    fn credit_is_the_room_that_the_user_does_not_know_of() {
        let mut send = Send::new(100, 0, false);
        assert_eq!(send.credit(1, u32::MAX), Some(Credit::octets(100)));
        assert_eq!(send.credit(1, u32::MAX), None);
        assert!(send.queue(octets(60), None, true));
        assert_eq!((send.beyond_credit(40), send.beyond_credit(41)), (0, 1));
        assert_eq!(send.credit(1, u32::MAX), None);
        sent(&mut send, 64);
        send.board.acknowledge(60);
        send.release();
        assert_eq!(send.credit(1, u32::MAX), Some(Credit::octets(60)));
    }

    #[test]
    fn small_writes_take_about_twice_their_octets() {
        let mut send = Send::new(100_000, 0, false);
        for n in 0..20_000_u32 {
            let page = kumiki_octets::Page::from(&n.to_be_bytes()[3..]);
            send.queue(Message::from_page(page), None, false);
        }
        assert!((20_000..60_000).contains(&send.memory()), "{}", send.memory());
        sent(&mut send, 64);
        assert!((20_000..60_000).contains(&send.memory()), "{}", send.memory());
    }

    #[test]
    fn what_leaves_for_good_is_not_kept() {
        let mut send = Send::new(100, 0, true);
        send.queue(octets(60), Some([7; 8]), true);
        let cut = send.next(28).unwrap();
        assert_eq!((cut.octets, cut.tag), (20, Some([7; 8])));
        send.take(&cut, false);
        send.board.sent_for_good(cut.octets);
        assert_eq!(send.held(), 40);
        let cut = send.next(64).unwrap();
        assert_eq!((cut.seq, cut.octets, cut.tag, cut.end), (20, 40, None, true));
        send.take(&cut, false);
        assert_eq!((send.held(), send.marks.len()), (0, 0));
    }
}
