//! The scripts of `scripts/` that apply to Linux: its sockets do what our stack does in virtual time, in the same
//! order. When they do it is judged by `kumiki script --against linux` alone, within the tolerance that a script
//! states: here the machine may be busy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kumiki_script::{Linux, Script};

use crate::Case;
use crate::host::Said;

/// The peer that this process is acts at times of the script: one that is held up for longer than a timer of Linux's
/// runs comes too late.
const TRIES: u32 = 5;

/// How much earlier or later than in the script anything may be.
const TOLERANCE: Duration = Duration::from_secs(5);

/// What the names of these cases begin with; the script's path below `scripts/` follows.
const PREFIX: &str = "scripts::";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

/// A case for each script that applies.
pub(crate) fn cases() -> Vec<Case> {
    let folder = folder();
    let found = kumiki_script::find(std::slice::from_ref(&folder)).unwrap();
    let name = |path: PathBuf| path.strip_prefix(&folder).unwrap().with_extension("").display().to_string();
    found.into_iter().filter_map(|path| case(&name(path))).collect()
}

/// The case of this name alone, which is found without a look at the other scripts.
pub(crate) fn named(name: &str) -> Option<Case> {
    case(name.strip_prefix(PREFIX)?)
}

/// The case of the script at this path below the folder, without its extension.
fn case(script: &str) -> Option<Case> {
    let path = folder().join(format!("{script}.{}", kumiki_script::ENDING));
    let text = std::fs::read_to_string(&path).unwrap();
    let parsed = kumiki_script::parse(&path.display().to_string(), &text);
    let parsed = parsed.unwrap_or_else(|wrong| panic!("{wrong}"));
    let applies = matches!(parsed.header.linux, Linux::Yes(_));
    applies.then(|| Case { name: format!("{PREFIX}{script}"), tries: TRIES, run: Box::new(move || run(&parsed)) })
}

fn run(script: &Script) -> Said<String> {
    match kumiki_script::against_linux(script, false, Some(TOLERANCE))? {
        Some(outcome) => match outcome.failure {
            Some(failure) => Err(failure.to_string()),
            None => Ok("as our stack does".to_owned()),
        },
        None => Err("it does not apply".to_owned()),
    }
}
