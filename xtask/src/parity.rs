//! `cargo xtask parity`: the sockets of `kumiki-net` under tests that others wrote for theirs.
//!
//! | | |
//! |---|---|
//! | turmoil-net's tests | as they are, with the name of the crate changed to that of `kumiki_net::sim::turmoil` |
//! | tokio's `tests/tcp_*.rs` and `tests/udp.rs` | as they are, but each runs on a host of a network in virtual time, and `tokio::net` is ours |
//! | tokio's source | every public method of its sockets is in `crates/kumiki-net/tests/parity/surface.rs` |
//! | Left out | tests that name the operating system, by [`SKIPPED`]; what ours does otherwise, by [`OTHERWISE`] |
//!
//! The tests come from the packages of the registry and are written to `target/parity` again each time; nothing of them
//! is in the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod rewrite;

use rewrite::on_a_host;

const TURMOIL: &str = "turmoil-net-0.1.0";

/// Files and tests of tokio's that name the operating system: file, test (none: all of it), why.
const SKIPPED: &[(&str, &str, &str)] = &[
    ("tcp_into_std", "", "turns a socket into one of the standard library"),
    ("tcp_accept_ready", "", "looks into the kernel's receive queue, and its peers are the standard library's"),
    ("tcp_peek", "peek", "its peer is a socket of the standard library"),
    ("tcp_split", "split", "likewise"),
    ("tcp_into_split", "", "likewise"),
    ("tcp_connect", "poll_hup", "likewise"),
];

/// Tests that fail, and rightly: file, test, why.
const OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "tcp_stream",
        "poll_read_ready",
        "tokio takes a socket for readable until a read finds nothing; ours is readable where there is something to read",
    ),
    ("tcp_stream", "try_read_write", "likewise of writing: ours is writable where there is room"),
    ("tcp_stream", "try_read_buf", "likewise of writing"),
];

/// Runs it; whether all was as it is to be.
pub(crate) fn parity(root: &Path) -> Result<bool, String> {
    let folder = root.join("target/parity");
    let _ = fs::remove_dir_all(folder.join("tests"));
    write(&folder.join("Cargo.toml"), &manifest(root))?;
    write(&folder.join("src/lib.rs"), LIBRARY)?;
    // The same versions as in the workspace, where it has them.
    if !folder.join("Cargo.lock").exists() {
        write(&folder.join("Cargo.lock"), &read(&root.join("Cargo.lock"))?)?;
    }
    let packages = packages(&folder)?;
    let missing = missing_methods(root, &packages.tokio)?;
    for method in &missing {
        println!("parity: tokio has `{method}`, and crates/kumiki-net/tests/parity/surface.rs does not say so");
    }
    write_turmoils(&packages.turmoil, &folder)?;
    write_tokios(&packages.tokio, &folder)?;
    let is_good = run(&folder)?;
    Ok(is_good && missing.is_empty())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |why| format!("{}: {why}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

/// A package of its own. It is called tokio for its tests: all that tokio has, with our sockets.
fn manifest(root: &Path) -> String {
    let net = root.join("crates/kumiki-net");
    format!(
        r#"[package]
name = "kumiki-parity"
version = "0.0.0"
edition = "2021"
publish = false

[workspace]

[lib]
name = "tokio"
doctest = false

[features]
default = ["full", "net", "macros", "rt", "io-util"]
full = []
net = []
macros = []
rt = []
io-util = []
# Never: it is here to be fetched.
theirs = ["dep:turmoil-net"]

[dependencies]
real-tokio = {{ package = "tokio", version = "1.54", features = ["full", "test-util"] }}
kumiki-net = {{ path = {net:?}, features = ["turmoil"] }}
turmoil-net = {{ version = "=0.1.0", optional = true }}

[dev-dependencies]
tokio-test = "0.4"
tokio-stream = "0.1"
futures = "0.3"

[profile.dev]
debug = "line-tables-only"
"#
    )
}

const LIBRARY: &str = "//! tokio, with the sockets of kumiki-net.

pub use real_tokio::*;

pub mod net {
    pub use kumiki_net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host, tcp};
}

/// Runs a test on a host that is alone.
pub fn on_a_host<F: core::future::Future>(test: F) -> F::Output {
    let host = kumiki_net::sim::Net::new(1).host(\"alone\");
    let _on = host.enter();
    host.run(test).unwrap_or_else(|error| panic!(\"{error}\"))
}
";

/// Where the packages are whose tests are run.
struct Packages {
    turmoil: PathBuf,
    tokio: PathBuf,
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn packages(folder: &Path) -> Result<Packages, String> {
    let output = cargo()
        .current_dir(folder)
        .args(["metadata", "--format-version=1", "--all-features"])
        .output()
        .map_err(|why| format!("cargo metadata does not start: {why}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata does not know the packages: {}", why.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let place = |name: &str| {
        let manifests = text.split('"').filter(|it| it.ends_with("/Cargo.toml"));
        let mut folders = manifests.filter_map(|it| Path::new(it).parent());
        let is_it = |folder: &&Path| folder.file_name().is_some_and(|it| it.to_string_lossy().starts_with(name));
        folders.find(is_it).map(Path::to_path_buf).ok_or_else(|| format!("cargo has no package {name}"))
    };
    Ok(Packages { turmoil: place(TURMOIL)?, tokio: place("tokio-1.")? })
}

/// The tests of a package: their files' names without `.rs`, and their texts.
fn tests(package: &Path) -> Result<Vec<(String, String)>, String> {
    let folder = package.join("tests");
    let entries = fs::read_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut tests = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|it| it == "rs")
            && let Some(name) = path.file_stem()
        {
            tests.push((name.to_string_lossy().into_owned(), read(&path)?));
        }
    }
    tests.sort();
    Ok(tests)
}

fn write_turmoils(package: &Path, folder: &Path) -> Result<(), String> {
    for (name, text) in tests(package)? {
        let text = text.replace("turmoil_net::", "kumiki_net::sim::turmoil::");
        write(&folder.join(format!("tests/turmoil_{name}.rs")), &text)?;
    }
    Ok(())
}

fn write_tokios(package: &Path, folder: &Path) -> Result<(), String> {
    for (name, text) in tests(package)? {
        let is_whole = SKIPPED.iter().any(|it| it.0 == name && it.1.is_empty());
        if is_whole || !(name.starts_with("tcp_") || name == "udp") {
            continue;
        }
        let skipped: Vec<&str> = SKIPPED.iter().filter(|it| it.0 == name).map(|it| it.1).collect();
        write(&folder.join(format!("tests/tokio_{name}.rs")), &on_a_host(&text, &skipped))?;
    }
    Ok(())
}

/// The public methods of tokio's sockets that the surface does not name.
fn missing_methods(root: &Path, tokio: &Path) -> Result<BTreeSet<String>, String> {
    let ours = root.join("crates/kumiki-net/tests");
    let surface = read(&ours.join("parity/surface.rs"))? + &read(&ours.join("parity.rs"))?;
    let words: BTreeSet<&str> = surface.split(|it: char| !(it.is_alphanumeric() || it == '_')).collect();
    let mut missing = BTreeSet::new();
    for file in ["udp", "lookup_host", "tcp/listener", "tcp/socket", "tcp/stream", "tcp/split", "tcp/split_owned"] {
        let text = read(&tokio.join(format!("src/net/{file}.rs")))?;
        for line in text.lines() {
            let line = line.trim_start();
            let name = ["pub fn ", "pub async fn ", "pub const fn "].iter().find_map(|it| line.strip_prefix(it));
            let name = name.and_then(|it| it.split(['(', '<']).next());
            missing.extend(name.filter(|it| !words.contains(it)).map(|it| format!("{file}: {it}")));
        }
    }
    Ok(missing)
}

/// Runs the tests, and says what came of them.
fn run(folder: &Path) -> Result<bool, String> {
    let output = cargo()
        .current_dir(folder)
        .args(["test", "--no-fail-fast", "--tests"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|why| format!("cargo test does not start: {why}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (mut passed, mut failed) = (0, Vec::new());
    for line in text.lines() {
        match line.strip_prefix("test ").and_then(|it| it.split_once(" ... ")) {
            Some((_, "ok")) => passed += 1,
            Some((name, "FAILED")) => failed.push(name.to_owned()),
            _ => {}
        }
    }
    let unexpected: Vec<&String> = failed.iter().filter(|it| !OTHERWISE.iter().any(|other| other.1 == **it)).collect();
    if passed == 0 || !unexpected.is_empty() {
        print!("{text}");
    }
    println!("parity: {passed} tests of turmoil-net and tokio passed, {} failed", failed.len());
    for (file, test, why) in SKIPPED.iter().chain(OTHERWISE) {
        println!("parity: without {file}{}{test}: {why}", if test.is_empty() { "" } else { "::" });
    }
    for name in &unexpected {
        println!("parity: {name} failed");
    }
    Ok(passed > 0 && unexpected.is_empty())
}
