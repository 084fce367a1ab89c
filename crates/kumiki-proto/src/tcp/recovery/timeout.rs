//! The retransmission timer expired.

use super::Phase;
use crate::tcp::congestion;
use crate::tcp::session::{Io, Session};
use crate::tcp::trace::Event;

impl Session {
    pub(crate) fn on_retransmit_timer(&mut self, io: &mut Io<'_, '_>) {
        if self.board.is_empty() {
            return;
        }
        let now = io.now();
        let again = self.unanswered > 0;
        if !self.may_try_again(io) {
            return;
        }
        io.shared.counters.timeouts += 1;
        self.rtt.back_off();
        if self.state.is_before_established() {
            self.send_syn(io);
            return;
        }
        let loss = congestion::Loss {
            now,
            flight: self.board.flight().into(),
        };
        self.congestion.on_timeout(&loss, again);
        if self.board.has_reneged() {
            self.board.forget_sacks();
        }
        self.board.clear_duplicates();
        self.board.mark_all_lost();
        self.recovery.duplicates = 0;
        self.recovery.phase = Phase::Timeout(self.board.nxt());
        self.recovery.forced = true;
        self.note(Event::TimedOut, now);
        self.arm_retransmit(io);
        self.output(io);
        self.stirred = true;
    }
}
