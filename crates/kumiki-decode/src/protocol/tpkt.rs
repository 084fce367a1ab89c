//! TPKT: what ISO transport is packed into on TCP.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::tpkt`] |
//! | Found | TCP port 102 |
//! | Left out | segments in another order than they were sent in: see [`streams`](crate::reassembly::streams) |
//!
//! A segment may hold several packets, and a packet may come in several segments: each packet is a layer, and so is each part of one.

use kumiki_wire::tpkt::{Header, LEN, MOST, PORT};

use super::emitted;
use crate::key::{Key, Stream};
use crate::packet::Reassembled;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(super) const DISSECTOR: Dissector = Dissector {
    name: "tpkt",
    title: "TPKT, ISO transport on TCP (RFC 1006)",
    claims: &[Key::TcpPort(PORT)],
    dissect,
};

/// What is read next in the same segment.
const AGAIN: [Key; 1] = [Key::Named("tpkt")];
const INSIDE: [Key; 1] = [Key::Named("cotp")];

fn dissect(reading: &mut Reading<'_>) {
    // What was not recorded whole, or is quoted, is no part of a stream.
    let whole = reading.octets().len() == reading.total() && !reading.around.quoted;
    match reading.around.stream.filter(|_| whole) {
        Some(stream) => part(reading, stream),
        None => {
            alone(reading);
        }
    }
}

/// Reads the packet that begins with the octets; gives where the next one does.
fn alone(reading: &mut Reading<'_>) -> Option<usize> {
    let total = reading.total();
    let (header, len) = match Header::parse(reading.octets(), MOST) {
        Ok(found) => found,
        Err(why) => {
            reading.malformed(&why);
            return None;
        }
    };
    reading.header_len(len);
    reading.summary(header);
    emitted!(reading, header);
    let octets = reading.octets();
    if let [vrsn, reserved, ..] = octets {
        reading.field("vrsn", 0, 1, *vrsn);
        reading.field("reserved", 1, 1, *reserved);
    }
    reading.field("packet length", 2, 2, header.length);
    let end = usize::from(header.length);
    if end > total {
        let all = end - LEN;
        let have = total - LEN;
        reading.note(format!("{have} of {all} octets of TPDU are here"));
    }
    reading.follow(&INSIDE, LEN, end.min(total) - LEN);
    advance(reading, end);
    reading.follow(&AGAIN, end, total.saturating_sub(end));
    Some(end)
}

/// What follows `by` octets further on in the stream.
fn advance(reading: &mut Reading<'_>, by: usize) {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    reading.around.seq = reading.around.seq.wrapping_add(by);
}

fn part(reading: &mut Reading<'_>, stream: Stream) {
    let (octets, seq, packet) = (reading.octets(), reading.around.seq, reading.around.packet);
    let flow = reading.state.streams.flow(stream, packet);
    let len = u32::try_from(octets.len()).unwrap_or(u32::MAX);
    if let Some(next) = flow.next {
        let ahead = seq.wrapping_sub(next).cast_signed();
        if ahead < 0 {
            let behind = usize::try_from(ahead.unsigned_abs()).unwrap_or(usize::MAX);
            let again = behind.min(octets.len());
            reading.header_len(again);
            reading.summary(format!("TPKT, {again} octets sent again"));
            reading.note("read before, in the segment that brought them first");
            advance(reading, again);
            return reading.follow(&AGAIN, again, octets.len() - again);
        }
        if ahead > 0 {
            let lost = flow.tpkt.is_begun();
            let _ = flow.tpkt.end("");
            let _ = flow.tsdu.end("");
            let what = if lost {
                ", and the packet that they belong to is given up"
            } else {
                ""
            };
            reading.note(format!(
                "{ahead} octets before this segment are not in the capture{what}"
            ));
        }
    }
    let flow = reading.state.streams.flow(stream, packet);
    if !flow.tpkt.is_begun() {
        match Header::parse(octets, MOST) {
            Ok((header, _)) if usize::from(header.length) <= octets.len() => {
                flow.next = Some(seq.wrapping_add(u32::from(header.length)));
                alone(reading);
                return;
            }
            Err(why) if octets.len() >= LEN => {
                // Nobody knows where the next one begins.
                flow.next = Some(seq.wrapping_add(len));
                return reading.malformed(&why);
            }
            Ok(_) | Err(_) => {}
        }
    }
    // As many as belong to the packet that is under way.
    let before = flow.tpkt.octets.len();
    let head: Vec<u8> = flow
        .tpkt
        .octets
        .iter()
        .chain(octets)
        .copied()
        .take(LEN)
        .collect();
    let need = match Header::parse(&head, MOST) {
        Ok((header, _)) => usize::from(header.length),
        Err(why) if head.len() >= LEN => {
            let _ = flow.tpkt.end("");
            flow.next = Some(seq.wrapping_add(len));
            return reading.malformed(&why);
        }
        // Not even the header is all there.
        Err(_) => usize::MAX,
    };
    let take = octets.len().min(need.saturating_sub(before));
    flow.tpkt
        .add(packet, octets.get(..take).unwrap_or_default());
    flow.next = Some(seq.wrapping_add(u32::try_from(take).unwrap_or(u32::MAX)));
    let have = flow.tpkt.octets.len();
    let done: Option<Reassembled> = (have == need).then(|| flow.tpkt.end("TPKT"));
    reading.header_len(take);
    reading.field("part", 0, take, octets.get(..take).unwrap_or_default());
    match done {
        Some(reassembled) => {
            reading.summary(format!("TPKT length {need}, its last {take} octets"));
            reading.follow_reassembled(&INSIDE, reassembled, LEN, need - LEN);
            advance(reading, take);
            reading.follow(&AGAIN, take, octets.len() - take);
        }
        None if need == usize::MAX => reading.summary("TPKT, a part of its header"),
        None => reading.summary(format!("TPKT length {need}, {have} octets so far")),
    }
}
