//! What held connections: of one, of exchanges, and of several together.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Of a connection | what its sender says ([`Record::spans`]) |
//! | Of exchanges, and of files that are asked for | both ends write: the one that has something to send says what holds it. Where neither has, everything is in flight, and the program waits for its answer; or it pauses, which it says itself |
//! | A queue | while something of an exchange waits behind what others send, that is what its round trips wait for, and not how many of them it takes |
//!
//! At any time one thing holds a connection, so the times add up to how long it was there.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Duration, Instant};
use kumiki_inet::tcp::{Limit, Record};

use super::flows::{Flow, MOST};
use super::full::FULL;
use super::idle::HeldWhileIdle;
use super::measure::{LoadResult, lossy};
use kumiki_media::Span;

/// From when until when what held a connection.
pub(super) type HeldSpan = (Instant, Instant, Limit);

/// For how long each thing held, in seconds.
pub(super) fn times(spans: &[HeldSpan]) -> BTreeMap<Limit, f64> {
    let mut held = BTreeMap::new();
    for (since, until, limit) in spans {
        *held.entry(*limit).or_insert(0.0) += until.saturating_since(*since).as_secs_f64();
    }
    held
}

/// What held exchanges between the end that asks and the one that answers, in order; the first of these paused at the
/// times of `pauses`, and something of theirs waited in queues behind what others sent at those of `waits`, all in
/// order. While a line was down or stood still, at the times of `stands`, who waits there does not wait for those
/// others, but for a timer, as whoever's packets find no room there, or no line.
pub(super) fn of_exchanges(
    [asks, answers]: [&Record; 2],
    (pauses, waits, stands): (&[Span], &[Span], &[Span]),
    from: Instant,
    to: Instant,
) -> Vec<HeldSpan> {
    let ends = [answers.spans(Some(asks), from, to), asks.spans(Some(answers), from, to)];
    let changes = ends.iter().flatten().flat_map(|(since, until, _)| [*since, *until]);
    let others = pauses.iter().chain(waits).chain(stands).flat_map(|(since, until)| [*since, *until]);
    let times = changes.chain(others.filter(|at| (from..to).contains(at)));
    let times: Vec<Instant> = times.collect::<BTreeSet<_>>().into_iter().collect();
    let mut held = Vec::new();
    for (since, until) in times.iter().zip(times.get(1..).unwrap_or_default()) {
        let [answers, asks] = ends.each_ref().map(|spans| {
            let (began, _, limit) = spans.get(spans.partition_point(|(_, until, _)| until <= since))?;
            (began <= since).then_some(*limit)
        });
        if let Some(limit) = of_ends([asks, answers], is_in(pauses, *since), is_in(waits, *since)) {
            let stands = limit == Limit::Queue && is_in(stands, *since);
            held.push((*since, *until, if stands { Limit::Timeout } else { limit }));
        }
    }
    held
}

/// What made exchanges wait whose ends are these `senders`, and that were held so: a small segment that waits for an
/// acknowledgment waits once, with what of that time the peer kept the acknowledgment back. That is what to send it at
/// once would save, where an acknowledgment at once saves its own part alone. Without senders it is what held.
pub(super) fn causes(spans: &[HeldSpan], senders: &[&Record]) -> Vec<HeldSpan> {
    let (Some((from, ..)), Some((_, to, _))) = (spans.first(), spans.last()) else {
        return Vec::new();
    };
    let small = small(senders, (*from, *to));
    let cause = |(since, until, limit): &HeldSpan| {
        let is_of_small = *limit == Limit::DelayedAcknowledgment && small.iter().any(|waits| is_in(waits, *since));
        (*since, *until, if is_of_small { Limit::Coalescing } else { *limit })
    };
    spans.iter().map(cause).collect()
}

/// For how long of `spans` a small segment of one of `senders` waited for an acknowledgment, in seconds: be it that the
/// peer kept this back, or that what it is of, or itself, waited behind what others sent.
pub(super) fn coalesced(spans: &[HeldSpan], senders: &[&Record]) -> f64 {
    let (Some((from, ..)), Some((_, to, _))) = (spans.first(), spans.last()) else {
        return 0.0;
    };
    let small = small(senders, (*from, *to));
    let waits = |limit| matches!(limit, Limit::Coalescing | Limit::DelayedAcknowledgment | Limit::Queue);
    let is_of_small =
        |(since, _, limit): &&HeldSpan| waits(*limit) && small.iter().any(|waits: &Vec<Span>| is_in(waits, *since));
    let all = spans.iter().filter(is_of_small);
    all.map(|(since, until, _)| until.saturating_since(*since).as_secs_f64()).sum()
}

/// When a small segment of each of `senders` waited for an acknowledgment.
fn small(senders: &[&Record], (from, to): Span) -> Vec<Vec<Span>> {
    let of = |sender: &&Record| {
        let waits = sender.limits.spans(from, to).filter(|(_, _, limit)| *limit == Limit::Coalescing);
        waits.map(|(since, until, _)| (since, until)).collect()
    };
    senders.iter().map(of).collect()
}

/// Whether `at` is in one of `spans`.
fn is_in(spans: &[Span], at: Instant) -> bool {
    spans.get(spans.partition_point(|(_, until)| *until <= at)).is_some_and(|(since, _)| *since <= at)
}

/// What holds exchanges, where this holds the end that asks and the one that answers; nothing before there is a
/// connection, and once the last answer has come.
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

/// What flows waited for while their lines stood idle and what could be taken away without a faster line, in seconds:
/// windows, timers, round trips, a program that writes slowly. Not what the first octets and the last take to the other
/// end (`propagation`, `Closing`), nor the pauses of a program that asks (`are_calls`).
fn others(stood: &HeldWhileIdle, propagation: Duration, are_calls: bool) -> f64 {
    let counts = |limit: &Limit| match limit {
        Limit::Closing => false,
        Limit::Application => !are_calls,
        Limit::Opening
        | Limit::RoundTrip
        | Limit::Queue
        | Limit::SendBuffer
        | Limit::ReceiveWindow
        | Limit::SlowStart
        | Limit::Loss
        | Limit::Mark
        | Limit::Window
        | Limit::Pacing
        | Limit::Coalescing
        | Limit::DelayedAcknowledgment
        | Limit::Timeout => true,
    };
    let all: f64 = stood.held.iter().filter(|(limit, _)| counts(limit)).map(|(_, seconds)| seconds).sum();
    (all - propagation.as_secs_f64()).max(0.0)
}

/// Whether a line was full for most of the `time` of flows, and one of twice the rate would save more of it, half of
/// the time for which it was full, than all else could that they waited for.
pub(super) fn filled(stood: &HeldWhileIdle, time: Duration, propagation: Duration, are_calls: bool) -> bool {
    stood.full > MOST * time.as_secs_f64() && stood.full / 2.0 >= others(stood, propagation, are_calls)
}

/// Whether the pace at which flows begin, the last of them so long after the first (`spread`), keeps a load from being
/// through in less `time`: all that is idle in it would be saved by beginning sooner, and all else saves no more than
/// there is left when the last has begun.
pub(super) fn paced(
    stood: &HeldWhileIdle,
    (time, spread): (Duration, Duration),
    propagation: Duration,
    are_calls: bool,
) -> bool {
    let [time, spread] = [time, spread].map(Duration::as_secs_f64);
    let idle = time - stood.there + stood.idle();
    let other = (stood.full / 2.0).max(others(stood, propagation, are_calls)).min(time - spread);
    // Without a line of which anything is known nothing is idle.
    stood.there > 0.0 && idle.min(spread) > other
}

/// Whether transfers took longer to be opened than they did from then on, all together.
pub(super) fn waited_to_open(flows: &[Flow]) -> bool {
    let sum = |of: fn(&Flow) -> Duration| flows.iter().map(of).fold(Duration::ZERO, |sum, time| sum + time);
    sum(|flow| flow.opening) > sum(|flow| flow.time)
}

/// What held for the most time. Of shares that are equal to within a hundredth of the time it is the one that comes
/// first in [`Limit::ALL`], the order in which a sender asks whether it may send: which of them is larger by less than
/// that is chance.
pub(super) fn foremost(held: &[(Limit, f64)]) -> Option<Limit> {
    const EQUAL: f64 = 0.01;
    let largest = held.iter().map(|(_, share)| *share).reduce(f64::max)?;
    held.iter().filter(|(_, share)| *share >= largest - EQUAL).map(|(limit, _)| *limit).min()
}

/// The seconds for which each thing held a flow, or caused it to wait.
type Times = fn(&Flow) -> &BTreeMap<Limit, f64>;

/// What held `flows`, as shares of their `times`.
pub(super) fn shares(flows: &[Flow], times: Times) -> Vec<(Limit, f64)> {
    weighed(flows, times, |_| 1.0)
}

/// The same, where each counts as much as it brought.
fn shares_by_octets(flows: &[Flow], times: Times) -> Vec<(Limit, f64)> {
    let weight = |flow: &Flow| {
        let whole: f64 = flow.held.values().sum();
        // What was held for no time is held by nothing.
        if whole > 0.0 { lossy(flow.octets) / whole } else { 0.0 }
    };
    weighed(flows, times, weight)
}

fn weighed(flows: &[Flow], times: Times, weight: impl Fn(&Flow) -> f64) -> Vec<(Limit, f64)> {
    let mut sums = BTreeMap::new();
    for flow in flows.iter().filter(|flow| !times(flow).is_empty()) {
        let weight = weight(flow);
        for (limit, seconds) in times(flow) {
            *sums.entry(*limit).or_insert(0.0) += seconds * weight;
        }
    }
    // Nobody has brought anything.
    if sums.values().all(|time| *time == 0.0) {
        sums.clear();
    }
    shares_of(&sums)
}

/// Parts of all of these times, the largest first.
fn shares_of(times: &BTreeMap<Limit, f64>) -> Vec<(Limit, f64)> {
    let whole: f64 = times.values().sum();
    let mut shares: Vec<(Limit, f64)> = times.iter().map(|(limit, time)| (*limit, time / whole)).collect();
    shares.sort_by(|(_, one), (_, two)| two.total_cmp(one));
    shares
}

impl LoadResult {
    /// What held the writing connections back, as shares of the measured time that add up to 1, the largest first;
    /// empty where they are none of TCP. Those of unlike loads count as much as they brought.
    #[must_use]
    pub fn held(&self) -> Vec<(Limit, f64)> {
        self.shares(|flow| &flow.held)
    }

    /// The same by what would have to go: see [`Flow::causes`].
    #[must_use]
    pub fn causes(&self) -> Vec<(Limit, f64)> {
        self.shares(|flow| &flow.caused)
    }

    fn shares(&self, times: Times) -> Vec<(Limit, f64)> {
        if self.is_mixed { shares_by_octets(&self.flows, times) } else { shares(&self.flows, times) }
    }

    /// For what part of the time in which its exchanges did not pause a small segment of theirs waited for an
    /// acknowledgment, from 0 to 1, whatever its share is called.
    #[must_use]
    pub fn coalesced(&self) -> f64 {
        let waited = |flow: &Flow| {
            flow.held.iter().filter(|(limit, _)| **limit != Limit::Application).map(|(_, time)| time).sum::<f64>()
        };
        let whole: f64 = self.flows.iter().map(waited).sum();
        if whole > 0.0 { self.flows.iter().map(|flow| flow.coalesced).sum::<f64>() / whole } else { 0.0 }
    }

    /// What [caused](Flow::causes) waits of its flows while their lines stood idle, as shares of that time that add up
    /// to 1, the largest first; of several flows that have an end, and where that was a part of the time worth a word.
    #[must_use]
    pub fn held_while_idle(&self) -> Option<Vec<(Limit, f64)>> {
        let is_worth_a_word = self.has_end && self.idle_seconds() > self.time.as_secs_f64() * (1.0 - FULL);
        // One has nobody to go on after.
        (self.flows.len() > 1 && is_worth_a_word).then(|| shares_of(&self.stood.held))
    }

    /// For how long their lines stood idle while flows that have an end were there, in seconds.
    #[must_use]
    pub fn idle_seconds(&self) -> f64 {
        self.stood.idle()
    }
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

    fn stood(full: f64, held: &[(Limit, f64)]) -> HeldWhileIdle {
        HeldWhileIdle { there: 10.0, full, held: held.iter().copied().collect() }
    }

    #[test]
    fn a_line_fills_a_time_where_twice_the_rate_would_save_more_than_all_else() {
        use Limit::{Application, Closing, Loss, RoundTrip, SlowStart};
        let is = |full, held: &[(Limit, f64)], calls| {
            filled(&stood(full, held), Duration::from_secs(10), Duration::from_millis(150), calls)
        };
        assert!(is(6.0, &[(RoundTrip, 1.0), (Closing, 1.0), (SlowStart, 2.15)], false));
        assert!(!is(6.0, &[(RoundTrip, 1.0), (Loss, 2.16)], false));
        // Not where it is full for less than most of the time, be it that nothing else is waited for.
        assert!(is(5.1, &[], false) && !is(4.9, &[], false));
        assert!(is(6.0, &[(Application, 4.0)], true) && !is(6.0, &[(Application, 4.0)], false));
    }

    #[test]
    fn flows_are_paced_where_what_is_idle_between_them_is_more_than_what_follows_the_last() {
        let is = |full, there, spread, held: &[(Limit, f64)]| {
            let stood = HeldWhileIdle { there, ..stood(full, held) };
            paced(&stood, (Duration::from_secs(10), Duration::from_millis(spread)), Duration::ZERO, false)
        };
        // Nobody is there for 2 s of 10, and the last takes half a second; or somebody always is, and waits for a
        // window.
        assert!(is(8.0, 8.0, 9500, &[]) && is(0.0, 10.0, 9500, &[(Limit::SlowStart, 2.0)]));
        // They come faster than the line takes them, or all at once and one waits for a timer.
        assert!(!is(9.8, 10.0, 5000, &[(Limit::SlowStart, 0.2)]));
        assert!(!is(4.0, 10.0, 100, &[(Limit::Timeout, 6.0)]));
        assert!(!is(0.0, 0.0, 9500, &[]));
    }

    #[test]
    fn a_time_is_in_a_span_from_its_beginning_until_before_its_end() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let spans = [(at(1), at(3)), (at(5), at(6))];
        let inside: Vec<u64> = (0..8).filter(|ms| is_in(&spans, at(*ms))).collect();
        assert_eq!(inside, [1, 2, 5]);
    }
}
