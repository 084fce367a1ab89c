//! X.25 in real time: a switch between XOT, links of LAPB, and what else carries packets.
//!
//! | | |
//! |---|---|
//! | Graph | a [`Switch`](kumiki_x25::x25_switch::Switch) on an `x25` node for each port, and below that what carries it: `xot` on the operating system's TCP, `lapb` on an Ethernet or on frames in datagrams, `x25_iface` on a TUN device, or packets on a line |
//! | Configuration | a file in TOML, read as scenarios are: what is wrong is told with line, key, value and what would be right |
//! | Clock | [`kumiki_io::RealClock`] |
//! | Left out | changing the configuration while it runs; LAPB on a synchronous line of this machine |
//!
//! | read | for |
//! |---|---|
//! | [`config`] | the file |
//! | `callers` | who of those that call over XOT is taken, and for how long |
//! | `circuits` | whether the permanent circuits of the file can be |
//! | `ports` | a port's nodes and its device |
//! | [`switch`] | the run: a log of calls, an end in which they are cleared first |
#![cfg(target_os = "linux")]

mod callers;
mod circuits;
pub mod config;
#[cfg(test)]
mod crowd;
mod ports;
pub mod switch;
#[cfg(test)]
mod tests;

pub use config::{Config, parse};
pub use switch::{SwitchOptions, run};
