//! The internet: TCP, UDP, both versions of IP, and links between them and a device.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | transport | [`tcp`], [`udp`] |
//! | internet | [`ip`] and [`ipv6`], one program for two headers (`internet/`); [`icmp`] |
//! | beside | [`dhcp`], on UDP, gives IP an address |
//! | link | [`arp`], [`eth`], [`fddi`], [`llc`], [`raw_ip`], [`sim_ether`]; [`resolution`] is what resolvers have in common |
//! | virtual | [`vnet`] |
//!
//! # Unit data, by convention
//!
//! A unit's `destination` is where it goes in the terms of the layer that gets the request: a virtual channel for AAL5,
//! AAL3/4 and LLC/SNAP, a MAC address for Ethernet, an IP address for IP, a socket for UDP. On an indication `source`
//! is in those same terms; a unit that came over a virtual channel has that channel as its source.

pub mod arp;
mod assignment;
pub mod dhcp;
pub mod eth;
pub mod fddi;
mod groups;
pub mod icmp;
mod internet;
pub mod ip;
pub mod ipv6;
#[cfg(feature = "settings")]
pub mod kinds;
mod link_addresses;
pub mod llc;
mod numbers;
pub mod raw_ip;
mod reason;
pub mod resolution;
mod settable;
pub mod sim_ether;
pub mod tcp;
#[cfg(feature = "statistics")]
pub mod times;
pub mod udp;
pub mod vnet;

pub use assignment::{AssignedRoute, Assignment, Authority, Change, InterfaceState, Resolvers};
pub use link_addresses::LinkAddresses;
pub use numbers::{EtherType, IpProtocol};
pub use reason::reason_of;
