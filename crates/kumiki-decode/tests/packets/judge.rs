//! tshark beside us: the same captures, the same fields. Skipped where there is no tshark, unless `KUMIKI_REQUIRE_TSHARK` is
//! set.

use std::path::Path;
use std::process::Command;

use kumiki_decode::{Capture, Decoder, Packet, Registry, Wish};
use kumiki_octets::crc::Fcs32;
use kumiki_wire::atm::{self, Interface, Pti};
use kumiki_wire::icmpv4::Message;
use kumiki_wire::ipv4;
use kumiki_wire::tcp::accecn::{AccEcn, Order};
use kumiki_wire::tcp::{self, Flags, Options, Seq};

use super::arrange::{bad, ethernet, icmp, ip, pdu, plain, tcp, udp, value};

/// What tshark reads in each packet of `file`: one row per packet, one text per field.
fn tshark(name: &str, file: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&path);
    for protocol in ["ip", "tcp", "udp"] {
        command
            .arg("-o")
            .arg(format!("{protocol}.check_checksum:TRUE"));
    }
    // Each packet for itself, as we read them.
    command.args(["-o", "tcp.relative_sequence_numbers:FALSE"]);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(why) => {
            assert!(
                std::env::var_os("KUMIKI_REQUIRE_TSHARK").is_none(),
                "tshark is required and could not be started: {why}"
            );
            println!("skipped: tshark could not be started: {why}");
            return None;
        }
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    Some(
        text.lines()
            .map(|line| line.split('|').map(str::to_owned).collect())
            .collect(),
    )
}

fn ours(file: &[u8]) -> Vec<Packet> {
    let capture = Capture::open(file, Wish::default(), &Registry::new()).unwrap();
    let mut decoder = Decoder::new();
    capture
        .map(|record| decoder.decode(&record.unwrap()))
        .collect()
}

/// A pcap file of nanoseconds.
fn pcap(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
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
type Pair = (&'static str, &'static str, &'static str);

fn compare(name: &str, file: &[u8], pairs: &[Pair]) {
    let fields: Vec<&str> = pairs.iter().map(|(theirs, ..)| *theirs).collect();
    let Some(rows) = tshark(name, file, &fields) else {
        return;
    };
    let packets = ours(file);
    assert_eq!(rows.len(), packets.len());
    let mut same = 0;
    for (number, (row, packet)) in rows.iter().zip(&packets).enumerate() {
        for ((field, layer, ours), theirs) in pairs.iter().zip(row) {
            let ours = value(packet, layer, ours);
            assert_eq!(
                number_of(&ours),
                number_of(theirs),
                "packet {} {field}",
                number + 1
            );
            same += usize::from(!theirs.is_empty());
        }
    }
    println!("{name}: {same} fields are the same");
    assert!(same > packets.len(), "{same}");
}

/// Numbers in any notation are compared as numbers, all else as it is.
fn number_of(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| text.to_owned())
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
    let captures: Vec<_> = root
        .skip(3)
        .take(2)
        .map(|above| above.join("shared/captures"))
        .collect();
    let pairs = [&IP[..], &TCP].concat();
    for name in ["isode-bin-small.pcap", "xot-xotpad.pcap"] {
        match captures
            .iter()
            .find_map(|folder| std::fs::read(folder.join(name)).ok())
        {
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
        options: Options {
            mss: Some(9140),
            window_scale: Some(7),
            ..Options::NONE
        },
        ..tcp::Header::default()
    };
    let echo = Message::Echo {
        identifier: 5,
        sequence: 6,
    };
    let marked = ipv4::Header {
        protocol: 17,
        type_of_service: 0xbb,
        time_to_live: 3,
        identification: 99,
        ..ipv4::Header::default()
    };
    let accecn = tcp::Header {
        flags: Flags::ACK | Flags::AE | Flags::ECE,
        options: Options {
            accecn: Some(AccEcn::new(Order::One, 3, 70_000, 1460, 1)),
            ..Options::NONE
        },
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
    compare(
        "judge-frames.pcap",
        &pcap(1, &packets),
        &[&IP[..], &TCP, &own].concat(),
    );
}

#[test]
fn whose_sums_are_wrong_is_agreed_on() {
    let right = plain(6, &tcp(tcp::Header::default(), b"data"));
    let (mut header, mut data) = (right.clone(), right.clone());
    header[8] ^= 1;
    let last = data.len() - 1;
    data[last] ^= 1;
    let file = pcap(101, &[right, header, data]);
    let Some(rows) = tshark(
        "judge-sums.pcap",
        &file,
        &["ip.checksum.status", "tcp.checksum.status"],
    ) else {
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
    let header = atm::Header {
        vpi: 3,
        vci: 100,
        pti: Pti::USER_END,
        ..atm::Header::default()
    };
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
    compare(
        "judge-aal5.erf",
        &records[..1].concat(),
        &[&pairs[..3], &aal5_pairs, &IP].concat(),
    );
    compare(
        "judge-all.erf",
        &records[1..].concat(),
        &[&pairs[..], &IP].concat(),
    );
    let packets = ours(&records.concat());
    for packet in &packets[..4] {
        assert_eq!(bad(packet), [""; 0]);
        assert!(packet.layer("udp").is_some());
    }
    // The same records in a capture of link type 197.
    let wrapped = ours(&pcap(197, &records));
    assert_eq!(wrapped, packets);
}
