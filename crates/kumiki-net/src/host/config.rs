//! What a host is to be.

use core::fmt;
use core::net::IpAddr;
use std::io;
use std::sync::Arc;

use kumiki_graph::memory::Budget;
use kumiki_inet::tcp;

use kumiki_wire::inet::ethernet::MacAddr;

use crate::layers::{Ethernet, Plan};
use crate::tcp::config::linux;

/// Looks up the addresses of a name. It may block: whoever asks for a name waits for it.
pub type Resolver = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Takes a line of what its owner should know.
pub(super) type Notices = Arc<dyn Fn(&str) + Send + Sync>;

/// What a [`HostStack`](super::HostStack) is to be, and the others of this module.
#[derive(Clone)]
pub struct HostConfig {
    addresses: Vec<IpAddr>,
    pub(super) mtu: u16,
    tcp: tcp::Config,
    pub(super) resolver: Option<Resolver>,
    is_gateway: bool,
    ethernet: Option<Ethernet>,
    memory: Option<u64>,
    pub(super) notices: Option<Notices>,
}

impl HostConfig {
    /// A host without an address, for which every destination is its own, of both versions of IP: see [`crate::gateway`].
    #[must_use]
    pub fn gateway() -> Self {
        Self { is_gateway: true, ..Self::new([]) }
    }

    /// A host with these addresses, one of IPv4 at most, on a device that carries 1500 octets.
    #[must_use]
    pub fn new(addresses: impl Into<Vec<IpAddr>>) -> Self {
        Self {
            addresses: addresses.into(),
            mtu: 1500,
            tcp: linux(),
            resolver: None,
            is_gateway: false,
            ethernet: None,
            memory: None,
            notices: None,
        }
    }

    /// The device carries frames of Ethernet, such as a [TAP](super::Tun) or [those of a virtual machine](super::Frames), and this is our station there.
    /// The networks of the addresses have 24 and 64 bits, unless [`HostConfig::prefixes`] says otherwise.
    ///
    /// An address of IPv6 is used when nobody has claimed it for a second or two (RFC 4862).
    ///
    /// A gateway answers questions for every address (ARP, neighbour discovery), but for those of stations that it knows, and sends what it answers
    /// to the station that it came from.
    #[must_use]
    pub fn ethernet(mut self, mac: [u8; 6]) -> Self {
        self.ethernet = Some(Ethernet { mac: MacAddr(mac), prefixes: [24, 64], routers: Vec::new() });
        self
    }

    /// On an Ethernet: how many leading bits of our addresses name the network, 0 to 32 of IPv4, and 0 to 128 of IPv6. Without one it says nothing.
    #[must_use]
    pub const fn prefixes(mut self, v4: u8, v6: u8) -> Self {
        if let Some(ethernet) = &mut self.ethernet {
            ethernet.prefixes = [v4, v6];
        }
        self
    }

    /// On an Ethernet: who gets what is for other networks, of the version of IP that its address has. Of IPv6 routers that announce themselves
    /// are heard as well. Without an Ethernet it says nothing.
    #[must_use]
    pub fn router(mut self, address: IpAddr) -> Self {
        if let Some(ethernet) = &mut self.ethernet {
            ethernet.routers.push(address);
        }
        self
    }

    /// What a packet can have at most, in octets, without the header of a frame.
    #[must_use]
    pub const fn mtu(mut self, octets: u16) -> Self {
        self.mtu = octets;
        self
    }

    /// What TCP is like: [`linux`] unless it is set.
    #[must_use]
    pub fn tcp(mut self, config: tcp::Config) -> Self {
        self.tcp = config;
        self
    }

    /// What all connections and datagrams of the host may hold together, in octets of memory, in place of TCP's own bound for each version of IP.
    /// Where it is spent, new calls are reset and datagrams are dropped; connections go on, with 4 KiB each way at least.
    #[must_use]
    pub const fn memory(mut self, octets: u64) -> Self {
        self.memory = Some(octets);
        self
    }

    /// Who is told, in one line and once a second at most, that [memory](Self::memory) is spent. It is told by whoever runs the layers, and must not
    /// wait for anything; nobody is, unless it is set.
    #[must_use]
    pub fn notices(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notices = Some(Arc::new(tell));
        self
    }

    /// Who knows the addresses of names; nobody unless it is set.
    #[must_use]
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// The layers of it; all that is random comes from `seed`.
    pub(super) fn plan(&self, seed: u64) -> Plan<'_> {
        Plan {
            addresses: &self.addresses,
            mtu: self.mtu.into(),
            tcp: &self.tcp,
            is_gateway: self.is_gateway,
            ethernet: self.ethernet.as_ref(),
            // A quarter more is still taken of what was promised before.
            budget: self.memory.map(|octets| Budget::new((octets - octets / 5).max(1))),
            seed,
        }
    }
}

impl fmt::Debug for HostConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostConfig").field("addresses", &self.addresses).field("mtu", &self.mtu).finish_non_exhaustive()
    }
}
