//! Hosts that have no address at first: their owner gives one, or routers do.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::Duration;

use kumiki_net::host::{HostConfig, PacketStack};
use kumiki_net::{Network, NetworkRoute, TcpListener, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exchange::Exchange;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn an_ethernet_that_gets_its_addresses_while_it_runs_is_found_there_and_finds_others() {
    let peer = HostConfig::new([ip("10.0.0.2"), ip("fd00::2")]).ethernet(PEER).router(ip("10.0.0.1"));
    let mut all = Exchange::new([&HostConfig::new([]).later(true, true).ethernet(OWN), &peer]);
    let [one, two] = all.hosts.each_ref().map(|it| it.stack().clone());
    all.pass(Duration::from_secs(5));
    let listener = all.run(async {
        for to in ["10.0.0.2:7", "[fd00::2]:7"] {
            let none = one.scope(TcpStream::connect(to)).await.unwrap_err();
            assert_eq!(none.kind(), ErrorKind::NetworkUnreachable, "{to}");
        }
        one.scope(TcpListener::bind("[::]:7")).await.unwrap()
    });
    one.line(0).add_address(ip("10.0.0.1"), 24).unwrap();
    one.line(0).add_address(ip("fd00::1"), 64).unwrap();
    // Nobody claims the one of IPv6.
    all.pass(Duration::from_secs(2));
    all.run(async {
        let there = two.scope(TcpListener::bind("[::]:7")).await.unwrap();
        for (from, to) in [("10.0.0.1:7", "10.0.0.2:7"), ("[fd00::1]:7", "[fd00::2]:7")] {
            let (call, accepted) = tokio::join!(two.scope(TcpStream::connect(from)), listener.accept());
            call.unwrap().write_all(b"x").await.unwrap();
            accepted.unwrap().0.read_exact(&mut [0]).await.unwrap();
            let (call, accepted) = tokio::join!(one.scope(TcpStream::connect(to)), there.accept());
            call.unwrap().write_all(b"x").await.unwrap();
            accepted.unwrap().0.read_exact(&mut [0]).await.unwrap();
        }
    });
    one.line(0).remove_address(ip("10.0.0.1")).unwrap();
    let gone = all.run(one.scope(UdpSocket::bind("10.0.0.1:0"))).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::AddrNotAvailable);
}

/// A router's advertisement (RFC 4861 section 4.2) from fe80::ff, in a frame: lifetime, and options.
fn advertisement(lifetime_s: u16, options: &[u8]) -> Vec<u8> {
    let [high, low] = lifetime_s.to_be_bytes();
    let mut icmp = [&[134, 0, 0, 0, 64, 0, high, low, 0, 0, 0, 0, 0, 0, 0, 0][..], options].concat();
    let addresses = ["fe80::ff", "ff02::1"].map(|it| it.parse::<std::net::Ipv6Addr>().unwrap().octets()).concat();
    let length = u16::try_from(icmp.len()).unwrap().to_be_bytes();
    let mut sum: u32 = 58 + u32::from(u16::from_be_bytes(length));
    for pair in [&addresses[..], &icmp].concat().chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    icmp[2..4].copy_from_slice(&(!u16::try_from(sum).unwrap()).to_be_bytes());
    let ethernet = [0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0xff, 0x86, 0xdd];
    let header = [&[0x60, 0, 0, 0][..], &length, &[58, 255], &addresses].concat();
    [&ethernet[..], &header, &icmp].concat()
}

/// Source, MTU 1400, 2001:db8:7::/64 for so many seconds, and a resolver for 60 (RFC 8106 section 5.1).
fn options(valid_s: u8) -> Vec<u8> {
    let prefix = [&[3, 4, 64, 0xc0, 0, 0, 0, valid_s, 0, 0, 0, valid_s, 0, 0, 0, 0][..], &PREFIX].concat();
    let resolver = [&[25, 3, 0, 0, 0, 0, 0, 60, 0xfd][..], &[0; 14], &[0x53]].concat();
    [&[1, 1, 2, 0, 0, 0, 0, 0xff, 5, 1, 0, 0, 0, 0, 5, 0x78][..], &prefix, &resolver].concat()
}

const PREFIX: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const MADE: &str = "2001:db8:7::ff:fe00:1";

struct Lonely {
    host: PacketStack,
    now: Duration,
}

impl Lonely {
    /// Lets so much time pass; all that was sent.
    fn pass(&mut self, time: Duration) -> Vec<Vec<u8>> {
        let (end, mut sent) = (self.now + time, Vec::new());
        loop {
            let next = self.host.poll(self.now).unwrap();
            while let Some(frame) = self.host.transmit() {
                sent.push(frame);
            }
            match next.filter(|next| *next <= end) {
                Some(next) => self.now = next.max(self.now),
                None => break,
            }
        }
        self.now = end;
        sent
    }

    fn network(&self) -> Network {
        self.host.stack().network()
    }
}

#[test]
fn what_routers_say_is_what_sockets_see_until_its_time_is_over() {
    let config = HostConfig::new([]).later(false, true).ethernet(OWN);
    let mut lonely = Lonely { host: PacketStack::new(&config, 1).unwrap(), now: Duration::ZERO };
    let sent = lonely.pass(Duration::from_secs(5));
    assert!(sent.iter().any(|frame| frame.get(54) == Some(&133)), "routers are asked");
    assert!(!lonely.network().has_address(false));
    lonely.host.receive(&advertisement(100, &options(200)));
    lonely.pass(Duration::from_secs(3));
    let network = lonely.network();
    assert_eq!(network.addresses.iter().map(|it| it.address).collect::<Vec<_>>(), [ip(MADE)]);
    assert!(network.has_address(false) && !network.has_address(true));
    assert_eq!((network.mtu, network.resolvers), (vec![1400], vec![ip("fd00::53")]));
    let default = NetworkRoute { network: ip("::"), prefix: 0, router: Some(ip("fe80::ff")), line: 0 };
    let on_link = NetworkRoute { network: ip("2001:db8:7::"), prefix: 64, router: None, line: 0 };
    assert_eq!(network.routes, [default, on_link]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let stack = lonely.host.stack().clone();
    let socket = runtime.block_on(stack.scope(UdpSocket::bind((ip(MADE), 0)))).unwrap();
    lonely.pass(Duration::ZERO);
    runtime.block_on(socket.send_to(b"x", "[2001:db8:9::9]:9")).unwrap();
    let sent = lonely.pass(Duration::ZERO);
    assert_eq!(sent[0][..6], [2, 0, 0, 0, 0, 0xff], "to the router");
    lonely.pass(Duration::from_secs(60));
    assert!(lonely.network().resolvers.is_empty());
    lonely.pass(Duration::from_secs(40));
    assert_eq!(lonely.network().routes, [on_link]);
    lonely.pass(Duration::from_secs(100));
    let network = lonely.network();
    assert!(network.addresses.is_empty() && network.routes.is_empty(), "{network:?}");
    let late = runtime.block_on(socket.send_to(b"x", "[2001:db8:9::9]:9")).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::NetworkUnreachable);
}
