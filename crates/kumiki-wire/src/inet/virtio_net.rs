//! What stands in front of a packet between a machine and its virtual network card: how to cut it, and what is left to
//! do for its checksum.
//!
//! | | |
//! |---|---|
//! | Specification | Virtual I/O Device (VIRTIO) version 1.2, section 5.1.6 (`struct virtio_net_hdr`); Linux, `include/uapi/linux/virtio_net.h`. TUN and TAP devices have it with `IFF_VNET_HDR` |
//! | Octets | 10, in the order of the host or little-endian; 12 with the number of buffers behind ([`Form`]) |
//! | Below | packets of IP, or Ethernet frames; positions count from the first octet behind this header |
//! | Left out | UDP in fragments (`VIRTIO_NET_HDR_GSO_UDP`), which has to be asked for; coalesced segments (`VIRTIO_NET_HDR_F_RSC_INFO`), hashes and tunnels, which take longer headers: refused, or as the standard has it, overlooked |

use core::fmt;

use crate::Malformed;

/// Octets of the header without the number of buffers.
pub const LEN: usize = 10;
/// Octets of the header with it.
pub const LEN_WITH_BUFFERS: usize = 12;

const PROTOCOL: &str = "virtio-net";

// Bits of the flags.
const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;

/// Of the kind of segments: TCP marks congestion on the first alone.
const ECN: u8 = 0x80;

/// Which octets the header has: the two ends agree on it beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Form {
    /// Numbers are little-endian, as since version 1 of the standard; otherwise as the host has them.
    pub little_endian: bool,
    /// The number of buffers stands at the end, as since version 1 of the standard.
    pub buffers: bool,
}

impl Form {
    /// What a TUN or TAP device of Linux has where nothing else was asked of it.
    pub const TUN: Self = Self { little_endian: false, buffers: false };
    /// As version 1 of the standard has it.
    pub const VERSION_1: Self = Self { little_endian: true, buffers: true };

    /// Octets of a header of this form.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(self) -> usize {
        if self.buffers { LEN_WITH_BUFFERS } else { LEN }
    }

    const fn number(self, octets: [u8; 2]) -> u16 {
        if self.little_endian { u16::from_le_bytes(octets) } else { u16::from_ne_bytes(octets) }
    }

    const fn octets(self, number: u16) -> [u8; 2] {
        if self.little_endian { number.to_le_bytes() } else { number.to_ne_bytes() }
    }
}

/// What the packet is cut into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Segments of TCP over IPv4.
    Tcp4,
    /// Segments of TCP over IPv6.
    Tcp6,
    /// Datagrams of UDP.
    Udp,
}

impl Kind {
    const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Tcp4),
            4 => Some(Self::Tcp6),
            5 => Some(Self::Udp),
            _ => None,
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Tcp4 => 1,
            Self::Tcp6 => 4,
            Self::Udp => 5,
        }
    }
}

/// How to cut a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segments {
    /// Into what.
    pub kind: Kind,
    /// Octets of text of each, but for the last, which may have fewer; not 0.
    pub size: u16,
    /// TCP's CWR is set, which is said of the first alone (RFC 3168 section 6.1.2).
    pub ecn: bool,
}

/// What is left to do for the checksum: sum from `start` to the end, and write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partial {
    /// The first octet of the transport header.
    pub start: u16,
    /// Where the checksum stands, from `start`; the sum of the pseudo header stands there.
    pub offset: u16,
}

/// What stands in front of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The checksum is yet to be written.
    pub partial: Option<Partial>,
    /// The checksum has been verified, or nothing on the way could have harmed it.
    pub valid: bool,
    /// It is more than one packet.
    pub segments: Option<Segments>,
    /// Octets of all headers: a hint, for memory that is better in one piece. 0 where nothing is said.
    pub header_len: u16,
    /// In how many buffers it came; counts in the longer form alone.
    pub buffers: u16,
}

impl Header {
    /// Reads a header of this form from the octets at the front of `total`, the packet's among them; also gives the
    /// header's length.
    ///
    /// # Errors
    /// The header is not all there, it points beyond the packet, or it wants a packet cut into nothing or into what is
    /// not known.
    pub fn parse(form: Form, front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let need = form.len();
        let octets = front.get(..need).and_then(<[u8]>::first_chunk::<LEN>);
        let Some(&[flags, kind, h0, h1, g0, g1, s0, s1, o0, o1]) = octets.filter(|_| total >= need) else {
            return Err(Malformed::Short { protocol: PROTOCOL, need, have: front.len().min(total) });
        };
        let [header_len, size, start, offset] = [[h0, h1], [g0, g1], [s0, s1], [o0, o1]].map(|it| form.number(it));
        let most = total - need;
        let fits = |field, found: usize, least| {
            let wrong = Malformed::Length { protocol: PROTOCOL, field, found, least, most };
            if found > most { Err(wrong) } else { Ok(()) }
        };
        fits("hdr_len", header_len.into(), 0)?;
        let partial = (flags & NEEDS_CSUM != 0).then_some(Partial { start, offset });
        if let Some(Partial { start, offset }) = partial {
            fits("csum_start", start.into(), 0)?;
            // With the two octets of the checksum itself.
            fits("csum_start + csum_offset + 2", usize::from(start) + usize::from(offset) + 2, 2)?;
        }
        let buffers = match front.get(LEN..need) {
            Some(&[b0, b1]) => form.number([b0, b1]),
            _ => 0,
        };
        let segments = Self::segments(kind, size)?;
        Ok((Self { partial, valid: flags & DATA_VALID != 0, segments, header_len, buffers }, need))
    }

    fn segments(kind: u8, size: u16) -> Result<Option<Segments>, Malformed> {
        let wrong =
            |field, found: u16, expected| Malformed::Field { protocol: PROTOCOL, field, found: found.into(), expected };
        if kind & !ECN == 0 {
            return Ok(None);
        }
        let ecn = kind & ECN != 0;
        let kind = Kind::of(kind & !ECN).ok_or_else(|| wrong("gso_type", kind.into(), "0, 1, 4 or 5"))?;
        match size {
            0 => Err(wrong("gso_size", 0, "1 at least where gso_type is not 0")),
            _ => Ok(Some(Segments { kind, size, ecn })),
        }
    }

    /// Whether the packet is many datagrams of UDP.
    #[must_use]
    pub fn is_datagrams(&self) -> bool {
        self.segments.is_some_and(|it| it.kind == Kind::Udp)
    }

    /// Writes as many octets as a header of this form has.
    pub fn emit(&self, form: Form, out: &mut [u8]) {
        debug_assert_eq!(out.len(), form.len());
        let Partial { start, offset } = self.partial.unwrap_or(Partial { start: 0, offset: 0 });
        let flags = if self.partial.is_some() { NEEDS_CSUM } else { 0 } | if self.valid { DATA_VALID } else { 0 };
        let (kind, size) =
            self.segments.map_or((0, 0), |it| (it.kind.number() | if it.ecn { ECN } else { 0 }, it.size));
        let [h, g, s, o, b] = [self.header_len, size, start, offset, self.buffers].map(|it| form.octets(it));
        let octets = [flags, kind, h[0], h[1], g[0], g[1], s[0], s[1], o[0], o[1], b[0], b[1]];
        for (to, from) in out.iter_mut().zip(octets.iter().take(form.len())) {
            *to = *from;
        }
    }
}

impl fmt::Display for Header {
    /// For example `virtio-net TCPv4 in 1448 checksum from 20 at 36`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PROTOCOL)?;
        if let Some(Segments { kind, size, ecn }) = self.segments {
            let kind = match kind {
                Kind::Tcp4 => "TCPv4",
                Kind::Tcp6 => "TCPv6",
                Kind::Udp => "UDP",
            };
            write!(f, " {kind}{} in {size}", if ecn { " with CWR" } else { "" })?;
        }
        if let Some(Partial { start, offset }) = self.partial {
            write!(f, " checksum from {start} at {}", u32::from(start) + u32::from(offset))?;
        }
        if self.valid {
            f.write_str(" checksum verified")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LITTLE: Form = Form { little_endian: true, buffers: false };

    /// As Linux 6.18 hands a program what another wrote with `UDP_SEGMENT` 1000.
    const UDP: [u8; 10] = [1, 5, 28, 0, 0xe8, 3, 20, 0, 6, 0];

    fn refused(octets: [u8; 10], packet: usize) -> String {
        Header::parse(LITTLE, &octets, LEN + packet).unwrap_err().to_string()
    }

    #[test]
    fn what_linux_says_of_datagrams_is_read_and_written() {
        let (header, len) = Header::parse(LITTLE, &UDP, LEN + 5528).unwrap();
        let segments = Segments { kind: Kind::Udp, size: 1000, ecn: false };
        let partial = Partial { start: 20, offset: 6 };
        let expected = Header { partial: Some(partial), segments: Some(segments), header_len: 28, ..Header::default() };
        assert_eq!((header, len), (expected, 10));
        assert_eq!(header.to_string(), "virtio-net UDP in 1000 checksum from 20 at 26");
        let mut out = [0xff; 10];
        header.emit(LITTLE, &mut out);
        assert_eq!(out, UDP);
    }

    #[test]
    fn so_are_a_syn_with_the_sum_of_its_pseudo_header_and_a_plain_packet() {
        let (header, _) = Header::parse(LITTLE, &[1, 0, 0, 0, 0, 0, 20, 0, 16, 0], LEN + 60).unwrap();
        assert_eq!((header.partial, header.segments), (Some(Partial { start: 20, offset: 16 }), None));
        let (header, _) = Header::parse(LITTLE, &[0; 10], LEN).unwrap();
        assert_eq!(header, Header::default());
        let (header, _) = Header::parse(LITTLE, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0], LEN + 60).unwrap();
        assert_eq!(header.to_string(), "virtio-net checksum verified");
    }

    #[test]
    fn one_that_lies_is_refused_and_told_why() {
        assert_eq!(
            Header::parse(LITTLE, &UDP[..9], 99).unwrap_err().to_string(),
            "virtio-net: 9 octets, at least 10 needed"
        );
        assert_eq!(refused(UDP, 27), "virtio-net: hdr_len is 28 octets, expected 0 to 27");
        assert_eq!(
            refused([1, 0, 0, 0, 0, 0, 20, 0, 16, 0], 37),
            "virtio-net: csum_start + csum_offset + 2 is 38 octets, expected 2 to 37"
        );
        assert_eq!(
            refused([1, 0, 0, 0, 0, 0, 99, 0, 0, 0], 40),
            "virtio-net: csum_start is 99 octets, expected 0 to 40"
        );
        assert_eq!(
            refused([1, 1, 0, 0, 0, 0, 20, 0, 16, 0], 99),
            "virtio-net: gso_size is 0x0, expected 1 at least where gso_type is not 0"
        );
        assert_eq!(refused([1, 3, 0, 0, 9, 0, 20, 0, 6, 0], 99), "virtio-net: gso_type is 0x3, expected 0, 1, 4 or 5");
    }

    #[test]
    fn the_longer_form_has_the_number_of_buffers() {
        let octets = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0];
        let (header, len) = Header::parse(Form::VERSION_1, &octets, 12).unwrap();
        assert_eq!((header.buffers, len), (3, 12));
        assert!(Header::parse(Form::VERSION_1, &octets[..11], 12).is_err());
        assert!(Header::parse(Form::VERSION_1, &octets, 11).is_err());
    }

    prop_compose! {
        fn headers()(
            partial in prop::option::of((0u16..1000, 0u16..100)),
            kind in prop::sample::select(vec![None, Some(Kind::Tcp4), Some(Kind::Tcp6), Some(Kind::Udp)]),
            (size, header_len) in (1u16.., 0u16..1000),
            (valid, ecn) in any::<(bool, bool)>(),
        ) -> Header {
            Header {
                partial: partial.map(|(start, offset)| Partial { start, offset }),
                valid,
                segments: kind.map(|kind| Segments { kind, size, ecn }),
                header_len,
                buffers: 0,
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(header in headers(), little_endian: bool, buffers: bool, number: u16, more in 0usize..64) {
            let form = Form { little_endian, buffers };
            let header = Header { buffers: if buffers { number } else { 0 }, ..header };
            let mut out = vec![0xff; form.len()];
            header.emit(form, &mut out);
            let parsed = Header::parse(form, &out, form.len() + 1102 + more);
            prop_assert_eq!(parsed, Ok((header, form.len())));
        }

        #[test]
        fn no_octets_make_it_panic_and_nothing_points_beyond_the_packet(octets: Vec<u8>, total in 0usize..200, little_endian: bool, buffers: bool) {
            let form = Form { little_endian, buffers };
            if let Ok((header, len)) = Header::parse(form, &octets, total) {
                let packet = total - len;
                prop_assert!(usize::from(header.header_len) <= packet);
                if let Some(Partial { start, offset }) = header.partial {
                    prop_assert!(usize::from(start) + usize::from(offset) + 2 <= packet);
                }
                prop_assert!(header.segments.is_none_or(|it| it.size > 0));
            }
        }
    }
}
