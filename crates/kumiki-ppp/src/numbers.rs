//! The numbers by which the layers of this family tell users apart.

use kumiki_graph::Key;
use kumiki_graph::users::UserNumber;
use kumiki_octets::Numbering;
use kumiki_wire::numbering::{MAPOS_PROTOCOL, PPP_PROTOCOL};

/// The one user of a driver that carries PPP beside a protocol of its own: takes and hands down whole PPP frames.
pub const PPP_FRAMES: Key = Key::of(&Numbering::decimal("PPP frames"), 0);

/// A number of PPP's protocol field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PppProtocol(pub u16);

impl UserNumber for PppProtocol {
    const KIND: &'static str = "PPP protocol";

    fn of_key(key: Key) -> Option<Self> {
        key.number(PPP_PROTOCOL).map(Self)
    }

    fn key(self) -> Key {
        Key::of(PPP_PROTOCOL, self.0)
    }
}

/// A number of MAPOS's protocol field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaposProtocol(pub u16);

impl UserNumber for MaposProtocol {
    const KIND: &'static str = "MAPOS protocol";

    fn of_key(key: Key) -> Option<Self> {
        key.number(MAPOS_PROTOCOL).map(Self)
    }

    fn key(self) -> Key {
        Key::of(MAPOS_PROTOCOL, self.0)
    }
}
