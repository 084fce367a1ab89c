//! The network between the hosts: whatever a host sends comes to whoever has its destination.
//!
//! | | |
//! |---|---|
//! | Model | each packet goes from the host that sent it to the one with its destination address, after the latency between the two; pairs of hosts can be cut off from each other, and a host from all |
//! | Order | packets of one pair stay in order while their latency stays as it is |
//! | Groups | what goes to a group of hosts, or to all, goes to every other host, and those take it that are in the group |
//! | Rules | somebody may decide about [each packet](super::Rule) before that |
//! | Between | a network of [somebody else's making](super::NetworkModel) may take the place of the latency: then it says what arrives where, and when |
//! | Left out | rates, queues and impairments: these are of a host's own [link](super::Link), on the way here |

use core::net::{IpAddr, Ipv4Addr};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::hash::Hasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Address, Duration, Instant};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::Message;
use siphasher::sip::SipHasher13;
use smallvec::SmallVec;

use super::network_model::NetworkModel;
use super::rules::{Rules, Verdict};
use super::time::nanos;

/// Where a packet comes from and goes to: at fixed places in both versions of IP (RFC 791 section 3.1, RFC 8200 section
/// 3).
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
struct PacketInFlight {
    at: Instant,
    number: u64,
    to: usize,
    unit: Unit,
}

impl PartialEq for PacketInFlight {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for PacketInFlight {}

impl PartialOrd for PacketInFlight {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PacketInFlight {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// What can be changed while it runs. Hosts are numbered as their ports.
pub(super) struct State {
    by_address: BTreeMap<IpAddr, usize>,
    /// What has the place of the latency.
    pub(super) between: Option<Box<dyn NetworkModel>>,
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
    flying: BinaryHeap<Reverse<PacketInFlight>>,
    number: u64,
    /// Of all that was sent: when, by whom, and every octet.
    digest: SipHasher13,
    pub(super) passed: u64,
    pub(super) lost: u64,
}

/// The network: see the module.
#[derive(Clone)]
pub(super) struct SimNetwork(Arc<Mutex<State>>, Rules);

impl SimNetwork {
    pub(super) fn new(latency: Duration) -> Self {
        let state = State {
            by_address: BTreeMap::new(),
            between: None,
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

    /// It is nobody's any more.
    pub(super) fn remove(&mut self, address: IpAddr) {
        self.by_address.remove(&address);
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

    /// To which hosts a packet goes: the one that has its destination, or all others where that is a group. Which of
    /// them are in the group is theirs to know.
    fn destinations(&self, from: usize, data: &mut Message) -> SmallVec<[usize; 1]> {
        let Some((_, destination)) = ends(data) else {
            return SmallVec::new();
        };
        if !(destination.is_multicast() || destination == IpAddr::V4(Ipv4Addr::BROADCAST)) {
            let known = self.by_address.get(&destination).copied();
            return known.or_else(|| self.gateway.filter(|it| *it != from)).into_iter().collect();
        }
        let others: BTreeSet<usize> = self.by_address.values().copied().filter(|to| *to != from).collect();
        others.into_iter().collect()
    }

    /// Whether a packet of so many octets cannot pass the line of `host`.
    fn is_lost_at(&self, host: usize, octets: usize) -> bool {
        self.down.contains(&host) || self.largest.get(&host).is_some_and(|largest| octets > *largest)
    }

    /// How long the way takes a packet of so many octets; `None` where it is lost.
    fn latency(&self, from: usize, to: usize, octets: usize) -> Option<Duration> {
        let is_lost = self.is_lost_at(from, octets) || self.is_lost_at(to, octets) || self.cut.contains(&(from, to));
        (!is_lost).then(|| self.latencies.get(&(from, to)).copied().unwrap_or(self.latency))
    }

    /// Gives a packet to what is between; where it is for a host that is known, only if the two may hear each other.
    fn enter(&mut self, (now, from): (Instant, usize), to: Option<usize>, data: Message, out: &mut Outlet) {
        let is_lost = self.is_lost_at(from, data.len())
            || to.is_some_and(|to| self.is_lost_at(to, data.len()) || self.cut.contains(&(from, to)));
        if is_lost {
            self.lost += 1;
            return;
        }
        self.passed += 1;
        if let Some(between) = &mut self.between {
            between.pass(now);
            between.send(from, data);
        }
        self.leave(out);
    }

    /// Hands out what has come to hosts through what is between.
    fn leave(&mut self, out: &mut Outlet) {
        while let Some((to, mut data)) = self.between.as_mut().and_then(|it| it.arrived()) {
            // What goes to several was not judged by who gets it.
            let is_cut = ends(&mut data).is_some_and(|(source, destination)| {
                let from = self.by_address.get(&source);
                !self.by_address.contains_key(&destination) && from.is_some_and(|from| self.cut.contains(&(*from, to)))
            });
            if is_cut || self.is_lost_at(to, data.len()) {
                self.lost += 1;
            } else {
                out.put(to, Unit::Frame { data, address: Address::NONE });
            }
        }
    }

    /// Sends a packet on its way; what arrives at once goes to `out`.
    fn send(&mut self, (now, latency): (Instant, Duration), to: usize, unit: Unit, out: &mut Outlet) {
        self.passed += 1;
        if latency.is_zero() {
            out.put(to, unit);
            return;
        }
        self.number += 1;
        let flying = PacketInFlight { at: now + latency, number: self.number, to, unit };
        self.flying.push(Reverse(flying));
    }
}

impl Element for SimNetwork {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let Unit::Frame { mut data, address } = unit else {
            return;
        };
        let verdict = self.rules().judge(&mut data);
        let mut state = self.lock();
        let destinations = state.destinations(port, &mut data);
        if destinations.is_empty() && state.between.is_none() {
            state.lost += 1;
            return;
        }
        state.record(now, port, &data);
        if state.between.is_some() && (verdict == Verdict::Pass || destinations.is_empty() && verdict != Verdict::Drop)
        {
            let to = ends(&mut data).and_then(|(_, destination)| state.by_address.get(&destination).copied());
            state.enter((now, port), to, data, out);
            return;
        }
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
        let mut state = self.lock();
        let flying = state.flying.peek().map(|Reverse(first)| first.at);
        flying.into_iter().chain(state.between.as_mut().and_then(|it| it.next_deadline())).min()
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
        if let Some(between) = &mut state.between {
            between.pass(now);
            state.leave(out);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let state = self.lock();
        vec![("passed", state.passed), ("lost", state.lost)]
    }
}
