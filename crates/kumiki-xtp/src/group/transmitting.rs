//! A transmitter: it keeps the list of its receivers and hears them as one.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P39 (joining), P40 to P43 (the list), P45 (the end) |
//! | Left out | asking some receivers and not others; packets that are sent again to one receiver alone |

use core::net::IpAddr;

use kumiki_graph::{Address, Membership, Notice, Reason};
use kumiki_wire::xtp::{self, Control, Diagnosis, Header, Join, Key, Options, Span, Traffic, code, val};

use crate::config::Recovery;
use crate::context::{Endpoint, Exchange, Io};
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
    pub(crate) fn become_transmitter(&mut self, io: &Io<'_, '_>) {
        self.part = Part::Transmitter(Box::new(Receivers::new(&io.shared.config)));
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
    pub(crate) fn on_receiver_packet(&mut self, packet: Arrived, io: &mut Io<'_, '_>) {
        self.stirred = true;
        let who = packet.source;
        match packet.body {
            Body::Control { control, exchange: Some(exchange), join: Some(address), .. } => {
                self.on_join(who, &packet.header, &control, &exchange, &address, io);
            }
            Body::Control { control, spans, exchange, .. } => {
                let traffic = exchange.map(|it| it.1);
                self.on_report(who, &packet.header, &control, &spans, traffic, io);
            }
            Body::Diag(diagnosis) => self.on_receivers_diagnosis(who, diagnosis, io),
            Body::Data { .. } | Body::First { .. } => {
                io.shared.counters.lies += 1;
                io.cx.drop("data for a transmitter");
            }
        }
    }

    /// A receiver says that something is wrong: that it is over, or that we are (P35).
    fn on_receivers_diagnosis(&mut self, who: Address, diagnosis: Diagnosis, io: &mut Io<'_, '_>) {
        let reason = match diagnosis.code {
            code::ABANDONED | code::INVALID_CONTEXT => Some(Reason::Reset),
            code::PROTOCOL_ERROR | code::PACKET_SIZE => Some(Reason::Protocol),
            _ => None,
        };
        let known = self.receivers().filter(|_| reason.is_some());
        let gone = known.and_then(|it| it.leave(who));
        match (gone, reason) {
            (Some(gone), Some(reason)) => {
                self.has_left(&gone, reason, io);
                self.hear_all(None, io);
            }
            _ => io.cx.drop("DIAG that changes nothing"),
        }
    }

    fn on_report(
        &mut self,
        who: Address,
        header: &Header,
        control: &Control,
        spans: &[Span],
        traffic: Option<Traffic>,
        io: &mut Io<'_, '_>,
    ) {
        let (nxt, now) = (self.send.board.nxt(), io.now());
        let ends = header.options.contains(Options::END);
        if self.receivers().is_none_or(|it| it.one(who).is_none()) {
            self.on_stranger(who, ends, io);
            return;
        }
        let has_all = header.options.contains(Options::RCLOSE);
        let may_have_all =
            self.send.writer == Writer::Closing && self.send.is_all_sent() && self.wclose_told && control.rseq == nxt;
        if self.judge_control(control, spans).is_err() || has_all && !may_have_all {
            self.on_lie(who, io);
            return;
        }
        self.heard(io);
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
            let tolerance = io.shared.config.reordering.into();
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
                self.has_left(&gone, Reason::User, io);
            }
        } else if stuck.is_some_and(|since| now.saturating_since(since) >= most) {
            self.put_out(who, Reason::TimedOut, io);
        }
        self.hear_all(Some(control.echo), io);
    }

    /// Somebody who is not in the list, or no longer: it is told so, unless it goes anyway (P43).
    fn on_stranger(&mut self, who: Address, ends: bool, io: &mut Io<'_, '_>) {
        io.shared.counters.strays += 1;
        io.cx.drop("not in the list of receivers");
        if !ends {
            self.refuse_one(who.ip(), code::ABANDONED, val::UNSPECIFIED, io);
        }
    }

    fn refuse_one(&mut self, to: Option<IpAddr>, code: u32, val: u32, io: &mut Io<'_, '_>) {
        if let Some(to) = to {
            let (path, key) = (self.path_to(to), key_of(self.handle));
            diagnosis::send(&path, key, Diagnosis { code, val }, io);
        }
    }

    /// A receiver says what cannot be true: it is put out, and not the stream (P43).
    fn on_lie(&mut self, who: Address, io: &mut Io<'_, '_>) {
        io.shared.counters.lies += 1;
        io.cx.drop("says what cannot be true");
        self.put_out(who, Reason::Protocol, io);
        self.hear_all(None, io);
    }

    /// A receiver is given up, and told so should it be there.
    fn put_out(&mut self, who: Address, reason: Reason, io: &mut Io<'_, '_>) {
        let Some(gone) = self.receivers().and_then(|it| it.leave(who)) else {
            return;
        };
        io.shared.counters.put_out += 1;
        if reason == Reason::Protocol {
            let val = val::UNSPECIFIED;
            self.refuse_one(Some(gone.to), code::PROTOCOL_ERROR, val, io);
        } else {
            self.send_end_to(self.path_to(gone.to), io);
        }
        self.has_left(&gone, reason, io);
    }

    fn has_left(&mut self, gone: &Receiver, reason: Reason, io: &mut Io<'_, '_>) {
        io.shared.counters.left += 1;
        let left = Membership::Left(gone.to.into(), reason);
        self.notice(Notice::Member(Box::new(left)), io);
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
        io: &mut Io<'_, '_>,
    ) {
        let (group, now) = (self.remote, io.now());
        let (una, nxt) = (self.send.board.una(), self.send.board.nxt());
        let xtp::Address::Ip { destination, source, .. } = address else {
            io.cx.drop("JCNTL without addresses");
            return;
        };
        let to = who.ip().unwrap_or_else(|| source.ip());
        if !may_speak(to) || to.is_ipv4() != group.is_ipv4() || self.receivers().is_none() {
            io.cx.drop("JCNTL of nobody");
            return;
        }
        let closing = self.send.writer != Writer::Open && self.send.is_all_sent();
        let Some(receivers) = self.receivers() else {
            return;
        };
        let known = receivers.one(who).filter(|it| it.key == key.own());
        let known = known.map(|it| (it.rseq, it.alloc));
        let full = receivers.is_full() && receivers.one(who).is_none();
        let late = control.rseq < una;
        let refused = if *destination != group {
            Some(val::NO_LISTENER)
        } else if full {
            Some(val::NO_RESOURCE)
        } else if known.is_none() && late && closing {
            Some(val::IMPROPER_STATE)
        } else {
            None
        };
        if let Some(val) = refused {
            io.shared.counters.refused += 1;
            self.refuse_one(Some(to), code::JOIN_REFUSED, val, io);
            return;
        }
        if self.judge_control(control, &[]).is_err() {
            self.on_lie(who, io);
            return;
        }
        self.heard(io);
        let room = control.alloc.saturating_sub(control.rseq);
        let begin = match known {
            Some((rseq, _)) => rseq.max(control.rseq),
            None if late => nxt,
            None => control.rseq,
        };
        let report = Control { rseq: begin, alloc: begin.saturating_add(room), echo: control.echo };
        let Some(receivers) = self.receivers() else {
            return;
        };
        if known.is_none() {
            let before = receivers.leave(who);
            let receiver = Receiver {
                key: key.own(),
                to,
                rseq: begin,
                alloc: report.alloc,
                echo: report.echo,
                spans: Vec::new(),
                rates: traffic.rates,
                behind: None,
                told: begin,
                lost: 0,
                lately: 0,
                missed: 0,
                done: false,
            };
            receivers.join(who, receiver);
            io.shared.counters.joined += 1;
            io.shared.counters.joined_late += u64::from(late);
            if let Some(before) = before {
                self.has_left(&before, Reason::Reset, io);
            }
            self.notice(Notice::Member(Box::new(Membership::Joined(to.into()))), io);
            self.hear_rates();
        } else {
            receivers.report(who, &report, &[], nxt, now);
        }
        self.answer_join(to, key.returned(), begin, header.sync, io);
        self.hear_all(None, io);
    }

    /// Tells a receiver that it is one, and where it begins.
    fn answer_join(&mut self, to: IpAddr, key: Key, begin: u64, echo: u32, io: &mut Io<'_, '_>) {
        let join = Join {
            control: Control { rseq: begin, alloc: begin, echo },
            xkey: key_of(self.handle),
            address: xtp::Address::Ip { domain: 0, destination: self.remote, source: self.local },
            traffic: self.traffic(io.shared),
        };
        self.transmit_join(&join, Options::NONE, self.path_to(to), key, io);
    }

    /// Something has changed in the list, or a report has come with this echo: what do all say now?
    pub(crate) fn hear_all(&mut self, report: Option<u32>, io: &mut Io<'_, '_>) {
        let (sync, nxt) = (self.asking.sync, self.send.board.nxt());
        let room = io.shared.config.first_alloc.into();
        let Some(receivers) = self.receivers() else {
            return;
        };
        let done = receivers.are_done();
        if !receivers.is_enough() {
            self.call_again(io);
            return;
        }
        if self.exchange == Exchange::Calling {
            self.exchange = Exchange::Done;
            let until = io.now() + io.shared.config.slot;
            if self.receivers().is_some_and(|it| it.gather(until, io.now())) {
                self.timers.set(Timer::Slot, until, io.cx);
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
                self.on_control(&it.control, &it.spans, io);
            } else {
                io.cx.drop("reports that do not fit");
            }
        }
        if done && self.send.writer == Writer::Closing && self.send.is_all_sent() {
            self.send.writer = Writer::Closed;
            self.send.board.finish();
            self.send.release();
        }
        self.stirred = true;
    }

    /// There are too few: FIRST calls others (P42).
    fn call_again(&mut self, io: &mut Io<'_, '_>) {
        if self.exchange != Exchange::Calling {
            self.exchange = Exchange::Calling;
            // Whoever is called now has not been silent yet.
            self.asking.waiting = Some(io.now());
            self.asking.back_off = 0;
            self.timers.clear(Timer::Wait, io.cx);
            self.send_handshake(io);
        }
    }

    /// All who heard the call have had the time to say so.
    pub(crate) fn end_gathering(&mut self) {
        if let Some(receivers) = self.receivers() {
            receivers.end_gathering();
        }
    }

    /// WTIMER: those who have not answered for too often are given up (P43). Whether the others have answered.
    pub(crate) fn give_up_silent(&mut self, io: &mut Io<'_, '_>) -> bool {
        let (syncing, sync) = (self.asking.syncing, self.asking.sync);
        let Some(receivers) = self.receivers() else {
            return false;
        };
        let silent = receivers.expired(syncing, sync);
        let nobody = receivers.len() == 0;
        for who in &silent {
            self.put_out(*who, Reason::TimedOut, io);
        }
        if nobody || !silent.is_empty() {
            self.hear_all(None, io);
        }
        !self.asking.is_open()
    }

    /// Those who have allowed nothing for too long are given up (P43).
    pub(crate) fn give_up_shut(&mut self, io: &mut Io<'_, '_>) {
        let shut = self.receivers().map(|it| it.shut()).unwrap_or_default();
        for who in shut {
            self.put_out(who, Reason::TimedOut, io);
        }
        self.stalled = None;
        self.hear_all(None, io);
    }
}
