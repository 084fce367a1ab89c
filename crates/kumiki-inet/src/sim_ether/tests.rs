use kumiki_graph::{DeviceId, NodeId};
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::numbering::ETHER_TYPE;
use proptest::prelude::*;

use super::*;
use crate::eth::{self, Eth};
use crate::ip::{self, Ip};
use crate::udp::{self, Udp};
use kumiki_testkit::bench::Bench;

const OWN: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 7000);
const PEER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 7002);

fn bench(config: Config) -> (Bench, DeviceId, NodeId) {
    let mut bench = Bench::new();
    let net = bench.device("net");
    let below = ip::Config::host(ip::Interface::new("net", *OWN.ip(), 24));
    bench.node("os_ip", &["net"], Ip::new(below).unwrap());
    bench.node("os_udp", &["os_ip"], Udp::new(udp::Config::default()));
    bench.node("sim_ether", &["os_udp"], SimEther::new(config).unwrap());
    let eth = eth::Config { mtu: 9000, ..eth::Config::new(mac_of(OWN).unwrap()) };
    bench.node("eth", &["sim_ether"], Eth::new(eth).unwrap());
    let user = bench.user("user", "eth", &[Key::of(ETHER_TYPE, 0x817d)]);
    bench.start();
    bench.requests();
    (bench, net, user)
}

fn to(mac: MacAddr, data: &[u8]) -> Unit {
    Unit { destination: Address::from(mac), ..Unit::of(Message::from_octets(data)) }
}

#[test]
fn the_mac_address_of_a_station_is_its_address_and_port() {
    assert_eq!(mac_of(OWN), Some(MacAddr([10, 0, 0, 1, 0x1b, 0x58])));
    let loopback = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7000);
    let mac = mac_of(loopback).unwrap();
    assert_eq!(mac, MacAddr([126, 0, 0, 1, 0x1b, 0x59]));
    assert_eq!(socket_of(mac), Some(loopback));
    for wrong in ["10.0.0.1:7001", "10.0.0.1:0", "224.0.0.1:2", "0.0.0.0:2"] {
        assert_eq!(mac_of(wrong.parse().unwrap()), None, "{wrong}");
    }
    assert_eq!(socket_of(MacAddr::BROADCAST), None);
}

proptest! {
    #[test]
    fn a_station_is_found_by_its_mac_address(ip in 0x0100_0000..0xe000_0000_u32, half in 1..32768_u16) {
        let station = SocketAddrV4::new(Ipv4Addr::from_bits(ip), half * 2);
        let mac = mac_of(station).unwrap();
        prop_assert!(!mac.is_group());
        prop_assert_eq!(socket_of(mac), Some(station));
    }
}

#[test]
fn a_frame_is_the_data_of_a_datagram_and_back() {
    let (mut bench, net, user) = bench(Config::new(OWN));
    bench.send(user, to(mac_of(PEER).unwrap(), &[7; 100]));
    let sent = bench.sent_octets();
    let [datagram] = sent.as_slice() else { panic!("{} datagrams", sent.len()) };
    assert_eq!(datagram[16..20], PEER.ip().octets());
    assert_eq!(datagram[20..24], [0x1b, 0x58, 0x1b, 0x5a], "the ports");
    let frame = &datagram[28..];
    assert_eq!(frame[..6], [10, 0, 0, 2, 0x1b, 0x5a]);
    assert_eq!(frame[6..14], [10, 0, 0, 1, 0x1b, 0x58, 0x81, 0x7d]);
    assert_eq!(frame[14..], [7; 100]);

    // The peer's answer: the same, turned round.
    let mut answer = datagram.clone();
    answer[12..20].rotate_left(4);
    answer[20..24].rotate_left(2);
    answer[28..40].rotate_left(6);
    bench.octets(net, &answer);
    let units = bench.units(user);
    assert_eq!(units[0].source, Address::from(MacAddr([10, 0, 0, 2, 0x1b, 0x5a])));
    assert_eq!(units[0].data.to_vec(), [7; 100]);
}

#[test]
fn a_frame_for_all_goes_to_each_station() {
    let third = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 3), 7000);
    let config = Config { stations: vec![PEER, third], ..Config::new(OWN) };
    let (mut bench, _, user) = bench(config);
    bench.send(user, to(MacAddr::BROADCAST, &[7; 100]));
    let sent = bench.sent_octets();
    let hosts: Vec<u8> = sent.iter().map(|datagram| datagram[19]).collect();
    assert_eq!(hosts, [2, 3]);
}

#[test]
fn a_box_between_the_stations_gets_all_frames() {
    let between = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 9), 4001);
    let config = Config { via: Some(between), ..Config::new(OWN) };
    let (mut bench, _, user) = bench(config);
    bench.send(user, to(MacAddr::BROADCAST, &[7; 100]));
    bench.send(user, to(mac_of(PEER).unwrap(), &[7; 100]));
    let sent = bench.sent_octets();
    let hosts: Vec<u8> = sent.iter().map(|datagram| datagram[19]).collect();
    assert_eq!(hosts, [9, 9]);
}

#[test]
fn a_process_that_reads_frees_the_socket() {
    let config = Config { socket_buffer: Some(150), ..Config::new(OWN) };
    let (mut bench, net, user) = bench(config);
    bench.send(user, to(mac_of(OWN).unwrap(), &[7; 100]));
    // To ourselves it stays here, and is read.
    assert_eq!(bench.units(user).len(), 1);
    bench.send(user, to(mac_of(PEER).unwrap(), &[7; 100]));
    let mut back = bench.sent_octets().pop().unwrap();
    back[12..20].rotate_left(4);
    back[20..24].rotate_left(2);
    back[28..40].rotate_left(6);
    for _ in 0..4 {
        bench.octets(net, &back);
    }
    assert_eq!(bench.units(user).len(), 4, "each was read at once");
    assert_eq!(bench.drops("os_udp", "receive buffer full"), 0);
}

#[test]
fn what_is_no_frame_is_refused() {
    let config = Config { frame: 200, ..Config::new(OWN) };
    let (mut bench, net, user) = bench(config);
    bench.send(user, to(mac_of(PEER).unwrap(), &[7; 187]));
    bench.send(user, to(MacAddr([2, 0, 0, 0, 0, 0]), &[7; 10]));
    assert!(bench.sent_octets().is_empty());
    let short =
        [0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 1, 1, 0x1b, 0x58, 0, 11, 0, 0, 1, 2, 3];
    let mut short = short.to_vec();
    let sum = kumiki_octets::Sum::of(&short[..20]).checksum().to_be_bytes();
    short[10..12].copy_from_slice(&sum);
    bench.octets(net, &short);
    assert!(bench.units(user).is_empty());
    assert_eq!(bench.drops("sim_ether", "no frame"), 1);
    assert_eq!(bench.drops("sim_ether", "MAC address of no station"), 1);

    assert_eq!(SimEther::new(Config { frame: 13, ..Config::new(OWN) }).unwrap_err(), ConfigError::Frame(13));
    let odd = SocketAddrV4::new(*OWN.ip(), 7001);
    let error = SimEther::new(Config::new(odd)).unwrap_err().to_string();
    assert!(error.contains("10.0.0.1:7001") && error.contains("even port"), "{error}");
}
