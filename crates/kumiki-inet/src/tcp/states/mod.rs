//! What a segment and a user's request do, state by state: RFC 9293 section 3.10. The state chooses the function.
//!
//! # What is refused changes nothing
//!
//! No octet of a segment that will be refused may change a connection: not its timestamps, its source route, its user
//! timeout, its keep-alive, its congestion marks, its windows or what it owes. Else whoever knows addresses and ports,
//! and nothing of what was said, could write into it: a timestamp from the future alone would have PAWS refuse the true
//! peer for days.
//!
//! So a segment goes through all checks first: `passes_checks` (PAWS, sequence number, RST, SYN, ACK bit, timestamps)
//! and `accepts_ack` (RFC 5961 section 5.2), which read and answer and write nothing but counters and how often was
//! answered. `believe` comes next and is the one place where header and options are taken; then the acknowledgment,
//! urgent data, text and FIN, in the standard's order. SYN-SENT and SYN-RECEIVED have ACK checks of their own before
//! theirs.
//!
//! The answer to a refused segment says where we stand and counts as no acknowledgment: what was owed is owed still,
//! and the right edge stays (`Session::answer`). Four exceptions, all for segments that fail in their place alone, with
//! a possible ACK and with timestamps that pass. The peer hears of a copy by D-SACK, in that answer (RFC 2883). A copy
//! counts in what RFC 9768 section 3.2.3.2.2 makes of it. Where the window is so small that the peer may be probing it,
//! the answer is an acknowledgment as any other, for it may open the window. So it is to the SYN,ACK that comes again,
//! which shows what RFC 9768 section 3.2.2.1 has it show.

mod closing;
mod listen;
mod syn_received;
mod syn_sent;
mod synchronized;
mod time_wait;

pub(crate) use listen::{Listener, Verdict};

use std::collections::VecDeque;

use kumiki_graph::{Credit, Handle, Indication, Problem, Quality};
use kumiki_octets::Message;

use super::predicted::PredictedState;
use super::segment::Segment;
use super::send::Fin;
use super::session::{Ctx, Session};

/// The states of RFC 9293 section 3.3.2. LISTEN is no state of a session: see [`Listener`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Closed,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

impl State {
    /// Its name in the standard.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::TimeWait => "TIME-WAIT",
        }
    }

    /// Both sides have agreed on sequence numbers.
    pub(crate) const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::SynSent)
    }

    /// The three-way handshake is not done.
    pub(crate) const fn is_before_established(self) -> bool {
        matches!(self, Self::SynSent | Self::SynReceived)
    }

    /// The user may send.
    pub(crate) const fn may_send(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }

    /// Data or a FIN may be in flight.
    pub(crate) const fn may_transmit(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck)
    }

    /// The peer may send.
    pub(crate) const fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

impl Session {
    /// A segment for this connection arrived.
    pub(crate) fn on_segment(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        match self.state {
            State::Closed => {}
            State::SynSent => self.in_syn_sent(segment, ctx),
            State::SynReceived => self.in_syn_received(segment, ctx),
            State::Established | State::FinWait1 | State::FinWait2 | State::CloseWait => {
                self.in_data_transfer(segment, ctx);
            }
            State::Closing | State::LastAck => self.in_closing(&segment, ctx),
            State::TimeWait => self.in_time_wait(&segment, ctx),
        }
    }

    /// The user takes an offered connection: what has come so far is for it.
    pub(crate) fn accept(&mut self, user: Handle, quality: &Quality, ctx: &mut Ctx<'_, '_>) {
        self.user = user;
        self.accepted = true;
        self.dirty = true;
        self.on_quality(quality, ctx);
        self.announce(ctx);
        self.accept_urgent(ctx);
        let mut held = core::mem::take(&mut self.receive.held);
        while let Some((data, end)) = held.own().and_then(VecDeque::pop_front) {
            let session = user;
            self.up(Indication::Data { session, data, end }, ctx);
        }
        self.settle_urgent(ctx);
        if self.receive.fin {
            let session = user;
            self.up(Indication::Released { session, data: None }, ctx);
        }
    }

    /// Data to send (RFC 9293 section 3.10.2), handed over in pieces as the socket layer does; `end` is the push
    /// (MAY-15).
    pub(crate) fn on_data(&mut self, mut data: Message, end: bool, ctx: &mut Ctx<'_, '_>) {
        if !self.state.may_send() || self.send.fin != Fin::Open {
            ctx.cx.drop("data after release");
            return;
        }
        self.dirty = true;
        ctx.shared.counters.over_credit += self.send.beyond_credit(data.len());
        if self.may_go_at_once(&data, ctx) {
            self.send_at_once(data, end, ctx);
            return;
        }
        self.course = PredictedState::Any;
        let piece = usize::try_from(ctx.shared.config.send_granularity).unwrap_or(0);
        while piece > 0 && data.len() > piece {
            let Ok(front) = data.split_to(piece) else {
                break;
            };
            self.send.queue(front, end);
            self.output(ctx);
        }
        if !data.is_empty() {
            self.send.queue(data, end);
        }
        self.output(ctx);
    }

    /// The user has taken data.
    pub(crate) fn on_credit(&mut self, credit: Credit) {
        let octets = u32::try_from(credit.octets).unwrap_or(u32::MAX);
        self.receive.user = self.receive.user.saturating_sub(octets);
        self.buffers.on_taken(octets);
        self.dirty = true;
    }

    /// The user sends no more (RFC 9293 section 3.10.4).
    pub(crate) fn on_release(&mut self, ctx: &mut Ctx<'_, '_>) {
        match self.state {
            State::SynSent => {
                self.end(None, ctx);
                self.closed(ctx);
            }
            // The FIN goes when the connection is established.
            State::SynReceived => self.send.fin = Fin::Queued,
            State::Established => self.queue_fin(State::FinWait1),
            State::CloseWait => self.queue_fin(State::LastAck),
            State::Closed | State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck | State::TimeWait => {}
        }
    }

    const fn queue_fin(&mut self, next: State) {
        self.send.fin = Fin::Queued;
        self.state = next;
        self.dirty = true;
    }

    /// The user ends at once (RFC 9293 section 3.10.5).
    pub(crate) fn on_abort(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.reset(None, ctx);
    }

    /// The next hop does not answer. What MUST-56 keeps a connection from is what ICMP says; this our own link tells,
    /// and while nobody has answered there is nothing to keep.
    pub(crate) fn on_no_neighbour(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.state.is_before_established() {
            self.end(Some(self.reason_of(Problem::NoNeighbour)), ctx);
        } else {
            self.on_soft_error(Problem::NoNeighbour, ctx);
        }
    }

    /// The layer below says that the peer, or its port, cannot be reached. Where nobody has the port the call is
    /// refused as by a reset, and so it is on Linux.
    pub(crate) fn on_hard_error(&mut self, problem: Problem, ctx: &mut Ctx<'_, '_>) {
        // SHLD-26 asks for an abort; RFC 5927 section 6.1 holds that against the ease of forging, and so do all current
        // stacks: once synchronized, only the time-out ends a connection.
        if self.state.is_before_established() {
            self.end(Some(self.reason_of(problem)), ctx);
        } else {
            self.timeouts.note(problem);
        }
    }
}
