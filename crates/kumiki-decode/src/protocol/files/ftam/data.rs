//! Data elements of FTAM: strings of a file, structure, entries of a directory.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::files::ftam::data`] |
//! | Found | values of the presentation contexts of documents: text, binary, FTAM-FADU, NBS-9 entries |
//! | Left out | which document type the file is of; strings in pieces are shown as what they are, and not joined |

use kumiki_octets::Message;
use kumiki_octets::text::counted;
use kumiki_osi_service::ftam::data::{DataElement, StructuringElement};
use kumiki_osi_service::ftam::oids;
use kumiki_wire::files::ftam::data::{Reader, Syntax};
use kumiki_wire::osi::ber;

use crate::key::Key;
use crate::packet::Value;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(in crate::protocol) const BINARY: Dissector = Dissector {
    name: "ftam-binary",
    title: "strings of unstructured binary files, FTAM-3",
    claims: &[Key::AbstractSyntax(oids::UNSTRUCTURED_BINARY)],
    dissect: |reading| elements(reading, Syntax::Binary),
};

pub(in crate::protocol) const TEXT: Dissector = Dissector {
    name: "ftam-text",
    title: "strings of unstructured text files, FTAM-1",
    claims: &[Key::AbstractSyntax(oids::UNSTRUCTURED_TEXT)],
    dissect: |reading| elements(reading, Syntax::Text),
};

pub(in crate::protocol) const STRUCTURE: Dissector = Dissector {
    name: "ftam-fadu",
    title: "structure of files, FTAM-FADU",
    claims: &[Key::AbstractSyntax(oids::FADU)],
    dissect: |reading| elements(reading, Syntax::Structure),
};

pub(in crate::protocol) const ENTRIES: Dissector = Dissector {
    name: "ftam-directory",
    title: "entries of directories, NBS-9",
    claims: &[Key::AbstractSyntax(oids::NBS_9_ENTRIES), Key::AbstractSyntax(oids::NBS_9_ENTRIES_OLD)],
    dissect: |reading| elements(reading, Syntax::Entries),
};

/// The first data element of a value, and what follows it.
fn elements(reading: &mut Reading<'_>, syntax: Syntax) {
    let octets = reading.octets();
    let mut reader = ber::Reader::new("FTAM data", octets);
    let element = match reader.any("data element", "an element") {
        Ok(element) => element,
        Err(why) => return reading.malformed(&why),
    };
    let own = element.octets();
    let read = Reader::new(syntax, Message::from_octets(own)).next();
    let read = match read.transpose() {
        Ok(Some(read)) => read,
        Ok(None) => return,
        Err(why) => return reading.malformed(&why),
    };
    let at = super::place(own, element.content());
    let len = element.content().len();
    let name = match syntax {
        Syntax::Binary => BINARY.name,
        Syntax::Text => TEXT.name,
        Syntax::Structure => STRUCTURE.name,
        Syntax::Entries => ENTRIES.name,
    };
    match read {
        DataElement::Octets(content) => {
            reading.header_len(at);
            reading.summary(format!("file, {}", counted(content.len(), "octet")));
            reading.named("string", 0, at, 4_u8, element.tag());
            reading.follow(&[], at, len);
        }
        DataElement::Text { class, octets } => {
            reading.header_len(at);
            reading.summary(format!("file, {class} of {}", counted(octets.len(), "octet")));
            reading.named("string", 0, at, class.number(), class);
            reading.follow(&[], at, len);
        }
        DataElement::Structuring(structure) => {
            reading.header_len(own.len());
            let what = match &structure {
                StructuringElement::Node(_) => "node",
                StructuringElement::EnterSubtree => "enter subtree",
                StructuringElement::ExitSubtree => "exit subtree",
            };
            reading.summary(what);
            reading.field("structuring-element", 0, own.len(), Value::text(what));
            if let StructuringElement::Node(node) = structure {
                let said = format!("{node:?}");
                reading.field("node-descriptor", at, len, Value::Text(said));
            }
        }
        DataElement::Entry(entry) => {
            reading.header_len(own.len());
            let path = entry.pathname.as_ref().map(ToString::to_string);
            reading.summary(format!("entry {}", path.unwrap_or_default()));
            match kumiki_wire::files::ftam::data::look_at_entry(own) {
                Ok(fields) => {
                    for field in fields {
                        let at = super::place(own, field.octets);
                        reading.field(field.name, at, field.octets.len(), Value::Text(field.said));
                    }
                }
                Err(why) => reading.malformed(&why),
            }
        }
    }
    reading.follow(&[Key::Named(name)], own.len(), usize::MAX);
}
