//! One bound for all that a stack holds.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kumiki_net::host::HostConfig;
use kumiki_net::{TcpListener, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exchange::{Exchange, InTurn};

/// A host that may hold so many octets, and peers that send more.
fn is_bounded(memory: u64, queues: usize) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let tell = Arc::clone(&told);
    let own = |n: u8| HostConfig::new([[10, 0, 0, n].into(), format!("fd00::{n}").parse().unwrap()]);
    let server = own(1).queues(queues).memory(memory).notices(move |line| tell.lock().unwrap().push(line.to_owned()));
    let mut all = Exchange::new([&server, &own(2)]).by_queues(queues, InTurn::of(queues));
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    let used = || one.memory().unwrap();

    let (listener, sink, mut echo, mut echoed) = all.run(async {
        let listener = one.scope(TcpListener::bind("[::]:7")).await.unwrap();
        let sink = one.scope(UdpSocket::bind("[::]:7")).await.unwrap();
        let (echoed, echo) = tokio::join!(two.scope(TcpStream::connect("10.0.0.1:7")), listener.accept());
        (listener, sink, echo.unwrap().0, echoed.unwrap())
    });
    // Each of them, by both versions of IP, sends what nobody reads, until no more are let in.
    let mut held = Vec::new();
    let refused = loop {
        let at = if held.len() % 2 == 0 { "10.0.0.1:7" } else { "[fd00::1]:7" };
        let call = all.run(async {
            let mut call = two.scope(TcpStream::connect(at)).await?;
            call.write_all(&[7; 30_000]).await?;
            Ok::<_, std::io::Error>((call, listener.accept().await?))
        });
        match call {
            Ok(pair) => held.push(pair),
            Err(error) => break error,
        }
        all.pass(Duration::from_millis(100));
        assert!((held.len() as u64) < memory / 1000, "{:?}", used());
    };
    assert!(matches!(refused.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset), "{refused}");
    assert!(used().held > memory * 3 / 4 && used().held < memory * 5 / 4, "{:?}", used());
    let sent = all.run(async {
        let flood = two.scope(UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        for _ in 0..100 {
            flood.send_to(&[7; 1000], "10.0.0.1:7").await.unwrap();
            // Who was there before goes on.
            echoed.write_all(b"still here").await.unwrap();
            let mut octets = [0; 10];
            echo.read_exact(&mut octets).await.unwrap();
            echo.write_all(&octets).await.unwrap();
            echoed.read_exact(&mut octets).await.unwrap();
        }
        100
    });
    assert_eq!(sink.try_recv(&mut [0; 1000]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!((used().dropped, used().refused > 0), (sent, true));
    let lines = told.lock().unwrap().clone();
    assert!(lines[0].starts_with("memory is spent: "), "{lines:?}");
    assert!(lines.len() as u64 <= 1 + all.now.as_secs(), "one a second at most: {lines:?}");
    // It recovers by itself.
    drop(held);
    all.pass(Duration::from_secs(120));
    all.run(async {
        two.scope(TcpStream::connect("10.0.0.1:7")).await.unwrap();
        let sends = two.scope(UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        sends.send_to(b"x", "10.0.0.1:7").await.unwrap();
        sink.recv(&mut [0]).await.unwrap();
    });
    drop((echo, echoed, listener, sink));
    all.pass(Duration::from_secs(600));
    assert_eq!(used().held, 0);
}

// Z18, and with the 50 MiB that some systems leave a program.
#[test]
fn beyond_the_bound_calls_are_reset_and_datagrams_dropped_and_nobody_else_notices() {
    for (mebibytes, queues) in [(1, 1), (50, 1), (2, 3)] {
        is_bounded(mebibytes << 20, queues);
    }
}
