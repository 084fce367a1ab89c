//! ICMPv6 messages and the options of neighbour discovery.

use proptest::prelude::*;

use super::option::{Opt, Opts, Prefix};
use super::*;
use crate::inet::ethernet::MacAddr;

fn emitted(header: &Header) -> Vec<u8> {
    let mut out = vec![0xff; header.len()];
    header.emit(&mut out);
    out
}

fn option(option: Opt<'_>) -> Vec<u8> {
    let mut out = vec![0xff; option.len()];
    option.emit(&mut out);
    out
}

const TARGET: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x102);

#[test]
fn messages_are_laid_out_as_in_the_standards() {
    let mut target = vec![0xfe, 0x80];
    target.extend([0; 12]);
    target.extend([1, 2]);
    let with_target = |front: [u8; 8], more: &[u8]| [&front[..], &target[..], more].concat::<u8>();
    let (router, solicited, overrides) = (true, false, true);
    let cases: [(Message, Vec<u8>); 10] = [
        (Message::DestinationUnreachable { code: 4 }, vec![1, 4, 0xab, 0xcd, 0, 0, 0, 0]),
        (Message::PacketTooBig { mtu: 0x1_0500 }, vec![2, 0, 0xab, 0xcd, 0, 1, 5, 0]),
        (Message::TimeExceeded { code: 1 }, vec![3, 1, 0xab, 0xcd, 0, 0, 0, 0]),
        (Message::ParameterProblem { code: 2, pointer: 42 }, vec![4, 2, 0xab, 0xcd, 0, 0, 0, 42]),
        (Message::Echo { identifier: 0x102, sequence: 0x304 }, vec![128, 0, 0xab, 0xcd, 1, 2, 3, 4]),
        (Message::RouterSolicitation, vec![133, 0, 0xab, 0xcd, 0, 0, 0, 0]),
        (
            Message::RouterAdvertisement(Router {
                hop_limit: 64,
                managed: true,
                other: false,
                lifetime_s: 1800,
                reachable_ms: 30_000,
                retrans_ms: 1000,
            }),
            vec![134, 0, 0xab, 0xcd, 64, 0x80, 7, 8, 0, 0, 0x75, 0x30, 0, 0, 3, 0xe8],
        ),
        (Message::NeighbourSolicitation { target: TARGET }, with_target([135, 0, 0xab, 0xcd, 0, 0, 0, 0], &[])),
        (
            Message::NeighbourAdvertisement { router, solicited, overrides, target: TARGET },
            with_target([136, 0, 0xab, 0xcd, 0xa0, 0, 0, 0], &[]),
        ),
        (
            Message::Redirect { target: TARGET, destination: TARGET },
            with_target([137, 0, 0xab, 0xcd, 0, 0, 0, 0], &target),
        ),
    ];
    for (message, octets) in cases {
        let checksum = 0xabcd;
        let header = Header { message, checksum };
        assert_eq!(emitted(&header), octets, "{header}");
        assert_eq!(Header::parse(&octets), Ok((header, octets.len())));
        let cut = &octets[..octets.len() - 1];
        assert!(matches!(Header::parse(cut), Err(Malformed::Short { .. })));
    }
}

#[test]
fn errors_and_redirects_are_never_answered_with_errors() {
    let of = |kind: u8| Header::parse(&[kind; 40]).unwrap().0.is_error();
    assert!([1, 2, 3, 4, 100, 127, 137].into_iter().all(of));
    assert!(![128, 129, 133, 134, 135, 136, 200].into_iter().any(of));
}

#[test]
fn options_are_read_one_after_the_other_and_unknown_ones_are_shown_as_such() {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    let prefix = Prefix {
        len: 64,
        on_link: true,
        autonomous: true,
        valid_s: 2_592_000,
        preferred_s: 604_800,
        prefix: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0),
    };
    let nonce = Opt::Other { kind: 14, data: &[1, 2, 3, 4, 5, 6] };
    let servers = [[0xfd; 16], [0x20; 16]];
    let resolvers = Opt::Resolvers { lifetime_s: 0x102, addresses: &servers };
    let all = [Opt::Source(mac), nonce, Opt::Mtu(1400), Opt::Prefix(prefix), Opt::Target(mac), resolvers];
    let octets = all.map(option).concat();
    // RFC 8106 section 5.1.
    assert_eq!(octets[octets.len() - 40..octets.len() - 30], [25, 5, 0, 0, 0, 0, 1, 2, 0xfd, 0xfd]);
    assert_eq!(octets[..8], [1, 1, 2, 0, 0, 0, 0, 1]);
    assert_eq!(octets[16..24], [5, 1, 0, 0, 0, 0, 0x05, 0x78]);
    assert_eq!(octets[24..28], [3, 4, 64, 0xc0]);
    let read: Vec<_> = Opts::new(&octets).map(Result::unwrap).collect();
    assert_eq!(read, all);
}

#[test]
fn an_option_of_no_length_ends_the_walk() {
    let octets = [5, 1, 0, 0, 0, 0, 5, 0, 1, 0, 9, 9, 9, 9, 9, 9];
    let read: Vec<_> = Opts::new(&octets).collect();
    assert_eq!(read[0], Ok(Opt::Mtu(1280)));
    assert!(matches!(read[1], Err(Malformed::Length { found: 0, .. })));
    assert_eq!(read.len(), 2);
}

#[test]
fn resolvers_that_are_not_whole_are_an_unknown_option() {
    let whole = [&[25, 3, 0, 0, 0, 0, 0, 9][..], &[7; 16]].concat();
    assert_eq!(Opts::new(&whole).next(), Some(Ok(Opt::Resolvers { lifetime_s: 9, addresses: &[[7; 16]] })));
    for units in [1, 2, 4] {
        let mut octets = vec![0; 8 * usize::from(units)];
        (octets[0], octets[1]) = (25, units);
        assert!(matches!(Opts::new(&octets).next(), Some(Ok(Opt::Other { kind: 25, .. }))), "{units}");
    }
}

proptest! {
    // Every header that octets can give is emitted to octets that give it again.
    #[test]
    fn what_was_emitted_is_parsed(
        octets in proptest::collection::vec(any::<u8>(), 40), kind in 0usize..14,
    ) {
        let mut octets = octets;
        octets[0] = [0, 1, 2, 3, 4, 127, 128, 129, 133, 134, 135, 136, 137, 143][kind];
        let (header, len) = Header::parse(&octets).unwrap();
        let out = emitted(&header);
        prop_assert_eq!(out.len(), len);
        prop_assert_eq!(Header::parse(&out), Ok((header, len)));
    }

    #[test]
    fn options_that_were_emitted_are_parsed(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut octets = octets;
        // Few units, so that there is more than one.
        if let Some(units) = octets.get_mut(1) { *units %= 6; }
        if let Some(kind) = octets.get_mut(0) { *kind %= 26; }
        for read in Opts::new(&octets).map_while(Result::ok) {
            let out = option(read);
            prop_assert_eq!(Opts::new(&out).next(), Some(Ok(read)));
        }
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let _ = Opts::new(&octets).count();
        if let Ok((header, _)) = Header::parse(&octets) {
            let _ = header.to_string();
        }
    }
}
