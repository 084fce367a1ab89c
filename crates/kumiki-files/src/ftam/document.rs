//! What the values of an open document are, and in which contexts they come.

use kumiki_octets::Message;
use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::contents::{ContentsType, DocumentParameter, StringClass};
use kumiki_osi_service::ftam::data::DataElement;
use kumiki_osi_service::ftam::oids;
use kumiki_wire::files::ftam::data::Syntax;

/// See [`Document::content`].
pub(super) enum Content {
    String(Message),
    Other(DataElement),
}

/// An open document, as far as its data elements go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Document {
    /// Of its strings or entries; none where the document type is not known here, and then any.
    main: Option<Syntax>,
    /// Of its strings, where it is text.
    class: StringClass,
    /// Whether there is structure between them.
    structured: bool,
    /// Entries in the syntax that NBS-9 had before it got its number.
    old: bool,
}

impl Document {
    /// As F-OPEN or F-RECOVER has said.
    pub(super) fn of(contents: &ContentsType) -> Self {
        let mut document = Self { main: None, class: StringClass::default(), structured: true, old: false };
        match contents {
            ContentsType::Document { name, parameter } => {
                if let Some(DocumentParameter::Strings(strings)) = parameter {
                    document.class = strings.universal_class.unwrap_or_default();
                }
                (document.main, document.structured) = match *name {
                    oids::FTAM_1 => (Some(Syntax::Text), false),
                    oids::FTAM_2 => (Some(Syntax::Text), true),
                    oids::FTAM_3 => (Some(Syntax::Binary), false),
                    oids::FTAM_4 => (Some(Syntax::Binary), true),
                    oids::NBS_9 | oids::NBS_9_OLD => (Some(Syntax::Entries), false),
                    _ => (None, true),
                };
                document.old = *name == oids::NBS_9_OLD;
            }
            ContentsType::ConstraintSet { abstract_syntax, .. } => document.main = Syntax::of(abstract_syntax),
        }
        document
    }

    /// Whether a value of this syntax may be in it.
    pub(super) fn has(self, syntax: Syntax) -> bool {
        let is_structure = syntax == Syntax::Structure && self.structured;
        is_structure || self.main.is_none_or(|main| main == syntax)
    }

    /// A string of its own type; none where it has no strings.
    pub(super) fn string(self, content: Message) -> Option<DataElement> {
        match self.main? {
            Syntax::Binary => Some(DataElement::Octets(content)),
            Syntax::Text => Some(DataElement::Text { class: self.class, octets: content }),
            Syntax::Structure | Syntax::Entries => None,
        }
    }

    /// What the user is told of an element: the content of a string of the document's own type, else the element.
    pub(super) fn content(self, element: DataElement) -> Content {
        match (self.main, element) {
            (Some(Syntax::Binary), DataElement::Octets(content)) => Content::String(content),
            (Some(Syntax::Text), DataElement::Text { class, octets }) if class == self.class => Content::String(octets),
            (_, element) => Content::Other(element),
        }
    }

    /// The abstract syntaxes in which an element can be sent, the likeliest first.
    pub(super) const fn syntaxes(self, element: &DataElement) -> (Syntax, [Oid; 2]) {
        match element {
            DataElement::Octets(_) => (Syntax::Binary, [oids::UNSTRUCTURED_BINARY; 2]),
            DataElement::Text { .. } => (Syntax::Text, [oids::UNSTRUCTURED_TEXT; 2]),
            DataElement::Structuring(_) => (Syntax::Structure, [oids::FADU; 2]),
            DataElement::Entry(_) if self.old => (Syntax::Entries, [oids::NBS_9_ENTRIES_OLD, oids::NBS_9_ENTRIES]),
            DataElement::Entry(_) => (Syntax::Entries, [oids::NBS_9_ENTRIES, oids::NBS_9_ENTRIES_OLD]),
        }
    }
}
