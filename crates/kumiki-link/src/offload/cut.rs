//! One super-segment becomes packets.

use kumiki_octets::{Message, Meta};

use super::datagrams::{self, Datagrams};
use super::{CWR, FIN, Headers, PSH, ROOM};

/// Hands the packets of `whole` to `each`, in order; `whole` itself where it is a single packet. False where it should
/// be cut and is nothing that can be: then there is no packet.
///
/// The text is shared and read once, for the checksums, which are complete in every packet. What layers below IP put in
/// front is repeated as it is.
pub fn cut(mut whole: Message, mut each: impl FnMut(Message)) -> bool {
    let meta = *whole.meta();
    let size = usize::from(meta.segment_size);
    if size == 0 {
        whole.complete_checksum();
        each(whole);
        return true;
    }
    let len = usize::from(meta.header_len);
    let total = whole.len();
    let Ok(front) = whole.front(len) else {
        return false;
    };
    let Some((link, headers)) = find(front, total) else {
        let datagrams = Datagrams::find(front, total);
        return datagrams.is_some_and(|datagrams| datagrams::cut(whole, datagrams, size, each));
    };
    if whole.pop(len).is_err() {
        return false;
    }
    let mut train = Train::new(link, headers, meta.ace);
    while whole.len() > size {
        let Ok(mut packet) = whole.split_to(size) else {
            return false;
        };
        train.lead(&mut packet, false);
        each(packet);
    }
    *whole.meta_mut() = Meta::default();
    train.lead(&mut whole, true);
    each(whole);
    true
}

/// The headers of IP and TCP, which end where `front` ends, and how many octets of others are before them.
pub(super) fn find(front: &[u8], total: usize) -> Option<(Link, Headers)> {
    let at = (0..=front.len().checked_sub(40)?).find_map(|at| {
        let headers = Headers::read(front.get(at..)?, total - at)?;
        (at + headers.len == front.len()).then_some((at, headers))
    });
    let (at, headers) = at?;
    let mut link = Link { octets: [0; ROOM], len: at };
    link.octets.get_mut(..at)?.copy_from_slice(front.get(..at)?);
    Some((link, headers))
}

/// What stands in front of IP.
pub(super) struct Link {
    octets: [u8; ROOM],
    pub(super) len: usize,
}

/// The headers of the next packet.
struct Train {
    link: Link,
    headers: Headers,
    /// Control bits of the super-segment.
    flags: u8,
    seq: u32,
    identification: u16,
    /// CWR is part of a counter.
    ace: bool,
    /// Whether identifications count up.
    numbered: bool,
    first: bool,
}

impl Train {
    fn new(link: Link, headers: Headers, ace: bool) -> Self {
        Self {
            link,
            headers,
            flags: headers.flags(),
            seq: headers.seq(),
            identification: headers.identification(),
            ace,
            numbered: headers.identification() != 0,
            first: true,
        }
    }

    /// Puts the headers in front of the text of a packet.
    fn lead(&mut self, packet: &mut Message, last: bool) {
        let text = packet.len();
        let sum = packet.sum();
        let mut flags = self.flags;
        if !last {
            flags &= !(FIN | PSH);
        }
        if !self.first && !self.ace {
            flags &= !CWR;
        }
        let room = packet.push_octets(self.headers.octets());
        self.headers.write(room, self.seq, flags, self.identification, text, sum);
        if let Some(link) = self.link.octets.get(..self.link.len)
            && !link.is_empty()
        {
            packet.push_octets(link);
        }
        self.seq = self.seq.wrapping_add(u32::try_from(text).unwrap_or(0));
        if self.numbered {
            self.identification = self.identification.wrapping_add(1);
        }
        self.first = false;
    }
}
