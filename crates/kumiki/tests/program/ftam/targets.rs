//! What stands where a file is to go.

use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::os::unix::net::UnixListener;

use std::io::Read as _;

use super::harness::{Daemon, Folder, Running};

/// More than a FIFO or a socket holds.
fn contents() -> Vec<u8> {
    super::recovered::long(100_000)
}

#[test]
fn a_link_is_followed_and_stays() {
    let folder = Folder::new("target-link");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("root/x", b"new");
    for directory in ["there", "links"] {
        std::fs::create_dir(folder.path(directory)).unwrap();
    }
    folder.write("there/old", b"old");
    symlink("../there/old", folder.path("links/one")).unwrap();
    symlink("one", folder.path("links/two")).unwrap();
    symlink("../there/none", folder.path("links/dangling")).unwrap();
    symlink("self", folder.path("links/self")).unwrap();
    symlink("../nowhere/none", folder.path("links/lost")).unwrap();
    let get = |target: &str| folder.ftam(&["get", &daemon.url("x"), target]);
    get("links/two").well();
    assert_eq!(folder.read("there/old"), b"new");
    get("links/dangling").well();
    assert_eq!(folder.read("there/none"), b"new");
    get("links/self").failed(2, &["links/self"]);
    get("links/lost").failed(2, &["there is no such directory"]);
    assert_eq!(folder.names("there"), ["none", "old"]);
    for name in ["one", "two", "dangling", "self", "lost"] {
        let link = folder.path(&format!("links/{name}"));
        assert!(link.symlink_metadata().unwrap().is_symlink(), "{name}");
    }
    assert_eq!(folder.names("links").len(), 5);
    daemon.stop();
}

#[test]
fn what_is_no_file_is_written_to_and_stays() {
    let folder = Folder::new("target-stream");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    let contents = contents();
    folder.write("root/x", &contents);
    let url = daemon.url("x");
    let fifo = folder.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let getting = Running::start(folder.command(&["ftam", "get", &url, "fifo"]));
    assert!(std::fs::read(&fifo).unwrap() == contents);
    let ran = getting.end().well();
    assert!(ran.err.contains("fifo: 400000 bytes"), "{ran:?}");
    let listener = UnixListener::bind(folder.path("socket")).unwrap();
    let getting = Running::start(folder.command(&["ftam", "get", &url, "socket"]));
    let (mut stream, mut came) = (listener.accept().unwrap().0, Vec::new());
    stream.read_to_end(&mut came).unwrap();
    assert!(came == contents);
    getting.end().well();
    symlink("/dev/null", folder.path("null")).unwrap();
    symlink("/dev/full", folder.path("full")).unwrap();
    folder.ftam(&["get", &url, "null"]).well();
    folder.ftam(&["get", &url, "full"]).failed(1, &["full: No space"]);
    for target in ["fifo", "socket", "null"] {
        let ran = folder.ftam(&["get", "--resume", &url, target]);
        ran.failed(2, &[target, "is a device, a FIFO or a socket"]);
    }
    assert!(fifo.symlink_metadata().unwrap().file_type().is_fifo());
    assert_eq!(folder.names("."), ["fifo", "full", "null", "root", "socket"]);
    daemon.stop();
}

#[test]
fn a_directory_that_is_not_there_is_told_before_anything_is_fetched() {
    let folder = Folder::new("target-none");
    // Nobody is called.
    let nobody = kumiki_watchdog::Port::new().unwrap();
    let url = format!("ftam://{}/x", nobody.at());
    let get = |target: &str| folder.ftam(&["get", &url, target]);
    get("none/").failed(2, &["none/", "no such directory"]);
    get("none/x").failed(2, &["none: there is no such directory; make it, or choose another place"]);
    folder.write("file", b"old");
    get("file/").failed(2, &["file/: it is no directory; choose another place"]);
    get("file").failed(3, &["connection refused"]);
    assert_eq!(folder.names("."), ["file", "root"]);
}
