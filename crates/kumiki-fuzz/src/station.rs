//! One host on an Ethernet, and whatever may come: IPv4 with ARP, IPv6 with neighbour discovery, TCP and UDP over both,
//! with listeners and connections, and a client of DHCP in half of the runs. The octets say what comes and when.
//!
//! Nothing panics; what goes out is right in the eyes of the analyser; no frame that comes lets more than a few go out,
//! and what is held is bounded and let go in the end.

use core::net::SocketAddr;

use kumiki_decode::Decoder;
use kumiki_graph::{Duration, Graph, Instant, NodeId, Service};
use kumiki_inet::arp::{self, Arp};
use kumiki_inet::dhcp::{self, Dhcp};
use kumiki_inet::eth::{self, Eth};
use kumiki_inet::tcp::{Tcp, defaults};
use kumiki_inet::udp::{self, Udp};
use kumiki_inet::{ip, ipv6};
use kumiki_wire::inet::ethernet::MacAddr;

use crate::host::Host;
use crate::packet::{self, behind, forged, repaired, turned};
use crate::program::{Command, Program};
use crate::reflector::Reflector;
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "station",
    title: "one host on an Ethernet, and any frames at any time",
    run: |octets| within_mb(96.0, || run(octets)),
};

const OURS: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const OURS_4: [u8; 4] = [10, 0, 0, 1];
const PEER_4: [u8; 4] = [10, 0, 0, 2];
/// Frames that may go out because one came: a window that opens, or errors for what waited.
const MOST_ANSWERS: usize = 300;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;

fn ours_6() -> [u8; 16] {
    "fd00::1".parse::<core::net::Ipv6Addr>().unwrap().octets()
}

fn peer_6() -> [u8; 16] {
    "fd00::2".parse::<core::net::Ipv6Addr>().unwrap().octets()
}

fn socket(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn host(asks_server: bool) -> Host {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("host");
    let line = graph.add_device("line", Service::FRAME).unwrap();
    let control = graph.add_device("control", Service::FRAME).unwrap();
    let own = ip::Interface { neighbours: ip::Neighbours::Below, ..ip::Interface::new("arp", OURS_4.into(), 24) };
    let mut four = ip::Config::host(own);
    four.routes = vec![ip::Route::default_by([10, 0, 0, 254].into())];
    let own = ipv6::Interface {
        neighbours: ipv6::Neighbours::Discover(ipv6::Discovery::default()),
        ..ipv6::Interface::new("eth", ours_6().into(), 64)
    };
    let six = ipv6::Config::host(own);
    let tcp = |address: &str| {
        let mut config = defaults::modern();
        config.address = address.parse().unwrap();
        config.send_buffer = 16_384;
        config.receive_buffer = 16_384;
        config.half_open = 16;
        Box::new(Tcp::new(config))
    };
    let mut add =
        |name: &str, node: Box<dyn kumiki_graph::Protocol>| -> NodeId { graph.add_node(name, task, node).unwrap() };
    let program = add("program", Box::new(Program::new(2)));
    let transports = vec![add("tcp4", tcp("10.0.0.1")), add("tcp6", tcp("fd00::1"))];
    for version in ["4", "6"] {
        add(&format!("udp{version}"), Box::new(Udp::new(udp::Config::default())));
        add(&format!("echo{version}"), Box::new(Reflector::new(version == "6")));
    }
    add("ip", Box::new(ip::Ip::new(four).unwrap()));
    add("ipv6", Box::new(ipv6::Ip::new(six).unwrap()));
    let arp = arp::Config { probing: arp::Probing::QUICK, ..arp::Config::new(OURS_4.into()) };
    add("arp", Box::new(Arp::new(arp).unwrap()));
    add("eth", Box::new(Eth::new(eth::Config::new(OURS)).unwrap()));
    if asks_server {
        let config = dhcp::Config { startup: (Duration::ZERO, Duration::ZERO), ..dhcp::Config::new(OURS) };
        add("dhcp", Box::new(Dhcp::new(config)));
    }
    for (upper, lower) in [
        ("program", "tcp4"),
        ("program", "tcp6"),
        ("program", "control"),
        ("echo4", "udp4"),
        ("echo6", "udp6"),
        ("tcp4", "ip"),
        ("udp4", "ip"),
        ("tcp6", "ipv6"),
        ("udp6", "ipv6"),
        ("ip", "arp"),
        ("arp", "eth"),
        ("ipv6", "eth"),
        ("eth", "line"),
    ] {
        graph.connect(upper, lower).unwrap();
    }
    if asks_server {
        graph.connect("dhcp", "udp4").unwrap();
    }
    let mut host = Host { graph, task, line, control, program, transports };
    host.start();
    host
}

struct Station {
    host: Host,
    now: Instant,
    judge: Decoder,
    /// Who asks for an address gets an answer.
    answers: bool,
    /// The packets that went out last, without Ethernet's header.
    last: Vec<Vec<u8>>,
    /// What the client of DHCP said last.
    asked: Vec<u8>,
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let how = draw.octet();
    let mut station = Station {
        host: host(how & 2 != 0),
        now: Instant::ZERO,
        judge: Decoder::new(),
        answers: how & 1 == 0,
        last: Vec::new(),
        asked: Vec::new(),
    };
    // The addresses are made sure of.
    station.pass(Duration::from_secs(3), 100);
    if how & 6 == 6 {
        station.grant();
    }
    station.tell(vec![
        Command::Write(u64::from(how) * 100),
        Command::Listen(0, socket("10.0.0.1:7")),
        Command::Listen(1, socket("[fd00::1]:7")),
        Command::Call(0, socket("10.0.0.2:7")),
        Command::Call(1, socket("[fd00::2]:7")),
    ]);
    for _ in 0..200 {
        if draw.is_empty() {
            break;
        }
        station.step(&mut draw);
    }
    station.end();
}

impl Station {
    fn step(&mut self, draw: &mut Draw<'_>) {
        let what = draw.octet();
        match what % 12 {
            0 => {
                let len = draw.octet();
                let frame = draw.take(len.into()).to_vec();
                self.receive(&frame);
            }
            1 => {
                let ether = [IPV4, ARP, IPV6, draw.word()][usize::from(what >> 6)];
                let len = draw.octet();
                let octets = draw.take(len.into()).to_vec();
                self.packet(ether, &octets);
            }
            // Any payload behind a right header, its sum right too.
            2 => {
                let protocol = [1, 2, 6, 17, 41, 58, 4, draw.octet()][usize::from(what >> 5)];
                let len = draw.octet();
                let octets = behind(&header_4(draw), protocol, draw.take(len.into()));
                self.packet(IPV4, &octets);
            }
            3 => {
                let protocol = [0, 6, 17, 43, 44, 58, 60, draw.octet()][usize::from(what >> 5)];
                let len = draw.octet();
                let octets = behind(&header_6(draw), protocol, draw.take(len.into()));
                self.packet(IPV6, &octets);
            }
            // A segment or an error that could belong to what went out.
            4..=6 => {
                let at = draw.below(self.last.len());
                if let Some(out) = self.last.get(at).cloned() {
                    let back = answered(&out);
                    let forgery = forged(&back, draw);
                    self.packet(version(&forgery), &forgery);
                }
            }
            // What went out comes back: as an answer, or as it was, perhaps changed.
            7 => {
                let at = draw.below(self.last.len());
                if let Some(out) = self.last.get(at).cloned() {
                    let mut back = if what & 0x10 == 0 { turned(&out) } else { out };
                    let at = draw.below(back.len());
                    back[at] ^= draw.octet();
                    let back = repaired(back);
                    self.packet(version(&back), &back);
                }
            }
            // What a peer would send: a call, from any port.
            8 => {
                let mut syn = vec![4, draw.octet(), 0, 7];
                syn.extend(draw.array::<8>());
                syn.extend([0x50, 2, 0x40, 0, 0, 0, 0, 0]);
                let six = what & 0x10 != 0;
                let front = if six { header_6(draw) } else { header_4(draw) };
                let octets = behind(&front, 6, &syn);
                self.packet(version(&octets), &octets);
            }
            9 => {
                let number = u32::from(draw.octet() % 8);
                let command = match what >> 5 {
                    0 => Command::Release(number),
                    1 => Command::Abort(number),
                    2 => Command::Read(false),
                    3 => Command::Read(true),
                    4 => Command::Call(0, socket("10.0.0.2:7")),
                    5 => Command::Call(1, socket("[fd00::2]:7")),
                    6 => Command::Call(0, socket("192.168.1.1:7")),
                    _ => Command::Write(5000),
                };
                self.tell(vec![command]);
            }
            // What a server would say, with any options.
            10 | 11 if !self.asked.is_empty() && what & 0x40 != 0 => self.serve(draw),
            10 => self.pass(Duration::from_millis(draw.word().into()), 2000),
            _ => self.pass(Duration::from_micros(draw.word().into()), 500),
        }
    }

    /// An answer to what the client of DHCP has said, right in the main, with options as they are drawn behind it.
    fn serve(&mut self, draw: &mut Draw<'_>) {
        let how = draw.octet();
        let mut options = vec![53, 1, [2, 5, 5, 6][usize::from(how & 3)], 54, 4];
        options.extend(PEER_4);
        if how & 4 == 0 {
            options.extend([51, 4, 0, 0]);
            options.extend(draw.array::<2>());
        }
        let own = if how & 0x10 == 0 { 77 } else { draw.octet() };
        let len = draw.octet();
        options.extend(draw.take(len.into()));
        self.say(own, &options, how & 8 == 0);
    }

    /// It gets 10.0.0.77 for an hour, T1 after 100 s and T2 after 200 s, and the peer as router and resolver.
    fn grant(&mut self) {
        for kind in [2, 5] {
            let mut options = vec![53, 1, kind, 51, 4, 0, 0, 14, 16, 58, 4, 0, 0, 0, 100, 59, 4, 0, 0, 0, 200];
            options.extend([1, 4, 255, 255, 255, 0]);
            for code in [54, 3, 6] {
                options.extend([code, 4]);
                options.extend(PEER_4);
            }
            self.say(77, &options, true);
        }
        self.pass(Duration::from_secs(2), 10);
    }

    /// A server's message about 10.0.0.`own`, to what the client has said last.
    fn say(&mut self, own: u8, options: &[u8], to_all: bool) {
        let Some(xid) = self.asked.get(4..8) else {
            return;
        };
        let mut message = vec![2, 1, 6, 0];
        message.extend(xid);
        message.resize(16, 0);
        message.extend([10, 0, 0, own]);
        message.resize(28, 0);
        message.extend(OURS.0);
        message.resize(236, 0);
        message.extend([99, 130, 83, 99]);
        message.extend(options);
        let length = u16::try_from(message.len() + 8).unwrap();
        let datagram = [&[0, 67, 0, 68][..], &length.to_be_bytes(), &[0, 0], &message].concat();
        let mut front = vec![0x45, 0, 0, 20, 0, 1, 0, 0, 64, 0, 0, 0];
        front.extend(PEER_4);
        front.extend(if to_all { [255; 4] } else { OURS_4 });
        let octets = behind(&front, 17, &datagram);
        let station = if to_all { MacAddr::BROADCAST } else { OURS };
        let frame = [&station.0[..], &PEER.0, &IPV4.to_be_bytes(), &octets].concat();
        self.receive(&frame);
    }

    fn tell(&mut self, commands: Vec<Command>) {
        self.host.tell(self.now, commands);
        self.collect(MOST_ANSWERS);
    }

    /// Lets a packet come in from the peer.
    fn packet(&mut self, ether: u16, octets: &[u8]) {
        let mut frame = [OURS.0, PEER.0].concat();
        frame.extend(ether.to_be_bytes());
        frame.extend(octets);
        self.receive(&frame);
    }

    fn receive(&mut self, frame: &[u8]) {
        packet::tell(frame, "ethernet", &format!("{}      gets", self.now));
        self.host.receive(self.now, frame);
        self.collect(MOST_ANSWERS);
    }

    fn pass(&mut self, time: Duration, most: usize) {
        let until = self.now + time;
        let mut sent = 0;
        for step in 0.. {
            assert!(step < 100_000, "timers expire for ever");
            let Some(due) = self.host.next_timer().filter(|due| *due <= until) else {
                break;
            };
            self.now = self.now.max(due);
            self.host.fire(self.now);
            sent += self.collect(MOST_ANSWERS);
            assert!(sent <= most, "{sent} frames in {time}");
        }
        self.now = until;
    }

    /// Looks at what went out, and answers for those whom it asks.
    fn collect(&mut self, most: usize) -> usize {
        let mut sent = 0;
        loop {
            let frames = self.host.sent(self.now);
            if frames.is_empty() {
                return sent;
            }
            for frame in frames {
                sent += 1;
                assert!(sent <= most, "{sent} frames at once");
                let what = format!("{} sends", self.now);
                packet::check(&mut self.judge, "ethernet", &frame, &what);
                self.look(&frame);
            }
        }
    }

    fn look(&mut self, frame: &[u8]) {
        let (ether, packet) = (&frame[12..14], &frame[14..]);
        if ether == IPV4.to_be_bytes() || ether == IPV6.to_be_bytes() {
            if self.last.len() == 8 {
                self.last.remove(0);
            }
            self.last.push(packet.to_vec());
        }
        // From port 68 to port 67.
        if ether == IPV4.to_be_bytes() && packet[9] == 17 && packet.get(20..24) == Some(&[0, 68, 0, 67]) {
            self.asked = packet.get(28..).unwrap_or_default().to_vec();
        }
        if !self.answers {
            return;
        }
        // ARP asks for 10.0.0.2, or neighbour discovery for fd00::2.
        if ether == ARP.to_be_bytes() && packet[24..28] == PEER_4 && packet[7] == 1 {
            let mut reply = packet[..6].to_vec();
            reply.extend([0, 2]);
            reply.extend(PEER.0);
            reply.extend(PEER_4);
            reply.extend(OURS.0);
            reply.extend(OURS_4);
            let mut answer = [OURS.0, PEER.0].concat();
            answer.extend(ARP.to_be_bytes());
            answer.extend(reply);
            self.host.receive(self.now, &answer);
        } else if ether == IPV6.to_be_bytes()
            && packet.len() >= 64
            && packet[6] == 58
            && packet[40] == 135
            && packet[48..64] == peer_6()
        {
            let mut message = vec![136, 0, 0, 0, 0x60, 0, 0, 0];
            message.extend(peer_6());
            message.extend([2, 1]);
            message.extend(PEER.0);
            let mut front = vec![0x60, 0, 0, 0, 0, 0, 58, 255];
            front.extend(peer_6());
            front.extend(ours_6());
            let octets = behind(&front, 58, &message);
            let mut answer = [OURS.0, PEER.0].concat();
            answer.extend(IPV6.to_be_bytes());
            answer.extend(octets);
            self.host.receive(self.now, &answer);
        }
    }

    /// The peer is silent from here on; in the end nothing is left.
    fn end(&mut self) {
        // Each of a few dozen sessions may send its window again and again, less and less often.
        self.pass(Duration::from_secs(3600), 20_000);
        self.tell(vec![Command::AbortAll]);
        self.pass(Duration::from_secs(600), 2000);
        assert_eq!(self.host.connections(), 0, "connections are left");
        // What is known of neighbours and routers may have its own times, but says little.
        // A client of DHCP that has no address looks for servers about once in 64 s, for ever (RFC 2131 section 4.1).
        self.pass(Duration::from_secs(3600), if self.asked.is_empty() { 10 } else { 10 + 3600 / 63 });
    }
}

fn version(octets: &[u8]) -> u16 {
    if octets.first().is_some_and(|first| first >> 4 == 6) { IPV6 } else { IPV4 }
}

/// From the peer to us in most cases, otherwise from and to anybody.
fn header_4(draw: &mut Draw<'_>) -> Vec<u8> {
    let odd = draw.octet();
    let mut header = vec![0x45, 0, 0, 20, 0, 1, 0, 0, 64, 0, 0, 0];
    header.extend(if odd & 0xe0 == 0xe0 { draw.array() } else { PEER_4 });
    header.extend(match odd & 0x1f {
        0x1f => draw.array(),
        0x1e => [10, 0, 0, 255],
        0x1d => [224, 0, 0, 1],
        _ => OURS_4,
    });
    header
}

/// As [`header_4`].
fn header_6(draw: &mut Draw<'_>) -> Vec<u8> {
    let odd = draw.octet();
    let hop_limit = if odd & 0x10 == 0 { 255 } else { 64 };
    let mut header = vec![0x60, 0, 0, 0, 0, 0, 59, hop_limit];
    let link_local = |last: u8| {
        let mut address = [0; 16];
        (address[0], address[1], address[15]) = (0xfe, 0x80, last);
        address
    };
    header.extend(match odd >> 5 {
        7 => draw.array(),
        6 => link_local(0xff),
        5 => [0; 16],
        _ => peer_6(),
    });
    let group = |last: u8| {
        let mut address = [0; 16];
        (address[0], address[1], address[15]) = (0xff, 2, last);
        address
    };
    header.extend(match odd & 0x0f {
        0x0f => draw.array(),
        0x0e => group(1),
        0x0d => {
            let mut address = group(1);
            (address[11], address[12]) = (1, 0xff);
            address
        }
        _ => ours_6(),
    });
    header
}

/// What would answer a segment of ours: its numbers exchanged, behind what was sent.
fn answered(out: &[u8]) -> Vec<u8> {
    let mut back = turned(out);
    let at = if out[0] >> 4 == 4 { 20 } else { 40 };
    let protocol = if out[0] >> 4 == 4 { out[9] } else { out[6] };
    if protocol != 6 || out.len() < at + 20 {
        return back;
    }
    let words = usize::from(out[at + 12] >> 4);
    let ends = usize::from(out[at + 13] & 3 != 0);
    let text = out.len().saturating_sub(at + 4 * words) + ends;
    let long = |from: usize| u32::from_be_bytes(out[from..from + 4].try_into().unwrap());
    let ack = long(at + 4).wrapping_add(u32::try_from(text).unwrap());
    back[at + 4..at + 8].copy_from_slice(&long(at + 8).to_be_bytes());
    back[at + 8..at + 12].copy_from_slice(&ack.to_be_bytes());
    repaired(back)
}
