//! What a host has on its lines, and how that changes while its sockets are there.

use core::future::poll_fn;
use core::net::IpAddr;
use std::io;

use kumiki_inet::{AssignedRoute, Change};

use crate::Stack;
use crate::sockets::Table;

/// An address of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkAddress {
    /// The address.
    pub address: IpAddr,
    /// How many leading bits of it name the network on the line.
    pub prefix: u8,
    /// The number of the line, from 0.
    pub line: usize,
}

/// A route of a host, beside those to the networks of its addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkRoute {
    /// The network.
    pub network: IpAddr,
    /// How many leading bits of it name the network; 0: all that no other route leads to.
    pub prefix: u8,
    /// The router on the line that passes on what goes there; `None`: it goes straight.
    pub router: Option<IpAddr>,
    /// The number of the line, from 0.
    pub line: usize,
}

/// What a host has on its lines at a time, whoever has said so: its configuration, its owner ([`StackLine`]), or the
/// network.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Network {
    /// Its addresses, in the order of the lines.
    pub addresses: Vec<NetworkAddress>,
    /// Its routes.
    pub routes: Vec<NetworkRoute>,
    /// What a packet may have on each line, in octets with all its headers.
    pub mtu: Vec<u32>,
    /// Whom the network has said to ask for names, those first that are to be asked first.
    pub resolvers: Vec<IpAddr>,
    /// Another number each time that something changes: for [`Stack::network_after`].
    pub version: u64,
}

impl Network {
    /// Whether there is an address of IPv4, where `is_v4`, or else one of IPv6 that reaches beyond the link.
    #[must_use]
    pub fn has_address(&self, is_v4: bool) -> bool {
        let reaches = |ip: IpAddr| match ip {
            IpAddr::V4(_) => is_v4,
            IpAddr::V6(ip) => !is_v4 && !ip.is_unicast_link_local(),
        };
        self.addresses.iter().any(|it| reaches(it.address))
    }
}

impl Stack {
    /// What its host has on its lines.
    #[must_use]
    pub fn network(&self) -> Network {
        let table = self.0.lock();
        let lines = || table.lines.iter().enumerate();
        let addresses = lines().flat_map(|(line, it)| {
            it.addresses.iter().map(move |(address, prefix)| NetworkAddress {
                address: *address,
                prefix: *prefix,
                line,
            })
        });
        let routes = lines().flat_map(|(line, it)| {
            it.routes.iter().map(move |&AssignedRoute { network, prefix, router }| NetworkRoute {
                network,
                prefix,
                router,
                line,
            })
        });
        Network {
            addresses: addresses.collect(),
            routes: routes.collect(),
            mtu: table.lines.iter().map(|it| it.mtu).collect(),
            resolvers: table.resolvers(),
            version: table.network_version,
        }
    }

    /// What its host has on its lines, as soon as that is another than in the [version](Network::version) that is
    /// given. Nothing is missed between two calls; what came and went between them may be.
    ///
    /// ```no_run
    /// # async fn wait(stack: kumiki_net::Stack) -> std::io::Result<()> {
    /// let mut network = stack.network();
    /// while !network.has_address(true) {
    ///     network = stack.network_after(network.version).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `NetworkDown` where the host is gone.
    pub async fn network_after(&self, version: u64) -> io::Result<Network> {
        poll_fn(|cx| self.0.with(|table| table.poll_network(version, cx))).await?;
        Ok(self.network())
    }

    /// What a server has given is given back (RFC 2131 section 4.4.6), and none is asked any more: for a host that is
    /// about to end. A `host::HostStack` does so by itself; who drives a host does as long after this as an answer to
    /// ARP may take.
    pub fn release_addresses(&self) {
        self.0.with(Table::release_addresses);
    }

    /// The line of this number, from 0, to change what is on it.
    #[must_use]
    pub const fn line(&self, number: usize) -> StackLine<'_> {
        StackLine { stack: self, number }
    }

    fn change(&self, line: usize, change: Change) -> io::Result<()> {
        self.all().try_for_each(|stack| stack.0.with(|table| table.change_line(line, change)))
    }
}

/// A line of a host, whose addresses, routes and MTU are changed while sockets are there.
///
/// All is as with Linux's `ip address` and `ip route`:
///
/// - Who listens at all addresses has callers of a new one at once. Who listens at an address that goes has none, until
///   it is there again; no listener ends.
/// - A connection keeps its address. Where that has gone, what it sends is lost and what comes for it is dropped, so
///   that TCP sends again and waits: it goes on if the address comes back, and else ends by `TimedOut`. To end those at
///   once is for the program, which learns of changes by [`Stack::network_after`].
/// - Later calls are from what is there then. A call, or a datagram, from an address that was chosen before and has
///   gone is `NetworkUnreachable`; so is a datagram of IPv4 of a connected socket whose address has gone, for that was
///   chosen when it was connected.
///
/// Errors of all its methods, beside their own: `NotFound` where there is no such line; `Unsupported` where the line
/// has not this version of IP, and of a gateway, which has every address; `NetworkDown` where the host is gone;
/// `InvalidInput` what cannot be.
#[derive(Clone, Copy, Debug)]
pub struct StackLine<'a> {
    stack: &'a Stack,
    number: usize,
}

impl StackLine<'_> {
    /// One more address, of which so many leading bits name the network on the line. On an Ethernet one of IPv6 is used
    /// when nobody has claimed it for a second (RFC 4862 section 5.4); one of IPv4 at once.
    ///
    /// # Errors
    /// `AlreadyExists` where the host has it.
    pub fn add_address(self, address: IpAddr, prefix: u8) -> io::Result<()> {
        self.stack.change(self.number, Change::Address { address, prefix, probe: false })
    }

    /// It is not the host's any more. Routes stay, and lead nowhere as long as the line has no address of their
    /// version.
    ///
    /// # Errors
    /// `AddrNotAvailable` where it is not on this line.
    pub fn remove_address(self, address: IpAddr) -> io::Result<()> {
        self.stack.change(self.number, Change::NoAddress(address))
    }

    /// The line leads to a network, of which so many leading bits are given: by way of a router on it, or straight.
    ///
    /// # Errors
    /// `AlreadyExists` where it does; `NetworkUnreachable` where a router of IPv4 is on no network of the line.
    pub fn add_route(self, network: IpAddr, prefix: u8, router: Option<IpAddr>) -> io::Result<()> {
        self.stack.change(self.number, Change::Route(AssignedRoute { network, prefix, router }))
    }

    /// It does so no longer.
    ///
    /// # Errors
    /// `NotFound` where there is no such route: the same network, prefix and router.
    pub fn remove_route(self, network: IpAddr, prefix: u8, router: Option<IpAddr>) -> io::Result<()> {
        self.stack.change(self.number, Change::NoRoute(AssignedRoute { network, prefix, router }))
    }

    /// What a packet may have at most, in octets, from 68 on; no more than the line was made with. `None`: that. A line
    /// of IPv6 has 1280 at least, and keeps what it has where less is said. Connections that are there cut what they
    /// send from now on.
    ///
    /// # Errors
    /// Those of all.
    pub fn set_mtu(self, octets: Option<u16>) -> io::Result<()> {
        self.stack.change(self.number, Change::Mtu(octets.map(u32::from)))
    }
}
