//! What a packet does to the context that it belongs to.
//!
//! In this order: whether it can be true; what it says of its sender; the status that it tells; its data; the status
//! that it asks for, *before* the user gets anything, since the time until the answer is in the sender's measurement;
//! the user gets its data; closing.
//!
//! # The rule
//!
//! Of a packet that is refused nothing is believed: neither modes, keys, traffic values, sync and EDGE, the status that
//! it tells, a close or an end, nor that its sender is there and where its packets come from. It changes counters, and
//! the answer that it gets hangs on what was known before. So [`Endpoint::judge`] looks at all of a packet and cannot
//! write, and nothing else may refuse.
//!
//! Data for which there is no room is no lie, for without flow control ([`kumiki_graph::FlowControl::None`]) it is what
//! happens. What the packet *says* counts no more than that of a refused one. What it *asks* (sync, EDGE, SREQ, DREQ)
//! is heard, or its sender would never learn of it.

use kumiki_graph::{Duration, NoPath, Notice, Reason};
use kumiki_octets::Message;
use kumiki_wire::xtp::{Control, Diagnosis, Format, Header, Key, Options, Span, Traffic, code, val};
use smallvec::SmallVec;

use super::config::Recovery;
use super::congestion::{self, Status};
use super::context::{Ctx, Endpoint, Exchange};
use super::control::{Question, at_or_before};
use super::judging::PacketRejection;
use super::packet::{Arrived, Body};
use super::receive::{Inserted, ReceivedData};
use super::send::{Tag, Writer};
use super::timers::Timer;

/// The text of a packet as a piece of the stream, and where it ends there.
fn piece_of(header: &Header, text: Message, tag: Option<Tag>) -> (ReceivedData, u64) {
    let end = header.seq.saturating_add(text.len() as u64);
    (ReceivedData { text, tag, end: header.options.contains(Options::EOM) }, end)
}

type Pieces = SmallVec<[ReceivedData; 2]>;

impl Endpoint {
    /// # Errors
    /// The packet is refused; nothing of it has been believed.
    pub(crate) fn on_packet(&mut self, packet: Arrived, ctx: &mut Ctx<'_, '_>) -> Result<(), PacketRejection> {
        self.judge(&packet)?;
        if self.part.is_transmitter() {
            self.on_receiver_packet(packet, ctx);
            return Ok(());
        }
        let mut pieces = Pieces::new();
        let (header, source) = (packet.header, packet.source);
        let options = header.options;
        let end = match packet.body {
            Body::Diag(diagnosis) => {
                self.on_diagnosis(diagnosis, ctx);
                return Ok(());
            }
            Body::Control { control, spans, exchange, join } => {
                self.dirty = true;
                self.via.get_or_insert(source);
                if self.part.is_pair() {
                    if !self.take_status(options, &control, &spans, ctx) {
                        return Ok(());
                    }
                } else if header.key.is_returned()
                    && let Some(address) = join
                {
                    self.on_admission(control.rseq, &address, ctx);
                }
                self.take_control(&header, exchange.as_ref(), &mut pieces, ctx)
            }
            Body::Data { tag, text } => {
                ctx.shared.counters.data_received += 1;
                let (piece, end) = piece_of(&header, text, tag);
                if !self.take_data(&header, piece, &mut pieces, ctx) {
                    return Ok(());
                }
                self.via.get_or_insert(source);
                self.know_peer(header.key, None);
                Some(end)
            }
            // It has come before, or the context would not be here (P11).
            Body::First { text, .. } => {
                ctx.shared.counters.first_received += 1;
                let (piece, end) = piece_of(&header, text, None);
                if piece.text.is_empty() {
                    self.dirty = true;
                    self.hear_modes(options);
                } else if !self.take_data(&header, piece, &mut pieces, ctx) {
                    return Ok(());
                }
                self.via.get_or_insert(source);
                Some(end)
            }
        };
        self.count_received(&header);
        self.heard(ctx);
        let by_edge = self.answering.hear(header.sync, options.contains(Options::EDGE));
        if options.contains(Options::WCLOSE) {
            self.close_at(end, &mut pieces, ctx);
        }
        self.finish_after(options, by_edge, pieces, ctx);
        Ok(())
    }

    /// Hears what a control packet says of its sender; gives where that ends, if it has told it.
    fn take_control(
        &mut self,
        header: &Header,
        exchange: Option<&(Key, Traffic)>,
        pieces: &mut Pieces,
        ctx: &mut Ctx<'_, '_>,
    ) -> Option<u64> {
        if header.format == Format::Cntl {
            // Who does not know that we know its key tells it (P13).
            self.unshown = None;
        }
        self.know_peer(header.key, exchange);
        self.hear_modes(header.options);
        self.receive.know_sent(header.seq);
        if self.receive.noerr && header.seq > self.receive.rseq {
            self.pass_over(header.seq, pieces, ctx);
        }
        self.receive.end_told(header.seq)
    }

    /// Hears the status of the one peer; false where that has made it give up.
    fn take_status(&mut self, options: Options, control: &Control, spans: &[Span], ctx: &mut Ctx<'_, '_>) -> bool {
        self.on_control(control, spans, ctx);
        let over = options.contains(Options::RCLOSE) || options.contains(Options::END);
        let in_vain = !over && self.is_in_vain(ctx);
        if in_vain {
            self.give_up(ctx);
        }
        !in_vain
    }

    /// The peer writes nothing more; where it ends is known from this packet, or another one has told it.
    fn close_at(&mut self, end: Option<u64>, pieces: &mut Pieces, ctx: &mut Ctx<'_, '_>) {
        if let Some(end) = end {
            self.receive.close_at(end);
        }
        if let Some(end) = self.receive.end.filter(|_| self.receive.noerr)
            && end > self.receive.rseq
        {
            self.pass_over(end, pieces, ctx);
        }
    }

    /// Takes the data of a packet with what it says of how it is sent. False where there is no room: then only what it
    /// asks is heard.
    fn take_data(&mut self, header: &Header, piece: ReceivedData, pieces: &mut Pieces, ctx: &mut Ctx<'_, '_>) -> bool {
        let options = header.options;
        self.dirty = true;
        let noerr = options.contains(Options::NOERR);
        let inserted = if self.is_out_of_memory(header.seq, noerr, ctx) {
            ctx.shared.counters.out_of_memory += 1;
            Inserted::Full
        } else {
            self.insert(header.seq, piece, noerr, pieces, ctx)
        };
        match inserted {
            Inserted::Queued => {}
            // P26.
            Inserted::Gap if options.contains(Options::FASTNAK) => {
                if self.part.is_receiver() {
                    self.answer_in_slot(true, ctx);
                } else {
                    self.answering.due = true;
                }
            }
            Inserted::Gap => {}
            Inserted::Duplicate => ctx.shared.counters.duplicates += 1,
            Inserted::Outside | Inserted::Full => {
                ctx.shared.counters.no_room += 1;
                ctx.cx.drop("no room");
                // It has come all the same, and more than that is not asked for (P49): who has room for the beginning
                // alone must answer, and ask.
                self.count_received(header);
                self.hear_question(header, ctx);
                return false;
            }
        }
        self.hear_modes(options);
        true
    }

    /// What a packet asks, of which nothing else counts.
    fn hear_question(&mut self, header: &Header, ctx: &mut Ctx<'_, '_>) {
        let options = header.options;
        let by_edge = self.answering.hear(header.sync, options.contains(Options::EDGE));
        self.answer_question(options, by_edge, ctx);
        self.answer_if_taken();
    }

    /// SREQ, EDGE and DREQ of a packet.
    fn answer_question(&mut self, options: Options, by_edge: bool, ctx: &mut Ctx<'_, '_>) {
        let asked = options.contains(Options::SREQ);
        ctx.shared.counters.sreq_received += u64::from(asked);
        let ends = options.contains(Options::END);
        if (asked || by_edge) && self.accepted && !ends {
            self.answer(ctx);
        }
        if options.contains(Options::DREQ) {
            self.answering.dreq = Some(self.receive.rseq);
        }
    }

    /// What follows the content of a packet: the answer, the data, closing.
    fn finish_after(&mut self, options: Options, by_edge: bool, pieces: Pieces, ctx: &mut Ctx<'_, '_>) {
        if self.receive.is_complete() && !self.read_closed {
            self.read_closed = true;
            // Told at once, though nobody may have asked since the last octet came (P16).
            self.answering.due = true;
        }
        if options.contains(Options::RCLOSE) {
            self.on_rclose();
        }
        self.answer_question(options, by_edge, ctx);
        for piece in pieces {
            self.deliver(piece, ctx);
        }
        self.answer_if_taken();
        self.release_if_complete(ctx);
        if options.contains(Options::END) {
            self.on_end(options, ctx);
        }
    }

    /// Status was asked for.
    pub(crate) fn answer(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.part.is_receiver() {
            self.answer_in_slot(false, ctx);
        } else {
            self.tell(Options::NONE, ctx);
        }
    }

    /// DREQ: the answer is due when the user has taken what had come; where the peer may send no more, when half of the
    /// room is free (P17).
    pub(crate) fn answer_if_taken(&mut self) {
        let Some(upto) = self.answering.dreq else {
            return;
        };
        let untaken = self.receive.user + self.receive.waiting_octets();
        let taken = self.receive.rseq.saturating_sub(untaken);
        let shut = self.receive.alloc.saturating_sub(self.receive.sent()) < self.room.into();
        if taken >= upto || (shut && self.receive.room > 0 && self.receive.room >= untaken) {
            self.answering.dreq = None;
            self.answering.due = true;
            self.dirty = true;
        }
    }

    /// The peer is there.
    pub(crate) fn heard(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.heard_at = ctx.now();
        if core::mem::take(&mut self.silent) {
            self.notice(Notice::Answered, ctx);
        }
    }

    /// How the peer sends what it sends (P25, P26).
    fn hear_modes(&mut self, options: Options) {
        self.theirs = options;
        self.receive.noerr = options.contains(Options::NOERR);
    }

    /// Which keys the peer knows and tells (P5, P13).
    fn know_peer(&mut self, key: Key, exchange: Option<&(Key, Traffic)>) {
        if key.is_returned() {
            match self.exchange {
                Exchange::Calling => self.exchange = Exchange::Heard,
                Exchange::Telling => self.exchange = Exchange::Done,
                Exchange::Heard | Exchange::Done => {}
            }
        }
        let Some((xkey, traffic)) = exchange else {
            return;
        };
        self.hear_traffic(traffic);
        if self.exchange == Exchange::Heard {
            self.peer = Some(xkey.own());
            self.exchange = Exchange::Done;
            self.unshown = Some(self.asking.sync);
        }
    }

    fn pass_over(&mut self, seq: u64, pieces: &mut Pieces, ctx: &mut Ctx<'_, '_>) {
        let before = self.receive.rseq;
        let mut got = 0;
        self.receive.pass_over(seq, &mut |piece: ReceivedData| {
            got += piece.text.len() as u64;
            pieces.push(piece);
        });
        ctx.shared.counters.passed_over += self.receive.rseq.saturating_sub(before + got);
    }

    fn insert(
        &mut self,
        seq: u64,
        piece: ReceivedData,
        noerr: bool,
        pieces: &mut Pieces,
        ctx: &mut Ctx<'_, '_>,
    ) -> Inserted {
        ctx.shared.counters.octets_received += piece.text.len() as u64;
        let before = self.receive.rseq;
        let mut got = 0;
        let outcome = self.receive.insert(seq, piece, noerr, |piece| {
            got += piece.text.len() as u64;
            pieces.push(piece);
        });
        let passed = self.receive.rseq.saturating_sub(before + got);
        ctx.shared.counters.passed_over += passed;
        outcome
    }

    /// The peer tells how far it is, and that can be.
    pub(crate) fn on_control(&mut self, control: &Control, spans: &[Span], ctx: &mut Ctx<'_, '_>) {
        let Control { rseq, alloc, echo } = *control;
        let closing = self.send.writer == Writer::Closing && self.send.is_all_sent();
        let board = &self.send.board;
        // Of a peer that allows nothing no more can be wanted than that it answers.
        let shut = self.stalled.is_some() && board.in_flight() == 0;
        if self.asking.is_stale(echo) {
            return;
        }
        let now = ctx.now();
        let question = self.asking.answered(echo, now);
        if let Some(question) = question {
            self.unshown.take_if(|last| !at_or_before(question.sync, *last));
        }
        let is_sample = question.is_some() && self.part.is_sample();
        let rtt = is_sample.then(|| self.rtt.answered(echo, now)).flatten();
        ctx.shared.counters.samples += u64::from(rtt.is_some());
        let (delivered, lost) = self.weigh(rseq, spans, question.as_ref(), ctx);
        let board = &self.send.board;
        let (in_flight, una) = (board.in_flight(), board.una());
        let is_all_known = una == board.nxt();
        if delivered > 0 {
            self.lost_in_vain = 0;
            self.go_on(ctx);
        } else if lost > 0 && in_flight == 0 {
            self.lost_in_vain = self.lost_in_vain.saturating_add(1);
            // Who says that it has no room is asked as where its word counts (P22).
            let shut = alloc <= una;
            let times = self.lost_in_vain;
            let wait = if shut { Some(self.rtt.wait_shut(times - 1)) } else { self.rtt.wait_in_vain(times) };
            self.not_before = wait.map(|it| now + it);
        }
        if delivered > 0 || (is_all_known && !closing) {
            (self.fresh_at, self.in_vain) = (now, 0);
            self.asking.tails = 0;
        } else if shut {
            (self.fresh_at, self.in_vain) = (now, 0);
        } else if question.is_some() {
            self.in_vain = self.in_vain.saturating_add(1);
        }
        self.send.release();
        self.allow(alloc, ctx);
        self.news.0 += delivered;
        self.news.1 += lost;
        if question.is_some() {
            self.on_answer(echo, in_flight, rtt, ctx);
        }
    }

    /// A question has been answered: the controller hears what has come to light since the last answer.
    fn on_answer(&mut self, echo: u32, in_flight: u64, rtt: Option<Duration>, ctx: &mut Ctx<'_, '_>) {
        self.timers.clear(Timer::Wait, ctx.cx);
        self.timers.clear(Timer::Late, ctx.cx);
        if self.asking.is_open() {
            self.arm_wait(ctx);
        }
        let (delivered, lost) = core::mem::take(&mut self.news);
        let lost = lost.min(self.part.most_lost());
        let limited = !core::mem::take(&mut self.window_limited);
        let (now, min_rtt, sent_sync) = (ctx.now(), self.rtt.min(), self.asking.sync);
        let status = Status { now, delivered, lost, in_flight, rtt, min_rtt, sync: echo, sent_sync, limited };
        self.controller.on_status(&status);
    }

    /// What a status says of the octets that are out: how many have been delivered and lost.
    fn weigh(&mut self, rseq: u64, spans: &[Span], question: Option<&Question>, ctx: &Ctx<'_, '_>) -> (u64, u64) {
        let longest = self.longest_list(ctx.shared);
        let selective = self.recovery == Recovery::Selective;
        let spans = if selective { spans } else { &[] };
        let board = &mut self.send.board;
        let came = board.came();
        let mut delivered = board.acknowledge(rseq);
        for span in spans {
            delivered += board.cover(*span);
        }
        // Of what overtook what nothing is known where a packet was alone.
        let certain = question.is_some_and(|it| it.certain);
        let limit = question.map_or(0, |it| it.order);
        let tolerance = if certain { 0 } else { u64::from(ctx.shared.config.reordering) };
        // A list that fills its packet may have been cut short: nothing is said of what lies above it (P1).
        let cut = spans.last().filter(|_| spans.len() >= longest);
        let known = cut.map_or(u64::MAX, |last| last.right);
        let mut lost = board.judge(limit, tolerance, known);
        if certain && selective {
            lost += board.believe(spans);
        }
        self.brake.on_delivered(board.came() - came);
        if lost > 0 {
            let (last, arrived) = board.orders();
            if !selective {
                board.go_back();
            }
            // Without congestion control selective repeat sends as fast as it can.
            if !selective || ctx.shared.config.congestion != congestion::Kind::Off {
                self.brake.on_lost(limit.max(arrived), last);
            }
        }
        let doubtful = board.is_out_before(limit) || board.contradicts_itself();
        if question.is_some() && doubtful && !self.asking.is_open() {
            // The answer leaves something in doubt, and no other is on its way.
            self.asking.doubt = true;
        }
        (delivered, lost)
    }

    /// The peer allows what is below `alloc`.
    fn allow(&mut self, alloc: u64, ctx: &mut Ctx<'_, '_>) {
        if !self.part.is_pair() {
            // Who joins may have less room than all others had (P41).
            self.send.alloc = alloc;
        } else if self.send.allow(alloc) {
            // A window that opens, however little, was waited for long enough (P22).
            self.stalled = None;
            self.probes = 0;
            self.timers.clear(Timer::Probe, ctx.cx);
            self.go_on(ctx);
        }
    }

    /// What was put off may go.
    fn go_on(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.not_before.take().is_some() {
            self.timers.clear(Timer::Rate, ctx.cx);
        }
    }

    /// The peer says that something is wrong (P35).
    fn on_diagnosis(&mut self, diagnosis: Diagnosis, ctx: &mut Ctx<'_, '_>) {
        let reason = match diagnosis.code {
            // Late, or of a call that was answered before: the peer would have said so otherwise.
            code::REFUSED | code::JOIN_REFUSED if self.exchange != Exchange::Calling && !self.part.is_joining() => None,
            code::REFUSED | code::JOIN_REFUSED => Some(match diagnosis.val {
                val::NO_RESOURCE => Reason::NoResources,
                val::ADDRESS_FORMAT | val::MALFORMED_ADDRESS => Reason::BadAddress,
                _ => Reason::Refused,
            }),
            code::ABANDONED | code::INVALID_CONTEXT => Some(Reason::Reset),
            code::PROTOCOL_ERROR | code::PACKET_SIZE => Some(Reason::Protocol),
            _ => None,
        };
        match reason {
            Some(reason) => self.end(Some(reason), ctx),
            None => ctx.cx.drop("DIAG that changes nothing"),
        }
    }

    /// A packet met an error on its way.
    pub(crate) fn on_problem(&mut self, problem: kumiki_graph::Problem, ctx: &mut Ctx<'_, '_>) {
        use kumiki_graph::Problem;
        match problem {
            // Nothing has ever come back: nobody is there.
            Problem::Hard { .. } | Problem::NoNeighbour if self.exchange == Exchange::Calling => {
                self.end(Some(Reason::Unreachable(NoPath::Host)), ctx);
            }
            Problem::TooBig { mtu } => {
                let to = self.remote.ip().into();
                let narrow = kumiki_graph::Manage::Narrow { to, mtu };
                ctx.cx.down(kumiki_graph::Below(0), kumiki_graph::Request::Manage(Box::new(narrow)));
            }
            Problem::Hard { .. } | Problem::Soft { .. } | Problem::NoNeighbour | Problem::NoRoute => {
                self.notice(Notice::Problem(problem), ctx);
            }
        }
    }

    /// The user learns that the peer sends no more, once it has all.
    pub(crate) fn release_if_complete(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.read_closed && self.accepted && !self.released && !self.part.is_joining() {
            self.released = true;
            // A receiver of a group is over, and says so (P45).
            self.answering.due |= self.part.is_receiver();
            let (session, data) = (self.user, None);
            self.up(kumiki_graph::Indication::Released { session, data }, ctx);
        }
    }

    /// RCLOSE, which is true: the peer has all that was written (P32).
    fn on_rclose(&mut self) {
        if self.send.writer == Writer::Closing {
            self.send.writer = Writer::Closed;
            self.send.board.finish();
            self.send.release();
        }
    }
}
