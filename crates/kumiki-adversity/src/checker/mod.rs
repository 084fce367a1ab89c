//! What one end may do, by RFC 9293 and its companions, judged from what it sends and what reaches it.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 sections 3.4 (sequence numbers), 3.7.1 (MSS), 3.8.3 to 3.8.6 (time-outs, windows, acknowledgments), 3.10 (events); RFC 6298 (RTO); RFC 7323; RFC 2018 |
//! | Knows | the segments at the end's own plug, what its program has asked for, and what the end was configured for |
//! | Does not know | anything of the code under test: sequence variables here are found from the wire |
//! | Left out | which segment recovery ought to choose, and how fast: congestion control is free within the peer's window |
//!
//! # The rules against stalls
//!
//! Nobody may wait longer than the standard lets it wait. That is four bounds; where all of them are kept and the line
//! passes what it is given, the connection goes on.
//!
//! 1. *What is not acknowledged is retransmitted.* An octet at SND.UNA (or a SYN or FIN) that was sent is retransmitted
//!    at the latest after RTO * 2^n, n being how often the timer can have expired since the last valid round-trip
//!    sample (RFC 6298 rules 5.3 to 5.6; Karn's rule keeps n where anything that was sent twice is acknowledged and
//!    there are no timestamps). RTO is an upper bound: RFC 6298's estimator is run with every round trip that the end
//!    can have taken for a sample; before the first, it is the initial value or 3 s. No wait is longer than the
//!    configured maximum (rule 2.5). Two things start the timer again, with SACK and RACK only: whatever is
//!    retransmitted (RFC 6675 section 6 lets an end do so), and, once and no later than the timer would have expired,
//!    new data, which may be a tail loss probe (RFC 8985 sections 7.2 and 7.3). With ECN an acknowledgment that may
//!    tell of marks does so, once and no later (RFC 3168 section 6.1.2: where the window is a single segment).
//! 2. *What waits is sent.* Where nothing is in flight and the program's octets wait: within the override time-out
//!    where the peer's window is open (RFC 9293 section 3.8.6.2.1), or within the RTO of any acknowledgment where
//!    congestion marks may be told of (RFC 3168 section 6.1.2: the window may be a single segment that they forbid to
//!    send); where it is closed, within RTO * 2^n, n counting probes too, up to 60 s or the maximum of RTO, whichever
//!    is longer (section 3.8.6.1, SHLD-29, SHLD-30; MUST-36). The octet of a probe is one that waits, until the window
//!    opens for it. The window is the one of the last segment that counts by SND.WL1 and SND.WL2, also where that has
//!    overtaken a later one.
//! 3. *What arrives is answered.* Within 0.5 s (MUST-40) whatever text arrives, old or new, draws a segment, and what
//!    was next in order and within the window is acknowledged by it. Answers to what is not acceptable may be limited
//!    (RFC 5961 section 7): none is owed to what PAWS refuses, nor to copies where the same was acknowledged within the
//!    last 0.5 s.
//! 4. *The acknowledgment clock goes on after a time-out.* Where all that was sent since the time-out has arrived, as
//!    acknowledgments tell, duplicates of new data included (RFC 5682 sections 2.1 and 3.1 step 3), nothing is on the
//!    way, and what was lost follows within two round trips, for pacing and RACK's reordering window. A time-out is
//!    what follows a silence of at least two round trips, so that what was sent before is not on the way either; where
//!    it may have been for nothing, the rule does not hold.
//!
//! Where timers of the end expire only on a beat, two beats are added.

use std::sync::Arc;

use kumiki_graph::{Duration, Instant};
use kumiki_octets::Pattern;
use kumiki_wire::inet::tcp::{Header, Options, Seq};

use super::case::{End, Opening, Version};
use super::tap::TappedSegment;
use super::user::Facts;

mod arrived;
mod sent;
mod space;
mod waits;

use space::{Receiving, Sending};
use waits::{Bounds, Clock};

/// MUST-40.
const ANSWER: Duration = Duration::from_millis(500);
/// The longest interval between probes of a closed window that this checker bears.
const PERSIST: Duration = Duration::from_secs(60);
/// RFC 6298 rule 5.7.
const AFTER_SYN_LOSS: Duration = Duration::from_secs(3);

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// When, in virtual time.
    pub at: Instant,
    /// The end that broke it: 0 is the near one.
    pub end: usize,
    /// Which rule, in two or three words; the same for the same rule.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
}

/// The judge of one end; see the module.
#[derive(Debug)]
pub(super) struct Checker {
    end: usize,
    version: Version,
    passive: bool,
    bounds: Bounds,
    pattern: Pattern,
    facts: Arc<Facts>,
    /// SYNs that came while there was no connection.
    callers: Vec<(Seq, Options, u16)>,
    sending: Option<Sending>,
    receiving: Option<Receiving>,
    /// A call that the program has not heard of may have been given up: nothing is owed until it shows that it was not.
    doubtful: bool,
    violation: Option<Violation>,
    hash: u64,
    pub(super) segments: u64,
    pub(super) damaged: u64,
    /// When the last segment was seen.
    pub(super) last: Instant,
    /// The most that [`Sending::again`] and `unanswered` ever were.
    most_again: u32,
    most_unanswered: u32,
    pub(super) reset_sent: bool,
    pub(super) reset_came: bool,
    /// When the last reset came.
    reset_at: Option<Instant>,
}

impl Checker {
    pub(super) fn new(number: usize, (version, end): (Version, &End), pattern: Pattern, facts: &Arc<Facts>) -> Self {
        Self {
            end: number,
            version,
            passive: matches!(end.opening, Opening::Listens { .. }),
            bounds: Bounds::of(end),
            pattern,
            facts: Arc::clone(facts),
            callers: Vec::new(),
            sending: None,
            receiving: None,
            doubtful: false,
            violation: None,
            hash: 0xcbf2_9ce4_8422_2325,
            segments: 0,
            damaged: 0,
            last: Instant::ZERO,
            most_again: 0,
            most_unanswered: 0,
            reset_sent: false,
            reset_came: false,
            reset_at: None,
        }
    }

    /// The first rule that was broken.
    pub(super) const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// A number that any difference in what was seen changes.
    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    /// How often, at the most, the end has sent the same thing again, or anything at all without an answer.
    pub(super) fn in_vain(&self) -> u32 {
        self.most_again.max(self.most_unanswered.saturating_sub(1))
    }

    /// Whether anything of this end is in flight or waits.
    pub(crate) fn has_something_to_say(&mut self, now: Instant) -> bool {
        self.look_at_clock(now);
        !self.doubtful
            && self
                .sending
                .as_ref()
                .is_some_and(|sending| sending.is_busy() || self.waiting(sending, self.facts.handed()))
    }

    /// Looks at the clock once more.
    pub(super) fn at_last(&mut self, now: Instant) {
        self.look_at_clock(now);
    }

    pub(super) fn malformed(&mut self, now: Instant, why: &'static str) {
        self.breaks(now, "malformed", || format!("sent something malformed: {why}"));
    }

    pub(super) fn damaged(&mut self, now: Instant) {
        self.damaged += 1;
        self.mix(now.as_nanos());
    }

    fn breaks(&mut self, at: Instant, rule: &'static str, what: impl FnOnce() -> String) {
        if self.violation.is_none() {
            self.violation = Some(Violation { at, end: self.end, rule, what: what() });
        }
    }

    fn mix(&mut self, word: u64) {
        // FNV-1a by words, and a turn so that high bits count.
        self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    fn mix_segment(&mut self, now: Instant, seen: &TappedSegment, sent: bool) {
        let Header { seq, ack, flags, window, .. } = seen.header;
        self.mix(now.as_nanos());
        self.mix(u64::from(seq.0) << 32 | u64::from(ack.0));
        let len = seen.text.len() as u64;
        self.mix(len << 40 | u64::from(flags.bits()) << 24 | u64::from(window) << 1 | u64::from(sent));
        self.segments += 1;
        self.last = now;
    }

    // The clock.

    fn look_at_clock(&mut self, now: Instant) {
        if self.violation.is_some() || self.doubtful || self.facts.over() {
            return;
        }
        if let Some(&(_, owed)) = self.receiving.as_ref().and_then(|it| it.owed.front())
            && now > owed + ANSWER
        {
            self.breaks(owed + ANSWER, "no answer", || {
                format!("text that arrived at {owed} was not answered within 0.5 s (MUST-40)")
            });
        }
        let Some(sending) = &self.sending else {
            return;
        };
        if sending.is_busy() {
            self.look_at_head(now);
        } else if sending.perhaps <= sending.una && self.waiting(sending, self.facts.handed()) {
            let closed = sending.sure_edge.min(sending.last_edge) <= sending.max;
            let since = sending.changed.max(self.facts.said());
            let deadline = if closed {
                (since + self.bounds.persist(sending)).max(sending.next_probe)
            } else {
                (since + self.bounds.waits()).max(sending.held_until)
            };
            if now > deadline {
                let window = if closed { "closed" } else { "open" };
                let waiting = self.facts.handed() + 1;
                let max = sending.max;
                self.breaks(deadline, "stall", || {
                    format!(
                        "nothing is in flight, the window is {window}, and positions {max} to {waiting} have waited since {since}, and still at {deadline}"
                    )
                });
            }
        }
    }

    /// Something is in flight: whether it is time that it were retransmitted.
    fn look_at_head(&mut self, now: Instant) {
        let Some(sending) = &self.sending else {
            return;
        };
        // Only a probe of the closed window is in progress, whose octet the peer need not take: rule 2.
        let one = sending.max - sending.una == 1;
        let is_probe =
            |una: i64| una >= sending.sure_edge.max(1) || (sending.max - una == 1 && una >= sending.last_edge.max(1));
        let probed = is_probe(sending.una);
        // What may be acknowledged or not is followed by a probe in the one case only.
        let probing = probed || is_probe(sending.una.max(sending.perhaps));
        let sack = self.has_sack();
        let again = self.bounds.again(sending, sack);
        let probe = sending.head_at + self.bounds.persist(sending);
        let mut deadline = match (probing, probed) {
            (false, _) => again,
            (true, true) => probe,
            (true, false) => probe.max(again),
        };
        if one && !probing {
            // It may have been a probe, and its octet now waits with others for a window that is worth while.
            deadline = deadline.max(sending.head_at + self.bounds.overrides + self.bounds.beats);
        }
        if let Some(since) = sending.clock.and_then(|clock| clock.idle_since)
            && !probing
        {
            let stop = since + Clock::max_silence(&sending.trips, &self.bounds);
            if now > stop && stop < deadline {
                self.breaks(stop, "clock", || {
                    format!(
                        "since {since} nothing that was sent after the time-out is on the way, and what was lost does not go on (RFC 5681 section 3.1, RFC 5682 section 2.1 step 3)"
                    )
                });
                return;
            }
        }
        if now <= deadline {
            return;
        }
        if self.passive && !self.facts.opened() && sending.again >= self.bounds.syn_retries {
            self.doubtful = true;
            return;
        }
        let (una, again, since) = (sending.una, sending.again, sending.head_at);
        self.breaks(deadline, "stall", || {
            format!(
                "position {una} was not acknowledged and, since {since}, not retransmitted until {deadline} (retransmitted {again} times before; RFC 6298 section 5)"
            )
        });
    }

    /// Whether the program has handed over, on a connection that it knows, what was never sent.
    fn waiting(&self, sending: &Sending, handed: u64) -> bool {
        let handed = i64::try_from(handed).unwrap_or(i64::MAX - 1);
        self.facts.opened()
            && sending.una >= 1
            && (handed + 1 > sending.max || (self.facts.releasing() && sending.fin.is_none()))
    }
}

impl core::fmt::Display for Violation {
    /// `at 1.5s, near: stall: ...`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let end = if self.end == 0 { "near" } else { "far" };
        write!(f, "at {}, {end} end: {}: {}", self.at, self.rule, self.what)
    }
}

#[cfg(test)]
mod tests;
