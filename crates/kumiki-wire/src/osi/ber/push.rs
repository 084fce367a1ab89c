//! Identifier and length octets in front of a message whose content is held elsewhere: no content octet is read or
//! moved.

use kumiki_octets::Message;

use super::Tag;
use super::head::Octets;
use super::writer::shortest;

/// Makes all of `message` the content of an element, and gives how many octets that took.
pub fn head(message: &mut Message, tag: Tag, constructed: bool) -> usize {
    let octets = Octets::definite(tag, constructed, message.len());
    message.push_octets(octets.as_slice()).len()
}

/// Makes the elements in `message` the content of a constructed one.
pub fn constructed(message: &mut Message, tag: Tag) {
    head(message, tag, true);
}

/// Makes all of `message` an OCTET STRING, or another string, of one piece.
pub fn primitive(message: &mut Message, tag: Tag) {
    head(message, tag, false);
}

/// Makes all of `message` a BIT STRING of whose last octet `unused` bits, 0 to 7, do not belong to it.
pub fn bits(message: &mut Message, tag: Tag, unused: u8) {
    message.push_octets(&[unused]);
    head(message, tag, false);
}

/// Puts an INTEGER in front of the elements in `message`.
pub fn integer(message: &mut Message, tag: Tag, value: impl Into<i64>) {
    let octets = value.into().to_be_bytes();
    element(message, tag, shortest(&octets));
}

/// Puts a primitive element of at most 128 octets of content in front of the elements in `message`.
pub fn element(message: &mut Message, tag: Tag, content: &[u8]) {
    let head = Octets::definite(tag, false, content.len());
    debug_assert!(content.len() <= 128, "longer content is held elsewhere");
    message.push_octets(content);
    message.push_octets(head.as_slice());
}
