//! Sockets in the shape of those of `std::net`: what waits blocks its thread.
//!
//! They are those of the [stack](crate::Stack::current) that the thread has entered, or of the whole process
//! ([`Stack::set_default`](crate::Stack::set_default)), and somebody else must let its layers run: a
//! [`HostStack`](crate::host::HostStack), or another thread that drives it. In a simulation nothing can block, as time
//! and everything else stands still meanwhile: there they are refused.
//!
//! ```no_run
//! use std::io::{Read as _, Write as _};
//! use kumiki_net::blocking::TcpStream;
//!
//! # fn main() -> std::io::Result<()> {
//! # let host: kumiki_net::host::HostStack = todo!();
//! let _entered = host.stack().enter();
//! let mut stream = TcpStream::connect("10.9.0.1:80")?;
//! stream.write_all(b"hello")?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! # Ok(())
//! # }
//! ```
//!
//! # What differs from std's
//!
//! What differs from tokio's ([the crate](crate)); an address is what tokio's `ToSocketAddrs` takes, and names are
//! looked up by the stack. A read or write whose time is up is `WouldBlock`, as on Unix.

mod tcp;
mod udp;
mod wait;

pub use tcp::{Incoming, TcpListener, TcpStream};
pub use udp::UdpSocket;
