//! The kinds of nodes of this family: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use kumiki_settings::{NodeKind, node};

use crate::acse::{self, Acse};
use crate::presentation::{self, Presentation};
use crate::session::{self, Session};
use crate::tp0::{self, Tp0};
use crate::tpkt::{self, Tpkt};

/// Every kind and what makes it, in the order of their names.
pub const KINDS: &[NodeKind] = &[
    ("acse", |reader, _| node(reader, acse::Config::default(), Acse::new)),
    ("presentation", |reader, _| node(reader, presentation::Config::default(), Presentation::new)),
    ("session", |reader, _| node(reader, session::Config::default(), Session::new)),
    ("tp0", |reader, _| node(reader, tp0::Config::default(), Tp0::new)),
    ("tpkt", |reader, _| node(reader, tpkt::Config::default(), Tpkt::new)),
];
