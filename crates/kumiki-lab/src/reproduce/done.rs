//! One point: its runs, and what they say together.

use std::collections::BTreeSet;
use std::sync::Arc;

use kumiki_octets::text::counted;
use serde::{Deserialize, Serialize};

use super::glance::{is_copy, is_lost};
use super::journal::{Entry, Stored};
use super::{Failure, Interruption, NOT_RUN, Runner};
use crate::capture::Contents;
use crate::rows::{HALF_WIDTH, OutputError, Parameter, Row, Scope};
use crate::scenario::{Point, Repeat, Workload};
use crate::stats::{self, Level, Stopping, Summary, Verdict};

/// What one run of a point has brought, but for captures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunResult {
    /// Its rows, complete.
    pub(super) rows: Vec<Row>,
    /// What a reader of the table should know.
    pub(super) notes: Vec<String>,
    /// Lines in the figure that nothing can exceed.
    pub(super) limits: Vec<(String, f64)>,
}

/// What all runs of a point gave. It follows from them alone, so that it is the same whether they were made now or are
/// read from a journal.
#[derive(Clone, Debug)]
pub(super) struct PointResult {
    pub(super) rows: Vec<Row>,
    /// How many runs were made. Those that lack the value that is shown are among them, and not in the summary.
    pub(super) runs: usize,
    /// What the point is about: the load of `[report]`, or all together. Nothing where no run has the value that is
    /// shown.
    pub(super) summary: Option<Summary>,
    /// Of each load, where there are several and none of them is the one.
    pub(super) loads: Vec<(String, Summary)>,
    pub(super) notes: Vec<String>,
    pub(super) limits: Vec<(String, f64)>,
    /// Its captures, by their names below the directory of results; those of the first run come first.
    pub(super) captures: Vec<String>,
    /// Where its rows are whole. Then those here are what tables, figures and verdicts look at, and the rest is not in
    /// memory.
    stored: Option<Stored>,
}

/// A point without a result.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    /// Why, in words.
    pub(super) why: String,
    /// What its runs have to show all the same.
    pub(super) rows: Vec<Row>,
    /// What a reader of the table should know beside that.
    pub(super) notes: Vec<String>,
    /// And its captures, as a point with a result has them.
    pub(super) captures: Vec<String>,
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self { why, rows: Vec::new(), notes: Vec::new(), captures: Vec::new() }
    }
}

/// All runs of a point.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    pub(super) runs: Vec<RunResult>,
    pub(super) captures: Captures,
    /// Why the last of them failed, where it did and has rows all the same.
    pub(super) failed: Option<String>,
}

/// The captures of a point: which repetition, the name of the file, what is in it.
pub(super) type Captures = Vec<(u32, String, Contents)>;

/// Why a point has not been run to its end.
#[derive(Debug)]
pub(super) enum Unfinished {
    /// Why it failed.
    Failed(String),
    /// What could not be written, so that nothing else can be, either.
    Unwritten(OutputError),
}

impl From<String> for Unfinished {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// All repetitions of one point, each on up to so many cores.
pub(super) fn repeat(
    runner: &impl Runner,
    (point, cores): (&Point, usize),
    most: Option<u32>,
    interruption: &Interruption,
) -> Result<Repeated, Unfinished> {
    let known = point.row();
    let stopping = stopping(point);
    let fixed = point.scenario.run.repeat.as_ref();
    let wanted = fixed.map(|it| it.made(most).max(1));
    let is_one_of_several = stopping.is_some() || wanted.is_some_and(|wanted| wanted > 1);
    let mut values = Vec::new();
    let mut runs: Vec<RunResult> = Vec::new();
    let mut captures = Vec::new();
    let mut point = point.clone();
    for repetition in 0_u32.. {
        if repetition > 0 && interruption.is_made() {
            // Fewer runs than were asked for would be another result.
            return Err(NOT_RUN.to_owned().into());
        }
        let seed = known.seed.wrapping_add(repetition.into());
        Arc::make_mut(&mut point.scenario).run.seed = seed;
        let failed = |why: String| if is_one_of_several { format!("seed {seed}: {why}") } else { why };
        let outcome = runner.run_on(&point, cores).map_err(|why: Failure| match why.downcast() {
            Ok(unwritten) => Unfinished::Unwritten(*unwritten),
            Err(why) => failed(why.to_string()).into(),
        })?;
        let mut ran = RunResult { notes: outcome.notes, limits: outcome.limits, ..RunResult::default() };
        for row in outcome.rows {
            ran.rows.push(identified(row, &known, &point, (seed, repetition))?);
        }
        captures.extend(outcome.captures.into_iter().map(|(name, contents)| (repetition, name, contents)));
        if let Some(why) = outcome.failed {
            runs.push(ran);
            // What its other runs have brought is no result either: the point is these runs together.
            runs.iter_mut().flat_map(|ran| &mut ran.rows).for_each(|row| row.failed = true);
            return Ok(Repeated { runs, captures, failed: Some(failed(why)) });
        }
        values.extend(own_value(&ran.rows, &point)?);
        runs.push(ran);
        if wanted.is_some_and(|wanted| repetition + 1 < wanted) {
            continue;
        }
        match stopping.map(|stopping| stopping.after(&values, runs.len())) {
            None | Some(Verdict::Enough { .. } | Verdict::TooWide { .. }) => break,
            Some(Verdict::More) => {}
        }
    }
    Ok(Repeated { runs, captures, failed: None })
}

/// The row with what says of which point, seed and repetition it is.
fn identified(row: Row, known: &Row, point: &Point, (seed, repetition): (u64, u32)) -> Result<Row, String> {
    // The paper's value is of the point, and not of a part of it.
    let paper_mbps = known.paper_mbps.filter(|_| is_own(&row, point));
    let mut varied = known.varied.clone();
    // What the run has to say of itself: the part of a host that the row is of, what was measured.
    let said = row.varied.into_iter();
    varied.extend(said.filter(|(name, _)| known.parameter(name).is_none()));
    let row = Row {
        varied,
        seed,
        repetition,
        paper: known.paper,
        figure: known.figure.clone(),
        series: known.series.clone(),
        paper_mbps,
        profile: known.profile.clone(),
        fitted: known.fitted,
        fit_points: known.fit_points,
        fit_parameters: known.fit_parameters,
        version: known.version.clone(),
        ..row
    };
    row.check().map_err(|why| why.to_string())?;
    Ok(row)
}

/// Whether the row is what the point is about: the load of `[report]`, or all together.
fn is_own(row: &Row, point: &Point) -> bool {
    row.scope != Scope::Flow && row.load == point.scenario.report.load
}

/// What is shown of a run; nothing where it has no such value.
fn own_value(rows: &[Row], point: &Point) -> Result<Option<f64>, String> {
    let own = rows.iter().find(|row| is_own(row, point)).ok_or("the run gave no result")?;
    Ok(own.value(&point.scenario.report.shown()))
}

/// That some of the runs have no value to be shown, and why.
fn without_value(values: &[Option<f64>], point: &Point) -> Option<String> {
    let seeds = (0_u64..).zip(values).filter(|(_, value)| value.is_none());
    let seeds: Vec<u64> = seeds.map(|(number, _)| point.scenario.run.seed.wrapping_add(number)).collect();
    let shown = point.scenario.report.shown();
    let note = format!("no {}: {}", shown.name(), shown.why_not());
    let others = if seeds.len() < values.len() { "; the value is of the other runs" } else { "" };
    (!seeds.is_empty()).then(|| of_runs(format!("{note}{others}"), &seeds, values.len()))
}

/// The rule by which a point is repeated until its interval is narrow, where it has one.
fn stopping(point: &Point) -> Option<Stopping> {
    let wanted = point.scenario.run.confidence.as_ref()?;
    let level = wanted.level()?;
    let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    Some(Stopping::new(level, wanted.width.as_percent()).runs(count(wanted.most), count(wanted.fewest)))
}

impl PointResult {
    /// What a line of a journal says of `point`.
    ///
    /// # Errors
    ///
    /// Why it failed, where it did.
    pub(super) fn of_entry(point: &Point, entry: Entry) -> Result<Self, Failed> {
        if let Some(why) = entry.failed {
            let notes = of_all(&entry.runs, point);
            let rows = entry.runs.into_iter().flat_map(|ran| ran.rows).collect();
            return Err(Failed { why, rows, notes, captures: entry.captures });
        }
        let done = Self::of(point, entry.runs)?;
        Ok(Self { captures: entry.captures, ..done })
    }

    /// The same with all of its rows in a journal, and in memory what is looked at.
    pub(super) fn stored(mut self, stored: Stored, point: &Point) -> Self {
        let flows = self.rows.iter().filter(|row| row.scope == Scope::Flow && row.repetition == 0).count();
        let wanted = LookedAtRows::of(point).of_flows(flows);
        self.rows.retain(|row| wanted.keeps(row));
        for row in &mut self.rows {
            wanted.thin(row);
        }
        self.rows.shrink_to_fit();
        self.stored = Some(stored);
        self
    }

    /// All of its rows, whole.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where the journal cannot be read.
    pub(super) fn whole(&self) -> Result<Vec<Row>, OutputError> {
        let Some(stored) = &self.stored else {
            return Ok(self.rows.clone());
        };
        Ok(stored.entry()?.runs.into_iter().flat_map(|ran| ran.rows).collect())
    }

    /// What these runs of `point` say together.
    ///
    /// # Errors
    ///
    /// In words, where one of them has no result.
    fn of(point: &Point, runs: Vec<RunResult>) -> Result<Self, String> {
        let stopping = stopping(point);
        let made = runs.len();
        let all = runs.iter().map(|ran| own_value(&ran.rows, point)).collect::<Result<Vec<_>, _>>()?;
        let mut notes: Vec<String> = without_value(&all, point).into_iter().collect();
        let mut values: Vec<f64> = all.into_iter().flatten().collect();
        if let Some(Verdict::TooWide { width_percent }) = stopping.map(|stopping| stopping.after(&values, made))
            && values.len() > 1
        {
            let with = values.len();
            let some = if with < made { format!(", of which {with} have a value,") } else { String::new() };
            notes.push(format!(
                "after {runs}{some} the interval is still {width_percent:.1} % of the mean wide",
                runs = counted(made, "run")
            ));
        }
        notes.extend(of_all(&runs, point));
        let mut limits: Vec<(String, f64)> = Vec::new();
        let mut rows = Vec::new();
        for ran in runs {
            for limit in ran.limits {
                if !limits.contains(&limit) {
                    limits.push(limit);
                }
            }
            rows.extend(ran.rows);
        }
        notes.extend(unfair(point, &rows));
        let fixed = point.scenario.run.repeat.as_ref();
        if let Some(fixed) = fixed {
            one_of((fixed, made), &mut values, &mut notes);
        }
        let level = stopping.map_or(Level::P99, |stopping| stopping.level());
        let mut summary = Summary::of(&values, level);
        if let (Some(summary), Some(own)) = (&mut summary, rows.iter().find(|row| is_own(row, point))) {
            of_batches(summary, own, point);
        }
        let loads = of_loads(point, &rows, fixed, level);
        notes.extend(fixed.and(summary).and_then(|summary| unlike(&summary, &loads, point)));
        notes.extend(wide(&loads, point));
        Ok(Self { rows, runs: made, summary, loads, notes, limits, captures: Vec::new(), stored: None })
    }
}

/// So many points have rows of their flows in memory, and those of all runs where it has no more flows than that: more
/// are shown nowhere.
const WITH_FLOWS: usize = 64;

/// What of the rows of a point is looked at after its runs.
#[derive(Clone, Copy)]
pub(super) struct LookedAtRows {
    flows: bool,
    /// Flows of all runs, and not only of the first.
    runs_of_flows: bool,
    /// Of flows of further runs what held them, and nothing else.
    held_alone: bool,
    /// All of queues and counters, and not only how long the former mostly were, and what of the latter was lost.
    queues: bool,
    counters: bool,
}

impl LookedAtRows {
    pub(super) fn of(point: &Point) -> Self {
        let scenario = &point.scenario;
        let names = |map: &str| {
            let claimed = scenario.claim.iter().filter_map(|claim| claim.value.as_deref());
            claimed.chain(scenario.report.value.as_deref()).any(|value| value.starts_with(map))
        };
        let held_of_flows = scenario.report.held.as_deref() == Some("flow");
        Self {
            flows: point.index < WITH_FLOWS || held_of_flows,
            runs_of_flows: held_of_flows,
            held_alone: point.index >= WITH_FLOWS,
            queues: names("queues."),
            counters: names("counters.") || scenario.claim.iter().any(|claim| claim.cpu.is_some()),
        }
    }

    /// The same of a point with so many flows.
    fn of_flows(self, flows: usize) -> Self {
        let is_few = flows <= WITH_FLOWS;
        Self { runs_of_flows: self.runs_of_flows || is_few, held_alone: self.held_alone || !is_few, ..self }
    }

    fn keeps(self, row: &Row) -> bool {
        row.scope != Scope::Flow || (self.flows && (self.runs_of_flows || row.repetition == 0))
    }

    /// Leaves what is looked at.
    pub(super) fn thin(self, row: &mut Row) {
        if row.scope == Scope::Flow && row.repetition > 0 {
            let times = [&mut row.round_trip_ms, &mut row.delay_ms, &mut row.completion_ms, &mut row.with_opening_ms];
            for times in times {
                times.retain(|name, _| !self.held_alone && ["mean", "p99"].contains(&name.as_str()));
            }
        }
        if !self.queues && row.repetition > 0 {
            for lengths in row.queues.values_mut() {
                lengths.retain(|name, _| name == "p95");
            }
        }
        if !self.counters {
            // Of what was lost the page tells.
            for (layer, counts) in &mut row.counters {
                counts.retain(|name, _| is_lost(layer, name) || is_copy(name));
            }
            row.counters.retain(|_, counts| !counts.is_empty());
        }
    }
}

/// Below this the fairness of sessions is worth a note.
const UNFAIR: f64 = 0.95;

/// How unfair the sessions of a paper were, on average over the runs; of everything else a column tells it.
fn unfair(point: &Point, rows: &[Row]) -> Vec<String> {
    let Some(_) = point.scenario.paper else {
        return Vec::new();
    };
    let told = |scope: Scope, load: Option<&String>| {
        let own = rows.iter().filter(|row| row.scope == scope && row.load.as_ref() == load);
        let mean = stats::mean(&own.map(|row| row.jain).collect::<Option<Vec<f64>>>()?)?;
        (mean < UNFAIR).then(|| format!("Jain's index {mean:.3}"))
    };
    let loads = point.scenario.loads();
    if let Some(load) = &point.scenario.report.load {
        return told(Scope::Load, Some(load)).into_iter().collect();
    }
    if let [(only, _)] = loads.as_slice() {
        return told(Scope::Load, Some(only)).into_iter().collect();
    }
    let each = loads.iter().filter_map(|(name, _)| Some(format!("{name}: {}", told(Scope::Load, Some(name))?)));
    each.chain(told(Scope::Total, None).map(|note| format!("all flows: {note}"))).collect()
}

/// The notes of all `runs` of a point, each once, with the seeds of those that have it. Notes that differ in numbers
/// alone are one, with the least and the greatest of these.
fn of_all(runs: &[RunResult], point: &Point) -> Vec<String> {
    let names = point.scenario.names();
    let mut told: Vec<(Vec<NoteWord<'_>>, Vec<u64>)> = Vec::new();
    for (repetition, ran) in (0_u64..).zip(runs) {
        let seed = point.scenario.run.seed.wrapping_add(repetition);
        let notes: Vec<Vec<NoteWord<'_>>> = ran.notes.iter().map(|note| words(note, &names)).collect();
        for note in &notes {
            // Of several in one run it is not known which of them is which in another one.
            let is_one = notes.iter().filter(|other| are_alike(other, note)).count() == 1;
            let is_known = |(known, seeds): &&mut (Vec<NoteWord<'_>>, Vec<u64>)| {
                known == note || (is_one && are_alike(known, note) && !seeds.contains(&seed))
            };
            match told.iter_mut().find(is_known) {
                Some((known, seeds)) => {
                    known.iter_mut().zip(note).for_each(|(known, word)| known.widen(word));
                    seeds.push(seed);
                }
                None => told.push((note.clone(), vec![seed])),
            }
        }
    }
    let text = |(note, seeds): (Vec<NoteWord<'_>>, Vec<u64>)| {
        let is_range = note.iter().any(NoteWord::is_range);
        let note = note.iter().map(NoteWord::text).collect::<Vec<_>>().join(" ");
        // Of numbers that differ it is said that this is by the seed.
        if is_range { format!("{}: {note}", seeds_of(&seeds)) } else { of_runs(note, &seeds, runs.len()) }
    };
    told.into_iter().map(text).collect()
}

/// A word of a note.
#[derive(Clone, PartialEq, Debug)]
enum NoteWord<'a> {
    Plain(&'a str),
    /// A number, as the least and the greatest of some are written, between what stands before it and behind it. Both
    /// are told without a word between them, for notes have words of their own there: "from 0..3 to 250..301 frames".
    Number(&'a str, [&'a str; 2], &'a str),
}

/// The words of a note. What is one of `names` or a part of a name, as of a line or an address, is no number.
fn words<'a>(note: &'a str, names: &BTreeSet<&str>) -> Vec<NoteWord<'a>> {
    let word = |word| {
        let rest = str::trim_start_matches(word, '(');
        let number = rest.trim_end_matches([')', ',', ';', ':', '.']);
        let is_number = number.starts_with(|c: char| c.is_ascii_digit())
            && number.parse::<f64>().is_ok()
            && !names.contains(number);
        let parts = || Some((word.strip_suffix(rest)?, rest.strip_prefix(number)?));
        match parts().filter(|_| is_number) {
            Some((before, behind)) => NoteWord::Number(before, [number; 2], behind),
            None => NoteWord::Plain(word),
        }
    };
    note.split(' ').map(word).collect()
}

/// Whether two notes differ in numbers alone, if at all.
fn are_alike(one: &[NoteWord<'_>], other: &[NoteWord<'_>]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|both| match both {
            (NoteWord::Number(before, _, behind), NoteWord::Number(other, _, end)) => (before, behind) == (other, end),
            (one, other) => one == other,
        })
}

impl<'a> NoteWord<'a> {
    /// Takes in what `other` has in the same place.
    fn widen(&mut self, other: &Self) {
        let (Self::Number(_, [least, greatest], _), Self::Number(_, [low, high], _)) = (self, other) else {
            return;
        };
        let is_less = |a: &'a str, b: &'a str| a.parse::<f64>().ok() < b.parse::<f64>().ok();
        if is_less(low, least) {
            *least = low;
        }
        if is_less(greatest, high) {
            *greatest = high;
        }
    }

    fn is_range(&self) -> bool {
        matches!(self, Self::Number(_, [least, greatest], _) if least != greatest)
    }

    fn text(&self) -> String {
        match self {
            Self::Plain(word) => (*word).to_owned(),
            Self::Number(before, [least, _], behind) if !self.is_range() => format!("{before}{least}{behind}"),
            Self::Number(before, [least, greatest], behind) => format!("{before}{least}..{greatest}{behind}"),
        }
    }
}

/// What the runs with `seeds` have said, of so many.
pub(super) fn of_runs(note: String, seeds: &[u64], runs: usize) -> String {
    if seeds.len() == runs { note } else { format!("{}: {note}", seeds_of(seeds)) }
}

/// "seed 3", "seeds 1, 3, 5 to 20".
fn seeds_of(seeds: &[u64]) -> String {
    let follow = |one: &u64, next: &u64| one.checked_add(1) == Some(*next);
    let told = seeds.chunk_by(follow).flat_map(|row| match row {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(u64::to_string).collect(),
    });
    let (told, s) = (told.collect::<Vec<_>>().join(", "), if seeds.len() == 1 { "" } else { "s" });
    format!("seed{s} {told}")
}

/// What the runs say of each load, where there are several and `[report]` names none.
fn of_loads(point: &Point, rows: &[Row], fixed: Option<&Repeat>, level: Level) -> Vec<(String, Summary)> {
    let loads = point.scenario.loads();
    let shown = point.scenario.report.shown();
    // Echoes have no goodput; a note says what became of them.
    let has_value = |load: &Workload| !shown.is_goodput() || load.kind != "ping";
    let is_one_of = loads.len() > 1;
    let loads = loads.into_iter().filter(|(_, load)| is_one_of && has_value(load));
    let names = loads.map(|(name, _)| name.clone()).filter(|_| point.scenario.report.load.is_none());
    let of_load = |name: String| {
        let own = rows.iter().filter(|row| row.scope == Scope::Load && row.load.as_ref() == Some(&name));
        let mut values: Vec<f64> = own.filter_map(|row| row.value(&shown)).collect();
        if let Some(fixed) = fixed {
            one_of((fixed, values.len()), &mut values, &mut Vec::new());
        }
        let mut summary = Summary::of(&values, level)?;
        if let Some(row) = rows.iter().find(|row| row.scope == Scope::Load && row.load.as_ref() == Some(&name)) {
            of_batches(&mut summary, row, point);
        }
        Some((name, summary))
    };
    names.filter_map(of_load).collect()
}

/// That the values of the loads are not of the same runs as that of all together, where one sees it.
pub(super) fn unlike(all: &Summary, loads: &[(String, Summary)], point: &Point) -> Option<String> {
    const SEEN: f64 = 0.005;
    let sum: f64 = loads.iter().map(|(_, load)| load.mean).sum();
    let is_sum = point.scenario.report.shown().is_goodput() && !loads.is_empty();
    (is_sum && (sum - all.mean).abs() >= SEEN).then(|| {
        let said = "the loads do not add up to the total: of each and of all together other runs are left out";
        format!("{said} (the sum is {sum:.2}, the total {:.2})", all.mean)
    })
}

/// Which loads have wider intervals than were asked for: as many runs are made as that of all together takes. Of a
/// paper its own values are asked for.
fn wide(loads: &[(String, Summary)], point: &Point) -> Option<String> {
    let wanted = point.scenario.run.confidence.as_ref().filter(|_| point.scenario.paper.is_none())?.width.as_percent();
    let width = |load: &Summary| load.half_width.filter(|_| load.mean > 0.0).map(|half| 200.0 * half / load.mean);
    let wide = loads.iter().filter_map(|(name, load)| Some((name, width(load)?))).filter(|(_, width)| *width > wanted);
    let wide: Vec<String> = wide.map(|(name, width)| format!("{name} {width:.1} %")).collect();
    (!wide.is_empty()).then(|| {
        let all = wide.join(", ");
        format!("wider than {wanted} % of the mean, which is looked at of all loads together: {all}; a greater `fewest`, or `load` in [report]")
    })
}

/// Gives the summary of a single run the interval that its batches have, where goodput is shown.
fn of_batches(summary: &mut Summary, row: &Row, point: &Point) {
    if let Some(Parameter::Number(width)) = row.parameter(HALF_WIDTH)
        && point.scenario.report.shown().is_goodput()
    {
        summary.half_width = Some(*width).filter(|width| *width > 0.0);
        summary.level = Level::P95;
    }
}

/// Makes one value of a fixed number of runs, of which so many were made.
pub(super) fn one_of((fixed, made): (&Repeat, usize), values: &mut Vec<f64>, notes: &mut Vec<String>) {
    let trim = usize::try_from(fixed.trim).unwrap_or(usize::MAX / 2);
    let value = match fixed.show.as_deref() {
        Some("min") => values.iter().copied().min_by(f64::total_cmp),
        Some("max") => values.iter().copied().max_by(f64::total_cmp),
        _ if values.len() > 2 * trim => stats::trimmed_mean(values, trim),
        _ => stats::mean(values),
    };
    let (Some(value), n) = (value, values.len()) else {
        return;
    };
    let all = fixed.runs;
    let runs = match n {
        1 => "one run".to_owned(),
        _ => format!("{n} runs"),
    };
    notes.push(match u32::try_from(made) {
        Ok(made) if made < all => {
            format!("each value is of {runs}; the scenario has {all}: --runs {all}")
        }
        _ => format!("each value is of {runs}"),
    });
    let differ = values.iter().any(|value| Some(value) != values.first());
    if fixed.show.is_none() && trim > 0 && n > 2 * trim && differ {
        notes.push(match trim {
            1 => "means are without the best and the worst run".to_owned(),
            several => format!("means are without the best and the worst {several} runs"),
        });
    }
    *values = vec![value];
}
