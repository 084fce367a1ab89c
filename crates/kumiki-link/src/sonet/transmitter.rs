//! Octets of a SONET/SDH line, one frame behind the other.

use kumiki_octets::bip::{Bip8, Interleaved};
use kumiki_octets::scramble::Scrambler;
use kumiki_wire::ppp::sdh::{
    A1, A2, CONCATENATION, G1_RDI, Justification, POINTERS, Pointer, ROWS, SS_SDH, k2, label, most_m1, place,
};

use super::envelope::phase;
use super::{Level, MOST_OFFSET_PPB, Size};

/// What a sender and a receiver of one line agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineConfig {
    /// The rate.
    pub level: Level,
    /// Whether the SS bits of H1 are those of SDH (10); those of SONET are 00 (RFC 2171, appendix A). A receiver does
    /// not look at them.
    pub sdh: bool,
    /// C2, see [`kumiki_wire::ppp::sdh::label`].
    pub label: u8,
    /// Whether the payload is scrambled by x^43 + 1.
    pub scrambled: bool,
    /// J0, the section's trace. A receiver does not look at it.
    pub j0: u8,
    /// J1, the path's trace. A receiver does not look at it.
    pub j1: u8,
}

impl LineConfig {
    /// PPP as RFC 2615 has it, scrambled, or where not as RFC 1619 has it.
    #[must_use]
    pub const fn ppp(level: Level, scrambled: bool) -> Self {
        Self {
            level,
            sdh: false,
            label: if scrambled { label::PPP_SCRAMBLED } else { label::PPP },
            scrambled,
            j0: 1,
            j1: 0,
        }
    }
}

/// What a receiver has to tell the other end, which the transmitter beside it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    /// Errors that were found with B2; M1 carries them.
    pub b2_errors: u32,
    /// Errors that were found with B3; G1 carries at most 8.
    pub b3_errors: u32,
    /// The line is not received: K2 says RDI-L.
    pub line_defect: bool,
    /// The path is not received: G1 says RDI-P.
    pub path_defect: bool,
}

/// An alarm that is sent in place of what should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alarm {
    /// AIS-L: all ones but for the section overhead.
    Line,
    /// AIS-P: all ones in H1, H2, H3 and the envelope.
    Path,
    /// Zeros in C2 and in the payload.
    Unequipped,
}

/// What a [`Transmitter`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransmitterCounters {
    /// Frames begun.
    pub frames: u64,
    /// Octets of payload.
    pub payload: u64,
    /// Positive justifications.
    pub positive: u64,
    /// Negative justifications.
    pub negative: u64,
    /// Pointers sent as new data.
    pub new_data: u64,
}

/// The sending end of a line: it makes frames around a payload that it asks for as it needs it.
///
/// All octets of overhead that are not named in [`Feedback`], [`Alarm`] or [`LineConfig`] are 0.
#[derive(Clone, Debug)]
pub struct Transmitter {
    config: LineConfig,
    size: Size,
    /// Octets of the present frame that have been sent.
    at: usize,
    /// Section and line overhead of the present frame, row by row.
    overhead: Vec<u8>,
    b1: Bip8,
    b2: Interleaved,
    /// The pointer of the present frame, before it moves in it.
    pointer: u16,
    /// How the envelope moves in the present frame.
    moves: Option<Justification>,
    /// What was asked for, for the next frame.
    asked: Option<Justification>,
    jump: Option<u16>,
    /// The envelope jumps to the new pointer in the present frame.
    jumps: bool,
    offset_ppb: i32,
    /// How far the envelope has got ahead or behind, in parts per thousand million of N octets.
    slip: u64,
    /// Which octet of the envelope comes next.
    phase: usize,
    b3: Bip8,
    /// The parity of the envelope before.
    b3_before: u8,
    scrambler: Scrambler,
    feedback: Feedback,
    alarm: Option<Alarm>,
    counters: TransmitterCounters,
}

impl Transmitter {
    /// A sender at the beginning of a frame, whose envelope begins at `pointer` and whose scrambler begins with the 43
    /// lowest bits of `bits`, which RFC 2615 section 4 wants to be random.
    #[must_use]
    pub fn new(config: LineConfig, pointer: u16, bits: u64) -> Self {
        let size = Size::of(config.level);
        let n = size.n;
        let mut overhead = vec![0; ROWS * size.overhead];
        let ss = if config.sdh { SS_SDH } else { 0 };
        let [h1, h2] = CONCATENATION;
        for (place, count, value) in [
            (place::A1, n, A1),
            (place::A2, n, A2),
            (place::J0, 1, config.j0),
            (place::H1, n, h1 | ss),
            (place::H2, n, h2),
        ] {
            let octets = overhead.iter_mut().skip(place.in_overhead(n));
            octets.take(count).for_each(|octet| *octet = value);
        }
        let pointer = pointer % POINTERS;
        Self {
            config,
            size,
            at: 0,
            overhead,
            b1: Bip8::new(),
            b2: Size::parities(config.level),
            pointer,
            moves: None,
            asked: None,
            jump: None,
            jumps: false,
            offset_ppb: 0,
            slip: 0,
            phase: usize::try_from(phase(config.level, pointer)).unwrap_or_default(),
            b3: Bip8::new(),
            b3_before: 0,
            scrambler: Scrambler::new(bits),
            feedback: Feedback::default(),
            alarm: None,
            counters: TransmitterCounters::default(),
        }
    }

    /// What line it sends to.
    #[must_use]
    pub const fn config(&self) -> &LineConfig {
        &self.config
    }

    /// What it did.
    #[must_use]
    pub const fn counters(&self) -> &TransmitterCounters {
        &self.counters
    }

    /// How many octets of the present frame are still to come: 0 where the next octet begins a frame.
    #[must_use]
    pub const fn left_of_frame(&self) -> usize {
        if self.at == 0 { 0 } else { self.size.frame - self.at }
    }

    /// The pointer, as the next frame will have it.
    #[must_use]
    pub const fn pointer(&self) -> u16 {
        self.pointer
    }

    /// Lets the envelope have a clock that is faster than the line's by so many parts per thousand million, from the
    /// next frame on; see [`super::OctetClock::with_offset`].
    pub fn set_offset(&mut self, ppb: i32) {
        self.offset_ppb = ppb.clamp(-MOST_OFFSET_PPB, MOST_OFFSET_PPB);
        self.slip = 0;
    }

    /// Lets the envelope move once, in the next frame. There must be three frames between two moves: that is the
    /// caller's affair.
    pub const fn justify(&mut self, which: Justification) {
        self.asked = Some(which);
    }

    /// Lets the envelope begin at `pointer` from the next frame on, which the new data flag says.
    pub const fn jump(&mut self, pointer: u16) {
        self.jump = Some(pointer % POINTERS);
    }

    /// What the next frame tells the other end; it is told once.
    pub const fn set_feedback(&mut self, feedback: Feedback) {
        self.feedback = feedback;
    }

    /// What is sent in place of what should be, from the next frame on.
    pub const fn set_alarm(&mut self, alarm: Option<Alarm>) {
        self.alarm = alarm;
    }

    /// As if so many frames with the same octets as the last had been sent. Right only where nothing moves and nothing
    /// is told.
    pub const fn skip(&mut self, frames: u64) {
        self.counters.frames += frames;
        self.counters.payload += frames * self.config.level.payload();
    }

    /// Writes the next octets of the line; `fill` writes the octets of payload that come next, in turn.
    pub fn emit(&mut self, out: &mut [u8], mut fill: impl FnMut(&mut [u8])) {
        let mut rest = out;
        while !rest.is_empty() {
            if self.at == 0 {
                self.begin_frame();
            }
            let (row, column) = (self.at / self.size.row, self.at % self.size.row);
            if self.jumps && row == place::H3.row && column == self.size.overhead {
                // What was in flight in the old place is given up.
                self.phase = self.size.phase_behind_h3(self.pointer);
                self.b3 = Bip8::new();
            }
            let (end, what) = self.segment(row, column);
            let (piece, after) = rest.split_at_mut((end - column).min(rest.len()));
            rest = after;
            match what {
                OctetKind::Overhead => {
                    let from = row * self.size.overhead + column;
                    let overhead = self.overhead.get(from..from + piece.len());
                    piece.copy_from_slice(overhead.unwrap_or_default());
                }
                OctetKind::Stuff => piece.fill(0),
                OctetKind::Envelope => self.envelope(piece, &mut fill),
            }
            self.finish(row, column, piece);
            self.at += piece.len();
            if self.at == self.size.frame {
                self.end_frame();
            }
        }
    }

    /// What is at this place of the line, and where in the row something else follows.
    const fn segment(&self, row: usize, column: usize) -> (usize, OctetKind) {
        let (size, fourth) = (&self.size, row == place::H3.row);
        let (h3, behind) = (size.overhead - size.n, size.overhead + size.n);
        let negative = fourth && matches!(self.moves, Some(Justification::Negative));
        if negative && column >= h3 {
            return (size.row, OctetKind::Envelope);
        }
        if negative {
            return (h3, OctetKind::Overhead);
        }
        if column < size.overhead {
            return (size.overhead, OctetKind::Overhead);
        }
        let positive = fourth && matches!(self.moves, Some(Justification::Positive));
        if positive && column < behind {
            return (behind, OctetKind::Stuff);
        }
        (size.row, OctetKind::Envelope)
    }

    /// Puts in alarms, takes parities, and scrambles.
    fn finish(&mut self, row: usize, column: usize, piece: &mut [u8]) {
        let in_overhead = column < self.size.overhead;
        let section = in_overhead && row < place::H1.row;
        match self.alarm {
            Some(Alarm::Line) if !section => piece.fill(0xff),
            Some(Alarm::Path) if !in_overhead => piece.fill(0xff),
            Some(Alarm::Path) if row == place::H1.row => piece.fill(0xff),
            _ => {}
        }
        if !section {
            self.b2.update(piece);
        }
        self.size.scramble(self.at, piece);
        self.b1.update(piece);
    }

    /// The next octets of the envelope.
    fn envelope(&mut self, octets: &mut [u8], fill: &mut impl FnMut(&mut [u8])) {
        let mut rest = octets;
        while !rest.is_empty() {
            let (row, column) = (self.phase / self.size.envelope, self.phase % self.size.envelope);
            let end = match column {
                0 => 1,
                column if column < self.size.stuff => self.size.stuff,
                _ => self.size.envelope,
            };
            let (piece, after) = rest.split_at_mut((end - column).min(rest.len()));
            rest = after;
            if column == 0 {
                piece.fill(self.path_overhead(row));
            } else if column < self.size.stuff {
                piece.fill(0);
            } else {
                fill(piece);
                self.counters.payload += piece.len() as u64;
                if self.config.scrambled {
                    self.scrambler.scramble(piece);
                }
                if self.alarm == Some(Alarm::Unequipped) {
                    piece.fill(0);
                }
            }
            self.b3.update(piece);
            self.phase += piece.len();
            if self.phase == self.size.envelope * ROWS {
                self.phase = 0;
                self.b3_before = core::mem::take(&mut self.b3).value();
            }
        }
    }

    fn path_overhead(&mut self, row: usize) -> u8 {
        match row {
            0 => self.config.j1,
            1 => self.b3_before,
            2 if self.alarm == Some(Alarm::Unequipped) => label::UNEQUIPPED,
            2 => self.config.label,
            3 => {
                let errors = self.feedback.b3_errors.min(8);
                self.feedback.b3_errors = 0;
                let rdi = if self.feedback.path_defect { G1_RDI } else { 0 };
                u8::try_from(errors << 4).unwrap_or_default() | rdi
            }
            _ => 0,
        }
    }

    fn begin_frame(&mut self) {
        self.counters.frames += 1;
        let n = self.size.n;
        self.moves = self.asked.take();
        if self.offset_ppb != 0 {
            self.slip += u64::from(POINTERS) * u64::from(self.offset_ppb.unsigned_abs());
            if let Some(left) = self.slip.checked_sub(1_000_000_000) {
                self.slip = left;
                self.moves = Some(if self.offset_ppb > 0 { Justification::Negative } else { Justification::Positive });
            }
        }
        self.jumps = false;
        if let Some(pointer) = self.jump.take() {
            self.pointer = pointer;
            self.jumps = true;
            self.moves = None;
            self.counters.new_data += 1;
        }
        let pointer =
            Pointer { new_data: Some(self.jumps), ss: if self.config.sdh { SS_SDH } else { 0 }, value: self.pointer };
        let pointer = match self.moves {
            Some(which) => pointer.justified(which),
            None => pointer,
        };
        let [h1, h2] = pointer.emit();
        let k2 = if self.feedback.line_defect { k2::RDI } else { 0 };
        let m1 = self.feedback.b2_errors.min(u32::from(most_m1(n)));
        self.feedback.b2_errors = 0;
        let b1 = core::mem::take(&mut self.b1).value();
        let mut put = |place: kumiki_wire::ppp::sdh::OverheadPosition, value| {
            if let Some(octet) = self.overhead.get_mut(place.in_overhead(n)) {
                *octet = value;
            }
        };
        put(place::B1, b1);
        put(place::H1, h1);
        put(place::H2, h2);
        put(place::K2, k2);
        put(place::M1, u8::try_from(m1).unwrap_or(u8::MAX));
        let b2 = place::B2.in_overhead(n);
        let parities = core::mem::replace(&mut self.b2, Size::parities(self.config.level));
        for (octet, parity) in self.overhead.iter_mut().skip(b2).zip(parities.values()) {
            *octet = parity;
        }
    }

    fn end_frame(&mut self) {
        self.at = 0;
        self.pointer = match self.moves {
            Some(Justification::Positive) => {
                self.counters.positive += 1;
                (self.pointer + 1) % POINTERS
            }
            Some(Justification::Negative) => {
                self.counters.negative += 1;
                (self.pointer + POINTERS - 1) % POINTERS
            }
            None => self.pointer,
        };
    }
}

/// What is at a place of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OctetKind {
    Overhead,
    Stuff,
    Envelope,
}
