//! A station of a ring: what waits there, and how long the token has been away.
//!
//! | Timer, counter | Here |
//! |---|---|
//! | TRT | `rotates_by`: when the timer that was set to the target expires |
//! | THT | what [`Station::visit`] gives |
//! | `Late_Ct` | whether `rotates_by` has passed: the timer starts again at its expiry, and lateness is carried on that way |

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::fddi::{LEN, LINE_OVERHEAD};

use super::StationConfig;
use super::token::turns;
use crate::{Backlog, Counter, Discipline, Ledger, Occupancy, Outlet, QueuedFrame, Unit};

/// What a station has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Frames sent.
    pub frames: u64,
    /// Octets of the line that they took.
    pub octets: u64,
    /// Frames that were given up, or that are malformed.
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

pub(super) struct Station {
    pub(super) config: StationConfig,
    discipline: Box<dyn Discipline>,
    /// How many frames wait there.
    frames: u64,
    occupancy: Occupancy,
    /// Since when there has been something to send.
    waits_since: Option<Instant>,
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
            frames: 0,
            occupancy: Occupancy::default(),
            waits_since: None,
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

    pub(super) fn backlog(&self) -> Backlog {
        let (frames, octets) = (self.discipline.frames(), self.discipline.octets());
        Backlog { busy: self.is_busy(), frames, octets }
    }

    /// How long the queue was, until `now`: a frame that waits for the token is in it, and one that is sent is not.
    pub(super) fn occupancy(&self, now: Instant) -> Occupancy {
        self.occupancy.until(now, self.frames)
    }

    /// What the discipline counts beside drops and marks.
    pub(super) fn counters(&self) -> Vec<Counter> {
        self.discipline.counters()
    }

    /// Whether a frame that comes must wait for another: one that waits for the token, too, even where no other does.
    pub(super) const fn is_busy(&self) -> bool {
        self.waits_since.is_some() || self.sending.is_some()
    }

    /// Since when there has been something to send.
    pub(super) const fn waits_since(&self) -> Option<Instant> {
        self.waits_since
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
        let busy = self.is_busy();
        let mut ledger = Ledger::new(&mut self.tally.drops, &mut self.tally.marks, Some((port, out)));
        data.set_lease(None);
        let frame = QueuedFrame { since: now, number, data, address };
        if is_frame {
            self.discipline.enqueue(now, frame, busy, &mut ledger);
        } else {
            ledger.drop(frame);
        }
        let was_empty = self.waits_since.is_none();
        self.waits(now);
        was_empty && self.waits_since.is_some()
    }

    /// Looks at `now` whether anything waits.
    fn waits(&mut self, now: Instant) {
        let frames = self.discipline.frames();
        if frames != self.frames {
            self.occupancy.change(now, self.frames);
            self.frames = frames;
        }
        let since = self.waits_since.unwrap_or(now);
        self.waits_since = (frames > 0).then_some(since);
    }

    /// Takes the next frame to be sent at `now`.
    pub(super) fn start(&mut self, now: Instant, (port, out): (usize, &mut Outlet)) -> Option<(Message, Address)> {
        let mut ledger = Ledger::new(&mut self.tally.drops, &mut self.tally.marks, Some((port, out)));
        let frame = self.discipline.dequeue(now, &mut ledger);
        self.waits(now);
        let QueuedFrame { number, data, address, .. } = frame?;
        self.sending = Some((number, address));
        self.tally.frames += 1;
        self.tally.octets += (LINE_OVERHEAD - LEN + data.len()) as u64;
        Some((data, address))
    }

    /// The frame that was being sent has left.
    pub(super) fn sent(&mut self, (port, out): (usize, &mut Outlet)) {
        if let Some((number, address)) = self.sending.take() {
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
