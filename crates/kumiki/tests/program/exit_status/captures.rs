//! Captures and traces.

use super::{Folder, SCRIPT, refused};

#[test]
fn one_seed_is_told_in_words_and_kept_in_captures() {
    let folder = Folder::new("adversity-one");
    let output = folder.kumiki(&["adversity", "--seed", "7", "-v", "--pcap", "--trace", "--out", "seen"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Case 7\n"), "{text}");
    for name in ["7-near.pcapng", "7-far.pcapng", "7-tcp.csv"] {
        assert!(folder.0.path(&format!("seen/adversity-{name}")).exists());
    }
}

#[test]
fn captures_are_their_owners_alone_and_no_link_is_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new("captures");
    let path = |name: &str| folder.0.path(name);
    let mode = |name: &str| path(name).metadata().unwrap().permissions().mode() & 0o777;
    std::fs::write(path("victim"), "kept").unwrap();
    std::fs::write(path("x.script"), SCRIPT).unwrap();
    std::fs::create_dir(path("seen")).unwrap();
    for (arguments, capture) in [
        (&["adversity", "--seed", "4", "--pcap", "--out", "seen"][..], "seen/adversity-4-far.pcapng"),
        (&["adversity", "--seed", "4", "--trace", "--out", "seen"], "seen/adversity-4-tcp.csv"),
        (&["script", "x.script", "--pcap", "seen/x.pcapng"], "seen/x.pcapng"),
    ] {
        let output = folder.kumiki(arguments);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(mode(capture), 0o600, "{capture}");
        std::fs::remove_file(path(capture)).unwrap();
        symlink(path("victim"), path(capture)).unwrap();
        let output = folder.kumiki(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("symbolic link"), "{output:?}");
        assert_eq!(std::fs::read_to_string(path("victim")).unwrap(), "kept");
    }
}

pub(crate) const TRANSFER: &str = r#"title = "A line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run.duration = "200 ms"
"#;

/// Cut packets are read as far as they go, and nothing that is not there is called wrong.
#[test]
fn captures_are_cut_and_told_as_that() {
    let folder = Folder::with("snaplen", TRANSFER);
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let foreseen = folder.kumiki(&["run", "x.toml", "--pcap", "--dry-run"]);
    let told = text(&foreseen.stdout);
    assert!(
        told.contains("With --pcap: captures of about 536 kB; with --snaplen 128, which keeps headers, about"),
        "{told}"
    );
    let ran = folder.kumiki(&["run", "x.toml", "--out", "cut", "--pcap", "--snaplen", "96"]);
    assert!(ran.status.success(), "{ran:?}");
    let capture = "cut/captures/x/000-a.pcapng";
    let lines = text(&folder.kumiki(&["decode", capture]).stdout);
    assert!(lines.contains("(cut: 96 of 1500 octets)") && !lines.contains("!!"), "{lines}");
    assert!(lines.lines().all(|line| line.contains("  TCP ")), "{lines}");
    let trees = folder.kumiki(&["decode", "-v", capture]);
    let tree = text(&trees.stdout);
    assert!(trees.status.success() && tree.contains(", cut: 96 of 1500 octets, at "), "{tree}");
    assert!(text(&folder.0.read("cut/report.html")).contains("(cut: 96 of 1500 octets)"));
    // Whoever goes on with it has captures of one kind.
    let other = refused(&folder.kumiki(&["run", "x.toml", "--out", "cut", "--pcap", "--resume"]));
    let words = "it is of captures device, 96 octets of each packet, and not of captures device";
    assert!(other.contains(words), "{other}");
    let alone = folder.kumiki(&["run", "x.toml", "--snaplen", "96"]);
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
}

/// A capture that may grow no more (`ulimit -f`; a full disk is alike) ends the run, and nothing of it is left.
#[test]
fn a_capture_that_finds_no_room_ends_the_run_and_says_so() {
    let folder = Folder::with("capture-room", TRANSFER);
    let mut limited = std::process::Command::new("sh");
    // Blocks are of 512 or 1024 octets.
    limited.args(["-c", "ulimit -f 100; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_kumiki")]);
    limited.args(["run", "x.toml", "--pcap", "--set", "run.duration=20 s", "--out", "short"]);
    let ended = limited.current_dir(folder.0.place()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let told = String::from_utf8(ended.stderr).unwrap();
    let words = ["kumiki: short/captures: File too large", "0 of 1 points have ended", "--resume\n"];
    assert!(words.iter().all(|it| told.contains(it)), "{told}");
    assert_eq!(folder.0.names("short"), ["journal.jsonl", "run.json"]);
    let resumed = folder.kumiki(&["run", "x.toml", "--out", "whole", "--pcap"]);
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(folder.0.names("whole/captures/x"), ["000-a.pcapng", "000-b.pcapng"]);
}

/// The parser does not ask for a seed where `--count` rules it out.
#[test]
fn captures_of_many_seeds_are_refused() {
    let folder = Folder::new("adversity-many");
    for option in ["--pcap", "--trace", "--shrink", "-v"] {
        let told = refused(&folder.kumiki(&["adversity", "--count", "1", option, "--out", "seen"]));
        assert!(told.contains("is of one seed; expected --seed S, and neither --from nor --count"), "{option}: {told}");
    }
    assert!(folder.names().is_empty());
}

/// Whatever is captured, it is asked for alike how much of each packet.
#[test]
fn every_command_with_captures_cuts_them() {
    let folder = Folder::with("cut", TRANSFER);
    folder.0.write("s.script", SCRIPT.as_bytes());
    for arguments in [
        &["run", "x.toml", "--pcap", "--snaplen", "3"][..],
        &["adversity", "--seed", "7", "--pcap", "--snaplen", "3"],
        &["script", "s.script", "--pcap", "x", "--snaplen", "3"],
        &["ttcp", "-r", "--tun", "t", "--addr", "10.9.0.1/24", "--pcap", "x", "--snaplen", "3"],
        &["ppp", "pty", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["ftam", "get", "ftam://127.0.0.1/x", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["mms", "get", "mms://127.0.0.1/x", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["ftamd", "--root", ".", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["mmsd", "--root", ".", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["x25", "switch", "x.toml", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["x25", "pad", "123", "--pcap", "x", "--snaplen", "3"],
    ] {
        let told = refused(&folder.kumiki(arguments));
        let words =
            "expected a whole number of octets from 4 to 4294967295: in captures of ATM so many stand before a packet";
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
    let cut = |arguments: &[&str], capture: &str| {
        let ran = folder.kumiki(arguments);
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
        let lines = String::from_utf8(folder.kumiki(&["decode", capture]).stdout).unwrap();
        assert!(lines.contains("(cut: 44 of "), "{arguments:?}: {lines}");
    };
    cut(&["script", "s.script", "--pcap", "s.pcapng", "--snaplen", "44"], "s.pcapng");
    cut(&["adversity", "--seed", "7", "--pcap", "--snaplen", "44", "--out", "seen"], "seen/adversity-7-near.pcapng");
}
