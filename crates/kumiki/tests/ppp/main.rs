//! `kumiki ppp` with implementations of others: pppd and TCP of a Linux kernel in user mode, and lwIP.
//!
//! The peers lie beside the repository, in `../shared/peers`; where they or what they need is not there, a test says so and passes,
//! unless `KUMIKI_REQUIRE_PPP` is set. What the peers log and the hashes that both ends compute are the judges.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod lwip;
mod peers;
mod pppd;

use peers::{Folder, Running, events, kumiki, log};
use serde_json::Value;

/// Octets of a long transfer; `KUMIKI_PPP_BYTES` makes it longer or shorter. All of it, with the start of a Linux in user mode, is to take less than a
/// minute on a machine that is busy: ten times as much did not.
fn octets() -> u64 {
    let asked = std::env::var("KUMIKI_PPP_BYTES").ok();
    asked.map_or(5_000_000, |text| text.parse().unwrap())
}

/// Hash and octets of a line `... N octets, sha256 HASH`.
fn told(line: &str) -> (u64, String) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("octets")).unwrap();
    (words[at - 1].parse().unwrap(), words[at + 2].to_owned())
}

/// The only connection of a program of ours.
fn connection(said: &str) -> Value {
    let mut all = events(said, "connection");
    assert_eq!(all.len(), 1, "{said}");
    all.remove(0)
}

/// The end of a link of ours, which went as asked for and lost nothing on the line.
fn ended_well(kumiki: Running) -> (Value, String) {
    let (status, said) = kumiki.end();
    assert_eq!(status, 0, "{said}");
    let end = events(&said, "end").pop().unwrap();
    assert_eq!(end["outcome"], "as asked", "{end}");
    (end, said)
}

#[test]
fn the_end_of_a_line_that_is_a_program_is_the_program_s() {
    for (command, how) in [
        ("exit 3", "has ended with status 3"),
        ("exit 0", "has ended with status 0"),
        ("kill -9 $$", "was ended by signal 9"),
    ] {
        let (status, said) = kumiki(&format!("exec:{command}"), "").end();
        assert_eq!(status, 3, "{said}");
        let end = events(&said, "end").pop().unwrap();
        assert_eq!(end["why"], format!("the line went down: its program {how}"), "{said}");
        // Nobody has asked.
        assert!(!log(&said).contains("asked to end"), "{said}");
    }
}

#[test]
fn secrets_are_taken_of_a_file_that_nobody_else_reads() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("secrets");
    let options = folder.secrets("kumiki secret");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.path("secrets"), open).unwrap();
    let (status, said) = kumiki("exec:true", &options).end();
    assert_eq!((status, said.as_str()), (2, ""));
    // The command line is for everybody to see.
    for option in ["--secret x", "--let-in kumiki:x"] {
        assert_eq!(kumiki("exec:true", option).end().0, 2, "{option}");
    }
}
