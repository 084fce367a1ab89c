//! Hosts: a graph, the CPUs that run its tasks, and the adapters below it.
//!
//! A CPU does one batch of a task at a time. What waits is chosen again each time the CPU comes free, by priority and
//! then by how long it has waited. An interrupt does not wait: it takes its time at once, and the batch that it
//! interrupts ends so much later. What that batch hands down is not moved, since the batch was computed when it began;
//! so an output can be early by the interrupts that came after its batch began, and all later work is not. Work takes
//! the time that the price lists say; with no prices set a host is infinitely fast.

use core::cmp::Reverse;
use std::collections::VecDeque;

use kumiki_graph::ledger::Holder;
use kumiki_graph::{
    DeviceId, Duration, Graph, Indication, Instant, Manage, Output, Pool, Report, Request, TaskId, Unit as UnitData,
};
use kumiki_link::Unit;

use crate::adapter::{Adapter, AdapterConfig, AdapterCounters, AdapterRequest, Notice};

/// How a task runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskConfig {
    /// The CPU it runs on; the last one where the host has fewer.
    pub cpu: usize,
    /// Higher runs first.
    pub priority: i32,
    /// How many inputs it handles before it settles and the CPU looks around again.
    pub batch: usize,
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self { cpu: 0, priority: 0, batch: 1 }
    }
}

/// What a CPU is like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuConfig {
    /// Its name in results.
    pub name: String,
    /// What changing from one task to another takes.
    pub switch: Duration,
}

/// What a CPU did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuCounters {
    /// Time in tasks, interrupts and switches.
    pub busy: Duration,
    /// Changes from one task to another.
    pub switches: u64,
    /// Interrupts taken.
    pub interrupts: u64,
}

/// In this order: what every step looks at lies together.
#[derive(Debug)]
#[repr(C)]
struct Cpu {
    free_at: Instant,
    /// When the last interrupt taken is over; the next one waits for it.
    interrupted_until: Instant,
    interrupts: VecDeque<(Instant, Duration, Interrupt)>,
    last: Option<TaskId>,
    counters: CpuCounters,
    config: CpuConfig,
}

/// What goes to the media, with its device.
type OutgoingUnits = VecDeque<(DeviceId, Unit)>;

/// Holds the pages of what has arrived: no session of a node is numbered so.
const ADAPTER: Holder = Holder(u64::MAX);

/// What an interrupt is for.
#[derive(Debug)]
enum Interrupt {
    Deliver(DeviceId, Indication),
    Start(DeviceId),
}

/// A host: see the module.
#[derive(Debug)]
pub struct Host {
    /// Its name in results.
    pub name: String,
    /// Its protocol graph.
    pub graph: Graph,
    cpus: Vec<Cpu>,
    tasks: Vec<(TaskConfig, Duration)>,
    adapters: Vec<Adapter>,
    /// The adapters that hold something to send, in order of number; a router has many, and most are idle.
    sending: Vec<usize>,
}

impl Host {
    /// A host with one CPU; `graph` must have its tasks, nodes and devices by now.
    #[must_use]
    pub fn new(name: &str, graph: Graph) -> Self {
        let tasks = graph.tasks().map(|_| (TaskConfig::default(), Duration::ZERO)).collect();
        let adapters = (0..graph.devices()).map(|_| Adapter::new(AdapterConfig::default())).collect();
        let mut host = Self { name: name.to_owned(), graph, cpus: Vec::new(), tasks, adapters, sending: Vec::new() };
        host.set_cpus(Vec::new());
        host
    }

    /// Gives the host these CPUs in place of those it has; one that is infinitely quick to switch where there are none.
    pub fn set_cpus(&mut self, mut cpus: Vec<CpuConfig>) {
        if cpus.is_empty() {
            cpus.push(CpuConfig { name: "cpu".to_owned(), switch: Duration::ZERO });
        }
        let cpu = |config| Cpu {
            free_at: Instant::ZERO,
            interrupted_until: Instant::ZERO,
            interrupts: VecDeque::new(),
            last: None,
            counters: CpuCounters::default(),
            config,
        };
        self.cpus = cpus.into_iter().map(cpu).collect();
    }

    /// Sets how `task` runs.
    pub fn set_task(&mut self, task: TaskId, config: TaskConfig) {
        if let Some((slot, _)) = self.tasks.get_mut(task.0) {
            *slot = config;
        }
    }

    /// Sets what the adapter of `device` is like.
    pub fn set_adapter(&mut self, device: DeviceId, config: AdapterConfig) {
        if let Some(adapter) = self.adapters.get_mut(device.0) {
            *adapter = Adapter::new(config);
        }
    }

    /// What each CPU did, by name.
    pub fn cpus(&self) -> impl Iterator<Item = (&str, CpuCounters)> {
        self.cpus.iter().map(|cpu| (cpu.config.name.as_str(), cpu.counters))
    }

    /// How long each task ran, by name.
    pub fn task_times(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.graph.tasks().zip(self.tasks.iter().map(|(_, busy)| *busy))
    }

    /// Nothing is plugged into `device`, or no medium that could say when it has sent a PDU: it has, at once.
    pub(crate) fn sent(&mut self, now: Instant, device: DeviceId) {
        if let Some(adapter) = self.adapters.get_mut(device.0) {
            adapter.sent(now);
        }
    }

    /// What each adapter did, by its device's name.
    pub fn adapters(&self) -> impl Iterator<Item = (&str, AdapterCounters)> {
        let counters = self.adapters.iter().map(|adapter| adapter.counters);
        self.graph.device_names().zip(counters)
    }

    /// What the adapter of `device` did.
    #[must_use]
    pub fn adapter(&self, device: DeviceId) -> AdapterCounters {
        self.adapters.get(device.0).map(|adapter| adapter.counters).unwrap_or_default()
    }

    /// The medium below `device` gives `unit` at `now`.
    pub(crate) fn receive(&mut self, now: Instant, device: DeviceId, unit: Unit) {
        let Some(adapter) = self.adapters.get_mut(device.0) else {
            return;
        };
        let (mut data, address) = match unit {
            Unit::Frame { data, address } => (data, address),
            Unit::Sent { .. } => return adapter.sent(now),
            Unit::Report(report) => return self.tell(now, device, Indication::Report(report)),
            Unit::Cells(_) | Unit::Cut { .. } | Unit::Arriving { .. } | Unit::Circuit(_) => return,
        };
        if let Some(ledger) = self.graph.ledger(Pool::Receive) {
            let Some(lease) = ledger.lease(ADAPTER) else {
                adapter.counters.no_page += 1;
                return;
            };
            data.set_lease(Some(&lease));
        }
        // What the sender knew of the octets' sums did not come over the medium; what the adapter has summed stays.
        let summed = data.meta().checksum;
        data.forget_sums();
        data.meta_mut().checksum = summed;
        adapter.counters.received += 1;
        let indication = Indication::Unit(Box::new(UnitData { source: address, ..UnitData::of(data) }));
        self.tell(now, device, indication);
    }

    /// Hands `indication` of `device` to the graph, as its adapter gives notice.
    fn tell(&mut self, now: Instant, device: DeviceId, indication: Indication) {
        let Some(adapter) = self.adapters.get(device.0) else {
            return;
        };
        match adapter.config.notice {
            Notice::Deferred => self.graph.input(now, device, indication),
            Notice::Interrupt { cost } => {
                let free = self.graph.has_free_messages() && self.graph.is_free(indication.message());
                let cost = if free { Duration::ZERO } else { cost };
                if let Some(cpu) = cpu_mut(&mut self.cpus, adapter.config.cpu) {
                    cpu.interrupts.push_back((now, cost, Interrupt::Deliver(device, indication)));
                }
            }
        }
    }

    /// Does all that can be done at `now`; what goes to the media is put into `out` with its device. Each round uses up
    /// one of `rounds`; where none is left, things are as they are. Returns [`Host::next_deadline`].
    pub(crate) fn step(&mut self, now: Instant, rounds: &mut u64, out: &mut OutgoingUnits) -> Option<Instant> {
        while let Some(left) = rounds.checked_sub(1) {
            *rounds = left;
            self.graph.fire(now);
            self.graph.pages_released(now);
            let polled = self.poll_adapters(now, out);
            let mut ran = false;
            for cpu in 0..self.cpus.len() {
                ran |= self.run_cpu(cpu, now, out);
            }
            if !polled && !ran {
                break;
            }
            // Who waits for a page has no deadline that would tell, nor has what an adapter has yet to take in.
            if !self.graph.has_ledgers() && self.sending.is_empty() {
                let next = self.next_deadline();
                if next.is_none_or(|at| at > now) {
                    return next;
                }
            }
        }
        self.next_deadline()
    }

    fn poll_adapters(&mut self, now: Instant, out: &mut OutgoingUnits) -> bool {
        let mut any = false;
        self.sending.retain(|&number| {
            let Some(adapter) = self.adapters.get_mut(number) else {
                return false;
            };
            let device = DeviceId(number);
            let dropped = adapter.counters.queue_full;
            while let Some(want) = adapter.poll(now) {
                any = true;
                match want {
                    AdapterRequest::Offer(unit) => out.push_back((device, unit)),
                    AdapterRequest::Start(cost) => {
                        if let Some(cpu) = cpu_mut(&mut self.cpus, adapter.config.cpu) {
                            cpu.interrupts.push_back((now, cost, Interrupt::Start(device)));
                        }
                    }
                }
            }
            any |= adapter.counters.queue_full != dropped;
            !adapter.is_empty()
        });
        any
    }

    /// Lets one CPU do the next thing, if there is one that it can do.
    fn run_cpu(&mut self, number: usize, now: Instant, out: &mut OutgoingUnits) -> bool {
        let Some(cpu) = self.cpus.get_mut(number) else {
            return false;
        };
        if cpu.interrupted_until <= now
            && let Some((_, cost, upon)) = cpu.interrupts.pop_front_if(|(at, ..)| *at <= now)
        {
            let done = now + cost;
            cpu.interrupted_until = done;
            cpu.free_at = cpu.free_at.max(now) + cost;
            cpu.counters.busy += cost;
            cpu.counters.interrupts += 1;
            match upon {
                Interrupt::Deliver(device, indication) => self.graph.input(done, device, indication),
                Interrupt::Start(device) => {
                    if let Some(adapter) = self.adapters.get_mut(device.0) {
                        adapter.started(done);
                    }
                }
            }
            return true;
        }
        if cpu.free_at > now {
            return false;
        }
        let Some(task) = self.next_task(number, now) else {
            return false;
        };
        self.run_task(number, task, now, out);
        true
    }

    /// The task of the CPU that runs next: the highest priority, then the one that has waited longest.
    fn next_task(&self, cpu: usize, now: Instant) -> Option<TaskId> {
        let waiting = |number: usize| self.graph.waiting(TaskId(number)).filter(|at| *at <= now);
        let last = self.cpus.len() - 1;
        self.tasks
            .iter()
            .enumerate()
            .filter(|(_, (config, _))| config.cpu.min(last) == cpu)
            .filter_map(|(number, (config, _))| Some((Reverse(config.priority), waiting(number)?, number)))
            .min()
            .map(|(_, _, number)| TaskId(number))
    }

    fn run_task(&mut self, number: usize, task: TaskId, now: Instant, out: &mut OutgoingUnits) {
        let (Some(cpu), Some((config, busy))) = (self.cpus.get_mut(number), self.tasks.get_mut(task.0)) else {
            return;
        };
        let mut start = now;
        // As though it had not run: neither the switch to it nor the one back costs anything.
        let free = self.graph.is_waiting_free(task);
        if cpu.last != Some(task) && !free {
            if cpu.last.is_some() {
                cpu.counters.switches += 1;
                start += cpu.config.switch;
            }
            cpu.last = Some(task);
        }
        let batch = if free { 1 } else { config.batch.max(1) };
        let ran = self.graph.run(task, start, batch);
        cpu.free_at = start + ran.took;
        cpu.counters.busy += cpu.free_at.saturating_since(now);
        *busy += ran.took;
        while let Some(output) = self.graph.output() {
            self.submit(output, now, out);
        }
    }

    fn submit(&mut self, output: Output, now: Instant, out: &mut OutgoingUnits) {
        let Output { device, at, request } = output;
        let Some(adapter) = self.adapters.get_mut(device.0) else {
            return;
        };
        match request {
            Request::Unit(mut unit) if adapter.passes(at, now) => {
                // What is on the medium no longer occupies this host's memory.
                unit.data.set_lease(None);
                let (data, address) = (unit.data, unit.destination);
                out.push_back((device, Unit::Frame { data, address }));
            }
            Request::Unit(unit) => {
                adapter.submit(at, unit.data, unit.destination);
                if let Err(place) = self.sending.binary_search(&device.0) {
                    self.sending.insert(place, device.0);
                }
            }
            Request::Manage(manage) => match *manage {
                Manage::Limits => {
                    let limits = Report::Limits { unit: adapter.config.mtu, burst: 1 };
                    self.graph.input(at, device, Indication::Report(Box::new(limits)));
                }
                // Like an interrupt's, its time is the beginning of the batch: what the adapter has yet to send does
                // not delay it.
                Manage::Special(what) => {
                    if let Some(call) = what.get() {
                        out.push_back((device, Unit::Circuit(*call)));
                    }
                }
                // A device knows no routes and can tell nobody anything.
                Manage::Route { .. }
                | Manage::Refuse { .. }
                | Manage::Session { .. }
                | Manage::Advise { .. }
                | Manage::Group { .. }
                | Manage::Narrow { .. } => {}
            },
            Request::Open(_)
            | Request::Accept(_)
            | Request::Data { .. }
            | Request::Special { .. }
            | Request::Expedited { .. }
            | Request::Credit { .. }
            | Request::Release { .. }
            | Request::Abort { .. }
            | Request::Cancel { .. }
            | Request::Reset { .. } => {}
        }
    }

    /// When the host next has something to do by itself.
    pub(crate) fn next_deadline(&mut self) -> Option<Instant> {
        let timer = self.graph.next_timer();
        let adapters = self.sending.iter().filter_map(|&number| self.adapters.get(number)?.next_deadline()).min();
        let interrupts =
            self.cpus.iter().filter_map(|cpu| Some(cpu.interrupts.front()?.0.max(cpu.interrupted_until))).min();
        let last = self.cpus.len() - 1;
        let tasks = self.tasks.iter().enumerate().filter_map(|(number, (config, _))| {
            let free_at = self.cpus.get(config.cpu.min(last))?.free_at;
            Some(self.graph.waiting(TaskId(number))?.max(free_at))
        });
        timer.into_iter().chain(adapters).chain(interrupts).chain(tasks).min()
    }
}

/// CPU `number`, or the last one where there are fewer.
fn cpu_mut(cpus: &mut [Cpu], number: usize) -> Option<&mut Cpu> {
    let last = cpus.len().checked_sub(1)?;
    cpus.get_mut(number.min(last))
}

#[cfg(test)]
mod tests;
