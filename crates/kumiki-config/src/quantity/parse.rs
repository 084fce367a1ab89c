//! Reading a quantity, and saying what is wrong with one.

use super::{Quantity, Unit};

/// The longest list that [`parse_list`] makes, so that a slip of the pen does not fill the memory.
pub const LONGEST_LIST: usize = 100_000;

/// What is said of a sign before a number.
pub const SIGN: &str = "a sign is not accepted";

/// Why a text is not the quantity that was asked for.
///
/// Printed it reads `"45Mbsp": unknown unit "Mbsp"; try Mb/s`; [`Invalid::at`] puts the key before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?}: {problem}; {}", self.advice())]
pub struct Invalid {
    /// The text, or that item of a list, as it was found.
    pub found: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be accepted, with an example.
    pub expected: &'static str,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl Invalid {
    /// The message with the key it belongs to: `rate = "45Mbsp": unknown unit "Mbsp"; try Mb/s`.
    #[must_use]
    pub fn at(&self, key: &str) -> String {
        format!("{key} = {self}")
    }

    fn new<Q: Quantity>(found: &str, problem: impl Into<String>) -> Self {
        Self::with_forms(found, problem, Q::EXPECTED)
    }

    pub(super) fn with_forms(found: &str, problem: impl Into<String>, expected: &'static str) -> Self {
        Self { found: found.to_owned(), problem: problem.into(), expected, suggestion: None }
    }

    fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// What would be right, in words.
    pub(super) fn advice(&self) -> String {
        match &self.suggestion {
            Some(suggestion) => format!("try {suggestion}"),
            None => format!("expected {}", self.expected),
        }
    }
}

/// Reads one quantity.
///
/// # Errors
///
/// [`Invalid`] where the number or the unit is missing, unknown or out of range, or where the value is not a whole
/// number of base units.
pub fn parse<Q: Quantity>(text: &str) -> Result<Q, Invalid> {
    let found = text.trim();
    let split = found.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(found.len());
    let (number, unit) = found.split_at_checked(split).unwrap_or((found, ""));
    let unit = unit.trim_start();
    if number.is_empty() {
        return Err(match unit.chars().next() {
            None => Invalid::new::<Q>(found, "nothing is written here"),
            Some('-' | '+' | '\u{2212}') => Invalid::new::<Q>(found, SIGN),
            Some(_) => Invalid::new::<Q>(found, "no number"),
        });
    }
    if let Some((behind, rest)) = comma(unit) {
        let problem = "a comma, where numbers have a point";
        return Err(Invalid::new::<Q>(found, problem).suggest(format!("\"{number}.{behind}{rest}\"")));
    }
    let (digits, scale) = decimal(number).ok_or_else(|| {
        Invalid::new::<Q>(found, format!("{number:?} is not a number between 0 and 2^64 with at most 18 decimals"))
    })?;
    let worth = worth::<Q>(found, number, unit, digits == 0)?;
    let base = digits
        .checked_mul(u128::from(worth))
        .ok_or_else(|| Invalid::new::<Q>(found, format!("more than 2^64 {}", Q::BASE)))?;
    if base.checked_rem(scale) != Some(0) {
        return Err(Invalid::new::<Q>(found, format!("not a whole number of {}", Q::BASE)));
    }
    base.checked_div(scale)
        .and_then(|n| u64::try_from(n).ok())
        .map(Q::from_base)
        .ok_or_else(|| Invalid::new::<Q>(found, format!("more than 2^64 {}", Q::BASE)))
}

/// The digits behind a comma at the beginning of what should be a unit, and what follows them.
fn comma(unit: &str) -> Option<(&str, &str)> {
    let behind = unit.strip_prefix(',')?;
    let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    behind.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())
}

/// Reads values and ranges between commas.
///
/// # Errors
///
/// [`Invalid`] as from [`parse`], with the item that is wrong; also where a range runs backwards, does not advance, or
/// makes the list longer than [`LONGEST_LIST`].
pub fn parse_list<Q: Quantity>(text: &str) -> Result<Vec<Q>, Invalid> {
    let mut list = Vec::new();
    for item in text.split(',') {
        let item = item.trim();
        match item.split_once("..") {
            None => list.push(parse(item)?),
            Some((from, rest)) => range(item, from, rest, &mut list)?,
        }
        if list.len() > LONGEST_LIST {
            return Err(too_long::<Q>(item));
        }
    }
    Ok(list)
}

fn too_long<Q: Quantity>(item: &str) -> Invalid {
    Invalid::new::<Q>(item, format!("more than {LONGEST_LIST} values")).suggest("a larger step")
}

/// Appends `from .. rest`, where `rest` is `END step STEP` or `END times FACTOR`; what is counted goes from one to the
/// next where it is `END` alone.
fn range<Q: Quantity>(item: &str, from: &str, rest: &str, list: &mut Vec<Q>) -> Result<(), Invalid> {
    let start: Q = parse(from)?;
    let (end, next): (Q, Advance) = if let Some((end, step)) = rest.split_once("step") {
        (parse(end)?, Advance::Step(parse::<Q>(step)?.base()))
    } else if let Some((end, factor)) = rest.split_once("times") {
        (parse(end)?, Advance::Times(parse(factor)?))
    } else if Q::UNITS.is_empty() {
        (parse(rest)?, Advance::Step(1))
    } else {
        let end: Q = parse(rest)?;
        let example = format!("\"{start} .. {end} step ...\" or \"{start} .. {end} times 2\"");
        return Err(Invalid::new::<Q>(item, "the range has no step").suggest(example));
    };
    if end < start {
        return Err(Invalid::new::<Q>(item, "the range runs backwards").suggest(format!("{end} .. {start}")));
    }
    if !next.advances_from(start.base()) {
        return Err(Invalid::new::<Q>(item, "the range does not advance")
            .suggest("a step above 0, or a start above 0 and times 2"));
    }
    let mut at = Some(start.base());
    while let Some(value) = at.filter(|&v| v <= end.base()) {
        if list.len() >= LONGEST_LIST {
            return Err(too_long::<Q>(item));
        }
        list.push(Q::from_base(value));
        at = next.after(value);
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Advance {
    Step(u64),
    Times(u64),
}

impl Advance {
    fn after(self, value: u64) -> Option<u64> {
        match self {
            Self::Step(step) => value.checked_add(step),
            Self::Times(factor) => value.checked_mul(factor),
        }
    }

    fn advances_from(self, start: u64) -> bool {
        match self {
            Self::Step(step) => step > 0,
            Self::Times(factor) => factor > 1 && start > 0,
        }
    }
}

/// The digits of `number` without its point, and the power of ten that the point divides them by.
fn decimal(number: &str) -> Option<(u128, u128)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // "5." is refused like ".5": both are more often a slip than meant.
    if number.contains('.') && fraction.is_empty() {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let mut digits = group(whole)?;
    let mut scale: u128 = 1;
    for c in fraction.chars() {
        digits = digits.checked_mul(10)?.checked_add(u128::from(c.to_digit(10)?))?;
        scale = scale.checked_mul(10)?;
    }
    // 18 decimals of a value below 2^64 fit 128 bits, also times the largest unit.
    (scale <= 10_u128.pow(18)).then_some((digits, scale))
}

/// A whole number below 2^64 with `_` between digits.
fn group(whole: &str) -> Option<u128> {
    if whole.split('_').any(str::is_empty) {
        return None;
    }
    whole.chars().filter(|&c| c != '_').try_fold(0_u128, |n, c| {
        let n = n.checked_mul(10)?.checked_add(u128::from(c.to_digit(10)?))?;
        (n <= u128::from(u64::MAX)).then_some(n)
    })
}

/// What one `unit` is worth in base units.
fn worth<Q: Quantity>(found: &str, number: &str, unit: &str, is_zero: bool) -> Result<u64, Invalid> {
    if unit.is_empty() {
        if is_zero || Q::UNITS.is_empty() {
            return Ok(1);
        }
        if let Some(worth) = Q::BARE.filter(|_| number.parse::<f64>().is_ok_and(|it| it <= 1.0)) {
            return Ok(worth);
        }
        let units: Vec<&str> = named(Q::UNITS).collect();
        return Err(
            Invalid::new::<Q>(found, "no unit").suggest(format!("\"{number} UNIT\" with one of {}", units.join(", ")))
        );
    }
    if let Some(unit) = Q::UNITS.iter().find(|u| u.name == unit) {
        return Ok(unit.worth);
    }
    if Q::UNITS.is_empty() {
        return Err(Invalid::new::<Q>(found, format!("a number without unit is wanted, not {unit:?}")));
    }
    if let Some((_, why, instead)) = Q::REFUSED.iter().find(|(name, ..)| *name == unit) {
        return Err(Invalid::new::<Q>(found, format!("unit {unit:?} is not accepted, as {why}")).suggest(*instead));
    }
    let invalid = Invalid::new::<Q>(found, format!("unknown unit {unit:?}"));
    Err(match nearest(Q::UNITS, unit) {
        Some(near) => invalid.suggest(near),
        None => invalid,
    })
}

fn named(units: &[Unit]) -> impl Iterator<Item = &'static str> {
    units.iter().filter(|u| u.name == u.named).map(|u| u.name)
}

/// The unit that `typed` is closest to: equal but for capitals, the longest that it begins with (`msec`, `Mbits`), or
/// at most two slips away and nearer than starting afresh. A unit of one letter begins too much.
fn nearest(units: &[Unit], typed: &str) -> Option<&'static str> {
    if let Some(unit) = units.iter().find(|u| u.name.eq_ignore_ascii_case(typed)) {
        return Some(unit.named);
    }
    let begun = units.iter().filter(|u| u.name.chars().count() > 1 && typed.starts_with(u.name));
    if let Some(unit) = begun.max_by_key(|u| u.name.len()) {
        return Some(unit.named);
    }
    units
        .iter()
        .map(|u| (strsim::osa_distance(u.name, typed), u))
        .filter(|(distance, u)| *distance <= 2 && *distance < u.name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, u)| u.named)
}
