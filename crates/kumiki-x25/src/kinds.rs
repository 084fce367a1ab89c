//! The kinds of nodes of this family: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use kumiki_settings::{NodeKind, checked, node};

use crate::lapb::{self, Lapb};
use crate::lapb_ether::LapbEther;
use crate::x25::{self, X25};
use crate::x25_iface::X25Iface;
use crate::x25_switch::{self, Switch};
use crate::x32::{self, X32};
use crate::xot::{self, Xot};

/// Every kind and what makes it, in the order of their names.
pub const KINDS: &[NodeKind] = &[
    ("lapb", |reader, _| checked(reader, lapb::Config::default(), Lapb::new)),
    ("lapb_ether", |_, _| Ok(Box::new(LapbEther::default()))),
    ("x25", |reader, _| checked(reader, x25::Config::default(), X25::new)),
    ("x25_iface", |_, _| Ok(Box::new(X25Iface::default()))),
    ("x25_switch", |reader, place| Ok(Box::new(Switch::new(x25_switch::Config::of_settings(reader, place.below)?)))),
    ("x32", |reader, _| checked(reader, x32::Config::default(), X32::new)),
    ("xot", |reader, _| node(reader, xot::Config::default(), Xot::new)),
];
