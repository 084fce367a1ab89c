//! What is new is fetched, once, and nothing that is here is lost.

use kumiki_watchdog::until;

use super::harness::{Daemon, Folder, ProcessOutput, Running};
use super::line::{Cut, Line};
use super::recovered::{did_not_begin_again, long};

struct Collector<'a> {
    folder: &'a Folder,
    url: String,
}

impl Collector<'_> {
    /// Takes files as they are.
    fn run(&self, more: &[&str]) -> ProcessOutput {
        let mut all = vec!["--closed", "any"];
        all.extend(more);
        self.poll(&all)
    }

    fn poll(&self, more: &[&str]) -> ProcessOutput {
        let mut all = vec!["collect", &self.url, "--into", "in"];
        all.extend(more);
        self.folder.ftam(&all)
    }
}

/// Files of a collection, without its state.
fn here(folder: &Folder) -> Vec<String> {
    let mut names = folder.names("in");
    names.retain(|name| !name.starts_with(".kumiki-collect"));
    names
}

/// Makes a file with this date, in seconds since 1970.
fn dated(folder: &Folder, name: &str, contents: &[u8], seconds: u64) {
    folder.write(name, contents);
    let file = std::fs::File::options().write(true).open(folder.path(name)).unwrap();
    let date = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    file.set_modified(date).unwrap();
}

#[test]
fn what_is_new_is_fetched_once() {
    let folder = Folder::new("collect");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    std::fs::create_dir(folder.path("root/cdr")).unwrap();
    let collector = Collector { folder: &folder, url: daemon.url("cdr") };
    collector.run(&[]).failed(10, &["nothing is new"]);
    for number in [1, 2, 5] {
        let name = format!("root/cdr/TT{number:04}");
        dated(&folder, &name, name.as_bytes(), 1_000_000_000);
    }
    let dry = collector.run(&["--dry-run"]);
    dry.failed(12, &["new TT0005"]);
    assert!(here(&folder).is_empty());
    let first = collector.run(&[]);
    first.failed(12, &["missing TT0003 to TT0004", "3 fetched"]);
    assert_eq!(here(&folder), ["TT0001", "TT0002", "TT0005"]);
    assert_eq!(folder.read("in/TT0002"), b"root/cdr/TT0002");
    collector.run(&[]).failed(10, &["nothing is new"]);
    // A name that is used again is a new file, and the old one stays.
    dated(&folder, "root/cdr/TT0001", b"again", 1_000_000_000);
    dated(&folder, "root/cdr/TT0002", b"ROOT/CDR/TT0002", 1_000_000_001);
    let json = collector.run(&["--json"]).well().out;
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["local"], "TT0001.2");
    let all = ["TT0001", "TT0001.2", "TT0002", "TT0002.2", "TT0005"];
    assert_eq!(here(&folder), all);
    assert_eq!(folder.read("in/TT0001"), b"root/cdr/TT0001");
    assert_eq!(folder.read("in/TT0001.2"), b"again");
    // What a crash has left without its entry in the state is known by its checksum.
    std::fs::remove_file(folder.path("in/.kumiki-collect.jsonl")).unwrap();
    std::fs::remove_file(folder.path("root/cdr/TT0001")).unwrap();
    std::fs::remove_file(folder.path("root/cdr/TT0002")).unwrap();
    let again = collector.run(&[]);
    again.failed(10, &["unchanged TT0005"]);
    assert_eq!(here(&folder), all);
    daemon.stop();
}

#[test]
fn what_is_here_may_be_deleted_there() {
    let folder = Folder::new("collect-delete");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    for name in ["a1", "a2", "b1"] {
        folder.write(&format!("root/{name}"), name.as_bytes());
    }
    let collector = Collector { folder: &folder, url: daemon.url("") };
    let ran = collector.run(&["--delete", "--prefix", "a"]).well();
    assert!(ran.err.contains("deleted a1"), "{ran:?}");
    assert_eq!(here(&folder), ["a1", "a2"]);
    assert_eq!(folder.names("root"), ["b1"]);
    // What was deleted is no gap, and a list of names needs no directory.
    let ran = collector.run(&["--name", "b1", "--name", "b2"]);
    ran.failed(11, &["1 fetched and 1 failed", "b2", "3004"]);
    let ran = collector.run(&["--name", "b2"]);
    ran.failed(6, &["nothing was fetched", "3004"]);
    let other = folder.ftam(&["collect", &daemon.url("other"), "--into", "in"]);
    other.failed(1, &["--state"]);
    daemon.stop();
}

#[test]
fn what_an_earlier_run_has_fetched_may_be_deleted_too() {
    let folder = Folder::new("collect-delete-later");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    for name in ["root/a", "root/b"] {
        dated(&folder, name, b"x", 1_000_000_000);
    }
    let collector = Collector { folder: &folder, url: daemon.url("") };
    collector.run(&["--prefix", "a"]).well();
    // What was fetched may have been taken away since.
    std::fs::remove_file(folder.path("in/a")).unwrap();
    let dry = collector.run(&["--delete", "--dry-run"]).well();
    assert!(!dry.err.contains("deleted"), "{dry:?}");
    let ran = collector.run(&["--delete", "--prefix", "a"]).well();
    assert!(ran.err.contains("deleted a"), "{ran:?}");
    assert!(here(&folder).is_empty());
    assert_eq!(folder.names("root"), ["b"]);
    let last = collector.run(&["--delete", "--prefix", "a"]);
    last.failed(10, &["nothing is new"]);
    daemon.stop();
}

#[test]
fn what_has_changed_since_it_was_fetched_is_not_deleted_there() {
    let folder = Folder::new("collect-changed");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = long(1_000_000);
    dated(&folder, "root/m", &contents, 1_000_000_000);
    let line = Line::new(&daemon.at, &[Cut::Held(1_500_000)]);
    let url = line.url("");
    let collect = ["ftam", "collect", &url, "--into", "in", "--delete", "--closed", "any"];
    let collecting = Running::start(folder.command(&collect));
    until(|| line.crossed() > 1_500_000);
    // While it is fetched there is a longer one.
    let longer = long(1_000_001);
    folder.write("root/new", &longer);
    std::fs::rename(folder.path("root/new"), folder.path("root/m")).unwrap();
    line.release();
    let ran = collecting.end().well();
    assert!(ran.err.contains("kept m, why it has changed"), "{ran:?}");
    assert!(folder.read("in/m") == contents);
    assert!(folder.read("root/m") == longer);
    let ran = folder.kumiki(&collect).well();
    assert!(ran.err.contains("deleted m"), "{ran:?}");
    assert!(folder.read("in/m.2") == longer);
    assert_eq!(folder.names("root"), [""; 0]);
    daemon.stop();
}

#[test]
fn a_file_that_was_interrupted_is_gone_on_with_by_the_next_run() {
    let folder = Folder::new("collect-goes-on");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = long(1_000_000);
    dated(&folder, "root/m", &contents, 1_000_000_000);
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000)]);
    let collector = Collector { folder: &folder, url: line.url("") };
    collector.run(&["--retries", "0"]).failed(3, &[]);
    assert!(here(&folder).is_empty());
    // What is new meanwhile does not take its place.
    folder.write("root/a", b"a");
    let ran = collector.run(&[]).well();
    assert!(ran.err.contains("resumed"), "{ran:?}");
    assert_eq!(line.connections(), 2);
    did_not_begin_again(&line, &contents);
    assert!(folder.read("in/m") == contents);
    assert_eq!(here(&folder), ["a", "m"]);
    let state = [".kumiki-collect.jsonl", ".kumiki-collect.jsonl.lock", "a", "m"];
    assert_eq!(folder.names("in"), state);
    daemon.stop();
}

#[test]
fn a_file_that_has_changed_since_it_was_interrupted_is_fetched_again() {
    let folder = Folder::new("collect-changed");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let mut contents = long(1_000_000);
    dated(&folder, "root/m", &contents, 1_000_000_000);
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000)]);
    let collector = Collector { folder: &folder, url: line.url("") };
    collector.run(&["--retries", "0"]).failed(3, &[]);
    assert_eq!(folder.names("in").len(), 3, "a lock, a part and its note");
    contents[7] ^= 1;
    // Another file of its name: what is kept is still of the old one.
    folder.write("root/new", &contents);
    std::fs::rename(folder.path("root/new"), folder.path("root/m")).unwrap();
    dated(&folder, "root/m", &contents, 1_000_000_001);
    let ran = collector.run(&[]).well();
    assert!(!ran.err.contains("resumed"), "{ran:?}");
    assert!(folder.read("in/m") == contents);
    collector.run(&[]).failed(10, &[]);
    // Nor does a part stay of a file that is not there any more.
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000)]);
    let collector = Collector { folder: &folder, url: line.url("") };
    std::fs::remove_dir_all(folder.path("in")).unwrap();
    collector.run(&["--retries", "0"]).failed(3, &[]);
    std::fs::remove_file(folder.path("root/m")).unwrap();
    collector.run(&[]).failed(10, &[]);
    assert_eq!(folder.names("in"), [".kumiki-collect.jsonl.lock"]);
    daemon.stop();
}

#[test]
fn a_finished_file_is_not_taken_for_the_part_of_another() {
    let folder = Folder::new("collect-part");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let collector = Collector { folder: &folder, url: daemon.url("") };
    folder.write("root/a.part", b"whole");
    collector.run(&[]).well();
    folder.write("root/a", b"another");
    collector.run(&[]).well();
    assert_eq!(here(&folder), ["a", "a.part"]);
    assert_eq!(folder.read("in/a.part"), b"whole");
    daemon.stop();
}

/// Records of a switch: the last of a row is still written, and each goes to billing once.
#[test]
fn the_file_that_is_still_written_comes_when_the_next_one_is_there() {
    let folder = Folder::new("collect-grows");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let collector = Collector { folder: &folder, url: daemon.url("") };
    folder.write("root/AMA0001", b"rec1\n");
    folder.write("root/AMA0002", b"rec1\n");
    let first = collector.poll(&[]).well();
    assert!(first.err.contains("held AMA0002"), "{first:?}");
    assert_eq!(here(&folder), ["AMA0001"]);
    collector.poll(&[]).failed(10, &["nothing is new", "1 held back"]);
    folder.write("root/AMA0002", b"rec1\nrec2\n");
    folder.write("root/AMA0005", b"rec1\n");
    let missing = ["missing AMA0003 to AMA0004", "held AMA0005", "1 fetched"];
    collector.poll(&[]).failed(12, &missing);
    assert_eq!(here(&folder), ["AMA0001", "AMA0002"]);
    assert_eq!(folder.read("in/AMA0002"), b"rec1\nrec2\n");
    daemon.stop();
}

/// Where a row starts over its last file waits too, and a name that is missing there is told.
#[test]
fn a_row_that_begins_again_goes_on() {
    let folder = Folder::new("collect-wraps");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let collector = Collector { folder: &folder, url: daemon.url("") };
    for name in ["B97", "B98"] {
        folder.write(&format!("root/{name}"), name.as_bytes());
    }
    let range = ["--range", "1-98"];
    let first = collector.poll(&range).well();
    assert!(first.err.contains("held B98"), "{first:?}");
    folder.write("root/B02", b"B02");
    let missing = ["missing B01", "held B02", "fetched B98"];
    collector.poll(&range).failed(12, &missing);
    assert_eq!(here(&folder), ["B97", "B98"]);
    daemon.stop();
}

/// A name without a number is taken when it has not changed from one run to another.
#[test]
fn what_has_no_number_comes_when_it_has_settled() {
    let folder = Folder::new("collect-settles");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let collector = Collector { folder: &folder, url: daemon.url("") };
    let poll = || collector.poll(&["--settle", "0s"]);
    dated(&folder, "root/log", b"one", 1_000_000_000);
    poll().failed(10, &["held log"]);
    dated(&folder, "root/log", b"one, two", 1_000_000_000);
    poll().failed(10, &["held log"]);
    dated(&folder, "root/log", b"ONE, TWO", 1_000_000_001);
    poll().failed(10, &["held log"]);
    // What a dry run has seen counts for nothing.
    collector.poll(&["--dry-run"]).failed(10, &["held log"]);
    poll().well();
    assert_eq!(folder.read("in/log"), b"ONE, TWO");
    poll().failed(10, &["nothing is new"]);
    // An hour is not over.
    dated(&folder, "root/other", b"x", 1_000_000_000);
    let wait = ["--settle", "1h"];
    collector.poll(&wait).failed(10, &["held other"]);
    collector.poll(&wait).failed(10, &["held other, why the same for"]);
    // The last of a row too, where that is asked for.
    dated(&folder, "root/n1", b"x", 1_000_000_000);
    let settled = ["--closed", "settled", "--settle", "0s", "--prefix", "n"];
    collector.poll(&settled).failed(10, &["held n1"]);
    collector.poll(&settled).well();
    assert_eq!(here(&folder), ["log", "n1"]);
    daemon.stop();
}

#[test]
fn a_directory_below_is_told_and_not_passed_over() {
    let folder = Folder::new("collect-below");
    std::fs::create_dir_all(folder.path("root/sub/deep")).unwrap();
    folder.write("root/a", b"a");
    folder.write("root/sub/b", b"b");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let url = daemon.url("");
    let collect =
        |more: &[&str]| folder.ftam(&[&["collect", &url, "--into", "here", "--closed", "any"], more].concat());
    let ran = collect(&[]);
    ran.failed(11, &["1 fetched and 1 failed", "sub", "collect it by itself"]);
    assert!(ran.out.contains("failed") || ran.err.contains("failed sub"), "{ran:?}");
    assert_eq!(folder.read("here/a"), b"a");
    // Again: it is still not here.
    collect(&[]).failed(11, &["nothing was fetched, and 1 failed"]);
    // What is not wanted is none of this run's.
    collect(&["--prefix", "a"]).failed(10, &["nothing is new"]);
    let sub = daemon.url("sub");
    folder.ftam(&["collect", &sub, "--into", "below", "--closed", "any"]).failed(11, &["deep"]);
    assert_eq!(folder.read("below/b"), b"b");
    daemon.stop();
}
