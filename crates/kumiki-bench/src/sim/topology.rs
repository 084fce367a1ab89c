//! The worlds that both simulators run: two hosts on a line, or a dumbbell of a thousand pairs.

use core::net::{Ipv4Addr, SocketAddr};

use kumiki_config::quantity::Distribution;
use kumiki_graph::{Coalesce, Duration, Graph, GraphError, Protocol, Quality, Service};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::tcp::congestion::Algorithm;
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_lab::workload::{Opening, Sink, SinkConfig, Source, SourceConfig, Transfer};
use kumiki_link::{Carrier, DropTail, Rate, Serial, SerialConfig};
use kumiki_octets::Pattern;
use kumiki_sim::{Host, HostId, Plug, World};

use super::{Parameters, Shape, Writes};

/// Of all sinks.
const PORT: u16 = 5001;
/// What a write hands over, octets.
const WRITE: u32 = 8192;
/// As ns-3's point-to-point header.
const LINK_HEADER: u32 = 2;
/// Hosts behind one edge router.
const HOSTS_PER_EDGE: u32 = 32;
/// The line of a host in the dumbbell, and of an edge router.
const ACCESS: Rate = Rate::bits_per_second(1_000_000_000);
const UPLINK: Rate = Rate::bits_per_second(10_000_000_000);
/// Propagation of those.
const NEAR: Duration = Duration::from_micros(1);

/// A world ready to run and the hosts whose sinks are counted.
pub(super) struct BuiltWorld {
    pub(super) world: World,
    pub(super) sinks: Vec<HostId>,
}

/// Puts a world together.
struct Builder<'a> {
    parameters: &'a Parameters,
    world: World,
    hosts: u64,
}

impl<'a> Builder<'a> {
    fn new(parameters: &'a Parameters) -> Self {
        Self { parameters, world: World::new(), hosts: 0 }
    }

    /// A host or router with one line for each interface.
    fn machine(
        &mut self,
        name: &str,
        config: ip::Config,
        program: Option<Box<dyn Protocol>>,
    ) -> Result<HostId, GraphError> {
        self.hosts += 1;
        let mut graph = Graph::new(self.parameters.seed, self.hosts);
        let task = graph.add_task("kernel");
        let lines: Vec<String> = config.interfaces.iter().map(|interface| interface.below.clone()).collect();
        for line in &lines {
            graph.add_device(line, Service::UNIT_DATA)?;
        }
        let below = lines.join(", ");
        let ip = Ip::new(config).map_err(|why| GraphError::Refused {
            upper: "ip".to_owned(),
            lower: below,
            why: why.to_string(),
        })?;
        graph.add_node("ip", task, Box::new(ip))?;
        for line in &lines {
            graph.connect("ip", line)?;
        }
        if let Some(program) = program {
            let mut tcp = defaults::modern();
            tcp.congestion = Algorithm::NewReno;
            tcp.record = self.parameters.record;
            graph.add_node("tcp", task, Box::new(Tcp::new(tcp)))?;
            graph.connect("tcp", "ip")?;
            graph.add_node("program", task, program)?;
            graph.connect("program", "tcp")?;
        }
        Ok(self.world.add_host(Host::new(name, graph)))
    }

    fn line(&mut self, a: (HostId, usize), b: (HostId, usize), rate: Rate, propagation: Duration) {
        let config =
            SerialConfig { carrier: Carrier::Plain { rate, overhead: LINK_HEADER }, propagation, say_sent: false };
        let queue = DropTail::frames(self.parameters.queue());
        let line = self.world.add_element("line", Box::new(Serial::new(config, queue)));
        for (port, (host, device)) in [a, b].into_iter().enumerate() {
            let device = kumiki_graph::DeviceId(device);
            self.world.plug(Plug::Device(host, device), Plug::Port(line, port));
        }
    }

    fn interface(&self, line: &str, address: Ipv4Addr, prefix: u8) -> ip::Interface {
        ip::Interface { mtu: self.parameters.mtu, ..ip::Interface::new(line, address, prefix) }
    }

    fn quality(&self) -> Quality {
        Quality {
            send_buffer: Some(self.parameters.window),
            receive_buffer: Some(self.parameters.window),
            coalesce: Some(match self.parameters.writes {
                Writes::Eager => Coalesce::Never,
                Writes::Full => Coalesce::Nagle,
            }),
            ..Quality::default()
        }
    }

    fn source(&self, to: Ipv4Addr, sessions: u32, first: u32) -> Box<dyn Protocol> {
        Box::new(Source::new(SourceConfig {
            local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into(),
            peers: vec![SocketAddr::from((to, PORT)).into()],
            sessions,
            busy: sessions,
            message: WRITE,
            count: None,
            size: None,
            pattern: Pattern::Zeros,
            opening: Opening {
                start: Duration::from_millis(u64::from(first % 1000)),
                stagger: Distribution::Constant(Duration::from_millis(1)),
                ..Opening::default()
            },
            quality: self.quality(),
            transfer: Transfer::default(),
        }))
    }

    fn sink(&self, sessions: u32) -> Box<dyn Protocol> {
        Box::new(Sink::new(SinkConfig {
            local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into(),
            backlog: sessions,
            read: u32::MAX,
            expect: None,
            quality: self.quality(),
            transfer: Transfer::default(),
        }))
    }

    fn pair(mut self) -> Result<BuiltWorld, GraphError> {
        let (near, far) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let flows = self.parameters.flows;
        let source = self.source(far, flows, 0);
        let config = ip::Config::host(self.interface("line", near, 30));
        let from = self.machine("near", config, Some(source))?;
        let sink = self.sink(flows);
        let config = ip::Config::host(self.interface("line", far, 30));
        let to = self.machine("far", config, Some(sink))?;
        let (rate, delay) = (self.parameters.rate(), self.parameters.rtt() / 2);
        self.line((from, 0), (to, 0), rate, delay);
        Ok(BuiltWorld { world: self.world, sinks: vec![to] })
    }

    fn dumbbell(mut self) -> Result<BuiltWorld, GraphError> {
        let flows = self.parameters.flows;
        let edges = flows.div_ceil(HOSTS_PER_EDGE);
        let left = self.core(0, edges)?;
        let right = self.core(1, edges)?;
        let (rate, delay) = (self.parameters.rate(), self.parameters.rtt() / 2);
        self.line((left, 0), (right, 0), rate, delay);
        let mut sinks = Vec::new();
        for (side, core) in [(0, left), (1, right)] {
            for edge in 0..edges {
                let router = self.edge(side, edge)?;
                let port = usize::try_from(edge).unwrap_or(0) + 1;
                self.line((router, 0), (core, port), UPLINK, NEAR);
                for place in 0..HOSTS_PER_EDGE.min(flows - edge * HOSTS_PER_EDGE) {
                    let host = self.leaf(side, edge, place)?;
                    let port = usize::try_from(place).unwrap_or(0) + 1;
                    self.line((host, 0), (router, port), ACCESS, NEAR);
                    if side == 1 {
                        sinks.push(host);
                    }
                }
            }
        }
        Ok(BuiltWorld { world: self.world, sinks })
    }

    /// A core router: the bottleneck, then an interface for each edge router.
    fn core(&mut self, side: u8, edges: u32) -> Result<HostId, GraphError> {
        let own = Ipv4Addr::new(10, 255, 0, 1 + side);
        let other = Ipv4Addr::new(10, 255, 0, 2 - side);
        let mut config = ip::Config::host(self.interface("bottleneck", own, 30));
        config.forwarding = true;
        config.routes.push(ip::Route::default_by(other));
        for edge in 0..edges {
            let line = format!("edge{edge}");
            let network = network(side, edge);
            let uplink = self.interface(&line, uplink(network, 2), 30);
            config.interfaces.push(uplink);
            config.routes.push(ip::Route {
                network,
                prefix: 16,
                via: ip::RouteTarget::Gateway(self::uplink(network, 1)),
            });
        }
        self.machine("core", config, None)
    }

    /// An edge router: its line to the core, then an interface for each host.
    fn edge(&mut self, side: u8, edge: u32) -> Result<HostId, GraphError> {
        let network = network(side, edge);
        let mut config = ip::Config::host(self.interface("core", uplink(network, 1), 30));
        config.forwarding = true;
        config.routes.push(ip::Route::default_by(uplink(network, 2)));
        let first = edge * HOSTS_PER_EDGE;
        for place in 0..HOSTS_PER_EDGE.min(self.parameters.flows - first) {
            let access = access(network, place, 2);
            let interface = self.interface(&format!("host{place}"), access, 30);
            config.interfaces.push(interface);
        }
        self.machine("edge", config, None)
    }

    fn leaf(&mut self, side: u8, edge: u32, place: u32) -> Result<HostId, GraphError> {
        let network = network(side, edge);
        let own = access(network, place, 1);
        let mut config = ip::Config::host(self.interface("line", own, 30));
        config.routes.push(ip::Route::default_by(access(network, place, 2)));
        let program = if side == 0 {
            let peer = access(self::network(1, edge), place, 1);
            self.source(peer, 1, edge * HOSTS_PER_EDGE + place)
        } else {
            self.sink(1)
        };
        self.machine("host", config, Some(program))
    }
}

/// Of an edge router and its hosts: 10.0.0.0/16 and up on the left, 10.128.0.0/16 and up on the right.
fn network(side: u8, edge: u32) -> Ipv4Addr {
    let second = u8::try_from(edge).unwrap_or(u8::MAX) + 128 * side;
    Ipv4Addr::new(10, second, 0, 0)
}

/// On the line between edge (1) and core (2).
fn uplink(network: Ipv4Addr, end: u8) -> Ipv4Addr {
    let [a, b, ..] = network.octets();
    Ipv4Addr::new(a, b, 1, end)
}

/// On the line between a host (1) and its edge router (2).
fn access(network: Ipv4Addr, place: u32, end: u8) -> Ipv4Addr {
    let [a, b, ..] = network.octets();
    let place = u8::try_from(place).unwrap_or(0);
    Ipv4Addr::new(a, b, 0, 4 * place + end)
}

/// Builds what `parameters` say.
pub(super) fn build(parameters: &Parameters) -> Result<BuiltWorld, GraphError> {
    let builder = Builder::new(parameters);
    match parameters.shape {
        Shape::Pair => builder.pair(),
        Shape::Dumbbell => builder.dumbbell(),
    }
}
