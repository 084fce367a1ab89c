//! What holds a connection back: why it does not send more, and since when.
//!
//! | | |
//! |---|---|
//! | Specification | none; the idea of RFC 4898's and Linux's times by what limits the sender, with more kinds |
//! | The caller's part | to say after each look at what may be sent what came of it, and what last changed the congestion window |
//! | Left out | what TCP cannot see: whether data waits in a queue on the way, or the processor is busy. Who knows that sets it beside [`Limits::spans`] |
//!
//! At any time one thing holds a connection, so the times add up to how long it has been there. A time-out is known
//! only when it is over: all since the last segment that was sent or heard was waiting for it, whatever seemed to hold
//! the connection meanwhile. One that has not come by the time that is asked for is known earlier: as soon as the
//! answer to what is in flight is overdue ([`super::rtt::Rtt::overdue`]), the wait since then is for the timer. So is
//! the wait for a tail loss probe that sent something again, which is known when that is acknowledged, a while later.
//!
//! Whether the user waits for an answer, and what of that time is a queue's ([`Limit::RoundTrip`], [`Limit::Queue`]),
//! no connection knows; who knows both programs and what is between them does.
//!
//! That the peer kept an acknowledgment back ([`Limit::DelayedAcknowledgment`]) no sender knows:
//! [`super::Record::spans`] finds it out where it has both ends.

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Seq;

/// What keeps a connection from sending more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Limit {
    /// The handshake is not over.
    Opening,
    /// The user has handed over nothing more, though it may.
    Application,
    /// All that was handed over is in flight, and the user waits for the answer.
    RoundTrip,
    /// The same, while something of it waits behind what others send in a queue on the way.
    Queue,
    /// The user may hand over nothing more: the send buffer is full of what is not acknowledged.
    SendBuffer,
    /// The peer's window, be it closed or smaller than what there is to send.
    ReceiveWindow,
    /// The congestion window, which still grows from its first value, or from that after an idle time.
    SlowStart,
    /// The congestion window as a loss left it, however long ago.
    Loss,
    /// The congestion window as a mark (ECN) left it, however long ago.
    Mark,
    /// The congestion window otherwise, such as where slow start ended for a longer round trip.
    Window,
    /// The next segment's time has not come.
    Pacing,
    /// A small segment waits for an acknowledgment (Nagle, Minshall).
    Coalescing,
    /// The peer kept back the acknowledgment that would have let more go.
    DelayedAcknowledgment,
    /// What was sent was lost, and the retransmission timer alone could tell, or that of a tail loss probe.
    Timeout,
    /// The user has ended its direction, and all of it was sent.
    Closing,
}

impl Limit {
    /// All of them, in order.
    pub const ALL: [Self; 15] = [
        Self::Opening,
        Self::Application,
        Self::RoundTrip,
        Self::Queue,
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::SlowStart,
        Self::Loss,
        Self::Mark,
        Self::Window,
        Self::Pacing,
        Self::Coalescing,
        Self::DelayedAcknowledgment,
        Self::Timeout,
        Self::Closing,
    ];

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Application => "application",
            Self::RoundTrip => "round trip",
            Self::Queue => "queue",
            Self::SendBuffer => "send buffer",
            Self::ReceiveWindow => "receive window",
            Self::SlowStart => "slow start",
            Self::Loss => "congestion window after a loss",
            Self::Mark => "congestion window after a mark",
            Self::Window => "congestion window",
            Self::Pacing => "pacing",
            Self::Coalescing => "coalescing",
            Self::DelayedAcknowledgment => "delayed acknowledgment at the peer",
            Self::Timeout => "retransmission time-out",
            Self::Closing => "closing",
        }
    }

    /// Whether an acknowledgment ends it.
    #[must_use]
    pub const fn is_until_acknowledged(self) -> bool {
        match self {
            Self::SendBuffer
            | Self::ReceiveWindow
            | Self::SlowStart
            | Self::Loss
            | Self::Mark
            | Self::Window
            | Self::Coalescing => true,
            Self::Opening
            | Self::Application
            | Self::RoundTrip
            | Self::Queue
            | Self::Pacing
            | Self::DelayedAcknowledgment
            | Self::Timeout
            | Self::Closing => false,
        }
    }
}

/// What is in flight, and not answered so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unanswered {
    /// When something was last sent or heard.
    pub(super) since: Instant,
    /// By when there should be an answer.
    pub(super) by: Instant,
    /// Up to where it goes.
    pub(super) all: Seq,
}

/// A tail loss probe that sent something again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Probed {
    /// Since when nothing had been sent or heard before.
    pub(crate) quiet: Instant,
    /// When it went.
    pub(crate) sent: Instant,
    /// Up to where it goes: all that was sent by then.
    pub(crate) end: Seq,
}

/// What held a connection, from its beginning on.
///
/// ```
/// use kumiki_inet::tcp::{Limit, Limits};
/// use kumiki_graph::{Duration, Instant};
///
/// let at = |ms| Instant::ZERO + Duration::from_millis(ms);
/// let mut limits = Limits::new(at(0));
/// limits.set(Limit::Application, at(10));
/// limits.set(Limit::ReceiveWindow, at(15));
/// let spans: Vec<_> = limits.spans(at(5), at(20)).collect();
/// assert_eq!(spans[0], (at(5), at(10), Limit::Opening));
/// assert_eq!(spans[2], (at(15), at(20), Limit::ReceiveWindow));
/// assert_eq!(limits.time(Limit::Application, at(0), at(100)), Duration::from_millis(5));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// From when on what held it. Times do not go back, and neighbours differ.
    changes: Vec<(Instant, Limit)>,
    /// What last changed the congestion window, and what had done so when its state was last kept for an undo.
    window: Limit,
    before: Limit,
    /// What is in flight since something was last heard.
    unanswered: Option<Unanswered>,
    /// The last tail loss probe that sent something again, until it is known what became of it.
    probed: Option<Probed>,
    /// When the connection was over.
    end: Option<Instant>,
}

impl Limits {
    /// Of a connection that begins.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            changes: vec![(now, Limit::Opening)],
            window: Limit::SlowStart,
            before: Limit::SlowStart,
            unanswered: None,
            probed: None,
            end: None,
        }
    }

    /// From `now` on it is held by `limit`.
    pub fn set(&mut self, limit: Limit, now: Instant) {
        if self.changes.last().is_some_and(|(_, last)| *last == limit) {
            return;
        }
        // What lasted no time held nothing.
        while self.changes.pop_if(|(since, _)| *since >= now).is_some() {}
        if self.changes.last().is_none_or(|(_, last)| *last != limit) {
            self.changes.push((now, limit));
        }
    }

    /// The user may hand over more.
    pub(crate) fn has_room(&mut self, now: Instant) {
        if self.changes.last().is_some_and(|(_, last)| *last == Limit::SendBuffer) {
            self.set(Limit::Application, now);
        }
    }

    /// The retransmission timer has expired, and nothing had been sent or heard since `quiet`, nor sent since `sent`.
    pub(crate) fn set_timed_out(&mut self, quiet: Instant, sent: Instant, now: Instant) {
        let held = self.held();
        let mut since = quiet;
        if let Some(probed) = self.probed.take() {
            // Something before the probe was lost, and neither it nor its answer could tell: the silence before it was
            // for a timer, too.
            self.was_silent(probed);
            if probed.sent == sent {
                since = probed.quiet;
            }
        }
        self.set(Limit::Timeout, since);
        self.set(held, now);
    }

    /// A tail loss probe sends something again.
    pub(crate) const fn probe(&mut self, probed: Probed) {
        self.probed = Some(probed);
    }

    /// The probe of which it is not known so far what became of it.
    pub(crate) const fn probed(&self) -> Option<Probed> {
        self.probed
    }

    /// All up to the end of the probe is acknowledged: by the answer to it (`is_answer`), or by one that was in flight
    /// before, so that nothing was waited for.
    pub(crate) fn probe_acknowledged(&mut self, is_answer: bool) {
        if let Some(probed) = self.probed.take().filter(|_| is_answer) {
            self.was_silent(probed);
        }
    }

    /// The silence before a probe was a wait for its timer. What came after it stays.
    fn was_silent(&mut self, Probed { quiet, sent, .. }: Probed) {
        // Something may be heard at the very moment at which the probe goes.
        if quiet >= sent {
            return;
        }
        let mut later = self.changes.split_off(self.changes.partition_point(|(since, _)| *since < quiet));
        let then = later.iter().rev().find(|(since, _)| *since <= sent).or_else(|| self.changes.last());
        let then = then.map_or(Limit::Opening, |(_, limit)| *limit);
        if self.changes.last().is_none_or(|(_, last)| *last != Limit::Timeout) {
            self.changes.push((quiet, Limit::Timeout));
        }
        if then != Limit::Timeout {
            self.changes.push((sent, then));
        }
        later.retain(|(since, _)| *since > sent);
        self.changes.append(&mut later);
    }

    /// What holds it now.
    pub(super) fn held(&self) -> Limit {
        self.changes.last().map_or(Limit::Opening, |(_, limit)| *limit)
    }

    /// So much is in flight.
    pub(super) const fn wait(&mut self, unanswered: Option<Unanswered>) {
        self.unanswered = unanswered;
    }

    /// What is in flight.
    pub(super) const fn unanswered(&self) -> Option<Unanswered> {
        self.unanswered
    }

    /// The peer was heard.
    pub(crate) const fn heard(&mut self) {
        self.unanswered = None;
    }

    /// The connection is over: nothing holds it any more.
    pub(crate) fn end(&mut self, now: Instant) {
        self.end.get_or_insert(now);
    }

    /// The state of congestion control is kept, so that what follows can be undone.
    pub(crate) const fn save_window(&mut self) {
        self.before = self.window;
    }

    /// `by` has changed the congestion window.
    pub(crate) const fn set_window(&mut self, by: Limit) {
        self.window = by;
    }

    /// The congestion window is again what it was when its state was kept.
    pub(crate) const fn undo_window(&mut self) {
        self.window = self.before;
    }

    /// What the congestion window stands for, where it is below the slow start threshold or not.
    pub(crate) fn window(&self, in_slow_start: bool) -> Limit {
        if self.window == Limit::SlowStart && !in_slow_start { Limit::Window } else { self.window }
    }

    /// What held it between two times: from when, until when, what. Without gaps, and in order, until the connection is
    /// over.
    pub fn spans(&self, from: Instant, to: Instant) -> impl Iterator<Item = (Instant, Instant, Limit)> {
        self.spans_until(from, to, self.unanswered)
    }

    /// The same, where what is `unanswered` at the end waits for the timer once the answer is due.
    pub(super) fn spans_until(
        &self,
        from: Instant,
        to: Instant,
        unanswered: Option<Unanswered>,
    ) -> impl Iterator<Item = (Instant, Instant, Limit)> {
        let to = self.end.map_or(to, |end| end.min(to));
        let waits = unanswered.filter(|it| it.by < to).map(|it| it.since);
        let known = waits.map_or(self.changes.len(), |since| self.changes.partition_point(|(at, _)| *at < since));
        let known = self.changes.get(..known).unwrap_or_default();
        // It may follow upon the wait for the time-out before.
        let waits = waits.filter(|_| known.last().is_none_or(|(_, last)| *last != Limit::Timeout));
        let changes = known.iter().copied().chain(waits.map(|since| (since, Limit::Timeout)));
        let ends = changes.clone().skip(1).map(|(at, _)| at).chain([Instant::FAR_FUTURE]);
        let spans = changes.zip(ends);
        let spans = spans.map(move |((since, limit), until)| (since.max(from), until.min(to), limit));
        spans.filter(|(since, until, _)| since < until)
    }

    /// How long `limit` held it between two times.
    #[must_use]
    pub fn time(&self, limit: Limit, from: Instant, to: Instant) -> Duration {
        let spans = self.spans(from, to).filter(|(_, _, held)| *held == limit);
        spans.fold(Duration::ZERO, |all, (since, until, _)| all + until.saturating_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    const fn probed(quiet: Instant, sent: Instant) -> Probed {
        Probed { quiet, sent, end: Seq(100) }
    }

    #[test]
    fn what_a_probe_repaired_was_a_wait_for_its_timer() {
        let held = |is_answer| {
            let mut limits = Limits::new(at(0));
            limits.set(Limit::Loss, at(10));
            limits.set(Limit::Closing, at(19));
            limits.probe(probed(at(20), at(220)));
            limits.set(Limit::Application, at(223));
            limits.probe_acknowledged(is_answer);
            [Limit::Loss, Limit::Timeout, Limit::Closing, Limit::Application]
                .map(|limit| limits.time(limit, at(0), at(300)).as_nanos() / 1_000_000)
        };
        assert_eq!(held(true), [9, 200, 4, 77]);
        assert_eq!(held(false), [9, 0, 204, 77]);
        // What is heard when it goes leaves no silence.
        let mut limits = Limits::new(at(0));
        limits.set(Limit::Closing, at(20));
        limits.probe(probed(at(50), at(50)));
        limits.probe_acknowledged(true);
        assert_eq!(limits.spans(at(0), at(100)).count(), 2);
    }

    #[test]
    fn the_silence_before_a_probe_that_repaired_nothing_is_part_of_the_wait_for_the_timer() {
        let timed_out = |quiet, sent| {
            let mut limits = Limits::new(at(0));
            limits.set(Limit::Closing, at(20));
            limits.probe(probed(at(30), at(50)));
            limits.set_timed_out(at(quiet), at(sent), at(250));
            limits.time(Limit::Timeout, at(0), at(300)).as_nanos() / 1_000_000
        };
        // It was lost as well.
        assert_eq!(timed_out(50, 50), 220);
        // It was answered, and what had been lost before it was not repaired.
        assert_eq!(timed_out(60, 50), 220);
        // What was sent upon its answer was lost.
        assert_eq!(timed_out(70, 70), 20 + 180);
    }

    #[test]
    fn an_undo_goes_back_behind_all_that_one_recovery_did() {
        let mut limits = Limits::new(Instant::ZERO);
        limits.set_window(Limit::Mark);
        limits.save_window();
        // A time-out, and another one for the same segment.
        limits.set_window(Limit::Loss);
        limits.set_window(Limit::Loss);
        assert_eq!(limits.window(true), Limit::Loss);
        limits.undo_window();
        assert_eq!(limits.window(true), Limit::Mark);
    }
}
