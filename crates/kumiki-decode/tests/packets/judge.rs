//! tshark beside us: the same captures, the same fields. Skipped where there is no tshark, unless
//! `KUMIKI_REQUIRE_TSHARK` is set.

use std::path::Path;

use kumiki_decode::{Capture, Decoder, FormatHint, Packet, Registry};
use kumiki_octets::crc::Fcs32;
use kumiki_wire::atm::cell::{self, Interface, Pti};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::icmpv4::Message;
use kumiki_wire::inet::icmpv6::option::{Opt, Prefix};
use kumiki_wire::inet::ipv6::extension::Fragment;
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};
use kumiki_wire::inet::tcp::{self, Flags, Options, Seq};
use kumiki_wire::inet::{dhcp, icmpv6, ipv4, ipv6, rtp};

use kumiki_watchdog::peers::{CHECKSUMS, tshark_fields};

use super::arrange::{
    A6, bad, ethernet, fragment6, icmp, icmp6, ip, ip6, nd_option, pdu, plain, plain6, summed6, tcp, udp, udp_to, value,
};

/// What tshark reads in each packet of `file`: one row per packet, one text per field.
fn tshark(name: &str, file: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    tshark_with(&[], name, file, fields)
}

/// As [`tshark`], with more arguments.
pub(crate) fn tshark_with(more: &[&str], name: &str, file: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).unwrap();
    // Each packet for itself, as we read them.
    let apart = ["-o", "tcp.relative_sequence_numbers:FALSE", "-E", "occurrence=f"];
    tshark_fields(path, &[&CHECKSUMS[..], &apart, more].concat(), fields)
}

pub(crate) fn ours(file: &[u8]) -> Vec<Packet> {
    let capture = Capture::open(file, FormatHint::default(), &Registry::new()).unwrap();
    let mut decoder = Decoder::new();
    capture.map(|record| decoder.decode(&record.unwrap())).collect()
}

/// A pcap file of nanoseconds.
pub(crate) fn pcap(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [0xa1b2_3c4d_u32.to_le_bytes(), [2, 0, 4, 0]].concat();
    file.extend([0; 8]);
    file.extend([65535, link].map(u32::to_le_bytes).concat());
    for packet in packets {
        let len = u32::try_from(packet.len()).unwrap();
        file.extend([1, 2, len, len].map(u32::to_le_bytes).concat());
        file.extend(packet);
    }
    file
}

/// tshark's field, our layer and field, and whether tshark prints hexadecimal.
pub(crate) type Pair = (&'static str, &'static str, &'static str);

pub(crate) fn compare(name: &str, file: &[u8], pairs: &[Pair]) {
    compare_with(&[], name, file, pairs);
}

/// As [`compare`], with more arguments for tshark.
pub(crate) fn compare_with(more: &[&str], name: &str, file: &[u8], pairs: &[(&str, &str, &str)]) {
    let fields: Vec<&str> = pairs.iter().map(|(theirs, ..)| *theirs).collect();
    let Some(rows) = tshark_with(more, name, file, &fields) else {
        return;
    };
    let packets = ours(file);
    assert_eq!(rows.len(), packets.len());
    let mut same = 0;
    for (number, (row, packet)) in rows.iter().zip(&packets).enumerate() {
        for ((field, layer, ours), theirs) in pairs.iter().zip(row) {
            let ours = value(packet, layer, ours);
            assert_eq!(number_of(&ours), number_of(theirs), "packet {} {field}", number + 1);
            same += usize::from(!theirs.is_empty());
        }
    }
    println!("{name}: {same} fields are the same");
    assert!(same > packets.len(), "{same}");
}

/// Numbers in any notation are compared as numbers, all else as it is. tshark puts colons between the octets of some
/// fields.
pub(crate) fn number_of(text: &str) -> Result<u64, String> {
    let text = &text.replace(':', "");
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| text.clone())
}

const IP: [Pair; 9] = [
    ("ip.src", "ipv4", "source"),
    ("ip.dst", "ipv4", "destination"),
    ("ip.len", "ipv4", "total length"),
    ("ip.id", "ipv4", "identification"),
    ("ip.ttl", "ipv4", "time to live"),
    ("ip.proto", "ipv4", "protocol"),
    ("ip.checksum", "ipv4", "header checksum"),
    ("ip.dsfield.dscp", "ipv4", "dscp"),
    ("ip.dsfield.ecn", "ipv4", "ecn"),
];

const TCP: [Pair; 9] = [
    ("tcp.srcport", "tcp", "source port"),
    ("tcp.dstport", "tcp", "destination port"),
    ("tcp.seq_raw", "tcp", "sequence number"),
    ("tcp.ack_raw", "tcp", "acknowledgment number"),
    ("tcp.flags", "tcp", "control bits"),
    ("tcp.window_size_value", "tcp", "window"),
    ("tcp.checksum", "tcp", "checksum"),
    ("tcp.options.mss_val", "tcp", "maximum segment size"),
    ("tcp.options.wscale.shift", "tcp", "window scale"),
];

#[test]
fn tcp_of_real_peers_is_read_as_tshark_reads_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let captures: Vec<_> = root.skip(3).take(2).map(|above| above.join("shared/captures")).collect();
    let pairs = [&IP[..], &TCP].concat();
    for name in ["isode-bin-small.pcap", "xot-xotpad.pcap"] {
        match captures.iter().find_map(|folder| std::fs::read(folder.join(name)).ok()) {
            Some(file) => compare(&format!("judge-{name}"), &file, &pairs),
            None => println!("skipped: there is no ../shared/captures/{name}"),
        }
    }
}

#[test]
fn frames_are_read_as_tshark_reads_them() {
    let syn = tcp::Header {
        source_port: 1024,
        destination_port: 5001,
        seq: Seq(7),
        flags: Flags::SYN | Flags::ECE | Flags::CWR,
        window: 65535,
        options: Options { mss: Some(9140), window_scale: Some(7), ..Options::NONE },
        ..tcp::Header::default()
    };
    let echo = Message::Echo { identifier: 5, sequence: 6 };
    let marked = ipv4::Header {
        protocol: 17,
        type_of_service: 0xbb,
        time_to_live: 3,
        identification: 99,
        ..ipv4::Header::default()
    };
    let accecn = tcp::Header {
        flags: Flags::ACK | Flags::AE | Flags::ECE,
        options: Options { accecn: Some(AccEcn::new(Order::One, 3, 70_000, 1460, 1)), ..Options::NONE },
        ..tcp::Header::default()
    };
    let packets = [
        plain(6, &tcp(syn, &[])),
        plain(6, &tcp(accecn, b"data")),
        ip(marked, &udp(b"hello")),
        plain(1, &icmp(echo, b"odd")),
    ];
    let packets = packets.map(|packet| ethernet(0x0800, &packet));
    let own = [
        ("eth.src", "ethernet", "source"),
        ("eth.dst", "ethernet", "destination"),
        ("tcp.options.acc_ecn.ee0b", "tcp", "EE0B"),
        ("tcp.options.acc_ecn.eceb", "tcp", "ECEB"),
        ("tcp.options.acc_ecn.ee1b", "tcp", "EE1B"),
        ("udp.srcport", "udp", "source port"),
        ("udp.length", "udp", "length"),
        ("udp.checksum", "udp", "checksum"),
        ("icmp.type", "icmp", "type"),
        ("icmp.ident", "icmp", "identifier"),
        ("icmp.seq", "icmp", "sequence number"),
        ("icmp.checksum", "icmp", "checksum"),
    ];
    compare("judge-frames.pcap", &pcap(1, &packets), &[&IP[..], &TCP, &own].concat());
}

const IP6: [Pair; 7] = [
    ("ipv6.src", "ipv6", "source"),
    ("ipv6.dst", "ipv6", "destination"),
    ("ipv6.plen", "ipv6", "payload length"),
    ("ipv6.nxt", "ipv6", "next header"),
    ("ipv6.hlim", "ipv6", "hop limit"),
    ("ipv6.tclass.dscp", "ipv6", "dscp"),
    ("ipv6.tclass.ecn", "ipv6", "ecn"),
];

#[test]
fn ipv6_is_read_as_tshark_reads_it() {
    let target = A6;
    let router = icmpv6::Router {
        hop_limit: 61,
        managed: true,
        lifetime_s: 1800,
        reachable_ms: 30_000,
        retrans_ms: 1000,
        ..icmpv6::Router::default()
    };
    let prefix = nd_option(Opt::Prefix(Prefix {
        len: 64,
        on_link: true,
        autonomous: true,
        valid_s: 7200,
        preferred_s: 3600,
        prefix: A6,
    }));
    let mac = nd_option(Opt::Source(MacAddr([2, 0, 0, 0, 0, 1])));
    let echo = icmp6(icmpv6::Message::Echo { identifier: 5, sequence: 6 }, b"odd");
    let datagram = summed6(17, udp(b"hello"), 6);
    let quoted = plain6(17, &datagram);
    let fragment = |offset, more| Fragment { next_header: 58, offset, more, identification: 0x0a0b_0c0d };
    let long = icmp6(icmpv6::Message::EchoReply { identifier: 8, sequence: 9 }, &[3; 60]);
    let packets = [
        ip6(
            ipv6::Header {
                traffic_class: 0xb9,
                flow_label: 0xabcde,
                hop_limit: 255,
                next_header: 58,
                ..ipv6::Header::default()
            },
            &echo,
        ),
        plain6(17, &datagram),
        plain6(58, &icmp6(icmpv6::Message::NeighbourSolicitation { target }, &mac)),
        plain6(
            58,
            &icmp6(
                icmpv6::Message::NeighbourAdvertisement { router: false, solicited: true, overrides: true, target },
                &mac,
            ),
        ),
        plain6(
            58,
            &icmp6(icmpv6::Message::RouterAdvertisement(router), &[&nd_option(Opt::Mtu(1400))[..], &prefix].concat()),
        ),
        plain6(58, &icmp6(icmpv6::Message::PacketTooBig { mtu: 1300 }, &quoted)),
        // Behind a router alert and behind padding.
        plain6(0, &[&[60, 0, 5, 2, 0, 0, 1, 0][..], &[58, 0, 1, 4, 0, 0, 0, 0], &echo].concat()),
        // Two fragments of which the second makes it whole.
        plain6(44, &fragment6(fragment(0, true), &long[..40])),
        plain6(44, &fragment6(fragment(5, false), &long[40..])),
    ];
    let own = [
        ("icmpv6.type", "icmpv6", "type"),
        ("icmpv6.code", "icmpv6", "code"),
        ("icmpv6.checksum", "icmpv6", "checksum"),
        ("icmpv6.echo.identifier", "icmpv6", "identifier"),
        ("icmpv6.echo.sequence_number", "icmpv6", "sequence number"),
        ("icmpv6.nd.ra.cur_hop_limit", "icmpv6", "cur hop limit"),
        ("icmpv6.nd.ra.flag.m", "icmpv6", "managed"),
        ("icmpv6.nd.ra.router_lifetime", "icmpv6", "router lifetime"),
        ("icmpv6.nd.ra.reachable_time", "icmpv6", "reachable time"),
        ("icmpv6.nd.ra.retrans_timer", "icmpv6", "retrans timer"),
        ("icmpv6.nd.na.flag.s", "icmpv6", "solicited"),
        ("icmpv6.nd.na.flag.o", "icmpv6", "override"),
        ("icmpv6.opt.src_linkaddr", "icmpv6", "source link-layer address"),
        ("icmpv6.opt.prefix.valid_lifetime", "icmpv6", "valid lifetime"),
        ("icmpv6.opt.prefix.preferred_lifetime", "icmpv6", "preferred lifetime"),
        ("ipv6.fraghdr.offset", "ipv6-fragment", "fragment offset"),
        ("ipv6.fraghdr.more", "ipv6-fragment", "more fragments"),
        ("ipv6.fraghdr.ident", "ipv6-fragment", "identification"),
        ("ipv6.hopopts.nxt", "ipv6-hop-by-hop", "next header"),
        ("ipv6.dstopts.nxt", "ipv6-destination", "next header"),
        ("udp.srcport", "udp", "source port"),
        ("udp.checksum", "udp", "checksum"),
    ];
    let file = pcap(101, &packets);
    compare("judge-ipv6.pcap", &file, &[&IP6[..], &own].concat());
    // Whose sums are right.
    for packet in ours(&file) {
        assert_eq!(bad(&packet), [""; 0]);
        let verbatim = packet.layers.iter().all(|it| it.verbatim != Some(false));
        assert!(verbatim, "{packet:?}");
    }
}

#[test]
fn whose_sums_are_wrong_is_agreed_on() {
    let right = plain(6, &tcp(tcp::Header::default(), b"data"));
    let (mut header, mut data) = (right.clone(), right.clone());
    header[8] ^= 1;
    let last = data.len() - 1;
    data[last] ^= 1;
    let file = pcap(101, &[right, header, data]);
    let Some(rows) = tshark("judge-sums.pcap", &file, &["ip.checksum.status", "tcp.checksum.status"]) else {
        return;
    };
    // 1 is right, 0 is wrong.
    assert_eq!(rows, [["1", "1"], ["0", "1"], ["1", "0"]]);
    let ours: Vec<usize> = ours(&file).iter().map(|packet| bad(packet).len()).collect();
    assert_eq!(ours, [0, 1, 1]);
}

fn erf(kind: u8, content: &[u8], wlen: usize) -> Vec<u8> {
    let mut record = vec![0, 0, 0, 0x80, 5, 0, 0, 0, kind, 4];
    record.extend(u16::try_from(16 + content.len()).unwrap().to_be_bytes());
    record.extend([0, 0]);
    record.extend(u16::try_from(wlen).unwrap().to_be_bytes());
    record.extend(content);
    record
}

fn with_fcs(octets: &[u8]) -> Vec<u8> {
    let mut crc = Fcs32::new();
    crc.update(octets);
    [octets, &crc.finish().to_le_bytes()].concat()
}

#[test]
fn records_of_dag_cards_are_read_as_tshark_reads_them() {
    let datagram = plain(17, &udp(&[7; 60]));
    let header = cell::Header { vpi: 3, vci: 100, pti: Pti::USER_END, ..cell::Header::default() };
    let cell_header = header.octets(Interface::Uni)[..4].to_vec();
    let aal5 = [cell_header.clone(), pdu(&datagram)].concat();
    let frame = with_fcs(&ethernet(0x0800, &datagram));
    let ppp = with_fcs(&[&[0xff, 0x03, 0x00, 0x21][..], &datagram].concat());
    let cisco = with_fcs(&[&[0x0f, 0x00, 0x08, 0x00][..], &datagram].concat());
    let cell = [&cell_header[..], &[1; 48]].concat();
    let records = [
        erf(4, &aal5, aal5.len()),
        erf(2, &[&[0, 0][..], &frame].concat(), frame.len()),
        erf(1, &ppp, ppp.len()),
        erf(1, &cisco, cisco.len()),
        erf(3, &cell, cell.len()),
    ];
    let pairs = [
        ("erf.types.type", "erf", "type"),
        ("erf.rlen", "erf", "rlen"),
        ("erf.wlen", "erf", "wlen"),
        ("atm.vci", "erf-cell", "vci"),
        ("udp.length", "udp", "length"),
        ("udp.checksum", "udp", "checksum"),
    ];
    // tshark names the channel of a PDU as it does that of a cell.
    let aal5_pairs = [
        ("atm.vpi", "erf-aal5", "vpi"),
        ("atm.vci", "erf-aal5", "vci"),
        ("atm.aal5t_len", "aal5", "length"),
        ("atm.aal5t_crc", "aal5", "crc-32"),
    ];
    compare("judge-aal5.erf", &records[..1].concat(), &[&pairs[..3], &aal5_pairs, &IP].concat());
    compare("judge-all.erf", &records[1..].concat(), &[&pairs[..], &IP].concat());
    let packets = ours(&records.concat());
    for packet in &packets[..4] {
        assert_eq!(bad(packet), [""; 0]);
        assert!(packet.layer("udp").is_some());
    }
    // The same records in a capture of link type 197.
    let wrapped = ours(&pcap(197, &records));
    assert_eq!(wrapped, packets);
}

#[test]
fn rtp_is_read_as_tshark_reads_it() {
    let packets: Vec<Vec<u8>> = [
        rtp::Header {
            marker: true,
            payload_type: 33,
            sequence: 65535,
            timestamp: 90_000,
            ssrc: 0xdead_beef,
            ..rtp::Header::default()
        },
        rtp::Header { payload_type: 96, sequence: 1, ssrc: 7, sources: vec![9], ..rtp::Header::default() },
        rtp::Header { payload_type: 0, extension: Some((0xbede, vec![5])), ..rtp::Header::default() },
    ]
    .iter()
    .map(|header| {
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        octets.extend([1; 40]);
        ethernet(0x0800, &plain(17, &udp_to(rtp::PORT, &octets)))
    })
    .collect();
    let file = pcap(1, &packets);
    for packet in ours(&file) {
        assert!(bad(&packet).is_empty(), "{:?}", bad(&packet));
    }
    compare_with(
        &["-d", "udp.port==5004,rtp"],
        "rtp.pcap",
        &file,
        &[
            ("rtp.p_type", "rtp", "payload type"),
            ("rtp.seq", "rtp", "sequence number"),
            ("rtp.timestamp", "rtp", "timestamp"),
            ("rtp.ssrc", "rtp", "ssrc"),
        ],
    );
}

#[test]
fn dhcp_is_read_as_tshark_reads_it_and_what_cannot_be_is_said() {
    let ip = |last| std::net::Ipv4Addr::new(10, 0, 0, last);
    let base = dhcp::Header {
        xid: 0xdead_beef,
        secs: 3,
        broadcast: true,
        chaddr: MacAddr([2, 0, 0, 0, 0, 1]),
        ..dhcp::Header::default()
    };
    let kind = |kind| dhcp::Options { kind, ..dhcp::Options::default() };
    let discover = dhcp::Header {
        options: dhcp::Options { longest: Some(1500), requested: Some(ip(9)), ..kind(dhcp::Kind::Discover) },
        ..base.clone()
    };
    let ack = dhcp::Header {
        is_reply: true,
        yiaddr: ip(9),
        options: dhcp::Options {
            lease_s: Some(3600),
            t1_s: Some(1800),
            t2_s: Some(3150),
            server: Some(ip(1)),
            prefix: Some(24),
            routers: vec![ip(1)],
            resolvers: vec![ip(53)],
            mtu: Some(1400),
            ..kind(dhcp::Kind::Ack)
        },
        ..base
    };
    let octets = |header: &dhcp::Header| {
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        octets
    };
    let packets: Vec<Vec<u8>> = [(67, &discover), (68, &ack)]
        .map(|(port, header)| ethernet(0x0800, &plain(17, &udp_to(port, &octets(header)))))
        .to_vec();
    let file = pcap(1, &packets);
    for packet in ours(&file) {
        assert!(bad(&packet).is_empty(), "{:?}", bad(&packet));
    }
    compare(
        "dhcp.pcap",
        &file,
        &[
            ("dhcp.type", "dhcp", "op"),
            ("dhcp.id", "dhcp", "xid"),
            ("dhcp.secs", "dhcp", "secs"),
            ("dhcp.ip.your", "dhcp", "yiaddr"),
            ("dhcp.hw.mac_addr", "dhcp", "chaddr"),
            ("dhcp.option.dhcp", "dhcp", "message type"),
            ("dhcp.option.requested_ip_address", "dhcp", "requested address"),
            ("dhcp.option.dhcp_max_message_size", "dhcp", "maximum message size"),
            ("dhcp.option.ip_address_lease_time", "dhcp", "lease time"),
            ("dhcp.option.renewal_time_value", "dhcp", "renewal time"),
            ("dhcp.option.rebinding_time_value", "dhcp", "rebinding time"),
            ("dhcp.option.dhcp_server_id", "dhcp", "server identifier"),
            ("dhcp.option.subnet_mask", "dhcp", "subnet mask"),
            ("dhcp.option.router", "dhcp", "router"),
            ("dhcp.option.domain_name_server", "dhcp", "name server"),
            ("dhcp.option.interface_mtu", "dhcp", "interface mtu"),
        ],
    );
    // A lease of three octets, and one that is longer than the message.
    for (wrong, said) in
        [(vec![53, 1, 5, 51, 3, 0, 0, 1, 255], "lease time"), (vec![53, 1, 5, 51, 200], "option length")]
    {
        let whole = [&octets(&ack)[..dhcp::FIXED], &wrong].concat();
        let packet = ours(&pcap(1, &[ethernet(0x0800, &plain(17, &udp_to(68, &whole)))])).remove(0);
        assert!(bad(&packet).iter().any(|it| it.contains(said)), "{:?}", bad(&packet));
    }
}
