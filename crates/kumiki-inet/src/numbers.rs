//! The numbers by which the layers of this family tell users apart.

use kumiki_graph::Key;
use kumiki_graph::users::UserNumber;
use kumiki_wire::numbering::{ETHER_TYPE, IP_PROTOCOL};

/// An Ethernet type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtherType(pub u16);

impl UserNumber for EtherType {
    const KIND: &'static str = "EtherType";

    fn of_key(key: Key) -> Option<Self> {
        key.number(ETHER_TYPE).map(Self)
    }

    fn key(self) -> Key {
        Key::of(ETHER_TYPE, self.0)
    }
}

/// A protocol of IPv4, or a next header of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpProtocol(pub u8);

impl UserNumber for IpProtocol {
    const KIND: &'static str = "protocol number";

    fn of_key(key: Key) -> Option<Self> {
        u8::try_from(key.number(IP_PROTOCOL)?).ok().map(Self)
    }

    fn key(self) -> Key {
        Key::of(IP_PROTOCOL, self.0.into())
    }
}
