//! Adapters: what stands between a host's graph and a medium.
//!
//! Sending, a DMA engine takes one command after the other from a queue and gives the medium one PDU at a time.
//! *Chained*, it fetches the next command from memory itself; otherwise the CPU must start it each time, which
//! interrupts the CPU and costs its time. Receiving, an arrived PDU is charged to the host's receive memory and handed
//! to the graph, after an interrupt or by being found there.

use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_link::Unit;
use kumiki_octets::Message;

/// How the CPU starts the DMA engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commands {
    /// The engine finds the next command itself, this long after the last one is done.
    Chained {
        /// Time between the end of one PDU and the start of the next. Zero does not wait for the end: the medium is
        /// given all there is and queues it itself, so that it need not say when it has sent something.
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
    /// How many PDUs may wait to be sent, not counting the one that is being sent; more are dropped and counted. 0
    /// counts as 1, for each waits at least for an instant.
    pub queue: usize,
    /// The host's CPU that interrupts go to; the last one where it has fewer.
    pub cpu: usize,
}

impl Default for AdapterConfig {
    fn default() -> Self {
        Self {
            mtu: 9180,
            commands: Commands::Chained { fetch: Duration::ZERO },
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
    /// Needs the CPU to start it.
    Stopped,
    /// The CPU has been asked to start it and has not come round to it.
    Called,
}

/// What the engine wants from its host.
#[derive(Debug)]
pub(crate) enum AdapterRequest {
    /// Give this to the medium.
    Offer(Unit),
    /// Let the CPU start the engine.
    Start(Duration),
}

#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) config: AdapterConfig,
    pub(crate) counters: AdapterCounters,
    /// What the graph has handed down, in order of the time at which it leaves the graph: the work of a batch is known
    /// when the batch begins, but what it puts out reaches the queue later.
    coming: VecDeque<(Instant, Message, Address)>,
    queue: VecDeque<(Message, Address)>,
    engine: Engine,
}

impl Adapter {
    pub(crate) const fn new(config: AdapterConfig) -> Self {
        Self {
            config,
            counters: AdapterCounters { sent: 0, received: 0, queue_full: 0, no_page: 0, queue_high_water: 0 },
            coming: VecDeque::new(),
            queue: VecDeque::new(),
            engine: match config.commands {
                Commands::Chained { .. } => Engine::Ready(Instant::ZERO),
                Commands::Single { .. } => Engine::Stopped,
            },
        }
    }

    /// Whether a PDU that leaves the graph at `at` can go to the medium at `now` without waiting anywhere; it is
    /// counted as sent then, and [`Adapter::submit`] is not called for it.
    pub(crate) fn passes(&mut self, at: Instant, now: Instant) -> bool {
        let straight = at <= now
            && self.is_empty()
            && matches!(self.engine, Engine::Ready(ready) if ready <= now)
            && matches!(self.config.commands, Commands::Chained { fetch } if fetch.is_zero());
        if straight {
            self.engine = Engine::Ready(now);
            self.counters.sent += 1;
            self.counters.queue_high_water = self.counters.queue_high_water.max(1);
        }
        straight
    }

    /// The graph hands down a PDU that leaves it at `at`.
    pub(crate) fn submit(&mut self, at: Instant, data: Message, address: Address) {
        // Several CPUs may submit; what comes is kept in order of time.
        let later = self.coming.iter().rev().take_while(|(coming, ..)| *coming > at).count();
        self.coming.insert(self.coming.len() - later, (at, data, address));
    }

    /// Moves into the queue what has come by `now`, up to what the engine takes out again at once. Nothing leaves the
    /// queue without this having been done first, so it is as each PDU found it.
    fn admit(&mut self, now: Instant) {
        while self.queue.is_empty() || self.next_start().is_none_or(|start| start > now) {
            let Some((_, data, address)) = self.coming.pop_front_if(|(at, ..)| *at <= now) else {
                return;
            };
            if self.is_full() {
                self.counters.queue_full += 1;
                continue;
            }
            self.queue.push_back((data, address));
            self.counters.queue_high_water = self.counters.queue_high_water.max(self.queue.len());
        }
    }

    /// Whether there is nothing to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.coming.is_empty() && self.queue.is_empty()
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= self.config.queue.max(1)
    }

    /// When the adapter next has something to do by itself.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let coming = self.coming.front().map(|&(at, ..)| at);
        // What finds no room is dropped in time, for it may hold pages that somebody waits for.
        let drop = coming.filter(|_| self.is_full());
        self.next_start().into_iter().chain(drop).min()
    }

    /// When the engine can begin with the next PDU, or must ask for that.
    fn next_start(&self) -> Option<Instant> {
        let at = match self.coming.front() {
            _ if !self.queue.is_empty() => Instant::ZERO,
            Some(&(at, ..)) => at,
            None => return None,
        };
        match self.engine {
            Engine::Ready(ready) => Some(at.max(ready)),
            Engine::Stopped => Some(at),
            Engine::Sending | Engine::Called => None,
        }
    }

    /// What the engine wants at `now`, if anything.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<AdapterRequest> {
        self.admit(now);
        if self.queue.is_empty() || self.next_start()? > now {
            return None;
        }
        if let (Engine::Stopped, Commands::Single { start }) = (self.engine, self.config.commands) {
            self.engine = Engine::Called;
            return Some(AdapterRequest::Start(start));
        }
        let (mut data, address) = self.queue.pop_front()?;
        // What is on the medium no longer occupies this host's memory.
        data.set_lease(None);
        self.counters.sent += 1;
        self.engine = match self.config.commands {
            Commands::Chained { fetch } if fetch.is_zero() => Engine::Ready(now),
            Commands::Chained { .. } | Commands::Single { .. } => Engine::Sending,
        };
        Some(AdapterRequest::Offer(Unit::Frame { data, address }))
    }

    /// The CPU has started the engine.
    pub(crate) const fn started(&mut self, at: Instant) {
        self.engine = Engine::Ready(at);
    }

    /// The medium has sent all of a PDU.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.admit(now);
        if self.engine == Engine::Sending {
            self.engine = match self.config.commands {
                Commands::Chained { fetch } => Engine::Ready(now + fetch),
                Commands::Single { .. } => Engine::Stopped,
            };
        }
    }
}

#[cfg(test)]
mod tests;
