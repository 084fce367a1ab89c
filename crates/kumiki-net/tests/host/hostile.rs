//! Peers that mean no good, and a user who is slow.

use std::io::ErrorKind;
use std::time::Duration;

use kumiki_net::host::{HostConfig, PacketStack};
use kumiki_net::{Flow, UdpSocket};

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
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut streams = Vec::new();
    for n in 0..10_000_u16 {
        let [high, low] = n.to_be_bytes();
        host.receive(&syn([10, 1, high, low], [203, 0, 113, 1]));
        host.poll(Duration::ZERO).unwrap();
        while let std::task::Poll::Ready(flow) = gateway.poll_accept_any(&mut cx) {
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
