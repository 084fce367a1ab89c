//! A stack in a process of its own, and programs attached to it by rings in shared memory.
//!
//! A [`StackServer`] gives programs of other processes a host's sockets. Each has memory that it shares with the
//! stack's process alone: a ring of commands, a ring of responses, and in both the data that goes with them, as in the
//! host interface of paper 2. What crosses are the primitives between sockets and TCP and UDP; the sockets themselves
//! are in the program's process, and they are [`TcpStream`](crate::TcpStream), [`TcpListener`](crate::TcpListener) and
//! [`UdpSocket`](crate::UdpSocket), or those of [`blocking`](crate::blocking), as over every other stack.
//!
//! ```no_run
//! use kumiki_net::TcpStream;
//! use kumiki_net::rings::RemoteStack;
//!
//! # async fn call() -> std::io::Result<()> {
//! let remote = RemoteStack::connect("/run/kumiki/stack")?;
//! let stream = remote.stack().scope(TcpStream::connect("10.9.0.1:80")).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What a program can do to others
//!
//! Nothing but what its sockets can. The stack's process reads each word of the shared memory once and checks it;
//! whoever writes there what no program of ours writes is cut off. A program that ends, in whatever way and in the
//! middle of whatever, is to its peers as a process that has ended is to Linux's: what it has written still goes, and
//! who has sent what it has not read is told by a reset. A linger of zero is not heeded then, for the stack does not
//! know of it.
//!
//! Where a process is killed while its ring is full, its last write may be lost, of 256 KiB at most: it had not got
//! that far.
//!
//! # Bounds
//!
//! [`Limits`] says how many programs there may be, and how much each may have: sockets, rings, and what waits for it
//! where it does not read these. All connections together are bounded by
//! [`HostConfig::memory`](crate::host::HostConfig::memory), as those of any host.
//!
//! # Waking
//!
//! Either side says in the shared memory that it sleeps, and is woken then by an octet on the Unix socket by which the
//! program has come. Not by an `eventfd`: both processes would have the same file, and with it whether a write to it
//! waits. A program could make the stack's wait for ever; the ends of a socket are two files.
//!
//! # What differs from a stack of one's own
//!
//! - `bind` and `listen` wait for the stack's process, some ten microseconds, in the thread that calls them. So a
//!   program and its stack cannot share a thread.
//! - A port is shared (`SO_REUSEPORT`) by TCP listeners of one program alone.
//! - There is no [`gateway`](crate::gateway), and no [`memory`](crate::Stack::memory).
//! - A process that forks shares its rings with its child; only one of them may use them after that.

mod client;
pub(crate) mod hello;
mod network;
pub(crate) mod primitives;
mod server;
#[cfg(test)]
mod tests;

pub use client::RemoteStack;
pub use server::{Limits, StackServer};

use kumiki_io::shared::ring::CONTROL;

/// Where in the shared memory the ring of responses begins, in words, if that of commands has so many for records.
const fn responses_at(capacity: usize) -> usize {
    CONTROL + capacity
}

/// How many words both rings have together.
const fn words(capacity: usize) -> usize {
    2 * (CONTROL + capacity)
}
