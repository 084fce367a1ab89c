//! A socket that listens.

use core::fmt;
use core::future::poll_fn;
use core::net::SocketAddr;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;

use kumiki_graph::Quality;
use kumiki_wire::inet::IpQuality;

use super::TcpStream;
use crate::addr::Attempts;
use crate::io_shape::{OwnedSocket, Parts};
use crate::sockets::{Bound, Listener, Table, Terms};
use crate::{Stack, ToSocketAddrs};

/// A TCP socket that listens, as `tokio::net::TcpListener`.
///
/// Dropping it resets those that have called and were not accepted.
pub struct TcpListener(Parts);

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TcpListener");
        if let Ok(addr) = self.local_addr() {
            shown.field("addr", &addr);
        }
        shown.finish_non_exhaustive()
    }
}

impl TcpListener {
    /// Listens at the first of the addresses that can be had: who calls once it has returned is heard, on whatever
    /// thread the layers run. With port 0 a port is chosen; [`TcpListener::local_addr`] tells it.
    ///
    /// `[::]` takes callers of both versions of IP, and shows those of IPv4 with an address of IPv6
    /// (`::ffff:10.0.0.1`).
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable` where the host does not have the address; those of [`crate::lookup_host`].
    // It is as tokio's; no answer has to be waited for, as the table says who has an address and the layers hear of it
    // before any packet.
    #[expect(clippy::unused_async, reason = "as tokio's")]
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        let stack = Stack::current()?;
        let mut failed = Attempts::default();
        for local in addr.written().resolve(&stack)? {
            match Self::listen_at(&stack, local) {
                Ok(listener) => {
                    stack.0.driver().settle()?;
                    return Ok(listener);
                }
                Err(error) => failed.add(error),
            }
        }
        Err(failed.error())
    }

    fn listen_at(stack: &Stack, local: SocketAddr) -> io::Result<Self> {
        // As tokio's: an address may be taken again whose connections are still ending.
        let terms = Terms { reuse_address: true, ..Terms::default() };
        let (bound, backlog) =
            stack.0.with(|table| Ok::<_, io::Error>((table.bind_tcp(local, terms)?, table.backlog)))?;
        Self::listen(stack, bound, (Quality::default(), None), backlog)
    }

    /// Listens at an address that was taken, which is given back with the listener. Where the host is several stacks,
    /// all hear callers, and each has its part of the backlog. What was asked for holds for those that are accepted, as
    /// with Linux.
    pub(super) fn listen(
        stack: &Stack,
        bound: Bound,
        asked: (Quality, Option<Duration>),
        backlog: u32,
    ) -> io::Result<Self> {
        let stacks = u32::try_from(stack.others().len()).unwrap_or(u32::MAX).saturating_add(1);
        let mut of_part = bound;
        let parts = Parts::open(stack, |stack| {
            let handle = stack.0.with(|table| {
                let listens = table.listen(of_part, asked, backlog.div_ceil(stacks));
                listens.inspect_err(|_| table.unbind_tcp(of_part))
            })?;
            of_part = bound.part();
            Ok(handle)
        });
        parts.map(Self)
    }

    /// The next connection and its peer.
    ///
    /// Nothing is lost where the future is dropped.
    ///
    /// # Errors
    /// Those of the host: that it is gone.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// As [`TcpListener::accept`]; all who ask are woken when there is something.
    ///
    /// # Errors
    /// As there.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accepted = self.0.poll(cx, Table::accept, |table, handle, waker| {
            let (listener, effects) = table.listener(handle)?;
            listener.acceptors.register(waker, &mut effects.woken);
            Ok(())
        });
        accepted
            .map_ok(|(part, (handle, remote))| (TcpStream(OwnedSocket { stack: part.stack.clone(), handle }), remote))
    }

    fn of_first<T>(&self, look: impl FnOnce(&Listener) -> T) -> io::Result<T> {
        let part = self.0.first();
        part.with(|table| Ok(look(table.listener(part.handle)?.0)))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// None while the host is there.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.of_first(Listener::local)
    }

    /// The time to live of what connections accepted from here send.
    ///
    /// # Errors
    /// As [`TcpListener::local_addr`].
    pub fn ttl(&self) -> io::Result<u32> {
        self.of_first(|listener| super::stream::ttl_of(&listener.quality))
    }

    /// Sets it, for those that call from now on.
    ///
    /// # Errors
    /// `InvalidInput` where it is not 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        let ttl = crate::io_shape::ttl(ttl)?;
        self.0.all().try_for_each(|part| {
            part.with(|table| {
                let (listener, _) = table.listener(part.handle)?;
                let special = IpQuality { ttl: Some(ttl), ..listener.quality.special.into() };
                listener.quality.special = special.into();
                Ok(())
            })
        })
    }
}
