//! The sockets have every method, trait and type that tokio's have: one source is built against both.
//!
//! `cargo xtask parity` looks in tokio's own source for methods that `surface.rs` has forgotten.
#![allow(clippy::type_complexity, clippy::unwrap_used, dead_code, missing_docs, unused_imports)]

mod ours {
    use kumiki_net as net;
    include!("parity/surface.rs");
}

mod tokios {
    use tokio::net;
    include!("parity/surface.rs");
}

/// What tokio's sockets have and ours do not, for it names the operating system.
const LEFT_OUT: &[(&str, &str)] = &[
    ("from_std", "there is no socket of the operating system to begin with"),
    ("from_std_stream", "likewise"),
    ("into_std", "nor one to give away"),
    ("as_fd, as_raw_fd, from_raw_fd, into_raw_fd", "nor a descriptor"),
];

#[test]
fn what_is_left_out_is_in_the_surface_of_neither() {
    let surface = include_str!("parity/surface.rs");
    for name in LEFT_OUT.iter().flat_map(|(names, _)| names.split(", ")) {
        assert!(!surface.contains(&format!("::{name}")), "{name} is called");
    }
}
