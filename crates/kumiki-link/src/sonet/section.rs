//! A point-to-point line of SONET/SDH, octet by octet, that carries HDLC-like frames.
//!
//! | | |
//! |---|---|
//! | Specification | what [`super::Transmitter`], [`super::Receiver`] and [`Framing`] say |
//! | Model | of each direction: a queue, octet stuffing, frames of 125 us, wrong bits and outages, propagation, a receiver, unstuffing |
//! | Left out | regenerators and multiplexers between the ends: section, line and path are between the same two; jitter of the line's clock |
//!
//! Frames are delivered and [`Unit::Sent`] is said at the nanosecond at which [`crate::Serial`] with a carrier of
//! SONET/SDH does so, unless something goes wrong. Alarms are told at the end of the line's frame in which they are
//! found, or before.

use std::borrow::Cow;
use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant, Rng};
use kumiki_wire::ppp::hdlc::{FcsKind, Framing};

use super::clock::FRAME_NANOS;
use super::line::{Line, LineOutput};
use super::noise::Noise;
use super::{Alarm, Level, LineConfig, OctetClock};
use crate::serial::sending::{Sending, SentFrame};
use crate::{BusyWatch, Carrier, Discipline, DropTail, Element, Occupancy, Outlet, SerialConfig, Unit};

/// What a [`Section`] is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionConfig {
    /// The rate, where the envelopes begin, and how their clock differs from the line's; the same in both directions.
    pub clock: OctetClock,
    /// How frames stand in the payload.
    pub framing: Framing,
    /// The longest frame that a receiver takes, in octets without the frame check sequence.
    pub longest: usize,
    /// From end to end.
    pub propagation: Duration,
    /// Whether [`Unit::Sent`] is said back by the port a frame came in by, when its last bit has left.
    pub say_sent: bool,
    /// What the ends at port 0 and 1 send, and expect; the rate is the clock's.
    pub ends: [LineConfig; 2],
    /// Decides what the payload scramblers begin with, and which bits are wrong.
    pub seed: u64,
}

impl SectionConfig {
    /// PPP as RFC 2615 has it, scrambled and with FCS-32, at this rate; frames of up to 65,535 octets of information,
    /// no propagation.
    #[must_use]
    pub const fn ppp(level: Level) -> Self {
        let end = LineConfig::ppp(level, true);
        Self {
            clock: OctetClock::new(level),
            framing: Framing { fcs: FcsKind::Fcs32, accm: kumiki_octets::hdlc::Accm::NONE, opening_flag: false },
            longest: 65_535 + 4,
            propagation: Duration::ZERO,
            say_sent: false,
            ends: [end, end],
            seed: 0,
        }
    }
}

/// What goes wrong for a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineFault {
    /// There is no signal.
    NoSignal,
    /// An alarm is sent in frames that begin within the time.
    Alarm(Alarm),
}

/// A time in which something goes wrong, as the sending end counts it: from its first instant to before its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultInterval {
    /// Its first instant.
    pub from: Instant,
    /// When it is over.
    pub until: Instant,
    /// What goes wrong.
    pub what: LineFault,
}

/// Time in which the ends of a line may still change after something has gone wrong, beside propagation: they are
/// looked at until then whatever they seem to be.
const AFTER: Duration = Duration::from_millis(1);

/// Frames that an idle line passes over at once, at least: fewer are made.
const IDLE: u64 = 4;

/// A SONET/SDH line between port 0 and port 1, both directions at once: see the module.
///
/// Only octets cross it, so that the address of a [`Unit::Frame`] that comes out is [`Address::NONE`]. Of a line that
/// rests only the counters go on, and these when something next happens.
///
/// Counters, `a_` for what comes from port 0 and `b_` for what comes from port 1: those of [`crate::Serial`], then what
/// the receiver at the other end found: `line_frames`, `out_of_frame`, `b1_errors`, `b2_errors`, `b3_errors`, the
/// remote errors it was told (`line_rei`, `path_rei`), pointer movements (`positive`, `negative`), `doubtful_pointers`
/// and `new_pointers`, `alarms` raised, HDLC-like frames `delivered`, those with `bad_fcs`, `aborts`, `runts`,
/// `oversize`; and `wrong_bits` on the line.
pub struct Section {
    config: SectionConfig,
    sending: [Sending; 2],
    lines: [Line; 2],
    /// When the frames that are in flight arrive, by direction.
    flight: [VecDeque<Instant>; 2],
    /// Frames of the line of which is known what they tell.
    told: u64,
    /// When to look at the ends next, whatever is in flight.
    watch: Option<Instant>,
    strangers: u64,
}

impl Section {
    /// A line with a drop-tail queue of its own in each direction.
    #[must_use]
    pub fn new(config: SectionConfig, queue: DropTail) -> Self {
        Self::with_disciplines(config, queue.queue(), queue.queue())
    }

    /// A line with the given queues, for frames from port 0 and for frames from port 1.
    #[must_use]
    pub fn with_disciplines(config: SectionConfig, from_0: Box<dyn Discipline>, from_1: Box<dyn Discipline>) -> Self {
        let SectionConfig { clock, framing, .. } = config;
        let carrier = Carrier::Sonet { clock, framing };
        let serial = SerialConfig { carrier, propagation: config.propagation, say_sent: config.say_sent };
        let [a, b] = config.ends.map(|end| LineConfig { level: clock.level(), ..end });
        let mut rng = Rng::new(config.seed, 0);
        let mut section = Self {
            config,
            sending: [Sending::new(serial, from_0), Sending::new(serial, from_1)],
            lines: [Line::new(&config, a, b, rng.next_u64()), Line::new(&config, b, a, rng.next_u64())],
            flight: [VecDeque::new(), VecDeque::new()],
            told: 0,
            watch: None,
            strangers: 0,
        };
        section.arm(None);
        section
    }

    /// Lets bits of what `port` (0, or else 1) sends be wrong, each with the probability `rate`, and more go wrong at
    /// times. Before anything is offered.
    pub fn spoil(&mut self, port: usize, rate: f64, troubles: &[FaultInterval]) {
        let [from_0, from_1] = &mut self.lines;
        let (line, stream) = if port == 0 { (from_0, 1) } else { (from_1, 2) };
        line.set_noise(Noise::new(rate, Rng::new(self.config.seed, stream)));
        line.set_troubles(troubles.to_vec());
        self.arm(None);
    }

    /// How many octets of the line have reached the far end by `t`, of those that can be known at `now`.
    fn target(&self, line: usize, t: Instant, now: Instant) -> u64 {
        let clock = self.config.clock;
        let frame_len = clock.level().frame();
        let Some(nanos) = t.as_nanos().checked_sub(self.config.propagation.as_nanos()) else {
            return 0;
        };
        let arrived = clock.line_octets_by(Instant::from_nanos(nanos));
        // Several octets of a fast line can begin and end in one nanosecond; those that begin now may still get a
        // frame.
        let (frame, octets) = clock.line_octet_at_or_after(now);
        let begun = frame.saturating_mul(frame_len).saturating_add(octets);
        if arrived <= begun {
            return arrived;
        }
        let taken = self.sending.get(line).map_or(0, Sending::next_free);
        let known = taken.checked_sub(1).map_or(0, |last| {
            let (frame, octets) = clock.place(last);
            frame.saturating_mul(frame_len).saturating_add(octets + 1)
        });
        arrived.min(begun.max(known))
    }

    /// Lets octets pass until what has come by `t` has come.
    fn run(&mut self, t: Instant, now: Instant) {
        for number in 0..2 {
            let target = self.target(number, t, now);
            if let Some(line) = self.lines.get_mut(number) {
                line.run(target);
            }
        }
    }

    /// Lets both directions come to `now`.
    fn catch_up(&mut self, now: Instant) {
        self.pass_idle(now);
        loop {
            let begins = Instant::from_nanos(self.told.saturating_mul(FRAME_NANOS));
            if begins > now {
                break;
            }
            // What a frame tells is what its end has found by the time it begins.
            self.run(begins, now);
            let [a, b] = &mut self.lines;
            let (at_0, at_1) = (b.take_feedback(), a.take_feedback());
            a.tell(at_0);
            b.tell(at_1);
            self.told += 1;
        }
        self.run(now, now);
    }

    /// Passes over frames that are all alike.
    fn pass_idle(&mut self, now: Instant) {
        if self.config.clock.offset_ppb() != 0 || !self.lines.iter().all(Line::is_steady) {
            return;
        }
        let alike = |(number, line): (usize, &Line)| line.alike_until(self.target(number, now, now));
        let frames = self.lines.iter().enumerate().map(alike).min();
        if let Some(frames) = frames.filter(|frames| *frames >= IDLE) {
            for line in &mut self.lines {
                line.skip(frames);
            }
            self.told += frames;
        }
    }

    /// Sets when to look at the ends next; `now` is nothing before the start.
    fn arm(&mut self, now: Option<Instant>) {
        let propagation = self.config.propagation;
        // The next end of a frame at the receivers.
        let next = match now {
            None => Instant::ZERO,
            Some(now) => {
                let frames = now.saturating_since(Instant::ZERO + propagation).as_nanos() / FRAME_NANOS;
                let behind = Instant::from_nanos((frames + 1).saturating_mul(FRAME_NANOS));
                if now < Instant::ZERO + propagation { Instant::ZERO + propagation } else { behind + propagation }
            }
        };
        if self.lines.iter().any(|line| line.is_noisy() || !line.is_steady()) {
            self.watch = Some(next);
            return;
        }
        let now = now.unwrap_or_default();
        let troubles = self.lines.iter().flat_map(|line| line.troubles());
        self.watch = troubles
            .filter(|trouble| trouble.until > trouble.from)
            .filter(|trouble| now < trouble.until + propagation + propagation + AFTER)
            .map(|trouble| next.max(trouble.from + propagation))
            .min();
    }
}

/// Stuffs a frame that goes on the line.
fn put(config: &SectionConfig, started: SentFrame, line: &mut Line, flight: &mut VecDeque<Instant>) {
    let mut octets = Vec::with_capacity(started.data.len() + started.data.len() / 64 + 16);
    config.framing.emit(&started.data, &mut octets);
    line.put(started.first, octets);
    flight.push_back(started.ends + config.propagation);
}

/// What is counted of each direction, in the order in which it is told.
const COUNTERS: [[&str; 23]; 2] = [
    [
        "a_frames",
        "a_octets",
        "a_drops",
        "a_marks",
        "a_busy_ns",
        "a_line_frames",
        "a_out_of_frame",
        "a_b1_errors",
        "a_b2_errors",
        "a_b3_errors",
        "a_line_rei",
        "a_path_rei",
        "a_positive",
        "a_negative",
        "a_doubtful_pointers",
        "a_alarms",
        "a_delivered",
        "a_bad_fcs",
        "a_aborts",
        "a_runts",
        "a_oversize",
        "a_wrong_bits",
        "a_new_pointers",
    ],
    [
        "b_frames",
        "b_octets",
        "b_drops",
        "b_marks",
        "b_busy_ns",
        "b_line_frames",
        "b_out_of_frame",
        "b_b1_errors",
        "b_b2_errors",
        "b_b3_errors",
        "b_line_rei",
        "b_path_rei",
        "b_positive",
        "b_negative",
        "b_doubtful_pointers",
        "b_alarms",
        "b_delivered",
        "b_bad_fcs",
        "b_aborts",
        "b_runts",
        "b_oversize",
        "b_wrong_bits",
        "b_new_pointers",
    ],
];

impl Element for Section {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let port = usize::from(port != 0);
        let (data, address) = match unit {
            Unit::Frame { data, address } => (data, address),
            Unit::Cells(_)
            | Unit::Cut { .. }
            | Unit::Sent { .. }
            | Unit::Arriving { .. }
            | Unit::Report(_)
            | Unit::Circuit(_) => {
                self.strangers += 1;
                return;
            }
        };
        let config = self.config;
        let Self { sending, lines, flight, .. } = self;
        if let (Some(sending), Some(line), Some(flight)) =
            (sending.get_mut(port), lines.get_mut(port), flight.get_mut(port))
        {
            sending.offer(now, data, address, (port, out), &mut |started| {
                put(&config, started, line, flight);
            });
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let arrivals = self.flight.iter().filter_map(|flight| flight.front().copied());
        let leaving = self.sending.iter().filter_map(Sending::next_leaving);
        arrivals.chain(leaving).chain(self.watch).min()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        let config = self.config;
        // In the order of a plain line: of each port in turn what has left, then what has arrived from it.
        let mut left = [Outlet::default(), Outlet::default()];
        for (port, left) in left.iter_mut().enumerate() {
            let Self { sending, lines, flight, .. } = self;
            if let (Some(sending), Some(line), Some(flight)) =
                (sending.get_mut(port), lines.get_mut(port), flight.get_mut(port))
            {
                sending.advance(now, (port, left), &mut |started| {
                    put(&config, started, line, flight);
                });
                sending.leave(now, (port, left));
                while flight.pop_front_if(|arrives| *arrives <= now).is_some() {}
            }
        }
        self.catch_up(now);
        for (port, (left, line)) in left.iter_mut().zip(&mut self.lines).enumerate() {
            for (port, unit) in left.drain() {
                out.put(port, unit);
            }
            for came in line.take_came() {
                let unit = match came {
                    LineOutput::Frame(data) => Unit::Frame { data, address: Address::NONE },
                    LineOutput::Report(report) => Unit::Report(Box::new(report)),
                };
                out.put(1 - port, unit);
            }
        }
        if self.watch.is_none_or(|watch| watch <= now) {
            self.arm(Some(now));
        }
    }

    fn watch_busy(&mut self, port: usize, watch: BusyWatch) -> bool {
        let sending = self.sending.get_mut(port).map(|sending| sending.watch(watch));
        sending.is_some()
    }

    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        let [a, b] = self.sending.each_ref().map(|one| one.occupancy(now));
        vec![("a".into(), a), ("b".into(), b)]
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = Vec::new();
        for ((names, sending), line) in COUNTERS.into_iter().zip(&self.sending).zip(&self.lines) {
            let (tally, seen) = (sending.tally(), *line.receiver().counters());
            let found = *line.deframer().counters();
            let values = [
                tally.frames,
                tally.octets,
                tally.drops,
                tally.marks,
                tally.busy.as_nanos(),
                seen.frames,
                seen.out_of_frame,
                seen.b1_errors,
                seen.b2_errors,
                seen.b3_errors,
                seen.line_rei,
                seen.path_rei,
                seen.positive,
                seen.negative,
                seen.doubtful_pointers,
                line.alarms(),
                found.frames,
                found.bad_fcs,
                found.aborts,
                found.runts,
                found.oversize,
                line.wrong_bits(),
                seen.new_pointers,
            ];
            all.extend(names.into_iter().zip(values));
        }
        all.push(("strangers", self.strangers));
        all.extend(self.sending.iter().enumerate().flat_map(|(end, one)| one.counters(end)));
        all
    }
}

#[cfg(test)]
mod tests;
