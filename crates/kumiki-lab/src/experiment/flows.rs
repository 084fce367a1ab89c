//! The sessions of a load: what each brought, what its sender did, and what held it.

mod connections;
mod measured;
mod sessions;

use std::collections::BTreeMap;

use kumiki_graph::{Address, Duration, Instant, Reason};
use kumiki_inet::tcp::{Limit, Record};

pub(super) use connections::{association, pair_of, records, retransmissions, senders, tcps, writing};
pub(super) use measured::{FlowMeasurement, without_power};
pub(super) use sessions::{Matched, Progress, Writer, matched, progress, writing_first};

use super::ends::TransferCounts;
use super::held::{self, HeldSpan};
use super::idle::HeldWhileIdle;
use super::measure::lossy;
use super::path::CrossedLine;
use crate::stats;
use crate::workload::Times;

/// More than this part of the time is most of it.
pub(super) const MOST: f64 = 0.5;

/// One session's part.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flow {
    /// The host that writes.
    pub from: String,
    /// Octets read while measuring.
    pub octets: u64,
    /// And with what was read before.
    pub(super) octets_in_all: u64,
    /// The longest time without progress of that in which it is measured, its beginning (from its call on) and its end
    /// included; nothing where it never brought anything.
    pub longest_gap: Duration,
    /// From its call (the first SYN of TCP) until its reader had all, where it had an end.
    pub completion: Option<Duration>,
    /// Why it ended, if it did not last.
    pub aborted: Option<Reason>,
    /// Whether it was to write: some stay idle.
    pub writes: bool,
    /// Whether its writer has called at all: some begin later.
    pub called: bool,
    /// When it has.
    pub(super) called_at: Option<Instant>,
    /// Whether it was opened at all.
    pub opened: bool,
    /// What its sender did, where it is a connection of TCP; of exchanges both ends, which both send.
    pub sender: Option<Sender>,
    /// How long its datagrams were in flight, where it is made of them.
    pub delays: Option<Times>,
    /// How long its exchanges took, where it is made of them.
    pub exchanges: Option<Times>,
    /// Octets of the requests of these.
    pub(super) requested: u64,
    /// The same, of the first from when it called, so with the opening of its connection.
    pub with_opening: Option<Times>,
    /// How long of the measured time nothing had come since its call, where nothing ever did and more was to come.
    waited: Duration,
    /// When it was over, where that is known.
    pub(super) over: Option<Instant>,
    /// Whether it had ended before it was measured.
    pub(super) was_over: bool,
    /// Whether it has not begun and was not to begin in what is measured: what is measured over a time of its own has
    /// none, or next to none, and what is to stop had stopped.
    pub(super) is_to_come: bool,
    /// Its writer and reader, by their numbers in the load and among the readers of the writer.
    pub(super) way: (usize, usize),
    /// For which part of the measured time its writer or its reader had no power.
    pub(super) without_power: f64,
    /// Since when one of them has had none, where that is so at the end.
    pub(super) powerless_since: Option<Instant>,
    /// For which part of the measured time in which it was there, and the load wrote, the busiest line on its way was
    /// busy.
    pub(super) line: f64,
    /// When its measurement began: that of a transfer when it was opened.
    pub began: Instant,
    /// How long that had taken a transfer, from its call.
    pub(super) opening: Duration,
    /// How long it was measured: a transfer until it ended, all others as long as their load.
    pub time: Duration,
    /// That line, and others on its way that were next to as busy.
    pub(super) busiest: Vec<CrossedLine>,
    /// Its rate as a part of the mean of all that want more over that line while it is there, of calls that wait for
    /// their answers of these and all calls; where others do.
    pub(super) part: Option<f64>,
    /// Whether that line carries nothing but calls.
    pub(super) is_among_calls: bool,
    /// What held it, in seconds of the measured time, where it is a connection of TCP.
    pub(super) held: BTreeMap<Limit, f64>,
    /// The same as [`held::causes`] has it, from when until when, in order, until they are looked at.
    pub(super) causes: Vec<HeldSpan>,
    /// For how long that was, in seconds.
    pub(super) caused: BTreeMap<Limit, f64>,
    /// For how long small segments of its exchanges [waited](held::coalesced), in seconds.
    pub(super) coalesced: f64,
    /// What held it while no line on its way was busy.
    pub(super) stood: HeldWhileIdle,
    /// How long its lines take from one end to the other, when nothing else is on them.
    pub(super) propagation: Duration,
}

/// What a sender did while it was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Sender {
    /// Segments sent, those retransmitted among them.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
    /// The round trips that it measured.
    pub round_trips: Times,
}

impl Sender {
    /// All that it did.
    fn of(record: &Record) -> Self {
        Self {
            segments_sent: record.counts.segments_sent,
            retransmissions: record.counts.retransmissions,
            timeouts: record.counts.timeouts,
            round_trips: record.round_trips.clone(),
        }
    }

    /// What it did from the opening of its transfer to the end of that, as far as it has come to one; the round trips
    /// are those of the whole connection.
    fn between(record: &Record, at_ends: TransferCounts) -> Self {
        let TransferCounts { opened, over } = at_ends;
        let until = over.unwrap_or(record.counts);
        Self {
            segments_sent: until.segments_sent.saturating_sub(opened.segments_sent),
            retransmissions: at_ends.sent_again(record.counts),
            timeouts: until.timeouts.saturating_sub(opened.timeouts),
            round_trips: record.round_trips.clone(),
        }
    }

    /// What came after `earlier`, when the measurement began.
    fn since(mut self, earlier: &Self) -> Self {
        self.segments_sent -= earlier.segments_sent;
        self.retransmissions -= earlier.retransmissions;
        self.timeouts -= earlier.timeouts;
        self.round_trips = self.round_trips.measured();
        self
    }

    /// With what another did.
    pub(super) fn add(&mut self, other: &Self) {
        self.segments_sent += other.segments_sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.round_trips.add(&other.round_trips);
    }
}

impl Flow {
    /// That of `writer`, which had brought `earlier` octets when it began to be measured.
    fn of(writer: &Writer, came: &Progress, earlier: u64, (from, to): (Instant, Instant)) -> Self {
        let octets = came.octets - earlier;
        let ended = came.ended.or(writer.ended);
        let silent = writer.called.filter(|_| came.last.is_none() && ended.is_none());
        // What ended before is not in what is measured.
        let completed = came.ended.filter(|ended| *ended >= from);
        Self {
            octets,
            octets_in_all: came.octets,
            completion: completed.zip(writer.called).map(|(ended, called)| ended.saturating_since(called)),
            waited: silent.map_or(Duration::ZERO, |since| to.saturating_since(since.max(from))),
            over: writer.end(Some(came)).or(ended),
            was_over: octets == 0 && ended.is_some_and(|ended| ended < from),
            called: writer.called.is_some(),
            called_at: writer.called,
            aborted: writer.aborted.clone().or_else(|| came.aborted.clone()),
            writes: writer.writes,
            opened: writer.opened.is_some(),
            began: writer.opened.unwrap_or(to),
            time: writer
                .opened
                .map_or(Duration::ZERO, |opened| writer.end(Some(came)).unwrap_or(to).saturating_since(opened)),
            ..Self::default()
        }
    }

    /// Its writer and reader, by their numbers in the load and among the readers of the writer.
    #[must_use]
    pub const fn way(&self) -> (usize, usize) {
        self.way
    }

    /// Whether it was to write and its reader does not have all, where it has an end.
    pub(super) const fn is_unfinished(&self) -> bool {
        self.writes && self.called && self.completion.is_none()
    }

    /// Whether nothing of it is to come: it came to its end, or was given up, be it that it never opened.
    pub(super) const fn is_over(&self) -> bool {
        self.over.is_some() || (self.aborted.is_some() && !self.opened)
    }

    /// Whether it was to write and would have begun after the end.
    pub(super) const fn is_unbegun(&self) -> bool {
        self.writes && !self.called
    }

    /// Whether it began so shortly before the end of the time that is measured that nothing could be expected of it.
    pub(super) fn has_just_begun(&self, measured: Duration) -> bool {
        const PART: u64 = 10;
        let enough = STOPPED.min(Duration::from_nanos(measured.as_nanos() / PART));
        self.writes && self.called && self.octets_in_all == 0 && self.over.is_none() && self.waited < enough
    }

    /// Whether it had brought all that it was to bring before it was measured: then its rate says nothing.
    const fn had_all(&self) -> bool {
        self.octets_in_all > 0 && (self.was_over || (self.octets == 0 && self.completion.is_some()))
    }

    /// Whether it is of exchanges and had none to make while it was measured: it paused.
    fn paused_throughout(&self) -> bool {
        let pauses = || !self.held.is_empty() && self.held.keys().all(|limit| *limit == Limit::Application);
        self.octets == 0 && self.exchanges.is_some() && pauses()
    }

    /// Whether its rate is one of those that are compared: it was to write while it was measured.
    fn takes_part(&self) -> bool {
        self.writes && !self.is_to_come && !self.had_all() && !self.paused_throughout()
    }

    /// What it is measured over where it has so many exchanges and its load is measured from one time to another: from
    /// its call, the opening that each connection costs included, to its end.
    pub(super) fn own_time(&self, (from, until): (Instant, Instant)) -> (Instant, Duration) {
        let began = self.called_at.map_or(until, |called| called.clamp(from, until));
        (began, self.over.map_or(until, |over| over.min(until)).saturating_since(began))
    }

    /// The longest of the silences of what `came` that are in the time in which it is measured.
    pub(super) fn longest_silence(&self, came: &Progress) -> Duration {
        let (Some(first), Some(last)) = (came.first, came.last) else {
            return Duration::ZERO;
        };
        let (from, until) = (self.began, self.began + self.time);
        // What was given up is silent for as long as it is measured; what has stopped needs nothing more, and neither
        // does what pauses.
        let until = self.over.filter(|_| self.aborted.is_none()).map_or(until, |over| over.min(until));
        let awaited = self.called_at.map_or(from, |called| called.max(from));
        let before = first.min(until).saturating_since(awaited);
        let behind = came.awaited_since.map(|since| until.saturating_since(last.max(since).max(from)));
        came.gaps.measured.max(before).max(behind.unwrap_or_default()).min(self.time)
    }

    /// Its short round trips: a tenth of them are shorter. The shortest of all is that of the handshake, of which no
    /// segment takes any time of the line.
    pub(super) fn short_round_trip(&self) -> Duration {
        const TENTH: f64 = 0.1;
        self.sender.as_ref().and_then(|sender| sender.round_trips.quantile(TENTH)).unwrap_or_default()
    }

    /// Whether its writer or its reader had no power for most of the time.
    pub(super) fn is_without_power(&self) -> bool {
        self.without_power > MOST
    }

    /// Whether it waited for retransmission timers for most of the time: others may fill the line, but that is not what
    /// it waits for.
    pub(super) fn is_locked_out(&self) -> bool {
        self.held().iter().any(|(limit, share)| *limit == Limit::Timeout && *share > MOST)
    }

    /// How long it took to be opened, from its call, where it is a transfer.
    #[must_use]
    pub const fn opening(&self) -> Duration {
        self.opening
    }

    /// Until when it was waited for: until it was over, or an end of it had no power any more; nothing where neither is
    /// so.
    pub(super) fn waited_until(&self) -> Option<Instant> {
        match (self.over, self.powerless_since) {
            (Some(over), Some(powerless)) => Some(over.min(powerless)),
            (over, powerless) => over.or(powerless),
        }
    }

    /// What it brought over the time in which it was measured, in 10^6 bit/s.
    #[must_use]
    pub fn goodput_mbps(&self) -> f64 {
        rate_mbps(self.octets, self.time)
    }

    /// Whether its program would have written more, or sooner, if that had gone: it is not what is waited for for
    /// nearly all of the time.
    pub(super) fn wants_more(&self) -> bool {
        self.sender.is_some() && self.writes && !held::waits_for_program(&self.held())
    }

    /// Whether it is of calls, and waits for their answers for nearly all of the time in which it does not pause.
    pub(super) fn awaits_answers(&self) -> bool {
        self.exchanges.is_some() && self.sender.is_some() && self.writes && !self.wants_more()
    }

    /// How many octets it has on the lines there, or `back`, for each that it brings.
    pub(super) fn carried(&self, back: bool) -> f64 {
        match &self.exchanges {
            Some(_) if !back => lossy(self.requested) / lossy(self.octets.max(1)),
            Some(_) | None => 1.0,
        }
    }

    /// What held it back, as shares of the measured time that add up to 1, the largest first; empty where it is none of
    /// TCP.
    #[must_use]
    pub fn held(&self) -> Vec<(Limit, f64)> {
        held::shares(core::slice::from_ref(self), |flow| &flow.held)
    }

    /// The same by what would have to go: a wait of a small segment is one, be it that the peer kept back its
    /// acknowledgment.
    #[must_use]
    pub fn causes(&self) -> Vec<(Limit, f64)> {
        held::shares(core::slice::from_ref(self), |flow| &flow.caused)
    }
}

/// A session without progress for so long has stopped.
pub(super) const STOPPED: Duration = Duration::from_secs(1);

/// Flows that brought something and then stood still, and those that should have brought something and did not.
pub(super) fn stopped(flows: &[Flow]) -> u64 {
    let still = |flow: &&Flow| {
        if flow.octets_in_all > 0 { flow.longest_gap >= STOPPED } else { flow.writes && flow.waited >= STOPPED }
    };
    flows.iter().filter(still).count() as u64
}

/// A connection: the address of its sender, and of the peer.
pub(super) type Pair = (Address, Address);

/// Jain's index of the goodput of those that were to write: who got nothing, or never opened, was treated least fairly
/// of all. But who had all before, had nothing to ask for, or would have begun later with what has a time of its own,
/// does not count.
pub(super) fn jain(flows: &[Flow]) -> Option<f64> {
    let rates: Vec<f64> = flows.iter().filter(|flow| flow.takes_part()).map(Flow::goodput_mbps).collect();
    stats::jain(&rates)
}

/// So many `octets` in that `time`, in 10^6 bit/s.
pub(super) fn rate_mbps(octets: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { lossy(octets) * 8.0 / time.as_secs_f64() / 1e6 }
}
