//! What a server has granted.

use core::net::Ipv4Addr;

use kumiki_graph::{Duration, Instant, Rng};
use kumiki_wire::inet::dhcp::{Header, Route};

use super::client::is_host;
use super::timers::LEAST_WAIT;
use crate::AssignedRoute;

/// For ever (RFC 2131 section 3.3).
const FOR_EVER: u32 = u32::MAX;

/// An address for a time, and what goes with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// The address.
    pub address: Ipv4Addr,
    /// How many leading bits of it name the network.
    pub prefix: u8,
    /// Who has granted it; `None` where it does not say.
    pub server: Option<Ipv4Addr>,
    /// Ways to other networks.
    pub routes: Vec<AssignedRoute>,
    /// Who looks up names, those to be asked first at the front.
    pub resolvers: Vec<Ipv4Addr>,
    /// The MTU of the link, in octets.
    pub mtu: Option<u16>,
    /// When the server is to be asked for more time; `None`: it is for ever.
    pub t1: Option<Instant>,
    /// When any server is.
    pub t2: Option<Instant>,
    /// When it is over.
    pub expires: Option<Instant>,
}

impl Lease {
    /// That of an acknowledgment of a request that was sent at `asked`. `None`: it is none, or for no time.
    pub(super) fn of(header: &Header, asked: Instant, rng: &mut Rng) -> Option<Self> {
        let options = &header.options;
        let address = Some(header.yiaddr).filter(|_| is_usable(header))?;
        let time = options.lease_s?;
        let (t1, t2, expires) = times(time, (options.t1_s, options.t2_s), asked, rng);
        let on = |network: Ipv4Addr, prefix, router: Ipv4Addr| AssignedRoute {
            network: network.into(),
            prefix,
            router: Some(router).filter(|it| !it.is_unspecified()).map(Into::into),
        };
        // Where there are routes, routers are not looked at (RFC 3442, "DHCP Client Behavior").
        let routes = if options.routes.is_empty() {
            // Who passes on nothing else is on the link alone in those routes.
            let first = options.routers.iter().find(|it| is_host(**it));
            first.map(|it| on(Ipv4Addr::UNSPECIFIED, 0, *it)).into_iter().collect()
        } else {
            let leads = |it: &&Route| it.router.is_unspecified() || is_host(it.router);
            options.routes.iter().filter(leads).map(|it| on(it.network, it.prefix, it.router)).collect()
        };
        Some(Self {
            address,
            prefix: prefix(header),
            server: options.server.filter(|it| is_host(*it)),
            routes,
            resolvers: options.resolvers.iter().copied().filter(|it| is_host(*it)).collect(),
            mtu: options.mtu,
            t1,
            t2,
            expires,
        })
    }

    /// Whether hosts see no difference between the two.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        let said = |it: &Self| (it.address, it.routes.clone(), it.resolvers.clone(), it.mtu);
        said(self) == said(other)
    }

    /// What goes with it alone.
    pub(super) fn without_address(self) -> Self {
        Self { address: Ipv4Addr::UNSPECIFIED, ..self }
    }
}

/// T1, T2 and the end of a lease of so many seconds. T1 may be earlier by a part of it that is drawn, and T2 by one of
/// what is between them, so that not all clients ask at once (section 4.4.5). What is said of them counts where it can
/// be: T1 before T2, that before the end, and none at once.
fn times(
    time: u32,
    (t1, t2): (Option<u32>, Option<u32>),
    asked: Instant,
    rng: &mut Rng,
) -> (Option<Instant>, Option<Instant>, Option<Instant>) {
    if time == FOR_EVER {
        return (None, None, None);
    }
    let all = Duration::from_secs(time.into());
    let usual = (all / 2, all / 8 * 7);
    let said = t1.zip(t2).filter(|(t1, t2)| t1 < t2 && *t2 < time);
    let said = said.map(|(t1, t2)| (Duration::from_secs(t1.into()), Duration::from_secs(t2.into())));
    // One that is asked for again as soon as it is granted would be asked for without end.
    let (t1, t2) = said.filter(|(t1, _)| *t1 >= LEAST_WAIT.min(all / 2)).unwrap_or(usual);
    let mut fuzz = |of: Duration| Duration::from_nanos(rng.below((of / FUZZ).as_nanos().max(1)));
    let (t1, t2) = (t1 - fuzz(t1), (t2 - fuzz(t2 - t1)).max(t1));
    (Some(asked + t1), Some(asked + t2), Some(asked + all))
}

/// They are earlier by at most this part; assumed.
const FUZZ: u64 = 64;

/// Whether a message offers or grants an address that a host can have, and for some time.
pub(super) fn is_usable(header: &Header) -> bool {
    let (address, prefix) = (header.yiaddr, prefix(header));
    let host = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
    // Of a network with more than two hosts the first is nobody's, and the last is all of them (RFC 1122 section
    // 3.2.1.3, RFC 3021).
    let is_edge = prefix < 31 && matches!(address.to_bits() & host, rest if rest == 0 || rest == host);
    is_host(address) && !is_edge && header.options.lease_s.is_some_and(|it| it > 0)
}

/// How many leading bits of the address in a message name the network.
fn prefix(header: &Header) -> u8 {
    header.options.prefix.unwrap_or_else(|| class(header.yiaddr))
}

/// The prefix of the class of an address, where no mask is said (RFC 791 section 2.3).
const fn class(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        0..=127 => 8,
        128..=191 => 16,
        192..=255 => 24,
    }
}
