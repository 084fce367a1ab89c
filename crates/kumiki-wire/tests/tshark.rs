//! What this crate writes, tshark reads as the same thing. Skipped where there is no tshark.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use std::net::Ipv4Addr;

use kumiki_wire::atm::atm_arp::{self, Address, Plan};
use kumiki_wire::inet::arp::{self, Operation};
use kumiki_wire::inet::ethernet::{self, MacAddr, TypeOrLength, ethertype};
use kumiki_wire::inet::icmpv4::{self, Message, Timestamps, time_exceeded, unreachable};
use kumiki_wire::inet::ipv4::{self, protocol};
use kumiki_wire::inet::llc_snap::{self, Media};
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};
use kumiki_wire::inet::tcp::{self, Flags, Options, SackBlock, SackBlocks, Seq};
use kumiki_wire::inet::udp;

mod judge;

use judge::link_type;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const MAC_A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const MAC_B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

macro_rules! octets {
    ($header:expr) => {{
        let header = $header;
        let mut out = vec![0; header.len()];
        header.emit(&mut out);
        out
    }};
}

/// The one's complement checksum of RFC 1071, word by word.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut octets = parts.concat();
    octets.push(0);
    let mut sum: u64 = octets.as_chunks::<2>().0.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

fn len16(octets: &[u8]) -> u16 {
    u16::try_from(octets.len()).unwrap()
}

fn ethernet(data: &[u8], ethertype: u16) -> Vec<u8> {
    let header = ethernet::Header { destination: MAC_B, source: MAC_A, type_or_length: TypeOrLength::Type(ethertype) };
    [octets!(header), data.to_vec()].concat()
}

fn ipv4(header: ipv4::Header, data: &[u8]) -> Vec<u8> {
    let mut header = ipv4::Header { source: A, destination: B, ..header };
    header.total_length = u16::try_from(header.len()).unwrap() + len16(data);
    let mut out = vec![0; header.len()];
    header.emit_summed(&mut out);
    [&out[..], data].concat()
}

fn tcp_segment(mut header: tcp::Header, data: &[u8]) -> Vec<u8> {
    let len = u16::try_from(header.len()).unwrap() + len16(data);
    let pseudo = ipv4::pseudo_header(A, B, protocol::TCP, len);
    header.checksum = checksum(&[&pseudo, &octets!(&header), data]);
    let segment = [&octets!(&header)[..], data].concat();
    ethernet(&ipv4(ipv4::Header { protocol: protocol::TCP, ..ipv4::Header::default() }, &segment), ethertype::IPV4)
}

#[test]
fn tcp_segments_are_read_as_written() {
    let data = tcp::Header {
        source_port: 1024,
        destination_port: 5001,
        seq: Seq(1000),
        ack: Seq(u32::MAX),
        flags: Flags::ACK | Flags::PSH,
        window: 65535,
        ..tcp::Header::default()
    };
    let syn = tcp::Header {
        flags: Flags::SYN | Flags::ECE | Flags::CWR | Flags::AE,
        options: Options {
            mss: Some(9140),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((1, 2)),
            ..Options::NONE
        },
        ..data
    };
    let mut sack = SackBlocks::EMPTY;
    for left in [3000, 5000, 7000] {
        sack.push(SackBlock { left: Seq(left), right: Seq(left + 500) });
    }
    let dup_ack = tcp::Header {
        flags: Flags::ACK | Flags::URG,
        urgent_pointer: 9,
        options: Options { timestamps: Some((3, 4)), sack, ..Options::NONE },
        ..data
    };
    let packets = [tcp_segment(syn, &[]), tcp_segment(dup_ack, &[]), tcp_segment(data, b"hello")];
    let fields = [
        "ip.checksum.status",
        "tcp.checksum.status",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.flags",
        "tcp.window_size_value",
        "tcp.urgent_pointer",
        "tcp.hdr_len",
        "tcp.options",
        "tcp.options.sack_le",
        "tcp.len",
    ];
    let Some(rows) = judge::fields("tcp", link_type::ETHERNET, &packets, &fields) else {
        return;
    };
    let syn_options = "020423b40402080a000000010000000201030307";
    let ack_options = "0101080a00000003000000040101051a00000bb800000dac000013880000157c00001b5800001d4c";
    let expected: [[&str; 11]; 3] = [
        ["1", "1", "1000", "4294967295", "0x01c2", "65535", "0", "40", syn_options, "", "0"],
        ["1", "1", "1000", "4294967295", "0x0030", "65535", "9", "60", ack_options, "3000,5000,7000", "0"],
        ["1", "1", "1000", "4294967295", "0x0018", "65535", "0", "20", "", "", "5"],
    ];
    assert_eq!(rows, expected);
}

/// RFC 9768 section 3.2.3: each length in each order, alone and beside what else a segment has.
#[test]
fn accurate_ecn_options_are_read_as_written() {
    let fields = [
        "tcp.checksum.status",
        "tcp.hdr_len",
        "tcp.flags",
        "tcp.options.acc_ecn.ee0b",
        "tcp.options.acc_ecn.eceb",
        "tcp.options.acc_ecn.ee1b",
        "tcp.options.sack_le",
        "tcp.options.timestamp.tsval",
        "_ws.expert.message",
    ];
    let (e0b, ceb, e1b) = (0x0102_0304, 0xfe_dcba, 7);
    let (mut packets, mut expected) = (Vec::new(), Vec::new());
    for order in [Order::Zero, Order::One] {
        for used in 0..=AccEcn::FIELDS {
            for blocks in 0..=2 {
                let mut sack = SackBlocks::EMPTY;
                for left in (0..blocks).map(|n| 3000 + 2000 * n) {
                    sack.push(SackBlock { left: Seq(left), right: Seq(left + 500) });
                }
                let header = tcp::Header {
                    source_port: 1024,
                    destination_port: 5001,
                    // As an ACE field: 5.
                    flags: Flags::ACK | Flags::AE | Flags::ECE,
                    options: Options {
                        timestamps: Some((77, 4)),
                        accecn: Some(AccEcn::new(order, used, e0b, ceb, e1b)),
                        sack,
                        ..Options::NONE
                    },
                    ..tcp::Header::default()
                };
                packets.push(tcp_segment(header, &[]));
                let shown = |at: usize, value: u32| {
                    if at < used { (value & AccEcn::MASK).to_string() } else { String::new() }
                };
                let (first, last) = if order == Order::Zero { (0, 2) } else { (2, 0) };
                let sent = header.options.sack_room().min(blocks as usize);
                let lefts: Vec<String> = (0..sent).map(|n| (3000 + 2000 * n).to_string()).collect();
                expected.push(vec![
                    "1".to_owned(),
                    header.len().to_string(),
                    "0x0150".to_owned(),
                    shown(first, e0b),
                    shown(1, ceb),
                    shown(last, e1b),
                    lefts.join(","),
                    "77".to_owned(),
                    String::new(),
                ]);
            }
        }
    }
    let Some(mut rows) = judge::fields("accecn", link_type::ETHERNET, &packets, &fields) else {
        return;
    };
    for (row, expected) in rows.iter_mut().zip(&expected) {
        // Whatever else tshark notices about segments out of nowhere, it finds nothing malformed.
        let remarks = row.pop().unwrap();
        assert!(!remarks.to_lowercase().contains("malformed"), "{remarks}");
        assert!(!remarks.to_lowercase().contains("length"), "{remarks}");
        assert_eq!(row[..], expected[..expected.len() - 1]);
    }
}

#[test]
fn udp_and_ipv4_are_read_as_written() {
    let datagram = |sum: bool| {
        let mut header = udp::Header { source_port: 1, destination_port: 9, length: 13, checksum: 0 };
        if sum {
            let pseudo = ipv4::pseudo_header(A, B, protocol::UDP, 13);
            header.checksum = udp::on_wire(checksum(&[&pseudo, &octets!(&header), b"hello"]));
        }
        [&octets!(header)[..], b"hello"].concat()
    };
    let header = ipv4::Header { protocol: protocol::UDP, ..ipv4::Header::default() };
    let fragment = ipv4::Header {
        more_fragments: true,
        fragment_offset: 185,
        identification: 77,
        type_of_service: 0xb9,
        time_to_live: 3,
        ..header
    };
    let with_options =
        ipv4::Header { options: ipv4::Options::new(&[148, 4, 0, 0, 1]).unwrap(), dont_fragment: true, ..header };
    let packets = [
        ethernet(&ipv4(header, &datagram(true)), ethertype::IPV4),
        ethernet(&ipv4(header, &datagram(false)), ethertype::IPV4),
        ethernet(&ipv4(fragment, &[0; 64]), ethertype::IPV4),
        ethernet(&ipv4(with_options, &datagram(true)), ethertype::IPV4),
    ];
    let fields = [
        "ip.checksum.status",
        "udp.checksum.status",
        "ip.hdr_len",
        "ip.flags",
        "ip.frag_offset",
        "ip.id",
        "ip.dsfield",
        "ip.ttl",
        "ip.opt.type",
        "udp.length",
    ];
    let Some(rows) = judge::fields("udp", link_type::ETHERNET, &packets, &fields) else {
        return;
    };
    let expected: [[&str; 10]; 4] = [
        ["1", "1", "20", "0x00", "0", "0x0000", "0x00", "64", "", "13"],
        // 3: the sender computed none.
        ["1", "3", "20", "0x00", "0", "0x0000", "0x00", "64", "", "13"],
        ["1", "", "20", "0x01", "185", "0x004d", "0xb9", "3", "", ""],
        ["1", "1", "28", "0x02", "0", "0x0000", "0x00", "64", "148,1,0", "13"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn icmp_messages_are_read_as_written() {
    let quoted = ipv4(ipv4::Header { protocol: protocol::UDP, ..ipv4::Header::default() }, &[0, 1, 0, 9, 0, 8, 0, 0]);
    let message = |message, data: &[u8]| {
        let mut header = icmpv4::Header { message, checksum: 0 };
        header.checksum = checksum(&[&octets!(header), data]);
        let icmp = [&octets!(header)[..], data].concat();
        let header = ipv4::Header { protocol: protocol::ICMP, ..ipv4::Header::default() };
        ethernet(&ipv4(header, &icmp), ethertype::IPV4)
    };
    let times = Timestamps { originate: 1000, receive: 2000, transmit: 3000 };
    let packets = [
        message(Message::Echo { identifier: 7, sequence: 8 }, b"odd"),
        message(
            Message::DestinationUnreachable { code: unreachable::FRAGMENTATION_NEEDED, next_hop_mtu: 1492 },
            &quoted,
        ),
        message(Message::Redirect { code: 1, gateway: Ipv4Addr::new(10, 0, 0, 9) }, &quoted),
        message(Message::TimeExceeded { code: time_exceeded::REASSEMBLY }, &quoted),
        message(Message::ParameterProblem { code: 0, pointer: 20 }, &quoted),
        message(Message::TimestampReply { identifier: 7, sequence: 8, times }, &[]),
    ];
    let fields = [
        "icmp.checksum.status",
        "icmp.type",
        "icmp.code",
        "icmp.ident",
        "icmp.mtu",
        "icmp.redir_gw",
        "icmp.pointer",
        "icmp.transmit_timestamp",
    ];
    let Some(mut rows) = judge::fields("icmp", link_type::ETHERNET, &packets, &fields) else {
        return;
    };
    for row in &mut rows {
        // tshark prints the identifier in both byte orders.
        row[3] = row[3].split(',').next().unwrap().to_owned();
    }
    let expected: [[&str; 8]; 6] = [
        ["1", "8", "0", "7", "", "", "", ""],
        ["1", "3", "4", "", "1492", "", "", ""],
        ["1", "5", "1", "", "", "10.0.0.9", "", ""],
        ["1", "11", "1", "", "", "", "", ""],
        ["1", "12", "0", "", "", "", "20", ""],
        ["1", "14", "0", "7", "", "", "", "3000"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn arp_packets_are_read_as_written() {
    let reply =
        arp::Header { hrd: arp::hardware::ETHERNET, op: Operation::Reply, sha: MAC_A, spa: A, tha: MAC_B, tpa: B };
    let packets = [ethernet(&octets!(reply), ethertype::ARP)];
    let fields = [
        "eth.src",
        "eth.dst",
        "arp.opcode",
        "arp.src.hw_mac",
        "arp.src.proto_ipv4",
        "arp.dst.hw_mac",
        "arp.dst.proto_ipv4",
    ];
    let Some(rows) = judge::fields("arp", link_type::ETHERNET, &packets, &fields) else {
        return;
    };
    let (a, b) = ("02:00:00:00:00:01", "02:00:00:00:00:02");
    assert_eq!(rows, [[a, b, "2", a, "10.0.0.1", b, "10.0.0.2"]]);
}

#[test]
fn atm_arp_packets_are_read_as_written() {
    let nsap = [0x47, 0, 5, 0x80, 0xff, 0xe1, 0, 0, 0, 0xf2, 0x1a, 0x0f, 2, 0, 0x20, 0x48, 0x0d, 1, 2, 0];
    let request = atm_arp::Header {
        op: Operation::Request,
        sha: Address::new(Plan::Nsap, &nsap).unwrap(),
        ssa: Address::NULL,
        spa: Some(A),
        tha: Address::NULL,
        tsa: Address::NULL,
        tpa: Some(B),
    };
    let reply = atm_arp::Header {
        op: Operation::Reply,
        sha: Address::new(Plan::E164, b"81312345678").unwrap(),
        ssa: request.sha,
        spa: Some(B),
        tha: request.sha,
        tsa: Address::NULL,
        tpa: Some(A),
    };
    let inverse = atm_arp::Header { op: Operation::InverseRequest, sha: Address::NULL, tpa: None, ..request };
    let nak = atm_arp::Header { op: Operation::Nak, ..request };
    let packets = [request, reply, inverse, nak].map(|arp| [octets!(llc_snap::Header::ARP), octets!(arp)].concat());
    let fields = [
        "arp.hw.type",
        "arp.opcode",
        "arp.src.hlen",
        "arp.src.htype",
        "arp.src.slen",
        "arp.src.atm_num_e164",
        "arp.src.proto_ipv4",
        "arp.dst.hlen",
        "arp.dst.proto_ipv4",
    ];
    let Some(rows) = judge::fields("atm_arp", link_type::ATM_RFC1483, &packets, &fields) else {
        return;
    };
    let expected: [[&str; 9]; 4] = [
        ["19", "1", "20", "0", "0", "", "10.0.0.1", "0", "10.0.0.2"],
        ["19", "2", "11", "1", "20", "81312345678", "10.0.0.2", "20", "10.0.0.1"],
        ["19", "8", "0", "0", "0", "", "10.0.0.1", "0", ""],
        ["19", "10", "20", "0", "0", "", "10.0.0.1", "0", "10.0.0.2"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn llc_headers_lead_to_what_they_carry() {
    let arp = octets!(arp::Header {
        hrd: arp::hardware::ETHERNET,
        op: Operation::Request,
        sha: MAC_A,
        spa: A,
        tha: MAC_B,
        tpa: B,
    });
    let datagram = ipv4(ipv4::Header { protocol: 253, ..ipv4::Header::default() }, &[0; 8]);
    let bridged = octets!(llc_snap::Header::Bridged { media: Media::Ethernet, fcs: false });
    let packets = [
        [octets!(llc_snap::Header::IPV4), datagram].concat(),
        [bridged, ethernet(&arp, ethertype::ARP)].concat(),
        [octets!(llc_snap::Header::Nlpid), vec![llc_snap::nlpid::CLNP, 0, 0, 0]].concat(),
    ];
    let Some(rows) = judge::fields("llc", link_type::ATM_RFC1483, &packets, &["frame.protocols"]) else {
        return;
    };
    println!("{rows:?}");
    let ends = [":ip", ":arp", ":clnp"];
    for (row, end) in rows.iter().zip(ends) {
        assert!(row.concat().contains(end), "{row:?} should lead to {end}");
    }
    assert_eq!(rows.len(), ends.len());
}
