//! What any octets may do to each parser and to hosts: nothing that was not promised.
//!
//! | read | for |
//! |---|---|
//! | [`TARGETS`] | the list; to add a target, add its file and its line there |
//! | [`Draw`] | how a target makes choices of octets |
//! | `bench`, `host`, `line`, `program`, `packet` | hosts in the hands of a target, and the packets between them |
//! | `main.rs` | the same under libFuzzer, by `cargo xtask fuzz` |
//! | `tests/replay.rs` | every octets kept in `tests/corpus`, as an ordinary test |
//!
//! A target panics where something is wrong. It needs no clock and no random numbers: the same octets do the same.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests: what fails stops them")]

use peak_alloc::PeakAlloc;

mod callers;
mod captures;
mod cells;
mod circuits;
mod codecs;
mod contexts;
mod draw;
mod exchange;
mod files;
mod fragments;
mod framing;
mod host;
mod hosts;
mod layers;
mod line;
mod mapos;
mod offload;
mod osi;
mod packet;
mod passing;
mod ppp;
mod program;
mod reflector;
mod section;
mod segments;
mod station;
mod subscriber;
mod terminals;
mod texts;
mod wires;

pub use draw::Draw;

/// Counts what is allocated, so that a target can say how much it may be.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What may be done with any octets.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name for `cargo xtask fuzz`, and that of its archive in `tests/corpus`.
    pub name: &'static str,
    /// What it looks at, in one line.
    pub title: &'static str,
    /// Does it.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    codecs::TARGET,
    captures::TARGET,
    layers::TARGET,
    cells::TARGET,
    framing::TARGET,
    section::TARGET,
    fragments::TARGET,
    segments::TARGET,
    offload::TARGET,
    texts::TARGET,
    callers::TARGET,
    hosts::TARGET,
    hosts::FORGED,
    contexts::TARGET,
    station::TARGET,
    ppp::TARGET,
    mapos::TARGET,
    osi::TARGET,
    files::TARGET,
    files::MMS,
    circuits::TARGET,
    terminals::TARGET,
];

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// The most memory that `work` may take beyond what there is before, in MB. Tests run side by side and see each other's
/// memory, so the bounds are for what grows without end and not for what is a little more than needed.
fn within_mb(most: f32, work: impl FnOnce()) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage_as_mb();
    work();
    let peak = MEMORY.peak_usage_as_mb();
    assert!(peak - before <= most, "{} MB were taken, {most} MB are right", peak - before);
}
