//! Control PDUs into octets.

use kumiki_osi_service::Oid;

use super::head::Octets;
use super::{Bits, External, Tag};

/// Writes elements one behind the other; always the shortest form.
///
/// A constructed element is written by a closure, and its length put in front when it is known:
///
/// ```
/// use kumiki_wire::osi::ber::{Tag, Writer};
/// let mut w = Writer::new();
/// w.constructed(Tag::application(19), |w| {
///     w.constructed(Tag::context(0), |w| w.text(Tag::GRAPHIC_STRING, "a.bin"));
/// });
/// assert_eq!(w.finish(), b"\x73\x09\xa0\x07\x19\x05a.bin");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
}

impl Writer {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { out: Vec::new() }
    }

    /// Behind what `out` holds.
    #[must_use]
    pub const fn behind(out: Vec<u8>) -> Self {
        Self { out }
    }

    /// The octets.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// How many octets have been written.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing has been written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// A constructed element: its content is what `content` writes.
    pub fn constructed(&mut self, tag: Tag, content: impl FnOnce(&mut Self)) {
        let from = self.out.len();
        content(self);
        let head = Octets::definite(tag, true, self.out.len() - from);
        self.out.splice(from..from, head.as_slice().iter().copied());
    }

    /// `[number]`, constructed.
    pub fn context(&mut self, number: u32, content: impl FnOnce(&mut Self)) {
        self.constructed(Tag::context(number), content);
    }

    /// `[APPLICATION number]`, constructed.
    pub fn application(&mut self, number: u32, content: impl FnOnce(&mut Self)) {
        self.constructed(Tag::application(number), content);
    }

    /// SEQUENCE.
    pub fn sequence(&mut self, content: impl FnOnce(&mut Self)) {
        self.constructed(Tag::SEQUENCE, content);
    }

    /// SET.
    pub fn set(&mut self, content: impl FnOnce(&mut Self)) {
        self.constructed(Tag::SET, content);
    }

    /// Octets that are elements already.
    pub fn raw(&mut self, elements: &[u8]) {
        self.out.extend_from_slice(elements);
    }

    /// A primitive element.
    pub fn primitive(&mut self, tag: Tag, content: &[u8]) {
        let head = Octets::definite(tag, false, content.len());
        self.out.extend_from_slice(head.as_slice());
        self.out.extend_from_slice(content);
    }

    /// BOOLEAN.
    pub fn boolean(&mut self, tag: Tag, value: bool) {
        self.primitive(tag, &[if value { 0xff } else { 0 }]);
    }

    /// INTEGER, and ENUMERATED.
    pub fn integer(&mut self, tag: Tag, value: impl Into<i64>) {
        let octets = value.into().to_be_bytes();
        self.primitive(tag, shortest(&octets));
    }

    /// NULL.
    pub fn null(&mut self, tag: Tag) {
        self.primitive(tag, &[]);
    }

    /// OBJECT IDENTIFIER.
    pub fn oid(&mut self, tag: Tag, oid: &Oid) {
        self.primitive(tag, oid.content());
    }

    /// OCTET STRING.
    pub fn octet_string(&mut self, tag: Tag, octets: &[u8]) {
        self.primitive(tag, octets);
    }

    /// BIT STRING.
    pub fn bits(&mut self, tag: Tag, bits: &Bits<'_>) {
        let head = Octets::definite(tag, false, bits.octets().len() + 1);
        self.out.extend_from_slice(head.as_slice());
        self.out.push(bits.unused());
        self.out.extend_from_slice(bits.octets());
    }

    /// A character string or a time, in UTF-8: see [`Element::text`](super::Element::text).
    pub fn text(&mut self, tag: Tag, text: &str) {
        self.primitive(tag, text.as_bytes());
    }

    /// EXTERNAL, under the tag of its own or an implicit one.
    pub fn external(&mut self, tag: Tag, external: &External<'_>) {
        self.constructed(tag, |w| {
            if let Some(direct) = &external.direct {
                w.oid(Tag::OBJECT_IDENTIFIER, direct);
            }
            if let Some(indirect) = external.indirect {
                w.integer(Tag::INTEGER, indirect);
            }
            if let Some(descriptor) = &external.descriptor {
                w.text(Tag::OBJECT_DESCRIPTOR, descriptor);
            }
            external.encoding.emit(w);
        });
    }
}

/// The content octets of an INTEGER without those in front that say nothing (X.690 section 8.3.2).
pub(super) fn shortest(octets: &[u8]) -> &[u8] {
    match octets {
        [0x00, 0..=0x7f, ..] | [0xff, 0x80..=0xff, ..] => shortest(octets.get(1..).unwrap_or_default()),
        _ => octets,
    }
}
