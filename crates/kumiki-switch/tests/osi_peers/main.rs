//! The OSI stack with implementations of others: Linux's packet layer of X.25, and libiec61850 up to ACSE.
//!
//! Linux lies beside the repository, in `../shared/peers`, libiec61850 comes with a package of Python's and runs as a
//! process of its own; where they or what they need is not there, a test says so and passes, unless
//! `KUMIKI_REQUIRE_OSI` is set.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod linux;
mod mms;
mod peers;
#[cfg(target_os = "linux")]
mod switched;
