//! Where results come from: `run.json`, beside them.
//!
//! Who ran it, on what machine by name, and where its files are is not in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kumiki_lab::progress::Stopwatch;
use kumiki_lab::reproduce::{COMMIT, Described, Plan};
use kumiki_lab::rows::Output;
use serde_json::{Value, json};

use super::super::Stop;

/// What is known when a run begins.
pub(super) struct Provenance {
    started: String,
    since: Stopwatch,
    /// The command line, as a shell reads it.
    command: String,
}

impl Provenance {
    pub(super) fn begin(arguments: impl Iterator<Item = String>) -> Self {
        Self {
            started: kumiki_live::date(),
            since: Stopwatch::start(),
            command: super::again(arguments.map(|it| without_place(&it)), false),
        }
    }

    /// Writes what is known at the end, of so many points of all.
    pub(super) fn write(&self, plan: &Plan, output: &Output, (done, all): (usize, usize)) -> Result<(), Stop> {
        let described: Vec<Described> = plan.described().collect();
        let profiles: BTreeMap<String, String> = described.iter().flat_map(|it| it.profiles.clone()).collect();
        let scenario = |it: Described| json!({ "name": it.name, "points": it.points, "first_seed": it.seed, "sha256": it.sha256, "first_point": it.text });
        let scenarios: Vec<Value> = described.into_iter().map(scenario).collect();
        let choice = plan.choice();
        let value = json!({
            "command": self.command,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": COMMIT,
            "options": { "set": choice.set, "quick": choice.quick, "runs": choice.runs },
            "profiles": profiles,
            "scenarios": scenarios,
            "machine": machine(),
            "started": self.started,
            "took_s": self.since.elapsed().as_secs_f64(),
            "points": { "done": done, "all": all },
        });
        let text = serde_json::to_string_pretty(&value).map_err(|why| Stop::Failed(why.to_string()))?;
        output.write(Output::RUN, format!("{text}\n").as_bytes())?;
        Ok(())
    }
}

/// A word of the command line in which files are named without where they are on this machine.
fn without_place(word: &str) -> String {
    let (before, path) = match word.split_once('=') {
        Some((name, value)) if value.starts_with('/') => (format!("{name}="), value),
        Some(_) | None => (String::new(), word),
    };
    let name = Path::new(path).file_name().filter(|_| path.starts_with('/'));
    name.map_or_else(|| word.to_owned(), |name| format!("{before}{}", name.to_string_lossy()))
}

/// The kernel, the processor and how many of it; `null` for what the system does not tell.
fn machine() -> Value {
    let first = |path: &str| fs::read_to_string(Path::new(path)).ok();
    let kernel = first("/proc/sys/kernel/osrelease").map(|it| it.trim().to_owned());
    let model = first("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let cores = std::thread::available_parallelism().ok().map(usize::from);
    json!({ "system": std::env::consts::OS, "architecture": std::env::consts::ARCH, "kernel": kernel, "cpu": model, "cores": cores })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_files_are_is_left_out() {
        for (word, kept) in [
            ("/home/ada/x.toml", "x.toml"),
            ("--out=/home/ada/out", "--out=out"),
            ("x.toml", "x.toml"),
            ("rtt=20 ms / 2", "rtt=20 ms / 2"),
            ("./x.toml", "./x.toml"),
        ] {
            assert_eq!(without_place(word), kept);
        }
    }
}
