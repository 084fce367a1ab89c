//! Kumiki with itself: two graphs of program, TCP, IP and device in one executor, joined by a [`Link`].

use core::net::{Ipv4Addr, SocketAddr};

use kumiki_graph::{DeviceId, Duration, Graph, GraphError, NodeId, Protocol, Service};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::llc::{self, Llc};
use kumiki_inet::tcp::config::AckRule;
use kumiki_inet::tcp::{Config, Tcp, defaults};
use kumiki_inet::vnet::{self, Vnet};
use kumiki_io::{DeviceConfig, Executor, ExecutorEnd, GraphId, Pace, Plug, RealClock};
use serde::Serialize;

use crate::link::Link;
use crate::load::{Load, Outcome, Work, cpu_s};
use crate::programs::{Answerer, Caller};

const CALLER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const ANSWERER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORT: u16 = 5001;

/// What the caller has written and not seen acknowledged, on all connections together, in octets: little enough
/// to stay in a second-level cache beside both programs' buffers.
pub(crate) const UNDER_WAY: u64 = 128 * 1024;

/// A run may take so long.
const LIMIT: Duration = Duration::from_secs(300);

/// What TCP is set to: its modern profile, of which the table says what is on.
pub(crate) const fn config() -> Config {
    Config {
        // As Linux: an acknowledgment may stand for a whole super-segment.
        slow_start_limit: u32::MAX,
        // Not delayed, as smoltcp does best: what is put together is acknowledged once in any case.
        ack: AckRule { every: 1, count_small: true, pushed: false },
        ..defaults::modern()
    }
}

/// Both ends in one executor.
pub(crate) struct Pair {
    executor: Executor<RealClock>,
    caller: (GraphId, NodeId),
    answerer: (GraphId, NodeId),
    link: kumiki_io::ElementId,
}

/// Which layers there are, and how units go through them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Layers {
    /// VNET below TCP and LLC/SNAP below IP, which have next to nothing to do.
    pub(crate) between: bool,
    /// Units may take paths.
    pub(crate) paths: bool,
}

impl Layers {
    /// TCP on IP on the device.
    pub(crate) const FEW: Self = Self { between: false, paths: true };
}

/// A host with this address behind one device.
pub(crate) fn host(
    own: Ipv4Addr,
    mtu: usize,
    layers: Layers,
    program: Box<dyn Protocol>,
) -> Result<(Graph, NodeId, DeviceId), GraphError> {
    let mut graph = Graph::new(1, own.to_bits().into());
    graph.set_paths(layers.paths);
    let task = graph.add_task("host");
    let device = graph.add_device("p2p0", Service::FRAME)?;
    let below = if layers.between { "llc" } else { "p2p0" };
    let interface = ip::Interface { mtu: u32::try_from(mtu).unwrap_or(u32::MAX), ..ip::Interface::new(below, own, 24) };
    let refused =
        |upper: &str, lower: &str, why| GraphError::Refused { upper: upper.to_owned(), lower: lower.to_owned(), why };
    let ip = Ip::new(ip::Config::host(interface)).map_err(|why| refused("ip", below, why.to_string()))?;
    graph.add_node("ip", task, Box::new(ip))?;
    graph.add_node("tcp", task, Box::new(Tcp::new(config())))?;
    let node = graph.add_node("program", task, program)?;
    let mut chain = vec!["program", "tcp", "ip", "p2p0"];
    if layers.between {
        let config = vnet::Config { interfaces: vec![vnet::Interface::new("ip", own.into(), 24)], routes: Vec::new() };
        let vnet = Vnet::new(config).map_err(|why| refused("vnet", "ip", why.to_string()))?;
        graph.add_node("vnet", task, Box::new(vnet))?;
        graph.add_node("llc", task, Box::new(Llc::new(llc::Config::default())))?;
        chain = vec!["program", "tcp", "vnet", "ip", "llc", "p2p0"];
    }
    // What passes users through must find them when it is put on something.
    for pair in chain.windows(2).rev() {
        if let [upper, lower] = pair {
            graph.connect(upper, lower)?;
        }
    }
    Ok((graph, node, device))
}

impl Pair {
    /// Both hosts, joined and started.
    pub(crate) fn new(load: Load, layers: Layers) -> Result<Self, String> {
        let to = SocketAddr::from((ANSWERER, PORT));
        let most = UNDER_WAY;
        let make = |own, program| host(own, load.mtu, layers, program).map_err(|why| why.to_string());
        let caller = make(CALLER, Box::new(Caller::new(to, load, most)))?;
        let answerer = make(ANSWERER, Box::new(Answerer::new(to, load)))?;
        let mut executor = Executor::new(RealClock::start(), Pace::default());
        let link = executor.add_element(Box::new(Link::default()));
        let mut join = |name: &str, (graph, node, device): (Graph, NodeId, DeviceId), port| {
            let id = executor.add_graph(name, graph);
            let config = DeviceConfig { mtu: u32::try_from(load.mtu).unwrap_or(u32::MAX), burst: 64 };
            executor.set_device(id, device, config);
            executor.plug(Plug::Device(id, device), Plug::Port(link, port));
            (id, node)
        };
        let caller = join("caller", caller, 0);
        let answerer = join("answerer", answerer, 1);
        executor.start().map_err(|why| why.to_string())?;
        Ok(Self { executor, caller, answerer, link })
    }

    fn program<T: Protocol>(executor: &Executor<RealClock>, at: (GraphId, NodeId)) -> Option<&T> {
        executor.graph(at.0)?.protocol(at.1)
    }

    /// Runs until all connections are open; the caller begins at once.
    pub(crate) fn open(&mut self) -> Result<(), String> {
        let caller = self.caller;
        let open = |executor: &mut Executor<RealClock>| {
            Self::program::<Caller>(executor, caller).is_some_and(|caller| caller.begun)
        };
        match self.executor.run(LIMIT, open) {
            ExecutorEnd::Done => Ok(()),
            ExecutorEnd::Idle | ExecutorEnd::TimedOut | ExecutorEnd::Failed => {
                Err("connections did not open".to_owned())
            }
        }
    }

    /// Lets so much time pass.
    #[allow(dead_code, reason = "for the program that counts memory")]
    pub(crate) fn rest(&mut self, time: Duration) {
        let _ = self.executor.run(time, |_| false);
    }

    /// Runs until the load is done.
    pub(crate) fn finish(&mut self, load: Load) -> Result<(), String> {
        let (caller, answerer) = (self.caller, self.answerer);
        let done = |executor: &mut Executor<RealClock>| match load.work {
            Work::Octets(_) => {
                Self::program::<Answerer>(executor, answerer).is_some_and(|answerer| answerer.ended >= load.sessions)
            }
            Work::Exchanges(_) => {
                Self::program::<Caller>(executor, caller).is_some_and(|caller| caller.done >= load.sessions)
            }
        };
        match self.executor.run(LIMIT, done) {
            ExecutorEnd::Done => Ok(()),
            ExecutorEnd::Idle | ExecutorEnd::TimedOut | ExecutorEnd::Failed => {
                let caller = Self::program::<Caller>(&self.executor, caller);
                let aborted = caller.map_or(0, |caller| caller.aborted);
                Err(format!("the transfer did not end; {aborted} aborted"))
            }
        }
    }

    fn outcome(&self, cpu_s: f64) -> Outcome {
        let counter = |name: &str| {
            let counters = self.executor.element_counters(self.link);
            let found = counters.iter().find(|(known, _)| *known == name);
            found.map_or(0, |(_, count)| *count)
        };
        let size = |name: &str| usize::try_from(counter(name)).unwrap_or(usize::MAX);
        let answerer = Self::program::<Answerer>(&self.executor, self.answerer);
        let graph = self.executor.graph(self.caller.0);
        let tcp = graph.and_then(|graph| graph.protocol::<Tcp>(graph.node("tcp")?));
        Outcome {
            cpu_s,
            octets: answerer.map_or(0, |answerer| answerer.octets),
            packets: counter("packets"),
            longest: size("longest"),
            wrong: answerer.map_or(0, |answerer| answerer.wrong),
            again: tcp.map_or(0, |tcp| tcp.counters().retransmissions),
        }
    }
}

/// One run.
pub(crate) fn run(load: Load, layers: Layers) -> Result<Outcome, String> {
    let mut pair = Pair::new(load, layers)?;
    pair.open()?;
    let begin = cpu_s();
    pair.finish(load)?;
    Ok(pair.outcome(cpu_s() - begin))
}
