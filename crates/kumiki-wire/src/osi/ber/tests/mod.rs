//! What the examples of X.690 say, what an ISODE association holds, and what another BER reader (bcder) thinks.

mod chains;
mod differential;

use kumiki_osi_service::Oid;
use proptest::prelude::*;

use super::*;

/// The only element of `octets`.
fn one(octets: &[u8]) -> Element<'_> {
    let mut r = Reader::new("test", octets);
    let element = r.any("element", "an element").unwrap();
    r.finish("test").unwrap();
    element
}

/// Octets as the papers print them: pairs of digits, blanks anywhere.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn fault(why: Malformed) -> BerError {
    match why {
        Malformed::Ber { fault, .. } => fault,
        Malformed::Short { .. } | Malformed::Field { .. } | Malformed::Length { .. } | Malformed::Checksum { .. } => {
            panic!("{why} is not of BER")
        }
    }
}

#[test]
fn the_examples_of_x690_are_read() {
    // 8.6.4.2: '0A3B5F291CD'H as a BIT STRING, primitive and in two pieces of an indefinite length.
    let primitive = hex("03 07 040a3b5f291cd0");
    let pieces = hex("23 80 03 03 000a3b 03 05 045f291cd0 00 00");
    for octets in [&primitive, &pieces] {
        let bits = one(octets).bits().unwrap();
        assert_eq!((bits.len(), bits.unused()), (44, 4));
        assert_eq!(bits.octets(), hex("0a3b5f291cd0"));
    }
    // 8.1.2.4 and 8.14.3: VisibleString "Jones" under five kinds of tagging.
    let jones = hex("1a05 4a6f6e6573");
    assert_eq!(one(&jones).text().unwrap(), "Jones");
    let type2 = hex("43 05 4a6f6e6573");
    assert_eq!(one(&type2).tag(), Tag::application(3));
    assert_eq!(one(&type2).text().unwrap(), "Jones");
    let type3 = hex("a2 07 43 05 4a6f6e6573");
    let inner = one(&type3).explicit(Tag::application(3)).unwrap();
    assert_eq!(inner.text().unwrap(), "Jones");
    // 8.21.5.4 (8.23.5.4): the same in pieces, definite and indefinite.
    for octets in ["3a 09 04 03 4a6f6e 04 02 6573", "3a 80 04 03 4a6f6e 04 02 6573 00 00"] {
        assert_eq!(one(&hex(octets)).text().unwrap(), "Jones");
    }
    // 8.9.1: SEQUENCE {name IA5String, ok BOOLEAN}.
    let octets = hex("30 0a 16 05 536d697468 01 01 ff");
    let mut r = one(&octets).elements().unwrap();
    let name = r.take(Tag::IA5_STRING, "name").unwrap();
    assert_eq!(name.text().unwrap(), "Smith");
    assert!(r.take(Tag::BOOLEAN, "ok").unwrap().boolean().unwrap());
    // 8.8.2, 8.19.5.
    one(&hex("05 00")).null().unwrap();
    let oid = one(&hex("06 03 813403")).oid().unwrap();
    assert_eq!(oid, Oid::of(&[2, 100, 3]));
}

#[test]
fn every_integer_is_written_in_the_fewest_octets() {
    for (value, octets) in [
        (0, "02 01 00"),
        (127, "02 01 7f"),
        (128, "02 02 0080"),
        (-128, "02 01 80"),
        (-129, "02 02 ff7f"),
        (-1, "02 01 ff"),
        (i64::MAX, "02 08 7fffffffffffffff"),
        (i64::MIN, "02 08 8000000000000000"),
    ] {
        let mut w = Writer::new();
        w.integer(Tag::INTEGER, value);
        let written = w.finish();
        assert_eq!(written, hex(octets));
        assert_eq!(one(&written).integer(), Ok(value));
    }
    // Nine octets, of which the first says nothing; then one that says something.
    let padded = hex("02 09 00 7fffffffffffffff");
    assert_eq!(one(&padded).integer(), Ok(i64::MAX));
    let padded = hex("02 0a ffff 8000000000000000");
    assert_eq!(one(&padded).integer(), Ok(i64::MIN));
    assert!(one(&hex("02 09 00 8000000000000000")).integer().is_err());
    assert!(one(&hex("02 00")).integer().is_err());
}

#[test]
fn lengths_and_numbers_take_the_fewest_octets() {
    let written = |tag, len| {
        let mut w = Writer::new();
        w.primitive(tag, &vec![0; len]);
        let mut octets = w.finish();
        octets.truncate(octets.len() - len);
        octets
    };
    assert_eq!(written(Tag::context(0), 127), hex("80 7f"));
    assert_eq!(written(Tag::context(30), 128), hex("9e 81 80"));
    assert_eq!(written(Tag::context(31), 255), hex("9f1f 81 ff"));
    assert_eq!(written(Tag::application(127), 256), hex("5f7f 82 0100"));
    assert_eq!(written(Tag::private(128), 65536), hex("df8100 83 010000"));
    let top = written(Tag::universal(u32::MAX), 0);
    assert_eq!(top, hex("1f8fffffff7f 00"));
    assert_eq!(one(&top).tag(), Tag::universal(u32::MAX));
}

#[test]
fn what_an_isode_association_holds_is_read() {
    // AARQ's user information: an EXTERNAL with both references, then F-INITIALIZE's bit strings.
    let octets = hex("28 0f 06 02 5101 02 01 01 a0 06 84 02 0037 81 00");
    let mut cut = octets.clone();
    cut[1] = 13;
    cut[10] = 4;
    cut.truncate(15);
    let external = one(&cut).external().unwrap();
    assert_eq!(external.direct, Some(Oid::of(&[2, 1, 1])));
    assert_eq!(external.indirect, Some(1));
    let Encoding::Single(value) = &external.encoding else {
        panic!("{external:?}");
    };
    let bits = one(value).bits().unwrap();
    // Read, write, limited and enhanced management, grouping.
    assert_eq!(bits.word(), 0b1110_1100);
    assert_eq!(Bits::named(0b1110_1100, 0), bits);
    assert!(one(&octets).external().is_err(), "two values in a single one");

    // CP: a SET of indefinite length around a SEQUENCE of indefinite length.
    let octets = hex("31 80 a0 03 80 01 01 a2 80 a4 00 61 02 30 00 00 00 00 00");
    let mut set = one(&octets).elements().unwrap();
    let mode = set.take(Tag::context(0), "mode").unwrap();
    let mode = mode.explicit(Tag::context(0)).unwrap();
    assert_eq!(mode.integer(), Ok(1));
    let mut body = set.take(Tag::context(2), "parameters").unwrap().elements().unwrap();
    assert_eq!(body.peek(), Some(Tag::context(4)));
    let none = body.take_if(Tag::context(1), "selector").unwrap();
    assert!(none.is_none());
    let data = body.seek(Tag::application(1), "user data").unwrap();
    assert_eq!(data.octets(), [0x61, 2, 0x30, 0]);
    assert!(body.is_empty() && set.is_empty());
}

#[test]
fn errors_name_the_pdu_the_field_what_is_there_and_what_is_right() {
    let octets = hex("30 03 02 01 05");
    let mut r = one(&octets).elements().unwrap();
    let why = r.take(Tag::BOOLEAN, "fadu-lock").unwrap_err();
    assert_eq!(why.to_string(), "test: fadu-lock: INTEGER where BOOLEAN is expected");
    // What was refused is still there.
    let element = r.take(Tag::INTEGER, "reason").unwrap();
    let why = element.boolean();
    assert_eq!(why, Ok(true), "the form fits; the tag was looked at before");
    let why = element.integer_in::<u8>("0 to 255");
    assert_eq!(why, Ok(5));
    let why = r.take(Tag::INTEGER, "threshold").unwrap_err();
    assert_eq!(why.to_string(), "test: threshold: missing, INTEGER is expected");
    let short = Reader::new("F-SELECT request", &[0x73, 0x05, 0xa0]).next("attributes").unwrap_err();
    assert_eq!(short.to_string(), "F-SELECT request: attributes: 7 octets, of which 3 are there");
    let left = Reader::new("test", &[0x05, 0x00]).finish("test");
    assert_eq!(fault(left.unwrap_err()), BerError::Left { found: Tag::NULL });
}

#[test]
fn bombs_are_refused() {
    // Indefinite lengths in each other, and definite ones.
    let indefinite = [0x30, 0x80].repeat(100_000);
    let why = Reader::new("test", &indefinite).next("bomb").unwrap_err();
    assert_eq!(fault(why), BerError::Depth);
    let mut w = Vec::new();
    for _ in 0..200 {
        let mut around = Writer::new();
        around.sequence(|inside| inside.raw(&w));
        w = around.finish();
    }
    let mut r = Reader::new("test", &w);
    let mut depth = 0;
    let why = loop {
        let element = r.any("bomb", "an element").unwrap();
        match element.elements() {
            Ok(inside) => r = inside,
            Err(why) => break why,
        }
        depth += 1;
    };
    assert_eq!((fault(why), depth), (BerError::Depth, MOST_DEPTH));
    // Strings of strings.
    let mut pieces = [0x24, 0x80].repeat(31);
    pieces.extend([0x04, 0x01, 0x55]);
    pieces.extend([0, 0].repeat(31));
    assert_eq!(&*one(&pieces).octet_string().unwrap(), [0x55]);

    for (octets, expected) in [
        ("04 88 7fffffffffffffff 00", "9223372036854775817 octets"),
        ("04 88 8000000000000000 00", "of which 11 are there"),
        ("04 89 010000000000000000 00", "no length"),
        ("04 ff 00", "no length"),
        ("04 80 00 00", "no length"),
        ("1f 80 01 00", "a tag number"),
        ("1f ffffffff7f 00", "a tag number"),
        ("1f 81", "4 octets, of which 2"),
        ("00 00", "where none began"),
        ("30 80 00 01 00", "where none began"),
        ("30 80 05 00", "2 octets, of which 0"),
        ("30 80 00", "4 octets, of which 3"),
    ] {
        let octets = hex(octets);
        let why = Reader::new("test", &octets).next("it").unwrap_err();
        assert!(why.to_string().contains(expected), "{octets:02x?}: {why}");
    }
}

#[test]
fn a_list_has_an_end() {
    let octets = [0x05, 0x00].repeat(4);
    let r = Reader::new("test", &octets);
    assert_eq!(r.each("list", 4, Element::null).unwrap().len(), 4);
    let why = r.each("list", 3, Element::null).unwrap_err();
    assert!(matches!(fault(why), BerError::Size { found: 4, most: 3, .. }));
}

#[test]
fn text_keeps_the_octets_that_are_text() {
    let utf8 = "schön".as_bytes();
    let mut w = Writer::new();
    w.primitive(Tag::GRAPHIC_STRING, utf8);
    let octets = w.finish();
    assert_eq!(one(&octets).text().unwrap(), "schön");
    let mut again = Writer::new();
    again.text(Tag::GRAPHIC_STRING, "schön");
    assert_eq!(again.finish(), octets);
    let latin = hex("19 05 73 63 68 f6 6e");
    assert_eq!(one(&latin).text().unwrap(), "schön");
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(
        number in any::<i64>(),
        yes in any::<bool>(),
        octets in proptest::collection::vec(any::<u8>(), 0..300),
        unused in 0_u8..8,
        word in any::<u64>(),
        text in ".{0,40}",
        tag in (0_u32..3, any::<u32>()).prop_map(|(class, number)| match class {
            0 => Tag::application(number),
            1 => Tag::context(number),
            _ => Tag::private(number),
        }),
        oid in proptest::collection::vec(0_u64..1 << 40, 0..5),
        direct in any::<bool>(),
    ) {
        let oid = Oid::from_arcs(&[vec![1, 3], oid].concat()).unwrap();
        let bits = Bits::new(octets.clone(), if octets.is_empty() { 0 } else { unused }).unwrap();
        let external = External {
            direct: direct.then_some(oid),
            indirect: (!direct).then_some(number),
            descriptor: yes.then(|| text.clone()),
            encoding: if direct {
                Encoding::OctetAligned(octets.clone().into())
            } else {
                Encoding::Arbitrary(bits.clone())
            },
        };
        let mut w = Writer::new();
        w.constructed(tag, |w| {
            w.integer(tag, number);
            w.boolean(tag, yes);
            w.octet_string(tag, &octets);
            w.bits(tag, &bits);
            w.bits(tag, &Bits::named(word, 7));
            w.text(tag, &text);
            w.oid(tag, &oid);
            w.null(tag);
            w.external(tag, &external);
        });
        let written = w.finish();
        let whole = one(&written);
        prop_assert_eq!(whole.tag(), tag);
        let mut r = whole.elements().unwrap();
        prop_assert_eq!(r.take(tag, "integer").unwrap().integer(), Ok(number));
        prop_assert_eq!(r.take(tag, "boolean").unwrap().boolean(), Ok(yes));
        prop_assert_eq!(&*r.take(tag, "octets").unwrap().octet_string().unwrap(), &octets[..]);
        prop_assert_eq!(r.take(tag, "bits").unwrap().bits().unwrap(), bits);
        prop_assert_eq!(r.take(tag, "names").unwrap().bits().unwrap().word(), word);
        prop_assert_eq!(r.take(tag, "text").unwrap().text().unwrap(), text);
        prop_assert_eq!(r.take(tag, "oid").unwrap().oid(), Ok(oid));
        r.take(tag, "null").unwrap().null().unwrap();
        prop_assert_eq!(r.take(tag, "external").unwrap().external().unwrap(), external);
        r.finish("all").unwrap();
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..80)) {
        let mut todo = vec![Reader::new("test", &octets)];
        while let Some(mut r) = todo.pop() {
            while let Ok(Some(element)) = r.next("element") {
                let _ = (element.boolean(), element.integer(), element.null(), element.oid());
                let _ = (element.octet_string(), element.bits(), element.text(), element.external());
                let _ = (element.only(), r.peek(), r.finish("end"));
                todo.extend(element.elements());
            }
        }
    }
}

#[test]
fn the_end_of_contents_is_two_octets_and_no_other_form_of_them() {
    for end in [&[0x00, 0x81, 0x00][..], &[0x1f, 0x00, 0x00], &[0x20, 0x00]] {
        assert_eq!(Head::parse(end), Err(BerError::End), "{end:02x?}");
        let octets = [&[0x30, 0x80][..], end].concat();
        let mut reader = Reader::new("PDU", &octets);
        assert!(reader.next("element").is_err());
    }
    assert_eq!(Head::parse(&[0, 0]).map(|(_, len)| len), Ok(2));
}
