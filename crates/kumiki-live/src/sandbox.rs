//! What a program in real time gives up when all is open and before anybody is heard: [`kumiki_sandbox`], and what lines
//! need behind them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use kumiki_io::Opening;
pub use kumiki_sandbox::{Access, Calls, Needs, RunAs, Sandbox, SandboxError, SandboxPart};

/// Enters the sandbox. What stands, and what the kernel lacks, is a line on standard error, as standard output may be a line
/// or JSON.
///
/// # Errors
/// [`SandboxError`].
pub fn enter(sandbox: &Sandbox, needs: &Needs) -> Result<(), SandboxError> {
    if let Some(line) = sandbox.enter(needs)? {
        // That nobody reads it is no reason to stop.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    Ok(())
}

/// What programs on these lines need, beside their `places`: the lines are opened again when somebody comes again.
pub fn of_lines<'a>(lines: impl IntoIterator<Item = &'a Opening>, places: Vec<(PathBuf, Access)>) -> Needs {
    let mut needs = Needs { files: Ok(places), connects: Vec::new(), calls: Calls::Lines, capabilities: false };
    for line in lines {
        let place = match line {
            Opening::Program(_) => {
                needs.calls = Calls::Commands;
                needs.files = Err("what the started commands need is unknown");
                continue;
            }
            // One that is not there yet comes in its directory.
            Opening::Terminal(path, _) if path.exists() => (path.clone(), Access::Device),
            Opening::Terminal(path, _) => (above(path), Access::Device),
            Opening::Listen(path) => (above(path), Access::Remove),
            Opening::Connect(_) | Opening::Descriptor(_) | Opening::Pty | Opening::Standard => {
                continue;
            }
        };
        if let Ok(places) = &mut needs.files {
            places.push(place);
        }
    }
    needs
}

/// The directory that a path is in.
#[must_use]
pub fn above(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}
