//! The kinds of nodes of this family: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use core::net::Ipv4Addr;

use kumiki_settings::{NodeKind, checked, fits, node};

use crate::hdlc::{self, Hdlc};
use crate::mapos::{self, Mapos};
use crate::mapos_switch::{self, MaposSwitch};
use crate::ppp::{self, Ppp};
use crate::ppp_daemon::{self, PppDaemon};
use crate::sdh::{self, Sdh};

/// Every kind and what makes it, in the order of their names.
pub const KINDS: &[NodeKind] = &[
    ("hdlc", |reader, _| node(reader, hdlc::Config::default(), Hdlc::new)),
    ("mapos", |reader, _| checked(reader, mapos::Config::new(NO_IP), Mapos::new)),
    ("mapos_switch", |reader, place| fits(mapos_switch::Config::of_settings(reader, place.below)?, MaposSwitch::new)),
    ("ppp", |reader, _| node(reader, ppp::Config::default(), Ppp::new)),
    ("ppp_daemon", |reader, _| checked(reader, ppp_daemon::Config::default(), PppDaemon::new)),
    ("sdh", |reader, _| checked(reader, sdh::Config::default(), Sdh::new)),
];

/// What stands in a configuration until it is set, as it must be.
const NO_IP: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
