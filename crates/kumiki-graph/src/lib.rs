//! Time, service primitives, the protocol graph, tasks, timers and accounting.

mod time;

pub use time::{Duration, Instant};
