//! What hostile callers can make a responder keep, and what becomes of it where memory ends.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{JoinHandle, spawn};

use kumiki_watchdog::until;

use super::harness::{Daemon, Folder, ProcessOutput, Running, hollow};
use super::line::{Cut, Line};
use super::recovered::{did_not_begin_again, long};

const MIB: u64 = 1 << 20;
/// What the program has before anybody calls, and what the allocator keeps in pieces: measured as 8 to 14 MiB, doubled.
const START: u64 = 28 * MIB;
/// The most that a caller has taken before a session stands.
const BEGINNING: usize = 65_539;

/// CR to any selector, and TPDUs of 8192 octets.
const CR: &[u8] = &[3, 0, 0, 14, 9, 0xe0, 0, 0, 0, 1, 0, 0xc0, 1, 13];

/// A DT TPDU that does not end its TSDU.
fn dt(data: &[u8]) -> Vec<u8> {
    let len = u16::try_from(data.len() + 7).unwrap().to_be_bytes();
    [&[3, 0, len[0], len[1], 2, 0xf0, 0], data].concat()
}

/// What became of a hostile caller.
struct Hostile {
    /// It holds its connection, if it was let.
    _socket: TcpStream,
    /// Octets of a TSDU that went out before somebody hung up.
    sent: usize,
    is_refused: bool,
}

/// Begins a CONNECT SPDU of 65,535 octets in TPDUs with so many octets each, and goes on up to `most`, or until it is
/// refused.
fn attack(at: &str, piece: usize, most: usize) -> JoinHandle<Hostile> {
    let at = at.to_owned();
    spawn(move || {
        kumiki_watchdog::minute();
        let mut socket = TcpStream::connect(at).unwrap();
        let (mut sent, mut is_refused) = (0, false);
        let begins = socket.write_all(CR).and_then(|()| {
            let mut cc = [0; 14];
            socket.read_exact(&mut cc)?;
            // A DR has 6D here, a CC D0.
            if cc[5] != 0xd0 {
                return Err(ErrorKind::ConnectionRefused.into());
            }
            socket.write_all(&dt(&[0x0d, 0xff, 0xff, 0xff]))
        });
        if begins.is_err() {
            return Hostile { _socket: socket, sent, is_refused: true };
        }
        let tpdu = dt(&vec![0; piece]);
        let many = (65_536 / tpdu.len()).max(1);
        while sent + 4 < most && !is_refused {
            let now = many.min((most - sent - 4).div_ceil(piece));
            match socket.write_all(&tpdu.repeat(now)) {
                Ok(()) => sent += now * piece,
                Err(_) => is_refused = true,
            }
        }
        Hostile { _socket: socket, sent, is_refused }
    })
}

/// A figure of the process, in octets.
fn figure(daemon: &Daemon, name: &str) -> u64 {
    let path = format!("/proc/{}/status", daemon.running.id());
    let text = std::fs::read_to_string(path).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib: u64 = line.unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// Somebody fetches a file of so many octets all the while.
fn fetch(folder: &Folder, daemon: &Daemon, len: u64) -> Running {
    hollow(&folder.path("root/large"), len);
    let url = daemon.url("large");
    let got = folder.path("got");
    let _ = std::fs::remove_file(&got);
    let fetching = Running::start(folder.command(&["ftam", "get", &url, "got"]));
    // It is in flight when the first octets are there.
    let own = folder.place().to_owned();
    until(|| {
        let all = std::fs::read_dir(&own).unwrap();
        let mut all = all.filter_map(Result::ok).filter(|it| {
            let name = it.file_name();
            name.to_string_lossy().starts_with(".kumiki-get-")
        });
        all.any(|it| it.metadata().is_ok_and(|it| it.len() > 0))
    });
    fetching
}

fn came_whole(folder: &Folder, fetching: Running, len: u64) {
    let ran: ProcessOutput = fetching.end();
    ran.well();
    assert_eq!(std::fs::metadata(folder.path("got")).unwrap().len(), len);
}

#[test]
fn thirty_two_hostile_callers_stay_below_the_budget_while_a_transfer_goes_on() {
    let folder = Folder::new("hostile");
    let many = ["--associations", "40", "--max-per-host", "40"];
    // None is dropped for others: the budget alone is to bound them.
    let many = many.into_iter().chain(["--max-startups", "40:0:40"]);
    let budget = 32 * MIB;
    for piece in [1, 64, 8000] {
        let options = ["--anonymous", "--memory", "32MiB"].into_iter().chain(many.clone());
        let daemon = Daemon::start(&folder, &options.collect::<Vec<_>>());
        let len = 100 * MIB;
        let fetching = fetch(&folder, &daemon, len);
        // Four times what was once kept of each.
        let most = if piece == 64 { BEGINNING - 64 } else { 4 << 20 };
        let all: Vec<JoinHandle<Hostile>> = (0..32).map(|_| attack(&daemon.at, piece, most)).collect();
        let all: Vec<Hostile> = all.into_iter().map(|it| it.join().unwrap()).collect();
        if piece == 64 {
            // What is in proportion and no longer than a beginning is taken; what of others comes before they hang up
            // is thrown away.
            assert!(all.iter().all(|it| !it.is_refused && it.sent + 68 > most));
        }
        let peak = figure(&daemon, "VmHWM");
        assert!(peak <= budget + START, "{piece}: {peak} octets");
        drop(all);
        came_whole(&folder, fetching, len);
        folder.ftam(&["ls", &daemon.url("")]).well();
        daemon.stop();
    }
}

/// A responder that many may call, started by a shell that does this first.
fn bounded(folder: &Folder, first: &str) -> Running {
    let script = format!("{first}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script, super::harness::KUMIKI])
        .args(["ftamd", "--root", "root", "--listen", "127.0.0.1:0", "--anonymous"])
        .args(["--associations", "400", "--max-per-host", "400"])
        .args(["--max-startups", "400:0:400"])
        .current_dir(folder.place());
    Running::start(command)
}

/// Callers want more than a bounded responder has: some are refused, and neither an association that stands nor a
/// transfer that it keeps is hurt.
fn refuses_and_hurts_nobody(folder: &Folder, running: Running) {
    let line = running.line();
    let at = line.strip_prefix("listens at ").unwrap();
    let at = at.split_whitespace().next().unwrap().to_owned();
    let told = running.line();
    assert!(told.starts_with("callers may have "), "{told}");
    let daemon = Daemon { running, at };
    // One that breaks is kept.
    let contents = long(500_000);
    folder.write("sent", &contents);
    let line = Line::new(&daemon.at, &[Cut::After(1_200_000)]);
    let put = ["put", "--resume", "--retries", "0", "sent", &line.url("kept")];
    folder.ftam(&put).failed(3, &["the connection was lost"]);
    let len = 50 * MIB;
    let fetching = fetch(folder, &daemon, len);
    let pieces = [64, 500, 8000].into_iter().cycle().take(200);
    let all: Vec<JoinHandle<Hostile>> = pieces.map(|piece| attack(&daemon.at, piece, BEGINNING - piece)).collect();
    let all: Vec<Hostile> = all.into_iter().map(|it| it.join().unwrap()).collect();
    assert!(all.iter().any(|it| it.is_refused));
    came_whole(folder, fetching, len);
    drop(all);
    // Those that are gone give back what they had.
    until(|| folder.ftam(&["ls", &daemon.url("")]).status == Some(0));
    folder.ftam(&put).well();
    did_not_begin_again(&line, &contents);
    assert!(folder.read("root/kept") == contents);
    let ran = daemon.stop();
    assert!(!ran.err.contains("memory allocation"), "{ran:?}");
}

#[test]
fn where_address_space_ends_callers_are_refused_and_nobody_else_is_hurt() {
    let folder = Folder::new("ulimit");
    let start = {
        let daemon = Daemon::start(&folder, &["--anonymous"]);
        figure(&daemon, "VmSize")
    };
    let within = |most: u64| bounded(&folder, &format!("ulimit -v {}", most / 1024));
    // There is no room for anybody: that is said, and not tried.
    let ran = within(start + 8 * MIB).end();
    ran.failed(1, &["the limit of address space (ulimit -v)", "allow more"]);
    for more in [60, 120, 200] {
        refuses_and_hurts_nobody(&folder, within(start + more * MIB));
    }
}

/// A cgroup with a limit of memory, below the own one: of version 1, or of version 2 where that may have one.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(most: u64) -> Result<Self, std::io::Error> {
        let own = std::fs::read_to_string("/proc/self/cgroup")?;
        let mounts = Path::new("/sys/fs/cgroup");
        let mut why = std::io::Error::other("no hierarchy has the controller");
        for line in own.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers = parts.next().unwrap_or_default();
            let own = parts.next().unwrap_or_default().trim_start_matches('/');
            let (above, limit) = match controllers {
                "" => (mounts.join(own), "memory.max"),
                _ if controllers.split(',').any(|it| it == "memory") => {
                    (mounts.join("memory").join(own), "memory.limit_in_bytes")
                }
                _ => continue,
            };
            let it = Self(above.join(format!("kumiki-{}-{most}", std::process::id())));
            let made = std::fs::create_dir(&it.0).and_then(|()| {
                let limit = it.0.join(limit);
                // Where the controller is not to be had there is no such file, and none can be made.
                std::fs::OpenOptions::new().write(true).open(limit)?.write_all(most.to_string().as_bytes())
            });
            match made {
                Ok(()) => return Ok(it),
                Err(this) => why = this,
            }
        }
        Err(why)
    }

    /// What a shell does to be in it.
    fn enter(&self) -> String {
        format!("echo $$ > '{}/cgroup.procs'", self.0.display())
    }

    /// How many processes in it the system has ended for want of memory.
    fn killed(&self) -> u64 {
        let files = ["memory.events", "memory.oom_control"];
        let texts = files.map(|it| std::fs::read_to_string(self.0.join(it)).unwrap_or_default());
        let lines = texts.iter().flat_map(|it| it.lines());
        let mut killed = lines.filter_map(|line| line.strip_prefix("oom_kill "));
        killed.next().unwrap().trim().parse().unwrap()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn where_a_cgroup_ends_callers_are_refused_and_nobody_else_is_hurt() {
    let folder = Folder::new("cgroup");
    for most in [32, 48, 96] {
        let cgroup = match Cgroup::new(most * MIB) {
            Ok(cgroup) => cgroup,
            Err(why) => {
                let is_required = std::env::var("KUMIKI_REQUIRE_CGROUP").is_ok_and(|it| !it.is_empty());
                assert!(
                    !is_required,
                    "KUMIKI_REQUIRE_CGROUP is set, and no cgroup with a limit of memory can be made: {why}"
                );
                eprintln!("skipped: no cgroup with a limit of memory can be made: {why}");
                return;
            }
        };
        refuses_and_hurts_nobody(&folder, bounded(&folder, &cgroup.enter()));
        assert_eq!(cgroup.killed(), 0, "{most} MiB");
    }
}
