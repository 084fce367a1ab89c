//! XOT: X.25 packets on a TCP connection.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1613 sections 4.1 and 6.5 |
//! | Used by | `kumiki_x25::xot`, `kumiki-decode` |
//! | Left out | nothing of the octets; the packets themselves are in [`crate::x25::x25`] |
//!
//! ```text
//!        0        1        2        3
//!   +--------+--------+--------+--------+
//!   | version = 0     | length          |   length: octets of the packet behind
//!   +--------+--------+--------+--------+
//! ```

use core::fmt;

use kumiki_octets::text::counted;

use crate::{Malformed, put, put_slice};

/// The TCP port that calls go to (RFC 1613 section 5).
pub const PORT: u16 = 1998;

/// Octets of the header.
pub const LEN: usize = 4;

/// The fewest octets of a packet.
pub const LEAST: usize = 3;

/// The most octets of a packet that are taken: 4096 of user data and a header modulo 128, or a call set-up with
/// everything in it.
pub const MOST: usize = 4100;

/// The header in front of each packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Header {
    /// Octets of the packet.
    pub length: u16,
}

impl Header {
    /// Reads a header; also gives its length.
    ///
    /// # Errors
    /// It is not all there, or the connection must be closed for its version or its length (RFC 1613 section 4.1).
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(&[v0, v1, l0, l1]) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "XOT", need: LEN, have: front.len() });
        };
        let (version, length) = (u16::from_be_bytes([v0, v1]), u16::from_be_bytes([l0, l1]));
        if version != 0 {
            return Err(Malformed::Field { protocol: "XOT", field: "version", found: version.into(), expected: "0" });
        }
        if !(LEAST..=MOST).contains(&length.into()) {
            return Err(Malformed::Length {
                protocol: "XOT",
                field: "length",
                found: length.into(),
                least: LEAST,
                most: MOST,
            });
        }
        Ok((Self { length }, LEN))
    }

    /// Octets that [`Header::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes [`LEN`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let [l0, l1] = self.length.to_be_bytes();
        put(&mut out, [0, 0, l0, l1]);
    }
}

impl fmt::Display for Header {
    /// For example `XOT, 19 octets`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XOT, {}", counted(self.length, "octet"))
    }
}

/// The packet type of a PVC set-up, one that X.25 does not use.
pub const PVC_SETUP: u8 = 0xf5;

/// The version of the PVC set-up.
pub const PVC_VERSION: u8 = 0x81;

/// Octets of a PVC set-up before the names, with the three of an X.25 header.
pub const PVC_LEN: usize = 15;

/// How a PVC set-up stands (RFC 1613 section 6.5).
pub mod status {
    /// Waiting to connect; in an answer: it is set up.
    pub const WAITING: u8 = 0x00;
    /// Destination disconnected.
    pub const DISCONNECTED: u8 = 0x08;
    /// PVC or TCP connection refused.
    pub const REFUSED: u8 = 0x09;
    /// PVC or TCP routing error.
    pub const ROUTING: u8 = 0x0a;
    /// PVC or TCP connect timed out.
    pub const TIMED_OUT: u8 = 0x0b;
    /// Trying to connect by TCP.
    pub const TRYING: u8 = 0x10;
    /// Awaiting the answer.
    pub const AWAITING: u8 = 0x11;
    /// Connected.
    pub const CONNECTED: u8 = 0x12;
    /// No such destination interface.
    pub const NO_INTERFACE: u8 = 0x13;
    /// Destination interface is not up.
    pub const DOWN: u8 = 0x14;
    /// Destination interface has no X.25.
    pub const NOT_X25: u8 = 0x15;
    /// No such destination PVC.
    pub const NO_PVC: u8 = 0x16;
    /// Destination PVC configuration mismatch, or it is in use.
    pub const MISMATCH: u8 = 0x17;
    /// Mismatched flow control values.
    pub const FLOW: u8 = 0x18;
    /// Flow control values that cannot be supported.
    pub const FLOW_UNSUPPORTED: u8 = 0x19;
    /// PVC set-up protocol error.
    pub const PROTOCOL: u8 = 0x1a;
}

/// A status in words.
#[must_use]
pub const fn status_text(code: u8) -> &'static str {
    kumiki_osi_service::x25::circuit_status(code)
}

/// One end of a PVC in its set-up.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct PvcEnd {
    /// The name of the interface: ASCII, compared without case. At most 255 octets are written.
    pub interface: Vec<u8>,
    /// The logical channel.
    pub channel: u16,
}

/// The set-up of a PVC and its answer, with the X.25 header in front. Flow control is as the sender's interface has it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct PvcSetup {
    /// The general format identifier and the channel number of the X.25 header, as they stand.
    pub header: [u8; 2],
    /// See [`status`].
    pub status: u8,
    /// Who has opened the TCP connection.
    pub initiator: PvcEnd,
    /// The other one.
    pub responder: PvcEnd,
    /// Window of what comes in.
    pub window_in: u8,
    /// Window of what goes out.
    pub window_out: u8,
    /// Base-2 logarithm of the largest packet that comes in.
    pub packet_in: u8,
    /// The same of what goes out.
    pub packet_out: u8,
}

impl PvcSetup {
    /// Reads a whole packet.
    ///
    /// # Errors
    /// It is no PVC set-up of this version, or the names are not as long as is said.
    pub fn parse(packet: &[u8]) -> Result<Self, Malformed> {
        let Some((front, names)) = packet.split_first_chunk::<PVC_LEN>() else {
            return Err(Malformed::Short { protocol: "XOT PVC set-up", need: PVC_LEN, have: packet.len() });
        };
        let &[g, c, pti, version, status, n, i0, i1, m, r0, r1, win_in, win_out, size_in, size_out] = front;
        let field = |field, found: u8, expected| Malformed::Field {
            protocol: "XOT PVC set-up",
            field,
            found: found.into(),
            expected,
        };
        if pti != PVC_SETUP {
            return Err(field("packet type", pti, "0xf5"));
        }
        if version != PVC_VERSION {
            return Err(field("version", version, "0x81"));
        }
        let wrong = Malformed::Length {
            protocol: "XOT PVC set-up",
            field: "names",
            found: usize::from(n) + usize::from(m),
            least: names.len(),
            most: names.len(),
        };
        let (first, second) = names.split_at_checked(n.into()).ok_or(wrong)?;
        if second.len() != usize::from(m) {
            return Err(wrong);
        }
        Ok(Self {
            header: [g, c],
            status,
            initiator: PvcEnd { interface: first.to_vec(), channel: u16::from_be_bytes([i0, i1]) },
            responder: PvcEnd { interface: second.to_vec(), channel: u16::from_be_bytes([r0, r1]) },
            window_in: win_in,
            window_out: win_out,
            packet_in: size_in,
            packet_out: size_out,
        })
    }

    /// Octets that [`PvcSetup::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a packet is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        PVC_LEN + cut(&self.initiator.interface).len() + cut(&self.responder.interface).len()
    }

    /// Writes [`PvcSetup::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        let [first, second] = [&self.initiator, &self.responder].map(|end| cut(&end.interface));
        let [n, m] = [first, second].map(|name| u8::try_from(name.len()).unwrap_or(u8::MAX));
        put(out, self.header);
        put(out, [PVC_SETUP, PVC_VERSION, self.status, n]);
        put(out, self.initiator.channel.to_be_bytes());
        put(out, [m]);
        put(out, self.responder.channel.to_be_bytes());
        put(out, [self.window_in, self.window_out]);
        put(out, [self.packet_in, self.packet_out]);
        put_slice(out, first);
        put_slice(out, second);
    }
}

/// What fits behind a length of one octet.
fn cut(name: &[u8]) -> &[u8] {
    name.get(..255).unwrap_or(name)
}

impl fmt::Display for PvcSetup {
    /// For example `PVC set-up: Serial0 3 > Serial1 5, waiting to connect`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = [&self.initiator, &self.responder];
        let (ours, theirs) = (a.interface.escape_ascii(), b.interface.escape_ascii());
        let status = status_text(self.status);
        write!(f, "PVC set-up: {ours} {} > {theirs} {}, {status}", a.channel, b.channel)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_call_of_xotpad_has_nineteen_octets() {
        let (header, len) = Header::parse(&[0, 0, 0, 0x13, 0x10]).unwrap();
        assert_eq!((header.length, len), (19, 4));
        assert_eq!(header.to_string(), "XOT, 19 octets");
    }

    #[test]
    fn what_must_close_the_connection_is_refused() {
        assert!(Header::parse(&[0, 1, 0, 3]).is_err());
        assert!(Header::parse(&[0, 0, 0, 2]).is_err());
        assert!(Header::parse(&[0, 0, 0xff, 0xff]).is_err());
        assert!(Header::parse(&[0, 0, 0]).is_err());
    }

    /// The layout of RFC 1613 section 6.5.
    #[test]
    fn a_pvc_set_up_is_laid_out_as_the_rfc_draws_it() {
        let setup = PvcSetup {
            header: [0x10, 0x01],
            status: status::WAITING,
            initiator: PvcEnd { interface: b"Serial0".to_vec(), channel: 3 },
            responder: PvcEnd { interface: b"S1".to_vec(), channel: 0x0105 },
            window_in: 2,
            window_out: 3,
            packet_in: 7,
            packet_out: 8,
        };
        let mut out = vec![0; setup.len()];
        setup.emit(&mut out);
        assert_eq!(out, [&[0x10, 0x01, 0xf5, 0x81, 0, 7, 0, 3, 2, 1, 5, 2, 3, 7, 8][..], b"Serial0S1"].concat());
        assert_eq!(PvcSetup::parse(&out), Ok(setup));
        out.pop();
        assert!(PvcSetup::parse(&out).is_err());
        assert!(PvcSetup::parse(&[0; 15]).is_err());
    }

    proptest! {
        #[test]
        fn a_set_up_is_read_as_it_was_written(fields: [u8; 7], first: Vec<u8>, second: Vec<u8>, channels: [u16; 2]) {
            let [g, c, status, window_in, window_out, packet_in, packet_out] = fields;
            let [a, b] = channels;
            let setup = PvcSetup {
                header: [g, c],
                status,
                initiator: PvcEnd { interface: first, channel: a },
                responder: PvcEnd { interface: second, channel: b },
                window_in,
                window_out,
                packet_in,
                packet_out,
            };
            let mut out = vec![0; setup.len()];
            setup.emit(&mut out);
            prop_assert_eq!(PvcSetup::parse(&out), Ok(setup));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            let _ = Header::parse(&octets);
            let _ = PvcSetup::parse(&octets);
        }
    }
}
