//! The sending end of a line: a queue, and frames that go on the line one behind the other.

use std::collections::VecDeque;
use std::sync::Arc;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;

use super::Opportunities;
use super::carrier::Pace;
use super::{Carrier, SerialConfig};
use crate::mark::mark;
use crate::{Backlog, Discipline, Occupancy, Outlet, Unit};

/// A frame that waits.
struct Waiting {
    since: Instant,
    number: u64,
    data: Message,
    address: Address,
}

/// The end of a frame on the line, for [`Unit::Sent`].
struct Leaving {
    at: Instant,
    number: u64,
    address: Address,
}

/// A frame that has been put on the line.
pub(crate) struct Started {
    /// When its last bit is on the line.
    pub(crate) ends: Instant,
    /// On SONET/SDH: the first octet of payload that it has.
    pub(crate) first: u64,
    pub(crate) data: Message,
    pub(crate) address: Address,
}

/// What one end has sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Frames put on the line.
    pub(crate) frames: u64,
    /// Octets of the line that they took; of a bit-synchronous one whole ones.
    pub(crate) octets: u64,
    /// Frames for which there was no room.
    pub(crate) drops: u64,
    /// Frames that got a mark of congestion.
    pub(crate) marks: u64,
    /// In which the line carries what has been put on it so far.
    pub(crate) busy: Duration,
}

/// The sending end of a line. Each frame that goes on the line is shown, in order, to the `carry` of the call that puts it there.
pub(crate) struct Sending {
    pub(crate) config: SerialConfig,
    discipline: Box<dyn Discipline>,
    queue: VecDeque<Waiting>,
    backlog: Backlog,
    leaving: VecDeque<Leaving>,
    pace: Pace,
    free_at: Instant,
    offered: u64,
    /// Bits of the line that frames took.
    bits: u64,
    tally: Tally,
    occupancy: Occupancy,
}

impl Sending {
    pub(crate) fn new(config: SerialConfig, discipline: Box<dyn Discipline>) -> Self {
        Self {
            config,
            discipline,
            queue: VecDeque::new(),
            backlog: Backlog::default(),
            leaving: VecDeque::new(),
            pace: Pace::default(),
            free_at: Instant::ZERO,
            offered: 0,
            bits: 0,
            tally: Tally::default(),
            occupancy: Occupancy::default(),
        }
    }

    /// From here on frames are put on the line as `config` has it; the one on it keeps its time.
    pub(crate) fn set_config(&mut self, config: SerialConfig) {
        let same = match (&self.config.carrier, &config.carrier) {
            // Where the next frame may begin does not depend on how it stands in the payload.
            (Carrier::Sonet { clock, .. }, Carrier::Sonet { clock: next, .. }) => clock == next,
            (Carrier::Synchronous { rate, .. }, Carrier::Synchronous { rate: next, .. }) => rate == next,
            (a, b) => a == b,
        };
        if !same {
            // A busy time is counted at one rate, and begins anew with the frame that comes next.
            self.pace.begin_anew();
        }
        self.config = config;
    }

    /// From here on frames go when `times` says.
    pub(crate) fn follow(&mut self, times: Arc<Opportunities>) {
        self.pace.follow(times);
    }

    /// No frame begins before `until`.
    pub(crate) fn hold(&mut self, until: Instant) {
        if self.free_at < until {
            self.free_at = until;
            self.pace.begin_anew();
        }
    }

    /// From here on `discipline` decides.
    pub(crate) fn set_discipline(&mut self, discipline: Box<dyn Discipline>) {
        self.discipline = discipline;
    }

    /// What waits.
    pub(crate) const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// What has been sent.
    pub(crate) const fn tally(&self) -> Tally {
        Tally { octets: self.bits / 8, ..self.tally }
    }

    /// How long the queue was, until `now`. What has left since it was last asked for anything still waits as far as this knows.
    pub(crate) fn occupancy(&self, now: Instant) -> Occupancy {
        self.occupancy.until(now, self.backlog.frames)
    }

    /// On SONET/SDH: the first octet of payload that no frame has.
    pub(crate) const fn next_free(&self) -> u64 {
        self.pace.next_free()
    }

    /// When [`Unit::Sent`] is to be said next.
    pub(crate) fn next_leaving(&self) -> Option<Instant> {
        self.leaving.front().map(|frame| frame.at)
    }

    fn refuse(&mut self, number: u64, address: Address, back: (usize, &mut Outlet)) {
        self.tally.drops += 1;
        let (port, out) = back;
        if self.config.say_sent {
            let whole = false;
            out.put(port, Unit::Sent { number, address, whole });
        }
    }

    /// A frame comes in by the port of `back`.
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        mut data: Message,
        address: Address,
        back: (usize, &mut Outlet),
        carry: &mut impl FnMut(Started),
    ) {
        let (port, out) = back;
        self.advance(now, (port, out), carry);
        let number = self.offered;
        self.offered += 1;
        let octets = data.len() as u64;
        // At the very instant it falls free the line goes on without a gap.
        let idle = self.queue.is_empty() && now >= self.free_at;
        self.backlog.busy = !idle;
        if !self.discipline.admit(now, self.backlog, octets) {
            self.refuse(number, address, (port, out));
            return;
        }
        if self.discipline.marks(now, self.backlog) {
            self.tally.marks += u64::from(mark(&mut data));
        }
        if idle {
            carry(self.start(now, true, number, data, address));
        } else {
            self.occupancy.change(now, self.backlog.frames);
            self.backlog.frames += 1;
            self.backlog.octets += octets;
            self.queue.push_back(Waiting { since: now, number, data, address });
        }
    }

    /// Puts a frame on the line, which is free at `at`, when the frame has come or, unless it is `fresh`, has been there before.
    fn start(&mut self, at: Instant, fresh: bool, number: u64, mut data: Message, address: Address) -> Started {
        let before = self.free_at.max(at);
        let size = self.config.carrier.size_of(&data);
        let gap = at > self.free_at;
        self.free_at = self.pace.carry(&self.config.carrier, at, (gap, fresh), size);
        self.tally.busy += self.free_at.saturating_since(before);
        self.tally.frames += 1;
        self.bits += self.config.carrier.bits_of_size(size);
        data.set_lease(None);
        if self.config.say_sent {
            self.leaving.push_back(Leaving { at: self.free_at, number, address });
        }
        Started { ends: self.free_at, first: self.pace.next_free().saturating_sub(size), data, address }
    }

    /// Lets waiting frames follow each other on the line up to `now`.
    pub(crate) fn advance(&mut self, now: Instant, back: (usize, &mut Outlet), carry: &mut impl FnMut(Started)) {
        let (port, out) = back;
        while self.free_at <= now {
            let Some(frame) = self.queue.pop_front() else {
                return;
            };
            let at = self.free_at.max(frame.since);
            self.occupancy.change(at, self.backlog.frames);
            self.backlog.frames -= 1;
            self.backlog.octets -= frame.data.len() as u64;
            let waited = at.saturating_since(frame.since);
            if self.discipline.release(at, waited, self.backlog) {
                carry(self.start(at, frame.since == at, frame.number, frame.data, frame.address));
            } else {
                self.refuse(frame.number, frame.address, (port, out));
            }
        }
    }

    /// Says of the frames whose last bit has left by `now` that they have.
    pub(crate) fn leave(&mut self, now: Instant, back: (usize, &mut Outlet)) {
        let (port, out) = back;
        while let Some(frame) = self.leaving.pop_front_if(|frame| frame.at <= now) {
            let Leaving { number, address, .. } = frame;
            out.put(port, Unit::Sent { number, address, whole: true });
        }
    }
}
