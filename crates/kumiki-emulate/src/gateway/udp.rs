//! One flow of datagrams: between an address of the program and one that it sends to.

use core::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;

use kumiki_net::host::{Refusal, UdpFlow};
use tokio::io::{Interest, Ready};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::Shared;
use super::buffer::Buffer;
use super::places::DNS;

/// A flow is over when nothing has come for so long (RFC 4787 section 4.3, REQ-5).
const IDLE: Duration = Duration::from_secs(120);

/// Of queries for names, each of which has a port of its own and one answer as a rule (the same, REQ-5 a).
const IDLE_NAMES: Duration = Duration::from_secs(10);

/// Serves `flow` until it is idle.
pub(super) async fn relay(flow: UdpFlow, shared: &Shared) {
    let Some(place) = shared.places.of(flow.destination()) else {
        flow.refuse(Refusal::PortUnreachable);
        return;
    };
    let idle = if place.port() == DNS { IDLE_NAMES } else { IDLE };
    match connect(place).await {
        Ok(host) => carry(flow, &host, idle, shared).await,
        Err(why) => flow.refuse(shared.refusal(&why)),
    }
}

async fn connect(place: SocketAddr) -> io::Result<UdpSocket> {
    let any = match place {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let host = UdpSocket::bind((any, 0)).await?;
    host.connect(place).await?;
    Ok(host)
}

/// What has happened.
enum Event {
    Sent(io::Result<(Buffer, usize)>),
    Answered(io::Result<Ready>),
}

/// What the host's socket was told by ICMP.
fn told(host: &UdpSocket) -> io::Result<()> {
    // Where it was nothing, it is waited for again.
    let nothing = || io::Error::from(io::ErrorKind::WouldBlock);
    let _ = host.try_io(Interest::ERROR, || Err::<(), _>(nothing()));
    host.take_error()?.map_or(Ok(()), Err)
}

/// Whether there is no flow any more: it was given up, or the stack has gone.
fn is_over(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::TimedOut | io::ErrorKind::QuotaExceeded | io::ErrorKind::NetworkDown)
}

/// The next datagram of the program, in a buffer that nobody has before, and how many octets that is.
async fn receive(flow: &UdpFlow) -> io::Result<(Buffer, usize)> {
    poll_fn(|cx| {
        let mut datagram = Buffer::take();
        let polled = flow.poll_recv(cx, &mut datagram);
        polled.map_ok(|octets| (datagram, octets))
    })
    .await
}

/// Hands on an answer of the host, if there is one.
async fn answer(flow: &UdpFlow, host: &UdpSocket) -> io::Result<()> {
    let mut datagram = Buffer::take();
    let octets = host.try_recv(&mut datagram)?;
    flow.send(datagram.get(..octets).unwrap_or_default()).await.map(drop)
}

async fn carry(flow: UdpFlow, host: &UdpSocket, idle: Duration, shared: &Shared) {
    loop {
        let next = async {
            tokio::select! {
                sent = receive(&flow) => Event::Sent(sent),
                ready = host.ready(Interest::READABLE | Interest::ERROR) => Event::Answered(ready),
            }
        };
        let done = match timeout(idle, next).await {
            Err(_) => return,
            Ok(Event::Sent(Ok((datagram, length)))) => {
                let sent = host.send(datagram.get(..length).unwrap_or_default()).await;
                shared.datagrams.fetch_add(1, Ordering::AcqRel);
                sent.map(drop)
            }
            Ok(Event::Sent(Err(why))) if is_over(&why) => return,
            // The program has said by ICMP that something did not arrive; the flow, and its port here, are as before.
            Ok(Event::Sent(Err(_))) => Ok(()),
            Ok(Event::Answered(Ok(ready))) if ready.is_error() => told(host),
            Ok(Event::Answered(Ok(_))) => answer(&flow, host).await,
            Ok(Event::Answered(Err(why))) => Err(why),
        };
        match done {
            // Nobody is there, which the host has been told of an earlier datagram: the program is told, and may try
            // again.
            Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => {
                flow.refuse(Refusal::PortUnreachable);
                return;
            }
            // Datagrams get lost where there is no room, or that are too long; so may these.
            _ => {}
        }
    }
}
