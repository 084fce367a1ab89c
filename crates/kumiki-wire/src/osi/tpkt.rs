//! TPKT: how TPDUs are found in the stream of a TCP connection.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1006 section 6 (vrsn 3); RFC 2126 keeps it |
//! | Above | [`cotp`](crate::osi::cotp) |
//! | Left out | vrsn 1 and 2 of RFC 983, which nobody speaks any more |

use core::fmt;

use crate::Malformed;

/// Octets of the header.
pub const LEN: usize = 4;
/// The version.
pub const VERSION: u8 = 3;
/// The fewest octets of a packet: the header and the shortest TPDU there is.
pub const LEAST: usize = 7;
/// The most octets of a packet.
pub const MOST: usize = 65_535;
/// The TCP port.
pub const PORT: u16 = 102;

/// What every packet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Octets of the packet, the header included: [`LEAST`] to [`MOST`].
    pub length: u16,
}

impl Header {
    /// The header of a packet with a TPDU of `tpdu` octets; `None` where there is no such packet.
    #[must_use]
    pub fn around(tpdu: usize) -> Option<Self> {
        let length = u16::try_from(tpdu.checked_add(LEN)?).ok()?;
        (usize::from(length) >= LEAST).then_some(Self { length })
    }

    /// Reads a header from the octets at the front of the stream; also gives its length. The packet need not be there
    /// yet: [`Header::length`] says how many octets it has.
    ///
    /// `most` is what the reader has room for: [`MOST`], or less where a smaller TPDU size was agreed.
    ///
    /// # Errors
    /// [`Malformed::Short`] where the header is not all there; another version; a length that no packet has, or more
    /// than `most`. The stream has no packets behind such a header, so the connection is to be closed. The reserved
    /// octet is not looked at.
    pub fn parse(front: &[u8], most: usize) -> Result<(Self, usize), Malformed> {
        let protocol = "TPKT";
        let Some(&[vrsn, _, l0, l1]) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol, need: LEN, have: front.len() });
        };
        if vrsn != VERSION {
            return Err(Malformed::Field { protocol, field: "vrsn", found: vrsn.into(), expected: "3" });
        }
        let length = u16::from_be_bytes([l0, l1]);
        let found = usize::from(length);
        if found < LEAST || found > most {
            return Err(Malformed::Length { protocol, field: "packet length", found, least: LEAST, most });
        }
        Ok((Self { length }, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 4.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 4 octets.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let Some(out) = out.first_chunk_mut::<LEN>() else {
            return;
        };
        let [l0, l1] = self.length.to_be_bytes();
        *out = [VERSION, 0, l0, l1];
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TPKT length {}", self.length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_packet_may_still_be_on_its_way() {
        // The CR of an ISODE association.
        let front = [0x03, 0x00, 0x00, 0x12, 0x0d, 0xe0];
        let (header, len) = Header::parse(&front, MOST).unwrap();
        assert_eq!((header.length, len), (18, 4));
        assert_eq!(header.to_string(), "TPKT length 18");
        assert_eq!(Header::around(14), Some(header));
        let why = Header::parse(&front[..3], MOST).unwrap_err();
        assert_eq!(why.to_string(), "TPKT: 3 octets, at least 4 needed");
    }

    #[test]
    fn what_is_no_packet_ends_the_stream() {
        let why = |octets: [u8; 4]| Header::parse(&octets, 2052).unwrap_err().to_string();
        assert_eq!(why(*b"GET "), "TPKT: vrsn is 0x47, expected 3");
        let expected = "TPKT: packet length is 6 octets, expected 7 to 2052";
        assert_eq!(why([3, 0, 0, 6]), expected);
        let expected = "TPKT: packet length is 65535 octets, expected 7 to 2052";
        assert_eq!(why([3, 0, 0xff, 0xff]), expected);
        assert_eq!((Header::around(2), Header::around(65_532)), (None, None));
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read(length in 7_u16..) {
            let mut out = [0; LEN];
            Header { length }.emit(&mut out);
            prop_assert_eq!(Header::parse(&out, MOST), Ok((Header { length }, LEN)));
        }

        #[test]
        fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..8), most in any::<usize>()) {
            let _ = Header::parse(&octets, most);
        }
    }
}
