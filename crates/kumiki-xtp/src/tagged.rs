//! Data with a tag beside it.

use kumiki_octets::{Message, Payload};

/// Data with a tag of the user's beside it (BTAG), within credit as all data. The tag is no part of the data and goes
/// with its first octet. Request, and indication to a user that has asked for tags ([`WithTags`]); any other gets the
/// data alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tagged {
    /// The tag.
    pub tag: [u8; 8],
    /// The data, at least one octet.
    pub data: Message,
    /// As of [`Request::Data`](kumiki_graph::Request::Data).
    pub end: bool,
}

impl Payload for Tagged {
    fn payload(&self) -> Option<&Message> {
        Some(&self.data)
    }
}

/// Among the parameters of an open or an accept: the user wants to see the tags of its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithTags;

impl Payload for WithTags {}
