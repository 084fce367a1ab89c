//! Devices in a network namespace of this thread alone: Linux's sockets at the other end, packets by hand at ours.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::AsRawFd as _;

use kumiki_octets::{Checksum, Meta, Sum};
use rustix::thread::UnshareFlags;

use super::*;

const LINUX: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 1);
const OURS: [u8; 4] = [10, 97, 0, 2];
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 7];

/// Runs `test` where there are no interfaces but those it makes. Where no namespace or device can be had nothing is
/// tested, which is said, and is a failure with `KUMIKI_REQUIRE_NETNS` set.
fn in_a_namespace(test: fn()) {
    let thread = std::thread::spawn(move || {
        #[expect(unsafe_code, reason = "a namespace is of the whole thread")]
        // SAFETY: this thread has no descriptors of its own and shares none by it; a network namespace changes nothing
        // else.
        let own = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
        let probe = own.map_err(|why| why.to_string()).and_then(|()| {
            let probe = Tun::open("probe", 1500).map_err(|why| why.to_string())?;
            probe.configure_kernel(LINUX.into(), 24, 1500).map_err(|why| why.to_string())
        });
        match probe {
            Ok(()) => test(),
            Err(why) => {
                let required = std::env::var_os("KUMIKI_REQUIRE_NETNS").is_some_and(|set| !set.is_empty());
                assert!(!required, "{why}");
                eprintln!("not tested: {why}");
            }
        }
    });
    thread.join().unwrap();
}

fn opened(layer: Layer, packets: Packets) -> Tun {
    let tun = Tun::open_as("t0", TunConfig { layer, mtu: 1500, packets }).unwrap();
    tun.kernel().leave_link_local_to_us();
    tun.configure_kernel(LINUX.into(), 24, 1500).unwrap();
    tun
}

/// The next packet or frame that `wanted` takes. What is read so is there already, or comes of what the kernel does at
/// once.
fn next(tun: &mut Tun, wanted: impl Fn(&[u8]) -> bool) -> Message {
    for _ in 0..1000 {
        match tun.receive().unwrap() {
            Some(Arrival::Unit { data, .. }) if wanted(&data.to_vec()) => return data,
            Some(_) => {}
            None => {
                let timeout = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
                let mut polled = [rustix::event::PollFd::new(&*tun, rustix::event::PollFlags::IN)];
                assert!(rustix::event::poll(&mut polled, Some(&timeout)).unwrap() > 0, "nothing comes");
            }
        }
    }
    panic!("much comes, and not this");
}

fn is_ipv4(packet: &[u8], protocol: u8) -> bool {
    packet[0] == 0x45 && packet[9] == protocol
}

/// The sum of the pseudo header of an IPv4 packet without options.
fn pseudo(packet: &[u8]) -> Sum {
    let length = u16::try_from(packet.len() - 20).unwrap();
    Sum::of(&packet[12..20]).add_u16(packet[9].into()).add_u16(length)
}

fn is_intact(packet: &[u8]) -> bool {
    usize::from(u16::from_be_bytes([packet[2], packet[3]])) == packet.len()
        && Sum::of(&packet[..20]).is_valid()
        && pseudo(packet).plus(Sum::of(&packet[20..])).is_valid()
}

/// IPv4 from us to Linux, with the sum of the pseudo header where the checksum is, which stands `field` octets behind
/// IP.
fn to_linux(protocol: u8, field: usize, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
    packet.extend(OURS);
    packet.extend(LINUX.octets());
    packet.extend(payload);
    let total = u16::try_from(packet.len()).unwrap();
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = Sum::of(&packet[..20]).checksum();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let sum = pseudo(&packet).folded();
    packet[20 + field..22 + field].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// A TCP header without options.
fn tcp(to: u16, seq: u32, ack: u32, flags: u8) -> Vec<u8> {
    let mut header = 1000_u16.to_be_bytes().to_vec();
    header.extend(to.to_be_bytes());
    header.extend(seq.to_be_bytes());
    header.extend(ack.to_be_bytes());
    header.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    header
}

fn message(octets: &[u8], meta: Meta) -> Message {
    let mut message = Message::from_octets(octets);
    *message.meta_mut() = meta;
    message
}

fn partial(start: u16, field: u16) -> Meta {
    Meta { checksum: Checksum::Partial { start, field }, ..Meta::default() }
}

/// `UDP_SEGMENT` of linux/udp.h: each datagram of a call has so many octets.
fn segment(socket: &UdpSocket, octets: libc::c_int) -> bool {
    #[expect(unsafe_code, reason = "rustix has no such option")]
    // SAFETY: the option takes an int, which is borrowed for the call, of which it is given the size.
    let set = unsafe {
        let size = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, 103, (&raw const octets).cast(), size)
    };
    set == 0
}

#[test]
fn what_thousands_of_connections_send_at_once_waits_to_be_read() {
    in_a_namespace(|| {
        let mut tun = opened(Layer::Ip, Packets::Any);
        let socket = UdpSocket::bind((LINUX, 0)).unwrap();
        for number in 0..9000_u32 {
            socket.send_to(&number.to_be_bytes(), (Ipv4Addr::from(OURS), 7)).unwrap();
        }
        for number in 0..9000_u32 {
            let datagram = next(&mut tun, |packet| is_ipv4(packet, 17));
            assert_eq!(datagram.to_vec()[28..], number.to_be_bytes());
        }
    });
}

#[test]
fn many_datagrams_of_one_call_come_one_by_one_and_complete() {
    in_a_namespace(|| {
        let mut tun = opened(Layer::Ip, Packets::Any);
        let socket = UdpSocket::bind((LINUX, 0)).unwrap();
        let split = segment(&socket, 1000);
        let text: Vec<u8> = (0..5500_u32).map(|octet| octet.to_le_bytes()[0] ^ octet.to_le_bytes()[1]).collect();
        if split {
            socket.send_to(&text, (Ipv4Addr::from(OURS), 7)).unwrap();
        } else {
            // Before Linux 4.18.
            text.chunks(1000).for_each(|piece| {
                socket.send_to(piece, (Ipv4Addr::from(OURS), 7)).unwrap();
            });
        }
        let mut found: Vec<u8> = Vec::new();
        while found.len() < text.len() {
            let mut datagram = next(&mut tun, |packet| is_ipv4(packet, 17));
            datagram.complete_checksum();
            let octets = datagram.to_vec();
            assert!(is_intact(&octets) && datagram.meta().segment_size == 0);
            assert!(octets.len() <= 1028);
            found.extend(&octets[28..]);
        }
        assert_eq!(found, text);
    });
}

/// Opens a connection to a socket of Linux by hand; gives the socket and the number that Linux's next octet has.
fn opened_by_hand(tun: &mut Tun, ethernet: &[u8]) -> (std::net::TcpStream, u16, u32) {
    let listener = TcpListener::bind((LINUX, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let at = u16::try_from(ethernet.len() + 20).unwrap();
    let mut send = |seq, ack, flags| {
        let packet = to_linux(6, 16, &tcp(port, seq, ack, flags));
        let packet = message(&[ethernet, &packet].concat(), partial(at, 16));
        assert_eq!(tun.send(&packet, Address::NONE).unwrap(), Sent::Taken);
    };
    send(9, 0, 2);
    let from = ethernet.len();
    let answer = next(tun, |frame| frame.len() > from + 40 && is_ipv4(&frame[from..], 6)).to_vec();
    assert_eq!(answer[from + 33], 0x12, "SYN and ACK");
    let theirs = u32::from_be_bytes(*answer[from + 24..].first_chunk().unwrap()).wrapping_add(1);
    let mut send = |seq, ack, flags| {
        let packet = to_linux(6, 16, &tcp(port, seq, ack, flags));
        let packet = message(&[ethernet, &packet].concat(), partial(at, 16));
        assert_eq!(tun.send(&packet, Address::NONE).unwrap(), Sent::Taken);
    };
    send(10, theirs, 0x10);
    (listener.accept().unwrap().0, port, theirs)
}

/// A super-segment with `text` behind an opened connection.
fn whole(port: u16, theirs: u32, text: &[u8], (ethernet, field): (&[u8], u16)) -> Message {
    let mut segment = tcp(port, 10, theirs, 0x18);
    segment.extend(text);
    let octets = [ethernet, &to_linux(6, 16, &segment)].concat();
    let link = u16::try_from(ethernet.len()).unwrap();
    message(&octets, Meta { segment_size: 1460, header_len: link + 40, ..partial(link + 20, field) })
}

fn text() -> Vec<u8> {
    (0..40_000_u32).map(|octet| octet.to_le_bytes()[0] ^ octet.to_le_bytes()[1]).collect()
}

fn reads(mut stream: std::net::TcpStream, text: &[u8]) {
    let mut found = vec![0; text.len()];
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    io::Read::read_exact(&mut stream, &mut found).unwrap();
    assert!(found == text);
}

#[test]
fn linux_takes_a_super_segment_whole() {
    in_a_namespace(|| {
        let mut tun = opened(Layer::Ip, Packets::Any);
        assert!(tun.takes_super_segments() && tun.plain_because().is_none());
        let (stream, port, theirs) = opened_by_hand(&mut tun, &[]);
        let packet = whole(port, theirs, &text(), (&[], 16));
        assert_eq!(tun.send(&packet, Address::NONE).unwrap(), Sent::Taken);
        assert!(tun.virtio.as_ref().is_some_and(Virtio::is_whole));
        reads(stream, &text());
    });
}

/// Linux takes no super-segment of TCP whose checksum stands elsewhere than TCP's: its packets are good all the same.
#[test]
fn what_linux_refuses_whole_goes_in_packets_from_then_on() {
    in_a_namespace(|| {
        let mut tun = opened(Layer::Ip, Packets::Any);
        let (stream, port, theirs) = opened_by_hand(&mut tun, &[]);
        let packet = whole(port, theirs, &text(), (&[], 14));
        assert_eq!(tun.send(&packet, Address::NONE).unwrap(), Sent::Taken);
        let virtio = tun.virtio.as_ref().unwrap();
        assert!(!virtio.is_whole(), "this kernel takes it: choose something else to be refused");
        reads(stream, &text());
    });
}

#[test]
fn a_tap_device_carries_them_behind_ethernet_headers() {
    in_a_namespace(|| {
        let mut tap = opened(Layer::Ethernet, Packets::Any);
        // Linux asks for our address first (RFC 826), and its own is in that.
        let socket = UdpSocket::bind((LINUX, 0)).unwrap();
        socket.send_to(&[1], (Ipv4Addr::from(OURS), 7)).unwrap();
        let asked = next(&mut tap, |frame| frame[12..14] == [8, 6]).to_vec();
        let theirs = &asked[6..12];
        let mut reply = [theirs, &MAC, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2], &MAC, &OURS].concat();
        reply.extend(&asked[22..32]);
        assert_eq!(tap.send(&Message::from_octets(&reply), Address::NONE).unwrap(), Sent::Taken);
        let ethernet = [theirs, &MAC, &[8, 0]].concat();
        let first = next(&mut tap, |frame| frame[12..14] == [8, 0] && is_ipv4(&frame[14..], 17));
        assert_eq!(first.len(), 14 + 20 + 8 + 1);
        let (stream, port, number) = opened_by_hand(&mut tap, &ethernet);
        let packet = whole(port, number, &text(), (&ethernet, 16));
        assert_eq!(tap.send(&packet, Address::NONE).unwrap(), Sent::Taken);
        reads(stream, &text());
    });
}

#[test]
fn plain_packets_are_whole_and_complete() {
    in_a_namespace(|| {
        let mut tun = opened(Layer::Ip, Packets::Plain);
        assert!(!tun.takes_super_segments() && tun.plain_because().is_none());
        let socket = UdpSocket::bind((LINUX, 0)).unwrap();
        segment(&socket, 1000);
        socket.send_to(&[7; 1900], (Ipv4Addr::from(OURS), 7)).ok();
        socket.send_to(&[7; 900], (Ipv4Addr::from(OURS), 7)).unwrap();
        let datagram = next(&mut tun, |packet| is_ipv4(packet, 17));
        assert!(datagram.len() <= 1028 && is_intact(&datagram.to_vec()));
        assert_eq!(datagram.meta(), &Meta::default());
    });
}

#[test]
fn names_that_no_interface_can_have_are_refused_before_anything_is_opened() {
    assert_eq!(check_name("fifteen-letters"), Ok(()));
    for name in ["", ".", "..", "a b", "a/b", "a:1", "k%d", "sixteen-letters-"] {
        let error = Tun::open(name, 1500).unwrap_err().to_string();
        assert!(error.contains("the name cannot be one"), "{error}");
        assert!(error.contains(". A name has 1 to 15 octets"), "{error}");
        let error = check_name(name).unwrap_err();
        assert!(error.contains("can be no name of an interface: a name has 1 to 15 octets"), "{error}");
    }
}

#[test]
fn an_interface_that_is_no_tun_device_is_refused_with_its_name() {
    // Without a driver or the right to use it the error comes earlier, and names the device as well.
    let error = Tun::open("lo", 1500).unwrap_err().to_string();
    assert!(error.starts_with("TUN device `lo`: "), "{error}");
    let error = Tun::open_tap("lo", 1500).unwrap_err().to_string();
    assert!(error.starts_with("TAP device `lo`: "), "{error}");
}

/// All that has no other route is behind the interface itself; and from either address it comes.
#[test]
fn an_interface_has_several_addresses_and_may_lead_to_all() {
    in_a_namespace(|| {
        let mut tun = opened(Layer::Ip, Packets::Plain);
        let end = tun.kernel();
        let second = Ipv4Addr::new(10, 77, 0, 1);
        end.for_another_address(1).set_address(second.into(), 24, None).unwrap();
        end.set_default_route(DefaultRoute::Interface4).unwrap();
        let far = Ipv4Addr::new(192, 0, 2, 7);
        for from in [LINUX, second] {
            let socket = UdpSocket::bind((from, 0)).unwrap();
            socket.send_to(b"sent", (far, 9)).unwrap();
            let packet = next(&mut tun, |packet| is_ipv4(packet, 17));
            assert_eq!(packet.to_vec()[12..20], [from.octets(), far.octets()].concat());
        }
    });
}

/// Until then whoever binds to it is refused, and what comes for it is dropped.
#[test]
fn an_address_of_ipv6_is_used_once_it_is_set_also_in_a_namespace_of_one_thread() {
    in_a_namespace(|| {
        let tun = Tun::open("k0", 1500).unwrap();
        let [own, other]: [std::net::Ipv6Addr; 2] = ["fd98::1", "fd98::2"].map(|it| it.parse().unwrap());
        tun.configure_kernel(own.into(), 64, 1500).unwrap();
        assert_eq!([own, other].map(|it| kernel::is_used(it).unwrap()), [true, false]);
        UdpSocket::bind((own, 0)).unwrap();
    });
}

/// What is on no network of the interface goes to the gateway on it, once there is a route; a second one is refused.
#[test]
fn a_default_route_leads_to_the_device() {
    in_a_namespace(|| {
        let mut tun = opened(Layer::Ip, Packets::Plain);
        let far = Ipv4Addr::new(192, 0, 2, 7);
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        assert!(socket.send_to(b"lost", (far, 9)).is_err());
        let end = tun.kernel();
        let by = DefaultRoute::Gateway(Ipv4Addr::from(OURS).into());
        end.set_default_route(by).unwrap();
        assert!(end.set_default_route(by).is_err());
        KernelEnd::loopback().set_up(true).unwrap();
        socket.send_to(b"sent", (far, 9)).unwrap();
        let packet = next(&mut tun, |packet| is_ipv4(packet, 17));
        assert_eq!(packet.to_vec()[16..20], far.octets());
        // As another process would get it.
        let handed = rustix::io::dup(&tun).unwrap();
        drop(tun);
        let mut adopted = Tun::adopt(handed, 1500).unwrap();
        socket.send_to(b"more", (far, 9)).unwrap();
        let packet = next(&mut adopted, |packet| is_ipv4(packet, 17));
        assert_eq!(packet.to_vec()[28..], *b"more");
        assert!(!adopted.takes_super_segments());
    });
}

/// What the queues of one device have come to: `Documentation/networking/tuntap.rst` says little of it.
#[test]
fn a_flow_comes_by_the_queue_from_which_it_was_last_written() {
    in_a_namespace(|| {
        let mut queues = Tun::open_queues("t1", 1500, 3).unwrap();
        queues[0].kernel().leave_link_local_to_us();
        queues[0].configure_kernel(Ipv4Addr::new(10, 98, 0, 1).into(), 24, 1500).unwrap();
        assert!(queues.iter().all(RealDevice::takes_super_segments));
        let far = Ipv4Addr::new(10, 98, 0, 2);
        let sockets: Vec<UdpSocket> =
            (0..12).map(|_| UdpSocket::bind((Ipv4Addr::new(10, 98, 0, 1), 0)).unwrap()).collect();
        for (number, socket) in sockets.iter().enumerate() {
            let port = socket.local_addr().unwrap().port();
            for queue in [number % 3, (number + 1) % 3] {
                // A datagram of the flow, the other way round.
                let mut datagram = [&7_u16.to_be_bytes()[..], &port.to_be_bytes(), &[0, 12, 0, 0], b"from"].concat();
                let mut packet = vec![0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0];
                packet.extend([far.octets(), [10, 98, 0, 1]].concat());
                let sum = Sum::of(&packet).checksum();
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
                packet.append(&mut datagram);
                assert_eq!(queues[queue].send(&message(&packet, Meta::default()), Address::NONE).unwrap(), Sent::Taken);
                assert_eq!(socket.recv(&mut [0; 9]).unwrap(), 4);
                socket.send_to(b"back", (far, 7)).unwrap();
                let packet = next(&mut queues[queue], |packet| is_ipv4(packet, 17));
                assert_eq!(packet.to_vec()[20..22], port.to_be_bytes());
            }
        }
    });
}

#[test]
fn a_device_of_one_queue_has_no_second() {
    in_a_namespace(|| {
        let _one = opened(Layer::Ip, Packets::Any);
        let error = Tun::open_queues("t0", 1500, 2).unwrap_err();
        assert!(error.to_string().contains("mode tun multi_queue"), "{error}");
    });
}

#[test]
fn a_device_that_is_handed_over_is_what_it_was_opened_as() {
    in_a_namespace(|| {
        for (layer, packets) in
            [(Layer::Ip, Packets::Any), (Layer::Ethernet, Packets::Any), (Layer::Ethernet, Packets::Plain)]
        {
            let tun = opened(layer, packets);
            let adopted = Tun::adopt(rustix::io::dup(&tun).unwrap(), 1500).unwrap();
            assert_eq!((adopted.layer, adopted.name()), (layer, "t0"));
            assert_eq!((adopted.most, adopted.takes_super_segments()), (tun.most, tun.takes_super_segments()));
        }
        let file = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).unwrap();
        assert!(Tun::adopt(file, 1500).is_err());
    });
}
