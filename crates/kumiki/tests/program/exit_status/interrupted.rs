//! Runs that end before all of their points have.

use std::fs;
use std::process::{Command, Output};

use kumiki_watchdog::process;
use rustix::process::Signal;

use super::{Folder, UNCONNECTED, refused};

/// A point that ends at once, one that fails at once, and one that takes as long as is said.
pub(crate) fn three_points(last: &str) -> String {
    let points =
        "vary.\"loss, time\" = [[\"0 %\", \"100 ms\"], [\"100 %\", \"100 ms\"], [\"0 %\", \"LAST\"]]\nhost.far = {";
    let text = UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("host.far = {", points);
    let text = text.replace("\"10 ms\"", "\"10 ms\", impair.loss = \"${loss}\"").replace("\"1 s\"", "\"${time}\"");
    text.replace("LAST", last)
}

/// Starts `arguments`, and ends it by `signal` once two of the three points have ended.
fn ended_by(folder: &Folder, arguments: &[&str], signal: Signal) -> process::ProcessOutput {
    // What it says while it runs is told on standard error.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_kumiki")]);
    command.args(arguments).args(["--jobs", "1"]).current_dir(folder.0.place());
    let mut running = process::Running::start(command);
    running.wait_for("no connection was established");
    running.signal(signal);
    running.end()
}

#[test]
fn what_is_interrupted_says_how_to_go_on_and_waits_for_nothing() {
    let folder = Folder::with("interrupted", &three_points("20 h"));
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let ran = ended_by(&folder, &["run", "x.toml", "--out", "an end", "--force"], signal);
        let said = "interrupted: 2 of 3 points have ended, they are in an end/journal.jsonl. To go on:\n  kumiki run x.toml --out 'an end' --jobs 1 --resume\n";
        assert!(ran.status == Some(status) && ran.out.ends_with(said), "{ran:?}");
        assert_eq!(folder.0.names("an end"), ["journal.jsonl", "run.json"]);
    }
    let from = String::from_utf8(folder.0.read("an end/run.json")).unwrap();
    for said in ["kumiki run x.toml --out 'an end' --jobs 1\"", "\"done\": 2", "\"all\": 3", "duration = \\\"100 ms"] {
        assert!(from.contains(said), "{said:?} is not in {from}");
    }
    let refused = refused(&folder.kumiki(&["run", "x.toml", "--out", "an end"]));
    assert!(refused.contains("go on with it by --resume"), "{refused}");
    let other = folder.kumiki(&["run", "x.toml", "--out", "an end", "--resume", "--set", "time=1 s"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("an end/journal.jsonl:1: it is of options"), "{other:?}");
}

/// A result that may grow no more (`ulimit -f`; a full disk is alike) is no lost one.
#[test]
fn what_finds_no_room_says_so_and_how_to_go_on() {
    let text = UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("\"64 KiB\"", "\"${buffer}\"");
    let folder = Folder::with("room", &format!("{text}vary.buffer = \"4 KiB .. 128 KiB step 4 KiB\"\n"));
    let whole = folder.kumiki(&["run", "x.toml", "--out", "whole"]);
    assert!(whole.status.success(), "{whole:?}");
    let mut limited = Command::new("sh");
    // Blocks are of 512 or 1024 octets.
    limited.args(["-c", "ulimit -f 60; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_kumiki")]);
    limited.args(["run", "x.toml", "--out", "short"]).current_dir(folder.0.place());
    let ended = limited.output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let told = String::from_utf8(ended.stderr).unwrap();
    let words =
        ["kumiki: short/journal.jsonl: File too large", " of 32 points have ended, which are in short/journal.jsonl"];
    assert!(words.iter().all(|it| told.contains(it)), "{told}");
    assert!(told.ends_with("to go on:\n  kumiki run x.toml --out short --resume\n"), "{told}");
    let resumed = folder.kumiki(&["run", "x.toml", "--out", "short", "--resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
    for file in ["rows.jsonl", "rows.csv"] {
        assert_eq!(folder.0.read(&format!("short/{file}")), folder.0.read(&format!("whole/{file}")));
    }
}

#[test]
fn what_is_killed_and_resumed_and_what_is_merged_is_what_runs_at_once() {
    let folder = Folder::with("killed", &three_points("1 s"));
    let whole = folder.kumiki(&["run", "x.toml", "--out", "whole"]);
    assert_eq!(whole.status.code(), Some(1), "a point of it fails");
    let _ = ended_by(&folder, &["run", "x.toml", "--out", "killed"], Signal::KILL);
    let resumed = folder.kumiki(&["run", "x.toml", "--out", "killed", "--resume"]);
    for shard in ["1/2", "2/2"] {
        let out = &shard[..1];
        let ran = folder.kumiki(&["run", "x.toml", "--out", out, "--shard", shard]);
        assert!(ran.stdout.is_empty() && !folder.0.path(out).join("rows.jsonl").exists(), "{ran:?}");
    }
    let merged = folder.kumiki(&["merge", "2", "1", "--out", "merged"]);
    for (other, out) in [(resumed, "killed"), (merged, "merged")] {
        assert_eq!(other.status.code(), Some(1), "{other:?}");
        let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text(&other).replace(&format!("{out}/"), "whole/"), text(&whole));
        for file in ["rows.jsonl", "rows.csv"] {
            assert_eq!(folder.0.read(&format!("{out}/{file}")), folder.0.read(&format!("whole/{file}")), "{out}");
        }
    }
    let run = String::from_utf8(folder.0.read("merged/run.json")).unwrap();
    for command in ["kumiki merge ", " --shard 1/2", " --shard 2/2"] {
        assert!(run.contains(command), "{command}: {run}");
    }
    let missing = refused(&folder.kumiki(&["merge", "2", "--out", "none"]));
    for shard in ["1/2", "2/2"] {
        let _ =
            folder.kumiki(&["run", "x.toml", "--out", &format!("pcap-{}", &shard[..1]), "--shard", shard, "--pcap"]);
    }
    fs::remove_dir_all(folder.0.path("pcap-1/captures")).unwrap();
    let gone = refused(&folder.kumiki(&["merge", "pcap-1", "pcap-2", "--out", "none"]));
    assert!(gone.contains("pcap-1/captures"), "{gone}");
    assert!(missing.contains("No directory of shard 1/2 is given"), "{missing}");
    for (what, words) in [("nope", "nope: there is no such directory"), (".", ".: no journal in it")] {
        let none = folder.kumiki(&["merge", what]);
        assert_eq!(none.status.code(), Some(2), "{none:?}");
        let told = refused(&none);
        assert!(told.contains(&format!("{words}; expected one that `run --shard` has left")), "{told}");
    }
}

/// Whoever goes on with what was killed knows when it began.
#[test]
fn when_a_run_began_is_there_before_its_end() {
    let folder = Folder::with("begun", &three_points("1 s"));
    let arguments = ["run", "x.toml", "--out", "out"];
    let _ = ended_by(&folder, &arguments, Signal::KILL);
    let begun = String::from_utf8(folder.0.read("out/run.json")).unwrap();
    let before = begun.replacen("\"started\": \"20", "\"started\": \"19", 1);
    assert_ne!(before, begun);
    folder.0.write("out/run.json", before.as_bytes());
    // One of the points fails.
    assert_eq!(folder.kumiki(&[&arguments[..], &["--resume"]].concat()).status.code(), Some(1));
    let again = String::from_utf8(folder.0.read("out/run.json")).unwrap();
    assert!(again.contains("\"started\": \"19") && again.contains("\"done\": 3"), "{again}");
}
