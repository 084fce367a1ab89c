//! How it ended for one end, and what that end saw.

use kumiki_graph::{Instant, Reason};

/// How a connection ended for its program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConnectionEnd {
    /// In order, both ways.
    Closed,
    /// TCP said so, and why.
    Aborted(Reason),
    /// The program ended it, or refused it.
    Own,
    /// The run told the program to give up: the peer was gone and had nothing to say about it.
    GaveUp,
    /// There never was one.
    Never,
}

/// What one end saw, when all is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// How it ended; `None` if it has not.
    pub over: Option<ConnectionEnd>,
    /// When it ended.
    pub over_at: Instant,
    /// Octets handed to TCP.
    pub written: u64,
    /// Octets that TCP delivered.
    pub received: u64,
    /// The peer's end of data was indicated.
    pub peer_released: bool,
    /// This end said that it would send no more.
    pub released: bool,
    /// The program knew the connection.
    pub opened: bool,
    /// CRC-32 of what was delivered, where it was real octets.
    pub crc: u32,
}

impl Report {
    /// Of an end that does not exist.
    pub(crate) const fn none() -> Self {
        Self {
            over: None,
            over_at: Instant::ZERO,
            written: 0,
            received: 0,
            peer_released: false,
            released: false,
            opened: false,
            crc: 0,
        }
    }

    /// A number that any difference changes.
    pub(crate) fn hash(&self) -> u64 {
        let how: u64 = match self.over.clone() {
            None => 0,
            Some(ConnectionEnd::Closed) => 1,
            Some(ConnectionEnd::Own) => 2,
            Some(ConnectionEnd::GaveUp) => 3,
            Some(ConnectionEnd::Never) => 4,
            Some(ConnectionEnd::Aborted(reason)) => 5 + reason.to_string().len() as u64,
        };
        [how, self.over_at.as_nanos(), self.written, self.received, u64::from(self.crc)]
            .into_iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
                (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
            })
    }
}
