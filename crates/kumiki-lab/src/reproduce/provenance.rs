//! Where results come from: `run.json`, beside them.
//!
//! Who ran it, on what machine by name, and where its files are is not in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{COMMIT, Described, Plan};
use crate::progress::Stopwatch;
use crate::rows::Output;

/// What is known when a run begins.
#[derive(Clone, Debug)]
pub struct Provenance {
    started: String,
    since: Stopwatch,
    command: String,
    /// How long what came before took, in seconds.
    before_s: f64,
    /// The commands that it took.
    parts: Vec<String>,
}

impl Provenance {
    /// Of a run that begins now, by whoever's clock; `command` is what repeats it, without where files are on this
    /// machine.
    #[must_use]
    pub fn begin(command: String, started: String) -> Self {
        Self { started, since: Stopwatch::start(), command, before_s: 0.0, parts: Vec::new() }
    }

    /// The same, of a result of which parts are in these directories: it began with the first of them, took as long as
    /// all together, and by their commands. What a directory does not tell, since a run was not even interrupted but
    /// just gone, is not in it.
    #[must_use]
    pub fn after(mut self, directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let directories =
            directories.into_iter().map(|it| fs::canonicalize(&it).unwrap_or_else(|_| it.as_ref().to_owned()));
        // One that is named twice is one.
        for directory in directories.collect::<BTreeSet<_>>() {
            let octets = fs::read(directory.join(Output::RUN)).ok();
            let Some(run) = octets.and_then(|octets| serde_json::from_slice::<Value>(&octets).ok()) else {
                continue;
            };
            self.before_s += run.get("took_s").and_then(Value::as_f64).filter(|took| *took > 0.0).unwrap_or(0.0);
            // Of what was itself put together, all of them.
            let before = run.get("parts").and_then(Value::as_array).map_or_else(Vec::new, |all| all.iter().collect());
            let commands = if before.is_empty() { run.get("command").into_iter().collect() } else { before };
            for command in commands.into_iter().filter_map(Value::as_str) {
                if !self.parts.iter().any(|known| known == command) {
                    self.parts.push(command.to_owned());
                }
            }
            // Dates of this form are in their order.
            if let Some(started) = run.get("started").and_then(Value::as_str).filter(|it| !it.is_empty()) {
                self.started = core::cmp::min(self.started, started.to_owned());
            }
        }
        self
    }

    /// The text of `run.json`, with what is known at the end: so many points of all are done, of which so many have
    /// failed.
    #[must_use]
    pub fn end(&self, plan: &Plan, (done, all): (usize, usize), failed: usize) -> String {
        let described: Vec<Described> = plan.described().collect();
        let profiles: BTreeMap<String, String> = described.iter().flat_map(|it| it.profiles.clone()).collect();
        let scenario = |it: Described| json!({ "name": it.name, "points": it.points, "first_seed": it.seed, "sha256": it.sha256, "first_point": it.text });
        let scenarios: Vec<Value> = described.into_iter().map(scenario).collect();
        let choice = plan.choice();
        let mut value = json!({
            "command": self.command,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": COMMIT,
            "options": { "set": choice.set, "quick": choice.quick, "runs": choice.runs },
            "profiles": profiles,
            "scenarios": scenarios,
            "machine": machine(),
            "started": self.started,
            "took_s": self.before_s + self.since.elapsed().as_secs_f64(),
            "points": { "done": done, "failed": failed, "all": all },
        });
        // Of what was gone on with the command is the same.
        if let Some(value) = value.as_object_mut().filter(|_| self.parts.iter().any(|part| *part != self.command)) {
            value.insert("parts".to_owned(), json!(self.parts));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_on_with_or_put_together_began_first_and_took_all() {
        let folder = kumiki_watchdog::process::Folder::new("provenance");
        let part = |name: &str, text: &str| {
            fs::create_dir(folder.path(name)).unwrap();
            folder.write(&format!("{name}/{}", Output::RUN), text.as_bytes());
            folder.path(name)
        };
        let one = part("one", r#"{ "command": "run 1/3", "started": "2026-01-02T00:00:00Z", "took_s": 100.5 }"#);
        let other = r#"{ "parts": ["run 2/3", "run 3/3"], "command": "merge", "started": "2026-01-01T00:00:00Z", "took_s": 1000 }"#;
        let other = part("other", other);
        let torn = part("torn", r#"{ "star"#);
        let begin = || Provenance::begin("kumiki merge".to_owned(), "2026-01-03T00:00:00Z".to_owned());
        let plan = Plan { parts: [].into(), choice: crate::scenario::Choice::default(), costs: [].into() };
        let said = |provenance: Provenance| -> (String, f64) {
            let run: Value = serde_json::from_str(&provenance.end(&plan, (0, 0), 0)).unwrap();
            (run["started"].as_str().unwrap().to_owned(), run["took_s"].as_f64().unwrap().floor())
        };
        let all = [&one, &other, &one, &torn, &folder.path("none")];
        assert_eq!(said(begin().after(all)), ("2026-01-01T00:00:00Z".to_owned(), 1100.0));
        let parts = |provenance: Provenance| -> Value {
            let run: Value = serde_json::from_str(&provenance.end(&plan, (0, 0), 0)).unwrap();
            run["parts"].clone()
        };
        assert_eq!(parts(begin().after(all)), json!(["run 1/3", "run 2/3", "run 3/3"]));
        // What is gone on with was begun by the same command.
        let again = Provenance::begin("run 1/3".to_owned(), String::new()).after([&one]);
        assert_eq!(parts(again), Value::Null);
        assert_eq!(said(begin()), ("2026-01-03T00:00:00Z".to_owned(), 0.0));
    }
}
