//! PPP: an exchange of real peers, what is wrong in packets of it, and tshark beside us.

use kumiki_decode::capture::Link;
use kumiki_decode::{Decoder, Packet, show};
use kumiki_octets::crc::{Fcs16, Fcs32};
use kumiki_wire::inet::llc_snap;

use super::arrange::{bad, decode, names, notes, plain, plain6, record, udp, value};
use super::judge::{Pair, compare, pcap};

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap())
        .collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

/// Frames of two lwIPs, the exchanges with CHAP and with PAP.
fn lwip() -> Vec<Vec<u8>> {
    let texts = [
        include_str!("../../../kumiki-wire/tests/exchanges/lwip-chap.txt"),
        include_str!("../../../kumiki-wire/tests/exchanges/lwip-pap.txt"),
    ];
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter(|line| !line.starts_with('#')).map(|line| octets(line.split_once(' ').unwrap().1)).collect()
}

fn frame(hex: &str) -> Packet {
    decode("ppp", &octets(hex))
}

/// What is wrong in a frame of LCP with these octets.
fn lcp(hex: &str) -> Vec<String> {
    bad(&frame(&format!("ff03c021 {hex}")))
}

#[test]
fn frames_of_real_peers_have_nothing_wrong_and_are_written_the_same() {
    let mut control = 0;
    for octets in lwip() {
        let packet = decode("ppp", &octets);
        assert_eq!(packet.remarks().count(), 0, "{:?}", notes(&packet));
        assert_eq!(packet.rest, []);
        for layer in &packet.layers {
            assert_eq!(layer.verbatim, Some(true), "{}", layer.summary);
        }
        control += usize::from(packet.layers.len() == 2);
    }
    // The others are router solicitations behind one octet of protocol.
    assert_eq!(control, 37);
    let request = frame("ff03c021010100190206000000000305c2230505062cec13f907020802");
    assert_eq!(names(&request), ["ppp", "lcp"]);
    assert_eq!(
        request.layers[1].summary,
        "LCP ConfReq id 1 <asyncmap 0x00000000> <auth chap MD5> <magic 0x2cec13f9> <pcomp> <accomp>"
    );
    assert_eq!(value(&request, "lcp", "magic-number"), "0x2cec13f9");
    assert_eq!(value(&request, "lcp", "algorithm"), "5");
    let seen = record(1, Link::Number(9), &octets("ff03c02301010012066b756d696b6906736563726574"));
    let packet = Decoder::new().decode(&seen);
    assert_eq!(value(&packet, "pap", "password"), "secret");
    assert!(!show::line(&seen, &packet, None).contains("secret"));
    assert!(show::json(&seen, &packet).contains(r#""value":"secret""#));
}

#[test]
fn datagrams_are_read_in_all_forms_of_the_header() {
    let four = plain(17, &udp(b"hello"));
    let six = plain6(59, &[]);
    for (before, datagram, protocol) in [
        (&[0xff, 3, 0, 0x21][..], &four, "ipv4"),
        (&[0xff, 3, 0x21], &four, "ipv4"),
        (&[0, 0x21], &four, "ipv4"),
        (&[0x21], &four, "ipv4"),
        (&[0xff, 3, 0, 0x57], &six, "ipv6"),
        (&[0x57], &six, "ipv6"),
    ] {
        let packet = decode("ppp", &[before, datagram].concat());
        assert_eq!(names(&packet)[..2], ["ppp", protocol]);
        assert_eq!(packet.layers[0].length, before.len());
        assert_eq!(packet.remarks().count(), 0);
    }
}

#[test]
fn ppp_is_found_behind_a_direction_and_on_aal5() {
    let lcp = octets("c021 0101000a 0506 7e7d1234");
    let seen = record(1, Link::Number(204), &[&[1, 0xff, 3][..], &lcp].concat());
    let packet = Decoder::new().decode(&seen);
    assert_eq!(names(&packet), ["ppp-direction", "ppp", "lcp"]);
    assert_eq!(packet.layers[0].summary, "PPP sent");
    assert_eq!(packet.remarks().count(), 0);
    let mut sdu = vec![0; llc_snap::LLC_LEN];
    llc_snap::Header::Nlpid.emit(&mut sdu);
    let packet = decode("llc-snap", &[&sdu[..], &[0xcf], &lcp].concat());
    assert_eq!(names(&packet)[1..], ["ppp-nlpid", "ppp-bare", "lcp"]);
    assert_eq!(packet.remarks().count(), 0);
    // Where frames have an address and a control, LCP has them too.
    let packet = decode("ppp", &lcp);
    assert!(notes(&packet)[0].contains("without address and control"));
}

#[test]
fn a_check_sequence_is_taken_off_and_checked() {
    // The two vectors of HDLC-like framing, without flags and escapes.
    let request = "ff03c0210101000a05067e7d1234";
    for (fcs, wrong, right) in [("af3d", "0x3dae", "0x3daf"), ("b5998249", "0x498299b4", "0x498299b5")] {
        let octets = octets(&format!("{request}{fcs}"));
        let mut seen = record(1, Link::Number(50), &octets);
        seen.fcs_len = fcs.len() / 2;
        let packet = Decoder::new().decode(&seen);
        assert_eq!(packet.remarks().count(), 0, "{:?}", bad(&packet));
        assert_eq!(names(&packet), ["ppp", "lcp"]);
        assert_eq!(value(&packet, "ppp", "frame check sequence"), right);
        let at = 14;
        seen.octets[at] ^= 1;
        let packet = Decoder::new().decode(&seen);
        let says = format!("ppp: frame check sequence is {wrong}, the octets give {right}");
        assert_eq!(bad(&packet), [says]);
        // What the capture cut off is not judged.
        seen.octets.truncate(15);
        assert_eq!(bad(&Decoder::new().decode(&seen)), [""; 0]);
    }
    let cisco = [&[0x0f, 0, 8, 0][..], &plain(17, &udp(b"hello"))].concat();
    let mut fcs = Fcs16::new();
    fcs.update(&cisco);
    let mut seen = record(1, Link::Number(104), &[&cisco[..], &fcs.finish().to_le_bytes()].concat());
    seen.fcs_len = 2;
    for link in [104, 50] {
        seen.link = Link::Number(link);
        let packet = Decoder::new().decode(&seen);
        assert_eq!(names(&packet), ["cisco-hdlc", "ipv4", "udp"]);
        assert_eq!(packet.remarks().count(), 0);
    }
}

#[test]
fn lengths_that_cannot_be_are_named() {
    assert_eq!(lcp("01010003"), ["lcp: length is 3 octets, expected 4"]);
    assert_eq!(lcp("01010020 0702"), ["lcp: length is 32 octets, expected 4 to 6"]);
    assert_eq!(
        lcp("0101000a 0702 0507 0000"),
        ["lcp: option at octet 6: option length is 7 octets, expected 2 to 4; the packet is to be dropped"]
    );
    assert_eq!(lcp("0101000a 0506 1234 0701"), [""; 0], "four octets of a magic number, whatever they look like");
    assert_eq!(lcp("01010009 0105 05dc00"), ["lcp: maximum-receive-unit is 5 octets, expected 4"]);
    assert_eq!(lcp("01010009 0305 c02305"), ["lcp: PAP with a length of 5, 4 is right"]);
    assert_eq!(lcp("0901000600ff"), ["lcp: 6 octets, at least 8 needed"]);
    let chap = bad(&frame("ff03c223 01010007 05 0102"));
    assert_eq!(chap, ["chap: value-size is 5 octets, expected 1 to 2"]);
    let pap = bad(&frame("ff03c023 01010007 01 41 05"));
    assert_eq!(pap, ["pap: passwd-length is 5 octets, expected 0"]);
    let report = bad(&frame("ff03c025 00000001 00000002"));
    assert_eq!(report, ["lqr: 8 octets, at least 48 needed"]);
}

#[test]
fn values_that_a_standard_forbids_are_named() {
    let cases = [
        ("0101000a 0506 00000000", "magic-number is 0"),
        ("01010008 0702 0702", "protocol-field-compression comes more than once"),
        ("03010006 0802", "an option without a value can only be rejected"),
        ("01010007 0903 08", "fcs-alternatives is 0x08, expected 0x01 to 0x07"),
        ("01010007 0a03 00", "self-describing-padding is 0, expected 1 to 255"),
    ];
    for (hex, expected) in cases {
        let said = lcp(hex);
        assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
    }
    let ipcp = bad(&frame("ff038021 0101000a 0206 002d 0f 02"));
    assert_eq!(ipcp, ["ipcp: comp-slot-id is 2, expected 0 or 1"]);
    let echo = bad(&frame("ff038021 09010008 00000000"));
    assert!(echo[0].contains("code 9 is answered with a Code-Reject"));
    let none = bad(&frame("ff038057 01010004"));
    assert!(none[0].contains("0 interface identifiers, exactly 1 is right"));
    let even = bad(&frame("ff03c020 0101"));
    assert!(even[0].contains("0xc020 cannot be"), "{even:?}");
    let control = bad(&frame("ff13c021 0101"));
    assert_eq!(control, ["ppp: control is 0x13, expected 0x03 (unnumbered information)"]);
}

#[test]
fn padding_is_shown_and_noted_where_it_is_not_zero() {
    let packet = frame("ff03c021 01010004 0000");
    assert_eq!(value(&packet, "lcp", "padding"), "0000");
    assert_eq!(packet.remarks().count(), 0);
    let packet = frame("ff03c021 01010004 0102");
    assert_eq!(notes(&packet), ["lcp: 2 octets of padding are not all zero"]);
    assert_eq!(bad(&packet), [""; 0]);
}

#[test]
fn quality_is_asked_for_and_reported() {
    let packet = frame("ff03c021 0101000c 0408 c025 000001f5");
    let field = packet.layers[1].field("reporting-period").unwrap();
    assert_eq!(field.to_string(), "501");
    let meanings = packet.layers[1].fields.iter().filter_map(|field| field.meaning.clone());
    assert!(meanings.eq(["Configure-Request", "LQR", "5.01 s"].map(str::to_owned)));
    let report: Vec<u8> = (1..=12_u32).flat_map(u32::to_be_bytes).collect();
    let packet = decode("lqr", &[&report[..], &[0, 0]].concat());
    assert_eq!(packet.remarks().count(), 0);
    assert_eq!(value(&packet, "lqr", "PeerOutOctets"), "12");
    assert_eq!(value(&packet, "lqr", "padding"), "0000");
    assert_eq!(packet.layers[0].verbatim, Some(true));
}

#[test]
fn what_is_rejected_is_read_as_a_quotation() {
    // IPV6CP is not wanted; the quotation is cut in the middle of an option.
    let packet = frame("ff03c021 08030010 8057 0101000e 010a aec3 38b5");
    assert_eq!(names(&packet), ["ppp", "lcp", "ipv6cp"]);
    assert_eq!(packet.layers[1].summary, "LCP ProtRej id 3 of IPV6CP");
    assert_eq!(bad(&packet), [""; 0]);
    let packet = frame("ff03c021 0703000c 0e090008 00000000");
    assert_eq!(names(&packet), ["ppp", "lcp", "lcp"]);
    assert_eq!(packet.layers[1].summary, "LCP CodeRej id 3 of code 14 id 9");
    // The peer's MRU can cut a quotation: its length says more than there is, and that is nobody's mistake.
    let packet = frame("ff03c021 0703000a 0e090020 0000");
    assert_eq!(names(&packet), ["ppp", "lcp", "lcp"]);
    assert_eq!(bad(&packet), [""; 0]);
    assert_eq!(notes(&packet), ["lcp: length is 32 octets, expected 4 to 6"]);
    // Quotations of quotations end.
    let mut nested = octets("01000004");
    for _ in 0..1000 {
        let len = u16::try_from(nested.len() + 4).unwrap().to_be_bytes();
        nested = [&[7, 0][..], &len, &nested].concat();
    }
    let packet = decode("lcp", &nested);
    assert!(packet.layers.len() >= 100 && bad(&packet).is_empty());
}

#[test]
fn what_the_capture_cut_is_nobodys_mistake() {
    for octets in lwip() {
        for cut in 1..octets.len() {
            let mut seen = record(1, Link::Number(9), &octets[..cut]);
            seen.original_len = octets.len();
            let packet = Decoder::new().decode(&seen);
            assert_eq!(bad(&packet), [""; 0], "{cut} of {octets:02x?}");
        }
    }
}

/// Frames of the exchanges whose protocol is this, and more.
fn with(protocol: [u8; 2], more: &[&str]) -> Vec<Vec<u8>> {
    let before = [0xff, 3, protocol[0], protocol[1]];
    let mut frames = lwip();
    frames.retain(|frame| frame.starts_with(&before));
    let more = more.iter().map(|hex| [&before[..], &octets(hex)].concat());
    frames.extend(more);
    frames
}

fn judged(name: &str, frames: &[Vec<u8>], layer: &'static str, pairs: &[(&'static str, &'static str)]) {
    let all = [("ppp.protocol", "ppp", "protocol")];
    let own = pairs.iter().map(|(theirs, ours)| (*theirs, layer, *ours));
    let pairs: Vec<Pair> = all.into_iter().chain(own).collect();
    compare(name, &pcap(9, frames), &pairs);
}

#[test]
fn lcp_is_read_as_tshark_reads_it() {
    // Without Quality-Protocol: tshark 4.0 calls the eight octets of RFC 1989 section 2.5 malformed.
    let more = [
        "01010014 0104 05dc 0304 c023 0903 06 0d03 02 0f02",
        "0803000a c023 01010004",
        "0901000c 7e7d1234 01020304",
        "0c01000b 7e7d1234 4b756d",
        "0d01000f 7e7d1234 0000003c 627965",
    ];
    let pairs = [
        ("ppp.code", "code"),
        ("ppp.identifier", "identifier"),
        ("ppp.length", "length"),
        ("lcp.opt.mru", "maximum-receive-unit"),
        ("lcp.opt.asyncmap", "async-control-character-map"),
        ("lcp.opt.auth_protocol", "authentication-protocol"),
        ("lcp.opt.algorithm", "algorithm"),
        ("lcp.opt.magic_number", "magic-number"),
        ("lcp.opt.fcs_alternatives", "fcs-alternatives"),
        ("lcp.opt.operation", "callback"),
        ("lcp.rej_proto", "rejected-protocol"),
        ("lcp.secs_remaining", "seconds-remaining"),
    ];
    // tshark names the magic number of an option and that of a packet differently.
    let (options, others): (Vec<_>, Vec<_>) = with([0xc0, 0x21], &more).into_iter().partition(|frame| frame[4] <= 4);
    judged("judge-lcp.pcap", &options, "lcp", &pairs);
    let magic = [("lcp.magic_number", "magic-number"), ("lcp.message", "message")];
    let pairs: Vec<_> = pairs.into_iter().filter(|(_, ours)| *ours != "magic-number").chain(magic).collect();
    judged("judge-lcp-other.pcap", &others, "lcp", &pairs);
}

#[test]
fn ipcp_and_ipv6cp_are_read_as_tshark_reads_them() {
    let more = [
        "01090022 010a 0a000001 0a000002 0206 002d 0f01 0306 00000000 8106 09090909 8206 0a000003 ",
        "01090010 8306 09090909 8406 0a000003",
    ];
    let header = [("ppp.code", "code"), ("ppp.identifier", "identifier"), ("ppp.length", "length")];
    let own = [
        ("ipcp.opt.compress_proto", "ip-compression-protocol"),
        ("ipcp.opt.max_slot_id", "max-slot-id"),
        ("ipcp.opt.comp_slot_id", "comp-slot-id"),
        ("ipcp.opt.ip_address", "ip-address"),
        ("ipcp.opt.pri_dns_address", "primary-dns-address"),
        ("ipcp.opt.pri_nbns_address", "primary-nbns-address"),
        ("ipcp.opt.sec_dns_address", "secondary-dns-address"),
        ("ipcp.opt.sec_nbns_address", "secondary-nbns-address"),
    ];
    let frames = with([0x80, 0x21], &more);
    judged("judge-ipcp.pcap", &frames, "ipcp", &[&header[..], &own].concat());
    let own = [("ipv6cp.interface_identifier", "interface-identifier")];
    let frames = with([0x80, 0x57], &["05010006 6f6b"]);
    judged("judge-ipv6cp.pcap", &frames, "ipv6cp", &[&header[..], &own].concat());
}

#[test]
fn authentication_is_read_as_tshark_reads_it() {
    let pairs = [
        ("chap.code", "code"),
        ("chap.identifier", "identifier"),
        ("chap.length", "length"),
        ("chap.value_size", "value-size"),
        ("chap.value", "value"),
        ("chap.name", "name"),
        ("chap.message", "message"),
    ];
    let challenge = "01d1001c 11 5fdd03f885bd62f7e53a1f9b44306a1bba 6b756d696b69";
    let frames = with([0xc2, 0x23], &[challenge, "04d10007 4e6f21"]);
    judged("judge-chap.pcap", &frames, "chap", &pairs);
    let pairs = [
        ("pap.code", "code"),
        ("pap.identifier", "identifier"),
        ("pap.length", "length"),
        ("pap.peer_id.length", "peer-id-length"),
        ("pap.peer_id", "peer-id"),
        ("pap.password.length", "passwd-length"),
        ("pap.password", "password"),
        ("pap.message.length", "msg-length"),
        ("pap.message", "message"),
    ];
    judged("judge-pap.pcap", &with([0xc0, 0x23], &["03010007 024e6f"]), "pap", &pairs);
}

#[test]
fn check_sequences_of_pos_records_are_told_by_their_values() {
    // The ERF record says nothing of the FCS; see the judge of DAG cards for what tshark makes of it.
    let frame = octets("ff03c0210101000a05067e7d1234");
    let mut fcs = Fcs32::new();
    fcs.update(&frame);
    let octets = [&frame[..], &fcs.finish().to_le_bytes()].concat();
    let packet = decode("erf-hdlc", &octets);
    assert_eq!(names(&packet), ["erf-hdlc", "ppp", "lcp"]);
    assert_eq!(packet.remarks().count(), 0);
}
