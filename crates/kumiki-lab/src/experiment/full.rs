//! Whether a line that is not full to its limit is what a load waits for all the same, or a CPU, or the next flow.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | A line | binds where one of twice the rate would save more time than all that is waited for while nothing is on the lines |
//! | Flows that begin one after another | have an end, and are bound by the pace of that where they are through so soon that nothing else would make the last end earlier by more |

use kumiki_graph::Duration;

use super::flows::Flow;
use super::held;
use super::measure::LoadResult;
use crate::stats;

/// A line that is busy for so much of the time in which it is there is full: losses in its queue cost the rest.
pub(super) const FULL_LINE: f64 = 0.98;

/// From so much of what is there on it is full: the rest is lost at the ends of the measurement.
pub(super) const FULL: f64 = 0.99;

/// The same of exchanges alone, which leave it empty between an answer and the next request.
pub(super) const FULL_OF_EXCHANGES: f64 = 0.8;

/// What has less than this part of its share of a line waits for something else, its window or its place in a queue.
const LESS: f64 = 0.9;

impl LoadResult {
    /// Whether it, or `flows` of it, came so near to what the line allows that the rest is lost at the ends of the
    /// measurement.
    pub(super) fn reaches(&self, limit_mbps: Option<f64>, flows: &[Flow]) -> bool {
        // Between an answer and the next request there is nothing to carry.
        let full = if flows.iter().all(|flow| flow.exchanges.is_some()) { FULL_OF_EXCHANGES } else { FULL };
        // A line that was not there was not full.
        limit_mbps.is_some_and(|limit| limit > 0.0 && self.rate_while_writing() >= limit * full)
    }

    /// Whether a CPU that is `taken` for such a part of the time is what a line waits for that is not full to the
    /// limit: one that is busy for less, since what is written to it comes no faster.
    pub(super) fn works_more(&self, flow: Option<&Flow>, limit_mbps: Option<f64>, taken: f64) -> bool {
        const NEARLY_ALL: f64 = 0.9;
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        let line = flow.map_or(self.line, |flow| flow.line);
        taken >= NEARLY_ALL && taken > line && line < FULL_LINE && !self.reaches(limit_mbps, flows)
    }

    /// Whether it, or a `flow` of it, has less than its share of the busiest line; not where it meets nobody there.
    pub(super) fn has_less(&self, flow: Option<&Flow>) -> bool {
        self.part_of_share(flow).is_some_and(|part| part < LESS)
    }

    fn part_of_share(&self, flow: Option<&Flow>) -> Option<f64> {
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        let parts: Vec<f64> = flows.iter().filter_map(|flow| flow.part).collect();
        stats::mean(&parts)
    }

    /// Whether it, or a `flow` of it, is of calls that have their share of a line that is full with what they and
    /// others send, be it the requests of these and the answers of those: then that is what their answers wait for.
    pub(super) fn calls_fill_line(&self, flow: Option<&Flow>) -> bool {
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        let full = if flows.iter().all(|flow| flow.is_among_calls) { FULL_OF_EXCHANGES } else { FULL_LINE };
        are_calls(flows)
            && flow.map_or(self.line, |flow| flow.line) >= full
            && self.part_of_share(flow).is_some_and(|part| part >= LESS)
    }

    /// Whether what it, or a `flow` of it, had to send filled a line for as long as there was any.
    pub(super) fn fills_line(&self, flow: Option<&Flow>) -> bool {
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        let (stood, time) = flow.map_or((&self.stood, self.time), |flow| (&flow.stood, flow.time));
        held::filled(stood, time, propagation(flows), are_calls(flows))
    }

    /// Whether its flows, which have an end, begin one after the other and are through so soon that it is the pace of
    /// that that binds it.
    pub(super) fn is_paced(&self, limit_mbps: Option<f64>) -> bool {
        let calls = || self.flows.iter().filter_map(|flow| flow.called_at);
        let (Some(first), Some(last)) = (calls().min(), calls().max()) else {
            return false;
        };
        let spread = last.saturating_since(first.max(self.began)).min(self.time);
        let times = (self.time, spread);
        self.has_end
            && !self.reaches(limit_mbps, &self.flows)
            && held::paced(&self.stood, times, propagation(&self.flows), are_calls(&self.flows))
    }
}

/// Whether all of `flows` are of exchanges.
fn are_calls(flows: &[Flow]) -> bool {
    !flows.is_empty() && flows.iter().all(|flow| flow.exchanges.is_some())
}

/// How long the longest way of `flows` takes.
fn propagation(flows: &[Flow]) -> Duration {
    flows.iter().map(|flow| flow.propagation).max().unwrap_or_default()
}
