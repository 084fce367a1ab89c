//! The network between the hosts: whatever a host sends comes to whoever has its destination.
//!
//! | | |
//! |---|---|
//! | Model | each packet goes from the host that sent it to the one with its destination address, after the latency between the two; pairs of hosts can be cut off from each other, and a host from all |
//! | Order | packets of one pair stay in order while their latency stays as it is |
//! | Groups | what goes to a group of hosts, or to all, goes to every other host, and those take it that are in the group |
//! | Rules | somebody may decide about [each packet](super::Rule) before that |
//! | Left out | rates, queues and impairments: these are of a host's own [link](super::Link), on the way here |

use core::net::{IpAddr, Ipv4Addr};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::hash::Hasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Duration, Instant};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::Message;
use siphasher::sip::SipHasher13;
use smallvec::SmallVec;

use super::rules::{Rules, Verdict};
use super::time::nanos;

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
    /// Who gets what is for nobody.
    pub(super) gateway: Option<usize>,
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
pub(super) struct Cloud(Arc<Mutex<State>>, Rules);

impl Cloud {
    pub(super) fn new(latency: Duration) -> Self {
        let state = State {
            by_address: BTreeMap::new(),
            gateway: None,
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
        };
        Self(Arc::new(Mutex::new(state)), Rules::default())
    }

    pub(super) const fn rules(&self) -> &Rules {
        &self.1
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

    /// To which hosts a packet goes: the one that has its destination, or all others where that is a group. Which of them are in the group
    /// is theirs to know.
    fn destinations(&self, from: usize, data: &mut Message) -> SmallVec<[usize; 1]> {
        let Some((_, destination)) = ends(data) else {
            return SmallVec::new();
        };
        if !(destination.is_multicast() || destination == IpAddr::V4(Ipv4Addr::BROADCAST)) {
            let known = self.by_address.get(&destination).copied();
            return known.or(self.gateway.filter(|it| *it != from)).into_iter().collect();
        }
        let others: BTreeSet<usize> = self.by_address.values().copied().filter(|to| *to != from).collect();
        others.into_iter().collect()
    }

    /// How long the way takes a packet of so many octets; `None` where it is lost.
    fn latency(&self, from: usize, to: usize, octets: usize) -> Option<Duration> {
        let is_too_long = |host: &usize| self.largest.get(host).is_some_and(|largest| octets > *largest);
        let is_lost = is_too_long(&from)
            || is_too_long(&to)
            || self.cut.contains(&(from, to))
            || self.down.contains(&from)
            || self.down.contains(&to);
        (!is_lost).then(|| self.latencies.get(&(from, to)).copied().unwrap_or(self.latency))
    }

    /// Sends a packet on its way; what arrives at once goes to `out`.
    fn send(&mut self, (now, latency): (Instant, Duration), to: usize, unit: Unit, out: &mut Outlet) {
        self.passed += 1;
        if latency.is_zero() {
            out.put(to, unit);
            return;
        }
        self.number += 1;
        let flying = Flying { at: now + latency, number: self.number, to, unit };
        self.flying.push(Reverse(flying));
    }
}

impl Element for Cloud {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let Unit::Frame { mut data, address } = unit else {
            return;
        };
        let verdict = self.rules().judge(&mut data);
        let mut state = self.lock();
        let destinations = state.destinations(port, &mut data);
        if destinations.is_empty() {
            state.lost += 1;
            return;
        }
        state.record(now, port, &data);
        let delay = match verdict {
            Verdict::Pass => None,
            Verdict::Deliver(delay) => Some(nanos(delay)),
            Verdict::Drop => {
                state.lost += 1;
                return;
            }
        };
        let Some((last, others)) = destinations.split_last() else {
            return;
        };
        for to in others {
            match state.latency(port, *to, data.len()) {
                Some(latency) => {
                    let unit = Unit::Frame { data: data.clone(), address };
                    state.send((now, delay.unwrap_or(latency)), *to, unit, out);
                }
                None => state.lost += 1,
            }
        }
        match state.latency(port, *last, data.len()) {
            Some(latency) => {
                state.send((now, delay.unwrap_or(latency)), *last, Unit::Frame { data, address }, out);
            }
            None => state.lost += 1,
        }
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
