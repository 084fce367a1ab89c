//! A host with several devices.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kumiki_net::host::{Flow, Frames, HostConfig, HostStack, Line, PacketStack, RealDevice};
use kumiki_net::{TcpListener, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// In the middle: a line that leads everywhere, and an Ethernet that leads to its own networks and, by a router, to one
/// behind it.
fn middle() -> HostConfig {
    let ethernet = Line::new([ip("192.168.7.1"), ip("fd07::1")])
        .ethernet([2, 0, 0, 0, 7, 1])
        .route(ip("172.16.0.0"), 12, Some(ip("192.168.7.2")))
        .route(ip("fd17::"), 16, Some(ip("fd07::2")));
    HostConfig::new([ip("10.0.0.1"), ip("fd00::1")])
        .route(ip("0.0.0.0"), 0, None)
        .route(ip("::"), 0, None)
        .line(ethernet)
}

/// A host at the other end of the first line, which is the whole world, and the station on the Ethernet, which has an
/// address of the network behind it.
fn ends() -> [HostConfig; 2] {
    let world = HostConfig::new([ip("203.0.113.9"), ip("2001:db8::9")]);
    let station = HostConfig::new([ip("192.168.7.2"), ip("fd07::2"), ip("fd17::2")])
        .ethernet([2, 0, 0, 0, 7, 2])
        .router(ip("192.168.7.1"))
        .router(ip("fd07::1"));
    [world, station]
}

/// The middle, with the world at its device 0 and the station at its device 1.
struct Three {
    middle: PacketStack,
    ends: [PacketStack; 2],
    now: Duration,
    /// How many packets have left the middle by each of its devices.
    went: [usize; 2],
}

impl Three {
    fn new() -> Self {
        Self::around(&middle())
    }

    fn around(middle: &HostConfig) -> Self {
        let ends = ends().map(|it| PacketStack::new(&it, 2).unwrap());
        Self { middle: PacketStack::new(middle, 1).unwrap(), ends, now: Duration::ZERO, went: [0; 2] }
    }

    fn carry(&mut self) -> Option<Duration> {
        let mut next = self.middle.poll(self.now).unwrap();
        for (device, end) in self.ends.iter_mut().enumerate() {
            while let Some(packet) = self.middle.transmit_on(device) {
                self.went[device] += 1;
                end.receive(&packet);
            }
            next = [next, end.poll(self.now).unwrap()].into_iter().flatten().min();
            while let Some(packet) = end.transmit() {
                self.middle.receive_on(device, &packet);
            }
        }
        next
    }

    fn run<T>(&mut self, program: impl Future<Output = T>) -> T {
        let mut program = pin!(program);
        loop {
            let next = self.carry();
            if let Poll::Ready(done) = program.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return done;
            }
            if !self.middle.needs_poll() && !self.ends.iter().any(PacketStack::needs_poll) {
                self.now = next.expect("the program waits for what never comes");
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            let next = self.carry().unwrap_or(until).min(until);
            self.now = next.max(self.now + Duration::from_millis(1));
        }
    }

    /// Until addresses of IPv6 on an Ethernet are somebody's.
    fn settle(&mut self) {
        self.pass(Duration::from_secs(5));
    }
}

#[test]
fn a_gateway_on_two_devices_answers_where_who_calls_is_behind() {
    let ethernet = Line::new([ip("192.168.7.1"), ip("fd07::1")]).ethernet([2, 0, 0, 0, 7, 1]);
    let everywhere = HostConfig::gateway().route(ip("0.0.0.0"), 0, None).route(ip("::"), 0, None);
    let mut all = Three::around(&everywhere.line(ethernet.clone()));
    all.settle();
    let mut gateway = all.middle.stack().gateway().unwrap();
    for device in [0, 1] {
        let caller = all.ends[device].stack().clone();
        for called in ["198.51.100.7:80", "[2001:db8:7::1]:80"] {
            let called: SocketAddr = called.parse().unwrap();
            let before = all.went;
            all.run(async {
                let call = caller.scope(TcpStream::connect(called));
                let answer = async {
                    let Flow::Tcp(offer) = gateway.accept_any().await.unwrap() else { panic!("no call") };
                    assert_eq!(offer.destination(), called);
                    offer.accept().unwrap()
                };
                let (call, mut answered) = tokio::join!(call, answer);
                answered.write_all(b"hello").await.unwrap();
                call.unwrap().read_exact(&mut [0; 5]).await.unwrap();
            });
            assert!(all.went[device] > before[device], "{device} {called}");
            all.pass(Duration::from_secs(1));
        }
    }
    // Nobody could be answered.
    let why = PacketStack::new(&HostConfig::gateway().line(ethernet), 1).unwrap_err().to_string();
    assert!(why.contains("device 0") && why.contains("a route"), "{why}");
}

#[test]
fn what_is_sent_goes_where_the_longest_prefix_leads_and_from_the_address_there() {
    let mut all = Three::new();
    all.settle();
    let own = all.middle.stack().clone();
    let [world, station] = all.ends.each_ref().map(|it| it.stack().clone());
    for (from, there, to) in [
        ("10.0.0.1", &world, "203.0.113.9"),
        ("fd00::1", &world, "2001:db8::9"),
        ("192.168.7.1", &station, "192.168.7.2"),
        ("fd07::1", &station, "fd07::2"),
        ("fd07::1", &station, "fd17::2"),
    ] {
        let (from, to) = (ip(from), SocketAddr::new(ip(to), 7));
        let before = all.went;
        all.run(async {
            let listener = there.scope(TcpListener::bind(to)).await.unwrap();
            let (call, accepted) = tokio::join!(own.scope(TcpStream::connect(to)), listener.accept());
            let (mut call, (mut stream, caller)) = (call.unwrap(), accepted.unwrap());
            assert_eq!((call.local_addr().unwrap().ip(), caller.ip()), (from, from));
            call.write_all(b"hello").await.unwrap();
            stream.read_exact(&mut [0; 5]).await.unwrap();
            let any = SocketAddr::new(if from.is_ipv4() { ip("0.0.0.0") } else { ip("::") }, 0);
            let socket = own.scope(UdpSocket::bind(any)).await.unwrap();
            let hears = there.scope(UdpSocket::bind(to)).await.unwrap();
            socket.send_to(b"x", to).await.unwrap();
            assert_eq!(hears.recv_from(&mut [0]).await.unwrap().1.ip(), from);
            socket.connect(to).await.unwrap();
            assert_eq!(socket.local_addr().unwrap().ip(), from);
        });
        // The connection ends.
        all.pass(Duration::from_secs(1));
        let other = usize::from(from == ip("10.0.0.1") || from == ip("fd00::1"));
        assert!(all.went[1 - other] > before[1 - other], "{from}");
        assert_eq!(all.went[other], before[other], "{from}: nothing goes by the other device");
    }
}

#[test]
fn one_listener_hears_callers_of_each_device_and_nothing_is_passed_on() {
    let mut all = Three::new();
    all.settle();
    let own = all.middle.stack().clone();
    let [world, station] = all.ends.each_ref().map(|it| it.stack().clone());
    all.run(async {
        let listener = own.scope(TcpListener::bind("[::]:80")).await.unwrap();
        for (caller, to) in [
            (&world, "10.0.0.1:80"),
            (&world, "[fd00::1]:80"),
            (&station, "192.168.7.1:80"),
            (&station, "[fd07::1]:80"),
        ] {
            let (call, accepted) = tokio::join!(caller.scope(TcpStream::connect(to)), listener.accept());
            let (mut call, (mut stream, _)) = (call.unwrap(), accepted.unwrap());
            assert_eq!(stream.local_addr().unwrap().ip().to_canonical(), to.parse::<SocketAddr>().unwrap().ip());
            stream.write_all(b"hello").await.unwrap();
            call.read_exact(&mut [0; 5]).await.unwrap();
        }
        // An own address of the other device is the host, too: Linux takes it as well.
        let (call, accepted) = tokio::join!(station.scope(TcpStream::connect("10.0.0.1:80")), listener.accept());
        assert!(call.is_ok() && accepted.is_ok());
    });
    let before = all.went[0];
    all.run(async {
        let socket = station.scope(UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        socket.send_to(b"x", "203.0.113.9:9").await.unwrap();
    });
    all.pass(Duration::from_secs(1));
    assert_eq!(all.went[0], before);
}

#[test]
fn where_no_line_leads_is_told_and_so_are_devices_that_are_not_there() {
    let config = HostConfig::new([ip("10.0.0.1")]).line(Line::new([ip("10.0.1.1")]).prefixes(30, 64));
    let host = PacketStack::new(&config, 1).unwrap();
    let mut three = Three { middle: host, ..Three::new() };
    let own = three.middle.stack().clone();
    let refused = three.run(own.scope(TcpStream::connect("192.0.2.1:80"))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NetworkUnreachable, "{refused}");
    three.run(async {
        let socket = own.scope(UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        for refused in [socket.send_to(b"x", "192.0.2.1:7").await.map(drop), socket.connect("192.0.2.1:7").await] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::NetworkUnreachable);
        }
        socket.send_to(b"x", "10.0.1.2:7").await.unwrap();
    });
    let devices: Vec<Box<dyn RealDevice>> = vec![Box::new(Frames::datagrams(UnixDatagram::pair().unwrap().0).unwrap())];
    let said = HostStack::start_on(devices, &config).unwrap_err();
    assert_eq!(
        (said.kind(), said.to_string().contains("1 devices for a host with 2")),
        (ErrorKind::InvalidInput, true)
    );
    let gateway = PacketStack::new(&HostConfig::gateway().line(Line::new([ip("10.0.1.1")])), 1).unwrap_err();
    assert!(gateway.to_string().contains("behind device 0 of a gateway with 2"), "{gateway}");
}

// In real time: frames in a stream, and frames in datagrams.
#[test]
fn a_host_serves_both_sockets_of_the_machine_at_once() {
    kumiki_watchdog::minute();
    let [a, far_a] = <[_; 2]>::from(UnixStream::pair().unwrap()).map(|it| Frames::stream(it).unwrap());
    let [b, far_b] = <[_; 2]>::from(UnixDatagram::pair().unwrap()).map(|it| Frames::datagrams(it).unwrap());
    let own = |n: u8, host: u8| [ip(&format!("10.0.{n}.{host}")), ip(&format!("fd0{n}::{host}"))];
    let peer = |n: u8, device: Box<dyn RealDevice>| {
        HostStack::start(device, &HostConfig::new(own(n, 2)).ethernet([2, 0, 0, 0, n, 2])).unwrap()
    };
    let second = Line::new(own(2, 1)).ethernet([2, 0, 0, 0, 2, 1]);
    let config = HostConfig::new(own(1, 1)).ethernet([2, 0, 0, 0, 1, 1]).line(second);
    let host = HostStack::start_on(vec![Box::new(a), Box::new(b)], &config).unwrap();
    let peers = [peer(1, Box::new(far_a)), peer(2, Box::new(far_b))];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = host.stack().scope(TcpListener::bind("[::]:80")).await.unwrap();
        let exchange = async |n: u8, caller: &HostStack, to: SocketAddr| {
            // An address of IPv6 that nobody has claimed for long enough is not there at first.
            let mut call = loop {
                match caller.stack().scope(TcpStream::connect(to)).await {
                    Ok(call) => break call,
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            };
            call.write_all(&vec![n; 200_000]).await.unwrap();
            call.shutdown().await.unwrap();
            let mut back = Vec::new();
            call.read_to_end(&mut back).await.unwrap();
            assert_eq!(back, vec![n; 200_000]);
        };
        let serve = async {
            for _ in 0..4 {
                let (mut stream, _) = listener.accept().await.unwrap();
                let serve = async move {
                    let mut all = Vec::new();
                    stream.read_to_end(&mut all).await.unwrap();
                    stream.write_all(&all).await.unwrap();
                };
                tokio::spawn(serve);
            }
        };
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        tokio::join!(
            serve,
            exchange(1, &peers[0], at("10.0.1.1:80")),
            exchange(2, &peers[1], at("10.0.2.1:80")),
            exchange(3, &peers[0], at("[fd01::1]:80")),
            exchange(4, &peers[1], at("[fd02::1]:80")),
        );
    });
}
