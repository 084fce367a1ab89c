//! Header prediction: a short way for the segment that everybody expects next, and for data that may go at once.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 7323 section 5.6, whose steps these are: first PAWS, then the prediction |
//! | Predicted | in ESTABLISHED, where nothing is being made good, marked, urgent or searched for: a segment with no flag but ACK and PSH and no option but timestamps that is the next in sequence, and acknowledges all that is in progress, if anything is |
//! | Sent at once | data of one segment at most that nothing waits in front of, and for which windows and coalescing have room |
//! | Left out | a batch of acknowledgments of parts of what is in flight, as in bulk transfer: there a segment is a train of forty, and costs little as it is |
//!
//! Nothing is decided here that is not decided elsewhere. What may be told apart by a peer, a counter or a record is
//! the same with and without it ([`Config::header_prediction`](super::Config::header_prediction)), which the tests show
//! by running both. A rule that is new in `states`, `recovery` or `output` either changes nothing of a segment as
//! above, or has its condition in [`Session::is_calm`].

use core::fmt;

use kumiki_graph::Work;
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{PlainHeader, Seq};

use super::congestion::Acked;
use super::segment::{self, Packet};
use super::send::{Fin, SendLimit};
use super::session::{Ctx, Session};
use super::states::State;
use super::timers::Timer;

/// What is known of a session from what has happened to it, so that not each segment has to look at all that
/// [`Session::is_calm`] asks.
///
/// Whatever happens to a session begins with [`PredictedState::Any`] ([`Tcp::with`](super::Tcp::with)), but for what is
/// predicted.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PredictedState {
    /// Nothing.
    #[default]
    Any,
    /// Since it was calm nothing has happened but what was predicted.
    Calm,
    /// And the last of that was data that went at once, with nothing behind it.
    Sent,
}

impl fmt::Debug for PredictedState {
    /// The same for all: it tells nothing of a session that is not to be seen there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Course")
    }
}

impl Session {
    /// Whether nothing is going on but data and acknowledgments in order.
    fn is_calm(&self, ctx: &Ctx<'_, '_>) -> bool {
        if self.course == PredictedState::Any {
            return self.looks_calm(ctx);
        }
        debug_assert!(self.looks_calm(ctx), "what has changed that was not told");
        true
    }

    fn looks_calm(&self, ctx: &Ctx<'_, '_>) -> bool {
        ctx.shared.config.header_prediction
            && self.state == State::Established
            && self.accepted
            && self.recovery.is_calm()
            && self.ecn.is_off()
            && self.path.is_calm()
            && self.urgent.is_none()
            && self.route.gateways.is_none()
            && self.receive.queue.has_nothing_to_tell()
            && self.receive.copy.is_none()
            && self.send.max == self.board.nxt()
            && self.trace.is_none()
    }

    /// Takes what is in `packet`, which begins with `header`, where it is what was expected; else leaves it, and is
    /// false.
    pub(super) fn predict(&mut self, header: &PlainHeader, packet: &mut Packet, ctx: &mut Ctx<'_, '_>) -> bool {
        let octets = packet.octets(header.len());
        if !self.is_predicted(header, octets, ctx) {
            return false;
        }
        self.course = PredictedState::Calm;
        ctx.shared.counters.segments_received += 1;
        #[cfg(test)]
        {
            ctx.shared.predicted.0 += 1;
        }
        self.believe_header(header.seq, header.timestamps, octets, ctx);
        if self.board.is_empty() {
            self.recovery.adapt_to_round(self.board.una(), self.board.nxt());
        } else {
            self.take_whole_ack(ctx);
        }
        self.take_window(header.seq, header.ack, header.window);
        if octets > 0
            && let Some((text, count)) = packet.take_text(header.len())
        {
            self.take_next_text(text, (octets, count), header.push, ctx);
        }
        true
    }

    /// Whether a segment is what was expected, and has come in time for PAWS.
    fn is_predicted(&self, header: &PlainHeader, octets: u32, ctx: &Ctx<'_, '_>) -> bool {
        let in_time = match header.timestamps {
            Some((value, _)) => self.timestamps && !Seq(value).lt(Seq(self.receive.ts_recent.0)),
            None => !self.timestamps,
        };
        let window = self.receive.window();
        in_time
            && header.seq == self.receive.nxt
            && octets <= window
            && window > 0
            && self.send.wnd > 0
            && header.ack == self.board.nxt()
            && self.is_calm(ctx)
            && self.board.was_sent_once()
            && !self.timeouts.has_told()
            && !(octets > 0 && self.is_out_of_memory(ctx))
    }

    /// All that is in flight is acknowledged, each octet by its only sending: the steps of `take_new_ack` that are left
    /// then.
    fn take_whole_ack(&mut self, ctx: &mut Ctx<'_, '_>) {
        let now = ctx.now();
        let flight = self.board.flight();
        let counters = &mut ctx.shared.counters;
        counters.new_acks += 1;
        counters.flight_at_acks += u64::from(flight);
        let Some((first, last)) = self.board.on_whole_ack(now) else {
            return;
        };
        let (una, nxt) = (self.board.una(), self.board.nxt());
        self.send.release(una);
        let newest = now.saturating_since(last.at);
        self.on_round_trip(now.saturating_since(first), ctx);
        self.recovery.on_whole_ack((last, newest), (una, nxt), now);
        self.answered(ctx);
        self.progressed();
        self.congestion.on_ack(&Acked {
            now,
            octets: flight.into(),
            flight: flight.into(),
            srtt: self.rtt.srtt(),
            rtt: Some(newest),
            una,
            nxt,
            window_limited: self.window_limited,
        });
        self.clear_loss_timers();
        if let Some(record) = &mut self.record {
            record.acknowledgments.empty(una, self.last_sent, now);
        }
    }

    /// Whether `data` of the user may go as one segment at once, and nothing else is to be looked at.
    pub(super) fn may_go_at_once(&self, data: &Message, ctx: &Ctx<'_, '_>) -> bool {
        let Ok(octets) = u32::try_from(data.len()) else {
            return false;
        };
        let config = &ctx.shared.config;
        let one = (1..=self.send.mss).contains(&octets) && data.slices().len() == 1;
        let whole = config.send_granularity == 0 || octets <= config.send_granularity;
        one && whole
            && self.send.may_pass(octets, &self.board, self.congestion.window())
            && self.is_calm(ctx)
            && self.recovery.duplicates == 0
            && self.pacer.is_none()
            && !self.started_over(ctx)
            && !self.owes_user_timeout(ctx)
    }

    /// Sends `data`, which [may go at once](Self::may_go_at_once): what queuing it and `output` come to then.
    pub(super) fn send_at_once(&mut self, data: Message, end: bool, ctx: &mut Ctx<'_, '_>) {
        #[cfg(test)]
        {
            ctx.shared.predicted.1 += 1;
        }
        let seq = self.board.nxt();
        let octets = u32::try_from(data.len()).unwrap_or(0);
        let (text, read) = self.send.pass(seq, data, end);
        if read > 0 {
            ctx.cx.charge(Work::Sum, read);
        }
        let now = ctx.now();
        self.board.on_send(octets, now, true);
        self.send.max = self.board.nxt();
        let config = &ctx.shared.config;
        let header = PlainHeader {
            source_port: self.pair.local.port(),
            destination_port: self.pair.remote.port(),
            seq,
            ack: self.receive.nxt,
            push: end,
            window: self.receive.advertise(config.edge, self.send.mss, false),
            timestamps: self.timestamps.then(|| (self.ts_now(now), self.receive.ts_recent.0)),
        };
        self.count_sent(ctx);
        ctx.shared.counters.octets_sent += u64::from(octets);
        let how = self.unit_options();
        segment::transmit_plain(&self.pair, &header, text, how, self.route.bypass, ctx.cx);
        // Handing it down takes its time where that has a price.
        let now = ctx.now();
        if let Some(record) = &mut self.record {
            record.acknowledgments.go(self.receive.is_delayed(), now);
        }
        self.receive.acknowledged(now, &mut ctx.shared.counters);
        self.timers.clear(Timer::DelayedAck);
        self.last_sent = now;
        self.time_new(ctx);
        self.rest(ctx);
        self.course = PredictedState::Sent;
    }

    /// Whether [`Session::output`] would find what the data that went at once has left: nothing. It is asked once.
    pub(super) fn has_rested(&mut self) -> bool {
        let sent = self.course == PredictedState::Sent && self.record.is_none();
        if sent {
            self.course = PredictedState::Calm;
        }
        sent
    }

    /// Whether there is nothing to send, and nothing is being made good: then there is nothing to be looked for.
    pub(super) fn has_nothing_to_send(&self) -> bool {
        self.send.unsent() == 0 && self.send.fin == Fin::Open && self.recovery.is_calm() && self.path.is_calm()
    }

    /// Nothing waits to be sent.
    pub(super) fn rest(&mut self, ctx: &Ctx<'_, '_>) {
        self.timers.clear(Timer::Pacing);
        self.timers.clear(Timer::Persist);
        self.timers.clear(Timer::SwsOverride);
        self.window_limited = false;
        self.note_limit(SendLimit::Nothing, ctx);
    }
}
