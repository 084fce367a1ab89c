//! Adapters: what stands between a host's graph and a medium.
//!
//! Sending, a DMA engine takes one command after the other from a queue and gives the medium one PDU at a time. *Chained*,
//! it fetches the next command from memory itself; otherwise the CPU must start it each time, which waits for the CPU and
//! costs CPU time. Receiving, an arrived PDU is charged to the host's receive memory and handed to the graph, after an
//! interrupt or by being found there.

use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_link::Unit;
use kumiki_octets::Message;

/// How the CPU starts the DMA engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commands {
    /// The engine finds the next command itself, this long after the last one is done.
    Chained {
        /// Time between the end of one PDU and the start of the next.
        fetch: Duration,
    },
    /// The CPU starts the engine for each PDU.
    Single {
        /// CPU time that this takes, interrupt included.
        start: Duration,
    },
}

/// How the graph learns of an arrived PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// An interrupt for each, ahead of all tasks.
    Interrupt {
        /// CPU time that the interrupt takes, context switches included.
        cost: Duration,
    },
    /// The receiving task finds it when it runs; nothing interrupts sending (paper 2's pipeline rescheduling).
    Deferred,
}

/// What an adapter is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdapterConfig {
    /// The largest unit that the graph may hand down, in octets.
    pub mtu: u32,
    /// How PDUs to send are started.
    pub commands: Commands,
    /// How received PDUs are told of.
    pub notice: Notice,
    /// How many PDUs may wait to be sent; more are dropped and counted.
    pub queue: usize,
    /// The host's CPU that interrupts go to.
    pub cpu: usize,
}

impl Default for AdapterConfig {
    fn default() -> Self {
        Self {
            mtu: 9180,
            commands: Commands::Chained {
                fetch: Duration::ZERO,
            },
            notice: Notice::Deferred,
            queue: usize::MAX,
            cpu: 0,
        }
    }
}

/// What an adapter did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AdapterCounters {
    /// PDUs given to the medium.
    pub sent: u64,
    /// PDUs that came from the medium.
    pub received: u64,
    /// PDUs not sent because the queue was full.
    pub queue_full: u64,
    /// PDUs thrown away because no receive page was free.
    pub no_page: u64,
    /// The most PDUs that ever waited to be sent.
    pub queue_high_water: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Engine {
    /// Can start the next PDU at that time.
    Ready(Instant),
    /// The medium has a PDU and has not sent all of it.
    Sending,
    /// Waits for the CPU to start it.
    Stopped,
}

/// What the engine wants from its host.
#[derive(Debug)]
pub(crate) enum Want {
    /// Give this to the medium.
    Offer(Unit),
    /// Let the CPU start the engine.
    Start(Duration),
}

#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) config: AdapterConfig,
    pub(crate) counters: AdapterCounters,
    queue: VecDeque<(Instant, Message, Address)>,
    engine: Engine,
}

impl Adapter {
    pub(crate) const fn new(config: AdapterConfig) -> Self {
        Self {
            config,
            counters: AdapterCounters {
                sent: 0,
                received: 0,
                queue_full: 0,
                no_page: 0,
                queue_high_water: 0,
            },
            queue: VecDeque::new(),
            engine: match config.commands {
                Commands::Chained { .. } => Engine::Ready(Instant::ZERO),
                Commands::Single { .. } => Engine::Stopped,
            },
        }
    }

    /// The graph hands down a PDU that leaves it at `at`.
    pub(crate) fn submit(&mut self, at: Instant, data: Message, address: Address) {
        if self.queue.len() >= self.config.queue {
            self.counters.queue_full += 1;
            return;
        }
        // Several CPUs may submit; the queue is kept in order of time.
        let later = self
            .queue
            .iter()
            .rev()
            .take_while(|(queued, ..)| *queued > at)
            .count();
        self.queue
            .insert(self.queue.len() - later, (at, data, address));
        self.counters.queue_high_water = self.counters.queue_high_water.max(self.queue.len());
    }

    /// When the engine next has something to do by itself.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let &(at, ..) = self.queue.front()?;
        match self.engine {
            Engine::Ready(ready) => Some(at.max(ready)),
            Engine::Sending => None,
            Engine::Stopped => {
                matches!(self.config.commands, Commands::Single { .. }).then_some(at)
            }
        }
    }

    /// What the engine wants at `now`, if anything.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Want> {
        if self.next_deadline()? > now {
            return None;
        }
        if let (Engine::Stopped, Commands::Single { start }) = (self.engine, self.config.commands) {
            // Until the CPU comes round to it the engine counts as busy.
            self.engine = Engine::Sending;
            return Some(Want::Start(start));
        }
        let (_, mut data, address) = self.queue.pop_front()?;
        // What is on the medium no longer occupies this host's memory.
        data.set_lease(None);
        self.counters.sent += 1;
        self.engine = match self.config.commands {
            Commands::Chained { fetch } if fetch.is_zero() => Engine::Ready(now),
            Commands::Chained { .. } | Commands::Single { .. } => Engine::Sending,
        };
        Some(Want::Offer(Unit::Frame { data, address }))
    }

    /// The CPU has started the engine.
    pub(crate) const fn started(&mut self, at: Instant) {
        self.engine = Engine::Ready(at);
    }

    /// The medium has sent all of a PDU.
    pub(crate) fn sent(&mut self, now: Instant) {
        if self.engine == Engine::Sending {
            self.engine = match self.config.commands {
                Commands::Chained { fetch } => Engine::Ready(now + fetch),
                Commands::Single { .. } => Engine::Stopped,
            };
        }
    }
}
