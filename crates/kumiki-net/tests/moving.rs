//! Addresses that come and go while sockets are there. What Linux does was tried with it: the errors, and what stays.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kumiki_net::sim::{self, Link, Net};
use kumiki_net::{Stack, TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Answers octet by octet, at the address that is given.
async fn echo(at: &'static str) {
    let listener = TcpListener::bind(at).await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        sim::spawn(async move {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
        });
    }
}

async fn works(stream: &mut TcpStream) {
    stream.write_all(b"x").await.unwrap();
    stream.read_exact(&mut [0]).await.unwrap();
}

#[test]
fn a_listener_at_all_addresses_has_callers_of_a_new_one_and_a_host_is_found_by_its_name() {
    for (bound, next) in [("0.0.0.0:7", "10.7.0.9"), ("[::]:7", "10.7.0.9"), ("[::]:7", "fd07::9")] {
        let net = Net::new(1);
        let server = net.host("server");
        server.start(move || echo(bound));
        net.host("client")
            .run(async move {
                assert!(timeout(SECOND, TcpStream::connect((ip(next), 7))).await.is_err(), "nobody has it");
                server.add_address(ip(next)).unwrap();
                let mut stream = TcpStream::connect((ip(next), 7)).await.unwrap();
                works(&mut stream).await;
                let old = server.addresses().into_iter().filter(|it| *it != ip(next));
                old.for_each(|it| server.remove_address(it).unwrap());
                let mut stream = TcpStream::connect("server:7").await.unwrap();
                assert_eq!(stream.peer_addr().unwrap().ip(), ip(next));
                works(&mut stream).await;
            })
            .unwrap();
    }
}

#[test]
fn a_connection_waits_for_its_address_and_goes_on_when_that_is_there_again() {
    let net = Net::new(2);
    net.host("server").start(|| echo("0.0.0.0:7"));
    let client = net.host("client");
    let own = client.addresses()[0];
    let of_client = client.clone();
    client
        .run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            assert_eq!(stream.local_addr().unwrap().ip(), own);
            of_client.remove_address(own).unwrap();
            stream.write_all(b"hello").await.unwrap();
            let mut back = [0; 5];
            assert!(timeout(5 * SECOND, stream.read(&mut back)).await.is_err());
            of_client.add_address(own).unwrap();
            timeout(10 * SECOND, stream.read_exact(&mut back)).await.unwrap().unwrap();
            assert_eq!(&back, b"hello");
        })
        .unwrap();
}

#[test]
fn a_connection_whose_address_does_not_come_back_times_out_at_both_ends() {
    let net = Net::new(3);
    net.host("server").start(async || {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        sleep(2 * SECOND).await;
        stream.write_all(b"to nobody").await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    });
    let client = net.host("client");
    let of_client = client.clone();
    client
        .run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            sleep(SECOND).await;
            of_client.move_to([ip("10.7.0.9"), ip("fd07::9")], None).unwrap();
            stream.write_all(b"x").await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap_err().kind(), ErrorKind::TimedOut);
            // And whoever calls now is somebody new, from where the host is.
            sleep(Duration::from_secs(2000)).await;
            assert_eq!(Stack::current().unwrap().counts().orphans, 0);
        })
        .unwrap();
}

#[test]
fn a_later_call_is_from_where_the_host_is() {
    let net = Net::new(4);
    net.host("server").start(|| echo("[::]:7"));
    let client = net.host("phone");
    let of_client = client.clone();
    client
        .run(async move {
            let before = TcpStream::connect("server:7").await.unwrap().local_addr().unwrap();
            let lte = Link::new().rate(10_000_000).delay(Duration::from_millis(40));
            of_client.move_to([ip("10.7.0.9")], &lte).unwrap();
            let begin = sim::time::elapsed();
            let mut stream = TcpStream::connect("192.168.0.1:7").await.unwrap();
            assert!(sim::time::elapsed() - begin >= Duration::from_millis(80), "the line is another one");
            assert_eq!(stream.local_addr().unwrap().ip(), ip("10.7.0.9"));
            works(&mut stream).await;
            let none = TcpStream::connect("[fd00::1]:7").await.unwrap_err();
            assert_eq!(none.kind(), ErrorKind::NetworkUnreachable);
            of_client.move_to([], None).unwrap();
            for to in ["192.168.0.1:7", "[fd00::1]:7"] {
                let none = TcpStream::connect(to).await.unwrap_err();
                assert_eq!(none.kind(), ErrorKind::NetworkUnreachable, "{to}");
            }
            of_client.move_to([before.ip()], None).unwrap();
            works(&mut TcpStream::connect("server:7").await.unwrap()).await;
        })
        .unwrap();
}

#[test]
fn an_address_that_was_chosen_and_has_gone_is_told_as_linux_does() {
    let net = Net::new(5);
    let peer = net.host("peer");
    let client = net.host("client");
    let [own, _] = <[IpAddr; 2]>::try_from(client.addresses()).unwrap();
    let of_client = client.clone();
    client
        .run(async move {
            let to = SocketAddr::new(peer.addresses()[0], 7);
            let bound = TcpSocket::new_v4().unwrap();
            bound.bind(SocketAddr::new(own, 0)).unwrap();
            let connected = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            let named = UdpSocket::bind((own, 0)).await.unwrap();
            connected.connect(to).await.unwrap();
            of_client.remove_address(own).unwrap();
            for socket in [&connected, &named] {
                assert_eq!(socket.send_to(b"x", to).await.unwrap_err().kind(), ErrorKind::NetworkUnreachable);
            }
            of_client.add_address(ip("10.7.0.9")).unwrap();
            // It keeps the address that it was connected from.
            assert_eq!(connected.local_addr().unwrap().ip(), own);
            assert_eq!(connected.send(b"x").await.unwrap_err().kind(), ErrorKind::NetworkUnreachable);
            assert_eq!(named.send_to(b"x", to).await.unwrap_err().kind(), ErrorKind::NetworkUnreachable);
            assert_eq!(bound.connect(to).await.unwrap_err().kind(), ErrorKind::NetworkUnreachable);
            let gone = UdpSocket::bind((own, 0)).await.unwrap_err();
            assert_eq!(gone.kind(), ErrorKind::AddrNotAvailable);
            let other = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            other.send_to(b"x", to).await.unwrap();
        })
        .unwrap();
}

#[test]
fn datagrams_of_who_sends_to_several_come_from_where_the_host_is() {
    let net = Net::new(6);
    net.host("server").start(async || {
        let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
        loop {
            let (_, from) = socket.recv_from(&mut [0]).await.unwrap();
            socket.send_to(from.to_string().as_bytes(), from).await.unwrap();
        }
    });
    let client = net.host("client");
    let of_client = client.clone();
    client
        .run(async move {
            let socket = UdpSocket::bind("0.0.0.0:99").await.unwrap();
            for own in ["10.7.0.9", "10.7.0.10"] {
                of_client.move_to([ip(own)], None).unwrap();
                socket.send_to(b"x", "192.168.0.1:7").await.unwrap();
                let mut seen = [0; 40];
                let (octets, _) = socket.recv_from(&mut seen).await.unwrap();
                assert_eq!(seen[..octets], *format!("{own}:99").as_bytes());
            }
        })
        .unwrap();
}

#[test]
fn what_cannot_be_is_said_and_changes_nothing() {
    let net = Net::new(7);
    let server = net.host_at("server", [ip("10.0.0.1"), ip("10.0.0.2")]).unwrap();
    let client = net.host("client");
    let before = server.addresses();
    for (address, kind) in [
        ("10.0.0.1", ErrorKind::AlreadyExists),
        ("192.168.0.2", ErrorKind::AddrInUse),
        ("224.0.0.1", ErrorKind::InvalidInput),
        ("0.0.0.0", ErrorKind::InvalidInput),
        ("fd00::9", ErrorKind::Unsupported),
    ] {
        assert_eq!(server.add_address(ip(address)).unwrap_err().kind(), kind, "{address}");
        if kind != ErrorKind::AlreadyExists {
            assert_eq!(server.move_to([ip("10.0.0.3"), ip(address)], None).unwrap_err().kind(), kind, "{address}");
        }
        assert_eq!(server.addresses(), before);
    }
    assert_eq!(server.remove_address(ip("10.0.0.9")).unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    assert_eq!(net.gateway("all").unwrap().add_address(ip("10.0.0.9")).unwrap_err().kind(), ErrorKind::Unsupported);
    let stack = client.stack();
    let line = stack.line(0);
    let (network, router) = (ip("10.8.0.0"), Some(ip("192.168.0.1")));
    line.add_route(network, 16, router).unwrap();
    assert_eq!(line.add_route(network, 16, router).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(stack.network().routes.len(), 1);
    line.remove_route(network, 16, router).unwrap();
    assert_eq!(line.remove_route(network, 16, router).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(line.add_route(network, 33, None).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(line.add_route(network, 16, Some(ip("fd00::1"))).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(line.set_mtu(Some(67)).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(stack.line(1).set_mtu(None).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_host_that_moved_while_it_was_down_starts_where_it_is() {
    let net = Net::new(8);
    let server = net.host("server");
    server.start(|| echo("0.0.0.0:7"));
    net.host("client")
        .run(async move {
            server.crash();
            server.move_to([ip("10.7.0.9")], None).unwrap();
            server.restart();
            sleep(SECOND).await;
            works(&mut TcpStream::connect("server:7").await.unwrap()).await;
            assert_eq!(server.stack().network().addresses.len(), 1);
        })
        .unwrap();
}

#[test]
fn who_waits_for_a_change_hears_of_it_and_of_the_end_of_the_host() {
    let net = Net::new(9);
    let client = net.host("client");
    let of_client = client.clone();
    let mover = client.clone();
    net.at(SECOND, move |_| mover.move_to([ip("10.7.0.9")], None).unwrap());
    net.host("watcher")
        .run(async move {
            let stack = of_client.stack();
            let mut network = stack.network();
            while network.addresses.iter().all(|it| it.address != ip("10.7.0.9")) {
                network = stack.network_after(network.version).await.unwrap();
            }
            assert_eq!(sim::time::elapsed(), SECOND);
            let waits = stack.network_after(stack.network().version);
            let crash = async {
                sleep(SECOND).await;
                of_client.crash();
            };
            let (ended, ()) = tokio::join!(waits, crash);
            assert_eq!(ended.unwrap_err().kind(), ErrorKind::NetworkDown);
        })
        .unwrap();
}

#[test]
fn a_smaller_mtu_is_that_of_connections_that_are_there() {
    let net = Net::new(10);
    net.host("server").start(|| echo("0.0.0.0:7"));
    let client = net.host("client");
    let longest = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&longest);
    let _rule = net.rule(move |packet: &sim::Packet| {
        if packet.src == ip("192.168.0.2") {
            seen.fetch_max(packet.len, Ordering::Relaxed);
        }
        sim::Verdict::Pass
    });
    let counted = Arc::clone(&longest);
    client
        .run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            let mut sent = async |octets: usize| {
                counted.store(0, Ordering::Relaxed);
                stream.write_all(&vec![1; octets]).await.unwrap();
                stream.read_exact(&mut vec![0; octets]).await.unwrap();
                counted.load(Ordering::Relaxed)
            };
            assert_eq!(sent(10_000).await, 1500);
            let stack = Stack::current().unwrap();
            stack.line(0).set_mtu(Some(1000)).unwrap();
            assert_eq!(sent(10_000).await, 1000);
            stack.line(0).set_mtu(None).unwrap();
            assert_eq!(stack.network().mtu, [1500]);
        })
        .unwrap();
}

#[test]
fn moving_repeats() {
    let run = || {
        let net = Net::new(11);
        net.host("server").start(|| echo("0.0.0.0:7"));
        let client = net.host("client");
        let of_client = client.clone();
        client
            .run(async move {
                for n in 1..20 {
                    of_client.move_to([ip(&format!("10.7.0.{n}"))], None).unwrap();
                    works(&mut TcpStream::connect("server:7").await.unwrap()).await;
                }
            })
            .unwrap();
        net.digest()
    };
    assert_eq!(run(), run());
}
