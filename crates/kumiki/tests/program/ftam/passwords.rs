//! Where passwords come from, and where from they do not.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use kumiki_watchdog::until;

use super::harness::{Daemon, Folder, ProcessOutput, Running};

/// A terminal: the keyboard, and what programs have.
struct Terminal {
    keyboard: File,
    screen: OwnedFd,
}

impl Terminal {
    fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let screen = rustix::fs::open(&name, flags, rustix::fs::Mode::empty()).unwrap();
        let keyboard = master.into();
        Self { keyboard, screen }
    }

    fn has_echo(&self) -> bool {
        let modes = tcgetattr(&self.screen).unwrap().local_modes;
        modes.contains(LocalModes::ECHO)
    }

    /// A program that has asked.
    fn start(&self, folder: &Folder, arguments: &[&str]) -> Running {
        let mut command = folder.command(arguments);
        command.stdin(Stdio::from(self.screen.try_clone().unwrap()));
        assert!(self.has_echo());
        let running = Running::start(command);
        until(|| !self.has_echo());
        running
    }

    fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }
}

#[test]
fn a_terminal_that_was_asked_has_its_echo_again_whatever_ends_the_asking() {
    let folder = Folder::new("password-echo");
    let mut terminal = Terminal::new();
    for arguments in [&["ftam", "ls", "ftam://ada@127.0.0.1:1/"][..], &["ftamd", "password", "ada"]] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let running = terminal.start(&folder, arguments);
            running.signal(signal);
            let ran = running.end();
            ran.failed(130, &["given up"]);
            assert!(terminal.has_echo(), "{ran:?}");
        }
        // End of file.
        let running = terminal.start(&folder, arguments);
        terminal.type_in("\u{4}");
        running.end().failed(2, &["no password could be read"]);
        assert!(terminal.has_echo());
    }
}

#[test]
fn what_is_typed_is_the_password_and_is_not_shown() {
    let folder = Folder::new("password-typed");
    let mut terminal = Terminal::new();
    let mut hash = folder.command(&["ftamd", "password", "ada", "--rounds", "10"]);
    folder.write("typed", "sécret\n".as_bytes());
    hash.stdin(File::open(folder.path("typed")).unwrap());
    let line = Running::start(hash).end().well().out;
    folder.write("passwords", line.as_bytes());
    let daemon = Daemon::start(&folder, &["--passwords", "passwords"]);
    let url = format!("ftam://ada@{}/", daemon.at);
    let running = terminal.start(&folder, &["ftam", "ls", &url]);
    terminal.type_in("sécret\n");
    let ran = running.end().well();
    assert!(ran.err.contains("Password of ada: ") && !ran.err.contains("cret"), "{ran:?}");
    assert!(terminal.has_echo());
    daemon.stop();
}

fn hash_of(folder: &Folder, typed: &[u8]) -> ProcessOutput {
    folder.write("typed", typed);
    let mut hash = folder.command(&["ftamd", "password", "bob", "--rounds", "10"]);
    hash.stdin(File::open(folder.path("typed")).unwrap());
    Running::start(hash).end()
}

#[test]
fn no_password_is_not_an_empty_one() {
    let folder = Folder::new("password-none");
    for typed in [&b""[..], b"\n", b"\r\nsecret\n"] {
        let ran = hash_of(&folder, typed);
        ran.failed(2, &["there is no password"]);
        assert_eq!(ran.out, "");
    }
    hash_of(&folder, b"x").well();
    // Nobody is called.
    let ran = folder.ftam(&["ls", "ftam://ada@127.0.0.1:1/"]);
    ran.failed(2, &["ada", "--password-file", "KUMIKI_FTAM_PASSWORD"]);
    // Who means an empty one can say so.
    let daemon = Daemon::start(&folder, &["--anonymous"]);
    folder.write("empty", b"");
    let url = format!("ftam://ada@{}/", daemon.at);
    folder.ftam(&["ls", &url, "--password-file", "empty"]).well();
    daemon.stop();
}

/// A file without a line is as good as no file for whoever starts it, and as bad for whoever calls.
#[test]
fn that_nobody_is_let_in_is_said() {
    let folder = Folder::new("nobody");
    folder.write("none", b"# nobody yet\n");
    folder.write("root/small", b"content");
    let daemon = folder.command(&["ftamd", "--root", "root", "--listen", "127.0.0.1:0", "--passwords", "none"]);
    let running = Running::start(daemon);
    assert!(running.line().starts_with("listens at "));
    assert!(running.line().contains("has no user"));
    // Who empties it while it serves is told too.
    running.signal(Signal::HUP);
    let said = running.line();
    assert!(said.contains("were read again") && said.contains("has no user"), "{said}");
    running.signal(Signal::INT);
    running.end().well();
}
