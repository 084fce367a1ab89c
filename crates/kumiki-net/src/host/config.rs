//! What a host is to be.

use core::fmt;
use core::net::IpAddr;
use std::io;
use std::sync::Arc;

use kumiki_graph::memory::Budget;
use kumiki_inet::tcp;

use crate::layers::{Line, Part, Plan};
use crate::tcp::config::usual;

/// Looks up the addresses of a name. It may block: whoever asks for a name waits for it.
pub type Resolver = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Takes a line of what its owner should know.
pub(super) type Notices = Arc<dyn Fn(&str) + Send + Sync>;

/// What a [`HostStack`](super::HostStack) is to be, and the others of this module.
#[derive(Clone)]
pub struct HostConfig {
    /// The first is the host's own; there is always one.
    pub(super) lines: Vec<Line>,
    tcp: tcp::Config,
    pub(super) resolver: Option<Resolver>,
    pub(super) is_gateway: bool,
    pub(super) queues: usize,
    memory: Option<u64>,
    pub(super) notices: Option<Notices>,
}

impl HostConfig {
    /// A host without an address, for which every destination is its own, of both versions of IP: see
    /// [`crate::gateway`].
    #[must_use]
    pub fn gateway() -> Self {
        Self { is_gateway: true, ..Self::new([]) }
    }

    /// A host with these addresses on a device that carries 1500 octets.
    #[must_use]
    pub fn new(addresses: impl Into<Vec<IpAddr>>) -> Self {
        Self {
            lines: vec![Line::new(addresses)],
            tcp: usual(),
            resolver: None,
            is_gateway: false,
            queues: 1,
            memory: None,
            notices: None,
        }
    }

    fn first(mut self, change: impl FnOnce(Line) -> Line) -> Self {
        let own = self.lines.first().cloned().map(change);
        self.lines.splice(..1, own);
        self
    }

    /// One more device, and what is behind it. Whoever sends where no line leads is told so (`NetworkUnreachable`). A
    /// gateway answers by the device behind which it knows the caller to be, so that each of several has an address or
    /// a route.
    ///
    /// ```
    /// use kumiki_net::host::{HostConfig, Line};
    ///
    /// // A TUN that leads everywhere, and an Ethernet with a virtual machine.
    /// let vm = Line::new(["192.168.7.1".parse()?, "fd07::1".parse()?]).ethernet([2, 0, 0, 0, 0, 1]);
    /// let config = HostConfig::new(["10.0.0.1".parse()?, "fd00::1".parse()?])
    ///     .route("0.0.0.0".parse()?, 0, None)
    ///     .route("::".parse()?, 0, None)
    ///     .line(vm);
    /// # Ok::<(), core::net::AddrParseError>(())
    /// ```
    #[must_use]
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// The first device carries frames of Ethernet, and this is our station there: see [`Line::ethernet`].
    ///
    /// A gateway answers questions for every address (ARP, neighbour discovery), but for those of stations that it
    /// knows, and sends what it answers to the station that it came from.
    #[must_use]
    pub fn ethernet(self, mac: [u8; 6]) -> Self {
        self.first(|it| it.ethernet(mac))
    }

    /// Addresses may come later on the first device: see [`Line::later`].
    #[must_use]
    pub fn later(self, v4: bool, v6: bool) -> Self {
        self.first(|it| it.later(v4, v6))
    }

    /// A server is asked for an address of IPv4 on the first device: see [`Line::dhcp`].
    #[must_use]
    pub fn dhcp(self) -> Self {
        self.first(Line::dhcp)
    }

    /// The same within a second: see [`Line::dhcp_quickly`].
    #[must_use]
    pub fn dhcp_quickly(self) -> Self {
        self.first(Line::dhcp_quickly)
    }

    /// How many leading bits of our addresses on the first device name the network: see [`Line::prefixes`].
    #[must_use]
    pub fn prefixes(self, v4: u8, v6: u8) -> Self {
        self.first(|it| it.prefixes(v4, v6))
    }

    /// Who gets what is for other networks, on the first device: see [`Line::router`].
    #[must_use]
    pub fn router(self, address: IpAddr) -> Self {
        self.first(|it| it.router(address))
    }

    /// Another network that the first device leads to: see [`Line::route`].
    #[must_use]
    pub fn route(self, network: IpAddr, prefix: u8, router: Option<IpAddr>) -> Self {
        self.first(|it| it.route(network, prefix, router))
    }

    /// What a packet on the first device can have at most, in octets, without the header of a frame.
    #[must_use]
    pub fn mtu(self, octets: u16) -> Self {
        self.first(|it| it.mtu(octets))
    }

    /// What TCP is like: [`usual`](crate::tcp::config::usual) unless it is set.
    #[must_use]
    pub fn tcp(mut self, config: tcp::Config) -> Self {
        self.tcp = config;
        self
    }

    /// What all connections and datagrams of the host may hold together, in octets of memory, in place of TCP's own
    /// bound for each version of IP. Where it is spent, new calls are reset and datagrams are dropped; connections go
    /// on, with 4 KiB each way at least.
    #[must_use]
    pub const fn memory(mut self, octets: u64) -> Self {
        self.memory = Some(octets);
        self
    }

    /// Who is told, in one line and once a second at most, that [memory](Self::memory) is spent. It is told by whoever
    /// runs the layers, and must not wait for anything; nobody is, unless it is set.
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

    /// On how many cores it runs: as many stacks, each with a thread of its own and a queue of its own of each device,
    /// such as of a [TUN](kumiki_io::Tun::open_queues). 1 unless it is set; its sockets are the same whatever it is.
    ///
    /// A connection is one stack's for its whole life, so one alone is no faster; many are shared out evenly. A
    /// listener hears callers in all stacks, which have an equal part of its backlog each, and of the bounds of a
    /// [gateway](crate::GatewayConfig). All UDP sockets are the first stack's; flows of UDP through a gateway are
    /// shared out. [Memory](Self::memory) is one for all. Devices are given as queues: all of the first line, then all
    /// of the next.
    #[must_use]
    pub const fn queues(mut self, number: usize) -> Self {
        self.queues = number;
        self
    }

    /// What all of its stacks may hold, and no more, where that was said.
    pub(super) fn budget(&self) -> Option<Budget> {
        // A quarter more is still taken of what was promised before.
        self.memory.map(|octets| Budget::new((octets - octets / 5).max(1)))
    }

    /// What TCP's own bound is for each version of IP.
    pub(super) fn budget_of_version(&self) -> Budget {
        Budget::new(self.tcp.memory)
    }

    /// The layers of it, or of one of its stacks; all that is random comes from `seed`.
    pub(super) fn plan(&self, seed: u64, budget: Option<Budget>, part: Option<Part>) -> Plan<'_> {
        Plan { lines: &self.lines, tcp: &self.tcp, is_gateway: self.is_gateway, budget, seed, part }
    }
}

impl fmt::Debug for HostConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostConfig").field("lines", &self.lines).finish_non_exhaustive()
    }
}
