// What a program sees of TCP; `net` is whose sockets they are. All on 127.0.0.1, and without waiting for time to pass.

use std::io::{IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use net::{TcpListener, TcpSocket, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};

use super::notes::{Notes, say};

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(HERE).await.unwrap();
    let (one, other) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    (one.unwrap(), other.unwrap().0)
}

/// One of which the other end was closed with something unread.
async fn reset() -> TcpStream {
    let (mut one, other) = pair().await;
    one.write_all(b"unread").await.unwrap();
    other.readable().await.unwrap();
    drop(other);
    one.readable().await.unwrap();
    one
}

async fn nobody() -> SocketAddr {
    TcpListener::bind(HERE).await.unwrap().local_addr().unwrap()
}

pub(crate) async fn connecting(notes: &mut Notes) {
    notes.add("to nobody", say(&TcpStream::connect(nobody().await).await));
    notes.add("to no address", say(&TcpStream::connect(&[][..] as &[SocketAddr]).await));
    for text in ["127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ""] {
        notes.add(text, say(&TcpStream::connect(text).await));
    }
    notes.add("to port 0", say(&TcpStream::connect(HERE).await));
    notes.add("to a group", say(&TcpStream::connect("224.0.0.9:7").await));
    notes.add("to all", say(&TcpStream::connect("255.255.255.255:7").await));
    notes.add("to nobody, mapped", say(&TcpStream::connect(("::ffff:127.0.0.1", nobody().await.port())).await));
    let listener = TcpListener::bind(HERE).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (any, _) = tokio::join!(TcpStream::connect((Ipv4Addr::UNSPECIFIED, port)), listener.accept());
    let any = any.unwrap();
    notes.add("to 0.0.0.0", format!("{:?} {:?}", any.local_addr().unwrap().ip(), any.peer_addr().unwrap().ip()));
    let both = [nobody().await, listener.local_addr().unwrap()];
    let (second, _) = tokio::join!(TcpStream::connect(&both[..]), listener.accept());
    notes.add("the second answers", format!("{}", second.unwrap().peer_addr().unwrap() == both[1]));
    let (named, _) = tokio::join!(TcpStream::connect(("localhost", port)), listener.accept());
    notes.add("by name", say(&named));
}

pub(crate) async fn binding(notes: &mut Notes) {
    let first = TcpListener::bind(HERE).await.unwrap();
    let at = first.local_addr().unwrap();
    notes.add("twice", say(&TcpListener::bind(at).await));
    notes.add("any over one", say(&TcpListener::bind((Ipv4Addr::UNSPECIFIED, at.port())).await));
    notes.add("another address", say(&TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), at.port())).await));
    notes.add("a foreign one", say(&TcpListener::bind("192.0.2.1:0").await));
    notes.add("a group", say(&TcpListener::bind("224.0.0.9:0").await));
    drop(first);
    notes.add("after it was dropped", say(&TcpListener::bind(at).await));
    let any = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = any.local_addr().unwrap().port();
    notes.add("one over any", say(&TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await));
    notes.add("udp beside it", say(&net::UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await));
    let (stream, _) = tokio::join!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)), any.accept());
    let (stream, local) = (stream.unwrap(), any.local_addr().unwrap());
    drop(any);
    notes.add("again beside a connection", say(&TcpListener::bind(local).await));
    drop(stream);
}

pub(crate) async fn sockets(notes: &mut Notes) {
    let socket = TcpSocket::new_v4().unwrap();
    notes.add("local before", socket.local_addr().unwrap());
    notes.add("of the other version", say(&socket.bind("[::1]:0".parse().unwrap())));
    notes.add("bind", say(&socket.bind(HERE.into())));
    notes.add("bind twice", say(&socket.bind(HERE.into())));
    let at = socket.local_addr().unwrap();
    notes.add("another at the same", say(&TcpSocket::new_v4().unwrap().bind(at)));
    notes.add("connect of the other version", say(&TcpSocket::new_v4().unwrap().connect("[::1]:1".parse().unwrap()).await));
    let listener = socket.listen(1).unwrap();
    notes.add("listens where it was bound", listener.local_addr().unwrap() == at);
    let unbound = TcpSocket::new_v4().unwrap().listen(1).unwrap();
    notes.add("listens unbound", unbound.local_addr().unwrap().ip());
    let from = TcpSocket::new_v4().unwrap();
    from.bind(HERE.into()).unwrap();
    let local = from.local_addr().unwrap();
    let (stream, accepted) = tokio::join!(from.connect(at), listener.accept());
    let (stream, (_, peer)) = (stream.unwrap(), accepted.unwrap());
    notes.add("connects from where it was bound", stream.local_addr().unwrap() == local && peer == local);
    notes.add("take_error", say(&TcpSocket::new_v4().unwrap().take_error()));
    let reusing = [TcpSocket::new_v4().unwrap(), TcpSocket::new_v4().unwrap()];
    for socket in &reusing {
        socket.set_reuseaddr(true).unwrap();
        let at = reusing[0].local_addr().unwrap();
        notes.add("reuseaddr", say(&socket.bind(if at.port() == 0 { HERE.into() } else { at })));
    }
    let listeners = reusing.map(|it| it.listen(1));
    notes.add("the first listens", say(&listeners[0]));
    notes.add("the second", say(&listeners[1]));
}

pub(crate) async fn socket_options(notes: &mut Notes) {
    let socket = TcpSocket::new_v4().unwrap();
    notes.add("keepalive", socket.keepalive().unwrap());
    notes.add("reuseaddr", socket.reuseaddr().unwrap());
    notes.add("reuseport", socket.reuseport().unwrap());
    notes.add("nodelay", socket.nodelay().unwrap());
    notes.add("linger", socket.linger().unwrap());
    notes.add("tos", socket.tos_v4().unwrap());
    notes.add("device", socket.device().unwrap());
    socket.set_send_buffer_size(10_000).unwrap();
    socket.set_recv_buffer_size(10_000).unwrap();
    notes.add("buffers", (socket.send_buffer_size().unwrap(), socket.recv_buffer_size().unwrap()));
    socket.set_send_buffer_size(1).unwrap();
    socket.set_recv_buffer_size(1).unwrap();
    notes.add("least buffers", (socket.send_buffer_size().unwrap(), socket.recv_buffer_size().unwrap()));
    socket.set_nodelay(true).unwrap();
    socket.set_keepalive(true).unwrap();
    socket.set_zero_linger().unwrap();
    socket.set_tos_v4(0x88).unwrap();
    notes.add("set", (socket.nodelay().unwrap(), socket.keepalive().unwrap(), socket.linger().unwrap(), socket.tos_v4().unwrap()));
    socket.set_tos_v4(0xff).unwrap();
    notes.add("the marks are TCP's", socket.tos_v4().unwrap());
    notes.add("tclass of IPv4", say(&socket.tclass_v6()));
    notes.add("set tclass of IPv4", say(&socket.set_tclass_v6(96)));
    let v6 = TcpSocket::new_v6().unwrap();
    notes.add("tclass", say(&v6.tclass_v6()));
    notes.add("tos of IPv6", say(&v6.tos_v4()));
    notes.add("bind to no device", say(&socket.bind_device(None)));
    // What was set holds for what was accepted.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_zero_linger().unwrap();
    socket.bind(HERE.into()).unwrap();
    let listener = socket.listen(4).unwrap();
    let (one, other) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    let (mut one, (other, _)) = (one.unwrap(), other.unwrap());
    notes.add("inherited", (other.nodelay().unwrap(), other.linger().unwrap()));
    drop(other);
    notes.add("so its end is a reset", say(&one.read(&mut [0]).await));
}

pub(crate) async fn stream_options(notes: &mut Notes) {
    let (one, _other) = pair().await;
    notes.add("ttl", one.ttl().unwrap());
    for ttl in [0, 1, 255, 256, u32::MAX] {
        notes.add("set ttl", (ttl, say(&one.set_ttl(ttl)), one.ttl().unwrap()));
    }
    notes.add("nodelay", (one.nodelay().unwrap(), say(&one.set_nodelay(true)), one.nodelay().unwrap()));
    notes.add("linger", (one.linger().unwrap(), say(&one.set_zero_linger()), one.linger().unwrap()));
    notes.add("quickack", one.quickack().unwrap());
    one.set_quickack(false).unwrap();
    notes.add("quickack off", one.quickack().unwrap());
    notes.add("take_error", say(&one.take_error()));
    let listener = TcpListener::bind(HERE).await.unwrap();
    notes.add("listener's ttl", listener.ttl().unwrap());
    for ttl in [0, 7, 256] {
        notes.add("set listener's ttl", (ttl, say(&listener.set_ttl(ttl)), listener.ttl().unwrap()));
    }
    let (_one, other) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    notes.add("inherited", other.unwrap().0.ttl().unwrap());
}

pub(crate) async fn the_end_of_what_comes(notes: &mut Notes) {
    let (mut one, mut other) = pair().await;
    other.write_all(b"last").await.unwrap();
    other.shutdown().await.unwrap();
    let mut buf = [0; 8];
    notes.add("zero read", say(&one.read(&mut []).await));
    notes.add("peek", say(&one.peek(&mut buf).await));
    let mut all = Vec::new();
    notes.add("all", say(&one.read_to_end(&mut all).await));
    notes.add("peek at the end", say(&one.peek(&mut buf).await));
    notes.add("read at the end", say(&one.read(&mut buf).await));
    notes.add("try_read at the end", say(&one.try_read(&mut buf)));
    notes.add("try_read of nothing", say(&one.try_read(&mut [])));
    notes.add("peer_addr", one.peer_addr().unwrap() == other.local_addr().unwrap());
    notes.add("write still", say(&one.write_all(b"answer").await));
    notes.add("shutdown", say(&one.shutdown().await));
    all.clear();
    notes.add("answer", say(&other.read_to_end(&mut all).await));
    notes.add("both have ended, peer_addr", (say(&one.peer_addr().map(drop)), say(&other.peer_addr().map(drop))));
    notes.add("read again", (say(&one.read(&mut buf).await), say(&other.read(&mut buf).await)));
    notes.add("write", (say(&one.write(b"x").await), say(&other.write(b"x").await)));
    notes.add("local_addr", (say(&one.local_addr().map(drop)), say(&other.local_addr().map(drop))));
    notes.add("shutdown again", (say(&one.shutdown().await), say(&other.shutdown().await)));
    notes.add("take_error", (say(&one.take_error()), say(&other.take_error())));
}

pub(crate) async fn the_end_of_what_goes(notes: &mut Notes) {
    let (mut one, other) = pair().await;
    notes.add("nothing", say(&one.write(&[]).await));
    notes.add("nothing in pieces", say(&one.write_vectored(&[IoSlice::new(&[]), IoSlice::new(&[])]).await));
    notes.add("no pieces", say(&one.try_write_vectored(&[])));
    notes.add("shutdown", say(&one.shutdown().await));
    notes.add("shutdown twice", say(&one.shutdown().await));
    notes.add("write", say(&one.write(b"x").await));
    notes.add("write again", say(&one.write(b"x").await));
    notes.add("write nothing", say(&one.write(&[]).await));
    notes.add("try_write", say(&one.try_write(b"x")));
    notes.add("writable", say(&one.writable().await));
    notes.add("the other", say(&other.try_write(b"x")));
    notes.add("read", say(&one.read(&mut [0; 4]).await));
}

pub(crate) async fn nothing_there(notes: &mut Notes) {
    let (one, other) = pair().await;
    let mut buf = [0; 4];
    notes.add("try_read", say(&one.try_read(&mut buf)));
    notes.add("try_read of nothing", say(&one.try_read(&mut [])));
    notes.add("try_read_vectored", say(&one.try_read_vectored(&mut [IoSliceMut::new(&mut buf)])));
    notes.add("try_io", say(&one.try_io(Interest::READABLE, || Ok(()))));
    other.try_write(b"abcdef").unwrap();
    one.readable().await.unwrap();
    notes.add("try_read of nothing, where there is", say(&one.try_read(&mut [])));
    let (mut a, mut b) = ([0; 2], [0; 3]);
    notes.add("vectored", say(&one.try_read_vectored(&mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)])));
    let mut more = Vec::with_capacity(16);
    notes.add("buf", say(&one.try_read_buf(&mut more)));
    notes.add("then nothing", say(&one.try_read(&mut buf)));
}

pub(crate) async fn a_reader_that_does_not_read(notes: &mut Notes) {
    let (one, mut other) = pair().await;
    let mut written = 0;
    // Until nothing goes any more, which is not at once: the peer's kernel takes a part.
    let full = loop {
        match one.try_write(&[7; 65_536]) {
            Ok(n) => written += n,
            Err(error) => break error,
        }
    };
    notes.add("full", full.kind());
    drop(one);
    let mut got = Vec::new();
    other.read_to_end(&mut got).await.unwrap();
    notes.add("all of it has come", got.len() == written);
}

pub(crate) async fn after_a_reset(notes: &mut Notes) {
    let mut buf = [0; 4];
    let mut one = reset().await;
    notes.add("read", say(&one.read(&mut buf).await));
    notes.add("read again", say(&one.read(&mut buf).await));
    notes.add("write", say(&one.write(b"x").await));
    notes.add("peer_addr", say(&one.peer_addr()));
    notes.add("local_addr", say(&one.local_addr().map(drop)));
    notes.add("take_error", say(&one.take_error()));
    notes.add("shutdown", say(&one.shutdown().await));
    let mut one = reset().await;
    notes.add("write first", say(&one.write(b"x").await));
    notes.add("write again", say(&one.write(b"x").await));
    notes.add("read then", say(&one.read(&mut buf).await));
    let one = reset().await;
    notes.add("peek first", say(&one.peek(&mut buf).await));
    notes.add("then try_read", say(&one.try_read(&mut buf)));
    let mut one = reset().await;
    notes.add("take_error first", say(&one.take_error()));
    notes.add("and again", say(&one.take_error()));
    notes.add("read then", say(&one.read(&mut buf).await));
    let mut one = reset().await;
    notes.add("shutdown first", say(&one.shutdown().await));
    notes.add("read then", say(&one.read(&mut buf).await));
    let one = reset().await;
    notes.add("zero read", say(&one.try_read(&mut [])));
    notes.add("zero write", say(&one.try_write(&[])));
    let one = reset().await;
    notes.add("options", (say(&one.set_nodelay(true)), say(&one.set_ttl(9)), say(&one.nodelay()), say(&one.ttl())));
}

pub(crate) async fn ways_to_be_reset(notes: &mut Notes) {
    let mut buf = [0; 4];
    let (mut one, other) = pair().await;
    other.set_zero_linger().unwrap();
    drop(other);
    notes.add("linger of zero", say(&one.read(&mut buf).await));
    let listener = TcpListener::bind(HERE).await.unwrap();
    let mut one = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    drop(listener);
    notes.add("listener dropped", say(&one.read(&mut buf).await));
    let (mut one, mut other) = pair().await;
    one.write_all(b"unread").await.unwrap();
    other.readable().await.unwrap();
    other.write_all(b"sent before").await.unwrap();
    one.readable().await.unwrap();
    drop(other);
    let mut got = Vec::new();
    notes.add("what came before", say(&one.read_to_end(&mut got).await));
    // It answers after the peer has closed in order.
    let (mut one, other) = pair().await;
    drop(other);
    notes.add("closed in order", say(&one.read(&mut buf).await));
    notes.add("first write", say(&one.write(b"x").await));
    let second = loop {
        match one.write(b"x").await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    notes.add("a later one", second.kind());
    notes.add("read", say(&one.read(&mut buf).await));
    notes.add("take_error", say(&one.take_error()));
}

pub(crate) async fn readiness(notes: &mut Notes) {
    let all = Interest::READABLE | Interest::WRITABLE | Interest::ERROR;
    let (one, mut other) = pair().await;
    notes.add("new", one.ready(all).await.unwrap());
    other.write_all(b"x").await.unwrap();
    one.readable().await.unwrap();
    notes.add("data", one.ready(all).await.unwrap());
    notes.add("to read", one.ready(Interest::READABLE).await.unwrap());
    notes.add("to write", one.ready(Interest::WRITABLE).await.unwrap());
    one.try_read(&mut [0; 8]).unwrap();
    notes.add("try_read", say(&one.try_read(&mut [0; 8])));
    notes.add("taken", one.ready(all).await.unwrap());
    other.shutdown().await.unwrap();
    one.readable().await.unwrap();
    notes.add("the peer's end", one.ready(all).await.unwrap());
    let mut one = one;
    one.shutdown().await.unwrap();
    other.readable().await.unwrap();
    let ready = loop {
        let ready = one.ready(Interest::WRITABLE).await.unwrap();
        if ready.is_write_closed() {
            break ready;
        }
        tokio::task::yield_now().await;
    };
    notes.add("both ends, to write", ready);
    let one = reset().await;
    notes.add("reset", one.ready(all).await.unwrap());
    notes.add("reset, error", one.ready(Interest::ERROR).await.unwrap());
}

pub(crate) async fn halves(notes: &mut Notes) {
    let (one, mut other) = pair().await;
    let (read, mut write) = one.into_split();
    write.write_all(b"abc").await.unwrap();
    drop(write);
    let mut got = Vec::new();
    notes.add("dropped write half", say(&other.read_to_end(&mut got).await));
    notes.add("the read half's", say(&read.try_read(&mut [0; 4])));
    let (one, mut other) = pair().await;
    let (mut read, write) = one.into_split();
    write.forget();
    other.write_all(b"still").await.unwrap();
    notes.add("forgotten write half", say(&read.peek(&mut [0; 9]).await));
    let (one, mut other) = pair().await;
    let (read, mut write) = one.into_split();
    drop(read);
    notes.add("dropped read half", say(&write.write(b"x").await));
    notes.add("and back", say(&other.write(b"y").await));
    let (one, _other) = pair().await;
    let (read, write) = one.into_split();
    let (two, _other) = pair().await;
    let (_read, wrong) = two.into_split();
    let error = read.reunite(wrong).unwrap_err();
    notes.add("of two", error.to_string().contains("halves that are not from the same socket"));
    notes.add("of one", say(&error.0.reunite(write).map_err(|it| std::io::Error::other(it.to_string()))));
    let (mut one, mut other) = pair().await;
    let (mut read, mut write) = one.split();
    write.shutdown().await.unwrap();
    notes.add("borrowed, shut", say(&write.write(b"x").await));
    other.write_all(b"z").await.unwrap();
    notes.add("borrowed, reads", say(&read.read(&mut [0; 4]).await));
}

pub(crate) async fn accepting(notes: &mut Notes) {
    let listener = TcpListener::bind(HERE).await.unwrap();
    let at = listener.local_addr().unwrap();
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(TcpStream::connect(at).await.unwrap());
    }
    // One of them goes before it is accepted, in order and with something said.
    streams[1].write_all(b"bye").await.unwrap();
    let gone = streams.remove(1).local_addr().unwrap();
    let mut order = Vec::new();
    for _ in 0..3 {
        let (mut stream, from) = listener.accept().await.unwrap();
        order.push(streams.iter().position(|it| it.local_addr().unwrap() == from));
        if from == gone {
            let mut got = Vec::new();
            notes.add("of who has gone", say(&stream.read_to_end(&mut got).await));
        }
    }
    notes.add("in order", order);
    // One goes by a reset.
    let stream = TcpStream::connect(at).await.unwrap();
    stream.set_zero_linger().unwrap();
    drop(stream);
    let (mut stream, _) = listener.accept().await.unwrap();
    notes.add("accepted after a reset", say(&stream.read(&mut [0; 4]).await));
    notes.add("its peer", say(&stream.peer_addr()));
    notes.add("in time", tokio::time::timeout(Duration::ZERO, listener.accept()).await.is_err());
}
