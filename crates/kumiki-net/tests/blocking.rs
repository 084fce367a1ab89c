//! Sockets in the shape of std's, held against those of std: the same programs run over both.
#![allow(clippy::unwrap_used, missing_docs)]

use std::os::unix::net::UnixDatagram;

use kumiki_net::host::{Frames, HostConfig, HostStack};

/// The programs over the sockets of `$net`. What a program saw is its value.
macro_rules! over {
    ($name:ident, $net:path) => {
        mod $name {
            use std::fmt::Debug;
            use std::io::{self, Read as _, Write as _};
            use std::net::{Ipv4Addr, Shutdown};
            use std::thread;
            use std::time::Duration;

            use $net::{TcpListener, TcpStream, UdpSocket};

            const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
            /// A multiple of the ticks by which kernels count.
            const SOON: Duration = Duration::from_millis(40);

            fn say<T: Debug>(what: &io::Result<T>) -> String {
                what.as_ref().map_or_else(|error| format!("{:?}", error.kind()), |what| format!("{what:?}"))
            }

            fn pair() -> (TcpStream, TcpStream) {
                let listener = TcpListener::bind(HERE).unwrap();
                let call = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                (call, listener.accept().unwrap().0)
            }

            pub(crate) fn tcp() -> Vec<String> {
                let mut seen = Vec::new();
                let (mut one, other) = pair();
                let mut reads = other.try_clone().unwrap();
                // The reader waits until the writer, in another thread, has written and ended.
                let reader = thread::spawn(move || {
                    let mut all = Vec::new();
                    reads.read_to_end(&mut all).map(|_| all.len())
                });
                one.write_all(&vec![7; 3_000_000]).unwrap();
                seen.push(say(&one.shutdown(Shutdown::Write)));
                seen.push(say(&one.write(b"x")));
                seen.push(say(&reader.join().unwrap()));
                (&other).write_all(b"abc").unwrap();
                let mut buf = [0; 2];
                seen.push(say(&one.peek(&mut buf)));
                seen.push(say(&one.read(&mut buf)));
                seen.push(say(&one.read(&mut [])));
                seen.push(say(&other.set_read_timeout(Some(Duration::ZERO))));
                let (one, other) = pair();
                other.set_read_timeout(Some(SOON)).unwrap();
                seen.push(say(&other.try_clone().unwrap().read_timeout()));
                seen.push(say(&(&other).read(&mut buf)));
                other.set_read_timeout(None).unwrap();
                other.set_nonblocking(true).unwrap();
                seen.push(say(&(&other).read(&mut buf)));
                seen.push(say(&other.shutdown(Shutdown::Read)));
                seen.push(say(&(&other).read(&mut buf)));
                drop(one);
                // Ended by a reset, in which there is nothing left to end.
                let (mut one, other) = pair();
                one.write_all(b"never read").unwrap();
                while other.peek(&mut buf).unwrap() == 0 {}
                drop(other);
                seen.push(say(&one.read(&mut buf)));
                for how in [Shutdown::Write, Shutdown::Read, Shutdown::Both] {
                    seen.push(say(&one.shutdown(how)));
                }
                // Who neither reads nor writes resets what comes still.
                let (one, mut other) = pair();
                seen.push(say(&one.shutdown(Shutdown::Both)));
                seen.push(say(&other.read(&mut buf)));
                while other.write(b"x").is_ok() {}
                seen.push(say(&other.write(b"x")));
                seen.push(say(&one.shutdown(Shutdown::Write)));
                let nobody = TcpListener::bind(HERE).unwrap().local_addr().unwrap();
                seen.push(say(&TcpStream::connect(nobody).map(drop)));
                seen.push(say(&TcpStream::connect_timeout(&nobody, Duration::ZERO).map(drop)));
                let listener = TcpListener::bind(HERE).unwrap();
                listener.set_nonblocking(true).unwrap();
                seen.push(say(&listener.accept().map(drop)));
                seen.push(say(&listener.incoming().next().unwrap().map(drop)));
                seen.push(say(&TcpListener::bind(listener.local_addr().unwrap()).map(drop)));
                seen
            }

            pub(crate) fn udp() -> Vec<String> {
                let mut seen = Vec::new();
                let (one, other) = (UdpSocket::bind(HERE).unwrap(), UdpSocket::bind(HERE).unwrap());
                let (from, to) = (one.local_addr().unwrap(), other.local_addr().unwrap());
                let reads = other.try_clone().unwrap();
                let reader = thread::spawn(move || reads.recv_from(&mut [0; 10]).map(|(n, who)| (n, who == from)));
                seen.push(say(&one.send_to(b"abc", to)));
                seen.push(say(&reader.join().unwrap()));
                one.connect(to).unwrap();
                seen.push(say(&one.send(b"abcd")));
                let mut buf = [0; 10];
                seen.push(say(&other.peek(&mut buf)));
                seen.push(say(&other.recv(&mut buf[..2])));
                other.set_read_timeout(Some(SOON)).unwrap();
                seen.push(say(&other.recv(&mut buf)));
                other.set_nonblocking(true).unwrap();
                seen.push(say(&other.recv(&mut buf)));
                drop(other);
                let _ = one.send(b"x");
                seen.push(say(&one.recv(&mut buf)));
                seen
            }
        }
    };
}

over!(ours, kumiki_net::blocking);
over!(stds, std::net);

#[test]
fn programs_see_what_they_see_with_std() {
    kumiki_watchdog::minute();
    let (line, _other) = UnixDatagram::pair().unwrap();
    let config = HostConfig::new([[10, 0, 0, 1].into()]);
    let host = HostStack::start(Box::new(Frames::datagrams(line).unwrap()), &config).unwrap();
    // Threads that a program starts have it too.
    kumiki_net::Stack::set_default(Some(host.stack().clone()));
    assert_eq!(ours::tcp(), stds::tcp());
    assert_eq!(ours::udp(), stds::udp());
    kumiki_net::Stack::set_default(None);
}

/// What waits in a task of tokio is not told to let others run: nobody would come back to it.
#[test]
fn a_thread_that_runs_a_runtime_may_wait_as_with_std() {
    use std::io::{Read as _, Write as _};
    kumiki_watchdog::minute();
    let (line, _other) = UnixDatagram::pair().unwrap();
    let config = HostConfig::new([[10, 0, 0, 1].into()]);
    let host = HostStack::start(Box::new(Frames::datagrams(line).unwrap()), &config).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let _entered = host.stack().enter();
        let listener = kumiki_net::blocking::TcpListener::bind("127.0.0.1:7").unwrap();
        let mut call = kumiki_net::blocking::TcpStream::connect("127.0.0.1:7").unwrap();
        call.set_nodelay(true).unwrap();
        let mut stream = listener.accept().unwrap().0;
        for n in 0..=255 {
            call.write_all(&[n]).unwrap();
            let mut octet = [0];
            stream.read_exact(&mut octet).unwrap();
            assert_eq!(octet, [n]);
        }
        stream.set_nonblocking(true).unwrap();
        call.write_all(&[7; 500]).unwrap();
        stream.set_nonblocking(false).unwrap();
        while stream.peek(&mut [0; 500]).unwrap() < 500 {}
        stream.set_nonblocking(true).unwrap();
        for _ in 0..500 {
            assert_eq!(stream.read(&mut [0]).unwrap(), 1, "it is there");
        }
    });
}

#[cfg(feature = "sim")]
#[test]
fn a_socket_of_a_simulation_is_refused_where_it_would_stop_it() {
    use std::io::{Read as _, Write as _};
    kumiki_watchdog::minute();
    let host = kumiki_net::sim::Net::new(1).host("alone");
    let seen = host.run(async {
        let listener = kumiki_net::TcpListener::bind("127.0.0.1:7").await.unwrap();
        let call = kumiki_net::TcpStream::connect("127.0.0.1:7").await.unwrap();
        let (mut call, _stream) = (kumiki_net::blocking::TcpStream::from(call), listener.accept().await.unwrap());
        assert_eq!(call.write(b"x").unwrap(), 1, "nothing has to wait");
        let socket = kumiki_net::UdpSocket::bind("127.0.0.1:7").await.unwrap();
        let socket = kumiki_net::blocking::UdpSocket::from(socket);
        let refused = [call.read(&mut [0]).unwrap_err().kind(), socket.recv(&mut [0]).unwrap_err().kind()];
        call.set_nonblocking(true).unwrap();
        (refused, call.read(&mut [0]).unwrap_err().kind())
    });
    assert_eq!(seen, Ok(([std::io::ErrorKind::Unsupported; 2], std::io::ErrorKind::WouldBlock)));
}

#[cfg(feature = "sim")]
#[test]
fn a_simulation_refuses_what_would_stop_it() {
    let host = kumiki_net::sim::Net::new(1).host("alone");
    let refused = host.run(async { kumiki_net::blocking::TcpListener::bind("127.0.0.1:7").unwrap_err().kind() });
    assert_eq!(refused, Ok(std::io::ErrorKind::Unsupported));
}
