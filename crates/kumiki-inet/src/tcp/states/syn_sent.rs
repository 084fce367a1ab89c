//! SYN-SENT: RFC 9293 section 3.10.7.3.

use kumiki_graph::Reason;
use kumiki_wire::inet::tcp::Flags;

use super::State;
use crate::tcp::receive::AckReason;
use crate::tcp::segment::{self, Segment};
use crate::tcp::session::{Ctx, Session};

impl Session {
    /// Calls the peer.
    pub(crate) fn call(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.state = State::SynSent;
        self.send_syn(ctx);
    }

    /// Answers the SYN of a peer that has not heard of ours.
    pub(crate) fn answer_call(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        self.state = State::SynSent;
        self.in_syn_sent(segment, ctx);
    }

    pub(super) fn in_syn_sent(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        let acked = segment.has(Flags::ACK);
        if acked && (segment.ack.leq(self.iss) || segment.ack.gt(self.send.max)) {
            let options = ctx.shared.unit_options();
            if segment::reset(&self.pair, &segment, options, ctx.cx) {
                ctx.shared.counters.resets_sent += 1;
            }
            return;
        }
        if segment.has(Flags::RST) {
            if acked {
                ctx.shared.counters.resets_received += 1;
                self.end(Some(Reason::Refused), ctx);
            }
            return;
        }
        if !segment.has(Flags::SYN) {
            return;
        }
        self.dirty = true;
        self.receive.start(segment.seq);
        self.learn_route(&segment, ctx);
        self.negotiate(&segment.options, ctx);
        self.agree_on_ecn(&segment, acked, ctx);
        self.take_syn_window(segment.window, segment.seq, segment.ack);
        if !acked {
            // Simultaneous open (MUST-10).
            self.state = State::SynReceived;
            self.send_syn(ctx);
            self.queue_early(segment.text, segment.flags.contains(Flags::FIN));
            return;
        }
        self.syn_acked(&segment, ctx);
        self.receive.owe_now(AckReason::Syn);
        self.established(ctx);
        // Text and FIN that came with the SYN,ACK.
        let mut rest = segment;
        rest.seq += 1;
        self.take_text(rest, ctx);
        if self.must_show_handshake() && !self.ended {
            self.send_ack(AckReason::Syn, ctx);
        }
    }
}
