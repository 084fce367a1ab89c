//! `kumiki ppp` with implementations of others: pppd and TCP of a Linux kernel in user mode, and lwIP.
//!
//! The peers lie beside the repository, in `../shared/peers`; where they or what they need is not there, a test says so
//! and passes, unless `KUMIKI_REQUIRE_PPP` is set. What the peers log and the hashes that both ends compute are the
//! judges.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod lwip;
mod peers;
mod pppd;

use peers::{Folder, ProcessOutput, Running, events, kumiki, log, secrets};
use rustix::process::Signal;
use serde_json::Value;

/// Octets of a long transfer; `KUMIKI_PPP_BYTES` makes it longer or shorter. All of it, with the start of a Linux in
/// user mode, is to take less than a minute on a machine that is busy: ten times as much did not.
fn octets() -> u64 {
    let asked = std::env::var("KUMIKI_PPP_BYTES").ok();
    asked.map_or(2_000_000, |text| text.parse().unwrap())
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
    let ProcessOutput { status, out: said, .. } = kumiki.end();
    assert_eq!(status, Some(0), "{said}");
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
        let ProcessOutput { status, out: said, .. } = kumiki(&format!("exec:{command}"), "").end();
        assert_eq!(status, Some(3), "{said}");
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
    let options = secrets(&folder, "kumiki secret");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.path("secrets"), open).unwrap();
    let ProcessOutput { status, out: said, .. } = kumiki("exec:true", &options).end();
    assert_eq!((status, said.as_str()), (Some(2), ""));
    // The command line is for everybody to see.
    for option in ["--secret x", "--let-in kumiki:x"] {
        assert_eq!(kumiki("exec:true", option).end().status, Some(2), "{option}");
    }
}

/// Two of ours on a socket: `options` of who listens, and of who calls.
fn pair(folder: &Folder, [listens, calls]: [&str; 2]) -> [Running; 2] {
    let socket = folder.path("line");
    let mut far = kumiki(&format!("listen:{}", socket.display()), &format!("10.1.1.1:10.1.1.2 {listens}"));
    far.wait_for("waiting");
    let near = kumiki(&format!("unix:{}", socket.display()), &format!("10.1.1.2:10.1.1.1 {calls}"));
    [far, near]
}

#[test]
fn what_is_told_as_sent_is_what_the_line_took() {
    let folder = Folder::new("taken");
    let record = folder.path("seen");
    let sends = format!("--run source --to 5001 --bytes 3MB --record {}", record.display());
    // A window of TCP that is longer than what may wait for the line.
    let wide = "--set tcp.initial_window_segments=400";
    let [far, near] = pair(&folder, ["--run sink --listen 5001 --connections 1", &format!("{sends} {wide}")]);
    let ProcessOutput { status, out: said, .. } = near.end();
    assert_eq!(status, Some(0), "{said}");
    let end = events(&said, "end").pop().unwrap();
    let line = std::fs::metadata(folder.path("seen.sent")).unwrap().len();
    assert_eq!(end["octets_sent"], line, "{end}");
    let ProcessOutput { status, out: said, .. } = far.end();
    assert_eq!(status, Some(0), "{said}");
    let there = events(&said, "end").pop().unwrap();
    assert_eq!(there["octets_received"], line, "{there}");
    assert_eq!(there["frames_received"], end["frames_sent"], "{there}");
}

#[test]
fn a_link_that_is_interrupted_aborts_what_its_program_has_open_and_tells_of_it() {
    let folder = Folder::new("interrupted");
    let sends = format!("--run source --to 5001 --bytes 1GiB --record {}", folder.path("seen").display());
    let [far, mut near] = pair(&folder, ["--run sink --listen 5001 --connections 1", &sends]);
    near.wait_for("networks");
    // More than PPP says by itself: the connection stands.
    kumiki_watchdog::until(|| std::fs::metadata(folder.path("seen.sent")).is_ok_and(|file| file.len() >= 100_000));
    near.signal(Signal::TERM);
    let ProcessOutput { status, out: said, .. } = near.end();
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(connection(&said)["reason"], "a user asked for it", "{said}");
    let ProcessOutput { status, out: said, .. } = far.end();
    // The other end hears of it over the link.
    assert_eq!(status, Some(1), "{said}");
    assert_eq!(connection(&said)["reason"], "the peer reset the connection", "{said}");
}
