//! Link quality reports: counters of both ends, so that each can tell what the link lost.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1989 section 2.6 |
//! | Below | PPP protocol c025, without code and length |
//! | Left out | the counters that a receiver appends on arrival (SaveIn...), which are never sent |
//!
//! Names are those of the report's receiver: *Last* is what it said itself before, *Peer* is the sender. All counters
//! wrap.

use core::fmt;

use crate::Malformed;
use crate::layout::layout;

/// Octets of a report.
pub const LEN: usize = 48;

layout! {
    "LQR", LEN;
    /// A report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Report {
        /// The sender's magic number; zero where none was agreed on.
        pub magic: u32 = "Magic-Number", hex;
        /// `PeerOutLQRs` of the last report that the sender has received.
        pub last_out_lqrs: u32 = "LastOutLQRs";
        /// `PeerOutPackets` of that report.
        pub last_out_packets: u32 = "LastOutPackets";
        /// `PeerOutOctets` of that report.
        pub last_out_octets: u32 = "LastOutOctets";
        /// Reports that the sender had received by then; zero: what stands before says nothing yet.
        pub peer_in_lqrs: u32 = "PeerInLQRs";
        /// Packets that it had received.
        pub peer_in_packets: u32 = "PeerInPackets";
        /// Packets that it had received and dropped without an error in them.
        pub peer_in_discards: u32 = "PeerInDiscards";
        /// Packets that it had received with an error.
        pub peer_in_errors: u32 = "PeerInErrors";
        /// Octets of what it had received well.
        pub peer_in_octets: u32 = "PeerInOctets";
        /// Reports that the sender has sent, this one among them.
        pub peer_out_lqrs: u32 = "PeerOutLQRs";
        /// Packets that it has sent, this one among them.
        pub peer_out_packets: u32 = "PeerOutPackets";
        /// Octets that it has sent, those of this report among them.
        pub peer_out_octets: u32 = "PeerOutOctets";
    }
}

impl Report {
    /// Reads a report; also gives its length. What follows it is padding.
    ///
    /// # Errors
    /// It is not all there.
    pub fn parse(information: &[u8]) -> Result<(Self, usize), Malformed> {
        Ok((Self::read(information)?, LEN))
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
