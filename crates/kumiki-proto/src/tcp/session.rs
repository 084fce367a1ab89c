//! One connection: what all its states share. What a segment does in which state is in [`super::states`].

use core::net::SocketAddr;

use kumiki_graph::{
    Above, Address, Context, Duration, Handle, Indication, Instant, Opened, Reason, UnitOptions,
};
use kumiki_octets::Message;
use kumiki_wire::tcp::{Flags, Header, Options, Seq};

use super::config::{AckTimer, Beat, Config};
use super::congestion::{self, Congestion};
use super::counters::Counters;
use super::demux::{Pair, Secret};
use super::receive::{AckReason, Due, Receive};
use super::rtt::Rtt;
use super::scoreboard::{NextSeg, Scoreboard, Span};
use super::segment;
use super::send::{Fin, Held, Next, Send};
use super::states::State;
use super::timers::{Timer, Timers};
use super::trace::{Entry, Event, Trace};

/// The longest interval between probes of a closed window (RFC 9293 section 3.8.6.1 leaves it open; 4.3BSD's value).
const PROBE_MAX: Duration = Duration::from_secs(60);
/// RTO where the SYN had to be sent again and there is no sample (RFC 6298 rule 5.7).
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);

/// What all connections of one TCP share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) counters: Counters,
    /// The largest segment, header included, that the layer below carries; 0: not known yet.
    pub(crate) unit: u32,
    pub(crate) secret: Secret,
    /// Phases of the two clocks that beat.
    pub(crate) ack_phase: Duration,
    pub(crate) slow_phase: Duration,
    /// Of connections that are over.
    pub(crate) traces: Vec<(Pair, Trace)>,
}

impl Shared {
    /// The largest text of a segment without options, where segments of `unit` octets can be sent (0: not known).
    pub(crate) fn own_mss(&self, unit: u32) -> u32 {
        let header = u32::try_from(kumiki_wire::tcp::MIN_LEN).unwrap_or(20);
        let link = match unit {
            0 => self.config.default_mss.into(),
            unit => unit.saturating_sub(header),
        };
        let cap: u32 = self.config.mss.unwrap_or(u16::MAX).into();
        link.min(cap).max(1)
    }

    pub(crate) const fn unit_options(&self) -> UnitOptions {
        UnitOptions {
            ttl: self.config.ttl,
            tos: self.config.tos,
            dont_fragment: true,
            group: false,
            under: None,
            identification: 0,
        }
    }
}

/// What a session can reach while it handles one input.
pub(crate) struct Io<'a, 'c> {
    pub(crate) cx: &'a mut Context<'c>,
    pub(crate) shared: &'a mut Shared,
}

impl Io<'_, '_> {
    pub(crate) const fn now(&self) -> Instant {
        self.cx.now()
    }
}

/// Which losses are being made good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recovery {
    /// None.
    No,
    /// Fast recovery, until everything up to here is acknowledged (RFC 6675's RecoveryPoint, RFC 6582's recover).
    Fast(Seq),
    /// After the retransmission timer expired, until everything up to here is acknowledged.
    Timeout(Seq),
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
    /// Came from a passive open (MUST-11).
    pub(crate) passive: bool,
    pub(crate) iss: Seq,
    pub(crate) send: Send,
    pub(crate) receive: Receive,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: Rtt,
    pub(crate) congestion: Box<dyn Congestion>,
    pub(crate) recovery: Recovery,
    /// Duplicate acknowledgments in a row.
    pub(crate) duplicates: u32,
    /// The next segment of recovery goes whatever is under way.
    pub(crate) forced: bool,
    /// The congestion window held data back when last looked at.
    pub(crate) window_limited: bool,
    pub(crate) timers: Timers,
    /// Retransmissions of the first unacknowledged segment, or probes, without an answer.
    pub(crate) unanswered: u32,
    /// Probes of the closed window, answered or not.
    pub(crate) probes: u32,
    /// Snd.TS.OK and its clock's offset.
    pub(crate) timestamps: bool,
    pub(crate) ts_offset: u32,
    pub(crate) sack: bool,
    pub(crate) last_sent: Instant,
    /// When a segment without text last drew a challenge.
    pub(crate) last_challenge: Option<Instant>,
    /// It is over; whoever holds it should let go of it.
    pub(crate) ended: bool,
    /// Something happened that the end of the batch should look at.
    pub(crate) stirred: bool,
    /// It is in the list of those to settle.
    pub(crate) listed: bool,
    pub(crate) trace: Option<Trace>,
}

impl Session {
    /// A connection about to begin, in state CLOSED.
    pub(crate) fn new(
        (handle, above, user): (Handle, Above, Handle),
        pair: Pair,
        quality: &kumiki_graph::Quality,
        unit: u32,
        io: &mut Io<'_, '_>,
    ) -> Self {
        let config = &io.shared.config;
        let iss = super::isn::initial(io.shared.secret, &pair, io.now());
        let own_mss = io.shared.own_mss(unit);
        let mut receive = Receive::new(quality.receive_buffer.unwrap_or(config.receive_buffer));
        receive.round(config.rounding, own_mss);
        Self {
            handle,
            above,
            user,
            listener: None,
            accepted: false,
            pair,
            own_mss,
            state: State::Closed,
            passive: false,
            iss,
            send: Send::new(
                iss,
                quality.send_buffer.unwrap_or(config.send_buffer),
                quality.coalesce.unwrap_or(config.coalesce),
            ),
            receive,
            board: Scoreboard::new(iss, own_mss),
            rtt: Rtt::new(config.rto),
            congestion: config.congestion.build(congestion::Config {
                smss: own_mss,
                initial_window: config.initial_window,
                slow_start_limit: config.slow_start_limit,
            }),
            recovery: Recovery::No,
            duplicates: 0,
            forced: false,
            window_limited: false,
            timers: Timers::new(handle),
            unanswered: 0,
            probes: 0,
            timestamps: config.timestamps,
            ts_offset: super::isn::clock_offset(io.shared.secret, &pair),
            sack: config.sack,
            last_sent: io.now(),
            last_challenge: None,
            ended: false,
            stirred: false,
            listed: false,
            trace: config.trace.then(Trace::default),
        }
    }

    /// To the user it is over, though it may stay for a while.
    pub(crate) fn is_over(&self) -> bool {
        self.ended || self.state == State::TimeWait
    }

    pub(crate) fn note(&mut self, event: Event, now: Instant) {
        let Some(trace) = &mut self.trace else {
            return;
        };
        trace.0.push(Entry {
            at: now,
            event,
            cwnd: self.congestion.window(),
            ssthresh: self.congestion.ssthresh(),
            snd_una: self.board.una(),
            snd_nxt: self.board.nxt(),
            snd_wnd: self.send.wnd,
            rcv_nxt: self.receive.nxt,
            rcv_wnd: self.receive.window(),
            srtt: self.rtt.srtt(),
        });
    }

    /// The timestamp clock: milliseconds, from an offset of its own (RFC 7323 section 5.4).
    pub(crate) fn ts_now(&self, now: Instant) -> u32 {
        let milliseconds = now.as_nanos() / 1_000_000;
        let [.., a, b, c, d] = milliseconds.to_be_bytes();
        u32::from_be_bytes([a, b, c, d]).wrapping_add(self.ts_offset)
    }

    // What goes up.

    pub(crate) fn up(&self, indication: Indication, io: &mut Io<'_, '_>) {
        io.cx.up(self.above, indication);
    }

    /// The three-way handshake is done.
    pub(crate) fn established(&mut self, io: &mut Io<'_, '_>) {
        self.state = State::Established;
        self.timers.clear(Timer::Retransmit);
        self.timers.clear(Timer::UserTimeout);
        if self.unanswered > 0 {
            self.congestion.on_syn_lost();
            if self.rtt.srtt().is_none() {
                self.rtt.restart(RTO_AFTER_SYN_LOSS);
            }
        }
        self.unanswered = 0;
        io.shared.counters.established += 1;
        self.note(Event::Established, io.now());
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
            };
            self.up(Indication::Offered(Box::new(offered)), io);
            return;
        }
        self.accepted = true;
        let opened = Opened {
            user: self.user,
            provider: self.handle,
            bypass: None,
            local,
            remote,
            unit,
            data: None,
        };
        self.up(Indication::Opened(Box::new(opened)), io);
        self.announce(io);
    }

    const fn addresses(&self) -> (Address, Address) {
        (
            Address::Socket(SocketAddr::V4(self.pair.local)),
            Address::Socket(SocketAddr::V4(self.pair.remote)),
        )
    }

    /// Tells the user of room in the send buffer.
    pub(crate) fn announce(&mut self, io: &mut Io<'_, '_>) {
        if !self.accepted || self.send.fin != Fin::Open || !self.state.may_send() {
            return;
        }
        if let Some(credit) = self.send.credit(io.shared.config.low_water) {
            let session = self.user;
            self.up(Indication::Credit { session, credit }, io);
        }
    }

    /// Ends at once; the user is told `reason`, if it is given.
    pub(crate) fn end(&mut self, reason: Option<Reason>, io: &mut Io<'_, '_>) {
        if let Some(reason) = reason
            && (self.accepted || !self.passive)
            && self.state != State::TimeWait
            && !self.ended
        {
            let session = self.user;
            self.up(
                Indication::Aborted {
                    session,
                    reason,
                    data: None,
                },
                io,
            );
        }
        self.ended = true;
        self.note(Event::Ended, io.now());
        self.timers.end(io.cx);
        self.send.clear();
        self.state = State::Closed;
    }

    /// Both directions have ended in order: the user is done with it.
    pub(crate) fn closed(&mut self, io: &mut Io<'_, '_>) {
        if self.accepted {
            let session = self.user;
            self.up(Indication::Closed { session }, io);
        }
    }

    /// Ends with a reset to the peer (RFC 9293 section 3.10.5).
    pub(crate) fn reset(&mut self, reason: Option<Reason>, io: &mut Io<'_, '_>) {
        if self.state.is_synchronized() {
            io.shared.counters.resets_sent += 1;
            let seq = self.board.nxt();
            self.emit(seq, Flags::RST | Flags::ACK, Message::new(), io);
        }
        self.end(reason, io);
    }

    // What goes out.

    /// Sends a segment with the acknowledgment, the window and the options that belong into it.
    fn emit(&mut self, seq: Seq, flags: Flags, text: Message, io: &mut Io<'_, '_>) {
        let now = io.now();
        let mut options = Options::NONE;
        if self.timestamps {
            options.timestamps = Some((self.ts_now(now), self.receive.ts_recent.0));
        }
        if self.sack {
            let spare = usize::try_from(self.send.mss).unwrap_or(0);
            let spare = spare.saturating_sub(text.len());
            let room = options.sack_room().min(spare.saturating_sub(4) / 8);
            if room > 0 {
                options.sack = self.receive.queue.sack_blocks(room, true);
            }
        }
        let config = &io.shared.config;
        let header = Header {
            source_port: self.pair.local.port(),
            destination_port: self.pair.remote.port(),
            seq,
            ack: self.receive.nxt,
            flags,
            window: self.receive.advertise(config.edge, self.send.mss, false),
            checksum: 0,
            urgent_pointer: 0,
            options,
        };
        let end = seq.advance(text.len()) + u32::from(flags.contains(Flags::FIN));
        self.send.max = self.send.max.max(end);
        io.shared.counters.segments_sent += 1;
        io.shared.counters.octets_sent += text.len() as u64;
        let options = io.shared.unit_options();
        segment::transmit(&self.pair, &header, text, options, io.cx);
        self.receive.acknowledged();
        self.timers.clear(Timer::DelayedAck);
    }

    /// Sends our SYN, or sends it again: with an ACK once the peer's SYN is known.
    pub(crate) fn send_syn(&mut self, io: &mut Io<'_, '_>) {
        let now = io.now();
        let config = &io.shared.config;
        let answer = self.state == State::SynReceived;
        let mut flags = Flags::SYN;
        if answer {
            flags |= Flags::ACK;
        }
        // A SYN,ACK offers only what the SYN did; before that, negotiation has not happened.
        let shift = Receive::shift_for(config, self.receive.buffer);
        let options = Options {
            mss: Some(u16::try_from(self.own_mss).unwrap_or(u16::MAX)),
            window_scale: shift.filter(|_| !answer || self.receive.scaling),
            sack_permitted: self.sack,
            timestamps: self
                .timestamps
                .then(|| (self.ts_now(now), self.receive.ts_recent.0)),
            ..Options::NONE
        };
        let header = Header {
            source_port: self.pair.local.port(),
            destination_port: self.pair.remote.port(),
            seq: self.iss,
            ack: if answer { self.receive.nxt } else { Seq(0) },
            flags,
            window: self.receive.advertise(config.edge, self.send.mss, true),
            checksum: 0,
            urgent_pointer: 0,
            options,
        };
        if self.board.nxt() == self.iss {
            self.board.on_send(1, now, false);
        } else {
            io.shared.counters.retransmissions += 1;
            let span = Span {
                start: self.iss,
                end: self.iss + 1,
            };
            self.board.on_retransmit(span, now);
        }
        self.send.max = self.send.max.max(self.iss + 1);
        io.shared.counters.segments_sent += 1;
        let options = io.shared.unit_options();
        segment::transmit(&self.pair, &header, Message::new(), options, io.cx);
        self.receive.acknowledged();
        self.arm_retransmit(io);
    }

    /// Sends an acknowledgment by itself.
    fn send_ack(&mut self, why: AckReason, io: &mut Io<'_, '_>) {
        let counters = &mut io.shared.counters;
        match why {
            AckReason::Timer => counters.acks_by_timer += 1,
            AckReason::Data => counters.acks_by_data += 1,
            AckReason::WindowUpdate => counters.window_updates += 1,
            AckReason::OutOfOrder | AckReason::Fin | AckReason::Syn | AckReason::Unacceptable => {
                counters.acks_other += 1;
            }
        }
        let seq = self.board.nxt();
        self.emit(seq, Flags::ACK, Message::new(), io);
        self.note(Event::Acked(why), io.now());
    }

    /// Sends all that may be sent: first what was lost, then new data.
    pub(crate) fn output(&mut self, io: &mut Io<'_, '_>) {
        if !self.state.may_transmit() {
            return;
        }
        self.restart_if_idle(io);
        let held = loop {
            let window = self.congestion.window();
            let half = io.shared.config.half_window;
            let next = self.send.next(&self.board, window, half, false);
            if self.recovery != Recovery::No {
                match self.recover(window, next.is_ok(), io) {
                    Step::Sent => continue,
                    Step::Wait => break next.err().unwrap_or(Held::Congestion),
                    Step::New => {}
                }
            }
            match next {
                Ok(next) => self.send_new(next, io),
                Err(held) => break held,
            }
        };
        self.window_limited = held == Held::Congestion;
        self.watch(held, io);
    }

    /// RFC 5681 section 4.1.
    fn restart_if_idle(&mut self, io: &mut Io<'_, '_>) {
        let now = io.now();
        if io.shared.config.slow_start_after_idle
            && self.board.is_empty()
            && self.send.unsent() > 0
            && now.saturating_since(self.last_sent) > self.rtt.rto()
        {
            self.congestion.on_idle(now);
            self.last_sent = now;
        }
    }

    /// Sends one segment again, if recovery asks for it and the congestion window allows it.
    fn recover(&mut self, window: u64, new: bool, io: &mut Io<'_, '_>) -> Step {
        let room = window.saturating_sub(self.board.pipe().into());
        if !self.forced && room < self.send.mss.into() && self.board.pipe() > 0 {
            return Step::Wait;
        }
        let mss = self.send.mss;
        // Rules 2 to 4 of NextSeg are for fast recovery with SACK (RFC 6675 section 5.1).
        let next = match self.recovery {
            Recovery::Fast(_) if self.sack => self.board.next_seg(mss, new),
            Recovery::Fast(_) | Recovery::Timeout(_) | Recovery::No => {
                self.board.next_lost(mss).map(NextSeg::Again)
            }
        };
        match next {
            Some(NextSeg::Again(span)) => {
                self.forced = false;
                self.send_again(span, io);
                self.board.on_retransmit(span, io.now());
                Step::Sent
            }
            Some(NextSeg::Rescue(span)) => {
                self.send_again(span, io);
                self.board.on_rescue(span, io.now());
                Step::Sent
            }
            Some(NextSeg::New) => Step::New,
            // A FIN by itself is new, but no data.
            None if new => Step::New,
            None => Step::Wait,
        }
    }

    fn send_again(&mut self, span: Span, io: &mut Io<'_, '_>) {
        let text = self.send.again(span);
        let mut flags = Flags::ACK;
        if matches!(self.send.fin, Fin::Sent(at) if at.lt(span.end)) {
            flags |= Flags::FIN;
        }
        if span.end == self.board.nxt() {
            flags |= Flags::PSH;
        }
        io.shared.counters.retransmissions += 1;
        self.emit(span.start, flags, text, io);
        self.last_sent = io.now();
        self.note(Event::SentAgain, io.now());
        if !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(io);
        }
    }

    fn send_new(&mut self, next: Next, io: &mut Io<'_, '_>) {
        let seq = self.board.nxt();
        let (text, read) = self.send.take(seq, next.octets);
        if read > 0 {
            io.cx.charge(kumiki_graph::Work::Sum, read);
        }
        let last = self.send.unsent() == 0;
        let mut flags = Flags::ACK;
        if last && self.send.pushed && next.octets > 0 {
            flags |= Flags::PSH;
        }
        let mut len = next.octets;
        if next.fin {
            flags |= Flags::FIN;
            self.send.fin = Fin::Sent(seq + len);
            len += 1;
        }
        self.board.on_send(len, io.now(), last);
        self.emit(seq, flags, text, io);
        self.last_sent = io.now();
        self.note(Event::Sent, io.now());
        if !self.timers.is_set(Timer::Retransmit) {
            self.arm_retransmit(io);
        }
        self.timers.clear(Timer::SwsOverride);
        self.timers.clear(Timer::Persist);
    }

    /// Sees to it that what is held back is not held back for ever.
    fn watch(&mut self, held: Held, io: &mut Io<'_, '_>) {
        let idle = self.board.is_empty();
        if idle && held == Held::Window {
            if !self.timers.is_set(Timer::Persist) {
                self.arm_persist(io);
            }
            return;
        }
        self.timers.clear(Timer::Persist);
        if idle && held == Held::Silly {
            if !self.timers.is_set(Timer::SwsOverride) {
                let delay = io.shared.config.override_timeout;
                let at = self.slow(delay, io);
                self.timers.set(Timer::SwsOverride, at, io.cx);
            }
        } else {
            self.timers.clear(Timer::SwsOverride);
        }
    }

    // Timers.

    /// When a slow timer of `delay` expires.
    pub(crate) fn slow(&self, delay: Duration, io: &Io<'_, '_>) -> Instant {
        match io.shared.config.slow_beat {
            None => io.now() + delay,
            Some(beat) => beat_after(io.now(), delay, beat, io.shared.slow_phase),
        }
    }

    pub(crate) fn arm_retransmit(&mut self, io: &mut Io<'_, '_>) {
        let at = self.slow(self.rtt.rto(), io);
        self.timers.set(Timer::Retransmit, at, io.cx);
        self.arm_user_timeout(io);
    }

    fn arm_persist(&mut self, io: &mut Io<'_, '_>) {
        let factor = 1u64.checked_shl(self.probes).unwrap_or(u64::MAX);
        let delay = (self.rtt.rto() * factor).min(PROBE_MAX);
        let at = self.slow(delay, io);
        self.timers.set(Timer::Persist, at, io.cx);
        self.arm_user_timeout(io);
    }

    fn arm_user_timeout(&mut self, io: &mut Io<'_, '_>) {
        if let Some(limit) = io.shared.config.user_timeout
            && !self.timers.is_set(Timer::UserTimeout)
        {
            let at = io.now() + limit;
            self.timers.set(Timer::UserTimeout, at, io.cx);
        }
    }

    fn arm_delayed_ack(&mut self, io: &mut Io<'_, '_>) {
        let at = match io.shared.config.ack_timer {
            AckTimer::Timeout(delay) => io.now() + delay,
            AckTimer::Heartbeat(beat) => {
                beat_after(io.now(), beat.period, beat, io.shared.ack_phase)
            }
        };
        self.timers.set(Timer::DelayedAck, at, io.cx);
    }

    /// The wheel says that `timer` expired.
    pub(crate) fn on_timer(&mut self, timer: Timer, io: &mut Io<'_, '_>) {
        if self.ended || !self.timers.expired(timer, io.cx) {
            return;
        }
        match timer {
            Timer::Retransmit => self.on_retransmit_timer(io),
            Timer::DelayedAck => {
                if self.receive.due == Due::Delayed {
                    self.receive.owe_now(AckReason::Timer);
                    self.stirred = true;
                }
            }
            Timer::Persist => self.on_persist_timer(io),
            Timer::SwsOverride => {
                let window = self.congestion.window();
                let half = io.shared.config.half_window;
                if let Ok(next) = self.send.next(&self.board, window, half, true) {
                    io.shared.counters.overrides += 1;
                    self.send_new(next, io);
                }
                self.stirred = true;
            }
            Timer::TimeWait => self.end(None, io),
            Timer::UserTimeout => {
                io.shared.counters.timed_out += 1;
                self.reset(Some(Reason::TimedOut), io);
            }
        }
    }

    fn on_retransmit_timer(&mut self, io: &mut Io<'_, '_>) {
        if self.board.is_empty() {
            return;
        }
        let now = io.now();
        let config = &io.shared.config;
        let most = if self.state.is_before_established() {
            config.syn_retries
        } else {
            config.max_retransmissions
        };
        if self.unanswered >= most {
            io.shared.counters.timed_out += 1;
            self.reset(Some(Reason::TimedOut), io);
            return;
        }
        io.shared.counters.timeouts += 1;
        let again = self.unanswered > 0;
        self.unanswered += 1;
        self.rtt.back_off();
        if self.state.is_before_established() {
            self.send_syn(io);
            return;
        }
        let loss = congestion::Loss {
            now,
            flight: self.board.flight().into(),
        };
        self.congestion.on_timeout(&loss, again);
        if self.board.has_reneged() {
            self.board.forget_sacks();
        }
        self.board.clear_duplicates();
        self.board.mark_all_lost();
        self.duplicates = 0;
        self.recovery = Recovery::Timeout(self.board.nxt());
        self.forced = true;
        self.note(Event::TimedOut, now);
        self.arm_retransmit(io);
        self.output(io);
        self.stirred = true;
    }

    /// Probes a closed window with the first unsent octet (MUST-36), which stays unsent.
    fn on_persist_timer(&mut self, io: &mut Io<'_, '_>) {
        if self.unanswered >= io.shared.config.max_retransmissions {
            io.shared.counters.timed_out += 1;
            self.reset(Some(Reason::TimedOut), io);
            return;
        }
        let probe = self.send.peek();
        if probe.is_empty() || self.send.wnd > 0 {
            self.stirred = true;
            return;
        }
        self.unanswered += 1;
        self.probes += 1;
        io.shared.counters.window_probes += 1;
        let seq = self.board.nxt();
        self.emit(seq, Flags::ACK, probe, io);
        self.note(Event::Probed, io.now());
        self.arm_persist(io);
    }

    /// The batch is over: send, acknowledge, announce room.
    pub(crate) fn settle(&mut self, io: &mut Io<'_, '_>) {
        if self.ended {
            return;
        }
        self.output(io);
        let config = &io.shared.config;
        if self.state.may_receive()
            && self
                .receive
                .wants_update(config.window_update, self.send.mss)
        {
            self.receive.owe_now(AckReason::WindowUpdate);
        }
        match self.receive.due {
            Due::Now(why) if self.state.is_synchronized() => self.send_ack(why, io),
            Due::Delayed if !self.timers.is_set(Timer::DelayedAck) => self.arm_delayed_ack(io),
            Due::Now(_) | Due::Delayed | Due::No => {}
        }
        self.announce(io);
    }
}

/// What recovery did.
enum Step {
    /// It sent something again.
    Sent,
    /// There is no room for anything.
    Wait,
    /// New data may go.
    New,
}

/// The beat at which a timer of `delay` expires that counts beats: at least the next one, and so many as `delay` has
/// periods.
fn beat_after(now: Instant, delay: Duration, beat: Beat, phase: Duration) -> Instant {
    let period = beat.period.as_nanos().max(1);
    let since = now.as_nanos().saturating_sub(phase.as_nanos());
    let next = if now.as_nanos() < phase.as_nanos() {
        phase.as_nanos()
    } else {
        phase.as_nanos() + (since / period + 1) * period
    };
    let beats = delay.as_nanos().div_ceil(period).max(1);
    Instant::from_nanos(next) + Duration::from_nanos(period) * (beats - 1)
}
