//! The user's own packets and time.

use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::net::{IpAddr, Shutdown};
use std::time::Duration;

use kumiki_net::host::{HostConfig, PacketStack, Recovering};
use kumiki_net::tcp::config::{self, Config};
use kumiki_net::{TcpListener, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exchange::{Exchange, error, sum};

fn configs() -> [HostConfig; 2] {
    [["10.0.0.1", "fd00::1"], ["10.0.0.2", "fd00::2"]].map(|it| HostConfig::new(it.map(|it| it.parse().unwrap())))
}

#[test]
fn two_stacks_are_joined_by_their_user_and_repeat() {
    let run = |at: &'static str| {
        let [a, b] = configs();
        let (count, sent) = (Cell::new(0_u32), Cell::new(0));
        let mut all = Exchange::new([&a, &b]).with(|_, packet| {
            count.set(count.get() + 1);
            sent.set(sent.get() + packet.len());
            count.get() % 50 != 0
        });
        let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
        let octets = all.run(async {
            let listener = one.scope(TcpListener::bind("[::]:7")).await.unwrap();
            let calls = two.scope(TcpStream::connect(at));
            let (mut calls, accepted) = tokio::join!(async { calls.await.unwrap() }, listener.accept());
            let (mut stream, _) = accepted.unwrap();
            let write = async {
                stream.write_all(&[7; 300_000]).await.unwrap();
                stream.shutdown().await.unwrap();
            };
            let mut octets = Vec::new();
            tokio::join!(write, async { calls.read_to_end(&mut octets).await.unwrap() });
            octets
        });
        assert_eq!(octets, [7; 300_000]);
        (all.now, count.get(), sent.get())
    };
    for at in ["10.0.0.1:7", "[fd00::1]:7"] {
        let first = run(at);
        assert!(first.1 > 100, "{first:?}");
        assert_eq!(first, run(at));
    }
}

#[test]
fn what_a_host_cannot_be_is_said() {
    let mac = HostConfig::new([[10, 0, 0, 1].into()]);
    for (config, said) in [
        (HostConfig::new([]), "a host without an address; expected one of IPv4 or of IPv6, unless it is a gateway"),
        (configs()[0].clone().mtu(1279), "an MTU of 1279 octets, expected 1280 to 65535"),
        (mac.clone().ethernet([0xff; 6]), "ff:ff:ff:ff:ff:ff, expected that of one station"),
        (mac.ethernet([2; 6]).prefixes(33, 64), "a prefix of 33 bits, expected 0 to 32"),
    ] {
        let error = PacketStack::new(&config, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn an_idle_stack_wants_no_call_and_time_does_not_go_back() {
    let mut host = PacketStack::new(&configs()[0], 1).unwrap();
    assert_eq!(host.poll(Duration::from_secs(5)).unwrap(), None);
    assert_eq!(host.poll(Duration::from_secs(4)).unwrap(), None);
    assert!(!host.needs_poll());
    let entered = host.stack().enter();
    let _call = kumiki_net::TcpSocket::new_v4().unwrap();
    assert!(!host.needs_poll());
    drop(entered);
    let stack = host.stack().clone();
    drop(host);
    let _entered = stack.enter();
    let listener = kumiki_net::TcpSocket::new_v4().unwrap();
    assert_eq!(listener.bind("10.0.0.1:7".parse().unwrap()).unwrap_err().kind(), ErrorKind::NetworkDown);
}

/// An echo request of `data` between addresses of one version of IP (RFC 792, RFC 4443 section 4.1).
fn echo(from: IpAddr, to: IpAddr, data: &[u8]) -> Vec<u8> {
    let is_v4 = from.is_ipv4();
    let mut icmp = [&[if is_v4 { 8 } else { 128 }, 0, 0, 0, 0x12, 0x34, 0, 1][..], data].concat();
    let len = u16::try_from(icmp.len()).unwrap();
    let (IpAddr::V6(source), IpAddr::V6(destination)) = (from, to) else {
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (from, to) else { panic!("{from} and {to}") };
        let check = sum(&icmp);
        icmp[2..4].copy_from_slice(&check);
        let total = (20 + len).to_be_bytes();
        let ends = [source.octets(), destination.octets()].concat();
        let mut ip = [&[0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 1, 0, 0][..], &ends].concat();
        let check = sum(&ip);
        ip[10..12].copy_from_slice(&check);
        return [ip, icmp].concat();
    };
    let ends = [source.octets(), destination.octets()].concat();
    let len = len.to_be_bytes();
    let check = sum(&[&ends[..], &[0, 0, len[0], len[1], 0, 0, 0, 58], &icmp].concat());
    icmp[2..4].copy_from_slice(&check);
    [&[0x60, 0, 0, 0, len[0], len[1], 58, 64][..], &ends, &icmp].concat()
}

#[test]
fn a_host_answers_echo_requests_to_its_addresses_and_a_gateway_those_to_all() {
    let [config, _] = configs();
    let gateway = HostConfig::gateway();
    for (config, own, to, is_answered) in [
        (&config, "10.0.0.2", "10.0.0.1", true),
        (&config, "fd00::2", "fd00::1", true),
        (&config, "10.0.0.2", "10.0.0.3", false),
        (&gateway, "10.0.0.2", "203.0.113.9", true),
        (&gateway, "fd00::2", "2001:db8::9", true),
    ] {
        let mut host = PacketStack::new(config, 1).unwrap();
        let [own, to]: [IpAddr; 2] = [own, to].map(|it| it.parse().unwrap());
        host.receive(&echo(own, to, b"kumiki"));
        host.poll(Duration::from_secs(1)).unwrap();
        let answered = host.transmit().filter(|it| it.ends_with(b"kumiki"));
        let expected = echo(to, own, b"kumiki");
        let (source, icmp) = if own.is_ipv4() { (12..20, 20) } else { (8..40, 40) };
        let of_echo = if own.is_ipv4() { 0 } else { 129 };
        let parts = answered.as_ref().map(|it| (&it[source.clone()], it[icmp], &it[icmp + 4..]));
        assert_eq!(parts, is_answered.then_some((&expected[source], of_echo, &expected[icmp + 4..])), "{to}");
    }
}

#[test]
fn a_datagram_that_is_too_long_has_the_error_of_linux() {
    const EMSGSIZE: i32 = 90;
    let mut host = PacketStack::new(&configs()[0], 1).unwrap();
    let (stack, mut now) = (host.stack().clone(), Duration::ZERO);
    let mut program = Box::pin(async {
        let socket = stack.scope(UdpSocket::bind("10.0.0.1:7")).await.unwrap();
        assert_eq!(socket.send_to(&[7; 65_508], "10.0.0.2:7").await.unwrap_err().raw_os_error(), Some(EMSGSIZE));
        socket.connect("10.0.0.2:7").await.unwrap();
        socket.send(&[7; 1400]).await.unwrap();
        socket.recv(&mut [0]).await.unwrap_err()
    });
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..10 {
        if let std::task::Poll::Ready(error) = program.as_mut().poll(&mut cx) {
            assert_eq!(error.raw_os_error(), Some(EMSGSIZE), "{error}");
            return;
        }
        now += Duration::from_millis(1);
        host.poll(now).unwrap();
        while let Some(packet) = host.transmit() {
            // Fragmentation needed (RFC 1191).
            host.receive(&error(&packet, [3, 4]));
        }
    }
    panic!("no error came");
}

#[test]
fn a_call_that_nobody_has_answered_ends_by_any_error_of_icmp() {
    let mut host = PacketStack::new(&configs()[0], 1).unwrap();
    let stack = host.stack().clone();
    let _entered = stack.enter();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    // Net, host and port unreachable, and the time to live at its end.
    for (icmp, kind) in [
        ([3, 0], ErrorKind::NetworkUnreachable),
        ([3, 1], ErrorKind::HostUnreachable),
        ([3, 3], ErrorKind::ConnectionRefused),
        ([3, 11], ErrorKind::NetworkUnreachable),
        ([11, 0], ErrorKind::HostUnreachable),
    ] {
        let mut call = Box::pin(TcpStream::connect("10.0.0.2:7"));
        assert!(call.as_mut().poll(&mut cx).is_pending());
        host.poll(Duration::ZERO).unwrap();
        let syn = host.transmit().unwrap();
        host.receive(&error(&syn, icmp));
        host.poll(Duration::ZERO).unwrap();
        let std::task::Poll::Ready(Err(ended)) = call.as_mut().poll(&mut cx) else {
            panic!("the call still waits after {icmp:?}");
        };
        assert_eq!(ended.kind(), kind, "{icmp:?}");
    }
}

/// Whether a packet of IPv4 has data of TCP, and then whether it is pushed.
fn pushes(packet: &[u8]) -> Option<bool> {
    let header = 20 + usize::from(packet[32] >> 4) * 4;
    (packet[9] == 6 && packet.len() > header).then(|| packet[33] & 8 != 0)
}

#[test]
fn the_end_of_what_goes_at_once_is_pushed_where_that_is_asked_for() {
    let ends = |push_bursts| {
        let [a, b] = configs().map(|it| it.tcp(Config { push_bursts, ..config::usual() }));
        let pushed = RefCell::new(Vec::new());
        let mut all = Exchange::new([&a, &b]).with(|from, packet| {
            pushed.borrow_mut().extend(pushes(packet).filter(|_| from == 0));
            true
        });
        let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
        all.run(async {
            let listener = one.scope(TcpListener::bind("10.0.0.1:7")).await.unwrap();
            let calls = two.scope(TcpStream::connect("10.0.0.1:7"));
            let (calls, accepted) = tokio::join!(calls, listener.accept());
            let (mut calls, (mut stream, _)) = (calls.unwrap(), accepted.unwrap());
            stream.write_all(&[7; 14_480]).await.unwrap();
            calls.read_exact(&mut [0; 14_480]).await.unwrap();
            stream.write_all(&[7; 20 * 1448]).await.unwrap();
            calls.read_exact(&mut [0; 20 * 1448]).await.unwrap();
        });
        drop(all);
        let numbered = (0..).zip(pushed.into_inner());
        numbered.filter(|(_, it)| *it).map(|(n, _)| n).collect::<Vec<u32>>()
    };
    let (of_data, of_bursts) = (ends(false), ends(true));
    assert!(of_data.iter().all(|it| of_bursts.contains(it)), "{of_data:?}, {of_bursts:?}");
    // Of the second write a part goes with each acknowledgment of the first.
    assert!(of_bursts.len() > of_data.len(), "{of_data:?}, {of_bursts:?}");
}

#[test]
fn a_connection_is_seen_from_outside_and_ends_direction_by_direction() {
    let [a, b] = configs();
    let mut all = Exchange::new([&a, &b]);
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    let (mut stream, mut calls) = all.run(async {
        let listener = one.scope(TcpListener::bind("10.0.0.1:7")).await.unwrap();
        let (calls, accepted) = tokio::join!(two.scope(TcpStream::connect("10.0.0.1:7")), listener.accept());
        (accepted.unwrap().0, calls.unwrap())
    });
    let state = |all: &Exchange<'_>, host: usize| {
        let found = all.hosts[host].connections();
        assert_eq!(found.len(), 1);
        (found[0].snapshot.state, found[0].snapshot.flight, found[0].snapshot.recovering)
    };
    assert_eq!(state(&all, 0), ("ESTABLISHED", 0, Recovering::No));
    all.run(async { stream.write_all(&[7; 100]).await.unwrap() });
    all.hosts[0].poll(all.now).unwrap();
    assert_eq!(state(&all, 0), ("ESTABLISHED", 100, Recovering::No));
    all.pass(Duration::from_millis(100));
    assert_eq!((calls.unread().unwrap(), stream.unread().unwrap()), (100, 0));
    assert_eq!(calls.try_read(&mut [0; 60]).unwrap(), 60);
    assert_eq!(calls.unread().unwrap(), 40);
    stream.end(Shutdown::Write).unwrap();
    all.pass(Duration::from_millis(100));
    assert_eq!((state(&all, 0).0, state(&all, 1).0), ("FIN-WAIT-2", "CLOSE-WAIT"));
    let mut rest = Vec::new();
    all.run(async { calls.read_to_end(&mut rest).await.unwrap() });
    assert_eq!(rest.len(), 40);
    calls.end(Shutdown::Both).unwrap();
    all.pass(Duration::from_millis(100));
    assert_eq!(calls.end(Shutdown::Read).unwrap_err().kind(), ErrorKind::NotConnected);
    assert!(all.hosts[1].connections().is_empty());
}

#[test]
fn what_is_changed_of_a_connection_tcp_heeds() {
    let [a, b] = configs();
    let mut all = Exchange::new([&a, &b]);
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    let (stream, calls) = all.run(async {
        let listener = one.scope(TcpListener::bind("10.0.0.1:7")).await.unwrap();
        let (calls, accepted) = tokio::join!(two.scope(TcpStream::connect("10.0.0.1:7")), listener.accept());
        (accepted.unwrap().0, calls.unwrap())
    });
    stream.change(|it| it.user_timeout = Some(config::Duration::from_secs(3))).unwrap();
    // The peer is not there any more.
    all.hosts[1] = PacketStack::new(&HostConfig::new(["10.9.9.9".parse().unwrap()]), 3).unwrap();
    drop(calls);
    stream.try_write(&[7; 100]).unwrap();
    all.pass(Duration::from_secs(5));
    assert_eq!(stream.take_error().unwrap().unwrap().kind(), ErrorKind::TimedOut);
}
