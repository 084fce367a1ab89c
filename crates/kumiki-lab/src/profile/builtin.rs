//! The profiles of the repository, compiled in: `build.rs` lists them.

include!(concat!(env!("OUT_DIR"), "/profiles.rs"));
