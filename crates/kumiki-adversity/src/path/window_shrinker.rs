//! A third party that makes receive windows smaller than they were sent, and so moves their right edge back.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.8.6: a receiver should not shrink its window (SHLD-14), a sender must be ready for one that does (MUST-34, SHLD-15 to SHLD-17); RFC 1624 |
//! | Why here | our own receiver never does it; devices that shape traffic do |
//! | Left out | SYNs, whose window is none that anything was sent for yet; PDUs of AAL5 in software, whose CRC would have to be taken again |
//!
//! The checksum is changed by what the window changed by: a segment that was damaged stays damaged.

use kumiki_graph::{Instant, Rng};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::inet::ipv4;
use kumiki_wire::inet::tcp::{self, Flags};

use super::{HOST, LINE};

/// Where these fields are in a TCP header.
const FLAGS: usize = 13;
const WINDOW: usize = 14;
/// Octets of headers that are looked at, at the most: LLC/SNAP, IPv4 with options, and TCP.
const FRONT: usize = 8 + ipv4::MAX_LEN + tcp::MIN_LEN;

/// Stands before a host.
pub(super) struct WindowShrinker {
    /// IP begins at this octet of a frame.
    at: usize,
    /// So many of 1024 windows become smaller.
    often: u64,
    rng: Rng,
    squeezed: u64,
}

impl WindowShrinker {
    pub(super) const fn new(at: usize, often: u16, rng: Rng) -> Self {
        Self { at, often: often as u64, rng, squeezed: 0 }
    }

    /// What becomes of a window: nothing is left of it, or a part.
    fn smaller(&mut self, window: u16) -> u16 {
        if self.rng.below(4) == 0 {
            return 0;
        }
        let part = u64::from(window) * self.rng.below(256) / 256;
        u16::try_from(part).unwrap_or(window)
    }
}

impl Element for WindowShrinker {
    fn offer(&mut self, _: Instant, port: usize, mut unit: Unit, out: &mut Outlet) {
        if port == LINE
            && let Unit::Frame { data, .. } = &mut unit
            && self.rng.below(1024) < self.often
        {
            let at = self.at;
            self.squeezed += u64::from(squeeze(data, at, |window| self.smaller(window)));
        }
        out.put(HOST + LINE - port, unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self, _: Instant, _: &mut Outlet) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("squeezed", self.squeezed)]
    }
}

/// Changes the window of the TCP segment in `frame`, whose IP header begins at `at`; false where there is none.
fn squeeze(frame: &mut Message, at: usize, smaller: impl FnOnce(u16) -> u16) -> bool {
    let mut octets = [0; FRONT];
    let have = frame.len().min(FRONT);
    let Some(front) = octets.get_mut(..have) else {
        return false;
    };
    if !frame.copy_to(0, front) {
        return false;
    }
    let Some(tcp) = front.get(at..).and_then(behind_ip).map(|len| at + len) else {
        return false;
    };
    let end = tcp + tcp::MIN_LEN;
    let Some(front) = front.get_mut(..end) else {
        return false;
    };
    let Some([_, flags, w0, w1, c0, c1]) = front.get_mut(tcp + FLAGS - 1..).and_then(<[u8]>::first_chunk_mut::<6>)
    else {
        return false;
    };
    let set = Flags::from_bits((*flags).into());
    if set.intersects(Flags::SYN.with(Flags::RST)) {
        return false;
    }
    let old = u16::from_be_bytes([*w0, *w1]);
    let new = smaller(old);
    let sum = Sum::update(u16::from_be_bytes([*c0, *c1]), old, new);
    [*w0, *w1] = new.to_be_bytes();
    [*c0, *c1] = sum.to_be_bytes();
    if frame.pop_header(end).is_err() {
        return false;
    }
    frame.push_header(end).copy_from_slice(front);
    // What was known covered the old header too.
    if matches!(frame.meta().checksum, Checksum::Sum(_)) {
        frame.meta_mut().checksum = Checksum::Unknown;
    }
    new < old
}

/// How long the IP header at the front of `octets` is, where TCP follows it.
fn behind_ip(octets: &[u8]) -> Option<usize> {
    match octets {
        [first, .., _] if first >> 4 == 4 => {
            let whole = octets.get(6)? & 0x3f == 0 && *octets.get(7)? == 0;
            let len = 4 * usize::from(first & 0xf);
            (whole && *octets.get(9)? == ipv4::protocol::TCP && len >= ipv4::MIN_LEN).then_some(len)
        }
        [first, .., _] if first >> 4 == 6 => {
            (*octets.get(6)? == ipv4::protocol::TCP).then_some(kumiki_wire::inet::ipv6::LEN)
        }
        _ => None,
    }
}

const _: () = assert!(WINDOW == FLAGS + 1 && tcp::CHECKSUM_OFFSET == WINDOW + 2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;
    use crate::path::flood::segment;
    use crate::tap::is_intact;

    fn packet(version: Version, flags: Flags) -> Message {
        let header = tcp::Header { flags, window: 1000, ..tcp::Header::default() };
        segment(version.address(0), version.address(1), header)
    }

    #[test]
    fn a_window_becomes_smaller_and_nothing_else_changes() {
        for version in [Version::Four, Version::Six] {
            let mut data = packet(version, Flags::ACK);
            let before = data.to_vec();
            assert!(squeeze(&mut data, 0, |_| 7));
            assert!(is_intact(&data));
            assert!(squeeze(&mut data, 0, |window| window - 7));
            assert!(is_intact(&data));
            let after = data.to_vec();
            let differ = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            assert!((2..=4).contains(&differ), "{differ}");
            // What is damaged stays so.
            data.flip_bit(8 * (before.len() - 1));
            assert!(squeeze(&mut data, 0, |_| 0) || !is_intact(&data));
            assert!(!is_intact(&data));
        }
    }

    #[test]
    fn syns_and_what_is_no_tcp_are_let_be() {
        let mut syn = packet(Version::Four, Flags::SYN);
        assert!(!squeeze(&mut syn, 0, |_| 0));
        let mut short = packet(Version::Six, Flags::ACK);
        for len in (0..60).rev() {
            short.truncate(len);
            assert!(!squeeze(&mut short, 0, |_| 0), "{len}");
        }
    }
}
