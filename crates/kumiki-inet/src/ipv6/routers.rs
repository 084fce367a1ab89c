//! What routers tell a host: that they are there, and of the link and its prefixes.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4861 section 6.3 (routers, as a host); RFC 4862 section 5.5; RFC 8106 section 5.1 (resolvers) |
//! | Differs | a router's advertisements are kept for 8 routers, 16 prefixes, 16 addresses and 8 resolvers of each interface; further ones are passed over |

use core::net::{IpAddr, Ipv6Addr};

use kumiki_graph::users::tell_all;
use kumiki_graph::{Context, Duration, Instant, Report};
use kumiki_wire::inet::icmpv6::option::{Opt, Prefix};
use kumiki_wire::inet::icmpv6::{Message as Icmp, Router as Advertisement};
use kumiki_wire::inet::ipv6::{ALL_ROUTERS, Header, MIN_MTU};

use super::addresses::{LocalAddress, select};
use super::discovery::{Discover, Link, around, source_mac};
use super::family::V6;
use super::neighbours::{Cache, State};
use super::{Hop, Ip};
use crate::internet::{Family, mask};
use crate::{AssignedRoute, Assignment, Authority, Change, Resolvers};

/// RTR_SOLICITATION_INTERVAL.
const SOLICITATION_INTERVAL: Duration = Duration::from_secs(4);
/// MAX_RTR_SOLICITATIONS.
const MOST_SOLICITATIONS: u8 = 3;
const MOST_ROUTERS: usize = 8;
const MOST_PREFIXES: usize = 16;
const MOST_ADDRESSES: usize = 16;
const MOST_RESOLVERS: usize = 8;

/// A default router.
#[derive(Clone, Copy, Debug)]
struct Router {
    address: Ipv6Addr,
    until: Instant,
}

/// A prefix that a router says is on the link.
#[derive(Clone, Copy, Debug)]
struct OnLink {
    prefix: Ipv6Addr,
    len: u8,
    until: Option<Instant>,
}

/// Who looks up names, as a router says.
#[derive(Clone, Copy, Debug)]
struct Resolver {
    address: Ipv6Addr,
    until: Option<Instant>,
}

/// The default route by `router`, as users are told of it.
pub(super) fn default_by(interface: usize, router: Ipv6Addr) -> Assignment {
    let way = AssignedRoute { network: Ipv6Addr::UNSPECIFIED.into(), prefix: 0, router: Some(router.into()) };
    Assignment { interface, by: Authority::Router, change: Change::Route(way) }
}

/// The network that a router says is on the link, as users are told of it.
fn on_link(interface: usize, prefix: Ipv6Addr, len: u8) -> Assignment {
    let way = AssignedRoute { network: prefix.into(), prefix: len, router: None };
    Assignment { interface, by: Authority::Router, change: Change::Route(way) }
}

/// What is known of the routers on an interface.
#[derive(Debug, Default)]
pub(super) struct Routers {
    known: Vec<Router>,
    prefixes: Vec<OnLink>,
    resolvers: Vec<Resolver>,
    /// How often routers are still to be asked, and when next.
    solicit: Option<(u8, Instant)>,
    /// Whose turn it is among routers of which none is known to be reachable.
    turn: usize,
}

impl Routers {
    /// Lets routers be asked from `first` on.
    pub(super) const fn ask_from(&mut self, first: Instant) {
        self.solicit = Some((MOST_SOLICITATIONS, first));
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        let known = self.known.iter().map(|it| it.until);
        let prefixes = self.prefixes.iter().filter_map(|it| it.until);
        let resolvers = self.resolvers.iter().filter_map(|it| it.until);
        let solicit = self.solicit.map(|(_, next)| next);
        known.chain(prefixes).chain(resolvers).chain(solicit).min()
    }

    /// The neighbour `address` says that it is no router any more; whether it was one.
    pub(super) fn forget(&mut self, address: Ipv6Addr) -> bool {
        let before = self.known.len();
        self.known.retain(|router| router.address != address);
        self.known.len() < before
    }

    /// Those that are in force.
    fn resolvers(&self) -> Vec<IpAddr> {
        self.resolvers.iter().map(|it| it.address.into()).collect()
    }

    /// A router tells of resolvers (RFC 8106 section 5.1). Who is many, nobody or ourselves is none.
    fn resolve_by(&mut self, address: Ipv6Addr, until: Option<Instant>, is_alive: bool) {
        if address.is_multicast() || address.is_unspecified() || address.is_loopback() {
            return;
        }
        match self.resolvers.iter().position(|it| it.address == address) {
            Some(at) if !is_alive => drop(self.resolvers.remove(at)),
            Some(at) => {
                if let Some(it) = self.resolvers.get_mut(at) {
                    it.until = until;
                }
            }
            None if is_alive && self.resolvers.len() < MOST_RESOLVERS => {
                self.resolvers.push(Resolver { address, until });
            }
            None => {}
        }
    }

    /// RFC 4861 section 6.3.6: one that is not known to be silent, or else one after the other.
    fn choose(&mut self, cache: &Cache) -> Option<Ipv6Addr> {
        let known = |it: &&Router| {
            let state = cache.state(it.address);
            state.is_some_and(|state| state != State::Incomplete)
        };
        if let Some(good) = self.known.iter().find(known) {
            return Some(good.address);
        }
        self.turn = self.turn.wrapping_add(1);
        let turn = self.turn.checked_rem(self.known.len())?;
        self.known.get(turn).map(|it| it.address)
    }
}

/// A time of so many seconds, all ones being for ever.
fn seconds(told: u32) -> Option<Duration> {
    (told != u32::MAX).then(|| Duration::from_secs(told.into()))
}

impl Ip {
    /// Whether the messages of routers are acted on.
    pub(super) fn takes_advertisements(&mut self, interface: usize) -> bool {
        let host = !self.forwarding;
        let chosen = self.discover_at(interface).map(|it| it.config.advertisements);
        chosen.flatten().unwrap_or(host)
    }

    /// A default router that has advertised itself, on the interface `by`, where that is said.
    pub(super) fn default_router(&mut self, by: Option<usize>) -> Option<Hop> {
        let mut ports = self.ports.iter_mut().enumerate().filter(|(it, _)| by.is_none_or(|by| by == *it));
        ports.find_map(|(interface, port)| match &mut port.link {
            Link::Discover(it) if port.up => it.routers.choose(&it.cache).map(|next| Hop { interface, next }),
            Link::Discover(_) | Link::One | Link::Table(_) => None,
        })
    }

    pub(super) fn tick_routers(&mut self, interface: usize, cx: &mut Context<'_>) {
        let now = cx.now();
        let Some(Discover { routers, mac, .. }) = self.discover_at(interface) else {
            return;
        };
        let mut told: Vec<Assignment> = Vec::new();
        routers.known.retain(|router| {
            let is_there = router.until > now;
            told.extend((!is_there).then(|| default_by(interface, router.address).undone()));
            is_there
        });
        let before = routers.resolvers.len();
        routers.resolvers.retain(|it| it.until.is_none_or(|until| until > now));
        let resolvers = (routers.resolvers.len() < before).then(|| routers.resolvers());
        let late = |it: &OnLink| it.until.is_some_and(|until| until <= now);
        let gone: Vec<OnLink> = routers.prefixes.iter().copied().filter(late).collect();
        routers.prefixes.retain(|it| !late(it));
        let solicit = routers.solicit.filter(|(_, next)| *next <= now);
        if let Some((left, _)) = solicit {
            routers.solicit = Some((left - 1, now + SOLICITATION_INTERVAL)).filter(|(left, _)| *left > 0);
        }
        let own = *mac;
        for gone in gone {
            self.routes.remove(gone.prefix, gone.len, interface, None);
            told.push(on_link(interface, gone.prefix, gone.len).undone());
        }
        for what in told {
            self.tell(what, cx);
        }
        if let Some(servers) = resolvers {
            self.tell_resolvers(interface, servers, cx);
        }
        if solicit.is_some() {
            let here = self.ports.get(interface).map(|port| port.own.as_slice());
            let source = select(here.unwrap_or_default(), ALL_ROUTERS);
            // Without a source our address may not be told (RFC 4861 section 4.1).
            let option = own.filter(|_| source.is_some()).map(Opt::Source);
            let from = source.unwrap_or(Ipv6Addr::UNSPECIFIED);
            self.state.counters.solicitations_sent += 1;
            let message = Icmp::RouterSolicitation;
            let options = option.as_slice();
            self.say(interface, (from, ALL_ROUTERS), message, options, cx);
        }
    }

    /// A router tells of itself and of the link (section 6.3.4).
    pub(super) fn router_advertised(
        &mut self,
        interface: usize,
        header: &Header,
        told: Advertisement,
        options: &[Opt<'_>],
        cx: &mut Context<'_>,
    ) {
        let (now, source) = (cx.now(), header.source);
        if !source.is_unicast_link_local() {
            self.ignore("neighbour discovery malformed", cx);
            return;
        }
        if !self.takes_advertisements(interface) {
            return;
        }
        let before = self.ports.get(interface).map(V6::mtu);
        let average = Duration::from_millis(told.reachable_ms.into());
        let reachable = (told.reachable_ms != 0).then(|| around(average, cx));
        let Some(it) = self.discover_at(interface) else {
            return;
        };
        if told.hop_limit != 0 {
            it.hop_limit = Some(told.hop_limit);
        }
        if let Some(reachable) = reachable {
            it.cache.reachable = reachable;
        }
        if told.retrans_ms != 0 {
            it.cache.retransmit = Duration::from_millis(told.retrans_ms.into());
        }
        let until = now + Duration::from_secs(told.lifetime_s.into());
        let known = it.routers.known.iter().position(|it| it.address == source);
        let router = Router { address: source, until };
        if let Some(at) = known {
            it.routers.known.remove(at);
        }
        if it.routers.known.len() < MOST_ROUTERS {
            it.routers.known.insert(known.unwrap_or(it.routers.known.len()), router);
        }
        let is_there = it.routers.known.iter().any(|it| it.address == source && it.until > now);
        it.routers.known.retain(|router| router.until > now);
        if told.lifetime_s > 0 {
            it.routers.solicit = None;
        }
        let resolvers = it.routers.resolvers();
        match (known.is_some(), is_there) {
            (false, true) => self.tell(default_by(interface, source), cx),
            (true, false) => self.tell(default_by(interface, source).undone(), cx),
            (true, true) | (false, false) => {}
        }
        for option in options {
            match *option {
                Opt::Mtu(mtu) if mtu as usize >= MIN_MTU => {
                    if let Some(it) = self.discover_at(interface) {
                        it.mtu = Some(mtu);
                    }
                }
                Opt::Prefix(prefix) => self.prefix(interface, prefix, cx),
                Opt::Resolvers { lifetime_s, addresses } => {
                    let until = seconds(lifetime_s).map(|it| now + it);
                    if let Some(it) = self.discover_at(interface) {
                        addresses.iter().for_each(|a| it.routers.resolve_by((*a).into(), until, lifetime_s > 0));
                    }
                }
                Opt::Mtu(_) | Opt::Source(_) | Opt::Target(_) | Opt::Redirected(_) | Opt::Other { .. } => {}
            }
        }
        self.heard(interface, source, source_mac(options), true, cx);
        let mtu = self.ports.get(interface).map(V6::mtu);
        if before != mtu {
            self.tell_curious(cx);
            self.tell(Assignment { interface, by: Authority::Router, change: Change::Mtu(mtu) }, cx);
        }
        let now_resolvers = self.discover_at(interface).map(|it| it.routers.resolvers()).unwrap_or_default();
        if now_resolvers != resolvers {
            self.tell_resolvers(interface, now_resolvers, cx);
        }
        self.tick(cx);
    }

    /// A router tells of a prefix (RFC 4861 section 6.3.4, RFC 4862 section 5.5.3).
    fn prefix(&mut self, interface: usize, told: Prefix, cx: &mut Context<'_>) {
        let Prefix { len, prefix, valid_s, preferred_s, .. } = told;
        if len > 128 || prefix.is_unicast_link_local() || prefix.is_multicast() {
            return;
        }
        let now = cx.now();
        let valid = seconds(valid_s);
        if told.on_link {
            self.prefix_on_link(interface, (prefix, len), (valid.map(|it| now + it), valid_s > 0), cx);
        }
        let mac = self.discover_at(interface).and_then(|it| it.mac);
        let standing = self.standing_of_new(interface, now);
        let (Some(mac), Some(port)) = (mac, self.ports.get_mut(interface)) else {
            return;
        };
        if !told.autonomous || preferred_s > valid_s || len != 64 {
            return;
        }
        let identifier = u128::from(u64::from_be_bytes(mac.eui64()));
        let high = prefix.to_bits() & mask(len);
        let address = Ipv6Addr::from_bits(high | identifier);
        let known = port.own.iter_mut().find(|it| it.address == address);
        if let Some(own) = known {
            if own.is_made() {
                own.renew(now, seconds(preferred_s), valid);
            }
        } else if valid_s > 0 && port.own.len() < MOST_ADDRESSES {
            let own = LocalAddress {
                by: Some(Authority::Router),
                preferred: seconds(preferred_s).map(|it| now + it),
                valid: valid.map(|it| now + it),
                deprecated: preferred_s == 0,
                ..LocalAddress::new(address, standing)
            };
            port.own.push(own);
            if let Some(what) = own.told(interface) {
                self.tell(what, cx);
            }
        }
    }

    fn tell_resolvers(&self, interface: usize, servers: Vec<IpAddr>, cx: &mut Context<'_>) {
        tell_all(&Report::special(Resolvers { interface, by: Authority::Router, servers }), cx);
    }

    fn prefix_on_link(
        &mut self,
        interface: usize,
        (prefix, len): (Ipv6Addr, u8),
        (until, alive): (Option<Instant>, bool),
        cx: &mut Context<'_>,
    ) {
        let prefix = Ipv6Addr::from_bits(prefix.to_bits() & mask(len));
        let Some(it) = self.discover_at(interface) else {
            return;
        };
        let same = |it: &OnLink| (it.prefix, it.len) == (prefix, len);
        let known = it.routers.prefixes.iter().position(same);
        match known {
            Some(at) if !alive => {
                it.routers.prefixes.remove(at);
                self.routes.remove(prefix, len, interface, None);
                self.tell(on_link(interface, prefix, len).undone(), cx);
            }
            Some(at) => {
                if let Some(it) = it.routers.prefixes.get_mut(at) {
                    it.until = until;
                }
            }
            None if alive && it.routers.prefixes.len() < MOST_PREFIXES => {
                it.routers.prefixes.push(OnLink { prefix, len, until });
                self.routes.add(prefix, len, interface, None);
                self.tell(on_link(interface, prefix, len), cx);
            }
            None => {}
        }
    }
}
