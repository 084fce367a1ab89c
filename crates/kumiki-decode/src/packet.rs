//! What came of one packet: layers, their fields, what is wrong, and what was not understood.
//!
//! Offsets count from the first octet of a *buffer*: buffer 0 is the packet as it was recorded, further ones are PDUs
//! that this packet completed (an AAL5 PDU, an IP datagram).

use std::fmt;

use kumiki_wire::Malformed;
use serde::{Serialize, Serializer};

/// A packet, decoded as far as the protocols are known.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// From the outermost inwards; after a layer that carries several PDUs, each with its own layers in turn.
    pub layers: Vec<Layer>,
    /// Octets that belong to no layer: data, or a protocol that is not known here.
    pub rest: Vec<UndissectedOctets>,
    /// The PDUs that this packet completed: buffers 1, 2, ...
    pub reassembled: Vec<Reassembled>,
}

impl Packet {
    /// Everything that was remarked, with the layer that it was remarked on.
    pub fn remarks(&self) -> impl Iterator<Item = (&Layer, &Remark)> {
        self.layers.iter().flat_map(|layer| layer.remarks.iter().map(move |remark| (layer, remark)))
    }

    /// Whether anything in the packet is wrong.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        self.remarks().any(|(_, remark)| remark.level == Level::Bad)
    }

    /// The first layer of this protocol.
    #[must_use]
    pub fn layer(&self, protocol: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.protocol == protocol)
    }
}

/// The header (and trailer) of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// The name of its dissector, as in `--as`.
    pub protocol: &'static str,
    /// Which buffer the offsets count in.
    pub buffer: usize,
    /// Where its PDU begins.
    pub offset: usize,
    /// Octets of the header.
    pub length: usize,
    /// Octets of the whole PDU on the medium, as the layer around it says.
    #[serde(skip)]
    pub total: usize,
    /// One line.
    pub summary: String,
    /// `Some` where network addresses are known: source and destination, for the line of a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<[String; 2]>,
    /// In the order of the wire.
    pub fields: Vec<Field>,
    /// What is wrong or worth knowing.
    pub remarks: Vec<Remark>,
    /// It numbers what it carries, so the line of a packet has it beside what lies within.
    #[serde(skip)]
    pub stays: bool,
    /// Whether our own codec writes the same octets from what it has read; `None` where it cannot be asked, because
    /// there is no codec or the header is not all there.
    pub verbatim: Option<bool>,
}

impl Layer {
    /// The value of the first field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }
}

/// One field of a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// The standard's name, in lower case.
    pub name: &'static str,
    /// What it says.
    pub value: Value,
    /// What the value means, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// Its first octet, in the layer's buffer.
    pub offset: usize,
    /// The octets that it takes or shares with others.
    pub length: usize,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number that people read in decimal.
    Number(u64),
    /// A number that people read in hexadecimal, with so many digits.
    Hex(u64, usize),
    /// A flag.
    Flag(bool),
    /// An address, a list of flags.
    Text(String),
    /// Octets without a meaning of their own.
    Octets(Vec<u8>),
}

impl From<u8> for Value {
    fn from(value: u8) -> Self {
        Self::Number(value.into())
    }
}

impl From<u16> for Value {
    fn from(value: u16) -> Self {
        Self::Number(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<&[u8]> for Value {
    fn from(octets: &[u8]) -> Self {
        Self::Octets(octets.to_vec())
    }
}

impl Value {
    /// In the words that it displays itself with.
    pub fn text(shown: impl fmt::Display) -> Self {
        Self::Text(shown.to_string())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Hex(number, digits) => write!(f, "0x{number:0digits$x}"),
            Self::Flag(flag) => write!(f, "{}", u8::from(*flag)),
            Self::Text(text) => f.write_str(text),
            Self::Octets(octets) => f.write_str(&hex(octets)),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) | Self::Hex(number, _) => to.serialize_u64(*number),
            Self::Flag(flag) => to.serialize_bool(*flag),
            Self::Text(text) => to.serialize_str(text),
            Self::Octets(octets) => to.serialize_str(&hex(octets)),
        }
    }
}

/// How much a [`Remark`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing; nothing is wrong.
    Note,
    /// The octets are not what the standard wants.
    Bad,
}

/// Something about a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// How much it matters.
    pub level: Level,
    /// What was found and what would be right.
    pub text: String,
}

/// Octets that no dissector took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndissectedOctets {
    /// Which buffer the offset counts in.
    pub buffer: usize,
    /// The first of them.
    pub offset: usize,
    /// How many there were on the medium; fewer octets may have been recorded.
    pub length: usize,
    /// Why nobody took them.
    pub why: String,
    /// The octets, as far as they were recorded.
    #[serde(rename = "hex", serialize_with = "as_hex")]
    pub octets: Vec<u8>,
}

/// A PDU that came in several packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reassembled {
    /// What it is, as in "AAL5 PDU".
    pub what: &'static str,
    /// The packets that it came in, by number, this one last. At most 64 are kept: the first ones and this.
    pub packets: Vec<u64>,
    /// In how many parts it came.
    pub parts: usize,
    /// Its octets.
    #[serde(rename = "hex", serialize_with = "as_hex")]
    pub octets: Vec<u8>,
}

fn as_hex<S: Serializer>(octets: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&hex(octets))
}

/// Two digits for each octet, without spaces.
#[must_use]
pub fn hex(octets: &[u8]) -> String {
    use fmt::Write as _;
    octets.iter().fold(String::with_capacity(2 * octets.len()), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// A wrong field, in the words of [`Malformed`] but without the name of the protocol, which stands beside it anyway.
pub(crate) fn in_words(why: &Malformed) -> String {
    let text = why.to_string();
    match text.split_once(": ") {
        Some((_, rest)) => rest.to_owned(),
        None => text,
    }
}
