//! The kinds of nodes of this family: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use kumiki_settings::{NodeKind, node};

use crate::ftam::{self, Ftam};
use crate::mms::{self, Mms};

/// Every kind and what makes it, in the order of their names.
pub const KINDS: &[NodeKind] = &[
    ("ftam", |reader, _| node(reader, ftam::Config::default(), Ftam::new)),
    ("mms", |reader, _| node(reader, mms::Config::default(), Mms::new)),
];
