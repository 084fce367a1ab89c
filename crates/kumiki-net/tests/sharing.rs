//! Addresses that several sockets have, groups of hosts, and rules about packets.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::wildcard_enum_match_arm, missing_docs)]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use kumiki_net::sim::{self, Net, Packet, Payload, Verdict};
use kumiki_net::{Sharing, SocketCounts, TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const MS: Duration = Duration::from_millis(1);
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);
const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// What comes to the socket within the next milliseconds.
async fn got(socket: &UdpSocket) -> Vec<(String, SocketAddr)> {
    let mut all = Vec::new();
    let mut buf = [0; 100];
    while let Ok(received) = sim::time::timeout(5 * MS, socket.recv_from(&mut buf)).await {
        let (n, from) = received.unwrap();
        all.push((String::from_utf8_lossy(&buf[..n]).into_owned(), from));
    }
    all
}

#[test]
fn two_addresses_have_a_port_each_and_the_better_fit_is_first() {
    let net = Net::new(1);
    net.host("server");
    net.host("client")
        .run(async {
            let here = UdpSocket::bind("127.0.0.1:7").await.unwrap();
            let line = UdpSocket::bind("192.168.0.2:7").await.unwrap();
            assert_eq!(UdpSocket::bind("0.0.0.0:7").await.unwrap_err().kind(), ErrorKind::AddrInUse);
            let sender = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            sender.send_to(b"a", "127.0.0.1:7").await.unwrap();
            sender.send_to(b"b", "192.168.0.2:7").await.unwrap();
            assert_eq!((got(&here).await[0].0.as_str(), got(&line).await[0].0.as_str()), ("a", "b"));

            let shared = async |at: &str| UdpSocket::bind_shared(at, Sharing::Latest).await.unwrap();
            let (any, exact, peer) =
                (shared("0.0.0.0:8").await, shared("127.0.0.1:8").await, shared("0.0.0.0:8").await);
            peer.connect(("127.0.0.1", sender.local_addr().unwrap().port())).await.unwrap();
            let other = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            sender.send_to(b"to the one that is connected", "127.0.0.1:8").await.unwrap();
            other.send_to(b"to the one with the address", "127.0.0.1:8").await.unwrap();
            other.send_to(b"to any", "127.0.0.2:8").await.unwrap();
            assert_eq!([got(&any).await.len(), got(&exact).await.len(), got(&peer).await.len()], [1; 3]);
            drop((any, exact, peer));
            UdpSocket::bind("0.0.0.0:8").await.unwrap();
        })
        .unwrap();
}

#[test]
fn a_group_reaches_its_members_on_all_hosts() {
    let net = Net::new(1);
    for name in ["one", "two", "three"] {
        net.host(name).start(move || async move {
            let sockets = [
                UdpSocket::bind_shared("0.0.0.0:7", Sharing::Latest).await.unwrap(),
                UdpSocket::bind_shared("0.0.0.0:7", Sharing::Latest).await.unwrap(),
            ];
            if name != "three" {
                sockets[0].join_multicast_v4(GROUP, ANY).unwrap();
            }
            let seen = [got(&sockets[0]).await, got(&sockets[1]).await];
            let expected = usize::from(name != "three");
            assert_eq!([seen[0].len(), seen[1].len()], [expected; 2], "{name}");
        });
    }
    let sender = net.host("sender");
    sender
        .run(async {
            let socket = UdpSocket::bind("0.0.0.0:9").await.unwrap();
            sim::time::sleep(MS).await;
            socket.send_to(b"all", (GROUP, 7)).await.unwrap();
            assert!(got(&socket).await.is_empty());
            // Its own host has it, too, unless it says otherwise.
            socket.join_multicast_v4(GROUP, Ipv4Addr::new(192, 168, 0, 4)).unwrap();
            socket.send_to(b"own", (GROUP, 9)).await.unwrap();
            assert_eq!(got(&socket).await.len(), 1);
            socket.set_multicast_loop_v4(false).unwrap();
            socket.send_to(b"others", (GROUP, 9)).await.unwrap();
            assert!(got(&socket).await.is_empty());
            socket.set_multicast_loop_v4(true).unwrap();
            socket.leave_multicast_v4(GROUP, ANY).unwrap();
            socket.send_to(b"no more", (GROUP, 9)).await.unwrap();
            assert!(got(&socket).await.is_empty());

            let (group, six): (Ipv6Addr, _) = ("ff05::77".parse().unwrap(), UdpSocket::bind("[::]:10").await.unwrap());
            six.join_multicast_v6(&group, 0).unwrap();
            six.send_to(b"six", (group, 10)).await.unwrap();
            assert_eq!(got(&six).await.len(), 1);
            six.join_multicast_v4(GROUP, ANY).unwrap();
            socket.send_to(b"four", (GROUP, 10)).await.unwrap();
            assert_eq!(got(&six).await[0].1.ip().to_string(), "::ffff:192.168.0.4");
        })
        .unwrap();
    assert_eq!(sender.stack().counts(), SocketCounts::default());
}

#[test]
fn a_listener_that_is_full_holds_up_none_of_its_group() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let listens = || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseport(true).unwrap();
            socket.bind("0.0.0.0:7".parse().unwrap()).unwrap();
            socket.listen(1).unwrap()
        };
        let (never, accepts) = (listens(), listens());
        for _ in 0..40 {
            accepts.accept().await.unwrap();
        }
        // Who joins later, and has places, helps at once.
        let third = listens();
        third.accept().await.unwrap();
        drop(never);
    });
    let taken = net.host("client").run(async {
        let mut streams = Vec::new();
        for _ in 0..43 {
            streams.push(sim::time::timeout(Duration::from_secs(60), TcpStream::connect("server:7")).await);
            sim::time::sleep(MS).await;
        }
        streams.iter().filter(|it| matches!(it, Ok(Ok(_)))).count()
    });
    assert_eq!(taken, Ok(43));
}

#[test]
fn a_broadcast_reaches_all_hosts() {
    let net = Net::new(1);
    for name in ["one", "two"] {
        net.host(name).start(|| async {
            let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
            let seen = got(&socket).await;
            assert_eq!(seen[0].0, "all of you");
            socket.send_to(b"here", seen[0].1).await.unwrap();
        });
    }
    let answers = net.host("sender").run(async {
        let socket = UdpSocket::bind("0.0.0.0:9").await.unwrap();
        sim::time::sleep(MS).await;
        assert_eq!(socket.send_to(b"x", "255.255.255.255:7").await.unwrap_err().kind(), ErrorKind::PermissionDenied);
        socket.set_broadcast(true).unwrap();
        socket.send_to(b"all of you", "255.255.255.255:7").await.unwrap();
        sim::time::sleep(5 * MS).await;
        got(&socket).await.len()
    });
    assert_eq!(answers.unwrap(), 2);
}

#[test]
fn listeners_share_an_address_and_the_next_takes_over() {
    let listen = || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseport(true).unwrap();
        socket.bind("0.0.0.0:7".parse().unwrap()).unwrap();
        socket.listen(100).unwrap()
    };
    let net = Net::new(1);
    let host = net.host("alone");
    host.run(async {
        let serve = |listener: TcpListener, name: u8| {
            sim::spawn(async move {
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    stream.write_all(&[name]).await.unwrap();
                }
            })
        };
        let ask = async |times| {
            let mut answers = BTreeMap::<u8, usize>::new();
            for _ in 0..times {
                let mut stream = TcpStream::connect("127.0.0.1:7").await.unwrap();
                *answers.entry(stream.read_u8().await.unwrap()).or_default() += 1;
            }
            answers
        };
        let tasks: Vec<_> = (0..3).map(|name| serve(listen(), name)).collect();
        assert_eq!(TcpListener::bind("0.0.0.0:7").await.unwrap_err().kind(), ErrorKind::AddrInUse);
        let answers = ask(300).await;
        assert!((0..3).all(|name| answers[&name] > 60), "{answers:?}");
        // The first of them has TCP's callers for all.
        for (gone, task) in tasks.into_iter().enumerate() {
            task.abort();
            let _ = task.await;
            if gone < 2 {
                let answers = ask(50).await;
                assert_eq!(answers.len(), 2 - gone, "{answers:?}");
            }
        }
        assert_eq!(TcpStream::connect("127.0.0.1:7").await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        TcpListener::bind("0.0.0.0:7").await.unwrap();
    })
    .unwrap();
}

#[test]
fn a_rule_decides_about_packets_until_its_guard_is_gone() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"hello").await.unwrap();
        }
    });
    let call = async || {
        let begin = sim::time::elapsed();
        let mut stream = TcpStream::connect("server:7").await.unwrap();
        stream.read_exact(&mut [0; 5]).await.unwrap();
        sim::time::elapsed() - begin
    };
    net.host("client")
        .run(async {
            let net = Net::current().unwrap();
            let alone = call().await;
            let slow = net.rule(|packet: &Packet| match &packet.payload {
                Payload::Tcp(segment) if segment.flags.syn => Verdict::Deliver(100 * MS),
                _ => Verdict::Pass,
            });
            let after = net.rule(|packet: &Packet| if packet.ttl == 64 { Verdict::Pass } else { Verdict::Drop });
            // Two SYNs, of half a millisecond each otherwise.
            assert_eq!(call().await, alone + 199 * MS);
            drop((slow, after));
            assert_eq!(call().await, alone);
            let mut syns = 0;
            net.rule(move |packet: &Packet| match &packet.payload {
                Payload::Tcp(segment) if segment.flags.syn && !segment.flags.ack && segment.dst_port == 7 => {
                    syns += 1;
                    if syns == 1 { Verdict::Drop } else { Verdict::Pass }
                }
                _ => Verdict::Pass,
            })
            .forget();
            assert!(call().await > 900 * MS, "the first SYN is lost");
            assert_eq!(call().await, alone);
        })
        .unwrap();
}
