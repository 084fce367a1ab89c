//! What a server has granted.

use core::net::Ipv4Addr;

use kumiki_graph::{Duration, Instant, Rng};
use kumiki_wire::inet::dhcp::Header;

use super::client::is_host;
use crate::Way;

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
    pub routes: Vec<Way>,
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
        let address = Some(header.yiaddr).filter(|it| is_host(*it))?;
        let time = options.lease_s.filter(|it| *it > 0)?;
        let (t1, t2, expires) = times(time, (options.t1_s, options.t2_s), asked, rng);
        let on = |network: Ipv4Addr, prefix, router: Ipv4Addr| Way {
            network: network.into(),
            prefix,
            router: Some(router).filter(|it| !it.is_unspecified()).map(Into::into),
        };
        // Where there are routes, routers are not looked at (RFC 3442, "DHCP Client Behavior").
        let routes = if options.routes.is_empty() {
            let first = options.routers.first();
            first.map(|it| on(Ipv4Addr::UNSPECIFIED, 0, *it)).into_iter().collect()
        } else {
            options.routes.iter().map(|it| on(it.network, it.prefix, it.router)).collect()
        };
        Some(Self {
            address,
            prefix: options.prefix.unwrap_or_else(|| class(address)),
            server: options.server,
            routes,
            resolvers: options.resolvers.clone(),
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

/// T1, T2 and the end of a lease of so many seconds. Both may be earlier by a part of it that is drawn, so that not all clients ask at once (section 4.4.5).
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
    let (t1, t2) = said.unwrap_or(usual);
    let mut fuzz = || Duration::from_nanos(rng.below((all / FUZZ).as_nanos().max(1)));
    let (t1, t2) = (t1 - fuzz(), (t2 - fuzz()).max(t1));
    (Some(asked + t1), Some(asked + t2), Some(asked + all))
}

/// They are earlier by at most this part of the lease; assumed.
const FUZZ: u64 = 64;

/// The prefix of the class of an address, where no mask is said (RFC 791 section 2.3).
const fn class(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        0..=127 => 8,
        128..=191 => 16,
        192..=255 => 24,
    }
}
