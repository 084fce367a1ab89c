//! What measurements are of beside results: which paper's figure, which load, which flow; and what of them is not
//! looked at.

use std::collections::BTreeSet;

use super::{Key, Options};
use crate::rows::Scope;
use crate::scenario::{ConfigError, ErrorPlace};
use crate::sources::{Interval, Record, Source};

/// What rows are of, which measurements need not say where there is only one of it.
pub(super) struct Groups {
    /// The papers and figures.
    figures: BTreeSet<(Option<u8>, String)>,
    /// The loads, where it is about each.
    loads: BTreeSet<String>,
    /// The loads, whatever it is about.
    all_loads: BTreeSet<String>,
}

impl Groups {
    pub(super) fn of(sources: &[Source], options: &Options) -> Self {
        let rows = || sources.iter().flat_map(Source::records).filter_map(Record::row);
        let own = rows().filter(|row| row.scope == options.scope);
        Self {
            figures: rows().map(|row| (row.paper, row.figure.clone())).collect(),
            loads: own.filter_map(|row| row.load.clone()).collect(),
            all_loads: rows().filter_map(|row| row.load.clone()).collect(),
        }
    }

    /// What a measurement is of: by its columns, or as the only one that there is.
    pub(super) fn place(&self, record: Record<'_>, source: &Source, options: &Options) -> Result<Key, ConfigError> {
        let Some((paper, figure)) = self.figures.first() else {
            // All are measurements: their columns are what tells them apart.
            return Ok(Key::default());
        };
        if self.figures.len() > 1 {
            let problem = format!("the results are of {} figures, and it does not say of which", self.figures.len());
            return Err(ConfigError::new(problem).in_file(source.name()).expected("the results of one scenario"));
        }
        let lacks = |what: &str| {
            let problem = format!("no column is called {what:?}, and the results are of several {what}s");
            ConfigError::new(problem)
                .in_file(source.path())
                .expected(format!("a column {what} that says of which each value is"))
        };
        let mut key = Key { paper: *paper, figure: figure.clone(), ..Key::default() };
        let is_over = |name: &str| options.over.iter().any(|over| over == name);
        if let (Scope::Total, false, Some(load)) = (options.scope, is_over(LOAD), record.named(LOAD)) {
            // Measurements of parts are no runs of the whole.
            if self.all_loads.iter().any(|it| *it != load) {
                let problem = format!("it is of the load {load:?}, and all loads together are compared");
                return Err(ConfigError::new(problem)
                    .in_file(source.path())
                    .in_place(ErrorPlace::Line(usize::try_from(record.line()).unwrap_or(0), 1))
                    .expected("--scope load, which compares load by load, or --over load, where each line is a run of all together"));
            }
        }
        if options.scope != Scope::Total && !is_over(LOAD) {
            key.load = match (record.named(LOAD), self.loads.first()) {
                (Some(load), _) => Some(load),
                (None, Some(only)) if self.loads.len() == 1 => Some(only.clone()),
                (None, _) => return Err(lacks(LOAD)),
            };
        }
        if options.scope == Scope::Flow && !is_over(FLOW) {
            let flow = record.named(FLOW).ok_or_else(|| lacks(FLOW))?;
            let fault =
                || ConfigError::at([FLOW], "no number of a flow").found(format!("{flow:?}")).in_file(source.path());
            key.flow = Some(flow.parse().map_err(|_| fault())?);
        }
        Ok(key)
    }
}

/// The columns of measurements that say of which load and which flow they are, as in rows.
pub(super) const LOAD: &str = "load";
pub(super) const FLOW: &str = "flow";

/// Columns by which nothing is told apart.
pub(super) const RUNS: [&str; 4] = ["seed", "repetition", "run", "version"];

/// Which columns of measurements are not looked at beside results.
pub(super) fn unused(sources: &[Source], value: &str, names: &[String], options: &Options) -> Vec<String> {
    if sources.iter().all(Source::is_measured) {
        return Vec::new();
    }
    let of_scope: &[&str] = match options.scope {
        Scope::Total => &[],
        Scope::Load => &[LOAD],
        Scope::Flow => &[LOAD, FLOW],
    };
    let asked = options.over.iter().cloned().chain(options.conditions.iter().map(|it| it.name().to_owned()));
    let wanted: Vec<String> = names.iter().cloned().chain(asked).chain([value.to_owned()]).collect();
    let of_source = |source: &Source| {
        let interval = Interval::columns(source, value);
        let used: Vec<String> =
            wanted.iter().filter_map(|name| source.find(name)).map(|found| found.name().to_owned()).collect();
        let is_used = |name: &str| {
            used.iter().any(|it| it == name)
                || source.says_scope(name)
                || of_scope.contains(&name)
                || RUNS.contains(&name)
                || interval.iter().any(|it| it == name)
        };
        let left: Vec<&str> = source.keys().into_iter().filter(|name| !is_used(name)).collect();
        let more = match left.contains(&LOAD) {
            true => "; --scope load compares load by load",
            false => "",
        };
        let heads: Vec<&str> = left.iter().map(|name| source.head(name)).collect();
        (!left.is_empty()).then(|| format!("not used of {}: {}{more}", source.name(), heads.join(", ")))
    };
    sources.iter().filter(|source| source.is_measured()).filter_map(of_source).collect()
}
