//! Data elements: content stays where it is.

use kumiki_octets::{Message, Page};
use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::attributes::{Attribute, ReadAttributes};
use kumiki_osi_service::ftam::contents::StringClass;
use kumiki_osi_service::ftam::data::{DataElement, NodeDescriptor, NodeName, StructuringElement};
use kumiki_wire::files::ftam::data::{Reader, Syntax, emit, header_len};
use proptest::prelude::*;

use super::hex;

fn read(syntax: Syntax, octets: &[u8]) -> Vec<DataElement> {
    let all: Result<Vec<_>, _> = Reader::new(syntax, Message::from_octets(octets)).collect();
    all.unwrap()
}

#[test]
fn a_string_gets_a_header_and_its_content_is_not_moved() {
    let content = Message::from_page(Page::copied(&[7; 2015], 1));
    let at = content.slices()[0].octets().unwrap().as_ptr();
    let value = emit(DataElement::Octets(content));
    assert_eq!(value.to_vec()[..4], hex("048207df"));
    assert_eq!(value.slices()[0].octets().unwrap().as_ptr(), at);

    let read: Vec<_> = Reader::new(Syntax::Binary, value).collect();
    let [Ok(DataElement::Octets(content))] = &read[..] else {
        panic!("{read:?}");
    };
    assert_eq!(content.slices()[0].octets().unwrap().as_ptr(), at);
    assert_eq!(content.to_vec(), [7; 2015]);
}

#[test]
fn a_string_in_pieces_is_joined() {
    // Constructed, of indefinite length, and one of its pieces in pieces itself.
    let octets = hex("2480 0403 616263 2406 0401 64 0401 65 0000 0400");
    let read = read(Syntax::Binary, &octets);
    assert_eq!(read, [&b"abcde"[..], b""].map(|one| DataElement::Octets(Message::from_octets(one))));
}

#[test]
fn text_says_which_strings_it_is_of() {
    for class in StringClass::ALL {
        let octets = Message::from_octets(b"one line");
        let element = DataElement::Text { class, octets };
        let value = emit(element.clone());
        assert_eq!(value.to_vec()[..2], [class.number(), 8]);
        assert_eq!(read(Syntax::Text, &value.to_vec()), [element]);
    }
    // As ISODE sends FTAM-1: GeneralString, with the ends of lines in it.
    let read = read(Syntax::Text, &hex("1b05 61 0d0a 62 0a"));
    assert_eq!(read, [DataElement::Text { class: StringClass::General, octets: Message::from_octets(b"a\r\nb\n") }]);
}

#[test]
fn structure_is_that_of_iso_8571_2() {
    let named = NodeDescriptor { name: Some(NodeName::Ftam("a".into())), arc_length: 2, data_exists: false };
    for (octets, element) in [
        ("6000", StructuringElement::Node(NodeDescriptor::default())),
        ("6009 8001 61 8101 02 8201 00", StructuringElement::Node(named)),
        ("4100", StructuringElement::EnterSubtree),
        ("4200", StructuringElement::ExitSubtree),
    ] {
        let octets = hex(octets);
        let element = DataElement::Structuring(element);
        let read = read(Syntax::Structure, &octets);
        assert_eq!(read, std::slice::from_ref(&element));
        assert_eq!(emit(element).to_vec(), octets);
    }
}

#[test]
fn a_directory_is_read_entry_by_entry() {
    let entry = |name: &str| {
        DataElement::Entry(Box::new(ReadAttributes {
            pathname: Some(name.into()),
            size: Some(Attribute::NoValueAvailable),
            ..ReadAttributes::default()
        }))
    };
    let octets = hex("e20b 7209 a003 1901 61 ad02 8000 e280 7280 a003 1901 62 ad02 8000 0000 0000");
    assert_eq!(read(Syntax::Entries, &octets), [entry("a"), entry("b")]);
    assert_eq!(emit(entry("a")).to_vec(), octets[..13]);
}

#[test]
fn what_is_not_of_the_syntax_is_refused_once() {
    let message = Message::from_octets(&hex("1901 61 0401 62"));
    let all: Vec<_> = Reader::new(Syntax::Binary, message).collect();
    assert_eq!(all.len(), 1);
    let why = all[0].as_ref().unwrap_err().to_string();
    assert_eq!(why, "FTAM data: data element: GraphicString where OCTET STRING is expected");
    assert_eq!(Syntax::of(&Oid::of(&[1, 0, 9506, 2, 1])), None);
}

proptest! {
    #[test]
    fn the_length_of_a_header_is_known_before(len in 0_usize..70_000) {
        let value = emit(DataElement::Octets(Message::from_octets(&vec![0; len])));
        prop_assert_eq!(value.len(), header_len(len) + len);
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..200), which in 0_usize..4) {
        let syntax = [Syntax::Binary, Syntax::Text, Syntax::Structure, Syntax::Entries][which];
        let _ = Reader::new(syntax, Message::from_octets(&octets)).count();
    }
}
