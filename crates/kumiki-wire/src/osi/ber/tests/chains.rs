//! Values in messages that are cut anywhere.

use kumiki_octets::{Message, Page};
use proptest::prelude::*;

use super::super::{BerError, Tag, chain, push};
use super::{fault, hex};

/// `octets` in slices of a page of their own, cut at the places that `cuts` says.
pub(super) fn cut(octets: &[u8], cuts: &[usize]) -> Message {
    let mut message = Message::new();
    let mut rest = octets;
    for at in cuts {
        let (piece, after) = rest.split_at(*at.min(&rest.len()));
        message.append(Message::from_page(Page::copied(piece, 1)));
        rest = after;
    }
    message.append(Message::from_page(Page::copied(rest, 1)));
    message
}

/// Where the content of a P-DATA's one value lies: the fields of the four forms that ISODE sends.
fn value(message: Message) -> Result<(i64, Message), super::Malformed> {
    let mut r = chain::Reader::new("user data", message);
    r.enter(Tag::application(1), "fully-encoded-data")?;
    r.enter(Tag::SEQUENCE, "PDV-list")?;
    let context = r.integer(Tag::INTEGER, "context")?;
    let single = r.peek("values")?.unwrap().tag == Tag::context(0);
    let content = if single {
        r.enter(Tag::context(0), "single-ASN1-type")?;
        let value = r.element("value")?;
        r.leave("single-ASN1-type")?;
        value
    } else {
        r.octet_string(Tag::context(1), "octet-aligned")?
    };
    r.leave("PDV-list")?;
    r.leave("fully-encoded-data")?;
    r.finish("user data")?;
    Ok((context, content))
}

#[test]
fn every_form_that_isode_sends_is_read_wherever_it_is_cut() {
    for (form, context, content) in [
        ("61 0e 30 0c 02 01 01 a1 07 04 01 b6 04 02 aa00", 1, "b6 aa 00"),
        ("61 09 30 07 02 01 01 a0 02 bf 00", 1, "refused"),
        ("61 0a 30 08 02 01 01 a0 03 bf21 00", 1, "bf 21 00"),
        ("61 80 30 80 02 01 03 a0 80 04 82 0002 cafe 0000 0000 0000", 3, "04 82 0002 cafe"),
        ("61 80 30 80 02 01 01 a1 80 04 02 b700 0000 0000 0000", 1, "b700"),
        ("61 80 30 80 02 01 01 a0 80 af 80 72 80 0000 0000 0000 0000 0000", 1, "af 80 72 80 0000 0000"),
    ] {
        let octets = hex(form);
        for at in 0..=octets.len() {
            let got = value(cut(&octets, &[at, 1]));
            if content == "refused" {
                got.unwrap_err();
            } else {
                let (id, value) = got.unwrap();
                assert_eq!((id, value.to_vec()), (context, hex(content)), "{at}");
            }
        }
        for len in 0..octets.len() {
            assert!(value(cut(&octets[..len], &[])).is_err(), "{form} to {len}");
        }
    }
}

#[test]
fn content_is_shared_and_not_copied() {
    let content = vec![0x5a; 100_000];
    let page = Page::copied(&content, 1);
    let held = page.octets().as_ptr();
    let mut message = Message::from_page(page);
    push::primitive(&mut message, Tag::OCTET_STRING);
    push::constructed(&mut message, Tag::context(0));
    push::integer(&mut message, Tag::INTEGER, 3);
    push::constructed(&mut message, Tag::SEQUENCE);
    push::constructed(&mut message, Tag::application(1));
    let octets = message.to_vec();
    assert_eq!(octets[..11], hex("61 83 0186b2 30 83 0186ad 02")[..]);

    let (context, value) = value(message).unwrap();
    let mut r = chain::Reader::new("F-DATA", value);
    let value = r.octet_string(Tag::OCTET_STRING, "data").unwrap();
    assert_eq!((context, value.len()), (3, 100_000));
    let [slice] = value.slices() else {
        panic!("{} slices", value.slices().len());
    };
    assert_eq!(slice.octets().unwrap().as_ptr(), held);
}

#[test]
fn a_length_beyond_what_is_around_it_is_refused() {
    let octets = hex("30 04 04 03 0102 04 00");
    let mut r = chain::Reader::new("test", cut(&octets, &[3]));
    r.enter(Tag::SEQUENCE, "outer").unwrap();
    let why = r.octet_string(Tag::OCTET_STRING, "inner").unwrap_err();
    assert_eq!(fault(why), BerError::Short { need: 5, have: 4 });

    let bomb = [0x24, 0x80].repeat(1000);
    let mut r = chain::Reader::new("test", cut(&bomb, &[]));
    let why = r.octet_string(Tag::OCTET_STRING, "bomb").unwrap_err();
    assert_eq!(fault(why), BerError::Depth);
    let mut r = chain::Reader::new("test", cut(&bomb, &[]));
    assert_eq!(fault(r.element("bomb").unwrap_err()), BerError::Depth);
}

#[test]
fn bits_in_pieces_are_joined() {
    let octets = hex("a2 80 03 03 000a3b 03 05 045f291cd0 00 00");
    let mut r = chain::Reader::new("test", cut(&octets, &[7]));
    let (unused, bits) = r.bit_string(Tag::context(2), "arbitrary").unwrap();
    assert_eq!((unused, bits.to_vec()), (4, hex("0a3b5f291cd0")));
    let mut again = bits;
    push::bits(&mut again, Tag::BIT_STRING, unused);
    assert_eq!(again.to_vec(), hex("03 07 040a3b5f291cd0"));
    for bad in ["03 00", "03 01 01", "03 02 08 00", "23 08 03 02 0180 03 02 0080"] {
        let mut r = chain::Reader::new("test", cut(&hex(bad), &[]));
        assert!(r.bit_string(Tag::BIT_STRING, "bits").is_err(), "{bad}");
    }
}

/// Everything that both readers can say of the element that comes next, and of those in it.
fn by_chain(r: &mut chain::Reader, all: &mut Vec<(Tag, Option<Vec<u8>>)>) -> Result<(), super::Malformed> {
    while let Some(head) = r.peek("element")? {
        if head.constructed {
            all.push((head.tag, None));
            r.enter(head.tag, "element")?;
            by_chain(r, all)?;
            r.leave("element")?;
        } else {
            let content = r.octet_string(head.tag, "element")?;
            all.push((head.tag, Some(content.to_vec())));
        }
    }
    Ok(())
}

fn by_slice(mut r: super::Reader<'_>, all: &mut Vec<(Tag, Option<Vec<u8>>)>) -> Result<(), super::Malformed> {
    while let Some(element) = r.next("element")? {
        if element.is_constructed() {
            all.push((element.tag(), None));
            by_slice(element.elements()?, all)?;
        } else {
            all.push((element.tag(), Some(element.content().to_vec())));
        }
    }
    Ok(())
}

#[test]
fn a_string_in_very_many_pieces_is_refused() {
    let string = |pieces: usize| {
        let mut octets = vec![0x24, 0x80];
        octets.extend([4, 1, 7].repeat(pieces));
        octets.extend([0, 0]);
        chain::Reader::new("test", Message::from_octets(&octets)).octet_string(Tag::OCTET_STRING, "string")
    };
    let whole = string(chain::MOST_PIECES).unwrap();
    assert_eq!(whole.len(), chain::MOST_PIECES);
    let more = string(chain::MOST_PIECES + 1).unwrap_err();
    assert_eq!(fault(more), BerError::Pieces);
    // Nor in pieces of pieces.
    let half = chain::MOST_PIECES / 2 + 1;
    let mut octets = vec![0x24, 0x80];
    for _ in 0..2 {
        octets.extend([0x24, 0x80]);
        octets.extend([4, 1, 7].repeat(half));
        octets.extend([0, 0]);
    }
    octets.extend([0, 0]);
    let mut r = chain::Reader::new("test", Message::from_octets(&octets));
    let nested = r.octet_string(Tag::OCTET_STRING, "string").unwrap_err();
    assert_eq!(fault(nested), BerError::Pieces);
}

proptest! {
    #[test]
    fn both_readers_see_the_same(
        octets in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            super::differential::tree().prop_map(|tree| tree.octets()),
        ],
        cuts in proptest::collection::vec(0_usize..9, 0..20),
    ) {
        let (mut chained, mut sliced) = (Vec::new(), Vec::new());
        let mut r = chain::Reader::new("test", cut(&octets, &cuts));
        let of_chain = by_chain(&mut r, &mut chained);
        let of_slice = by_slice(super::Reader::new("test", &octets), &mut sliced);
        prop_assert_eq!(of_chain.is_ok(), of_slice.is_ok(), "{:?} {:?}", of_chain, of_slice);
        if of_chain.is_ok() {
            prop_assert_eq!(chained, sliced);
        }
        let mut whole = chain::Reader::new("test", cut(&octets, &cuts));
        let first = whole.element("first");
        let sliced = super::Reader::new("test", &octets).next("first");
        match (first, sliced) {
            (Ok(chained), Ok(Some(sliced))) => prop_assert_eq!(chained.to_vec(), sliced.octets()),
            (Err(_), Ok(None) | Err(_)) => {}
            (chained, sliced) => prop_assert!(false, "{:?} {:?}", chained, sliced),
        }
    }

    #[test]
    fn any_octets_are_read_or_refused(
        octets in proptest::collection::vec(any::<u8>(), 0..80),
        tag in any::<u8>(),
    ) {
        let tag = Tag::context(u32::from(tag & 0x1f));
        for read in 0..5 {
            let mut r = chain::Reader::new("test", Message::from_octets(&octets));
            let _ = match read {
                0 => r.octet_string(tag, "any").map(|_| ()),
                1 => r.bit_string(tag, "any").map(|_| ()),
                2 => r.integer(tag, "any").map(|_| ()),
                3 => r.oid(tag, "any").map(|_| ()),
                _ => r.enter(tag, "any"),
            };
        }
    }
}
