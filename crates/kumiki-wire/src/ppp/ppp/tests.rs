//! Octets of RFCs, of lwIP and of pppd; then any.

use std::fmt::Display;
use std::net::Ipv4Addr;

use proptest::collection::vec;
use proptest::prelude::*;

use super::control::{Item, Packet, code, options};
use super::ipv6cp::InterfaceIdentifier;
use super::lcp::{Body, CHAP_MD5, kind};
use super::{Compression, Header, chap, control, ipcp, ipv6cp, lcp, lqr, pap, protocol};
use crate::Malformed;

macro_rules! emitted {
    ($header:expr) => {{
        let header = $header;
        let mut out = vec![0xaa; header.len()];
        header.emit(&mut out);
        out
    }};
}

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap())
        .collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

/// Reads a frame as whoever has its protocol, writes it again, and says in one line what it is. `None` for datagrams.
fn reread(frame: &[u8]) -> (Vec<u8>, Option<String>) {
    let (header, len) = Header::parse(frame).unwrap();
    let information = &frame[len..];
    let (inside, line) = match header.protocol {
        protocol::PAP => {
            let (packet, _) = pap::Packet::parse(information).unwrap();
            (emitted!(packet), packet.to_string())
        }
        protocol::CHAP => {
            let (packet, _) = chap::Packet::parse(information).unwrap();
            (emitted!(packet), packet.to_string())
        }
        number @ (protocol::LCP | protocol::IPCP | protocol::IPV6CP) => {
            let (packet, _) = Packet::parse(information).unwrap();
            let data = if code::has_options(packet.code) {
                let items = packet.options().map(Result::unwrap);
                items.flat_map(|item| option(number, item).0).collect()
            } else if number == protocol::LCP {
                emitted!(Body::read(packet.code, packet.data).unwrap())
            } else {
                packet.data.to_vec()
            };
            let data = &data[..];
            let line = packet.of(number).to_string();
            (emitted!(Packet { data, ..packet }), line)
        }
        _ => return ([&emitted!(header)[..], information].concat(), None),
    };
    ([&emitted!(header)[..], &inside].concat(), Some(line))
}

/// An option as its protocol writes it again, and in words.
fn option(number: u16, item: Item<'_>) -> (Vec<u8>, String) {
    fn both(octets: Vec<u8>, shown: impl Display) -> (Vec<u8>, String) {
        (octets, shown.to_string())
    }
    match number {
        protocol::LCP => {
            let opt = lcp::Opt::of(item);
            assert_eq!(opt.kind(), item.kind);
            both(emitted!(opt), opt)
        }
        protocol::IPCP => {
            let opt = ipcp::Opt::of(item);
            assert_eq!(opt.kind(), item.kind);
            both(emitted!(opt), opt)
        }
        protocol::IPV6CP => {
            let opt = ipv6cp::Opt::of(item);
            assert_eq!(opt.kind(), item.kind);
            both(emitted!(opt), opt)
        }
        _ => both(emitted!(item), item),
    }
}

fn exchange(text: &str) -> Vec<(String, Vec<u8>)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (who, hex) = line.split_once(' ').unwrap();
            (who.to_owned(), octets(hex))
        })
        .collect()
}

const LWIP_CHAP: &str = include_str!("../../../tests/exchanges/lwip-chap.txt");
const LWIP_PAP: &str = include_str!("../../../tests/exchanges/lwip-pap.txt");

#[test]
fn what_lwip_sends_is_written_again_to_the_octet() {
    let mut control = 0;
    for (who, frame) in [exchange(LWIP_CHAP), exchange(LWIP_PAP)].concat() {
        let (written, line) = reread(&frame);
        assert_eq!(written, frame, "{who} {line:?}");
        control += usize::from(line.is_some());
    }
    // All but four router solicitations.
    assert_eq!(control, 37);
}

#[test]
fn an_exchange_of_lwip_reads_as_it_went() {
    let frames = exchange(LWIP_CHAP);
    let lines: Vec<String> = frames.iter().filter_map(|(_, frame)| reread(frame).1).collect();
    let expected = [
        "LCP ConfReq id 1 <asyncmap 0x00000000> <auth chap MD5> <magic 0x2cec13f9> <pcomp> <accomp>",
        "LCP ConfReq id 1 <asyncmap 0x00000000> <magic 0xeeaa4ea7> <pcomp> <accomp>",
        "LCP ConfAck id 1 <asyncmap 0x00000000> <magic 0xeeaa4ea7> <pcomp> <accomp>",
        "LCP ConfAck id 1 <asyncmap 0x00000000> <auth chap MD5> <magic 0x2cec13f9> <pcomp> <accomp>",
        "CHAP Challenge id 143 <34909df8861bb99bab536d45e5996ab0903072> name \"lwIP\"",
        "CHAP Response id 143 <486681f2234a4122d30819022986e295> name \"kumiki\"",
        "CHAP Success id 143 \"Access granted\"",
        "IPCP ConfReq id 1 <compress VJ 0f 01> <addr 10.7.0.1>",
        "IPV6CP ConfReq id 1 <addr fe80::ec33:8b51:c2ec:ed8>",
        "IPCP ConfReq id 1 <compress VJ 0f 01> <addr 0.0.0.0>",
        "IPCP ConfNak id 1 <addr 10.7.0.2>",
        "IPV6CP ConfReq id 1 <addr fe80::a028:7780:4d17:2d76>",
        "IPV6CP ConfAck id 1 <addr fe80::a028:7780:4d17:2d76>",
        "IPCP ConfAck id 1 <compress VJ 0f 01> <addr 10.7.0.1>",
        "IPV6CP ConfAck id 1 <addr fe80::ec33:8b51:c2ec:ed8>",
        "IPCP ConfReq id 2 <compress VJ 0f 01> <addr 10.7.0.2>",
        "IPCP ConfAck id 2 <compress VJ 0f 01> <addr 10.7.0.2>",
        "LCP TermReq id 2 \"User request\"",
        "LCP TermAck id 2",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_password_is_in_its_packet_and_in_no_line() {
    let frames = exchange(LWIP_PAP);
    let lines: Vec<String> = frames
        .iter()
        .filter(|(_, frame)| frame[2..4] == [0xc0, 0x23])
        .filter_map(|(_, frame)| reread(frame).1)
        .collect();
    let request = r#"PAP AuthReq id 1 user "kumiki" password hidden"#;
    assert_eq!(lines, [request, r#"PAP AuthAck id 1 "Login ok""#]);
    let (packet, _) = pap::Packet::parse(&frames[4].1[4..]).unwrap();
    let pap::Message::Request { password, .. } = packet.message else {
        panic!("{packet:?}");
    };
    assert_eq!(password, b"secret");
    assert!(!format!("{packet:?}").contains("115"), "{packet:?}");
}

#[test]
fn the_four_forms_of_a_header_are_one_protocol() {
    let forms: [(&[u8], bool, bool); 4] = [
        (&[0xff, 3, 0, 0x21], false, false),
        (&[0xff, 3, 0x21], false, true),
        (&[0, 0x21], true, false),
        (&[0x21], true, true),
    ];
    for (octets, acfc, pfc) in forms {
        let header = Header { protocol: protocol::IPV4, compression: Compression { acfc, pfc } };
        let behind = [octets, &[0x45]].concat();
        assert_eq!(Header::parse(&behind), Ok((header, octets.len())));
        assert_eq!(emitted!(header), octets);
        for cut in 0..octets.len() {
            assert!(Header::parse(&octets[..cut]).is_err(), "{octets:?} {cut}");
        }
    }
}

#[test]
fn lcp_is_never_compressed_and_others_only_as_far_as_they_can_be() {
    let all = Compression { acfc: true, pfc: true };
    assert_eq!(emitted!(Header::new(protocol::LCP, all)), [0xff, 3, 0xc0, 0x21]);
    assert_eq!(emitted!(Header::new(protocol::IPCP, all)), [0x80, 0x21]);
    assert_eq!(emitted!(Header::new(protocol::IPV6, all)), [0x57]);
    assert_eq!(emitted!(Header::new(protocol::IPV6, Compression::NONE)), [0xff, 3, 0, 0x57]);
    // What one octet would make ambiguous.
    assert_eq!(emitted!(Header::new(0x00ff, all)), [0, 0xff]);
    assert_eq!(emitted!(Header::new(0x0020, all)), [0, 0x20]);
}

#[test]
fn an_unlawful_protocol_is_read_so_that_it_can_be_rejected() {
    // RFC 1661 section 2: even last octets; odd first octets are read as a whole number.
    let (header, len) = Header::parse(&[0xff, 3, 0xc0, 0x20]).unwrap();
    assert_eq!((header.protocol, len), (0xc020, 4));
    assert!(!protocol::is_lawful(0xc020) && !protocol::is_lawful(0x0121));
    assert!(protocol::is_lawful(protocol::LCP) && protocol::is_lawful(protocol::IPV4));
}

#[test]
fn another_control_octet_is_refused() {
    // A numbered frame of RFC 1663.
    let refused = Header::parse(&[0xff, 0x3f, 0xc0, 0x21]).unwrap_err();
    assert_eq!(refused.to_string(), "PPP: control is 0x3f, expected 0x03 (unnumbered information)");
}

#[test]
fn a_length_that_cannot_be_is_refused_and_padding_is_left_alone() {
    let refused = |octets: &[u8]| Packet::parse(octets).unwrap_err().to_string();
    assert_eq!(refused(&[1, 1, 0, 3]), "PPP control: length is 3 octets, expected 4");
    assert_eq!(refused(&[1, 1, 0, 9, 7, 2, 8, 2]), "PPP control: length is 9 octets, expected 4 to 8");
    assert_eq!(refused(&[1, 1, 0]), "PPP control: 3 octets, at least 4 needed");
    let (packet, len) = Packet::parse(&[1, 9, 0, 6, 7, 2, 8, 2, 0xff]).unwrap();
    assert_eq!((packet.data, packet.identifier, len), (&[7, 2][..], 9, 6));
    // The header alone may be in front of what was not captured.
    let (header, _) = control::Header::parse(&[1, 1, 0, 9], 9).unwrap();
    assert_eq!(header.data_len(), 5);
}

#[test]
fn an_option_that_runs_past_the_packet_ends_the_list_with_an_error() {
    let seen = |data| options(data).collect::<Vec<_>>();
    let pfc = Ok(Item { kind: 7, data: &[] });
    assert_eq!(seen(&[7, 2, 7, 2]), [pfc, pfc]);
    for wrong in [&[7, 2, 5, 6, 1, 2, 3][..], &[7, 2, 5, 1], &[7, 2, 5, 0]] {
        let [first, Err(Malformed::Length { found, most, .. })] = seen(wrong)[..] else {
            panic!("{:?}", seen(wrong));
        };
        assert_eq!((first, found), (pfc, usize::from(wrong[3])));
        assert_eq!(most, wrong.len() - 2);
    }
    let [_, Err(Malformed::Short { .. })] = seen(&[7, 2, 5])[..] else {
        panic!("{:?}", seen(&[7, 2, 5]));
    };
}

#[test]
fn a_known_option_of_another_length_is_kept_and_told() {
    let item = Item { kind: kind::MRU, data: &[5, 0xdc, 0] };
    assert_eq!(lcp::Opt::of(item), lcp::Opt::Other(item));
    assert_eq!(item.check(protocol::LCP).unwrap_err().to_string(), "LCP: maximum-receive-unit is 5 octets, expected 4");
    // The same number is another option elsewhere.
    let addresses = item.check(protocol::IPCP).unwrap_err().to_string();
    assert_eq!(addresses, "IPCP: ip-addresses is 5 octets, expected 10");
    assert_eq!(item.check(protocol::CCP), Ok(()));
    let (written, line) = option(protocol::LCP, item);
    assert_eq!((written, line.as_str()), (vec![1, 5, 5, 0xdc, 0], "option 1 05dc00"));
}

#[test]
fn options_are_those_of_the_rfcs() {
    use ipcp::Server;
    let cases: [(u16, &str, &str); 20] = [
        (protocol::LCP, "0104 05dc", "mru 1500"),
        (protocol::LCP, "0206 000a0000", "asyncmap 0x000a0000"),
        (protocol::LCP, "0304 c023", "auth pap"),
        (protocol::LCP, "0305 c223 05", "auth chap MD5"),
        (protocol::LCP, "0305 c223 81", "auth chap algorithm 0x81"),
        (protocol::LCP, "0304 c227", "auth EAP"),
        (protocol::LCP, "0408 c025 000001f5", "quality lqr 5.01 s"),
        (protocol::LCP, "0506 7e7d1234", "magic 0x7e7d1234"),
        (protocol::LCP, "0702", "pcomp"),
        (protocol::LCP, "0802", "accomp"),
        (protocol::LCP, "0903 06", "fcs 0x06"),
        (protocol::LCP, "0a03 08", "padding to 8"),
        (protocol::LCP, "0d03 00", "callback 0"),
        (protocol::LCP, "0f02", "compound frames"),
        (protocol::LCP, "1104 05dc", "option 17 05dc"),
        (protocol::IPCP, "010a 0a000001 0a000002", "addrs 10.0.0.1 10.0.0.2"),
        (protocol::IPCP, "0204 002d", "compress VJ compressed TCP/IP"),
        (protocol::IPCP, "8106 09090909", "ms-dns1 9.9.9.9"),
        (protocol::IPCP, "8406 0a000003", "ms-wins2 10.0.0.3"),
        (protocol::IPV6CP, "0204 0061", "compress protocol 0x0061"),
    ];
    for (number, hex, expected) in cases {
        let octets = octets(hex);
        let item = options(&octets).next().unwrap().unwrap();
        let (written, line) = option(number, item);
        assert_eq!((written, line.as_str()), (octets.clone(), expected));
        assert_eq!(item.check(number), Ok(()), "{expected}");
    }
    let dns = ipcp::Opt::Server(Server::SecondaryDns, Ipv4Addr::new(9, 9, 9, 9));
    assert_eq!(emitted!(dns), octets("8306 09090909"));
    let auth = lcp::Opt::Authentication { protocol: protocol::CHAP, data: &[CHAP_MD5] };
    assert_eq!(emitted!(auth), octets("0305 c223 05"));
}

#[test]
fn the_configure_request_of_the_framing_vectors_is_this_packet() {
    // What stands between the flags once it is unescaped, FCS-16 among it: see the framing's own tests.
    let frame = octets("ff03 c021 0101000a 0506 7e7d1234");
    let request =
        Packet { code: code::CONFIGURE_REQUEST, identifier: 1, data: &emitted!(lcp::Opt::Magic(0x7e7d_1234)) };
    let header = Header::new(protocol::LCP, Compression::NONE);
    assert_eq!([emitted!(header), emitted!(request)].concat(), frame);
}

#[test]
fn a_challenge_need_not_have_sixteen_octets() {
    // The value that a pppd sent, in a packet put together here.
    let challenge = octets("01d1 001c 11 5fdd03f885bd62f7e53a1f9b44306a1bba 6b756d696b69");
    let (packet, len) = chap::Packet::parse(&challenge).unwrap();
    assert_eq!((packet.identifier, len), (0xd1, 28));
    let chap::Message::Challenge { value, name } = packet.message else {
        panic!("{packet}");
    };
    assert_eq!((value.len(), name), (17, &b"kumiki"[..]));
    assert_eq!(emitted!(packet), challenge);
}

#[test]
fn values_that_are_empty_or_run_past_the_packet_are_refused() {
    let chap = |hex: &str| chap::Packet::parse(&octets(hex)).unwrap_err().to_string();
    assert_eq!(chap("01010005 00"), "CHAP: value-size is 0 octets, expected 1 to 0");
    assert_eq!(chap("02010008 10 010203"), "CHAP: value-size is 16 octets, expected 1 to 3");
    assert!(chap("05010004").contains("code is 0x5"));
    assert!(chap("01010004").contains("at least 5 needed"));
    let pap = |hex: &str| pap::Packet::parse(&octets(hex)).unwrap_err().to_string();
    assert_eq!(pap("01010008 06 6b756d"), "PAP: peer-id-length is 6 octets, expected 0 to 3");
    assert_eq!(pap("01010008 01 6b 02 73"), "PAP: passwd-length is 2 octets, expected 0 to 1");
    assert!(pap("04010004").contains("code is 0x4"));
    // Seen in the field, and harmless.
    let silent = octets("02010004");
    let (packet, _) = pap::Packet::parse(&silent).unwrap();
    assert_eq!(packet.to_string(), "PAP AuthAck id 1");
    assert_eq!(emitted!(packet), silent);
}

#[test]
fn lcp_bodies_are_those_of_the_rfcs() {
    let cases = [
        ("07030008 0e090004", "LCP CodeRej id 3 of code 14 id 9"),
        ("0803000ac023 01010004", "LCP ProtRej id 3 of PAP"),
        ("0901000800000000", "LCP EchoReq id 1 magic 0x00000000, 0 octets of data"),
        ("0a01000b7e7d1234010203", "LCP EchoRep id 1 magic 0x7e7d1234, 3 octets of data"),
        ("0b010008ffffffff", "LCP DiscReq id 1 magic 0xffffffff, 0 octets of data"),
        ("0c01000b7e7d1234 410a42", r#"LCP Ident id 1 magic 0x7e7d1234 "A\nB""#),
        ("0d01000d00000001 0000003c 21", r#"LCP TimeRem id 1 magic 0x00000001 60 s "!""#),
        ("0e010004", "LCP code 14 id 1"),
    ];
    for (hex, expected) in cases {
        let octets = octets(hex);
        let (packet, len) = Packet::parse(&octets).unwrap();
        assert_eq!(len, octets.len());
        assert_eq!(packet.of(protocol::LCP).to_string(), expected);
        let body = Body::read(packet.code, packet.data).unwrap();
        assert_eq!(emitted!(body), packet.data);
    }
    for (code, least) in [(8, 2), (9, 4), (10, 4), (11, 4), (12, 4), (13, 8)] {
        assert!(Body::read(code, &[0; 8][..least]).is_ok());
        assert!(Body::read(code, &[0; 8][..least - 1]).is_err());
    }
}

#[test]
fn a_report_has_its_counters_in_the_order_of_rfc_1989() {
    let octets: Vec<u8> = (1..=12_u32).flat_map(u32::to_be_bytes).collect();
    let (report, len) = lqr::Report::parse(&octets).unwrap();
    assert_eq!((len, report.magic, report.peer_out_octets), (48, 1, 12));
    assert_eq!((report.last_out_lqrs, report.peer_in_lqrs), (2, 5));
    assert_eq!(emitted!(report), octets);
    assert!(lqr::Report::parse(&octets[..47]).is_err());
}

#[test]
fn an_interface_identifier_makes_a_link_local_address() {
    let identifier = InterfaceIdentifier([0x02, 0, 0, 0, 0, 0, 0, 0x01]);
    assert_eq!(identifier.link_local().to_string(), "fe80::200:0:0:1");
    assert_eq!(identifier.to_string(), "0200:0000:0000:0001");
    assert!(InterfaceIdentifier::NONE.is_none() && !identifier.is_none());
}

#[test]
fn what_is_too_long_for_its_length_field_is_cut_and_not_miscounted() {
    let long = vec![7; 70_000];
    let item = Item { kind: 99, data: &long };
    let written = emitted!(item);
    assert_eq!((written.len(), written[1]), (255, 255));
    let auth = lcp::Opt::Authentication { protocol: protocol::CHAP, data: &long };
    assert_eq!(options(&emitted!(auth)).next().unwrap().unwrap().len(), 255);
    let packet = Packet { code: 9, identifier: 0, data: &long };
    assert_eq!(emitted!(packet).len(), 65_535);
    assert_eq!(Packet::parse(&emitted!(packet)).unwrap().1, 65_535);
    let echo = Body::Echo { magic: 1, data: &long };
    assert_eq!(emitted!(echo).len(), control::MAX_DATA);
    let message = chap::Message::Challenge { value: &long, name: &long };
    let packet = chap::Packet { identifier: 1, message };
    assert_eq!(emitted!(packet).len(), 65_535);
    let message = pap::Message::Request { peer_id: &long, password: &long };
    let packet = pap::Packet { identifier: 1, message };
    assert_eq!(emitted!(packet).len(), 4 + 2 * 256);
}

proptest! {
    #[test]
    fn any_octets_can_be_read_and_what_is_read_is_written_as_it_was(octets in vec(any::<u8>(), 0..80)) {
        if let Ok((header, len)) = Header::parse(&octets) {
            prop_assert_eq!(emitted!(header), &octets[..len]);
        }
        if let Ok((packet, len)) = Packet::parse(&octets) {
            prop_assert_eq!(emitted!(packet), &octets[..len]);
            for number in [protocol::LCP, protocol::IPCP, protocol::CCP] {
                let _ = packet.of(number).to_string();
            }
            if let Ok(body) = Body::read(packet.code, packet.data) {
                prop_assert_eq!(emitted!(body), packet.data);
            }
        }
        let mut at = 0;
        for item in options(&octets) {
            let Ok(item) = item else { break };
            for number in [protocol::LCP, protocol::IPCP, protocol::IPV6CP, protocol::CCP] {
                let (written, _) = option(number, item);
                prop_assert_eq!(&written[..], &octets[at..at + item.len()]);
                let _ = item.check(number);
            }
            at += item.len();
        }
        if let Ok((report, len)) = lqr::Report::parse(&octets) {
            prop_assert_eq!(emitted!(report), &octets[..len]);
        }
        if let Ok((packet, _)) = chap::Packet::parse(&octets) {
            let written = emitted!(packet);
            prop_assert_eq!(chap::Packet::parse(&written).unwrap().0, packet);
        }
        if let Ok((packet, _)) = pap::Packet::parse(&octets) {
            let written = emitted!(packet);
            prop_assert_eq!(pap::Packet::parse(&written).unwrap().0, packet);
        }
    }

    #[test]
    fn control_packets_are_read_as_written(
        code: u8, identifier: u8, kinds in vec((any::<u8>(), vec(any::<u8>(), 0..12)), 0..8), padding in vec(any::<u8>(), 0..8),
    ) {
        let items: Vec<Item<'_>> = kinds.iter().map(|(kind, data)| Item { kind: *kind, data }).collect();
        let data: Vec<u8> = items.iter().flat_map(|item| emitted!(item)).collect();
        let packet = Packet { code, identifier, data: &data };
        let octets = [emitted!(packet), padding].concat();
        prop_assert_eq!(Packet::parse(&octets), Ok((packet, packet.len())));
        let read: Result<Vec<_>, _> = options(packet.data).collect();
        prop_assert_eq!(read, Ok(items));
    }

    #[test]
    fn names_values_and_passwords_are_read_as_written(
        identifier: u8, value in vec(any::<u8>(), 1..=255), name in vec(any::<u8>(), 0..=255), which in 0..4,
    ) {
        let (value, name) = (&value[..], &name[..]);
        let packet = chap::Packet { identifier, message: match which {
            0 => chap::Message::Challenge { value, name },
            1 => chap::Message::Response { value, name },
            2 => chap::Message::Success { message: name },
            _ => chap::Message::Failure { message: value },
        } };
        let octets = emitted!(packet);
        prop_assert_eq!(chap::Packet::parse(&octets), Ok((packet, octets.len())));
        let line = packet.to_string();
        prop_assert!(line.is_ascii() && !line.contains(char::is_control));
        let packet = pap::Packet { identifier, message: match which {
            0 => pap::Message::Request { peer_id: name, password: value },
            1 => pap::Message::Ack { message: Some(name) },
            2 => pap::Message::Ack { message: None },
            _ => pap::Message::Nak { message: Some(value) },
        } };
        let octets = emitted!(packet);
        prop_assert_eq!(pap::Packet::parse(&octets), Ok((packet, octets.len())));
        let line = packet.to_string();
        prop_assert!(line.is_ascii() && !line.contains(char::is_control));
    }
}
