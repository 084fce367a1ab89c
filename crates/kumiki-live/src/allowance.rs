//! How much of a log is about those who were let in: so many octets for each network at once, and so many a second.
//!
//! What somebody did who was let in is told, however often he does it, up to here. What changes nothing (files that are
//! read or looked at, and what is refused) has half of that, so that nobody hides behind it what he changes. Whoever
//! tells says what was left out, by its number.

use core::net::IpAddr;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_io::admission::Prefix;

/// So many octets are told at once: some thousands of deeds.
const BURST: u64 = 256 << 10;

/// How long each octet takes to be there again: 4 KiB a second.
const EACH: Duration = Duration::from_nanos(1_000_000_000 / (4 << 10));

/// So many networks are remembered. Of others nothing is told until one of these has all of its octets again.
const NETWORKS: usize = 4096;

/// What there is of each network.
#[derive(Debug, Default)]
pub struct Allowances {
    /// When all of it will be there again (the generic cell rate algorithm of ITU-T I.371).
    whole: BTreeMap<Prefix, Instant>,
}

impl Allowances {
    /// Whether `octets` about somebody at `address` are to be told; then they are counted. Of what `changes` nothing
    /// there is half.
    pub fn take(&mut self, address: IpAddr, octets: usize, changes: bool, now: Instant) -> bool {
        let network = Prefix::network(address);
        if !self.whole.contains_key(&network) && self.whole.len() >= NETWORKS {
            self.whole.retain(|_, whole| *whole > now);
            if self.whole.len() >= NETWORKS {
                return false;
            }
        }
        let whole = self.whole.entry(network).or_default();
        let then = (*whole).max(now) + EACH.saturating_mul(octets as u64);
        let most = if changes { BURST } else { BURST / 2 };
        let fits = then.saturating_since(now) <= EACH.saturating_mul(most);
        if fits {
            *whole = then;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(allowances: &mut Allowances, address: &str, changes: bool, now: Instant) -> usize {
        let address = address.parse().unwrap();
        (0..10_000).filter(|_| allowances.take(address, 100, changes, now)).count()
    }

    #[test]
    fn a_network_has_so_many_octets_and_then_so_many_a_second() {
        let mut allowances = Allowances::default();
        let now = Instant::ZERO + Duration::from_secs(1);
        let most = (BURST / 100) as usize;
        assert_eq!(told(&mut allowances, "10.0.0.1", false, now), most / 2);
        // What changes something is told all the same, also of the host beside it.
        assert_eq!(told(&mut allowances, "10.0.0.2", true, now), most - most / 2);
        assert_eq!(told(&mut allowances, "10.0.0.3", true, now), 0);
        assert_eq!(told(&mut allowances, "10.0.1.1", true, now), most);
        let later = now + Duration::from_secs(10);
        let again = told(&mut allowances, "10.0.0.1", true, later);
        assert!((405..=415).contains(&again), "{again}");
    }

    #[test]
    fn many_networks_take_no_more_memory() {
        let mut allowances = Allowances::default();
        let address = |number: u32| IpAddr::from(number.wrapping_mul(256).to_be_bytes());
        let now = Instant::ZERO + Duration::from_secs(1);
        let taken = (0..10_000).filter(|number| allowances.take(address(*number), 100, true, now)).count();
        assert_eq!(taken, NETWORKS);
        // Those have all of it again.
        let later = now + Duration::from_secs(60);
        assert!(allowances.take(address(9_999), 100, true, later));
        assert_eq!(allowances.whole.len(), 1);
    }
}
