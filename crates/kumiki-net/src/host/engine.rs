//! A host's layers in an executor, whoever lets that run.

use core::net::IpAddr;
use std::io;

use kumiki_graph::{DeviceId, Instant, Token};
use kumiki_inet::tcp::Tcp;
use kumiki_io::{Bell, Clock, DeviceConfig, Executor, GraphId, Pace, Plug, RealDevice};

use super::Connection;
use super::config::{HostConfig, Resolver};
use super::watch::MemoryWatch;
use crate::Stack;
use crate::layers::{LINE, Plan, SOCKETS};
use crate::stack::Driver;

/// What TCP hands down at once where the device takes it whole, in packets; where it does not, it is cut before.
const BURST: u32 = 64;

/// So often what is due is done in one go, before whoever drives it has a turn again.
const PASSES: usize = 8;

struct BellDriver {
    bell: Bell,
    resolver: Option<Resolver>,
}

impl Driver for BellDriver {
    fn ring(&self) {
        self.bell.ring();
    }

    fn woke(&self) {}

    fn may_block(&self) -> bool {
        true
    }

    fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match &self.resolver {
            Some(resolver) => resolver(name),
            None => {
                let text = format!("`{name}`: this stack looks up no names; HostConfig::resolver gives it who does");
                Err(io::Error::new(io::ErrorKind::NotFound, text))
            }
        }
    }
}

/// A host; when it is dropped, its sockets say that it is gone.
#[derive(Debug)]
pub(super) struct Engine<C: Clock> {
    pub(super) executor: Executor<C>,
    pub(super) clock: C,
    pub(super) stack: Stack,
    pub(super) watch: MemoryWatch,
    host: GraphId,
}

impl<C: Clock + Clone> Engine<C> {
    /// On `devices`, one for each line of `config`, in their order; its layers are as in `plan`.
    pub(super) fn new(
        clock: C,
        devices: Vec<Box<dyn RealDevice>>,
        config: &HostConfig,
        plan: &Plan<'_>,
        watch: MemoryWatch,
    ) -> io::Result<Self> {
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let mut executor = Executor::new(clock.clone(), Pace::default());
        let driver = BellDriver { bell: executor.bell(), resolver: config.resolver.clone() };
        let (graph, stack) = plan.build(Box::new(driver)).map_err(wrong)?;
        let sockets = graph.node(SOCKETS);
        let id = executor.add_graph("host", graph);
        if let Some(sockets) = sockets {
            executor.attend(id, sockets, Token::default(), stack.asked());
        }
        for (number, (device, line)) in devices.into_iter().zip(&config.lines).enumerate() {
            let own = DeviceId(LINE.0 + number);
            executor.set_device(id, own, DeviceConfig { mtu: line.frame(), burst: BURST });
            let real = executor.add_real(device)?;
            executor.plug(Plug::Device(id, own), Plug::Real(real));
        }
        executor.start().map_err(|error| wrong(error.to_string()))?;
        Ok(Self { executor, clock, stack, watch, host: id })
    }
}

impl<C: Clock> Engine<C> {
    /// Does what is due, and says when it is to be done next by itself; never where only somebody else can bring
    /// something.
    pub(super) fn poll(&mut self) -> io::Result<Option<Instant>> {
        let next = self.executor.poll(PASSES);
        self.watch.look(&self.clock);
        self.check()?;
        Ok(next)
    }

    /// Its connections, as [`PacketStack::connections`](super::PacketStack::connections) says them.
    pub(super) fn connections(&self) -> Vec<Connection> {
        let graph = self.executor.graph(self.host);
        let both = ["tcp", "tcp6"].into_iter().filter_map(|name| graph?.find::<Tcp>(name));
        let all = both.flat_map(Tcp::snapshots);
        all.map(|(local, remote, snapshot)| Connection { local, remote, snapshot }).collect()
    }

    /// Where it cannot go on, its sockets are told.
    pub(super) fn check(&self) -> io::Result<()> {
        let Some(failure) = self.executor.failure() else {
            return Ok(());
        };
        let why = failure.to_string();
        self.stack.0.with(|table| table.go_down(Some(why.clone())));
        Err(io::Error::other(why))
    }
}

impl<C: Clock> Drop for Engine<C> {
    fn drop(&mut self) {
        let why = std::thread::panicking().then(|| "what drives it has panicked".to_owned());
        self.stack.0.with(|table| table.go_down(why));
    }
}
