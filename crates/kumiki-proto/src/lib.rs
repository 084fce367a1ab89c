//! Protocol state machines, one folder per protocol, flat.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in `kumiki-wire`.
//! Virtual protocols have no octets of their own and no file there.
//!
//! | layer | protocols |
//! |---|---|
//! | users of the file service, and of MMS | [`file_user`], [`filestore`], [`mms_files`] |
//! | terminals | [`pad`], [`pad_host`], [`telnet`] |
//! | upper | [`ftam`], [`mms`], [`acse`], [`presentation`], [`session`] |
//! | transport | [`tcp`], [`udp`], [`xtp`], [`tp0`] over [`tpkt`] |
//! | network | [`x25`], [`xot`], and between interfaces [`x25_switch`] |
//! | internet | [`ip`], [`ipv6`], [`icmp`] |
//! | link | [`arp`], [`eth`], [`fddi`], [`hdlc`], [`lapb`], [`llc`], [`mapos`], [`mapos_switch`], [`ppp`], [`ppp_daemon`], [`sdh`], [`sim_ether`], [`x32`] |
//! | virtual | [`vnet`], [`pipe`], [`loopback`], [`hif`], [`lif`] |
//! | adaptation | [`atm_arp`], [`llc_snap`], [`vc_mux`], [`aal5`], [`aal34`] |
//!
//! [`registry`] makes them by name, from settings that are data.
//!
//! # Unit data, by convention
//!
//! A unit's `destination` is where it goes in the terms of the layer that gets the request: a virtual channel for AAL5,
//! AAL3/4 and LLC/SNAP, a MAC address for Ethernet, an IP address for IP, a socket for UDP. On an indication `source` is in
//! those same terms; a unit that came
//! over a virtual channel has that channel as its source.

pub mod aal34;
pub mod aal5;
pub mod acse;
pub mod arp;
pub mod atm_arp;
mod cpcs;
mod entries;
pub mod eth;
pub mod fddi;
pub mod file_user;
pub mod filestore;
pub mod ftam;
mod groups;
pub mod hdlc;
pub mod hif;
pub mod icmp;
mod inet;
pub mod ip;
pub mod ipv6;
pub mod lapb;
pub mod lapb_ether;
pub mod lif;
pub mod llc;
pub mod llc_snap;
pub mod loopback;
pub mod mapos;
pub mod mapos_switch;
pub mod mms;
pub mod mms_files;
pub mod pad;
pub mod pad_host;
pub mod pipe;
pub mod ppp;
pub mod ppp_daemon;
pub mod presentation;
pub mod registry;
mod resolution;
pub mod sdh;
pub mod session;
mod sessions;
pub mod sim_ether;
pub mod tcp;
pub mod telnet;
pub mod tp0;
pub mod tpkt;
pub mod udp;
mod users;
pub mod vc_mux;
pub mod vnet;
pub mod x25;
pub mod x25_iface;
pub mod x25_switch;
pub mod x32;
pub mod xot;
pub mod xtp;

#[cfg(test)]
mod test_bench;
#[cfg(test)]
mod test_cut;
#[cfg(test)]
mod test_refused;
