//! The network between the hosts: whatever a host sends comes to whoever has its destination.
//!
//! | | |
//! |---|---|
//! | Model | each packet goes from the host that sent it to the one with its destination address, after the latency between the two; pairs of hosts can be cut off from each other, and a host from all |
//! | Order | packets of one pair stay in order while their latency stays as it is |
//! | Left out | rates, queues and impairments: these are of a host's own [link](super::Link), on the way here |

use core::net::IpAddr;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::hash::Hasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Duration, Instant};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::Message;
use siphasher::sip::SipHasher13;

/// Where a packet comes from and goes to: at fixed places in both versions of IP (RFC 791 section 3.1, RFC 8200 section 3).
fn ends(data: &mut Message) -> Option<(IpAddr, IpAddr)> {
    let octets = data.front_at_least(40);
    let v4 = |at: usize| Some(IpAddr::from(<[u8; 4]>::try_from(octets.get(at..at + 4)?).ok()?));
    let v6 = |at: usize| Some(IpAddr::from(<[u8; 16]>::try_from(octets.get(at..at + 16)?).ok()?));
    match octets.first()? >> 4 {
        4 => Some((v4(12)?, v4(16)?)),
        6 => Some((v6(8)?, v6(24)?)),
        _ => None,
    }
}

/// A packet on its way: when it arrives, its place among those that arrive with it, and at which port.
#[derive(Debug)]
struct Flying {
    at: Instant,
    number: u64,
    to: usize,
    unit: Unit,
}

impl PartialEq for Flying {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Flying {}

impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flying {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// What can be changed while it runs. Hosts are numbered as their ports.
#[derive(Debug)]
pub(super) struct State {
    by_address: BTreeMap<IpAddr, usize>,
    /// From one host to another, where there is none of the pair.
    pub(super) latency: Duration,
    /// Of a pair, from the first to the second.
    pub(super) latencies: BTreeMap<(usize, usize), Duration>,
    /// What the first sends to the second is lost.
    pub(super) cut: BTreeSet<(usize, usize)>,
    /// What a packet that a host sends or is sent can have at most, in octets; longer ones are lost without a word.
    pub(super) largest: BTreeMap<usize, usize>,
    /// Hosts that are down.
    pub(super) down: BTreeSet<usize>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    /// Of all that was sent: when, by whom, and every octet.
    digest: SipHasher13,
    pub(super) passed: u64,
    pub(super) lost: u64,
}

/// The network: see the module.
#[derive(Clone, Debug)]
pub(super) struct Cloud(Arc<Mutex<State>>);

impl Cloud {
    pub(super) fn new(latency: Duration) -> Self {
        Self(Arc::new(Mutex::new(State {
            by_address: BTreeMap::new(),
            latency,
            latencies: BTreeMap::new(),
            cut: BTreeSet::new(),
            largest: BTreeMap::new(),
            down: BTreeSet::new(),
            flying: BinaryHeap::new(),
            number: 0,
            digest: SipHasher13::new(),
            passed: 0,
            lost: 0,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// `address` is that of `host`.
    pub(super) fn add(&mut self, address: IpAddr, host: usize) {
        self.by_address.insert(address, host);
    }

    /// A number of 64 bits that is another where anything was sent otherwise, or at another time.
    pub(super) fn digest(&self) -> u64 {
        self.digest.finish()
    }

    fn record(&mut self, now: Instant, from: usize, data: &Message) {
        self.digest.write_u64(now.as_nanos());
        self.digest.write_usize(from);
        self.digest.write_usize(data.len());
        data.for_each(|octets| self.digest.write(octets));
    }

    fn route(&mut self, now: Instant, from: usize, data: &mut Message) -> Option<(usize, Duration)> {
        let (_, destination) = ends(data)?;
        let to = *self.by_address.get(&destination)?;
        let is_too_long = |host: &usize| self.largest.get(host).is_some_and(|largest| data.len() > *largest);
        let is_lost = is_too_long(&from)
            || is_too_long(&to)
            || self.cut.contains(&(from, to))
            || self.down.contains(&from)
            || self.down.contains(&to);
        let latency = self.latencies.get(&(from, to)).copied().unwrap_or(self.latency);
        self.record(now, from, data);
        (!is_lost).then_some((to, latency))
    }
}

impl Element for Cloud {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let Unit::Frame { mut data, address } = unit else {
            return;
        };
        let mut state = self.lock();
        let Some((to, latency)) = state.route(now, port, &mut data) else {
            state.lost += 1;
            return;
        };
        state.passed += 1;
        let unit = Unit::Frame { data, address };
        if latency.is_zero() {
            out.put(to, unit);
            return;
        }
        state.number += 1;
        let flying = Flying { at: now + latency, number: state.number, to, unit };
        state.flying.push(Reverse(flying));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.lock().flying.peek().map(|Reverse(first)| first.at)
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        let mut state = self.lock();
        while state.flying.peek().is_some_and(|Reverse(first)| first.at <= now)
            && let Some(Reverse(flying)) = state.flying.pop()
        {
            // What was on its way to a host that has gone down meanwhile finds nobody.
            if state.down.contains(&flying.to) {
                state.lost += 1;
            } else {
                out.put(flying.to, flying.unit);
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let state = self.lock();
        vec![("passed", state.passed), ("lost", state.lost)]
    }
}
