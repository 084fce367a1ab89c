//! A station of a ring: what waits there, and how long the token has been away.
//!
//! | Timer, counter | Here |
//! |---|---|
//! | TRT | `rotates_by`: when the timer that was set to the target expires |
//! | THT | what [`Station::visit`] gives |
//! | `Late_Ct` | whether `rotates_by` has passed: the timer starts again at its expiry, and lateness is carried on that way |

use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::fddi::{LEN, LINE_OVERHEAD};

use super::StationConfig;
use super::token::turns;
use crate::mark::mark;
use crate::{Backlog, Discipline, Outlet, Unit};

/// What a station has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Frames sent.
    pub frames: u64,
    /// Octets of the line that they took.
    pub octets: u64,
    /// Frames for which there was no room, or that are none.
    pub drops: u64,
    /// Frames that got a mark of congestion.
    pub marks: u64,
    /// Tokens held.
    pub tokens: u64,
    /// Tokens passed on though there were frames: they had come late.
    pub late: u64,
    /// The longest time between two tokens.
    pub longest_rotation: Duration,
}

struct Waiting {
    since: Instant,
    number: u64,
    data: Message,
    address: Address,
}

pub(super) struct Station {
    pub(super) config: StationConfig,
    discipline: Box<dyn Discipline>,
    queue: VecDeque<Waiting>,
    backlog: Backlog,
    /// The frame that is being sent: its number and address.
    sending: Option<(u64, Address)>,
    offered: u64,
    /// When the token came last.
    came: Instant,
    rotates_by: Instant,
    tally: Tally,
}

impl Station {
    pub(super) fn new(config: StationConfig, discipline: Box<dyn Discipline>, ttrt: Duration) -> Self {
        Self {
            config,
            discipline,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            sending: None,
            offered: 0,
            came: Instant::ZERO,
            rotates_by: Instant::ZERO + ttrt,
            tally: Tally::default(),
        }
    }

    pub(super) const fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Since when there has been something to send.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        self.queue.front().map(|frame| frame.since)
    }

    /// A frame from the host; true where it is the first that waits.
    pub(super) fn offer(
        &mut self,
        now: Instant,
        (mut data, address): (Message, Address),
        is_frame: bool,
        (port, out): (usize, &mut Outlet),
    ) -> bool {
        let number = self.offered;
        self.offered += 1;
        let octets = data.len() as u64;
        if !is_frame || !self.discipline.admit(now, self.backlog, octets) {
            self.refuse((number, address), (port, out));
            return false;
        }
        if self.discipline.marks(now, self.backlog) {
            self.tally.marks += u64::from(mark(&mut data));
        }
        data.set_lease(None);
        self.queue.push_back(Waiting { since: now, number, data, address });
        self.backlog.frames += 1;
        self.backlog.octets += octets;
        // It waits for the token even where no other frame does.
        self.backlog.busy = true;
        self.queue.len() == 1
    }

    fn refuse(&mut self, (number, address): (u64, Address), (port, out): (usize, &mut Outlet)) {
        self.tally.drops += 1;
        let whole = false;
        out.put(port, Unit::Sent { number, address, whole });
    }

    /// Takes the next frame to be sent at `now`.
    pub(super) fn start(&mut self, now: Instant, (port, out): (usize, &mut Outlet)) -> Option<(Message, Address)> {
        while let Some(frame) = self.queue.pop_front() {
            self.backlog.frames -= 1;
            self.backlog.octets -= frame.data.len() as u64;
            let waited = now.saturating_since(frame.since);
            let Waiting { number, data, address, .. } = frame;
            if !self.discipline.release(now, waited, self.backlog) {
                self.backlog.busy = !self.queue.is_empty();
                self.refuse((number, address), (port, out));
                continue;
            }
            self.sending = Some((number, address));
            self.tally.frames += 1;
            self.tally.octets += (LINE_OVERHEAD - LEN + data.len()) as u64;
            return Some((data, address));
        }
        None
    }

    /// The frame that was being sent has left.
    pub(super) fn sent(&mut self, (port, out): (usize, &mut Outlet)) {
        if let Some((number, address)) = self.sending.take() {
            self.backlog.busy = !self.queue.is_empty();
            let whole = true;
            out.put(port, Unit::Sent { number, address, whole });
        }
    }

    /// The token comes at `now`, and there are frames: until when they may be begun, where it is not late.
    pub(super) fn visit(&mut self, now: Instant, ttrt: Duration) -> Option<Instant> {
        let until = self.seen(now, ttrt);
        if until.is_some() {
            self.tally.tokens += 1;
        } else {
            self.tally.late += 1;
        }
        until
    }

    fn seen(&mut self, now: Instant, ttrt: Duration) -> Option<Instant> {
        let rotation = now.saturating_since(self.came);
        self.tally.longest_rotation = self.tally.longest_rotation.max(rotation);
        self.came = now;
        if now < self.rotates_by {
            let held = self.rotates_by.saturating_since(now);
            self.rotates_by = now + ttrt;
            return Some(now + held);
        }
        // Late_Ct: the timer has expired, once or more, and runs on.
        while self.rotates_by <= now {
            self.rotates_by += ttrt;
        }
        None
    }

    /// The token has passed at `first` and then every `around`, until before `now`.
    pub(super) fn passes(&mut self, first: Instant, around: Duration, now: Instant, ttrt: Duration) {
        let mut at = first;
        while at < now {
            if self.seen(at, ttrt).is_some() {
                // All turns from here on are alike: only the last one counts.
                let rest = now.saturating_since(at).saturating_sub(Duration::from_nanos(1));
                let last = at + turns(rest, around, false);
                if last > at {
                    self.tally.longest_rotation = self.tally.longest_rotation.max(around);
                    (self.came, self.rotates_by) = (last, last + ttrt);
                }
                return;
            }
            at += around;
        }
    }
}
