//! Checks of the workspace itself, as one program without dependencies outside the workspace's own.
//!
//! `cargo xtask standard` writes `docs/rfc9293.md` from the labels in the code: see [`rules::standard`].
//!
//! `cargo xtask tidy` reads every file below the root, applies the house rules of STYLE.md that no compiler knows, and
//! prints one line per finding: file, line, rule, what was found, what would be right. Exit status: 0 nothing found,
//! 1 something found, 2 it could not look.
//!
//! `cargo xtask fuzz` looks for octets that a target of `kumiki-fuzz` does not bear: see [`fuzz`].
//!
//! `cargo xtask parity` runs tests that others wrote for their sockets over those of `kumiki-net`: see [`parity`].
//!
//! `cargo xtask soak` uses a responder for hours and looks whether anything grows: see [`soak`].

mod finding;
mod fuzz;
mod parity;
mod rules;
mod rust;
mod soak;
mod tree;

use std::path::Path;
use std::process::{Command, ExitCode};

use rules::standard;
use tree::Tree;

const USAGE: &str = "usage: cargo xtask tidy
       cargo xtask standard [LABEL]
       cargo xtask fuzz TARGET [--seconds N | FILE | --keep | --found NAME FILE]
       cargo xtask parity
       cargo xtask soak --hours N | --minutes N [--program FILE]

tidy applies the house rules of STYLE.md to every file of the workspace and prints
one line per finding. Exceptions, with their reasons: xtask/tidy-exceptions.toml.

standard writes docs/rfc9293.md, what RFC 9293 asks for and where it is answered;
with a label, such as MUST-18, it writes nothing and prints the lines of that one.

fuzz lets a target of kumiki-fuzz run under libFuzzer: for N seconds (60), or once with
the octets of FILE; --keep makes its corpus in the repository small and complete, and
--found adds the octets of FILE to it as a finding.
\"cargo xtask fuzz list\" prints the targets. docs/fuzzing.md tells the rest.

parity runs the tests of turmoil-net, and those of tokio for sockets, over the sockets of
kumiki-net; it fetches both packages from the registry and works in target/parity.

soak has a responder of FTAM serve callers, with faults, for so long, and puts figures down
each minute, in target/soak/soak.csv; it fails where a transfer does or a figure has a slope.
FILE is the program kumiki, where it is not to be built.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => outcome(tidy()),
        ["standard"] => outcome(write_standard()),
        ["standard", label] if !label.starts_with('-') => outcome(print_label(label)),
        ["fuzz", target, rest @ ..] if !target.starts_with('-') && fuzz::task(rest).is_some() => {
            outcome(fuzzed(target, rest))
        }
        ["parity"] => outcome(root().and_then(parity::parity).map(|held| usize::from(!held))),
        ["soak", rest @ ..] if soak::wanted(rest).is_some() => outcome(soaked(rest)),
        ["help" | "-h" | "--help", ..] | ["tidy" | "standard" | "fuzz" | "parity" | "soak", "-h" | "--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("xtask: no such task: \"{}\"\n\n{USAGE}", other.join(" "));
            ExitCode::from(2)
        }
    }
}

/// The exit status for a number of findings.
fn outcome(findings: Result<usize, String>) -> ExitCode {
    match findings {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::from(2)
        }
    }
}

fn root() -> Result<&'static Path, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().ok_or_else(|| "the folder of xtask has no parent".into())
}

/// Writes the page of RFC 9293's labels, unless something is wrong with them; the number of findings.
fn write_standard() -> Result<usize, String> {
    let root = root()?;
    match standard::page(&Tree::read(root)?) {
        Ok(page) => {
            let path = root.join(standard::PAGE);
            std::fs::write(&path, page).map_err(|why| format!("{}: {why}", path.display()))?;
            println!("standard: wrote {}", standard::PAGE);
            Ok(0)
        }
        Err(findings) => {
            for finding in &findings {
                println!("{finding}");
            }
            Ok(findings.len())
        }
    }
}

/// Does with a target what is asked for; 1 where it did not hold.
fn fuzzed(target: &str, rest: &[&str]) -> Result<usize, String> {
    let task = fuzz::task(rest).ok_or(USAGE)?;
    fuzz::fuzz(root()?, target, &task).map(|held| usize::from(!held))
}

/// Soaks; 1 where it did not hold.
fn soaked(rest: &[&str]) -> Result<usize, String> {
    let wanted = soak::wanted(rest).ok_or(USAGE)?;
    soak::soak(root()?, &wanted).map(|held| usize::from(!held))
}

/// Prints where one label is answered.
fn print_label(label: &str) -> Result<usize, String> {
    let places = standard::places(&Tree::read(root()?)?, label)
        .ok_or_else(|| format!("RFC 9293 has no label \"{label}\"; right: one such as MUST-18"))?;
    print!("{places}");
    Ok(0)
}

/// Looks at the whole workspace; the number of findings, or why it could not look.
fn tidy() -> Result<usize, String> {
    let root = root()?;
    let tree = Tree::read(root)?;
    let mut findings = rules::all(&tree);
    findings
        .extend(rules::licences::check(&tree, &packages(root, &["--workspace", "--no-dedupe", "--format={p}\t{l}"])?));
    let features = |of: &str, edges: &str| packages(root, &[of, edges, "--format={p}\t{f}"]);
    let wheel = features("--package=kumiki-python", "--edges=normal,build")?;
    findings.extend(rules::wheel::check(&features("--workspace", "--edges=normal,build,dev")?, &wheel));
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: {} files, nothing to say", tree.len()),
        n => println!("tidy: {n} findings in {} files", tree.len()),
    }
    Ok(findings.len())
}

/// The packages that something is built on, one per line in a format of cargo's, the way cargo sees them.
fn packages(root: &Path, which: &[&str]) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["tree", "--locked", "--prefix=none"])
        .args(which)
        .output()
        .map_err(|why| format!("cargo tree does not start: {why}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo tree --locked failed, so it is unknown what is built: {}", why.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
