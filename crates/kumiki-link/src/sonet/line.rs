//! One direction of a section: a transmitter, what happens to its octets on the way, a receiver, and the frames that it
//! finds.
//!
//! Nothing is kept of what is in flight. The octets that a receiver has by now are made only now, as the sender would
//! have made them: what was to be sent is known by then, and so is what its own receiver had found when each frame
//! began.

use crate::sonet::DefectReport;
use std::collections::VecDeque;

use kumiki_graph::{Instant, Report, Rng};
use kumiki_octets::Message;
use kumiki_octets::hdlc::FLAG;
use kumiki_wire::ppp::hdlc::{Deframed, Deframer};

use super::noise::Noise;
use super::section::{FaultInterval, LineFault, SectionConfig};
use super::{Feedback, LineConfig, OctetClock, Receiver, ReceiverEvent, Size, Transmitter};

/// Frames of flags that have passed before time 0, so that the line has long been up then.
const BEFORE: usize = 34;

/// A frame on the line: its octets, stuffed, and the number of the first as payload is counted.
struct Stuffed {
    first: u64,
    octets: Vec<u8>,
}

/// What came out at the far end.
pub(super) enum LineOutput {
    Frame(Message),
    Report(Report),
}

pub(super) struct Line {
    clock: OctetClock,
    frame: u64,
    transmitter: Transmitter,
    noise: Noise,
    troubles: Vec<FaultInterval>,
    receiver: Receiver,
    deframer: Deframer,
    /// What is to be sent, in order, and the number of the octet of payload that is made next.
    payload: VecDeque<Stuffed>,
    next: u64,
    /// Octets of the line that have been made and received since time 0.
    at: u64,
    /// What the frames that are still to be made tell, in order.
    told: VecDeque<Feedback>,
    buffer: Vec<u8>,
    came: Vec<LineOutput>,
    up: bool,
    alarms: u64,
}

impl Line {
    /// A line from an end that sends as `from` says to one that expects what `to` says.
    pub(super) fn new(config: &SectionConfig, from: LineConfig, to: LineConfig, bits: u64) -> Self {
        let clock = config.clock;
        let mut line = Self {
            clock,
            frame: clock.level().frame(),
            transmitter: Transmitter::new(from, clock.pointer(), bits),
            noise: Noise::new(0.0, Rng::new(0, 0)),
            troubles: Vec::new(),
            receiver: Receiver::new(to),
            deframer: Deframer::new(config.framing, config.longest),
            payload: VecDeque::new(),
            next: 0,
            at: 0,
            told: VecDeque::new(),
            buffer: Vec::new(),
            came: Vec::new(),
            up: true,
            alarms: 0,
        };
        line.begin(config);
        line
    }

    /// Lets the line come up before time 0, and tells only what is still so then.
    fn begin(&mut self, config: &SectionConfig) {
        let mut octets = vec![0; Size::of(self.clock.level()).frame];
        for _ in 0..BEFORE {
            self.transmitter.emit(&mut octets, |payload| payload.fill(FLAG));
            // What comes first is no flag yet, as the scramblers do not agree; of the last frame alone nothing is
            // counted.
            self.deframer = Deframer::new(config.framing, config.longest);
            let deframer = &mut self.deframer;
            self.receiver.take(&octets, |heard| {
                if let ReceiverEvent::Payload(payload) = heard {
                    deframer.take(payload, |_, _| {});
                }
            });
        }
        self.transmitter.set_offset(self.clock.offset_ppb());
        self.receiver.reset_counters();
        let _ = self.receiver.take_feedback();
        for defect in self.receiver.defects().iter() {
            let alarm = DefectReport { defect, present: true };
            self.came.push(LineOutput::Report(Report::special(alarm)));
            self.alarms += 1;
        }
        if !self.receiver.is_open() {
            self.came.push(LineOutput::Report(Report::Down));
            self.up = false;
        }
    }

    pub(super) fn set_noise(&mut self, noise: Noise) {
        self.noise = noise;
    }

    pub(super) fn set_troubles(&mut self, troubles: Vec<FaultInterval>) {
        self.troubles = troubles;
    }

    pub(super) const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    pub(super) const fn deframer(&self) -> &Deframer {
        &self.deframer
    }

    pub(super) const fn wrong_bits(&self) -> u64 {
        self.noise.wrong()
    }

    pub(super) const fn alarms(&self) -> u64 {
        self.alarms
    }

    /// What has come out since this was last asked.
    pub(super) fn take_came(&mut self) -> Vec<LineOutput> {
        core::mem::take(&mut self.came)
    }

    /// Puts a frame's octets in, from the octet of payload `first` on.
    pub(super) fn put(&mut self, first: u64, octets: Vec<u8>) {
        self.payload.push_back(Stuffed { first, octets });
    }

    /// What the next frame that begins tells, which no call before has said.
    pub(super) fn tell(&mut self, feedback: Feedback) {
        self.told.push_back(feedback);
    }

    /// What the receiver has to tell the end that it is at.
    pub(super) const fn take_feedback(&mut self) -> Feedback {
        self.receiver.take_feedback()
    }

    /// Whether one frame is like the other, unless something is sent or goes wrong.
    pub(super) fn is_steady(&self) -> bool {
        let calm = Feedback::default();
        self.noise.is_none()
            && self.came.is_empty()
            && self.receiver.is_steady()
            && self.told.iter().all(|feedback| *feedback == calm)
    }

    pub(super) const fn is_noisy(&self) -> bool {
        !self.noise.is_none()
    }

    pub(super) fn troubles(&self) -> &[FaultInterval] {
        &self.troubles
    }

    /// The number of the first octet of the line that begins at `t` or later.
    fn octet_at(&self, t: Instant) -> u64 {
        let (frame, octet) = self.clock.line_octet_at_or_after(t);
        frame.saturating_mul(self.frame).saturating_add(octet)
    }

    /// How many whole frames there are up to octet `target` of the line that nothing would be different in.
    pub(super) fn alike_until(&self, target: u64) -> u64 {
        let mut limit = target;
        match self.payload.front() {
            Some(stuffed) if stuffed.first <= self.next => return 0,
            Some(stuffed) => {
                let (frame, octet) = self.clock.place(stuffed.first);
                limit = limit.min(frame * self.frame + octet);
            }
            None => {}
        }
        for trouble in &self.troubles {
            if self.octet_at(trouble.until) > self.at {
                limit = limit.min(self.octet_at(trouble.from));
            }
        }
        // An alarm begins with a frame: the last one is made.
        (limit.saturating_sub(self.at) / self.frame).saturating_sub(1)
    }

    /// As if so many frames had passed; only so many as [`Line::alike_until`] has said.
    pub(super) const fn skip(&mut self, frames: u64) {
        self.transmitter.skip(frames);
        self.receiver.skip(frames);
        self.at += frames * self.frame;
        self.next += frames * self.clock.level().payload();
    }

    /// Lets octets pass until so many have since time 0.
    pub(super) fn run(&mut self, target: u64) {
        while let Some(left) = target.checked_sub(self.at).filter(|left| *left > 0) {
            let in_frame = self.at % self.frame;
            if in_frame == 0 {
                self.begin_frame();
            }
            let len = usize::try_from(left.min(self.frame - in_frame)).unwrap_or_default();
            self.pass(len);
        }
    }

    fn begin_frame(&mut self) {
        let feedback = self.told.pop_front().unwrap_or_default();
        self.transmitter.set_feedback(feedback);
        let alarm = self.troubles.iter().find_map(|trouble| {
            let (from, until) = (self.octet_at(trouble.from), self.octet_at(trouble.until));
            match trouble.what {
                LineFault::Alarm(alarm) if (from..until).contains(&self.at) => Some(alarm),
                LineFault::Alarm(_) | LineFault::NoSignal => None,
            }
        });
        self.transmitter.set_alarm(alarm);
    }

    fn pass(&mut self, len: usize) {
        let mut octets = core::mem::take(&mut self.buffer);
        octets.resize(len, 0);
        let (payload, next) = (&mut self.payload, &mut self.next);
        self.transmitter.emit(&mut octets, |out| fill(payload, next, out));
        self.noise.apply(&mut octets);
        for trouble in &self.troubles {
            if trouble.what == LineFault::NoSignal {
                let place = |t| {
                    let before = self.octet_at(t).saturating_sub(self.at);
                    usize::try_from(before).unwrap_or(usize::MAX).min(len)
                };
                let (from, until) = (place(trouble.from), place(trouble.until));
                if let Some(quiet) = octets.get_mut(from..until) {
                    quiet.fill(0);
                }
            }
        }
        let Self { receiver, deframer, came, up, alarms, .. } = self;
        receiver.take(&octets, |heard| match heard {
            ReceiverEvent::Payload(payload) => {
                if !*up {
                    *up = true;
                    came.push(LineOutput::Report(Report::Up));
                }
                deframer.take(payload, |_, found| {
                    if let Deframed::Frame(frame) = found {
                        came.push(LineOutput::Frame(Message::from_octets(frame)));
                    }
                });
            }
            ReceiverEvent::Interrupted => {
                deframer.lose();
                *up = false;
                came.push(LineOutput::Report(Report::Down));
            }
            ReceiverEvent::Defect { defect, present } => {
                *alarms += u64::from(present);
                let alarm = DefectReport { defect, present };
                came.push(LineOutput::Report(Report::special(alarm)));
            }
        });
        self.at += len as u64;
        self.buffer = octets;
    }
}

/// The next octets of payload: those of frames, and flags between them.
fn fill(payload: &mut VecDeque<Stuffed>, next: &mut u64, out: &mut [u8]) {
    let mut rest = out;
    while !rest.is_empty() {
        let Some(front) = payload.front() else {
            *next += rest.len() as u64;
            return rest.fill(FLAG);
        };
        let idle = usize::try_from(front.first.saturating_sub(*next)).unwrap_or(usize::MAX);
        if idle > 0 {
            let (flags, after) = rest.split_at_mut(idle.min(rest.len()));
            flags.fill(FLAG);
            *next += flags.len() as u64;
            rest = after;
            continue;
        }
        let done = usize::try_from(*next - front.first).unwrap_or(usize::MAX);
        let octets = front.octets.get(done..).unwrap_or_default();
        let (piece, after) = rest.split_at_mut(octets.len().min(rest.len()));
        piece.copy_from_slice(octets.get(..piece.len()).unwrap_or_default());
        *next += piece.len() as u64;
        rest = after;
        if piece.len() == octets.len() {
            payload.pop_front();
        }
    }
}
