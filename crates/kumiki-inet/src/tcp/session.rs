//! One connection: what all its states share. What a segment does in which state is in [`super::states`], what goes
//! out in [`super::output`], what timers do in [`super::deadlines`].

use core::net::{IpAddr, SocketAddr};
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::IpQuality;

use kumiki_graph::{Above, Address, Context, Duration, Handle, Indication, Instant, Opened, Reason};
use kumiki_octets::{Message, OnDemand};
use kumiki_wire::inet::tcp::{Flags, Seq};

use super::buffers::Buffers;
use super::challenge::{Budget, Challenges};
use super::config::{Config, PathMtu};
use super::congestion::Congestion;
use super::counters::Counters;
use super::demux::{Pair, Secret};
use super::ecn::Ecn;
use super::limits::Limit;
use super::pacing::Pacer;
use super::path_mtu::Path;
use super::predicted::PredictedState;
use super::receive::{AckReason, OwedAck, Receive};
use super::record::Record;
use super::recovery::Recovery;
use super::route::Route;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::send::{Fin, Send};
use super::states::State;
use super::time_waits::TimeWaitEntry;
use super::timeouts::Timeouts;
use super::timers::{Timer, Timers};
use super::trace::{Entry, Event, Snapshot, Trace};
use super::urgent::Urgent;
use kumiki_graph::memory::Memory;

/// RTO where the SYN had to be retransmitted and there is no sample (RFC 6298 rule 5.7).
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);

/// Of the type of service, what is not TCP's own: all but the ECN field (RFC 3168 section 5).
pub(crate) const DSCP: u8 = 0xfc;

/// What all connections of one TCP share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) counters: Counters,
    /// The largest segment, header included, that the layer below carries; 0: not known yet.
    pub(crate) unit: u32,
    /// How many segments the layer below takes as one super-segment.
    pub(crate) burst: u32,
    pub(crate) secret: Secret,
    /// Phases of the two clocks that beat.
    pub(crate) ack_phase: Duration,
    pub(crate) slow_phase: Duration,
    pub(crate) memory: Memory,
    /// For challenges.
    pub(crate) budget: Budget,
    /// Of connections that are over.
    pub(crate) traces: Vec<(Pair, Trace)>,
    pub(crate) records: Vec<(Pair, Record)>,
    /// How many segments were taken, and sent, by the short way.
    #[cfg(test)]
    pub(crate) predicted: (u64, u64),
}

impl Shared {
    /// The largest text of a segment without options, where segments of `unit` octets can be sent to addresses such as
    /// `ip` and received from them (0: not known); what the MSS option tells (MUST-67, SHLD-6).
    pub(crate) fn own_mss(&self, unit: u32, ip: IpAddr) -> u32 {
        let header = u32::try_from(kumiki_wire::inet::tcp::MIN_LEN).unwrap_or(20);
        let link = match unit {
            0 => self.config.default_mss(ip).into(),
            unit => unit.saturating_sub(header),
        };
        let cap: u32 = self.config.mss.unwrap_or(u16::MAX).into();
        link.min(cap).max(1)
    }

    pub(crate) const fn unit_options(&self) -> IpParameters {
        IpParameters {
            ttl: self.config.ttl,
            tos: self.config.tos & DSCP,
            dont_fragment: !matches!(self.config.path_mtu, PathMtu::Off),
            ..IpParameters::NONE
        }
    }
}

/// What a session can reach while it handles one input.
pub(crate) struct Ctx<'a, 'c> {
    pub(crate) cx: &'a mut Context<'c>,
    pub(crate) shared: &'a mut Shared,
}

impl Ctx<'_, '_> {
    pub(crate) const fn now(&self) -> Instant {
        self.cx.now()
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) handle: Handle,
    /// The user, and its handle for this connection; before anybody has accepted it, of the passive open.
    pub(crate) above: Above,
    pub(crate) user: Handle,
    /// The passive open in whose backlog this connection has a place.
    pub(crate) listener: Option<Handle>,
    /// The user knows the connection by `user`.
    pub(crate) accepted: bool,
    pub(crate) pair: Pair,
    /// The largest text of a segment without options, as far as this side is concerned.
    pub(crate) own_mss: u32,
    pub(crate) state: State,
    pub(crate) course: PredictedState,
    /// Came from a passive open (MUST-11).
    pub(crate) passive: bool,
    pub(crate) iss: Seq,
    pub(crate) send: Send,
    pub(crate) receive: Receive,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: Rtt,
    pub(crate) congestion: Box<dyn Congestion>,
    pub(crate) recovery: Recovery,
    pub(crate) ecn: Ecn,
    /// Where sending is paced.
    pub(crate) pacer: Option<Box<Pacer>>,
    /// The congestion window held data back when last looked at.
    pub(crate) window_limited: bool,
    pub(crate) timers: Timers,
    pub(crate) timeouts: Timeouts,
    /// Retransmissions of the first unacknowledged segment, or probes, without an answer.
    pub(crate) unanswered: u32,
    /// Probes of the closed window, answered or not.
    pub(crate) probes: u32,
    /// When the last of them was sent.
    pub(crate) probed_at: Instant,
    /// Snd.TS.OK and its clock's offset.
    pub(crate) timestamps: bool,
    pub(crate) ts_offset: u32,
    pub(crate) sack: bool,
    pub(crate) last_sent: Instant,
    pub(crate) challenges: OnDemand<Challenges>,
    pub(crate) urgent: OnDemand<Urgent>,
    pub(crate) route: Route,
    pub(crate) path: Path,
    pub(crate) buffers: Buffers,
    /// It is over; whoever holds it should let go of it.
    pub(crate) ended: bool,
    /// Something happened that the end of the batch should look at. What was refused stirs nothing.
    pub(crate) dirty: bool,
    /// It is in the list of those to settle.
    pub(crate) queued: bool,
    /// What goes on in TIME-WAIT without it.
    pub(crate) time_wait: Option<Box<TimeWaitEntry>>,
    pub(crate) trace: Option<Box<Trace>>,
    pub(crate) record: Option<Box<Record>>,
}

impl Session {
    /// A connection about to begin, in state CLOSED.
    pub(crate) fn new(
        (handle, above, user): (Handle, Above, Handle),
        pair: Pair,
        quality: &kumiki_graph::Quality,
        (unit, iss): (u32, Option<Seq>),
        ctx: &mut Ctx<'_, '_>,
    ) -> Self {
        let config = &ctx.shared.config;
        let iss = iss.unwrap_or_else(|| super::isn::initial(ctx.shared.secret, &pair, ctx.now()));
        let own_mss = ctx.shared.own_mss(unit, pair.remote.ip());
        let receive = Receive::of(ctx.shared, quality, own_mss);
        Self {
            handle,
            above,
            user,
            listener: None,
            accepted: false,
            pair,
            own_mss,
            state: State::Closed,
            course: PredictedState::Any,
            passive: false,
            iss,
            send: Send::new(
                iss,
                Buffers::send(config, quality).at_first(ctx.shared),
                quality.coalesce.unwrap_or(config.coalesce),
            ),
            receive,
            board: Scoreboard::new(iss, own_mss),
            rtt: Rtt::new(&config.rto),
            congestion: config.congestion.build(config.congestion_of(own_mss)),
            recovery: Recovery::new(),
            ecn: Ecn::new(IpQuality::from(quality.special).ecn.unwrap_or(config.ecn)),
            pacer: config.pacing.then(|| Box::new(Pacer::new(ctx.cx.now()))),
            window_limited: false,
            timers: Timers::new(handle),
            timeouts: Timeouts::new(config, quality, ctx.now()),
            unanswered: 0,
            probes: 0,
            probed_at: ctx.now(),
            timestamps: config.timestamps,
            ts_offset: super::isn::clock_offset(ctx.shared.secret, &pair),
            sack: config.sack,
            last_sent: ctx.now(),
            challenges: OnDemand::new(),
            urgent: OnDemand::new(),
            route: Route::default(),
            path: Path::new(config),
            buffers: Buffers::new(config, quality, ctx.cx.now()),
            ended: false,
            dirty: false,
            queued: false,
            time_wait: None,
            trace: config.trace.then(Box::default),
            record: config.record.then(|| Box::new(Record::new(ctx.cx.now()))),
        }
    }

    /// To the user it is over, though it may stay for a while.
    pub(crate) fn is_over(&self) -> bool {
        self.ended || self.state == State::TimeWait
    }

    /// From now on it is held back by `limit`.
    pub(crate) fn limited(&mut self, limit: Limit, now: Instant) {
        if let Some(record) = &mut self.record {
            record.limits.set(limit, now);
        }
    }

    /// A segment was sent, be it once more.
    pub(crate) fn count_sent(&mut self, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.segments_sent += 1;
        if let Some(record) = &mut self.record {
            record.count(ctx.now(), |counts| counts.segments_sent += 1);
        }
    }

    /// It is sent once more.
    pub(crate) fn count_again(&mut self, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.retransmissions += 1;
        if let Some(record) = &mut self.record {
            record.count(ctx.now(), |counts| counts.retransmissions += 1);
        }
    }

    /// A timestamp tells of a round trip, to the tick of its clock: a measure for the timer, and too coarse to be told
    /// of.
    pub(crate) fn on_echoed_trip(&mut self, sample: Duration, ctx: &Ctx<'_, '_>) {
        self.rtt.on_sample(sample, &ctx.shared.config.rto);
    }

    /// A round trip was measured.
    pub(crate) fn on_round_trip(&mut self, sample: Duration, ctx: &Ctx<'_, '_>) {
        self.rtt.on_sample(sample, &ctx.shared.config.rto);
        if let Some(record) = &mut self.record {
            record.on_round_trip(sample);
        }
    }

    /// The congestion window was changed, so.
    pub(crate) fn window_by(&mut self, limit: Limit) {
        if let Some(record) = &mut self.record {
            record.limits.set_window(limit);
        }
    }

    pub(crate) fn note(&mut self, event: Event, now: Instant) {
        if self.trace.is_none() {
            return;
        }
        let cwnd = self.cwnd();
        let Some(trace) = &mut self.trace else {
            return;
        };
        trace.0.push(Entry {
            at: now,
            event,
            cwnd,
            ssthresh: self.congestion.ssthresh(),
            snd_una: self.board.una(),
            snd_nxt: self.board.nxt(),
            snd_wnd: self.send.wnd,
            rcv_nxt: self.receive.nxt,
            rcv_wnd: self.receive.window(),
            srtt: self.rtt.srtt(),
        });
    }

    /// How it stands.
    pub(crate) fn snapshot(&self, config: &Config) -> Snapshot {
        Snapshot {
            state: self.state.name(),
            cwnd: self.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            snd_wnd: self.send.wnd,
            rcv_wnd: self.receive.window(),
            mss: self.send.mss,
            flight: self.board.flight(),
            sacked: self.board.sacked(),
            lost: self.board.lost(),
            resent: self.board.resent(),
            recovering: self.recovery.phase.into(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: self.rtt.rto(&config.rto),
            unanswered: self.unanswered,
        }
    }

    /// The timestamp clock: milliseconds, from an offset of its own (RFC 7323 section 5.4).
    pub(crate) fn ts_now(&self, now: Instant) -> u32 {
        super::isn::clock(now).wrapping_add(self.ts_offset)
    }

    // What goes up.

    pub(crate) fn up(&self, indication: Indication, ctx: &mut Ctx<'_, '_>) {
        ctx.cx.up(self.above, indication);
    }

    /// The three-way handshake is done.
    pub(crate) fn established(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.state = State::Established;
        self.timers.clear(Timer::Retransmit);
        if self.passive {
            // Its SYN,ACK had no timer of the connection's that would find out that nothing is in flight any more.
            self.board.fit();
        }
        if self.unanswered > 0 {
            self.congestion.on_syn_lost();
            if self.rtt.srtt().is_none() {
                self.rtt.restart(RTO_AFTER_SYN_LOSS);
            }
        }
        self.answered(ctx);
        self.progressed();
        self.timeouts.heard = ctx.now();
        self.arm_keep_alive(ctx);
        self.begin_recovery(ctx);
        ctx.shared.counters.established += 1;
        self.count_ecn(ctx);
        self.note(Event::Established, ctx.now());
        let (local, remote) = self.addresses();
        let unit = self.send.mss;
        if self.listener.is_some() {
            let offered = kumiki_graph::Offered {
                user: self.user,
                provider: self.handle,
                local,
                remote,
                unit,
                data: None,
                ..kumiki_graph::Offered::default()
            };
            self.up(Indication::Offered(Box::new(offered)), ctx);
            return;
        }
        if self.accepted {
            self.announce(ctx);
            return;
        }
        self.accepted = true;
        let opened =
            Opened { user: self.user, provider: self.handle, local, remote, unit, data: None, ..Opened::default() };
        self.up(Indication::Opened(Box::new(opened)), ctx);
        self.announce(ctx);
    }

    fn addresses(&self) -> (Address, Address) {
        (SocketAddr::from(self.pair.local).into(), SocketAddr::from(self.pair.remote).into())
    }

    /// Tells the user of room in the send buffer.
    pub(crate) fn announce(&mut self, ctx: &mut Ctx<'_, '_>) {
        if !self.accepted || self.send.fin != Fin::Open || !self.state.may_send() {
            return;
        }
        if let Some(credit) = self.send.credit(ctx.shared.config.low_water) {
            if let Some(record) = &mut self.record {
                record.limits.has_room(ctx.cx.now());
            }
            let session = self.user;
            self.up(Indication::Credit { session, credit }, ctx);
        }
    }

    /// Ends at once; the user is told `reason`, if it is given.
    pub(crate) fn end(&mut self, reason: Option<Reason>, ctx: &mut Ctx<'_, '_>) {
        if let Some(reason) = reason
            && (self.accepted || !self.passive)
            && self.state != State::TimeWait
            && !self.ended
        {
            // MUST-12.
            let session = self.user;
            self.up(Indication::Aborted { session, reason, data: None }, ctx);
        }
        self.ended = true;
        if let Some(record) = &mut self.record {
            record.limits.end(ctx.cx.now());
        }
        self.note(Event::Ended, ctx.now());
        self.timers.end(ctx.cx);
        self.send.clear();
        self.state = State::Closed;
    }

    /// Both directions have ended in order: the user is done with it.
    pub(crate) fn closed(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.accepted {
            let session = self.user;
            self.up(Indication::Closed { session }, ctx);
        }
    }

    /// Ends with a reset to the peer (RFC 9293 section 3.10.5), which learns so that data is lost (SHLD-3).
    pub(crate) fn reset(&mut self, reason: Option<Reason>, ctx: &mut Ctx<'_, '_>) {
        if self.state.is_synchronized() {
            ctx.shared.counters.resets_sent += 1;
            let seq = self.board.nxt();
            self.emit(seq, Flags::RST | Flags::ACK, Message::new(), ctx);
        }
        self.end(reason, ctx);
    }

    /// The batch is over: send, acknowledge once for all that came (MUST-58, MUST-59), announce room.
    pub(crate) fn settle(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.ended {
            return;
        }
        if !self.has_rested() {
            self.output(ctx);
        }
        self.tune(ctx);
        let config = &ctx.shared.config;
        if self.state.may_receive() && self.receive.wants_update(config.window_update, config.edge, self.send.mss) {
            self.receive.owe_now(AckReason::WindowUpdate);
        }
        match self.receive.due {
            OwedAck::Now(why) if self.state.is_synchronized() => self.send_ack(why, ctx),
            OwedAck::Delayed if !self.timers.is_set(Timer::DelayedAck) => self.arm_delayed_ack(ctx),
            OwedAck::Now(_) | OwedAck::Delayed | OwedAck::No => {}
        }
        self.answer(ctx);
        self.announce(ctx);
        if self.state == State::TimeWait {
            self.leave_time_wait_entry(ctx);
        }
    }
}
