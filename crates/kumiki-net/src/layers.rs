//! The layers of a host: sockets on TCP and UDP, for each version of IP of which it has an address, on one line.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use kumiki_graph::{Below, DeviceId, Graph, GraphError, Protocol, Rng, Service};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::ipv6::{self, Ip as Ipv6};
use kumiki_inet::raw_ip::RawIp;
use kumiki_inet::tcp::{self, Tcp};
use kumiki_inet::udp::{self, Udp};

use crate::Stack;
use crate::sockets::{Layers, Node};
use crate::stack::Driver;

/// The node of the sockets, by its name in the graph.
pub(crate) const SOCKETS: &str = "sockets";

/// The line, which is the only device.
pub(crate) const LINE: DeviceId = DeviceId(0);

/// What a gateway without an address has for its own: the dummy address of RFC 7600, from which nobody is reached.
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// A version of IP, with the names of the TCP and the UDP on it.
type Version = (&'static str, [&'static str; 2], Box<dyn Protocol>);

/// What a host is to have.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) addresses: &'a [IpAddr],
    /// What a packet can carry, headers included.
    pub(crate) mtu: u32,
    pub(crate) tcp: &'a tcp::Config,
    /// It takes what is for any address, of both versions.
    pub(crate) is_gateway: bool,
    /// All that is random comes from it.
    pub(crate) seed: u64,
}

impl Plan<'_> {
    /// The graph and its sockets, which tell `driver` when there is something to do.
    ///
    /// # Errors
    /// What an address cannot be.
    pub(crate) fn build(&self, driver: Box<dyn Driver>) -> Result<(Graph, Stack), String> {
        let mut layers = Layers::default();
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
        let stack = Stack::new(layers, self.addresses.to_vec(), Rng::new(self.seed, u64::MAX), driver);
        stack.0.with(|table| table.is_gateway = self.is_gateway);
        let graph = self.connect(&stack, versions).map_err(|error| error.to_string())?;
        Ok((graph, stack))
    }

    /// All of the world is on the line: whoever is at its other end goes on from there.
    fn ip(&self) -> Result<Option<Version>, String> {
        let mut addresses =
            self.addresses.iter().filter_map(|it| if let IpAddr::V4(it) = it { Some(*it) } else { None });
        let dummy = self.is_gateway.then_some(DUMMY);
        let Some(address) = addresses.next().or(dummy) else {
            return Ok(None);
        };
        if let Some(second) = addresses.next() {
            return Err(format!("two addresses of IPv4, {address} and {second}; expected one"));
        }
        let interface = ip::Interface { mtu: self.mtu, ..ip::Interface::new("raw_ip", address, 0) };
        let ip = Ip::new(ip::Config { any_destination: self.is_gateway, ..ip::Config::host(interface) })
            .map_err(|error| error.to_string())?;
        Ok(Some(("ip", ["tcp", "udp"], Box::new(ip))))
    }

    fn ipv6(&self) -> Result<Option<Version>, String> {
        let addresses: Vec<(Ipv6Addr, u8)> = self
            .addresses
            .iter()
            .filter_map(|it| if let IpAddr::V6(it) = it { Some((*it, 0)) } else { None })
            .collect();
        if addresses.is_empty() && !self.is_gateway {
            return Ok(None);
        }
        let all =
            ipv6::Route { network: Ipv6Addr::UNSPECIFIED, prefix: 0, via: ipv6::Via::Interface("raw_ip".to_owned()) };
        let routes = if addresses.is_empty() { vec![all] } else { Vec::new() };
        let interface = ipv6::Interface::new("raw_ip", Ipv6Addr::LOCALHOST, 0);
        let interface = ipv6::Interface { mtu: self.mtu, addresses, ..interface };
        let ip = Ipv6::new(ipv6::Config { any_destination: self.is_gateway, routes, ..ipv6::Config::host(interface) })
            .map_err(|error| error.to_string())?;
        Ok(Some(("ipv6", ["tcp6", "udp6"], Box::new(ip))))
    }

    fn connect(&self, stack: &Stack, versions: Vec<Version>) -> Result<Graph, GraphError> {
        let mut graph = Graph::new(self.seed, 0);
        graph.add_device("line", Service::FRAME)?;
        let task = graph.add_task("stack");
        graph.add_node(SOCKETS, task, Box::new(Node::new(Arc::clone(&stack.0))))?;
        graph.add_node("raw_ip", task, Box::new(RawIp::default()))?;
        graph.connect("raw_ip", "line")?;
        for (ip, [tcp, udp], node) in versions {
            graph.add_node(tcp, task, Box::new(Tcp::new(self.tcp.clone())))?;
            graph.add_node(udp, task, Box::new(Udp::new(udp::Config::default())))?;
            graph.add_node(ip, task, node)?;
            for (upper, lower) in [(SOCKETS, tcp), (SOCKETS, udp), (tcp, ip), (udp, ip), (ip, "raw_ip")] {
                graph.connect(upper, lower)?;
            }
        }
        Ok(graph)
    }
}
