//! UDP sockets, in the shape of `tokio::net::UdpSocket`.

use core::fmt;
use core::future::poll_fn;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::task::{Context, Poll};
use std::io;

use bytes::BufMut;
use tokio::io::{Interest, ReadBuf, Ready};

use crate::addr::Attempts;
use crate::io_shape::{OwnedSocket, octet, of_interest, room, some};
use crate::sockets::error::Errno;
use crate::sockets::{Arrived, Datagrams};
use crate::{Sharing, Stack, ToSocketAddrs};

/// A UDP socket, as `tokio::net::UdpSocket`.
pub struct UdpSocket(pub(crate) OwnedSocket);

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("UdpSocket");
        if let Ok(addr) = self.local_addr() {
            shown.field("addr", &addr);
        }
        shown.finish_non_exhaustive()
    }
}

/// What is known of a datagram that has come, besides its octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramMeta {
    /// Who sent it.
    pub from: SocketAddr,
    /// The address of ours that it was for.
    pub to: IpAddr,
    /// Its congestion marks (RFC 3168 section 5): 0 to 3, where 3 is "congestion experienced".
    pub ecn: u8,
    /// How many octets it had, also where fewer found room.
    pub len: usize,
}

/// Puts as much of a datagram into `buf` as fits; the rest is lost, as with every socket of UDP.
fn put(buf: &mut ReadBuf<'_>, arrived: &Arrived) -> usize {
    let n = buf.remaining().min(arrived.data.len());
    arrived.data.for_each_in(0, n, |octets| buf.put_slice(octets));
    n
}

/// As [`put`].
fn put_buf<B: BufMut>(buf: &mut B, arrived: &Arrived) -> usize {
    let n = room(buf).min(arrived.data.len());
    arrived.data.for_each_in(0, n, |octets| buf.put_slice(octets));
    n
}

impl UdpSocket {
    /// Takes the first of the addresses that can be had. With port 0 a port is chosen. `[::]` takes datagrams of both
    /// versions of IP.
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`; those of [`crate::lookup_host`].
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        Self::bind_shared(addr, Sharing::Alone).await
    }

    /// As [`UdpSocket::bind`], at an address that others may have too who say the same of it. What comes for it goes to
    /// one of them, as `sharing` says; of what comes for a group of hosts each gets a copy.
    ///
    /// # Errors
    /// As there.
    // It is as `bind`; no answer has to be waited for.
    #[expect(clippy::unused_async, reason = "as `bind`")]
    pub async fn bind_shared<A: ToSocketAddrs>(addr: A, sharing: Sharing) -> io::Result<Self> {
        let stack = Stack::current()?;
        let mut failed = Attempts::default();
        for local in addr.written().resolve(&stack)? {
            match stack.0.with(|table| table.bind_udp(local, sharing)) {
                Ok(handle) => {
                    let socket = Self(OwnedSocket { stack: stack.clone(), handle });
                    stack.0.driver().settle()?;
                    return Ok(socket);
                }
                Err(error) => failed.add(error),
            }
        }
        Err(failed.error())
    }

    /// Our own address. Once connected it is the one by which the peer is reached.
    ///
    /// # Errors
    /// None while the host is there.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.with(|table| {
            let (socket, _) = table.datagrams(self.0.handle)?;
            let (local, remote, is_v6, own) = (socket.local(), socket.remote, socket.is_v6(), socket.own);
            Ok(match remote {
                Some(remote) if local.ip().is_unspecified() => {
                    let own = own.unwrap_or_else(|| table.source_for(remote.ip()));
                    let shown =
                        if let (IpAddr::V4(own), true) = (own, is_v6) { own.to_ipv6_mapped().into() } else { own };
                    SocketAddr::new(shown, local.port())
                }
                _ => local,
            })
        })
    }

    /// Whom it is connected to.
    ///
    /// # Errors
    /// `NotConnected` where it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.with(|table| {
            let (socket, _) = table.datagrams(self.0.handle)?;
            socket.remote.map(|remote| socket.shown(remote)).ok_or_else(|| io::ErrorKind::NotConnected.into())
        })
    }

    /// Sends to the first of the addresses that can be from now on, and takes only what comes from there.
    ///
    /// # Errors
    /// Those of [`crate::lookup_host`].
    // It is as tokio's; no answer has to be waited for.
    #[expect(clippy::unused_async, reason = "as tokio's")]
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        let mut failed = Attempts::default();
        for remote in addr.written().resolve(&self.0.stack)? {
            match self.0.with(|table| table.connect_udp(self.0.handle, remote)) {
                Ok(()) => return Ok(()),
                Err(error) => failed.add(error),
            }
        }
        Err(failed.error())
    }

    // Sending: there is room until the layers have been too slow to take much; what finds none after that is lost in
    // any case.

    /// Sends a datagram to the peer.
    ///
    /// # Errors
    /// `NotConnected`; what a datagram sent before has met, such as `ConnectionRefused`; the system's "message too
    /// long" (of Linux `EMSGSIZE`) where it is too long.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_send(cx, buf)).await
    }

    /// As [`UdpSocket::send`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send_from(cx, buf, None)
    }

    fn poll_send_from(&self, cx: &mut Context<'_>, buf: &[u8], to: Option<SocketAddr>) -> Poll<io::Result<usize>> {
        let handle = self.0.handle;
        self.0.poll(
            cx,
            |table| table.send_udp(handle, buf, to, (None, None)),
            |table, waker| {
                let (socket, effects) = table.datagrams(handle)?;
                socket.wait_to_write(waker, effects);
                Ok(())
            },
        )
    }

    /// As [`UdpSocket::send`].
    ///
    /// # Errors
    /// As there.
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.send_from(buf, None)
    }

    fn send_from(&self, buf: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        self.0.with(|table| table.send_udp(self.0.handle, buf, to, (None, None)))
    }

    /// Sends a datagram to the first of the addresses.
    ///
    /// # Errors
    /// As [`UdpSocket::send`]; those of [`crate::lookup_host`].
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let addresses = addr.written().resolve(&self.0.stack)?;
        poll_fn(|cx| self.poll_send_from(cx, buf, addresses.first().copied())).await
    }

    /// As [`UdpSocket::send_to`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_send_to(&self, cx: &mut Context<'_>, buf: &[u8], target: SocketAddr) -> Poll<io::Result<usize>> {
        self.poll_send_from(cx, buf, Some(target))
    }

    /// As [`UdpSocket::send_to`].
    ///
    /// # Errors
    /// As there.
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.send_from(buf, Some(target))
    }

    // Receiving.

    fn try_take<T>(&self, is_peek: bool, take: impl FnOnce(&Arrived) -> T) -> io::Result<T> {
        self.0.with(|table| {
            let (socket, effects) = table.datagrams(self.0.handle)?;
            socket.read(is_peek, take, effects)
        })
    }

    fn poll_take<T>(
        &self,
        cx: &mut Context<'_>,
        is_peek: bool,
        take: impl FnOnce(&Arrived) -> T,
    ) -> Poll<io::Result<T>> {
        let handle = self.0.handle;
        self.0.poll(
            cx,
            |table| {
                let (socket, effects) = table.datagrams(handle)?;
                socket.read(is_peek, take, effects)
            },
            |table, waker| {
                let (socket, effects) = table.datagrams(handle)?;
                socket.wait_to_read(waker, effects);
                Ok(())
            },
        )
    }

    /// The next datagram from the peer; what does not fit is lost.
    ///
    /// # Errors
    /// What a datagram sent before has met, such as `ConnectionRefused`.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.recv_from(buf).await.map(|(n, _)| n)
    }

    /// As [`UdpSocket::recv`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_recv_from(cx, buf).map_ok(drop)
    }

    /// As [`UdpSocket::recv`].
    ///
    /// # Errors
    /// `WouldBlock` where there is none; as there.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_recv_from(buf).map(|(n, _)| n)
    }

    /// As [`UdpSocket::try_recv`], behind what is in `buf`.
    ///
    /// # Errors
    /// As there.
    pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.try_recv_buf_from(buf).map(|(n, _)| n)
    }

    /// As [`UdpSocket::recv`], behind what is in `buf`.
    ///
    /// # Errors
    /// As there.
    pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.recv_buf_from(buf).await.map(|(n, _)| n)
    }

    /// As [`UdpSocket::try_recv_from`], behind what is in `buf`.
    ///
    /// # Errors
    /// As there.
    pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.try_take(false, |arrived| (put_buf(buf, arrived), arrived.from))
    }

    /// As [`UdpSocket::recv_from`], behind what is in `buf`.
    ///
    /// # Errors
    /// As there.
    pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.poll_take(cx, false, |arrived| (put_buf(buf, arrived), arrived.from))).await
    }

    /// The next datagram and who sent it; what does not fit is lost.
    ///
    /// # Errors
    /// As [`UdpSocket::recv`].
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut buf = ReadBuf::new(buf);
        poll_fn(|cx| self.poll_take(cx, false, |arrived| (put(&mut buf, arrived), arrived.from))).await
    }

    /// As [`UdpSocket::recv_from`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_recv_from(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<SocketAddr>> {
        self.poll_take(cx, false, |arrived| {
            put(buf, arrived);
            arrived.from
        })
    }

    /// As [`UdpSocket::recv_from`].
    ///
    /// # Errors
    /// `WouldBlock` where there is none; as there.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut buf = ReadBuf::new(buf);
        self.try_take(false, |arrived| (put(&mut buf, arrived), arrived.from))
    }

    /// As [`UdpSocket::poll_recv_from`], with all that is known of the datagram: for protocols that heed congestion
    /// marks, and have several addresses.
    ///
    /// # Errors
    /// As there.
    pub fn poll_recv_meta(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<DatagramMeta>> {
        self.poll_take(cx, false, |arrived| {
            put(buf, arrived);
            DatagramMeta { from: arrived.from, to: arrived.to.ip(), ecn: arrived.tos & 3, len: arrived.data.len() }
        })
    }

    /// As [`UdpSocket::try_send_to`]; from the address `source` of ours, and with the congestion marks `ecn` (RFC
    /// 3168), 0 to 3, where these are said.
    ///
    /// # Errors
    /// As there.
    pub fn try_send_meta(
        &self,
        buf: &[u8],
        target: SocketAddr,
        source: Option<IpAddr>,
        ecn: Option<u8>,
    ) -> io::Result<usize> {
        self.0.with(|table| table.send_udp(self.0.handle, buf, Some(target), (source, ecn)))
    }

    /// As [`UdpSocket::recv`]; the datagram stays.
    ///
    /// # Errors
    /// As there.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.peek_from(buf).await.map(|(n, _)| n)
    }

    /// As [`UdpSocket::peek`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_peek_from(cx, buf).map_ok(drop)
    }

    /// As [`UdpSocket::peek`].
    ///
    /// # Errors
    /// `WouldBlock` where there is none; as there.
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_peek_from(buf).map(|(n, _)| n)
    }

    /// As [`UdpSocket::recv_from`]; the datagram stays.
    ///
    /// # Errors
    /// As there.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut buf = ReadBuf::new(buf);
        poll_fn(|cx| self.poll_take(cx, true, |arrived| (put(&mut buf, arrived), arrived.from))).await
    }

    /// As [`UdpSocket::peek_from`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_peek_from(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<SocketAddr>> {
        self.poll_take(cx, true, |arrived| {
            put(buf, arrived);
            arrived.from
        })
    }

    /// As [`UdpSocket::peek_from`].
    ///
    /// # Errors
    /// `WouldBlock` where there is none; as there.
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut buf = ReadBuf::new(buf);
        self.try_take(true, |arrived| (put(&mut buf, arrived), arrived.from))
    }

    /// Who sent the next datagram.
    ///
    /// # Errors
    /// As [`UdpSocket::recv`].
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        poll_fn(|cx| self.poll_peek_sender(cx)).await
    }

    /// As [`UdpSocket::peek_sender`].
    ///
    /// # Errors
    /// As there.
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.poll_take(cx, true, |arrived| arrived.from)
    }

    /// As [`UdpSocket::peek_sender`].
    ///
    /// # Errors
    /// `WouldBlock` where there is none; as there.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.try_take(true, |arrived| arrived.from)
    }

    // Waiting.

    /// What of `interest` there is; `WouldBlock` where there is nothing of it.
    fn is_ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.with(|table| some(ready_of(table.datagrams(self.0.handle)?.0, interest)))
    }

    fn poll_ready(&self, cx: &mut Context<'_>, interest: Interest) -> Poll<io::Result<Ready>> {
        let handle = self.0.handle;
        self.0.poll(
            cx,
            |table| some(ready_of(table.datagrams(handle)?.0, interest)),
            |table, waker| {
                let (socket, effects) = table.datagrams(handle)?;
                if interest.is_writable() {
                    socket.wait_to_write(waker, effects);
                }
                socket.wait_to_read(waker, effects);
                Ok(())
            },
        )
    }

    crate::io_shape::waiting!(poll_recv_ready, poll_send_ready);

    // Options.

    fn check_v6(&self) -> io::Result<()> {
        if self.get(Datagrams::is_v6)? {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::Unsupported, "an option of IPv6, and the socket is of IPv4"))
    }

    fn get<T>(&self, get: impl FnOnce(&Datagrams) -> T) -> io::Result<T> {
        self.0.with(|table| Ok(get(table.datagrams(self.0.handle)?.0)))
    }

    fn set(&self, set: impl FnOnce(&mut Datagrams)) -> io::Result<()> {
        self.0.with(|table| {
            set(table.datagrams(self.0.handle)?.0);
            Ok(())
        })
    }

    /// How much it may have sent that the layers have not taken, in octets of memory (`SO_SNDBUF`): 212,992 unless it
    /// is set. Beyond it sending waits. tokio has this by way of other crates alone.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        self.get(|it| it.send_buffer)
    }

    /// Sets it; one datagram goes in any case.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn set_send_buffer_size(&self, octets: usize) -> io::Result<()> {
        self.set(|it| it.send_buffer = octets.max(1))
    }

    /// Whether it may send to all hosts of a network (`SO_BROADCAST`).
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn broadcast(&self) -> io::Result<bool> {
        self.get(|it| it.broadcast)
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn set_broadcast(&self, on: bool) -> io::Result<()> {
        self.set(|it| it.broadcast = on)
    }

    /// The time to live of what is sent.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn ttl(&self) -> io::Result<u32> {
        self.get(|it| if it.how.ttl == 0 { crate::io_shape::TTL.into() } else { it.how.ttl.into() })
    }

    /// Sets it.
    ///
    /// # Errors
    /// `InvalidInput` where it is not 1 to 255; `u32::MAX` is the default again, as in Linux.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        let ttl = crate::io_shape::ttl(ttl)?;
        self.set(|it| it.how.ttl = ttl)
    }

    /// The type of service of what is sent, with the congestion marks in its last two bits.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn tos_v4(&self) -> io::Result<u32> {
        self.get(|it| it.how.tos.into())
    }

    /// Sets it.
    ///
    /// # Errors
    /// `InvalidInput` where it is more than 255.
    pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
        let tos = octet(tos, 0, "a type of service")?;
        self.set(|it| it.how.tos = tos)
    }

    /// As [`UdpSocket::tos_v4`].
    ///
    /// # Errors
    /// As there.
    #[deprecated = "`tos` is now `tos_v4`, as in tokio"]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// As [`UdpSocket::set_tos_v4`].
    ///
    /// # Errors
    /// As there.
    #[deprecated = "`set_tos` is now `set_tos_v4`, as in tokio"]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// Whether what is sent is lost rather than cut to fragments, by hosts and routers.
    #[cfg(any(feature = "quinn", feature = "noq"))]
    pub(crate) fn set_dont_fragment(&self, on: bool) -> io::Result<()> {
        self.set(|it| it.how.dont_fragment = on)
    }

    /// The device it is bound to: none.
    ///
    /// # Errors
    /// None.
    pub const fn device(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Binds it to a device, or to none again.
    ///
    /// # Errors
    /// `Unsupported` where a device is named: a host here has one line.
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        crate::io_shape::bind_device(interface)
    }

    /// The traffic class of what is sent over IPv6.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn tclass_v6(&self) -> io::Result<u32> {
        self.check_v6()?;
        self.tos_v4()
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`UdpSocket::set_tos_v4`].
    pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
        self.check_v6().map_err(|_| Errno::NoOption)?;
        self.set_tos_v4(tclass)
    }

    /// The time to live of what is sent to groups; 1 unless it is set.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.get(|it| it.multicast_ttl.into())
    }

    /// Sets it.
    ///
    /// # Errors
    /// `InvalidInput` where it is more than 255; `u32::MAX` is the default again, as in Linux.
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        let ttl = if ttl == u32::MAX { 1 } else { octet(ttl, 0, "a time to live")? };
        self.set(|it| it.multicast_ttl = ttl)
    }

    /// Whether what is sent to groups comes to sockets of this host too.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.get(|it| it.multicast_loop[0])
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.set(|it| it.multicast_loop[0] = on)
    }

    /// As [`UdpSocket::multicast_loop_v4`].
    ///
    /// # Errors
    /// As there.
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.check_v6()?;
        self.get(|it| it.multicast_loop[1])
    }

    /// As [`UdpSocket::set_multicast_loop_v4`].
    ///
    /// # Errors
    /// As there.
    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.check_v6().map_err(|_| Errno::NoOption)?;
        self.set(|it| it.multicast_loop[1] = on)
    }

    fn set_member(&self, group: IpAddr, interface: IpAddr, is_member: bool) -> io::Result<()> {
        self.0.with(|table| {
            table.check_interface(interface)?;
            table.join(self.0.handle, group, is_member)
        })
    }

    /// Takes what is sent to the group `multiaddr` from now on. As in Linux, all sockets of the host that have its port
    /// and no other address get a copy of that.
    ///
    /// # Errors
    /// `InvalidInput` where it is no group, `AddrInUse` where the socket is in it, the system's "no such device" where
    /// `interface` is neither 0.0.0.0 nor an address of the host.
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.set_member(multiaddr.into(), interface.into(), true)
    }

    /// As [`UdpSocket::join_multicast_v4`]; a host has two interfaces, 1 for itself and 2 for its line, and 0 is any.
    ///
    /// # Errors
    /// As there.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.set_member((*multiaddr).into(), numbered(interface)?, true)
    }

    /// Leaves a group.
    ///
    /// # Errors
    /// `AddrNotAvailable` where the socket is not in it; as [`UdpSocket::join_multicast_v4`].
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.set_member(multiaddr.into(), interface.into(), false)
    }

    /// Leaves a group.
    ///
    /// # Errors
    /// As [`UdpSocket::leave_multicast_v4`].
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.set_member((*multiaddr).into(), numbered(interface)?, false)
    }

    /// What a datagram sent before has met, if nobody was told yet.
    ///
    /// # Errors
    /// As [`UdpSocket::local_addr`].
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.with(|table| Ok(table.datagrams(self.0.handle)?.0.take_error()))
    }
}

/// What of `interest` there is.
fn ready_of(socket: &Datagrams, interest: Interest) -> Ready {
    // Who does not ask for errors is told of one as of something to read: a read says which.
    let is_readable = socket.has_datagram() || (socket.has_failed() && !interest.is_error());
    let readable = if is_readable { Ready::READABLE } else { Ready::EMPTY };
    let failed = if socket.has_failed() { Ready::ERROR } else { Ready::EMPTY };
    let writable = if socket.has_room() { Ready::WRITABLE } else { Ready::EMPTY };
    of_interest(interest, readable | failed | writable)
}

/// The interface of this number, by an address that it may have.
fn numbered(interface: u32) -> io::Result<IpAddr> {
    if interface > 2 { Err(Errno::NoDevice.into()) } else { Ok(Ipv6Addr::UNSPECIFIED.into()) }
}
