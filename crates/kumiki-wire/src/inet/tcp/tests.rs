use super::accecn::Order;
use super::*;
use proptest::prelude::*;

/// The TCP headers of the first packets of `isode-bin-small.pcap`, written by Linux: SYN, SYN-ACK, ACK.
const LINUX_SYN: [u8; 40] = [
    0xd5, 0xa6, 0x27, 0x76, 0x3a, 0xfa, 0x87, 0xe1, 0, 0, 0, 0, 0xa0, 0x02, 0xff, 0xd7, 0xfe, 0x30, 0, 0, 0x02, 0x04,
    0xff, 0xd7, 0x04, 0x02, 0x08, 0x0a, 0x2e, 0xce, 0xa3, 0xb4, 0, 0, 0, 0, 0x01, 0x03, 0x03, 0x0a,
];
const LINUX_SYN_ACK: [u8; 40] = [
    0x27, 0x76, 0xd5, 0xa6, 0xbc, 0x97, 0x7f, 0x4a, 0x3a, 0xfa, 0x87, 0xe2, 0xa0, 0x12, 0xff, 0xcb, 0xfe, 0x30, 0, 0,
    0x02, 0x04, 0xff, 0xd7, 0x04, 0x02, 0x08, 0x0a, 0x4d, 0x95, 0x0b, 0x02, 0x2e, 0xce, 0xa3, 0xb4, 0x01, 0x03, 0x03,
    0x0a,
];
const LINUX_ACK: [u8; 32] = [
    0xd5, 0xa6, 0x27, 0x76, 0x3a, 0xfa, 0x87, 0xe2, 0xbc, 0x97, 0x7f, 0x4b, 0x80, 0x10, 0x00, 0x40, 0xfe, 0x28, 0, 0,
    0x01, 0x01, 0x08, 0x0a, 0x2e, 0xce, 0xa3, 0xb4, 0x4d, 0x95, 0x0b, 0x02,
];

fn emitted(header: &Header) -> Vec<u8> {
    let mut out = vec![0xff; header.len()];
    header.emit(&mut out);
    out
}

fn options_emitted(options: Options) -> Vec<u8> {
    let mut out = vec![0xff; options.len()];
    options.emit(&mut out);
    out
}

// RFC 9293: MUST-4, MUST-5
#[test]
fn a_syn_that_linux_wrote_is_read() {
    let (header, len) = Header::parse(&LINUX_SYN, 40).unwrap();
    let expected = Header {
        source_port: 54694,
        destination_port: 10102,
        seq: Seq(0x3afa_87e1),
        ack: Seq(0),
        flags: Flags::SYN,
        window: 65495,
        checksum: 0xfe30,
        urgent_pointer: 0,
        options: Options {
            mss: Some(65495),
            window_scale: Some(10),
            sack_permitted: true,
            timestamps: Some((785_294_260, 0)),
            ..Options::NONE
        },
    };
    assert_eq!((header, len), (expected, 40));
    assert_eq!(
        header.to_string(),
        "TCP 54694 > 10102 SYN seq 989497313 win 65495 <mss 65495, sackOK, TS val 785294260 ecr 0, wscale 10>"
    );
}

#[test]
fn headers_that_linux_wrote_come_out_octet_by_octet() {
    for octets in [&LINUX_SYN[..], &LINUX_SYN_ACK, &LINUX_ACK] {
        let (header, len) = Header::parse(octets, octets.len()).unwrap();
        assert_eq!(len, octets.len());
        assert_eq!(emitted(&header), octets);
    }
}

// RFC 9293: MUST-14, MUST-68, MUST-69
#[test]
fn options_take_the_places_that_linux_gives_them() {
    let (mss, window_scale, timestamps) = (Some(1460), Some(7), Some((1, 2)));
    const TS: [u8; 10] = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let none = Options::NONE;
    let cases: [(Options, Vec<u8>); 6] = [
        (Options { mss, sack_permitted: true, window_scale, ..none }, vec![2, 4, 5, 180, 1, 1, 4, 2, 1, 3, 3, 7]),
        (Options { mss, sack_permitted: true, timestamps, ..none }, [&[2, 4, 5, 180, 4, 2], &TS[..]].concat()),
        (Options { mss, sack_permitted: true, ..none }, vec![2, 4, 5, 180, 1, 1, 4, 2]),
        (Options { mss, window_scale, ..none }, vec![2, 4, 5, 180, 1, 3, 3, 7]),
        (Options { mss, timestamps, window_scale, ..none }, [&[2, 4, 5, 180, 1, 1], &TS[..], &[1, 3, 3, 7]].concat()),
        (
            Options { timestamps, sack: sack(1), ..none },
            [&[1, 1], &TS[..], &[1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 5]].concat(),
        ),
    ];
    for (options, octets) in cases {
        assert_eq!(options_emitted(options), octets, "{options}");
        assert_eq!(Options::parse(&octets), options);
    }
}

/// As the scripts of Linux for packetdrill have it (`tcp_accecn_*.pkt`), recalled.
#[test]
fn accurate_ecn_takes_the_place_that_linux_gives_it() {
    let (mss, window_scale, timestamps) = (Some(1460), Some(8), Some((1, 2)));
    const TS: [u8; 10] = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    const FULL: [u8; 11] = [174, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    let none = Options::NONE;
    let ecn = |order, used, e0b, ceb, e1b| Some(AccEcn::new(order, used, e0b, ceb, e1b));
    let cases: [(Options, Vec<u8>); 6] = [
        // SYN,ACK: mss, sackOK, TS, ECN, nop, nop, wscale.
        (
            Options {
                mss,
                sack_permitted: true,
                timestamps,
                window_scale,
                accecn: ecn(Order::One, 3, 1, 0, 1),
                ..none
            },
            [&[2, 4, 5, 180, 4, 2], &TS[..], &FULL, &[1, 1, 3, 3, 8]].concat(),
        ),
        // Without timestamps: mss, ECN, nop, nop, nop, sackOK, nop, wscale.
        (
            Options { mss, sack_permitted: true, window_scale, accecn: ecn(Order::One, 3, 1, 0, 1), ..none },
            [&[2, 4, 5, 180], &FULL[..], &[1, 1, 1, 4, 2, 1, 3, 3, 8]].concat(),
        ),
        // Later: nop, nop, TS, ECN, nop.
        (Options { timestamps, accecn: ecn(Order::One, 3, 1, 0, 1), ..none }, [&[1, 1], &TS[..], &FULL, &[1]].concat()),
        (Options { accecn: ecn(Order::Zero, 1, 1001, 9, 9), ..none }, vec![172, 5, 0, 3, 233, 1, 1, 1]),
        // One field and SACK share a word.
        (
            Options { accecn: ecn(Order::Zero, 1, 1001, 9, 9), sack: sack(1), ..none },
            vec![172, 5, 0, 3, 233, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 5],
        ),
        (Options { accecn: ecn(Order::Zero, 0, 9, 9, 9), ..none }, vec![172, 2, 1, 1]),
    ];
    for (options, octets) in cases {
        assert_eq!(options_emitted(options), octets, "{options}");
        assert_eq!(Options::parse(&octets), options);
    }
}

/// RFC 9768 section 3.2.3: of any other length, the whole fields count.
#[test]
fn an_accurate_ecn_option_of_a_strange_length_is_read_as_far_as_it_goes() {
    let read = |octets: &[u8]| Options::parse(octets).accecn.unwrap();
    let long = read(&[172, 13, 0, 0, 1, 0, 0, 2, 0, 0, 3, 9, 9]);
    assert_eq!((long.ee0b(), long.eceb(), long.ee1b(), long.used()), (Some(1), Some(2), Some(3), 3));
    let cut = read(&[174, 7, 0, 0, 1, 0, 0]);
    assert_eq!((cut.ee0b(), cut.eceb(), cut.ee1b(), cut.used()), (None, None, Some(1), 1));
    assert!(Options::parse(&[172, 13, 0]).illegal_length);
    assert_eq!(read(&[174, 4, 0, 0]).to_string(), "ECN");
    assert_eq!(long.to_string(), "ECN e0b 1 ceb 2 e1b 3");
}

fn sack(blocks: u32) -> SackBlocks {
    let mut all = SackBlocks::EMPTY;
    for n in 0..blocks {
        all.push(SackBlock { left: Seq(10 * n), right: Seq(10 * n + 5) });
    }
    all
}

#[test]
fn sack_blocks_that_do_not_fit_are_left_out() {
    let alone = Options { sack: sack(4), ..Options::NONE };
    assert_eq!((alone.sack_room(), alone.len()), (4, 36));
    let beside = Options { timestamps: Some((1, 2)), ..alone };
    assert_eq!((beside.sack_room(), beside.len()), (3, 40));
    assert_eq!(Options::parse(&options_emitted(beside)).sack, sack(3));
    let full = Options { mss: Some(1), window_scale: Some(1), sack_permitted: true, ..beside };
    assert_eq!((full.sack_room(), full.len()), (2, 40));
    assert!(!sack(4).clone().push(SackBlock::default()));
}

// RFC 9293: MUST-6, MUST-64
#[test]
fn unknown_options_are_stepped_over() {
    // Kind 34 (fast open) and the experimental kind 254, odd lengths, nothing aligned (MUST-6, MUST-64).
    let octets = [34, 3, 0xaa, 254, 5, 1, 2, 3, 2, 4, 5, 180, 3, 3, 7, 4, 2, 0, 9, 9];
    let options = Options::parse(&octets);
    let expected = Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::NONE };
    assert_eq!(options, expected);
}

// RFC 9293: MUST-4
#[test]
fn nothing_after_the_end_of_the_list_counts() {
    assert_eq!(Options::parse(&[0, 2, 4, 5, 180, 0, 0, 0]), Options::NONE);
}

// RFC 9293: MUST-7
#[test]
fn an_illegal_option_length_is_survived() {
    let kept = Options { mss: Some(1460), illegal_length: true, ..Options::NONE };
    // No way on: lengths 0 and 1, one beyond the header, none at all.
    for tail in [&[3u8, 0, 7, 1][..], &[3, 1, 7, 1], &[34, 200, 0, 0], &[1, 1, 1, 8]] {
        let octets = [&[2, 4, 5, 180][..], tail].concat();
        assert_eq!(Options::parse(&octets), kept, "{tail:?}");
    }
    // A length that the kind cannot have, but that says where the next begins.
    for tail in
        [&[2u8, 3, 9][..], &[3, 4, 7, 7], &[4, 3, 0], &[8, 9, 0, 0, 0, 0, 0, 0, 0], &[5, 2], &[5, 6, 1, 2, 3, 4]]
    {
        let octets = [tail, &[2, 4, 5, 180]].concat();
        assert_eq!(Options::parse(&octets), kept, "{tail:?}");
    }
}

#[test]
fn the_items_tell_every_option_apart() {
    let octets = [1, 34, 3, 0xaa, 4, 2, 0, 0];
    let items: Vec<_> = options::items(&octets).map(Result::unwrap).map(|i| (i.kind, i.data)).collect();
    assert_eq!(items, [(1, &[][..]), (34, &[0xaa]), (4, &[])]);
}

#[test]
fn the_nine_flags_have_the_bits_of_the_registry() {
    let mut octets = LINUX_ACK;
    octets[12] |= 0x0f;
    octets[13] = 0xff;
    let (header, _) = Header::parse(&octets, 32).unwrap();
    assert_eq!(header.flags.bits(), 0x1ff);
    assert_eq!(header.flags.to_string(), "SYN,FIN,RST,PSH,URG,ACK,ECE,CWR,AE");
    // The three reserved bits are not sent on.
    assert_eq!(emitted(&header)[12..14], [0x81, 0xff]);
    assert_eq!(Flags::NONE.to_string(), "-");
    assert!((Flags::SYN | Flags::ACK).contains(Flags::SYN) && !Flags::SYN.contains(Flags::SYN | Flags::ACK));
    assert!(Flags::SYN.intersects(Flags::SYN | Flags::ACK));
    assert_eq!((Flags::SYN | Flags::ACK).without(Flags::SYN), Flags::ACK);
}

#[test]
fn a_data_offset_below_five_or_beyond_the_segment_is_refused() {
    let mut octets = LINUX_ACK;
    octets[12] = 0x40;
    assert!(matches!(Header::parse(&octets, 32), Err(Malformed::Field { field: "data offset", found: 4, .. })));
    octets[12] = 0x90;
    assert!(matches!(Header::parse(&octets, 32), Err(Malformed::Length { found: 36, most: 32, .. })));
    assert_eq!(Header::parse(&octets, 40), Err(Malformed::Short { protocol: "TCP", need: 36, have: 32 }));
    assert_eq!(Header::parse(&octets[..19], 40), Err(Malformed::Short { protocol: "TCP", need: 20, have: 19 }));
}

prop_compose! {
    fn any_accecn()(one: bool, used in 0..=3_usize, (e0b, ceb, e1b) in any::<(u32, u32, u32)>()) -> AccEcn {
        AccEcn::new(if one { Order::One } else { Order::Zero }, used, e0b, ceb, e1b)
    }
}

prop_compose! {
    fn any_header()(
        (source_port, destination_port, seq, ack) in any::<(u16, u16, u32, u32)>(),
        (flags, window, checksum, urgent_pointer) in any::<(u16, u16, u16, u16)>(),
        (mss, window_scale, sack_permitted, timestamps) in any::<(Option<u16>, Option<u8>, bool, Option<(u32, u32)>)>(),
        accecn in proptest::option::of(any_accecn()), minutes in any::<Option<u16>>(),
        blocks in proptest::collection::vec(any::<(u32, u32)>(), 0..=4),
    ) -> Header {
        let user_timeout = minutes.map(|value| UserTimeout { value: value & 0x7fff, minutes: true });
        let mut options = Options { mss, window_scale, sack_permitted, timestamps, user_timeout, accecn, ..Options::NONE };
        for (left, right) in blocks.into_iter().take(options.sack_room()) {
            options.sack.push(SackBlock { left: Seq(left), right: Seq(right) });
        }
        Header {
            source_port, destination_port, seq: Seq(seq), ack: Seq(ack), flags: Flags::from_bits(flags),
            window, checksum, urgent_pointer, options,
        }
    }
}

proptest! {
    #[test]
    fn what_was_emitted_is_parsed(header in any_header(), data in 0usize..3) {
        let out = emitted(&header);
        prop_assert!(out.len() <= MAX_LEN && out.len().is_multiple_of(4));
        prop_assert_eq!(Header::parse(&out, out.len() + data), Ok((header, out.len())));
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>, total: usize) {
        if let Ok((header, _)) = Header::parse(&octets, total) {
            let _ = (header.to_string(), emitted(&header));
        }
        let _ = Options::parse(&octets).to_string();
    }
}

proptest! {
    #[test]
    fn a_plain_header_is_written_and_summed_as_any_other(
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32)>(),
        push: bool,
        window: u16,
        timestamps in any::<Option<(u32, u32)>>(),
    ) {
        let ((source_port, destination_port), (seq, ack)) = (ports, (Seq(numbers.0), Seq(numbers.1)));
        let plain = PlainHeader { source_port, destination_port, seq, ack, push, window, timestamps };
        let flags = if push { Flags::ACK | Flags::PSH } else { Flags::ACK };
        let options = Options { timestamps, ..Options::NONE };
        let header = Header { source_port, destination_port, seq, ack, flags, window, options, ..Header::default() };
        let mut expected = vec![0; header.len()];
        header.emit(&mut expected);
        let (octets, len) = plain.octets();
        prop_assert_eq!(&octets[..len], &expected[..]);
        prop_assert_eq!(PlainHeader::parse(&octets[..len]), Some(plain));
        prop_assert_eq!(plain.sum().folded(), Sum::of(&expected).folded());
    }
}

proptest! {
    #[test]
    fn only_a_plain_header_is_read_as_one(octets in prop::collection::vec(any::<u8>(), 0..=PlainHeader::MAX_LEN), plain: bool) {
        let mut octets = octets;
        if plain && octets.len() >= MIN_LEN {
            octets.resize(if octets.len() < PlainHeader::MAX_LEN { MIN_LEN } else { PlainHeader::MAX_LEN }, 0);
            octets[12] = u8::try_from(octets.len() / 4).unwrap() << 4;
            octets[13] &= 0x18;
            octets[18..20].fill(0);
            if let Some(option) = octets.get_mut(MIN_LEN..MIN_LEN + 4) {
                option.copy_from_slice(&[1, 1, 8, 10]);
            }
        }
        if let Some(read) = PlainHeader::parse(&octets) {
            let (header, len) = Header::parse(&octets, octets.len()).unwrap();
            prop_assert_eq!(len, octets.len());
            prop_assert_eq!(header.flags.contains(Flags::PSH), read.push);
            let options = Options { timestamps: read.timestamps, ..Options::NONE };
            prop_assert_eq!((header.seq, header.ack, header.window, header.options), (read.seq, read.ack, read.window, options));
            prop_assert_eq!((header.source_port, header.destination_port), (read.source_port, read.destination_port));
        }
    }
}
