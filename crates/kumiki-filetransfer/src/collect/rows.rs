//! Rows of numbered names: which of their files is the last, and which are missing.
//!
//! A row is all names that differ in their last number alone, written with as many digits. Equipment numbers its files
//! one behind the other and starts over behind the highest number, so a row is a circle: of two numbers that one is
//! later which is less than half a circle ahead. Where nothing of a row was collected yet, it begins behind the widest
//! hole.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_octets::text::counted;

/// The first and the last number that a row has, where that is known.
pub type Range = (u64, u64);

/// What names of a row have in common: what stands before the number, how many digits it has, what stands behind.
type Key<'a> = (&'a str, usize, &'a str);

/// Ranges of missing names that are told one by one.
const MOST_GAPS: usize = 20;

/// A name with its last number cut out, and the number.
fn numbered(name: &str) -> Option<(Key<'_>, u64)> {
    let end = name.rfind(|it: char| it.is_ascii_digit())? + 1;
    let (front, behind) = name.split_at_checked(end)?;
    let begin = front
        .rfind(|it: char| !it.is_ascii_digit())
        .map_or(0, |at| at + front.get(at..).and_then(|it| it.chars().next()).map_or(1, char::len_utf8));
    let (before, digits) = front.split_at_checked(begin)?;
    Some(((before, digits.len(), behind), digits.parse().ok()?))
}

/// Numbers that follow one another, the last one followed by the first.
#[derive(Clone, Copy, Debug)]
struct CyclicNumbers {
    first: u64,
    last: u64,
}

impl CyclicNumbers {
    /// That of numbers with so many digits: from 0 where there is a 0, else from 1.
    fn of(digits: usize, numbers: &BTreeSet<u64>, range: Option<Range>) -> Self {
        let inside = |it: &Range| numbers.iter().all(|number| (it.0..=it.1).contains(number));
        if let Some((first, last)) = range.filter(inside) {
            return Self { first, last };
        }
        let digits = u32::try_from(digits).unwrap_or(u32::MAX);
        Self {
            first: u64::from(!numbers.contains(&0)),
            last: 10_u64.checked_pow(digits).map_or(u64::MAX, |most| most - 1),
        }
    }

    const fn len(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// How many steps it is from one number to another.
    const fn steps(self, from: u64, to: u64) -> u64 {
        if to >= from { to - from } else { self.len().saturating_sub(from - to) }
    }

    /// Whether `number` is later than `last`: less than half a circle ahead.
    const fn is_ahead(self, last: u64, number: u64) -> bool {
        number != last && self.steps(last, number) <= self.len() / 2
    }

    /// The number behind one.
    const fn next(self, number: u64) -> u64 {
        if number >= self.last { self.first } else { number + 1 }
    }

    /// The number before one.
    const fn previous(self, number: u64) -> u64 {
        if number <= self.first { self.last } else { number - 1 }
    }
}

/// One row.
struct Row<'a> {
    key: Key<'a>,
    circle: CyclicNumbers,
    /// All that are there.
    there: BTreeSet<u64>,
    /// What of it is new or has changed, in the order of the circle.
    new: Vec<u64>,
    /// What was collected last.
    last: Option<u64>,
}

impl Row<'_> {
    /// Whether one number is later than what was collected last, or nothing was.
    fn is_ahead(&self, number: u64) -> bool {
        self.last.is_none_or(|last| self.circle.is_ahead(last, number))
    }

    fn name(&self, number: u64) -> String {
        let (before, digits, behind) = self.key;
        format!("{before}{number:0digits$}{behind}")
    }
}

/// The rows of a directory.
pub(super) struct Rows<'a>(BTreeMap<Key<'a>, Row<'a>>);

impl<'a> Rows<'a> {
    /// Of the names that are `there`, of which some are `new` or have changed, and of those that were `collected`, in
    /// the order in which they came.
    pub(super) fn new(
        collected: impl IntoIterator<Item = &'a str>,
        there: &[&'a str],
        new: &BTreeSet<&str>,
        range: Option<Range>,
    ) -> Self {
        let mut numbers: BTreeMap<Key<'a>, BTreeSet<u64>> = BTreeMap::new();
        let mut fresh: BTreeMap<Key<'a>, BTreeSet<u64>> = BTreeMap::new();
        for name in there {
            if let Some((key, number)) = numbered(name) {
                numbers.entry(key).or_default().insert(number);
                if new.contains(name) {
                    fresh.entry(key).or_default().insert(number);
                }
            }
        }
        let mut came: BTreeMap<Key<'a>, Vec<u64>> = BTreeMap::new();
        for (key, number) in collected.into_iter().filter_map(numbered) {
            came.entry(key).or_default().push(number);
        }
        let rows = numbers.into_iter().map(|(key, there)| {
            let came = came.remove(&key).unwrap_or_default();
            let known = there.iter().chain(&came).copied().collect();
            let circle = CyclicNumbers::of(key.1, &known, range);
            // What came late, or once more, is not the last.
            let later = |last: u64, number| {
                if circle.is_ahead(last, number) { number } else { last }
            };
            let last = came.into_iter().reduce(later);
            let new: Vec<u64> = fresh.remove(&key).unwrap_or_default().into_iter().collect();
            let begin = last.map_or_else(|| behind_the_widest_hole(circle, &new), |it| circle.next(it));
            let mut row = Row { key, circle, there, new, last };
            row.new.sort_by_key(|number| circle.steps(begin, *number));
            (key, row)
        });
        Self(rows.collect())
    }

    /// Whether a file may still be written to: it is the last of its row. `None` where the name is not numbered.
    pub(super) fn is_last(&self, name: &str) -> Option<bool> {
        let (key, number) = numbered(name)?;
        let row = self.0.get(&key)?;
        let mut ahead = row.new.iter().copied().filter(|it| row.is_ahead(*it));
        Some(match ahead.next_back() {
            Some(last) => last == number,
            // Nothing came behind what was collected last.
            None => row.last == Some(number),
        })
    }

    /// Names that are missing between what was collected last and the last that is there.
    pub(super) fn gaps(&self) -> Vec<String> {
        let mut out = Vec::new();
        for row in self.0.values() {
            let mut at = row.last;
            for number in row.new.iter().copied().filter(|it| row.is_ahead(*it)) {
                if let Some(at) = at {
                    row.missing(at, number, &mut out);
                }
                at = Some(number);
            }
        }
        if let more @ 1.. = out.len().saturating_sub(MOST_GAPS) {
            out.truncate(MOST_GAPS);
            out.push(format!("{more} more ranges of names"));
        }
        out
    }
}

impl Row<'_> {
    /// What is not there between two numbers. Files that were collected before and are there still are no gap.
    fn missing(&self, from: u64, to: u64, out: &mut Vec<String>) {
        let circle = self.circle;
        let mut at = from;
        while at != to {
            let begin = circle.next(at);
            // The next one that is there, which is `to` at the latest.
            let next = self
                .there
                .iter()
                .copied()
                .min_by_key(|it| circle.steps(begin, *it))
                .filter(|it| circle.steps(begin, *it) <= circle.steps(begin, to))
                .unwrap_or(to);
            let count = circle.steps(begin, next);
            if count == 1 {
                out.push(self.name(begin));
            } else if count > 1 {
                out.push(format!(
                    "{} to {} ({names})",
                    self.name(begin),
                    self.name(circle.previous(next)),
                    names = counted(count, "name")
                ));
            }
            at = next;
        }
    }
}

/// The first number of a row of which nothing was collected.
fn behind_the_widest_hole(circle: CyclicNumbers, numbers: &[u64]) -> u64 {
    let before = numbers.last().into_iter().chain(numbers);
    let widest = before
        .zip(numbers)
        .max_by_key(|(before, number)| (circle.steps(**before, **number), core::cmp::Reverse(**number)));
    widest.map_or(circle.first, |(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<'a>(collected: &[&'a str], there: &[&'a str], new: &[&'a str]) -> Rows<'a> {
        let new = new.iter().copied().collect();
        Rows::new(collected.iter().copied(), there, &new, None)
    }

    fn gaps(collected: &[&str], new: &[&str]) -> Vec<String> {
        rows(collected, new, new).gaps()
    }

    fn last<'a>(collected: &[&'a str], new: &[&'a str]) -> Vec<&'a str> {
        let rows = rows(collected, new, new);
        let is_last = |name: &&&str| rows.is_last(name) == Some(true);
        new.iter().filter(is_last).copied().collect()
    }

    #[test]
    fn the_last_number_of_a_name_is_its_place_in_a_row() {
        assert_eq!(numbered("TT2026.0007.ama"), Some((("TT2026.", 4, ".ama"), 7)));
        assert_eq!(numbered("é12"), Some((("é", 2, ""), 12)));
        assert_eq!(numbered("none"), None);
        assert_eq!(numbered("99999999999999999999999"), None);
    }

    #[test]
    fn what_is_missing_in_a_row_is_named() {
        assert_eq!(gaps(&[], &["a1", "a2", "a5", "b"]), ["a3 to a4 (2 names)"]);
        assert_eq!(gaps(&["a03"], &["a05", "a06"]), ["a04"]);
        // What was fetched and deleted is not missing.
        assert_eq!(gaps(&["a01", "a02"], &["a03"]), [""; 0]);
    }

    #[test]
    fn a_gap_where_a_row_begins_again_is_seen() {
        assert_eq!(gaps(&["a97"], &["a01", "a02"]), ["a98 to a99 (2 names)"]);
        assert_eq!(gaps(&["a99"], &["a01", "a02"]), [""; 0]);
        assert_eq!(gaps(&["a98"], &["a99", "a02"]), ["a01"]);
        assert_eq!(gaps(&["a98"], &["a00", "a01"]), ["a99"]);
        // Nothing is known: it begins behind the widest hole.
        assert_eq!(gaps(&[], &["a98", "a99", "a01", "a03"]), ["a02"]);
        let of = |range| {
            let names = ["a0001", "a0002"];
            let new = names.into_iter().collect();
            Rows::new(["a0998"], &names, &new, range).gaps()
        };
        assert_eq!(of(Some((1, 999))), ["a0999"]);
    }

    /// Files of the round before are still there; the row goes through them.
    #[test]
    fn what_is_still_there_from_the_round_before_is_no_gap_and_not_later() {
        let there = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
        let rows = rows(&["a8", "a9", "a1"], &there, &["a2", "a3"]);
        assert_eq!(rows.gaps(), [""; 0]);
        assert_eq!(rows.is_last("a2"), Some(false));
        assert_eq!(rows.is_last("a3"), Some(true));
    }

    #[test]
    fn the_last_of_a_row_may_still_grow() {
        assert_eq!(last(&[], &["a1", "a2", "b7"]), ["a2", "b7"]);
        assert_eq!(last(&["a98"], &["a99", "a01"]), ["a01"]);
        // One that was collected and has changed, with a later one behind it.
        assert_eq!(last(&["a01", "a02"], &["a02", "a03"]), ["a03"]);
        assert_eq!(last(&["a01", "a02"], &["a02"]), ["a02"]);
        // They may have come in the order of their names, or one came late.
        assert_eq!(last(&["a01", "a99"], &["a02"]), ["a02"]);
        assert_eq!(gaps(&["a01", "a05", "a03"], &["a06"]), [""; 0]);
        // A late one: what was collected last is behind it.
        assert_eq!(last(&["a01", "a05"], &["a03"]), [""; 0]);
        assert_eq!(rows(&[], &["x"], &["x"]).is_last("x"), None);
    }
}
