//! IPv6 headers and chains of them.

use proptest::prelude::*;

use super::extension::{Chain, Extension, Fragment, Unknown};
use super::*;
use crate::inet::ethernet::MacAddr;

fn emitted(header: &Header) -> Vec<u8> {
    let mut out = vec![0xff; LEN];
    header.emit(&mut out);
    out
}

fn header(next_header: u8) -> Header {
    Header {
        traffic_class: 0xb9,
        flow_label: 0x12345,
        payload_length: 24,
        next_header,
        hop_limit: 3,
        source: "fd00::1".parse().unwrap(),
        destination: "fd00::2".parse().unwrap(),
    }
}

#[test]
fn a_header_is_laid_out_as_in_the_standard() {
    let header = header(6);
    let mut octets = vec![0x6b, 0x91, 0x23, 0x45, 0, 24, 6, 3, 0xfd];
    octets.extend([0; 14]);
    octets.extend([1, 0xfd]);
    octets.extend([0; 14]);
    octets.push(2);
    assert_eq!(emitted(&header), octets);
    assert_eq!(Header::parse(&octets, 64), Ok((header, 40)));
    let text = "IPv6 fd00::1 > fd00::2 next header 6 length 24 hop limit 3 class 0xb9 flow 0x12345";
    assert_eq!(header.to_string(), text);
    let cut = Header::parse(&octets, 63);
    let field = "payload length";
    assert!(matches!(cut, Err(Malformed::Length { field: it, .. }) if it == field));
    octets[0] = 0x45;
    assert!(matches!(Header::parse(&octets, 64), Err(Malformed::Field { .. })));
}

#[test]
fn groups_and_identifiers_are_those_of_the_standard() {
    // RFC 4291 sections 2.7.1 and appendix A, RFC 2464 section 7.
    let asked = solicited_node("4037::1:800:200e:8c6c".parse().unwrap());
    assert_eq!(asked.to_string(), "ff02::1:ff0e:8c6c");
    let mac = MacAddr([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]);
    let own = link_local(mac.eui64());
    assert_eq!(own.to_string(), "fe80::3656:78ff:fe9a:bcde");
    let group = MacAddr::of_ipv6_group(asked);
    assert_eq!(group, MacAddr([0x33, 0x33, 0xff, 0x0e, 0x8c, 0x6c]));
    let group = MacAddr::of_ipv4_group([224, 129, 2, 3].into());
    assert_eq!(group, MacAddr([1, 0, 0x5e, 1, 2, 3]));
}

#[test]
fn a_chain_is_walked_to_what_it_carries() {
    let mut octets = emitted(&header(next_header::HOP_BY_HOP));
    // PadN, an option of 11 to be told of, Pad1; then destination options of 16 octets, then a fragment header.
    octets.extend([60, 0, 1, 0, 0xc2, 1, 9, 0]);
    octets.extend([44, 1, 1, 12]);
    octets.extend([0; 12]);
    octets.extend([17, 0, 0, 9, 0, 0, 0, 7]);
    let mut chain = Chain::new(&header(0), &octets);
    let hop = chain.next().unwrap().unwrap();
    let options: Vec<_> = hop.options().map(Result::unwrap).collect();
    assert_eq!(options.len(), 1);
    assert_eq!((options[0].kind, options[0].at), (0xc2, 44));
    assert_eq!(options[0].data, [9]);
    assert_eq!(options[0].unknown(), Unknown::TellUnlessGroup);
    let destination = chain.next().unwrap().unwrap();
    assert_eq!((destination.at, destination.field), (48, 40));
    assert_eq!(destination.options().count(), 0);
    let fragment = chain.next().unwrap().unwrap().fragment().unwrap();
    assert_eq!(fragment.to_string(), "fragment 8+ id 0x00000007");
    assert_eq!(chain.next(), None);
    assert_eq!(chain.upper(), (17, 72, 64));
    // One octet less, and the last header is not all there.
    let cut = &octets[..71];
    let walked: Vec<_> = Chain::new(&header(0), cut).collect();
    let (need, have) = (72, 71);
    let protocol = "IPv6";
    let short = Malformed::Short { protocol, need, have };
    assert_eq!(walked.last(), Some(&Err(short)));
}

#[test]
fn a_chain_without_end_is_given_up() {
    let mut octets = emitted(&header(next_header::DESTINATION));
    for _ in 0..20 {
        octets.extend([60, 0, 1, 4, 0, 0, 0, 0]);
    }
    let walked: Vec<_> = Chain::new(&header(60), &octets).collect();
    assert_eq!(walked.len(), 9);
    assert!(matches!(walked[8], Err(Malformed::Field { found: 9, .. })));
}

#[test]
fn options_say_what_to_do_with_those_who_do_not_know_them() {
    for (kind, expected) in
        [(0x3e, Unknown::Skip), (0x7e, Unknown::Discard), (0xbe, Unknown::Tell), (0xfe, Unknown::TellUnlessGroup)]
    {
        let data: &[u8] = &[];
        let option = extension::Opt { kind, data, at: 0 };
        assert_eq!(option.unknown(), expected);
    }
}

proptest! {
    #[test]
    fn what_was_emitted_is_parsed(
        traffic_class: u8, flow in 0u32..1 << 20, payload_length: u16, next_header: u8, hop_limit: u8,
        source: [u8; 16], destination: [u8; 16],
    ) {
        let header = Header {
            traffic_class, flow_label: flow, payload_length, next_header, hop_limit,
            source: source.into(), destination: destination.into(),
        };
        let total = LEN + usize::from(payload_length);
        prop_assert_eq!(Header::parse(&emitted(&header), total), Ok((header, LEN)));
    }

    #[test]
    fn fragment_headers_that_were_emitted_are_parsed(
        next_header: u8, offset in 0u16..1 << 13, more: bool, identification: u32,
    ) {
        let fragment = Fragment { next_header, offset, more, identification };
        let mut out = [0xff; 8];
        fragment.emit(&mut out);
        prop_assert_eq!(Fragment::parse(&out), Ok((fragment, 8)));
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, next: u8, total: usize) {
        let _ = Header::parse(&octets, total);
        for extension in Chain::new(&header(next), &octets).map_while(Result::ok) {
            let _ = extension.options().count();
            let _ = (extension.fragment(), extension.routing());
            let _ = extension.last_destination(Ipv6Addr::LOCALHOST);
        }
    }

    // Of kinds that can follow each other, with lengths as they come.
    #[test]
    fn no_chain_makes_it_panic(mut octets in proptest::collection::vec(any::<u8>(), 40..400)) {
        for at in (40..octets.len()).step_by(8) {
            octets[at] = [0, 43, 44, 60, 58][usize::from(octets[at]) % 5];
        }
        let mut chain = Chain::new(&header(0), &octets);
        let walked = chain.by_ref().map_while(Result::ok).inspect(|it| { let _ = it.options().count(); });
        prop_assert!(walked.count() <= extension::MOST);
        prop_assert!(chain.upper().1 <= octets.len());
    }
}

#[test]
fn a_routing_header_names_the_last_destination() {
    let last = |kind, left, rest: &[u8]| {
        let words = u8::try_from((rest.len() + 4) / 8 - 1).unwrap();
        let octets = [&[6, words, kind, left], rest].concat();
        let header = Extension { kind: next_header::ROUTING, next_header: 6, at: 40, field: 6, octets: &octets };
        let now = "fd00::2".parse().unwrap();
        header.last_destination(now).map(|it| it.to_string())
    };
    let address = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
    let (one, two) = (address("fd00::a"), address("fd00::b"));
    let some = |text: &str| Some(text.to_owned());
    let both = [&[0; 4], &one[..], &two].concat();
    assert_eq!(last(0, 2, &both), some("fd00::b"));
    assert_eq!(last(0, 1, &both), some("fd00::b"));
    assert_eq!(last(0, 0, &both), some("fd00::2"), "it is there");
    assert_eq!(last(0, 3, &both), None, "no such address");
    assert_eq!(last(0, 1, &[0; 12]), None, "half an address");
    let home = [&[0; 4], &one[..]].concat();
    assert_eq!(last(2, 1, &home), some("fd00::a"));
    assert_eq!(last(2, 2, &home), None);
    assert_eq!(last(2, 1, &both), None);
    // Last Entry is 1; the last segment is the first of the list.
    let segments = [&[1, 0, 0, 0], &one[..], &two].concat();
    assert_eq!(last(4, 1, &segments), some("fd00::a"));
    assert_eq!(last(4, 2, &segments), some("fd00::a"), "a reduced one");
    assert_eq!(last(4, 3, &segments), None);
    assert_eq!(last(4, 1, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    // Fifteen octets are left out of the first, twelve of the last; three pad it.
    let short = [&[0xfc, 0x30, 0, 0, 7][..], &[1, 2, 3, 4], &[0; 3]].concat();
    assert_eq!(last(3, 1, &short), some("fd00::102:304"));
    assert_eq!(last(3, 2, &short), some("fd00::102:304"));
    assert_eq!(last(3, 3, &short), None);
    assert_eq!(last(3, 1, &[0xfc, 0xf0, 0, 0]), None, "all of it pads");
    assert_eq!(last(3, 1, &[0x0c, 0x30, 0, 0, 7, 1, 2, 3, 4, 0, 0, 0]), None);
    assert_eq!(last(5, 1, &both), None, "an unknown type");
    assert_eq!(last(5, 0, &both), some("fd00::2"));
}
