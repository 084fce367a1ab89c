//! The sending end of a line: a queue, and frames that go on the line one behind the other.

use std::collections::VecDeque;
use std::sync::Arc;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;

use super::Opportunities;
use super::carrier::Pace;
use super::{Carrier, SerialConfig};
use crate::{Backlog, BusyWatch, Counter, Discipline, Ledger, Occupancy, Outlet, QueuedFrame, Unit};

/// The end of a frame on the line, for [`Unit::Sent`].
struct FrameDeparture {
    at: Instant,
    number: u64,
    address: Address,
}

/// A frame that has been put on the line.
pub(crate) struct SentFrame {
    /// When its last bit is on the line.
    pub(crate) ends: Instant,
    /// On SONET/SDH: the first octet of payload that it has.
    #[cfg_attr(not(feature = "ppp"), expect(dead_code, reason = "for their sections"))]
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
    /// Frames that were given up.
    pub(crate) drops: u64,
    /// Of these, frames to groups of stations, where they are counted.
    pub(crate) group_drops: u64,
    /// Frames that got a mark of congestion.
    pub(crate) marks: u64,
    /// In which the line carries what has been put on it so far.
    pub(crate) busy: Duration,
}

/// The sending end of a line. Each frame that goes on the line is shown, in order, to the `carry` of the call that puts
/// it there.
pub(crate) struct Sending {
    pub(crate) config: SerialConfig,
    discipline: Box<dyn Discipline>,
    /// How many frames wait there.
    frames: u64,
    /// Whether the frame that came last found a frame on the line.
    busy: bool,
    leaving: VecDeque<FrameDeparture>,
    pace: Pace,
    free_at: Instant,
    offered: u64,
    /// Bits of the line that frames took.
    bits: u64,
    tally: Tally,
    /// Whether frames are Ethernet's, and those to groups counted apart.
    has_groups: bool,
    occupancy: Occupancy,
    watch: Option<BusyWatch>,
}

impl Sending {
    pub(crate) fn new(config: SerialConfig, discipline: Box<dyn Discipline>) -> Self {
        Self {
            config,
            discipline,
            frames: 0,
            busy: false,
            leaving: VecDeque::new(),
            pace: Pace::default(),
            free_at: Instant::ZERO,
            offered: 0,
            bits: 0,
            tally: Tally::default(),
            has_groups: false,
            occupancy: Occupancy::default(),
            watch: None,
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
            // A busy time is counted at one rate, and starts over with the frame that comes next.
            self.pace.begin_again();
        }
        self.config = config;
    }

    /// From here on frames are Ethernet's, and those to groups that are given up are counted apart.
    pub(crate) const fn count_groups(&mut self) {
        self.has_groups = true;
    }

    /// From here on `watch` is told of each frame from when until when it is on the line.
    pub(crate) fn watch(&mut self, watch: BusyWatch) {
        self.watch = Some(watch);
    }

    /// Whether they are.
    pub(crate) const fn has_groups(&self) -> bool {
        self.has_groups
    }

    /// From here on frames go when `times` says.
    pub(crate) fn follow(&mut self, times: Arc<Opportunities>) {
        self.pace.follow(times);
    }

    /// From here on frames go at the carrier's rate.
    pub(crate) fn follow_none(&mut self) {
        self.pace.follow_none();
    }

    /// No frame begins before `until`.
    pub(crate) fn hold(&mut self, until: Instant) {
        if self.free_at < until {
            self.free_at = until;
            self.pace.begin_again();
        }
    }

    /// From here on `discipline` decides, and holds what waits.
    pub(crate) fn set_discipline(&mut self, mut discipline: Box<dyn Discipline>) {
        discipline.hold(self.discipline.take_all());
        self.discipline = discipline;
    }

    /// What waits.
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { busy: self.busy, frames: self.frames, octets: self.discipline.octets() }
    }

    /// Whether anything waits.
    pub(crate) const fn has_waiting(&self) -> bool {
        self.frames > 0
    }

    /// What the discipline counts beside drops and marks, by its name at a line's end `end` (0, or else 1).
    pub(crate) fn counters(&self, end: usize) -> impl Iterator<Item = (&'static str, u64)> {
        let named = move |Counter { names: [_, a, b], value }| (if end == 0 { a } else { b }, value);
        self.discipline.counters().into_iter().map(named)
    }

    /// What has been sent.
    pub(crate) const fn tally(&self) -> Tally {
        Tally { octets: self.bits / 8, ..self.tally }
    }

    /// How long the queue was, until `now`. What has left since it was last asked for anything still waits as far as
    /// this knows.
    pub(crate) fn occupancy(&self, now: Instant) -> Occupancy {
        self.occupancy.until(now, self.frames)
    }

    /// On SONET/SDH: the first octet of payload that no frame has.
    #[cfg(feature = "ppp")]
    pub(crate) const fn next_free(&self) -> u64 {
        self.pace.next_free()
    }

    /// When [`Unit::Sent`] is to be said next.
    pub(crate) fn next_leaving(&self) -> Option<Instant> {
        self.leaving.front().map(|frame| frame.at)
    }

    /// A frame comes in by the port of `back`.
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        data: Message,
        address: Address,
        back: (usize, &mut Outlet),
        carry: &mut impl FnMut(SentFrame),
    ) {
        let (port, out) = back;
        self.advance(now, (port, out), carry);
        let frame = QueuedFrame { since: now, number: self.offered, data, address };
        self.offered += 1;
        // At the very instant it falls free the line goes on without a gap.
        self.busy = self.frames > 0 || now < self.free_at;
        let told = self.config.say_sent.then_some((port, out));
        let groups = self.has_groups.then_some(&mut self.tally.group_drops);
        let mut ledger = Ledger::new(&mut self.tally.drops, &mut self.tally.marks, told).with_groups(groups);
        if self.busy {
            self.discipline.enqueue(now, frame, true, &mut ledger);
            self.waits(now);
        } else if let Some(frame) = self.discipline.pass(now, frame, &mut ledger) {
            carry(self.start(now, true, frame));
        }
    }

    /// From `now` on as many frames wait as the discipline holds.
    fn waits(&mut self, now: Instant) {
        let frames = self.discipline.frames();
        if frames != self.frames {
            self.occupancy.change(now, self.frames);
            self.frames = frames;
        }
    }

    /// Puts a frame on the line, which is free at `at`, when the frame has come or, unless it is `fresh`, has been
    /// there before.
    fn start(&mut self, at: Instant, fresh: bool, frame: QueuedFrame) -> SentFrame {
        let QueuedFrame { number, mut data, address, .. } = frame;
        let before = self.free_at.max(at);
        let size = self.config.carrier.size_of(&data);
        let gap = at > self.free_at;
        self.free_at = self.pace.carry(&self.config.carrier, at, (gap, fresh), size);
        self.tally.busy += self.free_at.saturating_since(before);
        if let Some(watch) = &mut self.watch {
            watch(before, self.free_at);
        }
        self.tally.frames += 1;
        self.bits += self.config.carrier.bits_of_size(size);
        data.set_lease(None);
        if self.config.say_sent {
            self.leaving.push_back(FrameDeparture { at: self.free_at, number, address });
        }
        SentFrame { ends: self.free_at, first: self.pace.next_free().saturating_sub(size), data, address }
    }

    /// Lets waiting frames follow each other on the line up to `now`.
    pub(crate) fn advance(&mut self, now: Instant, back: (usize, &mut Outlet), carry: &mut impl FnMut(SentFrame)) {
        let (port, out) = back;
        while self.frames > 0 && self.free_at <= now {
            let at = self.free_at;
            let told = self.config.say_sent.then_some((port, &mut *out));
            let groups = self.has_groups.then_some(&mut self.tally.group_drops);
            let mut ledger = Ledger::new(&mut self.tally.drops, &mut self.tally.marks, told).with_groups(groups);
            let next = self.discipline.dequeue(at, &mut ledger);
            self.waits(at);
            if let Some(frame) = next {
                carry(self.start(at, frame.since == at, frame));
            }
        }
    }

    /// Says of the frames whose last bit has left by `now` that they have.
    pub(crate) fn leave(&mut self, now: Instant, back: (usize, &mut Outlet)) {
        let (port, out) = back;
        while let Some(frame) = self.leaving.pop_front_if(|frame| frame.at <= now) {
            let FrameDeparture { number, address, .. } = frame;
            out.put(port, Unit::Sent { number, address, whole: true });
        }
    }
}
