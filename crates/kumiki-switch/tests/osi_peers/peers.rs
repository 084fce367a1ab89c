//! The peers: programs that are started for one test and ended with it.

use std::path::PathBuf;

pub(crate) use kumiki_watchdog::peers::is_there;
pub(crate) use kumiki_watchdog::process::{Folder, ProcessOutput, Running};

/// The folder of the peers, beside the repository; whoever runs the tests may have none.
pub(crate) fn kit() -> Option<PathBuf> {
    kumiki_watchdog::peers::folder(env!("CARGO_MANIFEST_DIR"))
}

/// Why a test goes without its peer; it fails where somebody has asked for peers.
pub(crate) fn skip(why: &str) {
    kumiki_watchdog::peers::skip("KUMIKI_REQUIRE_OSI", why);
}
