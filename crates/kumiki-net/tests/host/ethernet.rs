//! Ethernet below: who is where, and a gateway that stands for everybody.

use std::time::Duration;

use kumiki_net::host::{HostConfig, PacketStack};
use kumiki_net::{Flow, TcpListener, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exchange::Exchange;

const GUEST: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 9];
const GATEWAY: [u8; 6] = [2, 0, 0, 0, 0, 2];
const ARP: [u8; 2] = [8, 6];

fn guest() -> HostConfig {
    HostConfig::new(["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()])
        .ethernet(GUEST)
        .router("10.0.0.254".parse().unwrap())
        .router("fd00::254".parse().unwrap())
}

#[test]
fn neighbours_find_each_other_and_the_first_datagram_is_kept() {
    let own = ["10.0.0.2", "fd00::2"].map(|it| it.parse().unwrap());
    let mut all = Exchange::new([&guest(), &HostConfig::new(own).ethernet(GATEWAY)]);
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    // IPv6 asks whether its addresses are somebody's before it uses them.
    all.pass(Duration::from_secs(5));
    all.run(async {
        let listener = two.scope(TcpListener::bind("[::]:7")).await.unwrap();
        let there = two.scope(UdpSocket::bind("[::]:7")).await.unwrap();
        for to in ["10.0.0.2:7", "[fd00::2]:7"] {
            let any = if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
            let socket = one.scope(UdpSocket::bind(any)).await.unwrap();
            for text in [b"first", b"other"] {
                socket.send_to(text, to).await.unwrap();
            }
            for text in [b"first", b"other"] {
                let mut back = [0; 9];
                assert_eq!(there.recv(&mut back).await.unwrap(), 5);
                assert_eq!(&back[..5], text);
            }
            let (call, accepted) = tokio::join!(one.scope(TcpStream::connect(to)), listener.accept());
            call.unwrap().write_all(b"x").await.unwrap();
            accepted.unwrap().0.read_exact(&mut [0]).await.unwrap();
        }
    });
}

// Z11.
#[test]
fn a_gateway_is_whoever_is_asked_for_and_sends_back_where_it_came_from() {
    let mut asked = 0;
    let mut all = Exchange::new([&guest(), &HostConfig::gateway().ethernet(GATEWAY)]).with(|from, frame| {
        asked += usize::from(from == 1 && frame[12..14] == ARP && frame[21] == 1);
        if from == 1 && frame[0] & 1 == 0 {
            assert_eq!(frame[..6], GUEST, "nobody else is there");
        }
        true
    });
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.pass(Duration::from_secs(5));
    all.run(async {
        let mut gateway = two.gateway().unwrap();
        // On the guest's own network, and beyond its router.
        for to in ["10.0.0.77:80", "203.0.113.9:80", "[fd00::77]:80", "[2001:db8::9]:80"] {
            let any = if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
            let socket = one.scope(UdpSocket::bind(any)).await.unwrap();
            socket.send_to(b"question", to).await.unwrap();
            let Flow::Udp(mut flow) = gateway.accept_any().await.unwrap() else { panic!("{to}") };
            assert_eq!(flow.destination().to_string(), to);
            let octets = flow.recv(&mut [0; 100]).await.unwrap();
            flow.send(&[7; 100][..octets]).await.unwrap();
            let (octets, from) = socket.recv_from(&mut [0; 100]).await.unwrap();
            assert_eq!((octets, from.to_string()), (8, to.to_owned()));
            let (call, offer) = tokio::join!(one.scope(TcpStream::connect(to)), async {
                let Flow::Tcp(offer) = gateway.accept_any().await.unwrap() else { panic!("{to}") };
                offer.accept().unwrap()
            });
            let (mut call, mut stream) = (call.unwrap(), offer);
            stream.write_all(b"x").await.unwrap();
            call.read_exact(&mut [0]).await.unwrap();
        }
    });
    // Half an hour later it still knows.
    all.pass(Duration::from_secs(1800));
    drop(all);
    assert_eq!(asked, 0, "a gateway knows who has spoken to it");
}

/// A question of ARP (RFC 826).
fn question(station: [u8; 6], own: [u8; 4], wanted: [u8; 4]) -> Vec<u8> {
    let head = [&[0xff; 6][..], &station, &ARP, &[0, 1, 8, 0, 6, 4, 0, 1]].concat();
    [&head[..], &station, &own, &[0; 6], &wanted].concat()
}

#[test]
fn a_gateway_does_not_say_that_it_is_who_is_known_or_about_to_come() {
    let mut host = PacketStack::new(&HostConfig::gateway().ethernet(GATEWAY), 1).unwrap();
    let mut answers = |frame: Vec<u8>| {
        host.receive(&frame);
        host.poll(Duration::ZERO).unwrap();
        let mut all = Vec::new();
        while let Some(frame) = host.transmit() {
            if frame[12..14] == ARP {
                assert_eq!((&frame[6..12], frame[21]), (&GATEWAY[..], 2));
                all.push(frame);
            }
        }
        all.len()
    };
    let (guest, other) = ([10, 0, 0, 1], [10, 0, 0, 9]);
    assert_eq!(answers(question(GUEST, [0; 4], guest)), 0, "who is about to take it");
    assert_eq!(answers(question(GUEST, guest, guest)), 0, "who has taken it");
    assert_eq!(answers(question(GUEST, guest, other)), 1, "nobody is known there");
    assert_eq!(answers(question(OTHER, other, [8, 8, 8, 8])), 1);
    assert_eq!(answers(question(GUEST, guest, other)), 0, "now somebody is");
    assert_eq!(answers(question(GUEST, guest, [255; 4])), 0);
}

// Z11: hosts behind the guest, which answer no question of the link.
#[test]
fn who_is_behind_another_station_is_answered_by_way_of_that() {
    let behind = ["172.17.0.5", "2001:db8:5::5"].map(|it| it.parse().unwrap());
    let mut all =
        Exchange::new([&HostConfig::new(behind), &HostConfig::gateway().ethernet(GATEWAY)]).through(|from, packet| {
            if from == 0 {
                let kind = if packet[0] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] };
                return vec![[&GATEWAY[..], &GUEST, &kind, &packet].concat()];
            }
            // To groups of IPv6 it asks whether its own address is somebody's, and says of which groups it is.
            if packet[0] & 1 == 1 {
                assert!(packet[12..14] == [0x86, 0xdd] && packet[22..38] <= [0xfe, 0x80, 0xff][..], "{packet:02x?}");
                return Vec::new();
            }
            assert_eq!(packet[..6], GUEST);
            vec![packet[14..].to_vec()]
        });
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.pass(Duration::from_secs(5));
    let mut gateway = two.gateway().unwrap();
    let mut flows = all.run(async {
        let mut flows = Vec::new();
        for (local, to) in [("172.17.0.5:9", "8.8.8.8:53"), ("[2001:db8:5::5]:9", "[2001:db8::8]:53")] {
            let socket = one.scope(UdpSocket::bind(local)).await.unwrap();
            socket.send_to(b"x", to).await.unwrap();
            let Flow::Udp(mut flow) = gateway.accept_any().await.unwrap() else { panic!("{to}") };
            flow.recv(&mut [0]).await.unwrap();
            flows.push((socket, flow));
        }
        flows
    });
    // Long after the caches of hosts have forgotten.
    all.pass(Duration::from_secs(250));
    all.run(async {
        for (socket, flow) in &mut flows {
            flow.send(b"y").await.unwrap();
            socket.recv(&mut [0]).await.unwrap();
        }
    });
}
