//! Hosts whose clocks go wrong, and what happens at given times.
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use kumiki_net::sim::{self, Net, Packet, Payload, Verdict};
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::AsyncReadExt as _;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// How long a second of the timers of `sim::time` is for a host whose clock goes so many millionths faster.
fn second(millionths: i32) -> Duration {
    let net = Net::new(1);
    let host = net.host("host");
    host.set_clock_rate(millionths);
    host.run(async {
        let begun = sim::time::elapsed();
        sim::time::sleep(SECOND).await;
        assert!(sim::time::host_elapsed() >= SECOND);
        sim::time::elapsed() - begun
    })
    .unwrap()
}

#[test]
fn timers_of_a_host_go_by_its_clock() {
    assert_eq!(second(0), SECOND);
    assert_eq!(second(1_000_000), SECOND / 2);
    assert_eq!(second(-500_000), 2 * SECOND);
    // 100 millionths of a second are 100 us, and by the time that they have passed 10 ns less are needed.
    assert_eq!(second(100), Duration::from_nanos(999_900_010));
}

/// When a host whose clock goes so many millionths faster sends its SYNs to nobody.
fn syns(millionths: i32) -> Vec<Duration> {
    let net = Net::new(1);
    let times: Rc<RefCell<Vec<Duration>>> = Rc::default();
    let (send, seen) = std::sync::mpsc::channel();
    net.rule(move |packet: &Packet| {
        if let Payload::Tcp(segment) = &packet.payload
            && segment.flags.syn
        {
            send.send(sim::time::elapsed()).unwrap();
        }
        Verdict::Drop
    })
    .forget();
    net.host("server");
    let client = net.host("client");
    client.set_clock_rate(millionths);
    client.start(|| async {
        _ = TcpStream::connect("192.168.0.1:80").await;
    });
    net.run_for(20 * SECOND).unwrap();
    times.borrow_mut().extend(seen.try_iter());
    times.take()
}

#[test]
fn the_timers_of_its_tcp_do_too() {
    let [exact, fast, slow] = [0, 1_000_000, -500_000].map(syns);
    assert!(exact.len() >= 4 && exact[1] - exact[0] >= SECOND, "{exact:?}");
    for (n, at) in exact.iter().enumerate() {
        assert_eq!(fast[n], *at / 2);
        if let Some(slow) = slow.get(n) {
            assert_eq!(*slow, *at * 2);
        }
    }
}

#[test]
fn a_wall_clock_is_ahead_or_behind_and_no_timer_notices() {
    let net = Net::new(1);
    let hosts = ["exact", "ahead", "behind"].map(|name| net.host(name));
    hosts[1].set_clock_ahead(5 * SECOND);
    hosts[2].set_clock_behind(3600 * SECOND);
    let beginning = SystemTime::UNIX_EPOCH + sim::time::BEGINNING;
    let says = hosts.map(|host| {
        host.run(async {
            let begun = sim::time::elapsed();
            sim::time::sleep(SECOND).await;
            assert_eq!(sim::time::elapsed() - begun, SECOND);
            sim::time::wall_clock()
        })
        .unwrap()
    });
    assert_eq!(says, [beginning + SECOND, beginning + 7 * SECOND, beginning + 3 * SECOND - 3600 * SECOND]);
}

#[test]
fn a_crash_mends_no_clock_and_a_change_does() {
    let net = Net::new(1);
    let host = net.host("host");
    host.set_clock_rate(1_000_000);
    let second = || {
        host.run(async {
            let begun = (sim::time::elapsed(), sim::time::host_elapsed());
            sim::time::sleep(SECOND).await;
            (sim::time::elapsed() - begun.0, sim::time::host_elapsed() - begun.1)
        })
        .unwrap()
    };
    assert_eq!(second(), (SECOND / 2, SECOND));
    host.crash().restart();
    assert_eq!(second(), (SECOND / 2, SECOND));
    host.set_clock_rate(0);
    assert_eq!(second(), (SECOND, SECOND));
    assert_eq!(host.run(async { sim::time::host_elapsed() - sim::time::elapsed() }).unwrap(), SECOND);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.set_clock_rate(-1_000_000).name())).is_err());
}

#[test]
fn a_lease_that_a_slow_clock_measures_outlives_that_of_who_gave_it() {
    // Who has a lease takes it for good until it is over by his own clock: the fault that such tests are for.
    let held_too_long = |millionths: i32| {
        let net = Net::new(1);
        net.host("holder").set_clock_rate(millionths).start(|| async {
            let mut giver = TcpStream::connect("giver:7").await?;
            giver.read_u8().await?;
            sim::time::sleep(10 * SECOND).await;
            drop(giver);
            std::io::Result::Ok(())
        });
        net.host("giver")
            .run(async {
                let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
                let (mut holder, _) = listener.accept().await.unwrap();
                tokio::io::AsyncWriteExt::write_u8(&mut holder, 1).await.unwrap();
                let held = sim::time::timeout(10 * SECOND + 10 * MS, holder.read_u8()).await;
                held.is_err()
            })
            .unwrap()
    };
    assert!(!held_too_long(-100) && held_too_long(-2000));
}

#[test]
fn what_is_planned_happens_when_its_time_has_come() {
    let net = Net::new(1);
    for name in ["db", "web"] {
        net.host(name).start(|| async {
            let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
            loop {
                listener.accept().await.unwrap();
            }
        });
    }
    net.at(SECOND, |net| _ = net.partition("db", "web"));
    net.at(2 * SECOND, |net| {
        net.repair_all();
        net.at(3 * SECOND, |net| _ = net.host("db").crash());
    });
    net.at(4 * SECOND, |net| _ = net.host("db").restart());
    let reaches = net.host("web").run(async {
        let mut reaches = Vec::new();
        for n in 0..5_u32 {
            sim::time::sleep(SECOND * n + SECOND / 2 - sim::time::elapsed()).await;
            reaches.push(sim::time::timeout(100 * MS, TcpStream::connect("db:7")).await.is_ok());
        }
        reaches
    });
    assert_eq!(reaches.unwrap(), [true, false, true, false, true]);
}

#[cfg(feature = "capture")]
#[test]
fn a_capture_has_the_times_of_the_network() {
    use tokio::io::AsyncWriteExt as _;
    let net = Net::new(1);
    net.set_capture(true);
    net.host("server").set_clock_rate(500_000).start(|| async {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"x").await.unwrap();
        std::future::pending::<()>().await;
    });
    net.run_for(10 * SECOND).unwrap();
    net.host("client")
        .run(async {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
        })
        .unwrap();
    let mut file = Vec::new();
    net.write_capture(&mut file).unwrap();
    // Blocks of packets (type 6), each with its time in nanoseconds: half a millisecond from host to host, and none at
    // 15 s.
    let mut rest = &file[..];
    let mut last = 0;
    while let Some(len) = rest.get(4..8) {
        let len = u32::from_le_bytes(len.try_into().unwrap()) as usize;
        if rest[..4] == [6, 0, 0, 0] {
            let half = |at: usize| u64::from(u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()));
            let at = half(12) << 32 | half(16);
            assert!(at >= last && (10_000_000_000..10_010_000_000).contains(&at), "{at}");
            last = at;
        }
        rest = &rest[len..];
    }
    assert!(last > 0);
}
