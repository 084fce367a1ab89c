//! Zero-bit stuffing: the transparency of HDLC on bit-synchronous lines.
//!
//! | | |
//! |---|---|
//! | Specification | ISO/IEC 3309 (now 13239) section 4, as RFC 1662 section 5.2 repeats it: a zero behind each five ones, flags of six ones, seven or more abort |
//! | Used by | synchronous lines of X.25 |
//! | Left out | vector forms: such lines are slow |
//!
//! Octets go low bit first, and the octets of a line here hold its bits in the same order. A simulator that need not
//! have the bits counts them with a [`BitCounter`].

/// The flag, which stands between frames.
pub const FLAG: u8 = 0x7e;

/// Counts the bits that octets take on a line, stuffed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BitCounter {
    /// Ones at the end of what was counted: 0 to 4, for behind the fifth a zero is stuffed.
    ones: u8,
    bits: u64,
}

/// For ones before an octet, 0 to 4, and the octet: zeros that are stuffed, and in the upper half ones at its end.
static STEPS: [[u8; 256]; 5] = {
    let mut table = [[0; 256]; 5];
    let mut before = 0;
    while before < 5 {
        let mut octet = 0;
        while octet < 256 {
            let (mut ones, mut stuffed, mut bit) = (before, 0, 0);
            while bit < 8 {
                ones = if octet >> bit & 1 == 1 { ones + 1 } else { 0 };
                if ones == 5 {
                    (ones, stuffed) = (0, stuffed + 1);
                }
                bit += 1;
            }
            #[expect(
                clippy::indexing_slicing,
                clippy::cast_possible_truncation,
                reason = "both are bounded by the loops, and small"
            )]
            {
                table[before][octet] = (ones << 4 | stuffed) as u8;
            }
            octet += 1;
        }
        before += 1;
    }
    table
};

impl BitCounter {
    /// Nothing counted.
    #[must_use]
    pub const fn new() -> Self {
        Self { ones: 0, bits: 0 }
    }

    /// Counts `octets`, which follow what was counted.
    pub fn update(&mut self, octets: &[u8]) {
        let mut stuffed = 0;
        for octet in octets {
            let row = STEPS.get(usize::from(self.ones));
            let step = row.and_then(|row| row.get(usize::from(*octet)));
            let step = step.copied().unwrap_or(0);
            stuffed += u64::from(step & 15);
            self.ones = step >> 4;
        }
        self.bits += 8 * octets.len() as u64 + stuffed;
    }

    /// The bits so far.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.bits
    }
}

/// Bits of a line, being written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BitWriter {
    octets: Vec<u8>,
    bits: u64,
}

impl BitWriter {
    /// No bits.
    #[must_use]
    pub const fn new() -> Self {
        Self { octets: Vec::new(), bits: 0 }
    }

    fn bit(&mut self, bit: bool) {
        let at = self.bits % 8;
        if at == 0 {
            self.octets.push(0);
        }
        if let Some(last) = self.octets.last_mut() {
            *last |= u8::from(bit) << at;
        }
        self.bits += 1;
    }

    /// Writes a flag.
    pub fn flag(&mut self) {
        (0..8).for_each(|bit| self.bit(FLAG >> bit & 1 == 1));
    }

    /// Writes what aborts a frame: eight ones.
    pub fn abort(&mut self) {
        (0..8).for_each(|_| self.bit(true));
    }

    /// Writes the octets of a frame, its check sequence among them, stuffed.
    pub fn frame(&mut self, octets: &[u8]) {
        let mut ones = 0;
        for octet in octets {
            for bit in 0..8 {
                let bit = octet >> bit & 1 == 1;
                self.bit(bit);
                ones = if bit { ones + 1 } else { 0 };
                if ones == 5 {
                    self.bit(false);
                    ones = 0;
                }
            }
        }
    }

    /// How many bits there are.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.bits
    }

    /// The bits as octets, low bit first; the last is filled up with zeros.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}

/// What a line brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineEvent {
    /// A frame, its check sequence among its octets.
    Frame(Vec<u8>),
    /// A frame that its sender aborted.
    Aborted,
    /// Bits between flags that are no whole octets.
    Ragged,
    /// A frame of more octets than are taken.
    Long,
}

/// Finds frames in the bits of a line.
#[derive(Clone, Debug)]
pub struct BitReader {
    most: usize,
    /// Ones in a row, counted up to 7.
    ones: u8,
    /// Whether a flag has been seen and no abort since.
    inside: bool,
    long: bool,
    frame: Vec<u8>,
    /// Bits of the octet that is not whole yet.
    part: u8,
    have: u8,
}

impl BitReader {
    /// A receiver that has seen no flag yet and takes frames of `most` octets.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { most, ones: 0, inside: false, long: false, frame: Vec::new(), part: 0, have: 0 }
    }

    /// Takes `octets` of a line and shows what it finds to `see`.
    pub fn read(&mut self, octets: &[u8], mut see: impl FnMut(LineEvent)) {
        for octet in octets {
            for bit in 0..8 {
                if let Some(found) = self.bit(octet >> bit & 1 == 1) {
                    see(found);
                }
            }
        }
    }

    fn bit(&mut self, bit: bool) -> Option<LineEvent> {
        if bit {
            self.ones = (self.ones + 1).min(7);
            if self.ones == 7 {
                return self.abort();
            }
            // The sixth one belongs to a flag or an abort.
            if self.ones < 6 {
                self.keep(1);
            }
            return None;
        }
        match core::mem::take(&mut self.ones) {
            6 => self.flag(),
            // A stuffed one, or the end of an abort.
            5 | 7 => None,
            _ => {
                self.keep(0);
                None
            }
        }
    }

    fn keep(&mut self, bit: u8) {
        if !self.inside {
            return;
        }
        self.part |= bit << self.have;
        self.have += 1;
        if self.have < 8 {
            return;
        }
        self.have = 0;
        let octet = core::mem::take(&mut self.part);
        if self.frame.len() < self.most {
            self.frame.push(octet);
        } else {
            self.long = true;
        }
    }

    fn abort(&mut self) -> Option<LineEvent> {
        let had = self.inside && (!self.frame.is_empty() || self.have > 5);
        self.clear();
        self.inside = false;
        had.then_some(LineEvent::Aborted)
    }

    /// A flag has come: its first zero and five of its ones were taken as bits of the frame.
    fn flag(&mut self) -> Option<LineEvent> {
        let was_inside = core::mem::replace(&mut self.inside, true);
        // One zero and five ones: six bits, which may reach back into the octet before.
        let whole = self.have == 6;
        let long = self.long;
        let frame = core::mem::take(&mut self.frame);
        let short = frame.is_empty() && self.have <= 6;
        self.clear();
        match (was_inside, short) {
            // Flags that share a zero leave fewer bits between them.
            (false, _) | (_, true) => None,
            _ if long => Some(LineEvent::Long),
            _ if whole => Some(LineEvent::Frame(frame)),
            _ => Some(LineEvent::Ragged),
        }
    }

    fn clear(&mut self) {
        self.frame.clear();
        (self.part, self.have, self.long) = (0, 0, false);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(octets: &[u8], most: usize) -> Vec<LineEvent> {
        let mut found = Vec::new();
        BitReader::new(most).read(octets, |it| found.push(it));
        found
    }

    /// The bits of a line as text, in their order.
    fn text(line: &BitWriter) -> String {
        let bit = |n: u64| line.octets()[usize::try_from(n / 8).unwrap()] >> (n % 8) & 1;
        (0..line.bits()).map(|n| char::from(b'0' + bit(n))).collect()
    }

    #[test]
    fn a_zero_is_stuffed_behind_five_ones() {
        let mut line = BitWriter::new();
        line.flag();
        // An octet of ones, and one that is a flag.
        line.frame(&[0xff, 0x7e]);
        line.flag();
        assert_eq!(text(&line), "01111110111110111011111010".to_owned() + "01111110");
    }

    #[test]
    fn ones_are_counted_across_octets() {
        let mut counter = BitCounter::new();
        counter.update(&[0xe0]);
        counter.update(&[0x03]);
        assert_eq!(counter.bits(), 17);
        counter.update(&[0xff; 5]);
        // 40 ones, and two zeros less before them: behind each five one zero.
        assert_eq!(counter.bits(), 17 + 40 + 8);
    }

    #[test]
    fn an_abort_and_a_frame_that_is_not_whole_are_told() {
        let mut line = BitWriter::new();
        line.flag();
        line.frame(&[1, 2, 3]);
        line.abort();
        line.flag();
        line.frame(&[4]);
        line.flag();
        assert_eq!(read(line.octets(), 9), [LineEvent::Aborted, LineEvent::Frame(vec![4])]);
        let mut line = BitWriter::new();
        line.flag();
        line.frame(&[1, 2]);
        line.bit(false);
        line.flag();
        assert_eq!(read(line.octets(), 9), [LineEvent::Ragged]);
        let mut line = BitWriter::new();
        line.flag();
        line.frame(&[1, 2, 3]);
        line.flag();
        assert_eq!(read(line.octets(), 2), [LineEvent::Long]);
    }

    #[test]
    fn flags_without_a_frame_between_them_are_nothing() {
        assert_eq!(read(&[FLAG; 5], 9), []);
        // Shared zeros: 011111101111110.
        assert_eq!(read(&[0x7e, 0x3f, 0x00], 9), []);
        assert_eq!(read(&[0xff; 5], 9), []);
    }

    proptest! {
        #[test]
        fn frames_come_back_as_they_went(frames in proptest::collection::vec(proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xff), Just(0x7e)], 1..40), 1..5), flags in 1_usize..3, cut: usize) {
            let mut line = BitWriter::new();
            line.flag();
            for frame in &frames {
                let before = line.bits();
                line.frame(frame);
                let mut counter = BitCounter::new();
                let (head, tail) = frame.split_at(cut % frame.len());
                counter.update(head);
                counter.update(tail);
                prop_assert_eq!(counter.bits(), line.bits() - before);
                (0..flags).for_each(|_| line.flag());
            }
            let frames: Vec<LineEvent> = frames.into_iter().map(LineEvent::Frame).collect();
            let mut found = Vec::new();
            let mut reader = BitReader::new(64);
            let (head, tail) = line.octets().split_at(cut % line.octets().len());
            reader.read(head, |it| found.push(it));
            reader.read(tail, |it| found.push(it));
            prop_assert_eq!(found, frames);
        }

        #[test]
        fn any_octets_are_read(octets: Vec<u8>, most in 0_usize..20) {
            for found in read(&octets, most) {
                if let LineEvent::Frame(frame) = found {
                    prop_assert!(frame.len() <= most);
                }
            }
        }
    }
}
