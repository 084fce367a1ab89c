//! Where [`crate::arp`] (RFC 826) and [`crate::atm_arp`] (RFC 2225) stand: between IPv4 and a link.
//!
//! IP hands down a datagram and its next hop, and the resolver puts the link's address in the next hop's place. For the
//! link it is a user under two EtherTypes: that of IPv4, whose datagrams only pass, and that of ARP, its own. Who is asked,
//! when, and what becomes of datagrams meanwhile is not here: in that the two standards differ.

use kumiki_graph::{
    Above, Address, Below, Context, Key, Request, Service, Shape, Unit, ether_types,
};
use kumiki_octets::Message;
use kumiki_wire::ethernet::ethertype;

/// IP.
pub(crate) const ABOVE: Above = Above(0);
/// The link.
pub(crate) const BELOW: Below = Below(0);

/// What a resolver offers and needs.
pub(crate) fn shape() -> Shape {
    Shape {
        offers: Some(Service::UnitData),
        needs: &[Service::UnitData],
        below: (1, 1),
        keys: vec![
            Key::EtherType(ethertype::IPV4),
            Key::EtherType(ethertype::ARP),
        ],
    }
}

/// Takes the one IP of the resolver called `name`.
pub(crate) fn bind(name: &str, above: Above, keys: &[Key]) -> Result<(), String> {
    if above != ABOVE {
        return Err(format!("{name} resolves for one IP, and has it already"));
    }
    if ether_types(keys).any(|number| number == ethertype::IPV4) {
        Ok(())
    } else {
        Err(format!(
            "{name} resolves IPv4 addresses, and this is not IPv4"
        ))
    }
}

/// Whether a unit from the link is a packet of the resolver's own protocol.
pub(crate) fn is_own(unit: &Unit) -> bool {
    unit.options.under == Some(Key::EtherType(ethertype::ARP))
}

/// Sends one of IP's datagrams to `station`.
pub(crate) fn transmit(station: Address, mut datagram: Unit, cx: &mut Context<'_>) {
    datagram.destination = station;
    datagram.options.under = Some(Key::EtherType(ethertype::IPV4));
    cx.down(BELOW, Request::Unit(datagram));
}

/// Sends a packet of the resolver's own protocol to `station`.
pub(crate) fn packet(station: Address, data: Message, cx: &mut Context<'_>) {
    let mut packet = Unit {
        destination: station,
        ..Unit::of(data)
    };
    packet.options.under = Some(Key::EtherType(ethertype::ARP));
    cx.down(BELOW, Request::Unit(packet));
}
