//! What a network card does for TCP: it cuts one super-segment into packets, and puts packets together again. Of UDP it
//! only cuts.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.1 (header, pseudo header), RFC 791, RFC 8200 section 3, RFC 6864 section 4 (identification), RFC 3168 section 6.1.2 (CWR once), RFC 9768 section 3.3.4 (a counter in its place); the rules of Linux's GSO and GRO, recalled |
//! | Above | a graph whose device says that it takes bursts: [`cut`] what goes down, [`Merger`] what comes up |
//! | Below | any medium: on it there are only packets of at most one MTU |
//! | Beside | [`virtio`]: what is said of a super-segment to a device that cuts it by itself |
//! | Left out | putting datagrams of UDP together; IPv4 options and IPv6 extension headers; tunnels; putting together behind a link header, and what a device already knows of a checksum: such packets pass as they are |
//!
//! A super-segment is a whole packet, IP and TCP headers in front, with more text than a packet may have, and
//! [`Meta`] says how to cut it: `header_len` octets are repeated in front of each `segment_size`
//! octets of text. What TCP above decides is decided once for all of them, which is what makes it worth while.
//!
//! # What is on the link
//!
//! The packets are, octet for octet, those that TCP would have sent one by one: sequence numbers go on, PSH and FIN are
//! on the last, CWR on the first (on all, where the message says that it is part of a counter of congestion marks),
//! lengths and both checksums are each packet's own. Only IPv4's identification may differ: it counts up from that of
//! the super-segment, unless that is 0 (which is what atomic datagrams have).
//!
//! # What is put together
//!
//! Packets of one direction of one connection that follow each other, with text, right checksums, and headers that
//! differ in nothing but sequence number, length, identification and PSH; so acknowledgments, windows, timestamps and
//! ECN bits are those of every one of them. PSH and a packet shorter than the others end the super-segment. What cannot
//! be put together passes unchanged, after what was waiting of its connection.
//!
//! # Datagrams
//!
//! What came from a device as one packet with many datagrams of UDP in it is cut the same way: each has its own lengths
//! and checksum, and IPv4's identification counts up. Nothing here sends such.

mod cut;
mod datagrams;
mod merge;
pub mod virtio;

pub use cut::cut;
pub use merge::{Merger, Origin};

use kumiki_octets::{Checksum, Message, Meta, Sum};

/// Room for the headers: what a message holds in one piece.
const ROOM: usize = 128;

/// FIN, PSH, ACK, ECE and CWR in the low octet of TCP's control bits.
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

const TCP: u8 = 6;
const UDP: u8 = 17;
const TCP_LEN: usize = 20;

/// Leaves the checksum of a super-segment to be written by what cuts it, which is how a device takes one. Anything else
/// stays as it is.
fn leave_checksum(whole: &mut Message) {
    let Meta { segment_size, header_len, checksum, .. } = *whole.meta();
    let (len, total) = (usize::from(header_len), whole.len());
    if segment_size == 0 || matches!(checksum, Checksum::Partial { .. }) {
        return;
    }
    let Some(mut headers) = whole.front(len).ok().and_then(|front| Headers::read(front, total)) else {
        return;
    };
    if headers.len != len || whole.pop(len).is_err() {
        return;
    }
    let ip = headers.ip;
    let addresses = headers.octets.get(if ip == 20 { 12 } else { 8 }..ip).unwrap_or_default();
    let pseudo = Sum::of(addresses).add_words([TCP.into(), narrow(total - ip)]);
    put(&mut headers.octets, ip + 16, pseudo.folded().to_be_bytes());
    whole.push_octets(headers.octets());
    whole.meta_mut().checksum = Checksum::Partial { start: narrow(ip), field: 16 };
}

/// How many packets a super-segment is; 1 for a packet.
#[must_use]
pub fn packets(data: &Message) -> usize {
    let meta = data.meta();
    if meta.segment_size == 0 {
        return 1;
    }
    let text = data.len().saturating_sub(meta.header_len.into());
    text.div_ceil(meta.segment_size.into()).max(1)
}

/// How many octets those packets have together.
#[must_use]
pub fn octets(data: &Message) -> usize {
    let again = packets(data).saturating_sub(1);
    data.len().saturating_add(again.saturating_mul(data.meta().header_len.into()))
}

/// Whether it is one packet, and complete: what may be on a line.
#[must_use]
pub fn is_packet(data: &Message) -> bool {
    data.meta().segment_size == 0 && !matches!(data.meta().checksum, Checksum::Partial { .. })
}

/// A copy of the IP and TCP headers of a packet, and where what is in them.
#[derive(Clone, Copy)]
struct Headers {
    octets: [u8; ROOM],
    /// Octets of the IP header: 20 or 40.
    ip: usize,
    /// Octets of both.
    len: usize,
    /// The sum of the IPv4 header without total length, identification and checksum.
    ip_sum: Sum,
    /// The sum of the pseudo header and the TCP header without length, sequence number, control bits and checksum.
    tcp_sum: Sum,
}

/// In which bits packets of one super-segment must be alike: all but length, identification, sequence number, PSH and
/// checksums. For IPv4.
const ALIKE_4: [u8; ROOM] = alike(20);
/// As [`ALIKE_4`], for IPv6.
const ALIKE_6: [u8; ROOM] = alike(40);

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, for 20 and 40")]
const fn alike(ip: usize) -> [u8; ROOM] {
    let mut bits = [0xff; ROOM];
    // Length, identification and checksum of IPv4; length of IPv6.
    let internet: &[usize] = if ip == 20 { &[2, 4, 10] } else { &[4] };
    let mut at = 0;
    while at < internet.len() {
        (bits[internet[at]], bits[internet[at] + 1]) = (0, 0);
        at += 1;
    }
    // Sequence number, PSH, checksum.
    let mut at = ip + 4;
    while at < ip + 8 {
        bits[at] = 0;
        at += 1;
    }
    bits[ip + 13] = !PSH;
    (bits[ip + 16], bits[ip + 17]) = (0, 0);
    bits
}

fn word(octets: &[u8], at: usize) -> u16 {
    let found = octets.get(at..).and_then(<[u8]>::first_chunk::<2>);
    found.map_or(0, |octets| u16::from_be_bytes(*octets))
}

fn long(octets: &[u8], at: usize) -> u32 {
    let found = octets.get(at..).and_then(<[u8]>::first_chunk::<4>);
    found.map_or(0, |octets| u32::from_be_bytes(*octets))
}

fn put<const N: usize>(octets: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(room) = octets.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *room = value;
    }
}

fn narrow(octets: usize) -> u16 {
    u16::try_from(octets).unwrap_or(u16::MAX)
}

/// The control bits of what begins with plain headers of IP and TCP.
fn control_bits(front: &[u8]) -> Option<u8> {
    front.get(before_tcp(front)? + 13).copied()
}

/// Octets of the IP header at the front, where that has no options and TCP is behind it.
fn before_tcp(front: &[u8]) -> Option<usize> {
    match *front.first_chunk::<10>()? {
        [0x45, _, _, _, _, _, _, _, _, TCP] => Some(20),
        [version, _, _, _, _, _, TCP, ..] if version >> 4 == 6 => Some(40),
        _ => None,
    }
}

impl Headers {
    /// Reads the headers at the front of a packet of `total` octets; `None` where they are not plain IP and TCP.
    fn read(front: &[u8], total: usize) -> Option<Self> {
        let ip = Self::ip_len(front, total)?;
        let words = usize::from(front.get(ip + 12)? >> 4);
        let len = ip + 4 * words;
        let mut octets = [0; ROOM];
        if 4 * words < TCP_LEN || len > total {
            return None;
        }
        octets.get_mut(..len)?.copy_from_slice(front.get(..len)?);
        let mut headers = Self { octets, ip, len, ip_sum: Sum::ZERO, tcp_sum: Sum::ZERO };
        (headers.ip_sum, headers.tcp_sum) = headers.unchanging();
        Some(headers)
    }

    /// Octets of the IP header at the front, where that is a plain one before TCP.
    fn ip_len(front: &[u8], total: usize) -> Option<usize> {
        let (len, octets) = match *front.first_chunk::<10>()? {
            // Five words of header; not a fragment.
            [0x45, _, l0, l1, _, _, f0, f1, _, TCP] if f0 & 0x3f == 0 && f1 == 0 => {
                (20, usize::from(u16::from_be_bytes([l0, l1])))
            }
            [v, _, _, _, l0, l1, TCP, ..] if v >> 4 == 6 => (40, usize::from(u16::from_be_bytes([l0, l1])) + 40),
            _ => return None,
        };
        (octets == total).then_some(len)
    }

    /// Of the IP and of the TCP header, what packets of one super-segment have in common.
    fn unchanging(&self) -> (Sum, Sum) {
        let Self { ip, len, .. } = *self;
        let mut octets = self.octets;
        put(&mut octets, ip + 4, [0; 4]);
        put(&mut octets, ip + 12, [0; 2]);
        put(&mut octets, ip + 16, [0; 2]);
        // Addresses and TCP header stand at even places, side by side.
        let from = if ip == 20 { 12 } else { 8 };
        let tcp = Sum::of(octets.get(from..len).unwrap_or_default()).add_u16(TCP.into());
        for at in [2, 4, 10] {
            put(&mut octets, at, [0; 2]);
        }
        let ip = if ip == 20 { 20 } else { 0 };
        (Sum::of(octets.get(..ip).unwrap_or_default()), tcp)
    }

    fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    fn seq(&self) -> u32 {
        long(&self.octets, self.ip + 4)
    }

    fn flags(&self) -> u8 {
        self.octets.get(self.ip + 13).copied().unwrap_or_default()
    }

    fn identification(&self) -> u16 {
        if self.ip == 20 { word(&self.octets, 4) } else { 0 }
    }

    /// Addresses and ports, which lie side by side in both versions.
    fn flow(&self) -> &[u8] {
        let from = if self.ip == 20 { 12 } else { 8 };
        self.octets.get(from..self.ip + 4).unwrap_or_default()
    }

    /// Whether `front` begins with headers that differ in nothing in which packets of one super-segment cannot differ.
    fn are_like(&self, front: &[u8]) -> bool {
        let alike = if self.ip == 20 { &ALIKE_4 } else { &ALIKE_6 };
        let (ours, our_last) = self.octets().as_chunks::<8>();
        let (theirs, their_last) = front.as_chunks::<8>();
        let (bits, last_bits) = alike.get(..self.len).unwrap_or_default().as_chunks::<8>();
        let mut different = 0;
        for ((a, b), bits) in ours.iter().zip(theirs).zip(bits) {
            let other = u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b);
            different |= other & u64::from_ne_bytes(*bits);
        }
        // Headers are whole 32-bit words: one may be left.
        different |= u64::from((long(our_last, 0) ^ long(their_last, 0)) & long(last_bits, 0));
        different == 0 && front.len() >= self.len
    }

    /// The fourth word of the TCP header, data offset and control bits, with other control bits.
    fn control(&self, flags: u8) -> u16 {
        let offset = self.octets.get(self.ip + 12).copied().unwrap_or_default();
        u16::from_be_bytes([offset, flags])
    }

    /// The sum of what is checked by TCP's checksum in a packet like this one, where these differ, with `text` octets
    /// of text that sum to `sum` (RFC 9293 section 3.1).
    fn tcp_total(&self, seq: u32, control: u16, checksum: u16, text: usize, sum: Sum) -> Sum {
        let [a, b, c, d] = seq.to_be_bytes();
        self.tcp_sum.add_words([
            sum.folded(),
            // Of the length that IPv6 counts with 32 bits the upper 16 are zero, as a packet has no more than 65,535
            // octets.
            narrow(self.len - self.ip + text),
            u16::from_be_bytes([a, b]),
            u16::from_be_bytes([c, d]),
            control,
            checksum,
        ])
    }

    /// As [`Headers::tcp_total`], with what stands in `octets`.
    fn tcp_total_of(&self, octets: &[u8], text: usize, sum: Sum) -> Sum {
        let at = self.ip;
        let (seq, control, checksum) = (long(octets, at + 4), word(octets, at + 12), word(octets, at + 16));
        self.tcp_total(seq, control, checksum, text, sum)
    }

    /// As [`Headers::tcp_total_of`], of the IPv4 header.
    fn ip_total_of(&self, octets: &[u8]) -> Sum {
        if self.ip == 40 {
            return Sum::from_folded(u16::MAX);
        }
        self.ip_sum.add_words([word(octets, 2), word(octets, 4), word(octets, 10)])
    }

    /// Changes `room`, which holds these headers, to those of a packet with `text` octets of text, which sum to `sum`.
    ///
    /// Nothing is read back of what was just written: narrow writes that a wider read spans hold a processor up.
    fn write(&self, room: &mut [u8], seq: u32, flags: u8, identification: u16, text: usize, sum: Sum) {
        let Self { ip, len, .. } = *self;
        if ip == 20 {
            let length = narrow(len + text);
            let total = self.ip_sum.add_words([length, identification]);
            put(room, 2, length.to_be_bytes());
            put(room, 4, identification.to_be_bytes());
            put(room, 10, total.checksum().to_be_bytes());
        } else {
            put(room, 4, narrow(len - 40 + text).to_be_bytes());
        }
        let total = self.tcp_total(seq, self.control(flags), 0, text, sum);
        put(room, ip + 4, seq.to_be_bytes());
        put(room, ip + 13, [flags]);
        put(room, ip + 16, total.checksum().to_be_bytes());
    }
}
