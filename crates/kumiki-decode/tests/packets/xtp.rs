//! XTP: one packet of every type, beside tshark, over IP and, with our script, over Ethernet, SNAP and SimEther; and
//! what is wrong with packets.
//!
//! tshark 4.0 has XTP 4.0 of its own and verifies its checksum, and some of what it shows is wrong:
//!
//! 1. edges of spans (ECNTL) are read with the octet of the lowest value first;
//! 2. in FIRST and JCNTL the traffic segment is looked for 16 octets behind the beginning of the address segment, so
//!    behind any other than that of IPv4 it is none;
//! 3. behind `alloc` of TCNTL and JCNTL the places of fields, not their values, are four octets off;
//! 4. the user's data in a FIRST packet is not shown;
//! 5. octets behind `dlen`, such as the padding of Ethernet, are called a bogus length, and the payload is not read.
//!
//! So packets here are long enough not to be filled up, addresses are those of IPv4, and edges are turned around before
//! they are compared.

use std::net::SocketAddr;

use kumiki_octets::Sum;
use kumiki_wire::inet::ethernet::ethertype;
use kumiki_wire::inet::llc_snap;
use kumiki_wire::xtp::{
    Address, CHECK_OFFSET, Control, Diagnosis, Errors, First, Format, Header, Join, Key, LEN, Options, Rates, Span,
    Traffic, TrafficControl, covered, service,
};

use super::arrange::{bad, decode, ethernet, names, notes, plain, plain6, udp, value};
use super::judge::{number_of, ours, pcap, tshark_with};

const SCRIPT: &str = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/dissectors/xtp.lua");

macro_rules! octets {
    ($what:expr) => {{
        let what = $what;
        let mut out = vec![0; what.len()];
        what.emit(&mut out);
        out
    }};
}

fn packet(header: Header, payload: &[u8]) -> Vec<u8> {
    let dlen = u32::try_from(payload.len()).unwrap();
    let header = Header { dlen, check: 0, ..header };
    summed([octets!(header), payload.to_vec()].concat())
}

/// Puts the right sum in its place.
fn summed(mut packet: Vec<u8>) -> Vec<u8> {
    packet[CHECK_OFFSET..CHECK_OFFSET + 2].fill(0);
    let covered = covered(&packet, packet.len()).unwrap();
    let sum = Sum::of(&packet[..covered]).checksum();
    packet[CHECK_OFFSET..CHECK_OFFSET + 2].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn of(format: Format, options: Options) -> Header {
    Header { key: Key(0x2_0000_0007).returned(), options, format, sync: 7, seq: 0x1_0000_0005, ..Header::default() }
}

fn addresses() -> Address {
    let at = |text: &str| text.parse::<SocketAddr>().unwrap();
    Address::Ip { domain: 0, destination: at("10.0.0.2:5001"), source: at("10.0.0.1:6001") }
}

const TRAFFIC: Traffic = Traffic {
    service: service::RELIABLE_STREAM,
    rates: Some(Rates { maxdata: 9000, inrate: 1_000_000, inburst: 9001, outrate: 2_000_000, outburst: 9002 }),
};
const CONTROL: Control = Control { rseq: 256, alloc: 1 << 40, echo: 5 };

fn spans(edges: &[(u64, u64)]) -> Errors {
    let span = |&(left, right): &(u64, u64)| Span { left, right };
    Errors { control: CONTROL, spans: edges.iter().map(span).collect() }
}

/// One of every type; of data with each thing that changes how a packet is read.
fn all() -> Vec<Vec<u8>> {
    let text: Vec<u8> = (0..64).collect();
    let xkey = Key(0x3_0000_0009);
    let first = First { address: addresses(), traffic: TRAFFIC };
    let calling = Header { key: Key(0x1_0000_0001), ..of(Format::First, Options::EDGE | Options::SREQ) };
    let traffic = TrafficControl { control: CONTROL, xkey, traffic: TRAFFIC };
    let join = Join { control: CONTROL, xkey, address: addresses(), traffic: TRAFFIC };
    let sorted = Header { sort: 0x1234, ..of(Format::Data, Options::SORT | Options::BTAG) };
    let code = Diagnosis { code: 1, val: 1 };
    vec![
        packet(calling, &[octets!(first), text.clone()].concat()),
        packet(of(Format::Data, Options::DREQ | Options::EOM), &text),
        packet(of(Format::Data, Options::NOCHECK), &text),
        packet(sorted, &[b"TAGTAGTA", &text[..]].concat()),
        packet(of(Format::Cntl, Options::RCLOSE | Options::WCLOSE | Options::END), &octets!(CONTROL)),
        packet(of(Format::Ecntl, Options::NONE), &octets!(spans(&[(320, 384), (448, 1 << 33)]))),
        packet(of(Format::Tcntl, Options::NONE), &octets!(traffic)),
        packet(of(Format::Jcntl, Options::MULTI), &octets!(join)),
        packet(of(Format::Diag, Options::NONE), &[&octets!(code)[..], b"no listener\0"].concat()),
    ]
}

/// tshark's field, and ours.
const FIELDS: [(&str, &str); 22] = [
    ("xtp.key", "key"),
    ("xtp.dlen", "dlen"),
    ("xtp.checksum", "check"),
    ("xtp.sort", "sort"),
    ("xtp.sync", "sync"),
    ("xtp.seq", "seq"),
    ("xtp.cmd.ptype.ver", "version"),
    ("xtp.cmd.ptype.pformat", "format"),
    ("xtp.data.btag", "btag"),
    ("xtp.aseg.alen", "alen"),
    ("xtp.aseg.aformat", "aformat"),
    ("xtp.aseg.dsthost", "dsthost"),
    ("xtp.aseg.srchost", "srchost"),
    ("xtp.aseg.dstport", "dstport"),
    ("xtp.aseg.srcport", "srcport"),
    ("xtp.tspec.tlen", "tlen"),
    ("xtp.tspec.service", "service"),
    ("xtp.tspec.maxdata", "maxdata"),
    ("xtp.tspec.outburst", "outburst"),
    ("xtp.tcntl.xkey", "xkey"),
    ("xtp.diag.code", "code"),
    ("xtp.diag.val", "val"),
];
/// Those of control packets, which have a name for each type.
const STATE: [(&str, &str); 3] = [("rseq", "rseq"), ("alloc", "alloc"), ("echo", "echo")];

fn judged(name: &str, link: u32, more: &[&str], packets: &[Vec<u8>]) {
    let states = ["cntl", "ecntl", "tcntl"]
        .into_iter()
        .flat_map(|kind| STATE.map(|(theirs, ours)| (format!("xtp.{kind}.{theirs}"), ours)));
    let states: Vec<(String, &str)> = states.collect();
    let mut fields: Vec<&str> = FIELDS.iter().map(|(theirs, _)| *theirs).collect();
    fields.extend(states.iter().map(|(theirs, _)| theirs.as_str()));
    fields.extend(["xtp.checksum.status", "xtp.ecntl.span_le", "xtp.ecntl.span_re", "xtp.diag.msg", "_ws.malformed"]);
    let file = pcap(link, packets);
    let Some(rows) = tshark_with(more, name, &file, &fields) else {
        return;
    };
    let packets = ours(&file);
    assert_eq!((rows.len(), packets.len()), (all().len(), all().len()));
    let mut same = 0;
    for (number, (row, packet)) in rows.iter().zip(&packets).enumerate() {
        let context = format!("{name}, packet {}: {row:?}", number + 1);
        assert_eq!(bad(packet), [""; 0], "{context}");
        let (compared, rest) = row.split_at(FIELDS.len() + 9);
        for (at, theirs) in compared.iter().enumerate() {
            let ours = FIELDS.get(at).map(|(_, ours)| *ours);
            let ours = ours.unwrap_or_else(|| states[at - FIELDS.len()].1);
            if theirs.is_empty() {
                continue;
            }
            let ours = value(packet, "xtp", ours);
            assert_eq!(number_of(&ours), number_of(theirs), "{context}");
            same += 1;
        }
        // The checksum is good, whatever the carrier.
        assert_eq!(rest[0], "1", "{context}");
        assert_eq!(rest[4], "", "{context}");
        for (theirs, ours) in [(&rest[1], "left edge"), (&rest[2], "right edge")] {
            // Fault 1.
            let found = packet.layer("xtp").and_then(|layer| layer.field(ours));
            let edge = found.map(|edge| edge.to_string().parse::<u64>().unwrap());
            let turned = edge.map(u64::swap_bytes);
            assert_eq!(turned, theirs.parse().ok(), "{context}");
        }
        if number == 8 {
            assert_eq!(rest[3].trim_end_matches("\\000"), "no listener");
        }
    }
    println!("{name}: {same} fields are the same");
    assert!(same > 10 * packets.len(), "{same}");
}

#[test]
fn tshark_reads_every_type_over_ip_with_a_good_checksum() {
    let four: Vec<Vec<u8>> = all().iter().map(|it| plain(36, it)).collect();
    judged("xtp-ip.pcap", 101, &[], &four);
    let six: Vec<Vec<u8>> = all().iter().map(|it| plain6(36, it)).collect();
    judged("xtp-ip6.pcap", 101, &[], &six);
}

#[test]
fn tshark_with_our_script_reads_them_on_ethernet_and_behind_snap() {
    let frames: Vec<Vec<u8>> = all().iter().map(|it| ethernet(ethertype::XTP, it)).collect();
    judged("xtp-eth.pcap", 1, &["-X", SCRIPT], &frames);
    let mut snap = vec![0; llc_snap::LEN];
    llc_snap::Header::EtherType(ethertype::XTP).emit(&mut snap);
    let pdus: Vec<Vec<u8>> = all().iter().map(|it| [&snap[..], it].concat()).collect();
    judged("xtp-snap.pcap", 100, &["-X", SCRIPT], &pdus);
}

/// SimEther's frames are the data of datagrams: here to port 9, which the preference of the script names.
#[test]
fn tshark_with_our_script_reads_the_frames_of_sim_ether() {
    let frames: Vec<Vec<u8>> = all().iter().map(|it| ethernet(ethertype::XTP, it)).collect();
    let datagrams: Vec<Vec<u8>> = frames.iter().map(|it| plain(17, &udp(it))).collect();
    let file = pcap(101, &datagrams);
    let more = ["-X", SCRIPT, "-o", "sim_ether.ports:9"];
    let fields = ["frame.protocols", "xtp.checksum.status"];
    let Some(rows) = tshark_with(&more, "xtp-sim-ether.pcap", &file, &fields) else {
        return;
    };
    for row in rows {
        assert!(row[0].contains("udp:sim_ether:eth:ethertype:xtp"), "{row:?}");
        assert_eq!(row[1], "1");
    }
}

#[test]
fn options_are_named_and_text_is_shown() {
    let all = all();
    let first = decode("xtp", &all[0]);
    assert_eq!(first.layers[0].summary, "XTP FIRST key 1:1 EDGE,SREQ sync 7 seq 4294967301 dlen 104");
    assert_eq!(first.layers[0].verbatim, Some(true));
    // Without IP around it the addresses of the segment are those of the packet.
    let ends = first.layers[0].ends.clone().unwrap();
    assert_eq!(ends, ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(first.rest[0].why, "user data");
    assert_eq!(first.rest[0].length, 64);
    let named = |packet: &kumiki_decode::Packet, name: &str| {
        let fields = packet.layers[0].fields.iter();
        let found = fields.filter(|field| field.name == name);
        found.filter_map(|field| field.meaning.clone()).collect::<Vec<_>>()
    };
    assert_eq!(named(&first, "service"), ["reliable unicast stream"]);
    let diag = decode("xtp", &all[8]);
    assert_eq!(named(&diag, "code"), ["context refused"]);
    assert_eq!(named(&diag, "val"), ["no listener"]);
    assert_eq!(value(&diag, "xtp", "message"), "no listener");
    assert_eq!(names(&decode("ethernet", &ethernet(ethertype::XTP, &all[1]))), ["ethernet", "xtp"]);
}

#[test]
fn of_a_multicast_nothing_is_remarked() {
    let traffic = Traffic { service: service::RELIABLE_MULTICAST, ..TRAFFIC };
    let join = Join { control: CONTROL, xkey: Key(5), address: addresses_of_a_group(), traffic };
    let joins = packet(of(Format::Jcntl, Options::MULTI | Options::SREQ), &octets!(&join));
    let answer = packet(of(Format::Jcntl, Options::MULTI), &octets!(&join));
    let data = packet(of(Format::Data, Options::MULTI | Options::EOM), &[7; 64]);
    for octets in [joins, answer, data] {
        let packet = decode("ip", &plain(36, &octets));
        assert_eq!(notes(&packet), [""; 0]);
        assert_eq!(bad(&packet), [""; 0]);
        assert_eq!(packet.layers[1].verbatim, Some(true));
    }
    // A call to the group goes to the group.
    let first = First { address: addresses_of_a_group(), traffic };
    let first = packet(of(Format::First, Options::MULTI), &octets!(first));
    let packet = decode("ip", &plain(36, &first));
    assert_eq!(notes(&packet), ["xtp: the addresses are not those of IP"]);
}

fn addresses_of_a_group() -> Address {
    Address::Ip { domain: 0, destination: "239.1.2.3:5001".parse().unwrap(), source: "10.0.0.1:5001".parse().unwrap() }
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_read() {
    let data = &all()[1];
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut octets = data.clone();
        change(&mut octets);
        decode("xtp", &octets)
    };
    let packet = changed(&|it| it[40] ^= 1);
    assert!(bad(&packet)[0].starts_with("xtp: check is"), "{:?}", bad(&packet));
    // What the codec refuses is got over where the rest makes sense.
    let packet = changed(&|it| {
        it[8] |= 0x80;
        *it = summed(it.clone());
    });
    assert!(bad(&packet)[0].contains("options is 0x80"), "{:?}", bad(&packet));
    assert_eq!(value(&packet, "xtp", "sync"), "7");
    let packet = changed(&|it| {
        it[19] = 1;
        *it = summed(it.clone());
    });
    assert_eq!(bad(&packet), ["xtp: sort is 0x1, expected 0 where SORT is not set"]);
    let packet = changed(&|it| it[15] += 1);
    assert_eq!(bad(&packet)[0], "xtp: dlen is 65 octets, expected 1 to 64");
    assert_eq!(packet.rest[0].why, "user data");
    // And where it does not, that is all.
    let packet = changed(&|it| it[11] = 0x40);
    assert_eq!(bad(&packet), ["xtp: version is 0x2, expected 1 (XTP 4.0)"]);
    assert_eq!(bad(&decode("xtp", &data[..31])), ["xtp: 31 octets, at least 32 needed"]);

    let ecntl = |edges: &[(u64, u64)]| {
        let errors = octets!(spans(edges));
        bad(&decode("xtp", &packet_of(Format::Ecntl, &errors)))
    };
    assert_eq!(ecntl(&[(400, 400)]), ["xtp: span 400 to 400 has no octets"]);
    assert!(ecntl(&[(320, 384), (380, 400)])[0].contains("begins below 384"));
    assert!(ecntl(&[(100, 384)])[0].contains("begins below 256"));
    // CVE-2012-4288: a number of spans that overflows when it is multiplied.
    let mut errors = octets!(spans(&[(320, 384)]));
    errors[20..24].copy_from_slice(&0x1000_0001_u32.to_be_bytes());
    let said = bad(&decode("xtp", &packet_of(Format::Ecntl, &errors)));
    assert!(said[0].contains("nspan is 0x10000001"), "{said:?}");
    let xkey = TrafficControl { control: CONTROL, xkey: Key(5).returned(), traffic: TRAFFIC };
    let said = bad(&decode("xtp", &packet_of(Format::Tcntl, &octets!(xkey))));
    assert_eq!(said, ["xtp: xkey has RTN set, and is the sender's own"]);
}

fn packet_of(format: Format, payload: &[u8]) -> Vec<u8> {
    packet(of(format, Options::NONE), payload)
}

#[test]
fn padding_and_cuts_are_no_mistakes() {
    let mut padded = ethernet(ethertype::XTP, &all()[4]);
    padded.resize(80, 0);
    let packet = decode("ethernet", &padded);
    assert_eq!((bad(&packet), notes(&packet)), (vec![], vec![]));
    assert_eq!(value(&packet, "xtp", "padding").len(), 2 * (80 - 14 - 52));
    for (number, whole) in all().iter().enumerate() {
        for len in [LEN, LEN + 8, whole.len() - 1] {
            let mut record = super::arrange::record(1, kumiki_decode::capture::Link::Named("xtp"), &whole[..len]);
            record.original_len = whole.len();
            let packet = kumiki_decode::Decoder::new().decode(&record);
            assert_eq!(bad(&packet), [""; 0], "{number}, {len}");
        }
    }
}
