//! The layers of a host in as many executors as it has queues.

use std::io;
use std::sync::Arc;

use kumiki_graph::{Instant, Rng};
use kumiki_io::{Clock, RealDevice};

use super::config::HostConfig;
use super::engine::Engine;
use super::queues::{BoundPorts, Edge, Mailbox, Owner, PortsOfAll};
use super::watch::MemoryWatch;
use crate::Stack;
use crate::layers::Part;

/// The random numbers of what all stacks of a host have in common; the stacks have those with the numbers below, and
/// their sockets those from the other end.
const COMMON: u64 = 1 << 32;

/// All stacks of a host: one, or one for each queue.
#[derive(Debug)]
pub(super) struct Engines<C: Clock> {
    /// At least one; the first is the host to its user.
    all: Vec<Engine<C>>,
    /// Of each line one for each stack, where there are several.
    mailboxes: Vec<Arc<[Mailbox]>>,
}

impl<C: Clock + Clone> Engines<C> {
    /// On `devices`: of each line of `config` so many as it has queues, in their order.
    pub(super) fn new(
        clock: &C,
        devices: Vec<Box<dyn RealDevice>>,
        config: &HostConfig,
        seed: u64,
    ) -> io::Result<Self> {
        check(devices.len(), config)?;
        let budget = config.budget();
        let watch = MemoryWatch::new(budget.clone(), config.notices.clone());
        if config.queues == 1 {
            let plan = config.plan(seed, budget, None);
            let engine = Engine::new(clock.clone(), devices, config, &plan, watch)?;
            return Ok(Self { all: vec![engine], mailboxes: Vec::new() });
        }
        let mut rng = Rng::new(seed, COMMON);
        let udp = Arc::new(BoundPorts::default());
        let owner = Arc::new(Owner::new(config.queues, config.is_gateway, Arc::clone(&udp), &mut rng));
        let [tcp, udp] = [(1, None), (2, Some(udp))]
            .map(|(number, bound)| Arc::new(PortsOfAll::new(Rng::new(seed, COMMON + number), bound)));
        let mailboxes: Vec<Arc<[Mailbox]>> =
            config.lines.iter().map(|_| (0..config.queues).map(|_| Mailbox::default()).collect()).collect();
        let budgets = [config.budget_of_version(), config.budget_of_version()];
        let mut devices: Vec<Option<Box<dyn RealDevice>>> = devices.into_iter().map(Some).collect();
        let mut all = Vec::new();
        for (here, number) in (0..config.queues).zip(0..) {
            let own = Arc::clone(&owner);
            let calls_from = Arc::new(move |local, remote| own.of_pair(local, remote) == here);
            let plan = config.plan(seed, budget.clone(), Some(Part { number, calls_from, budgets: budgets.clone() }));
            let queues = devices.chunks_mut(config.queues).zip(&mailboxes).filter_map(|(line, mailboxes)| {
                let queue = line.get_mut(here)?.take()?;
                Some(Box::new(Edge::new(queue, here, Arc::clone(&owner), Arc::clone(mailboxes))) as Box<dyn RealDevice>)
            });
            let engine = Engine::new(clock.clone(), queues.collect(), config, &plan, watch.clone())?;
            engine.stack.0.lock().have_ports_of([Arc::clone(&tcp) as _, Arc::clone(&udp) as _]);
            for mailbox in mailboxes.iter().filter_map(|it| it.get(here)) {
                mailbox.ring(engine.executor.bell());
            }
            all.push(engine);
        }
        let mut stacks = all.iter().map(|it| it.stack.clone());
        if let Some(first) = stacks.next() {
            first.lead(stacks.collect(), move |local, remote| owner.of_pair(local, remote));
        }
        Ok(Self { all, mailboxes })
    }
}

/// Whether `config` can be on so many devices.
fn check(devices: usize, config: &HostConfig) -> io::Result<()> {
    let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let (lines, queues) = (config.lines.len(), config.queues);
    if queues == 0 {
        return wrong("a host with 0 queues; expected 1 or more".to_owned());
    }
    if queues > 1 && config.lines.iter().any(|it| it.mac.is_some()) {
        return wrong(format!(
            "an Ethernet for a host with {queues} queues; expected lines without one, such as a TUN, or one queue"
        ));
    }
    if devices == lines * queues {
        return Ok(());
    }
    wrong(match queues {
        1 => format!("{devices} devices for a host with {lines} lines; expected one for each"),
        _ => format!(
            "{devices} devices for a host with {lines} lines and {queues} queues; expected {queues} for each line"
        ),
    })
}

impl<C: Clock> Engines<C> {
    /// The host's sockets.
    pub(super) fn stack(&self) -> Option<&Stack> {
        self.all.first().map(|it| &it.stack)
    }

    pub(super) fn all(&self) -> &[Engine<C>] {
        &self.all
    }

    pub(super) fn into_all(self) -> Vec<Engine<C>> {
        self.all
    }

    /// Whether something waits to go from one stack to another.
    pub(super) fn has_mail(&self) -> bool {
        self.mailboxes.iter().any(|line| line.iter().any(|it| !it.is_empty()))
    }

    /// As [`Engine::poll`], of all.
    pub(super) fn poll(&mut self) -> io::Result<Option<Instant>> {
        let mut next = None;
        for engine in &mut self.all {
            next = [next, engine.poll()?].into_iter().flatten().min();
        }
        Ok(next)
    }
}
