//! Octets of a SONET/SDH line become octets of payload, counters, and defects.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T G.707, G.783, ANSI T1.105, GR-253 (recalled, and so are the numbers of frames below) |
//! | Left out | traces (J0, J1), protection switching (K1, K2), signal degrade from B2; RDI-P in the enhanced form |
//!
//! Octets go through these in turn: alignment, B1, the frame's scrambler, line overhead, pointer, path overhead, the
//! payload's scrambler. What a defect makes unknown is not looked at while it lasts, and the defects behind it are not
//! there then.

use crate::sonet::Defect;
use kumiki_octets::bip::{Bip8, Interleaved};
use kumiki_octets::scramble::Descrambler;
use kumiki_wire::ppp::sdh::{G1_RDI, Justification, OverheadPosition, ROWS, g1_rei, k2, label, most_m1, place};

use super::align::{Aligner, WORD};
use super::defects::{Defects, Persistent, hidden_by};
use super::pointer::{Action, Interpreter, State};
use super::{Feedback, LineConfig, Size};

/// Frames out of frame, all in all, after which that is loss of frame; and frames in frame in a row after which it is
/// over: 3 ms.
const LOF: u8 = 24;
/// Frames in a row with the same K2 or G1 after which it is believed.
const REMOTE: u8 = 5;
/// Frames in a row with the same C2 after which it is believed.
const LABEL: u8 = 5;
/// Right alignment words in a row after which a signal is back.
const BACK: u8 = 2;

/// What a receiver has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverEvent<'a> {
    /// The next octets of payload.
    Payload(&'a [u8]),
    /// No payload comes from here on, until some does: what was in flight in it is lost.
    Interrupted,
    /// A defect has been found, or is gone.
    Defect {
        /// Which.
        defect: Defect,
        /// Whether it is there now.
        present: bool,
    },
}

/// What a [`Receiver`] found. Errors are counted as wrong bits of the parities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounters {
    /// Frames that ended in frame.
    pub frames: u64,
    /// How often the receiver has fallen out of frame.
    pub out_of_frame: u64,
    /// Wrong bits of B1.
    pub b1_errors: u64,
    /// Wrong bits of B2.
    pub b2_errors: u64,
    /// Wrong bits of B3.
    pub b3_errors: u64,
    /// Errors that the far end found with B2 (REI-L, from M1).
    pub line_rei: u64,
    /// Errors that the far end found with B3 (REI-P, from G1).
    pub path_rei: u64,
    /// Positive justifications.
    pub positive: u64,
    /// Negative justifications.
    pub negative: u64,
    /// Pointers to a new place.
    pub new_pointers: u64,
    /// Pointers that were invalid, or not believed yet.
    pub doubtful_pointers: u64,
    /// Octets of payload.
    pub payload: u64,
}

/// The receiving end of a line. It takes octets in any pieces, and holds less than a frame.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: LineConfig,
    size: Size,
    aligner: Aligner,
    /// Octets of the line so far.
    line: u64,
    /// Octets of the present frame that have come; nothing where no frame has been found yet.
    at: Option<usize>,
    /// Octets in a row without a change, up to the last.
    quiet: usize,
    quiet_octet: u8,
    /// Right alignment words since the line was last quiet.
    right: u8,
    /// Octets of the line towards the next frame's time.
    tick: usize,
    out_for: u8,
    in_for: u8,
    overhead: Vec<u8>,
    row: Vec<u8>,
    b1: Bip8,
    b2: Interleaved,
    /// The parities of the frame before; nothing where not all of it was seen.
    before: Option<(u8, Interleaved)>,
    /// Whether the present frame has been seen from its beginning.
    whole: bool,
    pointer: Interpreter,
    moves: Option<Justification>,
    phase: usize,
    b3: Bip8,
    b3_before: Option<u8>,
    b3_whole: bool,
    descrambler: Descrambler,
    k2: Persistent<u8>,
    rdi: Persistent<bool>,
    label: Persistent<u8>,
    defects: Defects,
    /// Whether payload comes.
    open: bool,
    b2_found: u32,
    b3_found: u32,
    counters: ReceiverCounters,
}

impl Receiver {
    /// A receiver that has not heard anything.
    #[must_use]
    pub fn new(config: LineConfig) -> Self {
        let size = Size::of(config.level);
        Self {
            config,
            size,
            aligner: Aligner::new(config.level.frame()),
            line: 0,
            at: None,
            quiet: 0,
            quiet_octet: 0,
            right: 0,
            tick: 0,
            out_for: 0,
            in_for: 0,
            overhead: vec![0; ROWS * size.overhead],
            row: Vec::new(),
            b1: Bip8::new(),
            b2: Size::parities(config.level),
            before: None,
            whole: false,
            pointer: Interpreter::new(),
            moves: None,
            phase: 0,
            b3: Bip8::new(),
            b3_before: None,
            b3_whole: false,
            descrambler: Descrambler::default(),
            k2: Persistent::new(0, REMOTE),
            rdi: Persistent::new(false, REMOTE),
            label: Persistent::new(config.label, LABEL),
            defects: Defects::default(),
            open: false,
            b2_found: 0,
            b3_found: 0,
            counters: ReceiverCounters::default(),
        }
    }

    /// What it found.
    #[must_use]
    pub const fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// The defects that there are.
    #[must_use]
    pub const fn defects(&self) -> Defects {
        self.defects
    }

    /// Whether frames are found where they are looked for.
    #[must_use]
    pub const fn in_frame(&self) -> bool {
        self.aligner.in_frame()
    }

    /// What the other end is to be told; errors are those since this was last asked.
    pub const fn take_feedback(&mut self) -> Feedback {
        let most = most_m1(self.size.n) as u32;
        let b2_errors = if self.b2_found > most { most } else { self.b2_found };
        let b3_errors = if self.b3_found > 8 { 8 } else { self.b3_found };
        self.b2_found = 0;
        self.b3_found = 0;
        Feedback {
            b2_errors,
            b3_errors,
            line_defect: self.defects.line_fails(),
            path_defect: self.defects.path_fails(),
        }
    }

    /// Whether everything is as it should be and has been for a while, so that frames of the same kind change nothing
    /// but counters.
    #[must_use]
    pub const fn is_steady(&self) -> bool {
        self.open
            && self.defects.is_empty()
            && self.aligner.is_steady()
            && self.out_for == 0
            && self.before.is_some()
            && self.whole
            && self.b3_before.is_some()
            && self.b3_whole
            && self.pointer.is_steady()
            && self.k2.is_steady()
            && self.rdi.is_steady()
            && self.label.is_steady()
            && self.b2_found == 0
            && self.b3_found == 0
    }

    /// Counts from 0 again.
    pub fn reset_counters(&mut self) {
        self.counters = ReceiverCounters::default();
    }

    /// Whether payload comes.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open
    }

    /// As if so many frames with the same octets as the last had come.
    pub const fn skip(&mut self, frames: u64) {
        self.line += frames * self.config.level.frame();
        self.counters.frames += frames;
        self.counters.payload += frames * self.config.level.payload();
    }

    /// Takes the next octets of the line, and shows what comes of them to `hear`.
    pub fn take(&mut self, octets: &[u8], mut hear: impl FnMut(ReceiverEvent<'_>)) {
        let mut rest = octets;
        while !rest.is_empty() {
            // A row at most, so that a quiet time is not passed by.
            let (mut piece, _) = rest.split_at(rest.len().min(self.size.row));
            let mut found = None;
            if !self.aligner.in_frame() {
                found = self.aligner.hunt(self.line, piece);
                let taken = found.map_or(piece.len(), |found| found.taken);
                piece = piece.get(..taken).unwrap_or(piece);
            }
            let taken = self.pass(piece, &mut hear);
            rest = rest.get(taken..).unwrap_or_default();
            if let Some(found) = found
                && found.confirmed
                && taken == piece.len()
            {
                self.aligned(&mut hear);
            }
        }
    }

    /// Takes octets up to the end of a row at most; how many. Out of frame all of them are taken, so that the hunt can
    /// go on behind them.
    fn pass(&mut self, octets: &[u8], hear: &mut impl FnMut(ReceiverEvent<'_>)) -> usize {
        let mut rest = octets;
        while !rest.is_empty() {
            let in_frame = self.aligner.in_frame();
            let len = self.step(rest);
            let (piece, after) = rest.split_at(len);
            rest = after;
            if let Some(at) = self.at {
                self.take_row(at, piece, hear);
            }
            self.line += len as u64;
            self.listen(piece, hear);
            self.time(len, hear);
            if in_frame && !self.aligner.in_frame() {
                // What follows has to be hunted through.
                break;
            }
        }
        octets.len() - rest.len()
    }

    /// How many of the next octets can be taken at once. What changes the state does so at the end of such a step, so
    /// that it makes no difference how the octets of a line come.
    fn step(&self, octets: &[u8]) -> usize {
        let mut len = octets.len().min(self.size.frame - self.tick);
        if let Some(at) = self.at {
            // The alignment word is judged before the rest of the first row.
            let end = match at.checked_sub(self.size.overhead) {
                None => self.size.overhead,
                Some(_) => (at / self.size.row + 1) * self.size.row,
            };
            len = len.min(end - at);
        }
        let more = self.more_quiet(octets);
        match self.size.quiet().checked_sub(self.quiet) {
            Some(left) if left > 0 && left <= more => len.min(left),
            _ => len,
        }
    }

    /// How many octets go on with those before them where the line is quiet.
    fn more_quiet(&self, octets: &[u8]) -> usize {
        if self.quiet == 0 {
            return 0;
        }
        let more = octets.iter().take_while(|octet| **octet == self.quiet_octet);
        more.count()
    }

    /// Whether the line is quiet: without a change from octet to octet.
    fn listen(&mut self, octets: &[u8], hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        let Some(&last) = octets.last() else {
            return;
        };
        let more = self.more_quiet(octets);
        self.quiet = if more == octets.len() {
            self.quiet.saturating_add(more).min(self.size.frame)
        } else if matches!(last, 0 | 0xff) {
            let same = octets.iter().rev().take_while(|octet| **octet == last);
            same.count()
        } else {
            0
        };
        self.quiet_octet = last;
        if self.quiet >= self.size.quiet() {
            self.right = 0;
            self.set(Defect::Los, true, hear);
        }
    }

    /// Lets time pass by so many octets.
    fn time(&mut self, octets: usize, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        self.tick += octets;
        if !self.aligner.in_frame() {
            self.in_for = 0;
        }
        while let Some(left) = self.tick.checked_sub(self.size.frame) {
            self.tick = left;
            if self.aligner.in_frame() {
                self.in_for = self.in_for.saturating_add(1).min(LOF);
                if self.in_for == LOF {
                    self.out_for = 0;
                    self.set(Defect::Lof, false, hear);
                }
            } else {
                self.out_for = self.out_for.saturating_add(1).min(LOF);
                // Without a signal there is more to say than that.
                if self.out_for == LOF && !self.defects.has(Defect::Los) {
                    self.set(Defect::Lof, true, hear);
                }
            }
        }
    }

    /// Frames have been found: the alignment word has just passed.
    fn aligned(&mut self, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        self.aligner.enter();
        let at = self.size.n + WORD.len() / 2;
        if self.at != Some(at) {
            let word = self.overhead.iter_mut().skip(at - WORD.len());
            for (octet, right) in word.zip(WORD) {
                *octet = right;
            }
            self.at = Some(at);
            self.whole = false;
            self.before = None;
            self.pointer = Interpreter::new();
            self.lose_path(hear);
        }
        self.right = BACK;
        self.set(Defect::Los, false, hear);
    }

    /// The place of the envelope is not known any more.
    fn lose_path(&mut self, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        self.b3_before = None;
        self.b3_whole = false;
        self.moves = None;
        self.gate(hear);
    }

    /// Octets of one row, behind the first `at` of a frame.
    fn take_row(&mut self, at: usize, octets: &[u8], hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        let size = self.size;
        self.b1.update(octets);
        let mut buffer = core::mem::take(&mut self.row);
        buffer.clear();
        buffer.extend_from_slice(octets);
        size.scramble(at, &mut buffer);
        let (row, column) = (at / size.row, at % size.row);
        let (overhead, envelope) = buffer.split_at_mut(size.overhead.saturating_sub(column).min(octets.len()));
        if !overhead.is_empty() {
            if row >= place::H1.row {
                self.b2.update(overhead);
            }
            let from = row * size.overhead + column;
            if let Some(to) = self.overhead.get_mut(from..from + overhead.len()) {
                to.copy_from_slice(overhead);
            }
            let end = column + overhead.len();
            if row == place::H3.row {
                // H3 is part of the envelope where the pointer says so, and that octet by octet.
                let h3 = size.overhead - size.n;
                if column < h3 && h3 <= end && self.believed() {
                    self.take_pointer(hear);
                }
                if self.moves == Some(Justification::Negative)
                    && let Some(h3) = overhead.get_mut(h3.saturating_sub(column)..)
                {
                    self.envelope(h3, hear);
                }
            } else if end == size.overhead {
                self.overhead_row(row, hear);
            }
        }
        if !envelope.is_empty() {
            self.b2.update(envelope);
            let mut envelope = envelope;
            if row == place::H3.row && self.moves == Some(Justification::Positive) {
                let stuff = (size.overhead + size.n).saturating_sub(column + overhead.len());
                envelope = envelope.get_mut(stuff..).unwrap_or_default();
            }
            self.envelope(envelope, hear);
        }
        self.row = buffer;
        let end = at + octets.len();
        if end == size.frame {
            self.end_frame();
        } else {
            self.at = Some(end);
        }
    }

    fn end_frame(&mut self) {
        self.at = Some(0);
        let b1 = core::mem::take(&mut self.b1).value();
        let b2 = core::mem::replace(&mut self.b2, Size::parities(self.config.level));
        self.before = self.whole.then_some((b1, b2));
        self.whole = true;
        self.moves = None;
        if self.aligner.in_frame() {
            self.counters.frames += 1;
        }
    }

    fn octet(&self, place: OverheadPosition) -> u8 {
        let at = place.in_overhead(self.size.n);
        self.overhead.get(at).copied().unwrap_or_default()
    }

    /// The overhead of a row is there.
    fn overhead_row(&mut self, row: usize, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        if row == place::A1.row {
            self.alignment(hear);
        }
        // Out of frame the overhead may be anything, and is not believed; the payload goes on until the frame is lost.
        if !self.believed() {
            return;
        }
        match row {
            1 => {
                let found = self.octet(place::B1);
                if let Some((b1, _)) = self.before {
                    self.counters.b1_errors += u64::from((b1 ^ found).count_ones());
                }
            }
            4 => self.take_b2_and_k2(hear),
            8 => {
                let most = most_m1(self.size.n);
                let errors = self.octet(place::M1);
                if errors <= most && !self.defects.has(Defect::MsAis) {
                    self.counters.line_rei += u64::from(errors);
                }
            }
            _ => {}
        }
    }

    /// Whether the octets of overhead are what they seem to be.
    const fn believed(&self) -> bool {
        self.aligner.in_frame() && !self.defects.has(Defect::Los) && !self.defects.has(Defect::Lof)
    }

    fn alignment(&mut self, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        let n = self.size.n;
        let was_in_frame = self.aligner.in_frame();
        let last_a1 = self.overhead.get(n - 1).copied().unwrap_or_default();
        let first_a2 = self.overhead.get(n).copied().unwrap_or_default();
        let right = last_a1 == kumiki_wire::ppp::sdh::A1 && first_a2 == kumiki_wire::ppp::sdh::A2;
        if was_in_frame && !self.aligner.check(last_a1, first_a2) {
            self.counters.out_of_frame += 1;
            self.whole = false;
        }
        self.right = if right { self.right.saturating_add(1).min(BACK) } else { 0 };
        if self.right == BACK && self.aligner.in_frame() {
            self.set(Defect::Los, false, hear);
        }
    }

    fn take_b2_and_k2(&mut self, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        let at = place::B2.in_overhead(self.size.n);
        let received = self.overhead.get(at..at + self.size.n).unwrap_or_default();
        let errors = match &self.before {
            Some((_, b2)) => b2.errors(received),
            None => 0,
        };
        let k2 = self.k2.take(self.octet(place::K2) & k2::MASK);
        if k2 != k2::AIS {
            self.counters.b2_errors += u64::from(errors);
            self.b2_found = self.b2_found.saturating_add(errors);
        }
        self.set(Defect::MsAis, k2 == k2::AIS, hear);
        self.set(Defect::MsRdi, k2 == k2::RDI, hear);
    }

    fn take_pointer(&mut self, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        if self.defects.has(Defect::MsAis) {
            return;
        }
        let action = self.pointer.take([self.octet(place::H1), self.octet(place::H2)]);
        match action {
            Action::Stay => {}
            Action::Move(which) => {
                self.moves = Some(which);
                match which {
                    Justification::Positive => self.counters.positive += 1,
                    Justification::Negative => self.counters.negative += 1,
                }
            }
            Action::Begin(pointer) => {
                self.counters.new_pointers += 1;
                self.phase = self.size.phase_behind_h3(pointer);
                // As the sender does: what was in flight in the old place is given up.
                self.b3 = Bip8::new();
                if self.b3_before.is_none() {
                    self.b3_whole = false;
                }
            }
            Action::Doubt => self.counters.doubtful_pointers += 1,
            Action::Lose => {
                self.counters.doubtful_pointers += 1;
                self.lose_path(hear);
            }
        }
        let state = self.pointer.state();
        self.set(Defect::Lop, state == State::Lost, hear);
        self.set(Defect::PathAis, state == State::Ais, hear);
        self.gate(hear);
    }

    /// Octets of the envelope.
    fn envelope(&mut self, octets: &mut [u8], hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        if !matches!(self.pointer.state(), State::Normal(_)) {
            return;
        }
        let size = self.size;
        let mut rest = octets;
        while !rest.is_empty() {
            let (row, column) = (self.phase / size.envelope, self.phase % size.envelope);
            let end = match column {
                0 => 1,
                column if column < size.stuff => size.stuff,
                _ => size.envelope,
            };
            let (piece, after) = rest.split_at_mut((end - column).min(rest.len()));
            rest = after;
            self.b3.update(piece);
            if column >= size.stuff {
                self.payload(piece, hear);
            } else if let ([octet, ..], 0) = (&*piece, column) {
                self.path_overhead(row, *octet, hear);
            }
            self.phase += piece.len();
            if self.phase == size.envelope * ROWS {
                self.phase = 0;
                let b3 = core::mem::take(&mut self.b3).value();
                self.b3_before = self.b3_whole.then_some(b3);
                self.b3_whole = true;
            }
        }
    }

    fn payload(&mut self, octets: &mut [u8], hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        if self.config.scrambled {
            self.descrambler.descramble(octets);
        }
        if self.open {
            self.counters.payload += octets.len() as u64;
            hear(ReceiverEvent::Payload(octets));
        }
    }

    fn path_overhead(&mut self, row: usize, octet: u8, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        if !self.believed() || self.defects.has(Defect::MsAis) {
            return;
        }
        match row {
            1 => {
                let errors = self.b3_before.map_or(0, |b3| (b3 ^ octet).count_ones());
                self.counters.b3_errors += u64::from(errors);
                self.b3_found = self.b3_found.saturating_add(errors);
            }
            2 => {
                let label = self.label.take(octet);
                self.set(Defect::Unequipped, label == label::UNEQUIPPED, hear);
                let ours = label == self.config.label;
                let any = matches!(label, label::UNEQUIPPED | label::NON_SPECIFIC);
                self.set(Defect::PayloadMismatch, !ours && !any, hear);
            }
            3 => {
                self.counters.path_rei += u64::from(g1_rei(octet));
                let rdi = self.rdi.take(octet & G1_RDI != 0);
                self.set(Defect::PathRdi, rdi, hear);
            }
            _ => {}
        }
    }

    /// A defect is there, or is not.
    fn set(&mut self, defect: Defect, present: bool, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        if !self.defects.set(defect, present) {
            return;
        }
        hear(ReceiverEvent::Defect { defect, present });
        if !present {
            return self.gate(hear);
        }
        for hidden in hidden_by(defect) {
            if self.defects.set(*hidden, false) {
                hear(ReceiverEvent::Defect { defect: *hidden, present: false });
            }
        }
        match defect {
            Defect::Los | Defect::Lof | Defect::MsAis => {
                if defect != Defect::MsAis {
                    self.k2 = Persistent::new(0, REMOTE);
                    self.before = None;
                    self.whole = false;
                }
                self.pointer = Interpreter::new();
                self.forget_path();
                self.lose_path(hear);
            }
            Defect::Lop | Defect::PathAis => self.forget_path(),
            Defect::MsRdi | Defect::PathRdi | Defect::Unequipped | Defect::PayloadMismatch => {}
        }
        self.gate(hear);
    }

    /// What the path said is not known any more.
    const fn forget_path(&mut self) {
        self.rdi = Persistent::new(false, REMOTE);
        self.label = Persistent::new(self.config.label, LABEL);
    }

    /// Says that no payload comes any more, where that is new.
    fn gate(&mut self, hear: &mut impl FnMut(ReceiverEvent<'_>)) {
        let open = !self.defects.payload_fails() && matches!(self.pointer.state(), State::Normal(_));
        if self.open && !open {
            hear(ReceiverEvent::Interrupted);
        }
        self.open = open;
    }
}
