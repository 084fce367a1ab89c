//! The way into TIME-WAIT. The session ends with the batch, and what is left of it goes to [`crate::tcp::time_waits`].

use kumiki_wire::inet::tcp::Flags;

use super::State;
use crate::tcp::challenge::Plausibility;
use crate::tcp::segment::Segment;
use crate::tcp::session::{Ctx, Session};
use crate::tcp::time_waits::TimeWaitEntry;
use crate::tcp::timers::Timer;

impl Session {
    /// To the user the connection is over; TIME-WAIT is between TCPs.
    pub(super) fn enter_time_wait(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.state = State::TimeWait;
        for timer in [
            Timer::Retransmit,
            Timer::Persist,
            Timer::SwsOverride,
            Timer::UserTimeout,
            Timer::KeepAlive,
            Timer::FinWait2,
        ] {
            self.timers.clear(timer);
        }
        self.send.clear();
        self.dirty = true;
        self.closed(ctx);
    }

    /// The rest of the batch in which TIME-WAIT was entered.
    pub(super) fn in_time_wait(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        let at_nxt = segment.seq == self.receive.nxt;
        let answered = if segment.has(Flags::RST) {
            !at_nxt && segment.seq.is_within(self.receive.nxt, self.receive.window())
        } else {
            !at_nxt || segment.len() > 0
        };
        if answered {
            self.challenge(Plausibility::Impossible, ctx);
        }
    }

    /// The batch is over, and all that was owed has been sent.
    pub(crate) fn leave_time_wait_entry(&mut self, ctx: &mut Ctx<'_, '_>) {
        let unit = 1u32 << self.receive.shift;
        let window = self.receive.window().div_ceil(unit);
        let how = self.unit_options();
        self.time_wait = Some(Box::new(TimeWaitEntry {
            pair: self.pair,
            snd_nxt: self.board.nxt(),
            max_wnd: self.send.max_wnd,
            rcv_nxt: self.receive.nxt,
            window: u16::try_from(window).unwrap_or(u16::MAX),
            shift: self.receive.shift,
            ttl: how.ttl,
            tos: how.tos,
            ecn: self.ecn.feedback(),
            route: self.route.gateways.take(),
            ts_recent: self.timestamps.then_some(self.receive.ts_recent.0),
            answered: Default::default(),
            due: ctx.now(),
        }));
        self.end(None, ctx);
    }
}
