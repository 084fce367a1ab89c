//! A host of several queues of a TUN, with Linux's sockets at the other end, in a network namespace of its own.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr};
use std::thread;

use kumiki_net::blocking;
use kumiki_net::host::{HostConfig, HostStack, RealDevice, Tun};

const LINUX: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(10, 97, 0, 1), Ipv6Addr::new(0xfd97, 0, 0, 0, 0, 0, 0, 1));
const OURS: (Ipv4Addr, Ipv6Addr) = (Ipv4Addr::new(10, 97, 0, 2), Ipv6Addr::new(0xfd97, 0, 0, 0, 0, 0, 0, 2));

const QUEUES: usize = 3;

/// Runs `test` where there are no interfaces but those it makes. Where no namespace or device can be had nothing is
/// tested, which is said, and is a failure with `KUMIKI_REQUIRE_NETNS` set.
fn in_a_namespace(test: fn(HostStack)) {
    kumiki_watchdog::minute();
    let began = || {
        kumiki_io::namespace::leave_host(false).map_err(|why| why.to_string())?;
        let queues = Tun::open_queues("k0", 1500, QUEUES).map_err(|why| why.to_string())?;
        queues[0].configure_kernel(LINUX.0.into(), 24, 1500).map_err(|why| why.to_string())?;
        queues[0].configure_kernel(LINUX.1.into(), 64, 1500).map_err(|why| why.to_string())?;
        Ok::<_, String>(queues)
    };
    let thread = thread::spawn(move || match began() {
        Ok(queues) => {
            let queues = queues.into_iter().map(|it| Box::new(it) as Box<dyn RealDevice>).collect();
            let config = HostConfig::new([OURS.0.into(), OURS.1.into()]).queues(QUEUES);
            test(HostStack::start_on(queues, &config).unwrap());
        }
        Err(why) => {
            let required = std::env::var_os("KUMIKI_REQUIRE_NETNS").is_some_and(|set| !set.is_empty());
            assert!(!required, "{why}");
            eprintln!("not tested: {why}");
        }
    });
    thread.join().unwrap();
}

/// Octets that are not those of another connection.
fn content(seed: usize) -> Vec<u8> {
    (0..100_000).map(|n| u8::try_from((n * (seed + 3)) % 251).unwrap()).collect()
}

/// Sends back what comes until it ends.
macro_rules! echo {
    ($listener:expr, $number:expr) => {{
        let echoes: Vec<_> = (0..$number)
            .map(|_| {
                let (mut stream, _) = $listener.accept().unwrap();
                thread::spawn(move || {
                    let mut octets = Vec::new();
                    stream.read_to_end(&mut octets).unwrap();
                    stream.write_all(&octets).unwrap();
                    stream.shutdown(Shutdown::Write).unwrap();
                })
            })
            .collect();
        echoes.into_iter().for_each(|it| it.join().unwrap());
    }};
}

/// Calls, sends, and gets it back, so many times at once.
macro_rules! ask {
    ($stream:ty, $at:expr, $number:expr, $host:expr) => {{
        let calls: Vec<_> = (0..$number)
            .map(|seed| {
                let stack = $host.stack().clone();
                thread::spawn(move || {
                    let _entered = stack.enter();
                    let mut stream = <$stream>::connect($at).unwrap();
                    stream.write_all(&content(seed)).unwrap();
                    stream.shutdown(Shutdown::Write).unwrap();
                    let mut octets = Vec::new();
                    stream.read_to_end(&mut octets).unwrap();
                    assert!(octets == content(seed));
                })
            })
            .collect();
        calls.into_iter().for_each(|it| it.join().unwrap());
    }};
}

#[test]
fn linux_and_a_host_of_several_queues_call_each_other() {
    in_a_namespace(|host| {
        for (linux, ours) in [
            (SocketAddr::from((LINUX.0, 7)), SocketAddr::from((OURS.0, 7))),
            (SocketAddr::from((LINUX.1, 7)), SocketAddr::from((OURS.1, 7))),
        ] {
            let entered = host.stack().enter();
            let listener = blocking::TcpListener::bind(ours).unwrap();
            drop(entered);
            let echo = thread::spawn(move || echo!(listener, 24));
            ask!(std::net::TcpStream, ours, 24, host);
            echo.join().unwrap();

            let listener = std::net::TcpListener::bind(linux).unwrap();
            let echo = thread::spawn(move || echo!(listener, 24));
            ask!(blocking::TcpStream, linux, 24, host);
            echo.join().unwrap();
        }
        host.stop().unwrap();
    });
}

#[test]
fn datagrams_of_linux_reach_the_socket_whole_or_in_fragments() {
    in_a_namespace(|host| {
        let _entered = host.stack().enter();
        let own = blocking::UdpSocket::bind((OURS.0, 5)).unwrap();
        let mut octets = vec![0; 70_000];
        for size in [100, 20_000] {
            for seed in 0..12 {
                let peer = std::net::UdpSocket::bind((LINUX.0, 0)).unwrap();
                let sent = &content(seed)[..size];
                // Nothing is lost on a TUN that is not full.
                peer.send_to(sent, (OURS.0, 5)).unwrap();
                let (len, from) = own.recv_from(&mut octets).unwrap();
                assert!(from == peer.local_addr().unwrap() && octets[..len] == *sent, "{len} octets of {size}");
                own.send_to(sent, from).unwrap();
                assert_eq!(peer.recv(&mut octets).unwrap(), size);
                assert!(octets[..size] == *sent);
            }
        }
        let nobody = std::net::UdpSocket::bind((LINUX.0, 0)).unwrap();
        nobody.connect((OURS.0, 6)).unwrap();
        nobody.send(b"?").unwrap();
        assert_eq!(nobody.recv(&mut octets).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    });
}
