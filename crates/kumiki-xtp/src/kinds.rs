//! The kinds of nodes of this family: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use kumiki_settings::{NodeKind, node};

use crate as xtp;
use crate::Xtp;

/// Every kind and what makes it, in the order of their names.
pub const KINDS: &[NodeKind] = &[("xtp", |reader, _| node(reader, xtp::Config::default(), Xtp::new))];
