//! Our own addresses: when they may be used, and which one goes with a destination.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4862 sections 5.4 (duplicates) and 5.5 (autoconfiguration), RFC 4291 section 2.7 (scopes) |
//! | Left out | RFC 6724 but for its rules 1 to 3: the destination itself, scopes that fit, deprecated addresses last; among equals the first one is taken |

use core::net::Ipv6Addr;

use kumiki_graph::{Duration, Instant};

use crate::{Assignment, Authority, Change};

/// Two hours, below which no advertisement brings the lifetime of an address (RFC 4862 section 5.5.3 (e)).
const TWO_HOURS: Duration = Duration::from_secs(7200);

/// Whether an address may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AddressState {
    /// Somebody else may have it: it will be asked for so many times more, next at this time.
    Tentative { left: u8, next: Instant },
    /// It is ours.
    Ours,
    /// Somebody else has it.
    Duplicate,
}

/// An address of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalAddress {
    pub(super) address: Ipv6Addr,
    pub(super) standing: AddressState,
    /// Who has said so, where it is not of the configuration.
    pub(super) by: Option<Authority>,
    /// How many leading bits of it name the network that it gave us a route to.
    pub(super) prefix: Option<u8>,
    /// Until when it is preferred; for ever where `None`.
    pub(super) preferred: Option<Instant>,
    /// Until when it is valid; for ever where `None`.
    pub(super) valid: Option<Instant>,
    /// Not for new conversations.
    pub(super) deprecated: bool,
}

impl LocalAddress {
    pub(super) const fn new(address: Ipv6Addr, standing: AddressState) -> Self {
        Self { address, standing, by: None, prefix: None, preferred: None, valid: None, deprecated: false }
    }

    pub(super) fn is_ours(&self) -> bool {
        self.standing == AddressState::Ours
    }

    /// Made of a prefix that a router advertised.
    pub(super) fn is_made(&self) -> bool {
        self.by == Some(Authority::Router)
    }

    /// When something changes by itself.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let asked = match self.standing {
            AddressState::Tentative { next, .. } => Some(next),
            AddressState::Ours | AddressState::Duplicate => None,
        };
        let preferred = self.preferred.filter(|_| !self.deprecated);
        [asked, preferred, self.valid].into_iter().flatten().min()
    }

    /// What users are told of it, where it has come while IP runs.
    pub(super) fn told(&self, interface: usize) -> Option<Assignment> {
        let prefix = self.prefix.unwrap_or(64);
        let change = Change::Address { address: self.address.into(), prefix, probe: false };
        Some(Assignment { interface, by: self.by.filter(|_| self.is_ours())?, change })
    }

    /// A router has advertised its prefix again (RFC 4862 section 5.5.3 (e)).
    pub(super) fn renew(&mut self, now: Instant, preferred: Option<Duration>, valid: Option<Duration>) {
        self.preferred = preferred.map(|it| now + it);
        self.deprecated = preferred.is_some_and(Duration::is_zero);
        let remaining = self.valid.map(|until| until.saturating_since(now));
        let longer = match (valid, remaining) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(told), Some(remaining)) => told > remaining,
        };
        if longer || valid.is_none_or(|told| told > TWO_HOURS) {
            self.valid = valid.map(|it| now + it);
        } else if remaining.is_none_or(|it| it > TWO_HOURS) {
            self.valid = Some(now + TWO_HOURS);
        }
    }
}

/// Whether `address` is among `own`, and may be used.
pub(super) fn has(own: &[LocalAddress], address: Ipv6Addr) -> bool {
    own.iter().any(|it| it.address == address && it.is_ours())
}

/// How far an address reaches, as multicast addresses count it: 2 the link, 14 everywhere.
pub(super) const fn scope(address: Ipv6Addr) -> u8 {
    let [first, second, ..] = address.octets();
    if first == 0xff {
        second & 0xf
    } else if address.is_unicast_link_local() {
        2
    } else if address.is_loopback() {
        1
    } else {
        14
    }
}

/// The one among `own` from which a packet to `to` should come.
pub(super) fn select(own: &[LocalAddress], to: Ipv6Addr) -> Option<Ipv6Addr> {
    let ours = || own.iter().filter(|it| it.is_ours());
    if let Some(same) = ours().find(|it| it.address == to) {
        return Some(same.address);
    }
    // Whose scope is smaller than the destination's cannot be answered from there.
    let fits = ours().filter(|it| scope(it.address) >= scope(to));
    let best = fits.min_by_key(|it| (scope(it.address), it.deprecated));
    best.map(|it| it.address)
}
