//! How much the paths to others carry (RFC 8201).

use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::ipv6::MIN_MTU;

/// How long a path is held for narrow (RFC 8201 section 4).
const LIFETIME: Duration = Duration::from_secs(600);
/// How many narrow paths are remembered.
const MOST: usize = 256;

/// What is known of paths narrower than their first link, and until when: what users of ours have confirmed.
#[derive(Debug, Default)]
pub(super) struct Paths(BTreeMap<Ipv6Addr, (u32, Instant)>);

impl Paths {
    /// The largest packet that the path to `to` is known to carry.
    pub(super) fn mtu(&self, to: Ipv6Addr, now: Instant) -> u32 {
        let good = self.0.get(&to).filter(|(_, until)| now < *until);
        good.map_or(u32::MAX, |(mtu, _)| *mtu)
    }

    /// A router says that the path to `to` carries no more than `mtu` octets, about a packet that a user knows to have
    /// sent.
    pub(super) fn narrow(&mut self, to: Ipv6Addr, mtu: u32, now: Instant) {
        if (mtu as usize) < MIN_MTU || mtu >= self.mtu(to, now) {
            return;
        }
        if self.0.len() >= MOST && !self.0.contains_key(&to) {
            let oldest = self.0.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(oldest) = oldest.map(|(to, _)| *to) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(to, (mtu, now + LIFETIME));
    }
}
