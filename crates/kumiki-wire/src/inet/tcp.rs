//! TCP headers.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.1; options of RFC 7323, RFC 2018, RFC 5482 and RFC 9768; the AE flag of RFC 9768 |
//! | Checksum | over [`pseudo_header`](crate::inet::ipv4::pseudo_header), header and data: by whoever holds the data |
//! | Left out | options other than MSS, window scale, SACK, timestamps, user timeout and Accurate ECN (stepped over); the three reserved bits (ignored, sent as zero) |

use core::fmt;

use kumiki_octets::Sum;

use crate::Malformed;
use crate::flags::flags;

pub mod accecn;
pub mod options;
mod seq;
#[cfg(test)]
mod tests;

pub use accecn::AccEcn;
pub use options::{Options, SackBlock, SackBlocks, UserTimeout};
pub use seq::Seq;

/// Octets of a header without options.
pub const MIN_LEN: usize = 20;
/// Octets of the longest header.
pub const MAX_LEN: usize = MIN_LEN + options::MAX_LEN;
/// Where the checksum lies in the header.
pub const CHECKSUM_OFFSET: usize = 16;

/// Well-known ports that Kumiki's stacks use.
pub mod port {
    /// ISO transport on TCP (RFC 1006).
    pub const ISO_TSAP: u16 = 102;
    /// X.25 over TCP (RFC 1613).
    pub const XOT: u16 = 1998;
}

flags! {
    /// The control bits, RFC 9293 section 3.1, with AE of RFC 9768 (once NS): nine bits.
    Flags(u16) {
        /// Synchronise sequence numbers.
        SYN = 0x002;
        /// No more data from the sender.
        FIN = 0x001;
        /// Reset the connection.
        RST = 0x004;
        /// Push function.
        PSH = 0x008;
        /// The urgent pointer is significant.
        URG = 0x020;
        /// The acknowledgment field is significant.
        ACK = 0x010;
        /// ECN-Echo (RFC 3168).
        ECE = 0x040;
        /// Congestion window reduced (RFC 3168).
        CWR = 0x080;
        /// Accurate ECN (RFC 9768).
        AE = 0x100;
    }
}

/// A TCP header. The data offset is not a field: it follows from the options.
///
/// ```
/// use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};
///
/// let options = Options { mss: Some(1460), ..Options::default() };
/// let (source_port, destination_port) = (49152, 80);
/// let syn = Header { source_port, destination_port, seq: Seq(1), flags: Flags::SYN, options, ..Header::default() };
/// let mut octets = vec![0; syn.len()];
/// syn.emit(&mut octets);
/// assert_eq!(octets.len(), 24);
/// assert_eq!(Header::parse(&octets, octets.len()), Ok((syn, 24)));
///
/// // What is not one says why: the protocol, the field, what was found and what would be right.
/// octets[12] = 0x40;
/// let why = Header::parse(&octets, octets.len()).unwrap_err();
/// assert_eq!(why.to_string(), "TCP: data offset is 0x4, expected 5 to 15 words");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// SEG.SEQ: of the first data octet, or of the SYN if there is one.
    pub seq: Seq,
    /// SEG.ACK: the next sequence number expected; significant with [`Flags::ACK`].
    pub ack: Seq,
    /// The control bits.
    pub flags: Flags,
    /// SEG.WND as on the wire: to be shifted, except with [`Flags::SYN`]; unsigned (MUST-1).
    pub window: u16,
    /// As on the wire; neither computed nor verified here.
    pub checksum: u16,
    /// Offset from `seq` to the octet after the urgent data; significant with [`Flags::URG`].
    pub urgent_pointer: u16,
    /// The options.
    pub options: Options,
}

impl Header {
    /// Reads a header from the octets at the front of a segment of `total` octets; also gives the header's length.
    ///
    /// # Errors
    /// The header is not all there, or the data offset is below 5 or beyond the segment. Illegal options are not an
    /// error, see [`Options::illegal_length`].
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let Some((fixed, rest)) = front.split_first_chunk::<MIN_LEN>() else {
            return Err(short(MIN_LEN, front.len()));
        };
        #[rustfmt::skip] // one line is one 32-bit word of the standard's drawing
        let [
            s0, s1, d0, d1,
            q0, q1, q2, q3,
            a0, a1, a2, a3,
            offset_ae, control, w0, w1,
            c0, c1, u0, u1,
        ] = *fixed;
        let words = usize::from(offset_ae >> 4);
        let len = 4 * words;
        if len < MIN_LEN {
            return Err(Malformed::Field {
                protocol: "TCP",
                field: "data offset",
                found: u64::from(offset_ae >> 4),
                expected: "5 to 15 words",
            });
        }
        if len > total {
            return Err(Malformed::Length {
                protocol: "TCP",
                field: "data offset",
                found: len,
                least: MIN_LEN,
                most: total,
            });
        }
        let Some(options) = rest.get(..len - MIN_LEN) else {
            return Err(short(len, front.len()));
        };
        let header = Self {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            seq: Seq(u32::from_be_bytes([q0, q1, q2, q3])),
            ack: Seq(u32::from_be_bytes([a0, a1, a2, a3])),
            flags: Flags::from_bits(u16::from_be_bytes([offset_ae, control])),
            window: u16::from_be_bytes([w0, w1]),
            checksum: u16::from_be_bytes([c0, c1]),
            urgent_pointer: u16::from_be_bytes([u0, u1]),
            options: Options::parse(options),
        };
        Ok((header, len))
    }

    /// Octets that [`Header::emit`] writes: 20 to 60, a multiple of 4.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        MIN_LEN + self.options.len()
    }

    /// Writes [`Header::len`] octets, the checksum as it stands in the field.
    pub fn emit(&self, out: &mut [u8]) {
        let len = self.len();
        debug_assert_eq!(out.len(), len);
        let Some((fixed, options)) = out.split_first_chunk_mut::<MIN_LEN>() else {
            return;
        };
        // 5 to 15 words, so the offset fits its four bits.
        let words = u16::try_from(len / 4).unwrap_or_default();
        let [offset_ae, control] = ((words << 12) | self.flags.bits()).to_be_bytes();
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [q0, q1, q2, q3] = self.seq.0.to_be_bytes();
        let [a0, a1, a2, a3] = self.ack.0.to_be_bytes();
        let [w0, w1] = self.window.to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        let [u0, u1] = self.urgent_pointer.to_be_bytes();
        #[rustfmt::skip] // one line is one 32-bit word of the standard's drawing
        let octets = [
            s0, s1, d0, d1,
            q0, q1, q2, q3,
            a0, a1, a2, a3,
            offset_ae, control, w0, w1,
            c0, c1, u0, u1,
        ];
        *fixed = octets;
        self.options.emit(options);
    }
}

/// A header as nearly every segment has: ACK and perhaps PSH, and no option but timestamps in the form of RFC 7323
/// appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainHeader {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// SEG.SEQ.
    pub seq: Seq,
    /// SEG.ACK.
    pub ack: Seq,
    /// With PSH.
    pub push: bool,
    /// SEG.WND as on the wire.
    pub window: u16,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
}

impl PlainHeader {
    /// The most octets of such a header.
    pub const MAX_LEN: usize = MIN_LEN + 12;

    /// Reads a header of this form, which takes all of `octets`; `None` where it has another.
    #[must_use]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let (fixed, rest) = octets.split_first_chunk::<MIN_LEN>()?;
        #[rustfmt::skip] // one line is one 32-bit word of the standard's drawing
        let [
            s0, s1, d0, d1,
            q0, q1, q2, q3,
            a0, a1, a2, a3,
            offset_ae, control, w0, w1,
            _, _, u0, u1,
        ] = *fixed;
        let timestamps = match *rest {
            [] => None,
            [options::kind::NOP, options::kind::NOP, options::kind::TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3] => {
                Some((u32::from_be_bytes([v0, v1, v2, v3]), u32::from_be_bytes([e0, e1, e2, e3])))
            }
            _ => return None,
        };
        let words = usize::from(offset_ae >> 4);
        let flags = Flags::from_bits(u16::from_be_bytes([offset_ae, control]));
        let push = flags == Flags::ACK | Flags::PSH;
        if 4 * words != octets.len() || !(push || flags == Flags::ACK) || u0 | u1 != 0 {
            return None;
        }
        Some(Self {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            seq: Seq(u32::from_be_bytes([q0, q1, q2, q3])),
            ack: Seq(u32::from_be_bytes([a0, a1, a2, a3])),
            push,
            window: u16::from_be_bytes([w0, w1]),
            timestamps,
        })
    }

    /// How many octets it has.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        if self.timestamps.is_some() { Self::MAX_LEN } else { MIN_LEN }
    }

    /// What [`Header::emit`] writes for it, with a checksum of zero, and how many octets that is; those behind are
    /// zero.
    #[inline]
    #[must_use]
    pub fn octets(&self) -> ([u8; Self::MAX_LEN], usize) {
        let [w0, w1, w2, w3, w4, w5, w6, w7] = self.words();
        let pair = |high: u32, low: u32| (u64::from(high) << 32 | u64::from(low)).to_be_bytes();
        let mut octets = [0; Self::MAX_LEN];
        if let ([a, b, c, d], []) = octets.as_chunks_mut::<8>() {
            (*a, *b, *c, *d) = (pair(w0, w1), pair(w2, w3), pair(w4, w5), pair(w6, w7));
        }
        (octets, self.len())
    }

    /// The one's complement sum of [these octets](Self::octets).
    #[inline]
    #[must_use]
    pub fn sum(&self) -> Sum {
        let total: u64 = self.words().into_iter().map(u64::from).sum();
        let halves = (total & 0xffff_ffff) + (total >> 32);
        let [a, b, c, d, e, ..] = halves.to_le_bytes();
        let (low, high) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        Sum::ZERO.add_words([low, high, e.into()])
    }

    #[inline]
    fn words(&self) -> [u32; Self::MAX_LEN / 4] {
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        let flags = if self.push { Flags::ACK | Flags::PSH } else { Flags::ACK };
        let (offset, [option, value, echo]) = match self.timestamps {
            None => (5, [0; 3]),
            Some((value, echo)) => {
                const NOP: u8 = options::kind::NOP;
                (8, [u32::from_be_bytes([NOP, NOP, options::kind::TIMESTAMPS, 10]), value, echo])
            }
        };
        [
            pair(self.source_port, self.destination_port),
            self.seq.0,
            self.ack.0,
            pair(offset << 12 | flags.bits(), self.window),
            0,
            option,
            value,
            echo,
        ]
    }
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "TCP", need, have }
}

impl fmt::Display for Header {
    /// For example `TCP 54694 > 10102 SYN seq 7 win 65495 <mss 65495, sackOK>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source_port, destination_port, seq, ack, flags, window, .. } = self;
        write!(f, "TCP {source_port} > {destination_port} {flags} seq {seq}")?;
        if flags.contains(Flags::ACK) {
            write!(f, " ack {ack}")?;
        }
        write!(f, " win {window}")?;
        if flags.contains(Flags::URG) {
            write!(f, " urg {}", self.urgent_pointer)?;
        }
        if self.options != Options::NONE {
            write!(f, " <{}>", self.options)?;
        }
        Ok(())
    }
}
