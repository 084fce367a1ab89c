//! Checks of the workspace itself, as one program without dependencies outside the workspace's own.
//!
//! `cargo xtask tidy` reads every file below the root, applies the house rules of STYLE.md that no compiler knows, and
//! prints one line per finding: file, line, rule, what was found, what would be right. Exit status: 0 nothing found,
//! 1 something found, 2 it could not look.

mod finding;
mod rules;
mod rust;
mod tree;

use std::path::Path;
use std::process::{Command, ExitCode};

use tree::Tree;

const USAGE: &str = "usage: cargo xtask tidy

Applies the house rules of STYLE.md to every file of the workspace and prints
one line per finding. Exceptions, with their reasons: xtask/tidy-exceptions.toml.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["tidy"] => match tidy() {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::from(1),
            Err(why) => {
                eprintln!("xtask: {why}");
                ExitCode::from(2)
            }
        },
        ["help" | "-h" | "--help", ..] | ["tidy", "-h" | "--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("xtask: no such task: \"{}\"\n\n{USAGE}", other.join(" "));
            ExitCode::from(2)
        }
    }
}

/// Looks at the whole workspace; the number of findings, or why it could not look.
fn tidy() -> Result<usize, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("the folder of xtask has no parent")?;
    let tree = Tree::read(root)?;
    let mut findings = rules::all(&tree);
    findings.extend(rules::licences::check(&tree, &packages(root)?));
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

/// Every package that this workspace builds on, one per line as `name version<TAB>licence`, the way cargo sees it.
fn packages(root: &Path) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args([
            "tree",
            "--workspace",
            "--locked",
            "--prefix=none",
            "--no-dedupe",
        ])
        .args(["--edges=normal,build,dev", "--format={p}\t{l}"])
        .output()
        .map_err(|why| format!("cargo tree does not start: {why}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "cargo tree --locked failed, so the licences are unknown: {}",
            why.trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
