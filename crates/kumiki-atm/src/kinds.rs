//! The kinds of nodes of this family: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use core::net::Ipv4Addr;

use kumiki_settings::{NodeKind, checked, node};

use crate::aal5::{self, Aal5};
use crate::aal34::{self, Aal34};
use crate::atm_arp::{self, AtmArp};
use crate::llc_snap::{self, LlcSnap};
use crate::vc_mux::{self, VcMux};

/// Every kind and what makes it, in the order of their names.
pub const KINDS: &[NodeKind] = &[
    ("aal34", |reader, _| node(reader, aal34::Config::default(), Aal34::new)),
    ("aal5", |reader, _| node(reader, aal5::Config::default(), Aal5::new)),
    ("atm_arp", |reader, _| checked(reader, atm_arp::Config::new(NO_IP, Vec::new()), AtmArp::new)),
    ("llc_snap", |reader, _| node(reader, llc_snap::Config::default(), LlcSnap::new)),
    ("vc_mux", |reader, _| node(reader, vc_mux::Config::default(), VcMux::new)),
];

/// What stands in a configuration until it is set, as it must be.
const NO_IP: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
