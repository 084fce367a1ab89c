//! Transfers with which another run of the program goes on.

use rustix::process::Signal;

use kumiki_watchdog::until;

use super::harness::{Daemon, Folder, Running, hollow};
use super::line::{Cut, Line};
use super::recovered::{did_not_begin_again, long};

/// Words of the file, of four bytes each.
const WORDS: u32 = 10_000_000;

/// Half of it has crossed, and nothing more does.
const HALF: Cut = Cut::Stalled(20_000_000);

/// How far the transfer is by its note.
fn noted(folder: &Folder, note: &str) -> u64 {
    let note = std::fs::read_to_string(folder.path(note)).unwrap_or_default();
    let offset = note.split(' ').nth(2);
    offset.map_or(0, |offset| offset.parse().unwrap())
}

/// Runs it until a good part is noted, and kills it.
fn kill(folder: &Folder, line: &Line, arguments: &[&str], note: &str) {
    let mut all = vec!["ftam"];
    all.extend(arguments);
    let running = Running::start(folder.command(&all));
    until(|| noted(folder, note) > 8_000_000);
    running.signal(Signal::KILL);
    line.release();
    running.end();
}

#[test]
fn another_run_fetches_the_rest_by_recovery() {
    let folder = Folder::new("resumed-get");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = long(WORDS);
    folder.write("root/x", &contents);
    let line = Line::new(&daemon.at, &[HALF]);
    let url = line.url("x");
    let get = ["get", "--resume", &url, "b"];
    kill(&folder, &line, &get, "b.part.of");
    let log = daemon.log();
    assert!(log.contains("kept"), "{log}");
    let ran = folder.ftam(&get).well();
    assert!(ran.err.contains("of them were there"), "{ran:?}");
    assert!(folder.read("b") == contents);
    did_not_begin_again(&line, &contents);
    let log = daemon.log();
    assert!(log.contains("went on with x"), "{log}");
    assert_eq!(folder.names("."), ["b", "root"]);
    daemon.stop();
}

#[test]
fn another_run_sends_the_rest_by_recovery() {
    let folder = Folder::new("resumed-put");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = long(WORDS);
    folder.write("a", &contents);
    let line = Line::new(&daemon.at, &[HALF]);
    let url = line.url("x");
    let put = ["put", "--resume", "a", &url];
    kill(&folder, &line, &put, ".a.kumiki-put");
    let log = daemon.log();
    assert!(log.contains("kept"), "{log}");
    let ran = folder.ftam(&put).well();
    assert!(ran.err.contains("x: 40000000 bytes, ") && ran.err.contains(" of them were there"), "{ran:?}");
    assert!(folder.read("root/x") == contents);
    did_not_begin_again(&line, &contents);
    let log = daemon.log();
    assert!(log.contains("went on with x"), "{log}");
    assert_eq!(folder.names("."), ["a", "root"]);
    assert_eq!(folder.names("root"), ["x"]);
    // A file that has changed since is another one: it is sent from its beginning.
    let line = Line::new(&daemon.at, &[HALF]);
    let url = line.url("x");
    let put = ["put", "--resume", "a", &url];
    kill(&folder, &line, &put, ".a.kumiki-put");
    daemon.log();
    folder.write("a", b"another");
    folder.ftam(&put).well();
    assert_eq!(folder.read("root/x"), b"another");
    assert_eq!(folder.names("."), ["a", "root"]);
    daemon.stop();
}

#[test]
fn another_run_goes_on_with_what_was_given_up() {
    let folder = Folder::new("resumed-given-up");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    hollow(&folder.path("root/x"), 1 << 34);
    hollow(&folder.path("huge"), 1 << 34);
    let (x, y) = (daemon.url("x"), daemon.url("y"));
    let get = ["get", "--resume", &x, "b"];
    let put = ["put", "--resume", "huge", &y];
    for (words, note) in [(get, "b.part.of"), (put, ".huge.kumiki-put")] {
        for run in 0..2 {
            let before = noted(&folder, note);
            let running = Running::start(folder.command(&[&["ftam"], &words[..]].concat()));
            until(|| noted(&folder, note) > before);
            running.signal(Signal::INT);
            running.end().failed(130, &["given up"]);
            let log = daemon.log();
            assert!(log.contains("kept"), "{log}");
            assert_eq!(log.contains("went on with"), run > 0, "{log}");
        }
    }
    daemon.stop();
    assert_eq!(folder.names("root"), ["x"]);
}

#[test]
fn no_mixture_comes_of_a_file_that_was_written_to_meanwhile() {
    let folder = Folder::new("resumed-changed");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let mut contents = long(WORDS);
    folder.write("root/x", &contents);
    let line = Line::new(&daemon.at, &[HALF]);
    let url = line.url("x");
    let get = ["get", "--resume", &url, "b"];
    kill(&folder, &line, &get, "b.part.of");
    daemon.log();
    // In its place, and as long as it was.
    for octet in &mut contents {
        *octet ^= 0x55;
    }
    folder.write("root/x", &contents);
    folder.ftam(&get).well();
    assert!(folder.read("b") == contents);
    let log = daemon.log();
    assert!(!log.contains("went on"), "{log}");
    assert_eq!(folder.names("."), ["b", "root"]);
    daemon.stop();
}

#[test]
fn where_the_responder_keeps_nothing_what_comes_again_is_compared() {
    let folder = Folder::new("resumed-forgotten");
    let daemon = Daemon::start(&folder, &["--anonymous", "--keep", "0"]);
    let contents = long(1_000_000);
    folder.write("root/x", &contents);
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000)]);
    let url = line.url("x");
    let get = ["get", "--resume", "--retries", "0", &url, "b"];
    folder.ftam(&get).failed(3, &[]);
    assert_eq!(folder.names("."), ["b.part", "b.part.of", "root"]);
    let ran = folder.ftam(&get).well();
    assert!(ran.err.contains("of them were there, and came once more"), "{ran:?}");
    assert!(folder.read("b") == contents);
    // It has all crossed once more.
    assert!(line.crossed() > 5_000_000, "{}", line.crossed());
    daemon.stop();
}

#[test]
fn a_responder_that_was_started_again_has_forgotten() {
    let folder = Folder::new("resumed-again");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = long(WORDS);
    folder.write("a", &contents);
    let line = Line::new(&daemon.at, &[HALF]);
    let url = line.url("x");
    let put = ["put", "--resume", "a", &url];
    kill(&folder, &line, &put, ".a.kumiki-put");
    daemon.log();
    daemon.stop();
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    line.lead(&daemon.at);
    folder.ftam(&put).well();
    assert!(folder.read("root/x") == contents);
    assert_eq!(folder.names("."), ["a", "root"]);
    daemon.stop();
}

/// Whether it was added nobody knows: the responder has nothing of it any more, as where it has added it.
#[test]
fn what_is_added_is_not_added_twice_by_another_run() {
    let folder = Folder::new("resumed-append");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = long(WORDS);
    folder.write("a", &contents);
    folder.write("root/x", b"old");
    let line = Line::new(&daemon.at, &[HALF]);
    let url = line.url("x");
    let put = ["put", "--mode", "append", "--resume", "a", &url];
    kill(&folder, &line, &put, ".a.kumiki-put");
    daemon.log();
    // While the responder has it, it goes on.
    folder.ftam(&put).well();
    assert_eq!(folder.path("root/x").metadata().unwrap().len(), contents.len() as u64 + 3);
    assert_eq!(folder.names("."), ["a", "root"]);
    daemon.log();
    // Before any checkpoint too.
    for note in ["1 0 0", "1 4 2097152"] {
        let line = Line::new(&daemon.at, &[Cut::Stalled(100_000)]);
        let url = line.url("x");
        let put = ["put", "--mode", "append", "--resume", "a", &url];
        let running = Running::start(folder.command(&[&["ftam"], &put[..]].concat()));
        until(|| folder.path(".a.kumiki-put").exists());
        running.signal(Signal::KILL);
        line.release();
        running.end();
        daemon.log();
        let text = std::fs::read_to_string(folder.path(".a.kumiki-put")).unwrap();
        let of = text.splitn(4, ' ').nth(3).unwrap();
        folder.write(".a.kumiki-put", format!("{note} {of}").as_bytes());
        let ran = folder.ftam(&put);
        ran.failed(6, &["6004", "may have been added", ".a.kumiki-put"]);
        assert!(!ran.err.contains("starts over"), "{ran:?}");
        folder.ftam(&put).failed(6, &[]);
        assert_eq!(folder.path("root/x").metadata().unwrap().len(), contents.len() as u64 + 3);
        // Who has looked says so.
        std::fs::remove_file(folder.path(".a.kumiki-put")).unwrap();
        while !daemon.log().contains("6004") {}
        daemon.log();
    }
    daemon.stop();
}

#[test]
fn where_no_note_can_be_kept_nothing_is_sent() {
    let folder = Folder::new("resumed-unnoted");
    // A directory of its name is in the way, also for who may write everywhere.
    std::fs::create_dir_all(folder.path(".a.kumiki-put.new/x")).unwrap();
    folder.write("a", b"any");
    folder.ftam(&["put", "--resume", "a", "ftam://127.0.0.1:9/x"]).failed(1, &[".a.kumiki-put", "cannot be written"]);
}
