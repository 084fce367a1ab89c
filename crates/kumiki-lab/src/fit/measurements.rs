//! What was measured, and of which point each value is.

use super::Options;
use crate::rows::{Parameter, ValueName};
use crate::scenario::{ConfigError, ErrorPlace, Point};
use crate::sources::{FoundColumn, Record, Source, number, told};

/// A measurement of a point.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    /// Which of the points that are run.
    pub(super) point: usize,
    pub(super) value: f64,
    pub(super) is_held_out: bool,
    pub(super) line: u64,
}

/// What says of a record which point it is of.
struct PointFinder {
    /// What is varied, of each point.
    keys: Vec<Vec<(String, String)>>,
    /// The places in these of which there is a column.
    columns: Vec<(usize, FoundColumn)>,
}

impl PointFinder {
    fn of(points: &[Point], source: &Source) -> Result<Self, ConfigError> {
        let key = |point: &Point| point.parameters().into_iter().map(|(name, value)| (name, told(&value))).collect();
        let keys: Vec<Vec<(String, String)>> = points.iter().map(key).collect();
        let mut columns: Vec<(usize, FoundColumn)> = Vec::new();
        for (place, (name, first)) in keys.first().into_iter().flatten().enumerate() {
            let differs = keys.iter().any(|key| key.get(place).is_some_and(|(_, value)| value != first));
            match source.find(name) {
                Some(found) => columns.push((place, found.beside_bare(name))),
                None if differs => return Err(source.lacks(name)),
                None => {}
            }
        }
        Ok(Self { keys, columns })
    }

    /// The place of the point of `record`; what it has where there is none.
    fn find(&self, record: Record<'_>) -> Result<usize, String> {
        let own = self.columns.iter().map(|(place, found)| (*place, record.get(found).map(|it| told(&it))));
        let own: Vec<(usize, Option<String>)> = own.collect();
        let fits = |key: &Vec<(String, String)>| {
            own.iter().all(|(place, value)| key.get(*place).map(|(_, known)| known) == value.as_ref())
        };
        self.keys.iter().position(fits).ok_or_else(|| {
            let said = own.iter().filter_map(|(place, value)| {
                let (name, _) = self.keys.first()?.get(*place)?;
                Some(format!("{name} {}", value.as_deref().unwrap_or("nothing")))
            });
            said.collect::<Vec<_>>().join(", ")
        })
    }
}

/// The measurements of `source`, each with the place of its point.
pub(super) fn measurements(
    points: &[Point],
    source: &Source,
    value: &ValueName,
    options: &Options,
) -> Result<Vec<Measurement>, ConfigError> {
    let found = source.find(value.name()).ok_or_else(|| source.lacks(value.name()))?;
    source.check_numbers(&found)?;
    let finder = PointFinder::of(points, source)?;
    let hold_out = match &options.hold_out {
        Some(name) => Some((name.as_str(), source.find(name).ok_or_else(|| source.lacks(name))?)),
        None => None,
    };
    let mut measurements = Vec::new();
    for (count, record) in (1_usize..).zip(source.records()) {
        let at = |fault: ConfigError| {
            let place = ErrorPlace::Line(usize::try_from(record.line()).unwrap_or(0), 1);
            fault.in_place(place).in_file(source.path())
        };
        let point = finder.find(record).map_err(|said| {
            at(ConfigError::new(format!("no point of the scenario has {said}")))
                .expected("values that [vary] has; --set NAME=[...] gives it others")
        })?;
        let number = measured(record.number(&found), value).map_err(at)?;
        let is_every = options.hold_every.is_some_and(|every| count.checked_rem(every) == Some(0));
        let is_marked = match &hold_out {
            Some((name, found)) => is_held_out(record, name, found).map_err(at)?,
            None => false,
        };
        measurements.push(Measurement {
            point,
            value: number,
            is_held_out: is_every || is_marked,
            line: record.line(),
        });
    }
    Ok(measurements)
}

/// A `number` that something can be fitted to, as the `value` of a line.
fn measured(number: Option<f64>, value: &ValueName) -> Result<f64, ConfigError> {
    let Some(number) = number else {
        let fault = ConfigError::new(format!("no {}: the cell is empty", value.name()));
        return Err(fault.expected("what was measured, or no such line"));
    };
    if number == 0.0 {
        return Err(ConfigError::new(format!("{} is 0, of which no error is a part", value.name())));
    }
    if !MEASURABLE.contains(&number) {
        let problem = format!("{} is {number:e}, which nothing that is run can come to", value.name());
        return Err(ConfigError::new(problem).expected(format!("{:e} to {:e}", MEASURABLE.start(), MEASURABLE.end())));
    }
    Ok(number)
}

/// Whether a line says in the column `name` that it is held out.
fn is_held_out(record: Record<'_>, name: &str, found: &FoundColumn) -> Result<bool, ConfigError> {
    let Some(cell) = record.get(found) else {
        return Ok(false);
    };
    is_mark(&cell).ok_or_else(|| {
        ConfigError::new(format!("{name} = {:?} neither holds the line out nor leaves it in", told(&cell)))
            .expected(HOLD_OUT_WORDS)
    })
}

/// What any value of a row can be that is not 0: a thousandth of a bit per second in Mb/s is not below it, and 500
/// years in milliseconds are not above.
const MEASURABLE: core::ops::RangeInclusive<f64> = 1e-9..=1e15;

/// What a column of [`Options::hold_out`] may have.
const HOLD_OUT_WORDS: &str =
    "x, yes, true, on or a number other than 0 where it is held out, and no, false, off, 0 or nothing where it is not";

/// Whether a cell marks its line; nothing where it says neither.
fn is_mark(cell: &Parameter) -> Option<bool> {
    match cell {
        Parameter::Switch(on) => Some(*on),
        Parameter::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "x" | "yes" | "true" | "on" => Some(true),
            "" | "no" | "false" | "off" => Some(false),
            _ => None,
        },
        Parameter::Count(_) | Parameter::Number(_) => number(cell).map(|number| number != 0.0),
    }
}
