//! What tshark makes of our captures.

use std::path::PathBuf;

use super::*;

/// 20 octets of IPv4 (10.0.0.1 to 10.0.0.2) and a UDP datagram with 4 octets of data.
const IP_UDP: [u8; 32] = [
    0x45, 0x00, 0x00, 0x20, 0x12, 0x34, 0x00, 0x00, 0x40, 0x11, 0x54, 0x97, 10, 0, 0, 1, 10, 0, 0, 2, 0x04, 0x00, 0x04,
    0x01, 0x00, 0x0c, 0x00, 0x00, b'd', b'a', b't', b'a',
];

/// LLC and SNAP for IPv4 (RFC 2684 section 5.1).
const LLC_SNAP: [u8; 8] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00, 0x08, 0x00];

fn llc_sdu() -> Vec<u8> {
    [&LLC_SNAP[..], &IP_UDP[..]].concat()
}

/// Writes `capture` to a file of its own and hands back what tshark prints for `fields`, one line for each packet.
/// `None`, with a printed reason, where there is no tshark.
fn tshark(name: &str, capture: &[u8], fields: &[&str]) -> Option<Vec<String>> {
    let file: PathBuf = std::env::temp_dir().join(format!("kumiki-{}-{name}.pcapng", std::process::id()));
    std::fs::write(&file, capture).unwrap();
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let read = kumiki_watchdog::peers::tshark(&file, ["-T", "fields", "-E", "separator=|"].into_iter().chain(fields));
    std::fs::remove_file(&file).unwrap();
    Some(read?.lines().map(str::to_owned).collect())
}

#[test]
fn nanoseconds_interfaces_directions_and_comments_are_read_back() {
    let mut capture = PcapNg::new(Vec::new()).unwrap();
    let a = capture.add_interface("a.atm0", LinkType::RawIp, 0).unwrap();
    let b = capture.add_interface("b.atm0", LinkType::AtmLlc, 0).unwrap();
    capture.write(a, 0, &IP_UDP, 32, None).unwrap();
    capture.write(b, 1_000_000_001, &llc_sdu(), 40, Some("dropped: queue full")).unwrap();
    let packet = Packet {
        at_ns: 5_000_000_000_123_456_789,
        octets: &IP_UDP,
        original_len: 32,
        direction: Some(Direction::Outbound),
        comment: Some("cwnd 4096 octets \u{2014} slow start"),
    };
    capture.write_packet(a, &packet).unwrap();
    let octets = capture.finish().unwrap();
    let fields = ["frame.time_epoch", "frame.interface_name", "frame.comment", "frame.packet_flags", "udp.dstport"];
    let Some(lines) = tshark("many", &octets, &fields) else {
        return;
    };
    assert_eq!(
        lines,
        [
            "0.000000000|a.atm0|||1025",
            "1.000000001|b.atm0|dropped: queue full||1025",
            "5000000000.123456789|a.atm0|cwnd 4096 octets \u{2014} slow start|0x00000002|1025",
        ]
    );
}

#[test]
fn sunatm_shows_the_circuit_and_what_the_sdu_carries() {
    let mut capture = PcapNg::new(Vec::new()).unwrap();
    let tap = capture.add_interface("switch.1", LinkType::SunAtm, 0).unwrap();
    for direction in [Direction::Inbound, Direction::Outbound] {
        let octets = [&sunatm(direction, 3, 1234)[..], &llc_sdu()[..]].concat();
        capture.write(tap, 7, &octets, octets.len(), None).unwrap();
    }
    let octets = capture.finish().unwrap();
    let Some(lines) = tshark("sunatm", &octets, &["atm.vpi", "atm.vci", "llc.type", "ip.dst", "udp.length"]) else {
        return;
    };
    assert_eq!(lines, ["3|1234|0x0800|10.0.0.2|12"; 2]);
}

#[test]
fn lapb_is_read_behind_its_direction() {
    let mut capture = PcapNg::new(Vec::new()).unwrap();
    let tap = capture.add_interface("line", LinkType::Sita, 0).unwrap();
    // SABM with P to the DTE, and its RESTART in an I frame.
    let frames: [&[u8]; 2] = [&[3, 0x3f], &[1, 0, 0x10, 0, 0xfb, 0, 0]];
    for (direction, frame) in [(Direction::Inbound, frames[0]), (Direction::Outbound, frames[1])] {
        let octets = [&sita(direction)[..], frame].concat();
        capture.write(tap, 7, &octets, octets.len(), None).unwrap();
    }
    let octets = capture.finish().unwrap();
    let fields = ["frame.protocols", "sita.flags.flags", "lapb.address", "lapb.control", "x25.type"];
    let Some(lines) = tshark("sita", &octets, &fields) else {
        return;
    };
    assert_eq!(lines, ["sita:lapb|1|0x03|0x3f|", "sita:lapb:x25|0|0x01|0x00|0xfb"]);
}

#[test]
fn long_packets_are_cut_at_snaplen_and_keep_their_length() {
    let mut capture = PcapNg::new(Vec::new()).unwrap();
    let tap = capture.add_interface("a", LinkType::RawIp, 28).unwrap();
    capture.write(tap, 1, &IP_UDP, 32, None).unwrap();
    capture.write(tap, 2, &IP_UDP[..21], 32, None).unwrap();
    let octets = capture.finish().unwrap();
    let Some(lines) = tshark("snaplen", &octets, &["frame.cap_len", "frame.len", "ip.src"]) else {
        return;
    };
    assert_eq!(lines, ["28|32|10.0.0.1", "21|32|10.0.0.1"]);
}

#[test]
fn the_same_packets_give_the_same_octets() {
    let write = || {
        let mut capture = PcapNg::new(Vec::new()).unwrap();
        let tap = capture.add_interface("a", LinkType::PppHdlc, 0).unwrap();
        capture.write(tap, 1, &[0xff, 0x03, 0xc0, 0x21, 1, 1, 0, 4], 8, Some("lcp")).unwrap();
        capture.finish().unwrap()
    };
    let first = write();
    assert_eq!(first, write());
    let mut reader = pcap_file::pcapng::PcapNgReader::new(&first[..]).unwrap();
    let mut blocks = 0;
    while let Some(block) = reader.next_block() {
        block.unwrap();
        blocks += 1;
    }
    assert_eq!(blocks, 2);
}

#[test]
fn the_interface_of_another_capture_is_refused() {
    let mut other = PcapNg::new(Vec::new()).unwrap();
    let tap = other.add_interface("a", LinkType::Ethernet, 0).unwrap();
    let mut capture = PcapNg::new(Vec::new()).unwrap();
    let refused = capture.write(tap, 0, &[0; 14], 14, None).unwrap_err();
    assert_eq!(refused.to_string(), "interface 0 was not added to this capture; it has 0");
}

#[test]
fn an_endless_comment_is_cut_between_characters() {
    let long = "\u{20ac}".repeat(30_000);
    let mut capture = PcapNg::new(Vec::new()).unwrap();
    let tap = capture.add_interface("a", LinkType::RawIp, 0).unwrap();
    capture.write(tap, 1, &IP_UDP, 32, Some(&long)).unwrap();
    let octets = capture.finish().unwrap();
    assert!(octets.len() < 65_532 + 300);
    let Some(lines) = tshark("comment", &octets, &["frame.len", "ip.src"]) else {
        return;
    };
    assert_eq!(lines, ["32|10.0.0.1"]);
}

#[test]
fn a_segment_without_its_datagram_is_read_by_its_tags() {
    let mut capture = PcapNg::new(Vec::new()).unwrap();
    let tap = capture.add_interface("a.udp/ip", LinkType::UpperPdu, 0).unwrap();
    let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let octets = [&upper_pdu("udp", Some(a), Some(b))[..], &IP_UDP[20..]].concat();
    capture.write(tap, 7, &octets, octets.len(), None).unwrap();
    let octets = [&upper_pdu("data", None, None)[..], b"text"].concat();
    capture.write(tap, 8, &octets, octets.len(), None).unwrap();
    let octets = capture.finish().unwrap();
    let fields = ["_ws.col.Source", "udp.dstport", "data.len"];
    let Some(lines) = tshark("upper", &octets, &fields) else {
        return;
    };
    assert_eq!(lines, ["10.0.0.1|1025|4", "||4"]);
}
