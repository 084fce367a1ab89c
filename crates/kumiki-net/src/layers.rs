//! The layers of a host: sockets on TCP and UDP, for each version of IP of which it has an address, on one line. Beside them stands who answers echo
//! requests.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use kumiki_graph::memory::Budget;
use kumiki_graph::{Below, DeviceId, Duration, Graph, GraphError, Protocol, Rng, Service};
use kumiki_inet::arp::{self, Arp};
use kumiki_inet::eth::{self, Eth};
use kumiki_inet::icmp::IcmpEcho;
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::ipv6::{self, Ip as Ipv6};
use kumiki_inet::raw_ip::RawIp;
use kumiki_inet::tcp::{self, Tcp};
use kumiki_inet::udp::{self, Udp};
use kumiki_wire::inet::ethernet::MacAddr;

use crate::Stack;
use crate::sockets::{Layers, Node};
use crate::stack::Driver;

/// The node of the sockets, by its name in the graph.
pub(crate) const SOCKETS: &str = "sockets";

/// The line, which is the only device.
pub(crate) const LINE: DeviceId = DeviceId(0);

/// What a gateway without an address has for its own: the dummy address of RFC 7600, from which nobody is reached.
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// How long a gateway knows at which station somebody is: all that comes tells it anew.
const KNOWN: Duration = Duration::from_secs(24 * 3600);

/// And of how many hosts it knows that.
const MOST_KNOWN: usize = 4096;

/// A version of IP, with the names of the TCP, the UDP and the ICMP on it, and of the layer below.
type Version = (&'static str, [&'static str; 3], &'static str, Box<dyn Protocol>);

/// A layer by its name.
type Layer = (&'static str, Box<dyn Protocol>);

/// The header of a frame, in octets: both addresses and a type.
#[cfg(feature = "host")]
const FRAME: u32 = 14;

/// An Ethernet as the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ethernet {
    pub(crate) mac: MacAddr,
    /// How many leading bits of the addresses name the network: of IPv4, of IPv6. What is beyond goes to the routers.
    pub(crate) prefixes: [u8; 2],
    pub(crate) routers: Vec<IpAddr>,
}

impl Ethernet {
    fn v4_router(&self) -> Option<Ipv4Addr> {
        self.routers.iter().find_map(|it| if let IpAddr::V4(it) = it { Some(*it) } else { None })
    }

    fn v6_router(&self) -> Option<Ipv6Addr> {
        self.routers.iter().find_map(|it| if let IpAddr::V6(it) = it { Some(*it) } else { None })
    }

    fn arp(&self, own: Ipv4Addr, is_gateway: bool) -> Result<Arp, String> {
        let mut config = arp::Config::new(own);
        if is_gateway {
            (config.any_address, config.timeout, config.max_entries) = (true, KNOWN, MOST_KNOWN);
        }
        Arp::new(config).map_err(|error| error.to_string())
    }
}

/// What a host is to have.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) addresses: &'a [IpAddr],
    /// What a packet can carry, headers included.
    pub(crate) mtu: u32,
    pub(crate) tcp: &'a tcp::Config,
    /// It takes what is for any address, of both versions.
    pub(crate) is_gateway: bool,
    /// The line is an Ethernet; otherwise all of the world is at its other end.
    pub(crate) ethernet: Option<&'a Ethernet>,
    /// What all connections and datagrams together may hold.
    pub(crate) budget: Option<Budget>,
    /// All that is random comes from it.
    pub(crate) seed: u64,
}

impl Plan<'_> {
    /// What the device carries at most, in octets.
    #[cfg(feature = "host")]
    pub(crate) const fn frame(&self) -> u32 {
        if self.ethernet.is_some() { self.mtu + FRAME } else { self.mtu }
    }

    /// The graph and its sockets, which tell `driver` when there is something to do.
    ///
    /// # Errors
    /// What an address cannot be.
    pub(crate) fn build(&self, driver: Box<dyn Driver>) -> Result<(Graph, Stack), String> {
        let mut layers =
            Layers { receive_buffer: self.tcp.receive_buffer, coalesce: Some(self.tcp.coalesce), ..Layers::default() };
        let mut versions = Vec::new();
        if let Some(ip) = self.ip()? {
            (layers.tcp, layers.udp) = (Some(Below(0)), Some(Below(1)));
            versions.push(ip);
        }
        if let Some(ip) = self.ipv6()? {
            let first = if versions.is_empty() { 0 } else { 2 };
            (layers.tcp_v6, layers.udp_v6) = (Some(Below(first)), Some(Below(first + 1)));
            versions.push(ip);
        }
        if versions.is_empty() {
            return Err("a host without an address; expected one of IPv4 or of IPv6, unless it is a gateway".to_owned());
        }
        let stack = Stack::new(layers, self.addresses.to_vec(), Rng::new(self.seed, u64::MAX), driver);
        stack.0.lock().effects.budget.clone_from(&self.budget);
        if self.is_gateway {
            stack.0.lock().prepare_gateway();
        }
        let graph = self.connect(&stack, self.links()?, versions).map_err(|error| error.to_string())?;
        Ok((graph, stack))
    }

    fn all_v4(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.addresses.iter().filter_map(|it| if let IpAddr::V4(it) = it { Some(*it) } else { None })
    }

    /// Its address of IPv4, if it has one.
    fn v4(&self) -> Option<Ipv4Addr> {
        self.all_v4().next().or_else(|| self.is_gateway.then_some(DUMMY))
    }

    /// What is there of IPv4.
    fn ip(&self) -> Result<Option<Version>, String> {
        let Some(address) = self.v4() else {
            return Ok(None);
        };
        if let Some(second) = self.all_v4().nth(1) {
            return Err(format!("two addresses of IPv4, {address} and {second}; expected one"));
        }
        let (below, prefix, neighbours) = match self.ethernet {
            // All of the world is on the line: whoever is at its other end goes on from there.
            None => ("raw_ip", 0, ip::Neighbours::One),
            Some(_) if self.is_gateway => ("arp", 0, ip::Neighbours::Below),
            Some(it) => ("arp", it.prefixes[0], ip::Neighbours::Below),
        };
        let interface = ip::Interface { mtu: self.mtu, neighbours, ..ip::Interface::new(below, address, prefix) };
        let router = self.ethernet.and_then(Ethernet::v4_router);
        let default = |it| ip::Route { network: Ipv4Addr::UNSPECIFIED, prefix: 0, via: ip::Via::Gateway(it) };
        let routes = router.map(default).into_iter().collect();
        let ip = Ip::new(ip::Config { any_destination: self.is_gateway, routes, ..ip::Config::host(interface) })
            .map_err(|error| error.to_string())?;
        Ok(Some(("ip", ["tcp", "udp", "icmp"], below, Box::new(ip))))
    }

    fn ipv6(&self) -> Result<Option<Version>, String> {
        let prefix = self.ethernet.filter(|_| !self.is_gateway).map_or(0, |it| it.prefixes[1]);
        let addresses: Vec<(Ipv6Addr, u8)> = self
            .addresses
            .iter()
            .filter_map(|it| if let IpAddr::V6(it) = it { Some((*it, prefix)) } else { None })
            .collect();
        if addresses.is_empty() && !self.is_gateway {
            return Ok(None);
        }
        let below = if self.ethernet.is_some() { "eth" } else { "raw_ip" };
        let default = |via| ipv6::Route { network: Ipv6Addr::UNSPECIFIED, prefix: 0, via };
        let all = addresses.is_empty().then(|| ipv6::Via::Interface(below.to_owned()));
        let router = self.ethernet.and_then(Ethernet::v6_router).map(ipv6::Via::Gateway);
        let routes = all.or(router).map(default).into_iter().collect();
        let neighbours = match self.ethernet {
            None => ipv6::Neighbours::One,
            Some(_) if self.is_gateway => ipv6::Neighbours::Discover(ipv6::Discovery {
                advertisements: Some(false),
                reachable: KNOWN,
                neighbours: MOST_KNOWN,
                ..ipv6::Discovery::default()
            }),
            Some(_) => ipv6::Neighbours::Discover(ipv6::Discovery::default()),
        };
        let interface = ipv6::Interface::new(below, Ipv6Addr::LOCALHOST, 0);
        let interface = ipv6::Interface { mtu: self.mtu, addresses, neighbours, ..interface };
        let ip = Ipv6::new(ipv6::Config { any_destination: self.is_gateway, routes, ..ipv6::Config::host(interface) })
            .map_err(|error| error.to_string())?;
        Ok(Some(("ipv6", ["tcp6", "udp6", "icmp6"], below, Box::new(ip))))
    }

    /// The layers below those of IP, by name.
    fn links(&self) -> Result<Vec<Layer>, String> {
        let Some(ethernet) = self.ethernet else {
            return Ok(vec![("raw_ip", Box::new(RawIp::default()))]);
        };
        let config = eth::Config { mtu: self.mtu, ..eth::Config::new(ethernet.mac) };
        let eth = Eth::new(config).map_err(|error| error.to_string())?;
        let mut links: Vec<Layer> = vec![("eth", Box::new(eth))];
        if let Some(own) = self.v4() {
            links.push(("arp", Box::new(ethernet.arp(own, self.is_gateway)?)));
        }
        Ok(links)
    }

    fn connect(&self, stack: &Stack, links: Vec<Layer>, versions: Vec<Version>) -> Result<Graph, GraphError> {
        let mut graph = Graph::new(self.seed, 0);
        graph.add_device("line", Service::FRAME)?;
        let task = graph.add_task("stack");
        graph.add_node(SOCKETS, task, Box::new(Node::new(Arc::clone(&stack.0))))?;
        for (name, node) in links {
            graph.add_node(name, task, node)?;
        }
        graph.connect(if self.ethernet.is_some() { "eth" } else { "raw_ip" }, "line")?;
        if graph.node("arp").is_some() {
            graph.connect("arp", "eth")?;
        }
        for (ip, [tcp, udp, icmp], below, version) in versions {
            let mut node = Tcp::new(self.tcp.clone());
            if let Some(budget) = &self.budget {
                node.share_memory(budget.clone());
            }
            graph.add_node(tcp, task, Box::new(node))?;
            graph.add_node(udp, task, Box::new(Udp::new(udp::Config::default())))?;
            graph.add_node(icmp, task, Box::new(IcmpEcho::default()))?;
            graph.add_node(ip, task, version)?;
            for (upper, lower) in [(SOCKETS, tcp), (SOCKETS, udp), (tcp, ip), (udp, ip), (icmp, ip), (ip, below)] {
                graph.connect(upper, lower)?;
            }
        }
        Ok(graph)
    }
}
