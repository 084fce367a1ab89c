//! Generated content: octets that follow from their position, so that a simulation need not store or touch them.
//!
//! | | |
//! |---|---|
//! | Specification | `Ttcp`: the buffer of the ttcp and nuttcp measuring programs. `Random`: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). The rest is defined here |
//! | Cost | [`Pattern::sum`] and [`Pattern::stuffed_len`] take constant time, except for `Random`, which has to generate |
//! | Left out | content of a file; text |
//!
//! The content matters beyond its sum: byte stuffing, bit stuffing and compression depend on it. Two of ttcp's 95
//! characters are those PPP escapes; random octets are escaped at 2 in 256; `Fill(0x7E)` is the worst case.

mod stuffed;

use crate::Sum;

/// Stream content as a function of the position in the stream. Positions are octets from 0, modulo 2^64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pattern {
    /// Every octet is 0x00.
    Zeros,
    /// Every octet is this one.
    Fill(u8),
    /// What ttcp sends: octet x is 0x20 + ((x mod `write_len`) mod 95), the printable characters of ASCII in a cycle
    /// that begins again with each write.
    Ttcp {
        /// Octets per write; 0 stands for a single endless write.
        write_len: u32,
    },
    /// Octet x is octet x mod 8 (the least significant being 0) of output x div 8 (the first being 0) of SplitMix64
    /// started with `seed`.
    Random {
        /// The generator's initial state.
        seed: u64,
    },
    /// Octet x is the exclusive or of the eight octets of x: it counts, in another order in each block of 256, so that
    /// data moved by a multiple of 256 octets is noticed. Blocks whose numbers have the same exclusive or of octets are
    /// alike, such as those at 0 and 65792; `Random` has no such pairs.
    Counter,
}

/// The first character of ttcp's cycle, a space.
const FIRST: u8 = 0x20;
/// Characters in ttcp's cycle: 0x20 to 0x7E.
const CYCLE: u64 = 95;
/// Sum of the characters of one cycle.
const CYCLE_TOTAL: u64 = 7505;
/// Cycles copied at once by `fill`.
const CYCLES: usize = 32;

/// Several cycles of ttcp's characters and one more, so that a run may begin anywhere in the first.
static TTCP: [u8; (CYCLES + 1) * 95] = {
    let mut table = [FIRST; (CYCLES + 1) * 95];
    let mut rest: &mut [u8] = &mut table;
    let mut phase = 0_u8;
    while let [first, others @ ..] = rest {
        *first = FIRST + phase;
        phase = if phase == 94 { 0 } else { phase + 1 };
        rest = others;
    }
    table
};

/// Aligned octets of `Counter` over which the sum is a multiple of 65535: in two neighbouring blocks of 256 the octet
/// above flips its low bit, so that even and odd positions hold every value once.
const COUNTER_PERIOD: u64 = 512;

/// Octets generated at a time where a sum has no closed form.
const PIECE: usize = 1024;

impl Pattern {
    /// The octet at position `offset`.
    #[must_use]
    pub fn octet(self, offset: u64) -> u8 {
        let mut octet = [0];
        self.fill(offset, &mut octet);
        let [octet] = octet;
        octet
    }

    /// Writes the octets at positions `offset` and following to the whole of `out`.
    pub fn fill(self, offset: u64, out: &mut [u8]) {
        match self {
            Self::Zeros => out.fill(0),
            Self::Fill(octet) => out.fill(octet),
            Self::Ttcp { write_len } => fill_ttcp(write_len, offset, out),
            Self::Random { seed } => fill_random(seed, offset, out),
            Self::Counter => fill_counter(offset, out),
        }
    }

    /// The sum of the `len` octets from position `offset`, as if the first of them were at an even position: what
    /// [`Sum::of`] gives for the octets [`Pattern::fill`] writes, in the same representation.
    #[must_use]
    pub fn sum(self, offset: u64, len: usize) -> Sum {
        let Ok(count) = u64::try_from(len) else {
            return self.generated_sum(offset, len);
        };
        // Past the last position the content begins again at 0, which the closed forms do not know.
        let Some(end) = offset.checked_add(count) else {
            return self.generated_sum(offset, len);
        };
        match self {
            _ if len == 0 => Sum::ZERO,
            Self::Zeros | Self::Fill(0) => Sum::ZERO,
            Self::Fill(octet) => {
                let (words, octet) = ((count / 2) % 65535, u64::from(octet));
                reduce(words * octet * 257 + if count.is_multiple_of(2) { 0 } else { octet << 8 })
            }
            Self::Ttcp { write_len } => {
                let (before, all) = (ttcp_halves(write_len, offset), ttcp_halves(write_len, end));
                all.value().without_prefix(len_parity(offset), before.value())
            }
            Self::Counter if count > 2 * COUNTER_PERIOD => {
                let (head, tail) = (offset.next_multiple_of(COUNTER_PERIOD), end / COUNTER_PERIOD * COUNTER_PERIOD);
                let head_len = usize::try_from(head - offset).unwrap_or(0);
                let tail_len = usize::try_from(end - tail).unwrap_or(0);
                // At least one whole period lies between, so the sum is 0xFFFF rather than 0x0000 when congruent to 0.
                self.generated_sum(offset, head_len)
                    .plus(Sum::from_folded(0xFFFF))
                    .then(head_len, self.generated_sum(tail, tail_len))
            }
            Self::Random { .. } | Self::Counter => self.generated_sum(offset, len),
        }
    }

    /// The sum of octets that are generated for it.
    fn generated_sum(self, offset: u64, len: usize) -> Sum {
        let mut piece = [0; PIECE];
        let (mut at, mut left, mut sum) = (offset, len, Sum::ZERO);
        while left > 0 {
            let Some(part) = piece.get_mut(..left.min(PIECE)) else {
                break;
            };
            self.fill(at, part);
            // Every piece but the last has even length, so each begins at an even position.
            sum = sum.plus(Sum::of(part));
            left -= part.len();
            at = at.wrapping_add(PIECE as u64);
        }
        sum
    }
}

/// 0 or 1, as `offset` is even or odd: all that a sum has to know of a length.
fn len_parity(offset: u64) -> usize {
    usize::from(!offset.is_multiple_of(2))
}

/// The sum congruent to `total`, which stands for at least one octet that is not zero.
fn reduce(total: u64) -> Sum {
    match u16::try_from(total % 65535) {
        Ok(folded @ 1..) => Sum::from_folded(folded),
        _ => Sum::from_folded(0xFFFF),
    }
}

/// Totals, modulo 65535, of the octets at even and at odd positions.
#[derive(Clone, Copy)]
struct Halves {
    even: u64,
    odd: u64,
}

impl Halves {
    fn value(self) -> Sum {
        reduce(self.even * 256 + self.odd)
    }

    fn swapped(self) -> Self {
        Self { even: self.odd, odd: self.even }
    }

    fn times(self, count: u64) -> Self {
        let count = count % 65535;
        Self { even: self.even * count % 65535, odd: self.odd * count % 65535 }
    }

    fn plus(self, other: Self) -> Self {
        Self { even: (self.even + other.even) % 65535, odd: (self.odd + other.odd) % 65535 }
    }
}

/// The halves of the first `len` octets of one write of ttcp.
fn write_halves(len: u64) -> Halves {
    // Within one cycle: characters 0, 2, 4... at even positions and 1, 3, 5... at odd ones.
    let run = |len: u64| {
        let (evens, odds) = (len.div_ceil(2), len / 2);
        Halves {
            even: evens * u64::from(FIRST) + evens * evens.saturating_sub(1),
            odd: odds * u64::from(FIRST) + odds * odds,
        }
    };
    // The cycle is odd, so that after two of them every character has been once at an even and once at an odd position.
    let (pairs, rest) = (len / (2 * CYCLE), len % (2 * CYCLE));
    let whole = Halves { even: CYCLE_TOTAL, odd: CYCLE_TOTAL }.times(pairs);
    whole.plus(run(rest.min(CYCLE))).plus(run(rest.saturating_sub(CYCLE)).swapped())
}

/// The halves of the first `len` octets of ttcp's stream.
fn ttcp_halves(write_len: u32, len: u64) -> Halves {
    if write_len == 0 {
        return write_halves(len);
    }
    let write_len = u64::from(write_len);
    let (writes, rest) = (len / write_len, write_halves(len % write_len));
    let write = write_halves(write_len);
    if write_len.is_multiple_of(2) {
        return write.times(writes).plus(rest);
    }
    // Every other write begins at an odd position.
    let pairs = write.plus(write.swapped()).times(writes / 2);
    if writes.is_multiple_of(2) { pairs.plus(rest) } else { pairs.plus(write).plus(rest.swapped()) }
}

fn fill_ttcp(write_len: u32, offset: u64, mut out: &mut [u8]) {
    let mut at = offset;
    while !out.is_empty() {
        let (within, left) = if write_len == 0 {
            (at, u64::MAX)
        } else {
            let within = at % u64::from(write_len);
            (within, u64::from(write_len) - within)
        };
        let phase = usize::try_from(within % CYCLE).unwrap_or(0);
        let source = TTCP.get(phase..).unwrap_or(&TTCP);
        // A position that overflows begins again at 0, in the cycle as well.
        let left = left.min((u64::MAX - at).saturating_add(1));
        let run = source.len().min(out.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
        let (part, rest) = out.split_at_mut(run);
        for (to, from) in part.iter_mut().zip(source) {
            *to = *from;
        }
        out = rest;
        at = at.wrapping_add(run as u64);
    }
}

/// The octets of output `index` of SplitMix64 started with `seed`.
fn splitmix64(seed: u64, index: u64) -> [u8; 8] {
    let state = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)).to_le_bytes()
}

fn fill_random(seed: u64, offset: u64, out: &mut [u8]) {
    // 2^64 is a multiple of 8, so that the word after the last is word 0.
    let word = |index: u64| splitmix64(seed, index & (u64::MAX >> 3));
    let (mut index, skip) = (offset / 8, usize::try_from(offset % 8).unwrap_or(0));
    let head = if skip == 0 { 0 } else { (8 - skip).min(out.len()) };
    let (head, rest) = out.split_at_mut(head);
    if !head.is_empty() {
        for (to, from) in head.iter_mut().zip(word(index).into_iter().skip(skip)) {
            *to = from;
        }
        index += 1;
    }
    let (words, tail) = rest.as_chunks_mut::<8>();
    for to in words {
        *to = word(index);
        index += 1;
    }
    for (to, from) in tail.iter_mut().zip(word(index)) {
        *to = from;
    }
}

fn fill_counter(offset: u64, mut out: &mut [u8]) {
    let mut at = offset;
    while !out.is_empty() {
        let [low, above @ ..] = at.to_le_bytes();
        let mask = above.into_iter().fold(0, |mask, octet| mask ^ octet);
        let run = (256 - usize::from(low)).min(out.len());
        let (part, rest) = out.split_at_mut(run);
        let mut count = low;
        for to in part {
            *to = count ^ mask;
            count = count.wrapping_add(1);
        }
        out = rest;
        at = at.wrapping_add(run as u64);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
