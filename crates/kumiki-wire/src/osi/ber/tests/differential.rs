//! The same octets, read by us and by bcder.

use bcder::decode::{Constructed, Content, DecodeError, SliceSource};
use bcder::{BitString, Mode, OctetString};
use proptest::prelude::*;

use super::super::{Element, Tag};
use super::{Malformed, Reader};

/// An element, and how its length is written.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    /// First identifier octet, with the low five bits below 31; extra octets of length; content.
    Leaf(u8, u8, Vec<u8>),
    /// The same; `None` for an indefinite length.
    Node(u8, Option<u8>, Vec<Self>),
}

impl Tree {
    pub(super) fn octets(&self) -> Vec<u8> {
        let length = |len: usize, extra: u8| {
            let bytes = u32::try_from(len).unwrap().to_be_bytes();
            match extra {
                0 if len < 128 => vec![bytes[3]],
                0..=1 if len < 256 => vec![0x81, bytes[3]],
                0..=2 => vec![0x82, bytes[2], bytes[3]],
                _ => [&[0x84], &bytes[..]].concat(),
            }
        };
        match self {
            Self::Leaf(first, extra, content) => {
                let length = length(content.len(), *extra);
                [vec![first & !0x20], length, content.clone()].concat()
            }
            Self::Node(first, extra, inside) => {
                let inside: Vec<u8> = inside.iter().flat_map(Self::octets).collect();
                let (length, end) = extra
                    .as_ref()
                    .map_or_else(|| (vec![0x80], vec![0, 0]), |extra| (length(inside.len(), *extra), vec![]));
                [vec![first | 0x20], length, inside, end].concat()
            }
        }
    }
}

/// Any element whose tag is neither the end of another one nor, so that the content is free, universal.
pub(super) fn tree() -> impl Strategy<Value = Tree> {
    let first = (1_u8..4, 0_u8..31).prop_map(|(class, number)| class << 6 | number);
    let content = proptest::collection::vec(any::<u8>(), 0..20);
    let leaf = (first.clone(), 0_u8..4, content).prop_map(|(f, e, c)| Tree::Leaf(f, e, c));
    leaf.prop_recursive(6, 40, 5, move |inner| {
        let inside = proptest::collection::vec(inner, 0..5);
        (first.clone(), proptest::option::of(0_u8..4), inside)
            .prop_map(|(first, extra, inside)| Tree::Node(first, extra, inside))
    })
}

/// A string in pieces in pieces.
fn pieces(universal: u8, unused: bool) -> impl Strategy<Value = Tree> {
    let leaf = (0_u8..4, proptest::collection::vec(any::<u8>(), 0..20)).prop_map(move |(extra, mut content)| {
        if unused {
            content.insert(0, 0);
        }
        Tree::Leaf(universal, extra, content)
    });
    leaf.prop_recursive(4, 20, 5, move |inner| {
        let inside = proptest::collection::vec(inner, 0..5);
        (proptest::option::of(0_u8..4), inside).prop_map(move |(extra, inside)| Tree::Node(universal, extra, inside))
    })
}

type FlatTree = Vec<(String, Option<Vec<u8>>)>;

fn ours(mut r: Reader<'_>, all: &mut FlatTree) -> Result<(), Malformed> {
    while let Some(element) = r.next("element")? {
        if element.is_constructed() {
            all.push((element.tag().to_string(), None));
            ours(element.elements()?, all)?;
        } else {
            let content = Some(element.content().to_vec());
            all.push((element.tag().to_string(), content));
        }
    }
    Ok(())
}

fn theirs(
    r: &mut Constructed<'_, SliceSource<'_>>,
    all: &mut FlatTree,
) -> Result<(), DecodeError<core::convert::Infallible>> {
    while r
        .take_opt_value(|tag, content| {
            let number = tag.number();
            let tag = if tag.is_application() {
                Tag::application(number)
            } else if tag.is_context_specific() {
                Tag::context(number)
            } else if tag.is_private() {
                Tag::private(number)
            } else {
                Tag::universal(number)
            };
            match content {
                Content::Primitive(content) => {
                    all.push((tag.to_string(), Some(content.slice_all()?.to_vec())));
                    content.skip_all()
                }
                Content::Constructed(inside) => {
                    all.push((tag.to_string(), None));
                    theirs(inside, all)
                }
            }
        })?
        .is_some()
    {}
    Ok(())
}

/// What bcder sees in `octets`. It wants to know before where elements end, so a SEQUENCE is put around them.
fn bcders(octets: &[u8], all: &mut FlatTree) -> Result<(), DecodeError<core::convert::Infallible>> {
    let mut around = Tree::Leaf(0, 0, octets.to_vec()).octets();
    around[0] = 0x30;
    Mode::Ber.decode(SliceSource::new(&around), |r| r.take_sequence(|r| theirs(r, all)))
}

proptest! {
    #[test]
    fn bcder_sees_the_same_elements(tree in tree()) {
        let octets = tree.octets();
        let (mut mine, mut other) = (Vec::new(), Vec::new());
        ours(Reader::new("test", &octets), &mut mine).unwrap();
        bcders(&octets, &mut other).unwrap();
        prop_assert_eq!(mine, other);
    }

    #[test]
    fn what_both_accept_is_the_same(octets in proptest::collection::vec(any::<u8>(), 0..60)) {
        let (mut mine, mut other) = (Vec::new(), Vec::new());
        let ok = ours(Reader::new("test", &octets), &mut mine).is_ok();
        let theirs = bcders(&octets, &mut other);
        if ok && theirs.is_ok() {
            prop_assert_eq!(mine, other);
        }
    }

    #[test]
    fn bcder_gathers_the_same_octets(tree in pieces(4, false)) {
        let octets = tree.octets();
        let mine = Reader::new("test", &octets)
            .take(Tag::OCTET_STRING, "string")
            .and_then(|element| element.octet_string())
            .unwrap();
        let other = Mode::Ber
            .decode(bytes(&octets), OctetString::take_from)
            .unwrap();
        prop_assert_eq!(&*mine, &other.to_bytes()[..]);
    }

    #[test]
    fn bcder_reads_the_same_bits_and_integers(
        bits in proptest::collection::vec(any::<u8>(), 1..20),
        number in proptest::collection::vec(any::<u8>(), 0..12),
    ) {
        let bits = Tree::Leaf(3, 0, bits).octets();
        let mine = Reader::new("test", &bits).take(Tag::BIT_STRING, "bits").and_then(|e| e.bits());
        let other = Mode::Ber.decode(bytes(&bits), BitString::take_from);
        if let Ok(other) = other {
            let mine = mine.unwrap();
            prop_assert_eq!(mine.octets(), other.octet_slice().unwrap());
            prop_assert_eq!(mine.unused(), other.unused());
        } else {
            prop_assert!(mine.is_err());
        }
        let number = Tree::Leaf(2, 0, number).octets();
        let mine = Reader::new("test", &number).take(Tag::INTEGER, "n").and_then(|e: Element<'_>| e.integer());
        let other = Mode::Ber.decode(bytes(&number), |r| {
            r.take_primitive_if(bcder::Tag::INTEGER, |content| content.to_i64())
        });
        // Ours also takes the octets in front that say nothing.
        if let Ok(other) = other {
            prop_assert_eq!(mine, Ok(other));
        }
    }
}

fn bytes(octets: &[u8]) -> SliceSource<'_> {
    SliceSource::new(octets)
}
