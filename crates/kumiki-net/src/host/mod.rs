//! A TCP/IP of one's own in real time, on a device of this machine.
//!
//! A [`HostStack`] runs our layers on any [`RealDevice`] of `kumiki-io`, such as a [`Tun`], in a thread of its own;
//! sockets are used from any other, by any runtime. Linux's TCP at the other end of a TUN is the peer in the tests.
//!
//! ```no_run
//! use kumiki_net::host::{HostConfig, HostStack, Tun};
//! use kumiki_net::TcpListener;
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let tun = Tun::open("kumiki0", 1500)?;
//! tun.configure_kernel("10.9.0.1".parse()?, 24, 1500)?;          // Linux's end
//! let host = HostStack::start(Box::new(tun), &HostConfig::new(["10.9.0.2".parse()?]))?;
//! let listener = host.stack().scope(TcpListener::bind("10.9.0.2:80")).await?;
//! # Ok(())
//! # }
//! ```
//!
//! | Whose loop | Whose packets | |
//! |---|---|---|
//! | a thread of its own | a device's | [`HostStack`] |
//! | the user's | a device's | [`HostDriver`]: one descriptor to wait for, and a time |
//! | the user's | the user's, and so is the time | [`PacketStack`] |
//!
//! # Order
//!
//! What was asked of a socket holds for whatever comes from the device after that. So `bind` and `listen` have nothing
//! to wait for: who calls once they have returned is heard.
//!
//! # Where it ends
//!
//! Where the device fails or the thread panics, every socket says `NetworkDown`, with the reason as its text, and so
//! does [`HostStack::stop`] or [`HostDriver::poll`].
//!
//! # Several devices
//!
//! [`HostConfig::line`] says what is behind each; [`HostStack::start_on`] and [`HostDriver::new_on`] take as many.
//! Programs see one host: a listener at all addresses hears callers of each device, and what is sent goes where the
//! longest prefix leads. Nothing is passed on from one to another.
//!
//! # Several cores
//!
//! With [`HostConfig::queues`] a [`HostStack`] is several stacks, each with a thread and a queue of the device
//! ([`Tun::open_queues`]): programs see one host.
//!
mod config;
mod driver;
mod engine;
mod engines;
mod line;
mod packets;
mod queues;
mod thread;
mod watch;

pub use kumiki_io::{Frames, NullDevice, RealDevice, RemoteEnd, Tun, Udp};

pub use config::{HostConfig, Resolver};
pub use driver::HostDriver;
pub use kumiki_inet::tcp::{Recovering, Snapshot};
pub use packets::{Connection, PacketStack};
pub use thread::HostStack;

pub use crate::layers::Line;

pub use crate::gateway::{Flow, Gateway, GatewayConfig, Refusal, TcpOffer, UdpFlow};
