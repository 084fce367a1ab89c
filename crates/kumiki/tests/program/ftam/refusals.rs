//! Who says no, and how that is told.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use super::harness::{Daemon, Folder, Running, no_host};

/// A line of a password file.
pub(crate) fn entry(folder: &Folder, user: &str, password: &str) -> String {
    let arguments = ["ftamd", "password", "--rounds", "10", user];
    let mut command = folder.command(&arguments);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut input = running.child().stdin.take().unwrap();
    writeln!(input, "{password}").unwrap();
    drop(input);
    running.end().well().out
}

#[test]
fn only_who_has_the_password_is_let_in() {
    let folder = Folder::new("login");
    let nobody = folder.kumiki(&["ftamd", "--root", "root"]);
    nobody.failed(2, &["--passwords FILE", "--anonymous"]);
    let line = entry(&folder, "ada", "secret");
    folder.write("passwords", line.as_bytes());
    folder.write("right", b"secret\n");
    folder.write("wrong", b"guess\n");
    folder.write("root/x", b"x");
    let daemon = Daemon::start(&folder, &["--passwords", "passwords"]);
    let url = |user: &str| format!("ftam://{user}{}/x", daemon.at);
    let get = |user: &str, file: &str| folder.ftam(&["get", &url(user), "-", "--password-file", file]);
    assert_eq!(get("ada@", "right").well().out, "x\n");
    let log = daemon.log();
    assert!(log.contains("ada@127.0.0.1"), "{log}");
    get("ada@", "wrong").failed(5, &["FTAM", "2020"]);
    let log = daemon.log();
    assert!(log.contains("as \"ada\"") && log.contains("not let in"), "{log}");
    let (wrong, unknown) = (get("ada@", "wrong"), get("bob@", "right"));
    // Names cannot be found out by trying.
    assert_eq!(wrong.err, unknown.err);
    get("", "right").failed(5, &["2020"]);
    let mut command = folder.command(&["ftam", "get", &url("ada@"), "-"]);
    command.env("KUMIKI_FTAM_PASSWORD", "secret");
    Running::start(command).end().well();
    let in_url = folder.ftam(&["get", &url("ada:secret@"), "-"]);
    in_url.failed(2, &["--password-file"]);
    daemon.stop();
}

#[test]
fn who_guesses_passwords_has_few_tries() {
    let folder = Folder::new("tries");
    let line = entry(&folder, "ada", "secret");
    folder.write("passwords", line.as_bytes());
    folder.write("right", b"secret\n");
    folder.write("wrong", b"guess\n");
    folder.write("root/x", b"x");
    let daemon = Daemon::start(&folder, &["--passwords", "passwords", "--max-tries", "2"]);
    let url = format!("ftam://ada@{}/x", daemon.at);
    let get = |file: &str| folder.ftam(&["get", &url, "-", "--password-file", file]);
    get("wrong").failed(5, &["2020"]);
    daemon.log();
    // Who is let in buys nobody another guess.
    get("right").well();
    daemon.log();
    // A second one in the same minute hears nothing.
    let ran = get("wrong");
    assert!(ran.status != Some(0) && !ran.err.contains("2020"), "{ran:?}");
    let log = daemon.log();
    assert!(log.contains("not answered"), "{log}");
    // Who has the password gets in all the same.
    get("right").well();
    daemon.log();
    // When no look is left the log does not say that a password was wrong.
    let unlooked = (0..10).find_map(|_| {
        let ran = get("wrong");
        let log = daemon.log();
        log.contains("without a look").then_some((ran, log))
    });
    let (ran, log) = unlooked.unwrap();
    assert!(!log.contains("2020") && log.contains("ada"), "{log}");
    ran.failed(4, &["the line is fine: if passwords were wrong before"]);
    daemon.stop();
}

#[test]
fn selectors_that_are_not_ours_are_refused_by_their_layer() {
    let folder = Folder::new("selectors");
    let options = ["--tsel", "0x0103", "--ssel", "#1", "--psel", "FTAM"];
    let all: Vec<&str> = options.iter().copied().chain(["--anonymous"]).collect();
    let daemon = Daemon::start(&folder, &all);
    let list = |query: &str| folder.ftam(&["ls", &daemon.url(query)]);
    list("?tsel=%23259&ssel=0x0001&psel=\"FTAM\"").well();
    daemon.log();
    list("?tsel=x&ssel=%231&psel=FTAM").failed(4, &["transport", "selectors"]);
    let log = daemon.log();
    assert!(log.contains("refused by transport"), "{log}");
    assert!(log.contains("tsel 0x0103"), "{log}");
    list("?tsel=0x0103&ssel=x&psel=FTAM").failed(4, &["session", "selectors"]);
    list("?tsel=0x0103&ssel=%231&psel=x").failed(4, &["presentation", "selectors"]);
    daemon.stop();
}

#[test]
fn names_lead_nowhere_else() {
    let folder = Folder::new("escape");
    folder.write("secret", b"secret");
    let secret = folder.path("secret");
    std::os::unix::fs::symlink(&secret, folder.path("root/link")).unwrap();
    std::os::unix::fs::symlink("/etc", folder.path("root/etc")).unwrap();
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let absolute = secret.display().to_string();
    for name in ["../secret", "..%2fsecret", "x/../../secret", "link", "etc/passwd", &absolute, "%00", ".kumiki-1"] {
        let got = folder.ftam(&["get", &daemon.url(name), "got"]);
        got.failed(6, &[]);
        let put = folder.ftam(&["put", "secret", &daemon.url(name)]);
        put.failed(6, &[]);
        folder.ftam(&["rm", &daemon.url(name)]).failed(6, &[]);
    }
    folder.write("a", b"x");
    folder.ftam(&["put", "a", &daemon.url("a")]).well();
    let moved = folder.ftam(&["mv", &daemon.url("a"), "../a"]);
    moved.failed(6, &["3027"]);
    assert_eq!(folder.names("."), ["a", "root", "secret"]);
    assert_eq!(folder.read("secret"), b"secret");
    assert_eq!(folder.names("root"), ["a", "etc", "link"]);
    daemon.stop();
}

#[test]
fn quotas_hold_and_leave_nothing_behind() {
    let folder = Folder::new("quota");
    folder.write("root/old", &[0; 600]);
    // What a crash has left is gone before it counts.
    folder.write("root/.kumiki-7-7", &[0; 600]);
    let daemon = Daemon::start(&folder, &["--anonymous", "--quota", "1000B"]);
    assert_eq!(folder.names("root"), ["old"]);
    let put = |size: usize, name: &str| {
        folder.write("a", &vec![1; size]);
        folder.ftam(&["put", "a", &daemon.url(name)])
    };
    put(500, "new").failed(6, &["5029", "quota"]);
    assert_eq!(folder.names("root"), ["old"]);
    // Old and new are both there until the new one is whole.
    put(600, "old").failed(6, &["5029"]);
    assert_eq!(folder.read("root/old"), [0; 600]);
    put(300, "old").well();
    put(500, "new").well();
    put(300, "more").failed(6, &["5029"]);
    folder.ftam(&["rm", &daemon.url("old")]).well();
    put(300, "more").well();
    daemon.stop();
    let daemon = Daemon::start(&folder, &["--anonymous", "--max-file-size", "100B"]);
    folder.write("a", &[1; 101]);
    let long = folder.ftam(&["put", "a", &daemon.url("long")]);
    long.failed(6, &["5029"]);
    daemon.stop();
    let daemon = Daemon::start(&folder, &["--anonymous", "--read-only"]);
    let put = folder.ftam(&["put", "a", &daemon.url("a")]);
    put.failed(6, &["read-only"]);
    folder.ftam(&["get", &daemon.url("new"), "-"]).well();
    assert_eq!(folder.names("root"), ["more", "new"]);
    daemon.stop();
}

#[test]
fn what_cannot_be_reached_is_told_with_its_layer() {
    let folder = Folder::new("unreachable");
    let nobody = kumiki_watchdog::Port::new().unwrap();
    let list = |at: &str| folder.ftam(&["ls", &format!("ftam://{at}/")]);
    let said = ["connection refused", "check host and port"];
    list(&nobody.at().to_string()).failed(3, &said);
    list(&no_host()).failed(3, &["no address is known"]);
    // Somebody who speaks first, and something else.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = other.local_addr().unwrap().to_string();
    let speaker = std::thread::spawn(move || {
        let (mut socket, _) = other.accept().unwrap();
        socket.write_all(b"SSH-2.0-Something\r\n").unwrap();
        let mut all = Vec::new();
        let _ = socket.read_to_end(&mut all);
    });
    list(&at).failed(3, &["does not speak RFC 1006", "SSH-2.0"]);
    speaker.join().unwrap();
    // Somebody who never speaks.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ftam://{}/", silent.local_addr().unwrap());
    let ran = folder.ftam(&["ls", &url, "--timeout", "1s"]);
    ran.failed(3, &["never answered"]);
}

#[test]
fn who_does_not_begin_is_dropped_and_who_are_too_many_are_not_taken() {
    let folder = Folder::new("limits");
    let call = |daemon: &Daemon| {
        kumiki_watchdog::minute();
        TcpStream::connect(&daemon.at).unwrap()
    };
    let mut octets = Vec::new();
    // The first stays as long as this one is looked at, and the next one has as much time as it needs.
    let long = ["--anonymous", "--setup-timeout", "1h", "--max-per-host", "1"];
    let daemon = Daemon::start(&folder, &long);
    let first = call(&daemon);
    call(&daemon).read_to_end(&mut octets).unwrap();
    let log = daemon.log();
    assert!(log.contains("dropped") && log.contains("of this host"), "{log}");
    drop(first);
    daemon.stop();
    let daemon = Daemon::start(&folder, &["--anonymous", "--setup-timeout", "1s"]);
    let _ = call(&daemon).read_to_end(&mut octets);
    let log = daemon.log();
    assert!(log.contains("no association in time"), "{log}");
    daemon.stop();
    // Nothing is told to who says nothing, and little to who says nonsense.
    assert!(octets.is_empty());
    let daemon = Daemon::start(&folder, &["--anonymous", "--setup-timeout", "1h"]);
    let mut third = call(&daemon);
    third.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let _ = third.read_to_end(&mut octets);
    assert!(octets.is_empty());
    let log = daemon.log();
    assert!(log.contains("does not speak RFC 1006"), "{log}");
    daemon.stop();
}

#[test]
fn a_responder_that_only_reads_says_so() {
    let folder = Folder::new("read-only");
    folder.write("root/x", b"x");
    let daemon = Daemon::start(&folder, &["--anonymous", "--read-only"]);
    for arguments in [&["put", "root/x", &daemon.url("new")][..], &["mkdir", &daemon.url("d")]] {
        folder.ftam(arguments).failed(6, &["the responder is read-only", "it may only read"]);
    }
    for arguments in
        [&["put", "root/x", &daemon.url("x")][..], &["rm", &daemon.url("x")], &["mv", &daemon.url("x"), "y"]]
    {
        folder.ftam(arguments).failed(6, &["it can only be read"]);
    }
    assert_eq!(folder.names("root"), ["x"]);
    daemon.stop();
}

#[test]
fn no_time_to_wait_is_refused() {
    let folder = Folder::new("no-time");
    for (program, url) in [("ftam", "ftam://127.0.0.1:1/"), ("mms", "mms://127.0.0.1:1/")] {
        for time in ["0s", "0ms"] {
            let ran = folder.kumiki(&[program, "ls", url, "--timeout", time]);
            ran.failed(2, &["--timeout"]);
        }
    }
}

/// Which is no matter of capabilities, whatever the port.
#[test]
fn where_nobody_can_listen_the_reason_is_told_and_no_other() {
    let folder = Folder::new("refused-listen");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    // Of documentation (RFC 5737): nobody's.
    for (at, said) in [(taken.as_str(), "listens there"), ("192.0.2.1:102", "does not have that address")] {
        let ran = folder.kumiki(&["ftamd", "--root", "root", "--anonymous", "--listen", at]);
        ran.failed(1, &["cannot listen at", at, said]);
        assert!(!ran.err.contains("CAP_NET_BIND_SERVICE"), "{ran:?}");
    }
}

#[test]
fn what_fails_is_told_in_its_order_and_the_root_by_its_name() {
    let folder = Folder::new("refused-order");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let ran = folder.ftam(&["rm", &daemon.url("one"), "two", "three"]);
    ran.failed(6, &["remove one", "remove two", "remove three"]);
    let at = |name: &str| ran.err.find(&format!("remove {name}")).unwrap();
    assert!(at("one") < at("two") && at("two") < at("three"), "{ran:?}");
    folder.ftam(&["rm", &daemon.url("")]).failed(6, &["remove the root: "]);
    daemon.stop();
}
