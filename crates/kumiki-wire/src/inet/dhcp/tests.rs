//! Messages of DHCP.

use proptest::prelude::*;

use super::*;

fn emitted(header: &Header) -> Vec<u8> {
    let mut out = vec![0xff; header.len()];
    header.emit(&mut out);
    out
}

/// A message with these options, and no others but its end.
fn message(options: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; FIXED];
    octets[..4].copy_from_slice(&[2, 1, 6, 0]);
    octets[236..].copy_from_slice(&COOKIE);
    octets.extend_from_slice(options);
    octets.push(code::END);
    octets
}

fn octet(length: usize) -> u8 {
    u8::try_from(length).unwrap()
}

fn options(octets: &[u8]) -> Result<Options, Malformed> {
    Header::parse(octets).map(|(header, _)| header.options)
}

#[test]
fn a_discover_is_laid_out_as_in_the_standard() {
    let header = Header {
        xid: 0x0102_0304,
        secs: 5,
        broadcast: true,
        chaddr: MacAddr([2, 0, 0, 0, 0, 1]),
        options: Options { parameters: vec![1, 3, 6], client: vec![1, 2, 0, 0, 0, 0, 1], ..Options::default() },
        ..Header::default()
    };
    let octets = emitted(&header);
    assert_eq!(octets.len(), SHORTEST);
    assert_eq!(octets[..12], [1, 1, 6, 0, 1, 2, 3, 4, 0, 5, 0x80, 0]);
    assert_eq!(octets[12..28], [0; 16]);
    assert_eq!(octets[28..44], [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(octets[236..240], [99, 130, 83, 99]);
    assert_eq!(octets[240..258], [53, 1, 1, 61, 7, 1, 2, 0, 0, 0, 0, 1, 55, 3, 1, 3, 6, 255]);
    assert_eq!(Header::parse(&octets), Ok((header.clone(), SHORTEST)));
    assert_eq!(header.to_string(), "DHCP discover 0x01020304 0.0.0.0 for 02:00:00:00:00:01");
}

#[test]
fn what_a_server_says_is_read() {
    let octets = message(&[
        0, 53, 1, 5, 51, 4, 0, 0, 14, 16, 54, 4, 10, 0, 0, 1, 1, 4, 255, 255, 240, 0, 3, 8, 10, 0, 0, 1, 10, 0, 0, 2,
        6, 4, 10, 0, 0, 53, 26, 2, 5, 120, 12, 3, 1, 2, 3,
    ]);
    let said = options(&octets).unwrap();
    let address = |host| Ipv4Addr::new(10, 0, 0, host);
    let expected = Options {
        kind: Kind::Ack,
        lease_s: Some(3600),
        server: Some(address(1)),
        prefix: Some(20),
        routers: vec![address(1), address(2)],
        resolvers: vec![address(53)],
        mtu: Some(1400),
        ..Options::default()
    };
    assert_eq!(said, expected);
}

// The examples of RFC 3442, "Classless Route Option Format".
#[test]
fn classless_routes_are_as_wide_as_they_say() {
    let router = Ipv4Addr::new(10, 9, 9, 1);
    let cases: [(&[u8], [u8; 4]); 8] = [
        (&[0], [0, 0, 0, 0]),
        (&[8, 10], [10, 0, 0, 0]),
        (&[24, 10, 0, 0], [10, 0, 0, 0]),
        (&[16, 10, 17], [10, 17, 0, 0]),
        (&[24, 10, 27, 129], [10, 27, 129, 0]),
        (&[25, 10, 229, 0, 128], [10, 229, 0, 128]),
        (&[32, 10, 198, 122, 47], [10, 198, 122, 47]),
        // Bits beyond the width mean nothing.
        (&[9, 10, 255], [10, 128, 0, 0]),
    ];
    for (said, network) in cases {
        let value = [said, &router.octets()].concat();
        let octets = message(&[&[53, 1, 5, 121, octet(value.len())][..], &value].concat());
        let expected = Route { network: network.into(), prefix: said[0], router };
        assert_eq!(options(&octets).unwrap().routes, [expected]);
    }
    for wrong in [&[33, 1, 2, 3, 4, 5, 1, 1, 1, 1][..], &[24, 10, 0, 0, 1, 1, 1], &[24, 10], &[8, 10, 1, 1, 1, 1, 0]] {
        let octets = message(&[&[53, 1, 5, 121, octet(wrong.len())][..], wrong].concat());
        assert!(options(&octets).is_err(), "{wrong:?}");
    }
}

#[test]
fn options_go_on_in_the_fields_for_names_first_that_of_the_file() {
    let mut octets = message(&[53, 1, 5, 52, 1, 3, 6, 4, 10, 0, 0, 1]);
    octets[FILE][..7].copy_from_slice(&[6, 4, 10, 0, 0, 2, 255]);
    octets[NAME][..7].copy_from_slice(&[6, 4, 10, 0, 0, 3, 255]);
    let servers =
        |octets: &[u8]| -> Vec<u8> { options(octets).unwrap().resolvers.iter().map(|it| it.octets()[3]).collect() };
    assert_eq!(servers(&octets), [1, 2, 3]);
    for (overload, expected) in [(1, vec![1, 2]), (2, vec![1, 3])] {
        octets[FIXED + 5] = overload;
        assert_eq!(servers(&octets), expected);
    }
}

#[test]
fn what_is_too_long_for_one_option_is_in_pieces() {
    let resolvers: Vec<Ipv4Addr> = (0..100).map(|n| Ipv4Addr::new(10, 0, 0, n)).collect();
    let header = Header { options: Options { resolvers, ..Options::default() }, ..Header::default() };
    let octets = emitted(&header);
    assert_eq!(octets.len(), FIXED + 3 + 2 * 2 + 400 + 1);
    assert_eq!(Header::parse(&octets).unwrap().0, header);
}

#[test]
fn what_cannot_be_is_refused() {
    let good = message(&[53, 1, 2]);
    assert!(Header::parse(&good).is_ok());
    for (at, field) in [(0, "op"), (1, "htype"), (2, "hlen"), (237, "cookie"), (242, "message type")] {
        let mut octets = good.clone();
        octets[at] = 77;
        let Err(Malformed::Field { field: found, .. }) = Header::parse(&octets) else { panic!("{field}") };
        assert_eq!(found, field);
    }
    assert!(matches!(Header::parse(&good[..FIXED - 1]), Err(Malformed::Short { need: FIXED, have: 239, .. })));
    for wrong in [&[51, 3, 0, 0, 0][..], &[3, 0], &[3, 5, 1, 1, 1, 1, 1], &[1, 4, 255, 0, 255, 0], &[54, 200, 1]] {
        assert!(options(&message(&[&[53, 1, 2], wrong].concat())).is_err(), "{wrong:?}");
    }
    for overload in [0, 4, 255] {
        assert!(options(&message(&[53, 1, 2, 52, 1, overload])).is_err(), "{overload}");
    }
    // What is less than the least is not said.
    let low = options(&message(&[53, 1, 2, 26, 2, 0, 67, 57, 2, 2, 63])).unwrap();
    assert_eq!((low.mtu, low.longest), (None, None));
    let least = options(&message(&[53, 1, 2, 26, 2, 0, 68, 57, 2, 2, 64])).unwrap();
    assert_eq!((least.mtu, least.longest), (Some(68), Some(576)));
    // BOOTP.
    assert!(options(&message(&[1, 4, 255, 0, 0, 0])).is_err());
}

fn any_address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}

fn any_route() -> impl Strategy<Value = Route> {
    (any::<u32>(), 0..=32_u8, any_address()).prop_map(|(network, prefix, router)| {
        let kept = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        Route { network: Ipv4Addr::from_bits(network & kept), prefix, router }
    })
}

prop_compose! {
    fn any_options()(
        kind in 1..=8_u8,
        addresses in proptest::collection::vec(any_address(), 0..90),
        [requested, server] in proptest::array::uniform2(proptest::option::of(any_address())),
        [lease_s, t1_s, t2_s] in proptest::array::uniform3(proptest::option::of(any::<u32>())),
        prefix in proptest::option::of(0..=32_u8),
        routes in proptest::collection::vec(any_route(), 0..40),
        mtu in proptest::option::of(68..=u16::MAX),
        longest in proptest::option::of(576..=u16::MAX),
        [client, parameters, message] in proptest::array::uniform3(proptest::collection::vec(any::<u8>(), 0..300)),
        routers in 0..20_usize,
    ) -> Options {
        let routers = addresses.iter().copied().take(routers).collect();
        Options {
            kind: Kind::of(kind).unwrap(),
            requested, lease_s, t1_s, t2_s, server, prefix, routers, routes, resolvers: addresses, mtu, longest,
            client, parameters, message,
        }
    }
}

proptest! {
    #[test]
    fn what_was_emitted_is_parsed(
        options in any_options(), is_reply: bool, hops: u8, xid: u32, secs: u16, broadcast: bool,
        addresses in proptest::array::uniform4(any_address()), chaddr: [u8; 6],
    ) {
        let [ciaddr, yiaddr, siaddr, giaddr] = addresses;
        let chaddr = MacAddr(chaddr);
        let header =
            Header { is_reply, hops, xid, secs, broadcast, ciaddr, yiaddr, siaddr, giaddr, chaddr, options };
        let octets = emitted(&header);
        prop_assert_eq!(Header::parse(&octets), Ok((header, octets.len())));
    }

    // Every message that octets can give is emitted to octets that give it again.
    #[test]
    fn what_was_parsed_is_emitted_and_parsed(
        end in proptest::collection::vec(any::<u8>(), 0..200), overload in 0..4_u8,
        pieces in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..12)), 0..12),
    ) {
        let mut octets = message(&[53, 1, 2, 52, 1, overload]);
        octets.pop();
        for (code, value) in pieces {
            octets.extend([code, octet(value.len())]);
            octets.extend(value);
        }
        octets[44..44 + end.len().min(192)].copy_from_slice(&end[..end.len().min(192)]);
        octets.extend(end);
        if let Ok((header, _)) = Header::parse(&octets) {
            let again = emitted(&header);
            prop_assert_eq!(Header::parse(&again), Ok((header, again.len())));
        }
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, behind in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Header::parse(&octets);
        if let Ok((header, _)) = Header::parse(&message(&[&[53, 1, 2], &behind[..]].concat())) {
            let _ = header.to_string();
        }
    }
}
