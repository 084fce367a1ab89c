//! A host for which every destination address is its own: proxies, sandboxes, NAT in user space.
//!
//! A [`Gateway`] is asked about each connection before its SYN is answered, whatever address and port it is for, and
//! about the first datagram between any two UDP sockets. Linux has the parts of this by the names of AnyIP (a local
//! route to everything) and `IP_TRANSPARENT`. What a listener or UDP socket of the same host has bound goes to that
//! one. Groups of hosts are left out.
//!
//! # Bounds
//!
//! [`GatewayConfig`] says how much may wait. Calls beyond that are dropped, and come again; a flow of UDP takes the
//! place of the one that was idle for the longest time. The memory of all connections is bounded by
//! [`memory`](kumiki_inet::tcp::Config::memory) of TCP: where it is spent, new ones are reset. That of UDP is apart
//! from it, unless `HostConfig::memory` bounds both.

use core::future::poll_fn;
use core::net::SocketAddr;
use core::task::{Context, Poll};
use std::io;

use kumiki_graph::{Duration, Quality};

use crate::io_shape::{OwnedSocket, Parts};
use crate::sockets::{Answer, Unreachable};
use crate::{Stack, TcpStream};

/// How much a [`Gateway`] keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// Calls that may wait to be answered; 1024 unless it is set. Whoever calls then is not heard, and calls again.
    pub offers: usize,
    /// Flows of UDP at one time: 4096.
    pub flows: usize,
    /// What may wait in one flow, in octets, with 256 for each datagram: 212,992. What comes then is dropped.
    pub queue: usize,
    /// What may wait in all flows, counted so: 16 MiB.
    pub memory: usize,
    /// How long nothing may come or go before a flow is given up: five minutes. Two at least (RFC 4787, REQ-5).
    pub idle: Duration,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self { offers: 1024, flows: 4096, queue: 212_992, memory: 16 << 20, idle: Duration::from_secs(300) }
    }
}

impl Stack {
    /// Its gateway; one at a time.
    ///
    /// # Errors
    /// `InvalidInput` where the host does not take what is for all addresses, `AddrInUse` where somebody has its
    /// gateway.
    pub fn gateway(&self) -> io::Result<Gateway> {
        self.gateway_with(GatewayConfig::default())
    }

    /// As [`Stack::gateway`], with other bounds.
    ///
    /// # Errors
    /// As there.
    pub fn gateway_with(&self, config: GatewayConfig) -> io::Result<Gateway> {
        let stacks = self.others().len() + 1;
        let part = |most: usize| most.div_ceil(stacks);
        let (offers, flows, memory) = (part(config.offers), part(config.flows), part(config.memory));
        let of_each = GatewayConfig { offers, flows, memory, ..config };
        Parts::open(self, |stack| stack.0.with(|table| table.open_gateway(of_each))).map(Gateway)
    }
}

/// Who is asked about what comes for any address: see the [module](self). Dropping it refuses what nobody has taken,
/// and what comes from then on; what was taken goes on.
#[derive(Debug)]
pub struct Gateway(Parts);

/// What has come.
#[derive(Debug)]
pub enum Flow {
    /// Somebody calls.
    Tcp(TcpOffer),
    /// Somebody has sent a datagram.
    Udp(UdpFlow),
}

impl Gateway {
    /// The next that comes. Nothing is lost where the future is dropped.
    ///
    /// # Errors
    /// That the host is gone.
    pub async fn accept_any(&mut self) -> io::Result<Flow> {
        poll_fn(|cx| self.poll_accept_any(cx)).await
    }

    /// As [`Gateway::accept_any`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_accept_any(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Flow>> {
        let accepted = self.0.poll(cx, |table, _| table.accept_any(), |table, _, waker| table.wait_for_any(waker));
        accepted.map(|accepted| {
            let (part, (handle, is_udp)) = accepted?;
            let owned = OwnedSocket { stack: part.stack.clone(), handle };
            let ends = owned.with(|table| {
                if is_udp {
                    table.flow(handle).map(|(it, _)| (it.source, it.destination))
                } else {
                    table.offer(handle).map(|(it, _)| (it.source, it.destination))
                }
            });
            let (source, destination) = ends?;
            let common = Common { owned, source, destination };
            Ok(if is_udp { Flow::Udp(UdpFlow(common)) } else { Flow::Tcp(TcpOffer(common)) })
        })
    }
}

#[derive(Debug)]
struct Common {
    owned: OwnedSocket,
    source: SocketAddr,
    destination: SocketAddr,
}

/// A SYN that nobody has answered; where it comes again, it is the same offer. Dropping it resets the caller.
#[derive(Debug)]
pub struct TcpOffer(Common);

impl TcpOffer {
    /// Who calls.
    #[must_use]
    pub const fn source(&self) -> SocketAddr {
        self.0.source
    }

    /// Whom it calls.
    #[must_use]
    pub const fn destination(&self) -> SocketAddr {
        self.0.destination
    }

    /// Waits until the caller has gone; never over where it does not say so, as most do not.
    pub async fn withdrawn(&self) {
        let handle = self.0.owned.handle;
        let gone = poll_fn(|cx| {
            self.0.owned.poll(
                cx,
                |table| match table.offer(handle)?.0.is_withdrawn {
                    true => Ok(()),
                    false => Err(io::ErrorKind::WouldBlock.into()),
                },
                |table, waker| {
                    let (offer, effects) = table.offer(handle)?;
                    offer.waiting.register(waker, &mut effects.woken);
                    Ok(())
                },
            )
        });
        // With its host the caller's call is gone, too.
        let _ = gone.await;
    }

    /// Answers it. The connection's own address is the one that was called; what is written goes when the handshake is
    /// done.
    ///
    /// # Errors
    /// `ConnectionReset` where the caller has gone, `NetworkDown` where the host has.
    pub fn accept(self) -> io::Result<TcpStream> {
        let Common { owned, .. } = self.0;
        let handle = owned.with(|table| table.accept_offer(owned.handle, Quality::default()))?;
        Ok(TcpStream::of(OwnedSocket { stack: owned.stack.clone(), handle }))
    }

    /// Refuses it.
    pub fn refuse(self, why: Refusal) {
        let owned = &self.0.owned;
        owned.with(|table| table.refuse_offer(owned.handle, why.into()));
    }
}

/// How somebody is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// By a reset: nobody listens (Linux's `ECONNREFUSED`). A flow of UDP gets [`Refusal::PortUnreachable`].
    Reset,
    /// By ICMP: no route (`ENETUNREACH`).
    NetworkUnreachable,
    /// By ICMP: nobody answers there (`EHOSTUNREACH`).
    HostUnreachable,
    /// By ICMP: nobody has the port (`ECONNREFUSED`).
    PortUnreachable,
    /// By ICMP: not allowed (`EHOSTUNREACH`; over IPv6 `EACCES`).
    Prohibited,
    /// By nothing. A call comes again then, and is another offer.
    Silent,
}

impl From<Refusal> for Answer {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::Reset => Self::Reset,
            Refusal::NetworkUnreachable => Self::Unreachable(Unreachable::Network),
            Refusal::HostUnreachable => Self::Unreachable(Unreachable::Host),
            Refusal::PortUnreachable => Self::Unreachable(Unreachable::Port),
            Refusal::Prohibited => Self::Unreachable(Unreachable::Prohibited),
            Refusal::Silent => Self::Silence,
        }
    }
}

impl From<&io::Error> for Refusal {
    /// What lets a caller see the error that we met in its place. One that is ours alone is a reset.
    fn from(error: &io::Error) -> Self {
        let kind = error.kind();
        if matches!(kind, io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown) {
            Self::NetworkUnreachable
        } else if matches!(kind, io::ErrorKind::HostUnreachable | io::ErrorKind::TimedOut) {
            Self::HostUnreachable
        } else if kind == io::ErrorKind::PermissionDenied {
            Self::Prohibited
        } else {
            Self::Reset
        }
    }
}

/// What goes to and fro between a UDP socket and the one that it sent to. Dropping it forgets it: what comes next is
/// another flow.
#[derive(Debug)]
pub struct UdpFlow(Common);

impl UdpFlow {
    /// Who sends.
    #[must_use]
    pub const fn source(&self) -> SocketAddr {
        self.0.source
    }

    /// To whom.
    #[must_use]
    pub const fn destination(&self) -> SocketAddr {
        self.0.destination
    }

    /// The next datagram; of a longer one than `buffer` the rest is lost.
    ///
    /// # Errors
    /// `TimedOut` where nothing came or went for too long, `QuotaExceeded` where it was given up for another, and what
    /// ICMP says of what was sent.
    pub async fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_recv(cx, buffer)).await
    }

    /// As [`UdpFlow::recv`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_recv(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let handle = self.0.owned.handle;
        self.0.owned.poll(
            cx,
            |table| table.receive_flow(handle, buffer),
            |table, waker| {
                let (flow, effects) = table.flow(handle)?;
                flow.readers.register(waker, &mut effects.woken);
                Ok(())
            },
        )
    }

    /// Answers, from the address that was sent to. It never waits: where the layers have not taken 512 datagrams that
    /// were sent, it is lost.
    ///
    /// # Errors
    /// As [`UdpFlow::try_send`].
    #[expect(clippy::unused_async, reason = "as tokio's")]
    pub async fn send(&self, octets: &[u8]) -> io::Result<usize> {
        self.try_send(octets)
    }

    /// As [`UdpFlow::send`].
    ///
    /// # Errors
    /// Where it is longer than a datagram can be, and `NetworkDown` where the host is gone.
    pub fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        self.0.owned.with(|table| table.send_flow(self.0.owned.handle, octets))
    }

    /// Refuses it: the first datagram is answered so, and what comes next is another flow.
    pub fn refuse(self, why: Refusal) {
        let owned = &self.0.owned;
        owned.with(|table| table.refuse_flow(owned.handle, why.into()));
    }
}
