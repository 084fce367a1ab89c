//! Data elements: what a document is made of while it is transferred, ISO 8571-2.
//!
//! Each is one presentation data value, in the context of its document's abstract syntax, or, if it is structure, of
//! FTAM-FADU.

use kumiki_octets::Message;

use super::attributes::ReadAttributes;
use super::contents::StringClass;
use super::{External, GraphicString};

/// One data element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataElement {
    /// A string of FTAM-3 or FTAM-4.
    Octets(Message),
    /// A string of FTAM-1 or FTAM-2.
    Text {
        /// Its type.
        class: StringClass,
        /// Its characters.
        octets: Message,
    },
    /// Structure: FTAM-2 and FTAM-4, and whatever has more than one data unit.
    Structuring(StructuringElement),
    /// An entry of an NBS-9 directory.
    Entry(Box<ReadAttributes>),
}

/// What stands around data units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StructuringElement {
    /// A node begins.
    Node(NodeDescriptor),
    /// The children of the node before begin.
    EnterSubtree,
    /// They end.
    ExitSubtree,
}

/// A node of the tree that a file is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeDescriptor {
    /// Its name, if it has one.
    pub name: Option<NodeName>,
    /// How many levels below its parent it is.
    pub arc_length: i64,
    /// Whether a data unit follows.
    pub data_exists: bool,
}

/// No name, one level below, with data: every record of FTAM-2.
impl Default for NodeDescriptor {
    fn default() -> Self {
        Self { name: None, arc_length: 1, data_exists: true }
    }
}

/// The name of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeName {
    /// As FTAM-FADU has it.
    Ftam(GraphicString),
    /// As the document's abstract syntax has it.
    User(External),
}
