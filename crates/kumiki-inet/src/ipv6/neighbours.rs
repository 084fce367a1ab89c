//! Who is on the link: the neighbour cache (RFC 4861 sections 5.1 and 7.3, appendix C).
//!
//! It knows no graph: what is to be done is appended to a list of [`NeighbourAction`]s.
//!
//! # Bounds
//!
//! At most [`Discovery::neighbours`] entries, of which [`Discovery::unknown`] may be INCOMPLETE; for each of these at
//! most [`Discovery::queue`] packets wait. So a flood to addresses that nobody has holds `unknown * queue` packets and
//! no more. What is over a bound costs the unknown neighbour that has been asked for longest, or those known that were
//! used longest ago; what is over a queue, its oldest packet (RFC 4861 section 7.2.2).

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Duration, Instant, Unit};
use kumiki_wire::inet::ethernet::MacAddr;

use super::config::Discovery;

/// MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT (RFC 4861 section 10).
const MOST_SOLICITATIONS: u8 = 3;

/// So large a part of the known neighbours goes at once where there is no room: who speaks from address upon address
/// has us look through all of them for each otherwise.
const PART: usize = 16;

/// What is known of whether a neighbour can be reached (RFC 4861 section 7.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Its address is being asked for.
    Incomplete,
    /// It was heard a short time ago.
    Reachable,
    /// It was heard a long time ago, or not by way of an answer.
    Stale,
    /// A packet was sent to it; it may show itself by answering.
    Delay,
    /// It is being asked whether it is there.
    Probe,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum NeighbourAction {
    /// Send a solicitation for `target`: to it alone where its link address is known.
    Solicit { target: Ipv6Addr, to: Option<MacAddr> },
    /// Send what waited.
    Send { to: MacAddr, packet: Packet },
    /// Nobody answered: the packet cannot be sent.
    Failed(Packet),
    /// There was no room for the packet.
    Lost,
}

/// A packet on its way to a neighbour, and what goes with it to the layer below but for the link address.
pub(super) type Packet = Box<Unit>;

#[derive(Debug)]
struct Neighbour {
    mac: Option<MacAddr>,
    state: State,
    is_router: bool,
    /// When the state changes by itself.
    due: Option<Instant>,
    /// Solicitations sent in this state.
    solicited: u8,
    waiting: VecDeque<Packet>,
    used: Instant,
}

/// What an advertisement says (RFC 4861 section 7.2.5).
#[derive(Clone, Copy, Debug)]
pub(super) struct Advertised {
    pub(super) target: Ipv6Addr,
    pub(super) mac: Option<MacAddr>,
    pub(super) router: bool,
    pub(super) solicited: bool,
    pub(super) overrides: bool,
}

/// The neighbours of an interface.
#[derive(Debug)]
pub(super) struct Cache {
    entries: BTreeMap<Ipv6Addr, Neighbour>,
    unknown: usize,
    bounds: Discovery,
    /// ReachableTime, drawn around the average.
    pub(super) reachable: Duration,
    /// RetransTimer.
    pub(super) retransmit: Duration,
}

impl Cache {
    pub(super) const fn new(bounds: Discovery) -> Self {
        Self {
            entries: BTreeMap::new(),
            unknown: 0,
            bounds,
            reachable: bounds.reachable,
            retransmit: bounds.retransmit,
        }
    }

    pub(super) fn state(&self, address: Ipv6Addr) -> Option<State> {
        self.entries.get(&address).map(|it| it.state)
    }

    /// When something changes by itself.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.entries.values().filter_map(|it| it.due).min()
    }

    /// How many are known or asked for.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many packets wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.entries.values().map(|it| it.waiting.len()).sum()
    }

    /// The link address of `next`, to which `packet` is to go; where it is not known yet the packet waits.
    pub(super) fn send(&mut self, now: Instant, next: Ipv6Addr, packet: Packet, acts: &mut Vec<NeighbourAction>) {
        let delay = self.bounds.delay;
        if let Some(it) = self.entries.get_mut(&next) {
            it.used = now;
            if it.state == State::Reachable && it.due.is_some_and(|due| due <= now) {
                (it.state, it.due) = (State::Stale, None);
            }
            if it.state == State::Stale {
                (it.state, it.due) = (State::Delay, Some(now + delay));
            }
            if let Some(to) = it.mac {
                acts.push(NeighbourAction::Send { to, packet });
            } else {
                Self::queue(it, packet, self.bounds.queue, acts);
            }
            return;
        }
        if self.unknown >= self.bounds.unknown {
            self.evict(State::Incomplete, acts);
        }
        let mut it = Neighbour {
            mac: None,
            state: State::Incomplete,
            is_router: false,
            due: Some(now + self.retransmit),
            solicited: 1,
            waiting: VecDeque::new(),
            used: now,
        };
        Self::queue(&mut it, packet, self.bounds.queue, acts);
        self.keep(next, it, acts);
        acts.push(NeighbourAction::Solicit { target: next, to: None });
    }

    fn queue(it: &mut Neighbour, packet: Packet, most: usize, acts: &mut Vec<NeighbourAction>) {
        it.waiting.push_back(packet);
        if it.waiting.len() > most {
            it.waiting.pop_front();
            acts.push(NeighbourAction::Lost);
        }
    }

    fn keep(&mut self, address: Ipv6Addr, it: Neighbour, acts: &mut Vec<NeighbourAction>) {
        if self.entries.len() >= self.bounds.neighbours {
            let known = self.entries.len() > self.unknown;
            let victim = if known { State::Stale } else { State::Incomplete };
            self.evict(victim, acts);
        }
        self.unknown += usize::from(it.state == State::Incomplete);
        self.entries.insert(address, it);
    }

    /// Forgets an unknown neighbour, or a part of those that are known: who was used longest ago.
    fn evict(&mut self, which: State, acts: &mut Vec<NeighbourAction>) {
        let unknown = which == State::Incomplete;
        let of_kind = self.entries.iter().filter(|(_, it)| (it.state == State::Incomplete) == unknown);
        let mut all: Vec<_> = of_kind.map(|(at, it)| (it.used, *at)).collect();
        let part = if unknown { 1 } else { (self.bounds.neighbours / PART).max(1) };
        if part < all.len() {
            all.select_nth_unstable(part);
        }
        for (_, victim) in all.into_iter().take(part) {
            let waiting = self.remove(victim).map(|gone| gone.waiting).unwrap_or_default();
            acts.extend(waiting.into_iter().map(|_| NeighbourAction::Lost));
        }
    }

    fn remove(&mut self, address: Ipv6Addr) -> Option<Neighbour> {
        let gone = self.entries.remove(&address)?;
        self.unknown -= usize::from(gone.state == State::Incomplete);
        Some(gone)
    }

    /// The state of an entry changes, and with a link address what waits is sent.
    fn set(&mut self, now: Instant, address: Ipv6Addr, state: State, acts: &mut Vec<NeighbourAction>) {
        let Some(it) = self.entries.get_mut(&address) else {
            return;
        };
        self.unknown -= usize::from(it.state == State::Incomplete);
        it.state = state;
        it.due = (state == State::Reachable).then(|| now + self.reachable);
        if let Some(to) = it.mac {
            let waited = it.waiting.drain(..);
            acts.extend(waited.map(|packet| NeighbourAction::Send { to, packet }));
        }
    }

    /// `address` has said its link address without being asked: the source of a solicitation or of a router's message.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        address: Ipv6Addr,
        mac: Option<MacAddr>,
        router: bool,
        acts: &mut Vec<NeighbourAction>,
    ) {
        let Some(it) = self.entries.get_mut(&address) else {
            if mac.is_some() {
                let it = Neighbour {
                    mac,
                    state: State::Stale,
                    is_router: router,
                    due: None,
                    solicited: 0,
                    waiting: VecDeque::new(),
                    used: now,
                };
                self.keep(address, it, acts);
            }
            return;
        };
        it.is_router |= router;
        if mac.is_some() && it.mac != mac {
            it.mac = mac;
            self.set(now, address, State::Stale, acts);
        }
    }

    /// A packet has come from `address`, by way of `mac`: it is there, as far as a gateway need know. Whether that
    /// changes anything.
    pub(super) fn met(
        &mut self,
        now: Instant,
        address: Ipv6Addr,
        mac: MacAddr,
        acts: &mut Vec<NeighbourAction>,
    ) -> bool {
        let Some(it) = self.entries.get_mut(&address) else {
            let due = Some(now + self.reachable);
            let it = Neighbour {
                mac: Some(mac),
                state: State::Reachable,
                is_router: false,
                due,
                solicited: 0,
                waiting: VecDeque::new(),
                used: now,
            };
            self.keep(address, it, acts);
            return true;
        };
        // Not for each packet: who looks for the next deadline looks at all.
        let is_fresh = it.due.is_some_and(|due| due > now + self.reachable / 2);
        if it.mac == Some(mac) && it.state == State::Reachable && is_fresh {
            return false;
        }
        it.mac = Some(mac);
        self.set(now, address, State::Reachable, acts);
        true
    }

    /// Appendix C, the rows for advertisements. Whether a router has become a host (section 7.2.5).
    pub(super) fn advertised(&mut self, now: Instant, said: Advertised, acts: &mut Vec<NeighbourAction>) -> bool {
        let Some(it) = self.entries.get_mut(&said.target) else {
            return false;
        };
        let no_longer_router = it.is_router && !said.router;
        let differs = said.mac.is_some() && said.mac != it.mac;
        if it.state == State::Incomplete {
            if said.mac.is_none() {
                return false;
            }
            it.is_router = said.router;
            it.mac = said.mac;
            let state = if said.solicited { State::Reachable } else { State::Stale };
            self.set(now, said.target, state, acts);
            return no_longer_router;
        }
        if !said.overrides && differs {
            if it.state == State::Reachable {
                (it.state, it.due) = (State::Stale, None);
            }
            return false;
        }
        it.is_router = said.router;
        if differs {
            it.mac = said.mac;
        }
        if said.solicited {
            self.set(now, said.target, State::Reachable, acts);
        } else if differs {
            self.set(now, said.target, State::Stale, acts);
        }
        no_longer_router
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Instant, acts: &mut Vec<NeighbourAction>) {
        let mut gone = Vec::new();
        for (&target, it) in &mut self.entries {
            if it.due.is_none_or(|due| due > now) {
                continue;
            }
            match it.state {
                State::Reachable => (it.state, it.due) = (State::Stale, None),
                State::Stale => it.due = None,
                State::Delay => {
                    (it.state, it.solicited) = (State::Probe, 1);
                    it.due = Some(now + self.retransmit);
                    acts.push(NeighbourAction::Solicit { target, to: it.mac });
                }
                State::Incomplete | State::Probe if it.solicited < MOST_SOLICITATIONS => {
                    it.solicited += 1;
                    it.due = Some(now + self.retransmit);
                    acts.push(NeighbourAction::Solicit { target, to: it.mac });
                }
                State::Incomplete | State::Probe => gone.push(target),
            }
        }
        for target in gone {
            let waited = self.remove(target).map(|it| it.waiting);
            acts.extend(waited.unwrap_or_default().into_iter().map(NeighbourAction::Failed));
        }
    }
}
