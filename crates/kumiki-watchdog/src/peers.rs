//! Programs of others that tests want, and do without where they are not there.

#![expect(clippy::unwrap_used, reason = "a test that is set up wrongly fails")]

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why a test goes without what it wants. It fails where somebody has asked for that by the variable `required` of the
/// environment.
#[track_caller]
pub fn skip(required: &str, why: &str) {
    let is_required = std::env::var_os(required).is_some_and(|it| !it.is_empty());
    assert!(!is_required, "{required} is set, and {why}");
    println!("skipped: {why}");
}

/// The folder of the peers, beside the repository of a crate whose manifest is in `manifest`; whoever runs the tests
/// may have none.
#[must_use]
pub fn folder(manifest: &str) -> Option<PathBuf> {
    let mut folders = Path::new(manifest).ancestors().map(|above| above.join("shared/peers"));
    folders.find(|folder| folder.is_dir())
}

/// Whether there is such a program for us. One that this user may not read is as good as none: Debian's pppd is for the
/// group dip.
#[must_use]
pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(system);
    folders.any(|folder| File::open(folder.join(program)).is_ok())
}

/// That tshark looks at checksums.
pub const CHECKSUMS: [&str; 6] =
    ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];

/// What tshark prints about the capture at `path`. `None`, with the reason printed, where there is no tshark and
/// `KUMIKI_REQUIRE_TSHARK` is not set.
#[track_caller]
pub fn tshark<S: AsRef<OsStr>>(path: impl AsRef<Path>, options: impl IntoIterator<Item = S>) -> Option<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path.as_ref()).args(options);
    match crate::during(|| command.output()) {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "tshark refused the capture: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        // There is none, or none that this user may start.
        Err(why) => {
            skip("KUMIKI_REQUIRE_TSHARK", &format!("tshark could not be started: {why}"));
            None
        }
    }
}

/// What tshark reads in each packet of the capture at `path`: one row for each packet, one text for each of `fields`.
/// `None` as for [`tshark`].
#[track_caller]
pub fn tshark_fields(path: impl AsRef<Path>, options: &[&str], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let all = ["-T", "fields", "-E", "separator=|"].into_iter().chain(options.iter().copied()).chain(fields);
    let text = tshark(path, all)?;
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}

/// What Chromium makes of the page at `path`, as HTML, once its scripts have run, in a window of this size. `folder` is
/// for what it keeps meanwhile. `None`, with the reason printed, where there is no Chromium and
/// `KUMIKI_REQUIRE_CHROMIUM` is not set.
#[track_caller]
pub fn chromium(path: &Path, folder: &Path, (width, height): (u16, u16)) -> Option<String> {
    let mut command = Command::new("chromium");
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]);
    // Timers of the page run in time of its own.
    command.arg("--virtual-time-budget=5000").arg(format!("--window-size={width},{height}"));
    command.arg(format!("--user-data-dir={}", folder.display())).arg(format!("file://{}", path.display()));
    match crate::during(|| command.output()) {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "Chromium failed: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(why) => {
            skip("KUMIKI_REQUIRE_CHROMIUM", &format!("Chromium could not be started: {why}"));
            None
        }
    }
}
