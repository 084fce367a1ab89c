//! The send side: the octets that are not acknowledged yet, and when to send which of them.
//!
//! Sequence numbers are the [`Scoreboard`]'s: SND.UNA and SND.NXT are its `una()` and `nxt()`. The octets are in
//! [`Outgoing`].

use kumiki_graph::{Coalesce, Credit};
use kumiki_octets::{Message, Outgoing};
use kumiki_wire::inet::tcp::Seq;

use super::config::HalfWindow;
use super::scoreboard::{Scoreboard, Span};

/// How far the user's end of the stream has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fin {
    /// The user may send more.
    Open,
    /// A FIN follows the queued data.
    Queued,
    /// It was sent with this sequence number.
    Sent(Seq),
}

/// A segment of new data that may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    pub(crate) octets: u32,
    pub(crate) fin: bool,
}

/// Why there is nothing that may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendLimit {
    /// There is no data.
    Nothing,
    /// The peer's window is closed.
    Window,
    /// The congestion window is full.
    Congestion,
    /// It is small, and something is in flight.
    Coalesce,
    /// It is small compared with the peer's window.
    Silly,
}

/// The send sequence variables of RFC 9293 section 3.3.1 that are not the scoreboard's, and the send buffer.
#[derive(Debug)]
pub(crate) struct Send {
    /// SND.WND; all windows are kept in 32 bits (REC-1).
    pub(crate) wnd: u32,
    /// SND.WL1.
    pub(crate) wl1: Seq,
    /// SND.WL2.
    pub(crate) wl2: Seq,
    /// MAX.SND.WND.
    pub(crate) max_wnd: u32,
    /// One after the highest sequence number ever sent; beyond SND.NXT only after a window probe.
    pub(crate) max: Seq,
    /// Snd.Wind.Shift.
    pub(crate) shift: u8,
    /// Eff.snd.MSS: octets of data in a full segment.
    pub(crate) mss: u32,
    pub(crate) coalesce: Coalesce,
    pub(crate) fin: Fin,
    /// Whether the last data queued was pushed.
    pub(crate) pushed: bool,
    /// End of the last small segment sent (draft-minshall-nagle-01, snd_sml).
    small: Seq,
    pub(crate) buffer: u32,
    /// Credit the user has and has not used.
    granted: u32,
    octets: Outgoing,
    /// The sequence number of the first of them, where it was sent.
    first: Seq,
}

impl Send {
    pub(crate) fn new(iss: Seq, buffer: u32, coalesce: Coalesce) -> Self {
        Self {
            wnd: 0,
            wl1: Seq(0),
            wl2: Seq(0),
            max_wnd: 0,
            max: iss,
            shift: 0,
            mss: 536,
            coalesce,
            fin: Fin::Open,
            pushed: false,
            small: iss,
            buffer,
            granted: 0,
            octets: Outgoing::default(),
            first: iss,
        }
    }

    /// Octets not sent yet.
    pub(crate) fn unsent(&self) -> u32 {
        narrow(self.octets.unsent())
    }

    /// Octets that are not acknowledged or not sent.
    pub(crate) fn held(&self) -> u32 {
        narrow(self.octets.len())
    }

    /// What they take of memory, in octets: what is generated as if it lay there.
    pub(crate) fn memory(&self) -> u32 {
        self.held().max(u32::try_from(self.octets.memory()).unwrap_or(u32::MAX))
    }

    /// Memory is scarce: what is left of large pages is copied out of them.
    pub(crate) fn fit(&mut self) {
        self.octets.fit();
    }

    /// Queues `data`.
    pub(crate) fn queue(&mut self, data: Message, pushed: bool) {
        self.granted = self.granted.saturating_sub(narrow(data.len() as u64));
        self.pushed = pushed;
        self.octets.queue(data);
    }

    /// Whether the user may hand over more.
    pub(crate) const fn has_credit(&self) -> bool {
        self.granted > 0
    }

    /// How many of `octets` the user has no credit for.
    pub(crate) fn beyond_credit(&self, octets: usize) -> u64 {
        (octets as u64).saturating_sub(self.granted.into())
    }

    /// Credit to announce: the room that the user does not know of, once there is enough.
    pub(crate) fn credit(&mut self, low_water: u32) -> Option<Credit> {
        let room = self.buffer.saturating_sub(self.held());
        let news = room.saturating_sub(self.granted);
        if news == 0 || room < low_water.min(self.buffer) {
            return None;
        }
        self.granted = room;
        Some(Credit::octets(news.into()))
    }

    /// The octets of the next segment, or super-segment: `octets` of new data at `seq`. Also how many of them had to be
    /// read for their sum.
    pub(crate) fn take(&mut self, seq: Seq, octets: u32) -> (Message, u64) {
        if self.octets.sent() == 0 {
            self.first = seq;
        }
        // A super-segment is read where it is cut.
        let sum = octets <= self.mss;
        let (segment, read) = self.octets.take(octets.into(), sum, true);
        if !narrow(segment.len() as u64).is_multiple_of(self.mss) {
            self.small = seq.advance(segment.len());
        }
        (segment, read)
    }

    /// Whether `octets` of the user, one segment at most, may go at once: nothing waits in front of them, and they have
    /// room in both windows.
    pub(crate) fn may_pass(&self, octets: u32, board: &Scoreboard, window: u64) -> bool {
        let edge = board.una() + self.wnd;
        let usable = edge.distance_from(board.nxt());
        self.unsent() == 0
            && self.fin == Fin::Open
            && i64::from(octets) <= i64::from(usable)
            && u64::from(board.pipe()) + u64::from(octets) <= window
            && (octets >= self.mss || self.may_be_small(board))
    }

    /// What [`Send::queue`] and [`Send::take`] do for `data` of one segment at most that nothing waits in front of.
    pub(crate) fn pass(&mut self, seq: Seq, data: Message, pushed: bool) -> (Message, u64) {
        let octets = narrow(data.len() as u64);
        self.granted = self.granted.saturating_sub(octets);
        self.pushed = pushed;
        if self.octets.sent() == 0 {
            self.first = seq;
        }
        if !octets.is_multiple_of(self.mss) {
            self.small = seq + octets;
        }
        self.octets.pass(data)
    }

    /// The first unsent octet, left where it is: for a probe of a closed window.
    pub(crate) fn peek(&self) -> Message {
        self.octets.peek()
    }

    /// How many octets from the first that is kept `seq` is.
    fn place(&self, seq: Seq) -> u64 {
        u64::try_from(seq.distance_from(self.first)).unwrap_or(0)
    }

    /// The octets of `span` once more; fewer where it holds the FIN.
    pub(crate) fn again(&self, span: Span) -> Message {
        let (start, end) = (self.place(span.start), self.place(span.end));
        self.octets.again(self.octets.first() + start, end.saturating_sub(start))
    }

    /// Lets go of everything before `una`.
    pub(crate) fn release(&mut self, una: Seq) {
        let gone = self.place(una).min(self.octets.sent());
        self.octets.release(self.octets.first() + gone);
        self.first += narrow(gone);
    }

    /// Gives back the memory that its queues have taken beyond what they hold.
    pub(crate) fn fit_room(&mut self) {
        self.octets.fit_room();
    }

    /// Forgets all data: the connection is over.
    pub(crate) fn clear(&mut self) {
        self.octets.clear();
    }

    /// Whether everything, the FIN included, has been sent and acknowledged.
    pub(crate) fn fin_acked(&self, una: Seq) -> bool {
        matches!(self.fin, Fin::Sent(at) if una.gt(at))
    }

    /// Whether coalescing lets a small segment go.
    fn may_be_small(&self, board: &Scoreboard) -> bool {
        match self.coalesce {
            Coalesce::Never => true,
            // SHLD-7.
            Coalesce::Nagle => board.una() == board.nxt(),
            Coalesce::Minshall => self.small.leq(board.una()),
        }
    }

    /// The next segment of new data, by the rules of RFC 9293 section 3.8.6.2.1 (MUST-38, SHLD-28); `window` is the
    /// congestion window and `forced` overrides silly window avoidance. Behind a window that shrank there is none
    /// (MUST-34, SHLD-15).
    pub(crate) fn next(
        &self,
        board: &Scoreboard,
        window: u64,
        half: HalfWindow,
        forced: bool,
    ) -> Result<Next, SendLimit> {
        let d = self.unsent();
        let fin = self.fin == Fin::Queued;
        if d == 0 {
            // A FIN by itself needs no window: there is nothing to hold it in.
            return if fin { Ok(Next { octets: 0, fin }) } else { Err(SendLimit::Nothing) };
        }
        let edge = board.una() + self.wnd;
        let usable = u32::try_from(edge.distance_from(board.nxt())).unwrap_or(0);
        if usable == 0 {
            return Err(SendLimit::Window);
        }
        let room = window.saturating_sub(board.pipe().into());
        let u = usable.min(u32::try_from(room).unwrap_or(u32::MAX));
        if u == 0 {
            return Err(SendLimit::Congestion);
        }
        let octets = d.min(u).min(self.mss);
        let all = octets == d;
        let next = Next { octets, fin: fin && all };
        if octets >= self.mss || next.fin || forced {
            return Ok(next);
        }
        let may_be_small = self.may_be_small(board);
        let half_window = octets >= self.max_wnd.div_ceil(2);
        let half_goes = match half {
            HalfWindow::Off => false,
            HalfWindow::Rfc => half_window && may_be_small,
            HalfWindow::Always => half_window,
        };
        if (all && may_be_small) || half_goes {
            Ok(next)
        } else if u < usable && u < self.mss.min(d) {
            Err(SendLimit::Congestion)
        } else if may_be_small {
            Err(SendLimit::Silly)
        } else {
            Err(SendLimit::Coalesce)
        }
    }

    /// A full segment `next` with those that may follow it at once, as many as `burst` and a datagram can hold: what
    /// [`Send::next`] would say again and again, but for a small segment at the end where that depends on an answer.
    pub(crate) fn lengthen(&self, next: Next, board: &Scoreboard, window: u64, burst: u32) -> Next {
        if next.octets != self.mss || next.octets == self.unsent() {
            return next;
        }
        let edge = board.una() + self.wnd;
        let usable = u32::try_from(edge.distance_from(board.nxt())).unwrap_or(0);
        let room = window.saturating_sub(board.pipe().into());
        let u = usable.min(u32::try_from(room).unwrap_or(u32::MAX));
        let most = u.min(LONGEST).min(self.mss.saturating_mul(burst));
        let fin = self.fin == Fin::Queued;
        let d = self.unsent();
        if d <= most && (fin || self.coalesce == Coalesce::Never || d.is_multiple_of(self.mss)) {
            return Next { octets: d, fin };
        }
        let full = d.min(most) / self.mss * self.mss;
        Next { octets: full.max(self.mss), fin: false }
    }
}

/// The most octets of text in a super-segment: what a datagram can hold beside the longest headers of IP and TCP.
const LONGEST: u32 = 65_535 - 120;

fn narrow(octets: u64) -> u32 {
    u32::try_from(octets).unwrap_or(u32::MAX)
}
