//! How sums are taken.
//!
//! Words are added in the machine's own byte order, since the byte-swapped words sum to the byte-swapped sum (RFC 1071
//! section 2 (B)), and wider words carry the same sum because 65535 divides 2^32 - 1 and 2^64 - 1.
//!
//! Measured on one core of an EPYC virtual machine, over buffers that fill 512 KiB of its L2, in GB/s (1e9 octets):
//!
//! | octets | 20 | 64 | 256 | 1448 | 9128 | 65536 |
//! |---|---|---|---|---|---|---|
//! | 64-bit additions with carry | 7.5 | 17 | 24 | 19 | 17 | 17 |
//! | `wide` | 8.3 | 22 | 42 | 44 | 35 | 34 |
//! | AVX2 | | 20 | 66 | 119 | 121 | 118 |
//! | AVX-512 | | 22 | 75 | 114 | 179 | 205 |
//! | `sum`, with dispatch | 6.4 | 19 | 48 | 109 | 162 | 204 |
//! | copy alone | | 25 | 61 | 64 | 84 | 106 |
//! | copy, then AVX2 sum, 4 KiB at a time | | 4 | 12 | 33 | 58 | 65 |
//! | copy and AVX2 sum in one pass | | 14 | 43 | 66 | 72 | 71 |
//!
//! Few whole words of eight octets are added with carry all the same: with the call, on the same machine while others
//! used it, 32 octets take 11.1 GB/s and not the 9.1 of `wide`, 64 take 18.1 and not 15.8, 120 take 21 and not 22;
//! carries that gather apart do not wait for each other.
//!
//! Copies are summed in the same pass. Doing that with AVX-512 was no faster at 9128 and 8 % faster at 65536.

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector loads and stores take pointers")]
mod x86;

/// Octets summed before the accumulators are emptied; far below the 2^34 at which the smallest would overflow.
const BLOCK: usize = 1 << 20;

/// Octets from which vectors pay, and which the vector loops take per round.
const VECTORS: usize = 128;

/// Octets from which the wider vectors of AVX-512 pay.
#[cfg(target_arch = "x86_64")]
const WIDE_VECTORS: usize = 1024;

/// The folded sum of `octets`.
#[inline]
pub(super) fn sum(octets: &[u8]) -> u16 {
    // Headers and small segments are most often whole words.
    let (words, tail) = octets.as_chunks::<8>();
    if tail.is_empty() && words.len() < VECTORS / 8 { fold(few(words)).to_be() } else { sum_any(octets) }
}

/// As [`sum`], for any length.
#[inline(never)]
fn sum_any(octets: &[u8]) -> u16 {
    if octets.len() < VECTORS {
        return fold(wide(octets)).to_be();
    }
    if octets.len() <= BLOCK {
        return fold(sum_block(octets)).to_be();
    }
    let blocks = octets.chunks(BLOCK).map(|block| u64::from(fold(sum_block(block))));
    fold(blocks.sum()).to_be()
}

/// Copies and sums.
pub(super) fn copy(destination: &mut [u8], source: &[u8]) -> u16 {
    assert_eq!(destination.len(), source.len(), "source and destination of a copy differ in length");
    if source.len() < VECTORS {
        destination.copy_from_slice(source);
        return fold(wide(source)).to_be();
    }
    if source.len() <= BLOCK {
        return fold(copy_block(destination, source)).to_be();
    }
    let blocks = destination.chunks_mut(BLOCK).zip(source.chunks(BLOCK));
    let blocks = blocks.map(|(to, from)| u64::from(fold(copy_block(to, from))));
    fold(blocks.sum()).to_be()
}

/// The unfolded sum of at most [`BLOCK`] octets.
fn sum_block(octets: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the vector instructions may be called only where they exist")]
    {
        if octets.len() >= WIDE_VECTORS && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx2") {
            // SAFETY: both sets of instructions were detected.
            return unsafe { x86::sum_avx512(octets) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the instructions were detected.
            return unsafe { x86::sum_avx2(octets) };
        }
    }
    wide(octets)
}

/// Copies at most [`BLOCK`] octets between slices of one length and gives the unfolded sum.
fn copy_block(destination: &mut [u8], source: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the vector instructions may be called only where they exist")]
    {
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the instructions were detected.
            return unsafe { x86::copy_avx2(destination, source) };
        }
    }
    destination.copy_from_slice(source);
    wide(source)
}

/// The unfolded sum of at most [`BLOCK`] octets, in the machine's byte order and portably. The compiler makes vectors
/// of it where the target's baseline has them.
fn wide(octets: &[u8]) -> u64 {
    let (words, tail) = octets.as_chunks::<4>();
    let total: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    total + last(tail)
}

/// The unfolded sum of a few words of eight octets.
#[inline]
fn few(words: &[[u8; 8]]) -> u64 {
    // Carries gather in the upper half, so that no addition waits but for the one before it.
    let total: u128 = words.iter().map(|word| u128::from(u64::from_ne_bytes(*word))).sum();
    let [low, carries] = [total, total >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or(0));
    let (sum, carry) = low.overflowing_add(carries);
    sum + u64::from(carry)
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

#[cfg(test)]
mod tests;
