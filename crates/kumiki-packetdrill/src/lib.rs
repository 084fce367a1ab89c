//! Our sockets in virtual time, as a shared object that packetdrill tests.
//!
//! | | |
//! |---|---|
//! | Specification | the table of functions that packetdrill has its system calls, its network device and its clock from (`--so_filename`) |
//! | Above | packetdrill, which reads a script, makes its calls and judges packets |
//! | Below | a [`PacketStack`](kumiki_net::host::PacketStack) of `kumiki-net`, whose packets and time are its user's |
//! | Left out | pipes and `splice`, the error queue, edge-triggered epoll, UDP, TCP Fast Open, `connect` that dissolves a connection |
//!
//! How it is used, and what passes: `docs/packetdrill.md`. Read `clock` first: how time passes while a call waits.
//!
//! packetdrill is under the GPL, and nothing of it is here: it is the program that loads this.

#![cfg(target_os = "linux")]

mod adapter;
mod calls;
mod clock;
mod descriptor;
mod flags;
mod info;
mod interface;
mod memory;
mod options;
mod readiness;
mod sockaddr;
#[cfg(test)]
mod tests;
