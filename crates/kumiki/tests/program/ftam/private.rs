//! Files that nobody else may read: passwords and captures; and what a hang-up does.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use rustix::process::Signal;

use super::harness::{Daemon, Folder, Running};
use super::line::{Cut, Line};
use super::refusals::entry;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn allow(path: &Path, mode: u32) {
    let rights = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, rights).unwrap();
}

#[test]
fn passwords_that_others_can_read_are_refused_and_those_that_are_made_they_cannot() {
    let folder = Folder::new("private-passwords");
    let add = |user: &str, password: &[u8]| {
        folder.write("typed", password);
        let arguments = ["ftamd", "password", "--rounds", "10", user, "--file", "pw"];
        let mut command = folder.command(&arguments);
        command.stdin(std::fs::File::open(folder.path("typed")).unwrap());
        Running::start(command).end()
    };
    for (user, password) in [("ada", "old"), ("ada:x", "other"), ("ada", "new")] {
        assert_eq!(add(user, password.as_bytes()).well().out, "");
    }
    let path = folder.path("pw");
    assert_eq!(mode(&path), 0o600);
    let lines = String::from_utf8(folder.read("pw")).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    // Where the name is a link, what it leads to gets the line.
    std::fs::rename(&path, folder.path("far")).unwrap();
    symlink("far", &path).unwrap();
    add("carl", b"third").well();
    assert!(path.is_symlink());
    let lines = String::from_utf8(folder.read("far")).unwrap();
    assert!(lines.lines().count() == 3 && lines.contains("carl:"), "{lines}");
    std::fs::rename(folder.path("far"), &path).unwrap();
    folder.write("new", b"new\n");
    let daemon = Daemon::start(&folder, &["--passwords", "pw"]);
    let url = format!("ftam://ada@{}/", daemon.at);
    let list = || folder.ftam(&["ls", &url, "--password-file", "new"]);
    list().well();
    daemon.stop();
    allow(&path, 0o644);
    let all = ["ftamd", "--root", "root", "--listen", "127.0.0.1:0"];
    let all: Vec<&str> = all.iter().copied().chain(["--passwords", "pw"]).collect();
    folder.kumiki(&all).failed(2, &["others can read", "chmod 600"]);
    add("eve", b"x").failed(2, &["others can read"]);
    allow(&folder.path("new"), 0o640);
    list().failed(2, &["--password-file", "others can read"]);
}

/// Only who may become somebody else can try it.
#[test]
fn passwords_stay_whose_they_are_and_a_service_that_could_not_read_them_again_says_so() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new("private-owner");
    folder.write("typed", b"secret");
    let add = || {
        let mut command = folder.command(&["ftamd", "password", "--rounds", "10", "ada", "--file", "pw"]);
        command.stdin(std::fs::File::open(folder.path("typed")).unwrap());
        Running::start(command).end().well();
    };
    add();
    let run = || {
        let daemon = Daemon::start(&folder, &["--passwords", "pw", "--run-as", "nobody"]);
        daemon.stop().out
    };
    let told = run();
    assert!(told.contains("SIGHUP cannot have the passwords read again"), "{told}");
    assert!(told.contains("not possible to make files in this directory"), "{told}");
    for path in ["pw", "root"] {
        chown(folder.path(path), Some(NOBODY), None).unwrap();
    }
    add();
    let meta = folder.path("pw").metadata().unwrap();
    assert_eq!((meta.uid(), mode(&folder.path("pw"))), (NOBODY, 0o600));
    assert_eq!(run(), "");
}

/// Only who may become somebody else can try it.
#[test]
fn the_log_says_whose_a_file_is_that_could_not_stay_whose_it_was() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new("private-group");
    folder.write("new", b"new");
    folder.write("root/x", b"old");
    allow(&folder.path("root/x"), 0o664);
    chown(folder.path("root"), Some(NOBODY), None).unwrap();
    let daemon = Daemon::start(&folder, &["--anonymous", "--run-as", "nobody"]);
    for is_first in [true, false] {
        folder.ftam(&["put", "new", &daemon.url("x")]).well();
        let log = daemon.log();
        assert_eq!(log.contains("owner 65534 and no longer 0, group 65534 and no longer 0"), is_first, "{log}");
    }
    assert_eq!(mode(&folder.path("root/x")), 0o604);
    daemon.stop();
}

#[test]
fn captures_are_their_owners_and_all_together_have_a_bound() {
    let folder = Folder::new("private-captures");
    folder.write("root/x", &[7; 100_000]);
    folder.write("elsewhere", b"old");
    let options = ["--anonymous", "--pcap", "cap", "--max-pcap", "150kB"];
    let daemon = Daemon::start(&folder, &options);
    for _ in 0..8 {
        folder.ftam(&["get", &daemon.url("x"), "-"]).well();
        daemon.log();
    }
    daemon.stop();
    let captures: Vec<String> = folder.names(".");
    let captures: Vec<&String> = captures.iter().filter(|it| it.starts_with("cap")).collect();
    let size = |name: &&String| folder.path(name).metadata().unwrap().len();
    assert!(captures.len() < 8, "{captures:?}");
    assert!(captures.iter().map(size).sum::<u64>() <= 150_000);
    for name in &captures {
        assert_eq!(mode(&folder.path(name)), 0o600);
        let ran = folder.kumiki(&["decode", name.as_str(), "--count", "3"]).well();
        assert!(!ran.err.contains("cut"), "{ran:?}");
    }
    // A link is not followed; callers have nothing to do with it, and it is told once.
    symlink(folder.path("elsewhere"), folder.path("link")).unwrap();
    let daemon = Daemon::start(&folder, &["--anonymous", "--pcap", "link"]);
    for _ in 0..2 {
        folder.ftam(&["get", &daemon.url("x"), "-"]).well();
    }
    let ran = daemon.stop();
    assert_eq!(ran.out.matches("captures end here: link: it is a symbolic link").count(), 1, "{ran:?}");
    assert_eq!(folder.read("elsewhere"), b"old");
}

#[test]
fn a_hang_up_has_the_passwords_read_again_and_ends_nothing() {
    let folder = Folder::new("hang-up");
    folder.write("root/x", b"x");
    folder.write("pw", entry(&folder, "ada", "old").as_bytes());
    folder.write("old", b"old\n");
    folder.write("new", b"new\n");
    let daemon = Daemon::start(&folder, &["--passwords", "pw"]);
    let url = format!("ftam://ada@{}/x", daemon.at);
    let get = |file: &str| folder.ftam(&["get", &url, "-", "--password-file", file]);
    get("old").well();
    daemon.log();
    folder.write("pw", entry(&folder, "ada", "new").as_bytes());
    daemon.running.signal(Signal::HUP);
    assert!(daemon.log().contains("were read again"));
    get("new").well();
    daemon.log();
    get("old").failed(5, &["2020"]);
    daemon.log();
    // One that cannot be read changes nothing.
    folder.write("pw", b"nonsense\n");
    daemon.running.signal(Signal::HUP);
    let log = daemon.log();
    assert!(log.contains("line 1") && log.contains("as before"), "{log}");
    get("new").well();
    daemon.stop();
}

#[test]
fn the_log_has_what_was_refused_and_all_names() {
    let folder = Folder::new("audit");
    std::fs::create_dir(folder.path("root/full")).unwrap();
    folder.write("root/full/x", b"x");
    folder.write("new", b"new");
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    for (arguments, said) in [
        (&["rm", &daemon.url("full")][..], "did not remove \"full\": 3007"),
        (&["get", &daemon.url("..%2fetc%2fpasswd"), "-"], "did not select \"../etc/passwd\": 3027"),
        (&["put", "--mode", "new", "new", &daemon.url("full")], "did not create \"full\": 3005"),
        (&["stat", &daemon.url("none")], "did not select \"none\": 3004"),
        (&["mv", &daemon.url("full/x"), "full"], "did not rename \"full/x\" to \"full\": 4005"),
    ] {
        assert_ne!(folder.ftam(arguments).status, Some(0));
        let log = daemon.log();
        assert!(log.contains(said), "{log}");
    }
    folder.ftam(&["stat", &daemon.url("full/x")]).well();
    assert!(daemon.log().contains("looked at full/x"));
    folder.ftam(&["put", "--mode", "append", "new", &daemon.url("full/x")]).well();
    let log = daemon.log();
    assert!(log.contains("added 3 octets to full/x (4 octets)"), "{log}");
    // However many.
    let names: Vec<String> = (0..70).map(|number| format!("many/{number:03}")).collect();
    std::fs::create_dir(folder.path("root/many")).unwrap();
    for name in &names {
        folder.write(&format!("root/{name}"), b"");
    }
    // The first is a URL, the others names at the same responder.
    let first = daemon.url(&names[0]);
    let others = names.iter().skip(1).map(String::as_str);
    let all: Vec<&str> = ["rm", &first].into_iter().chain(others).collect();
    folder.ftam(&all).well();
    let mut log = String::new();
    while names.iter().any(|name| !log.contains(&format!("removed {name}"))) {
        log.push_str(&daemon.log());
    }
    daemon.stop();
}

/// The operator is told, and who else calls is not.
#[test]
fn the_log_says_by_whom_a_file_is_kept_from_others() {
    let folder = Folder::new("audit-locked");
    let users = ["ada", "bob"].map(|user| entry(&folder, user, "x"));
    folder.write("passwords", users.concat().as_bytes());
    folder.write("secret", b"x\n");
    folder.write("root/x", b"old");
    folder.write("big", &[7; 4_000_000]);
    let daemon = Daemon::start(&folder, &["--passwords", "passwords"]);
    let line = Line::new(&daemon.at, &[Cut::After(1_500_000)]);
    let of = |user: &str, at: &str, what: &[&str]| {
        let url = format!("ftam://{user}@{at}/x");
        let mut all = what.to_vec();
        all.extend([&url, "--password-file", "secret"]);
        if what.first() == Some(&"put") {
            all.extend(["--retries", "0"]);
        }
        folder.ftam(&all)
    };
    let put = ["put", "--resume", "big"];
    assert_ne!(of("ada", &line.at, &put).status, Some(0));
    let log = daemon.log();
    assert!(log.contains("kept"), "{log}");
    let ran = of("bob", &daemon.at, &["put", "big"]);
    ran.failed(6, &["3012", "for a transfer that broke and is kept"]);
    assert!(!ran.err.contains("ada"), "{ran:?}");
    let log = daemon.log();
    assert!(log.contains("3012") && log.contains("by ada"), "{log}");
    of("bob", &daemon.at, &["rm"]).failed(6, &["for a transfer that broke and is kept"]);
    let log = daemon.log();
    assert!(log.contains("did not remove") && log.contains("by ada"), "{log}");
    daemon.stop();
}

#[test]
fn the_log_has_callers_of_ipv4_by_their_own_address_at_a_listener_for_both() {
    let folder = Folder::new("audit-address");
    let daemon = Daemon::start(&folder, &["--anonymous", "--listen", "[::]:0"]);
    let line = daemon.running.line();
    let port = line.split_whitespace().nth(2).and_then(|at| at.rsplit(':').next()).unwrap();
    folder.ftam(&["ls", &format!("ftam://127.0.0.1:{port}/")]).well();
    let log = daemon.log();
    assert!(log.contains(" 127.0.0.1:") && !log.contains("ffff"), "{log}");
    daemon.stop();
}
