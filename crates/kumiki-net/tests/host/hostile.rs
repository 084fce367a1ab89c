//! Peers that mean no good, and a user who is slow.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kumiki_net::host::{HostConfig, PacketStack};
use kumiki_net::{Flow, SocketCounts, TcpListener, TcpStream, UdpSocket};

use crate::exchange::{Exchange, sum};

fn config(n: u8) -> HostConfig {
    HostConfig::new([[10, 0, 0, n].into()])
}

/// A packet of IPv4 with this behind its header.
fn ipv4(protocol: u8, source: [u8; 4], destination: [u8; 4], behind: &[u8]) -> Vec<u8> {
    let len = u16::try_from(20 + behind.len()).unwrap().to_be_bytes();
    let mut header =
        [&[0x45, 0, len[0], len[1], 0, 0, 0x40, 0, 64, protocol, 0, 0], &source[..], &destination].concat();
    let check = sum(&header);
    header[10..12].copy_from_slice(&check);
    [&header[..], behind].concat()
}

/// A SYN (RFC 9293 section 3.1).
fn syn(source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    let mut segment = [&[0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff][..], &[0; 4]].concat();
    let pseudo = [&source[..], &destination, &[0, 6, 0, 20], &segment].concat();
    let check = sum(&pseudo);
    segment[16..18].copy_from_slice(&check);
    ipv4(6, source, destination, &segment)
}

#[test]
fn what_had_no_room_beside_packets_that_nobody_took_is_asked_for_once_they_are_taken() {
    let mut host = PacketStack::new(&config(1), 1).unwrap();
    let stack = host.stack().clone();
    let mut held = Vec::new();
    let mut all = Exchange::new([&config(2), &config(3)]);
    all.run(async {
        for _ in 0..3 {
            let socket = stack.scope(UdpSocket::bind("10.0.0.1:0")).await.unwrap();
            for _ in 0..500 {
                socket.try_send_to(&[], "10.0.0.9:7".parse().unwrap()).unwrap();
            }
            held.push(socket);
        }
    });
    let mut out = 0;
    while host.needs_poll() {
        host.poll(Duration::ZERO).unwrap();
        out += std::iter::from_fn(|| host.transmit()).count();
    }
    assert_eq!(out, 1500);
}

#[test]
fn a_flow_says_that_its_host_is_gone_though_much_was_sent_before() {
    let mut host = PacketStack::new(&HostConfig::gateway(), 1).unwrap();
    let mut gateway = host.gateway().unwrap();
    host.receive(&ipv4(17, [10, 0, 0, 1], [203, 0, 113, 1], &[0, 7, 0, 7, 0, 9, 0, 0, 0]));
    host.poll(Duration::ZERO).unwrap();
    let mut all = Exchange::new([&config(2), &config(3)]);
    let Flow::Udp(flow) = all.run(async { gateway.accept_any().await.unwrap() }) else { panic!("no flow") };
    for _ in 0..1000 {
        assert_eq!(flow.try_send(b"x").unwrap(), 1);
    }
    drop(host);
    assert_eq!(flow.try_send(b"x").unwrap_err().kind(), ErrorKind::NetworkDown);
}

#[test]
fn a_flood_of_calls_that_are_taken_ends_at_the_bound_and_leaves_nothing() {
    const MEMORY: u64 = 1 << 20;
    let mut host = PacketStack::new(&HostConfig::gateway().memory(MEMORY), 1).unwrap();
    let mut gateway = host.gateway().unwrap();
    let stack = host.stack().clone();
    let mut cx = Context::from_waker(Waker::noop());
    let mut streams = Vec::new();
    for n in 0..10_000_u16 {
        let [high, low] = n.to_be_bytes();
        host.receive(&syn([10, 1, high, low], [203, 0, 113, 1]));
        host.poll(Duration::ZERO).unwrap();
        while let Poll::Ready(flow) = gateway.poll_accept_any(&mut cx) {
            let Flow::Tcp(offer) = flow.unwrap() else { panic!("no call") };
            streams.push(offer.accept().unwrap());
            host.poll(Duration::ZERO).unwrap();
        }
        while host.transmit().is_some() {}
    }
    let used = stack.memory().unwrap();
    // One more is let in as long as there is any room.
    assert!(used.held <= MEMORY + 4096 && used.refused > 0 && streams.len() < 2000, "{used:?}, {}", streams.len());
    // None of them has ever answered.
    let mut now = Duration::ZERO;
    while let Some(next) = host.poll(now).unwrap() {
        while host.transmit().is_some() {}
        now = next;
    }
    drop(streams);
    while let Some(next) = host.poll(now).unwrap() {
        while host.transmit().is_some() {}
        now = next;
    }
    assert_eq!((stack.memory().unwrap().held, stack.counts().streams + stack.counts().orphans), (0, 0));
}

/// A generator of Marsaglia's (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % most
    }

    /// `packet`, of which the header of IP stands at `ip`, with something wrong in it, and sums that are right all the
    /// same as a rule.
    fn spoiled(&mut self, mut packet: Vec<u8>, ip: usize) -> Vec<u8> {
        for _ in 0..=self.below(3) {
            let front = packet.len().min(ip + 60).max(1);
            match self.below(6) {
                0 => packet.truncate(self.below(front)),
                1 => packet.extend(vec![0; self.below(3000)]),
                2 if self.below(10) == 0 => packet.extend(vec![7; 70_000]),
                _ => {
                    let at = self.below(front);
                    if let Some(octet) = packet.get_mut(at) {
                        *octet = [0, 1, 0xff, 0x80, *octet ^ 1, *octet ^ 0x40][self.below(6)];
                    }
                }
            }
        }
        if self.below(4) > 0 && packet.len() >= ip + 40 && packet[ip] >> 4 == 4 {
            let len = u16::try_from((packet.len() - ip).min(65_535)).unwrap();
            if self.below(2) > 0 {
                packet[ip + 2..ip + 4].copy_from_slice(&len.to_be_bytes());
            }
            mend_sums(&mut packet[ip..], len - 20);
        }
        packet
    }
}

/// Writes the sums of IPv4 and of what it carries, `len` octets.
fn mend_sums(packet: &mut [u8], len: u16) {
    packet[10..12].copy_from_slice(&[0; 2]);
    let check = sum(&packet[..20]);
    packet[10..12].copy_from_slice(&check);
    let pseudo = [&packet[12..20], &[0, packet[9]], &len.to_be_bytes()].concat();
    let (at, pseudo) = match packet[9] {
        1 => (22, &[][..]),
        6 => (36, &pseudo[..]),
        17 => (26, &pseudo[..]),
        _ => return,
    };
    packet[at..at + 2].copy_from_slice(&[0; 2]);
    let check = sum(&[pseudo, &packet[20..]].concat());
    packet[at..at + 2].copy_from_slice(&check);
}

/// Calls, datagrams and their ends on a path that adds spoiled copies of each packet; in the end nothing may be left.
fn amid_spoiled_packets(seed: u64, is_ethernet: bool, is_gateway: bool) {
    let numbers = RefCell::new(Numbers(seed));
    let of = |config: HostConfig, n: u8| {
        let config = config.memory(1 << 20);
        if is_ethernet { config.ethernet([2, 0, 0, 0, 0, n]) } else { config }
    };
    let own = |n: u8| HostConfig::new([[10, 0, 0, n].into(), format!("fd00::{n}").parse().unwrap()]);
    let other = if is_gateway { HostConfig::gateway() } else { own(2) };
    let mut all = Exchange::new([&of(own(1), 1), &of(other, 2)]).through(|_, packet| {
        let mut numbers = numbers.borrow_mut();
        let ip = if is_ethernet { 14 } else { 0 };
        let mut arrive: Vec<_> = (0..numbers.below(4)).map(|_| numbers.spoiled(packet.clone(), ip)).collect();
        arrive.extend((numbers.below(10) > 0).then_some(packet));
        arrive
    });
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.pass(Duration::from_secs(5));
    let mut cx = Context::from_waker(Waker::noop());
    let (socket, listener) = all.run(async {
        let socket = one.scope(UdpSocket::bind("[::]:7")).await.unwrap();
        let listener = if is_gateway { None } else { Some(two.scope(TcpListener::bind("[::]:7")).await.unwrap()) };
        (socket, listener)
    });
    let mut gateway = is_gateway.then(|| two.gateway().unwrap());
    let (mut flows, mut servers) = (Vec::new(), Vec::new());
    for step in 0..30 {
        let at = if step % 2 == 0 { "10.0.0.2:7" } else { "[fd00::2]:7" };
        let mut call = Box::pin(one.scope(TcpStream::connect(at)));
        let mut client = None;
        for _ in 0..20 {
            if client.is_none() {
                client = now(&mut cx, call.as_mut());
            }
            all.pass(Duration::from_millis(50));
            while let Some(Poll::Ready(flow)) = gateway.as_mut().map(|it| it.poll_accept_any(&mut cx)) {
                match flow.unwrap() {
                    Flow::Tcp(offer) => servers.extend(offer.accept()),
                    Flow::Udp(flow) => flows.push(flow),
                }
            }
            while let Some(Poll::Ready(called)) = listener.as_ref().map(|it| it.poll_accept(&mut cx)) {
                servers.push(called.unwrap().0);
            }
            // Whether there is something, or room, is of no matter here.
            let _ = (socket.try_send_to(&[9; 2000], at.parse().unwrap()), socket.try_recv(&mut [0; 3000]));
            for stream in servers.iter().chain(client.iter().flatten()) {
                let _ = (stream.try_read(&mut [0; 5000]), stream.try_write(&[5; 5000]));
            }
            for flow in &flows {
                let _ = flow.try_send(&[1; 100]);
            }
        }
        let mut numbers = numbers.borrow_mut();
        if numbers.below(2) == 0 {
            servers.clear();
        }
        if numbers.below(3) == 0 {
            flows.clear();
        }
    }
    drop((servers, flows, gateway, listener, socket));
    // The longest that TCP waits for who does not answer, several times.
    all.pass(Duration::from_secs(7200));
    for stack in [one, two] {
        assert_eq!((stack.memory().unwrap().held, stack.counts()), (0, SocketCounts::default()));
    }
}

fn now<T>(cx: &mut Context<'_>, future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(cx) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

#[test]
fn spoiled_packets_harm_nobody_and_leave_nothing() {
    for seed in 1..=2 {
        for (is_ethernet, is_gateway) in [(false, false), (false, true), (true, false), (true, true)] {
            amid_spoiled_packets(seed, is_ethernet, is_gateway);
        }
    }
}
