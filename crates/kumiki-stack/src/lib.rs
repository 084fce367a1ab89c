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

pub use kinds::KINDS;
pub use kumiki_settings::{BuildError, LowerLayers, NodeResult, Problem, Setting, Settings, Value, ValueFormat};

pub mod hif;
mod kinds;
pub mod lif;
#[cfg(test)]
mod tests;

/// The kinds of protocols that [`build`] knows, in the order of their names.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.names().into_iter()
}

/// Makes a node of `kind`.
///
/// # Errors
/// [`BuildError`] names the kind or setting that is wrong, and what would be right.
pub fn build(kind: &str, settings: &Settings, place: LowerLayers<'_>) -> NodeResult {
    KINDS.build(kind, settings, place)
}

/// All that a node of `kind` can be set to; nothing where there is no such kind. The defaults are those that go with
/// `settings`, for TCP's depend on one of them.
#[must_use]
pub fn settings(kind: &str, settings: &Settings) -> Vec<Setting> {
    KINDS.settings(kind, settings)
}
