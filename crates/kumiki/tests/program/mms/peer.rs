//! libiec61850 as client of our responder and as server of our client, through its Python package.

use std::process::{Command, Stdio};

use super::{Daemon, mms};
use crate::ftam::harness::{Folder, Running};

/// A Python that has libiec61850; none, after saying so, where there is none.
fn python() -> Option<String> {
    let named = std::env::var("KUMIKI_PYTHON").ok();
    let python = named.filter(|it| !it.is_empty()).unwrap_or_else(|| "python3".to_owned());
    let tried = Command::new(&python).args(["-c", "import pyiec61850"]).output();
    if tried.is_ok_and(|tried| tried.status.success()) {
        return Some(python);
    }
    let why = format!(
        "{python} has no pyiec61850: pip install pyiec61850-ng==1.6.1.10, and KUMIKI_PYTHON says which Python has it"
    );
    assert!(std::env::var_os("KUMIKI_REQUIRE_OSI").is_none(), "{why}");
    eprintln!("skipped: {why}");
    None
}

fn script(name: &str) -> String {
    format!("{}/tests/program/mms/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn contents(len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from(at % 253).unwrap()).collect()
}

#[test]
fn libiec61850_has_its_files_from_our_responder() {
    let Some(python) = python() else { return };
    let folder = Folder::new("mms libiec61850 calls");
    std::fs::create_dir(folder.path("root/COMTRADE")).unwrap();
    std::fs::create_dir(folder.path("theirs")).unwrap();
    folder.write("root/COMTRADE/a.cfg", b"configuration");
    folder.write("root/large", &contents(300_000));
    folder.write("root/empty", b"");
    folder.write("theirs/large.bin", &contents(200_000));
    folder.write("theirs/empty.bin", b"");
    let daemon = Daemon::start(&folder, &["--anonymous", "--pcap", "theirs.pcapng"]);
    let mut command = Command::new(python);
    command
        .arg(script("peer_client.py"))
        .args([daemon.port(), &format!("{}/", folder.path("theirs").display())])
        .stdin(Stdio::null());
    let said = Running::start(command).end().well().out;
    for line in [
        "PEER entry COMTRADE/ 0",
        "PEER entry large 300000",
        "PEER entry COMTRADE/a.cfg 13",
        "PEER set large.bin 0",
        "PEER set empty.bin 0",
        "PEER download large True",
        "PEER download empty True",
        "PEER download none False",
        "PEER delete renamed 0",
        "PEER aborted",
    ] {
        assert!(said.contains(line), "no {line:?} in {said}");
    }
    // A file that is not there: object-non-existent among the errors of that library.
    assert!(!said.contains("PEER set none.bin 0"), "{said}");
    assert!(!said.contains("PEER delete none 0"), "{said}");
    assert!(folder.read("root/from large.bin") == contents(200_000));
    assert!(folder.read("theirs/got large") == contents(300_000));
    assert!(folder.read("theirs/got empty").is_empty());
    assert_eq!(
        folder.names("root"),
        ["COMTRADE", "empty", "from large.bin", "large"],
        "from empty.bin was renamed and deleted, and nothing is left of none.bin"
    );
    // Its abort waits until the responder hangs up; that this takes no grace is looked at with FTAM.
    while !daemon.running.line().contains("aborted by the caller") {}
    drop(daemon);
}

#[test]
fn libiec61850_gives_and_takes_files_as_a_server() {
    let Some(python) = python() else { return };
    let folder = Folder::new("mms libiec61850 is called");
    std::fs::create_dir(folder.path("root/sub")).unwrap();
    folder.write("root/sub/a.cfg", b"configuration");
    folder.write("root/large", &contents(150_000));
    folder.write("root/empty", b"");
    let held = kumiki_watchdog::Port::new().unwrap();
    let port = held.at().port().to_string();
    let mut command = Command::new(python);
    command
        .arg(script("peer_server.py"))
        .args([&port, &format!("{}/", folder.path("root").display())])
        .stdin(Stdio::piped());
    let server = Running::start(command);
    assert_eq!(server.line(), "PEER runs True");
    let url = |name: &str| format!("mms://127.0.0.1:{port}/{name}");
    for window in ["1", "4"] {
        mms(&folder, &["get", &url("large"), "got", "--window", window]).well();
        assert!(folder.read("got") == contents(150_000));
    }
    mms(&folder, &["get", &url("empty"), "got"]).well();
    assert!(folder.read("got").is_empty());
    mms(&folder, &["get", &url("none"), "none"]).failed(6, &["MMS: file error 7"]);
    let listed = mms(&folder, &["ls", &url("sub")]).well().out;
    assert!(listed.contains("13 ") && listed.contains(" a.cfg"), "{listed}");
    folder.write("ours", &contents(200_000));
    mms(&folder, &["put", "ours", &url("put")]).well();
    assert!(folder.read("root/put") == contents(200_000));
    folder.write("ours", b"");
    mms(&folder, &["put", "ours", &url("put0")]).well();
    mms(&folder, &["rm", &url("put0")]).well();
    mms(&folder, &["rm", &url("put0")]).failed(6, &["MMS: file error 7"]);
    // It has no fileRename, and says so.
    mms(&folder, &["mv", &url("put"), "put1"]).failed(7, &["unrecognized service"]);
    let collect = ["collect", &url("sub"), "--into", "in", "--closed", "any"];
    mms(&folder, &collect).well();
    mms(&folder, &collect).failed(10, &["nothing is new"]);
    assert_eq!(folder.read("in/a.cfg"), b"configuration");
    drop(server);
}
