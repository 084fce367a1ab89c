//! How layers find each other.

/// How a lower layer tells its users apart; each layer picks the kinds it understands from what a user offers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// IPv4 protocol or IPv6 next header number.
    IpProtocol(u8),
    /// Ethernet type, as SNAP and Ethernet II carry it.
    EtherType(u16),
    /// Service access point of IEEE 802.2 (LSAP): an even number.
    Lsap(u8),
    /// Protocol field of PPP (RFC 1661 section 2).
    PppProtocol(u16),
    /// Protocol field of MAPOS (RFC 2171).
    MaposProtocol(u16),
    /// The one user of a driver that carries PPP beside a protocol of its own: takes and hands down whole PPP frames.
    PppFrames,
    /// The one user of a layer that does not tell users apart, or that it has beside those with numbers: on Ethernet LLC, whose
    /// frames have a length in place of a type.
    Only,
    /// Takes what is for no other user, and hands down what it likes: whole frames, unprocessed (DLPI's RAW access).
    Raw,
}

/// The keys in `keys` that name an IP protocol; for layers that tell users apart by it.
pub fn ip_protocols(keys: &[Key]) -> impl Iterator<Item = u8> + '_ {
    keys.iter().filter_map(|key| match key {
        Key::IpProtocol(number) => Some(*number),
        Key::EtherType(_)
        | Key::Lsap(_)
        | Key::PppProtocol(_)
        | Key::MaposProtocol(_)
        | Key::PppFrames
        | Key::Only
        | Key::Raw => None,
    })
}

/// The keys in `keys` that name a protocol of PPP.
pub fn ppp_protocols(keys: &[Key]) -> impl Iterator<Item = u16> + '_ {
    keys.iter().filter_map(|key| match key {
        Key::PppProtocol(number) => Some(*number),
        Key::IpProtocol(_)
        | Key::EtherType(_)
        | Key::Lsap(_)
        | Key::MaposProtocol(_)
        | Key::PppFrames
        | Key::Only
        | Key::Raw => None,
    })
}

/// The keys in `keys` that name a protocol of MAPOS.
pub fn mapos_protocols(keys: &[Key]) -> impl Iterator<Item = u16> + '_ {
    keys.iter().filter_map(|key| match key {
        Key::MaposProtocol(number) => Some(*number),
        Key::IpProtocol(_)
        | Key::EtherType(_)
        | Key::Lsap(_)
        | Key::PppProtocol(_)
        | Key::PppFrames
        | Key::Only
        | Key::Raw => None,
    })
}

/// The keys in `keys` that name an Ethernet type.
pub fn ether_types(keys: &[Key]) -> impl Iterator<Item = u16> + '_ {
    keys.iter().filter_map(|key| match key {
        Key::EtherType(number) => Some(*number),
        Key::IpProtocol(_)
        | Key::Lsap(_)
        | Key::PppProtocol(_)
        | Key::MaposProtocol(_)
        | Key::PppFrames
        | Key::Only
        | Key::Raw => None,
    })
}

/// The keys in `keys` that name a service access point of IEEE 802.2.
pub fn lsaps(keys: &[Key]) -> impl Iterator<Item = u8> + '_ {
    keys.iter().filter_map(|key| match key {
        Key::Lsap(number) => Some(*number),
        Key::IpProtocol(_)
        | Key::EtherType(_)
        | Key::PppProtocol(_)
        | Key::MaposProtocol(_)
        | Key::PppFrames
        | Key::Only
        | Key::Raw => None,
    })
}
