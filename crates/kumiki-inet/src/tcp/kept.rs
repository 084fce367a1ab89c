//! Acknowledgments that a receiver kept back, and which of them a sender waited for.
//!
//! | | |
//! |---|---|
//! | Specification | none; delayed acknowledgments are those of RFC 9293 section 3.8.6.3 |
//! | Kept back | an acknowledgment that only its timer sent, or data that went that way: from the last segment that it is for until it goes. What a second segment or the reading program's taking calls out was not kept back: they were waited for |
//! | Waited for | where the acknowledgment was of all that was in flight, and ended what held the sender. Where more is in flight, what comes of it comes in time without the one that was kept back |
//! | Short | less than [`SHORT`] is not written down: in a conversation each segment would be |
//! | Left out | peers that are elsewhere: no segment tells how long it was kept back |
//!
//! Both ends write down what they know, and who has both puts it together ([`super::Record::spans`]). So nothing of it
//! travels, and it does not matter what a segment is cut into on its way.

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Seq;

/// What is kept back for less counts as sent at once.
pub(super) const SHORT: Duration = Duration::from_micros(100);

/// An acknowledgment that was kept back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HeldAck {
    /// When the last segment that it is for had come.
    since: Instant,
    /// When it went.
    sent: Instant,
    ack: Seq,
}

/// What one end knows of acknowledgments: those that it kept back, and those that it waited for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Acknowledgments {
    /// In order.
    kept: Vec<HeldAck>,
    /// The one that is being kept back: since when, and of what.
    keeping: Option<(Instant, Seq)>,
    /// When one of all that was in flight ended a wait, and of what it was, in order.
    ended: Vec<(Instant, Seq)>,
    /// One of all that was in flight has come, and nobody has looked yet at what may be sent now.
    emptied: Option<Seq>,
}

impl Acknowledgments {
    /// All up to `ack` has come by `now`, and its acknowledgment may wait.
    pub(super) const fn keep(&mut self, ack: Seq, now: Instant) {
        self.keeping = Some((now, ack));
    }

    /// An acknowledgment goes; `waited`: for nothing but its timer, or for data that goes the same way.
    pub(super) fn go(&mut self, waited: bool, now: Instant) {
        if let Some((since, ack)) = self.keeping.take()
            && waited
            && now.saturating_since(since) >= SHORT
        {
            self.kept.push(HeldAck { since, sent: now, ack });
        }
    }

    /// Nothing is in flight any more, by an acknowledgment up to `ack` that came at `now`. The last segment had gone at
    /// `sent`.
    pub(super) fn empty(&mut self, ack: Seq, sent: Instant, now: Instant) {
        self.emptied = (now.saturating_since(sent) >= SHORT).then_some(ack);
    }

    /// What may be sent was looked at; `ended`: a wait for an acknowledgment was over by then.
    pub(super) fn looked(&mut self, ended: bool, now: Instant) {
        if let Some(ack) = self.emptied.take()
            && ended
        {
            self.ended.push((now, ack));
        }
    }

    /// Whether an acknowledgment up to `all` is being kept back at `to`, or went less than `way` ago.
    pub(super) fn is_coming(&self, all: Seq, to: Instant, way: Duration) -> bool {
        let keeps = self.keeping.is_some_and(|(_, ack)| ack == all);
        keeps || self.kept.last().is_some_and(|kept| kept.ack == all && to.saturating_since(kept.sent) < way)
    }

    /// From when until when between two times it waited for acknowledgments that `peer` kept back. `last`: up to where
    /// all that was in flight at `to` goes, where it waits then.
    pub(super) fn late(
        &self,
        peer: &Self,
        (from, to): (Instant, Instant),
        last: Option<Seq>,
    ) -> Vec<(Instant, Instant)> {
        let first = peer.kept.partition_point(|kept| kept.sent <= from);
        let kept = peer.kept.get(first..).unwrap_or_default().iter().copied();
        let keeping = peer.keeping.map(|(since, ack)| HeldAck { since, sent: to, ack });
        let is_late = |kept: &HeldAck| {
            // It is the first that comes after it went: what it is for had been all that was in flight.
            let ended = self.ended.partition_point(|(at, _)| *at < kept.sent);
            self.ended.get(ended).map_or(last, |(_, ack)| Some(*ack)) == Some(kept.ack)
        };
        let late = kept.chain(keeping).take_while(|kept| kept.since < to).filter(is_late);
        late.map(|kept| (kept.since.max(from), kept.sent.min(to))).filter(|(since, until)| since < until).collect()
    }
}
