//! The names of turmoil-net 0.1, for programs and tests that were written for it: change the import, and they run over
//! a whole TCP/IP.
//!
//! | There | Here |
//! |---|---|
//! | `turmoil_net::shim::tokio::net` | [`shim`]: the sockets of this crate |
//! | `fixture::{lo, lo_with_config, ClientServer}` | the same, on a [`Net`] with the seed 0 |
//! | `rule`, `Rule`, `RuleGuard`, `Verdict`, `Latency`, `Packet`, `Transport` | the same; a rule is `Send` |
//! | `netstat`, `Netstat`, `NetstatEntry`, `NetstatState`, `Proto` | the same; `TIME-WAIT` is shown |
//! | `KernelConfig` | buffers, backlog and the number of retransmissions as they are; an MTU bounds TCP's segments |
//! | `Net::enter`, `egress_all`, `evaluate`, `deliver`, `set_current` | left out: the network moves by itself; use [`sim::Net`](super::Net) |
//!
//! # `tokio::spawn`
//!
//! In `lo`, where there is one host, tasks of `tokio::spawn` are on it. With several hosts nobody knows which of them
//! such a task is meant to be on: there a socket is made before the task is started, or the task by
//! [`sim::spawn`](super::spawn), or the task enters a [`Stack`](crate::Stack::enter). Otherwise `bind` and `connect`
//! say so (`Unsupported`), where turmoil-net takes the host that ran last.

use core::fmt;
use core::future::Future;
use core::net::{IpAddr, SocketAddr};
use core::pin::Pin;
use core::time::Duration;

use kumiki_inet::tcp;

pub use super::rules::Payload as Transport;
use super::{Host, Net};
pub use super::{Packet, Rule, RuleGuard, TcpFlags, TcpSegment, UdpDatagram, Verdict};
use crate::tcp::config::usual;

pub mod fixture;

/// The sockets, by the path that they have there.
pub mod shim {
    /// Of tokio.
    pub mod tokio {
        /// The sockets.
        pub mod net {
            pub use crate::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host, tcp};
        }
    }
}

/// What a host's TCP is like.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct KernelConfig {
    mtu: u32,
    send_buffer: usize,
    receive_buffer: usize,
    backlog: usize,
    retransmissions: u32,
}

impl Default for KernelConfig {
    fn default() -> Self {
        Self { mtu: 1500, send_buffer: 65_536, receive_buffer: 65_536, backlog: 1024, retransmissions: 5 }
    }
}

impl KernelConfig {
    /// What a packet of TCP can carry, headers included, in octets.
    pub const fn mtu(mut self, mtu: u32) -> Self {
        self.mtu = mtu;
        self
    }

    /// As [`KernelConfig::mtu`] of what a host sends to itself, which is not cut here: it does nothing.
    pub const fn loopback_mtu(self, _: u32) -> Self {
        self
    }

    /// The send buffer of TCP, in octets.
    pub const fn send_buf_cap(mut self, octets: usize) -> Self {
        self.send_buffer = octets;
        self
    }

    /// The receive buffer of TCP, in octets.
    pub const fn recv_buf_cap(mut self, octets: usize) -> Self {
        self.receive_buffer = octets;
        self
    }

    /// How many callers of a listener may wait to be accepted, where that does not say.
    pub const fn default_backlog(mut self, callers: usize) -> Self {
        self.backlog = callers;
        self
    }

    /// There: how many passes of its scheduler come before a retransmission. Here time decides about that: it does
    /// nothing.
    pub const fn retx_threshold(self, _: u32) -> Self {
        self
    }

    /// How often the same data is retransmitted before the connection is given up.
    pub const fn retx_max(mut self, times: u32) -> Self {
        self.retransmissions = times;
        self
    }

    /// As a TCP of ours has it: that of a fast network, so that few retransmissions take no long time.
    fn tcp(&self) -> tcp::Config {
        let mut config = usual();
        config.rto.minimum = kumiki_graph::Duration::from_millis(10);
        let octets = |octets: usize| u32::try_from(octets).unwrap_or(u32::MAX).clamp(1, 1 << 30);
        tcp::Config {
            send_buffer: octets(self.send_buffer),
            max_send_buffer: 0,
            receive_buffer: octets(self.receive_buffer),
            max_receive_buffer: 0,
            mss: Some(u16::try_from(self.mtu.saturating_sub(40).max(1)).unwrap_or(u16::MAX)),
            max_retransmissions: self.retransmissions,
            syn_retries: self.retransmissions,
            ..config
        }
    }
}

/// A rule that lets every packet arrive after the same time.
#[derive(Clone, Copy, Debug)]
pub struct Latency(Duration);

impl Latency {
    /// After this time.
    #[must_use]
    pub const fn fixed(delay: Duration) -> Self {
        Self(delay)
    }
}

impl Rule for Latency {
    fn on_packet(&mut self, _: &Packet) -> Verdict {
        Verdict::Deliver(self.0)
    }
}

/// Adds a rule to the network that runs; it ends with the guard.
///
/// # Panics
/// Outside of a network that runs.
pub fn rule(rule: impl Rule) -> RuleGuard {
    Net::current_or_panic().rule(rule)
}

/// Who a host is: its name, or an address of it.
pub trait ToIpAddr {
    /// As somebody has written it.
    fn written(&self) -> String;
}

impl ToIpAddr for str {
    fn written(&self) -> String {
        self.to_owned()
    }
}

impl ToIpAddr for String {
    fn written(&self) -> String {
        self.clone()
    }
}

impl ToIpAddr for IpAddr {
    fn written(&self) -> String {
        self.to_string()
    }
}

impl ToIpAddr for core::net::Ipv4Addr {
    fn written(&self) -> String {
        self.to_string()
    }
}

impl ToIpAddr for core::net::Ipv6Addr {
    fn written(&self) -> String {
        self.to_string()
    }
}

impl<T: ToIpAddr + ?Sized> ToIpAddr for &T {
    fn written(&self) -> String {
        (**self).written()
    }
}

/// The addresses of a name, or the address that was written.
///
/// # Panics
/// Outside of a network that runs.
#[must_use]
pub fn lookup_host(name: &str) -> Option<IpAddr> {
    if let Ok(ip) = name.parse() {
        return Some(ip);
    }
    Net::current_or_panic().find(name).and_then(|host| host.addresses().first().copied())
}

fn find(net: &Net, written: &str) -> Option<Host> {
    let by_address = |ip: IpAddr| net.hosts().into_iter().find(|host| host.addresses().contains(&ip));
    net.find(written).or_else(|| by_address(written.parse().ok()?))
}

/// What the sockets of a host are doing.
///
/// # Panics
/// Outside of a network that runs, and where it has no such host.
pub fn netstat(host: impl ToIpAddr) -> Netstat {
    let written = host.written();
    let Some(host) = find(&Net::current_or_panic(), &written) else {
        panic!("no host is called `{written}` or has that address");
    };
    let entries = host.netstat().0.into_iter().map(|it| NetstatEntry {
        proto: match it.transport {
            super::Transport::Tcp => Proto::Tcp,
            super::Transport::Udp => Proto::Udp,
        },
        recv_q: it.unread,
        local: it.local,
        peer: it.peer,
        state: it.state.and_then(NetstatState::named),
    });
    Netstat { entries: entries.collect() }
}

/// What the sockets of a host are doing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Netstat {
    /// One for each socket.
    pub entries: Vec<NetstatEntry>,
}

/// A socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetstatEntry {
    /// Of which transport.
    pub proto: Proto,
    /// Octets that have come and were not read; of a listener, connections that were not accepted.
    pub recv_q: usize,
    /// The local address.
    pub local: SocketAddr,
    /// The peer's.
    pub peer: Option<SocketAddr>,
    /// The state; UDP has none.
    pub state: Option<NetstatState>,
}

/// Which transport a socket is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proto {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// The states of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they are the RFC's")]
pub enum NetstatState {
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    LastAck,
    Closing,
    TimeWait,
}

impl NetstatState {
    const NAMES: [(&'static str, Self); 10] = [
        ("LISTEN", Self::Listen),
        ("SYN-SENT", Self::SynSent),
        ("SYN-RECEIVED", Self::SynReceived),
        ("ESTABLISHED", Self::Established),
        ("FIN-WAIT-1", Self::FinWait1),
        ("FIN-WAIT-2", Self::FinWait2),
        ("CLOSE-WAIT", Self::CloseWait),
        ("LAST-ACK", Self::LastAck),
        ("CLOSING", Self::Closing),
        ("TIME-WAIT", Self::TimeWait),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|it| it.0 == name).map(|it| it.1)
    }
}

impl fmt::Display for NetstatState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES.iter().find(|it| it.1 == *self).map_or("", |it| it.0))
    }
}

impl fmt::Display for Netstat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for it in &self.entries {
            let peer = it.peer.map_or_else(|| "*:*".to_owned(), |it| it.to_string());
            let state = it.state.map_or_else(String::new, |it| it.to_string());
            writeln!(f, "{:?} {} {} {peer} {state}", it.proto, it.recv_q, it.local)?;
        }
        Ok(())
    }
}

/// A program of a host.
type Program = Pin<Box<dyn Future<Output = ()>>>;
