//! Sets of octets of a block as the bits of a word, the first octet's the least significant.

/// The lowest `count` bits, at most 64.
#[inline]
pub(super) const fn lowest(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Every second bit, from the first on.
const EVEN: u64 = 0x5555_5555_5555_5555;

/// Which Control Escapes of a block stand for themselves, given where 0x7D is and whether the octet before the block
/// was such a one.
///
/// In a run of 0x7D every second is escaped by the one before, so that a run's first, third and so on remain. Adding a
/// run's first bit to it clears the run and sets the bit behind, which is in no run.
#[inline]
pub(super) const fn standing(escapes: u64, pending: bool) -> u64 {
    let escapes = escapes & !(pending as u64);
    let firsts = escapes & !(escapes << 1);
    let from_even = escapes & !escapes.wrapping_add(firsts & EVEN);
    (from_even & EVEN) | (escapes & !from_even & !EVEN)
}

/// Whether the last of `len` octets is a Control Escape that stands for itself, given where 0x7D is among them and
/// whether the octet before was such a one.
///
/// That follows from the length of the run of 0x7D at the end, unless it is all there is; so a block need not wait for
/// the one before.
#[inline]
pub(super) const fn pending_behind(escapes: u64, len: usize, pending: bool) -> bool {
    let last = if len == 0 { 0 } else { escapes << (64 - len) };
    let run = last.leading_ones() as usize;
    (run & 1 == 1) ^ (pending && run == len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_run_of_escapes_every_second_stands() {
        for (escapes, pending, expected) in [
            (0, false, 0),
            (0, true, 0),
            (0b1, false, 0b1),
            (0b1, true, 0),
            (0b11, false, 0b01),
            (0b11, true, 0b10),
            (0b0111_0111, false, 0b0101_0101),
            (0b1110_1110, false, 0b1010_1010),
            (1 << 63, false, 1 << 63),
            (u64::MAX, false, EVEN),
            (u64::MAX, true, !EVEN),
        ] {
            assert_eq!(standing(escapes, pending), expected, "{escapes:b} {pending}");
        }
    }
}
