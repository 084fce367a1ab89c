//! The header of a virtual network card against what a message says of itself.
//!
//! | | |
//! |---|---|
//! | Specification | Virtual I/O Device (VIRTIO) version 1.2, sections 5.1.6.2 (sending) and 5.1.6.4 (receiving); [`kumiki_wire::inet::virtio_net`] |
//! | Used by | devices whose other end cuts and sums by itself: TUN and TAP |
//! | Left out | super-segments behind IPv4 options or IPv6 extension headers are not sent: there are none |

use kumiki_octets::{Checksum, Message, Meta};
use kumiki_wire::Malformed;
pub use kumiki_wire::inet::virtio_net::{Form, Header, LEN};
use kumiki_wire::inet::virtio_net::{Kind, Partial, Segments};

use super::{CWR, ROOM, cut, narrow};

/// Notes at `packet`, which came behind `header`, what that says of it: how it is cut ([`Meta`]), and what is known of
/// its checksum.
///
/// # Errors
/// The header says of the packet what cannot be.
pub fn received(header: &Header, packet: &mut Message) -> Result<(), Malformed> {
    let checksum = match header.partial {
        Some(Partial { start, offset }) => Checksum::Partial { start, field: offset },
        None if header.valid => Checksum::Verified,
        None => Checksum::Unknown,
    };
    let mut meta = Meta { checksum, ..Meta::default() };
    if let Some(segments) = header.segments {
        let (len, flags) = transport(header, segments.kind, packet)?;
        if packet.len() - len > usize::from(segments.size) {
            meta.segment_size = segments.size;
            meta.header_len = narrow(len);
            meta.ace = flags & CWR != 0 && !segments.ecn;
        }
    }
    *packet.meta_mut() = meta;
    Ok(())
}

/// Octets of all headers of `packet`, and the control bits of TCP. The header's own length is but a hint.
fn transport(header: &Header, kind: Kind, packet: &mut Message) -> Result<(usize, u8), Malformed> {
    const PROTOCOL: &str = "virtio-net";
    let Some(Partial { start, .. }) = header.partial else {
        let expected = "1 where gso_type is not 0";
        return Err(Malformed::Field { protocol: PROTOCOL, field: "flags", found: header.valid.into(), expected });
    };
    let (start, most) = (usize::from(start), packet.len());
    let short = |need| Malformed::Short { protocol: PROTOCOL, need, have: most };
    if kind == Kind::Udp {
        let len = start + 8;
        return if len < most { Ok((len, 0)) } else { Err(short(len + 1)) };
    }
    let need = start + 20;
    let mut fixed = [0; 20];
    if !packet.copy_to(start, &mut fixed) {
        return Err(short(need));
    }
    let [.., words, flags, _, _, _, _, _, _] = fixed;
    let len = start + 4 * usize::from(words >> 4);
    if len < need || len >= most {
        let (field, least) = ("data offset of TCP behind it", need);
        return Err(Malformed::Length { protocol: PROTOCOL, field, found: len, least, most: most.saturating_sub(1) });
    }
    Ok((len, flags))
}

/// What is said of `packet` to a device that does the rest by itself; `None` where it has to be [`cut`](super::cut())
/// before.
#[must_use]
pub fn to_send(packet: &Message) -> Option<Header> {
    let Meta { segment_size, header_len, ace, checksum } = *packet.meta();
    if segment_size == 0 {
        let partial = match checksum {
            Checksum::Partial { start, field } => Some(Partial { start, offset: field }),
            Checksum::Unknown | Checksum::Verified | Checksum::Sum(_) => None,
        };
        return Some(Header { partial, ..Header::default() });
    }
    let Checksum::Partial { start, field } = checksum else {
        return None;
    };
    let mut front = [0; ROOM];
    let front = front.get_mut(..usize::from(header_len))?;
    if !packet.copy_to(0, front) {
        return None;
    }
    let (link, headers) = cut::find(front, packet.len())?;
    let cwr = headers.flags() & CWR != 0;
    // Who cuts it leaves CWR on the first alone.
    if usize::from(start) != link.len + headers.ip || (cwr && ace) {
        return None;
    }
    let kind = if headers.ip == 20 { Kind::Tcp4 } else { Kind::Tcp6 };
    Some(Header {
        partial: Some(Partial { start, offset: field }),
        segments: Some(Segments { kind, size: segment_size, ecn: cwr }),
        header_len,
        ..Header::default()
    })
}
