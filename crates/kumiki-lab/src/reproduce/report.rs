//! The page of all results: what stands on it, and where it comes from.

use serde_json::Value;

use super::{COMMIT, CapturedConnections, Results, Verdict, origins, papers};
use crate::page::{Page, Part};
use crate::rows::Output;

/// The page of these results. What another part of the program has written of where they come from is read from
/// `output`.
pub(super) fn page(output: &Output, results: &[Results], connections: &CapturedConnections) -> Page {
    let part = |result: &Results| {
        let flows = connections.of_scenario(result.name()).to_vec();
        Part { flows, courses: result.courses(output), ..result.part(results) }
    };
    let verdicts: Vec<Verdict> = results.iter().flat_map(|result| result.verdicts(results)).collect();
    Page {
        title: title(results),
        origins: origins(&verdicts),
        systems: systems(results),
        parts: results.iter().map(part).collect(),
        provenance: provenance(output, results),
    }
}

/// What to know of the papers' systems, in the order of the papers.
fn systems(results: &[Results]) -> Vec<String> {
    let papers = papers_of(results);
    let told = |paper: &u8| {
        let system = papers::system(*paper)?;
        Some(if papers.len() > 1 { format!("Paper {paper}: {system}") } else { system.to_owned() })
    };
    papers.iter().filter_map(told).collect()
}

fn papers_of(results: &[Results]) -> Vec<u8> {
    let mut papers: Vec<u8> = results.iter().filter_map(|it| it.points.first()?.0.scenario.paper).collect();
    papers.sort_unstable();
    papers.dedup();
    papers
}

fn title(results: &[Results]) -> String {
    if let [only] = results {
        return only.title();
    }
    match papers_of(results).as_slice() {
        [] => format!("{} scenarios", results.len()),
        [paper] => format!("Paper {paper}: {} scenarios", results.len()),
        [first, .., last] => format!("Papers {first} to {last}: {} scenarios", results.len()),
    }
}

impl Results {
    /// What the page says of it, for a page of somebody else: HTML without style and script. `all` are the results of
    /// all scenarios that were run.
    #[must_use]
    pub fn to_html(&self, all: &[Self]) -> String {
        self.part(all).to_html()
    }

    /// What the scenario says of words in figures and tables.
    pub(super) fn meaning(&self) -> Vec<(String, String)> {
        let report = self.points.first().map(|(point, _)| &point.scenario.report);
        report.into_iter().flat_map(|report| report.meaning.clone()).collect()
    }

    fn part(&self, all: &[Self]) -> Part {
        let first = self.points.first().map(|(point, _)| point);
        Part {
            name: self.name.clone(),
            title: self.title(),
            about: first.map(|point| point.scenario.about.clone()).unwrap_or_default(),
            points: self.points.len(),
            figures: self.figure().into_iter().chain(self.task_figure()).chain(self.held_worth_showing()).collect(),
            tables: [Some(self.table()), self.task_table()].into_iter().flatten().collect(),
            meaning: self.meaning(),
            verdicts: self.verdicts(all),
            glance: if first.is_some_and(|point| point.scenario.paper.is_some()) { Vec::new() } else { self.glance() },
            bounds: self.bounds(),
            each_flow: self.flow_table().unwrap_or_default(),
            courses: Vec::new(),
            failures: self.failures(),
            flows: Vec::new(),
            scenario: first.map(|point| point.resolved().to_string()).unwrap_or_default(),
        }
    }
}

/// What the program knows of itself and was told, and what `run.json` adds.
fn provenance(output: &Output, results: &[Results]) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    let run = std::fs::read(output.path(Output::RUN)).ok();
    let run: Option<Value> = run.and_then(|octets| serde_json::from_slice(&octets).ok());
    // What is not of the form that is known is only not told.
    let told = |path: &str| match run.as_ref()?.pointer(path)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let mut add = |name: &str, value: Option<String>| {
        known.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    add("Command", told("/command"));
    add("Version", Some(format!("Kumiki {}", env!("CARGO_PKG_VERSION"))));
    add("Commit", COMMIT.map(str::to_owned));
    if let Some(choice) = results.first().map(|result| &result.choice) {
        let set = choice.set.iter().map(|set| format!("--set {set:?}"));
        let quick = choice.quick.then(|| "--quick".to_owned());
        let runs = choice.runs.map(|runs| format!("--runs {runs}"));
        add("Options", Some(set.chain(quick).chain(runs).collect::<Vec<_>>().join(" ")));
    }
    let points: usize = results.iter().map(|result| result.points.len()).sum();
    add("Points", Some(points.to_string()));
    add("Seeds", seeds(results));
    let machine = ["/machine/cpu", "/machine/architecture", "/machine/system", "/machine/kernel"];
    let cores = told("/machine/cores").map(|cores| format!("{cores} cores"));
    let machine: Vec<String> = machine.into_iter().filter_map(told).chain(cores).collect();
    add("Machine", Some(machine.join(", ")));
    add("Started", told("/started"));
    let took = told("/took_s").and_then(|text| text.parse::<f64>().ok());
    add("Took", took.map(|seconds| format!("{seconds:.1} s")));
    known
}

/// "1", or "1 to 40".
fn seeds(results: &[Results]) -> Option<String> {
    let seeds = || results.iter().flat_map(Results::rows).map(|row| row.seed);
    let (first, last) = (seeds().min()?, seeds().max()?);
    Some(if first == last { first.to_string() } else { format!("{first} to {last}") })
}
