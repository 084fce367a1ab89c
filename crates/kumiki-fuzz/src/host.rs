//! A host with a program on TCP or XTP, its time and its line in the hands of a target.

use core::net::IpAddr;

use kumiki_graph::{DeviceId, Graph, Indication, Instant, NodeId, Protocol, Request, Service, TaskId, Unit};
use kumiki_inet::tcp::Tcp;
use kumiki_inet::{ip, ipv6};
use kumiki_octets::Message;
use kumiki_xtp::Xtp;

use crate::packet::on_the_line;
use crate::program::{Command, Program};

/// IP, of the version of this address of its own, on a device `line`.
pub(crate) fn layer(own: IpAddr) -> Box<dyn Protocol> {
    match own {
        IpAddr::V4(own) => {
            let interface = ip::Interface::new("line", own, 24);
            Box::new(ip::Ip::new(ip::Config::host(interface)).unwrap())
        }
        IpAddr::V6(own) => {
            let interface = ipv6::Interface::new("line", own, 64);
            Box::new(ipv6::Ip::new(ipv6::Config::host(interface)).unwrap())
        }
    }
}

/// A host.
pub(crate) struct Host {
    pub(crate) graph: Graph,
    pub(crate) task: TaskId,
    pub(crate) line: DeviceId,
    pub(crate) control: DeviceId,
    pub(crate) program: NodeId,
    /// Each of them TCP or XTP.
    pub(crate) transports: Vec<NodeId>,
}

impl Host {
    /// The program, its transport, IP and a device `line` for packets.
    pub(crate) fn on_a_line(
        number: usize,
        program: Program,
        transport: Box<dyn Protocol>,
        ip: Box<dyn Protocol>,
    ) -> Self {
        let mut graph = Graph::new(1, number as u64);
        let task = graph.add_task("host");
        let line = graph.add_device("line", Service::UNIT_DATA).unwrap();
        let control = graph.add_device("control", Service::FRAME).unwrap();
        let program = graph.add_node("program", task, Box::new(program)).unwrap();
        let transport = graph.add_node("transport", task, transport).unwrap();
        graph.add_node("ip", task, ip).unwrap();
        for (upper, lower) in [("program", "transport"), ("program", "control"), ("transport", "ip"), ("ip", "line")] {
            graph.connect(upper, lower).unwrap();
        }
        let transports = vec![transport];
        let mut host = Self { graph, task, line, control, program, transports };
        host.start();
        host
    }

    /// Lets everything begin.
    pub(crate) fn start(&mut self) {
        self.graph.start(Instant::ZERO).unwrap();
        self.run(Instant::ZERO);
    }

    fn run(&mut self, now: Instant) {
        for step in 0.. {
            assert!(step < 100_000, "work without end");
            if self.graph.waiting(self.task).is_none() {
                break;
            }
            self.graph.run(self.task, now, 1);
        }
    }

    /// The program.
    pub(crate) fn program(&mut self) -> &mut Program {
        self.graph.protocol_mut(self.program).unwrap()
    }

    /// Tells the program what to do.
    pub(crate) fn tell(&mut self, now: Instant, commands: Vec<Command>) {
        self.program().todo.extend(commands);
        self.graph.input(now, self.control, Indication::Unit(Box::default()));
        self.run(now);
    }

    /// Lets a packet come in.
    pub(crate) fn receive(&mut self, now: Instant, octets: &[u8]) {
        let unit = Unit::of(Message::from_octets(octets));
        self.graph.input(now, self.line, Indication::Unit(Box::new(unit)));
        self.run(now);
    }

    /// Lets the timers expire that are due.
    pub(crate) fn fire(&mut self, now: Instant) {
        self.graph.fire(now);
        self.run(now);
    }

    /// When something happens by itself.
    pub(crate) fn next_timer(&mut self) -> Option<Instant> {
        self.graph.next_timer()
    }

    /// The packets that went out since this was last asked.
    pub(crate) fn sent(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        while let Some(output) = self.graph.output() {
            if let Request::Unit(unit) = output.request {
                assert!(output.at <= now);
                sent.push(on_the_line(&unit.data));
            }
        }
        sent
    }

    /// Callers that have not completed the handshake.
    pub(crate) fn half_open(&self) -> usize {
        let tcps = self.transports.iter();
        tcps.filter_map(|node| self.graph.protocol::<Tcp>(*node)).map(Tcp::half_open).sum()
    }

    /// TCP's connections, those in TIME-WAIT included, and those half open; XTP's contexts, those that are over
    /// included.
    pub(crate) fn connections(&self) -> usize {
        let of = |node: &NodeId| {
            let tcp = self.graph.protocol::<Tcp>(*node);
            let xtp = self.graph.protocol::<Xtp>(*node);
            tcp.map_or(0, |it| it.connections() + it.half_open()) + xtp.map_or(0, |it| it.contexts() + it.inactive())
        };
        self.transports.iter().map(of).sum()
    }
}
