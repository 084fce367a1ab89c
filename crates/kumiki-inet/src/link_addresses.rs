//! What a link tells IP of addresses.

use kumiki_graph::Address;
use kumiki_octets::Payload;

/// The ends of a point-to-point link have agreed on these addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkAddresses {
    /// Our own; [`Address::NONE`] where there was none to agree on.
    pub local: Address,
    /// The peer's.
    pub remote: Address,
}

impl Payload for LinkAddresses {}
