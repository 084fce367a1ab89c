//! The TPDUs of an ISODE association, of libiec61850, and of RFC 905.

use proptest::prelude::*;

use super::*;

fn parse(octets: &[u8]) -> Tpdu {
    let (tpdu, len) = Tpdu::parse(octets, octets.len()).unwrap();
    assert_eq!(len, octets.len());
    tpdu
}

#[test]
fn the_tpdus_of_an_isode_association_are_read_and_written() {
    let octets = [0x0d, 0xe0, 0, 0, 0x21, 0x5f, 0, 0xc2, 2, 1, 3, 0xc0, 1, 0x0b];
    let request = parse(&octets);
    let Tpdu::Request(connection) = &request else {
        panic!("{request}");
    };
    assert_eq!(connection.src_ref, 0x215f);
    assert_eq!(connection.parameters.called, Some(Selector::new(&[1, 3]).unwrap()));
    assert_eq!(connection.size(), Some(2048));
    assert_eq!(request.to_string(), "CR dst 0000 src 215f class 0 called 0x0103 size 2048");
    assert_eq!(request.emit(), octets);

    let octets = [0x09, 0xd0, 0x21, 0x5f, 0x21, 0x8c, 0, 0xc0, 1, 0x0b];
    let confirm = parse(&octets);
    assert_eq!(confirm.to_string(), "CC dst 215f src 218c class 0 size 2048");
    assert_eq!(confirm.emit(), octets);

    let octets = [0x06, 0x80, 0x21, 0x8c, 0x21, 0x5f, 0x80];
    let disconnect = parse(&octets);
    assert_eq!(disconnect.to_string(), "DR dst 218c src 215f normal disconnect by the session entity");
    assert_eq!(disconnect.emit(), octets);

    for (octets, eot) in [([2, 0xf0, 0x80], true), ([2, 0xf0, 0], false)] {
        let data = parse(&octets);
        assert_eq!(data, Tpdu::Data(Data { eot }));
        assert_eq!(data.emit(), octets);
        let mut out = [0; DATA_LEN];
        Data { eot }.emit(&mut out);
        assert_eq!(out, octets);
    }
    // RFC 1006: TPDU-NR is ignored, and so is the credit.
    assert_eq!(parse(&[2, 0xf3, 0x85]), Tpdu::Data(Data { eot: true }));
}

#[test]
fn user_data_is_what_is_behind_the_header() {
    let front = [2, 0xf0, 0x80, 1, 0, 1, 0];
    let (data, len) = Tpdu::parse(&front, 2048).unwrap();
    assert_eq!((data, len), (Tpdu::Data(Data { eot: true }), 3));
}

#[test]
fn parameters_that_nobody_knows_are_kept_in_cr_and_refused_in_cc() {
    let mut octets = vec![0x0a, 0xe0, 0, 0, 0, 1, 0, 0xd7, 2, 0xab, 0xcd];
    let request = parse(&octets);
    let Tpdu::Request(connection) = &request else {
        panic!("{request}");
    };
    assert_eq!(connection.parameters.others, [(0xd7, vec![0xab, 0xcd])]);
    assert_eq!(request.emit(), octets);
    octets[1] = 0xd0;
    let refused = Tpdu::parse(&octets, octets.len()).unwrap_err();
    assert_eq!((refused.cause, refused.up_to), (Cause::ParameterCode, 8));
    assert_eq!(
        refused.to_string(),
        "CC: parameter code is 0xd7, expected one of those that ISO 8073 section 13.3.4 defines"
    );
}

#[test]
fn of_two_parameters_with_one_code_the_later_counts() {
    let octets = [0x0c, 0xe0, 0, 0, 0, 1, 0, 0xc0, 1, 7, 0xc0, 1, 10];
    let Tpdu::Request(connection) = parse(&octets) else {
        panic!("no CR");
    };
    assert_eq!(connection.size(), Some(1024));
}

#[test]
fn a_preferred_size_goes_before_the_size() {
    let octets = [0x0d, 0xe0, 0, 0, 0, 1, 0, 0xc0, 1, 0x0b, 0xf0, 2, 0x01, 0xff];
    let request = parse(&octets);
    let Tpdu::Request(connection) = &request else {
        panic!("{request}");
    };
    assert_eq!(connection.parameters.preferred, Some(511));
    assert_eq!(connection.size(), Some(65_408));
    assert_eq!(request.emit(), octets);
}

#[test]
fn class_0_may_be_the_second_choice() {
    let octets = [0x0a, 0xe4, 0, 0, 0, 1, 0x42, 0xc7, 2, 0x20, 0x00];
    let Tpdu::Request(connection) = parse(&octets) else {
        panic!("no CR");
    };
    assert_eq!((connection.class, connection.options), (4, 2));
    assert!(connection.allows_class_0());
}

#[test]
fn what_is_wrong_is_what_an_er_would_say() {
    for (octets, cause, up_to, text) in [
        (
            &[2, 0x10, 0x80][..],
            Cause::TpduType,
            2,
            "ED: TPDU code is 0x10, expected 0xe0 (CR), 0xd0 (CC), 0x80 (DR), 0xf0 (DT) or 0x70 (ER): class 0",
        ),
        (&[3, 0xf0, 0, 0x80], Cause::ParameterValue, 1, "DT: LI is 3 octets, expected 2"),
        (&[1, 0xf0], Cause::ParameterValue, 2, "DT: LI is 1 octet, expected 2 to 254"),
        (
            &[9, 0xe0, 0, 0, 0, 1, 0, 0xc0, 1, 6],
            Cause::ParameterValue,
            10,
            "CR: TPDU size is 0x6, expected 0x7 (128 octets) to 0xd (8192 octets)",
        ),
        (
            &[9, 0xe0, 0, 0, 0, 1, 0, 0xc1, 2, 6],
            Cause::ParameterValue,
            10,
            "CR: parameter value is 9 octets, expected 10 to 254",
        ),
        (&[6, 0xe0, 0, 0, 0, 1, 0x50], Cause::ParameterValue, 7, "CR: class is 0x5, expected 0 to 4"),
        (&[5, 0x80, 0, 0, 0, 1], Cause::ParameterValue, 6, "DR: LI is 5 octets, expected 6 to 254"),
        (&[6, 0xe0, 0, 0], Cause::NotSpecified, 4, "CR: LI is 6 octets, expected 2 to 3"),
    ] {
        let refused = Tpdu::parse(octets, octets.len()).unwrap_err();
        assert_eq!(refused.to_string(), text);
        assert_eq!((refused.cause, refused.up_to), (cause, up_to), "{text}");
    }
}

#[test]
fn an_er_holds_as_much_of_the_tpdu_as_there_is_room() {
    let error = Tpdu::Error(Error { dst_ref: 1, cause: Cause::ParameterCode, invalid: vec![7; 300] });
    let octets = error.emit();
    assert_eq!(octets.len(), MOST_HEADER);
    assert_eq!(octets[..8], [254, 0x70, 0, 1, 1, 0xc1, 248, 7]);
    let Tpdu::Error(read) = parse(&octets) else {
        panic!("no ER");
    };
    assert_eq!(read.invalid.len(), 248);
    assert_eq!(read.to_string(), "ER dst 0001 invalid parameter code");
}

fn selectors() -> impl Strategy<Value = Option<Selector>> {
    proptest::option::of(
        proptest::collection::vec(any::<u8>(), 0..=32).prop_map(|octets| Selector::new(&octets).unwrap()),
    )
}

fn connections() -> impl Strategy<Value = Connection> {
    let parameters =
        (
            selectors(),
            selectors(),
            proptest::option::of(7_u8..=13),
            proptest::option::of(1_u32..),
            proptest::option::of(any::<u8>()),
            proptest::option::of(any::<u8>()),
            proptest::collection::vec((0_u8..5).prop_map(|class| class << 4), 0..4),
            proptest::collection::vec((0x85_u8..0x8c, proptest::collection::vec(any::<u8>(), 0..20)), 0..3),
        )
            .prop_map(|(calling, called, size, preferred, version, options, alternatives, others)| {
                Parameters { calling, called, size, preferred, version, options, alternatives, others }
            });
    (any::<u16>(), any::<u16>(), 0_u8..5, 0_u8..16, parameters).prop_map(
        |(dst_ref, src_ref, class, options, parameters)| Connection { dst_ref, src_ref, class, options, parameters },
    )
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(
        tpdu in prop_oneof![
            connections().prop_map(Tpdu::Request),
            connections().prop_map(Tpdu::Confirm),
            any::<bool>().prop_map(|eot| Tpdu::Data(Data { eot })),
            (any::<u16>(), any::<u16>(), any::<u8>(), proptest::collection::vec(any::<u8>(), 0..60))
                .prop_map(|(dst_ref, src_ref, reason, additional)| Tpdu::Disconnect(Disconnect { dst_ref, src_ref, reason, additional })),
            (any::<u16>(), any::<u8>(), proptest::collection::vec(any::<u8>(), 0..60))
                .prop_map(|(dst_ref, cause, invalid)| Tpdu::Error(Error { dst_ref, cause: cause.into(), invalid })),
        ],
        more in proptest::collection::vec(any::<u8>(), 0..9),
    ) {
        let header = tpdu.emit();
        let octets = [header.clone(), more].concat();
        prop_assert_eq!(Tpdu::parse(&octets, octets.len()), Ok((tpdu, header.len())));
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..40), code in 0_u8..16) {
        let _ = Tpdu::parse(&octets, octets.len());
        let mut octets = octets;
        if octets.len() > 2 {
            octets[0] = u8::try_from(octets.len() - 1).unwrap();
            octets[1] = code << 4;
            if let Ok((tpdu, len)) = Tpdu::parse(&octets, octets.len()) {
                prop_assert_eq!(len, octets.len());
                prop_assert!(!tpdu.to_string().is_empty());
            }
        }
    }
}
