//! Data elements: headers in front of content that is held elsewhere, and content cut out of what arrived. No content
//! octet moves.
//!
//! | Abstract syntax | Values |
//! |---|---|
//! | FTAM unstructured binary | OCTET STRING |
//! | FTAM unstructured text | one of the character strings, see [`StringClass`] |
//! | FTAM-FADU | structure: nodes, and where their children begin and end |
//! | NBS-9 entries | `[PRIVATE 2]` around Read-Attributes |
//!
//! Strings in pieces (constructed, of definite or indefinite length) are joined by sharing the pieces.

use kumiki_octets::Message;
use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::ftam::contents::StringClass;
use kumiki_osi_service::ftam::data::{DataElement, NodeDescriptor, NodeName, StructuringElement};
use kumiki_osi_service::ftam::oids;

use super::form::{Content, OwnTag, TaggedType, c, choice, debugged, sequence};
use crate::Malformed;
use crate::osi::ber::{self, BerError, Tag, Writer, chain};

/// The most octets of an entry of a directory, or of a structuring element.
pub const MOST_SMALL: usize = 65_536;

/// What errors name.
const DATA: &str = "FTAM data";

/// `[PRIVATE 2]`: an entry of a directory.
const ENTRY: Tag = Tag::private(2);

/// What values of a presentation context are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Syntax {
    /// FTAM unstructured binary.
    Binary,
    /// FTAM unstructured text.
    Text,
    /// FTAM-FADU.
    Structure,
    /// NBS-9 entries.
    Entries,
}

impl Syntax {
    /// By the object identifier of the abstract syntax.
    #[must_use]
    pub fn of(abstract_syntax: &Oid) -> Option<Self> {
        match *abstract_syntax {
            oids::UNSTRUCTURED_BINARY => Some(Self::Binary),
            oids::UNSTRUCTURED_TEXT => Some(Self::Text),
            oids::FADU => Some(Self::Structure),
            oids::NBS_9_ENTRIES | oids::NBS_9_ENTRIES_OLD => Some(Self::Entries),
            _ => None,
        }
    }
}

/// The value of a data element: a header in front of its content, or a small value by itself.
#[must_use]
pub fn emit(element: DataElement) -> Message {
    match element {
        DataElement::Octets(mut content) => {
            ber::push::primitive(&mut content, Tag::OCTET_STRING);
            content
        }
        DataElement::Text { class, octets } => {
            let mut content = octets;
            ber::push::primitive(&mut content, string(class));
            content
        }
        DataElement::Structuring(structure) => {
            let mut w = Writer::new();
            TaggedType::emit(&Structure::from(structure), &mut w);
            Message::owning(w.finish())
        }
        DataElement::Entry(attributes) => {
            let mut w = Writer::new();
            w.constructed(ENTRY, |w| TaggedType::emit(&attributes, w));
            Message::owning(w.finish())
        }
    }
}

/// How many octets the header of a string has in front of so many octets of content.
#[must_use]
pub const fn header_len(content: usize) -> usize {
    let mut len = 2;
    if content > 0x7f {
        let mut rest = content;
        while rest > 0 {
            len += 1;
            rest >>= 8;
        }
    }
    len
}

fn string(class: StringClass) -> Tag {
    Tag::universal(class.number().into())
}

/// Reads data elements, one after the other. An error is the last: it says what is none of this syntax, or not all
/// there.
#[derive(Clone, Debug)]
pub struct Reader {
    syntax: Syntax,
    chain: chain::Reader,
}

impl Iterator for Reader {
    type Item = Result<DataElement, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let one = self.one().transpose()?;
        if one.is_err() {
            self.chain = chain::Reader::new(DATA, Message::new());
        }
        Some(one)
    }
}

impl Reader {
    /// Of values of this syntax, one behind the other, as one presentation data value or several segments of one have
    /// them.
    #[must_use]
    pub fn new(syntax: Syntax, values: Message) -> Self {
        Self { syntax, chain: chain::Reader::new(DATA, values) }
    }

    fn one(&mut self) -> Result<Option<DataElement>, Malformed> {
        const FIELD: &str = "data element";
        let Some(head) = self.chain.peek(FIELD)? else {
            return Ok(None);
        };
        let refuse = |expected| {
            let found = head.tag;
            BerError::Choice { found, expected }.of(DATA, FIELD)
        };
        Ok(Some(match self.syntax {
            Syntax::Binary => DataElement::Octets(self.chain.octet_string(Tag::OCTET_STRING, FIELD)?),
            Syntax::Text => {
                let mut classes = StringClass::ALL.into_iter();
                let class =
                    classes.find(|class| string(*class) == head.tag).ok_or_else(|| refuse("a character string"))?;
                let octets = self.chain.octet_string(head.tag, FIELD)?;
                DataElement::Text { class, octets }
            }
            Syntax::Structure => {
                if !Structure::has(head.tag) {
                    return Err(refuse("[APPLICATION 0] to [APPLICATION 2]"));
                }
                let octets = self.chain.small(head.tag, FIELD, MOST_SMALL)?;
                let mut reader = ber::Reader::new("FTAM-FADU", &octets);
                let element = reader.take(head.tag, FIELD)?;
                DataElement::Structuring(Structure::parse(&element)?.into())
            }
            Syntax::Entries => {
                let octets = self.chain.small(ENTRY, FIELD, MOST_SMALL)?;
                let mut reader = ber::Reader::new("NBS-9 entry", &octets);
                let element = reader.take(ENTRY, FIELD)?.explicit(ReadAttributes::TAG)?;
                DataElement::Entry(Box::new(TaggedType::parse(&element)?))
            }
        }))
    }
}

debugged!(NodeDescriptor, NodeName, Null, Structure);

/// Where the attributes of an entry lie, `[PRIVATE 2]` and all.
///
/// # Errors
/// It is no entry.
pub fn look_at_entry(octets: &[u8]) -> Result<Vec<super::FpduField<'_>>, Malformed> {
    let mut reader = ber::Reader::new("NBS-9 entry", octets);
    let element = reader.take(ENTRY, "entry")?.explicit(ReadAttributes::TAG)?;
    let mut seen = Vec::new();
    <ReadAttributes as Content>::walk(&element, "entry", &mut seen)?;
    Ok(seen)
}

sequence!(NodeDescriptor {
    ? name "name": OwnTag;
    ~ arc_length "arc-length": c(1) => 1;
    ~ data_exists "data-exists": c(2) => true;
});

choice!(NodeName, Tag::context(0), "[0] ftam-coded or EXTERNAL" {
    Ftam: c(0);
    User: super::form::Implicit(Tag::EXTERNAL);
});

/// NULL, as what it stands for has no content.
#[derive(Debug)]
struct Null;

impl Content for Null {
    fn emit(&self, w: &mut Writer, tag: Tag) {
        w.null(tag);
    }

    fn parse(element: &ber::Element<'_>) -> Result<Self, Malformed> {
        element.null().map(|()| Self)
    }
}

/// [`StructuringElement`] as ASN.1 has it.
#[derive(Debug)]
enum Structure {
    Node(NodeDescriptor),
    Enter(Null),
    Exit(Null),
}

choice!(Structure, Tag::application(0), "[APPLICATION 0] to [APPLICATION 2]" {
    Node: super::form::a(0);
    Enter: super::form::a(1);
    Exit: super::form::a(2);
});

impl From<StructuringElement> for Structure {
    fn from(element: StructuringElement) -> Self {
        match element {
            StructuringElement::Node(node) => Self::Node(node),
            StructuringElement::EnterSubtree => Self::Enter(Null),
            StructuringElement::ExitSubtree => Self::Exit(Null),
        }
    }
}

impl From<Structure> for StructuringElement {
    fn from(element: Structure) -> Self {
        match element {
            Structure::Node(node) => Self::Node(node),
            Structure::Enter(Null) => Self::EnterSubtree,
            Structure::Exit(Null) => Self::ExitSubtree,
        }
    }
}
