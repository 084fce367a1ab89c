//! What transport is told beside data.

use kumiki_octets::Payload;

/// From here on a message that comes may have so many octets, as far as the layer takes any so long. Before, it takes
/// what begins a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Longest(pub u32);

impl Payload for Longest {}
