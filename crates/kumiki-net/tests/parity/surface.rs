// Every public method of the sockets of `tokio::net`, with its exact type. `net` is what is held against it. Nothing
// here runs. What names the operating system is not here: see `LEFT_OUT` in parity.rs.

use std::fmt::{Debug, Display};
use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
use net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

type Nothing = io::Result<()>;
type Count = io::Result<usize>;
type At = io::Result<SocketAddr>;
type From = io::Result<(usize, SocketAddr)>;

// A future of tokio's can go to another thread.
fn gives<T>(_: impl Future<Output = T> + Send) {}

fn auto<T: Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
fn reads<T: AsyncRead + AsRef<TcpStream>>() {}
fn writes<T: AsyncWrite + AsRef<TcpStream>>() {}
fn error<T: std::error::Error + Display + 'static>() {}
fn address<T: ToSocketAddrs + ?Sized>() {}

fn traits() {
    auto::<TcpListener>();
    auto::<TcpSocket>();
    auto::<TcpStream>();
    auto::<UdpSocket>();
    auto::<ReadHalf<'_>>();
    auto::<WriteHalf<'_>>();
    auto::<OwnedReadHalf>();
    auto::<OwnedWriteHalf>();
    auto::<ReuniteError>();
    reads::<TcpStream>();
    reads::<ReadHalf<'_>>();
    reads::<OwnedReadHalf>();
    writes::<TcpStream>();
    writes::<WriteHalf<'_>>();
    writes::<OwnedWriteHalf>();
    error::<ReuniteError>();
}

fn addresses() {
    address::<SocketAddr>();
    address::<SocketAddrV4>();
    address::<SocketAddrV6>();
    address::<(IpAddr, u16)>();
    address::<(Ipv4Addr, u16)>();
    address::<(Ipv6Addr, u16)>();
    address::<&[SocketAddr]>();
    address::<str>();
    address::<&str>();
    address::<&&str>();
    address::<(&str, u16)>();
    address::<(String, u16)>();
    address::<String>();
    address::<&String>();
}

async fn look_up() {
    let found: Vec<SocketAddr> = lookup_host("a:1").await.unwrap().collect();
    drop(found);
}

fn listener(it: &TcpListener) {
    gives::<io::Result<TcpListener>>(TcpListener::bind("a:1"));
    gives::<io::Result<(TcpStream, SocketAddr)>>(it.accept());
    let _: fn(&TcpListener, &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> = TcpListener::poll_accept;
    let _: fn(&TcpListener) -> At = TcpListener::local_addr;
    let _: fn(&TcpListener) -> io::Result<u32> = TcpListener::ttl;
    let _: fn(&TcpListener, u32) -> Nothing = TcpListener::set_ttl;
}

#[allow(deprecated)]
fn socket(it: TcpSocket, to: SocketAddr) {
    let _: fn() -> io::Result<TcpSocket> = TcpSocket::new_v4;
    let _: fn() -> io::Result<TcpSocket> = TcpSocket::new_v6;
    let _: [fn(&TcpSocket, bool) -> Nothing; 4] = [
        TcpSocket::set_keepalive,
        TcpSocket::set_reuseaddr,
        TcpSocket::set_reuseport,
        TcpSocket::set_nodelay,
    ];
    let _: [fn(&TcpSocket) -> io::Result<bool>; 4] =
        [TcpSocket::keepalive, TcpSocket::reuseaddr, TcpSocket::reuseport, TcpSocket::nodelay];
    let _: [fn(&TcpSocket, u32) -> Nothing; 5] = [
        TcpSocket::set_send_buffer_size,
        TcpSocket::set_recv_buffer_size,
        TcpSocket::set_tclass_v6,
        TcpSocket::set_tos_v4,
        TcpSocket::set_tos,
    ];
    let _: [fn(&TcpSocket) -> io::Result<u32>; 5] = [
        TcpSocket::send_buffer_size,
        TcpSocket::recv_buffer_size,
        TcpSocket::tclass_v6,
        TcpSocket::tos_v4,
        TcpSocket::tos,
    ];
    let _: fn(&TcpSocket, Option<Duration>) -> Nothing = TcpSocket::set_linger;
    let _: fn(&TcpSocket) -> Nothing = TcpSocket::set_zero_linger;
    let _: fn(&TcpSocket) -> io::Result<Option<Duration>> = TcpSocket::linger;
    let _: fn(&TcpSocket) -> io::Result<Option<Vec<u8>>> = TcpSocket::device;
    let _: fn(&TcpSocket, Option<&[u8]>) -> Nothing = TcpSocket::bind_device;
    let _: fn(&TcpSocket) -> At = TcpSocket::local_addr;
    let _: fn(&TcpSocket) -> io::Result<Option<io::Error>> = TcpSocket::take_error;
    let _: fn(&TcpSocket, SocketAddr) -> Nothing = TcpSocket::bind;
    let _: fn(TcpSocket, u32) -> io::Result<TcpListener> = TcpSocket::listen;
    gives::<io::Result<TcpStream>>(it.connect(to));
}

#[allow(deprecated)]
fn stream(it: &TcpStream, buf: &mut [u8]) {
    gives::<io::Result<TcpStream>>(TcpStream::connect("a:1"));
    gives::<io::Result<TcpStream>>(TcpStream::connect(("a", 1)));
    gives::<Count>(it.peek(buf));
    gives::<io::Result<Ready>>(it.ready(Interest::READABLE));
    gives::<Nothing>(it.readable());
    gives::<Nothing>(it.writable());
    gives::<io::Result<u8>>(it.async_io(Interest::READABLE, || Ok(1)));
    let _: [fn(&TcpStream) -> At; 2] = [TcpStream::local_addr, TcpStream::peer_addr];
    let _: fn(&TcpStream) -> io::Result<Option<io::Error>> = TcpStream::take_error;
    let _: fn(&TcpStream, &mut Context<'_>, &mut ReadBuf<'_>) -> Poll<Count> = TcpStream::poll_peek;
    let _: [fn(&TcpStream, &mut Context<'_>) -> Poll<Nothing>; 2] =
        [TcpStream::poll_read_ready, TcpStream::poll_write_ready];
    let _: fn(&TcpStream, &mut [u8]) -> Count = TcpStream::try_read;
    let _: fn(&TcpStream, &mut [IoSliceMut<'_>]) -> Count = TcpStream::try_read_vectored;
    let _: fn(&TcpStream, &mut BytesMut) -> Count = TcpStream::try_read_buf::<BytesMut>;
    let _: fn(&TcpStream, &[u8]) -> Count = TcpStream::try_write;
    let _: fn(&TcpStream, &[IoSlice<'_>]) -> Count = TcpStream::try_write_vectored;
    let _: io::Result<u8> = it.try_io(Interest::READABLE, || Ok(1));
    let _: [fn(&TcpStream) -> io::Result<bool>; 2] = [TcpStream::nodelay, TcpStream::quickack];
    let _: [fn(&TcpStream, bool) -> Nothing; 2] = [TcpStream::set_nodelay, TcpStream::set_quickack];
    let _: fn(&TcpStream) -> io::Result<Option<Duration>> = TcpStream::linger;
    let _: fn(&TcpStream, Option<Duration>) -> Nothing = TcpStream::set_linger;
    let _: fn(&TcpStream) -> Nothing = TcpStream::set_zero_linger;
    let _: fn(&TcpStream) -> io::Result<u32> = TcpStream::ttl;
    let _: fn(&TcpStream, u32) -> Nothing = TcpStream::set_ttl;
    let _: for<'a> fn(&'a mut TcpStream) -> (ReadHalf<'a>, WriteHalf<'a>) = TcpStream::split;
    let _: fn(TcpStream) -> (OwnedReadHalf, OwnedWriteHalf) = TcpStream::into_split;
}

macro_rules! read_half {
    ($name:ident, $half:ty $(, $of:lifetime)?) => {
        fn $name$(<$of>)?(it: &mut $half, buf: &mut [u8]) {
            gives::<Count>(it.peek(buf));
            gives::<io::Result<Ready>>(it.ready(Interest::READABLE));
            gives::<Nothing>(it.readable());
            let _: fn(&mut $half, &mut Context<'_>, &mut ReadBuf<'_>) -> Poll<Count> = <$half>::poll_peek;
            let _: fn(&$half, &mut [u8]) -> Count = <$half>::try_read;
            let _: fn(&$half, &mut [IoSliceMut<'_>]) -> Count = <$half>::try_read_vectored;
            let _: fn(&$half, &mut BytesMut) -> Count = <$half>::try_read_buf::<BytesMut>;
            let _: [fn(&$half) -> At; 2] = [<$half>::local_addr, <$half>::peer_addr];
        }
    };
}

macro_rules! write_half {
    ($name:ident, $half:ty $(, $of:lifetime)?) => {
        fn $name$(<$of>)?(it: &$half) {
            gives::<io::Result<Ready>>(it.ready(Interest::WRITABLE));
            gives::<Nothing>(it.writable());
            let _: fn(&$half, &[u8]) -> Count = <$half>::try_write;
            let _: fn(&$half, &[IoSlice<'_>]) -> Count = <$half>::try_write_vectored;
            let _: [fn(&$half) -> At; 2] = [<$half>::local_addr, <$half>::peer_addr];
        }
    };
}

read_half!(borrowed_read_half, ReadHalf<'a>, 'a);
read_half!(owned_read_half, OwnedReadHalf);
write_half!(borrowed_write_half, WriteHalf<'a>, 'a);
write_half!(owned_write_half, OwnedWriteHalf);

fn owned_halves(error: ReuniteError) {
    let _: fn(OwnedReadHalf, OwnedWriteHalf) -> Result<TcpStream, ReuniteError> = OwnedReadHalf::reunite;
    let _: fn(OwnedWriteHalf, OwnedReadHalf) -> Result<TcpStream, ReuniteError> = OwnedWriteHalf::reunite;
    let _: fn(OwnedWriteHalf) = OwnedWriteHalf::forget;
    let ReuniteError(_, _): ReuniteError = error;
}

fn datagrams(it: &UdpSocket, buf: &mut [u8], more: &mut BytesMut) {
    gives::<io::Result<UdpSocket>>(UdpSocket::bind("a:1"));
    gives::<Nothing>(it.connect("a:1"));
    gives::<io::Result<Ready>>(it.ready(Interest::READABLE));
    gives::<Nothing>(it.readable());
    gives::<Nothing>(it.writable());
    gives::<Count>(it.send(buf));
    gives::<Count>(it.send_to(buf, "a:1"));
    gives::<Count>(it.recv(buf));
    gives::<Count>(it.peek(buf));
    gives::<From>(it.recv_from(buf));
    gives::<From>(it.peek_from(buf));
    gives::<At>(it.peek_sender());
    gives::<Count>(it.recv_buf(more));
    gives::<From>(it.recv_buf_from(more));
    gives::<io::Result<u8>>(it.async_io(Interest::READABLE, || Ok(1)));
    let _: io::Result<u8> = it.try_io(Interest::READABLE, || Ok(1));
    let _: [fn(&UdpSocket) -> At; 3] = [UdpSocket::local_addr, UdpSocket::peer_addr, UdpSocket::try_peek_sender];
    let _: [fn(&UdpSocket, &mut Context<'_>) -> Poll<Nothing>; 2] =
        [UdpSocket::poll_recv_ready, UdpSocket::poll_send_ready];
    let _: fn(&UdpSocket, &mut Context<'_>, &[u8]) -> Poll<Count> = UdpSocket::poll_send;
    let _: fn(&UdpSocket, &mut Context<'_>, &[u8], SocketAddr) -> Poll<Count> = UdpSocket::poll_send_to;
    let _: [fn(&UdpSocket, &mut Context<'_>, &mut ReadBuf<'_>) -> Poll<Nothing>; 2] =
        [UdpSocket::poll_recv, UdpSocket::poll_peek];
    let _: [fn(&UdpSocket, &mut Context<'_>, &mut ReadBuf<'_>) -> Poll<At>; 2] =
        [UdpSocket::poll_recv_from, UdpSocket::poll_peek_from];
    let _: fn(&UdpSocket, &mut Context<'_>) -> Poll<At> = UdpSocket::poll_peek_sender;
    let _: fn(&UdpSocket, &[u8]) -> Count = UdpSocket::try_send;
    let _: fn(&UdpSocket, &[u8], SocketAddr) -> Count = UdpSocket::try_send_to;
    let _: [fn(&UdpSocket, &mut [u8]) -> Count; 2] = [UdpSocket::try_recv, UdpSocket::try_peek];
    let _: [fn(&UdpSocket, &mut [u8]) -> From; 2] = [UdpSocket::try_recv_from, UdpSocket::try_peek_from];
    let _: fn(&UdpSocket, &mut BytesMut) -> Count = UdpSocket::try_recv_buf::<BytesMut>;
    let _: fn(&UdpSocket, &mut BytesMut) -> From = UdpSocket::try_recv_buf_from::<BytesMut>;
}

#[allow(deprecated)]
fn datagram_options() {
    let _: [fn(&UdpSocket) -> io::Result<bool>; 3] =
        [UdpSocket::broadcast, UdpSocket::multicast_loop_v4, UdpSocket::multicast_loop_v6];
    let _: [fn(&UdpSocket, bool) -> Nothing; 3] =
        [UdpSocket::set_broadcast, UdpSocket::set_multicast_loop_v4, UdpSocket::set_multicast_loop_v6];
    let _: [fn(&UdpSocket) -> io::Result<u32>; 5] = [
        UdpSocket::multicast_ttl_v4,
        UdpSocket::tclass_v6,
        UdpSocket::ttl,
        UdpSocket::tos_v4,
        UdpSocket::tos,
    ];
    let _: [fn(&UdpSocket, u32) -> Nothing; 5] = [
        UdpSocket::set_multicast_ttl_v4,
        UdpSocket::set_tclass_v6,
        UdpSocket::set_ttl,
        UdpSocket::set_tos_v4,
        UdpSocket::set_tos,
    ];
    let _: fn(&UdpSocket) -> io::Result<Option<Vec<u8>>> = UdpSocket::device;
    let _: fn(&UdpSocket, Option<&[u8]>) -> Nothing = UdpSocket::bind_device;
    let _: [fn(&UdpSocket, Ipv4Addr, Ipv4Addr) -> Nothing; 2] =
        [UdpSocket::join_multicast_v4, UdpSocket::leave_multicast_v4];
    let _: [fn(&UdpSocket, &Ipv6Addr, u32) -> Nothing; 2] =
        [UdpSocket::join_multicast_v6, UdpSocket::leave_multicast_v6];
    let _: fn(&UdpSocket) -> io::Result<Option<io::Error>> = UdpSocket::take_error;
}
