//! What held connections: of one, of exchanges, and of several together.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Of a connection | what its sender says ([`Record::spans`]) |
//! | Of exchanges, and of files that are asked for | both ends write: the one that has something to send says what holds it. Where neither has, everything is under way, and the program waits for its answer; or it pauses, which it says itself |
//! | A queue | while something of an exchange waits behind what others send, that is what its round trips wait for, and not how many of them it takes |
//!
//! At any time one thing holds a connection, so the times add up to how long it was there.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::{Limit, Record};

use super::flows::{Flow, MOST};
use super::idle::Stood;
use super::measure::{FULL_LINE, lossy};
use crate::medium::Span;

/// From when until when what held a connection.
pub(super) type Held = (Instant, Instant, Limit);

/// For how long each thing held, in seconds.
pub(super) fn times(spans: &[Held]) -> BTreeMap<Limit, f64> {
    let mut held = BTreeMap::new();
    for (since, until, limit) in spans {
        *held.entry(*limit).or_insert(0.0) += until.saturating_since(*since).as_secs_f64();
    }
    held
}

/// What held exchanges between the end that asks and the one that answers, in order; the first of these paused at the times of `pauses`, and something of theirs waited in
/// queues behind what others sent at those of `waits`, both in order.
pub(super) fn of_exchanges(
    [asks, answers]: [&Record; 2],
    (pauses, waits): (&[Span], &[Span]),
    from: Instant,
    to: Instant,
) -> Vec<Held> {
    let ends = [answers.spans(Some(asks), from, to), asks.spans(Some(answers), from, to)];
    let changes = ends.iter().flatten().flat_map(|(since, until, _)| [*since, *until]);
    let others = pauses.iter().chain(waits).flat_map(|(since, until)| [*since, *until]);
    let times = changes.chain(others.filter(|at| (from..to).contains(at)));
    let times: Vec<Instant> = times.collect::<BTreeSet<_>>().into_iter().collect();
    let mut held = Vec::new();
    for (since, until) in times.iter().zip(times.get(1..).unwrap_or_default()) {
        let [answers, asks] = ends.each_ref().map(|spans| {
            let (began, _, limit) = spans.get(spans.partition_point(|(_, until, _)| until <= since))?;
            (began <= since).then_some(*limit)
        });
        if let Some(limit) = of_ends([asks, answers], is_in(pauses, *since), is_in(waits, *since)) {
            held.push((*since, *until, limit));
        }
    }
    held
}

/// Whether `at` is in one of `spans`.
fn is_in(spans: &[Span], at: Instant) -> bool {
    spans.get(spans.partition_point(|(_, until)| *until <= at)).is_some_and(|(since, _)| *since <= at)
}

/// What holds exchanges, where this holds the end that asks and the one that answers; nothing before there is a connection, and once the last answer has come.
fn of_ends([asks, answers]: [Option<Limit>; 2], pauses: bool, waits: bool) -> Option<Limit> {
    let asks = asks.filter(|limit| *limit != Limit::Closing)?;
    let has_something = |limit: &Limit| !matches!(limit, Limit::Application | Limit::Closing);
    // The one that answers hears a little later that the connection is open. What it writes is what counts.
    let answering = answers.filter(|limit| has_something(limit) && *limit != Limit::Opening);
    let is_answer_awaited = asks == Limit::Application && !pauses;
    let limit = answering.unwrap_or(if is_answer_awaited { Limit::RoundTrip } else { asks });
    let is_a_round_trip = matches!(limit, Limit::Opening | Limit::RoundTrip) || limit.is_until_acknowledged();
    Some(if waits && is_a_round_trip { Limit::Queue } else { limit })
}

/// Whether the program has nothing to send for nearly all of the time: it pauses, or waits for an answer.
pub(super) fn waits_for_program(held: &[(Limit, f64)]) -> bool {
    const NEARLY_ALL: f64 = 0.9;
    let has_nothing = |limit: &Limit| matches!(limit, Limit::Application | Limit::RoundTrip | Limit::Queue);
    let shares = held.iter().filter(|(limit, _)| has_nothing(limit)).map(|(_, share)| share);
    shares.sum::<f64>() >= NEARLY_ALL
}

/// Whether a line carried what flows with an end had to send for as long as they had anything, and that for most of their `time`: the rest is what the first octets and
/// the last take to the other end (`propagation`), and what is waited for between one thing to send and the next. A program that writes slowly leaves a line idle, too; the
/// pauses of one that asks (`are_calls`) do not.
pub(super) fn filled(
    stood: &Stood,
    time: Duration,
    propagation: Duration,
    (are_calls, are_several): (bool, bool),
) -> bool {
    // What an interval has that is not theirs, at the beginning and the end, is then less than the rest that is allowed.
    const INTERVALS: usize = 100;
    // Of several the last may wait for a timer while all others are through: beside a line that was busy for nine tenths of the time that is not what binds them.
    const FULL_OF_SEVERAL: f64 = 0.9;
    let for_limit = |limit: &Limit| match limit {
        Limit::SendBuffer
        | Limit::ReceiveWindow
        | Limit::SlowStart
        | Limit::Loss
        | Limit::Mark
        | Limit::Window
        | Limit::Pacing
        | Limit::Timeout => true,
        Limit::Application => !are_calls,
        Limit::Opening
        | Limit::RoundTrip
        | Limit::Queue
        | Limit::Coalescing
        | Limit::DelayedAcknowledgment
        | Limit::Closing => false,
    };
    let limited: f64 = stood.held.iter().filter(|(limit, _)| for_limit(limit)).map(|(_, seconds)| seconds).sum();
    let limited = (limited - propagation.as_secs_f64()).max(0.0);
    let busy = stood.there - stood.idle();
    let full = if are_several { FULL_OF_SEVERAL } else { FULL_LINE };
    stood.intervals >= INTERVALS && busy > MOST * time.as_secs_f64() && busy >= full * (busy + limited)
}

/// Whether transfers took longer to be opened than they did from then on, all together.
pub(super) fn waited_to_open(flows: &[Flow]) -> bool {
    let sum = |of: fn(&Flow) -> Duration| flows.iter().map(of).fold(Duration::ZERO, |sum, time| sum + time);
    sum(|flow| flow.opening) > sum(|flow| flow.time)
}

/// What held for the most time. Of shares that are equal to within a hundredth of the time it is the one that comes first in [`Limit::ALL`], the order in which
/// a sender asks whether it may send: which of them is larger by less than that is chance.
pub(super) fn foremost(held: &[(Limit, f64)]) -> Option<Limit> {
    const EQUAL: f64 = 0.01;
    let largest = held.iter().map(|(_, share)| *share).reduce(f64::max)?;
    held.iter().filter(|(_, share)| *share >= largest - EQUAL).map(|(limit, _)| *limit).min()
}

/// What held `flows`, as shares of their time.
pub(super) fn shares(flows: &[Flow]) -> Vec<(Limit, f64)> {
    weighed(flows, |_| 1.0)
}

/// The same, where each counts as much as it brought.
pub(super) fn shares_by_octets(flows: &[Flow]) -> Vec<(Limit, f64)> {
    let weight = |flow: &Flow| {
        let whole: f64 = flow.held.values().sum();
        // What was held for no time is held by nothing.
        if whole > 0.0 { lossy(flow.octets) / whole } else { 0.0 }
    };
    weighed(flows, weight)
}

fn weighed(flows: &[Flow], weight: impl Fn(&Flow) -> f64) -> Vec<(Limit, f64)> {
    let mut times = BTreeMap::new();
    for flow in flows.iter().filter(|flow| !flow.held.is_empty()) {
        let weight = weight(flow);
        for (limit, seconds) in &flow.held {
            *times.entry(*limit).or_insert(0.0) += seconds * weight;
        }
    }
    // Nobody has brought anything.
    if times.values().all(|time| *time == 0.0) {
        times.clear();
    }
    shares_of(&times)
}

/// Parts of all of these times, the largest first.
pub(super) fn shares_of(times: &BTreeMap<Limit, f64>) -> Vec<(Limit, f64)> {
    let whole: f64 = times.values().sum();
    let mut shares: Vec<(Limit, f64)> = times.iter().map(|(limit, time)| (*limit, time / whole)).collect();
    shares.sort_by(|(_, one), (_, two)| two.total_cmp(one));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_ends_the_one_holds_that_has_something_to_send() {
        use Limit::{Application, Closing, Loss, Opening, Queue, RoundTrip, SlowStart, Timeout};
        for (asks, answers, [plain, pauses, waits]) in [
            (Some(Application), Some(Application), [RoundTrip, Application, Queue]),
            // The request is on its way, and the server has not heard that the connection is open.
            (Some(Application), Some(Opening), [RoundTrip, Application, Queue]),
            (Some(Opening), None, [Opening, Opening, Queue]),
            (Some(Application), Some(SlowStart), [SlowStart, SlowStart, Queue]),
            (Some(Loss), Some(Application), [Loss, Loss, Queue]),
            // A timer is waited for, whatever else waits.
            (Some(Application), Some(Timeout), [Timeout; 3]),
        ] {
            let of = |pauses, waits| of_ends([asks, answers], pauses, waits);
            assert_eq!([of(false, false), of(true, false), of(false, true)], [plain, pauses, waits].map(Some));
        }
        for over in [[None, None], [Some(Closing), Some(Application)], [None, Some(Closing)]] {
            assert_eq!(of_ends(over, false, true), None, "{over:?}");
        }
    }

    #[test]
    fn a_line_is_filled_by_what_waits_for_no_window_while_it_is_idle() {
        use Limit::{Application, Closing, Loss, RoundTrip, SlowStart};
        let stood = |held: &[(Limit, f64)]| Stood { there: 10.0, intervals: 500, held: held.iter().copied().collect() };
        let is = |held: &[(Limit, f64)], calls| {
            filled(&stood(held), Duration::from_secs(10), Duration::from_millis(150), (calls, false))
        };
        assert!(is(&[(RoundTrip, 2.0), (Closing, 1.0), (SlowStart, 0.15)], false));
        // 2 % of seven seconds, beyond the propagation.
        assert!(is(&[(RoundTrip, 3.0), (Loss, 0.28)], false) && !is(&[(RoundTrip, 3.0), (Loss, 0.31)], false));
        assert!(!is(&[(RoundTrip, 5.1)], false));
        assert!(is(&[(Application, 4.0)], true) && !is(&[(Application, 4.0)], false));
        // A short one is not known well enough.
        let short = Stood { intervals: 99, ..stood(&[]) };
        assert!(!filled(&short, Duration::from_secs(10), Duration::ZERO, (false, false)));
        // Of several a tenth may be lost.
        let several = |lost| filled(&stood(&[(Loss, lost)]), Duration::from_secs(10), Duration::ZERO, (false, true));
        assert!(several(0.9) && !several(1.1));
    }

    #[test]
    fn a_time_is_in_a_span_from_its_beginning_until_before_its_end() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let spans = [(at(1), at(3)), (at(5), at(6))];
        let inside: Vec<u64> = (0..8).filter(|ms| is_in(&spans, at(*ms))).collect();
        assert_eq!(inside, [1, 2, 5]);
    }
}
