//! Futures that are dropped wherever they wait, leaked, or that panic: nothing is left of them, and no other flow
//! notices.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, missing_docs)]

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use kumiki_net::sim::{self, Host, Link, Net, SimError};
use kumiki_net::{SocketCounts, TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};

type Work = Pin<Box<dyn Future<Output = io::Result<()>>>>;
type Named = (&'static str, fn() -> Work);

/// What may be dropped, by name.
const CLIENTS: &[Named] = &[
    ("connect by address", || Box::pin(async { TcpStream::connect("192.168.0.1:7").await.map(drop) })),
    ("connect by name", || Box::pin(async { TcpStream::connect("server:7").await.map(drop) })),
    ("connect bound", || {
        Box::pin(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind("0.0.0.0:7777".parse().unwrap())?;
            socket.connect("192.168.0.1:7".parse().unwrap()).await.map(drop)
        })
    }),
    ("connect to nobody", || {
        Box::pin(async {
            TcpStream::connect(
                &["192.168.0.1:1".parse().unwrap(), "192.168.0.1:7".parse().unwrap()][..] as &[std::net::SocketAddr],
            )
            .await
            .map(drop)
        })
    }),
    ("exchange", || Box::pin(exchange())),
    ("half-close", || Box::pin(half_close())),
    ("halves", || Box::pin(halves())),
    ("ready", || Box::pin(ready())),
    ("datagrams", || Box::pin(datagrams())),
];

const SERVERS: &[Named] = &[
    ("accept", || Box::pin(async { TcpListener::bind("0.0.0.0:9").await?.accept().await.map(drop) })),
    ("accept and read", || {
        Box::pin(async {
            let (mut stream, _) = TcpListener::bind("0.0.0.0:9").await?.accept().await?;
            stream.read_to_end(&mut Vec::new()).await.map(drop)
        })
    }),
    ("accept and write", || {
        Box::pin(async {
            let (mut stream, _) = TcpListener::bind("0.0.0.0:9").await?.accept().await?;
            stream.write_all(&[7; 200_000]).await?;
            stream.shutdown().await
        })
    }),
    ("accept two", || {
        Box::pin(async {
            let listener = TcpListener::bind("0.0.0.0:9").await?;
            let (first, second) = tokio::join!(listener.accept(), listener.accept());
            first.and(second).map(drop)
        })
    }),
];

async fn exchange() -> io::Result<()> {
    let mut stream = TcpStream::connect("server:7").await?;
    let mut back = vec![0; 100_000];
    stream.write_all(b"hello").await?;
    stream.peek(&mut back).await?;
    stream.read_exact(&mut back[..5]).await?;
    let (mut from, mut to) = stream.split();
    let (read, written) = tokio::join!(from.read_exact(&mut back), to.write_all(&[7; 100_000]));
    read.and(written)
}

async fn half_close() -> io::Result<()> {
    let mut stream = TcpStream::connect("server:7").await?;
    stream.write_all(b"all of it").await?;
    stream.shutdown().await?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await?;
    assert_eq!(all, b"all of it");
    Ok(())
}

async fn halves() -> io::Result<()> {
    let (mut from, mut to) = TcpStream::connect("server:7").await?.into_split();
    let writer = sim::spawn(async move {
        let _ = to.write_all(&[7; 50_000]).await;
    });
    let mut all = Vec::new();
    from.read_to_end(&mut all).await?;
    writer.await.map_err(io::Error::other)
}

async fn ready() -> io::Result<()> {
    let stream = TcpStream::connect("server:7").await?;
    stream.writable().await?;
    stream.try_write(b"x")?;
    stream.ready(Interest::READABLE | Interest::ERROR).await?;
    stream.async_io(Interest::READABLE, || stream.try_read(&mut [0; 9])).await.map(drop)
}

async fn datagrams() -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.join_multicast_v4("239.1.2.3".parse().unwrap(), "0.0.0.0".parse().unwrap())?;
    socket.connect("server:7").await?;
    for _ in 0..3 {
        socket.send(b"hello").await?;
        socket.readable().await?;
        socket.peek_sender().await?;
        socket.recv(&mut [0; 9]).await?;
    }
    Ok(())
}

/// Polls `work` so often, then drops it; whether it was done before that.
async fn drop_after(polls: usize, mut work: Work) -> bool {
    let mut left = polls;
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        match work.as_mut().poll(cx) {
            Poll::Ready(done) => {
                done.unwrap();
                Poll::Ready(true)
            }
            // It is dropped at once, and not when it is woken.
            Poll::Pending if left == 0 => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn echo() {
    let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
    let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
    sim::spawn(async move {
        let mut buf = [0; 100];
        loop {
            let (n, from) = socket.recv_from(&mut buf).await.unwrap();
            socket.send_to(&buf[..n], from).await.unwrap();
        }
    });
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        sim::spawn(async move {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
            let _ = to.shutdown().await;
        });
    }
}

/// Calls port 9 of the server three times, and does not care what comes of it.
async fn nuisances() {
    tokio::join!(nuisance(0), nuisance(0), nuisance(1));
}

async fn nuisance(late: u64) {
    sim::time::sleep(Duration::from_millis(late)).await;
    for _ in 0..2 {
        if let Ok(mut stream) = TcpStream::connect("server:9").await {
            let _ = stream.write_all(&[1; 10_000]).await;
            let _ = stream.shutdown().await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        sim::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Another flow through the same hosts: all of it must come, in the same time.
async fn witness() -> io::Result<Vec<u8>> {
    let (mut from, mut to) = TcpStream::connect("server:7").await?.into_split();
    let sent: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
    sim::spawn(async move { to.write_all(&sent).await.unwrap() });
    let mut got = Vec::new();
    from.read_to_end(&mut got).await?;
    Ok(got)
}

/// What a host that only serves still has, and nothing else.
fn check_left(host: &Host, listeners: usize, udp: usize, case: &str) {
    let left = SocketCounts { listeners, udp, ..SocketCounts::default() };
    assert_eq!(host.stack().counts(), left, "{case}: {}", host.netstat());
    let others = host.netstat().0.into_iter().filter(|it| it.state.is_some_and(|it| it != "LISTEN"));
    assert_eq!(others.count(), 0, "{case}: {}", host.netstat());
}

/// Drops `work`, on the host `on`, after so many polls; whether it was done before.
fn run(on: &str, name: &str, work: fn() -> Work, polls: usize) -> bool {
    let case = format!("{name}, dropped after {polls} polls");
    let net = Net::new(1);
    net.set_link(&Link::new().rate(100_000_000).delay(Duration::from_micros(300)).loss(0.01));
    net.host("server").start(echo);
    net.host("client");
    net.host("other");
    let host = net.host(on);
    let calls = net.host("other");
    net.run(async {
        let watched = calls.spawn(witness());
        let called = (on == "server").then(|| calls.spawn(nuisances()));
        let done = host.spawn(drop_after(polls, work())).await.unwrap();
        let got = watched.await.unwrap().unwrap();
        let right: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        assert!(got == right, "{case}: another flow");
        if let Some(called) = called {
            called.await.unwrap();
        }
        // TIME-WAIT is four minutes.
        sim::time::sleep(Duration::from_secs(600)).await;
        check_left(&net.host("server"), 1, 1, &case);
        check_left(&net.host("client"), 0, 0, &case);
        check_left(&net.host("other"), 0, 0, &case);
        done
    })
    .unwrap_or_else(|error| panic!("{case}: {error}"))
}

fn every_await_point(on: &str, all: &[Named]) {
    for (name, work) in all {
        let polls = (0..).find(|polls| run(on, name, *work, *polls)).unwrap();
        assert!((1..2000).contains(&polls), "{name} is done after {polls} polls");
    }
}

#[test]
fn a_client_may_be_dropped_at_every_await_point() {
    every_await_point("client", CLIENTS);
}

#[test]
fn a_server_may_be_dropped_at_every_await_point() {
    every_await_point("server", SERVERS);
}

#[test]
fn a_task_that_panics_drops_what_it_has_and_others_go_on() {
    let net = Net::new(1);
    net.host("server").start(echo);
    let client = net.host("client");
    client
        .run(async {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            stream.write_all(b"x").await.unwrap();
            let mut other = TcpStream::connect("server:7").await.unwrap();
            // One of tokio's, which catches it.
            let task: tokio::task::JoinHandle<()> = tokio::spawn(async move {
                stream.readable().await.unwrap();
                panic!("as it should be")
            });
            assert!(task.await.unwrap_err().is_panic());
            other.write_all(b"still").await.unwrap();
            other.read_exact(&mut [0; 5]).await.unwrap();
            drop(other);
            sim::time::sleep(Duration::from_secs(600)).await;
        })
        .unwrap();
    check_left(&client, 0, 0, "a task of tokio's");
    // One of the simulation's ends the run, and with it all tasks.
    client.start(|| async {
        let _stream = TcpStream::connect("server:7").await.unwrap();
        panic!("as it should be")
    });
    let ended = net.run(std::future::pending::<()>());
    assert!(matches!(ended, Err(SimError::Panicked { .. })), "{ended:?}");
    assert_eq!(client.stack().counts().streams, 0);
}

#[test]
fn futures_and_sockets_that_are_leaked_stop_nobody() {
    let net = Net::new(1);
    net.host("server").start(echo);
    let client = net.host("client");
    let host = client.clone();
    client
        .run(async move {
            let stream = TcpStream::connect("server:7").await.unwrap();
            let mut buf = [0; 4];
            for _ in 0..1000 {
                let mut waiting = Box::pin(stream.readable());
                poll_fn(|cx| {
                    assert!(waiting.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                })
                .await;
                std::mem::forget(waiting);
            }
            stream.try_write(b"abcd").unwrap();
            stream.readable().await.unwrap();
            assert_eq!(stream.try_read(&mut buf).unwrap(), 4);
            // A call that is leaked is a call that somebody still has.
            let mut calling = Box::pin(TcpStream::connect("server:7"));
            assert!(poll_fn(|cx| Poll::Ready(calling.as_mut().poll(cx).is_pending())).await);
            std::mem::forget(calling);
            std::mem::forget(stream);
            sim::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(host.stack().counts().streams, 2);
            exchange().await.unwrap();
        })
        .unwrap();
    client.crash();
    let (net, server) = (Net::clone(&net), net.host("server"));
    net.run(async {}).unwrap();
    assert_eq!(client.stack().counts(), SocketCounts::default());
    drop(server);
}
