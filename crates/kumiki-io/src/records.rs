//! Frames on a line that carries octets: each behind its length.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1613 section 2.2 for the layout: two octets of 0, two with the length, the frame. On a TCP connection this is XOT; here it is any line, and the frames may be those of a link. It is also how QEMU has frames on a stream (`net/stream.c`): a length of 32 bits |
//! | Around | any [`RealDevice`] that carries octets: a [`Line`](crate::line::Line), or a [`Stream`](crate::stream::Stream), to which all room is granted at first |
//! | Units | one frame each, of 1 to [`MOST`] octets; those of the line are put together and taken apart |
//! | Left out | finding the beginning of a record again: what is no record ends the device |

use std::collections::VecDeque;
use std::io;

use kumiki_graph::Address;
use kumiki_octets::Message;

use crate::device::{Arrival, Descriptors, RealDevice, Sent};

/// Octets before a frame.
const HEADER: usize = 4;
/// So many pieces of the line are taken at once without a frame in them: who sends empty records, or single octets, is
/// not waited for.
const PIECES: usize = 4;
/// The longest frame.
pub const MOST: usize = u16::MAX as usize;

/// Frames on a line; see the module.
#[derive(Debug)]
pub struct Records<D> {
    line: D,
    /// What has come and is not a whole record.
    gathered: Message,
    /// What has come with it and waits to be told.
    frames: VecDeque<Message>,
}

impl<D: RealDevice> Records<D> {
    /// Frames on `line`.
    #[must_use]
    pub fn new(line: D) -> Self {
        Self { line, gathered: Message::new(), frames: VecDeque::new() }
    }

    /// Takes whole records off what has come.
    fn take_apart(&mut self) -> io::Result<()> {
        loop {
            let mut header = [0; HEADER];
            if !self.gathered.copy_to(0, &mut header) {
                return Ok(());
            }
            let [0, 0, high, low] = header else {
                let why = format!("{header:02x?} where a record begins with 00 00");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            };
            let len = usize::from(u16::from_be_bytes([high, low]));
            if self.gathered.len() < HEADER + len {
                return Ok(());
            }
            let taken = self.gathered.split_to(HEADER);
            let Ok(frame) = taken.and_then(|_| self.gathered.split_to(len)) else {
                return Ok(());
            };
            if !frame.is_empty() {
                self.frames.push_back(frame);
            }
        }
    }
}

impl<D: RealDevice> RealDevice for Records<D> {
    fn descriptors(&self) -> Descriptors<'_> {
        self.line.descriptors()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        for _ in 0..PIECES {
            if let Some(frame) = self.frames.pop_front() {
                return Ok(Some(Arrival::of(frame)));
            }
            match self.line.receive()? {
                Some(Arrival::Unit { data, .. }) => {
                    self.gathered.append(data);
                    self.take_apart()?;
                }
                Some(Arrival::Down) => {
                    // A record that the far end has not finished is none.
                    self.gathered = Message::new();
                    return Ok(Some(Arrival::Down));
                }
                other @ (Some(Arrival::Up | Arrival::Room(_) | Arrival::NoUnit | Arrival::Told(_)) | None) => {
                    return Ok(other);
                }
            }
        }
        Ok(Some(self.frames.pop_front().map_or(Arrival::NoUnit, Arrival::of)))
    }

    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent> {
        let Ok(len) = u16::try_from(packet.len()) else {
            return Ok(Sent::Refused);
        };
        let [high, low] = len.to_be_bytes();
        let mut record = packet.clone();
        record.push_header(HEADER).copy_from_slice(&[0, 0, high, low]);
        self.line.send(&record, to)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.line.flush()
    }

    fn grant(&mut self, octets: u64) {
        self.line.grant(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that is what the test says.
    #[derive(Default)]
    struct Script {
        comes: VecDeque<Arrival>,
        sent: Vec<Vec<u8>>,
    }

    impl RealDevice for Script {
        fn descriptors(&self) -> Descriptors<'_> {
            Descriptors::default()
        }

        fn receive(&mut self) -> io::Result<Option<Arrival>> {
            Ok(self.comes.pop_front())
        }

        fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
            self.sent.push(packet.to_vec());
            Ok(Sent::Taken)
        }
    }

    fn device(pieces: &[&[u8]]) -> Records<Script> {
        let mut line = Script::default();
        for piece in pieces {
            let piece = Message::from_octets(piece);
            line.comes.push_back(Arrival::of(piece));
        }
        Records::new(line)
    }

    fn frames(device: &mut Records<Script>) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while let Some(arrival) = device.receive().unwrap() {
            if let Arrival::Unit { data, .. } = arrival {
                frames.push(data.to_vec());
            }
        }
        frames
    }

    #[test]
    fn records_are_found_in_whatever_pieces_they_come() {
        let octets = [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 9];
        let wanted = [vec![1, 2, 3], vec![9]];
        for at in 0..octets.len() {
            let (first, second) = octets.split_at(at);
            assert_eq!(frames(&mut device(&[first, second])), wanted);
        }
        let single: Vec<&[u8]> = octets.chunks(1).collect();
        assert_eq!(frames(&mut device(&single)), wanted);
    }

    #[test]
    fn who_sends_nothing_but_empty_records_is_not_waited_for() {
        let mut device = device(&[&[0; 4096][..]; 100]);
        assert!(matches!(device.receive(), Ok(Some(Arrival::NoUnit))));
        assert!(device.line.comes.len() > 90);
        let frame = Message::from_octets(&[0, 0, 0, 1, 7]);
        device.line.comes.push_front(Arrival::of(frame));
        assert!(matches!(device.receive(), Ok(Some(Arrival::Unit { data, .. })) if data.to_vec() == [7]));
        // One octet at a time.
        let slow = Message::from_octets(&[0, 0, 0x10, 0]);
        device.line.comes = [Arrival::of(slow)].into();
        device.line.comes.extend((0..4096).map(|_| Arrival::of(Message::from_octets(&[7]))));
        let mut turns = 0;
        let frame = loop {
            match device.receive().unwrap() {
                Some(Arrival::Unit { data, .. }) => break data,
                other => assert!(matches!(other, Some(Arrival::NoUnit)), "{other:?}"),
            }
            turns += 1;
        };
        assert_eq!((frame.len(), turns), (4096, 1024));
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        let why = device(&[&[0, 1, 0, 1, 5]]).receive().unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_record_that_was_begun_ends_with_the_line() {
        let mut device = device(&[&[0, 0, 0, 5, 1]]);
        device.line.comes.push_back(Arrival::Down);
        let again = Message::from_octets(&[0, 0, 0, 1, 7]);
        device.line.comes.push_back(Arrival::of(again));
        assert!(matches!(device.receive(), Ok(Some(Arrival::Down))));
        assert_eq!(frames(&mut device), [[7]]);
    }

    #[test]
    fn a_frame_leaves_behind_its_length() {
        let mut device = device(&[]);
        let frame = Message::from_octets(&[7; 300]);
        let sent = device.send(&frame, Address::NONE).unwrap();
        assert_eq!(sent, Sent::Taken);
        assert_eq!(device.line.sent[0][..5], [0, 0, 1, 44, 7]);
        assert_eq!(device.line.sent[0].len(), 304);
        let long = Message::from_octets(&[0; MOST + 1]);
        let sent = device.send(&long, Address::NONE).unwrap();
        assert_eq!(sent, Sent::Refused);
    }
}
