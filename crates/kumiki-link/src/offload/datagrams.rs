//! Many datagrams of UDP that came as one packet become datagrams again.

use kumiki_octets::{Message, Meta, Sum};

use super::{ROOM, UDP, narrow, put, word};

/// Octets of UDP's header.
const UDP_LEN: usize = 8;

/// The headers of IP and UDP, and what is in front of them.
pub(super) struct Datagrams {
    octets: [u8; ROOM],
    /// Octets in front of IP.
    link: usize,
    /// Octets of the IP header: 20 or 40.
    ip: usize,
}

impl Datagrams {
    /// The headers of IP and UDP that end where `front` ends, of a packet of `total` octets.
    pub(super) fn find(front: &[u8], total: usize) -> Option<Self> {
        let starts = 0..=front.len().checked_sub(20 + UDP_LEN)?;
        let (link, ip) = starts.into_iter().find_map(|link| {
            let ip = ip_header(front.get(link..)?, total - link)?;
            (link + ip + UDP_LEN == front.len()).then_some((link, ip))
        })?;
        let mut octets = [0; ROOM];
        octets.get_mut(..front.len())?.copy_from_slice(front);
        Some(Self { octets, link, ip })
    }

    const fn len(&self) -> usize {
        self.link + self.ip + UDP_LEN
    }

    /// Puts the headers in front of `text`, that of datagram number `number`.
    fn lead(&self, text: &mut Message, number: u16) {
        let Self { mut octets, link, ip } = *self;
        let length = narrow(UDP_LEN + text.len());
        let text_sum = text.sum();
        let Some((front, udp)) = octets.get_mut(link..self.len()).and_then(|it| it.split_at_mut_checked(ip)) else {
            return;
        };
        let addresses = if ip == 20 {
            put(front, 2, narrow(ip + UDP_LEN + text.len()).to_be_bytes());
            let identification = word(front, 4);
            // 0 is what atomic datagrams have (RFC 6864).
            let number = if identification == 0 { 0 } else { number };
            put(front, 4, identification.wrapping_add(number).to_be_bytes());
            put(front, 10, [0; 2]);
            put(front, 10, Sum::of(front).checksum().to_be_bytes());
            12
        } else {
            put(front, 4, length.to_be_bytes());
            8
        };
        put(udp, 4, length.to_be_bytes());
        put(udp, 6, [0; 2]);
        let pseudo = Sum::of(front.get(addresses..).unwrap_or_default()).add_words([UDP.into(), length]);
        let checksum = pseudo.plus(Sum::of(udp)).plus(text_sum).checksum();
        // Zero says that there is none (RFC 768).
        let checksum = if checksum == 0 { u16::MAX } else { checksum };
        put(udp, 6, checksum.to_be_bytes());
        text.push_octets(octets.get(..self.len()).unwrap_or_default());
    }
}

/// How long the plain header of IP with UDP behind it is that `front` begins with; `None` where it is another.
fn ip_header(front: &[u8], total: usize) -> Option<usize> {
    match *front.first_chunk::<10>()? {
        [0x45, _, l0, l1, _, _, f0, f1, _, UDP] if f0 & 0x3f == 0 && f1 == 0 => {
            (usize::from(u16::from_be_bytes([l0, l1])) == total).then_some(20)
        }
        [v, _, _, _, l0, l1, UDP, ..] if v >> 4 == 6 => {
            (usize::from(u16::from_be_bytes([l0, l1])) + 40 == total).then_some(40)
        }
        _ => None,
    }
}

/// As [`super::cut`] for such a packet.
pub(super) fn cut(mut whole: Message, datagrams: Datagrams, size: usize, mut each: impl FnMut(Message)) -> bool {
    if whole.pop(datagrams.len()).is_err() {
        return false;
    }
    let mut number = 0;
    while whole.len() > size {
        let Ok(mut text) = whole.split_to(size) else {
            return false;
        };
        datagrams.lead(&mut text, number);
        each(text);
        number = number.wrapping_add(1);
    }
    *whole.meta_mut() = Meta::default();
    datagrams.lead(&mut whole, number);
    each(whole);
    true
}
