//! Real time: clocks, an executor that works in batches, devices of the machine, links in memory, and captures for
//! other tools.
//!
//! | read | for |
//! |---|---|
//! | [`admission`] | which callers of a server are taken, and whose passwords are answered |
//! | [`allocator`] | one arena for all threads, where address space is bounded |
//! | [`clock`] | the only place that reads a clock, and how an executor waits |
//! | [`executor`] | graphs and media in real time, in one thread |
//! | [`device`] | what the executor needs of a device of the machine |
//! | [`mod@line`] | octets to and from terminals, sockets, programs and the standard streams |
//! | [`records`] | frames on a line that carries octets |
//! | `frames` | frames on Unix sockets, as virtual machines exchange them (Linux only) |
//! | [`stream`] | the octets of a connection of the operating system |
//! | `shared` | memory of two processes, and rings of records in it (Linux only) |
//! | `sockets` | many of them as one device: calls, callers, credit (Linux only) |
//! | [`tun`] | TUN and TAP devices: packets and Ethernet frames to and from the kernel (Linux only) |
//! | [`udp`] | a UDP socket as a device: datagrams to and from other processes |
//! | `watching` | what an executor waits for, as one descriptor (Linux only) |
//! | [`memory_link`] | what joins executors of several threads |
//! | [`signal`] | Ctrl-C |
//! | [`prompt`] | what is typed and not shown |
//! | [`priority`] | running ahead of other programs, where lateness is what counts |
//!
//! The same graphs run in virtual time; nothing in them knows which of the two clocks it is.

pub mod admission;
pub mod allocator;
pub mod clock;
pub mod device;
pub mod executor;
#[cfg(target_os = "linux")]
pub mod frames;
pub mod line;
pub mod memory_link;
#[cfg(target_os = "linux")]
pub mod namespace;
pub mod priority;
pub mod prompt;
pub mod records;
#[cfg(target_os = "linux")]
pub mod shared;
pub mod signal;
#[cfg(target_os = "linux")]
pub mod sockets;
pub mod stream;
#[cfg(target_os = "linux")]
pub mod tun;
pub mod udp;
#[cfg(target_os = "linux")]
pub mod watching;

pub use clock::{Bell, Clock, ManualClock, RealClock, Watch, cpu_time, unguessable};
pub use device::{Arrival, Descriptors, NullDevice, RealCounters, RealDevice, Sent};
pub use executor::{
    CannotStart, Counters, DeviceConfig, ElementId, Executor, ExecutorEnd, Failure, GraphId, LinkId, Pace, Plug,
    RealId, Uneven,
};
#[cfg(target_os = "linux")]
pub use frames::Frames;
pub use line::{Console, Line, LineError, Opening, ProgramEnd};
pub use memory_link::{LinkCounters, LinkEnd, MemoryLink};
pub use records::Records;
pub use signal::{Hangup, ShutdownRequest, hear_of_long_files};
#[cfg(target_os = "linux")]
pub use sockets::{Sockets, SocketsConfig, SocketsCounters, SocketsError};
pub use stream::Stream;
#[cfg(target_os = "linux")]
pub use tun::{KernelEnd, Packets, Tun, TunConfig, TunError};
pub use udp::{RemoteEnd, Udp, UdpError};
#[cfg(target_os = "linux")]
pub use watching::Watching;
