//! Sockets of programs, as over any stack.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;

use kumiki_net::rings::{Limits, RemoteStack};
use kumiki_net::{Sharing, Stack, TcpListener, TcpSocket, TcpStream, UdpSocket, blocking, lookup_host};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bench::{Server, octets, run};

/// A connection between two programs: of the one that listens, of the one that calls.
async fn pair(one: &RemoteStack, other: &RemoteStack) -> (TcpStream, TcpStream) {
    let listener = one.stack().scope(TcpListener::bind("10.9.0.1:0")).await.unwrap();
    let at = listener.local_addr().unwrap();
    let (accepted, called) = tokio::join!(listener.accept(), other.stack().scope(TcpStream::connect(at)));
    (accepted.unwrap().0, called.unwrap())
}

#[test]
fn two_programs_talk_through_the_stack_of_a_third() {
    let server = Server::start("talk", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        let listener = one.stack().scope(TcpListener::bind("10.9.0.1:80")).await.unwrap();
        let accepted = listener.accept();
        let called = other.stack().scope(TcpStream::connect("self:80"));
        let (accepted, called) = tokio::join!(accepted, called);
        let ((mut accepted, peer), mut called) = (accepted.unwrap(), called.unwrap());
        assert_eq!(peer, called.local_addr().unwrap());
        assert_eq!(called.peer_addr().unwrap(), accepted.local_addr().unwrap());
        called.write_all(b"hello").await.unwrap();
        called.shutdown().await.unwrap();
        let mut read = String::new();
        accepted.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "hello");
        // Half of it is closed, and the other half goes on.
        accepted.write_all(b"and back").await.unwrap();
        drop(accepted);
        read.clear();
        called.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "and back");
    });
    drop((one, other));
    server.wait_for_programs(0);
    assert_eq!(server.stack.counts().listeners, 0);
}

#[test]
fn much_goes_both_ways_at_once_octet_for_octet() {
    const MUCH: usize = 12 << 20;
    let server = Server::start("much", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    let both = async |stream: TcpStream, seed: u64| {
        let (mut from, mut to) = stream.into_split();
        let sending = async {
            to.write_all(&octets(seed, MUCH)).await.unwrap();
            to.shutdown().await.unwrap();
        };
        let receiving = async {
            let mut read = Vec::new();
            from.read_to_end(&mut read).await.unwrap();
            assert!(read == octets(3 - seed, MUCH));
        };
        tokio::join!(sending, receiving);
    };
    run(async {
        let (accepted, called) = pair(&one, &other).await;
        tokio::join!(both(accepted, 1), both(called, 2));
    });
}

#[test]
fn many_connections_of_one_program_keep_their_octets_apart() {
    let server = Server::start("many", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        let listener = one.stack().scope(TcpListener::bind("10.9.0.1:80")).await.unwrap();
        let serving = async {
            let mut all = tokio::task::JoinSet::new();
            for _ in 0..200 {
                let (mut stream, _) = listener.accept().await.unwrap();
                all.spawn(async move {
                    let mut read = Vec::new();
                    stream.read_to_end(&mut read).await.unwrap();
                    stream.write_all(&read).await.unwrap();
                });
            }
            while all.join_next().await.is_some() {}
        };
        let mut all = tokio::task::JoinSet::new();
        for n in 0..200 {
            all.spawn(other.stack().scope(async move {
                let mut stream = TcpStream::connect("self:80").await.unwrap();
                let sent = octets(n, 20_000);
                stream.write_all(&sent).await.unwrap();
                stream.shutdown().await.unwrap();
                let mut read = Vec::new();
                stream.read_to_end(&mut read).await.unwrap();
                assert!(read == sent);
            }));
        }
        serving.await;
        while let Some(done) = all.join_next().await {
            done.unwrap();
        }
    });
}

#[test]
fn datagrams_go_between_programs() {
    let server = Server::start("datagrams", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        let near = one.stack().scope(UdpSocket::bind("10.9.0.1:53")).await.unwrap();
        let far = other.stack().scope(UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        let own = SocketAddr::new("10.9.0.1".parse().unwrap(), far.local_addr().unwrap().port());
        let mut read = vec![0; 65_536];
        for len in [0, 1, 1472, 60_000] {
            let sent = octets(len as u64, len);
            assert_eq!(far.send_to(&sent, "self:53").await.unwrap(), len);
            let (n, from) = near.recv_from(&mut read).await.unwrap();
            assert!(read[..n] == sent && from == own);
            near.send_to(&sent, from).await.unwrap();
            assert_eq!(far.recv(&mut read).await.unwrap(), len);
        }
        far.connect("10.9.0.1:54").await.unwrap();
        far.send(b"nobody").await.unwrap();
        assert_eq!(far.recv(&mut read).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert!(far.send(&vec![0; 65_508]).await.is_err());
        // More than anybody keeps is sent, and the sender is held up, not the stack.
        far.connect("10.9.0.1:53").await.unwrap();
        for n in 0..2000_u32 {
            far.send(&n.to_be_bytes()).await.unwrap();
        }
        let mut last = near.recv(&mut read).await.map(|n| u32::from_be_bytes(read[..n].try_into().unwrap())).unwrap();
        while let Ok(n) = near.try_recv(&mut read) {
            let number = u32::from_be_bytes(read[..n].try_into().unwrap());
            assert!(number > last);
            last = number;
        }
        drop(near);
        let near = loop {
            match one.stack().scope(UdpSocket::bind("10.9.0.1:53")).await {
                Ok(again) => break again,
                Err(error) => assert_eq!(error.kind(), ErrorKind::AddrInUse),
            }
        };
        // What was underway may have met nobody meanwhile, and the sender is told of that once.
        while far.send(b"again").await.is_err() {}
        near.recv(&mut read).await.unwrap();
    });
}

#[test]
fn an_address_is_one_programs_and_free_when_that_has_gone() {
    let server = Server::start("addresses", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        let listener = one.stack().scope(TcpListener::bind("10.9.0.1:80")).await.unwrap();
        let taken = other.stack().scope(TcpListener::bind("0.0.0.0:80")).await.unwrap_err();
        assert_eq!((taken.kind(), taken.to_string().as_str()), (ErrorKind::AddrInUse, "0.0.0.0:80 is in use"));
        let held = one.stack().scope(UdpSocket::bind("0.0.0.0:53")).await.unwrap();
        let taken = other.stack().scope(UdpSocket::bind("10.9.0.1:53")).await;
        assert_eq!(taken.unwrap_err().kind(), ErrorKind::AddrInUse);
        let foreign = other.stack().scope(TcpListener::bind("10.9.0.2:80")).await;
        assert_eq!(foreign.unwrap_err().kind(), ErrorKind::AddrNotAvailable);
        // Given back by the one that goes on.
        drop((listener, held));
        loop {
            // Dropping waits for nobody.
            match other.stack().scope(TcpListener::bind("10.9.0.1:80")).await {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::AddrInUse),
            }
        }
        let _held = one.stack().scope(UdpSocket::bind("0.0.0.0:53")).await.unwrap();
        // And with the program.
        let kept = one.stack().scope(TcpListener::bind("10.9.0.1:81")).await.unwrap();
        drop(one);
        server.wait_for_programs(1);
        assert_eq!(kept.accept().await.unwrap_err().kind(), ErrorKind::NetworkDown);
        other.stack().scope(TcpListener::bind("10.9.0.1:81")).await.unwrap();
        other.stack().scope(UdpSocket::bind("10.9.0.1:53")).await.unwrap();
    });
}

#[test]
fn a_port_is_shared_within_a_program_alone() {
    fn shared() -> std::io::Result<TcpListener> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind("10.9.0.1:80".parse().unwrap())?;
        socket.listen(16)
    }
    let server = Server::start("shared", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        let first = one.stack().scope(async { shared() }).await.unwrap();
        let second = one.stack().scope(async { shared() }).await.unwrap();
        assert_eq!(other.stack().scope(async { shared() }).await.unwrap_err().kind(), ErrorKind::AddrInUse);
        for _ in 0..16 {
            let called = other.stack().scope(TcpStream::connect("10.9.0.1:80")).await.unwrap();
            tokio::select! {
                one = first.accept() => drop(one.unwrap()),
                two = second.accept() => drop(two.unwrap()),
            }
            drop(called);
        }
        // UDP itself knows who shares.
        let spread = || UdpSocket::bind_shared("10.9.0.1:53", Sharing::Spread);
        let _near = one.stack().scope(spread()).await.unwrap();
        let _far = other.stack().scope(spread()).await.unwrap();
    });
}

#[test]
fn errors_are_those_that_programs_know() {
    let server = Server::start("errors", Limits::default());
    let one = server.connect();
    run(one.stack().scope(async {
        let refused = TcpStream::connect("10.9.0.1:9").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let unknown = TcpStream::connect("elsewhere:9").await.unwrap_err();
        assert_eq!((unknown.kind(), unknown.to_string().as_str()), (ErrorKind::NotFound, "nobody is called elsewhere"));
        assert!(TcpStream::connect(format!("{}:9", "x".repeat(300)).as_str()).await.is_err());
        let found: Vec<_> = lookup_host("self:9").await.unwrap().collect();
        assert_eq!(found, ["10.9.0.1:9".parse().unwrap()]);
        assert!(TcpStream::connect("[fd00::1]:9").await.is_err(), "this stack has no IPv6");
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("10.9.0.1:1234".parse().unwrap()).unwrap();
        let listener = TcpListener::bind("10.9.0.1:80").await.unwrap();
        let (called, accepted) = tokio::join!(socket.connect("10.9.0.1:80".parse().unwrap()), listener.accept());
        assert_eq!(accepted.unwrap().1.port(), 1234);
        let called = called.unwrap();
        called.set_nodelay(true).unwrap();
        called.set_ttl(9).unwrap();
        assert!(called.nodelay().unwrap() && called.ttl().unwrap() == 9);
        called.set_zero_linger().unwrap();
        drop(called);
    }));
    let nobody = RemoteStack::connect(server.path().with_extension("not")).unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::NotFound);
}

#[test]
fn what_is_beyond_the_limits_is_refused_and_comes_back() {
    let mut limits = Limits::default();
    (limits.programs, limits.sockets) = (2, 8);
    let server = Server::start("limits", limits);
    let (one, other) = (server.connect(), server.connect());
    let refused = RemoteStack::connect(server.path()).unwrap_err();
    let why = "2 programs are attached already, which is the limit";
    assert_eq!((refused.kind(), refused.to_string().as_str()), (ErrorKind::ConnectionRefused, why));
    run(async {
        let bind = || one.stack().scope(UdpSocket::bind("0.0.0.0:0"));
        let mut all = Vec::new();
        for _ in 0..8 {
            all.push(bind().await.unwrap());
        }
        const ENOBUFS: i32 = 105;
        assert_eq!(bind().await.unwrap_err().raw_os_error(), Some(ENOBUFS));
        let called = one.stack().scope(TcpStream::connect("10.9.0.1:80")).await;
        assert_eq!(called.unwrap_err().raw_os_error(), Some(ENOBUFS));
        // That is nothing to the other.
        let _own = other.stack().scope(UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        all.clear();
        bind().await.unwrap();
    });
    drop(one);
    server.wait_for_programs(1);
    drop(RemoteStack::connect(server.path()).unwrap());
}

#[test]
fn sockets_that_block_are_had_too_and_the_stack_may_be_that_of_a_process() {
    let server = Server::start("blocking", Limits::default());
    let one = server.connect();
    kumiki_watchdog::minute();
    let _entered = one.stack().enter();
    let listener = blocking::TcpListener::bind("10.9.0.1:80").unwrap();
    let stack: Stack = one.stack().clone();
    let calling = std::thread::spawn(move || {
        let _entered = stack.enter();
        let mut called = blocking::TcpStream::connect("self:80").unwrap();
        called.write_all(&octets(5, 300_000)).unwrap();
        called.shutdown(std::net::Shutdown::Write).unwrap();
        let mut read = Vec::new();
        called.read_to_end(&mut read).unwrap();
        read
    });
    let (mut accepted, _) = listener.accept().unwrap();
    let mut read = Vec::new();
    accepted.read_to_end(&mut read).unwrap();
    accepted.write_all(&read).unwrap();
    drop(accepted);
    assert!(calling.join().unwrap() == octets(5, 300_000));
    let near = blocking::UdpSocket::bind("10.9.0.1:53").unwrap();
    let far = blocking::UdpSocket::bind("10.9.0.1:0").unwrap();
    far.send_to(b"x", "10.9.0.1:53").unwrap();
    assert_eq!(near.recv_from(&mut [0; 9]).unwrap(), (1, far.local_addr().unwrap()));
}

#[test]
fn programs_hear_of_addresses_that_come_and_go_after_them() {
    let server = Server::start("later", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    let new = "10.9.1.1".parse().unwrap();
    run(async {
        let before = one.stack().network();
        let at_all = one.stack().scope(TcpListener::bind("0.0.0.0:80")).await.unwrap();
        let early = one.stack().scope(TcpListener::bind("10.9.1.1:81")).await.unwrap_err();
        assert_eq!(early.kind(), ErrorKind::AddrNotAvailable);
        server.stack.line(0).add_address(new, 24).unwrap();
        let after = one.stack().network_after(before.version).await.unwrap();
        assert_eq!(after.addresses, server.stack.network().addresses);
        let there = one.stack().scope(TcpListener::bind("10.9.1.1:81")).await.unwrap();
        for (listener, port) in [(&at_all, 80), (&there, 81)] {
            let called = other.stack().scope(TcpStream::connect((new, port)));
            let (accepted, called) = tokio::join!(listener.accept(), called);
            assert_eq!(
                (accepted.unwrap().0.local_addr().unwrap().ip(), called.unwrap().peer_addr().unwrap().port()),
                (new, port)
            );
        }
        // Programs that have come later know it at once; and none changes what is another process's.
        let late = server.connect();
        let before = late.stack().network();
        assert_eq!(before.addresses, after.addresses);
        assert_eq!(late.stack().line(0).remove_address(new).unwrap_err().kind(), ErrorKind::Unsupported);
        server.stack.line(0).remove_address(new).unwrap();
        let after = late.stack().network_after(before.version).await.unwrap();
        assert!(after.addresses.iter().all(|it| it.address != new), "{:?}", after.addresses);
        let gone = late.stack().scope(TcpListener::bind("10.9.1.1:82")).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::AddrNotAvailable);
    });
}

#[test]
fn when_the_stack_ends_its_programs_are_told() {
    let server = Server::start("ends", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        let (mut accepted, _called) = pair(&one, &other).await;
        let socket = one.stack().scope(UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        drop(server);
        assert_eq!(accepted.read(&mut [0]).await.unwrap_err().kind(), ErrorKind::NetworkDown);
        assert_eq!(socket.recv(&mut [0]).await.unwrap_err().kind(), ErrorKind::NetworkDown);
        let late = one.stack().scope(TcpListener::bind("0.0.0.0:0")).await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::NetworkDown);
        assert!(late.to_string().contains("has ended"), "{late}");
    });
}

#[test]
fn who_closes_with_something_unread_resets_and_who_has_read_all_does_not() {
    let server = Server::start("unread", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        for (reads, leaves) in [(false, false), (true, false), (false, true), (true, true)] {
            let third = server.connect();
            let (mut accepted, mut called) = pair(&one, &third).await;
            accepted.write_all(b"some").await.unwrap();
            called.write_all(b"answer").await.unwrap();
            called.readable().await.unwrap();
            if reads {
                called.read_exact(&mut [0; 4]).await.unwrap();
            }
            if leaves {
                // As where the process ends: the stack closes what is left.
                drop(third);
            } else {
                drop(called);
            }
            let mut read = Vec::new();
            let end = accepted.read_to_end(&mut read).await.map_err(|it| it.kind());
            assert_eq!(end.err(), (!reads).then_some(ErrorKind::ConnectionReset), "{reads} {leaves}");
            assert!(!reads || read == b"answer");
        }
        drop(other);
    });
}

#[test]
fn what_was_written_arrives_however_soon_the_program_goes() {
    let server = Server::start("soon", Limits::default());
    let one = server.connect();
    run(async {
        for _ in 0..10 {
            let other = server.connect();
            let (mut accepted, called) = pair(&one, &other).await;
            let all = octets(3, 32 << 20);
            let mut written = 0;
            // As much as is taken at once.
            while let Ok(n) = called.try_write(&all[written..]) {
                written += n;
            }
            assert!(written > 0);
            drop(other);
            let mut read = Vec::new();
            accepted.read_to_end(&mut read).await.unwrap();
            assert!(read == all[..written], "{} {written}", read.len());
        }
    });
}
