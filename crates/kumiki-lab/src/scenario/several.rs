//! Several mistakes of one file, told at once.
//!
//! Who looks at a scenario stops at the first mistake. What is wrong there is then left out, or something else is put
//! there where it cannot be missing, and the rest is looked at again: an unknown key, the value of a setting, or a key
//! that is missing. Nothing is touched on which others rest, such as graphs and ends of lines, so that no mistake
//! follows from another.

use super::groups;
use super::keys::example;
use super::load::{Document, UNUSED};
use super::{Choice, ConfigError, ErrorPlace, Point};
use kumiki_config::error::{MOST, NameFault, UNKNOWN_KEY};
use kumiki_config::tree::{Entry, Node, Origin, Value};

/// Keys on which others rest: whoever leaves them out changes what the rest means.
const BASES: [&str; 13] =
    ["graph", "like", "kind", "count", "real", "ends", "medium", "from", "to", "at", "link", "host", "load"];

/// Tables whose values stand for other values, or for points.
const APART: [&str; 7] = ["define", "vary", "quick", "skip", "compare", "trend", "claim"];

/// What may stand in the place of a value that must be given, where the book has no example of it: one of each kind.
const STAND_INS: [&str; 8] =
    ["\"100 Mb/s\"", "\"1000 s\"", "\"1 s\"", "\"1 KiB\"", "\"64 KiB\"", "\"95 %\"", "\"1 %\"", "1"];

/// What is left out of a document, since something is wrong with it.
struct Removed {
    path: Vec<String>,
    at: Origin,
}

/// What is other than in the file.
#[derive(Default)]
struct Touched {
    removed: Vec<Removed>,
    /// The places to which unknown keys were moved: nothing is there in the file.
    renamed: Vec<Vec<String>>,
}

impl Removed {
    /// Whether `fault` says that it is missing.
    fn is_missed_by(&self, fault: &ConfigError) -> bool {
        let Some((key, own)) = self.path.split_last() else {
            return false;
        };
        let is_named = || fault.problem().contains(&format!("{key:?}"));
        // Of a table of which it is said by another key, as that one of two must be given.
        let is_beside = || {
            let is_of_table = fault.path().split_last().is_some_and(|(_, other)| own == other);
            is_of_table && fault.problem().contains(&format!("`{key}`"))
        };
        // Of a group it is said of each member.
        let is_of = |own: &String, other: &String| own == other || groups::is_member(other, own);
        let is_below =
            self.path.len() >= fault.path().len() && self.path.iter().zip(fault.path()).all(|(a, b)| is_of(a, b));
        is_below && is_named() || is_beside()
    }
}

/// The document and what is wrong with it, with stand-ins for what is said to be missing and was only left out.
fn present<T>(
    (mut document, mut fault): (Document, ConfigError),
    removed: &[Removed],
    judge: &impl Fn(&Document) -> Result<T, ConfigError>,
) -> Option<(Document, ConfigError)> {
    for _ in 0..=removed.len() {
        let Some(missed) = removed.iter().find(|it| it.is_missed_by(&fault)) else {
            return Some((document, fault));
        };
        // Which of them is of the kind that the key has, the judgement says: what is said of a stand-in is not of the
        // file.
        let is_of_stand_in = |fault: &ConfigError| {
            let is_placed = match missed.at {
                Origin::Line(line, column) => fault.place() == Some(&ErrorPlace::Line(line, column)),
                Origin::Set(_) => false,
            };
            missed.is_missed_by(fault) || fault.path().starts_with(&missed.path) || is_placed
        };
        (document, fault) = document.with_stand_in(&missed.path, missed.at, judge, is_of_stand_in)?;
    }
    None
}

impl Document {
    /// Its points, as [`Document::points`] has them, of which `check` finds nothing wrong. A path in what it says
    /// begins at the top of the scenario.
    ///
    /// # Errors
    /// What is wrong first in the file, with [what else is](ConfigError::others), as far as that can be told.
    pub fn checked(
        &self,
        choice: &Choice,
        check: impl Fn(&Point) -> Result<(), ConfigError>,
    ) -> Result<Vec<Point>, ConfigError> {
        self.judged(|document| {
            let points = document.points(choice)?;
            points.iter().try_for_each(|point| check(point).map_err(|fault| point.locate(fault)))?;
            Ok(points)
        })
    }

    /// What `judge` makes of the document.
    ///
    /// # Errors
    /// As [`Document::checked`].
    fn judged<T>(&self, judge: impl Fn(&Self) -> Result<T, ConfigError>) -> Result<T, ConfigError> {
        let first = match judge(self) {
            Ok(judged) => return Ok(judged),
            Err(fault) => fault,
        };
        // A name that is used by a slip of the pen is used by no other.
        let is_unused = |fault: &ConfigError| fault.problem().starts_with(UNUSED);
        let has_slip = |faults: &[ConfigError]| faults.iter().any(|fault| fault.is_of_name(NameFault::Unknown));
        let is_told = |faults: &[ConfigError], fault: &ConfigError| !(is_unused(fault) && has_slip(faults));
        let (mut faults, mut rest, mut touched) = (vec![first], self.clone(), Touched::default());
        while let Some(last) = faults.last() {
            // One more than are told, so that it is known that there are more.
            if faults.iter().filter(|fault| is_told(&faults, fault)).count() > MOST {
                break;
            }
            let next = rest.without(last, &mut touched, &judge);
            let Some((without, fault)) = next.and_then(|next| present(next, &touched.removed, &judge)) else {
                break;
            };
            rest = without;
            faults.push(fault);
        }
        faults.retain(|fault| !touched.renamed.iter().any(|own| fault.path().starts_with(own)));
        if has_slip(&faults) {
            faults.retain(|fault| !is_unused(fault));
        }
        // A file that the scenario names may have several.
        let mut faults: Vec<ConfigError> = faults.into_iter().flat_map(ConfigError::apart).collect();
        let other = |fault: &ConfigError| (fault.file() != Some(self.file())).then(|| fault.file().map(str::to_owned));
        faults.sort_by_cached_key(|fault| (is_unused(fault), other(fault), fault.line_and_column()));
        Err(ConfigError::all_of(faults).unwrap_or_else(|| ConfigError::new("something is wrong")))
    }

    /// The document without what `fault` is about, and what else is wrong with it; nothing where it can be told no
    /// further. `touched` is what is left out or moved.
    fn without<T>(
        &self,
        fault: &ConfigError,
        touched: &mut Touched,
        judge: &impl Fn(&Self) -> Result<T, ConfigError>,
    ) -> Option<(Self, ConfigError)> {
        let is_here = |fault: &ConfigError| fault.file() == Some(self.file());
        if let Some(file) = fault.file().filter(|_| !is_here(fault)) {
            let without = self.without_schedule(file)?;
            let next = judge(&without).err()?;
            return Some((without, next));
        }
        let Some(ErrorPlace::Line(line, column)) = fault.place() else {
            return None;
        };
        let path = self.root().path_to(*line, *column)?;
        let mut without = self.clone();
        if fault.problem().starts_with(UNUSED) {
            // Others may speak of the name.
            without.tell_no_unused();
            let next = judge(&without).err().filter(is_here)?;
            return Some((without, next));
        }
        if let Some(key) = fault.missing() {
            return self.completed(fault.path(), key, judge);
        }
        let (section, key) = (path.first()?.as_str(), path.last()?.as_str());
        let is_unknown = UNKNOWN_KEY.iter().any(|it| fault.problem().starts_with(it));
        let rests = BASES.contains(&key) || APART.contains(&section) || path.len() < 2;
        // What is said of a whole table is that something is not in it.
        let is_table = self.root().reach(&path).1.is_some_and(|node| matches!(node.value, Value::Table(_)));
        if is_unknown && let Some((own, with, next)) = self.renamed(&path, fault, judge) {
            touched.renamed.push(own);
            return Some((with, next));
        }
        let removed = &mut touched.removed;
        match (path.as_slice(), fault.meant()) {
            // Much rests on a whole section: it stands where it was meant to stand.
            ([section], Some(meant)) if is_unknown && is_table => without.rename(section, meant)?,
            ([_], None) if is_unknown && is_table => return None,
            _ if (rests || is_table) && !is_unknown || !without.remove(&path) => return None,
            _ => {}
        }
        let uses_name = |node: &Node| node.plain().is_some_and(|text| text.contains("${"));
        if self.root().reach(&path).1.is_some_and(uses_name) {
            // What is left out may be the only place of a name.
            without.tell_no_unused();
        }
        removed.push(Removed { path, at: Origin::Line(*line, *column) });
        let next = judge(&without).err().filter(is_here)?;
        if removed.iter().any(|it| it.is_missed_by(&next)) {
            return Some((without, next));
        }
        // What is said of a table may come of what is left out of it.
        let meant = fault.meant().map(|meant| meant.trim_matches('"'));
        let is_known = next.missing().is_none_or(|key| meant == Some(key));
        let follows = is_known && removed.iter().any(|it| it.path.starts_with(next.path()));
        (!follows).then_some((without, next))
    }

    /// The document without the schedules that `file` has, with which something is wrong; nothing where there are none.
    fn without_schedule(&self, file: &str) -> Option<Self> {
        let mut without = self.clone();
        let links = self.root().child("link").map(Node::entries).unwrap_or_default();
        let has_file = |link: &&Entry| link.node.child("schedule").and_then(Node::plain).as_deref() == Some(file);
        let of_file = links.iter().filter(has_file);
        let places = of_file.map(|link| ["link".to_owned(), link.key.clone(), "schedule".to_owned()]);
        // All of them: no `any`, which would stop at the first.
        let removed = places.filter(|place| without.remove(place)).count();
        (removed > 0).then_some(without)
    }

    /// The document in which the key at `path`, which is unknown, is called as it was meant, where it stands then, and
    /// what else is wrong with it. Nothing where that is no other key of its table, or its value is wrong for it.
    fn renamed<T>(
        &self,
        path: &[String],
        fault: &ConfigError,
        judge: &impl Fn(&Self) -> Result<T, ConfigError>,
    ) -> Option<(Vec<String>, Self, ConfigError)> {
        let meant = fault.meant()?.trim_matches('"');
        let is_key = meant.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (_, table) = path.split_last().filter(|(_, table)| is_key && !table.is_empty())?;
        let own: Vec<String> = table.iter().cloned().chain([meant.to_owned()]).collect();
        if self.root().reach(&own).1.is_some() {
            return None;
        }
        let mut with = self.clone();
        with.put(&own, self.root().reach(path).1?.clone());
        // In a list of tables nothing can be put.
        with.root().reach(&own).1?;
        with.remove(path);
        let next = judge(&with).err()?;
        let is_of_another = next.file() == Some(self.file()) && !next.path().starts_with(&own);
        is_of_another.then_some((own, with, next))
    }

    /// The document with a stand-in for `key`, which is missing at `table`, and what else is wrong with it.
    fn completed<T>(
        &self,
        table: &[String],
        key: &str,
        judge: &impl Fn(&Self) -> Result<T, ConfigError>,
    ) -> Option<(Self, ConfigError)> {
        if BASES.contains(&key) {
            return None;
        }
        let own: Vec<String> = table.iter().cloned().chain([key.to_owned()]).collect();
        let at = self.root().reach(table).1?.at;
        self.with_stand_in(&own, at, judge, |fault| fault.missing() == Some(key) || fault.path().starts_with(&own))
    }

    /// The document with something at `path` of which nothing is said that `is_of_stand_in`, and what is wrong with it.
    fn with_stand_in<T>(
        &self,
        path: &[String],
        at: Origin,
        judge: &impl Fn(&Self) -> Result<T, ConfigError>,
        is_of_stand_in: impl Fn(&ConfigError) -> bool,
    ) -> Option<(Self, ConfigError)> {
        let is_here = |fault: &ConfigError| fault.file() == Some(self.file());
        let mut found = None;
        for text in example(path).into_iter().chain(STAND_INS) {
            let mut with = self.clone();
            with.put(path, Node::parse_value(text, at)?);
            match judge(&with) {
                // With one that fits nothing else is wrong.
                Ok(_) => return None,
                Err(next) if is_here(&next) && !is_of_stand_in(&next) => found = found.or(Some((with, next))),
                Err(_) => {}
            }
        }
        found
    }
}
