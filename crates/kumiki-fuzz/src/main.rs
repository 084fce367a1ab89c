//! The targets under libFuzzer; `KUMIKI_FUZZ` in the environment says which one.

#![no_main]

use std::sync::LazyLock;

use kumiki_fuzz::{TARGETS, Target, target};

static CHOSEN: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("KUMIKI_FUZZ").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        eprintln!("there is no target \"{name}\"; there are:");
        for Target { name, title, .. } in TARGETS {
            eprintln!("    {name:<12}{title}");
        }
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(
    // A name that is none is answered before anything else is looked at.
    init: {
        LazyLock::force(&CHOSEN);
    },
    |octets: &[u8]| (CHOSEN.run)(octets)
);
