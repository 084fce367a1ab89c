//! ATM above its cells: adaptation layers, and what stands between them and IP.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`, and cells are the affair of a device.
//!
//! | layer | protocols |
//! |---|---|
//! | address resolution | [`atm_arp`] |
//! | encapsulation | [`llc_snap`], [`vc_mux`] |
//! | adaptation | [`aal5`], [`aal34`], both by [`convergence`] |

pub mod aal34;
pub mod aal5;
pub mod atm_arp;
pub mod convergence;
pub mod llc_snap;
pub mod vc_mux;
