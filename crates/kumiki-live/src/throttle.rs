//! Logs that nobody can fill: of each kind of line so many at once, then one a second, and the number of those that
//! were left out.

use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};

/// So many lines of a kind are told at once.
const BURST: u64 = 10;

/// Afterwards one in each of these.
const EACH: Duration = Duration::from_secs(1);

/// What a line is about. What somebody did who was let in is none of these, and told while there is an
/// [allowance](crate::allowance) for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// There was no place.
    Dropped,
    /// A caller has gone, or was let go, before it was known.
    Unknown,
    /// A password was wrong.
    Refused,
    /// This machine had no room.
    Short,
    /// Somebody who was let in has come or gone, and of his network much was told.
    Known,
    /// A call that stands was reset.
    Reset,
    /// A line, or an end of a permanent circuit, has come or gone.
    Line,
}

#[derive(Debug, Default)]
struct SuppressedLines {
    /// When the next ten may be told at once again.
    until: Instant,
    /// The last that was left out, and how many there are.
    line: Option<String>,
    more: u64,
}

/// What was told of each kind.
#[derive(Debug)]
pub struct Throttle<K = Kind> {
    burst: u64,
    kinds: BTreeMap<K, SuppressedLines>,
}

impl<K> Default for Throttle<K> {
    fn default() -> Self {
        Self { burst: BURST, kinds: BTreeMap::new() }
    }
}

impl SuppressedLines {
    fn ready(&self, burst: u64) -> Instant {
        let burst = EACH.saturating_mul(burst.saturating_sub(1));
        Instant::ZERO + self.until.saturating_since(Instant::ZERO).saturating_sub(burst)
    }

    fn tell(&mut self, line: String, now: Instant) -> String {
        self.until = self.until.max(now) + EACH;
        self.line = None;
        match core::mem::take(&mut self.more) {
            0 => line,
            more => format!("{line} (and {more} more like it)"),
        }
    }
}

impl<K: Copy + Ord> Throttle<K> {
    /// One by which so many lines of a kind are told at once.
    #[must_use]
    pub fn with_burst(burst: u64) -> Self {
        Self { burst, ..Self::default() }
    }

    /// A line; what is to be told now, if anything is.
    pub fn tell(&mut self, kind: K, line: String, now: Instant) -> Option<String> {
        let held = self.kinds.entry(kind).or_default();
        if now >= held.ready(self.burst) {
            // One that still waits is counted, not told.
            held.more += u64::from(held.line.is_some());
            return Some(held.tell(line, now));
        }
        if held.line.replace(line).is_some() {
            held.more += 1;
        }
        None
    }

    /// When something is to be told that was left out.
    pub fn next(&self) -> Option<Instant> {
        let waiting = self.kinds.values().filter(|held| held.line.is_some());
        waiting.map(|held| held.ready(self.burst)).min()
    }

    /// What was left out and may be told now; at the end, all.
    pub fn due(&mut self, now: Instant, is_end: bool) -> Vec<String> {
        self.due_of_kinds(now, is_end).into_iter().map(|(_, line)| line).collect()
    }

    /// The same with their kinds.
    pub fn due_of_kinds(&mut self, now: Instant, is_end: bool) -> Vec<(K, String)> {
        let mut lines = Vec::new();
        for (kind, held) in &mut self.kinds {
            if (is_end || now >= held.ready(self.burst))
                && let Some(line) = held.line.take()
            {
                lines.push((*kind, held.tell(line, now)));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_lines_of_a_kind_are_few_and_all_are_counted() {
        let mut throttle = Throttle::<Kind>::default();
        let mut told = Vec::new();
        let mut now = Instant::ZERO;
        for number in 0..10_000 {
            now = Instant::ZERO + Duration::from_millis(number * 5);
            told.extend(throttle.tell(Kind::Dropped, format!("line {number}"), now));
        }
        told.extend(throttle.due(now, true));
        assert!(told.len() < 100, "{}", told.len());
        let more = |line: &String| -> u64 {
            let (_, rest) = line.split_once("(and ").unwrap_or(("", "0 "));
            rest.split(' ').next().unwrap().parse().unwrap()
        };
        let all: u64 = told.iter().map(|line| 1 + more(line)).sum();
        assert_eq!(all, 10_000);
        assert!(told.last().unwrap().starts_with("line 9999"));
        assert!(throttle.next().is_none());
    }

    #[test]
    fn what_was_left_out_is_told_when_its_time_has_come_and_other_kinds_do_not_wait() {
        let mut throttle = Throttle::<Kind>::default();
        let now = Instant::ZERO;
        for number in 0..13 {
            let told = throttle.tell(Kind::Dropped, number.to_string(), now);
            assert_eq!(told.is_some(), number < 10);
        }
        let next = throttle.next().unwrap();
        assert_eq!(next, now + Duration::from_secs(1));
        assert!(throttle.due(now, false).is_empty());
        assert_eq!(throttle.due(next, false), ["12 (and 2 more like it)"]);
        let told = throttle.tell(Kind::Refused, "other".to_owned(), now);
        assert_eq!(told.as_deref(), Some("other"));
    }
}
