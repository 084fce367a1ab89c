//! The scramblers of SONET/SDH and of what it carries, over octets that come in pieces.
//!
//! | | |
//! |---|---|
//! | Specification | payload: x^43 + 1, RFC 2615, section 4; for ATM, ITU-T I.432.1 (recalled). Line: 1 + x^6 + x^7, ANSI T1.105 and ITU-T G.707 (recalled) |
//! | Used by | PPP and MAPOS over SONET/SDH, ATM cells, the SONET/SDH frame |
//! | Left out | the distributed sample scrambler of cell-based ATM |
//!
//! Bits go in the order they have on the line, each octet's most significant first.
//!
//! # How the payload is scrambled
//!
//! Each bit sent is what was given, exclusive-or'd with what was *sent* 43 bits before. Word by word, 64 bits need the
//! word sent before them and their own first 21 bits, so that each word waits for the last. Longer pieces go another
//! way. With D for a delay of one bit, 1/(1 + D^43) is (1 + D^43)(1 + D^86)(1 + D^172)/(1 + D^344). The three factors
//! look back at what was *given*, so that many words are done at once, and 344 bits are 43 octets: what is left is to
//! add to each 43 octets the 43 sent before them.
//!
//! Measured on one core of a shared Xeon virtual machine by `kumiki-bench kernels`, in GB/s (1e9 octets), a copy in the
//! same run:
//!
//! | octets | 64 | 1500 | 9188 |
//! |---|---|---|---|
//! | copy | 22 | 109 | 130 |
//! | scramble bit by bit | 0.15 | 0.14 | 0.15 |
//! | scramble word by word | 6.0 | 6.0 | 6.1 |
//! | scramble the long way, AVX-512 | | 6.2 | 7.8 |
//! | descramble, AVX2 | 5.9 | 27 | 32 |
//! | descramble, AVX-512 | 5.9 | 32 | 52 |
//! | the frame's sequence, AVX2 | 10 | 41 | 47 |
//! | the frame's sequence, AVX-512 | 12 | 51 | 57 |
//!
//! The long way with AVX2 took 4 to 5, so that it is not used there. With AVX-512 a third of its time goes into reading
//! vectors from words that were written one by one.

use crate::Form;
use crate::form::Work;

/// Octets of a word of the line, the first most significant.
const WORD: usize = 8;

/// Octets from which the long way pays.
const LONG: usize = 512;

/// The sender's end of the self-synchronous scrambler x^43 + 1 (RFC 2615, section 4).
///
/// Two are equal if they go on alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scrambler(Register);

/// The receiver's end of the self-synchronous scrambler x^43 + 1 (RFC 2615, section 4).
///
/// Its first 43 bits are right only if it starts as the sender did; and each bit that the line has changed comes out as
/// two, 43 bits apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Descrambler(Register);

/// The last 43 bits on the line, the last of them the least significant, and 0 above.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Register(u64);

impl Register {
    const fn new(bits: u64) -> Self {
        Self(bits & ((1 << 43) - 1))
    }

    /// What eight octets are exclusive-or'd with as far as the bits before them decide it: their first 43.
    #[inline(always)]
    const fn ahead(self) -> u64 {
        self.0 << 21
    }

    /// What the next octet is exclusive-or'd with.
    const fn next_octet(self) -> u8 {
        let [octet, ..] = (self.0 << 21).to_be_bytes();
        octet
    }

    const fn then_octet(self, sent: u8) -> Self {
        Self::new(self.0 << 8 | sent as u64)
    }
}

impl Scrambler {
    /// As if the 43 lowest of `bits` had been sent last, the least significant as the very last. A sender begins with
    /// random ones (RFC 2615, section 4).
    #[must_use]
    pub const fn new(bits: u64) -> Self {
        Self(Register::new(bits))
    }

    /// Scrambles the next octets in place.
    pub fn scramble(&mut self, octets: &mut [u8]) {
        self.scramble_with(Form::best(), octets);
    }

    /// [`Scrambler::scramble`] in a form that a test or a benchmark names.
    #[doc(hidden)]
    pub fn scramble_with(&mut self, form: Form, octets: &mut [u8]) {
        // With narrower vectors the long way is longer.
        if octets.len() >= LONG && form.is_wide() {
            self.0 = form.run(BulkScramble(self.0, octets));
        } else {
            self.0 = short(self.0, octets);
        }
    }
}

/// Scrambles word by word.
#[inline(always)]
fn short(register: Register, octets: &mut [u8]) -> Register {
    let mut register = register;
    let (words, rest) = octets.as_chunks_mut::<WORD>();
    for word in words {
        let ahead = u64::from_be_bytes(*word) ^ register.ahead();
        let sent = ahead ^ (ahead >> 43);
        *word = sent.to_be_bytes();
        // The bits above are shifted out where they would count.
        register = Register(sent);
    }
    let mut register = Register::new(register.0);
    for octet in rest {
        *octet ^= register.next_octet();
        register = register.then_octet(*octet);
    }
    register
}

/// What a sender does with many octets behind those of the register.
struct BulkScramble<'a>(Register, &'a mut [u8]);

impl Work for BulkScramble<'_> {
    type Output = Register;

    #[inline(always)]
    fn run(self) -> Register {
        long(self.0, self.1)
    }
}

/// Scrambles by way of the three factors, as the module's text says.
#[inline(always)]
fn long(register: Register, octets: &mut [u8]) -> Register {
    let (words, tail) = octets.as_chunks_mut::<WORD>();
    // The factors look back at 301 bits given and the last step at 344 sent, which the first six words hold.
    let Some(head) = words.first_chunk::<6>().copied() else {
        return short(register, octets);
    };
    let mut given = [0; BEFORE + BLOCK];
    let (blocks, part) = words.as_chunks_mut::<BLOCK>();
    for block in blocks {
        apply_factors(&mut given, block);
    }
    if !part.is_empty() {
        // Whole blocks only are worth vectors.
        let mut block = [[0; WORD]; BLOCK];
        for (to, word) in block.iter_mut().zip(&*part) {
            *to = *word;
        }
        apply_factors(&mut given, &mut block);
        for (word, from) in part.iter_mut().zip(block) {
            *word = from;
        }
    }
    let Some((first, rest)) = words.split_first_chunk_mut::<6>() else {
        return register;
    };
    *first = head;
    let _ = short(register, first.as_flattened_mut());
    let Some(last) = first.as_flattened().last_chunk::<LAG>() else {
        return register;
    };
    let mut sent = Step::read(last);
    let (steps, rest) = rest.as_flattened_mut().as_chunks_mut::<LAG>();
    for step in steps {
        sent = sent.plus(Step::read(step));
        sent.write(step);
    }
    let mut before = [0; LAG];
    sent.write(&mut before);
    for (octet, before) in rest.iter_mut().zip(before) {
        *octet ^= before;
    }
    let last = words.as_flattened().last_chunk().map_or(0, |last| u64::from_be_bytes(*last));
    short(Register::new(last), tail)
}

/// Octets that lie between a bit and the one that it waits for on the long way.
const LAG: usize = 43;

/// 43 octets: the first 40 and the last 8, of which 5 are the same. What is written whole and read in other parts would
/// have to wait for the cache, so it stays in registers.
#[derive(Clone, Copy)]
struct Step([u64; 5], u64);

impl Step {
    #[inline(always)]
    fn read(octets: &[u8; LAG]) -> Self {
        let (words, _) = octets.as_chunks();
        let mut step = Self([0; 5], 0);
        for (to, word) in step.0.iter_mut().zip(words) {
            *to = u64::from_ne_bytes(*word);
        }
        step.1 = octets.last_chunk().map_or(0, |last| u64::from_ne_bytes(*last));
        step
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let [a, b, c, d, e] = self.0;
        let [f, g, h, i, j] = other.0;
        Self([a ^ f, b ^ g, c ^ h, d ^ i, e ^ j], self.1 ^ other.1)
    }

    #[inline(always)]
    fn write(self, octets: &mut [u8; LAG]) {
        if let Some(last) = octets.last_chunk_mut() {
            *last = self.1.to_ne_bytes();
        }
        let (words, _) = octets.as_chunks_mut();
        for (to, word) in words.iter_mut().zip(self.0) {
            *to = word.to_ne_bytes();
        }
    }
}

/// Words that the factors are applied to at once.
const BLOCK: usize = 32;

/// Words before them that are looked back at.
const BEFORE: usize = 5;

/// Adds to each bit of a block of words those given 43, 86, 129, 172, 215, 258 and 301 bits before: the product of the
/// three factors. `given` holds what was given before the block, in its first words, and afterwards before the next.
#[inline(always)]
fn apply_factors(given: &mut [u64; BEFORE + BLOCK], words: &mut [[u8; WORD]; BLOCK]) {
    for (to, word) in given.iter_mut().skip(BEFORE).zip(&*words) {
        *to = u64::from_be_bytes(*word);
    }
    let (Some(g0), Some(g1), Some(g2), Some(g3), Some(g4), Some(g5)) =
        (block(given, 0), block(given, 1), block(given, 2), block(given, 3), block(given, 4), block(given, 5))
    else {
        return;
    };
    let mut sums = *g0;
    let near = g0.iter().zip(g1).zip(g2);
    let far = g3.iter().zip(g4).zip(g5);
    for (sum, (((g0, g1), g2), ((g3, g4), g5))) in sums.iter_mut().zip(near.zip(far)) {
        *sum ^= (g1 << 21 | g0 >> 43)
            ^ (g2 << 42 | g1 >> 22)
            ^ (g3 << 63 | g2 >> 1)
            ^ (g3 << 20 | g2 >> 44)
            ^ (g4 << 41 | g3 >> 23)
            ^ (g5 << 62 | g4 >> 2)
            ^ (g5 << 19 | g4 >> 45);
    }
    for (word, sum) in words.iter_mut().zip(sums) {
        *word = sum.to_be_bytes();
    }
    given.copy_within(BLOCK.., 0);
}

/// A block's words as they were so many words before.
#[inline(always)]
fn block(words: &[u64; BEFORE + BLOCK], before: usize) -> Option<&[u64; BLOCK]> {
    words.get(BEFORE - before..)?.first_chunk()
}

impl Descrambler {
    /// As if the 43 lowest of `bits` had come last, the least significant as the very last.
    #[must_use]
    pub const fn new(bits: u64) -> Self {
        Self(Register::new(bits))
    }

    /// Descrambles the next octets in place.
    pub fn descramble(&mut self, octets: &mut [u8]) {
        self.descramble_with(Form::best(), octets);
    }

    /// [`Descrambler::descramble`] in a form that a test or a benchmark names.
    #[doc(hidden)]
    pub fn descramble_with(&mut self, form: Form, octets: &mut [u8]) {
        self.0 = form.run(Descrambling(self.0, octets));
    }
}

/// What a receiver does with octets that come behind those of the register.
struct Descrambling<'a>(Register, &'a mut [u8]);

impl Work for Descrambling<'_> {
    type Output = Register;

    #[inline(always)]
    fn run(self) -> Register {
        descrambled(self.0, self.1)
    }
}

#[inline(always)]
fn descrambled(register: Register, octets: &mut [u8]) -> Register {
    let mut came = register.0;
    let (words, rest) = octets.as_chunks_mut::<WORD>();
    for word in words {
        let now = u64::from_be_bytes(*word);
        *word = (now ^ (now >> 43) ^ (came << 21)).to_be_bytes();
        came = now;
    }
    let mut register = Register::new(came);
    for octet in rest {
        let now = *octet;
        *octet ^= register.next_octet();
        register = register.then_octet(now);
    }
    register
}

/// Octets after which the sequence of the frame-synchronous scrambler repeats: 127 bits eight times.
pub const FRAME_PERIOD: usize = 127;

/// Periods taken at once.
const PERIODS: usize = 8;

/// Several periods and one more, so that a run may begin anywhere in the first.
static FRAME: [u8; (PERIODS + 1) * FRAME_PERIOD] = {
    let mut table = [0; (PERIODS + 1) * FRAME_PERIOD];
    let mut rest: &mut [u8] = &mut table;
    // The last seven bits; the next is the first of them, added to the second.
    let mut register = 0x7F_u8;
    while let [octet, others @ ..] = rest {
        let mut bit = 0;
        while bit < 8 {
            let (oldest, next) = ((register >> 6) & 1, (register >> 5) & 1);
            *octet = (*octet << 1) | oldest;
            register = ((register << 1) | (oldest ^ next)) & 0x7F;
            bit += 1;
        }
        rest = others;
    }
    table
};

/// Scrambles or descrambles, in place, octets of a SONET/SDH frame with the sequence of 1 + x^6 + x^7, where `position`
/// octets have passed since the register was set to ones: 0 is the octet behind the last of J0 and Z0 in row 1 (ITU-T
/// G.707, recalled).
pub fn frame(position: usize, octets: &mut [u8]) {
    frame_with(Form::best(), position, octets);
}

/// [`frame`] in a form that a test or a benchmark names.
#[doc(hidden)]
pub fn frame_with(form: Form, position: usize, octets: &mut [u8]) {
    let phase = position % FRAME_PERIOD;
    let Some(sequence) = FRAME.get(phase..phase + PERIODS * FRAME_PERIOD) else {
        return;
    };
    form.run(SequenceAddition { sequence, octets });
}

/// Adds a sequence that begins again behind its end.
struct SequenceAddition<'a> {
    sequence: &'static [u8],
    octets: &'a mut [u8],
}

impl Work for SequenceAddition<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for run in self.octets.chunks_mut(self.sequence.len()) {
            for (octet, other) in run.iter_mut().zip(self.sequence) {
                *octet ^= other;
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
