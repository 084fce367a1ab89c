//! Octets of a line become frames.

use kumiki_octets::hdlc::{FLAG, Stop, Unstuffer, leading_flags};

use super::Framing;

/// What a [`Deframer`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FramingCounters {
    /// Frames with a right frame check sequence.
    pub frames: u64,
    /// Octets in them, without the sequence.
    pub octets: u64,
    /// Frames with a wrong one.
    pub bad_fcs: u64,
    /// Frames aborted by an escape before the flag.
    pub aborts: u64,
    /// Frames too short to hold address, control and the sequence (RFC 1662 section 4.3); an empty one, two flags in a
    /// row, is idle line.
    pub runts: u64,
    /// Frames longer than the line allows, given up as soon as that shows.
    pub oversize: u64,
    /// Octets of the line before the first flag, and of frames given up.
    pub skipped: u64,
}

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deframed<'a> {
    /// A frame, without its frame check sequence.
    Frame(&'a [u8]),
    /// A frame with a wrong sequence, with all its octets. Not for use: a decoder may want to see it.
    BadFcs(&'a [u8]),
    /// A frame aborted by its sender, too short, or too long.
    Dropped,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DeframerState {
    /// No flag has come, or a frame was given up: everything up to the next flag goes.
    Hunting,
    /// Behind a flag.
    InFrame,
}

/// Finds frames in octets that come in any pieces.
///
/// It holds one frame at most, and of that no more than the longest that is allowed.
#[derive(Clone, Debug)]
pub struct Deframer {
    framing: Framing,
    /// The longest frame, in octets without the frame check sequence.
    longest: usize,
    place: DeframerState,
    unstuffer: Unstuffer,
    frame: Vec<u8>,
    /// Octets of the line behind the last flag.
    on_line: u64,
    counters: FramingCounters,
}

impl Deframer {
    /// A deframer for frames of at most `longest` octets, the frame check sequence not counted.
    #[must_use]
    pub const fn new(framing: Framing, longest: usize) -> Self {
        Self {
            framing,
            longest,
            place: DeframerState::Hunting,
            unstuffer: Unstuffer::new(),
            frame: Vec::new(),
            on_line: 0,
            counters: FramingCounters {
                frames: 0,
                octets: 0,
                bad_fcs: 0,
                aborts: 0,
                runts: 0,
                oversize: 0,
                skipped: 0,
            },
        }
    }

    /// What it did.
    #[must_use]
    pub const fn counters(&self) -> &FramingCounters {
        &self.counters
    }

    /// Changes how the line carries frames. A frame in progress is given up; between two frames nothing is lost, though
    /// the next may have no flag of its own at its beginning.
    pub fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
        if self.on_line > 0 || self.unstuffer.is_pending() {
            self.lose();
        }
    }

    /// Changes the longest frame that is taken, in octets without the frame check sequence.
    pub const fn set_longest(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// The line has been interrupted: what is in progress is given up, and the next frame begins behind the next flag.
    pub fn lose(&mut self) {
        self.counters.skipped += core::mem::take(&mut self.on_line);
        self.frame.clear();
        self.unstuffer = Unstuffer::new();
        self.place = DeframerState::Hunting;
    }

    /// Takes `octets` in; shows what is found to `see`, with the number of octets of this piece that were taken up to
    /// and with its closing flag.
    pub fn take(&mut self, octets: &[u8], mut see: impl FnMut(usize, Deframed<'_>)) {
        let mut at = 0;
        while let Some(rest) = octets.get(at..)
            && !rest.is_empty()
        {
            at += match self.place {
                DeframerState::Hunting => self.hunt(rest),
                DeframerState::InFrame => self.collect(rest, |taken, found| see(at + taken, found)),
            };
        }
    }

    fn hunt(&mut self, octets: &[u8]) -> usize {
        match octets.iter().position(|octet| *octet == FLAG) {
            Some(before) => {
                self.counters.skipped += before as u64;
                self.place = DeframerState::InFrame;
                before + 1
            }
            None => {
                self.counters.skipped += octets.len() as u64;
                octets.len()
            }
        }
    }

    fn collect(&mut self, octets: &[u8], see: impl FnOnce(usize, Deframed<'_>)) -> usize {
        if self.frame.is_empty() && !self.unstuffer.is_pending() {
            // Idle line.
            let flags = leading_flags(octets);
            if flags > 0 {
                self.on_line = 0;
                return flags;
            }
        }
        let most = self.longest + self.framing.fcs.len();
        let taken = self.unstuffer.unstuff(octets, self.framing.accm, most, &mut self.frame);
        self.on_line += taken.taken as u64;
        match taken.stop {
            Stop::End => {}
            // Idle line, but for control characters that something on it put in.
            Stop::Flag if self.frame.is_empty() => {}
            Stop::Flag => see(taken.taken, self.judge()),
            Stop::Abort => {
                self.counters.aborts += 1;
                see(taken.taken, Deframed::Dropped);
            }
            Stop::Full => {
                self.counters.oversize += 1;
                see(taken.taken, Deframed::Dropped);
                self.lose();
                return taken.taken;
            }
        }
        if taken.stop != Stop::End {
            self.frame.clear();
            self.on_line = 0;
        }
        taken.taken
    }

    /// A flag has come behind the frame that is held.
    fn judge(&mut self) -> Deframed<'_> {
        let fcs_len = self.framing.fcs.len();
        // Address and control may be compressed away, but not the protocol and a frame check sequence: RFC 1662 section
        // 4.3 says four octets with the short one, and two more belong to the long one.
        let Some(len) = self.frame.len().checked_sub(fcs_len).filter(|len| *len >= 2) else {
            self.counters.runts += 1;
            return Deframed::Dropped;
        };
        if self.framing.fcs.is_right_in(&self.frame) {
            self.counters.frames += 1;
            self.counters.octets += len as u64;
            Deframed::Frame(self.frame.get(..len).unwrap_or_default())
        } else {
            self.counters.bad_fcs += 1;
            Deframed::BadFcs(&self.frame)
        }
    }
}
