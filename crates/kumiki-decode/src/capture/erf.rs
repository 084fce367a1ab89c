//! ERF files: records one after the other, each with its own length. What is in a record is read by
//! [`protocol::erf`](crate::protocol).
//!
//! | | |
//! |---|---|
//! | Specification | as there |
//! | Left out | padding records (type 48) are stepped over |

use std::io::Read;

use super::source::{ReadPosition, Source};
use super::{Format, Link, Record, Time, Unreadable};

/// Octets of the fixed header, and so of the shortest record.
const HEADER: usize = 16;
/// The number under which captures of another format hold such records.
const LINK_TYPE: u32 = 197;
/// A record that only fills a block of the card's memory.
const PAD: u8 = 48;

/// Length of the record that begins with these octets, if it may be one.
fn record_len(octets: &[u8]) -> Option<usize> {
    let [_, _, _, _, _, _, _, _, kind, _, r0, r1, _, _, _, _] = *octets.first_chunk::<HEADER>()?;
    let rlen = usize::from(u16::from_be_bytes([r0, r1]));
    let known = matches!(kind & 0x7f, 1..=25 | 27 | 28 | 48);
    (known && rlen >= HEADER).then_some(rlen)
}

/// Whether a file begins like this: records that hang together, either three of them or up to the end.
pub(super) fn is_plausible(octets: &[u8], whole: bool) -> bool {
    let mut rest = octets;
    for _ in 0..3 {
        let Some(len) = record_len(rest) else {
            return false;
        };
        match rest.get(len..) {
            Some([]) => return whole,
            Some(behind) => rest = behind,
            // The first record is longer than what was looked at.
            None => return false,
        }
    }
    true
}

pub(super) fn next<R: Read>(source: &mut Source<R>, number: u64) -> Result<Option<Record>, Unreadable> {
    loop {
        let place = ReadPosition { format: Format::Erf, packet: number, what: "a record", began: source.offset() };
        let Some(mut octets) = source.take(HEADER, &place)? else {
            return Ok(None);
        };
        let Some(&[t0, t1, t2, t3, s0, s1, s2, s3, kind, flags, r0, r1, _, _, w0, w1]) = octets.first_chunk::<HEADER>()
        else {
            return Ok(None);
        };
        let rlen = usize::from(u16::from_be_bytes([r0, r1]));
        if rlen < HEADER {
            return Err(place.wrong(format!("the record's length (rlen) is {rlen}"), "at least 16, its own header"));
        }
        octets.extend(source.take_more(rlen - HEADER, &place)?);
        if kind & 0x7f == PAD {
            continue;
        }
        let fraction = u32::from_le_bytes([t0, t1, t2, t3]);
        let seconds = u32::from_le_bytes([s0, s1, s2, s3]);
        let nanoseconds = (u64::from(fraction) * 1_000_000_000) >> 32;
        let wlen = usize::from(u16::from_be_bytes([w0, w1]));
        // The varying-length records of a card may be shorter than what was on the line.
        let original_len = octets.len().max(if flags & 0x08 == 0 { 0 } else { wlen });
        return Ok(Some(Record {
            number,
            file_offset: place.began,
            time: Some(Time::new(seconds, nanoseconds)),
            link: Link::Number(LINK_TYPE),
            original_len,
            octets,
            ..Record::default()
        }));
    }
}
