//! `kumiki ftam` and `kumiki ftamd` as processes, over the loopback interface.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop where something is not as it should be"
)]
#![cfg(target_os = "linux")]

mod broken;
mod capture;
mod collect;
mod crowd;
mod files;
pub(crate) mod harness;
mod line;
mod memory;
mod names;
mod passwords;
mod private;
mod recovered;
mod refusals;
mod resumed;
mod strangers;
mod targets;
