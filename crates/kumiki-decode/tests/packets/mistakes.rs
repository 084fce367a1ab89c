//! What is wrong in a packet is named with what would be right, and the rest is read all the same.

use kumiki_decode::Decoder;
use kumiki_decode::capture::Link;
use kumiki_decode::packet::Packet;
use kumiki_octets::crc::Fcs32;
use kumiki_wire::inet::icmpv4::Message;
use kumiki_wire::inet::ipv4::{self, Options};
use kumiki_wire::inet::tcp::{self, Flags, Seq};

use super::arrange::{A, B, bad, decode, decode_all, ethernet, icmp, ip, names, notes, plain, record, tcp, udp, value};

fn segment() -> Vec<u8> {
    let header = tcp::Header {
        source_port: 80,
        destination_port: 4000,
        seq: Seq(9),
        flags: Flags::ACK,
        options: tcp::Options { timestamps: Some((1, 2)), ..tcp::Options::NONE },
        ..tcp::Header::default()
    };
    tcp(header, b"data")
}

#[test]
fn a_right_packet_has_no_remarks() {
    let packet = decode("ethernet", &ethernet(0x0800, &plain(6, &segment())));
    assert_eq!(names(&packet), ["ethernet", "ipv4", "tcp"]);
    assert_eq!(packet.remarks().count(), 0);
    assert!(packet.layers.iter().all(|layer| layer.verbatim == Some(true)));
    assert_eq!((packet.rest[0].offset, packet.rest[0].octets.as_slice()), (66, &b"data"[..]));
}

#[test]
fn wrong_sums_are_named_with_the_right_ones() {
    let mut octets = plain(6, &segment());
    octets[8] = 1; // time to live
    octets[20 + 14] ^= 0x80; // window
    let packet = decode("ip", &octets);
    let right = decode("ip", &plain(6, &segment()));
    let (header, sum) = (value(&right, "ipv4", "header checksum"), value(&right, "tcp", "checksum"));
    let remarks = bad(&packet);
    assert!(remarks[0].starts_with(&format!("ipv4: header checksum is {header}, the octets give 0x")));
    assert!(remarks[1].starts_with(&format!("tcp: checksum is {sum}, the octets give 0x")));
    assert_eq!(remarks.len(), 2);
}

#[test]
fn a_length_beyond_the_packet_is_named() {
    let whole = plain(17, &udp(&[1; 50]));
    let cut = decode("ip", &whole[..60]);
    assert_eq!(
        bad(&cut),
        ["ipv4: total length is 78 octets, expected 20 to 60", "udp: length is 58 octets, expected 8 to 40"]
    );
    // Cut by the capture, and so nobody's mistake.
    let mut recorded = record(1, Link::Named("ip"), &whole[..60]);
    recorded.original_len = whole.len();
    let packet = Decoder::new().decode(&recorded);
    assert_eq!(bad(&packet), [""; 0]);
    assert_eq!((packet.rest[0].length, packet.rest[0].octets.len()), (50, 32));
}

#[test]
fn headers_that_we_would_write_otherwise_are_noted() {
    // SACK permitted before MSS, as no stack of ours writes it.
    let mut octets = segment();
    octets[20..32].copy_from_slice(&[4, 2, 2, 4, 5, 0xb4, 1, 1, 1, 1, 1, 1]);
    let packet = decode("ip", &plain(6, &octets));
    assert_eq!(value(&packet, "tcp", "maximum segment size"), "1460");
    assert_eq!(packet.layer("tcp").unwrap().verbatim, Some(false));
    assert_eq!(notes(&packet), ["tcp: written again, the header would have 28 octets and not 32"]);
    let mut octets = ip(ipv4::Header::default(), &[]);
    octets[6] |= 0x80;
    let packet = decode("ip", &octets);
    assert_eq!(packet.layer("ipv4").unwrap().verbatim, Some(false));
    assert!(notes(&packet)[0].contains("the first, at 6, is 80 and would be 00"));
    assert!(notes(&packet)[1].contains("the reserved flag is set"));
}

#[test]
fn options_of_tcp_are_named_whoever_knows_them() {
    let mut octets = segment();
    octets[20..32].copy_from_slice(&[28, 4, 0x80, 7, 34, 2, 254, 6, 0xf9, 0x89, 1, 2]);
    let packet = decode("ip", &plain(6, &octets));
    assert_eq!(value(&packet, "tcp", "user timeout"), "7 min");
    let tcp = packet.layer("tcp").unwrap();
    let options = tcp.fields.iter().filter(|field| field.name == "option");
    let meanings: Vec<&str> = options.filter_map(|it| it.meaning.as_deref()).collect();
    assert_eq!(meanings, ["kind 34, fast open cookie", "kind 254, experiment f989"]);
    octets[20..24].copy_from_slice(&[28, 3, 0, 0]);
    let packet = decode("ip", &plain(6, &octets));
    assert!(bad(&packet)[1].contains("option 28 at octet 20 has the illegal length 3"));
}

#[test]
fn a_record_of_a_card_that_breaks_off_in_its_header_says_so() {
    // A channelised cell without its channel, an extension header cut short, an Ethernet frame without its two octets.
    for (kind, behind, need) in [(7, 3, 20), (0x82, 5, 24), (2, 1, 2)] {
        let mut octets = vec![0; 16 + behind];
        octets[8] = kind;
        let packet = decode("erf", &octets);
        let remarks: Vec<_> = packet.remarks().map(|(_, it)| it.text.clone()).collect();
        let text = format!("at least {need} needed");
        assert!(remarks.iter().any(|it| it.contains(&text)), "{remarks:?}");
        assert!(packet.layers.iter().all(|layer| layer.offset <= octets.len()));
    }
}

#[test]
fn illegal_options_are_named() {
    let mut octets = segment();
    octets[20..22].copy_from_slice(&[tcp::options::kind::MSS, 3]);
    let packet = decode("ip", &plain(6, &octets));
    assert!(bad(&packet)[1].contains("option 2 at octet 20 has the illegal length 3"));
    let header = ipv4::Header { options: Options::new(&[7, 99, 0, 0]).unwrap(), ..ipv4::Header::default() };
    let packet = decode("ip", &ip(header, &[]));
    assert_eq!(bad(&packet), ["ipv4: option at octet 20: option-length is 99 octets, expected 2 to 4"]);
}

/// `data` on its way to B by `option`, as it is when it goes to the first gateway.
fn by_a_gateway(protocol: u8, option: &[u8], data: &[u8]) -> Vec<u8> {
    let mut header = ipv4::Header {
        protocol,
        source: A,
        destination: [10, 0, 0, 254].into(),
        options: Options::new(option).unwrap(),
        ..ipv4::Header::default()
    };
    header.total_length = u16::try_from(header.len() + data.len()).unwrap();
    let mut out = vec![0; header.len()];
    header.emit_summed(&mut out);
    [&out[..], data].concat()
}

/// RFC 791 section 3.1: the last address of the route is the destination.
#[test]
fn sums_behind_a_source_route_cover_the_last_destination() {
    let [a, b, c, d] = B.octets();
    let route = |kind, pointer| [1, kind, 11, pointer, 10, 0, 0, 253, a, b, c, d];
    for (protocol, data) in [(6, segment()), (17, udp(b"data"))] {
        for kind in [131, 137] {
            for pointer in [4, 8] {
                let packet = by_a_gateway(protocol, &route(kind, pointer), &data);
                assert_eq!(bad(&decode("ip", &packet)), [""; 0]);
            }
            // A route that has come to its end leads nowhere.
            let packet = decode("ip", &by_a_gateway(protocol, &route(kind, 12), &data));
            assert!(bad(&packet)[0].contains("checksum is 0x"), "{packet:?}");
            let header =
                ipv4::Header { protocol, options: Options::new(&route(kind, 12)).unwrap(), ..ipv4::Header::default() };
            assert_eq!(bad(&decode("ip", &ip(header, &data))), [""; 0]);
        }
    }
    let packet = decode("ip", &by_a_gateway(6, &route(131, 5), &segment()));
    assert_eq!(bad(&packet), ["ipv4: pointer of a source route is 0x5, expected the beginning of an address in it"]);
    let fields = &packet.layer("tcp").unwrap().fields;
    let sum = fields.iter().find(|field| field.name == "checksum");
    let meaning = sum.unwrap().meaning.as_deref();
    assert_eq!(meaning, Some("not checked: no addresses"));
    // One that is longer than the options is no route.
    let packet = decode("ip", &by_a_gateway(6, &[131, 11, 4, 10], &segment()));
    let bad = bad(&packet);
    assert!(bad[0].contains("option-length is 11"), "{bad:?}");
    assert!(bad[1].contains("checksum is 0x"), "{bad:?}");
}

#[test]
fn an_error_message_shows_what_it_is_about() {
    let quoted = plain(6, &segment());
    let message = Message::DestinationUnreachable { code: 4, next_hop_mtu: 1400 };
    let packet = decode("ip", &plain(1, &icmp(message, &quoted[..28])));
    assert_eq!(names(&packet), ["ipv4", "icmp", "ipv4", "tcp"]);
    assert_eq!(bad(&packet), [""; 0]);
    assert_eq!(packet.layers[3].summary, "TCP 80 > 4000 seq 9, cut");
    let line = kumiki_decode::show::line(&record(1, Link::Named("ip"), &quoted), &packet, None);
    assert_eq!(
        line,
        "    1  10.0.0.1 > 10.0.0.2  ICMP destination unreachable code 4 next-hop MTU 1400 about TCP 80 > 4000 seq 9, cut"
    );
}

#[test]
fn a_check_sequence_is_checked_where_the_capture_has_one() {
    let mut frame = ethernet(0x0800, &plain(17, &udp(&[1; 50])));
    let mut crc = Fcs32::new();
    crc.update(&frame);
    frame.extend(crc.finish().to_le_bytes());
    let mut seen = record(1, Link::Number(1), &frame);
    seen.fcs_len = 4;
    assert_eq!(Decoder::new().decode(&seen).remarks().count(), 0);
    seen.octets[20] ^= 1;
    let remarks = bad(&Decoder::new().decode(&seen));
    assert!(remarks[0].starts_with("ethernet: frame check sequence is 0x"));
}

fn fragments(data: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let count = data.len().div_ceil(mtu);
    data.chunks(mtu)
        .enumerate()
        .map(|(at, part)| {
            let header = ipv4::Header {
                protocol: 17,
                identification: 77,
                more_fragments: at + 1 < count,
                fragment_offset: u16::try_from(at * mtu / 8).unwrap(),
                ..ipv4::Header::default()
            };
            ip(header, part)
        })
        .collect()
}

#[test]
fn a_datagram_is_read_out_of_its_fragments() {
    let datagram = udp(&[9; 300]);
    let mut packets = fragments(&datagram, 128);
    packets.swap(0, 2);
    let decoded = decode_all("ip", &packets);
    let has_udp: Vec<bool> = decoded.iter().map(|packet| packet.layer("udp").is_some()).collect();
    assert_eq!(has_udp, [false, false, true]);
    assert_eq!(decoded[0].rest[0].why, "fragment: octets 256 to 308 of datagram 77");
    assert_eq!(decoded[2].reassembled[0].packets, [1, 2, 3]);
    assert!(decoded.iter().all(|packet| !packet.is_bad()));
}

#[test]
fn fragments_that_contradict_are_named() {
    let datagram = udp(&[9; 300]);
    let mut packets = fragments(&datagram, 128);
    let mut other = packets[1].clone();
    other[60] ^= 1;
    packets.insert(2, other);
    let decoded = decode_all("ip", &packets);
    assert_eq!(bad(&decoded[2]), ["ipv4: octets from 128 came before with other values; the datagram is given up"]);
}

#[test]
fn exported_pdus_are_read_by_the_name_in_their_tags() {
    let tags = [&[0, 12, 0, 4][..], b"tcp\0", &[0, 20, 0, 4, 10, 0, 0, 1, 0, 21, 0, 4, 10, 0, 0, 2, 0, 0, 0, 0]];
    let octets = [&tags.concat()[..], &segment()].concat();
    let packet: Packet = Decoder::new().decode(&record(1, Link::Number(252), &octets));
    assert_eq!(names(&packet), ["exported", "tcp"]);
    assert_eq!(value(&packet, "tcp", "source port"), "80");
    assert_eq!(packet.remarks().count(), 0);
}

/// A capture of the first 40 octets has the fixed header of TCP, and one of 46 the first option as well.
#[test]
fn a_header_cut_within_its_options_shows_what_is_there() {
    let options: &[u8] = &[2, 4, 5, 0xb4, 1, 3, 3, 7];
    let mut syn = segment()[..20].to_vec();
    syn[12] = 0x70;
    syn[13] = 0x02;
    syn.extend_from_slice(options);
    let whole = plain(6, &syn);
    let cut_at = |kept: usize| {
        let mut recorded = record(1, Link::Named("ip"), &whole[..kept]);
        recorded.original_len = whole.len();
        Decoder::new().decode(&recorded)
    };
    for (kept, options) in [(40, 0), (46, 1), (47, 1)] {
        let packet = cut_at(kept);
        assert_eq!(bad(&packet), [""; 0], "{kept}");
        assert_eq!(value(&packet, "tcp", "source port"), "80", "{kept}");
        assert_eq!(value(&packet, "tcp", "sequence number"), "9", "{kept}");
        let layer = &packet.layers[1];
        assert!(layer.summary.contains("SYN") && layer.summary.ends_with(", cut"), "{}", layer.summary);
        let segment_sizes = layer.fields.iter().filter(|field| field.name == "maximum segment size");
        assert_eq!(segment_sizes.count(), options, "{kept}");
        let recorded = format!("({} of 28 octets were recorded)", kept - 20);
        assert!(notes(&packet).iter().any(|note| note.contains(&recorded)), "{:?}", notes(&packet));
    }
}
