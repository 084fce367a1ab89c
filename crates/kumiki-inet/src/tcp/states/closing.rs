//! CLOSING and LAST-ACK: both FINs are sent, ours is not acknowledged.

use kumiki_wire::inet::tcp::Flags;

use super::State;
use crate::tcp::segment::Segment;
use crate::tcp::session::{Ctx, Session};

impl Session {
    pub(super) fn in_closing(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        if !self.passes_checks(segment, ctx) || !self.accepts_ack(segment, ctx) {
            return;
        }
        self.believe(segment, ctx);
        self.take_ack(segment, ctx);
        self.take_ecn(segment.arrived(), segment.has(Flags::CWR), ctx);
        if !self.send.fin_acked(self.board.una()) {
            return;
        }
        if self.state == State::Closing {
            self.enter_time_wait(ctx);
        } else {
            self.closed(ctx);
            self.end(None, ctx);
        }
    }
}
