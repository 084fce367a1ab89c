//! LISTEN: RFC 9293 section 3.10.7.2.

use core::net::SocketAddr;

use kumiki_graph::{Above, Handle, Quality};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Seq};

use super::State;
use crate::tcp::demux::Pair;
use crate::tcp::half_open::Caller;
use crate::tcp::scoreboard::Span;
use crate::tcp::segment::Segment;
use crate::tcp::session::{Ctx, Session};

/// A passive open.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) above: Above,
    pub(crate) user: Handle,
    pub(crate) local: SocketAddr,
    /// The only one who may call, where the user named one.
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) quality: Quality,
    /// How many connections may wait here to be accepted.
    pub(crate) backlog: u32,
    pub(crate) waiting: u32,
    /// Callers are offered before they are answered.
    pub(crate) offers_first: bool,
}

/// What LISTEN does with a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Ignore,
    /// Reset the sender.
    Reset,
    /// Nothing, for lack of room.
    Full,
    /// Begin a connection.
    Begin,
}

impl Listener {
    /// Whether as many wait to be accepted as may.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting >= self.backlog.max(1)
    }

    pub(crate) fn judge(&self, pair: &Pair, segment: &Segment) -> Verdict {
        if segment.has(Flags::RST) {
            return Verdict::Ignore;
        }
        if segment.has(Flags::ACK) || self.remote.is_some_and(|remote| remote != SocketAddr::from(pair.remote)) {
            return Verdict::Reset;
        }
        if !segment.has(Flags::SYN) {
            return Verdict::Ignore;
        }
        if self.is_full() {
            return Verdict::Full;
        }
        Verdict::Begin
    }
}

impl Session {
    /// A caller has acknowledged our SYN: `segment` is what it did so with.
    pub(crate) fn call_answered(&mut self, caller: Caller, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        self.passive = true;
        if let Some(record) = &mut self.record {
            record.answered((caller.answers, caller.retries));
        }
        self.listener = Some(caller.listener);
        self.state = State::SynReceived;
        self.receive.start(caller.irs);
        self.route.gateways = caller.route;
        self.negotiate(&caller.offer.options(), ctx);
        self.ecn.answer(caller.ecn);
        self.take_syn_window(caller.window, caller.irs, Seq(0));
        let config = &ctx.shared.config;
        self.receive.advertise(config.edge, self.send.mss, true);
        let now = ctx.now();
        self.board.on_send(1, caller.at.unwrap_or(now), false);
        if caller.retries > 0 || caller.at.is_none() {
            // Nobody knows which SYN,ACK was answered (Karn, MUST-18).
            let (start, end) = (self.iss, self.iss + 1);
            self.board.on_retransmit(Span { start, end }, ctx.now());
        }
        self.send.max = self.iss + 1;
        self.unanswered = caller.retries;
        if let Some(text) = caller.text {
            let (text, fin) = *text;
            self.queue_early(text, fin);
        }
        self.on_segment(segment, ctx);
    }

    /// Text and FIN that came with a SYN are kept until the handshake is done.
    pub(super) fn queue_early(&mut self, text: Message, fin: bool) {
        let (nxt, window) = (self.receive.nxt, self.receive.window());
        self.receive.queue.insert(nxt, window, nxt, text, fin);
    }
}
