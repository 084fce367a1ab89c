//! `kumiki x25 switch` as a process, between callers and hosts of XOT that are processes too.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use rustix::process::Signal;

use crate::ftam::harness::{Daemon, Folder, Running, system};
use kumiki_watchdog::until;

/// A switch with this configuration, and where its port `in` listens.
struct Switch {
    running: Running,
    at: String,
}

impl Switch {
    fn start(folder: &Folder, config: &str, options: &[&str]) -> Self {
        folder.write("switch.toml", config.as_bytes());
        let all = [&["x25", "switch", "switch.toml"], options].concat();
        let running = Running::start(folder.command(&all));
        let line = running.line();
        let at = line.strip_prefix("in: listens at ").expect(&line);
        let at = at.split_whitespace().next().unwrap().to_owned();
        assert!(running.line().starts_with("switches"));
        Self { running, at }
    }

    /// The next line of its log; see [`undated`].
    #[track_caller]
    fn told(&self) -> String {
        undated(&self.running.line())
    }

    fn url(&self, file: &str, number: &str) -> String {
        format!("ftam://{}/{file}?carrier=xot&x121={number}&from-x121=777", self.at)
    }
}

/// A line of the log without its date, and without addresses, whose ports are the kernel's choice.
fn undated(line: &str) -> String {
    let (date, rest) = line.split_once(' ').unwrap();
    assert!(date.len() == 20 && date.ends_with('Z'), "{line}");
    let own = "127.0.0.1:";
    let words = rest.split(' ').map(|word| match word.split_once(own) {
        Some((before, port)) => {
            let behind = port.trim_start_matches(|it: char| it.is_ascii_digit());
            format!("{before}ADDRESS{behind}")
        }
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn config(host: &str, more: &str) -> String {
    format!(
        r#"
[port.in]
kind = "xot"
listen = "127.0.0.1:0"

[port.out]
kind = "xot"
host = "{host}"
{more}

[[route]]
called = "99"
to = ["out"]
strip = 2
prepend = "12"
"#
    )
}

#[test]
fn files_go_over_xot_through_the_switch() {
    let folder = Folder::new("switch");
    let octets: Vec<u8> = (0..=250).cycle().take(300_000).collect();
    folder.write("root/big", &octets);
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous", "--x121", "12345"]);
    // Windows and packet sizes differ on both sides.
    let config = config(&daemon.at, "x25 = { window = 2, packet = \"256 B\" }");
    let switch = Switch::start(&folder, &config, &["--pcap", "packets.pcapng"]);
    folder.ftam(&["get", &switch.url("big", "99345")]).well();
    assert!(folder.read("big") == octets, "another file came");
    let said = [switch.told(), switch.told()];
    assert_eq!(said[0], "call 1 ADDRESS: 777 to 99345 set up, from in to out (ADDRESS)");
    assert!(said[1].starts_with("call 1 ADDRESS: cleared by "), "{said:?}");
    let wrong = folder.ftam(&["get", &switch.url("big", "55345")]);
    wrong.failed(3, &["not obtainable (0d)"]);
    let said = switch.told();
    assert!(said.starts_with("call 2 ADDRESS: 777 to 55345 refused, from in: not obtainable (0d)"), "{said}");
    switch.running.signal(Signal::INT);
    let ran = switch.running.end().well();
    assert!(ran.out.contains("2 calls came, 1 were set up, 1 refused, 1 cleared"), "{ran:?}");
    // TPDUs are longer than packets.
    let bad = folder.kumiki(&["decode", "--bad", "packets.pcapng"]).well();
    assert_eq!(bad.out, "");
    let all = folder.kumiki(&["decode", "packets.pcapng"]).well();
    assert!(all.out.contains("F-READ request"), "FTAM is read");
    let path = folder.path("packets.pcapng");
    let path = path.to_str().unwrap();
    let Some(read) = system("tshark", &["-r", path, "-Y", "x25", "-T", "fields", "-e", "_ws.col.Info"]) else {
        assert!(std::env::var_os("KUMIKI_REQUIRE_TSHARK").is_none(), "tshark is wanted and absent");
        return eprintln!("skipped: tshark is absent");
    };
    let packets = String::from_utf8_lossy(&read.stdout).lines().count();
    assert!(packets > 1000, "{packets} packets: {read:?}");
    // The circuits of both ports have one channel, by which tshark puts their packets together, and calls what comes of
    // it malformed.
    let alone = ["--disable-protocol", "cotp"];
    let wrong = ["-r", path, "-Y", "_ws.malformed || _ws.expert.severity == error"];
    let malformed = system("tshark", &[&wrong[..], &alone].concat());
    let malformed = String::from_utf8_lossy(&malformed.unwrap().stdout).into_owned();
    assert!(malformed.is_empty(), "{malformed}");
}

#[test]
fn a_call_that_is_cleared_amid_a_transfer_is_made_again() {
    let folder = Folder::new("switch-cleared");
    let octets: Vec<u8> = (0..=250).cycle().take(30_000_000).collect();
    folder.write("a", &octets);
    folder.write("root/x", b"old");
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous"]);
    // Both switches listen at one port, one after the other.
    let held = kumiki_watchdog::Port::new().unwrap();
    let config = config(&daemon.at, "").replace("127.0.0.1:0", &held.at().to_string());
    let first = Switch::start(&folder, &config, &[]);
    let putting = folder.command(&["ftam", "put", "a", &first.url("x", "99345")]);
    let putting = Running::start(putting);
    let has_begun = |name: &String| {
        let len = folder.path("root").join(name).metadata();
        name.starts_with(".kumiki-") && len.is_ok_and(|it| it.len() > 2_000_000)
    };
    until(|| folder.names("root").iter().any(has_begun));
    first.running.signal(Signal::INT);
    first.running.end().well();
    let second = Switch::start(&folder, &config, &[]);
    assert_eq!(second.at, held.at().to_string());
    let ran = putting.end().well();
    assert!(ran.err.contains("out of order (09)"), "{ran:?}");
    assert!(ran.err.contains("it goes on in 1 s"), "{ran:?}");
    assert!(!ran.err.contains("starts over"), "{ran:?}");
    assert!(folder.read("root/x") == octets);
    daemon.stop();
}

/// A line between two switches, one of which is the network's end and the other its user's.
#[test]
fn files_go_over_a_link_of_lapb_between_two_switches() {
    let folder = Folder::new("lapb");
    let octets: Vec<u8> = (0..=250).rev().cycle().take(300_000).collect();
    folder.write("root/big", &octets);
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous"]);
    let line = folder.path("line");
    let line = line.display();
    let near = format!(
        r#"
[port.in]
kind = "xot"
listen = "127.0.0.1:0"

[port.line]
kind = "lapb"
on = "listen:{line}"

[[route]]
called = "99"
to = ["line"]
strip = 2
"#
    );
    let far = format!(
        r#"
[port.line]
kind = "lapb"
on = "unix:{line}"
lapb = {{ role = "dte", k = 3 }}
x25 = {{ role = "dte" }}

[port.out]
kind = "xot"
host = "{}"

[[route]]
called = "1"
to = ["out"]
"#,
        daemon.at
    );
    let near = Switch::start(&folder, &near, &[]);
    folder.write("far.toml", far.as_bytes());
    let far = Running::start(folder.command(&["x25", "switch", "far.toml"]));
    assert_eq!(near.told(), "line: up");
    folder.ftam(&["get", &near.url("big", "9912345")]).well();
    assert!(folder.read("big") == octets, "another file came");
    let said = near.told();
    assert_eq!(said, "call 1 ADDRESS: 777 to 9912345 set up, from in to line");
    // The other end of the line goes away, and its calls with it.
    far.signal(Signal::INT);
    let ran = far.end().well();
    assert!(ran.out.contains("call 1: 777 to 12345 set up, from line to out"));
    assert!(near.told().starts_with("call 1 ADDRESS: cleared by in"));
    assert_eq!(near.told(), "line: down");
    let lost = folder.ftam(&["get", &near.url("big", "9912345")]);
    lost.failed(3, &["out of order (09)"]);
    near.running.signal(Signal::INT);
    near.running.end().well();
}

#[test]
fn a_host_that_is_not_there_is_out_of_order_and_the_next_target_is_called() {
    let folder = Folder::new("hunt");
    folder.write("root/small", b"content");
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous"]);
    let held = kumiki_watchdog::Port::new().unwrap();
    let nobody = held.at();
    let hunt = format!(
        r#"
[port.away]
kind = "xot"
host = "{nobody}"

[[route]]
called = "1"
to = ["away", "out"]

[[route]]
called = "2"
to = ["away"]
"#
    );
    let switch = Switch::start(&folder, &config(&daemon.at, &hunt), &[]);
    let lost = folder.ftam(&["get", &switch.url("small", "2")]);
    lost.failed(3, &["out of order (09)"]);
    folder.ftam(&["get", &switch.url("small", "1")]).well();
    assert_eq!(folder.read("small"), b"content");
    switch.running.signal(Signal::INT);
    switch.running.end().well();
}

#[test]
fn who_has_a_number_is_called_by_what_begins_with_it() {
    let folder = Folder::new("numbers");
    folder.write("root/small", b"content");
    // Where no calls of X.25 come in, what is said of them would be ignored.
    for option in [["--x121", "1"], ["--packet", "128"], ["--window", "2"], ["--cud", "cafe"]] {
        for daemon in ["ftamd", "mmsd"] {
            let all = [&[daemon, "--root", "root", "--anonymous"], &option[..]].concat();
            folder.kumiki(&all).failed(2, &[option[0], "--xot ADDRESS"]);
        }
    }
    for wrong in ["", "abc", "1234567890123456"] {
        let options = ["--root", "root", "--xot", "127.0.0.1:0", "--anonymous"];
        let ran = folder.kumiki(&[&["ftamd"], &options[..], &["--x121", wrong]].concat());
        ran.failed(2, &["--x121", "15 digits"]);
    }
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous", "--x121", "12345"]);
    let list = |number: &str| {
        let at = &daemon.at;
        folder.ftam(&["ls", &format!("ftam://{at}/?carrier=xot&x121={number}")])
    };
    list("12345").well();
    list("123456").well();
    list("777").failed(3, &["invalid called DTE address (67)", "check the X.121"]);
    for wrong in ["abc", "", "1234567890123456"] {
        list(wrong).failed(2, &["15 digits"]);
    }
}

#[test]
fn a_configuration_is_checked_without_opening_anything() {
    let folder = Folder::new("check");
    folder.write("good.toml", config("192.0.2.1", "").as_bytes());
    let said = folder.kumiki(&["x25", "switch", "--check", "good.toml"]).well();
    assert_eq!(said.out, "configuration is valid\n");
    folder.write("bad.toml", config("192.0.2.1", "hosst = 7").as_bytes());
    let said = folder.kumiki(&["x25", "switch", "--check", "bad.toml"]);
    said.failed(2, &["bad.toml:9", "hosst", "did you mean"]);
    let called = config("192.0.2.1", "").replace("\"99\"", "\"9a\"");
    folder.write("bad.toml", called.as_bytes());
    let said = folder.kumiki(&["x25", "switch", "--check", "bad.toml"]);
    said.failed(2, &["\"9a\" is not a number", "up to 15 digits"]);
    let said = folder.kumiki(&["x25", "switch", "nowhere.toml"]);
    said.failed(2, &["nowhere.toml"]);
}

#[test]
fn a_capture_that_cannot_be_written_ends_and_calls_go_on() {
    let folder = Folder::new("full");
    folder.write("root/small", &vec![7; 100_000]);
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous", "--pcap", "/dev/full", "--no-sandbox", "landlock"]);
    let options = ["--pcap", "/dev/full", "--no-sandbox", "landlock"];
    let switch = Switch::start(&folder, &config(&daemon.at, ""), &options);
    for _ in 0..2 {
        folder.ftam(&["get", &switch.url("small", "991")]).well();
    }
    switch.running.signal(Signal::INT);
    let ran = switch.running.end().well();
    assert!(ran.out.contains("2 calls came, 2 were set up"), "{ran:?}");
    let ended = "captures end here: /dev/full: No space left on device";
    assert_eq!(ran.out.matches(ended).count(), 1, "{ran:?}");
    let ran = daemon.stop();
    assert_eq!((ran.out.matches(ended).count(), ran.out.matches("ended in order").count()), (1, 2), "{ran:?}");
    // A client says it where its messages are.
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let ran = folder.ftam(&["get", &daemon.url("small"), "--pcap", "/dev/full"]).well();
    assert!(ran.err.contains(ended), "{ran:?}");
}

#[test]
fn a_log_that_cannot_be_written_is_told_and_stops_nothing() {
    use std::process::Stdio;
    let folder = Folder::new("log");
    folder.write("root/small", b"content");
    let full = std::fs::File::create("/dev/full").unwrap();
    let arguments =
        ["ftamd", "--root", "root", "--listen", "127.0.0.1:0", "--port-file", "port", "--anonymous", "--once"];
    kumiki_watchdog::minute();
    let mut command = folder.command(&arguments);
    let daemon = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    until(|| folder.path("port").exists());
    let at = String::from_utf8(folder.read("port")).unwrap();
    folder.ftam(&["get", &format!("ftam://{}/small", at.trim_end())]).well();
    let ran = daemon.wait_with_output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{said}");
    assert_eq!(said.matches("the log cannot be written: No space left on device").count(), 1, "{said}");
    assert!(said.contains("2 lines of the log could not be written since "), "{said}");
}

#[test]
fn who_is_not_among_the_peers_has_a_line_in_the_log() {
    let folder = Folder::new("peers");
    let open = config("192.0.2.1", "");
    let closed = open.replace("127.0.0.1:0\"", "127.0.0.1:0\"\npeers = [\"192.0.2.0/24\"]");
    let switch = Switch::start(&folder, &closed, &[]);
    end(&mut stray(&switch.at, b""));
    assert_eq!(switch.told(), "in: ADDRESS: turned away, for it is not in peers");
    switch.running.signal(Signal::INT);
    let ran = switch.running.end().well();
    assert!(ran.out.contains("1 callers were turned away"), "{ran:?}");
    folder.write("nobody.toml", closed.replace("\"192.0.2.0/24\"", "").as_bytes());
    let said = folder.kumiki(&["x25", "switch", "--check", "nobody.toml"]);
    said.failed(2, &["port.in.peers", "lets no caller in"]);
    folder.write("open.toml", open.as_bytes());
    let switch = Running::start(folder.command(&["x25", "switch", "open.toml"]));
    assert!(switch.line().ends_with("(XOT), and everybody may call: it has no peers"));
}

#[test]
fn a_port_that_another_program_has_is_told_by_name() {
    let folder = Folder::new("taken");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let text = config("192.0.2.1", "").replace("127.0.0.1:0", &at);
    folder.write("taken.toml", text.as_bytes());
    let said = folder.kumiki(&["x25", "switch", "taken.toml"]);
    said.failed(1, &["port in: ", &at, "choose another port"]);
    let said = folder.kumiki(&["ftamd", "--root", "root", "--anonymous", "--listen", &at]);
    said.failed(1, &["cannot listen at ", &at, "choose another port"]);
    for (wrong, why) in [("127.0.0.1:99999", "no port"), ("localhost", "a name"), ("1.2.3", "no address")] {
        let said = folder.kumiki(&["ftamd", "--root", "root", "--anonymous", "--listen", wrong]);
        said.failed(2, &[why, "127.0.0.1:10102"]);
    }
}

/// A connection of which nothing comes, or that speaks something else.
fn stray(at: &str, octets: &[u8]) -> std::net::TcpStream {
    use std::io::Write as _;
    let mut socket = std::net::TcpStream::connect(at).unwrap();
    socket.write_all(octets).unwrap();
    socket
}

/// Waits for the end of a connection, of whichever kind.
fn end(socket: &mut std::net::TcpStream) {
    use std::io::Read as _;
    kumiki_watchdog::minute();
    let _ = socket.read_to_end(&mut Vec::new());
}

#[test]
fn connections_without_a_call_have_their_time_and_are_told_of() {
    let folder = Folder::new("strays");
    folder.write("root/small", b"content");
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous"]);
    let limits = ["--max-per-host", "2", "--setup-timeout", "1s"];
    let switch = Switch::start(&folder, &config(&daemon.at, ""), &limits);
    end(&mut stray(&switch.at, b"GET / HTTP/1.0\r\n\r\n"));
    assert_eq!(switch.told(), "in: ADDRESS: did not speak XOT");
    end(&mut stray(&switch.at, b""));
    assert_eq!(switch.told(), "in: ADDRESS: no call came in time");
    drop(stray(&switch.at, b""));
    assert_eq!(switch.told(), "in: ADDRESS: hung up before a call came");
    folder.ftam(&["get", &switch.url("small", "991"), "-"]).well();
    assert!(switch.told().contains("set up"));
    switch.running.signal(Signal::INT);
    switch.running.end().well();
}

#[test]
fn a_call_by_which_nothing_crosses_is_cleared() {
    let folder = Folder::new("idle");
    folder.write("root/small", b"content");
    let daemon = Daemon::on(&folder, "--xot", &["--anonymous"]);
    let switch = Switch::start(&folder, &config(&daemon.at, ""), &["--idle", "1s"]);
    // CALL REQUEST to 991.
    let call = stray(&switch.at, &[0, 0, 0, 7, 0x10, 1, 0x0b, 3, 0x99, 0x10, 0]);
    assert!(switch.told().contains("- to 991 set up"));
    let said = switch.told();
    assert!(said.contains("cleared by us: local procedure error (13)"), "{said}");
    drop(call);
    switch.running.signal(Signal::INT);
    switch.running.end().well();
}
