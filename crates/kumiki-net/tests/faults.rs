//! Hosts that crash, networks that break, and seeds that repeat.
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;

use kumiki_net::sim::{self, Link, Net, SimError};
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

async fn echo() {
    let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        sim::spawn(async move {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
        });
    }
}

#[test]
fn what_a_host_knew_is_gone_when_it_crashes_and_its_programs_begin_again() {
    let net = Net::new(1);
    let server = net.host("server");
    server.start(echo);
    net.host("client")
        .run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            server.crash();
            assert!(server.is_down());
            stream.write_all(b"lost").await.unwrap();
            assert!(timeout(SECOND, stream.read(&mut [0])).await.is_err(), "nobody answers");
            let call = TcpStream::connect("server:7");
            assert!(timeout(SECOND, call).await.is_err());
            server.restart();
            // It knows nothing of that connection, and says so to the next segment that is retransmitted.
            assert_eq!(stream.read(&mut [0]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            stream.write_all(b"x").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
        })
        .unwrap();
}

#[test]
fn a_program_may_return_an_error_and_that_ends_the_run() {
    async fn serve() -> std::io::Result<()> {
        let listener = TcpListener::bind("0.0.0.0:7").await?;
        let (mut stream, _) = listener.accept().await?;
        stream.read_exact(&mut [0; 2]).await?;
        Ok(())
    }
    let run = |octets: &'static [u8]| {
        let net = Net::new(1);
        net.host("server").start(serve);
        net.host("idle").start(|| async {
            loop {
                sleep(SECOND).await;
            }
        });
        net.host("client").run(async move {
            TcpStream::connect("server:7").await?.write_all(octets).await?;
            sleep(60 * SECOND).await;
            std::io::Result::Ok(())
        })
    };
    run(b"xx").unwrap().unwrap();
    let why = run(b"x").unwrap_err();
    assert!(matches!(&why, SimError::Failed { host, .. } if host == "server"), "{why:?}");
    let said = why.to_string();
    assert!(said.contains("host `server`: a program failed at ") && said.contains("early eof"), "{said}");
}

#[tokio::test]
async fn a_network_within_a_runtime_says_what_would_be_right() {
    let why = Net::new(1).run(async {}).unwrap_err();
    assert!(why.to_string().contains("a `#[test]`, not a `#[tokio::test]`"), "{why}");
}

#[test]
fn an_address_of_another_host_is_named() {
    let net = Net::new(1);
    let why = net.host("host").run(async { TcpListener::bind("192.168.0.2:7").await.unwrap_err() }).unwrap();
    assert_eq!(why.kind(), ErrorKind::AddrNotAvailable);
    assert_eq!(why.to_string(), "192.168.0.2 is no address of this host, which has 192.168.0.1, fd00::1");
}

#[test]
fn sockets_of_a_host_that_crashed_say_so_and_its_tasks_are_dropped() {
    struct Dropped(Rc<RefCell<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.borrow_mut() = true;
        }
    }
    let net = Net::new(1);
    let host = net.host("host");
    net.run(async move {
        let dropped = Rc::new(RefCell::new(false));
        let guard = Dropped(Rc::clone(&dropped));
        let listener = {
            let _on = host.enter();
            TcpListener::bind("0.0.0.0:7").await.unwrap()
        };
        host.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        sleep(MS).await;
        host.crash();
        sleep(MS).await;
        assert!(*dropped.borrow());
        assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::NetworkDown);
    })
    .unwrap();
}

#[test]
fn a_partition_holds_a_connection_up_and_it_goes_on_afterwards() {
    let net = Net::new(1);
    let (server, client) = (net.host("server"), net.host("client"));
    server.start(echo);
    let cut = net.clone();
    let host = client.clone();
    client
        .run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            cut.partition(std::slice::from_ref(&server), std::slice::from_ref(&host));
            stream.write_all(b"x").await.unwrap();
            assert!(timeout(5 * SECOND, stream.read_exact(&mut [0])).await.is_err());
            cut.repair(&[server], &[host]);
            stream.read_exact(&mut [0]).await.unwrap();
            let at = sim::time::elapsed();
            // Sent again after 0.2, 0.6, 1.4, 3.0, 6.2 s, and the loss probe before.
            assert!(at > 5 * SECOND && at < 7 * SECOND, "{at:?}");
        })
        .unwrap();
}

#[test]
fn a_black_hole_is_found_and_gone_round() {
    let net = Net::new(1);
    let server = net.host("server");
    server.start(echo).set_black_hole(Some(1300));
    let took = net.host("client").run(async {
        let mut stream = TcpStream::connect("server:7").await.unwrap();
        let (mut from, mut to) = stream.split();
        let (octets, mut back) = (vec![7; 100_000], vec![0; 100_000]);
        let (sent, got) = tokio::join!(to.write_all(&octets), from.read_exact(&mut back));
        sent.unwrap();
        got.unwrap();
        sim::time::elapsed()
    });
    assert!(took.unwrap() < 30 * SECOND);
}

#[test]
fn a_program_that_panics_ends_the_run_and_names_its_host() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        sleep(3 * MS).await;
        panic!("no more");
    });
    let ended = net.host("client").run(std::future::pending::<()>());
    let expected = SimError::Panicked { host: "server".to_owned(), at: 3 * MS, message: "no more".to_owned() };
    assert_eq!(ended.unwrap_err(), expected);
}

#[test]
fn who_waits_for_ever_is_told() {
    let net = Net::new(1);
    net.set_time_limit(Duration::from_secs(60));
    let ended = net.host("client").run(std::future::pending::<()>());
    assert_eq!(ended.unwrap_err(), SimError::TimeLimit(Duration::from_secs(60)));
    assert_eq!(net.elapsed(), Duration::from_secs(60));
}

#[test]
fn a_host_that_is_down_runs_nothing_until_it_is_up() {
    let net = Net::new(1);
    let begun: Rc<RefCell<u32>> = Rc::default();
    let count = Rc::clone(&begun);
    let server = net.host("server");
    server.start(move || {
        *count.borrow_mut() += 1;
        std::future::pending::<()>()
    });
    server.crash();
    net.run_for(MS).unwrap();
    assert_eq!(*begun.borrow(), 0);
    server.restart();
    assert_eq!(*begun.borrow(), 0, "nothing runs yet");
    let host = server.clone();
    net.run(async move {
        sleep(MS).await;
        host.crash();
        assert!(host.spawn(std::future::pending::<()>()).await.unwrap_err().is_cancelled());
        host.restart();
        sleep(MS).await;
    })
    .unwrap();
    assert_eq!(*begun.borrow(), 2);
}

#[test]
fn a_network_that_is_run_twice_repeats_too() {
    let run = || {
        let net = Net::new(7);
        for port in 1..=5 {
            net.host("server").start(move || async move {
                let listener = TcpListener::bind(("0.0.0.0", port)).await.unwrap();
                let _accepted = listener.accept().await.unwrap();
                std::future::pending::<()>().await;
            });
        }
        for _ in 0..2 {
            let client = net.host("client").run(async {
                let mut streams = Vec::new();
                for port in 1..=5 {
                    streams.push(TcpStream::connect(("server", port)).await.unwrap());
                }
                sleep(3 * MS).await;
            });
            client.unwrap();
        }
        net.digest()
    };
    let first = run();
    for _ in 0..8 {
        assert_eq!(run(), first);
    }
}

#[test]
fn sockets_that_outlive_their_network_say_so() {
    let net = Net::new(1);
    net.host("server").start(echo);
    let kept = net.host("client").run(async { TcpStream::connect("server:7").await.unwrap() });
    let kept = kept.unwrap();
    drop(net);
    for _ in 0..2 {
        assert_eq!(kept.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::NetworkDown);
        assert_eq!(kept.try_write(b"x").unwrap_err().kind(), ErrorKind::NetworkDown);
    }
}

#[test]
fn a_panic_of_the_test_itself_leaves_the_time_at_which_it_was() {
    let net = Net::new(1);
    let panics = std::panic::AssertUnwindSafe(|| {
        net.host("a").run(async {
            sleep(10 * SECOND).await;
            panic!("as a test does");
        })
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(net.elapsed(), 10 * SECOND);
    net.run_for(SECOND).unwrap();
    assert_eq!(net.elapsed(), 11 * SECOND);
}

#[test]
fn a_panic_counts_when_it_is_looked_at_and_in_its_own_run_alone() {
    let client = Net::new(1).host("client");
    let looked_at = client.run(async { sim::spawn(async { panic!("boom") }).await.is_err() });
    assert!(matches!(looked_at, Err(SimError::Panicked { .. })), "{looked_at:?}");
    assert_eq!(client.run(async { 8 }), Ok(8));
}

#[test]
fn tasks_that_answer_each_other_for_ever_at_one_instant_are_found() {
    let net = Net::new(1);
    let spins = async {
        loop {
            sim::time::sleep(Duration::ZERO).await;
        }
    };
    let ended: Result<(), SimError> = net.run(spins);
    assert!(matches!(ended, Err(SimError::Standstill(_))), "{ended:?}");
}

/// A counter that three replicas keep, asked over a network that breaks and by clients that ask again: what is
/// acknowledged counts.
fn counters(net: &Net) -> (u64, u64) {
    net.set_link(&Link::new().delay(2 * MS).jitter(2 * MS).loss(0.01));
    let stored: Rc<RefCell<BTreeMap<(String, u32), u32>>> = Rc::default();
    for name in ["a", "b", "c"] {
        let stored = Rc::clone(&stored);
        net.host(name).start(move || {
            let stored = Rc::clone(&stored);
            async move {
                let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let stored = Rc::clone(&stored);
                    sim::spawn(async move {
                        while let Ok(number) = stream.read_u32().await {
                            *stored.borrow_mut().entry((name.to_owned(), number)).or_default() += 1;
                            if stream.write_u32(number).await.is_err() {
                                return;
                            }
                        }
                    });
                }
            }
        });
    }
    let replicas: Vec<_> = ["a", "b", "c"].iter().map(|name| net.host(name)).collect();
    let client = net.host("client");
    let chaos = net.clone();
    let mut rng = 7_u64.wrapping_add(net.seed());
    let mut draw = move |below: u64| {
        rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (rng >> 33) % below
    };
    let acknowledged = client.run(async move {
        let host = chaos.host("client");
        sim::spawn(async move {
            loop {
                sleep(Duration::from_millis(50 + draw(300))).await;
                let replica = replicas.get(usize::try_from(draw(3)).unwrap()).unwrap();
                match draw(3) {
                    0 => drop(chaos.partition(std::slice::from_ref(replica), std::slice::from_ref(&host))),
                    1 => drop(replica.crash()),
                    _ => {
                        chaos.repair_all();
                        replica.restart();
                    }
                }
            }
        });
        let mut acknowledged = 0;
        for number in 0..30_u32 {
            for name in ["a", "b", "c"] {
                let asked = async {
                    let mut stream = TcpStream::connect((name, 7)).await?;
                    stream.write_u32(number).await?;
                    stream.read_u32().await
                };
                acknowledged += u64::from(matches!(timeout(300 * MS, asked).await, Ok(Ok(_))));
            }
        }
        acknowledged
    });
    let acknowledged = acknowledged.unwrap();
    let done = stored.borrow().values().map(|it| u64::from(*it)).sum::<u64>();
    assert!(acknowledged > 0 && done >= acknowledged, "{done} were done, and {acknowledged} acknowledged");
    (net.digest(), acknowledged)
}

#[test]
fn seeds_with_partitions_and_crashes_repeat_to_the_octet() {
    let run = || (0..40).map(|seed| counters(&Net::new(seed))).collect::<Vec<_>>();
    let first = run();
    // On another thread, beside nothing of the first.
    let again = std::thread::spawn(run).join().unwrap();
    assert_eq!(first, again);
    let different: std::collections::BTreeSet<_> = first.iter().map(|(digest, _)| digest).collect();
    assert_eq!(different.len(), first.len());
}

#[test]
fn a_thousand_hosts_are_one_process() {
    let net = Net::new(1);
    for n in 0..1000 {
        net.host(&format!("h{n}")).start(move || async move {
            let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
            let next = TcpStream::connect((format!("h{}", (n + 1) % 1000), 7));
            let (out, accepted) = tokio::join!(next, listener.accept());
            let (mut out, (mut accepted, _)) = (out.unwrap(), accepted.unwrap());
            out.write_u32(n).await.unwrap();
            assert_eq!(accepted.read_u32().await.unwrap(), (n + 999) % 1000);
            std::future::pending::<()>().await;
        });
    }
    net.run(async { sleep(3600 * SECOND).await }).unwrap();
    let (sent, lost) = net.packets();
    assert!(sent >= 5000 && lost == 0, "{sent} {lost}");
}

/// When each packet of a capture was seen, in nanoseconds.
#[cfg(feature = "capture")]
fn times(file: &[u8]) -> Vec<u64> {
    let word = |at: usize| file.get(at..at + 4).map(|it| u32::from_le_bytes(it.try_into().unwrap()));
    let (mut at, mut times) = (0, Vec::new());
    while let (Some(kind), Some(len)) = (word(at), word(at + 4)) {
        if kind == 6 {
            times.push(u64::from(word(at + 12).unwrap()) << 32 | u64::from(word(at + 16).unwrap()));
        }
        at += len as usize;
    }
    times
}

#[cfg(feature = "capture")]
#[test]
fn a_capture_is_in_the_order_of_time_and_has_what_a_host_sent_that_crashed() {
    let net = Net::new(1);
    net.set_capture(true);
    let server = net.host("server");
    server.start(echo);
    net.host("client")
        .run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            stream.write_all(b"x").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            // The acknowledgments of this come when no program does anything.
            stream.write_all(&[7; 20_000]).await.unwrap();
            sleep(SECOND).await;
            stream.write_all(b"x").await.unwrap();
            sleep(MS).await;
            server.crash();
            sleep(SECOND).await;
        })
        .unwrap();
    let mut file = Vec::new();
    net.write_capture(&mut file).unwrap();
    let times = times(&file);
    assert!(times.is_sorted(), "{times:?}");
    // Each packet was seen at its source and, but for what came to the crashed host, at its destination.
    let (entered, lost) = net.packets();
    assert_eq!(times.len() as u64, 2 * (entered - lost) + lost);
}

#[test]
fn hosts_are_meant_by_their_names_too() {
    let net = Net::new(1);
    for name in ["a", "b", "c"] {
        net.host(name).start(echo);
    }
    let reaches = |from: &str, to: &'static str| {
        let call = async move { timeout(SECOND, TcpStream::connect((to, 7))).await.is_ok() };
        net.host(from).run(call).unwrap()
    };
    net.partition("a", ["b", "c"]);
    assert!(!reaches("a", "b") && !reaches("c", "a") && reaches("b", "c"));
    net.repair(net.host("a"), String::from("b"));
    assert!(reaches("a", "b") && !reaches("a", "c"));
    net.repair_all().cut_one_way(["a"], ["b"].as_slice());
    assert!(!reaches("b", "a") && reaches("c", "b"));
    net.repair_all();
    net.host("a").set_latency_to("b", 2 * SECOND);
    assert!(!reaches("b", "a") && reaches("c", "a"));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| net.partition("a", "d").seed())).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("called `d`; there are `a`, `b`, `c`"), "{said}");
}

#[cfg(feature = "capture")]
#[test]
fn a_capture_has_what_each_host_sent_and_got() {
    let net = Net::new(1);
    net.set_capture(true);
    net.host("server").start(echo);
    net.host("client")
        .run(async {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            stream.write_all(b"x").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
        })
        .unwrap();
    let mut file = Vec::new();
    net.write_capture(&mut file).unwrap();
    assert_eq!(&file[..4], &[0x0a, 0x0d, 0x0d, 0x0a]);
    let packets = file.windows(4).filter(|it| *it == [0x45, 0, 0, 60]).count();
    assert_eq!(packets, 4, "SYN and SYN-ACK, each at both hosts");
}

#[test]
fn one_call_makes_a_half_open_peer() {
    let net = Net::new(1);
    let server = net.host("server");
    server.start(echo);
    net.host("client")
        .run(async move {
            let mut stream = TcpStream::connect("server:7").await.unwrap();
            // Until nothing is in flight, nor an acknowledgment waits.
            stream.write_all(b"x").await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            sleep(SECOND).await;
            server.restart();
            sleep(60 * SECOND).await;
            // Who says nothing learns nothing.
            assert_eq!(stream.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
            stream.write_all(b"x").await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        })
        .unwrap();
}

#[test]
fn one_call_makes_a_queue_that_is_too_long() {
    // How long an octet and its echo take beside a transfer of 2 MB.
    let beside_a_transfer = |link: &Link| {
        let net = Net::new(1);
        net.host("server").start(echo);
        let client = net.host("client");
        client.set_link(link);
        client
            .run(async {
                let (mut bulk, mut ping) =
                    tokio::try_join!(TcpStream::connect("server:7"), TcpStream::connect("server:7")).unwrap();
                sim::spawn(async move { bulk.write_all(&vec![7; 2_000_000]).await });
                sleep(2 * SECOND).await;
                let begun = sim::time::elapsed();
                ping.write_u8(7).await.unwrap();
                ping.read_u8().await.unwrap();
                sim::time::elapsed() - begun
            })
            .unwrap()
    };
    let bloated = beside_a_transfer(&Link::new().rate(1_000_000));
    assert!(bloated > SECOND / 2, "{bloated:?}");
    let cured = beside_a_transfer(&Link::new().rate(1_000_000).fq_codel());
    assert!(cured < 100 * MS, "{cured:?}");
}
