//! What can be done with files.

use std::process::Stdio;

use super::harness::{Daemon, Folder, Running, hollow};
use super::line::{Cut, Line};

/// Octets of all values, more than one TPDU and one data element.
fn content() -> Vec<u8> {
    (0..1_000_003_u32).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

#[test]
fn a_file_goes_there_and_comes_back() {
    let folder = Folder::new("there-and-back");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("a", &content());
    folder.ftam(&["put", "a", &daemon.url("x")]).well();
    assert!(daemon.log().contains("wrote x (1000003 octets)"));
    assert!(folder.read("root/x") == content());
    folder.ftam(&["get", &daemon.url("x"), "b"]).well();
    let log = daemon.log();
    assert!(log.contains("read x (1000003 octets)"), "{log}");
    assert!(log.ends_with("ended in order"), "{log}");
    assert!(folder.read("b") == content());
    // Without a target it has its own name, and a directory is one as well.
    folder.ftam(&["get", &daemon.url("x")]).well();
    std::fs::create_dir(folder.path("d")).unwrap();
    folder.ftam(&["get", &daemon.url("x"), "d"]).well();
    assert_eq!(folder.names("."), ["a", "b", "d", "root", "x"]);
    assert_eq!(folder.names("d"), ["x"]);
    let shown = folder.ftam(&["get", &daemon.url("x"), "-"]).well();
    assert!(shown.err.is_empty(), "{}", shown.err);
    daemon.stop();
}

#[test]
fn files_are_listed_shown_renamed_and_removed() {
    let folder = Folder::new("managed");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.ftam(&["mkdir", &daemon.url("d"), "e"]).well();
    folder.write("root/d/one", b"1");
    folder.write("root/d/two", b"22");
    let listed = folder.ftam(&["ls", &daemon.url("d/")]).well().out;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].trim_start().starts_with('1') && lines[0].ends_with("one"));
    let root = folder.ftam(&["ls", &daemon.url("")]).well().out;
    assert!(root.contains(" d/\n") && root.contains(" e/\n"), "{root}");
    let json = folder.ftam(&["ls", "--json", &daemon.url("d")]).well().out;
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["name"], &first["size"]), (&"one".into(), &1.into()));
    let stat = folder.ftam(&["stat", &daemon.url("d/two")]).well().out;
    assert!(stat.contains("FTAM-3") && stat.contains("permitted actions"), "{stat}");
    let stat = folder.ftam(&["stat", "--json", &daemon.url("d/two")]).well().out;
    let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
    assert_eq!(stat["size"], 2);
    // A date as ISO 8601 has it, and as it was sent.
    let sent = stat["modified_as_sent"].as_str().unwrap();
    let iso = stat["modified"].as_str().unwrap();
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    assert_eq!(digits(iso)[..14], digits(sent)[..14]);
    assert_eq!((&iso[4..5], &iso[10..11], &iso[19..]), ("-", "T", "Z"));
    let actions = stat["permitted_actions"].as_array().unwrap();
    assert!(actions.contains(&"read".into()), "{actions:?}");
    folder.ftam(&["mv", &daemon.url("d/two"), "e/three"]).well();
    assert_eq!(folder.names("root/e"), ["three"]);
    folder.ftam(&["rm", &daemon.url("d/one"), "e/three"]).well();
    let again = folder.ftam(&["rm", &daemon.url("d/one"), "e"]);
    again.failed(6, &["3004", "remove d/one"]);
    // One that fails keeps nobody from the next.
    assert_eq!(folder.names("root"), ["d"]);
    daemon.stop();
}

#[test]
fn a_file_is_new_or_replaced_or_longer() {
    let folder = Folder::new("modes");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("a", b"first");
    let put = |mode: &str| folder.ftam(&["put", "a", &daemon.url("x"), "--mode", mode]);
    put("new").well();
    put("new").failed(6, &["3005"]);
    put("append").well();
    assert_eq!(folder.read("root/x"), b"firstfirst");
    put("replace").well();
    assert_eq!(folder.read("root/x"), b"first");
    // With / at the end the file keeps its name.
    folder.ftam(&["put", "a", &daemon.url("")]).well();
    assert_eq!(folder.names("root"), ["a", "x"]);
    folder.write("a", b"one\ntwo\n");
    let lines = ["put", "--as", "lines", "a", &daemon.url("text")];
    folder.ftam(&lines).well();
    assert_eq!(folder.read("root/text"), b"one\ntwo\n");
    daemon.stop();
}

#[test]
fn standard_input_can_be_sent() {
    let folder = Folder::new("input");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let mut command = folder.command(&["ftam", "put", "-", &daemon.url("x")]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut input = running.child().stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"said").unwrap();
    drop(input);
    running.end().well();
    assert_eq!(folder.read("root/x"), b"said");
    daemon.stop();
}

#[test]
fn a_virtual_circuit_carries_it_too() {
    let folder = Folder::new("xot");
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous", "--x121", "12345"]);
    folder.write("a", &content());
    let url = daemon.url("x?carrier=xot&x121=12345");
    folder.ftam(&["put", "a", &url]).well();
    assert!(folder.read("root/x") == content());
    folder.ftam(&["get", &url, "b"]).well();
    assert!(folder.read("b") == content());
    let without = folder.ftam(&["get", &daemon.url("x?carrier=xot")]);
    without.failed(2, &["x121=12345"]);
    daemon.stop();
}

/// What is in memory does not grow with the file: an address space of 200 MB is enough for 300 MB, at both ends.
#[test]
fn memory_is_bounded() {
    let folder = Folder::new("memory");
    let limited = |arguments: &str| {
        let mut command = std::process::Command::new("sh");
        let script = format!("ulimit -v 200000; exec \"$0\" {arguments}");
        command.args(["-c", &script, super::harness::KUMIKI]).current_dir(folder.place()).stdin(Stdio::null());
        Running::start(command)
    };
    hollow(&folder.path("root/x"), 300_000_000);
    let serving = "ftamd --root root --anonymous --listen 127.0.0.1:0 --associations 1";
    let daemon = limited(serving);
    let line = daemon.line();
    let at = line.split_whitespace().nth(2).unwrap();
    limited(&format!("ftam get ftam://{at}/x b")).end().well();
    assert_eq!(folder.path("b").metadata().unwrap().len(), 300_000_000);
    std::fs::remove_file(folder.path("root/x")).unwrap();
    limited(&format!("ftam put b ftam://{at}/x")).end().well();
    let size = folder.path("root/x").metadata().unwrap().len();
    assert_eq!(size, 300_000_000);
    std::fs::remove_dir_all(folder.place()).unwrap();
}

#[test]
fn lines_of_a_text_end_as_they_end_on_each_side() {
    let folder = Folder::new("newlines");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let (there, here) = (b"one\r\n\r\ntwo\rthree\n", b"one\n\ntwo\rthree\n");
    folder.write("root/x", there);
    let url = daemon.url("x");
    folder.ftam(&["get", "--text", &url, "b"]).well();
    assert_eq!(folder.read("b"), here);
    let ran = folder.ftam(&["get", "--text", &url, "-"]).well();
    assert_eq!(ran.out.as_bytes(), here);
    // Only where it was asked for.
    folder.ftam(&["get", "--as", "text", &url, "c"]).well();
    assert_eq!(folder.read("c"), there);
    let both = folder.ftam(&["get", "--text", "--as", "binary", &url, "d"]);
    both.failed(2, &["--text", "--as"]);
    folder.ftam(&["put", "--text", "b", &daemon.url("y")]).well();
    assert_eq!(folder.read("root/y"), b"one\r\n\r\ntwo\rthree\r\n");
    folder.ftam(&["put", "b", &daemon.url("z")]).well();
    assert_eq!(folder.read("root/z"), here);
    daemon.stop();
}

#[test]
fn a_text_that_breaks_goes_on_and_is_converted_once() {
    let folder = Folder::new("newlines-broken");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let here: Vec<u8> = (0..300_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    folder.write("a", &here);
    for _ in 0..2 {
        let line = Line::new(&daemon.at, &[Cut::After(900_000)]);
        folder.ftam(&["put", "--text", "a", &line.url("x")]).well();
        assert_eq!(line.connections(), 2);
        let line = Line::new(&daemon.at, &[Cut::After(900_000)]);
        let get = ["get", "--text", "--resume", &line.url("x"), "b"];
        folder.ftam(&get).well();
        assert_eq!(line.connections(), 2);
        assert!(folder.read("b") == here);
        assert_eq!(folder.read("root/x").len(), here.len() + 300_000);
    }
    assert_eq!(folder.names("."), ["a", "b", "root"]);
    daemon.stop();
}

#[test]
fn a_responder_keeps_lines_as_they_end_on_its_machine() {
    let folder = Folder::new("newlines-kept");
    let daemon = Daemon::start(&folder, &["--anonymous", "--text", "--quota", "14B", "--max-file-size", "10B"]);
    let url = daemon.url("x");
    // 13 octets where they are transferred, and 9 here.
    folder.write("a", b"1\r\n2\r\n3\r\n45\r\n");
    folder.ftam(&["put", "--as", "text", "a", &url]).well();
    assert_eq!(folder.read("root/x"), b"1\n2\n3\n45\n");
    let told = folder.ftam(&["stat", "--json", &url]).well().out;
    assert!(told.contains("\"size\":9"), "{told}");
    folder.ftam(&["get", "--as", "text", &url, "b"]).well();
    assert_eq!(folder.read("b"), folder.read("a"));
    folder.ftam(&["get", "--text", &url, "c"]).well();
    assert_eq!(folder.read("c"), folder.read("root/x"));
    // As octets it is what lies there.
    folder.ftam(&["get", &url, "d"]).well();
    assert_eq!(folder.read("d"), folder.read("root/x"));
    folder.write("e", b"\r\n");
    let append = ["put", "--as", "text", "--mode", "append", "e", &url];
    folder.ftam(&append).failed(6, &["5029"]);
    daemon.stop();
    let daemon = Daemon::start(&folder, &["--anonymous", "--text", "--max-file-size", "10B"]);
    let url = daemon.url("x");
    let append = ["put", "--as", "text", "--mode", "append", "e", &url];
    folder.ftam(&append).well();
    assert_eq!(folder.read("root/x"), b"1\n2\n3\n45\n\n");
    folder.ftam(&append).failed(6, &["5029"]);
    assert_eq!(folder.read("root/x"), b"1\n2\n3\n45\n\n");
    daemon.stop();
}

#[test]
fn a_text_that_breaks_goes_on_at_a_responder_that_converts() {
    let folder = Folder::new("newlines-kept-broken");
    let daemon = Daemon::start(&folder, &["--anonymous", "--text"]);
    let here: Vec<u8> = (0..300_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    folder.write("a", &here);
    let line = Line::new(&daemon.at, &[Cut::After(900_000)]);
    folder.ftam(&["put", "--text", "a", &line.url("x")]).well();
    assert_eq!(line.connections(), 2);
    assert!(folder.read("root/x") == here);
    let line = Line::new(&daemon.at, &[Cut::After(900_000)]);
    folder.ftam(&["get", "--as", "text", &line.url("x"), "b"]).well();
    assert_eq!(line.connections(), 2);
    assert_eq!(folder.read("b").len(), here.len() + 300_000);
    assert!(daemon.log().contains("octets"));
    daemon.stop();
}

/// What a call of X.25 asks for stands in its packet, and the responder agrees to what it was told.
#[test]
fn a_call_over_xot_is_made_as_its_url_says() {
    let folder = Folder::new("xot-tuned");
    let options = ["--anonymous", "--packet", "256", "--window", "3"];
    let daemon = Daemon::on(&folder, "--xot", &options);
    folder.write("root/x", &[7; 5000]);
    let port = format!("{}=xot", daemon.port());
    let url = daemon.url("x?carrier=xot&x121=1&packet=512&window=4&cug=12&reverse=yes&nui=me");
    folder.ftam(&["get", &url, "b", "--pcap", "c"]).well();
    let decode = ["decode", "c", "--port", &port, "-v"];
    let said = folder.kumiki(&decode).well().out;
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    let (call, accepted) = said.split_once("CALL ACCEPTED").unwrap();
    for part in [
        "packet size code, called 9 (512 octets)",
        "window, called 4",
        "ClosedGroup(18)",
        "reverse: true",
        "nui 2 octets, not shown",
        "user data 03010100",
    ] {
        assert!(call.contains(part), "{part:?} is not in {call}");
    }
    for part in ["packet size code, called 8 (256 octets)", "window, called 3"] {
        assert!(accepted.contains(part), "{part:?} is not in {accepted}");
    }
    // Other user data is that of another application, until the responder is told of it.
    let other = daemon.url("x?carrier=xot&x121=1&cud=cafe");
    folder.ftam(&["get", &other, "b"]).failed(
        3,
        &[
            "unrecognisable protocol identifier in user data (249)",
            "; who was called takes no calls with this user data: check cud",
        ],
    );
    daemon.log();
    let log = daemon.log();
    assert!(log.contains("call user data is cafe, expected to begin 03010100"), "{log}");
    daemon.stop();
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous", "--cud", "cafe"]);
    let other = daemon.url("x?carrier=xot&x121=1&cud=cafe");
    folder.ftam(&["get", &other, "b"]).well();
    daemon.stop();
}
