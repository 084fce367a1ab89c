//! How long generated octets become when they are stuffed, without generating them where that is possible.

use super::{CYCLE, PIECE, Pattern};
use crate::hdlc::{Accm, ESCAPE, stuffed_len};

/// Aligned octets in which `Counter` has every value once.
const COUNTER_BLOCK: u64 = 256;

impl Pattern {
    /// What [`stuffed_len`] gives for the `len` octets from position `offset`. It takes constant time, except for
    /// `Random`, which has to generate.
    #[must_use]
    pub fn stuffed_len(self, offset: u64, len: usize, accm: Accm) -> usize {
        let end = u64::try_from(len).ok().and_then(|count| offset.checked_add(count));
        // Past the last position the content begins again at 0, which the closed forms do not know.
        let Some(end) = end else {
            return self.generated_stuffed_len(offset, len, accm);
        };
        let twice_if = |octet| if accm.escapes(octet) { 2 * len } else { len };
        match self {
            Self::Zeros => twice_if(0),
            Self::Fill(octet) => twice_if(octet),
            // None of its characters is a control character.
            Self::Ttcp { write_len } => {
                let escapes = ttcp_escapes(write_len, end) - ttcp_escapes(write_len, offset);
                len + usize::try_from(escapes).unwrap_or(len)
            }
            Self::Counter if end - offset > 2 * COUNTER_BLOCK => {
                let (head, tail) = (offset.next_multiple_of(COUNTER_BLOCK), end / COUNTER_BLOCK * COUNTER_BLOCK);
                let lengths = [head - offset, tail - head, end - tail];
                let [head_len, whole_len, tail_len] = lengths.map(|len| usize::try_from(len).unwrap_or(0));
                // Flag, escape and the map, once in each block.
                let escapes = 2 + u64::from(accm.bits().count_ones());
                let escapes = (tail - head) / COUNTER_BLOCK * escapes;
                self.generated_stuffed_len(offset, head_len, accm)
                    + whole_len
                    + usize::try_from(escapes).unwrap_or(0)
                    + self.generated_stuffed_len(tail, tail_len, accm)
            }
            Self::Random { .. } | Self::Counter => self.generated_stuffed_len(offset, len, accm),
        }
    }

    /// That of octets that are generated for it.
    fn generated_stuffed_len(self, offset: u64, len: usize, accm: Accm) -> usize {
        let mut piece = [0; PIECE];
        let (mut at, mut left, mut total) = (offset, len, 0);
        while left > 0 {
            let Some(part) = piece.get_mut(..left.min(PIECE)) else {
                break;
            };
            self.fill(at, part);
            total += stuffed_len(part, accm);
            left -= part.len();
            at = at.wrapping_add(PIECE as u64);
        }
        total
    }
}

/// How many of the first `len` octets of ttcp's stream are escaped.
fn ttcp_escapes(write_len: u32, len: u64) -> u64 {
    // The last two characters of each cycle, which ends with the Flag Sequence.
    let first = u64::from(ESCAPE - super::FIRST);
    let of_write = |len: u64| len / CYCLE * (CYCLE - first) + (len % CYCLE).saturating_sub(first);
    match u64::from(write_len) {
        0 => of_write(len),
        write_len => len / write_len * of_write(write_len) + of_write(len % write_len),
    }
}
