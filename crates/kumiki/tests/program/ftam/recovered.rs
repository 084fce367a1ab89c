//! Transfers that go on although their connection broke.

use rustix::process::Signal;

use kumiki_watchdog::until;

use super::harness::{Daemon, Folder, ProcessOutput, Running, hollow};
use super::line::{Cut, Line};

/// More than any transfer here moves before it is broken.
const HUGE: u64 = 1 << 34;

/// Some megabytes of which no two parts are alike.
fn contents() -> Vec<u8> {
    long(1_000_000)
}

/// So many words of four bytes.
pub(crate) fn long(words: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let mut all = Vec::new();
    for _ in 0..words {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        all.extend_from_slice(&state.to_be_bytes());
    }
    all
}

/// Less than half of it has crossed twice.
#[track_caller]
pub(crate) fn did_not_begin_again(line: &Line, contents: &[u8]) {
    let (crossed, whole) = (line.crossed(), contents.len() as u64);
    assert!(crossed >= whole && crossed < whole * 3 / 2, "{crossed}");
}

fn unfinished(folder: &Folder) -> bool {
    let is_unfinished = |name: &String| name.starts_with(".kumiki-");
    folder.names("root").iter().any(is_unfinished)
}

#[test]
fn what_is_fetched_goes_on_on_another_connection() {
    let folder = Folder::new("recovered-get");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = contents();
    folder.write("root/x", &contents);
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000), Cut::After(1_500_000)]);
    let ran = folder.ftam(&["get", "--pcap", "tape", &line.url("x"), "b"]);
    let ran = ran.well();
    assert!(folder.read("b") == contents);
    assert_eq!(line.connections(), 3);
    did_not_begin_again(&line, &contents);
    assert_eq!(ran.err.matches("it goes on in 1 s").count(), 2, "{ran:?}");
    let logs = [daemon.log(), daemon.log(), daemon.log()];
    assert!(logs[0].contains("read x (broken at"), "{logs:?}");
    assert!(logs[1].contains("went on with x"), "{logs:?}");
    assert!(logs[2].contains("read x (4000000 octets)"), "{logs:?}");
    // No capture has replaced another one.
    assert_eq!(folder.names("."), ["b", "root", "tape", "tape.2", "tape.3"]);
    // Each octet is on one of them; what was on its way when the connection broke is on none, and came again.
    let taped = ["tape", "tape.2", "tape.3"].map(|tape| folder.read(tape).len());
    assert!(taped.iter().sum::<usize>() > contents.len(), "{taped:?}");
    daemon.stop();
}

#[test]
fn what_is_fetched_to_standard_output_is_there_once() {
    let folder = Folder::new("recovered-out");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = contents();
    folder.write("root/x", &contents);
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000)]);
    let mut get = folder.command(&["ftam", "get", &line.url("x"), "-"]);
    let out = std::fs::File::create(folder.path("b")).unwrap();
    let ran = get.stdout(out).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(folder.read("b") == contents);
    did_not_begin_again(&line, &contents);
    daemon.stop();
}

#[test]
fn what_is_sent_goes_on_on_another_connection() {
    let folder = Folder::new("recovered-put");
    let daemon = Daemon::start(&folder, &["--anonymous", "--quota", "6MB"]);
    let contents = contents();
    folder.write("a", &contents);
    folder.write("root/x", b"old");
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000), Cut::After(1_500_000)]);
    let ran = folder.ftam(&["put", "a", &line.url("x")]).well();
    assert!(folder.read("root/x") == contents);
    assert_eq!(line.connections(), 3);
    did_not_begin_again(&line, &contents);
    assert!(ran.err.contains("x: 4000000 bytes"), "{ran:?}");
    assert_eq!(folder.names("root"), ["x"]);
    // What was kept does not count twice.
    folder.write("more", &[1; 1_900_000]);
    folder.ftam(&["put", "more", &daemon.url("y")]).well();
    daemon.stop();
}

#[test]
fn what_the_responder_takes_for_alive_is_given_up_for_who_comes_back() {
    let folder = Folder::new("recovered-silent");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = contents();
    folder.write("a", &contents);
    folder.write("root/x", &contents);
    for arguments in [["put", "a", "y"], ["get", "x", "b"]] {
        let line = Line::new(&daemon.at, &[Cut::Silently(1_500_000)]);
        let [command, one, other] = arguments;
        let url = line.url(if command == "put" { other } else { one });
        if command == "put" {
            folder.ftam(&[command, one, &url]).well();
        } else {
            folder.ftam(&[command, &url, other]).well();
        }
        assert_eq!(line.connections(), 2);
        did_not_begin_again(&line, &contents);
        let logs = [daemon.log(), daemon.log()].concat();
        assert!(logs.contains("recovered on another association"), "{logs}");
    }
    assert!(folder.read("root/y") == contents);
    assert!(folder.read("b") == contents);
    daemon.stop();
}

#[test]
fn without_another_connection_what_breaks_has_failed() {
    let folder = Folder::new("recovered-not");
    let contents = contents();
    folder.write("root/x", &contents);
    folder.write("a", &contents);
    let daemon = Daemon::start(&folder, &["--anonymous", "--keep", "0"]);
    // What may have been added already is not added once more.
    for arguments in
        [&["get", "--retries=0", "x", "b"][..], &["put", "--mode=append", "a", "y"], &["put", "--mode=new", "a", "z"]]
    {
        let line = Line::new(&daemon.at, &[Cut::After(1_500_000)]);
        let url = line.url(if arguments[0] == "get" { "x" } else { arguments[3] });
        let mut all = arguments.to_vec();
        all[if arguments[0] == "get" { 2 } else { 3 }] = &url;
        folder.ftam(&all).failed(3, &["try again"]);
        assert_eq!(line.connections(), 1);
    }
    daemon.stop();
    assert_eq!(folder.names("."), ["a", "root"]);
}

/// As peers of the age of ISODE, which leave recovery away.
#[test]
fn without_recovery_what_breaks_is_begun_again_by_itself() {
    let folder = Folder::new("recovered-again");
    let contents = contents();
    folder.write("root/x", &contents);
    folder.write("a", &contents);
    for (keep, option) in [("0", "--retries=2"), ("10min", "--no-recovery")] {
        let daemon = Daemon::start(&folder, &["--anonymous", "--keep", keep]);
        for command in ["get", "put"] {
            let cuts = [Cut::After(1_500_000), Cut::After(1_200_000)];
            let line = Line::new(&daemon.at, &cuts);
            let ran = if command == "get" {
                folder.ftam(&["get", option, "--resume", &line.url("x"), "b"])
            } else {
                folder.ftam(&["put", option, "a", &line.url("y")])
            };
            let ran = ran.well();
            assert!(ran.err.contains("the responder has no recovery"), "{ran:?}");
            assert!(ran.err.contains("it starts over"), "{ran:?}");
            assert_eq!(line.connections(), 3);
        }
        assert!(folder.read("b") == contents);
        assert!(folder.read("root/y") == contents);
        std::fs::remove_file(folder.path("b")).unwrap();
        daemon.stop();
    }
    assert_eq!(folder.names("."), ["a", "root"]);
}

#[test]
fn a_responder_that_is_gone_is_tried_as_often_as_was_said() {
    let folder = Folder::new("recovered-gone");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = contents();
    folder.write("root/x", &contents);
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000), Cut::After(0), Cut::After(0)]);
    let ran = folder.ftam(&["get", "--retries", "2", &line.url("x"), "b"]);
    ran.failed(3, &["it goes on in 1 s", "it goes on in 2 s"]);
    assert_eq!(line.connections(), 3);
    // Ctrl-C ends the wait.
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000), Cut::After(0), Cut::After(0)]);
    let getting = folder.command(&["ftam", "get", &line.url("x"), "b"]);
    let getting = Running::start(getting);
    until(|| line.connections() == 3);
    getting.signal(Signal::INT);
    getting.end().failed(130, &["given up"]);
    assert_eq!(folder.names("."), ["root"]);
    daemon.stop();
}

#[test]
fn what_nobody_comes_back_for_is_given_up_after_its_time() {
    let folder = Folder::new("recovered-aged");
    hollow(&folder.path("huge"), HUGE);
    folder.write("a", b"another");
    folder.write("root/x", b"old");
    folder.write("password", b"any");
    let breaks = |daemon: &Daemon, name: &str| {
        let putting = folder.command(&["ftam", "put", "huge", &daemon.url(name)]);
        let putting = Running::start(putting);
        until(|| unfinished(&folder));
        putting.signal(Signal::KILL);
        putting.end();
        let log = daemon.log();
        assert!(log.contains("kept"), "{log}");
    };
    let by_eve = |daemon: &Daemon, name: &str| {
        let other = format!("ftam://eve@{}/{name}", daemon.at);
        folder.ftam(&["put", "--password-file", "password", "a", &other])
    };
    // The one keeps what broke for as long as anybody looks, the other one for no longer than it takes to see that it
    // goes.
    for (keep, name) in [("1h", "x"), ("1h", "new"), ("1s", "x"), ("1s", "new")] {
        let daemon = Daemon::start(&folder, &["--anonymous", "--keep", keep]);
        breaks(&daemon, name);
        if keep == "1h" {
            // Somebody else does not get past its lock meanwhile.
            assert!(unfinished(&folder));
            by_eve(&daemon, name).failed(6, &["3012"]);
            let log = daemon.log();
            assert!(log.contains("eve"), "{log}");
        } else {
            until(|| folder.names("root") == ["x"]);
            assert_eq!(folder.read("root/x"), b"old");
        }
        daemon.stop();
        assert_eq!(folder.names("root"), ["x"]);
    }
    // Nor is anybody kept from it any more.
    let daemon = Daemon::start(&folder, &["--anonymous", "--keep", "1s"]);
    breaks(&daemon, "x");
    until(|| folder.names("root") == ["x"]);
    by_eve(&daemon, "x").well();
    assert_eq!(folder.read("root/x"), b"another");
    daemon.stop();
}

#[test]
fn what_is_kept_goes_with_the_responder() {
    let folder = Folder::new("recovered-stopped");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("a", &contents());
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000), Cut::After(0)]);
    let ran = folder.ftam(&["put", "--retries", "1", "a", &line.url("y")]);
    ran.failed(3, &[]);
    assert!(unfinished(&folder));
    daemon.stop();
    assert_eq!(folder.names("root"), [""; 0]);
}

/// Two responders to one directory, and a line that leads to the first until a transfer breaks, and to the other then.
/// `x` is the last of the words.
fn moved(folder: &Folder, words: &[&str], target: Option<&str>, meanwhile: impl Fn()) -> ProcessOutput {
    let daemon = Daemon::start(folder, &["--anonymous"]);
    let other = Daemon::start(folder, &["--anonymous"]);
    let line = Line::new(&daemon.at, &[Cut::Stalled(1_500_000)]);
    let url = line.url("x");
    let mut all = vec!["ftam"];
    all.extend(words);
    all.push(&url);
    all.extend(target);
    let running = Running::start(folder.command(&all));
    until(|| line.crossed() > 1_500_000);
    line.lead(&other.at);
    meanwhile();
    line.release();
    let ran = running.end();
    let logs = [daemon.log(), other.log()];
    assert!(logs[0].contains("kept"), "{logs:?}");
    assert!(logs[1].ends_with("ended in order"), "{logs:?}");
    assert_eq!(line.connections(), 2);
    daemon.stop();
    other.stop();
    ran
}

/// It has started over once, and says why.
#[track_caller]
fn began_again(ran: &ProcessOutput) {
    let said = |line: &&str| line.contains(" x: FTAM: 6004 ") && line.ends_with("it starts over");
    assert_eq!(ran.err.lines().filter(said).count(), 1, "{ran:?}");
}

#[test]
fn what_a_responder_has_forgotten_is_sent_again_on_the_connection_that_stands() {
    let folder = Folder::new("recovered-forgotten");
    let contents = contents();
    folder.write("a", &contents);
    // One that was made for what broke would go with the responder that has made it.
    folder.write("root/x", b"old");
    let put = ["put", "--retries=1", "a"];
    let ran = moved(&folder, &put, None, || {}).well();
    began_again(&ran);
    assert!(folder.read("root/x") == contents);
    assert!(ran.err.contains("x: 4000000 bytes"), "{ran:?}");
}

#[test]
fn what_a_responder_has_forgotten_is_fetched_again_and_is_one_file() {
    let folder = Folder::new("recovered-forgotten-get");
    let contents = contents();
    folder.write("root/x", &contents);
    let other: Vec<u8> = contents.iter().map(|octet| octet ^ 0x55).collect();
    let get = ["get", "--retries=1"];
    let changes = || folder.write("root/x", &other);
    let ran = moved(&folder, &get, Some("b"), changes).well();
    began_again(&ran);
    assert!(folder.read("b") == other);
}

#[test]
fn what_is_fetched_again_is_as_long_as_it_is_by_then() {
    let contents = contents();
    for len in [0, 3, 100_000] {
        let folder = Folder::new(&format!("recovered-shorter-{len}"));
        folder.write("root/x", &contents);
        let other = &contents[..len];
        let get = ["get", "--retries=1"];
        let ran = moved(&folder, &get, Some("b"), || folder.write("root/x", other)).well();
        began_again(&ran);
        assert_eq!(folder.read("b").len(), len);
        assert!(folder.read("b") == other);
    }
}

#[test]
fn what_is_to_be_added_or_made_is_not_begun_again() {
    let contents = contents();
    for mode in ["append", "new"] {
        let folder = Folder::new(&format!("recovered-once-{mode}"));
        folder.write("a", &contents);
        if mode == "append" {
            folder.write("root/x", b"old");
        }
        let put = ["put", "--retries=1", "--mode", mode, "a"];
        let ran = moved(&folder, &put, None, || {});
        assert!(!ran.err.contains("it starts over"), "{ran:?}");
        ran.failed(6, &["6004"]);
    }
}

#[test]
fn an_earlier_run_of_another_file_leaves_nothing_in_what_is_begun_again() {
    let folder = Folder::new("recovered-resume-again");
    let contents = long(3_000_000);
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("root/x", &contents);
    let line = Line::new(&daemon.at, &[Cut::After(10_000_000)]);
    let get = ["get", "--resume", "--retries=0"];
    let ran = folder.ftam(&[&get[..], &[&line.url("x"), "b"]].concat());
    ran.failed(3, &[]);
    daemon.stop();
    let shorter = &contents[..5_000_000];
    folder.write("root/x", shorter);
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    line.lead(&daemon.at);
    let ran = folder.ftam(&[&get[..], &[&line.url("x"), "b"]].concat());
    let ran = ran.well();
    began_again(&ran);
    assert!(folder.read("b") == shorter);
    daemon.stop();
}

#[test]
fn what_is_written_to_a_pipe_already_is_compared_where_it_comes_again() {
    let folder = Folder::new("recovered-forgotten-out");
    let contents: Vec<u8> = contents().iter().map(|octet| octet % 100).collect();
    let mut other = contents.clone();
    other[1_000] ^= 1;
    folder.write("root/x", &contents);
    let ran = moved(&folder, &["get"], Some("-"), || {}).well();
    began_again(&ran);
    // The harness puts an end of a line behind the last one.
    assert!(ran.out.trim_end().as_bytes() == String::from_utf8_lossy(&contents).trim_end().as_bytes());
    let changes = || folder.write("root/x", &other);
    let ran = moved(&folder, &["get"], Some("-"), changes);
    ran.failed(1, &["starts over", "has changed", "are written already"]);
}
