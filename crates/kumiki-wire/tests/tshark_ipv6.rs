//! What this crate writes for IPv6, tshark reads as the same thing. Skipped where there is no tshark.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use std::net::Ipv6Addr;

use kumiki_wire::inet::ethernet::{self, MacAddr, TypeOrLength, ethertype};
use kumiki_wire::inet::icmpv6::option::{Opt, Prefix};
use kumiki_wire::inet::icmpv6::{self, Message, Router, parameter, unreachable};
use kumiki_wire::inet::ipv6::extension::Fragment;
use kumiki_wire::inet::ipv6::{self, next_header};

mod judge;

const A: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const B: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn checksum(octets: &[u8]) -> u16 {
    let mut sum: u64 =
        octets.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

/// An Ethernet frame with a packet from A to B.
fn frame(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let ethernet = ethernet::Header {
        destination: MacAddr::of_ipv6_group(B),
        source: MAC,
        type_or_length: TypeOrLength::Type(ethertype::IPV6),
    };
    let ip = ipv6::Header {
        traffic_class: 0xb8,
        flow_label: 0xabcde,
        payload_length: u16::try_from(payload.len()).unwrap(),
        next_header,
        hop_limit: 255,
        source: A,
        destination: B,
    };
    let mut octets = vec![0; ethernet::LEN + ipv6::LEN];
    let (front, behind) = octets.split_at_mut(ethernet::LEN);
    ethernet.emit(front);
    ip.emit(behind);
    [&octets, payload].concat()
}

fn icmp(message: Message, data: &[u8]) -> Vec<u8> {
    let mut header = icmpv6::Header { message, checksum: 0 };
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    let whole = [&octets, data].concat();
    let len = u32::try_from(whole.len()).unwrap();
    let pseudo = ipv6::pseudo_header(A, B, next_header::ICMPV6, len);
    header.checksum = checksum(&[&pseudo[..], &whole].concat());
    header.emit(&mut octets);
    [&octets, data].concat()
}

fn option(option: Opt<'_>) -> Vec<u8> {
    let mut out = vec![0; option.len()];
    option.emit(&mut out);
    out
}

fn messages() -> Vec<Vec<u8>> {
    let quoted = &frame(17, &[0, 1, 0, 9, 0, 8, 0, 0])[ethernet::LEN..];
    let prefix = Prefix {
        len: 64,
        on_link: true,
        autonomous: true,
        valid_s: 7200,
        preferred_s: 3600,
        prefix: Ipv6Addr::new(0xfd00, 0, 0, 7, 0, 0, 0, 0),
    };
    let router =
        Router { hop_limit: 61, managed: false, other: true, lifetime_s: 1800, reachable_ms: 30_000, retrans_ms: 1500 };
    let options = [Opt::Source(MAC), Opt::Mtu(1400), Opt::Prefix(prefix)].map(option);
    let (identifier, sequence) = (7, 8);
    let solicited = true;
    vec![
        icmp(Message::Echo { identifier, sequence }, b"odd"),
        icmp(Message::PacketTooBig { mtu: 1400 }, quoted),
        icmp(Message::DestinationUnreachable { code: unreachable::PORT }, quoted),
        icmp(Message::ParameterProblem { code: parameter::OPTION, pointer: 42 }, quoted),
        icmp(Message::RouterAdvertisement(router), &options.concat()),
        icmp(Message::NeighbourSolicitation { target: B }, &option(Opt::Source(MAC))),
        icmp(
            Message::NeighbourAdvertisement { router: true, solicited, overrides: false, target: A },
            &option(Opt::Target(MAC)),
        ),
        icmp(Message::Redirect { target: A, destination: B }, &[]),
    ]
}

#[test]
fn icmpv6_messages_are_read_as_written() {
    let packets: Vec<_> = messages().iter().map(|octets| frame(next_header::ICMPV6, octets)).collect();
    let fields = [
        "ipv6.tclass",
        "ipv6.flow",
        "ipv6.hlim",
        "icmpv6.checksum.status",
        "icmpv6.type",
        "icmpv6.code",
        "icmpv6.echo.identifier",
        "icmpv6.mtu",
        "icmpv6.pointer",
        "icmpv6.nd.ra.router_lifetime",
        "icmpv6.nd.ra.retrans_timer",
        "icmpv6.opt.linkaddr",
        "icmpv6.opt.prefix",
        "icmpv6.opt.mtu",
        "icmpv6.nd.ns.target_address",
        "icmpv6.nd.na.target_address",
        "_ws.malformed",
    ];
    let ethernet = judge::link_type::ETHERNET;
    let Some(rows) = judge::fields("icmpv6", ethernet, &packets, &fields) else {
        return;
    };
    let mac = "02:00:00:00:00:01";
    let expected: [[&str; 13]; 8] = [
        ["128", "0", "0x0007", "", "", "", "", "", "", "", "", "", ""],
        ["2", "0", "", "1400", "", "", "", "", "", "", "", "", ""],
        ["1", "4", "", "", "", "", "", "", "", "", "", "", ""],
        ["4", "2", "", "", "42", "", "", "", "", "", "", "", ""],
        ["134", "0", "", "", "", "1800", "1500", mac, "fd00:0:0:7::", "1400", "", "", ""],
        ["135", "0", "", "", "", "", "", mac, "", "", "fe80::2", "", ""],
        ["136", "0", "", "", "", "", "", mac, "", "", "", "fe80::1", ""],
        ["137", "0", "", "", "", "", "", "", "", "", "", "", ""],
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(expected) {
        // Quoted packets repeat the fields of IP.
        let first = |at: usize| row[at].split(',').next().unwrap();
        assert_eq!(first(0), "0x000000b8");
        assert_eq!(first(1), "0x0abcde");
        assert_eq!([first(2), &row[3]], ["255", "1"]);
        assert_eq!(row[4..], expected, "{row:?}");
    }
}

#[test]
fn chains_of_extension_headers_lead_to_what_they_carry() {
    let (identifier, sequence) = (7, 8);
    let message = Message::Echo { identifier, sequence };
    let mut fragment = vec![0; 8];
    Fragment { next_header: next_header::ICMPV6, offset: 0, more: false, identification: 77 }.emit(&mut fragment);
    let hop = [next_header::DESTINATION, 0, 1, 4, 0, 0, 0, 0];
    let destination = [next_header::FRAGMENT, 0, 0x3e, 2, 9, 9, 0, 0];
    let echo = icmp(message, b"odd");
    let payload = [&hop[..], &destination, &fragment, &echo].concat();
    let packets = [frame(next_header::HOP_BY_HOP, &payload)];
    let fields = ["ipv6.fraghdr.ident", "ipv6.opt.type", "icmpv6.type", "icmpv6.checksum.status", "_ws.malformed"];
    let ethernet = judge::link_type::ETHERNET;
    let Some(rows) = judge::fields("extensions", ethernet, &packets, &fields) else {
        return;
    };
    assert_eq!(rows, [["0x0000004d", "0x01,0x3e,0x00,0x00", "128", "1", ""]]);
}
