//! Packets that say their own length, one behind the other in a stream: what TPKT and XOT have in common.
//!
//! A segment may hold several packets, and a packet may come in several segments: each packet is a layer, and so is
//! each part of one.

use kumiki_octets::text::{are, counted};
use kumiki_wire::Malformed;

use crate::key::{Key, Stream};
use crate::packet::Reassembled;
use crate::reading::Reading;

/// How a protocol cuts its packets off a stream.
pub(super) struct Framing {
    /// What it is called in summaries.
    pub(super) title: &'static str,
    /// Itself: what is read next in the same segment.
    pub(super) again: &'static [Key],
    /// Octets of its header.
    pub(super) header: usize,
    /// Octets of the whole packet that begins so.
    pub(super) length: fn(&[u8]) -> Result<usize, Malformed>,
    /// Tells of the header that a packet begins with.
    pub(super) show: fn(&mut Reading<'_>),
    /// Who reads what is in a packet that begins so.
    pub(super) inside: fn(&[u8]) -> &'static [Key],
    /// What is in a packet.
    pub(super) body: &'static str,
}

impl Framing {
    /// Reads what a segment has.
    pub(super) fn dissect(&self, reading: &mut Reading<'_>) {
        // What was not recorded whole, or is quoted, is no part of a stream.
        let whole = reading.octets().len() == reading.total() && !reading.around.quoted;
        match reading.around.stream.filter(|_| whole) {
            Some(stream) => self.part(reading, stream),
            None => self.alone(reading),
        }
    }

    /// Reads the packet that begins with the octets, and what follows it.
    fn alone(&self, reading: &mut Reading<'_>) {
        let total = reading.total();
        let end = match (self.length)(reading.octets()) {
            Ok(end) => end,
            Err(why) => return reading.malformed(&why),
        };
        (self.show)(reading);
        if end > total {
            let (all, have) = (end - self.header, total.saturating_sub(self.header));
            let body = self.body;
            reading.note(format!("{have} of {octets} of {body} are here", octets = counted(all, "octet")));
        }
        let inside = (self.inside)(reading.octets());
        let have = end.min(total).saturating_sub(self.header);
        reading.follow(inside, self.header, have);
        advance(reading, end);
        reading.follow(self.again, end, total.saturating_sub(end));
    }

    fn part(&self, reading: &mut Reading<'_>, stream: Stream) {
        let (octets, seq, packet) = (reading.octets(), reading.around.seq, reading.around.packet);
        let flow = reading.state.streams.flow(stream, packet);
        let len = u32::try_from(octets.len()).unwrap_or(u32::MAX);
        if let Some(next) = flow.next {
            let ahead = seq.wrapping_sub(next).cast_signed();
            if ahead < 0 {
                let behind = usize::try_from(ahead.unsigned_abs()).unwrap_or(usize::MAX);
                let again = behind.min(octets.len());
                reading.header_len(again);
                let title = self.title;
                reading.summary(format!("{title}, {octets} retransmitted", octets = counted(again, "octet")));
                reading.note("read before, in the segment that brought them first");
                advance(reading, again);
                return reading.follow(self.again, again, octets.len() - again);
            }
            if ahead > 0 {
                let lost = flow.packet.is_begun();
                let _ = flow.packet.end("");
                let _ = flow.tsdu.end("");
                let what = if lost { ", and the packet that they belong to is given up" } else { "" };
                reading.note(format!(
                    "{octets} before this segment {are} not in the capture{what}",
                    octets = counted(ahead, "octet"),
                    are = are(ahead)
                ));
            }
        }
        let flow = reading.state.streams.flow(stream, packet);
        if !flow.packet.is_begun() {
            flow.what = self.title;
            match (self.length)(octets) {
                Ok(length) if length <= octets.len() => {
                    let end = u32::try_from(length).unwrap_or(u32::MAX);
                    flow.next = Some(seq.wrapping_add(end));
                    return self.alone(reading);
                }
                Err(why) if octets.len() >= self.header => {
                    // Nobody knows where the next one begins.
                    flow.next = Some(seq.wrapping_add(len));
                    return reading.malformed(&why);
                }
                Ok(_) | Err(_) => {}
            }
        }
        // As many as belong to the packet that is in progress.
        let before = flow.packet.octets.len();
        let head: Vec<u8> = flow.packet.octets.iter().chain(octets).copied().take(self.header).collect();
        let need = match (self.length)(&head) {
            Ok(length) => length,
            Err(why) if head.len() >= self.header => {
                let _ = flow.packet.end("");
                flow.next = Some(seq.wrapping_add(len));
                return reading.malformed(&why);
            }
            // Not even the header is all there.
            Err(_) => usize::MAX,
        };
        let take = octets.len().min(need.saturating_sub(before));
        flow.packet.add(packet, octets.get(..take).unwrap_or_default());
        flow.next = Some(seq.wrapping_add(u32::try_from(take).unwrap_or(u32::MAX)));
        let have = flow.packet.octets.len();
        let title = self.title;
        let done: Option<Reassembled> = (have == need).then(|| flow.packet.end(title));
        reading.header_len(take);
        reading.field("part", 0, take, octets.get(..take).unwrap_or_default());
        match done {
            Some(reassembled) => {
                reading.summary(format!("{title} length {need}, its last {octets}", octets = counted(take, "octet")));
                let inside = (self.inside)(&reassembled.octets);
                reading.follow_reassembled(inside, reassembled, self.header, need - self.header);
                advance(reading, take);
                reading.follow(self.again, take, octets.len() - take);
            }
            None if need == usize::MAX => reading.summary(format!("{title}, a part of its header")),
            None => reading.summary(format!("{title} length {need}, {octets} so far", octets = counted(have, "octet"))),
        }
    }
}

/// What follows `by` octets further on in the stream.
fn advance(reading: &mut Reading<'_>, by: usize) {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    reading.around.seq = reading.around.seq.wrapping_add(by);
}
