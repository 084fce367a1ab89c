//! TCP sockets in virtual time.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::io::{self, ErrorKind};
use std::time::Duration;

use kumiki_net::sim::{self, Link, Net};
use kumiki_net::{SocketCounts, TcpListener, TcpSocket, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const MS: Duration = Duration::from_millis(1);

/// Two hosts with 10 ms between them; `server` sends back what comes, `client` does as it is told.
fn with_echo<T>(client: impl Future<Output = T>) -> T {
    let net = Net::new(1);
    net.set_latency(10 * MS);
    net.host("server").start(echo);
    net.host("client").run(client).unwrap()
}

async fn echo() {
    let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        sim::spawn(async move {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
            let _ = to.shutdown().await;
        });
    }
}

#[test]
fn what_is_written_comes_back_after_a_round_trip() {
    with_echo(async {
        let mut stream = TcpStream::connect("server:7").await.unwrap();
        assert_eq!(sim::time::elapsed(), 20 * MS, "a handshake is one round trip");
        stream.write_all(b"hello").await.unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"hello");
        assert_eq!(sim::time::elapsed(), 40 * MS);
        assert_eq!(stream.peer_addr().unwrap().to_string(), "192.168.0.1:7");
        assert_eq!(stream.local_addr().unwrap().ip().to_string(), "192.168.0.2");
        assert_eq!(tokio::time::Instant::now().elapsed(), Duration::ZERO);
    });
}

#[test]
fn the_end_of_a_write_of_several_segments_waits_for_nothing_as_with_linux() {
    use kumiki_net::tcp::config::{self, Coalesce, Config};
    let spent = |tcp: Option<Config>, nodelay: Option<bool>| {
        let net = Net::new(1);
        net.set_latency(10 * MS);
        if let Some(tcp) = tcp {
            net.set_tcp(tcp);
        }
        net.host("server").start(echo);
        let spent = net.host("client").run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            assert!(!stream.nodelay().unwrap());
            if let Some(nodelay) = nodelay {
                stream.set_nodelay(true).unwrap();
                assert!(stream.nodelay().unwrap());
                stream.set_nodelay(nodelay).unwrap();
            }
            let before = sim::time::elapsed();
            stream.write_all(&[7; 4000]).await.unwrap();
            stream.read_exact(&mut [0; 4000]).await.unwrap();
            sim::time::elapsed() - before
        });
        spent.unwrap()
    };
    assert_eq!(spent(None, None), 20 * MS);
    assert_eq!(spent(None, Some(false)), 20 * MS);
    // By RFC 896 alone it waits for acknowledgments, of which the server's echo waits for others.
    let nagle = Config { coalesce: Coalesce::Nagle, ..config::usual() };
    assert!(spent(Some(nagle.clone()), None) >= 40 * MS);
    assert!(spent(Some(nagle), Some(false)) >= 40 * MS);
}

#[test]
fn megabytes_come_back_whole_through_loss_and_reordering() {
    let net = Net::new(3);
    net.set_link(&Link::new().rate(100_000_000).delay(5 * MS).loss(0.01).reorder(0.01).duplicate(0.01));
    net.host("server").start(echo);
    let sent: Vec<u8> = (0..2_000_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    let expected = sent.clone();
    let got = net.host("client").run(async move {
        let stream = TcpStream::connect("server:7").await.unwrap();
        let (mut from, mut to) = stream.into_split();
        sim::spawn(async move {
            to.write_all(&sent).await.unwrap();
        });
        let mut got = Vec::new();
        from.read_to_end(&mut got).await.unwrap();
        got
    });
    assert!(got.unwrap() == expected);
}

#[test]
fn nobody_listens_nobody_answers_and_nobody_has_the_name() {
    let net = Net::new(1);
    net.host("server");
    let lost = net.host("lost");
    let client = net.host("client");
    net.partition(&[lost], std::slice::from_ref(&client));
    let kinds = client.run(async {
        let mut kinds = Vec::new();
        for address in ["server:7", "lost:7", "nobody:7", "192.168.9.9:7", "nonsense"] {
            kinds.push(TcpStream::connect(address).await.unwrap_err().kind());
        }
        kinds
    });
    use ErrorKind::{ConnectionRefused, InvalidInput, NotFound, TimedOut};
    assert_eq!(kinds.unwrap(), [ConnectionRefused, TimedOut, NotFound, TimedOut, InvalidInput]);
}

#[test]
fn both_versions_of_ip_reach_one_socket() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let listener = TcpListener::bind("[::]:7").await.unwrap();
        loop {
            let (mut stream, from) = listener.accept().await.unwrap();
            stream.write_all(from.ip().to_string().as_bytes()).await.unwrap();
        }
    });
    let seen = net.host("client").run(async {
        let mut seen = Vec::new();
        for address in ["192.168.0.1:7", "[fd00::1]:7"] {
            let mut text = String::new();
            TcpStream::connect(address).await.unwrap().read_to_string(&mut text).await.unwrap();
            seen.push(text);
        }
        seen
    });
    assert_eq!(seen.unwrap(), ["::ffff:192.168.0.2", "fd00::2"]);
}

#[test]
fn a_host_talks_to_itself() {
    Net::new(1)
        .host("alone")
        .run(async {
            for address in ["127.0.0.1:80", "[::1]:80", "192.168.0.1:81", "[fd00::1]:81"] {
                let listener = TcpListener::bind(address).await.unwrap();
                let (client, server) = tokio::join!(TcpStream::connect(address), listener.accept());
                let (mut client, (mut server, from)) = (client.unwrap(), server.unwrap());
                assert_eq!(client.local_addr().unwrap(), from);
                client.write_all(b"me").await.unwrap();
                let mut got = [0; 2];
                server.read_exact(&mut got).await.unwrap();
                assert_eq!(sim::time::elapsed(), Duration::ZERO);
            }
        })
        .unwrap();
}

#[test]
fn each_direction_ends_by_itself() {
    with_echo(async {
        let mut stream = TcpStream::connect("server:7").await.unwrap();
        stream.write_all(b"all of it").await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(stream.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        let mut got = String::new();
        stream.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, "all of it");
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    });
}

#[test]
fn what_nobody_read_resets() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        stream.readable().await.unwrap();
    });
    let kinds = net.host("client").run(async {
        let mut stream = TcpStream::connect("server:7").await.unwrap();
        stream.write_all(b"unread").await.unwrap();
        let read = stream.read(&mut [0]).await.unwrap_err().kind();
        let write = stream.write(b"x").await.unwrap_err().kind();
        (read, write, stream.read(&mut [0]).await.unwrap())
    });
    assert_eq!(kinds.unwrap(), (ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, 0));
}

#[test]
fn a_reader_that_waits_holds_the_writer_back() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(65_536).unwrap();
        socket.bind("0.0.0.0:7".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let mut got = Vec::new();
        stream.read_to_end(&mut got).await.unwrap();
        assert_eq!(got.len(), 1_000_000);
    });
    let took = net.host("client").run(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(65_536).unwrap();
        let mut stream = socket.connect("192.168.0.1:7".parse().unwrap()).await.unwrap();
        stream.write_all(&vec![7; 1_000_000]).await.unwrap();
        let took = sim::time::elapsed();
        stream.shutdown().await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "until the server has read all");
        took
    });
    let took = took.unwrap();
    assert!(took > Duration::from_secs(5) && took < Duration::from_secs(6), "{took:?}");
}

#[test]
fn sockets_are_counted_and_none_is_left() {
    let net = Net::new(1);
    net.host("server").start(echo);
    let client = net.host("client");
    client
        .run(async {
            for _ in 0..300 {
                let mut stream = TcpStream::connect("server:7").await?;
                stream.write_all(b"x").await?;
                stream.read_exact(&mut [0]).await?;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            let host = Net::current().unwrap().host("client");
            assert_eq!(host.stack().counts(), SocketCounts::default(), "{}", host.netstat());
            io::Result::Ok(())
        })
        .unwrap()
        .unwrap();
}

#[test]
fn a_call_that_is_given_up_leaves_nothing() {
    let net = Net::new(1);
    let (server, client) = (net.host("server"), net.host("client"));
    net.partition(&[server], std::slice::from_ref(&client));
    let host = client.clone();
    client
        .run(async move {
            let call = TcpStream::connect("server:7");
            assert!(tokio::time::timeout(Duration::from_secs(2), call).await.is_err());
            sim::time::sleep(MS).await;
            assert_eq!(host.stack().counts(), SocketCounts::default());
            assert_eq!(host.netstat().0, [], "{}", host.netstat());
        })
        .unwrap();
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let run = |seed| {
        let net = Net::new(seed);
        net.set_link(&Link::new().rate(10_000_000).delay(5 * MS).jitter(3 * MS).loss(0.02));
        net.host("server").start(echo);
        for name in ["a", "b", "c"] {
            net.host(name).start(move || async move {
                let mut stream = TcpStream::connect("server:7").await.unwrap();
                let (mut from, mut to) = stream.split();
                let octets = vec![7; 200_000];
                let mut back = vec![0; 200_000];
                let (sent, got) = tokio::join!(to.write_all(&octets), from.read_exact(&mut back));
                sent.unwrap();
                got.unwrap();
            });
        }
        net.run(async { tokio::time::sleep(Duration::from_secs(5)).await }).unwrap();
        (net.digest(), net.packets())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn tokio_timers_keep_to_their_lines_and_ours_to_the_nanosecond() {
    let net = Net::new(1);
    net.set_latency(Duration::from_nanos(777_123));
    net.host("server").start(echo);
    net.host("client")
        .run(async {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            assert_eq!(sim::time::elapsed(), Duration::from_nanos(2 * 777_123));
            tokio::time::sleep(Duration::from_micros(1_500)).await;
            // 1.554 ms and 1.5 ms: up to the next line.
            assert_eq!(sim::time::elapsed(), 4 * MS);
            sim::time::sleep(Duration::from_nanos(123_457)).await;
            assert_eq!(sim::time::elapsed(), Duration::from_nanos(4_123_457));
            stream.write_all(b"x").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            assert_eq!(sim::time::elapsed(), Duration::from_nanos(4_123_457 + 2 * 777_123));
            let timed = sim::time::timeout(Duration::from_nanos(11), stream.read(&mut [0])).await;
            assert!(timed.is_err());
            assert_eq!(sim::time::elapsed(), Duration::from_nanos(4_123_468 + 2 * 777_123));
        })
        .unwrap();
}

#[test]
fn an_address_is_free_when_its_socket_is_dropped() {
    Net::new(1)
        .host("alone")
        .run(async {
            for _ in 0..3 {
                drop(TcpListener::bind("0.0.0.0:80").await.unwrap());
                drop(kumiki_net::UdpSocket::bind("0.0.0.0:80").await.unwrap());
            }
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            let (called, accepted) = tokio::join!(TcpStream::connect("127.0.0.1:80"), listener.accept());
            called.unwrap().write_all(b"x").await.unwrap();
            accepted.unwrap().0.read_exact(&mut [0]).await.unwrap();
        })
        .unwrap();
}

#[test]
fn a_call_that_nobody_has_answered_shows_where_it_comes_from() {
    let net = Net::new(1);
    let host = net.host("client");
    let shown = host.clone();
    host.run(async move {
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind("192.168.0.1:5000".parse().unwrap()).unwrap();
        let call = sim::spawn(TcpStream::connect("192.168.0.9:7"));
        let second = sim::spawn(bound.connect("192.168.0.9:7".parse().unwrap()));
        sim::time::sleep(MS).await;
        let entries = shown.netstat().0;
        let locals: Vec<_> = entries.iter().map(|it| (it.local.ip().to_string(), it.state)).collect();
        assert_eq!(
            locals,
            [("192.168.0.1".to_owned(), Some("SYN-SENT")), ("192.168.0.1".to_owned(), Some("SYN-SENT"))]
        );
        assert!(entries[0].local.port() >= 49152 && entries[1].local.port() == 5000, "{entries:?}");
        call.abort();
        second.abort();
    })
    .unwrap();
}
