//! Where results come from: `run.json`, beside them.
//!
//! Who ran it, on what machine by name, and where its files are is not in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{COMMIT, Described, Plan};
use crate::progress::Stopwatch;

/// What is known when a run begins.
#[derive(Clone, Debug)]
pub struct Provenance {
    started: String,
    since: Stopwatch,
    command: String,
}

impl Provenance {
    /// Of a run that begins now, by whoever's clock; `command` is what repeats it, without where files are on this machine.
    #[must_use]
    pub fn begin(command: String, started: String) -> Self {
        Self { started, since: Stopwatch::start(), command }
    }

    /// The text of `run.json`, with what is known at the end, of so many points of all.
    #[must_use]
    pub fn end(&self, plan: &Plan, (done, all): (usize, usize)) -> String {
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
        format!("{value:#}\n")
    }
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
