//! A transmitter: it keeps the list of its receivers and hears them as one.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P39 (joining), P40 to P43 (the list), P45 (the end) |
//! | Left out | asking some receivers and not others; packets that are retransmitted to one receiver alone |

use core::net::IpAddr;

use kumiki_graph::{Address, Membership, Notice, Reason};
use kumiki_wire::xtp::{self, Control, Diagnosis, Header, Join, Key, Options, Span, Traffic, code, val};

use crate::config::Recovery;
use crate::context::{Ctx, Endpoint, Exchange};
use crate::diagnosis;
use crate::opening::may_speak;
use crate::packet::{Arrived, Body, Path};
use crate::receive::Receive;
use crate::send::Writer;
use crate::table::key_of;
use crate::timers::Timer;

use super::Part;
use super::receivers::{Receiver, Receivers};

impl Endpoint {
    /// The context sends to the group that is its remote end.
    pub(crate) fn become_transmitter(&mut self, ctx: &Ctx<'_, '_>) {
        self.part = Part::Transmitter(Box::new(Receivers::new(&ctx.shared.config)));
        // Nothing comes the other way.
        (self.read_closed, self.released) = (true, true);
        self.receive = Receive::new(0, false);
    }

    fn receivers(&mut self) -> Option<&mut Receivers> {
        match &mut self.part {
            Part::Transmitter(receivers) => Some(receivers),
            Part::Pair | Part::Receiver(_) => None,
        }
    }

    /// The group of a context that has one.
    pub(crate) fn group(&self) -> Option<IpAddr> {
        match &self.part {
            Part::Pair => None,
            Part::Transmitter(_) => Some(self.remote.ip()),
            Part::Receiver(member) => Some(member.group.ip()),
        }
    }

    /// How packets for one receiver travel.
    const fn path_to(&self, remote: IpAddr) -> Path {
        Path { remote, bypass: None, ..self.path }
    }

    /// A packet of a receiver's, or of somebody who would be one.
    pub(crate) fn on_receiver_packet(&mut self, packet: Arrived, ctx: &mut Ctx<'_, '_>) {
        self.dirty = true;
        let who = packet.source;
        match packet.body {
            Body::Control { control, exchange: Some(exchange), join: Some(address), .. } => {
                self.on_join(who, &packet.header, &control, &exchange, &address, ctx);
            }
            Body::Control { control, spans, exchange, .. } => {
                let traffic = exchange.map(|it| it.1);
                self.on_report(who, &packet.header, &control, &spans, traffic, ctx);
            }
            Body::Diag(diagnosis) => self.on_receivers_diagnosis(who, diagnosis, ctx),
            Body::Data { .. } | Body::First { .. } => {
                ctx.shared.counters.lies += 1;
                ctx.cx.drop("data for a transmitter");
            }
        }
    }

    /// A receiver says that something is wrong: that it is over, or that we are (P35).
    fn on_receivers_diagnosis(&mut self, who: Address, diagnosis: Diagnosis, ctx: &mut Ctx<'_, '_>) {
        let reason = match diagnosis.code {
            code::ABANDONED | code::INVALID_CONTEXT => Some(Reason::Reset),
            code::PROTOCOL_ERROR | code::PACKET_SIZE => Some(Reason::Protocol),
            _ => None,
        };
        let known = self.receivers().filter(|_| reason.is_some());
        let gone = known.and_then(|it| it.leave(who));
        match (gone, reason) {
            (Some(gone), Some(reason)) => {
                self.has_left(&gone, reason, ctx);
                self.hear_all(None, ctx);
            }
            _ => ctx.cx.drop("DIAG that changes nothing"),
        }
    }

    fn on_report(
        &mut self,
        who: Address,
        header: &Header,
        control: &Control,
        spans: &[Span],
        traffic: Option<Traffic>,
        ctx: &mut Ctx<'_, '_>,
    ) {
        let (nxt, now) = (self.send.board.nxt(), ctx.now());
        let ends = header.options.contains(Options::END);
        if self.receivers().is_none_or(|it| it.one(who).is_none()) {
            self.on_stranger(who, ends, ctx);
            return;
        }
        let has_all = header.options.contains(Options::RCLOSE);
        let may_have_all =
            self.send.writer == Writer::Closing && self.send.is_all_sent() && self.wclose_told && control.rseq == nxt;
        if self.judge_control(control, spans).is_err() || has_all && !may_have_all {
            self.on_lie(who, ctx);
            return;
        }
        self.heard(ctx);
        let most = self.modes.ctimeout;
        // Nothing is mended while a handshake holds all up.
        let holds = self.asking.syncing.is_some();
        let Some(receivers) = self.receivers() else {
            return;
        };
        let news = receivers.report(who, control, spans, nxt, now);
        if holds && let Some(it) = receivers.one(who) {
            it.behind = None;
        }
        if news && self.recovery == Recovery::Selective {
            // Nobody else need miss it too.
            let tolerance = ctx.shared.config.reordering.into();
            let board = &mut self.send.board;
            self.news.1 += board.judge_one(control.rseq, spans, tolerance);
        }
        let Some(it) = self.receivers().and_then(|it| it.one(who)) else {
            return;
        };
        it.done |= has_all;
        let stuck = it.behind.filter(|_| !it.done && !most.is_zero());
        if let Some(rates) = traffic.and_then(|it| it.rates) {
            it.rates = Some(rates);
            self.hear_rates();
        }
        if ends && !has_all {
            if let Some(gone) = self.receivers().and_then(|it| it.leave(who)) {
                self.has_left(&gone, Reason::User, ctx);
            }
        } else if stuck.is_some_and(|since| now.saturating_since(since) >= most) {
            self.put_out(who, Reason::TimedOut, ctx);
        }
        self.hear_all(Some(control.echo), ctx);
    }

    /// Somebody who is not in the list, or no longer: it is told so, unless it goes anyway (P43).
    fn on_stranger(&mut self, who: Address, ends: bool, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.strays += 1;
        ctx.cx.drop("not in the list of receivers");
        if !ends {
            self.refuse_one(who.ip(), code::ABANDONED, val::UNSPECIFIED, ctx);
        }
    }

    fn refuse_one(&mut self, to: Option<IpAddr>, code: u32, val: u32, ctx: &mut Ctx<'_, '_>) {
        if let Some(to) = to {
            let (path, key) = (self.path_to(to), key_of(self.handle));
            diagnosis::send(&path, key, Diagnosis { code, val }, ctx);
        }
    }

    /// A receiver says what cannot be true: it is put out, and not the stream (P43).
    fn on_lie(&mut self, who: Address, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.lies += 1;
        ctx.cx.drop("says what cannot be true");
        self.put_out(who, Reason::Protocol, ctx);
        self.hear_all(None, ctx);
    }

    /// A receiver is given up, and told so should it be there.
    fn put_out(&mut self, who: Address, reason: Reason, ctx: &mut Ctx<'_, '_>) {
        let Some(gone) = self.receivers().and_then(|it| it.leave(who)) else {
            return;
        };
        ctx.shared.counters.put_out += 1;
        if reason == Reason::Protocol {
            let val = val::UNSPECIFIED;
            self.refuse_one(Some(gone.to), code::PROTOCOL_ERROR, val, ctx);
        } else {
            self.send_end_to(self.path_to(gone.to), ctx);
        }
        self.has_left(&gone, reason, ctx);
    }

    fn has_left(&mut self, gone: &Receiver, reason: Reason, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.left += 1;
        let left = Membership::Left(gone.to.into(), reason);
        self.notice(Notice::Member(Box::new(left)), ctx);
        self.hear_rates();
    }

    /// The least of what all can take.
    fn hear_rates(&mut self) {
        // Of who has left nothing stays.
        self.peer_maxdata = u32::MAX;
        self.peer_limit = None;
        self.limit();
        if let Some(rates) = self.receivers().and_then(|it| it.rates()) {
            self.hear_traffic(&Traffic { service: xtp::service::UNSPECIFIED, rates: Some(rates) });
        }
    }

    /// JCNTL: somebody would receive (P39).
    fn on_join(
        &mut self,
        who: Address,
        header: &Header,
        control: &Control,
        (key, traffic): &(Key, Traffic),
        address: &xtp::Address,
        ctx: &mut Ctx<'_, '_>,
    ) {
        let (group, now) = (self.remote, ctx.now());
        let (una, nxt) = (self.send.board.una(), self.send.board.nxt());
        let xtp::Address::Ip { destination, source, .. } = address else {
            ctx.cx.drop("JCNTL without addresses");
            return;
        };
        let to = who.ip().unwrap_or_else(|| source.ip());
        let is_somebody = may_speak(to) && to.is_ipv4() == group.is_ipv4();
        let closing = self.send.writer != Writer::Open && self.send.is_all_sent();
        let Some(receivers) = self.receivers().filter(|_| is_somebody) else {
            ctx.cx.drop("JCNTL of no known receiver");
            return;
        };
        let known = receivers.one(who).filter(|it| it.key == key.own()).map(|it| it.rseq);
        let late = control.rseq < una;
        let over = known.is_none() && late && closing;
        let reasons = [
            (*destination != group, val::NO_LISTENER),
            (receivers.is_full_for(who), val::NO_RESOURCE),
            (over, val::IMPROPER_STATE),
        ];
        if let Some((_, val)) = reasons.into_iter().find(|(holds, _)| *holds) {
            ctx.shared.counters.refused += 1;
            self.refuse_one(Some(to), code::JOIN_REFUSED, val, ctx);
            return;
        }
        if self.judge_control(control, &[]).is_err() {
            self.on_lie(who, ctx);
            return;
        }
        self.heard(ctx);
        let room = control.alloc.saturating_sub(control.rseq);
        let begin = match known {
            Some(rseq) => rseq.max(control.rseq),
            None if late => nxt,
            None => control.rseq,
        };
        let report = Control { rseq: begin, alloc: begin.saturating_add(room), echo: control.echo };
        let Some(receivers) = self.receivers() else {
            return;
        };
        if known.is_none() {
            let before = receivers.leave(who);
            receivers.join(who, Receiver::new(key.own(), to, &report, traffic.rates));
            ctx.shared.counters.joined_late += u64::from(late);
            self.has_joined(to, before.as_ref(), ctx);
        } else {
            receivers.report(who, &report, &[], nxt, now);
        }
        self.answer_join(to, key.returned(), begin, header.sync, ctx);
        self.hear_all(None, ctx);
    }

    /// Somebody receives from now on, in the place of who was there `before`.
    fn has_joined(&mut self, to: IpAddr, before: Option<&Receiver>, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.joined += 1;
        if let Some(before) = before {
            self.has_left(before, Reason::Reset, ctx);
        }
        self.notice(Notice::Member(Box::new(Membership::Joined(to.into()))), ctx);
        self.hear_rates();
    }

    /// Tells a receiver that it is one, and where it begins.
    fn answer_join(&mut self, to: IpAddr, key: Key, begin: u64, echo: u32, ctx: &mut Ctx<'_, '_>) {
        let join = Join {
            control: Control { rseq: begin, alloc: begin, echo },
            xkey: key_of(self.handle),
            address: xtp::Address::Ip { domain: 0, destination: self.remote, source: self.local },
            traffic: self.traffic(ctx.shared),
        };
        self.transmit_join(&join, Options::NONE, self.path_to(to), key, ctx);
    }

    /// Something has changed in the list, or a report has come with this echo: what do all say now?
    pub(crate) fn hear_all(&mut self, report: Option<u32>, ctx: &mut Ctx<'_, '_>) {
        let (sync, nxt) = (self.asking.sync, self.send.board.nxt());
        let room = ctx.shared.config.first_alloc.into();
        let Some(receivers) = self.receivers() else {
            return;
        };
        let done = receivers.are_done();
        if !receivers.is_enough() {
            self.call_again(ctx);
            return;
        }
        if self.exchange == Exchange::Calling {
            self.exchange = Exchange::Done;
            let until = ctx.now() + ctx.shared.config.slot;
            if self.receivers().is_some_and(|it| it.gather(until, ctx.now())) {
                self.timers.set(Timer::Slot, until, ctx.cx);
            }
        }
        let together = self.receivers().and_then(|receivers| {
            let together = receivers.together(sync, nxt, room)?;
            receivers.is_sample = report == Some(together.control.echo);
            Some(together)
        });
        // Each report was looked at when it came.
        if let Some(it) = together {
            if self.judge_control(&it.control, &it.spans).is_ok() {
                self.on_control(&it.control, &it.spans, ctx);
            } else {
                ctx.cx.drop("reports that do not fit");
            }
        }
        if done && self.send.writer == Writer::Closing && self.send.is_all_sent() {
            self.send.writer = Writer::Closed;
            self.send.board.finish();
            self.send.release();
        }
        self.dirty = true;
    }

    /// There are too few: FIRST calls others (P42).
    fn call_again(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.exchange != Exchange::Calling {
            self.exchange = Exchange::Calling;
            // Whoever is called now has not been silent yet.
            self.asking.waiting = Some(ctx.now());
            self.asking.back_off = 0;
            self.timers.clear(Timer::Wait, ctx.cx);
            self.send_handshake(ctx);
        }
    }

    /// All who heard the call have had the time to say so.
    pub(crate) fn end_gathering(&mut self) {
        if let Some(receivers) = self.receivers() {
            receivers.end_gathering();
        }
    }

    /// WTIMER: those who have not answered for too often are given up (P43). Whether the others have answered.
    pub(crate) fn give_up_silent(&mut self, ctx: &mut Ctx<'_, '_>) -> bool {
        let (syncing, sync) = (self.asking.syncing, self.asking.sync);
        let Some(receivers) = self.receivers() else {
            return false;
        };
        let silent = receivers.expired(syncing, sync);
        let nobody = receivers.len() == 0;
        for who in &silent {
            self.put_out(*who, Reason::TimedOut, ctx);
        }
        if nobody || !silent.is_empty() {
            self.hear_all(None, ctx);
        }
        !self.asking.is_open()
    }

    /// Those who have allowed nothing for too long are given up (P43).
    pub(crate) fn give_up_shut(&mut self, ctx: &mut Ctx<'_, '_>) {
        let shut = self.receivers().map(|it| it.shut()).unwrap_or_default();
        for who in shut {
            self.put_out(who, Reason::TimedOut, ctx);
        }
        self.stalled = None;
        self.hear_all(None, ctx);
    }
}
