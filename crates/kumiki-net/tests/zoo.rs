//! What goes wrong with stacks and gateways elsewhere, case by case, as far as it is no gateway's alone (`gateway.rs`)
//! and needs no packets of its own (`host/`).
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use kumiki_inet::tcp::defaults;
use kumiki_net::sim::{self, Link, Net};
use kumiki_net::{Flow, Stack, TcpListener, TcpSocket, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::time::{Instant, sleep};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Reads to the end, and answers with so many octets.
async fn answers(octets: usize) {
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        sim::spawn(async move {
            stream.read_to_end(&mut Vec::new()).await.unwrap();
            stream.write_all(&vec![7; octets]).await.unwrap();
        });
    }
}

/// Sends so many octets, and reads how many come back. How long that took.
async fn asks(to: &str, octets: usize) -> (usize, Duration) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(&vec![9; octets]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).await.unwrap();
    (back.len(), begun.elapsed())
}

// Z5, both ways round: who is outside calls a port that stands for the guest's, and the guest calls out.
#[test]
fn what_is_relayed_goes_at_the_rate_of_the_link() {
    const OCTETS: usize = 2_000_000;
    let net = Net::new(1);
    net.set_latency(10 * MS);
    net.set_link(&Link::new().rate(20_000_000).queue(100_000));
    for name in ["guest", "outside"] {
        net.host(name).start(|| answers(OCTETS));
    }
    net.set_link(&Link::new());
    let gateway = net.gateway("gateway").unwrap();
    gateway.start(|| async {
        let published = TcpListener::bind("0.0.0.0:8080").await.unwrap();
        loop {
            let (mut stream, _) = published.accept().await.unwrap();
            sim::spawn(async move {
                let mut to = TcpStream::connect("guest:80").await.unwrap();
                copy_bidirectional(&mut stream, &mut to).await.unwrap();
            });
        }
    });
    gateway.start(|| async {
        let mut gateway = Stack::current().unwrap().gateway().unwrap();
        while let Ok(Flow::Tcp(offer)) = gateway.accept_any().await {
            sim::spawn(async move {
                let mut to = TcpStream::connect("outside:80").await.unwrap();
                copy_bidirectional(&mut offer.accept().unwrap(), &mut to).await.unwrap();
            });
        }
    });
    for (who, to) in [("outside", "gateway:8080"), ("guest", "203.0.113.9:80")] {
        let (octets, took) = net.host(who).run(asks(to, OCTETS)).unwrap();
        assert_eq!(octets, OCTETS);
        // 0.83 s each way at 20 Mbit/s, with the headers.
        assert!(took < 2100 * MS, "{who}: {took:?}");
    }
    assert_eq!(gateway.stack().counts().streams, 0);
}

// Z13: what waits behind a closed window goes when it opens, however late, and so does the end behind it.
#[test]
fn a_window_that_was_closed_for_long_opens_and_the_end_comes_too() {
    for pause in [SECOND, 60 * SECOND, 2 * HOUR] {
        for loses_the_update in [false, true] {
            let net = Net::new(1);
            let (server, client) = (net.host("server"), net.host("client"));
            let reader = net.clone();
            server.start(move || {
                let net = reader.clone();
                async move {
                    let socket = TcpSocket::new_v4().unwrap();
                    socket.set_recv_buffer_size(20_000).unwrap();
                    socket.bind("0.0.0.0:80".parse().unwrap()).unwrap();
                    let (mut stream, _) = socket.listen(1).unwrap().accept().await.unwrap();
                    sleep(pause).await;
                    // What says that there is room again is lost.
                    let [server, client] = [net.host("server"), net.host("client")];
                    if loses_the_update {
                        net.cut_one_way(&server, &client);
                    }
                    let mut all = vec![0; 20_000];
                    stream.read_exact(&mut all).await.unwrap();
                    sleep(MS).await;
                    net.repair_all();
                    let begun = Instant::now();
                    stream.read_to_end(&mut all).await.unwrap();
                    assert_eq!(all.len(), 60_000);
                    // A probe comes once a minute at the latest.
                    let most = if loses_the_update { 61 * SECOND } else { 10 * MS };
                    assert!(begun.elapsed() < most, "{pause:?} {:?}", begun.elapsed());
                }
            });
            client
                .run(async {
                    let mut stream = TcpStream::connect("server:80").await.unwrap();
                    stream.write_all(&[7; 60_000]).await.unwrap();
                    stream.shutdown().await.unwrap();
                    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
                })
                .unwrap();
        }
    }
}

// Z13: all that there is fits exactly, and the end comes where no octet would.
#[test]
fn the_end_comes_though_the_window_is_full() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(20_000).unwrap();
        socket.bind("0.0.0.0:80".parse().unwrap()).unwrap();
        let (mut stream, _) = socket.listen(1).unwrap().accept().await.unwrap();
        sleep(60 * SECOND).await;
        let begun = Instant::now();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        assert_eq!((all.len(), begun.elapsed() < 10 * MS), (20_000, true));
    });
    net.host("client")
        .run(async {
            let mut stream = TcpStream::connect("server:80").await.unwrap();
            stream.write_all(&[7; 20_000]).await.unwrap();
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        })
        .unwrap();
}

// Z14: a buffer of a few segments, and a reader that is always there: no acknowledgment waits for its timer.
#[test]
fn a_small_buffer_costs_round_trips_and_no_timers() {
    for segments in [1, 2, 4] {
        let net = Net::new(1);
        net.host("server").start(move || async move {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(segments * 1448).unwrap();
            socket.bind("0.0.0.0:80".parse().unwrap()).unwrap();
            let (mut stream, _) = socket.listen(1).unwrap().accept().await.unwrap();
            stream.read_to_end(&mut Vec::new()).await.unwrap();
        });
        let took: Result<Duration, _> = net.host("client").run(async {
            let begun = Instant::now();
            let mut stream = TcpStream::connect("server:80").await.unwrap();
            stream.write_all(&[7; 144_800]).await.unwrap();
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
            begun.elapsed()
        });
        // A round trip is 1 ms, and for each there is a buffer at least. An acknowledgment that waits takes 40 ms.
        let took = took.unwrap();
        assert!(took < (100 / segments + 10) * MS, "{segments}: {took:?}");
    }
}

// Z15: through a queue of one round trip.
#[test]
fn a_larger_buffer_is_not_slower() {
    const OCTETS: usize = 8_000_000;
    let took = |buffer: u32| {
        let net = Net::new(1);
        net.set_link(&Link::new().rate(50_000_000).delay(5 * MS).queue(125_000));
        let most = buffer.max(64 * 1024);
        net.set_tcp(kumiki_inet::tcp::Config {
            send_buffer: buffer,
            receive_buffer: buffer,
            max_send_buffer: most,
            max_receive_buffer: most,
            ..defaults::modern()
        });
        net.host("server").start(|| answers(OCTETS));
        net.host("client").run(asks("server:80", 1)).unwrap().1
    };
    let mut before = took(64 << 10);
    for buffer in [256 << 10, 1 << 20, 4 << 20, 16 << 20] {
        let now = took(buffer);
        assert!(now < before * 11 / 10, "{buffer}: {now:?}, with less {before:?}");
        before = before.min(now);
    }
}
