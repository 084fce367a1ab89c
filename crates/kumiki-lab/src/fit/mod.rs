//! Prices of a profile from measurements: which make a scenario come out as what was measured.
//!
//! | | |
//! |---|---|
//! | Specification | Each line of a CSV file is a measurement of a point of the scenario; the sum of the squares of relative errors is made least (`least`). Runs are those of the scenario, with its seeds, so the same input gives the same prices, whatever runs at a time |
//! | Says | what comes out at each point, of those that were held out as well; an interval of each price; which prices the measurements do not tell apart (`certainty`) |
//! | Left out | sizes of memory, choices such as how DMA begins: what is no number is tried by hand |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kumiki_octets::text::counted;

use crate::laboratory::Laboratory;
use crate::profile::{self, Profile};
use crate::reproduce::{Failure, Runner as _};
use crate::rows::{Scope, ValueName};
use crate::scenario::{Choice, ConfigError, Document, Point};
use crate::sources::Source;
use crate::stats::Level;

mod certainty;
#[cfg(test)]
mod coverage;
mod least;
mod matrix;
mod measurements;
mod prices;
mod show;
mod surface;
#[cfg(test)]
mod tests;

use certainty::Certainty;
use least::PriceRange;
use measurements::{Measurement, measurements};
use prices::Name;

/// What is fitted, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The prices that may move; where none is named, those that matter.
    pub free: Vec<FreePrice>,
    /// Which profile, where hosts have several.
    pub profile: Option<String>,
    /// The value that was measured, by its name in the rows; what the scenario reports unless given.
    pub value: Option<String>,
    /// The column that says which measurements are held out: x, yes, true, on or a number other than 0; no, false, off,
    /// 0 and nothing leave them in, and other words are refused.
    pub hold_out: Option<String>,
    /// Every so many-th measurement is held out.
    pub hold_every: Option<usize>,
    /// How many runs of a point, with the seeds that follow each other, make one value.
    pub runs: u32,
    /// How many runs are made at once.
    pub jobs: usize,
    /// Of intervals.
    pub level: Level,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            free: Vec::new(),
            profile: None,
            value: None,
            hold_out: None,
            hold_every: None,
            runs: 1,
            jobs: 1,
            level: Level::P95,
        }
    }
}

/// A price that may move. Written `tcp.send`, or with its range, `tcp.send=100 us..1 ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct FreePrice {
    name: Name,
    /// In picoseconds.
    range: Option<(f64, f64)>,
}

impl core::str::FromStr for FreePrice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, range) = text.split_once('=').map_or((text, None), |(name, range)| (name, Some(range)));
        let end = |text: &str| {
            let sourced = profile::Sourced { value: text.trim().to_owned(), from: String::new() };
            #[expect(clippy::cast_precision_loss, reason = "a price has no sixteen digits")]
            sourced.picoseconds().map(|ps| ps as f64).map_err(|invalid| invalid.to_string())
        };
        let range = match range.map(|range| range.split_once("..")) {
            None => None,
            Some(None) => return Err("expected NAME=LEAST..MOST, such as tcp.send=\"100 us..1 ms\"".to_owned()),
            Some(Some((low, high))) => Some((end(low)?, end(high)?)),
        };
        match range {
            Some((low, high)) if low <= 0.0 || high <= low => {
                Err("a range begins above 0, and ends above that".to_owned())
            }
            _ => Ok(Self { name: Name::parse(name.trim()), range }),
        }
    }
}

/// By how much a price may be more or less where no range is given.
const WIDE: f64 = 10.0;
/// A price matters where a tenth more of it changes a result by more than that.
const MATTERS: f64 = 1e-3;

/// Measurements and what is to be fitted to them.
#[derive(Clone, Debug)]
pub struct Task {
    options: Options,
    scenario: String,
    /// Those that something was measured of.
    points: Vec<Point>,
    measurements: Vec<Measurement>,
    /// What the measurements are called.
    source: String,
    value: ValueName,
    base: String,
    profile: Profile,
}

/// What comes out at each point; nothing where its run has no such value.
type Values = Vec<Option<f64>>;

/// What came of it.
#[derive(Clone, Debug)]
pub struct Fitted {
    task: Task,
    names: Vec<Name>,
    ranges: Vec<PriceRange>,
    /// In picoseconds.
    prices: Vec<f64>,
    certainty: Certainty,
    /// Of each point, with the prices that the profile had, and with those that were fitted.
    before: Values,
    after: Values,
    steps: u32,
    runs: usize,
    /// What was found on the way.
    notes: Vec<String>,
}

/// Why an attempt came to no end.
#[derive(Debug)]
enum Stopped {
    /// There are no prices.
    Failed(Failure),
    /// Runs of these points have no such value.
    Lacking(BTreeSet<usize>),
}

impl From<Failure> for Stopped {
    fn from(why: Failure) -> Self {
        Self::Failed(why)
    }
}

impl Task {
    /// The points of `document` that `source` has measurements of.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where a measurement is of no point, or lacks what says of which; where values are missing or
    /// zero; where no profile can be meant, or it can have no price that is to move; where more prices are named than
    /// there are measurements to fit to.
    pub fn new(document: &Document, choice: &Choice, source: &Source, options: &Options) -> Result<Self, ConfigError> {
        let points = document.checked(choice, |point| Laboratory::default().check(point))?;
        let first = points.first().ok_or_else(|| ConfigError::new("the scenario has no points"))?;
        let value = match &options.value {
            Some(name) => ValueName::new(name)
                .ok_or_else(|| ConfigError::unknown(["--value"], "value of a row", name, &ValueName::known()))?,
            None => first.scenario.report.shown(),
        };
        let base = base(&points, options.profile.as_deref())?;
        let profile = profile::load(&base)?;
        let measured = measurements(&points, source, &value, options)?;
        if measured.iter().all(|it| it.is_held_out) {
            return Err(ConfigError::new("all measurements are held out, and none is left to fit to"));
        }
        let task = Self {
            options: options.clone(),
            scenario: document.name().to_owned(),
            points: Vec::new(),
            measurements: Vec::new(),
            source: std::path::Path::new(source.path())
                .file_name()
                .map_or_else(|| source.name().to_owned(), |it| it.to_string_lossy().into_owned()),
            value,
            base,
            profile,
        };
        let task = task.with_measurements(&points, measured);
        options.free.iter().try_for_each(|free| task.range(free).map(drop))?;
        let names: Vec<Name> = options.free.iter().map(|free| free.name.clone()).collect();
        task.too_few(&names).map_or(Ok(task), |few| Err(ConfigError::new(few)))
    }

    /// The same of these measurements, and of those points alone of which they are: nothing else is run.
    fn with_measurements(self, points: &[Point], measured: Vec<Measurement>) -> Self {
        let mut used: Vec<usize> = measured.iter().map(|it| it.point).collect();
        used.sort_unstable();
        used.dedup();
        let place = |point: usize| used.iter().position(|it| *it == point).unwrap_or(0);
        let measurements = measured.into_iter().map(|it| Measurement { point: place(it.point), ..it }).collect();
        let points = used.iter().filter_map(|it| points.get(*it).cloned()).collect();
        Self { points, measurements, ..self }
    }

    /// How many measurements are fitted to.
    fn fitted(&self) -> usize {
        self.measurements.iter().filter(|it| !it.is_held_out).count()
    }

    /// That there are fewer measurements than prices, where there are.
    fn too_few(&self, names: &[Name]) -> Option<String> {
        let prices = || names.iter().map(Name::short).collect::<Vec<_>>().join(", ");
        let (measurements, count) = (counted(self.fitted(), "measurement"), counted(names.len(), "price"));
        (self.fitted() < names.len())
            .then(|| format!("{measurements} cannot say {count} ({}): name fewer with --free", prices()))
    }

    /// Finds the prices. `tell` hears how far it is. A point of which a run has no such value with the prices at the
    /// beginning is left out, and that is noted.
    ///
    /// # Errors
    ///
    /// [`Failure`] where a point cannot run, or fewer measurements than prices are left.
    pub fn run(&self, laboratory: &Laboratory, mut tell: impl FnMut(&str)) -> Result<Fitted, Failure> {
        let mut task = self.clone();
        let (mut runs, mut notes) = (0, Vec::new());
        loop {
            let lacking = match task.attempt(laboratory, &mut tell, &mut runs) {
                Ok(fitted) => return Ok(Fitted { notes: notes.into_iter().chain(fitted.notes).collect(), ..fitted }),
                Err(Stopped::Failed(why)) => return Err(why),
                Err(Stopped::Lacking(points)) => points,
            };
            let is_out = |it: &Measurement| lacking.contains(&it.point);
            let (out, left): (Vec<Measurement>, Vec<_>) = task.measurements.iter().cloned().partition(is_out);
            let named = out.iter().map(|it| format!("{} (line {})", task.label(it.point), it.line));
            let named = named.collect::<Vec<_>>().join(", ");
            let (are, have) = if out.len() == 1 { ("is", "its run has") } else { ("are", "their runs have") };
            let why = format!("{have} no {}, for {}", task.value.name(), task.value.why_not());
            if left.iter().all(|it| it.is_held_out) {
                return Err(format!("{named}: {why}; no measurement is left to fit to").into());
            }
            let note = format!("{named} {are} left out: {why}");
            tell(&note);
            notes.push(note);
            let points = core::mem::take(&mut task.points);
            task = task.with_measurements(&points, left);
        }
    }

    fn attempt(
        &self,
        laboratory: &Laboratory,
        tell: &mut impl FnMut(&str),
        runs: &mut usize,
    ) -> Result<Fitted, Stopped> {
        let before = self.values(laboratory, &[(Vec::new(), Vec::new())])?.pop().unwrap_or_default();
        *runs += 1;
        let mut notes = Vec::new();
        let (names, ranges) = self.free(laboratory, &before, &mut notes, runs)?;
        self.check_begun(laboratory, &before, &names, &ranges, runs)?;
        let fitted = self.fitted();
        if let Some(few) = self.too_few(&names) {
            return Err(Stopped::Failed(few.into()));
        }
        if fitted == names.len() {
            notes.push(
                "as many prices as measurements: these are met whatever is so, and nothing says how certain that is"
                    .to_owned(),
            );
        }
        let evaluate = |all: &[Vec<f64>]| -> Result<Vec<least::Residuals>, Stopped> {
            *runs += all.len();
            let asked: Vec<(Vec<Name>, Vec<f64>)> = all.iter().map(|prices| (names.clone(), prices.clone())).collect();
            let values = self.values(laboratory, &asked)?;
            Ok(values.iter().map(|values| self.errors(values, false).collect()).collect())
        };
        let least = least::find(&ranges, evaluate, |step, squares| {
            tell(&format!("step {step}: {:.3} % off", 100.0 * root_mean(squares, fitted)));
        })?;
        let after = self.values(laboratory, &[(names.clone(), least.prices.clone())])?.pop().unwrap_or_default();
        *runs += 1;
        if !least.is_settled {
            notes.push(NOT_SETTLED.to_owned());
        }
        let missing = self.measurements.iter().filter(|it| after.get(it.point).copied().flatten().is_none());
        notes.extend(missing.map(|it| {
            let (label, name) = (self.label(it.point), self.value.name());
            format!("{label} (line {}): with the prices that were fitted its run has no {name}", it.line)
        }));
        let certainty = Certainty::of(&least, self.options.level);
        Ok(Fitted {
            task: self.clone(),
            names,
            ranges,
            prices: least.prices,
            certainty,
            before,
            after,
            steps: least.steps,
            runs: *runs,
            notes,
        })
    }

    /// That all points have their value where the prices begin.
    fn check_begun(
        &self,
        laboratory: &Laboratory,
        before: &Values,
        names: &[Name],
        ranges: &[PriceRange],
        runs: &mut usize,
    ) -> Result<(), Stopped> {
        if names.iter().zip(ranges).all(|(name, range)| name.value(&self.profile) == Some(range.start)) {
            return check_all(before);
        }
        let asked = (names.to_vec(), ranges.iter().map(|range| range.start).collect());
        *runs += 1;
        check_all(&self.values(laboratory, &[asked])?.pop().unwrap_or_default())
    }

    /// What a point is called.
    fn label(&self, point: usize) -> String {
        let label = self.points.get(point).map(Point::label);
        label.filter(|label| !label.is_empty()).unwrap_or_else(|| "the only point".to_owned())
    }

    /// The relative errors of what came out at the points, of the measurements that are held out or of the others.
    fn errors<'a>(&'a self, values: &'a Values, held_out: bool) -> impl Iterator<Item = Option<f64>> + 'a {
        let all = self.measurements.iter().filter(move |it| it.is_held_out == held_out);
        all.map(|it| Some(values.get(it.point).copied().flatten()? / it.value - 1.0))
    }

    /// Which prices may move, and in which ranges.
    fn free(
        &self,
        laboratory: &Laboratory,
        before: &Values,
        notes: &mut Vec<String>,
        runs: &mut usize,
    ) -> Result<(Vec<Name>, Vec<PriceRange>), Stopped> {
        if !self.options.free.is_empty() {
            let ranges = self
                .options
                .free
                .iter()
                .map(|free| self.range(free))
                .collect::<Result<_, _>>()
                .map_err(Failure::from)?;
            notes.extend(self.options.free.iter().filter_map(|free| self.outside(free)));
            return Ok((self.options.free.iter().map(|free| free.name.clone()).collect(), ranges));
        }
        check_all(before)?;
        let all = prices::all(&self.profile);
        let more = |name: &Name| name.value(&self.profile).map_or(0.0, |ps| ps * 1.1);
        let asked: Vec<(Vec<Name>, Vec<f64>)> = all.iter().map(|name| (vec![name.clone()], vec![more(name)])).collect();
        *runs += asked.len();
        let values = self.values(laboratory, &asked)?;
        let here: Vec<Option<f64>> = self.errors(before, false).collect();
        let mut effects: Vec<(f64, Name)> = Vec::new();
        for (name, values) in all.into_iter().zip(&values) {
            // What takes a value away does much.
            let moved = self.errors(values, false).zip(&here);
            let moved = moved.map(|(there, here)| there.zip(*here).map_or(f64::INFINITY, |(a, b)| (a - b).abs()));
            effects.push((moved.fold(0.0, f64::max), name));
        }
        effects.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut names: Vec<Name> =
            effects.into_iter().filter(|(effect, _)| *effect > MATTERS).map(|(_, name)| name).collect();
        if names.is_empty() {
            return Err(Stopped::Failed(format!("no price of {} matters to what was measured", self.base).into()));
        }
        // With half as many there is something left to say how certain they are.
        let most = (here.len() / 2).max(1);
        if names.len() > most {
            let left: Vec<String> = names.drain(most..).map(|name| name.short()).collect();
            let matter = if left.len() == 1 { "matters less, and stays" } else { "matter less, and stay" };
            let (few, are) = (counted(here.len(), "measurement"), if here.len() == 1 { "is" } else { "are" });
            notes.push(format!("{} {matter}: {few} {are} too few", left.join(", ")));
        }
        let ranges = names.iter().map(|name| self.range(&FreePrice { name: name.clone(), range: None }));
        let ranges = ranges.collect::<Result<_, _>>().map_err(Failure::from)?;
        Ok((names, ranges))
    }

    /// That the price of the profile is not in the range that was given, where it is not.
    fn outside(&self, free: &FreePrice) -> Option<String> {
        let own = free.name.value(&self.profile).filter(|ps| *ps > 0.0)?;
        let (low, high) = free.range.filter(|(low, high)| own < *low || own > *high)?;
        let [own, low, high] = [own, low, high].map(|ps| free.name.text(ps));
        let name = free.name.short();
        Some(format!(
            "{name} is {own} in {}, outside of the range {low}..{high}: it began at the nearer end",
            self.base
        ))
    }

    fn range(&self, free: &FreePrice) -> Result<PriceRange, ConfigError> {
        if let Some(node) = free.name.node() {
            let nodes = self.nodes();
            if !nodes.contains(node) {
                let nodes: Vec<&str> = nodes.into_iter().collect();
                let whose = format!("node of a host with the profile {}", self.base);
                return Err(ConfigError::unknown(["--free"], &whose, node, &nodes));
            }
        }
        let own = free.name.value(&self.profile).filter(|ps| *ps > 0.0);
        let mut profile = self.profile.clone();
        if !free.name.put(&mut profile, 1.0, "tried") {
            return Err(free.name.unknown(&self.profile));
        }
        match (own, free.range) {
            (Some(own), Some((low, high))) => Ok(PriceRange { start: own.clamp(low, high), low, high }),
            (Some(own), None) => Ok(PriceRange { start: own, low: own / WIDE, high: own * WIDE }),
            (None, Some((low, high))) => Ok(PriceRange { start: (low * high).sqrt(), low, high }),
            (None, None) => {
                let problem = format!("{} has no such price, or it is 0", self.base);
                Err(ConfigError::at([format!("--free {}", free.name.short())], problem)
                    .expected("a range, as in tcp.send=\"100 us..1 ms\""))
            }
        }
    }

    /// What a price can be of: nodes of hosts that have the profile, and their kinds.
    fn nodes(&self) -> BTreeSet<&str> {
        let hosts = self.points.iter().flat_map(|point| point.scenario.host.values());
        let hosts = hosts.filter(|host| host.profile.as_ref() == Some(&self.base));
        let mut names = BTreeSet::new();
        for host in hosts {
            let Some(graph) = &host.graph else {
                continue;
            };
            let devices = graph.devices();
            let nodes = graph.nodes().into_iter().filter(|node| !devices.contains(node));
            names.extend(nodes.flat_map(|node| [node, host.kind_of(node)]));
        }
        names
    }

    /// What comes out at each point, with each list of prices.
    fn values(&self, laboratory: &Laboratory, asked: &[(Vec<Name>, Vec<f64>)]) -> Result<Vec<Values>, Stopped> {
        let profiles: Vec<BTreeMap<String, Profile>> =
            asked.iter().map(|(names, prices)| self.with(names, prices)).collect();
        let count = profiles.len() * self.points.len();
        let next = AtomicUsize::new(0);
        let found = Mutex::new(vec![None::<Result<Option<f64>, String>>; count]);
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs.clamp(1, count.max(1)) {
                scope.spawn(|| {
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let (list, point) = (place / self.points.len().max(1), place % self.points.len().max(1));
                        let (Some(profiles), Some(point)) = (profiles.get(list), self.points.get(point)) else {
                            return;
                        };
                        let value = self.value(laboratory, point, profiles);
                        let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        if let Some(cell) = found.get_mut(place) {
                            *cell = Some(value);
                        }
                    }
                });
            }
        });
        let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let values = found.into_iter().map(|value| value.unwrap_or_else(|| Err("a point was not run".to_owned())));
        let values: Vec<Option<f64>> = values.collect::<Result<_, String>>().map_err(Failure::from)?;
        let count = self.points.len().max(1);
        Ok(values.chunks(count).map(<[_]>::to_vec).collect())
    }

    /// The profile with these prices, under its name.
    fn with(&self, names: &[Name], prices: &[f64]) -> BTreeMap<String, Profile> {
        let mut profile = self.profile.clone();
        for (name, ps) in names.iter().zip(prices) {
            name.put(&mut profile, *ps, "tried");
        }
        BTreeMap::from([(self.base.clone(), profile)])
    }

    /// What comes out at a point: the mean of its runs; nothing where one of them has no such value.
    fn value(
        &self,
        laboratory: &Laboratory,
        point: &Point,
        profiles: &BTreeMap<String, Profile>,
    ) -> Result<Option<f64>, String> {
        let mut sum = 0.0;
        let mut point = point.clone();
        let runs = self.options.runs.max(1);
        for _ in 0..runs {
            let wrong = |why: String| format!("{}: {why}", point.label());
            let outcome = laboratory.run_with(&point, profiles).map_err(|why| wrong(why.to_string()))?;
            let load = &point.scenario.report.load;
            let own = outcome.rows.iter().find(|row| row.scope != Scope::Flow && row.load == *load);
            let Some(value) = own.and_then(|row| row.value(&self.value)) else {
                return Ok(None);
            };
            sum += value;
            let run = &mut Arc::make_mut(&mut point.scenario).run;
            run.seed = run.seed.wrapping_add(1);
        }
        Ok(Some(sum / f64::from(runs)))
    }
}

/// What is said where the sum of squares was not seen to be least.
const NOT_SETTLED: &str = "it stopped before the sum of squares was seen to be least: prices may be further off than their intervals; begin nearer, with the profile that this gives or with other ranges";

/// That each point has its value.
fn check_all(values: &Values) -> Result<(), Stopped> {
    let lacking = values.iter().enumerate().filter(|(_, value)| value.is_none()).map(|(point, _)| point);
    let lacking: BTreeSet<usize> = lacking.collect();
    if lacking.is_empty() { Ok(()) } else { Err(Stopped::Lacking(lacking)) }
}

fn root_mean(squares: f64, count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of measurements is far below 2^53")]
    let count = count.max(1) as f64;
    (squares / count).sqrt()
}

/// The one profile that is meant.
fn base(points: &[Point], asked: Option<&str>) -> Result<String, ConfigError> {
    let mut names: Vec<&str> = Vec::new();
    for host in points.iter().flat_map(|point| point.scenario.host.values()) {
        let name = host.profile.as_deref().unwrap_or(profile::ZERO);
        if name != profile::ZERO && !names.contains(&name) {
            names.push(name);
        }
    }
    match (asked, names.as_slice()) {
        (Some(asked), _) if names.contains(&asked) => Ok(asked.to_owned()),
        (Some(asked), _) => Err(ConfigError::unknown(["--profile"], "profile of a host", asked, &names)),
        (None, [only]) => Ok((*only).to_owned()),
        (None, []) => Err(ConfigError::new("no host has a profile, so there is no price to fit")
            .expected("a `profile` of the hosts, or --set host.NAME.profile=NAME")),
        (None, _) => Err(ConfigError::new("hosts have several profiles")
            .one_of(&names)
            .expected(format!("--profile with one of {}, or --set so that it is the only one", names.join(", ")))),
    }
}
