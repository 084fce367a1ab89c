//! Linux's TCP as the peer: every case in a network namespace of its own, with Kumiki at the other end of a TUN device.
//!
//! ```text
//! cargo test -p kumiki --test linux                       single cases, and the matrix with 1 MiB each, a part of it over IPv6
//! cargo test --release -p kumiki --test linux -- --full   the same with 64 MiB each
//! cargo test -p kumiki --test linux -- NAME               only what has NAME in its name
//! ```
//!
//! The namespace is made by `unshare` of util-linux, with a user namespace around it where we are not root. In it this
//! program runs once more: it is the peer, by the sockets of the standard library, and starts `kumiki`. What each side
//! sent and got is hashed at both ends. Nothing leaves the namespace, and every wait in it ends within a minute. No
//! verdict depends on how fast the machine is: times are told, and judged in virtual time or not at all.
//!
//! Where no namespace or TUN device can be had nothing is tested, which is said aloud; with `KUMIKI_REQUIRE_NETNS` set
//! to anything, as `./check` sets it, that is a failure.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a test: what fails stops it"
)]

mod curve;
mod delay;
mod host;
mod link;
mod live;
mod marks;
mod matrix;
mod offload;
mod pair;
mod path;
mod scripts;
mod single;
mod tshark;

use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;

/// One thing that is tested.
struct Case {
    name: String,
    /// In how many namespaces it may be tried: more than one where two things must meet in time to be seen at all, and
    /// the machine may have been busy.
    tries: u32,
    /// Says what it did, or why it failed; runs inside the namespace.
    run: Box<dyn Fn() -> Result<String, String> + Send + Sync>,
}

/// The size of each transfer of the matrix, in octets.
const PART: u64 = 1 << 20;
const FULL: u64 = 64 << 20;

/// How many cases run at once. Most of them wait for retransmission timers most of the time.
const AT_ONCE: usize = 16;

/// The argument that makes this program run one case, where it is.
pub(crate) const INSIDE: &str = "--inside";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--full");
    if let Some(at) = arguments.iter().position(|argument| argument == INSIDE) {
        return inside(arguments.get(at + 1).map_or("", String::as_str), full);
    }
    let mut cases = scripts::cases();
    cases.extend(others(full));
    if arguments.iter().any(|argument| argument == "--list") {
        for case in &cases {
            println!("{}: test", case.name);
        }
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    cases.retain(|case| filters.iter().all(|filter| case.name.contains(*filter)));
    if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
        let before = cases.len();
        cases.retain(|case| !case.name.contains("_ipv6"));
        println!("\nthis kernel has no IPv6: {} cases are left out", before - cases.len());
    }
    println!("\nrunning {} tests", cases.len());
    let unshare = match can_unshare() {
        Ok(unshare) => unshare,
        Err(why) if std::env::var_os("KUMIKI_REQUIRE_NETNS").is_some_and(|set| !set.is_empty()) => {
            println!("\nno network namespace with a TUN device can be had: {why}");
            println!("\ntest result: FAILED. 0 passed; {} failed; 0 ignored; 0 measured; 0 filtered out", cases.len());
            return ExitCode::FAILURE;
        }
        Err(why) => {
            println!("\n*** NOTHING IS TESTED AGAINST LINUX: no network namespace with a TUN device can be had:");
            println!("*** {why}");
            println!("\ntest result: ok. 0 passed; 0 failed; {} ignored; 0 measured; 0 filtered out", cases.len());
            return ExitCode::SUCCESS;
        }
    };
    // Where two things must meet nothing else should keep the machine busy; those cases wait most of the time.
    let (timed, others): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| case.tries > 1);
    let mut failed = Vec::new();
    for cases in [&timed, &others] {
        failed.extend(all(cases, full, &unshare));
    }
    told(&failed, timed.len() + others.len())
}

/// Every case but those of scripts.
fn others(full: bool) -> Vec<Case> {
    let mut cases = single::cases();
    cases.extend(marks::cases());
    cases.extend(offload::cases());
    cases.extend(path::cases());
    cases.extend(delay::cases());
    cases.extend(link::cases());
    cases.extend(live::cases());
    cases.extend(curve::cases(full));
    cases.extend(pair::cases(full));
    cases.extend(matrix::cases(if full { FULL } else { PART }, full));
    cases
}

/// A case that failed, with what it said on standard output and on the other one.
type Failure = (String, String, String);

/// Runs every case in a namespace of its own, several at once. Returns those that failed.
fn all(cases: &[Case], full: bool, unshare: &[&'static str]) -> Vec<Failure> {
    let waiting = Mutex::new(cases.iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some(case) = next else { return };
                    let mut command = itself(unshare);
                    if full {
                        command.arg("--full");
                    }
                    command.args([INSIDE, &case.name]);
                    let mut output = command.output().unwrap();
                    for _ in 1..case.tries {
                        if output.status.success() {
                            break;
                        }
                        output = command.output().unwrap();
                    }
                    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                    let mut out = std::io::stdout().lock();
                    if output.status.success() {
                        let _ = writeln!(out, "test {} ... ok ({said})", case.name);
                    } else {
                        let _ = writeln!(out, "test {} ... FAILED", case.name);
                        let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                        failed.lock().unwrap().push((case.name.clone(), said, errors));
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

fn told(failed: &[Failure], cases: usize) -> ExitCode {
    for (name, said, errors) in failed {
        println!("\n---- {name} ----\n{said}\n{errors}");
    }
    let (verdict, status) = if failed.is_empty() { ("ok", ExitCode::SUCCESS) } else { ("FAILED", ExitCode::FAILURE) };
    println!(
        "\ntest result: {verdict}. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out",
        cases - failed.len(),
        failed.len()
    );
    status
}

/// Runs the case `name` here, in a namespace that was made for it.
fn inside(name: &str, full: bool) -> ExitCode {
    // Whom a case has started the watchdog of that case ends.
    if name == path::PEER {
        return path::peer();
    }
    if name == delay::PEER {
        return delay::peer();
    }
    if name == curve::PEER {
        return curve::peer();
    }
    if name == pair::PEER {
        return pair::peer();
    }
    if name == link::CLIENT {
        return link::program();
    }
    if name == live::PROGRAM {
        return live::program();
    }
    kumiki_watchdog::minute();
    if name == PROBE {
        return match host::probe() {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                println!("{why}");
                ExitCode::FAILURE
            }
        };
    }
    let named = |case: &Case| case.name == name;
    let case = scripts::named(name).or_else(|| others(full).into_iter().find(named));
    let said = case.map_or_else(|| Err(format!("there is no case {name}")), |case| (case.run)());
    match said {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Not a case: whether there can be any.
const PROBE: &str = "probe";

/// This program once more, in new namespaces.
pub(crate) fn itself(unshare: &[&'static str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(unshare).arg("--").arg(std::env::current_exe().unwrap());
    command.stdin(Stdio::null());
    command
}

/// The arguments with which `unshare` makes a namespace in which a TUN device can be used, or why none do.
fn can_unshare() -> Result<Vec<&'static str>, String> {
    let mut why = String::new();
    for arguments in [vec!["--net"], vec!["--user", "--map-root-user", "--net"]] {
        let mut probe = itself(&arguments);
        probe.args([INSIDE, PROBE]);
        match kumiki_watchdog::during(|| probe.output()) {
            Ok(output) if output.status.success() => return Ok(arguments),
            Ok(output) => {
                let said = [output.stdout, output.stderr].concat();
                why.push_str(&format!("unshare {}: {} ", arguments.join(" "), String::from_utf8_lossy(&said).trim()));
            }
            Err(error) => why = format!("unshare of util-linux does not start: {error}"),
        }
    }
    Err(why)
}
