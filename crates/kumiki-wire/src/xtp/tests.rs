use super::*;
use kumiki_octets::Sum;
use proptest::prelude::*;
use std::net::SocketAddr;

/// Packets written by hand from the layout; `tshark` 4.0.17 found the checksum of each good. Where data follows, it is
/// the octets 00 to 3f.
const FIRST: &str = "0000000100000001 20400022 00000068 c9f0 0000 00000001 0000000000000000
    0010 00 01 0a000002 0a000001 1389 1771
    0018 04 01 00002328 000f4240 00002328 000f4240 00002328";
const CNTL: &str = "8000000100000001 00000021 00000014 7f77 0000 00000000 0000000000000000
    0000000000000040 0000000000100000 00000001";
const TCNTL: &str = "8000000100000001 00000025 00000038 8d16 0000 00000000 0000000000000000
    0000000000000040 0000000000100000 00000001 00000000 0000000200000007
    0018 04 01 00002328 000f4240 00002328 000f4240 00002328";
const DATA: &str = "8000000200000007 00240020 00000040 9b2c 0000 00000002 0000000000000040";
const NOCHECK: &str = "8000000200000007 40000020 00000040 3f14 0000 00000002 0000000000000080";
const TAGGED: &str = "8000000200000007 02010020 00000048 5575 1234 00000002 00000000000000c0
    5441475441475441";
const ECNTL: &str = "0000000200000007 00000023 00000038 f804 0000 00000003 0000000000000000
    0000000000000100 0000000000100000 00000002 00000002
    0000000000000140 0000000000000180 00000000000001c0 0000000000000200";
const WCLOSE: &str = "8000000200000007 00080020 00000040 9b7f 0000 00000004 0000000200000005";
const CLOSE: &str = "0000000200000007 001a0021 00000014 fe4e 0000 00000005 0000000000000000
    0000000000000140 0000000000100000 00000004";
const DIAG: &str = "8000000100000001 00000028 00000018 32a1 0000 00000000 0000000000000000
    00000001 00000001 6e6f206c697374656e6572 0000000000";
const JCNTL: &str = "0000000100000001 08000027 00000048 b824 0000 00000001 0000000000000000
    0000000000000000 0000000000100000 00000000 00000000 0000000200000007
    0010 00 01 e0000101 0a000002 1389 1771
    0018 06 01 00002328 00000000 00000000 00000000 00000000";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| u8::try_from(digit).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn with_data(text: &str) -> Vec<u8> {
    let mut octets = hex(text);
    octets.extend(0..64);
    octets
}

fn all() -> [Vec<u8>; 11] {
    [
        with_data(FIRST),
        hex(CNTL),
        hex(TCNTL),
        with_data(DATA),
        with_data(NOCHECK),
        with_data(TAGGED),
        hex(ECNTL),
        with_data(WCLOSE),
        hex(CLOSE),
        hex(DIAG),
        hex(JCNTL),
    ]
}

fn header(octets: &[u8]) -> Header {
    let (header, len) = Header::parse(octets, octets.len()).unwrap();
    assert_eq!(len, LEN);
    header
}

fn emitted(header: &Header) -> Vec<u8> {
    let mut out = vec![0xff; header.len()];
    header.emit(&mut out);
    out
}

macro_rules! written {
    ($what:expr) => {{
        let what = &$what;
        let mut out = vec![0xff; what.len()];
        what.emit(&mut out);
        out
    }};
}

#[test]
fn a_first_packet_is_read() {
    let octets = with_data(FIRST);
    let found = header(&octets);
    let expected = Header {
        key: Key(0x1_0000_0001),
        options: Options::EDGE | Options::SREQ,
        format: Format::First,
        dlen: 104,
        check: 0xc9f0,
        sort: 0,
        sync: 1,
        seq: 0,
    };
    assert_eq!(found, expected);
    assert_eq!(found.to_string(), "XTP FIRST key 1:1 EDGE,SREQ sync 1 seq 0 dlen 104");
    let (first, len) = First::parse(&octets[LEN..]).unwrap();
    let at = |text: &str| text.parse::<SocketAddr>().unwrap();
    assert_eq!(
        first,
        First {
            address: Address::Ip { domain: 0, destination: at("10.0.0.2:5001"), source: at("10.0.0.1:6001") },
            traffic: Traffic {
                service: service::RELIABLE_STREAM,
                rates: Some(Rates {
                    maxdata: 9000,
                    inrate: 1_000_000,
                    inburst: 9000,
                    outrate: 1_000_000,
                    outburst: 9000,
                }),
            },
        }
    );
    assert_eq!(
        first.to_string(),
        "10.0.0.1:6001 > 10.0.0.2:5001 service 4 maxdata 9000 in 1000000/9000 out 1000000/9000"
    );
    assert_eq!(octets[LEN + len..], (0..64).collect::<Vec<u8>>());
    assert_eq!(written!(first), octets[LEN..LEN + len]);
}

#[test]
fn control_packets_are_read_and_written() {
    let octets = hex(CNTL);
    let found = header(&octets);
    assert!(found.key.is_returned() && found.key.own() == Key(0x1_0000_0001));
    assert_eq!(found.key.own().returned(), found.key);
    assert_eq!(found.key.to_string(), "return 1:1");
    let control = Control::parse_whole(&octets[LEN..]).unwrap();
    assert_eq!(control.to_string(), "rseq 64 alloc 1048576 echo 1");
    assert_eq!(written!(control), octets[LEN..]);

    let octets = hex(TCNTL);
    let traffic = TrafficControl::parse(&octets[LEN..]).unwrap();
    assert_eq!(traffic.xkey, Key(0x2_0000_0007));
    assert_eq!(written!(traffic), octets[LEN..]);

    let octets = hex(ECNTL);
    let errors = Errors::parse(&octets[LEN..]).unwrap();
    assert_eq!(errors.to_string(), "rseq 256 alloc 1048576 echo 2 spans 320-384 448-512");
    assert_eq!(written!(errors), octets[LEN..]);

    let octets = hex(JCNTL);
    let join = Join::parse(&octets[LEN..]).unwrap();
    assert_eq!(
        join.to_string(),
        "rseq 0 alloc 1048576 echo 0 xkey 2:7 10.0.0.2:6001 > 224.0.1.1:5001 service 6 maxdata 9000 in 0/0 out 0/0"
    );
    assert_eq!(written!(join), octets[LEN..]);

    let octets = hex(CLOSE);
    let options = header(&octets).options;
    assert_eq!(options, Options::RCLOSE | Options::WCLOSE | Options::END);
    assert_eq!(options.to_string(), "RCLOSE,WCLOSE,END");

    let octets = hex(DIAG);
    let (diagnosis, len) = Diagnosis::parse(&octets[LEN..]).unwrap();
    assert_eq!(diagnosis.to_string(), "context refused: no listener");
    assert_eq!(written!(diagnosis), octets[LEN..LEN + len]);
    assert_eq!(octets[LEN + len..][..11], *b"no listener");
}

#[test]
fn the_other_headers_are_read() {
    let found = header(&with_data(TAGGED));
    assert_eq!(found.to_string(), "XTP DATA key return 2:7 SORT,BTAG sort 0x1234 sync 2 seq 192 dlen 72");
    let found = header(&with_data(DATA));
    assert_eq!(found.options, Options::DREQ | Options::EOM);
    let found = header(&with_data(WCLOSE));
    assert_eq!((found.seq, found.sync), (0x2_0000_0005, 4));
}

#[test]
fn headers_come_out_octet_by_octet() {
    for octets in all() {
        assert_eq!(emitted(&header(&octets)), octets[..LEN]);
    }
}

#[test]
fn checksums_that_tshark_found_good_are_good_here() {
    for octets in all() {
        let covered = covered(&octets, octets.len()).unwrap();
        let nocheck = header(&octets).options.contains(Options::NOCHECK);
        assert_eq!(covered, if nocheck { LEN } else { octets.len() });
        assert!(Sum::of(&octets[..covered]).is_valid());
        // And only what is covered counts.
        let mut spoilt = octets.clone();
        *spoilt.last_mut().unwrap() ^= 0x55;
        assert_eq!(Sum::of(&spoilt[..covered]).is_valid(), nocheck);
    }
}

#[test]
fn padding_of_a_link_is_no_part_of_a_packet() {
    let mut octets = hex(CNTL);
    octets.extend([0; 8]);
    assert_eq!(header(&octets).dlen, 20);
    assert_eq!(covered(&octets, octets.len()), Some(52));
    assert_eq!(covered(&octets[..LEN], 51), None);
}

fn refusal(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut octets = with_data(DATA);
    change(&mut octets);
    let error = Header::parse(&octets, octets.len()).unwrap_err();
    error.to_string()
}

#[test]
fn a_refusal_says_what_would_be_right() {
    assert_eq!(refusal(|it| it.truncate(31)), "XTP: 31 octets, at least 32 needed");
    assert_eq!(refusal(|it| it[11] = 0x40), "XTP: version is 0x2, expected 1 (XTP 4.0)");
    assert_eq!(
        refusal(|it| it[8] |= 0x80),
        "XTP: options is 0x802400, expected bits of mask 0x7fff00, the others are not assigned"
    );
    assert!(refusal(|it| it[10] |= 0x01).starts_with("XTP: options is 0x2401"));
    for format in [4, 6, 9, 31] {
        let text = refusal(|it| it[11] = 0x20 | format);
        assert!(text.ends_with("expected 0 to 3, 5, 7 or 8"), "{text}");
    }
    assert_eq!(refusal(|it| it[19] = 1), "XTP: sort is 0x1, expected 0 where SORT is not set");
    assert_eq!(refusal(|it| it[15] = 65), "XTP: dlen is 65 octets, expected 1 to 64");
    assert_eq!(refusal(|it| it[15] = 0), "XTP: dlen is 0 octets, expected 1 to 64");
    // A tag is no data.
    assert_eq!(refusal(|it| (it[9], it[15]) = (0x01 | it[9], 8)), "XTP: dlen is 8 octets, expected 9 to 64");
}

#[test]
fn more_spans_than_there_is_room_for_are_refused_before_anything_is_multiplied() {
    let octets = hex(ECNTL);
    let mut payload = octets[LEN..].to_vec();
    for nspan in [3, 0x1000_0000, 0x1000_0002, u32::MAX] {
        payload[20..24].copy_from_slice(&nspan.to_be_bytes());
        let error = Errors::parse(&payload).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("XTP: nspan is {nspan:#x}, expected no more spans than dlen has room for")
        );
    }
    payload[20..24].copy_from_slice(&1u32.to_be_bytes());
    assert!(Errors::parse(&payload).is_err());
}

#[test]
fn a_segment_of_another_length_than_its_format_has_is_refused() {
    let octets = with_data(FIRST);
    let change = |at: usize, to: u8| {
        let mut payload = octets[LEN..].to_vec();
        payload[at] = to;
        First::parse(&payload).map(|it| it.0)
    };
    let text = |error: Result<First, Malformed>| error.unwrap_err().to_string();
    assert_eq!(text(change(1, 17)), "XTP: alen is 17 octets, expected 16");
    assert_eq!(text(change(1, 3)), "XTP: alen is 3 octets, expected 16");
    assert_eq!(text(change(3, 6)), "XTP: alen is 16 octets, expected 40");
    assert_eq!(text(change(17, 23)), "XTP: tlen is 23 octets, expected 24");
    assert_eq!(text(change(19, 2)), "XTP: tformat is 0x2, expected 0 or 1");
    let other = change(3, 4).unwrap().address;
    let Address::Other { format, octets, .. } = other else {
        panic!("{other}");
    };
    assert_eq!((format, octets.len()), (4, 12));
}

#[test]
fn addresses_of_ipv6_take_forty_octets() {
    let at = |text: &str| text.parse::<SocketAddr>().unwrap();
    let address = Address::Ip { domain: 3, destination: at("[fd00::2]:5001"), source: at("[fd00::1]:6001") };
    let octets = written!(address);
    assert_eq!(octets[..4], [0, 40, 3, 6]);
    assert_eq!(octets.len(), 40);
    assert_eq!(Address::parse(&octets), Ok((address, 40)));
}

fn addresses() -> impl Strategy<Value = Address> {
    let ip4 = any::<(u8, [u8; 4], u16, [u8; 4], u16)>().prop_map(|(domain, to, p, from, q)| Address::Ip {
        domain,
        destination: SocketAddr::new(to.into(), p),
        source: SocketAddr::new(from.into(), q),
    });
    let ip6 = any::<(u8, [u8; 16], u16, [u8; 16], u16)>().prop_map(|(domain, to, p, from, q)| Address::Ip {
        domain,
        destination: SocketAddr::new(to.into(), p),
        source: SocketAddr::new(from.into(), q),
    });
    let other = (any::<u8>(), 7u8.., prop::collection::vec(any::<u8>(), 0..40))
        .prop_map(|(domain, format, octets)| Address::Other { domain, format, octets });
    prop_oneof![Just(Address::Null), ip4, ip6, other]
}

fn traffics() -> impl Strategy<Value = Traffic> {
    any::<(u8, Option<[u32; 5]>)>().prop_map(|(service, rates)| Traffic {
        service,
        rates: rates.map(|[maxdata, inrate, inburst, outrate, outburst]| Rates {
            maxdata,
            inrate,
            inburst,
            outrate,
            outburst,
        }),
    })
}

fn controls() -> impl Strategy<Value = Control> {
    any::<(u64, u64, u32)>().prop_map(|(rseq, alloc, echo)| Control { rseq, alloc, echo })
}

proptest! {
    #[test]
    fn what_was_emitted_is_parsed(
        key: u64, bits: u32, format in 0usize..7, check: u16, sort: u16, sync: u32, seq: u64,
        dlen in 56u32..70_000, more in 0usize..64,
    ) {
        let formats = [
            Format::Data, Format::Cntl, Format::First, Format::Ecntl, Format::Tcntl, Format::Jcntl, Format::Diag,
        ];
        let options = Options::from_bits(bits);
        let sort = if options.contains(Options::SORT) { sort } else { 0 };
        let header = Header { key: Key(key), options, format: formats[format], dlen, check, sort, sync, seq };
        let total = LEN + usize::try_from(dlen).unwrap() + more;
        prop_assert_eq!(Header::parse(&emitted(&header), total), Ok((header, LEN)));
    }

    #[test]
    fn payloads_that_were_emitted_are_parsed(
        control in controls(), spans in prop::collection::vec(any::<(u64, u64)>(), 0..9), xkey: u64,
        address in addresses(), traffic in traffics(), code: u32, val: u32, data: Vec<u8>,
    ) {
        prop_assert_eq!(Control::parse_whole(&written!(control)), Ok(control));
        let spans = spans.into_iter().map(|(left, right)| Span { left, right }).collect();
        let errors = Errors { control, spans };
        prop_assert_eq!(Errors::parse(&written!(errors)), Ok(errors));
        let xkey = Key(xkey);
        let traffic_control = TrafficControl { control, xkey, traffic };
        prop_assert_eq!(TrafficControl::parse(&written!(traffic_control)), Ok(traffic_control));
        let join = Join { control, xkey, address: address.clone(), traffic };
        prop_assert_eq!(Join::parse(&written!(join)), Ok(join));
        let first = First { address, traffic };
        let mut octets = written!(first);
        let len = octets.len();
        octets.extend(data);
        prop_assert_eq!(First::parse(&octets), Ok((first, len)));
        let diagnosis = Diagnosis { code, val };
        prop_assert_eq!(Diagnosis::parse(&written!(diagnosis)), Ok((diagnosis, 8)));
    }

    #[test]
    fn no_octets_make_it_panic(mut octets: Vec<u8>, format in 0u8..32, total: usize, like_ours: bool) {
        if like_ours && octets.len() >= LEN {
            octets[11] = VERSION << 5 | format;
        }
        let _ = covered(&octets, total);
        let _ = Header::parse(&octets, total);
        let _ = Control::parse_whole(&octets);
        let _ = Errors::parse(&octets);
        let _ = TrafficControl::parse(&octets);
        let _ = Join::parse(&octets);
        let _ = First::parse(&octets);
        let _ = Diagnosis::parse(&octets);
    }
}
