//! Why each load and each flow is as fast as it is: what bound it, its round trips, what was retransmitted, and how
//! evenly it was shared out.
//!
//! A load is told by a row, and so is each flow of a load that has several, as long as there are no more than
//! [`MOST_FLOWS`] of them in all points together. Beyond that the flows of a load are told by the least, the median and
//! the greatest of them.

use std::collections::BTreeMap;

use super::glance::{self, lossy};
use super::held::mean_held;
use super::{Failed, PointResult, Results, words};
use crate::rows::{Row, Scope, ValueName};
use crate::scenario::{Point, Workload};
use crate::stats;
use crate::table::{Cell, Table};

/// More flows are not told one by one.
const MOST_FLOWS: usize = 64;

/// More rows are not printed: the page has them.
const MOST_PRINTED: usize = 64;

/// A gap in seconds from which on it is worth a word.
const LONG_GAP: f64 = 1.0;

/// A share of the time that is all of it, as far as a reader is concerned.
const MOSTLY: f64 = 0.95;

/// A column: its head, and what it shows of a row.
type Column = (&'static str, fn(&BoundsRow<'_>) -> Cell);

/// What is told of each load on the page: why it is so first, for a table is wider than a screen.
const OF_LOADS: [Column; 21] = [
    ("goodput (Mb/s)", goodput),
    ("bound by", bound),
    ("held back by", held),
    ("limit (Mb/s)", |it| number(it.mean(|row| row.limit_mbps), 2)),
    ("round trip (ms)", |it| one(it, |row| &row.round_trip_ms, "mean")),
    ("round trip, p99 (ms)", |it| one(it, |row| &row.round_trip_ms, "p99")),
    ("lost, %", lost),
    ("one way (ms)", |it| one(it, |row| &row.delay_ms, "mean")),
    ("one way, p99 (ms)", |it| one(it, |row| &row.delay_ms, "p99")),
    ("completion (ms)", |it| one(it, |row| &row.completion_ms, "mean")),
    ("completion, p99 (ms)", |it| one(it, |row| &row.completion_ms, "p99")),
    ("with opening (ms)", |it| time(with_opening(it, "mean"))),
    ("with opening, p99 (ms)", |it| time(with_opening(it, "p99"))),
    ("retransmitted", |it| count(it.mean(|row| row.retransmissions.map(lossy)))),
    ("of all segments", retransmitted),
    ("time-outs", |it| count(it.mean(|row| row.timeouts.map(lossy)))),
    ("flows", |it| number(it.flows.map(lossy), 0)),
    ("Jain's index", jain),
    ("longest gap (s)", gap),
    ("lost on the way", |it| count(it.of_all(|row| glance::lost(row).map(lossy)))),
    ("longest queue", queue),
];

/// What is told of each flow.
const OF_FLOWS: [Column; 10] = [
    ("goodput (Mb/s)", goodput),
    ("bound by", bound),
    ("held back by", held),
    ("from", |it| Cell::text(it.rows.iter().find_map(|row| row.from.clone()).unwrap_or_default())),
    ("round trip (ms)", |it| one(it, |row| &row.round_trip_ms, "mean")),
    ("round trip, p99 (ms)", |it| one(it, |row| &row.round_trip_ms, "p99")),
    ("retransmitted", |it| count(it.mean(|row| row.retransmissions.map(lossy)))),
    ("of all segments", retransmitted),
    ("time-outs", |it| count(it.mean(|row| row.timeouts.map(lossy)))),
    ("longest gap (s)", gap),
];

/// What is printed of both.
const PRINTED: [Column; 12] = [
    ("goodput (Mb/s)", goodput),
    ("bound by", bound),
    ("held back by", held_apart),
    ("round trip (ms)", |it| two(it, |row| &row.round_trip_ms)),
    ("lost, %", lost),
    ("one way (ms)", |it| two(it, |row| &row.delay_ms)),
    ("completion (ms)", |it| two(it, |row| &row.completion_ms)),
    ("with opening (ms)", |it| both(with_opening(it, "mean"), with_opening(it, "p99"))),
    ("retransmitted, %", retransmitted),
    ("time-outs", timed_out),
    ("longest gap (s)", gap),
    ("Jain", jain),
];

/// What is told of the flows of a load where they are many.
const OF_MANY: [Column; 6] = [
    ("flows", |it| Cell::text(it.rows.len().to_string())),
    ("goodput (Mb/s)", |it| Cell::text(it.quantiles(|row| Some(row.goodput_mbps), |value| format!("{value:.2}")))),
    ("bound by", |it| Cell::text(it.counted())),
    ("round trip (ms)", |it| Cell::text(it.quantiles(|row| row.round_trip_ms.get("mean").copied(), short))),
    ("retransmitted of all segments", |it| Cell::text(it.quantiles(share_again, |value| format!("{value:.2} %")))),
    ("completion (s)", |it| Cell::text(it.quantiles(|row| row.completion_s, short))),
];

/// What a row of a table is about: a load, a flow or all loads together, in all runs of a point; or all flows of a load
/// in its first run.
struct BoundsRow<'a> {
    head: String,
    rows: Vec<&'a Row>,
    /// The rows of all loads together, where queues and counters are told here.
    of_all: Vec<&'a Row>,
    /// How many flows it has that are to share something, being of one kind of load.
    flows: Option<u64>,
    /// Whether it has a goodput: echoes have none.
    has_goodput: bool,
    /// Whether it is of calls alone.
    are_calls: bool,
}

impl BoundsRow<'_> {
    /// The mean of what runs say, of those that do.
    fn mean(&self, of: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        stats::mean(&self.rows.iter().filter_map(|row| of(row)).collect::<Vec<f64>>())
    }

    /// The same of what is counted for all loads together.
    fn of_all(&self, of: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        stats::mean(&self.of_all.iter().map(|row| of(row)).collect::<Option<Vec<f64>>>()?)
    }

    /// The same of one of the values that a row has by name.
    fn of(&self, values: fn(&Row) -> &BTreeMap<String, f64>, name: &str) -> Option<f64> {
        self.mean(|row| values(row).get(name).copied())
    }

    /// The cell of such values, with how many runs have them where others do not: "(1 of 3 runs)".
    fn beside(&self, cell: Cell, values: fn(&Row) -> &BTreeMap<String, f64>) -> Cell {
        let (some, all) = (self.rows.iter().filter(|row| !values(row).is_empty()).count(), self.rows.len());
        if some == all || cell == Cell::empty() { cell } else { cell.word(format!("({some} of {all} runs)")) }
    }

    /// "link", or "link 40, loss 12" where flows differ.
    fn counted(&self) -> String {
        match counts(&self.rows).as_slice() {
            [(only, _)] => (*only).to_owned(),
            several => several.iter().map(|(what, count)| format!("{what} {count}")).collect::<Vec<_>>().join(", "),
        }
    }

    /// "0.10, 2.31, 9.02": the least, the median and the greatest; nothing where there are none.
    fn quantiles(&self, of: impl Fn(&Row) -> Option<f64>, shown: impl Fn(f64) -> String) -> String {
        let mut values: Vec<f64> = self.rows.iter().filter_map(|row| of(row)).collect();
        values.sort_by(f64::total_cmp);
        let median = values.get(values.len() / 2);
        let told = [values.first(), median, values.last()].into_iter().flatten().map(|value| shown(*value));
        told.collect::<Vec<_>>().join(", ")
    }
}

fn goodput(told: &BoundsRow<'_>) -> Cell {
    number(told.mean(|row| Some(row.goodput_mbps)).filter(|_| told.has_goodput), 2)
}

/// What bound `rows`, the most frequent first, and how many times.
fn counts<'a>(rows: &[&'a Row]) -> Vec<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.bound_by.is_empty()) {
        *counts.entry(&row.bound_by).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// What bound the most of `rows`; nothing where nobody says.
pub(super) fn mostly<'a>(rows: &[&'a Row]) -> &'a str {
    counts(rows).first().map_or("", |(most, _)| most)
}

/// "link", or "link (2 of 3 runs)" where they differ.
fn bound_in(rows: &[&Row]) -> String {
    match counts(rows).as_slice() {
        [] => String::new(),
        [(only, _)] => (*only).to_owned(),
        [(most, count), ..] => format!("{most} ({count} of {} runs)", rows.len()),
    }
}

/// What bound it, of several runs in most of them, and what bound the others.
fn bound(told: &BoundsRow<'_>) -> Cell {
    let counts = counts(&told.rows);
    let others = counts.iter().skip(1).map(|(what, count)| format!(", {what} ({count})"));
    Cell::text(bound_in(&told.rows) + &others.collect::<String>())
}

fn held(told: &BoundsRow<'_>) -> Cell {
    let means = held_means(told);
    Cell::text(in_calls(told, &means).unwrap_or_else(|| glance::held(&means)))
}

/// The same where it is more than the one thing that bound it.
fn held_apart(told: &BoundsRow<'_>) -> Cell {
    let means = held_means(told);
    let bound = mostly(&told.rows);
    let is_told = means.is_empty() || means.get(bound).is_some_and(|share| *share >= MOSTLY);
    if is_told && in_calls(told, &means).is_none() { Cell::empty() } else { held(told) }
}

/// "application 97 %, of calls: queue 70 %, round trip 30 %": what held calls while there was one, where their programs
/// paused for most of the time.
fn in_calls(told: &BoundsRow<'_>, means: &BTreeMap<String, f64>) -> Option<String> {
    const PAUSE: &str = "application";
    let pauses = means.get(PAUSE).copied().filter(|share| told.are_calls && *share > 0.5)?;
    let rest = 1.0 - pauses;
    let calls: BTreeMap<String, f64> =
        means.iter().filter(|(what, _)| *what != PAUSE).map(|(what, share)| (what.clone(), share / rest)).collect();
    (rest > 0.0 && !calls.is_empty())
        .then(|| format!("{PAUSE} {:.0} %, of calls: {}", pauses * 100.0, glance::held(&calls)))
}

fn held_means(told: &BoundsRow<'_>) -> BTreeMap<String, f64> {
    mean_held(&told.rows)
}

/// One of several times that a row has by name.
fn one(told: &BoundsRow<'_>, times: fn(&Row) -> &BTreeMap<String, f64>, name: &str) -> Cell {
    told.beside(time(told.of(times, name)), times)
}

/// How long exchanges took with the opening of connections, where that makes a difference to be seen.
fn with_opening(told: &BoundsRow<'_>, name: &str) -> Option<f64> {
    const SEEN: f64 = 1.01;
    let [without, with] = [told.of(|row| &row.completion_ms, "mean")?, told.of(|row| &row.with_opening_ms, "mean")?];
    told.of(|row| &row.with_opening_ms, name).filter(|_| with > without * SEEN)
}

/// The mean of several times and the 99th percentile.
fn two(told: &BoundsRow<'_>, times: fn(&Row) -> &BTreeMap<String, f64>) -> Cell {
    told.beside(both(told.of(times, "mean"), told.of(times, "p99")), times)
}

/// "61.0, p99 71.0".
fn both(mean: Option<f64>, p99: Option<f64>) -> Cell {
    mean.zip(p99).map_or_else(Cell::empty, |(mean, p99)| Cell::text(format!("{}, p99 {}", short(mean), short(p99))))
}

/// What was retransmitted, in per cent of what was sent.
fn share_again(row: &Row) -> Option<f64> {
    let sent = row.segments_sent.filter(|sent| *sent > 0)?;
    Some(100.0 * lossy(row.retransmissions?) / lossy(sent))
}

/// What was lost of datagrams and echoes.
fn lost(told: &BoundsRow<'_>) -> Cell {
    number(told.mean(|row| row.lost_percent), 2)
}

fn retransmitted(told: &BoundsRow<'_>) -> Cell {
    told.mean(share_again).map_or_else(Cell::empty, |share| Cell::number_of(share, 2, "%"))
}

fn timed_out(told: &BoundsRow<'_>) -> Cell {
    count(told.mean(|row| row.timeouts.map(lossy)).filter(|count| *count > 0.0))
}

/// What was counted, as the mean of runs. What one of them alone has is not shown as nothing.
pub(super) fn count(mean: Option<f64>) -> Cell {
    let decimals = match mean {
        Some(mean) if mean.fract() == 0.0 || mean >= 10.0 => 0,
        Some(mean) if mean >= 0.1 => 1,
        Some(_) | None => 2,
    };
    number(mean, decimals)
}

/// The longest time in which nothing came, where it is long. A program that has nothing to write makes gaps as it
/// likes.
fn gap(told: &BoundsRow<'_>) -> Cell {
    let of_program = held_means(told).get("application").is_some_and(|share| *share >= MOSTLY);
    number(told.mean(|row| row.longest_gap_s).filter(|gap| *gap >= LONG_GAP && !of_program), 2)
}

fn queue(told: &BoundsRow<'_>) -> Cell {
    let longest = glance::longest_queue(&told.of_all);
    longest.map_or_else(Cell::empty, |(name, most)| Cell::text(format!("{name}: {most:.0}")))
}

fn jain(told: &BoundsRow<'_>) -> Cell {
    number(told.mean(|row| row.jain).filter(|_| told.flows.is_some()), 3)
}

fn number(value: Option<f64>, decimals: usize) -> Cell {
    value.map_or_else(Cell::empty, |it| Cell::number(it, decimals))
}

fn time(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::empty, |it| Cell::number(it, decimals(it)))
}

/// Three digits that mean something.
fn short(value: f64) -> String {
    format!("{value:.*}", decimals(value))
}

const fn decimals(value: f64) -> usize {
    match value {
        value if value < 1.0 => 3,
        value if value < 10.0 => 2,
        _ => 1,
    }
}

impl Results {
    /// What bound each point, and each of its loads where there are several, and what was lost there.
    pub(super) fn bounds(&self) -> Table {
        let rows: Vec<BoundsRow<'_>> = self.done().flat_map(|(point, done)| loads_of(point, done)).collect();
        let words = words_of(&rows);
        let table = table(format!("What bound each point, and what was lost{}", self.of_runs()), &OF_LOADS, rows);
        let legend = explained(&table).chain(words).collect();
        Table { legend, ..table }
    }

    /// The same of each flow, where a load has several; where these are too many, how they differ. Nothing where no
    /// load has.
    pub(super) fn flow_table(&self) -> Option<Table> {
        let flows: Vec<BoundsRow<'_>> = self.done().flat_map(|(point, done)| flows_of(point, done)).collect();
        if flows.is_empty() {
            return None;
        }
        if flows.len() <= MOST_FLOWS {
            let title = format!("What bound each flow, and what it retransmitted{}", self.of_runs());
            return Some(table(title, &OF_FLOWS, flows));
        }
        let title = format!(
            "The flows of each load, in the first run of each point: the least, the median and the greatest of each value. There are {}, and no more than {MOST_FLOWS} are shown one by one; the rows have all.",
            flows.len()
        );
        Some(table(title, &OF_MANY, self.done().flat_map(|(point, done)| many_of(point, done)).collect()))
    }

    /// Of how many loads of all points it would be said why they are as fast as they are: none where a paper says what
    /// should have come out.
    fn loads_to_explain(&self) -> usize {
        let is_of_paper = self.points.first().is_none_or(|(point, _)| point.scenario.paper.is_some());
        if is_of_paper { 0 } else { self.done().map(|(point, done)| loads_of(point, done).len()).sum() }
    }

    /// Where that is said, where it is too much for [`Self::why_table`].
    #[must_use]
    pub fn why_elsewhere(&self) -> Option<String> {
        let count = Some(self.loads_to_explain()).filter(|count| *count > MOST_PRINTED)?;
        Some(format!(
            "Why each of {count} is as fast as it is: in report.html and in the rows, for that is too long here\n"
        ))
    }

    /// What is printed below the table where no paper says what should have come out: why each load is as fast as it
    /// is, and each flow where these are few. Nothing where that would be too long; the page has it then.
    #[must_use]
    pub fn why_table(&self) -> Option<Table> {
        let loads = || self.done().map(|(point, done)| (loads_of(point, done), flows_of(point, done)));
        let count = self.loads_to_explain();
        let flows: usize = loads().map(|(_, flows)| flows.len()).sum();
        if !(1..=MOST_PRINTED).contains(&count) {
            return None;
        }
        let are_shown = count + flows <= MOST_PRINTED;
        let mut rows = Vec::new();
        for (loads, mut flows) in loads() {
            for load in loads {
                let name = load.rows.first().and_then(|row| row.load.clone());
                rows.push(load);
                // Those of a load stand below it.
                let is_own =
                    |flow: &mut BoundsRow<'_>| name.is_some() && flow.rows.first().is_some_and(|row| row.load == name);
                rows.extend(flows.extract_if(.., is_own).filter(|_| are_shown));
            }
        }
        let table = table(format!("Why each is as fast as it is{}", self.of_runs()), &PRINTED, rows);
        let more = (flows > 0 && !are_shown).then(|| format!("the {flows} flows are in report.html and in the rows"));
        let legend = explained(&table).chain(more).collect();
        // Of goodput and what bound it the table above tells already.
        (table.columns.len() > 2).then_some(Table { legend, ..table })
    }

    /// What a title says of whose values a table has.
    pub(super) fn of_runs(&self) -> &'static str {
        let several = self.done().any(|(_, done)| done.iter().any(|row| row.repetition > 0));
        let is_trimmed = |point: &Point| point.scenario.run.repeat.as_ref().is_some_and(|repeat| repeat.trim > 0);
        match several {
            true if self.done().any(|(point, _)| is_trimmed(point)) => {
                ", the mean of all its runs, the best and the worst among them"
            }
            true => ", the mean of its runs",
            false => "",
        }
    }

    /// The points that have rows: those that failed, too, whose rows say how far they came.
    fn done(&self) -> impl Iterator<Item = (&Point, &[Row])> {
        let all = self.points.iter().map(|(point, result)| {
            let (Ok(PointResult { rows, .. }) | Err(Failed { rows, .. })) = result;
            (point, rows.as_slice())
        });
        all.filter(|(_, rows)| !rows.is_empty())
    }
}

/// The table, without columns that would be empty.
fn table(title: String, columns: &[Column], rows: Vec<BoundsRow<'_>>) -> Table {
    let cells: Vec<Vec<Cell>> = columns.iter().map(|(_, of)| rows.iter().map(of).collect()).collect();
    let is_filled = |cells: &[Cell]| cells.iter().any(|cell| *cell != Cell::empty() && *cell != Cell::text(""));
    let kept: Vec<(&str, Vec<Cell>)> = columns
        .iter()
        .zip(cells)
        .filter(|(_, cells)| rows.is_empty() || is_filled(cells))
        .map(|((head, _), cells)| (*head, cells))
        .collect();
    let of_row = |place: usize| kept.iter().filter_map(|(_, cells)| cells.get(place).cloned()).collect();
    Table {
        title,
        corner: "point".to_owned(),
        columns: kept.iter().map(|(head, _)| (*head).to_owned()).collect(),
        rows: rows.iter().enumerate().map(|(place, told)| (told.head.clone(), of_row(place))).collect(),
        legend: Vec::new(),
    }
}

/// What its heads mean.
fn explained(table: &Table) -> impl Iterator<Item = String> {
    words::heads(|head| table.columns.iter().any(|column| column == head)).into_iter()
}

/// What the words mean that are said of what bound or held `rows`.
fn words_of(rows: &[BoundsRow<'_>]) -> Vec<String> {
    let rows = || rows.iter().flat_map(|told| &told.rows);
    // As little as that of the time is not told.
    let held = |word: &str| rows().any(|row| row.held.get(word).is_some_and(|share| *share >= glance::LEAST));
    words::words(|word| held(word) || rows().any(|row| row.bound_by == word))
}

impl PointResult {
    /// What bound a load, or all together, in its runs.
    pub(super) fn bound(&self, load: Option<&String>) -> String {
        bound_in(&self.runs(load))
    }

    /// The rows of a load, or of all together, one of each run.
    pub(super) fn runs(&self, load: Option<&String>) -> Vec<&Row> {
        let row = self.rows.iter().find(|row| row.scope != Scope::Flow && row.load.as_ref() == load);
        row.map_or_else(Vec::new, |row| runs_of(&self.rows, row))
    }

    /// Of how many of its runs that is which is shown, and how many there are.
    pub(super) fn with_value(&self, load: Option<&String>, shown: &ValueName) -> (usize, usize) {
        let runs = self.runs(load);
        (runs.iter().filter(|row| row.value(shown).is_some()).count(), runs.len())
    }
}

/// The rows of all runs that are of the same as `row`.
pub(super) fn runs_of<'a>(done: &'a [Row], row: &Row) -> Vec<&'a Row> {
    let is_same = |it: &&Row| (it.scope, &it.load, it.flow) == (row.scope, &row.load, row.flow);
    let mut seen: Vec<u32> = Vec::new();
    // A row for each task of a host says the same of the load.
    let is_first = |row: &&Row| {
        let is_first = !seen.contains(&row.repetition);
        seen.push(row.repetition);
        is_first
    };
    done.iter().filter(is_same).filter(is_first).collect()
}

fn head(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// That the row is of a point that has failed.
fn failed(row: &Row) -> Option<String> {
    row.failed.then(|| "failed".to_owned())
}

fn first_run(done: &[Row], scope: Scope) -> impl Iterator<Item = &Row> {
    done.iter().filter(move |row| row.repetition == 0 && row.scope == scope)
}

fn count_flows(done: &[Row], load: Option<&String>) -> u64 {
    first_run(done, Scope::Flow).filter(|row| load.is_none() || row.load.as_ref() == load).count() as u64
}

/// Whether the row is of echoes.
fn is_echo(point: &Point, row: &Row) -> bool {
    let load = row.load.as_ref().and_then(|name| point.scenario.load.get(name));
    load.is_some_and(|load| load.kind == ECHOES)
}

/// Whether the flows of all loads are of one kind: how evenly a call and a transfer share says nothing.
pub(super) fn share_alike(point: &Point) -> bool {
    let mut kinds = point.scenario.load.values().map(|load| load.kind.as_str()).filter(|kind| *kind != ECHOES);
    let first = kinds.next();
    kinds.all(|kind| Some(kind) == first)
}

/// Whether what is shown of the point is of several flows: one alone shares with nobody.
pub(super) fn has_flows(point: &Point) -> bool {
    let shown = &point.scenario.report.load;
    let own = point.scenario.load.iter().filter(|(name, _)| shown.as_ref().is_none_or(|shown| shown == *name));
    let flows =
        |(_, load): (_, &Workload)| load.from.0.len().saturating_mul(usize::try_from(load.sessions).unwrap_or(1));
    own.filter(|(_, load)| load.kind != ECHOES).map(flows).sum::<usize>() > 1
}

/// Whether the row is of calls alone: requests with their responses.
fn are_calls(point: &Point, row: &Row) -> bool {
    let mut own = point.scenario.load.iter().filter(|(name, _)| row.load.as_ref().is_none_or(|load| load == *name));
    own.all(|(_, load)| load.kind == "rpc")
}

/// The kind of load that has no goodput.
const ECHOES: &str = "ping";

fn loads_of<'a>(point: &Point, done: &'a [Row]) -> Vec<BoundsRow<'a>> {
    let is_alone = point.scenario.load.len() < 2;
    let total = done.first().filter(|_| !is_alone);
    let mut rows: Vec<&Row> = first_run(done, Scope::Load).chain(total).collect();
    if rows.is_empty() {
        // Where nothing runs there are no loads either.
        rows.extend(done.first());
    }
    let told = |row: &'a Row| {
        let load = row.load.clone().filter(|_| !is_alone);
        let all = (!is_alone && row.load.is_none()).then(|| "all loads".to_owned());
        // Queues and counters are those of all loads together.
        let of_all = is_alone || row.load.is_none();
        let are_alike = row.load.is_some() || share_alike(point);
        let flows = Some(count_flows(done, row.load.as_ref())).filter(|count| *count > 1 && are_alike);
        BoundsRow {
            has_goodput: !is_echo(point, row),
            are_calls: are_calls(point, row),
            head: head([Some(point.label()), failed(row), load, all]),
            rows: runs_of(done, row),
            of_all: done.first().filter(|_| of_all).map(|first| runs_of(done, first)).unwrap_or_default(),
            flows,
        }
    };
    rows.into_iter().map(told).collect()
}

/// The flows of loads that have several.
fn flows_of<'a>(point: &Point, done: &'a [Row]) -> Vec<BoundsRow<'a>> {
    let is_alone = point.scenario.load.len() < 2;
    let of_several = |row: &&Row| count_flows(done, row.load.as_ref()) > 1;
    let told = |row: &'a Row| {
        let load = row.load.clone().filter(|_| !is_alone);
        let flow = row.flow.map(|flow| format!("flow {flow}"));
        BoundsRow {
            head: head([Some(point.label()), failed(row), load, flow]),
            rows: runs_of(done, row),
            of_all: Vec::new(),
            flows: None,
            has_goodput: !is_echo(point, row),
            are_calls: are_calls(point, row),
        }
    };
    first_run(done, Scope::Flow).filter(of_several).map(told).collect()
}

/// Of each load that has several flows, all of these.
fn many_of<'a>(point: &Point, done: &'a [Row]) -> Vec<BoundsRow<'a>> {
    let is_alone = point.scenario.load.len() < 2;
    let told = |row: &'a Row| {
        let flows = first_run(done, Scope::Flow).filter(|flow| flow.load == row.load);
        let load = row.load.clone().filter(|_| !is_alone);
        BoundsRow {
            head: head([Some(point.label()), failed(row), load]),
            rows: flows.collect(),
            of_all: Vec::new(),
            flows: None,
            has_goodput: !is_echo(point, row),
            are_calls: are_calls(point, row),
        }
    };
    first_run(done, Scope::Load).map(told).filter(|told| told.rows.len() > 1).collect()
}
