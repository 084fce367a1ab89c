//! What errors of ICMP are to sockets, held against Linux's in a network namespace of its own.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use kumiki_io::tun::Layer;
use kumiki_io::{Arrival, Packets, Sent, TunConfig};
use kumiki_net::host::{HostConfig, PacketStack, RealDevice, Tun};
use kumiki_net::{TcpStream, UdpSocket};
use kumiki_octets::Message;

use crate::exchange::error;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Of IPv4 what RFC 792 and RFC 1812 have, of IPv6 what RFC 4443 has and two codes more. What is too big is last: after
/// it Linux sends fragments.
fn errors(is_v4: bool) -> Vec<[u8; 2]> {
    let all = |kind, codes: u8| (0..codes).map(move |code| [kind, code]);
    let mut errors: Vec<_> = if is_v4 {
        // Of fragments that came too late Linux takes no notice.
        all(3, 16).chain(all(11, 1)).chain(all(12, 3)).collect()
    } else {
        all(1, 9).chain(all(2, 1)).chain(all(3, 2)).chain(all(4, 3)).collect()
    };
    errors.sort_by_key(|it| is_too_big(*it));
    errors
}

const fn is_too_big(error: [u8; 2]) -> bool {
    matches!(error, [3, 4] | [2, 0])
}

/// An error as a program can tell it from others: by its kind, and by its number where the standard library has none.
fn shown(error: &io::Error) -> String {
    let kind = format!("{:?}", error.kind());
    if kind == "Uncategorized" { format!("error {}", error.raw_os_error().unwrap()) } else { kind }
}

fn protocol(packet: &[u8]) -> u8 {
    if packet[0] >> 4 == 4 { packet[9] } else { packet[6] }
}

/// Linux, behind a device.
struct Linux {
    tun: Tun,
    /// Where nobody is.
    peer: [IpAddr; 2],
}

impl Linux {
    fn begin() -> Result<Self, String> {
        let own: [IpAddr; 2] = ["10.98.0.1", "fd98::1"].map(|it| it.parse().unwrap());
        kumiki_io::namespace::leave_host(false).map_err(|why| why.to_string())?;
        let config = TunConfig { layer: Layer::Ip, mtu: 1500, packets: Packets::Plain };
        let tun = Tun::open_as("k0", config).map_err(|why| why.to_string())?;
        tun.configure_kernel(own[0], 24, 1500).map_err(|why| why.to_string())?;
        tun.configure_kernel(own[1], 64, 1500).map_err(|why| why.to_string())?;
        Ok(Self { tun, peer: ["10.98.0.2", "fd98::2"].map(|it| it.parse().unwrap()) })
    }

    /// The next packet that it sends of this protocol.
    fn sends(&mut self, of: u8) -> Vec<u8> {
        loop {
            if let Some(Arrival::Unit { data, .. }) = self.tun.receive().unwrap() {
                let packet = data.to_vec();
                if protocol(&packet) == of {
                    return packet;
                }
            } else {
                thread::yield_now();
            }
        }
    }

    fn gets(&mut self, packet: &[u8]) {
        assert_eq!(self.tun.send(&Message::from_octets(packet), kumiki_graph::Address::NONE).unwrap(), Sent::Taken);
        self.tun.flush().unwrap();
    }

    /// What a connected socket of UDP says.
    fn datagram(&mut self, is_v4: bool, icmp: [u8; 2]) -> Option<io::Error> {
        let peer = SocketAddr::new(self.peer[usize::from(!is_v4)], 9);
        let socket = std::net::UdpSocket::bind(if is_v4 { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
        socket.connect(peer).unwrap();
        socket.send(&[7; 1400]).unwrap();
        let packet = self.sends(UDP);
        // Linux has acted on it when it has taken it.
        self.gets(&error(&packet, icmp));
        socket.take_error().unwrap()
    }

    /// What a call ends by.
    fn call(&mut self, is_v4: bool, icmp: [u8; 2]) -> io::Error {
        let peer = SocketAddr::new(self.peer[usize::from(!is_v4)], 9);
        let call = thread::spawn(move || std::net::TcpStream::connect(peer).unwrap_err());
        // Where the call had not gone to sleep, it takes the next one.
        while !call.is_finished() {
            if let Some(Arrival::Unit { data, .. }) = self.tun.receive().unwrap()
                && protocol(&data.to_vec()) == TCP
            {
                self.gets(&error(&data.to_vec(), icmp));
            }
            thread::yield_now();
        }
        call.join().unwrap()
    }
}

/// A host of ours with nothing but a packet's way.
fn ours() -> PacketStack {
    let own = ["10.98.0.1", "fd98::1"].map(|it| it.parse().unwrap());
    PacketStack::new(&HostConfig::new(own), 1).unwrap()
}

fn peer(is_v4: bool) -> &'static str {
    if is_v4 { "10.98.0.2:9" } else { "[fd98::2]:9" }
}

fn datagram(is_v4: bool, icmp: [u8; 2]) -> Option<io::Error> {
    let mut host = ours();
    let _entered = host.stack().clone().enter();
    let mut cx = Context::from_waker(Waker::noop());
    let mut make = Box::pin(async move {
        let socket = UdpSocket::bind(if is_v4 { "0.0.0.0:0" } else { "[::]:0" }).await.unwrap();
        socket.connect(peer(is_v4)).await.unwrap();
        socket.send(&[7; 1400]).await.unwrap();
        socket
    });
    let socket = loop {
        match make.as_mut().poll(&mut cx) {
            Poll::Ready(socket) => break socket,
            Poll::Pending => _ = host.poll(Duration::ZERO).unwrap(),
        }
    };
    host.poll(Duration::ZERO).unwrap();
    let packet = host.transmit().unwrap();
    host.receive(&error(&packet, icmp));
    host.poll(Duration::ZERO).unwrap();
    socket.take_error().unwrap()
}

fn call(is_v4: bool, icmp: [u8; 2]) -> io::Error {
    let mut host = ours();
    let _entered = host.stack().clone().enter();
    let mut cx = Context::from_waker(Waker::noop());
    let mut call = Box::pin(TcpStream::connect(peer(is_v4)));
    assert!(call.as_mut().poll(&mut cx).is_pending());
    host.poll(Duration::ZERO).unwrap();
    let syn = host.transmit().unwrap();
    host.receive(&error(&syn, icmp));
    host.poll(Duration::ZERO).unwrap();
    match call.as_mut().poll(&mut cx) {
        Poll::Ready(ended) => ended.unwrap_err(),
        Poll::Pending => panic!("the call still waits after {icmp:?}"),
    }
}

fn are_linuxs(mut linux: Linux) {
    for is_v4 in [true, false] {
        for icmp in errors(is_v4) {
            let [theirs, own] = [linux.datagram(is_v4, icmp), datagram(is_v4, icmp)];
            assert_eq!(own.as_ref().map(shown), theirs.as_ref().map(shown), "a datagram, {icmp:?}, {is_v4}");
            // What is too big ends no call.
            if !is_too_big(icmp) {
                assert_eq!(shown(&call(is_v4, icmp)), shown(&linux.call(is_v4, icmp)), "a call, {icmp:?}, {is_v4}");
            }
        }
    }
}

#[test]
fn what_icmp_says_is_to_sockets_what_it_is_to_linuxs() {
    kumiki_watchdog::minute();
    let tested = thread::spawn(|| match Linux::begin() {
        Ok(linux) => are_linuxs(linux),
        Err(why) => {
            let required = std::env::var_os("KUMIKI_REQUIRE_NETNS").is_some_and(|set| !set.is_empty());
            assert!(!required, "{why}");
            eprintln!("not tested: {why}");
        }
    });
    tested.join().unwrap();
}
