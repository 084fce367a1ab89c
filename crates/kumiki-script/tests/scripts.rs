//! Every script of `scripts/` in virtual time, with no tolerance.

#![allow(clippy::unwrap_used, reason = "a test: what fails stops it")]

use std::fs;
use std::path::{Path, PathBuf};

use kumiki_script::{Linux, Script};

fn scripts() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let found = kumiki_script::find(&[folder]).unwrap();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    found.into_iter().map(read).collect()
}

fn parsed() -> Vec<(Script, String)> {
    let read = |(path, text): (PathBuf, String)| {
        let script = kumiki_script::parse(&path.display().to_string(), &text);
        (script.unwrap_or_else(|wrong| panic!("{wrong}")), text)
    };
    scripts().into_iter().map(read).collect()
}

#[test]
fn our_stack_meets_every_script() {
    let mut failures = Vec::new();
    let scripts = parsed();
    assert!(scripts.len() >= 100, "only {} scripts", scripts.len());
    for (script, _) in &scripts {
        let outcome = kumiki_script::run(script, false).unwrap_or_else(|fault| panic!("{}: {fault}", script.file));
        failures.extend(outcome.failure.map(|failure| failure.to_string()));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn a_script_run_twice_gives_the_same_octets_at_the_same_times() {
    for (script, _) in parsed() {
        let once = kumiki_script::run(&script, false).unwrap();
        assert_eq!(once, kumiki_script::run(&script, false).unwrap(), "{}", script.file);
    }
}

#[test]
fn a_script_gives_the_same_octets_at_the_same_times_without_paths() {
    for (mut script, _) in parsed() {
        let with = kumiki_script::run(&script, false).unwrap();
        script.header.paths = false;
        assert_eq!(with, kumiki_script::run(&script, false).unwrap(), "{}", script.file);
    }
}

#[test]
fn every_script_begins_with_what_it_shows() {
    for (path, text) in scripts() {
        let path = path.display();
        assert!(text.starts_with("# "), "{path}: it begins with a comment");
        let comment: String = text.lines().take_while(|line| line.starts_with('#')).collect();
        let named = ["RFC ", "paper", "Paper", "Linux", "smoltcp"];
        assert!(named.iter().any(|name| comment.contains(name)), "{path}: the comment names no RFC, paper or peer");
    }
}

#[test]
fn every_script_says_what_its_settings_are_on_linux() {
    for (script, _) in parsed() {
        if let Linux::Yes(same) = &script.header.linux {
            let said = script.header.sysctls(same);
            assert!(said.is_ok(), "{}: {}", script.file, said.unwrap_err());
        }
    }
}
