//! The scripts of `scripts/` that apply to Linux: its sockets do what our stack does in virtual time, in the same order. When they do it
//! is judged by `kumiki script --against linux` alone, within the tolerance that a script states: here the machine may be busy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kumiki_script::{Linux, Script};

use crate::Case;
use crate::host::Said;

/// The peer that this process is acts at times of the script: one that is held up for longer than a timer of Linux's runs comes too late.
const TRIES: u32 = 5;

/// How much earlier or later than in the script anything may be.
const TOLERANCE: Duration = Duration::from_secs(5);

pub(crate) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let found = kumiki_script::find(std::slice::from_ref(&folder)).unwrap();
    let case = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let script = kumiki_script::parse(&path.display().to_string(), &text);
        let script = script.unwrap_or_else(|wrong| panic!("{wrong}"));
        let name = path.strip_prefix(&folder).unwrap().with_extension("");
        let applies = matches!(script.header.linux, Linux::Yes(_));
        applies.then(|| Case {
            name: format!("scripts::{}", name.display()),
            tries: TRIES,
            run: Box::new(move || run(&script)),
        })
    };
    found.into_iter().filter_map(case).collect()
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
