//! CLOSING and LAST-ACK: both FINs are sent, ours is not acknowledged.

use kumiki_wire::inet::tcp::Flags;

use super::State;
use crate::tcp::segment::Segment;
use crate::tcp::session::{Io, Session};

impl Session {
    pub(super) fn in_closing(&mut self, segment: &Segment, io: &mut Io<'_, '_>) {
        if !self.passes_checks(segment, io) || !self.accepts_ack(segment, io) {
            return;
        }
        self.believe(segment, io);
        self.take_ack(segment, io);
        self.take_ecn(segment.arrived(), segment.has(Flags::CWR), io);
        if !self.send.fin_acked(self.board.una()) {
            return;
        }
        if self.state == State::Closing {
            self.enter_time_wait(io);
        } else {
            self.closed(io);
            self.end(None, io);
        }
    }
}
