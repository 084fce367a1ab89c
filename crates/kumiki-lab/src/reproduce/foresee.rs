//! What a plan would run, and about how long that takes, before anything runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Plan, Shard, captures};
use crate::capture::Layers;
use crate::progress::{Cost, spoken};
use crate::scenario::{Scenario, Workload};
use crate::table::{Cell, Table};

/// What a unit of [`Cost::weight`] takes, in seconds: 171 s for `reproduce --quick`, 450 to 500 s for all of it, of an
/// optimised build on a core of an AMD EPYC of 2023. Nothing but this guess depends on it.
const UNIT_S: f64 = 0.27e-6;

/// So many remarks are told of each scenario.
const MOST_REMARKS: usize = 12;

/// What would be run.
#[derive(Clone, Debug)]
pub struct Foreseen {
    points: Vec<Expected>,
    shard: Shard,
    /// Whether points that have ended say how fast this machine is.
    is_measured: bool,
}

#[derive(Clone, Debug)]
struct Expected {
    scenario: String,
    index: usize,
    label: String,
    /// What is said of its queues, and of loads that have no time.
    remarks: Vec<String>,
    varied: Vec<(String, toml::Value)>,
    /// On one core.
    time: Duration,
    shard: Shard,
    /// Has ended before.
    kept: bool,
}

impl Plan {
    /// What `shard` of it would run where the points in `kept` have ended, each in that time
    /// ([`Journal::look`](super::Journal::look)).
    #[must_use]
    pub fn foreseen(&self, shard: Shard, kept: &BTreeMap<usize, Duration>) -> Foreseen {
        let (all, groups) = rates(&self.costs, kept);
        let mut place = 0;
        let mut points = Vec::with_capacity(self.len());
        for part in &*self.parts {
            for point in &part.points {
                let cost = self.costs.get(place);
                let rate = cost.and_then(|cost| groups.get(&cost.group)).copied().or(all).unwrap_or(UNIT_S);
                let seconds = cost.map_or(0.0, |cost| cost.weight * rate);
                points.push(Expected {
                    scenario: part.name.clone(),
                    index: point.index,
                    label: point.label(),
                    remarks: point
                        .scenario
                        .queues_of_paths
                        .values()
                        .cloned()
                        .chain(too_late(&point.scenario))
                        .collect(),
                    varied: point.varied.clone(),
                    time: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
                    shard: shard.sibling(place),
                    kept: kept.contains_key(&place),
                });
                place += 1;
            }
        }
        Foreseen { points, shard, is_measured: all.is_some() }
    }
}

/// Which loads of a scenario are to begin after its end, in words.
fn too_late(scenario: &Scenario) -> Vec<String> {
    let Some(end) = scenario.run.whole() else {
        return Vec::new();
    };
    let late = |(name, load): (&String, &Workload)| {
        let start = load.begins().filter(|start| *start >= end)?;
        Some(format!("{name}: would begin at {start}, and the run is over after {end}: it never begins"))
    };
    scenario.load.iter().filter_map(late).collect()
}

impl Plan {
    /// About how many octets captures of `what` (the layers, and how many octets of each packet, 0 for all) have, of
    /// the points whose place is among `wanted`.
    #[must_use]
    pub fn captured(&self, what: (&Layers, u32), wanted: impl Fn(usize) -> bool) -> f64 {
        let points = self.parts.iter().flat_map(|part| &part.points).enumerate();
        let wanted = points.filter(|(place, _)| wanted(*place));
        wanted.map(|(_, point)| captures::foreseen(point, self.choice.runs, what)).sum()
    }
}

/// How much captures have, in words, with what they would have without what packets carry: where that is something
/// else.
#[must_use]
pub fn size_of_captures(octets: f64, cut: f64) -> String {
    let text = |octets: f64| match octets {
        it if it >= 0.95e9 => format!("{:.1} GB", it / 1e9),
        it if it >= 0.95e6 => format!("{:.0} MB", it / 1e6),
        it => format!("{:.0} kB", (it / 1e3).max(1.0)),
    };
    let less = if cut < 0.7 * octets {
        format!("; with --snaplen {HEADERS_ALONE}, which keeps headers, about {}", text(cut))
    } else {
        String::new()
    };
    format!("captures of about {}{less}", text(octets))
}

/// So many octets of a packet have the headers of the usual layers.
pub const HEADERS_ALONE: u32 = 128;

/// How many seconds a unit of weight took: of all that is known, and of each group of which something is known.
fn rates(costs: &[Cost], kept: &BTreeMap<usize, Duration>) -> (Option<f64>, BTreeMap<usize, f64>) {
    let mut groups: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (place, took) in kept {
        if let Some(cost) = costs.get(*place) {
            let (seconds, weight) = groups.entry(cost.group).or_default();
            *seconds += took.as_secs_f64();
            *weight += cost.weight;
        }
    }
    let all = groups.values().fold((0.0, 0.0), |(a, b), (seconds, weight)| (a + seconds, b + weight));
    let rate = |(seconds, weight): (f64, f64)| (weight > 0.0).then(|| seconds / weight);
    (rate(all), groups.into_iter().filter_map(|(group, it)| Some((group, rate(it)?))).collect())
}

impl Foreseen {
    /// Whether the point is to be run by the shard that was asked for.
    fn runs(&self, point: &Expected) -> bool {
        point.shard == self.shard && !point.kept
    }

    /// How long everything that is to be run takes on one core.
    fn time(&self) -> Duration {
        self.points.iter().filter(|point| self.runs(point)).fold(Duration::ZERO, |sum, it| sum.saturating_add(it.time))
    }

    fn state(&self, point: &Expected) -> String {
        match (point.shard == self.shard, point.kept) {
            (true, true) => "has ended, is skipped".to_owned(),
            (true, false) => "runs".to_owned(),
            (false, _) => format!("shard {}", point.shard),
        }
    }

    /// A table of each scenario.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        for point in &self.points {
            if tables.last().is_none_or(|table| table.title != point.scenario) {
                tables.push(Table {
                    title: point.scenario.clone(),
                    corner: "point".to_owned(),
                    columns: ["number", "foreseen", "state"].map(str::to_owned).to_vec(),
                    ..Table::default()
                });
            }
            let head = if point.label.is_empty() { "the only point".to_owned() } else { point.label.clone() };
            let number = point.index.to_string();
            let cells = [number, short(point.time), self.state(point)].map(Cell::text).to_vec();
            if let Some(table) = tables.last_mut() {
                table.rows.push((head, cells));
                for remark in &point.remarks {
                    if !table.legend.contains(remark) && table.legend.len() < MOST_REMARKS {
                        table.legend.push(remark.clone());
                    }
                }
            }
        }
        tables
    }

    /// How many points, and how long with so many at a time.
    #[must_use]
    pub fn summary(&self, jobs: usize) -> String {
        let count = |wanted: &dyn Fn(&Expected) -> bool| self.points.iter().filter(|point| wanted(point)).count();
        let all = count(&|_| true);
        let runs = count(&|point| self.runs(point));
        let kept = count(&|point| point.shard == self.shard && point.kept);
        let points = if all == 1 { "1 point".to_owned() } else { format!("{all} points") };
        let mut parts = vec![points, format!("{runs} to be run")];
        if kept > 0 {
            parts.push(format!("{kept} skipped, as they have ended"));
        }
        if !self.shard.is_whole() {
            parts.push(format!("{} of other shards", all - runs - kept));
        }
        if runs == 0 {
            return format!("{}. Nothing was written.\n", parts.join(", "));
        }
        let longest = self.points.iter().filter(|point| self.runs(point)).map(|point| point.time).max();
        let jobs = jobs.clamp(1, runs);
        let share = u32::try_from(jobs).ok().and_then(|jobs| self.time().checked_div(jobs)).unwrap_or_default();
        let time = share.max(longest.unwrap_or_default());
        let basis = if self.is_measured {
            "by what points have taken"
        } else {
            "a guess, by the packets and cells that lines allow"
        };
        format!(
            "{}; about {} of one core, {} with {jobs} at a time ({basis}). Nothing was written.\n",
            parts.join(", "),
            spoken(self.time()),
            spoken(time)
        )
    }

    /// A line of JSON for each point.
    #[must_use]
    pub fn to_jsonl(&self) -> String {
        let line = |point: &Expected| {
            let varied: serde_json::Map<String, Value> =
                point.varied.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let state = match (point.shard == self.shard, point.kept) {
                (true, true) => "skipped",
                (true, false) => "runs",
                (false, _) => "other shard",
            };
            let line = json!({ "scenario": point.scenario, "point": point.index, "varied": varied, "foreseen_s": point.time.as_secs_f64(), "shard": point.shard, "state": state });
            format!("{line}\n")
        };
        self.points.iter().map(line).collect()
    }
}

/// "0.3 s", and from a few seconds on as it is spoken.
fn short(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 0.095 => format!("{s:.2} s"),
        s if s < 9.5 => format!("{s:.1} s"),
        _ => spoken(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_headers_alone_would_take_is_told_where_it_is_less() {
        assert_eq!(size_of_captures(2e9, 1.5e9), "captures of about 2.0 GB");
        let less = "captures of about 2 MB; with --snaplen 128, which keeps headers, about 200 kB";
        assert_eq!(size_of_captures(2e6, 2e5), less);
    }
}
