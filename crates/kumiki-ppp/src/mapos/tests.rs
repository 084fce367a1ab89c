//! Address resolution between IP and the SDH driver, frames and all.

use kumiki_graph::{DeviceId, NodeId};
use kumiki_wire::numbering::IP_PROTOCOL;

use super::*;
use crate::sdh::{self, Sdh};
use kumiki_inet::ip::{self, Interface, Ip, Neighbours};
use kumiki_testkit::bench::{Bench, hex};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

struct Node {
    bench: Bench,
    line: DeviceId,
    user: NodeId,
}

/// A node that has no address yet.
fn bare(config: Config, width: Width) -> Node {
    let mut bench = Bench::new();
    let line = bench.device("line");
    let driver = sdh::Config { width, ..sdh::Config::default() };
    bench.node("sdh", &["line"], Sdh::new(driver).unwrap());
    bench.node("mapos", &["sdh"], Mapos::new(config).unwrap());
    let interface = Interface { neighbours: Neighbours::Below, mtu: 65_280, ..Interface::new("mapos", A, 24) };
    let ip = Ip::new(ip::Config::host(interface)).unwrap();
    bench.node("ip", &["mapos"], ip);
    let user = bench.user("user", "ip", &[Key::of(IP_PROTOCOL, 17)]);
    bench.start();
    bench.requests();
    Node { bench, line, user }
}

/// The node of RFC 2173's figure 2, at port 3 of switch 1, its UNARP sent.
fn node(config: Config) -> Node {
    let mut node = bare(config, Width::Eight);
    node.receive("2303fe03 00000002 00000023");
    node.bench.requests();
    node
}

fn arp(operation: Operation, sender: u32, sender_ip: Ipv4Addr, target: u32, target_ip: Ipv4Addr) -> Vec<u8> {
    let header = Header { operation, sender, sender_ip, target, target_ip };
    let mut octets = vec![0; LEN];
    header.emit(&mut octets);
    octets
}

impl Node {
    fn receive(&mut self, octets: &str) {
        self.bench.octets(self.line, &hex(octets));
    }

    /// Lets a packet of ARP come in, to the address `to`.
    fn arp(&mut self, to: u8, packet: &[u8]) {
        let frame = [&[to, 3, 0xfe, 1], packet].concat();
        self.bench.octets(self.line, &frame);
    }

    fn send(&mut self, to: Ipv4Addr) {
        let unit = Unit { destination: Address::from(to), ..Unit::of(Message::from_octets(&[7])) };
        self.bench.send(self.user, unit);
    }

    /// What was sent: the address and the packet of ARP, if it is one. Requests to switches are left out.
    fn sent(&mut self) -> Vec<(u8, Option<Header>)> {
        let read = |octets: Vec<u8>| {
            assert_eq!(octets[1], 3);
            let arp = octets[2..4] == [0xfe, 1];
            assert!(arp || octets[2..5] == [0, 0x21, 0x45]);
            let header = Header::parse(&octets[4..]).ok().map(|it| it.0);
            (octets[0], header.filter(|_| arp))
        };
        let sent = self.bench.sent_octets().into_iter();
        sent.filter(|it| it[2..4] != [0xfe, 3]).map(read).collect()
    }

    fn counters(&self) -> Counters {
        *self.mapos().counters()
    }

    fn mapos(&self) -> &Mapos {
        let node = self.bench.graph.node("mapos").unwrap();
        self.bench.graph.protocol::<Mapos>(node).unwrap()
    }
}

#[test]
fn the_request_is_the_vector_and_what_waited_is_sent_on_the_answer() {
    let mut node = node(Config::new(A));
    node.send(B);
    node.send(B);
    let asked = node.bench.sent_octets();
    assert_eq!(asked, [hex("ff03fe01 001908000404000100000023 0a00000100000000 0a000002")]);
    node.arp(0x23, &arp(Operation::Response, 0x49, B, 0x23, A));
    assert_eq!(node.sent(), [(0x49, None), (0x49, None)]);
    node.send(B);
    assert_eq!(node.sent(), [(0x49, None)]);
}

#[test]
fn who_asks_for_us_is_answered_and_remembered() {
    let mut node = node(Config::new(A));
    node.arp(0xff, &arp(Operation::Request, 0x49, B, 0, A));
    let answer = node.sent();
    let [(0x49, Some(answer))] = answer[..] else {
        panic!("{answer:?}");
    };
    assert_eq!((answer.sender, answer.sender_ip), (0x23, A));
    assert_eq!((answer.target, answer.target_ip), (0x49, B));
    node.send(B);
    assert_eq!(node.sent(), [(0x49, None)]);
    // Who asks for another is no concern of ours.
    let other = Ipv4Addr::new(10, 0, 0, 9);
    node.arp(0xff, &arp(Operation::Request, 0x4b, other, 0, B));
    assert!(node.sent().is_empty());
    assert_eq!(node.mapos().address(other, node.bench.now), None);
}

#[test]
fn datagrams_wait_for_our_own_address_and_then_for_the_next_hop() {
    let mut node = bare(Config::new(A), Width::Eight);
    node.send(B);
    node.bench.pass(Duration::from_secs(60));
    assert!(node.sent().is_empty());
    node.receive("2303fe03 00000002 00000023");
    let sent = node.sent();
    let asked = sent.iter().filter_map(|(to, header)| Some((*to, (*header)?.operation)));
    let asked: Vec<_> = asked.collect();
    assert_eq!(asked, [(0xff, Operation::Request), (0xff, Operation::Unarp)]);
    node.arp(0x23, &arp(Operation::Response, 0x49, B, 0x23, A));
    assert_eq!(node.sent(), [(0x49, None)]);
}

#[test]
fn silence_is_asked_three_times_a_second_apart_and_then_given_up() {
    let config = Config { unarps: 0, ..Config::new(A) };
    let mut node = node(config);
    for _ in 0..5 {
        node.send(B);
        node.bench.pass(Duration::from_millis(500));
    }
    assert_eq!(node.sent().len(), 3);
    node.bench.pass(Duration::from_millis(500));
    assert_eq!(node.counters().unresolved, 5);
    node.send(B);
    assert_eq!(node.sent().len(), 1);
}

#[test]
fn what_was_learned_is_good_for_a_minute_and_no_longer_than_the_link() {
    let config = Config { unarps: 0, ..Config::new(A) };
    let mut node = node(config);
    node.arp(0xff, &arp(Operation::Request, 0x49, B, 0, A));
    node.sent();
    node.bench.pass(Duration::from_millis(59_999));
    node.send(B);
    assert_eq!(node.sent(), [(0x49, None)]);
    node.bench.pass(Duration::from_millis(1));
    node.send(B);
    assert_eq!(node.sent()[0].0, 0xff);
    node.arp(0x23, &arp(Operation::Response, 0x49, B, 0x23, A));
    for report in [Report::Down, Report::Up] {
        let report = Indication::Report(Box::new(report));
        node.bench.indicate(node.line, report);
    }
    assert_eq!(node.mapos().held(), (0, 0));
}

/// RFC 2176 section 3.3.
#[test]
fn three_unarps_follow_when_the_port_has_come_up() {
    let mut node = bare(Config::new(A), Width::Eight);
    let unarp = hex("ff03fe01 001908000404001700000023 0a000001ffffffff ffffffff");
    let mut times = Vec::new();
    node.receive("2303fe03 00000002 00000023");
    for second in 0..200 {
        for octets in node.bench.sent_octets() {
            if octets == unarp {
                times.push(second);
            }
        }
        node.bench.pass(Duration::from_secs(1));
        // The switch confirms the address.
        node.receive("2303fe03 00000002 00000023");
    }
    assert_eq!(times, [0, 30, 60]);
    // At another port.
    node.receive("4903fe03 00000002 00000049");
    let sent = node.sent();
    let [(0xff, Some(header))] = sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!((header.operation, header.sender), (Operation::Unarp, 0x49));
}

#[test]
fn an_unarp_clears_what_differs_and_only_that() {
    let mut node = node(Config::new(A));
    let unarp = |address| arp(Operation::Unarp, address, B, u32::MAX, Ipv4Addr::BROADCAST);
    node.arp(0xff, &arp(Operation::Request, 0x49, B, 0, A));
    node.arp(0xff, &unarp(0x49));
    assert!(node.mapos().address(B, node.bench.now).is_some());
    node.arp(0xff, &unarp(0x4b));
    assert_eq!(node.mapos().address(B, node.bench.now), None);
    assert_eq!((node.counters().unarps_received, node.counters().cleared), (2, 1));
    // Who is asked for is still waited for.
    node.sent();
    node.send(B);
    node.arp(0xff, &unarp(0x4b));
    node.arp(0x23, &arp(Operation::Response, 0x4b, B, 0x23, A));
    assert_eq!(node.sent().last(), Some(&(0x4b, None)));
}

#[test]
fn broadcast_and_groups_need_not_be_asked_for() {
    let mut node = node(Config::new(A));
    for (last, address) in
        [([10, 0, 0, 255], 0xff), ([224, 0, 0, 5], 0b1000_1011), ([224, 0, 0, 0x80], 0xfd), ([239, 1, 2, 0x7f], 0xfd)]
    {
        node.send(last.into());
        assert_eq!(node.sent(), [(address, None)], "{last:?}");
    }
}

#[test]
fn addresses_of_16_bits_are_right_aligned() {
    let mut node = bare(Config::new(A), Width::Sixteen);
    node.receive("5283fe03 00000002 00005283");
    node.bench.requests();
    node.send(B);
    assert_eq!(node.bench.sent_octets(), [hex("fefffe01 001908000404000100005283 0a00000100000000 0a000002")]);
    let mut answer = hex("5283fe01");
    answer.extend(arp(Operation::Response, 0x5007, B, 0x5283, A));
    node.bench.octets(node.line, &answer);
    let sent = node.bench.sent_octets();
    assert_eq!(sent[0][..4], hex("50070021"));
    node.send(Ipv4Addr::new(224, 0, 0x1f, 0xff));
    assert_eq!(node.bench.sent_octets()[0][..4], hex("fefd0021"));
}

#[test]
fn on_a_line_without_a_switch_both_ends_have_one_address() {
    let mut node = bare(Config::new(A), Width::Eight);
    node.receive("0303fe03 00000002 00000003");
    node.bench.requests();
    node.arp(0xff, &arp(Operation::Request, 0x03, B, 0, A));
    assert_eq!(node.sent().len(), 1);
    node.send(B);
    assert_eq!(node.sent(), [(0x03, None)]);
    // A looped line: our own request is no peer's.
    node.arp(0xff, &arp(Operation::Request, 0x03, A, 0, B));
    assert_eq!(node.counters().conflicts, 1);
    assert!(node.sent().is_empty());
}

#[test]
fn next_hops_are_set_and_forgotten_by_hand() {
    let config = Config { known: vec![(B, "0x49".parse().unwrap())], ..Config::new(A) };
    let mut node = node(config);
    node.send(B);
    assert_eq!(node.sent(), [(0x49, None)]);
    let id = node.bench.graph.node("mapos").unwrap();
    let mapos = node.bench.graph.protocol_mut::<Mapos>(id).unwrap();
    mapos.remember(B, "0x4b".parse().unwrap());
    node.send(B);
    assert_eq!(node.sent(), [(0x4b, None)]);
    let mapos = node.bench.graph.protocol_mut::<Mapos>(id).unwrap();
    mapos.forget(B);
    node.send(B);
    assert_eq!(node.sent()[0].0, 0xff);
}

#[test]
fn a_flood_of_either_kind_holds_no_more_than_is_allowed() {
    let config = Config { max_entries: 8, queue: 2, unarps: 0, ..Config::new(A) };
    let mut node = node(config);
    for n in 0..200_u8 {
        node.send(Ipv4Addr::new(10, 0, 0, 100 + n % 50));
    }
    let (entries, waiting) = node.mapos().held();
    assert!(entries <= 8 && waiting <= 16);
    node.bench.pass(Duration::from_secs(5));
    assert_eq!(node.counters().unresolved, 200);
    for n in 0..200_u8 {
        let other = Ipv4Addr::new(10, 0, 1, n);
        node.arp(0xff, &arp(Operation::Request, 0x49, other, 0, A));
    }
    assert_eq!(node.mapos().held(), (8, 0));
}

#[test]
fn what_cannot_be_a_sender_is_not_learned_and_not_answered() {
    let mut node = node(Config::new(A));
    for sender in [0, 0x01, 0x22, 0xff, 0x81, 0x149, u32::MAX] {
        node.arp(0xff, &arp(Operation::Request, sender, B, 0, A));
    }
    node.arp(0x23, &arp(Operation::Other(9), 0x49, B, 0, A));
    node.arp(0x23, &[0, 25, 8, 0]);
    assert!(node.sent().is_empty());
    assert_eq!(node.counters().ignored, 2);
}
