//! LAPB frames in Ethernet frames, as Linux's lapbether has them: EtherType 6000, and two octets of length in front.
//!
//! The length counts the LAPB frame, which has no frame check sequence, and is **little-endian**; what Ethernet fills
//! up a short frame with follows.

use kumiki_octets::text::counted;

use crate::{Malformed, put};

/// The EtherType: "DEC unassigned".
pub const ETHERTYPE: u16 = 0x6000;

/// Octets of the header.
pub const LEN: usize = 2;

/// The length in front of a LAPB frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Header {
    /// Octets of the LAPB frame.
    pub length: u16,
}

impl Header {
    /// Reads the header of `total` octets; also gives its length.
    ///
    /// # Errors
    /// It is not all there, or says more octets than there are.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let Some(&octets) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "LAPB over Ethernet", need: LEN, have: front.len() });
        };
        let length = u16::from_le_bytes(octets);
        let most = total.saturating_sub(LEN);
        if usize::from(length) > most {
            return Err(Malformed::Length {
                protocol: "LAPB over Ethernet",
                field: "length",
                found: length.into(),
                least: 2,
                most,
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
        put(&mut out, self.length.to_le_bytes());
    }
}

impl core::fmt::Display for Header {
    /// For example `LAPB over Ethernet, 7 octets`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "LAPB over Ethernet, {}", counted(self.length, "octet"))
    }
}
