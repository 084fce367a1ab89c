// What a program sees of UDP.

use std::net::{Ipv4Addr, SocketAddr};

use net::UdpSocket;
use tokio::io::Interest;

use super::notes::{Notes, say};

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

async fn socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind(HERE).await.unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

async fn nobody() -> SocketAddr {
    socket().await.1
}

pub(crate) async fn binding(notes: &mut Notes) {
    let (first, at) = socket().await;
    notes.add("twice", say(&UdpSocket::bind(at).await));
    notes.add("any over one", say(&UdpSocket::bind((Ipv4Addr::UNSPECIFIED, at.port())).await));
    notes.add("a foreign one", say(&UdpSocket::bind("192.0.2.1:0").await));
    notes.add("a group", say(&UdpSocket::bind("224.0.0.9:0").await));
    notes.add("all", say(&UdpSocket::bind("255.255.255.255:0").await));
    notes.add("no address", say(&UdpSocket::bind(&[][..] as &[SocketAddr]).await));
    drop(first);
    notes.add("after it was dropped", say(&UdpSocket::bind(at).await));
    let any = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    notes.add("local", any.local_addr().unwrap().ip());
    notes.add("peer", say(&any.peer_addr()));
    let to = nobody().await;
    any.connect(to).await.unwrap();
    notes.add("local when connected", any.local_addr().unwrap().ip());
    notes.add("peer when connected", any.peer_addr().unwrap() == to);
    any.connect((Ipv4Addr::UNSPECIFIED, to.port())).await.unwrap();
    notes.add("connected to 0.0.0.0", any.peer_addr().unwrap().ip());
    notes.add("to no address", say(&any.connect(&[][..] as &[SocketAddr]).await));
    notes.add("of the other version", say(&any.connect("[::1]:7").await));
    notes.add("mapped", say(&any.connect("[::ffff:127.0.0.1]:7").await));
    notes.add("to all, not allowed", say(&any.connect("255.255.255.255:7").await));
    notes.add("to port 0", say(&any.connect(HERE).await));
    let other = UdpSocket::bind("[::]:0").await.unwrap();
    other.connect("[::ffff:127.0.0.1]:7").await.unwrap();
    notes.add("mapped peer", other.peer_addr().unwrap());
    notes.add("mapped local", other.local_addr().unwrap().ip());
}

pub(crate) async fn sending(notes: &mut Notes) {
    let (one, _) = socket().await;
    let (other, to) = socket().await;
    notes.add("to nobody named", say(&one.send(b"x").await));
    notes.add("try", say(&one.try_send(b"x")));
    notes.add("to port 0", say(&one.send_to(b"x", HERE).await));
    notes.add("to no address", say(&one.send_to(b"x", &[][..] as &[SocketAddr]).await));
    notes.add("of the other version", say(&one.send_to(b"x", "[::1]:7").await));
    notes.add("mapped", say(&one.send_to(b"x", "[::ffff:127.0.0.1]:7").await));
    notes.add("to all, not allowed", say(&one.send_to(b"x", "255.255.255.255:7").await));
    notes.add("the most", say(&one.send_to(&[7; 65_507], to).await));
    notes.add("more", say(&one.send_to(&[7; 65_508], to).await));
    notes.add("nothing", say(&one.send_to(&[], to).await));
    let mut buf = vec![0; 65_536];
    notes.add("recv", say(&other.recv(&mut buf).await));
    notes.add("recv of nothing", say(&other.recv(&mut buf).await));
    notes.add("then none", say(&other.try_recv(&mut buf)));
    let any = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    any.send_to(b"x", to).await.unwrap();
    notes.add("from", other.recv_from(&mut buf).await.unwrap().1.ip());
    any.send_to(b"x", (Ipv4Addr::UNSPECIFIED, to.port())).await.unwrap();
    notes.add("by 0.0.0.0", other.recv_from(&mut buf).await.unwrap().1.ip());
}

pub(crate) async fn receiving(notes: &mut Notes) {
    let (one, from) = socket().await;
    let (other, to) = socket().await;
    let mut buf = [0; 4];
    notes.add("try_recv", say(&other.try_recv(&mut buf)));
    notes.add("try_recv_from", say(&other.try_recv_from(&mut buf)));
    notes.add("try_peek", say(&other.try_peek(&mut buf)));
    notes.add("try_peek_sender", say(&other.try_peek_sender()));
    for text in ["abcdefgh", "ijklmnop", "qrstuvwx", "yz"] {
        one.send_to(text.as_bytes(), to).await.unwrap();
    }
    other.readable().await.unwrap();
    notes.add("peek", (say(&other.peek(&mut buf).await), buf));
    notes.add("peek_from", other.peek_from(&mut buf).await.unwrap() == (4, from));
    notes.add("peek_sender", other.peek_sender().await.unwrap() == from);
    notes.add("cut off", (say(&other.recv(&mut buf).await), buf));
    notes.add("in nothing", say(&other.recv(&mut []).await));
    let mut more = Vec::with_capacity(5);
    notes.add("in a buffer", (say(&other.recv_buf(&mut more).await), more.len()));
    notes.add("the next", (say(&other.recv(&mut buf).await), buf));
    notes.add("then none", say(&other.try_recv(&mut buf)));
}

pub(crate) async fn connected(notes: &mut Notes) {
    let (one, from) = socket().await;
    let (other, to) = socket().await;
    let (third, _) = socket().await;
    // What came before it was connected stays.
    third.send_to(b"early", to).await.unwrap();
    other.readable().await.unwrap();
    other.connect(from).await.unwrap();
    third.send_to(b"late", to).await.unwrap();
    one.send_to(b"wanted", to).await.unwrap();
    let mut buf = [0; 16];
    for _ in 0..2 {
        let n = other.recv(&mut buf).await.unwrap();
        notes.add("came", String::from_utf8_lossy(&buf[..n]).into_owned());
    }
    notes.add("then none", say(&other.try_recv(&mut buf)));
    notes.add("to another, connected", say(&other.send_to(b"x", third.local_addr().unwrap()).await));
    notes.add("which gets it", say(&third.recv(&mut buf).await));
}

pub(crate) async fn refused(notes: &mut Notes) {
    let mut buf = [0; 4];
    let (one, _) = socket().await;
    one.connect(nobody().await).await.unwrap();
    notes.add("send", say(&one.send(b"x").await));
    notes.add("recv", say(&one.recv(&mut buf).await));
    notes.add("recv again", say(&one.try_recv(&mut buf)));
    notes.add("send again", say(&one.send(b"x").await));
    one.ready(Interest::ERROR).await.unwrap();
    notes.add("send into the error", say(&one.send(b"x").await));
    let (one, _) = socket().await;
    one.connect(nobody().await).await.unwrap();
    one.send(b"x").await.unwrap();
    one.ready(Interest::ERROR).await.unwrap();
    notes.add("take_error", say(&one.take_error()));
    notes.add("and again", say(&one.take_error()));
    notes.add("then recv", say(&one.try_recv(&mut buf)));
    let (one, _) = socket().await;
    one.connect(nobody().await).await.unwrap();
    one.send(b"x").await.unwrap();
    one.ready(Interest::ERROR).await.unwrap();
    notes.add("peek", say(&one.peek(&mut buf).await));
    notes.add("peek again", say(&one.try_peek(&mut buf)));
    // Who is not connected is not told.
    let (one, at) = socket().await;
    one.send_to(b"x", nobody().await).await.unwrap();
    one.send_to(b"me", at).await.unwrap();
    notes.add("not connected", say(&one.recv(&mut buf).await));
}

pub(crate) async fn readiness(notes: &mut Notes) {
    let all = Interest::READABLE | Interest::WRITABLE | Interest::ERROR;
    let (one, at) = socket().await;
    notes.add("new", one.ready(all).await.unwrap());
    notes.add("try_io", say(&one.try_io(Interest::READABLE, || Ok(()))));
    one.send_to(b"me", at).await.unwrap();
    one.readable().await.unwrap();
    notes.add("data", one.ready(all).await.unwrap());
    notes.add("to read", one.ready(Interest::READABLE).await.unwrap());
    let (one, _) = socket().await;
    one.connect(nobody().await).await.unwrap();
    one.send(b"x").await.unwrap();
    one.ready(Interest::ERROR).await.unwrap();
    notes.add("refused", one.ready(all).await.unwrap());
}

pub(crate) async fn options(notes: &mut Notes) {
    let (one, _) = socket().await;
    notes.add("ttl", one.ttl().unwrap());
    for ttl in [0, 1, 255, 256] {
        notes.add("set ttl", (ttl, say(&one.set_ttl(ttl)), one.ttl().unwrap()));
    }
    notes.add("broadcast", (one.broadcast().unwrap(), say(&one.set_broadcast(true)), one.broadcast().unwrap()));
    notes.add("tos", (one.tos_v4().unwrap(), say(&one.set_tos_v4(0xb9)), one.tos_v4().unwrap()));
    notes.add("group ttl", one.multicast_ttl_v4().unwrap());
    for ttl in [0, 7, 255, 256] {
        notes.add("set group ttl", (ttl, say(&one.set_multicast_ttl_v4(ttl)), one.multicast_ttl_v4().unwrap()));
    }
    notes.add("group loop", (one.multicast_loop_v4().unwrap(), say(&one.set_multicast_loop_v4(false)), one.multicast_loop_v4().unwrap()));
    notes.add("of IPv6", (say(&one.tclass_v6()), say(&one.set_tclass_v6(96)), say(&one.multicast_loop_v6())));
    notes.add("take_error", say(&one.take_error()));
    notes.add("device", (say(&one.device()), say(&one.bind_device(None))));
}

pub(crate) async fn groups(notes: &mut Notes) {
    let (one, _) = socket().await;
    let (group, here) = (Ipv4Addr::new(239, 1, 2, 3), Ipv4Addr::LOCALHOST);
    notes.add("leave before", say(&one.leave_multicast_v4(group, here)));
    notes.add("join", say(&one.join_multicast_v4(group, here)));
    notes.add("join twice", say(&one.join_multicast_v4(group, here)));
    notes.add("leave", say(&one.leave_multicast_v4(group, here)));
    notes.add("leave twice", say(&one.leave_multicast_v4(group, here)));
    notes.add("no group", say(&one.join_multicast_v4(Ipv4Addr::new(10, 1, 2, 3), here)));
    notes.add("by a foreign address", say(&one.join_multicast_v4(group, Ipv4Addr::new(192, 0, 2, 1))));
    notes.add("of IPv6", say(&one.join_multicast_v6(&"ff02::77".parse().unwrap(), 1)));
}
