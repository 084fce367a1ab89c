//! Virtual time: the world, its hosts, and what the hosts' hardware costs.
//!
//! | read | for |
//! |---|---|
//! | [`World`] | hosts and media joined by plugs, and one event queue |
//! | [`Host`] | CPUs, tasks, interrupts |
//! | [`AdapterConfig`] | DMA engines with or without chained commands; interrupts or deferred notice |
//! | `kumiki_graph::ledger` | the pages of a modelled board |
//!
//! Nothing here knows a protocol. Nothing reads a clock: time is the time of the event being handled.

mod adapter;
mod clock;
mod host;
mod queue;
#[cfg(test)]
mod testing;
mod world;

pub use adapter::{AdapterConfig, AdapterCounters, Commands, Notice};
pub use host::{CpuConfig, CpuCounters, Host, TaskConfig};
pub use world::{ElementId, HostId, Plug, ROUNDS, Standstill, World};
