//! A line whose deliveries were recorded: times at which it takes so many octets.
//!
//! | | |
//! |---|---|
//! | Format | that of mahimahi's `mm-link` ([its manual](https://manpages.ubuntu.com/manpages/jammy/man1/mm-link.1.html) and `traces/README`): a whole number of milliseconds in each line, none less than the one before; each is an opportunity to deliver 1500 octets; at the end it begins again, the last time being the length of the whole |
//! | Several in a millisecond | a line each, one after the other |
//! | Not used | an opportunity for which nothing waits is lost, and so is the rest of one after which nothing waits: what comes at the very instant has come too late |
//! | Partly delivered | octets count, not frames: several short ones share an opportunity, and a long one takes the rest of one and as many more as it needs |
//! | Deviations | mahimahi's program counts 1504 octets, with four of its tunnel device, and refuses longer packets; here there are 1500, of the frame and what the line adds, and a longer frame takes several. Blanks at the ends of a line are taken, and empty lines at the end |

use core::fmt;
use std::sync::Arc;

use kumiki_graph::Instant;

use crate::Rate;

/// Octets of an opportunity.
const OCTETS: u64 = 1500;
/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;
/// The latest time that is taken: 49 days.
const LATEST: u64 = u32::MAX as u64;

/// The times of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opportunities {
    /// In ms, in order; the last is not 0.
    times: Vec<u32>,
    period: u64,
}

/// What is wrong with a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpportunityError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for OpportunityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for OpportunityError {}

impl Opportunities {
    /// Reads a recording.
    ///
    /// # Errors
    /// The first line that is no number of milliseconds, or less than the one before; the last, where there is none or
    /// all are 0.
    pub fn parse(text: &str) -> Result<Self, OpportunityError> {
        let mut first = None;
        let read = Self::parse_all(text, |wrong| {
            first.get_or_insert(wrong);
        });
        first.map_or_else(|| read.ok_or_else(|| nothing(1)), Err)
    }

    /// The same where all that is wrong is told, line by line; a line with a mistake is left out, and the next compared
    /// with the one before it. `None` where anything is.
    pub fn parse_all(text: &str, mut wrong: impl FnMut(OpportunityError)) -> Option<Self> {
        let mut times: Vec<u32> = Vec::new();
        let mut is_right = true;
        for (number, line) in (1..).zip(text.trim_ascii_end().lines()) {
            match time(line, times.last().copied()) {
                Ok(time) => times.push(time),
                Err(problem) => {
                    is_right = false;
                    wrong(OpportunityError { line: number, problem });
                }
            }
        }
        let period = times.last().copied().unwrap_or_default();
        if is_right && period == 0 {
            wrong(match times.len() {
                0 => nothing(1),
                line => OpportunityError { line, problem: "it lasts for 0 ms, and then begins again".to_owned() },
            });
        }
        (is_right && period > 0).then(|| Self { period: period.into(), times })
    }

    /// What it delivers in the long run.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let bits = (self.times.len() as u64).saturating_mul(OCTETS * 8 * 1000);
        Rate::ratio(bits, self.period)
    }

    /// When the opportunity at `place` is, in ms.
    fn at(&self, place: OpportunityIndex) -> Option<u64> {
        let time = self.times.get(place.number)?;
        Some(place.round.saturating_mul(self.period).saturating_add((*time).into()))
    }

    fn after(&self, place: OpportunityIndex) -> OpportunityIndex {
        let number = place.number + 1;
        if number < self.times.len() {
            OpportunityIndex { number, ..place }
        } else {
            OpportunityIndex { round: place.round + 1, number: 0 }
        }
    }

    /// The first opportunity that is later than `at`.
    fn later_than(&self, at: Instant) -> OpportunityIndex {
        let ms = at.as_nanos() / MILLISECOND;
        let (round, within) = (ms.checked_div(self.period).unwrap_or(0), ms.checked_rem(self.period).unwrap_or(0));
        let number = self.times.partition_point(|time| u64::from(*time) <= within);
        OpportunityIndex { round, number }
    }
}

/// That there is no time at all.
fn nothing(line: usize) -> OpportunityError {
    OpportunityError { line, problem: "no opportunity to deliver anything".to_owned() }
}

/// The time in a `line`, which is in ms and not before that of the last one.
fn time(line: &str, before: Option<u32>) -> Result<u32, String> {
    let digits = line.trim_matches([' ', '\t']);
    let time = Some(digits).filter(|it| !it.is_empty() && it.bytes().all(|octet| octet.is_ascii_digit()));
    let time = time.ok_or_else(|| {
        let found: String = line.chars().take(40).collect();
        format!("{found:?} is no whole number of milliseconds")
    })?;
    let time = time.parse().map_err(|_| format!("later than {LATEST} ms"))?;
    match before.filter(|before| time < *before) {
        Some(before) => Err(format!("{time} ms is before {before} ms in a line above")),
        None => Ok(time),
    }
}

/// An opportunity: how often the recording was at its end before it, and which it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct OpportunityIndex {
    round: u64,
    number: usize,
}

/// How far a line has come in a recording.
#[derive(Clone, Debug)]
pub(super) struct RecordingCursor {
    times: Arc<Opportunities>,
    /// The first opportunity that nobody has used.
    next: OpportunityIndex,
    /// What is left of the one before it, at the time at which the line fell free.
    left: u64,
}

impl RecordingCursor {
    pub(super) fn new(times: Arc<Opportunities>) -> Self {
        Self { times, next: OpportunityIndex::default(), left: 0 }
    }

    /// When the last of a frame of `size` is delivered, for which the line is free at `at`; `fresh` where it has come
    /// only then.
    pub(super) fn carry(&mut self, at: Instant, fresh: bool, size: u64) -> Instant {
        if fresh {
            self.left = 0;
            self.next = self.next.max(self.times.later_than(at));
        }
        let mut wanted = size.max(1);
        let mut end = at;
        loop {
            let used = self.left.min(wanted);
            self.left -= used;
            wanted -= used;
            if wanted == 0 {
                return end;
            }
            let Some(ms) = self.times.at(self.next) else {
                return end;
            };
            end = Instant::from_nanos(ms.saturating_mul(MILLISECOND));
            self.next = self.times.after(self.next);
            self.left = OCTETS;
        }
    }
}

#[cfg(test)]
mod tests;
