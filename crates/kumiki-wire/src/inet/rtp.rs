//! RTP headers.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 3550 section 5.1; payload types of RFC 3551 tables 4 and 5 |
//! | Padding | the bit alone: how long it is says the last octet of the packet, which is not at the front |
//! | Left out | the content of header extensions; RTCP |

use core::fmt;

use crate::Malformed;

/// Octets of a header without contributing sources and extension.
pub const LEN: usize = 12;
/// The port of the profile for audio and video (RFC 3551 section 8).
pub const PORT: u16 = 5004;
/// The version of RFC 3550.
pub const VERSION: u8 = 2;
/// The most contributing sources.
pub const MAX_SOURCES: usize = 15;

/// The name and the clock, in Hz, of a payload type that RFC 3551 gives a number to.
#[must_use]
pub const fn encoding(payload_type: u8) -> Option<(&'static str, u32)> {
    Some(match payload_type {
        0 => ("PCMU", 8_000),
        3 => ("GSM", 8_000),
        4 => ("G723", 8_000),
        5 => ("DVI4", 8_000),
        6 => ("DVI4", 16_000),
        7 => ("LPC", 8_000),
        8 => ("PCMA", 8_000),
        9 => ("G722", 8_000),
        10 | 11 => ("L16", 44_100),
        12 => ("QCELP", 8_000),
        13 => ("CN", 8_000),
        14 => ("MPA", 90_000),
        15 => ("G728", 8_000),
        16 => ("DVI4", 11_025),
        17 => ("DVI4", 22_050),
        18 => ("G729", 8_000),
        25 => ("CelB", 90_000),
        26 => ("JPEG", 90_000),
        28 => ("nv", 90_000),
        31 => ("H261", 90_000),
        32 => ("MPV", 90_000),
        33 => ("MP2T", 90_000),
        34 => ("H263", 90_000),
        _ => return None,
    })
}

/// An RTP header.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Whether padding ends the packet.
    pub padding: bool,
    /// What the payload's profile says: of video the last packet of a frame, of audio the first after silence.
    pub marker: bool,
    /// What the payload is, seven bits: see [`encoding`].
    pub payload_type: u8,
    /// One more with each packet.
    pub sequence: u16,
    /// When the first octet of the payload was sampled, by the payload's clock.
    pub timestamp: u32,
    /// The source.
    pub ssrc: u32,
    /// Sources that a mixer has mixed; those beyond [`MAX_SOURCES`] are not sent.
    pub sources: Vec<u32>,
    /// Of the header extension the sixteen bits of the profile, and its words.
    pub extension: Option<(u16, Vec<u32>)>,
}

impl Header {
    /// Reads a header; also gives its length.
    ///
    /// # Errors
    /// The header is not all there, or it is of another version than [`VERSION`].
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let short = |need| Malformed::Short { protocol: "RTP", need, have: front.len() };
        let Some(&[first, second, q0, q1, t0, t1, t2, t3, s0, s1, s2, s3]) = front.first_chunk::<LEN>() else {
            return Err(short(LEN));
        };
        if first >> 6 != VERSION {
            return Err(Malformed::Field {
                protocol: "RTP",
                field: "version",
                found: u64::from(first >> 6),
                expected: "2",
            });
        }
        let mut at = LEN;
        let mut words = |count: usize| {
            let end = at + 4 * count;
            let octets = front.get(at..end).ok_or_else(|| short(end))?;
            at = end;
            Ok(octets.chunks_exact(4).filter_map(<[u8]>::first_chunk).map(|word| u32::from_be_bytes(*word)).collect())
        };
        let sources: Vec<u32> = words(usize::from(first & 0xf))?;
        let extension = if first & 0x10 == 0 {
            None
        } else {
            let head: Vec<u32> = words(1)?;
            let [p0, p1, l0, l1] = head.first().copied().unwrap_or_default().to_be_bytes();
            Some((u16::from_be_bytes([p0, p1]), words(usize::from(u16::from_be_bytes([l0, l1])))?))
        };
        let header = Self {
            padding: first & 0x20 != 0,
            marker: second & 0x80 != 0,
            payload_type: second & 0x7f,
            sequence: u16::from_be_bytes([q0, q1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            ssrc: u32::from_be_bytes([s0, s1, s2, s3]),
            sources,
            extension,
        };
        Ok((header, at))
    }

    /// Octets that [`Header::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        let words = self.extension.as_ref().map_or(0, |(_, words)| 1 + words.len().min(u16::MAX.into()));
        LEN + 4 * (self.sources.len().min(MAX_SOURCES) + words)
    }

    /// Writes [`Header::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        let sources = self.sources.get(..MAX_SOURCES).unwrap_or(&self.sources);
        let bits = u8::from(self.padding) << 5 | u8::from(self.extension.is_some()) << 4;
        let count = u8::try_from(sources.len()).unwrap_or(0);
        crate::put(out, [VERSION << 6 | bits | count, u8::from(self.marker) << 7 | self.payload_type & 0x7f]);
        crate::put(out, self.sequence.to_be_bytes());
        for word in [self.timestamp, self.ssrc].iter().chain(sources) {
            crate::put(out, word.to_be_bytes());
        }
        if let Some((profile, words)) = &self.extension {
            let words = words.get(..u16::MAX.into()).unwrap_or(words);
            crate::put(out, profile.to_be_bytes());
            crate::put(out, u16::try_from(words.len()).unwrap_or(u16::MAX).to_be_bytes());
            for word in words {
                crate::put(out, word.to_be_bytes());
            }
        }
    }
}

impl fmt::Display for Header {
    /// For example `RTP MP2T seq 7 time 90000 ssrc 0x00000001 marker`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match encoding(self.payload_type) {
            Some((name, _)) => write!(f, "RTP {name}")?,
            None => write!(f, "RTP type {}", self.payload_type)?,
        }
        write!(f, " seq {} time {} ssrc {:#010x}", self.sequence, self.timestamp, self.ssrc)?;
        if self.marker {
            f.write_str(" marker")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_has_its_fields_where_the_rfc_says() {
        let header = Header {
            marker: true,
            payload_type: 33,
            sequence: 0x1234,
            timestamp: 0x0102_0304,
            ssrc: 0xdead_beef,
            ..Header::default()
        };
        let octets = [0x80, 0xa1, 0x12, 0x34, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef];
        let mut out = [0; LEN];
        header.emit(&mut out);
        assert_eq!(out, octets);
        assert_eq!(header.to_string(), "RTP MP2T seq 4660 time 16909060 ssrc 0xdeadbeef marker");
        // A source, and an extension of one word.
        let long = [&[0xb1, 0x60][..], &octets[2..], &[0, 0, 0, 9, 0xbe, 0xde, 0, 1, 0, 0, 0, 5]].concat();
        let (read, len) = Header::parse(&long).unwrap();
        assert_eq!(len, 24);
        assert_eq!((read.padding, read.payload_type, read.sources.as_slice()), (true, 96, &[9][..]));
        assert_eq!(read.extension, Some((0xbede, vec![5])));
        assert!(read.to_string().starts_with("RTP type 96 "));
        for cut in 0..24 {
            assert!(matches!(Header::parse(&long[..cut]), Err(Malformed::Short { .. })), "{cut}");
        }
        assert!(matches!(Header::parse(&[0x40; 12]), Err(Malformed::Field { found: 1, .. })));
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(
            (padding, marker) in any::<(bool, bool)>(),
            payload_type in 0_u8..128,
            (sequence, timestamp, ssrc) in any::<(u16, u32, u32)>(),
            sources in prop::collection::vec(any::<u32>(), 0..16),
            extension in prop::option::of((any::<u16>(), prop::collection::vec(any::<u32>(), 0..5))),
        ) {
            let header = Header { padding, marker, payload_type, sequence, timestamp, ssrc, sources, extension };
            let mut out = vec![0; header.len()];
            header.emit(&mut out);
            prop_assert_eq!(Header::parse(&out), Ok((header, out.len())));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            let _ = Header::parse(&octets);
        }
    }
}
