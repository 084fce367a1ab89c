//! What a context sends: FIRST, new data, lost data, status, questions.

use kumiki_graph::{FlowControl, Instant};
use kumiki_octets::Message;
use kumiki_wire::xtp::{self, Control, Errors, First, Format, Header, Options, TrafficControl};

use super::context::{Ctx, Endpoint, Exchange, HEADER, Shared};
use super::packet::{DataPrefix, transmit};
use super::send::{DataPacket, Send, Writer};
use super::table::key_of;
use super::timers::Timer;

/// Octets of an ECNTL packet before its spans, and of each span.
const ECNTL: u32 = HEADER + 24;
const SPAN: u32 = 16;
/// Octets of a TCNTL packet: who may be another than it says is told nothing else (P13).
const TCNTL: u64 = 88;
/// What leaves first asks, each packet of it: two have data in any case. How far apart the answers are says how fast
/// the path is (P19).
const PAIR: u64 = 3;
/// The most spans that are told: what has to be looked through for a report grows with them.
const MOST_SPANS: u32 = 512;

/// So many spans are told in a packet with `room` octets behind its header.
fn spans_in(room: u32) -> usize {
    let spans = room.saturating_sub(ECNTL - HEADER) / SPAN;
    usize::try_from(spans.clamp(1, MOST_SPANS)).unwrap_or(1)
}

/// Why nothing leaves, or that something has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emission {
    /// A packet has left.
    Sent,
    /// There is nothing, or nothing may leave before an answer has come.
    Nothing,
    /// The peer allows no more.
    Alloc,
    /// The congestion window is full.
    Window,
    /// More may leave then.
    Rate(Instant),
    /// The caller may be another than it says (P49).
    Stranger,
}

impl Endpoint {
    pub(crate) fn header(&self, format: Format, options: Options, seq: u64) -> Header {
        // What is told of keys, addresses and numbers is always summed (P30).
        let base =
            if format == Format::Data { self.modes.options() } else { self.modes.options().without(Options::NOCHECK) };
        let base = base.with(self.part.options());
        let options =
            options.with(base).with_if(self.asking.edge, Options::EDGE).with_if(self.read_closed, Options::RCLOSE);
        Header {
            key: self.key(),
            options,
            format,
            dlen: 0,
            check: 0,
            sort: self.modes.priority.unwrap_or(0),
            sync: self.asking.sync,
            seq,
        }
    }

    /// Sends a packet of the context, and counts it.
    fn transmit(&mut self, header: Header, front: &DataPrefix<'_>, text: Message, ctx: &mut Ctx<'_, '_>) {
        let octets = HEADER as usize + front.len() + text.len();
        self.allowance.on_sent(octets as u64);
        transmit(&self.path, header, front, text, ctx.cx);
    }

    /// A packet that leaves as number `order` asks for status. The options for that.
    fn ask_with(&mut self, order: u64, certain: bool, ctx: &mut Ctx<'_, '_>) -> Options {
        let now = ctx.now();
        if ctx.shared.config.edge {
            self.asking.edge = !self.asking.edge;
        }
        let sync = self.asking.ask(order, certain, now);
        self.rtt.asked(sync, now);
        self.part.asked(sync, self.send.board.nxt(), now);
        ctx.shared.counters.sreq_sent += 1;
        self.timers.clear(Timer::Tail, ctx.cx);
        self.timers.clear(Timer::Late, ctx.cx);
        if !self.timers.is_set(Timer::Wait) {
            self.arm_wait(ctx);
        }
        Options::SREQ
    }

    /// WTIMER runs from now on.
    pub(crate) fn arm_wait(&mut self, ctx: &mut Ctx<'_, '_>) {
        let factor = 1_u64 << self.asking.back_off.min(16);
        let most = ctx.shared.config.rtt.maximum;
        let wait = self.rtt.wtimer().saturating_mul(factor);
        let wait = wait.min(most.max(self.rtt.wtimer()));
        self.timers.set(Timer::Wait, ctx.now() + wait, ctx.cx);
    }

    /// Sends FIRST, or sends it again (P11).
    pub(crate) fn send_first(&mut self, ctx: &mut Ctx<'_, '_>) {
        let first = First {
            address: xtp::Address::Ip { domain: 0, destination: self.remote, source: self.local },
            traffic: self.traffic(ctx.shared),
        };
        let mut octets = vec![0; first.len()];
        first.emit(&mut octets);
        let begins = self.asking.sync == 0;
        let room = u32::try_from(first.len()).unwrap_or(u32::MAX);
        let room = self.packet_room().saturating_sub(room);
        let (text, order) = if !begins {
            let cut = DataPacket { seq: 0, octets: self.first_octets, tag: None, end: false };
            // What is known to have come, by whatever came back, need not go again.
            let text = if self.send.board.una() == 0 && self.first_octets > 0 {
                self.send.again(&cut)
            } else {
                Message::new()
            };
            ctx.shared.counters.retransmitted += 1;
            ctx.shared.counters.octets_retransmitted += text.len() as u64;
            (text, self.send.board.take_order())
        } else if let Some(cut) = self.send.next(room).filter(|it| it.tag.is_none() && !it.end) {
            let (text, _) = self.take(&cut, ctx);
            self.first_octets = cut.octets;
            (text, self.send.board.take_order())
        } else {
            (Message::new(), self.send.board.take_order())
        };
        let ends = self.send.is_all_sent() && self.send.end() == text.len() as u64;
        let options = self.ask_with(order, true, ctx).with_if(ends, Options::WCLOSE);
        self.wclose_told |= ends;
        ctx.shared.counters.first_sent += 1;
        ctx.shared.counters.octets_sent += text.len() as u64;
        let header = self.header(Format::First, options, 0);
        self.transmit(header, &DataPrefix::Octets(&octets), text, ctx);
    }

    /// The octets of `cut`, which are sent for the first time.
    fn take(&mut self, cut: &DataPacket, ctx: &mut Ctx<'_, '_>) -> (Message, u64) {
        if self.send.board.una() == self.send.board.nxt() {
            (self.fresh_at, self.in_vain) = (ctx.now(), 0);
        }
        let (text, read) = self.send.take(cut, self.modes.check);
        if read > 0 {
            ctx.cx.charge(kumiki_graph::Work::Sum, read);
        }
        let order = if self.send.for_good {
            self.send.board.sent_for_good(cut.octets)
        } else {
            self.send.board.sent(cut.octets)
        };
        (text, order)
    }

    /// What would leave next: a packet, and whether it has left before.
    fn next_cut(&self) -> Option<(DataPacket, bool)> {
        let room = self.packet_room();
        let lost = self.send.next_lost(room).map(|cut| (cut, true));
        lost.or_else(|| self.send.next(room).map(|cut| (cut, false)))
    }

    /// Octets of data in the next packet.
    pub(crate) fn next_octets(&self) -> u64 {
        self.next_cut().map_or(0, |(cut, _)| cut.octets.into())
    }

    /// Octets that the peer allows from `seq` on.
    fn allowed(&self, seq: u64) -> u64 {
        match self.modes.flow {
            FlowControl::None => u64::MAX,
            FlowControl::Window | FlowControl::Reservation => self.send.alloc.saturating_sub(seq),
        }
    }

    /// Whether a packet of `octets` has to wait for what is out: by congestion control, or by the brake (P24).
    fn is_full_for(&self, octets: u64) -> bool {
        let board = &self.send.board;
        board.in_flight().saturating_add(octets) > self.controller.window() || board.out() >= self.brake.most()
    }

    /// `cut` has been lost, and goes beyond what the peer has said it has room for: one such packet may be out (P24).
    /// Where flow control is heeded none may.
    fn may_find_no_room(&self, cut: &DataPacket, again: bool) -> bool {
        again && self.modes.flow == FlowControl::None && cut.seq.saturating_add(cut.octets.into()) > self.send.alloc
    }

    /// Whether there is anything that would leave if it might.
    pub(crate) fn wants_to_send(&self) -> bool {
        self.asking.syncing.is_none()
            && !self.ended
            && !self.part.is_waiting()
            && (self.send.unsent() > 0 || self.send.board.has_lost())
    }

    /// Sends one packet of data, if one may leave.
    pub(crate) fn emit(&mut self, ctx: &mut Ctx<'_, '_>) -> Emission {
        if !self.wants_to_send() || self.asking.sync == 0 && !self.passive {
            return Emission::Nothing;
        }
        self.send.board.join_lost(self.packet_room());
        let Some((mut cut, again)) = self.next_cut() else {
            return Emission::Nothing;
        };
        let now = ctx.now();
        let in_flight = self.send.board.in_flight();
        let allowed = self.allowed(cut.seq);
        if allowed < cut.octets.into() {
            if allowed == 0 || in_flight > 0 {
                return Emission::Alloc;
            }
            cut = Send::shortened(cut, u32::try_from(allowed).unwrap_or(u32::MAX));
        }
        if let Some(at) = self.not_before.filter(|at| again && *at > now) {
            return Emission::Rate(at);
        }
        let room = self.data_for_stranger(&cut);
        if room == 0 {
            return Emission::Stranger;
        }
        if room < cut.octets.into() {
            cut = Send::shortened(cut, u32::try_from(room).unwrap_or(u32::MAX));
        }
        let octets = u64::from(cut.octets);
        if in_flight > 0 && (self.is_full_for(octets) || self.may_find_no_room(&cut, again)) {
            self.window_limited = true;
            return Emission::Window;
        }
        let pace = self.controller.rate();
        let paced = pace.and_then(|_| self.pacer.wait(now));
        let by_credit = self.credit.wait(octets, now);
        let leaps = paced.is_some() && by_credit.is_none() && self.controller.leaps(octets);
        if let Some(at) = paced.filter(|_| !leaps).max(by_credit) {
            self.window_limited = true;
            return Emission::Rate(at);
        }
        self.credit.on_sent(octets);
        if let Some(rate) = pace.filter(|_| !leaps) {
            self.pacer.on_sent(octets, rate.max(1), now);
        }
        self.send_data(&cut, again, ctx);
        Emission::Sent
    }

    /// Octets of data of `cut` that the caller may be sent, should it not be who it says. Answers and questions go
    /// first, for they tell the key. Only the first packet is cut to what fits: little by little the rest would go as
    /// well, in a packet for each that comes.
    fn data_for_stranger(&self, cut: &DataPacket) -> u64 {
        let front = u64::from(HEADER) + cut.tag.map_or(0, |tag| tag.len() as u64);
        let owed = if self.answering.due || self.asking.is_withheld() { TCNTL } else { 0 };
        let fits = self.may_send().saturating_sub(front + owed);
        if fits < cut.octets.into() && cut.seq > 0 { 0 } else { fits }
    }

    fn send_data(&mut self, cut: &DataPacket, again: bool, ctx: &mut Ctx<'_, '_>) {
        let octets = u64::from(cut.octets);
        let last_again = again && self.send.board.is_last_lost(cut.octets);
        let (text, order) = if again {
            ctx.shared.counters.retransmitted += 1;
            ctx.shared.counters.octets_retransmitted += octets;
            (self.send.again(cut), self.send.board.resent(cut.octets))
        } else {
            self.take(cut, ctx)
        };
        let ends = self.send.is_all_sent() && cut.seq + octets == self.send.end();
        self.wclose_told |= ends;
        self.asking.since += octets;
        self.asking.tails = 0;
        let closes = self.closes_window() || self.may_find_no_room(cut, again);
        let front = u64::from(HEADER) + cut.tag.map_or(0, |tag| tag.len() as u64);
        let pair = !again && order <= PAIR + self.asking.showed;
        // A stranger that answers is none any more.
        let last = self.may_send() < front + octets + u64::from(HEADER) + TCNTL;
        let asks = ends || closes || last_again || pair || last || self.is_question_due(ctx.now());
        let mut options = Options::NONE
            .with_if(ends, Options::WCLOSE)
            .with_if(cut.end, Options::EOM)
            .with_if(cut.tag.is_some(), Options::BTAG)
            .with_if(closes, Options::DREQ);
        if asks {
            options |= self.ask_with(order, false, ctx);
        }
        self.rtt.sent(octets);
        self.brake.on_sent();
        ctx.shared.counters.data_sent += 1;
        ctx.shared.counters.octets_sent += octets;
        let header = self.header(Format::Data, options, cut.seq);
        let front = cut.tag.map_or(DataPrefix::None, DataPrefix::Tag);
        self.transmit(header, &front, text, ctx);
        if self.rtt.measures() {
            self.ask(false, Options::NONE, ctx);
            self.rtt.measured(self.asking.sync);
        }
    }

    /// The next packet, be it new or one that is lost, will have to wait for the peer to allow it.
    fn closes_window(&self) -> bool {
        let next = self.next_cut();
        next.is_some_and(|(cut, _)| u64::from(cut.octets) > self.allowed(cut.seq))
    }

    /// Whether a packet of data should ask, whatever else it is for (P19).
    fn is_question_due(&self, now: Instant) -> bool {
        // What the peer allows and what the buffer holds are only known to move when it is asked.
        let allowed = self.send.alloc.saturating_sub(self.send.board.una());
        let window = allowed.min(self.send.buffer.into());
        if self.asking.since >= (window / 2).max(1) || self.rtt.due(now) {
            return true;
        }
        // The congestion window is looked after by the measurement, as long as it has room for a packet more.
        let waits = |(cut, again)| self.may_find_no_room(&cut, again);
        !self.asking.is_open() && (self.is_full_for(self.packet_room().into()) || self.next_cut().is_some_and(waits))
    }

    /// Our state as a receiver.
    pub(crate) fn control(&mut self) -> Control {
        Control { rseq: self.receive.rseq, alloc: self.receive.allow(), echo: self.answering.echo }
    }

    /// What control packets say of the end of our stream: their `seq` is the next octet that has not been sent.
    fn closes(&self) -> Options {
        Options::NONE.with_if(self.send.is_all_sent(), Options::WCLOSE)
    }

    /// Tells our state: CNTL; ECNTL where something is missing; TCNTL where keys or traffic values must be told (P16).
    pub(crate) fn tell(&mut self, mut options: Options, ctx: &mut Ctx<'_, '_>) {
        if self.may_send() < TCNTL {
            // It leaves when more has come.
            self.answering.due = true;
            return;
        }
        let control = self.control();
        self.answering.due = false;
        let seq = self.send.board.nxt();
        self.wclose_told |= self.send.is_all_sent();
        options |= self.closes();
        let exchange = self.exchange == Exchange::Telling || self.tell_traffic;
        let allowed = (self.may_send() - TCNTL).saturating_sub(ECNTL.into()) / u64::from(SPAN);
        // A stranger is told keys before gaps.
        let misses = self.receive.misses() && !self.receive.noerr && allowed > 0;
        if misses {
            let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
            let most = spans_in(self.room.min(self.peer_maxdata)).min(allowed);
            let errors = Errors { control, spans: self.receive.spans(most) };
            ctx.shared.counters.ecntl_sent += 1;
            let mut octets = vec![0; errors.len()];
            errors.emit(&mut octets);
            // The last of two asks.
            let now = if exchange { options.without(Options::SREQ) } else { options };
            let header = self.header(Format::Ecntl, now, seq);
            let text = Message::from_octets(&octets);
            self.transmit(header, &DataPrefix::None, text, ctx);
        }
        if exchange {
            self.tell_traffic = false;
            let it = TrafficControl { control, xkey: key_of(self.handle), traffic: self.traffic(ctx.shared) };
            ctx.shared.counters.tcntl_sent += 1;
            let mut octets = vec![0; it.len()];
            it.emit(&mut octets);
            let header = self.header(Format::Tcntl, options, seq);
            let front = DataPrefix::Octets(&octets);
            self.transmit(header, &front, Message::new(), ctx);
        } else if !misses {
            ctx.shared.counters.cntl_sent += 1;
            let mut octets = [0; 20];
            control.emit(&mut octets);
            let header = self.header(Format::Cntl, options, seq);
            let front = DataPrefix::Octets(&octets);
            self.transmit(header, &front, Message::new(), ctx);
        }
    }

    /// How many spans the longest report of the peer has, as far as is known of its way to us: no more than that may
    /// only be what was room for.
    pub(crate) fn longest_list(&self, shared: &Shared) -> usize {
        spans_in(self.room.min(self.peer_maxdata).min(shared.maxdata(0)))
    }

    /// Asks without data. False where the question has to wait, as the peer may be another than it says.
    pub(crate) fn ask(&mut self, certain: bool, extra: Options, ctx: &mut Ctx<'_, '_>) -> bool {
        if self.may_send() < TCNTL {
            self.asking.withhold(ctx.now());
            if !self.timers.is_set(Timer::Wait) {
                self.arm_wait(ctx);
            }
            return false;
        }
        let order = self.send.board.take_order();
        let options = self.ask_with(order, certain, ctx);
        self.tell(options | extra, ctx);
        true
    }

    /// A question had to wait, and may leave now.
    pub(crate) fn ask_withheld(&mut self, ctx: &mut Ctx<'_, '_>) {
        let syncs = self.asking.syncing.is_some();
        if self.ask(true, Options::NONE, ctx) && syncs {
            self.asking.syncing = Some(self.asking.sync);
        }
    }

    /// The user has written all, and all has left, but nothing has said so: the peer is told (P31).
    pub(crate) fn tell_close(&mut self, ctx: &mut Ctx<'_, '_>) {
        let calling = !self.passive && self.asking.sync == 0;
        if self.send.writer == Writer::Closing
            && self.send.is_all_sent()
            && !self.wclose_told
            && self.asking.syncing.is_none()
            && !calling
            && self.accepted
        {
            (self.fresh_at, self.in_vain) = (ctx.now(), 0);
            self.asking.tails = 0;
            self.ask(false, Options::NONE, ctx);
        }
    }

    /// Nothing may be left undone: where an answer is needed a timer runs.
    pub(crate) fn see_to_it(&mut self, ctx: &mut Ctx<'_, '_>) {
        let open = self.asking.is_open();
        let board = &self.send.board;
        let out = board.in_flight() > 0 || board.contradicts_itself() || self.asking.doubt;
        let closing = self.send.writer == Writer::Closing && self.send.is_all_sent();
        let unsent = self.wants_to_send();
        if open {
            if !self.timers.is_set(Timer::Wait) {
                self.arm_wait(ctx);
            }
            self.arm_repeat(ctx);
        } else {
            self.timers.clear(Timer::Wait, ctx.cx);
            self.timers.clear(Timer::Late, ctx.cx);
        }
        let after = self.asking.since > 0;
        let next = self.next_cut().filter(|_| unsent);
        let shut = next.is_some_and(|(cut, _)| self.allowed(cut.seq) == 0);
        // How the end fares is asked when all has left that is lost; until the peer allows that, P22 asks.
        // Until the peer is known to know that we have its key, it may hold back what it has for us (P49).
        let unshown = self.unshown.is_some();
        // An answer that shows that the caller has our key would let go what waits for it (P49).
        let barred = next.is_some_and(|(cut, _)| self.data_for_stranger(&cut) == 0);
        let waits = !open && (out || after || unshown || barred || (closing && !shut));
        // Where contexts share a rate or credit, their queue says when it goes on.
        let by_rate = self.timers.is_set(Timer::Rate) || self.queued;
        if !by_rate && !self.timers.is_set(Timer::Tail) && (waits || (!unsent && after)) {
            self.arm_tail(ctx);
        }
        if !shut {
            self.stalled = None;
            self.probes = 0;
            self.timers.clear(Timer::Probe, ctx.cx);
        } else if !open {
            let now = ctx.now();
            let since = *self.stalled.get_or_insert(now);
            let end = self.stall(ctx.shared.config.stall).map(|most| since + most);
            if !self.timers.is_set(Timer::Probe) {
                let wait = self.rtt.wait_shut(self.probes);
                let at = end.map_or(now + wait, |end| end.clamp(now, now + wait));
                self.timers.set(Timer::Probe, at, ctx.cx);
            }
        }
    }

    /// Where an answer is late, the question is put once more before WTIMER stops everything (P20).
    fn arm_repeat(&mut self, ctx: &mut Ctx<'_, '_>) {
        let barred = self.asking.repeated || self.asking.syncing.is_some();
        if barred || self.exchange == Exchange::Calling || self.timers.is_set(Timer::Late) {
            return;
        }
        let Some(late) = self.rtt.late() else {
            return;
        };
        let at = ctx.now() + late + ctx.shared.config.tail;
        if self.timers.deadline(Timer::Wait).is_some_and(|it| at < it) {
            self.timers.set(Timer::Late, at, ctx.cx);
        }
    }

    fn arm_tail(&mut self, ctx: &mut Ctx<'_, '_>) {
        let eighth = self.rtt.srtt().unwrap_or_default() / 8;
        let wait = ctx.shared.config.tail.max(eighth);
        // One question may leave a doubt, which the next one settles. What they do not bring is not hurried by more of
        // them.
        let factor = 1_u64 << self.asking.tails.saturating_sub(1).min(16);
        let most = self.rtt.wtimer().max(wait);
        let wait = wait.saturating_mul(factor).min(most);
        self.timers.set(Timer::Tail, ctx.now() + wait, ctx.cx);
    }
}
