//! Time, service primitives, the protocol graph, tasks, timers, memory ledgers and accounting.
//!
//! | read | for |
//! |---|---|
//! | [`service`] | what crosses from layer to layer |
//! | [`Protocol`], [`Context`] | what a layer is, and all it can see and do |
//! | [`Graph`] | how layers are put together and run |
//! | [`encapsulation`] | what all layers with a header in front are |
//! | [`users`], [`sessions`] | what a node knows its users and its connections by |
//! | [`pipe`], [`loopback`] | two nodes that know no protocol |
//! | [`ledger`] | the memory of a modelled host |
//! | [`memory`] | the bound on what all sessions of a layer really hold |
//!
//! Nothing here knows a protocol, reads a clock or has randomness of its own.

pub mod account;
mod assembly;
mod context;
pub mod encapsulation;
mod graph;
mod graph_error;
pub mod ledger;
pub mod loopback;
pub mod memory;
pub mod pipe;
mod protocol;
mod rate;
mod rng;
pub mod service;
pub mod sessions;
mod time;
mod timers;
mod under_way;
pub mod users;

pub use account::{Account, Prices, Work};
pub use context::{Context, MustWait, Pool, TimerSlot};
pub use graph::{DeviceId, Graph, NodeId, Output, Standstill, Tapped, TaskId, TaskRun};
pub use graph_error::GraphError;
pub use kumiki_octets::{Address, AddressKind, AddressType};
pub use protocol::{Above, Below, Protocol, Shape, Token};
pub use rate::{Bucket, Rate};
pub use rng::Rng;
pub use service::{
    Accept, AccessPoint, Cause, Coalesce, Credit, ErrorControl, FlowControl, Handle, Indication, KeepAlive, Key,
    Manage, Membership, Mode, NoPath, Notice, Offered, Open, Opened, Parameters, PeerCause, Problem, Quality,
    RateLimit, Reason, Report, Request, Service, Special, Unit, UnitIndication, UnitOptions, UnitRequest, Violation,
};
pub use time::{Duration, Instant, Nanoseconds, OptionalTime};
pub use timers::{TimerId, Timers};
