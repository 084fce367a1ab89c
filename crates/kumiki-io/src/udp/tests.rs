//! Over the loopback interface, with sockets of the standard library at the other end.

use core::net::SocketAddr;
use rustix::event::{PollFd, PollFlags, poll};

use super::*;
use crate::clock::{Bell, Clock as _, RealClock};

const ANY: &str = "127.0.0.1:0";

fn open(far: RemoteEnd) -> Udp {
    kumiki_watchdog::minute();
    Udp::open(ANY.parse().unwrap(), far).unwrap()
}

fn peer() -> UdpSocket {
    UdpSocket::bind(ANY).unwrap()
}

fn socket(address: SocketAddr) -> Address {
    Address::from(SocketAddr::new(address.ip(), address.port()))
}

/// The next unit and who sent it, once there is one.
fn next(udp: &mut Udp) -> (Vec<u8>, Address) {
    loop {
        if let Some(Arrival::Unit { data, source, .. }) = udp.receive().unwrap() {
            return (data.to_vec(), source);
        }
        let mut polled = [PollFd::new(&udp.socket, PollFlags::IN)];
        poll(&mut polled, None).unwrap();
    }
}

#[test]
fn each_unit_says_who_sent_it_and_where_it_goes() {
    let (mut udp, one, other) = (open(RemoteEnd::Any), peer(), peer());
    one.send_to(b"one", udp.local()).unwrap();
    assert_eq!(next(&mut udp), (b"one".to_vec(), socket(one.local_addr().unwrap())));
    other.send_to(b"", udp.local()).unwrap();
    let to_other = socket(other.local_addr().unwrap());
    assert_eq!(next(&mut udp), (Vec::new(), to_other));
    // Headers and content lie apart, and are one datagram.
    let mut unit = Message::from_octets(&[9; 1000]);
    unit.push(2).copy_from_slice(b"ab");
    assert_eq!(udp.send(&unit, to_other).unwrap(), Sent::Taken);
    let mut octets = [0; 2000];
    assert_eq!(other.recv_from(&mut octets).unwrap(), (1002, udp.local()));
    assert_eq!(&octets[..3], b"ab\x09");
    let nobody = udp.send(&unit, Address::NONE).unwrap();
    assert_eq!((nobody, udp.peer()), (Sent::Refused, None));
}

#[test]
fn the_first_who_sends_is_the_peer_and_others_are_strangers() {
    let (mut udp, one, other) = (open(RemoteEnd::First), peer(), peer());
    let unit = Message::from_octets(b"back");
    assert_eq!(udp.send(&unit, Address::NONE).unwrap(), Sent::Refused);
    one.send_to(b"first", udp.local()).unwrap();
    next(&mut udp);
    other.send_to(b"stranger", udp.local()).unwrap();
    one.send_to(b"second", udp.local()).unwrap();
    assert_eq!(next(&mut udp).0, b"second");
    assert_eq!(udp.strangers(), 1);
    assert_eq!(udp.peer(), one.local_addr().ok());
    assert_eq!(udp.send(&unit, Address::NONE).unwrap(), Sent::Taken);
    let mut octets = [0; 9];
    assert_eq!(one.recv(&mut octets).unwrap(), 4);
}

#[test]
fn a_given_peer_is_the_only_one() {
    let (one, other) = (peer(), peer());
    let mut udp = open(RemoteEnd::Given(one.local_addr().unwrap()));
    other.send_to(b"stranger", udp.local()).unwrap();
    one.send_to(b"peer", udp.local()).unwrap();
    assert_eq!(next(&mut udp).0, b"peer");
    assert_eq!(udp.strangers(), 1);
}

#[test]
fn what_is_too_long_is_refused_and_the_next_one_goes() {
    let one = peer();
    let mut udp = open(RemoteEnd::Given(one.local_addr().unwrap()));
    // 65,535 octets less the headers of IPv4 and UDP are the most.
    let long = Message::from_octets(&vec![1; 65_508]);
    assert_eq!(udp.send(&long, Address::NONE).unwrap(), Sent::Refused);
    let most = Message::from_octets(&vec![1; 65_507]);
    assert_eq!(udp.send(&most, Address::NONE).unwrap(), Sent::Taken);
    assert_eq!(one.recv(&mut vec![0; 1 << 16]).unwrap(), 65_507);
    // An address of the other version.
    let ipv6 = socket("[::1]:9".parse().unwrap());
    assert_eq!(udp.send(&most, ipv6).unwrap(), Sent::Refused);
    // Nobody is there, which ICMP says and nobody here reads.
    drop(one);
    for _ in 0..3 {
        assert_eq!(udp.send(&most, Address::NONE).unwrap(), Sent::Taken);
        assert!(udp.receive().unwrap().is_none());
    }
}

#[test]
fn a_port_that_is_taken_is_an_error_that_says_so() {
    let holder = peer();
    let taken = holder.local_addr().unwrap();
    let error = Udp::open(taken, RemoteEnd::Any).unwrap_err().to_string();
    assert!(error.contains("Another socket has this port"), "{error}");
}

/// The two clocks agree on how long something lay there at least; how much longer depends on the machine. The kernel
/// begins to note times some while after it was asked to: when a worker of its own has had a processor.
#[test]
#[cfg(target_os = "linux")]
fn the_kernel_tells_how_long_a_unit_had_been_there() {
    let (mut udp, one, clock) = (open(RemoteEnd::First), peer(), RealClock::start());
    udp.tell_waits();
    kumiki_watchdog::minute();
    loop {
        one.send_to(b"unit", udp.local()).unwrap();
        let sent = clock.now();
        let until = sent + Duration::from_millis(1);
        while clock.now() < until {
            clock.wait(until, &Bell::default(), &[]);
        }
        let lain = clock.now().saturating_since(sent);
        let Some(Arrival::Unit { waited, .. }) = udp.receive().unwrap() else {
            panic!("nothing came");
        };
        if waited >= lain {
            return;
        }
    }
}
