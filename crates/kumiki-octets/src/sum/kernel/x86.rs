//! Sums with the vector instructions of x86-64.
//!
//! Every 64-bit lane adds whole words, modulo 2^64, in one accumulator and their upper halves in another. The sum of
//! the lower halves follows at the end as the first minus the second shifted up by 32 bits, so that a vector costs two
//! additions and a shift, with neither masks nor carries.
//!
//! The results are congruent to the sum modulo 65535 and zero only for zeros, like those of [`super::wide`]; the limits
//! on length are those of [`super::BLOCK`].

use super::{VECTORS, wide};
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_sub_epi64, _mm512_add_epi64, _mm512_loadu_si512, _mm512_reduce_add_epi64,
    _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_sub_epi64,
};

/// Octets in a vector of AVX2.
const V2: usize = 32;
/// Octets in a vector of AVX-512.
const V5: usize = 64;

#[derive(Clone, Copy)]
struct Lanes2 {
    whole: __m256i,
    upper: __m256i,
}

impl Lanes2 {
    #[target_feature(enable = "avx2")]
    fn zero() -> Self {
        Self { whole: _mm256_setzero_si256(), upper: _mm256_setzero_si256() }
    }

    #[target_feature(enable = "avx2")]
    fn add(&mut self, vector: __m256i) {
        self.whole = _mm256_add_epi64(self.whole, vector);
        self.upper = _mm256_add_epi64(self.upper, _mm256_srli_epi64::<32>(vector));
    }

    #[target_feature(enable = "avx2")]
    fn total(self, other: Self) -> u64 {
        let whole = _mm256_add_epi64(self.whole, other.whole);
        let upper = _mm256_add_epi64(self.upper, other.upper);
        let lower = _mm256_sub_epi64(whole, _mm256_slli_epi64::<32>(upper));
        let mut lanes = [0_u8; V2];
        store2(&mut lanes, _mm256_add_epi64(lower, upper));
        let (lanes, _) = lanes.as_chunks::<8>();
        lanes.iter().map(|lane| u64::from_ne_bytes(*lane)).sum()
    }
}

#[target_feature(enable = "avx2")]
fn load2(octets: &[u8; V2]) -> __m256i {
    // SAFETY: the reference is valid for reading the 32 octets loaded, and the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(octets.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store2(octets: &mut [u8; V2], vector: __m256i) {
    // SAFETY: the reference is valid for writing the 32 octets stored, and the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(octets.as_mut_ptr().cast(), vector) }
}

/// The unfolded sum of at most [`super::BLOCK`] octets.
#[target_feature(enable = "avx2")]
pub(super) fn sum_avx2(octets: &[u8]) -> u64 {
    // Two sets of accumulators, because one would wait for its own last addition.
    let (mut even, mut odd) = (Lanes2::zero(), Lanes2::zero());
    let (blocks, tail) = octets.as_chunks::<VECTORS>();
    for block in blocks {
        let (vectors, _) = block.as_chunks::<V2>();
        let (pairs, _) = vectors.as_chunks::<2>();
        for [first, second] in pairs {
            even.add(load2(first));
            odd.add(load2(second));
        }
    }
    let (vectors, tail) = tail.as_chunks::<V2>();
    for vector in vectors {
        even.add(load2(vector));
    }
    even.total(odd) + wide(tail)
}

/// Copies as many octets as both sides have, at most [`super::BLOCK`], and gives their unfolded sum.
#[target_feature(enable = "avx2")]
pub(super) fn copy_avx2(destination: &mut [u8], source: &[u8]) -> u64 {
    let (mut even, mut odd) = (Lanes2::zero(), Lanes2::zero());
    let (to, to_tail) = destination.as_chunks_mut::<VECTORS>();
    let (from, from_tail) = source.as_chunks::<VECTORS>();
    for (to, from) in to.iter_mut().zip(from) {
        let (to, _) = to.as_chunks_mut::<V2>();
        let (to, _) = to.as_chunks_mut::<2>();
        let (from, _) = from.as_chunks::<V2>();
        let (from, _) = from.as_chunks::<2>();
        for ([to_first, to_second], [first, second]) in to.iter_mut().zip(from) {
            let (first, second) = (load2(first), load2(second));
            store2(to_first, first);
            store2(to_second, second);
            even.add(first);
            odd.add(second);
        }
    }
    for (to, from) in to_tail.iter_mut().zip(from_tail) {
        *to = *from;
    }
    even.total(odd) + sum_avx2(from_tail)
}

#[derive(Clone, Copy)]
struct Lanes5 {
    whole: __m512i,
    upper: __m512i,
}

impl Lanes5 {
    #[target_feature(enable = "avx512f")]
    fn zero() -> Self {
        Self { whole: _mm512_setzero_si512(), upper: _mm512_setzero_si512() }
    }

    #[target_feature(enable = "avx512f")]
    fn add(&mut self, vector: __m512i) {
        self.whole = _mm512_add_epi64(self.whole, vector);
        self.upper = _mm512_add_epi64(self.upper, _mm512_srli_epi64::<32>(vector));
    }

    #[target_feature(enable = "avx512f")]
    fn total(self, other: Self) -> u64 {
        let whole = _mm512_add_epi64(self.whole, other.whole);
        let upper = _mm512_add_epi64(self.upper, other.upper);
        let lower = _mm512_sub_epi64(whole, _mm512_slli_epi64::<32>(upper));
        _mm512_reduce_add_epi64(_mm512_add_epi64(lower, upper)).cast_unsigned()
    }
}

#[target_feature(enable = "avx512f")]
fn load5(octets: &[u8; V5]) -> __m512i {
    // SAFETY: the reference is valid for reading the 64 octets loaded, and the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(octets.as_ptr().cast()) }
}

/// The unfolded sum of at most [`super::BLOCK`] octets.
#[target_feature(enable = "avx512f,avx2")]
pub(super) fn sum_avx512(octets: &[u8]) -> u64 {
    let (mut even, mut odd) = (Lanes5::zero(), Lanes5::zero());
    let (blocks, tail) = octets.as_chunks::<{ 2 * VECTORS }>();
    for block in blocks {
        let (vectors, _) = block.as_chunks::<V5>();
        let (pairs, _) = vectors.as_chunks::<2>();
        for [first, second] in pairs {
            even.add(load5(first));
            odd.add(load5(second));
        }
    }
    even.total(odd) + sum_avx2(tail)
}
