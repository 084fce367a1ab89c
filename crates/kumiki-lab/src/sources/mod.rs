//! What results and measurements are taken from: directories that `run`, `reproduce` and `merge` have left, and CSV
//! files.
//!
//! Both are lists of records with named values, and a name means the same in both: `rtt_ms` of a directory is
//! `rtt (us)` of a file, in another unit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kumiki_octets::text::counted;
use serde_json::Value;

use crate::experiment::SampleOf;
use crate::rows::{MEASURED, Output, OutputError, Parameter, QUEUE_PARTS, Row, Scope, read_rows};
use crate::scenario::{ConfigError, is_word, nearest};
use kumiki_config::errors::ConfigErrors;
use kumiki_config::refusal::{CUT_OFF, json_words};

mod column;
mod condition;
mod directions;
mod echoes;
mod gaps;
mod interval;
mod measured;
#[cfg(test)]
mod tests;

pub use condition::Condition;
use directions::Directions;
use echoes::Echoes;
pub(crate) use gaps::{empty, without};
pub(crate) use interval::Interval;
use measured::Measured;

/// What is taken.
const RESULT: &str = "the directory of a result, or a CSV file";

/// The column of measurements that says what each is about, as in rows and in values over time.
pub(crate) const SCOPE: &str = "scope";

/// What values over time are about and rows are not.
const OF_NO_ROWS: [&str; 2] = ["queue", "channel"];

/// A directory with results, or a file of measurements.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    path: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Results {
        /// Those of points that have not failed.
        rows: Vec<Row>,
        /// What the others are.
        failed: Vec<String>,
        run: Option<Value>,
        echoes: Echoes,
        directions: Directions,
    },
    Measured(Measured),
}

impl Content {
    /// A row of a point that has failed says how far that came, and is no result.
    fn of_rows(rows: Vec<Row>, run: Option<Value>) -> Self {
        let (failed, rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.failed);
        let mut labels: Vec<String> = Vec::new();
        for row in failed {
            let label = point(&row);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let scenarios = first_points(run.as_ref());
        let (echoes, directions) = (Echoes::of(&scenarios), Directions::of(&scenarios));
        Self::Results { rows, failed: labels, run, echoes, directions }
    }
}

/// How the point of a row is called.
fn point(row: &Row) -> String {
    let varied = row.varied.iter().filter(|(name, _)| !MEASURED.contains(&name.as_str()));
    let own = varied.map(|(name, value)| labelled(name, value));
    let series = Some(row.series.clone()).filter(|series| !series.is_empty());
    series.into_iter().chain(own).collect::<Vec<_>>().join(", ")
}

/// A value of the records of one source: what it is called there, and by what its numbers are multiplied to be in the
/// unit that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundColumn {
    name: String,
    times: f64,
}

impl FoundColumn {
    /// What it is called in its source.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same as what is varied under `name` has it: where that has no unit, a share is a bare number.
    pub(crate) fn beside_bare(self, name: &str) -> Self {
        let bare = match (column::split(name).1, column::split(&self.name).1) {
            (None, Some(unit)) => column::whole().and_then(|whole| unit.in_units_of(whole)),
            _ => None,
        };
        Self { times: bare.unwrap_or(self.times), ..self }
    }
}

/// One record of a source, by its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    source: &'a Source,
    place: usize,
}

impl Source {
    /// What `argument` names: a directory, a CSV file, or either with a name of its own before it, `before=kumiki-out`.
    /// `columns` says what some columns of files are: a name of rows, and the head that it has there, perhaps with its
    /// unit (`goodput_mbps`, `TCP download (Mbit/s)`).
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where there is nothing, where rows cannot be read, or a file is damaged: with its line, and
    /// its column where it is about one.
    pub fn open(argument: &str, columns: &[(String, String)]) -> Result<Self, ConfigError> {
        let (name, path) = named(argument);
        if path.is_empty() {
            let problem = format!("{argument:?} names no place");
            return Err(ConfigError::new(problem).expected(format!("{RESULT}, or NAME= and one of them")));
        }
        let place = Path::new(path);
        let stem = || {
            let short = if place.is_dir() { place.file_name() } else { place.file_stem() };
            short.map_or_else(|| path.to_owned(), |it| it.to_string_lossy().into_owned())
        };
        let content = if place.is_dir() {
            let content = Content::of_rows(rows(place)?, run(place)?);
            match &content {
                Content::Results { rows, failed, .. } if rows.is_empty() && !failed.is_empty() => {
                    return Err(
                        ConfigError::new("all of its points have failed, so there is no result in it").in_file(path)
                    );
                }
                Content::Results { .. } | Content::Measured(_) => content,
            }
        } else {
            if place.extension().is_some_and(|it| it == "toml") && place.is_file() {
                return Err(ConfigError::new("a scenario, and no result").in_file(path).expected(RESULT));
            }
            let text = kumiki_config::error::read_file(place)?;
            Self::of_csv(path, &text, columns)?.content
        };
        Ok(Self { name: name.map_or_else(stem, str::to_owned), path: path.to_owned(), content })
    }

    /// The rows of a result that is at hand, and what its `run.json` would say.
    #[must_use]
    pub fn of_rows(name: &str, rows: Vec<Row>, run: Option<Value>) -> Self {
        Self { name: name.to_owned(), path: name.to_owned(), content: Content::of_rows(rows, run) }
    }

    /// Which points of it have failed, and so are no results, in words.
    pub(crate) fn failed(&self) -> Option<String> {
        const TOLD: usize = 5;
        let Content::Results { failed, .. } = &self.content else {
            return None;
        };
        let first = failed.first()?;
        let told = failed.iter().take(TOLD).filter(|label| !label.is_empty()).map(String::as_str);
        let more = failed.len().saturating_sub(TOLD);
        let more = (more > 0).then(|| format!("and {more} more"));
        let told: Vec<&str> = told.chain(more.as_deref()).collect();
        let points = counted(failed.len() as u64, "point");
        let (have, are) = if failed.len() == 1 { ("has", "is") } else { ("have", "are") };
        let colon = if failed.len() == 1 && first.is_empty() { "" } else { ": " };
        Some(format!("{}: {points} {have} failed and {are} left out{colon}{}", self.name, told.join("; ")))
    }

    /// Measurements as the text of a CSV file, which messages call `file`; `columns` as for [`Source::open`].
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where it is damaged, with its line.
    pub fn of_csv(file: &str, text: &str, columns: &[(String, String)]) -> Result<Self, ConfigError> {
        let (measured, mut faults) = Self::of_damaged_csv(file, text, columns)?;
        if !faults.is_empty()
            && let Content::Measured(measured) = &measured.content
        {
            measured.no_quantities(file, &mut faults);
        }
        faults.all().map_or(Ok(measured), Err)
    }

    /// The same where more is to be looked for: what is wrong with lines, which are left out, and with fields, which
    /// are taken for empty ones.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where nothing can be made of it, as of a file without heads.
    pub(crate) fn of_damaged_csv(
        file: &str,
        text: &str,
        columns: &[(String, String)],
    ) -> Result<(Self, ConfigErrors), ConfigError> {
        let stem = Path::new(file).file_stem().map_or_else(|| file.to_owned(), |it| it.to_string_lossy().into_owned());
        let (measured, faults) = Measured::parse(file, text, columns)?;
        Ok((Self { name: stem, path: file.to_owned(), content: Content::Measured(measured) }, faults))
    }

    /// All that `arguments` name. Where two of them end alike, they are called by their whole paths, unless they have
    /// names of their own.
    ///
    /// # Errors
    ///
    /// As [`Source::open`], and where a name of its own is that of another, too.
    pub fn open_all(arguments: &[String], columns: &[(String, String)]) -> Result<Vec<Self>, ConfigError> {
        let sources = arguments.iter().map(|argument| Self::open(argument, columns));
        let mut sources: Vec<Self> = sources.collect::<Result<_, _>>()?;
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        for (argument, source) in arguments.iter().zip(&mut sources) {
            if named(argument).0.is_none() && names.iter().filter(|name| **name == source.name).count() > 1 {
                source.name.clone_from(&source.path);
            }
        }
        // What is there twice has one path.
        let paths: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        for (place, (argument, source)) in arguments.iter().zip(&mut sources).enumerate() {
            let before = paths.iter().take(place).filter(|name| **name == source.name).count();
            if named(argument).0.is_none() && before > 0 {
                source.name = format!("{} ({})", source.name, before + 1);
            }
        }
        for (place, argument) in arguments.iter().enumerate() {
            let Some(own) = named(argument).0 else {
                continue;
            };
            let is_so_called = |(at, it): &(usize, &Self)| *at != place && it.name == own;
            if let Some((at, _)) = sources.iter().enumerate().find(is_so_called) {
                let other = arguments.get(at).map_or("", String::as_str);
                let problem = format!("{own:?} is what {other} is called, too");
                return Err(ConfigError::new(problem).in_file(argument).expected("a name for each"));
            }
        }
        Ok(sources)
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, as messages name it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is a file of measurements.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        matches!(self.content, Content::Measured(_))
    }

    /// Whether `name` is the column by which measurements say what each is about, and not one of their own with other
    /// words.
    pub(crate) fn says_scope(&self, name: &str) -> bool {
        match &self.content {
            Content::Results { .. } => false,
            Content::Measured(measured) => name == SCOPE && measured.is_scoped,
        }
    }

    /// `run.json`, where it has one.
    #[must_use]
    pub const fn run(&self) -> Option<&Value> {
        match &self.content {
            Content::Results { run, .. } => run.as_ref(),
            Content::Measured(_) => None,
        }
    }

    /// Its loads of echoes; nothing of a file of measurements.
    const fn echoes(&self) -> Option<&Echoes> {
        match &self.content {
            Content::Results { echoes, .. } => Some(echoes),
            Content::Measured(_) => None,
        }
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let count = match &self.content {
            Content::Results { rows, .. } => rows.len(),
            Content::Measured(measured) => measured.lines.len(),
        };
        (0..count).map(|place| Record { source: self, place })
    }

    /// The head of the column `name`, as the file has it.
    pub(crate) fn head<'a>(&'a self, name: &'a str) -> &'a str {
        let Content::Measured(measured) = &self.content else {
            return name;
        };
        measured.columns.iter().find(|column| column.name == name).map_or(name, |column| column.place.1.as_str())
    }

    /// The names of what is varied, or of all columns.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = Vec::new();
        match &self.content {
            Content::Results { rows, .. } => {
                for (name, _) in rows.iter().flat_map(|row| &row.varied) {
                    if !keys.contains(&name.as_str()) && !MEASURED.contains(&name.as_str()) {
                        keys.push(name);
                    }
                }
            }
            Content::Measured(measured) => keys.extend(measured.columns.iter().map(|it| it.name.as_str())),
        }
        keys
    }

    /// Where the value called `wanted` is; nothing where there is none.
    pub(crate) fn find(&self, wanted: &str) -> Option<FoundColumn> {
        let found = |name: &str, times| FoundColumn { name: name.to_owned(), times };
        let keys = match &self.content {
            Content::Results { rows, directions, .. } => {
                let is_there = |name: &str| rows.iter().any(|row| row.cell(name).is_some());
                let own =
                    if is_there(wanted) { Some(wanted.to_owned()) } else { directions.lettered(wanted, is_there) };
                if let Some(own) = own {
                    return Some(found(&own, 1.0));
                }
                self.keys()
            }
            // A file may have very many columns.
            Content::Measured(measured) => measured.called_alike(wanted).collect(),
        };
        let mut fits = keys.iter().filter_map(|name| Some(found(name, column::factor(wanted, name)?)));
        let Some(first) = fits.next() else {
            let mut shares = keys.iter().filter(|name| self.has_bare_shares(name));
            return shares.find_map(|name| Some(found(name, column::factor_of_shares(wanted, name)?)));
        };
        // A stem alone may mean several; a whole name means its own.
        match fits.next() {
            Some(next) if first.name != wanted => [next].into_iter().chain(fits).find(|it| it.name == wanted),
            _ => Some(first),
        }
    }

    /// Where the first of `sources` that has such a value has it, and what is of a direction by who sends as it is,
    /// since each source may call it by another letter; but one with a unit comes before one without, so that a share
    /// that is a bare number in one and per cent in another means the same in both.
    pub(crate) fn find_in(sources: &[Self], wanted: &str) -> Option<String> {
        let own = |found: FoundColumn| if is_of_many(wanted) { wanted.to_owned() } else { found.name };
        let mut names = sources.iter().filter_map(|source| source.find(wanted)).map(own);
        let first = names.next()?;
        let has_unit = |name: &String| column::split(name).1.is_some();
        let other = if has_unit(&first) { None } else { names.find(has_unit) };
        let is_share = |name: &String| column::factor_of_shares(name, &first).is_some();
        Some(other.filter(is_share).unwrap_or(first))
    }

    /// Whether what is varied under this name can be shares: numbers from 0 to 1. Who measured something has to say its
    /// unit.
    fn has_bare_shares(&self, name: &str) -> bool {
        let Content::Results { rows, .. } = &self.content else {
            return false;
        };
        let mut cells = rows.iter().filter_map(|row| row.parameter(name)).peekable();
        cells.peek().is_some() && cells.all(|cell| number(cell).is_some_and(|it| (0.0..=1.0).contains(&it)))
    }

    /// That every value of it is a number, as far as measurements have it.
    pub(crate) fn check_numbers(&self, found: &FoundColumn) -> Result<(), ConfigError> {
        match &self.content {
            Content::Measured(measured) => {
                let mut faults = ConfigErrors::default();
                let _ = measured.no_numbers(&self.path, &found.name, &mut faults);
                faults.all().map_or(Ok(()), Err)
            }
            Content::Results { rows, .. } => {
                let cells = rows.iter().filter_map(|row| row.cell(&found.name));
                let is_word = |cell: &Parameter| matches!(cell, Parameter::Text(_) | Parameter::Switch(_));
                match cells.into_iter().find(is_word) {
                    Some(cell) => Err(ConfigError::at([&found.name], "not a number")
                        .found(format!("{:?}", cell.to_string()))
                        .in_file(&self.path)),
                    None => Ok(()),
                }
            }
        }
    }

    /// The same where most of the values that measurements have of it are numbers, and so are to be all: of words each
    /// is a name.
    pub(crate) fn check_most_numbers(&self, found: &FoundColumn) -> Result<(), ConfigError> {
        match &self.content {
            Content::Measured(measured) if measured.is_of_numbers(&found.name) => self.check_numbers(found),
            Content::Measured(_) | Content::Results { .. } => Ok(()),
        }
    }

    /// That measurements which say what each is about, as a file of values over time does, say it in words that such a
    /// file has, as far as most of them do.
    pub(crate) fn check_scopes(&self) -> Result<(), ConfigError> {
        match &self.content {
            Content::Measured(measured) => measured.foreign_scopes(&self.path, &scopes()).all().map_or(Ok(()), Err),
            Content::Results { .. } => Ok(()),
        }
    }

    /// Takes what of a column of measurements is no number for empty fields, and adds each to `faults`; their lines.
    /// What is there may have another name then.
    pub(crate) fn leave_numbers(&mut self, found: &FoundColumn, faults: &mut ConfigErrors) -> Vec<usize> {
        match &mut self.content {
            Content::Measured(measured) => measured.leave_numbers(&self.path, &found.name, faults),
            Content::Results { .. } => Vec::new(),
        }
    }

    /// The lines of measurements with a field that was told of and is taken for an empty one.
    pub(crate) fn told_lines(&self) -> &[usize] {
        match &self.content {
            Content::Measured(measured) => &measured.told,
            Content::Results { .. } => &[],
        }
    }

    /// The name and the unit in the head of a column of measurements, where there is one in brackets that nobody knows.
    pub(crate) fn unknown_unit(&self, name: &str) -> Option<(&str, &str)> {
        match &self.content {
            Content::Measured(measured) => measured.unknown_unit(name),
            Content::Results { .. } => None,
        }
    }

    /// A fault of the head of a column of measurements, which messages call as it stands there.
    pub(crate) fn of_head(&self, name: &str, problem: &str) -> ConfigError {
        let head = match &self.content {
            Content::Measured(measured) => measured.head(name),
            Content::Results { .. } => None,
        };
        match head {
            Some((place, path)) => ConfigError::at([path], problem).in_place(place).in_file(&self.path),
            None => ConfigError::at([name], problem).in_file(&self.path),
        }
    }

    /// That each of `names`, which count as runs, is something that is varied or a column in one of `sources`, as
    /// `--over` has them.
    pub(crate) fn check_over(sources: &[Self], names: &[String]) -> Result<(), ConfigError> {
        for name in names {
            // `find` knows the load and the flow of rows, too.
            if sources.iter().any(|source| source.find(name).is_some()) {
                continue;
            }
            let mut known: Vec<&str> = sources.iter().flat_map(Self::keys).collect();
            known.sort_unstable();
            known.dedup();
            return Err(ConfigError::unknown(["--over"], "varied name", name, &known));
        }
        Ok(())
    }

    /// That no column of measurements would tell points apart as another source does, if its unit were known.
    pub(crate) fn check_units(sources: &[Self]) -> Result<(), ConfigError> {
        for (place, source) in sources.iter().enumerate() {
            for (stem, _) in source.keys().into_iter().filter_map(|name| source.unknown_unit(name)) {
                let stem = as_name(stem);
                let others =
                    sources.iter().enumerate().filter(|(other, _)| *other != place).flat_map(|(_, it)| it.keys());
                if let Some(wanted) = others.into_iter().find(|key| column::split(key).0 == stem) {
                    return Err(source.lacks(wanted));
                }
            }
        }
        Ok(())
    }

    /// The queues, the counters of the same layer, or else the layers that count, where `wanted` begins like one of
    /// these.
    fn of_many(&self, wanted: &str) -> Vec<String> {
        let (Content::Results { rows, directions, .. }, Some((map, name))) = (&self.content, wanted.split_once('.'))
        else {
            return Vec::new();
        };
        let (owner, part) = name.rsplit_once('.').unwrap_or((name, "NAME"));
        let names: BTreeSet<String> = match map {
            "queues" => {
                let part = if QUEUE_PARTS.contains(&part) { part } else { "p95" };
                let queues: BTreeSet<&String> = rows.iter().flat_map(|row| row.queues.keys()).collect();
                let by_sender = queues.iter().filter_map(|queue| directions.sending(queue));
                let all = queues.iter().map(|queue| (*queue).clone()).chain(by_sender);
                all.map(|queue| format!("queues.{queue}.{part}")).collect()
            }
            "counters" => {
                let own = rows.iter().filter_map(|row| row.counters.get(owner)).flat_map(BTreeMap::keys);
                let own: BTreeSet<String> = own.map(|name| format!("counters.{owner}.{name}")).collect();
                let layers = rows.iter().flat_map(|row| row.counters.keys());
                if own.is_empty() { layers.map(|layer| format!("counters.{layer}.{part}")).collect() } else { own }
            }
            _ => BTreeSet::new(),
        };
        names.into_iter().collect()
    }

    /// That it has no value called `wanted`: which it has.
    pub(crate) fn lacks(&self, wanted: &str) -> ConfigError {
        let keys = self.keys();
        if let (stem, Some(_)) = column::split(wanted)
            && self.is_measured()
            && keys.contains(&stem)
        {
            let problem = format!("the column {stem:?} has no unit");
            let expected = format!("a head with one, such as {}", head(wanted));
            return ConfigError::new(problem).in_file(&self.path).expected(expected);
        }
        let misread = self.keys().into_iter().find_map(|name| Some((name, self.unknown_unit(name)?)));
        if let Some((name, (_, unit))) = misread.filter(|(_, (stem, _))| {
            let wanted = column::split(wanted).0;
            as_name(stem) == wanted
        }) {
            let expected = format!("a head with another, such as {}", head(wanted));
            return self.of_head(name, &format!("unknown unit {unit:?}")).expected(expected);
        }
        let what = if self.is_measured() { "column" } else { "value of the rows" };
        let fault = ConfigError::new(format!("no {what} is called {wanted:?}")).in_file(&self.path);
        let many = self.of_many(wanted);
        let mut known: Vec<&str> = keys;
        if !many.is_empty() {
            known = many.iter().map(String::as_str).collect();
        } else if !self.is_measured() {
            known.extend(["goodput_mbps", "jain", "retransmissions", "completion_ms.p99"]);
        }
        let fault = fault.one_of(&known);
        match nearest(wanted, &known) {
            Some(near) => fault.suggest(near),
            None => fault,
        }
    }
}

impl<'a> Record<'a> {
    pub(crate) fn get(self, found: &FoundColumn) -> Option<Parameter> {
        let cell = match &self.source.content {
            Content::Results { rows, echoes, .. } => {
                let row = rows.get(self.place)?;
                row.cell(&found.name).filter(|_| !echoes.lacks(row, &found.name))
            }
            Content::Measured(measured) => measured.column(&found.name)?.cells.get(self.place)?.clone(),
        }?;
        Some(if found.times == 1.0 {
            cell
        } else {
            number(&cell).map_or(cell, |it| Parameter::Number(it * found.times))
        })
    }

    /// The same as a number.
    pub(crate) fn number(self, found: &FoundColumn) -> Option<f64> {
        self.get(found).as_ref().and_then(number)
    }

    /// The row; nothing of a file of measurements.
    pub(crate) fn row(self) -> Option<&'a Row> {
        match &self.source.content {
            Content::Results { rows, .. } => rows.get(self.place),
            Content::Measured(_) => None,
        }
    }

    /// The line of a file of measurements; 0 of rows.
    pub(crate) fn line(self) -> u64 {
        match &self.source.content {
            Content::Results { .. } => 0,
            Content::Measured(measured) => measured.lines.get(self.place).copied().unwrap_or(0),
        }
    }

    /// Whether it is about what `scope` says; a measurement without a column of that name is about whatever it is
    /// compared with.
    pub(crate) fn is_of(self, scope: Scope) -> bool {
        match self.row() {
            Some(row) => row.scope == scope,
            None => self.scope().is_none_or(|own| own == scope.name()),
        }
    }

    /// What a measurement says that it is about.
    fn scope(self) -> Option<String> {
        self.named(SCOPE).filter(|_| self.source.says_scope(SCOPE))
    }

    /// Whether a measurement says that it is about something of which there are no rows, such as a queue.
    pub(crate) fn is_of_no_rows(self) -> bool {
        self.scope().is_some_and(|own| OF_NO_ROWS.contains(&own.as_str()))
    }

    /// What a measurement has in the column of exactly that name.
    pub(crate) fn named(self, name: &str) -> Option<String> {
        let found = FoundColumn { name: name.to_owned(), times: 1.0 };
        self.get(&found).filter(|_| self.source.is_measured()).as_ref().map(told)
    }
}

/// What rows and values over time can be about.
fn scopes() -> Vec<&'static str> {
    let of_rows = [Scope::Total, Scope::Load, Scope::Flow].map(Scope::name);
    of_rows.into_iter().chain(SampleOf::ALL.map(SampleOf::name)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether it is called as values of queues and counters are.
fn is_of_many(name: &str) -> bool {
    name.starts_with("queues.") || name.starts_with("counters.")
}

/// A value as a number, where it is one.
pub(crate) fn number(value: &Parameter) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "what is drawn or fitted needs no more than 53 bits")]
        Parameter::Count(count) => Some(*count as f64),
        Parameter::Number(number) => Some(*number),
        Parameter::Switch(_) | Parameter::Text(_) => None,
    }
}

/// A value so that equal ones are equal texts, whether counted or measured: numbers are equal to twelve digits.
pub(crate) fn told(value: &Parameter) -> String {
    match number(value) {
        Some(it) if it.abs() < 1e16 => format!("{it:.11e}").parse::<f64>().unwrap_or(it).to_string(),
        Some(it) => format!("{it:.11e}").parse::<f64>().map_or_else(|_| it.to_string(), |it| format!("{it:e}")),
        None => value.to_string(),
    }
}

/// The unit at the end of a name, as figures write it; empty for none.
pub(crate) fn unit(name: &str) -> &'static str {
    const UNITS: [(&str, &str); 10] = [
        ("_mbps", "Mb/s"),
        ("_gbps", "Gb/s"),
        ("_kbps", "kb/s"),
        ("_bps", "b/s"),
        ("_ms", "ms"),
        ("_us", "us"),
        ("_ns", "ns"),
        ("_percent", "%"),
        ("_kib", "KiB"),
        ("_mib", "MiB"),
    ];
    let field = name.split('.').next().unwrap_or(name);
    let known = UNITS.iter().find(|(suffix, _)| field.ends_with(suffix)).map(|(_, unit)| *unit);
    known.unwrap_or_else(|| match field.rsplit('_').next() {
        Some("bytes" | "octets") => "octets",
        Some("s") => "s",
        _ => "",
    })
}

/// A name in words, without its unit.
pub(crate) fn words(name: &str) -> String {
    let (field, part) =
        name.split_once('.').map_or((name, String::new()), |(field, part)| (field, format!(", {part}")));
    format!("{}{part}", column::split(field).0.replace('_', " "))
}

/// A head as names of rows are written.
fn as_name(head: &str) -> String {
    head.to_lowercase().replace(' ', "_")
}

/// A value as a reader of a point's name sees it: words as they are, others with what they are, "window 64 KiB", "nagle
/// off".
pub(crate) fn labelled(name: &str, value: &Parameter) -> String {
    match value {
        // Beside words a quantity is one, too, and so are ranges and draws.
        Parameter::Text(text) if is_word(text) => text.clone(),
        Parameter::Text(_) | Parameter::Switch(_) | Parameter::Count(_) | Parameter::Number(_) => {
            format!("{} {}", words(name), in_unit(name, value))
        }
    }
}

/// A value with its unit, as `--where` takes it.
fn in_unit(name: &str, value: &Parameter) -> String {
    match value {
        Parameter::Text(text) => text.clone(),
        Parameter::Switch(on) => if *on { "on" } else { "off" }.to_owned(),
        Parameter::Count(_) | Parameter::Number(_) => match (unit(name), number(value)) {
            ("octets", Some(octets)) => crate::figure::octets(octets),
            ("", _) => told(value),
            (unit, number) => {
                let text = format!("{} {unit}", told(value));
                // As a scenario has it: 1 Gb/s, and not 1000 Mb/s.
                let amount = number.and_then(|number| column::amount_of(name, number));
                amount.map_or(text, |amount| amount.to_string())
            }
        },
    }
}

/// A name as the head of a column, with its unit behind it: `rate (Mbit/s)`.
pub(crate) fn head(name: &str) -> String {
    match column::split(name) {
        (stem, Some(unit)) => format!("{stem} ({})", unit.in_heads()),
        (stem, None) => stem.to_owned(),
    }
}

/// A name without its unit, and whether it has one.
pub(crate) fn stem(name: &str) -> (&str, bool) {
    let (stem, unit) = column::split(name);
    (stem, unit.is_some())
}

/// Whether `wanted` means the column called `name`.
pub(crate) fn is_same(wanted: &str, name: &str) -> bool {
    column::factor(wanted, name).or_else(|| column::factor_of_shares(wanted, name)).is_some()
}

/// The name that stands before what is named, where one does, and that.
fn named(argument: &str) -> (Option<&str>, &str) {
    let named = argument.split_once('=').filter(|(name, _)| !name.is_empty() && !Path::new(argument).exists());
    named.map_or((None, argument), |(name, path)| (Some(name), path))
}

fn rows(directory: &Path) -> Result<Vec<Row>, ConfigError> {
    let path = directory.join(Output::ROWS_JSONL);
    if !path.is_file() {
        let shown = directory.display().to_string();
        let is_shard = directory.join(Output::JOURNAL).is_file();
        let problem = if is_shard { "only a journal: an interrupted run, or a shard" } else { "no rows.jsonl in it" };
        let fault = ConfigError::new(problem).in_file(&shown);
        return Err(if is_shard {
            fault.expected("the directory of a whole result; --resume ends a run, `kumiki merge` makes one of shards")
        } else {
            fault.expected(RESULT)
        });
    }
    let read = read_rows(&path).map_err(|why| {
        if let OutputError::Read { source, .. } = why {
            let place = crate::scenario::ErrorPlace::Line(source.line, 1);
            let words = json_words(&source.source);
            // What is wrong with a value says itself what is right.
            let is_value = source.source.is_data() && words != CUT_OFF;
            let fault = ConfigError::new(words).in_file(&path.display().to_string()).in_place(place);
            if is_value {
                fault
            } else {
                fault.expected("a whole row in each line, as it was written; run it again with --force")
            }
        } else {
            ConfigError::new(why.to_string())
        }
    })?;
    if read.is_empty() {
        return Err(ConfigError::new("no rows in it").in_file(&path.display().to_string()).expected(RESULT));
    }
    Ok(read)
}

/// The scenarios that `run.json` has, each at its first point.
fn first_points(run: Option<&Value>) -> Vec<toml::Table> {
    let scenarios = run.and_then(|run| run.get("scenarios")).and_then(Value::as_array);
    let texts = scenarios.into_iter().flatten().filter_map(|it| it.get("first_point")?.as_str());
    texts.filter_map(|text| text.parse().ok()).collect()
}

fn run(directory: &Path) -> Result<Option<Value>, ConfigError> {
    let path = directory.join(Output::RUN);
    if !path.is_file() {
        return Ok(None);
    }
    let text = kumiki_config::error::read_file(&path)?;
    serde_json::from_str(&text).map(Some).map_err(|why| {
        ConfigError::new(why.to_string())
            .in_file(&path.display().to_string())
            .in_place(crate::scenario::ErrorPlace::Line(why.line(), why.column()))
    })
}
