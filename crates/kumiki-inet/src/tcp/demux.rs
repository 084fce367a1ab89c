//! Which connection a segment belongs to, in constant time.
//!
//! The table is keyed by a secret, so that nobody outside can choose addresses that fall together; its order is never
//! looked at, so the secret does not show in what a simulation does.

use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::BTreeMap;

use hashbrown::HashTable;
use kumiki_graph::{Handle, Rng};
use siphasher::sip::SipHasher13;

/// One end of a connection: an address and a port, without flow and zone, in 20 octets where [`SocketAddr`] takes 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    ip: IpAddr,
    port: u16,
}

impl End {
    pub(crate) const fn ip(&self) -> IpAddr {
        self.ip
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }
}

impl From<SocketAddr> for End {
    fn from(end: SocketAddr) -> Self {
        Self { ip: end.ip(), port: end.port() }
    }
}

impl From<End> for SocketAddr {
    fn from(end: End) -> Self {
        Self::new(end.ip, end.port)
    }
}

/// The two ends of a connection: both of one IP version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair {
    pub(crate) local: End,
    pub(crate) remote: End,
}

impl Pair {
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self { local: local.into(), remote: remote.into() }
    }
}

impl Hash for Pair {
    /// Of the addresses alone: a version follows from the length of its addresses.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for end in [self.local, self.remote] {
            match SocketAddr::from(end) {
                SocketAddr::V4(end) => end.hash(state),
                SocketAddr::V6(end) => end.hash(state),
            }
        }
    }
}

/// A keyed hash for tables and initial sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Secret(u64, u64);

impl Secret {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        Self(rng.next_u64(), rng.next_u64())
    }

    pub(crate) fn hash(self, what: &impl Hash) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        what.hash(&mut hasher);
        hasher.finish()
    }
}

/// The connections and the ports that are listened on.
///
/// The two ends of a connection are kept by the connection alone, and asked for by its handle: who finds it needs it in
/// any case, and the table has an eighth of the size.
#[derive(Default)]
pub(crate) struct Demux {
    secret: Secret,
    active: HashTable<Handle>,
    /// Consecutive segments are usually of one connection.
    last: Option<(Pair, Handle)>,
    passive: BTreeMap<(u16, IpAddr), Handle>,
}

impl Demux {
    pub(crate) fn new(secret: Secret) -> Self {
        Self { secret, ..Self::default() }
    }

    /// Which connection has these ends; `ends` are those of a connection.
    pub(crate) fn find<'a>(&mut self, pair: &Pair, ends: impl Fn(Handle) -> Option<&'a Pair>) -> Option<Handle> {
        if let Some((last, handle)) = self.last
            && last == *pair
        {
            return Some(handle);
        }
        let found = *self.active.find(self.secret.hash(pair), |&it| ends(it) == Some(pair))?;
        self.last = Some((*pair, found));
        Some(found)
    }

    /// Takes in a connection whose ends are no other's.
    pub(crate) fn insert<'a>(&mut self, pair: Pair, handle: Handle, ends: impl Fn(Handle) -> Option<&'a Pair>) {
        let secret = self.secret;
        self.active.insert_unique(secret.hash(&pair), handle, |&it| ends(it).map_or(0, |pair| secret.hash(pair)));
    }

    pub(crate) fn remove(&mut self, pair: &Pair, handle: Handle) {
        self.last = None;
        if let Ok(entry) = self.active.find_entry(self.secret.hash(pair), |&it| it == handle) {
            entry.remove();
        }
    }

    /// False where somebody listens there.
    pub(crate) fn listen(&mut self, local: SocketAddr, handle: Handle) -> bool {
        let key = (local.port(), local.ip());
        if self.passive.contains_key(&key) {
            return false;
        }
        self.passive.insert(key, handle);
        true
    }

    pub(crate) fn unlisten(&mut self, local: SocketAddr) {
        self.passive.remove(&(local.port(), local.ip()));
    }

    /// Who listens at `local`: for this address before for any (RFC 9293 MUST-42, MUST-43). 0.0.0.0 is any of IPv4, ::
    /// is any of both versions (RFC 3493 section 5.3).
    pub(crate) fn listener(&self, local: SocketAddr) -> Option<Handle> {
        let any4 = local.is_ipv4().then_some(Ipv4Addr::UNSPECIFIED.into());
        let any = [Some(local.ip()), any4, Some(Ipv6Addr::UNSPECIFIED.into())];
        let mut any = any.into_iter().flatten();
        any.find_map(|ip| self.passive.get(&(local.port(), ip))).copied()
    }

    /// Who has every port at `local` on which nobody listens.
    pub(crate) fn listener_at_all_ports(&self, local: SocketAddr) -> Option<Handle> {
        self.listener(SocketAddr::new(local.ip(), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(n: u16) -> Pair {
        let at = |host, port| SocketAddr::new(Ipv4Addr::new(10, 0, 0, host).into(), port);
        Pair::new(at(1, 80), at(2, n))
    }

    #[test]
    fn what_was_put_in_is_found_until_it_is_taken_out() {
        let mut demux = Demux::new(Secret::draw(&mut Rng::new(1, 2)));
        let handle = |n: u16| Handle { index: n.into(), generation: 1 };
        let all: Vec<Pair> = (0..2000).map(pair).collect();
        let ends = |handle: Handle| all.get(handle.index as usize);
        for n in 0..2000 {
            assert_eq!(demux.find(&pair(n), ends), None);
            demux.insert(pair(n), handle(n), ends);
        }
        for n in (0..2000).step_by(2) {
            demux.remove(&pair(n), handle(n));
        }
        for n in 0..2000 {
            let found = demux.find(&pair(n), ends).map(|handle| handle.index);
            assert_eq!(found, (n % 2 == 1).then_some(u32::from(n)));
        }
    }

    // RFC 9293: MUST-43
    #[test]
    fn a_listener_for_the_address_comes_before_one_for_any() {
        let mut demux = Demux::default();
        let handle = |index| Handle { index, generation: 0 };
        let at = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 80);
        let (here, there) = (at("10.0.0.1"), at("10.0.0.9"));
        assert!(demux.listen(at("0.0.0.0"), handle(1)));
        assert!(demux.listen(here, handle(2)));
        assert!(!demux.listen(here, handle(3)));
        assert_eq!(demux.listener(here), Some(handle(2)));
        assert_eq!(demux.listener(there), Some(handle(1)));
        demux.unlisten(here);
        assert_eq!(demux.listener(here), Some(handle(1)));
        assert_eq!(demux.listener(at("fd00::1")), None);
        assert!(demux.listen(at("::"), handle(4)));
        assert_eq!(demux.listener(at("fd00::1")), Some(handle(4)));
        assert_eq!(demux.listener(here), Some(handle(1)));
        demux.unlisten(at("0.0.0.0"));
        assert_eq!(demux.listener(here), Some(handle(4)));
    }
}
