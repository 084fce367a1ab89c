//! Files both ways, what is new, what is refused, and what is written of it.

use super::{Daemon, mms};
use crate::ftam::harness::{Folder, system};

/// So many bytes that are not alike.
fn contents(len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from((at * 7 + at / 251) % 251).unwrap()).collect()
}

#[test]
fn files_go_both_ways_whatever_their_size() {
    let folder = Folder::new("mms files");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    for (name, len, more, of_get) in [
        ("empty", 0, &[][..], &[][..]),
        ("small", 5, &[], &[]),
        ("large", 300_000, &[], &[]),
        ("pieces", 20_000, &["--pdu", "100B"], &["--window", "4"]),
    ] {
        let contents = contents(len);
        folder.write("here", &contents);
        let url = daemon.url(name);
        let all = |first: &[&str]| {
            let all: Vec<String> = first.iter().chain(more).map(|it| (*it).to_owned()).collect();
            all
        };
        let put = all(&["put", "here", &url]);
        mms(&folder, &put.iter().map(String::as_str).collect::<Vec<_>>()).well();
        assert!(folder.read(&format!("root/{name}")) == contents, "{name}");
        let get = all(&[&["get", &url, "back"], of_get].concat());
        mms(&folder, &get.iter().map(String::as_str).collect::<Vec<_>>()).well();
        assert!(folder.read("back") == contents, "{name}");
    }
    let listed = mms(&folder, &["ls", &daemon.url("")]).well().out;
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let shown = mms(&folder, &["stat", &daemon.url("large"), "--json"]).well().out;
    assert!(shown.contains("\"size\":300000"), "{shown}");
    assert!(!shown.contains("FTAM"), "{shown}");
    mms(&folder, &["mv", &daemon.url("large"), "larger"]).well();
    mms(&folder, &["rm", &daemon.url("larger"), "small", "empty"]).well();
    assert_eq!(folder.names("root"), ["pieces"]);
}

#[test]
fn the_log_has_what_was_refused() {
    let folder = Folder::new("mms audit");
    std::fs::create_dir(folder.path("root/full")).unwrap();
    folder.write("root/full/x", b"x");
    folder.write("here", b"0123456789");
    let daemon = Daemon::start(&folder, &["--anonymous", "--max-file-size", "5B"]);
    for (arguments, said) in [
        (["put", "here", &daemon.url("long")], "did not write \"long\": "),
        (["put", "here", &daemon.url("full")], "did not write \"full\": "),
        (["put", "here", &daemon.url("..%2fout")], "did not write \"../out\": "),
        (["get", &daemon.url("none"), "-"], "did not open \"none\": "),
        (["rm", &daemon.url("full"), "none"], "did not remove \"full\": "),
    ] {
        assert_ne!(mms(&folder, &arguments).status, Some(0));
        let log = daemon.running.line();
        assert!(log.contains(said), "{log}");
    }
}

#[test]
fn a_refusal_says_which_layer_and_why() {
    let folder = Folder::new("mms refusals");
    let daemon = Daemon::start(&folder, &["--anonymous", "--read-only", "--tsel", "0x0001"]);
    folder.write("root/a", b"a");
    folder.write("here", b"x");
    let url = |rest: &str| daemon.url(&format!("{rest}?tsel=0x0001"));
    mms(&folder, &["get", &daemon.url("a")]).failed(4, &["transport", "selector"]);
    mms(&folder, &["get", &url("nothing")]).failed(6, &["MMS: file error 7", "does not exist"]);
    mms(&folder, &["put", "here", &url("b")]).failed(6, &["MMS: file error 6", "denied"]);
    let nobody = kumiki_watchdog::Port::new().unwrap();
    let there = format!("mms://{}/x", nobody.at());
    mms(&folder, &["get", &there]).failed(3, &["connection refused"]);
    mms(&folder, &["get", "ftam://127.0.0.1/x"]).failed(2, &["such as mms://"]);
    mms(&folder, &["get", &url("a"), "--pdu", "10B"]).failed(2, &["64 B to 1 MiB"]);
    assert_eq!(folder.names("root"), ["a"]);
    assert_eq!(folder.names("."), ["here", "root"]);
}

#[test]
fn a_password_lets_in() {
    let folder = Folder::new("mms password");
    folder.write("right", b"secret\n");
    folder.write("wrong", b"Secret\n");
    let mut hash = folder.command(&["ftamd", "password", "relay", "--rounds", "10"]);
    hash.stdin(std::fs::File::open(folder.path("right")).unwrap());
    let line = crate::ftam::harness::Running::start(hash).end().well().out;
    folder.write("passwords", line.as_bytes());
    let options = ["--passwords", "passwords", "--user", "relay"];
    let daemon = Daemon::start(&folder, &options);
    folder.write("root/a", b"a");
    let url = daemon.url("a");
    mms(&folder, &["get", &url, "got", "--password-file", "right"]).well();
    mms(&folder, &["get", &url, "got", "--password-file", "wrong"])
        .failed(4, &["association control", "authentication failed"]);
    mms(&folder, &["get", &url, "got"]).failed(4, &["authentication required", "KUMIKI_MMS_PASSWORD"]);
    // As it was answered, and not as FTAM would.
    let log: Vec<String> = (0..3).map(|_| daemon.running.line()).collect();
    for (line, said) in log.iter().zip(["read ", "authentication failed", "authentication required"]) {
        assert!(line.contains(said) && !line.contains("2020"), "{log:?}");
    }
    let none = folder.kumiki(&["mmsd", "--root", "root", "--passwords", "passwords"]);
    none.failed(2, &["one --user NAME"]);
}

#[test]
fn what_is_resumed_is_only_what_is_missing() {
    let folder = Folder::new("mms resume");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = contents(100_000);
    folder.write("root/a", &contents);
    let url = daemon.url("a");
    // What an earlier run has left: a part, and of which file it is.
    let shown = mms(&folder, &["stat", &url, "--json"]).well().out;
    let modified = shown.split("\"modified_as_sent\":\"").nth(1).unwrap();
    let modified = modified.split('"').next().unwrap();
    let other = daemon.url("b");
    for (note, resumed) in [
        (format!("100000 {modified} {url}\n"), true),
        (format!("99999 {modified} {url}\n"), false),
        (format!("100000 {modified} {other}\n"), false),
    ] {
        folder.write("got.part", &contents[..60_000]);
        folder.write("got.part.of", note.as_bytes());
        let ran = mms(&folder, &["get", &url, "got", "--resume", "-v"]).well();
        assert!(folder.read("got") == contents);
        let moved = if resumed { 40_000 } else { 100_000 };
        let said = format!("get a: {moved} octets moved");
        assert!(ran.err.contains(&said), "{ran:?}");
        assert_eq!(folder.names("."), ["got", "root"]);
    }
}

#[test]
fn what_is_new_is_collected_once() {
    let folder = Folder::new("mms collect");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    std::fs::create_dir(folder.path("root/COMTRADE")).unwrap();
    for name in ["1.cfg", "1.dat"] {
        folder.write(&format!("root/COMTRADE/{name}"), name.as_bytes());
    }
    let url = daemon.url("COMTRADE");
    let collect = |more: &[&str]| {
        let mut all = vec!["collect", &url, "--into", "in", "--closed", "any"];
        all.extend(more);
        mms(&folder, &all)
    };
    collect(&[]).well();
    assert_eq!(folder.read("in/1.dat"), b"1.dat");
    collect(&[]).failed(10, &["nothing is new"]);
    folder.write("root/COMTRADE/2.dat", b"two");
    collect(&["--delete"]).well();
    assert_eq!(folder.read("in/2.dat"), b"two");
    // What the first run has fetched goes too.
    assert_eq!(folder.names("root/COMTRADE"), [""; 0]);
}

#[test]
fn a_file_is_not_listed_as_an_empty_directory() {
    let folder = Folder::new("mms ls of a file");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    std::fs::create_dir(folder.path("root/d")).unwrap();
    folder.write("root/d/a", b"a");
    std::fs::create_dir(folder.path("root/empty")).unwrap();
    for file in ["d/a", "/d/a"] {
        let ran = mms(&folder, &["ls", &daemon.url(file)]);
        ran.failed(1, &["d/a", "this is a file"]);
    }
    assert!(mms(&folder, &["ls", &daemon.url("d")]).well().out.ends_with(" a\n"));
    assert_eq!(mms(&folder, &["ls", &daemon.url("empty")]).well().out, "");
    let ran = mms(&folder, &["collect", &daemon.url("d/a"), "--into", "in", "--closed", "any"]);
    ran.failed(1, &["this is a file"]);
}

#[test]
fn names_go_back_as_they_came_and_are_shown_escaped() {
    let folder = Folder::new("mms names");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    std::fs::create_dir(folder.path("root/d")).unwrap();
    folder.write("root/d/tab\t\u{1b}[31m", b"x");
    let ran = mms(&folder, &["collect", &daemon.url("d"), "--into", "in", "--closed", "any"]).well();
    assert!(ran.err.contains("fetched tab\\t\\u{1b}[31m"), "{ran:?}");
    assert_eq!(folder.read("in/tab\t\u{1b}[31m"), b"x");
    let url = daemon.url("d/tab%09%1b%5B31m");
    let stat = mms(&folder, &["stat", &url]).well().out;
    assert!(stat.contains("tab\\t\\u{1b}[31m"), "{stat}");
    std::os::unix::fs::symlink("/dev/null", folder.path("null")).unwrap();
    let ran = mms(&folder, &["get", &url, "null"]).well();
    assert!(ran.err.contains("null: 1 byte\n"), "{ran:?}");
    assert!(folder.path("null").symlink_metadata().unwrap().is_symlink());
    mms(&folder, &["get", "--resume", &url, "null"]).failed(2, &["a device"]);
}

#[test]
fn a_capture_is_read_without_a_remark() {
    let folder = Folder::new("mms capture");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("a", &contents(150_000));
    let url = daemon.url("a");
    let port = format!("{}=tpkt", daemon.port());
    for (arguments, parts) in [
        (&["put", "a", &url][..], &["obtainFile a as a", "fileOpen"][..]),
        (&["get", &url, "b"], &["fileRead", "conclude-Response"]),
        (&["get", &daemon.url("no"), "b"], &["file error 7"]),
        (&["ls", &daemon.url("")], &["fileDirectory 1 entries"]),
    ] {
        let mut all = arguments.to_vec();
        all.extend(["--pcap", "ours.pcapng"]);
        let _ = mms(&folder, &all);
        let decode = |more: &str| folder.kumiki(&["decode", "ours.pcapng", "--port", &port, more]).well().out;
        let shown = decode("--verbose");
        for part in parts {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
        assert_eq!(decode("--bad"), "", "{arguments:?}");
        tshark(&folder, daemon.port());
    }
}

/// Wireshark has nothing against it either, and sees MMS in it.
fn tshark(folder: &Folder, port: &str) {
    let file = folder.path("ours.pcapng").display().to_string();
    let port = format!("tcp.port=={port},tpkt");
    for (only, is_there) in [("mms", true), ("_ws.malformed || _ws.expert.severity == error", false)] {
        match system("tshark", &["-r", &file, "-d", &port, "-Y", only]) {
            Some(output) if output.status.success() => {
                let shown = String::from_utf8(output.stdout).unwrap();
                assert_eq!(!shown.is_empty(), is_there, "{only}: {shown}");
            }
            other => {
                let why = "tshark is absent or does not take this capture";
                assert!(std::env::var_os("KUMIKI_REQUIRE_TSHARK").is_none(), "{why}: {other:?}");
                eprintln!("skipped: {why}");
            }
        }
    }
}

#[test]
fn who_is_called_for_ftam_says_that_it_is_one_for_mms() {
    let folder = Folder::new("not ftam");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let ran = folder.kumiki(&["ftam", "ls", &format!("ftam://{}/", daemon.at)]);
    ran.failed(4, &["no FTAM under this address", "kumiki mms"]);
    let log = daemon.running.line();
    assert!(log.contains("called for another application than MMS"), "{log}");
}

#[test]
fn what_is_no_file_is_in_the_way_of_a_new_name_too() {
    let folder = Folder::new("mms-in-the-way");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("root/a", b"a");
    folder.write("root/file", b"b");
    std::os::unix::fs::symlink("a", folder.path("root/link")).unwrap();
    for name in ["file", "link"] {
        let ran = mms(&folder, &["mv", &daemon.url("a"), name]);
        ran.failed(6, &["file error 8", "there is a file of the new name"]);
    }
    mms(&folder, &["mv", &daemon.url("a"), "none/a"]).failed(6, &["file error 7", "no such directory"]);
}
