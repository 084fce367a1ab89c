//! MAPOS of both widths: what is right has no remarks, what is wrong is named, and tshark with our Lua dissector reads
//! the same.

use kumiki_decode::packet::{Packet, Value};
use kumiki_decode::{Decoder, show};
use kumiki_octets::crc::{Fcs16, Fcs32};
use kumiki_wire::ppp::mapos::ssp::{self, Entry, Metric, Route};
use kumiki_wire::ppp::mapos::{
    Address, Header, Subnet,
    Width::{self, Eight, Sixteen},
    arp, nsp, protocol,
};

use super::arrange::{A, B, bad, decode, names, notes, plain, record, udp, value};
use super::judge::{number_of, ours, pcap, tshark_with};

macro_rules! octets {
    ($header:expr) => {{
        let header = $header;
        let mut out = vec![0; header.len()];
        header.emit(&mut out);
        out
    }};
}

fn at(width: Width, value: u32) -> Address {
    Address::new(width, value).unwrap()
}

fn frame(destination: Address, protocol: u16, information: &[u8]) -> Vec<u8> {
    let header = Header { destination, protocol };
    [octets!(header), information.to_vec()].concat()
}

fn packet(command: ssp::Command, entries: &[Entry]) -> Vec<u8> {
    let mut packet = octets!(ssp::Header { command });
    for entry in entries {
        packet.extend(octets!(*entry));
    }
    packet
}

/// Routes to as many switches, with these metrics.
fn routes(width: Width, metrics: &[u32]) -> Vec<Entry> {
    let subnet = Subnet::new(width, 5).unwrap();
    let entry = |(switch, metric): (u16, &u32)| {
        let metric = Metric(*metric);
        Entry::from(Route { subnet, switch, metric })
    };
    (1..).zip(metrics).map(entry).collect()
}

/// Frames of every kind, all of them right.
fn frames(width: Width) -> Vec<Vec<u8>> {
    let control = Address::local_control(width);
    let all = Address::broadcast(width);
    let node = at(width, 0x23);
    let other = at(width, 0x49);
    let request = arp::Header::request(node, A, B);
    let datagram = plain(17, &udp(b"hello"));
    let group = Address::of_ipv4_group(width, [224, 0, 0, 5].into());
    let table = routes(width, &[0, 1, 15, 16, 17, 31]);
    vec![
        frame(control, protocol::NSP, &octets!(nsp::Header::REQUEST)),
        frame(node, protocol::NSP, &octets!(nsp::Header::assignment(node))),
        frame(node, protocol::NSP, &octets!(nsp::Header::REJECT)),
        frame(all, protocol::ARP, &octets!(request)),
        frame(node, protocol::ARP, &octets!(request.answered_by(other))),
        frame(all, protocol::ARP, &octets!(arp::Header::unarp(node, A))),
        frame(control, protocol::SSP, &packet(ssp::Command::Request, &[Entry::WHOLE_TABLE])),
        frame(control, protocol::SSP, &packet(ssp::Command::Response, &table)),
        frame(other, protocol::IPV4, &datagram),
        frame(all, protocol::IPV4, &datagram),
        frame(group, protocol::IPV4, &datagram),
    ]
}

#[test]
fn right_frames_have_no_remarks_and_are_written_as_they_were() {
    for (layer, width, link) in [("mapos", Eight, 161), ("mapos-16", Sixteen, 162)] {
        let frames = frames(width);
        let by_link = ours(&pcap(link, &frames));
        for (frame, by_link) in frames.iter().zip(by_link) {
            let packet = decode(layer, frame);
            let name = show::line(&record(1, Default::default(), frame), &packet, None);
            assert_eq!(packet.remarks().count(), 0, "{name} {packet:?}");
            assert!(packet.layers.len() > 1, "{name}");
            assert!(packet.layers.iter().all(|layer| layer.verbatim == Some(true)), "{name}");
            assert_eq!(packet, by_link);
        }
    }
}

#[test]
fn a_line_says_what_is_in_a_frame() {
    let lines: Vec<String> = frames(Eight)
        .iter()
        .map(|frame| {
            let packet = decode("mapos", frame);
            let line = show::line(&record(1, Default::default(), frame), &packet, None);
            line.trim_start_matches(['1', ' ']).to_owned()
        })
        .collect();
    assert_eq!(
        lines[..8],
        [
            "NSP address request",
            "NSP address assignment 0x23",
            "NSP reject",
            "MAPOS ARP request 10.0.0.1 (0x23) > 10.0.0.2",
            "MAPOS ARP response 10.0.0.2 (0x49) > 10.0.0.1 (0x23)",
            "MAPOS ARP UNARP 10.0.0.1 (0x23) > 255.255.255.255",
            "SSP request whole table",
            "SSP response 0x05/0xfc metric 0, 0x09/0xfc metric 1, 0x0d/0xfc metric 15, 3 more",
        ]
    );
    assert_eq!(names(&decode("mapos", &frames(Eight)[8])), ["mapos", "ipv4", "udp"]);
}

#[test]
fn json_has_the_fields_with_their_meaning() {
    let frame = &frames(Sixteen)[7];
    let packet = decode("mapos-16", frame);
    let json = show::json(&record(1, Default::default(), frame), &packet);
    for part in [
        r#"{"name":"address","value":1,"meaning":"control processor of the local switch","offset":0,"length":2}"#,
        r#"{"name":"protocol","value":65029,"meaning":"SSP","offset":2,"length":2}"#,
        r#"{"name":"metric","value":16,"meaning":"unreachable","offset":84,"length":4}"#,
        r#"{"name":"metric","value":31,"meaning":"poisoned reverse of 15","offset":124,"length":4}"#,
    ] {
        assert!(json.contains(part), "{part}\n{json}");
    }
}

#[test]
fn a_frame_that_switches_discard_is_read_all_the_same() {
    let datagram = plain(17, &udp(b"hello"));
    for (layer, front, wrong) in [
        ("mapos", [0x22, 3, 0, 0x21], "mapos: address is 0x22, expected 8 bits, the last of them 1"),
        ("mapos", [0x23, 0x13, 0, 0x21], "mapos: control is 0x13, expected 0x3 (UI)"),
        (
            "mapos-16",
            [1, 1, 0, 0x21],
            "mapos-16: address is 0x101, expected 16 bits, the last of the first octet 0, of the second 1",
        ),
    ] {
        let packet = decode(layer, &[&front[..], &datagram].concat());
        assert_eq!(bad(&packet), [wrong]);
        assert_eq!(names(&packet), [layer, "ipv4", "udp"]);
    }
    let unknown = decode("mapos", &frame(at(Eight, 3), 0x0122, &[0; 3]));
    assert_eq!(
        bad(&unknown),
        ["mapos: protocol is 0x0122; RFC 2172 section 2 wants the first octet even and the second odd"]
    );
    assert_eq!(unknown.rest[0].why, "no decoder for MAPOS protocol 0x0122");
    let long = decode("mapos", &frame(at(Eight, 3), 0x0023, &[0; 65_281]));
    assert_eq!(bad(&long), ["mapos: 65281 octets of information, at most 65280 are allowed"]);
}

#[test]
fn an_address_that_nobody_can_have_or_that_went_astray_is_named() {
    let nsp = |destination, packet: nsp::Header| {
        let packet = decode("mapos", &frame(at(Eight, destination), protocol::NSP, &octets!(packet)));
        [bad(&packet), notes(&packet)].concat()
    };
    let node = at(Eight, 0x23);
    assert_eq!(
        nsp(0x25, nsp::Header::assignment(node)),
        ["mapos-nsp: 0x23 is assigned in a frame to 0x25; RFC 2173 section 4.1 wants it sent to the address assigned"]
    );
    let group = nsp::Header::assignment(at(Eight, 0x81));
    assert_eq!(nsp(0x81, group), ["mapos-nsp: 0x81 is assigned, which no node can have"]);
    let request = nsp::Header { address: 9, ..nsp::Header::REQUEST };
    assert_eq!(
        nsp(0x03, request),
        [
            "mapos-nsp: a request goes to the control processor of the local switch, not to 0x03",
            "mapos-nsp: the address of a request should be 0 (RFC 2173 section 4.2)",
        ]
    );
    // Without a frame around nothing can be said of it.
    let alone = decode("mapos-nsp", &octets!(nsp::Header::assignment(node)));
    assert_eq!(alone.remarks().count(), 0);
}

#[test]
fn an_unarp_that_is_none_is_named() {
    let mut unarp = arp::Header::unarp(at(Eight, 0x23), A);
    unarp.sender = 0;
    unarp.target_ip = B;
    let packet = decode("mapos", &frame(at(Eight, 0x25), protocol::ARP, &octets!(unarp)));
    assert_eq!(
        bad(&packet),
        [
            "mapos-arp: sender HDLC address is 0x00, which no station can have",
            "mapos-arp: UNARP has the targets 0xffffffff and 10.0.0.2; RFC 2176 section 3.3 wants all ones in both",
            "mapos-arp: UNARP is to be sent to all, not to 0x25",
        ]
    );
}

#[test]
fn entries_that_a_switch_ignores_are_named_by_number() {
    let mut entries = routes(Eight, &[1, 32, 1, 1, 1]);
    entries[2].address = 0xff;
    entries[3].mask = 0xa0;
    entries[4].afi = 0;
    let ssp = |command, entries: &[Entry]| {
        let packet = packet(command, entries);
        decode("mapos", &frame(Address::local_control(Eight), protocol::SSP, &packet))
    };
    assert_eq!(
        bad(&ssp(ssp::Command::Response, &entries)),
        [
            "mapos-ssp: entry 2 is to be ignored: metric is 0x20, expected 0 to 31",
            "mapos-ssp: entry 3 is to be ignored: HDLC address is 0xff, expected the address of a switch or node",
            "mapos-ssp: entry 4 is to be ignored: subnet mask is 0xa0, expected ones from the first bit of an address on, \
             without the last bits",
            "mapos-ssp: entry 5 is to be ignored: address family identifier is 0x0, expected 2",
        ]
    );
    assert_eq!(
        bad(&ssp(ssp::Command::Request, &entries[..1])),
        ["mapos-ssp: entry 1 of a request has the address family 2; only 0, for the whole table, is answered"]
    );
    // Lengths that do not fit hide nothing that is whole.
    let many = ssp(ssp::Command::Response, &routes(Eight, &[1; 26]));
    assert_eq!(bad(&many), ["mapos-ssp: packet is 524 octets, expected 24 to 504"]);
    assert_eq!(many.layer("mapos-ssp").unwrap().length, 504);
    assert_eq!(many.rest[0].why, "more than a packet can have");
    let mut cut = packet(ssp::Command::Response, &routes(Eight, &[1, 1]));
    cut.truncate(40);
    let cut = decode("mapos-ssp", &cut);
    assert_eq!(bad(&cut), ["mapos-ssp: rest behind the last whole entry is 16 octets, expected 0"]);
    assert_eq!(cut.rest[0].length, 16);
    let other = decode("mapos-ssp", &[2, 2, 0, 0, 1, 1]);
    assert_eq!(bad(&other), ["mapos-ssp: version is 0x2, expected 1"]);
}

#[test]
fn an_fcs_that_the_capture_speaks_of_is_checked() {
    let plain = &frames(Eight)[3];
    let (mut short, mut long) = (Fcs16::new(), Fcs32::new());
    short.update(plain);
    long.update(plain);
    let both = [short.finish().to_le_bytes().to_vec(), long.finish().to_le_bytes().to_vec()];
    for fcs in both {
        let mut seen = record(1, kumiki_decode::capture::Link::Named("mapos"), &[&plain[..], &fcs].concat());
        seen.fcs_len = fcs.len();
        let packet = Decoder::new().decode(&seen);
        assert_eq!(packet.remarks().count(), 0);
        assert_eq!(packet.layer("mapos-arp").unwrap().length, 24);
        seen.octets[0] = 0xfd;
        let packet = Decoder::new().decode(&seen);
        assert!(bad(&packet)[0].starts_with("mapos: frame check sequence is 0x"));
    }
}

/// All values of a field, as tshark joins them.
fn every(packet: &Packet, layer: &str, field: &str) -> String {
    let Some(layer) = packet.layer(layer) else {
        return String::new();
    };
    let found = layer.fields.iter().filter(|found| found.name == field);
    let values: Vec<String> = found.map(|found| Value::to_string(&found.value)).collect();
    values.join(",")
}

#[test]
fn tshark_with_our_dissector_reads_the_same() {
    const SCRIPT: &str = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/dissectors/mapos.lua");
    let inside = [
        ("mapos_nsp.command", "mapos-nsp", "command"),
        ("mapos_nsp.address", "mapos-nsp", "address"),
        ("mapos_ssp.command", "mapos-ssp", "command"),
        ("mapos_ssp.version", "mapos-ssp", "version"),
        ("mapos_ssp.afi", "mapos-ssp", "address family identifier"),
        ("mapos_ssp.address", "mapos-ssp", "hdlc address"),
        ("mapos_ssp.mask", "mapos-ssp", "subnet mask"),
        ("mapos_ssp.metric", "mapos-ssp", "metric"),
        ("mapos_arp.operation", "mapos-arp", "operation code"),
        ("mapos_arp.sender", "mapos-arp", "sender hdlc address"),
        ("mapos_arp.sender_ip", "mapos-arp", "sender ip address"),
        ("mapos_arp.target", "mapos-arp", "target hdlc address"),
        ("mapos_arp.target_ip", "mapos-arp", "target ip address"),
        ("ip.src", "ipv4", "source"),
        ("udp.dstport", "udp", "destination port"),
    ];
    for (width, layer, link) in [(Eight, "mapos", 161), (Sixteen, "mapos-16", 162)] {
        let outside = [
            ("mapos.address", layer, "address"),
            ("mapos.control", layer, "control"),
            ("mapos.protocol", layer, "protocol"),
        ];
        let pairs = [&outside[..], &inside].concat();
        let fields: Vec<&str> = pairs.iter().map(|(theirs, ..)| *theirs).collect();
        // What both must call wrong stands behind what is right.
        let mut frames = frames(width);
        let right = frames.len();
        let control = Address::local_control(width);
        let illegal = packet(ssp::Command::Response, &routes(width, &[1, 32]));
        frames.push(frame(control, protocol::SSP, &illegal));
        frames.push(frame(control, protocol::SSP, &illegal[..43]));
        frames.push([&[0xfe, 0x02, 0, 0x21][..], &plain(17, &udp(&[]))].concat());
        frames.push(frame(control, 0xfd02, &[1]));
        let file = pcap(link, &frames);
        let name = format!("judge-{layer}.pcap");
        let more = ["-X", SCRIPT, "-E", "occurrence=a"];
        let ask = [&fields[..], &["_ws.expert.severity"]].concat();
        let Some(rows) = tshark_with(&more, &name, &file, &ask) else {
            return;
        };
        let packets = ours(&file);
        assert_eq!((rows.len(), packets.len()), (frames.len(), frames.len()));
        let mut same = 0;
        for (number, (row, packet)) in rows.iter().zip(&packets).enumerate() {
            let (remarks, row) = row.split_last().unwrap();
            for ((field, layer, ours), theirs) in pairs.iter().zip(row) {
                let numbers = |text: &str| text.split(',').map(number_of).collect::<Vec<_>>();
                let ours = every(packet, layer, ours);
                let context = format!("packet {} {field}: {ours} {theirs}", number + 1);
                assert_eq!(numbers(&ours), numbers(theirs), "{context}");
                same += usize::from(!theirs.is_empty());
            }
            let wrong = number >= right;
            assert_eq!(packet.is_bad(), wrong, "{:?}", packet.remarks().next());
            assert_eq!(!remarks.is_empty(), wrong, "packet {}", number + 1);
        }
        assert_eq!(value(&packets[right], layer, "protocol"), "0xfe05");
        println!("{name}: {same} fields are the same");
        assert!(same > 4 * frames.len(), "{same}");
    }
}
