//! The layers of a host: sockets on TCP and UDP, for each version of IP of which it has an address, on its lines.
//! Beside them stands who answers echo requests.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use kumiki_graph::memory::Budget;
use kumiki_graph::{Below, DeviceId, Duration, Graph, GraphError, Protocol, Rng, Service, TaskId};
use kumiki_inet::AssignedRoute;
use kumiki_inet::arp::{self, Arp};
use kumiki_inet::dhcp::{self, Dhcp};
use kumiki_inet::eth::{self, Eth};
use kumiki_inet::icmp::IcmpEcho;
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::ipv6::{self, Ip as Ipv6};
use kumiki_inet::raw_ip::RawIp;
use kumiki_inet::tcp::{self, Tcp};
use kumiki_inet::udp::{self, Udp};
use kumiki_wire::inet::ethernet::MacAddr;

use crate::Stack;
use crate::sockets::{Layers, Node, OwnLine};
use crate::stack::Driver;

/// The node of the sockets, by its name in the graph.
pub(crate) const SOCKETS: &str = "sockets";

/// The client of DHCP on the first line.
const DHCP: &str = "dhcp";

/// The first line's device; those of others follow, in their order.
pub(crate) const LINE: DeviceId = DeviceId(0);

/// What a gateway without an address has for its own: the dummy address of RFC 7600, from which nobody is reached.
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// How long a gateway knows at which station somebody is: all that comes tells it again.
const KNOWN: Duration = Duration::from_secs(24 * 3600);

/// And of how many hosts it knows that.
const MOST_KNOWN: usize = 4096;

/// A version of IP.
struct Version {
    /// Its name, and those of the TCP, the UDP and the ICMP on it.
    ip: &'static str,
    upper: [&'static str; 3],
    /// The names of the layers below, a line each.
    below: Vec<String>,
    node: Box<dyn Protocol>,
}

/// The header of a frame, in octets: both addresses and a type.
#[cfg(feature = "host")]
const FRAME: u32 = 14;

/// One of its devices, and the network that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    not(all(feature = "host", target_os = "linux")),
    expect(unreachable_pub, reason = "a type of the module `host`")
)]
pub struct Line {
    pub(crate) addresses: Vec<IpAddr>,
    /// Whether it has IPv4, and IPv6, without an address of it too: that comes later.
    pub(crate) later: [bool; 2],
    /// Whether a server is asked for an address of IPv4.
    pub(crate) dhcp: bool,
    /// Whether it is asked at once, and others on the link only once if they have it.
    pub(crate) hurries: bool,
    /// What a packet can carry, headers included.
    pub(crate) mtu: u32,
    /// The station that it is, where the line is an Ethernet.
    pub(crate) mac: Option<MacAddr>,
    /// How many leading bits of the addresses name the network: of IPv4, of IPv6.
    pub(crate) prefixes: Option<[u8; 2]>,
    /// Who gets what is for other networks.
    pub(crate) routers: Vec<IpAddr>,
    pub(crate) routes: Vec<LineRoute>,
}

/// Other networks that a line leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LineRoute {
    pub(crate) network: IpAddr,
    pub(crate) prefix: u8,
    /// Who passes on what goes there; without one it goes straight to its destination.
    pub(crate) router: Option<IpAddr>,
}

impl Line {
    pub(crate) const fn plain(addresses: Vec<IpAddr>, mtu: u32) -> Self {
        Self {
            addresses,
            later: [false; 2],
            dhcp: false,
            hurries: false,
            mtu,
            mac: None,
            prefixes: None,
            routers: Vec::new(),
            routes: Vec::new(),
        }
    }

    /// What the device carries at most, in octets.
    #[cfg(feature = "host")]
    pub(crate) const fn frame(&self) -> u32 {
        if self.mac.is_some() { self.mtu + FRAME } else { self.mtu }
    }

    fn all_v4(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.addresses.iter().copied().filter_map(v4)
    }

    /// All ways that do not lead straight to its own networks: that by its first router of each version, and others.
    fn ways(&self) -> impl Iterator<Item = LineRoute> {
        let any = |is_v4| if is_v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        let first = move |is_v4| self.routers.iter().copied().find(|it| it.is_ipv4() == is_v4);
        let by = move |is_v4| Some(LineRoute { network: any(is_v4), prefix: 0, router: Some(first(is_v4)?) });
        [true, false].into_iter().filter_map(by).chain(self.routes.iter().cloned())
    }
}

fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    if let IpAddr::V4(it) = address { Some(it) } else { None }
}

fn v6(address: IpAddr) -> Option<Ipv6Addr> {
    if let IpAddr::V6(it) = address { Some(it) } else { None }
}

/// The layer or the device called `name`, of the line with this number.
fn named(name: &str, line: usize) -> String {
    if line == 0 { name.to_owned() } else { format!("{name}{line}") }
}

/// What a host is to have.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) lines: &'a [Line],
    pub(crate) tcp: &'a tcp::Config,
    /// It takes what is for any address, of both versions.
    pub(crate) is_gateway: bool,
    /// What all connections and datagrams together may hold.
    pub(crate) budget: Option<Budget>,
    /// All that is random comes from it.
    pub(crate) seed: u64,
    /// Where the host is several stacks: which of them it is.
    pub(crate) part: Option<Part>,
}

/// One of several stacks of a host.
#[derive(Clone)]
pub(crate) struct Part {
    /// Its number, from 0.
    pub(crate) number: u64,
    /// Which calls it makes.
    pub(crate) calls_from: tcp::CallsFrom,
    /// What the connections of all may hold, of IPv4 and of IPv6, where that is not bounded together with all else.
    pub(crate) budgets: [Budget; 2],
}

impl core::fmt::Debug for Part {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Part").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Plan<'_> {
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
        self.judge_gateway()?;
        self.judge_dhcp()?;
        let stack = Stack::new(layers, Vec::new(), Rng::new(self.seed, u64::MAX - self.number()), driver);
        stack.0.lock().is_one_of_several = self.part.is_some();
        {
            let mut table = stack.0.lock();
            table.have_lines(self.own_lines());
            table.asks_server = self.lines.iter().any(|line| line.dhcp);
            table.knows_ways = !self.is_gateway || !table.sources.is_empty();
        }
        stack.0.lock().effects.budget.clone_from(&self.budget);
        if self.is_gateway {
            stack.0.lock().prepare_gateway();
        }
        let graph = self.connect(&stack, versions)?;
        Ok((graph, stack))
    }

    fn number(&self) -> u64 {
        self.part.as_ref().map_or(0, |it| it.number)
    }

    /// Where a gateway has several devices, each says who is behind it: that is where answers go.
    fn judge_gateway(&self) -> Result<(), String> {
        let leads = |line: &Line| !line.addresses.is_empty() || line.ways().next().is_some();
        match self.lines.iter().position(|line| !leads(line)) {
            Some(number) if self.is_gateway && self.lines.len() > 1 => Err(format!(
                "no host is known behind device {number} of a gateway with {}; expected an address of it in the network there, or a route",
                self.lines.len()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Only an Ethernet asks for an address, and no gateway does.
    fn judge_dhcp(&self) -> Result<(), String> {
        let is_wrong = |line: &Line| line.dhcp && (line.mac.is_none() || self.is_gateway);
        match self.lines.iter().position(is_wrong) {
            Some(_) if self.is_gateway => Err("DHCP at a gateway, which has every address; expected a host".to_owned()),
            Some(number) => Err(format!("DHCP on line {number}, which is no Ethernet; expected one (Line::ethernet)")),
            None => Ok(()),
        }
    }

    /// The lines on which a server is asked: their numbers, their interfaces of IPv4, their stations, and whether they
    /// hurry.
    fn asking(&self) -> Vec<(usize, usize, MacAddr, bool)> {
        let with_v4 = self.lines.iter().enumerate().filter(|(_, line)| self.has_v4(line)).enumerate();
        let asks = |(interface, (number, line)): (usize, (usize, &Line))| {
            Some((number, interface, line.mac.filter(|_| line.dhcp)?, line.hurries))
        };
        with_v4.filter_map(asks).collect()
    }

    /// Whether all who call it are behind one device, whoever they are.
    fn is_for_all(&self) -> bool {
        self.is_gateway && self.lines.len() == 1
    }

    /// How many leading bits of an address on `line` name the network.
    fn prefix(&self, line: &Line, is_v4: bool) -> u8 {
        let usual = match (line.mac, self.lines) {
            _ if self.is_for_all() => return 0,
            // All of the world is on the line: whoever is at its other end goes on from there.
            (None, [_]) => [0, 0],
            (Some(_), _) | (None, _) => [24, 64],
        };
        let [v4, v6] = line.prefixes.unwrap_or(usual);
        if is_v4 { v4 } else { v6 }
    }

    /// What sockets know of each line.
    fn own_lines(&self) -> Vec<OwnLine> {
        let mut next = [0; 2];
        let mut interface = |version: usize, is_there: bool| {
            let place = next.get_mut(version).filter(|_| is_there)?;
            *place += 1;
            Some(*place - 1)
        };
        let own = |line: &Line| OwnLine {
            addresses: line.addresses.iter().map(|own| (*own, self.prefix(line, own.is_ipv4()))).collect(),
            routes: line
                .ways()
                .map(|LineRoute { network, prefix, router }| AssignedRoute { network, prefix, router })
                .collect(),
            interfaces: [interface(0, self.has_v4(line)), interface(1, self.has_v6(line))],
            mtu: line.mtu,
            most: line.mtu,
            ..OwnLine::default()
        };
        self.lines.iter().map(own).collect()
    }

    /// Whether `line` is an interface of IPv4.
    fn has_v4(&self, line: &Line) -> bool {
        self.v4(line).is_some() || line.later[0]
    }

    /// Whether it is one of IPv6.
    fn has_v6(&self, line: &Line) -> bool {
        let has_way = self.is_gateway && line.ways().any(|way| way.network.is_ipv6());
        line.addresses.iter().any(IpAddr::is_ipv6) || line.later[1] || self.is_for_all() || has_way
    }

    /// Its address of IPv4 on `line`, if it has one, and how many leading bits of it name the network.
    fn v4(&self, line: &Line) -> Option<(Ipv4Addr, u8)> {
        let prefix = self.prefix(line, true);
        if let Some(own) = line.all_v4().next() {
            return Some((own, prefix));
        }
        let has_way = line.ways().any(|way| way.network.is_ipv4());
        let dummy = self.is_gateway && (has_way || self.is_for_all());
        dummy.then_some((DUMMY, if self.is_for_all() { prefix } else { 32 }))
    }

    /// What is there of IPv4.
    fn ip(&self) -> Result<Option<Version>, String> {
        let (mut interfaces, mut routes) = (Vec::new(), Vec::new());
        for (number, line) in self.lines.iter().enumerate() {
            if !self.has_v4(line) {
                continue;
            }
            let (below, neighbours) = match line.mac {
                None => ("raw_ip", ip::Neighbours::One),
                Some(_) => ("arp", ip::Neighbours::Below),
            };
            let below = named(below, number);
            for LineRoute { network, prefix, router } in line.ways() {
                let via = router
                    .and_then(v4)
                    .map_or_else(|| ip::RouteTarget::Interface(below.clone()), ip::RouteTarget::Gateway);
                routes.extend(v4(network).map(|network| ip::Route { network, prefix, via }));
            }
            let own = match self.v4(line) {
                Some((address, prefix)) => ip::Interface::new(&below, address, prefix),
                None => ip::Interface::negotiated(&below),
            };
            let further = line.all_v4().skip(1).map(|it| (it, self.prefix(line, true))).collect();
            interfaces.push(ip::Interface { mtu: line.mtu, neighbours, further, ..own });
        }
        let below = interfaces.iter().map(|it| it.below.clone()).collect();
        let Some(first) = interfaces.first() else {
            return Ok(None);
        };
        let config = ip::Config::host(first.clone());
        let ip = Ip::new(ip::Config { any_destination: self.is_gateway, routes, interfaces, ..config })
            .map_err(|error| error.to_string())?;
        Ok(Some(Version { ip: "ip", upper: ["tcp", "udp", "icmp"], below, node: Box::new(ip) }))
    }

    fn ipv6(&self) -> Result<Option<Version>, String> {
        let (mut interfaces, mut routes) = (Vec::new(), Vec::new());
        for (number, line) in self.lines.iter().enumerate() {
            let prefix = self.prefix(line, false);
            let addresses: Vec<(Ipv6Addr, u8)> =
                line.addresses.iter().copied().filter_map(v6).map(|it| (it, prefix)).collect();
            let has_way = self.is_gateway && line.ways().any(|way| way.network.is_ipv6());
            if !self.has_v6(line) {
                continue;
            }
            let below = named(if line.mac.is_some() { "eth" } else { "raw_ip" }, number);
            if addresses.is_empty() && self.is_for_all() {
                let via = ipv6::RouteTarget::Interface(below.clone());
                routes.push(ipv6::Route { network: Ipv6Addr::UNSPECIFIED, prefix: 0, via });
            }
            for LineRoute { network, prefix, router } in line.ways().filter(|_| !addresses.is_empty() || has_way) {
                let via = router
                    .and_then(v6)
                    .map_or_else(|| ipv6::RouteTarget::Interface(below.clone()), ipv6::RouteTarget::Gateway);
                routes.extend(v6(network).map(|network| ipv6::Route { network, prefix, via }));
            }
            let neighbours = match line.mac {
                None => ipv6::Neighbours::One,
                Some(_) if self.is_gateway => ipv6::Neighbours::Discover(ipv6::Discovery {
                    advertisements: Some(false),
                    reachable: KNOWN,
                    neighbours: MOST_KNOWN,
                    ..ipv6::Discovery::default()
                }),
                Some(_) => ipv6::Neighbours::Discover(ipv6::Discovery::default()),
            };
            let interface = ipv6::Interface::new(&below, Ipv6Addr::LOCALHOST, 0);
            interfaces.push(ipv6::Interface { mtu: line.mtu, addresses, neighbours, ..interface });
        }
        let below = interfaces.iter().map(|it| it.below.clone()).collect();
        let Some(first) = interfaces.first() else {
            return Ok(None);
        };
        let config = ipv6::Config::host(first.clone());
        let ip = Ipv6::new(ipv6::Config { any_destination: self.is_gateway, routes, interfaces, ..config })
            .map_err(|error| error.to_string())?;
        Ok(Some(Version { ip: "ipv6", upper: ["tcp6", "udp6", "icmp6"], below, node: Box::new(ip) }))
    }

    /// Adds the layers of a line below those of IP.
    fn add_line(&self, graph: &mut Graph, task: TaskId, (number, line): (usize, &Line)) -> Result<(), String> {
        let wrong = |error: GraphError| error.to_string();
        let [device, raw, eth, arp] = ["line", "raw_ip", "eth", "arp"].map(|name| named(name, number));
        let Some(mac) = line.mac else {
            graph.add_node(&raw, task, Box::new(RawIp::default())).map_err(wrong)?;
            return graph.connect(&raw, &device).map(drop).map_err(wrong);
        };
        let config = eth::Config { mtu: line.mtu, ..eth::Config::new(mac) };
        let node = Eth::new(config).map_err(|error| error.to_string())?;
        graph.add_node(&eth, task, Box::new(node)).map_err(wrong)?;
        graph.connect(&eth, &device).map_err(wrong)?;
        if self.has_v4(line) {
            let own = self.v4(line).map(|(own, _)| own).into_iter().chain(line.all_v4().skip(1));
            let mut config =
                arp::Config { addresses: own.collect(), told_later: true, ..arp::Config::new(Ipv4Addr::UNSPECIFIED) };
            if line.hurries {
                config.probing = arp::Probing::QUICK;
            }
            if self.is_gateway {
                (config.any_address, config.timeout, config.max_entries) = (true, KNOWN, MOST_KNOWN);
            }
            let node = Arp::new(config).map_err(|error| error.to_string())?;
            graph.add_node(&arp, task, Box::new(node)).map_err(wrong)?;
            graph.connect(&arp, &eth).map_err(wrong)?;
        }
        Ok(())
    }

    fn connect(&self, stack: &Stack, versions: Vec<Version>) -> Result<Graph, String> {
        let wrong = |error: GraphError| error.to_string();
        let mut graph = Graph::new(self.seed, self.number());
        for number in 0..self.lines.len() {
            graph.add_device(&named("line", number), Service::FRAME).map_err(wrong)?;
        }
        let task = graph.add_task("stack");
        graph.add_node(SOCKETS, task, Box::new(Node::new(Arc::clone(&stack.0)))).map_err(wrong)?;
        for line in self.lines.iter().enumerate() {
            self.add_line(&mut graph, task, line)?;
        }
        for version in versions {
            self.add_version(&mut graph, task, version).map_err(wrong)?;
        }
        Ok(graph)
    }

    fn add_version(&self, graph: &mut Graph, task: TaskId, version: Version) -> Result<(), GraphError> {
        let Version { ip, upper: [tcp, udp, icmp], below, node } = version;
        let mut transport = Tcp::new(self.tcp.clone());
        if let Some(part) = &self.part {
            transport.share_ports(Arc::clone(&part.calls_from));
        }
        let [v4, v6] = self.part.as_ref().map(|it| it.budgets.each_ref()).map_or([None; 2], |it| it.map(Some));
        if let Some(budget) = self.budget.as_ref().or(if ip == "ip" { v4 } else { v6 }) {
            transport.share_memory(budget.clone());
        }
        graph.add_node(tcp, task, Box::new(transport))?;
        graph.add_node(udp, task, Box::new(Udp::new(udp::Config::default())))?;
        graph.add_node(icmp, task, Box::new(IcmpEcho::default()))?;
        graph.add_node(ip, task, node)?;
        for (upper, lower) in [(SOCKETS, tcp), (SOCKETS, udp), (tcp, ip), (udp, ip), (icmp, ip)] {
            graph.connect(upper, lower)?;
        }
        below.iter().try_for_each(|below| graph.connect(ip, below).map(drop))?;
        for (number, interface, station, hurries) in if ip == "ip" { self.asking() } else { Vec::new() } {
            let mut config = dhcp::Config { interface, ..dhcp::Config::new(station) };
            if hurries {
                config.startup = (Duration::ZERO, Duration::ZERO);
            }
            let client = named(DHCP, number);
            graph.add_node(&client, task, Box::new(Dhcp::new(config)))?;
            graph.connect(&client, udp)?;
        }
        Ok(())
    }
}
