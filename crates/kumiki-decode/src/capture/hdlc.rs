//! The octets of a line in HDLC-like framing, as a recorder of a serial line leaves them: flags, stuffing, frame check
//! sequences.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1662 sections 3 and 4 |
//! | Gives | each frame with its frame check sequence, whose length is the one that comes out right |
//! | Left out | control characters that something on an asynchronous line put in: which ones was negotiated, and a file does not say it |

use std::io::Read;

use kumiki_octets::hdlc::{Accm, FLAG, Stop, Unstuffer};
use kumiki_octets::text::counted;

use super::source::{ReadPosition, Source};
use super::{Format, Link, MOST_OCTETS, Record, Unreadable};
use crate::protocol::fcs;

/// Octets looked at in one go.
const PIECE: usize = 64 << 10;

pub(super) struct Reader {
    layer: &'static str,
    /// Of the last frame whose sequence was right: a wrong one has most likely the same length.
    fcs_len: usize,
    /// Nothing has been read yet.
    first: bool,
}

/// Whether `octets` begin with a flag, and the first frame has a right check sequence.
pub(super) fn is_plausible(octets: &[u8]) -> bool {
    let Some(start) = octets.iter().position(|octet| *octet != FLAG) else {
        return false;
    };
    let (mut frame, mut unstuffer) = (Vec::new(), Unstuffer::new());
    let rest = octets.get(start..).unwrap_or_default();
    let taken = unstuffer.unstuff(rest, Accm::NONE, MOST_OCTETS, &mut frame);
    start > 0 && taken.stop == Stop::Flag && fcs::right_len(&frame).is_some()
}

impl Reader {
    pub(super) const fn new(layer: &'static str) -> Self {
        Self { layer, fcs_len: 2, first: true }
    }

    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>, number: u64) -> Result<Option<Record>, Unreadable> {
        let mut comments = Vec::new();
        if core::mem::take(&mut self.first) {
            let before = skip_to_flag(source)?;
            if before > 0 {
                comments.push(format!("{octets} before the first flag passed over", octets = counted(before, "octet")));
            }
        }
        skip_flags(source)?;
        let place = ReadPosition { format: Format::Hdlc, packet: number, what: "a frame", began: source.offset() };
        let (octets, stop) = frame(source, &place)?;
        if octets.is_empty() && stop == Stop::End {
            return Ok(None);
        }
        let mut missing = 1;
        match stop {
            Stop::Abort => comments.push("aborted: an escape stands before the flag".to_owned()),
            Stop::End | Stop::Full => {
                comments.push("the file ends within this frame".to_owned());
            }
            Stop::Flag => {
                missing = 0;
                self.fcs_len = fcs::right_len(&octets).unwrap_or(self.fcs_len);
            }
        }
        Ok(Some(Record {
            number,
            file_offset: place.began,
            link: Link::Named(self.layer),
            // Of a frame that did not end nobody knows how long it would have been.
            original_len: octets.len() + missing,
            fcs_len: if missing == 0 { self.fcs_len } else { 0 },
            octets,
            comments,
            ..Record::default()
        }))
    }
}

/// Goes on to behind the next flag; how many octets were before it.
fn skip_to_flag<R: Read>(source: &mut Source<R>) -> Result<usize, Unreadable> {
    let mut before = 0;
    loop {
        let piece = source.peek(PIECE)?;
        let (len, at) = (piece.len(), piece.iter().position(|octet| *octet == FLAG));
        if let Some(at) = at {
            source.skip(at + 1);
            return Ok(before + at);
        }
        if len == 0 {
            return Ok(before);
        }
        source.skip(len);
        before += len;
    }
}

/// Goes on to behind all flags that come next: idle line.
fn skip_flags<R: Read>(source: &mut Source<R>) -> Result<(), Unreadable> {
    loop {
        let piece = source.peek(PIECE)?;
        let flags = piece.iter().take_while(|octet| **octet == FLAG).count();
        let idle = flags > 0 && flags == piece.len();
        source.skip(flags);
        if !idle {
            return Ok(());
        }
    }
}

/// The next frame, unstuffed, and how it ended.
fn frame<R: Read>(source: &mut Source<R>, place: &ReadPosition) -> Result<(Vec<u8>, Stop), Unreadable> {
    let (mut frame, mut unstuffer) = (Vec::new(), Unstuffer::new());
    loop {
        let piece = source.peek(PIECE)?;
        if piece.is_empty() {
            return Ok((frame, Stop::End));
        }
        let taken = unstuffer.unstuff(piece, Accm::NONE, MOST_OCTETS, &mut frame);
        source.skip(taken.taken);
        match taken.stop {
            Stop::End => {}
            Stop::Flag | Stop::Abort => return Ok((frame, taken.stop)),
            Stop::Full => {
                return Err(
                    place.wrong(format!("a frame of more than {MOST_OCTETS} octets"), "flags (7E) between frames")
                );
            }
        }
    }
}
