//! Real time: clocks, a coarse executor that polls late and in batches, links in memory, and captures for other tools.
//!
//! | read | for |
//! |---|---|
//! | [`clock`] | the only place that reads a clock, and how an executor waits |
//! | [`executor`] | graphs and media in real time, in one thread |
//! | [`memory_link`] | what joins executors of several threads |
//! | [`pcapng`] | captures |
//!
//! The same graphs run in virtual time; nothing in them knows which of the two clocks it is.

pub mod clock;
pub mod executor;
pub mod memory_link;
pub mod pcapng;

pub use clock::{Bell, Clock, ManualClock, RealClock};
pub use executor::{
    CannotStart, Counters, DeviceConfig, ElementId, Ended, Executor, GraphId, LinkId, Pace, Plug,
    Uneven,
};
pub use memory_link::{LinkCounters, LinkEnd, MemoryLink};
