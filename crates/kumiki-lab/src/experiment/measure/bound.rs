//! What bounds a result, in a word, and how that is decided.

use kumiki_inet::tcp::Limit;

use super::{LoadResult, Measured};
use crate::experiment::flows::{self, Flow};
use crate::experiment::full::{FULL, FULL_LINE, FULL_OF_EXCHANGES};
use crate::experiment::held;

/// What bound a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The line was full.
    Link,
    /// What held TCP back for the most time.
    Held(Limit),
    /// The window was full and nothing else, of what is no TCP.
    Window,
    /// A CPU had no time left.
    Host,
    /// Writers waited for pages.
    Pages,
    /// The connection was aborted: given up, or reset.
    Aborted,
    /// Datagrams or echoes were lost, most of them not in the queue of a full line; or most of these left while their
    /// way was not there.
    Lost,
    /// A host at an end of it had no power.
    Power,
}

impl Bound {
    /// The word in result rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Held(limit) => limit.name(),
            Self::Window => "window",
            Self::Host => "host",
            Self::Pages => "pages",
            Self::Aborted => "aborted",
            Self::Lost => "loss",
            Self::Power => "power",
        }
    }
}

impl Measured {
    /// What bound `of`, a load, or a `flow` of it (of several loads together see [`Measured::bound_of_all`]), where the
    /// stack and the line allow `limit_mbps` in the time in which it wrote: writers that waited for pages beside a line
    /// that was not full, a CPU without time left, or a full line, in this order, since each of the first two keeps the
    /// next from being the reason. Then comes the opening of transfers, which is before the time in which they are
    /// measured, where it took longer than that. What is left is what held TCP for the most time (of limits that held
    /// equally long the first of [`Limit::ALL`]), or the window of another protocol.
    ///
    /// What the writing program waits between messages, as its profile has it, is time that its host takes. A CPU and a
    /// line count as full from 99 % on: the rest is lost at the ends of the measurement. A line that others share, or
    /// that is one of several, is full where it was busy for 98 % of the time in which it was there: losses in its
    /// queue cost the rest.
    ///
    /// Over a full line not everything waits for it: see `LoadResult::waits_for_line`.
    #[must_use]
    pub fn bound(&self, of: &LoadResult, flow: Option<&Flow>, limit_mbps: Option<f64>) -> Bound {
        let flows = flow.map_or(of.flows.as_slice(), core::slice::from_ref);
        if of.is_without_power(flows) {
            Bound::Power
        } else if !flows.is_empty() && flows.iter().all(|flow| flow.aborted.is_some()) {
            Bound::Aborted
        } else if !flows.is_empty() && flows.iter().all(|flow| !flow.opened) {
            Bound::Held(Limit::Opening)
        } else if !flows.is_empty() && flows.iter().all(|flow| flow.was_over || !flow.opened) {
            Bound::Held(Limit::Application)
        } else if of.page_waits > 0 && !of.reaches(limit_mbps, flows) {
            // In front of a full line any memory fills.
            Bound::Pages
        } else if !of.cpu.is_empty() && of.waits_for_cpu(flow, of.taken) {
            Bound::Host
        } else if of.is_all_there() && limit_mbps.is_none_or(|limit| of.rate_while_writing() <= limit) {
            // What came at last, and was more than the line took while it was written, has waited for that.
            Bound::Held(Limit::Application)
        } else if flow.is_none() && of.is_paced(limit_mbps) {
            Bound::Held(Limit::Application)
        } else if of.lost_by_outages && of.is_of_units() && !of.reaches(limit_mbps, flows) {
            // What was not there would have lost them with a faster line as well.
            Bound::Lost
        } else if of.waits_for_line(flow, limit_mbps) {
            if of.works_more(flow, limit_mbps, of.taken) { Bound::Host } else { Bound::Link }
        } else if held::waited_to_open(flows) {
            Bound::Held(Limit::Opening)
        } else {
            let causes = flow.map_or_else(|| of.held_while_idle().unwrap_or_else(|| of.causes()), Flow::causes);
            // A queue has no room for what comes while its line is full, be that for a short time again and again.
            let of_units = if of.lost_in_queues { Bound::Link } else { Bound::Lost };
            let other = if of.is_of_units() { of_units } else { Bound::Window };
            held::foremost(&causes).map_or(other, Bound::Held)
        }
    }

    /// What bound several loads together, where the stack and the line allow each what `limit_mbps` says: what bound
    /// those of them that brought the most, and where none brought anything, most of them. That one of several waits
    /// for something else takes nothing from a line that the others fill.
    #[must_use]
    pub fn bound_of_all(&self, limit_mbps: impl Fn(&str) -> Option<f64>) -> Bound {
        let mut all: Vec<(Bound, (u64, usize))> = Vec::new();
        for (name, load) in &self.loads {
            let bound = self.bound(load, None, limit_mbps(name));
            let octets = load.flows.iter().map(|flow| flow.octets).sum();
            match all.iter_mut().find(|(other, _)| *other == bound) {
                Some((_, (brought, loads))) => (*brought, *loads) = (*brought + octets, *loads + 1),
                None => all.push((bound, (octets, 1))),
            }
        }
        // Of what is equal, the first by the names of loads.
        let most = all.iter().rev().max_by_key(|(_, weight)| *weight);
        most.map_or_else(|| self.bound(&self.total, None, None), |(bound, _)| *bound)
    }
}

impl LoadResult {
    /// Whether at an end of each of its `flows`, or of echoes, there was no power for most of the time.
    fn is_without_power(&self, flows: &[Flow]) -> bool {
        match flows {
            [] => self.without_power > flows::MOST,
            [_] => flows.iter().all(Flow::is_without_power),
            _ => self.without_power > flows::MOST || flows.iter().all(Flow::is_without_power),
        }
    }

    /// Whether it is of datagrams or echoes alone.
    fn is_of_units(&self) -> bool {
        (self.units.is_some() || self.echoes.is_some()) && self.flows.iter().all(|flow| flow.sender.is_none())
    }

    /// Whether it is of datagrams or echoes alone, and almost all arrived but for what is in flight: then there were no
    /// more of them.
    fn is_all_there(&self) -> bool {
        let are_all = |sent: u64, came: u64| came.saturating_mul(100) >= sent.saturating_mul(99);
        let datagrams = self.units.is_none_or(|units| {
            let in_flight = if units.received > 0 { self.in_flight } else { 0 };
            // What is lost is known; the rest waits somewhere.
            are_all(units.sent, units.sent.saturating_sub(units.lost))
                && are_all(units.sent, units.received + units.lost + in_flight)
        });
        let echoes = self.echoes.is_none_or(|echoes| {
            let in_flight = if echoes.answered > 0 { echoes.in_flight } else { 0 };
            are_all(echoes.sent, echoes.answered + in_flight)
        });
        (self.units.is_some() || self.echoes.is_some())
            && datagrams
            && echoes
            && self.flows.iter().all(|flow| flow.sender.is_none())
    }

    /// Whether a CPU on its way that is `busy` for such a part of the time is what it, or a `flow` of it, waits for.
    fn waits_for_cpu(&self, flow: Option<&Flow>, busy: f64) -> bool {
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        let are_exchanges = !flows.is_empty() && flows.iter().all(|flow| flow.exchanges.is_some());
        // Between an answer and the next request there is nothing to work on; but where it is round trips that take the
        // time, the way is longer than the work.
        let has_work = || !held::waits_for_program(&flow.map_or_else(|| self.held(), Flow::held));
        busy >= FULL || (are_exchanges && busy >= FULL_OF_EXCHANGES && has_work())
    }

    /// Whether a full line is what it, or a `flow` of it, waits for, where the line allows `limit_mbps`: not where its
    /// program is waited for for nearly all of the time, unless that are calls over a line that these fill, nor where
    /// it has less than its share of the line, and so waits for its window.
    fn waits_for_line(&self, flow: Option<&Flow>, limit_mbps: Option<f64>) -> bool {
        let flows = flow.map_or(self.flows.as_slice(), core::slice::from_ref);
        if matches!(flows, [one] if one.is_locked_out()) {
            return false;
        }
        if self.reaches(limit_mbps, flows) {
            return true;
        }
        if held::waits_for_program(&flow.map_or_else(|| self.held(), Flow::held)) {
            return self.calls_fill_line(flow);
        }
        !self.has_less(flow) && (flow.map_or(self.line, |flow| flow.line) >= FULL_LINE || self.fills_line(flow))
    }
}
