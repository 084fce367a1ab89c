//! Protocols by name, from settings that are data.
//!
//! | | |
//! |---|---|
//! | Specification | none: `docs/settings.md` lists the names, made from the configurations |
//! | Above | front ends, that read their own notation into [`Settings`](struct@Settings) |
//! | Below | the protocols' own configurations, which say what they can be set to and hold the defaults |
//! | Left out | notations of quantities; programs and devices, which are no protocols; checks across nodes beyond [`LowerLayers`] |
//!
//! A scenario names the kind of each node and gives it settings; [`build`] makes the node, or says which setting is
//! wrong and what would be right. [`settings`] lists what a kind can be set to, with units and defaults: front ends
//! read their own notation by it (`"20 ms"` becomes a [`Value::Duration`]) and documents are made of it.

use kumiki_graph::Protocol;
pub use kumiki_settings::{BuildError, Problem, Setting, Settings, Value, ValueFormat};

pub mod hif;
mod kinds;
pub mod lif;
#[cfg(test)]
mod tests;

/// Where a node stands, as far as its settings depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LowerLayers<'a> {
    /// The names of the layers below, in order.
    pub below: &'a [&'a str],
    /// The largest datagram that IP below sends in one piece, in octets, where that is known.
    pub mtu: Option<u32>,
}

/// The kinds of protocols that [`build`] knows, in the order of their names.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    kinds::KINDS.iter().map(|&(kind, _)| kind)
}

/// Makes a node of `kind`.
///
/// # Errors
/// [`BuildError`] names the kind or setting that is wrong, and what would be right.
pub fn build(kind: &str, settings: &Settings, place: LowerLayers<'_>) -> Result<Box<dyn Protocol>, BuildError> {
    let found = kinds::KINDS.iter().find(|(name, _)| *name == kind);
    let Some((kind, make)) = found else {
        return Err(BuildError::unknown_kind(kind, kinds().collect()));
    };
    kumiki_settings::read(kind, settings, |reader| make(reader, place))
}

/// All that a node of `kind` can be set to; nothing where there is no such kind. The defaults are those that go with
/// `settings`, for TCP's depend on one of them.
#[must_use]
pub fn settings(kind: &str, settings: &Settings) -> Vec<Setting> {
    let found = kinds::KINDS.iter().find(|(name, _)| *name == kind);
    found.map_or_else(Vec::new, |(_, make)| {
        kumiki_settings::list(settings, |reader| make(reader, LowerLayers::default()))
    })
}
