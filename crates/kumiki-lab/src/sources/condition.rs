//! Which records are looked at: `--where`.

use std::collections::BTreeSet;

use super::{FoundColumn, Record, Source, column, in_unit, told};
use crate::rows::Parameter;
use crate::scenario::{Amount, ConfigError, nearest};

/// So many values that there are in the place of one that there is not are named.
const NAMED: usize = 12;

/// A condition on records: a value by name, and what it has to be. Written `nagle=false`, `window=64 KiB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    name: String,
    text: String,
}

impl core::str::FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, wanted) = text.split_once('=').ok_or("expected NAME=VALUE, such as nagle=false")?;
        Ok(Self { name: name.trim().to_owned(), text: wanted.trim().to_owned() })
    }
}

impl core::fmt::Display for Condition {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "--where {}={}", self.name, self.text)
    }
}

impl Condition {
    /// Of which value it is.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it has to be, as it was written.
    pub(crate) fn wanted_text(&self) -> &str {
        &self.text
    }

    /// Which of `sources` say nothing of what `conditions` are about, in words: all of these is looked at.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where none of them says anything of it.
    pub(crate) fn lacking(conditions: &[Self], sources: &[Source]) -> Result<Vec<String>, ConfigError> {
        let mut notes = Vec::new();
        for condition in conditions {
            let (have, lack): (Vec<&Source>, Vec<&Source>) =
                sources.iter().partition(|source| source.find(&condition.name).is_some());
            match (lack.first(), have.is_empty()) {
                (None, _) => {}
                (Some(first), true) => {
                    return Err(first.lacks(&condition.name));
                }
                (Some(_), false) => {
                    let names: Vec<&str> = lack.iter().map(|source| source.name()).collect();
                    let names = names.join(" and ");
                    let of = if lack.len() == 1 { "it" } else { "them" };
                    notes.push(format!("{condition}: {names} without {}, so all of {of} is looked at", condition.name));
                }
            }
        }
        Ok(notes)
    }

    /// The records of `source` for which all of `conditions` hold that are about what it has.
    pub(crate) fn select<'a>(conditions: &[Self], source: &'a Source) -> Vec<Record<'a>> {
        let mut records: Vec<Record<'a>> = source.records().collect();
        for condition in conditions {
            if let Some(found) = source.find(&condition.name) {
                records = condition.of(&found, &records);
            }
        }
        records
    }

    /// Why `conditions` leave nothing of `source`, where they do: which of them is met by none of the records that
    /// those before it have left, and what these have in its place.
    pub(crate) fn unmet(conditions: &[Self], source: &Source) -> Option<ConfigError> {
        let mut records: Vec<Record<'_>> = source.records().collect();
        for (number, condition) in conditions.iter().enumerate() {
            let Some(found) = source.find(&condition.name) else {
                continue;
            };
            let left = condition.of(&found, &records);
            if left.is_empty() && !records.is_empty() {
                return Some(condition.met_by_none(&found, &records, number > 0).in_file(source.path()));
            }
            records = left;
        }
        None
    }

    /// Those of `records` for which it holds.
    fn of<'a>(&self, found: &FoundColumn, records: &[Record<'a>]) -> Vec<Record<'a>> {
        // What is looked at is in the unit of the name that was asked for, where that has one.
        let has_unit = column::split(&self.name).1.is_some();
        let wanted = self.wanted(if has_unit { &self.name } else { &found.name });
        let holds = |record: &&Record<'a>| record.get(found).is_some_and(|cell| told(&cell) == wanted);
        records.iter().filter(holds).copied().collect()
    }

    fn is_word(&self, found: &FoundColumn, records: &[Record<'_>]) -> bool {
        let mut cells = records.iter().filter_map(|record| record.get(found));
        cells.any(|cell| matches!(cell, Parameter::Text(_)))
    }

    fn met_by_none(&self, found: &FoundColumn, records: &[Record<'_>], is_later: bool) -> ConfigError {
        let name = if column::split(&self.name).1.is_some() { &self.name } else { &found.name };
        let mut values: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for cell in records.iter().filter_map(|record| record.get(found)) {
            if seen.insert(told(&cell)) {
                values.push(in_unit(name, &cell));
            }
        }
        let which = if is_later { "of the records that the other conditions leave, none" } else { "no record" };
        let fault = ConfigError::at([self.to_string()], format!("{which} has this value"));
        let known: Vec<&str> = values.iter().map(String::as_str).collect();
        // Numbers are no slips of each other.
        let near = if self.is_word(found, records) { nearest(&self.text, &known) } else { None };
        // A measured value may be another one in each record.
        let more = known.len().saturating_sub(NAMED);
        let fault = match known.get(..NAMED) {
            Some(first) if more > 0 => fault.expected(format!("one of {}, and {more} more", first.join(", "))),
            _ => fault.one_of(&known),
        };
        match near {
            Some(near) => fault.suggest(near),
            None => fault,
        }
    }

    /// The value in the unit of the column called `name`, as [`told`] writes it. Where no unit is said, a share is a
    /// part of one, as in scenarios: it has to be the same whether results have it in per cent or not.
    fn wanted(&self, name: &str) -> String {
        let of_whole = || match (column::split(&self.name).1, column::split(name).1) {
            (None, Some(unit)) => column::whole()?.in_units_of(unit),
            _ => None,
        };
        let number = self.text.parse::<f64>().ok().map(|number| number * of_whole().unwrap_or(1.0));
        let amount = Amount::parse(&self.text).filter(|it| !matches!(it, Amount::Count(_)));
        let in_unit = || {
            let amount = amount?;
            // A share may be a bare number.
            let unit = column::split(name).1.or_else(column::whole);
            #[expect(clippy::cast_precision_loss, reason = "what is drawn needs no more than 53 bits")]
            let base = amount.base() as f64;
            Some(base * column::Unit::of(amount.with_base(1))?.in_units_of(unit?)?)
        };
        match (number.or_else(in_unit), self.text.as_str()) {
            (Some(number), _) => told(&Parameter::Number(number)),
            (None, "on") => told(&Parameter::Switch(true)),
            (None, "off") => told(&Parameter::Switch(false)),
            (None, text) => text.to_owned(),
        }
    }
}
