//! TIME-WAIT: both directions have ended, and old segments may still be under way.

use kumiki_wire::tcp::{Flags, Seq};

use super::State;
use crate::tcp::segment::Segment;
use crate::tcp::session::{Io, Session};
use crate::tcp::timers::Timer;

impl Session {
    /// To the user the connection is over (MUST-13 is between TCPs).
    pub(super) fn enter_time_wait(&mut self, io: &mut Io<'_, '_>) {
        self.state = State::TimeWait;
        for timer in [
            Timer::Retransmit,
            Timer::Persist,
            Timer::SwsOverride,
            Timer::UserTimeout,
            Timer::KeepAlive,
        ] {
            self.timers.clear(timer);
        }
        self.send.clear();
        self.restart_time_wait(io);
        self.closed(io);
    }

    fn restart_time_wait(&mut self, io: &mut Io<'_, '_>) {
        let delay = io.shared.config.time_wait;
        let at = self.slow(delay, io);
        self.timers.set(Timer::TimeWait, at, io.cx);
    }

    pub(super) fn in_time_wait(&mut self, segment: &Segment, io: &mut Io<'_, '_>) {
        if segment.has(Flags::RST) {
            // RFC 1337: a reset does not shorten TIME-WAIT.
            return;
        }
        if segment.has(Flags::FIN) && segment.seq + segment.len() == self.receive.nxt {
            self.restart_time_wait(io);
        }
        if segment.len() > 0 || segment.seq != self.receive.nxt {
            self.challenge(segment, io);
        }
    }

    /// Whether a SYN may begin a new connection in place of this one: RFC 9293 MAY-2, with timestamps RFC 6191.
    pub(crate) fn may_be_replaced(&self, segment: &Segment) -> bool {
        if self.state != State::TimeWait
            || !segment.has(Flags::SYN)
            || segment.has(Flags::ACK)
            || segment.has(Flags::RST)
        {
            return false;
        }
        let later = segment.seq.gt(self.receive.nxt);
        match segment.options.timestamps {
            Some((value, _)) if self.timestamps => {
                let recent = Seq(self.receive.ts_recent.0);
                Seq(value).gt(recent) || (Seq(value) == recent && later)
            }
            _ => later,
        }
    }
}
