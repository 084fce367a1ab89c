//! tokio's sockets over a TCP/IP of our own.
//!
//! [`TcpListener`], [`TcpStream`], [`TcpSocket`] and [`UdpSocket`] have the methods, the traits and the kinds of errors
//! of those of `tokio::net`, but below them is Kumiki's TCP/IP: congestion control, retransmission timers, reassembly,
//! path MTU, as on a host. In [`sim`] it runs in virtual time, over a network that repeats to the octet.
//!
#![cfg_attr(feature = "sim", doc = "```")]
#![cfg_attr(not(feature = "sim"), doc = "```ignore")]
//! use kumiki_net::sim::Net;
//! use kumiki_net::{TcpListener, TcpStream};
//! use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
//!
//! let net = Net::new(7);                                  // the seed
//! net.host("server").start(|| async {
//!     let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
//!     loop {
//!         let (mut stream, _) = listener.accept().await.unwrap();
//!         kumiki_net::sim::spawn(async move {
//!             let (mut from, mut to) = stream.split();
//!             let _ = tokio::io::copy(&mut from, &mut to).await;
//!         });
//!     }
//! });
//! let answer = net.host("client").run(async {
//!     let mut stream = TcpStream::connect("server:80").await?;
//!     stream.write_all(b"hello").await?;
//!     let mut answer = [0; 5];
//!     stream.read_exact(&mut answer).await?;
//!     std::io::Result::Ok(answer)
//! });
//! assert_eq!(&answer??, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In real time it runs on a device of this machine, in a thread or in a loop of the user's: the feature `host`, module `host` (Linux only). For
//! threads there are sockets in the shape of std's there, too: module `blocking`.
//!
//! QUIC runs over its [`UdpSocket`]: with the feature `quinn` there is a module `quinn`, with `noq` one for that. With `tonic`, [`TcpStream`] is what tonic's
//! `Server::serve_with_incoming` takes.
//!
//! # What differs from tokio's
//!
//! - A socket is ready where a read or write would not wait. tokio remembers what the system last told it, so it may say so where there is
//!   nothing, and say nothing of an error of a datagram to who waits to read.
//! - An unconnected UDP socket that is to send to nobody says `NotConnected`; Linux's error for that has no kind.
//! - A linger of some time is remembered, and does not block: what was written goes after the socket is dropped.
//! - A host of a simulation has one line; in real time it may have several, and none has a name.
//!
//! # Left out
//!
//! `from_std`, `into_std` and file descriptors: there is no socket of the operating system below. Devices (`SO_BINDTODEVICE`); membership
//! by source (IGMP version 3).

#![cfg_attr(not(feature = "sim"), expect(dead_code, unused_imports, reason = "what only netstat looks at"))]

#[cfg(test)]
extern crate self as kumiki_net;

mod addr;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod blocking;
pub mod gateway;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod host;
mod io_shape;
#[cfg(any(feature = "sim", feature = "host"))]
mod layers;
mod network;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(any(feature = "quinn", feature = "noq"))]
mod quic;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod rings;
#[cfg(feature = "sim")]
pub mod sim;
mod sockets;
mod stack;
pub mod tcp;
#[cfg(feature = "tonic")]
mod tonic;
mod udp;

pub use kumiki_wire::inet::Sharing;

pub use addr::{ToSocketAddrs, lookup_host};
pub use gateway::{Flow, Gateway, GatewayConfig, Refusal, TcpOffer, UdpFlow};
pub use network::{Network, NetworkAddress, NetworkRoute, StackLine};
pub use sockets::SocketCounts;
#[cfg(all(feature = "host", target_os = "linux"))]
pub use stack::MemoryUse;
pub use stack::{Stack, StackGuard};
#[doc(inline)]
pub use tcp::{TcpListener, TcpSocket, TcpStream};
pub use udp::{DatagramMeta, UdpSocket};
