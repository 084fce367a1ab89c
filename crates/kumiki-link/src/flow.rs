//! Which frames belong to one flow.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8290 sections 4.1 and 4.1.1 (the 5-tuple), section 8 (fragments) |
//! | Found | IPv4 and IPv6, where [`crate::mark`] finds them; ports of TCP and UDP |
//! | Left out | what tunnels and PPP enclose; ports of other protocols |
//!
//! What has no ports is told apart by addresses and protocol, as the RFC asks. So are all fragments, the first one too,
//! so that none overtakes another. All other frames are one flow.

use core::hash::{Hash as _, Hasher as _};
use core::net::IpAddr;

use kumiki_octets::Message;
use kumiki_wire::inet::icmpv4;
use kumiki_wire::inet::ipv4::{self, protocol};
use kumiki_wire::inet::ipv6::{self, extension::Chain, next_header};
use siphasher::sip::SipHasher13;

use crate::mark::packet_at;

/// How far into a packet its ports are looked for: behind the longest header of IPv4, and behind as many extension
/// headers.
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

/// What a packet shows to who passes it on: its flow, and what it belongs to beside that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowKeys {
    /// Its flow; all fragments of a packet have the same.
    pub flow: Flow,
    /// Which fragment it is, if it is one.
    pub fragment: Option<FragmentKeys>,
    /// The flow of the packet that it is about, where it is an error of ICMP or of ICMPv6: that packet went the other
    /// way.
    pub about: Option<Flow>,
}

/// A fragment of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentKeys {
    /// Tells the fragments of one packet from those of another with the same addresses and protocol.
    pub identification: u32,
    /// The flow of the packet with its ports, where it is the first fragment, which alone has them.
    pub whole: Option<Flow>,
}

/// What is behind the headers of IP, as far as it is there.
struct IpPayload {
    flow: Flow,
    piece: Option<FragmentKeys>,
    /// Where it begins.
    at: usize,
}

impl FlowKeys {
    /// What the packet in `frame` shows; `None` where no packet of IP is found.
    #[must_use]
    pub fn of(frame: &Message) -> Option<Self> {
        let at = packet_at(frame);
        let mut octets = [0; REACH];
        let len = REACH.min(frame.len().saturating_sub(at));
        let front = octets.get_mut(..len)?;
        if !frame.copy_to(at, front) {
            return None;
        }
        let IpPayload { flow, piece, at } = IpPayload::of(front, Some(frame.len() - at))?;
        let about = front.get(at..).filter(|_| piece.is_none()).and_then(|message| about(flow.protocol, message));
        Some(Self { flow, fragment: piece, about })
    }
}

/// The flow of the packet that an error of ICMP quotes.
fn about(protocol: u8, message: &[u8]) -> Option<Flow> {
    // Version 4: unreachable, source quench, redirect, time exceeded, parameter problem (RFC 792); version 6: all
    // errors (RFC 4443 section 2.1).
    let is_error = match (protocol, message.first()?) {
        (protocol::ICMP, kind) => matches!(kind, 3 | 4 | 5 | 11 | 12),
        (next_header::ICMPV6, kind) => *kind < 128,
        _ => false,
    };
    let quoted = message.get(icmpv4::MIN_LEN..).filter(|_| is_error)?;
    let IpPayload { flow, piece, .. } = IpPayload::of(quoted, None)?;
    // A later fragment has no ports to tell.
    piece.map_or(Some(flow), |it| it.whole)
}

impl IpPayload {
    /// Of a packet that has so many octets in `total`, or of which only the front is there.
    fn of(front: &[u8], total: Option<usize>) -> Option<Self> {
        match front.first()? >> 4 {
            4 => Self::of_ipv4(front),
            6 => Self::of_ipv6(front, total),
            _ => None,
        }
    }

    fn of_ipv4(front: &[u8]) -> Option<Self> {
        let &[version, _, _, _, i0, i1, f0, f1, _, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] =
            front.first_chunk::<{ ipv4::MIN_LEN }>()?;
        let at = 4 * usize::from(version & 0xf);
        let fragment = u16::from_be_bytes([f0, f1]);
        let (source, destination) = ([s0, s1, s2, s3].into(), [d0, d1, d2, d3].into());
        let flow = Flow { source, destination, protocol, ports: [0; 2] };
        let whole = (fragment & 0x1fff == 0).then(|| Flow { ports: ports(protocol, front, at), ..flow });
        // More fragments, or an offset.
        let is_fragment = fragment & 0x3fff != 0;
        let piece = is_fragment.then(|| FragmentKeys { identification: u16::from_be_bytes([i0, i1]).into(), whole });
        Some(Self { flow: whole.filter(|_| !is_fragment).unwrap_or(flow), piece, at })
    }

    fn of_ipv6(front: &[u8], total: Option<usize>) -> Option<Self> {
        let parsed = total.map_or_else(|| ipv6::Header::parse_quoted(front), |it| ipv6::Header::parse(front, it));
        let (header, _) = parsed.ok()?;
        let mut chain = Chain::new(&header, front);
        // A chain that is too long for this, or wrong, ends where it can no longer be read. What is behind a later
        // fragment's header is no header.
        let fragment = chain.by_ref().map_while(Result::ok).find_map(|it| it.fragment());
        let (protocol, ..) = chain.upper();
        let flow =
            Flow { source: header.source.into(), destination: header.destination.into(), protocol, ports: [0; 2] };
        if fragment.is_none_or(|it| it.offset == 0) {
            chain.by_ref().map_while(Result::ok).for_each(drop);
        }
        let (protocol, at, _) = chain.upper();
        let whole = || Flow { protocol, ports: ports(protocol, front, at), ..flow };
        let Some(it) = fragment else {
            return Some(Self { flow: whole(), piece: None, at });
        };
        let whole = (it.offset == 0).then(whole);
        Some(Self { flow, piece: Some(FragmentKeys { identification: it.identification, whole }), at })
    }
}

impl Flow {
    /// The flow of the packet in `frame`; `None` where no packet of IP is found.
    #[must_use]
    pub fn of(frame: &Message) -> Option<Self> {
        FlowKeys::of(frame).map(|it| it.flow)
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

/// A hash of the flow of `frame`, which nobody foretells without `key`: `SipHash` in place of the RFC's Jenkins hash
/// and salt, which it says trade security for speed.
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
