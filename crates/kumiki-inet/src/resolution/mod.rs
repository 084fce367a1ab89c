//! Where [`crate::arp`] (RFC 826) and `kumiki_atm::atm_arp` (RFC 2225) stand: between those who have IPv4 addresses and
//! a link.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1122 section 2.3.2 (what is known gets old, what waits is kept) |
//! | Above | [`crate::arp`], `kumiki_atm::atm_arp`, `kumiki_ppp::mapos` |
//! | Below | nothing: there is no node here |
//! | Left out | what is said on the link, and addresses other than IPv4's |
//!
//! A user hands down a unit and its next hop, and the resolver puts the link's address in the next hop's place. Users
//! share what is known of next hops. Each stands on the link under its own EtherType (IP, XTP), and the resolver under
//! that of ARP: the graph makes an access point for each ([`kumiki_graph::Protocol::passes_users_through`]). Who is
//! asked, when, and what becomes of units meanwhile is not here: in that the two standards differ.

use core::net::Ipv4Addr;
use kumiki_wire::numbering::ETHER_TYPE;

use kumiki_graph::{Above, Address, Below, Context, Indication, Key, Problem, Report, Request, Service, Shape, Unit};
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::ethertype;

mod cache;
#[cfg(test)]
mod tests;

pub use cache::{Bounds, Cache, Resolution};

/// The link, as the resolver itself stands on it; its users' access points follow.
pub const OWN: Below = Below(0);

/// The access point below of `user`.
pub const fn below(user: Above) -> Below {
    Below(user.0.saturating_add(1))
}

/// Whose access point below `from` is; `None` where it is the resolver's.
pub fn user(from: Below) -> Option<Above> {
    from.0.checked_sub(1).map(Above)
}

/// What a resolver offers and needs.
pub fn shape() -> Shape {
    Shape {
        offers: Some(Service::UNIT_DATA),
        needs: &[Service::UNIT_DATA],
        below: (1, 1),
        keys: vec![Key::of(ETHER_TYPE, ethertype::ARP)],
    }
}

/// Takes a user of the resolver called `name`. That no two have one number the link sees to.
pub fn bind(name: &str, keys: &[Key]) -> Result<(), String> {
    let mut numbers = Key::numbers(keys, ETHER_TYPE).peekable();
    if numbers.peek().is_none() {
        return Err(format!("{name} resolves addresses for users with an EtherType, and this one has none"));
    }
    if numbers.any(|number| number == ethertype::ARP) {
        return Err(format!("the EtherType of ARP is {name}'s own"));
    }
    Ok(())
}

/// Sends a unit of `user`'s to `station`.
pub fn transmit(user: Above, station: Address, mut unit: Box<Unit>, cx: &mut Context<'_>) {
    unit.destination = station;
    cx.down(below(user), Request::Unit(unit));
}

/// Tells `user` that nobody answers for a unit of its that waited.
pub fn silent(user: Above, next_hop: Ipv4Addr, unit: Box<Unit>, cx: &mut Context<'_>) {
    let report = Report::Unreachable {
        source: unit.source,
        destination: Address::from(next_hop),
        problem: Problem::NoNeighbour,
        start: unit.data,
    };
    cx.up(user, Indication::Report(Box::new(report)));
}

/// Sends a packet of the resolver's own protocol to `station`.
pub fn packet(station: Address, data: Message, cx: &mut Context<'_>) {
    let packet = Unit { destination: station, ..Unit::of(data) };
    cx.down(OWN, Request::Unit(Box::new(packet)));
}
