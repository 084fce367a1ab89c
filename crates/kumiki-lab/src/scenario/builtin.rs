//! The scenarios of the repository, compiled in: `build.rs` lists them.

include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
