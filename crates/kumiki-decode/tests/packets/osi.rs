//! The layers of OSI: an FTAM association of ISODE as it was, cut in other ways, and beside tshark.

use std::net::Ipv4Addr;

use kumiki_decode::capture::Link;
use kumiki_decode::{Packet, show};
use kumiki_octets::Sum;
use kumiki_wire::inet::ipv4;
use kumiki_wire::inet::tcp::{self, Flags, Seq};
use kumiki_wire::osi::tpkt;
use proptest::prelude::*;

use super::arrange::{A, B, bad, decode, ethernet, notes, record};
use super::judge::{compare, ours, pcap};

const ISODE: &str = include_str!("../../../kumiki-wire/tests/exchanges/isode-ftam.txt");

/// Each TPKT, and whether the initiator sent it.
fn tpkts() -> Vec<(bool, Vec<u8>)> {
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    ISODE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (sender, octets) = line.split_once(' ').unwrap();
            let octets = octets.as_bytes().chunks(2).map(octet).collect();
            (sender == ">", octets)
        })
        .collect()
}

/// A segment of the connection.
fn segment(initiator: bool, seq: u32, data: &[u8]) -> Vec<u8> {
    segment_at((49_152, tpkt::PORT), initiator, seq, data)
}

/// A segment of a connection between ports of the initiator and the responder.
pub(crate) fn segment_at(ports: (u16, u16), initiator: bool, seq: u32, data: &[u8]) -> Vec<u8> {
    let ports = if initiator { ports } else { (ports.1, ports.0) };
    let (source, destination): (Ipv4Addr, Ipv4Addr) = if initiator { (A, B) } else { (B, A) };
    let mut header = tcp::Header {
        source_port: ports.0,
        destination_port: ports.1,
        seq: Seq(seq),
        flags: Flags::ACK,
        window: 1000,
        ..tcp::Header::default()
    };
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend(data);
    let len = u16::try_from(octets.len()).unwrap();
    let pseudo = ipv4::pseudo_header(source, destination, 6, len);
    header.checksum = Sum::of(&pseudo).plus(Sum::of(&octets)).checksum();
    let at = header.len();
    header.emit(&mut octets[..at]);
    let mut ip = ipv4::Header { protocol: 6, source, destination, ..ipv4::Header::default() };
    ip.total_length = len + u16::try_from(ip.len()).unwrap();
    let mut out = vec![0; ip.len()];
    ip.emit_summed(&mut out);
    ethernet(0x0800, &[out, octets].concat())
}

/// The association, each TPKT in segments of at most `most` octets.
fn association(most: usize) -> Vec<Vec<u8>> {
    let mut seqs = [1000_u32, 2_000_000];
    let mut packets = Vec::new();
    for (initiator, tpkt) in tpkts() {
        for data in tpkt.chunks(most) {
            let seq = &mut seqs[usize::from(initiator)];
            packets.push(segment(initiator, *seq, data));
            *seq += u32::try_from(data.len()).unwrap();
        }
    }
    packets
}

/// Layer and summary of everything that TCP carries, in the order of the capture.
fn told(packets: &[Packet]) -> Vec<String> {
    let layers = packets.iter().flat_map(|packet| &packet.layers);
    layers
        .filter(|layer| !matches!(layer.protocol, "ethernet" | "ipv4" | "tcp" | "tpkt"))
        .map(|layer| format!("{}: {}", layer.protocol, layer.summary))
        .collect()
}

#[test]
fn an_association_of_isode_is_understood_to_the_last_octet() {
    let packets = ours(&pcap(1, &association(65_000)));
    let told = told(&packets);
    for line in [
        "cotp: CR dst 0000 src 215f class 0 called 0x0103 size 2048",
        "session: CN kernel, duplex data 228",
        "presentation: CP contexts 6 context 11 data 96",
        "acse: AARQ application context 1.0.8571.1.1 called 1.17.4.0.16 context 1 data 64",
        "presentation: CPA contexts 5 of 6 context 11 data 76",
        "acse: AARE accepted context 1 data 40",
        "presentation: context 3 data 2019",
        "session: FN data 25",
        "acse: RLRE normal context 1 data 2",
        "cotp: DR dst 218c src 215f normal disconnect by the session entity",
    ] {
        assert!(told.iter().any(|told| told == line), "{line}");
    }
    let wrong: Vec<String> = packets.iter().flat_map(bad).collect();
    assert_eq!(wrong, [""; 0]);
    // The octets of the file, there and back, are left over and nothing else.
    let rest = packets.iter().flat_map(|packet| &packet.rest);
    let file: Vec<_> = rest.map(|rest| (rest.length, &rest.why[..])).collect();
    assert_eq!(file, [(2015, "data"), (985, "data")].repeat(2));
}

#[test]
fn what_we_would_write_differs_from_isode_in_known_ways() {
    let packets = ours(&pcap(1, &association(65_000)));
    let mut same = 0;
    let mut differ = Vec::new();
    for layer in packets.iter().flat_map(|packet| &packet.layers) {
        match layer.verbatim {
            Some(true) => same += 1,
            Some(false) => differ.push((layer.protocol, &layer.remarks[0].text[..])),
            None => {}
        }
    }
    // TPKT, TPDU, SPDU and APDU are octet for octet what we write. Of PPDUs those of one value in definite lengths are;
    // the others have lengths of the indefinite form around CP, CPA and the octets of the file, and segments around
    // grouped FPDUs.
    assert!(same >= 3 * 27, "{same}");
    let presentation = |(protocol, text): &(&str, &str)| {
        *protocol == "presentation" && text.starts_with("written again, in definite lengths and strings of one piece,")
    };
    assert!(differ.iter().all(presentation), "{differ:?}");
    assert_eq!(differ.len(), 14);
    assert!(differ[0].1.ends_with("would have 226 octets and not 228"));
}

/// What is told of the association must not depend on how TCP cut it.
#[test]
fn tpkts_are_put_together_from_segments() {
    let whole = told(&ours(&pcap(1, &association(65_000))));
    for most in [1, 3, 5, 100, 1460] {
        let packets = ours(&pcap(1, &association(most)));
        assert_eq!(told(&packets), whole, "{most}");
        let wrong: Vec<String> = packets.iter().flat_map(bad).collect();
        assert_eq!(wrong, [""; 0]);
    }
    // Several in one segment.
    let all: Vec<u8> = tpkts().into_iter().filter(|(initiator, _)| *initiator).flat_map(|(_, tpkt)| tpkt).collect();
    let packets = ours(&pcap(1, &[segment(true, 7, &all)]));
    let tpkts = packets[0].layers.iter().filter(|layer| layer.protocol == "tpkt");
    assert_eq!(tpkts.count(), 15);
    assert_eq!(bad(&packets[0]), [""; 0]);
}

/// As a responder sends a directory: a P-DATA for each entry, all at once.
#[test]
fn a_segment_full_of_small_tpkts_is_read_to_its_end_and_the_next_one_too() {
    let data: Vec<Vec<u8>> = tpkts()
        .into_iter()
        .filter(|(initiator, tpkt)| *initiator && tpkt.len() < 100)
        .map(|(_, tpkt)| tpkt)
        .skip(2)
        .take(1)
        .collect();
    let many = data.concat().repeat(1000);
    let (first, second) = many.split_at(many.len() / 2 + 3);
    let next = 7 + u32::try_from(first.len()).unwrap();
    let segments = [segment(true, 7, first), segment(true, next, second)];
    let packets = ours(&pcap(1, &segments));
    let tpdus = packets.iter().flat_map(|packet| &packet.layers).filter(|layer| layer.protocol == "cotp");
    assert_eq!(tpdus.count(), 1000);
    let rest = packets.iter().flat_map(|packet| &packet.rest);
    let given_up: Vec<_> = rest.filter(|rest| rest.why.contains("layers")).collect();
    assert!(given_up.is_empty(), "{given_up:?}");
    let wrong: Vec<String> = packets.iter().flat_map(bad).collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_line_of_a_packet_tells_all_that_it_holds() {
    let all: Vec<u8> =
        tpkts().into_iter().filter(|(initiator, _)| *initiator).skip(1).take(3).flat_map(|(_, tpkt)| tpkt).collect();
    let packet = segment(true, 7, &all);
    let line = show::line(&record(1, Link::Number(1), &packet), &ours(&pcap(1, &[packet]))[0], None);
    let told = [
        "F-INITIALIZE request",
        "F-BEGIN-GROUP request",
        "F-CREATE request",
        "F-OPEN request",
        "F-END-GROUP request",
        "F-WRITE request",
    ];
    let places: Vec<_> = told.iter().map(|told| line.find(told)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{line}");
}

#[test]
fn what_is_sent_again_or_missing_is_said() {
    let tpkts = tpkts();
    let (first, second) = (&tpkts[0].1, &tpkts[2].1);
    let seq = 1000 + u32::try_from(first.len()).unwrap();
    let sent = [
        segment(true, 1000, first),
        segment(true, 1000, first),
        segment(true, seq, &second[..100]),
        // A hundred octets are missing.
        segment(true, seq + 200, &second[200..]),
        segment(true, seq + 279, &tpkts[4].1),
    ];
    let packets = ours(&pcap(1, &sent));
    assert_eq!(notes(&packets[1]), ["tpkt: read before, in the segment that brought them first"]);
    let tpkt = packets[2].layer("tpkt").unwrap();
    assert_eq!(tpkt.summary, "TPKT length 279, 100 octets so far");
    assert!(notes(&packets[3]).contains(
        &"tpkt: 100 octets before this segment are not in the capture, and the packet that they belong to is given up".to_owned()
    ));
    assert_eq!(packets[4].layer("session").unwrap().summary, "DT data 123");
}

#[test]
fn a_tsdu_is_put_together_from_tpdus() {
    let cn = &tpkts()[2].1[7..];
    let dt = |octets: &[u8], eot: u8| {
        let length = u16::try_from(octets.len() + 7).unwrap().to_be_bytes();
        [&[3, 0, length[0], length[1], 2, 0xf0, eot][..], octets].concat()
    };
    let (one, two) = (dt(&cn[..125], 0), dt(&cn[125..], 0x80));
    let seq = 1 + u32::try_from(one.len()).unwrap();
    let packets = ours(&pcap(1, &[segment(true, 1, &one), segment(true, seq, &two)]));
    assert_eq!(notes(&packets[0]), ["cotp: part of a TSDU, 125 octets so far"]);
    assert_eq!(packets[1].layer("session").unwrap().summary, "CN kernel, duplex data 228");
    assert_eq!(packets[1].reassembled[0].packets, [1, 2]);
    // Without the connection around it, a part is only a part.
    let alone = decode("cotp", &one[4..]);
    assert_eq!(alone.layers.len(), 1);
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |layer: &'static str, octets: &[u8]| bad(&decode(layer, octets)).join("; ");
    for (layer, octets, text) in [
        ("tpkt", &b"GET / HTTP/1.1"[..], "tpkt: vrsn is 0x47, expected 3"),
        ("tpkt", &[3, 0, 0, 5, 1, 2], "tpkt: packet length is 5 octets, expected 7 to 65535"),
        (
            "cotp",
            &[6, 0xc0, 0, 1, 0, 2, 0],
            "cotp: TPDU code is 0xc0, expected 0xe0 (CR), 0xd0 (CC), 0x80 (DR), 0xf0 (DT) or 0x70 (ER): class 0",
        ),
        ("session", &[13, 4, 52, 1, 1], "session: LI is 4 octets, expected 0 to 3"),
        (
            "presentation",
            &[0x61, 2, 0x30, 0],
            "presentation: presentation-context-identifier: missing, INTEGER is expected",
        ),
        ("acse", &[0x64, 0], "acse: abort-source: missing, [0] is expected"),
    ] {
        assert_eq!(wrong(layer, octets), text);
    }
}

#[test]
fn tshark_reads_the_same_fields() {
    compare(
        "osi.pcap",
        &pcap(1, &association(65_000)),
        &[
            ("tpkt.length", "tpkt", "packet length"),
            ("cotp.li", "cotp", "length indicator"),
            ("cotp.srcref", "cotp", "src-ref"),
            ("cotp.dst-tsap-bytes", "cotp", "called tsap-id"),
            ("cotp.tpdu_size", "cotp", "tpdu size"),
            ("ses.type", "session", "si"),
            ("ses.length", "session", "li"),
            ("ses.common_reference", "session", "common reference"),
            ("ses.calling_ss_user_reference", "session", "calling user reference"),
            ("ses.called_ss_user_reference", "session", "called user reference"),
            ("ses.req.flags", "session", "session user requirements"),
            ("pres.mode_value", "presentation", "mode-selector"),
            ("pres.result", "presentation", "result"),
            ("acse.aSO_context_name", "acse", "application-context-name"),
            ("acse.ap_title_form2", "acse", "called-ap-title"),
            ("acse.result", "acse", "result"),
            ("acse.direct_reference", "acse", "direct-reference"),
            ("acse.indirect_reference", "acse", "indirect-reference"),
            ("acse.reason", "acse", "reason"),
        ],
    );
}

proptest! {
    #[test]
    fn any_damage_to_an_association_can_be_read(
        which in 0_usize..27,
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        most in 1_usize..400,
    ) {
        let (initiator, mut octets) = tpkts().swap_remove(which);
        for (place, octet) in places {
            let place = place.index(octets.len());
            octets[place] = octet;
        }
        let mut seq = 5_u32;
        let packets: Vec<_> = octets
            .chunks(most)
            .map(|data| {
                let packet = segment(initiator, seq, data);
                seq += u32::try_from(data.len()).unwrap();
                packet
            })
            .collect();
        for packet in ours(&pcap(1, &packets)) {
            let end = packet.layers.iter().all(|layer| layer.buffer > 0 || layer.offset <= 65_535);
            prop_assert!(end);
        }
    }
}

/// Responders that need no rights are on other ports.
#[test]
fn tpkt_is_known_on_any_port_by_how_a_connection_begins() {
    let cr = [3, 0, 0, 11, 6, 0xe0, 0, 0, 0, 1, 0];
    let dt = [3, 0, 0, 8, 2, 0xf0, 0x80, 1];
    let layers = |segments: &[Vec<u8>]| -> Vec<String> {
        let packets = ours(&pcap(1, segments));
        let last = |packet: &Packet| packet.layers.last().unwrap().protocol.to_owned();
        packets.iter().map(last).collect()
    };
    let ports = (49_152, 10_102);
    // A part of a packet is one because of what came before it.
    assert_eq!(
        layers(&[
            segment_at(ports, true, 1, &cr),
            segment_at(ports, true, 12, &dt[..3]),
            segment_at(ports, true, 15, &dt[3..]),
        ]),
        ["cotp", "tpkt", "session"]
    );
    let others: [&[u8]; 4] = [
        b"\x03\x00hello there",
        &[3, 0, 0, 11, 9, 0xe0, 0, 0, 0, 1, 0],
        &[3, 0, 0, 8, 3, 0xf0, 0x80, 1],
        &[3, 0, 0, 8, 2, 0x80, 0x80, 1],
    ];
    for other in others {
        assert_eq!(layers(&[segment_at(ports, true, 1, other)]), ["tcp"]);
    }
}
