//! Link quality reports: counters of both ends, so that each can tell what the link lost.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1989 section 2.6 |
//! | Below | PPP protocol c025, without code and length |
//! | Left out | the counters that a receiver appends on arrival (SaveIn...), which are never sent |
//!
//! Names are those of the report's receiver: *Last* is what it said itself before, *Peer* is the sender. All counters wrap.

use core::fmt;

use crate::{Malformed, put};

/// Octets of a report.
pub const LEN: usize = 48;

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Report {
    /// The sender's magic number; zero where none was agreed on.
    pub magic: u32,
    /// `PeerOutLQRs` of the last report that the sender has received.
    pub last_out_lqrs: u32,
    /// `PeerOutPackets` of that report.
    pub last_out_packets: u32,
    /// `PeerOutOctets` of that report.
    pub last_out_octets: u32,
    /// Reports that the sender had received by then; zero: what stands before says nothing yet.
    pub peer_in_lqrs: u32,
    /// Packets that it had received.
    pub peer_in_packets: u32,
    /// Packets that it had received and dropped without an error in them.
    pub peer_in_discards: u32,
    /// Packets that it had received with an error.
    pub peer_in_errors: u32,
    /// Octets of what it had received well.
    pub peer_in_octets: u32,
    /// Reports that the sender has sent, this one among them.
    pub peer_out_lqrs: u32,
    /// Packets that it has sent, this one among them.
    pub peer_out_packets: u32,
    /// Octets that it has sent, those of this report among them.
    pub peer_out_octets: u32,
}

impl Report {
    /// Reads a report; also gives its length. What follows it is padding.
    ///
    /// # Errors
    /// It is not all there.
    pub fn parse(information: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some((words, _)) = information.as_chunks::<4>().0.split_first_chunk::<12>() else {
            return Err(Malformed::Short { protocol: "LQR", need: LEN, have: information.len() });
        };
        let [
            magic,
            last_out_lqrs,
            last_out_packets,
            last_out_octets,
            peer_in_lqrs,
            peer_in_packets,
            peer_in_discards,
            peer_in_errors,
            peer_in_octets,
            peer_out_lqrs,
            peer_out_packets,
            peer_out_octets,
        ] = words.map(u32::from_be_bytes);
        let report = Self {
            magic,
            last_out_lqrs,
            last_out_packets,
            last_out_octets,
            peer_in_lqrs,
            peer_in_packets,
            peer_in_discards,
            peer_in_errors,
            peer_in_octets,
            peer_out_lqrs,
            peer_out_packets,
            peer_out_octets,
        };
        Ok((report, LEN))
    }

    /// Octets that [`Report::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a report is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// The names of the standard and the values, in the order of the wire.
    #[must_use]
    pub const fn words(&self) -> [(&'static str, u32); 12] {
        [
            ("Magic-Number", self.magic),
            ("LastOutLQRs", self.last_out_lqrs),
            ("LastOutPackets", self.last_out_packets),
            ("LastOutOctets", self.last_out_octets),
            ("PeerInLQRs", self.peer_in_lqrs),
            ("PeerInPackets", self.peer_in_packets),
            ("PeerInDiscards", self.peer_in_discards),
            ("PeerInErrors", self.peer_in_errors),
            ("PeerInOctets", self.peer_in_octets),
            ("PeerOutLQRs", self.peer_out_lqrs),
            ("PeerOutPackets", self.peer_out_packets),
            ("PeerOutOctets", self.peer_out_octets),
        ]
    }

    /// Writes [`LEN`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        for (_, word) in self.words() {
            put(&mut out, word.to_be_bytes());
        }
    }
}

impl fmt::Display for Report {
    /// For example `LQR magic 0x7e7d1234 sent 3 (LQR 1), had received 2 (LQR 0), errors 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "LQR magic {:#010x} sent {} (LQR {}), had received {} (LQR {}), errors {}",
            self.magic,
            self.peer_out_packets,
            self.peer_out_lqrs,
            self.peer_in_packets,
            self.peer_in_lqrs,
            self.peer_in_errors
        )
    }
}
