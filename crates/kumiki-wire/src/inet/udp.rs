//! UDP headers.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 768 |
//! | Checksum | over [`pseudo_header`](crate::inet::ipv4::pseudo_header), header and data: by whoever holds the data |
//! | Left out | length 0 for datagrams beyond 65535 octets (RFC 2675, IPv6 only): refused |

use core::fmt;

use crate::Malformed;
use crate::layout::layout;

/// Octets of the header.
pub const LEN: usize = 8;
/// Where the checksum lies in the header.
pub const CHECKSUM_OFFSET: usize = 6;

/// Well-known ports.
pub mod port {
    /// Echo (RFC 862).
    pub const ECHO: u16 = 7;
    /// Discard (RFC 863).
    pub const DISCARD: u16 = 9;
}

layout! {
    "UDP", LEN;
    /// A UDP header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct Header {
        /// Port of the sender; 0 where no reply is expected.
        pub source_port: u16 = "source port";
        /// Port of the receiver.
        pub destination_port: u16 = "destination port";
        /// Octets of header and data, at least 8.
        pub length: u16 = "length";
        /// As on the wire; 0 means that the sender computed none. See [`on_wire`].
        pub checksum: u16;
    }
}

/// The checksum to send for one that was computed: a computed zero is sent as all ones, since zero on the wire says
/// that there is none.
#[must_use]
pub const fn on_wire(computed: u16) -> u16 {
    if computed == 0 { 0xffff } else { computed }
}

impl Header {
    /// Reads a header from the octets at the front of a datagram of `total` octets; also gives the header's length.
    /// `length` may be below `total`: the octets after it belong to nobody.
    ///
    /// # Errors
    /// The header is not all there, or the length is below 8 or beyond `total`.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let header = Self::read(front)?;
        let found = usize::from(header.length);
        if found < LEN || found > total {
            return Err(Malformed::Length { protocol: "UDP", field: "length", found, least: LEN, most: total });
        }
        Ok((header, LEN))
    }

    /// Whether the sender computed a checksum.
    #[must_use]
    pub const fn has_checksum(&self) -> bool {
        self.checksum != 0
    }
}

impl fmt::Display for Header {
    /// For example `UDP 1024 > 7 length 20 no checksum`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source_port, destination_port, length, .. } = self;
        write!(f, "UDP {source_port} > {destination_port} length {length}")?;
        if !self.has_checksum() {
            f.write_str(" no checksum")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OCTETS: [u8; 8] = [0x04, 0x00, 0x00, 0x07, 0x00, 0x14, 0x00, 0x00];

    #[test]
    fn a_header_is_read_and_written() {
        let (header, len) = Header::parse(&OCTETS, 20).unwrap();
        assert_eq!(header, Header { source_port: 1024, destination_port: 7, length: 20, checksum: 0 });
        assert_eq!(len, 8);
        assert_eq!(header.to_string(), "UDP 1024 > 7 length 20 no checksum");
        let mut out = [0xff; 8];
        header.emit(&mut out);
        assert_eq!(out, OCTETS);
    }

    #[test]
    fn a_length_beyond_the_datagram_or_below_the_header_is_refused() {
        let found = |found, most| Err(Malformed::Length { protocol: "UDP", field: "length", found, least: 8, most });
        assert_eq!(Header::parse(&OCTETS, 19), found(20, 19));
        let mut octets = OCTETS;
        octets[5] = 7;
        assert_eq!(Header::parse(&octets, 19), found(7, 19));
    }

    #[test]
    fn a_computed_zero_is_sent_as_ones() {
        assert_eq!(on_wire(0), 0xffff);
        assert_eq!(on_wire(0x1234), 0x1234);
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(
            source_port: u16, destination_port: u16, length in 8u16.., checksum: u16, more in 0usize..64,
        ) {
            let header = Header { source_port, destination_port, length, checksum };
            let mut out = [0; LEN];
            header.emit(&mut out);
            prop_assert_eq!(Header::parse(&out, usize::from(length) + more), Ok((header, LEN)));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>, total: usize) {
            let _ = Header::parse(&octets, total);
        }
    }
}
