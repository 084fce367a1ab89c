use super::*;
use proptest::prelude::*;

/// The SYN of `isode-bin-small.pcap`, written by Linux.
const LINUX_SYN: [u8; 20] =
    [0x45, 0x00, 0x00, 0x3c, 0x26, 0xa0, 0x40, 0x00, 0x40, 0x06, 0x16, 0x1a, 127, 0, 0, 1, 127, 0, 0, 1];

#[test]
fn a_header_that_linux_wrote_is_read_and_written() {
    let (header, len) = Header::parse(&LINUX_SYN, 60).unwrap();
    let expected = Header {
        total_length: 60,
        identification: 0x26a0,
        dont_fragment: true,
        protocol: protocol::TCP,
        header_checksum: 0x161a,
        source: Ipv4Addr::LOCALHOST,
        destination: Ipv4Addr::LOCALHOST,
        ..Header::default()
    };
    assert_eq!((header, len), (expected, 20));
    assert_eq!(header.checksum(), 0x161a);
    assert_eq!(header.data_len(), 40);
    assert_eq!(header.to_string(), "IPv4 127.0.0.1 > 127.0.0.1 protocol 6 length 60 ttl 64 id 9888 DF");
    let mut out = [0; 20];
    Header { header_checksum: 0, ..header }.emit_summed(&mut out);
    assert_eq!(out, LINUX_SYN);
}

#[test]
fn each_changed_bit_is_noticed() {
    for bit in 0..160 {
        let mut octets = LINUX_SYN;
        octets[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(Header::parse(&octets, 60).is_err(), "bit {bit}");
    }
}

#[test]
fn a_wrong_checksum_says_the_right_one() {
    let mut octets = LINUX_SYN;
    octets[10] = 0;
    let expected = Malformed::Checksum { protocol: "IPv4", field: "header checksum", found: 0x001a, expected: 0x161a };
    assert_eq!(Header::parse(&octets, 60), Err(expected));
    assert_eq!(Header::parse_quoted(&octets).unwrap().0.identification, 0x26a0);
}

#[test]
fn a_total_length_beyond_the_datagram_is_refused_and_padding_is_not() {
    assert!(Header::parse(&LINUX_SYN, 59).is_err());
    assert!(Header::parse(&LINUX_SYN, 60).is_ok());
    assert!(Header::parse(&LINUX_SYN, 64).is_ok());
}

#[test]
fn another_version_is_refused() {
    let expected = Malformed::Field { protocol: "IPv4", field: "version", found: 6, expected: "4" };
    assert_eq!(Header::parse(&[0x60; 40], 40), Err(expected));
}

#[test]
fn a_header_longer_than_what_is_at_hand_is_short() {
    let mut octets = LINUX_SYN;
    octets[0] = 0x46;
    let expected = Malformed::Short { protocol: "IPv4", need: 24, have: 20 };
    assert_eq!(Header::parse(&octets, 60), Err(expected));
}

#[test]
fn fragment_fields_follow_the_example_of_rfc_791() {
    // RFC 791 appendix A, example 2: a datagram of 452 data octets cut into 256 and 196.
    let first = Header { more_fragments: true, total_length: 276, ..Header::default() };
    let second = Header { fragment_offset: 32, total_length: 216, ..Header::default() };
    let whole = Header { total_length: 472, ..Header::default() };
    assert!(first.is_fragment() && second.is_fragment() && !whole.is_fragment());
    assert_eq!(first.fragment_start() + first.data_len(), second.fragment_start());
    assert_eq!(second.fragment_start() + second.data_len(), whole.data_len());
}

#[test]
fn the_ecn_bits_leave_the_dscp_alone() {
    let mut header = Header { type_of_service: 0xb8, ..Header::default() };
    for (bits, ecn) in [(0, Ecn::NotEct), (1, Ecn::Ect1), (2, Ecn::Ect0), (3, Ecn::Ce)] {
        header.set_ecn(ecn);
        assert_eq!((header.type_of_service, header.ecn(), header.dscp()), (0xb8 | bits, ecn, 46));
    }
}

#[test]
fn only_copied_options_go_into_later_fragments() {
    let octets = [kind(7), 7, 4, 0, 0, 0, 0, kind(131), 7, 4, 10, 0, 0, 1, kind(1), kind(148), 4, 0, 0];
    let options = Options::new(&octets).unwrap();
    assert_eq!(options.len(), 20);
    assert_eq!(options.to_string(), "record route 7 octets, loose source route 7 octets, nop, router alert 4 octets");
    let later = options.for_later_fragments();
    assert_eq!(later.as_octets(), [131, 7, 4, 10, 0, 0, 1, 148, 4, 0, 0, 0]);
}

const fn kind(kind: u8) -> u8 {
    kind
}

#[test]
fn options_end_at_an_illegal_length() {
    for bad in [&[7u8, 0, 0, 0][..], &[7, 1, 0, 0], &[7, 5, 0, 0], &[1, 1, 1, 7]] {
        let options = Options::new(bad).unwrap();
        let items: Vec<_> = options.items().collect();
        assert!(items.last().unwrap().is_err(), "{bad:?}");
        assert!(items[..items.len() - 1].iter().all(Result::is_ok), "{bad:?}");
    }
}

#[test]
fn more_options_than_a_header_holds_are_refused() {
    assert_eq!(Options::new(&[1; 41]), None);
    assert_eq!(Options::new(&[1; 40]).unwrap().len(), 40);
}

#[test]
fn the_pseudo_header_is_laid_out_as_in_rfc_9293() {
    let octets = pseudo_header(Ipv4Addr::new(1, 2, 3, 4), Ipv4Addr::new(5, 6, 7, 8), 6, 0x1234);
    assert_eq!(octets, [1, 2, 3, 4, 5, 6, 7, 8, 0, 6, 0x12, 0x34]);
}

#[test]
fn a_checksum_is_updated_as_in_the_example_of_rfc_1624() {
    assert_eq!(updated_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
}

prop_compose! {
    fn any_header()(
        (type_of_service, identification, dont_fragment, more_fragments) in any::<(u8, u16, bool, bool)>(),
        fragment_offset in 0u16..0x2000,
        (time_to_live, protocol, source, destination) in any::<(u8, u8, u32, u32)>(),
        options in proptest::collection::vec(any::<u8>(), 0..=40),
        data in 0u16..60000,
    ) -> Header {
        let options = Options::new(&options).unwrap();
        let mut header = Header {
            type_of_service, identification, dont_fragment, more_fragments, fragment_offset,
            time_to_live, protocol, options, header_checksum: 0,
            total_length: data + u16::try_from(MIN_LEN + options.len()).unwrap(),
            source: source.into(), destination: destination.into(),
        };
        header.header_checksum = header.checksum();
        header
    }
}

proptest! {
    #[test]
    fn what_was_emitted_is_parsed(header in any_header()) {
        let mut out = vec![0xff; header.len()];
        header.emit(&mut out);
        prop_assert_eq!(checksum(&out), header.header_checksum);
        prop_assert_eq!(Header::parse(&out, header.total_length.into()), Ok((header, out.len())));
    }

    #[test]
    fn a_plain_header_is_read_and_written_as_any_other(header in any_header(), bare: bool, flip in 0usize..400, more in 0usize..3) {
        let plain = Header { options: Options::NONE, more_fragments: false, fragment_offset: 0, ..header };
        let header = if bare { plain } else { header };
        let mut out = vec![0; header.len()];
        header.emit_summed(&mut out);
        if let Some(octet) = out.get_mut(flip / 8) {
            *octet ^= 1 << (flip % 8);
        }
        let total = usize::from(header.total_length) + more;
        let fixed = out.first_chunk().unwrap();
        let (s, d) = (out[12..16].try_into().map(u32::from_be_bytes), out[16..20].try_into().map(u32::from_be_bytes));
        let (source, destination) = (Ipv4Addr::from_bits(s.unwrap()), Ipv4Addr::from_bits(d.unwrap()));
        let read = PlainHeader::between(source, destination, fixed, total);
        let expected = Header::parse(&out, total).ok().filter(|(it, len)| {
            // The reserved flag is none of a plain header's.
            *len == MIN_LEN && !it.is_fragment() && out[6] < 0x80 && usize::from(it.total_length) == total
        });
        prop_assert_eq!(read.is_some(), expected.is_some());
        if let Some((plain, (header, _))) = read.zip(expected) {
            prop_assert_eq!(&plain.octets()[..], &out[..]);
            let whole = Header {
                type_of_service: plain.type_of_service,
                total_length: plain.total_length,
                identification: plain.identification,
                dont_fragment: plain.dont_fragment,
                time_to_live: plain.time_to_live,
                protocol: plain.protocol,
                source: plain.source,
                destination: plain.destination,
                header_checksum: header.header_checksum,
                ..Header::default()
            };
            prop_assert_eq!(whole, header);
        }
        let other = Ipv4Addr::from_bits(source.to_bits() ^ 1);
        prop_assert_eq!(PlainHeader::between(other, destination, fixed, total), None);
        prop_assert_eq!(PlainHeader::between(destination, other, fixed, total), None);
    }

    #[test]
    fn an_updated_checksum_is_the_computed_one(header in any_header(), time_to_live: u8) {
        let word = |header: &Header| u16::from_be_bytes([header.time_to_live, header.protocol]);
        let changed = Header { time_to_live, ..header };
        let updated = updated_checksum(header.header_checksum, word(&header), word(&changed));
        prop_assert_eq!(updated, changed.checksum());
    }

    #[test]
    fn one_hop_on_only_the_hops_and_the_checksum_differ(header in any_header()) {
        let mut passed = vec![0; header.len()];
        header.emit(&mut passed);
        header.one_hop_on().emit_hop(&mut passed);
        let time_to_live = header.time_to_live.saturating_sub(1);
        let mut expected = vec![0; header.len()];
        Header { time_to_live, ..header }.emit_summed(&mut expected);
        prop_assert_eq!(passed, expected);
    }

    #[test]
    fn no_octets_make_it_panic(mut octets: Vec<u8>, total: usize, as_ipv4: bool) {
        if as_ipv4 && let Some(first) = octets.first_mut() {
            *first = 0x40 | (*first & 0xf);
        }
        let _ = Header::parse(&octets, total);
        let _ = checksum(&octets);
        if let Ok((header, _)) = Header::parse_quoted(&octets) {
            let _ = (header.to_string(), header.options.for_later_fragments(), header.data_len());
            let _ = header.last_destination();
        }
    }
}

#[test]
fn a_source_route_that_has_not_ended_names_the_last_destination() {
    let last = |octets: &[u8]| {
        let header =
            Header { destination: [10, 0, 0, 254].into(), options: Options::new(octets).unwrap(), ..Header::default() };
        header.last_destination()
    };
    let gateway = Ok([10, 0, 0, 254].into());
    assert_eq!(last(&[]), gateway);
    assert_eq!(last(&[7, 7, 4, 10, 0, 0, 2]), gateway, "it records only");
    for kind in [131, 137] {
        let route = |pointer| [1, kind, 11, pointer, 10, 0, 0, 253, 10, 0, 0, 2];
        assert_eq!(last(&route(4)), Ok([10, 0, 0, 2].into()));
        assert_eq!(last(&route(8)), Ok([10, 0, 0, 2].into()));
        assert_eq!(last(&route(12)), gateway, "it has come to its end");
        for pointer in [0, 3, 5, 11] {
            assert!(last(&route(pointer)).is_err(), "{pointer}");
        }
        assert_eq!(last(&[kind, 3, 4]), gateway, "an empty one");
        assert!(last(&[kind, 3, 0]).is_err());
        assert!(last(&[kind, 6, 4, 10, 0, 0]).is_err());
        assert_eq!(last(&[kind, 2]), gateway, "without a pointer");
        assert_eq!(last(&[kind, 11, 4, 10]), gateway, "longer than the header");
    }
}
