//! The SPDUs of an ISODE association and of libiec61850; all others both ways.

use kumiki_osi_service::Selector;
use kumiki_osi_service::session::{FunctionalUnits, Reference, Resync as Kind, TokenSetting, Tokens};
use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn one(octets: &[u8]) -> Spdu {
    let mut spdus = parse(Message::from_octets(octets)).unwrap();
    assert_eq!(spdus.len(), 1, "{spdus:?}");
    spdus.pop().unwrap()
}

fn refused(octets: &str) -> String {
    parse(Message::from_octets(&hex(octets))).unwrap_err().to_string()
}

/// Both ways.
fn same(octets: &str, text: &str) -> Spdu {
    let octets = hex(octets);
    let spdu = one(&octets);
    assert_eq!(spdu.to_string(), text);
    assert_eq!(spdu.clone().into_tsdu().unwrap().to_vec(), octets);
    spdu
}

const REFERENCE: &str = "0b 10 17 0e 3132363131323031 35303233305a";

#[test]
fn cn_and_ac_of_an_isode_association_are_read_and_written() {
    let data = "31".repeat(228);
    let cn = format!("0d ff 010c 01 18 0a 04 14 02 766d {REFERENCE} 05 06 13 01 00 16 01 02 14 02 0002 c1 e4 {data}");
    let Spdu::Connect(cn) = same(&cn, "CN kernel, duplex data 228") else {
        panic!("no CN");
    };
    assert_eq!(cn.versions, version::TWO);
    assert_eq!(cn.functional_units, FunctionalUnits::DUPLEX);
    let reference = cn.reference.unwrap();
    assert_eq!(reference.user, [0x14, 2, b'v', b'm']);
    assert_eq!(reference.common.len(), 16);
    assert!(!cn.extended_concatenation && cn.calling.is_none());

    let data = "31".repeat(150);
    let ac = format!("0e be 01 18 09 04 14 02 766d {REFERENCE} 05 06 13 01 00 16 01 02 14 02 0002 c1 96 {data}");
    let Spdu::Accept(ac) = same(&ac, "AC kernel, duplex data 150") else {
        panic!("no AC");
    };
    assert_eq!(ac.reference.unwrap().user, [0x14, 2, b'v', b'm']);
}

#[test]
fn data_costs_four_octets_and_is_not_copied() {
    let page = kumiki_octets::Page::copied(&[0x61; 5000], 1);
    let held = page.octets().as_ptr();
    let data = Message::from_page(page);
    let tsdu = Spdu::Data(Enclosed::whole(data)).into_tsdu().unwrap();
    assert_eq!(tsdu.len(), 5004);
    assert_eq!(tsdu.to_vec()[..5], [1, 0, 1, 0, 0x61]);
    let mut spdus = parse(tsdu).unwrap();
    let Some(Spdu::Data(Enclosed { enclosure: None, data: Some(data) })) = spdus.pop() else {
        panic!("{spdus:?}");
    };
    assert_eq!(data.slices()[0].octets().unwrap().as_ptr(), held);
}

#[test]
fn release_abort_and_data_are_read_and_written() {
    same("09 09 11 01 01 c1 04 61 02 30 00", "FN data 4");
    same("0a 06 c1 04 61 02 30 00", "DN data 4");
    same("08 02 c1 00", "NF data 0");
    // libiec61850 ends so.
    let abort = same("19 15 11 01 0b c1 10 a00e610c300a020101a00564038001 00", "AB by the user data 16");
    let Spdu::Abort(abort) = abort else {
        panic!("{abort}");
    };
    assert!(!abort.keeps_transport());
    same("19 06 11 01 05 31 01 09", "AB protocol error");
    same("1a 00", "AA");
    same("01 00 01 03 19 01 01 abcd", "DT first part data 2");
    same("01 00 01 03 19 01 02", "DT last part data 0");
    same("21 00 ab", "TD data 1");
    same("21 03 19 01 00 ab", "TD middle part data 1");
    same("05 00 ab", "EX data 1");
    same("0c 03 32 01 81", "RF session selector unknown");
    let refuse = same(
        "0c 10 01 04 0b 02 17 00 11 01 01 32 05 02 61 02 30 00",
        "RF the called user refused, and its data says why",
    );
    let Spdu::Refuse(refuse) = refuse else {
        panic!("{refuse}");
    };
    assert_eq!(refuse.data.unwrap().to_vec(), [0x61, 2, 0x30, 0]);
}

#[test]
fn tokens_points_and_resynchronisation_are_read_and_written() {
    same("01 03 10 01 05", "GT tokens 0x05");
    same("02 06 10 01 01 c1 01 ab", "PT tokens 0x01 data 1");
    same("15 00", "GTC");
    same("16 00", "GTA");
    same("01 00 31 03 2a 01 31", "MIP 1");
    same("01 00 31 0f 0f 01 01 2a 06 393939393939 c1 02 abcd", "MIP 999999 data 2");
    // Its user data is another parameter.
    same("01 00 32 06 2a 01 37 2e 01 ab", "MIA 7 data 1");
    same("01 00 29 06 0f 01 01 2a 01 37", "MAP 7");
    same("01 00 2a 03 2a 01 37", "MAA 7");
    let resync = same("01 00 35 0a 1a 01 55 1b 01 01 2a 02 3132", "RS abandon 12");
    let Spdu::Resync(resync) = resync else {
        panic!("{resync}");
    };
    assert_eq!(resync.tokens, Some(TokenSetting::RESPONDER));
    assert_eq!(resync.kind, Kind::Abandon);
    same("01 00 22 06 1a 01 55 2a 01 30", "RA 0");
    same("07 03 18 01 02", "PR type 2");
    same("01 00 00 05 31 03 010203", "ER");
    same("01 00 30 06 32 01 05 c1 01 ab", "ED reason 5 data 1");
    same("10 09 15 04 0800 0000 16 01 02", "OA");
    same("0f 06 19 01 02 c1 01 ab", "CDO last part data 1");
    assert_eq!(one(&hex("01 00 2d 03 29 01 31")).to_string(), "AS");
    assert_eq!(one(&hex("01 00 19 03 32 01 05")).to_string(), "AI");
    assert_eq!(one(&hex("01 00 3d 03 c1 01 05")).to_string(), "CD data 1");
}

#[test]
fn category_two_needs_one_of_category_zero_in_front() {
    // GT with a token, then two of category 2.
    let octets = hex("01 03 10 01 04 31 03 2a 01 31 01 00 abcd");
    let spdus = parse(Message::from_octets(&octets)).unwrap();
    let texts: Vec<String> = spdus.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["GT tokens 0x04", "MIP 1", "DT data 2"]);
    let both =
        Spdu::MinorSync(Point { open: false, number: 1, data: Enclosed::default() }).behind(Tokens::MINOR).unwrap();
    assert_eq!(both.to_vec(), octets[..10]);

    let place = "expected GT or PT before it and nothing else (category 2), or nothing before and behind it (1)";
    assert_eq!(refused("31 03 2a 01 31"), format!("MIP: SI is 0x31, {place}"));
    assert_eq!(refused("01 00 0a 00"), format!("DN: SI is 0xa, {place}"));
    assert_eq!(refused("0a 00 0a 00"), format!("DN: SI is 0xa, {place}"));
    assert_eq!(refused("01 00 02 00"), format!("PT: SI is 0x2, {place}"));
    // Alone it is what it says: nothing.
    assert_eq!(one(&hex("01 00")).to_string(), "GT tokens 0x00");
    let many = "01 00".to_owned() + &"31 03 2a 01 31".repeat(8);
    assert_eq!(refused(&many), "TSDU: SPDUs is 0x9, expected at most 8");
}

#[test]
fn what_is_wrong_is_named() {
    for (octets, text) in [
        ("", "SPDU: 0 octets, at least 2 needed"),
        ("0d", "SPDU: 1 octet, at least 2 needed"),
        ("0d ff 01", "SPDU: 3 octets, at least 4 needed"),
        ("7f 00", "SPDU: SI is 0x7f, expected one that X.225 defines at this place"),
        ("0d 05 00", "CN: LI is 5 octets, expected 0 to 1"),
        ("0d 03 14 02 00", "CN: session user requirements is 2 octets, expected 0 to 1"),
        ("0d 03 14 01 00", "CN: session user requirements is 1 octet, expected 2"),
        ("0d 05 05 03 16 02 01", "CN: version number is 2 octets, expected 0 to 1"),
        ("0a 01 19", "DN: 1 octet, at least 2 needed"),
        ("01 00 31 00", "MIP: serial number is 0 octets, expected 1 to 6"),
        ("01 00 31 02 2a 00", "MIP: serial number is 0 octets, expected 1 to 6"),
        ("01 00 31 03 2a 01 41", "MIP: serial number is 0x41, expected decimal digits, 0x30 to 0x39"),
        ("01 00 31 09 2a 07 30303030303030", "MIP: serial number is 7 octets, expected 1 to 6"),
        ("01 00 35 06 1b 01 03 2a 01 31", "RS: resync type item is 0x3, expected 0 (restart), 1 (abandon) or 2 (set)"),
        ("07 00", "PR: prepare type is 0x0, expected 1 (MAA), 2 (RS), 3 (RA) or 4 (AB)"),
        ("0c 02 32 00", "RF: reason code is 0 octets, expected 1 to 65535"),
    ] {
        assert_eq!(refused(octets), text);
    }
    let long = format!("0d 13 34 11 {}", "00".repeat(17));
    assert_eq!(refused(&long), "CN: called session selector is 17 octets, expected 0 to 16");
    let long = format!("0d 45 01 43 0a 41 {}", "00".repeat(65));
    assert_eq!(refused(&long), "CN: calling user reference is 65 octets, expected 0 to 64");
}

#[test]
fn any_order_is_read_and_the_unknown_passed_over() {
    let spdu = one(&hex("0d 13 c1 01 ab 14 02 0003 c8 02 1234 05 06 16 01 03 63 01 00"));
    let Spdu::Connect(cn) = spdu else {
        panic!("{spdu}");
    };
    assert_eq!(cn.versions, version::ONE | version::TWO);
    assert_eq!(cn.functional_units.0, 3);
    assert_eq!(cn.data.data.unwrap().to_vec(), [0xab]);
    // Without anything: version 1 and the functional units of old.
    let Spdu::Connect(cn) = one(&[0x0d, 0]) else {
        panic!("no CN");
    };
    assert_eq!(cn.versions, version::ONE);
    assert_eq!(cn.functional_units.0, 0x0349);
    // The long form of a short length, and an unknown parameter of more than 64 octets.
    let long = format!("0d ff 0066 c8 64 {}", "00".repeat(100));
    one(&hex(&long));
}

#[test]
fn user_data_of_cn_has_three_sizes() {
    let cn = |len: usize, overflow| {
        let mut cn = Connection::new(FunctionalUnits::DUPLEX);
        cn.data = Enclosed::whole(Message::from_octets(&vec![7; len]));
        cn.overflow = overflow;
        Spdu::Connect(Box::new(cn))
    };
    for (len, overflow, code) in [(512, false, 193), (513, false, 194), (10_240, true, 194)] {
        let spdu = cn(len, overflow);
        let octets = spdu.clone().into_tsdu().unwrap().to_vec();
        let at = octets.len() - len - 4;
        assert_eq!(octets[at], code);
        assert_eq!(one(&octets), spdu);
    }
    let why = cn(65_530, false).emit().unwrap_err();
    assert_eq!(why.to_string(), "CN: LI is 65546 octets, expected 0 to 65535");
}

#[test]
fn si_and_code_say_the_same() {
    for si in 0..=255 {
        for first in [true, false] {
            if let Some(code) = Code::of(si, first) {
                assert_eq!(code.si(), si);
                assert!(code.name().len() < code.title().len());
            }
        }
    }
}

fn message(most: usize) -> impl Strategy<Value = Message> {
    proptest::collection::vec(any::<u8>(), 0..most).prop_map(|octets| Message::from_octets(&octets))
}

fn enclosed() -> impl Strategy<Value = Enclosed> {
    let enclosure =
        proptest::option::of((any::<bool>(), any::<bool>()).prop_map(|(begin, end)| Enclosure { begin, end }));
    (enclosure, proptest::option::of(message(300))).prop_map(|(enclosure, data)| Enclosed { enclosure, data })
}

fn selector() -> impl Strategy<Value = Option<Selector>> {
    proptest::option::of(
        proptest::collection::vec(any::<u8>(), 0..=16).prop_map(|octets| Selector::new(&octets).unwrap()),
    )
}

fn references() -> impl Strategy<Value = Option<Reference>> {
    let octets = |most| proptest::collection::vec(any::<u8>(), 1..=most);
    proptest::option::of((octets(64), octets(64), octets(4)).prop_map(|(user, common, additional)| Reference {
        user,
        common,
        additional,
    }))
}

prop_compose! {
    fn connection()(
        reference in references(),
        extended_concatenation in any::<bool>(),
        tsdu_maximum in proptest::option::of((any::<u16>(), any::<u16>())),
        versions in any::<u8>(),
        (initial, second_initial) in (proptest::option::of(0_u32..1_000_000), proptest::option::of(0_u32..1_000_000)),
        tokens in proptest::option::of(any::<u8>().prop_map(TokenSetting)),
        functional_units in any::<u16>().prop_map(FunctionalUnits),
        (calling, called) in (selector(), selector()),
        please in proptest::option::of(any::<u8>().prop_map(Tokens)),
        overflow in any::<bool>(),
        data in enclosed(),
    ) -> Box<Connection> {
        Box::new(Connection {
            reference, extended_concatenation, tsdu_maximum, versions, initial, second_initial, tokens,
            functional_units, calling, called, please, overflow, data,
        })
    }
}

fn spdus() -> impl Strategy<Value = Spdu> {
    let number = 0_u32..1_000_000;
    let bits = || proptest::option::of(any::<u8>());
    prop_oneof![
        connection().prop_map(Spdu::Connect),
        connection().prop_map(Spdu::Accept),
        enclosed().prop_map(Spdu::Overflow),
        enclosed().prop_map(Spdu::NotFinished),
        (bits(), enclosed()).prop_map(|(transport, data)| Spdu::Finish(Finish { transport, data })),
        (bits(), proptest::collection::vec(any::<u8>(), 0..=9), enclosed())
            .prop_map(|(transport, reflect, data)| Spdu::Abort(Abort { transport, reflect, data })),
        (references(), bits(), any::<u8>(), proptest::option::of(1_usize..700)).prop_map(
            |(reference, transport, reason, len)| Spdu::Refuse(Refuse {
                reference,
                transport,
                functional_units: None,
                versions: Some(2),
                reason,
                enclosure: None,
                data: len.map(|len| Message::from_octets(&vec![reason; len])),
            })
        ),
        (enclosed(), message(600))
            .prop_map(|(data, information)| Spdu::Data(Enclosed { data: Some(information), ..data })),
        (enclosed(), message(600))
            .prop_map(|(data, information)| Spdu::TypedData(Enclosed { data: Some(information), ..data })),
        (1_u8.., enclosed()).prop_map(|(tokens, data)| Spdu::PleaseTokens { tokens: Tokens(tokens), data }),
        (any::<bool>(), number.clone(), enclosed())
            .prop_map(|(open, number, data)| { Spdu::MinorSync(Point { open, number, data }) }),
        (number, enclosed()).prop_map(|(number, data)| Spdu::MinorSyncAck { number, data }),
    ]
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(spdu in spdus()) {
        let tsdu = spdu.clone().into_tsdu().unwrap();
        prop_assert_eq!(parse(tsdu), Ok(smallvec![spdu]));
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..60), si in 0_u8..64) {
        let _ = parse(Message::from_octets(&octets));
        let Ok(len) = u8::try_from(octets.len()) else { return Ok(()) };
        for front in [&[si, len][..], &[1, 0, si, len], &[si, len, 1, len.saturating_sub(2)]] {
            let octets = [front, &octets[..]].concat();
            if let Ok(spdus) = parse(Message::from_octets(&octets)) {
                for spdu in spdus {
                    let _ = spdu.to_string();
                    let code = spdu.code();
                    let again = spdu.into_tsdu().unwrap();
                    let read = parse(again).unwrap();
                    prop_assert_eq!(read[0].code(), code);
                }
            }
        }
    }
}
