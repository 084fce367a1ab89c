//! What happens at the edges: many waiters, small buffers, hosts that are gone, addresses that cannot be.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use kumiki_inet::tcp::defaults;
use kumiki_net::sim::{self, Net};
use kumiki_net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};

const MS: Duration = Duration::from_millis(1);

/// Runs `program` on a host that is alone.
fn alone<T>(program: impl Future<Output = T>) -> T {
    Net::new(1).host("alone").run(program).unwrap()
}

#[test]
fn any_number_of_tasks_wait_for_one_socket() {
    alone(async {
        let listener = Rc::new(TcpListener::bind("127.0.0.1:7").await.unwrap());
        let tasks: Vec<_> = (0..300)
            .map(|_| {
                let listener = Rc::clone(&listener);
                sim::spawn(async move { listener.accept().await.map(drop) })
            })
            .collect();
        sim::time::sleep(MS).await;
        for _ in 0..tasks.len() {
            TcpStream::connect("127.0.0.1:7").await.unwrap();
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
}

#[test]
fn try_io_asks_the_socket_and_not_the_budget_of_the_task() {
    alone(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:7").await.unwrap();
        let (stream, _accepted) = tokio::join!(TcpStream::connect("127.0.0.1:7"), listener.accept());
        let stream = stream.unwrap();
        for _ in 0..1000 {
            socket.try_io(Interest::WRITABLE, || Ok(())).unwrap();
            stream.try_io(Interest::WRITABLE, || Ok(())).unwrap();
        }
    });
}

#[test]
fn who_sends_more_than_the_layers_take_waits_and_nothing_is_lost() {
    alone(async {
        let to = UdpSocket::bind("127.0.0.1:7").await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.set_send_buffer_size(3000).unwrap();
        let at = "127.0.0.1:7".parse().unwrap();
        let sent = (0..100).take_while(|_| socket.try_send_to(&[7; 1000], at).is_ok()).count();
        assert_eq!(sent, 3, "with 256 octets beside each");
        let not_ready = socket.try_io(Interest::WRITABLE, || Ok(())).unwrap_err();
        assert_eq!(not_ready.kind(), ErrorKind::WouldBlock);
        socket.writable().await.unwrap();
        for _ in 0..20 {
            socket.send_to(&[7; 1000], "127.0.0.1:7").await.unwrap();
        }
        for _ in 0..23 {
            to.recv(&mut [0; 1000]).await.unwrap();
        }
    });
}

#[test]
fn who_sends_without_end_lets_others_run() {
    alone(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let other = async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = other => {}
            () = async { loop { let _ = socket.send_to(b"x", "127.0.0.1:9").await; } } => {}
        }
    });
}

#[test]
fn a_host_that_is_gone_is_so_for_good() {
    let net = Net::new(1);
    let host = net.host("host");
    let crashed = host.clone();
    net.run(async move {
        let (listener, socket) = {
            let _on = crashed.enter();
            (TcpListener::bind("0.0.0.0:7").await.unwrap(), UdpSocket::bind("0.0.0.0:7").await.unwrap())
        };
        sim::time::sleep(MS).await;
        crashed.crash();
        for _ in 0..2 {
            assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::NetworkDown);
            assert_eq!(socket.recv(&mut [0]).await.unwrap_err().kind(), ErrorKind::NetworkDown);
            assert_eq!(socket.send_to(b"x", "192.168.0.9:7").await.unwrap_err().kind(), ErrorKind::NetworkDown);
            assert_eq!(socket.take_error().unwrap().unwrap().kind(), ErrorKind::NetworkDown);
        }
    })
    .unwrap();
}

#[test]
fn a_small_receive_buffer_is_given_back() {
    let net = Net::new(1);
    net.set_tcp(defaults::bsd43());
    net.host("server").start(|| async {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&[7; 100_000]).await.unwrap();
    });
    let n = net.host("client").run(async {
        let mut stream = TcpStream::connect("server:7").await.unwrap();
        let mut all = Vec::new();
        tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut all)).await.unwrap().unwrap()
    });
    assert_eq!(n, Ok(100_000));
}

#[test]
fn a_socket_holds_as_many_short_datagrams_as_linux() {
    alone(async {
        let socket = UdpSocket::bind("127.0.0.1:7").await.unwrap();
        for octets in [0, 1] {
            for _ in 0..1000 {
                socket.send_to(&[7][..octets], "127.0.0.1:7").await.unwrap();
            }
            sim::time::sleep(MS).await;
            let held = std::iter::from_fn(|| socket.try_recv(&mut [0]).ok()).count();
            assert_eq!(held, 256, "what Linux holds of them in its default buffer");
        }
    });
}

#[test]
fn who_called_a_listener_that_is_gone_is_not_in_the_way_of_others() {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let listen = || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseport(true).unwrap();
            socket.bind("0.0.0.0:7".parse().unwrap()).unwrap();
            socket.listen(1).unwrap()
        };
        let (first, second) = (listen(), listen());
        sim::time::sleep(1000 * MS).await;
        drop(second);
        loop {
            first.accept().await.unwrap();
        }
    });
    net.host("client")
        .run(async {
            let early: Vec<_> =
                (0..20).map(|_| sim::spawn(async { TcpStream::connect("192.168.0.1:7").await.map(drop) })).collect();
            sim::time::sleep(2000 * MS).await;
            for _ in 0..5 {
                TcpStream::connect("192.168.0.1:7").await.unwrap();
            }
            for task in early {
                task.abort();
            }
        })
        .unwrap();
}

#[test]
fn an_address_of_ipv4_is_the_same_written_as_one_of_ipv6() {
    alone(async {
        let _first = UdpSocket::bind("[::ffff:127.0.0.1]:7").await.unwrap();
        assert_eq!(UdpSocket::bind("127.0.0.1:7").await.unwrap_err().kind(), ErrorKind::AddrInUse);
        let _first = TcpListener::bind("[::ffff:127.0.0.1]:7").await.unwrap();
        assert_eq!(TcpListener::bind("127.0.0.1:7").await.unwrap_err().kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn nobody_sends_from_an_address_that_is_not_his() {
    alone(async {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let to: SocketAddr = "127.0.0.1:7".parse().unwrap();
        let from = |ip: &str| socket.try_send_meta(b"x", to, Some(ip.parse().unwrap()), None);
        assert_eq!(from("192.0.2.1").unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(from("192.168.0.1").unwrap(), 1);
    });
}

#[test]
fn when_all_local_ports_are_used_it_says_so() {
    alone(async {
        let mut sockets = Vec::new();
        let error = loop {
            match UdpSocket::bind("0.0.0.0:0").await {
                Ok(socket) => sockets.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert_eq!(error.to_string(), "all ports from 49152 to 65535 are in use");
    });
}

#[test]
fn of_several_addresses_the_first_that_could_be_says_why_not() {
    let net = Net::new(1);
    let host = net.host_at("v4", ["192.168.7.1".parse::<IpAddr>().unwrap()]).unwrap();
    host.run(async {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        for all in [[at("127.0.0.1:7"), at("[::1]:7")], [at("[::1]:7"), at("127.0.0.1:7")]] {
            let refused = TcpStream::connect(&all[..]).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{refused}");
        }
        let none = TcpStream::connect("[::1]:7").await.unwrap_err();
        assert_eq!(none.to_string(), "this host has no IPv6");
    })
    .unwrap();
}

#[test]
fn sockets_show_their_addresses() {
    alone(async {
        let socket = UdpSocket::bind("127.0.0.1:7").await.unwrap();
        assert_eq!(format!("{socket:?}"), "UdpSocket { addr: 127.0.0.1:7, .. }");
        let listener = TcpListener::bind("127.0.0.1:7").await.unwrap();
        assert_eq!(format!("{listener:?}"), "TcpListener { addr: 127.0.0.1:7, .. }");
        let (stream, _accepted) = tokio::join!(TcpStream::connect("127.0.0.1:7"), listener.accept());
        let stream = stream.unwrap();
        let local = stream.local_addr().unwrap();
        assert_eq!(format!("{stream:?}"), format!("TcpStream {{ addr: {local}, peer: 127.0.0.1:7, .. }}"));
    });
}

#[test]
fn names_and_addresses_that_cannot_be_are_refused_in_a_sentence() {
    let net = Net::new(1);
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    for name in ["", " a", "a b", "a.", ".a", "a\n", "a:80", "10.0.0.1", "::1", "localhost", "LocalHost"] {
        let error = net.host_at(name, [ip("10.0.0.1")]).unwrap_err().to_string();
        assert!(error.contains("name"), "{name}: {error}");
    }
    for address in ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "127.0.0.1", "::1", "::ffff:10.0.0.1"] {
        let error = net.host_at("host", [ip(address)]).unwrap_err().to_string();
        assert!(error.contains(address) && error.contains("no address of a host"), "{error}");
    }
    let twice = net.host_at("host", [ip("fd00::7"), ip("fd00::7")]).unwrap_err().to_string();
    assert!(twice.contains("twice"), "{twice}");
    net.host_at("host", [ip("10.0.0.1")]).unwrap();
    assert!(net.host_at("host", [ip("10.0.0.2")]).is_err());
}

/// When a client sees what a server sends 20 ms after it has accepted; it waits for that, or asks again and again.
fn seen_at(yields: bool, in_a_task: bool) -> Duration {
    let net = Net::new(1);
    net.host("server").start(|| async {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::time::sleep(20 * MS).await;
        stream.write_all(b"x").await.unwrap();
        std::future::pending::<()>().await;
    });
    let client = async move {
        let stream = TcpStream::connect("server:7").await.unwrap();
        while stream.try_read(&mut [0; 9]).is_err() {
            if yields {
                tokio::task::yield_now().await;
            } else {
                stream.readable().await.unwrap();
            }
        }
        sim::time::elapsed()
    };
    let client = async move { if in_a_task { sim::spawn(client).await.unwrap() } else { client.await } };
    net.host("client").run(client).unwrap()
}

#[test]
fn a_task_that_yields_until_something_comes_gets_it() {
    let waits = seen_at(false, false);
    assert_eq!([seen_at(true, false), seen_at(true, true)], [waits; 2]);
}

#[test]
fn a_task_that_spins_for_ever_is_found() {
    let net = Net::new(1);
    net.set_time_limit(10 * MS);
    let spins = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    let ended: Result<(), sim::SimError> = net.host("alone").run(spins);
    assert_eq!(ended, Err(sim::SimError::TimeLimit(10 * MS)));
}

#[test]
fn a_program_of_a_host_listens_before_it_is_called() {
    let net = Net::new(1);
    let host = net.host("host");
    host.start(|| async {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        listener.accept().await.unwrap();
    });
    host.run(TcpStream::connect("127.0.0.1:7")).unwrap().unwrap();
}

#[test]
fn draws_of_ones_own_hang_on_the_seed_and_their_name() {
    let draw = |seed, name| Net::new(seed).rng(name).next_u64();
    assert_eq!(draw(1, "keys"), draw(1, "keys"));
    assert!(draw(1, "keys") != draw(2, "keys") && draw(1, "keys") != draw(1, "values"));
}
