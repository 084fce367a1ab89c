//! A file as a row of octets that knows its place, and lets its next octets be looked at before they are taken.

use std::io::{ErrorKind, Read};

use super::{Format, MOST_OCTETS, Unreadable};

/// Octets asked of the file at a time.
const PIECE: usize = 64 << 10;

pub(super) struct Source<R> {
    file: R,
    /// Octets that were read and not taken: from `taken` to `filled`. What is behind is room for more, which is made
    /// ready once and not for each read.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    offset: u64,
    ended: bool,
}

impl<R: Read> Source<R> {
    pub(super) const fn new(file: R) -> Self {
        Self { file, buffer: Vec::new(), taken: 0, filled: 0, offset: 0, ended: false }
    }

    /// Where the next octet stands in the file.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `len` octets, or as many as there are; they stay. At most [`MOST_OCTETS`].
    pub(super) fn peek(&mut self, len: usize) -> Result<&[u8], Unreadable> {
        let len = len.min(MOST_OCTETS);
        while self.filled - self.taken < len && !self.ended {
            self.fill()?;
        }
        let ahead = self.buffer.get(self.taken..self.filled).unwrap_or_default();
        Ok(ahead.get(..len).unwrap_or(ahead))
    }

    fn fill(&mut self) -> Result<(), Unreadable> {
        if self.taken >= PIECE || self.taken == self.filled {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        }
        let room = self.filled..self.filled + PIECE;
        if self.buffer.len() < room.end {
            self.buffer.resize(room.end, 0);
        }
        let read = loop {
            match self.file.read(self.buffer.get_mut(room.clone()).unwrap_or_default()) {
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        match read {
            Ok(read) => {
                // A reader that says more than it had room for is not believed.
                self.filled += read.min(PIECE);
                self.ended = read == 0;
                Ok(())
            }
            Err(why) => {
                self.ended = true;
                let offset = self.offset.saturating_add(as_u64(self.filled - self.taken));
                Err(Unreadable::Io { offset, why })
            }
        }
    }

    /// Goes on by `len` octets that [`Source::peek`] has shown.
    pub(super) fn skip(&mut self, len: usize) {
        let len = len.min(self.filled - self.taken);
        self.taken += len;
        self.offset = self.offset.saturating_add(as_u64(len));
    }

    /// Takes `len` octets: `what` of `format`, which began at `began` and of which `before` octets were taken. `None`
    /// where the file ends exactly there and nothing was taken.
    pub(super) fn take(&mut self, len: usize, reading: &ReadPosition) -> Result<Option<Vec<u8>>, Unreadable> {
        let before = usize::try_from(self.offset.saturating_sub(reading.began)).unwrap_or(usize::MAX);
        let octets = self.peek(len)?.to_vec();
        self.skip(octets.len());
        if octets.len() == len {
            return Ok(Some(octets));
        }
        if octets.is_empty() && before == 0 {
            return Ok(None);
        }
        Err(Unreadable::Ends {
            format: reading.format,
            packet: reading.packet,
            what: reading.what,
            offset: reading.began,
            have: before.saturating_add(octets.len()),
            need: before.saturating_add(len),
            end: self.offset,
        })
    }

    /// As [`Source::take`], where the end of the file is not expected.
    pub(super) fn take_more(&mut self, len: usize, reading: &ReadPosition) -> Result<Vec<u8>, Unreadable> {
        Ok(self.take(len, reading)?.unwrap_or_default())
    }

    /// Goes on by `len` octets, however many that are.
    pub(super) fn skip_more(&mut self, len: usize, reading: &ReadPosition) -> Result<(), Unreadable> {
        let mut left = len;
        while left > 0 {
            let step = left.min(PIECE);
            let have = self.peek(step)?.len();
            self.skip(have);
            left -= have;
            if have < step {
                let before = usize::try_from(self.offset.saturating_sub(reading.began));
                let have = before.unwrap_or(usize::MAX);
                return Err(Unreadable::Ends {
                    format: reading.format,
                    packet: reading.packet,
                    what: reading.what,
                    offset: reading.began,
                    have,
                    need: have.saturating_add(left),
                    end: self.offset,
                });
            }
        }
        Ok(())
    }
}

/// What is being read, for errors.
pub(super) struct ReadPosition {
    pub(super) format: Format,
    /// The packet that it belongs to or that comes next.
    pub(super) packet: u64,
    pub(super) what: &'static str,
    /// Where it began in the file.
    pub(super) began: u64,
}

impl ReadPosition {
    pub(super) fn wrong(&self, found: String, right: impl Into<String>) -> Unreadable {
        Unreadable::Wrong { format: self.format, packet: self.packet, offset: self.began, found, right: right.into() }
    }
}

fn as_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many octets a read, which is no divisor of anything.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            let (now, later) = self.0.split_at(self.0.len().min(40_961).min(room.len()));
            room[..now.len()].copy_from_slice(now);
            self.0 = later;
            Ok(now.len())
        }
    }

    #[test]
    fn octets_stay_in_order_over_many_reads() {
        let file: Vec<u8> = (0..251).cycle().take(5 * PIECE + 77).collect();
        let mut source = Source::new(Dribble(&file));
        let mut came = Vec::new();
        // Looked at far ahead and taken little by little, so that what is left is moved to the front again and again.
        loop {
            let ahead = source.peek(1500).unwrap().to_vec();
            let taken = ahead.len().min(997);
            came.extend_from_slice(&ahead[..taken]);
            source.skip(taken);
            assert_eq!(source.offset(), came.len() as u64);
            if taken == 0 {
                break;
            }
        }
        assert!(came == file, "{} of {} octets", came.len(), file.len());
    }
}
