//! How sums are taken.
//!
//! Words are added in the machine's own byte order, since the byte-swapped words sum to the byte-swapped sum (RFC 1071
//! section 2 (B)), and wider words carry the same sum because 65535 divides 2^32 - 1 and 2^64 - 1.

/// Octets summed by [`wide`] before its accumulators must be emptied; far below the 2^35 at which they would overflow.
const BLOCK: usize = 1 << 20;

/// The folded sum of `octets`.
pub(super) fn sum(octets: &[u8]) -> u16 {
    let mut total = 0_u64;
    for block in octets.chunks(BLOCK) {
        // A block's sum is below 2^60, so this cannot carry before 2^4 blocks are folded one by one.
        total = u64::from(fold(total)) + u64::from(fold(wide(block)));
    }
    fold(total).to_be()
}

/// Copies and sums.
pub(super) fn copy(destination: &mut [u8], source: &[u8]) -> u16 {
    destination.copy_from_slice(source);
    sum(destination)
}

/// The unfolded sum of at most [`BLOCK`] octets, in the machine's byte order.
fn wide(octets: &[u8]) -> u64 {
    let (words, tail) = octets.as_chunks::<4>();
    let total: u64 = words
        .iter()
        .map(|word| u64::from(u32::from_ne_bytes(*word)))
        .sum();
    total + last(tail)
}

/// The value of fewer than four octets.
fn last(tail: &[u8]) -> u64 {
    let mut word = [0; 4];
    for (to, from) in word.iter_mut().zip(tail) {
        *to = *from;
    }
    u64::from(u32::from_ne_bytes(word))
}

/// Adds the four 16-bit words of `sum`, end-around.
fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xFFFF_FFFF) + (sum >> 32);
    let sum = (sum & 0xFFFF) + ((sum >> 16) & 0xFFFF) + (sum >> 32);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let [a, b, ..] = sum.to_le_bytes();
    u16::from_le_bytes([a, b])
}
