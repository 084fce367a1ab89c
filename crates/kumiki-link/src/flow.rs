//! Which frames belong to one flow.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8290 sections 4.1 and 4.1.1 (the 5-tuple), section 8 (fragments) |
//! | Found | IPv4 and IPv6, where [`crate::mark`] finds them; ports of TCP and UDP |
//! | Left out | what tunnels and PPP enclose; ports of other protocols |
//!
//! What has no ports is told apart by addresses and protocol, as the RFC asks. So are all fragments, the first one too, so that none overtakes
//! another. All other frames are one flow.

use core::hash::{Hash as _, Hasher as _};
use core::net::IpAddr;

use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::{self, protocol};
use kumiki_wire::inet::ipv6::{self, extension::Chain};
use siphasher::sip::SipHasher13;

use crate::mark::packet_at;

/// How far into a packet its ports are looked for: behind the longest header of IPv4, and behind as many extension headers.
const REACH: usize = 128;

/// What frames of one flow have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flow {
    /// Who sends.
    pub source: IpAddr,
    /// Who receives.
    pub destination: IpAddr,
    /// The protocol above IP.
    pub protocol: u8,
    /// Source and destination port; 0 where there are none.
    pub ports: [u16; 2],
}

impl Flow {
    /// The flow of the packet in `frame`; `None` where no packet of IP is found.
    #[must_use]
    pub fn of(frame: &Message) -> Option<Self> {
        let at = packet_at(frame);
        let mut octets = [0; REACH];
        let len = REACH.min(frame.len().saturating_sub(at));
        let front = octets.get_mut(..len)?;
        if !frame.copy_to(at, front) {
            return None;
        }
        match front.first()? >> 4 {
            4 => Self::of_ipv4(front),
            6 => Self::of_ipv6(front, frame.len() - at),
            _ => None,
        }
    }

    fn of_ipv4(front: &[u8]) -> Option<Self> {
        let &[version, _, _, _, _, _, f0, f1, _, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] =
            front.first_chunk::<{ ipv4::MIN_LEN }>()?;
        // More fragments, or an offset.
        let is_fragment = u16::from_be_bytes([f0, f1]) & 0x3fff != 0;
        let at = 4 * usize::from(version & 0xf);
        let ports = if is_fragment { [0; 2] } else { ports(protocol, front, at) };
        let (source, destination) = ([s0, s1, s2, s3].into(), [d0, d1, d2, d3].into());
        Some(Self { source, destination, protocol, ports })
    }

    fn of_ipv6(front: &[u8], total: usize) -> Option<Self> {
        let (header, _) = ipv6::Header::parse(front, total).ok()?;
        let mut chain = Chain::new(&header, front);
        // A chain that is too long for this, or wrong, ends where it can no longer be read.
        let is_fragment = chain.by_ref().map_while(Result::ok).any(|it| it.fragment().is_some());
        let (protocol, at, _) = chain.upper();
        let ports = if is_fragment { [0; 2] } else { ports(protocol, front, at) };
        Some(Self { source: header.source.into(), destination: header.destination.into(), protocol, ports })
    }
}

/// Source and destination port in the header that begins with octet `at`.
fn ports(protocol: u8, front: &[u8], at: usize) -> [u16; 2] {
    match (protocol, front.get(at..)) {
        (protocol::TCP | protocol::UDP, Some(&[s0, s1, d0, d1, ..])) => {
            [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])]
        }
        _ => [0; 2],
    }
}

/// A hash of the flow of `frame`, which nobody foretells without `key`: `SipHash` in place of the RFC's Jenkins hash and salt, which it says
/// trade security for speed.
#[must_use]
pub fn flow_hash(frame: &Message, key: [u64; 2]) -> u64 {
    let [k0, k1] = key;
    let mut hasher = SipHasher13::new_with_keys(k0, k1);
    if let Some(Flow { source, destination, protocol, ports }) = Flow::of(frame) {
        for address in [source, destination] {
            match address {
                IpAddr::V4(it) => hasher.write(&it.octets()),
                IpAddr::V6(it) => hasher.write(&it.octets()),
            }
        }
        let [[s0, s1], [d0, d1]] = ports.map(u16::to_be_bytes);
        [protocol, s0, s1, d0, d1].hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
