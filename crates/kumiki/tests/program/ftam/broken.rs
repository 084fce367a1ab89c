//! What breaks in the middle.

use rustix::process::Signal;

use kumiki_watchdog::until;

use super::harness::{Daemon, Folder, Running, hollow};

/// More than any transfer here moves before it is broken.
const HUGE: u64 = 1 << 34;

/// Whether something has come of a file that is fetched and not kept where it breaks.
fn has_begun(folder: &Folder) -> bool {
    let part = folder.path(".kumiki-get-1").metadata();
    part.is_ok_and(|it| it.len() > 0)
}

#[test]
fn a_broken_transfer_leaves_the_old_file_at_the_responder() {
    let folder = Folder::new("broken-put");
    let daemon = Daemon::start(&folder, &["--anonymous", "--keep", "0"]);
    folder.write("root/x", b"old");
    hollow(&folder.path("huge"), HUGE);
    for name in ["x", "new"] {
        let putting = folder.command(&["ftam", "put", "huge", &daemon.url(name)]);
        let putting = Running::start(putting);
        let is_unfinished = |name: &String| name.starts_with(".kumiki-");
        until(|| folder.names("root").iter().any(is_unfinished));
        putting.signal(Signal::KILL);
        putting.end();
        let log = daemon.log();
        assert!(log.contains("broken"), "{log}");
        assert_eq!(folder.names("root"), ["x"], "{log}");
        assert_eq!(folder.read("root/x"), b"old");
    }
    daemon.stop();
}

#[test]
fn giving_up_cancels_the_transfer_and_leaves_nothing() {
    let folder = Folder::new("given-up");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    hollow(&folder.path("root/x"), HUGE);
    folder.write("b", b"old");
    let getting = folder.command(&["ftam", "get", &daemon.url("x"), "b"]);
    let getting = Running::start(getting);
    until(|| has_begun(&folder));
    getting.signal(Signal::INT);
    getting.end().failed(130, &["given up"]);
    assert_eq!(folder.names("."), ["b", "root"]);
    assert_eq!(folder.read("b"), b"old");
    let log = daemon.log();
    assert!(log.ends_with("ended in order"), "{log}");
    daemon.stop();
}

#[test]
fn giving_up_what_is_sent_leaves_the_old_file_there() {
    let folder = Folder::new("given-up-put");
    let daemon = Daemon::start(&folder, &["--anonymous", "--once"]);
    folder.write("root/x", b"old");
    hollow(&folder.path("huge"), HUGE);
    let putting = folder.command(&["ftam", "put", "huge", &daemon.url("x")]);
    let putting = Running::start(putting);
    let is_unfinished = |name: &String| name.starts_with(".kumiki-");
    until(|| folder.names("root").iter().any(is_unfinished));
    putting.signal(Signal::INT);
    putting.end().failed(130, &["given up"]);
    let log = daemon.log();
    assert!(log.ends_with("ended in order"), "{log}");
    // Once was enough.
    daemon.running.end().well();
    assert_eq!(folder.names("root"), ["x"]);
    assert_eq!(folder.read("root/x"), b"old");
}

#[test]
fn nobody_sees_a_new_file_before_it_is_whole() {
    let folder = Folder::new("unseen");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    hollow(&folder.path("huge"), HUGE);
    let putting = folder.command(&["ftam", "put", "huge", &daemon.url("x")]);
    let putting = Running::start(putting);
    let is_unfinished = |name: &String| name.starts_with(".kumiki-");
    until(|| folder.names("root").iter().any(is_unfinished));
    let listed = folder.ftam(&["ls", &daemon.url("")]).well();
    assert_eq!(listed.out, "");
    folder.ftam(&["get", &daemon.url("x"), "b"]).failed(6, &["3012"]);
    folder.ftam(&["stat", &daemon.url("x")]).failed(6, &["3012"]);
    daemon.running.signal(Signal::KILL);
    daemon.running.end();
    putting.signal(Signal::INT);
    putting.end();
    assert!(folder.names("root").contains(&"x".to_owned()));
    // The next start knows what the other one has left.
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    assert_eq!(folder.names("root"), [""; 0]);
    folder.write("a", b"");
    folder.ftam(&["put", "a", &daemon.url("y")]).well();
    daemon.stop();
    Daemon::start(&folder, &["--anonymous"]).stop();
    assert_eq!(folder.names("root"), ["y"]);
}

#[test]
fn what_has_come_is_kept_where_it_is_to_be_resumed() {
    let folder = Folder::new("resumed");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    hollow(&folder.path("root/x"), HUGE);
    let get = ["ftam", "get", "--resume", &daemon.url("x"), "b"];
    let getting = Running::start(folder.command(&get));
    let size = || folder.path("b.part").metadata().map_or(0, |it| it.len());
    until(|| size() > 100_000);
    getting.signal(Signal::INT);
    let ran = getting.end();
    let there = size();
    let kept = format!("{there} bytes are kept in b.part, and --resume goes on with them");
    ran.failed(130, &["given up", &kept]);
    // Whether there is a note beside it depends on how far it came.
    let mut names = folder.names(".");
    names.retain(|name| name != "b.part.of");
    assert_eq!(names, ["b.part", "root"]);
    // It has changed there: it has an end now, and what is here is part of it.
    let whole = there + 1000;
    hollow(&folder.path("root/x"), whole);
    let ran = folder.kumiki(&get).well();
    assert!(ran.err.contains(&format!("{there} of them were there")), "{ran:?}");
    assert_eq!(folder.read("b"), folder.read("root/x"));
    // Where another file has the name by now, no mixture comes of it.
    folder.write("c.part", &[0; 5000]);
    folder.write("root/y", &[vec![0; 3000], vec![1; 1500]].concat());
    let get = ["get", "--resume", &daemon.url("y"), "c"];
    // It is anybody's, until its note says that it is not.
    folder.ftam(&get).failed(1, &["c.part: this is there"]);
    assert_eq!(folder.read("c.part"), [0; 5000]);
    folder.write("c.part.of", format!("? {}\n", daemon.url("z")).as_bytes());
    folder.ftam(&get).well();
    assert_eq!(folder.read("c"), folder.read("root/y"));
    daemon.stop();
}

#[test]
fn a_responder_that_ends_aborts_its_associations() {
    let folder = Folder::new("stopped");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    hollow(&folder.path("root/x"), HUGE);
    let getting = folder.command(&["ftam", "get", "--retries", "0", &daemon.url("x"), "b"]);
    let getting = Running::start(getting);
    until(|| has_begun(&folder));
    daemon.running.signal(Signal::INT);
    // What the caller was told is what it tells.
    let ran = getting.end();
    ran.failed(7, &["going down"]);
    let log = daemon.log();
    assert!(log.contains("aborted from here"), "{log}");
    daemon.running.end().well();
    assert_eq!(folder.names("."), ["root"]);
}

#[test]
fn a_responder_that_is_started_again_costs_its_callers_no_more_than_time() {
    let folder = Folder::new("restarted");
    let mut daemon = Daemon::start(&folder, &["--anonymous"]);
    let at = daemon.at.clone();
    let listen = ["ftamd", "--root", "root", "--anonymous", "--listen", &at];
    for command in [["get", "x", "b"], ["put", "huge", "y"]] {
        let [verb, from, to] = command;
        hollow(&folder.path("root/x"), HUGE);
        hollow(&folder.path("huge"), HUGE);
        let (from, to) =
            if verb == "get" { (daemon.url(from), to.to_owned()) } else { (from.to_owned(), daemon.url(to)) };
        let moving = Running::start(folder.command(&["ftam", verb, &from, &to]));
        let is_unfinished = |name: &String| name.starts_with(".kumiki-");
        until(|| has_begun(&folder) || folder.names("root").iter().any(is_unfinished));
        daemon.running.signal(Signal::TERM);
        let Daemon { running, .. } = daemon;
        running.end().well();
        // What is left of it is moved soon.
        hollow(&folder.path("root/x"), 1000);
        hollow(&folder.path("huge"), 1000);
        let running = Running::start(folder.command(&listen));
        running.line();
        daemon = Daemon { running, at: at.clone() };
        let ran = moving.end();
        assert!(ran.err.contains("going down") && ran.err.contains("it goes on in 1 s"), "{ran:?}");
        let ran = ran.well();
        assert!(ran.err.contains("it starts over"), "{ran:?}");
    }
    daemon.stop();
}
