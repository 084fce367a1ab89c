//! `cargo xtask fuzz`: builds the targets of `kumiki-fuzz` for libFuzzer with the stable compiler, and lets one run.
//!
//! | | |
//! |---|---|
//! | Kept corpus | `crates/kumiki-fuzz/tests/corpus/<target>.tar.gz`: replayed by `cargo test -p kumiki-fuzz` |
//! | Own work | `target/fuzz/<target>`: `corpus` (what was found to be of interest), `kept` (the kept corpus as files), `findings` (what made the target panic) |
//! | Needs | a C++ compiler, once, for libFuzzer |
//!
//! Coverage comes from LLVM's own pass, which the stable compiler has; the address sanitizer needs another one, and
//! would find nothing in code without `unsafe`.

use std::path::{Path, PathBuf};
use std::process::Command;

mod archive;

/// How libFuzzer wants the program: counters for each edge, comparisons told.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What the names of kept findings begin with.
const FOUND: &str = "found-";

/// What to do with a target.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task<'a> {
    /// Runs it for so many seconds.
    Run(u64),
    /// Runs it once, with the octets of a file.
    Repeat(&'a str),
    /// Makes the kept corpus the smallest that reaches what its own work and the kept corpus reach.
    Keep,
    /// Keeps the octets of a file as those of a finding of this name.
    Found(&'a str, &'a str),
}

/// Reads what stands behind `fuzz TARGET`.
pub(crate) fn task<'a>(arguments: &[&'a str]) -> Option<Task<'a>> {
    match *arguments {
        [] => Some(Task::Run(60)),
        ["--seconds", seconds] => seconds.parse().ok().map(Task::Run),
        ["--keep"] => Some(Task::Keep),
        ["--found", name, file] => Some(Task::Found(name, file)),
        [file] if !file.starts_with('-') => Some(Task::Repeat(file)),
        _ => None,
    }
}

/// Builds, and does `task` with `target`. Whether the target held.
pub(crate) fn fuzz(root: &Path, target: &str, task: &Task<'_>) -> Result<bool, String> {
    let work = root.join("target/fuzz").join(target);
    let [corpus, kept, findings] = ["corpus", "kept", "findings"].map(|name| work.join(name));
    let packed = root.join("crates/kumiki-fuzz/tests/corpus").join(format!("{target}.tar.gz"));
    if let Task::Found(name, file) = task {
        return found(&packed, name, Path::new(file));
    }
    let program = build(root)?;
    let mut command = Command::new(&program);
    command.env("KUMIKI_FUZZ", target).env("RUST_BACKTRACE", "1");
    let mut prefix = findings.clone().into_os_string();
    prefix.push("/");
    let mut artifacts = std::ffi::OsString::from("-artifact_prefix=");
    artifacts.push(prefix);
    command.args(["-rss_limit_mb=1024", "-timeout=20"]);
    let made = |folder: &Path| std::fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()));
    match *task {
        Task::Run(seconds) => {
            // A name that is no target is answered by the program, and leaves nothing behind.
            if packed.exists() || corpus.is_dir() || known(&program, target)? {
                made(&corpus)?;
                made(&findings)?;
                archive::into_folder(&archive::read(&packed)?, &kept)?;
            }
            command.args(["-max_len=8192", "-len_control=50", "-print_final_stats=1"]);
            command.arg(format!("-max_total_time={seconds}"));
            command.arg(artifacts).arg(&corpus).arg(&kept);
        }
        Task::Repeat(file) => {
            command.arg(file);
        }
        Task::Keep => {
            let fresh = work.join("fresh");
            archive::into_folder(&archive::Inputs::new(), &fresh)?;
            let old = archive::read(&packed)?;
            archive::into_folder(&old, &kept)?;
            for folder in [&corpus, &findings] {
                made(folder)?;
            }
            // Edges alone, not how often each was passed: a fraction of the files.
            command.args(["-merge=1", "-use_counters=0", "-max_len=8192"]);
            command.arg(artifacts).arg(&fresh).arg(&kept).arg(&corpus);
            let held = status(&mut command)?;
            if held {
                let mut inputs = archive::of_folder(&fresh)?;
                // Findings stay, whatever else reaches what they do.
                inputs.extend(old.into_iter().filter(|(name, _)| name.starts_with(FOUND)));
                archive::write(&packed, &inputs)?;
            }
            return Ok(held);
        }
        Task::Found(..) => {}
    }
    status(&mut command)
}

/// Whether the program has a target of this name.
fn known(program: &Path, target: &str) -> Result<bool, String> {
    let mut command = Command::new(program);
    command.env("KUMIKI_FUZZ", target).arg("-runs=0");
    let output = command.output().map_err(|why| format!("{}: {why}", program.display()))?;
    Ok(output.status.success())
}

fn status(command: &mut Command) -> Result<bool, String> {
    let status = command.status().map_err(|why| format!("{}: {why}", command.get_program().display()))?;
    Ok(status.success())
}

/// Adds the octets of `file` to the archive `packed`, under the name of a finding.
fn found(packed: &Path, name: &str, file: &Path) -> Result<bool, String> {
    let octets = std::fs::read(file).map_err(|why| format!("{}: {why}", file.display()))?;
    let mut inputs = archive::read(packed)?;
    let name = if name.starts_with(FOUND) { name.to_owned() } else { format!("{FOUND}{name}") };
    if inputs.insert(name.clone(), octets).is_some() {
        return Err(format!("{} has an input {name} already", packed.display()));
    }
    archive::write(packed, &inputs)?;
    println!("fuzz: {} has {name}", packed.display());
    Ok(true)
}

/// Builds the program; says where it is.
fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let host = host()?;
    // With a target of its own name, flags are for the program and not for what helps to build it.
    let status = Command::new(cargo)
        .current_dir(root)
        .env("RUSTFLAGS", FLAGS)
        .args(["build", "--locked", "--quiet", "--package", "kumiki-fuzz"])
        .args(["--features", "libfuzzer", "--profile", "fuzz"])
        .args(["--target", &host, "--target-dir", "target/fuzz/build"])
        .status()
        .map_err(|why| format!("cargo build does not start: {why}"))?;
    if !status.success() {
        return Err("the targets could not be built; libFuzzer needs a C++ compiler, such as g++".into());
    }
    Ok(root.join("target/fuzz/build").join(host).join("fuzz/kumiki-fuzz"))
}

/// The machine's own target triple.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|why| format!("rustc does not start: {why}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_understood() {
        assert_eq!(task(&[]), Some(Task::Run(60)));
        assert_eq!(task(&["--seconds", "600"]), Some(Task::Run(600)));
        assert_eq!(task(&["crash-1"]), Some(Task::Repeat("crash-1")));
        assert_eq!(task(&["--keep"]), Some(Task::Keep));
        assert_eq!(task(&["--found", "a", "crash-1"]), Some(Task::Found("a", "crash-1")));
        assert_eq!(task(&["--seconds", "ten"]), None);
        assert_eq!(task(&["--faster"]), None);
    }
}
