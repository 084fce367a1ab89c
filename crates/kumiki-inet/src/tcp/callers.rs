//! Calls: from a SYN that finds a passive open to the acknowledgment that makes a session of it.

use core::net::IpAddr;
use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::IpQuality;

use kumiki_graph::{Context, Instant, Quality};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};

use super::config::SynCookies;
use super::deadlines::slow_deadline;
use super::demux::Pair;
use super::ecn::handshake::{self, Answering, Feedback};
use super::ecn::receiver;
use super::half_open::{Caller, Offer};
use super::receive::Receive;
use super::route::option_octets;
use super::rtt::Rtt;
use super::segment::{self, Segment};
use super::session::DSCP;
use super::{Tcp, cookies, isn, timeouts};

/// SYN,ACKs that are retransmitted by the timer where more than half of the room for callers is used, so that it comes
/// free sooner (RFC 4987 section 3.4); assumed.
const RETRIES_IN_NEED: u32 = 2;

/// How far after the last sequence number of an old connection a new one begins where the clock has not got so far;
/// beyond any window without scaling, as in Linux.
const BEYOND: u32 = 65_537;

/// The ISS of a connection whose pair had one that got to `least`.
pub(super) fn beyond(iss: Seq, least: Option<Seq>) -> Seq {
    match least {
        Some(least) if iss.leq(least) => least + BEYOND,
        _ => iss,
    }
}

impl Tcp {
    /// A SYN for the passive open `at` (RFC 9293 section 3.10.7.2); `least` is what the ISS must be beyond, after a
    /// connection of the same pair.
    pub(super) fn called(
        &mut self,
        at: kumiki_graph::Handle,
        pair: Pair,
        segment: Segment,
        least: Option<Seq>,
        cx: &mut Context<'_>,
    ) {
        let Some(quality) = self.table.listener(at).map(|listener| listener.quality) else {
            return;
        };
        let now = cx.now();
        let cookie = match self.shared.config.syn_cookies {
            SynCookies::Never => false,
            SynCookies::WhenFull => self.is_full_of_callers(),
            SynCookies::Always => true,
        };
        if self.is_called_in_vain(&pair, &segment, cookie, cx) {
            return;
        }
        let config = &self.shared.config;
        let secret = self.shared.secret;
        let offer = Offer::of(&segment.options);
        let iss = if cookie {
            self.cookie_for(&pair, segment.seq, &offer, now)
        } else {
            beyond(isn::initial(secret, &pair, now), least)
        };
        let wish = IpQuality::from(quality.special).ecn.unwrap_or(config.ecn);
        let fin = segment.has(Flags::FIN);
        let keep = (!segment.text.is_empty() || fin) && !cookie && self.half_open.has_room_for(segment.text.len());
        let mut caller = Caller {
            pair,
            listener: at,
            irs: segment.seq,
            iss,
            offer,
            ecn: Answering::new(wish, segment.flags, segment.ecn),
            window: segment.window,
            offered: 0,
            answers: 0,
            retries: 0,
            at: Some(now),
            answered: now,
            due: now,
            challenged: None,
            route: segment.route.filter(|_| config.return_routes),
            text: keep.then(|| Box::new((segment.text, fin))),
        };
        self.answer_call(&mut caller, &quality, cookie, cx);
        if cookie {
            self.shared.counters.cookies_sent += 1;
            self.cookies_until = now + cookies::LIFE;
            return;
        }
        caller.due = self.syn_due(0, now);
        self.half_open.insert(secret, caller, cx);
    }

    /// The ISS that says what is to be remembered of a SYN.
    fn cookie_for(&self, pair: &Pair, irs: Seq, offer: &Offer, now: Instant) -> Seq {
        let mss = offer.mss.unwrap_or_else(|| self.shared.config.default_mss(pair.remote.ip()));
        cookies::make(self.shared.secret, pair, irs, mss, now)
    }

    /// Whether a SYN is turned away: for want of memory, or of room for callers where no `cookie` spares it.
    fn is_called_in_vain(&mut self, pair: &Pair, segment: &Segment, cookie: bool, cx: &mut Context<'_>) -> bool {
        if self.shared.memory.is_spent(self.shared.config.memory) {
            self.refuse_for_memory(pair, segment, cx);
            return true;
        }
        let is_full = self.is_full_of_callers() && !cookie;
        if is_full {
            self.shared.counters.backlog_full += 1;
            cx.drop("no room for callers");
        }
        is_full
    }

    fn is_full_of_callers(&self) -> bool {
        let most = usize::try_from(self.shared.config.half_open).unwrap_or(usize::MAX);
        self.half_open.len() >= most
    }

    /// Whether one more SYN can be answered.
    pub(super) fn has_room_for_callers(&self) -> bool {
        let config = &self.shared.config;
        !self.shared.memory.is_spent(config.memory)
            && (config.syn_cookies != SynCookies::Never || !self.is_full_of_callers())
    }

    /// When a SYN,ACK that was sent `retries` times again is sent once more.
    fn syn_due(&self, retries: u32, now: Instant) -> Instant {
        let config = &self.shared.config;
        let mut rtt = Rtt::new(&config.rto);
        for _ in 0..retries {
            rtt.back_off();
        }
        slow_deadline(config, self.shared.slow_phase, now, rtt.rto(&config.rto))
    }

    /// How segments of a caller travel: as who listens has it (MUST-48, MUST-49).
    fn call_options(&self, quality: &Quality) -> IpParameters {
        let options = self.shared.unit_options();
        let asked = IpQuality::from(quality.special);
        IpParameters {
            ttl: asked.ttl.unwrap_or(options.ttl),
            tos: asked.tos.map_or(options.tos, |tos| tos & DSCP),
            ..options
        }
    }

    /// The receive side that a session with a caller at `remote` would begin with, and our MSS toward it.
    fn receive_of(&self, remote: IpAddr, quality: &Quality) -> (Receive, u32) {
        let own_mss = self.shared.own_mss(self.shared.unit, remote);
        (Receive::of(&self.shared, quality, own_mss), own_mss)
    }

    /// Sends the SYN,ACK, which offers only what the SYN did.
    fn answer_call(&mut self, caller: &mut Caller, quality: &Quality, cookie: bool, cx: &mut Context<'_>) {
        let (mut receive, own_mss) = self.receive_of(caller.pair.remote.ip(), quality);
        receive.start(caller.irs);
        let config = &self.shared.config;
        let Offer { window_scale, sack, timestamp, .. } = caller.offer;
        let clock = isn::timestamp(self.shared.secret, &caller.pair, cx.now());
        let classic = caller.ecn.feedback == Feedback::Classic;
        let timestamps = timestamp.filter(|_| config.timestamps).map(|value| {
            let clock = if cookie { cookies::stamp(clock, window_scale, sack, classic) } else { clock };
            (clock, value)
        });
        // A cookie remembers these only by timestamps.
        let remembers = !cookie || timestamps.is_some();
        let options = Options {
            // MUST-14, SHLD-5, MAY-3.
            mss: Some(u16::try_from(own_mss).unwrap_or(u16::MAX)),
            window_scale: Receive::shift_for(config, receive.most).filter(|_| window_scale.is_some() && remembers),
            sack_permitted: config.sack && sack && remembers,
            timestamps,
            user_timeout: timeouts::configured_option(config),
            accecn: caller.ecn.has_option().then(receiver::first_option),
            ..Options::NONE
        };
        let room = own_mss.saturating_sub(option_octets(caller.route.as_deref()));
        let options = segment::fitted(options, room);
        let ecn = if classic && !remembers { Flags::NONE } else { caller.ecn.flags() };
        caller.offered = receive.advertise(config.edge, own_mss, true);
        let header = Header {
            source_port: caller.pair.local.port(),
            destination_port: caller.pair.remote.port(),
            seq: caller.iss,
            ack: caller.irs + 1,
            flags: Flags::SYN | Flags::ACK | ecn,
            window: caller.offered,
            options,
            ..Header::default()
        };
        caller.answered = cx.now();
        caller.answers += 1;
        self.shared.counters.segments_sent += 1;
        let how = self.call_options(quality);
        segment::transmit_by(caller.route.as_deref(), &caller.pair, &header, Message::new(), how, cx);
    }

    fn answer_again(&mut self, index: u32, cx: &mut Context<'_>) {
        let secret = self.shared.secret;
        let Some(mut caller) = self.half_open.remove(secret, index) else {
            return;
        };
        let quality = self.table.listener(caller.listener).map(|it| it.quality);
        self.shared.counters.retransmissions += 1;
        self.answer_call(&mut caller, &quality.unwrap_or_default(), false, cx);
        self.half_open.insert(secret, caller, cx);
    }

    /// The timer of those who have not answered.
    pub(super) fn callers_due(&mut self, cx: &mut Context<'_>) {
        self.half_open.expired();
        let now = cx.now();
        while let Some(index) = self.half_open.next_due(now) {
            let config = &self.shared.config;
            let in_need = self.half_open.len() * 2 > config.half_open as usize;
            let most = if in_need { config.syn_retries.min(RETRIES_IN_NEED) } else { config.syn_retries };
            let Some(caller) = self.half_open.get(index) else {
                break;
            };
            if caller.retries >= most {
                self.shared.counters.timed_out += 1;
                self.half_open.remove(self.shared.secret, index);
                continue;
            }
            caller.retries += 1;
            caller.ecn.on_timeout();
            let retries = caller.retries;
            self.shared.counters.timeouts += 1;
            let due = self.syn_due(retries, now);
            self.half_open.set_due(index, due, cx);
            self.answer_again(index, cx);
        }
        self.half_open.arm(cx);
    }

    /// A segment of a caller: SYN-RECEIVED of RFC 9293 section 3.10.7.4, for passive opens (MUST-11).
    pub(super) fn caller_says(&mut self, index: u32, segment: Segment, cx: &mut Context<'_>) {
        let secret = self.shared.secret;
        let Some(caller) = self.half_open.get(index) else {
            return;
        };
        let nxt = caller.irs + 1;
        let window = u32::from(caller.offered);
        let is_syn_again = segment.has(Flags::SYN) && !segment.has(Flags::ACK) && segment.seq == caller.irs;
        if is_syn_again && !segment.has(Flags::RST) {
            self.caller_calls_again(index, &segment, cx);
            return;
        }
        let within = |seq: Seq| seq == nxt || seq.is_within(nxt, window);
        let last = segment.seq + segment.len().saturating_sub(1);
        if !within(segment.seq) && !within(last) {
            if !segment.has(Flags::RST) {
                self.challenge_caller(index, cx);
            }
            return;
        }
        if segment.has(Flags::RST) {
            self.caller_resets(index, segment.seq == nxt, cx);
            return;
        }
        if segment.has(Flags::SYN) {
            // Back to LISTEN.
            self.half_open.remove(secret, index);
            return;
        }
        if !segment.has(Flags::ACK) {
            return;
        }
        if let (Some(recent), true) = (caller.offer.timestamp, self.shared.config.timestamps) {
            // RFC 7323 section 3.2.
            let Some((value, _)) = segment.options.timestamps else {
                return;
            };
            if Seq(value).lt(Seq(recent)) {
                self.shared.counters.paws_rejected += 1;
                self.challenge_caller(index, cx);
                return;
            }
        }
        if segment.ack != caller.iss + 1 {
            let (pair, options) = (caller.pair, self.shared.unit_options());
            if segment::reset(&pair, &segment, options, cx) {
                self.shared.counters.resets_sent += 1;
            }
            return;
        }
        let listener = caller.listener;
        // Where there is no place it will hear our SYN,ACK again, and answer again.
        if self.finds_place(listener, cx)
            && let Some(caller) = self.half_open.remove(secret, index)
        {
            self.promote(caller, segment, cx);
        }
    }

    /// RFC 5961 section 3.2; the user need not be told.
    fn caller_resets(&mut self, index: u32, is_exact: bool, cx: &mut Context<'_>) {
        if is_exact {
            self.shared.counters.resets_received += 1;
            self.half_open.remove(self.shared.secret, index);
        } else {
            self.challenge_caller(index, cx);
        }
    }

    /// A caller sends its SYN again: it has not seen our SYN,ACK, or the last one is still on its way.
    fn caller_calls_again(&mut self, index: u32, segment: &Segment, cx: &mut Context<'_>) {
        let wish = self.wish_of_caller(index);
        let Some(caller) = self.half_open.get(index) else {
            return;
        };
        if !caller.ecn.on_syn_again(segment.flags, segment.ecn, wish) {
            self.refuse_caller(index, cx);
            return;
        }
        // Who sends SYN upon SYN, or forges them, has no answer to each.
        let interval = self.shared.config.challenge_interval;
        if cx.now().saturating_since(caller.answered) < interval {
            self.shared.counters.challenges_spared += 1;
            return;
        }
        // Nobody will know which one it answers (MUST-18).
        caller.at = None;
        self.answer_again(index, cx);
    }

    /// What is to be done about congestion marks in the connection with a caller.
    fn wish_of_caller(&mut self, index: u32) -> EcnUse {
        let config = self.shared.config.ecn;
        let listener = self.half_open.get(index).map(|caller| caller.listener);
        let listener = listener.and_then(|listener| self.table.listener(listener));
        listener.map_or(config, |listener| IpQuality::from(listener.quality.special).ecn.unwrap_or(config))
    }

    /// Whether there is room for one more session of this listener.
    fn finds_place(&mut self, listener: kumiki_graph::Handle, cx: &mut Context<'_>) -> bool {
        let has_place = self.table.listener(listener).is_some_and(|listener| !listener.is_full());
        if !has_place {
            self.shared.counters.backlog_full += 1;
            cx.drop("backlog full");
        }
        has_place
    }

    /// Says where we stand, as [`super::session::Session`] would.
    fn challenge_caller(&mut self, index: u32, cx: &mut Context<'_>) {
        let listener = self.half_open.get(index).map(|caller| caller.listener);
        let listener = listener.and_then(|listener| self.table.listener(listener));
        let quality = listener.map_or_else(Quality::default, |listener| listener.quality);
        let options = self.call_options(&quality);
        self.shared.counters.unacceptable += 1;
        let window = self.window_told(index);
        let shared = &mut self.shared;
        let Some(caller) = self.half_open.get(index) else {
            return;
        };
        let (now, interval) = (cx.now(), shared.config.challenge_interval);
        let soon = |last| now.saturating_since(last) < interval;
        if caller.challenged.is_some_and(soon) || !shared.budget.take(shared.config.challenge_limit, now, cx.rng()) {
            shared.counters.challenges_spared += 1;
            return;
        }
        caller.challenged = Some(now);
        let recent = caller.offer.timestamp.filter(|_| shared.config.timestamps);
        let clock = isn::timestamp(shared.secret, &caller.pair, now);
        let header = Header {
            source_port: caller.pair.local.port(),
            destination_port: caller.pair.remote.port(),
            seq: caller.iss + 1,
            ack: caller.irs + 1,
            flags: Flags::ACK | caller.ecn.acknowledgment(),
            window,
            options: Options { timestamps: recent.map(|recent| (clock, recent)), ..Options::NONE },
            ..Header::default()
        };
        shared.counters.segments_sent += 1;
        shared.counters.acks_other += 1;
        segment::transmit_by(caller.route.as_deref(), &caller.pair, &header, Message::new(), options, cx);
    }

    /// The window that was offered to a caller, by the scale that holds outside of SYNs (RFC 7323 section 2.2).
    fn window_told(&mut self, index: u32) -> u16 {
        let Some(caller) = self.half_open.get(index) else {
            return 0;
        };
        let (listener, offered) = (caller.listener, caller.offered);
        let (remote, scaled) = (caller.pair.remote.ip(), caller.offer.window_scale.is_some());
        let quality = self.table.listener(listener).map(|it| it.quality);
        let (receive, _) = self.receive_of(remote, &quality.unwrap_or_default());
        let shift = Receive::shift_for(&self.shared.config, receive.most).filter(|_| scaled);
        offered >> shift.unwrap_or(0)
    }

    /// An acknowledgment without a connection may bring a cookie back; the segment is given back where it does not.
    pub(super) fn cookie_returned(
        &mut self,
        listener: Option<kumiki_graph::Handle>,
        pair: &Pair,
        mut segment: Segment,
        cx: &mut Context<'_>,
    ) -> Result<(), Segment> {
        let now = cx.now();
        let is_ack = segment.has(Flags::ACK)
            && !segment.flags.intersects(Flags::SYN.with(Flags::RST))
            && now < self.cookies_until;
        let (Some(listener), true) = (listener, is_ack) else {
            return Err(segment);
        };
        let (irs, iss) = (segment.seq - 1, segment.ack - 1);
        let Some(found) = cookies::check(self.shared.secret, pair, irs, iss, now) else {
            if cookies::may_be(self.shared.secret, pair, iss, now) {
                // The acknowledgment and the first text are lost or late: a reset would end a connection that can still
                // begin.
                cx.drop("a cookie may come back with an earlier segment");
                return Ok(());
            }
            return Err(segment);
        };
        if !self.finds_place(listener, cx) {
            return Ok(());
        }
        // It comes again: memory may have been spent since the SYN was answered.
        if self.shared.memory.is_spent(self.shared.config.memory) {
            self.lacks_memory(cx);
            return Ok(());
        }
        let most = usize::try_from(self.shared.config.time_waits).unwrap_or(usize::MAX);
        let used = &mut self.cookies_used;
        if !used.take(self.shared.secret, pair, (irs, iss), now, most) {
            // A late copy: that connection is over.
            return Err(segment);
        }
        self.shared.counters.cookies_returned += 1;
        let (offer, ecn) = self.recall(listener, found.mss, &mut segment);
        let caller = Caller {
            pair: *pair,
            listener,
            irs,
            iss,
            offer,
            ecn,
            // Its SYN's is forgotten, and this segment's is used at once.
            window: segment.window,
            offered: 0,
            // One at least: how often it was sent was forgotten with all else.
            answers: 1,
            retries: 0,
            at: None,
            answered: now,
            due: now,
            challenged: None,
            route: segment.route.clone().filter(|_| self.shared.config.return_routes),
            text: None,
        };
        self.promote(caller, segment, cx);
        Ok(())
    }

    /// What a caller has offered as its cookie and time stamps say it, and how its congestion marks are answered.
    fn recall(&mut self, listener: kumiki_graph::Handle, mss: u16, segment: &mut Segment) -> (Offer, Answering) {
        let mut offer = Offer { mss: Some(mss), ..Offer::default() };
        let mut classic = false;
        if let (Some((value, echo)), true) = (segment.options.timestamps, self.shared.config.timestamps) {
            offer.timestamp = Some(value);
            (offer.window_scale, offer.sack, classic) = cookies::unstamp(echo);
            // What is echoed says that and is no time: no round trip is measured by it.
            segment.options.timestamps = Some((value, 0));
        }
        let wish = self.table.listener(listener).and_then(|it| IpQuality::from(it.quality.special).ecn);
        (offer, recalled(wish.unwrap_or(self.shared.config.ecn), classic, segment))
    }

    /// The handshake is done: `segment` is the first of a session.
    fn promote(&mut self, caller: Caller, segment: Segment, cx: &mut Context<'_>) {
        let Some(listener) = self.table.listener(caller.listener) else {
            return;
        };
        listener.waiting += 1;
        let (above, user, quality) = (listener.above, listener.user, listener.quality);
        let (unit, iss) = (self.shared.unit, Some(caller.iss));
        let handle = self.begin(above, user, caller.pair, &quality, (unit, iss), cx);
        self.with(handle, cx, |session, ctx| {
            session.call_answered(caller, segment, ctx);
        });
    }

    /// A passive open ends: its callers are refused.
    pub(super) fn refuse_callers(&mut self, listener: kumiki_graph::Handle, cx: &mut Context<'_>) {
        for index in self.half_open.of(listener) {
            self.refuse_caller(index, cx);
        }
    }

    /// One caller is refused.
    fn refuse_caller(&mut self, index: u32, cx: &mut Context<'_>) {
        let Some(caller) = self.half_open.remove(self.shared.secret, index) else {
            return;
        };
        let header = Header {
            source_port: caller.pair.local.port(),
            destination_port: caller.pair.remote.port(),
            seq: caller.iss + 1,
            ack: caller.irs + 1,
            flags: Flags::RST | Flags::ACK,
            ..Header::default()
        };
        self.shared.counters.resets_sent += 1;
        self.shared.counters.segments_sent += 1;
        let options = self.shared.unit_options();
        segment::transmit_by(caller.route.as_deref(), &caller.pair, &header, Message::new(), options, cx);
    }
}

/// What a handshake of which nothing was kept agreed on (RFC 9768 section 5.1): classic feedback is remembered by a
/// timestamp, accurate feedback by the caller.
fn recalled(wish: EcnUse, classic: bool, segment: &Segment) -> Answering {
    let pure = segment.text.is_empty() && !segment.has(Flags::FIN);
    Answering::recalled(match wish {
        EcnUse::Off => Feedback::None,
        _ if classic => Feedback::Classic,
        EcnUse::Passive | EcnUse::Accurate if pure && handshake::ace(segment.flags) > 1 => Feedback::Accurate,
        EcnUse::Passive | EcnUse::Accurate | EcnUse::Classic => Feedback::None,
    })
}
