//! Names as they are found in directories: many, strange, and such as no file here can have.

use super::harness::{Daemon, Folder, no_host};

/// What is neither harmless on a terminal nor easily written in a URL.
const STRANGE: &str = "tab\there \u{1b}[31mred\u{9b}1m\nend";

#[test]
fn a_directory_is_listed_whole_or_not_at_all() {
    let folder = Folder::new("names-many");
    std::fs::create_dir(folder.path("root/d")).unwrap();
    for number in 0..12_000 {
        folder.write(&format!("root/d/{number:05}"), b"");
    }
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let listed = folder.ftam(&["ls", &daemon.url("d")]).well().out;
    assert_eq!(listed.lines().count(), 12_000);
    assert!(listed.lines().all(|line| line.trim_start().starts_with("0 ")));
    daemon.stop();
    let daemon = Daemon::start(&folder, &["--anonymous", "--entries", "11999"]);
    let said = ["FTAM: 5027", "more than 11999 entries"];
    let ran = folder.ftam(&["ls", &daemon.url("d")]);
    ran.failed(6, &said);
    assert_eq!(ran.out, "");
    let log = daemon.log();
    assert!(log.contains("did not list \"d\": 5027") && log.contains("the directory has more than 11999"), "{log}");
    // A part is not collected as if it were all.
    let ran = folder.ftam(&["collect", &daemon.url("d"), "--into", "in"]);
    ran.failed(6, &said);
    std::fs::remove_file(folder.path("root/d/00000")).unwrap();
    let listed = folder.ftam(&["ls", &daemon.url("d")]).well().out;
    assert_eq!(listed.lines().count(), 11_999);
    daemon.stop();
}

#[test]
fn names_go_back_as_they_came_and_are_shown_escaped() {
    let folder = Folder::new("names-strange");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    std::fs::create_dir(folder.path("root/d")).unwrap();
    folder.write(&format!("root/d/{STRANGE}"), b"x");
    let shown = "tab\\there \\u{1b}[31mred\\u{9b}1m\\nend";
    let escaped = "tab%09here%20%1b%5B31mred%c2%9b1m%0aend";
    let url = daemon.url(&format!("d/{escaped}"));
    let is_harmless = |text: &str| !text.chars().any(|it| it.is_control() && it != '\n');
    let listed = folder.ftam(&["ls", &daemon.url("d")]).well().out;
    assert!(listed.contains(shown) && is_harmless(&listed), "{listed}");
    let json = folder.ftam(&["ls", &daemon.url("d"), "--json"]).well().out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["name"], STRANGE);
    let ran = folder.ftam(&["collect", &daemon.url("d"), "--into", "in", "--closed", "any", "--delete", "-v"]);
    let ran = ran.well();
    for part in ["fetched", "deleted", "get d/"] {
        let line = format!("{part}{}{shown}", if part == "get d/" { "" } else { " " });
        assert!(ran.err.contains(&line), "{line}: {ran:?}");
    }
    assert!(is_harmless(&ran.err), "{ran:?}");
    assert_eq!(folder.read(&format!("in/{STRANGE}")), b"x");
    assert_eq!(folder.names("root/d"), [""; 0]);
    // Those of a URL as well, where it goes well and where it does not.
    folder.write(&format!("root/d/{STRANGE}"), b"x");
    for arguments in [&["get", &url][..], &["get", "-v", &url, "there"], &["put", "there", &url], &["rm", &url]] {
        let ran = folder.ftam(arguments).well();
        assert!(is_harmless(&ran.err), "{ran:?}");
    }
    assert_eq!(folder.read(STRANGE), b"x");
    for arguments in [
        &["get", &url][..],
        &["get", &url, &format!("none/{STRANGE}")],
        &["ls", &url],
        &["ls", &format!("ftam://%1b[31m@{}/", daemon.at)],
        &["ls", &format!("ftam://%1b%5B31m{}/", no_host())],
    ] {
        let ran = folder.ftam(arguments);
        assert!(ran.status != Some(0) && is_harmless(&ran.err), "{ran:?}");
    }
    daemon.stop();
}

#[test]
fn a_name_that_no_file_here_can_have_does_not_keep_others_from_being_fetched() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new("names-unusable");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("root/.kumikI", b"1");
    for name in ["a", "b", "c"] {
        folder.write(&format!("root/{name}"), name.as_bytes());
    }
    let latin = std::ffi::OsStr::from_bytes(b"\xe4");
    std::fs::write(folder.path("root").join(latin), b"1").unwrap();
    let long = "l".repeat(255);
    folder.write(&format!("root/{long}"), b"long");
    let url = daemon.url("");
    let mut collect = vec!["collect", &url, "--into", "in", "--closed", "any"];
    let ran = folder.ftam(&collect);
    ran.failed(11, &["5 fetched and 1 failed", "failed \\xe4", "no UTF-8"]);
    assert_eq!(folder.read(&format!("in/{long}")), b"long");
    // Nor does it look as if nothing were to be done.
    folder.ftam(&collect).failed(11, &["nothing was fetched, and 1 failed"]);
    folder.write("root/c", b"another");
    for name in [".kumiki-collect.jsonl", "/", "c"] {
        collect.extend(["--name", name]);
    }
    std::fs::create_dir(folder.path("other")).unwrap();
    // The root is a directory, and no file here either.
    folder.ftam(&collect).failed(11, &["1 fetched and 2 failed"]);
    assert_eq!(folder.read("in/c.2"), b"another");
    daemon.stop();
}

/// They cannot be asked for, and must not look like others that can.
#[test]
fn names_that_are_no_text_are_shown_by_their_octets() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new("names-no-text");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let raw = std::ffi::OsStr::from_bytes(b"a\xff\xfe\x1b");
    std::fs::write(folder.path("root").join(raw), b"x").unwrap();
    folder.write("root/a\u{ff}\u{fe}", b"y");
    let listed = folder.ftam(&["ls", &daemon.url("")]).well().out;
    assert!(listed.contains("a\\xff\\xfe\\u{1b}\n") && listed.contains("a\u{ff}\u{fe}\n"), "{listed}");
    let json = folder.ftam(&["ls", &daemon.url(""), "--json"]).well().out;
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let octets: Vec<_> = rows.iter().filter_map(|row| row["name_octets"].as_str()).collect();
    assert_eq!(octets, ["61fffe1b"], "{json}");
    assert!(rows.iter().any(|row| row["name"] == "a\u{ff}\u{fe}"), "{json}");
    daemon.stop();
}
