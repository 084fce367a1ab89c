//! SYN-SENT: RFC 9293 section 3.10.7.3.

use kumiki_graph::Reason;
use kumiki_wire::inet::tcp::Flags;

use super::State;
use crate::tcp::receive::AckReason;
use crate::tcp::segment::{self, Segment};
use crate::tcp::session::{Io, Session};

impl Session {
    /// Calls the peer.
    pub(crate) fn call(&mut self, io: &mut Io<'_, '_>) {
        self.state = State::SynSent;
        self.send_syn(io);
    }

    pub(super) fn in_syn_sent(&mut self, segment: Segment, io: &mut Io<'_, '_>) {
        let acked = segment.has(Flags::ACK);
        if acked && (segment.ack.leq(self.iss) || segment.ack.gt(self.send.max)) {
            let options = io.shared.unit_options();
            if segment::reset(&self.pair, &segment, options, io.cx) {
                io.shared.counters.resets_sent += 1;
            }
            return;
        }
        if segment.has(Flags::RST) {
            if acked {
                io.shared.counters.resets_received += 1;
                self.end(Some(Reason::Refused), io);
            }
            return;
        }
        if !segment.has(Flags::SYN) {
            return;
        }
        self.stirred = true;
        self.receive.start(segment.seq);
        self.take_way(&segment, io);
        self.negotiate(&segment.options, io);
        self.agree_on_ecn(&segment, acked, io);
        self.take_syn_window(segment.window, segment.seq, segment.ack);
        if !acked {
            // Simultaneous open (MUST-10).
            self.state = State::SynReceived;
            self.send_syn(io);
            self.queue_early(segment.text, segment.flags.contains(Flags::FIN));
            return;
        }
        self.syn_acked(&segment, io);
        self.receive.owe_now(AckReason::Syn);
        self.established(io);
        // Text and FIN that came with the SYN,ACK.
        let mut rest = segment;
        rest.seq += 1;
        self.take_text(rest, io);
        if self.must_show_handshake() && !self.ended {
            self.send_ack(AckReason::Syn, io);
        }
    }
}
